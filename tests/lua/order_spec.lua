-- Sorting and what is found by it: short lines, long lines.
local lucerna = require "lucerna"
local parity = require "parity"

-- Lines of few elements are sorted beside each other; the same among larger ones, one by one.
describe("a short line", function()
  it("is sorted as the first part of a long one", function()
    local lengths = { 40, 63, 64, 65, 77, 100, 127, 128 }
    for n = 1, 33 do table.insert(lengths, n) end
    for _, n in ipairs(lengths) do
      local x = lucerna.randint(0, 9, { 3, n, 37 }, { dtype = lucerna.float32 })
      local long = lucerna.cat({ x, lucerna.full({ 3, 130, 37 }, 9) }, 2)
      for _, turned in ipairs { false, true } do
        if turned then -- and so far apart that no place fits beside a key
          x, long = x:double():mul(1e300), long:double():mul(1e300)
          x, long = x:transpose(2, 3):contiguous(), long:transpose(2, 3)
        end
        local d = turned and 3 or 2
        local values, at = long:contiguous():sort(d)
        assert.is_true((x:sort(d)):equal(values:narrow(d, 1, n)))
        for k = 1, n, n > 33 and 31 or 5 do
          local v, i = x:topk(k, d, false)
          assert.is_true(v:equal(values:narrow(d, 1, k)) and i:equal(at:narrow(d, 1, k)))
          v, i = x:kthvalue(k, d)
          assert.is_true(v:equal(values:select(d, k)) and i:equal(at:select(d, k)))
        end
        assert.is_true((x:median(d)):equal(values:select(d, (n + 1) // 2)))
        local holed = x:masked_fill(x:eq(turned and 4e300 or 4), 0 / 0)
        local v, i = holed:median(d)
        assert.is_true(v:isnan():equal(holed:isnan():any(d)))
        assert.is_true(holed:gather(d, i:unsqueeze(d)):squeeze(d):isnan():equal(v:isnan()))
      end
    end
  end)
end)

describe("a line of one element again and again", function()
  it("is in order", function()
    for _, dtype in ipairs { "float32", "bfloat16", "int64", "bool" } do
      local x = lucerna.randint(0, 9, { 4, 1, 5 }):to(lucerna[dtype]):expand(4, 7, 5)
      local copy = x:contiguous()
      for _, largest in ipairs { true, false } do
        local values, at = x:sort(2, largest)
        assert.is_true(values:equal(copy) and at:equal((select(2, copy:sort(2, largest)))))
        assert.is_true(x:argsort(2, largest):equal(at))
        values, at = x:topk(3, 2, largest)
        assert.is_true(values:equal(copy:narrow(2, 1, 3)))
        assert.is_true(at:equal((select(2, copy:topk(3, 2, largest)))))
      end
    end
  end)
end)

-- Long lines are not sorted where a part of them is enough; the same beside a whole sort.
describe("a long line", function()
  local N = 30000
  local function lines()
    local few = lucerna.randint(0, 50, { N }, { dtype = lucerna.float32 })
    local holed = lucerna.randn(N)
    holed[lucerna.randint(1, N + 1, { 20 })] = 0 / 0
    return { lucerna.randn(N), few, holed, lucerna.arange(N), lucerna.arange(N, 0, -1):double(),
      few:int(), few:bool(), lucerna.ones(N), lucerna.randn(N):exp():half() }
  end

  it("gives its first ones and any one", function()
    for i, x in ipairs(lines()) do
      for _, k in ipairs { 1, 7, 33, 1000, N // 8, N - 1 } do
        for _, largest in ipairs { true, false } do
          local places = x:argsort { dim = 1, descending = largest, stable = true }
          local _, at = x:topk(k, 1, largest)
          assert.is_true(at:equal(places:narrow(1, 1, k)), i .. " topk " .. k)
        end
        local places = x:argsort { dim = 1, stable = true }
        local _, at = x:kthvalue(k, 1)
        assert.equal(places[k]:item(), at:item(), i .. " kthvalue " .. k)
      end
      local nan = x:isnan():nonzero():reshape(-1)
      local place = nan:numel() > 0 and nan[1] or x:argsort { stable = true }[(N + 1) // 2]
      assert.equal(place:item(), select(2, x:median(1)):item(), i .. " median")
    end
  end)

  it("gives its median, with and without what is not a number", function()
    local x, nan = lucerna.randn(20001), 0 / 0
    local sorted, order = x:sort()
    local function same(value, at, place)
      assert.equal(sorted[place]:item(), value:item())
      assert.equal(order[place]:item(), at:item())
    end
    local value, at = x:nanmedian(1)
    same(value, at, 10001)
    x[order[20001]:item()], x[order[20000]:item()], x[order[19999]:item()] = nan, nan, nan
    value, at = x:nanmedian(1)
    same(value, at, 9999)
    value, at = x:median(1)
    assert.is_true(value:isnan():item())
    assert.equal(math.min(table.unpack(order[{ { 19999, 20001 } }]:tolist())), at:item())
    value, at = lucerna.full({ 10000 }, nan):nanmedian(1)
    assert.is_true(value:isnan():item())
    assert.equal(1, at:item())
  end)

  it("gives its distinct elements", function()
    for i, x in ipairs(lines()) do
      local values, inverse, counts = x:unique { return_inverse = true, return_counts = true }
      local seen, order = {}, {}
      for _, v in ipairs(x:tolist()) do
        if v == v and not seen[v] then order[#order + 1] = v end
        if v == v then seen[v] = (seen[v] or 0) + 1 end
      end
      table.sort(order, function(a, b)
        if type(a) == "boolean" then return not a and b end
        return a < b
      end)
      local got, often, same = values:tolist(), counts:tolist(), true
      for j, v in ipairs(order) do same = same and v == got[j] and seen[v] == often[j] end
      assert.is_true(same, i)
      local back = values[inverse]
      assert.is_true((back:eq(x):logical_or(x:isnan())):all():item(), i)
      local runs, which, lengths = x:unique_consecutive {
        return_inverse = true, return_counts = true }
      assert.is_true((runs[which]:eq(x):logical_or(x:isnan())):all():item(), i)
      assert.equal(N, lengths:sum():item())
      assert.is_true(runs:repeat_interleave(lengths):eq(x):logical_or(x:isnan()):all():item(), i)
      assert.is_true(select(2, x:unique { return_counts = true }):equal(counts), i)
      assert.is_true(select(2, x:unique_consecutive { return_counts = true }):equal(lengths), i)
    end
  end)

  it("is searched", function()
    for i, x in ipairs(lines()) do
      if not x:isnan():any():item() then
        local bounds, values = (x[{ { 1, 3000 } }]:sort()), x[{ { 2000, 6000 } }]
        for _, right in ipairs { false, true } do
          local at = lucerna.searchsorted(bounds, values, { right = right }) - 1
          local below = bounds:unsqueeze(1):lt(values:unsqueeze(2))
          if right then below = bounds:unsqueeze(1):le(values:unsqueeze(2)) end
          assert.is_true(at:equal(below:sum(2)), i)
        end
      end
    end
  end)

  it("is searched in rows, however many are looked for in each", function()
    for _, dtype in ipairs { "float32", "float64", "int64" } do
      for n = 1, 35 do
        local x = lucerna.randint(0, 50, { 31, 1 + n % 7 * 3 }):sort():to(lucerna[dtype])
        local y = lucerna.randint(-1, 51, { 31, n }):to(lucerna[dtype])
        for _, right in ipairs { false, true } do
          local bound, value = x:unsqueeze(2), y:unsqueeze(3)
          local below = right and bound:le(value) or bound:lt(value)
          local at = lucerna.searchsorted(x, y, { right = right }) - 1
          assert.is_true(at:equal(below:sum(3)), dtype .. n)
        end
      end
    end
  end)

  -- PyTorch goes on behind a bound unless that is not below (right: above), which NaN never is.
  local function halved(bounds, value, right)
    local low, high = 1, #bounds + 1
    while low < high do
      local middle = (low + high) // 2
      local above = bounds[middle] >= value
      if right then above = bounds[middle] > value end
      if above then high = middle else low = middle + 1 end
    end
    return low
  end

  it("is searched by halves in PyTorch's order, whatever it holds", function()
    local nan = 0 / 0
    local function check(bounds, values, right)
      local want = {}
      for i, v in ipairs(values:tolist()) do want[i] = halved(bounds:tolist(), v, right) end
      local few = lucerna.searchsorted(bounds:unsqueeze(1), values:unsqueeze(1), { right = right })
      assert.same(want, lucerna.searchsorted(bounds, values, { right = right }):tolist())
      assert.same(want, few[1]:tolist())
      local three = values[{ { 1, math.min(3, #want) } }]:expand(100, -1)
      local rows = lucerna.searchsorted(bounds:expand(100, -1), three, { right = right })
      assert.is_true(rows:eq(lucerna.tensor { table.unpack(want, 1, 3) }):all():item())
      assert.same(want[1], lucerna.searchsorted(bounds:unsqueeze(1), values[{ { 1, 1 } }]
        :unsqueeze(1), { right = right }):item())
    end
    for _, right in ipairs { false, true } do
      for _, dtype in ipairs { "float32", "float64", "float16", "bfloat16", "int64" } do
        for m = 0, 40 do
          local x, y = lucerna.randint(0, 9, { m }), lucerna.randint(-1, 10, { 37 })
          if m % 2 == 0 then x = x:sort() end
          x, y = x:to(lucerna[dtype]), y:to(lucerna[dtype])
          check(x, y, right)
          if dtype ~= "int64" then
            for _ = 1, m // 4 do x[lucerna.randint(1, m + 1, {}):item()] = nan end
            y[1], y[3], y[36] = nan, math.huge, -math.huge
            check(x, y, right)
          end
        end
      end
      local sorted = lucerna.cat { lucerna.arange(3000.), lucerna.full({ 100 }, nan) }
      check(sorted, lucerna.tensor { 1500., nan, 2999, 3000 }, right)
      check(sorted, lucerna.tensor { nan }, right)
    end
  end)

  it("of some hundred elements gives the first that a stable sort does", function()
    for _, n in ipairs { 127, 128, 300, 593, 1999 } do
      for _, dtype in ipairs { "float32", "float64", "bfloat16", "int64", "int32", "uint8" } do
        local x = lucerna.randint(0, 50, { 4, n }):to(lucerna[dtype])
        if x:is_floating_point() then x[{ 2, { 1, n // 4 } }] = 0 / 0 end
        x[3] = lucerna.randint(-40000, 40000, { n }):to(lucerna[dtype])
        x[4] = lucerna.arange(n):to(lucerna[dtype])
        if dtype == "int64" then x[{ 3, 9 }], x[{ 3, 8 }] = math.mininteger, math.maxinteger end
        for _, k in ipairs { 12, 18, 31, 32, 33, 40, 64, 65, n // 2 } do
          for _, largest in ipairs { true, false } do
            local _, at = x:topk(k, { largest = largest })
            local _, order = x:sort { descending = largest, stable = true }
            assert.is_true(at:equal(order:narrow(2, 1, k)))
          end
        end
      end
    end
  end)

  it("gathers along lines of elements far apart", function()
    local x = lucerna.randn(130, 300):t()
    for _, rows in ipairs { 299, 300 } do
      local at = lucerna.randint(1, 131, { rows, 130 })
      assert.is_true(x:gather(2, at):equal(x:contiguous():gather(2, at)))
    end
    parity.refused("index 131 is out of range", x.gather, x, 2, lucerna.full({ 300, 130 }, 131))
  end)

  it("searches few boundaries, and those at the ends of int64", function()
    for m = 0, 5 do
      local bounds = { math.mininteger, -1, 0, 0, math.maxinteger }
      bounds = lucerna.tensor({ table.unpack(bounds, 1, m) }, { dtype = lucerna.int64 })
      for _, n in ipairs { 0, 1, 15, 16, 17, 33 } do
        local values = lucerna.arange(n) - 8
        if n > 0 then values[1], values[n] = math.mininteger, math.maxinteger end
        for _, right in ipairs { false, true } do
          local at = lucerna.bucketize(values, bounds, { right = right }) - 1
          local below = bounds:unsqueeze(1):lt(values:unsqueeze(2))
          if right then below = bounds:unsqueeze(1):le(values:unsqueeze(2)) end
          assert.is_true(at:equal(below:sum(2)), m .. " " .. n)
        end
      end
    end
  end)

  it("finds a rank in lines that repeat, rise or fall", function()
    local shapes = {
      function(i) return i % 1000 end, function(i) return i end, function(i) return -i end,
      function(i) return i % 2 end, function(i) return i % 64 == 0 and i or -i end,
    }
    for _, n in ipairs { 40, 1999, 5003 } do
      for _, shape in ipairs(shapes) do
        local line = {}
        for i = 1, n do line[i] = shape(i) end
        local x = lucerna.tensor(line, { dtype = lucerna.float32 })
        table.sort(line)
        for _, k in ipairs { 1, 2, n // 3, n - 2, n } do
          local value, at = x:kthvalue(k)
          assert.equal(line[k], value:item())
          assert.equal(line[k], x[at:item()]:item())
        end
        assert.equal(line[(n + 1) // 2], x:median():item())
      end
    end
  end)

  it("finds a rank, and the first place of it, among many equals", function()
    for _, n in ipairs { 5000, 300000 } do
      for _, name in ipairs { "float32", "float64", "int64", "uint8" } do
        local x = lucerna.full({ n }, 7):to(lucerna[name])
        x[{ { 1, 10 } }], x[{ { 11, 30 } }] = 3, 9
        for k, place in pairs { [1] = 1, [10] = 10, [11] = 31, [n // 2] = n // 2 + 20,
          [n - 20] = n, [n - 19] = 11, [n] = 30 } do
          local value, at = x:kthvalue(k)
          assert.equal(k <= 10 and 3 or k > n - 20 and 9 or 7, value:item())
          assert.equal(place, at:item())
        end
        assert.equal(7, x:median():item())
      end
      local x = lucerna.full({ n }, -0.0)
      x[n // 2] = 0 / 0
      local value, at = x:nanmedian(1)
      assert.equal(-1 / 0, 1 / value:item())
      assert.equal(n // 2 + 1, at:item())
      assert.equal(n // 2, select(2, x:median(1)):item())
    end
  end)

  -- Where vectors drop what is not wanted, lines are sampled from 2^18 elements on only.
  it("finds ranks and the first ones of long lines of any type", function()
    lucerna.manual_seed(7)
    for _, n in ipairs { 4096, 10001, 262144 } do
      for _, name in ipairs { "float32", "float64", "int64" } do
        local x = (lucerna.randn(n):double() * 1e4):to(lucerna[name])
        local rising, falling = x:sort(), x:sort(-1, true)
        for _, k in ipairs { 1, n // 3, n } do
          local value, at = x:kthvalue(k)
          assert.is_true(value:equal(rising[k]), name .. n)
          assert.is_true(value:equal(x[at:item()]), name .. n)
        end
        assert.is_true(x:median():equal(rising[(n + 1) // 2]), name .. n)
        for _, k in ipairs { 40, n // 10 } do
          local values, at = x:topk(k)
          assert.is_true(values:equal(falling[{ { 1, k } }]), name .. n)
          assert.is_true(values:equal(x:index_select(1, at)), name .. n)
        end
      end
    end
  end)
end)

describe("integers about zero", function()
  it("are sorted as floats are, ties in order", function()
    lucerna.manual_seed(5)
    for _, low in ipairs {-100, -40000, -2147483648, 0, -3} do
      for _, name in ipairs {"int16", "int32", "int64"} do
        local high = -low + 1 + (low == 0 and 70000 or 0)
        local x = lucerna.randint(low, high, {3, 500}):to(lucerna[name])
        for _, descending in ipairs {false, true} do
          local have, at = x:sort(2, descending)
          local want, places = x:double():sort(2, descending, {stable = true})
          assert.is_true(have:double():equal(want), name .. low)
          assert.is_true(at:equal(places), name .. low)
        end
        assert.is_true(x:mode(2):double():equal((x:double():mode(2))))
        assert.is_true(x:topk(300, 2):double():equal((x:double():topk(300, 2))))
      end
    end
    local ends = lucerna.tensor({math.mininteger, math.maxinteger, 0, -1}):repeat_interleave(40)
    assert.same({math.mininteger, -1, 0, math.maxinteger},
      (ends:sort())[{ { 1, -1, 40 } }]:tolist())
  end)
end)

-- Keys go above their places in words where both have room, beside them where they have not.
describe("a sort", function()
  local function check(x, d, descending)
    local n = x:size(d)
    local v, at = x:sort { dim = d, descending = descending, stable = true }
    assert.is_true(x:gather(d, at):equal(v))
    local a, b = v:narrow(d, 1, n - 1), v:narrow(d, 2, n - 1)
    local further = at:narrow(d, 2, n - 1):gt(at:narrow(d, 1, n - 1))
    local apart = descending and a:gt(b) or a:lt(b)
    assert.is_true(apart:logical_or(a:eq(b):logical_and(further)):all():item())
    local _, first = x:topk(n - 2, d, descending)
    assert.is_true(first:equal(at:narrow(d, 1, n - 2)))
  end

  it("of any dtype keeps equal ones in order", function()
    for _, n in ipairs { 33, 127, 129, 255, 256, 300, 20000 } do
      for _, reach in ipairs { 1, 100, 2 ^ 15, 2 ^ 31, 2 ^ 50, 2 ^ 62 } do
        local x = lucerna.randint(-(reach // 1 | 0), reach // 1 | 0, { 2, n })
        for _, dtype in ipairs { "uint8", "int8", "int16", "int32", "int64", "bool", "float32",
          "float64", "float16", "bfloat16" } do
          local y = x:to(lucerna[dtype])
          check(y, 2, false)
          check(y, 2, true)
          check(y:t():contiguous(), 1, n % 2 == 0)
        end
      end
    end
  end)
end)
