-- MultivariateNormal, computed with the lower triangular factor of the covariance whatever it was
-- made from.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local kl = require "lucerna.distributions.kl"
local standard_normal = require("lucerna.distributions.normal").standard_normal
local tools = require "lucerna.distributions.tools"

local Distribution, join, fail = base.Distribution, tools.join, tools.fail

local M = {}

--- MultivariateNormal(loc, covariance_matrix, precision_matrix, scale_tril, validate_args): vectors
-- [..., n] of mean loc [..., n] and one of three [..., n, n]: the covariance, its inverse, or its
-- lower triangular factor.
M.MultivariateNormal = base.class "MultivariateNormal"
local Normal = M.MultivariateNormal
Normal.arg_constraints = {"loc", "covariance_matrix", "precision_matrix", "scale_tril",
  loc = constraints.real_vector, covariance_matrix = constraints.positive_definite,
  precision_matrix = constraints.positive_definite, scale_tril = constraints.lower_cholesky}
Normal.support, Normal.has_rsample = constraints.real_vector, true

local function solve(lower, x) return lucerna.linalg.solve_triangular(lower, x, {upper = false}) end

local function identity(like)
  return lucerna.eye(like:size(-1), tools.like(like))
end

-- The factor of the inverse of a matrix, by that of the matrix turned around.
local function of_precision(precision)
  local turned = lucerna.linalg.cholesky(precision:flip({-2, -1})):flip({-2, -1})
  return solve(turned:transpose(-2, -1), identity(precision))
end

-- The name and value of the one matrix that is given.
function M.the_matrix(who, given)
  local found
  for _, name in ipairs {"covariance_matrix", "precision_matrix", "scale_tril"} do
    if given[name] ~= nil then
      if found then found = nil break end
      found = name
    end
  end
  if not found then
    fail("%s: Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.",
      who)
  end
  local matrix = tools.tensor(who, found, given[found])
  if matrix:dim() < 2 then
    fail("%s: %s %smust be at least two-dimensional, with optional leading batch dimensions", who,
      found, found == "scale_tril" and "matrix " or "")
  end
  return found, matrix
end

-- The lower triangular factor of the covariance.
function M.factor_of(name, matrix)
  if name == "covariance_matrix" then return lucerna.linalg.cholesky(matrix) end
  return name == "scale_tril" and matrix or of_precision(matrix)
end

local NAMES = {"loc", "covariance_matrix", "precision_matrix", "scale_tril", "validate_args",
  options = 3}

function Normal:__init(...)
  local loc, covariance, precision, scale_tril, validate_args =
    arguments("MultivariateNormal", NAMES, ...)
  tools.tensor("MultivariateNormal", "loc", loc)
  if loc:dim() < 1 then fail("MultivariateNormal: loc must be at least one-dimensional.") end
  local name, matrix = M.the_matrix("MultivariateNormal", {covariance_matrix = covariance,
    precision_matrix = precision, scale_tril = scale_tril})
  local batch = tools.broadcast_shape(tools.first(matrix.shape, -2), loc:select(-1, 1))
  local n = loc:size(-1)
  self[name], self.loc = matrix:expand(join(batch, {n, n})), loc:expand(join(batch, {n}))
  Distribution.__init(self, batch, {n}, validate_args)
  self._factor = M.factor_of(name, matrix)
end

--- A getter that computes what it gets, n dimensions of it its own, once for all of the batch.
function M.lazily(class, name, n, compute)
  class.getters[name] = function(self)
    local value = lucerna.enable_grad(compute, self)
    self[name] = value:expand(join(self.batch_shape, tools.last(value.shape, n)))
    return self[name]
  end
end

-- The three matrices of a class whose objects have _factor.
function M.matrix_getters(class)
  M.lazily(class, "scale_tril", 2, function(self) return self._factor end)
  M.lazily(class, "covariance_matrix", 2, function(self)
    return self._factor:matmul(self._factor.mT)
  end)
  M.lazily(class, "precision_matrix", 2, function(self)
    local inverse = solve(self._factor, identity(self._factor))
    return inverse.mT:matmul(inverse)
  end)
end

M.matrix_getters(Normal)

function Normal.getters:mean() return self.loc end
function Normal.getters:mode() return self.loc end

function Normal.getters:variance()
  return (self._factor ^ 2):sum(-1):expand(join(self.batch_shape, self.event_shape))
end

function Normal:_rsample(sample_shape)
  local z = standard_normal(self:_extended_shape(sample_shape), self.loc)
  return self.loc + self._factor:matmul(z:unsqueeze(-1)):squeeze(-1)
end

-- The squared length of vectors in units of the factor; one factor serves all vectors at once.
local function mahalanobis(lower, x)
  if lower:dim() > 2 then return (solve(lower, x:unsqueeze(-1)):squeeze(-1) ^ 2):sum(-1) end
  local flat = x:reshape(-1, x:size(-1)):transpose(1, 2)
  return (solve(lower, flat) ^ 2):sum(1):reshape(tools.first(x.shape, -1))
end

local function half_log_det(lower) return lower:diagonal(0, -2, -1):log():sum(-1) end

function Normal:_log_prob(value)
  local squared = mahalanobis(self._factor, value - self.loc)
  local n = self.event_shape[1]
  return (squared + n * math.log(2 * math.pi)) * -0.5 - half_log_det(self._factor)
end

function Normal:entropy()
  local n = self.event_shape[1]
  local entropy = half_log_det(self._factor) + 0.5 * n * (1 + math.log(2 * math.pi))
  return entropy:expand(self.batch_shape)
end

function M.check_events(p, q, what)
  if not tools.same(p.event_shape, q.event_shape) then
    fail("kl_divergence: KL-divergence between two %s with different event shapes cannot be "
      .. "computed", what)
  end
end

kl.register_kl(Normal, Normal, function(p, q)
  M.check_events(p, q, "Multivariate Normals")
  local ratio = solve(q.scale_tril, p.scale_tril)
  local trace = tools.sum_rightmost(ratio ^ 2, 2)
  local squared = mahalanobis(q.scale_tril, q.loc - p.loc)
  return half_log_det(q._factor) - half_log_det(p._factor)
    + (trace + squared - p.event_shape[1]) * 0.5
end)

M.half_log_det, M.mahalanobis, M.solve = half_log_det, mahalanobis, solve

return M
