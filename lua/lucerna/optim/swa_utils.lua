-- Averages of weights (torch.optim.swa_utils): AveragedModel, with the mean of stochastic weight
-- averaging (Izmailov et al., arXiv:1803.05407) or an exponential one, SWALR and update_bn.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local classes = require "lucerna.classes"
local core = require "lucerna.core"
local is_callable = require "lucerna.callable"
local is_batch_norm = require "lucerna.nn.is_batch_norm"
local scheduler = require "lucerna.optim.scheduler"
local nn = require "lucerna.nn"

local fail, LRScheduler = scheduler.fail, scheduler.LRScheduler

local swa_utils = {}

-- ---- what an average is ----

local function check_decay(decay)
  decay = decay == nil and 0.999 or decay
  if type(decay) ~= "number" or not (decay >= 0 and decay <= 1) then
    fail("Invalid decay value %s provided. Please provide a value in [0,1] range.", decay)
  end
  return decay
end

--- get_ema_avg_fn(decay = 0.999): an exponential average, decay * averaged + (1 - decay) * current.
function swa_utils.get_ema_avg_fn(decay)
  decay = check_decay(decay)
  return function(averaged, current) return averaged * decay + current * (1 - decay) end
end

--- get_swa_avg_fn(): the mean of all models, averaged + (current - averaged) / (n + 1).
function swa_utils.get_swa_avg_fn()
  return function(averaged, current, n) return averaged + (current - averaged) / (n + 1) end
end

-- Makes of a function that averages two tensors one that takes two lists and writes into the
-- first's.
local function for_lists(average)
  return function(averaged, current, n)
    local values = {}
    for k, a in ipairs(averaged) do values[k] = average(a, current[k], n) end
    for k, a in ipairs(averaged) do a:copy_(values[k]) end
  end
end

--- get_ema_multi_avg_fn(decay = 0.999): get_ema_avg_fn for lists of tensors, in place.
function swa_utils.get_ema_multi_avg_fn(decay)
  return for_lists(swa_utils.get_ema_avg_fn(decay))
end

--- get_swa_multi_avg_fn(): get_swa_avg_fn for lists of tensors, in place.
function swa_utils.get_swa_multi_avg_fn() return for_lists(swa_utils.get_swa_avg_fn()) end

-- ---- AveragedModel ----

--- AveragedModel(model, device, avg_fn, multi_avg_fn, use_buffers = false): a deep copy of the
-- model in `module`, whose parameters update_parameters averages. avg_fn(averaged, current, n)
-- returns the new average of one tensor; multi_avg_fn takes lists and writes into the first; the
-- mean is the default. n counts models before this one. Buffers are copied, or averaged with
-- use_buffers.
swa_utils.AveragedModel = nn.class "AveragedModel"
local AveragedModel = swa_utils.AveragedModel

function AveragedModel:__init(...)
  local model, device, avg_fn, multi_avg_fn, use_buffers = arguments("AveragedModel",
    {"model", "device", "avg_fn", "multi_avg_fn", "use_buffers", options = 2}, ...)
  check.module("AveragedModel", "model", model)
  if avg_fn and multi_avg_fn then
    fail("AveragedModel: Only one of avg_fn and multi_avg_fn should be provided")
  end
  self.module = model:clone()
  if device then self.module:to(device) end
  self:register_buffer("n_averaged", lucerna.tensor(0))
  self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers or false
end

function AveragedModel:forward(...) return self.module(...) end

