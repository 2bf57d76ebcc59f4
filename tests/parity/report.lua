-- What of PyTorch is covered: for every group of names.lua, how many of PyTorch's names are here
-- with a recorded case, and which are not here. `make parity-report` prints it; it fails for a name
-- that is here and has no case. Cases are found in data/*.lua, so nothing is listed twice.

local parity = require "parity"
local lucerna = require "lucerna"
local repl = require "lucerna.repl"

local report = {}

local root = os.getenv("LUCERNA_ROOT") or "."

--- The names of the data files.
function report.data_files()
  local files = {}
  local listing = assert(io.popen(("ls '%s/tests/parity/data'"):format(root)))
  for line in listing:lines() do files[#files + 1] = line:match("^(.*)%.lua$") end
  listing:close()
  return files
end

-- Where a case says what it calls: an operator, a program, a class.
local TELLING = {"fn", "lua", "make", "call", "kind", "class"}

-- Counts the words of a case, each once; a recorded error is no answer.
local function count_case(words, case)
  local seen = {}
  for _, key in ipairs(TELLING) do
    local text = type(case[key]) == "string" and case[key] or ""
    for word in text:gmatch("[%a_][%w_]*") do
      if not seen[word] then words[word] = (words[word] or 0) + 1 end
      seen[word] = true
    end
  end
end

--- Counts the cases below a value, into words.
local function collect(words, value)
  if value.error then return end
  count_case(words, value)
  for _, v in pairs(value) do
    if type(v) == "table" then collect(words, v) end
  end
end

-- The words in the cases of a file with their number, also the names of its parts.
local words_of = setmetatable({}, {__index = function(cache, file)
  local words, cases = {}, parity.load(file)
  for key in pairs(cases) do
    if type(key) == "string" then words[key] = #cases[key] end
  end
  collect(words, cases)
  cache[file] = words
  return words
end})

local function matches(file, patterns)
  for _, pattern in ipairs(patterns) do
    if file:find(pattern) then return true end
  end
  return false
end

local function recorded_in(group)
  local words = {}
  for _, file in ipairs(report.data_files()) do
    if matches(file, group.files) then
      for word, n in pairs(words_of[file]) do words[word] = (words[word] or 0) + n end
    end
  end
  return words
end

local function set_of(text)
  local set = {}
  for word in (text or ""):gmatch("%S+") do set[word] = true end
  return set
end

-- What is at a place: nn.utils.rnn. At "" are functions of lucerna, and methods, fields and
-- metamethods of tensors. A submodule that is not there yet is empty.
local function table_at(place)
  if place == "" then
    local meta = debug.getmetatable(lucerna.zeros(1))
    return setmetatable({}, {__index = function(_, name)
      local value = lucerna[name]
      if value == nil or type(value) == "table" then value = lucerna.Tensor[name] end
      if value == nil then value = meta[name] end
      return value
    end})
  end
  local t = lucerna
  for key in place:gmatch("[^.]+") do t = t[key] or {} end
  return t
end

-- The public names at a place, without its submodules; none at "", which several groups share.
local function public_names(place)
  if place == "" then return {} end
  local names, t = {}, table_at(place)
  for name in pairs(repl.keys(t)) do
    local submodule = package.loaded["lucerna." .. place .. "." .. name] ~= nil
      or package.searchpath("lucerna." .. place .. "." .. name, package.path) ~= nil
    if not name:find("^_") and not submodule then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

report.collect = collect

--- One group counted: {title, total, covered, cases, once = {names with one case}, lacking = {names
-- that are not here}, absent = {names that stay away, with the reason}, faults}.
function report.count(group)
  local here, ours = table_at(group.place), set_of(group.ours)
  local words, theirs = recorded_in(group), set_of(group.names)
  local spelled, absent = group.spelled or {}, group.absent or {}
  local result = {title = group.title, total = 0, covered = 0, cases = 0, once = {}, lacking = {},
    absent = {}, faults = {}}
  local function fault(text, ...) table.insert(result.faults, text:format(...)) end
  for name in group.names:gmatch("%S+") do
    local excuse = group.unrecorded and group.unrecorded[name]
    local known = words[group.cases and group.cases[name] or name]
    result.total = result.total + 1
    local present = here[spelled[name] or name] ~= nil
    if absent[name] then
      table.insert(result.absent, ("%s (%s)"):format(name, absent[name]))
      if present then fault("%s is here: no reason for its absence needed", name) end
    elseif not present then
      table.insert(result.lacking, name)
    elseif known or excuse then
      result.covered, result.cases = result.covered + 1, result.cases + (known or 0)
      if known == 1 then table.insert(result.once, name) end
    else
      local full = (group.place .. "." .. name):gsub("^%.", "")
      fault("%s has no recorded case: add one to a generator in tests/parity whose data file "
        .. "matches %s", full, table.concat(group.files, " or "))
    end
    if known and excuse then fault("%s.%s is recorded: no excuse needed", group.place, name) end
  end
  for _, name in ipairs(public_names(group.place)) do
    if not theirs[name] and not ours[name] then
      fault("%s.%s is not in tests/parity/names.lua or tensor_names.lua: add it to `names` "
        .. "(PyTorch has it) or `ours`",
        group.place, name)
    end
  end
  return result
end

--- All groups, counted.
function report.all()
  local results = {}
  for _, list in ipairs {"names", "tensor_names"} do
    for _, group in ipairs(dofile(("%s/tests/parity/%s.lua"):format(root, list))) do
      results[#results + 1] = report.count(group)
    end
  end
  return results
end

--- Prints the report; true if nothing is at fault.
function report.print()
  local sum, faults = {covered = 0, total = 0, cases = 0}, {}
  local function line(title, counts)
    print(("%-34s %3d / %3d   %4d cases"):format(title, counts.covered, counts.total,
      counts.cases))
  end
  for _, group in ipairs(report.all()) do
    for key, n in pairs(sum) do sum[key] = n + group[key] end
    line(group.title, group)
    if #group.lacking > 0 then print("    not here: " .. table.concat(group.lacking, " ")) end
    if #group.absent > 0 then print("    none in Lua: " .. table.concat(group.absent, ", ")) end
    if #group.once > 0 then print("    one case: " .. table.concat(group.once, " ")) end
    table.move(group.faults, 1, #group.faults, #faults + 1, faults)
  end
  line("all", sum)
  for _, fault in ipairs(faults) do print(fault) end
  return #faults == 0
end

if arg and arg[0] and arg[0]:find("report.lua", 1, true) then os.exit(report.print()) end
return report
