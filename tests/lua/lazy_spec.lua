-- Lazy modules: before, at and after the first call, as tests/parity/gen_layers_lazy.py recorded
-- them; placeholders; the protocol for classes written in Lua; state dicts in every combination.
local lucerna = require "lucerna"
local files = require "files"
local parity = require "parity"
local nn, optim = lucerna.nn, lucerna.optim

local agree, refused = parity.agree, parity.refused

describe("a lazy layer", function()
  for _, case in ipairs(parity.load "layers_lazy") do
    it("is PyTorch's: " .. case.lua, function()
      local layer, inputs = parity.layer(case), {}
      assert.equal(case.before, tostring(layer))
      assert.same(case.keys, parity.keys(layer))
      for k, fixture in ipairs(case.inputs) do
        inputs[k] = parity.tensor(fixture):requires_grad_()
      end
      local output = layer(table.unpack(inputs))
      assert.equal(case.after, tostring(layer))
      agree(case.output, output, "output")
      local state = layer:state_dict()
      for k, entry in ipairs(case.state) do
        assert.equal(entry[1], parity.list(pairs(state))[k])
        agree(entry[2], state[entry[1]], entry[1])
      end
      parity.agree_gradients(case.grads, layer, inputs, output, 1e-4)
    end)
  end

  it("keeps its identity, its parameters and what hangs on it", function()
    local layer = nn.LazyLinear(2)
    local weight, bias, seen = layer.weight, layer.bias, nil
    layer.note = "mine"
    layer:register_forward_hook(function(m, args, output) seen = {m, args[1], output} end)
    local net = nn.Sequential(layer)
    local x = lucerna.ones(3, 4)
    local y = net(x)
    assert.equal(layer, net[1])
    assert.equal(weight, layer.weight)
    assert.equal(bias, layer.bias)
    assert.same({2, 4}, weight:size())
    assert.equal("mine", layer.note)
    assert.same({layer, x, y}, seen)
    assert.is_true(weight.requires_grad and weight.is_leaf)
    net(x):sum():backward()
    assert.same({2, 4}, weight.grad:size())
  end)

  it("changes its class", function()
    local layer = nn.LazyConv2d(2, 3)
    assert.is_true(nn.isinstance(layer, nn.LazyConv2d) and nn.isinstance(layer, nn.Conv2d))
    assert.is_true(nn.isinstance(layer, nn.LazyModuleMixin))
    assert.equal(nn.Conv2d, layer.cls_to_become)
    assert.equal(0, layer.in_channels)
    assert.is_true(layer:has_uninitialized_params())
    layer(lucerna.ones(1, 5, 4, 4))
    assert.is_false(nn.isinstance(layer, nn.LazyConv2d))
    assert.is_false(nn.isinstance(layer, nn.LazyModuleMixin))
    assert.is_true(nn.isinstance(layer, nn.Conv2d))
    assert.equal("Conv2d", layer:_get_name())
    assert.equal(5, layer.in_channels)
    assert.is_nil(layer.cls_to_become)
    assert.is_nil(layer.has_uninitialized_params)
    refused("input has 3 channels, weight expects 5", layer, lucerna.ones(1, 3, 4, 4))
  end)

  it("keeps what was set before: requires_grad, dtype, training, options", function()
    local layer = nn.LazyBatchNorm2d():eval()
    layer.weight:requires_grad_(false)
    layer.eps = 0.5
    layer:half()
    assert.equal(lucerna.float16, layer.weight.dtype)
    assert.equal(lucerna.float16, layer.running_mean.dtype)
    layer(lucerna.ones(1, 3, 2, 2, {dtype = lucerna.float16}))
    assert.equal(lucerna.float16, layer.weight.dtype)
    assert.is_false(layer.weight.requires_grad)
    assert.is_true(layer.bias.requires_grad)
    assert.is_false(layer.training)
    assert.equal(0.5, layer.eps)
    assert.equal(0, layer.num_batches_tracked:item())
  end)

  it("draws what a real layer draws", function()
    lucerna.manual_seed(7)
    local lazy = nn.LazyConv1d(3, 2)
    lazy(lucerna.ones(2, 5))
    lucerna.manual_seed(7)
    assert.is_true(lucerna.equal(nn.Conv1d(2, 3, 2).weight, lazy.weight))
  end)

  it("is as before when the first input does not fit", function()
    local conv = nn.LazyConv2d(4, 3, {groups = 2})
    refused("Expected 3D (unbatched) or 4D (batched) input to LazyConv2d, but got input of size: "
      .. "[3, 3]", conv, lucerna.ones(3, 3))
    refused("in_channels must be divisible by groups", conv, lucerna.ones(1, 3, 5, 5))
    refused("expected 4D input (got 3D input)", nn.LazyBatchNorm2d(), lucerna.ones(1, 3, 5))
    refused("expected 2D or 3D input (got 4D input)", nn.LazyBatchNorm1d(),
      lucerna.ones(1, 3, 5, 1))
    refused("input must have at least 1 dimension", nn.LazyLinear(2), lucerna.tensor(1.0))
    assert.equal("LazyConv2d(0, 4, kernel_size=(3, 3), stride=(1, 1), groups=2)", tostring(conv))
    assert.is_true(conv:has_uninitialized_params())
    assert.same({1, 4, 3, 3}, conv(lucerna.ones(1, 2, 5, 5)):size())
  end)

  it("refuses wrong constructors", function()
    refused("LazyLinear: missing argument 'out_features'", nn.LazyLinear)
    refused("LazyConv2d: out_channels must be divisible by groups", nn.LazyConv2d, 3, 1,
      {groups = 2})
    refused("LazyConv2d: unknown argument 'in_channels'", nn.LazyConv2d, {in_channels = 1})
    refused("Only \"zeros\" padding mode", nn.LazyConvTranspose1d, 3, 1,
      {padding_mode = "reflect"})
  end)

  it("says that nothing can be done with it yet", function()
    local layer = nn.LazyLinear(2)
    refused("Can't access the shape of an uninitialized parameter or buffer. This error usually "
      .. "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
      .. "initialized one.", function() return layer.weight.shape end)
    refused("Attempted to use an uninitialized parameter in numel.", layer.weight.numel,
      layer.weight)
    refused("Attempted to use an uninitialized parameter in mul.", function()
      return layer.weight * 2
    end)
    refused("Attempted to use an uninitialized parameter in fill_", nn.init.ones_, layer.weight)
    refused("Attempted to use an uninitialized parameter in stack", lucerna.stack,
      {lucerna.ones(1), layer.bias})
    refused("Attempted to use an uninitialized parameter in item.", layer.weight.item,
      layer.weight)
    refused("Attempted to use an uninitialized parameter in tolist.", layer.weight.tolist,
      layer.weight)
    refused("Attempted to use an uninitialized parameter in index.", function()
      return layer.weight[1]
    end)
    refused("Adagrad: parameter 2 is uninitialized", optim.Adagrad, {lucerna.ones(1), layer.weight})
  end)

  it("is optimized once it has its shape", function()
    local kinds = {"SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adadelta",
      "ASGD", "Rprop", "SparseAdam", "LBFGS"}
    for _, kind in ipairs(kinds) do
      local layer = nn.LazyLinear(2)
      local o = optim[kind](layer:parameters(), {lr = 0.1})
      local function loss()
        o:zero_grad()
        local y = layer(lucerna.ones(1, 3)):sum()
        y:backward()
        return y
      end
      if kind ~= "LBFGS" then
        o:step() -- there is no gradient
        o:load_state_dict(o:state_dict())
        assert.is_true(nn.parameter.is_lazy(layer.weight), kind)
      end
      local before = o:step(loss)
      assert.is_true(layer(lucerna.ones(1, 3)):sum():item() < before:item(), kind)
    end
  end)

  it("can be cast like any tensor", function()
    local w = nn.LazyLinear(2).weight
    assert.equal(w, w:cpu())
    assert.equal(w, w:float())
    assert.equal(w, w:to("cpu"))
    assert.equal(lucerna.float64, w:double().dtype)
  end)

  it("goes through the motions of every module", function()
    local net = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d())
    net:zero_grad()
    net:train(false):train()
    net:requires_grad_(false):requires_grad_(true)
    local n = 0
    for p in net:parameters() do
      assert.is_true(nn.parameter.is_lazy(p))
      n = n + 1
    end
    assert.equal(4, n)
    net:apply(function(m) m.seen = true end)
    assert.is_true(net[1].seen)
    net(lucerna.randn(4, 3))
    local steps = optim.SGD(net:parameters(), {lr = 0.1})
    net(lucerna.randn(4, 3)):sum():backward()
    steps:step()
  end)

  it("can be copied before its first call", function()
    local layer = nn.LazyLinear(2):double()
    local copy = layer:clone()
    assert.equal(tostring(layer), tostring(copy))
    assert.are_not.equal(layer.weight, copy.weight)
    copy(lucerna.ones(1, 3, {dtype = lucerna.float64}))
    assert.same({2, 3}, copy.weight:size())
    assert.is_true(nn.parameter.is_lazy(layer.weight))
    layer(lucerna.ones(1, 5, {dtype = lucerna.float64}))
    assert.same({2, 5}, layer.weight:size())
  end)

  it("can be subclassed in Lua", function()
    local Noted = nn.class("Noted", nn.LazyLinear)
    function Noted:initialize_parameters(x)
      self.first = x:size()
      nn.LazyLinear.initialize_parameters(self, x)
    end
    local layer = Noted(2)
    assert.same({4, 2}, layer(lucerna.ones(4, 3)):size())
    assert.same({4, 3}, layer.first)
    assert.equal("Linear(in_features=3, out_features=2, bias=True)", tostring(layer))
    local Own = nn.class("Own", nn.Linear)
    local LazyOwn = nn.class("LazyOwn", nn.LazyLinear)
    LazyOwn.cls_to_become = Own
    layer = nn.Sequential(LazyOwn(2))
    layer(lucerna.ones(4, 3))
    assert.equal("Own(in_features=3, out_features=2, bias=True)", tostring(layer[1]))
  end)

  it("can be initialized by hand", function()
    local layer = nn.LazyLinear(2)
    layer:initialize_parameters(lucerna.ones(1, 3))
    assert.same({2, 3}, layer.weight:size())
    assert.equal("LazyLinear(in_features=3, out_features=2, bias=True)", tostring(layer))
    layer(lucerna.ones(1, 3))
    assert.equal("Linear(in_features=3, out_features=2, bias=True)", tostring(layer))
  end)
