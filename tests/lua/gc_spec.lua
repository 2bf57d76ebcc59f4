-- Memory and the collector: large temporaries do not pile up, whatever the collector's mode, and
-- the host's settings are left alone.
local lucerna = require "lucerna"
local parity = require "parity"
local files = require "files"
local lua = os.getenv "LUCERNA_LUA" or "lua5.4"

-- Peak bytes of half of the steps (in generational mode it takes a hundred to meet each kind of
-- cycle) and of all of them, over what other specs hold; a step makes ten temporaries of 1 MB.
local function peaks(steps)
  collectgarbage()
  collectgarbage()
  lucerna.trim_memory()
  local before = lucerna.memory().live
  local early, peak = 0, 0
  for i = 1, steps do
    local x = lucerna.empty(256, 1024)
    for _ = 1, 9 do x = x + 1 end
    local memory = lucerna.memory()
    peak = math.max(peak, memory.live + memory.cached - before)
    if i == steps // 2 then early = peak end
  end
  return early, peak
end

-- Most bytes in use, over what was before, while many calls leave small results; the first of them
-- bring the pace of collecting down to what lives now.
local function peak_of_small(calls)
  collectgarbage()
  collectgarbage()
  local x, before, peak = lucerna.ones(32), lucerna.memory().live, 0
  for i = 1, calls do
    local _ = x + 1
    if i > calls // 3 then peak = math.max(peak, lucerna.memory().live - before) end
  end
  return peak
end

local function host_heap()
  local keep = {}
  for i = 1, 200000 do keep[i] = { i } end
  return keep
end

-- Lua's own settings of a mode; tests/lua/constant_gc.lua has others.
local STOCK = { generational = { 20, 100 }, incremental = { 200, 100, 13 } }

local function in_mode(mode, f, ...)
  local previous = collectgarbage(mode, table.unpack(STOCK[mode]))
  local results = table.pack(f(...))
  collectgarbage(previous)
  return table.unpack(results, 1, results.n)
end

