-- Distributions of matrices: Wishart, of covariances, and LKJCholesky, of correlations' factors.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local gamma = require "lucerna.distributions.gamma"
local normal = require "lucerna.distributions.multivariate_normal"
local tools = require "lucerna.distributions.tools"

local fail, join = tools.fail, tools.join
local half_log_det = normal.half_log_det
local LOG_2 = math.log(2)

local M = {}

-- ---- Wishart ----

--- Wishart(df, covariance_matrix, precision_matrix, scale_tril, validate_args): the sum of x xᵀ
-- of df vectors x of mean 0; one of three [..., p, p]: their covariance, its inverse, or its lower
-- triangular factor. df > p - 1 need not be whole.
M.Wishart = base.class("Wishart", base.ExponentialFamily)
local Wishart = M.Wishart
Wishart.arg_constraints = {"covariance_matrix", "precision_matrix", "scale_tril", "df",
  covariance_matrix = constraints.positive_definite,
  precision_matrix = constraints.positive_definite, scale_tril = constraints.lower_cholesky,
  df = constraints.greater_than(0)}
Wishart.support, Wishart.has_rsample = constraints.positive_definite, true
normal.matrix_getters(Wishart)

local NAMES = {"df", "covariance_matrix", "precision_matrix", "scale_tril", "validate_args",
  options = 3}

function Wishart:__init(...)
  local df, covariance, precision, scale_tril, validate_args = arguments("Wishart", NAMES, ...)
  local name, matrix = normal.the_matrix("Wishart", {covariance_matrix = covariance,
    precision_matrix = precision, scale_tril = scale_tril})
  if not lucerna.is_tensor(df) and type(df) ~= "number" then
    fail("Wishart: df must be a Tensor or a number (got %s)", type(df))
  end
  if type(df) == "number" then df = lucerna.tensor(df, {dtype = matrix.dtype}) end
  local p = matrix:size(-1)
  local batch = tools.broadcast_shape(tools.first(matrix.shape, -2), df)
  self.df, self[name] = df:expand(batch), matrix:expand(join(batch, {p, p}))
  if df:le(p - 1):any():item() then
    fail("Wishart: Value of df=%s expected to be greater than ndim - 1 = %d.", tools.text(df),
      p - 1)
  end
  base.Distribution.__init(self, batch, {p, p}, validate_args)
  self._factor = normal.factor_of(name, matrix)
end

-- Gives a value for each matrix the two dimensions with which it broadcasts against the matrices.
local function wide(x) return x:unsqueeze(-1):unsqueeze(-1) end

function Wishart.getters:mean() return wide(self.df) * self.covariance_matrix end

function Wishart.getters:mode()
  local factor = self.df - (self.event_shape[1] + 1)
  return wide(lucerna.where(factor:le(0), 0 / 0, factor)) * self.covariance_matrix
end

function Wishart.getters:variance()
  local v = self.covariance_matrix
  local diagonal = v:diagonal(0, -2, -1)
  return wide(self.df) * (v ^ 2 + diagonal:unsqueeze(-1) * diagonal:unsqueeze(-2))
end

