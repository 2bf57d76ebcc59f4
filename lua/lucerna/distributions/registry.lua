-- From constraints to transforms of unconstrained numbers: biject_to, for densities, and
-- transform_to, for optimizing. By the names of constraints; register adds to them.

local lucerna = require "lucerna"
local constraints = require "lucerna.distributions.constraints"
local tools = require "lucerna.distributions.tools"
local transforms = require "lucerna.distributions.transforms_parts"

local Registry = {__name = "ConstraintRegistry"}
Registry.__index = Registry

local function check(who, constraint)
  if getmetatable(constraint) ~= constraints.Constraint then
    tools.fail("%s: constraint must be a Constraint (got %s)", who, type(constraint))
  end
end

function Registry.__call(self, constraint)
  check(self._name, constraint)
  local factory = self._factories[constraint._name]
  if not factory then
    tools.fail("%s: Cannot transform %s constraints", self._name, constraint._name)
  end
  return factory(constraint)
end

--- register(constraint, factory): the transform to constraints of this kind is factory(constraint).
function Registry:register(constraint, factory)
  check("register", constraint)
  self._factories[constraint._name] = factory
  return factory
end

local function after(first, loc, scale)
  return transforms.ComposeTransform {first, transforms.AffineTransform(loc, scale)}
end

local function above(constraint)
  return after(transforms.ExpTransform(), constraint.lower_bound, 1)
end

local function below(constraint)
  return after(transforms.ExpTransform(), constraint.upper_bound, -1)
end

local function between(constraint)
  local low, high = constraint.lower_bound, constraint.upper_bound
  if not lucerna.is_tensor(low) and low == 0 and not lucerna.is_tensor(high) and high == 1 then
    return transforms.SigmoidTransform()
  end
  return after(transforms.SigmoidTransform(), low, high - low)
end

-- The transforms to the constraints of parts.
local function each(registry, constraint)
  local list = {}
  for i, part in ipairs(constraint.cseq) do list[i] = registry(part) end
  return list
end

local function make(name)
  local registry = setmetatable({_name = name}, Registry)
  registry._factories = {
    Real = function() return transforms.identity_transform end,
    IndependentConstraint = function(constraint)
      return transforms.IndependentTransform(registry(constraint.base_constraint),
        constraint.reinterpreted_batch_ndims)
    end,
    GreaterThan = above, GreaterThanEq = above, LessThan = below, Interval = between,
    HalfOpenInterval = between,
    CorrCholesky = function() return transforms.CorrCholeskyTransform() end,
    Cat = function(constraint)
      return transforms.CatTransform(each(registry, constraint), constraint.dim,
        constraint.lengths)
    end,
    Stack = function(constraint)
      return transforms.StackTransform(each(registry, constraint), constraint.dim)
    end,
  }
  return registry
end

local biject_to, transform_to = make "biject_to", make "transform_to"
biject_to._factories.Simplex = function() return transforms.StickBreakingTransform() end
transform_to._factories.Simplex = function() return transforms.SoftmaxTransform() end
transform_to._factories.LowerCholesky = function() return transforms.LowerCholeskyTransform() end
local function definite() return transforms.PositiveDefiniteTransform() end
transform_to._factories.PositiveDefinite = definite
transform_to._factories.PositiveSemidefinite = definite

return {biject_to = biject_to, transform_to = transform_to}
