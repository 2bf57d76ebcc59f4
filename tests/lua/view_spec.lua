-- Views, rearranging, joining and splitting, in-place too, against PyTorch's recorded answers.
local cases = require "cases"
local lucerna = require "lucerna"

describe("like PyTorch:", function()
  for _, file in ipairs {"view", "views"} do
    for title, check in cases.each(file) do it(title, check) end
  end
end)

describe("repeat", function()
  it("nothing, however often, has a gradient of zeros", function()
    local x = lucerna.ones(1, 2):requires_grad_()
    x["repeat"](x, 0, 1 << 40):sum():backward()
    assert.same({{0, 0}}, x.grad:tolist())
  end)
end)

describe("ravel", function()
  it("is contiguous, unlike what reshape makes of steps", function()
    local x = lucerna.arange(6)[{{1, 6, 2}}]
    assert.same({2}, x:reshape(-1):stride())
    assert.same({1}, x:ravel():stride())
    assert.same({0, 2, 4}, x:ravel():tolist())
  end)
end)

describe("a view made before", function()
  it("its base requires grad belongs to it", function()
    local base = lucerna.zeros(4)
    local view = base[{{1, 2}}]
    base:requires_grad_()
    assert.is_false(view.is_leaf)
    ;(view * 2):sum():backward()
    assert.same({2, 2, 0, 0}, base.grad:tolist())
  end)

  it("stays a leaf of its own if it was one, until its base has another history", function()
    local base = lucerna.zeros(4)
    local view = base[{{1, 2}}]:requires_grad_()
    base:requires_grad_()
    assert.is_true(view.is_leaf)
    ;(view * 2):sum():backward()
    assert.same({2, 2}, view.grad:tolist())
    assert.is_nil(base.grad)
    base = lucerna.zeros(4)
    view = base[{{1, 2}}]:requires_grad_()
    base:mul_(lucerna.ones(4):requires_grad_())
    assert.is_false(view.is_leaf)
    assert.equal("AsStridedBackward0", view.grad_fn:name())
  end)
end)

describe("a view by strides", function()
  it("names the function that made it", function()
    local x = lucerna.zeros(4):requires_grad_()
    assert.equal("AsStridedBackward0", x:as_strided({2, 2}, {2, 1}).grad_fn:name())
  end)
end)

describe("a view whose elements overlap", function()
  it("passes on all its gradient after its base has changed, too", function()
    local x = lucerna.tensor({1.0, 2, 3, 4}):requires_grad_()
    local h = x * 1
    local view = h:unfold(1, 3, 1)
    h:mul_(2)
    view:sum():backward()
    assert.same({2, 4, 4, 2}, x.grad:tolist())
  end)

  it("can be gone through again, as it has nothing saved", function()
    local x = lucerna.ones(3):requires_grad_()
    local view = x[{{1, 2}}]
    lucerna.no_grad(function() view:mul_(2) end)
    view:sum():backward()
    view:sum():backward()
    assert.same({2, 2, 0}, x.grad:tolist())
  end)

  it("shares what comes to an element that is several of its base's", function()
    local x = lucerna.tensor({1.0, 2, 3}):requires_grad_()
    local function gradient(t)
      return lucerna.autograd.grad(t:sum(), x, {create_graph = true}):tolist()
    end
    assert.same({1, 1, 1}, gradient(x:expand(2, 3):as_strided({3}, {1})))
    assert.same({2, 2, 0}, gradient(x:expand(2, 3):as_strided({2, 2}, {0, 1})))
    assert.same({1, 1, 1}, gradient(x:unfold(1, 2, 1):as_strided({3}, {1})))
    local weights = lucerna.ones(3):requires_grad_()
    local part = x[{{1, 2}}]:expand(2, 2):as_strided({3}, {1})
    local g = lucerna.autograd.grad(part, x, weights, {create_graph = true})
    assert.same({1, 1, 0}, g:tolist())
    assert.same({1, 1, 0}, lucerna.autograd.grad(g:sum(), weights):tolist())
  end)

  it("may reach past its base", function()
    local h = lucerna.arange(6.0)[{{3, 4}}]:detach():requires_grad_()
    local view = h:as_strided({3, 2}, {1, 1}, 1)
    lucerna.no_grad(function() h:mul_(1) end)
    view:sum():backward()
    assert.same({2, 2}, h.grad:tolist())
  end)
end)

