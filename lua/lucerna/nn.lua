-- lucerna.nn: modules, layers, containers. Classes written in C become tables when they are first
-- asked for; what Lua adds to them is in nn/module.lua and nn/container.lua.

local root = require "lucerna.core"
local core, fail = root.nn, root._fail
local check = require "lucerna.check"
local module = require "lucerna.nn.module"
local hooks = require "lucerna.nn.hooks"
local state = require "lucerna.nn.state"
local container = require "lucerna.nn.container"
local parameters = require "lucerna.nn.parameters"
local lazy = require "lucerna.nn.lazy"

local rnn = require "lucerna.nn.rnn"
local embedding = require "lucerna.nn.embedding"

local EXTENSIONS = {
  Module = module.Module,
  Sequential = container.Sequential,
  ModuleList = container.ModuleList,
  ModuleDict = container.ModuleDict,
  MultiheadAttention = require "lucerna.nn.multihead",
  SyncBatchNorm = require "lucerna.nn.sync_batch_norm",
  Container = container.Container,
  Embedding = embedding.Embedding,
  EmbeddingBag = embedding.EmbeddingBag,
  RNNBase = rnn.RNNBase, RNN = rnn.RNN, LSTM = rnn.LSTM, GRU = rnn.GRU,
  -- fields that say what the class says
  ReLU6 = { min_val = 0.0, max_val = 6.0 },
  UpsamplingBilinear2d = { align_corners = true },
  ParameterList = parameters.ParameterList,
  ParameterDict = parameters.ParameterDict,
}

-- _check_input_dim(input) of the norms; a subclass may have another one.
local function check_dims(least, most)
  return function(self, input)
    check.module("_check_input_dim", "self", self)
    local dims = check.tensor("_check_input_dim", "input", input):dim()
    if dims < least or dims > most then
      local expected = least == most and ("%dD"):format(least) or ("%dD or %dD"):format(least, most)
      fail("%s: expected %s input (got %dD input)", core.class_name(self), expected, dims)
    end
  end
end

for n = 1, 3 do
  local batch, instance = check_dims(n == 1 and 2 or n + 2, n + 2), check_dims(n + 1, n + 2)
  EXTENSIONS["BatchNorm" .. n .. "d"] = { _check_input_dim = batch }
  EXTENSIONS["InstanceNorm" .. n .. "d"] = { _check_input_dim = instance }
  EXTENSIONS["Conv" .. n .. "d"] = { transposed = false }
  EXTENSIONS["ConvTranspose" .. n .. "d"] = { transposed = true }
  EXTENSIONS["ZeroPad" .. n .. "d"] = { value = 0.0 }
end

-- reset_running_stats(): those of a new layer.
local function reset_running_stats(self)
  check.module("reset_running_stats", "self", self)
  if not self.track_running_stats then return end
  self.running_mean:zero_()
  self.running_var:fill_(1)
  self.num_batches_tracked:zero_()
end

local setup = module.setup
setup.slice, setup.delete = parameters.slice, container.delete
setup.put_entry, setup.packed = parameters.put_entry, rnn.packed
for driver in pairs(container.drivers) do setup.drivers[driver] = true end

module.Module.clone = require "lucerna.nn.clone"
for _, methods in ipairs { hooks.methods, state.methods } do
  for name, method in pairs(methods) do module.Module[name] = method end
end
for name, f in pairs(state.host) do setup[name] = f end

-- Called once for every class written in C.
function setup.extend(class, name)
  for key, method in pairs(EXTENSIONS[name] or {}) do class[key] = method end
  if name:find("^Lazy") then lazy.extend(class) end
  local constructor = core.schemas(class)
  if constructor and constructor:find("dtype") and name ~= "MultiheadAttention" then
    class.reset_parameters = class.reset_parameters or core.reset_parameters
  end
  if constructor and constructor:find("track_running_stats") then
    class.reset_running_stats = reset_running_stats
  end
end

core.setup(setup)

local nn = {
  Parameter = core.Parameter,
  Buffer = core.Buffer,
  UninitializedParameter = core.UninitializedParameter,
  UninitializedBuffer = core.UninitializedBuffer,
  LazyModuleMixin = lazy.LazyModuleMixin(),
  delattr = core.delattr,
  isinstance = core.isinstance,
}
for name, register in pairs(hooks.global) do nn[name] = register end

