-- What the files of nn.utils share: reading lists of parameters and checking arguments. A list is
-- an iterator, an array table or one tensor; it is read once, so that iterators can be given.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local shared = require "lucerna.check"
local shape_text = require "lucerna.shape_text"
local fail = core._fail

local check = {}

--- Raises a formatted message at the caller's line.
check.fail = fail

--- An array of the tensors given.
function check.tensors(who, name, value)
  if lucerna.is_tensor(value) then return { value } end
  shared.called(who, name, value)
  local list = {}
  if type(value) == "function" then
    for item in value do list[#list + 1] = item end
  elseif type(value) == "table" then
    for k, item in ipairs(value) do list[k] = item end
  else
    check.fail("%s: %s must be an iterator or a table of tensors (got %s)", who, name,
      core.nn.kind_name(value))
  end
  for k, item in ipairs(list) do
    if not lucerna.is_tensor(item) then
      check.fail("%s: %s must hold tensors (entry %d is a %s)", who, name, k, type(item))
    end
  end
  return list
end

check.tensor, check.string, check.module = shared.tensor, shared.string, shared.module
check.callable, check.same_size = shared.callable, shared.same_size

--- A number; a tensor of one element counts as one.
function check.number(who, name, value)
  if lucerna.is_tensor(value) and value:numel() == 1 then value = value:item() end
  return shared.number(who, name, value)
end

--- Python's name for a value's type, as its messages have it.
function check.type_name(value)
  if lucerna.is_tensor(value) then
    return core.nn.is_parameter(value) and "Parameter" or "Tensor"
  end
  return core.nn.is_module(value) and core.nn.class_name(value) or type(value)
end

--- The dimensions of a tensor but one.
function check.other_dims(tensor, dim)
  local others = {}
  for d = 1, tensor:dim() do
    if d ~= dim then others[#others + 1] = d end
  end
  return others
end

--- A module's text on one line.
function check.text(module) return (tostring(module):gsub("%s*\n%s*", " ")) end

--- A shape as PyTorch's messages have it.
function check.size(tensor) return ("torch.Size(%s)"):format(shape_text(tensor.shape)) end

-- ---- changes that happen whole or not at all ----

--- Runs f(...), which takes something back and must not fail: it may need memory, so each failure
-- is followed by a collection and another try.
function check.insist(f, ...)
  for _ = 1, 4 do
    local ok, result = pcall(f, ...)
    if ok then return result end
    collectgarbage()
  end
end

--- Runs f(undo). If it fails, what it passed to undo is run, last first, and the error goes on. As
-- a hook of debug may raise an error at any instruction, a step is passed before what it takes back
-- is done, and must do no harm where it was not. What cannot be taken back exactly goes last, as a
-- tail call of one function of C's: no instruction follows it.
function check.transaction(f)
  local steps = {}
  local ok, err = pcall(f, function(step) steps[#steps + 1] = step end)
  if ok then return end
  for k = #steps, 1, -1 do check.insist(steps[k]) end
  error(err, 0)
end

--- To be called before hooks of the module are registered in a transaction: they go if it fails.
function check.take_back_hooks(module, undo)
  local last = core.nn._last_hook_id()
  undo(function()
    local hooks = core.nn._hooks(module)
    for i = 4, #hooks, 4 do
      if hooks[i] > last then core.nn._remove_hook(module, hooks[i]) end
    end
  end)
end

return check
