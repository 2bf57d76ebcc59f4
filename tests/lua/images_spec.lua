-- Images: PNG files of every kind (tests/parity/gen_images.py) are read as they are and as other
-- kinds, what is written comes back, grids are torchvision's, and damaged files are refused.
local lucerna = require "lucerna"
local parity = require "parity"
local files = require "files"
local data = lucerna.data

local root = os.getenv "LUCERNA_ROOT" or "."
local cases = parity.load "images"

local temporary = files.temporary

local refused = parity.refused

-- What a mode makes of planes: {gray or RGB planes, alpha}.
local function planes_of(case)
  local x = lucerna.tensor(case.planes):double()
  local n = #x
  local alpha = n % 2 == 0 and x[n]:unsqueeze(1)
    or lucerna.full({1, x:size(2), x:size(3)}, case.bits == 16 and 65535 or 255):double()
  local color = x:narrow(1, 1, n >= 3 and 3 or 1)
  return color, alpha
end

local function gray(color)
  if #color == 1 then return color end
  return (color[1] * 0.2989 + color[2] * 0.587 + color[3] * 0.1141):unsqueeze(1)
end

local function near(want, got) -- libpng's weights have 15 bits
  assert.same(want:size(), got:size())
  local far = got.dtype == lucerna.int32 and 4 or 1
  assert.is_true((want - got:double()):abs():max():item() <= far)
end

