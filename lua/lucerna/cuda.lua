-- lucerna.cuda: what the machine offers. Computation is on the CPU so far.
--   is_available(): whether this build found a device; device_count(): how many.

return require("lucerna.core")._cuda
