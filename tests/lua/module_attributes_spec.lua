-- nn.Module's attributes and trees beside PyTorch's recorded answers (tests/parity): the state
-- after each step of random walks of assigning, registering and deleting, and single lines.

local lucerna = require "lucerna"
local parity = require "parity"

local nn = lucerna.nn
local recorded = parity.load "attributes"

-- ---- walks ----

local MAKE = {
  parameter = function() return nn.Parameter(lucerna.ones(1)) end,
  tensor = function() return lucerna.ones(1) end,
  module = function() return nn.ReLU() end,
  number = function() return 1 end,
  none = function() return nil end,
}

local function step(m, op, name, kind)
  local value = MAKE[kind]()
  if op == "set" then
    m[name] = value
  elseif op == "delete" then
    nn.delattr(m, name)
  elseif op == "transient" then
    m:register_buffer(name, value, false)
  else
    m[op](m, name, value)
  end
end

local function names(map)
  local list = {}
  for name, value in pairs(map) do list[#list + 1] = name .. (value == nil and "-" or "") end
  return table.concat(list, ",")
end

-- As gen_attributes.py writes it.
local function state(m)
  local fields, transient = {}, {}
  for name in pairs(m) do
    local registered = m._parameters[name] or m._buffers[name] or m._modules[name]
    if not registered then fields[#fields + 1] = name end
  end
  for name in pairs(m._non_persistent_buffers_set) do transient[#transient + 1] = name end
  table.sort(transient)
  return table.concat({ names(m._parameters), names(m._buffers), names(m._modules),
    table.concat(transient, ","), table.concat(fields, ","), table.concat(parity.keys(m), ",") },
    "|")
end

local function follow(Class, walk)
  local m = Class()
  for i, entry in ipairs(walk) do
    local op, name, kind, problem, expected = table.unpack(entry)
    local good, message = pcall(step, m, op, name, kind)
    local where = ("step %d, %s %s %s: "):format(i, op, name, kind)
    assert.equal(problem == "", good, where .. tostring(message))
    if not good then
      assert.truthy(message:find(problem, 1, true), ("%s%q lacks %q"):format(where, message,
        problem))
    end
    assert.equal(expected, state(m), where)
  end
end

describe("a random walk of", function()
  it("assigning, registering and deleting leads where PyTorch's leads", function()
    for _, walk in ipairs(recorded.walks) do follow(nn.class("Net"), walk) end
  end)

  it("the same steps does so through methods of the class", function()
    local Net = nn.class("Net")
    function Net:register_parameter(...) nn.Module.register_parameter(self, ...) end
    function Net:register_buffer(name, value, persistent)
      nn.Module.register_buffer(self, name, value, persistent)
    end
    function Net:named_parameters(...) return nn.Module.named_parameters(self, ...) end
    Net.unused = nn.property(function() return 1 end)
    for _, walk in ipairs(recorded.walks) do follow(Net, walk) end
  end)

  it("the same steps does so under hooks that replace what they see", function()
    local function again(_, _, value)
      if value == nil then return nil end
      if nn.isinstance(value, nn.Module) then return nn.ReLU() end
      if nn.isinstance(value, nn.Parameter) then return nn.Parameter(value) end
      return value:clone()
    end
    local _ <close> = nn.register_module_parameter_registration_hook(again)
    local _ <close> = nn.register_module_buffer_registration_hook(again)
    local _ <close> = nn.register_module_module_registration_hook(again)
    for _, walk in ipairs(recorded.walks) do follow(nn.class("Net"), walk) end
  end)
end)

-- ---- lines ----

local Tree = nn.class("Tree")
function Tree:__init()
  self.width = 3
  self.scale = nn.Parameter(lucerna.ones(1))
  self:register_buffer("mean", lucerna.zeros(1))
  self:register_buffer("count", lucerna.zeros(1, { dtype = lucerna.int64 }), false)
  self.a = nn.Linear(2, 2)
  self.b = nn.Sequential(nn.Linear(2, 2, { bias = false }), nn.BatchNorm1d(2))
  self.again = self.a
  self.tied = self.scale
  self.empty = nn.ReLU()
  self.empty = nil
end

local env = setmetatable({ lucerna = lucerna, nn = nn }, { __index = _G })

function env.names(...) return table.concat(parity.list(...), " ") end

function env.applied(m)
  local list = {}
  m:apply(function(x) list[#list + 1] = x:_get_name() end)
  return table.concat(list, " ")
end

function env.dtypes(m)
  local list = {}
  for p in m:parameters() do list[#list + 1] = tostring(p.dtype) end
  for b in m:buffers() do list[#list + 1] = tostring(b.dtype) end
  return table.concat(list, " ")
end

function env.shape(t) return table.concat(t.shape, " ") end

describe("a tree of modules", function()
  for _, pair in ipairs(recorded.pairs) do
    it("answers " .. pair[1], function()
      env.m = Tree()
      local good, result = pcall(load("return " .. pair[1], "=line", "t", env))
      if pair.error then
        assert.is_false(good)
        assert.truthy(result:find(pair.error, 1, true), result)
      else
        assert.is_true(good, tostring(result))
        assert.equal(pair[2], result)
      end
    end)
  end
end)
