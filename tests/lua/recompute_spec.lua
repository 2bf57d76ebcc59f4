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
    local function double(x)
      calls = calls + 1
      return x * 2
    end
    local x = lucerna.ones(2):requires_grad_()
    checkpoint.checkpoint(double, x):sum():backward()
    assert.equal(2, calls)
    assert.same({2.0, 2.0}, x.grad:tolist())
    assert.is_false(lucerna.no_grad(checkpoint.checkpoint, double, x).requires_grad)
    assert.equal(3, calls)
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
      end, x)
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
    refused("cannot be differentiated again$", function()
      lucerna.autograd.grad(checkpoint.checkpoint(net, x):sum(), x, {create_graph = true})
    end)
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
