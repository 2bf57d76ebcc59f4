-- lucerna.cuda: what the machine offers. Computation is on the CPU so far.
--   is_available(): whether this build found a device; device_count(): how many.

local core = require "lucerna.core"
local check = require "lucerna.check"

local cuda = core._cuda

--- manual_seed(seed): nothing, as long as no numbers are drawn on a device.
function cuda.manual_seed(seed) check.integer("manual_seed", "seed", seed) end

--- manual_seed_all(seed): as manual_seed.
function cuda.manual_seed_all(seed) check.integer("manual_seed_all", "seed", seed) end

--- empty_cache(): nothing, as long as no memory is kept on a device.
function cuda.empty_cache() end

return cuda
