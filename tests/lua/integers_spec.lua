-- Arithmetic of integers: small ones, of two dtypes, powers and shifts.
local lucerna = require "lucerna"
local parity = require "parity"

describe("small integers", function()
  -- Of every value a dtype has, as many as are asked for, from both ends.
  local function values(dtype, n)
    local info, out = lucerna.iinfo(dtype), {}
    for i = 1, n do out[i] = i % 2 == 0 and info.max - i // 2 + 1 or info.min + i // 2 end
    return lucerna.tensor(out):to(dtype)
  end

  it("give what wide ones give, wrapped around, however many and as they lie", function()
    local calls = {
      abs = function(x) return x:abs() end,
      sign = function(x) return x:sign() end,
      neg = function(x) return -x end,
      relu = function(x) return x:relu() end,
      square = function(x) return x:square() end,
      clamp = function(x) return x:clamp(3, 100) end,
      threshold = function(x) return lucerna.nn.functional.threshold(x, 3, 100) end,
      maximum = function(x) return lucerna.maximum(x, x:flip(1)) end,
      minimum = function(x) return lucerna.minimum(x, x:flip(1)) end,
      sum = function(x) return x + x:flip(1) end,
      difference = function(x) return x - x:flip(1) end,
      product = function(x) return x * x:flip(1) end,
    }
    for _, dtype in ipairs {lucerna.int8, lucerna.uint8, lucerna.int16, lucerna.int32} do
      for _, n in ipairs {1, 2, 31, 32, 63, 64, 65, 130} do
        local x = values(dtype, n)
        local apart = lucerna.stack({x, x}, 2)[{{}, 1}]
        for name, call in pairs(calls) do
          local want = call(x:long()):to(dtype):tolist()
          assert.same(want, call(x):tolist(), name)
          assert.same(want, call(apart):tolist(), name)
        end
      end
    end
  end)

  it("have signs, also at the ends of 64 bits, however many and as they lie", function()
    local some = {math.mininteger, 0, math.maxinteger, -1, 1, 1 << 32, -(1 << 32), (1 << 31) - 1}
    local signs = {-1, 0, 1, -1, 1, 1, -1, 1}
    for _, n in ipairs {1, 3, 4, 5, 15, 16, 17, 33} do
      local x, want = {}, {}
      for i = 1, n do x[i], want[i] = some[(i - 1) % 8 + 1], signs[(i - 1) % 8 + 1] end
      x = lucerna.tensor(x)
      assert.same(want, x:sign():tolist())
      assert.same(want, lucerna.stack({x, x}, 2)[{{}, 1}]:sign():tolist())
    end
  end)

  it("take a threshold and a value that become integers of their dtype", function()
    local F = lucerna.nn.functional
    local int8 = lucerna.tensor({-2, -1, 0, 1, 2}, {dtype = lucerna.int8})
    assert.same({5, 5, 0, 1, 2}, F.threshold(int8, -1.5, 5.9):tolist()) -- PyTorch: by -1, 5
    assert.same({-7, -7, -7, -7, 2}, F.threshold(int8, 1, -7):tolist())
    local bytes, wide = int8:abs():to(lucerna.uint8), lucerna.tensor {9007199254740993, 0}
    assert.same({255, 255, 255, 255, 255}, F.threshold(bytes, -1, -1):tolist())
    assert.same({9007199254740993, 9}, F.threshold(wide, 9007199254740992, 9):tolist())
    for _, number in ipairs {300, 0/0, 1/0, -1e10} do
      parity.refused("threshold: threshold cannot be converted to type int8 without overflow",
        F.threshold, int8, number, 0)
      parity.refused("threshold: value cannot be converted to type int8 without overflow",
        F.threshold, int8, 0, number)
    end
  end)

  it("find their extremes and the first of equal ones", function()
    for _, dtype in ipairs {lucerna.int8, lucerna.uint8, lucerna.int16, lucerna.int32} do
      for _, n in ipairs {2, 3, 15, 33, 64, 127, 128} do
        local x = lucerna.stack {values(dtype, n), values(dtype, n), values(dtype, n):flip(1)}
        for _, name in ipairs {"amax", "amin", "argmax", "argmin", "sum", "prod"} do
          local want = x:long()[name](x:long(), 2):tolist()
          assert.same(want, x[name](x, 2):long():tolist(), name)
          assert.same(want, x:t()[name](x:t(), 1):long():tolist(), name)
          assert.same(want, x:t():contiguous()[name](x:t():contiguous(), 1):long():tolist(), name)
        end
        local ties = lucerna.cat({x, x}, 2)
        assert.same(x:argmax(2):tolist(), ties:argmax(2):tolist())
        assert.same(x:argmin(2):tolist(), ties:argmin(2):tolist())
        for k = 1, n, 13 do
          assert.same(x:long():kthvalue(k, 2):tolist(), x:kthvalue(k, 2):long():tolist())
        end
      end
    end
  end)

  it("divide bytes as wider integers and wrap", function()
    for _, range in ipairs {{"uint8", 0, 256}, {"int8", -128, 128}} do
      local dtype, all = lucerna[range[1]], lucerna.arange(range[2], range[3])
      local by = all:masked_select(all:ne(0))
      local x, y = all:to(dtype):unsqueeze(2), by:to(dtype)
      for _, mode in ipairs {"floor", "trunc"} do
        local want = all:unsqueeze(2):div(by, {rounding_mode = mode}):to(dtype)
        assert.is_true(x:div(y, {rounding_mode = mode}):equal(want))
      end
      assert.is_true(x:fmod(y):equal(all:unsqueeze(2):fmod(by):to(dtype)))
      assert.is_true(x:remainder(y):equal(all:unsqueeze(2):remainder(by):to(dtype)))
    end
  end)
end)

