-- The pool: results do not depend on the number of threads, idle threads sleep, and OpenBLAS's own
-- threads stay off.

local lucerna = require "lucerna"
local nn, F = lucerna.nn, lucerna.nn.functional

local function randn(...) return lucerna.randn(..., { requires_grad = true }) end

-- Work large enough to be cut, each with what it computes and the gradients of that.
local WORK = {
  products = function() return randn({ 300, 200 }):matmul(randn({ 200, 300 })) end,
  batches = function() return randn({ 40, 64, 48 }):bmm(randn({ 40, 48, 64 })) end,
  elementwise = function() return (randn({ 700, 700 }):exp() + 1):log():sigmoid() end,
  sums = function()
    local x = randn({ 900, 700 })
    return lucerna.cat { x:sum():view(1), x:mean(1), x:var(2), x:sum(2), x:logsumexp(1) }
  end,
  scans = function() return randn({ 600, 500 }):cumsum(1) + randn({ 600, 500 }):cumprod(2) end,
  sorted = function() return (randn({ 400, 700 }):sort()) end,
  largest = function() return (randn({ 400, 700 }):topk(9)) end,
  softmax = function()
    return F.log_softmax(randn({ 500, 700 }), 2) + randn({ 500, 700 }):softmax(1)
  end,
  norms = function()
    local x = randn({ 16, 32, 40, 40 })
    return nn.BatchNorm2d(32)(x) + nn.GroupNorm(8, 32)(x) + F.layer_norm(x, { 40, 40 })
  end,
  pooling = function()
    local x = randn({ 8, 32, 40, 40 })
    return F.max_pool2d(x, 2) + F.avg_pool2d(x, 2) + F.adaptive_avg_pool2d(x, 20)
  end,
  convolutions = function()
    local x = randn({ 4, 32, 28, 28 })
    local y = nn.Conv2d(32, 64, 5, { padding = 2 })(x) + nn.Conv2d(32, 64, 3, { padding = 1 })(x)
      + nn.Conv2d(32, 64, 1)(x) + nn.Conv2d(32, 64, 3, { padding = 1, groups = 4 })(x)
      + nn.Conv2d(32, 64, 3, { padding = 1, groups = 32 })(x)
    return y[{ {}, {}, { 1, -1, 2 }, { 1, -1, 2 } }]
      + nn.Conv2d(32, 64, 7, { padding = 3, stride = 2 })(x)
  end,
  transposed = function()
    return nn.ConvTranspose2d(32, 16, 4, { stride = 2 })(randn({ 4, 32, 28, 28 }))
  end,
  volumes = function()
    return nn.Conv3d(16, 32, 3, { padding = 1 })(randn({ 2, 16, 8, 20, 20 }))
  end,
  sequences = function()
    return nn.Conv1d(32, 32, 3, { dilation = 2 })(randn({ 4, 32, 2000 }))
  end,
  recurrent = function() return (nn.LSTM(48, 64)(randn({ 20, 16, 48 }))) end,
  ["recurrent, of few rows"] = function()
    local one, three = randn({ 20, 1, 48 }), randn({ 20, 3, 48 })
    return (nn.LSTM(48, 260)(one)) + (nn.GRU(48, 260)(one)) + (nn.RNN(48, 260)(three))
  end,
  attention = function()
    local q = randn({ 2, 4, 160, 32 })
    return F.scaled_dot_product_attention(q, q, q, { is_causal = true })
  end,
  ["attention of one head"] = function()
    local q, mask = randn({ 1, 1, 500, 48 }), lucerna.rand(500, 500):gt(0.2)
    return F.scaled_dot_product_attention(q, q, q, mask)
      + F.scaled_dot_product_attention(q, q, q, { is_causal = true })
  end,
  ["attention of one query"] = function()
    return F.scaled_dot_product_attention(randn({ 8, 1, 64 }), randn({ 8, 999, 64 }),
      randn({ 8, 999, 64 }))
  end,
  transforms = function()
    local x = randn({ 70, 60, 50 })
    local parts = lucerna.view_as_real(lucerna.fft.rfft2(x, { dim = { 1, 3 } }))
    local long = lucerna.view_as_real(lucerna.fft.fft(randn({ 65536 })))
    return lucerna.cat { parts:flatten(), long:flatten(),
      lucerna.view_as_real(lucerna.fft.fft2(x)):flatten() }
  end,
  encoder = function()
    local layer = nn.TransformerEncoderLayer(64, 4, { dim_feedforward = 128, dropout = 0 })
    return layer(randn({ 40, 8, 64 }))
  end,
  counted = function()
    local x, ids = lucerna.randn(300000), lucerna.randint(0, 900, { 300000 })
    return lucerna.cat { x:histc(50), ids:bincount():float(), ids:bincount(x) }
  end,
  indexed = function()
    local x, ids = randn({ 40, 9000 }), lucerna.randint(1, 41, { 40, 9000 })
    local rows, mask = lucerna.randint(1, 41, { 200 }), lucerna.rand(40, 9000):gt(0.5)
    local sums = x:gather(1, ids):scatter_add(1, ids, randn({ 40, 9000 }))
    sums = sums:index_add(1, rows, x[rows]):masked_fill(mask, 2) + x[mask]:sum()
    return sums:index_select(2, lucerna.randint(1, 9001, { 5000 }))
  end,
  ["a long line, written"] = function() -- of equal places the last wins
    local x, ids = randn({ 300000 }), lucerna.randint(1, 300001, { 300000 })
    local signed = lucerna.where(ids:gt(150000), ids - 300001, ids)
    return x:put(signed, randn({ 300000 })):index_copy(1, ids, randn({ 300000 }))
  end,
  ["places along lines"] = function()
    local many, ids = lucerna.randint(1, 1001, { 300000 }), lucerna.randint(1, 1001, { 3, 100000 })
    local y = randn({ 1000 }):scatter_add(1, many, randn({ 300000 }))
    local x = randn({ 3, 1000 })
    return x:scatter_add(2, ids, randn({ 3, 100000 })):scatter(2, ids, randn({ 3, 100000 })) + y
  end,
  embedding = function()
    return nn.Embedding(3000, 64)(lucerna.randint(1, 3001, { 4000 }))
  end,
  classes = function()
    return F.cross_entropy(randn({ 200, 3000 }), lucerna.randint(1, 3001, { 200 })):view(1)
  end,
  drawn = function() return lucerna.randn(300000) + lucerna.rand(300000) end,
  dropped = function() return F.dropout(randn({ 700, 700 }), 0.3) end,
}

