-- Schedulers that move rate and momentum in cycles: CyclicLR and OneCycleLR.

local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"
local scheduler = require "lucerna.optim.scheduler"

local LRScheduler, fail, each = scheduler.LRScheduler, scheduler.fail, scheduler.each
local check_optimizer, check_number = scheduler.check_optimizer, scheduler.check_number
local check_positive, per_group = scheduler.check_positive, scheduler.per_group
local set_momentum = scheduler.set_momentum
local check_callable = require("lucerna.check").callable
local cos, pi, floor = math.cos, math.pi, math.floor

local cycles = {}

-- "momentum" or "betas" (its first counts), whichever the optimizer has.
local function momentum_kind(who, optimizer)
  local defaults = optimizer.defaults
  if defaults.betas then return "betas" end
  if defaults.momentum == nil then
    fail("%s: optimizer must support momentum or beta1 with `cycle_momentum` option enabled", who)
  end
  return "momentum"
end

-- The bounds of momentum, of every group; a cycle that begins writes them into the groups.
local function init_momentum(self, base_momentum, max_momentum, anew)
  local who, optimizer = self.__name, self.optimizer
  self.use_beta1 = momentum_kind(who, optimizer) == "betas"
  local most = per_group(who, "max_momentum", optimizer, max_momentum)
  local least = per_group(who, "base_momentum", optimizer, base_momentum)
  for k, group in ipairs(anew and optimizer.param_groups or {}) do
    set_momentum(group, most[k])
    group.max_momentum, group.base_momentum = most[k], least[k]
  end
  return least, most
end

local SCALES = {
  triangular = {"cycle", function() return 1 end},
  triangular2 = {"cycle", function(_, x) return 1 / 2 ^ (x - 1) end},
  exp_range = {"iterations", function(self, x) return self.gamma ^ x end},
}

--- CyclicLR(optimizer, base_lr, max_lr, step_size_up = 2000, step_size_down = step_size_up,
-- mode = "triangular" ("triangular2", "exp_range"), gamma = 1.0, scale_fn, scale_mode = "cycle"
-- ("iterations"), cycle_momentum = true, base_momentum = 0.8, max_momentum = 0.9, last_epoch = -1):
-- the rate goes up and down between two bounds, momentum (or the first beta) the other way.
-- scale_fn(cycle or iteration) scales the height of cycles. Smith, arXiv:1506.01186.
cycles.CyclicLR = classes.new("CyclicLR", LRScheduler)
local CyclicLR = cycles.CyclicLR

function CyclicLR:__init(...)
  local optimizer, base_lr, max_lr, up, down, mode, gamma, scale_fn, scale_mode, cycle_momentum,
    base_momentum, max_momentum, last_epoch = arguments("CyclicLR", {"optimizer", "base_lr",
    "max_lr", "step_size_up", "step_size_down", "mode", "gamma", "scale_fn", "scale_mode",
    "cycle_momentum", "base_momentum", "max_momentum", "last_epoch", options = 4}, ...)
  check_optimizer("CyclicLR", optimizer)
  local base_lrs = per_group("CyclicLR", "base_lr", optimizer, base_lr)
  self.optimizer, self.max_lrs = optimizer, per_group("CyclicLR", "max_lr", optimizer, max_lr)
  up = up or 2000
  down = down or up
  check_number("CyclicLR", "step_size_up", up)
  check_number("CyclicLR", "step_size_down", down)
  if up <= 0 or down < 0 then
    fail("CyclicLR: Expected positive step sizes, but got %s and %s", up, down)
  end
  self.total_size, self.step_ratio = up + down + 0.0, up / (up + down)
  self.mode, self.gamma = mode or "triangular", gamma or 1.0
  if scale_fn ~= nil then check_callable("CyclicLR", "scale_fn", scale_fn) end
  if not scale_fn and not SCALES[self.mode] then
    fail("CyclicLR: mode is invalid and scale_fn is None")
  end
  self.scale_mode = scale_fn and (scale_mode or "cycle") or SCALES[self.mode][1]
  self._scale_fn_custom = scale_fn
  self.cycle_momentum = cycle_momentum ~= false
  local anew = (last_epoch or -1) == -1
  if self.cycle_momentum then
    self.base_momentums, self.max_momentums =
      init_momentum(self, base_momentum or 0.8, max_momentum or 0.9, anew)
  end
  for k, group in ipairs(anew and optimizer.param_groups or {}) do
    scheduler.set_rate(group, base_lrs[k])
  end
  LRScheduler.__init(self, optimizer, last_epoch)
  self.base_lrs = base_lrs
end

--- The height of a cycle, or of the cycle at an iteration.
function CyclicLR:scale_fn(x)
  if self._scale_fn_custom then
    return check_number("CyclicLR", "what scale_fn returns", self._scale_fn_custom(x))
  end
  return SCALES[self.mode][2](self, x)
end

function CyclicLR:get_lr()
  local cycle = floor(1 + self.last_epoch / self.total_size)
  local x = 1 + self.last_epoch / self.total_size - cycle
  local height = x <= self.step_ratio and x / self.step_ratio or (x - 1) / (self.step_ratio - 1)
  height = height * self:scale_fn(self.scale_mode == "cycle" and cycle or self.last_epoch)
  local rates =
    each(self, function(_, base, k) return base + (self.max_lrs[k] - base) * height end)
  for k in ipairs(self.cycle_momentum and self.base_lrs or {}) do
    local low, high = self.base_momentums[k], self.max_momentums[k]
    set_momentum(self.optimizer.param_groups[k], high - (high - low) * height)
  end
  return rates