--- nn.parameter: what makes parameters and buffers, and is_lazy(p): is its shape not known yet?
nn.parameter = {
  Parameter = core.Parameter,
  Buffer = core.Buffer,
  UninitializedParameter = core.UninitializedParameter,
  UninitializedBuffer = core.UninitializedBuffer,
  is_lazy = core.is_lazy,
}

-- What is no class of modules, but can be asked for as one.
local kinds = core._kinds
kinds[nn.Parameter] = core.is_parameter
kinds[nn.Buffer] = core.is_buffer
kinds[nn.UninitializedParameter] = function(v) return core.is_lazy(v) and core.is_parameter(v) end
kinds[nn.UninitializedBuffer] = function(v) return core.is_lazy(v) and core.is_buffer(v) end
kinds[nn.LazyModuleMixin] = lazy.is

--- class(name, Parent): a new class of modules; Parent defaults to nn.Module. With
-- nn.LazyModuleMixin as Parent there may be another one after it: class(name, mixin, Base).
--
-- Reading m.x looks for x among the properties of the class and its parents, then in the module (a
-- name is a field, a parameter, a buffer or a child), then among what the class and its parents
-- have; last it asks __index(m, x) of the class, if there is one. Assigning registers parameters,
-- buffers (nn.Buffer) and modules, but not over a name that the class has; Lua assigns several
-- from right to left, so `self.a, self.b = f(), g()` would register b before a.
function nn.class(name, Parent, Base)
  if Base and rawequal(Parent, nn.LazyModuleMixin) then return lazy.mixed(name, Base) end
  if Base ~= nil then
    fail("nn.class: a class has one Parent (got a third argument, %s)", core.kind_name(Base))
  end
  return core.class(name, Parent)
end

--- property(get, set): a value for a class's table. Reading the name from a module calls get(m),
-- assigning calls set(m, value); without set the name cannot be assigned. As in Python it comes
-- before what the module itself has under that name; parameters, buffers and modules cannot take
-- the name.
function nn.property(get, set) return core.property(get, set) end

local UNREGISTERED = { __name = "unregistered" }

--- unregistered(table): lets a table that holds modules be a field without registering them.
function nn.unregistered(list)
  if type(list) ~= "table" then
    fail("nn.unregistered: table must be a table (got %s)", type(list))
  end
  if getmetatable(list) == nil then setmetatable(list, UNREGISTERED) end
  return list
end

local FACTORY = { device = true, dtype = true, memory_format = true }

--- factory_kwargs(kwargs): among keyword arguments those for functions that make tensors: device,
-- dtype and memory_format, also from a table under factory_kwargs. Other names are errors.
function nn.factory_kwargs(kwargs)
  local who, options = "factory_kwargs", {}
  local inner = check.option(who, "kwargs", kwargs, "table") and kwargs.factory_kwargs
  for name, value in pairs(check.option(who, "factory_kwargs", inner, "table") or {}) do
    options[name] = value
  end
  for name, value in pairs(kwargs or {}) do
    if FACTORY[name] and options[name] ~= nil then
      fail("%s: %s specified twice, in **kwargs and in factory_kwargs", who, name)
    elseif FACTORY[name] then
      options[name] = value
    elseif name ~= "factory_kwargs" then
      fail("%s: unexpected kwargs '%s'", who, name)
    end
  end
  return options
end

local SUBMODULES = {
  functional = true, grad = true, init = true, utils = true, parallel = true, attention = true,
}

-- Classes written in Lua, and the files that define them.
local WRITTEN = {
  CrossMapLRN2d = "cross_map_lrn",
  TripletMarginWithDistanceLoss = "loss", LinearCrossEntropyLoss = "loss",
  LinearCrossEntropyOptions = "loss", AdaptiveLogSoftmaxWithLoss = "loss",
  Transformer = "transformer", TransformerEncoder = "transformer",
  TransformerDecoder = "transformer", TransformerEncoderLayer = "transformer",
  TransformerDecoderLayer = "transformer", DataParallel = "parallel",
}

-- For completion: names that are not in the table yet.
local function lazy_names()
  local names = core.names()
  for _, part in ipairs { WRITTEN, SUBMODULES } do
    for name in pairs(part) do names[#names + 1] = name end
  end
  return names
end

return setmetatable(nn, {
  __names = lazy_names,
  __index = function(_, name)
    local value
    if SUBMODULES[name] then
      value = require("lucerna.nn." .. name)
    elseif WRITTEN[name] then
      value = require("lucerna.nn." .. WRITTEN[name])[name]
    elseif type(name) == "string" then
      value = core.layer(name)
    end
    nn[name] = value
    return value
  end,
})
