-- lucerna.profiler: what is noted, how it nests, and that it leaves nothing behind.

local lucerna = require "lucerna"
local files = require "files"
local profiler, nn, F = lucerna.profiler, lucerna.nn, lucerna.nn.functional

local function row_of(prof, name)
  for _, row in ipairs(prof:key_averages()) do
    if row.name == name then return row end
  end
end

describe("profiler", function()
  it("notes operators with times and bytes, and gives the function's results", function()
    local x = lucerna.ones(10, 10)
    local prof, y, word = profiler.profile(function(v) return (v + v):exp(), "word" end, x)
    assert.equal("word", word)
    assert.equal(10, y:size(1))
    local add, exp = row_of(prof, "add"), row_of(prof, "exp")
    assert.equal(1, add.count)
    assert.equal(400, add.bytes)
    assert.equal(400, exp.bytes)
    assert.is_true(add.cpu_time_total > 0 and add.cpu_time_total < 1)
    assert.equal(add.cpu_time_total, add.cpu_time)
  end)

  it("counts in-place calls, out= and the backward pass, and views as no bytes", function()
    local x = lucerna.ones(4, 4, { requires_grad = true })
    local prof = profiler.profile(function()
      local y = (x * 2):t()
      y:sum():backward()
      lucerna.no_grad(function() x:add_(1) end)
      lucerna.add(x:detach(), 1, { out = lucerna.empty(4, 4) })
    end)
    assert.equal(0, row_of(prof, "t").bytes)
    assert.equal(1, row_of(prof, "add_").count)
    assert.equal(1, row_of(prof, "add").count)
    assert.is_true(row_of(prof, "mul").count >= 2) -- forward and backward
  end)

  it("subtracts what runs inside from a composite's own time", function()
    local prof = profiler.profile(function() F.layer_norm(lucerna.rand(8, 16), { 16 }) end)
    local outer, inner = row_of(prof, "layer_norm"), row_of(prof, "native_layer_norm")
    assert.is_true(outer.cpu_time_total >= inner.cpu_time_total)
    assert.near(outer.cpu_time_total - inner.cpu_time_total, outer.self_cpu_time_total, 1e-12)
    local depths = {}
    for _, e in ipairs(prof:events()) do depths[e.name] = e.depth end
    assert.equal(depths.layer_norm + 1, depths.native_layer_norm)
  end)

  it("times regions around the operators in them", function()
    local prof = profiler.profile(function()
      return profiler.record_function("step \"1\"", function() return lucerna.ones(3):exp() end)
    end)
    local events = prof:events()
    assert.same({ 'step "1"', true, 0 }, { events[1].name, events[1].region, events[1].depth })
    for i = 2, #events do assert.equal(1, events[i].depth) end
    assert.equal(5, profiler.record_function("none runs", function() return 5 end))
  end)

  it("times the rest of a block as a region", function()
    local prof = profiler.profile(function()
      local _ <close> = profiler.record_function "block"
      return lucerna.ones(3):exp()
    end)
    local first = prof:events()[1]
    assert.same({"block", true, 0}, {first.name, first.region, first.depth})
    assert.equal(#prof:events() - 1, row_of(prof, "exp").count + row_of(prof, "ones").count)
    do local _ <close> = profiler.record_function "none runs" end
  end)

  it("stops at the end of a block, after an error, and while a coroutine waits", function()
    local prof
    do
      local p <close> = profiler.profile()
      lucerna.ones(2):exp()
      prof = p
    end
    lucerna.ones(2):sin()
    assert.is_nil(row_of(prof, "sin"))
    assert.equal(1, row_of(prof, "exp").count)
    assert.is_false(pcall(profiler.profile, function() error("no") end))
    local co = coroutine.wrap(function()
      return (profiler.profile(function()
        lucerna.ones(2):exp()
        coroutine.yield()
        lucerna.ones(2):exp()
      end))
    end)
    co()
    lucerna.ones(2):sin()
    prof = co()
    assert.equal(2, row_of(prof, "exp").count)
    assert.is_nil(row_of(prof, "sin"))
  end)

  it("goes on after a stop; what runs inside another takes over", function()
    local prof = profiler.profile()
    lucerna.ones(2):exp()
    prof:stop()
    lucerna.ones(2):exp()
    prof:start()
    profiler.profile(function() lucerna.ones(2):exp() end)
    lucerna.ones(2):exp()
    assert.matches("running already", select(2, pcall(prof.start, prof)))
    prof:stop()
    assert.equal(2, row_of(prof, "exp").count)
  end)

  it("shows a table, sorted and cut", function()
    local net = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    local prof = profiler.profile(net, lucerna.rand(2, 8))
    local text = prof:table()
    assert.matches("^Name +Self CPU %%", text)
    assert.matches("\nlinear +%d+%.%d+%% ", text)
    assert.matches("\nSelf CPU time total: %d", text)
    local _, lines = prof:table({ sort_by = "name", row_limit = 1 }):gsub("\n", "")
    assert.equal(2, lines)
    assert.matches("sort_by must be one of", select(2, pcall(prof.table, prof, "size")))
    assert.matches("row_limit must be", select(2, pcall(prof.table, prof, { row_limit = 1.5 })))
  end)

  it("writes a trace that is JSON", function()
    local prof = profiler.profile(function()
      profiler.record_function("a\n\"b\"", function() return lucerna.ones(2) + 1 end)
    end)
    local path = files.temporary()
    prof:export_chrome_trace(path)
    local text = files.bytes_of(path)
    assert.equal(prof:chrome_trace(), text)
    assert.matches('"name":"a\\u000a\\u0022b\\u0022"', text, 1, true)
    assert.matches('{"ph":"X","cat":"cpu_op","name":"add","pid":1,"tid":1,"ts":%d+%.%d+,', text)
    assert.matches("export_chrome_trace: /no/such", select(2,
      pcall(prof.export_chrome_trace, prof, "/no/such/folder/x.json")))
  end)

  it("holds no tensor", function()
    collectgarbage()
    local before = lucerna.memory().live
    local prof = profiler.profile()
    lucerna.scope(function() lucerna.ones(1000, 1000):exp() end)
    assert.is_true(lucerna.memory().live - before < 100000)
    prof:stop()
  end)

  it("may be stopped before one that was begun later", function()
    do
      local outer, inner = profiler.profile(), profiler.profile()
      outer:stop()
      inner:stop()
    end
    for _ = 1, 2 do collectgarbage() end
    local again = profiler.profile(function() return lucerna.ones(1) + 1 end)
    assert.equal(1, row_of(again, "add").count)
  end)

  it("refuses what it cannot use", function()
    assert.matches("f must be a function", select(2, pcall(profiler.profile, 3)))
    assert.matches("name must be a string", select(2, pcall(profiler.record_function, 3)))
    assert.matches("must be called with a colon", select(2, pcall(profiler.Profile.stop, {})))
  end)
end)
