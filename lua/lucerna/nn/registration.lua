-- Hooks on registration, one list for all modules: they see every parameter, buffer or child before
-- a module takes it, by registration or by assignment, also those that constructors make.

local root = require "lucerna.core"
local core = root.nn
local raise = root._raise

local Handle = { __name = "RemovableHandle" }
Handle.__index = Handle

function Handle:remove() core._remove_registration_hook(self.id) end

Handle.__close = Handle.remove

local function add(kind, who, hook)
  local callable = type(hook) == "function"
    or (getmetatable(hook) ~= nil and type(hook) ~= "string")
  if not callable then raise(who .. ": hook must be a function (got " .. type(hook) .. ")") end
  return setmetatable({ id = core._add_registration_hook(kind, hook) }, Handle)
end

local registration = {}

--- register_module_parameter_registration_hook(f): f(m, name, param) before any module takes a
-- parameter; what it returns is taken instead. Not called for nil. Returns a handle.
function registration.register_module_parameter_registration_hook(hook)
  return add(0, "register_module_parameter_registration_hook", hook)
end

--- register_module_buffer_registration_hook(f): f(m, name, buffer) before any module takes a
-- buffer, also when one is assigned again; what it returns is taken instead. Returns a handle.
function registration.register_module_buffer_registration_hook(hook)
  return add(1, "register_module_buffer_registration_hook", hook)
end

--- register_module_module_registration_hook(f): f(m, name, child) before any module takes a child
-- (nil when a child's slot is emptied); what it returns is taken instead. Returns a handle.
function registration.register_module_module_registration_hook(hook)
  return add(2, "register_module_module_registration_hook", hook)
end

return registration
