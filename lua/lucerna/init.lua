-- The library's table: what is written in C (lucerna.core) under PyTorch's names, the few functions
-- that are better said in Lua, and submodules that are loaded when they are first asked for.
-- Needs only the base, table, string, math and coroutine libraries; sets no globals.

local core = require "lucerna.core"
local check = require "lucerna.check"
local later = require "lucerna.later"
local modes = require "lucerna.modes"
local region = require "lucerna.region"

local lucerna = { _VERSION = "lucerna " .. core._version }
local loaded = type(package) == "table" and package.loaded -- a sandbox may have part of it only

-- The name under which a part of the library has the function.
local function name_in(part, path, f)
  for key, value in next, part do
    if rawequal(value, f) then return key end
    local inner = type(value) == "table" and path .. "." .. tostring(key)
    local name = inner and rawequal(loaded[inner], value) and name_in(value, inner, f)
    if name then return name end
  end
end

-- The same, looked for once while no more is loaded: the library has some thousand functions.
local names, files = {}, nil
local function name_of(f)
  local count = 0
  for _ in next, loaded do count = count + 1 end
  if count ~= files then names, files = setmetatable({}, {__mode = "k"}), count end
  if names[f] == nil then names[f] = name_in(lucerna, "lucerna", f) or false end
  return names[f] or nil
end

-- The name of a plain object's class, if f makes one.
local function class_made(f, class)
  local meta = type(class) == "table" and getmetatable(class)
  if type(meta) ~= "table" or not rawequal(meta.__call, f) then return nil end
  return class == lucerna.Tensor and "Tensor" or rawget(class, "__name")
end

-- Error positions skip our own files: tell the core how their chunk names begin. Errors inside a
-- function of them, whose first argument is told too, name it.
local _, path = ...
local root = type(path) == "string" and path:match("^(.*)init%.lua$")
core._set_root(root and "@" .. root or "", function(f, first)
  return class_made(f, first) or loaded and name_of(f)
end)

for name, value in pairs(core) do
  local public = not name:find("^_") and name ~= "dot" -- which is a part of the library, too
  if public and type(value) ~= "table" then lucerna[name] = value end
end
lucerna.Tensor = core.Tensor
lucerna.newaxis = core.none
lucerna.strided = "strided" -- what x.layout is
lucerna.inf, lucerna.nan, lucerna.pi, lucerna.e = math.huge, 0 / 0, math.pi, math.exp(1)

later(lucerna, "lucerna.", { "nn", "optim", "autograd", "linalg", "fft", "distributions", "func",
  "models", "data", "safetensors", "cuda", "progress", "special", "summary", "dot", "numpy", "amp",
  "profiler", "utils", "accelerator", "backends" })

local checkpoint = require "lucerna.checkpoint"
lucerna.save, lucerna.load = checkpoint.save, checkpoint.load

-- ---- gradient modes ----

local unrecorded, recorded, inferred = modes.unrecorded, modes.recorded, modes.inferred

--- no_grad(f, ...) runs f without recording; `local _ <close> = no_grad()` does it for a block.
-- A mode belongs to the whole program: a block in a coroutine that yields leaves it on for all
-- until it ends, as a `with` does in a generator of Python's; no_grad(f) puts it back meanwhile.
function lucerna.no_grad(f, ...) return region("no_grad", unrecorded, f, ...) end

--- enable_grad(f, ...) records even inside no_grad.
function lucerna.enable_grad(f, ...) return region("enable_grad", recorded, f, ...) end

--- set_grad_enabled(on, f, ...) runs f with or without recording. Without f it is so from now on,
-- and to the end of a block with `local _ <close> = set_grad_enabled(false)`.
function lucerna.set_grad_enabled(on, f, ...)
  check.boolean("set_grad_enabled", "mode", on)
  return region("set_grad_enabled", on and recorded or unrecorded, f, ...)
end

--- inference_mode(f, ...): no_grad for tensors that will never be differentiated.
-- inference_mode(on, f, ...) turns it on or off.
function lucerna.inference_mode(f, ...)
  if type(f) ~= "boolean" then return region("inference_mode", inferred, f, ...) end
  return region("inference_mode", f and inferred or modes.uninferred, ...)
end

for _, part in ipairs { "lucerna.autocast", "lucerna.composites", "lucerna.legacy" } do
  for name, value in pairs(require(part)) do lucerna[name] = value end
end

-- ---- what scripts set ----

local deterministic, precision = false, "highest"

--- use_deterministic_algorithms(mode, {warn_only=}): they always are, also with other numbers of
-- threads; the mode is only kept.
function lucerna.use_deterministic_algorithms(mode)
  deterministic = check.boolean("use_deterministic_algorithms", "mode", mode)
end

--- The mode that use_deterministic_algorithms was given.
function lucerna.are_deterministic_algorithms_enabled() return deterministic end

--- set_default_device(device): where what is made lies, which so far is the CPU.
function lucerna.set_default_device(...) core.device(...) end

--- The device that what is made lies on.
function lucerna.get_default_device() return (core.device("cpu")) end

local PRECISIONS = { highest = true, high = true, medium = true }

