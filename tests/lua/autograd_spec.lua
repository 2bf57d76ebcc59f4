-- Autograd from Lua: backward and grad, modes, hooks, and the checks by finite differences.
local lucerna = require "lucerna"
local parity = require "parity"
local autograd, leaf = lucerna.autograd, parity.leaf_with

describe("backward", function()
  it("adds gradients to the leaves", function()
    local x = leaf { 1, 2, 3 };
    (x * x):sum():backward()
    assert.same({ 2.0, 4.0, 6.0 }, x.grad:tolist());
    (x * x):sum():backward()
    assert.same({ 4.0, 8.0, 12.0 }, x.grad:tolist())
  end)

  it("reaches the leaves that are asked for, and no others", function()
    local x, y = leaf { 1, 2 }, leaf { 3, 4 }
    local z = x * y
    z:sum():backward { inputs = { y }, retain_graph = true }
    assert.is_nil(x.grad)
    assert.same({ 1.0, 2.0 }, y.grad:tolist())
    autograd.backward({ z }, { lucerna.ones(2) }, { inputs = { x, y } })
    assert.same({ 3.0, 4.0 }, x.grad:tolist())
    assert.same({ 2.0, 4.0 }, y.grad:tolist())
    local function refused(inputs)
      return parity.message(function() (x * y):sum():backward { inputs = inputs } end)
    end
    assert.matches("backward: inputs argument cannot be empty", refused {})
    assert.matches("backward: input 1 does not require grad", refused { lucerna.ones(2) })
    assert.same({ 3.0, 4.0 }, x.grad:tolist())
  end)

  it("keeps the gradients of results that are asked for", function()
    local x = leaf { 1, 2 }
    local y = x * 2
    local z = y * y
    z:sum():backward { inputs = { y }, retain_graph = true }
    assert.is_nil(x.grad)
    assert.same({ 4.0, 8.0 }, y.grad:tolist())
    assert.is_true(y.retains_grad)
    z:sum():backward { inputs = { x, y, z } }
    assert.same({ 8.0, 16.0 }, x.grad:tolist())
    assert.same({ 8.0, 16.0 }, y.grad:tolist())
    assert.same({ 1.0, 1.0 }, z.grad:tolist())
  end)

  it("takes as long as there are pieces", function()
    local x = lucerna.ones(40000):requires_grad_()
    local sum = lucerna.cat(x:split(1)):sum()
    local begin = os.clock()
    sum:backward()
    assert.is_true(os.clock() - begin < 0.5)
    assert.are.equal(40000, x.grad:sum():item())
  end)

  it("stops at the first NaN when it looks for one", function()
    local x = leaf { 0, 4 }
    local function run() (x:sqrt() * lucerna.tensor { 0, 1 }):sum():backward() end
    local want = "backward: function 'SqrtBackward0' returned nan values in its output 1"
    parity.refused(want, autograd.detect_anomaly, run)
    assert.is_false(lucerna.is_anomaly_enabled())
    assert.is_nil(x.grad)
    do
      local _ <close> = autograd.set_detect_anomaly(true)
      assert.is_true(lucerna.is_anomaly_enabled())
      parity.refused(want, run)
      autograd.set_detect_anomaly(false, run)
      assert.is_true(x.grad[1]:isnan():item())
    end
    assert.is_false(lucerna.is_anomaly_enabled())
    parity.refused("mode must be a boolean", autograd.set_detect_anomaly, 1)
    parity.refused(": detect_anomaly: f must be", autograd.detect_anomaly, 3)
    parity.refused("f must be a function", autograd.detect_anomaly, 1)
  end)

  it("takes the gradient of a result that is not one number", function()
    local x = leaf { 1, 2 }
    local y = x * 3
    y:backward(lucerna.tensor({ 1, 10 }, { dtype = lucerna.float64 }))
    assert.same({ 3.0, 30.0 }, x.grad:tolist())
    assert.has_error(function() (x * 3):backward() end)
  end)

  it("frees the graph unless told to keep it", function()
    local x = leaf { 2 }
    local y = (x * x):sum()
    y:backward(nil, { retain_graph = true })
    y:backward()
    assert.same({ 8.0 }, x.grad:tolist())
    parity.refused("second time", y.backward, y)
    local e = lucerna.ones(3, { requires_grad = true })
    local sum = (e:expand(2, 3) + 1):sum() -- nothing of it is saved
    sum:backward()
    sum:backward()
    assert.are.same({ 4, 4, 4 }, e.grad:tolist())
    for _, f in ipairs { -- a factor is, in PyTorch as a tensor
      function(t) return t * 2 end, function(t) return 2 * t end, function(t) return t / 2 end,
      function(t) return (t + 0):mul_(2) end,
      function(t) return t:div(2, { rounding_mode = "floor" }) end,
    } do
      local scaled = f(e):sum()
      scaled:backward()
      parity.refused("second time", scaled.backward, scaled)
    end
    local between = lucerna.lerp(e, lucerna.zeros(3), 0.5):sum() -- its weight is not
    between:backward()
    between:backward()
  end)

  it("can be differentiated again with create_graph", function()
    local x = leaf { 3 }
    local y = (x * x * x):sum()
    local dx = autograd.grad(y, x, { create_graph = true })
    assert.same({ 27.0 }, dx:tolist())
    dx:sum():backward()
    assert.same({ 18.0 }, x.grad:tolist())
  end)

  it("refuses tensors without a graph, and saved tensors that were changed", function()
    parity.refused("does not require grad", function()
      lucerna.ones(1):backward()
    end)
    local x = leaf { 1, 2 }
    local y = x * 2
    local z = (y * y):sum()
    y:add_(1)
    parity.refused("modified by an inplace operation", z.backward, z)
  end)

  -- What their gradients do not read may be written: results, or operands where others are numbers.
  for name, case in pairs {
    ["a power"] = {function(x) return x ^ 3 end, 1, {12.0, 48.0}},
    ["a quotient"] = {function(x) return x / 4 end, 1, {0.25, 0.25}},
    ["a quotient of tensors"] = {function(x) return 6 / x end, 1, {-1.5, -0.375}},
    ["a remainder's operand"] = {function(x) return x % 2 end, 2, {1.0, 1.0}},
    ["a factor"] = {function(x) return x:new_ones(2):addcmul(x, x.data + 0) end, 2, {2.0, 4.0}},
    ["a blend's operand"] = {function(x) return x:lerp(x * 2, 0.5) end, 2, {1.5, 1.5}},
  } do
    it("lets " .. name .. " be changed", function()
      local first = leaf { 2, 4 }
      local x = first * 1
      local y = case[1](x)
      local written = case[2] == 1 and y or x
      written:mul_(1):add_(1)
      y:sum():backward()
      assert.same(case[3], first.grad:tolist())
    end)
  end

  it("gives both sides of maximum and minimum the gradient where one is NaN", function()
    local inf, nan = math.huge, 0 / 0
    for _, name in ipairs {"maximum", "minimum"} do
      local x, y = leaf { inf, nan, nan, 1, 1 }, leaf { nan, 1, nan, 1, 2 }
      lucerna[name](x, y):sum():backward()
      local last = name == "maximum" and 0.0 or 1.0
      assert.same({ 1.0, 1.0, 1.0, 0.5, last }, x.grad:tolist())
      assert.same({ 1.0, 1.0, 1.0, 0.5, 1 - last }, y.grad:tolist())
    end
  end)

  it("is zero, not missing, of steps", function()
    for _, name in ipairs { "floor", "ceil", "trunc", "round", "sign", "sgn", "angle" } do
      local x = leaf { 1.5, -2 }
      x[name](x):sum():backward()
      assert.same({ 0.0, 0.0 }, x.grad:tolist(), name)
    end
    local x, y = leaf { 3, 4 }, leaf { 2 }
    lucerna.ones(2):copysign(x):sum():backward()
    assert.same({ 0.0, 0.0 }, x.grad:tolist())
    x:div(y, { rounding_mode = "floor" }):sum():backward()
    assert.same({ { 0.0, 0.0 }, { 0.0 } }, { x.grad:tolist(), y.grad:tolist() })
  end)

  it("leaves alone a leaf that has been frozen since", function()
    local x, y = leaf { 1, 2 }, leaf { 3, 4 }
    local product = (x * y):sum()
    x:requires_grad_(false)
    product:backward()
    assert.is_nil(x.grad)
    assert.same({ 1.0, 2.0 }, y.grad:tolist())
  end)

  it("runs through graphs of 100,000 nodes", function()
    local x = leaf { 1 }
    local y = x
    for _ = 1, 100000 do y = y + 1 end
    y:sum():backward()
    assert.same({ 1.0 }, x.grad:tolist())
  end)

  it("gradients of gradients, however many, are freed without recursion", function()
    local gone = setmetatable({ lucerna.zeros(1) }, { __mode = "v" })
    local x = gone[1]
    for _ = 1, 200000 do
      local outer = lucerna.zeros(1)
      outer.grad, x = x, outer
    end
    collectgarbage()
    x:release()
    collectgarbage()
    assert.is_nil(gone[1])
  end)

  it("is zero through comparisons in place", function()
    local x = lucerna.arange(3.0):requires_grad_()
    local y = x * 1
    y:eq_(2)
    lucerna.add(y, lucerna.zeros(3):le_(x)):sum():backward()
    assert.same({0, 0, 0}, x.grad:tolist())
  end)

  it("records nothing for positions that were kept", function()
    local x = leaf { 3, 1, 2 }
    for _, name in ipairs { "sort", "cummax", "max" } do
      local y = x[name](x, 1)
      local g = autograd.grad(y:sum(), x, { create_graph = true })
      assert.is_false(g.requires_grad)
    end
  end)
end)

