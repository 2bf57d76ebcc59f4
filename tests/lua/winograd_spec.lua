-- The switch of Winograd's convolution: what it changes is rounding, and only of float32.

local lucerna = require "lucerna"
local F = lucerna.nn.functional
local conv2d = F.conv2d

-- Output and gradients of a convolution: { y, dx, dw }.
local function pass(conv, x, w, options)
  x, w = x:detach():requires_grad_(), w:detach():requires_grad_()
  local y = conv(x, w, nil, options)
  local weigh = lucerna.arange(y:numel(), { dtype = lucerna.float64 }):mul(0.7):sin()
  y:backward(weigh:to(x.dtype):view_as(y))
  return { y:detach(), x.grad, w.grad }
end

local function directly(...)
  lucerna.set_winograd_enabled(false)
  local out = pass(...)
  lucerna.set_winograd_enabled(true)
  return out
end

-- The largest error against sums in float64, in units of their root mean square.
local function errors(conv, x, w, options)
  local exact = pass(conv, x:double(), w:double(), options)
  local fast, direct = pass(conv, x, w, options), directly(conv, x, w, options)
  local out = {}
  for i, name in ipairs { "output", "input gradient", "weight gradient" } do
    local scale = exact[i]:square():mean():sqrt():item()
    out[name] = (fast[i]:double() - exact[i]):abs():max():item() / scale
    assert.is_false(fast[i]:equal(direct[i]), name .. " did not go by transforms")
  end
  return out
end

-- { batch, channels, filters, kernel, rows, columns, padding, groups, depth }
local GEOMETRIES = {
  { 1, 48, 40, 3, 17, 14, 1, 1 }, { 3, 33, 65, 3, 21, 11, 0, 1 }, { 1, 70, 35, 3, 13, 23, 2, 1 },
  { 3, 26, 50, 5, 13, 19, 2, 1 }, { 1, 40, 66, 5, 21, 25, 0, 1 }, { 1, 66, 32, 5, 19, 26, 4, 1 },
  { 3, 60, 90, 3, 15, 15, 1, 3 }, { 1, 21, 34, 3, 14, 13, 1, 1, 5 },
  { 3, 16, 20, 5, 17, 19, 2, 1, 4 },
  { 3, 33, 64, 5, 60, 59, 2, 1, stride = 2 }, { 3, 36, 40, 4, 61, 62, 1, 1, stride = 2 },
  { 2, 128, 120, 7, 25, 20, 3, 2, stride = { 1, 2 } }, { 1, 34, 40, 3, 23, 20, 2, 1, dilation = 2 },
  { 2, 33, 32, 7, 19, 14, 3, 1 }, { 2, 32, 33, 4, 14, 15, 1, 1 },
  { 3, 49, 64, { 1, 3 }, 24, 51, { 0, 1 }, 1 }, { 3, 64, 60, { 7, 1 }, 51, 24, { 3, 0 }, 1 },
}

local function make(g, depth)
  local batch, channels, filters, kernel, rows, columns, padding, groups = table.unpack(g)
  if depth then
    return F.conv3d, lucerna.randn(batch, channels, depth, rows, columns),
      lucerna.randn(filters, channels // groups, 3, kernel, kernel),
      { padding = { 1, padding, padding }, groups = groups }
  end
  if type(kernel) == "number" then kernel = { kernel, kernel } end
  return conv2d, lucerna.randn(batch, channels, rows, columns),
    lucerna.randn(filters, channels // groups, table.unpack(kernel)),
    { padding = padding, groups = groups, stride = g.stride, dilation = g.dilation }
end

describe("winograd", function()
  before_each(function() lucerna.manual_seed(3) end)

  it("is on at first", function()
    assert.is_true(lucerna.is_winograd_enabled())
  end)

  it("agrees with exact sums to about 1e-5 of their scale, there and back", function()
    for i, g in ipairs(GEOMETRIES) do
      for name, error in pairs(errors(make(g, g[9]))) do
        assert.is_true(error < 3e-5, ("%d, %s: %g"):format(i, name, error))
      end
    end
  end)

  it("leaves float64 alone", function()
    local x = lucerna.randn(2, 48, 17, 14, { dtype = lucerna.float64 })
    local w = lucerna.randn(40, 48, 3, 3, { dtype = lucerna.float64 })
    local padding = { padding = 1 }
    local fast, direct = pass(conv2d, x, w, padding), directly(conv2d, x, w, padding)
    for i = 1, 3 do assert.is_true(fast[i]:equal(direct[i])) end
  end)

  it("gives the same whatever the number of threads", function()
    local threads = lucerna.get_num_threads()
    -- Many tiles, and few; sums in one cut and in several.
    local list = { { 2, 64, 96, 3, 40, 40, 1, 1 }, { 2, 64, 96, 3, 6, 6, 1, 1 } }
    table.move(GEOMETRIES, 4, #GEOMETRIES, #list + 1, list)
    list[#list + 1] = { 3, 100, 100, 3, 40, 50, 1, 100 } -- depthwise
    for _, g in ipairs(list) do
      local conv, x, w, options = make(g, g[9])
      lucerna.set_num_threads(1)
      local one = pass(conv, x, w, options)
      lucerna.set_num_threads(3)
      local three = pass(conv, x, w, options)
      lucerna.set_num_threads(threads)
      for i = 1, 3 do assert.is_true(one[i]:equal(three[i])) end
    end
  end)

  it("fails cleanly without memory", function()
    local x, w = lucerna.randn(2, 64, 20, 20), lucerna.randn(64, 64, 3, 3)
    collectgarbage()
    lucerna.trim_memory()
    lucerna.set_memory_limit(lucerna.memory().live + 300 * 1024)
    local ok, message = pcall(conv2d, x, w, nil, { padding = 1 })
    lucerna.set_memory_limit(0)
    assert.is_false(ok)
    assert.matches("memory", message)
    assert.equal(20, conv2d(x, w, nil, { padding = 1 }):size(3))
  end)

  it("fails cleanly without memory for the gradient", function()
    local x = lucerna.randn(2, 64, 20, 20)
    local w = lucerna.randn(64, 64, 3, 3, { requires_grad = true })
    local y = conv2d(x, w, nil, { padding = 1 })
    collectgarbage()
    lucerna.trim_memory()
    lucerna.set_memory_limit(lucerna.memory().live + 700 * 1024)
    local ok, message = pcall(y.backward, y, lucerna.ones_like(y), { retain_graph = true })
    lucerna.set_memory_limit(0)
    assert.is_false(ok)
    assert.matches("memory", message)
    y:backward(lucerna.ones_like(y))
    assert.equal(64, w.grad:size(1))
  end)
end)
