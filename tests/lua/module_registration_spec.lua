-- Registering and assigning: PyTorch's rules and texts row by row, hooks on registration, methods
-- of registration written in Lua, and what hostile code may try meanwhile.

local lucerna = require "lucerna"
local parity = require "parity"

local nn = lucerna.nn

local fails, keys, live = parity.refused, parity.list, parity.live

local function set(m, name, value) m[name] = value end

local function parameter(...) return nn.Parameter(lucerna.ones(...)) end

describe("register_parameter", function()
  local m
  before_each(function()
    m = nn.Linear(2, 2)
    m.width, m.child = 3, nn.ReLU()
    m:register_buffer("mean", lucerna.ones(1))
  end)

  it("checks the name, then the value", function()
    fails("parameter name should be a string. Got number", m.register_parameter, m, 3, nil)
    fails('parameter name can\'t contain "."', m.register_parameter, m, "a.b", nil)
    fails('parameter name can\'t be empty string ""', m.register_parameter, m, "", nil)
    for _, name in ipairs { "forward", "training", "width", "child", "mean", "in_features",
      "_parameters" } do
      fails(("attribute '%s' already exists"):format(name), m.register_parameter, m, name,
        parameter(1))
    end
    fails("cannot assign 'Tensor' object to parameter 'x' (nn.Parameter or nil required)",
      m.register_parameter, m, "x", lucerna.ones(1))
    fails("cannot assign 'number' object to parameter 'x'", m.register_parameter, m, "x", 3)
    assert.same({ "weight", "bias" }, keys(pairs(m._parameters)))
  end)

  it("replaces its own kind and declares empty slots that are protected", function()
    local p = parameter(3)
    m:register_parameter("weight", p)
    assert.is_true(rawequal(p, m.weight))
    m:register_parameter("gamma", nil)
    fails("cannot assign 'number' as parameter 'gamma' (nn.Parameter or nil expected)", set, m,
      "gamma", 1)
    fails("cannot assign 'Tensor' as parameter 'gamma'", set, m, "gamma", lucerna.ones(1))
    assert.same({ "weight", "bias", "gamma" }, keys(pairs(m._parameters)))
    assert.same({ "weight", "bias" }, keys(m:named_parameters()))
    assert.is_nil(m:state_dict()["gamma"])
  end)
end)

describe("register_buffer", function()
  local m
  before_each(function() m = nn.Linear(2, 2) end)

  it("checks the name, then the value", function()
    fails("buffer name should be a string. Got boolean", m.register_buffer, m, true, nil)
    fails('buffer name can\'t contain "."', m.register_buffer, m, "a.b", nil)
    fails('buffer name can\'t be empty string ""', m.register_buffer, m, "", nil)
    fails("attribute 'forward' already exists", m.register_buffer, m, "forward", nil)
    fails("attribute 'weight' already exists", m.register_buffer, m, "weight", lucerna.ones(1))
    fails("cannot assign 'number' object to buffer 'x' (Tensor or nil required)",
      m.register_buffer, m, "x", 3)
    fails("cannot assign 'Linear' object to buffer 'x'", m.register_buffer, m, "x", m)
    assert.same({}, keys(pairs(m._buffers)))
  end)

  it("switches persistence, which assigning keeps", function()
    m:register_buffer("b", lucerna.ones(1), false)
    assert.is_nil(m:state_dict()["b"])
    m.b = lucerna.ones(2)
    assert.is_nil(m:state_dict()["b"])
    m.b = nil
    m.b = lucerna.ones(3)
    assert.is_nil(m:state_dict()["b"])
    m:register_buffer("b", lucerna.ones(4))
    assert.same({ 4 }, m:state_dict()["b"].shape)
    m.b = nn.Buffer(lucerna.ones(5), { persistent = false })
    assert.is_nil(m:state_dict()["b"])
    m.b = nn.Buffer(lucerna.ones(6))
    assert.same({ 6 }, m:state_dict()["b"].shape)
    nn.delattr(m, "b")
    m.b = nn.Buffer(lucerna.ones(5), false)
    nn.delattr(m, "b")
    m:register_buffer("b", lucerna.ones(7))
    assert.same({ 7 }, m:state_dict()["b"].shape)
  end)
end)

