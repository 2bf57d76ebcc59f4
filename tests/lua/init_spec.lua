-- nn.init: PyTorch's numbers for one seed, and what it refuses.

local lucerna = require "lucerna"
local init = require "lucerna.nn.init"
local parity = require "parity"
local recorded = parity.load "init"

describe("nn.init", function()
  for _, case in ipairs(recorded.fills) do
    local shape = table.concat(case.expected.shape, "x")
    it(("fills %s as PyTorch does: %s"):format(shape, case.lua), function()
      local t = lucerna.full(case.expected.shape, 9.0)
      lucerna.manual_seed(3)
      local fill = load("local init, t = ... return init." .. case.lua)
      assert.are.equal(t, fill(init, t))
      local difference = parity.difference(t, case.expected, {atol = 2e-6, rtol = 1e-5})
      assert(difference == nil, difference)
    end)
  end

  it("calculates PyTorch's gains", function()
    for _, gain in ipairs(recorded.gains) do
      assert.is_near(gain.value, init.calculate_gain(gain[1], gain[2]), 1e-15)
    end
    assert.equal(1.0, init.calculate_gain {nonlinearity = "leaky_relu", param = 1})
    assert.equal(1.0, init.calculate_gain("leaky_relu", {param = 1}))
  end)

  it("records nothing, and fills parameters that require grad", function()
    local p = lucerna.zeros(2, 2):requires_grad_(true)
    init.ones_(p)
    assert.is_true(p.is_leaf)
    assert.are.equal(4.0, p:sum():item())
  end)

  it("has PyTorch's older names", function()
    assert.equal(init.kaiming_uniform_, init.kaiming_uniform)
    assert.equal(init.sparse_, init.sparse)
  end)

  it("draws from a generator of its own", function()
    local a, b = lucerna.Generator(), lucerna.Generator()
    a:manual_seed(5)
    b:manual_seed(5)
    local x = init.uniform_(lucerna.empty(4), {generator = a})
    lucerna.rand(10)
    assert.is_true(lucerna.equal(x, init.uniform_(lucerna.empty(4), {generator = b})))
  end)
end)

describe("nn.init refuses", function()
  local v, m = lucerna.zeros(3), lucerna.zeros(2, 2)
  local refusals = {
    {"fans of a vector", function() init.xavier_uniform_(v) end,
      "fewer than 2 dimensions %(got %[3%]%)"},
    {"an unknown mode", function() init.kaiming_normal_(m, {mode = "fan"}) end,
      "Mode fan not supported"},
    {"an unknown nonlinearity", function() init.calculate_gain("swish") end,
      "Unsupported nonlinearity swish"},
    {"an identity that is no matrix", function() init.eye_(v) end, "2 dimensions"},
    {"dirac groups that do not divide", function() init.dirac_(lucerna.zeros(3, 2, 1), 2) end,
      "divisible by groups"},
    {"orthogonal vectors", function() init.orthogonal_(v) end, "2 or more dimensions"},
    {"sparse vectors", function() init.sparse_(v, 0.1) end, "2 dimensions"},
    {"more zeros than there are rows", function() init.sparse_(m, 1.5) end,
      "sparse_: sparsity must be from 0 to 1 %(got 1.5%)"},
    {"a share that is no number", function() init.sparse_(m, 0 / 0) end, "from 0 to 1"},
    {"what is no tensor", function() init.ones_({1, 2}) end,
      "ones_: tensor must be a Tensor %(got table%)"},
    {"a gain that is no number", function() init.xavier_normal_(m, {1}) end,
      "xavier_normal_: gain must be a number %(got table%)"},
    {"a deviation that is none", function() init.trunc_normal_(m, 0, true) end,
      "trunc_normal_: std must be a number %(got boolean%)"},
    {"unknown arguments", function() init.normal_(m, {mea = 1}) end, "did you mean 'mean'"},
  }
  for _, refusal in ipairs(refusals) do
    it(refusal[1], function() parity.refused(refusal[3], refusal[2]) end)
  end
end)
