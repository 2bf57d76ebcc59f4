-- nn.utils: what is Lua's own, or needs more than one line beside PyTorch (utils_spec.lua).

local lucerna = require "lucerna"
local nn = lucerna.nn
local parity = require "parity"
local message = parity.message
local utils = nn.utils

local x, keys = parity.quarters, parity.keys

describe("nn.utils.clip_grad", function()
  it("takes the norm of tensors and clips with a norm given", function()
    local p = nn.Parameter(x(2))
    p.grad = lucerna.tensor { 3.0, 4.0 }
    assert.equal(5, utils.get_total_norm(p.grad):item())
    assert.equal(4, utils.get_total_norm({ p.grad }, { norm_type = math.huge }):item())
    assert.equal(7, utils.get_total_norm({ p.grad }, 1, { foreach = true }):item())
    utils.clip_grads_with_norm_(p, 1, 10)
    assert.near(0.3, p.grad[1]:item(), 1e-6)
    utils.clip_grads_with_norm_({ p }, { max_norm = 1, total_norm = lucerna.tensor(0.1) })
    assert.near(0.3, p.grad[1]:item(), 1e-6)
    assert.equal(0, utils.get_total_norm({}):item())
    assert.equal(0, utils.clip_grad_norm_(nn.ReLU():parameters(), 1):item()) -- with a warning
  end)

  it("refuses what is no number or tensor", function()
    assert.matches("clip_grad_value_: clip_value must be a number %(got nil%)",
      message(utils.clip_grad_value_, {}))
    assert.matches("get_total_norm: norm_type must be a number %(got boolean%)",
      message(utils.get_total_norm, {}, lucerna.tensor(true)))
    assert.matches("get_total_norm: tensors must hold tensors %(entry 1 is a number%)",
      message(utils.get_total_norm, { 3 }))
    assert.matches("total_norm must be a Tensor", message(utils.clip_grads_with_norm_, {}, 1))
    assert.matches("vector_to_parameters: vec must be a Tensor %(got number%)",
      message(utils.vector_to_parameters, 1, {}))
    assert.matches("functional_call: takes at most 4 arguments %(got 5%)",
      message(utils.stateless.functional_call, lucerna.nn.Linear(1, 1), {}, {}, {}, 5))
    assert.matches("norm_type must be a number", message(utils.clip_grad_norm_, {}, 1, "fro"))
    assert.matches("did you mean 'max_norm'", message(utils.clip_grad_norm_, {}, { max_nor = 1 }))
  end)
end)

