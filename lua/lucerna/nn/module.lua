-- What nn.Module has that is better said in Lua: the functions behind m(x) wherever a forward or a
-- hook is Lua's (so that they can yield and nest without limit), and methods made of smaller ones.
-- Loaded before the first class: it hands its drivers to the core.

local root = require "lucerna.core"
local hook_view = require("lucerna.nn.hooks").view
local on_error = require "lucerna.on_error"
local ordered = require "lucerna.nn.ordered"
local trees = require "lucerna.nn.trees"

local core = root.nn
local fail = root._fail
local new = core.new
local lists_of = core._hook_lists -- by module; made when first asked for
local hooked_inputs, hooked_outputs = core._hooked_inputs, core._hooked_outputs
local warn = warn or function() end -- a host may have taken it away
local select, pack, unpack, type = select, table.pack, table.unpack, type
local math_type, math_tointeger = math.type, math.tointeger
local MAX_VALUES = 1 << 16 -- unpack has room for

local Module = {}

-- ---- calling ----

local function call(self, ...) return self:forward(...) end

-- Is it a plain table whose n says how many values it packs?
local function is_packed(value)
  if type(value) ~= "table" or getmetatable(value) ~= nil then return false end
  local n = math_type(value.n) and math_tointeger(value.n)
  return n and n >= 0 and n <= MAX_VALUES
end

local function outputs_of(output)
  if is_packed(output) then return unpack(output, 1, output.n) end
  return output
end

-- Runs the hooks that there are now that forward has returned. state: of a guarded call, which have
-- run, and the last arguments and output. The one argument and result are taken by name in these
-- functions where they are alone: passing `...` on costs a third of such a call.
local function run_hooks(self, state, args, output, ...)
  local hooks, replaced = lists_of[self][2], select("#", ...) > 0
  if not hooks then return output, ... end
  if replaced then output = pack(output, ...) end
  if state then state.hooks, state.output = hooks, output end
  for i = 1, #hooks do
    if state then state.run = i end
    local result = hooks[i](self, args, output)
    if result ~= nil then output, replaced = result, true end
    if state then state.output = output end
  end
  if replaced then return outputs_of(output) end
  return output
end

local SILENCED = "forward hook with `always_call=True` raised an exception that was silenced as " ..
  "another error was raised in forward: "

-- Hooks that are always called still run when forward or another hook has failed.
local function run_always(self, state)
  return on_error(function()
    local hooks = state.hooks or lists_of[self][2] or {}
    for i = state.run + 1, #hooks do
      if hooks.always and hooks.always[i] then
        local ok, result = pcall(hooks[i], self, state.args, state.output)
        if not ok then
          local good, text = pcall(tostring, result)
          warn(SILENCED .. (good and text or type(result)))
        elseif result ~= nil then
          state.output = result
        end
      end
    end
  end)
end

