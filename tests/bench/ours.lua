-- One process of ours: `ours.lua time NAME THREADS SAMPLES SECONDS` prints seconds per repetition,
-- one sample a line that takes SECONDS at least, and beside them, measured in turn, those of one
-- thread and, of a case that has `bytes`, those of a copy of as many, or `flops`, those of as many
-- multiply-adds in registers (bench_peak); `ours.lua process NAME` is the body of a fresh process
-- and prints its result.

local function find(name, files)
  for _, file in ipairs(files) do
    for _, case in ipairs(dofile("tests/bench/" .. file .. ".lua")) do
      if case.name == name then return case end
    end
  end
  error("no benchmark is called " .. name)
end

-- What registers allow, in seconds.
local function multiply_adds(flops, threads)
  local program = io.popen("build/bench_peak" .. (threads > 1 and " 2" or ""))
  local giga = program:read("n")
  program:close()
  return flops / (giga * 1e9)
end

-- What memory allows: so many bytes copied, half of them read and half written, by the C library's
-- memcpy in as many threads.
local function copies(lucerna, bytes)
  local size = math.floor(bytes / 8)
  local from, to = lucerna.zeros(size), lucerna.zeros(size)
  return function(n)
    for _ = 1, n do to:copy_(from) end
  end
end

-- A function that gives the seconds of a repetition, of as many as take `least`.
local function timed(clock, run, least)
  local n = 1
  local function once()
    local begin = clock()
    run(n)
    return clock() - begin
  end
  while true do
    local took = once()
    if took > least then break end
    n = took > 0.001 and math.ceil(n * least * 1.25 / took) or n * 4
  end
  return function() return once() / n end
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
  local samples, least, clock = tonumber(arg[4]), tonumber(arg[5]), lucerna.clock
  local ours = timed(clock, run, least)
  local copy = case.bytes and timed(clock, copies(lucerna, case.bytes), least)
  for _ = 1, samples do
    local took, alone = ours(), nil
    if threads > 1 then
      lucerna.set_num_threads(1)
      alone = ours()
      lucerna.set_num_threads(threads)
    end
    print(took, alone or took,
      copy and copy() or case.flops and multiply_adds(case.flops, threads) or "")
  end
end
