-- The optimizers written on tensors, LBFGS, Adafactor and Muon: PyTorch's trajectories, states,
-- failures.

local lucerna = require "lucerna"
local optim = require "lucerna.optim"
local files = require "files"
local parity = require "parity"
local recorded = parity.load "optim_tensors"

local LOSSES = {
  rosenbrock = function(p, q)
    return (1 - p[1]) ^ 2 + 100 * (p[2] - p[1] ^ 2) ^ 2 + (q[1] - p[2]) ^ 2
  end,
  bowl = function(p, q)
    return ((p - 1) ^ 2):sum() * 3 + ((p - 2) ^ 4):sum() + ((q + p[1]) ^ 2):sum()
  end,
}

local parameter, words, keys = parity.parameter, parity.words, parity.sorted_names

local function near(want, got, tolerance)
  for k, value in ipairs(want) do
    assert.is_near(value, got[k], tolerance * math.max(1, math.abs(value)))
  end
end

-- An optimizer over p and q and a function that makes a step of it.
local function searching(case)
  local dtype = lucerna[case.dtype]
  local p, q = parameter({-1.2, 1.0}, dtype), parameter({0.5}, dtype)
  local o = optim.LBFGS({p, q}, case.options)
  return o, function()
    local found = o:step(function()
      o:zero_grad()
      local value = LOSSES[case.loss](p, q)
      value:backward()
      return value
    end)
    return {p[1]:item(), p[2]:item(), q[1]:item(), found:item()}
  end, p, q
end

