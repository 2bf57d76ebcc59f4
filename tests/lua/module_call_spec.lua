-- Calling modules: hooks and their order, overrides, yielding, depth, and the paths in errors.

local lucerna = require "lucerna"
local parity = require "parity"
local nn = lucerna.nn

local Id = nn.class("Id")
function Id:forward(...) return ... end -- luacheck: ignore 212

local Net = nn.class("Net")
function Net:__init()
  self.features = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 3)))
  self.head = nn.Linear(3, 1)
end
function Net:forward(x)
  local y = self.features(x)
  return self.head(y)
end

local message_of = parity.message

describe("a call", function()
  it("Identity and an empty Sequential give back whatever they get", function()
    local pair = { lucerna.ones(1), 2 }
    for _, m in ipairs { nn.Identity(), nn.Sequential() } do
      assert.equal(3, m(3))
      assert.equal(pair, m(pair))
      assert.equal(pair, m:forward(pair))
      m:register_forward_hook(function(_, args, output) return { args[1], output } end)
      assert.same({ "a", "a" }, m("a"))
    end
    local x = lucerna.ones(1)
    for _, m in ipairs { nn.Identity(), nn.Sequential(), nn.Sequential(nn.Sequential()) } do
      local name = m:_get_name()
      assert.equal(x, m { input = x })
      assert.matches(name .. ": missing argument 'input'", message_of(m))
      assert.matches(name .. ": takes at most 1 arguments", message_of(m, x, x))
    end
  end)
end)

