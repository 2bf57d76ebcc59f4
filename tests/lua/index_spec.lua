-- Indexing: numbers, ranges, masks and index tensors, read and assigned; everything counts from 1.
local lucerna = require "lucerna"
local parity = require "parity"
local none = lucerna.none

-- [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]
local function matrix() return lucerna.arange(1, 13):view(4, 3) end

describe("x[i]", function()
  it("selects along the first dimension, from 1 or from the end", function()
    local x = matrix()
    assert.same({ 1, 2, 3 }, x[1]:tolist())
    assert.same({ 10, 11, 12 }, x[-1]:tolist())
    assert.equal(6, x[2][3]:item())
    assert.same({ 4, 5, 6 }, x[2.0]:tolist())
  end)

  it("refuses 0 and positions past the ends", function()
    local x = lucerna.arange(10)
    parity.refused("index 0 is out of range [1, 10] (indices count from 1)",
      function() return x[0] end)
    parity.refused("index 11 is out of range [1, 10]", function() return x[11] end)
    parity.refused("index -11 is out of range", function() return x[-11] end)
    parity.refused("must be an integer %(got number 1.5%)", function() return x[1.5] end)
    parity.refused("the dimension is empty", function() return lucerna.zeros(0, 2)[1] end)
  end)

  it("ends a loop of ipairs, and only that, with nil", function()
    local x, rows = matrix(), {}
    for i, row in ipairs(x) do
      rows[i] = row:tolist()
      assert.is_false(pcall(function() return x[5] end))
    end
    assert.same(x:tolist(), rows)
    for _ in ipairs(lucerna.zeros(0, 2)) do error("there is none") end
    local function step(t, i) return t[i + 1] and i + 1 end
    parity.refused("index 5 is out of range", function()
      for _ in step, x, 0 do end
    end)
    parity.refused("a 0-d tensor cannot be indexed", function()
      for _ in ipairs(lucerna.tensor(1)) do end
    end)
  end)

  it("refuses a 0-d tensor", function()
    parity.refused("a 0-d tensor cannot be indexed", function() return lucerna.tensor(1)[1] end)
  end)

  it("is a view", function()
    local x = matrix()
    x[1]:fill_(0)
    assert.same({ 0, 0, 0 }, x[1]:tolist())
  end)
end)

describe("x[{…}]", function()
  it("takes one entry for each dimension", function()
    local x = matrix()
    assert.equal(6, x[{ 2, 3 }]:item())
    assert.same({ 2, 5, 8, 11 }, x[{ {}, 2 }]:tolist())
    assert.same({ 4, 5, 6 }, x[{ 2 }]:tolist())
  end)

  it("takes ranges that include their last position", function()
    local x = matrix()
    assert.same({ 1, 2 }, x[{ 1, { 1, 2 } }]:tolist())
    assert.same({ { 7, 8, 9 }, { 10, 11, 12 } }, x[{ { 3, 4 } }]:tolist())
    assert.same({ { 7, 8, 9 }, { 10, 11, 12 } }, x[{ { -2, -1 } }]:tolist())
    assert.same({ { 4 }, { 10 } }, x[{ { 2, 4, 2 }, { 1, 1 } }]:tolist())
  end)

  it("takes tensors of no dimensions as the ends of ranges", function()
    local x = lucerna.arange(6)
    local two = lucerna.tensor(2)
    assert.same({ 1, 2, 3 }, x[{ { two, two + 2 } }]:tolist())
    assert.same({ 0, 2, 4 }, x[{ { 1, -1, two } }]:tolist())
    assert.same({ 1, 2 }, x[{ { lucerna.tensor(2, { dtype = lucerna.uint8 }), 3 } }]:tolist())
    x[{ { two, -1 } }] = 9
    assert.same({ 0, 9, 9, 9, 9, 9 }, x:tolist())
    parity.refused("the last position of a range must be an integer (got Tensor [])", function()
      return x[{ { 1, lucerna.tensor(2.0) } }]
    end)
  end)

  it("cuts ranges off at the ends, and gives nothing for a range that ends before it begins",
    function()
      local x = matrix()
      assert.same({ 2, 3 }, x[{ { 3, 100 } }].shape)
      assert.same({ 0, 3 }, x[{ { 3, 2 } }].shape)
      assert.same({ 0, 3 }, x[{ { 9, 10 } }].shape)
    end)

  it("refuses ranges with 0, no end or a step below 1", function()
    local x = matrix()
    parity.refused("count from 1", function() return x[{ { 0, 2 } }] end)
    parity.refused("a range is {first, last}", function() return x[{ { 2 } }] end)
    parity.refused("step of a range must be positive", function() return x[{ { 1, 4, 0 } }] end)
  end)

  it("adds a dimension for lucerna.none", function()
    local x = matrix()
    assert.same({ 1, 4, 3 }, x[none].shape)
    assert.same({ 4, 1, 3 }, x[{ {}, none }].shape)
    assert.same({ 4, 3, 1 }, x[{ "...", none }].shape)
    assert.same({ 1, 3 }, x[{ none, 2 }].shape)
  end)

  it("fills in with '...'", function()
    local x = lucerna.arange(24):view(2, 3, 4)
    assert.same(x[{ {}, {}, 2 }]:tolist(), x[{ "...", 2 }]:tolist())
    assert.same(x[{ 2, {}, 2 }]:tolist(), x[{ 2, "...", 2 }]:tolist())
  end)

  it("says when there are too many entries", function()
    local x = matrix()
    parity.refused("too many indices (3) for a tensor of 2 dimensions (a list of positions is a",
      function() return x[{ 1, 1, 1 }] end)
    parity.refused("more than 16 entries (a list of positions is a tensor)",
      function() return x[lucerna.ones(20):tolist()] end)
  end)

  it("refuses tables that hold something other than an array", function()
    local x = matrix()
    parity.refused("index: a table of entries is an array (got a key number 2)",
      function() return x[{ [2] = 1 }] end)
    parity.refused("a table of entries is an array (got a key string 'dim')",
      function() x[{ {}, { dim = 1 } }] = 0 end)
    assert.same(matrix():tolist(), x:tolist())
  end)

  it("names the position however far out it is", function()
    parity.refused("index -9223372036854775807 is out of range [1, 4]",
      function() return matrix()[math.mininteger] end)
  end)

  it("is a view of everything when it is empty", function()
    local x = matrix()
    local y = x[{}]
    y[{ 1, 1 }] = 100
    assert.equal(100, x[{ 1, 1 }]:item())
  end)
end)

