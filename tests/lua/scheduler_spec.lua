-- Learning rate schedulers: PyTorch's rates, epoch by epoch, states, resuming, errors.

local lucerna = require "lucerna"
local optim = lucerna.optim
local parity = require "parity"
local same = require("luassert.util").deepcompare
local lr_scheduler = optim.lr_scheduler
local recorded = parity.load "schedulers"

local FUNCTIONS = {
  slower = function(epoch) return 0.95 ^ epoch end,
  harmonic = function(epoch) return 1 / (1 + epoch) end,
  halved = function(x) return 0.5 ^ x end,
}

local function parameter() return lucerna.tensor({1.0}, {requires_grad = true}) end

local function optimizer(kind)
  local groups = {{params = {parameter()}, lr = 1.0}, {params = {parameter()}, lr = 0.25}}
  if kind then return optim[kind](groups, {betas = {0.9, 0.999}}) end
  return optim.SGD(groups, {momentum = 0.9})
end

local make

-- Arguments with functions and inner schedulers made.
local function given(value, o)
  if type(value) == "string" and value:find("^@") then return FUNCTIONS[value:sub(2)] end
  if type(value) ~= "table" then return value end
  if type(value[1]) == "string" and type(value[2]) == "table" then
    return make(value[1], value[2], o)
  end
  local list = {}
  for k, item in ipairs(value) do list[k] = given(item, o) end
  return list
end

function make(kind, options, o, last_epoch)
  local arguments = {optimizer = o, last_epoch = last_epoch}
  for key, value in pairs(options) do arguments[key] = given(value, o) end
  return (lr_scheduler[kind] or optim.swa_utils[kind])(arguments)
end

local function near(want, got, text)
  assert.is_near(want, got, 1e-8 * math.max(1e-3, math.abs(want)), text)
end

local function check(o, want, epoch)
  for k = 1, 2 do near(want[k], o.param_groups[k].lr, ("epoch %s, group %d"):format(epoch, k)) end
  local group = o.param_groups[1]
  if want[3] then near(want[3], group.betas and group.betas[1] or group.momentum, "momentum") end
end

local words = parity.words

local function title(case)
  local extra = case.by_hand and ", the rate changed by hand" or case.resumed and ", resumed" or ""
  return case.kind .. " " .. words(case.options) .. extra
end

local function walk(case, o, scheduler)
  check(o, case.values[1], 0)
  for epoch = 1, #case.values - 1 do
    scheduler:step()
    if epoch == case.by_hand then
      for _, group in ipairs(o.param_groups) do group.lr = group.lr * 2 end
    else
      assert.are.same({o.param_groups[1].lr, o.param_groups[2].lr}, scheduler:get_last_lr())
    end
    check(o, case.values[epoch + 1], epoch)
  end
end

describe("a scheduler follows PyTorch:", function()
  for _, case in ipairs(recorded.cases) do
    it(title(case), function()
      local o = optimizer()
      if case.resumed then
        local first = make(case.kind, case.options, o)
        for _ = 1, case.resumed do first:step() end
      end
      walk(case, o, make(case.kind, case.options, o, case.resumed))
    end)
  end

  for _, case in ipairs(recorded.jumps) do
    it("going to an epoch: " .. title(case), function()
      local o = optimizer()
      local scheduler = make(case.kind, case.options, o)
      for k, epoch in ipairs {3, 11, 0, 20, 4} do
        scheduler:step(epoch)
        check(o, case.values[k], epoch)
      end
    end)
  end

  for _, case in ipairs(recorded.plateaus) do
    it("ReduceLROnPlateau " .. words(case.options), function()
      local o = optimizer()
      local arguments = {optimizer = o}
      for key, value in pairs(case.options) do arguments[key] = value end
      local scheduler = lr_scheduler.ReduceLROnPlateau(arguments)
      for epoch, metric in ipairs(recorded.metrics) do
        scheduler:step(epoch % 2 == 0 and metric or lucerna.tensor {metric + 0.0})
        check(o, case.values[epoch], epoch)
      end
    end)
  end

  for _, case in ipairs(recorded.cases) do
    if case.kind:find "Cycl" and case.options.cycle_momentum ~= false then
      it("with Adam's first beta: " .. title(case), function()
        local o = optimizer "Adam"
        walk(case, o, make(case.kind, case.options, o))
        assert.are.equal(0.999, o.param_groups[1].betas[2])
      end)
    end
  end
end)

