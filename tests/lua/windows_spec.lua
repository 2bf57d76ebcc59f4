-- Pooling by windows of all sizes, strides and dilations, beside the windows themselves.
local lucerna = require "lucerna"
local parity = require "parity"
local F = lucerna.nn.functional

describe("windows of a row:", function()
  -- Strides to 12 pick from whole vectors, wider ones gather; rows that windows fill are one.
  it("are pooled at any stride, whether or not they fill their row", function()
    for _, c in ipairs {{2, 2, 20}, {2, 2, 50}, {3, 3, 100}, {1, 3, 99}, {5, 5, 500}, {5, 5, 36},
      {4, 5, 35}, {7, 7, 700}, {3, 8, 203}, {12, 12, 384}, {9, 11, 400}, {2, 13, 390}, {3, 20, 97},
      {9, 2, 64}, {2, 1, 700}, {2, 1, 16}, {2, 1, 17}, {3, 2, 25}, {2, 1, 31}, {5, 1, 32}} do
      local kernel, stride, n = c[1], c[2], c[3]
      for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
        local x = lucerna.randn(5, 8, n, {dtype = dtype})
        x[{2, 3, n}], x[{2, 4, 1}], x[{5, 4, n // 2}] = 0 / 0, -math.huge, 0 / 0
        local windows = x:unfold(-1, kernel, stride)
        local equal = {rtol = 0, atol = 0, equal_nan = true}
        local most, places = F.max_pool1d(x, kernel, stride, {return_indices = true})
        assert.is_true(lucerna.allclose(F.max_pool1d(x, kernel, stride), windows:amax(-1), equal))
        assert.is_true(lucerna.allclose(most, windows:amax(-1), equal))
        assert.is_true(lucerna.allclose(x:gather(-1, places), most, equal))
        if kernel == stride and n % stride == 0 then
          local y, at = F.adaptive_max_pool1d(x, n // stride, {return_indices = true})
          assert.is_true(lucerna.allclose(y, most, equal) and at:equal(places))
        end
        parity.close(F.avg_pool1d(x, kernel, stride):nan_to_num(99, {neginf = -99}),
          windows:mean(-1):nan_to_num(99, {neginf = -99}), {atol = 1e-5, rtol = 1e-5})
      end
    end
  end)

  it("are pooled at strides whose multiples leave 32 bits", function()
    if os.getenv "LUCERNA_TEST_SHORT" then return end -- it takes 1 GB
    local stride <const> = 1 << 28
    local x = lucerna.zeros(1, 1, stride + 2)
    x[{1, 1, 1}], x[{1, 1, stride + 1}] = 1, 3
    assert.same({{{0.5, 1.5}}}, F.avg_pool1d(x, 2, stride):tolist())
    assert.same({{{1, 3}}}, F.max_pool1d(x, 2, stride):tolist())
  end)
end)

describe("windows of any kind:", function()
  -- Columns of several rows are joined first, four vectors or one at a time.
  it("of a volume are the largest of their rows, with the place of the first", function()
    for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
      for _, shape in ipairs {{17, 8, 8, 8}, {2, 5, 6, 150}, {1, 3, 7, 67}, {2, 1, 9, 600}} do
        local x = lucerna.randint(-4, 4, shape, {dtype = dtype})
        x[{1, 1, 2, 7}], x[{1, shape[2], 6, 3}] = 0 / 0, -math.huge
        local out = {math.min(2, shape[2]), 3, 2}
        local y, at = F.adaptive_max_pool3d(x, out, {return_indices = true})
        local function window(d, o) -- from 1
          return (o - 1) * shape[d] // out[d - 1] + 1, (o * shape[d] + out[d - 1] - 1) // out[d - 1]
        end
        for a = 1, out[1] do for b = 1, out[2] do for c = 1, out[3] do
          local a1, a2 = window(2, a)
          local b1, b2 = window(3, b)
          local c1, c2 = window(4, c)
          local part = x[{{}, {a1, a2}, {b1, b2}, {c1, c2}}]:flatten(2)
          local most = part:amax(-1)
          assert.is_true(lucerna.allclose(y[{{}, a, b, c}], most,
            {rtol = 0, atol = 0, equal_nan = true}))
          local i = part:argmax(-1) - 1
          local wide, high = c2 - c1 + 1, b2 - b1 + 1
          local row = i:div(wide, {rounding_mode = "floor"})
          local deep = row:div(high, {rounding_mode = "floor"}) + a1 - 1
          local place = (deep * shape[3] + row % high + b1 - 1) * shape[4] + i % wide + c1
          assert.is_true(at[{{}, a, b, c}]:equal(place))
        end end end
      end
    end
  end)

  -- The largest of a window's elements, each of which is a plane of strided ones.
  local function expected(x, kernel, stride, dilation)
    local best
    for a = 0, kernel[1] - 1 do
      for b = 0, kernel[2] - 1 do
        for c = 0, kernel[3] - 1 do
          local part, from = x, {a * dilation[1], b * dilation[2], c * dilation[3]}
          for d = 1, 3 do
            local covered = (kernel[d] - 1) * dilation[d] + 1
            local n = (x:size(d + 1) - covered) // stride[d] + 1
            local places = lucerna.arange(n) * stride[d] + from[d] + 1
            part = part:index_select(d + 1, places)
          end
          best = best and lucerna.maximum(best, part) or part
        end
      end
    end
    return best
  end

  it("maxima over wide, dilated and overlapping ones", function()
    local kinds = {
      {{1, 1, 1}, {2, 3, 4}, {1, 1, 1}}, {{2, 2, 2}, {2, 2, 2}, {1, 1, 1}},
      {{3, 2, 600}, {1, 1, 7}, {1, 2, 1}}, {{2, 3, 2}, {1, 1, 1}, {2, 1, 700}},
      {{2, 2, 3}, {1, 1, 2}, {2, 1, 3}}, {{1, 1, 300}, {1, 1, 1}, {1, 1, 4}},
      {{2, 1, 300}, {1, 1, 1}, {1, 1, 4}}, {{4, 5, 1300}, {1, 1, 1}, {1, 1, 1}},
    }
    for _, kind in ipairs(kinds) do
      local kernel, stride, dilation = table.unpack(kind)
      for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
        local x = lucerna.randn(2, 4, 5, 1300, {dtype = dtype})
        local y, at = F.max_pool3d(x, kernel,
          {stride = stride, dilation = dilation, return_indices = true})
        assert.is_true(lucerna.equal(expected(x, kernel, stride, dilation), y))
        local found = x:flatten(2):gather(2, at:flatten(2))
        assert.is_true(lucerna.equal(found, y:flatten(2)))
      end
    end
  end)

  it("the first of equals, the last NaN", function()
    local nan = 0 / 0
    local x = lucerna.tensor {{{1.0, 3}, {3, 2}}, {{3.0, 1}, {0, 0}}}:unsqueeze(1)
    local _, at = F.max_pool3d(x, 2, {return_indices = true})
    assert.equal(2, at:item())
    x = lucerna.tensor {{{1.0, nan}, {nan, 2}}, {{3.0, 1}, {0, 0}}}:unsqueeze(1)
    local y
    y, at = F.max_pool3d(x, 2, {return_indices = true})
    assert.is_true(y:isnan():item())
    assert.equal(3, at:item())
    _, at = F.adaptive_max_pool2d(lucerna.full({1, 3, 5}, -1 / 0), 1, {return_indices = true})
    assert.equal(1, at:item())
    for _, dtype in ipairs {lucerna.float32, lucerna.float64} do -- windows of 2 x 3 to 2 x 40
      for wide = 3, 40 do
        x = lucerna.full({1, 4, 2 * wide}, -1 / 0, {dtype = dtype})
        x[{1, 1, 3}], x[{1, 2, 2}], x[{1, 2, 1}], x[{1, 4, -1}] = nan, nan, 9, nan
        x[{1, 1, -1}], x[{1, 2, -2}], x[{1, 2, -1}] = 5, 7, 7
        y, at = F.adaptive_max_pool2d(x, 2, {return_indices = true})
        assert.same({2 * wide + 2, 4 * wide - 1, 4 * wide + 1, 8 * wide}, at:flatten():tolist())
        assert.same({true, false, false, true}, y:isnan():flatten():tolist())
        assert.equal(-1 / 0, y[{1, 2, 1}]:item())
      end
    end
  end)
end)

describe("images with channels last in memory", function()
  it("are pooled and padded as others, and so are their gradients", function()
    local calls = {
      function(t) return F.max_pool2d(t, 3, 2, 1) end,
      function(t) return (F.adaptive_max_pool2d(t, {2, 3})) end,
      function(t) return F.pad(t, {1, 2, 2, 1}, "reflect") end,
      function(t) return F.pad(t, {-1, 2, 1, -1}, "replicate") end,
      function(t) return F.pad(t, {0, 0, 2, 0}, "circular") end,
    }
    for _, dtype in ipairs {"float32", "float64"} do
      local x = lucerna.randint(0, 9, {3, 17, 4, 6}):to(lucerna[dtype])
      local last = x:permute(1, 3, 4, 2):contiguous():permute(1, 4, 2, 3)
      x, last = x:detach():requires_grad_(), last:detach():requires_grad_()
      for i, f in ipairs(calls) do
        local y, same = f(x), f(last)
        assert.equal(1, same:stride(2))
        assert.is_true(same:equal(y), dtype .. i)
        local g = lucerna.randint(-9, 9, y:size()):to(y.dtype)
        local turned = g:permute(1, 3, 4, 2):contiguous():permute(1, 4, 2, 3)
        local dx = lucerna.autograd.grad(y, x, {grad_outputs = g})[1]
        assert.is_true(lucerna.autograd.grad(same, last, {grad_outputs = turned})[1]:equal(dx))
      end
    end
  end)
end)
