-- lucerna.utils: torch.utils.checkpoint, and data, which is lucerna.data. A checkpointed part of a
-- net keeps its inputs only; what else its gradient reads is computed once more in the backward
-- pass: memory for time.

local core = require "lucerna.core"
local autocast = require "lucerna.autocast"
local check = require "lucerna.check"
local graph = require "lucerna.autograd.graph"
local later = require "lucerna.later"
local modes = require "lucerna.modes"
local options = require "lucerna.options"
local region = require "lucerna.region"
local scoped = require "lucerna.scoped"
local shape_text = require "lucerna.shape_text"

local utils = { checkpoint = {} }

-- ---- checkpoint ----

-- What a part saves for backward is not kept but counted, and asked for by its number; then the
-- part runs again, and ends where it has saved as many. Within a part that runs, parts save their
-- arguments, as operators do: of those only what the outer part needs to get at them runs again.

local early_stop = true -- what set_checkpoint_early_stop says

local function kind_of(t)
  local kind = t.shape
  kind.dtype = t.dtype
  return kind
end

local function same_kind(a, b)
  for d = 1, math.max(#a, #b) do
    if a[d] ~= b[d] then return false end
  end
  return a.dtype == b.dtype
end

local function kind_text(kind) return tostring(kind.dtype) .. " " .. shape_text(kind) end

-- A function that gives an argument back: from where hooks that are in force keep it, or itself.
local function keep(t)
  local pack, version = core.autograd._saved_hook(), t._version
  if pack then return scoped(modes.unrecorded, pack, t:detach()) end
  t = t:detach()
  return function()
    if t._version ~= version then
      core._fail("checkpoint: an argument has been modified by an inplace operation: it is at "
        .. "version %d; expected version %d instead", t._version, version)
    end
    return t
  end
end

local function kept(args)
  local list = { n = args.n }
  for i = 1, args.n do
    if core.is_tensor(args[i]) then
      local get, needs = keep(args[i]), args[i].requires_grad
      list[i] = function() return get():detach():requires_grad_(needs) end
    else
      local value = args[i]
      list[i] = function() return value end
    end
  end
  return list
end

-- f(...) as it ran forward: with the same draws and casts, but recorded.
local function run_again(part, pack)
  local args = {}
  for i = 1, part.args.n do args[i] = part.args[i]() end
  local drawn = part.rng and core.get_rng_state()
  if drawn then core.set_rng_state(part.rng) end
  local function make(guard) return guard or core._autocast(part.autocast, part.dtype) end
  local function itself(t) return t end
  local ok, problem = pcall(scoped, modes.recorded, scoped, make, graph._saved_tensors_hooks, pack,
    itself, part.f, table.unpack(args, 1, part.args.n))
  if drawn then core.set_rng_state(drawn) end
  return ok, problem
end

-- Computes what a part saved for the pass that runs, maybe in the middle of the part itself.
local function compute(part)
  local found, n, ended = {}, 0, false
  local ok, problem = run_again(part, function(t)
    n = n + 1
    if n > part.n and part.complete then
      core._fail("checkpoint: more tensors were saved than in the forward pass (%d)", part.n)
    end
    found[n] = t
    ended = part.early_stop and n == part.n
    if ended then core._fail("checkpoint: the rest is not needed") end
    return t
  end)
  if not ok and not ended then error(problem, 0) end
  if n < part.n and part.complete then
    core._fail("checkpoint: fewer tensors were saved (%d) than in the forward pass (%d)", n, part.n)
  end
  for i = 1, part.kinds and math.min(n, part.n) or 0 do
    local kind = kind_of(found[i])
    if not same_kind(kind, part.kinds[i]) then
      core._fail("checkpoint: saved tensor %d is a %s; in the forward pass it was a %s", i,
        kind_text(kind), kind_text(part.kinds[i]))
    end
  end
  return found
end

-- Each tensor is handed out once for a pass, with true: for good.
local function take(part, i)
  local pass = core.autograd._pass()
  if part.pass ~= pass or not part.found or not part.found[i] then
    part.found, part.pass = compute(part), pass
  end
  local t = part.found[i]
  part.found[i] = nil
  return t, true
end

local OPTIONS = { use_reentrant = "boolean", preserve_rng_state = "boolean", debug = "boolean",
  determinism_check = "string", early_stop = "boolean" }

--- checkpoint(f, ..., {preserve_rng_state=, determinism_check = "default", early_stop = true}):
-- f(...), of which backward needs nothing but the arguments: f runs again then, with the same
-- random numbers, as far as needed. Its gradients can be differentiated again, and parts may lie
-- within parts. determinism_check = "none": shapes and dtypes of what is computed again are not
-- compared. use_reentrant and debug change nothing.
function utils.checkpoint.checkpoint(f, ...)
  check.callable("checkpoint", "function", f)
  local args = table.pack(...)
  local given = options.take(args, OPTIONS)
  for key, value in pairs(given) do check.option("checkpoint", key, value, OPTIONS[key]) end
  local determinism = given.determinism_check or "default"
  if determinism ~= "default" and determinism ~= "none" then
    core._fail("checkpoint: determinism_check must be 'default' or 'none' (got '%s')", determinism)
  end
  if not core.is_grad_enabled() then return f(table.unpack(args, 1, args.n)) end
  local part = { f = f, args = kept(args), n = 0, autocast = autocast.is_autocast_enabled(),
    dtype = autocast.get_autocast_dtype(),
    rng = given.preserve_rng_state ~= false and core.get_rng_state() or nil,
    kinds = determinism == "default" and {} or nil,
    early_stop = early_stop and given.early_stop ~= false }
  local function pack(t)
    part.n = part.n + 1
    if part.kinds then part.kinds[part.n] = kind_of(t) end
    t:release() -- what memory is spared is free at once
    return part.n
  end
  local function done(...)
    part.complete = true
    return ...
  end
  return done(graph._saved_tensors_hooks(pack, function(i) return take(part, i) end, f,
    table.unpack(args, 1, args.n)))
end

--- set_checkpoint_early_stop(enable, f, ...): with false, parts that run in f run again as a whole.
function utils.checkpoint.set_checkpoint_early_stop(enable, ...)
  check.boolean("set_checkpoint_early_stop", "enable", enable)
  return region("set_checkpoint_early_stop", function()
    local outer = early_stop
    local function close() early_stop = outer end
    return setmetatable({}, { __close = close, __call = function() early_stop = enable end })
  end, ...)
end

--- checkpoint_sequential(functions, segments, input, {preserve_rng_state=}): the modules of a
-- Sequential or a table one after another, in so many checkpointed parts; the last is not, since
-- its gradient comes first.
function utils.checkpoint.checkpoint_sequential(functions, segments, input, given)
  local list = functions
  if core.nn.is_module(functions) then
    list = {}
    for m in functions:children() do list[#list + 1] = m end
  end
  if type(list) ~= "table" then
    core._fail("checkpoint_sequential: functions must be a Sequential or a table (got %s)",
      core.nn.kind_name(functions))
  end
  if math.type(segments) ~= "integer" or segments < 1 or segments > #list then
    core._fail("checkpoint_sequential: segments must be an integer from 1 to %d (got %s)", #list,
      segments)
  end
  for k = 1, #list do
    check.callable("checkpoint_sequential", ("functions[%d]"):format(k), list[k])
  end
  local empty = type(given) == "table" and next(given) == nil
  if given ~= nil and not empty and not options.are(given, OPTIONS) then
    core._fail("checkpoint_sequential: options must be a table of preserve_rng_state (got %s)",
      core.nn.kind_name(given))
  end
  local size, at = #list // segments, 0
  local function part(first, last)
    return function(x)
      for k = first, last do x = list[k](x) end
      return x
    end
  end
  for _ = 1, segments - 1 do
    input = utils.checkpoint.checkpoint(part(at + 1, at + size), input, given)
    at = at + size
  end
  return part(at + 1, #list)(input)
end

return later(utils, "lucerna.", { "data" })
