-- Sequential, ModuleList, ModuleDict as Lua lists and dictionaries, with PyTorch's methods.

local lucerna = require "lucerna"
local parity = require "parity"
local nn = lucerna.nn

local message_of = parity.message

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

    it("is gone through as it is, after any change", function()
      local l, other = three(class), nn.GELU()
      local changes = {
        function() l:append(nn.ELU()) end,
        function() l[2] = other end,
        function() l[1] = nil end,
        function() l["2"] = other end,
        function() nn.delattr(l, 3) end,
        function() nn.delattr(l, "0") end,
        function() l._modules["0"] = other end,
        function() l:extend{nn.ReLU(), nn.ReLU()} end,
        function() l:insert(1, nn.Tanh()) end,
      }
      for k, change in ipairs(changes) do
        for _ in pairs(l) do end
        change()
        local seen = {}
        for i, m in pairs(l) do seen[i] = m end
        for i = 1, #l do assert.is_true(rawequal(l[i], seen[i]), "change " .. k) end
      end
    end)

    it("takes 2.0 for 2, as tables do", function()
      local l = three(class)
      assert.is_true(rawequal(l[2], l[4 / 2]))
      assert.is_nil(l[1.5])
      l[4 / 2] = nn.GELU()
      assert.are.equal("0=ReLU 1=GELU 2=Sigmoid", names_of(l))
      assert.are.equal("GELU", l:pop(2.0):_get_name())
      l:insert(4 / 2, nn.ELU())
      assert.are.equal("0=ReLU 1=ELU 2=Sigmoid", names_of(l))
      nn.delattr(l, 2.0)
      assert.are.equal(2, #l[{1.0, 2.0}])
    end)

    it("says how to add an entry, and that a class is no module", function()
      local l = three(class)
      assert.matches("index 4 is out of range [1, 3] (append adds an entry)",
        message_of(function() l[#l + 1] = nn.ReLU() end), 1, true)
      assert.matches("uncalled class ReLU is not a Module subclass",
        message_of(l.append, l, nn.ReLU), 1, true)
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
      assert.matches(title .. ": module: number is not a Module subclass",
        message_of(l.append, l, 3))
      assert.matches(title .. "%.insert: module should be of type: nn%.Module %(got table%)",
        message_of(l.insert, l, 1, {}))
      assert.matches(title .. ": entry 2: Tensor is not a Module subclass",
        message_of(l.extend, l, {nn.ReLU(), lucerna.ones(1)}))
      assert.matches(title .. "%.extend should be called with an iterable, but got number",
        message_of(l.extend, l, 3))
      assert.matches(title .. ": index must be an integer %(got string%)",
        message_of(l.pop, l, "1"))
      assert.matches("index 5 is out of range %[1, 4%]", message_of(l.insert, l, 5, nn.ReLU()))
      assert.matches("index 4 is out of range", message_of(function() l[4] = nn.ReLU() end))
      assert.matches("cannot assign 'number' as child module '0' %(nn%.Module or nil expected%)",
        message_of(function() l[1] = 3 end))
      assert.matches("step cannot be zero", message_of(function() return l[{1, 3, 0}] end))
      assert.matches("integers %(got string%)", message_of(function() return l[{1, "3"}] end))
      assert.matches("index 0 is out of range %[1, 3%] %(indices count from 1%)",
        message_of(function() return l[{1, 0}] end))
      assert.matches("name of a ReLU must be a string %(got number%)",
        message_of(function() l[1.5] = nn.ReLU() end))
      assert.matches("index %-9223372036854775808 is out of range %[%-3, 3%]",
        message_of(function() return l[math.mininteger] end))
      assert.matches("index 9223372036854775807 is out of range %[1, 3%]",
        message_of(function() l[math.maxinteger] = nn.ReLU() end))
      assert.are.equal(3, #l[{math.mininteger, math.maxinteger}])
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
      assert.are.equal(class == nn.Sequential and "2=Sigmoid 0=ReLU" or "0=Sigmoid 1=ReLU",
        names_of(l[{-1, 1, -2}]))
      assert.are.equal(3, #l[{-9, 9}])
      assert.are.equal(0, #l[{3, 2}])
      local joined = l + part
      assert.are.equal(5, #joined)
      assert.is_true(rawequal(joined[2], joined[4]))
      assert.are.equal(3, #l)
    end)

    it("takes arguments of its methods by name", function()
      local list = class()
      list:append({module = nn.ReLU()})
      list:insert({index = 1, module = nn.Tanh()})
      list:insert(2, {module = nn.ELU()})
      assert.equal("ELU(alpha=1.0)", tostring(list:pop({key = 2})))
      assert.equal("Tanh()", tostring(list[1]))
      assert.equal(2, #list)
      assert.matches("append: unknown argument 'modul' %(did you mean 'module'%?%)",
        message_of(list.append, list, {modul = nn.ReLU()}))
      assert.matches("insert: unknown argument 'x'", message_of(list.insert, list, {x = 1}))
      assert.equal(2, #list)
    end)

    it("loses places by pop and delattr, and numbers what is left", function()
      local l = three(class)
      nn.delattr(l, 1)
      assert.are.equal("0=Tanh 1=Sigmoid", names_of(l))
      nn.delattr(l, -1)
      assert.are.equal("0=Tanh", names_of(l))
      l:extend(three(class))
      local popped = l:pop {1, 3, 2}
      assert.is_true(nn.isinstance(popped, class))
      assert.are.equal(2, #popped)
      assert.are.equal("0=ReLU 1=Sigmoid", names_of(l))
      nn.delattr(l, {1, -1})
      assert.are.equal(0, #l)
      assert.matches("index %-1 is out of range", message_of(l.pop, l))
      assert.matches("index 1 is out of range", message_of(nn.delattr, l, 1))
    end)

    it("has a slot emptied by nil, which iteration passes over", function()
      local l = three(class)
      l[2] = nil
      assert.are.equal(3, #l)
      assert.is_nil(l[2])
      local seen = {}
      for i, m in pairs(l) do seen[#seen + 1] = i .. m:_get_name() end
      assert.are.same({"1ReLU", "3Sigmoid"}, seen)
      assert.are.equal("0=ReLU 2=Sigmoid", names_of(l))
      l[2] = nn.GELU()
      assert.are.equal("0=ReLU 1=GELU 2=Sigmoid", names_of(l))
    end)

    it("takes all modules of a list or none", function()
      local l, inner = three(class), class()
      inner:append(nn.ModuleDict {l = l})
      pcall(l.extend, l, {nn.ReLU(), inner})
      assert.are.equal("0=ReLU 1=Tanh 2=Sigmoid", names_of(l))
      assert.are.equal(4, #l:append(nn.ReLU()))
    end)
  end)
end

describe("Sequential", function()
  it("refuses a name among entries that have none, which would be lost", function()
    for name, entry in pairs {Sequential = nn.ReLU(), ModuleList = nn.ReLU(),
      ModuleDict = {"b", nn.ReLU()}, ParameterList = lucerna.ones(1)} do
      assert.matches(name .. ": a key 'a' among entries without one",
        message_of(nn[name], {entry, a = entry}))
    end
  end)

  it("takes modules, a list of pairs, or names in sorted order", function()
    local s = nn.Sequential {{"conv", nn.Conv2d(1, 1, 1)}, {"act", nn.ReLU()}}
    assert.are.equal("conv=Conv2d act=ReLU", names_of(s))
    assert.is_true(rawequal(s.conv, s[1]))
    assert.are.equal("a=ReLU b=Tanh", names_of(nn.Sequential {b = nn.Tanh(), a = nn.ReLU()}))
    assert.matches("Sequential: argument 2: number is not a Module subclass",
      message_of(nn.Sequential, nn.ReLU(), 3))
  end)

  it("passes its argument through", function()
    local x = lucerna.tensor {-1.0, 2.0}
    assert.are.same({0, 4}, nn.Sequential(nn.ReLU(), nn.Identity())(x):mul(2):tolist())
    assert.is_true(rawequal(x, nn.Sequential()(x)))
  end)

  it("keeps names where they are names", function()
    local s = nn.Sequential {{"conv", nn.Identity()}, {"act", nn.ReLU()}}
    assert.are.equal("act=ReLU", names_of(s[{2, 2}]))
    assert.is_true(rawequal(s, s:insert(2, nn.Tanh())))
    assert.are.equal("conv=Identity 1=Tanh act=ReLU", names_of(s))
    s:append(nn.GELU())
    assert.are.equal("conv=Identity 1=Tanh act=ReLU 3=GELU", names_of(s))
    assert.are.equal("0=Identity 1=Tanh 2=ReLU 3=GELU", names_of(s + nn.Sequential()))
    s:pop(2)
    assert.are.equal("0=Identity 1=ReLU 2=GELU", names_of(s))
  end)

  it("adds Sequentials only, to a plain Sequential", function()
    local Block = nn.class("Block", nn.Sequential)
    local sum = Block(nn.ReLU()) + Block(nn.Tanh())
    assert.are.equal("Sequential", sum:_get_name())
    assert.are.equal("0=ReLU 1=Tanh", names_of(sum))
    assert.matches("add operator supports only objects of Sequential class, but ModuleList is "
      .. "given", message_of(function() return sum + nn.ModuleList() end))
    assert.matches("but number is given", message_of(function() return 1 + sum end))
  end)

  it("repeats by multiplication", function()
    local s = three(nn.Sequential) * 2
    assert.are.equal(6, #s)
    assert.is_true(rawequal(s[1], s[4]))
    assert.are.equal(3, #(1 * three(nn.Sequential)))
    assert.matches("Non%-positive multiplication factor 0 for Sequential",
      message_of(function() return s * 0 end))
    assert.matches("unsupported operand type%(s%) for %*: Sequential and number",
      message_of(function() return s * 1.5 end))
    assert.matches("9223372036854775807 times 6 modules are too many",
      message_of(function() return s * math.maxinteger end))
    assert.matches("too many", message_of(function() return nn.Sequential() * 10000001 end))
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
    local seen = {}
    for i, m in pairs(b) do seen[i] = m:_get_name() end
    assert.are.same({"Linear", "ReLU"}, seen)
    function Block:__pairs() return nn.Sequential.__pairs(self) end
    local step, list = pairs(b)
    assert.is_true(rawequal(b[1], select(2, step(list))))
    function Block.__pairs() return next, {a = 1} end
    for key in pairs(b) do assert.are.equal("a", key) end
  end)
end)

describe("ModuleList", function()
  it("refuses what would be left out", function()
    assert.matches("ModuleList: takes at most 1 arguments %(got 2%)",
      message_of(nn.ModuleList, nn.ReLU(), nn.ReLU()))
    assert.matches("unknown argument 'a'", message_of(nn.ModuleList, {a = nn.ReLU()}))
    assert.matches("should be called with an iterable, but got table",
      message_of(nn.ModuleList().extend, nn.ModuleList(), {a = nn.ReLU()}))
    assert.matches("takes at most 1 arguments %(got 2%)",
      message_of(nn.ModuleDict, {}, nn.ReLU()))
    assert.are.equal(1, #nn.ModuleList {modules = {nn.ReLU()}})
  end)

  it("has empty slots where none is given", function()
    local l = nn.ModuleList {nn.ReLU(), lucerna.none}
    l:append(lucerna.none)
    assert.are.equal(3, #l)
    assert.are.equal("0=ReLU", names_of(l))
    assert.matches("%(1%-2%): 2 x None", tostring(l))
    assert.are.equal(2, #nn.ModuleDict {a = lucerna.none, b = nn.ReLU()})
    assert.matches("nil is not a Module subclass", message_of(l.append, l, nil))
  end)

  it("takes a list, an iterator or nothing, and has no forward", function()
    assert.are.equal(0, #nn.ModuleList())
    assert.are.equal(3, #nn.ModuleList(three(nn.Sequential):children()))
    assert.matches("ModuleList.extend should be called with an iterable, but got number",
      message_of(nn.ModuleList, 3))
    assert.matches("ModuleList: entry 1: number is not a Module subclass",
      message_of(nn.ModuleList, function() return 3 end)) -- endless
    assert.matches('Module %[ModuleList%] is missing the required "forward" function %(ipairs',
      message_of(function() for m in nn.ModuleList() do m() end end))
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
    assert.matches("ModuleDict: entry 'x': number is not a Module subclass",
      message_of(nn.ModuleDict, {x = 3}))
    assert.matches("ModuleDict update sequence element #1 should be Iterable; is ReLU",
      message_of(nn.ModuleDict, {nn.ReLU()}))
    assert.matches("ModuleDict update sequence element #2 has length 1; 2 is required",
      message_of(nn.ModuleDict, {{"a", nn.ReLU()}, {"b"}}))
    assert.matches("ModuleDict%.update should be called with an iterable of key/value pairs, "
      .. "but got number", message_of(d.update, d, 3))
    assert.matches("module name should be a string", message_of(nn.ModuleDict, {{1, nn.ReLU()}}))
    assert.matches("module name can't be empty string",
      message_of(function() d[""] = nn.ReLU() end))
    assert.matches('module name can\'t contain "%."',
      message_of(function() d["a.b"] = nn.ReLU() end))
    assert.matches("append: self must be a module %(got number%)",
      message_of(nn.ModuleList.append, 3, nn.ReLU()))
    for _, name in ipairs {"keys", "values", "items", "contains", "pop", "update"} do
      assert.matches(name .. ": self must be a module %(got nil%)", message_of(d[name]))
    end
    assert.matches("insert: self must be a module %(got nil%)", message_of(nn.Sequential.insert))
    assert.matches("Sequential.forward: self must be a module %(got Tensor%)",
      message_of(nn.Sequential.forward, lucerna.ones(2)))
    assert.matches("keys must be strings %(got number%)",
      message_of(function() d[1] = nn.ReLU() end))
  end)
end)

describe("ModuleDict", function()
  it("iterates over keys, values and items as they are", function()
    local d = nn.ModuleDict {{"b", nn.ReLU()}, {"a", nn.Tanh()}}
    local values = {}
    for m in d:values() do values[#values + 1] = m:_get_name() end
    assert.are.same({"ReLU", "Tanh"}, values)
    for key in d:keys() do d[key .. key] = nn.GELU() end
    for key in d:items() do nn.delattr(d, key) end
    assert.are.equal(0, #d)
  end)

  it("is as before where a method put for add_module refuses what it has added", function()
    local d = nn.ModuleDict {a = nn.ReLU()}
    local add_module, before = d.add_module, d.a
    function d.add_module(self, name, module)
      add_module(self, name, module)
      error("refused", 0)
    end
    for _, name in ipairs {"a", "b"} do
      assert.equal("refused", message_of(d.update, d, {[name] = nn.GELU()}))
      assert.equal(1, #d)
      assert.equal(before, d.a)
    end
  end)

  it("is updated from dictionaries, ordered maps and iterators, or not at all", function()
    local d = nn.ModuleDict(nn.ModuleDict {{"b", nn.ReLU()}, {"a", nn.Tanh()}})
    assert.are.equal("b=ReLU a=Tanh", names_of(d))
    assert.are.equal("b=ReLU a=Tanh", names_of(nn.ModuleDict(d._modules)))
    assert.are.equal("b=ReLU a=Tanh", names_of(nn.ModuleDict(d:named_children())))
    d:update {{"c", nn.GELU()}, {"b", nn.Sigmoid()}}
    assert.are.equal("b=Sigmoid a=Tanh c=GELU", names_of(d))
    assert.matches("attribute 'keys' already exists",
      message_of(d.update, d, {{"b", nn.ReLU()}, {"z", nn.ReLU()}, {"keys", nn.ReLU()}}))
    assert.are.equal("b=Sigmoid a=Tanh c=GELU", names_of(d))
    assert.matches('module name can\'t contain "%."',
      message_of(d.update, d, {["a.b"] = nn.ReLU()}))
  end)
end)

describe("containers", function()
  it("nest in each other", function()
    local net = nn.ModuleDict {
      body = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.ReLU()),
      heads = nn.ModuleList {nn.ModuleDict {a = nn.Linear(2, 1)}, nn.ModuleList {nn.Tanh()}},
    }
    assert.are.same({2, 1}, net.heads[1].a(net.body(lucerna.ones(2, 2))):size())
    local keys = {}
    for key in pairs(net:state_dict()) do keys[#keys + 1] = key end
    assert.are.same({"body.0.0.weight", "body.0.0.bias", "heads.0.a.weight", "heads.0.a.bias"},
      keys)
    assert.are.same({2}, net:clone().body[1][1].bias:size())
  end)

  it("are called once they have a forward", function()
    for _, class in ipairs {nn.ModuleList, nn.ModuleDict, nn.Container} do
      local name = class():_get_name()
      assert.matches(('Module %%[%s%%] is missing the required "forward" function'):format(name),
        message_of(class(), 1))
      local Sum = nn.class("Sum", class)
      function Sum:forward(x)
        for m in self:children() do x = x + m(x) end
        return x
      end
      local sum = Sum(class == nn.ModuleList and {nn.ReLU()} or {a = nn.ReLU()})
      assert.are.equal(2, sum(lucerna.ones(1)):item())
      local plain = class()
      plain.forward = function(self, x) return x + #self end
      if class ~= nn.Container then assert.are.equal(1, plain(lucerna.ones(1)):item()) end
    end
  end)

  it("are what Container made", function()
    assert.are.equal("a=ReLU b=Tanh", names_of(nn.Container {b = nn.Tanh(), a = nn.ReLU()}))
  end)
end)

describe("containers changed while they run", function()
  local x = lucerna.tensor {-1.0, 2.0}

  it("by a loop over them", function()
    local l = three(nn.ModuleList)
    for i in pairs(l) do
      if i == 1 then l:pop(1) end
    end
    for i in ipairs(l) do
      if #l < 20 then l:insert(i, nn.ReLU()) end
      collectgarbage("step")
    end
    assert.are.equal(20, #l)
    local n = 0
    for _ in l:children() do
      nn.delattr(l, {1, -1})
      collectgarbage()
      n = n + 1
    end
    assert.are.equal(20, n)
  end)

  it("by their own modules", function()
    local s = nn.Sequential(nn.ReLU(), nn.Identity(), nn.Identity())
    s[2].forward = function(_, y)
      for _ = 1, 3 do s:pop() end
      collectgarbage()
      collectgarbage()
      return y
    end
    assert.are.same({0, 2}, s(x):tolist())
    assert.are.equal(0, #s)
  end)

  it("by hooks", function()
    local s = nn.Sequential(nn.Sequential(nn.ReLU()), nn.Identity())
    local hook
    hook = s[1][1]:register_forward_hook(function()
      hook:remove()
      s[1]:append(nn.Tanh())
      s:insert(1, nn.Identity())
      nn.delattr(s, -1)
      collectgarbage()
    end)
    assert.are.equal(2, #s(x))
    assert.are.equal("0=Identity 1=Sequential", names_of(s))
    assert.are.equal(2, #s[2])
  end)

  it("and nothing of them is left", function()
    local weak = setmetatable({}, {__mode = "k"})
    do
      local s = three(nn.Sequential)
      local l = nn.ModuleList {s, s + s, s * 3}
      s[1].owner = function() return l end
      weak[s], weak[l] = true, true
      s:pop(2)
      l:insert(1, nn.ParameterList {lucerna.ones(1)})
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(weak))
  end)
end)
