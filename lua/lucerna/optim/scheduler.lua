-- What all learning rate schedulers share: the base class, and checks and helpers for those that
-- lr_scheduler.lua, cycles.lua and swa_utils.lua add.

local lucerna = require "lucerna"
local optim = require "lucerna.optim"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"

local scheduler = {}

local ipairs, setmetatable, type = ipairs, setmetatable, type
local number = optim.Optimizer._number

scheduler.fail = core._fail

local fail = scheduler.fail

local check_self = require("lucerna.plain").self_check "scheduler"

--- The base: LRScheduler(optimizer, last_epoch = -1). `optim.class(name, lr_scheduler.LRScheduler)`
-- makes a subclass, whose get_lr() returns the rates of epoch self.last_epoch, one per group.
-- last_epoch -1 begins anew; else the groups must know their `initial_lr`, and rates that go on
-- from the one before stay as they are.
scheduler.LRScheduler = classes.new "LRScheduler"
local LRScheduler = scheduler.LRScheduler

local CALLED = {step = true, get_lr = true}

function LRScheduler.__define(key, value)
  if not CALLED[key] then return value end
  return function(self, ...)
    if type(self) ~= "table" or self.optimizer == nil then
      check_self(self, "LRScheduler", key, "optimizer")
    end
    return value(self, ...)
  end
end

function scheduler.check_optimizer(who, optimizer)
  if not optim.is_optimizer(optimizer) then
    fail("%s: optimizer must be an Optimizer (got %s)", who, core.nn.kind_name(optimizer))
  end
end

scheduler.check_number = require("lucerna.check").number

-- A count, which may be a float, as Lua's divisions give them.
function scheduler.check_positive(who, name, value)
  if type(value) ~= "number" or value % 1 ~= 0 or value < 1 then
    fail("%s: Expected positive integer %s, but got %s", who, name, value)
  end
end

function LRScheduler:__init(optimizer, last_epoch)
  scheduler.check_optimizer(self.__name, optimizer)
  self.optimizer, self.base_lrs = optimizer, {}
  self.last_epoch = last_epoch or -1
  scheduler.check_number(self.__name, "last_epoch", self.last_epoch)
  for k, group in ipairs(optimizer.param_groups) do
    if self.last_epoch == -1 then
      group.initial_lr = group.initial_lr or scheduler.rate(group)
    elseif not group.initial_lr then
      fail("%s: param 'initial_lr' is not specified in param_groups[%d] when resuming", self.__name,
        k)
    end
    self.base_lrs[k] = number(group.initial_lr)
  end
  self:_initial_step()
end

function LRScheduler:_initial_step()
  self._step_count = 0
  self:step()
end

-- A group's rate, which may be a tensor: that is written in place.
function scheduler.rate(group)
  local lr = group.lr
  return type(lr) == "number" and lr or number(lr)
end
local rate_of = scheduler.rate

function scheduler.set_rate(group, rate)
  if type(group.lr) ~= "number" and lucerna.is_tensor(group.lr) then
    lucerna.no_grad(group.lr.fill_, group.lr, rate)
  else
    group.lr = rate
  end
end

-- The current rate of every group. {nil} has room for one, which most optimizers have.
function scheduler.current(optimizer)
  local rates, groups = {nil}, optimizer.param_groups
  for k = 1, #groups do rates[k] = rate_of(groups[k]) end
  return rates
end

-- Groups that came later than the scheduler may have no rate.
function scheduler.write(self, rates)
  if type(rates) ~= "table" then
    fail("%s.get_lr: expected a table of rates (got %s)", self.__name, type(rates))
  end
  local last, groups = {nil}, self.optimizer.param_groups
  for k = 1, #groups do
    local rate = rates[k] or rate_of(groups[k])
    if type(rate) ~= "number" then
      scheduler.check_number(self.__name, "the rate of group " .. k, rate)
    end
    last[k] = rate
  end
  for k = 1, #groups do
    if rates[k] then scheduler.set_rate(groups[k], rates[k]) end
  end
  self._last_lr = last
end

local function momentum_of(group) return group.betas and group.betas[1] or group.momentum end

--- Sets a group's momentum; of betas, the first counts.
function scheduler.set_momentum(group, momentum)
  if group.betas then
    group.betas[1] = momentum
  else
    group.momentum = momentum
  end
end

local FIELDS, RATES = 3, 11 -- where fields and rates stand in what an error would undo

local UNDO = {__close = function(undo, problem)
  if problem == nil then return end
  local self = undo[1]
  self._last_lr = undo[2]
  for k = FIELDS, RATES - 1, 2 do
    if undo[k] then self[undo[k]] = undo[k + 1] end
  end
  for k, group in ipairs(self.optimizer.param_groups) do
    scheduler.set_rate(group, undo[RATES + k - 1])
    if undo.momentums then scheduler.set_momentum(group, undo.momentums[k]) end
  end
  for part, state in pairs(undo.states or {}) do part:load_state_dict(state) end
end}

