-- Optimizers and schedulers: PyTorch's trajectories, groups, state dicts, errors.

local lucerna = require "lucerna"
local optim = require "lucerna.optim"
local cases = dofile "tests/parity/data/optim.lua"

local function parameter(values, dtype)
  return lucerna.tensor(values, {dtype = dtype or lucerna.float32, requires_grad = true})
end

local function describe_options(options)
  local words = {}
  for name, value in pairs(options) do
    local text = type(value) == "table" and table.concat(value, ",") or tostring(value)
    words[#words + 1] = name .. "=" .. text
  end
  table.sort(words)
  return table.concat(words, " ")
end

describe("an optimizer", function()
  for _, case in ipairs(cases) do
    local title = ("%s %s %s"):format(case.kind, case.dtype, describe_options(case.options))
    it("follows PyTorch's trajectory: " .. title, function()
      local p = parameter({1.0, -2.0, 0.5}, lucerna[case.dtype])
      local o = optim[case.kind]({p}, case.options)
      for step, want in ipairs(case.values) do
        local phase = lucerna.arange(3, {dtype = lucerna.float64}) + step
        p.grad = (phase:sin() * 2):to(p.dtype) + p:detach()
        o:step()
        local got = p:tolist()
        for i = 1, 3 do assert.is_near(want[i], got[i], 1e-5 * math.max(1, math.abs(want[i]))) end
      end
    end)
  end

  it("updates transposed and half precision parameters", function()
    local t = lucerna.ones(2, 3):t():requires_grad_(true)
    local h = parameter({1.0, 2.0}, lucerna.float16)
    t.grad = lucerna.ones(3, 2)
    h.grad = lucerna.ones(2, {dtype = lucerna.float16})
    optim.SGD({t, h}, {lr = 0.5, momentum = 0.9}):step()
    assert.are.same({{0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}}, t:tolist())
    assert.are.same({0.5, 1.5}, h:tolist())
  end)

  it("leaves parameters without a gradient alone", function()
    local p, q = parameter {1.0}, parameter {2.0}
    p.grad = lucerna.ones(1)
    optim.Adam({p, q}, {lr = 0.1}):step()
    assert.are.equal(2.0, q:item())
    assert.is_true(p:item() < 1)
  end)

  it("takes options by position, by name, and groups with their own", function()
    local p, q = parameter {1.0}, parameter {1.0}
    assert.are.equal(0.5, optim.SGD({p}, 0.5).param_groups[1].lr)
    local o = optim.SGD({{params = {p}, lr = 0.1}, {params = {q}}}, {lr = 1.0})
    assert.are.equal(0.1, o.param_groups[1].lr)
    p.grad, q.grad = lucerna.ones(1), lucerna.ones(1)
    o.param_groups[2].lr = 0.25
    o:step()
    assert.is_near(0.9, p:item(), 1e-7)
    assert.is_near(0.75, q:item(), 1e-7)
  end)

  it("runs a closure with gradients on and returns its loss", function()
    local p = parameter {3.0}
    local o = optim.SGD({p}, {lr = 0.1})
    local loss = lucerna.no_grad(function()
      return o:step(function()
        o:zero_grad()
        local l = (p * p):sum()
        l:backward()
        return l
      end)
    end)
    assert.are.equal(9.0, loss:item())
    assert.is_near(2.4, p:item(), 1e-6)
  end)

  it("drops gradients, or fills them with zeros", function()
    local p = parameter {1.0}
    local o = optim.SGD({p}, {lr = 0.1})
    p.grad = lucerna.ones(1)
    o:zero_grad {set_to_none = false}
    assert.are.equal(0.0, p.grad:item())
    o:zero_grad()
    assert.is_nil(p.grad)
  end)
end)

describe("an optimizer's state", function()
  local function stepped(kind, options)
    local p, q = parameter {1.0, 2.0}, parameter {3.0}
    local o = optim[kind]({p, q}, options)
    p.grad, q.grad = lucerna.ones(2), lucerna.ones(1)
    o:step()
    return o, p, q
  end

  it("has PyTorch's names, with ids from 0", function()
    local dict = stepped("Adam", {lr = 0.1}):state_dict()
    assert.are.same({0, 1}, dict.param_groups[1].params)
    assert.are.equal(1.0, dict.state[0].step:item())
    assert.are.same({2}, dict.state[0].exp_avg:size())
    assert.is_near(0.1, dict.state[1].exp_avg:item(), 1e-7)
    assert.is_nil(dict.state[0].max_exp_avg_sq)
    assert.are.equal(0.1, dict.param_groups[1].lr)
  end)

  it("is found by parameter", function()
    local o, p = stepped("SGD", {lr = 0.1, momentum = 0.9})
    assert.are.same({1.0, 1.0}, o.state[p].momentum_buffer:tolist())
  end)

  it("continues where it was saved", function()
    local a, p = stepped("Adam", {lr = 0.1})
    local b, q = stepped("Adam", {lr = 0.3})
    q:detach():copy_(p:detach())
    b:load_state_dict(a:state_dict())
    p.grad, q.grad = lucerna.full({2}, 0.5), lucerna.full({2}, 0.5)
    a:step()
    b:step()
    assert.are.same(p:tolist(), q:tolist())
    assert.are.equal(0.1, b.param_groups[1].lr)
  end)

  it("is refused whole when anything does not fit", function()
    local o = stepped("Adam", {lr = 0.1})
    local dict = stepped("Adam", {lr = 0.5}):state_dict()
    dict.state[1].exp_avg = lucerna.ones(7)
    assert.error_matches(function() o:load_state_dict(dict) end, "exp_avg.*%[7%].*%[1%]")
    assert.are.equal(0.1, o.param_groups[1].lr)
    dict.param_groups[2] = dict.param_groups[1]
    assert.error_matches(function() o:load_state_dict(dict) end,
      "different number of parameter groups")
  end)

  it("prints as PyTorch's", function()
    local text = tostring(optim.SGD({parameter {1.0}}, {lr = 0.1, momentum = 0.9}))
    assert.are.equal([[
SGD (
Parameter Group 0
    dampening: 0
    differentiable: False
    foreach: None
    fused: None
    lr: 0.1
    maximize: False
    momentum: 0.9
    nesterov: False
    weight_decay: 0
)]], text)
  end)
end)

describe("an optimizer refuses", function()
  local p = parameter {1.0}
  local refusals = {
    {"a negative learning rate", function() optim.SGD({p}, {lr = -1.0}) end,
      "Invalid learning rate: %-1"},
    {"a beta of 1", function() optim.Adam({p}, {betas = {1.0, 0.9}}) end, "Invalid beta parameter"},
    {"nesterov without momentum", function() optim.SGD({p}, {lr = 0.1, nesterov = true}) end,
      "Nesterov"},
    {"an empty list", function() optim.SGD({}, {lr = 0.1}) end, "empty parameter list"},
    {"a single tensor", function() optim.SGD(p, {lr = 0.1}) end, "iterator or a table"},
    {"a non-leaf", function() optim.SGD({p * 2}, {lr = 0.1}) end, "non%-leaf"},
    {"something else", function() optim.SGD({p, 5}, {lr = 0.1}) end, "entry 2"},
    {"an unknown option", function() optim.SGD({p}, {lr = 0.1, momentun = 1}) end, "momentum"},
    {"a parameter in two groups", function()
      optim.SGD({{params = {p}}, {params = {p}}}, {lr = 0.1})
    end, "more than one parameter group"},
  }
  for _, refusal in ipairs(refusals) do
    it(refusal[1], function() assert.error_matches(refusal[2], refusal[3]) end)
  end
end)

describe("StepLR", function()
  it("follows PyTorch's rates", function()
    local o = optim.SGD({parameter {1.0}}, {lr = 1.0})
    local scheduler = optim.lr_scheduler.StepLR(o, 3, {gamma = 0.5})
    local rates = {}
    for epoch = 1, 9 do
      rates[epoch] = o.param_groups[1].lr
      o:step()
      scheduler:step()
    end
    assert.are.same({1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25}, rates)
    assert.are.same({0.125}, scheduler:get_last_lr())
  end)

  it("refuses what is no optimizer and names unknown arguments", function()
    assert.error_matches(function() optim.lr_scheduler.StepLR({}, 3) end, "expected an Optimizer")
    local o = optim.SGD({parameter {1.0}}, {lr = 1.0})
    assert.error_matches(function() optim.lr_scheduler.StepLR(o, {step_siz = 3}) end, "step_size")
  end)
end)
