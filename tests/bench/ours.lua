-- One process of ours: `ours.lua time NAME THREADS SAMPLES SECONDS` prints seconds per repetition,
-- one sample a line that takes SECONDS at least; `ours.lua process NAME` is the body of a fresh
-- process and prints its result.

local function find(name, files)
  for _, file in ipairs(files) do
    for _, case in ipairs(dofile("tests/bench/" .. file .. ".lua")) do
      if case.name == name then return case end
    end
  end
  error("no benchmark is called " .. name)
end

-- Repetitions that take `least` seconds, then samples of that many.
local function sample(clock, run, samples, least)
  local n = 1
  while true do
    local begin = clock()
    run(n)
    local took = clock() - begin
    if took > least then break end
    n = took > 0.001 and math.ceil(n * least * 1.25 / took) or n * 4
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
  local case = find(name, { "calls", "small", "nets", "kernels", "files", "operators" })
  local run = case.setup(lucerna)
  if case.brief then run(1) end
  sample(lucerna.clock, run, tonumber(arg[4]), tonumber(arg[5]))
end
