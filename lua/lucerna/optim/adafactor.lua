-- Adafactor (torch.optim.Adafactor): what Adam keeps for each element of a matrix is kept for each
-- row and column.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"
local optimizer = require "lucerna.optim.optimizer"

local Optimizer = optimizer.Optimizer

local fail = core._fail

local NAMES = {"lr", "beta2_decay", "eps", "d", "weight_decay", "foreach", "maximize"}
local ARGUMENTS = {"params", options = 2, table.unpack(NAMES)}

local module = {}

--- Adafactor: lr (1e-2), beta2_decay (-0.8), eps ({none, 1e-3}), d (1.0), weight_decay (0.0),
-- maximize (false). Shazeer and Stern, arXiv:1804.04235. For matrices it keeps means of g² of rows
-- and columns, whose product over the mean is v.
--   p = p - lr * weight_decay * p
--   p = p - max(eps[2], RMS(p)) * min(lr, 1 / √t) * u / max(1, RMS(u) / d);  u = g / √v
module.Adafactor = classes.new("Adafactor", Optimizer)
local Adafactor = module.Adafactor

-- eps[1] may be None: then it is the dtype's.
local function first_eps(eps) return eps[1] ~= core.none and eps[1] or nil end

local LIMITS = {
  {"lr", 0, nil, "Learning rate should be >= 0 but is: %s"},
  {"beta2_decay", nil, 0, "beta2_decay should be <= 0 but is: %s"},
  {"d", 1, nil, "Clipping threshold d should be >= 1 but is: %s"},
  {"weight_decay", 0, nil, "weight_decay should be >= 0 but is: %s"},
  {"maximize", "boolean"},
}
local EPS_LIMITS = {
  {1, 0, nil, "epsilon1 should be >= 0 but is: %s"},
  {2, 0, nil, "epsilon2 should be >= 0 but is: %s"},
}

function Adafactor:_check_options(group)
  Optimizer._check_limits("Adafactor", LIMITS, group)
  local eps = group.eps
  if type(eps) ~= "table" then
    fail("Adafactor: eps must be a table of two, the first of which may be lucerna.none (got %s)",
      type(eps))
  end
  Optimizer._check_limits("Adafactor: eps", EPS_LIMITS, {first_eps(eps) or 0, eps[2]})
end

function Adafactor:__init(...)
  local params, lr, beta2_decay, eps, d, weight_decay, foreach, maximize =
    arguments("Adafactor", ARGUMENTS, ...)
  local defaults = {lr = lr or 1e-2, beta2_decay = beta2_decay or -0.8,
    eps = eps or {core.none, 1e-3}, d = d or 1.0, weight_decay = weight_decay or 0.0,
    foreach = foreach, maximize = maximize or false}
  Optimizer.__init(self, params, defaults, NAMES)
end

function Adafactor:load_state_dict(dict)
  Optimizer.load_state_dict(self, dict)
  for _, group in ipairs(self.param_groups) do -- of a file, eps[1] is absent where it is None
    group.eps = {first_eps(group.eps) or core.none, group.eps[2]}
  end
end

-- The sizes with that of dimension d from the end as 1.
local function without(param, d)
  local shape = param:size()
  shape[#shape + 1 - d] = 1
  return shape
end

function Adafactor:_shapes(param)
  if param:dim() < 2 then return {variance = param:size()} end
  return {row_var = without(param, 1), col_var = without(param, 2)}
end

local function mean_square(grad, dim)
  return grad:norm(2, {dim = dim, keepdim = true}):square():div(grad:size(dim))
end

-- The new state and what estimates the square of the gradient; eps1 is a lower bound.
local function estimate(state, grad, share, eps1)
  if grad:dim() < 2 then
    local variance = (state.variance or grad:new_zeros(grad:size())):lerp(grad * grad, share)
    return {variance = variance}, variance
  end
  local function mean(old, d)
    return (old or grad:new_zeros(without(grad, d))):lerp(mean_square(grad, -d), share)
  end
  local rows, columns = mean(state.row_var, 1), mean(state.col_var, 2)
  local whole = rows:mean(-2, {keepdim = true}):clamp {min = eps1}
  return {row_var = rows, col_var = columns}, rows:matmul(columns) / whole
end

local function root_mean_square(t) return t:norm(2):item() / math.sqrt(t:numel()) end

-- The new value of a parameter and its new state.
local function update(group, p, state)
  local grad = group.maximize and -p.grad or p.grad
  local step = (state.step and state.step:item() or 0) + 1
  local eps1 = first_eps(group.eps) or lucerna.finfo(p.dtype).eps
  local lr = Optimizer._number(group.lr)
  local rho = math.min(lr, 1 / math.sqrt(step))
  local alpha = math.max(group.eps[2], root_mean_square(p)) * rho
  local new, square = estimate(state, grad, step ^ group.beta2_decay, eps1)
  local move = square:clamp({min = eps1 * eps1}):rsqrt() * grad
  local clip = math.max(1, root_mean_square(move) / group.d)
  new.step = lucerna.tensor(step + 0.0)
  return (p * (1 - lr * group.weight_decay)):add(move, {alpha = -alpha / clip}), new
end

Adafactor.step = Optimizer._step_by(update)

return Adafactor
