-- busted helper: while a test runs, garbage is collected almost all the time, so that a value which
-- nothing keeps alive is gone by the next few instructions, inside our C functions too: cycles
-- follow each other without a pause, in steps of a kilobyte. The short form has a spec's first test
-- and every 12th from one on that depends on its name.
local busted = require "busted"
local every = os.getenv("LUCERNA_TEST_SHORT") and 12 or 1
local count, first = #tostring(arg[#arg]), true

busted.subscribe({ "register", "it" }, function()
  count = count + 1
  local chosen = first or count % every == 0
  first = false
  return nil, chosen
end, { priority = 1 })

busted.subscribe({ "test", "start" }, function()
  collectgarbage("incremental", 1, 400, 10)
  return nil, true
end)

busted.subscribe({ "test", "end" }, function()
  collectgarbage("generational")
  return nil, true
end)
