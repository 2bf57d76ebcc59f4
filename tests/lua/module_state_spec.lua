-- state_dict, load_state_dict and texts of trees, against PyTorch's.

local lucerna = require "lucerna"
local nn = lucerna.nn
local parity = require "parity"
local cases = parity.load "modules"

local Net = nn.class("Net")
function Net:__init()
  self.features = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(true))
  self.blocks = nn.ModuleList {nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()}
  self.heads = nn.ModuleDict {a = nn.Linear(2, 1), b = nn.Identity()}
  self.scale = nn.Parameter(lucerna.ones(1))
  self:register_buffer("mean", lucerna.zeros(2))
end

local function make(source)
  return assert(load("return " .. source, source, "t", {nn = nn, lucerna = lucerna, Net = Net}))()
end

local message_of = parity.message

describe("a module's text", function()
  for _, case in ipairs(cases.texts) do
    it("is Python's for " .. case.lua, function()
      assert.are.equal(case.text, tostring(make(case.lua)))
    end)
  end

  it("has the extra_repr of a class written in Lua", function()
    local Extra = nn.class("Extra")
    function Extra:extra_repr() return self.text end
    local m = Extra()
    m.text = "a=1, b=2"
    assert.are.equal("Extra(a=1, b=2)", tostring(m))
    m.text = "a\nb"
    assert.are.equal("Extra(\n  a\n  b\n)", tostring(m))
    m.text, m.act = "a", nn.ReLU()
    assert.are.equal("Sequential(\n  (0): Extra(\n    a\n    (act): ReLU()\n  )\n)",
      tostring(nn.Sequential(m)))
    m.text = 3
    assert.matches("extra_repr: must return a string", message_of(tostring, m))
  end)

  it("counts dims from 1", function()
    assert.are.equal("Softmax(dim=2)", tostring(nn.Softmax(2)))
    assert.are.equal("Softmax(dim=-1)", tostring(nn.Softmax(-1)))
    assert.are.equal("Flatten(start_dim=2, end_dim=-1)", tostring(nn.Flatten()))
    assert.are.equal("Embedding(5, 3, padding_idx=1)",
      tostring(nn.Embedding(5, 3, {padding_idx = 1})))
  end)
end)

