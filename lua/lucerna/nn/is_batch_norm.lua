-- Is a module a BatchNorm, of whatever number of dimensions?

local core = require("lucerna.core").nn

local layer = core.layer

return function(module)
  return core.isinstance(module, { layer "BatchNorm1d", layer "BatchNorm2d", layer "BatchNorm3d",
    layer "SyncBatchNorm" })
end