describe("large temporaries", function()
  for _, mode in ipairs { "generational", "incremental" } do
    it("do not pile up in " .. mode .. " mode #slow", function()
      local early, late = in_mode(mode, peaks, 400)
      assert.is_true(late <= 1.3 * early, ("%d, then %d bytes"):format(early, late))
      -- the pace of collecting grows with the host's own heap
      local most = 40 * 2 ^ 20 + 1024 * collectgarbage("count")
      assert.is_true(late < most, ("%d of %d bytes"):format(late, most))
    end)

    it("do not pile up in " .. mode .. " mode beside a large heap #slow", function()
      local keep = host_heap()
      local early, late = in_mode(mode, peaks, 500)
      assert.is_true(late <= 1.3 * early, ("%d, then %d bytes"):format(early, late))
      assert.equal(200000, #keep)
    end)
  end

  for _, mode in ipairs { "generational", "incremental" } do
    it("may be small and many in " .. mode .. " mode #slow", function()
      local peak = in_mode(mode, peak_of_small, 300000)
      assert.is_true(peak < 8 * 2 ^ 20 + 1024 * collectgarbage("count"), tostring(peak))
    end)
  end

  for _, mode in ipairs { "generational", "incremental" } do
    it("that are kept take few cycles in " .. mode .. " mode", function()
      local cycles, kept = 0, {}
      local function count()
        cycles = cycles + 1
        setmetatable({}, { __gc = count })
      end
      in_mode(mode, function()
        count()
        for i = 1, 50000 do kept[i] = lucerna.empty(3) end
      end)
      assert.equal(50000, #kept)
      assert.is_true(cycles < 30, cycles)
    end)
  end

  -- In a process of its own, for cycles are quick in a small heap only. A table that has grown old
  -- goes with a full collection.
  it("beside a few results kept for a while take few full collections", function()
    local path = files.with(("package.path, package.cpath = %q, %q\n"):format(package.path,
      package.cpath) .. [[
      local lucerna = require "lucerna"
      collectgarbage("generational", 20, 100)
      local fulls, weak, held, drop_at = 0, setmetatable({}, { __mode = "v" }), {}, nil
      local function look(i)
        if weak[1] then
          if i == drop_at then held[1] = nil end
          return
        end
        fulls, drop_at = fulls + 1, i + 40
        held[1] = {}
        weak[1] = held[1]
      end
      local x, window = lucerna.ones(65536), {}
      for i = 1, 3200 do
        window[i % 4 + 1] = x + 1
        local _ = x * 2
        look(i)
      end
      print(fulls)
    ]])
    local pipe <close> = assert(io.popen(lua .. " " .. path .. " 2>&1"))
    local text = pipe:read "a"
    assert.is_true(assert(tonumber(text), text) < 30, text)
  end)

  it("held by graphs that nobody differentiates do not pile up either", function()
    local w = lucerna.zeros(256, 1024, { requires_grad = true })
    for _ = 1, 100 do
      local y = w
      for _ = 1, 5 do y = y * y end
    end
    assert.is_true(lucerna.memory().live < 120 * 2 ^ 20)
  end)
end)

describe("a limit on memory", function()
  it("makes garbage be collected before an allocation fails", function()
    local held = lucerna.memory()
    lucerna.trim_memory()
    lucerna.set_memory_limit(lucerna.memory().live + 12 * 2 ^ 20)
    local ok, err = pcall(function()
      for _ = 1, 50 do local _ = lucerna.zeros(1024, 1024) end
    end)
    lucerna.set_memory_limit(held.limit)
    assert.is_true(ok, err)
  end)

  it("is an ordinary error when it is reached", function()
    lucerna.trim_memory()
    lucerna.set_memory_limit(lucerna.memory().live + 2 ^ 20)
    local message = parity.message(lucerna.zeros, 8192, 8192)
    lucerna.set_memory_limit(0)
    assert.matches("out of memory", message)
    assert.same({ 1024, 1024 }, lucerna.zeros(1024, 1024).shape)
  end)
end)

describe("the host's collector", function()
  it("keeps its mode #slow", function()
    local mode = collectgarbage("incremental")
    peaks(30)
    assert.equal("incremental", collectgarbage("generational"))
    peaks(30)
    assert.equal("generational", collectgarbage(mode))
  end)

  it("does not run while it is stopped", function()
    local collected = false
    collectgarbage()
    collectgarbage("stop")
    setmetatable({}, { __gc = function() collected = true end })
    for _ = 1, 20 do local _ = lucerna.zeros(256, 1024) end
    local running, ran = collectgarbage("isrunning"), collected
    collectgarbage("restart")
    assert.is_false(running)
    assert.is_false(ran)
  end)
end)

describe("finalizers", function()
  it("may use tensors", function()
    local sum
    do
      local x = lucerna.ones(3)
      setmetatable({}, { __gc = function() sum = x:sum():item() end })
    end
    collectgarbage()
    collectgarbage()
    assert.equal(3.0, sum)
  end)

  -- f(finalized): finalized(change, call) says whether a finalizer came to change() during call().
  local function finalizing(f)
    local mode, armed = collectgarbage("incremental", 1, 400, 10), nil
    local function finalize()
      local change = armed
      armed = nil
      if change then change() end
      setmetatable({}, { __gc = finalize })
    end
    finalize()
    f(function(change, call)
      armed = change
      call()
      local came = armed == nil
      armed = nil
      return came
    end)
    finalize = function() end
    collectgarbage("incremental", table.unpack(STOCK.incremental))
    collectgarbage(mode)
    collectgarbage()
  end

  it("may change the children that are being listed", function()
    local nn = lucerna.nn
    finalizing(function(finalized)
      for _ = 1, 5 do
        local m, count = nn.Identity(), 0
        m.a = nn.Identity()
        for i = 1, 9 do m[i .. ("x"):rep(20000)] = nn.Identity() end -- names that take memory
        local changed = finalized(function() nn.delattr(m, "a") end, function() m:children() end)
        for _ in m:children() do count = count + 1 end
        assert.equal(changed and 9 or 10, count)
      end
    end)
  end)

  it("may register hooks while a module's are being listed", function()
    local m, x, calls, registered = lucerna.nn.Identity(), lucerna.ones(1), 0, 0
    local function register()
      m:register_forward_pre_hook(function() calls = calls + 1 end)
    end
    finalizing(function(finalized)
      for _ = 1, 5000 do m:register_forward_hook(function() end) end -- a list that takes memory
      for _ = 1, 5 do
        m:register_forward_hook(function() end)
        if finalized(register, function() m(x) end) then registered = registered + 1 end
        calls = 0
        m(x)
        assert.equal(registered, calls)
      end
    end)
  end)

  it("are told that a module went before them", function()
    local said, sum
    do
      local last = setmetatable({}, {
        __gc = function(t)
          said = { pcall(function() return t.conv.stride end) }
          sum = { pcall(function() return 1 + t.conv end) }
        end
      })
      last.conv = lucerna.nn.Conv2d(1, 2, 3)
      assert.same({ 1, 1 }, last.conv.stride)
    end
    collectgarbage()
    collectgarbage()
    assert.is_false(said[1])
    assert.matches("module was collected", said[2])
    assert.matches("module was collected", sum[2])
  end)

  for _, order in ipairs { "before", "with" } do
    it("are told that a class went " .. order .. " them", function()
      local nn, said = lucerna.nn, {}
      do
        local last, C, m
        local function make()
          C = nn.class("C")
          m = C()
        end
        if order == "with" then make() end
        last = setmetatable({}, {
          __gc = function(t)
            local function derive() return nn.class("D", t.C) end
            local uses = { t.C, derive, function() return t.m(1) end }
            for k, use in ipairs(uses) do said[k] = { pcall(use) } end
            t.C.forward = print
            said.is = nn.isinstance(nn.Linear(1, 1), t.C)
          end
        })
        if order == "before" then make() end
        last.C, last.m = C, m
      end
      collectgarbage()
      collectgarbage()
      assert.equal(3, #said)
      for k = 1, 3 do assert.is_false(said[k][1]) end
      local message = order == "with" and "C: its class was collected" or "expected a class"
      assert.matches(message, said[1][2])
      assert.is_false(said.is)
    end)
  end

  it("find a light userdata of such a module as it is", function()
    local here, said = debug.upvalueid(function() return lucerna end, 1)
    do
      local last = setmetatable({}, {
        __gc = function(t) said = { pcall(function() return t.conv.address end) } end
      })
      last.conv = lucerna.nn.Conv2d(1, 2, 3)
      last.conv.address = here
      assert.same({ 1, 1 }, last.conv.stride) -- kept in its table from now on
    end
    collectgarbage()
    collectgarbage()
    assert.same({ true, here }, said)
  end)
end)

describe("a call that returns its argument", function()
  local function grown(f)
    collectgarbage()
    collectgarbage("stop")
    f()
    local before = collectgarbage("count")
    for _ = 1, 100 do f() end
    local after = collectgarbage("count")
    collectgarbage("restart")
    return after - before
  end

  it("makes no userdata", function()
    local x, layer = lucerna.ones(2, 3), lucerna.nn.Identity()
    assert.equal(0, grown(function() return x:contiguous() end))
    assert.equal(0, grown(function() return lucerna.positive(x) end))
    assert.equal(0, grown(function() return layer(x) end))
    assert.equal(0, grown(function() return lucerna.add(x, x, { out = x }) end) // 16)
  end)

  it("leaves nothing behind that a later call or a scope could see", function()
    local x = lucerna.ones(3)
    local kept = lucerna.scope(function()
      assert.equal(x, x:contiguous())
      local y = x + 1
      assert.equal(y, y:contiguous())
      return y:contiguous() * 2
    end)
    local first, second = x + 1, x + 2
    assert.same({ 4.0, 4.0, 4.0 }, kept:tolist())
    assert.same({ 2.0, 2.0, 2.0 }, first:tolist())
    assert.same({ 3.0, 3.0, 3.0 }, second:tolist())
    assert.same({ 1.0, 1.0, 1.0 }, x:tolist())
  end)

  it("may come from a list whose call failed", function()
    local x = lucerna.ones(4)
    for _ = 1, 3 do
      assert.is_false(pcall(x.split, x, { 1, 2 }))
      assert.same({ 2, 2 }, { #x:split(2)[1], #x:split(2)[2] })
    end
  end)
end)

describe("gradients and what the core holds", function()
  it("come back as the same Lua value while one exists", function()
    local x = lucerna.ones(2, { requires_grad = true });
    (x * 2):sum():backward()
    local names = setmetatable({}, { __mode = "k" })
    names[x.grad] = "gradient"
    assert.is_nil(names[x])
    local grad = x.grad
    names[grad] = "gradient"
    collectgarbage()
    assert.equal("gradient", names[x.grad])
  end)

  it("survive the Lua value they were assigned from", function()
    local x = lucerna.ones(2)
    x.grad = lucerna.full({ 2 }, 7.0)
    collectgarbage()
    collectgarbage()
    assert.same({ 7.0, 7.0 }, x.grad:tolist())
  end)
end)
