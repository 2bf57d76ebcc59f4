-- nn.functional like PyTorch's: what tests/parity/gen_functional.py recorded.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"
local nn = lucerna.nn
local F = nn.functional

for _, family in ipairs {"activation"} do
  describe("like PyTorch: " .. family, function()
    for i, case in ipairs(parity.load("functional_" .. family)) do
      it(("%s (%d)"):format(case.name, i), function()
        cases.run(case, {})
        if not case.dense and not case.seed then cases.run(case, {view = true}) end
        if case.grads and not case.rough then cases.check_derivatives(case) end
      end)
    end
  end)
end

-- {text of the message, function, arguments…}
local function refusals()
  local function z(...) return lucerna.zeros(...) end
  return {
    {"Hardtanh: max_val must be above min_val (got 1 and -1)", nn.Hardtanh, 1, -1},
    {"Softmax2d: expected input to be 3D or 4D, but got a 2D tensor", nn.Softmax2d(), z(2, 2)},
    {"prelu: weight must have 1 value or one for each of 2 channels", nn.PReLU(3), z(1, 2)},
    {"softshrink: lambd must not be negative (got -1)", nn.Softshrink(-1), z(2)},
    {"glu: the split dimension must have an even size, not 3", nn.GLU(), z(3)},
    {"Dropout2d: dropout probability has to be between 0 and 1, but got -0.5", nn.Dropout2d, -0.5},
    {"AlphaDropout: dropout probability has to be between 0 and 1", nn.AlphaDropout, 2},
    {"dropout1d: input must be [N, C, ...]", nn.Dropout1d(), z(2)},
    {"Threshold: missing argument 'value'", nn.Threshold, 1},
    {"rrelu: Lower bound should be less than or equal to the upper bound", nn.RReLU(0.5, 0.1), z(2)},
    {"gumbel_softmax: logits must be a floating point", F.gumbel_softmax, lucerna.tensor {1, 2}},
  }
end

describe("refused:", function()
  for i, refusal in ipairs(refusals()) do
    it(("%s (%d)"):format(refusal[1], i), function()
      local ok, message = pcall(table.unpack(refusal, 2, refusal.n or #refusal))
      assert.is_false(ok)
      assert(type(message) == "string" and message:find(refusal[1], 1, true), message)
      assert.is_nil(message:find("\n", 1, true))
    end)
  end
end)

-- What is often got wrong, by itself.
local function near(expected, actual)
  local difference = parity.difference(actual, expected, {atol = 1e-6, rtol = 1e-6})
  assert(difference == nil, difference)
end

describe("activations:", function()
  it("GELU is the exact form unless the other is asked for", function()
    near(0.8413447, F.gelu(lucerna.tensor(1.0)):item())
    near(0.8411920, F.gelu(lucerna.tensor(1.0), "tanh"):item())
  end)

  it("softplus is the identity above its threshold", function()
    assert.equal(21.0, F.softplus(lucerna.tensor(21.0)):item())
    assert.is_true(F.softplus(lucerna.tensor(19.0, {dtype = lucerna.float64})):item() > 19)
  end)

  it("rrelu has the mean slope outside training", function()
    near(-0.375, F.rrelu(lucerna.tensor(-1.0), 0.25, 0.5):item())
  end)

  it("relu and hardtanh are flat at their kinks", function()
    for _, f in ipairs {F.relu, function(x) return F.hardtanh(x, 0, 1) end} do
      local x = lucerna.zeros(2):requires_grad_()
      f(x):sum():backward()
      assert.same({0.0, 0.0}, x.grad:tolist())
    end
  end)
end)

describe("dropout:", function()
  it("the functions of channels and alpha differ in what training is by default", function()
    local x = lucerna.ones(50, 4)
    assert.equal(x, F.alpha_dropout(x))
    assert.equal(x, F.feature_alpha_dropout(x))
    assert.is_false(lucerna.equal(x, F.dropout(x)))
  end)

  it("drops whole channels of each sample", function()
    local y = nn.Dropout2d(0.5)(lucerna.ones(8, 6, 3, 3)):reshape(48, 9)
    for _, channel in ipairs(y:tolist()) do
      for _, v in ipairs(channel) do assert.equal(channel[1], v) end
    end
  end)

  it("alpha dropout keeps mean and variance", function()
    lucerna.manual_seed(1)
    local y = nn.AlphaDropout(0.3)(lucerna.randn(20000))
    assert.is_true(math.abs(y:mean():item()) < 0.05)
    assert.is_true(math.abs(y:std():item() - 1) < 0.05)
  end)
end)
