-- Runs every suite and prints one line for each and one sum at the end: "N passed, N failed".
-- Plain: each suite once, then short forms of the runs that are there to make things fail.
-- With --all nothing is shortened. Output of a suite goes to build/log/ and is shown if it failed;
-- what failed is told once more before the sum, where the end of a long output still shows it.

local all = arg[1] == "--all"
local failed_suites = false
local passed_sum, failed_sum = 0, 0
local told = {} -- lines of what failed

local function exists(path)
  local f = io.open(path)
  if f then f:close() end
  return f ~= nil
end

local function read(path)
  local f = assert(io.open(path))
  local text = f:read("a")
  f:close()
  return text
end

local function clock()
  local p = assert(io.popen("date +%s.%N"))
  local now = tonumber(p:read("l"))
  p:close()
  return now
end

-- Programs of ctest print "N passed, N failed"; one that crashed prints nothing and counts as one.
local function count_ctest(text)
  local passed, failed = 0, 0
  for p, f in text:gmatch("(%d+) passed, (%d+) failed") do
    passed, failed = passed + p, failed + f
  end
  local broken = tonumber(text:match("(%d+) tests? failed out of") or 0)
  return passed, math.max(failed, broken)
end

-- Of every spec, which begins with its name; one that does not end with its sum has crashed.
local function count_busted(text)
  local passed, failed, specs = 0, 0, 0
  for s, f, e in text:gmatch("(%d+) success%a* / (%d+) failure%a* / (%d+) error") do
    passed, failed, specs = passed + s, failed + f + e, specs + 1
  end
  local _, begun = text:gsub("%f[^\n\0]== tests/lua/", "")
  return passed, failed + math.max(begun - specs, begun == 0 and 1 or 0)
end

-- How a failure begins: busted's, the C tests' and the sanitizers'. It ends with an empty line.
local FAILURES = {"^Failure ", "^Error ", ": failed: ", "not ok: ", "Sanitizer: ",
  ": runtime error: "}

local function is_failure(line)
  for _, pattern in ipairs(FAILURES) do
    if line:find(pattern) then return true end
  end
end

-- Adds to what is told in the end: each failure's first lines.
local function tell(name, text)
  local left = 0
  for line in text:gmatch "[^\n]*" do
    if is_failure(line) then left = 8 end
    if line == "" then left = 0 end
    if left > 0 and #told < 60 then told[#told + 1] = name .. ": " .. line:sub(1, 300) end
    left = left - 1
  end
end

-- Where a suite's output goes.
local function log_of(name) return "build/log/" .. name:gsub("%W+", "_") end

-- Runs a command; what it says and whether it succeeded decide the counts.
local function suite(name, command, count)
  os.execute("mkdir -p build/log")
  local log = log_of(name) .. ".log"
  local begin = clock()
  local ok = os.execute(command .. " >" .. log .. " 2>&1 </dev/null")
  local text = read(log)
  local passed, failed = count(text)
  if not ok and failed == 0 then failed = 1 end
  if failed > 0 then
    failed_suites = true
    io.write(text, "\n")
    tell(name, text)
  end
  passed_sum, failed_sum = passed_sum + passed, failed_sum + failed
  io.write(("%-4s %-44s %5d passed %5d failed %7.1f s\n"):format(
    failed > 0 and "FAIL" or "ok", name, passed, failed, clock() - begin))
  io.flush()
end

