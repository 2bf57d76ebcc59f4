-- Sequential, ModuleList, ModuleDict as Lua lists and dictionaries, with PyTorch's methods.

local lucerna = require "lucerna"
local nn = lucerna.nn

local function message_of(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  return message
end

local function names_of(m)
  local names = {}
  for name, child in m:named_children() do names[#names + 1] = name .. "=" .. child:_get_name() end
  return table.concat(names, " ")
end

local function three(class)
  return class == nn.Sequential and class(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    or class {nn.ReLU(), nn.Tanh(), nn.Sigmoid()}
end

for _, class in ipairs {nn.Sequential, nn.ModuleList} do
  local title = class == nn.Sequential and "Sequential" or "ModuleList"
  describe(title, function()
    it("is read like a list", function()
      local l = three(class)
      assert.are.equal(3, #l)
      assert.are.equal("Tanh", l[2]:_get_name())
      assert.is_true(rawequal(l[3], l[-1]))
      assert.is_nil(l[4])
      assert.matches("index 0 is out of range %[1, 3%] %(indices count from 1%)",
        message_of(function() return l[0] end))
      assert.matches("index %-4 is out of range", message_of(function() return l[-4] end))
      local n = 0
      for i, m in ipairs(l) do
        assert.is_true(rawequal(m, l[i]))
        n = n + i
      end
      for i, m in pairs(l) do
        assert.is_true(rawequal(m, l[i]))
        n = n + i
      end
      assert.are.equal(12, n)
      assert.is_true(rawequal(l[1], l["0"]))
    end)

    it("is changed like a list", function()
      local l = three(class)
      l[2] = nn.GELU()
      l[-1] = nn.Identity()
      assert.are.equal("0=ReLU 1=GELU 2=Identity", names_of(l))
      assert.is_true(rawequal(l, l:append(nn.Tanh())))
      l:insert(1, nn.Sigmoid())
      l:insert(-1, nn.GELU())
      assert.are.equal("0=Sigmoid 1=ReLU 2=GELU 3=Identity 4=GELU 5=Tanh", names_of(l))
      assert.are.equal("Identity", l:pop(4):_get_name())
      assert.are.equal("Tanh", l:pop():_get_name())
      assert.are.equal("0=Sigmoid 1=ReLU 2=GELU 3=GELU", names_of(l))
      assert.are.equal("ReLU", l[2]:_get_name())
      assert.is_nil(l[5])
      l:extend {nn.ReLU(), nn.Tanh()}
      l:extend(three(class))
      assert.are.equal(9, #l)
      assert.are.equal("Sigmoid", l[9]:_get_name())
    end)

    it("keeps what it holds when it refuses", function()
      local l = three(class)
      assert.matches("is not a module %(got number%)", message_of(l.append, l, 3))
      assert.matches("index 5 is out of range %[1, 4%]", message_of(l.insert, l, 5, nn.ReLU()))
      assert.matches("index 4 is out of range", message_of(function() l[4] = nn.ReLU() end))
      assert.matches("must be a module", message_of(function() l[1] = 3 end))
      assert.matches("no cycles", message_of(l.insert, l, 1, l))
      l[1].tag = 1
      pcall(l.insert, l, 1, l)
      collectgarbage()
      assert.are.equal(1, l[1].tag)
      assert.are.equal("0=ReLU 1=Tanh 2=Sigmoid", names_of(l))
    end)

    it("can be sliced and joined, sharing modules", function()
      local l = three(class)
      local part = l[{2, 3}]
      assert.is_true(nn.isinstance(part, class))
      assert.are.equal(2, #part)
      assert.is_true(rawequal(l[2], part[1]))
      assert.are.equal(1, #l[{-1}])
      local joined = l + part
      assert.are.equal(5, #joined)
      assert.is_true(rawequal(joined[2], joined[4]))
    end)
  end)
end

describe("Sequential", function()
  it("takes modules, a list of pairs, or names in sorted order", function()
    local s = nn.Sequential {{"conv", nn.Conv2d(1, 1, 1)}, {"act", nn.ReLU()}}
    assert.are.equal("conv=Conv2d act=ReLU", names_of(s))
    assert.is_true(rawequal(s.conv, s[1]))
    assert.are.equal("a=ReLU b=Tanh", names_of(nn.Sequential {b = nn.Tanh(), a = nn.ReLU()}))
    assert.matches("Sequential: argument 2 is not a module %(got number%)",
      message_of(nn.Sequential, nn.ReLU(), 3))
  end)

  it("passes its argument through", function()
    local x = lucerna.tensor {-1.0, 2.0}
    assert.are.same({0, 4}, nn.Sequential(nn.ReLU(), nn.Identity())(x):mul(2):tolist())
    assert.is_true(rawequal(x, nn.Sequential()(x)))
  end)

  it("repeats by multiplication", function()
    local s = three(nn.Sequential) * 2
    assert.are.equal(6, #s)
    assert.is_true(rawequal(s[1], s[4]))
    assert.are.equal(3, #(1 * three(nn.Sequential)))
    assert.matches("non%-positive multiplication factor", message_of(function() return s * 0 end))
  end)

  it("can be subclassed", function()
    local Block = nn.class("Block", nn.Sequential)
    function Block:__init(n)
      nn.Sequential.__init(self, nn.Linear(n, n), nn.ReLU())
      self.n = n
    end
    function Block:forward(x) return x + nn.Sequential.forward(self, x) end
    local b = Block(3)
    assert.are.equal(2, #b)
    assert.are.same({1, 3}, b(lucerna.ones(1, 3)):size())
    assert.is_true(nn.isinstance(b[{1, 1}], Block))
  end)
end)

describe("ModuleList", function()
  it("takes a list, an iterator or nothing, and has no forward", function()
    assert.are.equal(0, #nn.ModuleList())
    assert.are.equal(3, #nn.ModuleList(three(nn.Sequential):children()))
    assert.matches("modules must be a list of modules", message_of(nn.ModuleList, 3))
    assert.matches('Module %[ModuleList%] is missing the required "forward" function',
      message_of(nn.ModuleList(), 1))
  end)
end)

describe("ModuleDict", function()
  it("is read and changed like a dictionary", function()
    local d = nn.ModuleDict {{"b", nn.ReLU()}, {"a", nn.Tanh()}}
    assert.are.equal("b=ReLU a=Tanh", names_of(d))
    assert.are.equal(2, #d)
    assert.are.equal("Tanh", d.a:_get_name())
    d["c d"] = nn.GELU()
    d.b = nn.Sigmoid()
    local seen = {}
    for key, m in pairs(d) do seen[#seen + 1] = key .. m:_get_name() end
    assert.are.same({"bSigmoid", "aTanh", "c dGELU"}, seen)
    assert.is_true(d:contains("a"))
    assert.is_false(d:contains("keys"))
    assert.are.equal("Tanh", d:pop("a"):_get_name())
    assert.matches("there is no key 'a'", message_of(d.pop, d, "a"))
    d:update {z = nn.ReLU(), y = nn.ReLU()}
    local keys = {}
    for key in d:keys() do keys[#keys + 1] = key end
    assert.are.same({"b", "c d", "y", "z"}, keys)
    d:clear()
    assert.are.equal(0, #d)
    assert.is_nil(d.b)
  end)

  it("refuses keys that hide methods, and what is no module", function()
    local d = nn.ModuleDict()
    assert.matches("attribute 'keys' already exists", message_of(function() d.keys = nn.ReLU() end))
    assert.matches("attribute 'pop' already exists",
      message_of(nn.ModuleDict, {pop = nn.ReLU()}))
    assert.matches("ModuleDict: entry 'x' is not a module", message_of(nn.ModuleDict, {x = 3}))
    assert.matches("entry 1 is not a pair", message_of(nn.ModuleDict, {nn.ReLU()}))
  end)
end)
