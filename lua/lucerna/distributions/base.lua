-- The base of all distributions: shapes, validation, text, and what follows from the rest. A class
-- is a table; `Class.getters.mean(self)` makes the field d.mean, computed when it is read.

local lucerna = require "lucerna"
local constraints = require "lucerna.distributions.constraints"
local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"
local tools = require "lucerna.distributions.tools"

local fail, join = tools.fail, tools.join
local base = {}

-- A class with getters, of distributions or of anything else. A name's value is a field of it or a
-- parent, else what a getter computes.
function base.kind(name, parent)
  local class = classes.new(name, parent)
  local getters = setmetatable({}, {__index = parent and parent.getters})
  class.getters = getters
  class.__index = function(object, key)
    local value = class[key]
    if value ~= nil then return value end
    local getter = getters[key]
    return getter and getter(object)
  end
  return class
end

--- The root of a family of classes. takes: by the names of methods, of this class and all below it,
-- what checks their arguments (called with the name and these) and returns them.
function base.root(name, takes)
  local class
  local function define(key, method)
    local check = takes[key]
    if not check then return method end
    local function checked(self, ...)
      if not classes.is_a(self, class) then
        fail("%s: must be called with a colon, object:%s(...)", key, key)
      end
      return method(self, check(key, ...))
    end
    tools.written[checked] = method
    return checked
  end
  class = base.kind(name, {__define = define})
  return class
end

--- class(name, Parent): a new class of distributions. Parent defaults to Distribution. It needs
-- __init, which calls Distribution.__init(self, batch_shape, event_shape, validate_args), and
-- arg_constraints, a table by parameter that also lists the names in order; _log_prob(value),
-- _rsample(shape) or _sample(shape) as it can; and Class.getters.mean(self) for the field d.mean.
function base.class(name, parent) return base.subclass(name, parent, base.Distribution) end

-- A class that a user makes, of Parent or else the root of its family.
function base.subclass(name, parent, default)
  classes.check("class", name, parent)
  return base.kind(name, parent or default)
end

local function as_given(_, ...) return ... end

--- The base: Distribution(batch_shape = {}, event_shape = {}, validate_args).
base.Distribution = base.root("Distribution", {
  sample = as_given, rsample = as_given, expand = as_given, log_prob = as_given, cdf = as_given,
  icdf = as_given, entropy = as_given, perplexity = as_given, enumerate_support = as_given,
})
local Distribution = base.Distribution

Distribution.has_rsample = false
Distribution.has_enumerate_support = false
Distribution._validate_args = true
Distribution.arg_constraints = {}

--- Are parameters and values checked where validate_args is not given?
function Distribution.set_default_validate_args(value)
  if type(value) ~= "boolean" then
    fail("set_default_validate_args: value must be a boolean (got %s)", type(value))
  end
  Distribution._validate_args = value
end

local function check_parameters(self)
  for _, name in ipairs(self.arg_constraints) do
    local constraint, value = self.arg_constraints[name], rawget(self, name)
    if value ~= nil and not constraints.is_dependent(constraint) then
      local good = lucerna.no_grad(constraint.check, constraint, value)
      if not good:all():item() then
        fail("%s: Expected parameter %s (Tensor of shape %s) of distribution %s to satisfy the "
          .. "constraint %s, but found invalid values: %s", self.__name, name,
          tools.tuple(value.shape), tools.text(self), constraint, tools.text(value))
      end
    end
  end
end

function Distribution:__init(batch_shape, event_shape, validate_args)
  self.batch_shape, self.event_shape = batch_shape or {}, event_shape or {}
  if validate_args ~= nil then self._validate_args = validate_args end
  if self._validate_args then check_parameters(self) end
end

