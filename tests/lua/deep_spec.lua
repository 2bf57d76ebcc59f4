-- Chains of modules of any length are built, called, walked, converted, cloned, printed and dropped
-- without using up a stack, C's or Lua's; so are long lists of tensors.

local lucerna = require "lucerna"
local nn = lucerna.nn

local Link = nn.class "Link"
function Link:__init(following) self.following = following end
function Link:forward(x)
  local y = self.following(x)
  return y
end

local function sequentials(n)
  local net = nn.Sequential(nn.ReLU(), nn.Linear(1, 1))
  for _ = 1, n do net = nn.Sequential(net) end
  return net, n + 3
end

local function lists(n)
  local net = nn.ModuleList {nn.Linear(1, 1), nn.ParameterList {lucerna.ones(1)}}
  for i = 1, n do
    net = i % 2 == 0 and nn.ModuleList {net} or nn.ModuleDict {inner = net}
  end
  return net, n + 3
end

local function links(n)
  local net = nn.Linear(1, 1)
  for _ = 1, n do net = Link(net) end
  return net, n + 1
end

local function count(...)
  local n = 0
  for _ in ... do n = n + 1 end
  return n
end

-- What is done to every chain; n is the number of its modules.
local function live(net, n, called)
  if called then
    assert.are.same({1}, net(lucerna.ones(1)):size())
    local co = coroutine.wrap(function() return net(lucerna.ones(1)) end)
    assert.are.same({1}, co():size())
  end
  assert.are.equal(n, count(net:modules()))
  net:eval():train():double():requires_grad_(false):requires_grad_(true):zero_grad()
  local applied = 0
  net:apply(function() applied = applied + 1 end)
  assert.are.equal(n, applied)
  assert.matches("%(%.%.%.%)", tostring(net))
  local copy = net:clone()
  assert.are.equal(n, count(copy:modules()))
  assert.are.equal(lucerna.float64, copy:parameters()().dtype)
end

local function gone(make, n)
  local weak = setmetatable({make(n)}, {__mode = "v"})
  collectgarbage()
  collectgarbage()
  assert.is_nil(weak[1])
end

for name, make in pairs {sequentials = sequentials, lists = lists, links = links} do
  describe("a chain of " .. name, function()
    it("lives at 3,000 modules, with its state", function()
      local net, n = make(3000)
      live(net, n, make ~= lists)
      local state = net:state_dict()
      assert.are.same({}, (net:clone():load_state_dict(state)))
      gone(make, 3000)
    end)

    for title, length in pairs {["30,000 modules #slow"] = 30000, ["100,000 #long"] = 100000} do
      it("lives at " .. title, function()
        local net, n = make(length)
        live(net, n, make ~= lists)
        net = nil -- luacheck: ignore
        gone(make, length)
      end)
    end
  end)
end

describe("a chain of tables in a field", function()
  local function chain(n, last)
    local first = {}
    local table = first
    for _ = 1, n do
      table.following = {first}
      table = table.following
    end
    table.last = last
    return first
  end

  it("may be of any length", function()
    local m = nn.Module()
    m.list = chain(300000, 7)
    assert.are.equal(0, #m:state_dict())
  end)

  it("is looked through to its end", function()
    local m = nn.Module()
    local ok, message = pcall(function() m.list = chain(300000, nn.ReLU()) end)
    assert.is_false(ok)
    assert.is_truthy(message:find("field 'list' is a plain table that holds modules", 1, true))
    assert.is_nil(m.list)
  end)
end)

describe("lists of 70,000 tensors", function()
  local MANY = 70000

  it("have gradients as operands", function()
    local x, list = lucerna.ones(1):requires_grad_(), {}
    for k = 1, MANY do list[k] = x end
    lucerna.cat(list):sum():backward()
    assert.are.equal(MANY, x.grad:item())
  end)

  it("have gradients as results", function()
    local x = lucerna.zeros(MANY):requires_grad_()
    local parts = x:unbind(1)
    parts[MANY]:mul(3):backward()
    assert.are.equal(3, x.grad:sum():item())
    assert.are.equal(3, x.grad[-1]:item())
  end)

  it("go through a Function", function()
    local Sum = lucerna.autograd.Function("Sum", {
      forward = function(_, ...) return lucerna.stack {...}:sum() end,
      backward = function(ctx, g)
        local grads = {}
        for k = 1, #ctx.needs_input_grad do grads[k] = g:expand(1) end
        return table.unpack(grads)
      end,
    })
    local x, list = lucerna.ones(1):requires_grad_(), {}
    for k = 1, MANY do list[k] = x end
    Sum.apply(table.unpack(list)):backward()
    assert.are.equal(MANY, x.grad:item())
  end)
end)

describe("calls with a hook, within each other,", function()
  local calls
  local function hooked_links(n, last)
    local net = last
    for _ = 1, n do
      net = Link(net)
      net:register_forward_hook(function(_, args, output)
        assert.are.equal(1, args.n)
        calls = calls + 1
        return output + 1
      end)
    end
    calls = 0
    return net
  end
  local function is_in_c(m)
    return debug.getinfo(debug.getmetatable(m).__call, "S").what == "C"
  end

  it("end by errors and in coroutines that nobody resumes, which leaves nothing", function()
    local ends = {
      [function(x) error(x, 0) end] = pcall,
      [coroutine.yield] = function(net, x)
        return coroutine.resume(coroutine.create(function() net(x) end))
      end,
    }
    for last, run in pairs(ends) do
      local net = hooked_links(20, last)
      for _ = 1, 100 do assert.are.equal("no", select(2, run(net, "no"))) end
      assert.are.equal(0, calls)
    end
    local net = hooked_links(20, function(x) return x end)
    assert.are.equal(21, net(1))
    assert.are.equal(20, calls)
    assert.is_true(is_in_c(net))
  end)

  it("have no limit", function()
    local net = hooked_links(5000, function(x) return x end)
    assert.is_true(is_in_c(net))
    for _ = 1, 2 do assert.are.equal(5001, net(1)) end
    assert.are.equal(10000, calls)
    assert.is_false(is_in_c(net))
    assert.are.equal(11, hooked_links(10, function(x) return x end)(1))
  end)
end)
