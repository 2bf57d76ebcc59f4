-- lucerna.accelerator: the device beside the CPU that scripts ask for. Computation is on the CPU so
-- far, so there is none, whatever the machine has.

local accelerator = {}

--- is_available(): can tensors be on a device beside the CPU? Not yet.
function accelerator.is_available() return false end

--- device_count(): how many such devices there are: none.
function accelerator.device_count() return 0 end

--- current_accelerator(): the device itself, or nil.
function accelerator.current_accelerator() return nil end

return accelerator
