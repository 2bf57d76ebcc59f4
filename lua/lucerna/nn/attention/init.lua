-- lucerna.nn.attention: masks for scaled_dot_product_attention, attention with scores of one's own,
-- and PyTorch's choice of kernels.

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local later = require "lucerna.later"

local fail = core._fail
local attention = {}

--- The kernels that sdpa_kernel takes.
attention.SDPBackend = { ERROR = -1, MATH = 0, FLASH_ATTENTION = 1, EFFICIENT_ATTENTION = 2,
  CUDNN_ATTENTION = 3, OVERRIDEABLE = 4 }

local function is_backend(value)
  for _, known in pairs(attention.SDPBackend) do
    if value == known then return true end
  end
  return false
end

--- sdpa_kernel(backends, {set_priority = false}): a value to close, for `local _ <close> =`.
-- backends: one of SDPBackend or a list of them. There is one kernel: every choice stands for it.
function attention.sdpa_kernel(...)
  local backends = arguments("sdpa_kernel", { "backends", "set_priority" }, ...)
  for _, backend in ipairs(type(backends) == "table" and backends or { backends or false }) do
    if not is_backend(backend) then
      fail("sdpa_kernel: Backend must be an instance of SDPBackend or a list of them (got %s)",
        backend)
    end
  end
  return setmetatable({}, { __close = function() end })
end

return later(attention, "lucerna.nn.attention.", { "bias", "flex_attention" })
