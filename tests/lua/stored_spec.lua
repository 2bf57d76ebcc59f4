-- Dtypes that are only stored: float8 in its five forms, and unsigned integers wider than a byte.
-- The values of float8 are checked against the formats' definition (sign, exponent, fraction).
local lucerna = require "lucerna"
local files = require "files"
local parity = require "parity"
local sweep = require "sweep"

-- Bits of the exponent and the fraction, bias; what the largest codes mean.
local FORMATS = {
  float8_e4m3fn = {4, 3, 7, nan = {[0x7f] = true, [0xff] = true}},
  float8_e5m2 = {5, 2, 15, infinite = true},
  float8_e4m3fnuz = {4, 3, 8, nan = {[0x80] = true}, one_zero = true},
  float8_e5m2fnuz = {5, 2, 16, nan = {[0x80] = true}, one_zero = true},
}
local STORED = {"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
  "float8_e8m0fnu", "uint16", "uint32", "uint64"}

local function value_of(format, code)
  local fraction_bits, bias = format[2], format[3]
  if format.nan and format.nan[code] then return 0 / 0 end
  local sign = code >= 128 and -1.0 or 1.0
  local exponent = (code & 127) >> fraction_bits
  local fraction = code & ((1 << fraction_bits) - 1)
  if format.infinite and exponent == (1 << format[1]) - 1 then
    return fraction == 0 and sign * math.huge or 0 / 0
  end
  local unit = 2.0 ^ -fraction_bits
  if exponent == 0 then return sign * fraction * unit * 2.0 ^ (1 - bias) end
  return sign * (1 + fraction * unit) * 2.0 ^ (exponent - bias)
end

-- All 256 codes, in order.
local function codes(dtype)
  local bytes = {}
  for code = 0, 255 do bytes[code + 1] = string.char(code) end
  return lucerna.frombuffer(table.concat(bytes), {dtype = lucerna[dtype]})
end

local function message(f, ...)
  local ok, text = pcall(f, ...)
  assert.is_false(ok)
  assert.is_nil(text:find("\n", 1, true))
  return text
end

