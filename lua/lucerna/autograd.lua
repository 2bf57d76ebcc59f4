-- lucerna.autograd: backward and grad (the core's), functions with a backward of their own, and
-- gradient checks against finite differences.

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local check_self = require("lucerna.plain").self_check "ctx"
local later = require "lucerna.later"
local modes = require "lucerna.modes"
local region = require "lucerna.region"
local scoped = require "lucerna.scoped"
local shape_text = require "lucerna.shape_text"
local is_tensor = core.is_tensor

local autograd = { backward = core.autograd.backward }

-- ---- batches of gradients ----

local GRAD = { "outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs",
  "allow_unused", "is_grads_batched", "materialize_grads" }

local function as_list(value) return is_tensor(value) and { value } or value end

-- The table of tensors that an iterator gives; what is no iterator, as it is.
local function read(inputs)
  if type(inputs) ~= "function" then return inputs end
  check.called("grad", "inputs", inputs)
  local list = {}
  for input in inputs do
    list[#list + 1] = input
    if not is_tensor(input) then break end -- the core will say so
  end
  return list
end

local function is_batch_of(seed, output)
  if not is_tensor(seed) or seed:dim() ~= output:dim() + 1 then return false end
  for d = 1, output:dim() do
    if seed:size(d + 1) ~= output:size(d) then return false end
  end
  return true
end

-- The gradients for every sample of grad_outputs (is_grads_batched), computed together.
local function grad_of_batch(outputs, inputs, seeds, options)
  local used, n = {}, 0 -- vmap returns no nil: the places of the gradients that are there
  local found = table.pack(require "lucerna.func.vmap"(function(...)
    options.grad_outputs = { ... }
    local grads = table.pack(core.autograd.grad(outputs, inputs, options))
    n = grads.n
    for k = 1, n do
      if grads[k] then used[#used + 1] = k end
    end
    for k, place in ipairs(used) do grads[k] = grads[place] end
    return table.unpack(grads, 1, #used)
  end)(table.unpack(seeds)))
  local results = {}
  for k, place in ipairs(used) do results[place] = found[k] end
  return table.unpack(results, 1, n)
end

-- What the core does not take: batches, and inputs from an iterator.
local function grad_in_lua(...)
  local outputs, inputs, seeds, retain_graph, create_graph, only_inputs, allow_unused, batched,
    materialize = arguments("grad", GRAD, ...)
  inputs = read(inputs)
  if batched == nil or not check.boolean("grad", "is_grads_batched", batched) then
    return core.autograd.grad(outputs, inputs, seeds, retain_graph, create_graph, only_inputs,
      allow_unused, materialize)
  end
  local list, of = as_list(seeds), as_list(outputs)
  if type(list) ~= "table" or type(of) ~= "table" or #list ~= #of then
    core._fail("grad: is_grads_batched needs grad_outputs, a batch for every output")
  end
  for k, seed in ipairs(list) do
    if is_tensor(of[k]) and not is_batch_of(seed, of[k]) then
      local wanted = shape_text({ "batch", table.unpack(of[k].shape) })
      core._fail("grad: grad_outputs: entry %d must be a Tensor %s (got %s)", k, wanted,
        is_tensor(seed) and shape_text(seed.shape) or core.nn.kind_name(seed))
    end
  end
  return grad_of_batch(outputs, inputs, list, { retain_graph = retain_graph,
    create_graph = create_graph, allow_unused = allow_unused, materialize_grads = materialize })
end

--- grad(outputs, inputs, grad_outputs, retain_graph, create_graph = false, only_inputs = true,
-- allow_unused, is_grads_batched = false, materialize_grads = false): the gradients of outputs by
-- inputs, one result for each input, without touching grad. inputs: a tensor, a table of some, or
-- an iterator, as net:parameters() is. grad_outputs: what outputs are multiplied with (one element
-- needs none). create_graph: gradients that can be differentiated again. only_inputs changes
-- nothing, as in PyTorch. allow_unused gives nil for an input that is not used, materialize_grads
-- zeros. is_grads_batched: grad_outputs have one more dimension in front, and so have the
-- gradients, computed together.
function autograd.grad(...)
  local n = select("#", ...)
  local options = n > 0 and select(n, ...)
  local named = type(options) == "table" and options
  if n > 7 or named and (named.is_grads_batched ~= nil or type(named.inputs) == "function")
    or type((select(2, ...))) == "function" then
    return grad_in_lua(...)
  end
  return core.autograd.grad(...)
end

-- ---- looking for NaN ----

local function detect(who, mode, ...)
  return region(who, function(guard) return guard or core._mode(nil, nil, mode) end, ...)
end

--- set_detect_anomaly(mode, f, ...): with true, a backward pass stops where a gradient becomes NaN,
-- with an error that names the function; like no_grad for a call of f, for a block (`local _
-- <close> = set_detect_anomaly(true)`), or for good.
function autograd.set_detect_anomaly(mode, ...)
  check.boolean("set_detect_anomaly", "mode", mode)
  return detect("set_detect_anomaly", mode, ...)
end

--- detect_anomaly(f, ...): set_detect_anomaly(true, f, ...).
function autograd.detect_anomaly(...) return detect("detect_anomaly", true, ...) end

-- ---- Function ----

-- What forward and backward share. saved_tensors is computed, so that a change made in between is
-- seen, and so that a saved output does not keep its own graph alive.
local Context = {}

-- What is ours lies beside what the user keeps, by keys that are no names.
local CLASS <const>, FUNCTION <const>, VMAP <const> = "(class)", "(function)", "(vmap)"
local SAVED <const>, VERSIONS <const>, UNPACK <const> = "(saved)", "(versions)", "(unpack)"
local OUTPUTS <const>, SHAPES <const>, MARKED <const> = "(outputs)", "(shapes)", "(marked)"
local POSITIONS <const>, MATERIALIZE <const> = "(positions)", "(materialize)"
local DIRTY <const>, INPUTS <const> = "(dirty)", "(inputs)"

local function check_saved(ctx, i)
  local version, expected = ctx[SAVED][i]._version, ctx[VERSIONS][i]
  if version ~= expected then
    core._fail("%s: one of the variables needed for gradient computation has been modified by "
      .. "an inplace operation: saved tensor %d is at version %d; expected version %d instead",
      ctx[CLASS].name, i, version, expected)
  end
end

-- Saved tensors that saved_tensors_hooks keep: functions that give each back, and which of the
-- inputs it is.
local function pack_saved(saved, inputs)
  local pack = core.autograd._saved_hook()
  if not pack then return nil end
  local unpack, input = {}, {}
  for i = 1, saved.n do
    if is_tensor(saved[i]) then
      for k = 1, #inputs do
        if inputs[k] == saved[i] then input[i] = k end
      end
      unpack[i] = scoped(modes.unrecorded, pack, saved[i]:detach())
      saved[i] = false
    end
  end
  return unpack, input
end

local function unpack_saved(unpack)
  local tensor = scoped(modes.unrecorded, unpack)
  return check.tensor("unpack_hook", "the result", tensor)
end

local function saved_tensors(ctx)
  local result = { nil }
  if not ctx[VERSIONS] then return result end
  local saved, packed, outputs = ctx[SAVED], ctx[UNPACK], ctx[OUTPUTS]
  for i = 1, saved.n do
    local tensor, unpack = saved[i], packed and packed[i]
    if unpack then tensor = unpack_saved(unpack) end
    if is_tensor(tensor) then
      if not unpack then check_saved(ctx, i) end
      local output, input = outputs and outputs[i], unpack and ctx[INPUTS][i]
      if ctx[FUNCTION] and (output or input) then
        local attach = core.autograd[output and "_attach" or "_attach_input"]
        tensor = ctx[VMAP] and ctx[VMAP].expose(tensor) or tensor
        tensor = attach(ctx[FUNCTION], tensor, output or input)
        tensor = ctx[VMAP] and ctx[VMAP].hide(tensor) or tensor
      end
    end
    result[i] = tensor
  end
  return result
end

function Context.__index(ctx, key)
  if key == "saved_tensors" then return saved_tensors(ctx) end
  return Context[key]
end

-- The arguments of a method of ctx, which are tensors or nil.
local function tensors_given(self, method, ...)
  check_self(self, "Function", method, "needs_input_grad")
  local given = table.pack(...)
  for i = 1, given.n do
    if given[i] ~= nil and not is_tensor(given[i]) then
      core._fail("%s: expected tensors or nil (argument %d is a %s)", method, i, type(given[i]))
    end
  end
  return given
end

local function set_of(list)
  local set = {}
  for i = 1, list.n do
    if list[i] then set[list[i]] = true end
  end
  return set
end

--- Keeps tensors for backward: they come back as ctx.saved_tensors.
function Context:save_for_backward(...)
  local saved = tensors_given(self, "save_for_backward", ...)
  if not self[VERSIONS] then self[SAVED] = saved end
end

--- These outputs have no gradient.
function Context:mark_non_differentiable(...)
  self[MARKED] = set_of(tensors_given(self, "mark_non_differentiable", ...))
end

--- These inputs were written in place by forward, which must return them.
function Context:mark_dirty(...) self[DIRTY] = set_of(tensors_given(self, "mark_dirty", ...)) end

--- Without this backward gets zeros where an output got no gradient; with false it gets nil.
function Context:set_materialize_grads(on)
  check_self(self, "Function", "set_materialize_grads", "needs_input_grad")
  self[MATERIALIZE] = check.boolean("set_materialize_grads", "value", on)
end

-- After forward versions are read; saved outputs, the k-th result being at places[k], become
-- aliases outside the graph. Before it ctx.saved_tensors is empty; what is saved later is not.
local function seal_saved(ctx, inputs, outputs, places)
  local saved = ctx[SAVED]
  if not saved then return end
  local versions, results = { nil }, nil
  for i = 1, saved.n do
    local tensor = saved[i]
    if is_tensor(tensor) then
      if tensor:is_inference() then
        core._fail("%s: Inference tensors cannot be saved for backward. To work around you can "
          .. "make a clone to get a normal tensor and use it in autograd.", ctx[CLASS].name)
      end
      for k, o in ipairs(places) do
        if outputs[o] == tensor then
          saved[i], results = tensor:detach(), results or { nil }
          results[i] = k
        end
      end
      versions[i] = saved[i]._version
    end
  end
  ctx[OUTPUTS] = results
  ctx[UNPACK], ctx[INPUTS] = pack_saved(saved, inputs)
  ctx[VERSIONS] = versions
end

-- The shapes of several results, and their places: a lone one needs none, since backward never runs
-- without any gradient.
local function shapes_of(outputs, places)
  local shapes = { n = outputs.n, places = places }
  for o = 1, outputs.n do
    if is_tensor(outputs[o]) then
      shapes[o] = { shape = outputs[o].shape, dtype = outputs[o].dtype }
    end
  end
  return shapes
end

-- Gradients as backward wants them, one for each of forward's results: zeros for those that got
-- none.
local function materialize(ctx, shapes, ...)
  local grads = {}
  for k, o in ipairs(shapes.places) do grads[o] = (select(k, ...)) end
  for o = 1, ctx[MATERIALIZE] == false and 0 or shapes.n do
    if grads[o] == nil and shapes[o] then
      grads[o] = core.zeros(shapes[o].shape, { dtype = shapes[o].dtype })
    end
  end
  return table.unpack(grads, 1, shapes.n)
end

-- What the core calls: (its own handle, a gradient per result) -> one per tensor input.
function Context.__call(ctx, handle, ...)
  local class, positions, shapes = ctx[CLASS], ctx[POSITIONS], ctx[SHAPES]
  ctx[FUNCTION] = handle
  local results
  if shapes then
    results = table.pack(class.backward(ctx, materialize(ctx, shapes, ...)))
  else
    results = table.pack(class.backward(ctx, ...))
  end
  ctx[FUNCTION] = nil
  for i = positions.n + 1, results.n do
    if results[i] ~= nil then
      core._fail("%sBackward: returned an incorrect number of gradients (expected %d, got %d)",
        class.name, positions.n, results.n)
    end
  end
  for k, i in ipairs(positions) do
    local grad = results[i]
    if grad == core.none then grad = nil end
    results[k] = grad
  end
  return table.unpack(results, 1, #positions)
end

local function needs_grad(inputs)
  local needs, any = { nil }, false
  for i = 1, inputs.n do
    needs[i] = is_tensor(inputs[i]) and inputs[i].requires_grad
    any = any or needs[i]
  end
  return needs, any
end

-- Outputs must be tensors of their own: an input handed back becomes a view of itself.
local function separate(inputs, outputs)
  for o = 1, outputs.n do
    for i = 1, inputs.n do
      if is_tensor(outputs[o]) and outputs[o] == inputs[i] then
        outputs[o] = outputs[o]:detach()
      end
    end
  end
end

-- Copies in place of the outputs that are inputs written by forward, whose history is still that
-- from before. Returns those by their places.
local function copy_dirty(ctx, inputs, outputs)
  local dirty, written, saved = ctx[DIRTY], {}, ctx[SAVED]
  for o = 1, outputs.n do
    local input = outputs[o]
    if is_tensor(input) and dirty[input] then
      written[o], outputs[o] = input, input:detach():clone()
      for i = 1, saved and saved.n or 0 do
        if saved[i] == input then saved[i] = outputs[o] end
      end
      dirty[input] = nil
    end
  end
  for i = 1, inputs.n do
    if is_tensor(inputs[i]) and dirty[inputs[i]] then
      core._fail("%s: input %d was marked as dirty and is not returned: what is modified in place "
        .. "must be an output", ctx[CLASS].name, i)
    end
  end
  return written
end

local function any_batched(list)
  for k = 1, list.n do
    if is_tensor(list[k]) and core._unbatched(list[k]) ~= nil then return true end
  end
end

-- Under vmap the graph is that of what batched tensors hide. Returns ways there and back, and the
-- levels to be entered again by backward; nil where nothing is batched.
local function levels_of(inputs, outputs)
  if not any_batched(inputs) and not any_batched(outputs) then return nil end
  local levels = require "lucerna.func.levels"
  local entered = levels.entered()
  return {
    expose = function(t) return levels.expose(t, entered) end,
    hide = function(t) return t and levels.hide(t, entered) end,
    guard = function() return levels.guard(entered) end,
  }
end

-- backward as the core calls it, with gradients that have the dimensions of the levels.
local function for_samples(backward, vmap)
  return function(handle, ...)
    local guard <close> = vmap.guard()
    guard()
    local grads = table.pack(...)
    for o = 1, grads.n do grads[o] = vmap.hide(grads[o]) end
    local results = table.pack(backward(handle, table.unpack(grads, 1, grads.n)))
    for i = 1, results.n do results[i] = results[i] and vmap.expose(results[i]) end
    return table.unpack(results, 1, results.n)
  end
end

local WHOLE = setmetatable({}, { __mode = "v" }) -- by n: {1, …, n, n = n}

local function whole(n)
  local places = WHOLE[n]
  if places then return places end
  places = { n = n }
  for i = 1, n do places[i] = i end
  WHOLE[n] = places
  return places
end

-- The tensors of a packed list that are not marked, and their places, which rise, with n: how many
-- there could be. Mostly it is the list itself.
local function tensors_of(list, marked)
  local n, all = list.n, not marked
  for i = 1, n do all = all and is_tensor(list[i]) end
  if all then return list, whole(n) end
  local tensors, places = {}, { n = n }
  for i = 1, n do
    local tensor = list[i]
    if is_tensor(tensor) and not (marked and marked[tensor]) then
      tensors[#tensors + 1], places[#places + 1] = tensor, i
    end
  end
  return tensors, places
end

local function record(class, ctx, inputs, outputs)
  local written = ctx[DIRTY] and copy_dirty(ctx, inputs, outputs)
  separate(inputs, outputs)
  local tensors, positions = tensors_of(inputs)
  local results, places = tensors_of(outputs, ctx[MARKED])
  ctx[POSITIONS] = positions
  if outputs.n > 1 then ctx[SHAPES] = shapes_of(outputs, places) end
  seal_saved(ctx, tensors, outputs, places)
  if #places == 0 then return end
  local backward, vmap = ctx, levels_of(inputs, outputs)
  if vmap then
    ctx[VMAP], results = vmap, {}
    backward = for_samples(ctx, vmap)
    for k, t in ipairs(tensors) do tensors[k] = vmap.expose(t) end
    for k, o in ipairs(places) do
      results[k] = vmap.expose(outputs[o]):detach()
      outputs[o] = vmap.hide(results[k])
    end
  end
  core.autograd._record(backward, tensors, results, class.name .. "Backward")
  if not written then return end
  for o, input in pairs(written) do outputs[o] = input:copy_(outputs[o]) end
end

-- forward without ctx, then setup_context(ctx, inputs, output).
local function in_two_steps(ctx, ...)
  local class = ctx[CLASS]
  local outputs = table.pack(class.forward(...))
  class.setup_context(ctx, table.pack(...), outputs.n == 1 and outputs[1] or outputs)
  return table.unpack(outputs, 1, outputs.n)
end

local function apply(class, ...)
  local inputs = table.pack(...)
  local needs, any = needs_grad(inputs)
  local ctx = setmetatable({ needs_input_grad = needs, [CLASS] = class, [SAVED] = false,
    [VERSIONS] = false, [POSITIONS] = nil, [OUTPUTS] = nil }, Context) -- with room for more
  local forward = class.setup_context and in_two_steps or class.forward
  local outputs = table.pack(scoped(modes.unrecorded, forward, ctx, ...))
  if any and core.is_grad_enabled() and not core.is_inference_mode_enabled() then
    record(class, ctx, inputs, outputs)
  end
  return table.unpack(outputs, 1, outputs.n)
end

local Function = {}
Function.__index = Function
Function.__call = function(class, ...) return apply(class, ...) end
Function.__tostring = function(class) return "autograd.Function " .. class.name end

--- Function(name, {forward = function(ctx, ...) end, backward = function(ctx, ...) end}): a
-- differentiable function; call `f.apply(...)`. backward returns one gradient per argument of
-- forward (nil for what is no tensor). With setup_context = function(ctx, inputs, output) end,
-- which gets packed tables as hooks do, forward has no ctx.
-- ctx:save_for_backward(x, …) keeps tensors, ctx.saved_tensors in backward; other fields of ctx are
-- kept too. ctx.needs_input_grad[i]: is a gradient of argument i wanted?
-- ctx:mark_non_differentiable(y, …): these outputs have no gradient. ctx:mark_dirty(x, …): these
-- inputs were written in place by forward, which must return them.
-- ctx:set_materialize_grads(false): backward gets nil, not zeros, where an output got no gradient.
function autograd.Function(name, definition)
  check.string("Function", "name", name)
  if type(definition) ~= "table" then
    core._fail("Function: expected a table with forward and backward (got %s)", type(definition))
  end
  local setup = definition.setup_context
  for _, key in ipairs { "forward", "backward", setup ~= nil and "setup_context" or nil } do
    if type(definition[key]) ~= "function" then
      core._fail("Function: %s: %s must be a function (got %s)", name, key, type(definition[key]))
    end
  end
  local class = setmetatable({ name = name, forward = definition.forward,
    backward = definition.backward, setup_context = setup }, Function)
  class.apply = function(...) return apply(class, ...) end
  return class
end

local NotTwice = autograd.Function("NotTwice", {
  forward = function(_, ...) return ... end,
  backward = function()
    core._fail("trying to differentiate twice a function that was marked with "
      .. "once_differentiable")
  end,
})

--- once_differentiable(backward): a Function's backward that runs unrecorded: for one of numbers,
-- or of other libraries. To differentiate what it gives once more is an error.
function autograd.once_differentiable(backward)
  check.callable("once_differentiable", "backward", backward)
  return function(ctx, ...)
    local results = table.pack(scoped(modes.unrecorded, backward, ctx, ...))
    local _, any = needs_grad(table.pack(...))
    if not any or not core.is_grad_enabled() then return table.unpack(results, 1, results.n) end
    for i = 1, results.n do
      if is_tensor(results[i]) then results[i] = results[i]:detach():requires_grad_() end
    end
    return NotTwice.apply(table.unpack(results, 1, results.n))
  end
end

-- ---- gradient checks ----

-- The numbers of a tensor in order, a complex one as its real and imaginary part: with PyTorch's
-- convention a complex gradient is that by the parts.
local function numbers(t)
  t = t:detach()
  return (t:is_complex() and core.view_as_real(t:contiguous()) or t):reshape(-1)
end

-- Calls f and returns its differentiable outputs.
local function outputs_of(f, inputs)
  local results, outputs = table.pack(f(table.unpack(inputs, 1, #inputs))), {}
  if results.n == 1 and type(results[1]) == "table" then
    results = table.pack(table.unpack(results[1]))
  end
  for i = 1, results.n do
    local result = results[i]
    if is_tensor(result) and result.requires_grad then
      outputs[#outputs + 1] = result
    end
  end
  return outputs
end

-- d outputs[o] / d input element, for all elements of the output, by central differences.
local function numerical_column(f, inputs, flat, k, eps)
  local function values(value)
    flat[k] = value
    local columns = {}
    for o, output in ipairs(scoped(modes.recorded, outputs_of, f, inputs)) do
      columns[o] = numbers(output):tolist()
    end
    return columns
  end
  local x = flat[k]:item()
  local _ <close> = setmetatable({}, { __close = function() flat[k] = x end })
  local above, below = values(x + eps), values(x - eps)
  for o = 1, #above do
    for j = 1, #above[o] do above[o][j] = (above[o][j] - below[o][j]) / (2 * eps) end
  end
  return above
end

-- analytic[o][j]: the gradient of element j of output o, flat, as a list.
local function analytic_rows(outputs, input, create_graph)
  local rows = {}
  for o, output in ipairs(outputs) do
    rows[o] = {}
    for j = 1, output:numel() * (output:is_complex() and 2 or 1) do
      local seed = core.zeros(output.shape, { dtype = output.dtype })
      numbers(seed)[j] = 1
      local grad = autograd.grad({ output }, { input }, { grad_outputs = { seed },
        retain_graph = true, create_graph = create_graph, allow_unused = true })
      rows[o][j] = grad and numbers(grad):tolist() or false
    end
  end
  return rows
end

local function close(a, b, atol, rtol)
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  return math.abs(a - b) <= atol + rtol * math.abs(b)
end

local function compare(rows, columns, i, k, options)
  for o = 1, #rows do
    for j = 1, #rows[o] do
      local analytic = rows[o][j] and rows[o][j][k] or 0
      local numerical = columns[o][j]
      if not close(analytic, numerical, options.atol, options.rtol) then
        return ("output %d, element %d, with respect to input %d, element %d: numerical %.9g, " ..
          "analytical %.9g"):format(o, j, i, k, numerical, analytic)
      end
    end
  end
end

local function check_inputs(who, inputs)
  local any = false
  for i, input in ipairs(inputs) do
    if is_tensor(input) and input.requires_grad then
      any = true
      if not input.is_leaf then
        core._fail("%s: input %d is not a leaf", who, i)
      end
    end
  end
  if not any then core._fail("%s: none of the inputs requires grad", who) end
end

-- inputs as a list; what gradcheck and gradgradcheck cannot use is refused.
local function check_call(who, f, inputs, options)
  check.callable(who, "f", f)
  if not is_tensor(inputs) and type(inputs) ~= "table" then
    core._fail("%s: inputs must be a Tensor or a list of them (got %s)", who,
      core.nn.kind_name(inputs))
  end
  if options ~= nil and type(options) ~= "table" then
    core._fail("%s: options must be a table (got %s)", who, core.nn.kind_name(options))
  end
  return is_tensor(inputs) and { inputs } or inputs
end

local function first_mismatch(f, inputs, options)
  local outputs = outputs_of(f, inputs)
  for i, input in ipairs(inputs) do
    if is_tensor(input) and input.requires_grad then
      local rows = analytic_rows(outputs, input, false)
      local contiguous = input.data:is_contiguous()
      local flat = contiguous and numbers(input.data)
      if not flat then core._fail("%s: input %d is not contiguous", options.who, i) end
      for k = 1, flat:numel() do
        local columns = numerical_column(f, inputs, flat, k, options.eps)
        local mismatch = compare(rows, columns, i, k, options)
        if mismatch then return mismatch end
      end
    end
  end
end

local function verify(who, f, inputs, given)
  inputs = check_call(who, f, inputs, given)
  local eps, atol, rtol, raise_exception = arguments(who,
    { "eps", "atol", "rtol", "raise_exception" }, given and next(given) and given or nil)
  local options = { eps = eps or 1e-6, atol = atol or 1e-5, rtol = rtol or 1e-3 }
  for name, value in pairs(options) do check.number(who, name, value) end
  options.who = who
  check_inputs(who, inputs)
  local mismatch = first_mismatch(f, inputs, options)
  if not mismatch then return true end
  if raise_exception ~= false then core._fail("%s: Jacobian mismatch for %s", who, mismatch) end
  return false, mismatch
end

--- gradcheck(f, inputs, {eps=, atol=, rtol=, raise_exception=}): do f's gradients agree with finite
-- differences? inputs: leaves, in float64 or complex128 for the defaults to make sense. A complex
-- element counts as two, its real and its imaginary part.
function autograd.gradcheck(f, inputs, options) return verify("gradcheck", f, inputs, options) end

--- gradgradcheck(f, inputs, {eps=, atol=, rtol=, raise_exception=}): gradcheck of the gradients of
-- f's outputs, the second derivatives.
function autograd.gradgradcheck(f, inputs, options)
  inputs = check_call("gradgradcheck", f, inputs, options)
  local n, all = #inputs, {}
  for i = 1, n do all[i] = inputs[i] end
  local probe = outputs_of(f, inputs)
  for o, output in ipairs(probe) do
    all[n + o] = core.randn(output.shape, { dtype = output.dtype }):requires_grad_()
  end
  local function gradients(...)
    local given = { ... }
    local xs, seeds, wanted = {}, {}, {}
    for i = 1, n do
      xs[i] = given[i]
      if is_tensor(xs[i]) and xs[i].requires_grad then wanted[#wanted + 1] = xs[i] end
    end
    for o = 1, #probe do seeds[o] = given[n + o] end
    return autograd.grad(outputs_of(f, xs), wanted,
      { grad_outputs = seeds, create_graph = true, allow_unused = true })
  end
  return verify("gradgradcheck", gradients, all, options)
end

local MODES = { no_grad = true, enable_grad = true, set_grad_enabled = true, inference_mode = true }

return later(autograd, "lucerna.autograd.", { "functional", "graph" }, function(name)
  if MODES[name] then return require("lucerna")[name] end -- PyTorch has them here too
end)
