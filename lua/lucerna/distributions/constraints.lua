-- lucerna.distributions.constraints: the regions that parameters and values lie in. A constraint
-- has is_discrete, event_dim (how many last dimensions make one value) and check(value), a tensor
-- of booleans, one for each value. Their names and texts are PyTorch's.

local lucerna = require "lucerna"
local tools = require "lucerna.distributions.tools"

local constraints = {}

local Constraint = {__name = "Constraint", is_discrete = false, event_dim = 0}
Constraint.__index = Constraint
constraints.Constraint = Constraint

function Constraint.__tostring(self)
  local parts = {self._text}
  for _, key in ipairs(self._shown) do
    parts[#parts + 1] = ("%s=%s"):format(key, tools.text(self[key]))
  end
  return ("%s(%s)"):format(self._name, table.concat(parts, ", "))
end

-- A constraint called name that holds fields; shown: those in its text.
local function make(name, check, fields, shown)
  local made = {_name = name, _shown = shown or {}}
  for key, value in pairs(fields or {}) do made[key] = value end
  function made:check(value) return check(tools.tensor("check", "value", value)) end
  return setmetatable(made, Constraint)
end

local function check_constraint(who, name, value)
  if getmetatable(value) ~= Constraint then
    tools.fail("%s: %s must be a Constraint (got %s)", who, name, tools.kind(value))
  end
  return value
end

local function both(a, b) return a:logical_and(b) end

local function whole(value) return (value % 1):eq(0) end

local LOWER, UPPER = {"lower_bound"}, {"upper_bound"}
local BOTH = {"lower_bound", "upper_bound"}

--- Values above lower_bound.
function constraints.greater_than(lower_bound)
  return make("GreaterThan", function(v) return v:gt(lower_bound) end,
    {lower_bound = lower_bound}, LOWER)
end

--- Values from lower_bound on.
function constraints.greater_than_eq(lower_bound)
  return make("GreaterThanEq", function(v) return v:ge(lower_bound) end,
    {lower_bound = lower_bound}, LOWER)
end

--- Values below upper_bound.
function constraints.less_than(upper_bound)
  return make("LessThan", function(v) return v:lt(upper_bound) end,
    {upper_bound = upper_bound}, UPPER)
end

--- Values from lower_bound to upper_bound, both included.
function constraints.interval(lower_bound, upper_bound)
  return make("Interval", function(v) return both(v:ge(lower_bound), v:le(upper_bound)) end,
    {lower_bound = lower_bound, upper_bound = upper_bound}, BOTH)
end

--- Values from lower_bound to upper_bound, which is not included.
function constraints.half_open_interval(lower_bound, upper_bound)
  return make("HalfOpenInterval",
    function(v) return both(v:ge(lower_bound), v:lt(upper_bound)) end,
    {lower_bound = lower_bound, upper_bound = upper_bound}, BOTH)
end

--- Whole numbers from lower_bound to upper_bound, both included.
function constraints.integer_interval(lower_bound, upper_bound)
  return make("IntegerInterval", function(v)
    return both(whole(v), both(v:ge(lower_bound), v:le(upper_bound)))
  end, {lower_bound = lower_bound, upper_bound = upper_bound, is_discrete = true}, BOTH)
end

local function integers_from(lower_bound)
  return make("IntegerGreaterThan",
    function(v) return both(whole(v), v:ge(lower_bound)) end,
    {lower_bound = lower_bound, is_discrete = true}, LOWER)
end

--- Counts that sum to at most upper_bound in the last dimension.
function constraints.multinomial(upper_bound)
  return make("Multinomial", function(v)
    return both(v:ge(0):all(-1), v:sum(-1):le(upper_bound))
  end, {upper_bound = upper_bound, is_discrete = true, event_dim = 1})
end

--- Values of which base_constraint holds in each of the last reinterpreted_batch_ndims dimensions.
function constraints.independent(base_constraint, reinterpreted_batch_ndims)
  local base = check_constraint("independent", "base_constraint", base_constraint)
  local n = tools.whole("independent", "reinterpreted_batch_ndims", reinterpreted_batch_ndims)
  return make("IndependentConstraint", function(v)
    local result = base:check(v)
    if result:dim() < n then
      tools.fail("check: Expected value.dim() >= %d but got %d", base.event_dim + n, v:dim())
    end
    if n == 0 then return result end
    return result:reshape(tools.join(tools.first(result.shape, result:dim() - n), {-1})):all(-1)
  end, {base_constraint = base, reinterpreted_batch_ndims = n, is_discrete = base.is_discrete,
    event_dim = base.event_dim + n, _text = ("%s, %d"):format(base, n)})
end

-- Square matrices that turn into one boolean each.
local function every(matrices)
  return matrices:reshape(tools.join(tools.first(matrices.shape, -2), {-1})):all(-1)
end

local function lower_triangular(v) return every(v:tril():eq(v)) end

constraints.boolean = make("Boolean", function(v) return v:eq(0):logical_or(v:eq(1)) end,
  {is_discrete = true})
constraints.one_hot = make("OneHot", function(v)
  return both(v:eq(0):logical_or(v:eq(1)):all(-1), v:sum(-1):eq(1))
end, {is_discrete = true, event_dim = 1})
constraints.real = make("Real", function(v) return v:eq(v) end)
constraints.real_vector = constraints.independent(constraints.real, 1)
constraints.positive = constraints.greater_than(0.0)
constraints.nonnegative = constraints.greater_than_eq(0.0)
constraints.unit_interval = constraints.interval(0.0, 1.0)
constraints.nonnegative_integer = integers_from(0)
constraints.positive_integer = integers_from(1)
constraints.simplex = make("Simplex", function(v)
  return both(v:ge(0):all(-1), (v:sum(-1) - 1):abs():lt(1e-6))
end, {event_dim = 1})
constraints.lower_triangular = make("LowerTriangular", lower_triangular, {event_dim = 2})
constraints.lower_cholesky = make("LowerCholesky", function(v)
  return both(lower_triangular(v), v:diagonal(0, -2, -1):gt(0):all(-1))
end, {event_dim = 2})
constraints.corr_cholesky = make("CorrCholesky", function(v)
  local allowed = lucerna.finfo(v.dtype).eps * v:size(-1) * 10
  local unit = (v:detach():norm(2, -1) - 1):abs():le(allowed):all(-1)
  return both(constraints.lower_cholesky:check(v), unit)
end, {event_dim = 2})
constraints.square = make("Square", function(v)
  local shape = v.shape
  local square = shape[#shape] == shape[#shape - 1]
  return lucerna.full(tools.first(shape, -2), square, {dtype = lucerna.bool})
end, {event_dim = 2})
constraints.symmetric = make("Symmetric", function(v)
  return every(v:isclose(v:transpose(-2, -1), {atol = 1e-6}))
end, {event_dim = 2})

constraints.positive_definite = make("PositiveDefinite", function(v)
  local _, info = lucerna.linalg.cholesky_ex(v)
  return both(constraints.symmetric:check(v), info:eq(0))
end, {event_dim = 2})

constraints.positive_semidefinite = make("PositiveSemidefinite", function(v)
  return both(constraints.symmetric:check(v), lucerna.linalg.eigvalsh(v):ge(0):all(-1))
end, {event_dim = 2})

-- The lengths of the slices that belong to the parts of a list: as given, else 1 each.
function constraints._lengths(who, list, lengths)
  local result = {}
  if lengths ~= nil and type(lengths) ~= "table" then
    tools.fail("%s: lengths must be a list of sizes (got %s)", who, tools.kind(lengths))
  end
  for i = 1, #list do result[i] = lengths and lengths[i] or 1 end
  if lengths and #lengths ~= #list then
    tools.fail("%s: lengths must have %d entries (got %d)", who, #list, #lengths)
  end
  return result
end

local function check_parts(who, list, dim)
  if type(list) ~= "table" or #list == 0 then
    tools.fail("%s: cseq must be a list of Constraints", who)
  end
  for i, part in ipairs(list) do check_constraint(who, ("cseq[%d]"):format(i), part) end
  if math.type(dim) ~= "integer" then
    tools.fail("%s: dim must be an integer (got %s)", who, tools.kind(dim))
  end
end

-- A constraint of parts along a dimension: parts(v) are checked each by its own.
local function by_parts(name, list, parts, joined, fields)
  fields.event_dim, fields.is_discrete = 0, false
  for _, constraint in ipairs(list) do
    fields.event_dim = math.max(fields.event_dim, constraint.event_dim)
    fields.is_discrete = fields.is_discrete or constraint.is_discrete
  end
  return make(name, function(v)
    local results = {}
    for i, part in ipairs(parts(v)) do results[i] = list[i]:check(part) end
    return joined(results, fields.dim)
  end, fields)
end

--- Slices along dim, as long as lengths say (1 each by default), that satisfy a constraint each.
function constraints.cat(cseq, dim, lengths)
  dim = dim or 1
  check_parts("cat", cseq, dim)
  lengths = constraints._lengths("cat", cseq, lengths)
  return by_parts("Cat", cseq, function(v) return v:split(lengths, dim) end, lucerna.cat,
    {cseq = cseq, dim = dim, lengths = lengths})
end

--- Places along dim that satisfy a constraint each.
function constraints.stack(cseq, dim)
  dim = dim or 1
  check_parts("stack", cseq, dim)
  return by_parts("Stack", cseq, function(v) return v:unbind(dim) end, lucerna.stack,
    {cseq = cseq, dim = dim})
end

--- What cannot be checked alone: a Dependent constraint.
constraints.dependent = make("Dependent", function()
  tools.fail("check: Cannot determine validity of dependent constraint")
end)

--- Is it constraints.dependent?
function constraints.is_dependent(constraint) return constraint == constraints.dependent end

return constraints
