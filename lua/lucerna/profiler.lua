-- lucerna.profiler: which operators run, how long, and how much memory their results take. Regions
-- of the program's own are timed beside them. (torch.profiler)

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local json_text = require "lucerna.json_text"
local region = require "lucerna.region"
local scoped = require "lucerna.scoped"

local profiler = {}
local clock = lucerna.clock

local Profile = { __name = "Profile" }
Profile.__index = Profile

local open = {} -- the profiles that are running, the innermost last

local function check_self(who, self)
  if getmetatable(self) ~= Profile then
    core._fail("Profile.%s: must be called with a colon, prof:%s(...)", who, who)
  end
end

-- ---- recording ----

--- prof:start(): begins, or goes on. Inside another profile it takes over until it stops.
function Profile:start()
  check_self("start", self)
  if self._tape then core._fail("Profile.start: it is running already") end
  self._tape = core._tape(true)
  open[#open + 1] = self
  return self
end

-- Adds what has been noted since the last time.
local function collect(self)
  for _, call in ipairs(self._tape:take()) do
    self._events[#self._events + 1] = {
      name = call.name, begin = call.begin, finish = call.finish, bytes = call.bytes }
  end
end

--- prof:stop(): ends it; its figures stay.
function Profile:stop()
  check_self("stop", self)
  if not self._tape then return self end
  collect(self)
  self._tape:close()
  self._tape = nil
  for i = #open, 1, -1 do
    if open[i] == self then table.remove(open, i) end
  end
  return self
end

Profile.__call = Profile.start
function Profile:__close() self:stop() end

function Profile:__tostring()
  return ("<Profile of %d events%s>"):format(#self._events, self._tape and ", running" or "")
end

--- profile(f, ...): the profile of f(...), then f's results. Without f: a profile that has started,
-- for `local prof <close> = profile()`.
function profiler.profile(f, ...)
  local self = setmetatable({ _events = {} }, Profile)
  if f == nil then return self:start() end
  check.callable("profile", "f", f)
  return self, scoped(function() return self end, f, ...)
end

--- record_function(name, f, ...): f(...), timed as a region of that name in the profile that runs.
-- Without f: the rest of a block, `local _ <close> = record_function(name)`.
function profiler.record_function(name, ...)
  check.string("record_function", "name", name)
  local self, begin = open[#open], nil
  local Region = { __call = function() begin = self and clock() end }
  function Region.__close()
    if not begin then return end
    self._events[#self._events + 1] = {
      name = name, begin = begin, finish = clock(), bytes = 0, region = true }
  end
  return region("record_function", function() return setmetatable({}, Region) end, ...)
end

-- ---- figures ----

-- Events in the order of their beginnings, what encloses before what is in it; `inside` is the time
-- of those directly inside, `depth` how many enclose it.
local function nested(self)
  if self._tape then collect(self) end
  local events = table.move(self._events, 1, #self._events, 1, {})
  local place = {}
  for i, event in ipairs(events) do place[event] = i end
  table.sort(events, function(a, b)
    if a.begin ~= b.begin then return a.begin < b.begin end
    if a.finish ~= b.finish then return a.finish > b.finish end
    return place[a] > place[b] -- noted at its end: the later one encloses
  end)
  local stack = {}
  for _, event in ipairs(events) do
    while #stack > 0 and stack[#stack].finish < event.finish do stack[#stack] = nil end
    event.inside, event.depth = 0, #stack
    local parent = stack[#stack]
    if parent then parent.inside = parent.inside + event.finish - event.begin end
    stack[#stack + 1] = event
  end
  return events
end

--- prof:events(): a list of tables in the order of their beginnings: name, begin and finish
-- (lucerna.clock's seconds), self_time (without the events inside), bytes, depth, region.
function Profile:events()
  check_self("events", self)
  local list = {}
  for i, e in ipairs(nested(self)) do
    list[i] = { name = e.name, begin = e.begin, finish = e.finish, bytes = e.bytes,
      self_time = e.finish - e.begin - e.inside, depth = e.depth, region = e.region or false }
  end
  return list
end

--- prof:key_averages(): events by name, the most expensive first: a list of tables of name, count,
-- self_cpu_time_total, cpu_time_total and cpu_time (the mean) in seconds, and bytes.
function Profile:key_averages()
  check_self("key_averages", self)
  local rows, by_name = {}, {}
  for _, event in ipairs(self:events()) do
    local row = by_name[event.name]
    if not row then
      row = { name = event.name, count = 0, self_cpu_time_total = 0, cpu_time_total = 0, bytes = 0,
        region = event.region }
      by_name[event.name], rows[#rows + 1] = row, row
    end
    row.count = row.count + 1
    row.cpu_time_total = row.cpu_time_total + event.finish - event.begin
    row.self_cpu_time_total = row.self_cpu_time_total + event.self_time
    row.bytes = row.bytes + event.bytes
  end
  for _, row in ipairs(rows) do row.cpu_time = row.cpu_time_total / row.count end
  table.sort(rows, function(a, b)
    if a.self_cpu_time_total ~= b.self_cpu_time_total then
      return a.self_cpu_time_total > b.self_cpu_time_total
    end
    return core._before(a.name, b.name)
  end)
  return rows
end

local function seconds(t)
  if t >= 1 then return ("%.3fs"):format(t) end
  if t >= 1e-3 then return ("%.3fms"):format(t * 1e3) end
  return ("%.3fus"):format(t * 1e6)
end

local function bytes(n)
  if n >= 1 << 30 then return ("%.2f GB"):format(n / (1 << 30)) end
  if n >= 1 << 20 then return ("%.2f MB"):format(n / (1 << 20)) end
  if n >= 1 << 10 then return ("%.2f KB"):format(n / (1 << 10)) end
  return n .. " B"
end

local SORTS = { self_cpu_time_total = true, cpu_time_total = true, cpu_time = true, count = true,
  bytes = true, name = true }

local function sorted(who, rows, by)
  if by == nil then return rows end
  if not SORTS[by] then
    core._fail("%s: sort_by must be one of bytes, count, cpu_time, cpu_time_total, name and "
      .. "self_cpu_time_total (got %s)", who, by)
  end
  table.sort(rows, function(a, b)
    if a[by] == b[by] or by == "name" then return core._before(a.name, b.name) end
    return a[by] > b[by]
  end)
  return rows
end

--- prof:table{sort_by="self_cpu_time_total", row_limit=100}: the figures as text.
function Profile:table(...)
  check_self("table", self)
  local by, limit = arguments("Profile.table", { "sort_by", "row_limit" }, ...)
  if limit ~= nil and (math.type(limit) ~= "integer" or limit < 0) then
    core._fail("Profile.table: row_limit must be an integer of at least 0 (got %s)", limit)
  end
  local rows, total = sorted("Profile.table", self:key_averages(), by), 0
  for _, row in ipairs(rows) do total = total + row.self_cpu_time_total end
  local format = "%-40s %9s %12s %12s %12s %9s %11s"
  local lines = { format:format("Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg",
    "# of Calls", "Bytes") }
  for i = 1, math.min(#rows, limit or 100) do
    local row = rows[i]
    lines[#lines + 1] = format:format(row.name,
      ("%.2f%%"):format(total > 0 and 100 * row.self_cpu_time_total / total or 0),
      seconds(row.self_cpu_time_total), seconds(row.cpu_time_total), seconds(row.cpu_time),
      row.count, bytes(row.bytes))
  end
  lines[#lines + 1] = "Self CPU time total: " .. seconds(total)
  return table.concat(lines, "\n")
end

-- ---- traces ----

--- prof:chrome_trace(): the events as JSON in the format of Chrome's trace viewer and Perfetto.
function Profile:chrome_trace()
  check_self("chrome_trace", self)
  local events, lines = self:events(), {}
  local zero = events[1] and events[1].begin or 0
  local function microseconds(t) return (("%.3f"):format(t * 1e6):gsub("%D+", ".")) end
  for i, e in ipairs(events) do
    lines[i] = ('{"ph":"X","cat":"%s","name":%s,"pid":1,"tid":1,"ts":%s,"dur":%s,'
      .. '"args":{"bytes":%d}}'):format(e.region and "user_annotation" or "cpu_op",
      json_text(e.name), microseconds(e.begin - zero), microseconds(e.finish - e.begin), e.bytes)
  end
  return '{"displayTimeUnit":"ms","traceEvents":[\n' .. table.concat(lines, ",\n") .. "\n]}\n"
end

--- prof:export_chrome_trace(path): writes chrome_trace() to a file.
function Profile:export_chrome_trace(path)
  check_self("export_chrome_trace", self)
  check.string("Profile.export_chrome_trace", "path", path)
  if not io then core._fail("Profile.export_chrome_trace: needs io; see prof:chrome_trace()") end
  local file, message = io.open(path, "w")
  if not file then core._fail("Profile.export_chrome_trace: %s", message) end
  local ok, why = file:write(self:chrome_trace())
  if not file:close() or not ok then
    core._fail("Profile.export_chrome_trace: %s", why or path .. ": cannot be written")
  end
end

profiler.Profile = Profile
return profiler
