-- Benchmarks of whole nets: forward passes and training steps. Twins in nets.py.

local cases = dofile("tests/bench/list.lua")()

local function mlp(nn)
  return nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
end

local function lenet(lucerna)
  local nn, F = lucerna.nn, lucerna.nn.functional
  local LeNet = nn.class("LeNet")
  function LeNet:__init()
    self.conv1 = nn.Conv2d(1, 20, 5)
    self.conv2 = nn.Conv2d(20, 50, 5)
    self.fc1 = nn.Linear(800, 500)
    self.fc2 = nn.Linear(500, 10)
  end
  function LeNet:forward(x)
    x = F.max_pool2d(F.relu(self.conv1(x)), 2)
    x = F.max_pool2d(F.relu(self.conv2(x)), 2)
    x = F.relu(self.fc1(x:flatten(2)))
    return F.log_softmax(self.fc2(x), 2)
  end
  return LeNet()
end

-- One step of training: loss_of() computes a loss.
local function step(optimizer, loss_of)
  return function()
    optimizer:zero_grad()
    loss_of():backward()
    optimizer:step()
  end
end

cases:add("MLP 16-64-64-4, batch 1, forward", {
  unit = "us", bound = 3.2, ratio = 3, threads = { 1 },
  setup = function(lucerna)
    local net, x = mlp(lucerna.nn), lucerna.rand(1, 16)
    return function() net(x) end
  end,
})

cases:add("MLP 16-64-64-4, batch 1, training step", {
  unit = "us", bound = 48, ratio = 3, threads = { 1 }, train = true,
  setup = function(lucerna)
    local net, x, y = mlp(lucerna.nn), lucerna.rand(1, 16), lucerna.rand(1, 4)
    local mse_loss = lucerna.nn.functional.mse_loss
    -- It must not arrive: moments would become denormal, and Intel takes 150 cycles for each.
    return step(lucerna.optim.Adam(net:parameters(), { lr = 1e-7 }),
      function() return mse_loss(net(x), y) end)
  end,
})

for _, batch in ipairs { 1, 64 } do
  cases:add(("LeNet, batch %d, forward"):format(batch), {
    unit = batch == 1 and "us" or "ms", ratio = batch == 1 and 2.8 or 2.3,
    scales = batch > 1 and 1.8,
    setup = function(lucerna)
      local net, x = lenet(lucerna), lucerna.rand(batch, 1, 28, 28)
      return function() net(x) end
    end,
  })
end

cases:add("LeNet, batch 64, training step", {
  ratio = 1.7, scales = 1.8, train = true,
  setup = function(lucerna)
    local net, x = lenet(lucerna), lucerna.rand(64, 1, 28, 28)
    local target = lucerna.randint(1, 11, { 64 })
    local nll_loss = lucerna.nn.functional.nll_loss
    return step(lucerna.optim.SGD(net:parameters(), { lr = 0.01, momentum = 0.9 }),
      function() return nll_loss(net(x), target) end)
  end,
})

cases:add("MLP 784-512-512-10, batch 64, training step", {
  ratio = 1.1, scales = 1.8, train = true,
  setup = function(lucerna)
    local nn = lucerna.nn
    local net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
      nn.Linear(512, 10))
    local x, target = lucerna.rand(64, 784), lucerna.randint(1, 11, { 64 })
    return step(lucerna.optim.SGD(net:parameters(), { lr = 0.01 }),
      function() return nn.functional.cross_entropy(net(x), target) end)
  end,
})

cases:add("ResNet-18, batch 1, 224 x 224, forward", {
  ratio = 1.6, flops = 3.63e9, scales = 1.8,
  setup = function(lucerna)
    local net, x = lucerna.models.resnet18():eval(), lucerna.rand(1, 3, 224, 224)
    return function() net(x) end
  end,
})

cases:add("ResNet-18, batch 4, 112 x 112, training step", {
  ratio = 1.25, flops = 3 * 3.63e9, scales = 1.8, train = true,
  setup = function(lucerna)
    local net, x = lucerna.models.resnet18(), lucerna.rand(4, 3, 112, 112)
    local target = lucerna.randint(1, 1001, { 4 })
    local cross_entropy = lucerna.nn.functional.cross_entropy
    return step(lucerna.optim.SGD(net:parameters(), { lr = 0.01, momentum = 0.9 }),
      function() return cross_entropy(net(x), target) end)
  end,
})

-- One layer of 64 to 128 features, unless case says others: forward, or there and back.
local function recurrent(name, class, steps, batch, case)
  local from, to = case.from or 64, case.to or 128
  case.ratio, case.scales = 2, 1.8
  case.setup = function(lucerna)
    local net, x = lucerna.nn[class](from, to), lucerna.rand(steps, batch, from)
    if not case.train then return function() net(x) end end
    local g = lucerna.rand(steps, batch, to)
    return function()
      net:zero_grad()
      net(x):backward(g)
    end
  end
  cases:add(name, case)
end

recurrent("LSTM 64-128, 32 steps, batch 16, forward", "LSTM", 32, 16, {})
recurrent("LSTM 64-128, 32 steps, batch 16, there and back", "LSTM", 32, 16, { train = true })
recurrent("LSTM 64-128, 1 step, batch 1, forward", "LSTM", 1, 1, { unit = "us", threads = { 1 } })
recurrent("LSTM 256-256, 32 steps, batch 1, there and back", "LSTM", 32, 1,
  { train = true, from = 256, to = 256 })
recurrent("GRU 64-128, 32 steps, batch 16, there and back", "GRU", 32, 16, { train = true })

cases:add("LSTMCell 64-128, batch 16, forward", {
  ratio = 1, unit = "us", threads = { 1 },
  setup = function(lucerna)
    local net, x = lucerna.nn.LSTMCell(64, 128), lucerna.rand(16, 64)
    return function() net(x) end
  end,
})

cases:add("TransformerEncoderLayer 128, [8, 64, 128], there and back", {
  ratio = 1.5, scales = 1.8, train = true,
  setup = function(lucerna)
    local net = lucerna.nn.TransformerEncoderLayer(128, 4, {
      dim_feedforward = 512, dropout = 0, batch_first = true })
    local x, g = lucerna.rand(8, 64, 128), lucerna.rand(8, 64, 128)
    return function()
      net:zero_grad()
      net(x):backward(g)
    end
  end,
})

cases:add("MLP 16-64-64-4, gradients of 128 samples, vmap", {
  ratio = 1.5, train = true,
  setup = function(lucerna)
    local func, net, none = lucerna.func, mlp(lucerna.nn), lucerna.none
    local params, x, y = {}, lucerna.rand(128, 16), lucerna.rand(128, 4)
    for name, p in net:named_parameters() do params[name] = p:detach() end
    local each = func.vmap(func.grad(function(p, a, b)
      return lucerna.nn.functional.mse_loss(func.functional_call(net, p, a), b)
    end), { none, 1, 1 })
    return function() each(params, x, y) end
  end,
})

return cases
