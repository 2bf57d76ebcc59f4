-- Folding a batch norm in eval mode into the linear map before it: w * gamma / sqrt(var + eps) and
-- (b - mean) * gamma / sqrt(var + eps) + beta.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local core = require("lucerna.core").nn
local check = require "lucerna.nn.utils.check"

local fusion = {}

-- The factor of each channel, and the new bias.
local function fold(bias, mean, var, eps, gamma, beta)
  local factor = lucerna.rsqrt(var + eps)
  if gamma ~= nil then factor = gamma * factor end
  bias = bias ~= nil and (bias - mean) * factor or -mean * factor
  if beta ~= nil then bias = bias + beta end
  return factor, bias
end

-- Values as they are now: a parameter is a leaf, whatever it was made from. One that is made from
-- nothing needs no gradient.
local function parameter(like, value)
  return core.Parameter(value:detach(), like ~= nil and like.requires_grad)
end

local function fused(who, weight, bias, shape, mean, var, eps, gamma, beta)
  check.tensor(who, "bn_rm", mean)
  check.tensor(who, "bn_rv", var)
  check.number(who, "bn_eps", eps)
  local factor, offset = fold(bias, mean, var, eps, gamma, beta)
  return parameter(weight, weight * factor:reshape(shape)),
    parameter(bias, offset)
end

--- fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose = false):
-- weight and bias of the convolution that does both. conv_w is [out, in/groups, …]; transposed,
-- [in, out, …]. conv_b, bn_w and bn_b may be nil.
function fusion.fuse_conv_bn_weights(...)
  local weight, bias, mean, var, eps, gamma, beta, transpose = arguments("fuse_conv_bn_weights",
    { "conv_w", "conv_b", "bn_rm", "bn_rv", "bn_eps", "bn_w", "bn_b", "transpose",
      options = 8 }, ...)
  local shape = { -1 }
  for d = 2, check.tensor("fuse_conv_bn_weights", "conv_w", weight):dim() do shape[d] = 1 end
  if transpose then shape[1], shape[2] = 1, -1 end
  return fused("fuse_conv_bn_weights", weight, bias, shape, mean, var, eps, gamma, beta)
end

--- fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b): weight [out, in]
-- and bias [out] of the linear layer that does both.
function fusion.fuse_linear_bn_weights(...)
  local weight, bias, mean, var, eps, gamma, beta = arguments("fuse_linear_bn_weights",
    { "linear_w", "linear_b", "bn_rm", "bn_rv", "bn_eps", "bn_w", "bn_b" }, ...)
  check.tensor("fuse_linear_bn_weights", "linear_w", weight)
  return fused("fuse_linear_bn_weights", weight, bias, { -1, 1 }, mean, var, eps, gamma, beta)
end

local function check_modules(who, name, layer, bn)
  check.module(who, name, layer)
  check.module(who, "bn", bn)
  if layer.training or bn.training then check.fail("%s: Fusion only for eval!", who) end
  if bn.running_mean == nil or bn.running_var == nil then
    check.fail("%s: bn must have running statistics", who)
  end
end

local function replace(layer, weight, bias)
  layer.weight, layer.bias = weight, bias
  return layer
end

--- fuse_conv_bn_eval(conv, bn, transpose = false): a new convolution that does what the two do, one
-- after the other, in eval mode.
function fusion.fuse_conv_bn_eval(...)
  local conv, bn, transpose = arguments("fuse_conv_bn_eval",
    { "conv", "bn", "transpose", options = 3 }, ...)
  check_modules("fuse_conv_bn_eval", "conv", conv, bn)
  return replace(conv:clone(), fusion.fuse_conv_bn_weights(conv.weight, conv.bias, bn.running_mean,
    bn.running_var, bn.eps, bn.weight, bn.bias, transpose or false))
end

--- fuse_linear_bn_eval(linear, bn): a new linear layer that does what the two do in eval mode.
function fusion.fuse_linear_bn_eval(...)
  local linear, bn = arguments("fuse_linear_bn_eval", { "linear", "bn" }, ...)
  check_modules("fuse_linear_bn_eval", "linear", linear, bn)
  if bn.num_features ~= 1 and bn.num_features ~= linear.out_features then
    check.fail("fuse_linear_bn_eval: To fuse, linear.out_features == bn.num_features or "
      .. "bn.num_features == 1, got linear.out_features=%s and bn.num_features=%s",
      linear.out_features, bn.num_features)
  end
  return replace(linear:clone(), fusion.fuse_linear_bn_weights(linear.weight, linear.bias,
    bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias))
end

return fusion
