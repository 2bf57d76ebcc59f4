-- Positions that operators make or share, at edges: what slower ways of saying the same give.

local lucerna = require "lucerna"

describe("positions of a triangle", function()
  local function same(rows, columns, diagonal)
    for _, name in ipairs { "tril", "triu" } do
      local ones = lucerna[name](lucerna.ones(rows, columns), diagonal)
      local positions = lucerna[name .. "_indices"](rows, columns, diagonal)
      assert.is_true(ones:nonzero():t():equal(positions), name)
    end
  end

  it("of few rows and columns, by every diagonal", function()
    for rows = 0, 5 do
      for columns = 0, 9 do
        for diagonal = -7, 11 do same(rows, columns, diagonal) end
      end
    end
  end)

  it("of many, which threads share", function()
    same(700, 500, 3)
    same(500, 700, -450)
    same(300, 2000, 1900)
    same(1, 70000, 3)
    same(70000, 1, -3)
  end)
end)

-- Of long lines in pieces that threads share; positions are read 4,096 at a time.
describe("positions that lines share", function()
  for _, dtype in ipairs { "uint8", "bfloat16", "float32", "int64", "complex128" } do
    for _, count in ipairs { 1, 7, 4096, 4099, 9000 } do
      it(("lead to %d elements of %s"):format(count, dtype), function()
        local x = lucerna.randint(0, 200, { 5, 300 }):to(lucerna[dtype])
        local at = lucerna.randint(1, 301, { count })
        local wanted = x:t()[at]:t()
        assert.is_true(x:index_select(2, at):equal(wanted))
        assert.is_true(x:gather(2, at:view(1, -1):expand(5, count)):equal(wanted))
        assert.is_true(x:gather(2, at:view(1, -1):expand(5, count):contiguous()):equal(wanted))
      end)
    end
  end

  it("are refused wherever they are out of range", function()
    local x = lucerna.rand(3, 50)
    for _, place in ipairs { 1, 4096, 4097, 5000 } do
      local at = lucerna.ones(5000, { dtype = lucerna.int64 })
      at[place] = 51
      assert.has_error(function() x:index_select(2, at) end)
    end
  end)
end)

-- Lines that leave the cache are written by the machine's own loop.
describe("filling much memory", function()
  for _, dtype in ipairs { "uint8", "int16", "float32", "float64", "complex128" } do
    it("of " .. dtype .. " reaches its last element, and no other", function()
      local n = (1 << 17) + 5
      local x = lucerna.ones(n + 2, { dtype = lucerna[dtype] })
      local inner = x:narrow(1, 2, n)
      inner:fill_(37)
      assert.equal(n, inner:eq(37):sum():item())
      assert.equal(n, x:eq(37):sum():item())
      assert.equal(2, x:eq(1):sum():item())
    end)
  end
end)
