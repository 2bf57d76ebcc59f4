-- busted helper: garbage is collected almost all the time, so that a value which nothing keeps
-- alive is gone by the next few instructions. A new cycle begins as the last one ends, a step runs
-- every few hundred bytes, and now and then a full collection.
collectgarbage("incremental", 1, 1000, 8)

local function collect() collectgarbage() end
debug.sethook(collect, "", os.getenv("LUCERNA_TEST_SHORT") and 200000 or 20000)