-- What the work gives, and the gradients of all it was made from.
local function results(work, threads)
  local leaves = {}
  lucerna.set_num_threads(threads)
  lucerna.manual_seed(11)
  local made = randn
  randn = function(...)
    leaves[#leaves + 1] = made(...)
    return leaves[#leaves]
  end
  local y = work()
  randn = made
  local out = { y:detach() }
  if y.requires_grad then
    y:backward(lucerna.ones_like(y))
    for _, leaf in ipairs(leaves) do out[#out + 1] = leaf.grad end
  end
  return out
end

local function cpu_while_asleep(seconds)
  local begin = os.clock()
  os.execute("sleep " .. seconds)
  return os.clock() - begin
end

local function count_threads()
  local count = 0
  local id = io.open("/proc/self/stat"):read("n")
  for _ in io.popen("ls /proc/" .. id .. "/task"):lines() do count = count + 1 end
  return count
end

describe("threads", function()
  local before = lucerna.get_num_threads()
  after_each(function() lucerna.set_num_threads(before) end)

  for name, work in pairs(WORK) do
    it("do not change " .. name .. " by a bit", function()
      local alone = results(work, 1)
      for _, threads in ipairs { 2, 3, 5 } do
        for i, t in ipairs(results(work, threads)) do
          assert.is_true(t:equal(alone[i]), ("result %d, %d threads"):format(i, threads))
        end
      end
    end)
  end

  it("sleep when there is nothing to do", function()
    lucerna.set_num_threads(4)
    results(WORK.products, 4)
    assert.is_true(cpu_while_asleep(0.3) < 0.05)
  end)

  it("are not joined by OpenBLAS's", function()
    lucerna.set_num_threads(2)
    lucerna.linalg.svd(lucerna.randn(40, 40)) -- loads it: its threads look about, then sleep
    os.execute("sleep 0.5")
    local cpu, wall, threads = os.clock(), lucerna.clock(), count_threads()
    for _ = 1, 3 do lucerna.linalg.svd(lucerna.randn(200, 200)) end
    assert.is_true(os.clock() - cpu < 1.3 * (lucerna.clock() - wall) + 0.01)
    assert.equal(threads, count_threads())
    assert.is_true(cpu_while_asleep(0.2) < 0.05)
  end)

  it("follow the caller in what denormals are", function()
    local threads, small = lucerna.get_num_threads(), lucerna.full({ 1 << 20 }, 1e-39)
    local function products(flushes)
      local can = lucerna.set_flush_denormal(flushes)
      local halves = small * 0.5
      lucerna.set_flush_denormal(false)
      return can, halves
    end
    for n = 1, 3 do
      lucerna.set_num_threads(n)
      local _, kept = products(false)
      assert.equal(1 << 20, lucerna.count_nonzero(kept):item())
      local can, flushed = products(true)
      if can then assert.equal(0, lucerna.count_nonzero(flushed):item()) end
    end
    lucerna.set_num_threads(threads)
    assert.is_true(5e-324 * 1.0 > 0) -- Lua's own
    local ok, why = pcall(lucerna.set_flush_denormal, "yes")
    assert.is_false(ok)
    assert.matches("set_flush_denormal.*mode.*bool.*string", why)
  end)
end)
