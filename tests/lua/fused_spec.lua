-- What a Sequential runs as one operator gives what its children give one after another.
local lucerna = require "lucerna"
local nn = lucerna.nn

-- A hook keeps the two apart.
describe("a ReLU behind a Linear", function()
  local function pair(n, k, bias, dtype, inplace)
    local fused = nn.Sequential(nn.Linear(k, n, { bias = bias, dtype = dtype }),
      nn.ReLU(inplace))
    local apart = fused:clone()
    apart[1]:register_forward_hook(function() end)
    return fused, apart
  end

  local function run(net, x, dy)
    local input = x:clone():requires_grad_()
    local y = net(input)
    local leaves = { input }
    for p in net:parameters() do leaves[#leaves + 1] = p end
    return { y, lucerna.autograd.grad(y, leaves, dy) }
  end

  local function same(a, b)
    for i = 1, #a do
      assert.is_true(lucerna.equal(a[i]:nan_to_num(7), b[i]:nan_to_num(7)))
    end
  end

  it("gives the same numbers and gradients", function()
    for _, dtype in ipairs { "float32", "float64", "bfloat16", "float16" } do
      for _, n in ipairs { 1, 5, 16, 50, 200 } do
        for _, k in ipairs { 1, 4, 7, 33, 256 } do
          for _, rows in ipairs { 0, 1, 2, 9, 65 } do
            local bias, kind = (n + k + rows) % 2 == 0, lucerna[dtype]
            local fused, apart = pair(n, k, bias, kind, rows % 2 == 0)
            local x, dy = lucerna.randn(rows, k):to(kind), lucerna.randn(rows, n):to(kind)
            if rows > 2 then x[{ 2, 1 }] = 0 / 0 end
            same(run(apart, x, dy), run(fused, x, dy))
          end
        end
      end
    end
  end)

  it("also where sums are cut into parts", function()
    local fused, apart = pair(2, 150000, true)
    local x, dy = lucerna.randn(3, 150000), lucerna.randn(3, 2)
    same(run(apart, x, dy), run(fused, x, dy))
  end)

  it("is called, and fails, as before", function()
    local fused = pair(3, 2, true)
    local seen = 0
    fused[2]:register_forward_hook(function(_, args, output)
      seen = seen + 1
      assert.is_true(lucerna.equal(args[1]:relu(), output))
    end)
    assert.is_true(fused(lucerna.randn(4, 2)):ge(0):all():item())
    assert.equal(1, seen)
    local ok, message = pcall(pair(3, 2, true), lucerna.ones(1, 5))
    assert.is_false(ok)
    assert.matches("in 0 %(Linear%): linear: input has 5 features, weight expects 2", message)
    ok, message = pcall(pair(3, 2, true), lucerna.ones(1, 2):to(lucerna.int64))
    assert.is_false(ok)
    assert.matches("in 0 %(Linear%): linear: ", message)
    local complex = pair(3, 2, true, lucerna.complex64)
    ok, message = pcall(complex, lucerna.randn(1, 2):to(lucerna.complex64))
    assert.is_false(ok)
    assert.matches("in 1 %(ReLU%): relu: ", message)
  end)

  it("is differentiated twice, mapped and autocast as before", function()
    local fused, apart = pair(4, 3, true, lucerna.float64)
    assert.is_true(lucerna.autograd.gradgradcheck(function(x) return fused(x) ^ 2 end,
      { lucerna.randn(5, 3):double():requires_grad_() }))
    local many = lucerna.randn(6, 3):double()
    same({ lucerna.func.vmap(apart)(many) }, { lucerna.func.vmap(fused)(many) })
    local _ <close> = lucerna.autocast("cpu")
    assert.equal(lucerna.bfloat16, pair(4, 3, true)(lucerna.randn(2, 3)).dtype)
  end)
end)

describe("a ReLU behind a convolution", function()
  -- {class, arguments of it, size of the input}: one for each way a convolution is made.
  local ways = {
    { "Conv2d", { 1, 20, 5 }, { 4, 1, 12, 12 } },
    { "Conv2d", { 20, 50, 5 }, { 2, 20, 12, 12 } },
    { "Conv2d", { 32, 32, 3, { padding = 1 } }, { 2, 32, 14, 14 } },
    { "Conv2d", { 64, 48, 3, { padding = 1 } }, { 1, 64, 7, 7 } },
    { "Conv2d", { 16, 32, 5, { padding = 2, stride = 2 } }, { 2, 16, 15, 15 } },
    { "Conv2d", { 3, 16, 7, { padding = 3, stride = 2 } }, { 1, 3, 32, 32 } },
    { "Conv2d", { 24, 24, 3, { groups = 24, padding = 1 } }, { 2, 24, 9, 9 } },
    { "Conv2d", { 24, 48, 3, { groups = 24 } }, { 2, 24, 9, 9 } },
    { "Conv2d", { 32, 64, 1 }, { 2, 32, 7, 7 } },
    { "Conv2d", { 32, 64, 1, { stride = 2, bias = false } }, { 2, 32, 8, 8 } },
    { "Conv2d", { 16, 120, 5 }, { 3, 16, 5, 5 } },
    { "Conv2d", { 3, 32, 8, { stride = 8 } }, { 2, 3, 32, 32 } },
    { "Conv2d", { 64, 64, 3, { dilation = 4, padding = 4 } }, { 1, 64, 14, 14 } },
    { "Conv2d", { 32, 32, 3, { groups = 4, padding = "same" } }, { 2, 32, 10, 10 } },
    { "Conv2d", { 2, 3, 3, { padding = 1, padding_mode = "reflect" } }, { 2, 5, 6 } },
    { "Conv2d", { 2, 3, 3 }, { 0, 2, 5, 5 } },
    { "Conv1d", { 16, 32, 3, { padding = 1 } }, { 2, 16, 50 } },
    { "Conv1d", { 5, 7, 9, { dilation = 2 } }, { 5, 40 } },
    { "Conv3d", { 4, 16, 3, { padding = 1 } }, { 1, 4, 6, 7, 8 } },
    { "Conv3d", { 16, 16, 3, { stride = 2 } }, { 2, 16, 7, 7, 7 } },
  }

  for i, way in ipairs(ways) do
    it("gives the same numbers and gradients: " .. way[1] .. " " .. i, function()
      for _, dtype in ipairs { "float32", "float64", "bfloat16" } do
        local fused = nn.Sequential(nn[way[1]](table.unpack(way[2])), nn.ReLU()):to(lucerna[dtype])
        local apart, below = fused:clone(), 0
        apart[1]:register_forward_hook(function(_, _, output)
          below = below + output:lt(0):sum():item()
        end)
        local x = lucerna.randn(way[3]):to(lucerna[dtype])
        local function run(net)
          local input = x:clone():requires_grad_()
          local y, leaves = net(input), { input }
          for p in net:parameters() do leaves[#leaves + 1] = p end
          return { y, lucerna.autograd.grad(y, leaves, lucerna.arange(y:numel()):view(y.shape)
            :to(y.dtype) / (y:numel() + 1)) }
        end
        local a, b = run(apart), run(fused)
        assert.is_true(below > 0 or x:numel() == 0)
        for k = 1, #a do assert.is_true(lucerna.equal(a[k], b[k])) end
      end
    end)
  end

  it("rounds no sum of several chains another way", function()
    local conv = nn.Conv2d(16, 32, 5, { padding = 2, stride = 2, dtype = lucerna.bfloat16 })
    local fused = nn.Sequential(conv, nn.ReLU())
    for _ = 1, 200 do
      local x = lucerna.randn(2, 16, 15, 15):to(lucerna.bfloat16)
      assert.is_true(lucerna.equal(conv(x):relu(), fused(x)))
    end
  end)

  it("fails as before, and goes on behind the ReLU", function()
    local net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Conv2d(3, 4, 3), nn.ReLU())
    assert.same({ 1, 4, 1, 1 }, net(lucerna.randn(1, 2, 5, 5)).shape)
    local ok, message = pcall(net, lucerna.randn(1, 3, 5, 5))
    assert.is_false(ok)
    assert.matches("in 0 %(Conv2d%): conv2d: input has 3 channels, weight expects 2", message)
    net[3].weight = nn.Parameter(lucerna.randn(4, 3, 3))
    ok, message = pcall(net, lucerna.randn(1, 2, 5, 5))
    assert.is_false(ok)
    assert.matches("in 2 %(Conv2d%): conv2d: weight must have 4 dimensions", message)
  end)

  it("is differentiated twice", function()
    local net = nn.Sequential(nn.Conv2d(2, 3, 3, { padding = 1 }), nn.ReLU()):double()
    assert.is_true(lucerna.autograd.gradgradcheck(function(x) return net(x) ^ 2 end,
      { lucerna.randn(1, 2, 4, 4):double():requires_grad_() }))
  end)
end)

describe("a Transformer's feed-forward part", function()
  local function layer(kind, options)
    options.dim_feedforward, options.batch_first, options.dropout = 24, true, 0.0
    return nn[kind](8, 2, options)
  end

  it("gives the same with a hook between its Linear and ReLU", function()
    for _, kind in ipairs { "TransformerEncoderLayer", "TransformerDecoderLayer" } do
      for _, options in ipairs { {}, { norm_first = true }, { bias = false } } do
        local fused, seen = layer(kind, options), 0
        local apart = fused:clone()
        apart.linear1:register_forward_hook(function(_, _, output)
          seen = seen + output:lt(0):sum():item()
        end)
        local x, memory = lucerna.randn(3, 5, 8), lucerna.randn(3, 7, 8)
        local function run(net)
          local y = net(x, kind:find("Decoder") and memory or nil)
          return y, lucerna.autograd.grad(y:square():sum(), net:parameters())
        end
        local a, b = { run(fused) }, { run(apart) }
        assert.is_true(seen > 0)
        for i = 1, #a do assert.is_true(lucerna.equal(a[i], b[i])) end
      end
    end
  end)

  it("calls what stands in the Linear's place, and says where a call failed", function()
    local net = layer("TransformerEncoderLayer", {})
    net.linear1 = nn.Sequential(nn.Linear(8, 24), nn.Tanh())
    assert.same({ 1, 5, 8 }, net(lucerna.randn(1, 5, 8)).shape)
    net.linear1 = nn.Linear(7, 24)
    local ok, message = pcall(net, lucerna.randn(1, 5, 8))
    assert.is_false(ok)
    assert.matches("in linear1 %(Linear%): linear: input has 8 features, weight expects 7", message)
  end)
end)
