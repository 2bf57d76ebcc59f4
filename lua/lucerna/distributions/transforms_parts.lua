-- More of lucerna.distributions.transforms: of parts of a tensor, and by the cumulative
-- probabilities of a distribution. Adds to the table of the others.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local constraints = require "lucerna.distributions.constraints"
local tools = require "lucerna.distributions.tools"
local transforms = require "lucerna.distributions.transforms"

local fail = tools.fail

-- ---- of parts along a dimension ----

-- tseq, which must be a list of transforms.
local function sequence(who, tseq)
  if type(tseq) ~= "table" or #tseq == 0 then fail("%s: tseq must be a list of Transforms", who) end
  return transforms._check_list(who, "tseq", tseq)
end

-- Parts of x that the transforms take: slices of these lengths, or (without lengths) single places.
local function parts_of(self, x)
  local n = 0
  for i = 1, #self.transforms do n = n + (self.lengths and self.lengths[i] or 1) end
  if self.dim > x:dim() or self.dim < -x:dim() or x:size(self.dim) ~= n then
    fail("%s: x must have %d places along dim %d (got %s)", self.__name, n, self.dim,
      tools.size_text(x.shape))
  end
  if not self.lengths then return x:unbind(self.dim) end
  return x:split(self.lengths, self.dim)
end

-- Calls f(transform, part of x, part of y) for each transform; returns the results.
local function each_part(self, f, x, y)
  local results, xs, ys = {}, parts_of(self, x), y and parts_of(self, y)
  for i, t in ipairs(self.transforms) do results[i] = f(t, xs[i], ys and ys[i]) end
  return results
end

local function forward(t, x) return t(x) end
local function backward(t, y) return t.inv(y) end
local function slope(t, x, y) return t:log_abs_det_jacobian(x, y) end

-- A class of these; joined(results, dim) puts parts together, make(list, self) their constraints.
local function by_parts(name, joined, make)
  local class = transforms.class(name)
  function class:_call(x) return joined(each_part(self, forward, x), self.dim) end
  function class:_inverse(y) return joined(each_part(self, backward, y), self.dim) end
  function class.getters:bijective()
    for _, t in ipairs(self.transforms) do
      if not t.bijective then return false end
    end
    return true
  end
  for _, which in ipairs {"domain", "codomain"} do
    class.getters[which] = function(self)
      local list = {}
      for i, t in ipairs(self.transforms) do list[i] = t[which] end
      return make(list, self)
    end
  end
  return class
end

--- CatTransform(tseq, dim = 1, lengths, cache_size): each transform of a list, of a slice along dim
-- as long as its entry in lengths (1 each by default).
transforms.CatTransform = by_parts("CatTransform", lucerna.cat, function(list, self)
  return constraints.cat(list, self.dim, self.lengths)
end)
local Cat = transforms.CatTransform

function Cat:__init(...)
  local tseq, dim, lengths, cache_size =
    arguments("CatTransform", {"tseq", "dim", "lengths", "cache_size"}, ...)
  self.transforms, self.dim = sequence("CatTransform", tseq), dim or 1
  self.lengths = constraints._lengths("CatTransform", tseq, lengths)
  self:_cache(cache_size)
end

function Cat.getters:event_dim()
  local most = 0
  for _, t in ipairs(self.transforms) do most = math.max(most, t.event_dim) end
  return most
end

function Cat:log_abs_det_jacobian(x, y)
  local most = self.event_dim
  local slopes = each_part(self, function(t, ...)
    return tools.sum_rightmost(slope(t, ...), most - t.event_dim)
  end, x, y)
  local dim = (self.dim > 0 and self.dim - 1 - x:dim() or self.dim) + most
  if dim < 0 then return lucerna.cat(slopes, dim) end
  local sum = slopes[1]
  for i = 2, #slopes do sum = sum + slopes[i] end
  return sum
end

--- StackTransform(tseq, dim = 1, cache_size): each transform of a list, of one place along dim.
transforms.StackTransform = by_parts("StackTransform", lucerna.stack, function(list, self)
  return constraints.stack(list, self.dim)
end)
local Stack = transforms.StackTransform

function Stack:__init(...)
  local tseq, dim, cache_size = arguments("StackTransform", {"tseq", "dim", "cache_size"}, ...)
  self.transforms, self.dim = sequence("StackTransform", tseq), dim or 1
  self:_cache(cache_size)
end

function Stack:log_abs_det_jacobian(x, y)
  return lucerna.stack(each_part(self, slope, x, y), self.dim)
end

-- ---- by cumulative probabilities ----

--- CumulativeDistributionTransform(distribution, cache_size): the probability of at most x.
transforms.CumulativeDistributionTransform = transforms.class "CumulativeDistributionTransform"
local Cumulative = transforms.CumulativeDistributionTransform
Cumulative.codomain, Cumulative.bijective, Cumulative.sign = constraints.unit_interval, true, 1

function Cumulative:__init(...)
  local distribution, cache_size =
    arguments("CumulativeDistributionTransform", {"distribution", "cache_size"}, ...)
  if type(distribution) ~= "table" or type(distribution.log_prob) ~= "function" then
    fail("CumulativeDistributionTransform: distribution must be a Distribution (got %s)",
      type(distribution))
  end
  self.distribution = distribution
  self:_cache(cache_size)
end

function Cumulative.getters:domain() return self.distribution.support end
function Cumulative:_call(x) return self.distribution:cdf(x) end
function Cumulative:_inverse(y) return self.distribution:icdf(y) end
function Cumulative:log_abs_det_jacobian(x) return self.distribution:log_prob(x) end

return transforms
