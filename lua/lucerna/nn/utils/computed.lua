-- Tensors that a hook computes before every forward: weight norm, spectral norm, pruning. The hook
-- is an object {name = ...} with a method compute(module); what it makes is an ordinary field of
-- the module. clone() lets the copied hook fill such fields (recompute), unless they are leaves.

local core = require("lucerna.core").nn
local arguments = require "lucerna.arguments"
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

--- What remove_…(module, name = "weight") is called with, the hook it means and its id; label: of
-- the function that made the hook.
function computed.arguments(who, label, is_mine, ...)
  local module, name = arguments(who, { "module", "name", options = 2 }, ...)
  name = name or "weight"
  local hook, id = computed.find(check.module(who, "module", module), is_mine, name)
  if not hook then
    check.fail("%s: %s of '%s' not found in %s", who, label, name, check.text(module))
  end
  return module, name, hook, id
end

--- The parameter to be replaced, or an error; label: what PyTorch calls it for lazy modules.
function computed.parameter(who, module, name, label)
  check.module(who, "module", module)
  check.string(who, "name", name)
  local weight = module[name]
  if weight == nil then
    check.fail("%s: '%s' object has no attribute '%s'", who, core.class_name(module), name)
  end
  if label and core.is_lazy(weight) then
    check.fail("The module passed to `%s` can't have uninitialized parameters. Make sure to run "
      .. "the dummy forward before applying %s normalization", label, label:match("^%u%l*"):lower())
  end
  check.tensor(who, name, weight)
  if label and not core.is_parameter(weight) then
    check.fail("%s: '%s' is not a parameter of %s", who, name, core.class_name(module))
  end
  return weight
end

--- Registers a tensor as what it is, a parameter or a buffer.
function computed.register(module, name, tensor)
  if core.is_parameter(tensor) then
    module:register_parameter(name, tensor)
  else
    module:register_buffer(name, tensor)
  end
end

-- Puts back a parameter or buffer.
local function put_back(module, name, old)
  if core._is_slot(module, name) then return end
  core._set_field(module, name, nil)
  computed.register(module, name, old)
end

-- To be called before a name is registered in a transaction: it goes if that fails.
local function take_back(module, name, undo)
  if core._is_slot(module, name) then return end
  undo(function()
    if core._is_slot(module, name) then core.delattr(module, name) end
  end)
end

--- Puts parameters and buffers {{suffix, tensor}, ...}, the hook, and what it computes (value) in
-- the place of the parameter. prepare(): registers other hooks. All or nothing.
function computed.install(module, name, hook, tensors, value, prepare)
  check.transaction(function(undo)
    local old = module[name]
    undo(function() put_back(module, name, old) end)
    check.take_back_hooks(module, undo)
    if prepare then prepare() end
    for _, item in ipairs(tensors) do
      take_back(module, name .. item[1], undo)
      computed.register(module, name .. item[1], item[2])
    end
    module:register_forward_pre_hook(hook)
    return core._slot_to_field(module, name, value)
  end)
end

-- A forward pre-hook that is gone comes back, as the last one.
local function hook_again(module, hook)
  if not computed.find(module, function(other) return rawequal(other, hook) end) then
    core._add_hook(module, PRE, hook, 0)
  end
end

--- The opposite: takes away the field, the tensors with these suffixes and the hook, and registers
-- a parameter in their place. finish(): takes other hooks away. All or nothing.
function computed.uninstall(module, name, suffixes, parameter, hook, finish)
  check.transaction(function(undo)
    local value = module[name]
    undo(function() core._set_field(module, name, value) end)
    if value ~= nil then core.delattr(module, name) end
    for k = #suffixes, 1, -1 do -- undone in their order
      local part = module[name .. suffixes[k]]
      undo(function() put_back(module, name .. suffixes[k], part) end)
      core.delattr(module, name .. suffixes[k])
    end
    take_back(module, name, undo)
    module:register_parameter(name, parameter)
    if finish then finish(undo) end
    local _, id = computed.find(module, function(other) return rawequal(other, hook) end)
    if not id then return end
    undo(function() hook_again(module, hook) end)
    return core._remove_hook(module, id)
  end)
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
