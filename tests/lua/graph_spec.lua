-- autograd.graph: hooks on several gradients, callbacks and metadata, against what gen_graph.py
-- recorded of PyTorch.
local lucerna = require "lucerna"
local parity = require "parity"
local autograd = lucerna.autograd
local graph = autograd.graph
local recorded = parity.load "graph"

local calls

local function note(grads)
  for k = 1, grads.n do grads[k] = grads[k] and grads[k]:detach():clone() end
  calls[#calls + 1] = grads
end

local function leaf(...)
  return lucerna.tensor({...}, {dtype = lucerna.float64, requires_grad = true})
end

local function four()
  local a, b = leaf(1, 2), leaf(3, 4)
  return a, b, a * b, a * b
end

local First = autograd.Function("First", {
  forward = function(_, a, b) return a + b end,
  backward = function(_, g) return g, nil end,
})

local SCENARIOS = {
  every = function()
    local tensors = {four()}
    local handle = graph.register_multi_grad_hook(tensors, note)
    local c = tensors[3]:sum()
    c:backward {retain_graph = true}
    c:backward {inputs = {tensors[1]}, retain_graph = true}
    autograd.grad(c, tensors[3], {retain_graph = true})
    ; (c + 2 * tensors[4]:sum()):backward {retain_graph = true}
    handle:remove()
    c:backward()
  end,
  any = function()
    local _, _, c, d = four()
    graph.register_multi_grad_hook({c, lucerna.ones(2), d}, function(g) note {n = 1, g} end,
      {mode = "any"})
    c:sum():backward {retain_graph = true}
    ; (c + 2 * d):sum():backward()
  end,
  twice = function()
    local a = leaf(1, 2)
    graph.register_multi_grad_hook({a, a}, note)
    ; (a * a):sum():backward()
  end,
  without = function()
    local p, q = leaf(1), leaf(1)
    local r = q * 2
    graph.register_multi_grad_hook({p, q, r}, note)
    First.apply(p, r):sum():backward()
  end,
  nested = function()
    local a, b, c, d = four()
    graph.register_multi_grad_hook({a, b}, note)
    c:register_hook(function(g) d:backward(g * 2) end)
    c:sum():backward()
  end,
  queued = function()
    local a = leaf(1, 2)
    a:register_hook(function(g)
      graph.queue_callback(function()
        note {n = 1, a.grad}
        graph.queue_callback(function() note {n = 1, 3 * g} end)
      end)
      graph.queue_callback(function() note {n = 1, 2 * g} end)
    end)
    ; (a * a):sum():backward()
    autograd.grad((a * 5):sum(), a)
  end,
  mutated = function()
    local a, b = leaf(1, 2), nil
    graph.allow_mutation_on_saved_tensors(function()
      b = a:clone()
      local y = (b ^ 2):sum()
      b:sin_()
      local z = (b ^ 3):sum()
      b:zero_()
      ; (y + z):backward()
    end)
    note {n = 2, a.grad, b}
  end,
}

describe("autograd.graph does what PyTorch's does:", function()
  for name, run in pairs(SCENARIOS) do
    it(name, function()
      calls = {}
      run()
      local want = recorded[name]
      assert.equal(#want, #calls)
      for k, grads in ipairs(want) do
        assert.equal(grads.n, calls[k].n)
        for i = 1, grads.n do
          local got = calls[k][i]
          if grads[i] then parity.close(got, parity.tensor(grads[i])) else assert.is_nil(got) end
        end
      end
    end)
  end
end)

describe("a hook on several gradients", function()
  it("waits for leaves in autograd.grad, too, which PyTorch does not take", function()
    calls = {}
    local a, b, c, d = four()
    graph.register_multi_grad_hook({a, b, c, d}, note)
    autograd.grad(c:sum(), a)
    assert.same({true, false, true, false},
      {calls[1][1] ~= nil, calls[1][2] ~= nil, calls[1][3] ~= nil, calls[1][4] ~= nil})
    assert.equal(1, #calls)
  end)

  it("is new in every pass, also after one that failed", function()
    calls = {}
    local a = leaf(1)
    local b, fail = a * 2, true
    graph.register_multi_grad_hook({b, a}, note)
    local y = b * 3
    b:register_hook(function() if fail then error "mine" end end)
    parity.refused("mine", function() y:backward {retain_graph = true} end)
    fail = false
    y:backward()
    assert.equal(1, #calls)
    assert.same({{3}, {6}}, {calls[1][1]:tolist(), calls[1][2]:tolist()})
  end)

  it("wants tensors that require grad and a mode that there is", function()
    local register, a = graph.register_multi_grad_hook, leaf(1)
    parity.refused("mode must be 'all' or 'any' (got 'some')", register, {a}, print, "some")
    parity.refused("tensor 2 does not require grad", register, {a, lucerna.ones(1)}, print)
    parity.refused("tensor 1 must be a Tensor (got number)", register, {3}, print)
    parity.refused("tensors must be a table", register, a, print)
    parity.refused("fn must be a function", register, {a}, 3)
  end)
end)

describe("a pass", function()
  it("calls nothing at its end when it fails, and only one that runs takes callbacks", function()
    local a, ran = leaf(1), false
    a:register_hook(function()
      graph.queue_callback(function() ran = true end)
      error "mine"
    end)
    parity.refused("mine", function() (a * 2):backward() end)
    assert.is_false(ran)
    parity.refused("final callbacks can only be installed during a backward pass",
      graph.queue_callback, print)
    parity.refused("queue_callback: callback must be a function (got number)",
      graph.queue_callback, 3)
  end)

  it("passes on what a callback raises", function()
    local a = leaf(1)
    a:register_hook(function() graph.queue_callback(function() error "late" end) end)
    parity.refused("late", function() (a * 2):backward() end)
    assert.same({2}, a.grad:tolist())
  end)
end)

describe("a node", function()
  it("keeps metadata as long as it is there", function()
    local a = leaf(1)
    local y = a * 3
    y.grad_fn.metadata.k = y
    local z = y + 1
    assert.equal(y, z.grad_fn.next_functions[1][1].metadata.k)
    z:backward()
    assert.equal(y, y.grad_fn.metadata.k)
    assert.is_nil(z.grad_fn.metadata.k)
    local accumulates = y.grad_fn.next_functions[1][1]
    accumulates.metadata.k = 2
    assert.equal(2, accumulates.metadata.k)
  end)

  it("goes with its metadata, though these hold the tensor", function()
    local seen = setmetatable({}, {__mode = "k"})
    do
      local y = leaf(1) * 3
      y.grad_fn.metadata.y = y
      seen[y] = true
    end
    for _ = 1, 4 do collectgarbage() end
    assert.is_nil(next(seen))
  end)
end)

describe("increment_version", function()
  it("makes backward refuse what was saved", function()
    local a, b = leaf(1, 2), leaf(3, 4)
    local y = a * b
    graph.increment_version {a, b}
    graph.increment_version(a)
    assert.same({2, 1}, {a._version, b._version})
    parity.refused("modified by an inplace operation", function() y:sum():backward() end)
    graph.increment_version(lucerna.inference_mode(function() return lucerna.ones(1) end))
    parity.refused("tensors must be a table of Tensors", graph.increment_version, 3)
  end)
end)

describe("allow_mutation_on_saved_tensors", function()
  it("is where backward has to run", function()
    local a = leaf(1, 2)
    local y = graph.allow_mutation_on_saved_tensors(function() return (a * a):sum() end)
    parity.refused("backward must run where the graph was recorded", function() y:backward() end)
  end)
end)
