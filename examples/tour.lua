-- A walk through modules: trees and names, hooks, state dicts, freezing. Each part prints what it
-- shows; run it with `lucerna examples/tour.lua`.

local lucerna = require "lucerna"
local nn, F, optim = lucerna.nn, lucerna.nn.functional, lucerna.optim

local function title(text) print("\n== " .. text) end

lucerna.manual_seed(42)

title "a class of one's own: what is assigned is registered"
local Net = nn.class("Net")

function Net:__init(width)
  self.features = nn.Sequential {
    {"conv", nn.Conv2d(1, 4, 3, {padding = 1})},
    {"norm", nn.BatchNorm2d(4)},
    {"act", nn.ReLU()},
    {"pool", nn.AdaptiveAvgPool2d(2)},
  }
  self.head = nn.Linear(16, width)
  self.scale = nn.Parameter(lucerna.ones(1))
  self.note = "an ordinary field"
end

function Net:forward(x)
  return self.head(self.features(x):flatten(2)) * self.scale
end

local net = Net(3)
print(net)

title "the tree, by name"
for name, module in net:named_modules() do
  print(("%-14s %s"):format(name == "" and "(root)" or name, module:_get_name()))
end
for name, p in net:named_parameters() do
  print(("%-22s [%s]"):format(name, table.concat(p:size(), ", ")))
end

title "calling it, and hooks that watch"
local x = lucerna.rand(2, 1, 6, 6)
local handle = net.features.act:register_forward_hook(function(module, args, output)
  print(("%s saw [%s], %.0f %% are zero"):format(module:_get_name(),
    table.concat(args[1]:size(), ", "), 100 * output:eq(0):to(lucerna.float32):mean():item()))
end)
print(net(x))
handle:remove()

title "errors name the place"
print((select(2, pcall(net, lucerna.rand(2, 3, 6, 6)))))

title "state dicts: ordered, PyTorch's names, all or nothing"
local state = net:state_dict()
for name, t in pairs(state) do
  print(("%-38s %s"):format(name, table.concat(t:size(), "x")))
end
local other = Net(3)
other:load_state_dict(state)
print("same output: ", lucerna.equal(net:eval()(x), other:eval()(x)))
print((select(2, pcall(other.load_state_dict, other, {scale = lucerna.zeros(2)}))))

title "freezing: only the head learns"
net.features:requires_grad_(false):eval()
local learning = {}
for name, p in net:named_parameters() do
  if p.requires_grad then
    learning[#learning + 1] = p
    print("learns: " .. name)
  end
end
local before = net.features.conv.weight:clone()
local sgd = optim.SGD(learning, {lr = 0.5})
local target = lucerna.tensor {1, 3}
for step = 1, 3 do
  sgd:zero_grad()
  local loss = F.cross_entropy(net(x), target)
  loss:backward()
  sgd:step()
  print(("step %d  loss %.4f"):format(step, loss:item()))
end
print("features unchanged: ", lucerna.equal(before, net.features.conv.weight))
