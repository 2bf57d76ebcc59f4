-- Automatic mixed precision: regions in which the operators that gain by it run in half precision
-- and those that need range in float32. The door casts (src/ops/autocast.c has the lists, those of
-- PyTorch for the CPU); here are PyTorch's names. Devices other than the CPU have no autocast.

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local is_callable = require "lucerna.callable"
local check = require "lucerna.check"
local scoped = require "lucerna.scoped"

local M = { clear_autocast_cache = core.clear_autocast_cache }

-- Is it the CPU? Any other device PyTorch knows is one that is not here.
local function is_cpu(who, device_type)
  if device_type == nil or device_type == "cpu" then return true end
  check.string(who, "device_type", device_type)
  if device_type ~= "cuda" then
    core._fail("%s: unknown device type '%s'", who, device_type)
  end
  return false
end

local function is_half(dtype) return dtype == core.float16 or dtype == core.bfloat16 end

local function check_dtype(who, dtype)
  if dtype == nil or is_half(dtype) then return end
  local ok, real = pcall(function() return dtype.is_floating_point end)
  if not (ok and real) then
    core._fail("%s: dtype must be float16 or bfloat16 (got %s)", who, dtype)
  end
end

-- What makes the region's guard. As in PyTorch another floating point dtype means no casts.
local function region(device_type, dtype, enabled, cache_enabled)
  local who = "autocast"
  local cpu = is_cpu(who, device_type)
  check_dtype(who, dtype)
  check.option(who, "enabled", enabled, "boolean")
  check.option(who, "cache_enabled", cache_enabled, "boolean")
  if not cpu then return function(guard) return guard or core._autocast() end end
  local on = enabled ~= false and (dtype == nil or is_half(dtype))
  return function(guard)
    return guard or core._autocast(on, is_half(dtype) and dtype or nil, cache_enabled)
  end
end

local NAMES = { "device_type", "dtype", "enabled", "cache_enabled" }

--- autocast([device_type,] [{dtype=bfloat16, enabled=true, cache_enabled=true},] f, ...): f(...) in
-- mixed precision: products and convolutions in half precision, losses and what needs range in
-- float32. Without f it returns what ends the region: `local _ <close> = autocast("cpu")`.
function M.autocast(...)
  local given = table.pack(...)
  local f
  for i = 1, given.n do
    if is_callable(given[i]) then
      f = i
      break
    end
  end
  local make = region(arguments("autocast", NAMES, table.unpack(given, 1, (f or given.n + 1) - 1)))
  if f then return scoped(make, given[f], table.unpack(given, f + 1, given.n)) end
  local guard = make()
  guard()
  return guard
end

--- is_autocast_available(device_type): only the CPU has it.
function M.is_autocast_available(device_type)
  return is_cpu("is_autocast_available", device_type)
end

--- is_autocast_enabled([device_type]): is mixed precision on?
function M.is_autocast_enabled(device_type)
  local on = core._get_autocast()
  return is_cpu("is_autocast_enabled", device_type) and on
end

--- set_autocast_enabled([device_type,] enabled): turns mixed precision on or off until told again.
function M.set_autocast_enabled(device_type, enabled)
  if type(device_type) == "boolean" then device_type, enabled = "cpu", device_type end
  check.option("set_autocast_enabled", "enabled", enabled, "boolean")
  if is_cpu("set_autocast_enabled", device_type) then core._set_autocast(enabled) end
end

--- The dtype of the next regions that name none: bfloat16 to begin with.
function M.get_autocast_dtype(device_type)
  local _, dtype = core._get_autocast()
  return is_cpu("get_autocast_dtype", device_type) and dtype or core.float16
end

--- set_autocast_dtype(device_type, dtype): float16 or bfloat16, of regions that name none.
function M.set_autocast_dtype(device_type, dtype)
  check_dtype("set_autocast_dtype", dtype)
  if not is_half(dtype) then
    core._fail("set_autocast_dtype: dtype must be float16 or bfloat16 (got %s)", dtype)
  end
  if is_cpu("set_autocast_dtype", device_type) then core._set_autocast(nil, dtype) end
end

--- is_autocast_cache_enabled(): are casts of weights kept while a region lasts?
function M.is_autocast_cache_enabled()
  local _, _, cache = core._get_autocast()
  return cache
end

--- set_autocast_cache_enabled(enabled): are casts of weights to be kept while a region lasts?
function M.set_autocast_cache_enabled(enabled)
  check.option("set_autocast_cache_enabled", "enabled", enabled, "boolean")
  core._set_autocast(nil, nil, enabled)
end

return M
