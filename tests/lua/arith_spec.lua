-- Pointwise operators and reductions beyond single calls: in place, out=, numbers, overloads.
local lucerna = require "lucerna"
local parity = require "parity"

local function list(t) return t:tolist() end

describe("in place", function()
  it("writes self, keeps its dtype and returns it", function()
    local x = lucerna.tensor({1, 2, 3}, {dtype = lucerna.float32})
    assert.equal(x, x:add_(lucerna.tensor({1, 1, 1})):mul_(2))
    assert.same({4.0, 6.0, 8.0}, list(x))
    assert.equal(lucerna.float32, x.dtype)
  end)

  it("refuses a result its dtype cannot hold", function()
    local x = lucerna.tensor({1, 2})
    parity.refused("add_: result type Float can't be cast to the desired output type Long", x.add_,
      x, 1.5)
    assert.same({1, 2}, list(x))
  end)

  it("refuses to grow", function()
    parity.refused("doesn't match", function() lucerna.ones(2):add_(lucerna.ones(3, 2)) end)
  end)

  it("takes an input of the same elements, with other dimensions of 1", function()
    local x = lucerna.tensor {1, 2, 3}
    x:view(1, 3)[{{}, {}}] = x
    x:view(3, 1):add_(x:view(3, 1, 1)[{{}, 1}])
    assert.same({2, 4, 6}, x:tolist())
  end)

  it("refuses an input that partly overlaps", function()
    local x = lucerna.ones(3, 3)
    parity.refused("single memory location", x.add_, x, x:t())
    x:add_(x)
    assert.equal(18.0, x:sum():item())
  end)

  it("takes an input that lies between its own elements", function()
    local x = lucerna.arange(8)
    x[{{1, -1, 2}}]:add_(x[{{2, -1, 2}}])
    assert.same({1, 1, 5, 3, 9, 5, 13, 7}, list(x))
    local z = lucerna.arange(9):view(3, 3)
    z:t()[{{1, 2}, {1, 2}}]:sub_(z[{{1, 2}, {1, 2}}])
    assert.same({{0, -2, 2}, {2, 0, 5}, {6, 7, 8}}, list(z))
  end)

  it("leaves what lies between its elements alone", function()
    for _, dtype in ipairs { "float32", "int32", "float64", "int16" } do
      for step = 2, 5 do
        for n = 1, 40 do
          local x = lucerna.arange(1, n * step + 1):to(lucerna[dtype])
          local want, y = x:tolist(), lucerna.arange(1, n + 1):to(lucerna[dtype])
          for i = 1, n do want[(i - 1) * step + 2] = want[(i - 1) * step + 2] - i end
          x[{{2, -1, step}}]:sub_(y)
          assert.same(want, x:tolist(), dtype .. step)
          x[{{1, -1, step}}]:copy_(y)
          for i = 1, n do want[(i - 1) * step + 1] = i end
          assert.same(want, x:tolist(), dtype .. step)
        end
      end
    end
    local x = lucerna.zeros(50, 3, 4) -- short rows that lie as one, and some that do not
    x[{{}, {}, {1, -1, 2}}]:add_(lucerna.arange(1, 51):view(-1, 1, 1))
    x[{{}, {1, 2}, {2, -1, 2}}]:sub_(lucerna.arange(1, 51):view(-1, 1, 1))
    assert.same({{7, -7, 7, -7}, {7, -7, 7, -7}, {7, 0, 7, 0}}, list(x[7]))
    assert.equal(2 * 50 * 51 / 2, x:sum():item())
  end)

  it("converts a tensor without dimensions to the result's dtype first", function()
    local x = lucerna.tensor({0, 7}, {dtype = lucerna.uint8})
    assert.same({255, 255}, list(lucerna.maximum(x, lucerna.tensor(-1))))
    assert.same({true, true}, list(x:lt(lucerna.tensor(-1))))
    assert.same({0, 7}, list(x:fmod(lucerna.tensor(-1))))
  end)

  it("writes through views", function()
    local x = lucerna.zeros(2, 3)
    x:t()[1]:add_(5)
    x[2]:mul_(2)
    assert.same({{5.0, 0.0, 0.0}, {10.0, 0.0, 0.0}}, list(x))
  end)

  it("compares into truth values of self's dtype", function()
    assert.same({1.0, 0.0}, list(lucerna.tensor({2.0, 1.0}):eq_(2)))
  end)
end)

