-- The switch of Winograd's convolution: what it changes is rounding, and only of float32.

local lucerna = require "lucerna"
local conv2d = lucerna.nn.functional.conv2d

local function both_ways(x, w)
  local fast = conv2d(x, w, nil, { padding = 1 })
  lucerna.set_winograd_enabled(false)
  local direct = conv2d(x, w, nil, { padding = 1 })
  lucerna.set_winograd_enabled(true)
  return fast, direct
end

describe("winograd", function()
  it("is on at first, and agrees with direct sums to 1e-5 of the output's scale", function()
    assert.is_true(lucerna.is_winograd_enabled())
    lucerna.manual_seed(3)
    local x, w = lucerna.randn(2, 48, 17, 14), lucerna.randn(40, 48, 3, 3)
    local fast, direct = both_ways(x, w)
    local error = (fast - direct):abs():max():item()
    assert.is_true(error > 0 and error < 3e-5 * direct:std():item(), error)
  end)

  it("leaves float64 alone", function()
    local x = lucerna.randn(2, 48, 17, 14, { dtype = lucerna.float64 })
    local w = lucerna.randn(40, 48, 3, 3, { dtype = lucerna.float64 })
    local fast, direct = both_ways(x, w)
    assert.is_true(fast:equal(direct))
  end)

  it("gives the same whatever the number of threads", function()
    local threads = lucerna.get_num_threads()
    for _, size in ipairs { 40, 6 } do -- many tiles, and few
      local x, w = lucerna.randn(2, 64, size, size), lucerna.randn(96, 64, 3, 3)
      lucerna.set_num_threads(1)
      local one = conv2d(x, w, nil, { padding = 1 })
      lucerna.set_num_threads(3)
      local three = conv2d(x, w, nil, { padding = 1 })
      lucerna.set_num_threads(threads)
      assert.is_true(one:equal(three))
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
end)
