-- Running a function while something is in force: a gradient mode, other tensors in a module, a
-- cache. Where the function may yield it runs in a coroutine of its own, so that what is in force
-- goes out as it yields and comes back as it goes on.

-- A coroutine that fails closes nothing by itself, so nothing in it may fail before what is in
-- force is closed: this makes no table.
local function drive(enter, co, ...)
  local _ <close> = enter()
  return coroutine.resume(co, ...)
end

local function leave(enter, co, ok, ...)
  if not ok then -- a coroutine that has failed still has its variables to close
    local closed, problem = coroutine.close(co)
    if closed then problem = ... end -- 5.4.2 and before
    error(problem, 0)
  end
  if coroutine.status(co) == "dead" then return ... end
  return leave(enter, co, drive(enter, co, coroutine.yield(...)))
end

--- scoped(enter, f, ...): f(...), while what enter() returned is not closed.
return function(enter, f, ...)
  if coroutine.isyieldable() then
    local co = coroutine.create(function(...) return f(...) end)
    return leave(enter, co, drive(enter, co, ...))
  end
  local _ <close> = enter()
  return f(...)
end
