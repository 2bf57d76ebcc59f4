-- What the out-of-memory sweep runs with state dicts: models that the core loads, and ones whose
-- classes and hooks take part, are saved and loaded; what fails has changed nothing. Returns the
-- scenario as a function.
local lucerna = require "lucerna"
local nn = lucerna.nn

local Doubled = nn.class("Doubled", nn.Linear)
function Doubled:_load_from_state_dict(state, prefix, ...)
  self.note = "loading" .. prefix
  self.weight.data = lucerna.zeros(2, 3)
  self.bias = nn.Parameter(lucerna.ones(1))
  self.extra = nn.ReLU()
  self.bias = nn.Parameter(lucerna.ones(2))
  self:register_buffer("fresh", lucerna.ones(1))
  nn.delattr(self, "fresh")
  nn.delattr(self, "extra")
  nn.Linear._load_from_state_dict(self, state, prefix, ...)
end

function Doubled:get_extra_state() return { n = self.n } end
function Doubled:set_extra_state(state) self.n = state.n end

local function make(kind)
  local net = nn.Sequential(kind(3, 2), nn.BatchNorm1d(2))
  if kind == Doubled then
    net[1].n = 1
    net[2]:register_load_state_dict_pre_hook(function(m) m.running_mean:fill_(7) end)
    net:register_load_state_dict_post_hook(function(m) m[2].running_var:fill_(9) end)
    net:register_state_dict_post_hook(function(_, state) state.more = nil end)
  end
  return net
end

-- Everything there is to see of a net, as values that no later allocation can change.
local function look(net)
  local seen = { weight = net[1].weight, bias = net[1].bias, note = net[1].note, n = net[1].n,
    mean = net[2].running_mean:sum():item(), var = net[2].running_var:sum():item(),
    w = net[1].weight:sum():item(), b = net[1].bias:sum():item(), extra = net[1].extra }
  for name in net:named_buffers() do seen["buffer " .. name] = true end
  return seen
end

local function same(a, b)
  for key, value in pairs(a) do
    if not rawequal(value, b[key]) and value ~= b[key] then return false end
  end
  return true
end

local function load_whole(net, state, options)
  local before = look(net)
  local ok, err = pcall(net.load_state_dict, net, state, options)
  if ok then return end
  collectgarbage()
  local now = look(net)
  assert(same(before, now) and same(now, before), "half loaded")
  error(err, 0)
end

local function scenario()
  for _, kind in ipairs { nn.Linear, Doubled } do
    local from, to = make(kind), make(kind)
    local state = from:state_dict()
    load_whole(to, state)
    load_whole(to, state, { assign = true })
    assert(lucerna.equal(from[1].weight, to[1].weight))
    local prefixed = from:state_dict { prefix = "module." }
    load_whole(to, prefixed, { prefix = "module.", rename = { x = false } })
    local ok, err = pcall(load_whole, to, prefixed)
    assert(not ok)
    if not tostring(err):find("prefix = \"module.\"", 1, true) then error(err, 0) end
    to:clone():load_state_dict(state)
  end
end

return scenario
