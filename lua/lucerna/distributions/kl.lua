-- Kullback-Leibler divergences: formulas for pairs of classes, found by the classes of p and q or
-- the nearest of their parents.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"
local base = require "lucerna.distributions.base"
local tools = require "lucerna.distributions.tools"

local PI, EULER, INF = math.pi, 0.57721566490153286060, math.huge

local kl = {}
local formulas = {} -- [class of p][class of q]

local function is_class(value)
  return type(value) == "table" and rawget(value, "__name") ~= nil and value.getters ~= nil
end

--- register_kl(P, Q, f): kl_divergence of a P and a Q, or of subclasses without a formula of their
-- own, is f(p, q). Without f, a function that takes it.
function kl.register_kl(type_p, type_q, f)
  for name, class in pairs {type_p = type_p or false, type_q = type_q or false} do
    if not is_class(class) then
      tools.fail("register_kl: Expected %s to be a Distribution subclass but got %s", name, class)
    end
  end
  if f == nil then return function(later) return kl.register_kl(type_p, type_q, later) end end
  formulas[type_p] = formulas[type_p] or {}
  formulas[type_p][type_q] = f
  return f
end

-- The formula registered for the nearest ancestors of both classes; p's count first.
local function find(class_p, class_q)
  local p = class_p
  while p do
    local q = formulas[p] and class_q
    while q do
      if formulas[p][q] then return formulas[p][q] end
      q = classes.parent(q)
    end
    p = classes.parent(p)
  end
end

local function refuse(p, q)
  tools.fail("kl_divergence: No KL(p || q) is implemented for p type %s and q type %s", p.__name,
    q.__name)
end

local function check_distribution(name, d)
  if not classes.is_a(d, base.Distribution) then
    tools.fail("kl_divergence: %s must be a Distribution (got %s)", name, type(d))
  end
end

--- kl_divergence(p, q): the divergence of q from p, of the shape batch_shape.
function kl.kl_divergence(...)
  local p, q = arguments("kl_divergence", {"p", "q"}, ...)
  check_distribution("p", p)
  check_distribution("q", q)
  local f = find(getmetatable(p), getmetatable(q))
  if not f then refuse(p, q) end
  return f(p, q)
end

