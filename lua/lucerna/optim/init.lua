-- Optimizers (torch.optim). Most are kinds of the core, which holds parameters and state and
-- updates all in one fused step; LBFGS, Adafactor and Muon are written on tensors, in files of
-- their own.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local later = require "lucerna.later"
local classes = require "lucerna.classes"
local optimizer = require "lucerna.optim.optimizer"

local optim = {
  optimizer = optimizer,
  Optimizer = optimizer.Optimizer,
  is_optimizer = optimizer.is_optimizer,
  register_optimizer_step_pre_hook = optimizer.register_optimizer_step_pre_hook,
  register_optimizer_step_post_hook = optimizer.register_optimizer_step_post_hook,
}
local Optimizer = optim.Optimizer

--- class(name [, Parent]): a new class of optimizers; Parent defaults to optim.Optimizer. Its step
-- runs hooks like any other. Parent may also be a scheduler's class.
function optim.class(name, Parent)
  classes.check("class", name, Parent)
  return classes.new(name, Parent or Optimizer)
end

-- ---- kinds of the core ----

local Fused = classes.new("Fused", Optimizer)

function Fused:_add(list, options) return core._optimizer_add_group(self._core, list, options) end

function Fused:_check_options(options) core._optimizer_check_options(self._core, options) end

function Fused:step(...)
  local loss = Optimizer._evaluate(...)
  core._optimizer_step(self._core, self.param_groups)
  return loss
end

function Fused:_take_params() core._optimizer_take(self._core, self.param_groups) end

function Fused:_get_states() return core._optimizer_states(self._core) end

function Fused:_copy_state(g, k, saved)
  return core._optimizer_copy_state(self._core, g, k, saved)
end

function Fused:_set_state(g, k, copy) core._optimizer_set_state(self._core, g, k, copy) end

-- o.state[p] reads the core's state of parameter p; assigning replaces it. A view knows its
-- optimizer and the core's under keys that nobody else has.
local OWNER, CORE = {}, {}
local read_state, next_state = core._optimizer_view(CORE, OWNER)
local VIEW = { __index = read_state }

function VIEW:__newindex(p, state)
  local owner = self[OWNER]
  owner:_take_params()
  local g, k = core._optimizer_place(owner._core, p)
  if not g then core._fail("%s: state: no parameter of mine", owner.__name) end
  if state ~= nil and type(state) ~= "table" then
    core._fail("%s: state: a parameter's must be a table (got %s)", owner.__name, type(state))
  end
  owner:_set_state(g, k, owner:_copy_state(g, k, state or {}))
end

function VIEW:__pairs() return next_state, self end

-- The arguments with `number` as lr, in a packed table.
local function with_rate(number, options, ...)
  local rest = table.pack(...)
  if not options or options.lr == nil then
    rest[1] = number
    return rest
  end
  local copy = {}
  for name, value in pairs(options) do copy[name] = value end
  copy.lr = number
  rest[rest.n] = copy
  return rest
end

-- What an optimizer asks of the core: its defaults, of the arguments that follow params. A tensor
-- as lr stays one: a number stands for it until the others are read.
local function defaults_of(made, ...)
  local n = select("#", ...)
  if n == 0 then return core._optimizer_options(made) end
  local last = select(n, ...)
  local options = type(last) == "table" and getmetatable(last) == nil and last
  local lr = options and options.lr or ...
  if not lucerna.is_tensor(lr) then return core._optimizer_options(made, ...) end
  local rest = with_rate(Optimizer._number(lr), options, ...)
  local defaults, names = core._optimizer_options(made, table.unpack(rest, 1, rest.n))
  defaults.lr = lr
  return defaults, names
end

-- optim.SGD(params, lr, …, {options}), or all by name in a table; params may be a list of groups.
local function fused(kind)
  local made = classes.new(kind, Fused)
  local schema = core._optimizer_schema(core._optimizer_new(kind))
  made._schema = schema:gsub("%(", "(Any params, ", 1) -- for help()
  local function init(self, params, ...)
    if select("#", ...) == 0 and type(params) == "table" and getmetatable(params) == nil
      and params[1] == nil and params.params ~= nil then
      local options = {}
      for name, value in pairs(params) do
        if name ~= "params" then options[name] = value end
      end
      return init(self, params.params, options)
    end
    local made_core = core._optimizer_new(kind)
    self._core, self.state = made_core, setmetatable({[OWNER] = self, [CORE] = made_core}, VIEW)
    local defaults, names = defaults_of(made_core, ...)
    Optimizer.__init(self, params, defaults, names)
  end
  made.__init = init
  return made
end

--- Stochastic gradient descent: lr (1e-3), momentum (0), dampening (0), weight_decay (0),
-- nesterov (false), maximize (false).
--   buffer = momentum * buffer + (1 - dampening) * g      (the first step: buffer = g)
--   p = p - lr * buffer                                   (nesterov: g + momentum * buffer)
-- g has weight_decay * p added. Sutskever et al., "On the importance of initialization and momentum
-- in deep learning", ICML 2013.
optim.SGD = fused "SGD"

