-- A progress bar for loops: rate, time left, and whatever the loop wants to show. It draws on
-- stderr, at most ten times a second, and is silent when stderr is no terminal.

local lucerna = require "lucerna"
local core = require "lucerna.core"

local Progress = {}
Progress.__index = Progress

local function seconds(s)
  if s ~= s or s == math.huge then return "--:--" end
  s = math.floor(s + 0.5)
  if s >= 3600 then return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60) end
  return ("%02d:%02d"):format(s // 60, s % 60)
end

local function bar(fraction, width)
  local full = math.floor(fraction * width)
  return ("█"):rep(full) .. ("░"):rep(width - full)
end

local function rate_text(rate)
  if rate >= 1000 then return ("%.1fk/s"):format(rate / 1000) end
  return (rate >= 10 and "%.0f/s" or "%.2f/s"):format(rate)
end

--- The line as it stands: "label  42 % ███░░░ 391/938 210/s 00:03 left  loss 0.123".
function Progress:line()
  local elapsed = math.max(lucerna.clock() - self.started, 1e-9)
  local rate = self.count / elapsed
  local parts = {}
  if self.label then parts[#parts + 1] = self.label end
  if self.total then
    local fraction = self.total > 0 and math.min(self.count / self.total, 1) or 1
    parts[#parts + 1] = ("%3d %% %s %d/%d"):format(math.floor(100 * fraction), bar(fraction, 20),
      self.count, self.total)
    parts[#parts + 1] = rate_text(rate)
    parts[#parts + 1] = seconds((self.total - self.count) / rate) .. " left"
  else
    parts[#parts + 1] = ("%d"):format(self.count)
    parts[#parts + 1] = rate_text(rate)
    parts[#parts + 1] = seconds(elapsed)
  end
  if self.status then parts[#parts + 1] = self.status end
  return table.concat(parts, "  ")
end

local function draw(self)
  self.stream:write("\r\27[2K", self:line())
  self.stream:flush()
end

--- Counts n more (1 by default); `status` is shown at the end of the line.
function Progress:update(n, status)
  self.count = self.count + (n or 1)
  if status ~= nil then self.status = status end
  if not self.shown then return end
  local now = lucerna.clock()
  if now - self.drawn < 0.1 then return end
  self.drawn = now
  draw(self)
end

--- Clears the line. Also called when a `<close>` variable that holds the bar goes out of scope.
function Progress:close()
  if self.shown then
    self.stream:write("\r\27[2K")
    self.stream:flush()
  end
  self.shown = false
end

Progress.__close = Progress.close

-- `for x, y in progress(loader) do`: passes through what the wrapped iterator gives.
function Progress:__call(_, control)
  if control ~= nil then self:update(1) end
  local results = table.pack(self.iterate(nil, control))
  if results[1] == nil then self:close() end
  return table.unpack(results, 1, results.n)
end

--- progress(what, {label = ""}): a bar for so many steps, or around an iterator, as a DataLoader:
--   local bar <close> = progress(#loader, {label = "epoch 1"});  bar:update(1, "loss 0.12")
--   for x, y in progress(loader) do … end
-- Options: label, stream (stderr), shown (whether the stream is a terminal). A host without io has
-- no stderr: nothing is shown there but in a stream of its own, which needs write and flush.
return function(what, options)
  options = options or {}
  local self = {count = 0, drawn = 0, started = lucerna.clock(), label = options.label}
  setmetatable(self, Progress)
  self.stream = options.stream or io and io.stderr
  self.shown = options.shown
  if self.shown == nil then self.shown = io ~= nil and not options.stream and core._isatty(2) end
  if self.shown and not self.stream then core._fail("progress: needs io, or a stream to show") end
  if math.type(what) == "integer" then
    self.total = what
  elseif what ~= nil then
    self.iterate = what
    local ok, n = pcall(function() return #what end)
    self.total = ok and n or options.total
  end
  return self
end
