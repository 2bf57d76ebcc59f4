-- Coroutines: coroutine.wrap(function() return net(x) end) works when forwards and hooks yield, at
-- any place of nested containers, and several such calls may be under way at once.
local lucerna = require "lucerna"
local nn = lucerna.nn

local x = lucerna.zeros(1)

-- Adds what the yield of its name returns.
local Asks = nn.class("Asks")
function Asks:__init(name) self.name = name end
function Asks:forward(y) return y + coroutine.yield(self.name) end

local Calls = nn.class("Calls")
function Calls:__init(m) self.m = m end
function Calls:forward(y)
  local z = self.m(y)
  return z
end

-- Runs net in a coroutine, answering 1, 10, 100, …: the names that were yielded and the result.
local function drive(net, ...)
  local co = coroutine.create(function(...) return net(...) end)
  local names, answer = {}, 1
  local ok, value = coroutine.resume(co, ...)
  while coroutine.status(co) == "suspended" do
    names[#names + 1] = value
    ok, value = coroutine.resume(co, answer)
    answer = answer * 10
  end
  assert.is_true(ok, value)
  return names, value
end

local function check(names, sum, net)
  local seen, value = drive(net, x)
  assert.are.same(names, seen)
  assert.are.equal(sum, value:item())
end

describe("a forward that yields", function()
  it("may be the net, its child, or deep below chains written in C", function()
    check({"a"}, 1, Asks "a")
    check({"a"}, 1, nn.Sequential(nn.Identity(), Asks "a", nn.ReLU()))
    check({"a", "b"}, 11, nn.Sequential(nn.Sequential(Asks "a", nn.Sequential(Asks "b"))))
    check({"a", "b", "c"}, 111, nn.Sequential(Calls(nn.Sequential(Asks "a", Calls(Asks "b"))),
      nn.Sequential(nn.ReLU(), nn.Sequential(Calls(nn.Sequential(Asks "c"))))))
  end)

  it("may stand in a list, a dictionary, a slice, a sum of chains", function()
    local Holds = nn.class("Holds")
    function Holds:__init()
      self.list = nn.ModuleList {Asks "a", nn.Sequential(nn.Identity(), Asks "b")}
      self.dict = nn.ModuleDict {{"c", Asks "c"}, {"d", nn.Sequential(Asks "d")}}
    end
    function Holds:forward(y)
      for _, m in ipairs(self.list) do y = m(y) end
      for _, m in self.dict:items() do y = m(y) end
      return y
    end
    check({"a", "b", "c", "d"}, 1111, nn.Sequential(Calls(nn.Sequential(Holds()))))
    local chain = nn.Sequential(nn.ReLU(), Asks "a", Asks "b")
    check({"a", "b"}, 11, chain[{2, 3}])
    check({"a", "b", "a", "b"}, 1111, chain + chain)
  end)

  it("may be an instance's, or belong to a subclass of a C class", function()
    local layer = nn.Linear(1, 1)
    function layer:forward(y) return y + coroutine.yield(self:_get_name()) end -- luacheck: ignore
    check({"Linear"}, 1, nn.Sequential(nn.Sequential(layer)))
    local Chain = nn.class("Chain", nn.Sequential)
    function Chain:forward(y)
      local z = nn.Sequential.forward(self, y) + coroutine.yield("chain")
      return z
    end
    check({"a", "chain"}, 11, nn.Sequential(Chain(Asks "a")))
    local Slow = nn.class("Slow", nn.Linear)
    function Slow:forward(y)
      local factor = coroutine.yield("slow")
      return nn.Linear.forward(self, y) * 0 + factor
    end
    check({"slow"}, 1, nn.Sequential(nn.Identity(), Slow(1, 1)))
  end)

  it("may be shared, recursive, or follow another net's call", function()
    local shared = Asks "s"
    check({"s", "s"}, 11, nn.Sequential(shared, nn.Sequential(shared)))
    local Down = nn.class("Down")
    function Down:forward(y, n)
      n = n or 3
      if n == 0 then return y end
      return self(y + coroutine.yield(n), n - 1)
    end
    check({3, 2, 1}, 111, nn.Sequential(Down()))
  end)

  it("keeps its arguments and results, however many", function()
    local Many = nn.class("Many")
    function Many:forward(...) return coroutine.yield(select("#", ...)), ... end
    local names, first = drive(nn.Sequential(nn.Sequential(Many()), Many()), 1, nil, 3, nil)
    assert.are.same({4, 5}, names)
    assert.are.equal(10, first)
  end)

  it("may be 2,000 modules deep", function()
    local net = Asks "deep"
    for _ = 1, 1000 do net = Calls(nn.Sequential(net)) end
    check({"deep"}, 1, net)
  end)

  it("works in no_grad, which other coroutines do not see", function()
    local Quiet = nn.class("Quiet")
    function Quiet:__init(m) self.m = m end
    function Quiet:forward(y) return lucerna.no_grad(self.m, y) end
    local net = nn.Sequential(nn.Linear(1, 1), Quiet(nn.Sequential(Asks "a")), nn.Identity())
    local co = coroutine.wrap(function() return net(x) end)
    assert.are.equal("a", co())
    assert.is_true(lucerna.is_grad_enabled())
    assert.is_true(net[1](x).requires_grad)
    assert.is_false(co(1).requires_grad)
    assert.is_true(lucerna.is_grad_enabled())
  end)

  it("keeps the graph across yields", function()
    local net = nn.Sequential(nn.Linear(2, 2), Asks "a", nn.Linear(2, 1))
    local co = coroutine.wrap(function() return net(lucerna.ones(1, 2)) end)
    co()
    co(5):sum():backward()
    assert.are.same({2, 2}, net[1].weight.grad:size())
    assert.is_true(lucerna.equal(net[1].bias.grad, net[3].weight:detach()[1]))
  end)
end)

describe("a hook that yields", function()
  local function asks(name, result)
    return function(_, args, output)
      local answer = coroutine.yield(name)
      return (result == "args" and args[1] or output) + answer
    end
  end

  it("may stand before or after layers written in C and in Lua, or a chain", function()
    local net = nn.Sequential(nn.Identity(), nn.Sequential(nn.ReLU(), Asks "f"))
    net:register_forward_pre_hook(asks("a", "args"))
    net[1]:register_forward_pre_hook(asks("b", "args"))
    net[2][1]:register_forward_hook(asks "c")
    net[2]:register_forward_hook(asks "d")
    net:register_forward_hook(asks "e")
    check({"a", "b", "c", "f", "d", "e"}, 111111, net)
  end)

  it("may stand deep in a transformer", function()
    local net = nn.Transformer(8, 2, 1, 1, 16)
    net:eval()
    local x3 = lucerna.rand(5, 2, 8)
    local expected = net(x3, x3)
    local hooked = {"encoder.layers.0.self_attn", "encoder.norm", "decoder.layers.0.linear2"}
    for _, name in ipairs(hooked) do
      net:get_submodule(name):register_forward_hook(function() coroutine.yield(name) end)
    end
    local names, y = drive(net, x3, x3)
    assert.are.same(hooked, names)
    assert.is_true(lucerna.allclose(expected, y, {atol = 1e-6}))
  end)

  it("may be one of several, also one that is always called", function()
    local net = nn.Sequential(nn.ReLU())
    net[1]:register_forward_hook(asks "a")
    net[1]:register_forward_hook(asks "b", {always_call = true})
    net[1]:register_forward_hook(asks "c", {prepend = true})
    net[1]:register_forward_pre_hook(asks("p", "args"))
    net[1]:register_forward_pre_hook(asks("q", "args"), {prepend = true})
    check({"q", "p", "c", "a", "b"}, 11111, net)
  end)

  it("that is always called may yield while an error passes", function()
    local net = nn.Sequential(nn.Identity())
    net[1].forward = function() error("broken", 0) end
    net[1]:register_forward_hook(function() coroutine.yield("cleanup") end, {always_call = true})
    local co = coroutine.create(function() return pcall(net, x) end)
    assert.are.same({true, "cleanup"}, {coroutine.resume(co)})
    assert.are.same({true, false, "broken"}, {coroutine.resume(co)})
  end)

  it("may be removed, and others added, while it waits", function()
    local net = nn.Sequential(nn.ReLU())
    local handle = net[1]:register_forward_hook(asks "a")
    local co = coroutine.wrap(function() return net(x) end)
    assert.are.equal("a", co())
    handle:remove()
    net[1]:register_forward_hook(asks "b")
    assert.are.equal(1, co(1):item())
    check({"b"}, 1, net)
  end)
end)

describe("several calls of one net", function()
  it("may wait at once and go on in any order", function()
    local net = nn.Sequential(Asks "a", nn.Sequential(nn.Identity(), Asks "b"))
    local calls = {}
    for i = 1, 3 do calls[i] = coroutine.wrap(function() return net(lucerna.full({1}, i)) end) end
    for i = 1, 3 do assert.are.equal("a", calls[i]()) end
    for i = 3, 1, -1 do assert.are.equal("b", calls[i](10 * i)) end
    assert.are.same({122, 244, 366}, {calls[1](111):item(), calls[2](222):item(),
      calls[3](333):item()})
  end)

  it("may be abandoned, closed, or end in an error after a yield", function()
    local closed = 0
    local Guards = nn.class("Guards")
    function Guards:forward(y) -- luacheck: ignore 212
      local _ <close> = setmetatable({}, {__close = function() closed = closed + 1 end})
      if coroutine.yield() == "fail" then error("failed", 0) end
      return y
    end
    local net = nn.Sequential(nn.Sequential(Guards()))
    local co = coroutine.create(function() return net(x) end)
    coroutine.resume(co)
    assert.is_true(coroutine.close(co))
    assert.are.equal(1, closed)
    co = coroutine.create(function() return net(x) end)
    coroutine.resume(co)
    assert.are.same({false, "failed"}, {coroutine.resume(co, "fail")})
    coroutine.resume(coroutine.create(function() return net(x) end))
    collectgarbage()
    co = coroutine.wrap(function() return (net(x)) end)
    co()
    assert.are.equal(0, co("go on"):item())
  end)

  it("may be called from a coroutine inside a forward", function()
    local Steps = nn.class("Steps")
    function Steps:__init(m) self.m = m end
    function Steps:forward(y)
      local co = coroutine.wrap(function() return self.m(y) end)
      local name = co()
      return co(coroutine.yield("outer " .. name))
    end
    check({"outer a"}, 1, nn.Sequential(Steps(nn.Sequential(Asks "a"))))
  end)
end)

describe("a mode set for a block", function()
  it("is everybody's until the block ends, also when its coroutine is closed", function()
    local co = coroutine.create(function()
      local _ <close> = lucerna.no_grad()
      coroutine.yield()
    end)
    coroutine.resume(co)
    assert.is_false(lucerna.is_grad_enabled())
    assert.is_true(coroutine.close(co))
    assert.is_true(lucerna.is_grad_enabled())
  end)

  it("is there again when the function around it goes on", function()
    local on, mixed, after
    local co = coroutine.wrap(function()
      lucerna.no_grad(function()
        do
          local _ <close> = lucerna.enable_grad()
          coroutine.yield()
          on = lucerna.is_grad_enabled()
        end
        after = lucerna.is_grad_enabled()
      end)
      lucerna.autocast("cpu", function()
        local _ <close> = lucerna.autocast("cpu", {enabled = false})
        coroutine.yield()
        mixed = lucerna.is_autocast_enabled()
      end)
    end)
    for _ = 1, 3 do
      co()
      assert.is_true(lucerna.is_grad_enabled())
      assert.is_false(lucerna.is_autocast_enabled())
    end
    assert.are.same({true, false, false}, {on, after, mixed})
  end)

  it("ends with the function around it, also by an error or unfinished", function()
    local function within()
      lucerna.no_grad(function()
        local _ <close> = lucerna.enable_grad()
        if coroutine.yield() then error("failed", 0) end
      end)
    end
    local co = coroutine.create(within)
    coroutine.resume(co)
    assert.is_true(coroutine.close(co))
    assert.is_true(lucerna.is_grad_enabled())
    co = coroutine.create(within)
    coroutine.resume(co)
    assert.are.same({false, "failed"}, {coroutine.resume(co, true)})
    assert.is_true(lucerna.is_grad_enabled())
  end)

  it("by a function of ours is left behind with all that was begun in it", function()
    local closed = 0
    local co = coroutine.create(function()
      lucerna.no_grad(function()
        local _ <close> = setmetatable({}, {__close = function() closed = closed + 1 end})
        coroutine.yield()
      end)
    end)
    coroutine.resume(co)
    assert.is_true(coroutine.close(co))
    assert.are.equal(1, closed)
  end)

  it("by a function of ours ends with it, also where an error ends the coroutine", function()
    local w = lucerna.ones(3):requires_grad_()
    local function fails() error("failed", 0) end
    local closed = 0
    local function guarded()
      local _ <close> = setmetatable({}, {__close = function() closed = closed + 1 end})
      fails()
    end
    local Failing = nn.class("Failing")
    Failing.forward, Failing.__init = fails, fails
    local net = nn.class("Net")()
    net.forward = fails
    local calls = {
      function() lucerna.no_grad(guarded) end,
      function() lucerna.autograd.Function("F", {forward = fails, backward = fails}).apply(w) end,
      function() nn.Linear(2, 2):_apply(fails) end,
      function() lucerna.optim.LBFGS({w}):step(fails) end,
      function() lucerna.no_grad(function() lucerna.optim.SGD({w}, {lr = 1}):step(fails) end) end,
      function() lucerna.summary(net, {{2, 2}}) end,
      function() nn.init.normal_(w, 0, -1) end,
    }
    for k, call in ipairs(calls) do
      local ok, message = coroutine.resume(coroutine.create(call))
      assert.is_false(ok)
      assert.is_truthy(k == #calls or message:find("failed", 1, true))
      assert.is_true(lucerna.is_grad_enabled())
    end
    assert.are.equal(1, closed)
    assert.is_true(net.training)
  end)

  it("by a function of ours ends with it at whatever line a hook of debug fails", function()
    local w = lucerna.ones(3):requires_grad_()
    -- Is the n-th line an error, which the coroutine ends with?
    local function interrupt(n)
      local co = coroutine.create(function()
        lucerna.no_grad(function() return w * 2 end)
        lucerna.func.vmap(function(a) return a * 2 end)(w)
      end)
      debug.sethook(co, function()
        n = n - 1
        if n == 0 then error("interrupted", 0) end
      end, "l")
      local ok = coroutine.resume(co)
      coroutine.close(co)
      return not ok
    end
    local n = 1
    while interrupt(n) do
      assert.is_true(lucerna.is_grad_enabled(), "line " .. n)
      assert.are.equal(0, #require("lucerna.core")._vmap_levels(), "line " .. n)
      n = n + 1
    end
    assert.is_true(n > 20)
  end)
end)

-- What each call has in force must have ended when an error of a debug hook's ends the call, at
-- whatever instruction that is.
describe("a host's limit of instructions", function()
  local core = require "lucerna.core"
  local w = lucerna.ones(3):requires_grad_()
  local net = nn.Linear(3, 3)
  local weight, bias = net.weight, net.bias
  local grad = lucerna.ones(3)

  local function times_two(a) return a * 2 end

  local calls = {
    ["no_grad"] = function() lucerna.no_grad(times_two, w) end,
    ["inference_mode"] = function() lucerna.inference_mode(times_two, w) end,
    ["autocast"] = function() lucerna.autocast("cpu", times_two, w) end,
    ["vmap"] = function() lucerna.func.vmap(times_two)(w) end,
    ["cached"] = function() nn.utils.parametrize.cached(times_two, w) end,
    ["skip_init"] = function() nn.utils.skip_init(nn.Linear, 3, 3) end,
    ["detect_anomaly"] = function() lucerna.autograd.set_detect_anomaly(true, times_two, w) end,
    ["profile"] = function() lucerna.profiler.profile(times_two, w) end,
    ["clip_grad_value_"] = function()
      w.grad = grad
      nn.utils.clip_grad_value_({w}, 2)
    end,
    ["an autograd.Function"] = function()
      lucerna.autograd.Function("F", {forward = function(_, a) return a * 2 end,
        backward = function(_, g) return g * 2 end}).apply(w)
    end,
    ["functional_call"] = function()
      lucerna.func.functional_call(net, {weight = lucerna.zeros(3, 3), bias = w}, w)
    end,
  }

  local function modes()
    return ("%s %s %s %s %s %s %d"):format(net.weight == weight and net.bias == bias,
      lucerna.is_grad_enabled(),
      lucerna.is_inference_mode_enabled(), lucerna.is_autocast_enabled(),
      core.is_anomaly_enabled(), core.nn._skip_init(), #core._vmap_levels())
  end

  -- Runs f in this coroutine; is its n-th instruction an error?
  local function interrupted(f, n)
    local within = false
    local ok = pcall(function()
      debug.sethook(function()
        if within then n = n - 1 end
        if n == 0 then error("interrupted", 0) end
      end, "", 1)
      within = true
      f()
      within = false
      debug.sethook()
    end)
    debug.sethook()
    return not ok
  end

  -- A module's keys and values, class, hooks and what it computes.
  local function state(m)
    local lines = {tostring(m), #core.nn._hooks(m), tostring(m(lucerna.ones(1, 4)))}
    for key, value in pairs(m:state_dict()) do lines[#lines + 1] = key .. tostring(value) end
    return table.concat(lines, "\n")
  end

  local utils = nn.utils
  local function pruned(m) utils.prune.l1_unstructured(m, "weight", 0.5) end
  local changes = {
    weight_norm = {utils.weight_norm, utils.remove_weight_norm},
    spectral_norm = {utils.spectral_norm, utils.remove_spectral_norm},
    prune = {pruned, function(m) utils.prune.remove(m, "weight") end},
    ["a second prune"] = {pruned,
      function(m) utils.prune.ln_structured(m, "weight", 0.5, 2, 1) end},
    ["parametrizations.weight_norm"] = {utils.parametrizations.weight_norm,
      function(m) utils.parametrize.remove_parametrizations(m, "weight") end},
    ["a parametrized weight"] = {utils.parametrizations.weight_norm,
      function(m) m.weight = lucerna.ones(3, 4) end},
    ["a second parametrization"] = {
      function(m) utils.parametrize.register_parametrization(m, "weight", nn.Tanh()) end,
      function(m) utils.parametrize.register_parametrization(m, "weight", nn.Sigmoid()) end},
  }

  local function made(steps)
    lucerna.manual_seed(1)
    local m = nn.Linear(4, 3):eval()
    for _, step in ipairs(steps) do step(m) end
    return m
  end

  for name, steps in pairs(changes) do
    it("leaves a module as it was before " .. name .. " and its end, or after #slow", function()
      for k = 1, #steps do
        local earlier = table.move(steps, 1, k - 1, 1, {})
        local before = state(made(earlier))
        local after = state(made(table.move(steps, 1, k, 1, {})))
        local n, m = 0
        repeat
          n, m = n + 1, made(earlier)
          local stopped = interrupted(function() steps[k](m) end, n)
          local now = state(m)
          assert.is_true(now == before or now == after, "instruction " .. n)
        until not stopped
        assert.is_true(n > 100)
      end
    end)
  end

  local normal = modes()
  for name, f in pairs(calls) do
    it("leaves no mode of " .. name .. " behind", function()
      f()
      local n = 1
      while interrupted(f, n) do
        assert.are.equal(normal, modes(), "instruction " .. n)
        n = n + 1
      end
      assert.is_true(n > 20)
    end)

    it("leaves none of " .. name .. " behind in a coroutine that nobody closes", function()
      local n, again = 1, true
      while again do
        again = select(2, coroutine.resume(coroutine.create(function()
          return interrupted(f, n)
        end)))
        assert.are.equal(normal, modes(), "instruction " .. n)
        n = n + 1
      end
      assert.is_true(n > 20)
    end)
  end
end)

describe("where C stands between", function()
  it("a yield is Lua's error, and nothing is left behind", function()
    local p = lucerna.ones(1):requires_grad_()
    local handle = p:register_hook(function() coroutine.yield() end)
    local y = (p * 2):sum()
    local co = coroutine.create(function() y:backward() end)
    assert.are.same({false, "attempt to yield across a C-call boundary"}, {coroutine.resume(co)})
    handle:remove()
    local z = (p * 2):sum()
    z:backward()
    assert.are.equal(2, p.grad:item())
  end)
end)
