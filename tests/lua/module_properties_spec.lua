-- Properties: what a class computes when a field is read or assigned, and the order in which names
-- are looked up: properties of the class and its parents, fields, methods, parameters, buffers,
-- children.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local message = require "parity".message

local nn = lucerna.nn

local Circle = nn.class("Circle")
function Circle:__init(r)
  self.r = r
  self.changes = 0
end
Circle.diameter = nn.property(
  function(self) return 2 * self.r end,
  function(self, d)
    self.r = d / 2
    self.changes = self.changes + 1
  end)
Circle.area = nn.property(function(self) return self.r * self.r end)

describe("a property", function()
  it("is read and assigned through its functions", function()
    local m = Circle(3)
    assert.equal(6, m.diameter)
    m.diameter = 10
    assert.same({5, 1, 25}, {m.r, m.changes, m.area})
    m.diameter = 4
    assert.equal(2, m.r)
  end)

  it("without a setter cannot be assigned, without a getter not read", function()
    local m = Circle(3)
    assert.matches("property 'area' of 'Circle' object has no setter",
      message(function() m.area = 3 end))
    local Deaf = nn.class("Deaf")
    Deaf.x = nn.property(nil, function() end)
    assert.matches("property 'x' of 'Deaf' object has no getter",
      message(function() return Deaf().x end))
    assert.matches("nn.property: get must be a function %(got number 3%)", message(nn.property, 3))
  end)

  it("cannot become a parameter, buffer or child", function()
    local m = Circle(3)
    for _, value in ipairs {
      nn.Parameter(lucerna.ones(1)), nn.Buffer(lucerna.ones(1)), nn.ReLU(),
    } do
      assert.matches("attribute 'diameter' already exists",
        message(function() m.diameter = value end))
    end
    assert.matches("attribute 'diameter' already exists",
      message(m.register_parameter, m, "diameter", nil))
    assert.same({3, 0}, {m.r, m.changes})
  end)

  it("comes from the nearest class, also one defined later", function()
    local Disc = nn.class("Disc", Circle)
    local m = Disc(3)
    assert.equal(6, m.diameter)
    Disc.diameter = nn.property(function() return "mine" end)
    assert.equal("mine", m.diameter)
    assert.equal(6, Circle(3).diameter)
    local Plain = nn.class("Plain", Circle)
    function Plain.area() return "a method" end
    assert.equal("a method", Plain(1):area())
    Circle.color = nn.property(function() return "red" end)
    assert.equal("red", m.color)
    Circle.color = nil
    assert.is_nil(m.color)
  end)

  it("may give a forward, also where a parent gets it later and a hook sees the output", function()
    local Parent = nn.class("Parent")
    function Parent:forward(x) return x end
    local m, seen = nn.class("Child", Parent)(), {}
    m:register_forward_hook(function(_, _, output) seen[#seen + 1] = output end)
    assert.equal(3, m(3))
    Parent.forward = nn.property(function() return function(_, x) return x + 1 end end)
    assert.equal(4, m(3))
    assert.same({3, 4}, seen)
  end)

  it("comes before fields, fields before methods", function()
    local Net = nn.class("Net")
    local m = Net()
    m.x, m.forward = 1, function() return "field" end
    assert.equal("field", m:forward())
    Net.x = nn.property(function() return 2 end)
    assert.equal(2, m.x)
    Net.x = nil
    assert.equal(1, m.x)
    Net.y = 5
    assert.equal(5, m.y)
    Net.y = nn.property(function() return 6 end) -- over an attribute of the class
    assert.equal(6, m.y)
  end)

  it("of a C layer's class serves its modules", function()
    local Scaled = nn.class("Scaled", nn.Linear)
    Scaled.scale = nn.property(function(self) return self.weight.shape[1] end)
    assert.equal(4, Scaled(2, 4).scale)
    assert.is_nil(nn.Linear(2, 4).scale)
  end)

  it("asks it past the end of a list too", function()
    local List = nn.class("List", nn.Sequential)
    function List:__index(i) return type(i) == "number" and i * 10 or nil end
    List.last = "the class's"
    local list = List(nn.ReLU(), nn.Tanh())
    assert.equal("Tanh", list[2]:_get_name())
    assert.same({30, 15.0, "the class's"}, {list[3], list[1.5], list.last})
    assert.is_nil(list.first)
  end)

  it("leaves what nobody has to the class's __index", function()
    local Wrapper = nn.class("Wrapper")
    function Wrapper:__init(inner) self.inner = inner end
    function Wrapper:__index(name) return self.inner[name] end
    local Scaled = nn.class("Scaled", Wrapper)
    local m = Scaled(nn.Linear(3, 2))
    assert.equal(3, m.in_features)
    assert.is_true(rawequal(m.inner.weight, m.weight))
    assert.is_nil(m.nothing)
    assert.is_nil(nn.ReLU().in_features)
    assert.equal(2, #m:state_dict())
    assert.equal(3, m:clone().in_features)
    function Scaled:__index(name) return name == 1 and "one" or Wrapper.__index(self, name) end
    assert.same({ "one", 2 }, { m[1], m.out_features })
  end)

  it("may raise and may yield", function()
    local Net = nn.class("Net")
    Net.x = nn.property(function() return coroutine.yield("reading") end,
      function(_, v) coroutine.yield(v) end)
    Net.bad = nn.property(function() error("broken") end)
    local m = Net()
    local step = coroutine.wrap(function()
      m.x = "writing"
      return m.x
    end)
    assert.equal("writing", step())
    assert.equal("reading", step())
    assert.equal(9, step(9))
    assert.matches("broken", message(function() return m.bad end))
    Net.loop = nn.property(function(self) return self.loop end, function(self, v) self.loop = v end)
    assert.matches("stack overflow", message(function() return m.loop end))
    assert.matches("stack overflow", message(function() m.loop = 1 end))
  end)
end)

describe("the class of one module", function()
  it("gives it properties", function()
    local m, other = nn.Linear(2, 3), nn.Linear(2, 3)
    local Doubled = nn.class("Doubled", nn.Linear)
    Doubled.doubled = nn.property(function(self) return self.weight * 2 end)
    function Doubled:forward(x) return nn.functional.linear(x, self.doubled) end
    core.nn._set_class(m, Doubled)
    local x = lucerna.ones(1, 2)
    assert.same((nn.functional.linear(x, m.weight) * 2):tolist(), m(x):tolist())
    assert.equal("Doubled(in_features=2, out_features=3, bias=True)", tostring(m))
    assert.is_nil(other.doubled)
    assert.same({1, 3}, nn.Sequential(m)(x).shape)
    core.nn._set_class(m, nn.Linear)
    assert.is_nil(m.doubled)
    assert.same(nn.functional.linear(x, m.weight, m.bias):tolist(), m(x):tolist())
  end)
end)
