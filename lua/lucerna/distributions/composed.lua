-- Distributions made of others: Independent, TransformedDistribution and those that are its
-- subclasses: LogNormal, HalfNormal, HalfCauchy.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local kl = require "lucerna.distributions.kl"
local normal = require "lucerna.distributions.normal"
local tools = require "lucerna.distributions.tools"
local transforms = require "lucerna.distributions.transforms"

local Distribution, join, fail = base.Distribution, tools.join, tools.fail
local of_base, sum_rightmost = base.of_base, tools.sum_rightmost

local M = {}

local function check_base(who, d)
  if not classes.is_a(d, Distribution) then
    fail("%s: base_distribution must be a Distribution (got %s)", who, type(d))
  end
end

-- ---- Independent ----

--- Independent(base_distribution, reinterpreted_batch_ndims, validate_args): a distribution of
-- which the last batch dimensions are one event, whose log_prob and entropy are summed.
M.Independent = base.class "Independent"
local Independent = M.Independent

function Independent:__init(...)
  local d, n, validate_args = arguments("Independent",
    {"base_distribution", "reinterpreted_batch_ndims", "validate_args", options = 3}, ...)
  check_base("Independent", d)
  if math.type(n) ~= "integer" or n < 0 then
    fail("Independent: reinterpreted_batch_ndims must be a count (got %s)", n)
  end
  if n > #d.batch_shape then
    fail("Independent: Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
      .. "actual %d vs %d", n, #d.batch_shape)
  end
  self.base_dist, self.reinterpreted_batch_ndims = d, n
  self.has_rsample = d.has_rsample
  self.has_enumerate_support = n == 0 and d.has_enumerate_support
  local batch = tools.first(d.batch_shape, #d.batch_shape - n)
  Distribution.__init(self, batch, join(tools.last(d.batch_shape, n), d.event_shape), validate_args)
end

function Independent:_expand(shape)
  local n = self.reinterpreted_batch_ndims
  self.base_dist = self.base_dist:expand(join(shape, tools.first(self.event_shape, n)))
end

for _, name in ipairs {"mean", "mode", "variance", "stddev"} do
  Independent.getters[name] = of_base(name)
end

function Independent.getters:support()
  local support, n = self.base_dist.support, self.reinterpreted_batch_ndims
  return n > 0 and constraints.independent(support, n) or support
end

function Independent:_sample(sample_shape) return self.base_dist:sample(sample_shape) end
function Independent:_rsample(sample_shape) return self.base_dist:rsample(sample_shape) end

function Independent:_log_prob(value)
  return sum_rightmost(self.base_dist:log_prob(value), self.reinterpreted_batch_ndims)
end

function Independent:entropy()
  return sum_rightmost(self.base_dist:entropy(), self.reinterpreted_batch_ndims)
end

function Independent:_enumerate(expand) return self.base_dist:enumerate_support(expand) end

function Independent:__tostring()
  return ("%s(%s, %d)"):format(self.__name, self.base_dist, self.reinterpreted_batch_ndims)
end

kl.register_kl(Independent, Independent, function(p, q)
  local n = p.reinterpreted_batch_ndims
  if n ~= q.reinterpreted_batch_ndims then
    fail("kl_divergence: the two reinterpreted_batch_ndims must be the same (got %d and %d)", n,
      q.reinterpreted_batch_ndims)
  end
  return sum_rightmost(kl.kl_divergence(p.base_dist, q.base_dist), n)
end)

-- ---- TransformedDistribution ----

--- TransformedDistribution(base_distribution, transforms, validate_args): of values of the base
-- that went through a transform, or a list of them in order.
M.TransformedDistribution = base.class "TransformedDistribution"
local Transformed = M.TransformedDistribution

local function transform_list(given)
  if classes.is_a(given, transforms.Transform) then return {given} end
  if type(given) ~= "table" then
    fail("TransformedDistribution: transforms must be a Transform or list, but was %s", given)
  end
  for _, t in ipairs(given) do
    if not classes.is_a(t, transforms.Transform) then
      fail("TransformedDistribution: transforms must be a Transform or a list of Transforms")
    end
  end
  return given
end

-- The base, expanded to the shape that the transforms broadcast it to and with as many event
-- dimensions as they want.
local function fitting(d, transform, base_shape, shape)
  local events, wanted = #d.event_shape, transform.domain.event_dim
  local expanded = transform:inverse_shape(shape)
  if not tools.same(base_shape, expanded) then
    d = d:expand(tools.first(expanded, #expanded - events))
  end
  return wanted > events and M.Independent(d, wanted - events) or d
end

function Transformed:__init(...)
  local d, list, validate_args = arguments("TransformedDistribution",
    {"base_distribution", "transforms", "validate_args", options = 3}, ...)
  check_base("TransformedDistribution", d)
  self.transforms = transform_list(list)
  local transform = transforms.ComposeTransform(self.transforms)
  local base_shape = join(d.batch_shape, d.event_shape)
  local wanted = transform.domain.event_dim
  if #base_shape < wanted then
    fail("TransformedDistribution: base_distribution needs to have shape with size at least %d, "
      .. "but got %s.", wanted, tools.size_text(base_shape))
  end
  local shape = transform:forward_shape(base_shape)
  self.base_dist = fitting(d, transform, base_shape, shape)
  self.has_rsample = self.base_dist.has_rsample
  local events = transform.codomain.event_dim + math.max(#d.event_shape - wanted, 0)
  Distribution.__init(self, tools.first(shape, #shape - events), tools.last(shape, events),
    validate_args)
end

function Transformed:_expand(batch_shape)
  local shape = join(batch_shape, self.event_shape)
  for i = #self.transforms, 1, -1 do shape = self.transforms[i]:inverse_shape(shape) end
  self.base_dist = self.base_dist:expand(
    tools.first(shape, #shape - #self.base_dist.event_shape))
end

function Transformed.getters:support()
  if #self.transforms == 0 then return self.base_dist.support end
  local support = self.transforms[#self.transforms].codomain
  local more = #self.event_shape - support.event_dim
  return more > 0 and constraints.independent(support, more) or support
end

local function forward(self, x)
  for _, transform in ipairs(self.transforms) do x = transform(x) end
  return x
end

function Transformed:_sample(shape) return forward(self, self.base_dist:sample(shape)) end
function Transformed:_rsample(shape) return forward(self, self.base_dist:rsample(shape)) end

function Transformed:_log_prob(y)
  local dims, result = #self.event_shape, 0.0
  for i = #self.transforms, 1, -1 do
    local transform = self.transforms[i]
    local x = transform.inv(y)
    dims = dims + transform.domain.event_dim - transform.codomain.event_dim
    result = result - sum_rightmost(transform:log_abs_det_jacobian(x, y),
      dims - transform.domain.event_dim)
    y = x
  end
  return result + sum_rightmost(self.base_dist:log_prob(y), dims - #self.base_dist.event_shape)
end

-- A probability, or 1 less it if the transforms together decrease.
local function monotone(self, value)
  local sign = 1
  for _, transform in ipairs(self.transforms) do sign = sign * transform.sign end
  return sign == 1 and value or sign * (value - 0.5) + 0.5
end

function Transformed:_cdf(value)
  for i = #self.transforms, 1, -1 do value = self.transforms[i].inv(value) end
  return monotone(self, self.base_dist:cdf(value))
end

function Transformed:_icdf(value)
  return forward(self, self.base_dist:icdf(monotone(self, value)))
end

kl.register_kl(Transformed, Transformed, function(p, q)
  local function compose(d) return transforms.ComposeTransform(d.transforms) end
  if compose(p) ~= compose(q) or not tools.same(p.event_shape, q.event_shape) then
    fail("kl_divergence: p and q must have the same transforms and event_shape")
  end
  return kl.kl_divergence(p.base_dist, q.base_dist)
end)

-- ---- its subclasses ----

-- Makes the object's base from its loc and scale; they are checked as the object's parameters.
local function set_base(object, Base, loc, scale, transform, validate_args)
  local who = object.__name
  loc, object.scale = tools.broadcast(who, {"loc", "scale"}, loc, scale)
  if object.arg_constraints.loc then object.loc = loc end
  Transformed.__init(object, Base(loc, object.scale, false), transform, validate_args)
end

local function expand_both(self, shape)
  Distribution._expand(self, shape)
  Transformed._expand(self, shape)
end

--- LogNormal(loc, scale, validate_args): exp of a Normal(loc, scale).
M.LogNormal = base.class("LogNormal", Transformed)
local LogNormal = M.LogNormal
LogNormal.arg_constraints = normal.Normal.arg_constraints
LogNormal.support, LogNormal._expand = constraints.positive, expand_both

function LogNormal:__init(...)
  local loc, scale, validate_args =
    arguments("LogNormal", {"loc", "scale", "validate_args", options = 3}, ...)
  set_base(self, normal.Normal, loc, scale, transforms.ExpTransform(), validate_args)
end

function LogNormal.getters:mean() return (self.loc + self.scale ^ 2 / 2):exp() end
function LogNormal.getters:mode() return (self.loc - self.scale ^ 2):exp() end

function LogNormal.getters:variance()
  local square = self.scale ^ 2
  return (square:exp() - 1) * (self.loc * 2 + square):exp()
end

function LogNormal:entropy() return self.base_dist:entropy() + self.loc end

-- A class of absolute values of Base(0, scale).
local function half(name, Base)
  local class = base.class(name, Transformed)
  class.arg_constraints = {"scale", scale = constraints.positive}
  class.support, class._expand = constraints.nonnegative, expand_both
  function class:__init(...)
    local scale, validate_args = arguments(name, {"scale", "validate_args", options = 2}, ...)
    set_base(self, Base, 0.0, scale, transforms.AbsTransform(), validate_args)
  end
  function class.getters:mode() return lucerna.zeros_like(self.scale:detach()) end
  function class:_log_prob(value)
    local inside = self.base_dist:log_prob(value) + math.log(2)
    return inside:masked_fill(value:lt(0), -math.huge)
  end
  function class:_cdf(value) return self.base_dist:cdf(value) * 2 - 1 end
  function class:_icdf(value) return self.base_dist:icdf((value + 1) / 2) end
  function class:entropy() return self.base_dist:entropy() - math.log(2) end
  return class
end

--- HalfNormal(scale, validate_args): the absolute value of a Normal(0, scale).
M.HalfNormal = half("HalfNormal", normal.Normal)
local HalfNormal = M.HalfNormal

function HalfNormal.getters:mean() return self.scale * math.sqrt(2 / math.pi) end
function HalfNormal.getters:variance() return self.scale ^ 2 * (1 - 2 / math.pi) end

--- HalfCauchy(scale, validate_args): the absolute value of a Cauchy(0, scale).
M.HalfCauchy = half("HalfCauchy", normal.Cauchy)
local HalfCauchy = M.HalfCauchy

function HalfCauchy.getters:mean() return lucerna.full_like(self.scale:detach(), math.huge) end
HalfCauchy.getters.variance = function(self) return self.base_dist.variance end

kl.register_kl(HalfNormal, HalfNormal, function(p, q)
  return kl.kl_divergence(p.base_dist, q.base_dist)
end)

return M
