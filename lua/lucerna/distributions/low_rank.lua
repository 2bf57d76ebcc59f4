-- LowRankMultivariateNormal: a covariance W Wᵀ + diag(d), never inverted as a whole. With its
-- divergences from and to MultivariateNormal.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local kl = require "lucerna.distributions.kl"
local normal = require "lucerna.distributions.multivariate_normal"
local standard_normal = require("lucerna.distributions.normal").standard_normal
local tools = require "lucerna.distributions.tools"

local fail, join, first = tools.fail, tools.join, tools.first
local half_log_det, mahalanobis, solve = normal.half_log_det, normal.mahalanobis, normal.solve
local lazily, check_events = normal.lazily, normal.check_events

local M = {}

--- LowRankMultivariateNormal(loc, cov_factor, cov_diag, validate_args): vectors [..., n] of mean
-- loc and covariance cov_factor cov_factorᵀ + diag(cov_diag), with factors [..., n, m].
M.LowRankMultivariateNormal = base.class "LowRankMultivariateNormal"
local LowRank = M.LowRankMultivariateNormal
LowRank.arg_constraints = {"loc", "cov_factor", "cov_diag", loc = constraints.real_vector,
  cov_factor = constraints.independent(constraints.real, 2),
  cov_diag = constraints.independent(constraints.positive, 1)}
LowRank.support, LowRank.has_rsample = constraints.real_vector, true

local function check(loc, factor, diag)
  tools.tensor("LowRankMultivariateNormal", "loc", loc)
  tools.tensor("LowRankMultivariateNormal", "cov_factor", factor)
  tools.tensor("LowRankMultivariateNormal", "cov_diag", diag)
  if loc:dim() < 1 then fail("LowRankMultivariateNormal: loc must be at least one-dimensional.") end
  local n = loc:size(-1)
  if factor:dim() < 2 then
    fail("LowRankMultivariateNormal: cov_factor must be at least two-dimensional, with optional "
      .. "leading batch dimensions")
  end
  if factor:size(-2) ~= n then
    fail("LowRankMultivariateNormal: cov_factor must be a batch of matrices with shape %d x m", n)
  end
  if diag:dim() < 1 or diag:size(-1) ~= n then
    fail("LowRankMultivariateNormal: cov_diag must be a batch of vectors with shape %d", n)
  end
  return n
end

local function plus_identity(matrices)
  local n = matrices:size(-1)
  return matrices + lucerna.eye(n, tools.like(matrices))
end

function LowRank:__init(...)
  local loc, factor, diag, validate_args = arguments("LowRankMultivariateNormal",
    {"loc", "cov_factor", "cov_diag", "validate_args", options = 4}, ...)
  local n = check(loc, factor, diag)
  local batch = tools.broadcast_shape(first(loc.shape, -1), factor:select(-1, 1):select(-1, 1))
  batch = tools.broadcast_shape(batch, diag:select(-1, 1))
  self.loc, self.cov_diag = loc:expand(join(batch, {n})), diag:expand(join(batch, {n}))
  self.cov_factor = factor:expand(join(batch, {n, factor:size(-1)}))
  base.Distribution.__init(self, batch, {n}, validate_args)
  self._w, self._d = factor, diag
  self._wt_dinv = factor.mT / diag:unsqueeze(-2)
  self._capacitance = lucerna.linalg.cholesky(plus_identity(self._wt_dinv:matmul(factor)))
end

local LAZY = {"variance", "scale_tril", "covariance_matrix", "precision_matrix"}

function LowRank:_expand(shape)
  base.Distribution._expand(self, shape)
  for _, name in ipairs(LAZY) do self[name] = nil end -- what was computed has the other shape
end

lazily(LowRank, "variance", 1, function(self) return (self._w ^ 2):sum(-1) + self._d end)

lazily(LowRank, "scale_tril", 2, function(self) -- of a matrix whose eigenvalues are at least 1
  local root = self._d:sqrt():unsqueeze(-1)
  local scaled = self._w / root
  return root * lucerna.linalg.cholesky(plus_identity(scaled:matmul(scaled.mT)))
end)

lazily(LowRank, "covariance_matrix", 2, function(self)
  return self._w:matmul(self._w.mT) + self._d:diag_embed()
end)

lazily(LowRank, "precision_matrix", 2, function(self)
  local a = solve(self._capacitance, self._wt_dinv)
  return self._d:reciprocal():diag_embed() - a.mT:matmul(a)
end)

function LowRank.getters:mean() return self.loc end
function LowRank.getters:mode() return self.loc end

local function times(matrix, x) return matrix:matmul(x:unsqueeze(-1)):squeeze(-1) end

function LowRank:_rsample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local inner = standard_normal(join(first(shape, -1), {self.cov_factor:size(-1)}), self.loc)
  local own = standard_normal(shape, self.loc)
  return self.loc + times(self._w, inner) + self._d:sqrt() * own
end

-- The logarithm of the determinant, and squared lengths in units of the covariance (Woodbury).
local function log_det(self) return half_log_det(self._capacitance) * 2 + self._d:log():sum(-1) end

local function squared(self, x)
  return (x ^ 2 / self._d):sum(-1) - mahalanobis(self._capacitance, times(self._wt_dinv, x))
end

function LowRank:_log_prob(value)
  local n = self.event_shape[1]
  return (squared(self, value - self.loc) + log_det(self) + n * math.log(2 * math.pi)) * -0.5
end

function LowRank:entropy()
  local n = self.event_shape[1]
  return ((log_det(self) + n * (1 + math.log(2 * math.pi))) * 0.5):expand(self.batch_shape)
end

-- ---- divergences ----

local function trace_square(x) return tools.sum_rightmost(x ^ 2, 2) end

-- Half the sum of the difference of logarithms, the trace and the square, less the dimension.
local function divergence(p, logs, trace, square)
  return (logs + trace + square - p.event_shape[1]) * 0.5
end

kl.register_kl(LowRank, LowRank, function(p, q)
  check_events(p, q, "Low Rank Multivariate Normals")
  local a = solve(q._capacitance, q._wt_dinv)
  local trace = (p._d / q._d):sum(-1) + trace_square(p._w * q._d:rsqrt():unsqueeze(-1))
    - trace_square(a * p._d:sqrt():unsqueeze(-2)) - trace_square(a:matmul(p._w))
  return divergence(p, log_det(q) - log_det(p), trace, squared(q, q.loc - p.loc))
end)

kl.register_kl(normal.MultivariateNormal, LowRank, function(p, q)
  check_events(p, q, "(Low Rank) Multivariate Normals")
  local a, lower = solve(q._capacitance, q._wt_dinv), p._factor
  local trace = trace_square(lower * q._d:rsqrt():unsqueeze(-1)) - trace_square(a:matmul(lower))
  return divergence(p, log_det(q) - half_log_det(lower) * 2, trace, squared(q, q.loc - p.loc))
end)

kl.register_kl(LowRank, normal.MultivariateNormal, function(p, q)
  check_events(p, q, "(Low Rank) Multivariate Normals")
  local lower = q.scale_tril
  local trace = trace_square(solve(lower, p.cov_factor))
    + trace_square(solve(lower, p.cov_diag:sqrt():diag_embed()))
  return divergence(p, half_log_det(q._factor) * 2 - log_det(p), trace,
    mahalanobis(lower, q.loc - p.loc))
end)

return M