describe("nn.utils.rnn", function()
  local rnn = nn.utils.rnn

  it("pads on the left", function()
    local y = rnn.pad_sequence({ x(1), x(3) }, true, 0, "left")
    assert.same({ { 0, 0, -1 }, { -1, -0.75, -0.5 } }, y:tolist())
    assert.matches("Expected padding_side to be one of left or right, but got up",
      message(rnn.pad_sequence, { x(1) }, { padding_side = "up" }))
  end)

  it("pads rows, empty sequences and other dtypes to the first's", function()
    local a, b = x(1, 2), lucerna.tensor { { 5, 6 }, { 7, 8 } }
    local none = lucerna.zeros(0, 2)
    local y = rnn.pad_sequence({ a, b, none }, { padding_value = 9 })
    assert.same({ { { -1, -0.75 }, { 5, 6 }, { 9, 9 } }, { { 9, 9 }, { 7, 8 }, { 9, 9 } } },
      y:tolist())
    assert.is_true(y:is_contiguous())
    assert.equal(lucerna.float32, y.dtype)
    assert.same({ 2, 0, 2 }, rnn.pad_sequence({ none, none }, true).shape)
    local w = nn.Parameter(x(2, 2))
    for _, side in ipairs { "left", "right" } do
      local padded = rnn.pad_sequence({ b, w[{ { 1, 1 } }] }, false, 0, side)
      assert.is_true(padded:is_contiguous())
      local row = side == "left" and 2 or 1
      assert.same({ -1, 0 }, padded[{ row, 2 }]:tolist())
      assert.equal(lucerna.int64, padded.dtype)
    end
    rnn.pad_sequence({ w, w[{ { 2, 2 } }] }, true, 3):sum():backward()
    assert.same({ { 1, 1 }, { 2, 2 } }, w.grad:tolist())
  end)

  it("takes the rows of a tensor and iterators as sequences", function()
    assert.same({ { 2, 3 } }, { rnn.pad_sequence(x(3, 2)):size() })
    local k = 0
    local padded = rnn.pad_sequence(function()
      k = k + 1
      return k < 3 and x(k) or nil
    end)
    assert.same({ 2, 2 }, padded:size())
  end)

  it("packs what unpacks to the same, with gradients", function()
    local a, b = x(2, 3):double():requires_grad_(), (x(4, 3) + 1):double():requires_grad_()
    parity.gradcheck(function(p, q)
      local list = rnn.unpack_sequence(rnn.pack_sequence({ p, q }, false))
      return list[1]:sum() + (list[2] * list[2]):sum()
    end, { a, b })
    local list = rnn.unpack_sequence(rnn.pack_sequence({ a, b }, false))
    assert.same(a:tolist(), list[1]:tolist())
    assert.same(b:tolist(), list[2]:tolist())
  end)

  it("inverts a permutation, and none is none", function()
    local inverse = rnn.invert_permutation { permutation = lucerna.tensor({ 3, 1, 2 }) }
    assert.same({ 2, 3, 1 }, inverse:tolist())
    assert.is_nil(rnn.invert_permutation(lucerna.none))
  end)

  it("converts the data alone", function()
    local p = rnn.pack_sequence({ x(2), x(3) }, false)
    assert.equal(p, p:to(lucerna.float32))
    local q = p:double()
    assert.equal(lucerna.float64, q.data.dtype)
    assert.equal(lucerna.int64, q.batch_sizes.dtype)
    assert.equal(p.sorted_indices, q.sorted_indices)
    assert.is_false(p.is_cuda)
  end)

  it("refuses what is no sequence", function()
    assert.matches("sequence must be a PackedSequence %(got Tensor%)",
      message(rnn.pad_packed_sequence, x(2)))
    assert.matches("the longest of lengths is 5, but input has 2 steps",
      message(rnn.pack_padded_sequence, x(2, 1), { 5 }))
    assert.matches("'lengths' argument should be a 1D CPU int64 tensor, but got 2D cpu int64",
      message(rnn.pack_padded_sequence, x(2, 1), lucerna.ones(1, 1):long()))
    assert.matches("same sizes after the first dimension %(got %[2, 3%] and %[2, 2%]%)",
      message(rnn.pad_sequence, { x(2, 3), x(2, 2) }))
    local packed = rnn.pack_sequence { x(2) }
    assert.is_false(packed:is_pinned())
    for _, method in ipairs { "is_pinned", "pin_memory" } do
      parity.refused(("PackedSequence.%s: must be called with a colon, sequence:%s(...)"):format(
        method, method), packed[method])
    end
    parity.refused("PackedSequence.to: must be called with a colon", packed.double)
    assert.matches("pin_memory: Cannot access accelerator device when none is available",
      message(packed.pin_memory, packed))
  end)
end)

