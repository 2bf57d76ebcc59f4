-- Random things done to a few modules, also from inside hooks, walks and conversions: nothing may
-- crash (the sanitizers watch), and what is left is a tree whose views agree with each other.

local lucerna = require "lucerna"

local nn = lucerna.nn
local random = math.random

local NAMES = { "a", "b", "weight", "bias", "0", "1", "running_mean" }
local REGISTER = {
  nn.register_module_parameter_registration_hook, nn.register_module_buffer_registration_hook,
  nn.register_module_module_registration_hook,
}

local Own = nn.class("Own")
Own.property = nn.property(function(m) return m.a end, function(m, v) m.b = v end)
function Own:register_parameter(name, p) nn.Module.register_parameter(self, name, p) end
function Own:train(mode) return nn.Module.train(self, mode) end
function Own:_apply(f, recurse) return nn.Module._apply(self, f, recurse) end

local MAKE = {
  nn.Module, nn.ReLU, Own, nn.Sequential, nn.ModuleList, Own,
  function() return nn.Linear(1, 1) end, function() return nn.BatchNorm1d(2) end,
}

local function fuzz(steps)
  local modules, handles, depth = {}, {}, 0
  for i, make in ipairs(MAKE) do modules[i] = make() end
  local function any() return modules[random(#modules)] end

  local act
  -- Something else meanwhile, now and then.
  local function meanwhile(chance)
    if random() > chance or depth == 4 then return end
    depth = depth + 1
    pcall(act)
    depth = depth - 1
  end

  local values = {
    function() return nn.Parameter(lucerna.ones(random(3))) end,
    function() return lucerna.ones(random(3)) end,
    function() return nn.Buffer(lucerna.ones(2), random() < 0.5) end,
    function() return nn.Linear(1, 1) end,
    any,
    function() return nil end,
  }
  local function value() return values[random(#values)]() end

  local function hook()
    meanwhile(0.5)
    if random() < 0.1 then error "no" end
    if random() < 0.3 then return value() end
  end

  local actions = {
    function(m, name) m[name] = value() end,
    function(m, name) m[name] = value() end,
    function(m, name) m[name] = value() end,
    function(m, name) nn.delattr(m, name) end,
    function(m, name) m:register_parameter(name, value()) end,
    function(m, name) m:register_buffer(name, value(), random() < 0.5) end,
    function(m, name) m:add_module(name, value()) end,
    function() if #handles < 5 then handles[#handles + 1] = REGISTER[random(3)](hook) end end,
    function() if #handles > 0 then table.remove(handles, random(#handles)):remove() end end,
    function(m) m:train(random() < 0.5) end,
    function(m) m:double():float() end,
    function(m) m:apply(function() meanwhile(0.2) end) end,
    function(m)
      m:_apply(function(t)
        meanwhile(0.2)
        return random() < 0.5 and t or t * 2
      end)
    end,
    function(m) modules[random(#modules)] = m:clone() end,
    function() collectgarbage(random() < 0.1 and "collect" or "step") end,
    function(m) for _ in pairs(m) do meanwhile(0.1) end end,
    function(m) for _, p in m:named_parameters() do p.requires_grad = true end end,
    function(m) m.train = random() < 0.5 and Own.train or nil end,
    function() modules[random(#modules)] = MAKE[random(#MAKE)]() end,
    function(m) m:load_state_dict(m:state_dict()) end,
    function(m) return tostring(m) end,
    function(m) m:_replicate_for_data_parallel() end,
    function(m, name) m:set_submodule(name, any()) end,
  }
  act = function() actions[random(#actions)](any(), NAMES[random(#NAMES)]) end
  for _ = 1, steps do pcall(act) end
  for _, handle in ipairs(handles) do handle:remove() end
  return modules
end

-- Every name is of one kind, and reads as what its view holds.
local function check(m)
  local kinds = {}
  for _, view in ipairs { "_parameters", "_buffers", "_modules" } do
    for name, value in pairs(m[view]) do
      assert.is_nil(kinds[name], name)
      kinds[name] = view
      assert.is_true(rawequal(value, m[name]), name)
    end
  end
end

describe("random changes", function()
  it("leave trees whole", function()
    for seed = 1, 3 do
      math.randomseed(seed)
      for _, root in ipairs(fuzz(2000)) do
        for m in root:modules() do check(m) end
      end
    end
  end)
end)
