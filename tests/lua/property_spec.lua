-- Random chains of views, writes and reductions agree with a naive model of a tensor, step by step:
-- 100,000 steps from a fixed seed and as many from another, fewer where time runs out (`make
-- test-all`, which gives a fresh seed, waits longer).
-- LUCERNA_WALK=steps walks so far, however long it takes; LUCERNA_WALK_SEED=n walks from there.
local lucerna = require "lucerna"
local Walk = require "walk"

local steps = {}
for _, part in ipairs {"walk_views", "walk_writes", "walk_results"} do
  for name, f in pairs(require(part)) do steps[#steps + 1] = {name, f} end
end
table.sort(steps, function(a, b) return a[1] < b[1] end)

local far = tonumber(os.getenv("LUCERNA_WALK"))
local given = tonumber(os.getenv("LUCERNA_WALK_SEED"))
local fresh = tonumber(os.getenv "LUCERNA_SEED")
local SECONDS = fresh and 8 or 3 -- for a walk of the suite

local function walk(seed)
  local deadline = not far and lucerna.clock() + SECONDS
  return Walk.run(steps, seed, far or 100000, deadline)
end

describe("a tensor is what a naive one is", function()
  it("along the walk from seed 1", function() assert(walk(1) > 0) end)

  it("along a walk from another seed", function()
    local seed = given or fresh or 2
    print(("%d steps from seed %d"):format(walk(seed), seed))
  end)
end)