describe("block_diag", function()
  it("is of the dtype of what has dimensions", function()
    local wide = lucerna.tensor(1.5, {dtype = lucerna.float64})
    local y = lucerna.block_diag(wide, lucerna.tensor {{2.0, 3.0}}, lucerna.tensor(1))
    assert.equal(lucerna.float32, y.dtype)
    assert.same({{1.5, 0.0, 0.0, 0.0}, {0.0, 2.0, 3.0, 0.0}, {0.0, 0.0, 0.0, 1.0}}, y:tolist())
    assert.equal(lucerna.float64, lucerna.block_diag(wide, lucerna.tensor {1}).dtype)
  end)
end)

describe("roll", function()
  it("goes back by all its shifts, however many and far", function()
    local x, weight = lucerna.zeros(3):requires_grad_(), lucerna.tensor {1.0, 2, 4}
    local shifts, dims = {}, {}
    for k = 1, 10 do shifts[k], dims[k] = 1, 1 end
    (x:roll(shifts, dims) * weight):sum():backward()
    assert.same({2, 4, 1}, x.grad:tolist())
    x.grad = nil
    (x:roll(math.mininteger, 1) * weight):sum():backward() -- -2^63 = 1 modulo 3
    assert.same({2, 4, 1}, x.grad:tolist())
  end)
end)

describe("triangles", function()
  it("of all shapes, wherever the diagonal is, are what is on their side", function()
    for _, size in ipairs {{3, 7}, {7, 3}, {2, 5, 4}, {300, 900}, {1, 1}} do
      local n = #size
      local x = lucerna.randn(size)
      local row = lucerna.arange(1, size[n - 1] + 1):unsqueeze(-1)
      local column = lucerna.arange(1, size[n] + 1)
      for k = -8, 8, 2 do
        local low = (column - row):le(k)
        assert.is_true(x:tril(k):equal(x:where(low, lucerna.zeros(1))))
        assert.is_true(x:triu(k + 1):equal(x:where(low:logical_not(), lucerna.zeros(1))))
      end
      local turned = x:transpose(-1, -2)
      assert.is_true(turned:tril():equal(x:triu():transpose(-1, -2)))
      assert.is_true(x:equal(turned:transpose(-1, -2)))
    end
  end)
end)

describe("equal", function()
  it("knows halves, small floats and complex numbers to the last", function()
    for _, dtype in ipairs {"float16", "bfloat16", "int16", "complex64", "complex128"} do
      local x = lucerna.randint(0, 100, {3001}):to(dtype)
      local y = x:clone()
      assert.is_true(x:equal(y))
      y[3001] = y[3001] + 1
      assert.is_false(x:equal(y))
    end
    local zero = lucerna.zeros(3, {dtype = lucerna.float16})
    assert.is_true(zero:equal(-zero))
    assert.is_false((zero / 0):equal(zero / 0))
    local z = lucerna.complex(zero:float(), zero:float())
    assert.is_true(z:equal(-z))
    assert.is_false(z:equal(lucerna.complex(zero:float(), lucerna.tensor {0.0, 0, 1})))
  end)
end)

describe("complex numbers", function()
  it("are true where a part is, whatever their steps", function()
    for _, dtype in ipairs {"float32", "float64"} do
      local re = lucerna.randint(-1, 2, {7, 40}):to(dtype)
      local im = lucerna.randint(-1, 2, {7, 40}):to(dtype)
      local z, truth = lucerna.complex(re, im), re:ne(0):logical_or(im:ne(0))
      assert.is_true(z:bool():equal(truth))
      assert.is_true(z:t():bool():equal(truth:t()))
      assert.is_true(z[{{}, {1, -1, 3}}]:bool():equal(truth[{{}, {1, -1, 3}}]))
      assert.is_true(z:count_nonzero(1):equal(truth:sum(1)))
    end
  end)
end)

