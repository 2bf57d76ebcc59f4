-- Registering hooks: around calls, on one module or on every module, and before any module takes a
-- parameter, buffer or child. The core keeps the lists; each registration gives a handle that
-- removes it, also at the end of a block.
-- Source: https://pytorch.org/docs/stable/generated/torch.nn.Module.html

local root = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local ordered = require "lucerna.nn.ordered"

local core = root.nn
local fail = root._fail
local select, type, setmetatable = select, type, setmetatable

local PRE, FORWARD, FULL_PRE, FULL, OLD, STATE = 0, 1, 2, 3, 4, 5 -- luc_hook_kind, LUC_HOOK_STATE

-- ---- handles ----

local MODULES = setmetatable({}, { __mode = "v" }) -- by id: a handle does not keep its module
local Handle = { __name = "RemovableHandle" }
Handle.__index = Handle

function Handle:remove()
  if getmetatable(self) ~= Handle then
    fail("remove: must be called with a colon, handle:remove() (got %s)", core.kind_name(self))
  end
  local id = self.id
  local module = MODULES[id]
  if module then
    core._remove_hook(module, id)
    MODULES[id] = nil
  elseif self.registration then
    core._remove_registration_hook(id)
  elseif self.global then
    core._remove_hook(nil, id)
  end
end

Handle.__close = Handle.remove

-- The handle of a hook of one module, or (nil) of every module.
local function handle(module, id)
  if module then MODULES[id] = module end
  return setmetatable(module == nil and { id = id, global = true } or { id = id }, Handle)
end

-- The handle of a hook that was copied with its module.
function Handle.__clone(old, memo, copy)
  if old.global then return old end
  local module = MODULES[old.id]
  return handle(module and copy(module, memo) or false, module and memo.ids[module][old.id] or 0)
end

-- Registers a hook with the arguments of such a function: names[1] is the hook, others are flags.
local FLAGS = { prepend = 1, always_call = 2 }

local function add_hook(module, kind, who, names, ...)
  if select("#", ...) == 1 and type(...) == "function" then -- no flags, nothing to be read
    return handle(module, core._add_hook(module, kind, ..., 0))
  end
  local hook, flag, other = arguments(who, names, ...)
  check.callable(who, "hook", hook)
  local flags = (flag and FLAGS[names[2]] or 0) | (other and FLAGS[names[3]] or 0)
  return handle(module, core._add_hook(module, kind, hook, flags))
end

-- ---- of one module ----

local methods = {}
local ALONE, PLACED = { "hook" }, { "hook", "prepend" }
local CALLED = { "hook", "prepend", "always_call" }

--- register_forward_pre_hook(f, {prepend=}): f(m, args) before forward; args is a packed table.
-- What it returns (a packed table, an array, or the one argument) replaces the arguments.
function methods:register_forward_pre_hook(...)
  return add_hook(self, PRE, "register_forward_pre_hook", PLACED, ...)
end

--- register_forward_hook(f, {prepend=, always_call=}): f(m, args, output) after forward.
-- With always_call it also runs when forward or another hook has failed.
function methods:register_forward_hook(...)
  return add_hook(self, FORWARD, "register_forward_hook", CALLED, ...)
end

--- register_full_backward_pre_hook(f, {prepend=}): f(m, grad_output) in the backward pass, before
-- the gradients with respect to m's results go into m. It may return others.
function methods:register_full_backward_pre_hook(...)
  return add_hook(self, FULL_PRE, "register_full_backward_pre_hook", PLACED, ...)
end

--- register_full_backward_hook(f, {prepend=}): f(m, grad_input, grad_output) once the gradients
-- with respect to m's positional arguments are known. It may return others for grad_input. Nothing
-- may be changed in place between the hook's identity functions: m's arguments and results.
function methods:register_full_backward_hook(...)
  return add_hook(self, FULL, "register_full_backward_hook", PLACED, ...)
end

--- register_backward_hook(f): PyTorch's deprecated kind: f(m, grad_input, grad_output) sees the
-- gradients of the one operator that made m's first result.
function methods:register_backward_hook(...)
  return add_hook(self, OLD, "register_backward_hook", ALONE, ...)
