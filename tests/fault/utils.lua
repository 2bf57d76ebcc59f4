-- What the out-of-memory sweep runs with modules that are copied and whose tensors are computed:
-- clone, parametrizations, weight norm, pruning, functional_call; and with modes that a coroutine
-- leaves. A refused allocation leaves the module usable. Returns the scenario as a function.
local lucerna = require "lucerna"
local nn = lucerna.nn
local utils = nn.utils
local parametrize, prune = utils.parametrize, utils.prune
local call = lucerna.func.functional_call

local Twice = nn.class("Twice")
function Twice:forward(w) return w * 2 end
function Twice:right_inverse(w) return w / 2 end

local Net = nn.class("Net")
function Net:__init()
  self.fc = nn.Linear(3, 3)
  self:register_buffer("seen", lucerna.arange(4.0))
  self.part = self.seen:narrow(1, 2, 2)
end
function Net:forward(x) return self.fc(x) end

local function copies(net, x)
  net.me = nn.unregistered { net }
  net.handle = net:register_forward_hook(function() end)
  local copy = net:clone()
  copy.seen:fill_(7)
  assert(copy.me[1] == copy and copy.part[1]:item() == 7 and net.part[1]:item() == 1)
  assert(lucerna.equal(net(x), copy(x)))
  copy.handle:remove()
  net.handle:remove()
end

local function computed(net, x)
  parametrize.register_parametrization(net.fc, "weight", Twice())
  net.fc.weight = lucerna.eye(3)
  net(x):sum():backward()
  assert(lucerna.equal(net:clone()(x), net(x)))
  parametrize.remove_parametrizations(net.fc, "weight")
  assert(lucerna.equal(net.fc.weight, lucerna.eye(3)))
  prune.l1_unstructured(net.fc, "bias", 1)
  assert(lucerna.equal(net:clone()(x), net(x)))
  prune.remove(net.fc, "bias")
end

local function suspended(net, x)
  local co = coroutine.create(function()
    lucerna.no_grad(function() return net(coroutine.yield(x)) end)
  end)
  repeat
    local ok, err = coroutine.resume(co, x)
    assert(lucerna.is_grad_enabled(), "a mode was left on")
    if not ok then error(err, 0) end
  until coroutine.status(co) == "dead"
end

local function scenario()
  local net, x = Net(), lucerna.ones(1, 3)
  suspended(net, x)
  copies(net, x)
  computed(net, x)
  local own = net.fc.weight
  local y = call(net, { ["fc.weight"] = lucerna.zeros(3, 3), ["fc.bias"] = lucerna.ones(3) }, x)
  assert(y:sum():item() == 3 and net.fc.weight == own)
  utils.clip_grad_norm_(net:parameters(), 1.0)
end

return scenario
