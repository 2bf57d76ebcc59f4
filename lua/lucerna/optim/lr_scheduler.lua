-- Learning rate schedulers (torch.optim.lr_scheduler). One is stepped once an epoch and writes the
-- `lr` of every group; it starts with a step of its own, which leaves epoch 0's rates. Epochs count
-- as PyTorch's do. Most rules go from the current rate to the next, so a rate set by hand stays.
-- PyTorch's warnings (stepped too early, step(epoch), get_lr from outside) are not given here.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local is_callable = require "lucerna.callable"
local classes = require "lucerna.classes"
local cycles = require "lucerna.optim.cycles"
local scheduler = require "lucerna.optim.scheduler"

local LRScheduler, fail = scheduler.LRScheduler, scheduler.fail
local check_optimizer, check_number = scheduler.check_optimizer, scheduler.check_number
local check_positive, check_dict = scheduler.check_positive, scheduler.check_dict
local current, each, scaled = scheduler.current, scheduler.each, scheduler.scaled
local per_group, unless_done = scheduler.per_group, scheduler.unless_done
local cos, pi, floor = math.cos, math.pi, math.floor

local lr_scheduler = {LRScheduler = LRScheduler, CyclicLR = cycles.CyclicLR,
  OneCycleLR = cycles.OneCycleLR}