--- set_float32_matmul_precision(precision): 'highest', 'high' or 'medium'; products of float32 are
-- computed in float32 with each, it is only kept.
function lucerna.set_float32_matmul_precision(given)
  if not PRECISIONS[given] then
    core._fail("set_float32_matmul_precision: precision must be 'highest', 'high' or 'medium' "
      .. "(got %s)", given)
  end
  precision = given
end

--- The precision that set_float32_matmul_precision was given.
function lucerna.get_float32_matmul_precision() return precision end

-- ---- shapes ----

-- A shape's size as one of a broadcast's: `so_far` is what those before made of it.
local function widened(so_far, size)
  if math.type(size) ~= "integer" or size < 0 then
    core._fail("broadcast_shapes: sizes must be integers of at least 0 (got %s)", size)
  end
  if size == 1 or size == so_far then return so_far end
  if so_far ~= 1 then
    core._fail("broadcast_shapes: Shape mismatch: objects cannot be broadcast to a single shape")
  end
  return size
end

--- broadcast_shapes({2, 1}, {3}, …): the shape that tensors of these have together, [2, 3].
-- A number is a shape of one dimension.
function lucerna.broadcast_shapes(...)
  local shapes, rank, shape = {...}, 0, {nil, nil}
  for k, given in ipairs(shapes) do
    if math.type(given) == "integer" then
      shapes[k] = {given}
    elseif type(given) ~= "table" then
      core._fail("broadcast_shapes: a shape is a table of sizes (got %s)", type(given))
    end
    rank = math.max(rank, #shapes[k])
  end
  for d = 1, rank do
    local size = 1
    for _, row in ipairs(shapes) do
      local before = rank - #row
      if d > before then size = widened(size, row[d - before]) end
    end
    shape[d] = size
  end
  return shape
end

-- ---- dtypes ----

local FLOATS = {
  float64 = { bits = 64, eps = 2.0 ^ -52, max = 0x1.fffffffffffffp1023, tiny = 2.0 ^ -1022,
    resolution = 1e-15 },
  float32 = { bits = 32, eps = 2.0 ^ -23, max = 0x1.fffffep127, tiny = 2.0 ^ -126,
    resolution = 1e-6 },
  float16 = { bits = 16, eps = 2.0 ^ -10, max = 65504.0, tiny = 2.0 ^ -14, resolution = 1e-3 },
  bfloat16 = { bits = 16, eps = 2.0 ^ -7, max = 0x1.fep127, tiny = 2.0 ^ -126,
    resolution = 1e-2 },
  float8_e4m3fn = { bits = 8, eps = 0.125, max = 448.0, tiny = 2.0 ^ -6, resolution = 1.0 },
  float8_e5m2 = { bits = 8, eps = 0.25, max = 57344.0, tiny = 2.0 ^ -14, resolution = 1.0 },
  float8_e4m3fnuz = { bits = 8, eps = 0.125, max = 240.0, tiny = 2.0 ^ -7, resolution = 1.0 },
  float8_e5m2fnuz = { bits = 8, eps = 0.25, max = 57344.0, tiny = 2.0 ^ -15, resolution = 1.0 },
}

local INFO = {} -- by dtype
local DTYPE = { "dtype", options = 1 } -- what finfo and iinfo take
local PARTS = { complex64 = "float32", complex128 = "float64" }

--- finfo(dtype): bits, eps, max, min, tiny, smallest_normal, resolution of a floating point dtype;
-- of a complex one, those of its parts.
function lucerna.finfo(...)
  local dtype = core._arguments("finfo", DTYPE, ...) or core.get_default_dtype()
  if INFO[dtype] then return INFO[dtype] end
  local name = tostring(dtype)
  name = PARTS[name] or name
  local known = FLOATS[name]
  if not known then core._fail("finfo: needs a floating point dtype (got %s)", name) end
  INFO[dtype] = {
    dtype = name, bits = known.bits, eps = known.eps, max = known.max, min = -known.max,
    tiny = known.tiny, smallest_normal = known.tiny, resolution = known.resolution,
  }
  return INFO[dtype]
end

local INTEGERS = {
  uint8 = { 8, 0, 255 }, int8 = { 8, -128, 127 }, int16 = { 16, -32768, 32767 },
  int32 = { 32, -2147483648, 2147483647 }, int64 = { 64, math.mininteger, math.maxinteger },
  uint16 = { 16, 0, 65535 }, uint32 = { 32, 0, 4294967295 }, uint64 = { 64, 0, 2.0 ^ 64 },
}

local INTEGER_INFO = {} -- by dtype

--- iinfo(dtype): bits, min and max of an integer dtype.
function lucerna.iinfo(...)
  local dtype = core._arguments("iinfo", DTYPE, ...)
  if INTEGER_INFO[dtype] then return INTEGER_INFO[dtype] end
  local name = tostring(dtype)
  local known = INTEGERS[name]
  if not known then core._fail("iinfo: needs an integer dtype (got %s)", name) end
  INTEGER_INFO[dtype] = { bits = known[1], min = known[2], max = known[3], dtype = name }
  return INTEGER_INFO[dtype]
end

return lucerna
