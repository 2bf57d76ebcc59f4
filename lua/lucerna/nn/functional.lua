-- lucerna.nn.functional: the operators that the table marks as such, and the few functions that
-- take functions or tables of options.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"

local F = core.functional

--- triplet_margin_with_distance_loss(anchor, positive, negative, {distance_function =
-- F.pairwise_distance, margin = 1.0, swap = false, reduction = "mean"}): the part of
-- d(anchor, positive) - d(anchor, negative) + margin above 0. swap: the nearer of anchor and
-- positive counts for the negative.
function F.triplet_margin_with_distance_loss(...)
  local who = "triplet_margin_with_distance_loss"
  local anchor, positive, negative, distance, margin, swap, reduction = arguments(who, { "anchor",
    "positive", "negative", "distance_function", "margin", "swap", "reduction", options = 4 }, ...)
  check.tensor(who, "anchor", anchor)
  check.tensor(who, "positive", positive)
  check.tensor(who, "negative", negative)
  margin, reduction = check.option(who, "margin", margin, "number") or 1.0, reduction or "mean"
  check.reduction(who, reduction)
  if distance ~= nil then check.callable(who, "distance_function", distance) end
  if margin <= 0 then
    core._fail("%s: margin must be greater than 0, got %s", who, margin)
  end
  local dims = { anchor:dim(), positive:dim(), negative:dim() }
  if dims[1] ~= dims[2] or dims[1] ~= dims[3] then
    core._fail("%s: The anchor, positive, and negative tensors are expected to have the same "
      .. "number of dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs", who,
      dims[1], dims[2], dims[3])
  end
  distance = distance or F.pairwise_distance
  local near, far = distance(anchor, positive), distance(anchor, negative)
  check.tensor(who, "what distance_function returns", near)
  if swap then far = lucerna.min(far, distance(positive, negative)) end
  local loss = lucerna.clamp_min(near - far + margin, 0)
  return reduction == "none" and loss or loss[reduction](loss)
end

--- linear_cross_entropy(input, linear_weight, target, {linear_bias =, weight =, reduction = "mean",
-- ignore_index =, label_smoothing = 0.0, options =}): cross_entropy of linear(input, linear_weight,
-- linear_bias), for classes at several places if linear_weight is [C, places..., in_features].
-- input is [N, in_features] or [in_features]. options are those of nn.LinearCrossEntropyOptions,
-- which leave the result as it is.
function F.linear_cross_entropy(...)
  local who = "linear_cross_entropy"
  local input, matrix, target, bias, weight, reduction, ignore, smoothing = arguments(who, {
    "input", "linear_weight", "target", "linear_bias", "weight", "reduction", "ignore_index",
    "label_smoothing", "options" }, ...)
  check.tensor(who, "input", input)
  check.tensor(who, "linear_weight", matrix)
  check.tensor(who, "target", target)
  if input:dim() ~= 1 and input:dim() ~= 2 then
    core._fail("%s: input must be [N, in_features] or [in_features] (got %dD)", who, input:dim())
  end
  if matrix:dim() < 2 then
    core._fail("%s: linear_weight must be [C, places..., in_features] (got %dD)", who, matrix:dim())
  end
  local sizes = matrix:size()
  local features = table.remove(sizes)
  if #sizes > 1 then matrix, bias = matrix:reshape(-1, features), bias and bias:reshape(-1) end
  local logits = F.linear(input, matrix, bias)
  if #sizes > 1 then logits = logits:unflatten(-1, sizes) end
  return F.cross_entropy(logits, target, { weight = weight, ignore_index = ignore,
    reduction = reduction, label_smoothing = smoothing })
end

-- ---- multi_head_attention_forward ----

local MULTIHEAD = { "query", "key", "value", "embed_dim_to_check", "num_heads", "in_proj_weight",
  "in_proj_bias", "bias_k", "bias_v", "add_zero_attn", "dropout_p", "out_proj_weight",
  "out_proj_bias", "training", "key_padding_mask", "need_weights", "attn_mask",
  "use_separate_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "static_k",
  "static_v", "average_attn_weights", "is_causal" }