-- A class whose constructor takes an optimizer, these fields and last_epoch. A field is {name,
-- default, check}, a number unless check(who, name, value) says otherwise; finish(self, last_epoch)
-- does what is left.
local function define(name, fields, finish)
  local made, names = classes.new(name, LRScheduler), {"optimizer", options = 2}
  for k, field in ipairs(fields) do
    names[k + 1] = field[1]
    if field[2] == nil then names.options = k + 2 end
  end
  names[#names + 1] = "last_epoch"
  function made:__init(...)
    local values = {arguments(name, names, ...)}
    local optimizer, last_epoch = values[1], values[#names]
    check_optimizer(name, optimizer)
    for k, field in ipairs(fields) do
      local key, value, check = field[1], values[k + 1], field[3] or check_number
      if value == nil then value = field[2] end
      check(name, key, value)
      self[key] = value
    end
    if finish then finish(self, last_epoch) end
    LRScheduler.__init(self, optimizer, last_epoch)
  end
  return made
end

-- Rates go on from the one before: there is none at epoch 0, nor where a scheduler that resumes is
-- made, whose groups have its rates already.
local function is_first(self) return self.last_epoch <= 0 or self._step_count == 1 end

-- ---- functions of the epoch ----

-- The base of LambdaLR and MultiplicativeLR. Objects that are called have state, functions none.
local ByFunction = classes.new("ByFunction", LRScheduler)

function ByFunction:__init(...)
  local optimizer, lr_lambda, last_epoch = arguments(self.__name,
    {"optimizer", "lr_lambda", "last_epoch", options = 3}, ...)
  check_optimizer(self.__name, optimizer)
  local n = #optimizer.param_groups
  local list = type(lr_lambda) == "table" and not is_callable(lr_lambda) and lr_lambda
  if list and #list ~= n then
    fail("%s: Expected %d lr_lambdas, but got %d", self.__name, n, #list)
  end
  self.lr_lambdas = {}
  for k = 1, n do
    self.lr_lambdas[k] = list and list[k] or lr_lambda
    if not is_callable(self.lr_lambdas[k]) then
      fail("%s: lr_lambda must be a function or a list of them (got %s)", self.__name,
        type(self.lr_lambdas[k]))
    end
  end
  LRScheduler.__init(self, optimizer, last_epoch)
end

-- What group k's function says of the epoch.
function ByFunction:_factor(k)
  local factor = self.lr_lambdas[k](self.last_epoch)
  check_number(self.__name, "what lr_lambda returns", factor)
  return factor
end

function ByFunction:state_dict()
  local dict = LRScheduler.state_dict(self)
  dict.lr_lambdas = {}
  for k, f in ipairs(self.lr_lambdas) do dict.lr_lambdas[k] = scheduler.function_state(f) end
  return dict
end

function ByFunction:load_state_dict(dict)
  LRScheduler.load_state_dict(self, dict)
  for k, saved in pairs(dict.lr_lambdas or {}) do
    scheduler.load_function_state(self.lr_lambdas[k], saved)
  end
end

--- LambdaLR(optimizer, lr_lambda, last_epoch = -1): each group's first rate times lr_lambda(epoch);
-- lr_lambda may be a list of one function per group.
lr_scheduler.LambdaLR = classes.new("LambdaLR", ByFunction)

function lr_scheduler.LambdaLR:get_lr()
  return each(self, function(_, base, k) return base * self:_factor(k) end)
end

--- MultiplicativeLR(optimizer, lr_lambda, last_epoch = -1): multiplies the rate by
-- lr_lambda(epoch), from epoch 1 on.
lr_scheduler.MultiplicativeLR = classes.new("MultiplicativeLR", ByFunction)

function lr_scheduler.MultiplicativeLR:get_lr()
  if is_first(self) then return current(self.optimizer) end
  return each(self, function(lr, _, k) return lr * self:_factor(k) end)
end

-- ---- factors ----

-- The first rates times a factor.
local function first_times(self, factor)
  return each(self, function(_, base) return base * factor end)
end

--- StepLR(optimizer, step_size, gamma = 0.1, last_epoch = -1): multiplies the rate by gamma every
-- step_size epochs.
lr_scheduler.StepLR = define("StepLR", {{"step_size", nil, check_positive}, {"gamma", 0.1}})
local StepLR = lr_scheduler.StepLR

function StepLR:get_lr()
  local decays = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
  return scaled(self, decays and self.gamma or 1)
end

function StepLR:_get_closed_form_lr()
  local factor = self.gamma ^ (self.last_epoch // self.step_size)
  return first_times(self, factor)
end

local function check_epochs(who, name, list)
  if type(list) ~= "table" then
    fail("%s: %s must be a table of epochs (got %s)", who, name, type(list))
  end
  for _, epoch in ipairs(list) do
    check_number(who, "a milestone", epoch)
    if epoch ~= epoch then fail("%s: a milestone must be an epoch (got %s)", who, epoch) end
  end
end

--- MultiStepLR(optimizer, milestones, gamma = 0.1, last_epoch = -1): multiplies the rate by gamma
-- at each milestone, a list of epochs; one that is there twice counts twice.
lr_scheduler.MultiStepLR = define("MultiStepLR",
  {{"milestones", nil, check_epochs}, {"gamma", 0.1}}, function(self)
    local times = {} -- how often each epoch is there
    for _, epoch in ipairs(self.milestones) do times[epoch] = (times[epoch] or 0) + 1 end
    self.milestones = times
  end)
local MultiStepLR = lr_scheduler.MultiStepLR

function MultiStepLR:get_lr()
  return scaled(self, self.gamma ^ (self.milestones[self.last_epoch] or 0))
end

function MultiStepLR:_get_closed_form_lr()
  local passed = 0
  for epoch, times in pairs(self.milestones) do
    if epoch <= self.last_epoch then passed = passed + times end
  end
  return first_times(self, self.gamma ^ passed)
end

--- ConstantLR(optimizer, factor = 1/3, total_iters = 5, last_epoch = -1): the first rate times
-- factor until epoch total_iters.
lr_scheduler.ConstantLR = define("ConstantLR", {{"factor", 1 / 3}, {"total_iters", 5}},
  function(self)
    if not (self.factor >= 0 and self.factor <= 1) then
      fail("ConstantLR: Constant multiplicative factor expected to be between 0 and 1.")
    end
  end)
local ConstantLR = lr_scheduler.ConstantLR

function ConstantLR:get_lr()
  if self.last_epoch == 0 then return scaled(self, self.factor) end
  if self.last_epoch ~= self.total_iters then return current(self.optimizer) end
  if self.factor == 0 then return self:_get_closed_form_lr() end
  return scaled(self, 1 / self.factor)
end

function ConstantLR:_get_closed_form_lr()
  local factor = self.last_epoch >= self.total_iters and 1 or self.factor
  return first_times(self, factor)
end

--- LinearLR(optimizer, start_factor = 1/3, end_factor = 1.0, total_iters = 5, last_epoch = -1): the
-- first rate times a factor that goes linearly from one to the other in total_iters epochs.
lr_scheduler.LinearLR = define("LinearLR",
  {{"start_factor", 1 / 3}, {"end_factor", 1.0}, {"total_iters", 5}}, function(self)
    if not (self.start_factor > 0 and self.start_factor <= 1) then
      fail("LinearLR: Starting multiplicative factor expected to be greater than 0 and less or "
        .. "equal to 1.")
    elseif not (self.end_factor >= 0 and self.end_factor <= 1) then
      fail("LinearLR: Ending multiplicative factor expected to be between 0 and 1.")
    end
  end)
local LinearLR = lr_scheduler.LinearLR

function LinearLR:get_lr()
  if self.last_epoch == 0 then return scaled(self, self.start_factor) end
  if is_first(self) or self.last_epoch > self.total_iters then return current(self.optimizer) end
  local rise = self.end_factor - self.start_factor
  local before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
  return scaled(self, 1 + rise / before)
end

function LinearLR:_get_closed_form_lr()
  local done = math.min(1, self.last_epoch / self.total_iters)
  if self.total_iters == 0 then done = 1 end
  local factor = self.start_factor + (self.end_factor - self.start_factor) * done
  return first_times(self, factor)
end

--- ExponentialLR(optimizer, gamma, last_epoch = -1): multiplies the rate by gamma every epoch.
lr_scheduler.ExponentialLR = define("ExponentialLR", {{"gamma"}})
local ExponentialLR = lr_scheduler.ExponentialLR

function ExponentialLR:get_lr() return scaled(self, is_first(self) and 1 or self.gamma) end

function ExponentialLR:_get_closed_form_lr()
  return first_times(self, self.gamma ^ self.last_epoch)
end

--- PolynomialLR(optimizer, total_iters = 5, power = 1.0, last_epoch = -1): the first rate times
-- (1 - epoch / total_iters)^power, 0 from epoch total_iters on.
lr_scheduler.PolynomialLR = define("PolynomialLR",
  {{"total_iters", 5, check_positive}, {"power", 1.0}})
local PolynomialLR = lr_scheduler.PolynomialLR

function PolynomialLR:get_lr()
  local t, total = self.last_epoch, self.total_iters
  if is_first(self) or t > total then return current(self.optimizer) end
  return scaled(self, ((1 - t / total) / (1 - (t - 1) / total)) ^ self.power)
end

function PolynomialLR:_get_closed_form_lr()
  local left = 1 - math.min(self.total_iters, self.last_epoch) / self.total_iters
  return first_times(self, left ^ self.power)
end

-- ---- cosines ----

-- The rates after t of T epochs of half a cosine from the first ones to eta_min.
local function along_cosine(self, t, T)
  local height = (1 + cos(pi * t / T)) / 2
  return each(self, function(_, base) return self.eta_min + (base - self.eta_min) * height end)
end

local function check_length(who, name, value)
  check_number(who, name, value)
  if not (value > 0 and value < math.huge) then
    fail("%s: Expected positive %s, but got %s", who, name, value)
  end
end

--- CosineAnnealingLR(optimizer, T_max, eta_min = 0.0, last_epoch = -1): from the first rate to
-- eta_min in T_max epochs along half a cosine, then up again. Loshchilov and Hutter,
-- arXiv:1608.03983, without restarts. Recursive, so a rate set by hand stays.
lr_scheduler.CosineAnnealingLR = define("CosineAnnealingLR",
  {{"T_max", nil, check_length}, {"eta_min", 0.0}})
local CosineAnnealingLR = lr_scheduler.CosineAnnealingLR

function CosineAnnealingLR:get_lr()
  local t, T, low = self.last_epoch, self.T_max, self.eta_min
  if is_first(self) then return current(self.optimizer) end
  if (t - 1 - T) % (2 * T) == 0 then -- at the bottom: 0 / 0 below
    local rise = (1 - cos(pi / T)) / 2
    return each(self, function(lr, base) return lr + (base - low) * rise end)
  end
  local factor = (1 + cos(pi * t / T)) / (1 + cos(pi * (t - 1) / T))
  return each(self, function(lr) return factor * (lr - low) + low end, true)
end

function CosineAnnealingLR:_get_closed_form_lr()
  return along_cosine(self, self.last_epoch, self.T_max)
end

local function check_multiple(who, name, value)
  if math.type(value) ~= "integer" or value < 1 then
    fail("%s: Expected integer %s >= 1, but got %s", who, name, value)
  end
end

--- CosineAnnealingWarmRestarts(optimizer, T_0, T_mult = 1, eta_min = 0.0, last_epoch = -1): half a
-- cosine from the first rate to eta_min in T_0 epochs, then anew, each time T_mult as long.
-- step(epoch) takes fractions of epochs. Loshchilov and Hutter, arXiv:1608.03983.
lr_scheduler.CosineAnnealingWarmRestarts = define("CosineAnnealingWarmRestarts",
  {{"T_0", nil, check_positive}, {"T_mult", 1, check_multiple}, {"eta_min", 0.0}},
  function(self, last_epoch) self.T_i, self.T_cur = self.T_0, last_epoch or -1 end)
local WarmRestarts = lr_scheduler.CosineAnnealingWarmRestarts

function WarmRestarts:get_lr()
  return along_cosine(self, self.T_cur, self.T_i)
end

-- The round an epoch lies in, and how far.
function WarmRestarts:_go_to(epoch)
  check_number("CosineAnnealingWarmRestarts", "epoch", epoch)
  if epoch < 0 then
    fail("CosineAnnealingWarmRestarts: Expected non-negative epoch, but got %s", epoch)
  elseif epoch < self.T_0 then
    self.T_i, self.T_cur = self.T_0, epoch
  elseif self.T_mult == 1 then
    self.T_cur = epoch % self.T_0
  else
    local round = floor(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
    local longer = floor(self.T_mult ^ round)
    self.T_cur = epoch - self.T_0 * (longer - 1) / (self.T_mult - 1)
    self.T_i = self.T_0 * longer
  end
end

function WarmRestarts:step(...)
  local epoch = arguments("step", {"epoch", options = 1}, ...)
  local _ <close> = unless_done(self, "last_epoch", "T_cur", "T_i")
  if epoch == nil and self.last_epoch < 0 then epoch = 0 end
  if epoch then
    self:_go_to(epoch)
  else
    epoch = self.last_epoch + 1
    self.T_cur = self.T_cur + 1
    if self.T_cur >= self.T_i then
      self.T_cur = self.T_cur - self.T_i
      self.T_i = self.T_i * self.T_mult
    end
  end
  self.last_epoch = floor(epoch)
  scheduler.write(self, self:get_lr())
end

-- ---- a scheduler that looks at the training ----

--- ReduceLROnPlateau(optimizer, mode = "min" ("max"), factor = 0.1, patience = 10,
-- threshold = 1e-4, threshold_mode = "rel" ("abs"), cooldown = 0, min_lr = 0, eps = 1e-8):
-- step(metric) multiplies the rate by factor when the metric has not improved by more than
-- threshold for more than patience steps. NaN is no improvement; changes of eps or less are left
-- out. in_cooldown: does it wait after a change?
lr_scheduler.ReduceLROnPlateau = classes.new("ReduceLROnPlateau", LRScheduler)
local Plateau = lr_scheduler.ReduceLROnPlateau

local PLATEAU = {"optimizer", "mode", "factor", "patience", "threshold", "threshold_mode",
  "cooldown", "min_lr", "eps", options = 2}

local function number(name, value) return check_number("ReduceLROnPlateau", name, value) end

function Plateau:__init(...)
  local optimizer, mode, factor, patience, threshold, threshold_mode, cooldown, min_lr, eps =
    arguments("ReduceLROnPlateau", PLATEAU, ...)
  self.factor = factor and number("factor", factor) or 0.1
  self.patience = patience and number("patience", patience) or 10
  self.cooldown = cooldown and number("cooldown", cooldown) or 0
  self.threshold = threshold and number("threshold", threshold) or 1e-4
  self.eps = eps and number("eps", eps) or 1e-8
  if self.factor >= 1 then fail("ReduceLROnPlateau: Factor should be < 1.0.") end
  check_optimizer("ReduceLROnPlateau", optimizer)
  self.optimizer, self.min_lrs = optimizer, min_lr
  if type(min_lr) ~= "table" then
    self.default_min_lr = min_lr or 0
    self.min_lrs = per_group("ReduceLROnPlateau", "min_lr", optimizer, self.default_min_lr)
  elseif #min_lr ~= #optimizer.param_groups then
    fail("ReduceLROnPlateau: expected %d min_lrs, got %d", #optimizer.param_groups, #min_lr)
  end
  self.mode, self.threshold_mode = mode or "min", threshold_mode or "rel"
  if self.mode ~= "min" and self.mode ~= "max" then
    fail("ReduceLROnPlateau: mode %s is unknown!", mode)
  elseif self.threshold_mode ~= "rel" and self.threshold_mode ~= "abs" then
    fail("ReduceLROnPlateau: threshold mode %s is unknown!", threshold_mode)
  end
  self.last_epoch, self._last_lr = 0, current(optimizer)
  self:_reset()
end

function Plateau.__index(self, key)
  local value = Plateau[key]
  if value == nil and key == "in_cooldown" then return self.cooldown_counter > 0 end
  return value
end

function Plateau:_reset()
  self.mode_worse = self.mode == "min" and math.huge or -math.huge
  self.best = self.mode_worse
  self.cooldown_counter, self.num_bad_epochs = 0, 0
end

--- Is metric a better than best, by more than the threshold?
function Plateau:is_better(a, best)
  local sign = self.mode == "min" and -1 or 1
  if self.threshold_mode == "rel" then
    best = best * (1 + sign * self.threshold)
  else
    best = best + sign * self.threshold
  end
  if sign < 0 then return a < best end
  return a > best
end

function Plateau:_reduce_lr()
  local groups = self.optimizer.param_groups
  if #groups ~= #self.min_lrs then
    if not self.default_min_lr then
      fail("ReduceLROnPlateau: The number of param groups in the `optimizer` (%d) differs from "
        .. "when `ReduceLROnPlateau` was initialized (%d). Please modify the `min_lrs` field to "
        .. "match.",
        #groups, #self.min_lrs)
    end
    self.min_lrs = per_group("ReduceLROnPlateau", "min_lr", self.optimizer, self.default_min_lr)
  end
  local rates = current(self.optimizer)
  for k, old in ipairs(rates) do
    local new = math.max(old * self.factor, self.min_lrs[k])
    if old - new > self.eps then rates[k] = new end
  end
  scheduler.write(self, rates)
end

local STEP = {"metrics", "epoch", options = 2}

--- Looks at a metric: a number or a tensor of one element.
function Plateau:step(...)
  local metrics, epoch = arguments("step", STEP, ...)
  local value = metrics
  if type(value) ~= "number" then
    value = lucerna.is_tensor(metrics) and metrics:item() or metrics
    check_number("ReduceLROnPlateau.step", "metrics", value)
  end
  if epoch ~= nil then check_number("ReduceLROnPlateau.step", "epoch", epoch) end
  local best, bad, cooldown = self.best, self.num_bad_epochs + 1, self.cooldown_counter
  if self:is_better(value, best) then best, bad = value, 0 end
  if cooldown > 0 then cooldown, bad = cooldown - 1, 0 end
  local reduces = bad > self.patience
  local _ <close> = reduces and
    unless_done(self, "last_epoch", "best", "num_bad_epochs", "cooldown_counter")
  if reduces then
    self:_reduce_lr()
    bad, cooldown = 0, self.cooldown
  else
    self._last_lr = current(self.optimizer)
  end
  core._put(self, "last_epoch", epoch or self.last_epoch + 1, "best", best, "num_bad_epochs", bad,
    "cooldown_counter", cooldown)
end

-- ---- schedulers of schedulers ----

-- The base of both: their state is that of their parts.
local Composed = classes.new("Composed", LRScheduler)

local function check_parts(who, optimizer, schedulers)
  if type(schedulers) ~= "table" or #schedulers < 1 then
    fail("%s expects at least one scheduler to be chained, but got no scheduler.", who)
  end
  optimizer = optimizer or type(schedulers[1]) == "table" and schedulers[1].optimizer
  for k = 1, #schedulers do
    local part = schedulers[k]
    if type(part) ~= "table" or not part.optimizer then
      fail("%s: scheduler at index %d should have `optimizer` as its attribute.", who, k)
    elseif getmetatable(part) == Plateau then
      fail("%s does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to "
        .. "be specified when calling `step`, but got one at index %d in the given schedulers "
        .. "sequence.", who, k)
    elseif part.optimizer ~= optimizer then
      fail("%s expects all schedulers to belong to the same optimizer, but got scheduler %s at "
        .. "index %d with another one.", who, part.__name, k)
    end
  end
  return optimizer
end

function Composed:_begin() self:step() end

function Composed:state_dict()
  local dict = LRScheduler.state_dict(self)
  dict._schedulers = {}
  for k, part in ipairs(self._schedulers) do dict._schedulers[k] = part:state_dict() end
  return dict
end

function Composed:load_state_dict(dict)
  check_dict(self, dict)
  local saved = dict._schedulers
  if type(saved) ~= "table" or #saved ~= #self._schedulers then
    fail("%s.load_state_dict: expected the states of %d schedulers", self.__name,
      #self._schedulers)
  end
  for k, part in ipairs(self._schedulers) do check_dict(part, saved[k]) end
  LRScheduler.load_state_dict(self, dict)
  for k, part in ipairs(self._schedulers) do part:load_state_dict(saved[k]) end
end

--- ChainedScheduler(schedulers, optimizer): steps all of them each time, one after the other.
lr_scheduler.ChainedScheduler = classes.new("ChainedScheduler", Composed)
local ChainedScheduler = lr_scheduler.ChainedScheduler

function ChainedScheduler:__init(...)
  local schedulers, optimizer = arguments("ChainedScheduler", {"schedulers", "optimizer",
    options = 2}, ...)
  self.optimizer = check_parts("ChainedScheduler", optimizer, schedulers)
  self._schedulers = {table.unpack(schedulers)}
  self._last_lr = current(self.optimizer)
end

function ChainedScheduler:step()
  local _ <close> = unless_done(self, nil, nil, nil, nil, self._schedulers)
  for _, part in ipairs(self._schedulers) do part:step() end
  self._last_lr = current(self.optimizer)
end

--- SequentialLR(optimizer, schedulers, milestones, last_epoch = -1): one scheduler after the other;
-- at each milestone the next begins with its epoch 0.
lr_scheduler.SequentialLR = classes.new("SequentialLR", Composed)
local SequentialLR = lr_scheduler.SequentialLR

-- Takes back the step a scheduler made when it was created.
local function undo(part)
  for _, inner in ipairs(part._schedulers or {}) do undo(inner) end
  if not part._schedulers then part.last_epoch = part.last_epoch - 1 end
end

function SequentialLR:__init(...)
  local optimizer, schedulers, milestones, last_epoch = arguments("SequentialLR",
    {"optimizer", "schedulers", "milestones", "last_epoch", options = 4}, ...)
  check_optimizer("SequentialLR", optimizer)
  check_parts("SequentialLR", optimizer, schedulers)
  local points = type(milestones) == "table" and #milestones or -1
  if points ~= #schedulers - 1 then
    fail("SequentialLR expects number of schedulers provided to be one more than the number of "
      .. "milestone points, but got number of schedulers %d and the number of milestones to be "
      .. "equal to %d", #schedulers, math.max(points, 0))
  end
  check_epochs("SequentialLR", "milestones", milestones)
  check_number("SequentialLR", "last_epoch", last_epoch or -1)
  self._schedulers, self._milestones = {table.unpack(schedulers)}, {table.unpack(milestones)}
  self.optimizer, self.last_epoch = optimizer, (last_epoch or -1) + 1
  for _, group in ipairs(optimizer.param_groups) do
    scheduler.set_rate(group, group.initial_lr)
  end
  undo(self)
  local part = self:_part(0)
  part:_initial_step()
  self._last_lr = part:get_last_lr()
end

-- The scheduler of an epoch, and the milestone where it began.
function SequentialLR:_part(epoch)
  local passed = 0
  for _, milestone in ipairs(self._milestones) do
    if milestone <= epoch then passed = passed + 1 end
  end
  return self._schedulers[passed + 1], self._milestones[passed]
end

-- An error after the part's step, which makes a new list of rates, does not undo it.
local FOLLOW = {__close = function(follow, problem)
  if problem == nil then return end
  local self, part, rates, epoch = table.unpack(follow)
  if part._last_lr == rates then self.last_epoch = epoch else self._last_lr = part._last_lr end
end}

function SequentialLR:step()
  local epoch = self.last_epoch + 1
  local part, begun = self:_part(epoch)
  local _ <close> = setmetatable({self, part, part._last_lr, self.last_epoch}, FOLLOW)
  self.last_epoch = epoch
  if begun == epoch then part:_begin() else part:step() end
  self._last_lr = part._last_lr
end

return lr_scheduler
