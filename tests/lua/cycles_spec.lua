-- Nothing leaks: functions that the graph keeps (hooks, backward functions) are collected with the
-- tensors and modules they hold, in every direction. And nothing is lost: as long as a graph can be
-- differentiated, collections in between change nothing.
local lucerna = require "lucerna"
local parity = require "parity"
local nn = lucerna.nn

local x = lucerna.ones(2, 3)

local function collect()
  for _ = 1, 3 do collectgarbage() end
end

local function net() return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)) end

local function double(n, keep)
  return lucerna.autograd.Function("Double", {
    forward = function(ctx, a)
      ctx.net = n
      if keep then keep(ctx) end
      ctx:save_for_backward(a)
      return a * 2
    end,
    backward = function(_, g) return g * (n and 2 or 2.0) end,
  })
end

-- ---- leaks ----

local CYCLES = {
  ["a forward hook that holds its module"] = function(n)
    n[1]:register_forward_hook(function() return nil, n end)
    n(x):sum():backward()
  end,
  ["hooks that put arguments and results into fields"] = function(n)
    n:register_forward_pre_hook(function(m, args) m.args = nn.unregistered(args) end)
    n[1]:register_forward_hook(function(m, _, out) m.out, n.out = out, out end)
    n(x):sum():backward()
  end,
  ["functions and modules in fields of modules"] = function(n)
    n[1].up = function() return n end
    n[3].owner = nn.unregistered {n}
    n(x):sum():backward()
  end,
  ["a parameter's hook that holds the module"] = function(n)
    n[1].weight:register_hook(function() return nil, n end)
    n(x):sum():backward()
  end,
  ["hooks of all parameters, from an iterator, that hold the parameters"] = function(n)
    for _, p in n:named_parameters() do p:register_hook(function() return nil, p, n end) end
    n(x):sum():backward()
  end,
  ["parameters' hooks where backward never ran"] = function(n)
    n[3].bias:register_hook(function() return nil, n end)
    n.y = n(x)
  end,
  ["handles stored in the module"] = function(n)
    n.h1 = n[1]:register_forward_hook(function() return nil, n end)
    n.h2 = n[1].weight:register_hook(function() return nil, n end)
    n.h3 = n:register_full_backward_hook(function() return nil, n end)
    n(x):sum():backward()
  end,
  ["a leaf's hook that holds the leaf"] = function()
    local w = lucerna.ones(3, {requires_grad = true})
    w:register_hook(function() return nil, w end);
    (w * 2):sum():backward()
  end,
  ["a hook after accumulation that holds the leaf"] = function()
    local w = lucerna.ones(3, {requires_grad = true})
    w:register_post_accumulate_grad_hook(function() return nil, w end);
    (w * 2):sum():backward()
  end,
  ["a result's hook that holds it, and what was made of it"] = function()
    local w = lucerna.ones(3, {requires_grad = true})
    local y = w * 2
    local z
    y:register_hook(function() return nil, y, z end)
    z = y * 3
    return z
  end,
  ["backward hooks that hold module and results, before backward and after"] = function(n)
    n[1]:register_full_backward_hook(function() return nil, n end)
    n[3]:register_full_backward_pre_hook(function() return nil, n end)
    n.y = n(x)
    n:register_full_backward_hook(function() return nil, n end)
    n(x):sum():backward()
    n.z = n(x)
  end,
  ["backward hooks of the old kind"] = function(n)
    n:register_backward_hook(function() return nil, n end)
    n.y = n(x)
  end,
  ["graphs in fields that hold modules through Functions"] = function(n)
    n.y = double(n).apply(n(x))
    n.y:sum():backward()
    n.z = double(n).apply(n(x))
  end,
  ["gradients that have graphs"] = function(n)
    local y = n(x)
    y:retain_grad()
    y:square():sum():backward {create_graph = true}
    n[1].weight.grad:square():sum():backward()
  end,
  ["gradients that have graphs, with hooks"] = function(n)
    n[1].weight:register_hook(function(g) return g * 2 end)
    n(x):square():sum():backward {create_graph = true}
  end,
  ["gradients of each other"] = function()
    local a, b = lucerna.zeros(2), lucerna.zeros(2)
    a.grad, b.grad = b, a
  end,
  ["results that are written with what they were saved for"] = function(n)
    local y = n(x):exp()
    y:add_(y * y)
    local z = n(x):exp()
    z[1]:mul_(z[1]:square())
  end,
  ["contexts of Functions that hold results"] = function(n)
    local kept
    local y = double(n, function(ctx) kept = ctx end).apply(n(x))
    kept.y = y
  end,
  ["coroutines that hold the module and wait inside its forward"] = function(n)
    n[2].forward = function(_, y)
      coroutine.yield()
      return y
    end
    n.co = coroutine.create(function() return n(x) end)
    coroutine.resume(n.co)
  end,
  ["instances and their classes"] = function()
    local C = nn.class("C")
    function C:__init()
      self.body = net()
      self.me = function() return self, C end
    end
    function C:forward(y) return self.body(y) end
    local c = C()
    C.last = c
    c(x):sum():backward()
  end,
  ["copies, optimizers and states"] = function(n)
    n[1]:register_forward_hook(function() return nil, n end)
    local m = n:clone()
    m(x):sum():backward()
    m.optimizer = nn.unregistered {lucerna.optim.Adam(m:parameters())}
    m.optimizer[1]:step()
    m.state = nn.unregistered {m:state_dict()}
  end,
  ["errors in hooks and in backward"] = function(n)
    n[1].weight:register_hook(function() error {n} end)
    local y = n(x):sum()
    pcall(y.backward, y)
    n:register_forward_hook(function() error {n, y} end, {always_call = true})
    pcall(n, x)
  end,
  ["hooks of all modules, while registered"] = function(n)
    local _ <close> = nn.register_module_forward_hook(function() return nil, n end)
    n(x):sum():backward()
  end,
}

