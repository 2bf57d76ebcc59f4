-- Statistics, distances and products of pairs, against PyTorch's recorded answers and themselves.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"

local SHORT = os.getenv "LUCERNA_TEST_SHORT"

describe("like PyTorch:", function()
  for title, check in cases.each("reductions") do it(title, check) end
end)

-- Each row of a table folded: what the kernels do in vectors, turned or side by side.
local FOLDS = {
  sum = function(a, b) return a + b end,
  prod = function(a, b) return a * b end,
  amax = function(a, b) return (b > a or b ~= b) and b or a end,
  amin = function(a, b) return (b < a or b ~= b) and b or a end,
}

local function folded(rows, f)
  local out = {}
  for i, row in ipairs(rows) do
    out[i] = row[1]
    for k = 2, #row do out[i] = f(out[i], row[k]) end
  end
  return out
end

describe("a reduction", function()
  it("of rows of any length is that of their elements, as they lie and turned", function()
    lucerna.manual_seed(5)
    for _, dtype in ipairs { lucerna.float32, lucerna.float64, lucerna.float16, lucerna.bfloat16,
      lucerna.int64, lucerna.int32 } do
      for _, n in ipairs { 1, 2, 7, 16, 33, 47, 50, 131, 300 } do
        for _, rows in ipairs { 3, 40 } do
          local x = lucerna.randint(-2, 3, { rows, n }, { dtype = dtype })
          if n == 33 and dtype.is_floating_point then x[{ 2, 20 }] = 0 / 0 end
          local turned = x:t():contiguous()
          for name, f in pairs(FOLDS) do
            local got, same = x[name](x, 2), turned[name](turned, 1)
            local want = lucerna.tensor(folded(x:tolist(), f), { dtype = got.dtype })
            assert.is_true(lucerna.allclose(got, want, { equal_nan = true }), name)
            assert.is_true(lucerna.allclose(same, want, { equal_nan = true }), name)
          end
          assert.same(x:argmax(2):tolist(), turned:argmax(1):tolist())
          parity.close(x:double():var(2), turned:double():var(1))
        end
      end
    end
  end)

  it("of planes of many images is that of their channels, on any number of threads", function()
    local before = lucerna.get_num_threads()
    for _, side in ipairs { 7, 13 } do
      local x = lucerna.rand(17, 160, side, side)
      local channels = x:transpose(1, 2):reshape(160, -1)
      for _, name in ipairs { "sum", "amax", "amin", "std", "nansum" } do
        lucerna.set_num_threads(1)
        local one = x[name](x, { dim = { 1, 3, 4 } })
        parity.close(channels[name](channels, { dim = 2 }), one)
        for threads = 2, 3 do
          lucerna.set_num_threads(threads)
          assert.is_true(lucerna.equal(one, x[name](x, { dim = { 1, 3, 4 } })), name)
        end
      end
    end
    lucerna.set_num_threads(before)
  end)

  it("of many narrow rows is that of their columns", function()
    for _, dtype in ipairs { "float32", "float64", "bfloat16", "int64", "int16", "uint8" } do
      for _, n in ipairs { 1, 2, 3, 5, 8, 12, 15, 16, 31, 33, 50 } do
        for _, rows in ipairs { 63, 64, 129, 300, 2049 } do
          local x = lucerna.arange(0, rows * n):remainder(3):view(rows, n):to(lucerna[dtype])
          local want = {}
          for c = 1, n do
            want[c] = 0
            for r = 0, rows - 1 do want[c] = want[c] + (r * n + c - 1) % 3 end
          end
          assert.same(want, x:sum(1, { dtype = lucerna.float64 }):long():tolist())
          if dtype ~= "bfloat16" then assert.same(want, x:sum(1):long():tolist()) end
          assert.same(want, x:double():abs():sqrt():square():round():sum(1):long():tolist())
        end
      end
    end
  end)

  it("of many groups of a few numbers is that of each", function()
    lucerna.manual_seed(8)
    for _, shape in ipairs {{40, 3, 2}, {17, 32, 8}, {3, 20, 5, 3}, {2, 9, 4, 2, 7}, {25, 70, 9}} do
      for _, dtype in ipairs {"float32", "float64", "bfloat16", "int64", "uint8", "bool"} do
        local x = lucerna.randint(0, 4, shape):to(lucerna[dtype])
        if x:is_floating_point() then x[x:eq(3)] = 0 / 0 end
        for d = 2, #shape - 1 do
          local last = x:movedim(d, -1):contiguous()
          for _, name in ipairs {"sum", "prod", "all", "nansum", "amax", "argmin"} do
            if dtype ~= "bool" or not name:find "a[mr]" then
              local got, want = x[name](x, d), last[name](last, -1)
              assert.is_true(lucerna.equal(got:nan_to_num(7), want:nan_to_num(7)), name .. dtype)
            end
          end
          if x:is_floating_point() then parity.close(x:std(d), last:std(-1)) end
        end
      end
    end
  end)

  it("to the places of a dimension of one element finds the first", function()
    local x = lucerna.randn(3, 1, 4)
    assert.same(lucerna.ones(3, 4):long():tolist(), x:argmin(2):tolist())
    assert.same({ 3, 1, 4 }, x:argmax(2, { keepdim = true }).shape)
  end)

  it("of long runs and wide rows leaves nothing out", function()
    for _, dtype in ipairs { lucerna.float32, lucerna.float64, lucerna.int64 } do
      for _, n in ipairs { 1023, 1025, 8191, 8193, 16401 } do
        local sum, x = 0, lucerna.arange(n):remainder(7):to(dtype)
        for i = 0, n - 1 do sum = sum + i % 7 end
        assert.equal(sum, x:sum():item())
        for _, rows in ipairs { 3, 5, 66 } do
          local wide = x:expand { rows, n } * lucerna.arange(1, rows + 1):to(dtype):unsqueeze(2)
          assert.is_true(lucerna.equal(wide:sum(1), x * (rows * (rows + 1) // 2)))
        end
        local factors = lucerna.ones(n, { dtype = dtype })
        factors[1], factors[n - 1], factors[n] = 2, 3, 5
        assert.equal(30, factors:prod():item())
      end
    end
    local threes = lucerna.full({ 49, 2 }, 3, { dtype = lucerna.float64 })
    assert.same({ 3, 3 }, threes:mean(1):tolist())
  end)

  it("along a few columns takes every one of many rows once", function()
    for _, columns in ipairs {2, 3, 4, 8} do
      for _, rows in ipairs {1, 7, 63, 65, 1029, 4095, 4096, 4099, 40001} do
        local x = lucerna.arange(rows * columns):remainder(97):reshape(rows, columns)
        local want = x:sum(1):tolist()
        assert.same(want, x:float():sum(1):tolist())
        assert.same(want, x:double():sum(1):tolist())
        assert.same(want, x:to(lucerna.complex64):t():sum(2).real:tolist())
        assert.equal(x:sum():item(), x:to(lucerna.complex64):sum().real:item())
      end
    end
  end)

  it("along the first dimension takes each of its rows", function()
    for _, dtype in ipairs { "int64", "int32", "int16", "int8", "uint8", "bool", "float16",
                             "bfloat16" } do
      local all = { "amax", "amin", "any", "all" }
      if not lucerna[dtype].is_floating_point then all = { "sum", "prod", table.unpack(all) } end
      for _, columns in ipairs { 4, 5, 10, 40, 300, 1030 } do
        local most = SHORT and columns > 99 and 129 or 1029
        for _, rows in ipairs { 2, 3, 6, 17, 35, most } do
          local x = lucerna.arange(rows * columns):mul(7919):remainder(1000003)
          x = x:remainder(dtype == "bool" and 17 or 131):sub(dtype == "uint8" and 0 or 4)
          x = (dtype == "bool" and x:relu() or x):to(lucerna[dtype]):reshape(rows, columns)
          local gaps = lucerna.cat({ x, x }, 2):narrow(2, 1, columns)
          for _, op in ipairs(all) do
            local want = x:t():contiguous()
            want = want[op](want, 2)
            assert.is_true(want:equal(x[op](x, 1)), op .. dtype .. rows .. "x" .. columns)
            assert.is_true(want:equal(gaps[op](gaps, 1)))
          end
        end
      end
    end
  end)

  it("along the first dimension of halves keeps what is no number", function()
    for _, dtype in ipairs { "float16", "bfloat16" } do
      for _, columns in ipairs { 8, 21, 64, 75 } do
        for _, rows in ipairs { 16, 33, 100 } do
          local x = lucerna.randn(rows, columns):to(lucerna[dtype])
          x[rows][columns], x[1][2], x[rows // 2][3] = 0 / 0, 1 / 0, -1 / 0
          for _, op in ipairs { "amax", "amin" } do
            local want, y = x:float(), x[op](x, 1):float()
            want = want[op](want, 1)
            assert.is_true(y[columns]:isnan():item())
            assert.is_true(want[{ { 1, -2 } }]:equal(y[{ { 1, -2 } }]), op .. dtype .. columns)
          end
        end
      end
    end
  end)

  it("finds both extremes of a tensor at once", function()
    for _, dtype in ipairs { "float32", "float64", "bfloat16", "int64", "int32", "int16", "int8",
                             "uint8", "bool" } do
      for _, n in ipairs { 1, 2, 63, 65, 1000, 16385, 100003, 300000 } do
        local x = lucerna.arange(n):mul(7919):remainder(n):remainder(251):sub(100)
        x = (dtype == "uint8" and x:add(104) or x):to(lucerna[dtype])
        for _, y in ipairs { x, x:reshape(-1, 1):expand(n, 2), x:unfold(1, 1, 3):squeeze(2),
                             n % 5 == 0 and x:reshape(5, -1):t() or x } do
          local least, most = y:aminmax()
          assert.equal(y:min():item(), least:item(), dtype .. n)
          assert.equal(y:max():item(), most:item(), dtype .. n)
        end
        if x:is_floating_point() then
          x[n // 2 + 1] = 0 / 0
          local least, most = x:aminmax()
          assert.is_true(least:isnan():item() and most:isnan():item())
        end
      end
    end
  end)

  it("of what is expanded is that of a copy", function()
    for _, dtype in ipairs { "float32", "float64", "bfloat16", "int64", "uint8", "bool" } do
      local x = lucerna.arange(0, 6):reshape(2, 1, 3, 1):to(lucerna[dtype]):expand(2, 5, 3, 4)
      local copy, all = x:contiguous(), { "sum", "amax", "amin", "prod", "all", "any", "nansum" }
      for _, op in ipairs(all) do
        for _, dim in ipairs { 1, 2, 3, 4 } do
          assert.same(copy[op](copy, dim):tolist(), x[op](x, dim):tolist(), op .. dtype .. dim)
        end
      end
      assert.equal(copy:sum():item(), x:sum():item())
      if dtype ~= "bool" then assert.equal(copy:argmax():item(), x:argmax():item()) end
      assert.same(copy:count_nonzero({ 2, 3 }):tolist(), x:count_nonzero({ 2, 3 }):tolist())
      if x:is_floating_point() then
        for _, op in ipairs { "mean", "var", "norm" } do
          parity.close(x[op](x, { dim = { 2, 4 } }), copy[op](copy, { dim = { 2, 4 } }))
        end
      end
      if dtype:find "float" then -- of one element, its size
        local rows = lucerna.tensor({ { -3 }, { 0 }, { 0 / 0 } }):to(lucerna[dtype])
        for _, p in ipairs { 1, 2, 3, math.huge } do
          assert.is_true(rows:norm(p, 2, true):isclose(rows:abs(), 0, 0, true):all():item())
        end
        assert.same({ 1, 0, 1 }, rows:norm(0, 2):tolist())
      end
      local one = lucerna.ones({ 3, 1 }):to(lucerna[dtype]):expand(3, 2500)
      local whole = one:contiguous() -- more columns than are folded at once
      for _, op in ipairs(all) do
        assert.same(whole[op](whole, 1):tolist(), one[op](one, 1):tolist(), op .. dtype)
      end
      local many = lucerna.arange(0, 40000):remainder(7):to(lucerna[dtype]):expand(3, 40000)
      whole = many:contiguous()
      for _, op in ipairs {"amax", "amin", "all", "any"} do
        assert.is_true(whole[op](whole, 1):equal(many[op](many, 1)), op .. dtype)
      end
    end
  end)
end)

describe("the place of an extreme", function()
  local function column(t, k) return t[{ {}, k }]:tolist() end

  it("of few long columns is the first, whatever their number and length", function()
    lucerna.manual_seed(8)
    for _, name in ipairs { "float32", "float64", "float16", "int64", "int32", "uint8" } do
      for _, columns in ipairs { 1, 3, 4, 7, 16, 17 } do
        for _, rows in ipairs { 63, 64, 257, 600 } do
          local x = lucerna.randint(0, 50, { rows, columns }):to(lucerna[name])
          if x:is_floating_point() then
            x[{ {}, 1 }] = -1 / 0
            if columns > 2 then x[{ { rows - 40, rows, 7 }, 2 }] = 0 / 0 end
            if columns > 3 then x[{ {}, 3 }] = lucerna.arange(1, rows + 1) end
          end
          for op, better in pairs { max = function(a, b) return a > b end,
            min = function(a, b) return a < b end } do
            local values, places = x[op](x, 1)
            for k = 1, columns do
              local list, at = column(x, k), 1
              for i, v in ipairs(list) do
                local best = list[at]
                if better(v, best) or (v ~= v and best == best) then at = i end
              end
              local got = values[k]:item()
              assert.equal(at, places[k]:item(), name .. op .. rows)
              assert.is_true(got == list[at] or (got ~= got and list[at] ~= list[at]))
            end
          end
        end
      end
    end
  end)
end)

-- The running folds and the last places of extremes of each row of a table.
local function running(rows, f)
  local out, places = {}, {}
  for i, row in ipairs(rows) do
    out[i], places[i] = { row[1] }, { 1 }
    for k = 2, #row do
      local before = out[i][k - 1]
      local now = f(before, row[k])
      local wins = row[k] == now or row[k] ~= row[k]
      out[i][k], places[i][k] = now, wins and k or places[i][k - 1]
    end
  end
  return out, places
end

describe("a scan", function()
  it("of lines of any length is that of their elements, as they lie and turned", function()
    lucerna.manual_seed(6)
    local names = { cumsum = "sum", cumprod = "prod", cummax = "amax", cummin = "amin" }
    for _, dtype in ipairs { lucerna.float32, lucerna.float64, lucerna.int64, lucerna.bool } do
      for _, n in ipairs { 1, 2, 3, 4, 5, 8, 16, 33, 70, 300 } do
        local x = lucerna.randint(dtype == lucerna.bool and 0 or -2, 2, { 7, n }):to(dtype)
        if n == 33 and dtype.is_floating_point then x[{ 2, 20 }] = 0 / 0 end
        for name, fold in pairs(names) do
          local rows = (dtype == lucerna.bool and x:long() or x):tolist()
          local want, at = running(rows, FOLDS[fold])
          local got, places = x[name](x, 2)
          local same, turned = x:t():contiguous()[name](x:t():contiguous(), 1)
          want = lucerna.tensor(want, { dtype = got.dtype })
          assert.is_true(lucerna.allclose(got, want, { equal_nan = true }), name)
          assert.is_true(lucerna.allclose(same:t(), want, { equal_nan = true }), name)
          if places then
            assert.same(at, places:tolist())
            assert.same(at, turned:t():tolist())
          end
        end
      end
    end
  end)

  it("of sums runs backwards for its gradient", function()
    for _, n in ipairs { 2, 3, 4, 41 } do
      local g = lucerna.randn(7, n, { dtype = lucerna.float64 })
      for dim = 1, 2 do
        local x = lucerna.randn(7, n, { dtype = lucerna.float64, requires_grad = true })
        x:cumsum(dim):backward(g)
        parity.close(x.grad, g:flip(dim):cumsum(dim):flip(dim))
      end
    end
  end)

  it("of products takes doubles in their order, and zeros have no sign in sums", function()
    for _, n in ipairs { 2, 3, 4, 9 } do
      local x = lucerna.full({ 5, n }, 1e200, { dtype = lucerna.float64 })
      x[{ {}, 1 }] = 1e-200
      local want = { 1e-200, 1.0, 1e200 }
      for i, v in ipairs(x:cumprod(2)[5]:tolist()) do
        parity.close(lucerna.tensor(v), lucerna.tensor(want[i] or math.huge))
      end
      assert.equal(0, lucerna.full({ 5, n }, -0.0):cumsum(2):signbit():sum():item())
    end
  end)
end)

describe("a standard deviation", function()
  it("is right where its squares are too small for floats", function()
    for _, n in ipairs {4, 40, 4000} do
      local x = lucerna.arange(n):float()
      local want, y = x:std():item(), (x * 1e-25):reshape(n, 1)
      for _, small in ipairs {y:std(1), y:t():std(2), (y + lucerna.zeros(3)):std(1)} do
        assert.near(1, small[1]:item() / 1e-25 / want, 1e-5)
      end
      assert.equal(0, lucerna.full({n}, 1e-20):std():item())
    end
  end)
end)

describe("a running logarithm of sums", function()
  it("has the same gradient wherever its numbers lie", function()
    local x, g = lucerna.tensor {1, 2, 0.5, -1}, lucerna.tensor {1, -2, 3, 0}
    local far = lucerna.tensor {-2000, -1000, 0, 1000}
    for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
      for _, shift in ipairs {-1000, -100, 0, 100, 1000} do
        local moved = (x + shift):to(dtype):requires_grad_()
        moved:logcumsumexp(1):backward(g:to(dtype))
        assert.is_true(lucerna.allclose(moved.grad,
          lucerna.tensor({1.155765, 0.4235, 0.420735, 0}, {dtype = dtype}), {rtol = 1e-4}))
      end
      local apart = far:to(dtype):requires_grad_()
      apart:logcumsumexp(1):backward(g:to(dtype))
      assert.same({1.0, -2.0, 3.0, 0.0}, apart.grad:tolist())
      local none = lucerna.tensor({-math.huge, 0, math.huge}, {dtype = dtype}):requires_grad_()
      none:logcumsumexp(1):backward(lucerna.ones(3, {dtype = dtype}))
      assert.same({1.0, 1.0, 1.0}, none.grad:tolist())
    end
  end)

  it("has gradients of its gradient, and moves with its numbers", function()
    for dim = 1, 2 do
      local x = lucerna.randn(3, 5, {dtype = lucerna.float64, requires_grad = true})
      local function f(a) return a:logcumsumexp(dim) end
      assert.is_true(lucerna.autograd.gradcheck(f, {x}))
      assert.is_true(lucerna.autograd.gradgradcheck(f, {x}))
      local v = lucerna.randn(3, 5, {dtype = lucerna.float64})
      local _, moved = lucerna.func.jvp(f, {x:detach()}, {v})
      local slope = (f(x:detach() + 1e-6 * v) - f(x:detach() - 1e-6 * v)) / 2e-6
      assert.is_true(lucerna.allclose(moved, slope, {rtol = 1e-5}))
    end
  end)
end)

-- Of x along its rows, with doubles between them; of floats fours of rows are multiplied as they
-- are, where rows lie behind each other.
local function product_of_rows(x)
  local rows, product = x:size(1), lucerna.ones(x:size(2), {dtype = lucerna.float64})
  local most = x.dtype == lucerna.float32 and x:size(2) > 1 and 4 or 1
  for r = 1, rows, most do
    local part = x[r]
    for k = r + 1, math.min(r + most - 1, rows) do part = part * x[k] end
    product = product * part:double()
  end
  return product:to(x.dtype)
end

describe("a product", function()
  it("along rows takes doubles in their order, floats by fours, whatever the width", function()
    lucerna.manual_seed(11)
    for _, dtype in ipairs {"float32", "float64"} do
      for _, width in ipairs {1, 7, 8, 9, 17, 33, 64, 71, 1025} do
        for _, rows in ipairs {1, 3, 8, 19} do
          local wide = lucerna.randn(rows, width + 2):to(lucerna[dtype])
          wide[rows][width + 1], wide[1][2] = 0 / 0, -0.0
          local x = wide:narrow(2, 2, width)
          local products, got = product_of_rows(x), x:prod(1)
          assert.is_true(got[width]:isnan():item())
          assert.is_true(lucerna.equal(got:nan_to_num(7), products:nan_to_num(7)), dtype .. width)
        end
      end
    end
  end)

  it("leaves the range of floats and comes back", function()
    local x = lucerna.full({16, 37}, 1e9)
    x[{{9, 16}}] = 1e-9
    parity.close(x:prod(1), lucerna.ones(37), {rtol = 1e-6})
    parity.close(x:t():contiguous():prod(2), lucerna.ones(37), {rtol = 1e-6})
  end)

  it("of four rows of floats takes them in order: what is infinite meets no 0", function()
    for _, width in ipairs {4, 7, 16, 40, 1000} do
      local x = lucerna.tensor({1e30, 1e30, 1e-30, 1e-30}):view(4, 1):expand(4, width):contiguous()
      assert.is_true(x:prod(1):eq(math.huge):all():item())
      assert.is_true(x:flip({1}):prod(1):eq(0):all():item())
    end
  end)

  it("of a few long rows is that of their elements", function()
    for rows = 2, 5 do
      local x = lucerna.randn(rows, 50001)
      parity.close(x:prod(1), x:double():prod(1):float(), {rtol = 1e-6})
    end
  end)

  it("of a single 0 has a gradient", function()
    for _, dim in ipairs {lucerna.none, 1} do
      local x = lucerna.tensor(0.0, {requires_grad = true})
      x:prod(dim):backward()
      assert.equal(1, x.grad:item())
    end
  end)
end)

describe("a running product", function()
  it("in another dtype has its gradient in that dtype", function()
    local x = lucerna.tensor({1.0, 2, 3}):to(lucerna.complex64):requires_grad_()
    x:cumprod(1, {dtype = lucerna.float32}):sum():backward()
    assert.same({9.0, 4.0, 2.0}, lucerna.real(x.grad):tolist())
  end)
  it("has gradients of any order where it meets zeros, of complex numbers too", function()
    for _, dtype in ipairs {"float64", "complex128"} do
      for _, shape in ipairs {{}, {1}, {4}, {3, 4, 2}, {0, 3}} do
        for dim = 1, math.max(#shape, 1) do
          local x = lucerna.randn(shape, {dtype = lucerna[dtype]})
          if x:numel() > 1 then x:view(-1)[{{2, 3}}] = 0 end
          x:requires_grad_()
          local function f(t) return t:cumprod(dim) end
          assert.is_true(lucerna.autograd.gradcheck(f, {x}))
          assert.is_true(lucerna.autograd.gradgradcheck(f, {x}))
        end
      end
    end
  end)
end)

describe("statistics", function()
  it("know the spread of floats whose squares are none", function()
    local x = lucerna.tensor {3e38, 3e38, 1e38, 1e38, 1e38, 3e38}
    local spread, mean = lucerna.std_mean(x)
    parity.close(spread / 1e38, lucerna.tensor(1.0954451), {rtol = 1e-6})
    parity.close(mean / 1e38, lucerna.tensor(2.0), {rtol = 1e-6})
    parity.close(x:repeat_interleave(50):std() / 1e38, lucerna.tensor(1.0016736), {rtol = 1e-6})
    assert.equal(math.huge, x:var():item())
  end)

  it("leave NaN out of histograms, as newer PyTorch does", function()
    local x = lucerna.tensor {1, 0 / 0, 2, 3}
    assert.same({0.0, 1.0, 2.0}, lucerna.histc(x, 3, 0, 3):tolist())
    assert.same({1.0, 2.0}, (lucerna.histogram(x, lucerna.tensor {0.0, 2, 3})):tolist())
  end)

  it("take halves", function()
    for _, dtype in ipairs {lucerna.float16, lucerna.bfloat16} do
      local x = lucerna.tensor({{1, 2, 4}, {0, 3, 1}}, {dtype = dtype})
      local wide = x:float()
      for name, more in pairs {cov = {}, trapezoid = {}, nanmedian = {}, histc = {4},
        renorm = {2, 1, 1.5}} do
        local got = lucerna[name](x, table.unpack(more))
        assert.equal(dtype, got.dtype)
        parity.close(got, lucerna[name](wide, table.unpack(more)):to(dtype))
      end
      parity.close(lucerna.cdist(x, x), lucerna.cdist(wide, wide):to(dtype))
    end
  end)

  it("a distance that counts differences is NaN where one is", function()
    local inf = 1 / 0
    local x = lucerna.tensor {{0.0, 1, 2}, {0 / 0, 1, 2}, {inf, 1, 2}, {-inf, 1, 3}}
    assert.same({2.0, 0.0}, lucerna.cdist(x, x, 0)[4][{{3, 4}}]:nan_to_num():tolist())
    assert.same({false, true, false, false}, lucerna.cdist(x, x, 0)[1]:isnan():tolist())
    assert.same({false, true, true, false}, lucerna.cdist(x, x, 0)[3]:isnan():tolist())
  end)

  it("extremes of many integers are found wherever they lie", function()
    for _, dtype in ipairs {"int64", "int32", "uint8"} do
      for _, n in ipairs {255, 256, 257, 511, 512, 543, 1000} do
        local x = lucerna.full({n, n}, 7):to(dtype)
        local want = {x:fill_diagonal_(9), x:mul(-1)} -- row i's largest is its i-th
        for k, name in ipairs {"amax", "amin"} do
          if dtype ~= "uint8" or k == 1 then
            local y = lucerna[name](want[k], 2)
            assert.is_true(y:eq(k == 1 and 9 or -9):all():item(), dtype .. name .. n)
          end
        end
        assert.equal(7, lucerna.amin(x[1]):item())
      end
    end
  end)

  it("extremes and truth along one element are it", function()
    local base = lucerna.tensor {{{0.0, -0.5, 0 / 0}, {3, 0, -2}}} -- [1, 2, 3]
    for _, dtype in ipairs {"float32", "float64", "bfloat16", "int64", "int8", "uint8", "bool"} do
      local x = base:nan_to_num(0):to(lucerna[dtype])
      if x.dtype.is_floating_point then x = base:to(lucerna[dtype]) end
      for _, y in ipairs {x, x:transpose(1, 3), x:permute(2, 1, 3), x:expand(1, 2, 3)} do
        local d = y:size(1) == 1 and 1 or y:size(2) == 1 and 2 or 3
        local truth = y:ne(0):squeeze(d)
        for _, name in ipairs {"any", "all"} do
          assert.equal(dtype == "uint8" and lucerna.uint8 or lucerna.bool, y[name](y, d).dtype)
          assert.is_true(y[name](y, d):bool():equal(truth))
          assert.is_true(y[name](y, d, true):bool():equal(y:ne(0)))
        end
        if dtype ~= "bool" then
          for _, name in ipairs {"amax", "amin"} do
            assert.same(tostring(y:squeeze(d)), tostring(y[name](y, d)))
            assert.same(tostring(y), tostring(y[name](y, {d}, true)))
          end
          assert.is_true(y:argmax(d):eq(1):all():item())
        end
      end
    end
  end)

  it("the first of rows that repeat is where their extremes are", function()
    for _, dtype in ipairs {"float32", "float64", "int64", "int32", "int8"} do
      local row = lucerna.arange(-3, 4):to(lucerna[dtype])
      if row:is_floating_point() then row[2] = 0 / 0 end
      for _, name in ipairs {"argmax", "argmin"} do
        local many = row:expand(600, 7)
        assert.same({1, 1, 1, 1, 1, 1, 1}, many[name](many, 1):tolist(), name .. dtype)
        many = lucerna.stack({row, row}):unsqueeze(2):expand(2, 70, 7)
        assert.is_true(many[name](many, 2):eq(1):all():item())
      end
    end
  end)

  it("extremes of a few long rows are those of each column", function()
    lucerna.manual_seed(4)
    for _, dtype in ipairs {"float32", "float64", "bfloat16", "int64", "int32", "int8", "uint8"} do
      for _, rows in ipairs {2, 3, 16} do
        local x = (lucerna.randn(3, rows, 300) * 9):to(lucerna[dtype])
        if x.dtype.is_floating_point then x[{2, rows, 7}] = 0 / 0 end
        for _, y in ipairs {x, x:narrow(3, 2, 270), x:unfold(3, 1, 2):squeeze(4)} do
          local turned = y:transpose(2, 3):contiguous()
          for _, name in ipairs {"amax", "amin"} do
            local wanted, found = turned[name](turned, 3, true):transpose(2, 3), y[name](y, 2, true)
            assert.is_true(found:nan_to_num(1e3):equal(wanted:nan_to_num(1e3)))
          end
        end
      end
    end
  end)

  it("long runs of bfloat16 are added as they lie", function()
    lucerna.manual_seed(5)
    for _, n in ipairs {1024, 1039, 70001} do
      local x = lucerna.rand(2, n):to(lucerna.bfloat16)
      parity.close(x:sum(-1), x:float():sum(-1):to(lucerna.bfloat16))
      parity.close(x:mean(), x:float():mean():to(lucerna.bfloat16))
    end
  end)

  it("histc counts blocks as it does single values, with both ends and nothing outside", function()
    lucerna.manual_seed(3)
    local bins, low, high = 7, 0.25, 0.75
    local outside = lucerna.tensor {math.huge, -math.huge, 0 / 0, low, high, high - 2 ^ -24, 0.5}
    local all = lucerna.cat {lucerna.rand(1500), outside, lucerna.rand(517)}
    for _, dtype in ipairs {"float32", "float64"} do
      local x, want = all:to(lucerna[dtype]), {}
      for i = 1, bins do want[i] = 0.0 end
      for _, value in ipairs(x:tolist()) do
        if value >= low and value <= high then
          local place = math.floor((value - low) * bins / (high - low))
          want[math.min(place, bins - 1) + 1] = want[math.min(place, bins - 1) + 1] + 1
        end
      end
      assert.same(want, x:histc(bins, low, high):tolist(), dtype)
    end
    assert.same({2.0, 1.0}, lucerna.tensor({1, 2, 1}, {dtype = lucerna.float16}):histc(2):tolist())
    assert.same({0.0, 3.0, 0.0}, lucerna.full({3}, 5.0):histc(3):tolist())
  end)

  it("histograms of weights sum to them", function()
    lucerna.manual_seed(3)
    local x, w = lucerna.randn(1000), lucerna.rand(1000)
    local hist, edges = lucerna.histogram(x, 10, {weight = w})
    assert.is_true(math.abs(hist:sum():item() - w:sum():item()) < 1e-2)
    assert.equal(x:min():item(), edges[1]:item())
    assert.equal(x:max():item(), edges[-1]:item())
    local density = lucerna.histogram(x, 10, {weight = w, density = true})
    assert.is_true(math.abs((density * edges:diff()):sum():item() - 1) < 1e-5)
  end)
end)

describe("diff", function()
  it("is taken as many times as asked, of what is left", function()
    local x = lucerna.arange(100.0):requires_grad_()
    assert.same({100 - 60}, x:diff(60).shape)
    assert.same({0}, x:diff(1 << 40).shape)
    local y = lucerna.arange(5.0):requires_grad_()
    y:diff(4):backward()
    assert.same({1, -4, 6, -4, 1}, y.grad:tolist())
  end)
end)

describe("groups of a few rows", function()
  -- each by itself is what many are together
  it("are reduced as each of them is", function()
    lucerna.manual_seed(4)
    for _, shape in ipairs {{700, 3, 16}, {300, 5, 24}, {200, 2, 128}, {90, 25, 10}, {999, 4, 8},
        {150, 40, 3}, {90, 7, 11}, {60, 50, 35}, {50, 65, 9}, {40, 300, 7}, {20, 2, 1025},
        {9, 64, 33}, {9, 70, 50}, {9, 20, 63}, {9, 20, 97}} do
      local whole = lucerna.randint(-50, 50, shape)
      for _, dtype in ipairs {"float32", "float64", "int64", "int32", "uint8", "float16"} do
        local x = whole:to(lucerna[dtype])
        for _, name in ipairs {"sum", "amax", "argmin", "max", "any"} do
          local all, one = {x[name](x, 2)}, shape[1] - 1
          local each = {x[name](x[one]:clone(), 1)}
          for i, part in ipairs(each) do
            assert.is_true(all[i][one]:equal(part), dtype .. " " .. name)
          end
          local turned = x:transpose(1, 2):contiguous():transpose(1, 2)
          assert.is_true(all[1]:equal((turned[name](turned, 2))), dtype .. " " .. name)
          local gaps = x:narrow(1, 1, 2 * (one // 2)):unflatten(1, {-1, 2}):select(2, 1)
          assert.is_true((gaps[name](gaps, 2))[3]:equal(all[1][5]), dtype .. " " .. name)
          local runs = x:transpose(2, 3):contiguous()
          assert.is_true(all[1]:equal((runs[name](runs, 3))), dtype .. " " .. name)
        end
      end
    end
  end)
end)

describe("a few rows", function()
  -- 2^30 + 1 is no float: what is added or multiplied goes on in double
  it("of any number of columns are added exactly, each column by itself", function()
    local counts =
      {1, 2, 3, 4, 5, 8, 13, 29, 33, 37, 50, 61, 64, 65, 70, 97, 255, 261, 530, 1024}
    for _, dtype in ipairs {"float32", "float64"} do
      for _, n in ipairs(counts) do
        local columns = lucerna.arange(1, n + 1, {dtype = lucerna[dtype]})
        local large = lucerna.full_like(columns, 2 ^ 30)
        local rows = {large, columns, -large, columns:clone(), lucerna.ones_like(columns)}
        for _, more in ipairs {0, 4, 12} do
          for _ = 1, more do rows[#rows + 1] = lucerna.ones_like(columns) end
          local x = lucerna.stack(rows)
          local want = columns * 2 + #rows - 4
          assert.is_true(x:sum(1):equal(want))
          assert.is_true(lucerna.stack({x, x}):sum(2)[2]:equal(want))
          assert.is_true(x:t():contiguous():sum(2):equal(want))
          assert.is_true(x:prod(1):equal(columns * columns * -2 ^ 60))
          x[{2, n}] = math.huge
          if n > 1 then x[{3, 1}] = 0 / 0 end
          local got = x:sum(1):tolist()
          assert.equal(math.huge, got[n])
          for i = 2, n - 1 do assert.equal(want[i]:item(), got[i]) end
          assert.is_true(n == 1 or got[1] ~= got[1])
        end
      end
    end
  end)

  it("of 32 to 63 elements each are added exactly", function()
    for n = 31, 64 do
      local x = lucerna.ones(20, n)
      x[{{}, 1}], x[{{}, n}], x[{{}, 17}] = 2 ^ 30, -2 ^ 30, lucerna.arange(1, 21)
      if n < 64 then assert.is_true(x:sum(2):equal(lucerna.arange(1, 21) + n - 3.0)) end
      x[{3, n}], x[{4, 2}] = 0 / 0, math.huge
      local got = x:sum(2):tolist()
      assert.is_true(got[3] ~= got[3] and got[4] == math.huge)
    end
  end)
end)

describe("one result of many elements", function()
  it("is made of parts", function()
    for _, n in ipairs {98304, 131072, 150001} do
      local x = lucerna.ones(n)
      x[n], x[40000] = 3, -5
      assert.equal(n - 4, x:sum():item())
      assert.equal(-15, x:prod():item())
      assert.same({3, -5}, {x:amax():item(), x:amin():item()})
      assert.equal(n, x:argmax():item())
      assert.equal(40000, x:argmin():item())
      x[70000] = 0 / 0
      assert.is_true(x:amax():item() ~= x:amax():item())
    end
  end)
end)

describe("running extremes", function()
  local function expected(line, largest)
    local top, place
    local values, places = {}, {}
    for i, v in ipairs(line) do
      if not top or v ~= v or top == top and (largest and v >= top or not largest and v <= top) then
        top, place = v, i
      end
      values[i], places[i] = top, place
    end
    return values, places
  end

  it("stand at the last of equals, of any dtype and along any dimension", function()
    lucerna.manual_seed(6)
    for _, n in ipairs {1, 15, 16, 33, 130} do
      local whole = lucerna.randint(-2, 3, {3, n})
      whole[2], whole[3] = lucerna.arange(n), lucerna.arange(n, 0, -1)
      for _, dtype in ipairs {"int8", "uint8", "bool", "int16", "int32", "int64", "float32",
          "float64", "bfloat16"} do
        local x = whole:to(lucerna[dtype])
        if x:is_floating_point() and n > 20 then x[1][20] = 0 / 0 end
        for _, name in ipairs {"cummax", "cummin"} do
          local values, places = x[name](x, 2)
          assert.is_true(select(2, x:t()[name](x:t(), 1)):t():equal(places))
          for i = 1, 3 do
            local want, at = expected(x[i]:double():tolist(), name == "cummax")
            assert.same(at, places[i]:tolist(), dtype .. name .. n)
            if n <= 20 or i > 1 then assert.same(want, values[i]:double():tolist()) end
          end
        end
      end
    end
  end)

  it("count from 1 whoever asks", function()
    local x = lucerna.tensor({1.0, 3.0, 2.0, 3.0})
    local want = {1, 2, 2, 4}
    assert.same(want, select(2, x:cummax(1)):tolist())
    local leaf = x:clone():requires_grad_()
    local values, places = leaf:cummax(1)
    values:sum():backward()
    assert.same(want, places:tolist())
    assert.same({1, 2, 0, 1}, leaf.grad:tolist())
    assert.same(want, select(2, lucerna.no_grad(leaf.cummax, leaf, 1)):tolist())
    local out = {lucerna.empty(0), lucerna.empty(0):long()}
    lucerna.cummax(x, 1, {out = out})
    assert.same(want, out[2]:tolist())
    local each = lucerna.func.vmap(function(row) return row:cummax(1) end)
    assert.same({want}, select(2, each(x:unsqueeze(1))):tolist())
  end)
end)

describe("any and all of single elements", function()
  it("are truths in an out of another dtype, too", function()
    for _, dtype in ipairs {"float32", "uint8", "bool"} do
      for _, name in ipairs {"any", "all"} do
        local out = lucerna.zeros(2, {dtype = lucerna[dtype]})
        lucerna[name](lucerna.tensor {{0.5, 0}}, 1, {out = out})
        assert.same({1.0, 0.0}, out:float():tolist())
      end
    end
  end)
end)

-- Sixteen of them side by side are as many as fit.
it("short runs of neighbours that overlap are folded where there is room", function()
  for _, dtype in ipairs {lucerna.float64, lucerna.float32, lucerna.float16, lucerna.int32} do
    for _, run in ipairs {2, 5, 7, 12, 15, 24} do
      local x = lucerna.arange(16 * 9000 + run):remainder(7):to(dtype)
      local windows = x:as_strided({16, 9000, run}, {1, 16, 1})
      local whole = windows:contiguous()
      assert.is_true(whole:sum(3):equal(windows:sum(3)))
      assert.is_true(whole:amax(3):equal(windows:amax(3)))
      assert.is_true(whole:argmax(3):equal(windows:argmax(3)))
    end
  end
end)
