-- Clipping gradients. The norm is one norm over all gradients (a norm of norms), the factor
-- max_norm / (norm + 1e-6), at most 1; gradients are always multiplied, as PyTorch does.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local core = require "lucerna.core"
local check = require "lucerna.nn.utils.check"

local clip = {}

local function gradients(list)
  local grads = {}
  for _, p in ipairs(list) do grads[#grads + 1] = p.grad end
  return grads
end

local function norm_order(who, value)
  if value == nil then return 2.0 end
  if value == "inf" then return math.huge end
  return check.number(who, "norm_type", value)
end

local function total_norm_of(who, tensors, norm_type, strict)
  norm_type = norm_order(who, norm_type)
  if #tensors == 0 then return lucerna.tensor(0.0) end
  local norms = {}
  for k, t in ipairs(tensors) do
    norms[k] = (norm_type > 0 and core._known_rows(t) or t):norm(norm_type)
  end
  local total = lucerna.stack(norms):norm(norm_type)
  if strict and not lucerna.isfinite(total):item() then
    check.fail("%s: The total norm of order %s for gradients from `parameters` is non-finite, so "
      .. "it cannot be clipped. To disable this error and scale the gradients by the non-finite "
      .. "norm anyway, set `error_if_nonfinite=false`", who, norm_type + 0.0)
  end
  return total
end

local function scale(grads, max_norm, total)
  if #grads == 0 then return end
  local factor = lucerna.clamp(max_norm / (total + 1e-6), { max = 1.0 })
  for _, g in ipairs(grads) do core._scale(g, factor) end
end

--- get_total_norm(tensors, norm_type = 2, error_if_nonfinite = false): one norm over all of them.
-- norm_type is any number, math.huge or "inf" for the largest element.
function clip.get_total_norm(...)
  local tensors, norm_type, strict = arguments("get_total_norm",
    { "tensors", "norm_type", "error_if_nonfinite", "foreach", options = 2 }, ...)
  return total_norm_of("get_total_norm", check.tensors("get_total_norm", "tensors", tensors),
    norm_type, strict)
end

--- clip_grads_with_norm_(parameters, max_norm, total_norm): scales the gradients by
-- max_norm / total_norm where that is less than 1.
function clip.clip_grads_with_norm_(...)
  local who = "clip_grads_with_norm_"
  local parameters, max_norm, total = arguments(who,
    { "parameters", "max_norm", "total_norm", "foreach" }, ...)
  max_norm = check.number(who, "max_norm", max_norm)
  if type(total) == "number" then total = lucerna.tensor(total) end
  check.tensor(who, "total_norm", total)
  local grads = gradients(check.tensors(who, "parameters", parameters))
  lucerna.no_grad(scale, grads, max_norm, total)
end

--- clip_grad_norm_(parameters, max_norm, norm_type = 2, error_if_nonfinite = false): scales the
-- gradients together so that their norm is at most max_norm; returns the norm they had.
function clip.clip_grad_norm_(...)
  local who = "clip_grad_norm_"
  local parameters, max_norm, norm_type, strict = arguments(who,
    { "parameters", "max_norm", "norm_type", "error_if_nonfinite", "foreach", options = 3 }, ...)
  max_norm = check.number(who, "max_norm", max_norm)
  local list = check.tensors(who, "parameters", parameters)
  if #list == 0 and type(parameters) == "function" and warn then
    warn("clip_grad_norm_: `parameters` is an empty iterator, no gradient clipping will occur.")
  end
  local grads = gradients(list)
  local total = lucerna.no_grad(total_norm_of, who, grads, norm_type, strict)
  lucerna.no_grad(scale, grads, max_norm, total)
  return total
end

--- clip_grad_norm(…): the old name of clip_grad_norm_.
function clip.clip_grad_norm(...) return (clip.clip_grad_norm_(...)) end

local function clamp(grads, limit)
  for _, g in ipairs(grads) do g:clamp_(-limit, limit) end
end

--- clip_grad_value_(parameters, clip_value): clamps every gradient to [-clip_value, clip_value].
function clip.clip_grad_value_(...)
  local who = "clip_grad_value_"
  local parameters, limit = arguments(who, { "parameters", "clip_value", "foreach",
    options = 3 }, ...)
  limit = check.number(who, "clip_value", limit)
  local grads = gradients(check.tensors(who, "parameters", parameters))
  lucerna.no_grad(clamp, grads, limit)
end

return clip
