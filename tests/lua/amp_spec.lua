-- Automatic mixed precision. Which operators are cast is in the operator sweep, beside PyTorch's
-- answers; here is what a region does, and how GradScaler's factor moves.
local lucerna = require "lucerna"
local parity = require "parity"
local nn, amp = lucerna.nn, lucerna.amp
local F = nn.functional
local bfloat16, float16, float32 = lucerna.bfloat16, lucerna.float16, lucerna.float32

local message = parity.message

local function same(a, b) parity.close(a, b, {rtol = 0, atol = 0}) end

describe("autocast", function()
  local x, layer

  before_each(function()
    lucerna.manual_seed(1)
    x, layer = lucerna.randn(3, 4), nn.Linear(4, 2)
  end)

  it("runs a function, or the rest of a block", function()
    assert.is_false(lucerna.is_autocast_enabled())
    local y = lucerna.autocast(layer, x)
    assert.equal(bfloat16, y.dtype)
    do
      local _ <close> = lucerna.autocast("cpu", float16)
      assert.is_true(lucerna.is_autocast_enabled("cpu"))
      assert.equal(float16, layer(x).dtype)
      lucerna.autocast({enabled = false}, function() assert.equal(float32, layer(x).dtype) end)
      assert.equal(float16, layer(x).dtype)
    end
    assert.equal(float32, layer(x).dtype)
    assert.equal(bfloat16, lucerna.get_autocast_dtype("cpu"))
    local a, b = lucerna.autocast("cpu", {dtype = float16}, function(...) return ... end, 1, 2)
    assert.same({1, 2}, {a, b})
  end)

  it("ends with an error, and steps out while its function yields", function()
    pcall(lucerna.autocast, function() error("x") end)
    assert.is_false(lucerna.is_autocast_enabled())
    local seen = {}
    local co = coroutine.wrap(function()
      lucerna.autocast(function()
        coroutine.yield()
        seen[1] = lucerna.is_autocast_enabled()
      end)
    end)
    co()
    assert.is_false(lucerna.is_autocast_enabled())
    co()
    assert.same({true}, seen)
  end)

  it("is another dtype's or device's no-op, as PyTorch's", function()
    for _, region in ipairs {{"cuda"}, {"cpu", float32}, {"cpu", {dtype = lucerna.float64}}} do
      local _ <close> = lucerna.autocast(table.unpack(region))
      assert.equal(float32, layer(x).dtype)
    end
    lucerna.set_autocast_dtype("cpu", float16)
    assert.equal(float16, lucerna.autocast(layer, x).dtype)
    lucerna.set_autocast_dtype("cpu", bfloat16)
    lucerna.set_autocast_enabled("cpu", true)
    assert.equal(bfloat16, layer(x).dtype)
    lucerna.set_autocast_enabled(false)
    assert.is_true(lucerna.is_autocast_available("cpu"))
    assert.is_false(lucerna.is_autocast_available("cuda"))
  end)

  it("computes what casts by hand compute, gradients too", function()
    local y = lucerna.autocast(layer, x)
    local by_hand = nn.Linear(4, 2)
    by_hand:load_state_dict(layer:state_dict())
    local want = F.linear(x:to(bfloat16), by_hand.weight:to(bfloat16), by_hand.bias:to(bfloat16))
    same(y, want)
    y:float():pow(2):sum():backward()
    want:float():pow(2):sum():backward()
    same(layer.weight.grad, by_hand.weight.grad)
    assert.equal(float32, layer.bias.grad.dtype)
  end)

  it("leaves losses in float32, float64 alone, and joins in the widest dtype", function()
    local _ <close> = lucerna.autocast("cpu")
    assert.equal(float32, F.cross_entropy(layer(x), lucerna.tensor {1, 2, 1}).dtype)
    assert.equal(lucerna.float64, lucerna.matmul(x:double(), x:double():t()).dtype)
    assert.equal(float32, lucerna.cat({layer(x), x}, 2).dtype)
    assert.equal(bfloat16, lucerna.stack({layer(x), layer(x)}).dtype)
    local out = lucerna.zeros(3, 3)
    lucerna.matmul(x, x:t(), {out = out}) -- out= and in-place calls are not cast
    assert.equal(float32, lucerna.zeros(3, 3):addmm_(x, x:t()).dtype)
    same(out, lucerna.autocast({enabled = false}, lucerna.matmul, x, x:t()))
  end)

  it("takes norms with weights of float32, recurrence and attention", function()
    local _ <close> = lucerna.autocast("cpu")
    for _, net in ipairs {nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.GroupNorm(2, 4)),
      nn.Sequential(nn.Linear(6, 4), nn.LayerNorm(4)), nn.LSTM(6, 3), nn.GRU(6, 3),
      nn.TransformerEncoderLayer(6, 2, 8)} do
      local input = nn.isinstance(net, nn.Sequential) and nn.isinstance(net[1], nn.Conv2d)
        and lucerna.randn(2, 2, 6, 6) or lucerna.randn(2, 3, 6)
      local y = net(input)
      y:float():pow(2):sum():backward()
      for name, p in net:named_parameters() do
        assert.equal(float32, p.grad.dtype, name)
        assert.is_true(p.grad:isfinite():all():item(), name)
      end
    end
  end)

  it("takes halves into recurrent layers of float32, as they come from the layer before", function()
    local net = nn.Sequential(nn.Linear(6, 6), nn.LSTM(6, 3))
    local y, state = lucerna.autocast("cpu", net, lucerna.randn(2, 6))
    assert.same({bfloat16, bfloat16}, {y.dtype, state[2].dtype})
    assert.matches("must have the type float32, got type bfloat16",
      message(net[2], lucerna.randn(2, 6):to(bfloat16)))
    local doubles = lucerna.randn(2, 6):double()
    assert.matches("float64", message(lucerna.autocast, "cpu", net[2], doubles))
  end)

  it("casts a weight once, until the region ends or the weight changes", function()
    lucerna.autocast(function()
      local first = layer(x)
      lucerna.no_grad(function() layer.weight:mul_(2) end)
      local second = layer(x)
      parity.close(second - layer.bias, (first - layer.bias) * 2, {rtol = 0.05, atol = 0.05})
      ;(first:sum() + layer(x):sum()):backward()
    end)
    assert.is_true(layer.weight.grad:abs():sum():item() > 0)
    lucerna.autocast({cache_enabled = false}, function()
      assert.is_false(lucerna.is_autocast_cache_enabled())
    end)
    assert.is_true(lucerna.is_autocast_cache_enabled())
    lucerna.set_autocast_cache_enabled(false)
    assert.is_false(lucerna.is_autocast_cache_enabled())
    lucerna.set_autocast_cache_enabled(true)
  end)

  it("holds weights no longer than its region", function()
    local before = lucerna.memory().held
    do
      local _ <close> = lucerna.autocast("cpu")
      local big = nn.Linear(1000, 1000)
      big(lucerna.randn(1, 1000))
    end
    collectgarbage()
    collectgarbage()
    if before then assert.is_true(lucerna.memory().held < before + 2000000) end
    lucerna.clear_autocast_cache()
  end)

  it("refuses what it does not know", function()
    assert.matches("dtype must be float16 or bfloat16 %(got int64%)",
      message(lucerna.autocast, "cpu", lucerna.int64))
    assert.matches("unknown device type 'tpu'", message(lucerna.autocast, "tpu"))
    assert.matches("unknown argument 'dtypes'", message(lucerna.autocast, {dtypes = 1}))
    assert.matches("enabled must be a boolean", message(lucerna.autocast, {enabled = 1}))
    assert.matches("must be float16 or bfloat16",
      message(lucerna.set_autocast_dtype, "cpu", float32))
  end)
