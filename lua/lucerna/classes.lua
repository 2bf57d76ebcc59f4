-- Classes: a table that makes an object when it is called, by __init. Optimizers, schedulers,
-- distributions, data sets and methods of pruning are objects of such; modules have the core's.

local core = require "lucerna.core"

local classes = {}

local fail = core._fail
local RING = 2000 -- Lua itself follows as many __index
local PARENTS = setmetatable({}, {__mode = "k"}) -- of classes that were made here

--- A class of that name. It inherits metamethods too; __define(key, value), where a class has it,
-- sees what its subclasses define and returns what is stored.
function classes.new(name, parent)
  local made = {__name = name}
  for key, value in pairs(parent or {}) do
    if type(key) == "string" and key:find("^__") and not made[key] then made[key] = value end
  end
  made.__index = made
  made.__init = nil -- found through the parent
  PARENTS[made] = parent
  local define = made.__define
  return setmetatable(made, {
    __index = parent,
    __newindex = define and function(self, key, value) rawset(self, key, define(key, value)) end,
    __call = function(self, ...)
      local object = setmetatable({ -- room for what most have
        param_groups = nil, defaults = nil, state = nil, _options = nil, _hooks = nil, _core = nil,
      }, self)
      self.__init(object, ...)
      return object
    end,
  })
end

--- Refuses what a user gives as the name and the parent (or nil) of a class; `who` asks for it.
function classes.check(who, name, parent)
  if type(name) ~= "string" then fail("%s: expected a name (got %s)", who, type(name)) end
  if parent ~= nil and (type(parent) ~= "table" or parent.__index == nil) then
    fail("%s: Parent must be a class (got %s)", who, core.nn.kind_name(parent))
  end
end

--- The parent of a class, or nil.
function classes.parent(class)
  local meta = getmetatable(class)
  return type(meta) == "table" and rawget(meta, "__index") or nil
end

--- Is a value an object of a class, or of a subclass of it?
function classes.is_a(value, class)
  local own = type(value) == "table" and getmetatable(value)
  for _ = 1, RING do
    if own == class then return true end
    if not own then return false end
    own = PARENTS[own] or type(own) == "table" and classes.parent(own)
  end
  return false
end

return classes
