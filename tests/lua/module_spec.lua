-- nn.Module in Lua: fields and registration, identity and lifetime, iteration, modes, conversion.

local lucerna = require "lucerna"
local parity = require "parity"
local nn = lucerna.nn

local fails, keys_of = parity.refused, parity.list

local function set(m, name, value) m[name] = value end

local Net = nn.class("Net")
function Net:__init(n)
  self.fc = nn.Linear(3, n)
  self.scale = nn.Parameter(lucerna.ones(1))
  self:register_buffer("mean", lucerna.zeros(1))
  self.width = 28
  self.body = nn.Sequential(nn.Linear(n, n), nn.ReLU())
end
function Net:forward(x) return self.body(self.fc(x)) * self.scale end

describe("a class written in Lua", function()
  it("is called to make modules, which are called to run forward", function()
    local net = Net(5)
    local y = net(lucerna.ones(2, 3))
    assert.are.same({2, 5}, y:size())
    assert.is_true(y.requires_grad)
  end)

  it("knows its name, its class and its parents", function()
    local net = Net(1)
    assert.are.equal("Net", net:_get_name())
    assert.is_true(nn.isinstance(net, Net))
    assert.is_true(nn.isinstance(net, nn.Module))
    assert.is_false(nn.isinstance(net, nn.Linear))
    assert.is_false(nn.isinstance(3, nn.Linear))
    local lists = {nn.Linear, {nn.Parameter, Net}}
    assert.is_true(nn.isinstance(net, lists) and not nn.isinstance(net, {nn.Linear, {}}))
    lists[2] = lists
    assert.has_error(function() nn.isinstance(net, lists) end)
  end)

  it("inherits, overrides and reaches its parent", function()
    local Wide = nn.class("Wide", Net)
    function Wide:__init() Net.__init(self, 7) end
    function Wide:forward(x) return Net.forward(self, x) + 1 end
    local wide = Wide()
    assert.is_true(nn.isinstance(wide, Net))
    local x = lucerna.ones(1, 3)
    assert.is_true(lucerna.allclose(wide(x), Net.forward(wide, x) + 1))
    assert.matches("^Wide%(", tostring(wide))
  end)

  it("can descend from a layer written in C", function()
    local MyLinear = nn.class("MyLinear", nn.Linear)
    function MyLinear:__init(n)
      nn.Linear.__init(self, n, 2 * n)
      self.calls = 0
    end
    function MyLinear:forward(x)
      self.calls = self.calls + 1
      return nn.Linear.forward(self, x):relu()
    end
    local m = MyLinear(3)
    assert.are.equal(6, m.out_features)
    assert.are.same({4, 6}, m(lucerna.ones(4, 3)):size())
    assert.are.equal(1, m.calls)
    assert.are.equal("MyLinear(in_features=3, out_features=6, bias=True)", tostring(m))
    local seq = nn.Sequential(m, nn.ReLU())
    seq(lucerna.ones(4, 3))
    assert.are.equal(2, m.calls)
  end)

  it("says what is wrong", function()
    fails("nn.class: name must be a string (got number 3)", nn.class, 3)
    fails("nn.class: Parent must be a class of modules (got table)", nn.class, "A", {})
    fails("nn.class: a class has one Parent (got a third argument, uncalled class ELU)", nn.class,
      "A", nn.ReLU, nn.ELU)
    fails("Plain: takes no arguments (got 2)", nn.class("Plain"), 1, 2)
    fails('Module [Plain] is missing the required "forward" function', nn.class("Plain")(), 1)
    fails('Module [Tensor] is missing the required "forward" function', nn.class("Plain").forward,
      lucerna.ones(1))
    fails("Linear: missing argument 'out_features'", nn.Linear, 3)
    fails("Linear: unknown argument 'biass' (did you mean 'bias'?)", nn.Linear, 3, 4,
      {biass = false})
    local Forgetful = nn.class("Forgetful", nn.Linear)
    function Forgetful.__init() end
    fails("Forgetful: Linear.__init was not called", Forgetful(), lucerna.ones(1, 2))
  end)
end)

