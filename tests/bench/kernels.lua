-- Benchmarks of single operators and layers, with the work they do: `flops` (float32 multiplies and
-- adds) or `bytes` (read and written at the least), which set the time against what the machine
-- can do, or against a copy of as many. Twins in kernels.py.

local MB = 2 ^ 20

local cases = dofile("tests/bench/list.lua")()

-- ---- convolutions: name, class, arguments, shape of the input, shape of the output, bounds ----

local CONVOLUTIONS = {
  { "Conv2d 64-64 3x3 on [4, 64, 56, 56]", "Conv2d", { 64, 64, 3, { padding = 1 } },
    { 4, 64, 56, 56 }, { 4, 64, 56, 56 }, infer = 2.5, train = 1.6 },
  { "Conv2d 128-128 3x3 on [4, 128, 28, 28]", "Conv2d", { 128, 128, 3, { padding = 1 } },
    { 4, 128, 28, 28 }, { 4, 128, 28, 28 } },
  { "Conv2d 256-256 3x3 on [4, 256, 14, 14]", "Conv2d", { 256, 256, 3, { padding = 1 } },
    { 4, 256, 14, 14 }, { 4, 256, 14, 14 } },
  { "Conv2d 512-512 3x3 on [4, 512, 7, 7]", "Conv2d", { 512, 512, 3, { padding = 1 } },
    { 4, 512, 7, 7 }, { 4, 512, 7, 7 } },
  { "Conv2d 512-512 3x3 on [1, 512, 7, 7]", "Conv2d", { 512, 512, 3, { padding = 1 } },
    { 1, 512, 7, 7 }, { 1, 512, 7, 7 } },
  { "Conv2d 64-128 3x3 stride 2 on [4, 64, 56, 56]", "Conv2d",
    { 64, 128, 3, { padding = 1, stride = 2 } }, { 4, 64, 56, 56 }, { 4, 128, 28, 28 } },
  { "Conv2d 256-64 1x1 on [4, 256, 56, 56]", "Conv2d", { 256, 64, 1 },
    { 4, 256, 56, 56 }, { 4, 64, 56, 56 } },
  { "Conv2d 128 depthwise 3x3 on [4, 128, 56, 56]", "Conv2d",
    { 128, 128, 3, { padding = 1, groups = 128 } }, { 4, 128, 56, 56 }, { 4, 128, 56, 56 } },
  { "Conv2d 64-64 3x3 in 4 groups on [4, 64, 56, 56]", "Conv2d",
    { 64, 64, 3, { padding = 1, groups = 4 } }, { 4, 64, 56, 56 }, { 4, 64, 56, 56 } },
  { "Conv2d 32-64 5x5 on [4, 32, 28, 28]", "Conv2d", { 32, 64, 5, { padding = 2 } },
    { 4, 32, 28, 28 }, { 4, 64, 28, 28 } },
  { "Conv2d 3-64 7x7 stride 2 on [4, 3, 112, 112]", "Conv2d",
    { 3, 64, 7, { padding = 3, stride = 2 } }, { 4, 3, 112, 112 }, { 4, 64, 56, 56 } },
  { "ConvTranspose2d 64-32 4x4 stride 2 on [4, 64, 28, 28]", "ConvTranspose2d",
    { 64, 32, 4, { padding = 1, stride = 2 } }, { 4, 64, 28, 28 }, { 4, 32, 56, 56 } },
  { "Conv1d 64-64 3 dilation 4 on [4, 64, 4096]", "Conv1d",
    { 64, 64, 3, { padding = 4, dilation = 4 } }, { 4, 64, 4096 }, { 4, 64, 4096 } },
  { "Conv2d 256-256 3x3 stride 2 on [4, 256, 14, 14]", "Conv2d",
    { 256, 256, 3, { padding = 1, stride = 2 } }, { 4, 256, 14, 14 }, { 4, 256, 7, 7 } },
  { "Conv2d 64-128 1x1 stride 2 on [4, 64, 56, 56]", "Conv2d",
    { 64, 128, 1, { stride = 2 } }, { 4, 64, 56, 56 }, { 4, 128, 28, 28 } },
  { "Conv2d 96 depthwise 7x7 on [4, 96, 56, 56]", "Conv2d",
    { 96, 96, 7, { padding = 3, groups = 96 } }, { 4, 96, 56, 56 }, { 4, 96, 56, 56 } },
  { "Conv2d 128-128 3x3 in 32 groups on [4, 128, 56, 56]", "Conv2d",
    { 128, 128, 3, { padding = 1, groups = 32 } }, { 4, 128, 56, 56 }, { 4, 128, 56, 56 } },
  { "Conv1d 32-32 9 on [8, 32, 16000]", "Conv1d", { 32, 32, 9, { padding = 4 } },
    { 8, 32, 16000 }, { 8, 32, 16000 } },
  { "Conv2d 960 depthwise 3x3 on [4, 960, 7, 7]", "Conv2d",
    { 960, 960, 3, { padding = 1, groups = 960 } }, { 4, 960, 7, 7 }, { 4, 960, 7, 7 } },
  { "Conv2d 3-192 16x16 stride 16 on [4, 3, 224, 224]", "Conv2d",
    { 3, 192, 16, { stride = 16 } }, { 4, 3, 224, 224 }, { 4, 192, 14, 14 } },
  { "Conv3d 16-32 3x3x3 on [2, 16, 16, 28, 28]", "Conv3d", { 16, 32, 3, { padding = 1 } },
    { 2, 16, 16, 28, 28 }, { 2, 32, 16, 28, 28 } },
}

