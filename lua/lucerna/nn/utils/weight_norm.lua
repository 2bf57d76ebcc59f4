-- Weight normalization with a hook: weight = g * v / |v|, from parameters name_g and name_v, before
-- every forward. (parametrizations.weight_norm does it with a parametrization.)

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.nn.utils.check"
local computed = require "lucerna.nn.utils.computed"

local Parameter = core.nn.Parameter

local weight_norm = {}

local WeightNorm = computed.class "WeightNorm"

local function is_mine(hook) return getmetatable(hook) == WeightNorm end

--- The norm of v over all dimensions but dim, kept as sizes of 1; dim -1: over all, a scalar.
function WeightNorm.norm_except_dim(v, dim)
  if dim == -1 then return v:norm(2) end
  local others = check.other_dims(v, dim)
  if #others == 0 then return v:abs() end
  return v:norm(2, others, true)
end

--- g * v / |v|
function WeightNorm.weight(v, g, dim) return v * (g / WeightNorm.norm_except_dim(v, dim)) end

function WeightNorm:compute(module)
  return WeightNorm.weight(module[self.name .. "_v"], module[self.name .. "_g"], self.dim)
end

--- dim as it was given: -1 and none stand for the norm of everything.
function WeightNorm.read_dim(who, weight, dim)
  if dim == core.none then return -1 end
  if dim == nil then return 1 end
  if math.type(dim) ~= "integer" or dim == 0 or dim > weight:dim() or dim < -1 then
    check.fail("%s: dim %s is out of range [1, %d] (-1 or none: one norm over all dimensions)", who,
      dim, weight:dim())
  end
  return dim
end

-- `none` as the third argument or under the key dim.
local function wants_none(...)
  local given = table.pack(...)
  local last = given[given.n]
  return given[3] == core.none or type(last) == "table" and getmetatable(last) == nil
    and last.dim == core.none
end

--- module, name and dim (none as it is) of the two functions called weight_norm.
function WeightNorm.arguments(who, ...)
  local module, name, dim = arguments(who, { "module", "name", "dim", options = 2 }, ...)
  return module, name or "weight", wants_none(...) and core.none or dim
end

--- weight_norm(module, name = "weight", dim = 1): the parameter becomes name_g (the norm over all
-- dimensions but dim; none: over all) and name_v. Returns the module.
function weight_norm.weight_norm(...)
  local who = "weight_norm"
  local module, name, dim = WeightNorm.arguments(who, ...)
  check.module(who, "module", module)
  if computed.find(module, is_mine, name) then
    check.fail("%s: Cannot register two weight_norm hooks on the same parameter %s", who, name)
  end
  local weight = computed.parameter(who, module, name, "WeightNorm")
  dim = WeightNorm.read_dim(who, weight, dim)
  local hook = setmetatable({ name = name, dim = dim }, WeightNorm)
  local g = Parameter(lucerna.no_grad(WeightNorm.norm_except_dim, weight, dim))
  local v = Parameter(weight:detach())
  computed.install(module, name, hook, { { "_g", g }, { "_v", v } },
    WeightNorm.weight(v, g, dim))
  return module
end

--- remove_weight_norm(module, name = "weight"): one parameter again, of the value it has now.
function weight_norm.remove_weight_norm(...)
  local module, name, hook =
    computed.arguments("remove_weight_norm", "weight_norm", is_mine, ...)
  local weight = lucerna.no_grad(hook.compute, hook, module)
  computed.uninstall(module, name, { "_g", "_v" }, Parameter(weight), hook)
  return module
end

weight_norm.WeightNorm = WeightNorm

return weight_norm
