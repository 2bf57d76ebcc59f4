-- Complex tensors: PyTorch's recorded answers, how they look in Lua, and what refuses them.
local lucerna = require "lucerna"
local files = require "files"
local cases = require "cases"
local parity = require "parity"

local c64, c128 = lucerna.complex64, lucerna.complex128

describe("like PyTorch:", function()
  for title, check in cases.each("complex") do it(title, check) end
end)

describe("parts side by side", function()
  it("are those there were, of any dtype, beside zeros or others", function()
    local names = {"float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8",
      "uint8", "bool"}
    for _, n in ipairs {0, 1, 3, 511, 512, 513, 1100} do
      for real, wide in pairs {float32 = c64, float64 = c128} do
        for _, name in ipairs(names) do
          local x = (lucerna.arange(n):remainder(111) - 50):to(lucerna[name])
          local apart = lucerna.stack({x, x}, 2)[{{}, 1}]
          for _, z in ipairs {x:to(wide), apart:to(wide)} do
            assert.is_true(z.real:equal(x:to(lucerna[real])), name)
            assert.equal(0, z.imag:count_nonzero():item())
          end
        end
        local x = lucerna.randn(n):to(lucerna[real])
        if n > 2 then x[2], x[3] = -0.0, 0 / 0 end
        local y = x:flip(1)
        for _, z in ipairs {lucerna.complex(x, y), lucerna.complex(x, y:flip(1):flip(1)),
          lucerna.complex(lucerna.stack({x, x}, 2)[{{}, 1}], y)} do
          assert.is_true(z.real:isnan():equal(x:isnan()) and z.imag:isnan():equal(y:isnan()))
          assert.is_true(z.real:nan_to_num(9):equal(x:nan_to_num(9)))
          assert.is_true(z.real:signbit():equal(x:signbit()))
          assert.is_true(z.imag:nan_to_num(9):equal(y:nan_to_num(9)))
        end
      end
    end
    local rows, columns = table.unpack(lucerna.complex(lucerna.tensor {{0, 0}, {1.5, 0}},
      lucerna.tensor {{0, 2.5}, {0, 0}}):nonzero({as_tuple = true}))
    assert.same({1, 2}, rows:tolist())
    assert.same({2, 1}, columns:tolist())
    local x, y = lucerna.ones(2, 3), lucerna.full({3}, 2.0)
    assert.same({{1, 1, 1}, {1, 1, 1}}, lucerna.complex(x, y).real:tolist())
    assert.same({{2, 2, 2}, {2, 2, 2}}, lucerna.complex(x, y).imag:tolist())
  end)
end)

describe("close complex numbers", function()
  it("are so in either precision, infinite and huge parts among them", function()
    local parts = lucerna.tensor {0, -0.0, 1, 1.5, -1, 1 / 0, -1 / 0, 0 / 0, 2e38, 1e-40}
    local n = parts:numel()
    local z = lucerna.complex(parts:unsqueeze(2):tile({1, n}), parts:tile({n, 1})):flatten()
    local a, b = z:unsqueeze(2):tile({1, n * n}), z:tile({n * n, 1})
    for _, equal_nan in ipairs {false, true} do
      for rtol, atol in pairs {[0.0] = 0.75, [0.3] = 0.0} do
        local have = a:isclose(b, rtol, atol, equal_nan)
        assert.is_true(have:equal(a:to(c128):isclose(b:to(c128), rtol, atol, equal_nan)))
        assert.is_true(have:any():item() and not have:all():item())
      end
    end
  end)
end)

-- The calls that the operator sweep makes with complex numbers, differentiated.
local UNCHECKED = {
  ["linalg.eig"] = "what is left of phases has no gradient",
  ["linalg.svd"] = "the same", svd = "the same", [".svd"] = "the same",
  ["linalg.eigh"] = "reads one triangle", ["linalg.eigvalsh"] = "the same",
  ["linalg.cholesky"] = "the same", ["linalg.cholesky_ex"] = "the same", cholesky = "the same",
  [".cholesky"] = "the same", ["linalg.pinv"] = "leaves singular values out",
  ["linalg.cond"] = "of a singular matrix", ["linalg.qr"] = "Q may be missing, or too wide",
  qr = "the same", ["linalg.ldl_factor"] = "has none", ["linalg.ldl_factor_ex"] = "has none",
  ["linalg.ldl_solve"] = "has none",
  ["F.embedding"] = "padding has none, max_norm writes",
  [".type"] = "to less precision", [".type_as"] = "the same", [".to"] = "the same",
  [".float"] = "the same", [".half"] = "the same", [".bfloat16"] = "the same",
}

