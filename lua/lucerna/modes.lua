-- What makes the guards of gradient modes, for scoped and region, or takes the guard before: made
-- once, so that no call makes a function.

local new_mode = require("lucerna.core")._mode

return {
  unrecorded = function(guard) return guard or new_mode(false) end,
  recorded = function(guard) return guard or new_mode(true) end,
  inferred = function(guard) return guard or new_mode(false, true) end,
  uninferred = function(guard) return guard or new_mode(true, false) end,
}