-- A pre-hook's result: a packed table, an array of arguments, or the one argument.
local function packed(result)
  if is_packed(result) then return result end
  local is_array = type(result) == "table" and getmetatable(result) == nil
    and (#result > 0 or next(result) == nil)
  return is_array and pack(unpack(result)) or { n = 1, result }
end

-- forward and the hooks after it, between the identity functions of backward hooks.
local function wrapped(self, state, identity, ...)
  local args = pack(...)
  if state then state.args = args end
  return hooked_outputs(identity, run_hooks(self, state, args, self:forward(...)))
end

local function hooked(self, state, ...)
  local lists, args = lists_of[self], pack(...)
  local before, anchor = lists[1] or {}, lists[3]
  for i = 1, #before do
    local result = before[i](self, args)
    if result ~= nil then args = packed(result) end
    if state then state.args = args end
  end
  if anchor then
    return wrapped(self, state, hooked_inputs(self, anchor, unpack(args, 1, args.n)))
  end
  return run_hooks(self, state, args, self:forward(unpack(args, 1, args.n)))
end

local function guarded(self, ...)
  local state = { run = 0, args = pack(...) }
  local _ <close> = run_always(self, state)
  local results = pack(hooked(self, state, ...))
  return unpack(results, 1, results.n)
end

local function hooked_call(self, ...)
  local lists = lists_of[self]
  if lists[2] and lists[2].always then return guarded(self, ...) end
  return hooked(self, nil, ...)
end

-- ---- making ----

local function construct(class, ...)
  local self = new(class)
  self:__init(...)
  return self
end

function Module:__init(...)
  if select("#", ...) > 0 then
    fail("%s: takes no arguments (got %d)", core.kind_name(self), select("#", ...))
  end
end

function Module:forward(...) -- luacheck: ignore 212
  fail('Module [%s] is missing the required "forward" function', core.kind_name(self))
end

-- What a C class's __init has registered passes through the module's own methods.
local function reregister(self)
  local parameters, buffers = core._slots(self, 0), core._slots(self, 1)
  for i = 1, #parameters, 2 do
    core.delattr(self, parameters[i])
    self:register_parameter(parameters[i], parameters[i + 1] or nil)
  end
  for i = 1, #buffers, 2 do
    local persistent = core._is_persistent(self, buffers[i])
    core.delattr(self, buffers[i])
    self:register_buffer(buffers[i], buffers[i + 1] or nil, persistent)
  end
end

-- ---- views of what is registered ----

local KINDS = { _parameters = 0, _buffers = 1, _modules = 2 }

-- The names of the buffers that state_dict leaves out, as a set.
local function transient(self)
  local set, flat = {}, core._slots(self, 1)
  for i = 1, #flat, 2 do
    if not core._is_persistent(self, flat[i]) then set[flat[i]] = true end
  end
  return set
end

-- Puts the value under the key of one kind, as nn.Module's own methods do: a class may call this
-- from its own. nil deletes the key, none empties the slot.
local function write_slot(self, kind, key, value)
  if value == nil then
    if core._has_slot(self, key, kind) then core.delattr(self, key) end
    return
  end
  if value == root.none then value = nil end
  if kind == 0 then
    core.register_parameter(self, key, value)
  elseif kind == 1 then
    local known = core._has_slot(self, key, 1)
    core.register_buffer(self, key, value, not known or core._is_persistent(self, key))
  else
    core.add_module(self, key, value)
  end
end

local OWNER, SLOTS = {}, {} -- a key that nobody else has, metatables by name
for name, kind in pairs(KINDS) do
  SLOTS[name] = ordered.kind(core._slot_view(OWNER, kind))
  SLOTS[name].__newindex = function(self, key, value) write_slot(self[OWNER], kind, key, value) end
end

local function view(self, name)
  if name == "_non_persistent_buffers_set" then return transient(self) end
  local slots = SLOTS[name]
  return slots and setmetatable({ [OWNER] = self }, slots) or hook_view(self, name)
end

-- ---- methods ----

for _, name in ipairs {
  "register_parameter", "register_buffer", "add_module", "named_parameters", "named_buffers",
  "parameters", "buffers", "named_modules", "modules", "named_children", "children",
  "requires_grad_", "zero_grad", "get_submodule", "get_parameter", "get_buffer", "extra_repr",
} do
  Module[name] = core[name]
end
Module.register_module = core.add_module

Module._get_name = core.class_name -- a C function: repr can tell whether it was overridden

for name, method in pairs(trees.Module) do Module[name] = method end

return {
  Module = Module,
  setup = {
    call = call,
    hooked_call = hooked_call,
    run_hooks = run_hooks,
    outputs_of = outputs_of,
    construct = construct,
    view = view,
    reregister = reregister,
    walks = trees.walks,
    pairs = trees.pairs,
    class_tostring = function(class) return "<class 'nn." .. core.class_name(class) .. "'>" end,
    drivers = {
      [call] = true, [hooked_call] = true, [hooked] = true, [run_hooks] = true,
      [guarded] = true, [wrapped] = true,
    },
  },
}