describe("LBFGS", function()
  for _, case in ipairs(recorded.lbfgs) do
    local title = ("%s %s %s"):format(case.loss, case.dtype, words(case.options))
    it("follows PyTorch: " .. title, function()
      local o, step, p = searching(case)
      for _, want in ipairs(case.values) do near(want, step(), 1e-5) end
      assert.are.equal(case.n_iter, o.state[p].n_iter)
      assert.are.equal(case.func_evals, o.state[p].func_evals)
      assert.are.same(case.keys, keys(o.state[p]))
      assert.are.equal(o.param_groups[1].history_size, #o.state[p].al)
    end)

    it("goes on from a state dict: " .. title, function()
      local a, step_a, p_a, q_a = searching(case)
      for _ = 1, 3 do step_a() end
      local b, step_b, p_b, q_b = searching(case)
      lucerna.no_grad(function()
        p_b:copy_(p_a)
        q_b:copy_(q_a)
      end)
      b:load_state_dict(a:state_dict())
      for _ = 1, 3 do assert.are.same(step_a(), step_b()) end
    end)
  end

  it("changes nothing when the closure fails", function()
    for _, options in ipairs {{lr = 0.01}, {line_search_fn = "strong_wolfe"}} do
      local p, calls = parameter({-1.2, 1.0}), 0
      local o = optim.LBFGS({p}, options)
      local function closure()
        calls = calls + 1
        if calls == 4 then error "broken" end
        o:zero_grad()
        local loss = (p ^ 4):sum()
        loss:backward()
        return loss
      end
      parity.refused("broken", o.step, o, closure)
      assert.are.same(parameter({-1.2, 1.0}):tolist(), p:tolist())
      assert.are.same({}, o.state[p])
      o:step(closure)
      assert.is_true(p[1]:item() > -1.2)
    end
  end)

  for _, search in ipairs {false, "strong_wolfe"} do
    it("maximizes as it minimizes the negative, " .. (search or "without a search"), function()
      local ends = {}
      for k, sign in ipairs {1, -1} do
        local p = parameter({3.0, -1.0}, lucerna.float64)
        local o = optim.LBFGS({p}, {lr = 0.2, max_iter = 5, maximize = sign < 0,
          line_search_fn = search or nil})
        local loss = o:step(function()
          o:zero_grad()
          local value = ((p - 1) ^ 4):sum() * sign
          value:backward()
          return value
        end)
        assert.are.equal(32.0 * sign, loss:item()) -- the closure's own
        ends[k] = p:tolist()
      end
      assert.are.same(ends[1], ends[2])
      assert.is_true(ends[1][1] < 2.9)
    end)
  end

  it("has nothing to do for an empty group but to call the closure", function()
    local o = optim.LBFGS {{params = {}}}
    assert.are.equal(5, o:step(function() return 5 end))
    assert.are.same({}, o:state_dict().state)
  end)

  it("searches within max_eval, as PyTorch 2.15 does", function()
    local cases = {[1] = {1.99848432, -0.999675482, 4}, [2] = {1.99167059, -0.99821519, 6},
      [3] = {1.95458843, -0.990226175, 8}, [5] = {1.76290037, -0.94765044, 10}}
    for most, want in pairs(cases) do
      local p = lucerna.nn.Parameter(lucerna.tensor({2.0, -1.0}, {dtype = lucerna.float64}))
      local o = optim.LBFGS({p}, {lr = 1e-3, max_eval = most, line_search_fn = "strong_wolfe"})
      local calls = 0
      for _ = 1, 2 do
        o:step(function()
          calls = calls + 1
          o:zero_grad()
          local loss = (p ^ 4 - p):sum()
          loss:backward()
          return loss
        end)
      end
      assert.same({want[3], want[3]}, {calls, o.state[p].func_evals})
      for k, value in ipairs(p:tolist()) do assert.is_near(want[k], value, 1e-8) end
    end
  end)

  it("counts parameters without a gradient as still", function()
    local p, q = parameter {3.0}, parameter {5.0}
    local o = optim.LBFGS({p, q}, {lr = 0.5})
    o:step(function()
      o:zero_grad()
      local loss = (p * p):sum()
      loss:backward()
      return loss
    end)
    assert.are.equal(5.0, q:item())
    assert.is_true(math.abs(p:item()) < 1)
  end)

  it("refuses groups, no closure, unknown searches, state of another size", function()
    local p, q = parameter {1.0}, parameter {1.0}
    local groups = "LBFGS doesn't support per%-parameter options %(parameter groups%)"
    parity.refused(groups, optim.LBFGS, {{params = {p}}, {params = {q}}})
    local o = optim.LBFGS {p}
    parity.refused(groups, o.add_param_group, o, {params = {q}})
    parity.refused("closure", o.step, o)
    parity.refused("Invalid learning rate: %-1", optim.LBFGS, {p}, {lr = -1})
    parity.refused("max_iter", optim.LBFGS, {p}, {max_iter = "x"})
    parity.refused("empty parameter list", optim.LBFGS, {})
    parity.refused("non%-leaf", optim.LBFGS, {p * 2})
    local other = optim.LBFGS({p}, {line_search_fn = "weak"})
    parity.refused("only 'strong_wolfe' is supported", other.step, other, function() return p end)
    local dict = o:state_dict()
    dict.state[0] = {d = lucerna.ones(5), n_iter = 3}
    parity.refused("'d'.*%[5%].*%[1%]", o.load_state_dict, o, dict)
    assert.are.same({}, o.state[p])
  end)
end)

describe("matrices:", function()
  local function begin(case)
    local n = 1
    for _, size in ipairs(case.shape) do n = n * size end
    local p = lucerna.arange(n, {dtype = lucerna.float64}):cos():float():view(case.shape)
    return p:requires_grad_(true), optim[case.kind]({p}, case.options), function(step)
      local phase = lucerna.arange(n, {dtype = lucerna.float64}) + step
      p.grad = (phase:sin() * 2):float():view(case.shape) + p:detach()
    end
  end

  for _, case in ipairs(recorded.matrices) do
    local title = ("%s [%s] %s"):format(case.kind, table.concat(case.shape, ", "),
      words(case.options))
    it("the trajectory is PyTorch's: " .. title, function()
      local p, o, push = begin(case)
      for step, want in ipairs(case.values) do
        push(step)
        o:step()
        near(want, p:detach():flatten():tolist(), 1e-5)
      end
    end)

    it("it goes on from a state dict: " .. title, function()
      local p, a, push = begin(case)
      for step = 1, 3 do
        push(step)
        a:step()
      end
      local q, b = begin(case)
      lucerna.no_grad(function() q:copy_(p) end)
      b:load_state_dict(a:state_dict())
      push(4)
      q.grad = p.grad:clone()
      a:step()
      b:step()
      assert.is_true(lucerna.equal(p:detach(), q:detach()))
    end)
  end

  it("Adafactor keeps rows and columns of matrices, all of vectors", function()
    local m, v = parameter {{1.0, 2.0}}, parameter {3.0}
    m.grad, v.grad = lucerna.ones(1, 2), lucerna.ones(1)
    local o = optim.Adafactor {m, v}
    o:step()
    local dict = o:state_dict()
    assert.are.same({"col_var", "row_var", "step"}, keys(dict.state[0]))
    assert.are.same({"step", "variance"}, keys(dict.state[1]))
    assert.are.same({{1, 1}, {1, 2}},
      {dict.state[0].row_var:size(), dict.state[0].col_var:size()})
    assert.are.equal(1, dict.state[0].step:item())
    assert.matches("eps: %(None, 0.001%)", tostring(o))
    dict.state[0].col_var = lucerna.ones(2, 2)
    parity.refused("col_var.*%[2, 2%].*%[1, 2%]", o.load_state_dict, o, dict)
  end)

  it("the count of steps keeps its dtype in a state that is loaded", function()
    local p = lucerna.nn.Parameter(lucerna.ones(2):to(lucerna.float16))
    p.grad = p:detach():clone()
    local o = lucerna.optim.Adafactor({p})
    o:step()
    local dict = o:state_dict()
    dict.state[0].step:fill_(4099) -- no float16
    o:load_state_dict(dict)
    o:step()
    assert.equal(lucerna.float32, o.state[p].step.dtype)
    assert.equal(4100.0, o.state[p].step:item())
    assert.equal(lucerna.float16, o.state[p].variance.dtype)
  end)

  it("nothing changes when one update fails", function()
    local p, q = parameter {{1.0}}, parameter {{1.0}}
    p.grad, q.grad = lucerna.ones(1, 1), lucerna.ones(1, 1)
    local o = optim.Muon {p, q}
    o.state[q] = {momentum_buffer = lucerna.ones(3, 5)}
    assert.is_false(pcall(o.step, o))
    assert.are.equal(1, p:item())
    assert.are.same({}, o.state[p])
  end)

  local p, m = parameter {1.0}, parameter {{1.0}}
  local refusals = {
    {"Adafactor: Learning rate should be >= 0 but is: %-1", optim.Adafactor, {m}, {lr = -1}},
    {"Adafactor: beta2_decay should be <= 0 but is: 0.5", optim.Adafactor, {m},
      {beta2_decay = 0.5}},
    {"epsilon1 should be >= 0 but is: %-1", optim.Adafactor, {m}, {eps = {-1, 1}}},
    {"epsilon2 should be >= 0 but is: %-1", optim.Adafactor, {m},
      {eps = {lucerna.none, -1}}},
    {"Adafactor: eps must be a table", optim.Adafactor, {m}, {eps = 1}},
    {"Adafactor: Clipping threshold d should be >= 1 but is: 0.5", optim.Adafactor, {m},
      {d = 0.5}},
    {"Adafactor: weight_decay should be >= 0 but is: %-1", optim.Adafactor, {m},
      {weight_decay = -1}},
    {"Muon only supports 2D parameters whereas we found a parameter with size: %[1%]", optim.Muon,
      {p}, {}},
    {"Muon: Learning rate should be >= 0 but is: %-1", optim.Muon, {m}, {lr = -1}},
    {"Muon: momentum should be >= 0 but is: %-1", optim.Muon, {m}, {momentum = -1}},
    {"Muon: weight decay should be >= 0 but is: %-1", optim.Muon, {m}, {weight_decay = -1}},
    {"Muon: Adjust learning rate function x is not supported", optim.Muon, {m},
      {adjust_lr_fn = "x"}},
    {"Muon: Number of steps must be less than 100", optim.Muon, {m}, {ns_steps = 100}},
    {"Muon: Coefficients must be a tuple of exactly 3 values", optim.Muon, {m},
      {ns_coefficients = {1, 2}}},
    {"Muon: lr must be a number %(got string 'x'%)", optim.Muon, {{params = {m}, lr = "x"}}, {}},
  }
  for _, case in ipairs(refusals) do
    it("refused: " .. case[1], function()
      parity.refused(case[1], case[2], case[3], case[4])
    end)
  end
end)

it("options of a state dict are checked before anything changes", function()
  for name, change in pairs {Adafactor = {"eps", {0.5}}, Muon = {"ns_coefficients", {}},
    LBFGS = {"lr", -1}} do
    local o = optim[name]({parameter {{1, 2}}}, {lr = 0.5})
    local dict = o:state_dict()
    dict.param_groups[1].maximize, dict.param_groups[1][change[1]] = true, change[2]
    parity.refused(name .. ": ", o.load_state_dict, o, dict)
    assert.equal("0.5 false", ("%s %s"):format(o.param_groups[1].lr,
      o.param_groups[1].maximize or false))
  end
  optim.LBFGS({parameter {1}}, {tolerance_grad = 0 / 0}) -- a number without limits
end)

-- PyTorch reads these options from every group that it loads.
describe("options that are None", function()
  local m = parameter {{1, 2}}
  local function through_file(dict)
    local path = files.temporary()
    lucerna.save(dict, path)
    return lucerna.load(path)
  end

  it("are in state dicts, and nil in groups", function()
    for name, option in pairs {LBFGS = "line_search_fn", Muon = "adjust_lr_fn", SGD = "foreach"} do
      local o = optim[name]({m}, {lr = 0.5})
      local dict = o:state_dict()
      assert.equal(lucerna.none, dict.param_groups[1][option])
      for _, given in ipairs {dict, through_file(dict)} do
        o:load_state_dict(given)
        assert.is_nil(o.param_groups[1][option])
        assert.equal(0.5, o.param_groups[1].lr)
      end
    end
  end)

  it("take the place of others", function()
    local o = optim.LBFGS({m}, {line_search_fn = "strong_wolfe"})
    o:load_state_dict(optim.LBFGS({m}):state_dict())
    assert.is_nil(o.param_groups[1].line_search_fn)
    local dict = o:state_dict()
    dict.param_groups[1].lr = lucerna.none
    parity.refused("load_state_dict: lr must be a number %(got none%)", o.load_state_dict, o, dict)
  end)

  it("keep their place in Adafactor's eps", function()
    local o = optim.Adafactor({m}, {eps = {lucerna.none, 0.25}})
    for _ = 1, 2 do
      o:load_state_dict(through_file(o:state_dict()))
      assert.same({lucerna.none, 0.25}, o.param_groups[1].eps)
    end
  end)
end)

describe("states of a core optimizer", function()
  it("the states of all groups are walked, past one without parameters", function()
    local a, b = lucerna.ones(1, {requires_grad = true}), lucerna.ones(1, {requires_grad = true})
    local o = optim.SGD({{params = {a}}, {params = {}}, {params = {b}}}, {lr = 1, momentum = 0.9})
    a.grad, b.grad = lucerna.ones(1), lucerna.ones(1)
    o:step()
    local seen = {}
    for p in pairs(o.state) do seen[#seen + 1] = p end
    assert.are.same({a, b}, seen)
    assert.is_not_nil(o.state[b].momentum_buffer)
    assert.is_not_nil(o.state[a].momentum_buffer)
  end)

  it("stays with its options where a step could not read those loaded", function()
    local p = lucerna.ones(1, {requires_grad = true})
    p.grad = lucerna.ones(1)
    local o = optim.Adam({p}, {lr = 0.5})
    o:step()
    for betas, given in pairs {[{0.9}] = "nil at position 2", [{}] = "nil at position 1",
      [{0.9, "b"}] = "string 'b' at position 2"} do
      local dict = o:state_dict()
      dict.param_groups[1].betas, dict.state[0].step = betas, lucerna.tensor(7.0)
      parity.refused("Adam: betas must be a table of numbers %(got " .. given, o.load_state_dict, o,
        dict)
      assert.are.same({0.9, 0.999}, o.param_groups[1].betas)
      assert.are.equal(1, o.state[p].step:item())
    end
    o:step()
  end)
end)
