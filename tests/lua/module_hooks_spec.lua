-- Backward hooks and hooks of every module: what they see (recorded from PyTorch), what they may
-- change, and what happens when they misbehave.

local lucerna = require "lucerna"
local parity = require "parity"
local nn = lucerna.nn

local recorded = parity.load "hooks"

local message_of = parity.message

-- ---- the scenarios of gen_hooks.py ----

local events

local function note(name, grad_input, grad_output)
  events[#events + 1] = { name, grad_input or false, grad_output }
end

local function noting(name) return function(_, gi, go) note(name, gi, go) end end

local function linear(i, o)
  local m = nn.Linear(i, o):double()
  lucerna.no_grad(function()
    for p in m:parameters() do
      p:copy_((lucerna.arange(p:numel(), {dtype = lucerna.float64}) + 1):reshape(p.shape) / 8)
    end
  end)
  return m
end

local function input(grad)
  return lucerna.tensor({{0.5, -0.25}, {1.0, 2.0}},
    {dtype = lucerna.float64, requires_grad = grad ~= false})
end

local function every(net, x)
  for path, m in net:named_modules() do m:register_full_backward_hook(noting(path)) end
  net(x):sum():backward()
end

local function chain() return nn.Sequential(linear(2, 3), nn.Tanh(), linear(3, 1)) end

local Two = nn.class("Two")
function Two.forward(_, a, _, b) return a * b, a + 1 end
local Left = nn.class("Left")
function Left.forward(_, a) return a * 2 end

local SCENARIOS = {
  chain = function() every(chain(), input()) end,
  ["no input wants"] = function() every(chain(), input(false)) end,
  scaled = function()
    local m, x = linear(2, 2), input()
    m:register_full_backward_pre_hook(function(_, go) return {go[1] * 3} end)
    m:register_full_backward_pre_hook(function(_, go) note("pre", nil, go) end)
    m:register_full_backward_hook(function(_, gi) return gi[1] * 10 end)
    m:register_full_backward_hook(noting "full")
    m:register_full_backward_hook(noting "first", {prepend = true})
    m(x):sum():backward()
    note("grad", {n = 1, x.grad}, {n = 1, m.weight.grad})
  end,
  two = function()
    local m = Two()
    m:register_full_backward_hook(noting "two")
    m(input() * 1, "label", input(false)):sum():backward()
  end,
  unused = function()
    local m = Left()
    m:register_full_backward_hook(noting "unused")
    m(input() * 1, input() * 1):sum():backward()
  end,
  old = function()
    local m, x = linear(2, 2), input()
    m:register_backward_hook(function(_, _, go) note("old", {n = 0}, go) end)
    m(x):sum():backward()
    local s = nn.Sigmoid()
    s:register_backward_hook(function(_, gi) return {gi[1] * 2} end)
    s:register_backward_hook(noting "sigmoid")
    s(x):sum():backward()
  end,
  world = function()
    local net, x = nn.Sequential(linear(2, 2), nn.ReLU()), input()
    local handle = nn.register_module_full_backward_hook(function(m, gi, go)
      note("all " .. m:_get_name(), gi, go)
    end)
    net[1]:register_full_backward_hook(noting "own")
    net(x):sum():backward()
    handle:remove()
    net(x):sum():backward()
  end,
  twice = function()
    local m = linear(2, 2)
    m:register_full_backward_hook(noting "again")
    local y = m(m(input())):sum()
    y:backward(nil, {retain_graph = true})
    y:backward()
  end,
}

local function compare(name, want, got)
  if not want then return assert.is_false(got) end
  assert.are.equal(want.n, got.n, name)
  for i = 1, want.n do
    if want[i] then
      parity.close(got[i], parity.tensor(want[i]), nil, name .. " " .. i)
    else
      assert.is_nil(got[i], name .. " " .. i)
    end
  end
end

describe("backward hooks see what PyTorch's see:", function()
  for name, run in pairs(SCENARIOS) do
    it(name, function()
      events = {}
      run()
      local want = recorded[name]
      assert.are.equal(#want, #events)
      for i, event in ipairs(want) do
        assert.are.equal(event[1], events[i][1])
        compare(event[1] .. " grad_input", event[2], events[i][2])
        compare(event[1] .. " grad_output", event[3], events[i][3])
      end
    end)
  end
end)

-- ---- what PyTorch refuses ----

describe("a full backward hook", function()
  it("may not be mixed with the old kind", function()
    local text = "Cannot use both regular backward hooks and full backward hooks on a single Module"
    local a, b = nn.ReLU(), nn.ReLU()
    a:register_backward_hook(print):remove()
    assert.matches(text, message_of(a.register_full_backward_hook, a, print), 1, true)
    b:register_full_backward_hook(print):remove()
    assert.matches(text, message_of(b.register_backward_hook, b, print), 1, true)
    local c = nn.ReLU() -- a pre-hook alone decides nothing
    c:register_full_backward_pre_hook(print)
    c:register_backward_hook(print)
    a:register_full_backward_pre_hook(print)
    assert.matches("register_full_backward_hook: ",
      message_of(a.register_full_backward_hook, a, print), 1, true)
  end)

  it("and the other kinds stand in PyTorch's dictionaries by their ids", function()
    local m = nn.Linear(1, 1)
    local handle = m:register_full_backward_hook(print)
    m:register_forward_hook(print)
    m:register_forward_pre_hook(print, {prepend = true})
    m:register_state_dict_pre_hook(print)
    assert.equal(print, m._backward_hooks[handle.id])
    assert.same({1, 1, 1, 1, 0}, {#m._backward_hooks, #m._forward_hooks, #m._forward_pre_hooks,
      #m._state_dict_pre_hooks, #m._load_state_dict_post_hooks})
    for id in pairs(m._forward_hooks) do m._forward_hooks[id] = nil end
    assert.equal(0, #m._forward_hooks)
    assert.matches("hooks are registered, not assigned",
      message_of(function() m._forward_hooks[1] = print end))
    assert.matches("cannot be assigned", message_of(function() m._forward_hooks = {} end))
  end)

  it("have handles that do not keep their module, nor need it", function()
    local modules = setmetatable({nn.Linear(1, 1)}, {__mode = "v"})
    local handle = modules[1]:register_forward_hook(print)
    handle.note = {}
    collectgarbage()
    collectgarbage()
    assert.is_nil(modules[1])
    assert.is_table(handle.note)
    handle:remove()
    handle:remove()
  end)

  it("must return as many gradients as there are", function()
    local m, x = nn.Linear(2, 2), lucerna.ones(1, 2, {requires_grad = true})
    local handle = m:register_full_backward_hook(function() return {n = 2} end)
    assert.matches("Backward hook returned an invalid number of grad_input, got 2, but expected 1",
      message_of(function() m(x):sum():backward() end), 1, true)
    handle:remove()
    handle = m:register_full_backward_pre_hook(function() return {n = 0} end)
    assert.matches("Backward pre hook returned an invalid number of grad_output, got 0, but " ..
      "expected 1", message_of(function() m(x):sum():backward() end), 1, true)
    handle:remove()
    m:register_full_backward_hook(function() return 3 end)
    assert.matches("backward hook: must return gradients %(got number%)",
      message_of(function() m(x):sum():backward() end))
    assert.is_nil(x.grad)
    assert.is_nil(m.weight.grad)
  end)

  it("may replace nothing where no input requires grad", function()
    local m, x = nn.Linear(2, 2), lucerna.ones(1, 2)
    m:register_full_backward_hook(function() return {n = 1} end)
    m:register_full_backward_hook(function() return {lucerna.none} end)
    m(x):sum():backward()
    m:register_full_backward_hook(function() return x end)
    assert.matches("Backward hook for Modules where no input requires gradient should always " ..
      "return None or None for all gradients.",
      message_of(function() m(x):sum():backward() end), 1, true)
  end)

  it("forbids in-place writes to arguments and results", function()
    local text = "is a view and is being modified inplace"
    local x = lucerna.ones(1, 2, {requires_grad = true})
    local relu = nn.ReLU(true)
    relu:register_full_backward_hook(function() end)
    assert.matches(text, message_of(relu, x * 2), 1, true)
    local l = nn.Linear(2, 2)
    l:register_full_backward_hook(function() end)
    local y = l(x)
    assert.matches(text, message_of(y.add_, y, 1), 1, true)
    local view = y:view(2)
    assert.matches(text, message_of(view.add_, view, 1), 1, true)
    lucerna.no_grad(function() y:add_(1) end) -- out of the graph's sight
  end)

  it("is not called for a gradient that avoids the result", function()
    local Leak = nn.class("Leak")
    function Leak:forward(x)
      self.side = x * 3
      return x * 2
    end
    local m, x, calls = Leak(), lucerna.ones(2, {requires_grad = true}), 0
    m:register_full_backward_hook(function() calls = calls + 1 end)
    m(x)
    m.side:sum():backward()
    assert.are.equal(0, calls)
    assert.are.same({3, 3}, x.grad:tolist())
  end)

  it("sees nothing where the output holds no tensor, or grad mode is off", function()
    local Id = nn.class("Id")
    function Id.forward(_, ...) return ... end
    local m, calls = Id(), 0
    m:register_full_backward_hook(function() calls = calls + 1 end)
    assert.are.same({1, "a"}, {m(1, "a")})
    local x = lucerna.ones(2, {requires_grad = true})
    local y = lucerna.no_grad(m, x)
    assert.is_false(rawequal(y, nil))
    assert.are.equal("AddBackward0", tostring((y + x).grad_fn):match("%a+0"))
    local list = m({x})
    assert.is_true(rawequal(list[1], x))
    assert.are.equal(0, calls)
  end)

  it("fires for a call made before it was removed, also when its module is gone", function()
    local x, calls = lucerna.ones(2, 2, {requires_grad = true}), 0
    local y
    do
      local m = nn.Linear(2, 2)
      local handle = m:register_full_backward_hook(function(module, gi)
        calls = calls + 1
        assert.are.equal("Linear", module:_get_name())
        return gi[1] * 0
      end)
      y = m(x)
      handle:remove()
      m(x):sum():backward()
      assert.are.equal(0, calls)
    end
    collectgarbage()
    collectgarbage()
    x.grad = nil
    y:sum():backward()
    assert.are.equal(1, calls)
    assert.are.equal(0, x.grad:abs():sum():item())
  end)

  it("may raise, remove itself, add hooks and call its module again", function()
    local m, x = nn.Linear(2, 2), lucerna.ones(1, 2, {requires_grad = true})
    local order, once = {}, nil
    once = m:register_full_backward_hook(function(module)
      order[#order + 1] = "once"
      once:remove()
      module:register_full_backward_hook(function() order[#order + 1] = "added" end)
      module(x):sum() -- its graph is dropped unused
    end)
    m(x):sum():backward()
    m(x):sum():backward()
    assert.are.same({"once", "added"}, order)
    m:register_full_backward_hook(function() error({code = 7}) end)
    x.grad = nil
    local ok, err = pcall(function() m(x):sum():backward() end)
    assert.is_false(ok)
    assert.are.equal(7, err.code)
    assert.is_nil(x.grad)
  end)

  it("may run a backward pass of its own, and works in a coroutine", function()
    local m, x = nn.Linear(2, 2), lucerna.ones(1, 2, {requires_grad = true})
    local other = lucerna.ones(1, {requires_grad = true})
    m:register_full_backward_hook(function()
      lucerna.enable_grad(function() (other * 2):backward() end)
    end)
    coroutine.wrap(function() m(x):sum():backward() end)()
    assert.are.equal(2, other.grad:item())
    local go = coroutine.wrap(function()
      local y = m(x)
      coroutine.yield()
      y:sum():backward()
      return "done"
    end)
    go()
    assert.are.equal("done", go())
    assert.are.equal(4, other.grad:item())
  end)

  it("is differentiable with create_graph", function()
    local m, x = nn.Tanh(), lucerna.tensor({0.5}, {requires_grad = true, dtype = lucerna.float64})
    m:register_full_backward_hook(function(_, gi) return gi[1] * 2 end)
    local g = lucerna.autograd.grad({m(x)}, {x}, {create_graph = true})
    g:backward()
    local t = math.exp(0.5) -- tanh(0.5), its derivatives
    t = (t - 1 / t) / (t + 1 / t)
    assert.is_true(math.abs(g:item() - 2 * (1 - t * t)) < 1e-12)
    assert.is_true(math.abs(x.grad:item() - 2 * -2 * t * (1 - t * t)) < 1e-12)
  end)

  it("takes up to 16 arguments", function()
    local Many = nn.class("Many")
    function Many.forward(_, x) return x * 1 end
    local m, x = Many(), lucerna.ones(1, {requires_grad = true})
    local n
    m:register_full_backward_hook(function(_, gi) n = gi.n end)
    local args = {x}
    for i = 2, 16 do args[i] = i end
    m(table.unpack(args)):backward()
    assert.are.equal(16, n)
    args[17] = 17
    assert.matches("backward hooks see up to 16 arguments or results %(got 17%)",
      message_of(m, table.unpack(args)))
  end)
end)

-- ---- every module ----

describe("hooks of every module", function()
  local handles = {}
  local function keep(handle)
    handles[#handles + 1] = handle
    return handle
  end
  after_each(function()
    for _, handle in ipairs(handles) do handle:remove() end
    handles = {}
  end)

  it("run before a module's own, on modules made before and after", function()
    local order = {}
    local function say(text) return function(m) order[#order + 1] = text .. m:_get_name() end end
    local Net = nn.class("Net")
    function Net:__init() self.l = nn.Linear(1, 1) end
    function Net:forward(x) return self.l(x) end
    local old = Net()
    old:register_forward_pre_hook(say "own pre ")
    old:register_forward_hook(say "own ", {prepend = true})
    keep(nn.register_module_forward_pre_hook(say "pre "))
    keep(nn.register_module_forward_hook(say "after "))
    old(lucerna.ones(1, 1))
    assert.are.same({"pre Net", "own pre Net", "pre Linear", "after Linear", "after Net",
      "own Net"}, order)
    order = {}
    nn.Sequential(nn.ReLU())(lucerna.ones(1))
    assert.are.same({"pre Sequential", "pre ReLU", "after ReLU", "after Sequential"}, order)
    order = {}
    for _, handle in ipairs(handles) do handle:remove() end
    old(lucerna.ones(1, 1))
    nn.ReLU()(lucerna.ones(1))
    assert.are.same({"own pre Net", "own Net"}, order)
  end)

  it("replace arguments and results", function()
    keep(nn.register_module_forward_pre_hook(function(_, args) return args[1] + 1 end))
    keep(nn.register_module_forward_hook(function(_, _, out) return out * 10 end))
    assert.are.equal(20, nn.Identity()(lucerna.ones(1)):item())
  end)

  it("are always called if asked to, and their errors only warn", function()
    local m, seen = nn.Identity(), {}
    m.forward = function() error("broken", 0) end
    keep(nn.register_module_forward_hook(function(_, args, out)
      seen = {args[1], out}
      error "lost"
    end, {always_call = true}))
    assert.are.equal("broken", message_of(m, 5))
    assert.are.same({5}, seen)
  end)

  it("see the last result when another hook failed", function()
    local m, seen = Left(), nil
    m:register_forward_hook(function() return "changed" end)
    m:register_forward_hook(function() error("hook", 0) end)
    m:register_forward_hook(function(_, _, out) seen = out end, {always_call = true})
    assert.are.equal("hook", message_of(m, 1))
    assert.are.equal("changed", seen)
  end)

  it("keep full and old backward hooks apart", function()
    -- the flag is never reset, as in PyTorch: a second state shows one order, this one the other
    nn.register_module_full_backward_hook(function() end):remove()
    assert.matches("Cannot use both regular backward hooks and full backward hooks as a global " ..
      "Module hook. Please use only one of them.",
      message_of(nn.register_module_backward_hook, print), 1, true)
  end)

  it("see grad_output before modules use it", function()
    local l, x = nn.Linear(1, 1), lucerna.ones(1, 1, {requires_grad = true})
    keep(nn.register_module_full_backward_pre_hook(function(_, go) return go[1] * 5 end))
    l(x):backward()
    assert.near(5 * l.weight:item(), x.grad:item(), 1e-5)
  end)

  it("must be functions", function()
    assert.matches("register_module_forward_hook: hook must be a function %(got nil%)",
      message_of(nn.register_module_forward_hook))
  end)
end)

describe("nothing leaks through backward hooks", function()
  it("also not through closures that hold the module and its results", function()
    local function cycle()
      local m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
      local x = lucerna.ones(1, 2, {requires_grad = true})
      m.handle = m:register_full_backward_hook(function(module, gi, go)
        module.seen = {gi, go}
        m.again = nn.unregistered {module}
      end)
      m[1]:register_full_backward_pre_hook(function(_, go) m.pre = nn.unregistered {go} end)
      m.y = m(x)
      m.y:sum():backward()
    end
    local function live()
      for _ = 1, 3 do collectgarbage() end
      return lucerna.memory().live
    end
    for _ = 1, 10 do cycle() end
    local before = live()
    for _ = 1, 200 do cycle() end
    assert.are.equal(before, live())
  end)
end)
