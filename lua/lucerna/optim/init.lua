-- Optimizers (torch.optim). The core holds parameters and state and makes the steps, fused over
-- all parameters; here are the groups users read and change, and PyTorch's state dict.

local lucerna = require "lucerna"
local core = require "lucerna.core"

local optim = {}

local Optimizer = {}

-- Properties: o.state[p] is the state of parameter p.
function Optimizer.__index(self, key)
  if key ~= "state" then return Optimizer[key] end
  return setmetatable({}, {__index = function(_, param)
    local at = rawget(self, "_places")[param]
    return at and core.optimizer_state(self._core, at[1], at[2])
  end})
end

-- A function or an object with a __call that is no tensor or module.
local function is_iterable(value)
  if type(value) == "function" then return true end
  if type(value) == "string" or lucerna.is_tensor(value) or core.nn.is_module(value) then
    return false
  end
  return getmetatable(value) ~= nil
end

-- An array of tensors from an iterator, an array table or an ordered list.
local function collect(who, params)
  local list = {}
  if type(params) == "table" and getmetatable(params) == nil then
    for k, p in ipairs(params) do list[k] = p end
  elseif not is_iterable(params) then
    local given = core.nn.is_module(params) and params:_get_name() or type(params)
    if lucerna.is_tensor(params) then given = "Tensor" end
    core._raise(("%s: params should be an iterator or a table of tensors (got a %s)")
      :format(who, given))
  else
    for p in params do list[#list + 1] = p end
  end
  for k, p in ipairs(list) do
    if not lucerna.is_tensor(p) then
      core._raise(("%s: params: expected tensors (entry %d is a %s)"):format(who, k, type(p)))
    end
  end
  return list
end

local function is_group(value)
  return type(value) == "table" and getmetatable(value) == nil and value.params ~= nil
end

--- Adds a group: {params = …, lr = …, …}; options that are left out are the optimizer's defaults.
function Optimizer:add_param_group(group)
  if not is_group(group) then
    core._raise(("%s: param_group must be a table with a field 'params'"):format(self._kind))
  end
  local added = {}
  for name, default in pairs(self.defaults) do added[name] = default end
  for name, value in pairs(group) do added[name] = value end
  added.params = collect(self._kind, group.params)
  local at = core.optimizer_add_group(self._core, added.params, added)
  for k, p in ipairs(added.params) do self._places[p] = {at, k} end
  self.param_groups[at] = added
end

--- Updates every parameter that has a gradient. closure (optional) reevaluates the model and
-- returns the loss, which step returns.
function Optimizer:step(closure)
  local loss
  if closure then
    local _ <close> = lucerna.enable_grad()
    loss = closure()
  end
  core.optimizer_step(self._core, self.param_groups)
  return loss
end

--- Drops all gradients; with {set_to_none = false} fills them with zeros.
function Optimizer:zero_grad(options)
  local keep = options == false or (type(options) == "table" and options.set_to_none == false)
  core.optimizer_zero_grad(self._core, not keep)
end

-- ---- state dicts ----

local function copy_options(group)
  local options = {}
  for name, value in pairs(group) do
    if name ~= "params" then
      options[name] = type(value) == "table" and {table.unpack(value)} or value
    end
  end
  return options
end

--- The state and the groups: {state = {[id] = …}, param_groups = …}, ids from 0 as PyTorch has.
-- State tensors are the live ones.
function Optimizer:state_dict()
  local dict, id = {state = {}, param_groups = {}}, 0
  for g, group in ipairs(self.param_groups) do
    local saved = copy_options(group)
    saved.params = {}
    for k in ipairs(group.params) do
      saved.params[k] = id
      local state = core.optimizer_state(self._core, g, k)
      if next(state) then dict.state[id] = state end
      id = id + 1
    end
    dict.param_groups[g] = saved
  end
  return dict
end

local function shape_text(t)
  return lucerna.is_tensor(t) and "[" .. table.concat(t:size(), ", ") .. "]"
end

local function check_dict(self, dict)
  if type(dict) ~= "table" or not dict.state or not dict.param_groups then
    return "expected a table with fields state and param_groups"
  end
  if #dict.param_groups ~= #self.param_groups then
    return "loaded state dict has a different number of parameter groups"
  end
  for g, saved in ipairs(dict.param_groups) do
    local params = self.param_groups[g].params
    if #saved.params ~= #params then
      return "loaded state dict contains a parameter group that doesn't match the size of "
        .. "optimizer's group"
    end
    for k, id in ipairs(saved.params) do
      for name, value in pairs(dict.state[id] or {}) do
        local have, want = shape_text(value), shape_text(params[k])
        if lucerna.is_tensor(value) and name ~= "step" and have ~= want then
          local text = "state '%s' of parameter %d has shape %s, the parameter %s"
          return text:format(name, id, have, want)
        end
      end
    end
  end
end

--- Takes over options and state, matched by position. Nothing changes if anything does not fit.
function Optimizer:load_state_dict(dict)
  local problem = check_dict(self, dict)
  if problem then core._raise(self._kind .. ".load_state_dict: " .. problem) end
  local groups = {} -- copies first, so that nothing has changed when one cannot be made
  for g, saved in ipairs(dict.param_groups) do
    groups[g] = {options = copy_options(saved), states = {}}
    for k, id in ipairs(saved.params) do
      groups[g].states[k] = core.optimizer_copy_state(self._core, g, k, dict.state[id] or {})
    end
  end
  for g, group in ipairs(groups) do
    for name, value in pairs(group.options) do self.param_groups[g][name] = value end
    for k, state in ipairs(group.states) do core.optimizer_set_state(self._core, g, k, state) end
  end
end

-- ---- text ----

local function python(value)
  if value == nil then return "None" end
  if value == true then return "True" end
  if value == false then return "False" end
  if type(value) == "table" then
    local items = {}
    for k, v in ipairs(value) do items[k] = python(v) end
    return "(" .. table.concat(items, ", ") .. ")"
  end
  local text = ("%.12g"):format(value)
  return math.type(value) == "float" and text:match("^%-?%d+$") and text .. ".0" or text
end

function Optimizer:__tostring()
  local lines = {self._kind .. " ("}
  for g, group in ipairs(self.param_groups) do
    lines[#lines + 1] = "Parameter Group " .. g - 1
    local names = {}
    for k, name in ipairs(self._options) do names[k] = name end
    for name in pairs(group) do
      local known = name == "params"
      for _, option in ipairs(self._options) do known = known or option == name end
      if not known then names[#names + 1] = name end
    end
    table.sort(names)
    for _, name in ipairs(names) do
      lines[#lines + 1] = ("    %s: %s"):format(name, python(group[name]))
    end
  end
  lines[#lines + 1] = ")"
  return table.concat(lines, "\n")
end

-- ---- the classes ----

-- optim.SGD(params, lr, …, {options}); params may be a list of groups.
local function constructor(kind)
  return function(params, ...)
    local rest = table.pack(...)
    if rest.n == 0 and type(params) == "table" and getmetatable(params) == nil
      and params[1] == nil and params.params ~= nil then
      rest = {n = 1, {}}
      for name, value in pairs(params) do
        if name ~= "params" then rest[1][name] = value end
      end
      params = params.params
    end
    local object = core.optimizer_new(kind)
    local self = {_core = object, _kind = kind, param_groups = {}, _places = {}}
    setmetatable(self, Optimizer)
    self.defaults, self._options = core.optimizer_options(object, table.unpack(rest, 1, rest.n))
    if params == nil then core._raise(kind .. ": missing argument 'params'") end
    if type(params) == "table" and is_group(params[1]) then
      for _, group in ipairs(params) do self:add_param_group(group) end
    else
      self:add_param_group {params = params}
    end
    return self
  end
end

--- Stochastic gradient descent: lr (1e-3), momentum (0), dampening (0), weight_decay (0),
-- nesterov (false), maximize (false).
optim.SGD = constructor "SGD"

--- Adam: lr (1e-3), betas ({0.9, 0.999}), eps (1e-8), weight_decay (0), amsgrad (false),
-- maximize (false), decoupled_weight_decay (false). Kingma and Ba, arXiv:1412.6980.
optim.Adam = constructor "Adam"

--- Adam with decoupled weight decay (1e-2). Loshchilov and Hutter, arXiv:1711.05101.
optim.AdamW = constructor "AdamW"

--- Is the value an optimizer?
function optim.is_optimizer(value) return getmetatable(value) == Optimizer end

return setmetatable(optim, {
  __names = function() return {"lr_scheduler"} end, -- for completion
  __index = function(self, key)
    if key ~= "lr_scheduler" then return nil end
    self.lr_scheduler = require "lucerna.optim.lr_scheduler"
    return self.lr_scheduler
  end,
})
