-- Distributions of counts: Poisson, Binomial, Geometric. Counts are floating point numbers from 0.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local tools = require "lucerna.distributions.tools"

local Distribution = base.Distribution

local M = {}

-- ---- Poisson ----

--- Poisson(rate, validate_args): how many events happen at a rate >= 0.
M.Poisson = base.elementwise("Poisson", base.ExponentialFamily,
  {"rate", rate = constraints.nonnegative}, constraints.nonnegative_integer)
local Poisson = M.Poisson

function Poisson.getters:mean() return self.rate end
function Poisson.getters:mode() return self.rate:floor() end
function Poisson.getters:variance() return self.rate end

function Poisson:_sample(sample_shape)
  return lucerna.poisson(self.rate:expand(self:_extended_shape(sample_shape)))
end

function Poisson:_log_prob(value)
  return lucerna.xlogy(value, self.rate) - self.rate - (value + 1):lgamma()
end

-- ---- Binomial ----

--- Binomial(total_count = 1, probs, logits, validate_args): the successes among total_count
-- trials of probability probs (or sigmoid(logits)).
M.Binomial = base.class "Binomial"
local Binomial = M.Binomial
Binomial.arg_constraints = {"total_count", "probs", "logits",
  total_count = constraints.nonnegative_integer, probs = constraints.unit_interval,
  logits = constraints.real}
Binomial.has_enumerate_support = true
base.probs_or_logits(Binomial, true)

function Binomial:__init(...) base.init_trials(self, "Binomial", 1, ...) end

function Binomial.getters:support() return constraints.integer_interval(0, self.total_count) end
function Binomial.getters:mean() return self.total_count * self.probs end
function Binomial.getters:variance() return self.total_count * self.probs * (1 - self.probs) end

function Binomial.getters:mode()
  return ((self.total_count + 1) * self.probs):floor():minimum(self.total_count)
end

function Binomial:_sample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  return lucerna.binomial(self.total_count:expand(shape), self.probs:expand(shape))
end

function Binomial:_log_prob(value)
  local n, logits = self.total_count, self.logits
  -- n * log(1 + exp(logits)) of logits of either sign; the slope at 0 is the half of both
  local above = (logits:clamp(0) + logits - logits:clamp {max = 0}) / 2
  local normalizer = n * above + n * (-logits:abs()):exp():log1p() - (n + 1):lgamma()
  return value * logits - (value + 1):lgamma() - (n - value + 1):lgamma() - normalizer
end

local function same_count(self, who)
  local count = self.total_count
  local most = count:max()
  if not count:min():eq(most):item() then
    tools.fail("%s: Inhomogeneous total count not supported by `%s`.", who, who)
  end
  return math.tointeger(most:item())
end

function Binomial:entropy()
  same_count(self, "entropy")
  local log_prob = self:log_prob(self:enumerate_support(false))
  return -(log_prob:exp() * log_prob):sum(1)
end

function Binomial:_enumerate(expand)
  local n = same_count(self, "enumerate_support") + 1
  return base.enumerated(self, lucerna.arange(n, tools.like(self[self._given])), expand)
end

-- ---- Geometric ----

--- Geometric(probs, logits, validate_args): the failures before the first success of probability
-- probs (or sigmoid(logits)), > 0.
M.Geometric = base.class "Geometric"
local Geometric = M.Geometric
Geometric.arg_constraints =
  {"probs", "logits", probs = constraints.unit_interval, logits = constraints.real}
Geometric.support = constraints.nonnegative_integer
base.probs_or_logits(Geometric, true)

function Geometric:__init(...)
  local probs, logits, validate_args =
    arguments("Geometric", {"probs", "logits", "validate_args", options = 2}, ...)
  Distribution.__init(self, base.set_one(self, "Geometric", probs, logits), {}, validate_args)
  if self._validate_args and probs ~= nil and not self.probs:gt(0):all():item() then
    tools.fail("Geometric: Expected parameter probs (Tensor of shape %s) of distribution %s to be "
      .. "positive but found invalid values: %s", tools.tuple(self.probs.shape), self,
      tools.text(self.probs))
  end
end

function Geometric.getters:mean() return 1 / self.probs - 1 end
function Geometric.getters:mode() return lucerna.zeros_like(self.probs:detach()) end
function Geometric.getters:variance() return (1 / self.probs - 1) / self.probs end

function Geometric:_sample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local u = lucerna.rand(shape, tools.like(self.probs))
  u = u:clamp(lucerna.finfo(u.dtype).tiny)
  return (u:log() / (-self.probs):log1p()):floor()
end

function Geometric:_log_prob(value)
  local miss = self.probs:masked_fill(self.probs:eq(1):logical_and(value:eq(0)), 0)
  return value * (-miss):log1p() + self.probs:log()
end

function Geometric:entropy()
  return tools.cross_entropy(self.logits, self.probs) / self.probs
end

return M
