-- ParameterList and ParameterDict: parameters as Lua lists and dictionaries, with their methods.

local lucerna = require "lucerna"
local parity = require "parity"
local nn = lucerna.nn

local message_of, list_of = parity.message, parity.list

local function names_of(m)
  local names = {}
  for name, p in m:named_parameters() do
    names[#names + 1] = name .. "=" .. table.concat(p.shape, "x")
  end
  return table.concat(names, " ")
end

local function is_parameter(x) return tostring(x):find("^Parameter containing:") ~= nil end

describe("ParameterList", function()
  it("turns tensors into parameters that share their storage", function()
    local t, p = lucerna.ones(2), nn.Parameter(lucerna.zeros(1), false)
    local l = nn.ParameterList {t, p}
    assert.are.equal(2, #l)
    assert.is_true(is_parameter(l[1]))
    assert.is_true(l[1].requires_grad)
    assert.is_true(rawequal(p, l[2]))
    t:fill_(3)
    assert.are.equal(6, l[1]:sum():item())
    assert.matches("[Oo]nly [Tt]ensors of floating point",
      message_of(nn.ParameterList, {lucerna.tensor {1, 2}}))
  end)

  it("is read like a list", function()
    local l = nn.ParameterList {lucerna.ones(1), lucerna.ones(2), lucerna.ones(3)}
    assert.are.same({2}, l[2]:size())
    assert.is_true(rawequal(l[3], l[-1]))
    assert.is_true(rawequal(l[1], l["0"]))
    assert.is_nil(l[4])
    assert.matches("index 0 is out of range %[1, 3%]", message_of(function() return l[0] end))
    assert.matches("index %-4 is out of range", message_of(function() return l[-4] end))
    local n = 0
    for i, p in ipairs(l) do n = n + i * #p end
    for i, p in pairs(l) do n = n + i * #p end
    assert.are.equal(28, n)
    assert.are.equal("0=2 1=3", names_of(l[{2, 3}]))
    assert.are.equal("0=3 1=1", names_of(l[{-1, 1, -2}]))
    assert.is_true(rawequal(l[2], l[{2}][1]))
  end)

  it("is changed like a list", function()
    local l = nn.ParameterList()
    assert.is_true(rawequal(l, l:append(lucerna.ones(1))))
    assert.is_true(rawequal(l, l:extend {lucerna.ones(2), lucerna.ones(3)}))
    l:extend(nn.ParameterList {lucerna.ones(4)})
    l:extend(nn.Linear(5, 6):parameters())
    assert.are.equal("0=1 1=2 2=3 3=4 4=6x5 5=6", names_of(l))
    l[2] = lucerna.ones(7)
    l[-1] = nn.Parameter(lucerna.ones(8))
    assert.are.equal("0=1 1=7 2=3 3=4 4=6x5 5=8", names_of(l))
    l[1] = nil
    assert.are.equal(6, #l)
    assert.is_nil(l[1])
    assert.are.equal("1=7 2=3 3=4 4=6x5 5=8", names_of(l))
    l[1] = lucerna.ones(9)
    assert.are.same({9}, l[1]:size())
  end)

  it("keeps other objects as plain entries", function()
    local f = function() end
    local l = nn.ParameterList {lucerna.ones(1), 5, "text", {1}, f, false, lucerna.none}
    assert.are.equal(7, #l)
    assert.are.equal(5, l[2])
    assert.are.equal(f, l[5])
    assert.is_false(l[6])
    assert.is_nil(l[7])
    l[2], l[3], l[6] = 6, lucerna.ones(2), "new"
    assert.are.equal("0=1 2=2", names_of(l))
    assert.are.equal(6, l[2])
    assert.are.equal(6, l["1"])
    assert.are.equal("new", l[6])
    local copy = l:clone()
    assert.are.equal(7, #copy)
    assert.are.equal(6, copy[2])
    assert.is_false(rawequal(copy[3], l[3]))
    assert.are.equal(3, #l[{1, 3}])
    assert.are.equal(6, l[{2, 2}][1])
  end)

  it("refuses what does not fit and stays as it was", function()
    local l = nn.ParameterList {lucerna.ones(1), lucerna.ones(2)}
    assert.matches("cannot assign 'number' as parameter '0' %(nn.Parameter or nil expected%)",
      message_of(function() l[1] = 5 end))
    assert.matches("cannot assign 'ReLU' as parameter '2'", message_of(l.append, l, nn.ReLU()))
    assert.matches("index 3 is out of range", message_of(function() l[3] = lucerna.ones(1) end))
    assert.matches("ParameterList.extend should be called with an iterable, but got Tensor",
      message_of(l.extend, l, lucerna.ones(2)))
    assert.matches("ParameterList.extend should be called with an iterable, but got number",
      message_of(nn.ParameterList, 3))
    message_of(l.extend, l, {lucerna.ones(3), 5, lucerna.tensor {1}})
    assert.are.equal("0=1 1=2", names_of(l))
    assert.are.equal(2, #l)
    assert.matches("nn.ModuleList", message_of(l.append, l, {nn.ReLU()}))
    assert.are.equal(2, #l)
    assert.matches("ParameterList should not be called%.", message_of(l))
  end)

  it("is a module among modules", function()
    local Net = nn.class "Net"
    function Net:__init() self.scales = nn.ParameterList {lucerna.ones(2), lucerna.ones(2)} end
    function Net:forward(x)
      for _, s in ipairs(self.scales) do x = x * s end
      return x
    end
    local net = Net()
    assert.are.equal("scales.0=2 scales.1=2", names_of(net))
    net(lucerna.ones(2)):sum():backward()
    assert.are.same({1, 1}, net.scales[2].grad:tolist())
    local sd = net:state_dict()
    assert.are.equal(2, #sd)
    sd["scales.1"] = lucerna.full({2}, 4)
    net:load_state_dict(sd)
    assert.are.equal(8, net.scales[2]:sum():item())
    net:double()
    assert.are.equal(lucerna.float64, net.scales[1].dtype)
    assert.are.equal(8, net:clone().scales[2]:sum():item())
    local Scales = nn.class("Scales", nn.ParameterList)
    function Scales:forward(x) return x * self[1] end
    assert.are.equal(3, Scales {lucerna.full({1}, 3.0)}(lucerna.ones(1)):item())
    assert.is_true(nn.isinstance(Scales {lucerna.ones(1)}[{1}], Scales))
  end)
end)

describe("ParameterDict", function()
  for kind, make in pairs {
    ParameterDict = function() return lucerna.ones(1) end, ModuleDict = nn.ReLU,
  } do
    it("has the keys of now, whatever changed them, in a loop those of its beginning: " .. kind,
      function()
        local d = nn[kind]()
        local function keys() return table.concat(list_of(d:keys()), " ") end
        assert.are.equal("", keys())
        for name in ("a b c d"):gmatch("%a") do d[name] = make() end
        assert.are.equal("a b c d", keys())
        d.b = make()
        assert.are.equal("a b c d", keys())
        nn.delattr(d, "a")
        assert.are.equal("b c d", keys())
        d:pop("c")
        d:update {{"a", make()}}
        assert.are.equal("b d a", keys())
        assert.are.equal("b d a", table.concat(list_of(d:clone():keys()), " "))
        local seen = {}
        for key in d:keys() do
          seen[#seen + 1] = key
          nn.delattr(d, key)
          d[key .. key] = make()
        end
        assert.are.same({"b", "d", "a"}, seen)
        assert.are.equal("bb dd aa", keys())
        local values = list_of(d:values())
        assert.is_true(#values == 3 and values[2] == d.dd)
        if kind == "ModuleDict" then
          d.bb = nil
          assert.are.same({d.dd, d.aa}, list_of(d:values()))
        end
        assert.are.equal("bb dd aa", keys())
        d:clear()
        assert.are.equal("", keys())
      end)
  end

  it("turns tensors into parameters, in the order given or sorted", function()
    local d = nn.ParameterDict {b = lucerna.ones(1), a = lucerna.ones(2)}
    assert.are.equal("a=2 b=1", names_of(d))
    assert.is_true(is_parameter(d.a))
    assert.are.equal("b=1 a=2",
      names_of(nn.ParameterDict {{"b", lucerna.ones(1)}, {"a", lucerna.ones(2)}}))
    assert.are.equal("weight=3x2 bias=3",
      names_of(nn.ParameterDict(nn.Linear(2, 3):named_parameters())))
    assert.are.equal("bias=3 weight=3x2",
      names_of(nn.ParameterDict {bias = lucerna.ones(3), weight = lucerna.ones(3, 2)}))
    assert.are.equal("weight=3x2 bias=3", names_of(nn.ParameterDict(nn.Linear(2, 3):state_dict())))
    assert.are.equal(0, #nn.ParameterDict())
  end)

  it("is read and changed like a dictionary", function()
    local d = nn.ParameterDict {{"b", lucerna.ones(1)}, {"a", lucerna.ones(2)}}
    d["c d"] = lucerna.ones(3)
    d.n = 5
    d.t = {1, 2}
    assert.are.equal(5, #d)
    assert.are.same({"b", "a", "c d", "n", "t"}, list_of(d:keys()))
    assert.are.same({"t", "n", "c d", "a", "b"}, list_of(d:reversed()))
    assert.are.equal(5, #list_of(d:values()))
    local seen = {}
    for key, value in pairs(d) do seen[#seen + 1] = key .. #tostring(value):sub(1, 1) end
    assert.are.same({"b1", "a1", "c d1", "n1", "t1"}, seen)
    assert.is_true(d:contains("n"))
    assert.is_false(d:contains("keys"))
    d.b = lucerna.ones(4)
    d.n = 6
    assert.are.equal("b=4 a=2 c d=3", names_of(d))
    assert.are.equal(6, d:pop("n"))
    assert.are.same({4}, d:pop("b"):size())
    assert.matches("there is no key 'b'", message_of(d.pop, d, "b"))
    nn.delattr(d, "t")
    assert.are.same({"a", "c d"}, list_of(d:keys()))
    d.a, d.unknown = nil, nil
    assert.are.same({"a", "c d"}, list_of(d:keys()))
    assert.is_nil(d.a)
    assert.are.equal("c d=3", names_of(d))
    d:clear()
    assert.are.equal(0, #d)
  end)

  it("takes keys and defaults by name", function()
    local d = nn.ParameterDict {a = lucerna.zeros(1)}
    assert.equal(d.a, d:get({key = "a"}))
    assert.equal(4, d:get({key = "z", default = 4}))
    assert.equal(1, d:get("z", {x = 1}).x)
    assert.same({2}, d:setdefault({key = "b", default = lucerna.zeros(2)}).shape)
    assert.same({2}, d:pop({key = "b"}).shape)
    assert.equal(1, #d)
  end)

  it("has Python's other methods", function()
    local d = nn.ParameterDict {{"b", lucerna.ones(1)}, {"a", lucerna.ones(2)}}
    assert.is_true(rawequal(d.a, d:get("a")))
    assert.is_nil(d:get("x"))
    assert.are.equal(3, d:get("x", 3))
    assert.is_true(rawequal(d.a, d:setdefault("a", lucerna.ones(9))))
    assert.is_true(is_parameter(d:setdefault("c", lucerna.ones(3))))
    assert.is_nil(d:setdefault("none"))
    assert.is_true(d:contains("none"))
    local key, value = d:popitem()
    assert.are.equal("none", key)
    assert.is_nil(value)
    key, value = d:popitem()
    assert.are.equal("c", key)
    assert.are.same({3}, value:size())
    local copy = d:copy()
    assert.is_true(rawequal(d.a, copy.a))
    copy.z = lucerna.ones(1)
    assert.are.same({"b", "a"}, list_of(d:keys()))
    assert.are.equal("x=2 y=2", names_of(d:fromkeys({"x", "y"}, lucerna.ones(2))))
    assert.are.equal(2, #d:fromkeys(d:keys()))
    assert.matches("the dictionary is empty", message_of(function()
      nn.ParameterDict():popitem()
    end))
  end)

  it("is merged by |", function()
    local a = nn.ParameterDict {{"y", lucerna.ones(1)}, {"x", lucerna.ones(2)}}
    local b = nn.ParameterDict {{"z", lucerna.ones(3)}, {"x", lucerna.ones(4)}}
    local both = a | b
    assert.are.equal("y=1 x=4 z=3", names_of(both))
    assert.is_true(rawequal(b.x, both.x))
    assert.are.equal("y=1 x=2", names_of(a))
    assert.are.equal("y=1 x=2 w=1", names_of(a | {w = lucerna.ones(1)}))
    assert.are.equal("x=2 w=1 y=1", names_of({{"x", lucerna.ones(9)}, {"w", lucerna.ones(1)}} | a))
  end)

  it("refuses what does not fit and stays as it was", function()
    local d = nn.ParameterDict {a = lucerna.ones(1)}
    assert.matches("attribute 'keys' already exists",
      message_of(function() d.keys = lucerna.ones(1) end))
    assert.matches("attribute 'pop' already exists", message_of(function() d.pop = 5 end))
    assert.matches('name can\'t contain "%."',
      message_of(function() d["a.b"] = lucerna.ones(1) end))
    assert.matches("keys must be strings", message_of(function() d[1] = lucerna.ones(1) end))
    assert.matches("cannot assign 'string' as parameter 'a'",
      message_of(function() d.a = "text" end))
    assert.matches("cannot assign 'Linear' as parameter 'm'",
      message_of(function() d.m = nn.Linear(1, 1) end))
    assert.matches("ParameterDict update sequence element #1 has length 1; 2 is required",
      message_of(d.update, d, {{"b"}}))
    assert.matches("ParameterDict update sequence element #1 should be Iterable; is number",
      message_of(d.update, d, {5}))
    assert.matches("Index given to ParameterDict cannot be used as a key as it is not a string "
      .. "%(type is 'number'%)", message_of(d.update, d, {{1, lucerna.ones(1)}}))
    assert.matches("ParameterDict.update should be called with an iterable of key/value pairs, "
      .. "but got Tensor", message_of(d.update, d, lucerna.ones(1)))
    message_of(d.update, d, {{"a", lucerna.ones(5)}, {"b", 3}, {"keys", 4}})
    assert.are.equal("a=1", names_of(d))
    assert.are.equal(1, #d)
    assert.matches("ParameterDict should not be called%.", message_of(d))
  end)

  it("registers by the method of its class", function()
    local Frozen = nn.class("Frozen", nn.ParameterDict)
    function Frozen:register_parameter(name, p)
      nn.Module.register_parameter(self, name, nn.Parameter(p:detach(), false))
    end
    local d = Frozen {a = lucerna.ones(1)}
    d.b = lucerna.ones(2)
    assert.are.equal("a=1 b=2", names_of(d))
    assert.is_false(d.a.requires_grad or d.b.requires_grad)
  end)

  it("can have its methods overridden", function()
    local d = nn.ParameterDict {a = lucerna.full({1}, 3.0)}
    d.forward = function(self, x) return x * self.a end
    assert.are.equal(1, #d)
    assert.are.equal(6, d(lucerna.full({1}, 2)):item())
    d:eval()
    assert.is_false(d.training)
  end)

  it("saves, loads, converts and clones", function()
    local d = nn.ParameterDict {a = lucerna.ones(1), n = {1}}
    d:load_state_dict {a = lucerna.full({1}, 5)}
    assert.are.equal(5, d.a:item())
    assert.are.equal(lucerna.float64, d:double().a.dtype)
    local copy = d:clone()
    assert.are.equal(5, copy.a:item())
    assert.are.same({1}, copy.n)
    assert.is_false(rawequal(copy.n, d.n))
    assert.are.same({"a", "n"}, list_of(copy:keys()))
    assert.are.equal("d.a=1", names_of(nn.ModuleDict {d = d}))
  end)
end)
