-- Gradients, and their gradients, where a function has a kink, an end or a hole: as PyTorch's.
local lucerna = require "lucerna"
local parity = require "parity"
local autograd, leaf = lucerna.autograd, parity.leaf_with

local function doubles(values) return lucerna.tensor(values, {dtype = lucerna.float64}) end

-- The gradients of f by its inputs, weighed by ones, and what they change with those weights.
local function slopes(f, ...)
  local inputs = {...}
  local y = f(...)
  local weights = lucerna.ones_like(y):requires_grad_()
  local first = table.pack(autograd.grad({y}, inputs,
                                         {grad_outputs = {weights}, create_graph = true}))
  local sum = 0
  for _, g in ipairs(first) do sum = sum + g:sum() end
  return first, autograd.grad({sum}, {weights})
end

describe("second derivatives", function()
  it("by the weights are the slope, also where a part of the formula is infinite", function()
    for name, case in pairs {
      pow = {lucerna.pow, {0, 0, 2}, {1, 2, 3}, {1, 0, 12 + 8 * math.log(2)}},
      copysign = {lucerna.copysign, {0, 2, -3}, {1, -1, 1}, {0, -1, -1}},
      atan2 = {lucerna.atan2, {0, 0, 1}, {0, 1, 0}, {0, 1, -1}},
    } do
      local first, by_weight = slopes(case[1], leaf(case[2]), leaf(case[3]))
      local want = doubles(case[4])
      parity.close(first[1] + first[2], want, {}, name)
      parity.close(by_weight, want, {}, name)
    end
    local _, by_weight = slopes(function(x) return lucerna.pow(0, x) end, leaf {0, 1, 2})
    assert.same({0.0, 0, 0}, by_weight:tolist())
  end)

  it("of distances are 0 between equal points", function()
    local x = leaf {{1, 2}, {1, 2}, {4, 6}}
    local _, by_weight = slopes(lucerna.cdist, x, leaf {{1, 2}})
    assert.same({{0.0}, {0.0}, {0.0}}, by_weight:tolist())
    _, by_weight = slopes(function(v) return lucerna.pdist(v) * lucerna.tensor {1.0, 0, 0} end, x)
    assert.same({0.0, 0, 0}, by_weight:tolist())
  end)

  it("of log_ndtr end where its slope does", function()
    for dtype, points in pairs {
      [lucerna.float64] = {-1, 30, 37.7, 88, 1e5}, [lucerna.float32] = {-1, 9, 14, 88, 1e5},
    } do
      local x = lucerna.tensor(points, {dtype = dtype, requires_grad = true})
      local slope = autograd.grad({lucerna.special.log_ndtr(x):sum()}, {x}, {create_graph = true})
      local curve = autograd.grad({slope:sum()}, {x})
      parity.close(slope[1]:item(), 1.525135276160982, {rtol = 1e-6})
      parity.close(curve[1], -slope[1] * (slope[1] - 1), {rtol = 1e-5}) -- -slope * (x + slope)
      assert.same({0.0, 0, 0}, slope[{{3, 5}}]:tolist())
      assert.is_true(curve[{{2, 5}}]:abs():le(1e-15):all():item())
    end
  end)
end)

describe("func.jvp", function()
  local function tangent(f, ...)
    local ones = {}
    for k, t in ipairs {...} do ones[k] = lucerna.ones_like(t) end
    return select(2, lucerna.func.jvp(f, {...}, ones)):tolist()
  end

  it("is 0 where a gradient is 0 by convention", function()
    local t = doubles
    assert.same({0.0, 0}, tangent(function(x) return x:std(2) end, t {{2, 2}, {0, 1}}))
    assert.same({0.0}, tangent(function(x) return (lucerna.std_mean(x, 2)) end, t {{2, 2, 2}}))
    assert.same({0.0, 4, 0}, tangent(function(x) return x:logit(0.25) end, t {0, 0.5, 1}))
    assert.same({0.0, 1}, tangent(function(x) return x ^ t {0, 1} end, t {0, 0}))
    local function at_zero(f)
      return function(re, im) return lucerna.view_as_real(f(lucerna.complex(re, im)) + 0) end
    end
    assert.same({{0.0, 0}}, tangent(at_zero(lucerna.sgn), t {0}, t {0}))
    assert.same({0.0}, tangent(function(re, im) return lucerna.complex(re, im):angle() end,
                               t {0}, t {0}))
  end)

  it("of logit is NaN outside its domain, like its gradient", function()
    local out = tangent(lucerna.logit, doubles {-1, 0.5, 2})
    assert.is_true(out[1] ~= out[1] and out[2] == 4 and out[3] ~= out[3])
  end)
end)

