-- Texts of modules, character for character what PyTorch prints (dims counted from 1): recorded by
-- tests/parity/gen_repr.py, whose cases are a line each.

local lucerna = require "lucerna"
local nn = lucerna.nn
local parity = require "parity"
local cases = parity.load "repr"

local message_of = parity.message

-- ---- the models of the cases ----

local models = {nn = nn, lucerna = lucerna}

local Block = nn.class "Block"
function Block:__init(inputs, outputs, stride)
  stride = stride or 1
  self.conv1 = nn.Conv2d(inputs, outputs, 3, {stride = stride, padding = 1, bias = false})
  self.bn1 = nn.BatchNorm2d(outputs)
  self.relu = nn.ReLU(true)
  self.conv2 = nn.Conv2d(outputs, outputs, 3, {padding = 1, bias = false})
  self.bn2 = nn.BatchNorm2d(outputs)
  self:register_module("downsample", nil)
  if stride ~= 1 then
    self.downsample = nn.Sequential(
      nn.Conv2d(inputs, outputs, 1, {stride = stride, bias = false}), nn.BatchNorm2d(outputs))
  end
end

models.ResNet = nn.class "ResNet"
function models.ResNet:__init()
  self.conv1 = nn.Conv2d(3, 8, 7, {stride = 2, padding = 3, bias = false})
  self.maxpool = nn.MaxPool2d {kernel_size = 3, stride = 2, padding = 1}
  self.layer1 = nn.Sequential(Block(8, 8), Block(8, 8))
  self.layer2 = nn.Sequential(Block(8, 16, 2), Block(16, 16))
  self.avgpool = nn.AdaptiveAvgPool2d {1, 1}
  self.fc = nn.Linear(16, 10)
end

models.MLP = nn.class "MLP"
function models.MLP:__init()
  self.layers = nn.ModuleList {nn.Linear(4, 8)}
  for _ = 1, 3 do self.layers:append(nn.Linear(8, 8)) end
  self.heads = nn.ModuleDict {
    {"label", nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 3))}, {"value", nn.Linear(8, 1)},
  }
  self.scales = nn.ParameterList {lucerna.ones(2, 3), lucerna.ones(1)}
  self.extras = nn.ParameterDict {a = lucerna.ones(4), b = lucerna.ones(2, 2):double()}
  self.act = nn.GELU()
end

models.LeNet = nn.class "LeNet"
function models.LeNet:__init()
  self.features = nn.Sequential(
    nn.Conv2d(1, 6, 5, {padding = 2}), nn.Tanh(), nn.AvgPool2d(2, {stride = 2}),
    nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2, {stride = 2}))
  self.flatten = nn.Flatten()
  self.classifier = nn.Sequential(nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
    nn.Linear(84, 10), nn.Softmax {dim = 2})
end

models.Extra = nn.class "Extra"
function models.Extra:__init(text, ...)
  self.text = text
  for i, child in ipairs {...} do
    if nn.isinstance(child, nn.Module) then
      self:add_module("c" .. i, child)
    else
      self._get_name = function() return child.name end
    end
  end
end
function models.Extra:extra_repr() return self.text end

models.Said = nn.class "Said"
function models.Said.__tostring() return "I am\ntwo lines" end

models.Wide = nn.class("Wide", nn.Linear)
function models.Wide:extra_repr() return nn.Linear.extra_repr(self) .. ", wide=True" end

models.Bits = nn.class("Bits", nn.ModuleList)
function models.Bits.extra_repr() return "not shown" end

function models.emptied(module, name)
  module[name] = nil
  return module
end

function models.parametrized(net)
  nn.utils.parametrize.register_parametrization(net[1], "weight", nn.Tanh())
  nn.utils.parametrize.register_parametrization(net[1], "weight", nn.ReLU())
  return net
end

-- ---- the cases ----

-- A layer of the case that does not exist, or nil.
local function lacks(source)
  for name in source:gmatch("nn%.(%u%w+)") do
    if nn[name] == nil then return name end
  end
end

