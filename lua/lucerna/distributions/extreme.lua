-- Distributions that are transforms of a uniform or an exponential one: Gumbel, Pareto, Weibull.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local normal = require "lucerna.distributions.normal"
local tools = require "lucerna.distributions.tools"
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
  local all = {names[1], names[2], "validate_args"}
  function class:__init(...)
    local a, b, validate_args = arguments(name, all, ...)
    self[names[1]], self[names[2]] = tools.broadcast(name, names, a, b)
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

return M
