-- Running a function while something is in force: a gradient mode, other tensors in a module, a
-- cache. Where the function may yield it runs in a coroutine of its own, so that what is in force
-- goes out as it yields and comes back as it goes on.

local function resume(co, enter, ...)
  local results
  do
    local _ <close> = enter()
    results = table.pack(coroutine.resume(co, ...))
  end
  if not results[1] then -- a coroutine that has failed still has its variables to close
    local closed, problem = coroutine.close(co)
    if closed then problem = results[2] end -- 5.4.2 and before
    error(problem, 0)
  end
  if coroutine.status(co) == "dead" then return table.unpack(results, 2, results.n) end
  return resume(co, enter, coroutine.yield(table.unpack(results, 2, results.n)))
end

--- scoped(enter, f, ...): f(...), while what enter() returned is not closed.
return function(enter, f, ...)
  if coroutine.isyieldable() then
    return resume(coroutine.create(function(...) return f(...) end), enter, ...)
  end
  local _ <close> = enter()
  return f(...)
end
