-- Calls written by hand, as data: for gradients that recorded cases leave unchecked, and for what
-- an operator refuses. rest_spec.lua makes them; coverage_spec.lua counts the rows they take.
local lucerna = require "lucerna"
local core = require "lucerna.core"
local F = core.functional

local M = {}

local function seeded(shape, low, high)
  return lucerna.rand(shape, {dtype = lucerna.float64}):mul(high - low):add(low)
end

local function x(...) return seeded({...}, -1.9, 1.9):requires_grad_() end
local function positive(...) return seeded({...}, 0.2, 0.8):requires_grad_() end
local function ids(...) return lucerna.tensor {...} end
local function z(...) return lucerna.zeros({...}) end

-- Values in disorder, apart from each other: no step of finite differences makes a tie.
local function distinct(...)
  local shape, n = {...}, 1
  for _, size in ipairs(shape) do n = n * size end
  local values = {}
  for i = 1, n do values[i] = (i * 7919 % 1009) / 100 - 5 + i / 1e4 end
  return lucerna.tensor(values, {dtype = lucerna.float64}):reshape(shape):requires_grad_()
end

-- A function of the tensors `f` gets, for what is no plain call; `id` names the row.
local function of(id, f, ...) return {id = id, f, ...} end

-- One whose gradient has none.
local function once(id, f, ...) return {id = id, once = true, f, ...} end

-- The same random numbers at each call.
local function drawn(id, f, ...)
  return of(id, function(...)
    lucerna.manual_seed(5)
    return f(...)
  end, ...)
end

-- Of symmetric matrices, and of what does not depend on signs.
local function linalg_gradients()
  local linalg, eye = lucerna.linalg, lucerna.eye(3, {dtype = lucerna.float64})
  local function symmetric(a) return a + a.mT end
  local function definite(a) return a:matmul(a.mT) + eye end
  local function sizes(f)
    return function(a)
      local u, s, v = f(a)
      return u:abs(), s, v:abs()
    end
  end
  return {
    of("linalg_cholesky", function(a) return linalg.cholesky(definite(a)) end, x(2, 3, 3)),
    of("cholesky", function(a) return lucerna.cholesky(definite(a), true) end, x(3, 3)),
    of("linalg_cholesky_ex", function(a)
      return (linalg.cholesky_ex(definite(a), {upper = true}))
    end, x(3, 3)),
    of("cholesky_solve", function(b, a)
      return lucerna.cholesky_solve(b, a + 4 * eye)
    end, x(3, 2), x(2, 3, 3)),
    of("cholesky_inverse", function(a)
      return lucerna.cholesky_inverse(a + 4 * eye, true)
    end, x(3, 3)),
    of("linalg_eigh", function(a)
      local values, vectors = linalg.eigh(symmetric(a))
      return values, vectors:abs()
    end, x(2, 3, 3)),
    of("linalg_eigvalsh", function(a) return linalg.eigvalsh(symmetric(a)) end, x(3, 3)),
    of("linalg_eig", function(a)
      local values, vectors = linalg.eig(a)
      return values, vectors:abs()
    end, x(2, 3, 3)),
    of("linalg_eig", function(a, b)
      local values, vectors = linalg.eig(lucerna.complex(a, b))
      return values, vectors:abs()
    end, x(3, 3), x(3, 3)),
    of("linalg_svd", sizes(function(a) return linalg.svd(a, false) end), x(2, 4, 3)),
    of("linalg_svd", sizes(function(a) return linalg.svd(a, false) end), x(2, 4)),
    of("svd", sizes(lucerna.svd), x(3, 3)),
    of("linalg_cond", function(a) return linalg.cond(a + 3 * eye, 1) end, x(3, 3)),
    of("linalg_cond_named", function(a) return linalg.cond(a + 3 * eye, "fro") end, x(3, 3)),
  }
end

