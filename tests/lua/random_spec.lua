-- Random numbers: PyTorch's for the same seed, exactly where uniform, to 1e-6 where not.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"

local function near(got, want)
  for i, v in ipairs(want) do assert.is_near(v, got[i], 2e-6 * (1 + math.abs(v))) end
end

describe("PyTorch's numbers:", function()
  for i, case in ipairs(parity.load("random")) do
    if case.fn then
      it(("%s (%d)"):format(case.name, i), function() cases.run(case, {}) end)
    elseif case.view then
      it("in the order of memory: " .. case.view, function()
        local x = lucerna.zeros(4, 3, 6)
        lucerna.manual_seed(case.seed)
        local y = x:permute(3, 1, 2)[{{2, -1, 2}}]
        assert.equal(y, y[case.view](y))
        near(y:reshape(-1):tolist(), case.data)
      end)
    else
      it("a long " .. case.long .. " of " .. case.dtype, function()
        lucerna.manual_seed(case.seed)
        local x = lucerna[case.long](5003, {dtype = lucerna[case.dtype]})
        assert.is_near(case.sum, x:double():sum():item(), 1e-2)
        near(lucerna.cat({x[{{1, 20}}], x[{{-20, -1}}]}):tolist(), case.data)
      end)
    end
  end
end)

describe("uniform numbers", function()
  it("are exactly PyTorch's", function()
    lucerna.manual_seed(42)
    local x = lucerna.rand(4)
    assert.same({14802022, 15351219, 6423388, 16094478}, x:mul(2 ^ 24):to(lucerna.int64):tolist())
  end)

  it("of half precision span the width as it rounds", function() -- PyTorch 1.13's
    lucerna.manual_seed(0)
    local x = lucerna.zeros(4, {dtype = lucerna.bfloat16}):uniform_(0.1, 0.3)
    assert.same({0.2353515625, 0.13671875, 0.1923828125, 0.25}, x:tolist())
    lucerna.manual_seed(0)
    x = lucerna.zeros(4, {dtype = lucerna.float16}):uniform_(-0.3, 0.7)
    assert.same({0.033935546875, -0.027099609375, 0.5068359375, 0.293701171875}, x:tolist())
  end)
end)

describe("normal numbers", function()
  it("of half precision are exactly PyTorch's", function()
    lucerna.manual_seed(3)
    local x = lucerna.zeros(16, {dtype = lucerna.float16}):normal_(1, 0.5)
    assert.are.same({-0.1435546875, 0.59375, 1.4052734375, 0.177490234375, 0.441162109375,
      1.2802734375, 1.1064453125, 0.533203125, 1.009765625, 1.8388671875, 0.432373046875,
      1.4052734375, 1.0126953125, 0.5087890625, 0.7646484375, 1.1591796875}, x:tolist())
    lucerna.manual_seed(5) -- where the product with the deviation is not rounded before the sum
    x = lucerna.zeros(30000, {dtype = lucerna.float16}):normal_(0.3, 1.7)
    assert.same({0.0009303092956542969, 0.00042319297790527344, -0.08990478515625},
      x[lucerna.tensor {7998, 20854, 28625}]:tolist())
  end)
end)

describe("what is like a tensor", function()
  it("has its order of dimensions, as its numbers are drawn", function()
    local x = lucerna.zeros(5, 4):t()
    local wide = lucerna.zeros(2, 3, 4, 5):permute(1, 3, 4, 2)
    for _, name in ipairs {"zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"} do
      assert.same({1, 4}, lucerna[name](x):stride())
      assert.same({60, 5, 1, 20}, lucerna[name](wide):stride())
      assert.same({4, 1}, lucerna[name](x:narrow(2, 1, 1):expand(4, 4)):stride())
    end
    assert.same({1, 4}, lucerna.full_like(x, 2):stride())
    lucerna.manual_seed(1)
    local row = lucerna.rand(5, 4)
    lucerna.manual_seed(1)
    assert.is_true(lucerna.equal(row:t(), lucerna.rand_like(x)))
    lucerna.manual_seed(1)
    local y = lucerna.randn_like(x) -- PyTorch 1.13's
    parity.close(y:t()[1], lucerna.tensor{0.6614, 0.2669, 0.0617, 0.6213}, {atol = 1e-4})
  end)
end)