describe("assigning a field", function()
  it("registers parameters, children and buffers", function()
    local net = Net(2)
    assert.are.same({"scale", "fc.weight", "fc.bias", "body.0.weight", "body.0.bias"},
      keys_of(net:named_parameters()))
    assert.are.same({"fc", "body"}, keys_of(net:named_children()))
    assert.are.same({"mean"}, keys_of(net:named_buffers()))
    assert.are.equal(28, net.width)
    net.extra = nn.Buffer(lucerna.ones(2), {persistent = false})
    assert.are.same({"mean", "extra"}, keys_of(net:named_buffers()))
    assert.is_nil(net:state_dict().extra)
  end)

  it("keeps identity", function()
    local net = Net(2)
    assert.is_true(rawequal(net.fc, net.fc))
    assert.is_true(rawequal(net.fc.weight, net.fc.weight))
    assert.is_true(rawequal(net.body[1], net.body[1]))
    for name, child in net:named_children() do assert.is_true(rawequal(child, net[name])) end
  end)

  it("refuses another kind over a registered name", function()
    local net = Net(2)
    fails("cannot assign 'Tensor' as parameter 'scale' (nn.Parameter or nil expected)", set, net,
      "scale", lucerna.ones(1))
    fails("cannot assign 'number' as parameter 'scale'", set, net, "scale", 3)
    fails("cannot assign 'ReLU' as parameter 'scale'", set, net, "scale", nn.ReLU())
    fails("cannot assign 'number' as child module 'fc' (nn.Module or nil expected)", set, net,
      "fc", 1)
    fails("cannot assign 'Parameter' as child module 'fc'", set, net, "fc", net.scale)
    fails("cannot assign 'string' as buffer 'mean'", set, net, "mean", "x")
    fails("cannot assign 'Linear' as buffer 'mean'", set, net, "mean", nn.Linear(1, 1))
    assert.are.same({"fc", "body"}, keys_of(net:named_children()))
  end)

  it("replaces its own kind, and keeps a buffer's persistence", function()
    local net = Net(2)
    local relu = nn.ReLU()
    net.fc = relu
    assert.is_true(rawequal(relu, net.fc))
    net:register_buffer("temp", lucerna.zeros(2), false)
    net.temp = lucerna.ones(3)
    assert.are.same({3}, net.temp:size())
    assert.is_nil(net:state_dict().temp)
  end)

  it("empties a slot with nil, and nn.delattr removes it", function()
    local net = Net(2)
    net.fc = nil
    assert.is_nil(net.fc)
    assert.are.same({"body"}, keys_of(net:named_children()))
    assert.matches("(fc): None", tostring(net), 1, true)
    assert.are.same({"fc", "body"}, keys_of(pairs(net._modules)))
    fails("cannot assign 'number' as child module 'fc'", set, net, "fc", 1)
    nn.delattr(net, "fc")
    net.fc = 1
    assert.are.equal(1, net.fc)
    nn.delattr(net, "width")
    assert.is_nil(net.width)
    fails("'Net' object has no attribute 'width'", nn.delattr, net, "width")
  end)

  it("registers over an ordinary field", function()
    local m = nn.Module()
    m.x = 3
    m.x = nn.Parameter(lucerna.ones(2))
    assert.are.same({"x"}, keys_of(m:named_parameters()))
    m.y = "text"
    m.y = nn.ReLU()
    assert.are.same({"y"}, keys_of(m:named_children()))
  end)

  it("leaves tensors alone", function()
    local m = nn.Module()
    m.t = lucerna.ones(2)
    assert.are.same({}, keys_of(m:named_buffers()))
    assert.are.same({2}, m.t:size())
  end)

  it("refuses plain tables that hold modules or parameters", function()
    local m = nn.Module()
    local message = "field 'layers' is a plain table that holds modules or parameters"
    fails(message, set, m, "layers", {nn.ReLU()})
    fails(message, set, m, "layers", {a = {b = {nn.Parameter(lucerna.ones(1))}}})
    local loop = {}
    loop.loop = loop
    m.layers = loop
    m.layers = nn.unregistered {nn.ReLU()}
    assert.are.same({}, keys_of(m:named_children()))
    m.layers = {}
    m.layers[1] = nn.ReLU()
    fails(message, m.parameters, m)
    fails(message, m.state_dict, m)
  end)

  it("refuses cycles", function()
    local a, b = nn.Module(), nn.Module()
    a.b = b
    fails("a module tree has no cycles", set, b, "a", a)
    fails("a module tree has no cycles", set, a, "a", a)
    assert.is_nil(b.a)
  end)

  it("changes constructor arguments by their rules", function()
    local d = nn.Dropout(0.5)
    d.p = 0.25
    assert.are.equal(0.25, d.p)
    assert.are.equal("Dropout(p=0.25, inplace=False)", tostring(d))
    fails("p must be a number", set, d, "p", "x")
    local bn = nn.BatchNorm1d(2)
    bn.momentum, bn.eps = 0.5, 1e-3
    assert.are.equal(0.5, bn.momentum)
    assert.is_nil(nn.Linear(1, 1, {bias = false}).bias)
  end)

  it("keeps constructor arguments that were read until they change", function()
    local d = nn.Dropout(0.5)
    local function names() return table.concat(keys_of(pairs(d)), " ") end
    local before = names()
    assert.are.equal(0.5, d.p)
    assert.are.equal(0.5, d.p)
    assert.is_false(d.inplace)
    assert.are.equal(before, names())
    local copy, replica = d:clone(), d:_replicate_for_data_parallel()
    d.p = 0.25
    assert.are.same({0.25, 0.5, 0.5}, {d.p, copy.p, replica.p})
    copy.p, replica.p, d.inplace = 0.125, 1, true
    assert.are.same({0.25, 0.125, 1}, {d.p, copy.p, replica.p})
    assert.are.equal("Dropout(p=0.25, inplace=True)", tostring(d))
    assert.are.equal("Dropout(p=0.125, inplace=False)", tostring(copy))
    assert.are.equal("Dropout(p=1, inplace=False)", tostring(replica))
    fails("attribute 'p' already exists", d.register_buffer, d, "p", lucerna.ones(1))
    fails("'Dropout' object has no attribute 'p'", nn.delattr, d, "p")
    fails("p must be a number", set, d, "p", "x")
    assert.are.equal(0.25, d.p)
    nn.Dropout.__init(d, 0.75)
    assert.are.equal(0.75, d.p)
    local conv = nn.Conv2d(2, 4, 3, {padding_mode = "reflect"})
    local first = conv.stride
    first[1] = 7
    assert.are.same({{7, 1}, {1, 1}}, {first, conv.stride})
    conv.stride = {2, 1}
    assert.are.same({{2, 1}, {3, 3}}, {conv.stride, conv.kernel_size})
    copy = conv:clone()
    conv.stride = 3
    assert.are.same({3, {2, 1}}, {conv.stride, copy.stride})
    fails("'Conv2d' object has no attribute 'stride'", nn.delattr, conv, "stride")
    assert.are.equal("reflect", conv.padding_mode)
    conv.groups = nn.Parameter(lucerna.ones(1))
    assert.are.equal("Parameter", nn.isinstance(conv.groups, nn.Parameter) and "Parameter")
  end)

  it("puts arguments that were read back where loading fails", function()
    local Own = nn.class("Own", nn.Dropout)
    function Own:_load_from_state_dict() -- luacheck: no unused args
      self.seen, self.p = self.p, 0.9
      assert(self.p == 0.9)
      error("no", 0)
    end
    local d = Own(0.5)
    assert.are.equal(0.5, d.p)
    fails("no", d.load_state_dict, d, {})
    assert.is_nil(d.seen)
    assert.are.equal(0.5, d.p)
    d.p = 0.25
    assert.are.equal("Own(p=0.25, inplace=False)", tostring(d))
    assert.are.equal(0.25, d.p)
  end)

  it("leaves fields alone that are older than the arguments", function()
    local Early = nn.class("Early", nn.Dropout)
    function Early:__init()
      self.p = 3
      nn.Dropout.__init(self, 0.5)
    end
    local d = Early()
    assert.are.equal(3, d.p)
    d.p = 4
    assert.are.equal(4, d.p)
    assert.are.equal("Early(p=0.5, inplace=False)", tostring(d))
  end)

  it("sees training as a boolean", function()
    local d = nn.Dropout(0.5)
    d.training = false
    assert.is_false(d.training)
    fails("training must be a boolean (got number 3)", set, d, "training", 3)
  end)
end)