-- Reads the arguments into a table by their names.
local function multihead_arguments(...)
  local values, a = table.pack(arguments("multi_head_attention_forward", MULTIHEAD, ...)), {}
  for i, name in ipairs(MULTIHEAD) do a[name] = values[i] end
  local needed = { "query", "key", "value", "out_proj_weight" }
  if a.use_separate_proj_weight then
    for _, name in ipairs { "q", "k", "v" } do needed[#needed + 1] = name .. "_proj_weight" end
  else
    needed[#needed + 1] = "in_proj_weight"
  end
  for _, name in ipairs(needed) do check.tensor("multi_head_attention_forward", name, a[name]) end
  return a
end

-- Keys (or values) that are projected and cut into heads already, [batch * heads, length, width],
-- as a sequence [length, batch, features].
local function joined(static, batch)
  local heads = static:size(1) // batch
  return static:unflatten(1, { batch, heads }):permute(3, 1, 2, 4):flatten(3)
end

-- The three projections and their biases. One that is given the result does nothing.
local function projections(a, width)
  local weights = { a.q_proj_weight, a.k_proj_weight, a.v_proj_weight }
  if not a.use_separate_proj_weight then weights = a.in_proj_weight:chunk(3) end
  local bias = a.in_proj_bias
  local parts = bias and bias:chunk(3)
  for i, name in pairs { [2] = "key", [3] = "value" } do
    local static = a[i == 2 and "static_k" or "static_v"]
    if static then
      local batched = a.query:dim() == 3
      a[name] = joined(static, batched and a.query:size(2) or 1)
      if not batched then a[name] = a[name]:squeeze(2) end
      weights[i] = lucerna.eye(width, { dtype = static.dtype })
      if parts then parts[i] = lucerna.zeros(width, { dtype = static.dtype }) end
    end
  end
  return weights, parts and lucerna.cat(parts)
end

--- multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight,
-- in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias,
-- {training = true, key_padding_mask =, need_weights = true, attn_mask =,
-- use_separate_proj_weight = false, q_proj_weight =, k_proj_weight =, v_proj_weight =, static_k =,
-- static_v =, average_attn_weights = true, is_causal = false}): what nn.MultiheadAttention with
-- these tensors gives of query [L, N, E], key and value [S, N, ...] or without N.
function F.multi_head_attention_forward(...)
  local nn, utils = lucerna.nn, require "lucerna.nn.utils"
  local a = multihead_arguments(...)
  local width, dtype = a.embed_dim_to_check, a.query.dtype
  local weights, bias = projections(a, width)
  local m = utils.skip_init(nn.MultiheadAttention, width, a.num_heads, {
    dropout = a.dropout_p, bias = bias ~= nil or a.out_proj_bias ~= nil, dtype = dtype,
    add_bias_kv = a.bias_k ~= nil, add_zero_attn = a.add_zero_attn, kdim = weights[2]:size(-1),
    vdim = weights[3]:size(-1) })
  m.training = a.training ~= false
  local tensors = { bias_k = a.bias_k, bias_v = a.bias_v, ["out_proj.weight"] = a.out_proj_weight }
  if m.in_proj_bias then
    tensors.in_proj_bias = bias or lucerna.zeros(3 * width, { dtype = dtype })
    tensors["out_proj.bias"] = a.out_proj_bias or lucerna.zeros(width, { dtype = dtype })
  end
  if m.in_proj_weight then
    tensors.in_proj_weight = lucerna.cat(weights)
  else
    tensors.q_proj_weight, tensors.k_proj_weight, tensors.v_proj_weight = table.unpack(weights)
  end
  return require("lucerna.func").functional_call(m, tensors, { a.query, a.key, a.value,
    a.key_padding_mask, a.need_weights, a.attn_mask, a.average_attn_weights, a.is_causal, n = 8 })
end

return F
