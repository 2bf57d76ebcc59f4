-- The progress bar: silent where nobody looks, a line of known text where somebody does.
local lucerna = require "lucerna"
local progress = require "lucerna.progress"

-- A stream that collects what is written to it.
local function stream()
  local out = {text = ""}
  function out:write(...) self.text = self.text .. table.concat {...} end
  function out:flush() self.flushed = true end
  return out
end

-- What a bar shows so many seconds after its start.
local function line_at(bar, seconds)
  local clock = lucerna.clock
  lucerna.clock = function() return bar.started + seconds end
  local ok, text = pcall(bar.line, bar)
  lucerna.clock = clock
  assert(ok, text)
  return text
end

describe("a progress bar", function()
  it("says nothing when its stream is no terminal", function()
    local out = stream()
    local bar = progress(3, {stream = out})
    bar:update(1, "loss 1")
    bar:close()
    assert.equal("", out.text)
  end)

  it("draws over its line and clears it at the end", function()
    local out = stream()
    local bar = progress(4, {stream = out, shown = true, label = "epoch 1"})
    bar:update(1, "loss 0.5")
    assert.matches("^\r\27%[2Kepoch 1   25 %% █████[░]+ 1/4  .*left  loss 0.5$", out.text)
    bar:close()
    assert.matches("\r\27%[2K$", out.text)
    local length = #out.text
    bar:close()
    assert.equal(length, #out.text)
  end)

  it("draws at most ten times a second", function()
    local out = stream()
    local bar = progress(1000, {stream = out, shown = true})
    for _ = 1, 100 do bar:update() end
    local _, drawn = out.text:gsub("\r", "")
    assert.is_true(drawn < 10)
    assert.equal(100, bar.count)
  end)

  it("tells share, rate and time left", function()
    local bar = progress(938, {label = "epoch 2"})
    bar.count = 469
    assert.matches("^epoch 2   50 %% ██████████░░░░░░░░░░ 469/938  47/s  00:10 left$",
      line_at(bar, 10))
    bar.count = 938
    assert.matches("^epoch 2  100 %% ████████████████████ 938/938  94/s  00:00 left$",
      line_at(bar, 10))
    bar = progress(100000)
    bar.count = 20
    assert.matches("  0 %% ░.* 20/100000  2.00/s  13:53:10 left$", line_at(bar, 10))
    bar.count = 50000
    assert.matches("5.0k/s", line_at(bar, 10))
  end)

  it("tells count, rate and time gone when the total is not known", function()
    local bar = progress()
    bar.count = 325
    assert.matches("^325  5.00/s  01:05$", line_at(bar, 65))
  end)

  it("copes with nothing to do", function()
    assert.matches("100 %%.* 0/0", progress(0):line())
  end)

  it("counts what an iterator gives and passes it on", function()
    local out = stream()
    local loader = lucerna.data.DataLoader {{1, 2, 3, 4, 5}, batch_size = 2}
    local bar = progress(loader, {stream = out, shown = true})
    assert.equal(3, bar.total)
    local seen = {}
    for x in bar do seen[#seen + 1] = x:tolist() end
    assert.same({{1, 2}, {3, 4}, {5}}, seen)
    assert.equal(3, bar.count)
    assert.matches("\r\27%[2K$", out.text)
  end)

  it("closes with its block, also when that raises", function()
    local out = stream()
    pcall(function()
      local bar <close> = progress(4, {stream = out, shown = true})
      bar:update()
      error "stop"
    end)
    assert.matches("\r\27%[2K$", out.text)
  end)
end)
