-- What the out-of-memory sweep runs with containers: each change of one happens whole or not at
-- all. Returns the scenario as a function.
local lucerna = require "lucerna"
local nn = lucerna.nn

local function snapshot(container)
  local parts = {}
  for name, m in container:named_children() do parts[#parts + 1] = name .. m:_get_name() end
  for name, p in pairs(container._parameters) do
    parts[#parts + 1] = name .. tostring(p and p.shape[1])
  end
  return table.concat(parts, " ")
end

-- f(container) leaves it as it was if it fails.
local function whole(container, f, ...)
  local before = snapshot(container)
  local ok, err = pcall(f, container, ...)
  if ok then return end
  assert(snapshot(container) == before, "half changed")
  error(err, 0)
end

local function modules()
  local list = nn.ModuleList { nn.ReLU(), nn.Tanh(), nn.Identity() }
  whole(list, list.extend, { nn.GELU(), nn.Linear(2, 2), nn.ReLU(), nn.ReLU() })
  whole(list, list.insert, 2, nn.Sequential(nn.Tanh()))
  whole(list, list.pop, 1)
  whole(list, nn.delattr, { 2, 3 })
  assert(snapshot(list) == "0Sequential 1GELU 2Linear 3ReLU 4ReLU")
  assert(#(list + list[{ 2, 3 }]) == 7)
  local dict = nn.ModuleDict { a = nn.ReLU(), b = nn.Tanh() }
  whole(dict, dict.update, { b = nn.GELU(), c = list, d = nn.ReLU() })
  whole(dict, dict.pop, "a")
  assert(snapshot(dict) == "bGELU cModuleList dReLU")
  assert(tostring(dict) == tostring(dict:clone()))
  return dict
end

local function parameters()
  local list = nn.ParameterList { lucerna.ones(1), 5 }
  whole(list, list.extend, { lucerna.ones(2), "text", lucerna.ones(3), { 1 } })
  assert(#list == 6 and list[2] == 5 and list[6][1] == 1)
  local dict = nn.ParameterDict { a = lucerna.ones(1), b = lucerna.ones(2) }
  whole(dict, dict.update, { b = lucerna.ones(5), c = lucerna.ones(3), n = 3 })
  whole(dict, dict.popitem)
  assert(snapshot(dict | { d = lucerna.ones(4) }) == "a1 b5 c3 d4")
  assert(tostring(list) == tostring(list:clone()))
  return list
end

return function()
  local net = nn.Sequential(nn.Sequential(nn.Identity(), nn.ReLU()) * 3, modules().d)
  net:append(parameters())
  net:pop()
  assert(net(lucerna.ones(2)):sum():item() == 2)
end
