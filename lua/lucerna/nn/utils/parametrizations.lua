-- Ready-made parametrizations: orthogonal matrices, weight norm, spectral norm.

local lucerna = require "lucerna"
local nn = require "lucerna.nn"
local arguments = require "lucerna.arguments"
local shape_text = require "lucerna.shape_text"
local check = require "lucerna.nn.utils.check"
local parametrize = require "lucerna.nn.utils.parametrize"
local SpectralNorm = require("lucerna.nn.utils.spectral_norm").SpectralNorm
local WeightNorm = require("lucerna.nn.utils.weight_norm").WeightNorm

local root = require "lucerna.core"

local normalize = root.functional.normalize
local linalg = lucerna.linalg

local parametrizations = {}

local function check_weight(who, module, name)
  check.module(who, "module", module)
  local weight = module[name]
  if not lucerna.is_tensor(weight) then
    check.fail("Module '%s' has no parameter or buffer with name '%s'", check.text(module), name)
  end
  return weight
end

-- ---- orthogonal ----

local MAPS = { matrix_exp = true, cayley = true, householder = true }

local Orthogonal = nn.class "_Orthogonal"

function Orthogonal:__init(weight, map, use_trivialization)
  self.shape, self.orthogonal_map = weight:size(), map
  self.use_trivialization = use_trivialization
  if use_trivialization then self:register_buffer("base", nil) end
end

local function diagonal(x) return x:diagonal(0, -2, -1) end

local function is_orthogonal(q)
  local n, k = q:size(-2), q:size(-1)
  local product = q:transpose(-2, -1):matmul(q)
  local identity = lucerna.eye(k, { dtype = q.dtype }):expand(product:size())
  return lucerna.allclose(product, identity, { atol = 10 * n * lucerna.finfo(q.dtype).eps })
end

-- Q of A = QR with a positive diagonal of R, for A with at least as many rows as columns.
local function make_orthogonal(a)
  local x, tau = lucerna.geqrf(a)
  return linalg.householder_product(x, tau) * diagonal(x):sign():unsqueeze(-2)
end