end)

describe("summary", function()
  it("counts what the run has initialized", function()
    local net = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d())
    assert.equal(0, lucerna.summary(net).total.parameters)
    local summary = lucerna.summary(net, {2, 3})
    assert.equal(24, summary.total.parameters)
    assert.equal("Linear", summary.layers[2].class)
  end)
end)

describe("an uninitialized parameter", function()
  it("has a dtype and no shape until it is materialized", function()
    local p = nn.UninitializedParameter()
    assert.equal("<UninitializedParameter>", tostring(p))
    assert.is_true(nn.parameter.is_lazy(p))
    assert.equal(lucerna.float32, p.dtype)
    assert.is_true(p.requires_grad and p:is_floating_point())
    p:materialize({2, 3})
    assert.is_false(nn.parameter.is_lazy(p))
    assert.same({2, 3}, p.shape)
    lucerna.no_grad(function() p:fill_(1.0) end)
    assert.equal(6.0, p:sum():item())
    refused("materialize: the tensor is initialized already", p.materialize, p, {1})
  end)

  it("takes PyTorch's arguments", function()
    local p = nn.UninitializedParameter {requires_grad = false, dtype = lucerna.float64}
    p:materialize(4, {dtype = lucerna.float32})
    assert.equal(lucerna.float32, p.dtype)
    assert.same({4}, p.shape)
    local b = nn.UninitializedBuffer(false, "cpu", lucerna.int64, false)
    assert.equal("<UninitializedBuffer>", tostring(b))
    assert.equal(lucerna.int64, b.dtype)
    assert.is_false(b.requires_grad)
    refused("floating point", nn.UninitializedParameter, true, "cpu", lucerna.int64)
    refused("Trying to create tensor with negative", p.materialize,
      nn.UninitializedParameter(), {-1})
  end)

  it("registers under its kind", function()
    local m = nn.Module()
    m.weight = nn.UninitializedParameter()
    m.kept = nn.UninitializedBuffer()
    m.lost = nn.UninitializedBuffer {persistent = false}
    assert.same({"weight", "kept"}, parity.keys(m))
    local names = {}
    for name in m:named_buffers() do names[#names + 1] = name end
    assert.same({"kept", "lost"}, names)
  end)

  it("is nothing that can be saved", function()
    refused("tensor 'w' is uninitialized", lucerna.safetensors.save_file,
      {w = nn.UninitializedParameter()}, files.temporary())
  end)
end)

describe("a lazy class written in Lua", function()
  local Scale = nn.class("Scale")
  function Scale:__init(n)
    if n then self.weight = nn.Parameter(lucerna.ones(n)) end
  end
  function Scale:forward(x) return x * self.weight end
  function Scale:double_it(x) return self(x) * 2 end

  local LazyScale = nn.class("LazyScale", nn.LazyModuleMixin, Scale)
  LazyScale.cls_to_become = Scale
  function LazyScale:__init() self.weight = nn.UninitializedParameter() end
  function LazyScale:initialize_parameters(x)
    self.weight:materialize {x:size(-1)}
    lucerna.no_grad(function() self.weight:fill_(3) end)
  end

  it("becomes its class at the first call", function()
    local layer = LazyScale()
    assert.is_true(nn.isinstance(layer, nn.LazyModuleMixin) and nn.isinstance(layer, Scale))
    assert.same({6.0, 6.0}, layer:double_it(lucerna.ones(2)):tolist())
    assert.equal("Scale()", tostring(layer))
    assert.is_false(nn.isinstance(layer, nn.LazyModuleMixin))
    refused("size of tensor a (3) must match", layer, lucerna.ones(3))
  end)

  it("works among C layers, in coroutines and under hooks", function()
    local order = {}
    local net = nn.Sequential(nn.LazyLinear(4), LazyScale(), nn.LazyLinear(1))
    net[2]:register_forward_pre_hook(function() order[#order + 1] = "before" end)
    net[2]:register_forward_hook(function(m) order[#order + 1] = tostring(m) end)
    local y = coroutine.wrap(function() return net(lucerna.ones(2, 3)) end)()
    assert.same({2, 1}, y:size())
    assert.same({"before", "Scale()"}, order)
    assert.equal("Linear(in_features=4, out_features=1, bias=True)", tostring(net[3]))
  end)

  it("may stay what it is and have a forward of its own", function()
    local Grown = nn.class("Grown", nn.LazyModuleMixin)
    function Grown:__init()
      nn.LazyModuleMixin.__init(self)
      self.weight = nn.UninitializedParameter()
      self.calls = 0
    end
    function Grown:initialize_parameters(x)
      self.calls = self.calls + 1
      self.weight:materialize(x:size())
      lucerna.no_grad(function() self.weight:fill_(2) end)
    end
    function Grown:forward(x) return x + self.weight end
    local layer = Grown()
    local copy = layer:clone()
    for _, one in ipairs {layer, copy} do
      assert.same({3.0, 3.0}, one(lucerna.ones(2)):tolist())
      assert.same({3.0, 3.0}, one(lucerna.ones(2)):tolist())
      assert.equal(1, one.calls)
    end
  end)

  it("says what is missing", function()
    local Idle = nn.class("Idle", nn.LazyModuleMixin)
    refused("initialize_parameters is not implemented for Idle", Idle(), lucerna.ones(1))
    local Half = nn.class("Half", nn.LazyModuleMixin)
    function Half:__init() self.weight = nn.UninitializedParameter() end
    function Half.initialize_parameters() end
    refused("module Half has not been fully initialized", Half(), lucerna.ones(1))
    Half.cls_to_become = nn.Linear
    function Half:initialize_parameters() self.weight:materialize(1) end
    refused("Half: cannot become a Linear", Half(), lucerna.ones(1))
    Half.cls_to_become = 3
    refused("cls_to_become: must be a class of modules", Half(), lucerna.ones(1))
  end)
end)

describe("the state of a lazy module", function()
  local function trained()
    local net = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d())
    net(lucerna.randn(4, 3))
    return net
  end
  local function fresh() return nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d()) end

  it("is its placeholders", function()
    local net = fresh()
    local state = net:state_dict()
    assert.equal("<UninitializedParameter>", tostring(state["0.weight"]))
    assert.equal("<UninitializedBuffer>", tostring(state["1.running_var"]))
    assert.equal(0, state["1.num_batches_tracked"]:item())
    assert.equal(net[1].weight, state["0.weight"])
  end)

  it("materializes from a state that has shapes", function()
    local from, into = trained(), fresh()
    local weight = into[1].weight
    into:load_state_dict(from:state_dict())
    assert.equal(weight, into[1].weight)
    assert.is_true(lucerna.equal(from[1].weight, into[1].weight))
    assert.is_true(lucerna.equal(from[2].running_var, into[2].running_var))
    assert.equal("LazyLinear(in_features=0, out_features=2, bias=True)", tostring(into[1]))
    from:eval()
    into:eval()
    local x = lucerna.randn(5, 3)
    assert.is_true(lucerna.equal(from(x), into(x)))
    assert.equal("Linear(in_features=3, out_features=2, bias=True)", tostring(into[1]))
    assert.equal(2, into[2].num_features)
    from[1].weight:detach():fill_(0)
    assert.is_false(lucerna.equal(from[1].weight, into[1].weight))
  end)

  it("keeps its own dtype, and takes the state's with assign", function()
    local state = trained():double():state_dict()
    local into = fresh()
    into:load_state_dict(state)
    assert.equal(lucerna.float32, into[1].weight.dtype)
    into = fresh()
    into:load_state_dict(state, {assign = true})
    assert.equal(lucerna.float64, into[1].weight.dtype)
    assert.is_true(into[1].weight.requires_grad)
  end)

  it("stays lazy when the other is lazy too", function()
    local into = fresh()
    into:load_state_dict(fresh():state_dict())
    assert.is_true(into[1]:has_uninitialized_params())
    assert.same({1, 2}, into(lucerna.ones(4, 5)):narrow(1, 1, 1):size())
  end)

  it("cannot go into a module that has shapes", function()
    assert.matches("Can't access the shape of an uninitialized parameter or buffer",
      parity.message(function() trained():load_state_dict(fresh():state_dict()) end))
  end)

  it("changes nothing when another key is wrong", function()
    local state, into = trained():state_dict(), fresh()
    state["1.bias"] = nil
    assert.matches('Missing key%(s%) in state_dict: "1.bias"',
      parity.message(into.load_state_dict, into, state))
    assert.is_true(nn.parameter.is_lazy(into[1].weight))
    into:load_state_dict(state, {strict = false})
    assert.same({2, 3}, into[1].weight:size())
    assert.is_true(nn.parameter.is_lazy(into[2].bias))
    into(lucerna.randn(3, 3))
    assert.same({0.0, 0.0}, into[2].bias:tolist())
  end)

  it("is as it was when a hook of loading fails", function()
    local from, into = nn.Conv2d(6, 4, 2, {groups = 2}), nn.LazyConv2d(4, 2, {groups = 2})
    local text = tostring(into)
    into:register_load_state_dict_post_hook(function() error("no", 0) end)
    assert.is_false(pcall(into.load_state_dict, into, from:state_dict()))
    assert.is_true(nn.parameter.is_lazy(into.weight) and nn.parameter.is_lazy(into.bias))
    assert.equal(text, tostring(into))
    assert.equal("zeros", into.padding_mode)
    assert.same({1, 4, 2, 2}, into(lucerna.ones(1, 2, 3, 3)):size())
  end)

  it("takes a weight's word for the size", function()
    local from, into = nn.Conv2d(6, 4, 2, {groups = 2}), nn.LazyConv2d(4, 2, {groups = 2})
    into:load_state_dict(from:state_dict())
    refused("input has 4 channels, weight expects 6", into, lucerna.ones(1, 4, 3, 3))
    assert.equal(tostring(from), tostring(into))
    local up = nn.LazyConvTranspose1d(4, 2)
    up:load_state_dict(nn.ConvTranspose1d(3, 4, 2):state_dict())
    up(lucerna.ones(1, 3, 2))
    assert.equal(3, up.in_channels)
  end)
end)
