-- lucerna.autograd.graph: what becomes of the tensors that backward will need.

local core = require "lucerna.core"
local check = require "lucerna.check"
local region = require "lucerna.region"

local graph = {}

local refused, regions = nil, 0 -- disable_saved_tensors_hooks' message; hooks that are in force

-- A guard that `enter` puts in force and `leave` ends, once.
local function new_guard(enter, leave)
  local entered = false
  local function close()
    if entered then leave() end
    entered = false
  end
  return setmetatable({ remove = close }, { __close = close, __call = function()
    entered = true
    enter()
  end })
end

local function new_hooks(pack_hook, unpack_hook)
  local handle
  return new_guard(function()
    if refused then core._fail(refused) end
    handle = core.autograd._saved_hooks(function(t)
      local packed = pack_hook(t)
      return function() return unpack_hook(packed) end
    end)
    regions = regions + 1
  end, function()
    if not handle then return end
    regions = regions - 1
    handle:remove()
  end)
end

--- saved_tensors_hooks(pack_hook, unpack_hook, f, ...): while f runs, every tensor that an operator
-- saves for backward goes to pack_hook, and what that returns is kept instead; backward calls
-- unpack_hook with it, which must give back a tensor with the same values, shape and dtype: from a
-- file, from half precision. Without f for a block: `local _ <close> = saved_tensors_hooks(...)`.
-- The innermost hooks are asked. Layers of C in a row are packed when the last of them is done.
function graph.saved_tensors_hooks(pack_hook, unpack_hook, ...)
  check.callable("saved_tensors_hooks", "pack_hook", pack_hook)
  check.callable("saved_tensors_hooks", "unpack_hook", unpack_hook)
  return region("saved_tensors_hooks", function() return new_hooks(pack_hook, unpack_hook) end,
    ...)
end

--- save_on_cpu(pin_memory, device_type, f, ...): saved_tensors_hooks that keep tensors in the
-- memory of the CPU, where all of this build are.
function graph.save_on_cpu(pin_memory, device_type, ...)
  check.option("save_on_cpu", "pin_memory", pin_memory, "boolean")
  check.option("save_on_cpu", "device_type", device_type, "string")
  local function cpu(t) return t:cpu() end
  return graph.saved_tensors_hooks(cpu, cpu, ...)
end

--- disable_saved_tensors_hooks(error_message, f, ...): while f runs, saved_tensors_hooks is an
-- error with this message; so is this call where hooks are in force already.
function graph.disable_saved_tensors_hooks(error_message, ...)
  check.string("disable_saved_tensors_hooks", "error_message", error_message)
  return region("disable_saved_tensors_hooks", function()
    local outer = refused
    return new_guard(function()
      if regions > 0 then core._fail(error_message) end
      refused = error_message
    end, function() refused = outer end)
  end, ...)
end

return graph