--- For the classes of these files, and of a table, by name: define(p, q, f), which registers f, and
-- infinite(p, like, q...), where p has values that no q has (like: the parameter of p of the
-- result's shape).
function kl._definers(families, more)
  local all = {}
  for name, value in pairs(more or {}) do all[name] = value end
  for _, family in ipairs(families) do
    for name, value in pairs(require("lucerna.distributions." .. family)) do all[name] = value end
  end
  local function define(p, q, f) kl.register_kl(all[p], all[q], f) end
  local function infinite(p, like, ...)
    for _, q in ipairs {...} do
      define(p, q, function(d) return lucerna.full_like(d[like]:detach(), INF) end)
    end
  end
  return define, infinite
end

local define, infinite = kl._definers {"normal", "discrete", "gamma", "counts"}

local function x_log_x(x) return x * x:log() end

-- log Beta(a, b)
local function log_beta(a, b) return a:lgamma() + b:lgamma() - (a + b):lgamma() end

-- ---- pairs of one class ----

kl.register_kl(base.ExponentialFamily, base.ExponentialFamily, function(p, q)
  if getmetatable(p) ~= getmetatable(q) then refuse(p, q) end
  return base.bregman(p, q)
end)

define("Bernoulli", "Bernoulli", function(p, q)
  local softplus = lucerna.nn.functional.softplus
  local t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
  local t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
  t1 = t1:masked_fill(q.probs:eq(0), INF):masked_fill(p.probs:eq(0), 0)
  t2 = t2:masked_fill(q.probs:eq(1), INF):masked_fill(p.probs:eq(1), 0)
  return t1 + t2
end)

define("Beta", "Beta", function(p, q)
  local a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
  local sum = a + b
  return log_beta(c, d) - log_beta(a, b) + (a - c) * a:digamma() + (b - d) * b:digamma()
    + (c + d - sum) * sum:digamma()
end)

define("Binomial", "Binomial", function(p, q)
  if p.total_count:lt(q.total_count):any():item() then
    tools.fail("kl_divergence: KL between Binomials where q.total_count > p.total_count is not "
      .. "implemented")
  end
  local result = p.total_count
    * (p.probs * (p.logits - q.logits) + (-p.probs):log1p() - (-q.probs):log1p())
  return result:masked_fill(p.total_count:gt(q.total_count), INF)
end)

local function categorical(p, q)
  local t = p.probs * (p.logits - q.logits)
  return t:masked_fill(q.probs:eq(0), INF):masked_fill(p.probs:eq(0), 0):sum(-1)
end

define("Categorical", "Categorical", categorical)
define("OneHotCategorical", "OneHotCategorical", categorical)

define("Cauchy", "Cauchy", function(p, q)
  return ((p.scale + q.scale) ^ 2 + (p.loc - q.loc) ^ 2):log() - (p.scale * q.scale * 4):log()
end)

define("Dirichlet", "Dirichlet", function(p, q)
  local a, b = p.concentration, q.concentration
  local sum = a:sum(-1)
  local slope = a:digamma() - sum:digamma():unsqueeze(-1)
  return sum:lgamma() - b:sum(-1):lgamma() - (a:lgamma() - b:lgamma()):sum(-1)
    + ((a - b) * slope):sum(-1)
end)

define("Exponential", "Exponential", function(p, q)
  local ratio = q.rate / p.rate
  return ratio - ratio:log() - 1
end)

define("Gamma", "Gamma", function(p, q)
  local a, b = p.concentration, q.concentration
  return b * (p.rate / q.rate):log() + b:lgamma() - a:lgamma() + (a - b) * a:digamma()
    + (q.rate - p.rate) * (a / p.rate)
end)

define("Geometric", "Geometric", function(p, q)
  return -p:entropy() - (-q.probs):log1p() / p.probs - q.logits
end)

define("Laplace", "Laplace", function(p, q)
  local ratio, apart = p.scale / q.scale, (p.loc - q.loc):abs()
  return apart / q.scale + ratio * (-apart / p.scale):exp() - ratio:log() - 1
end)

define("Normal", "Normal", function(p, q)
  local ratio = (p.scale / q.scale) ^ 2
  return (ratio + ((p.loc - q.loc) / q.scale) ^ 2 - 1 - ratio:log()) * 0.5
end)

define("Poisson", "Poisson", function(p, q)
  return p.rate * (p.rate:log() - q.rate:log()) - (p.rate - q.rate)
end)

define("Uniform", "Uniform", function(p, q)
  local result = ((q.high - q.low) / (p.high - p.low)):log()
  return result:masked_fill(q.low:gt(p.low):logical_or(q.high:lt(p.high)), INF)
end)

-- ---- pairs of two classes ----

infinite("Exponential", "rate", "Beta", "Uniform")
infinite("Gamma", "concentration", "Beta", "Uniform")
infinite("Laplace", "loc", "Beta", "Exponential", "Gamma", "Uniform")
infinite("Normal", "loc", "Beta", "Exponential", "Gamma", "Uniform")
infinite("Poisson", "rate", "Bernoulli", "Binomial")

define("Bernoulli", "Poisson", function(p, q)
  return -p:entropy() - (p.probs * q.rate:log() - q.rate)
end)

define("Beta", "Exponential", function(p, q)
  return -p:entropy() - q.rate:log() + q.rate * p.mean
end)

define("Beta", "Gamma", function(p, q)
  local a, alpha = p.concentration1, q.concentration
  return alpha:lgamma() - alpha * q.rate:log() - p:entropy()
    - (alpha - 1) * (a:digamma() - (a + p.concentration0):digamma()) + q.rate * p.mean
end)

-- The cross entropy -E[log q(x)] for a normal q and values x of this mean and mean square.
local function cross_normal(q, mean, mean_square)
  local var = q.scale ^ 2
  return (var * (2 * PI)):log() * 0.5
    + (mean_square * 0.5 - q.loc * mean + q.loc ^ 2 * 0.5) / var
end

for _, name in ipairs {"Beta", "Exponential", "Gamma", "Laplace", "Uniform"} do
  define(name, "Normal", function(p, q)
    return cross_normal(q, p.mean, p.variance + p.mean ^ 2) - p:entropy()
  end)
end

define("Beta", "Uniform", function(p, q)
  local result = (q.high - q.low):log() - p:entropy()
  return result:masked_fill(q.low:gt(0):logical_or(q.high:lt(1)), INF)
end)

define("Exponential", "Gamma", function(p, q)
  local ratio, alpha = q.rate / p.rate, q.concentration
  return ratio - alpha * ratio:log() + alpha:lgamma() + alpha * EULER - (1 + EULER)
end)

define("Gamma", "Exponential", function(p, q)
  return -p:entropy() - q.rate:log() + q.rate * p.concentration / p.rate
end)

define("Normal", "Laplace", function(p, q)
  local apart = p.loc - q.loc
  local ratio = apart / p.scale
  local t1 = p.scale * (ratio ^ 2 * -0.5):exp() * math.sqrt(2 / PI)
  local t2 = apart * (ratio * math.sqrt(0.5)):erf()
  return (t1 + t2) / q.scale - (p.scale / q.scale):log() - 0.5 * (1 + math.log(0.5 * PI))
end)

define("Uniform", "Beta", function(p, q)
  local wide, a, b = p.high - p.low, q.concentration1, q.concentration0
  local t2 = (a - 1) * (x_log_x(p.high) - x_log_x(p.low) - wide) / wide
  local t3 = (b - 1) * (x_log_x(1 - p.high) - x_log_x(1 - p.low) + wide) / wide
  local result = t3 + log_beta(a, b) - wide:log() - t2
  return result:masked_fill(p.high:gt(1):logical_or(p.low:lt(0)), INF)
end)

define("Uniform", "Exponential", function(p, q)
  local result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate):log()
  return result:masked_fill(p.low:lt(0), INF)
end)

define("Uniform", "Gamma", function(p, q)
  local wide, alpha = p.high - p.low, q.concentration
  local t3 = (1 - alpha) * (x_log_x(p.high) - x_log_x(p.low) - wide) / wide
  local result = alpha:lgamma() - alpha * q.rate:log() - wide:log() + t3
    + q.rate * (p.high + p.low) / 2
  return result:masked_fill(p.low:lt(0), INF)
end)

return kl
