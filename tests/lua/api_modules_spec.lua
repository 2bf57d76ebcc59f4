-- The API contract's section on modules, sentence by sentence.
local lucerna = require "lucerna"
local parity = require "parity"

local nn, message, keys = lucerna.nn, parity.message, parity.list

local LeNet = nn.class("LeNet")

function LeNet:__init(classes)
  self.conv1 = nn.Conv2d(1, 2, 5)
  self.scale = nn.Parameter(lucerna.ones(1))
  self:register_buffer("mean", lucerna.zeros(1))
  self.width = 28
  self.options = { classes = classes }
end

function LeNet:forward(x) return self.conv1(x * self.scale) end

describe("a class of modules", function()
  it("registers what is assigned and keeps ordinary fields", function()
    local net = LeNet(10)
    assert.same({ 1, 2, 1, 1 }, net(lucerna.ones(1, 1, 5, 5)).shape)
    assert.same({ "scale", "conv1.weight", "conv1.bias" }, keys(net:named_parameters()))
    assert.same({ "scale", "mean", "conv1.weight", "conv1.bias" }, keys(pairs(net:state_dict())))
    assert.equal(28, net.width)
    assert.equal("LeNet", net:_get_name())
    assert.is_nil(net.missing)
    assert.equal("LeNet(\n  (conv1): Conv2d(1, 2, kernel_size=(5, 5), stride=(1, 1))\n)",
      tostring(net))
  end)

  it("can be derived from one written in C", function()
    local Twice = nn.class("Twice", nn.Linear)
    function Twice:__init(n) nn.Linear.__init(self, n, n, { bias = false }) end
    function Twice:forward(x) return nn.Linear.forward(self, x) * 2 end
    local m, x = Twice(3), lucerna.ones(1, 3)
    assert.is_true(nn.isinstance(m, nn.Linear))
    assert.is_false(nn.isinstance(m, nn.Conv2d))
    assert.is_false(nn.isinstance(3, nn.Module))
    assert.is_true(nn.isinstance(m, { nn.Conv2d, nn.Linear }))
    assert.matches("class must be a class of modules %(got number 3%)",
      message(nn.isinstance, m, 3))
    assert.equal("Twice(in_features=3, out_features=3, bias=False)", tostring(m))
    assert.same((nn.functional.linear(x, m.weight) * 2):tolist(), m(x):tolist())
  end)

  it("clones deeply: parameters, buffers, fields, hooks", function()
    local net = LeNet(10)
    net.tied, net.back = net.scale, nn.unregistered { net }
    local handle = net:register_forward_hook(function() return "hooked" end)
    local copy = net:clone()
    handle:remove()
    lucerna.no_grad(function() copy.scale:fill_(5) end)
    assert.equal(1, net.scale:item())
    assert.equal(copy.tied, copy.scale)
    assert.equal(copy, copy.back[1])
    assert.is_true(nn.isinstance(copy, LeNet))
    assert.is_true(copy.conv1 ~= net.conv1 and copy.options ~= net.options)
    assert.equal(10, copy.options.classes)
    assert.equal("hooked", copy(lucerna.ones(1, 1, 5, 5)))
    assert.same({ 1, 2, 1, 1 }, net(lucerna.ones(1, 1, 5, 5)).shape)
  end)
end)