-- exp(A), or (1 + A/2)(1 - A/2)^-1, of the skew-symmetric A that x's lower triangle gives.
local function skew_map(x, map)
  local n, k = x:size(-2), x:size(-1)
  x = x:tril()
  if n ~= k then
    local shape = x:size()
    shape[#shape] = n - k
    x = lucerna.cat({ x, x:new_zeros(shape) }, -1)
  end
  local a = x - x:transpose(-2, -1)
  local identity = lucerna.eye(n, { dtype = a.dtype })
  local q = map == "matrix_exp" and linalg.matrix_exp(a) or
    linalg.solve(identity - a / 2, identity + a / 2)
  return n ~= k and q:narrow(-1, 1, k) or q
end

local function householder_map(x)
  local a = x:tril(-1)
  local tau = 2 / (1 + (a * a):sum(-2))
  -- the diagonal holds ones and minus ones, which are not trained
  return linalg.householder_product(a, tau) * diagonal(x):detach():int():unsqueeze(-2)
end

function Orthogonal:forward(x)
  local transposed = x:size(-2) < x:size(-1)
  if transposed then x = x:transpose(-2, -1) end
  local q
  if self.orthogonal_map == "householder" then
    q = householder_map(x)
  else
    q = skew_map(x, self.orthogonal_map)
  end
  if self.use_trivialization then
    if self.base == nil then
      check.fail("orthogonal: a tensor that is parametrized already needs use_trivialization=false")
    end
    q = self.base:matmul(q)
  end
  return transposed and q:transpose(-2, -1) or q
end

-- What the householder map takes to Q.
local function householder_inverse(q, transposed)
  local a, tau = lucerna.geqrf(q)
  local signs = diagonal(a):sign()
  -- tau is 0 where LAPACK needs no reflection
  diagonal(a):copy_(lucerna.where(tau:eq(0), -signs, signs))
  return transposed and a:transpose(-2, -1) or a
end

-- base becomes Q, completed to a square matrix, and the original the map's zero.
local function new_base(self, q, like)
  local n, k = q:size(-2), q:size(-1)
  if n == k then
    self.base = is_orthogonal(q) and q:clone() or make_orthogonal(q)
  else
    local shape = q:size()
    shape[#shape] = n - k
    self.base = make_orthogonal(lucerna.cat({ q, lucerna.randn(shape, { dtype = q.dtype }) }, -1))
  end
  local original = lucerna.zeros_like(like)
  diagonal(original):fill_(-1)
  return original
end

local function original_of(self, q)
  if table.concat(q:size(), " ") ~= table.concat(self.shape, " ") then
    check.fail("Expected a matrix or batch of matrices of shape torch.Size(%s). Got a tensor of "
      .. "shape %s.", shape_text(self.shape), check.size(q))
  end
  local like, transposed = q:detach(), q:size(-2) < q:size(-1)
  q = transposed and like:transpose(-2, -1) or like
  if self.use_trivialization then return new_base(self, q, like) end
  if self.orthogonal_map == "householder" then return householder_inverse(q, transposed) end
  return nil, "It is not possible to assign to the matrix exponential or the Cayley "
    .. "parametrizations when use_trivialization=false."
end

function Orthogonal:right_inverse(q) return lucerna.no_grad(original_of, self, q) end

--- orthogonal(module, name = "weight", orthogonal_map, {use_trivialization = true}): keeps a matrix
-- (or a batch of them, [*, n, k]) orthogonal: its columns, or its rows if k > n. orthogonal_map:
-- "matrix_exp", "cayley" or "householder". Returns the module.
function parametrizations.orthogonal(...)
  local module, name, map, trivialize = arguments("orthogonal",
    { "module", "name", "orthogonal_map", "use_trivialization", options = 2 }, ...)
  name = name or "weight"
  local weight = check_weight("orthogonal", module, name)
  if weight:dim() < 2 then
    check.fail("Expected a matrix or batch of matrices. Got a tensor of %d dimensions.",
      weight:dim())
  end
  map = map or (weight:size(-2) == weight:size(-1) and "matrix_exp" or "householder")
  if not MAPS[map] then
    check.fail('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: %s',
      map)
  end
  return parametrize.register_parametrization(module, name,
    Orthogonal(weight, map, trivialize ~= false), { unsafe = true })
end

-- ---- weight norm ----

local WeightNormMap = nn.class "_WeightNorm"

function WeightNormMap:__init(dim) self.dim = dim end
function WeightNormMap:forward(g, v) return WeightNorm.weight(v, g, self.dim) end
function WeightNormMap:right_inverse(weight)
  return WeightNorm.norm_except_dim(weight, self.dim), weight
end

-- Checkpoints of nn.utils.weight_norm have name_g and name_v.
local function load_old(name)
  return function(state_dict, prefix)
    local g, v = prefix .. name .. "_g", prefix .. name .. "_v"
    if state_dict[g] == nil or state_dict[v] == nil then return end
    local key = ("%sparametrizations.%s.original"):format(prefix, name)
    state_dict[key .. "0"], state_dict[key .. "1"] = state_dict[g], state_dict[v]
    state_dict[g], state_dict[v] = nil, nil
  end
end

--- weight_norm(module, name = "weight", dim = 1): the tensor as magnitude original0 (the norm over
-- all dimensions but dim; -1 or none: over all) times direction original1. State dicts of
-- nn.utils.weight_norm load. Returns the module.
function parametrizations.weight_norm(...)
  local who = "weight_norm"
  local module, name, dim = WeightNorm.arguments(who, ...)
  local weight = check_weight(who, module, name)
  dim = WeightNorm.read_dim(who, weight, dim)
  if parametrize.is_parametrized(module, name) then
    check.fail("weight_norm: %s is parametrized already, and norm and direction come first", name)
  end
  return parametrize._register(module, name, WeightNormMap(dim), true, function()
    module:_register_load_state_dict_pre_hook(load_old(name))
  end)
end

-- ---- spectral norm ----

local SpectralNormMap = nn.class "_SpectralNorm"

function SpectralNormMap:__init(weight, iterations, dim, eps)
  local n = weight:dim()
  if math.type(dim) ~= "integer" or dim == 0 or math.abs(dim) > n then
    check.fail("Dimension out of range (expected to be in range of [-%d, %d] but got %s)", n, n,
      dim)
  end
  SpectralNorm.check_iterations("spectral_norm", iterations)
  self.dim, self.eps = dim > 0 and dim or n + dim + 1, eps
  if n == 1 then return end
  self.n_power_iterations = iterations
  local rows = SpectralNorm.matrix(weight:detach(), self.dim)
  self:register_buffer("_u", SpectralNorm.random(weight, rows:size(1), eps))
  self:register_buffer("_v", SpectralNorm.random(weight, rows:size(2), eps))
  self:iterate(rows, 15)
end

-- u first, then v, in place: both are buffers.
local function iterate(self, rows, n)
  for _ = 1, n do
    self._u:copy_(normalize(rows:mv(self._v), { dim = 1, eps = self.eps }))
    self._v:copy_(normalize(rows:t():mv(self._u), { dim = 1, eps = self.eps }))
  end
end

function SpectralNormMap:iterate(rows, n) lucerna.no_grad(iterate, self, rows, n) end

function SpectralNormMap:forward(weight)
  if weight:dim() == 1 then return normalize(weight, { dim = 1, eps = self.eps }) end
  local rows = SpectralNorm.matrix(weight, self.dim)
  if self.training then self:iterate(rows, self.n_power_iterations) end
  -- copies: the graph keeps them, the next forward changes the buffers
  local u, v = self._u:clone(), self._v:clone()
  return weight / u:dot(rows:mv(v))
end

function SpectralNormMap:right_inverse(value) return value end

--- spectral_norm(module, name = "weight", n_power_iterations = 1, eps = 1e-12, dim): the tensor
-- divided by its largest singular value, estimated by power iterations, in training only. dim: that
-- of the outputs, by default 1 (2 for transposed convolutions). Returns the module.
function parametrizations.spectral_norm(...)
  local module, name, iterations, eps, dim = arguments("spectral_norm",
    { "module", "name", "n_power_iterations", "eps", "dim", options = 2 }, ...)
  name = name or "weight"
  local weight = check_weight("spectral_norm", module, name)
  return parametrize.register_parametrization(module, name, SpectralNormMap(weight,
    iterations or 1, dim or SpectralNorm.default_dim(module), eps or 1e-12))
end

return parametrizations
