-- lucerna.cuda: what the machine offers. Computation is on the CPU so far.
--   is_available(): whether this build found a device; device_count(): how many.

local core = require "lucerna.core"

local cuda = core._cuda

local function seed_all(seed)
  if math.type(seed) ~= "integer" then
    core._fail("manual_seed: seed must be an integer (got %s)", core.nn.kind_name(seed))
  end
end

--- manual_seed(seed): nothing, as long as no numbers are drawn on a device.
function cuda.manual_seed(seed) seed_all(seed) end

--- manual_seed_all(seed): the same.
function cuda.manual_seed_all(seed) seed_all(seed) end

--- empty_cache(): nothing, as long as no memory is kept on a device.
function cuda.empty_cache() end

return cuda
