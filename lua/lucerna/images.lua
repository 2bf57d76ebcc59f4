-- Images: PNG files as tensors [C, H, W] and back, and grids of them, under torchvision's names.
-- lucerna.data has these functions too; they need libpng at build time.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local files = require "lucerna.files"

local images = {}

local fail = core._fail

-- ---- reading ----

-- ORDER IMAGE
local MODES = { unchanged = 0, gray = 1, gray_alpha = 2, rgb = 3, rgb_alpha = 4 }

local FLOATS = { [lucerna.float32] = true, [lucerna.float64] = true, [lucerna.float16] = true,
  [lucerna.bfloat16] = true }

local function mode_of(who, mode)
  local number = MODES[type(mode) == "string" and mode:lower() or "unchanged"]
  if not number or (mode ~= nil and type(mode) ~= "string") then
    fail("%s: mode must be 'unchanged', 'gray', 'gray_alpha', 'rgb' or 'rgb_alpha' (got %s)", who,
      mode)
  end
  return number
end

local function read(who, path, bytes, mode, dtype, max_bytes)
  local number = mode_of(who, mode)
  if dtype ~= nil and not FLOATS[dtype] then
    fail("%s: dtype must be a floating point dtype (got %s)", who, dtype)
  end
  check.positive(who, "max_bytes", max_bytes)
  local image = core._png_read(path, bytes, number, max_bytes)
  if not dtype then return image end
  return image:to(dtype):div_(image.dtype == lucerna.uint8 and 255 or 65535)
end

--- read_image(path, mode, {dtype=, max_bytes=}) reads a PNG file as a tensor [C, H, W]: uint8, of a
-- file with 16 bits int32 from 0 to 65535; with a floating point dtype, scaled to [0, 1]. mode:
-- 'unchanged' (a palette becomes RGB, transparent colours become alpha), 'gray', 'gray_alpha',
-- 'rgb' or 'rgb_alpha'. path: a path or a reader. max_bytes: a limit for the image's size.
function images.read_image(...)
  local path, mode, dtype, max_bytes =
    arguments("read_image", {"path", "mode", "dtype", "max_bytes"}, ...)
  local bytes
  path, bytes = files.source("read_image", "path", path, nil, max_bytes)
  return read("read_image", path, bytes, mode, dtype, max_bytes)
end

