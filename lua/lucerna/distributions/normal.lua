-- Distributions of a location and a scale: Normal, Laplace, Cauchy, and Uniform, Exponential beside
-- them. Formulas of operators, so gradients flow to the parameters.

local lucerna = require "lucerna"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local tools = require "lucerna.distributions.tools"

local PI = math.pi

local M = {}

local LOC_SCALE = {"loc", "scale", loc = constraints.real, scale = constraints.positive}

-- ---- Normal ----

--- Normal(loc, scale, validate_args): the normal (Gaussian) distribution of mean loc and standard
-- deviation scale > 0.
M.Normal = base.elementwise("Normal", base.ExponentialFamily, LOC_SCALE, constraints.real)
local Normal = M.Normal
Normal.has_rsample = true

function Normal.getters:mean() return self.loc end
function Normal.getters:mode() return self.loc end
function Normal.getters:stddev() return self.scale end
function Normal.getters:variance() return self.scale ^ 2 end

function Normal:_sample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  return lucerna.normal(self.loc:expand(shape), self.scale:expand(shape))
end

--- Standard normal values of a shape, of like's dtype.
local function standard_normal(shape, like)
  return lucerna.randn(shape, tools.like(like))
end
M.standard_normal = standard_normal

function Normal:_rsample(sample_shape)
  return self.loc + standard_normal(self:_extended_shape(sample_shape), self.loc) * self.scale
end

function Normal:_log_prob(value)
  return -(value - self.loc) ^ 2 / (self.variance * 2) - self.scale:log() - math.log(2 * PI) / 2
end

function Normal:_cdf(value)
  return (((value - self.loc) * self.scale:reciprocal() / math.sqrt(2)):erf() + 1) * 0.5
end

function Normal:_icdf(value)
  return self.loc + self.scale * (value * 2 - 1):erfinv() * math.sqrt(2)
end

function Normal:entropy() return self.scale:log() + (0.5 + 0.5 * math.log(2 * PI)) end

-- ---- Laplace ----

--- Laplace(loc, scale, validate_args): the density falls from loc to both sides as exp(-|x| /
-- scale), scale > 0.
M.Laplace = base.elementwise("Laplace", nil, LOC_SCALE, constraints.real)
local Laplace = M.Laplace
Laplace.has_rsample = true

function Laplace.getters:mean() return self.loc end
function Laplace.getters:mode() return self.loc end
function Laplace.getters:variance() return self.scale ^ 2 * 2 end
function Laplace.getters:stddev() return self.scale * math.sqrt(2) end

function Laplace:_rsample(sample_shape)
  local u = self.loc:new_empty(self:_extended_shape(sample_shape))
  u:uniform_(lucerna.finfo(self.loc.dtype).eps - 1, 1)
  return self.loc - self.scale * u:sign() * (-u:abs()):log1p()
end

function Laplace:_log_prob(value)
  return -(self.scale * 2):log() - (value - self.loc):abs() / self.scale
end

function Laplace:_cdf(value)
  local from = value - self.loc
  return 0.5 - from:sign() * (-from:abs() / self.scale):expm1() * 0.5
end

function Laplace:_icdf(value)
  local term = value - 0.5
  return self.loc - self.scale * term:sign() * (term:abs() * -2):log1p()
end

function Laplace:entropy() return (self.scale * 2):log() + 1 end

-- ---- Cauchy ----

--- Cauchy(loc, scale, validate_args): the Lorentz distribution, whose mean and variance are not
-- defined.
M.Cauchy = base.elementwise("Cauchy", nil, LOC_SCALE, constraints.real)
local Cauchy = M.Cauchy
Cauchy.has_rsample = true

function Cauchy.getters:mean() return lucerna.full_like(self.loc:detach(), lucerna.nan) end
function Cauchy.getters:mode() return self.loc end
function Cauchy.getters:variance() return lucerna.full_like(self.loc:detach(), lucerna.inf) end

function Cauchy:_rsample(sample_shape)
  local draws = self.loc:new_empty(self:_extended_shape(sample_shape)):cauchy_()
  return self.loc + draws * self.scale
end

function Cauchy:_log_prob(value)
  return -self.scale:log() - (((value - self.loc) / self.scale) ^ 2):log1p() - math.log(PI)
end

function Cauchy:_cdf(value) return ((value - self.loc) / self.scale):atan() / PI + 0.5 end
function Cauchy:_icdf(value) return ((value - 0.5) * PI):tan() * self.scale + self.loc end
function Cauchy:entropy() return self.scale:log() + math.log(4 * PI) end

-- ---- Uniform ----

--- Uniform(low, high, validate_args): every value in [low, high) alike.
M.Uniform = base.elementwise("Uniform", nil,
  {"low", "high", low = constraints.dependent, high = constraints.dependent})
local Uniform = M.Uniform
Uniform.has_rsample = true

local with_two = Uniform.__init
function Uniform:__init(...)
  with_two(self, ...)
  if self._validate_args and not self.low:lt(self.high):all():item() then
    tools.fail("Uniform: Uniform is not defined when low>= high")
  end
end

function Uniform.getters:support() return constraints.interval(self.low, self.high) end
function Uniform.getters:mean() return (self.high + self.low) / 2 end
function Uniform.getters:mode() return self.high * lucerna.nan end
function Uniform.getters:variance() return (self.high - self.low) ^ 2 / 12 end
function Uniform.getters:stddev() return (self.high - self.low) / math.sqrt(12) end

function Uniform:_rsample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local draws = lucerna.rand(shape, tools.like(self.low))
  return self.low + draws * (self.high - self.low)
end

function Uniform:_log_prob(value)
  local inside = self.low:le(value):logical_and(self.high:gt(value)):to(self.low.dtype)
  return inside:log() - (self.high - self.low):log()
end

function Uniform:_cdf(value) return ((value - self.low) / (self.high - self.low)):clamp(0, 1) end
function Uniform:_icdf(value) return value * (self.high - self.low) + self.low end
function Uniform:entropy() return (self.high - self.low):log() end

-- ---- Exponential ----

--- Exponential(rate, validate_args): the time to an event that happens at a rate > 0.
M.Exponential = base.elementwise("Exponential", base.ExponentialFamily,
  {"rate", rate = constraints.positive}, constraints.nonnegative)
local Exponential = M.Exponential
Exponential.has_rsample = true

function Exponential.getters:mean() return self.rate:reciprocal() end
function Exponential.getters:mode() return lucerna.zeros_like(self.rate:detach()) end
function Exponential.getters:stddev() return self.rate:reciprocal() end
function Exponential.getters:variance() return self.rate ^ -2 end

function Exponential:_rsample(sample_shape)
  return self.rate:new_empty(self:_extended_shape(sample_shape)):exponential_() / self.rate
end

function Exponential:_log_prob(value) return self.rate:log() - self.rate * value end
function Exponential:_cdf(value) return 1 - (-self.rate * value):exp() end
function Exponential:_icdf(value) return -(-value):log1p() / self.rate end
function Exponential:entropy() return 1 - self.rate:log() end

return M