end

function CyclicLR:state_dict()
  local dict = LRScheduler.state_dict(self)
  dict._scale_fn_custom = scheduler.function_state(self._scale_fn_custom)
  return dict
end

function CyclicLR:load_state_dict(dict)
  LRScheduler.load_state_dict(self, dict)
  scheduler.load_function_state(self._scale_fn_custom, dict._scale_fn_custom)
end

local ANNEAL = {
  cos = function(from, to, part) return to + (from - to) / 2 * (cos(pi * part) + 1) end,
  linear = function(from, to, part) return (to - from) * part + from end,
}

--- OneCycleLR(optimizer, max_lr, total_steps (or epochs and steps_per_epoch), pct_start = 0.3,
-- anneal_strategy = "cos" ("linear"), cycle_momentum = true, base_momentum = 0.85,
-- max_momentum = 0.95, div_factor = 25.0, final_div_factor = 1e4, three_phase = false,
-- last_epoch = -1): the rate rises from max_lr / div_factor to max_lr in the first pct_start of all
-- steps and falls to 1 / final_div_factor of where it began; momentum goes the other way. Stepped
-- after every batch, total_steps times at most. Smith and Topin, arXiv:1708.07120.
cycles.OneCycleLR = classes.new("OneCycleLR", LRScheduler)
local OneCycleLR = cycles.OneCycleLR

local function count_steps(total_steps, epochs, steps_per_epoch)
  if total_steps ~= nil then
    check_positive("OneCycleLR", "total_steps", total_steps)
    return total_steps
  elseif epochs == nil or steps_per_epoch == nil then
    fail("OneCycleLR: You must define either total_steps OR (epochs AND steps_per_epoch)")
  end
  check_positive("OneCycleLR", "epochs", epochs)
  check_positive("OneCycleLR", "steps_per_epoch", steps_per_epoch)
  return epochs * steps_per_epoch
end

local function phase(end_step, start_lr, end_lr, start_momentum, end_momentum)
  return {end_step = end_step, start_lr = start_lr, end_lr = end_lr,
    start_momentum = start_momentum, end_momentum = end_momentum}
end

local function phases(total, part, three)
  local up = phase(part * total - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
  if not three then
    return {up, phase(total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")}
  end
  local down = phase(2 * part * total - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
  return {up, down, phase(total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")}
end

function OneCycleLR:__init(...)
  local optimizer, max_lr, total_steps, epochs, steps_per_epoch, pct_start, strategy,
    cycle_momentum, base_momentum, max_momentum, div_factor, final_div_factor, three_phase,
    last_epoch = arguments("OneCycleLR", {"optimizer", "max_lr", "total_steps", "epochs",
    "steps_per_epoch", "pct_start", "anneal_strategy", "cycle_momentum", "base_momentum",
    "max_momentum", "div_factor", "final_div_factor", "three_phase", "last_epoch",
    options = 3}, ...)
  check_optimizer("OneCycleLR", optimizer)
  self.optimizer, self.total_steps = optimizer, count_steps(total_steps, epochs, steps_per_epoch)
  pct_start = pct_start or 0.3
  if type(pct_start) ~= "number" or not (pct_start >= 0 and pct_start <= 1) then
    fail("OneCycleLR: Expected float between 0 and 1 pct_start, but got %s", pct_start)
  end
  self._anneal_func_type = strategy or "cos"
  if not ANNEAL[self._anneal_func_type] then
    fail("OneCycleLR: anneal_strategy must be one of 'cos' or 'linear', instead got %s", strategy)
  end
  self._schedule_phases = phases(self.total_steps, pct_start, three_phase)
  local max_lrs = per_group("OneCycleLR", "max_lr", optimizer, max_lr)
  div_factor, final_div_factor = div_factor or 25.0, final_div_factor or 1e4
  check_number("OneCycleLR", "div_factor", div_factor)
  check_number("OneCycleLR", "final_div_factor", final_div_factor)
  local anew = (last_epoch or -1) == -1
  self.cycle_momentum = cycle_momentum ~= false
  if self.cycle_momentum then
    init_momentum(self, base_momentum or 0.85, max_momentum or 0.95, anew)
  end
  for k, group in ipairs(anew and optimizer.param_groups or {}) do
    group.initial_lr, group.max_lr = max_lrs[k] / div_factor, max_lrs[k]
    group.min_lr = group.initial_lr / final_div_factor
  end
  LRScheduler.__init(self, optimizer, last_epoch)
end

-- The phase a step lies in, and how far it is through.
local function phase_at(list, step)
  local start = 0
  for k, now in ipairs(list) do
    if step <= now.end_step or k == #list then
      local length = now.end_step - start
      return now, length == 0 and 1 or (step - start) / length
    end
    start = now.end_step
  end
end

function OneCycleLR:get_lr()
  if self.last_epoch > self.total_steps then
    fail("OneCycleLR: Tried to step %d times. The specified number of total steps is %d",
      self.last_epoch, self.total_steps)
  end
  local now, part = phase_at(self._schedule_phases, self.last_epoch)
  local anneal, rates = ANNEAL[self._anneal_func_type], {}
  for k, group in ipairs(self.optimizer.param_groups) do -- one that came later may know limits, too
    local from, to = group[now.start_lr], group[now.end_lr]
    if from and to then rates[k] = anneal(from, to, part) end
    from, to = group[now.start_momentum], group[now.end_momentum]
    if self.cycle_momentum and from and to then set_momentum(group, anneal(from, to, part)) end
  end
  return rates
end

return cycles
