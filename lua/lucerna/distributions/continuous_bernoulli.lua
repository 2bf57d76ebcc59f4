-- The continuous Bernoulli distribution on [0, 1], with its divergences. Near probs = 0.5, where
-- its formulas divide by zero, it is computed by Taylor series.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local kl = require "lucerna.distributions.kl"
local tools = require "lucerna.distributions.tools"

local where, INF = lucerna.where, math.huge

local M = {}

--- ContinuousBernoulli(probs, logits, lims = {0.499, 0.501}, validate_args): values in [0, 1] of
-- density proportional to probs^x (1 - probs)^(1 - x) (Loaiza-Ganem and Cunningham, 2019). Between
-- the two lims formulas are replaced by series.
M.ContinuousBernoulli = base.class("ContinuousBernoulli", base.ExponentialFamily)
local Class = M.ContinuousBernoulli
Class.arg_constraints =
  {"probs", "logits", probs = constraints.unit_interval, logits = constraints.real}
Class.support, Class.has_rsample = constraints.unit_interval, true
base.probs_or_logits(Class, true)

function Class.getters:probs()
  local probs = lucerna.enable_grad(tools.logits_to_probs, self.logits, true)
  self.probs = lucerna.enable_grad(tools.clamp_probs, probs)
  return self.probs
end

function Class:__init(...)
  local probs, logits, lims, validate_args =
    arguments("ContinuousBernoulli", {"probs", "logits", "lims", "validate_args", options = 2}, ...)
  local shape = base.set_one(self, "ContinuousBernoulli", probs, logits)
  self._lims = lims or {0.499, 0.501}
  if type(self._lims) ~= "table" or type(self._lims[1]) ~= "number"
    or type(self._lims[2]) ~= "number" then
    tools.fail("ContinuousBernoulli: lims must be two numbers (got %s)", type(lims))
  end
  base.Distribution.__init(self, shape, {}, validate_args)
  if probs ~= nil then self.probs = tools.clamp_probs(self.probs) end
end

-- Where the formulas hold; and probabilities that are safe to put into them everywhere.
local function stable(self)
  local probs, lims = self.probs, self._lims
  local far = probs:le(lims[1]):logical_or(probs:gt(lims[2]))
  return far, where(far, probs, lims[1])
end

-- log(1 - p) - log p
local function log_odds_against(p) return (-p):log1p() - p:log() end

-- The logarithm of the normalizing constant.
local function log_norm(self)
  local far, p = stable(self)
  local below, above = where(p:le(0.5), p, 0.0), where(p:ge(0.5), p, 1.0)
  local norm = log_odds_against(p):abs():log()
    - where(p:le(0.5), (below * -2):log1p(), (above * 2 - 1):log())
  local x = (self.probs - 0.5) ^ 2
  return where(far, norm, math.log(2) + (4 / 3 + x * (104 / 45)) * x)
end

function Class.getters:mean()
  local far, p = stable(self)
  local x = self.probs - 0.5
  return where(far, p / (2 * p - 1) + log_odds_against(p):reciprocal(),
    0.5 + (1 / 3 + x ^ 2 * (16 / 45)) * x)
end

function Class.getters:variance()
  local far, p = stable(self)
  local x = (self.probs - 0.5) ^ 2
  return where(far, p * (p - 1) / (1 - 2 * p) ^ 2 + log_odds_against(p) ^ -2,
    1 / 12 - (1 / 15 - x * (128 / 945)) * x)
end

function Class:_log_prob(value)
  return log_norm(self) - tools.cross_entropy(self.logits, value)
end

function Class:_cdf(value)
  local far, p = stable(self)
  local inside = (p ^ value * (1 - p) ^ (1 - value) + p - 1) / (2 * p - 1)
  inside = where(far, inside, value)
  return where(value:le(0), 0.0, where(value:ge(1), 1.0, inside))
end

function Class:_icdf(value)
  local far, p = stable(self)
  local rest = (-p):log1p()
  return where(far, ((value * (2 * p - 1) - p):log1p() - rest) / (p:log() - rest), value)
end

function Class:_rsample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  return self:_icdf(lucerna.rand(shape, {dtype = self.probs.dtype}))
end

function Class:entropy()
  local against = log_odds_against(self.probs)
  return self.mean * against - log_norm(self) - (-self.probs):log1p()
end

function Class.getters:_natural_params() return {self.logits} end

function Class:_log_normalizer(x)
  local low, high = self._lims[1] - 0.5, self._lims[2] - 0.5
  local far = x:le(low):logical_or(x:gt(high))
  local cut = where(far, x, low)
  local norm = cut:expm1():abs():log() - cut:abs():log()
  return where(far, norm, x * 0.5 + x ^ 2 / 24 - x ^ 4 / 2880)
end

-- ---- divergences ----

local define, infinite = kl._definers({"normal", "gamma", "extreme"}, M)

-- The cross entropy -E[log q(x)] of values x with this mean.
local function cross(mean, q) return -mean * q.logits - (-q.probs):log1p() - log_norm(q) end

define("ContinuousBernoulli", "ContinuousBernoulli", function(p, q)
  return p.mean * (p.logits - q.logits) + log_norm(p) + (-p.probs):log1p() - log_norm(q)
    - (-q.probs):log1p()
end)

infinite("ContinuousBernoulli", "probs", "Pareto")
infinite("Exponential", "rate", "ContinuousBernoulli")
infinite("Gamma", "concentration", "ContinuousBernoulli")
infinite("Gumbel", "loc", "ContinuousBernoulli")
infinite("Laplace", "loc", "ContinuousBernoulli")
infinite("Normal", "loc", "ContinuousBernoulli")
infinite("Pareto", "scale", "ContinuousBernoulli")

define("Beta", "ContinuousBernoulli", function(p, q) return cross(p.mean, q) - p:entropy() end)

-- As in PyTorch infinite where p does not lie inside (0, 1).
define("Uniform", "ContinuousBernoulli", function(p, q)
  local outside = p.high:ge(1):logical_or(p.low:le(0))
  return where(outside, INF, cross(p.mean, q) - p:entropy())
end)

define("ContinuousBernoulli", "Exponential", function(p, q)
  return q.rate * p.mean - q.rate:log() - p:entropy()
end)

define("ContinuousBernoulli", "Normal", function(p, q)
  local spread = p.variance + p.mean ^ 2 - q.loc * p.mean * 2
  return (q.loc / q.scale) ^ 2 * 0.5 + 0.5 * math.log(2 * math.pi) + q.scale:log()
    + spread / (q.scale ^ 2 * 2) - p:entropy()
end)

define("ContinuousBernoulli", "Uniform", function(p, q)
  local outside = q.low:ge(0):logical_or(q.high:le(1))
  return where(outside, INF, (q.high - q.low):log() - p:entropy())
end)

return M
