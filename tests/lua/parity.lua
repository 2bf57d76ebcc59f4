-- What specs share: recorded PyTorch answers read from tests/parity/data, comparisons that say
-- where and by how much two tensors differ, and gradient checks.
-- A recorded tensor is {shape = {…}, dtype = "float32", data = {flat, row-major}}, the parts of a
-- complex number one after the other; with index = true its values count from 0, as PyTorch's do,
-- and are turned into ours.

local lucerna = require "lucerna"
local python = require "lucerna.python"
local shape_text = require "lucerna.shape_text"

local parity = {}

local root = os.getenv("LUCERNA_ROOT") or "."

--- The path of a recorded file.
function parity.path(name) return root .. "/tests/parity/data/" .. name end

--- The recorded cases of an area: what tests/parity/data/<area>.lua returns.
function parity.load(area) return dofile(parity.path(area .. ".lua")) end

--- The keys of a table of strings, in order.
function parity.sorted_names(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- The options of a case in its title: "lr=0.1 momentum=0.9".
function parity.words(options)
  local words = {}
  for name, value in pairs(options) do words[#words + 1] = name .. "=" .. python(value) end
  table.sort(words)
  return table.concat(words, " ")
end

--- A leaf that requires a gradient.
function parity.parameter(values, dtype)
  return lucerna.tensor(values, { dtype = dtype or lucerna.float32, requires_grad = true })
end

--- Is it a recorded tensor?
function parity.is_fixture(value)
  return type(value) == "table" and value.shape ~= nil and value.data ~= nil
end

--- A tensor from a recorded one (other values are returned as they are).
function parity.tensor(fixture, options)
  if not parity.is_fixture(fixture) then return fixture end
  local data = fixture.data
  if fixture.index then
    local shifted = {}
    for i, v in ipairs(data) do shifted[i] = v >= 0 and v + 1 or v end
    data = shifted
  end
  local dtype = lucerna[fixture.dtype or "float32"]
  local x
  if #data == 0 then
    x = lucerna.zeros(fixture.shape, { dtype = dtype })
  elseif dtype.is_complex then
    local part = dtype == lucerna.complex64 and lucerna.float32 or lucerna.float64
    x = lucerna.tensor(data, { dtype = part }):reshape(-1, 2)
    x = lucerna.view_as_complex(x):reshape(fixture.shape)
  else
    x = lucerna.tensor(data, { dtype = dtype }):reshape(fixture.shape)
  end
  for key, value in pairs(options or {}) do x[key] = value end
  return x
end

-- Relative and absolute tolerance by dtype; the absolute one is for outputs of scale 1.
local TOLERANCE = {
  float64 = { 1e-9, 1e-11 }, float32 = { 2e-5, 2e-6 }, float16 = { 2e-3, 2e-3 },
  bfloat16 = { 2e-2, 2e-2 }, complex64 = { 2e-5, 4e-6 }, complex128 = { 1e-9, 1e-11 },
}

local function flat(x)
  if not lucerna.is_tensor(x) then return { x } end
  if x:is_complex() then x = lucerna.view_as_real(x:reshape(-1)) end
  return x:detach():to(lucerna.is_floating_point(x) and lucerna.float64 or x.dtype):reshape(-1)
    :tolist()
end

local function number(v) return v == true and 1 or v == false and 0 or v end

local function agree(a, b, rtol, atol)
  if a == b then return true end
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  return math.abs(a - b) <= atol + rtol * math.abs(b)
end

--- nil if actual agrees with expected (tensors, recorded tensors or numbers), else what differs.
-- options: rtol, atol, scale (true: atol counts relative to the largest expected value), dtype
-- (false: not compared).
function parity.difference(actual, expected, options)
  options = options or {}
  local fixture = parity.is_fixture(expected) and expected
  expected = parity.tensor(expected)
  if lucerna.is_tensor(actual) ~= lucerna.is_tensor(expected) then
    return ("one is a tensor, the other is not: %s and %s"):format(tostring(actual),
      tostring(expected))
  end
  local tolerance = { 1e-9, 1e-11 }
  if lucerna.is_tensor(actual) then
    if not parity.same_list(actual.shape, expected.shape) then
      return ("shape %s instead of %s"):format(shape_text(actual.shape),
        shape_text(expected.shape))
    end
    local check = options.dtype ~= false and not (fixture and not fixture.dtype)
    if check and actual.dtype ~= expected.dtype then
      return ("dtype %s instead of %s"):format(tostring(actual.dtype), tostring(expected.dtype))
    end
    tolerance = TOLERANCE[tostring(expected.dtype)] or { 0, 0 }
  end
  local rtol, atol = options.rtol or tolerance[1], options.atol or tolerance[2]
  local a, e = flat(actual), flat(expected)
  if options.scale then
    local largest = 0
    for i = 1, #e do
      local v = math.abs(number(e[i]))
      if v > largest and v < math.huge then largest = v end
    end
    atol = atol * math.max(largest, 1e-30)
  end
  for i = 1, #e do
    if not agree(number(a[i]), number(e[i]), rtol, atol) then
      return ("element %d (in order) is %s instead of %s"):format(i, tostring(a[i]),
        tostring(e[i]))
    end
  end
end

--- Fails unless actual agrees with expected; see difference.
function parity.close(actual, expected, options, label)
  local difference = parity.difference(actual, expected, options)
  if difference then error((label and label .. ": " or "") .. difference, 2) end
end

--- The same with the limits of layers, in the order in which their records are read.
function parity.agree(expected, actual, label, atol)
  parity.close(actual, expected, { atol = atol or 1e-6, rtol = 1e-5 }, label)
end

--- Fails unless recorded gradients agree with those of a layer's parameters and inputs ("input1"),
-- where the elements of its output weigh 0.5 to 1.5.
function parity.agree_gradients(grads, layer, inputs, output, atol)
  local weights = lucerna.linspace(0.5, 1.5, output:numel(), { dtype = output.dtype })
  ;(output * weights:view(output:size())):sum():backward()
  local leaves = {}
  for name, p in layer:named_parameters() do leaves[name] = p end
  for k, x in ipairs(inputs) do leaves["input" .. k] = x end
  for name, grad in pairs(grads) do parity.agree(grad, leaves[name].grad, name, atol) end
end

--- A number that a list of tensors makes: each element weighs differently in it.
function parity.total(tensors)
  local sum = 0
  for _, t in ipairs(tensors) do
    local n = t:numel()
    sum = sum + (t * (lucerna.arange(1, n + 1, { dtype = t.dtype }):reshape(t.shape) / n)):sum()
  end
  return sum
end

--- Fails unless t has these recorded sums: of its elements, and of them weighed as total does.
function parity.close_sums(t, want, tolerance, label)
  t = t:detach():double():reshape(-1)
  for i, got in ipairs { t:sum():item(), parity.total({ t }):item() } do
    local near = got ~= got and want[i] ~= want[i]
      or math.abs(want[i] - got) <= tolerance * math.max(1, math.abs(want[i]))
    if not near then error(("%s: %.9g, want %.9g"):format(label, got, want[i]), 2) end
  end
end

--- The layer of a recorded case, its parameters drawn from the seed that the record has.
function parity.layer(case)
  lucerna.manual_seed(42)
  local env = { nn = lucerna.nn, lucerna = lucerna }
  return assert(load("return " .. case.lua, case.lua, "t", env))()
end

--- Fails unless f's gradients agree with finite differences at inputs (float64 leaves).
function parity.gradcheck(f, inputs, options)
  local ok, why = lucerna.autograd.gradcheck(f, inputs, options)
  if not ok then error(why, 2) end
end

--- The same for second derivatives.
function parity.gradgradcheck(f, inputs, options)
  local ok, why = lucerna.autograd.gradgradcheck(f, inputs, options)
  if not ok then error(why, 2) end
end

--- A float64 leaf of this shape, sizes or a table of them, with random values.
function parity.leaf(...)
  local size = type(...) == "table" and ... or { ... }
  return lucerna.randn(size, { dtype = lucerna.float64 }):requires_grad_()
end

--- A float64 leaf with these values.
function parity.leaf_with(values)
  return lucerna.tensor(values, { dtype = lucerna.float64, requires_grad = true })
end

--- The float32 tensor of this shape that the recorded lines call x: quarters from -1 on.
function parity.quarters(...)
  local n = 1
  for _, size in ipairs { ... } do n = n * size end
  return (lucerna.arange(n, { dtype = lucerna.float32 }) * 0.25 - 1):reshape(...)
end

--- What a loop gives first each time, in order: list(m:named_children()), list(pairs(map)).
function parity.list(...)
  local found = {}
  for item in ... do found[#found + 1] = item end
  return found
end

--- The keys of a module's state, in order.
function parity.keys(m) return parity.list(pairs(m:state_dict())) end

--- The bytes that are in use when everything unreachable is gone.
function parity.live()
  collectgarbage()
  collectgarbage()
  return lucerna.memory().live
end

function parity.same_list(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

--- The message of the error that f raises; fails if it raises none.
function parity.message(f, ...)
  local ok, message = pcall(f, ...)
  if ok then error("expected an error", 2) end
  return message
end

--- The same without its position.
function parity.plain_message(f, ...)
  return (parity.message(f, ...):gsub("^[^\n]-:%d+: ", ""))
end

-- Is it a pattern? As one a text would match more than itself: [1, 2] any of its characters.
local function is_pattern(text)
  return text:find "%%" or text:find "%.[*+-]" or text:find "^%^" or text:find "%$$"
end

--- Fails unless f raises an error of one line with this text, which is a pattern if it has a %,
-- a dot that is repeated, or an anchor at an end.
function parity.refused(text, f, ...)
  local message = parity.message(f, ...)
  if not message:find(text, 1, not is_pattern(text)) then
    error(("%q instead of %q"):format(message, text), 2)
  end
  if message:find("\n", 1, true) then error("not one line: " .. message, 2) end
end

--- Iterates over calls that are refused, {text of the message, function, arguments…}: a title, and
--- a function that checks it.
function parity.refusals(list)
  local i = 0
  return function()
    i = i + 1
    local call = list[i]
    if not call then return end
    return ("%s (%d)"):format(call[1], i), function()
      parity.refused(table.unpack(call, 1, call.n or #call))
    end
  end
end

return parity