--- decode_png(input, mode, {dtype=, max_bytes=}) is read_image for the bytes of a file: a string or
-- a uint8 tensor.
function images.decode_png(...)
  local input, mode, dtype, max_bytes =
    arguments("decode_png", {"input", "mode", "dtype", "max_bytes"}, ...)
  if lucerna.is_tensor(input) and input.dtype == lucerna.uint8 and input:dim() == 1 then
    local pieces, bytes = {}, input:tolist()
    for k = 1, #bytes, 4096 do
      pieces[#pieces + 1] = string.char(table.unpack(bytes, k, math.min(k + 4095, #bytes)))
    end
    input = table.concat(pieces)
  end
  if type(input) ~= "string" then
    fail("decode_png: input must be a string or a uint8 tensor [N] (got %s)",
      core.nn.kind_name(input))
  end
  return (read("decode_png", nil, input, mode, dtype, max_bytes)) -- no tail call: errors name it
end

-- ---- writing ----

-- Turns floats into uint8; those below 0 or above 1 are cut off there.
local function to_bytes(image)
  local scaled = image:detach():float() * 255 + 0.5
  return scaled:nan_to_num(0):clamp(0, 255):to(lucerna.uint8)
end

local function encode(who, input, level, target)
  check.tensor(who, "input", input)
  level = level == nil and 6 or level
  if math.type(level) ~= "integer" or level < 0 or level > 9 then
    fail("%s: compression_level must be an integer from 0 to 9 (got %s)", who, level)
  end
  if input:dim() == 2 then input = input:unsqueeze(1) end
  if lucerna.is_floating_point(input) then input = to_bytes(input) end
  core._png_write(who, input, target, level)
end

--- write_png(input, filename, {compression_level=}) writes an image [C, H, W] or [H, W] as a PNG
-- file; 1 channel is gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha. uint8 is written as it is,
-- floats from 0 to 1 are scaled (and cut off there). filename: a path, whose file is complete or
-- not there at all, or a writer.
function images.write_png(...)
  local input, filename, level =
    arguments("write_png", {"input", "filename", "compression_level"}, ...)
  encode("write_png", input, level, files.target("write_png", "filename", filename))
end

--- encode_png(input, {compression_level=}) is write_png to a string.
function images.encode_png(...)
  local input, level = arguments("encode_png", {"input", "compression_level"}, ...)
  return files.to_string(function(target) encode("encode_png", input, level, target) end)
end

-- ---- grids ----

local GRID = {"tensor", "nrow", "padding", "normalize", "value_range", "scale_each", "pad_value"}

-- A batch [N, C, H, W]; a single channel becomes three, as torchvision does.
local function batch_of(who, tensor)
  if type(tensor) == "table" and getmetatable(tensor) == nil and lucerna.is_tensor(tensor[1]) then
    tensor = lucerna.stack(tensor, 1)
  end
  if not lucerna.is_tensor(tensor) then
    fail("%s: tensor must be a Tensor or a table of them (got %s)", who,
      core.nn.kind_name(tensor))
  end
  local dims = tensor:dim()
  if dims < 2 or dims > 4 then
    fail("%s: tensor must be [N, C, H, W], [C, H, W] or [H, W] (got %d dimensions)", who, dims)
  end
  while tensor:dim() < 4 do tensor = tensor:unsqueeze(1) end
  return tensor:size(2) == 1 and tensor:expand(-1, 3, -1, -1) or tensor
end

local function scale(image, range)
  local low = range and range[1] or image:min():item()
  local high = range and range[2] or image:max():item()
  return image:clamp(low, high):sub(low):div(math.max(high - low, 1e-5))
end

local function normalized(batch, range, each)
  if not each then return scale(batch, range) end
  local list = {}
  for k = 1, #batch do list[k] = scale(batch[k], range) end
  return lucerna.stack(list, 1)
end

local function grid_of(who, tensor, nrow, padding, normalize, range, each, pad_value)
  nrow, padding = nrow == nil and 8 or nrow, padding == nil and 2 or padding
  check.positive(who, "nrow", nrow)
  if math.type(padding) ~= "integer" or padding < 0 then
    fail("%s: padding must be an integer of at least 0 (got %s)", who, padding)
  end
  check.option(who, "pad_value", pad_value, "number")
  local pair = range == nil or (type(range) == "table" and type(range[1]) == "number"
    and type(range[2]) == "number")
  if not pair then
    fail("%s: value_range must be {min, max} (got %s)", who, core.nn.kind_name(range))
  end
  local batch = batch_of(who, tensor):detach()
  if #batch == 0 then fail("%s: tensor: there are no images in it", who) end
  if normalize then batch = normalized(batch, range, each) end
  if #batch == 1 then return batch[1] end
  local columns = math.min(nrow, #batch)
  local rows = (#batch + columns - 1) // columns
  local height, width = batch:size(3) + padding, batch:size(4) + padding
  local grid = lucerna.full({batch:size(2), height * rows + padding, width * columns + padding},
    pad_value or 0, {dtype = batch.dtype})
  for k = 1, #batch do
    local y, x = (k - 1) // columns * height + padding, (k - 1) % columns * width + padding
    grid:narrow(2, y + 1, height - padding):narrow(3, x + 1, width - padding):copy_(batch[k])
  end
  return grid
end

--- make_grid(tensor, {nrow=8, padding=2, normalize=, value_range=, scale_each=, pad_value=0}):
-- images [N, C, H, W], or a table of them, side by side in one [C, H', W'], nrow in a row.
-- normalize shifts them to [0, 1], by value_range {min, max} or their own, scale_each image by
-- image.
function images.make_grid(...) return grid_of("make_grid", arguments("make_grid", GRID, ...)) end

local SAVE = {"tensor", "fp", table.unpack(GRID, 2)}

--- save_image(tensor, fp, {…}) writes make_grid(tensor, {…}) as a PNG file. fp: a path or a writer.
function images.save_image(...)
  local given = table.pack(arguments("save_image", SAVE, ...))
  local target = files.target("save_image", "fp", given[2])
  local grid = grid_of("save_image", given[1], table.unpack(given, 3, #SAVE))
  encode("save_image", grid, nil, target)
end

return images
