-- lucerna.autograd.graph: what becomes of the tensors that backward will need, and hooks that look
-- at a whole backward pass.

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
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

-- The same for ourselves: unpack_hook may return true, too, which gives its tensor away.
function graph._saved_tensors_hooks(pack_hook, unpack_hook, ...)
  return region("saved_tensors_hooks", function() return new_hooks(pack_hook, unpack_hook) end,
    ...)
end

--- saved_tensors_hooks(pack_hook, unpack_hook, f, ...): while f runs, every tensor that an operator
-- saves for backward goes to pack_hook, and what that returns is kept instead; backward calls
-- unpack_hook with it, which must give back a tensor with the same values, shape and dtype: from a
-- file, from half precision. Without f for a block: `local _ <close> = saved_tensors_hooks(...)`.
-- The innermost hooks are asked. Layers of C in a row are packed when the last of them is done.
function graph.saved_tensors_hooks(pack_hook, unpack_hook, ...)
  check.callable("saved_tensors_hooks", "pack_hook", pack_hook)
  check.callable("saved_tensors_hooks", "unpack_hook", unpack_hook)
  local function unpack(packed) return (unpack_hook(packed)) end
  return graph._saved_tensors_hooks(pack_hook, unpack, ...)
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

--- allow_mutation_on_saved_tensors(f, ...): while f runs, tensors saved for backward may be
-- written: backward, which has to run in f, too, reads copies.
function graph.allow_mutation_on_saved_tensors(...)
  local who, open = "allow_mutation_on_saved_tensors", false
  local function unpack_hook(t)
    if not open then core._fail("%s: backward must run where the graph was recorded", who) end
    return t
  end
  return region(who, function()
    local hooks = new_hooks(function(t) return t:clone() end, unpack_hook)
    return new_guard(function()
      open = true
      hooks()
    end, function()
      open = false
      hooks:remove()
    end)
  end, ...)
end

-- ---- hooks of a pass ----

--- queue_callback(callback): calls it when the backward pass that runs has succeeded. For hooks and
-- backward functions; elsewhere an error.
function graph.queue_callback(callback)
  core.autograd._queue_callback(callback)
end

--- increment_version(tensor): marks a tensor, or a table of some, as written, so that backward
-- refuses what was saved of it: for memory that others write.
function graph.increment_version(tensor)
  core.autograd._increment_version(core.is_tensor(tensor) and { tensor } or tensor)
end

-- Calls first(pass) when a pass comes here for the first time, next(pass, ...) every time.
local function per_pass(first, next)
  local passes = {}
  return function(...)
    local number, outer = core.autograd._pass()
    if outer == 0 and not passes[number] then passes = {} end -- what failed ones left
    passes[number] = passes[number] or first()
    return next(passes[number], ...)
  end
end

local function all_hook(tensors, fn)
  local function run(pass)
    if pass.left == nil then return end
    pass.left = nil
    fn(pass.grads)
  end
  return per_pass(function()
    local pass = { left = core.autograd._pass_count(tensors), grads = { n = #tensors } }
    core.autograd._queue_callback(function() run(pass) end) -- if some have no gradient after all
    return pass
  end, function(pass, k, grad)
    pass.grads[k] = grad
    pass.left = pass.left - 1
    if pass.left == 0 then run(pass) end
  end)
end

local function any_hook(_, fn)
  return per_pass(function() return {} end, function(pass, _, grad)
    if pass.ran then return end
    pass.ran = true
    fn(grad)
  end)
end

--- register_multi_grad_hook(tensors, fn, {mode = "all"}): a hook on the gradients of several
-- tensors. After all of those that a backward pass computes, fn gets a packed table of them, with
-- nil for the tensors that the pass does not reach. mode = "any": fn gets the first one. Returns a
-- handle with :remove().
function graph.register_multi_grad_hook(...)
  local who = "register_multi_grad_hook"
  local tensors, fn, mode = arguments(who, { "tensors", "fn", "mode" }, ...)
  check.table(who, "tensors", tensors)
  check.callable(who, "fn", fn)
  if mode ~= nil and mode ~= "all" and mode ~= "any" then
    core._fail("%s: mode must be 'all' or 'any' (got '%s')", who, tostring(mode))
  end
  for k, t in ipairs(tensors) do
    if not check.tensor(who, "tensor " .. k, t).requires_grad and mode ~= "any" then
      core._fail("%s: tensor %d does not require grad", who, k)
    end
  end
  local hook, handles = (mode == "any" and any_hook or all_hook)(tensors, fn), {}
  local all = new_guard(function()
    for k, t in ipairs(tensors) do
      if mode ~= "any" or t.requires_grad then
        handles[#handles + 1] = t:register_hook(function(grad) hook(k, grad) end)
      end
    end
  end, function()
    for _, handle in ipairs(handles) do handle:remove() end
  end)
  all()
  return all
end

return graph
