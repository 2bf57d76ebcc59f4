-- Distributions of a finite choice: Bernoulli, Categorical, OneHotCategorical. Each takes either
-- probs or logits; the other is computed when it is read. Categories count from 1.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local tools = require "lucerna.distributions.tools"

local Distribution, join = base.Distribution, tools.join

local M = {}

-- ---- Bernoulli ----

--- Bernoulli(probs, logits, validate_args): 1 with probability probs (or sigmoid(logits)), else 0.
M.Bernoulli = base.class("Bernoulli", base.ExponentialFamily)
local Bernoulli = M.Bernoulli
Bernoulli.arg_constraints =
  {"probs", "logits", probs = constraints.unit_interval, logits = constraints.real}
Bernoulli.support, Bernoulli.has_enumerate_support = constraints.boolean, true
base.probs_or_logits(Bernoulli, true)

function Bernoulli:__init(...)
  local probs, logits, validate_args =
    arguments("Bernoulli", {"probs", "logits", "validate_args", options = 2}, ...)
  Distribution.__init(self, base.set_one(self, "Bernoulli", probs, logits), {}, validate_args)
end

function Bernoulli.getters:mean() return self.probs end
function Bernoulli.getters:variance() return self.probs * (1 - self.probs) end

function Bernoulli.getters:mode()
  local mode = self.probs:ge(0.5):to(self.probs.dtype)
  return mode:masked_fill(self.probs:eq(0.5), lucerna.nan)
end

function Bernoulli:_sample(sample_shape)
  return lucerna.bernoulli(self.probs:expand(self:_extended_shape(sample_shape)))
end

function Bernoulli:_log_prob(value) return -tools.cross_entropy(self.logits, value) end
function Bernoulli:entropy() return tools.cross_entropy(self.logits, self.probs) end

function Bernoulli:_enumerate(expand)
  return base.enumerated(self, lucerna.arange(2, tools.like(self[self._given])), expand)
end

-- ---- Categorical ----

--- Categorical(probs, logits, validate_args): one of n categories, whose weights are the last
-- dimension of probs (normalized to sum to 1) or logits. Samples are int64 and count from 1.
M.Categorical = base.class("Categorical", base.ExponentialFamily)
local Categorical = M.Categorical
Categorical.arg_constraints =
  {"probs", "logits", probs = constraints.simplex, logits = constraints.real_vector}
Categorical.has_enumerate_support = true
base.probs_or_logits(Categorical, false)

local function set_categories(self, who, probs, logits)
  local name, value = base.one_of(who, probs, logits)
  tools.tensor(who, name, value)
  if value:dim() < 1 then
    tools.fail("%s: `%s` parameter must be at least one-dimensional.", who, name)
  end
  if name == "probs" then
    self.probs = value / value:sum(-1, {keepdim = true})
  else
    self.logits = value - value:logsumexp(-1, {keepdim = true})
  end
  self._given = name
  self._num_events = value:size(-1)
end

function Categorical:__init(...)
  local probs, logits, validate_args =
    arguments("Categorical", {"probs", "logits", "validate_args", options = 2}, ...)
  set_categories(self, "Categorical", probs, logits)
  Distribution.__init(self, tools.first(self.param_shape, -1), {}, validate_args)
end

function Categorical.getters:support() return constraints.integer_interval(1, self._num_events) end

local function not_a_number(self)
  return lucerna.full(self:_extended_shape(), lucerna.nan, tools.like(self[self._given]))
end

Categorical.getters.mean, Categorical.getters.variance = not_a_number, not_a_number
function Categorical.getters:mode() return self.probs:argmax(-1) end

function Categorical:_sample(sample_shape)
  local weights = self.probs:reshape(-1, self._num_events)
  local draws = lucerna.multinomial(weights, tools.count(sample_shape), true)
  return draws:t():reshape(self:_extended_shape(sample_shape))
end

function Categorical:_log_prob(value)
  local ids = value:to(lucerna.int64):unsqueeze(-1)
  local batch = lucerna.broadcast_tensors {ids, self.logits:narrow(-1, 1, 1)}
  local shape = tools.first(batch[1].shape, -1)
  local logits = self.logits:expand(join(shape, {self._num_events}))
  return logits:gather(-1, ids:expand(join(shape, {1}))):squeeze(-1)
end

function Categorical:entropy()
  local least = lucerna.finfo(self.logits.dtype).min
  return -(self.logits:clamp(least) * self.probs):sum(-1)
end

function Categorical:_enumerate(expand)
  local values = lucerna.arange(1, self._num_events + 1,
    {dtype = lucerna.int64, device = self[self._given].device})
  return base.enumerated(self, values, expand)
end

-- ---- OneHotCategorical ----

--- For classes whose one event is made of all categories: `fields` gives one the parameters of its
-- Categorical, which `init` makes.
local of_categories = {}

function of_categories.fields(class)
  class.arg_constraints = Categorical.arg_constraints
  function class:_expand(shape) self._categorical = self._categorical:expand(shape) end
  for _, name in ipairs {"probs", "logits", "param_shape"} do
    class.getters[name] = function(self) return self._categorical[name] end
  end
end

function of_categories.init(self, who, probs, logits, validate_args)
  base.one_of(who, probs, logits)
  self._categorical = Categorical(probs, logits)
  local shape = self._categorical.param_shape
  Distribution.__init(self, self._categorical.batch_shape, tools.last(shape, 1), validate_args)
end
M.of_categories = of_categories

--- OneHotCategorical(probs, logits, validate_args): a Categorical whose values are vectors of n, 1
-- in the place of the category and 0 elsewhere.
M.OneHotCategorical = base.class "OneHotCategorical"
local OneHot = M.OneHotCategorical
OneHot.support, OneHot.has_enumerate_support = constraints.one_hot, true
of_categories.fields(OneHot)

local function set_one_hot(self, who, ...)
  local probs, logits, validate_args =
    arguments(who, {"probs", "logits", "validate_args", options = 2}, ...)
  of_categories.init(self, who, probs, logits, validate_args)
end

function OneHot:__init(...) set_one_hot(self, "OneHotCategorical", ...) end

function OneHot.getters:mean() return self.probs end
function OneHot.getters:variance() return self.probs * (1 - self.probs) end

local function one_hot(self, ids)
  return lucerna.nn.functional.one_hot(ids, self.event_shape[1]):to(self.probs.dtype)
end

function OneHot.getters:mode() return one_hot(self, self._categorical.mode) end

function OneHot:_sample(sample_shape)
  return one_hot(self, self._categorical:sample(sample_shape))
end

function OneHot:_log_prob(value) return self._categorical:log_prob(value:argmax(-1)) end
function OneHot:entropy() return self._categorical:entropy() end

function OneHot:_enumerate(expand)
  return base.enumerated(self, lucerna.eye(self.event_shape[1], tools.like(self.probs)), expand)
end

--- OneHotCategoricalStraightThrough(probs, logits, validate_args): OneHotCategorical with
-- rsample, whose gradient goes through the probabilities.
M.OneHotCategoricalStraightThrough = base.class("OneHotCategoricalStraightThrough", OneHot)
local StraightThrough = M.OneHotCategoricalStraightThrough
StraightThrough.has_rsample = true

function StraightThrough:__init(...) set_one_hot(self, "OneHotCategoricalStraightThrough", ...) end

function StraightThrough:_rsample(sample_shape)
  return self:sample(sample_shape) + (self.probs - self.probs:detach())
end

return M
