-- Parameters as one vector, and back. Taking a vector back copies nothing: the parameters become
-- parts of it.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local check = require "lucerna.nn.utils.check"

local convert = {}

--- parameters_to_vector(parameters): all of them in one vector.
function convert.parameters_to_vector(...)
  local who = "parameters_to_vector"
  local parts = check.tensors(who, "parameters", (arguments(who, { "parameters" }, ...)))
  if #parts == 0 then check.fail("%s: expected a non-empty list of Tensors", who) end
  for k, p in ipairs(parts) do parts[k] = p:reshape(-1) end
  return lucerna.cat(parts)
end

--- vector_to_parameters(vec, parameters): the parameters become parts of the vector.
function convert.vector_to_parameters(...)
  local who = "vector_to_parameters"
  local vec, parameters = arguments(who, { "vec", "parameters" }, ...)
  check.tensor(who, "vec", vec)
  local list, total = check.tensors(who, "parameters", parameters), 0
  for _, p in ipairs(list) do total = total + p:numel() end
  if vec:dim() ~= 1 or total > vec:numel() then
    check.fail("%s: vec has %d elements, the parameters need %d", who, vec:numel(), total)
  end
  local at = 1
  for _, p in ipairs(list) do
    p.data = vec:narrow(1, at, p:numel()):view(p:size()):detach()
    at = at + p:numel()
  end
end

return convert