local function live()
  collect()
  return lucerna.memory().live, collectgarbage("count")
end

-- Slow runs do less: what a few hundred leave behind is seen as well.
local SHORT = os.getenv "LUCERNA_TEST_SHORT"

describe("a thousand cycles leave nothing behind:", function()
  local MANY = SHORT and 250 or 1000
  for _, name in ipairs(parity.sorted_names(CYCLES)) do
    it(name, function()
      local function cycles(n)
        for _ = 1, n do CYCLES[name](net()) end
      end
      cycles(MANY) -- tables of ours grow to their size
      local bytes, kilobytes = live()
      cycles(MANY)
      local after, after_kilobytes = live()
      assert.are.equal(bytes, after)
      assert.is_true(after_kilobytes - kilobytes < 300,
        ("%.1f, then %.1f kB"):format(kilobytes, after_kilobytes))
    end)
  end

  it("memory stays bounded without any call of collectgarbage", function()
    local function cycle()
      local w = lucerna.ones(1000, {requires_grad = true})
      w:register_hook(function() return nil, w end)
    end
    local most = 0
    for _ = 1, 10000 do
      cycle()
      most = math.max(most, lucerna.memory().live)
    end
    assert.is_true(most < 24 * 2 ^ 20, most)
  end)

  it("so it does where gradients have graphs", function()
    local most = 0
    for _ = 1, 2000 do
      local w = lucerna.ones(10000, {requires_grad = true})
      w:square():sum():backward {create_graph = true}
      most = math.max(most, lucerna.memory().live)
    end
    assert.is_true(most < 24 * 2 ^ 20, most)
  end)
end)

-- ---- nothing is lost ----

