-- EmbeddingBag's sums, means and maxima: bags of rows, whose columns are what vectors are made of.
local lucerna = require "lucerna"
local parity = require "parity"

describe("bags", function()
  local F = lucerna.nn.functional

  local function expected(weight, bags, mode)
    local out, columns = {}, #weight[1]
    for b, rows in ipairs(bags) do
      out[b] = {}
      for c = 1, columns do
        local v = mode == "max" and #rows > 0 and -math.huge or 0
        for _, row in ipairs(rows) do
          v = mode == "max" and math.max(v, weight[row][c]) or mode ~= "max" and v + weight[row][c]
            or v
        end
        out[b][c] = mode == "mean" and #rows > 0 and v / #rows or v + 0.0
      end
    end
    return out
  end

  for _, dtype in ipairs { "float32", "float64", "float16", "bfloat16" } do
    for _, mode in ipairs { "sum", "mean", "max" } do
      it(("%s of %s"):format(mode, dtype), function()
        local input, offsets = { 5, 2, 5, 9, 1, 1, 7, 3 }, lucerna.tensor({ 1, 5, 5, 7 })
        local bags = { { 5, 2, 5, 9 }, {}, { 1, 1 }, { 7, 3 } }
        local left = { { 2, 9 }, {}, { 1, 1 }, { 7, 3 } }
        for _, columns in ipairs { 1, 3, 16, 31, 64, 130, 257 } do
          local weight = lucerna.randint(-8, 9, { 9, columns }):to(lucerna[dtype])
          local ids, list = lucerna.tensor(input), weight:tolist()
          assert.same(expected(list, bags, mode),
            F.embedding_bag(ids, weight, offsets, { mode = mode }):tolist())
          assert.same(expected(list, left, mode),
            F.embedding_bag(ids, weight, offsets, { mode = mode, padding_idx = 5 }):tolist())
          assert.same(expected(list, { { 5, 2, 5, 9 }, { 1, 1, 7, 3 } }, mode),
            F.embedding_bag(ids:view(2, 4), weight, { mode = mode }):tolist())
        end
      end)
    end
  end

  -- Sixteenths and eighths: products and sums are exact.
  for _, dtype in ipairs { "float32", "float64", "float16", "bfloat16" } do
    it(("sums of scaled rows of %s, and both gradients"):format(dtype), function()
      local of = lucerna[dtype]
      local ids, bag = lucerna.tensor({ 5, 2, 5, 9, 1, 1, 7, 3 }), { 1, 1, 1, 1, 3, 3, 4, 4 }
      for _, columns in ipairs { 1, 3, 16, 31, 64, 130, 257 } do
        for _, padding in ipairs { false, 5 } do
          local weight = (lucerna.randint(-8, 9, { 9, columns }) / 8):to(of):requires_grad_()
          local by = (lucerna.randint(-8, 9, { 16 }) / 16):to(of)[{ { 1, -1, 2 } }]
          by = by:detach():requires_grad_()
          local y = F.embedding_bag(ids, weight, lucerna.tensor({ 1, 5, 5, 7 }),
            { mode = "sum", per_sample_weights = by, padding_idx = padding or nil })
          local g = lucerna.randint(-2, 3, { 4, columns }):to(of)
          y:backward(g)
          local sums, slope = lucerna.zeros(4, columns), lucerna.zeros(9, columns)
          local w, list = weight:detach():float(), by:tolist()
          for i, row in ipairs(ids:tolist()) do
            local scale = row ~= padding and list[i] or 0
            sums[bag[i]] = sums[bag[i]] + w[row] * scale
            slope[row] = slope[row] + g[bag[i]]:float() * scale
            local share = row ~= padding and w[row]:dot(g[bag[i]]:float()):item() or 0
            assert.near(share, by.grad[i]:item(), dtype:find "16" and 0.4 or 0)
          end
          assert.is_true(sums:to(of):equal(y))
          assert.is_true(slope:to(of):equal(weight.grad))
        end
      end
    end)
  end

  it("sums of halves are rounded once", function()
    for _, dtype in ipairs { "float16", "bfloat16" } do
      local large = dtype == "float16" and 2048.0 or 256.0 -- large + 1 is no such number
      local weight = lucerna.tensor({ { large }, { 1.0 } }):to(lucerna[dtype])
      local ids = lucerna.tensor({ { 1, 2, 2, 2, 2, 2, 2, 2, 2 } })
      assert.same({ { large + 8 } }, F.embedding_bag(ids, weight, { mode = "sum" }):tolist())
      local by = lucerna.full({ 1, 9 }, 0.5):to(lucerna[dtype])
      local y = F.embedding_bag(ids, weight, { mode = "sum", per_sample_weights = by })
      assert.same({ { large / 2 + 4 } }, y:tolist())
    end
  end)

  it("a table may change before the gradient that only scaled sums want of it", function()
    local weight, ids = lucerna.ones(3, 2):requires_grad_(), lucerna.tensor({ { 1, 3 } })
    local by = lucerna.tensor({ { 2.0, 3.0 } })
    local y = F.embedding_bag(ids, weight, { mode = "sum", per_sample_weights = by })
    lucerna.no_grad(function() weight:zero_() end)
    y:sum():backward()
    assert.same({ { 2.0, 2.0 }, { 0.0, 0.0 }, { 3.0, 3.0 } }, weight.grad:tolist())
  end)

  it("refuse rows that are not there", function()
    for _, bad in ipairs { 0, 4, -1 } do
      parity.refused("out of range", function()
        return F.embedding_bag(lucerna.tensor({ { 1, bad } }), lucerna.ones(3, 2))
      end)
    end
    parity.refused("out of range", function()
      return F.embedding(lucerna.tensor({ 1 }), lucerna.ones(0, 2))
    end)
  end)
end)