-- If it is closed by an error, these fields (the last two are optional), the groups' rates, for
-- schedulers that move it their momentum, and parts of a scheduler are as they were before.
function scheduler.unless_done(self, a, b, c, d, parts)
  local groups = self.optimizer.param_groups
  local undo = {self, self._last_lr, a, a and self[a], b, b and self[b], c, c and self[c], d,
    d and self[d], nil, momentums = nil, states = nil}
  for k = 1, #groups do undo[RATES + k - 1] = rate_of(groups[k]) end
  if parts or self.cycle_momentum then
    undo.momentums = {nil}
    for k, group in ipairs(groups) do undo.momentums[k] = momentum_of(group) end
  end
  if parts then
    undo.states = {nil}
    for _, part in ipairs(parts) do undo.states[part] = part:state_dict() end
  end
  return setmetatable(undo, UNDO)
end

local function go_to(self, epoch)
  self.last_epoch = epoch or self.last_epoch + 1
  local closed = epoch and self._get_closed_form_lr
  scheduler.write(self, closed and closed(self) or self:get_lr())
end

local EPOCH = {"epoch", options = 1} -- what step takes

--- Advances one epoch and sets the groups' learning rates. step(epoch) goes to an epoch, by the
-- closed form where there is one.
function LRScheduler:step(...)
  check_self(self, "LRScheduler", "step", "optimizer")
  local epoch = arguments("step", EPOCH, ...)
  if epoch ~= nil then scheduler.check_number(self.__name, "epoch", epoch) end
  local _ <close> = scheduler.unless_done(self, "last_epoch", "_step_count")
  self._step_count = self._step_count + 1
  go_to(self, epoch)
end

-- Goes to epoch 0, where a SequentialLR comes to this one; that is no step of its own.
function LRScheduler:_begin()
  local _ <close> = scheduler.unless_done(self, "last_epoch")
  go_to(self, 0)
end

--- The rates of epoch last_epoch, from the groups' current ones.
function LRScheduler:get_lr()
  check_self(self, "LRScheduler", "get_lr", "optimizer")
  fail("%s.get_lr is not defined", self.__name)
end

--- The learning rates set last, one per group; the next step makes a new list.
function LRScheduler:get_last_lr()
  local rates = type(self) == "table" and self._last_lr
  if not rates then check_self(self, "LRScheduler", "get_last_lr", "optimizer") end
  return rates
end

function scheduler.copy(value)
  if type(value) ~= "table" or getmetatable(value) ~= nil then return value end
  local made = {}
  for key, item in pairs(value) do made[key] = scheduler.copy(item) end
  return made
end

-- What is saved of a function: none; of an object that is called, its fields.
function scheduler.function_state(f)
  if type(f) ~= "table" then return core.none end
  local fields = {}
  for key, value in pairs(f) do fields[key] = scheduler.copy(value) end
  return fields
end

function scheduler.load_function_state(f, saved)
  for key, value in pairs(type(saved) == "table" and type(f) == "table" and saved or {}) do
    f[key] = scheduler.copy(value)
  end
end

local UNSAVED = {optimizer = true, _schedulers = true, lr_lambdas = true, _scale_fn_custom = true,
  [core] = true} -- under which an ordered map has its order
local ROOM = 16 -- fields that most have, at most

local function saved_value(value)
  if type(value) ~= "function" then return scheduler.copy(value) end
end

--- Everything but the optimizer and functions; tables are copied.
function LRScheduler:state_dict()
  check_self(self, "LRScheduler", "state_dict", "optimizer")
  return core._optimizer_fields(self, saved_value, ROOM, UNSAVED)
end

function scheduler.check_dict(self, dict)
  check_self(self, "LRScheduler", "load_state_dict", "optimizer")
  if type(dict) ~= "table" then
    fail("%s.load_state_dict: state_dict must be a table (got %s)", self.__name, type(dict))
  end
end

--- Takes over what state_dict gave.
function LRScheduler:load_state_dict(dict)
  scheduler.check_dict(self, dict)
  core._optimizer_fields(dict, scheduler.copy, self, UNSAVED)
end

-- Rates made of each group's rate, first rate and position; every: also of groups that came later
-- and have no first rate.
function scheduler.each(self, f, every)
  local rates, base_lrs, groups = {nil}, self.base_lrs, self.optimizer.param_groups
  for k = 1, #groups do
    rates[k] = (every or base_lrs[k]) and f(rate_of(groups[k]), base_lrs[k], k)
  end
  return rates
end

-- The current rates, all multiplied by one factor.
function scheduler.scaled(self, factor)
  local rates, groups = {nil}, self.optimizer.param_groups
  for k = 1, #groups do rates[k] = rate_of(groups[k]) * factor end
  return rates
end

-- A list with one number for each group, from such a list or one number for all.
function scheduler.per_group(who, name, optimizer, value)
  local n = #optimizer.param_groups
  if type(value) == "table" and getmetatable(value) == nil then
    if #value ~= n then fail("%s: expected %d values for %s, got %d", who, n, name, #value) end
    for k = 1, n do scheduler.check_number(who, name .. " " .. k, value[k]) end
    return {table.unpack(value)}
  end
  scheduler.check_number(who, name, value)
  local list = {nil}
  for k = 1, n do list[k] = value end
  return list
end

return scheduler