-- Tensors of both models, one after the other, detached.
local function gather(list, averaged, current)
  local rest = {}
  for t in current do rest[#rest + 1] = t end
  local at = 0
  for t in averaged do
    at = at + 1
    local other = rest[at]
    if not other or not lucerna.equal(lucerna.tensor(t:size()), lucerna.tensor(other:size())) then
      fail("AveragedModel.update_parameters: the model is of another shape than the average")
    end
    list[1][#list[1] + 1], list[2][#list[2] + 1] = t:detach(), other:detach()
  end
  if at < #rest then
    fail("AveragedModel.update_parameters: the model has more tensors than the average")
  end
end

local function copy_all(to, from)
  for k, t in ipairs(to) do t:copy_(from[k]) end
end

local function update_parameters(self, model)
  local parameters, buffers = {{}, {}}, {{}, {}}
  gather(parameters, self.module:parameters(), model:parameters())
  gather(self.use_buffers and parameters or buffers, self.module:buffers(), model:buffers())
  if self.n_averaged:item() == 0 then
    copy_all(parameters[1], parameters[2])
  else
    local average = self.multi_avg_fn or for_lists(self.avg_fn or swa_utils.get_swa_avg_fn())
    average(parameters[1], parameters[2], self.n_averaged)
  end
  copy_all(buffers[1], buffers[2])
  self.n_averaged:fill_(self.n_averaged:item() + 1)
end

--- Takes the model's parameters into the average; the first time they are copied.
function AveragedModel:update_parameters(model)
  check.module("AveragedModel.update_parameters", "model", model)
  lucerna.no_grad(update_parameters, self, model)
end

-- ---- update_bn ----

local function statistics(m) return {m.running_mean, m.running_var, m.num_batches_tracked} end

local function copies(list)
  local made = {}
  for k, t in ipairs(list) do made[k] = t:clone() end
  return made
end

local function update_bn(loader, model, device)
  local norms, momenta, before, training = {}, {}, {}, model.training
  for m in model:modules() do
    if is_batch_norm(m) and m.running_mean then norms[#norms + 1] = m end
  end
  if #norms == 0 then return end
  for k, m in ipairs(norms) do momenta[k], before[k] = m.momentum, copies(statistics(m)) end
  local restore <close> = setmetatable({}, {__close = function(_, problem) -- luacheck: ignore
    for k, m in ipairs(norms) do
      m.momentum = momenta[k]
      if problem ~= nil then copy_all(statistics(m), before[k]) end
    end
    model:train(training)
  end})
  for _, m in ipairs(norms) do
    m.running_mean:zero_()
    m.running_var:fill_(1)
    m.num_batches_tracked:zero_()
    m.momentum = nil -- none: the mean of all batches
  end
  model:train()
  local function feed(batch)
    if type(batch) == "table" then batch = batch[1] end
    if not lucerna.is_tensor(batch) then
      fail("update_bn: a batch must be a tensor or begin with one (got %s)", type(batch))
    end
    model(device and batch:to(device) or batch)
  end
  if type(loader) == "table" and getmetatable(loader) == nil then
    for _, batch in ipairs(loader) do feed(batch) end
  else
    for batch in loader do feed(batch) end
  end
end

--- update_bn(loader, model, device): makes the statistics of the model's BatchNorms anew, in one
-- pass over the loader: anything for the generic `for`, or a table of batches. A batch is a tensor,
-- or a table whose first entry is one.
function swa_utils.update_bn(...)
  local loader, model, device = arguments("update_bn", {"loader", "model", "device"}, ...)
  check.module("update_bn", "model", model)
  if not is_callable(loader) and (type(loader) ~= "table" or getmetatable(loader)) then
    fail("update_bn: loader must be an iterator or a table of batches (got %s)",
      core.nn.kind_name(loader))
  end
  lucerna.no_grad(update_bn, loader, model, device)
end

-- ---- SWALR ----

local ANNEAL = {
  cos = function(t) return (1 - math.cos(math.pi * t)) / 2 end,
  linear = function(t) return t end,
}

--- SWALR(optimizer, swa_lr, anneal_epochs = 10, anneal_strategy = "cos" ("linear"),
-- last_epoch = -1): goes from the rates there are to swa_lr (one, or a list of one per group) in
-- anneal_epochs epochs, and stays.
swa_utils.SWALR = classes.new("SWALR", LRScheduler)
local SWALR = swa_utils.SWALR

function SWALR:__init(...)
  local optimizer, swa_lr, anneal_epochs, strategy, last_epoch = arguments("SWALR",
    {"optimizer", "swa_lr", "anneal_epochs", "anneal_strategy", "last_epoch", options = 3}, ...)
  scheduler.check_optimizer("SWALR", optimizer)
  local groups = optimizer.param_groups
  if type(swa_lr) == "table" and #swa_lr ~= #groups then
    fail("SWALR: swa_lr must have the same length as optimizer.param_groups: swa_lr has %d, "
      .. "optimizer.param_groups has %d", #swa_lr, #groups)
  end
  local rates = scheduler.per_group("SWALR", "swa_lr", optimizer, swa_lr)
  self.anneal_epochs, self._anneal_strategy = anneal_epochs or 10, strategy or "cos"
  if not ANNEAL[self._anneal_strategy] then
    fail("SWALR: anneal_strategy must be one of 'cos' or 'linear', instead got %s", strategy)
  elseif math.type(self.anneal_epochs) ~= "integer" or self.anneal_epochs < 0 then
    fail("SWALR: anneal_epochs must be equal or greater than 0, got %s", anneal_epochs)
  end
  for k, group in ipairs(groups) do group.swa_lr = rates[k] end
  LRScheduler.__init(self, optimizer, last_epoch)
end

-- How much of the way is done after a step.
local function way(self, step)
  local part = step / math.max(1, self.anneal_epochs)
  return ANNEAL[self._anneal_strategy](math.max(0, math.min(1, part)))
end

function SWALR:get_lr()
  local step = self._step_count - 1
  if self.anneal_epochs == 0 then step = math.max(1, step) end
  local before, now, rates = way(self, step - 1), way(self, step), {}
  for k, group in ipairs(self.optimizer.param_groups) do
    local last = group.swa_lr or scheduler.rate(group) -- a group that came later keeps its rate
    local first = last -- the rate where the way began
    if before ~= 1 then first = (scheduler.rate(group) - before * last) / (1 - before) end
    rates[k] = last * now + first * (1 - now)
  end
  return rates
end

return swa_utils
