-- What the out-of-memory sweep runs with the fields of one module: registering, replacing,
-- emptying, deleting, hooks on registration, methods of Lua, conversions. Each step either happens
-- or leaves the module as it was. Returns the scenario as a function.
local lucerna = require "lucerna"
local nn = lucerna.nn

local Net = nn.class("Net")
function Net:register_buffer(name, value, persistent)
  nn.Module.register_buffer(self, name, value, persistent)
end
Net.size = nn.property(function(self) return self.n end, function(self, n) self.n = n end)

-- What a module has: names with what stands under them, and the keys of its state dict.
local function snapshot(m)
  local parts = {}
  for name, value in pairs(m) do parts[#parts + 1] = { name, value } end
  for name in pairs(m:state_dict()) do parts[#parts + 1] = { name, "saved" } end
  return parts
end

local function same(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i][1] ~= b[i][1] or not rawequal(a[i][2], b[i][2]) then return false end
  end
  return true
end

-- Runs f; when it fails the module is as it was, and the error goes on.
local function step(m, f)
  local before = snapshot(m)
  local good, err = pcall(f)
  if good then return end
  collectgarbage()
  local retried, after = pcall(snapshot, m)
  if not retried then after = snapshot(m) end
  assert(same(before, after), "a module was left half-changed")
  error(err, 0)
end

local function scenario()
  local m, calls = Net(), 0
  local function set(name, value) step(m, function() m[name] = value end) end
  local function count() calls = calls + 1 end
  set("p", nn.Parameter(lucerna.ones(2)))
  set("b", nn.Buffer(lucerna.ones(2), false))
  set("child", nn.Sequential(nn.Linear(2, 2)))
  set("width", 3)
  local hooks = {
    nn.register_module_parameter_registration_hook(count),
    nn.register_module_buffer_registration_hook(function(_, _, b) return b and b + 1 end),
    nn.register_module_module_registration_hook(count),
  }
  local good, err = pcall(function()
    set("p", nn.Parameter(lucerna.ones(3)))
    set("b", lucerna.ones(3))
    set("child", nn.ReLU())
    set("width", nn.Parameter(lucerna.ones(1)))
    set("linear", nn.Linear(1, 1))
    set("size", 3)
    step(m, function() m:register_buffer("more", lucerna.ones(1)) end)
    step(m, function() m:add_module("last", nn.ReLU()) end)
    set("p", nil)
    step(m, function() nn.delattr(m, "child") end)
  end)
  for _, hook in ipairs(hooks) do hook:remove() end
  if not good then error(err, 0) end
  local weight = m.linear.weight
  step(m, function() m:double() end)
  m:_apply(function(t) return t * 2 end)
  m:apply(count)
  assert(calls == 10 and rawequal(weight, m.linear.weight), calls)
end

return scenario
