-- busted helper: while a test runs, garbage is collected almost all the time, so that a value which
-- nothing keeps alive is gone by the next few instructions, inside our C functions too: cycles
-- follow each other without a pause, in steps of a kilobyte. The short form does it to every 12th
-- test only, beginning at one that depends on the spec's name.
local busted = require "busted"
local every = os.getenv("LUCERNA_TEST_SHORT") and 12 or 1
local count = #tostring(arg[#arg])

busted.subscribe({ "test", "start" }, function()
  count = count + 1
  if count % every == 0 then collectgarbage("incremental", 1, 400, 10) end
  return nil, true
end)

busted.subscribe({ "test", "end" }, function()
  collectgarbage("generational")
  return nil, true
end)
