-- Lazy modules: parameters whose shapes the first input tells. A lazy module is called like any
-- other; its first call initializes its parameters, makes it one of cls_to_become and runs that
-- class's forward. The layers written in C do so in the core; here is the same for classes of Lua.

local root = require "lucerna.core"

local core = root.nn
local fail = root._fail

local lazy = {}

-- The methods of every lazy class.
local methods = {}

--- initialize_parameters(...): materializes the uninitialized parameters for these inputs. A lazy
-- class written in Lua defines it.
function methods:initialize_parameters()
  fail("initialize_parameters is not implemented for %s", core.class_name(self))
end

--- has_uninitialized_params(): does this module itself hold a parameter or buffer without a shape?
function methods:has_uninitialized_params() return core._has_uninitialized(self) end

local function initialize(self, ...)
  self:initialize_parameters(...)
  if self:has_uninitialized_params() then
    fail("module %s has not been fully initialized", core.class_name(self))
  end
  local class = self.cls_to_become
  if class then core._become(self, class) end
  return class
end

function methods:forward(...)
  local name = core.class_name(self)
  if not initialize(self, ...) then
    fail('Module [%s] is missing the required "forward" function', name)
  end
  return self:forward(...)
end

local function infer(self, args)
  local handle = self._initialize_hook
  if not handle then return end -- a copy, which has not the handle of its hook
  initialize(self, table.unpack(args, 1, args.n))
  handle:remove()
  self._initialize_hook = nil
end

-- Called by the __init of a class that has a forward of its own: a hook then does what the forward
-- above does for the others.
function methods:__init()
  self._initialize_hook = self:register_forward_pre_hook(infer)
end

-- What a lazy class written in C has beside its parent's methods.
function lazy.extend(class)
  class.cls_to_become = core.parent(class)
  class.forward = methods.forward
  class.has_uninitialized_params = methods.has_uninitialized_params
  class.initialize_parameters = core._lazy_initialize
end

--- Is value a module that is lazy still?
function lazy.is(value)
  return core.is_module(value) and core.class_of(value).has_uninitialized_params ~= nil
end

--- LazyModuleMixin: the base of lazy classes written in Lua. Such a class has cls_to_become, the
-- class that its modules become, and initialize_parameters(...), which gets the first inputs.
-- nn.class("LazyScale", nn.LazyModuleMixin, Scale) also inherits from Scale.
lazy.LazyModuleMixin = function()
  local class = core.class("LazyModuleMixin")
  for name, method in pairs(methods) do class[name] = method end
  return class
end

--- A class of this name that is lazy and a Base, whose __init it has.
function lazy.mixed(name, Base)
  local class = core.class(name, Base)
  for key, method in pairs(methods) do
    if key ~= "__init" then class[key] = method end
  end
  return class
end

return lazy