describe("rows of every width", function()
  it("are copied and turned around exactly", function()
    for width = 1, 300 do
      local x = (lucerna.arange(5 * (width + 3)) % 251):to(lucerna.uint8):view(5, width + 3)
      local part, want = x[{{}, {2, width + 1}}], {}
      for i, row in ipairs(x:tolist()) do want[i] = table.move(row, 2, width + 1, 1, {}) end
      assert.same(want, part:contiguous():tolist())
      want[1], want[2], want[4], want[5] = want[5], want[4], want[2], want[1]
      assert.same(want, part:flip(1):tolist())
    end
  end)
end)

describe("equal", function()
  it("finds the one element that differs, wherever it is and however they lie", function()
    for _, name in ipairs { "float32", "float64", "bfloat16", "int64", "bool", "complex64" } do
      for _, size in ipairs { { 0, 3 }, { 1, 1 }, { 7, 5 }, { 40, 50 }, { 3, 999 }, { 999, 3 } } do
        local rows, columns = size[1], size[2]
        local wide = lucerna.ones(columns, 2 * rows):to(lucerna[name])
        local x, y = wide[{ {}, { 1, -1, 2 } }]:t(), lucerna.ones(size):to(lucerna[name])
        if rows == 0 then x = lucerna.ones(columns, 0):to(lucerna[name]):t() end
        assert.is_true(x:equal(y) and y:equal(x), name)
        for _, row in ipairs { 1, rows // 2, rows } do
          for _, column in ipairs { 1, columns } do
            if row > 0 and rows > 0 then
              y[{ row, column }] = 0
              assert.is_false(x:equal(y) or y:equal(x), name .. row)
              x[{ row, column }] = 0
              assert.is_true(x:equal(y) and y:equal(x), name .. row)
              if y:is_floating_point() then
                y[{ row, column }], x[{ row, column }] = 0 / 0, 0 / 0
                assert.is_false(x:equal(y) or y:equal(x), name .. row)
              end
              y[{ row, column }], x[{ row, column }] = 1, 1
            end
          end
        end
      end
    end
  end)
end)

describe("short rows with gaps", function()
  it("are copied, turned round and joined in any number", function()
    for _, name in ipairs { "float32", "float64", "int16", "uint8", "complex128" } do
      for _, n in ipairs { 127, 128, 129, 300 } do
        for _, run in ipairs { 2, 3, 4, 7 } do
          local whole = (lucerna.arange(n * 2 * run) % 100):to(lucerna[name]):view(n, 2 * run)
          local x = whole[{ {}, { 1, -1, 2 } }]
          local back, joined = x:flip(2), lucerna.cat({ x, x:flip(1) }, 2)
          for _, r in ipairs { 1, 2, n - 1, n } do
            for c = 1, run do
              local want = whole[r][2 * c - 1]:item()
              assert.equal(want, back[r][run + 1 - c]:item(), name .. n)
              assert.equal(want, joined[r][c]:item(), name .. n)
              assert.equal(want, joined[n + 1 - r][run + c]:item(), name .. n)
            end
          end
          assert.is_true(x:contiguous():flip(2):equal(back))
          assert.is_true(x:contiguous():flip(1):equal(x:flip(1)))
        end
      end
    end
  end)
end)

describe("rows of bytes", function()
  it("are turned round, however long they are", function()
    for n = 1, 70 do
      local x = (lucerna.arange(5 * n) % 127):to(lucerna.uint8):view(5, n)
      local back = x:flip(2)
      for k = 1, n do assert.is_true(back:select(2, k):equal(x:select(2, n + 1 - k)), n) end
    end
  end)
end)
