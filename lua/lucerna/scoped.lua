-- Running a function while something is in force: a gradient mode, other tensors in a module, a
-- cache. It goes out of force while the function has yielded. A guard is put in force by a call,
-- when it is marked to be closed already: a hook of debug may raise an error at any instruction.

local suspendable = require("lucerna.core")._suspendable

local function within(make, f, ...)
  local guard <close> = make()
  guard()
  return f(...)
end

--- scoped(make, f, ...): f(...), while the guard that make() returns is in force: called and not
-- closed. Where f goes on after a yield make gets the guard before, which may do again.
return function(make, f, ...)
  if not coroutine.isyieldable() then return within(make, f, ...) end
  return suspendable(make, f, ...)
end
