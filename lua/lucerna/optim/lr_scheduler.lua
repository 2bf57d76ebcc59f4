-- Learning rate schedulers (torch.optim.lr_scheduler). One is stepped once an epoch and writes the
-- `lr` of every group; it starts with a step of its own, which leaves epoch 0's rates.

local optim = require "lucerna.optim"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"

local lr_scheduler = {}

local Scheduler = {}
Scheduler.__index = Scheduler

-- Prepares what all schedulers share. last_epoch -1 begins anew; else groups must know initial_lr.
local function start(self, name, optimizer, last_epoch)
  if not optim.is_optimizer(optimizer) then
    core._raise(("%s: optimizer: expected an Optimizer (got %s)"):format(name, type(optimizer)))
  end
  self.optimizer, self.base_lrs = optimizer, {}
  self.last_epoch = last_epoch or -1
  for k, group in ipairs(optimizer.param_groups) do
    if self.last_epoch == -1 then
      group.initial_lr = group.initial_lr or group.lr
    elseif not group.initial_lr then
      core._raise(("%s: param 'initial_lr' is not specified in param_groups[%d] when resuming")
        :format(name, k))
    end
    self.base_lrs[k] = group.initial_lr
  end
  self:step()
  return self
end

--- Advances one epoch and sets the groups' learning rates.
function Scheduler:step()
  self.last_epoch = self.last_epoch + 1
  self._last_lr = self:get_lr()
  for k, group in ipairs(self.optimizer.param_groups) do group.lr = self._last_lr[k] end
end

--- The learning rates set last, one per group.
function Scheduler:get_last_lr() return {table.unpack(self._last_lr)} end

--- Everything but the optimizer.
function Scheduler:state_dict()
  local dict = {}
  for key, value in pairs(self) do
    if key ~= "optimizer" then dict[key] = value end
  end
  return dict
end

function Scheduler:load_state_dict(dict)
  for key, value in pairs(dict) do self[key] = value end
end

local function class(parent)
  local made = setmetatable({}, {__index = parent})
  made.__index = made
  return made
end

-- ---- StepLR ----

local StepLR = class(Scheduler)

function StepLR:get_lr()
  local decay = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
  local rates = {}
  for k, group in ipairs(self.optimizer.param_groups) do
    rates[k] = decay and group.lr * self.gamma or group.lr
  end
  return rates
end

--- StepLR(optimizer, step_size, gamma = 0.1, last_epoch = -1): multiplies lr by gamma every
-- step_size epochs.
function lr_scheduler.StepLR(...)
  local optimizer, step_size, gamma, last_epoch = arguments("StepLR",
    {"optimizer", "step_size", "gamma", "last_epoch"}, ...)
  if math.type(step_size) ~= "integer" or step_size < 1 then
    core._raise("StepLR: step_size: expected a positive integer (got "
      .. tostring(step_size) .. ")")
  end
  local self = setmetatable({step_size = step_size, gamma = gamma or 0.1}, StepLR)
  return start(self, "StepLR", optimizer, last_epoch)
end

return lr_scheduler
