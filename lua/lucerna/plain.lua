-- Classes of plain objects, which data sets and samplers are: calling one makes an object and runs
-- its __init; # asks its length().

local core = require "lucerna.core"
local classes = require "lucerna.classes"

local plain = {}

local fail = core._fail

--- A class of that name with the methods of `base` besides its own; `who` asks for it.
function plain.class(who, name, base)
  classes.check(who, name)
  local class = classes.new(name, base)
  getmetatable(class).__tostring = function() return name end
  class.__len = function(self) return class.length(self) end
  return class
end

--- A check that a method was called with a colon: objects of the class have the field.
function plain.self_check(kind)
  return function(self, class, method, field)
    if type(self) ~= "table" or self[field] == nil then
      fail("%s.%s: must be called with a colon, %s:%s(...)", class, method, kind, method)
    end
  end
end

--- What classes of a kind inherit: __init, and the methods that they are to define, each under the
-- name that it is defined by.
function plain.base(kind, name, methods)
  local check_self, base = plain.self_check(kind), {__init = function() end}
  for method, own in pairs(methods) do
    base[method] = function(self)
      check_self(self, name, method, "__name")
      fail("%s:%s is not defined", self.__name, own)
    end
  end
  return base
end

return plain
