-- Saved tensors that hooks keep: autograd.graph.saved_tensors_hooks. Gradients of any order do not
-- depend on it.
local lucerna = require "lucerna"
local parity = require "parity"
local autograd, nn, leaf = lucerna.autograd, lucerna.nn, parity.leaf
local graph = autograd.graph

local function same(t) return t end

-- Hooks that count what they are given.
local function counting()
  local counts = {packed = 0, unpacked = 0}
  return counts, function(t)
    counts.packed = counts.packed + 1
    assert.is_false(t.requires_grad)
    assert.is_false(lucerna.is_grad_enabled())
    return {t:clone()}
  end, function(packed)
    counts.unpacked = counts.unpacked + 1
    return packed[1]
  end
end

describe("saved_tensors_hooks", function()
  it("sees what is saved, and gives it back for backward", function()
    local x, counts, pack, unpack = leaf {3}, counting()
    local y = graph.saved_tensors_hooks(pack, unpack, function() return (x * x):exp() end)
    assert.same({packed = 3, unpacked = 0}, counts) -- x twice, the result of exp
    y:sum():backward()
    assert.equal(3, counts.unpacked)
    parity.close(x.grad, 2 * x:detach() * (x:detach() ^ 2):exp())
    parity.refused("second time", function() y:sum():backward() end)
  end)

  it("changes what backward reads", function()
    local x = lucerna.tensor {1.0, 2}:requires_grad_()
    local y = graph.saved_tensors_hooks(function(t) return t * 10 end, same, function()
      return x * x
    end)
    y:sum():backward()
    assert.same({20, 40}, x.grad:tolist())
  end)

  it("gives exact gradients of every order, through lists and writes in place", function()
    local x, w = leaf {2, 3}, leaf {3, 2}
    local function f(hooked)
      local function body()
        local z = lucerna.cat({x:matmul(w), x:narrow(2, 1, 2) * 2}, 1)
        z = lucerna.einsum("ij,kj->ik", z, z):sigmoid_():mul(3)
        z[1]:mul_(z[2])
        return z:pow(2):cumprod(1) + lucerna.linalg.multi_dot {x, w, x, w}:sum()
      end
      return hooked and graph.saved_tensors_hooks(same, same, body) or body()
    end
    local plain = {autograd.grad(f(false):sum(), {x, w}, {create_graph = true})}
    local hooked = {autograd.grad(f(true):sum(), {x, w}, {create_graph = true})}
    for k = 1, 2 do parity.close(hooked[k], plain[k]:detach()) end
    local second = {autograd.grad(plain[1]:sum() + plain[2]:pow(2):sum(), {x, w})}
    local again = {autograd.grad(hooked[1]:sum() + hooked[2]:pow(2):sum(), {x, w})}
    for k = 1, 2 do parity.close(again[k], second[k]) end
    parity.gradcheck(function() return f(true) end, {x, w})
    parity.gradgradcheck(function() return f(true) end, {x, w})
  end)

  it("packs what a graph of a backward pass saves", function()
    local x, counts, pack, unpack = leaf {2}, counting()
    local g = graph.saved_tensors_hooks(pack, unpack, function()
      return (autograd.grad(x:exp():sum(), x, {create_graph = true}))
    end)
    assert(counts.packed > 1)
    parity.close(autograd.grad(g:sum(), x), x:exp():detach())
  end)

  it("works in layers of C and of Lua, and for functions of Lua's", function()
    local Scaled = autograd.Function("Scaled", {
      forward = function(ctx, t)
        local y = t * t
        ctx:save_for_backward(t, y)
        return y
      end,
      backward = function(ctx, g)
        local t, y = table.unpack(ctx.saved_tensors)
        return g * (t + y / t)
      end,
    })
    local net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2)):double()
    local x, counts, pack, unpack = leaf {5, 3}, counting()
    local function gradients(run)
      net:zero_grad()
      x.grad = nil
      run(function() return Scaled.apply(net(x) + 3):sum() end):backward()
      return {x.grad, net[1].weight.grad, net[3].bias.grad}
    end
    local want = gradients(function(f) return f() end)
    local got = gradients(function(f) return graph.saved_tensors_hooks(pack, unpack, f) end)
    for k = 1, 3 do parity.close(got[k], want[k]) end
    assert(counts.packed >= 7 and counts.unpacked == counts.packed, counts.unpacked)
  end)

  it("leaves what functions of Lua's save a part of the graph", function()
    local sine = lucerna.autograd.Function("Sine", {
      forward = function(ctx, x)
        ctx:save_for_backward(x)
        return x:sin()
      end,
      backward = function(ctx, g) return g * ctx.saved_tensors[1]:cos() end,
    })
    local x = lucerna.tensor({0.5, -1.25}, {dtype = "float64"}):requires_grad_()
    local function packed(f)
      return lucerna.autograd.graph.saved_tensors_hooks(same, same, f)
    end
    assert.is_true(lucerna.autograd.gradgradcheck(function(t)
      return packed(function() return sine.apply(t:exp()) end)
    end, {x}))
    local y = packed(function() return lucerna.func.vmap(sine.apply)(x) end)
    local g = lucerna.autograd.grad(y:sum(), x, {create_graph = true})
    assert.same((-x:detach():sin()):tolist(), lucerna.autograd.grad(g:sum(), x):tolist())
  end)

  it("gives nothing away that an unpack hook has", function()
    local x, kept = leaf {3}, nil
    local y = graph.saved_tensors_hooks(function(t)
      kept = t
      return t
    end, function(t) return t, true end, function() return x * x end)
    y:sum():backward()
    assert.equal(3, kept:numel())
  end)

  it("asks the innermost, in its block alone", function()
    local x, outer, inner = leaf {2}, {}, {}
    local function into(list)
      return function(t)
        list[#list + 1] = true
        return t
      end
    end
    do
      local _ <close> = graph.saved_tensors_hooks(into(outer), same)
      x:exp()
      graph.saved_tensors_hooks(into(inner), same, function() x:sin() end)
      x:exp()
    end
    x:exp()
    lucerna.no_grad(function() x:exp() end)
    assert.same({2, 1}, {#outer, #inner})
  end)

  it("passes errors of the hooks on, and leaves the graph whole", function()
    local x = leaf {2}
    local function run(pack, unpack)
      return graph.saved_tensors_hooks(pack, unpack, function() return (x * x):sum() end)
    end
    local object = {}
    local ok, err = pcall(run, function() error(object) end, same)
    assert.is_false(ok)
    assert.equal(object, err)
    parity.refused("pack hook is modifying its input in place", run, function(t)
      return t:mul_(2)
    end, same)
    x = leaf {2}
    local function backward(unpack) run(same, unpack):backward() end
    parity.refused("unpack_hook: the result must be a Tensor (got number 5)", backward,
      function() return 5 end)
    parity.refused("unpack_hook must give back float64 [2] (got float64 [3])", backward,
      function() return lucerna.ones(3):double() end)
    parity.refused("unpack_hook must give back float64 [2] (got float32 [2])", backward,
      function(t) return t:float() end)
    parity.refused("lost", backward, function() error "lost" end)
    assert.is_nil(x.grad)
    local tries = 0
    local y = run(same, function(t)
      tries = tries + 1
      if tries == 1 then error "not yet" end
      return t
    end)
    parity.refused("not yet", y.backward, y)
    y:backward()
    parity.close(x.grad, 2 * x:detach())
    parity.refused("pack_hook must be a function (got nil)", graph.saved_tensors_hooks)
    parity.refused("unpack_hook must be a function", graph.saved_tensors_hooks, same, 3)
  end)

  it("may use the graph in the hooks", function()
    local x = leaf {2}
    local y
    y = graph.saved_tensors_hooks(same, function(t)
      lucerna.enable_grad(function() (x * 2):sum():backward() end)
      return t
    end, function() return x:exp():sum() end)
    y:backward()
    parity.close(x.grad, x:exp():detach() + 2)
    local z = graph.saved_tensors_hooks(same, function(t)
      y:backward()
      return t
    end, function() return x:exp():sum() end)
    y = z
    assert.is_false((pcall(z.backward, z))) -- a pass within the pass, without end
  end)

  it("does not keep a graph alive that only its own hooks hold", function()
    local freed = setmetatable({}, {__mode = "k"})
    do
      local x = leaf {1000}
      local y
      y = graph.saved_tensors_hooks(function(t) return {t = t, graph = function() return y end} end,
        function(packed) return packed.t end, function() return x:exp() end)
      freed[x], freed[y] = true, true
    end
    for _ = 1, 4 do collectgarbage() end
    assert.is_nil(next(freed))
  end)

  it("keeps tensors on the CPU with save_on_cpu", function()
    local x = leaf {3}
    graph.save_on_cpu(false, "cuda", function() return (x * x):sum() end):backward()
    parity.close(x.grad, 2 * x:detach())
    parity.refused("save_on_cpu: pin_memory must be a boolean (got function)", graph.save_on_cpu,
      print)
  end)

  it("spares what is packed as half", function()
    local x = lucerna.randn(100):requires_grad_()
    local y = graph.saved_tensors_hooks(function(t) return t:half() end,
      function(t) return t:float() end, function() return x:sin():sum() end)
    y:backward()
    parity.close(x.grad, x:detach():half():float():cos())
  end)

  it("goes out of a coroutine that yields", function()
    local x, counts, pack, unpack = leaf {2}, counting()
    local co = coroutine.wrap(function()
      graph.saved_tensors_hooks(pack, unpack, function()
        x:exp()
        coroutine.yield()
        x:exp()
      end)
    end)
    co()
    x:exp()
    co()
    assert.equal(2, counts.packed)
  end)
end)

describe("disable_saved_tensors_hooks", function()
  it("refuses hooks with its message", function()
    local function hooked(f) return graph.saved_tensors_hooks(same, same, f) end
    parity.refused("not here", graph.disable_saved_tensors_hooks, "not here", hooked, same)
    parity.refused("not here", hooked, function()
      graph.disable_saved_tensors_hooks("not here", same)
    end)
    assert.is_true(hooked(function() return true end))
    parity.refused("error_message must be a string", graph.disable_saved_tensors_hooks, 3)
  end)
end)
