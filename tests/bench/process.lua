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

return {
  {
    name = "start: require and first inference, wall",
    unit = "ms", bound = 15, measure = "wall",
    run = function(lucerna)
      local nn = lucerna.nn
      nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))(lucerna.rand(1, 16))
    end,
  },
  {
    name = "start: require and first inference, peak memory",
    unit = "MB", bound = 20, measure = "printed",
    run = function(lucerna)
      local nn = lucerna.nn
      nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))(lucerna.rand(1, 16))
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
}
