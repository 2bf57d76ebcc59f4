-- CrossMapLRN2d, Torch 7's local response normalization.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local nn = require "lucerna.nn"
local python = require "lucerna.python"

local CrossMap = nn.class("CrossMapLRN2d")

--- CrossMapLRN2d(size, alpha = 0.0001, beta = 0.75, k = 1): x / (k + alpha / size * s)^beta, s the
-- sum of squares over channels: the first and those closer than (size + 1) / 2. That the first is
-- in every sum is PyTorch's way; LocalResponseNorm has none of it. forward(input [N, C, H, W]).
-- The gradient is the one of this formula, where PyTorch's belongs to other sums.
function CrossMap:__init(...)
  local who = "CrossMapLRN2d"
  local size, alpha, beta, k = arguments(who, { "size", "alpha", "beta", "k", options = 2 }, ...)
  self.size = check.number(who, "size", size)
  if size < 1 then core._fail("%s: size must be at least 1 (got %s)", who, size) end
  self.alpha = check.option(who, "alpha", alpha, "number") or 0.0001
  self.beta = check.option(who, "beta", beta, "number") or 0.75
  self.k = check.option(who, "k", k, "number") or 1
end

-- Which channels count for which: [C, C].
local function band(channels, size, dtype)
  local reach, ones = (size - 1) // 2, lucerna.ones(channels, channels, { dtype = dtype })
  local near = ones:tril(reach):triu(-reach)
  if channels > reach + 1 then near[{ { reach + 2, -1 }, 1 }] = 1 end
  return near
end

function CrossMap:forward(...)
  local who = "CrossMapLRN2d"
  local x = arguments(who, { "input" }, ...)
  if check.tensor(who, "input", x):dim() ~= 4 then
    core._fail("%s: expected 4D input (got %dD input)", who, x:dim())
  end
  local squares = (x * x):flatten(3)
  local sums = band(x:size(2), self.size, x.dtype):matmul(squares):view(x.shape)
  return x * (sums * (self.alpha / self.size) + self.k) ^ -self.beta
end

function CrossMap:extra_repr()
  return ("%s, alpha=%s, beta=%s, k=%s"):format(python(self.size), python(self.alpha),
    python(self.beta), python(self.k))
end

return { CrossMapLRN2d = CrossMap }
