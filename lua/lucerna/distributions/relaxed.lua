-- Choices that gradients flow through: RelaxedBernoulli and RelaxedOneHotCategorical, whose values
-- come near 0 and 1 as the temperature falls; and LogisticNormal, a normal one on the simplex.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local discrete = require "lucerna.distributions.discrete"
local normal = require "lucerna.distributions.normal"
local tools = require "lucerna.distributions.tools"
local transforms = require "lucerna.distributions.transforms"
local Transformed = require("lucerna.distributions.composed").TransformedDistribution

local Distribution, of_base = base.Distribution, base.of_base

local M = {}

local function clamped_uniform(shape, like)
  return tools.clamp_probs(lucerna.rand(shape, tools.like(like)))
end

-- The temperature as a tensor, of the dtype of like.
local function as_tensor(who, temperature, like)
  if lucerna.is_tensor(temperature) then return temperature end
  if type(temperature) ~= "number" then
    tools.fail("%s: temperature must be a Tensor or a number (got %s)", who, type(temperature))
  end
  return lucerna.tensor(temperature, tools.like(like))
end

local NAMES = {"temperature", "probs", "logits", "validate_args", options = 3}

-- ---- RelaxedBernoulli ----

-- The logits of a RelaxedBernoulli's values.
local Logits = base.class "LogitRelaxedBernoulli"
Logits.arg_constraints = discrete.Bernoulli.arg_constraints
Logits.support, Logits.has_rsample = constraints.real, true
base.probs_or_logits(Logits, true)

function Logits:__init(temperature, probs, logits)
  local shape = base.set_one(self, "RelaxedBernoulli", probs, logits)
  self.temperature = as_tensor("RelaxedBernoulli", temperature, self[self._given])
  Distribution.__init(self, shape)
end

function Logits:_rsample(sample_shape)
  local shape = self:_extended_shape(sample_shape)
  local probs = tools.clamp_probs(self.probs:expand(shape))
  local u = clamped_uniform(shape, probs)
  return (u:log() - (-u):log1p() + probs:log() - (-probs):log1p()) / self.temperature
end

function Logits:_log_prob(value)
  local diff = self.logits - value * self.temperature
  return self.temperature:log() + diff - diff:exp():log1p() * 2
end

-- A class of the values that a transform makes of the inner ones.
local function relaxed(name, support, inner, transform)
  local class = base.class(name, Transformed)
  class.support = support
  function class:__init(...)
    local temperature, probs, logits, validate_args = arguments(name, NAMES, ...)
    Transformed.__init(self, inner(temperature, probs, logits), transform(), validate_args)
  end
  for _, field in ipairs {"temperature", "probs", "logits"} do
    class.getters[field] = of_base(field)
  end
  return class
end

--- RelaxedBernoulli(temperature, probs, logits, validate_args): values between 0 and 1, near the
-- ends for a low temperature.
M.RelaxedBernoulli = relaxed("RelaxedBernoulli", constraints.unit_interval, Logits,
  transforms.SigmoidTransform)

-- ---- RelaxedOneHotCategorical ----

-- The logarithms of a RelaxedOneHotCategorical's values.
local Logs = base.class "ExpRelaxedCategorical"
Logs.support, Logs.has_rsample = constraints.real_vector, true
discrete.of_categories.fields(Logs)

function Logs:__init(temperature, probs, logits)
  discrete.of_categories.init(self, "RelaxedOneHotCategorical", probs, logits)
  self.temperature = as_tensor("RelaxedOneHotCategorical", temperature,
    probs ~= nil and probs or logits)
end

function Logs:_rsample(sample_shape)
  local u = clamped_uniform(self:_extended_shape(sample_shape), self.logits)
  local scores = (self.logits - (-u:log()):log()) / self.temperature
  return scores - scores:logsumexp(-1, {keepdim = true})
end

function Logs:_log_prob(value)
  local k, t = self.event_shape[1], self.temperature
  local log_scale = lucerna.full_like(t:detach(), k):lgamma() + t:log() * (k - 1)
  local score = self.logits - value * t
  return (score - score:logsumexp(-1, {keepdim = true})):sum(-1) + log_scale
end

--- RelaxedOneHotCategorical(temperature, probs, logits, validate_args): probabilities of n
-- categories that sum to 1, most of them on one for a low temperature.
M.RelaxedOneHotCategorical = relaxed("RelaxedOneHotCategorical", constraints.simplex, Logs,
  transforms.ExpTransform)

-- ---- LogisticNormal ----

--- LogisticNormal(loc, scale, validate_args): normal values brought to the simplex, one more than
-- loc has in its last dimension.
M.LogisticNormal = base.class("LogisticNormal", Transformed)
local LogisticNormal = M.LogisticNormal
LogisticNormal.support = constraints.simplex

function LogisticNormal:__init(...)
  local loc, scale, validate_args =
    arguments("LogisticNormal", {"loc", "scale", "validate_args", options = 3}, ...)
  loc, scale = tools.broadcast("LogisticNormal", {"loc", "scale"}, loc, scale)
  local d = normal.Normal(loc, scale, validate_args)
  if #d.batch_shape == 0 then d = d:expand(1) end
  Transformed.__init(self, d, transforms.StickBreakingTransform(), validate_args)
end

function LogisticNormal.getters:loc() return self.base_dist.base_dist.loc end
function LogisticNormal.getters:scale() return self.base_dist.base_dist.scale end

return M
