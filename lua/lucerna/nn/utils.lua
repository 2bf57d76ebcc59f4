-- lucerna.nn.utils: gradients and parameters as a whole (torch.nn.utils). Where parameters are
-- taken, an iterator, an array table or one tensor will do.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local raise = require("lucerna.core")._raise

local utils = {}

local function collect(who, parameters)
  local list = {}
  if lucerna.is_tensor(parameters) then return { parameters } end
  if type(parameters) == "function" then
    for p in parameters do list[#list + 1] = p end
  elseif type(parameters) == "table" then
    for k, p in ipairs(parameters) do list[k] = p end
  else
    raise(("%s: parameters must be an iterator or a table of tensors (got %s)")
      :format(who, type(parameters)))
  end
  for k, p in ipairs(list) do
    if not lucerna.is_tensor(p) then
      raise(("%s: parameters: expected tensors (entry %d is a %s)"):format(who, k, type(p)))
    end
  end
  return list
end

local function gradients(who, parameters)
  local grads = {}
  for _, p in ipairs(collect(who, parameters)) do grads[#grads + 1] = p.grad end
  return grads
end

local function check_number(who, name, value)
  if type(value) ~= "number" then
    raise(("%s: %s must be a number (got %s)"):format(who, name, type(value)))
  end
end

--- clip_grad_norm_(parameters, max_norm, norm_type = 2, error_if_nonfinite = false): scales the
-- gradients together so that their norm is at most max_norm; returns the norm they had.
function utils.clip_grad_norm_(...)
  local parameters, max_norm, norm_type, strict = arguments("clip_grad_norm_",
    { "parameters", "max_norm", "norm_type", "error_if_nonfinite", "foreach" }, ...)
  check_number("clip_grad_norm_", "max_norm", max_norm)
  local grads, norms = gradients("clip_grad_norm_", parameters), {}
  if #grads == 0 then return lucerna.tensor(0.0) end
  local _ <close> = lucerna.no_grad()
  for k, g in ipairs(grads) do norms[k] = g:norm(norm_type or 2.0) end
  local total = lucerna.stack(norms):norm(norm_type or 2.0)
  local value = total:item()
  if strict and (value ~= value or value == math.huge) then
    raise("clip_grad_norm_: the total norm of the gradients is not finite, so they are not clipped")
  end
  local factor = lucerna.clamp(max_norm / (total + 1e-6), { max = 1.0 })
  for _, g in ipairs(grads) do g:mul_(factor) end
  return total
end

--- clip_grad_value_(parameters, clip_value): clamps every gradient to [-clip_value, clip_value].
function utils.clip_grad_value_(...)
  local parameters, limit = arguments("clip_grad_value_",
    { "parameters", "clip_value", "foreach" }, ...)
  check_number("clip_grad_value_", "clip_value", limit)
  local _ <close> = lucerna.no_grad()
  for _, g in ipairs(gradients("clip_grad_value_", parameters)) do g:clamp_(-limit, limit) end
end

--- parameters_to_vector(parameters): all of them in one vector.
function utils.parameters_to_vector(parameters)
  local parts = {}
  for k, p in ipairs(collect("parameters_to_vector", parameters)) do parts[k] = p:reshape(-1) end
  return lucerna.cat(parts)
end

--- vector_to_parameters(vec, parameters): the parameters become parts of the vector.
function utils.vector_to_parameters(vec, parameters)
  if not lucerna.is_tensor(vec) then
    raise("vector_to_parameters: vec must be a Tensor (got " .. type(vec) .. ")")
  end
  local list, total = collect("vector_to_parameters", parameters), 0
  for _, p in ipairs(list) do total = total + p:numel() end
  if vec:dim() ~= 1 or total > vec:numel() then
    raise(("vector_to_parameters: vec has %d elements, the parameters need %d")
      :format(vec:numel(), total))
  end
  local at = 1
  for _, p in ipairs(list) do
    p.data = vec:narrow(1, at, p:numel()):view(p:size()):detach()
    at = at + p:numel()
  end
end

return utils