-- The environment a suite runs in: where its modules are, and whether it should be short.
local function environment(build, short)
  local root = assert(os.getenv("PWD"))
  local env = {
    ("LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua;%s/tests/lua/?.lua;;'"):format(root, root, root),
    ("LUA_CPATH='%s/%s/?.so;;'"):format(root, build),
    ("LUCERNA_ROOT='%s' LUCERNA_BUILD='%s/%s'"):format(root, root, build),
    "UBSAN_OPTIONS=print_stacktrace=1",
    -- no use-after-return checks: their stack frames are not aligned for AVX-512 vectors
    "ASAN_OPTIONS=detect_stack_use_after_return=0:allocator_may_return_null=1",
    -- A cache's blocks are linked through memory that is marked as freed: after os.exit, which
    -- closes nothing, they were leaks unless something old still named them.
    "LSAN_OPTIONS=use_poisoned=1:suppressions=" .. root .. "/tests/lsan.supp:print_suppressions=0",
  }
  if short then env[#env + 1] = "LUCERNA_TEST_SHORT=1" end
  if all then env[#env + 1] = "LUCERNA_SEED=" .. os.time() end
  return "env -u LUA_PATH_5_4 -u LUA_CPATH_5_4 " .. table.concat(env, " ") .. " "
end

local function ctest(name, build, short)
  local env = environment(build, short)
  suite(name, env .. "ctest --test-dir " .. build .. " -V -j $(nproc)", count_ctest)
end

-- #long is what does again, many times over, what is done before it: it runs with --all alone.
-- What mostly computes, and takes half of the time, is left out of the slow runs' short forms, with
-- what is #slow: it runs as it is, and by the C tests with sanitizers.
local COMPUTE = "/(attention|complex|dot|functional|half|linalg|models|order|property|recorded"
  .. "|summary|threads|vmap|windows|winograd)_spec"

-- Specs run in a process each, as many at once as there are processors. which: a shell pattern of
-- their names, of all if nil; settings: more of the environment.
local function busted(name, build, interpreter, options, short, which, settings)
  local exclude = short and "--exclude-tags=slow,long" or all and "" or "--exclude-tags=long"
  local run = ("%s /usr/bin/busted --ignore-lua --cpath=./%s/?.so --output=plainTerminal %s %s"):
    format(interpreter, build, exclude, options)
  local each = ('f=%s/$(basename "$0").log; echo "== $0" >$f; %s "$0" >>$f 2>&1'):format(
    log_of(name), run)
  local folder = log_of(name)
  local list = "ls tests/lua/*_spec.lua | grep " .. (which and "-E '" .. which .. "'"
    or short and "-vE '" .. COMPUTE .. "'" or ".")
  local env = environment(build, short) .. "LUCERNA_LUA=" .. interpreter .. " " .. (settings or "")
  suite(name, ("(rm -rf %s; mkdir -p %s; %s | %s xargs -P $(nproc) -n 1 "
    .. "sh -c '%s'; status=$?; cat %s/*.log; exit $status)"):format(folder, folder, list, env, each,
    folder), count_busted)
end

local function runner(build)
  return ("%s/%s/tests/lua_runner"):format(assert(os.getenv("PWD")), build)
end

local asan = runner "build/asan"
local constant_gc = "--helper=tests/lua/constant_gc.lua"
if exists("build/CTestTestfile.cmake") then ctest("C core", "build", not all) end
if exists("build/lucerna/core.so") then
  busted("Lua", "build", "lua5.4", "", false)
  local kernels = all and "."
    or "/(recorded|conv_norm|layers|functional|windows|rnn|attention|winograd|half|pairs)_spec"
  for _, isa in ipairs { "avx2", "base" } do
    busted("Lua, kernels for " .. isa, "build", "lua5.4", "", not all, kernels,
      "LUCERNA_ISA=" .. isa)
  end
  busted("Lua, without tiles", "build", "lua5.4", "", not all, "/pairs_spec", "LUCERNA_ISA=avx512")
  busted("Lua, constant garbage collection", "build", "lua5.4", constant_gc, not all)
end
if exists("build/asan/CTestTestfile.cmake") then
  ctest("C core, ASan and UBSan", "build/asan", not all)
end
if exists("build/asan/lucerna/core.so") then
  busted("Lua, ASan and UBSan", "build/asan", asan, "", not all)
  if all then busted("Lua, ASan, constant gc", "build/asan", asan, constant_gc, false) end
end
if all and exists("build/tsan/lucerna/core.so") then
  local shared = "/(attention|conv_norm|dot|half|index|linalg|order|reductions|rnn|threads"
    .. "|winograd)_spec"
  busted("Lua, TSan", "build/tsan", runner "build/tsan", "--exclude-tags=slow", false, shared)
end

for _, line in ipairs(told) do io.write(line, "\n") end
io.write(("%d passed, %d failed\n"):format(passed_sum, failed_sum))
os.exit(not failed_suites and passed_sum > 0)
