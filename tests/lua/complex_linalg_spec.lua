-- Linear algebra of complex matrices beside what tests/parity/gen_linalg.py recorded: factors
-- multiplied again at sizes where the way changes, gradients where a matrix must be Hermitian or
-- phases are free, memory in other orders, and errors.
local lucerna = require "lucerna"
local parity = require "parity"
local linalg = lucerna.linalg
local c64, c128 = lucerna.complex64, lucerna.complex128

local function random(...)
  return lucerna.randn({...}, {dtype = c128})
end

local function eye(n)
  return lucerna.eye(n, {dtype = c128})
end

local function hermitian(a)
  return a + a.mH
end

describe("a complex matrix", function()
  setup(function() lucerna.manual_seed(21) end)

  it("is solved by, whatever its size and the right hand sides'", function()
    for _, n in ipairs {1, 2, 15, 16, 17, 33, 65, 400} do
      local a, b = random(n, n) + eye(n) * n, random(n, 3)
      local x = linalg.solve(a, b)
      parity.close(a:matmul(x), b, {atol = 1e-9})
      parity.close(a:matmul(linalg.solve(a, b:select(2, 1))), b:select(2, 1), {atol = 1e-9})
      parity.close(linalg.solve(a, b.mH, {left = false}):matmul(a), b.mH, {atol = 1e-9})
      parity.close(a:matmul(linalg.inv(a)), eye(n), {atol = 1e-9})
      local p, l, u = linalg.lu(a)
      parity.close(p:matmul(l):matmul(u), a, {atol = 1e-9})
      parity.close(l:matmul(linalg.solve_triangular(l, b, {upper = false})), b, {atol = 1e-9})
      parity.close(linalg.lu_solve(a:lu(), select(2, a:lu()), b), x, {atol = 1e-9})
      local small = a / n
      local sign, size = linalg.slogdet(small)
      parity.close(sign * size:exp(), linalg.det(small), {rtol = 1e-9})
    end
  end)

  it("is what its factors multiply to", function()
    for _, n in ipairs {1, 3, 17, 70} do
      for _, a in ipairs {random(2, n, n), random(n + 5, n), random(n, 2 * n + 1)} do
        local q, r = linalg.qr(a)
        parity.close(q:matmul(r), a, {atol = 1e-9})
        local gram = q.mH:matmul(q)
        parity.close(gram, eye(q.shape[#q.shape]):expand_as(gram), {atol = 1e-9})
        local u, s, vh = linalg.svd(a, false)
        parity.close((u * s:unsqueeze(-2)):matmul(vh), a, {atol = 1e-9})
        assert.equal(lucerna.float64, s.dtype)
        parity.close(a:matmul(linalg.pinv(a)):matmul(a), a, {atol = 1e-9})
        assert.equal(math.min(a.shape[#a.shape - 1], a.shape[#a.shape]),
          linalg.matrix_rank(a):flatten()[1]:item())
      end
      local a = random(2, n, n)
      local h = a:matmul(a.mH) + eye(n)
      local values, vectors = linalg.eigh(h)
      parity.close((vectors * values:unsqueeze(-2)):matmul(vectors.mH), h, {atol = 1e-9})
      parity.close(linalg.eigvalsh(h, "U"), values, {atol = 1e-9})
      local low, up = linalg.cholesky(h:tril()), linalg.cholesky(h:triu(), {upper = true})
      parity.close(low:matmul(low.mH), h, {atol = 1e-9})
      parity.close(up, low.mH, {atol = 1e-9})
      parity.close(lucerna.cholesky_inverse(up, true):matmul(h), eye(n):expand_as(h), {atol = 1e-8})
      local b = random(2, n, 2)
      parity.close(h:matmul(lucerna.cholesky_solve(b, low)), b, {atol = 1e-8})
      for _, m in ipairs {hermitian(a), a + a.mT} do
        local options = {hermitian = m:equal(m.mH)}
        local ld, pivots = linalg.ldl_factor(m, options)
        parity.close(m:matmul(linalg.ldl_solve(ld, pivots, b, options)), b, {atol = 1e-8})
      end
    end
  end)

  it("is of single precision, too", function()
    local a = random(5, 5) + eye(5) * 3
    for _, name in ipairs {"inv", "det", "slogdet", "qr", "svdvals", "eigvalsh", "pinv", "cond",
      "matrix_exp"} do
      local wide, single = linalg[name](a), linalg[name](a:to(c64))
      assert.equal(wide:is_complex() and c64 or lucerna.float32, single.dtype)
      parity.close(single:to(wide.dtype), wide, {rtol = 1e-4, atol = 1e-4})
    end
  end)

  it("may lie in any order", function()
    local a = random(3, 3, 2):permute(3, 2, 1)
    local b = random(2, 2, 3):transpose(2, 3)
    local order = {a = a:contiguous(), b = b:contiguous()}
    for _, name in ipairs {"inv", "det", "qr", "svdvals", "eigvalsh", "pinv", "lu"} do
      assert.is_true((linalg[name](a)):equal((linalg[name](order.a))), name)
    end
    for _, name in ipairs {"solve", "lstsq"} do
      assert.is_true((linalg[name](a, b)):equal((linalg[name](order.a, order.b))), name)
      assert.is_true((linalg[name](a.mH, b:conj())):equal((linalg[name](order.a:conj().mT,
        order.b:conj()))), name)
    end
  end)

  it("is refused like a real one", function()
    local zero = lucerna.zeros(2, 2, {dtype = c64})
    parity.refused("singular", linalg.inv, zero)
    parity.refused("singular", linalg.solve, zero, zero)
    parity.refused("not positive-definite", linalg.cholesky, zero)
    parity.refused("same dtype", linalg.solve, random(2, 2), lucerna.ones(2, 2))
    local inverse, info = linalg.inv_ex(lucerna.stack {zero, zero + lucerna.eye(2)})
    assert.same({1, 0}, info:tolist())
    assert.is_true(inverse[1]:isnan():all():item())
    parity.close(inverse[2], lucerna.eye(2, {dtype = c64}))
    parity.refused("non-finite", linalg.svdvals, zero / 0)
  end)

  it("is mapped over samples", function()
    local a = random(4, 3, 3) + eye(3) * 4
    for _, name in ipairs {"inv", "det", "svdvals", "eigvalsh"} do
      parity.close(lucerna.func.vmap(linalg[name])(a), linalg[name](a))
    end
  end)
end)

describe("the gradient of complex linear algebra", function()
  local function check(f, ...)
    local leaves = {}
    for i, t in ipairs {...} do leaves[i] = t:detach():requires_grad_() end
    parity.gradcheck(f, leaves)
    parity.gradgradcheck(f, leaves)
  end

  setup(function() lucerna.manual_seed(22) end)

  it("goes through Hermitian matrices", function()
    local a = random(2, 3, 3)
    for _, upper in ipairs {false, true} do
      check(function(x) return linalg.cholesky(x:matmul(x.mH) + eye(3), {upper = upper}) end, a)
    end
    for _, part in ipairs {"L", "U"} do
      check(function(x) return (linalg.eigh(hermitian(x), part)) end, a)
    end
    check(function(x)
      local values, vectors = linalg.eigh(hermitian(x))
      return (vectors * values:exp():unsqueeze(-2)):matmul(vectors.mH), vectors:abs()
    end, a)
    check(function(x) return linalg.pinv(hermitian(x), {hermitian = true}) end, a)
  end)

  it("is that of singular vectors whose phases do not matter", function()
    for _, a in ipairs {random(3, 3), random(4, 2), random(2, 4)} do
      check(function(x)
        local u, s, vh = linalg.svd(x, false)
        return (u * s:log():unsqueeze(-2)):matmul(vh)
      end, a)
      check(function(x) return (linalg.svd(x, false)):abs() end, a)
      check(function(x) return select(3, linalg.svd(x, false)):abs() end, a)
    end
  end)

  it("is refused where they do", function()
    local a = random(3, 3):requires_grad_()
    local phases = "in the complex case are specified up to multiplication by e^{i phi}"
    parity.refused("svd_backward: The singular vectors " .. phases .. ". The specified loss " ..
      "function depends on this phase term, making it ill-defined", function()
      (linalg.svd(a)).real:sum():backward()
    end)
    for _, name in ipairs {"eig", "eigh"} do
      parity.refused("linalg_" .. name .. "_backward: The eigenvectors " .. phases, function()
        select(2, linalg[name](a)).real:sum():backward()
      end)
    end
    (linalg.svd(a)):abs():sum():backward()
  end)

  it("of a determinant is that of cofactors, singular or not", function()
    check(function(x)
      local sign, size = linalg.slogdet(x)
      return sign, size, linalg.det(x), lucerna.logdet(x)
    end, random(2, 3, 3))
    local column, row = random(3, 1), random(1, 3)
    parity.gradcheck(linalg.det, {column:matmul(row):detach():requires_grad_()})
    local once = linalg.inv(random(3, 3))
    once = (once - once:select(2, 1):unsqueeze(2) * lucerna.tensor {1.0, 0, 0}):detach()
    parity.gradcheck(linalg.det, {once:requires_grad_()})
  end)
end)
