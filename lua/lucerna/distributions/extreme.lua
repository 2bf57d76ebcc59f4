-- Distributions that are transforms of a simpler one: Gumbel, Pareto, Weibull, Kumaraswamy,
-- InverseGamma.

local lucerna = require "lucerna"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local Gamma = require("lucerna.distributions.gamma").Gamma
local normal = require "lucerna.distributions.normal"
local transforms = require "lucerna.distributions.transforms"
local Transformed = require("lucerna.distributions.composed").TransformedDistribution

local EULER = 0.57721566490153286060
local Affine, Exp, Power = transforms.AffineTransform, transforms.ExpTransform,
  transforms.PowerTransform

local M = {}

-- A class of two parameters; self:_make() gives the base and the transforms.
local function two(name, names, arg_constraints)
  local class = base.class(name, Transformed)
  class.arg_constraints = arg_constraints
  local take = base.taker(name, names)
  function class:__init(...)
    local validate_args = take(self, ...)
    base.Distribution.__init(self, {}, {}, validate_args) -- its checks come before the base's
    Transformed.__init(self, self:_make())
  end
  function class:_expand(shape)
    self[names[1]], self[names[2]] = self[names[1]]:expand(shape), self[names[2]]:expand(shape)
    self.base_dist, self.transforms = self:_make()
  end
  return class
end

-- ---- Gumbel ----

--- Gumbel(loc, scale, validate_args): the largest of many values that fall off exponentially.
M.Gumbel = two("Gumbel", {"loc", "scale"}, normal.Normal.arg_constraints)
local Gumbel = M.Gumbel
Gumbel.support = constraints.real

function Gumbel:_make()
  local info = lucerna.finfo(self.loc.dtype)
  local like = self.loc:detach()
  local uniform = normal.Uniform(lucerna.full_like(like, info.tiny),
    lucerna.full_like(like, 1 - info.eps), false)
  return uniform, {Exp().inv, Affine(0, lucerna.full_like(like, -1)), Exp().inv,
    Affine(self.loc, -self.scale)}
end

function Gumbel:_log_prob(value)
  local y = (self.loc - value) / self.scale
  return y - y:exp() - self.scale:log()
end

function Gumbel.getters:mean() return self.loc + self.scale * EULER end
function Gumbel.getters:mode() return self.loc end
function Gumbel.getters:stddev() return self.scale * (math.pi / math.sqrt(6)) end
function Gumbel.getters:variance() return self.stddev ^ 2 end
function Gumbel:entropy() return self.scale:log() + (1 + EULER) end

-- ---- Pareto ----

--- Pareto(scale, alpha, validate_args): values from scale on, whose density falls with the power
-- alpha + 1; both > 0.
M.Pareto = two("Pareto", {"scale", "alpha"}, {"alpha", "scale", alpha = constraints.positive,
  scale = constraints.positive})
local Pareto = M.Pareto

function Pareto:_make()
  return normal.Exponential(self.alpha, false), {Exp(), Affine(0, self.scale)}
end

function Pareto.getters:support() return constraints.greater_than_eq(self.scale) end

function Pareto.getters:mean()
  local a = self.alpha:clamp(1)
  return a * self.scale / (a - 1)
end

function Pareto.getters:mode() return self.scale end

function Pareto.getters:variance()
  local a = self.alpha:clamp(2)
  return self.scale ^ 2 * a / ((a - 1) ^ 2 * (a - 2))
end

function Pareto:entropy()
  return (self.scale / self.alpha):log() + (1 + self.alpha:reciprocal())
end

-- ---- GeneralizedPareto ----

--- GeneralizedPareto(loc, scale, concentration, validate_args): what exceeds a high threshold loc;
-- the tail ends for concentration < 0, is exponential at 0 and heavier above; scale > 0.
M.GeneralizedPareto = base.elementwise("GeneralizedPareto", nil,
  {"loc", "scale", "concentration", loc = constraints.real, scale = constraints.positive,
    concentration = constraints.real})
local General = M.GeneralizedPareto
General.has_rsample = true

-- Where the concentration is 0, and one that is safe to divide by everywhere.
local function shape_of(self)
  local zero = self.concentration:abs():le(1e-8)
  return zero, lucerna.where(zero, 1.0, self.concentration)
end

function General.getters:support()
  local c = self.concentration
  local finite = lucerna.where(c:lt(0), c, -1.0)
  local upper = lucerna.where(c:lt(0), self.loc - self.scale / finite, math.huge)
  return constraints.interval(self.loc, upper)
end

function General:_log_prob(value)
  local z, zero, c = (value - self.loc) / self.scale, shape_of(self)
  local y = c:reciprocal() + lucerna.ones_like(z)
  local curved = lucerna.where(y:eq(0), y, y * (c * z):log1p())
  return -self.scale:log() - lucerna.where(zero, z, curved)
end

--- d:log_survival_function(value): the logarithm of the probability of more than value.
function General:log_survival_function(value)
  local z, zero, c = (value - self.loc) / self.scale, shape_of(self)
  return lucerna.where(zero, -z, -(c * z):log1p() / c)
end

--- d:log_cdf(value): the logarithm of the probability of at most value.
function General:log_cdf(value) return (-self:log_survival_function(value):exp()):log1p() end

