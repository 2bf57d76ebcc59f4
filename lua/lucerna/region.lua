-- What takes a function or is for a block: no_grad(f, ...), `local _ <close> = no_grad()`.

local check = require "lucerna.check"
local scoped = require "lucerna.scoped"

--- region(who, enter, f, ...): f(...) in what enter() begins; without f that, which close ends.
return function(who, enter, f, ...)
  if f == nil then return enter() end
  check.callable(who, "f", f)
  return scoped(enter, f, ...)
end