describe("x[tensor]", function()
  it("picks rows by index tensors that count from 1", function()
    local x = matrix()
    assert.same({ { 10, 11, 12 }, { 1, 2, 3 } }, x[lucerna.tensor { 4, 1 }]:tolist())
    assert.same({ { 10, 11, 12 } }, x[lucerna.tensor { -1 }]:tolist())
    assert.same({ 2, 2, 3 }, x[lucerna.tensor { { 1, 2 }, { 3, 4 } }].shape)
  end)

  it("refuses 0 inside an index tensor, and what is out of range", function()
    local x = matrix()
    parity.refused("index 0 is out of range", function() return x[lucerna.tensor { 1, 0 }] end)
    parity.refused("5 is out of range", function() return x[lucerna.tensor { 5 }] end)
    parity.refused("must be integers or booleans (got float32)",
      function() return x[lucerna.tensor { 1.5 }] end)
  end)

  it("picks by a mask", function()
    local x = matrix()
    assert.same({ 7, 8, 9, 10, 11, 12 }, x[x:gt(6)]:tolist())
    assert.same({ { 1, 2, 3 } }, x[lucerna.tensor { true, false, false, false }]:tolist())
  end)

  it("mixes with numbers and ranges", function()
    local x = matrix()
    assert.same({ { 2, 1 }, { 5, 4 } }, x[{ { 1, 2 }, lucerna.tensor { 2, 1 } }]:tolist())
    assert.same({ 12, 1 }, x[{ lucerna.tensor { 4, 1 }, lucerna.tensor { 3, 1 } }]:tolist())
    assert.same({ 3, 6 }, x[{ lucerna.tensor { 1, 2 }, 3 }]:tolist())
  end)

  it("leaves the index tensor as it was", function()
    local ids = lucerna.tensor { 1, 2 }
    local _ = matrix()[ids]
    assert.same({ 1, 2 }, ids:tolist())
  end)

  it("is recorded by autograd", function()
    local x = lucerna.tensor({ 1.0, 2.0, 3.0 }, { requires_grad = true })
    x[lucerna.tensor { 3, 1, 3 }]:sum():backward()
    assert.same({ 1.0, 0.0, 2.0 }, x.grad:tolist())
  end)

  it("takes masks without dimensions, each along a new one", function()
    local x, yes, no = lucerna.arange(4):view(2, 2), lucerna.tensor(true), lucerna.tensor(false)
    assert.same({{{0, 1}, {2, 3}}}, x[yes]:tolist())
    assert.same({0, 2, 2}, x[no].shape)
    assert.same({{1}, {3}}, x[{{}, 2, yes}]:tolist())
    assert.same({{0, 2}, {0, 2}}, x[{yes, {}, lucerna.tensor {1, 1}}]:tolist())
    x[{no, 1}], x[{2, yes}] = 7, 8
    assert.same({{0, 1}, {8, 8}}, x:tolist())
  end)
end)