describe("the text of", function()
  for _, case in ipairs(cases) do
    it(case.lua:gsub("\n", " "), function()
      local missing = lacks(case.lua)
      if missing then return pending("there is no nn." .. missing) end
      local m = assert(load("return " .. case.lua, case.lua, "t", models))()
      assert.are.equal(case.text, tostring(m))
      assert.are.equal(case.text, tostring(m:clone()))
    end)
  end

  it("every class is recorded", function()
    local texts = {}
    for _, case in ipairs(cases) do texts[#texts + 1] = case.text end
    local all, missing = table.concat(texts, "\n"), {}
    for _, name in ipairs(require("lucerna.core").nn.names()) do
      if not all:find("%f[%w]" .. name .. "%(") then missing[#missing + 1] = name end
    end
    assert.are.same({}, missing)
  end)
end)

-- ---- what Lua code says ----

describe("a text", function()
  it("has the name and extra_repr that one module was given", function()
    local m = nn.Linear(2, 3)
    m.extra_repr = function(self) return "to " .. self.out_features end
    assert.are.equal("Linear(to 3)", tostring(m))
    assert.are.equal("Sequential(\n  (0): Linear(to 3)\n)", tostring(nn.Sequential(m)))
    m._get_name = function() return "" end
    assert.are.equal("(to 3)", tostring(m))
    m.extra_repr = function() return "" end
    assert.are.equal("()", tostring(m))
  end)

  it("passes on what extra_repr raises, and goes on after that", function()
    local Bad = nn.class "Bad"
    local what = {}
    function Bad.extra_repr() error(what) end
    local net = nn.Sequential(nn.ReLU(), nn.ModuleList {Bad()})
    assert.are.equal(what, message_of(tostring, net))
    function Bad.extra_repr() return 3 end
    assert.matches("extra_repr: must return a string %(got a number%)", message_of(tostring, net))
    function Bad.extra_repr() return nil end
    assert.matches("must return a string %(got a nil%)", message_of(tostring, net))
    function Bad.extra_repr() return "fine" end
    assert.matches("%(0%): Bad%(fine%)", tostring(net))
    function Bad._get_name() error("no name", 0) end
    assert.are.equal("no name", message_of(tostring, net))
  end)

  it("is written while the tree changes", function()
    local Wild = nn.class "Wild"
    local net = nn.Sequential(Wild(), nn.Sequential(nn.Linear(1, 1), Wild()), nn.ReLU())
    function Wild.extra_repr()
      while #net > 0 do net:pop() end
      collectgarbage()
      collectgarbage()
      return "x"
    end
    assert.are.equal("Sequential(\n  (0): Wild(x)\n)", tostring(net))
    net:extend {nn.Sequential(nn.Sequential(Wild(), nn.Tanh()), nn.ReLU())}
    assert.matches("Wild%(x%)", tostring(net))
    function Wild.extra_repr()
      net:append(nn.Tanh())
      return tostring(nn.ReLU())
    end
    net:append(Wild())
    assert.are.equal("Sequential(\n  (0): Wild(ReLU())\n  (1): Tanh()\n)", tostring(net))
  end)

  it("does not overflow in deep trees", function()
    local function nested(n, m)
      for _ = 1, n do m = nn.Sequential(m) end
      return m
    end
    local text = tostring(nested(1000, nn.ReLU()))
    assert.are.equal(2001, select(2, text:gsub("\n", "\n")) + 1)
    assert.matches("\n" .. (" "):rep(2000) .. "%(0%): ReLU%(%)\n", text)
    text = tostring(nested(50000, nn.ReLU()))
    assert.matches("%(0%): Sequential%(%.%.%.%)\n", text)
    local lists = nn.ModuleList {nn.ReLU(), nn.ReLU()}
    for _ = 1, 9 do lists = nn.ModuleList {lists, lists} end
    assert.are.equal(21, select(2, tostring(lists):gsub("\n", "\n")) + 1)
  end)

  it("of a parameter says so", function()
    local p = nn.Parameter(lucerna.tensor {1.0, 2.0})
    assert.are.equal("Parameter containing:\ntensor([1., 2.], requires_grad=True)", tostring(p))
    assert.are.equal("Parameter containing:\ntensor([], requires_grad=True)",
      tostring(nn.Parameter()))
    assert.are.equal("Parameter containing:\ntensor([1, 2])",
      tostring(nn.Parameter(lucerna.tensor {1, 2}, false)))
  end)

  it("has floats as Python writes them: the fewest digits that read back", function()
    for _, text in ipairs { "0.1", "0.3", "0.9", "0.999", "1e-05", "0.0001", "0.00012345", "1e-08",
      "1.5e-07", "9.5e-05", "1e-22", "1e-23", "5e-324", "2.2250738585072014e-308", "100.0",
      "123456.789", "999999999999999.0", "1000000000000000.0", "1234567890123456.0", "1e+16",
      "1e+22", "1.7976931348623157e+308", "0.3333333333333333", "0.30000000000000004",
      "12345678901234.5", "4.35", "inf", "nan" } do
      local number = tonumber(text) or text == "inf" and math.huge or 0 / 0
      local function written(x)
        return tostring(nn.Threshold(x, 0)):match("threshold=([^,]+),")
      end
      assert.are.equal(text, written(number))
      if number == number then assert.are.equal("-" .. text, written(-number)) end
    end
    assert.are.equal("Threshold(threshold=0.0, value=-0.0)", tostring(nn.Threshold(0.0, -0.0)))
  end)
end)

describe("the text of LinearCrossEntropyLoss", function()
  it("says how it was made", function()
    assert.equal("LinearCrossEntropyLoss(\n  in_features=4, num_classes=3, out_features=(2,), "
      .. "bias=True, reduction=sum, ignore_index=1, label_smoothing=0.1, options=None\n"
      .. "  (linear): Linear(in_features=4, out_features=6, bias=True)\n)",
      tostring(nn.LinearCrossEntropyLoss(4, 3, {out_features = {2}, bias = true,
        reduction = "sum", ignore_index = 1, label_smoothing = 0.1})))
    local options = nn.LinearCrossEntropyOptions({batch_chunk_size = 4})
    assert.truthy(tostring(nn.LinearCrossEntropyLoss(4, 3, {options = options})):find(
      "options=LinearCrossEntropyOptions(allow_retain_graph=False, batch_chunk_size=4, "
      .. "chunking_method='auto', acc_policy='auto', acc_dtype=None)\n", 1, true))
  end)
end)
