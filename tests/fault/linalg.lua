-- What the out-of-memory sweep runs with matrices: every factorization forward and backward.
-- Returns the scenario as a function.
local lucerna = require "lucerna"
local linalg = lucerna.linalg

local function scenario()
  local a = lucerna.tensor({{4, 1, 0.5}, {1, 3, 0.25}, {0.5, 0.25, 5}}, {dtype = lucerna.float64})
  a = a:requires_grad_()
  local b = lucerna.ones(3, 2, {dtype = lucerna.float64})
  local function back(...)
    for _, t in ipairs {...} do
      if t.requires_grad then t:sum():backward({retain_graph = true}) end
    end
  end
  for _, name in ipairs {"inv", "det", "slogdet", "lu", "qr", "cholesky", "eigh", "svd", "pinv",
    "matrix_exp", "cond"} do
    back(linalg[name](a))
  end
  back(linalg.solve(a, b), linalg.solve_triangular(a, b, {upper = true}),
    (linalg.lstsq(a, b, {driver = "gelsd"})), lucerna.cholesky_solve(b, a))
  back(linalg.matrix_norm(a, "nuc"), linalg.householder_product(a, a:diagonal()),
    linalg.multi_dot {a, b, b:t()})
  linalg.ldl_solve(select(1, linalg.ldl_factor(a:detach())), select(2, linalg.ldl_factor(
    a:detach())), b)
  lucerna.orgqr(lucerna.geqrf(a:detach()))
  linalg.pinv(a:detach()[{{}, {1, 2}}])
  -- few columns: B is turned for dots, and what is turned is turned back
  local x, w = lucerna.ones(64, 60), lucerna.ones(60, 4)
  assert(x:mm(w)[64][4]:item() == 60 and w:t():mm(x:t())[4][64]:item() == 60)
  assert(lucerna.ones(3, 64, 60):matmul(w)[3][64][4]:item() == 60)
  assert(lucerna.addmm(lucerna.ones(4), x, w)[64][4]:item() == 61)
  assert(lucerna.nn.functional.linear(x, w:t())[64][4]:item() == 60)
  -- zeros of a factor are passed over
  local half = lucerna.ones(256):put_(lucerna.arange(1, 256, 2), lucerna.zeros(128))
  half = half:expand(256, 256):contiguous()
  assert(half:mm(lucerna.ones(256, 128))[256][1]:item() == 128)
  assert(lucerna.ones(128, 256):mm(half:t())[1][256]:item() == 128)
  assert(linalg.matrix_rank(a):item() == 3)
end

return scenario