describe("assignment", function()
  it("writes numbers and tensors, which broadcast", function()
    local x = lucerna.zeros(2, 3)
    x[1] = 5
    x[{ {}, 3 }] = lucerna.tensor { 8.0, 9.0 }
    x[{ 2, { 1, 2 } }] = 7.5
    assert.same({ { 5.0, 5.0, 8.0 }, { 7.5, 7.5, 9.0 } }, x:tolist())
    x[{}] = 1
    assert.same({ { 1.0, 1.0, 1.0 }, { 1.0, 1.0, 1.0 } }, x:tolist())
    x[{ {}, { 1, 2 } }] = lucerna.tensor { { { 3.0, 4.0 } } }
    assert.same({ { 3.0, 4.0, 1.0 }, { 3.0, 4.0, 1.0 } }, x:tolist())
  end)

  it("writes through masks and index tensors", function()
    local x = matrix()
    x[x:gt(6)] = 0
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 }, { 0, 0, 0 }, { 0, 0, 0 } }, x:tolist())
    x[lucerna.tensor { 1, 4 }] = lucerna.tensor { 7, 8, 9 }
    assert.same({ 7, 8, 9 }, x[4]:tolist())
    x[{ lucerna.tensor { 1, 2 }, lucerna.tensor { 1, 2 } }] = -1
    assert.same({ { -1, 8, 9 }, { 4, -1, 6 } }, x[{ { 1, 2 } }]:tolist())
  end)

  it("refuses masks that do not fit in PyTorch's words, counted from 1", function()
    local x, mask = matrix(), lucerna.ones(2):bool()
    local text = "The shape of the mask [2] at index 1 does not match the shape of the indexed "
      .. "tensor [4, 3] at index "
    parity.refused(text .. 1, function() return x[mask] end)
    parity.refused(text .. 2, function() return x[{ {}, mask }] end)
    parity.refused(text .. 1, function() x[mask] = 0 end)
  end)

  it("writes booleans", function()
    local m = lucerna.zeros(3, { dtype = lucerna.bool })
    m[2] = true
    assert.same({ false, true, false }, m:tolist())
  end)

  it("refuses values that do not fit, and leaves the tensor as it was", function()
    local x = lucerna.zeros(2, 3)
    assert.has_error(function() x[1] = lucerna.ones(4) end)
    parity.refused("a number, boolean or Tensor can be assigned (got string 'a')",
      function() x[1] = "a" end)
    parity.refused("index 3 is out of range", function() x[3] = 1 end)
    assert.same({ { 0.0, 0.0, 0.0 }, { 0.0, 0.0, 0.0 } }, x:tolist())
  end)

  it("is recorded by autograd", function()
    local x = lucerna.tensor({ 1.0, 2.0 }, { requires_grad = true })
    local y = lucerna.zeros(3)
    y[{ { 1, 2 } }] = x * 3;
    (y * y):sum():backward()
    assert.same({ 18.0, 36.0 }, x.grad:tolist())
  end)

  it("refuses leaves that require a gradient", function()
    local x = lucerna.tensor({ 1.0, 2.0 }, { requires_grad = true })
    assert.has_error(function() x[1] = 0 end)
    lucerna.no_grad(function() x[1] = 5 end)
    assert.same({ 5.0, 2.0 }, x:tolist())
  end)

  it("refuses numbers that do not fit, in all forms", function()
    for _, index in ipairs {1, {{1, 2}}, lucerna.tensor {1, 2}, lucerna.ones(3):bool()} do
      for _, v in ipairs {300, -300, 0 / 0, 1 / 0} do
        local x = lucerna.zeros(3, {dtype = lucerna.uint8})
        parity.refused("_: value cannot be converted to type uint8 without overflow",
          function() x[index] = v end)
        assert.same({0, 0, 0}, x:tolist())
      end
    end
  end)
end)