describe("published rates", function()
  local s = lr_scheduler
  local published = { -- from 1.0, epochs 0 to 8
    {"StepLR", {1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25},
      function(o) return s.StepLR(o, 3, 0.5) end},
    {"MultiStepLR", {1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01},
      function(o) return s.MultiStepLR(o, {2, 5}) end},
    {"LinearLR", {0.333333, 0.466667, 0.6, 0.733333, 0.866667, 1, 1, 1, 1}, s.LinearLR},
    {"PolynomialLR", {1, 0.64, 0.36, 0.16, 0.04, 0, 0, 0, 0},
      function(o) return s.PolynomialLR(o, 5, 2) end},
    {"CosineAnnealingLR", {1, 0.868198, 0.55, 0.231802, 0.1, 0.231802, 0.55, 0.868198, 1},
      function(o) return s.CosineAnnealingLR(o, 4, 0.1) end},
    {"CosineAnnealingWarmRestarts", {1, 0.5, 1, 0.853553, 0.5, 0.146447, 1, 0.96194, 0.853553},
      function(o) return s.CosineAnnealingWarmRestarts(o, 2, 2) end},
    {"OneCycleLR", {0.04, 0.651358, 0.994415, 0.898567, 0.705645, 0.462637, 0.22873, 0.060893,
      0.000004}, function(o) return s.OneCycleLR(o, 1, 9) end},
    {"CyclicLR", {0.1, 0.55, 1, 0.55, 0.1, 0.55, 1, 0.55, 0.1},
      function(o) return s.CyclicLR(o, 0.1, 1, 2) end},
    {"SequentialLR", {0.1, 0.1, 1, 0.9, 0.81, 0.729, 0.6561}, function(o)
      return s.SequentialLR(o, {s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)}, {2})
    end},
  }
  for _, case in ipairs(published) do
    it("of " .. case[1], function()
      local o = optimizer()
      local scheduler = case[3](o)
      for _, want in ipairs(case[2]) do
        assert.is_near(want, o.param_groups[1].lr, 1e-6)
        scheduler:step()
      end
    end)
  end

  it("of ReduceLROnPlateau", function()
    local o = optimizer()
    local scheduler, rates = s.ReduceLROnPlateau(o, {patience = 1, factor = 0.5}), {}
    for epoch, metric in ipairs {1, 1, 1, 1, 1, 1, 0.5, 0.5} do
      rates[epoch] = o.param_groups[1].lr
      scheduler:step(metric)
    end
    assert.are.same({1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.25}, rates)
  end)
end)

-- Numbers from 0 to 1 in every parameter and floating point buffer.
local function filled(model, seed)
  local function fill(t)
    if not t.dtype.is_floating_point then return end
    seed = seed + 1
    local phase = (lucerna.arange(t:numel(), {dtype = lucerna.float64}) + seed) * seed
    t:detach():copy_(phase:sin():abs():view(t:size()))
  end
  for p in model:parameters() do fill(p) end
  for b in model:buffers() do fill(b) end
  return model
end

local function small_net()
  return lucerna.nn.Sequential(lucerna.nn.Linear(2, 3), lucerna.nn.BatchNorm1d(3))
end