describe("integers of two dtypes", function()
  local binary = {"add", "mul", "maximum", "minimum", "lt", "eq", "remainder", "bitwise_and",
    "bitwise_right_shift", "logical_xor", "pow"}
  local function some(dtype, rows, columns)
    return lucerna.arange(rows * columns):remainder(113):add(1):to(dtype):view(rows, columns)
  end

  it("give what those of their common one give, however they lie", function()
    local names = {"bool", "int8", "uint8", "int16", "int32"}
    for _, first in ipairs(names) do
      for _, second in ipairs(names) do
        local a_dtype, b_dtype = lucerna[first], lucerna[second]
        local common = lucerna.promote_types(a_dtype, b_dtype)
        for _, size in ipairs {{1, 1}, {1, 65}, {7, 33}, {5, 300}, {3, 1100}} do
          local rows, columns = size[1], size[2]
          local a, b = some(a_dtype, rows, columns), some(b_dtype, rows, columns):flip(2)
          local pairs_of = {{a, b}, {a, b[{{1, 1}}]}, {a[{{}, {1, 1}}], b}, {a, b[1][1]},
            {a:t(), b:t():contiguous()}, {lucerna.stack({a, a}, 3)[{{}, {}, 1}], b}}
          for _, both in ipairs(pairs_of) do
            local x, y = both[1], both[2]
            for _, name in ipairs(binary) do
              if common ~= lucerna.bool and lucerna.result_type(x, y) == common then
                local want = lucerna[name](x:to(common), y:to(common))
                assert.is_true(lucerna[name](x, y):equal(want), first .. second .. name)
              end
            end
            local chosen = lucerna.where(x:ne(3), x, y)
            assert.is_true(chosen:long():equal(lucerna.where(x:ne(3), x:long(), y:long())))
          end
        end
      end
    end
  end)

  it("are written where a result of the larger may lie, and refused elsewhere", function()
    local x, y = some(lucerna.int32, 7, 33), some(lucerna.int8, 7, 33)
    local want = x:long() + y:long()
    assert.is_true(x:add_(y):long():equal(want))
    assert.is_true(x:t():sub_(y:t()):t():long():equal(want - y:long()))
    assert.is_true(y:add_(x:bool()):long():equal(some(lucerna.int64, 7, 33) + 1))
    parity.refused("can't be cast to the desired output type", y:bool().add_, y:bool(), y)
  end)
end)

describe("powers of integers", function()
  local function power(a, b, bits)
    local y = 1
    if b < 0 then y = a == 1 and 1 or a == -1 and (b % 2 == 0 and 1 or -1) or 0 end
    for _ = 1, b do y = y * a end
    return bits == 64 and y or (y + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
  end

  it("are products that wrap around, and 0 of negative ones but of 1 and -1", function()
    lucerna.manual_seed(3)
    for name, bits in pairs {int64 = 64, int32 = 32, int16 = 16, int8 = 8} do
      local dtype = lucerna[name]
      for _, n in ipairs {1, 2, 255, 256, 257, 600} do
        local a = lucerna.randint(-5, 6, {n}):to(dtype)
        local b = lucerna.randint(-3, 70, {n}):to(dtype)
        local want, by_seven, of_minus_three = {}, {}, {}
        for i = 1, n do
          want[i] = power(a[i]:item(), b[i]:item(), bits)
          by_seven[i] = power(a[i]:item(), 7, bits)
          of_minus_three[i] = power(-3, b[i]:item(), bits)
        end
        assert.same(want, (a ^ b):tolist(), name)
        assert.same(want, lucerna.stack({a, a}, 2)[{{}, 1}]:pow(b):tolist(), name)
        assert.same(by_seven, a:pow(7):tolist(), name)
        assert.same(of_minus_three, lucerna.pow(-3, b):tolist(), name)
        assert.same(want, a:pow_(b):tolist(), name)
      end
    end
    assert.same({0, 1, 1, -1}, lucerna.tensor({0, 0, 1, -1}):pow(lucerna.tensor {-1, 0, -9, -9})
      :tolist())
  end)
end)

describe("shifts of small integers", function()
  it("are those of large ones, cut off", function()
    for _, name in ipairs {"int8", "uint8", "int16"} do
      local dtype = lucerna[name]
      local x = lucerna.arange(-128, 256):to(dtype):unsqueeze(2)
      local by = lucerna.arange(name == "uint8" and 0 or -3, 70):to(dtype):unsqueeze(1)
      for _, shift in ipairs {"bitwise_left_shift", "bitwise_right_shift"} do
        local want = x:long()[shift](x:long(), by:long()):to(dtype)
        assert.is_true(x[shift](x, by):equal(want), name .. shift)
        local some = x:flatten():narrow(1, 4, 101) -- by one number, eight at a time, and the rest
        for k = 0, 17 do
          local wide = some:long()
          assert.is_true(some[shift](some, k):equal(wide[shift](wide, k):to(dtype)), name .. k)
        end
      end
    end
  end)
end)
