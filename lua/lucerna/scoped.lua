-- Running a function while something is in force: a gradient mode, other tensors in a module, a
-- cache. Where the function may yield it runs in a coroutine of its own, so that what is in force
-- goes out as it yields and comes back as it goes on. A guard is put in force by a call, when it is
-- marked to be closed already: a hook of debug may raise an error at any instruction.

local function within(make, f, ...)
  local guard <close> = make()
  guard()
  return f(...)
end

-- What f left suspended ends with the coroutine around it.
local Suspended = {}
function Suspended.__close(self) coroutine.close(self.co) end

-- ok: pcall's, as a coroutine that fails closes nothing by itself.
local function leave(make, co, ok, resumed, ...)
  if not ok then error(resumed, 0) end
  if not resumed then -- a coroutine that has failed still has its variables to close
    local closed, problem = coroutine.close(co)
    if closed then problem = ... end -- 5.4.2 and before
    error(problem, 0)
  end
  if coroutine.status(co) == "dead" then return ... end
  return leave(make, co, pcall(within, make, coroutine.resume, co, coroutine.yield(...)))
end

--- scoped(make, f, ...): f(...), while the guard that make() returns is in force: called and not
-- closed.
return function(make, f, ...)
  if not coroutine.isyieldable() then return within(make, f, ...) end
  local co = coroutine.create(function(...) return f(...) end)
  local _ <close> = setmetatable({ co = co }, Suspended)
  return leave(make, co, pcall(within, make, coroutine.resume, co, ...))
end
