-- Divergences from and to Gumbel and Pareto distributions: kl.lua's formulas for classes that are
-- transforms. Registers them; returns what kl.lua does.

local kl = require "lucerna.distributions.kl"

local PI, EULER, INF = math.pi, 0.57721566490153286060, math.huge

local define, infinite = kl._definers {"normal", "gamma", "extreme"}

infinite("Gumbel", "loc", "Beta", "Exponential", "Gamma", "Pareto", "Uniform")
infinite("Pareto", "scale", "Beta", "Uniform")
infinite("Beta", "concentration1", "Pareto")
infinite("Exponential", "rate", "Pareto")
infinite("Gamma", "concentration", "Pareto")
infinite("Laplace", "loc", "Pareto")
infinite("Normal", "loc", "Pareto")

-- ---- Gumbel ----

define("Gumbel", "Gumbel", function(p, q)
  local ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
  return apart - ratio:log() + ratio * EULER + ((1 + ratio):lgamma() - apart):exp() - (1 + EULER)
end)

define("Gumbel", "Normal", function(p, q)
  local ratio = p.scale / q.scale
  local away = (p.loc + p.scale * EULER - q.loc) / q.scale
  return (ratio ^ 2 * (PI * PI / 6) + away ^ 2) * 0.5 - ratio:log()
    + (0.5 * math.log(2 * PI) - EULER - 1)
end)

define("Normal", "Gumbel", function(p, q)
  local mean, square = (p.loc - q.loc) / q.scale, (p.scale / q.scale) ^ 2
  return mean - square:log() * 0.5 + (square * 0.5 - mean):exp() - 0.5 * (1 + math.log(2 * PI))
end)

define("Exponential", "Gumbel", function(p, q)
  local product, start = p.rate * q.scale, q.loc / q.scale
  return product:log() - 1 - start + start:exp() * product / (product + 1) + product:reciprocal()
end)

define("Gamma", "Gumbel", function(p, q)
  local a, product, start = p.concentration, p.rate * q.scale, q.loc / q.scale
  return (a - 1) * a:digamma() - a:lgamma() - a + product:log() + a / product - start
    + start:exp() * (1 + product:reciprocal()) ^ -a
end)

define("Uniform", "Gumbel", function(p, q)
  local ratio = q.scale / (p.high - p.low)
  local high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
  return ratio:log() + (high + low) * 0.5 - ratio * ((-high):exp() - (-low):exp())
end)

-- ---- Pareto ----

define("Pareto", "Pareto", function(p, q)
  local ratio = q.alpha / p.alpha
  local result = q.alpha * (p.scale / q.scale):log() - ratio:log() + ratio - 1
  return result:masked_fill(p.scale:lt(q.scale), INF)
end)

define("Pareto", "Exponential", function(p, q)
  local product = p.scale * q.rate
  local result = (p.alpha / product):log() - p.alpha:reciprocal()
    + p.alpha * product / (p.alpha - 1) - 1
  return result:masked_fill(p.alpha:le(1), INF)
end)

define("Pareto", "Gamma", function(p, q)
  local log_mean, b = p.scale:log() + p.alpha:reciprocal(), q.concentration
  local result = p.alpha:log() - log_mean + b:lgamma() - b * q.rate:log() + (1 - b) * log_mean
    + q.rate * p.alpha * p.scale / (p.alpha - 1) - 1
  return result:masked_fill(p.alpha:le(1), INF)
end)

define("Pareto", "Normal", function(p, q)
  local part = p.scale / (p.alpha - 1)
  local spread = p.alpha * part ^ 2 / (p.alpha - 2) + (p.alpha * part - q.loc) ^ 2
  local result = (q.scale * p.alpha / p.scale * math.sqrt(2 * PI)):log() - p.alpha:reciprocal()
    + spread / (q.scale ^ 2 * 2) - 1
  return result:masked_fill(p.alpha:le(2), INF)
end)

define("Uniform", "Pareto", function(p, q)
  local wide = p.high - p.low
  local log_mean = (p.high * p.high:log() - p.low * p.low:log() - wide) / wide
  local result = log_mean * (q.alpha + 1) - (q.alpha * q.scale ^ q.alpha * wide):log()
  return result:masked_fill(p.low:lt(q.scale), INF)
end)

return kl