describe("registering", function()
  local m
  before_each(function() m = Net(2) end)

  it("checks names and kinds", function()
    fails("attribute 'width' already exists", m.register_parameter, m, "width",
      nn.Parameter(lucerna.ones(1)))
    fails("attribute 'forward' already exists", m.register_buffer, m, "forward", lucerna.ones(1))
    fails("attribute 'fc' already exists", m.register_buffer, m, "fc", lucerna.ones(1))
    fails("parameter name can't contain \".\"", m.register_parameter, m, "a.b", nil)
    fails("parameter name can't be empty string", m.register_parameter, m, "", nil)
    fails("parameter name should be a string. Got number", m.register_parameter, m, 3, nil)
    fails("is not a Module subclass", m.add_module, m, "x", 3)
    fails("module name can't contain", m.add_module, m, "a.b", nn.ReLU())
    fails("cannot assign", m.register_parameter, m, "x", lucerna.ones(1))
    fails("cannot assign", m.register_buffer, m, "x", 3)
  end)

  it("declares empty slots", function()
    m:register_parameter("gamma", nil)
    assert.is_nil(m.gamma)
    fails("cannot assign 'number' as parameter 'gamma'", set, m, "gamma", 3)
    m.gamma = nn.Parameter(lucerna.ones(2))
    assert.are.same({2}, m.gamma:size())
    m:register_module("act", nn.ReLU())
    assert.is_true(nn.isinstance(m.act, nn.ReLU))
  end)

  it("shows itself in _parameters, _buffers and _modules", function()
    assert.are.same({"scale"}, keys_of(pairs(m._parameters)))
    assert.are.same({"mean"}, keys_of(pairs(m._buffers)))
    assert.are.equal(2, #m._modules)
    assert.is_true(rawequal(m.fc, m._modules.fc))
  end)
end)

describe("iterating", function()
  it("visits shared members once, under their first name", function()
    local shared = nn.Linear(1, 1)
    local net = nn.Sequential(shared, nn.ReLU(), shared)
    assert.are.same({"0.weight", "0.bias"}, keys_of(net:named_parameters()))
    assert.are.same({"0.weight", "0.bias", "2.weight", "2.bias"},
      keys_of(net:named_parameters {remove_duplicate = false}))
    assert.are.same({"", "0", "1"}, keys_of(net:named_modules()))
    assert.are.same({"0", "1"}, keys_of(net:named_children()))
    assert.are.same({}, keys_of(net:named_parameters("", false)))
    assert.are.same({"net.0.weight", "net.0.bias"}, keys_of(net:named_parameters("net")))
  end)

  it("gives objects without names", function()
    local net = Net(2)
    local n = 0
    for p in net:parameters() do
      assert.is_true(lucerna.is_tensor(p))
      n = n + 1
    end
    assert.are.equal(5, n)
    assert.are.equal(5, #keys_of(net:modules()))
    assert.are.equal(2, #keys_of(net:children()))
    assert.are.equal(1, #keys_of(net:buffers()))
  end)

  it("may change the tree meanwhile", function()
    local net = nn.Sequential(nn.ReLU(), nn.ReLU(), nn.ReLU())
    for name in net:named_children() do nn.delattr(net, name) end
    assert.are.equal(0, #net)
  end)

  it("finds by path", function()
    local net = Net(2)
    assert.is_true(rawequal(net.body[1], net:get_submodule("body.0")))
    assert.is_true(rawequal(net, net:get_submodule("")))
    assert.is_true(rawequal(net.fc.weight, net:get_parameter("fc.weight")))
    assert.is_true(rawequal(net.mean, net:get_buffer("mean")))
    fails("Net has no attribute `nope`", net.get_submodule, net, "nope.x")
    fails("`weight` is not an nn.Module", net.get_submodule, net, "fc.weight")
    fails("`mean` is not an nn.Parameter", net.get_parameter, net, "mean")
    net:set_submodule("body.0", nn.Identity())
    assert.is_true(nn.isinstance(net.body[1], nn.Identity))
  end)

  it("applies children first", function()
    local names = {}
    local net = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh()))
    local result = net:apply(function(m) names[#names + 1] = m:_get_name() end)
    assert.are.same({"ReLU", "Tanh", "Sequential", "Sequential"}, names)
    assert.is_true(rawequal(net, result))
  end)
end)

describe("modes and conversion", function()
  it("train and eval reach everything, overridden methods too", function()
    local Frozen = nn.class("Frozen")
    function Frozen:train(_) return nn.Module.train(self, false) end
    local net = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout()), Frozen())
    assert.is_true(rawequal(net, net:eval()))
    assert.is_false(net[2][1].training)
    net:train()
    assert.is_true(net[2][1].training)
    assert.is_false(net[3].training)
    fails("training mode is expected to be boolean", net.train, net, "x")
  end)

  it("freezes and clears gradients", function()
    local net = Net(2)
    net(lucerna.ones(1, 3)):sum():backward()
    assert.is_not_nil(net.fc.weight.grad)
    net:zero_grad(false)
    assert.are.equal(0, net.fc.weight.grad:abs():sum():item())
    net:zero_grad()
    assert.is_nil(net.fc.weight.grad)
    assert.is_true(rawequal(net, net:requires_grad_(false)))
    for p in net:parameters() do assert.is_false(p.requires_grad) end
  end)

  it("converts floating point members and keeps parameters' identity", function()
    local net = Net(2)
    net:register_buffer("count", lucerna.zeros(1, {dtype = lucerna.int64}))
    local weight, mean = net.fc.weight, net.mean
    net(lucerna.ones(1, 3)):sum():backward()
    assert.is_true(rawequal(net, net:double()))
    assert.is_true(rawequal(weight, net.fc.weight))
    assert.are.equal(lucerna.float64, weight.dtype)
    assert.are.equal(lucerna.float64, weight.grad.dtype)
    assert.are.equal(lucerna.float64, net.mean.dtype)
    assert.are.equal(lucerna.float32, mean.dtype)
    assert.are.equal(lucerna.int64, net.count.dtype)
    assert.are.equal(lucerna.float64, net(lucerna.ones(1, 3, {dtype = lucerna.float64})).dtype)
    net:to(lucerna.float16)
    assert.are.equal(lucerna.float16, weight.dtype)
    net:to {dtype = lucerna.float32}
    net:to("cpu", lucerna.bfloat16)
    net:to(lucerna.ones(1))
    assert.are.equal(lucerna.float32, weight.dtype)
    fails("only accepts floating point or complex dtypes, but got desired dtype=int64",
      net.to, net, lucerna.int64)
  end)
end)

describe("clone", function()
  it("copies everything once, and shares what was shared", function()
    local net = Net(2)
    net.again = net.fc
    net.tied = net.scale
    net.list = {1, {inner = lucerna.ones(2)}}
    net.fc.owner = nn.unregistered {net}
    net.fc.tag = "x"
    net:eval()
    local copy = net:clone()
    assert.are.equal(tostring(net), tostring(copy))
    assert.is_false(rawequal(net.fc, copy.fc))
    assert.is_true(rawequal(copy.fc, copy.again))
    assert.is_true(rawequal(copy.scale, copy.tied))
    assert.is_true(lucerna.equal(net.fc.weight, copy.fc.weight))
    copy.fc.weight.data:fill_(0)
    assert.is_false(lucerna.equal(net.fc.weight, copy.fc.weight))
    assert.is_true(copy.fc.weight.requires_grad)
    assert.is_true(rawequal(copy, copy.fc.owner[1]))
    assert.is_false(rawequal(net.list[2], copy.list[2]))
    assert.is_false(rawequal(net.list[2].inner, copy.list[2].inner))
    assert.are.equal("x", copy.fc.tag)
    assert.are.equal(28, copy.width)
    assert.is_false(copy.body[2].training)
    assert.are.same({"scale", "fc.weight", "fc.bias", "body.0.weight", "body.0.bias"},
      keys_of(copy:named_parameters()))
  end)

  it("copies hooks, overridden methods and buffers that are not saved", function()
    local net, calls = nn.Sequential(nn.Identity()), 0
    net[1]:register_forward_hook(function() calls = calls + 1 end)
    net[1].forward = function(_, x) return x + 1 end
    net:register_buffer("temp", lucerna.ones(1), false)
    local copy = net:clone()
    assert.are.equal(1, copy(lucerna.zeros(1)):item())
    assert.are.equal(1, calls)
    assert.are.equal(0, #copy:state_dict())
    copy[1] = nn.Identity()
    assert.are.equal(1, net(lucerna.zeros(1)):item())
  end)

  it("refuses results of operators, as PyTorch does", function()
    local m = nn.Linear(1, 1)
    m.cache = m.weight * 2
    fails("clone: Only Tensors created explicitly by the user (graph leaves) support the "
      .. "deepcopy protocol at the moment", m.clone, m)
  end)
end)

describe("lifetime", function()
  local function collect()
    collectgarbage()
    collectgarbage()
  end

  it("keeps fields of children as long as their parent lives", function()
    local net = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU()))
    net[1].tag, net[2][1].tag = "first", {1}
    collect()
    assert.are.equal("first", net[1].tag)
    assert.are.same({1}, net[2][1].tag)
  end)

  it("keeps a parent reached through its child alone out of reach", function()
    local weak = setmetatable({}, {__mode = "v"})
    do
      local net = nn.Sequential(nn.ReLU())
      weak[1] = net
    end
    collect()
    assert.is_nil(weak[1])
  end)

  it("collects cycles through closures, hooks and fields", function()
    local weak = setmetatable({}, {__mode = "k"})
    for _ = 1, 10 do
      local net = Net(2)
      net.me = function() return net end
      net.fc.owner = net.me
      net:register_forward_hook(function() return net and nil end)
      net.forward = function(_, x) return net.fc(x) end
      net(lucerna.ones(1, 3))
      weak[net] = true
    end
    collect()
    assert.is_nil(next(weak))
  end)

  it("removes children from their old places", function()
    local a, child = nn.Module(), nn.Linear(1, 1)
    a.child = child
    a.child = nil
    local weak = setmetatable({child}, {__mode = "v"})
    child = nil -- luacheck: ignore
    collect()
    assert.is_nil(weak[1])
  end)

  it("of parameters is the module's, released boxes or not", function()
    local net = lucerna.scope(function() return Net(2) end)
    assert.are.same({2, 3}, net.fc.weight:size())
    assert.are.same({1}, net.mean:size())
    net.scale:release()
    assert.are.equal(1, net.scale:sum():item())
    assert.is_true(rawequal(net.scale, net.scale))
  end)

  it("survives deep trees", function()
    local net = nn.Identity()
    for _ = 1, 5000 do net = nn.Sequential(net) end
    local x = lucerna.ones(1)
    assert.is_true(rawequal(x, net(x)))
    assert.is_nil(next(keys_of(net:parameters())))
    net:eval()
    net = nil -- luacheck: ignore
    collect()
  end)
end)
