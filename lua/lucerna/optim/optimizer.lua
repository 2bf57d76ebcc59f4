-- What all optimizers share (torch.optim.Optimizer): groups of parameters with options, state,
-- state dicts, hooks, text. Subclasses say how a step is made and may keep state elsewhere.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local is_callable = require "lucerna.callable"
local classes = require "lucerna.classes"
local python = require "lucerna.python"
local shape_text = require "lucerna.shape_text"

local module = {}

local fields, ROOM = core._optimizer_fields, 14 -- fields that most groups have, at most
local NOTHING, PARAMS, none = {}, {params = true}, core.none
local type, getmetatable, is_tensor = type, getmetatable, lucerna.is_tensor

local fail = core._fail

local check_self = require("lucerna.plain").self_check "optimizer"

-- ---- hooks ----

local Handle = {__name = "RemovableHandle"}
Handle.__index = Handle

function Handle:remove()
  for k, handle in ipairs(self._list) do
    if handle == self then table.remove(self._list, k) end
  end
end

Handle.__close = Handle.remove

local function add_hook(list, who, hook, prepend)
  check.callable(who, "hook", hook)
  local handle = setmetatable({_list = list, call = hook}, Handle)
  table.insert(list, prepend and 1 or #list + 1, handle)
  return handle
end

-- An optimizer's lists of hooks, by name, are made when one is added: until then it has NO_HOOKS.
local NONE = {}
local NO_HOOKS = {step_pre = NONE, step_post = NONE, state_dict_pre = NONE, state_dict_post = NONE,
  load_pre = NONE, load_post = NONE}
local HOOKS = {__index = NO_HOOKS}

local function own_list(self, who, name)
  check_self(self, "Optimizer", who, "param_groups")
  if self._hooks == NO_HOOKS then self._hooks = setmetatable({}, HOOKS) end
  local lists = self._hooks
  if lists[name] == NONE then lists[name] = {} end
  return lists[name]
end

-- Calls the hooks, which may remove themselves; what one returns takes the place of the last value.
local function run_hooks(list, self, value)
  if #list == 0 then return value end
  for _, handle in ipairs {table.unpack(list)} do
    local result = handle.call(self, value)
    if result ~= nil then value = result end
  end
  return value
end

local every_pre, every_post = {}, {} -- of all optimizers

--- register_optimizer_step_pre_hook(f): f(optimizer, args) before every step of every optimizer.
function module.register_optimizer_step_pre_hook(hook)
  return add_hook(every_pre, "register_optimizer_step_pre_hook", hook)
end

--- register_optimizer_step_post_hook(f): f(optimizer, args) after every step of every optimizer.
function module.register_optimizer_step_post_hook(hook)
  return add_hook(every_post, "register_optimizer_step_post_hook", hook)
end

local function call_all(list, ...)
  if #list == 0 then return end -- takes no memory then
  for _, handle in ipairs {table.unpack(list)} do handle.call(...) end
end

-- What follows a step; its results. A step that has been made must not fail any more.
local function after_step(self, args, ...)
  if not self._core then core._outlive(self.state) end
  call_all(self._hooks.step_post, self, args)
  call_all(every_post, self, args)
  return ...
end

-- A step with its hooks around it. args is a packed table, which pre hooks may replace.
local function with_hooks(step)
  --- step(closure): updates every parameter that has a gradient, between the hooks. closure, which
  -- LBFGS needs, reevaluates the model and returns the loss, which step returns.
  return function(self, ...)
    check_self(self, "Optimizer", "step", "param_groups")
    local args = run_hooks(every_pre, self, table.pack(...))
    args = run_hooks(self._hooks.step_pre, self, args)
    if type(args) ~= "table" then
      fail("%s.step: a hook must return nil or a table of arguments (got %s)", self.__name,
        type(args))
    end
    return after_step(self, args, step(self, table.unpack(args, 1, args.n or #args)))
  end
end

-- ---- the class ----

-- A parameter's state begins as an empty table.
local NEW_STATE = {__index = function(state, p)
  local made = {}
  if is_tensor(p) then state[p] = made end
  return made
end}

--- The base of all optimizers. `optim.class(name)` makes a subclass: its __init calls
-- `optim.Optimizer.__init(self, params, defaults)`, its step(closure) updates the parameters in
-- `self.param_groups`, and what it keeps about parameter p is in the table `self.state[p]`.
module.Optimizer = classes.new("Optimizer")
local Optimizer = module.Optimizer

function Optimizer.__define(key, value) return key == "step" and with_hooks(value) or value end

-- A function or an object with a __call that is no tensor or module.
local function is_iterable(value)
  if type(value) == "function" then return true end
  return not (is_tensor(value) or core.nn.is_module(value)) and is_callable(value)
end

local function refuse_params(who, given)
  fail("%s: params should be an iterator or a table of tensors (got a %s)", who, given)
end

local HINTS = { table = "; a group has a field 'params'",
  ["function"] = "; an iterator goes in a group, {params = ...}" }

local function check_named(who, list, names)
  local named = next(names)
  for k, p in ipairs(list) do
    if not is_tensor(p) then
      local kind = type(p)
      fail("%s: params must hold tensors (entry %d is a %s%s)", who, k, kind, HINTS[kind] or "")
    end
    if named and not names[k] then
      fail("%s: all optimizer params should be with/without names. Some param names are missing "
        .. "(parameter %d)", who, k)
    end
  end
end

-- An array of tensors, and their names where they have some, from an iterator or an array table;
-- what has a name comes as name, tensor or in a table as {name, tensor}.
local function collect(who, params)
  local plain = core._optimizer_params(params)
  if plain then return plain end
  local is_array = type(params) == "table" and getmetatable(params) == nil
  local key = is_array and check.stray(params)
  if key then
    fail("%s: params must hold tensors (got a key '%s'; options go in a table of their own)", who,
      key)
  end
  local list, names, n = {}, {}, 0
  local function add(name, p)
    n = n + 1
    if type(name) == "string" and p ~= nil then
      names[n] = name
    else
      p = name
    end
    list[n] = p
  end
  if is_array then
    for _, p in ipairs(params) do
      local pair = type(p) == "table" and getmetatable(p) == nil and p[1] ~= nil
      if pair then add(p[1], p[2]) else add(p) end
    end
    if n < #params then fail("%s: params must hold tensors (entry %d is a nil)", who, n + 1) end
  elseif not is_iterable(params) then
    refuse_params(who, core.nn.is_module(params) and params:_get_name() or type(params))
  else
    check.called(who, "params", params)
    for name, p in params do add(name, p) end
  end
  check_named(who, list, names)
  return list, next(names) and names or nil
end

local function is_group(value)
  return type(value) == "table" and getmetatable(value) == nil and value.params ~= nil
end

-- A number; of a tensor, its one element. lr may be one: schedulers then write into it.
function Optimizer._number(value)
  if type(value) == "number" or not is_tensor(value) then return value end
  if value:numel() ~= 1 then
    fail("Tensor lr must be 1-element (got %s)", shape_text(value:size()))
  end
  return value:item()
end

--- Options must be numbers, {name} each; within limits, {name, low, high, message}; or
-- {name, "boolean"}.
function Optimizer._check_limits(who, limits, group)
  for k = 1, #limits do
    local limit = limits[k]
    local name, low = limit[1], limit[2]
    local wanted, value = low == "boolean" and low or "number", group[name]
    if type(value) ~= wanted then value = Optimizer._number(value) end
    if type(value) ~= wanted then
      fail("%s: %s must be a %s (got %s)", who, name, wanted, core._given(value))
    elseif limit[4] and
      not (value >= (low or -math.huge) and value <= (limit[3] or math.huge)) then
      fail("%s: " .. limit[4], who, value)
    end
  end
end

-- What a class asks of its defaults, and of each group.
function Optimizer:_check_options() end

--- params: tensors, as an iterator or array; or a list of groups {params = …, lr = …, …}.
-- defaults: the options of groups that do not give their own.
function Optimizer:__init(params, defaults, names)
  if type(defaults) ~= "table" then
    fail("%s: defaults must be a table of options (got %s)", self.__name, type(defaults))
  end
  if not self._core then self:_check_options(defaults) end -- the core has made its own
  self.param_groups, self.defaults = {nil}, defaults
  self._options = names -- in the schema's order, with those that are None
  self._hooks = NO_HOOKS
  self.state = self.state or setmetatable({}, NEW_STATE)
  if params == nil then fail("%s: missing argument 'params'", self.__name) end
  if is_tensor(params) then refuse_params(self.__name, "Tensor") end
  if type(params) == "table" and is_group(params[1]) then
    for _, group in ipairs(params) do self:add_param_group(group) end
  else
    self:add_param_group {params = params}
    if #self.param_groups[1].params == 0 then
      fail("%s: optimizer got an empty parameter list", self.__name)
    end
  end
end

-- Groups' parameters may be exchanged: the core takes them over.
function Optimizer:_take_params() end

-- What every optimizer asks of its groups, and the place of the new one; the core does it for fused
-- ones.
function Optimizer:_add(list, options)
  self:_check_options(options)
  core._optimizer_check_params(self.__name, list, self.param_groups)
  return #self.param_groups + 1
end

-- A value of a group's own: groups do not share lists, nor rates that are tensors.
local function own(value)
  local kind = type(value)
  if kind == "number" or kind == "boolean" then return value end
  if is_tensor(value) then return value:detach():clone() end
  if kind ~= "table" or getmetatable(value) ~= nil then return value end
  local copy = {}
  for key, item in pairs(value) do copy[key] = item end
  return copy
end

--- Adds a group: {params = …, lr = …, …}; options left out are the optimizer's defaults.
-- params may be one tensor.
function Optimizer:add_param_group(group)
  check_self(self, "Optimizer", "add_param_group", "param_groups")
  local first = self.param_groups[1]
  if first then self:_take_params() end
  if not is_group(group) then
    fail("%s: param_group must be a table with a field 'params'", self.__name)
  end
  local added = fields(self.defaults, own, ROOM)
  for name, value in pairs(group) do
    if type(name) ~= "string" then
      fail("%s: param_group: an option has a name (got %s %s)", self.__name, type(name), name)
    end
    if value == core.none then value = nil end
    if name ~= "params" then added[name] = own(value) end
  end
  local params = is_tensor(group.params) and {group.params} or group.params
  added.params, added.param_names = collect(self.__name, params)
  if first and (first.param_names == nil) ~= (added.param_names == nil) then
    fail("%s: all optimizer param groups should be with/without names. Some param names are "
      .. "missing", self.__name)
  end
  if added.foreach and added.fused then
    fail("%s: `fused` and `foreach` cannot be `True` together.", self.__name)
  end
  self.param_groups[self:_add(added.params, added)] = added
end

--- step([closure]): updates every parameter that has a gradient. closure drops the gradients,
-- computes the loss, calls backward and returns the loss, which step returns then.
function Optimizer:step() fail("%s.step is not defined", self.__name) end

local CLOSURE = {"closure", options = 1} -- what step takes

-- The loss of a step's closure, made with gradients on.
function Optimizer._evaluate(...)
  local closure = arguments("step", CLOSURE, ...)
  if closure == nil then return nil end
  return lucerna.enable_grad(check.callable("step", "closure", closure))
end

-- Nothing has changed until update has returned for all parameters.
local function update_all(self, update)
  local made = {}
  for _, group in ipairs(self.param_groups) do
    for _, p in ipairs(group.params) do
      if p.grad then
        local value, state = update(group, p, self.state[p])
        if not check.same_size(value, p) then
          fail("%s: the state of a parameter of shape %s is of another", self.__name,
            shape_text(p:size()))
        end
        made[#made + 1] = {p, value, state}
      end
    end
  end
  for _, entry in ipairs(made) do
    local p, value, state = table.unpack(entry)
    p:copy_(value)
    self.state[p] = state
  end
end

-- The method step(closure) of optimizers that make a parameter's new value and state with tensors:
-- update(group, p, state) returns both.
function Optimizer._step_by(update)
  return function(self, ...)
    local loss = Optimizer._evaluate(...)
    lucerna.no_grad(update_all, self, update)
    return loss
  end
end

local ZERO_GRAD = {"set_to_none"} -- what it takes

--- Drops all gradients; with {set_to_none = false} fills them with zeros.
function Optimizer:zero_grad(...)
  check_self(self, "Optimizer", "zero_grad", "param_groups")
  local to_none = arguments("zero_grad", ZERO_GRAD, ...)
  for _, group in ipairs(self.param_groups) do
    for _, p in ipairs(group.params) do
      local grad = to_none == false and p.grad
      if not grad then
        p.grad = nil
      elseif grad.requires_grad then
        p.grad = grad:detach():zero_()
      else
        grad:zero_()
      end
    end
  end
end

-- ---- state dicts ----

-- Of a rate that is a tensor: its number.
local function saved_value(value)
  if is_tensor(value) and value:numel() == 1 then return value:item() end
  return value
end

-- The state of parameter k of group g: a table the caller may keep, or nil where there is none.
function Optimizer:_get_state(g, k)
  local copy = {}
  for name, value in pairs(self.state[self.param_groups[g].params[k]]) do copy[name] = value end
  return copy
end

-- Sizes that tensors of a parameter's state must have, by name; others may have any.
function Optimizer:_shapes() return {} end -- luacheck: no self

-- A copy of what a parameter's saved state has under a name: floating point tensors in its dtype,
-- but for the step.
local function cast(param, name, value)
  if is_tensor(value) then
    local floating = value.dtype.is_floating_point and name ~= "step"
    return value:detach():to(floating and param.dtype or value.dtype):clone()
  elseif type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, item in pairs(value) do copy[key] = cast(param, key, item) end
  return copy
end

-- What _set_state will put in place.
function Optimizer:_copy_state(g, k, saved)
  local param = self.param_groups[g].params[k]
  for name, shape in pairs(self:_shapes(param)) do
    local have = is_tensor(saved[name]) and shape_text(saved[name]:size())
    if have and have ~= shape_text(shape) then
      fail("%s: state '%s' of parameter %d has shape %s, expected %s", self.__name, name, k, have,
        shape_text(shape))
    end
  end
  local _ = self.state[param] -- there from now on: setting it takes no memory
  return cast(param, nil, saved)
end

function Optimizer:_set_state(g, k, copy)
  self.state[self.param_groups[g].params[k]] = copy
end

-- The states that there are, by parameters' numbers from 0.
function Optimizer:_get_states()
  local states, id = {}, 0
  for g, group in ipairs(self.param_groups) do
    for k in ipairs(group.params) do
      local state = self:_get_state(g, k)
      if state and next(state) then states[id] = state end
      id = id + 1
    end
  end
  return states
end

--- The state and the groups: {state = {[id] = …}, param_groups = …}, ids from 0 as PyTorch has.
-- State tensors are the live ones; options without a value are lucerna.none, as PyTorch asks for.
function Optimizer:state_dict()
  check_self(self, "Optimizer", "state_dict", "param_groups")
  run_hooks(self._hooks.state_dict_pre, self)
  self:_take_params()
  local dict, id = {state = self:_get_states(), param_groups = {}}, 0
  for g, group in ipairs(self.param_groups) do
    local saved = fields(group, saved_value, ROOM, PARAMS)
    local names = self._options or NOTHING
    for k = 1, #names do
      if saved[names[k]] == nil then saved[names[k]] = none end
    end
    saved.params = core._optimizer_ids(group.params, id)
    id = id + #saved.params
    dict.param_groups[g] = saved
  end
  return run_hooks(self._hooks.state_dict_post, self, dict)
end

local function check_group(self, saved, group)
  if type(saved) ~= "table" or type(saved.params) ~= "table" then
    return "expected groups to be tables with a field params"
  elseif #saved.params ~= #group.params then
    return "loaded state dict contains a parameter group that doesn't match the size of "
      .. "optimizer's group"
  end
  for name, default in pairs(self.defaults) do
    local value, want = Optimizer._number(saved[name]), type(Optimizer._number(default))
    local may_lack = want == "string" or want == "boolean"
    if value ~= nil and type(value) ~= want and not (may_lack and value == core.none) then
      return ("%s must be a %s (got %s)"):format(name, want, core._given(value))
    end
  end
end

local function check_dict(self, dict)
  if type(dict) ~= "table" or type(dict.state) ~= "table"
    or type(dict.param_groups) ~= "table" then
    return "expected a table with fields state and param_groups"
  elseif #dict.param_groups ~= #self.param_groups then
    return "loaded state dict has a different number of parameter groups"
  end
  for g, saved in ipairs(dict.param_groups) do
    local problem = check_group(self, saved, self.param_groups[g])
    if problem then return problem end
    for _, id in ipairs(saved.params) do
      if type(dict.state[id] or {}) ~= "table" then
        return ("the state of parameter %s is no table"):format(id)
      end
    end
  end
end

-- The group that takes another's place: its options are the saved ones; those that were not saved
-- are as at the beginning.
local function loaded_group(self, group, saved)
  local made = fields(self.defaults, own, ROOM)
  for name, value in pairs(fields(saved, saved_value, ROOM, PARAMS)) do
    if value == core.none then value = nil end
    made[name] = own(value)
  end
  made.params, made.param_names = group.params, made.param_names or group.param_names
  return made
end

--- Takes over options and state, matched by position. Nothing changes if anything does not fit; as
-- in PyTorch, the groups are new tables.
function Optimizer:load_state_dict(dict)
  check_self(self, "Optimizer", "load_state_dict", "param_groups")
  dict = run_hooks(self._hooks.load_pre, self, dict)
  self:_take_params()
  local problem = check_dict(self, dict)
  if problem then fail("%s.load_state_dict: %s", self.__name, problem) end
  local groups = {} -- copies first, so that nothing has changed when one cannot be made
  for g, saved in ipairs(dict.param_groups) do
    groups[g] = {made = loaded_group(self, self.param_groups[g], saved), states = {}}
    self:_check_options(groups[g].made)
    for k, id in ipairs(saved.params) do
      groups[g].states[k] = self:_copy_state(g, k, dict.state[id] or {})
    end
  end
  for g, loaded in ipairs(groups) do
    self.param_groups[g] = loaded.made
    for k, state in ipairs(loaded.states) do self:_set_state(g, k, state) end
  end
  call_all(self._hooks.load_post, self)
end

-- ---- registering hooks ----

--- register_step_pre_hook(f): f(optimizer, args) before a step; args is a packed table, and one
-- that f returns takes its place. Gives a handle with :remove().
function Optimizer:register_step_pre_hook(hook)
  local who = "register_step_pre_hook"
  return add_hook(own_list(self, who, "step_pre"), who, hook)
end

--- register_step_post_hook(f): f(optimizer, args) after a step.
function Optimizer:register_step_post_hook(hook)
  local who = "register_step_post_hook"
  return add_hook(own_list(self, who, "step_post"), who, hook)
end

local function registrar(name, list)
  return function(self, ...)
    local hook, prepend = arguments(name, {"hook", "prepend"}, ...)
    return add_hook(own_list(self, name, list), name, hook, prepend)
  end
end

--- register_state_dict_pre_hook(f, {prepend=}): f(optimizer) before state_dict().
Optimizer.register_state_dict_pre_hook =
  registrar("register_state_dict_pre_hook", "state_dict_pre")

--- register_state_dict_post_hook(f, {prepend=}): f(optimizer, state_dict) may return another one.
Optimizer.register_state_dict_post_hook =
  registrar("register_state_dict_post_hook", "state_dict_post")

--- register_load_state_dict_pre_hook(f, {prepend=}): f(optimizer, state_dict) may return another
-- one, which is loaded.
Optimizer.register_load_state_dict_pre_hook =
  registrar("register_load_state_dict_pre_hook", "load_pre")

--- register_load_state_dict_post_hook(f, {prepend=}): f(optimizer) after loading.
Optimizer.register_load_state_dict_post_hook =
  registrar("register_load_state_dict_post_hook", "load_post")

-- ---- text ----

-- The names of a kind's options in order, and as a set, by the kind's own list of them.
local SORTED = setmetatable({}, {__mode = "k"})

local function sorted_options(options)
  local sorted = SORTED[options]
  if not sorted then
    sorted = {table.unpack(options)}
    table.sort(sorted, core._before)
    for _, name in ipairs(options) do sorted[name] = true end
    SORTED[options] = sorted
  end
  return sorted
end

-- Names of a group's options in order.
local function option_names(options, group)
  local known, names = sorted_options(options), nil
  for name in pairs(group) do
    if not known[name] and name ~= "params" then
      names = names or {table.unpack(known)}
      names[#names + 1] = name
    end
  end
  if not names then return known end
  table.sort(names, core._before)
  return names
end

function Optimizer:__tostring()
  local lines = {self.__name .. " ("}
  for g, group in ipairs(self.param_groups) do
    lines[#lines + 1] = (g > 1 and "\n" or "") .. "Parameter Group " .. g - 1
    local names = option_names(self._options or NOTHING, group)
    for k = 1, #names do
      lines[#lines + 1] = "    " .. names[k] .. ": " .. python(saved_value(group[names[k]]))
    end
  end
  lines[#lines + 1] = ")"
  return table.concat(lines, "\n")
end

--- Is the value an optimizer?
function module.is_optimizer(value) return classes.is_a(value, Optimizer) end

return module
