-- `make bench`: every benchmark of ours beside PyTorch's, in turn, in one run: a table of minima
-- and medians, and build/bench.json. PyTorch is one process that serves (importing it takes
-- seconds), ours a fresh one for each round. run.lua FILTER runs those whose name contains it, or
-- the file of that name; those of operators.lua, only when asked for: FILTER=operators, or a family
-- of them as operators:images. ROUNDS says how often each is measured (default 5).

local lucerna = require "lucerna"
local clock = lucerna.clock
local filter = arg[1]
local ROUNDS = tonumber(os.getenv("ROUNDS"))
local SCALE = { ns = 1e9, us = 1e6, ms = 1e3, s = 1 }

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function find_python()
  for _, python in ipairs { os.getenv("PYTHON") or "python3", "/usr/bin/python3" } do
    if os.execute(python .. " -c 'import torch' >/dev/null 2>&1") then return python end
  end
end

local function output_of(command)
  local p = assert(io.popen(command))
  local text = p:read("a")
  assert(p:close(), "failed: " .. command)
  return text
end

local function numbers(text)
  local out = {}
  for word in text:gmatch("%S+") do out[#out + 1] = assert(tonumber(word), word) end
  return out
end

local function append(list, more)
  for _, v in ipairs(more) do list[#list + 1] = v end
end

local function summary(samples, scale)
  if #samples == 0 then return nil end
  table.sort(samples)
  return { min = samples[1] * scale, median = samples[(#samples + 1) // 2] * scale }
end

-- The commands of both sides, whose OpenBLAS takes the same kernels. The collector of the child is
-- what the stock program runs; OpenMP's threads are torch's business.
local python, core = find_python(), os.getenv("OPENBLAS_CORETYPE")
if python and not core then
  core = output_of(python .. " tests/bench/peer.py coretype"):match("%S+")
end
local told = core and "OPENBLAS_CORETYPE=" .. quote(core) .. " " or ""
local OURS = "env " .. told .. "lua5.4 tests/bench/ours.lua"
python = python and told .. python

-- The processors there are for us. Each keeps a pace of its own on a shared machine, so a lone
-- thread of either side runs on the same one, each in its turn.
local function processors()
  local out, list = {}, ""
  for line in io.lines("/proc/self/status") do
    list = line:match("^Cpus_allowed_list:%s*(.*)") or list
  end
  for first, last in list:gmatch("(%d+)%-?(%d*)") do
    for i = tonumber(first), tonumber(last) or tonumber(first) do out[#out + 1] = i end
  end
  return out
end
local all = processors()

local function processors_for(threads, round)
  return threads > 1 and table.concat(all, ",") or tostring(all[round % #all + 1])
end

-- PyTorch as a server: requests through a pipe, answers through a fifo.
local peer = {}

function peer.ask(name, threads, samples, least, on)
  if not python then return {} end
  if not peer.pipe then
    os.execute("mkdir -p build && rm -f build/bench.fifo && mkfifo build/bench.fifo")
    peer.pipe = assert(io.popen(python .. " tests/bench/peer.py serve build/bench.fifo", "w"))
    peer.pipe:setvbuf("line")
    peer.answers = assert(io.open("build/bench.fifo"))
  end
  peer.pipe:write(("%s|%d|%d|%g|%s\n"):format(name, threads, samples, least, on))
  return numbers(assert(peer.answers:read("l"), "the peer died at: " .. name))
end

function peer.close()
  if not peer.pipe then return end
  peer.pipe:close()
  peer.answers:close()
  os.remove("build/bench.fifo")
end

-- PyTorch's threads spin after a call, OpenBLAS's for 100 ms: with several, ours begins when they
-- rest.
-- A case that comes out under what is wanted is measured up to ten times (a brief one five), so
-- that the list of the slower ones is not one of interruptions.
local function measure_timed(case, threads)
  local ours, theirs, shares, alone = {}, {}, {}, {}
  local samples, least = 5, case.brief and 0.004 or 0.02
  local function under()
    local min = math.min(table.unpack(ours))
    return threads > 1 and math.min(table.unpack(alone)) < (case.scales or 0) * min
      or theirs[1] and math.min(table.unpack(theirs)) < (case.ratio or 1) * min
  end
  local round, rounds, most = 0, ROUNDS or case.brief and 1 or 5, case.brief and 5 or 10
  while round < rounds or round < most and under() do
    round = round + 1
    local on = processors_for(threads, round)
    append(theirs, peer.ask(case.name, threads, samples, least, on))
    local lines = output_of(("%staskset -c %s %s time %s %d %d %g"):format(
      threads > 1 and "sleep 0.15; " or "", on, OURS, quote(case.name), threads, samples, least))
    for line in lines:gmatch("[^\n]+") do
      local sample = numbers(line)
      ours[#ours + 1] = sample[1]
      alone[#alone + 1] = sample[2]
      shares[#shares + 1] = sample[3] and sample[3] / sample[1]
    end
  end
  return ours, theirs, SCALE[case.unit], shares, threads > 1 and alone
end

local function measure_process(case)
  local function once(command)
    local begin = clock()
    local printed = output_of(command .. " process " .. quote(case.name))
    return case.measure == "wall" and clock() - begin or tonumber(printed)
  end
  local ours, theirs = {}, {}
  local slow = case.unit == "x"
  for _ = 1, slow and 1 or 10 do ours[#ours + 1] = once(OURS) end
  if python then
    for _ = 1, slow and 1 or 2 do theirs[#theirs + 1] = once(python .. " tests/bench/peer.py") end
  end
  return ours, theirs, case.measure == "wall" and SCALE[case.unit] or 1
end

local function verdict(case, ours, ratio, gain)
  local words = {}
  if gain then
    local under = gain < (case.scales or 0)
    words[1] = ("%.2f times 1 thread%s"):format(gain, under and ", UNDER " .. case.scales or "")
  end
  if case.bound then
    local word = ours.min <= case.bound and "within" or "OVER"
    words[#words + 1] = ("%s %.4g"):format(word, case.bound)
  end
  if case.ratio and ratio then
    words[#words + 1] = ("%s%.4gx"):format(ratio >= case.ratio and "" or "UNDER ", case.ratio)
  end
  return table.concat(words, ", ")
end

-- The work done each second, in 10^9 flops or bytes, and as a share of what the machine does beside
-- it: multiply-adds in registers, or a copy; in the middle of the turns.
local function rate(case, seconds, shares)
  if not (case.flops or case.bytes) then return "" end
  local giga = (case.flops or case.bytes) / seconds / 1e9
  local unit = case.flops and "GF" or "GB"
  return ("%.0f %s %3.0f%%"):format(giga, unit, summary(shares, 100).median), giga
end

local function cell(value) return value and ("%.4g"):format(value) or "-" end

local ROW = "%-62s %2s %-3s %9s %9s %9s %9s %6s %12s  %s"
local json, compared = {}, {}

local function report(case, threads, ours, theirs, scale, shares, alone)
  ours, theirs = summary(ours, scale), summary(theirs, scale)
  local ratio = theirs and theirs.min / ours.min
  local gain = alone and summary(alone, scale).min / ours.min
  local share, giga = rate(case, ours.min / scale, shares)
  local line = ROW:format(case.name, threads, case.unit, cell(theirs and theirs.min),
    cell(theirs and theirs.median), cell(ours.min), cell(ours.median), cell(ratio), share,
    verdict(case, ours, ratio, gain))
  print(line)
  io.stdout:flush()
  if ratio then compared[#compared + 1] = { line = line, ratio = ratio } end
  json[#json + 1] = ('{"name":%q,"threads":%d,"unit":%q,"ours":[%.6g,%.6g],"peer":%s,'
    .. '"giga_per_second":%s,"times_one_thread":%s,"bound":%s,"ratio":%s}'):format(
    case.name, threads, case.unit, ours.min, ours.median,
    theirs and ("[%.6g,%.6g]"):format(theirs.min, theirs.median) or "null",
    giga and ("%.6g"):format(giga) or "null", gain and ("%.4g"):format(gain) or "null",
    case.bound or "null", case.ratio or "null")
end

-- What PyTorch is faster at, the worst first.
local function report_slower()
  table.sort(compared, function(a, b) return a.ratio < b.ratio end)
  local slower = 0
  while compared[slower + 1] and compared[slower + 1].ratio < 1 do slower = slower + 1 end
  print(("\n%d of %d slower than PyTorch%s"):format(slower, #compared, slower > 0 and ":" or ""))
  for i = 1, slower do print(compared[i].line) end
end

local function wanted(case, file)
  if not filter then return file ~= "operators" end
  return file == filter or filter == file .. ":" .. tostring(case.family)
    or case.name:find(filter, 1, true)
end

dofile("tests/bench/program.lua")("peak", "-lpthread") -- ours.lua runs it, too
print(python
  and ("peer: PyTorch %s%s\n"):format(
    output_of(python .. " -c 'import torch; print(torch.__version__)'"):match("%S+"),
    core and "; OpenBLAS's kernels, on both sides: " .. core or "")
  or "no peer: python3-torch is not installed\n")
print(ROW:format("minimum and median; T: threads", "T", "", "peer", "", "ours", "", "ratio",
  "work/s", "wanted"))
for _, file in ipairs { "process", "calls", "small", "nets", "kernels", "files", "operators" } do
  for _, case in ipairs(dofile("tests/bench/" .. file .. ".lua")) do
    for _, threads in ipairs(wanted(case, file) and (case.threads or { 1 }) or {}) do
      local measure = file == "process" and measure_process or measure_timed
      report(case, threads, measure(case, threads))
    end
  end
end
peer.close()
report_slower()
os.remove("build/bench.safetensors")
local f = assert(io.open("build/bench.json", "w"))
f:write("[\n", table.concat(json, ",\n"), "\n]\n")
f:close()
