-- lucerna.nn.grad: the gradients of convolutions by themselves, by input and by weight, for 1 to 3
-- dimensions. They can be differentiated in turn.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local autograd = require "lucerna.autograd"
local arguments = require "lucerna.arguments"
local check = require "lucerna.nn.utils.check"

local OPTIONS = { "grad_output", "stride", "padding", "dilation", "groups" }

local function names_of(first, second)
  return { first, second, table.unpack(OPTIONS) }
end

-- The gradient by `wrt`, a tensor of zeros, of convolve(input, weight).
local function gradient(convolve, wrt, input, weight, grad_output, ...)
  local output = lucerna.enable_grad(convolve, input, weight, nil, ...)
  return (autograd.grad(output, wrt, grad_output, { create_graph = core.is_grad_enabled() }))
end

local function zeros_like_other(who, name, size, other, grad_output)
  check.tensor(who, name, other)
  check.tensor(who, "grad_output", grad_output)
  return core.zeros(size, { dtype = other.dtype, requires_grad = true })
end

local grad = {}

for _, k in ipairs { 1, 2, 3 } do
  local name = "conv" .. k .. "d"
  local convolve = core.functional[name]

  --- convNd_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1): the
  -- gradient of convNd by its input, of that size.
  grad[name .. "_input"] = function(...)
    local size, weight, grad_output, stride, padding, dilation, groups =
      arguments(name .. "_input", names_of("input_size", "weight"), ...)
    local input = zeros_like_other(name .. "_input", "weight", size, weight, grad_output)
    return gradient(convolve, input, input, weight, grad_output, stride or 1, padding or 0,
      dilation or 1, groups or 1)
  end

  --- convNd_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1): the
  -- gradient of convNd by its weight, of that size.
  grad[name .. "_weight"] = function(...)
    local input, size, grad_output, stride, padding, dilation, groups =
      arguments(name .. "_weight", names_of("input", "weight_size"), ...)
    local weight = zeros_like_other(name .. "_weight", "input", size, input, grad_output)
    return gradient(convolve, weight, input, weight, grad_output, stride or 1, padding or 0,
      dilation or 1, groups or 1)
  end
end

return grad
