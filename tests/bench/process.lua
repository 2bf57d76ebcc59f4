-- Benchmarks of a whole process: run(lucerna) is the body of a fresh one. What is measured is its
-- wall time from outside, or the figures it prints (bytes as Linux counts them).

local function resident(field)
  for line in io.lines("/proc/self/status") do
    local kb = line:match(field .. ":%s+(%d+)")
    if kb then return kb / 1024 end
  end
end

local function train(lucerna, w, x, steps)
  for _ = 1, steps do
    w.grad = nil
    local h = (x * w + 1):relu()
    local loss = (h * h - h):mean()
    loss:backward()
    lucerna.no_grad(function() w:sub_(w.grad * 0.01) end)
  end
end

-- Microseconds of 60,000 calls, in a table that serves again (less for the collector); between(i)
-- follows each.
local function times_in_order(clock, call, between, times)
  times = times or {}
  for i = -2000, 60000 do
    local begin = clock()
    call()
    times[i] = (clock() - begin) * 1e6
    if between then between(i) end
  end
  return times
end

local function times_of(...)
  local times = times_in_order(...)
  table.sort(times)
  return times
end

local function tail_of(...) return times_of(...)[59994] end -- what one in 10,000 takes longer than

local function with_mlp(lucerna, measure, between)
  local nn = lucerna.nn
  local net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
    nn.Linear(64, 4))
  local x = lucerna.rand(1, 16)
  lucerna.set_num_threads(1)
  return lucerna.no_grad(measure, lucerna.clock, function() net(x) end, between)
end

local function counting(steps)
  local n = 0
  return function()
    for i = 1, steps do n = n + i end
  end
end

local function collect_between(i)
  if i % 500 == 0 then collectgarbage() end
end

-- A round begins with all garbage found, so that the collector's cycles meet the same calls.
local function collect_at_first(i)
  if i == 0 then collectgarbage() end
end

-- The tail in medians of each call's least time in eleven rounds: what the calls themselves take
-- where a round is like the other, as from the third on, without what the machine does meanwhile.
local function tail_of_least(clock, call, between)
  local least, times = times_in_order(clock, call, between), {}
  for _ = 1, 2 do times_in_order(clock, call, between, least) end
  for _ = 2, 11 do
    times_in_order(clock, call, between, times)
    for i = 1, 60000 do least[i] = math.min(least[i], times[i]) end
  end
  table.sort(least)
  return least[59994] / least[30000], least[60000] / least[30000]
end

-- The same with cycles of the collector among the calls, at the same ones in each round.
local function tail_with_cycles(clock, call)
  local tail, longest = tail_of_least(clock, call, collect_at_first)
  assert(longest > 50, "the collector's cycles met other calls")
  return tail
end

-- Microseconds until a worker of the pool begins with its piece: one that spins, one asleep.
local function waking()
  return dofile("tests/bench/program.lua")("wake",
    "-Isrc -Isrc/include build/liblucerna.a -lm -lpthread")
end

local function first_inference(lucerna)
  local nn = lucerna.nn
  nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))(lucerna.rand(1, 16))
end

-- Peak memory of ten training steps in MB, and what was in use before them.
local function train_resnet(lucerna)
  local net, x = lucerna.models.resnet18(), lucerna.rand(4, 3, 112, 112)
  local target = lucerna.randint(1, 1001, { 4 })
  local cross_entropy = lucerna.nn.functional.cross_entropy
  local optimizer = lucerna.optim.SGD(net:parameters(), { lr = 0.01, momentum = 0.9 })
  collectgarbage()
  local before = resident("VmRSS")
  for _ = 1, 10 do
    optimizer:zero_grad()
    cross_entropy(net(x), target):backward()
    optimizer:step()
  end
  return resident("VmHWM"), before
end

return {
  {
    name = "start: require and first inference, wall",
    unit = "ms", bound = 15, measure = "wall",
    run = first_inference,
  },
  {
    name = "start: require and first inference, peak memory",
    unit = "MB", bound = 20, measure = "printed",
    run = function(lucerna)
      first_inference(lucerna)
      return resident("VmHWM")
    end,
  },
  {
    name = "peak memory of 3,000 steps over that of 20",
    unit = "x", bound = 1.3, measure = "printed",
    run = function(lucerna)
      local x = lucerna.rand(256, 1024)
      local w = lucerna.rand(1024, { requires_grad = true })
      train(lucerna, w, x, 20)
      local early = resident("VmHWM")
      train(lucerna, w, x, 2980)
      return resident("VmHWM") / early
    end,
  },
  {
    name = "ResNet-18, ten training steps: peak memory",
    unit = "MB", ratio = 1, measure = "printed",
    run = function(lucerna) return (train_resnet(lucerna)) end,
  },
  {
    name = "the same, over that of the library, the net and its data",
    unit = "MB", measure = "printed",
    run = function(lucerna)
      local peak, before = train_resnet(lucerna)
      return peak - before
    end,
  },
  {
    name = "a worker that spins after a loop begins with the next",
    unit = "us", bound = 5, measure = "printed",
    run = function() return waking()[1] end,
  },
  {
    name = "a worker asleep is woken and begins",
    unit = "us", bound = 100, measure = "printed",
    run = function() return waking()[2] end,
  },
  {
    name = "MLP 16-64-64-4, 60,000 forwards: p99.99",
    unit = "us", measure = "printed",
    run = function(lucerna) return with_mlp(lucerna, tail_of) end,
  },
  {
    name = "the same, the collector run between forwards",
    unit = "us", measure = "printed",
    run = function(lucerna)
      collectgarbage("stop")
      return with_mlp(lucerna, tail_of, collect_between)
    end,
  },
  {
    name = "that in medians, of each forward's least of eleven",
    unit = "x", bound = 5, measure = "printed",
    run = function(lucerna)
      collectgarbage("stop")
      return with_mlp(lucerna, tail_of_least, collect_between)
    end,
  },
  {
    name = "the same, the collector left to itself",
    unit = "x", bound = 5, measure = "printed",
    run = function(lucerna) return with_mlp(lucerna, tail_with_cycles) end,
  },
  {
    name = "that, of forwards in lucerna.scope",
    unit = "x", bound = 5, measure = "printed",
    run = function(lucerna)
      local scope = lucerna.scope
      return with_mlp(lucerna, function(clock, call)
        return (tail_of_least(clock, function() scope(call) end, collect_at_first))
      end)
    end,
  },
  {
    name = "the same of a loop as long that only counts: the machine's",
    unit = "us", measure = "printed",
    run = function(lucerna)
      collectgarbage("stop")
      return tail_of(lucerna.clock, counting(150))
    end,
  },
}
