-- Muon (torch.optim.Muon): momentum whose singular values are all brought near 1.

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"
local optimizer = require "lucerna.optim.optimizer"
local shape_text = require "lucerna.shape_text"

local Optimizer = optimizer.Optimizer

local fail = core._fail

local NAMES = {"lr", "weight_decay", "momentum", "nesterov", "ns_coefficients", "eps", "ns_steps",
  "adjust_lr_fn"}
local ARGUMENTS = {"params", options = 2, table.unpack(NAMES)}

local module = {}

--- Muon: lr (1e-3), weight_decay (0.1), momentum (0.95), nesterov (true), ns_coefficients ({3.4445,
-- -4.775, 2.0315}), eps (1e-7), ns_steps (5), adjust_lr_fn (none: "original", or "match_rms_adamw",
-- "spectral_unclamped"). For matrices alone: their momentum, a mean of gradients, is made
-- orthogonal by ns_steps of Newton and Schulz's iteration in bfloat16.
-- Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.
module.Muon = classes.new("Muon", Optimizer)
local Muon = module.Muon

-- Of a matrix's rows and columns: what its rate is multiplied by.
local RATES = {
  original = function(rows, columns) return math.sqrt(math.max(1, rows / columns)) end,
  match_rms_adamw = function(rows, columns) return 0.2 * math.sqrt(math.max(rows, columns)) end,
  spectral_unclamped = function(rows, columns) return math.sqrt(rows / columns) end,
}

local LIMITS = {
  {"lr", 0, nil, "Learning rate should be >= 0 but is: %s"},
  {"momentum", 0, nil, "momentum should be >= 0 but is: %s"},
  {"weight_decay", 0, nil, "weight decay should be >= 0 but is: %s"},
  {"eps"},
  {"nesterov", "boolean"},
  {"ns_steps", nil, 99, "Number of steps must be less than 100 for computational efficiency"},
}

function Muon:_check_options(group)
  Optimizer._check_limits("Muon", LIMITS, group)
  local way, coefficients = group.adjust_lr_fn, group.ns_coefficients
  if way ~= nil and not RATES[way] then
    fail("Muon: Adjust learning rate function %s is not supported", way)
  elseif type(coefficients) ~= "table" or #coefficients ~= 3 then
    fail("Muon: Coefficients must be a tuple of exactly 3 values")
  end
end

function Muon:__init(...)
  local params, lr, weight_decay, momentum, nesterov, coefficients, eps, ns_steps, adjust_lr_fn =
    arguments("Muon", ARGUMENTS, ...)
  local defaults = {lr = lr or 1e-3, weight_decay = weight_decay or 0.1,
    momentum = momentum or 0.95, nesterov = nesterov == nil or nesterov,
    ns_coefficients = coefficients or {3.4445, -4.775, 2.0315}, eps = eps or 1e-7,
    ns_steps = ns_steps or 5, adjust_lr_fn = adjust_lr_fn}
  Optimizer.__init(self, params, defaults, NAMES)
end

function Muon:_add(list, options)
  local at = Optimizer._add(self, list, options)
  for _, p in ipairs(list) do
    if p:dim() ~= 2 then
      fail("Muon only supports 2D parameters whereas we found a parameter with size: %s",
        shape_text(p.shape))
    end
  end
  return at
end

function Muon:_shapes(param) return {momentum_buffer = param:size()} end

-- As float32, rounded to bfloat16: what PyTorch computes in, with products summed in float32.
local function rounded(t) return t:bfloat16():float() end

-- Newton and Schulz's iteration with a quintic polynomial: towards the nearest orthogonal matrix.
local function orthogonal(m, group)
  local a, b, c = table.unpack(group.ns_coefficients)
  local tall = m:size(1) > m:size(2)
  local x = rounded(tall and m:t() or m)
  x = rounded(x / rounded(x:norm()):clamp {min = group.eps})
  for _ = 1, group.ns_steps do
    local gram = rounded(x:mm(x:t()))
    local polynomial = rounded(gram * b + gram:mm(gram) * c)
    x = rounded(x * a + polynomial:mm(x))
  end
  return tall and x:t() or x
end

local function update(group, p, state)
  local lr = Optimizer._number(group.lr)
  local grad, buffer = p.grad, state.momentum_buffer or p:new_zeros(p:size())
  buffer = buffer:lerp(grad, 1 - group.momentum)
  local move = group.nesterov and grad:lerp(buffer, group.momentum) or buffer
  local new = p * (1 - lr * group.weight_decay)
  local rate = lr * RATES[group.adjust_lr_fn or "original"](p:size(1), p:size(2))
  return new:add(orthogonal(move, group):to(p.dtype), {alpha = -rate}),
    {momentum_buffer = buffer}
end

Muon.step = Optimizer._step_by(update)

return Muon