describe("a layer written in C", function()
  local core = require("lucerna.core").nn

  it("asks its object for tensors that are slots no more", function()
    local m = nn.Linear(2, 2)
    local weight = m.weight
    nn.delattr(m, "weight")
    assert.matches("in Linear: Linear: 'weight' is missing", message(m, x(1, 2)))
    m.weight = weight * 2
    assert.same((x(1, 2):matmul((weight * 2):t()) + m.bias):tolist(), m(x(1, 2)):tolist())
    assert.same({ 1, 2 }, nn.Sequential(m, nn.ReLU())(x(1, 2)):size())
    m.weight = weight
    assert.same({ "bias", "weight" }, (function()
      local names = {}
      for name in m:named_parameters() do names[#names + 1] = name end
      return names
    end)())
    local norm = nn.LayerNorm(2, { bias = false })
    nn.delattr(norm, "weight")
    norm.weight = x(2) * 0
    assert.same({ { 0, 0 } }, norm(lucerna.tensor { { 1.0, 2.0 } }):tolist())
  end)

  it("can become an instance of another class on the same ground", function()
    local m, Other = nn.Linear(2, 2), nn.class("Other", nn.Linear)
    local before = m(x(1, 2)):tolist()
    core._set_class(m, Other)
    assert.is_true(nn.isinstance(m, Other))
    assert.same(before, m(x(1, 2)):tolist())
    assert.matches("^Other%(", tostring(m))
    core._set_class(m, nn.Linear)
    assert.is_false(nn.isinstance(m, Other))
    assert.matches("Linear: cannot become a ReLU: they are built on different classes",
      message(core._set_class, m, nn.ReLU))
  end)
end)

describe("nn.utils.prune", function()
  local prune = nn.utils.prune

  it("asks its methods' arguments", function()
    for name, method in pairs {
      RandomUnstructured = prune.RandomUnstructured(1), L1Unstructured = prune.L1Unstructured(1),
      RandomStructured = prune.RandomStructured(1), LnStructured = prune.LnStructured(1, 2),
    } do
      parity.refused(name .. ": t must be a Tensor (got string)", method.compute_mask, method, "x",
        lucerna.ones(2))
      parity.refused(name .. ": default_mask must be a Tensor (got number)", method.compute_mask,
        method, lucerna.ones(2, 2), 3)
    end
    parity.refused("LnStructured: missing argument 'n'", prune.LnStructured, 0.5)
  end)

  it("takes classes of one's own", function()
    local EveryOther = prune.class "EveryOther"
    EveryOther.PRUNING_TYPE = "unstructured"
    function EveryOther:__init(step) self.step = step or 2 end
    function EveryOther:compute_mask(_, default_mask)
      local mask = default_mask:clone()
      mask:view(-1)[{ { 1, -1, self.step } }] = 0
      return mask
    end
    local m = nn.Linear(2, 2)
    local method = EveryOther.apply(m, "weight", 2)
    assert.equal(2, method.step)
    assert.same({ { 0, 1 }, { 0, 1 } }, m.weight_mask:tolist())
    prune.l1_unstructured(m, "weight", 1)
    assert.equal(1, m.weight_mask:sum():item())
    assert.same({ { 0, 1 }, { 0, 1 } }, EveryOther():prune(lucerna.ones(2, 2)):tolist())
    assert.matches("importance_scores should have the same shape as tensor t",
      message(method.prune, method, x(2, 2), { importance_scores = x(2) }))
    for _, name in ipairs { "importance_scores", "default_mask" } do
      parity.refused("prune: " .. name .. " must be a Tensor (got number)",
        method.prune, method, x(2, 2), { [name] = 3 })
    end
  end)

  it("keeps methods in a container", function()
    local m = nn.Linear(3, 4)
    prune.identity(m, "weight")
    local container = prune.RandomStructured.apply(m, "weight", { amount = 1, dim = 1 })
    assert.equal(2, #container)
    container:add_pruning_method(container[1])
    assert.equal(3, #container)
    assert.matches("acting on the parameter named 'weight' to PruningContainer. Found 'nil'",
      message(container.add_pruning_method, container, prune.Identity()))
    assert.matches("is not a BasePruningMethod subclass",
      message(container.add_pruning_method, container, 3))
  end)

  it("leaves the module as it was when a mask cannot be computed", function()
    local m = nn.Linear(3, 4)
    local before = keys(m)
    assert.has_error(function() prune.l1_unstructured(m, "weight", 99) end)
    assert.same(before, keys(m))
    assert.is_true(m.weight.requires_grad)
    assert.is_false(prune.is_pruned(m))
    prune.l1_unstructured(m, "weight", 2)
    assert.has_error(function() prune.l1_unstructured(m, "weight", 99) end)
    prune.remove(m, "weight")
    assert.equal(2, m.weight:eq(0):sum():item())
  end)

  it("prunes tensors as one with all arguments by name", function()
    local a, b = nn.Linear(2, 2), nn.Linear(2, 1)
    a.weight.data = lucerna.tensor {{1.0, 2.0}, {3.0, 4.0}}
    b.weight.data = lucerna.tensor {{0.5, 9.0}}
    local scores = {[b] = {weight = lucerna.tensor {{8.0, 0.1}}}}
    prune.global_unstructured({ { a, "weight" }, { b, "weight" } },
      { pruning_method = prune.L1Unstructured, importance_scores = scores, amount = 2 })
    assert.are.same({{0, 2}, {3, 4}}, a.weight:tolist())
    assert.are.same({{0.5, 0}}, b.weight:tolist())
  end)

  it("refuses what it cannot prune", function()
    local m = nn.BatchNorm1d(2)
    assert.matches("cannot assign 'Tensor' object to parameter 'running_mean_orig'",
      message(prune.identity, m, "running_mean"))
    assert.matches("'BatchNorm1d' object has no attribute 'wait'",
      message(prune.identity, m, "wait"))
    assert.matches("module must be an nn.Module", message(prune.identity, 3, "weight"))
    local a = nn.Linear(2, 2)
    prune.global_unstructured({ { a, "weight" } }, prune.L1Unstructured, { amount = 1 })
    assert.is_false(a.weight_mask.requires_grad)
    assert.matches("parameters is not an Iterable",
      message(prune.global_unstructured, m, prune.L1Unstructured, { amount = 1 }))
    assert.matches("importance_scores must be of type dict",
      message(prune.global_unstructured, {}, prune.L1Unstructured, 3))
    assert.matches("importance_scores should have the same shape as parameter weight",
      message(prune.l1_unstructured, m, "weight", 1, x(3)))
    parity.refused("global_unstructured: parameters: entry 1 must be {module, name} (got number)",
      prune.global_unstructured, { 3 }, prune.L1Unstructured)
    parity.refused("l1_unstructured: importance_scores must be a Tensor (got number)",
      prune.l1_unstructured, m, "weight", 1, 3)
  end)
end)

describe("nn.utils.parametrize", function()
  local parametrize = utils.parametrize
  local register = parametrize.register_parametrization

  local Counting = nn.class "Counting"
  function Counting:__init() self.calls = 0 end
  function Counting:forward(w)
    self.calls = self.calls + 1
    return w * 2
  end
  function Counting:right_inverse(w) return w / 2 end

  it("is named by its own errors", function()
    parity.refused("register_parametrization: Module 'Linear(in_features=2, out_features=2, "
      .. "bias=True)' does not have a parameter, a buffer, or a parametrized element with name "
      .. "'foo'", register, nn.Linear(2, 2), "foo", nn.ReLU())
  end)

  it("makes one class for the same tensors of the same class", function()
    local a = register(nn.Linear(2, 2), "weight", Counting())
    local b = register(nn.Linear(3, 2), "weight", Counting())
    local core = require("lucerna.core").nn
    assert.equal("ParametrizedLinear", a:_get_name())
    assert.equal(core.class_of(a), core.class_of(b))
    assert.equal(nn.Linear, parametrize.type_before_parametrizations(a))
    assert.is_true(nn.isinstance(a, nn.Linear))
    register(a, "bias", Counting())
    assert.not_equal(core.class_of(a), core.class_of(b))
    assert.is_true(parametrize.is_parametrized(a, "bias"))
    assert.is_false(parametrize.is_parametrized(b, "bias"))
    parametrize.remove_parametrizations(a, "weight")
    assert.equal("ParametrizedLinear", a:_get_name())
    parametrize.remove_parametrizations(a, "bias")
    assert.equal(nn.Linear, core.class_of(a))
    assert.is_nil(a.parametrizations)
    assert.is_false(parametrize.is_parametrized(a))
    assert.is_false(parametrize.is_parametrized(nn.ReLU()))
  end)

  it("keeps the parameter, so that optimizers go on", function()
    local m = nn.Linear(2, 2)
    local weight = m.weight
    local before = weight:tolist()
    register(m, "weight", Counting())
    assert.equal(weight, m.parametrizations.weight.original)
    assert.same(before, m.weight:tolist())
    assert.is_false(m.weight.is_leaf)
    parametrize.remove_parametrizations(m, "weight")
    assert.equal(weight, m.weight)
    assert.same(before, weight:tolist())
  end)

  it("computes a tensor once while cached", function()
    local counting = Counting()
    local m = register(nn.Linear(2, 2), "weight", counting)
    counting.calls = 0
    parametrize.cached(function(input)
      m(input)
      m(input)
      parametrize.cached(function() m(input) end)
      assert.equal(m.weight, m.weight)
    end, x(1, 2))
    assert.equal(1, counting.calls)
    do
      local _ <close> = parametrize.cached()
      local _, _ = m.weight, m.weight
    end
    assert.equal(2, counting.calls)
    local _, _ = m.weight, m.weight
    assert.equal(4, counting.calls)
    assert.has_error(function() parametrize.cached(error, "x") end)
    local _, _ = m.weight, m.weight
    assert.equal(6, counting.calls)
  end)

  it("keeps caches apart from what runs while a function has yielded", function()
    local counting = Counting()
    local m = register(nn.Linear(2, 2), "weight", counting)
    local run = coroutine.wrap(function()
      parametrize.cached(function()
        local first = m.weight
        coroutine.yield()
        assert.equal(first, m.weight)
      end)
    end)
    counting.calls = 0
    run()
    local _, _ = m.weight, m.weight
    assert.equal(3, counting.calls)
    run()
    assert.equal(3, counting.calls)
    local a, b = parametrize.cached(), parametrize.cached()
    getmetatable(a).__close(a)
    getmetatable(b).__close(b)
    local _, _ = m.weight, m.weight
    assert.equal(5, counting.calls)
  end)

  it("works where forward is Lua's, and in containers", function()
    local Net = nn.class "Net"
    function Net:__init() self.scale = nn.Parameter(x(2)) end
    function Net:forward(input) return input * self.scale end
    local m = register(Net(), "scale", Counting())
    local net = nn.Sequential(m, register(nn.Linear(2, 1), "weight", Counting()))
    net(x(3, 2)):sum():backward()
    assert.is_not_nil(m.parametrizations.scale.original.grad)
    assert.equal("ParametrizedNet", m:_get_name())
    assert.same({ "0.parametrizations.scale.original", "1.bias",
      "1.parametrizations.weight.original" }, keys(net))
    local other = net:clone()
    assert.same(net(x(3, 2)):tolist(), other(x(3, 2)):tolist())
    other[1].scale = x(2) * 5
    assert.same((x(2) * 5):tolist(), other[1].scale:tolist())
    assert.same(x(2):tolist(), m.scale:tolist())
    net:load_state_dict(other:state_dict())
    assert.same((x(2) * 5):tolist(), m.scale:tolist())
  end)

  it("yields while a tensor is computed", function()
    local Yielding = nn.class "Yielding"
    function Yielding:forward(w) return w * coroutine.yield() end
    local Net = nn.class "Net"
    function Net:__init() self.scale = nn.Parameter(x(2)) end
    function Net:forward(input) return input * self.scale end
    local m = register(Net(), "scale", Yielding(), { unsafe = true })
    local run = coroutine.wrap(function() return m(lucerna.ones(2)) end)
    run()
    assert.same({ -3, -2.25 }, run(3):tolist())
  end)

  it("reads the tensor anew after the training mode changed", function()
    local m = register(nn.Linear(2, 2), "weight", Counting())
    m:eval()
    assert.is_false(m.parametrizations.weight[1].training)
    register(m, "weight", nn.Dropout(0.5))
    assert.is_false(m.parametrizations.weight[2].training)
  end)

  it("leaves everything as it was when it refuses", function()
    local Bad = nn.class("Bad", Counting)
    function Bad:forward(w) return w:flatten() end
    function Bad:right_inverse(w) return w * 100 end
    local m = nn.Linear(2, 2)
    local before = m.weight:tolist()
    assert.has_error(function() register(m, "weight", Bad()) end)
    assert.same(before, m.weight:tolist())
    assert.equal("Linear", m:_get_name())
    assert.same({ "weight", "bias" }, keys(m))
    assert.matches("Module 'Linear%(in_features=2, out_features=2, bias=False%)' does not have a "
      .. "parameter, a buffer, or a parametrized element with name 'bias'",
      message(register, nn.Linear(2, 2, false), "bias", Counting()))
    assert.matches("parametrization must be an nn.Module %(got function%)",
      message(register, m, "weight", print))
  end)

  it("refuses what right_inverse should not return", function()
    local function with(inverse)
      local Odd = nn.class "Odd"
      Odd.right_inverse = inverse
      function Odd:forward(w) return w end
      return Odd()
    end
    local m = nn.Linear(2, 2)
    assert.matches("'right_inverse' must return a Tensor or a Sequence of tensors %(list, "
      .. "tuple...%). Got number", message(register, m, "weight", with(function() return 3 end)))
    assert.matches("Got element 2 of the sequence with type string",
      message(register, m, "weight", with(function(_, w) return w, "x" end)))
    assert.matches("When `right_inverse` outputs one tensor, it may not change the dtype",
      message(register, m, "weight", with(function(_, w) return w:double() end)))
    local Pair = nn.class "Pair"
    local several = true
    function Pair:right_inverse(w)
      if several then return { w, w } end
      return w
    end
    function Pair:forward(a, b) return a + b end
    register(m, "weight", Pair())
    assert.same({ "bias", "parametrizations.weight.original0",
      "parametrizations.weight.original1" }, keys(m))
    several = false
    assert.matches("'right_inverse' must return a sequence of tensors. Got Tensor",
      message(function() m.weight = x(2, 2) end))
  end)

  it("refuses a parametrized tensor's name for anything else", function()
    local m = register(nn.Linear(2, 2), "weight", Counting())
    assert.matches("attribute 'weight' already exists",
      message(function() m.weight = nn.Parameter(x(2, 2)) end))
    assert.matches("value must be a Tensor %(got number%)", message(function() m.weight = 3 end))
  end)
end)

describe("nn.utils.parametrizations", function()
  local ready = utils.parametrizations

  for _, map in ipairs { "matrix_exp", "cayley", "householder" } do
    for _, sizes in ipairs { { 4, 4 }, { 5, 3 }, { 3, 5 } } do
      it(("orthogonal by %s is differentiable, %dx%d"):format(map, sizes[1], sizes[2]), function()
        local m = nn.Linear(sizes[2], sizes[1]):double()
        ready.orthogonal(m, "weight", map)
        local map_module = m.parametrizations.weight[1]
        local diagonal = lucerna.eye(sizes[1], sizes[2], { dtype = lucerna.float64 })
        local function compute(w) return map_module(w * (1 - diagonal) - diagonal) end
        local start = 0.3 * lucerna.randn(sizes, { dtype = lucerna.float64 })
        parity.gradcheck(compute, { start:requires_grad_() })
        local q = compute(start)
        local product = sizes[1] >= sizes[2] and q.mT:matmul(q) or q:matmul(q.mT)
        parity.close(product:detach(), lucerna.eye(math.min(sizes[1], sizes[2]),
          { dtype = lucerna.float64 }), { atol = 1e-10 })
      end)
    end
  end

  it("spectral_norm of a vector divides by its norm", function()
    local m = ready.spectral_norm(nn.Linear(2, 3), "bias")
    assert.near(1, m.bias:norm():item(), 1e-6)
    assert.matches("Dimension out of range %(expected to be in range of %[%-2, 2%] but got 3%)",
      message(ready.spectral_norm, nn.Linear(2, 3), { dim = 3 }))
  end)

  it("weight_norm, of two tensors, does not follow other parametrizations", function()
    local m = ready.orthogonal(nn.Linear(3, 3))
    parity.refused("weight_norm: weight is parametrized already, and norm and direction come first",
      ready.weight_norm, m)
    assert.equal(1, #m.parametrizations.weight)
  end)

  it("a copy has the weight that no forward has computed yet", function()
    local attention, q = nn.MultiheadAttention(4, 2), x(2, 1, 4)
    utils.spectral_norm(attention.out_proj) -- which is never called itself
    local copy = attention:clone()
    assert.is_true(lucerna.equal(attention.out_proj.weight_orig, copy.out_proj.weight))
    assert.is_true(lucerna.equal((attention(q, q, q)), (copy(q, q, q))))
    local net = utils.spectral_norm(nn.Linear(3, 3))
    assert.is_true(lucerna.equal(net.weight, net:clone().weight))
    net(x(1, 3))
    copy = net:clone()
    copy.weight:sum():backward()
    assert.is_not_nil(copy.weight_orig.grad)
  end)

  it("the older functions refuse what is no parameter, and change nothing", function()
    local m = ready.weight_norm(nn.Linear(3, 3))
    local text, entries = tostring(m), #m:state_dict()
    for _, name in ipairs {"weight_norm", "spectral_norm"} do
      parity.refused(name .. ": 'weight' is not a parameter of ParametrizedLinear", utils[name], m)
      parity.refused(name .. ": 'running_mean' is not a parameter of BatchNorm1d", utils[name],
        nn.BatchNorm1d(2), "running_mean")
    end
    assert.same({text, entries}, {tostring(m), #m:state_dict()})
    assert.equal(0, #m._forward_pre_hooks)
  end)

  it("weight_norm loads what nn.utils.weight_norm saved", function()
    local old, new = utils.weight_norm(nn.Linear(3, 2)), ready.weight_norm(nn.Linear(3, 2))
    new = nn.Sequential(new)
    new:load_state_dict(nn.Sequential(old):state_dict())
    assert.same(old(x(1, 3)):tolist(), new(x(1, 3)):tolist())
  end)

  it("orthogonal on top of others needs no base", function()
    local m = ready.weight_norm(nn.Linear(3, 3))
    ready.orthogonal(m, { use_trivialization = false })
    parity.close(m.weight.mT:matmul(m.weight):detach(), lucerna.eye(3), { atol = 1e-5 })
    local other = ready.orthogonal(ready.weight_norm(nn.Linear(3, 3)))
    assert.matches("needs use_trivialization=false", message(function() return other.weight end))
  end)
end)

describe("functional_call", function()
  local call = lucerna.func.functional_call

  it("is also in nn.utils.stateless", function()
    assert.equal(call, utils.stateless.functional_call)
  end)

  it("uses the tensors given for the call alone", function()
    local m = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    local first = m[1].weight
    local before = m(x(1, 2)):tolist()
    local given = {}
    for name, p in m:named_parameters() do given[name] = lucerna.ones_like(p):detach() end
    assert.same({ { 4 } }, call(m, given, lucerna.tensor { { 1.0, -0.5 } }):tolist())
    assert.equal(first, m[1].weight)
    assert.same(before, m(x(1, 2)):tolist())
    assert.same({ { 4 } }, call(m, m:state_dict() and given, { lucerna.tensor { { 1.0, -0.5 } } },
      { strict = true }):tolist())
  end)

  it("lets gradients reach what the tensors were made of", function()
    local m = nn.Linear(2, 1)
    local scale = lucerna.tensor(2.0):requires_grad_()
    local y = call(m, { weight = lucerna.ones(1, 2) * scale }, lucerna.tensor { { 3.0, 4.0 } })
    y:sum():backward()
    assert.equal(7, scale.grad:item())
    assert.is_nil(m.weight.grad)
    assert.is_not_nil(m.bias.grad)
  end)

  it("updates the buffers given, not the module's", function()
    local m = nn.BatchNorm1d(2)
    local given = { running_mean = lucerna.zeros(2), running_var = lucerna.ones(2),
      num_batches_tracked = lucerna.tensor(7) }
    call(m, { given, { weight = lucerna.ones(2) } }, lucerna.tensor { { 1.0, 2.0 }, { 3.0, 4.0 } })
    assert.equal(8, given.num_batches_tracked:item())
    assert.equal(0, m.num_batches_tracked:item())
    assert.same({ 0, 0 }, m.running_mean:tolist())
    local Counter = nn.class "Counter"
    function Counter:__init() self:register_buffer("count", lucerna.tensor(0)) end
    function Counter:forward(value)
      self.count = self.count + 1
      return value
    end
    local counter, map = Counter(), { count = lucerna.tensor(3) }
    call(counter, map, 1)
    assert.same({ 0, 4 }, { counter.count:item(), map.count:item() })
  end)

  it("puts everything back after an error and while the call yields", function()
    local Net = nn.class "Net"
    function Net:__init() self.scale = nn.Parameter(lucerna.tensor(1.0)) end
    function Net:forward(step)
      if step == "fail" then error("no") end
      local seen = self.scale:item()
      local value = coroutine.yield(seen)
      return self.scale:item(), value
    end
    local m = Net()
    local own = m.scale
    assert.has_error(function() call(m, { scale = lucerna.tensor(5.0) }, "fail") end)
    assert.equal(own, m.scale)
    local run = coroutine.wrap(function() return call(m, { scale = lucerna.tensor(5.0) }, 1) end)
    assert.equal(5, run())
    assert.equal(own, m.scale)
    assert.same({ 5, "on" }, { run("on") })
    assert.equal(own, m.scale)
    assert.has_error(function() call(m, { scale = own:detach(), ["a.b"] = own:detach() }) end)
    assert.equal(own, m.scale)
  end)

  it("keeps tied tensors tied unless told otherwise", function()
    local m = nn.Sequential(nn.Linear(2, 2, false), nn.Linear(2, 2, false))
    m[2].weight = m[1].weight
    local input, eye = lucerna.tensor { { 1.0, 2.0 } }, lucerna.eye(2) * 2
    assert.same({ { 4, 8 } }, call(m, { ["0.weight"] = eye }, input):tolist())
    local half = call(m, { ["0.weight"] = eye }, input, { tie_weights = false })
    assert.same((input * 2):matmul(m[1].weight:t()):tolist(), half:tolist())
    assert.matches("functional_call got multiple values for keys %['0.weight', '1.weight'%], which "
      .. "are tied. Consider using tie_weights=false",
      message(call, m, { ["0.weight"] = eye, ["1.weight"] = eye * 2 }, input))
    assert.same({ { 4, 8 } },
      call(m, { ["0.weight"] = eye, ["1.weight"] = eye }, input):tolist())
  end)

  it("takes several arguments and a table of keyword arguments", function()
    local Net = nn.class "Net"
    function Net:forward(a, b, options) return a, b, options and options.k end
    assert.same({ 1, 2 }, { call(Net(), {}, { 1, 2 }) })
    assert.same({ 1, 2, 3 }, { call(Net(), {}, { 1, 2 }, { k = 3 }) })
    assert.same({ n = 3, [3] = 4 }, table.pack(call(Net(), {}, { n = 2 }, { k = 4 },
      { strict = true })))
    assert.same({ 1 }, { call(Net(), {}, { args = 1 }) })
  end)

  it("works on parametrized modules by the originals' names", function()
    local Twice = nn.class "Twice"
    function Twice:forward(w) return w * 2 end
    local m = utils.parametrize.register_parametrization(nn.Linear(1, 1, false), "weight", Twice())
    local y = call(m, { ["parametrizations.weight.original"] = lucerna.tensor { { 3.0 } } },
      lucerna.ones(1, 1))
    assert.equal(6, y:item())
  end)

  it("refuses wrong names and values", function()
    local m = nn.Linear(2, 1)
    local w = m.weight:detach()
    assert.matches("Error%(s%) in reparametrizing for Linear: Unexpected key%(s%): 'w'. Missing "
      .. "key%(s%): 'bias'", message(call, m, { weight = w, w = w }, w, { strict = true }))
    assert.matches("%['weight'%] appeared in multiple dictionaries; behavior of functional call is "
      .. "ambiguous", message(call, m, { { weight = w }, { weight = w } }, w))
    assert.matches("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
      .. "but got number", message(call, m, 3, w))
    assert.matches("Expected all elements of parameter_and_buffer_dicts to be dictionaries",
      message(call, m, { 3 }, w))
    assert.matches("weight must be a Tensor %(got number%)", message(call, m, { weight = 3 }, w))
    assert.matches("module must be an nn.Module", message(call, 3, {}, w))
    assert.matches("Linear has no attribute `a`", message(call, m, { ["a.weight"] = w }, w))
  end)
end)

describe("skip_init", function()
  it("draws no random numbers and leaves the shapes", function()
    lucerna.manual_seed(3)
    local m = utils.skip_init(nn.Linear, 3, 4, { dtype = lucerna.float64 })
    local after = lucerna.rand(1):item()
    lucerna.manual_seed(3)
    assert.equal(lucerna.rand(1):item(), after)
    assert.same({ { 4, 3 }, lucerna.float64, true },
      { m.weight:size(), m.bias.dtype, m.weight.requires_grad })
    assert.has_error(function() utils.skip_init(nn.Linear, "x") end)
    local filled = nn.BatchNorm1d(2)
    assert.same({ 1, 1 }, filled.weight:tolist())
  end)

  it("refuses what takes no device", function()
    assert.matches("Module must support a 'device' arg to skip initialization",
      message(utils.skip_init, nn.class "Net"))
    assert.matches("Expected a Module; got number", message(utils.skip_init, 3))
    assert.equal(2, utils.skip_init(nn.class("Mine", nn.Linear), 1, 2).weight:size(1))
  end)
end)

describe("fuse_linear_bn_eval", function()
  it("makes a bias that learns as the layer's own does", function()
    local bn = nn.BatchNorm1d(2):eval()
    assert.is_true(utils.fuse_linear_bn_eval(nn.Linear(3, 2):eval(), bn).bias.requires_grad)
    local fused = utils.fuse_linear_bn_eval(nn.Linear(3, 2, false):eval(), bn)
    assert.is_false(fused.bias.requires_grad)
    assert.is_true(fused.weight.requires_grad)
  end)

  it("takes a norm of one channel, or of as many as there are features", function()
    local linear = nn.Linear(3, 2):eval()
    local one = utils.fuse_linear_bn_eval(linear, nn.BatchNorm1d(1, { eps = 3.0 }):eval())
    parity.close(one.weight:detach(), linear.weight:detach() / 2)
    assert.matches("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
      .. "got linear.out_features=2 and bn.num_features=3",
      message(utils.fuse_linear_bn_eval, linear, nn.BatchNorm1d(3):eval()), 1, true)
  end)
end)