-- Bartlett's decomposition: a triangle of normal values with roots of Chi2 ones on its diagonal.
local function bartlett(self, sample_shape)
  local p, like = self.event_shape[1], self._factor
  local steps = lucerna.arange(p, {dtype = like.dtype})
  local chi2 = gamma.Chi2(self.df:unsqueeze(-1) - steps, false)
  local diagonal = chi2:rsample(sample_shape):sqrt():clamp(lucerna.finfo(like.dtype).eps)
  local rows, columns = table.unpack(lucerna.tril_indices(p, p, -1):unbind())
  local shape = join(sample_shape, self.batch_shape)
  local below = lucerna.randn(join(shape, {p * (p - 1) // 2}), {dtype = like.dtype})
  local noise = lucerna.zeros(join(shape, {p * p}), {dtype = like.dtype})
  noise = noise:index_copy(-1, (rows - 1) * p + columns, below):reshape(join(shape, {p, p}))
  local lower = like:matmul(noise + diagonal:diag_embed())
  return lower:matmul(lower.mT)
end

-- Matrices that came out singular are drawn again, ten times at most.
function Wishart:_rsample(sample_shape)
  local drawn = bartlett(self, sample_shape)
  for _ = 1, 10 do
    local good = lucerna.no_grad(self.support.check, self.support, drawn)
    if good:all():item() then break end
    drawn = lucerna.where(wide(good), drawn, bartlett(self, sample_shape))
  end
  return drawn
end

-- log 2^(p / 2) and the factor's determinant, which everything has.
local function log_scale(self)
  return half_log_det(self._factor) + self.event_shape[1] * LOG_2 / 2
end

function Wishart:_log_prob(value)
  local nu, p = self.df, self.event_shape[1]
  local _, log_det = lucerna.linalg.slogdet(value)
  local ratio = lucerna.cholesky_solve(value, self._factor)
  return (nu - p - 1) / 2 * log_det - ratio:diagonal(0, -2, -1):sum(-1) / 2
    - nu * log_scale(self) - (nu / 2):mvlgamma(p)
end

function Wishart:entropy()
  local nu, p = self.df, self.event_shape[1]
  local steps = lucerna.arange(p, {dtype = nu.dtype}) / 2
  local slope = ((nu / 2):unsqueeze(-1) - steps):digamma():sum(-1)
  return log_scale(self) * (p + 1) + (nu / 2):mvlgamma(p) - (nu - p - 1) / 2 * slope + nu * (p / 2)
end

function Wishart.getters:_natural_params()
  return {self.precision_matrix / -2, (self.df - self.event_shape[1] - 1) / 2}
end

function Wishart:_log_normalizer(x, y)
  local p = self.event_shape[1]
  local _, log_det = lucerna.linalg.slogdet(x * -2)
  local half = y + (p + 1) / 2
  return half * (p * LOG_2 - log_det) + half:mvlgamma(p)
end

-- ---- LKJCholesky ----

--- LKJCholesky(dim, concentration = 1, validate_args): lower triangular factors of correlation
-- matrices [dim, dim] with density proportional to their determinant to the power concentration - 1
-- (Lewandowski, Kurowicka and Joe, 2009).
M.LKJCholesky = base.class "LKJCholesky"
local LKJ = M.LKJCholesky
LKJ.arg_constraints = {"concentration", concentration = constraints.positive}
LKJ.support = constraints.corr_cholesky

function LKJ:__init(...)
  local dim, concentration, validate_args =
    arguments("LKJCholesky", {"dim", "concentration", "validate_args", options = 2}, ...)
  if math.type(dim) ~= "integer" or dim < 2 then
    fail("LKJCholesky: Expected dim to be an integer greater than or equal to 2. Found dim=%s.",
      dim)
  end
  self.dim = dim
  self.concentration = tools.broadcast("LKJCholesky", {"concentration"}, concentration or 1.0)
  base.Distribution.__init(self, self.concentration.shape, {dim, dim}, validate_args)
end

-- The onion method: each row is a random direction, its length's square a Beta value.
function LKJ:_sample(sample_shape)
  local c, d = self.concentration, self.dim
  local steps = (lucerna.arange(d, {dtype = c.dtype}) - 1):clamp(0) -- 0 0 1 2 …
  local beta = gamma.Beta(steps + 0.5, (c + 0.5 * (d - 2)):unsqueeze(-1) - steps * 0.5, false)
  local lengths = beta:sample(sample_shape):unsqueeze(-1)
  local rows = lucerna.randn(self:_extended_shape(sample_shape), {dtype = c.dtype}):tril(-1)
  rows = rows / rows:norm(2, -1, true)
  rows:select(-2, 1):fill_(0)
  local w = lengths:sqrt() * rows
  local rest = (1 - (w ^ 2):sum(-1)):clamp(lucerna.finfo(c.dtype).tiny)
  return w + rest:sqrt():diag_embed()
end

function LKJ:_log_prob(value)
  local c, d = self.concentration, self.dim
  local diagonal = value:diagonal(0, -2, -1):narrow(-1, 2, d - 1)
  local steps = lucerna.arange(2, d + 1, {dtype = c.dtype})
  local order = (c - 1):unsqueeze(-1) * 2 + d - steps
  local alpha = c + 0.5 * (d - 1)
  local norm = (alpha - 0.5):mvlgamma(d - 1) - alpha:lgamma() * (d - 1)
    + 0.5 * (d - 1) * math.log(math.pi)
  return (order * diagonal:log()):sum(-1) - norm
end

return M