end)

describe("a GradScaler", function()
  local net, optimizer, scaler

  before_each(function()
    lucerna.manual_seed(2)
    net = nn.Linear(2, 1)
    optimizer = lucerna.optim.SGD(net:parameters(), {lr = 0.5})
    scaler = amp.GradScaler("cpu", {init_scale = 8, growth_interval = 2})
  end)

  local function backward(infinite)
    optimizer:zero_grad()
    local loss = net(lucerna.ones(1, 2)):sum()
    if infinite then loss = loss * math.huge end
    scaler:scale(loss):backward()
  end

  it("scales losses and steps with gradients as they were", function()
    local before = net.weight:detach():clone()
    backward()
    assert.same({{8.0, 8.0}}, net.weight.grad:tolist())
    scaler:unscale_(optimizer)
    assert.same({{1.0, 1.0}}, net.weight.grad:tolist())
    scaler:step(optimizer)
    scaler:update()
    same(net.weight:detach(), before - 0.5)
    local both = scaler:scale({lucerna.ones(1), {lucerna.ones(1)}})
    assert.same({8.0, 8.0}, {both[1]:item(), both[2][1]:item()})
  end)

  it("grows after steps, backs off from what is infinite and leaves that step out", function()
    local scales = {}
    for i, infinite in ipairs {false, false, true, false, false, false} do
      local before = net.bias:item()
      backward(infinite)
      scaler:step(optimizer)
      scaler:update()
      assert.equal(infinite, net.bias:item() == before)
      scales[i] = scaler:get_scale()
    end
    assert.same({8.0, 16.0, 8.0, 8.0, 16.0, 16.0}, scales)
    scaler:update(3)
    assert.equal(3.0, scaler:get_scale())
  end)

  it("trains in float16 what would vanish", function()
    scaler = amp.GradScaler()
    local tiny = lucerna.tensor({{1e-4, 1e-4}})
    local function gradient(scale)
      net:zero_grad()
      local loss = lucerna.autocast({dtype = float16}, net, tiny):float():sum() * 1e-5
      ;(scale and scaler:scale(loss) or loss):backward()
      if scale then scaler:unscale_(optimizer) end
      return net.weight.grad:abs():sum():item()
    end
    assert.equal(0.0, gradient(false))
    parity.close(gradient(true), 2e-9, {rtol = 0.01, atol = 0})
  end)

  it("keeps its state, and does nothing when not enabled", function()
    backward()
    scaler:step(optimizer)
    scaler:update()
    local state = scaler:state_dict()
    assert.same({scale = 8.0, growth_factor = 2.0, backoff_factor = 0.5, growth_interval = 2,
      _growth_tracker = 1}, state)
    local other = amp.GradScaler()
    other:load_state_dict(state)
    assert.same(state, other:state_dict())
    local off = amp.GradScaler {enabled = false}
    local loss = lucerna.ones(1)
    assert.equal(loss, off:scale(loss))
    assert.same({1.0, false, {}}, {off:get_scale(), off:is_enabled(), off:state_dict()})
    optimizer:zero_grad()
    net(lucerna.ones(1, 2)):sum():backward()
    off:step(optimizer)
    off:update()
    assert.matches("The source state dict is empty", message(other.load_state_dict, other, {}))
  end)

  it("says what was called too early, too late or twice", function()
    assert.matches("Attempted step but _scale is None", message(scaler.step, scaler, optimizer))
    backward()
    assert.matches("No inf checks were recorded prior to update", message(scaler.update, scaler))
    scaler:unscale_(optimizer)
    assert.matches("unscale_%(%) has already been called",
      message(scaler.unscale_, scaler, optimizer))
    assert.matches("Closure use is not currently supported",
      message(scaler.step, scaler, optimizer, print))
    scaler:step(optimizer)
    assert.matches("step%(%) has already been called", message(scaler.step, scaler, optimizer))
    assert.matches("being called after step%(%)", message(scaler.unscale_, scaler, optimizer))
    scaler:update()
    optimizer:zero_grad()
    assert.matches("No inf checks were recorded for this optimizer",
      message(scaler.step, scaler, optimizer))
    local half = nn.Linear(2, 1):half()
    local halves = lucerna.optim.SGD(half:parameters(), {lr = 1})
    scaler:scale(half(lucerna.ones(1, 2):half()):sum()):backward()
    assert.matches("Attempting to unscale FP16 gradients", message(scaler.step, scaler, halves))
    scaler:update(8)
    optimizer:add_param_group {params = half:parameters()}
    net.bias.grad = lucerna.tensor {8.0}
    assert.matches("FP16", message(scaler.unscale_, scaler, optimizer))
    assert.equal(8.0, net.bias.grad:item())
    assert.matches("The growth factor must be > 1", message(amp.GradScaler, {growth_factor = 1}))
    assert.matches("The backoff factor must be < 1", message(scaler.set_backoff_factor, scaler, 1))
    assert.matches("must be called with a colon", message(scaler.scale, lucerna.ones(1)))
    assert.matches("outputs must be a Tensor", message(scaler.scale, scaler, 3))
  end)
end)

