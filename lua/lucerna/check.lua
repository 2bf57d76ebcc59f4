-- What functions written in Lua ask of their arguments. check.tensor(who, name, value) returns the
-- value, or raises an error that names the function and the argument.

local core = require "lucerna.core"
local is_callable = require "lucerna.callable"

local check = {}

local function fail(who, name, expected, value)
  core._fail("%s: %s must be %s (got %s)", who, name, expected, core.nn.kind_name(value))
end

-- Makes a check that a value satisfies a predicate.
local function kind(is, expected)
  return function(who, name, value)
    if not is(value) then fail(who, name, expected, value) end
    return value
  end
end

-- Makes a check that a value is of one of Lua's types.
local function of_type(wanted)
  return function(who, name, value)
    if type(value) ~= wanted then fail(who, name, "a " .. wanted, value) end
    return value
  end
end

--- check.option(who, name, value, wanted): nil, or of that type of Lua's.
function check.option(who, name, value, wanted)
  if value ~= nil and type(value) ~= wanted then fail(who, name, "a " .. wanted, value) end
  return value
end

--- check.positive(who, name, value): nil, or an integer above 0.
function check.positive(who, name, value)
  if value ~= nil and (math.type(value) ~= "integer" or value < 1) then
    core._fail("%s: %s must be a positive integer (got %s)", who, name, value)
  end
  return value
end

local REDUCTIONS = { none = true, mean = true, sum = true }

--- Raises unless a loss can be reduced in the way of that name.
function check.reduction(who, reduction)
  if not REDUCTIONS[reduction] then
    core._fail("%s: reduction must be 'none', 'mean' or 'sum' (got '%s')", who, reduction)
  end
end

--- Is the device nil or one that this build has?
function check.is_here(device)
  return device == nil or device == "cpu" or device == "cpu:0"
end

--- check.device(who, name, value): nil, or a device that this build has.
function check.device(who, name, value)
  if not check.is_here(value) then
    core._fail("%s: %s must be 'cpu' in this build (got '%s')", who, name, value)
  end
  return value
end

--- A name among the entries of an array, which would be lost, or nil: lr in {weight, lr = 0.1}.
function check.stray(list)
  for key in next, list do
    if type(key) == "string" and key ~= "n" then return key end -- n is table.pack's
  end
end

--- Raises if value is a module's method that was to be called, as in optim.SGD(net.parameters).
function check.called(who, name, value)
  if type(value) ~= "function" then return end
  local Module = require("lucerna.nn").Module
  for _, method in ipairs {"parameters", "named_parameters", "buffers"} do
    if value == Module[method] then
      core._fail("%s: %s must be an iterator or a table of tensors (got the method '%s': write "
        .. "net:%s())", who, name, method, method)
    end
  end
end

--- Have two tensors the same sizes, from a dimension (1) on?
function check.same_size(a, b, from)
  local n = a:dim()
  if b:dim() ~= n then return false end
  for d = from or 1, n do
    if a:size(d) ~= b:size(d) then return false end
  end
  return true
end

check.tensor = kind(core.is_tensor, "a Tensor")
check.module = kind(core.nn.is_module, "an nn.Module")
check.callable = kind(is_callable, "a function")
check.integer = kind(function(value) return math.type(value) == "integer" end, "an integer")
check.number, check.string, check.boolean = of_type "number", of_type "string", of_type "boolean"
check.table = of_type "table"

return check