--- {function, arguments…}: leaves among the arguments are differentiated, once and (unless
-- `once`) twice.
function M.gradients()
  lucerna.manual_seed(1)
  local list = {
    {x(2, 3).contiguous, x(2, 3)}, {lucerna.resolve_conj, x(2)}, {lucerna.positive, x(2)},
    {lucerna.sinc, x(3)},
    {z().to, x(2), "cpu"}, {z().to, x(2), x(1)}, {z().type, x(2), lucerna.float64},
    {z().double, x(2)}, {z().cpu, x(2)}, {lucerna.nanmean, x(2, 3), 2},
    {lucerna.float_power, positive(3), x(3)}, of("T", function(a) return a.T end, x(2, 3)),
    of("mT", function(a) return a.mT end, x(2, 2, 3)),
    {lucerna.narrow_copy, x(2, 3), 2, 2, 2}, {lucerna.orgqr, x(4, 3), x(2)},
    {z().as_strided_scatter, x(2, 3), x(2, 2), {2, 2}, {1, 2}, 1},
    {lucerna.as_strided_scatter, x(3), x(2), {2}, {2}}, {lucerna.vander, x(3)},
    {lucerna.vdot, x(3), x(3)}, {lucerna.aminmax, distinct(2, 3)},
    {lucerna.max, distinct(4), x(4)}, {lucerna.min, distinct(4), x(4)},
    {lucerna.matmul, x(2, 2, 3), x(3, 2)}, {lucerna.mm, x(2, 3), x(3, 2)},
    {lucerna.bmm, x(2, 2, 3), x(2, 3, 1)}, {lucerna.mv, x(2, 3), x(3)}, {lucerna.dot, x(3), x(3)},
    {F.linear, x(2, 3), x(2, 3), x(2)}, {lucerna.addmm, x(2), x(2, 3), x(3, 2), {beta = 2}},
    {lucerna.addmv, x(2), x(2, 3), x(3), {alpha = 3}},
    {lucerna.baddbmm, x(2, 2, 2), x(2, 2, 1), x(2, 1, 2)},
    {lucerna.addbmm, x(2, 2), x(2, 2, 1), x(2, 1, 2)}, {lucerna.addr, x(2, 3), x(2), x(3)},
    {lucerna.outer, x(2), x(3)}, {lucerna.inner, x(2, 3), x(3)},
    {lucerna.tensordot, x(2, 3), x(3, 2), 1}, {lucerna.tensordot, x(2, 3), x(3, 2), {2}, {1}},
    {lucerna.einsum, "ij,jk->ki", {x(2, 3), x(3, 2)}}, {F.bilinear, x(2, 2), x(2, 3), x(2, 2, 3)},
    {F.prelu, x(2, 3), x(3)}, {F.glu, x(2, 4)}, {F.softmax, x(2, 3), 2},
    {F.log_softmax, x(2, 3), 1}, {F.softmin, x(2, 3), 2}, {F.threshold, x(5), 0.3, 7},
    {F.conv1d, x(1, 2, 4), x(2, 2, 2), x(2)},
    {F.conv2d, x(1, 2, 3, 3), x(2, 1, 2, 2), {groups = 2}},
    {F.conv3d, x(1, 1, 2, 2, 3), x(1, 1, 1, 2, 2), x(1)},
    {F.conv_transpose1d, x(1, 2, 3), x(2, 1, 2), x(1), 2},
    {F.conv_transpose2d, x(1, 1, 2, 2), x(1, 2, 2, 2), x(2)},
    {F.conv_transpose3d, x(1, 1, 1, 2, 2), x(1, 1, 1, 2, 1)},
    {F.max_pool1d, distinct(1, 2, 6), 2}, {F.max_pool2d, distinct(1, 1, 4, 4), 3, 1, 1},
    {F.max_pool1d_with_indices, distinct(1, 2, 6), 2},
    {F.max_pool2d_with_indices, distinct(1, 1, 4, 4), 2},
    {F.avg_pool1d, x(1, 2, 5), 2}, {F.avg_pool2d, x(1, 1, 4, 4), 3, 2, 1},
    {F.adaptive_avg_pool1d, x(1, 2, 5), 3}, {F.adaptive_avg_pool2d, x(1, 1, 4, 5), {2, 3}},
    {F.adaptive_max_pool1d, distinct(1, 2, 5), 3},
    {F.adaptive_max_pool2d, distinct(1, 1, 4, 5), {2, 3}},
    {F.batch_norm, x(4, 2), nil, nil, x(2), x(2), true, n = 7},
    {F.batch_norm, x(3, 2), z(2):double(), lucerna.ones(2):double(), x(2), x(2)},
    {F.instance_norm, x(2, 2, 3), nil, nil, x(2), x(2), n = 6},
    {F.layer_norm, x(2, 3), {3}, x(3), x(3)},
    {F.group_norm, x(2, 4), 2, x(4), x(4)}, {F.rms_norm, x(2, 3), {3}, x(3)},
    {F.normalize, x(2, 3)}, {F.nll_loss, x(3, 4), ids(1, 4, 2), x(4):detach()},
    {F.cross_entropy, x(3, 4), ids(1, 4, 2), {label_smoothing = 0.1}},
    {F.mse_loss, x(2, 3), x(2, 3)}, {F.l1_loss, x(2, 3), x(2, 3)},
    {F.smooth_l1_loss, x(2, 3), x(2, 3)}, {F.huber_loss, x(2, 3), x(2, 3)},
    {F.binary_cross_entropy, positive(4), positive(4)},
    {F.binary_cross_entropy_with_logits, x(4), positive(4)}, {F.kl_div, x(2, 3), positive(2, 3)},
    once("ctc_loss", function(a)
      return F.ctc_loss(a:log_softmax(-1), ids(2, 3, 3), {6}, {3})
    end, x(6, 1, 4)),
    once("grid_sample", F.grid_sample, x(1, 2, 3, 4), positive(1, 2, 3, 2)),
    once("grid_sample", function(a, grid)
      return F.grid_sample(a, grid * 0.9, "bicubic", "reflection", true)
    end, x(1, 1, 3, 4), x(1, 2, 2, 2)),
    once("grid_sample", function(a, grid)
      return F.grid_sample(a, grid * 0.4, {padding_mode = "border"})
    end, x(1, 1, 2, 3, 4), x(1, 1, 2, 2, 3)),
    {F.embedding, ids(1, 3, 1), x(3, 2)}, {F.cosine_similarity, x(2, 3), x(2, 3)},
    {F.pairwise_distance, x(2, 3), x(2, 3)},
    drawn("dropout", F.dropout, x(2, 3)), drawn("dropout1d", F.dropout1d, x(2, 3)),
    drawn("dropout2d", F.dropout2d, x(1, 3, 1, 2)), drawn("dropout3d", F.dropout3d, x(1, 3, 1, 1,
      1)),
  }
  for _, call in ipairs(linalg_gradients()) do list[#list + 1] = call end
  for _, name in ipairs {"leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "softplus",
    "logsigmoid", "hardtanh", "relu6", "hardsigmoid", "hardswish", "softsign", "tanhshrink",
    "hardshrink", "softshrink"} do
    list[#list + 1] = {F[name], x(6)}
  end
  -- What writes its tensor without looking at it leaves no gradient.
  for _, name in ipairs {"uniform_", "normal_", "log_normal_", "cauchy_", "exponential_",
    "bernoulli_",
    "random_", "geometric_", "random_to_", "random_from_"} do
    local method, more = name:gsub("_to_", "_"):gsub("_from_", "_"), {}
    if name == "geometric_" then more = {0.5} end
    if name == "random_to_" then more = {9} end
    if name == "random_from_" then more = {2, 9} end
    list[#list + 1] = drawn(name, function(a)
      local y = a * 2
      y[method](y, table.unpack(more))
      return y * (name == "random_" and 1e-10 or 1) + a
    end, x(3))
  end
  -- Comparisons in place are flat too.
  for _, name in ipairs {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
    "logical_xor",
    "heaviside", "logical_not"} do
    list[#list + 1] = of(name, function(a, b)
      local y = a * 2
      return y[name .. "_"](y, name ~= "logical_not" and b or nil) + a
    end, x(3), x(3):detach())
  end
  return list
end

local INTEGER_RESULTS = {"reciprocal", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2",
  "log10",
  "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
  "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma", "sigmoid", "logit"}

--- {text of the message, function, arguments…}
function M.refusals()
  local t = core.Tensor
  local list = {
    {"trying to create tensor with negative", lucerna.empty, -1},
    {"s must be a number or boolean", lucerna.scalar_tensor, "x"},
    {"trying to create tensor with negative", t.new_zeros, z(1), -2},
    {"trying to create tensor with negative", t.new_ones, z(1), {2, -1}},
    {"trying to create tensor with negative", t.new_empty, z(1), 2, -1},
    {"trying to create tensor with negative", t.new_full, z(1), {-1}, 2},
    {"number of steps must be non-negative, got -1", lucerna.logspace, 0, 1, -1},
    {"to: expected a tensor, a dtype such as 'float32' or the device 'cpu', the only one in this "
      .. "build (got 'flaot32')", t.to, z(1), "flaot32"},
    {"zeros: device must be 'cpu' in this build (got 'tpu')", lucerna.zeros, 1, {device = "tpu"}},
    {"copy must be a boolean", t.to, z(1), z(1), false, "yes"},
    {"other must be a Tensor", t.type_as, z(1), 3},
    {"trying to create tensor with negative", lucerna.rand, -1},
    {"trying to create tensor with negative", lucerna.randn, 2, -3},
    {"expects 'from' to be less than 'to', but", lucerna.randint_like, z(2), 0},
    {"expects 'from' to be less than 'to', but", lucerna.randint_like, z(2), 5, 5},
    {"expects std >= 0.0, but found std -1", lucerna.normal, 0, -1, {2}},
    {"The size of tensor a", lucerna.normal, z(2), z(3)},
    {"not implemented for dtype int64", core._standard_gamma, z(2):long()},
    {"must have at least one dimension", core._sample_dirichlet, lucerna.tensor(1.0)},
    {"expects p to be in [0, 1], but got p=1.5", t.bernoulli_, z(2), 1.5},
    {"expects 'from' to be less than 'to', but", t.random_, z(2), 5, 5},
    {"shape '[5]' is invalid for input of size 6", t.view_as, z(2, 3), z(5)},
    {"shape '[5]' is invalid for input of size 6", t.reshape_as, z(2, 3), z(5)},
    {"the expanded size of the tensor", t.expand_as, z(2, 3), z(3, 3)},
    {"the expanded size of the tensor", lucerna.broadcast_to, z(2, 3), 2, 2},
    {"dim 3 is out of range [-2, 2]", lucerna.movedim, z(2, 3), 1, 3},
    {"expected src to have the size of the part", lucerna.diagonal_scatter, z(2, 3), z(5)},
    {"expected src to have the size of the part, [2], got [5]", lucerna.as_strided_scatter, z(2, 3),
      z(5), {2}, {1}},
    {"exceed dimension size (3)", lucerna.narrow_copy, z(2, 3), 2, 2, 3},
    {"tau must have input's dtype and batch", lucerna.orgqr, z(3, 2), z(2, 2)},
    {"dim 3 is out of range [-2, 2]", lucerna.roll, z(2, 3), 1, 3},
    {"shifts and dimensions must align: 2 shifts", lucerna.roll, z(2, 3), {1, 2}, {1}},
    {"expected 2 dims of a tensor of at least 2", lucerna.rot90, z(3)},
    {"input tensor must have at least 2", lucerna.tril, z(3)},
    {"input tensor must have at least 2", lucerna.triu, z(3)},
    {"dimensions cannot be identical 1, 1", lucerna.diag_embed, z(3), 0, 1, 1},
    {"supports 1D or 2D tensors, got 3D", lucerna.diag, z(2, 2, 2)},
    {"a tensor of shape [2305843009213693953", lucerna.diagflat, z(2), 2 ^ 62},
    {"sizes of tensors must match except in", lucerna.hstack, {z(2, 3), z(3, 3)}},
    {"sizes of tensors must match except in", lucerna.vstack, {z(2, 3), z(2, 2)}},
    {"sizes of tensors must match except in", lucerna.dstack, {z(2, 3), z(2, 2)}},
    {"sizes of tensors must match except in", lucerna.column_stack, {z(2), z(3)}},
    {"expected scalar or 1D tensors, got 2D at", lucerna.meshgrid, {z(2, 2), z(2)}},
    {"expects 1D tensors, got 2D at position 1", lucerna.cartesian_prod, {z(2, 2)}},
    {"input tensors must have 2 or fewer", lucerna.block_diag, {z(2, 2, 2)}},
    {"index 0 is out of range", lucerna.tensor_split, z(3), {0}},
    {"index 0 is out of range", lucerna.tensor_split, z(3), lucerna.tensor{2, 0}},
    {"requires a tensor with at least 1", lucerna.hsplit, lucerna.tensor(1), {2}},
    {"requires a tensor with at least 2", lucerna.vsplit, z(3), {2}},
    {"requires a tensor with at least 3", lucerna.dsplit, z(3, 2), {2}},
    {"index 4 is out of range [1, 3]", lucerna.scatter, z(3), 1, ids(4), 1},
    {"index 4 is out of range [1, 3]", lucerna.scatter_add, z(3), 1, ids(4), z(1)},
    {"input and indices should have the same", lucerna.take_along_dim, z(2, 3), ids(3, 4), 1},
    {"The size of tensor a", lucerna.rsub, z(2), z(3)},
    {"n must not be negative", lucerna.polygamma, -1, z(2)},
    {"The size of tensor a", lucerna.clamp_min, z(2), z(3)},
    {"The size of tensor a", lucerna.clamp_max, z(2), z(3)},
    {"The size of tensor a", lucerna.addcmul, z(2), z(2), z(3)},
    {"The size of tensor a", lucerna.nextafter, z(2), z(3)},
    {"not implemented for float32, expected", lucerna.bitwise_left_shift, ids(1), z(1)},
    {"not implemented for float32, expected", lucerna.bitwise_right_shift, ids(1), z(1)},
    {"not implemented for float32, expected", lucerna.gcd, z(1), z(1)},
    {"not implemented for float32, expected", lucerna.lcm, z(1), z(1)},
    {"The size of tensor a", lucerna.allclose, z(2), z(3)},
    {"expected condition to be a bool tensor, got", t.where, z(2), z(2), z(2)},
    {"The size of tensor a", lucerna.fmax, z(2), z(3)},
    {"The size of tensor a", lucerna.fmin, z(2), z(3)},
    {"dim 2 is out of range [-1, 1]", lucerna.prod, z(2), 2},
    {"dim 2 is out of range [-1, 1]", lucerna.all, z(2), 2},
    {"dim -2 is out of range [-1, 1]", lucerna.any, z(2), -2},
    {"dim 2 is out of range [-1, 1]", lucerna.count_nonzero, z(2), 2},
    {"The size of tensor a", lucerna.max, z(2), z(3)},
    {"The size of tensor a", lucerna.min, z(2), z(3)},
    {"dim 3 is out of range [-1, 1]", lucerna.norm, z(2), "fro", 3},
    {"The size of tensor a", lucerna.dist, z(2), z(3)},
    {"dim 3 is out of range [-1, 1]", lucerna.logsumexp, z(2), 3},
    {"dim 2 is out of range [-1, 1]", lucerna.cummax, z(2), 2},
    {"dim 2 is out of range [-1, 1]", lucerna.cummin, z(2), 2},
    {"dim 2 is out of range [-1, 1]", lucerna.sort, z(2), 2},
    {"dim 2 is out of range [-1, 1]", lucerna.argsort, z(2), 2},
    {"dim 2 is out of range", lucerna.unique, z(2), {dim = 2}},
    {"max value -1 is outside the range of uint8", lucerna.clamp_max, z(2):byte(), -1},
    {"to type int8 without overflow", lucerna.clamp, z(2):char(), 300},
    {"to type int8 without overflow", lucerna.where, z(2):bool(), z(2):char(), 300},
    {"sizes of 0 besides dim 1's", lucerna.unique_consecutive, z(2, 0), {dim = 1}},
    {"has no dimensions", lucerna.unique, z(), {dim = 1}},
    {"last stride must be 1", z(2, 2).view, z(2, 2):t(), lucerna.int16},
    {"must be divisible by 4", z(3).view, z(3), lucerna.complex128},
    {"cannot be viewed as bool", z(3).view, z(3), lucerna.bool},
    {"expected indices to be an integer tensor", lucerna.unravel_index, z(3), {3}},
    {"is not expandable to size", z(3).sum_to_size, z(3), 2},
    {"are too large for input size 5", F.fractional_max_pool2d, z(1, 2, 5, 5), 2,
      {output_size = math.maxinteger}},
    {"must be a Tensor", lucerna.isin, 1, 2},
    {"with 2 dimensions", lucerna.norm, z(2), "nuc"},
    {"a position for each of the 3", lucerna.gradient, z(3), {spacing = {z(2)}}},
    {"boundaries must have 1 dimension", lucerna.bucketize, z(2), z(2, 2)},
    {"The size of tensor a", lucerna.float_power, z(2), z(3)},
    {"The size of tensor a", lucerna.ldexp, z(2), z(3)},
    {"dim 2 is out of range [-1, 1]", lucerna.nanmean, z(2), 2},
    {"n must not be negative", lucerna.diff, z(2), -1},
    {"q must be in the range [0, 1]", lucerna.quantile, z(2), 1.5},
    {"q must be in the range [0, 1] (got -0.5)", lucerna.quantile, z(1), lucerna.tensor{1, -0.5}},
    {"q must be a number or a vector (got [1, 2])", lucerna.quantile, z(2), z(1, 2)},
    {"q must be in the range [0, 1]", lucerna.nanquantile, z(2), 1.5},
    {"input has 3 columns, other has 2 rows", lucerna.matmul, z(2, 3), z(2, 3)},
    {"input has 3 columns, other has 2 rows", lucerna.mm, z(2, 3), z(2, 3)},
    {"batch sizes differ, 1 and 2", lucerna.bmm, z(1, 2, 3), z(2, 3, 1)},
    {"input has 3 columns, other has 2 rows", lucerna.mv, z(2, 3), z(2)},
    {"both must have one size", lucerna.dot, z(2), z(3)},
    {"input has 3 features, weight expects 2", F.linear, z(2, 3), z(3, 2)},
    {"input [5] does not broadcast to the", lucerna.addmm, z(5), z(2, 3), z(3, 2)},
    {"input [5] does not broadcast to the", lucerna.addmv, z(5), z(2, 3), z(3)},
    {"input [5] does not broadcast to the", lucerna.baddbmm, z(5), z(1, 2, 3), z(1, 3, 2)},
    {"expected 3 and 3 dimensions", lucerna.addbmm, z(2, 2), z(2, 3), z(1, 3, 2)},
    {"The size of tensor a", lucerna.addr, z(2, 2), z(3), z(2)},
    {"at most 4 dimensions", lucerna.kron, z(1, 1, 1, 1, 2), z(2)},
    {"both must be vectors", lucerna.outer, z(2, 2), z(2)},
    {"the last dimensions must have one size", lucerna.inner, z(2, 3), z(2, 2)},
    {"contracted dims 2 and 1 have sizes 3 and 2", lucerna.tensordot, z(2, 3), z(2, 3), 1},
    {"contracted dims 1 and 2 have sizes 2 and 3", lucerna.tensordot, z(2, 3), z(2, 3), {1}, {2}},
    {"operand 2 has size 2 where another has 3", lucerna.einsum, "ij,jk", {z(2, 3), z(2, 2)}},
    {"both inputs must agree in all but the last", F.bilinear, z(2, 3), z(3, 3), z(1, 3, 3)},
    {"approximate must be 'none' or 'tanh'", F.gelu, z(2), "erf"},
    {"weight must be a vector of 1 value or one for each of", F.prelu, z(2, 3), z(2)},
    {"weight must be a vector of 1 value or one for each of 3", F.prelu, z(2, 3), z(3, 1)},
    {"the split dimension must have an even size", F.glu, z(3)},
    {"dim 2 is out of range [-1, 1]", F.softmax, z(2), 2},
    {"dim 2 is out of range [-1, 1]", F.log_softmax, z(2), 2},
    {"dim 2 is out of range [-1, 1]", F.softmin, z(2), 2},
    {"weight's kernel must be at least 1", F.conv_transpose1d, z(1, 2, 4), z(2, 3, 0)},
    {"input has 2 channels, weight expects 1 with", F.conv1d, z(1, 2, 3), z(1, 1, 2)},
    {"weight's kernel must be at least 1", F.conv_transpose1d, z(1, 2, 4), z(2, 3, 0)},
    {"kernel [4, 4]", F.conv2d, z(1, 2, 3, 3), z(1, 2, 4, 4)},
    {"input must be [N, C, D, H, W] or [C, D, H", F.conv3d, z(2, 3), z(1, 1, 1, 1, 1)},
    {"input has 2 channels, weight expects 1 with", F.conv_transpose1d, z(1, 2, 3), z(1, 1, 2)},
    {"output_padding must be smaller than stride",
      F.conv_transpose2d, z(1, 2, 3, 3), z(2, 1, 2, 2), {output_padding = 1}},
    {"padding must be at most half of kernel_size", F.max_pool1d, z(1, 4), 2, {padding = 2}},
    {"kernel_size must be at least 1", F.max_pool1d_with_indices, z(1, 4), 0},
    {"input must be [N, C, H, W] or [C, H, W]", F.max_pool2d, z(2, 2), 2},
    {"stride must be at least 1", F.avg_pool1d, z(1, 4), 2, 0},
    {"divisor_override must not be zero", F.avg_pool2d, z(1, 4, 4), 2, {divisor_override = 0}},
    {"output_size must be at least 0", F.adaptive_avg_pool1d, z(1, 4), -1},
    {"input must be [N, C, H, W] or [C, H, W]", F.adaptive_avg_pool2d, z(4), 2},
    {"output_size must be at least 0", F.adaptive_max_pool1d, z(1, 4), -1},
    {"input has no elements along a pooled", F.adaptive_max_pool2d, z(1, 4, 0), 2},
    {"input has 3 channels, weight has 2 values",
      F.batch_norm, z(2, 3), nil, nil, z(2), nil, true, n = 8},
    {"input must be [N, C, L, ...]", F.instance_norm, z(2, 3)},
    {"input must end in normalized_shape [2]", F.layer_norm, z(2, 3), {2}},
    {"3 channels are not divisible by num_groups=2", F.group_norm, z(2, 3), 2},
    {"input must end in normalized_shape [2]", F.rms_norm, z(2, 3), {2}},
    {"dim 3 is out of range [-2, 2]", F.normalize, z(2, 3), 2, 3},
    {"Target 4 is out of bounds.", F.nll_loss, z(2, 3), ids(1, 4)},
    {"expected input batch_size", F.cross_entropy, z(2, 3), ids(1)},
    {"The size of tensor a", F.mse_loss, z(2), z(3)},
    {"The size of tensor a", F.l1_loss, z(2), z(3)},
    {"beta must not be negative", F.smooth_l1_loss, z(2), z(2), {beta = -1}},
    {"delta must be positive", F.huber_loss, z(2), z(2), {delta = 0}},
    {"all elements of input should be between 0", F.binary_cross_entropy, z(2) + 2, z(2)},
    {"target must have input's shape", F.binary_cross_entropy_with_logits, z(2), z(3)},
    {"reduction must be 'none', 'mean' or 'sum'", F.kl_div, z(2), z(2), {reduction = "max"}},
    {"index 3 is out of range [1, 2]", F.embedding, ids(3), z(2, 2)},
    {"class 4 is out of range [1, 3]", F.one_hot, ids(1, 4), 3},
    {"The size of tensor a", F.cosine_similarity, z(2, 3), z(2, 2)},
    {"The size of tensor a", F.pairwise_distance, z(2, 3), z(2, 2)},
  }
  for _, name in ipairs(INTEGER_RESULTS) do
    list[#list + 1] = {"can't be cast", lucerna[name .. "_"], ids(1, 2)}
  end
  return list
end

return M
