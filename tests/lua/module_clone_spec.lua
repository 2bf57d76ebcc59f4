-- m:clone() copies what Python's deepcopy copies, and shares what it shares.

local lucerna = require "lucerna"
local nn = lucerna.nn
local parity = require "parity"

local message, live = parity.message, parity.live

local Net = nn.class "Net"
function Net:__init() self.fc = nn.Linear(2, 2) end
function Net:forward(x) return self.fc(x) end

describe("clone: tensors", function()
  it("copies a parameter's values and requires_grad, not its gradient", function()
    local m = nn.Linear(2, 2)
    m(lucerna.ones(1, 2)):sum():backward()
    m.bias:requires_grad_(false)
    local copy = m:clone()
    assert.is_nil(copy.weight.grad)
    assert.is_not_nil(m.weight.grad)
    assert.is_true(copy.weight.requires_grad)
    assert.is_false(copy.bias.requires_grad)
    copy.weight.data:fill_(0)
    assert.not_equal(0, m.weight:abs():sum():item())
    assert.equal("Parameter containing:", tostring(copy.weight):match("^[^\n]*"))
  end)

  it("copies another leaf with its gradient", function()
    local m = Net()
    m.scale = lucerna.ones(3):requires_grad_();
    (m.scale * 2):sum():backward()
    m.kept = m.scale.grad
    local copy = m:clone()
    assert.is_true(copy.scale.requires_grad)
    assert.same({ 2, 2, 2 }, copy.scale.grad:tolist())
    assert.equal(copy.scale.grad, copy.kept)
    copy.kept:fill_(5)
    assert.same({ 2, 2, 2 }, m.kept:tolist())
  end)

  it("keeps storage shared that is shared, but for parameters", function()
    local m = Net()
    local all = lucerna.arange(6.0)
    m:register_buffer("all", all)
    m:register_buffer("part", all:narrow(1, 2, 2), false)
    m.field = all:view(2, 3)
    m.raw = m.fc.weight.data
    local copy = m:clone()
    copy.all:fill_(9)
    assert.same({ 9, 9 }, copy.part:tolist())
    assert.same({ { 9, 9, 9 }, { 9, 9, 9 } }, copy.field:tolist())
    assert.equal(15, m.all:sum():item())
    copy.raw:fill_(3)
    assert.not_equal(3, copy.fc.weight[{ 1, 1 }]:item())
    local names = {}
    for name in pairs(copy:state_dict()) do names[#names + 1] = name end
    assert.same({ "all", "fc.weight", "fc.bias" }, names)
  end)

  it("keeps strides", function()
    local m = Net()
    m.t, m.wide = lucerna.ones(2, 3):t(), lucerna.ones(4):expand(2, 4)
    m.p = nn.Parameter(lucerna.ones(2, 3):t())
    local copy = m:clone()
    assert.same({ { 1, 3 }, { 0, 1 }, { 1, 3 } },
      { copy.t:stride(), copy.wide:stride(), copy.p:stride() })
  end)

  it("refuses results of operators, leaving no half copy", function()
    local m = Net()
    m.list = { { m.fc.weight * 2 } }
    assert.matches("clone: Only Tensors created explicitly by the user %(graph leaves%) support "
      .. "the deepcopy protocol at the moment", message(m.clone, m))
    m.list[1][1] = m.list[1][1]:detach()
    assert.equal(1, #m:clone().list)
    local buffered = nn.Module()
    buffered:register_buffer("b", m.fc.weight * 2)
    assert.matches("Only Tensors created explicitly", message(buffered.clone, buffered))
  end)
end)

describe("clone: fields", function()
  it("copies nested tables once, also those that go round in circles", function()
    local m = Net()
    local shared = { 1, 2, { 3 } }
    m.a, m.b, m.key = shared, { inner = shared }, { [shared] = true }
    shared.back = shared
    m.me = nn.unregistered { m, m.fc }
    local copy = m:clone()
    assert.equal(copy.a, copy.b.inner)
    assert.equal(copy.a, copy.a.back)
    assert.not_equal(m.a, copy.a)
    assert.equal(copy, copy.me[1])
    assert.equal(copy.fc, copy.me[2])
    assert.is_true(copy.key[copy.a])
    assert.same({ 3 }, copy.a[3])
  end)

  it("copies modules that fields hold, shared ones once", function()
    local a, b = Net(), Net()
    b.fc = a.fc
    a.other = nn.unregistered { b }
    local copy = a:clone()
    assert.equal(copy.fc, copy.other[1].fc)
    assert.not_equal(b, copy.other[1])
    local twice = nn.Sequential(a.fc, a.fc):clone()
    assert.equal(twice[1], twice[2])
  end)

  it("copies objects with their metatables and ordered maps, and shares functions", function()
    local Point = {}
    Point.__index = Point
    function Point.norm(p) return p.x + p.y end
    local m = Net()
    m.point = setmetatable({ x = 1, y = 2 }, Point)
    m.state = m:state_dict()
    m.f, m.class, m.dtype = print, nn.Linear, lucerna.float64
    local copy = m:clone()
    assert.equal(3, copy.point:norm())
    assert.not_equal(m.point, copy.point)
    assert.same({ print, nn.Linear, lucerna.float64 }, { copy.f, copy.class, copy.dtype })
    copy.state["fc.bias"]:fill_(7)
    assert.not_equal(7, m.fc.bias[1]:item())
    local names = {}
    for name in pairs(copy.state) do names[#names + 1] = name end
    assert.same({ "fc.weight", "fc.bias" }, names)
    assert.equal(1, copy.state._metadata["fc"].version)
  end)

  it("copies a module's own forward and settings", function()
    local m = nn.Dropout(0.25):eval()
    m.p = 0.5
    local list = nn.ModuleList { m }
    function list.forward(self, x) return self[1](x) * 2 end
    local copy = list:clone()
    assert.same({ 4 }, copy(lucerna.tensor { 2.0 }):tolist())
    assert.same({ 0.5, false }, { copy[1].p, copy[1].training })
  end)
end)

describe("clone: hooks", function()
  it("are the same functions, in the same order, on the copy", function()
    local m, seen = Net(), {}
    m:register_forward_pre_hook(function(at) seen[#seen + 1] = { "before", at } end)
    m:register_forward_hook(function(at) seen[#seen + 1] = { "after", at } end)
    m:register_forward_hook(function() seen[#seen + 1] = { "first" } end, { prepend = true })
    m:register_full_backward_hook(function() seen[#seen + 1] = { "backward" } end)
    local copy = m:clone()
    copy(lucerna.ones(1, 2):requires_grad_()):sum():backward()
    assert.same({ "before", "first", "after", "backward" },
      { seen[1][1], seen[2][1], seen[3][1], seen[4][1] })
    assert.equal(copy, seen[1][2])
    assert.equal(4, #seen)
    m(lucerna.ones(1, 2))
    assert.equal(m, seen[5][2])
    assert.matches("Cannot use both regular backward hooks and full backward hooks",
      message(copy.register_backward_hook, copy, print))
  end)

  it("around saving and loading come along", function()
    local m, seen = Net(), {}
    m.handle = m:register_state_dict_pre_hook(function(at) seen[#seen + 1] = at end)
    m:register_load_state_dict_post_hook(function(at) seen[#seen + 1] = at end)
    m:register_forward_hook(function(at) seen[#seen + 1] = at end)
    local copy = m:clone()
    copy:load_state_dict(copy:state_dict())
    copy(lucerna.ones(1, 2))
    assert.same({ copy, copy, copy }, seen)
    copy.handle:remove()
    copy:state_dict()
    assert.equal(3, #seen)
    m:state_dict()
    assert.equal(m, seen[4])
  end)

  it("that are objects are copied, and so are their handles", function()
    local Counter = {}
    Counter.__call = function(self) self.n = self.n + 1 end
    local m = Net()
    local counter = setmetatable({ n = 0 }, Counter)
    m.handle, m.counter = m:register_forward_hook(counter), counter
    local copy = m:clone()
    copy(lucerna.ones(1, 2))
    assert.same({ 0, 1 }, { m.counter.n, copy.counter.n })
    copy.handle:remove()
    copy(lucerna.ones(1, 2))
    m(lucerna.ones(1, 2))
    assert.same({ 1, 1 }, { m.counter.n, copy.counter.n })
    m.handle:remove()
    m(lucerna.ones(1, 2))
    assert.equal(1, m.counter.n)
  end)
end)

describe("clone: computed tensors", function()
  local utils = nn.utils
  local input = lucerna.tensor { { 1.0, -2.0 } }

  for _, case in ipairs {
    { "pruned", function(m) return utils.prune.l1_unstructured(m, "weight", 2) end,
      function(m) utils.prune.remove(m, "weight") end },
    { "weight_norm", utils.weight_norm, utils.remove_weight_norm },
    { "spectral_norm", utils.spectral_norm, utils.remove_spectral_norm },
  } do
    it("belong to the copy: " .. case[1], function()
      local m = case[2](nn.Linear(2, 2))
      m(input)
      m:eval()
      local copy = m:clone()
      assert.same(m.weight:tolist(), copy.weight:tolist())
      assert.same(m(input):tolist(), copy(input):tolist())
      copy.weight:sum():backward()
      for _, p in m:named_parameters() do assert.is_nil(p.grad) end
      local before = m(input):tolist()
      case[3](copy)
      assert.is_true(copy.weight.is_leaf)
      assert.same(before, m(input):tolist())
      assert.has_error(function() case[3](copy) end)
    end)
  end

  it("leave a parameter alone that has taken their place", function()
    for _, norm in ipairs {utils.weight_norm, utils.spectral_norm} do
      local m = norm(nn.Linear(2, 2))
      m.weight = nn.Parameter(lucerna.ones(2, 2))
      local copy = m:clone()
      assert.same(m.weight:tolist(), copy.weight:tolist())
      assert.not_equal(m.weight, copy.weight)
    end
  end)

  it("of parametrizations too", function()
    local m = utils.parametrizations.weight_norm(nn.Linear(2, 2))
    local copy = m:clone()
    assert.same(m(input):tolist(), copy(input):tolist())
    copy.weight = copy.weight * 2
    assert.not_same(m(input):tolist(), copy(input):tolist())
    utils.parametrize.remove_parametrizations(copy, "weight")
    assert.equal("Linear", copy:_get_name())
    assert.equal("ParametrizedLinear", m:_get_name())
  end)

  it("of lazy modules are still to come", function()
    local m = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    local copy = m:clone()
    assert.same({ 1, 3 }, copy:eval()(lucerna.ones(1, 5)):size())
    assert.equal("Linear", copy[1]:_get_name())
    assert.equal("LazyLinear", m[1]:_get_name())
    assert.same({ 1, 3 }, m:eval()(lucerna.ones(1, 2)):size())
  end)
end)

describe("clone", function()
  it("keeps nothing alive", function()
    local function once()
      local m = Net()
      m.me = nn.unregistered { m }
      m.handle = m:register_forward_hook(function() local _ = m end)
      nn.utils.prune.random_unstructured(m.fc, "weight", 0.5)
      nn.utils.parametrizations.weight_norm(m.fc, "bias", lucerna.none)
      local copy = m:clone()
      copy(lucerna.ones(1, 2)):sum():backward()
    end
    once()
    local before = live()
    for _ = 1, 200 do once() end
    assert.equal(before, live())
  end)
end)