describe("autograd.grad", function()
  it("does not come from a tensor that only lends its shape", function()
    local like, x = lucerna.ones(2, 2, {requires_grad = true}), lucerna.ones(4)
    assert.is_false(x:view_as(like).requires_grad)
    assert.is_false(x:reshape_as(like).requires_grad)
    assert.is_false(lucerna.ones(2):expand_as(like).requires_grad)
  end)

  it("takes inputs that are there twice, or come from one call", function()
    local x = leaf {1, 2, 3}
    local parts = (x * 1):unbind(1)
    local y = parts[1] * 2 + parts[3] * 5
    local a, b, c, d, e = autograd.grad({y}, {parts[3], x, parts[1], x, parts[3]})
    assert.same({5, 2, 5}, {a:item(), c:item(), e:item()})
    assert.same({{2, 0, 5}, {2, 0, 5}}, {b:tolist(), d:tolist()})
  end)

  it("gives one result per input and adds nothing to the leaves", function()
    local x, y = leaf { 1, 2 }, leaf { 3, 4 }
    local dx, dy = autograd.grad((x * y):sum(), { x, y })
    assert.same({ 3.0, 4.0 }, dx:tolist())
    assert.same({ 1.0, 2.0 }, dy:tolist())
    assert.is_nil(x.grad)
  end)

  it("gives nil for unused inputs when that is allowed", function()
    local x, y = leaf { 1 }, leaf { 2 }
    local dx, dy = autograd.grad((x * 2):sum(), { x, y }, { allow_unused = true })
    assert.same({ 2.0 }, dx:tolist())
    assert.is_nil(dy)
    assert.has_error(function() autograd.grad((x * 2):sum(), { x, y }) end)
  end)

  it("takes inputs from an iterator", function()
    local net = lucerna.nn.Linear(2, 1)
    local x = lucerna.tensor { { 1.0, 2.0 } }
    local want = { autograd.grad(net(x):sum(), { net.weight, net.bias }) }
    local positional = { autograd.grad(net(x):sum(), net:parameters()) }
    local named = { autograd.grad { outputs = net(x):sum(), inputs = net:parameters() } }
    for _, got in ipairs { positional, named } do
      assert.equal(2, #got)
      for k, grad in ipairs(want) do assert.same(grad:tolist(), got[k]:tolist()) end
    end
    parity.refused("write net:parameters()", autograd.grad, net(x):sum(), net.parameters)
    parity.refused("got string 'weight' at position 1", autograd.grad,
      net(x):sum(), net:named_parameters())
    parity.refused("got number", autograd.grad, net(x):sum(), function() return 5 end) -- endless
  end)

  it("takes gradients of the outputs", function()
    local x = leaf { 1, 2 }
    local dx = autograd.grad({ x * 2, x * 3 }, { x },
      { grad_outputs = { lucerna.ones(2), lucerna.ones(2) } })
    assert.same({ 5.0, 5.0 }, dx:tolist())
  end)

  it("gives zeros for what is not used, if asked", function()
    local x, y = leaf { 1, 2 }, leaf { 3, 4 }
    local gx, gy = autograd.grad((x * x):sum(), { x, y }, { materialize_grads = true })
    assert.same({ { 2.0, 4.0 }, { 0.0, 0.0 } }, { gx:tolist(), gy:tolist() })
    parity.refused("grad: expected allow_unused to be true or nil", autograd.grad,
      (x * x):sum(), { x }, { materialize_grads = true, allow_unused = false })
  end)

  it("takes its arguments in PyTorch's order", function()
    local x, y = leaf { 1, 2 }, leaf { 3, 4 }
    local unused = table.pack(autograd.grad((x * x):sum(), { x, y }, nil, nil, true, true, true))
    assert.same({ 2, 4 }, unused[1]:tolist())
    assert.is_true(unused.n == 2 and unused[2] == nil and unused[1].requires_grad)
    local rows = autograd.grad(x * x, x, lucerna.eye(2), nil, false, true, nil, true)
    assert.same({ { 2, 0 }, { 0, 4 } }, rows:tolist())
    local _, zeros = autograd.grad(x:sum(), { x, y }, nil, nil, false, true, nil, false, true)
    assert.same({ 0, 0 }, zeros:tolist())
    local one = autograd.grad { outputs = x:sum(), inputs = x, only_inputs = true }
    assert.same({ 1, 1 }, one:tolist())
  end)

  it("takes a batch of gradients at once", function()
    local x, y, unused = leaf { { 1, 2 }, { 3, 4 } }, leaf { 5, 6 }, leaf { 1 }
    local z, w = x * x * y, y:sin()
    local seeds = { lucerna.randn(3, 2, 2, { dtype = lucerna.float64 }),
      lucerna.randn(3, 2, { dtype = lucerna.float64 }) }
    local gx, none, gy = autograd.grad({ z, w }, { x, unused, y }, { grad_outputs = seeds,
      is_grads_batched = true, allow_unused = true, retain_graph = true })
    assert.is_nil(none)
    for k = 1, 3 do
      local ex, ey = autograd.grad({ z, w }, { x, y },
        { grad_outputs = { seeds[1][k], seeds[2][k] }, retain_graph = true })
      parity.close(gx[k], ex)
      parity.close(gy[k], ey)
    end
    local zeros = autograd.grad(w, { unused, y }, { grad_outputs = seeds[2],
      is_grads_batched = true, materialize_grads = true, retain_graph = true })
    assert.same({ 3, 1 }, zeros.shape)
  end)

  it("gives batches that can be differentiated again", function()
    local x = leaf { 1, 2 }
    local rows = autograd.grad(x ^ 3, x, { grad_outputs = lucerna.eye(2), is_grads_batched = true,
      create_graph = true })
    assert.same({ { 3.0, 0.0 }, { 0.0, 12.0 } }, rows:tolist())
    assert.same({ 6.0, 12.0 }, autograd.grad(rows:sum(), x):tolist())
  end)

  it("says what a batch of gradients must be", function()
    local x = leaf { 1, 2 }
    local function refused(text, options)
      parity.refused(text, autograd.grad, x * x, x, options)
    end
    refused("grad: is_grads_batched needs grad_outputs, a batch for every output",
      { is_grads_batched = true })
    refused("grad: is_grads_batched must be a boolean (got number)", { is_grads_batched = 1 })
    refused("grad: unknown argument 'is_grad_batched' (did you mean 'is_grads_batched'?)",
      { is_grad_batched = true, is_grads_batched = true })
    refused("grad: grad_outputs: entry 1 must be a Tensor [batch, 2] (got [4, 3])",
      { grad_outputs = lucerna.ones(4, 3), is_grads_batched = true })
    refused("grad: grad_outputs: entry 1 must be a Tensor [batch, 2] (got number)",
      { grad_outputs = { 1 }, is_grads_batched = true })
    assert.same({ 2.0, 4.0 }, autograd.grad((x * x):sum(), x, { is_grads_batched = false })
      :tolist())
  end)
end)

describe("a leaf", function()
  it("can be told to require a gradient, assigned one, and have it dropped", function()
    local x = lucerna.ones(2)
    x.requires_grad = true
    assert.is_true(x:requires_grad_(true).requires_grad)
    local g = lucerna.ones(2)
    x.grad = g
    assert.is_true(rawequal(g, x.grad))
    x.grad = nil
    assert.is_nil(x.grad)
    assert.has_error(function() x.grad = lucerna.ones(3) end)
    assert.has_error(function() x.grad = 5 end)
    assert.has_error(function() lucerna.ones(2, { dtype = lucerna.int64 }).requires_grad = true end)
  end)

  it("is written in place by itself as it was before", function()
    local x = leaf { 2, 3 }
    local y = x * 1
    y:mul_(y)
    y:sum():backward()
    assert.same({ 4.0, 6.0 }, x.grad:tolist())
  end)

  it("cannot be written in place, nor can a view of it", function()
    local x = leaf { 1, 2 }
    parity.refused("a leaf Variable that requires grad", x.add_, x, 1)
    local view = x:view(2)
    parity.refused("a view of a leaf Variable", view.add_, view, 1)
    local made_leaf = lucerna.ones(2, 3).T
    made_leaf:requires_grad_()
    parity.refused("a leaf Variable that requires grad", made_leaf.add_, made_leaf, 1)
  end)

  it("changes its data outside the graph", function()
    local x = leaf { 1, 2 }
    x.data[1] = 5
    assert.same({ 5.0, 2.0 }, x:tolist())
    assert.is_false(x.data.requires_grad)
    x.data = lucerna.tensor({ 7, 8 }, { dtype = lucerna.float64 })
    assert.same({ 7.0, 8.0 }, x:tolist())
    assert.is_true(x.is_leaf)
    parity.refused("requires_grad must be a boolean (got number)", function()
      x.requires_grad = 1
    end)
  end)
end)

describe("a hook of a grad_fn", function()
  it("sees what its node gets and gives, and may replace it", function()
    local x, w, seen = leaf { 1, 2 }, leaf { 3, 4 }, {}
    local y = x * w
    local handle = y.grad_fn:register_hook(function(grad_input, grad_output)
      seen = { grad_input.n, grad_input[1]:tolist(), grad_input[2]:tolist(), grad_output.n,
        grad_output[1]:tolist() }
      return { grad_input[1] * 10, grad_input[2] }
    end)
    y:sum():backward { retain_graph = true } -- the values are PyTorch's
    assert.same({ 2, { 3, 4 }, { 1, 2 }, 1, { 1, 1 } }, seen)
    assert.same({ { 30, 40 }, { 1, 2 } }, { x.grad:tolist(), w.grad:tolist() })
    handle:remove()
    x.grad, w.grad = nil, nil
    y.grad_fn:register_prehook(function(grad_output) return grad_output[1] * 2 end)
    y:sum():backward()
    assert.same({ { 6, 8 }, { 2, 4 } }, { x.grad:tolist(), w.grad:tolist() })
  end)

  it("may take itself off, and leaves out what it returns nil for", function()
    local x, w, handle = leaf { 1 }, leaf { 3 }, nil
    local y = x * w
    handle = y.grad_fn:register_hook(function(grad_input)
      handle:remove()
      return { n = 2, grad_input[1] }
    end)
    y:backward { retain_graph = true }
    assert.same({ 3 }, x.grad:tolist())
    assert.is_nil(w.grad)
    y:backward()
    assert.same({ { 6 }, { 1 } }, { x.grad:tolist(), w.grad:tolist() })
  end)

  it("must return gradients like those that it got", function()
    local function backward(kind, hook)
      local x = leaf { 1, 2 }
      local y = x * x
      y.grad_fn[kind](y.grad_fn, hook)
      return function() y:sum():backward() end, x
    end
    local refused = {
      ["hook: gradient 1 must be like the one whose place it takes (got Tensor [3])"] =
        function() return lucerna.ones(3) end,
      ["hook: a gradient must be a Tensor (got number 3)"] = function() return 3 end,
      ["mine"] = function() error("mine", 0) end,
    }
    for message, hook in pairs(refused) do
      for _, kind in ipairs { "register_hook", "register_prehook" } do
        local call, x = backward(kind, hook)
        parity.refused(message, call)
        assert.is_nil(x.grad)
      end
    end
    parity.refused("hook: must return 2 gradients (got 3)",
      (backward("register_hook", function() return { nil, nil, lucerna.ones(2) } end)))
    parity.refused("hook: a gradient must be a Tensor (got nil)",
      (backward("register_prehook", function() return {} end)))
    local y = leaf { 1 } * 2
    parity.refused("register_hook: hook must be a function", y.grad_fn.register_hook, y.grad_fn)
    parity.refused("register_hook: expected a grad_fn", y.grad_fn.register_hook, print)
    parity.refused("register_prehook: expected a grad_fn", y.grad_fn.register_prehook)
    local accumulates = y.grad_fn.next_functions[1][1]
    parity.refused("register_hook: AccumulateGrad takes no hooks", accumulates.register_hook,
      accumulates, print)
  end)
end)

describe("a result", function()
  it("names what made it, and detaches", function()
    local y = leaf { 1 } * 2
    assert.equal("MulBackward0", y.grad_fn:name())
    assert.is_false(y.is_leaf)
    assert.is_false(y:detach().requires_grad)
    assert.has_error(function() y.requires_grad = false end)
  end)

  it("keeps and adds up its gradient when asked to", function()
    local y, g = leaf { 1, 2 } * 2, lucerna.ones(2)
    y:retain_grad()
    y:backward(g, {retain_graph = true})
    y.grad:mul_(3) -- not g
    y:backward(g)
    assert.same({ 4.0, 4.0 }, y.grad:tolist())
  end)
end)

describe("no_grad and its kin", function()
  it("run a function without recording and pass its results through", function()
    local x = leaf { 1 }
    local a, b, y = lucerna.no_grad(function(...) return select("#", ...), nil, x * 2 end, 1, nil)
    assert.equal(2, a)
    assert.is_nil(b)
    assert.is_false(y.requires_grad)
    assert.is_true(lucerna.is_grad_enabled())
  end)

  it("hold for the rest of a block as a to-be-closed value", function()
    do
      local _ <close> = lucerna.no_grad()
      assert.is_false(lucerna.is_grad_enabled())
      do
        local _ <close> = lucerna.enable_grad()
        assert.is_true(lucerna.is_grad_enabled())
      end
      assert.is_false(lucerna.is_grad_enabled())
    end
    assert.is_true(lucerna.is_grad_enabled())
  end)

  it("put the mode back after an error, which passes unchanged", function()
    local thrown = {}
    local ok, err = pcall(lucerna.no_grad, function() error(thrown) end)
    assert.is_false(ok)
    assert.is_true(rawequal(thrown, err))
    assert.is_true(lucerna.is_grad_enabled())
  end)

  it("keep the mode inside when the function yields", function()
    local co = coroutine.wrap(function()
      return lucerna.no_grad(function(a)
        local b = coroutine.yield(a, lucerna.is_grad_enabled())
        return b, lucerna.is_grad_enabled()
      end, 1)
    end)
    local a, inside = co()
    assert.equal(1, a)
    assert.is_false(inside)
    assert.is_true(lucerna.is_grad_enabled())
    local b, still = co(2)
    assert.equal(2, b)
    assert.is_false(still)
    assert.is_true(lucerna.is_grad_enabled())
  end)

  it("switch by a boolean, and for inference", function()
    assert.is_false(lucerna.set_grad_enabled(false, lucerna.is_grad_enabled))
    assert.is_false(lucerna.inference_mode(lucerna.is_grad_enabled))
    assert.is_true(lucerna.inference_mode(lucerna.is_inference_mode_enabled))
    assert.is_true(lucerna.no_grad(lucerna.enable_grad, lucerna.is_grad_enabled))
    parity.refused("set_grad_enabled: mode must be a boolean", lucerna.set_grad_enabled, 1)
  end)

  it("of inference records nothing, not even with gradients enabled inside", function()
    local x = leaf { 1, 2 }
    local inferred, recorded = lucerna.inference_mode(function()
      local y = lucerna.enable_grad(function() return x * 1 end)
      return y, lucerna.inference_mode(false, function() return x * 1 end)
    end)
    assert.is_false(inferred.requires_grad)
    assert.is_true(recorded.requires_grad)
    assert.is_true(inferred:is_inference())
    assert.is_true(lucerna.is_inference(inferred:view(2)))
    assert.is_false((inferred * 2):is_inference())
    assert.is_false(lucerna.inference_mode(x.view, x, 2):is_inference())
  end)

  it("of inference makes tensors that only it writes and nothing saves", function()
    local x, made = leaf { 1, 2 }, lucerna.inference_mode(lucerna.ones, 2)
    local out = { out = made }
    local written = "Inplace update to inference tensor outside InferenceMode is not allowed"
    parity.refused("add_: " .. written, made.add_, made, 1)
    parity.refused("squeeze_: " .. written, made.squeeze_, made)
    parity.refused("add: " .. written, lucerna.add, x.data, 1, out)
    parity.refused("fill_: " .. written, function() made[1] = 3 end)
    parity.refused("add_: " .. written, lucerna.no_grad, made.add_, made, 1)
    lucerna.inference_mode(made.add_, made, 1)
    assert.same({ 2, 2 }, made:tolist())
    parity.refused("mul: Inference tensors cannot be saved for backward", lucerna.mul, x, made)
    parity.refused("mul_: Inference tensors cannot be saved", x.mul_, x * 1, made)
    local square = autograd.Function("Square", {
      forward = function(ctx, a, b) ctx:save_for_backward(b) return a * b end,
      backward = function(ctx, g) return g * ctx.saved_tensors[1] end,
    })
    parity.refused("Square: Inference tensors cannot be saved", square.apply, x, made)
    assert.same({ 3, 4 }, (x + made):tolist()) -- saves nothing
    assert.same({ 2, 4 }, (x * made:clone()):tolist())
    parity.refused("Setting requires_grad=True on inference tensor", made.requires_grad_, made)
    parity.refused("Inference tensors do not track version", function() return made._version end)
  end)

  it("of inference makes tensors that are written through what is detached of them", function()
    local made = lucerna.inference_mode(lucerna.ones, 2)
    local detached = made:detach()
    detached:add_(1)
    made.data:add_(1)
    detached:view(2):add_(1)
    assert.same({ 4, 4 }, made:tolist())
    assert.is_true(detached:is_inference())
    assert.equal(0, detached._version)
    parity.refused("Setting requires_grad=True on inference", detached.requires_grad_, detached)
    parity.refused("Inplace update to inference tensor",
      lucerna.inference_mode(made.detach, made).add_, lucerna.inference_mode(made.detach, made), 1)
  end)

  it("of inference makes modules that neither loading nor a step changes outside", function()
    local nn = lucerna.nn
    local net = lucerna.inference_mode(nn.Linear, 1, 1)
    local before, written = net.weight:item(), "Inplace update to inference tensor"
    local _, message = pcall(net.load_state_dict, net, nn.Linear(1, 1):state_dict())
    assert.matches('parameter named "weight".-' .. written .. '.-"bias".-' .. written, message)
    net.weight.grad, net.bias.grad = lucerna.ones(1, 1), lucerna.ones(1)
    for _, kind in ipairs { "SGD", "Adam" } do
      local o = lucerna.optim[kind](net:parameters(), { lr = 1 })
      parity.refused(written, o.step, o)
    end
    assert.equal(before, net.weight:item())
    lucerna.inference_mode(function() lucerna.optim.SGD(net:parameters(), { lr = 1 }):step() end)
    assert.equal(before - 1, net.weight:item())
    net:double() -- has other tensors then
    net:load_state_dict { weight = lucerna.ones(1, 1), bias = lucerna.ones(1) }
    assert.equal(1, net.weight:item())
  end)

  it("of any kind makes views that are not written where gradients are recorded", function()
    local x = leaf { 1, 2 } * 1
    local modes = { no_grad = "created in no_grad mode and is being modified inplace with",
      inference_mode = "created in inference mode and is being modified inplace in normal mode" }
    for mode, text in pairs(modes) do
      local view, again = lucerna[mode](function() return x:view(2), x:view(2, 1):view(2) end)
      parity.refused(text, view.mul_, view, 2)
      parity.refused(text, again.mul_, again, 2)
      parity.refused(text, function() view:view(2, 1):mul_(2) end)
      lucerna[mode](view.mul_, view, 2)
    end
    assert.same({ 4, 8 }, x:tolist())
    local part = lucerna.ones(2):split(1)[2] -- which no gradient is ever asked of
    lucerna.no_grad(part.view, part, 1, 1):mul_(2)
    assert.equal(2, part:item())
  end)
end)

describe("unique", function()
  it("has a place in the graph, and no gradient", function()
    for _, name in ipairs { "unique", "unique_consecutive" } do
      local x = leaf { 1, 2, 2 }
      local values, inverse = lucerna[name](x, { return_inverse = true })
      assert.is_true(values.requires_grad)
      assert.is_false(inverse.requires_grad)
      assert.matches("^Unique", values.grad_fn:name())
      parity.refused(("the gradient of %s is not implemented"):format(name),
        function() values:sum():backward() end)
    end
  end)
end)

describe("hooks on tensors", function()
  it("see a gradient and may replace it, until they are removed", function()
    local x = leaf { 1, 2 }
    local seen
    local handle = x:register_hook(function(g)
      seen = g:tolist()
      return g * 10
    end);
    (x * 3):sum():backward()
    assert.same({ 3.0, 3.0 }, seen)
    assert.same({ 30.0, 30.0 }, x.grad:tolist())
    handle:remove()
    handle:remove()
    x.grad = nil;
    (x * 3):sum():backward()
    assert.same({ 3.0, 3.0 }, x.grad:tolist())
  end)

  it("work on results, and outlive the Lua value they were put on", function()
    local x = leaf { 1 }
    local calls = 0
    local function build()
      local y = x * 2
      y:register_hook(function() calls = calls + 1 end)
      return (y * 3):sum()
    end
    local loss = build()
    collectgarbage()
    loss:backward()
    assert.equal(1, calls)
  end)

  it("run after an input that others come from is given, before one that ends the walk", function()
    local x = leaf { 2 }
    local y = x * 3
    y:retain_grad()
    y:register_hook(function(g) return g * 10 end)
    local of_y, of_x = autograd.grad(y * y, { y, x }) -- as in PyTorch 1.13 and 2.15
    assert.same({ 12, 360 }, { of_y:item(), of_x:item() })
    assert.equal(120, autograd.grad(y * y, { y }):item()) -- as in 2.15
    assert.equal(240, y.grad:item())
  end)

  it("end with their block as to-be-closed values", function()
    local x = leaf { 1 }
    local calls = 0
    do
      local _ <close> = x:register_hook(function() calls = calls + 1 end);
      (x * 2):sum():backward()
    end
    (x * 2):sum():backward()
    assert.equal(1, calls)
  end)

  it("see gradients that no formula writes over", function()
    local kept
    local x = leaf { -1, 2 }
    local y, g = x:relu(), lucerna.tensor({ 3, 3 }, { dtype = lucerna.float64 })
    y:register_hook(function(seen) kept = seen end);
    (y * 2):backward(g)
    x:tanh():backward(g)
    assert.same({ 6.0, 6.0 }, kept:tolist())
    assert.same({ 3.0, 3.0 }, g:tolist())
  end)

  it("pass their errors on as they are, and must be functions", function()
    local x = leaf { 1 }
    local thrown = {}
    x:register_hook(function() error(thrown) end)
    local ok, err = pcall(function() (x * 2):sum():backward() end)
    assert.is_false(ok)
    assert.is_true(rawequal(thrown, err))
    parity.refused("register_hook: hook must be a function (got number)", x.register_hook, x, 1)
    local y = leaf { 1 }
    y:register_hook(function() return 5 end)
    parity.refused("hook: the result must be a Tensor (got number 5)",
      function() (y * 2):sum():backward() end)
  end)

  it("run after accumulation with register_post_accumulate_grad_hook", function()
    local x = leaf { 1 }
    local seen
    x:register_post_accumulate_grad_hook(function(t) seen = t.grad:item() end);
    (x * 4):sum():backward()
    assert.equal(4.0, seen)
  end)
end)

describe("gradcheck", function()
  it("leaves inputs as they were where the function fails", function()
    local x, calls = leaf {1, 2}, 0
    local function third(a)
      calls = calls + 1
      if calls == 3 then error("third") end
      return a * a
    end
    assert.has_error(function() autograd.gradcheck(third, {x}) end)
    assert.same({1, 2}, x:tolist())
    assert.has_error(function() autograd.gradcheck(third, {x}, {atoll = 1}) end,
      "gradcheck: unknown argument 'atoll' (did you mean 'atol'?)")
  end)

  it("accepts right gradients and names the place of a wrong one", function()
    local x = parity.leaf(3)
    assert.is_true(autograd.gradcheck(function(a) return a * a end, { x }))
    local Wrong = autograd.Function("Wrong", {
      forward = function(_, a) return a * 2 end,
      backward = function(_, g) return g * 3 end,
    })
    parity.refused("Jacobian mismatch for output 1, element 1, with respect to input 1, element 1",
      autograd.gradcheck, Wrong.apply, { x })
    assert.is_false((autograd.gradcheck(Wrong.apply, { x }, { raise_exception = false })))
  end)
end)

describe("writes through views", function()
  local function written(op)
    local x = lucerna.arange(6.0):requires_grad_()
    local h = x * 1
    local v = h:view(2, 3)
    v[op](v, 2)
    return x, v
  end

  it("are seen by autograd.grad, not only by backward", function()
    local x, v = written "mul_"
    local g = lucerna.autograd.grad((v * v):sum(), x)
    assert.same((x * 8):tolist(), g:tolist())
  end)

  it("keep what gradients read of their results", function()
    local x = lucerna.arange(6.0):requires_grad_()
    local v = (x * 1):view(2, 3)
    v:tanh_()
    v:sum():backward()
    parity.close(x.grad, 1 - x:detach():tanh() ^ 2)
  end)
end)