local function product(list)
  local n = 1
  for _, v in ipairs(list) do n = n * v end
  return n
end

-- Every element of the larger side meets the weights of its channel: twice that in flops.
local function convolution_flops(class, args, input, output)
  local groups = args[4] and args[4].groups or 1
  local side, channels = output, input[2]
  if class:find("Transpose") then side, channels = input, output[2] end
  return 2 * product(side) * (channels // groups) * args[3] ^ (#input - 2)
end

for _, c in ipairs(CONVOLUTIONS) do
  local name, class, args, input, output = table.unpack(c, 1, 5)
  local flops = convolution_flops(class, args, input, output)
  cases:add(name, {
    flops = flops, ratio = c.infer or 1, scales = 1.8,
    setup = function(lucerna)
      local layer, x = lucerna.nn[class](table.unpack(args)), lucerna.rand(input)
      return function() layer(x) end
    end,
  })
  cases:add(name .. ", training", {
    flops = 2 * flops, ratio = c.train or 1, scales = 1.8, train = true,
    setup = function(lucerna)
      local layer, x = lucerna.nn[class](table.unpack(args)), lucerna.rand(input)
      local g = lucerna.rand(output)
      return function()
        layer:zero_grad()
        layer(x):backward(g)
      end
    end,
  })
end

-- ---- products ----

for _, peer in ipairs { { "", 1 }, { "; peer: OpenBLAS alone", 0.95 } } do
  cases:add("matmul 1024" .. peer[1], {
    flops = 2 * 1024 ^ 3, ratio = peer[2], scales = 1.8,
    setup = function(lucerna)
      local a, b = lucerna.rand(1024, 1024), lucerna.rand(1024, 1024)
      return function() a:matmul(b) end
    end,
  })
end

for _, m in ipairs { 1, 16, 64 } do
  cases:add(("linear 1024-1024 on %d rows"):format(m), {
    flops = 2 * m * 1024 ^ 2, ratio = 1, scales = m > 1 and 1.8, unit = "us",
    setup = function(lucerna)
      local layer, x = lucerna.nn.Linear(1024, 1024), lucerna.rand(m, 1024)
      return function() layer(x) end
    end,
  })
end

-- What a relu lets through is half zeros, there and back.
cases:add("linear 512-128 on 512 rows behind a relu, there and back", {
  flops = 3 * 2 * 512 * 512 * 128, ratio = 1, scales = 1.8, unit = "us", train = true,
  setup = function(lucerna)
    local layer, x = lucerna.nn.Linear(512, 128), lucerna.randn(512, 512):relu()
    local g = lucerna.rand(512, 128)
    x:requires_grad_()
    return function()
      layer:zero_grad()
      x.grad = nil
      layer(x):backward(g)
    end
  end,
})

cases:add("bmm [32, 128, 64] x [32, 64, 128]", {
  flops = 2 * 32 * 128 * 64 * 128, ratio = 1, scales = 1.8, unit = "us",
  setup = function(lucerna)
    local a, b = lucerna.rand(32, 128, 64), lucerna.rand(32, 64, 128)
    return function() a:bmm(b) end
  end,
})

-- ---- Fourier transforms: 5 n log2 n, and half of that for real numbers ----

local function transform(name, flops, make)
  cases:add(name, { flops = flops, ratio = 1, unit = "us", scoped = true, setup = make })
end

transform("fft of [64, 1024] complex", 64 * 5 * 1024 * 10, function(lucerna)
  local z = lucerna.fft.fft(lucerna.rand(64, 1024))
  return function() lucerna.fft.fft(z) end
end)
transform("rfft of [256]", 2.5 * 256 * 8, function(lucerna)
  local x = lucerna.rand(256)
  return function() lucerna.fft.rfft(x) end
end)
transform("rfft2 of [4, 256, 256]", 4 * 2.5 * 256 ^ 2 * 16, function(lucerna)
  local x = lucerna.rand(4, 256, 256)
  return function() lucerna.fft.rfft2(x) end
end)
transform("fft2 of [8, 256, 256] complex", 8 * 5 * 256 ^ 2 * 16, function(lucerna)
  local z = lucerna.fft.fft2(lucerna.rand(8, 256, 256))
  return function() lucerna.fft.fft2(z) end
end)
local FRAMES = 101 * 2.5 * 400 * 8.64
transform("stft of 16,000 samples, 400 a frame, every 160", FRAMES, function(lucerna)
  local x, window = lucerna.rand(16000), lucerna.hann_window(400)
  local options = { window = window, return_complex = true }
  return function() x:stft(400, 160, options) end
end)

-- ---- 4 M elements ----

local function elementwise(name, bytes, ratio, make)
  cases:add(name, { bytes = bytes * MB, ratio = ratio, scoped = true, setup = make })
end

-- The memory: what lies outside all caches.
elementwise("copy of 32 M", 256, 1, function(lucerna)
  local from, to = lucerna.zeros(2 ^ 25 // 1), lucerna.zeros(2 ^ 25 // 1)
  return function() to:copy_(from) end
end)
elementwise("x + y, 4 M", 48, 1, function(lucerna)
  local x, y = lucerna.rand(2048, 2048), lucerna.rand(2048, 2048)
  return function() local _ = x + y end
end)
for _, name in ipairs { "exp", "log", "tanh", "sigmoid", "sin" } do
  elementwise(name .. ", 4 M", 32, name == "exp" and 1.6 or 1, function(lucerna)
    local x = lucerna.rand(2048, 2048)
    return function() local _ = x[name](x) end
  end)
end
elementwise("x * column, 4 M", 32, 1, function(lucerna)
  local x = lucerna.rand(2048, 2048)
  local column = x:narrow(2, 1, 1)
  return function() local _ = x * column end
end)
elementwise("clamp, 4 M", 32, 1, function(lucerna)
  local x = lucerna.rand(2048, 2048)
  return function() local _ = x:clamp(0.2, 0.7) end
end)
elementwise("gelu, 4 M", 32, 1, function(lucerna)
  local x, F = lucerna.randn(2048, 2048), lucerna.nn.functional
  return function() local _ = F.gelu(x) end
end)
elementwise("sum, 4 M", 16, 1, function(lucerna)
  local x = lucerna.rand(2048, 2048)
  return function() local _ = x:sum() end
end)
elementwise("sum over rows, 4 M", 16, 1, function(lucerna)
  local x = lucerna.rand(2048, 2048)
  return function() local _ = x:sum(1) end
end)
elementwise("max along rows with indices, 4 M", 16, 1, function(lucerna)
  local x = lucerna.rand(2048, 2048)
  return function() local _ = x:max(2) end
end)
elementwise("x + x, int32, 4 M", 32, 1, function(lucerna)
  local x = lucerna.ones(2048, 2048, { dtype = lucerna.int32 })
  return function() local _ = x + x end
end)
elementwise("x + x, bfloat16, 4 M", 16, 1, function(lucerna)
  local x = lucerna.rand(2048, 2048):to(lucerna.bfloat16)
  return function() local _ = x + x end
end)
elementwise("transposed copy, 4 M", 32, 1, function(lucerna)
  local x = lucerna.rand(2048, 2048)
  return function() local _ = x:t():contiguous() end
end)
elementwise("repeat 2 x 2, 1 M", 20, 1, function(lucerna)
  local x = lucerna.rand(1024, 1024)
  return function() local _ = x:tile({ 2, 2 }) end
end)
elementwise("cat of 4, 1 M each", 32, 1, function(lucerna)
  local x = lucerna.rand(1024, 1024)
  return function() local _ = lucerna.cat({ x, x, x, x }, 2) end
end)
elementwise("topk 10 of 2048 rows of 2048", 16, 1, function(lucerna)
  local x = lucerna.rand(2048, 2048)
  return function() local _ = x:topk(10) end
end)
elementwise("sort, 256 rows of 2048", 4, 1, function(lucerna)
  local x = lucerna.rand(256, 2048)
  return function() local _ = x:sort() end
end)

-- ---- layers that memory bounds ----

elementwise("softmax [2048, 2048]", 32, 1.6, function(lucerna)
  local x = lucerna.rand(2048, 2048)
  return function() local _ = x:softmax(2) end
end)
elementwise("LayerNorm [2048, 2048]", 32, 1, function(lucerna)
  local layer, x = lucerna.nn.LayerNorm(2048), lucerna.rand(2048, 2048)
  return function() layer(x) end
end)
elementwise("GroupNorm 8 on [4, 64, 56, 56]", 2 * 3.0625, 1, function(lucerna)
  local layer, x = lucerna.nn.GroupNorm(8, 64), lucerna.rand(4, 64, 56, 56)
  return function() layer(x) end
end)
elementwise("BatchNorm2d, training, forward, [4, 64, 56, 56]", 2 * 3.0625, 1.6, function(lucerna)
  local layer, x = lucerna.nn.BatchNorm2d(64), lucerna.rand(4, 64, 56, 56)
  return function() layer(x) end
end)
elementwise("MaxPool2d 2 on [4, 64, 56, 56]", 1.25 * 3.0625, 1, function(lucerna)
  local layer, x = lucerna.nn.MaxPool2d(2), lucerna.rand(4, 64, 56, 56)
  return function() layer(x) end
end)
elementwise("AvgPool2d 2 on [4, 64, 56, 56]", 1.25 * 3.0625, 1, function(lucerna)
  local layer, x = lucerna.nn.AvgPool2d(2), lucerna.rand(4, 64, 56, 56)
  return function() layer(x) end
end)
elementwise("Embedding 50,000 x 256 of [64, 128]", 16, 1, function(lucerna)
  local layer = lucerna.nn.Embedding(50000, 256)
  local x = lucerna.randint(1, 50001, { 64, 128 })
  return function() layer(x) end
end)

local function training(name, bytes, ratio, make)
  cases:add(name, { bytes = bytes * MB, ratio = ratio, train = true, setup = make })
end

training("LayerNorm [2048, 2048], training", 96, 1, function(lucerna)
  local layer, x = lucerna.nn.LayerNorm(2048), lucerna.rand(2048, 2048, { requires_grad = true })
  local g = lucerna.rand(2048, 2048)
  return function()
    x.grad = nil
    layer(x):backward(g)
  end
end)
training("BatchNorm2d [4, 64, 56, 56], training", 5 * 3.0625, 1, function(lucerna)
  local layer, x = lucerna.nn.BatchNorm2d(64), lucerna.rand(4, 64, 56, 56, { requires_grad = true })
  local g = lucerna.rand(4, 64, 56, 56)
  return function()
    x.grad = nil
    layer(x):backward(g)
  end
end)
training("cross entropy, 256 rows of 50,000 classes, training", 150, 1, function(lucerna)
  local x = lucerna.rand(256, 50000, { requires_grad = true })
  local target = lucerna.randint(1, 50001, { 256 })
  local F = lucerna.nn.functional
  return function()
    x.grad = nil
    F.cross_entropy(x, target):backward()
  end
end)
training("Embedding 50,000 x 64 of [64, 128], training", 12.2 + 4, 1, function(lucerna)
  local layer = lucerna.nn.Embedding(50000, 64)
  local x, g = lucerna.randint(1, 50001, { 64, 128 }), lucerna.rand(64, 128, 64)
  return function()
    layer:zero_grad()
    layer(x):backward(g)
  end
end)

for _, kind in ipairs { "SGD", "SparseAdam" } do
  local function make(lucerna)
    local layer = lucerna.nn.Embedding(100000, 64, { sparse = true })
    local x = lucerna.randint(1, 100001, { 1024 })
    local optimizer = lucerna.optim[kind](layer:parameters(), { lr = 0.01 })
    return function()
      optimizer:zero_grad()
      layer(x):square():sum():backward()
      optimizer:step()
    end
  end
  local name = kind .. ", 1,024 rows of 100,000 x 64, a step"
  cases:add(name, { ratio = 1, train = true, setup = make })
end

local function attention_case(lucerna, train)
  local options = { requires_grad = train }
  local q = lucerna.rand(2, 8, 512, 64, options)
  local k = lucerna.rand(2, 8, 512, 64, options)
  local v = lucerna.rand(2, 8, 512, 64, options)
  return q, k, v, lucerna.nn.functional.scaled_dot_product_attention
end
local ATTENTION = 2 * 2 * 16 * 512 * 512 * 64
cases:add("attention, 8 heads of 64, 512 tokens, batch 2", {
  flops = ATTENTION, ratio = 1, scales = 1.8,
  setup = function(lucerna)
    local q, k, v, attend = attention_case(lucerna, false)
    return function() attend(q, k, v) end
  end,
})
cases:add("attention, 8 heads of 64, 512 tokens, batch 2, training", {
  flops = 3 * ATTENTION, ratio = 1, scales = 1.8, train = true,
  setup = function(lucerna)
    local q, k, v, attend = attention_case(lucerna, true)
    local g = lucerna.rand(2, 8, 512, 64)
    return function() attend(q, k, v):backward(g) end
  end,
})

cases:add("attention, 1 head of 64, 1,024 tokens, causal, training", {
  flops = 3 * 2 * 1024 * 1024 * 64, ratio = 1, scales = 1.8, train = true,
  setup = function(lucerna)
    local x = lucerna.rand(1024, 64, { requires_grad = true })
    local attend, g = lucerna.nn.functional.scaled_dot_product_attention, lucerna.rand(1024, 64)
    return function() attend(x, x, x, { is_causal = true }):backward(g) end
  end,
})

-- ---- optimizers: 11 M parameters, as a ResNet-18 has, in 62 tensors ----

for _, kind in ipairs { "Adam", "SGD", "RMSprop" } do
  local bytes = kind == "Adam" and 7 * 4 or 5 * 4 -- read and written, of each
  cases:add(kind .. ", a step over 11 M parameters", {
    bytes = bytes * 11.2e6, ratio = 1, train = true,
    setup = function(lucerna)
      local list = {}
      for i = 1, 62 do
        list[i] = lucerna.nn.Parameter(lucerna.rand(180000))
        list[i].grad = lucerna.rand(180000)
      end
      local momentum = kind == "SGD" and 0.9 or nil
      local optimizer = lucerna.optim[kind](list, { lr = 1e-4, momentum = momentum })
      return function() optimizer:step() end
    end,
  })
end

return cases