function General:_cdf(value) return self:log_cdf(value):exp() end

function General:_icdf(value)
  local zero, c = shape_of(self)
  local log_rest = (-value):log1p()
  return lucerna.where(zero, self.loc - self.scale * log_rest,
    self.loc + self.scale / c * (-c * log_rest):expm1())
end

function General:_rsample(sample_shape)
  return self:_icdf(lucerna.rand(self:_extended_shape(sample_shape), {dtype = self.loc.dtype}))
end

-- NaN where the concentration is `most` or more.
local function moment_below(self, most, f)
  local valid = self.concentration:lt(most)
  return lucerna.where(valid, f(lucerna.where(valid, self.concentration, most / 2)), 0 / 0)
end

function General.getters:mean()
  return moment_below(self, 1, function(c) return self.loc + self.scale / (1 - c) end)
end

function General.getters:variance()
  return moment_below(self, 0.5, function(c)
    return self.scale ^ 2 / ((1 - c) ^ 2 * (1 - 2 * c))
  end)
end

function General.getters:mode() return self.loc end
function General:entropy() return self.scale:log() + self.concentration + 1 end

-- ---- Weibull ----

--- Weibull(scale, concentration, validate_args): the time to a failure whose rate grows with the
-- power concentration - 1; both > 0.
M.Weibull = two("Weibull", {"scale", "concentration"}, {"scale", "concentration",
  scale = constraints.positive, concentration = constraints.positive})
local Weibull = M.Weibull
Weibull.support = constraints.positive

function Weibull:_make()
  local inverse = self.concentration:reciprocal()
  return normal.Exponential(lucerna.ones_like(self.scale:detach()), false),
    {Power(inverse), Affine(0, self.scale)}
end

-- The mean of the n-th power of a value of scale 1.
local function moment(self, n) return (1 + n / self.concentration):lgamma():exp() end

function Weibull.getters:mean() return self.scale * moment(self, 1) end

function Weibull.getters:mode()
  local k = self.concentration
  return self.scale * ((k - 1) / k) ^ k:reciprocal()
end

function Weibull.getters:variance()
  return self.scale ^ 2 * (moment(self, 2) - moment(self, 1) ^ 2)
end

function Weibull:entropy()
  local inverse = self.concentration:reciprocal()
  return (1 - inverse) * EULER + (self.scale * inverse):log() + 1
end

-- ---- Kumaraswamy ----

--- Kumaraswamy(concentration1, concentration0, validate_args): a probability, much as of a Beta,
-- but with a cdf of powers alone.
M.Kumaraswamy = two("Kumaraswamy", {"concentration1", "concentration0"},
  {"concentration1", "concentration0", concentration1 = constraints.positive,
    concentration0 = constraints.positive})
local Kumaraswamy = M.Kumaraswamy
Kumaraswamy.support = constraints.unit_interval

function Kumaraswamy:_make()
  local a, b = self.concentration1, self.concentration0
  local zero = lucerna.zeros_like(b:detach())
  return normal.Uniform(zero, zero + 1, false),
    {Power(b:reciprocal()), Affine(1.0, -1.0), Power(a:reciprocal())}
end

-- The mean of the n-th power: b * Beta(1 + n / a, b).
local function power_mean(self, n)
  local a, b = self.concentration1, self.concentration0
  local first = 1 + n / a
  return (b:log() + first:lgamma() + b:lgamma() - (first + b):lgamma()):exp()
end

function Kumaraswamy.getters:mean() return power_mean(self, 1) end
function Kumaraswamy.getters:variance() return power_mean(self, 2) - self.mean ^ 2 end

function Kumaraswamy.getters:mode()
  local a, b = self.concentration1, self.concentration0
  local log_mode = b:reciprocal() * (-b):log1p() - (-b * a):log1p()
  return log_mode:masked_fill(b:lt(1):logical_or(a:lt(1)), lucerna.nan):exp()
end

function Kumaraswamy:entropy()
  local a, b = self.concentration1, self.concentration0
  local harmonic = (b + 1):digamma() + EULER
  return 1 - b:reciprocal() + (1 - a:reciprocal()) * harmonic - a:log() - b:log()
end

-- ---- InverseGamma ----

--- InverseGamma(concentration, rate, validate_args): one over a Gamma(concentration, rate).
M.InverseGamma = two("InverseGamma", {"concentration", "rate"}, Gamma.arg_constraints)
local InverseGamma = M.InverseGamma
InverseGamma.support = constraints.positive

function InverseGamma:_make()
  local d = Gamma(self.concentration, self.rate, false)
  return d, {Power(lucerna.full_like(self.rate:detach(), -1))}
end

function InverseGamma.getters:mean()
  local result = self.rate / (self.concentration - 1)
  return result:masked_fill(self.concentration:le(1), math.huge)
end

function InverseGamma.getters:mode() return self.rate / (self.concentration + 1) end

function InverseGamma.getters:variance()
  local a = self.concentration
  local result = self.rate ^ 2 / ((a - 1) ^ 2 * (a - 2))
  return result:masked_fill(a:le(2), math.huge)
end

function InverseGamma:entropy()
  local a = self.concentration
  return a + self.rate:log() + a:lgamma() - (1 + a) * a:digamma()
end

return M