--- Adam: lr (1e-3), betas ({0.9, 0.999}), eps (1e-8), weight_decay (0), amsgrad (false),
-- maximize (false), decoupled_weight_decay (false). Kingma and Ba, arXiv:1412.6980.
--   m = m + (1 - beta1) * (g - m);  v = beta2 * v + (1 - beta2) * g²
--   p = p - lr / (1 - beta1^t) * m / (√v / √(1 - beta2^t) + eps)
-- amsgrad takes the largest v so far (Reddi et al., arXiv:1904.09237).
optim.Adam = fused "Adam"

--- Adam with decoupled weight decay (1e-2): p = p - lr * weight_decay * p before the update, whose
-- g has none. Loshchilov and Hutter, arXiv:1711.05101.
optim.AdamW = fused "AdamW"

--- SparseAdam: lr (1e-3), betas ({0.9, 0.999}), eps (1e-8), maximize (false). Adam for tables of
-- which a step uses a few rows: neither the parameter nor its moments change in rows (along
-- dimension 1) that have no gradient. Gradients of embeddings are whole tables here, with sparse =
-- true too. One of which at most a quarter was looked up knows which rows those are until it is
-- written to; of others, rows of zeros are taken to have none. The bias correction counts all
-- steps.
--   m = m + (g - m) * (1 - beta1);  v = v + (g² - v) * (1 - beta2)
--   p = p - lr * √(1 - beta2^t) / (1 - beta1^t) * m / (√v + eps)
-- Source: https://pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
optim.SparseAdam = fused "SparseAdam"

--- Adamax: lr (2e-3), betas ({0.9, 0.999}), eps (1e-8), weight_decay (0), maximize (false). Adam
-- with the infinity norm. Kingma and Ba, arXiv:1412.6980.
--   u = max(beta2 * u, |g| + eps);  p = p - lr / (1 - beta1^t) * m / u
optim.Adamax = fused "Adamax"

--- NAdam: lr (2e-3), betas ({0.9, 0.999}), eps (1e-8), weight_decay (0), momentum_decay (4e-3),
-- decoupled_weight_decay (false), maximize (false). Adam with Nesterov's momentum: Dozat,
-- "Incorporating Nesterov Momentum into Adam", ICLR 2016.
--   mu_t = beta1 * (1 - 0.96^(t * momentum_decay) / 2);  product = mu_1 * … * mu_t
--   p = p - lr * ((1 - mu_t) / (1 - product) * g + mu_t+1 / (1 - product * mu_t+1) * m)
--           / (√(v / (1 - beta2^t)) + eps)
optim.NAdam = fused "NAdam"

--- RAdam: lr (1e-3), betas ({0.9, 0.999}), eps (1e-8), weight_decay (0),
-- decoupled_weight_decay (false), maximize (false). Adam that does without the variance until it
-- can be trusted, then rectifies it: Liu et al., arXiv:1908.03265.
optim.RAdam = fused "RAdam"

--- RMSprop: lr (1e-2), alpha (0.99), eps (1e-8), weight_decay (0), momentum (0), centered (false),
-- maximize (false). Hinton, "Lecture 6.5"; centered: Graves, arXiv:1308.0850.
--   v = alpha * v + (1 - alpha) * g²;  p = p - lr * g / (√v + eps)
-- centered subtracts the square of the mean gradient from v; momentum accumulates g / (√v + eps).
optim.RMSprop = fused "RMSprop"

--- Adagrad: lr (1e-2), lr_decay (0), weight_decay (0), initial_accumulator_value (0), eps (1e-10),
-- maximize (false). Duchi, Hazan and Singer, JMLR 12, 2011.
--   sum = sum + g²;  p = p - lr / (1 + (t - 1) * lr_decay) * g / (√sum + eps)
optim.Adagrad = fused "Adagrad"

--- Adadelta: lr (1.0), rho (0.9), eps (1e-6), weight_decay (0), maximize (false). Zeiler,
-- arXiv:1212.5701.
--   v = rho * v + (1 - rho) * g²;  d = √(u + eps) / √(v + eps) * g
--   u = rho * u + (1 - rho) * d²;  p = p - lr * d
optim.Adadelta = fused "Adadelta"

--- ASGD: lr (1e-2), lambd (1e-4), alpha (0.75), t0 (1e6), weight_decay (0), maximize (false).
-- Averaged gradient descent: the mean of the parameters from step t0 on is the state `ax`. Polyak
-- and Juditsky, "Acceleration of stochastic approximation by averaging", 1992.
--   p = p * (1 - lambd * eta) - eta * g;  eta = lr / (1 + lambd * lr * t)^alpha
optim.ASGD = fused "ASGD"

--- Rprop: lr (1e-2), the first size of steps, etas ({0.5, 1.2}), step_sizes ({1e-6, 50}),
-- maximize (false). Each element's step grows by etas[2] while its gradient keeps its sign and
-- shrinks by etas[1], without a step, when it changes. Riedmiller and Braun, ICNN 1993.
optim.Rprop = fused "Rprop"

-- What they are stands in their files.
optim.LBFGS = require "lucerna.optim.lbfgs"
optim.Adafactor = require "lucerna.optim.adafactor"
optim.Muon = require "lucerna.optim.muon"

return later(optim, "lucerna.optim.", {"lr_scheduler", "swa_utils"})
