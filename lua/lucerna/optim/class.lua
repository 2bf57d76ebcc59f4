-- Classes of optimizers and schedulers: a table that makes an object when it is called, by __init.
-- Metamethods are inherited; __define(key, value), where a class has it, sees what its subclasses
-- define and returns what is stored.

return function(name, parent)
  local made = {__name = name}
  for key, value in pairs(parent or {}) do
    if type(key) == "string" and key:find("^__") and not made[key] then made[key] = value end
  end
  made.__index = made
  made.__init = nil -- found through the parent
  local define = made.__define
  return setmetatable(made, {
    __index = parent,
    __newindex = define and function(self, key, value) rawset(self, key, define(key, value)) end,
    __call = function(self, ...)
      local object = setmetatable({ -- room for what most have
        param_groups = nil, defaults = nil, state = nil, _options = nil, _hooks = nil, _core = nil,
      }, self)
      object:__init(...)
      return object
    end,
  })
end