describe("state_dict", function()
  for _, case in ipairs(cases.texts) do
    it("has PyTorch's keys for " .. case.lua, function()
      local keys = {}
      for key in pairs(make(case.lua):state_dict()) do keys[#keys + 1] = key end
      assert.are.same(case.keys, keys)
    end)
  end

  it("is an ordered map", function()
    local sd = Net():state_dict()
    assert.are.equal(10, #sd)
    assert.are.same({1}, sd.scale:size())
    assert.is_nil(sd.nothing)
    sd.scale = nil
    assert.are.equal(9, #sd)
    sd.extra, sd.mean = lucerna.ones(1), lucerna.ones(3)
    local first, last
    for key in pairs(sd) do first, last = first or key, key end
    assert.are.same({"mean", "extra"}, {first, last})
    sd.mean = nil
    sd["\0store"], sd.nothing = lucerna.ones(1), nil
    sd.mean = lucerna.ones(3)
    local met = {}
    for key in pairs(sd) do
      met[#met + 1] = key
      sd[key] = nil
    end
    assert.are.equal(11, #met)
    assert.are.same({"extra", "\0store", "mean"}, {met[9], met[10], met[11]})
    assert.are.equal(0, #sd)
    assert.are.equal(1, sd._metadata[""].version)
    assert.are.equal(1, sd._metadata["features.0"].version)
    assert.are.equal(2, nn.BatchNorm1d(1):state_dict()._metadata[""].version)
  end)

  it("takes any key, also beside one that went and came back", function()
    local sd = nn.Linear(1, 1):state_dict()
    sd.weight, sd[false] = nil, 1
    sd.weight = 2
    assert.are.equal(3, #sd)
    assert.are.same({"bias", false, "weight"}, parity.list(pairs(sd)))
  end)

  it("takes no memory for keys that are gone, and loops go on meanwhile", function()
    local sd, met = nn.Linear(1, 1):state_dict(), {}
    collectgarbage()
    local before = collectgarbage "count"
    for key in pairs(sd) do
      met[#met + 1] = key
      for i = 1, 20000 do
        sd[i] = true
        sd[i] = nil
      end
    end
    collectgarbage()
    assert.is_true(collectgarbage "count" < before + 100)
    assert.are.same({"weight", "bias"}, {met[1], met[2]})
    sd.bias = nil
    sd.bias = 1
    assert.are.same({"weight", "bias"}, parity.list(pairs(sd)))
  end)

  it("has the versions that classes written in Lua set", function()
    local Versioned = nn.class("Versioned")
    Versioned._version = 3
    assert.are.equal(3, nn.Sequential(Versioned()):state_dict()._metadata["0"].version)
  end)

  it("holds detached views, or the variables themselves", function()
    local net = Net()
    local sd = net:state_dict()
    assert.is_false(sd.scale.requires_grad)
    net.scale.data:fill_(5)
    assert.are.equal(5, sd.scale:item())
    assert.is_true(rawequal(net.scale, net:state_dict {keep_vars = true}.scale))
  end)

  it("takes a prefix and a destination", function()
    local into = nn.Linear(1, 1):state_dict()
    local sd = nn.Sequential(nn.Linear(1, 1)):state_dict {destination = into, prefix = "net."}
    local keys = {}
    for key in pairs(sd) do keys[#keys + 1] = key end
    assert.are.same({"weight", "bias", "net.0.weight", "net.0.bias"}, keys)
    assert.are.equal(1, sd._metadata["net.0"].version)
    assert.are.equal(1, sd._metadata.net.version)
  end)
end)

describe("load_state_dict", function()
  it("copies values into the tensors there are", function()
    local a, b = Net(), Net()
    local weight = b.features[1].weight
    local missing, unexpected = b:load_state_dict(a:state_dict())
    assert.are.same({}, missing)
    assert.are.same({}, unexpected)
    assert.is_true(rawequal(weight, b.features[1].weight))
    assert.is_true(lucerna.equal(a.features[1].weight, weight))
    local l = nn.Linear(1, 1)
    l:load_state_dict {weight = lucerna.tensor {{2}}, bias = lucerna.tensor {3}}
    assert.are.equal(5.0, l(lucerna.ones(1)):item())
    assert.are.equal(lucerna.float32, l.weight.dtype)
  end)

  for _, case in ipairs(cases.loads) do
    it("says what PyTorch says for " .. case.state, function()
      local message = message_of(function()
        local m = make(case.lua)
        m:load_state_dict(make(case.state))
      end)
      assert.are.equal(case.message, (message:gsub("^[^\n]-:%d+: ", "")))
    end)
  end

  it("changes nothing when anything is wrong", function()
    local l = nn.Linear(2, 2)
    local before = l.weight:clone()
    pcall(l.load_state_dict, l, {weight = lucerna.ones(2, 2), bias = lucerna.ones(3)})
    pcall(l.load_state_dict, l, {weight = lucerna.ones(2, 2)})
    assert.is_true(lucerna.equal(before, l.weight))
  end)

  it("reports names when not strict", function()
    local l = nn.Linear(2, 2)
    local missing, unexpected =
      l:load_state_dict({weight = lucerna.ones(2, 2), x = lucerna.ones(1)}, {strict = false})
    assert.are.same({"bias"}, missing)
    assert.are.same({"x"}, unexpected)
    assert.are.equal(4, l.weight:sum():item())
    assert.matches("size mismatch for weight", message_of(l.load_state_dict, l,
      {weight = lucerna.ones(3)}, {strict = false}))
  end)

  it("assigns when asked to", function()
    local l = nn.Linear(2, 2)
    local old = l.weight
    local value = lucerna.ones(2, 2, {dtype = lucerna.float64})
    l:load_state_dict({weight = value, bias = lucerna.zeros(2)}, {assign = true})
    assert.is_false(rawequal(old, l.weight))
    assert.are.equal(lucerna.float64, l.weight.dtype)
    assert.is_true(l.weight.requires_grad)
    local names = {}
    for name in l:named_parameters() do names[#names + 1] = name end
    assert.are.same({"weight", "bias"}, names)
  end)

  it("says what is no tensor", function()
    local l = nn.Linear(1, 1)
    assert.matches('While copying the parameter named "bias", expected torch.Tensor or ' ..
      'Tensor-like object from checkpoint but received number', message_of(l.load_state_dict, l,
        {weight = lucerna.ones(1, 1), bias = 3}), 1, true)
    assert.matches("state_dict must be a table", message_of(l.load_state_dict, l, 3))
    assert.matches("must be a table %(got Linear%)", message_of(l.load_state_dict, l, l))
    assert.matches("but received none", -- a loaded None
      message_of(l.load_state_dict, l, {weight = lucerna.none, bias = l.bias}))
    assert.matches("unknown argument 'stric'",
      message_of(l.load_state_dict, l, {}, {stric = true}))
  end)

  it("loads batch norms from before they counted batches", function()
    local bn = nn.BatchNorm1d(2)
    local sd = bn:state_dict()
    sd.num_batches_tracked, sd._metadata = nil, nil
    bn:load_state_dict(sd)
    sd._metadata = {[""] = {version = 2}}
    assert.matches('Missing key%(s%) in state_dict: "num_batches_tracked"',
      message_of(bn.load_state_dict, bn, sd))
  end)
end)