--- Refuses what no distribution of these shapes, or this support, gives.
function Distribution:_validate_sample(who, value)
  if not lucerna.is_tensor(value) then
    fail("%s: The value argument to %s must be a Tensor", self.__name, who)
  end
  if not self._validate_args then return end
  local shape, events = value.shape, #self.event_shape
  if #shape < events or not tools.same(tools.last(shape, events), self.event_shape) then
    fail("%s: The right-most size of value must match event_shape: %s vs %s.", who,
      tools.size_text(shape), tools.size_text(self.event_shape))
  end
  local expected = join(self.batch_shape, self.event_shape)
  for k = 0, math.min(#shape, #expected) - 1 do
    local i, j = shape[#shape - k], expected[#expected - k]
    if i ~= 1 and j ~= 1 and i ~= j then
      fail("%s: Value is not broadcastable with batch_shape+event_shape: %s vs %s.", who,
        tools.size_text(shape), tools.size_text(expected))
    end
  end
  local support = self.support
  if support and not lucerna.no_grad(support.check, support, value):all():item() then
    fail("%s: Expected value argument (Tensor of shape %s) to be within the support (%s) of the "
      .. "distribution %s, but found invalid values: %s", who, tools.tuple(shape), support,
      tools.text(self), tools.text(value))
  end
end

--- The shape of samples: sample_shape, then batch_shape, then event_shape.
function Distribution:_extended_shape(sample_shape)
  return join(sample_shape or {}, self.batch_shape, self.event_shape)
end

--- d:sample(sample_shape = {}): values drawn from the distribution, of the shape sample_shape,
-- batch_shape, event_shape, without a gradient. Sizes go one after another or as a table.
function Distribution:sample(...)
  local shape = tools.sizes("sample", "sample_shape", ...)
  return lucerna.no_grad(self._sample or self._rsample, self, shape)
end

--- d:rsample(sample_shape = {}): sample, through which gradients flow to the parameters.
function Distribution:rsample(...)
  local shape = tools.sizes("rsample", "sample_shape", ...)
  if not self.has_rsample then fail("rsample: %s does not implement rsample", self.__name) end
  return self:_rsample(shape)
end

function Distribution:_rsample() fail("sample: %s does not implement sample", self.__name) end

--- d:expand(batch_shape): the same distribution with its batch dimensions expanded.
function Distribution:expand(...)
  local shape = tools.sizes("expand", "batch_shape", ...)
  local copy = setmetatable({ -- room for what most have
    batch_shape = nil, event_shape = nil, _given = nil, loc = nil, scale = nil,
  }, getmetatable(self))
  for key, value in next, self do copy[key] = value end
  self._expand(copy, shape)
  copy.batch_shape = shape
  return copy
end

-- The parameters of a copy, whose last dimensions beyond the batch's are the parameter's own.
function Distribution:_expand(shape)
  local names, dims = self.arg_constraints, #self.batch_shape
  for k = 1, #names do
    local value = rawget(self, names[k])
    if value ~= nil then
      local own = value:dim() - dims
      local whole = own > 0 and join(shape, tools.last(value.shape, own)) or shape
      self[names[k]] = value:expand(whole)
    end
  end
end

-- log_prob, cdf and icdf check the value, then call _log_prob, _cdf, _icdf of the class.
for _, who in ipairs {"log_prob", "cdf", "icdf"} do
  local hook = "_" .. who
  Distribution[who] = function(self, ...)
    local value = arguments(who, {"value"}, ...)
    local run = self[hook]
    if not run then fail("%s: %s does not implement %s", who, self.__name, who) end
    if who ~= "icdf" then
      self:_validate_sample(who, value)
    elseif not lucerna.is_tensor(value) then
      fail("icdf: The value argument to icdf must be a Tensor")
    end
    return run(self, value)
  end
end

--- d:entropy(): how uncertain a sample is, in nats, of the shape batch_shape.
function Distribution:entropy() fail("entropy: %s does not implement entropy", self.__name) end

--- d:perplexity(): e to the power of the entropy, how many equally likely values are as uncertain.
function Distribution:perplexity() return self:entropy():exp() end

--- d:enumerate_support(expand = true): every value of a discrete distribution along the first
-- dimension; with expand = false the batch dimensions have size 1.
function Distribution:enumerate_support(...)
  local expand = arguments("enumerate_support", {"expand"}, ...)
  if not self.has_enumerate_support then
    fail("enumerate_support: %s does not implement enumerate_support", self.__name)
  end
  return self:_enumerate(expand ~= false)
end

-- Lays values, of event_shape each, along a new first dimension, in front of the batch's.
function base.enumerated(self, values, expand)
  local n, ones = {values:size(1)}, {}
  for i = 1, #self.batch_shape do ones[i] = 1 end
  values = values:view(join(n, ones, self.event_shape))
  return expand and values:expand(join(n, self.batch_shape, self.event_shape)) or values
end

for _, name in ipairs {"mean", "mode", "variance"} do
  Distribution.getters[name] = function(self)
    fail("%s: %s does not implement %s", name, self.__name, name)
  end
end

function Distribution.getters:stddev() return self.variance:sqrt() end

--- `probs` and `logits`, of which one is given and the other computed when it is first read, so
-- that gradients flow through it even if that happens inside no_grad.
function base.probs_or_logits(class, is_binary)
  function class.getters:param_shape() return self[self._given].shape end
  function class.getters:probs()
    self.probs = lucerna.enable_grad(tools.logits_to_probs, self.logits, is_binary)
    return self.probs
  end
  function class.getters:logits()
    self.logits = lucerna.enable_grad(tools.probs_to_logits, self.probs, is_binary)
    return self.logits
  end
end

--- The name and the value of the one of probs and logits that is given, or an error.
function base.one_of(who, probs, logits)
  if (probs == nil) == (logits == nil) then
    fail("%s: Either `probs` or `logits` must be specified, but not both.", who)
  end
  if probs ~= nil then return "probs", probs end
  return "logits", logits
end

--- Sets the one of probs and logits that is given in self, and returns its shape.
function base.set_one(self, who, probs, logits)
  local name, value = base.one_of(who, probs, logits)
  self[name], self._given = tools.broadcast(who, {name}, value), name
  return self[name].shape
end

--- The __init of a class of total_count trials (without a default it must be given), of which probs
-- or logits says how they end.
function base.init_trials(self, who, default, ...)
  local total_count, probs, logits, validate_args =
    arguments(who, {"total_count", "probs", "logits", "validate_args", options = 3}, ...)
  local name, value = base.one_of(who, probs, logits)
  local count, given =
    tools.broadcast(who, {"total_count", name}, total_count or default, value)
  self.total_count, self[name], self._given = count:to(given.dtype), given, name
  Distribution.__init(self, given.shape, {}, validate_args)
end

--- A getter of the field of that name that self.base_dist has.
function base.of_base(name) return function(self) return self.base_dist[name] end end

local function set(self, names, k, value, ...)
  self[names[k]] = value
  if k < #names then set(self, names, k + 1, ...) end
end

--- What reads a constructor's arguments, parameters of these names and validate_args: a function
-- (self, ...) that broadcasts the former, sets them in self, and returns the latter.
function base.taker(who, names)
  local all = join(names, {"validate_args"})
  all.options = #all
  local function take(self, ...)
    set(self, names, 1, tools.broadcast(who, names, ...))
    return (select(#names + 1, ...))
  end
  return function(self, ...) return take(self, arguments(who, all, ...)) end
end

--- A class with the constructor that most have: the parameters that arg_constraints lists, and
-- validate_args.
function base.elementwise(name, parent, arg_constraints, support)
  local class = base.class(name, parent)
  local take, first = base.taker(name, {table.unpack(arg_constraints)}), arg_constraints[1]
  class.arg_constraints, class.support = arg_constraints, support
  function class:__init(...)
    local validate_args = take(self, ...)
    Distribution.__init(self, self[first].shape, {}, validate_args)
  end
  return class
end

function Distribution:__tostring()
  local parts = {}
  for _, name in ipairs(self.arg_constraints) do
    local value = rawget(self, name)
    if value ~= nil then
      local text = value:numel() == 1 and tools.text(value) or tools.size_text(value.shape)
      parts[#parts + 1] = name .. ": " .. text
    end
  end
  return ("%s(%s)"):format(self.__name, table.concat(parts, ", "))
end

-- ---- exponential families ----

--- ExponentialFamily: the base of distributions whose density is exp(<t(x), θ> - F(θ) + k(x)).
-- A class gives getters._natural_params (a list of tensors θ), _log_normalizer(...), which is F,
-- and _mean_carrier_measure, the mean of k; from their derivatives follow entropy and divergence.
base.ExponentialFamily = base.kind("ExponentialFamily", Distribution)
local Family = base.ExponentialFamily
Family._mean_carrier_measure = 0

-- Returns F at the natural parameters, these cut off from their graph, and the derivatives of F.
local function normalizer(self)
  local params = {}
  local given = self._natural_params
  if not given or not self._log_normalizer then
    fail("entropy: %s does not implement entropy", self.__name)
  end
  for i, p in ipairs(given) do params[i] = p:detach():requires_grad_() end
  return lucerna.enable_grad(function()
    local value = self:_log_normalizer(table.unpack(params))
    return value, params, {lucerna.autograd.grad(value:sum(), params, {create_graph = true})}
  end)
end

-- Sums over the dimensions that a tensor has behind the batch's.
local function sum_events(self, x) return tools.sum_rightmost(x, x:dim() - #self.batch_shape) end

function Family:entropy()
  local result, params, slopes = normalizer(self)
  for i, p in ipairs(params) do result = result - sum_events(self, p * slopes[i]) end
  return result - self._mean_carrier_measure
end

-- The divergence of two of one family, by Bregman's formula.
function base.bregman(p, q)
  local own, params, slopes = normalizer(p)
  local others = q._natural_params
  local result = q:_log_normalizer(table.unpack(others)) - own
  for i, slope in ipairs(slopes) do
    result = result - sum_events(q, (others[i] - params[i]) * slope)
  end
  return result
end

return base