describe("a name of a module", function()
  it("is emptied by nil and removed by delattr", function()
    local m = nn.Linear(1, 1)
    m.bias = nil
    assert.is_nil(m.bias)
    assert.same({ "weight", "bias" }, keys(pairs(m._parameters)))
    nn.delattr(m, "bias")
    assert.same({ "weight" }, keys(pairs(m._parameters)))
    assert.matches("'Linear' object has no attribute 'bias'", message(nn.delattr, m, "bias"))
  end)

  it("keeps its kind", function()
    local net = LeNet(10)
    local function assign(key, value) return message(function() net[key] = value end) end
    assert.matches("cannot assign 'Tensor' as parameter 'scale' %(nn.Parameter or nil expected%)",
      assign("scale", lucerna.ones(1)))
    assert.matches("cannot assign 'Linear' as parameter 'scale'",
      assign("scale", nn.Linear(1, 1)))
    assert.matches("cannot assign 'number' as child module 'conv1' %(nn.Module or nil expected%)",
      assign("conv1", 3))
    assert.matches("cannot assign 'string' as buffer 'mean' " ..
      "%(nn.Buffer, Tensor or nil expected%)", assign("mean", "a"))
    net.mean = lucerna.ones(3)
    assert.same({ 3 }, net.mean.shape)
    nn.delattr(net, "scale")
    net.scale = 7
    assert.equal(7, net.scale)
  end)

  it("of an ordinary field becomes a parameter's or a child's", function()
    local net = LeNet(10)
    net.width = nn.Parameter(lucerna.ones(2))
    assert.is_true(#net:state_dict() == 5 and net:state_dict()["width"] ~= nil)
    net.options = nn.ReLU()
    assert.equal("options", keys(net:named_children())[2])
  end)

  it("cannot hold a plain table of modules or parameters", function()
    local net = LeNet(10)
    for _, value in ipairs {
      { nn.ReLU() }, { a = { b = { nn.Parameter(lucerna.ones(1)) } } },
    } do
      local text = message(function() net.layers = value end)
      for _, word in ipairs {
        "'layers'", "nn.ModuleList", "nn.ModuleDict", "nn.ParameterList", "nn.unregistered",
      } do
        assert.truthy(text:find(word, 1, true), text)
      end
    end
    net.layers = nn.unregistered { nn.ReLU() }
    assert.equal("ReLU()", tostring(net.layers[1]))
    net.later = {}
    net.later[1] = nn.ReLU()
    assert.matches("'later'", message(function() net:parameters() end))
    assert.matches("'later'", message(function() net:state_dict() end))
  end)

  it("of a method can be overridden on an instance, C layers too", function()
    local m = nn.Linear(2, 2)
    local seq = nn.Sequential(nn.ReLU(), m)
    m.forward = function(self, x) return self == m and x * 3 end
    m.extra_repr = function() return "mine" end
    assert.same({ { 3, 3 } }, seq(lucerna.ones(1, 2)):tolist())
    assert.equal("Linear(mine)", tostring(m))
    m.forward = nil
    assert.same({ 1, 2 }, seq(lucerna.ones(1, 2)).shape)
  end)
end)

describe("a container", function()
  it("is reached by positions from 1", function()
    local a, b = nn.ReLU(), nn.Tanh()
    for _, c in ipairs { nn.Sequential(a, b), nn.ModuleList { a, b } } do
      assert.equal(2, #c)
      assert.is_true(c[1] == a and c[2] == b and c[-1] == b)
      assert.is_nil(c[3])
      local n = 0
      for i, m in ipairs(c) do
        n = n + 1
        assert.equal(c[i], m)
      end
      assert.equal(2, n)
      assert.matches("index 0 is out of range %[1, 2%] %(indices count from 1%)",
        message(function() return c[0] end))
      assert.matches("index 0 is out of range", message(function() c[0] = nn.ReLU() end))
      c[1] = nn.GELU()
      assert.equal("GELU(approximate='none')", tostring(c[1]))
    end
  end)

  it("keeps the order of pairs, and sorts a plain table's names", function()
    local pairs_given = nn.Sequential {
      { "conv", nn.Conv2d(1, 1, 1) }, { "act", nn.ReLU() },
    }
    assert.same({ "conv", "act" }, keys(pairs_given:named_children()))
    assert.equal("ReLU()", tostring(pairs_given.act))
    local dict = nn.ModuleDict { { "b", nn.ReLU() }, { "a", nn.Tanh() } }
    assert.same({ "b", "a" }, keys(dict:named_children()))
    dict = nn.ModuleDict { z = nn.ReLU(), b = nn.Tanh(), m = nn.GELU() }
    assert.same({ "b", "m", "z" }, keys(dict:named_children()))
  end)

  it("names its children from 0 in state dicts and in print", function()
    local seq = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    assert.same({ "0.weight", "0.bias" }, keys(pairs(seq:state_dict())))
    assert.equal("Sequential(\n  (0): Linear(in_features=1, out_features=1, bias=True)\n" ..
      "  (1): ReLU()\n)", tostring(seq))
  end)
end)

describe("iterators", function()
  it("are for the generic for", function()
    local net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    assert.same({ "0.weight", "0.bias" }, keys(net:named_parameters()))
    assert.same({ "", "0", "1" }, keys(net:named_modules()))
    assert.equal(3, #keys(net:modules()))
    assert.equal(2, #keys(net:children()))
    assert.equal(3, #keys(nn.BatchNorm1d(2):buffers()))
  end)
end)

describe("hooks", function()
  local x = lucerna.ones(1, 2)

  it("before forward get packed arguments and may replace them", function()
    local m = nn.Identity()
    local handle = m:register_forward_pre_hook(function(self, args)
      assert.is_true(self == m and args.n == 1)
      return { args[1] * 2 }
    end)
    assert.same({ { 2, 2 } }, m(x):tolist())
    handle:remove()
    handle:remove()
    assert.same({ { 1, 1 } }, m(x):tolist())
  end)

  it("after forward get the value, or a packed table of several", function()
    local m, seen = nn.Identity(), nil
    m:register_forward_hook(function(_, args, output) seen = { args.n, output } end)
    local y = m(x)
    assert.is_true(seen[1] == 1 and seen[2] == y)
    local Two = nn.class("Two")
    function Two:forward(a, b) return a, b end -- luacheck: no self
    local two = Two()
    two:register_forward_hook(function(_, _, output)
      return { n = output.n, output[2], output[1] }
    end)
    assert.same({ 2, 1 }, { two(1, 2) })
  end)

  it("can come first, always be called, and end with a block", function()
    local m, order = nn.Linear(2, 1), {}
    local function say(word) return function() order[#order + 1] = word end end
    local _ <close> = m:register_forward_hook(say "a")
    local _ <close> = m:register_forward_hook(say "b", { prepend = true })
    m(x)
    assert.same({ "b", "a" }, order)
    do
      local _ <close> = m:register_forward_hook(say "c", { always_call = true })
      assert.matches("in Linear", message(m, lucerna.ones(1, 3)))
    end
    m(x)
    assert.same({ "b", "a", "c", "b", "a" }, order)
  end)
end)

describe("a state dict", function()
  local net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))

  it("is an ordered map", function()
    local sd = net:state_dict()
    assert.equal(4, #sd)
    assert.same({ "0.weight", "0.bias", "2.weight", "2.bias" }, keys(pairs(sd)))
    assert.same({ 3, 2 }, sd["0.weight"].shape)
    assert.equal(1, sd._metadata["0"].version)
    sd["0.bias"] = nil
    assert.same({ "0.weight", "2.weight", "2.bias" }, keys(pairs(sd)))
    assert.equal(3, #sd)
  end)

  it("is loaded as a whole or not at all, and the error lists everything", function()
    local sd = net:state_dict()
    local before = net[1].weight:tolist()
    sd["0.weight"] = lucerna.zeros(3, 2)
    sd["0.bias"] = nil
    sd["zzz"] = lucerna.ones(1)
    sd["2.weight"] = lucerna.ones(7)
    local text = message(function() net:load_state_dict(sd) end)
    assert.equal("Error(s) in loading state_dict for Sequential:\n" ..
      '\tMissing key(s) in state_dict: "0.bias". \n' ..
      '\tUnexpected key(s) in state_dict: "zzz". \n' ..
      "\tsize mismatch for 2.weight: copying a param with shape torch.Size([7]) from " ..
      "checkpoint, the shape in current model is torch.Size([1, 3]).",
      (text:gsub("^.-: ", "", 1)))
    assert.same(before, net[1].weight:tolist())
  end)

  it("may be partial: two arrays say what did not match", function()
    local missing, unexpected = net:load_state_dict({ zzz = lucerna.ones(1) }, { strict = false })
    assert.same({ "0.weight", "0.bias", "2.weight", "2.bias" }, missing)
    assert.same({ "zzz" }, unexpected)
  end)
end)

describe("an error in a module", function()
  it("gains the path from the module that was called", function()
    local Net = nn.class("Net")
    function Net:__init()
      self.features = nn.Sequential(nn.ReLU(), nn.ReLU(), nn.Identity(), nn.Conv2d(1, 2, 3))
    end
    function Net:forward(x, own) return own and x + lucerna.ones(7) or self.features(x) end
    local net = Net()
    assert.matches("^[^\n]*api_modules_spec.lua:%d+: in features%.3 %(Conv2d%): conv2d: [^\n]*$",
      message(function() return net(lucerna.ones(1, 2, 4, 4)) end))
    assert.matches("^[^\n]*: in Net: add: [^\n]*$",
      message(function() return net(lucerna.ones(2), true) end))
    assert.matches("in 3 %(Conv2d%): conv2d",
      message(function() return net.features(lucerna.ones(1, 2, 4, 4)) end))
  end)

  it("of the user's own passes untouched", function()
    local Net, mine = nn.class("Net"), {}
    function Net:forward() error(mine) end -- luacheck: no self
    local ok, err = pcall(Net(), 1)
    assert.is_true(not ok and err == mine)
  end)

  it("says so when there is no forward", function()
    for name, m in pairs { Module = nn.Module(), ModuleList = nn.ModuleList() } do
      assert.matches(('Module %%[%s%%] is missing the required "forward"'):format(name),
        message(m, 3))
    end
  end)
end)

describe("tostring", function()
  it("of Identity, which takes any arguments, shows none", function()
    assert.equal("Identity()", tostring(nn.Identity(54, { unused = 0.1 })))
  end)

  it("counts dims and positions from 1", function()
    assert.equal("Softmax(dim=2)", tostring(nn.Softmax(2)))
    assert.equal("Softmax(dim=-1)", tostring(nn.Softmax { dim = -1 }))
    assert.equal("Flatten(start_dim=2, end_dim=-1)", tostring(nn.Flatten()))
    assert.equal("Embedding(5, 3, padding_idx=1)",
      tostring(nn.Embedding(5, 3, { padding_idx = 1 })))
    assert.equal("BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)",
      tostring(nn.BatchNorm2d(3)))
    assert.equal("LayerNorm((5, 3), eps=1e-05, elementwise_affine=True)",
      tostring(nn.LayerNorm { 5, 3 }))
    local m = nn.Linear(1, 1)
    m.bias = nil
    assert.equal("Linear(in_features=1, out_features=1, bias=False)", tostring(m))
  end)
end)

describe("nn.utils", function()
  local utils = require "lucerna.nn.utils"

  local function with_gradients()
    local m = nn.Linear(2, 1)
    m.weight.grad, m.bias.grad = lucerna.tensor { { 3.0, 0.0 } }, lucerna.tensor { -4.0 }
    return m
  end

  it("clips gradients by their norm", function()
    local m = with_gradients()
    assert.equal(5, utils.clip_grad_norm_(m:parameters(), 1):item())
    assert.near(0.6, m.weight.grad[{ 1, 1 }]:item(), 1e-6)
    assert.near(-0.8, m.bias.grad:item(), 1e-6)
    assert.near(1, utils.clip_grad_norm_(m:parameters(), { max_norm = 9 }):item(), 1e-6)
    assert.matches("clip_grad_norm_: max_norm must be a number %(got nil%)",
      message(utils.clip_grad_norm_, m:parameters()))
  end)

  it("clips gradients by value", function()
    local m = with_gradients()
    utils.clip_grad_value_(m:parameters(), 2)
    assert.same({ { 2, 0 } }, m.weight.grad:tolist())
    assert.equal(-2, m.bias.grad:item())
  end)

  it("makes one vector of parameters and takes it back", function()
    local a, b = nn.Linear(2, 1), nn.Linear(2, 1)
    utils.vector_to_parameters(utils.parameters_to_vector(a:parameters()), b:parameters())
    assert.same(a.weight:tolist(), b.weight:tolist())
    assert.same(a.bias:tolist(), b.bias:tolist())
    assert.matches("vec has 1 elements, the parameters need 3",
      message(utils.vector_to_parameters, lucerna.ones(1), b:parameters()))
  end)
end)