end

-- ---- as maps ----

-- PyTorch's dictionaries of hooks: the kinds that they hold. STATE + luc_state_event
local VIEWS = {
  _forward_pre_hooks = { [PRE] = true }, _forward_hooks = { [FORWARD] = true },
  _backward_pre_hooks = { [FULL_PRE] = true }, _backward_hooks = { [FULL] = true, [OLD] = true },
  _state_dict_pre_hooks = { [STATE] = true }, _state_dict_hooks = { [STATE + 1] = true },
  _load_state_dict_pre_hooks = { [STATE + 2] = true },
  _load_state_dict_post_hooks = { [STATE + 3] = true },
}

-- The hooks of Lua's under one of these names: {id, hook, …}.
local function hooks_under(module, name)
  local kinds, found, flat = VIEWS[name], {}, core._hooks(module)
  for i = 1, #flat, 4 do
    if kinds[flat[i]] then found[#found + 1], found[#found + 2] = flat[i + 3], flat[i + 1] end
  end
  return found
end

local function hook_under(module, name, id)
  local flat = hooks_under(module, name)
  for i = 1, #flat, 2 do
    if flat[i] == id then return flat[i + 1] end
  end
end

-- These hooks as an ordered map by the ids of their handles. Assigning nil removes one of them.
local view = ordered.live(hooks_under, hook_under, function(module, name, id, value)
  if value ~= nil then fail("%s: hooks are registered, not assigned", name) end
  if hook_under(module, name, id) then core._remove_hook(module, id) end
end)

-- ---- of every module ----

local global = {}

--- register_module_forward_pre_hook(f): f(m, args) before every module's forward.
function global.register_module_forward_pre_hook(...)
  return add_hook(nil, PRE, "register_module_forward_pre_hook", ALONE, ...)
end

--- register_module_forward_hook(f, {always_call=}): f(m, args, output) after every forward.
function global.register_module_forward_hook(...)
  return add_hook(nil, FORWARD, "register_module_forward_hook", { "hook", "always_call" }, ...)
end

--- register_module_full_backward_pre_hook(f): f(m, grad_output), for every module.
function global.register_module_full_backward_pre_hook(...)
  return add_hook(nil, FULL_PRE, "register_module_full_backward_pre_hook", ALONE, ...)
end

--- register_module_full_backward_hook(f): f(m, grad_input, grad_output), for every module.
function global.register_module_full_backward_hook(...)
  return add_hook(nil, FULL, "register_module_full_backward_hook", ALONE, ...)
end

--- register_module_backward_hook(f): the deprecated kind, for every module.
function global.register_module_backward_hook(...)
  return add_hook(nil, OLD, "register_module_backward_hook", ALONE, ...)
end

-- ---- of registration ----

local function add_registration(kind, who, ...)
  local hook = arguments(who, ALONE, ...)
  check.callable(who, "hook", hook)
  local result = handle(nil, core._add_registration_hook(kind, hook))
  result.registration = true
  return result
end

--- register_module_parameter_registration_hook(f): f(m, name, param) before any module takes a
-- parameter, by registration or by assignment, also those that constructors make; what it returns
-- is taken instead. Not called for nil.
function global.register_module_parameter_registration_hook(...)
  return add_registration(0, "register_module_parameter_registration_hook", ...)
end

--- register_module_buffer_registration_hook(f): f(m, name, buffer) before any module takes a
-- buffer, also when one is assigned again; what it returns is taken instead.
function global.register_module_buffer_registration_hook(...)
  return add_registration(1, "register_module_buffer_registration_hook", ...)
end

--- register_module_module_registration_hook(f): f(m, name, child) before any module takes a child
-- (nil when a child's slot is emptied); what it returns is taken instead.
function global.register_module_module_registration_hook(...)
  return add_registration(2, "register_module_module_registration_hook", ...)
end

return { methods = methods, global = global, handle = handle, view = view, STATE = STATE }
