-- Can a value be called? Functions, tables and objects with __call; of objects that hide their
-- metatable, modules and classes, but not ordered maps.

local core = require "lucerna.core"

return function(value)
  local kind = type(value)
  if kind == "function" then return true end
  if kind ~= "table" and kind ~= "userdata" then return false end
  local meta = getmetatable(value)
  if type(meta) == "table" then return meta.__call ~= nil end
  return meta ~= nil and meta ~= "OrderedMap" and (kind == "table" or core.nn.is_module(value))
end
