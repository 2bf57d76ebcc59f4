-- One process of ours: `ours.lua time NAME THREADS SAMPLES` prints seconds per repetition, one
-- sample a line; `ours.lua process NAME` is the body of a fresh process and prints its result.

local function find(name, files)
  for _, file in ipairs(files) do
    for _, case in ipairs(dofile("tests/bench/" .. file .. ".lua")) do
      if case.name == name then return case end
    end
  end
  error("no benchmark is called " .. name)
end

-- Repetitions that take about 20 ms, then samples of that many.
local function sample(clock, run, samples)
  local n = 1
  while true do
    local begin = clock()
    run(n)
    local took = clock() - begin
    if took > 0.02 then break end
    n = took > 0.001 and math.ceil(n * 0.025 / took) or n * 4
  end
  for _ = 1, samples do
    local begin = clock()
    run(n)
    print(("%.12g"):format((clock() - begin) / n))
  end
end

local mode, name, threads = arg[1], arg[2], tonumber(arg[3])
if mode == "process" then
  local case = find(name, { "process" })
  local result = case.run(require "lucerna")
  if result then print(result) end
else
  local lucerna = require "lucerna"
  lucerna.set_num_threads(threads)
  local case = find(name, { "calls", "small", "nets", "kernels", "files" })
  sample(lucerna.clock, case.setup(lucerna), tonumber(arg[4]))
end