describe("a forward hook", function()
  it("sees arguments and output, and may replace it", function()
    local m = Id()
    local seen
    m:register_forward_hook(function(module, args, output)
      if args.n == 2 then seen = {module, args.n, args[1], args[2], output.n, output[2]} end
    end)
    assert.are.equal(7, (m(7, 8)))
    assert.is_true(rawequal(m, seen[1]))
    assert.are.same({2, 7, 8, 2, 8}, {table.unpack(seen, 2)})
    m:register_forward_hook(function(_, args, output)
      if args.n == 2 then return output[1] + 1 end
    end)
    assert.are.same({8}, {m(7, 8)})
    m:register_forward_hook(function() return {n = 2, "a", "b"} end)
    assert.are.same({"a", "b"}, {m(7)})
  end)

  it("gets a single output as itself, nil included", function()
    local m, outputs = Id(), {}
    m:register_forward_hook(function(_, args, output)
      outputs[#outputs + 1] = {args.n, output}
    end)
    m(3)
    m()
    m(nil)
    assert.are.same({{1, 3}, {0}, {1}}, outputs)
  end)

  it("runs on layers written in C, called directly or below others", function()
    local net, names = Net(), {}
    for name, m in net:named_modules() do
      m:register_forward_hook(function() names[#names + 1] = name end)
    end
    net(lucerna.ones(1, 2))
    assert.are.same({"features.0", "features.1", "features.2.0", "features.2", "features", "head",
      ""}, names)
    names = {}
    net.features(lucerna.ones(1, 2))
    assert.are.equal(5, #names)
  end)

  it("can be removed, also by the end of a block", function()
    local m, n = Id(), 0
    local handle = m:register_forward_hook(function() n = n + 1 end)
    m(1)
    handle:remove()
    handle:remove()
    m(1)
    do
      local _ <close> = m:register_forward_hook(function() n = n + 10 end)
      m(1)
    end
    m(1)
    assert.are.equal(11, n)
  end)

  it("keeps registration order, prepended ones first", function()
    local m, order = Id(), {}
    local function note(name) return function() order[#order + 1] = name end end
    m:register_forward_hook(note "a")
    m:register_forward_hook(note "b")
    m:register_forward_hook(note "c", {prepend = true})
    m:register_forward_pre_hook(note "p")
    m:register_forward_pre_hook(note "q", {prepend = true})
    m(1)
    assert.are.same({"q", "p", "c", "a", "b"}, order)
  end)

  it("that removes itself does not disturb the others", function()
    local m, order, handle = Id(), {}, nil
    handle = m:register_forward_hook(function()
      order[#order + 1] = 1
      handle:remove()
    end)
    m:register_forward_hook(function() order[#order + 1] = 2 end)
    m(0)
    m(0)
    assert.are.same({1, 2, 2}, order)
  end)

  it("is always called if asked to, and the error stays the first", function()
    local m, calls = Id(), {}
    m.forward = function() error("broken", 0) end
    m:register_forward_hook(function() calls[#calls + 1] = "plain" end)
    m:register_forward_hook(function(_, args, output)
      calls[#calls + 1] = {args.n, output}
      error("lost")
    end, {always_call = true})
    assert.are.equal("broken", message_of(m, 5))
    assert.are.same({{1}}, calls)
    m.forward = nil
    calls = {}
    assert.matches("lost", message_of(m, 5))
    assert.are.equal(2, #calls)
  end)

  it("that is always called is called where a hook before forward failed", function()
    local m, seen = Id(), {}
    m:register_forward_hook(function(_, args, output) seen = {args.n, args[1], output} end,
      {always_call = true})
    local handle = m:register_forward_pre_hook(function() error("not yet", 0) end)
    assert.are.equal("not yet", message_of(m, 5))
    assert.are.same({1, 5}, seen)
    handle:remove()
    m:register_forward_pre_hook(function() return 7 end)
    m.forward = function() error("broken", 0) end
    assert.are.equal("broken", message_of(m, 5))
    assert.are.same({1, 7}, seen)
  end)

  it("that is always called sees the arguments as the hooks before it left them", function()
    local m, seen = Id(), nil
    m:register_forward_hook(function(_, args) seen = args[1] end, {always_call = true})
    m:register_forward_pre_hook(function() return 7 end)
    m:register_forward_pre_hook(function() error("not yet", 0) end)
    assert.are.equal("not yet", message_of(m, 5))
    assert.are.equal(7, seen)
  end)

  it("may be registered or removed until forward has returned", function()
    local m, order, handle = Id(), {}, nil
    local function note(name) return function() order[#order + 1] = name end end
    m:register_forward_hook(note "a")
    m.forward = function(self, x)
      if not handle then handle = self:register_forward_hook(note "b") else handle:remove() end
      return x
    end
    m(1)
    m(1)
    m(1)
    assert.are.same({"a", "b", "a", "a"}, order)
    order, handle = {}, nil
    m:register_forward_pre_hook(function() handle = handle or m:register_forward_hook(note "c") end)
    m.forward = nil
    m(1)
    assert.are.same({"a", "c"}, order)
  end)

  it("follows a forward that is a callable table", function()
    local Doubled = nn.class "Doubled"
    Doubled.forward = setmetatable({}, {__call = function(_, _, x) return x * 2 end})
    local m = Doubled()
    m:register_forward_hook(function(_, args, y) return args[1] + y end)
    assert.are.equal(15, m(5))
  end)

  it("must be callable", function()
    assert.matches("hook must be a function %(got number%)", message_of(function()
      Id():register_forward_hook(3)
    end))
    assert.matches("unknown argument 'prepnd'", message_of(function()
      Id():register_forward_hook(print, {prepnd = true})
    end))
  end)
end)

describe("a pre-hook", function()
  it("replaces arguments by one value or a packed table", function()
    local m = Id()
    local handle = m:register_forward_pre_hook(function(_, args) return args[1] * 2 end)
    assert.are.equal(6, (m(3)))
    handle:remove()
    m:register_forward_pre_hook(function(_, args) return {n = 2, args[1], "more"} end)
    assert.are.same({3, "more"}, {m(3)})
  end)

  it("or the hook after forward may return any other table, which is one value", function()
    local class = setmetatable({}, {__index = {n = 3}})
    for _, value in ipairs {{x = 1}, {n = -1}, {n = 2 ^ 40}, {n = 1 << 40}, {n = "two"}, class} do
      local m = Id()
      local handle = m:register_forward_pre_hook(function() return value end)
      assert.is_true(rawequal(value, m(3)))
      handle:remove()
      m:register_forward_hook(function() return value end)
      assert.are.same({value}, {m(3)})
    end
  end)

  it("has the array that it returns left as it is", function()
    local m, list = Id(), {1, 2}
    m:register_forward_pre_hook(function() return list end)
    assert.are.same({1, 2}, {m(3)})
    list[3] = 4
    assert.are.same({1, 2, 4}, {m(3)})
  end)

  it("works on a layer written in C", function()
    local l = nn.Linear(2, 1)
    l:register_forward_pre_hook(function(_, args) return args[1] * 0 end)
    assert.is_true(lucerna.allclose(l(lucerna.ones(1, 2)), l.bias))
  end)
end)

describe("overriding", function()
  it("forward on an instance works, in containers too", function()
    local relu = nn.ReLU()
    local seq = nn.Sequential(relu)
    relu.forward = function(self, x)
      assert.is_true(rawequal(relu, self))
      return x + 1
    end
    assert.are.equal(2, seq(lucerna.ones(1)):item())
    assert.are.equal(2, relu(lucerna.ones(1)):item())
    relu.forward = nil
    assert.are.equal(1, seq(lucerna.ones(1)):item())
  end)

  it("other methods on an instance is possible", function()
    local m = Id()
    m._get_name = function() return "me" end
    assert.are.equal("me", m:_get_name())
  end)

  it("replacing a child by one of Lua's is noticed above", function()
    local seq = nn.Sequential(nn.Sequential(nn.ReLU()))
    local x = lucerna.ones(1)
    seq(x)
    seq[1][1] = Id()
    assert.is_true(rawequal(x, seq(x)))
    seq[1][1] = nn.ReLU()
    assert.is_false(rawequal(x, seq(x)))
  end)
end)

describe("a call", function()
  it("can yield in forward, in hooks, through containers", function()
    local Yields = nn.class("Yields")
    function Yields:forward(x) return x + coroutine.yield("forward") end -- luacheck: ignore 212
    local y = Yields()
    y:register_forward_hook(function(_, _, out) return out + coroutine.yield("hook") end)
    local seq = nn.Sequential(nn.Identity(), nn.Sequential(y))
    local co = coroutine.wrap(function() return seq(lucerna.zeros(1)) end)
    assert.are.equal("forward", co())
    assert.are.equal("hook", co(2))
    assert.are.equal(5, co(3):item())
  end)

  it("nests without a limit in Lua", function()
    local Wrap = nn.class("Wrap")
    function Wrap:__init(m) self.m = m end
    function Wrap:forward(x)
      local y = self.m(x)
      return y
    end
    local m = Id()
    for _ = 1, 5000 do m = Wrap(m) end
    assert.are.equal(1, m(1))
  end)

  it("passes several results through", function()
    local Two = nn.class("Two")
    function Two:forward(x) return x, x + 1 end -- luacheck: ignore 212
    local pool = nn.MaxPool2d(2, {return_indices = true})
    local y, indices = pool(lucerna.rand(1, 1, 4, 4))
    assert.are.same({1, 1, 2, 2}, y:size())
    assert.are.equal(lucerna.int64, indices.dtype)
    assert.is_true(indices:min():item() >= 1)
    local a, b = nn.Sequential(nn.Identity(), Two())(lucerna.zeros(1))
    assert.are.equal(1, (b - a):item())
  end)

  it("counts indices from 1, at the front of a chain too", function()
    local e = nn.Embedding(3, 2)
    local ids = lucerna.tensor {1, 3}
    local expected = lucerna.stack {e.weight[1], e.weight[3]}
    assert.is_true(lucerna.allclose(expected, e(ids)))
    assert.is_true(lucerna.allclose(expected, nn.Sequential(e, nn.Identity())(ids)))
    assert.is_true(lucerna.allclose(expected, nn.Sequential(Id(), e)(ids)))
  end)
end)

describe("an error", function()
  local x = lucerna.ones(1, 5)

  it("names the path from the module that was called", function()
    local net = Net()
    local function at(pattern, f, ...)
      local given = table.pack(...)
      local message = message_of(function() f(table.unpack(given, 1, given.n)) end)
      assert.matches("^tests/lua/module_call_spec.lua:%d+: ", message)
      assert.matches(pattern, message, 1, true)
    end
    at(": in features.0 (Linear): linear: input has 5 features", net, x)
    at(": in 0 (Linear): linear:", nn.Sequential(nn.Linear(1, 1)), x)
    at(": in Linear: linear:", nn.Linear(1, 1), x)
    net.features[3][1] = nn.Linear(4, 4)
    at(": in features.2.0 (Linear): linear:", net, lucerna.ones(1, 2))
    net.features[3] = nn.Identity()
    net.head = nn.Linear(9, 1)
    at(": in head (Linear): linear:", net, lucerna.ones(1, 2))
    at(": in a?b (Linear): linear:", nn.Sequential {{"a\nb", nn.Linear(1, 1)}}, x)
  end)

  it("names the path below a net that another module's forward calls", function()
    local Wrap, Outer, text = nn.class("Wrap"), nn.class("Outer"), nil
    function Wrap:forward(y) return self.inner(y) end
    local wrap = Wrap()
    wrap.inner = nn.Linear(1, 1)
    local net = nn.Sequential(nn.Identity(), nn.Sequential(wrap))
    function Outer:forward(y) -- luacheck: ignore 212
      text = message_of(net, y)
      return y
    end
    nn.Sequential(Outer())(x)
    assert.matches(": in 1.0.inner (Linear): linear:", text, 1, true)
  end)

  it("of an operator in a Lua forward is placed in its module", function()
    local Bad = nn.class("Bad")
    function Bad:forward(y) return y + lucerna.ones(7) end -- luacheck: ignore 212
    local message = message_of(Bad(), x)
    assert.matches(": in Bad: add: ", message, 1, true)
    local outer = nn.Sequential(nn.Identity(), nn.Sequential(Bad()))
    assert.matches(": in 1.0 (Bad): add: ", message_of(outer, x), 1, true)
    local Tail = nn.class("Tail")
    function Tail:__init() self.inner = Bad() end
    function Tail:forward(y) return self.inner(y) end
    assert.matches(": in inner (Bad): add: ", message_of(Tail(), x), 1, true)
  end)

  it("of user code stays as it is", function()
    local Raises = nn.class("Raises")
    local object = {}
    function Raises:forward() error(object) end -- luacheck: ignore 212
    assert.is_true(rawequal(object, message_of(nn.Sequential(Raises()), x)))
  end)

  it("in a hook has the module's path", function()
    local net = Net()
    net.features[2]:register_forward_hook(function(_, _, out) return out + lucerna.ones(7) end)
    assert.matches(": in features.1 (ReLU): add: ", message_of(net, lucerna.ones(1, 2)), 1, true)
  end)

  it("for wrong arguments names the class", function()
    assert.matches("Linear: input must be a Tensor %(got number 3%)",
      message_of(nn.Linear(1, 1), 3))
    assert.matches("Linear: takes at most 1 arguments", message_of(nn.Linear(1, 1), x, x))
    assert.matches("Linear: missing argument 'input'", message_of(nn.Linear(1, 1)))
  end)
end)
