-- Runs a net once and tells what happens in it: modules entered and left, operators called. What
-- summary and dot are made of. The net is left as it was: modes, hooks, buffers, the random
-- generator; nothing is recorded for gradients.

local core = require "lucerna.core"
local modes = require "lucerna.modes"
local scoped = require "lucerna.scoped"
local nn = require "lucerna.nn"

local fail, is_tensor = core._fail, core.is_tensor
local type = type

local trace = {}

-- ---- inputs ----

local function is_size(value)
  for _, n in ipairs(value) do
    if math.type(n) ~= "integer" then return false end
  end
  return #value > 0
end

-- Random numbers where the dtype has them, else ones: the first id of an embedding, true.
local function make_input(size, dtype, device)
  local x = core.ones(size, { dtype = dtype, device = device })
  return x:is_floating_point() and x:uniform_() or x
end

local function dtype_of(net)
  for p in net:parameters() do
    if p:is_floating_point() then return p.dtype end
  end
  return core.get_default_dtype()
end

-- Arguments of the net: a size, a tensor, or a list of sizes, tensors and other values. dtype is
-- one for all, or a list.
local function read_inputs(who, net, given, dtype, device)
  if is_tensor(given) then return { n = 1, given } end
  if type(given) ~= "table" or getmetatable(given) ~= nil then
    fail("%s: input_size must be a size, a tensor or a list of them (got %s)", who, type(given))
  end
  if is_size(given) then given = { given } end
  local inputs = { n = given.n or #given }
  for i = 1, inputs.n do
    local value = given[i]
    if type(value) == "table" and getmetatable(value) == nil and is_size(value) then
      local one = type(dtype) == "table" and dtype[i] or type(dtype) ~= "table" and dtype or nil
      value = make_input(value, one or dtype_of(net), device)
    end
    inputs[i] = value
  end
  return inputs
end

-- ---- the net as it was ----

-- Calls f on every tensor of a value: a tensor, or tables of them.
function trace.each_tensor(value, f, seen)
  if is_tensor(value) then return f(value) end
  if type(value) ~= "table" then return end
  seen = seen or {}
  if seen[value] then return end
  seen[value] = true
  for i = 1, value.n or #value do trace.each_tensor(value[i], f, seen) end
  local names = {}
  for key in next, value do
    if type(key) == "string" and key ~= "n" then names[#names + 1] = key end
  end
  table.sort(names, core._before)
  for _, name in ipairs(names) do trace.each_tensor(value[name], f, seen) end
end

-- Each of the next three changes the net and first adds to the list `undo` what changes it back.

-- Copies take the places of buffers (but of those without a shape, which the run initializes), so
-- that the buffers themselves, and graphs that hold them, see nothing of the run.
local function set_aside_buffers(undo, modules)
  local places, copies = {}, {}
  for _, m in ipairs(modules) do
    for name, buffer in m:named_buffers("", false) do
      if not core.nn.is_lazy(buffer) then
        places[#places + 1] = { m, name, buffer }
        copies[buffer] = copies[buffer] or buffer:detach():clone()
      end
    end
  end
  undo[#undo + 1] = function()
    for _, place in ipairs(places) do place[1][place[2]] = place[3] end
  end
  for _, place in ipairs(places) do place[1][place[2]] = copies[place[3]] end
end

local MODES = { eval = false, train = true }

local function set_modes(undo, modules, mode)
  local before = {}
  for i, m in ipairs(modules) do before[i] = m.training end
  undo[#undo + 1] = function()
    for i, m in ipairs(modules) do m.training = before[i] end
  end
  for _, m in ipairs(modules) do m.training = mode end
end

local function add_hooks(undo, modules, on)
  local handles, over = {}, false
  undo[#undo + 1] = function()
    over = true
    for _, handle in ipairs(handles) do handle:remove() end
  end
  local function enter(...)
    if not over then on.enter(...) end
  end
  local function leave(...)
    if not over then on.leave(...) end
  end
  for _, m in ipairs(modules) do
    handles[#handles + 1] = nn.Module.register_forward_pre_hook(m, enter)
    handles[#handles + 1] = nn.Module.register_forward_hook(m, leave, { always_call = true })
  end
end

-- A value whose end runs the functions of a list, last first, each one whatever the others do, and
-- again if it failed: memory may have been short for a moment.
local function at_end(list)
  return setmetatable({}, {
    __close = function()
      for i = #list, 1, -1 do
        for _ = 1, 4 do
          if pcall(list[i]) then break end
        end
      end
    end,
  })
end

-- ---- running ----

local function modules_of(net)
  local modules = {}
  for m in net:modules() do modules[#modules + 1] = m end
  return modules
end

-- The hooks' functions, with the operators called so far told first.
local function telling(on, tape)
  local function tell()
    for _, call in ipairs(tape:take()) do on.call(call) end
  end
  return {
    enter = function(m, args)
      tell()
      on.enter(m, args)
    end,
    leave = function(m, args, output)
      tell()
      on.leave(m, args, output)
    end,
  }
end

--- check(who, net, mode): the mode as a boolean, or an error of the function `who`.
function trace.check(who, net, mode)
  if not core.nn.is_module(net) then
    fail("%s: net must be a module (got %s)", who, is_tensor(net) and "Tensor" or type(net))
  end
  local training = MODES[mode or "eval"]
  if training == nil then
    fail("%s: mode must be 'eval' or 'train' (got %s)", who, mode)
  end
  return training
end

local function run(who, net, given, options, on)
  local training = trace.check(who, net, options.mode)
  local undo = {}
  local _ <close> = at_end(undo)
  local state = core.get_rng_state()
  undo[1] = function() core.set_rng_state(state) end
  local inputs = read_inputs(who, net, given, options.dtype, options.device)
  local modules = modules_of(net)
  set_modes(undo, modules, training)
  set_aside_buffers(undo, modules)
  on.inputs(inputs)
  local tape <close> = core._tape()
  add_hooks(undo, modules, telling(on, tape))
  return table.pack(net(table.unpack(inputs, 1, inputs.n)))
end

--- run(who, net, given, options, on): calls net(given) in options.mode ("eval", "train") and tells
-- on.inputs(args), on.enter(m, args), on.leave(m, args, output) and on.call(call), a call as
-- core._tape gives it. Returns the net's results.
function trace.run(...)
  return scoped(modes.unrecorded, run, ...)
end

return trace
