-- Distributions over Categorical ones: Multinomial, which counts its values, and MixtureSameFamily,
-- which lets them choose among components; and NegativeBinomial, a mixture of Poisson ones.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local counts = require "lucerna.distributions.counts"
local discrete = require "lucerna.distributions.discrete"
local gamma = require "lucerna.distributions.gamma"
local tools = require "lucerna.distributions.tools"

local Distribution, join = base.Distribution, tools.join

local M = {}

-- ---- Multinomial ----

--- Multinomial(total_count = 1, probs, logits, validate_args): how often each of n categories is
-- drawn in total_count draws.
M.Multinomial = base.class "Multinomial"
local Multinomial = M.Multinomial
discrete.of_categories.fields(Multinomial)

function Multinomial:__init(...)
  local total_count, probs, logits, validate_args =
    arguments("Multinomial", {"total_count", "probs", "logits", "validate_args", options = 3}, ...)
  total_count = total_count or 1
  if math.type(total_count) ~= "integer" or total_count < 0 then
    tools.fail("Multinomial: inhomogeneous total_count is not supported (got %s)", total_count)
  end
  self.total_count = total_count
  discrete.of_categories.init(self, "Multinomial", probs, logits, validate_args)
end

function Multinomial.getters:support() return constraints.multinomial(self.total_count) end
function Multinomial.getters:mean() return self.probs * self.total_count end

function Multinomial.getters:variance()
  return self.probs * (1 - self.probs) * self.total_count
end

function Multinomial:_sample(sample_shape)
  local drawn = self._categorical:sample(join({self.total_count}, sample_shape))
  local ids = drawn:movedim(1, -1)
  local counted = ids:new_zeros(self:_extended_shape(sample_shape))
  return counted:scatter_add(-1, ids, lucerna.ones_like(ids)):to(self.probs.dtype)
end

function Multinomial:entropy()
  local n = self.total_count
  local log_factorial = lucerna.tensor(n + 1, {dtype = self.probs.dtype}):lgamma()
  local binomial = counts.Binomial(n, self.probs)
  local support = binomial:enumerate_support(false):narrow(1, 2, n)
  local chances = binomial:log_prob(support):exp()
  return self._categorical:entropy() * n - log_factorial
    + (chances * (support + 1):lgamma()):sum({1, -1})
end

function Multinomial:_log_prob(value)
  local logits = self.logits
  local none = value:eq(0):logical_and(logits:eq(-math.huge))
  local powers = logits:masked_fill(none, 0) * value
  return (value:sum(-1) + 1):lgamma() - (value + 1):lgamma():sum(-1) + powers:sum(-1)
end

-- ---- MixtureSameFamily ----

--- MixtureSameFamily(mixture_distribution, component_distribution, validate_args): a value of the
-- component that a Categorical chooses; the components are the last batch dimension.
M.MixtureSameFamily = base.class "MixtureSameFamily"
local Mixture = M.MixtureSameFamily