describe("gradients", function()
  it("of logit are 0 outside of eps, NaN outside its domain, recorded or not", function()
    local inf, nan = math.huge, 0 / 0
    local function gradient(eps, create_graph)
      local x = leaf {-1, -0.0, 0.25, 0.5, 0.75, 1, 2, inf, -inf, nan}
      local y = x:logit(eps)
      return lucerna.autograd.grad(y, x, {grad_outputs = lucerna.ones_like(y),
        create_graph = create_graph}):detach()
    end
    for _, recorded in ipairs {false, true} do
      local function expect(eps, values)
        assert.is_true(lucerna.allclose(gradient(eps, recorded), doubles(values),
          {rtol = 1e-15, atol = 0, equal_nan = true}))
      end
      expect(nil, {nan, inf, 16 / 3, 4, 16 / 3, inf, nan, nan, nan, nan})
      expect(0.25, {0, 0, 16 / 3, 4, 16 / 3, 0, 0, 0, 0, nan})
      expect(0.5, {0, 0, 0, 4, 0, 0, 0, 0, 0, nan})
    end
    for _, recorded in ipairs {false, true} do -- eps is one of the tensor's numbers
      local x = lucerna.tensor {0.1, 0.9}:half():requires_grad_()
      local g = lucerna.autograd.grad(x:logit(0.1):sum(), x, {create_graph = recorded})
      assert.same({11.1171875, 11.1015625}, g:detach():tolist())
    end
  end)

  it("of hardshrink and softshrink are 0 up to lambd as a number of the dtype", function()
    for _, name in ipairs {"hardshrink", "softshrink"} do
      for _, recorded in ipairs {false, true} do
        local x = lucerna.tensor {0.2, -0.2, 0.3}:to(lucerna.bfloat16):requires_grad_()
        local y = lucerna.nn.functional[name](x, 0.2)
        assert.same({0, 0, name == "hardshrink" and 0.30078125 or 0.1005859375}, y:tolist())
        local g = lucerna.autograd.grad(y:sum(), x, {create_graph = recorded})
        assert.same({0, 0, 1}, g:detach():tolist())
      end
    end
    local half = lucerna.tensor {0.3}:half()
    assert.equal(0.10009765625, lucerna.nn.functional.softshrink(half, 0.2):item())
  end)

  it("of lerp stay infinite where what comes is", function()
    for _, weight in ipairs {0.25, lucerna.tensor {0.25, 0.75}:to(lucerna.float64)} do
      local x, y = leaf {1, 2}, leaf {3, 5}
      lucerna.lerp(x, y, weight):backward(lucerna.full({2}, math.huge, {dtype = lucerna.float64}))
      assert.same({math.huge, math.huge}, x.grad:tolist())
      assert.same({math.huge, math.huge}, y.grad:tolist())
    end
  end)

  it("of lerp by truths go to the end that is taken", function()
    local x, y = leaf {1, 2}, leaf {3, 5}
    lucerna.lerp(x, y, lucerna.tensor {true, false}):sum():backward()
    assert.same({0, 1}, x.grad:tolist())
    assert.same({1, 0}, y.grad:tolist())
  end)

  it("of quantiles go to the NaN that the quantile is", function()
    local x = leaf {1, 0 / 0, 3, 2}
    x:quantile(0.25):backward()
    assert.same({0.0, 1, 0, 0}, x.grad:tolist())
    x.grad = nil
    x:nanquantile(0.25):backward()
    assert.same({0.5, 0, 0, 0.5}, x.grad:tolist())
  end)

  it("of complex powers of 0 are those of their exponents", function()
    local x = lucerna.complex(leaf {0, 1}, leaf {0, 2})
    assert.same({{1.0, 0}, {1.0, 0}}, lucerna.view_as_real(x ^ 0):tolist())
    for exponent, slope in pairs {[0] = {0, 0}, {1, 1}, {0, 2}} do
      local re, im = leaf {0, 1}, leaf {0, 0}
      lucerna.real(lucerna.complex(re, im) ^ exponent):sum():backward()
      parity.close(re.grad, doubles(slope), {}, exponent)
      assert.same({0.0, 0}, im.grad:tolist())
    end
  end)
end)

describe("grid_sample", function()
  local F = lucerna.nn.functional

  it("has derivatives of every order, in all modes", function()
    lucerna.manual_seed(3)
    local gradcheck, gradgradcheck = lucerna.autograd.gradcheck, lucerna.autograd.gradgradcheck
    local function double(t) return t:double():requires_grad_() end
    for _, mode in ipairs {"bilinear", "nearest", "bicubic"} do
      for _, padding in ipairs {"zeros", "border", "reflection"} do
        for _, align in ipairs {true, false} do
          local function of(x, grid) return F.grid_sample(x, grid, mode, padding, align) end
          for channels = 1, 5, 2 do
            local x = double(lucerna.randn(2, channels, 3, 4))
            local grid = double(lucerna.rand(2, 1, 2, 2) * 3 - 1.5)
            assert.is_true(gradcheck(of, {x, grid}))
            assert.is_true(gradgradcheck(of, {x, grid}))
          end
          if mode ~= "bicubic" then
            local x = double(lucerna.randn(1, 2, 2, 3, 3))
            local grid = double(lucerna.rand(1, 1, 1, 2, 3) * 3 - 1.5)
            assert.is_true(gradgradcheck(of, {x, grid}))
          end
        end
      end
      local x, grid = double(lucerna.randn(1, 1, 4, 4)), double(lucerna.rand(1, 1, 2, 2) - 0.5)
      assert.is_true(gradgradcheck(function(a, b)
        local y = F.grid_sample(a, b, mode)
        return lucerna.autograd.grad((y * y * y):sum(), {a, b}, {create_graph = true})
      end, {x, grid}))
      assert.is_true(gradgradcheck(function(b) return F.grid_sample(x:detach(), b, mode) end,
        {grid}))
      assert.is_true(gradgradcheck(function(a) return F.grid_sample(a, grid:detach(), mode) end,
        {x}))
    end
  end)
end)