describe("float8:", function()
  for name, format in pairs(FORMATS) do
    local dtype = lucerna[name]

    it(name .. " means what its bits say, in every wider dtype", function()
      local x = codes(name)
      for _, wide in ipairs {"float32", "float64", "bfloat16", "float16"} do
        local got = x:to(lucerna[wide]):to(lucerna.float64):tolist()
        for code = 0, 255 do
          local want = value_of(format, code)
          local same = got[code + 1] == want or want ~= want and got[code + 1] ~= got[code + 1]
          assert(same, ("%s code %d: %s"):format(wide, code, got[code + 1]))
        end
      end
    end)

    it(name .. " is the nearest value, the even one between two, and NaN or infinity beyond",
      function()
        local values = {}
        for code = 0, 127 do
          local v = value_of(format, code)
          if v == v and v < math.huge then values[#values + 1] = {v, code} end
        end
        table.sort(values, function(a, b) return a[1] < b[1] end)
        local inputs, wants = {}, {}
        local function expect(x, code)
          inputs[#inputs + 1], wants[#wants + 1] = x, value_of(format, code)
        end
        for i = 1, #values - 1 do
          local a, b = values[i], values[i + 1]
          local middle = (a[1] + b[1]) / 2
          local even = a[2] % 2 == 0 and a or b
          expect(a[1], a[2])
          expect(middle, even[2])
          expect(middle * (1 - 2.0 ^ -20), a[2])
          expect(middle * (1 + 2.0 ^ -20), b[2])
          expect(-middle, even[2] | (even[2] == 0 and format.one_zero and 0 or 128))
        end
        local last = values[#values]
        expect(last[1], last[2])
        for _, from in ipairs {lucerna.float32, lucerna.float64} do
          local got = lucerna.tensor(inputs, {dtype = from}):to(dtype):double():tolist()
          for i, want in ipairs(wants) do
            assert(got[i] == want, ("%s -> %s instead of %s"):format(inputs[i], got[i], want))
          end
        end
        for _, beyond in ipairs {1e6, math.huge, -1e6, 0 / 0} do
          local got = lucerna.tensor {beyond}:to(dtype):float():item()
          if format.infinite and beyond == beyond then
            assert.equal(beyond > 0 and math.huge or -math.huge, got)
          else
            assert.is_true(got ~= got)
          end
        end
      end)
  end

  it("float8_e8m0fnu holds powers of two, without a sign", function()
    local got = codes("float8_e8m0fnu"):double():tolist()
    for code = 0, 254 do assert.equal(2.0 ^ (code - 127), got[code + 1]) end
    assert.is_true(got[256] ~= got[256])
    local x = lucerna.tensor {1, 1.4, 1.5, 1.6, 3, -8, 0}:to(lucerna.float8_e8m0fnu):double()
    assert.same({1.0, 1.0, 2.0, 2.0, 4.0, 8.0, 2.0 ^ -127}, x:tolist())
  end)

  it("converts long, strided and integer tensors as single values", function()
    local x = lucerna.randn(7, 300) * 20 -- the least of the formats ends at 240
    for name in pairs(FORMATS) do
      local dtype = lucerna[name]
      local whole = x:to(dtype)
      parity.close(x:t():to(dtype):float(), whole:float():t():contiguous(), {rtol = 0, atol = 0})
      assert.equal(whole[3][5]:item(), x[3][5]:to(dtype):item())
      assert.same({3.0, -2.0}, lucerna.tensor {3, -2}:to(dtype):double():tolist())
      assert.same({3, -2}, lucerna.tensor {3, -2}:to(dtype):to(lucerna.int64):tolist())
    end
  end)
end)

describe("what is only stored", function()
  it("is made, moved, read, printed and assigned", function()
    for _, name in ipairs(STORED) do
      local dtype = lucerna[name]
      local x = lucerna.tensor({{1, 2, 4}, {8, 16, 32}}, {dtype = dtype})
      assert.equal(dtype, x.dtype)
      assert.equal(16, math.tointeger(x[2][2]:item()))
      assert.equal(x:element_size(), dtype.itemsize)
      local moved = lucerna.cat({x:t(), x:t():flip(1)}):contiguous():reshape(2, 6)
      assert.equal(dtype, moved.dtype)
      assert.equal(8.0, moved:float()[1][2]:item())
      assert.equal(2 * 63.0, moved:float():sum():item())
      assert.same(x:float():tolist(), x:clone():view(6):unflatten(1, {2, 3}):float():tolist())
      assert.same({{8, 16, 32}}, x[lucerna.tensor {false, true}]:long():tolist())
      x[{1, {}}] = 64
      assert.same({64, 64, 64}, x[1]:long():tolist())
      x:copy_(lucerna.ones(2, 3))
      x:narrow(2, 1, 1):zero_()
      assert.equal(0 + (name == "float8_e8m0fnu" and 2.0 ^ -127 or 0), x[1][1]:float():item())
      assert.equal(("dtype=torch.%s)"):format(name), tostring(x):match("dtype=.*"))
      assert.same({2, 2}, lucerna.zeros(2, 2, {dtype = dtype}):size())
    end
    assert.equal("tensor([18446744073709551615], dtype=torch.uint64)",
      tostring(lucerna.tensor({-1}, {dtype = lucerna.uint64})))
    assert.equal(65535, lucerna.tensor({-1}, {dtype = lucerna.uint16}):item())
    assert.equal(2.0 ^ 64, lucerna.tensor({-1}, {dtype = lucerna.uint64}):double():item())
  end)

  -- The recorded calls of the operator sweep, with tensors of each of these dtypes.
  local rows = {}
  for _, row in ipairs(require("lucerna.core")._operators()) do rows[row.id] = row.any_dtype end

  local function stored(case, name)
    return function(t, spec)
      if spec.index or spec.dtype ~= case.of then return t end
      return t:abs():mul(4):to(lucerna[name])
    end
  end

  local function each(moves, f)
    for _, case in ipairs(parity.load("sweep")) do
      local real = case.of == "float64" or case.of == "float32"
      if real and (rows[sweep.row(case)] or false) == moves then
        for _, name in ipairs(STORED) do f(case, name, stored(case, name)) end
      end
    end
  end

  it("is moved as other dtypes are, however it lies in memory #slow", function()
    each(true, function(case, name, change)
      local ok, want = pcall(sweep.call, case, function(t, spec)
        t = change(t, spec)
        return t.dtype == lucerna[name] and t:float() or t
      end)
      for kind, layout in pairs(sweep.LAYOUTS) do
        local good, have = pcall(sweep.call, case, function(t, spec)
          return (layout(change(t, spec)))
        end)
        local reads_memory = case.fn == ".view" or case.fn == "as_strided"
        assert(reads_memory or good == ok, case.fn .. " " .. name .. " " .. kind)
        for i = 1, good and ok and not reads_memory and want.n or 0 do
          parity.close(have[i]:float(), want[i]:to(have[i].dtype):float(), {rtol = 0, atol = 0})
        end
      end
    end)
  end)

  it("is refused by whatever does not move it #slow", function()
    each(false, function(case, _, change)
      local text = message(sweep.call, case, change)
      local targets = case.fn == "F.cross_entropy" -- of integers are positions, read before
      assert(targets or text:find("is only stored", 1, true), case.fn .. ": " .. text)
    end)
  end)

  it("is refused by every operator that computes, in one line", function()
    for _, name in ipairs(STORED) do
      local x = lucerna.ones(2, 2, {dtype = lucerna[name]})
      local text = "not implemented for " .. name .. ", which is only stored; convert it first"
      for _, call in ipairs {function() return x + 1 end, function() return x:sum() end,
        function() return x:matmul(x) end, function() return x:add_(1) end,
        function() return x:sort() end, function() return lucerna.rand(2, {dtype = x.dtype}) end,
        function() return x:float():add(x) end, function() return x:eq(x) end,
        function() return lucerna.nn.functional.linear(x, x) end,
        function() return lucerna.ones(2):sum(1, {dtype = x.dtype}) end} do
        assert.matches(text, message(call), 1, true)
      end
      assert.matches("is only stored", message(lucerna.promote_types, x.dtype, lucerna.float32))
    end
    assert.matches("only floating point dtypes",
      message(lucerna.set_default_dtype, lucerna.float8_e5m2))
  end)

  it("goes through files and back", function()
    local path = files.temporary()
    local tensors = {}
    for i, name in ipairs(STORED) do
      tensors[name] = lucerna.tensor({{1, 2, 4}, {8, 16, i}}, {dtype = lucerna[name]})
    end
    local function check(back)
      for name, x in pairs(tensors) do
        assert.equal(x.dtype, back[name].dtype)
        assert.same(x:double():tolist(), back[name]:double():tolist())
      end
    end
    lucerna.safetensors.save_file(tensors, path)
    check(lucerna.safetensors.load_file(path))
    lucerna.save(tensors, path)
    check(lucerna.load(path))
    os.remove(path)
  end)

  it("knows its limits", function()
    local info = lucerna.finfo(lucerna.float8_e4m3fn)
    assert.same({448.0, 0.125, 8}, {info.max, info.eps, info.bits})
    for name in pairs(FORMATS) do
      info = lucerna.finfo(lucerna[name])
      local x = lucerna.tensor {info.max, info.tiny, 1 + info.eps, info.min}
      assert.same(x:tolist(), x:to(lucerna[name]):float():tolist())
    end
    assert.equal(65535, lucerna.iinfo(lucerna.uint16).max)
    assert.is_true(lucerna.float8_e5m2.is_floating_point)
    assert.is_false(lucerna.uint32.is_signed)
  end)

  it("is cast by modules, and back", function()
    local net = lucerna.nn.Linear(4, 3)
    local weight = net.weight:detach():clone()
    net:to(lucerna.float8_e4m3fn)
    assert.equal(lucerna.float8_e4m3fn, net.weight.dtype)
    net:float()
    parity.close(net.weight:detach(), weight, {rtol = 0.07, atol = 0.001})
  end)
end)
