-- Where an error comes from: its message has the path of the module that failed, once, wherever in
-- net(x) it was raised; what user code raises, and the traceback of user code, stay as they are.
local lucerna = require "lucerna"
local nn = lucerna.nn
local F = nn.functional

local x = lucerna.ones(1, 5)
local five = "linear: input has 5 features, weight expects 1 (input [1, 5], weight [1, 1])"

local function bad() return nn.Linear(1, 1) end

-- A class whose forward is given; `m` is what instances hold.
local function class(name, forward)
  local C = nn.class(name)
  function C:__init(m) self.m = m end
  C.forward = forward
  return C
end

local Calls = class("Calls", function(self, y)
  local z = self.m(y)
  return z
end)
local Ends = class("Ends", function(self, y) return self.m(y) end)
local Adds = class("Adds", function(_, y)
  local z = y + lucerna.ones(7)
  return z
end)

local function message_of(f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  return message
end

-- The message is "place_spec.lua:line: " (as often as `positions` says), place, text.
local function check(place, text, message, positions)
  local rest, n = message, 0
  while rest:find("^tests/lua/place_spec%.lua:%d+: ") do
    rest, n = rest:gsub("^tests/lua/place_spec%.lua:%d+: ", ""), n + 1
  end
  assert.are.equal(positions or 1, n, message)
  assert.are.equal(place .. text, rest:sub(1, #place + #text))
end

describe("the path in an error", function()
  it("goes through chains and classes, in C and in Lua", function()
    check("in Linear: ", five, message_of(bad(), x))
    check("in 0 (Linear): ", five, message_of(nn.Sequential(bad()), x))
    check("in 0.1.0 (Linear): ", five,
      message_of(nn.Sequential(nn.Sequential(nn.ReLU(), nn.Sequential(bad()))), x))
    check("in m (Linear): ", five, message_of(Calls(bad()), x))
    check("in 0.m.0.m (Linear): ", five,
      message_of(nn.Sequential(Calls(nn.Sequential(Calls(bad())))), x))
    check("in m.0.m (Adds): ", "add: The size of tensor a (5)",
      message_of(Calls(nn.Sequential(Calls(Adds()))), x))
  end)

  it("is whole where forwards end in calls, whose frames are gone", function()
    check("in 0.m.0.m (Linear): ", five,
      message_of(nn.Sequential(Ends(nn.Sequential(Ends(bad())))), x))
    check("in 0.m.m.m (Adds): ", "add: ", message_of(nn.Sequential(Ends(Calls(Ends(Adds())))), x))
  end)

  it("goes through lists and dictionaries of modules", function()
    local Lists = nn.class("Lists")
    function Lists:__init()
      self.list = nn.ModuleList {nn.Identity(), nn.Sequential(nn.ReLU(), bad())}
      self.dict = nn.ModuleDict {a = nn.Identity(), b = bad()}
    end
    function Lists:forward(y, which)
      if which == "list" then
        for _, m in ipairs(self.list) do y = m(y) end
        return y
      end
      for _, m in self.dict:items() do y = m(y) end
      return y
    end
    check("in list.1.1 (Linear): ", five, message_of(Lists(), x, "list"))
    check("in m.dict.b (Linear): ", five, message_of(Calls(Lists()), x))
  end)

  it("is that of the class when functions are called in a forward", function()
    local Functional = class("Functional", function(_, y)
      local z = F.linear(y, lucerna.ones(1, 1))
      return z
    end)
    check("in 0.m (Functional): ", five, message_of(nn.Sequential(Calls(Functional())), x))
    local Ending = class("Ending", function(_, y) return F.linear(y, lucerna.ones(1, 1)) end)
    check("in 0.m (Ending): ", five, message_of(nn.Sequential(Calls(Ending())), x))
  end)

  it("knows methods that a forward calls, ends in, and its ancestors' forwards", function()
    local Base = nn.class("Base")
    function Base:step(y) -- luacheck: ignore 212
      local z = y + lucerna.ones(7)
      return z
    end
    function Base:forward(y)
      local z = self:step(y)
      return z
    end
    local Child = nn.class("Child", Base)
    function Child:forward(y) return Base.forward(self, y) end
    local Last = nn.class("Last", Base)
    function Last:forward(y) return self:step(y) end
    check("in 0 (Base): ", "add: ", message_of(nn.Sequential(Base()), x))
    check("in 0 (Child): ", "add: ", message_of(nn.Sequential(Child()), x))
    check("in 0 (Last): ", "add: ", message_of(nn.Sequential(Last()), x))
    local Mine = nn.class("Mine", nn.Linear)
    function Mine:forward(y) return nn.Linear.forward(self, y) end
    check("in m (Mine): ", five, message_of(Calls(Mine(1, 1)), x))
  end)

  it("is found for a forward on the instance and one of varargs", function()
    local m = nn.Identity()
    function m:forward(y) -- luacheck: ignore 212
      local z = y + lucerna.ones(7)
      return z
    end
    check("in 0 (Identity): ", "add: ", message_of(nn.Sequential(m), x))
    local Varargs = class("Varargs", function(...)
      local z = select(2, ...) + lucerna.ones(7)
      return z
    end)
    check("in 0 (Varargs): ", "add: ", message_of(nn.Sequential(Varargs()), x))
  end)

  it("takes the first name of a module that has two", function()
    local Shared = nn.class("Shared")
    function Shared:__init()
      self.a = bad()
      self.b = self.a
    end
    function Shared:forward(y)
      local z = self.b(y)
      return z
    end
    check("in 0.a (Linear): ", five, message_of(nn.Sequential(Shared()), x))
    local one = bad()
    check("in 0 (Linear): ", five, message_of(nn.Sequential(one, one), x))
  end)

  it("begins at a module that is called from outside its parent", function()
    local net = nn.Sequential(nn.Sequential(bad()))
    check("in 0 (Linear): ", five, message_of(net[1], x))
    local Foreign = class("Foreign", function(_, y)
      local z = net(y)
      return z
    end)
    check("in 0.0 (Linear): ", five, message_of(nn.Sequential(Foreign()), x))
    local direct = class("Direct", function(self, y)
      local z = self.m:forward(y)
      return z
    end)
    check("in 0.m (Linear): ", five, message_of(nn.Sequential(direct(bad())), x))
  end)

  it("is the hook's module's, before and after forward, always called or not", function()
    local function add(_, args) return args[1] + lucerna.ones(7) end
    local net = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Linear(5, 5)))
    local handle = net[2][1]:register_forward_pre_hook(add)
    check("in 1.0 (Linear): ", "add: ", message_of(net, x))
    handle:remove()
    handle = net[2]:register_forward_hook(add)
    check("in 1 (Sequential): ", "add: ", message_of(net, x))
    handle:remove()
    net[2]:register_forward_hook(add, {always_call = true})
    check("in 1 (Sequential): ", "add: ", message_of(net, x))
    local inner = nn.Sequential(bad())
    local other = nn.Sequential(nn.ReLU())
    other[1]:register_forward_hook(function(_, args)
      local z = inner(args[1])
      return z
    end)
    check("in 0 (Linear): ", five, message_of(other, x))
  end)

  it("does not change when a hook that is always called runs or fails", function()
    local net = nn.Sequential(nn.Sequential(bad()))
    local seen = 0
    net:register_forward_hook(function()
      seen = seen + 1
      return lucerna.ones(2) + lucerna.ones(3)
    end, {always_call = true})
    check("in 0.0 (Linear): ", five, message_of(net, x))
    assert.are.equal(1, seen)
  end)

  it("of a call that was caught does not stick to the next error", function()
    local Tries = class("Tries", function(self, y)
      pcall(self.m, y)
      local z = y + lucerna.ones(7)
      return z
    end)
    check("in 0 (Tries): ", "add: ", message_of(nn.Sequential(Tries(nn.Sequential(bad()))), x))
    check("", "add: ", message_of(function() return x + lucerna.ones(7) end))
  end)

  it("comes once when pcall in a forward raises the error again", function()
    local Again = class("Again", function(self, y)
      local ok, z = pcall(self.m, y)
      if not ok then error(z, 0) end
      return z
    end)
    check("in 0.m.m (Linear): ", five, message_of(nn.Sequential(Again(Calls(bad()))), x))
    local Level = class("Level", function(self, y)
      local ok, z = pcall(self.m, y)
      if not ok then error(z) end
      return z
    end)
    check("in 0.m.m (Linear): ", five, message_of(nn.Sequential(Level(Calls(bad()))), x), 2)
  end)

  it("is whole at any depth", function()
    local deep = bad()
    for _ = 1, 200 do deep = Calls(deep) end
    check("in " .. ("m."):rep(199) .. "m (Linear): ", five, message_of(deep, x))
  end)

  it("is there for modules called in backward", function()
    local net = nn.Sequential(bad())
    local p = lucerna.ones(2):requires_grad_()
    p:register_hook(function(grad)
      net(x)
      return grad
    end)
    check("in 0 (Linear): ", five, message_of(function() (p * 2):sum():backward() end))
  end)
end)

describe("the path, through coroutines,", function()
  local function in_wrap(f) return coroutine.wrap(f)() end
  local function in_resume(f)
    local ok, result = coroutine.resume(coroutine.create(f))
    if not ok then error(result, 0) end
    return result
  end
  local function class_of(run)
    return class("Inside", function(self, y)
      local z = run(function()
        local inner = self.m(y)
        return inner
      end)
      return z
    end)
  end

  it("is the same around the call", function()
    local net = nn.Sequential(Calls(nn.Sequential(bad())))
    check("in 0.m.0 (Linear): ", five, message_of(in_wrap, function()
      local y = net(x)
      return y
    end), 2) -- coroutine.wrap puts its own position before
    check("in 0.m.0 (Linear): ", five, message_of(in_resume, function() return (net(x)) end))
    local co = coroutine.create(function() return (net(x)) end)
    local ok, message = coroutine.resume(co)
    assert.is_false(ok)
    check("in 0.m.0 (Linear): ", five, message)
    assert.matches("place_spec.lua:%d+: in function", debug.traceback(co))
  end)

  it("is whole when forward runs its children in one, or in several", function()
    local Wraps, Resumes = class_of(in_wrap), class_of(in_resume)
    check("in 0.m.0 (Linear): ", five,
      message_of(nn.Sequential(Resumes(nn.Sequential(bad()))), x))
    check("in 0.m.0 (Linear): ", five,
      message_of(nn.Sequential(Wraps(nn.Sequential(bad()))), x), 2)
    check("in 0.m.m.m.0 (Linear): ", five,
      message_of(nn.Sequential(Resumes(Calls(Resumes(nn.Sequential(bad()))))), x))
    check("in m (Adds): ", "add: ", message_of(Resumes(Adds()), x))
  end)

  it("is whole in no_grad, which makes one", function()
    local Quiet = class("Quiet", function(self, y) return (lucerna.no_grad(self.m, y)) end)
    local net = nn.Sequential(Quiet(bad()))
    check("in 0.m (Linear): ", five, message_of(net, x))
    check("in 0.m (Linear): ", five, message_of(in_resume, function() return (net(x)) end))
  end)

  it("is whole after a yield in a forward", function()
    local Yields = class("Yields", function(self, y)
      coroutine.yield()
      local z = self.m(y)
      return z
    end)
    local net = nn.Sequential(nn.Sequential(Yields(bad())))
    local co = coroutine.create(function() return (net(x)) end)
    assert.is_true(coroutine.resume(co))
    local ok, message = coroutine.resume(co)
    assert.is_false(ok)
    check("in 0.0.m (Linear): ", five, message)
  end)
end)

describe("what user code raises", function()
  local function raising(f) return nn.Sequential(Calls(class("Raises", f)())) end

  it("passes as it is: tables, nil, strings with and without position", function()
    local object = setmetatable({}, {__tostring = function() return "object" end})
    assert.is_true(rawequal(object, message_of(raising(function() error(object) end), x)))
    local ok, message = pcall(raising(function() error(nil) end), x)
    assert.is_false(ok)
    assert.is_nil(message)
    assert.are.equal("bare", message_of(raising(function() error("bare", 0) end), x))
    local line = debug.getinfo(1, "l").currentline
    assert.are.equal(("tests/lua/place_spec.lua:%d: boom"):format(line + 2),
      message_of(raising(function() error("boom") end), x))
    assert.matches("^tests/lua/place_spec%.lua:%d+: attempt to index a nil value",
      message_of(raising(function(_, y) return y.nothing.there end), x))
  end)

  it("passes out of hooks and through hooks that are always called", function()
    local object = {}
    local net = nn.Sequential(nn.Linear(5, 5))
    net:register_forward_hook(function() end, {always_call = true})
    net[1]:register_forward_hook(function() error(object) end)
    assert.is_true(rawequal(object, message_of(net, x)))
    net[1]:register_forward_pre_hook(function() error("before", 0) end)
    assert.are.equal("before", message_of(net, x))
  end)

  it("passes through coroutines", function()
    local object = {}
    local Inside = class("Inside", function(self, y)
      return (coroutine.wrap(function() return (self.m(y)) end)())
    end)
    local net = nn.Sequential(Inside(raising(function() error(object) end)))
    assert.is_true(rawequal(object, message_of(net, x)))
  end)
end)

describe("a traceback", function()
  it("shows the lines of user code that led to the error", function()
    local lines = {}
    local function here() lines[#lines + 1] = debug.getinfo(2, "l").currentline end
    local Inner = class("Inner", function(_, y)
      here()
      local z = y + lucerna.ones(7)
      return z
    end)
    local Outer = class("Outer", function(self, y)
      here()
      local z = self.m(y)
      return z
    end)
    local net = nn.Sequential(nn.ReLU(), Outer(nn.Sequential(nn.Identity(), Inner())))
    net:register_forward_hook(function() end, {always_call = true})
    local ok, trace = xpcall(net, debug.traceback, x)
    assert.is_false(ok)
    local place = ("tests/lua/place_spec.lua:%d: in 1.m.1 (Inner): add: "):format(lines[2] + 1)
    assert.are.equal(place, trace:sub(1, #place))
    assert.is_nil(trace:find("in 1.m.1", #place, true))
    for _, line in ipairs(lines) do
      assert.matches(("place_spec.lua:%d: in"):format(line + 1), trace, 1, true)
    end
    assert.are.equal(2, #lines)
  end)
end)