describe("out=", function()
  it("resizes and fills the tensor it is given", function()
    local y = lucerna.empty(0)
    local got = lucerna.add(lucerna.tensor({1.0, 2.0}), 1, {out = y})
    assert.equal(y, got)
    assert.same({2.0, 3.0}, list(y))
    lucerna.sum(lucerna.ones(2, 3), 1, {out = y})
    assert.same({2.0, 2.0, 2.0}, list(y))
  end)

  it("converts to the tensor's dtype where that can hold the result", function()
    local y = lucerna.empty({2}, {dtype = lucerna.float64})
    lucerna.mul(lucerna.tensor({1, 2}), 3, {out = y})
    assert.same({3.0, 6.0}, list(y))
    local whole = lucerna.empty({2}, {dtype = lucerna.int64})
    parity.refused("can't be cast", lucerna.exp, y, {out = whole})
  end)

  it("may be an argument, which is not resized while it is read", function()
    local x = lucerna.arange(3.0)
    parity.refused("output with shape [3] doesn't match the broadcast shape [2, 3]",
      lucerna.add, x, lucerna.ones(2, 3), {out = x})
    assert.same({0.0, 1.0, 2.0}, list(lucerna.add(x, 0, {out = x})))
    assert.equal(3.0, lucerna.sum(x, 1, {out = x}):item())
    local row = lucerna.ones(1):expand(3)
    parity.refused("more than one element", lucerna.add, row, 1, {out = row})
  end)

  it("tells a call its dtype", function() -- recorded from PyTorch
    local x, double = lucerna.tensor({2 ^ 24, 1.0}), lucerna.empty({0}, {dtype = lucerna.float64})
    assert.equal(16777217.0, lucerna.sum(x, 1, {out = double}):item())
    assert.equal(16777217.0, lucerna.cumsum(x, 1, {out = double})[2]:item())
    local whole = lucerna.empty({0}, {dtype = lucerna.int64})
    assert.equal(2, lucerna.prod(lucerna.tensor({1.5, 2.5}), 1, {out = whole}):item())
    local truth = lucerna.empty({0}, {dtype = lucerna.bool})
    assert.is_true(lucerna.sum(lucerna.tensor({2, -2, 3}), 1, {out = truth}):item())
    local y = lucerna.tensor {{1e8, 1.0, -1e8, 3}}
    assert.equal(1.0, lucerna.mean(y, 2, {out = double}):item())
    assert.equal(1.0, lucerna.nanmean(y, 2, {out = double}):item())
    assert.equal(100000004.0, lucerna.norm(y[{1, {1, 2}}] + lucerna.tensor {0.0, 3}, 1, 1,
      {out = double}):item())
    parity.refused("floating point input or dtype (got int64)", lucerna.mean, y, 2, {out = whole})
  end)
end)