describe("a collection does not take a hook", function()
  it("of parameters, reached by an iterator, with what it holds", function()
    local n, seen = net(), {}
    for name, p in n:named_parameters() do
      local other = lucerna.full({2}, #seen + 1)
      p:register_hook(function() seen[name] = {p.shape, other:sum():item()} end)
    end
    collect()
    n(x):sum():backward()
    local count = 0
    for name, entry in pairs(seen) do
      count = count + 1
      assert.are.same(n:get_parameter(name).shape, entry[1])
    end
    assert.are.equal(4, count)
  end)

  it("of a leaf that only the graph holds", function()
    local fired = 0
    local y
    do
      local w = lucerna.ones(3, {requires_grad = true})
      y = w * 2
      w:register_hook(function() fired = fired + w:numel() end)
    end
    collect()
    y:sum():backward()
    assert.are.equal(3, fired)
  end)

  it("of results that only other results hold", function()
    local fired = {}
    local z
    do
      local w = lucerna.ones(3, {requires_grad = true})
      local y = w * 2
      y:register_hook(function(g)
        fired[#fired + 1] = g:sum():item()
        return g * y
      end)
      z = (y * 3):exp():sum()
    end
    collect()
    z:backward()
    assert.are.equal(1, #fired)
  end)

  it("of modules that are gone, nor the backward function of a Function", function()
    local fired = 0
    local y
    do
      local n = net()
      n[1]:register_full_backward_hook(function(m) fired = fired + m.in_features end)
      n[3].weight:register_hook(function() fired = fired + 10 * n[3].in_features end)
      y = double(n).apply(n(x)):sum()
    end
    collect()
    y:backward()
    assert.are.equal(3 + 40, fired)
  end)

  it("that views, their bases and in-place writes lead to", function()
    local fired = 0
    local view
    do
      local w = lucerna.ones(4, {requires_grad = true})
      w:register_hook(function() fired = fired + w:numel() end)
      local base = lucerna.zeros(2, 4)
      view = base[2]
      base[2] = double().apply(w)
    end
    collect()
    assert.are.equal(8, view:sum():item())
    view:sum():backward()
    assert.are.equal(4, fired)
  end)

  it("that only the gradient of a parameter leads to", function()
    local w = lucerna.full({3}, 2.0, {requires_grad = true})
    local fired = 0
    do
      local u = w * w
      u:register_hook(function() fired = fired + u:numel() end)
      local y = u * u
      y:sum():backward {create_graph = true}
    end
    assert.are.equal(3, fired)
    collect()
    local g = w.grad
    w.grad = nil
    collect()
    g:sum():backward()
    assert.are.equal(6, fired)
    assert.are.equal(12 * 4, w.grad[1]:item())
    w.grad = nil
  end)

  it("nor the gradient or the graph of a parameter that something holds", function()
    local opt, y
    do
      local w = lucerna.full({3}, 2.0, {requires_grad = true})
      w:pow(3):sum():backward {create_graph = true}
      opt = lucerna.optim.SGD({w}, {lr = 1})
      y = lucerna.full({1}, 1.0, {requires_grad = true})
      y.grad = y * 5
      y = y * 3
    end
    collect()
    local w = opt.param_groups[1].params[1]
    local g = w.grad
    w.grad = nil
    g:sum():backward()
    assert.are.same({12.0, 12.0, 12.0}, w.grad:tolist())
    y:backward()
    w.grad = w.grad * w
    opt:step()
    assert.are.same({-22.0, -22.0, -22.0}, w:tolist())
  end)

  it("of what only an optimizer, a state dict or a scope holds", function()
    local fired, optimizer, state = 0
    do
      local n = net()
      local w, b = n[1].weight, n[3].weight
      w:register_hook(function() fired = fired + w:numel() end)
      b:register_hook(function() fired = fired + 100 * b:numel() end)
      optimizer = lucerna.optim.SGD({w}, {lr = 1})
      state = n:state_dict {keep_vars = true}
    end
    collect()
    optimizer.param_groups[1].params[1]:sum():backward()
    assert.are.equal(12, fired)
    collect()
    state["2.weight"]:sum():backward()
    assert.are.equal(412, fired)
    lucerna.scope(function()
      local w = lucerna.ones(2, {requires_grad = true})
      local y = w * 2
      w:register_hook(function() fired = 0 end)
      collect()
      y:sum():backward()
    end)
    assert.are.equal(0, fired)
  end)

  it("when it runs inside a hook, a forward, a coroutine or a finalizer", function()
    local fired = 0
    local function hook(of) return function() fired = fired + of:numel() end end
    local n = net()
    n[1].weight:register_hook(function()
      collect()
      fired = fired + 1
    end)
    n[1].bias:register_hook(hook(n[1].bias))
    n[2].forward = function(_, y)
      collect()
      coroutine.yield()
      collect()
      return y:relu()
    end
    local co = coroutine.wrap(function() return n(x):sum() end)
    co()
    collect()
    local y = co()
    do
      local z = lucerna.ones(1, {requires_grad = true})
      z:register_hook(hook(z))
      local w = z * 2
      setmetatable({}, {__gc = function() w:sum():backward() end})
    end
    collect()
    fired = 0
    y:backward()
    assert.are.equal(5, fired)
  end)

  it("and hooks can be removed, added and used in between", function()
    local w = lucerna.ones(3, {requires_grad = true})
    local order = {}
    local handles = {}
    for i = 1, 4 do
      handles[i] = w:register_hook(function() order[#order + 1] = i .. w:numel() end)
      collect()
    end
    handles[2]:remove()
    collect()
    handles[1]:remove();
    (w * 2):sum():backward()
    collect()
    handles[5] = w:register_hook(function() order[#order + 1] = 5 .. w:numel() end)
    collect();
    (w * 2):sum():backward()
    assert.are.same({"33", "43", "33", "43", "53"}, order)
  end)
end)

-- Random programs, with collections between their steps and without: the same hooks fire and the
-- same gradients come out.
describe("random graphs", function()
  local function program(seed, between)
    math.randomseed(seed)
    local pool, leaves, fired = {}, {}, {}
    local function pick() return pool[math.random(#pool)] end
    local steps = {
      function()
        local w = lucerna.ones(2, {requires_grad = true})
        leaves[#leaves + 1] = w
        pool[#pool + 1] = w
      end,
      function() pool[#pool + 1] = pick() * pick() end,
      function() pool[#pool + 1] = pick() + 0.5 end,
      function() pool[#pool + 1] = double(pick()).apply(pick()) end,
      function() pool[#pool + 1] = pick():view(2, 1):squeeze(2) end,
      function()
        local t, other, id = pick(), pick(), #fired + 1
        fired[id] = 0
        t:register_hook(function(g)
          fired[id] = fired[id] + 1
          return g * (1 + 0 * other:detach():sum() + 0 * t:detach():sum())
        end)
      end,
      function() table.remove(pool, math.random(#pool)) end,
    }
    steps[1]()
    for _ = 1, 25 do
      if #pool == 0 then steps[1]() end
      steps[math.random(#steps)]()
      between()
    end
    if #pool == 0 then steps[1]() end
    local loss = pick():sum()
    local others = #leaves
    pool = nil -- luacheck: ignore 311
    between()
    loss:backward()
    local grads = {}
    for i = 1, others do grads[i] = leaves[i].grad and leaves[i].grad:tolist() or false end
    return {fired, grads}
  end

  it("do the same with collections and without", function()
    local last = os.getenv "LUCERNA_SEED" and 60 or 20 -- more in test-all
    for seed = 1, last do
      local expected = program(seed, function() end)
      assert.are.same(expected, program(seed, collect), "seed " .. seed)
    end
    collect()
    local before = live()
    for seed = 1, last do program(seed, function() end) end
    collect()
    assert.are.equal(before, (live()))
  end)
end)
