-- lucerna.nn.functional: the operators that the table marks as such, and the few functions that
-- take functions or tables of options.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"

local F = core.functional

local function need_tensor(who, name, x)
  if lucerna.is_tensor(x) then return end
  core._raise(("%s: %s must be a Tensor (got %s)"):format(who, name, type(x)))
end

local REDUCTIONS = { none = true, mean = true, sum = true }

--- triplet_margin_with_distance_loss(anchor, positive, negative, {distance_function =
-- F.pairwise_distance, margin = 1.0, swap = false, reduction = "mean"}): the part of
-- d(anchor, positive) - d(anchor, negative) + margin above 0. swap: the nearer of anchor and
-- positive counts for the negative.
function F.triplet_margin_with_distance_loss(...)
  local who = "triplet_margin_with_distance_loss"
  local anchor, positive, negative, distance, margin, swap, reduction = arguments(who, { "anchor",
    "positive", "negative", "distance_function", "margin", "swap", "reduction" }, ...)
  need_tensor(who, "anchor", anchor)
  need_tensor(who, "positive", positive)
  need_tensor(who, "negative", negative)
  margin, reduction = margin or 1.0, reduction or "mean"
  if not REDUCTIONS[reduction] then
    core._raise(("%s: reduction must be 'none', 'mean' or 'sum' (got '%s')"):format(who,
      tostring(reduction)))
  end
  if margin <= 0 then
    core._raise(("%s: margin must be greater than 0, got %s"):format(who, margin))
  end
  local dims = { anchor:dim(), positive:dim(), negative:dim() }
  if dims[1] ~= dims[2] or dims[1] ~= dims[3] then
    core._raise(("%s: The anchor, positive, and negative tensors are expected to have the same "
      .. "number of dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs")
      :format(who, dims[1], dims[2], dims[3]))
  end
  distance = distance or F.pairwise_distance
  local near, far = distance(anchor, positive), distance(anchor, negative)
  if swap then far = lucerna.min(far, distance(positive, negative)) end
  local loss = lucerna.clamp_min(near - far + margin, 0)
  return reduction == "none" and loss or loss[reduction](loss)
end

--- linear_cross_entropy(input, linear_weight, target, {linear_bias =, weight =, reduction = "mean",
-- ignore_index =, label_smoothing = 0.0, options =}): cross_entropy of linear(input, linear_weight,
-- linear_bias). input is [N, in_features] or [in_features]; linear_weight has a row for each class
-- and each place of targets [N, d...]. options are those of nn.LinearCrossEntropyOptions, which
-- leave the result as it is.
function F.linear_cross_entropy(...)
  local who = "linear_cross_entropy"
  local input, matrix, target, bias, weight, reduction, ignore, smoothing = arguments(who, {
    "input", "linear_weight", "target", "linear_bias", "weight", "reduction", "ignore_index",
    "label_smoothing", "options" }, ...)
  need_tensor(who, "input", input)
  need_tensor(who, "linear_weight", matrix)
  need_tensor(who, "target", target)
  if input:dim() ~= 1 and input:dim() ~= 2 then
    core._raise(("%s: input must be [N, in_features] or [in_features] (got %dD)"):format(who,
      input:dim()))
  end
  local logits = F.linear(input, matrix, bias)
  local places = { table.unpack(target.shape, input:dim()) }
  if lucerna.is_floating_point(target) then table.remove(places, 1) end
  if #places > 0 then logits = logits:unflatten(-1, { -1, table.unpack(places) }) end
  return F.cross_entropy(logits, target, { weight = weight, ignore_index = ignore,
    reduction = reduction, label_smoothing = smoothing })
end

return F
