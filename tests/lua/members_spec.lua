-- What is no operator, beside PyTorch: the rows of tests/parity/member_rows.py. Each may use x
-- [2, 3], w [3] which requires grad, i [3] of integers and b [3] of booleans.
local lucerna = require "lucerna"
local parity = require "parity"

-- The texts of tensors of several kinds: PRINTED of member_rows.py.
local function printed()
  local texts = {}
  for _, t in ipairs {
    lucerna.arange(12.0):view(3, 4) / 7, lucerna.tensor {0.001, 12345.6, 7.0},
    lucerna.arange(2000):view(20, 100), lucerna.zeros(2), lucerna.tensor {1.0, 1e9},
    lucerna.arange(30.0) / 9, lucerna.tensor {1.5, 0 / 0, -2.0, math.huge},
  } do
    texts[#texts + 1] = tostring(t)
  end
  return texts
end

local function given()
  return {
    lucerna = lucerna, pairs = pairs, ipairs = ipairs, pcall = pcall, tostring = tostring,
    table = table, select = select, printed = printed,
    x = lucerna.arange(6.0):view(2, 3), w = lucerna.tensor({0.5, -2.0, 3.0}):requires_grad_(),
    i = lucerna.tensor {3, -1, 2}, b = lucerna.tensor {true, false, true},
  }
end

local function check(got, want)
  if type(want) == "table" and want.list then
    assert.equal("table", type(got))
    assert.equal(#want.list, #got)
    for n, item in ipairs(want.list) do check(got[n], item) end
  elseif type(want) == "string" then
    assert.equal(want, tostring(got))
  elseif type(want) == "table" and want.none then
    assert.is_nil(got)
  else
    parity.close(got, want, {rtol = 1e-6})
  end
end

describe("as in PyTorch:", function()
  for _, case in ipairs(parity.load "members") do
    it(("%s (%s)"):format(case.call, case.lua:gsub("%s+", " ")), function()
      lucerna.manual_seed(0)
      check(assert(load(case.lua, case.call, "t", given()))(), case.out)
    end)
  end
end)