describe("add_module", function()
  it("checks the value, then the name", function()
    local m = nn.Linear(2, 2)
    m.width = 3
    fails("number is not a Module subclass", m.add_module, m, "a.b", 3)
    fails("module name should be a string. Got number", m.add_module, m, 3, nn.ReLU())
    for _, name in ipairs { "forward", "training", "width", "weight" } do
      fails(("attribute '%s' already exists"):format(name), m.register_module, m, name, nn.ReLU())
    end
    fails('module name can\'t contain ".", got: a.b', m.add_module, m, "a.b", nn.ReLU())
    fails('module name can\'t be empty string ""', m.add_module, m, "", nn.ReLU())
    m:add_module("none", nil)
    assert.same({ "none" }, keys(pairs(m._modules)))
    fails("cannot assign 'number' as child module 'none' (nn.Module or nil expected)", set, m,
      "none", 3)
    m:add_module("none", nn.ReLU())
    m:add_module("none", nn.Tanh())
    assert.equal("Tanh()", tostring(m.none))
  end)
end)

describe("assigning", function()
  it("refuses names that the class or every module has", function()
    local Net = nn.class("Net")
    Net.rate = 0.5
    function Net:loss() end
    local m = Net()
    for _, name in ipairs { "forward", "train", "loss", "rate", "training", "_buffers" } do
      for _, value in ipairs { parameter(1), nn.Buffer(lucerna.ones(1)), nn.ReLU() } do
        fails(("attribute '%s' already exists"):format(name), set, m, name, value)
      end
    end
    fails("attribute 'append' already exists", set, nn.Sequential(), "append", nn.ReLU())
    fails("attribute 'keys' already exists", set, nn.ModuleDict(), "keys", nn.ReLU())
    fails("'_parameters' cannot be assigned", set, m, "_parameters", {})
    m.rate = 0.25
    assert.same({ 0.25, 0.5 }, { m.rate, Net.rate })
    assert.equal(0, #m:state_dict())
  end)

  it("also of what a C class makes", function()
    local Mine = nn.class("Mine", nn.Linear)
    Mine.weight = 5
    fails("attribute 'weight' already exists", Mine, 1, 1)
    Mine.weight = nn.property(function() return 5 end)
    fails("attribute 'weight' already exists", Mine, 1, 1)
    Mine.weight = nil
    assert.same({ 1, 1 }, Mine(1, 1).weight.shape)
  end)

  it("refuses names that a state dict could not hold", function()
    local m = nn.Module()
    fails("parameter name can't contain a zero byte", set, m, "\0p", parameter(1))
    fails("buffer name can't contain a zero byte", m.register_buffer, m, "b\0", lucerna.ones(1),
      false)
    fails("module name can't contain a zero byte", set, m, "\0", nn.ReLU())
    assert.same({}, keys(pairs(m)))
    assert.same({}, keys(pairs(m._non_persistent_buffers_set)))
  end)

  it("moves a name between kinds only after nn.delattr", function()
    local m = nn.Module()
    local values = { parameter(1), nn.Buffer(lucerna.ones(1)), nn.ReLU() }
    local kinds = { "parameter", "buffer", "child module" }
    for i, value in ipairs(values) do
      m.x = value
      for k, other in ipairs(values) do
        if k ~= i then fails(("as %s 'x'"):format(kinds[i]), set, m, "x", other) end
      end
      fails(("cannot assign 'number' as %s 'x'"):format(kinds[i]), set, m, "x", 1)
      assert.is_true(rawequal(value, m.x))
      nn.delattr(m, "x")
      assert.is_nil(m.x)
    end
    m.x = 1
    for _, value in ipairs(values) do -- over an ordinary field
      m.x = value
      nn.delattr(m, "x")
      m.x = 1
    end
    assert.equal(0, #m._parameters + #m._buffers + #m._modules)
  end)

  it("of lucerna.none empties a slot as nil does", function()
    local m = nn.BatchNorm1d(2)
    m.child = nn.ReLU()
    m.weight, m.running_mean, m.child = lucerna.none, lucerna.none, lucerna.none
    assert.same({ 2, 3, 1 }, { #m._parameters, #m._buffers, #m._modules })
    assert.same({}, { m.weight, m.running_mean, m.child })
    fails("cannot assign 'number' as parameter 'weight'", set, m, "weight", 1)
    m.note = lucerna.none -- an ordinary field is what it is
    assert.equal(lucerna.none, m.note)
  end)

  it("of a module into its own subtree is refused with the path", function()
    local net = nn.Sequential(nn.Sequential(nn.ReLU(), nn.Linear(1, 1)))
    local inner = net[1][2]
    fails("Sequential: cannot become child 'up' of its own descendant 0.1 (Linear) (a module tree "
      .. "has no cycles)", set, inner, "up", net)
    fails("Linear: cannot become its own child 'me'", set, inner, "me", inner)
    fails("cannot become child '2' of its own descendant 0", net[1].append, net[1], net)
    assert.is_nil(inner.up)
    assert.equal(2, #net[1])
  end)

  it("of tables looks at any depth, later too", function()
    local m = nn.Sequential(nn.Module())
    m[1].layers = { { { a = {} } } }
    assert.same({}, keys(m:parameters()))
    m[1].layers[1][1].a.b = parameter(1)
    local text = "field 'layers' is a plain table that holds modules or parameters"
    for _, method in ipairs { "parameters", "named_buffers", "state_dict", "zero_grad", "float" } do
      fails(text, m[method], m)
    end
    m[1].layers[1][1].a.b = nil
    assert.same({}, keys(m:parameters()))
    fails("nn.unregistered: table must be a table (got number)", nn.unregistered, 3)
  end)

  it("to the views registers, none empties, nil deletes", function()
    local m = nn.Linear(1, 1)
    local p = parameter(2)
    m._parameters.weight, m._parameters.extra = p, p
    assert.is_true(rawequal(p, m.weight) and rawequal(p, m.extra))
    m._parameters.weight = lucerna.none
    assert.is_nil(m.weight)
    assert.same({ "weight", "bias", "extra" }, keys(pairs(m._parameters)))
    local view = m._parameters
    view.weight, view.nothing = nil, nil
    assert.same({ "bias", "extra" }, keys(pairs(view)))
    assert.same({ "bias", "extra" }, keys(pairs(m._parameters)))
    m._buffers.b = lucerna.ones(1)
    m._modules.child = nn.ReLU()
    m._parameters.b = nil
    assert.same({ "bias", "extra", "b" }, keys(pairs(m:state_dict())))
    fails("attribute 'bias' already exists", set, m._buffers, "bias", lucerna.ones(1))
    fails("Tensor is not a Module subclass", set, m._modules, "x", p * 1)
    assert.same({ { "b" }, { "child" } }, { keys(pairs(m._buffers)), keys(pairs(m._modules)) })
    local Net = nn.class("Net")
    function Net:register_parameter(name, value) self._parameters[name] = value end
    local net = Net()
    net.p = p
    assert.is_true(rawequal(p, net.p) and rawequal(p, net._parameters.p))
  end)

  it("is seen by views that were taken before, which are PyTorch's own dictionaries", function()
    local m = nn.Linear(1, 1)
    local slots, hooks = m._parameters, m._forward_hooks
    assert.is_true(rawequal(slots, m._parameters) and rawequal(hooks, m._forward_hooks))
    m.extra, m.bias = parameter(2), nil
    local handle = m:register_forward_hook(print)
    assert.same({ "weight", "bias", "extra" }, keys(pairs(slots)))
    assert.is_true(rawequal(m.extra, slots.extra) and slots.bias == nil and slots[1] == nil)
    assert.same({ 3, 1, print }, { #slots, #hooks, hooks[handle.id] })
    local copy = m:clone()
    slots.weight = nil
    assert.same({ { "bias", "extra" }, { "weight", "bias", "extra" } },
      { keys(pairs(slots)), keys(pairs(copy._parameters)) })
    assert.same({ "in_features", "out_features", "extra" }, keys(pairs(m)))
  end)

  it("nil to a view of hooks removes one of its own, and nothing else", function()
    local m = nn.Linear(1, 1)
    local handle = m:register_forward_pre_hook(print)
    m._forward_hooks[handle.id], m._forward_hooks.other = nil, nil
    assert.equal(1, #m._forward_pre_hooks)
    m._forward_pre_hooks[handle.id] = nil
    assert.equal(0, #m._forward_pre_hooks)
  end)

  it("nn.delattr forgets parameters, buffers, children and fields in turn", function()
    local m = nn.Linear(1, 1)
    m.child, m.field = nn.ReLU(), 1
    m.b = nn.Buffer(lucerna.ones(1))
    for _, name in ipairs { "weight", "b", "child", "field" } do
      nn.delattr(m, name)
      assert.is_nil(m[name])
      fails(("'Linear' object has no attribute '%s'"):format(name), nn.delattr, m, name)
    end
    m.bias = nil
    nn.delattr(m, "bias")
    assert.same({}, keys(pairs(m._parameters)))
    fails("attribute name should be a string. Got number", nn.delattr, m, 1)
  end)
end)

describe("nn.Parameter and nn.Buffer", function()
  it("share storage with their data and say what they are", function()
    local data = lucerna.ones(2)
    local p, b = nn.Parameter(data), nn.Buffer(data)
    data:fill_(3)
    assert.same({ 3, 3 }, p:tolist())
    assert.same({ 3, 3 }, b:tolist())
    assert.same({ true, false }, { p.requires_grad, b.requires_grad })
    assert.is_false(nn.Parameter(data, false).requires_grad)
    assert.same({ { 0 }, { 0 } }, { nn.Parameter().shape, nn.Buffer().shape })
    assert.is_true(nn.isinstance(p, nn.Parameter) and nn.isinstance(b, nn.Buffer))
    assert.is_true(nn.isinstance(p, { nn.Module, nn.Parameter }))
    assert.is_false(nn.isinstance(p * 1, nn.Parameter) or nn.isinstance(p, nn.Buffer))
    assert.is_false(nn.isinstance(nn.ReLU(), nn.Parameter))
    fails("only Tensors of floating point and complex dtype can require gradients", nn.Parameter,
      lucerna.ones(1, { dtype = lucerna.int64 }))
    local ids = lucerna.ones(1, { dtype = lucerna.int64 })
    assert.equal(lucerna.int64, nn.Parameter(ids, false).dtype)
  end)
end)

describe("a registration hook", function()
  local seen
  local function note(m, name, value) seen[#seen + 1] = { m, name, value } end
  local function names()
    local list = {}
    for i, entry in ipairs(seen) do list[i] = entry[2] end
    return list
  end
  before_each(function() seen = {} end)

  it("sees parameters by registration, assignment and construction, but not nil", function()
    local m = nn.Module()
    local _ <close> = nn.register_module_parameter_registration_hook(note)
    local p = parameter(1)
    m.a = p
    assert.is_true(rawequal(m, seen[1][1]) and rawequal(p, seen[1][3]))
    m:register_parameter("b", parameter(1))
    m.a = parameter(2)
    m.a = nil
    m:register_parameter("c", nil)
    nn.Linear(1, 1)
    nn.Linear(1, 1, { bias = false })
    assert.same({ "a", "b", "a", "weight", "bias", "weight" }, names())
  end)

  it("sees buffers, also assigned again", function()
    local m = nn.Module()
    local _ <close> = nn.register_module_buffer_registration_hook(note)
    m:register_buffer("a", lucerna.ones(1))
    m.a = lucerna.ones(2)
    m.b = nn.Buffer(lucerna.ones(1))
    m.plain = lucerna.ones(1)
    m.a = nil
    assert.is_nil(seen[4][3])
    nn.BatchNorm1d(2)
    assert.same({ "a", "a", "b", "a", "running_mean", "running_var", "num_batches_tracked" },
      names())
  end)

  it("sees buffers that are not there, of layers of C, too", function()
    local m = nn.Module()
    local _ <close> = nn.register_module_buffer_registration_hook(note)
    m:register_buffer("a", nil)
    nn.BatchNorm1d(2, { track_running_stats = false })
    nn.NLLLoss()
    assert.same({ "a", "running_mean", "running_var", "num_batches_tracked", "weight" }, names())
    for _, call in ipairs(seen) do assert.is_nil(call[3]) end
  end)

  it("sees children, also nil over one", function()
    local m = nn.Module()
    local _ <close> = nn.register_module_module_registration_hook(note)
    m.a = nn.ReLU()
    m:add_module("b", nn.Tanh())
    m.a = nil
    m.x = nil
    nn.Sequential(nn.ReLU(), nn.ReLU())
    assert.same({ "a", "b", "a", "0", "1" }, names())
  end)

  it("may put another object in its place, each seeing the last one's", function()
    local m, other, third = nn.Module(), parameter(2), parameter(3)
    do
      local _ <close> = nn.register_module_parameter_registration_hook(function() return other end)
      local _ <close> = nn.register_module_parameter_registration_hook(note)
      local _ <close> = nn.register_module_parameter_registration_hook(function(_, _, p)
        return rawequal(p, other) and third or nil
      end)
      m.a = parameter(1)
      assert.is_true(rawequal(third, m.a) and rawequal(other, seen[1][3]))
    end
    do
      local relu = nn.ReLU()
      local _ <close> = nn.register_module_module_registration_hook(function() return relu end)
      m.child = nn.Tanh()
      assert.is_true(rawequal(relu, m.child))
      local seq = nn.Sequential(nn.Tanh())
      assert.is_true(rawequal(relu, seq[1]))
      seq[1] = nn.GELU()
      assert.is_true(rawequal(relu, seq[1]))
    end
    do
      local _ <close> = nn.register_module_buffer_registration_hook(function(_, _, b)
        return b and b + 1
      end)
      m:register_buffer("b", lucerna.zeros(1), false)
      assert.equal(1, m.b:item())
      assert.is_nil(m:state_dict()["b"])
    end
    do
      local _ <close> = nn.register_module_parameter_registration_hook(function(_, name)
        return name == "weight" and nn.Parameter(lucerna.zeros(1, 1)) or nil
      end)
      local linear = nn.Linear(1, 1)
      assert.equal(0, linear.weight:item())
      assert.is_true(rawequal(linear.weight, linear._parameters.weight))
    end
    m.a = other
    assert.is_true(rawequal(other, m.a))
  end)

  it("that raises leaves everything as it was", function()
    local m, err = nn.Linear(1, 1), {}
    m.child, m.field = nn.ReLU(), 1
    m:register_buffer("b", lucerna.ones(1))
    local weight, b, child = m.weight, m.b, m.child
    local function bad() error(err) end
    local _ <close> = nn.register_module_parameter_registration_hook(bad)
    local _ <close> = nn.register_module_buffer_registration_hook(bad)
    local _ <close> = nn.register_module_module_registration_hook(bad)
    for name, value in pairs {
      weight = parameter(1), b = lucerna.ones(2), child = nn.Tanh(), field = parameter(1),
    } do
      local ok, given = pcall(set, m, name, value)
      assert.is_true(not ok and rawequal(given, err))
    end
    assert.is_false(pcall(m.register_buffer, m, "b", lucerna.ones(3), false))
    assert.is_false(pcall(m.register_parameter, m, "new", parameter(1)))
    assert.is_false(pcall(m.add_module, m, "new", nn.ReLU()))
    assert.is_false(pcall(nn.Linear, 1, 1))
    assert.is_true(rawequal(weight, m.weight) and rawequal(b, m.b) and rawequal(child, m.child))
    assert.same({ 1, nil }, { m.field, m.new })
    assert.same({ "weight", "bias", "b" }, keys(pairs(m:state_dict())))
  end)

  it("must return what fits", function()
    local m = nn.Module()
    for _, value in ipairs { 3, lucerna.ones(1), nn.ReLU() } do
      local _ <close> = nn.register_module_parameter_registration_hook(function() return value end)
      fails("registration hook: must return", set, m, "a", parameter(1))
    end
    local _ <close> = nn.register_module_module_registration_hook(function()
      return lucerna.ones(1)
    end)
    fails("module registration hook: must return an nn.Module or nil for 'a'", set, m, "a",
      nn.ReLU())
    assert.is_nil(m.a)
    fails("hook must be a function (got number)",
      nn.register_module_buffer_registration_hook, 3)
  end)

  it("may remove itself or others, add hooks and register more", function()
    local m, calls, first, second = nn.Module(), {}, nil, nil
    first = nn.register_module_parameter_registration_hook(function(_, name)
      calls[#calls + 1] = "first " .. name
      first:remove()
      second:remove()
      m.extra = parameter(1)
      nn.register_module_parameter_registration_hook(function(_, n)
        calls[#calls + 1] = "third " .. n
        first.third:remove()
      end)
      first.third = nn.register_module_parameter_registration_hook(function() end)
    end)
    second = nn.register_module_parameter_registration_hook(function()
      calls[#calls + 1] = "second"
    end)
    m.a = parameter(1)
    assert.same({ "first a" }, calls)
    assert.is_truthy(m.extra)
    first:remove()
    m.b = parameter(1)
    assert.same({ "first a", "third b" }, calls)
  end)

  it("cannot yield or go on for ever, and the module stays as it was", function()
    local m = nn.Linear(1, 1)
    local weight = m.weight
    do
      local _ <close> = nn.register_module_parameter_registration_hook(coroutine.yield)
      fails("attempt to yield across a C-call boundary",
        coroutine.wrap(function() m.weight = parameter(2) end))
    end
    local _ <close> = nn.register_module_parameter_registration_hook(function(module, name)
      module[name] = parameter(3)
    end)
    fails("stack overflow", set, m, "weight", parameter(2))
    assert.is_true(rawequal(weight, m.weight))
  end)

  it("and all that belongs to a class leaves nothing behind", function()
    local function cycle()
      local Net = nn.class("Net")
      Net.p = nn.property(function(self) return self.q end)
      function Net:train(mode) return nn.Module.train(self, mode) end
      local net = Net()
      net.q, net.lin = nn.unregistered { net }, nn.Linear(2, 2)
      net.lin.owner = net.q
      local handle
      handle = nn.register_module_module_registration_hook(function() return nil, handle, net end)
      net.other = nn.ReLU()
      net:train():double()
      handle:remove()
      net.lin.train = function() return net end
      net:eval()
    end
    for _ = 1, 10 do cycle() end
    local before = live()
    for _ = 1, 1000 do cycle() end
    assert.equal(before, live())
  end)

  it("that takes the module apart meanwhile does no harm", function()
    local net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    local _ <close> = nn.register_module_parameter_registration_hook(function(m)
      for _, name in ipairs { "weight", "bias" } do pcall(nn.delattr, m, name) end
      collectgarbage()
    end)
    net[1].weight = parameter(3, 3)
    assert.same({ 3, 3 }, net[1].weight.shape)
    for _ = 1, 5 do assert.is_truthy(nn.Linear(3, 3)) end
  end)
end)

describe("registration methods of a class", function()
  it("are called by assignments", function()
    local Net, log = nn.class("Net"), {}
    function Net:register_parameter(name, p)
      log[#log + 1] = "parameter " .. name
      nn.Module.register_parameter(self, name, p)
    end
    function Net:register_buffer(name, b, persistent)
      log[#log + 1] = ("buffer %s %s"):format(name, persistent)
      nn.Module.register_buffer(self, name, b, persistent)
    end
    local m = Net()
    m.field = 1
    m.p = parameter(1)
    m.field = parameter(1)
    m.p = nil
    m.b = nn.Buffer(lucerna.ones(1), false)
    m.b = lucerna.ones(2)
    assert.same({ "parameter p", "parameter field", "parameter p", "buffer b false",
      "buffer b false" }, log)
    assert.same({ 2 }, m.b.shape)
    assert.same({ "field" }, keys(m:named_parameters()))
    nn.Linear(1, 1).weight = parameter(1)
    assert.equal(5, #log)
  end)

  it("are called for what a C layer makes", function()
    local Norm, log = nn.class("Norm", nn.BatchNorm1d), {}
    function Norm:register_parameter(name, p)
      log[#log + 1] = name
      if name == "weight" then nn.Module.register_parameter(self, name, p) end
    end
    function Norm:register_buffer(name, b, persistent)
      log[#log + 1] = name
      nn.Module.register_buffer(self, "my_" .. name, b, persistent)
    end
    local m = Norm(2)
    assert.same({ "weight", "bias", "running_mean", "running_var", "num_batches_tracked" }, log)
    assert.same({ "weight" }, keys(m:named_parameters()))
    assert.same({ "my_running_mean", "my_running_var", "my_num_batches_tracked" },
      keys(m:named_buffers()))
  end)

  it("without persistent refuse buffers that are not", function()
    local Net = nn.class("Net")
    function Net:register_buffer(name, b) nn.Module.register_buffer(self, name, b) end
    local m = Net()
    nn.Module.register_buffer(m, "b", lucerna.ones(1), false)
    fails("Registering a non-persistent buffer on a Module subclass that implements "
      .. "register_buffer() without the persistent argument is not allowed.", set, m, "b",
      lucerna.ones(1))
    m.c = nn.Buffer(lucerna.ones(1))
    assert.same({ 1 }, m.c.shape)
  end)

  it("that raise leave the field there was", function()
    local m = nn.Module()
    m.x = "field"
    m.register_parameter = function() error("no parameters here") end
    fails("no parameters here", set, m, "x", parameter(1))
    assert.equal("field", m.x)
    m.register_parameter = nil
    m.x = parameter(1)
    assert.same({ 1 }, m.x.shape)
  end)
end)