describe("a PNG file", function()
  for _, case in ipairs(cases) do
    it("is read as it is: " .. case.name, function()
      local x = data.decode_png(case.png)
      assert.equal(case.bits == 16 and lucerna.int32 or lucerna.uint8, x.dtype)
      assert.same(case.planes, x:tolist())
      local scaled = data.decode_png(case.png, {dtype = lucerna.float32})
      assert.equal(lucerna.float32, scaled.dtype)
      local most = case.bits == 16 and 65535 or 255
      assert.is_true(lucerna.allclose(x:float() / most, scaled))
    end)

    it("is read as another kind: " .. case.name, function()
      local color, alpha = planes_of(case)
      near(gray(color), data.decode_png(case.png, "gray"))
      near(lucerna.cat({gray(color), alpha}, 1), data.decode_png(case.png, "gray_alpha"))
      local rgb = color:expand(3, -1, -1)
      assert.is_true(rgb:equal(data.decode_png(case.png, "rgb"):double()))
      local all = lucerna.cat({rgb, alpha}, 1)
      assert.is_true(all:equal(data.decode_png(case.png, "RGB_ALPHA"):double()))
    end)
  end

  it("comes from a path, a reader, a string or a tensor of bytes", function()
    local path, image = temporary(), lucerna.arange(60):reshape(3, 4, 5):to(lucerna.uint8)
    data.write_png(image, path)
    assert.is_true(image:equal(data.read_image(path)))
    assert.same({1, 4, 5}, data.read_image(path, "gray"):size())
    local bytes = data.encode_png(image)
    local file <close> = assert(io.open(path, "rb"))
    assert.equal(bytes, file:read "a")
    file:seek "set"
    assert.is_true(image:equal(data.read_image(file)))
    assert.is_true(image:equal(data.decode_png(lucerna.tensor({bytes:byte(1, -1)},
      {dtype = lucerna.uint8}))))
    local pieces = {}
    data.write_png(image, function(piece) pieces[#pieces + 1] = piece end, 0)
    assert.is_true(image:equal(data.decode_png(table.concat(pieces))))
  end)

  it("is refused with a reason", function()
    local png = cases[15].png
    refused("read_image: cannot open '/no/such/file'", data.read_image, "/no/such/file")
    refused("read_image: '.*/LICENSE': not a PNG file$", data.read_image, root .. "/LICENSE")
    refused("not a PNG file$", data.decode_png, "")
    refused("mode must be 'unchanged', .* %(got sepia%)$", data.decode_png, png, "sepia")
    refused("mode must be 'unchanged', .* %(got 3%)$", data.decode_png, png, 3)
    refused("dtype must be a floating point dtype %(got int64%)$", data.decode_png, png,
      {dtype = lucerna.int64})
    refused("max_bytes must be a positive integer", data.decode_png, png, {max_bytes = 0})
    refused("the image needs more memory than max_bytes$", data.decode_png, png, {max_bytes = 20})
    refused("decode_png: input must be a string or a uint8 tensor %[N%] %(got nil%)$",
      data.decode_png)
    refused("the file ends too early", data.decode_png, png:sub(1, -20))
    refused("compression_level must be an integer from 0 to 9 %(got 10%)$", data.encode_png,
      lucerna.ones(1, 1), 10)
  end)

  it("cannot declare more than it holds", function()
    local png = cases[1].png
    local huge = png:sub(1, 16) .. string.pack(">I4I4", 0x7fffffff, 0x7fffffff) .. png:sub(25)
    assert.is_false(pcall(data.decode_png, huge))
    local head = "IHDR" .. string.pack(">I4I4", 20000, 20000) .. png:sub(25, 29)
    local crc = 0xffffffff
    for k = 1, #head do
      crc = crc ~ head:byte(k)
      for _ = 1, 8 do crc = crc >> 1 ~ (crc & 1) * 0xedb88320 end
    end
    local wide = png:sub(1, 12) .. head .. string.pack(">I4", ~crc & 0xffffffff) .. png:sub(34)
    refused("the file declares more pixels than it can hold$", data.decode_png, wide)
  end)

  it("is survived, cut at and changed in every byte", function()
    for _, k in ipairs {1, 12, 22, 26, #cases} do
      local png = cases[k].png
      for n = 0, #png - 1 do
        pcall(data.decode_png, png:sub(1, n))
        local changed = string.char(png:byte(n + 1) ~ (1 << n % 8))
        local ok, err = pcall(data.decode_png, png:sub(1, n) .. changed .. png:sub(n + 2))
        assert.is_true(ok or (type(err) == "string" and not err:find("\n", 1, true)))
      end
    end
  end)
end)

describe("make_grid", function()
  local images = lucerna.arange(3 * 3 * 2 * 2):reshape(3, 3, 2, 2):float()

  it("puts images side by side", function()
    local grid = data.make_grid(images, {nrow = 2, padding = 1, pad_value = 9})
    assert.same({3, 7, 7}, grid:size())
    assert.same({{9, 9, 9, 9, 9, 9, 9}, {9, 0, 1, 9, 12, 13, 9}, {9, 2, 3, 9, 14, 15, 9},
      {9, 9, 9, 9, 9, 9, 9}, {9, 24, 25, 9, 9, 9, 9}, {9, 26, 27, 9, 9, 9, 9},
      {9, 9, 9, 9, 9, 9, 9}}, grid[1]:tolist())
    assert.same({3, 6, 14}, data.make_grid(images):size())
    assert.same({3, 2, 6}, data.make_grid(images, {padding = 0}):size())
    assert.is_true(grid:equal(data.make_grid({images[1], images[2], images[3]}, 2, 1, false, nil,
      false, 9)))
  end)

  it("takes one image, one channel, one plane", function()
    assert.is_true(images[1]:equal(data.make_grid(images[1])))
    assert.same({3, 2, 2}, data.make_grid(images[1][1]):size())
    assert.same({3, 6, 10}, data.make_grid(images:narrow(2, 1, 1), {nrow = 2, padding = 2})
      :narrow(2, 1, 6):size())
  end)

  it("shifts values to [0, 1]", function()
    local all = data.make_grid(images, {normalize = true, padding = 0})
    assert.is_true(lucerna.allclose(all[1][1], lucerna.tensor {0, 1, 12, 13, 24, 25} / 35))
    local each = data.make_grid(images, {normalize = true, scale_each = true, padding = 0})
    assert.is_true(lucerna.allclose(each[1][1], lucerna.tensor {0, 1, 0, 1, 0, 1} / 11))
    local range = data.make_grid(images, {normalize = true, value_range = {0, 10}, padding = 0})
    assert.is_true(lucerna.allclose(range[1][1], lucerna.tensor {0, 0.1, 1, 1, 1, 1}))
  end)

  it("is saved as an image", function()
    local path = temporary()
    data.save_image(images / 35, path, {nrow = 3})
    local want = (data.make_grid(images / 35, {nrow = 3}) * 255 + 0.5):to(lucerna.uint8)
    assert.is_true(want:equal(data.read_image(path)))
    refused("save_image: fp must be a path or a writer %(got nil%)$", data.save_image, images)
    refused("save_image: cannot create a file beside '/no/such/x'", data.save_image, images,
      "/no/such/x")
  end)

  it("refuses what is no image", function()
    refused("make_grid: tensor must be a Tensor or a table of them", data.make_grid, "x")
    refused("make_grid: tensor must be %[N, C, H, W%].* %(got 1 dimensions%)$", data.make_grid,
      lucerna.ones(3))
    refused("make_grid: tensor: there are no images in it$", data.make_grid,
      lucerna.ones(0, 3, 2, 2))
    refused("make_grid: nrow must be a positive integer", data.make_grid, images, {nrow = 0})
    refused("make_grid: padding must be an integer", data.make_grid, images, {padding = -1})
    refused("make_grid: value_range must be {min, max}", data.make_grid, images,
      {value_range = 3})
    refused("make_grid: pad_value must be a number", data.make_grid, images, {pad_value = "x"})
  end)
end)
