-- SparseAdam (torch.optim.SparseAdam): Adam for tables of which a step uses a few rows. Gradients
-- of embeddings are dense here, with sparse = true too; rows whose gradient is all zero are taken
-- to be those that a sparse gradient would not have.

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

function SparseAdam:_check_options(group)
  Optimizer._check_limits("SparseAdam", LIMITS, group)
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
  Optimizer.__init(self, params, defaults, NAMES)
end

function SparseAdam:_shapes(param)
  return {exp_avg = param:size(), exp_avg_sq = param:size()}
end

-- The positions of the rows of a gradient that are in use.
local function rows_in_use(grad)
  local used = grad:ne(0)
  for d = grad:dim(), 2, -1 do used = used:any(d) end
  return used:reshape(-1):nonzero():squeeze(2)
end

local function update(group, p, state)
  local rows = rows_in_use(p.grad)
  local function row(t) return t:index_select(1, rows) end
  local grad = row(group.maximize and -p.grad or p.grad)
  local beta1, beta2 = group.betas[1], group.betas[2]
  local step = math.tointeger((state.step or 0) + 1)
  local old_m = state.exp_avg or p:new_zeros(p:size())
  local old_v = state.exp_avg_sq or p:new_zeros(p:size())
  local m, v = row(old_m), row(old_v)
  m = m + (grad - m) * (1 - beta1)
  v = v + (grad * grad - v) * (1 - beta2)
  local rate = Optimizer._number(group.lr) * math.sqrt(1 - beta2 ^ step) / (1 - beta1 ^ step)
  local moved = row(p) - m / (v:sqrt() + group.eps) * rate
  return p:index_copy(1, rows, moved), {step = step, exp_avg = old_m:index_copy(1, rows, m),
    exp_avg_sq = old_v:index_copy(1, rows, v)}
end

SparseAdam.step = Optimizer._step_by(update)

return SparseAdam
