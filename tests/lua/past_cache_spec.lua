-- Operations whose operands fill the last cache write their results past it: they give what the
-- same ones give part by part.
local lucerna = require "lucerna"
local nn = lucerna.nn

local ROWS, COLUMNS = 4096, 4096 -- 64 MB
local STRIP = 64

-- f of all of x (and more) is f of each strip of rows.
local function check(f, x, ...)
  local more, whole = { ... }, f(x, ...)
  for _, row in ipairs { 1, x:size(1) // 2, x:size(1) - STRIP + 1 } do
    local parts = {}
    for i, y in ipairs(more) do
      parts[i] = lucerna.is_tensor(y) and y:dim() == 2 and y:size(1) == x:size(1)
        and y:narrow(1, row, STRIP) or y
    end
    assert.is_true(whole:narrow(1, row, STRIP):equal(f(x:narrow(1, row, STRIP),
      table.unpack(parts))))
  end
end

describe("past the cache", function()
  local x, y = lucerna.randn(ROWS, COLUMNS), lucerna.randn(ROWS, COLUMNS)

  it("sums, functions and comparisons come out as in parts", function()
    check(lucerna.add, x, y)
    check(lucerna.mul, x, 3)
    check(lucerna.exp, x)
    check(lucerna.pow, x, 2)
    check(lucerna.lt, x, y)
    check(lucerna.add, x, y:narrow(2, 1, 1))
    check(lucerna.add, x, y:narrow(1, 1, 1))
  end)

  it("rows of any length do", function()
    local z = x:reshape(-1):narrow(1, 1, 3000 * 4099):reshape(3000, 4099)
    check(lucerna.neg, z)
    check(function(t) return t:softmax(2) end, z)
    check(nn.LayerNorm(4099), z)
  end)

  it("softmax and LayerNorm do", function()
    check(function(t) return t:softmax(2) end, x)
    check(function(t) return t:log_softmax(2) end, x)
    check(nn.LayerNorm(COLUMNS), x)
    check(nn.RMSNorm(COLUMNS), x)
  end)

  it("their gradients do #slow", function()
    local function gradient(f)
      return function(t, g)
        t = t:clone():requires_grad_()
        f(t):backward(g)
        return t.grad
      end
    end
    check(gradient(function(t) return t:softmax(2) end), x, y)
    check(gradient(function(t) return t:log_softmax(2) end), x, y)
    check(gradient(nn.LayerNorm(COLUMNS)), x, y)
  end)

  it("rows of halves do, and their gradients #slow", function()
    local h, g = x:bfloat16(), y:bfloat16()
    local odd = h:reshape(-1):narrow(1, 1, 3500 * 4099):reshape(3500, 4099)
    for _, f in ipairs {
      function(t) return t:softmax(2) end, function(t) return t:log_softmax(2) end,
      function(t) return nn.functional.layer_norm(t, { t:size(2) }) end,
    } do
      check(f, odd)
      check(f, h)
      check(function(t, pull)
        t = t:clone():requires_grad_()
        f(t):backward(pull)
        return t.grad
      end, h, g)
    end
  end)

  it("GroupNorm does, and BatchNorm with its gradient, channel by channel", function()
    local images = x:reshape(1024, 16, 32, 32)
    check(nn.GroupNorm(4, 16), images)
    local function run(channel, count)
      local part = images:narrow(2, channel, count):contiguous():requires_grad_()
      local out = nn.BatchNorm2d(count)(part)
      out:backward(out)
      return out, part.grad
    end
    local out, grad = run(1, 16)
    for channel = 1, 16, 5 do
      local some, some_grad = run(channel, 1)
      assert.is_true(out:narrow(2, channel, 1):equal(some))
      assert.is_true(grad:narrow(2, channel, 1):equal(some_grad))
    end
  end)

  it("an operand written in place does, and one that begins between two lines", function()
    local z = x:clone()
    z:add_(y)
    assert.is_true(z:equal(x + y))
    local room = lucerna.empty(ROWS * COLUMNS + 1)
    local out = room:narrow(1, 2, ROWS * COLUMNS)
    lucerna.add(x:reshape(-1), y:reshape(-1), { out = out })
    assert.is_true(out:equal(z:reshape(-1)))
  end)

  it("any number of threads gives the same", function()
    local threads = lucerna.get_num_threads()
    lucerna.set_num_threads(1)
    local one = x:softmax(2)
    lucerna.set_num_threads(2)
    assert.is_true(one:equal(x:softmax(2)))
    lucerna.set_num_threads(threads)
  end)

  -- As rows, one of these fills a second-level cache by itself, so that they are turned in turn.
  it("large images are sampled as each by itself, and so are the grid's gradients", function()
    local images, g = lucerna.randn(3, 3, 400, 340), lucerna.randn(3, 3, 190, 150)
    local grid = (lucerna.rand(3, 190, 150, 2) * 2.2 - 1.1):requires_grad_()
    local all = nn.functional.grid_sample(images, grid)
    all:backward(g)
    for i = 1, 3 do
      local alone = grid:detach()[{{i, i}}]:clone():requires_grad_()
      local one = nn.functional.grid_sample(images[{{i, i}}], alone)
      one:backward(g[{{i, i}}])
      assert.is_true(all:detach()[{{i, i}}]:equal(one:detach()))
      assert.is_true(grid.grad[{{i, i}}]:equal(alone.grad))
    end
  end)
end)
