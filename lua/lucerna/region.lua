-- What takes a function or is for a block: no_grad(f, ...), `local _ <close> = no_grad()`.

local check = require "lucerna.check"
local scoped = require "lucerna.scoped"

--- region(who, make, f, ...): f(...) while the guard that make() returns is in force; without f
-- the guard, in force, which close ends.
return function(who, make, f, ...)
  if f ~= nil then
    check.callable(who, "f", f)
    return scoped(make, f, ...)
  end
  local guard = make()
  guard()
  return guard
end
