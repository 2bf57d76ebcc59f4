-- lucerna.utils: torch.utils.checkpoint, and data, which is lucerna.data. A checkpointed part of a
-- net keeps its inputs only; what else its gradient reads is computed once more in the backward
-- pass: memory for time.

local core = require "lucerna.core"
local autocast = require "lucerna.autocast"
local autograd = require "lucerna.autograd"
local check = require "lucerna.check"
local later = require "lucerna.later"
local options = require "lucerna.options"
local scoped = require "lucerna.scoped"

local utils = { checkpoint = {} }

-- ---- checkpoint ----

local function recorded(guard) return guard or core._mode(true) end

-- f(...) as it ran forward: with the same draws and casts, but recorded.
local function run_again(run, args)
  local drawn = run.rng and core.get_rng_state()
  if drawn then core.set_rng_state(run.rng) end
  local function make(guard) return guard or core._autocast(run.autocast, run.dtype) end
  local results = table.pack(pcall(scoped, recorded, scoped, make, run.f,
    table.unpack(args, 1, args.n)))
  if drawn then core.set_rng_state(drawn) end
  if not results[1] then error(results[2], 0) end
  return results
end

local Checkpoint = autograd.Function("Checkpoint", {
  forward = function(ctx, run, ...)
    local args = table.pack(...)
    local tensors = { n = args.n }
    ctx.run, ctx.rest = run, { n = args.n }
    for i = 1, args.n do
      if core.is_tensor(args[i]) then tensors[i] = args[i] else ctx.rest[i] = args[i] end
    end
    ctx:save_for_backward(table.unpack(tensors, 1, args.n))
    return run.f(...)
  end,
  backward = function(ctx, ...)
    if core.is_grad_enabled() then
      core._fail("checkpoint: gradients of what is computed again cannot be differentiated again")
    end
    local grads, saved, args = table.pack(...), ctx.saved_tensors, ctx.rest
    local given = { n = args.n }
    for i = 1, args.n do
      given[i] = args[i]
      if saved[i] then given[i] = saved[i]:detach():requires_grad_(ctx.needs_input_grad[i + 1]) end
    end
    local results, outputs, seeds = run_again(ctx.run, given), {}, {}
    for o = 1, results.n - 1 do
      local output = results[o + 1]
      if core.is_tensor(output) and output.requires_grad then
        outputs[#outputs + 1], seeds[#seeds + 1] = output, grads[o]
      end
    end
    if #outputs > 0 then autograd.backward(outputs, seeds) end
    local answers = {}
    for i = 1, args.n do answers[i + 1] = saved[i] and given[i].grad or nil end
    return table.unpack(answers, 1, args.n + 1)
  end,
})

local OPTIONS = { use_reentrant = "boolean", preserve_rng_state = "boolean", debug = "boolean",
  determinism_check = "string" }

--- checkpoint(f, ..., {preserve_rng_state=}): f(...), of which backward needs nothing but the
-- arguments: f runs again then, with the same random numbers, and adds to the gradients of all
-- leaves it reads. So it goes with backward(), not with autograd.grad.
function utils.checkpoint.checkpoint(f, ...)
  check.callable("checkpoint", "function", f)
  local args = table.pack(...)
  local given = options.take(args, OPTIONS)
  for key, value in pairs(given) do check.option("checkpoint", key, value, OPTIONS[key]) end
  if not core.is_grad_enabled() then return f(table.unpack(args, 1, args.n)) end
  local run = { f = f, autocast = autocast.is_autocast_enabled(),
    dtype = autocast.get_autocast_dtype(),
    rng = given.preserve_rng_state ~= false and core.get_rng_state() or nil }
  for i = 1, args.n do
    if core.is_tensor(args[i]) and args[i].requires_grad then
      return Checkpoint.apply(run, table.unpack(args, 1, args.n))
    end
  end
  args[args.n + 1] = core.zeros(0):requires_grad_() -- parameters may want gradients
  run.f = function(...)
    local all = table.pack(...)
    return f(table.unpack(all, 1, all.n - 1))
  end
  return Checkpoint.apply(run, table.unpack(args, 1, args.n + 1))
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
