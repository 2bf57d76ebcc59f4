-- Functions of tensors that are written in Lua: recorded answers of PyTorch (tests/parity/
-- gen_composites.py), and what those cannot say.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"

describe("like PyTorch:", function()
  for title, check in cases.each("composites") do it(title, check) end
end)

describe("einsum with lists of labels", function()
  local a, b = lucerna.ones(2, 3), lucerna.ones(3, 4)

  it("counts them from 1", function()
    parity.refused("einsum: label 0 is out of range [1, 52] (labels count from 1)",
      lucerna.einsum, a, {0, 1})
    parity.refused("einsum: label 1.5 is out of range", lucerna.einsum, a, {1, 1.5})
    parity.refused("einsum: argument 2 must be a table of labels (got Tensor)", lucerna.einsum, a,
      b)
    parity.refused("einsum: expected the labels of argument 1", lucerna.einsum, a)
  end)

  it("still takes equations, also by name", function()
    assert.same({2, 4}, lucerna.einsum("ij,jk->ik", a, b).shape)
    assert.same({3, 2}, lucerna.einsum{equation = "ij->ji", operands = {a}}.shape)
    parity.refused("einsum: equation must be a string (got table)", lucerna.einsum, {1, 2}, a)
  end)
end)

describe("einsum without a sum", function()
  it("of one operand is a view", function()
    local x = lucerna.rand(3, 3, {requires_grad = true})
    for _, equation in ipairs {"ab", "ab->ba", "aa->a", "...->..."} do
      assert.equal(x:data_ptr(), lucerna.einsum(equation, x):data_ptr())
    end
    local w = lucerna.rand(3, 3)
    local y = lucerna.einsum("ab->ba", x) * w
    y:sum():backward()
    assert.is_true(x.grad:equal(w:t()))
    local base = lucerna.zeros(2, 2)
    lucerna.einsum("aa->a", base):fill_(1)
    assert.is_true(base:equal(lucerna.eye(2)))
  end)

  it("multiplies any two dtypes, as PyTorch", function()
    local ids, b = lucerna.arange(2), lucerna.tensor {3.0, 4, 5}
    assert.same({{0.0, 0.0, 0.0}, {3.0, 4.0, 5.0}}, lucerna.einsum("i,j->ij", ids, b):tolist())
    local one = lucerna.einsum("bix,iox->box", lucerna.ones(2, 1, 3):double() * 2,
      lucerna.ones(1, 4, 3))
    assert.equal(lucerna.float64, one.dtype)
    assert.same({2, 4, 3}, one.shape)
    local t = lucerna.tensor {true, false}
    assert.same({{true, false}, {false, false}}, lucerna.einsum("i,j->ij", t, t):tolist())
    parity.refused("einsum: input is float64, other is float32 (they must have one dtype)",
      lucerna.einsum, "i,i->", lucerna.ones(2):double(), lucerna.ones(2))
  end)

  it("has the gradients of a product", function()
    local x = lucerna.tensor({{1.0, 2}, {3, 4}}, {dtype = lucerna.float64, requires_grad = true})
    local y = lucerna.tensor({5.0, 6}, {requires_grad = true})
    lucerna.einsum("ij,j->ji", x, y):sum():backward()
    assert.same({{5.0, 6.0}, {5.0, 6.0}}, x.grad:tolist())
    assert.same({4.0, 6.0}, y.grad:tolist())
    assert.equal(lucerna.float32, y.grad.dtype)
  end)
end)

describe("svd_lowrank", function()
  it("gives back a matrix of that rank", function()
    for _, dtype in ipairs{lucerna.float64, lucerna.complex128} do
      local options = {dtype = dtype}
      local a = lucerna.randn(9, 2, options):matmul(lucerna.randn(2, 6, options))
      for _, x in ipairs{a, a.mT, a[{{1, 6}}]} do
        local u, s, v = lucerna.svd_lowrank(x, 2)
        parity.close((u * s):matmul(v.mH), x)
        parity.close(s, lucerna.linalg.svdvals(x)[{{1, 2}}])
      end
    end
  end)

  it("has the gradients of the singular values", function()
    local a = lucerna.randn(5, 4, {dtype = lucerna.float64}):requires_grad_()
    local _, s = lucerna.svd_lowrank(a, 4)
    local got = lucerna.autograd.grad(s:sum(), a)
    parity.close(got, lucerna.autograd.grad(lucerna.linalg.svdvals(a):sum(), a), {atol = 1e-8})
  end)

  it("takes a mean that broadcasts", function()
    local a, mean = lucerna.randn(6, 4), lucerna.randn(1, 4)
    local _, s = lucerna.svd_lowrank(a, 4, {M = mean})
    parity.close(s, lucerna.linalg.svdvals(a - mean), {rtol = 1e-4})
    parity.refused("svd_lowrank: M must broadcast to the shape of A (A [6, 4], M [3, 1])",
      lucerna.svd_lowrank, a, {M = lucerna.ones(3, 1)})
  end)

  it("refuses more values than there are", function()
    parity.refused("svd_lowrank: q must be an integer of at least 0 and at most min(m, n) = 4 "
      .. "(got 6)", lucerna.svd_lowrank, lucerna.ones(5, 4))
    parity.refused("pca_lowrank: center must be a boolean (got number)", lucerna.pca_lowrank,
      lucerna.ones(5, 4), 2, 3)
  end)
end)

describe("histogramdd", function()
  it("counts every point within the range once", function()
    local x = lucerna.rand(1000, 2)
    local hist, edges = lucerna.histogramdd(x, {7, 3}, {range = {0, 1, 0, 1}})
    assert.equal(1000, hist:sum():item())
    assert.same({8, 4}, {#edges[1], #edges[2]})
    local one, e = lucerna.histogramdd(x[{{}, {1, 1}}], 5)
    local flat, f = lucerna.histogram(x:select(2, 1), 5)
    parity.close(one, flat)
    parity.close(e[1], f)
  end)

  it("leaves out what is not a number", function()
    local x = lucerna.tensor{{0 / 0, 1}, {0, 1}}
    local hist = lucerna.histogramdd(x, 2, {range = {0, 1, 0, 1}})
    assert.same({{0, 1}, {0, 0}}, hist:tolist())
    parity.refused("histogramdd: dimension 1's range is not finite", lucerna.histogramdd, x, 2)
  end)

  it("has no gradient", function()
    assert.is_false(lucerna.histogramdd(lucerna.rand(3, 2):requires_grad_(), 2).requires_grad)
  end)

  it("says what is wrong", function()
    local x = lucerna.ones(3, 2)
    local function refused(text, ...) parity.refused(text, lucerna.histogramdd, ...) end
    refused("histogramdd: bins must have 2 entries (got 3 entries)", x, {2, 2, 2})
    refused("histogramdd: bins must have 2 entries (got string)", x, "2")
    refused("histogramdd: density must be a boolean (got number)", x, 2, {density = 2})
    refused("histogramdd: range: entry 2 is a string", x, 2, {range = {0, "a", 0, 1}})
    refused("histogramdd: bins of dimension 1 must be 2 or more edges of input's dtype (got int64 "
      .. "[2])", x, {lucerna.tensor{0, 1}, 3})
  end)
end)

describe("vmap", function()
  it("is func.vmap", function()
    local rows = lucerna.vmap(lucerna.dot)(lucerna.ones(3, 2), lucerna.ones(3, 2))
    assert.same({2, 2, 2}, rows:tolist())
    parity.refused("vmap: func must be a function (got number)", lucerna.vmap, 3)
  end)
end)
