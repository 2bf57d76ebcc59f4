-- LBFGS (torch.optim.LBFGS, after Schmidt's minFunc): a quasi-Newton method that asks its closure
-- several times a step. State is kept for the first parameter, in PyTorch's names.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"
local on_error = require "lucerna.on_error"
local line_search = require "lucerna.optim.line_search"
local optimizer = require "lucerna.optim.optimizer"

local Optimizer = optimizer.Optimizer

local fail = core._fail

local NAMES = {"lr", "max_iter", "max_eval", "tolerance_grad", "tolerance_change", "history_size",
  "line_search_fn", "maximize"}
local ARGUMENTS = {"params", options = 2, table.unpack(NAMES)}

local LIMITS = {{"max_iter"}, {"max_eval"}, {"tolerance_grad"}, {"tolerance_change"},
  {"history_size"}, {"maximize", "boolean"}, {"lr", 0, nil, "Invalid learning rate: %s"}}

local module = {}

--- LBFGS: lr (1), max_iter (20), max_eval (max_iter * 5 / 4), tolerance_grad (1e-7),
-- tolerance_change (1e-9), history_size (100), line_search_fn (none, or "strong_wolfe"), maximize
-- (false). One group. step(closure) calls the closure, which must drop the gradients, compute the
-- loss, call backward and return the loss, several times. Nocedal and Wright, "Numerical
-- Optimization", chapter 7.2.
module.LBFGS = classes.new("LBFGS", Optimizer)
local LBFGS = module.LBFGS

function LBFGS:_check_options(group) Optimizer._check_limits("LBFGS", LIMITS, group) end

function LBFGS:__init(...)
  local params, lr, max_iter, max_eval, tolerance_grad, tolerance_change, history_size, search,
    maximize = arguments("LBFGS", ARGUMENTS, ...)
  max_iter = max_iter or 20
  local defaults = {lr = lr or 1, max_iter = max_iter, tolerance_grad = tolerance_grad or 1e-7,
    tolerance_change = tolerance_change or 1e-9, history_size = history_size or 100,
    maximize = maximize or false}
  defaults.max_eval = max_eval or type(max_iter) == "number" and max_iter * 5 // 4
  defaults.line_search_fn = search
  Optimizer.__init(self, params, defaults, NAMES)
  if #self.param_groups ~= 1 then
    fail("LBFGS doesn't support per-parameter options (parameter groups)")
  end
end

function LBFGS:_add(list, options)
  if #self.param_groups > 0 then
    fail("LBFGS doesn't support per-parameter options (parameter groups)")
  end
  return Optimizer._add(self, list, options)
end

function LBFGS:_shapes()
  local n = 0
  for _, p in ipairs(self.param_groups[1].params) do n = n + p:numel() end
  return {d = {n}, prev_flat_grad = {n}}
end

-- ---- all parameters as one vector ----

local function flat_gradient(params)
  local parts = {}
  for k, p in ipairs(params) do
    parts[k] = p.grad and p.grad:detach():reshape(-1) or p:detach():new_zeros(p:numel())
  end
  return lucerna.cat(parts)
end

-- params + t * direction
local function move(params, t, direction)
  local at = 1
  for _, p in ipairs(params) do
    local n = p:numel()
    p:detach():add_(direction:narrow(1, at, n):view(p:size()), {alpha = t})
    at = at + n
  end
end

-- What has no shape yet has nothing to be restored.
local function copy_all(params)
  local copies = {}
  for k, p in ipairs(params) do copies[k] = not core.nn.is_lazy(p) and p:detach():clone() end
  return copies
end

local function restore(params, copies)
  for k, p in ipairs(params) do
    if copies[k] then p:detach():copy_(copies[k]) end
  end
end

local function largest(t) return t:abs():max():item() end

-- ---- directions ----

-- Learns from the last step, forgetting the oldest where there are too many.
local function remember(s, grad, history_size)
  local y, step = grad - s.prev_flat_grad, s.d * s.t
  local ys = y:dot(step):item()
  if ys <= 1e-10 then return end
  local dirs, steps, ro = {}, {}, {}
  local first = #s.old_dirs >= history_size and 2 or 1
  for k = first, #s.old_dirs do
    dirs[#dirs + 1], steps[#steps + 1], ro[#ro + 1] = s.old_dirs[k], s.old_stps[k], s.ro[k]
  end
  dirs[#dirs + 1], steps[#steps + 1], ro[#ro + 1] = y, step, 1 / ys
  s.old_dirs, s.old_stps, s.ro, s.H_diag = dirs, steps, ro, ys / y:dot(y):item()
end

local number = Optimizer._number

-- The inverse Hessian, as far as it is known, times the negative gradient: two loops over history.
local function direction(s, grad, history_size)
  local al, q = {}, -grad
  for i = #s.old_dirs, 1, -1 do
    al[i] = s.old_stps[i]:dot(q):item() * number(s.ro[i])
    q:add_(s.old_dirs[i], {alpha = -al[i]})
  end
  local r = q * number(s.H_diag)
  for i = 1, #s.old_dirs do
    local be = s.old_dirs[i]:dot(r):item() * number(s.ro[i])
    r:add_(s.old_stps[i], {alpha = al[i] - be})
  end
  for i = #al + 1, history_size do al[i] = 0.0 end -- as long as PyTorch's
  s.al = al
  return r
end

-- ---- the step ----

-- Moves the parameters along s.d to where the line search ends; returns the loss and the gradient
-- there and how many evaluations it took, of which `left` are left.
local function search(group, s, evaluate, loss, grad, gtd, left)
  local params, evaluations = group.params, 0
  local begin = copy_all(params)
  local best = line_search(function(t)
    move(params, t, s.d)
    local f, g = evaluate()
    restore(params, begin)
    evaluations = evaluations + 1
    return {t = t, f = f, g = g, gtd = g:dot(s.d):item()}
  end, {t = 0, f = loss, g = grad, gtd = gtd}, s.t, largest(s.d), group.tolerance_change,
    left)
  s.t = best.t
  move(params, s.t, s.d)
  return best.f, best.g, evaluations
end

-- One iteration: moves the parameters; returns the loss, the gradient, how many evaluations it took
-- and whether it was the last one.
local function iterate(group, s, evaluate, loss, grad, left, last)
  if s.n_iter == 1 then
    s.d, s.old_dirs, s.old_stps, s.ro, s.H_diag = -grad, {}, {}, {}, 1
  else
    s.t = number(s.t)
    remember(s, grad, group.history_size)
    s.d = direction(s, grad, group.history_size)
  end
  s.prev_flat_grad, s.prev_loss = grad, loss
  s.t = number(group.lr)
  if s.n_iter == 1 then s.t = s.t * math.min(1, 1 / grad:abs():sum():item()) end
  local gtd, evaluations = grad:dot(s.d):item(), 0
  if gtd > -group.tolerance_change then return loss, grad, 0, true end
  if group.line_search_fn then
    loss, grad, evaluations = search(group, s, evaluate, loss, grad, gtd, left)
  else
    move(group.params, s.t, s.d)
    if not last then -- the next step begins with an evaluation anyway
      loss, grad = evaluate()
      evaluations = 1
    end
  end
  return loss, grad, evaluations, last
end

-- Iterates until something says that it is enough. s is the state, changed in place.
local function optimize(group, s, evaluate, loss, grad)
  local evaluated, n, stop = 1, 0, false
  while n < group.max_iter and not stop do
    n = n + 1
    s.n_iter = s.n_iter + 1
    local count
    loss, grad, count, stop = iterate(group, s, evaluate, loss, grad,
      group.max_eval - evaluated, n == group.max_iter)
    evaluated, s.func_evals = evaluated + count, s.func_evals + count
    stop = stop or evaluated >= group.max_eval or largest(grad) <= group.tolerance_grad
      or largest(s.d * s.t) <= group.tolerance_change
      or math.abs(loss - s.prev_loss) < group.tolerance_change
  end
end

local function step(self, closure)
  if closure == nil then fail("LBFGS.step: missing argument 'closure'") end
  local group, first = self.param_groups[1], self.param_groups[1].params[1]
  if group.line_search_fn and group.line_search_fn ~= "strong_wolfe" then
    fail("LBFGS: only 'strong_wolfe' is supported")
  end
  if first == nil then return Optimizer._evaluate(closure) end -- an empty group
  local begin = copy_all(group.params)
  local _ <close> = on_error(function() restore(group.params, begin) end)
  local function evaluate()
    local loss = Optimizer._evaluate(closure)
    local value = number(loss)
    if type(value) ~= "number" then
      fail("LBFGS.step: closure must return the loss (got %s)", core.nn.kind_name(loss))
    end
    local grad = flat_gradient(group.params)
    if group.maximize then return 0.0 - value, -grad, loss end
    return value + 0.0, grad, loss
  end
  local s = {func_evals = 0, n_iter = 0}
  for name, value in pairs(self.state[first]) do s[name] = value end
  local loss, grad, answer = evaluate()
  s.func_evals = s.func_evals + 1
  if largest(grad) > group.tolerance_grad then optimize(group, s, evaluate, loss, grad) end
  self.state[first] = s
  return answer
end

local CLOSURE = {"closure", options = 2} -- what step takes

--- step(closure): closure drops the gradients, computes the loss and its gradients, and returns it.
-- Where it raises, parameters and state stay as they were.
function LBFGS:step(...)
  return lucerna.no_grad(step, self, (arguments("step", CLOSURE, ...)))
end

return LBFGS
