-- Running a function while something is in force: a gradient mode, other tensors in a module, a
-- cache. Where the function may yield it runs in a coroutine of its own, so that what is in force
-- goes out as it yields and comes back as it goes on.

local resume

-- Makes no table: a coroutine that fails closes nothing, so nothing in it may fail before `mode` is
-- closed.
local function leave(mode, enter, co, ok, ...)
  do local _ <close> = mode end
  if not ok then -- a coroutine that has failed still has its variables to close
    local closed, problem = coroutine.close(co)
    if closed then problem = ... end -- 5.4.2 and before
    error(problem, 0)
  end
  if coroutine.status(co) == "dead" then return ... end
  return resume(enter, co, coroutine.yield(...))
end

function resume(enter, co, ...) return leave(enter(), enter, co, coroutine.resume(co, ...)) end

--- scoped(enter, f, ...): f(...), while what enter() returned is not closed.
return function(enter, f, ...)
  if coroutine.isyieldable() then
    return resume(enter, coroutine.create(function(...) return f(...) end), ...)
  end
  local _ <close> = enter()
  return f(...)
end
