-- lucerna.func and autograd.functional: the answers of functorch and PyTorch, what is refused and
-- how, and that nothing stays behind. vmap over every operator is vmap_spec.lua.
local lucerna = require "lucerna"
local functions = require "functions"
local parity = require "parity"
local func, nn, functional = lucerna.func, lucerna.nn, lucerna.autograd.functional

local NAMES = { lucerna = lucerna, func = func, nn = nn, F = nn.functional,
  functional = functional }

function NAMES.x(...)
  local n = 1
  for _, size in ipairs { ... } do n = n * size end
  local t = lucerna.arange(n, {dtype = lucerna.float64})
  return ((t * 7 % 11) * 0.25 - 1):reshape(...)
end
function NAMES.f(a) return (a:sin() * a):sum() end
function NAMES.g(a, b) return a:matmul(b):tanh() * 2 end
function NAMES.two(a, b) return a * b, (a + b):exp():sum() end

local x, f, g = NAMES.x, NAMES.f, NAMES.g

local function run(case)
  local chunk = assert(load(case.lua, case.name, "t", setmetatable({}, {
    __index = function(_, name) return NAMES[name] or _G[name] end,
  })))
  local results = table.pack(chunk())
  assert.equal(#case.out, results.n, "number of results")
  for k, expected in ipairs(case.out) do
    parity.close(results[k], expected, {atol = 1e-10}, "result " .. k)
    assert.equal(case.topic == "ensemble", results[k].requires_grad)
  end
end

describe("as PyTorch,", function()
  for _, case in ipairs(parity.load "func") do
    it(case.topic .. ": " .. case.name, function() run(case) end)
  end
end)

local refused = parity.refused

describe("vmap refuses", function()
  local map = func.vmap

  it("what depends on values", function()
    refused("It looks like you're calling .item() on a Tensor", map(function(a)
      return a:sum():item()
    end), x(2, 3))
    refused("calling .tolist() on a Tensor", map(function(a) return a:tolist() end), x(2, 3))
    refused("calling .is_nonzero() on a Tensor", map(function(a)
      return a[1]:is_nonzero() and a or -a
    end), x(2, 3))
    refused("data-dependent control flow", map(function(a) return a:equal(a) and a end), x(2, 3))
    refused("can output dynamic shape", map(function(a) return a:nonzero() end), x(2, 3))
    refused("can output dynamic shape", map(function(a) return a[a:gt(0)] end), x(2, 3))
    refused("calling .tensor() on a Tensor", map(function(a) return lucerna.tensor(a) end), x(2))
  end)

  it("random numbers unless told which", function()
    local draw = function(a) return a + lucerna.rand(3) end
    refused("called random operation while in randomness error mode", map(draw), x(2, 3))
    refused("called random operation", map(function(a)
      return nn.functional.dropout(a, 0.5)
    end), x(2, 3))
    refused("Only allowed values for randomness are 'error', 'different', or 'same'. Got some",
      map, draw, {randomness = "some"})
    refused("same randomness with a batched tensor input", map(function(a)
      return lucerna.bernoulli(a)
    end, {randomness = "same"}), lucerna.full({2, 3}, 0.5))
  end)

  it("writes of many into one", function()
    local one = lucerna.zeros(3)
    refused("inplace arithmetic(self, *extra_args) is not possible", map(function(a)
      one:add_(a)
      return a
    end), lucerna.ones(2, 3))
    refused("index_put_: vmap: inplace arithmetic", map(function(b)
      return map(function(a)
        a = a:clone()
        a:index_put_({lucerna.tensor {1, 2, 3}}, b)
        return a
      end)(lucerna.zeros(5, 3))
    end), lucerna.ones(2, 3))
    refused("out=... arguments do not support vmap", map(function(a)
      return lucerna.sort(a, {out = {one, lucerna.zeros(3, {dtype = lucerna.int64})}})
    end), lucerna.ones(2, 3))
    refused("out=... arguments do not support vmap", map(function(a)
      return lucerna.add(a, 1, {out = one})
    end), lucerna.ones(2, 3))
    assert.equal(0, one:sum():item())
  end)

  it("inputs that do not fit", function()
    local id = function(a) return a end
    refused("Expected at least one Tensor to vmap over", map(id, {lucerna.none}), x(2))
    refused("got no inputs", map(id))
    refused("got sizes [2, 3] for the mapped dimension", map(function(a, b) return a, b end), x(2),
      x(3))
    refused("Got in_dim=1 for an input but the input is of type number", map(id), 3)
    refused("Got in_dim=3 for some input, but that input is a Tensor of dimensionality 2",
      map(id, 3), x(2, 2))
    refused("expected in_dim to satisfy 1 <= in_dim <= 1 (dims count from 1)", map(id, 0), x(2))
    refused("in_dims is not compatible with the structure of inputs", map(id, {1, 2}), x(2, 2))
    refused("in_dims is not compatible with the structure of inputs: argument 1",
      map(id, {{a = 1}}), x(2, 2))
    refused("chunk_size should be nil or greater than 0", map, id, {chunk_size = 0})
    refused("func must be a function (got number)", map, 3)
  end)

  it("results that do not fit", function()
    refused("must only return Tensors, got type string", map(function() return "a" end), x(2))
    refused("can not return a batched Tensor when out_dim is lucerna.none",
      map(function(a) return a end, {out_dims = lucerna.none}), x(2))
    refused("out_dims is not compatible", map(function(a) return a, a end, 1, {1}), x(2))
  end)

  it("to let a tensor out", function()
    local kept
    map(function(a)
      kept = a
      return a
    end)(x(2, 3))
    refused("is used after its function has returned", function() return kept + 1 end)
    assert.matches("^BatchedTensor%(value=\n    tensor%(", tostring(kept))
  end)

  it("what only whole tensors can do", function()
    refused("requires_grad_", map(function(a) return a:requires_grad_() end), x(2))
    refused("backward", map(function(a) a:sum():backward() return a end), x(2))
    refused("calling .save() on a Tensor", map(function(a)
      return lucerna.save({a}, "nowhere")
    end), x(2))
    refused("calling .save_file() on a Tensor", map(function(a)
      return lucerna.safetensors.save_file({a = a}, "nowhere")
    end), x(2))
    refused("calling .step() on a Tensor", map(function(a)
      return lucerna.optim.SGD({a}, {lr = 1})
    end), x(2))
    refused("expected a number or boolean at", map(function(a)
      return lucerna.tensor {a}
    end), x(2))
    refused("data_ptr", map(function(a) return a:data_ptr() end), x(2))
    refused("data", map(function(a)
      local b = lucerna.zeros(3)
      b.data = a
      return b
    end), x(2, 3))
  end)

  it("norms that would write statistics of all", function()
    refused("running_mean or running_var, which will be updated in place, were not batched",
      map(nn.BatchNorm1d(3)), lucerna.randn(2, 4, 3))
  end)
end)

describe("in vmap", function()
  it("tensors are like one sample", function()
    local seen
    func.vmap(function(a)
      seen = {a:dim(), a:size(1), #a, a:numel(), a.shape[2], a.dtype, a.ndim, a.T.shape[1]}
      return a
    end)(x(5, 2, 3))
    assert.same({2, 2, 2, 6, 3, lucerna.float64, 2, 3}, seen)
  end)

  it("random numbers are different, or the same", function()
    lucerna.manual_seed(0)
    local function draw(kind)
      return func.vmap(function(a) return a * 0 + lucerna.rand(4) end, {randomness = kind})(
        x(3, 4))
    end
    local same, different = draw "same", draw "different"
    parity.close(same[1], same[2])
    assert.is_true((different[1] - different[2]):abs():max():item() > 0)
    local dropped = func.vmap(function(a) return nn.functional.dropout(a, 0.5) end,
      {randomness = "same"})(lucerna.ones(3, 50))
    parity.close(dropped[1], dropped[3])
    local filled = func.vmap(function(a) return a:clone():uniform_() end,
      {randomness = "different"})(lucerna.ones(3, 50))
    assert.is_true((filled[1] - filled[3]):abs():max():item() > 0)
  end)

  it("writes go through to what is mapped over", function()
    local t = x(2, 3)
    func.vmap(function(a) a[1] = 7 return a end)(t)
    assert.same({7, 7}, t:select(2, 1):tolist())
    local made = func.vmap(function(a)
      local z = a:new_zeros(3)
      z[2] = a[1]
      return z
    end)(t)
    assert.same({0, 7, 0}, made[2]:tolist())
  end)

  it("what is recorded outside is summed over samples", function()
    local w = x(3):requires_grad_()
    func.vmap(function(a) return a:dot(w) end)(x(4, 3)):sum():backward()
    parity.close(w.grad, x(4, 3):sum(1))
  end)

  it("functions with gradients of their own have them", function()
    local t, Cube = x(4), functions.Cube
    parity.close(func.vmap(Cube.apply)(t), t ^ 3)
    parity.close(func.vmap(func.grad(Cube.apply))(t), t ^ 2 * 3)
    parity.close(func.vmap(func.grad(func.grad(Cube.apply)))(t), t * 6)
    parity.close(func.grad(function(a) return func.vmap(Cube.apply)(a):sum() end)(t), t ^ 2 * 3)
    parity.close(func.jacrev(Cube.apply)(t), (t ^ 2 * 3):diag())
  end)

  it("a dimension of size 0 is mapped by what has a rule", function()
    assert.same({0, 3}, func.vmap(function(a) return a:sin() * 2 end)(lucerna.zeros(0, 3)).shape)
    refused("cannot map over a dimension of size 0", func.vmap(function(a)
      return a:take(lucerna.tensor{1})
    end), lucerna.zeros(0, 3))
  end)
end)

describe("levels are left", function()
  local function clean()
    local numbers = require("lucerna.core")._vmap_levels()
    assert.same({}, numbers)
  end

  it("after errors", function()
    pcall(func.vmap(function() error("no") end), x(2))
    clean()
    local ok, err = pcall(func.vmap(func.vmap(function() error({}) end)), x(2, 2))
    assert.is_false(ok)
    assert.equal("table", type(err))
    clean()
    pcall(func.grad(function() error("no") end), x(2))
    assert.is_true(lucerna.is_grad_enabled())
  end)

  it("while a coroutine waits, and entered as it goes on", function()
    local co = coroutine.wrap(function(t)
      return func.vmap(function(a)
        local b = coroutine.yield(a:dim())
        return a * b
      end)(t)
    end)
    assert.equal(1, co(x(2, 3)))
    clean()
    parity.close(x(2, 3) + 1, x(2, 3) + 1)
    parity.close(co(2), x(2, 3) * 2)
    clean()
  end)

  it("by a coroutine that never goes on", function()
    local co = coroutine.create(function(t) func.vmap(coroutine.yield)(t) end)
    coroutine.resume(co, x(2))
    co = nil -- luacheck: ignore
    collectgarbage()
    clean()
  end)

  it("and no tensor stays", function()
    local function once()
      func.vmap(func.grad(f))(x(4, 3))
      func.hessian(f)(x(3))
      local _, pull = func.vjp(g, x(2, 3), x(3))
      func.vmap(pull)(x(5, 2))
      pcall(func.vmap(function(a) return a:item() end), x(2))
    end
    once()
    collectgarbage()
    collectgarbage()
    local before = lucerna.memory().tensors or lucerna.memory().used
    for _ = 1, 20 do once() end
    collectgarbage()
    collectgarbage()
    assert.equal(before, lucerna.memory().tensors or lucerna.memory().used)
  end)
end)

describe("gradients", function()
  it("are outside the graph, but part of what is around them", function()
    assert.is_false(func.grad(f)(x(3)).requires_grad)
    local t = x(3):requires_grad_()
    local d = func.grad(f)(t)
    assert.is_true(d.requires_grad)
    parity.close(lucerna.autograd.grad(d:sum(), t), func.hessian(f)(x(3)):sum(1))
    local w = x(3):requires_grad_()
    local e = func.grad(function(a) return (a * a * w):sum() end)(x(3))
    parity.close(lucerna.autograd.grad(e:sum(), w), x(3) * 2)
  end)

  it("of what is not used are zero", function()
    parity.close(func.grad(function(_, b) return f(b) end)(x(3), x(2)), x(3) * 0)
    local _, pull = func.vjp(function(a, b) return a * 2, b:detach() end, x(2), x(2))
    local da, db = pull({x(2), x(2)})
    parity.close(da, x(2) * 2)
    parity.close(db, x(2) * 0)
    parity.close(func.jacfwd(function(a) return lucerna.ones_like(a) end)(x(2)), x(2, 2) * 0)
  end)

  it("through modules with parameters as arguments", function()
    local net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    local params = {}
    for name, p in net:named_parameters() do params[name] = p:detach() end
    local input, target = lucerna.randn(5, 3), lucerna.tensor {1, 2, 2, 1, 2}
    local function loss(p, a, y)
      return nn.functional.cross_entropy(func.functional_call(net, p, a), y)
    end
    local each = func.vmap(func.grad(loss), {lucerna.none, 1, 1})(params, input, target)
    for i = 1, 5 do
      net:zero_grad()
      nn.functional.cross_entropy(net(input[i]), target[i]):backward()
      for name, p in net:named_parameters() do
        parity.close(each[name][i], p.grad, {rtol = 1e-4, atol = 1e-6}, name)
      end
    end
  end)

  it("are refused where there is none", function()
    refused("Expected f to return scalar tensor, got tensor with 1 dims", func.grad(function(a)
      return a
    end), x(3))
    refused("Expected f to return only Tensors, got type number", func.grad(function()
      return 1
    end), x(3))
    refused("Got argnum=3, but only 1 positional inputs", func.grad(f, 3), x(3))
    refused("Got argnum=0, but only 1 positional inputs (arguments count from 1)", func.grad(f, 0),
      x(3))
    refused("argnums must be an integer", func.grad(f, "a"), x(3))
    refused("hold only Tensors (got number)", func.grad(f), 3)
    refused("should be a tuple: (output, aux) if has_aux is True",
      func.grad(f, {has_aux = true}), x(3))
    refused("unknown argument 'argnum' (did you mean 'argnums'?)", func.grad, f, {argnum = 1})
    local _, pull = func.vjp(function(a) return a * 2 end, x(3))
    refused("Expected cotangents to have the shape [3] (got [2])", pull, x(2))
    refused("Expected tangents to have the same structure", func.jvp, g, {x(2, 3), x(3)}, {x(2, 3)})
    refused("is independent of the inputs. This is not allowed with strict=true", func.jvp,
      function() return x(2) end, {x(3)}, {x(3)}, {strict = true})
  end)
end)

describe("stack_module_state refuses", function()
  it("none, and models of several kinds", function()
    local stack = func.stack_module_state
    refused("Expected at least one model, got 0", stack, {})
    refused("to be of the same class", stack, {nn.Linear(2, 2), nn.Tanh()})
    refused("the same training/eval mode", stack, {nn.Linear(2, 2), nn.Linear(2, 2):eval()})
    local frozen = nn.Linear(2, 2)
    frozen:requires_grad_(false)
    refused("the same .requires_grad state", stack, {nn.Linear(2, 2), frozen})
  end)

  it("but stacks leaves of its own", function()
    local a, b = nn.Linear(2, 3), nn.Linear(2, 3)
    local params, buffers = func.stack_module_state {a, b}
    assert.same({2, 3, 2}, params.weight.shape)
    assert.is_true(params.weight.requires_grad and params.weight.is_leaf)
    assert.is_nil(next(buffers))
  end)
end)

describe("autograd.functional", function()
  it("keeps a graph when asked to", function()
    local t = x(3):requires_grad_()
    local _, d = functional.vjp(f, t)
    assert.is_false(d.requires_grad)
    _, d = functional.vjp(f, t, nil, {create_graph = true})
    assert.is_true(d.requires_grad)
    assert.is_true(functional.hessian(f, t, {create_graph = true}).requires_grad)
  end)

  it("keeps it for inputs that require no gradients, too", function()
    local options = {create_graph = true}
    local function sums(a) return a:exp():sum(2) end
    local t, v = lucerna.ones(2, 2), lucerna.ones(2)
    local jacobian = functional.jacobian(sums, t, options)
    assert.is_true(jacobian.requires_grad and jacobian.grad_fn ~= nil)
    local output, product = functional.vjp(sums, t, v, options)
    assert.is_true(output.requires_grad and product.requires_grad)
    output = functional.hvp(f, t, t, options)
    assert.is_true(output.requires_grad)
    assert.is_false(functional.jacobian(sums, t).requires_grad)
  end)

  it("takes flags that are booleans", function()
    local t, flags = lucerna.ones(2), {create_graph = 3}
    for name, args in pairs {jacobian = {f, t, flags}, hessian = {f, t, flags},
                             vjp = {f, t, t, flags}, jvp = {f, t, t, flags},
                             vhp = {f, t, t, flags}, hvp = {f, t, t, flags}} do
      refused(name .. ": create_graph must be a boolean (got number)", functional[name],
        table.unpack(args))
    end
  end)

  it("is strict when asked to be", function()
    local function first(a) return a * 2 end
    refused("Output 1 of the user-provided function is independent of input 2",
      functional.jacobian, first, {x(2), x(2)}, {strict = true})
    refused("does not require gradients", functional.vjp, function() return x(1)[1] end, x(2), nil,
      {strict = true})
    refused("independent of input 2", functional.vjp, first, {x(1), x(1)}, nil, {strict = true})
  end)

  it("refuses tables with names", function()
    refused("jacobian: The inputs to the user-provided function must be given as a Tensor or a "
      .. "table of Tensors (got a table with 'inputs')", functional.jacobian, f, {inputs = x(3)})
    refused("vjp: The outputs of the user-provided function must be given as a Tensor or a table "
      .. "of Tensors (got a table with 'y')", functional.vjp, function(a) return {y = a} end, x(3))
  end)

  it("refuses vectors that do not fit", function()
    refused("The vector v can only be None if", functional.vjp, g, {x(2, 3), x(3)})
    refused("v has invalid size: should be [2] but got [3]", functional.vjp, g, {x(2, 3), x(3)},
      x(3))
    refused("v is a table of invalid length: should be 2 but got 1", functional.jvp, g,
      {x(2, 3), x(3)}, x(2, 3))
    refused("should return a single Tensor with a single element", functional.hessian, function(a)
      return a
    end, x(3))
    refused("Expected strategy to be either", functional.jacobian, f, x(3), {strategy = "up"})
  end)
end)