describe("numbers", function()
  it("stand on either side", function()
    local x = lucerna.tensor({1.0, 2.0, 4.0})
    assert.same({3.0, 2.0, 0.0}, list(4 - x))
    assert.same({4.0, 2.0, 1.0}, list(4 / x))
    assert.same({2.0, 4.0, 16.0}, list(2 ^ x))
    assert.same({1.0, 1.0, 1.0}, list(5 % x + (x:eq(1)):float() - (5 % x - 1):clamp(0)))
    assert.same({-1.0, -2.0, -4.0}, list(-x))
  end)

  it("never widen a tensor of their category", function()
    local half = lucerna.ones({2}, {dtype = lucerna.float16})
    assert.equal(lucerna.float16, (half * 2.5).dtype)
    assert.equal(lucerna.float16, (half * lucerna.tensor(2.5)).dtype)
    assert.equal(lucerna.uint8, (lucerna.ones({2}, {dtype = lucerna.uint8}) + 1).dtype)
    assert.equal(lucerna.float32, (lucerna.tensor({1, 2}) * 1.5).dtype)
  end)

  it("divide integers by zero only as floats", function()
    local x = lucerna.tensor({1, 2})
    assert.same({math.huge, math.huge}, list(x / 0))
    parity.refused("divided by zero", function() return x // 0 end)
    parity.refused("divided by zero", function() return x % lucerna.tensor({1, 0}) end)
  end)
end)

describe("overloads", function()
  local x = lucerna.tensor({{1.0, 5.0}, {7.0, 3.0}})

  it("of max and min go by their arguments", function()
    assert.equal(7.0, x:max():item())
    local values, indices = x:max(2)
    assert.same({5.0, 7.0}, list(values))
    assert.same({2, 1}, list(indices))
    assert.same({{4.0, 5.0}, {7.0, 4.0}}, list(lucerna.max(x, lucerna.tensor(4.0))))
    assert.same({{1.0}, {3.0}}, list((x:min(2, true))))
    assert.same({{1.0}, {3.0}}, list((x:min{dim = 2, keepdim = true})))
  end)

  it("of median, norm and std too", function()
    assert.equal(3.0, x:median():item())
    local values, indices = x:median(1)
    assert.same({1.0, 3.0}, list(values))
    assert.same({1, 2}, list(indices))
    assert.equal(x:norm():item(), x:norm("fro"):item())
    assert.equal(x:var(false):item(), x:var({1, 2}, false):item())
  end)

  it("of max, min and medians of all share a gradient among equals, NaN among them", function()
    local nan = 0 / 0
    for _, case in ipairs {{"median", {2, 1, 2, 3}, {0.5, 0, 0.5, 0}}, {"min", {1, 1}, {0.5, 0.5}},
      {"median", {nan, 1, nan, 3}, {0.5, 0, 0.5, 0}}, {"max", {nan, 1}, {1, 0}},
      {"nanmedian", {nan, 1, 1, 3}, {0, 0.5, 0.5, 0}}} do
      local leaf = lucerna.tensor(case[2], {dtype = lucerna.float64}):requires_grad_()
      lucerna[case[1]](leaf):backward()
      assert.same(case[3], list(leaf.grad))
    end
  end)

  it("of hypot has a gradient for numbers whose inverse is infinite", function()
    local leaf = lucerna.tensor({1e-310, -3}, {dtype = lucerna.float64}):requires_grad_()
    lucerna.hypot(leaf, lucerna.tensor({0, 4}, {dtype = lucerna.float64})):sum():backward()
    assert.same({1.0, -0.6}, list(leaf.grad))
  end)

  it("into a wider dtype are those of the result's own", function()
    local a, wide = lucerna.tensor({100, 3}, {dtype = lucerna.int8}), lucerna.zeros(2):long()
    assert.same({-56, 6}, list(lucerna.add(a, a, {out = wide})))
    assert.same({16, 9}, list(lucerna.mul(a, a, {out = wide})))
    local third, single = lucerna.tensor({1 / 3}, {dtype = lucerna.float16}), lucerna.zeros(1)
    assert.same(list(third * third), list(lucerna.mul(third, third, {out = single})))
  end)

  it("of lerp blend from the nearer end, below zero too", function()
    for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
      for _, n in ipairs {1, 20} do
        local a = lucerna.zeros({n}, {dtype = dtype})
        local b = a + math.huge
        for _, weight in ipairs {-0.7, lucerna.full({n}, -0.7, {dtype = dtype})} do
          assert.is_true(a:lerp(b, weight):isnan():all():item())
        end
        assert.is_true(a:lerp(b, -0.3):eq(-math.huge):all():item())
      end
    end
  end)

  it("of fmax and fmin shares its gradient among equals; NaN has none", function()
    local nan = 0 / 0
    for _, name in ipairs {"fmax", "fmin"} do
      local a = lucerna.tensor({nan, 1.0, nan, 2.0, math.huge}, {requires_grad = true})
      local b = lucerna.tensor({1.0, nan, nan, 2.0, math.huge}, {requires_grad = true})
      lucerna[name](a, b):sum():backward()
      assert.same({0.0, 1.0, 1.0, 0.5, 0.5}, list(a.grad))
      assert.same({1.0, 0.0, 0.0, 0.5, 0.5}, list(b.grad))
    end
  end)

  it("of logaddexp shares its gradient beside infinities", function()
    local inf = math.huge
    for _, name in ipairs {"logaddexp", "logaddexp2"} do
      local a = lucerna.tensor({2, -inf, 0, 3}, {dtype = lucerna.float64}):requires_grad_()
      local b = lucerna.tensor({inf, 1, 0, -inf}, {dtype = lucerna.float64}):requires_grad_()
      lucerna[name](a, b):sum():backward()
      assert.same({0.0, 0.0, 0.5, 1.0}, list(a.grad))
      assert.same({1.0, 1.0, 0.5, 0.0}, list(b.grad))
    end
  end)

  it("of numbers that uint8 cannot hold: whole ones wrap, others fail", function()
    assert.same({255, 255}, list(lucerna.full({2}, -1, {dtype = lucerna.uint8})))
    for _, value in ipairs {-0.5, -1.5, -300, 256} do
      parity.refused("value cannot be converted to type uint8 without overflow", lucerna.full, {2},
        value, {dtype = lucerna.uint8})
    end
  end)

  it("of where: a function of the condition, a method of the first choice", function()
    assert.same(list(lucerna.where(x:gt(3), x, 0)), list(x:where(x:gt(3), 0)))
  end)
end)

describe("few elements", function()
  -- The same numbers, with gaps: computed by the other way.
  local function apart(x) return lucerna.stack({x, x}, -1):select(-1, 1) end

  it("are computed as others are, at every size and dtype", function()
    for _, n in ipairs {0, 1, 7, 16, 33, 1024, 1025} do
      for _, dtype in ipairs {"float32", "float64", "int64", "int32", "uint8", "bool", "float16"} do
        local x, y = (lucerna.rand(n) * 9):to(dtype), (lucerna.rand(n) * 9 + 1):to(dtype)
        for _, name in ipairs {"add", "mul", "lt", "maximum"} do
          local want = apart(x)[name](apart(x), apart(y))
          assert.is_true(lucerna.equal(want, x[name](x, y)))
          local out = lucerna.empty(n, {dtype = want.dtype})
          assert.is_true(lucerna.equal(want, lucerna[name](x, y, {out = out})))
        end
        local twice, own = apart(x):add(apart(x)), x:clone()
        assert.is_true(lucerna.equal(twice, own:add_(own)))
      end
    end
  end)

  it("may lie among the result's own", function()
    local x = lucerna.arange(1, 9)
    parity.refused("single memory", function() x:narrow(1, 2, 7):add_(x:narrow(1, 1, 7)) end)
    x:narrow(1, 1, 4):add_(x:narrow(1, 1, 4))
    assert.same({2, 4, 6, 8, 5, 6, 7, 8}, list(x))
  end)
end)

describe("errors", function()
  it("name the function, the argument and the shapes", function()
    local a, b = lucerna.ones(2, 3), lucerna.ones(2, 4)
    parity.refused("add: .*size of tensor a %(3%).*b %(4%)", function() return a + b end)
    parity.refused("sum: dim 3 is out of range %[%-2, 2%]", a.sum, a, 3)
    parity.refused("dim 1 appears multiple times", a.sum, a, {1, 1})
    parity.refused("topk: k must be in %[0, 3%]", a.topk, a, 4)
    parity.refused("max: expected reduction dim 1 to have non%-zero size %(input %[0, 3%]%)",
      function() return lucerna.ones(0, 3):max(1) end)
    parity.refused("mean: .*int64", function() return lucerna.tensor({1, 2}):mean() end)
  end)
end)

describe("topk", function()
  local function head_of_sort(x, k)
    local values, positions = x:topk(k)
    local sorted, order = x:sort(2, true)
    local exact = {rtol = 0, atol = 0, equal_nan = true}
    assert.is_true(lucerna.allclose(sorted:narrow(2, 1, k), values, exact))
    assert.is_true(lucerna.equal(order:narrow(2, 1, k), positions))
  end

  it("is the head of a stable sort: equal numbers, infinities, NaN, any length", function()
    for _, n in ipairs {11, 16, 17, 33, 100, 2051} do
      for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
        local x = lucerna.randn(7, n):to(dtype)
        local ties = (x * 2):round()
        ties[2][5], ties[3][n], ties[4][n], ties[5][1] = 0 / 0, 0 / 0, math.huge, -0.0
        for _, k in ipairs {1, 5, 10} do
          head_of_sort(x, k)
          head_of_sort(ties, k)
        end
      end
    end
  end)
end)

describe("pointwise kernels", function()
  local F = lucerna.nn.functional
  local calls = {
    neg = function(x) return -x end,
    ["x - y"] = function(x, y) return x - y end,
    ["x * 3"] = function(x) return x * 3 end,
    ["5 - x"] = function(x) return 5 - x end,
    ["x^3"] = function(x) return x:pow(3) end,
    ["x^2"] = function(x) return x:pow(2) end,
    ["x^1"] = function(x) return x:pow(1) end,
    relu = function(x) return x:relu() end,
    ["in place"] = function(x, y) return x:clone():sub_(y):abs_() end,
    clamp = function(x) return x:clamp(-2, 3) end,
    crossed = function(x) return x:clamp(3, 1) end,
    maximum = function(x, y) return x:maximum(y) end,
    ["not less"] = function(x) return x:clamp_min(1) end,
    leaky = function(x) return x:is_floating_point() and F.leaky_relu(x) or x end,
  }

  local function same(a, b)
    return a == b and (a ~= 0 or 1 / a == 1 / b) or a ~= a and b ~= b
  end

  local function check(name, x, y)
    local whole = calls[name](x, y):tolist()
    for i = 1, #whole do
      local one = calls[name](x[{{i, i}}], y[{{i, i}}]):item()
      assert(same(whole[i], one), ("%s of %s, element %d of %d: %s, by itself %s"):format(
        name, x.dtype, i, #whole, whole[i], one))
    end
  end

  it("give the same for any length as for each element", function()
    for _, dtype in ipairs {"float32", "float64", "float16", "int64", "int32", "int16", "int8",
      "uint8"} do
      for _, n in ipairs {15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 150, 300} do
        local x = lucerna.randint(-20, 20, {n}):to(lucerna[dtype])
        local y = lucerna.randint(1, 20, {n}):to(lucerna[dtype])
        if x:is_floating_point() then x[n], x[n // 2], x[1] = 0 / 0, -0.0, -1 / 0 end
        for name in pairs(calls) do check(name, x, y) end
      end
    end
  end)

  it("divide integers exactly, however large", function()
    local float, double = 1 << 24, 1 << 53
    for dtype, bounds in pairs { int8 = {127}, uint8 = {255}, int16 = {32767},
      int32 = {float - 1, float + 1, (1 << 31) - 1},
      int64 = {float - 1, float + 1, (1 << 31) - 1, double - 1, double + 1, 1 << 62} } do
      for _, most in ipairs(bounds) do
        local a, b = {}, {}
        for i = 1, 300 do
          local by = i % 7 == 0 and most - i % 3 or i % 40 + 1
          local over = (most // by) * by - i % 2 -- a multiple, or one less
          a[i], b[i] = over, dtype ~= "uint8" and i % 5 == 0 and -by or by
          if dtype ~= "uint8" and i % 4 == 0 then a[i] = -over end
        end
        local x = lucerna.tensor(a, {dtype = lucerna[dtype]})
        local y = lucerna.tensor(b, {dtype = lucerna[dtype]})
        local rest, floor, trunc = x:fmod(y), x:div(y, {rounding_mode = "floor"}),
          x:div(y, {rounding_mode = "trunc"})
        local python = x:remainder(y)
        rest, floor, trunc, python = rest:tolist(), floor:tolist(), trunc:tolist(), python:tolist()
        for i = 1, #a do
          local what = ("%s: %d by %d"):format(dtype, a[i], b[i])
          assert(math.fmod(a[i], b[i]) == rest[i] and a[i] % b[i] == python[i], what)
          assert(a[i] // b[i] == floor[i] and (a[i] - rest[i]) // b[i] == trunc[i], what)
        end
      end
    end
  end)

  -- Every version of PyTorch agrees, but that up to 1.13 rounded factors and divisors as well.
  it("round numbers beside halves to these, but for factors, divisors and weights", function()
    for _, case in ipairs {
      {lucerna.float16, 0.300048828125, 0.2998046875},
      {lucerna.bfloat16, 0.30078125, 0.298828125},
    } do
      local dtype, rounded, below = table.unpack(case)
      local x = lucerna.tensor({rounded, below}, {dtype = dtype})
      for _, number in ipairs {0.3, lucerna.tensor(0.3), lucerna.tensor(0.3):double()} do
        assert.same({true, false}, x:eq(number):tolist())
        assert.same({false, true}, x:lt(number):tolist())
        assert.same({0, below - rounded}, (x - number):tolist())
        assert.same({0, below}, x:fmod(number):tolist())
        assert.same({0, below}, x:remainder(number):tolist())
        assert.same(lucerna.pow(rounded, x:float()):to(dtype):tolist(), (0.3 ^ x):tolist())
        assert.same((x:float() * 0.3):to(dtype):tolist(), (x * number):tolist())
        assert.same((x:float() / 0.3):to(dtype):tolist(), (x / number):tolist())
      end
      assert.same(lucerna.lerp(x:float(), x:float() * 2, 0.3):to(dtype):tolist(),
        lucerna.lerp(x, x * 2, 0.3):tolist())
    end
  end)

  it("of halves compute as floats do, rounded once", function()
    for _, n in ipairs {1, 7, 16, 31, 33, 64, 100} do
      local x, y = lucerna.randn(n, 3):half(), (lucerna.randn(n, 3) * 100):half()
      x[1][2], y[1][1] = 0 / 0, 65504
      local column = x[{{}, {2, 2}}]
      for _, name in ipairs {"add", "sub", "mul", "div"} do
        local function compare(a, b)
          local whole = lucerna[name](a:float(), b:float()):half()
          assert.is_true(lucerna.allclose(whole, lucerna[name](a, b), {rtol = 0, atol = 0,
            equal_nan = true}), name)
        end
        compare(x, y)
        compare(x, y[1][1])
        compare(y[1][3], x)
        compare(x:t(), y:t())
        compare(column, y)
        compare(y, y)
        local number = (name == "mul" or name == "div") and 0.7 or 0.7001953125
        local whole = lucerna[name](y:float(), number):half()
        assert.is_true(lucerna.equal(whole, lucerna[name](y, 0.7)))
        local z = y:clone()
        z[name .. "_"](z, x)
        assert.is_true(lucerna.allclose(z, lucerna[name](y, x), {rtol = 0, atol = 0,
          equal_nan = true}))
      end
    end
  end)

  it("clamp to NaN as a bound, and keep the sign of 0", function()
    local x = lucerna.randn(70)
    x[3], x[66] = 0 / 0, 0 / 0
    assert.is_true(x:clamp(0 / 0, 1):isnan():all():item())
    assert.is_true(x:clamp(-1, 0 / 0):isnan():all():item())
    assert.same({3, 66}, x:clamp(-1, 1):isnan():nonzero():flatten():tolist())
    for _, zero in ipairs {0.0, -0.0} do
      for _, r in ipairs(lucerna.full({40}, zero):clamp(-1, 1):tolist()) do
        assert.equal(1 / zero, 1 / r)
      end
    end
  end)
end)

describe("frexp", function()
  it("takes every number apart, however small", function()
    for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
      for n = 1, 19 do
        local values = {0.0, -0.0, 1, -0.5, 3.7, -1e-40, 2^-149, 2^-126, -2^-127, 2^-1022,
          -1.5 * 2^-1030, 5e-324, 3e38, 1e308, 1/0, -1/0, 123456.789, 0.1, -7}
        local x = lucerna.tensor(values, {dtype = dtype})[{{1, n}}]
        local mantissa, exponent = lucerna.frexp(x)
        for i = 1, n do
          local v, m, e = x[i]:item(), mantissa[i]:item(), exponent[i]:item()
          if v == 0 or v - v ~= 0 then
            assert.equal(v, m)
            assert.equal(0, e)
          else
            assert.is_true(math.abs(m) >= 0.5 and math.abs(m) < 1)
            assert.equal(v, e < -1000 and m * 2.0^(e + 100) * 2.0^-100 or m * 2.0^(e - 2) * 4)
          end
        end
      end
    end
    assert.is_true(lucerna.frexp(lucerna.tensor {0/0}):isnan():item())
  end)
end)

describe("elements with gaps", function()
  it("are computed in, and written from, another dtype as those without", function()
    local dtypes = {"float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8",
      "uint8", "bool"}
    for _, from in ipairs(dtypes) do
      for step, n in pairs {[2] = 600, [3] = 255, [4] = 256, [5] = 257, [7] = 1} do
        local whole = lucerna.arange(n * step):remainder(127):to(lucerna[from])
        local apart = whole[{{1, n * step, step}}]
        for _, to in ipairs(dtypes) do
          local want = apart:contiguous():to(lucerna[to])
          assert.is_true(apart:to(lucerna[to]):equal(want), from .. to .. step)
          local room = lucerna.zeros(n * step):to(lucerna[to])
          room[{{1, n * step, step}}]:copy_(apart)
          assert.is_true(room[{{1, n * step, step}}]:equal(want), from .. to .. step)
          assert.equal(want:bool():sum():item(), room:bool():sum():item())
        end
      end
    end
  end)

  it("are changed in place, whole chunks and less, and nothing beside them", function()
    for _, dtype in ipairs {"float32", "float64", "float16", "int64", "int32", "uint8"} do
      for step, n in pairs {[2] = 2100, [3] = 1025, [5] = 700, [40] = 257} do
        local whole = lucerna.arange(n * step):remainder(11):to(lucerna[dtype])
        local want = whole:clone():view(n, step)
        want:select(2, 1):copy_(want:select(2, 1):contiguous() * 2 + 1)
        whole[{{1, n * step, step}}]:mul_(2):add_(1)
        assert.is_true(whole:equal(want:flatten()), dtype .. step)
        local other = lucerna.arange(n):remainder(5):to(lucerna[dtype])
        want:select(2, 1):copy_(want:select(2, 1):contiguous() * other)
        whole[{{1, n * step, step}}]:mul_(other)
        assert.is_true(whole:equal(want:flatten()), dtype .. step)
        whole = whole:view(n, step)
        if step > 2 then -- two of each row
          want:narrow(2, 1, 2):copy_(-want:narrow(2, 1, 2):contiguous())
          whole:narrow(2, 1, 2):neg_()
          assert.is_true(whole:equal(want), dtype .. step)
        end
      end
    end
  end)

  it("are read once where they are given twice, with what they are given", function()
    for _, dtype in ipairs {"float32", "float64", "bfloat16", "int32", "bool"} do
      for _, size in ipairs {{3, 5}, {90, 80}, {2100, 3}} do
        local whole = lucerna.arange(2 * size[1] * size[2]):remainder(13):to(lucerna[dtype])
        local apart = whole:view(size[1], 2 * size[2])[{{}, {1, -1, 2}}]
        local turned = whole[{{1, size[1] * size[2]}}]:view(size[2], size[1]):t()
        local other = apart:flip(1)
        for _, x in ipairs {apart, turned, apart:narrow(2, 1, 1):expand_as(apart)} do
          local own, lies = x:contiguous(), other:contiguous()
          assert.is_true((x * x):equal(own * own), dtype)
          assert.is_true(x:logical_xor(x):equal(own:logical_xor(own)), dtype)
          if dtype ~= "bool" then
            assert.is_true(other:addcmul(x, x):equal(lies:addcmul(own, own)), dtype)
            assert.is_true(x:addcmul(other, x):equal(own:addcmul(lies, own)), dtype)
            assert.is_true(x:addcmul(x, x):equal(own:addcmul(own, own)), dtype)
          end
        end
      end
    end
  end)
end)

describe("operands in different orders", function()
  it("meet element by element, however many blocks they take", function()
    local threads = lucerna.get_num_threads()
    local orders = {{1, 2, 3, 4}, {1, 4, 2, 3}, {4, 3, 2, 1}, {2, 1, 4, 3}}
    local function laid(size, order, dtype, start) -- so that its dimensions lie in this order
      local inner, back, n = {}, {}, 1
      for k, d in ipairs(order) do inner[k], back[d], n = size[d], k, n * size[d] end
      local x = (lucerna.arange(n) * 7 + start):remainder(101):to(lucerna[dtype])
      return x:view(inner):permute(back)
    end
    for _, size in ipairs {{1, 1, 70, 100}, {1, 1, 40, 2100}, {1, 1, 2100, 9}, {2, 3, 40, 50}} do
      for n, order in ipairs(orders) do
        for _, dtype in ipairs {"float32", "float64", "int32", "uint8", "bfloat16"} do
          local x = laid(size, orders[1], dtype, 3)
          local y = laid(size, order, n == 3 and "int16" or dtype, 5)
          local z = laid(size, orders[n % 4 + 1], dtype, 8)
          local a, b, c = x:contiguous(), y:contiguous(), z:contiguous()
          for _, count in ipairs {1, 2} do
            lucerna.set_num_threads(count)
            assert.is_true((x + y):equal(a + b), dtype)
            assert.is_true(y:lt(z):equal(b:lt(c)), dtype)
            assert.is_true(z:addcmul(x, x):equal(c:addcmul(a, a)), dtype)
            local high, want = lucerna.where(x:gt(50), z, x), lucerna.where(a:gt(50), c, a)
            assert.is_true(high:equal(want), dtype)
            assert.is_true(z:clone():mul_(x):equal(c * a), dtype)
          end
        end
      end
    end
    lucerna.set_num_threads(threads)
  end)
end)

describe("columns that are expanded", function()
  local function same(x, y, f, title)
    local want = f(x:contiguous(), y:contiguous())
    assert.is_true(lucerna.allclose(f(x, y), want, {rtol = 0, atol = 0, equal_nan = true}), title)
  end

  it("fill each row with what comes of its element, however many there are", function()
    local functions = {
      neg = function(x) return -x end, square = function(x) return x:square() end,
      clamp = function(x) return x:clamp(-3, 3) end, relu = function(x) return x:relu() end,
      lt = function(x) return x:lt(1):long() end, add = function(x, y) return x + y end,
      maximum = function(x, y) return lucerna.maximum(x, y) end,
      written = function(x, y)
        local room = lucerna.zeros(x:size(1), 2 * x:size(2)):double()
        room:narrow(2, 3, x:size(2)):copy_(lucerna.mul(x, y))
        return room
      end,
    }
    for _, rows in ipairs {1, 2, 3, 1030, 2100} do
      for _, columns in ipairs {2, 17, 33} do
        local start = lucerna.arange(rows):remainder(11) - 5
        for _, dtype in ipairs {"float32", "float64", "int64", "int32", "int8", "bfloat16"} do
          local x = start:to(lucerna[dtype]):unsqueeze(2):expand(rows, columns)
          for _, other in ipairs {dtype, "int8"} do
            local y = (start * 3):to(lucerna[other]):unsqueeze(2):expand(rows, columns)
            for name, f in pairs(functions) do
              same(x, y, f, ("%s %d x %d %s %s"):format(name, rows, columns, dtype, other))
            end
          end
        end
      end
    end
    local odd = lucerna.tensor({0 / 0, -0.0, 1 / 0, 1e-40, -2}):unsqueeze(2):expand(5, 20)
    same(odd, odd, functions.neg, "neg")
    assert.is_true((-odd):signbit():equal((-odd:contiguous()):signbit()))
  end)
end)

describe("truth values", function()
  it("are numbers of the dtype that they are written to, however it lies", function()
    local names = {"float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8",
      "uint8", "bool"}
    for _, name in ipairs(names) do
      local dtype = lucerna[name]
      for _, size in ipairs {{1, 1}, {3, 5}, {1, 65}, {4, 300}, {2, 1100}} do
        local x = lucerna.arange(size[1] * size[2]):remainder(7):to(dtype):view(size)
        local y = x:flip(2)
        for _, f in ipairs {"lt", "eq", "logical_xor"} do
          local want, place = x[f](x, y):to(dtype), f .. "_"
          local apart = lucerna.stack({x, x}, 3)[{{}, {}, 1}]
          local turned = x:t():clone()
          local plain = x:clone()
          plain[place](plain, y)
          apart[place](apart, y)
          turned[place](turned, y:t())
          assert.is_true(plain:equal(want), name .. f)
          assert.is_true(apart:equal(want), name .. f)
          assert.is_true(turned:t():equal(want), name .. f)
          local one = x[1][1]:expand(size)
          local out = lucerna.empty(size):to(dtype)
          lucerna[f](one, one, {out = out})
          assert.is_true(out:equal(one[f](one, one):to(dtype)), name .. f)
        end
      end
    end
  end)

  it("of two dtypes are numbers of the one that is written to", function()
    for _, a in ipairs {"float32", "float16", "int64", "int16"} do
      for _, b in ipairs {"float64", "float32", "bfloat16", "int64", "int8"} do
        local x = lucerna.arange(70):remainder(9):to(lucerna[a])
        local y = lucerna.arange(70):remainder(5):to(lucerna[b])
        local want = x:ge(y):to(lucerna[a])
        assert.is_true(x:ge_(y):equal(want), a .. b)
      end
    end
  end)

  it("of halves are those of their floats", function()
    local inf, nan = math.huge, 0 / 0
    local some = {0, -0.0, 1, -1, inf, -inf, nan, -nan, 6e-8, -6e-8, 0.5, -2, 65504, -65504, 3}
    local names = {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"}
    for _, dtype in ipairs {lucerna.float16, lucerna.bfloat16} do
      local row = lucerna.tensor(some):to(dtype)
      local n = #some
      local x = row:unsqueeze(2):expand(n, n):reshape(-1)
      local y = row:expand(n, n):reshape(-1)
      for _, f in ipairs(names) do
        local want = x:float()[f](x:float(), y:float())
        assert.is_true(x[f](x, y):equal(want), f)
        assert.is_true(row[f](row:unsqueeze(2), row):reshape(-1):equal(want), f)
        local place = x:clone()
        place[f .. "_"](place, y)
        assert.equal(dtype, place.dtype)
        assert.is_true(place:equal(want:to(dtype)), f)
        for _, size in ipairs {1, 31, 65} do
          local part = x[{{1, size}}]:clone()
          local all = part:float()
          part[f .. "_"](part, y[size])
          assert.is_true(part:equal(all[f](all, y[size]:float()):to(dtype)), f)
        end
      end
      assert.is_true(x:logical_not():equal(x:float():logical_not()))
    end
  end)

  it("have no sign", function()
    assert.same({false, false}, lucerna.tensor({true, false}):signbit():tolist())
  end)

  it("are added and multiplied as such, whatever their layout and number", function()
    for _, n in ipairs {1, 31, 64, 65, 130} do
      local a = lucerna.arange(0, n):remainder(2):bool()
      local b = lucerna.arange(0, n):remainder(3):bool()
      local apart = lucerna.stack({b, b}, 2)[{{}, 1}]
      for _, y in ipairs {b, apart, b[1]} do
        assert.same((a:long() + y:long()):bool():tolist(), (a + y):tolist())
        assert.same((a:long() * y:long()):bool():tolist(), (a * y):tolist())
      end
      assert.equal(lucerna.bool, (a * true).dtype)
      assert.same(a:tolist(), a:mul(true):tolist())
      assert.same(a:logical_or(b):tolist(), a:clone():add_(b):tolist())
      assert.same((a:long() + b:long()):tolist(), (a:long() + b):tolist())
      assert.same((a:float() * b:float()):tolist(), (a * b:float()):tolist())
    end
  end)
end)

it("small integers are widened once for each row that one of them fills", function()
  for _, rows in ipairs {18, 1025} do
    local function filled(t) return t:view(1, rows, 1):expand(800, rows, 7) end
    local few, b = lucerna.arange(rows):remainder(100), lucerna.arange(rows):int()
    assert.is_true(filled(few:char() + b):equal(filled(few:char()) + filled(b)))
  end
end)

it("rows whose windows overlap are read where they are, whatever was laid out before", function()
  local sizes, dtypes = {2072, 89, 4}, {lucerna.float32, lucerna.float64, lucerna.int32}
  for _, dtype in ipairs(dtypes) do
    local windows = lucerna.arange(200000):to(dtype):as_strided(sizes, {88, 47, 2})
    local zeros = lucerna.zeros(sizes, {dtype = dtype})
    assert.is_true(windows:contiguous():equal(zeros + windows))
  end
end)
