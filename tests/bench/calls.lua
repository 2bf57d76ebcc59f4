-- Benchmarks of single calls: what the binding and the door cost when there is next to nothing to
-- compute. Each has a twin of the same name in peer.py. run(n) does the thing n times.
-- Bounds are in the case's unit.

local function identity_module(lucerna)
  local Identity = lucerna.nn.class("Identity")
  function Identity:forward(x) return x end -- luacheck: ignore 432
  return Identity(), lucerna.rand(4)
end

local function linears(lucerna)
  local net = lucerna.nn.Sequential()
  for _ = 1, 300 do net:append(lucerna.nn.Linear(8, 8)) end
  return net
end

-- Forward and backward of a small layer, with a full backward hook or without.
local function there_and_back(hooked)
  return function(lucerna)
    local l, x = lucerna.nn.Linear(4, 4), lucerna.rand(1, 4, { requires_grad = true })
    local g = lucerna.rand(1, 4)
    if hooked then l:register_full_backward_hook(function() end) end
    return function(n)
      for _ = 1, n do l(x):backward(g) end
    end
  end
end

return {
  {
    name = "call of a Lua module",
    unit = "ns", bound = 110,
    setup = function(lucerna)
      local m, x = identity_module(lucerna)
      return function(n)
        for _ = 1, n do m(x) end
      end
    end,
  },
  {
    name = "the same with one Lua forward hook",
    unit = "ns", bound = 290,
    setup = function(lucerna)
      local m, x = identity_module(lucerna)
      m:register_forward_hook(function() end)
      return function(n)
        for _ = 1, n do m(x) end
      end
    end,
  },
  {
    name = "x + y, 4 elements, no_grad",
    unit = "ns", bound = 280,
    setup = function(lucerna)
      local x, y = lucerna.rand(4), lucerna.rand(4)
      return function(n)
        lucerna.no_grad(function()
          for _ = 1, n do local _ = x + y end
        end)
      end
    end,
  },
  {
    name = "Linear(4, 4) on [1, 4], no_grad",
    unit = "ns", bound = 700,
    setup = function(lucerna)
      local l, x = lucerna.nn.Linear(4, 4), lucerna.rand(1, 4)
      return function(n)
        lucerna.no_grad(function()
          for _ = 1, n do l(x) end
        end)
      end
    end,
  },
  {
    name = "reading l.weight",
    unit = "ns", bound = 60,
    setup = function(lucerna)
      local l = lucerna.nn.Linear(4, 4)
      return function(n)
        for _ = 1, n do local _ = l.weight end
      end
    end,
  },
  {
    name = "making Linear(8, 8)",
    unit = "us", bound = 3,
    setup = function(lucerna)
      local Linear = lucerna.nn.Linear
      return function(n)
        for _ = 1, n do Linear(8, 8) end
      end
    end,
  },
  {
    name = "Linear(4, 4), forward and backward",
    unit = "us", setup = there_and_back(false),
  },
  {
    name = "the same with a full backward hook (bound: 1.5 more)",
    unit = "us", setup = there_and_back(true),
  },
  {
    name = "Sequential of 1,000 Identities",
    unit = "us", bound = 60,
    setup = function(lucerna)
      local net, x = lucerna.nn.Sequential(), lucerna.rand(4)
      for _ = 1, 1000 do net:append(lucerna.nn.Identity()) end
      return function(n)
        for _ = 1, n do net(x) end
      end
    end,
  },
  {
    name = "1,000 Sequentials in each other",
    unit = "us", bound = 60,
    setup = function(lucerna)
      local net, x = lucerna.nn.Identity(), lucerna.rand(4)
      for _ = 1, 1000 do net = lucerna.nn.Sequential(net) end
      return function(n)
        for _ = 1, n do net(x) end
      end
    end,
  },
  {
    name = "state_dict of 300 Linears",
    unit = "us", bound = 200,
    setup = function(lucerna)
      local net = linears(lucerna)
      return function(n)
        for _ = 1, n do net:state_dict() end
      end
    end,
  },
  {
    name = "load_state_dict of 300 Linears",
    unit = "us", bound = 400,
    setup = function(lucerna)
      local net, state = linears(lucerna), linears(lucerna):state_dict()
      return function(n)
        for _ = 1, n do net:load_state_dict(state) end
      end
    end,
  },
}
