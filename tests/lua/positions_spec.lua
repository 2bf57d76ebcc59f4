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
