-- lucerna.linalg like PyTorch's: what tests/parity/gen_linalg.py recorded, factors multiplied
-- again, and errors in PyTorch's words.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"
local linalg, message = lucerna.linalg, parity.message

describe("linalg like PyTorch:", function()
  for title, check in cases.each("linalg") do it(title, check) end
end)

describe("linalg", function()
  local function random(...)
    return lucerna.randn({...}, {dtype = lucerna.float64})
  end

  setup(function() lucerna.manual_seed(4) end)

  it("is a module that can be required, and its names are functions of the table", function()
    assert.equal(linalg, require "lucerna.linalg")
    assert.is_function(linalg.det)
    assert.is_nil(lucerna["linalg.det"])
  end)

  -- Up to 16 rows are factored without LAPACK, up to 4 in registers.
  for _, name in ipairs {"float32", "float64", "complex64", "complex128"} do
    local options = {dtype = lucerna[name]}
    local near = {rtol = 0, atol = (name == "float32" or name == "complex64") and 2e-4 or 1e-11}

    it("factors matrices of few and of many rows: " .. name, function()
      for n = 1, 18 do
        for _, m in ipairs {n, n + 2, n > 2 and n - 2 or 1} do
          local a = lucerna.randn({5, m, n}, options)
          local lu, pivots = linalg.lu_factor(a)
          local p, l, u = lucerna.lu_unpack(lu, pivots)
          parity.close(p:matmul(l):matmul(u), a, near)
          assert.is_true(l:abs():max():item() <= (name:find("complex") and 1.4143 or 1))
        end
        local a = lucerna.randn({5, n, n}, options) + 3 * lucerna.eye(n, options)
        local eye = lucerna.eye(n, options):expand(5, n, n)
        local p, l, u = linalg.lu(a)
        parity.close(linalg.inv(a):matmul(a), eye, near)
        parity.close(linalg.det(a), linalg.det(p) * u:diagonal(0, 2, 3):prod(-1),
          {rtol = 1e3 * near.atol, atol = 0})
        local sign, size = linalg.slogdet(a)
        parity.close(sign * size:exp(), linalg.det(a), {rtol = 1e3 * near.atol, atol = 0})
        for _, k in ipairs {1, 2, n} do
          local b = lucerna.randn({5, n, k}, options)
          parity.close(a:matmul(linalg.solve(a, b)), b, near)
          parity.close(l:matmul(linalg.solve_triangular(l, b, {upper = false})), b, near)
        end
        local s = a:matmul(a.mH)
        l = linalg.cholesky(s)
        parity.close(l:matmul(l.mH), s, {rtol = near.atol, atol = near.atol})
        assert.is_true(l:triu(1):eq(0):all():item())
      end
    end)

    it("names the first column without a pivot, the first minor without a root: " .. name,
      function()
        for n = 2, 6 do
          local a = lucerna.eye(n, options):expand(3, n, n):clone()
          a[2][n][n] = 0
          a[3][2][2] = 0
          local _, _, info = linalg.lu_factor_ex(a)
          assert.same({0, n, 2}, info:tolist())
          local inverse, failed = linalg.inv_ex(a)
          assert.same({0, n, 2}, failed:tolist())
          assert.is_true(lucerna.equal(inverse[1], a[1]))
          assert.same({1, 0, 0}, lucerna.real(linalg.det(a)):tolist())
          a[3][2][2] = -1
          assert.same({0, n, 2}, select(2, linalg.cholesky_ex(a)):tolist())
          a[1][1][1] = 0 / 0
          assert.same({0, n, 2}, select(2, linalg.cholesky_ex(a)):tolist())
          assert.is_true(lucerna.real((linalg.cholesky_ex(a)))[1][1][1]:isnan():item())
          assert.is_true(lucerna.real(linalg.det(a))[1]:isnan():item())
        end
      end)
  end

  it("gives factors that multiply to the matrix", function()
    local a = random(2, 5, 3)
    for _, m in ipairs {a, a.mT} do
      local q, r = linalg.qr(m)
      parity.close(q:matmul(r), m)
      parity.close(q.mT:matmul(q), lucerna.eye(3, {dtype = lucerna.float64}):expand(2, 3, 3))
      local u, s, vh = linalg.svd(m, false)
      parity.close((u * s:unsqueeze(-2)):matmul(vh), m)
      local p, l, upper = linalg.lu(m)
      parity.close(p:matmul(l):matmul(upper), m)
    end
    local full, _, vh = linalg.svd(a)
    parity.close(full:matmul(full.mT), lucerna.eye(5, {dtype = lucerna.float64}):expand(2, 5, 5))
    assert.same({2, 3, 3}, vh.shape)
    local square = a.mT:matmul(a)
    local values, vectors = linalg.eigh(square)
    parity.close((vectors * values:unsqueeze(-2)):matmul(vectors.mT), square)
    local lower = linalg.cholesky(square)
    parity.close(lower:matmul(lower.mT), square)
  end)

  it("inverts by a Cholesky factor, large or not, which triangle it is in", function()
    lucerna.manual_seed(12)
    for _, sizes in ipairs {{2, 63, 63}, {64, 64}, {2, 129, 129}} do
      local n = sizes[#sizes]
      local eye, x = lucerna.eye(n):double(), lucerna.randn(sizes):double()
      local a = x:matmul(x.mT) + eye * n
      local low = linalg.cholesky(a)
      local other = lucerna.randn(sizes):double()
      for _, upper in ipairs {false, true} do
        local l = upper and low.mT + other:tril(-1) or low + other:triu(1)
        local p = lucerna.cholesky_inverse(l, upper)
        parity.close(p:matmul(a), eye:expand(sizes), {atol = 1e-12})
        parity.close(p, p.mT, {atol = 1e-14})
      end
    end
  end)

  it("factors and solves whatever is left beside panels and vectors", function()
    for _, n in ipairs {1, 2, 7, 8, 15, 16, 17, 31, 33, 48, 100} do
      local eye = lucerna.eye(n, {dtype = lucerna.float64})
      local a = random(3, n, n)
      parity.close(a:matmul(linalg.inv(a)), eye:expand(3, n, n), {atol = 1e-8})
      parity.close(linalg.inv(a)[2], linalg.inv(a[2]), {atol = 1e-8})
      parity.close(linalg.inv(a:float() + eye:float() * n):matmul(a:float() + eye:float() * n),
        eye:float():expand(3, n, n), {atol = 1e-5})
      for _, k in ipairs {0, 1, 5, 17, 33, 70} do
        local b = random(3, n, k)
        parity.close(a:matmul(linalg.solve(a, b)), b, {atol = 1e-8})
        local l, u = a:tril() + eye * n, a:triu() + eye * n
        parity.close(l:matmul(linalg.solve_triangular(l, b, {upper = false})), b)
        parity.close(u:matmul(linalg.solve_triangular(u, b, {upper = true})), b)
        local unit = a:tril(-1) / n + eye
        parity.close(unit:matmul(linalg.solve_triangular(a:tril(-1) / n + eye * 9, b,
          {upper = false, unitriangular = true})), b)
      end
      for _, m in ipairs {1, 5, 16, 20, 40} do
        local rect = random(2, m, n)
        local p, l, u = linalg.lu(rect)
        parity.close(p:matmul(l):matmul(u), rect)
        assert.is_true(l:abs():max():item() <= 1)
      end
    end
  end)

  it("gives orthogonal factors whatever is left beside blocks of reflections", function()
    for _, m in ipairs {1, 5, 16, 17, 40} do
      for _, n in ipairs {1, 15, 16, 17, 33} do
        local a = random(2, m, n)
        for _, mode in ipairs {"reduced", "complete", "r"} do
          local q, r = linalg.qr(a, mode)
          parity.close(r:triu(), r)
          if mode == "r" then
            parity.close(r.mT:matmul(r), a.mT:matmul(a))
          else
            local eye = lucerna.eye(q:size(3), {dtype = lucerna.float64})
            parity.close(q:matmul(r), a)
            parity.close(q.mT:matmul(q), eye:expand_as(q.mT:matmul(q)))
          end
        end
      end
    end
  end)

  it("finds least squares by QR or, where ranks are in doubt, by singular values", function()
    for _, size in ipairs {{5, 5}, {17, 3}, {40, 16}, {40, 17}, {120, 50}, {3, 6}} do
      local m, n = table.unpack(size)
      local a, b = random(2, m, n), random(2, m, 4)
      local thin = a:select(-1, 1):unsqueeze(-1):matmul(random(2, 1, n)) -- of rank 1
      for _, driver in ipairs {"gelsy", "gelsd"} do
        local x, _, rank, values = linalg.lstsq(a, b, {driver = driver})
        parity.close(x, linalg.pinv(a):matmul(b), {atol = 1e-8})
        assert.same({math.min(m, n), math.min(m, n)}, rank:tolist())
        assert.equal(driver == "gelsd" and 2 * math.min(m, n) or 0, values:numel())
        local mixed = lucerna.stack {a[1], thin[2]}
        x, _, rank = linalg.lstsq(mixed, b, {driver = driver})
        parity.close(x, linalg.pinv(mixed):matmul(b), {atol = 1e-8})
        assert.same({math.min(m, n), 1}, rank:tolist())
      end
    end
  end)

  it("inverts what is left of a matrix by QR or by singular values", function()
    for _, size in ipairs {{5, 5}, {17, 3}, {3, 17}, {40, 17}, {20, 40}} do
      local m, n = table.unpack(size)
      local a = random(2, m, n)
      local thin = a:select(-1, 1):unsqueeze(-1):matmul(random(2, 1, n)) -- of rank 1
      for _, x in ipairs {a, thin, lucerna.stack {a[1], thin[2]}, a.mT.mT} do
        local p = linalg.pinv(x)
        assert.same({2, n, m}, p.shape)
        parity.close(x:matmul(p):matmul(x), x, {atol = 1e-8})
        parity.close(p:matmul(x):matmul(p), p, {atol = 1e-8})
        parity.close(x:matmul(p), x:matmul(p).mT, {atol = 1e-8})
        parity.close(p, linalg.pinv(x, {atol = 1e-12}), {atol = 1e-8}) -- by singular values
      end
      local largest = linalg.pinv(a, {rtol = 0.9999})
      assert.same({1, 1}, linalg.matrix_rank(largest, {rtol = 1e-9}):tolist())
    end
  end)

  it("exponentiates small and large matrices by approximants of all degrees", function()
    for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
      for _, norm in ipairs {0.001, 0.1, 0.5, 1, 1.6, 3, 6, 20} do
        local a = random(5, 5)
        a = (a / a:abs():sum(1):max() * norm):to(dtype)
        local e, half = linalg.matrix_exp(a), a:double() / 1024
        local sum = lucerna.eye(5, {dtype = lucerna.float64})
        local term = sum
        for i = 1, 8 do
          term = term:matmul(half) / i
          sum = sum + term
        end
        parity.close(e:double(), linalg.matrix_power(sum, 1024),
          {atol = dtype == lucerna.float32 and 1e-6 or 1e-11, rtol = 0, scale = true})
      end
    end
  end)

  it("multiplies every element by a matrix, whatever rows and dimensions", function()
    for _, sizes in ipairs {{{3, 4}, {5, 15}}, {{3, 4}, {5, 16}}, {{2, 3, 4}, {5, 33}},
        {{4, 4}, {2, 3, 300}}, {{1, 1}, {1, 16}}, {{3, 0}, {2, 16}}, {{4}, {20}},
        {{3, 4}, {2, 0}}, {{30, 4}, {2, 0}}, {{0, 4}, {2, 3}}} do
      local a, b = random(table.unpack(sizes[1])), random(table.unpack(sizes[2]))
      local zero = lucerna.zeros_like(b)
      parity.close(lucerna.kron(a, b), lucerna.real(lucerna.kron(a, lucerna.complex(b, zero))))
    end
    local _ <close> = lucerna.autocast("cpu")
    local a = lucerna.randn(32, 32)
    assert.equal(lucerna.float32, lucerna.kron(a, a).dtype)
  end)

  it("finds the step at which a matrix proves singular", function()
    for _, n in ipairs {3, 16, 20, 50, 80} do
      local a = lucerna.eye(n):mul(2)
      a[n - 1][n - 1] = 0
      local _, _, info = linalg.lu_factor_ex(a)
      assert.equal(n - 1, info:item())
      assert.equal(0, linalg.det(a):item())
      assert.is_true(linalg.inv_ex(a):isnan():all():item())
    end
  end)

  it("gives the cofactors of what rounding alone keeps from being singular", function()
    local rows = {{-1.0, 0.6407868266359722}, {-0.44212006646287677, 0.28330471438083216}}
    local a = lucerna.tensor(rows, {dtype = lucerna.float64}):requires_grad_()
    linalg.det(a):backward()
    local want = lucerna.tensor({{a[2][2]:item(), -a[2][1]:item()}, {-a[1][2]:item(), -1.0}})
    parity.close(a.grad, want:double(), {rtol = 1e-6})
  end)

  it("gives determinants of any size, and their logarithms", function()
    for _, n in ipairs {0, 1, 2, 3, 8, 15, 16, 17, 40} do
      local a = random(3, n, n)
      local p, _, upper = linalg.lu(a)
      local want = upper:diagonal(0, -2, -1):prod(-1) * linalg.det(p)
      local sign, size = linalg.slogdet(a)
      parity.close(linalg.det(a), want)
      parity.close(linalg.det(a.mT), want)
      parity.close(sign * size:exp(), want)
      parity.close(linalg.det(a:float()):double(), want, {rtol = 1e-3, atol = 1e-4, scale = true})
    end
    assert.has_error(function() linalg.solve(lucerna.zeros(2, 2), lucerna.zeros(2, 0)) end)
  end)

  it("inverts one matrix in parts as several whole", function()
    for _, n in ipairs {1, 63, 64, 65, 128, 150, 384, 385} do
      local a = random(n, n)
      local inverse, eye = linalg.inv(a), lucerna.eye(n, {dtype = lucerna.float64})
      parity.close(a:matmul(inverse), eye, {atol = 1e-8})
      parity.close(linalg.inv(lucerna.stack {a, eye})[1], inverse, {atol = 1e-8, scale = true})
    end
  end)

  it("differentiates solutions by the same factors, or anew to go on differentiating", function()
    local a, b = random(2, 5, 5):requires_grad_(), random(2, 5, 3):requires_grad_()
    local g = random(2, 5, 3)
    local function gradients(again)
      return {lucerna.autograd.grad({linalg.solve(a, b)}, {a, b},
        {grad_outputs = {g}, create_graph = again})}
    end
    local once, again = gradients(false), gradients(true)
    for i = 1, 2 do parity.close(once[i], again[i]) end
    parity.close(linalg.solve(a:detach().mT, g), once[2])
  end)

  it("gives the same values with vectors and alone, and their gradients", function()
    for _, shape in ipairs {{3, 0, 0}, {2, 1, 1}, {3, 5, 5}, {40, 40}} do
      local a = random(table.unpack(shape))
      local symmetric, leaf = a + a.mT, a:clone():requires_grad_()
      local _, s = linalg.svd(a)
      parity.close(linalg.svdvals(a), s)
      parity.close(linalg.svdvals(leaf), s)
      parity.close(linalg.eigvalsh(symmetric), (linalg.eigh(symmetric)))
      parity.close(linalg.eigvalsh(symmetric, "U"), (linalg.eigh(symmetric, "U")))
      local function sorted(v) return lucerna.sort(lucerna.real(v), -1) end
      parity.close(sorted(linalg.eigvals(a)), sorted((linalg.eig(a))))
      parity.close(sorted(linalg.eigvals(lucerna.complex(a, a))),
        sorted((linalg.eig(lucerna.complex(a, a)))))
    end
    local a = random(4, 3)
    parity.close(lucerna.func.vmap(linalg.svdvals)(lucerna.stack {a, a * 2}),
      lucerna.stack {linalg.svdvals(a), linalg.svdvals(a) * 2})
    parity.gradcheck(linalg.svdvals, {parity.leaf({4, 3})})
    parity.gradcheck(function(x) return linalg.eigvalsh(x + x.mT) end, {parity.leaf({3, 3})})
    assert.is_true(linalg.svdvals(parity.leaf({3, 3})).requires_grad)
  end)

  it("eigh has a symmetric gradient", function()
    local a = lucerna.tensor({{2, 1, 0}, {1, 3, 1}, {0, 1, 4}}, {dtype = lucerna.float64})
    local _, vectors = linalg.eigh(a:requires_grad_())
    local loss = (vectors:abs() * lucerna.arange(1, 10):view(3, 3)):sum()
    parity.close(lucerna.tensor({{0.814458557658021, 0.366025403784438, -0.230199641080500},
      {0.366025403784438, 0.295583781982708, 0.596225044864937},
      {-0.230199641080500, 0.596225044864937, -1.110042339640730}}, {dtype = lucerna.float64}),
      lucerna.autograd.grad(loss, a))
  end)

  it("reads only the triangle it is told to", function()
    local a = random(3, 3)
    parity.close(linalg.eigvalsh(a), linalg.eigvalsh(a:tril() + a:tril(-1).mT))
    parity.close(linalg.eigvalsh(a, "U"), linalg.eigvalsh(a:triu() + a:triu(1).mT))
    local x = linalg.solve_triangular(a, a, {upper = true})
    parity.close(a:triu():matmul(x), a)
  end)

  it("differentiates det of singular matrices by their cofactors", function()
    local a = lucerna.tensor({{1, 2}, {2, 4}}, {dtype = lucerna.float64}):requires_grad_()
    linalg.det(a):backward()
    parity.close(a.grad, lucerna.tensor({{4, -2}, {-2, 1}}, {dtype = lucerna.float64}))
  end)

  it("gives eigenvectors, but no gradient of their phases", function()
    local a = lucerna.complex(random(2, 4, 4), random(2, 4, 4)):requires_grad_()
    local values, vectors = linalg.eig(a)
    for i = 1, 4 do
      local v, product = vectors:select(-1, i), 0
      for j = 1, 4 do product = product + a:select(-1, j) * v:select(-1, j):unsqueeze(-1) end
      parity.close(product, v * values:select(-1, i):unsqueeze(-1))
    end
    parity.refused("up to multiplication by e^{i phi}. The specified loss",
      function() lucerna.imag(vectors):sum():backward() end)
    select(2, linalg.eig(a)):abs():sum():backward()
  end)

  it("differentiates least squares of vectors", function()
    local function f(a, b) return (linalg.lstsq(a, b)) end
    parity.gradcheck(f, {parity.leaf({3, 2}), parity.leaf({3})})
  end)

  it("says what is wrong with a matrix in PyTorch's words", function()
    local function check(want, ...) assert.equal(want, parity.plain_message(...)) end
    local singular = lucerna.tensor {{1.0, 2.0}, {2.0, 4.0}}
    check("linalg.inv: The diagonal element 2 is zero, the inversion could not be completed "
      .. "because the input matrix is singular.", linalg.inv, singular)
    check("linalg.inv: (Batch element 2): The diagonal element 2 is zero, the inversion could not "
      .. "be completed because the input matrix is singular.", linalg.inv,
      lucerna.stack {lucerna.eye(2), singular})
    check("linalg.solve: The solver failed because the input matrix is singular.", linalg.solve,
      singular, singular)
    check("linalg.cholesky: The factorization could not be completed because the input is not "
      .. "positive-definite (the leading minor of order 2 is not positive-definite).",
      linalg.cholesky, singular - lucerna.eye(2):mul(0.5))
    check("linalg.det: A must be batches of square matrices, but they are 2 by 3 matrices",
      linalg.det, lucerna.zeros(2, 3))
    check("det: A must be batches of square matrices, but they are 2 by 3 matrices",
      lucerna.zeros(2, 3).det, lucerna.zeros(2, 3))
    check("linalg.eigh: Expected UPLO argument to be 'L' or 'U', but got 'A'", linalg.eigh,
      singular, "A")
    check("linalg.svd: Low precision dtypes not supported. Got float16", linalg.svd,
      singular:half())
  end)

  it("has no pseudoinverse of a matrix that memory cannot hold", function()
    for _, sizes in ipairs {{1 << 50, 2}, {2, 1 << 50}} do
      assert.matches("pinv: out of memory", message(linalg.pinv,
        lucerna.zeros(1, 1):expand(sizes)), 1, true)
    end
  end)

  it("refuses NaN and infinities where they are no matrix, in PyTorch's words", function()
    local plain = "The algorithm failed to converge because the input matrix contained non-finite "
      .. "values."
    local function pair(v, ...)
      local a = lucerna.eye(3)
      a:select(1, (...)):select(1, (select(2, ...))):fill_(v)
      return a, lucerna.stack {lucerna.eye(3), a}
    end
    local names = {"svd", "svdvals", "pinv", "matrix_rank", "cond", "lstsq"}
    for _, value in ipairs {0 / 0, math.huge, -math.huge} do
      for i = 1, 3 do
        for j = 1, 3 do
          local a, batch = pair(value, i, j)
          for _, name in ipairs(names) do
            local b = name == "lstsq" and lucerna.ones(3, 1) or nil
            assert.matches(": " .. plain, message(linalg[name], a, b), 1, true)
            b = b and lucerna.ones(2, 3, 1)
            assert.matches(": (Batch element 2): " .. plain, message(linalg[name], batch, b), 1,
              true)
          end
          assert.matches(plain, message(linalg.matrix_norm, a, "nuc"), 1, true)
          assert.matches(plain, message(linalg.norm, a:double(), 2), 1, true)
          assert.matches("input tensor should not contain infs or NaNs.", message(linalg.eig, a),
            1, true)
          assert.equal(math.huge, linalg.cond(a, 1):item())
        end
      end
    end
  end)

  it("answers NaN elsewhere, prints nothing of its own and comes to an end", function()
    for _, value in ipairs {0 / 0, math.huge} do
      local a = lucerna.full({3, 3}, value)
      assert.is_false(pcall(linalg.eigh, a))
      assert.is_true(linalg.det(a):isnan():item())
      assert.is_true(linalg.matrix_exp(a):isnan():all():item())
      local sign, size = linalg.slogdet(a)
      assert.equal(0, sign:item())
      assert.is_true(size:isnan():item())
      assert.is_true(linalg.inv_ex(a):isnan():all():item())
      assert.is_true((linalg.solve_ex(a, a)):isnan():any():item())
      for _, name in ipairs {"qr", "lu", "lu_factor_ex", "ldl_factor_ex", "cholesky_ex"} do
        local results = table.pack(linalg[name](a))
        assert.is_true(results.n >= 2, name)
      end
    end
  end)

  it("takes a limit that is NaN for none, of which LAPACK would print", function()
    local a, b = lucerna.tensor {{1.0, 3, 2}, {1, 3, 2}}, lucerna.tensor {{1.0, 2}, {3, 4}}
    local x, _, rank = linalg.lstsq(a, b, 0 / 0)
    assert.equal(1, rank:item())
    assert.is_true(lucerna.equal((linalg.lstsq(a, b)), x))
  end)

  it("solves by the factors of one batch for the right sides of another", function()
    local a = random(2, 1, 3, 3)
    a = a + a.mT
    local ld, pivots = linalg.ldl_factor(a)
    for _, b in ipairs {random(3, 2), random(4, 3, 2), random(2, 4, 3, 2)} do
      local batch = b:dim() > 2 and 4 or 1
      parity.close(a:matmul(linalg.ldl_solve(ld, pivots, b)), b:expand(2, batch, 3, 2))
    end
    parity.refused("batches of A [2, 1, 3, 3] and B [3, 4, 3, 2] do not broadcast",
      linalg.ldl_solve, ld, pivots, random(3, 4, 3, 2))
    parity.refused("batches of A [2, 3, 3] and B [4, 3, 2] do not broadcast", function()
      local lu, swaps = linalg.lu_factor(random(2, 3, 3))
      return linalg.lu_solve(lu, swaps, random(4, 3, 2))
    end)
  end)

  it("norms fill what has their dtype, and nothing else", function()
    local a, z = lucerna.ones(2, 2), lucerna.ones(2, 2) + lucerna.complex(0, 1)
    local function out(dtype) return {out = lucerna.empty(0, {dtype = dtype})} end
    for _, name in ipairs {"norm", "vector_norm", "matrix_norm"} do
      local norm = linalg[name]
      for _, dtype in ipairs {lucerna.float64, lucerna.complex64, lucerna.int64} do
        parity.refused("expected out tensor dtype Float but got: ", norm, a, out(dtype))
      end
      assert.equal(2, norm(a, out(lucerna.float32)):item())
      local wide = out(lucerna.float64)
      wide.dtype = lucerna.float64
      assert.equal(2, norm(a, wide):item())
      wide.out = lucerna.empty(0)
      parity.refused("expected out tensor dtype Double but got: Float", norm, a, wide)
      parity.refused("expected out tensor dtype Float but got: ComplexFloat", norm, z,
        out(lucerna.complex64))
    end
    parity.refused("linalg.norm: expected out tensor dtype Float", linalg.norm, a, "nuc",
      out(lucerna.float64))
  end)

  it("norms are flat where they are 0, also where what is not 0 has no square", function()
    local x = lucerna.tensor {{3.0, 4}, {0, 0}, {1e-30, 0}}:requires_grad_()
    local g = lucerna.tensor {1.0, 2, 3}:requires_grad_()
    local slope = lucerna.autograd.grad(x:norm(2, -1), x, {grad_outputs = g, create_graph = true})
    parity.close(slope, lucerna.tensor {{0.6, 0.8}, {0, 0}, {0, 0}})
    slope:mul(lucerna.tensor {1.0, 2}):sum():backward()
    local none = 0 / 0 -- in PyTorch as well: that slope is no limit of others
    parity.close(x.grad, lucerna.tensor {{-0.064, 0.048}, {none, none}, {none, none}})
    parity.close(g.grad, lucerna.tensor {2.2, 0, 0})
  end)

  -- PyTorch 2.15's answers (1.13 refuses some).
  it("norms of matrices without rows or columns are 0, if not the smallest of none", function()
    local none, last = "to have non-zero size", -math.huge
    local want = {
      [{0, 5}] = {[1] = 0, [-1] = 0, [2] = 0, [-2] = none, [math.huge] = 0, [last] = none},
      [{5, 0}] = {[1] = 0, [-1] = none, [2] = 0, [-2] = none, [math.huge] = 0, [last] = 0},
      [{0, 0}] = {[1] = 0, [-1] = none, [2] = 0, [-2] = none, [math.huge] = 0, [last] = none},
    }
    for shape, orders in pairs(want) do
      local a = lucerna.ones(2, table.unpack(shape))
      for order, norm in pairs(orders) do
        if norm == none then
          parity.refused(none, linalg.matrix_norm, a, order)
        else
          assert.same({0.0, 0.0}, linalg.matrix_norm(a, order):tolist())
          assert.same({{{0.0}}, {{0.0}}}, linalg.matrix_norm(a, order, {keepdim = true}):tolist())
        end
      end
    end
  end)

  -- Those of up to 16 rows and columns lie in lanes; less than 8 of them, and larger ones, are
  -- LAPACK's.
  for _, name in ipairs {"float32", "float64"} do
    local options = {dtype = lucerna[name]}
    local eps = name == "float32" and 1e-5 or 2e-14

    local function near(a, b, scale)
      parity.close(a / scale, b / scale, {rtol = eps, atol = eps})
    end
    local function is_orthogonal(q)
      local n = q.shape[#q.shape]
      parity.close(q.mT:matmul(q), lucerna.eye(n, options):expand(q.shape[1], n, n),
        {rtol = 0, atol = eps})
    end
    local function columns(s) return s:unsqueeze(-2) end

    local function check_svd(a, scale)
      local complex = linalg.svdvals(a:to(name == "float32" and "complex64" or "complex128"))
      local k = math.min(a.shape[2], a.shape[3])
      for _, full in ipairs {true, false} do
        local u, s, vh = linalg.svd(a, full)
        is_orthogonal(u)
        is_orthogonal(vh.mT)
        local us = u:narrow(-1, 1, k) * columns(s / scale)
        near(us:matmul(vh:narrow(-2, 1, k)) * scale, a, scale)
        near(s, complex, scale)
        near(s, linalg.svdvals(a), scale)
        assert.is_true(s:ge(0):all():item())
        assert.is_true(s:equal((s:sort(-1, true))))
      end
    end

    local function check_qr(a, scale)
      for _, mode in ipairs {"reduced", "complete", "r"} do
        local q, r = linalg.qr(a, mode)
        assert.is_true(r:tril(-1):eq(0):all():item())
        if mode ~= "r" then
          is_orthogonal(q)
          near(q:matmul(r / scale) * scale, a, scale)
        end
      end
    end

    local function check_eigh(a, scale)
      for _, part in ipairs {"L", "U"} do
        local s = part == "L" and a:tril() + a:tril(-1).mT or a:triu() + a:triu(1).mT
        local w, v = linalg.eigh(a, part)
        is_orthogonal(v)
        near((v * columns(w / scale)):matmul(v.mT) * scale, s, scale)
        near(w, linalg.eigvalsh(a, part), scale)
        assert.is_true(w:equal((w:sort(-1))))
      end
    end

    it("takes small matrices apart, as many as there are: " .. name, function()
      local n = 0
      for _, m in ipairs {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17} do
        for _, c in ipairs {1, m - 1, m, m + 1} do
          for _, scale in ipairs {1, name == "float32" and 1e-30 or 1e-290,
            name == "float32" and 1e30 or 1e290} do
            local count = n % 3 == 0 and 1 or n % 3 == 1 and 2 or 19
            local a = lucerna.randn({count, m, math.max(c, 1)}, options) * scale
            check_svd(a, scale)
            check_qr(a, scale)
            if c == m and m > 1 then check_eigh(a, scale) end
            n = n + 1
          end
        end
      end
    end)

    it("takes apart what has less than full rank, or nothing in it: " .. name, function()
      for _, n in ipairs {2, 3, 4, 5, 6, 8, 12, 16} do
        local one = lucerna.randn({11, n, 1}, options):matmul(lucerna.randn({11, 1, n}, options))
        for _, a in ipairs {one, one * 0, lucerna.ones({11, n, n}, options),
          lucerna.eye(n, options):expand(11, n, n), lucerna.randint(-1, 2, {11, n, n}, options),
          one * lucerna.logspace(0, -25, n, options)} do
          check_svd(a, 1)
          check_qr(a, 1)
          check_eigh(a, 1)
        end
        assert.is_true(linalg.matrix_rank(one):eq(1):all():item())
      end
    end)

    it("finds small singular values to the last digits, whatever the columns weigh: " .. name,
      function()
      local weights = lucerna.tensor({1, 1e-5, 1e-10, 1e-15}, options)
      local a = linalg.qr(lucerna.randn({9, 4, 4}, {dtype = lucerna.float64})):to(options.dtype)
      parity.close(linalg.svdvals(a * weights) / weights, lucerna.ones({9, 4}, options),
        {rtol = 0, atol = eps})
    end)
  end

  it("has LAPACK's signs in R, and leaves what is triangular", function()
    local a = lucerna.tensor {{3.0, 1.0}, {4.0, 2.0}}
    local q, r = linalg.qr(a)
    parity.close(q, lucerna.tensor {{-0.6, -0.8}, {-0.8, 0.6}})
    parity.close(r, lucerna.tensor {{-5.0, -2.2}, {0.0, 0.4}})
    q, r = linalg.qr(lucerna.tensor {{-1.0, 2.0}, {0.0, -3.0}})
    assert.is_true(q:equal(lucerna.eye(2)))
    assert.is_true(r:equal(lucerna.tensor {{-1.0, 2.0}, {0.0, -3.0}}))
  end)

  it("takes matrices apart as if they were alone", function()
    local a = lucerna.randn(13, 3, 3)
    for _, bad in ipairs {0 / 0, math.huge} do
      local b = a:clone()
      b[6][1][2] = bad
      assert.is_true(linalg.eigvalsh(b):equal(linalg.eigvalsh(a))) -- which does not read it
      local q, r = linalg.qr(b)
      local good_q, good_r = linalg.qr(a)
      for _, i in ipairs {1, 5, 7, 8, 9, 13} do
        assert.is_true(q[i]:equal(good_q[i]))
        assert.is_true(r[i]:equal(good_r[i]))
      end
      assert.is_true(q[6]:isnan():any():item())
      parity.refused("linalg.svd: (Batch element 6)", linalg.svd, b)
      parity.refused("linalg.svdvals: (Batch element 6)", linalg.svdvals, b)
    end
    for i = 1, 13 do
      parity.close(linalg.svdvals(a)[i], linalg.svdvals(a[i]), {atol = 1e-6, rtol = 1e-6})
      parity.close(linalg.eigvalsh(a)[i], linalg.eigvalsh(a[i]), {atol = 1e-6, rtol = 1e-6})
    end
  end)

  it("cond is infinite where there is no inverse, in any norm", function()
    local a = lucerna.stack {lucerna.zeros(2, 2), lucerna.eye(2)}
    for norm, of_eye in pairs {nuc = 4.0, fro = 2.0, [1] = 1.0, [-1] = 1.0, [math.huge] = 1.0} do
      parity.close(linalg.cond(a, norm), lucerna.tensor {math.huge, of_eye})
    end
  end)

  it("refuses pivots that no factorization gives", function()
    local a = lucerna.eye(2)
    local function pivots(...) return lucerna.tensor({...}, {dtype = lucerna.int32}) end
    for _, p in ipairs {pivots(0, 1), pivots(1, 3), pivots(1, -1), pivots(-1, -2)} do
      assert.is_false(pcall(linalg.ldl_solve, a, p, a))
    end
    assert.is_false(pcall(linalg.lu_solve, a, pivots(0, 5), a))
  end)

  it("multiplies vectors by their elements, along any dimension, of any dtype", function()
    local function by_elements(a, b, dim)
      local rows, x, y = {}, a:unbind(dim), b:unbind(dim)
      for i = 1, 3 do
        local j, k = i % 3 + 1, (i + 1) % 3 + 1
        rows[i] = x[j] * y[k] - x[k] * y[j]
      end
      return lucerna.stack(rows, dim)
    end
    for _, name in ipairs {"float32", "float64", "float16", "bfloat16", "complex64", "complex128",
      "int8", "uint8", "int16", "int32", "int64"} do
      local function numbers(...)
        local x = random(...) * 3
        return (name:find "complex" and lucerna.complex(x, random(...)) or x):to(lucerna[name])
      end
      local near = {rtol = 0, atol = ({bfloat16 = 0.5, float16 = 0.1})[name] or 1e-5}
      local a, b = numbers(37, 3), numbers(37, 3)
      parity.close(lucerna.cross(a, b, 2), by_elements(a, b, 2), near)
      parity.close(lucerna.cross(a:t(), b:t(), 1), by_elements(a:t(), b:t(), 1), near)
      parity.close(lucerna.cross(a, b[{{5, 5}}], 2), by_elements(a, b[{{5, 5}}], 2), near)
      a, b = numbers(2, 3, 21), numbers(2, 3, 1)
      parity.close(linalg.cross(a, b, {dim = 2}), by_elements(a, b, 2), near)
      if not name:find "complex" then
        local turned = a:transpose(2, 3)
        assert.equal(0, lucerna.cross(a, a, 2):abs():sum():item())
        assert.equal(0, lucerna.cross(turned, turned, 3):abs():sum():item())
      end
    end
    assert.equal(lucerna.float64, lucerna.cross(lucerna.ones(3), random(3)).dtype)
    parity.refused("not implemented for bool", lucerna.cross, lucerna.ones(3):bool(),
      lucerna.ones(3):bool())
  end)

  it("differentiates products of vectors, also broadcast ones", function()
    parity.gradcheck(lucerna.cross, {parity.leaf({2, 3}), parity.leaf({1, 3})})
    parity.gradgradcheck(lucerna.cross, {parity.leaf({2, 3}), parity.leaf({1, 3})})
    local a, b = lucerna.complex(random(3), random(3)), lucerna.complex(random(3), random(3))
    parity.gradcheck(linalg.cross, {a:requires_grad_(), b:requires_grad_()})
    local many = random(4, 3)
    local each = lucerna.func.vmap(linalg.cross, {in_dims = {1, lucerna.none}})
    parity.close(each(many, a:detach().real), linalg.cross(many, a:detach().real:expand(4, 3)))
  end)
end)

describe("vector_norm", function()
  it("of complex64 in double has a double's digits", function()
    local x = lucerna.complex(lucerna.tensor {0.1, 0.3}, lucerna.tensor {0.2, -0.7})
    local r = linalg.vector_norm(x, {dtype = lucerna.complex128})
    assert.equal(lucerna.float64, r.dtype)
    assert.is_near(0x1.96632c9114d7dp-1, r:item(), 1e-15)
  end)

  it("of nothing has no negative order", function()
    local x = lucerna.zeros(2, 0)
    parity.refused("linalg.vector_norm: cannot compute the -1 norm of nothing",
      linalg.vector_norm, x, -1)
    parity.refused("norm: cannot compute the -2 norm of nothing", lucerna.norm, x, -2, 2)
    assert.same({}, linalg.vector_norm(x, -1, 1):tolist())
  end)
end)
