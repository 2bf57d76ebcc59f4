-- utils.checkpoint: what is computed again in the backward pass gives the same numbers.
local lucerna = require "lucerna"
local parity = require "parity"
local nn, checkpoint = lucerna.nn, lucerna.utils.checkpoint

local function net_and_input()
  lucerna.manual_seed(1)
  local net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(),
    nn.Linear(8, 2))
  return net, lucerna.randn(3, 4):requires_grad_()
end

-- The result, all gradients, and what is drawn next.
local function outcome(net, x, f)
  net:zero_grad()
  x.grad = nil
  lucerna.manual_seed(3)
  local y = f(x)
  y:square():sum():backward()
  local found = {y:tolist(), x.grad and x.grad:tolist() or false, lucerna.rand(1):item()}
  for p in net:parameters() do found[#found + 1] = p.grad:tolist() end
  return found
end

describe("utils.checkpoint", function()
  it("gives what the function gives, with its gradients and draws", function()
    local net, x = net_and_input()
    local want = outcome(net, x, net)
    assert.same(want, outcome(net, x, function(t) return checkpoint.checkpoint(net, t) end))
    assert.same(want, outcome(net, x, function(t)
      return checkpoint.checkpoint(net, t, {use_reentrant = false})
    end))
    for segments = 1, 6 do
      assert.same(want, outcome(net, x, function(t)
        return checkpoint.checkpoint_sequential(net, segments, t)
      end))
    end
  end)

  it("reaches parameters where no argument wants a gradient", function()
    local net, x = net_and_input()
    x = x:detach()
    local want = outcome(net, x, net)
    assert.same(want, outcome(net, x, function(t) return checkpoint.checkpoint(net, t) end))
  end)

  it("runs the function twice, and once without gradients", function()
    local calls = 0
    local function square(x)
      calls = calls + 1
      return x * x
    end
    local x = lucerna.ones(2):requires_grad_()
    checkpoint.checkpoint(square, x):sum():backward()
    assert.equal(2, calls)
    assert.same({2.0, 2.0}, x.grad:tolist())
    assert.is_false(lucerna.no_grad(checkpoint.checkpoint, square, x).requires_grad)
    assert.equal(3, calls)
    checkpoint.checkpoint(function(t) return square(t * 2 - t) * 3 end, x, {early_stop = false})
    checkpoint.checkpoint(function(t) return t * 2, square(t) end, x):sum():backward()
    assert.equal(5, calls) -- a product with a number saves nothing
  end)

  -- c calls b, which calls a, each a part of its own; a letter where one begins, and where it ends.
  local function nested()
    local log = {}
    local function noted(name, f)
      return function(x)
        log[#log + 1] = name
        local y = f(x)
        log[#log + 1] = name:upper()
        return y
      end
    end
    local ck = checkpoint.checkpoint
    local a = noted("a", function(x) return x:sin():cos() end)
    local b = noted("b", function(x) return ck(a, x:exp()):sin() end)
    local c = noted("c", function(x) return ck(b, x * x):exp() * x end)
    return c, function()
      local text = table.concat(log)
      log = {}
      return text
    end
  end

  it("runs parts within parts again as far as PyTorch does", function()
    local x = lucerna.tensor({0.5, 1.5}, {dtype = "float64"}):requires_grad_()
    local c, ran = nested()
    local y = checkpoint.checkpoint(c, x)
    assert.equal("cbaABC", ran())
    local g = lucerna.autograd.grad(y:sum(), x, {create_graph = true})
    assert.equal("cbaABbaAa", ran())
    parity.close(g:detach(), lucerna.tensor({1.5065605041674524, -1.0473856577319705},
      {dtype = "float64"}))
    local h = lucerna.autograd.grad(g:sum(), x)
    assert.equal("cbaABbaAa", ran())
    parity.close(h, lucerna.tensor({-0.6110054629324182, -1534.0016365929782},
      {dtype = "float64"}))
    y = checkpoint.checkpoint(c, x)
    ran()
    y:sum():backward {retain_graph = true}
    assert.equal("cbaABbaAa", ran():sub(-9))
    y:sum():backward()
    assert.equal("cbaABbaAa", ran())
    parity.close(x.grad, g:detach() * 2)
    y = checkpoint.set_checkpoint_early_stop(false, checkpoint.checkpoint, c, x)
    y:sum():backward()
    assert.equal("cbaABC" .. "cbaABCbaABaA", ran())
    local whole = {early_stop = false}
    checkpoint.checkpoint(function(t) return c(t) end, x, whole):sum():backward()
    assert.equal("cbaABC" .. "cbaABCbaAa", ran())
  end)

  it("has gradients that can be differentiated again", function()
    local w = lucerna.randn({3, 3}, {dtype = "float64"}):requires_grad_()
    local x = lucerna.randn({3}, {dtype = "float64"}):requires_grad_()
    local function part(t, m) return m:matmul(t):tanh():exp() end
    assert.is_true(lucerna.autograd.gradgradcheck(function(...)
      return checkpoint.checkpoint(part, ...)
    end, {x, w}))
    local function of(t) return checkpoint.checkpoint(part, t, w):sum() end
    local have = lucerna.func.hessian(of)(x:detach())
    parity.close(have, lucerna.func.hessian(function(t) return part(t, w):sum() end)(x:detach()))
    local sine = lucerna.autograd.Function("Sine", {
      forward = function(ctx, t)
        ctx:save_for_backward(t)
        return t:sin()
      end,
      backward = function(ctx, g)
        assert(ctx.saved_tensors[1]:equal(ctx.saved_tensors[1])) -- computed once more
        return ctx.saved_tensors[1]:cos() * g
      end,
    })
    assert.is_true(lucerna.autograd.gradgradcheck(function(t)
      return checkpoint.checkpoint(function(u) return sine.apply(u:exp()) end, t)
    end, {x}))
  end)

  it("spares memory without the garbage collector", function()
    collectgarbage()
    collectgarbage("stop")
    local layers = {}
    for k = 1, 16, 2 do layers[k], layers[k + 1] = nn.Linear(16, 16), nn.Tanh() end
    local net, x = nn.Sequential(table.unpack(layers)), lucerna.randn(1024, 16)
    local function held(f)
      local before = lucerna.memory().live
      local y = f()
      local after = lucerna.memory().live
      y:sum():backward()
      return after - before
    end
    local whole = held(function() return net(x) end)
    local spared = held(function() return checkpoint.checkpoint(net, x) end)
    collectgarbage("restart")
    assert.is_true(whole > 8 * 1024 * 16 * 4, whole)
    assert.is_true(spared < 2 * 1024 * 16 * 4, spared)
  end)

  it("takes functions that differentiate", function()
    local x = lucerna.tensor({1.0, 3.0}, {dtype = "float64"}):requires_grad_()
    local grad = lucerna.autograd.grad
    for _, retain in ipairs {true, false} do
      local function part(t)
        local y = t:sin()
        local z = y:cos()
        local g = grad(z:sum(), t, {retain_graph = retain})
        return retain and g * z or g * t:cos()
      end
      for _, early in ipairs {true, false} do
        local y, want = checkpoint.checkpoint(part, x, {early_stop = early}), part(x)
        assert.same(want:tolist(), y:tolist())
        assert.same(grad(want:sum(), x):tolist(), grad(y:sum(), x):tolist())
      end
    end
  end)

  it("notices what is not the same again", function()
    local x = lucerna.ones(2, 3):requires_grad_()
    local calls = 0
    local function refused(message, second, options)
      calls = 0
      local y = checkpoint.checkpoint(function(t)
        calls = calls + 1
        if calls == 2 then return second(t) end
        return (t * t):sin()
      end, x, options or {preserve_rng_state = true})
      parity.refused(message, function() y:sum():backward() end)
    end
    refused("checkpoint: fewer tensors were saved %(1%) than in the forward pass %(3%)$",
      lucerna.sin)
    refused("checkpoint: more tensors were saved than in the forward pass %(3%)$",
      function(t) return (t * t):sin():cos() end, {early_stop = false})
    refused("checkpoint: saved tensor 1 is a float32 %[1, 3%]; in the forward pass it was a "
      .. "float32 %[2, 3%]$", function(t) return (t[{{1, 1}}] * t[{{1, 1}}]):sin() end)
    refused("unpack_hook must give back float32 %[2, 3%] %(got float32 %[1, 3%]%)$",
      function(t) return (t[{{1, 1}}] * t[{{1, 1}}]):sin() end, {determinism_check = "none"})
    refused("^spoilt$", function() error("spoilt", 0) end)
    local argument = lucerna.ones(2)
    local y = checkpoint.checkpoint(function(t) return t * x[1][1] end, argument)
    argument:add_(1)
    parity.refused("checkpoint: an argument has been modified by an inplace operation: it is at "
      .. "version 1; expected version 0 instead$", function() y:sum():backward() end)
  end)

  it("takes any arguments and gives any results", function()
    local x = lucerna.ones(2):requires_grad_()
    local function f(a, k, t) return a * k + t.bias, "five", a * 2 end
    local y, five, z = checkpoint.checkpoint(f, x, 3, {bias = 1})
    assert.equal("five", five)
    assert.same({4.0, 4.0}, y:tolist())
    z:sum():backward()
    assert.same({2.0, 2.0}, x.grad:tolist())
  end)

  it("casts as autocast did", function()
    local linear, x = nn.Linear(2, 2), lucerna.ones(1, 2)
    local seen = {}
    local y = lucerna.autocast("cpu", {dtype = lucerna.bfloat16}, function()
      return checkpoint.checkpoint(function(t)
        local out = linear(t)
        seen[#seen + 1] = out.dtype
        return out
      end, x, {early_stop = false})
    end)
    y:float():sum():backward()
    assert.same({lucerna.bfloat16, lucerna.bfloat16}, seen)
  end)

  it("says what it does not take", function()
    local net, x = net_and_input()
    local refused = parity.refused
    refused("^[^\n]*checkpoint: function must be a function %(got number%)$",
      checkpoint.checkpoint, 3)
    refused("checkpoint: preserve_rng_state must be a boolean %(got number%)$",
      checkpoint.checkpoint, net, x, {preserve_rng_state = 1})
    refused("segments must be an integer from 1 to 6 %(got 7%)$",
      checkpoint.checkpoint_sequential, net, 7, x)
    refused("functions must be a Sequential or a table %(got nil%)$",
      checkpoint.checkpoint_sequential)
    refused("functions%[1%] must be a function %(got number%)$",
      checkpoint.checkpoint_sequential, {3}, 1, x)
    refused("functions[1] must be a function (got nil)",
      checkpoint.checkpoint_sequential, net:state_dict(), 1, x)
    refused("options must be a table of preserve_rng_state %(got number%)$",
      checkpoint.checkpoint_sequential, net, 2, x, 5)
    refused("determinism_check must be 'default' or 'none' %(got 'never'%)$",
      checkpoint.checkpoint, net, x, {determinism_check = "never"})
    refused("set_checkpoint_early_stop: enable must be a boolean %(got nil%)$",
      checkpoint.set_checkpoint_early_stop)
  end)

  it("lies beside the data sets", function()
    assert.equal(lucerna.data, lucerna.utils.data)
  end)
end)

describe("what scripts set", function()
  it("is kept, and changes nothing", function()
    assert.is_false(lucerna.are_deterministic_algorithms_enabled())
    lucerna.use_deterministic_algorithms(true, {warn_only = true})
    assert.is_true(lucerna.are_deterministic_algorithms_enabled())
    lucerna.use_deterministic_algorithms(false)
    assert.equal("highest", lucerna.get_float32_matmul_precision())
    lucerna.set_float32_matmul_precision("high")
    assert.equal("high", lucerna.get_float32_matmul_precision())
    lucerna.set_float32_matmul_precision("highest")
    parity.refused("precision must be 'highest', 'high' or 'medium' %(got low%)$",
      lucerna.set_float32_matmul_precision, "low")
    parity.refused("mode must be a boolean %(got nil%)$", lucerna.use_deterministic_algorithms)
  end)
end)
