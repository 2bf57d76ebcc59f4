-- Tensors that a hook computes before every forward: weight norm, spectral norm, pruning. The hook
-- is an object {name = ...} with a method compute(module); what it makes is an ordinary field of
-- the module. clone() leaves such fields out and lets the copied hook fill them (recompute).

local core = require("lucerna.core").nn
local check = require "lucerna.nn.utils.check"

local computed = {}

local PRE = 0 -- the kind of forward pre-hooks

--- The hook object of a module with this metatable and name, and its id; nil if there is none.
function computed.find(module, is_mine, name)
  local hooks = core._hooks(module)
  for i = 1, #hooks, 4 do
    local hook = hooks[i + 1]
    if hooks[i] == PRE and type(hook) == "table" and is_mine(hook) and
      (name == nil or hook.name == name) then
      return hook, hooks[i + 3]
    end
  end
end

--- The same, taken away from the module.
function computed.take(module, is_mine, name)
  local hook, id = computed.find(module, is_mine, name)
  if hook then core._remove_hook(module, id) end
  return hook
end

--- The parameter to be replaced, or an error.
function computed.parameter(who, module, name)
  check.module(who, "module", module)
  check.string(who, "name", name)
  local weight = module[name]
  if weight == nil then
    check.fail("%s: '%s' object has no attribute '%s'", who, core.class_name(module), name)
  end
  return check.tensor(who, name, weight)
end

--- A class of such hooks: instances are called as hooks and set the field.
function computed.class(name)
  local class = { __name = name }
  class.__index = class
  function class.__call(self, module) module[self.name] = self:compute(module, module.training) end
  function class:computes() return self.name end
  function class:recompute(module) module[self.name] = self:compute(module, false) end
  return class
end

return computed