describe("a Function under autocast", function()
  it("casts its inputs, and runs backward as it ran forward", function()
    local seen = {}
    local function function_of(options)
      return lucerna.autograd.Function("Product", {
        forward = amp.custom_fwd(function(ctx, a, b)
          ctx:save_for_backward(a, b)
          seen.forward = {a.dtype, lucerna.is_autocast_enabled()}
          return a:matmul(b)
        end, options),
        backward = amp.custom_bwd(function(ctx, g)
          local a, b = table.unpack(ctx.saved_tensors)
          seen.backward = lucerna.is_autocast_enabled()
          return g:matmul(b:t()), a:t():matmul(g)
        end),
      })
    end
    local a, b = lucerna.randn(2, 3):requires_grad_(), lucerna.randn(3, 2)
    local y = lucerna.autocast(function_of().apply, a, b)
    assert.equal(bfloat16, y.dtype)
    assert.same({float32, true}, seen.forward)
    y:float():sum():backward()
    assert.is_true(seen.backward)
    assert.equal(float32, lucerna.autocast(amp.custom_fwd {cast_inputs = float32} (function(_, x)
      return x
    end), {}, a:bfloat16()).dtype)
    y = lucerna.autocast(function_of({cast_inputs = float32}).apply, a, b:bfloat16())
    assert.equal(float32, y.dtype)
    assert.same({float32, false}, seen.forward)
    y:sum():backward()
    assert.is_false(seen.backward)
  end)
end)