describe("random fills", function()
  it("leave a graph whose gradient is zero", function()
    local x = lucerna.ones(3, {requires_grad = true})
    local y = x:mul(2)
    y:uniform_()
    y:sum():backward()
    assert.same({0.0, 0.0, 0.0}, x.grad:tolist())
  end)

  it("refuse a leaf that requires grad", function()
    local message = parity.message(function() lucerna.ones(3, {requires_grad = true}):normal_() end)
    assert.matches("leaf", message)
  end)
end)

-- Their running sums are made many at a time; what is drawn is by sums one after another.
describe("samples by weights", function()
  local function single(v) return (string.unpack("f", string.pack("f", v))) end

  local function expected(weights, uniform)
    local sums, sum = {}, 0
    for i, w in ipairs(weights) do
      sum = single(sum + w)
      sums[i] = sum
    end
    local places = {}
    for s, u in ipairs(uniform) do
      local at = 1
      while at < #sums and single(sums[at] / sum) < u do at = at + 1 end
      places[s] = at
    end
    return places
  end

  local kinds = {
    ["one"] = function() return lucerna.ones(1) end,
    ["of one size"] = function() return lucerna.rand(1500) end,
    ["of many sizes"] = function() return (lucerna.randn(1500) * 12):exp() end,
    ["mostly zero"] = function() return lucerna.rand(1500):sub(0.95):clamp_min(0) end,
    ["between two sums"] = function() return lucerna.randint(0, 9, { 1500 }) / 8 + 2 ^ 23 end,
    ["that grow"] = function() return lucerna.arange(1500.0) ^ 4 end,
    ["that shrink"] = function() return 1 / lucerna.arange(1.0, 1501) ^ 3 end,
    ["tiny"] = function() return lucerna.rand(1500) * 1e-30 end,
  }
  for name, weights in pairs(kinds) do
    it(name, function()
      lucerna.manual_seed(5)
      local p, state = weights(), lucerna.get_rng_state()
      local uniform = lucerna.rand(41, { dtype = lucerna.float64 }):tolist()
      lucerna.set_rng_state(state)
      assert.same(expected(p:tolist(), uniform), p:multinomial(41, true):tolist())
    end)
  end
end)

describe("distributions without a width", function()
  it("are refused, as by PyTorch", function()
    local x = lucerna.ones(3)
    parity.refused("cauchy_: expects sigma > 0.0, but found sigma=0", x.cauchy_, x, 0, 0)
    parity.refused("exponential_: expects lambda > 0.0, but found lambda=0", x.exponential_, x, 0)
    assert.same({1.0, 1.0, 1.0}, x:tolist())
  end)
end)

describe("integers in floating point dtypes", function()
  it("stay in their range where the dtype rounds, as PyTorch's", function()
    lucerna.manual_seed(0)
    local x = lucerna.randint(0, 32768, {5}, {dtype = lucerna.float16})
    assert.same({7356.0, 9504.0, 3108.0, 21584.0, 32624.0}, x:tolist())
    lucerna.manual_seed(0)
    x = lucerna.zeros(5):random_(-2 ^ 32, 2 ^ 32)
    assert.same({-683007168.0, 1668625664.0, 50076412.0, 2543911168.0, 3656646144.0}, x:tolist())
    lucerna.manual_seed(0)
    x = lucerna.randint(-300, 300, {5}, {dtype = lucerna.bfloat16})
    assert.same({-258.0, -181.0, -272.0, 262.0, 219.0}, x:tolist())
    x = lucerna.zeros(20000, {dtype = lucerna.bfloat16}):random_(1000)
    assert.is_true(x:max():item() < 1000)
  end)
end)

describe("what random numbers are refused", function()
  it("is deviations below 0 and ends that are no numbers", function()
    local mean, x = lucerna.zeros(2), lucerna.ones(2)
    for _, bad in ipairs {-1, 0 / 0} do
      parity.refused("normal: expects all elements of std >= 0.0", lucerna.normal, mean,
        lucerna.tensor {1, bad})
    end
    assert.same({0.0, 0.0}, lucerna.normal(mean, mean):tolist())
    parity.refused("uniform_: from is out of bounds for float32", x.uniform_, x, -math.huge, 3)
    parity.refused("uniform_: to is out of bounds for float32", x.uniform_, x, 0, math.huge)
    assert.same({1.0, 1.0}, x:tolist())
  end)
end)

describe("multinomial without replacement", function()
  it("draws in the order of its weights' memory, as PyTorch", function()
    local weights = lucerna.arange(1., 11):view(5, 2):t()
    lucerna.manual_seed(0)
    assert.same({{4, 5, 2}, {5, 4, 3}}, weights:multinomial(3):tolist())
  end)
end)
