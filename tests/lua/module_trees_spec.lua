-- What nn.Module does over trees, row by row: walking, modes, applying, converting, paths, fields;
-- through methods that classes or single modules define themselves where PyTorch calls them.

local lucerna = require "lucerna"
local parity = require "parity"

local nn = lucerna.nn

local fails, keys = parity.refused, parity.list

-- a: Linear, b: Sequential(Linear, BatchNorm1d); a field, a parameter, a buffer of its own.
local Net = nn.class("Net")
function Net:__init()
  self.width = 3
  self.scale = nn.Parameter(lucerna.ones(1))
  self:register_buffer("mean", lucerna.zeros(1))
  self:register_buffer("count", lucerna.zeros(1, { dtype = lucerna.int64 }), false)
  self.a = nn.Linear(2, 2)
  self.b = nn.Sequential(nn.Linear(2, 2, { bias = false }), nn.BatchNorm1d(2))
end

local PARAMETERS = { "scale", "a.weight", "a.bias", "b.0.weight", "b.1.weight", "b.1.bias" }
local BUFFERS = { "mean", "count", "b.1.running_mean", "b.1.running_var",
  "b.1.num_batches_tracked" }

describe("walking", function()
  local net
  before_each(function() net = Net() end)

  it("goes through the children that there are after a second __init", function()
    local m = nn.MultiheadAttention(4, 2)
    for _ in pairs(m) do end
    m:__init(4, 2)
    local state = {}
    for name, child in pairs(m._modules) do state[name] = child end
    assert.is_true(rawequal(m.out_proj, state.out_proj))
  end)

  it("takes prefix, recurse and remove_duplicate", function()
    assert.same(PARAMETERS, keys(net:named_parameters()))
    assert.same(BUFFERS, keys(net:named_buffers()))
    assert.same({ "net.scale" }, keys(net:named_parameters("net", false)))
    assert.same({ "x.mean", "x.count" }, keys(net:named_buffers { prefix = "x", recurse = false }))
    assert.equal(6, #keys(net:parameters()))
    assert.equal(1, #keys(net:parameters(false)))
    assert.equal(2, #keys(net:buffers { recurse = false }))
    assert.same({ "", "a", "b", "b.0", "b.1" }, keys(net:named_modules()))
    assert.same({ "net", "net.a", "net.b", "net.b.0", "net.b.1" },
      keys(net:named_modules(nil, "net")))
    net.again = net.a
    net.tied = net.scale
    assert.same(PARAMETERS, keys(net:named_parameters()))
    assert.equal(9, #keys(net:named_parameters { remove_duplicate = false }))
    assert.equal(6, #keys(net:named_modules { remove_duplicate = false }))
    assert.same({ "a", "b" }, keys(net:named_children()))
    net.a = nil
    assert.same({ "b", "again" }, keys(net:named_children()))
    local b, next_child = net.b, net:named_children()
    net.b = nn.ReLU()
    assert.is_true(rawequal(b, select(2, next_child()))) -- a loop goes on in what was there
    assert.is_true(rawequal(net.b, select(2, net:named_children()())))
    assert.is_true(rawequal(net.b, net:children()()))
    for _ = 1, 3 do next_child() end
    assert.is_nil(next_child())
  end)

  it("leaves out what a memo has", function()
    local memo = { [net.b] = true }
    assert.same({ "", "a" }, keys(net:named_modules(memo)))
    assert.is_true(memo[net.a] and memo[net])
    assert.same({}, keys(net:named_modules(memo)))
    fails("memo must be a table", net.named_modules, net, 3)
  end)

  it("is what _named_members does with any function", function()
    local function members(m) return pairs(m._buffers) end
    assert.same(BUFFERS, keys(net:_named_members(members)))
    assert.same({ "p.mean", "p.count" }, keys(net:_named_members(members, "p", false)))
    net.twin = net.a
    assert.equal(6, #keys(net:_named_members(function(m) return pairs(m._parameters) end)))
    assert.equal(8, #keys(net:_named_members(function(m) return pairs(m._parameters) end,
      { remove_duplicate = false })))
    fails("_named_members: get_members_fn must be a function (got nil)", net._named_members, net)
    fails("_named_members: what get_members_fn returns must be a function (got nil)",
      net._named_members, net, print)
  end)

  it("goes through named_modules of classes and modules", function()
    local Hiding = nn.class("Hiding", nn.Sequential)
    function Hiding:named_modules(memo, prefix)
      local done = false
      return function()
        if done or memo and memo[self] then return nil end
        done = true
        return prefix or "", self
      end
    end
    net.hidden = Hiding(nn.Linear(1, 1))
    assert.same({ "", "a", "b", "b.0", "b.1", "hidden" }, keys(net:named_modules()))
    assert.equal(6, #keys(net:modules()))
    assert.same(PARAMETERS, keys(net:named_parameters()))
    assert.equal(6, #keys(net:parameters()))
    assert.equal(5, #keys(net:buffers()))
    nn.delattr(net, "hidden")
    net.b.named_modules = function() return function() end end
    assert.same({ "scale", "a.weight", "a.bias" }, keys(net:named_parameters()))
    net:requires_grad_(false)
    assert.is_true(net.b[1].weight.requires_grad)
    assert.is_false(net.a.weight.requires_grad)
    net.b.named_modules = nil
    assert.same(PARAMETERS, keys(net:named_parameters()))
  end)

  it("goes through named_parameters, named_buffers and named_children of the module", function()
    local Picky = nn.class("Picky", Net)
    function Picky:named_parameters(...)
      local step = nn.Module.named_parameters(self, ...)
      return function()
        local name, p
        repeat name, p = step() until not name or not name:find("bias")
        return name, p
      end
    end
    function Picky:named_buffers() return pairs { only = self.mean } end
    function Picky:named_children() return pairs { only = self.a } end
    local m = Picky()
    assert.equal(4, #keys(m:parameters()))
    assert.equal(1, #keys(m:parameters(false)))
    assert.is_true(rawequal(m.mean, keys(m:buffers())[1]))
    assert.is_true(rawequal(m.a, keys(m:children())[1]))
    m:requires_grad_(false)
    assert.same({ false, true }, { m.a.weight.requires_grad, m.a.bias.requires_grad })
    m:eval()
    assert.same({ false, false, true }, { m.training, m.a.training, m.b.training })
    m.a.weight.grad = lucerna.ones(2, 2)
    m.a.bias.grad = lucerna.ones(2)
    m:zero_grad(false)
    assert.same({ 0, 2 }, { m.a.weight.grad:sum():item(), m.a.bias.grad:sum():item() })
    m:zero_grad()
    assert.is_nil(m.a.weight.grad)
    assert.is_truthy(m.a.bias.grad)
  end)
end)

describe("modes", function()
  it("reach methods of classes and of single modules, wherever they are", function()
    local log = {}
    local Loud = nn.class("Loud")
    function Loud:__init(...) self.inner = nn.Sequential(...) end
    function Loud:train(mode)
      log[#log + 1] = mode
      return nn.Module.train(self, mode)
    end
    local relu = nn.ReLU()
    relu.train = function(self, mode)
      log[#log + 1] = "relu"
      self.training = not mode
    end
    local net = nn.Sequential(nn.Tanh(), Loud(nn.Tanh(), relu), nn.Sequential(nn.Tanh()))
    assert.is_true(rawequal(net, net:eval()))
    assert.same({ false, "relu" }, log)
    assert.same({ false, false, true, false }, { net[1].training, net[2].inner[1].training,
      relu.training, net[3][1].training })
    relu.train = nil
    net:train()
    assert.same({ false, "relu", true }, log)
    assert.is_true(relu.training)
  end)

  it("take their argument by name, and a module for self", function()
    local net = Net():train { mode = false }
    assert.is_false(net.b[2].training)
    fails("eval: self must be a module (got number)", net.eval, 3)
    fails("train: self must be a module (got nil)", net.train)
    fails("float: self must be a module (got nil)", net.float)
    fails("to_empty: self must be a module (got nil)", net.to_empty)
    fails("clone: self must be a module (got nil)", net.clone)
  end)

  it("must be booleans", function()
    fails("training mode is expected to be boolean", nn.ReLU().train, nn.ReLU(), 1)
    fails("training mode is expected to be boolean", Net().train, Net(), "x")
    local m = nn.ReLU():eval()
    assert.is_true(m:train(nil).training)
  end)
end)

describe("apply", function()
  it("calls f under every parent, children first, and methods of modules", function()
    local shared, names = nn.ReLU(), {}
    local net = nn.Sequential(nn.Sequential(shared, shared), shared)
    local function note(m) names[#names + 1] = m:_get_name() end
    assert.is_true(rawequal(net, net:apply(note)))
    assert.same({ "ReLU", "Sequential", "ReLU", "Sequential" }, names)
    names = {}
    net[1].apply = function() names[#names + 1] = "own" end
    net:apply(note)
    assert.same({ "own", "ReLU", "Sequential" }, names)
    fails("apply: fn must be a function (got number)", net.apply, net, 3)
    fails("_apply: fn must be a function (got nil)", net._apply, net)
    local copy = net:clone()
    names = {}
    copy:apply(note)
    assert.same({ "own", "ReLU", "Sequential" }, names)
    local step = coroutine.wrap(function() net:apply(coroutine.yield) end)
    assert.is_true(rawequal(shared, step()))
  end)

  it("and train and walks reach any depth", function()
    local net, n = nn.ReLU(), 0
    for _ = 1, 20000 do net = nn.Sequential(net) end
    net:apply(function() n = n + 1 end)
    assert.equal(20001, n)
    net:eval():float()
    assert.equal(20001, #keys(net:modules()))
  end)
end)

describe("converting", function()
  local net
  before_each(function() net = Net() end)

  local function dtypes(m)
    local list = {}
    for _, p in m:named_parameters() do list[tostring(p.dtype)] = true end
    for _, b in m:named_buffers() do list[tostring(b.dtype)] = true end
    local names = keys(pairs(list))
    table.sort(names)
    return table.concat(names, " ")
  end

  it("by to takes a device, a dtype, both or a tensor", function()
    assert.equal("float64 int64", dtypes(net:to(lucerna.float64)))
    assert.equal("float32 int64", dtypes(net:to("cpu", lucerna.float32)))
    assert.equal("float16 int64", dtypes(net:to { dtype = lucerna.float16, device = "cpu" }))
    assert.equal("bfloat16 int64", dtypes(net:to(lucerna.ones(1, { dtype = lucerna.bfloat16 }))))
    assert.equal("float64 int64", dtypes(net:to { tensor = lucerna.ones(1):double() }))
    assert.equal("float32 int64", dtypes(net:to("float32", true)))
    assert.equal("float32 int64", dtypes(net:to("cpu"):to():to { non_blocking = true }:cpu()))
    for _, call in ipairs { { lucerna.int64 }, { lucerna.zeros(1, { dtype = lucerna.int64 }) },
      { { dtype = lucerna.int64 } } } do
      fails("nn.Module.to only accepts floating point or complex dtypes, but got desired "
        .. "dtype=int64", net.to, net, call[1])
    end
    local accepts = "to: expected a tensor, a dtype such as 'float32' or the device 'cpu', the "
      .. "only one in this build (got %s)"
    for _, name in ipairs { "cuda:0", "flaot32", "zeros", "cpus" } do
      fails(accepts:format("'" .. name .. "'"), net.to, net, name)
    end
    fails(accepts:format "number", net.to, net, 3.5)
    fails("Linear: device must be 'cpu' in this build (got 'cuda')", nn.Linear, 1, 1,
      { device = "cuda" })
    assert.is_true(rawequal(net, net:to("cpu:0")))
    fails("device must be 'cpu' in this build (got 'cuda')", net.cuda, net)
    fails("device must be 'cpu' in this build (got 'cuda:1')", net.cuda, net, 1)
    fails("memory_format is not supported", net.to, net, { memory_format = "channels_last" })
    fails("to: unknown argument 'dtypes' (did you mean 'dtype'?)", net.to, net, { dtypes = 1 })
    assert.equal("float32 int64", dtypes(net))
  end)

  it("by float, double, half and bfloat16 leaves integers, by type takes all", function()
    assert.equal("float64 int64", dtypes(net:double()))
    assert.equal("float16 int64", dtypes(net:half()))
    assert.equal("bfloat16 int64", dtypes(net:bfloat16()))
    assert.equal("float32 int64", dtypes(net:float()))
    assert.equal("float64", dtypes(net:type(lucerna.float64)))
    fails("data set to a tensor that requires gradients must be floating point or complex dtype",
      net.type, net, lucerna.int64)
    assert.equal("float64", dtypes(net))
    assert.equal("int64", dtypes(net:requires_grad_(false):type("int64")))
    fails("type: argument 'dst_type' is missing", net.type, net)
  end)

  it("keeps parameters' identity and shares, brings gradients, replaces buffers", function()
    net.tied = net.scale
    net:register_buffer("same", net.mean)
    local scale, mean = net.scale, net.mean
    scale.grad = lucerna.ones(1)
    net:double()
    assert.is_true(rawequal(scale, net.scale) and rawequal(scale, net.tied))
    assert.equal(lucerna.float64, scale.grad.dtype)
    assert.is_false(rawequal(mean, net.mean))
    assert.is_false(rawequal(net.same, net.mean))
    assert.equal(lucerna.float32, mean.dtype)
    assert.is_nil(net:state_dict()["count"])
  end)

  it("by to_empty gives new memory, by share_memory nothing new", function()
    local weight, mean = net.a.weight, net.mean
    local old = weight.data
    assert.is_true(rawequal(net, net:to_empty { device = "cpu" }))
    assert.is_true(rawequal(weight, net.a.weight))
    assert.is_false(rawequal(mean, net.mean))
    old:fill_(7)
    assert.is_true(lucerna.no_grad(function() return weight:ne(7):any():item() end))
    weight = net.b[1].weight.data
    net:to_empty { device = "cpu", recurse = false }
    weight:fill_(9)
    assert.equal(9, net.b[1].weight[{ 1, 1 }]:item())
    assert.is_true(rawequal(net, net:share_memory()))
    fails("device must be 'cpu' in this build (got 'meta')", net.to_empty, net, { device = "meta" })
  end)

  it("is _apply, which takes any function, on this module alone or below", function()
    net.scale.grad = lucerna.ones(1)
    assert.is_true(rawequal(net, net:_apply(function(t) return t + 1 end)))
    assert.same({ 2, 2, 1, 1 }, { net.scale:item(), net.scale.grad:item(), net.mean:item(),
      net.count:item() })
    assert.is_true(net.scale.requires_grad and net.scale.is_leaf)
    local weight = net.a.weight:tolist()
    net:_apply(function(t) return t * 2 end, false)
    assert.equal(4, net.scale:item())
    assert.same(weight, net.a.weight:tolist())
  end)

  it("that fails changes nothing", function()
    local n = 0
    local before = net.scale:item()
    fails("no more", net._apply, net, function(t)
      n = n + 1
      if n == 9 then error("no more") end
      return t * 0 + 5
    end)
    fails("_apply: fn must return a Tensor (got nil)", net._apply, net, function(t)
      return not rawequal(t, net.scale) and t or nil
    end)
    fails("must be floating point", net._apply, net, function(t) return t:to(lucerna.int64) end)
    net.scale.grad = lucerna.ones(1)
    fails("_apply: fn must make a gradient like its parameter (got float64 [1], the parameter "
      .. "float32 [1])", net._apply, net, function(t)
      return rawequal(t, net.scale.grad) and t:double() or t * 2
    end)
    assert.same({ before, "float32 int64" }, { net.scale:item(), dtypes(net) })
  end)

  it("calls _apply of classes and of single modules", function()
    local Fixed, log = nn.class("Fixed", nn.Linear), {}
    function Fixed:_apply(f, recurse)
      log[#log + 1] = recurse == nil
      return self.free and nn.Module._apply(self, f, recurse) or self
    end
    net.fixed, net.free = Fixed(1, 1), Fixed(1, 1)
    net.free.free = true
    net:double()
    assert.same({ true, true }, log)
    assert.same({ lucerna.float32, lucerna.float64, lucerna.float64 },
      { net.fixed.weight.dtype, net.free.weight.dtype, net.a.weight.dtype })
    net:cpu():share_memory():to { device = "cpu" }
    net:type(lucerna.float32)
    net:to_empty { device = "cpu" }
    assert.equal(12, #log)
    local seen = {}
    net.b._apply = function(_, f) seen[#seen + 1] = f(lucerna.ones(1)).dtype end
    net:half()
    assert.same({ lucerna.float16 }, seen)
    assert.same({ lucerna.float16, lucerna.float32 }, { net.a.weight.dtype, net.b[1].weight.dtype })
    net.fixed:half()
    assert.equal(lucerna.float32, net.fixed.weight.dtype)
  end)
end)

describe("devices", function()
  it("that are not there are refused by name, compiling changes nothing", function()
    local net = nn.Linear(1, 1)
    for _, kind in ipairs { "cuda", "xpu", "ipu", "mtia" } do
      fails(("%s: device must be 'cpu' in this build (got '%s:1')"):format(kind, kind), net[kind],
        net, 1)
    end
    assert.is_nil(net:compile())
  end)
end)

describe("gradients", function()
  it("are switched and cleared over a tree", function()
    local net = Net()
    assert.is_true(rawequal(net, net:requires_grad_(false)))
    for p in net:parameters() do assert.is_false(p.requires_grad) end
    net:requires_grad_()
    for p in net:parameters() do
      assert.is_true(p.requires_grad)
      p.grad = p * 2
    end
    local grad = net.scale.grad
    net:zero_grad { set_to_none = false }
    assert.same({ 0, false }, { net.scale.grad:item(), net.scale.grad.requires_grad })
    assert.equal(2, grad:item())
    net:zero_grad()
    for p in net:parameters() do assert.is_nil(p.grad) end
    fails("requires_grad_", net.requires_grad_, net, "x")
    net:requires_grad_(false)
    net.b[2].bias.data = lucerna.ones(2, { dtype = lucerna.int64 })
    fails("only Tensors of floating point and complex dtype can require grad",
      net.requires_grad_, net)
    for p in net:parameters() do assert.is_false(p.requires_grad) end
  end)
end)

describe("paths", function()
  local net
  before_each(function() net = Net() end)

  it("lead to submodules", function()
    assert.is_true(rawequal(net, net:get_submodule("")))
    assert.is_true(rawequal(net.b[2], net:get_submodule("b.1")))
    fails("Net has no attribute `x`", net.get_submodule, net, "x.y")
    fails("Sequential has no attribute `x`", net.get_submodule, net, "b.x")
    fails("Linear has no attribute ``", net.get_submodule, net, "a.")
    fails("Net has no attribute ``", net.get_submodule, net, ".")
    for _, name in ipairs { "forward", "training", "width", "scale", "mean" } do
      fails(("`%s` is not an nn.Module"):format(name), net.get_submodule, net, name)
    end
    fails("`weight` is not an nn.Module", net.get_submodule, net, "a.weight.x")
    net.a = nil
    fails("`a` is not an nn.Module", net.get_submodule, net, "a")
  end)

  it("lead to parameters and buffers", function()
    assert.is_true(rawequal(net.a.weight, net:get_parameter("a.weight")))
    assert.is_true(rawequal(net.scale, net:get_parameter("scale")))
    assert.is_true(rawequal(net.b[2].running_var, net:get_buffer("b.1.running_var")))
    fails("Net has no attribute `x`", net.get_parameter, net, "x.weight")
    fails("Linear has no attribute `x`", net.get_parameter, net, "a.x")
    fails("Net has no attribute ``", net.get_parameter, net, "")
    fails("`mean` is not an nn.Parameter", net.get_parameter, net, "mean")
    fails("`in_features` is not an nn.Parameter", net.get_parameter, net, "a.in_features")
    fails("`weight` is not a buffer", net.get_buffer, net, "a.weight")
    fails("Linear has no attribute `x`", net.get_buffer, net, "a.x")
    net.mean, net.scale = nil, nil
    assert.is_nil(net:get_buffer("mean"))
    fails("`scale` is not an nn.Parameter", net.get_parameter, net, "scale")
  end)

  it("are where set_submodule puts modules", function()
    local relu = nn.ReLU()
    net:set_submodule("b.0", relu)
    assert.is_true(rawequal(relu, net.b[1]))
    assert.equal(2, #net.b)
    net:set_submodule("a.act", relu)
    assert.is_true(rawequal(relu, net.a.act))
    net:set_submodule("c", nn.Tanh(), true and false)
    net:set_submodule("c", nn.GELU(), { strict = true })
    assert.equal("GELU", net.c:_get_name())
    fails("set_submodule: Cannot set the submodule without a target name!", net.set_submodule, net,
      "", relu)
    fails("set_submodule: `module` is not an nn.Module, found number", net.set_submodule, net, "c",
      3)
    fails("set_submodule: Net has no attribute `d`", net.set_submodule, net, "d", relu, true)
    fails("Net has no attribute `d`", net.set_submodule, net, "d.e", relu)
    fails("set_submodule: `weight` is not an nn.Module", net.set_submodule, net, "a.weight", relu)
    fails("set_submodule: `width` is not an nn.Module", net.set_submodule, net, "width", relu)
  end)
end)

describe("pairs of a module", function()
  it("gives fields, parameters, buffers and children that are there", function()
    local net = Net()
    net.active, net.z = false, { 1 }
    net.mean = nil
    assert.same({ "active", "width", "z", "scale", "count", "a", "b" }, keys(pairs(net)))
    for name, value in pairs(net) do assert.is_true(rawequal(value, net[name]), name) end
    local linear = nn.Linear(2, 3)
    linear.tag, linear.act = "x", nn.ReLU()
    local found = {}
    for name, value in pairs(linear) do found[#found + 1] = { name, value } end
    assert.same({ "in_features", 2 }, found[1])
    assert.same({ "in_features", "out_features", "tag", "weight", "bias", "act" },
      keys(pairs(linear)))
    for name in pairs(linear) do
      if name == "tag" then linear.tag = nil end
    end
    assert.is_nil(linear.tag)
    assert.same({}, keys(pairs(nn.Module())))
    assert.same({}, keys(ipairs(net)))
  end)

  it("of containers gives their entries", function()
    local seq = nn.Sequential(nn.ReLU(), nn.Tanh())
    seq.tag = 1
    assert.same({ 1, 2 }, keys(pairs(seq)))
    assert.same({ "x", "y" }, keys(pairs(nn.ModuleDict { x = seq, y = nn.ReLU() })))
    fails("a Linear has no length", function() return #nn.Linear(1, 1) end)
  end)
end)

describe("a replica for data parallel", function()
  it("shares everything but parameters", function()
    local net = Net():eval()
    local replica = net:_replicate_for_data_parallel()
    assert.is_true(replica._is_replica and nn.isinstance(replica, Net))
    assert.same({}, keys(pairs(replica._parameters)))
    assert.is_true(rawequal(net.mean, replica.mean) and rawequal(net.a, replica.a))
    assert.same({ 3, false }, { replica.width, replica.training })
    assert.is_nil(net._is_replica)
    assert.is_nil(replica:state_dict()["count"])
    assert.equal(2, nn.Linear(2, 3):_replicate_for_data_parallel().in_features)
    fails("Modules with uninitialized parameters can't be used with `DataParallel`",
      nn.Module._replicate_for_data_parallel, nn.LazyLinear(3))
  end)
end)

describe("DataParallel", function()
  it("without devices is the module under another name", function()
    local l = nn.Linear(2, 3)
    local m = nn.DataParallel(l)
    local x = lucerna.ones(1, 2)
    assert.is_true(lucerna.equal(l(x), m(x)))
    assert.are.same({"module.weight", "module.bias"}, parity.keys(m))
    assert.is_true(lucerna.equal(l(x), nn.parallel.data_parallel(l, x)))
    assert.is_true(lucerna.equal(l(x), nn.parallel.data_parallel(l, {x})))
    assert.is_true(rawequal(nn.DataParallel, nn.parallel.DataParallel))
  end)

  it("refuses devices and what is no module", function()
    assert.has_error(function() nn.DataParallel(3) end)
    parity.refused("device_ids must be empty", nn.DataParallel, nn.ReLU(), {device_ids = {1, 2}})
  end)
end)