describe("as PyTorch does it", function()
  local environment = { T = lucerna.tensor, none = none }
  local function base() return lucerna.arange(24, { dtype = lucerna.float32 }):view(2, 3, 4) end
  for i, case in ipairs(parity.load("indexing_random")) do
    it(("%d: x[%s]"):format(i, case.index), function()
      local index = load("return " .. case.index, "=index", "t", environment)()
      local function x()
        local n = 1
        for _, size in ipairs(case.x) do n = n * size end
        return lucerna.arange(0.0, n):view(case.x)
      end
      local function like(shape, data) return {shape = shape, dtype = "float32", data = data} end
      if case.error then
        assert.is_string(parity.message(function() return x()[index] end))
        return
      end
      local got = x()[index]
      parity.close(got, like(case.sizes, case.get), nil, "reading")
      local values = lucerna.arange(50.0, 50 + #case.get):view(case.sizes)
      local wrote = x()
      wrote[index] = -1
      parity.close(wrote, like(case.x, case.set), nil, "writing a number")
      if case.put then
        wrote[index] = values
        parity.close(wrote, like(case.x, case.put), nil, "writing a tensor")
      end
      local leaf = x():requires_grad_();
      (leaf[index] * values):sum():backward()
      parity.close(leaf.grad, like(case.x, case.sum), nil, "the gradient")
    end)
  end

  for _, case in ipairs(parity.load("indexing")) do
    it("x[" .. case.index .. "]", function()
      local index = load("return " .. case.index, "=index", "t", environment)()
      local values = parity.tensor(case.values)
      parity.close(base()[index], case.get, nil, "reading")
      local x = base()
      x[index] = -1
      parity.close(x, case.set, nil, "writing a number")
      x = base()
      x[index] = values
      parity.close(x, case.put, nil, "writing a tensor")
      x = base():requires_grad_();
      (x[index] * values):sum():backward()
      parity.close(x.grad, case.grad, nil, "the gradient")
    end)
  end
end)

-- What is longer than the strips and pieces that the work is cut into, beside the same by numbers:
-- exact, since sums are of small integers.
describe("large tensors", function()
  local ROWS, COLUMNS, PLACES = 60, 1300, 700

  -- Ids along dim of [ROWS, COLUMNS], and each one's place in the flattened tensor.
  local function ids_along(dim)
    local size = dim == 1 and { PLACES, COLUMNS } or { ROWS, PLACES }
    local ids = lucerna.randint(1, (dim == 1 and ROWS or COLUMNS) + 1, size)
    local row = dim == 1 and ids or lucerna.arange(1, ROWS + 1):view(ROWS, 1):expand(size)
    local column = dim == 2 and ids or lucerna.arange(1, COLUMNS + 1):expand(size)
    return ids, ((row - 1) * COLUMNS + column):reshape(-1)
  end

  local function whole(size) return lucerna.randint(-9, 10, size, { dtype = lucerna.float32 }) end

  it("are stacked element by element", function()
    for _, dtype in ipairs { "float32", "uint8", "float64", "complex64", "complex128" } do
      for _, n in ipairs { 2, 3, 4, 5 } do
        for _, size in ipairs { 1, 255, 1300, 70001 } do
          local parts = {}
          for i = 1, n do parts[i] = (lucerna.arange(size) * 7 + i):to(dtype) end
          local all = lucerna.stack(parts, -1)
          for i = 1, n do assert.is_true(all:select(-1, i):equal(parts[i])) end
        end
      end
    end
  end)

  it("have their rows copied from anywhere", function()
    for _, size in ipairs { { 40, 70, 100 }, { 5, 3, 64 }, { 3, 2, 63 }, { 2, 2, 67 } } do
      local a, b, c = table.unpack(size)
      local x = lucerna.arange(0.0, a * b * c):view(a, b, c)
      local function counted(first, second) -- x's numbers by row and plane
        return first:view(-1, 1, 1) + second:view(1, -1, 1) + lucerna.arange(0.0, c)
      end
      local planes, rows = lucerna.arange(0.0, a) * (b * c), lucerna.arange(0.0, b) * c
      assert.is_true(x:transpose(1, 2):contiguous():equal(counted(rows, planes)))
      assert.is_true(x:flip(2):equal(counted(planes, rows:flip(1))))
      assert.is_true(x:double():flip(1, 2):equal(counted(planes:flip(1), rows:flip(1)):double()))
      assert.is_true(x:transpose(1, 2)[{ {}, {}, { 2, -1 } }]:contiguous()
        :equal(counted(rows, planes)[{ {}, {}, { 2, -1 } }]))
      assert.is_true(x[{ {}, { 1, 1 }, {} }]:expand(a, 9, c):contiguous()
        :equal(counted(planes, lucerna.zeros(9))))
    end
  end)

  it("are reversed, whatever their length", function()
    for _, dtype in ipairs { "bool", "uint8", "int16", "bfloat16", "float32", "complex128" } do
      for columns = 1, 68 do
        local x = (lucerna.randint(0, 100, { 2, 3, columns }) % 3):to(dtype)
        local backwards = lucerna.arange(columns, 0, -1)
        assert.is_true(x:flip(3):equal(x:index_select(3, backwards)))
        assert.is_true(x:flip(2, 3):equal(x:flip(2):index_select(3, backwards)))
      end
    end
  end)

  it("are put into in place, also from what they hold", function()
    local n = 300000
    local x, ids = lucerna.arange(1.0, n + 1), lucerna.arange(n, 0, -1)
    assert.is_true(x:clone():put_(ids, x):equal(x:flip(1)))
    assert.is_true(x:clone():put_(ids - n - 1, x):equal(x:flip(1))) -- from the end
    local own = x:clone()
    assert.is_true(own:put_(ids, own):equal(x:flip(1)))
    local turned = lucerna.arange(1.0, 7):view(2, 3):t()
    turned:put_(lucerna.tensor { 2, 6 }, lucerna.tensor { 10.0, 20 })
    assert.same({ { 1, 10 }, { 2, 5 }, { 3, 20 } }, turned:tolist())
    ids[n] = n + 1
    for _, accumulate in ipairs { false, true } do
      assert.has_error(function() own:put_(ids, x, accumulate) end)
      assert.is_true(own:equal(x:flip(1)))
    end
  end)

  for dim = 1, 2 do
    it("are gathered and scattered along dimension " .. dim, function()
      local x, ids, places = whole { ROWS, COLUMNS }, ids_along(dim)
      local flat, y = x:reshape(-1), whole(ids.shape)
      assert.is_true(x:gather(dim, ids):reshape(-1):equal(flat:index_select(1, places)))
      local sums = (places - 1):bincount(y:reshape(-1), ROWS * COLUMNS):float()
      assert.is_true(x:scatter_add(dim, ids, y):reshape(-1):equal(flat + sums))
      local last = flat:clone()
      for i, v in ipairs(y:reshape(-1):tolist()) do
        if i % 97 == 0 then last[places[i]] = v end
      end
      local some = lucerna.arange(97, places:numel() + 1, 97)
      assert.is_true(flat:index_copy(1, places[some], y:reshape(-1)[some]):equal(last))
      assert.is_true(flat:put(places, y:reshape(-1)):equal(x:scatter(dim, ids, y):reshape(-1)))
    end)

    it("give and take slices along dimension " .. dim, function()
      local x, size = whole { ROWS, COLUMNS }, dim == 1 and ROWS or COLUMNS
      local ids = lucerna.randint(1, size + 1, { PLACES })
      local wide = (dim == 1 and ids:view(-1, 1) or ids):expand(
        dim == 1 and { PLACES, COLUMNS } or { ROWS, PLACES })
      local y = whole(wide.shape)
      for _, index in ipairs { wide, wide:contiguous() } do
        assert.is_true(x:index_select(dim, ids):equal(x:gather(dim, index)))
        assert.is_true(x:index_add(dim, ids, y):equal(x:scatter_add(dim, index, y)))
        assert.is_true(x:index_copy(dim, ids, y):equal(x:scatter(dim, index, y)))
        assert.is_true(x:index_fill(dim, ids, 5):equal(x:scatter(dim, index, 5)))
      end
    end)
  end

  it("are read, counted and filled by masks", function()
    local x, limit = whole { ROWS, COLUMNS }, 3
    local mask, picked, rows = x:gt(limit), {}, {}
    for i, v in ipairs(x:reshape(-1):tolist()) do
      if v > limit then
        picked[#picked + 1] = v
        rows[#rows + 1] = { (i - 1) // COLUMNS + 1, (i - 1) % COLUMNS + 1 }
      end
    end
    assert.same(picked, x[mask]:tolist())
    assert.same(rows, mask:nonzero():tolist())
    assert.is_true(x:masked_fill(mask, 0):equal(x * mask:logical_not()))
    assert.is_true(x:masked_scatter(mask, x[mask] * 2):equal(x + x * mask))
  end)

  it("are filled by masks in views as in copies, and nothing beside them", function()
    local mask = lucerna.rand(7, 5, 3):gt(0.5)
    for _, name in ipairs { "float32", "float64", "bfloat16", "int64", "uint8", "bool",
      "complex64", "complex128" } do
      local base = lucerna.randint(0, 2, { 6, 9, 8 }):to(lucerna[name])
      if base:is_floating_point() then base[{ 2, 3, 4 }] = 0 / 0 end
      local function views(t)
        return { t[{ { 1, 3 }, { 2, 6 }, { 1, 7 } }]:permute(3, 2, 1),
          t[{ { 2, 4 }, { 1, 5 }, { 2, 8 } }]:transpose(1, 3),
          t[{ { 1, 3 }, { 1, 7 }, { 1, 5 } }]:permute(2, 3, 1),
          t[{ { 1, -1, 2 }, { 2, 8 }, { 1, 5 } }]:permute(2, 3, 1) }
      end
      for i, view in ipairs(views(base)) do
        local want, got = base:clone(), base:clone()
        views(want)[i]:copy_(view:contiguous():masked_fill(mask, 1))
        views(got)[i]:masked_fill_(mask, 1)
        assert.same(want:tostring("raw"), got:tostring("raw"), name .. i)
      end
    end
  end)

  it("of every width are picked by masks of any length, full or not", function()
    for _, n in ipairs { 0, 1, 7, 8, 15, 16, 17, 63, 1000, 16384, 16390, 40001 } do
      for _, share in ipairs { 0, 0.02, 0.5, 0.97, 1 } do
        local mask, places = lucerna.rand(n):lt(share), {}
        for i, set in ipairs(mask:tolist()) do
          if set then places[#places + 1] = i end
        end
        assert.same(places, mask:nonzero():reshape(-1):tolist())
        places = lucerna.tensor(places, { dtype = lucerna.int64 })
        for _, dtype in ipairs { "uint8", "int16", "float32", "int64", "complex128" } do
          local x = lucerna.arange(n):remainder(100):to(lucerna[dtype])
          local picked = x:masked_select(mask)
          assert.is_true(picked:equal(x:index_select(1, places)))
          assert.is_true(picked:equal(x[mask]))
        end
      end
    end
  end)

  it("are counted", function()
    local ids = lucerna.randint(0, 900, { 200000 })
    local counts = ids:bincount { minlength = 900 }
    assert.is_true(counts:float():equal(ids:float():histc(900, 0, 900)))
    assert.is_true(counts:equal(lucerna.zeros(900, { dtype = lucerna.int64 }):index_add(1, ids + 1,
      lucerna.ones_like(ids))))
  end)

  it("are added as whole numbers to whole numbers, as PyTorch does", function()
    local zeros, ids = lucerna.zeros(3, { dtype = lucerna.int64 }), lucerna.tensor { 1, 2 }
    local ones = lucerna.ones(2, { dtype = lucerna.int64 })
    assert.same({ 1, 1, 0 }, zeros:index_add(1, ids, ones, { alpha = 1.5 }):tolist())
    assert.same({ -2, -2, 0 }, zeros:index_add(1, ids, ones, { alpha = -2.9 }):tolist())
  end)

  it("are left as they were by a position out of range", function()
    local ids = lucerna.randint(1, ROWS + 1, { 70000 })
    for _, bad in ipairs { 0, ROWS + 1, -1 } do
      local x, y = lucerna.zeros(ROWS), lucerna.ones(70000)
      ids[69999] = bad
      for _, call in ipairs { "scatter_add_", "index_add_", "index_copy_", "scatter_" } do
        parity.refused("index %-?" .. math.abs(bad) .. " is out of range %[1, 60%]",
          x[call], x, 1, ids, y)
      end
      assert.is_true(x:equal(lucerna.zeros(ROWS)))
      parity.refused("gather: index .* is out of range", x.gather, x, 1, ids)
    end
  end)
end)

-- Positions that all rows share lead to rows, which are combined by vectors where they are even.
describe("rows", function()
  local combine = {
    sum = function(a, b) return a + b end,
    prod = function(a, b) return a * b end,
    amax = math.max,
    amin = math.min,
  }
  local names = { "sum", "prod", "amax", "amin" }
  local dtypes = { "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8",
    "uint8" }

  -- A row of x and a row of source for each position, added up, multiplied, …
  local function expected(x, index, source, f)
    local rows = x:tolist()
    for k, to in ipairs(index:tolist()) do
      for c, v in ipairs(source[k]:tolist()) do rows[to][c] = f(rows[to][c], v) end
    end
    return rows
  end

  for _, dtype in ipairs(dtypes) do
    it("of " .. dtype .. " are added, multiplied and compared", function()
      for _, columns in ipairs { 1, 2, 15, 33, 300 } do
        local index = lucerna.tensor({ 3, 1, 3, 2, 3 })
        local x = lucerna.randint(0, 3, { 4, columns }):to(lucerna[dtype])
        local source = lucerna.randint(0, 3, { 5, columns }):to(lucerna[dtype])
        for _, name in ipairs(names) do
          local want = expected(x, index, source, combine[name])
          local wide = index:unsqueeze(-1):expand(5, columns)
          assert.same(want, x:scatter_reduce(1, wide, source, name):tolist())
          local turned = x:t():contiguous():t()
          assert.same(want, turned:scatter_reduce(1, wide, source, name):tolist())
          if name == "sum" then
            assert.same(want, x:index_add(1, index, source):tolist())
          else
            assert.same(want, x:index_reduce(1, index, source, name):tolist())
          end
        end
      end
    end)
  end

  it("of rows with gaps, turned or repeated are those of the same without", function()
    for _, dtype in ipairs { "float32", "float16", "int64", "bool" } do
      for _, size in ipairs { { 3, 2 }, { 400, 4 }, { 60, 50 }, { 2, 700 } } do
        local rows, columns = size[1], size[2]
        local whole = lucerna.arange(2 * rows * columns):remainder(7):to(lucerna[dtype])
        local index = lucerna.randint(1, rows + 1, { rows })
        local x = lucerna.ones(rows, columns):to(lucerna[dtype])
        for _, source in ipairs {
          whole:view(rows, 2 * columns)[{ {}, { 1, -1, 2 } }],
          whole:narrow(1, 1, rows * columns):view(columns, rows):t(),
          whole:narrow(1, 1, rows):view(rows, 1):expand(rows, columns),
        } do
          for _, name in ipairs { "index_add", "index_copy" } do
            local want = x[name](x, 1, index, source:contiguous())
            assert.is_true(x[name](x, 1, index, source):equal(want), name .. dtype)
          end
        end
      end
    end
  end)

  it("keep NaN", function()
    local x, nan = lucerna.zeros(3, 20), 0 / 0
    x[1][20], x[2][1] = nan, nan
    local source = lucerna.ones(2, 20)
    source[1][3] = nan
    local index = lucerna.tensor({ 1, 2 })
    for _, name in ipairs { "amax", "amin" } do
      local y = x:index_reduce(1, index, source, name)
      assert.same({ { 1, 3 }, { 1, 20 }, { 2, 1 } }, y:isnan():nonzero():tolist())
    end
  end)

  it("are one where each has one position", function()
    for _, n in ipairs { 0, 1, 7, 513, 1100 } do
      local x, index = lucerna.randn(n, 3), lucerna.randint(1, 4, { n, 1 })
      local picked = x:gather(2, index)
      local put = x:scatter(2, index, picked + 1)
      local added = x:scatter_add(2, index, lucerna.ones(n, 1))
      for i = 1, n do
        local at = index[i][1]:item()
        assert.equal(x[i][at]:item(), picked[i][1]:item())
        assert.equal((picked[i][1] + 1):item(), put[i][at]:item())
      end
      assert.is_true(lucerna.allclose(put, added))
    end
  end)
end)

describe("index tensors", function()
  it("may be what is written", function()
    local x = lucerna.tensor { 3, 1, 2 }
    x:scatter_(1, x, lucerna.tensor { 10, 20, 30 })
    assert.same({ 20, 30, 10 }, x:tolist())
    x = lucerna.tensor { 2, 3, 1 }
    x[x] = lucerna.tensor { 100, 200, 300 }
    assert.same({ 300, 100, 200 }, x:tolist())
  end)

  it("must not change before the backward pass", function()
    local x = lucerna.tensor({ 1.0, 2.0 }, { requires_grad = true })
    local ids = lucerna.tensor { 2 }
    local y = x:gather(1, ids)
    ids[1] = 1
    parity.refused("has been modified by an inplace operation", y.backward, y)
  end)
end)

-- Copies whose rows are short, joined or taken apart: places beside the same by arithmetic.
describe("short rows", function()
  for _, name in ipairs { "int8", "int16", "float32", "int64", "complex128" } do
    local function numbers(from, n) return lucerna.arange(from, from + n):remainder(100) end
    local function as(t) return t:to(lucerna[name]) end
    local COUNT = 2500

    it("are joined: " .. name, function()
      for parts = 1, 5 do
        local list, line = {}, numbers(3, COUNT)
        for i = 1, parts do list[i] = as(line + i) end
        local whole = as(line:unsqueeze(2) + lucerna.arange(1, parts + 1))
        assert.is_true(lucerna.stack(list, 2):equal(whole))
        list[#list + 1] = whole
        assert.is_true(lucerna.cat({ whole, list[1]:unsqueeze(2), whole }, 2):equal(
          whole:index_select(2, lucerna.cat { lucerna.arange(1, parts + 1), lucerna.tensor { 1 },
            lucerna.arange(1, parts + 1) })))
      end
    end)

    it("are copied: " .. name, function()
      local line = numbers(1, COUNT)
      for width = 1, 9 do
        local windows = as(line):unfold(1, width, 4):contiguous()
        local first = lucerna.arange(0, windows:size(1)):unsqueeze(2) * 4
        assert.is_true(windows:equal(as(line)[first + lucerna.arange(1, width + 1)]))
        local wide = as(line):unsqueeze(2):expand(COUNT, width)
        assert.is_true(wide:contiguous():equal(as(line):repeat_interleave(width):view(-1, width)))
        assert.is_true(wide:t():contiguous():equal(as(line)["repeat"](as(line), width, 1)))
      end
      assert.is_true(as(line):flip(1):equal(as(line)[lucerna.arange(COUNT, 0, -1)]))
    end)
  end
end)

describe("runs", function()
  local function expected(list)
    local values, which, lengths = {}, {}, {}
    for i, v in ipairs(list) do
      if i == 1 or v ~= list[i - 1] then
        values[#values + 1], lengths[#values + 1] = v, 0
      end
      which[i], lengths[#values] = #values, lengths[#values] + 1
    end
    return values, which, lengths
  end

  for _, dtype in ipairs { "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16",
    "int8", "uint8", "bool" } do
    it("of " .. dtype, function()
      for _, n in ipairs { 0, 1, 2, 511, 512, 513, 16384, 16385, 33000 } do
        local x = lucerna.randint(0, 2, { n }):to(lucerna[dtype])
        local values, which, lengths = expected(x:tolist())
        local got, at, often = x:unique_consecutive(true, true)
        assert.same(values, got:tolist())
        assert.same(which, at:tolist())
        assert.same(lengths, often:tolist())
        assert.same(values, x:unique_consecutive():tolist())
      end
    end)
  end

  for _, dtype in ipairs { "float32", "float64", "float16", "bfloat16" } do
    it("of zeros and NaN in " .. dtype, function()
      local nan = 0 / 0
      local x = lucerna.tensor({ 0, -0.0, nan, nan, 1, 1 }):to(lucerna[dtype])
      local values, _, lengths = x:unique_consecutive(true, true)
      assert.same({ 2, 1, 1, 2 }, lengths:tolist())
      assert.same({ false, true, true, false }, values:isnan():tolist())
    end)
  end
end)

-- Positions across rows that are far apart are written in blocks of columns.
describe("positions across long rows", function()
  for _, columns in ipairs { 511, 512, 513, 1300 } do
    it("are written in " .. columns .. " columns", function()
      local rows = 300
      local x = lucerna.randint(-9, 10, { 2, rows, columns }):float()
      local ids = lucerna.randint(1, rows + 1, { 2, rows + 7, columns })
      local y = lucerna.randint(-9, 10, { 2, rows + 7, columns }):float()
      local turned = x:transpose(2, 3):contiguous()
      local across, values = ids:transpose(2, 3), y:transpose(2, 3)
      assert.is_true(x:scatter(2, ids, y):transpose(2, 3):equal(turned:scatter(3, across, values)))
      assert.is_true(x:scatter_add(2, ids, y):transpose(2, 3)
        :equal(turned:scatter_add(3, across, values)))
      for _, self in ipairs { true, false } do
        assert.is_true(x:scatter_reduce(2, ids, y, "amax", { include_self = self }):transpose(2, 3)
          :equal(turned:scatter_reduce(3, across, values, "amax", { include_self = self })))
      end
      local wide = lucerna.zeros(2, rows, columns + 5)
      wide[{ {}, {}, { 3, columns + 2 } }]:copy_(x)
      local part = wide[{ {}, {}, { 3, columns + 2 } }]
      assert.equal(part, part:scatter_(2, ids, y))
      assert.is_true(part:equal(x:scatter(2, ids, y)))
      assert.equal(0, wide[{ {}, {}, { 1, 2 } }]:abs():sum():item())
      assert.equal(0, wide[{ {}, {}, { columns + 3, -1 } }]:abs():sum():item())
      ids[2][rows][columns] = rows + 1
      parity.refused("out of range", function() return x:scatter(2, ids, y) end)
    end)
  end

  it("may be none", function()
    local x = lucerna.randn(4, 600)
    assert.is_true(x:equal(x:scatter(1, lucerna.ones(0, 600, { dtype = lucerna.int64 }), 5)))
    local ids = lucerna.tensor({ 3, 1, 2 })
    local kept = ids:scatter(1, lucerna.tensor({ 2, 1, 3 }), lucerna.tensor({ 1, 2, 3 }))
    assert.same({ 2, 1, 3 }, kept:tolist())
    assert.same({ 10, 20, 30 }, lucerna.tensor({ 20, 10, 30 })[kept]:tolist())
  end)
end)

-- Lines across rows are turned, as many as fill a line of the cache.
describe("lines across rows", function()
  local function same(x, name, ...)
    local values, places = x[name](x, ...)
    local turned = x:transpose(2, 3):contiguous()
    local arguments = { ... }
    for i, v in ipairs(arguments) do if v == 2 then arguments[i] = 3 end end
    local wanted, at = turned[name](turned, table.unpack(arguments))
    if values:dim() == 3 then wanted, at = wanted:transpose(2, 3), at:transpose(2, 3) end
    assert.is_true(wanted:equal(values))
    assert.is_true(at:equal(places))
  end

  for _, dtype in ipairs { "float32", "float64", "float16", "int64", "int16", "uint8" } do
    it("of " .. dtype .. " are sorted and looked through", function()
      for _, size in ipairs { { 2, 70, 1 }, { 3, 9, 2 }, { 2, 70, 15 }, { 1, 200, 17 },
        { 2, 70, 130 }, { 1, 9000, 5 } } do
        local x = lucerna.randint(0, 100, size):to(lucerna[dtype])
        same(x, "sort", 2)
        same(x, "sort", 2, true)
        same(x, "topk", 5, 2)
        same(x, "median", 2)
        same(x, "kthvalue", 7, 2)
        same(x, "mode", 2)
      end
    end)
  end

  it("unravels positions of shapes that no tensor has", function()
    local places = lucerna.unravel_index(lucerna.tensor {7}, {math.maxinteger, 2, 2})
    assert.same({{2}, {2}, {1}}, {places[1]:tolist(), places[2]:tolist(), places[3]:tolist()})
  end)

  it("takes few elements from what has gaps without laying it out", function()
    local few = lucerna.tensor {{1, -1, 7}, {-2000, 2000, 1234}}
    local past = "take: index 2001 is out of range [1, 2000] (indices count from 1)"
    local x = lucerna.randn(100, 5, 40)
    local wide = x[{{1, 10}}]
    for _, t in ipairs {wide:transpose(1, 3), x[{{1, -1, 10}, {1, 1}}]:expand(10, 5, 40),
      wide:to(lucerna.int64):permute(2, 3, 1)} do
      assert.is_true(t:take(few):equal(t:contiguous():take(few)))
      assert.has_error(function() t:take(lucerna.tensor {2001}) end, past)
    end
    local leaf = lucerna.randn(40, 50):requires_grad_()
    leaf:t():take(few):sum():backward()
    assert.same({6, 1}, {leaf.grad:sum():item(), leaf.grad:t():flatten()[1234]:item()})
  end)
end)

describe("index_add", function()
  it("of truths takes its factor as one", function()
    local x, add = lucerna.tensor {false, true, false}, lucerna.tensor {true, false}
    local ids = lucerna.tensor {1, 2}
    assert.same({true, true, false}, x:index_add(1, ids, add, {alpha = 2}):tolist())
    assert.same({false, true, false}, x:index_add(1, ids, add, {alpha = 0}):tolist())
  end)
end)
