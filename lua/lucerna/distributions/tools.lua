-- What the distributions share: shapes, tensors out of numbers, probabilities and logits, and how
-- values are written in messages. Shapes are array tables.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local check = require "lucerna.check"
local python = require "lucerna.python"
local shape_text = require "lucerna.shape_text"

local tools = {}

tools.fail = core._fail

--- Of methods that check their arguments first: what is written in the source, for help().
tools.written = setmetatable({}, {__mode = "k"})

--- What a value is, for messages.
tools.kind = core.nn.kind_name

--- Options for a tensor like t.
function tools.like(t) return {dtype = t.dtype, device = t.device} end

--- Array tables one after another.
function tools.join(...)
  local all, n = {}, 0
  for k = 1, select("#", ...) do
    local list = select(k, ...)
    for i = 1, #list do all[n + i] = list[i] end
    n = n + #list
  end
  return all
end

--- The first n items of a list; from the end if n is negative.
function tools.first(list, n)
  if n < 0 then n = #list + n end
  return table.move(list, 1, n, 1, {})
end

--- The last n items.
function tools.last(list, n) return table.move(list, #list - n + 1, #list, 1, {}) end

function tools.same(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

--- The number of elements of a shape.
function tools.count(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

--- The shape that varargs give: sizes, a table of them, {sample_shape = {…}}, or nothing.
function tools.sizes(who, name, ...)
  if select("#", ...) == 0 then return {} end
  local given = {...}
  if #given == 1 and type(given[1]) == "table" then given = given[1][name] or given[1] end
  for key, size in pairs(given) do
    if type(key) ~= "number" then tools.fail("%s: unknown argument '%s'", who, key) end
    if math.type(size) ~= "integer" or size < 0 then
      tools.fail("%s: %s must be sizes (got %s)", who, name, size)
    end
  end
  return given
end

--- The value, which must be a tensor.
tools.tensor = check.tensor

--- The value, which must be an integer of at least 0.
function tools.whole(who, name, value)
  if math.type(value) ~= "integer" or value < 0 then
    tools.fail("%s: %s must be a non-negative integer (got %s)", who, name,
      type(value) == "number" and value or tools.kind(value))
  end
  return value
end

--- Numbers and tensors, one for each name, broadcast against each other; further arguments are left
-- out. Numbers take the dtype of the first tensor.
function tools.broadcast(who, names, ...)
  local values, like = {...}, nil
  values[#names + 1] = nil
  for i, name in ipairs(names) do
    local value = values[i]
    if lucerna.is_tensor(value) then
      like = like or value
    elseif type(value) ~= "number" then
      tools.fail("%s: %s must be a Tensor or a number (got %s)", who, name, type(value))
    end
  end
  local options = like and tools.like(like) or {dtype = lucerna.get_default_dtype()}
  for i in ipairs(names) do
    if type(values[i]) == "number" then values[i] = lucerna.tensor(values[i], options) end
  end
  for i = 2, #names do
    if not tools.same(values[i].shape, values[1].shape) then
      return table.unpack(lucerna.broadcast_tensors(values))
    end
  end
  return table.unpack(values, 1, #names) -- as they are: no nodes that all uses would share
end

--- The shape that a shape and those of values (numbers have none) broadcast to.
function tools.broadcast_shape(shape, ...)
  local result = tools.join(shape)
  for _, value in ipairs {...} do
    local other = lucerna.is_tensor(value) and value.shape or {}
    while #result < #other do table.insert(result, 1, 1) end
    for k = 0, #other - 1 do
      local i = #result - k
      if result[i] == 1 then result[i] = other[#other - k] end
    end
  end
  return result
end

--- Sums the last n dimensions.
function tools.sum_rightmost(value, n)
  if n == 0 then return value end
  return value:reshape(tools.join(tools.first(value.shape, -n), {-1})):sum(-1)
end

--- Zeros and ones kept away from by the dtype's eps.
function tools.clamp_probs(probs)
  local eps = lucerna.finfo(probs.dtype).eps
  return probs:clamp(eps, 1 - eps)
end

function tools.logits_to_probs(logits, is_binary)
  if is_binary then return logits:sigmoid() end
  return lucerna.softmax(logits, -1)
end

function tools.probs_to_logits(probs, is_binary)
  local clamped = tools.clamp_probs(probs)
  if is_binary then return clamped:log() - (-clamped):log1p() end
  return clamped:log()
end

--- The binary cross entropy of values, of each by itself: minus the logarithm of their probability,
-- and where a value is the probability, the entropy.
function tools.cross_entropy(logits, value)
  logits, value = table.unpack(lucerna.broadcast_tensors {logits, value})
  return lucerna.nn.functional.binary_cross_entropy_with_logits(logits, value,
    {reduction = "none"})
end

-- ---- text ----

--- A value in one line: numbers and tensors without dimensions as Python's, others as printed.
function tools.text(value)
  if type(value) == "number" then return python(value) end
  if lucerna.is_tensor(value) and value:dim() == 0 then return python(value:item()) end
  return (tostring(value):gsub("%s*\n%s*", " "))
end

--- A shape as Python writes a tuple.
function tools.tuple(shape)
  if #shape == 1 then return ("(%d,)"):format(shape[1]) end
  return "(" .. table.concat(shape, ", ") .. ")"
end

--- A shape as PyTorch writes it.
function tools.size_text(shape) return "torch.Size(" .. shape_text(shape) .. ")" end

return tools