describe("embedding", function()
  local F = lucerna.nn.functional

  it("divides by how often rows are looked up (scale_grad_by_freq) once, as PyTorch", function()
    local w = doubles {{1, 2}, {0.5, -1}, {3, 0.25}, {1.5, 2}}:requires_grad_()
    local at, options = lucerna.tensor {2, 3, 2, 2, 4}, {padding_idx = 4, scale_grad_by_freq = true}
    local y = F.embedding(at, w, options)
    local weights = doubles {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}
    local again = {create_graph = true}
    local first = autograd.grad((weights * y ^ 4):sum(), w, again)
    parity.close(first:detach(), doubles {{0, 0}, {13 / 6, -64 / 3}, {324, 0.25}, {0, 0}})
    local second = autograd.grad(first:square():sum(), w, again)
    parity.close(second:detach(), doubles {{0, 0}, {169 / 3, -8192 / 3}, {209952, 1.5}, {0, 0}})
    local third = autograd.grad(second:square():sum(), w)
    parity.close(third, doubles {{0, 0}, {139631.55555555553, -164043889.77777776},
      {146932807680, 90}, {0, 0}})
    local _, moved = lucerna.func.jvp(function(t) return F.embedding(at, t, options) end,
      {w:detach()}, {w:detach()})
    assert.same({0.5, 3, 0.5, 0.5, 0}, moved:select(2, 1):tolist())
  end)
end)

describe("det", function()
  -- By the first row, in operators whose derivatives are exact.
  local function expanded(a)
    local n = a:size(1)
    if n == 1 then return a[1][1] end
    local sum = 0
    for j = 1, n do
      local others = {}
      for k = 1, n do others[#others + 1] = k ~= j and k or nil end
      local minor = a[{{2, n}}]:index_select(2, lucerna.tensor(others))
      sum = sum + a[1][j] * expanded(minor) * (j % 2 == 0 and -1 or 1)
    end
    return sum
  end

  it("has second derivatives of matrices of any rank", function()
    lucerna.manual_seed(5)
    local function both(f, a, g, by)
      a, g = a:clone():requires_grad_(), g:clone():requires_grad_()
      local first = autograd.grad(f(a), a, {grad_outputs = g, create_graph = true})
      return first:detach(), autograd.grad(first, {a, g}, {grad_outputs = by})
    end
    local cases = {lucerna.zeros(2, 2):double(), lucerna.zeros(3, 3):double(),
      lucerna.eye(3):double(), doubles {{1, 2, 3}, {2, 4, 6}, {-1, -2, -3}},
      doubles {{1, 2, 0}, {0, 0, 0}, {0, 0, 3}}, doubles {{0, 1, 0}, {0, 0, 1}, {0, 0, 0}}}
    for rank = 0, 4 do
      local d = lucerna.tensor {1, 1, 1, 1}:double()
      for k = rank + 1, 4 do d[k] = 0 end
      cases[#cases + 1] = lucerna.diag(d):flip(1) * 2
    end
    for _, real in ipairs(cases) do
      for _, a in ipairs {real, lucerna.complex(real, real * 0) * lucerna.complex(doubles {1},
        doubles {2})} do
        local g, by = lucerna.randn({}, {dtype = a.dtype}), lucerna.randn_like(a)
        local have, want = table.pack(both(lucerna.linalg.det, a, g, by)),
          table.pack(both(expanded, a, g, by))
        for k = 1, 3 do parity.close(have[k], want[k], {atol = 1e-12, rtol = 1e-12}) end
      end
    end
    local all = lucerna.stack {cases[2], cases[3], cases[4]}
    local function sum(x) return lucerna.linalg.det(x):sum() end
    assert.is_true(lucerna.func.hessian(sum)(all):isfinite():all():item())
    local each = lucerna.func.vmap(lucerna.func.hessian(lucerna.linalg.det))(all)
    assert.same(lucerna.func.hessian(lucerna.linalg.det)(cases[2]):tolist(), each[1]:tolist())
  end)
end)