local function check_parts(mixture, component)
  local who = "MixtureSameFamily"
  if not classes.is_a(mixture, discrete.Categorical) then
    tools.fail("%s: The Mixture distribution needs to be an instance of "
      .. "distributions.Categorical", who)
  end
  if not classes.is_a(component, Distribution) or #component.batch_shape == 0 then
    tools.fail("%s: The Component distribution need to be an instance of "
      .. "distributions.Distribution with a batch dimension", who)
  end
  local outer, inner = mixture.batch_shape, tools.first(component.batch_shape, -1)
  for k = 0, math.min(#outer, #inner) - 1 do
    local i, j = outer[#outer - k], inner[#inner - k]
    if i ~= 1 and j ~= 1 and i ~= j then
      tools.fail("%s: `mixture_distribution.batch_shape` (%s) is not compatible with "
        .. "`component_distribution.batch_shape`(%s)", who, tools.size_text(outer),
        tools.size_text(inner))
    end
  end
  local many, given = mixture._num_events, tools.last(component.batch_shape, 1)[1]
  if many ~= given then
    tools.fail("%s: `mixture_distribution component` (%d) does not equal "
      .. "`component_distribution.batch_shape[-1]` (%d)", who, many, given)
  end
end

function Mixture:__init(...)
  local mixture, component, validate_args = arguments("MixtureSameFamily",
    {"mixture_distribution", "component_distribution", "validate_args", options = 3}, ...)
  check_parts(mixture, component)
  local inner = tools.first(component.batch_shape, -1)
  local batch = tools.broadcast_shape(inner, mixture.logits:select(-1, 1))
  if not tools.same(mixture.batch_shape, batch) then mixture = mixture:expand(batch) end
  if not tools.same(inner, batch) then
    component = component:expand(join(batch, {mixture._num_events}))
  end
  self.mixture_distribution, self.component_distribution = mixture, component
  Distribution.__init(self, batch, component.event_shape, validate_args)
end

function Mixture:_expand(shape)
  self.component_distribution =
    self.component_distribution:expand(join(shape, {self.mixture_distribution._num_events}))
  self.mixture_distribution = self.mixture_distribution:expand(shape)
end

function Mixture.getters:support() return self.component_distribution.support end

-- The weights with dimensions of size 1 for those of an event.
local function weights(self)
  local probs = self.mixture_distribution.probs
  local shape = probs.shape
  for _ = 1, #self.event_shape do shape[#shape + 1] = 1 end
  return probs:reshape(shape)
end

local function component_dim(self) return -1 - #self.event_shape end

function Mixture.getters:mean()
  return (weights(self) * self.component_distribution.mean):sum(component_dim(self))
end

function Mixture.getters:variance()
  local component, dim, w = self.component_distribution, component_dim(self), weights(self)
  local between = (component.mean - self.mean:unsqueeze(dim)) ^ 2
  return (w * component.variance):sum(dim) + (w * between):sum(dim)
end

function Mixture:_cdf(value)
  local each = self.component_distribution:cdf(value:unsqueeze(component_dim(self)))
  return (each * self.mixture_distribution.probs):sum(-1)
end

function Mixture:_log_prob(value)
  local each = self.component_distribution:log_prob(value:unsqueeze(component_dim(self)))
  return (each + self.mixture_distribution.logits:log_softmax(-1)):logsumexp(-1)
end

function Mixture:_sample(sample_shape)
  local chosen = self.mixture_distribution:sample(sample_shape)
  local drawn = self.component_distribution:sample(sample_shape)
  local dim = #sample_shape + #self.batch_shape + 1
  local ones = {}
  for i = 1, #self.event_shape + 1 do ones[i] = 1 end
  local ids = chosen:reshape(join(chosen.shape, ones))
    :expand(join(chosen.shape, {1}, self.event_shape))
  return drawn:gather(dim, ids):squeeze(dim)
end

function Mixture:__tostring()
  return ("MixtureSameFamily(\n  %s,\n  %s)"):format(self.mixture_distribution,
    self.component_distribution)
end

-- ---- NegativeBinomial ----

--- NegativeBinomial(total_count, probs, logits, validate_args): the successes of probability probs
-- before total_count failures.
M.NegativeBinomial = base.class "NegativeBinomial"
local NegativeBinomial = M.NegativeBinomial
NegativeBinomial.arg_constraints = {"total_count", "probs", "logits",
  total_count = constraints.greater_than_eq(0),
  probs = constraints.half_open_interval(0.0, 1.0), logits = constraints.real}
NegativeBinomial.support = constraints.nonnegative_integer
base.probs_or_logits(NegativeBinomial, true)

function NegativeBinomial:__init(...) base.init_trials(self, "NegativeBinomial", nil, ...) end

function NegativeBinomial.getters:mean() return self.total_count * self.logits:exp() end
function NegativeBinomial.getters:variance() return self.mean / (-self.logits):sigmoid() end

function NegativeBinomial.getters:mode()
  return ((self.total_count - 1) * self.logits:exp()):floor():clamp(0)
end

function NegativeBinomial:_sample(sample_shape)
  local rates = gamma.Gamma(self.total_count, (-self.logits):exp(), false)
  return lucerna.poisson(rates:sample(sample_shape))
end

function NegativeBinomial:_log_prob(value)
  local logsigmoid, n = lucerna.nn.functional.logsigmoid, self.total_count
  local chosen = (1 + value):lgamma() + n:lgamma() - (n + value):lgamma()
  chosen = chosen:masked_fill((n + value):eq(0), 0)
  return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) - chosen
end

return M
