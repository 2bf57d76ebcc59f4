-- Benchmarks of whole nets: forward passes and training steps. Twins in peer.py.

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

return {
  {
    name = "MLP 16-64-64-4, batch 1, forward",
    unit = "us", bound = 3.2,
    setup = function(lucerna)
      local net, x = mlp(lucerna.nn), lucerna.rand(1, 16)
      return function(n)
        lucerna.no_grad(function()
          for _ = 1, n do net(x) end
        end)
      end
    end,
  },
  {
    name = "MLP 16-64-64-4, batch 1, training step",
    unit = "us", bound = 48,
    setup = function(lucerna)
      local F = lucerna.nn.functional
      local net, x, y = mlp(lucerna.nn), lucerna.rand(1, 16), lucerna.rand(1, 4)
      local adam = lucerna.optim.Adam(net:parameters(), { lr = 1e-3 })
      return function(n)
        for _ = 1, n do
          adam:zero_grad()
          F.mse_loss(net(x), y):backward()
          adam:step()
        end
      end
    end,
  },
  {
    name = "LeNet, batch 64, forward",
    unit = "ms", threads = { 1, 2 },
    setup = function(lucerna)
      local net, x = lenet(lucerna), lucerna.rand(64, 1, 28, 28)
      return function(n)
        lucerna.no_grad(function()
          for _ = 1, n do net(x) end
        end)
      end
    end,
  },
  {
    name = "LeNet, batch 64, training step",
    unit = "ms", threads = { 1, 2 }, peer_bound = true,
    setup = function(lucerna)
      local F = lucerna.nn.functional
      local net, x = lenet(lucerna), lucerna.rand(64, 1, 28, 28)
      local target = lucerna.randint(1, 11, { 64 })
      local sgd = lucerna.optim.SGD(net:parameters(), { lr = 0.01, momentum = 0.9 })
      return function(n)
        for _ = 1, n do
          sgd:zero_grad()
          F.nll_loss(net(x), target):backward()
          sgd:step()
        end
      end
    end,
  },
}
