-- What the out-of-memory sweep runs with modules: a small net is built, trained for two steps,
-- saved, loaded and printed. Returns the scenario as a function.
local lucerna = require "lucerna"
local nn, F = lucerna.nn, lucerna.nn.functional

local Net = nn.class("Net")
function Net:__init()
  self.conv = nn.Conv2d(1, 2, 3)
  self.norm = nn.BatchNorm2d(2)
  self.fc = nn.Linear(2 * 6 * 6, 3)
end
function Net:forward(x)
  x = F.relu(self.norm(self.conv(x)))
  return self.fc(x:flatten(2))
end

local path = os.tmpname()

-- Layers whose shapes come with the first input, or with a state.
local function lazy_scenario()
  local net = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d())
  net[1]:register_forward_hook(function() end)
  net(lucerna.rand(3, 4)):sum():backward()
  assert(net[1]:_get_name() == "Linear" and net[1].weight.grad)
  local other = nn.LazyLinear(2)
  other:load_state_dict(net[1]:state_dict())
  assert(lucerna.equal(net[1].weight, other.weight))
end

-- What looks at nets, and functions on the graph that hold what they hang on.
local function look_scenario()
  local net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
  local s = lucerna.summary(net, { 4, 3 })
  assert(s.total.multiply_adds == 24 and net.training)
  assert(tostring(s):find("Tanh") and lucerna.dot(net, { 4, 3 }):find("tanh"))
  local fired = 0
  for _, p in net:named_parameters() do
    p:register_hook(function() fired = fired + (p and 1 or net) end)
  end
  local y = net(lucerna.rand(4, 3)):sum()
  collectgarbage()
  collectgarbage()
  assert(lucerna.dot(y, { params = net }):find("0.weight"))
  y:backward()
  assert(fired == 2)
end

local function scenario()
  lazy_scenario()
  look_scenario()
  local net = Net()
  local calls = 0
  local handle = net.fc:register_forward_hook(function() calls = calls + 1 end)
  local function count() calls = calls + 1 end
  local back, whole = net.norm:register_full_backward_hook(count),
    net:register_full_backward_pre_hook(count)
  local adam = lucerna.optim.Adam(net:parameters(), { lr = 0.01 })
  local x, target = lucerna.rand(4, 1, 8, 8), lucerna.tensor { 1, 3, 2, 1 }
  for _ = 1, 2 do
    adam:zero_grad()
    local loss = F.cross_entropy(net(x), target)
    loss:backward()
    adam:step()
  end
  handle:remove()
  back:remove()
  whole:remove()
  assert(calls == 6)
  lucerna.safetensors.save_file(net:state_dict(), path)
  local other = Net()
  other:load_state_dict(lucerna.safetensors.load_file(path))
  assert(lucerna.equal(net.fc.weight, other.fc.weight))
  assert(tostring(net) == tostring(other))
  local _ = tostring(x[{ 1, 1 }])
  os.remove(path)
end

return scenario
