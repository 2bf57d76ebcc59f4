-- SparseAdam (torch.optim.SparseAdam): Adam for tables of which a step uses a few rows. Gradients
-- of embeddings are dense here, with sparse = true too; rows whose gradient is all zero are taken
-- to be those that a sparse gradient would not have.

local lucerna = require "lucerna"
local class = require "lucerna.optim.class"
local optimizer = require "lucerna.optim.optimizer"

local Optimizer = optimizer.Optimizer

local NAMES = {"lr", "betas", "eps", "maximize"}
local ARGUMENTS = {"params", table.unpack(NAMES)}

local module = {}

--- SparseAdam: lr (1e-3), betas ({0.9, 0.999}), eps (1e-8), maximize (false). Adam that changes
-- neither the parameter nor its moments in rows (along dimension 1) whose gradient is all zero. The
-- bias correction counts all steps.
--   m = m + (g - m) * (1 - betas[1]);  v = v + (g² - v) * (1 - betas[2])
--   p = p - lr * √(1 - betas[2]^t) / (1 - betas[1]^t) * m / (√v + eps)
-- Source: https://pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
module.SparseAdam = class("SparseAdam", Optimizer)
local SparseAdam = module.SparseAdam

-- Unlike Adam's, above 0.
local SMALLEST = 2.0 ^ -1074
local LIMITS = {
  {"lr", SMALLEST, nil, "Invalid learning rate: %s"},
  {"eps", SMALLEST, nil, "Invalid epsilon value: %s"},
  {"maximize", "boolean"},
}

local function check_options(group)
  Optimizer._check("SparseAdam", LIMITS, group)
  for k = 1, 2 do
    local beta = type(group.betas) == "table" and group.betas[k]
    if type(beta) ~= "number" or beta < 0 or beta >= 1 then
      require("lucerna.core")._fail("SparseAdam: Invalid beta parameter at index %d: %s", k, beta)
    end
  end
end

function SparseAdam:__init(...)
  local params, lr, betas, eps, maximize =
    optimizer.arguments("SparseAdam", ARGUMENTS, ...)
  local defaults = {lr = lr or 1e-3, betas = betas or {0.9, 0.999}, eps = eps or 1e-8,
    maximize = maximize or false}
  check_options(defaults)
  Optimizer.__init(self, params, defaults, NAMES)
end

function SparseAdam:_add(list, options)
  check_options(options)
  return Optimizer._add(self, list, options)
end

function SparseAdam:_shapes(param)
  return {exp_avg = param:size(), exp_avg_sq = param:size()}
end

-- Which rows of a gradient are in use, in its shape.
local function rows_in_use(grad)
  local used = grad:ne(0)
  if grad:dim() > 1 then
    local rest = {}
    for d = 2, grad:dim() do rest[#rest + 1] = d end
    used = used:to(lucerna.int64):sum(rest, {keepdim = true}):ne(0)
  end
  return used:expand(grad:size())
end

local function update(group, p, state)
  local grad = group.maximize and -p.grad or p.grad
  local beta1, beta2 = group.betas[1], group.betas[2]
  local step = math.tointeger((state.step or 0) + 1)
  local old_m = state.exp_avg or p:new_zeros(p:size())
  local old_v = state.exp_avg_sq or p:new_zeros(p:size())
  local used = rows_in_use(grad)
  local m = lucerna.where(used, old_m + (grad - old_m) * (1 - beta1), old_m)
  local v = lucerna.where(used, old_v + (grad * grad - old_v) * (1 - beta2), old_v)
  local rate = Optimizer._number(group.lr) * math.sqrt(1 - beta2 ^ step) / (1 - beta1 ^ step)
  local moved = p - m / (v:sqrt() + group.eps) * rate
  return lucerna.where(used, moved, p), {step = step, exp_avg = m, exp_avg_sq = v}
end

SparseAdam.step = Optimizer._step_by(update)

return SparseAdam
