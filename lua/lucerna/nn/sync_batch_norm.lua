-- What nn.SyncBatchNorm has beside its layer. There is one process, so that a converted net
-- computes what it did before.

local root = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local is_batch_norm = require "lucerna.nn.is_batch_norm"

local core = root.nn

local TENSORS = { "weight", "bias", "running_mean", "running_var", "num_batches_tracked" }

-- A SyncBatchNorm with the same options, tensors and mode.
local function converted(module)
  local sync = core.layer("SyncBatchNorm")(module.num_features, {
    eps = module.eps,
    momentum = module.momentum or root.none,
    affine = module.affine,
    bias = not module.affine or module.bias ~= nil,
    track_running_stats = module.track_running_stats,
  })
  for _, name in ipairs(TENSORS) do
    if module[name] ~= nil then sync[name] = module[name] end
  end
  sync.training = module.training
  return sync
end

local function convert(module)
  local result = is_batch_norm(module) and converted(module) or module
  for name, child in module:named_children() do
    local new = convert(child)
    if new ~= child or result ~= module then result:add_module(name, new) end
  end
  return result
end

return {
  --- convert_sync_batchnorm(module, process_group): module with every BatchNorm in it replaced by a
  -- SyncBatchNorm of the same tensors; a new one if module is a BatchNorm itself.
  convert_sync_batchnorm = function(...)
    local class = core.is_class((...)) -- called as a method of the class
    local module, group = arguments("convert_sync_batchnorm", { "module", "process_group",
      options = 2 }, select(class and 2 or 1, ...))
    check.module("convert_sync_batchnorm", "module", module)
    if group ~= nil then
      root._fail("convert_sync_batchnorm: process_group: there are no process groups")
    end
    return convert(module)
  end,
}