local function assert_values(want, tensors)
  for k, t in ipairs(tensors) do
    local got = t:to(lucerna.float64):flatten():tolist()
    assert.are.equal(#want[k], #got)
    for i, value in ipairs(want[k]) do assert.is_near(value, got[i], 1e-6) end
  end
end

local averages = {}
for _, case in ipairs(recorded.averages) do averages[case.name] = case end

describe("an averaged model", function()
  local swa = optim.swa_utils
  local function tensors_of(model, everything)
    local list = {}
    for _, t in pairs(model:state_dict()) do list[#list + 1] = t end
    if everything then return list end
    list = {}
    for p in model:parameters() do list[#list + 1] = p:detach() end
    return list
  end

  local function averaged(options)
    local model = small_net()
    local result = swa.AveragedModel(filled(model, 0), options)
    for _, seed in ipairs {1, 5, 9, 13} do result:update_parameters(filled(model, seed)) end
    return result, model
  end

  local variants = {
    {"mean", {}}, {"mean", {multi_avg_fn = swa.get_swa_multi_avg_fn()}},
    {"ema", {avg_fn = swa.get_ema_avg_fn(0.9)}},
    {"ema", {multi_avg_fn = swa.get_ema_multi_avg_fn(0.9)}},
    {"ema", {avg_fn = function(a, b) return a * 0.9 + b * 0.1 end}},
    {"buffers", {use_buffers = true}},
  }
  for k, variant in ipairs(variants) do
    it(("is PyTorch's: %s, %d"):format(variant[1], k), function()
      local want, got = averages[variant[1]], averaged(variant[2])
      assert.are.equal(want.n, got.n_averaged:item())
      assert_values(want.values, tensors_of(got.module, variant[1] == "buffers"))
      local keys = {}
      for key in pairs(got:state_dict()) do keys[#keys + 1] = key end
      assert.are.same(want.keys, keys)
    end)
  end

  it("copies buffers that it does not average, and the first model", function()
    local result, model = averaged {}
    assert.are.same(model[2].running_mean:tolist(), result.module[2].running_mean:tolist())
    local first = swa.AveragedModel(small_net())
    first:update_parameters(model)
    assert.are.same(model[1].weight:tolist(), first.module[1].weight:tolist())
    local x = lucerna.randn(4, 2)
    assert.is_true(lucerna.equal(first:eval()(x), model:eval()(x)))
  end)

  it("stays as it was when an average fails, and refuses other models", function()
    local model = small_net()
    local result = swa.AveragedModel(model, {avg_fn = function(a, b, n)
      if a:dim() == 1 then error "broken" end
      return a + b + n
    end})
    result:update_parameters(model)
    local before = result.module[1].weight:tolist()
    parity.refused("broken", result.update_parameters, result, filled(model, 3))
    assert.are.same(before, result.module[1].weight:tolist())
    assert.are.equal(1, result.n_averaged:item())
    parity.refused("shape", result.update_parameters, result, lucerna.nn.Linear(2, 3))
    parity.refused("must be an nn.Module", swa.AveragedModel, 3)
    parity.refused("Only one of avg_fn and multi_avg_fn", function()
      swa.AveragedModel(model, {avg_fn = print, multi_avg_fn = print})
    end)
    parity.refused("Invalid decay value 2", swa.get_ema_avg_fn, 2)
  end)

  it("gets new statistics from update_bn, whatever gives the batches", function()
    local batches = {}
    for k = 1, 3 do
      batches[k] = (lucerna.arange(8, {dtype = lucerna.float32}) * k):sin():view(4, 2)
    end
    local n = 0
    local loaders = {batches, {{batches[1]}, {batches[2], 5}, batches[3]}, function()
      n = n + 1
      return batches[n], 5
    end}
    for _, loader in ipairs(loaders) do
      local model = filled(small_net(), 0):eval()
      swa.update_bn(loader, model)
      local norm = model[2]
      assert_values(averages.update_bn.values, {norm.running_mean, norm.running_var})
      assert.are.equal(0.1, norm.momentum)
      assert.are.equal(3, norm.num_batches_tracked:item())
      assert.is_false(model.training)
    end
    swa.update_bn(error, lucerna.nn.Linear(2, 3)) -- without BatchNorms nothing is read
    local model = small_net()
    parity.refused("input has 7 features", swa.update_bn, {lucerna.ones(2, 7)}, model)
    assert.are.equal(0.1, model[2].momentum)
    assert.are.same(small_net()[2].running_var:tolist(), model[2].running_var:tolist())
  end)
end)

describe("a scheduler's state", function()
  for _, case in ipairs(recorded.cases) do
    if not case.resumed and not case.by_hand then
      it("goes on where it was saved: " .. title(case), function()
        local a, b = optimizer(), optimizer()
        local first = make(case.kind, case.options, a)
        local second = make(case.kind, case.options, b)
        for _ = 1, 11 do first:step() end
        local dict = first:state_dict()
        assert.is_nil(dict.optimizer)
        b:load_state_dict(a:state_dict())
        second:load_state_dict(dict)
        for epoch = 12, 15 do
          first:step()
          second:step()
          assert.are.same(first:get_last_lr(), second:get_last_lr())
          check(b, case.values[epoch + 1], epoch)
        end
      end)
    end
  end

  it("takes a count that is a float, as Lua's divisions give it", function()
    local o = optimizer()
    local scheduler = lr_scheduler.StepLR(o, 4 / 2, 0.5)
    local rates = {}
    for k = 1, 5 do
      o:step()
      scheduler:step()
      rates[k] = o.param_groups[1].lr
    end
    assert.are.same({1, 0.5, 0.5, 0.25, 0.25}, rates)
    parity.refused("StepLR: Expected positive integer step_size, but got 2.5",
      lr_scheduler.StepLR, o, 2.5)
    parity.refused("StepLR: Expected positive integer step_size, but got inf",
      lr_scheduler.StepLR, o, math.huge)
  end)

  it("has PyTorch's keys", function()
    local dict = lr_scheduler.StepLR(optimizer(), 3, 0.5):state_dict()
    assert.are.same({base_lrs = {1.0, 0.25}, last_epoch = 0, step_size = 3, gamma = 0.5,
      _step_count = 1, _last_lr = {1.0, 0.25}}, dict)
    dict.base_lrs[1] = 7
    local plateau = lr_scheduler.ReduceLROnPlateau(optimizer()):state_dict()
    for _, key in ipairs {"best", "cooldown_counter", "num_bad_epochs", "patience", "min_lrs"} do
      assert.is_not_nil(plateau[key], key)
    end
  end)

  it("holds what callable objects know, and nothing of functions", function()
    local object = setmetatable({rate = 0.5}, {__call = function(self) return self.rate end})
    local o = optimizer()
    local scheduler = lr_scheduler.LambdaLR(o, {object, FUNCTIONS.slower})
    local dict = scheduler:state_dict()
    assert.are.same({rate = 0.5}, dict.lr_lambdas[1])
    assert.are.equal(lucerna.none, dict.lr_lambdas[2])
    object.rate = 0.25
    scheduler:load_state_dict(dict)
    assert.are.equal(0.5, object.rate)
  end)

  it("has a place for CyclicLR's own scale, which PyTorch asks for", function()
    local object = setmetatable({rate = 0.5}, {__call = function(self) return self.rate end})
    for scale, saved in pairs {[FUNCTIONS.slower] = lucerna.none, [object] = {rate = 0.5}} do
      local scheduler = lr_scheduler.CyclicLR(optimizer(), 0.1, 1.0, 2, {scale_fn = scale})
      object.rate = 0.5
      local dict = scheduler:state_dict()
      assert.are.same(saved, dict._scale_fn_custom)
      object.rate = scale == object and 0.25 or 0.5
      scheduler:load_state_dict(dict)
      assert.are.equal(scale, scheduler._scale_fn_custom)
    end
    assert.are.equal(0.5, object.rate)
    local plain = lr_scheduler.CyclicLR(optimizer(), 0.1, 1.0)
    local dict = plain:state_dict()
    dict._scale_fn_custom = nil -- as from a file, where it is None
    plain:load_state_dict(dict)
    plain:step()
    assert.are.equal(lucerna.none, plain:state_dict()._scale_fn_custom)
  end)

  it("may be an ordered map", function()
    local scheduler = lr_scheduler.StepLR(optimizer(), 3)
    local dict, map = scheduler:state_dict(), lucerna.nn.Identity():state_dict()
    for name, value in pairs(dict) do map[name] = value end
    scheduler:load_state_dict(map)
    assert.are.same(dict, scheduler:state_dict())
  end)

  it("shares no table with the scheduler, however deep", function()
    local scheduler = lr_scheduler.StepLR(optimizer(), 3)
    scheduler.mine = {{1}}
    local dict = scheduler:state_dict()
    scheduler.mine[1][1] = 2
    assert.are.same({{1}}, dict.mine)
    scheduler:load_state_dict(dict)
    dict.mine[1][1] = 3
    assert.are.same({{1}}, scheduler.mine)
  end)

  it("is refused when it is not one", function()
    local o = optimizer()
    local chained = lr_scheduler.ChainedScheduler {lr_scheduler.StepLR(o, 3)}
    parity.refused("must be a table", chained.load_state_dict, chained, 3)
    parity.refused("states of 1 schedulers", chained.load_state_dict, chained, {_schedulers = {}})
  end)
end)

describe("a scheduler", function()
  it("writes the first rates into the groups", function()
    local o = optimizer()
    lr_scheduler.ExponentialLR(o, 0.5)
    assert.are.equal(1.0, o.param_groups[1].initial_lr)
    assert.are.equal(0.25, o:state_dict().param_groups[2].initial_lr)
    assert.matches("initial_lr: 1.0\n", tostring(o))
  end)

  it("takes an initial_lr that is a tensor, as a rate may be", function()
    local o = optimizer()
    for _, group in ipairs(o.param_groups) do group.initial_lr = lucerna.tensor(0.5) end
    local resumed = lr_scheduler.CosineAnnealingLR(o, 8, {last_epoch = 3})
    assert.are.same({0.5, 0.5}, resumed.base_lrs)
  end)

  it("takes fractions of epochs, if it restarts warmly", function()
    local o = optimizer()
    local scheduler = lr_scheduler.CosineAnnealingWarmRestarts(o, 4)
    scheduler:step(1.5)
    assert.is_near((1 + math.cos(math.pi * 1.5 / 4)) / 2, o.param_groups[1].lr, 1e-12)
    assert.are.equal(1, scheduler.last_epoch)
  end)

  it("scales groups that came later; those without a first rate keep theirs", function()
    local o = optimizer()
    local step = lr_scheduler.StepLR(o, 1, 0.5)
    local lambda = lr_scheduler.LambdaLR(o, FUNCTIONS.slower)
    o:add_param_group {params = {parameter()}, lr = 1.0}
    lambda:step()
    assert.are.equal(1.0, o.param_groups[3].lr)
    step:step()
    assert.are.equal(0.5, o.param_groups[3].lr)
  end)

  it("keeps the rates of groups that came after SWALR", function()
    local o = optimizer()
    local swa = optim.swa_utils.SWALR(o, 0.25, 2)
    o:add_param_group {params = {parameter()}, lr = 0.5}
    for _ = 1, 3 do swa:step() end
    assert.are.same({0.25, 0.25, 0.5}, swa:get_last_lr())
  end)

  it("can be one's own", function()
    local Halves = optim.class("Halves", lr_scheduler.LRScheduler)
    function Halves:get_lr()
      local rates = {}
      for k, base in ipairs(self.base_lrs) do rates[k] = base / 2 ^ self.last_epoch end
      return rates
    end
    local o = optimizer()
    local scheduler = Halves(o)
    scheduler:step()
    scheduler:step()
    assert.are.same({0.25, 0.0625}, scheduler:get_last_lr())
  end)

  it("stays as it was when a step fails", function()
    local o, broken = optimizer(), false
    local scheduler = lr_scheduler.LambdaLR(o, function(epoch)
      if broken then error "broken" end
      return 1 / (1 + epoch)
    end)
    scheduler:step()
    broken = true
    parity.refused("broken", scheduler.step, scheduler)
    assert.are.same({1, 0.5}, {scheduler.last_epoch, o.param_groups[1].lr})
    broken = false
    scheduler:step()
    assert.is_near(1 / 3, o.param_groups[1].lr, 1e-12)
  end)

  -- Every instruction of a step in turn is an error, as a hook's that has seen enough.
  local INTERRUPTED = {
    StepLR = function(o) return lr_scheduler.StepLR(o, 1) end,
    CyclicLR = function(o) return lr_scheduler.CyclicLR(o, 0.1, 1.0, 4) end,
    OneCycleLR = function(o) return lr_scheduler.OneCycleLR(o, 1.0, {total_steps = 9}) end,
    CosineAnnealingWarmRestarts = function(o)
      return lr_scheduler.CosineAnnealingWarmRestarts(o, 1, {T_mult = 2})
    end,
    ReduceLROnPlateau = function(o)
      return lr_scheduler.ReduceLROnPlateau(o, {patience = 0, cooldown = 2})
    end,
    ChainedScheduler = function(o)
      return lr_scheduler.ChainedScheduler {lr_scheduler.CyclicLR(o, 0.1, 1.0, 4),
        lr_scheduler.ExponentialLR(o, 0.5)}
    end,
    SequentialLR = function(o)
      local parts = {lr_scheduler.ConstantLR(o, 0.5), lr_scheduler.ExponentialLR(o, 0.5)}
      return lr_scheduler.SequentialLR(o, parts, {2})
    end,
  }
  for kind, create in pairs(INTERRUPTED) do
    it("is made whole or not at all when it is interrupted: " .. kind, function()
      local function run(hook) -- all that two steps leave; the second may be interrupted
        local o, groups = optimizer "Adam", {}
        local scheduler = create(o)
        scheduler:step(1.0)
        local ended = hook and pcall(function()
          debug.sethook(hook, "", 1)
          scheduler:step(2.0)
          debug.sethook()
        end)
        debug.sethook()
        for k, group in ipairs(o.param_groups) do groups[k] = {group.lr, group.betas[1]} end
        return {scheduler:state_dict(), groups}, ended
      end
      local before, after = run(), run(function() end)
      local n, got, ended = 0, nil, false
      while not ended do
        n = n + 1
        local left = n
        got, ended = run(function()
          left = left - 1
          if left == 0 then error("interrupted", 0) end
        end)
        if not same(got, before) then assert.same(after, got, n) end
      end
      assert.same(after, got)
      assert.is_true(n > 40)
    end)
  end

  it("in a chain stays as it was when another's step fails", function()
    local o, broken = optimizer "Adam", false
    local cycle = lr_scheduler.CyclicLR(o, 0.1, 1.0, 4)
    local chain = lr_scheduler.ChainedScheduler {cycle, lr_scheduler.MultiplicativeLR(o, function()
      if broken then error "broken" end
      return 0.5
    end)}
    chain:step()
    local rates, beta = chain:get_last_lr(), o.param_groups[1].betas[1]
    broken = true
    parity.refused("broken", chain.step, chain)
    assert.are.same({1, rates[1], beta},
      {cycle.last_epoch, o.param_groups[1].lr, o.param_groups[1].betas[1]})
  end)

  it("waits in its cooldown, and says so", function()
    local plateau = lr_scheduler.ReduceLROnPlateau(optimizer(), {patience = 0, cooldown = 2,
      mode = "max"})
    assert.equal(-math.huge, plateau:state_dict().mode_worse)
    local waits = {}
    for k, metric in ipairs {1, 1, 1, 1, 1} do
      plateau:step(metric)
      waits[k] = plateau.in_cooldown
    end
    assert.same({false, true, true, false, true}, waits)
  end)

  it("goes on between the momenta it was told, which groups know", function()
    local o = lucerna.optim.SGD({lucerna.ones(1, {requires_grad = true})},
      {lr = 0.5, momentum = 0.5})
    local cycle, group = lr_scheduler.CyclicLR(o, 0.1, 1.0, 4), o.param_groups[1]
    cycle:step()
    cycle:step()
    local function is(rate, momentum)
      assert.is_near(rate, group.lr, 1e-12)
      assert.is_near(momentum, group.momentum, 1e-12)
    end
    is(0.55, 0.85)
    assert.same({0.9, 0.8}, {group.max_momentum, group.base_momentum})
    local resumed = lr_scheduler.CyclicLR(o, 0.1, 1.0, 4, {last_epoch = cycle.last_epoch})
    assert.same({0.8}, resumed.base_momentums)
    is(0.775, 0.825)
    resumed:step()
    is(1.0, 0.8)
  end)

  it("ends its one cycle", function()
    local o = optimizer()
    local scheduler = lr_scheduler.OneCycleLR(o, 1.0, {total_steps = 2})
    scheduler:step()
    scheduler:step()
    for _ = 1, 2 do
      parity.refused("Tried to step 3 times. The specified number of total steps is 2",
        scheduler.step, scheduler)
    end
  end)

  it("takes groups along that came later with limits of their own", function()
    local o = optim.SGD({parameter()}, {lr = 1.0, momentum = 0.5})
    local cycle = lr_scheduler.OneCycleLR(o, 1.0, {total_steps = 5})
    o:add_param_group {params = {parameter()}, lr = 1.0, initial_lr = 0.1, max_lr = 2.0,
      min_lr = 0.0, base_momentum = 0.5, max_momentum = 0.75}
    o:add_param_group {params = {parameter()}, lr = 0.5, momentum = 0.25}
    local momentums = {0.512378891512, 0.59718488325, 0.70293622523, 0.75}
    for k, rate in ipairs {1.900968867902, 1.22252093395, 0.37651019814, 0.0} do
      cycle:step()
      near(rate, o.param_groups[2].lr, "rate " .. k)
      near(momentums[k], o.param_groups[2].momentum, "momentum " .. k)
    end
    assert.same({0.5, 0.25}, {o.param_groups[3].lr, o.param_groups[3].momentum})
  end)

  it("reduces groups that came later, unless their least rates are unknown", function()
    local o = optimizer()
    local free = lr_scheduler.ReduceLROnPlateau(o, {patience = 0, factor = 0.5})
    local bound = lr_scheduler.ReduceLROnPlateau(o, {patience = 0, min_lr = {0.1, 0.1}})
    o:add_param_group {params = {parameter()}, lr = 0.5}
    free:step(1)
    free:step(1)
    assert.are.equal(0.25, o.param_groups[3].lr)
    bound:step(1)
    parity.refused("number of param groups", bound.step, bound, 1)
  end)

  local s = lr_scheduler
  local o = optimizer()
  local refusals = {
    {"what is no optimizer", function() s.StepLR({}, 3) end, "StepLR: optimizer must be an Opt"},
    {"unknown arguments", function() s.StepLR(o, {step_siz = 3}) end, "step_size"},
    {"a last epoch that is no number", function() s.StepLR(o, 3, {last_epoch = "x"}) end,
      "StepLR: last_epoch must be a number %(got string%)"},
    {"a milestone that is no epoch", function() s.MultiStepLR(o, {0 / 0}) end,
      "MultiStepLR: a milestone must be an epoch %(got %-?nan%)"},
    {"a word for a milestone", function()
      s.SequentialLR(o, {s.StepLR(o, 1), s.StepLR(o, 2)}, {"x"})
    end, "SequentialLR: a milestone must be a number %(got string%)"},
    {"a word for a last epoch", function()
      s.SequentialLR(o, {s.StepLR(o, 1), s.StepLR(o, 2)}, {1}, "x")
    end, "SequentialLR: last_epoch must be a number %(got string%)"},
    {"a word for a momentum", function()
      s.CyclicLR(optimizer "Adam", 0.1, 1, {base_momentum = "x"})
    end, "CyclicLR: base_momentum must be a number %(got string%)"},
    {"a list with a word for a momentum", function()
      s.OneCycleLR(optimizer "Adam", 1.0, 9, {max_momentum = {0.9, "x"}})
    end, "OneCycleLR: max_momentum 2 must be a number %(got string%)"},
    {"a word for div_factor", function() s.OneCycleLR(o, 1.0, 9, {div_factor = "x"}) end,
      "OneCycleLR: div_factor must be a number %(got string%)"},
    {"a scale_fn that is no function", function() s.CyclicLR(o, 0.1, 1, {scale_fn = 3}) end,
      "CyclicLR: scale_fn must be a function %(got number%)"},
    {"a scale_fn without a number", function()
      s.CyclicLR(optimizer "Adam", 0.1, 1, {scale_fn = type})
    end, "CyclicLR: what scale_fn returns must be a number %(got string%)"},
    {"a map of schedulers", function()
      s.ChainedScheduler(lucerna.nn.Linear(1, 1):state_dict(), o)
    end, "ChainedScheduler: scheduler at index 1 should have `optimizer`"},
    {"batches that are none", function()
      optim.swa_utils.update_bn(lucerna.ones(2), lucerna.nn.BatchNorm1d(1))
    end, "update_bn: loader must be an iterator or a table of batches %(got Tensor%)"},
    {"a step size of 0", function() s.StepLR(o, 0) end, "positive integer step_size, but got 0"},
    {"no gamma", function() s.ExponentialLR(o) end, "gamma must be a number"},
    {"milestones that are no list", function() s.MultiStepLR(o, 3) end, "milestones"},
    {"a factor above 1", function() s.ConstantLR(o, 1.5) end,
      "Constant multiplicative factor expected to be between 0 and 1"},
    {"a start factor of 0", function() s.LinearLR(o, 0) end,
      "Starting multiplicative factor expected to be greater than 0 and less or equal to 1"},
    {"an end factor above 1", function() s.LinearLR(o, 0.5, 2) end,
      "Ending multiplicative factor expected to be between 0 and 1"},
    {"too few functions", function() s.LambdaLR(o, {math.sin}) end,
      "Expected 2 lr_lambdas, but got 1"},
    {"no function", function() s.MultiplicativeLR(o) end, "lr_lambda must be a function"},
    {"a function of no number", function() s.LambdaLR(o, function() return "x" end) end,
      "what lr_lambda returns must be a number %(got string%)"},
    {"a T_max of 0", function() s.CosineAnnealingLR(o, 0) end, "Expected positive T_max"},
    {"cycles that go up at once", function() s.CyclicLR(o, 1, 2, 0, 3) end, "positive step sizes"},
    {"batches that are none", function()
      optim.swa_utils.update_bn({3}, lucerna.nn.BatchNorm1d(2))
    end, "a batch must be a tensor"},
    {"no T_max", function() s.CosineAnnealingLR(o) end, "T_max must be a number"},
    {"a T_0 of 0", function() s.CosineAnnealingWarmRestarts(o, 0) end,
      "Expected positive integer T_0, but got 0"},
    {"a T_mult of 0", function() s.CosineAnnealingWarmRestarts(o, 2, 0) end,
      "Expected integer T_mult >= 1, but got 0"},
    {"an epoch below 0", function() s.CosineAnnealingWarmRestarts(o, 2):step(-1) end,
      "Expected non%-negative epoch, but got %-1"},
    {"too many bounds", function() s.CyclicLR(o, {1, 2, 3}, 1) end,
      "expected 2 values for base_lr, got 3"},
    {"an unknown cycle", function() s.CyclicLR(o, 1, 2, {mode = "square"}) end,
      "mode is invalid and scale_fn is None"},
    {"cycles of no momentum", function() s.CyclicLR(optim.Rprop({parameter()}), 1, 2) end,
      "must support momentum or beta1"},
    {"one cycle of no length", function() s.OneCycleLR(o, 1) end,
      "You must define either total_steps OR %(epochs AND steps_per_epoch%)"},
    {"one cycle of 0 steps", function() s.OneCycleLR(o, 1, {total_steps = 0}) end,
      "Expected positive integer total_steps, but got 0"},
    {"more than a whole cycle", function() s.OneCycleLR(o, 1, 5, {pct_start = 2}) end,
      "Expected float between 0 and 1 pct_start, but got 2"},
    {"an unknown way down", function() s.OneCycleLR(o, 1, 5, {anneal_strategy = "x"}) end,
      "anneal_strategy must be one of 'cos' or 'linear', instead got x"},
    {"a growing plateau", function() s.ReduceLROnPlateau(o, {factor = 1}) end,
      "Factor should be < 1.0"},
    {"an unknown mode", function() s.ReduceLROnPlateau(o, "least") end, "mode least is unknown!"},
    {"an unknown threshold", function() s.ReduceLROnPlateau(o, {threshold_mode = "x"}) end,
      "threshold mode x is unknown!"},
    {"too few least rates", function() s.ReduceLROnPlateau(o, {min_lr = {1}}) end,
      "expected 2 min_lrs, got 1"},
    {"no metric", function() s.ReduceLROnPlateau(o):step() end, "metrics must be a number"},
    {"no schedulers", function() s.ChainedScheduler {} end, "at least one scheduler"},
    {"schedulers of two optimizers", function()
      s.ChainedScheduler {s.StepLR(o, 3), s.StepLR(optimizer(), 3)}
    end, "expects all schedulers to belong to the same optimizer, but got scheduler StepLR at in"},
    {"a plateau in a chain", function() s.ChainedScheduler {s.ReduceLROnPlateau(o)} end,
      "does not support `ReduceLROnPlateau`"},
    {"too few milestones", function() s.SequentialLR(o, {s.StepLR(o, 3)}, {1}) end,
      "number of schedulers 1 and the number of milestones to be equal to 1"},
    {"to resume what never began", function() s.StepLR(optimizer(), 3, {last_epoch = 5}) end,
      "param 'initial_lr' is not specified in param_groups%[1%]"},
    {"too few last rates", function() optim.swa_utils.SWALR(o, {1}) end,
      "swa_lr has 1, optimizer.param_groups has 2"},
    {"an unknown way to them", function()
      optim.swa_utils.SWALR(o, 1, {anneal_strategy = "x"})
    end, "instead got x"},
    {"epochs below 0", function() optim.swa_utils.SWALR(o, 1, -1) end,
      "anneal_epochs must be equal or greater than 0, got %-1"},
  }
  for _, refusal in ipairs(refusals) do
    it("refuses " .. refusal[1], function() parity.refused(refusal[3], refusal[2]) end)
  end
end)