-- A leaf off the branch cuts.
local function leaf(t)
  t = t:double()
  local z = lucerna.complex(t + 0.03125, t:flatten():flip(1):view_as(t) / 2 + 0.0625)
  return z:detach():requires_grad_()
end

local function differentiable(f, args, n)
  local out, list = table.pack(f(table.unpack(args, 1, n))), {}
  if type(out[1]) == "table" then out = table.pack(table.unpack(out[1])) end
  for i = 1, out.n do
    if lucerna.is_tensor(out[i]) and out[i].requires_grad then list[#list + 1] = out[i] end
  end
  return table.unpack(list)
end

describe("finite differences agree: #slow", function()
  for i, case in ipairs(parity.load("sweep")) do
    local answers = case.complex64 and case.complex64 ~= "raises" and case.of:find("float")
    if answers and not UNCHECKED[case.fn] and case.fn:sub(-1) ~= "_" then
      it(("%s (%d)"):format(case.fn, i), function()
        local args, n = cases.leaves(case, {})
        local leaves = {}
        local function change(v)
          if not lucerna.is_tensor(v) then
            for key, item in pairs(type(v) == "table" and v or {}) do v[key] = change(item) end
            return v
          end
          if tostring(v.dtype) ~= case.of then return v end
          leaves[#leaves + 1] = leaf(v)
          return leaves[#leaves]
        end
        args = change(args)
        local f = cases.find(case, args)
        local ok, first = pcall(differentiable, f, args, n)
        if not ok then return assert.matches("^[^\n]+$", first) end
        if not first then return end
        parity.gradcheck(function() return differentiable(f, args, n) end, leaves)
      end)
    end
  end
end)

describe("a layer of complex parameters", function()
  local nn = lucerna.nn

  it("is differentiated by all of them, and once more", function()
    local F = nn.functional
    for _, case in ipairs {
      {nn.Conv2d(2, 4, 2, {stride = 2, padding = 1, groups = 2, dtype = c128}), {1, 2, 3, 3}},
      {nn.ConvTranspose2d(2, 4, 2, {stride = 2, groups = 2, dtype = c128}), {1, 2, 2, 2}},
      {nn.Linear(3, 2, {dtype = c128}), {2, 3}}, {nn.SiLU(), {3}}, {nn.Softsign(), {3}},
      {nn.Tanhshrink(), {3}},
    } do
      local module, leaves = case[1], {lucerna.randn(case[2], {dtype = c128}):requires_grad_()}
      for _, p in ipairs {module.weight, module.bias} do leaves[#leaves + 1] = p end
      parity.gradcheck(function() return module(leaves[1]) end, leaves)
      parity.gradcheck(function()
        local y = module(leaves[1])
        return lucerna.autograd.grad((y * y:conj() * y).real:sum(), leaves, {create_graph = true})
      end, leaves)
    end
    local table_ = nn.Embedding(9, 2, {dtype = c128})
    for _, at in ipairs {lucerna.tensor {2, 3, 2}, lucerna.tensor {1}} do
      parity.gradcheck(function() return table_(at) end, {table_.weight})
    end
    local x = lucerna.randn({1, 2, 3, 3}, {dtype = c128}):requires_grad_()
    parity.gradcheck(function(a) return F.unfold(a, 2), F.fold(F.unfold(a, 2), {3, 3}, 2) end, {x})
  end)
end)

describe("logarithms and powers near their ends", function()
  local huge, nan = math.huge, 0 / 0

  local function number(re, im)
    return lucerna.complex(lucerna.tensor({re}, {dtype = "float64"}),
      lucerna.tensor({im}, {dtype = "float64"}))
  end
  local function parts(z) return z.real:item(), z.imag:item() end
  local function same(a, b) return a == b or math.abs(a - b) < 1e-12 or a ~= a and b ~= b end

  it("have two derivatives", function()
    lucerna.manual_seed(4)
    local function z(...) return lucerna.randn({...}, {dtype = c128}):requires_grad_() end
    local function twice(f, ...)
      local leaves = {...}
      assert.is_true(lucerna.autograd.gradcheck(f, leaves))
      assert.is_true(lucerna.autograd.gradgradcheck(f, leaves))
    end
    for _, name in ipairs {"exp2", "expm1", "log1p", "nan_to_num"} do twice(lucerna[name], z(3)) end
    twice(lucerna.logaddexp, z(2, 3), z(3))
    twice(lucerna.logaddexp, z(3), lucerna.randn({3}, {dtype = "float64"}):requires_grad_())
    twice(function(x) return x:logsumexp({1, 2}, true) end, z(2, 2))
    twice(function(x) return x:logcumsumexp(1) end, z(4, 2))
    twice(function(x) return x:logcumsumexp(2) end, z(2, 4))
  end)
  it("keep the digits that a sum with 1 loses", function()
    local re, im = parts(lucerna.log1p(number(1e-20, 1e-12)))
    assert.near(1e-20 + 5e-25, re, 1e-35)
    assert.near(1e-12, im, 1e-27)
    re = parts(lucerna.log1p(number(-0.5e-16, 1e-8))) -- |1 + z| is 1 but for (0.5e-16)^2
    assert.near(0, re, 1e-31)
    re, im = parts(lucerna.expm1(number(1e-20, 1e-12)))
    assert.near(1e-20 - 5e-25, re, 1e-35)
    assert.near(1e-12, im, 1e-27)
    re, im = parts(lucerna.log1p(number(1e300, -1e300)))
    assert.near(math.log(1e300) + math.log(2) / 2, re, 1e-12)
    assert.near(-math.pi / 4, im, 1e-15)
  end)
  it("go through infinities as PyTorch's", function()
    local add = lucerna.logaddexp
    for _, case in ipairs {
      {lucerna.exp2(number(-huge, nan)), 0, 0}, {lucerna.exp2(number(huge, 0)), huge, 0},
      {lucerna.expm1(number(-huge, 1)), -1, 0}, {lucerna.expm1(number(huge, 1)), huge, huge},
      {lucerna.log1p(number(-huge, 1)), huge, math.pi}, {lucerna.log1p(number(-1, 0)), -huge, 0},
      {add(number(-huge, 3), number(1, 1)), 1, 1}, {add(number(1, 1), number(-huge, huge)), 1, 1},
      {add(number(-huge, 3), number(-huge, 1)), -huge, 1},
      {add(number(huge, 2), number(0, 1)), huge, 2},
      {add(number(huge, 0), number(huge, 0)), huge, 0},
      {add(number(huge, 1), number(nan, 0)), nan, nan},
      {add(number(800, 1), number(800, 1)), 800 + math.log(2), 1},
      {number(-huge, 3):logcumsumexp(1), -huge, 0}, {number(-huge, 3):logsumexp(1), -huge, 0},
      {lucerna.cat {number(-huge, 3), number(1000, 1)}:logsumexp(1), 1000, 1},
    } do
      local re, im = parts(case[1])
      assert.is_true(same(re, case[2]) and same(im, case[3]))
    end
  end)
  it("have gradients far from 0", function()
    local a, b = number(0, 0):requires_grad_(), number(800, 1):requires_grad_()
    lucerna.logaddexp(a, b).real:backward()
    assert.same({0.0, 0.0, 1.0, 0.0}, lucerna.view_as_real(lucerna.cat {a.grad, b.grad}):flatten()
      :tolist())
    local z = lucerna.cat {number(-huge, 0), number(1, 1)}:requires_grad_()
    z:logcumsumexp(1)[2].real:backward()
    assert.same({0.0, 0.0, 1.0, 0.0}, lucerna.view_as_real(z.grad):flatten():tolist())
  end)
end)

describe("kernels in vectors", function()
  local ONE = { abs = true, angle = true, exp = true, neg = true, reciprocal = true, rsqrt = true,
    sigmoid = true, sqrt = true, square = true, sgn = true }
  local TWO = { add = true, div = true, mul = true, sub = true }

  -- Parts from nothing to the largest floats, all with all.
  local function extremes()
    local parts = {}
    for _, size in ipairs { 0.0, 1e-40, 1e-30, 1e-10, 0.5, 1, 3, 80, 1e4, 1e10, 1e30, 3e38 } do
      parts[#parts + 1], parts[#parts + 2] = size, -size
    end
    local x = lucerna.tensor(parts)
    local grid = lucerna.meshgrid({ x, x }, { indexing = "ij" })
    return lucerna.complex(grid[1]:flatten(), grid[2]:flatten())
  end

  it("give runs of any length, steps and single numbers the same", function()
    lucerna.manual_seed(1)
    for _, dtype in ipairs { c64, c128 } do
      for _, n in ipairs { 0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 33, 100 } do
        local a = lucerna.randn({ n, 2 }, { dtype = dtype })
        local b = lucerna.randn({ n, 2 }, { dtype = dtype })
        for name in pairs(ONE) do
          local f = lucerna[name]
          local whole = f(a:flatten())
          assert.is_true(whole:view(n, 2):select(2, 1):equal(f(a:select(2, 1))), name .. n)
          for k = 1, n do assert.is_true(whole[2 * k]:equal(f(a[k][2])), name .. n) end
        end
        for name in pairs(TWO) do
          local f = lucerna[name]
          local whole = f(a, b)
          assert.is_true(whole:select(2, 1):equal(f(a:select(2, 1), b:select(2, 1))), name .. n)
          for k = 1, n do
            assert.is_true(whole[k][2]:equal(f(a[k][2], b[k][2])), name .. n)
            assert.is_true(f(a, b[k][1])[1][2]:equal(f(a[1][2], b[k][1])), name .. n)
          end
        end
      end
    end
  end)
  it("give rows that repeat, and those with gaps, as many at a time", function()
    lucerna.manual_seed(2)
    for _, dtype in ipairs { c64, c128 } do
      for _, n in ipairs { 1, 3, 10, 255, 300, 600 } do
        local base = lucerna.randn({ 70, 2, n, 2 }, { dtype = dtype })
        local a = base:select(2, 1):select(3, 1)
        local row, column = base[1][2]:select(2, 2), a:narrow(2, n, 1)
        for name in pairs(TWO) do
          local f, dense = lucerna[name], a:contiguous()
          for _, b in ipairs { row, column, a, a:flip(1), row:contiguous() } do
            local want = f(dense, b:expand_as(a):contiguous())
            assert.is_true(want:equal(f(a, b)), name .. n)
            assert.is_true(want:equal(f(dense, b)), name .. n)
            local out = base:clone():select(2, 1):select(3, 2)
            out:copy_(a)
            assert.is_true(want:equal(out[name .. "_"](out, b)), name .. n)
          end
        end
        assert.is_true(a:contiguous():abs():equal(a:abs()))
        assert.is_true(a:contiguous():eq(row):equal(a:eq(row:contiguous())))
      end
    end
  end)
  it("are compared into places with gaps", function()
    for _, dtype in ipairs { c64, c128 } do
      local x = lucerna.arange(1.0, 12289):to(dtype):as_strided({ 3, 2048 }, { 4096, 2 })
      local y = x:clone()
      y[2] = -1
      local places = lucerna.zeros(3, 4096, 2):bool()
      local out = places:narrow(2, 1, 2048):select(3, 1)
      lucerna.eq(x, y, { out = out })
      assert.same({ 2048, 0, 2048 }, out:sum(2):tolist())
      assert.equal(4096, places:sum():item())
    end
  end)
  it("keep the digits of numbers of any size", function()
    local z = extremes()
    local function check(name, near, far)
      near, far = near:to(far.dtype), far:to(near.dtype):to(far.dtype)
      local fine = far:isfinite():logical_and(far:abs():gt(1e-37):logical_or(far:eq(0)))
      local off = (near - far):abs() - far:abs() * 1e-6
      assert.is_true(off:masked_select(fine):le(0):all():item(), name)
    end
    local size = z:abs() -- whose digits sgn needs
    local middle = z:masked_select(size:gt(1e-30):logical_and(size:lt(1e38)))
    for name in pairs(ONE) do
      local x = name == "sgn" and middle or z
      check(name, lucerna[name](x), lucerna[name](x:to(c128)))
    end
    middle = z:masked_select(size:gt(1e-15):logical_and(size:lt(1e15)))
    local other = middle:roll(101)
    check("div", middle / other, middle:to(c128) / other:to(c128))
  end)
  it("have sigmoids of numbers far left of 0", function()
    local far = lucerna.complex(lucerna.tensor {-800.0, -150, 800}, lucerna.tensor {1.0, 1, 1})
    for _, dtype in ipairs {c64, c128} do
      local y = far:to(dtype):sigmoid()
      parity.close(y.real, lucerna.tensor({0, 0, 1}, {dtype = y.real.dtype}))
      parity.close(y.imag, lucerna.tensor({0, 0, 0}, {dtype = y.real.dtype}))
    end
  end)
  it("have logarithms whose parts keep their digits near 1", function()
    local turn = lucerna.linspace(-3.1, 3.1, 700)
    for _, off in ipairs {0, 1e-7, -1e-6, 1e-4, 0.1, -0.4, 3} do
      local x, y = turn:cos() * (1 + off), turn:sin() * (1 + off)
      local a, b = x:double(), y:double() -- squares are exact in these, or to 2e-16
      local want = ((a - 1) * (a + 1) + b * b):log1p() / 2
      local angle = lucerna.atan2(b, a)
      for name, unit in pairs {log = 1, log2 = math.log(2), log10 = math.log(10)} do
        local z = lucerna.complex(x, y)[name](lucerna.complex(x, y))
        local far = (z.real:double() - want / unit):abs() - want:abs() / unit * 2.5e-7 - 2e-16
        local turned = (z.imag:double() - angle / unit):abs() - angle:abs() / unit * 2.5e-7
        assert.is_true(far:le(0):all():item(), name .. off)
        assert.is_true(turned:le(0):all():item(), name .. off)
        local wide = lucerna.complex(a, b)[name](lucerna.complex(a, b))
        far = (wide.real - want / unit):abs() - want:abs() * 1e-14 - 2e-16
        assert.is_true(far:le(0):all():item(), name)
      end
    end
  end)
  it("have the C library's logarithms of zeros, infinities and NaN", function() -- C11, G.6.3.2
    local inf, nan, pi = math.huge, 0 / 0, math.pi
    local numbers = {{0.0, 0.0, -inf, 0}, {-0.0, 0.0, -inf, pi}, {-0.0, -0.0, -inf, -pi},
      {1, inf, inf, pi / 2}, {1, nan, nan, nan}, {-inf, 1, inf, pi}, {inf, 1, inf, 0},
      {-inf, inf, inf, 3 * pi / 4}, {inf, -inf, inf, -pi / 4}, {inf, nan, inf, nan},
      {nan, inf, inf, nan}, {nan, 1, nan, nan}, {-1, 0.0, 0, pi}, {-1, -0.0, 0, -pi}, {1, 0, 0, 0}}
    for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
      for _, case in ipairs(numbers) do
        local function whole(x) return lucerna.full({ 19 }, x):to(dtype) end
        local z = lucerna.complex(whole(case[1]), whole(case[2])):log()
        for i, part in ipairs {z.real, z.imag} do
          local want = whole(case[2 + i])
          assert.is_true(part:contiguous():allclose(want, 1e-6, 0, true), case[1] .. " " .. case[2])
        end
      end
    end
  end)
  it("make a number times its conjugate real", function()
    local z = lucerna.randn({ 1000 }, { dtype = c64 })
    assert.equal(0, (z * z:conj()).imag:abs():max():item())
  end)
end)

describe("a complex number", function()
  it("is two numbers from item, a pair in tables", function()
    local z = lucerna.tensor({{1, 2}, {3, -4}}, {dtype = c64})
    assert.same({2}, z.shape)
    assert.same({3.0, -4.0}, {z[2]:item()})
    assert.same({{1.0, 2.0}, {3.0, -4.0}}, z:tolist())
    assert.same({0.5, 1.0}, lucerna.tensor({0.5, 1}, {dtype = c128}):tolist())
    assert.equal(c128, z:new_tensor({z[1], z[2]}, {dtype = c128}).dtype)
  end)
  it("can be made of tensors without dimensions", function()
    local i = lucerna.complex(0, 1)
    assert.equal(c64, i.dtype)
    local z = lucerna.tensor {i, 2.5, i:conj()}
    assert.equal(c64, z.dtype)
    assert.same({{0.0, 1.0}, {2.5, 0.0}, {0.0, -1.0}}, z:tolist())
  end)
  it("is refused in words where it is malformed", function()
    for _, bad in ipairs {{1, 2, 3}, {{1, 2}, {3}}, {{1, 2}, 3}, {{1, "x"}, {1, 2}}} do
      assert.is_false(pcall(lucerna.tensor, bad, {dtype = c64}))
    end
    parity.refused("cannot be converted to float32",
      lucerna.tensor, {lucerna.complex(1, 2)}, {dtype = lucerna.float32})
  end)
end)

describe("the parts", function()
  it("are views that can be assigned", function()
    local z = lucerna.zeros(2, {dtype = c128})
    z.real = lucerna.tensor {1.0, 2.0}
    z.imag = 3
    lucerna.view_as_real(z)[{1, 2}] = -1
    assert.same({{1.0, -1.0}, {2.0, 3.0}}, z:tolist())
    parity.refused("imag is not implemented", lucerna.imag, lucerna.ones(1))
  end)
  it("carry writes to what they are views of into the graph", function()
    local x = parity.leaf({3})
    parity.gradcheck(function(a)
      local z = lucerna.complex(a, a)
      z.imag:copy_(a[{{1, 1}}]:expand(3))
      return z
    end, {x})
    local y = lucerna.randn({3, 2}, {dtype = lucerna.float64}):requires_grad_()
    parity.gradcheck(function(a)
      local b = a:clone()
      lucerna.view_as_complex(b)[2] = lucerna.view_as_complex(a)[1]:conj()
      return b
    end, {y})
  end)
  it("are seen whatever the stride of a dimension of 1", function()
    local x = lucerna.arange(1.0, 5):as_strided({1, 2, 2}, {1, 2, 1})
    assert.same({{{1.0, 2.0}, {3.0, 4.0}}},
      lucerna.view_as_real(lucerna.view_as_complex(x)):tolist())
  end)
  it("have their own shapes", function()
    local z = lucerna.zeros(2, 3, {dtype = c64})
    assert.same({3, 2}, z.H.shape)
    assert.same({3, 2}, z.mH.shape)
    assert.same({2, 3, 2}, lucerna.view_as_real(z).shape)
    assert.is_false(z:is_conj())
    parity.refused("only supported on matrices", function() return z[1].H end)
  end)
end)

describe("a gradient", function()
  it("of a view is shared by elements that are one", function()
    local z = lucerna.ones(1, 2, { dtype = c128 }):expand(2, 2):detach():requires_grad_()
    z:as_strided({ 2 }, { 0 }):abs():sum():backward()
    assert.same({ 2, 2 }, z.grad.shape)
    assert.same({ { 1, 0 }, { 1, 0 } }, lucerna.real(z.grad):tolist())
  end)

  it("is not made up for complex outputs", function()
    local z = lucerna.complex(1, 2):requires_grad_()
    local message = parity.message(z.backward, z:conj())
    assert.matches("only for real scalar outputs but got complex64", message, 1, true)
    message = parity.message(z.backward, z:conj(), lucerna.tensor(1.0))
    assert.matches("both must be complex, or neither", message, 1, true)
  end)

  it("of an exponent takes any number as the base", function() -- recorded from PyTorch
    local x = lucerna.tensor({{-.001, 0}, {0, 0}}, {dtype = lucerna.complex64}):requires_grad_()
    lucerna.float_power(1e300, x):abs():sum():backward()
    assert.is_true(lucerna.allclose(x.grad.real, lucerna.tensor {346.2079, 690.7755}))
    x.grad = nil
    lucerna.pow(1e300, x).real:sum():backward() -- no 1e300 in complex64
    assert.equal(0, x.grad[1].real:item())
    assert.is_true(x.grad[2].real:isnan():item())
  end)
end)

describe("a power", function()
  it("of one is its base, and the slope of a square exact", function()
    local z = lucerna.complex(lucerna.tensor {0, 0, -1, 3.0, 1e30},
      lucerna.tensor {0, 1, 0, 4.0, 0})
    assert.is_true(z:pow(1):equal(z))
    assert.is_not.equal(z, z:pow(1.0))
    local x = z:clone():requires_grad_()
    local y = x ^ 2
    y.real:sum():backward()
    assert.is_true(x.grad:equal(2 * z:conj()))
  end)

  it("by 3 or -2 is made of products", function() -- recorded from PyTorch
    local z = lucerna.complex(lucerna.tensor {1, -.5, 1 / 0}, lucerna.tensor {2.0, 3, 0})
    local cube, inverse = z ^ 3, z:pow(-2)
    assert.same({{-11, -2}, {13.375, -24.75}}, cube:narrow(1, 1, 2):tolist())
    assert.is_true(cube[3]:isnan():item() and inverse[3]:isnan():item())
    assert.is_true((lucerna.zeros(1, {dtype = c64}) ^ -2):isnan():item())
    assert.is_true(lucerna.allclose(inverse[1], lucerna.complex(-.12, -.16)))
  end)
end)

describe("a file", function()
  it("of PyTorch's has complex tensors", function()
    local o = lucerna.load(parity.path "checkpoint_complex.pt")
    local rows = {{{1, 2}, {3, -4}, {5, 0}}, {{0, 0}, {0, 1}, {0, -1}}}
    assert.same(rows, o.z:tolist())
    assert.equal(c64, o.z.dtype)
    assert.same({1, 3}, o.transposed:stride())
    assert.is_true(o.transposed.T:equal(o.z))
    assert.is_true(o.conjugate:equal(o.z:conj()))
    assert.equal(c128, o.parameter.dtype)
    assert.is_true(o.parameter.requires_grad)
  end)
  it("of ours brings them back", function()
    local path = files.temporary()
    local z = lucerna.randn({2, 3}, {dtype = c64})
    lucerna.save({z = z, w = z:to(c128)}, path)
    local o = lucerna.load(path)
    assert.is_true(o.z:equal(z) and o.w:equal(z:to(c128)) and o.w.dtype == c128)
    lucerna.safetensors.save_file({z = z, x = z.real:clone()}, path)
    local f = lucerna.safetensors.load_file(path)
    assert.is_true(f.z:equal(z) and f.x:equal(z.real))
    parity.refused("is complex128, which the format does not have",
      lucerna.safetensors.save_file, {w = z:to(c128)}, path)
  end)
end)

describe("a parameter", function()
  it("is updated as its parts are", function()
    for _, kind in ipairs {"SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "RMSprop", "Adamax",
      "NAdam", "RAdam", "Rprop", "ASGD"} do
      local z = lucerna.randn({3}, {dtype = c128})
      local x = lucerna.view_as_real(z):clone():requires_grad_()
      z:requires_grad_()
      local options = {lr = 0.1, weight_decay = kind ~= "Rprop" and 0.1 or nil}
      local o, p = lucerna.optim[kind]({z}, options), lucerna.optim[kind]({x}, options)
      for step = 1, 3 do
        z.grad = lucerna.randn({3}, {dtype = c128}) * step
        x.grad = lucerna.view_as_real(z.grad):clone()
        o:step()
        p:step()
      end
      parity.close(lucerna.view_as_real(z:detach()), x:detach(), nil, kind)
    end
  end)
  it("makes a module complex", function()
    local layer = lucerna.nn.Linear(3, 2):to(c64)
    assert.equal(c64, layer.weight.dtype)
    local z = lucerna.randn({4, 3}, {dtype = c64})
    parity.close(layer(z), z:matmul(layer.weight.T) + layer.bias)
    layer:double()
    assert.equal(c64, layer.weight.dtype)
    assert.equal(c128, layer:to(c128).weight.dtype)
  end)
end)

describe("dtypes", function()
  it("promote over the categories", function()
    local f = lucerna.promote_types
    assert.equal(c64, f(c64, lucerna.float32))
    assert.equal(c64, f(lucerna.int64, c64))
    assert.equal(c128, f(c64, lucerna.float64))
    assert.equal(c128, f(c128, c64))
    local one = lucerna.complex(1, 0)
    assert.equal(c128, lucerna.result_type(lucerna.ones(2):double(), one))
    assert.equal(c64, lucerna.result_type(lucerna.ones(2), one:to(c128)))
    assert.is_true(lucerna.can_cast(lucerna.float64, c64))
    assert.is_false(lucerna.can_cast(c64, lucerna.float64))
    assert.is_true(c64.is_complex)
    assert.equal(16, c128.itemsize)
    assert.equal("float32", lucerna.finfo(c64).dtype)
    assert.equal("float64", lucerna.finfo(c128).dtype)
    assert.equal(lucerna.cfloat, c64)
    assert.equal(lucerna.cdouble, c128)
  end)
end)

describe("a product of complex matrices", function()
  -- By its parts, in float64.
  local function parts(a, b)
    local w = lucerna.complex128
    a, b = a:to(w), b:to(w)
    return lucerna.complex(a.real:matmul(b.real) - a.imag:matmul(b.imag),
      a.real:matmul(b.imag) + a.imag:matmul(b.real))
  end

  local function numbers(sizes) return lucerna.randn(sizes, {dtype = lucerna.complex64}) end
  local WAYS = {
    function(m, k) return numbers {m, k} end,
    function(m, k) return numbers {k, m}:t() end,
    function(m, k) return numbers {2 * m, k + 1}[{{1, -1, 2}, {2, -1}}] end,
    function(m, k) return numbers {m, k, 2}:select(3, 2) end,
    function(m, k) return numbers {m, 1}:expand(m, k) end,
  }

  it("is that of their parts, however they lie", function()
    lucerna.manual_seed(4)
    for _, size in ipairs {{1, 1, 1}, {2, 3, 4}, {40, 17, 3}, {5, 70, 33}, {1, 9, 9}, {50, 9, 1}} do
      local m, k, n = table.unpack(size)
      for i, left in ipairs(WAYS) do
        for j, right in ipairs(WAYS) do
          local a, b = left(m, k), right(k, n)
          local near = {rtol = 1e-5, atol = 1e-4}
          local c = parts(a, b)
          parity.close(c, a:mm(b):to(lucerna.complex128), near, i .. ", " .. j)
          parity.close(c[1], a[1]:matmul(b):to(lucerna.complex128), near)
          parity.close(c:select(2, 1), a:mv(b:select(2, 1)):to(lucerna.complex128), near)
          parity.close(c[1][1], a[1]:dot(b:select(2, 1)):to(lucerna.complex128), near)
          parity.close(c:expand(2, 3, m, n),
            a:expand(2, 1, m, k):matmul(b:expand(3, k, n)):to(lucerna.complex128), near)
          parity.close(c * 2 + 0.5,
            lucerna.addmm(lucerna.ones(n, {dtype = a.dtype}), a, b, {beta = 0.5, alpha = 2})
              :to(lucerna.complex128), near)
        end
      end
    end
  end)

  it("of nothing is zero, or nothing", function()
    local function z(...) return lucerna.ones({...}, {dtype = lucerna.complex64}) end
    assert.same({{0, 0}, {0, 0}}, z(2, 0):mm(z(0, 2)).real:tolist())
    assert.same({0, 0, 0}, z(0):matmul(z(0, 3)).imag:tolist())
    assert.equal(0, z(0):dot(z(0)).real:item())
    assert.equal(0, z(0, 3):mm(z(3, 2)):numel())
    assert.equal(0, z(4, 0, 3):bmm(z(4, 3, 2)):numel())
    assert.has_error(function() z(2, 3):mm(z(2, 3)) end,
      "mm: input has 3 columns, other has 2 rows (input [2, 3], other [2, 3])")
  end)

  it("sums and multiplies long rows, also of as many dimensions as there are", function()
    local x = lucerna.polar(lucerna.ones(700), lucerna.linspace(0, 0.01, 700))
    local angle = lucerna.linspace(0, 0.01, 700):sum():item()
    assert.near(math.cos(angle), x:prod().real:item(), 1e-4)
    assert.near(math.sin(angle), x:prod().imag:item(), 1e-4)
    for _, dtype in ipairs { lucerna.complex64, lucerna.complex128 } do
      for _, n in ipairs { 0, 1, 7, 8, 15, 16, 17, 31, 65, 100, 127, 128, 129, 191, 257, 1000 } do
        local steps = lucerna.arange(1, n + 1):double() / (n + 1)
        local rows = lucerna.stack { steps, -steps, steps * 0.5 }
        local z = lucerna.polar(lucerna.ones(3, n):double(), rows):to(dtype)
        local y, columns = z:prod(2), z:transpose(1, 2):tile({2, 1, 100}):prod(2)
        local near = { atol = 2e-5, rtol = 1e-5 }
        parity.close(y.real, rows:sum(2):cos():to(y.real.dtype), near)
        parity.close(y.imag, rows:sum(2):sin():to(y.real.dtype), near)
        assert.is_true(columns:isclose(y:tile({2, 100}), 0, 4e-5):all():item())
        local total, many = z:sum(2), z:tile({301, 1}):sum(2)
        parity.close(total.real, z.real:contiguous():sum(2), near)
        parity.close(total.imag, z.imag:contiguous():sum(2), near)
        assert.is_true(many:isclose(total:tile({301}), 0, 2e-5):all():item())
      end
    end
    local deep = lucerna.arange(1, 257):to(lucerna.complex64):reshape(2, 2, 2, 2, 2, 2, 2, 2) * 1
    assert.equal(256 * 257 / 2, deep:sum().real:item())
    local flat = deep:reshape(256)
    assert.same(deep:sum(3, {keepdim = true}).real:flatten():tolist(),
      flat:reshape(4, 2, 32):sum(2).real:flatten():tolist())
    local conj = deep:transpose(1, 8):conj()
    assert.same(deep:transpose(1, 8).real:tolist(), conj.real:tolist())
  end)
end)
