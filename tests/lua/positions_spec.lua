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

describe("the gradient of embedding", function()
  local F = lucerna.nn.functional

  for _, dtype in ipairs { "float32", "float64", "bfloat16" } do
    for _, dim in ipairs { 1, 15, 16, 130 } do
      it(("sums up rows of %d %s"):format(dim, dtype), function()
        for _, n in ipairs { 0, 1, 40, 700 } do
          local w = lucerna.zeros(50, dim, { dtype = lucerna[dtype] }):requires_grad_()
          local at = lucerna.randint(1, 31, { n }) -- which leaves rows without any
          local g = lucerna.randint(-2, 3, { n, dim })
          F.embedding(at, w):backward(g:to(w.dtype))
          local marks = lucerna.zeros(50, n, { dtype = lucerna.int64 })
          if n > 0 then marks:scatter_(1, at:view(1, -1), 1) end
          local sums = marks:matmul(g)
          assert.is_true(w.grad:to(lucerna.int64):equal(sums))
          w.grad = nil
          F.embedding(at, w, { padding_idx = 3 }):backward(g:to(w.dtype))
          sums[3] = 0
          assert.is_true(w.grad:to(lucerna.int64):equal(sums))
        end
      end)
    end
  end

  it("is divided by how often a row was looked up", function()
    for _, dtype in ipairs { lucerna.float32, lucerna.float64 } do
      local w = lucerna.zeros(3, 2, { dtype = dtype }):requires_grad_()
      local y = F.embedding(lucerna.tensor { 2, 1, 2 }, w, { scale_grad_by_freq = true })
      y:backward(lucerna.tensor({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, { dtype = dtype }))
      assert.same({ { 3, 4 }, { 3, 4 }, { 0, 0 } }, w.grad:tolist())
    end
  end)
end)

-- Rows of 128 bytes and more are copied as bytes.
describe("rows of a larger matrix", function()
  it("are copied whole, however long they are", function()
    for _, dtype in ipairs { "uint8", "float32", "complex128" } do
      local x = lucerna.randint(0, 100, { 40, 300 }):to(lucerna[dtype])
      for _, n in ipairs { 7, 8, 15, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257 } do
        local wanted = x:index_select(2, lucerna.arange(3, n + 3))
        assert.is_true(x:narrow(2, 3, n):contiguous():equal(wanted))
      end
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

describe("short lines", function()
  it("at few positions, expanded, turned or apart, give those of each", function()
    local line, ids = lucerna.arange(0, 4), lucerna.tensor { 3, 1, 1, 4, 2 }
    local block = lucerna.arange(0, 12):view(1, 4, 3)
    for _, rows in ipairs { 1, 7, 8, 60, 600 } do
      for _, x in ipairs { line:expand(rows, 4), line:unsqueeze(2):expand(4, rows):t(),
        lucerna.stack({ line, line }, 2):expand(rows, 4, 2)[{ {}, {}, 2 }],
        line:expand(rows, 4):contiguous() } do
        assert.same({ 2, 0, 0, 3, 1 }, x:index_select(2, ids)[rows]:tolist())
        assert.is_true(x:index_select(2, ids):equal(x:gather(2, ids:expand(rows, 5))))
        assert.same({ 2, 0, 0, 3, 1 }, x:gather(2, ids:expand(rows, 5):clone())[rows]:tolist())
      end
      local picked = block:expand(rows, 4, 3):index_select(2, ids)
      assert.same({ { 6, 7, 8 }, { 0, 1, 2 }, { 0, 1, 2 }, { 9, 10, 11 }, { 3, 4, 5 } },
        picked[rows]:tolist())
      assert.is_true(picked:equal(picked[1]:expand(rows, 5, 3)))
    end
  end)
end)

describe("rows without elements", function()
  local far = lucerna.tensor { 1, 5 }

  it("have their positions checked where PyTorch does", function()
    local x, rows = lucerna.zeros(3, 0), lucerna.ones(2, 0)
    local past = "index 5 is out of range [1, 3] (indices count from 1)"
    assert.has_error(function() x:index_select(1, far) end, "index_select: " .. past)
    assert.has_error(function() x:index_add(1, far, rows) end, "index_add: " .. past)
    assert.same({ 3, 0 }, x:index_copy(1, far, rows).shape)
    assert.same({ 3, 0 }, x:index_fill(1, far, 1).shape)
    assert.same({ 2, 0 }, x:index_select(1, lucerna.tensor { 1, 3 }).shape)
  end)

  it("have gradients at any position that was taken", function()
    local x = lucerna.zeros(3, 0, { requires_grad = true })
    local rows = lucerna.ones(2, 0, { requires_grad = true })
    for _, y in ipairs { x:index_copy(1, far, rows), x:index_fill(1, far, 1), x[far] } do
      x.grad = nil
      y:sum():backward()
      assert.same({ 3, 0 }, x.grad.shape)
    end
    assert.same({ 2, 0 }, rows.grad.shape)
  end)
end)

describe("index_add with an alpha", function()
  it("multiplies what goes to one position, however long its rows are", function()
    for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
      for _, row in ipairs {2, 20, 33, 100, 3000} do
        local x, y = lucerna.ones({4, 3, row}, {dtype = dtype}),
          lucerna.full({4, 1, row}, 0.5, {dtype = dtype})
        local want = x:clone()
        want:narrow(2, 2, 1):add_(2 * y)
        assert.is_true(want:equal(x:index_add(2, lucerna.tensor {2}, y, {alpha = 2})))
        assert.is_true(want:equal(x:index_add_(2, lucerna.tensor {2}, y, {alpha = 2})))
      end
    end
  end)
end)
