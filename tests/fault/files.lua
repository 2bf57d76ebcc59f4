-- What the out-of-memory sweep runs with files of other formats than checkpoints: each is written
-- to a path, a string or a writer, and read back whole and in parts.
local lucerna = require "lucerna"
local safetensors = require "lucerna.safetensors"

local path = os.tmpname()
local remover = setmetatable({ path = path }, { __gc = function() os.remove(path) end })

local tensors = { w = lucerna.arange(12):reshape(3, 4), big = lucerna.ones(20000),
  e = lucerna.ones(0) }

local function safetensors_whole()
  safetensors.save_file(tensors, remover.path, { format = "pt" })
  for _, mmap in ipairs { false, true } do
    local loaded, metadata = safetensors.load_file(path, { mmap = mmap })
    assert(loaded.big:sum():item() == 20000 and metadata.format == "pt")
  end
  local bytes = safetensors.save(tensors)
  assert(safetensors.load(bytes).w[-1][-1]:item() == 11)
end

local function safetensors_parts()
  local f <close> = safetensors.safe_open(path)
  assert(f:get_slice("w")[{ {}, 2 }]:sum():item() == 15)
  assert(#f:keys() == 3)
end

local function checkpoint_to_a_writer()
  local pieces = {}
  lucerna.save(tensors, function(piece) pieces[#pieces + 1] = piece end)
  assert(lucerna.load { bytes = table.concat(pieces) }.w:sum():item() == 66)
end

local function numpy()
  lucerna.numpy.save(remover.path, tensors.w:t())
  assert(lucerna.numpy.load(path):equal(tensors.w:t()))
  local pieces = {}
  lucerna.numpy.savez_compressed(function(piece) pieces[#pieces + 1] = piece end, tensors)
  assert(lucerna.numpy.load { bytes = table.concat(pieces) }.big:sum():item() == 20000)
end

local function images()
  local image = lucerna.arange(48):reshape(3, 4, 4):to(lucerna.uint8)
  lucerna.data.write_png(image, remover.path)
  assert(lucerna.data.read_image(path):equal(image))
  assert(lucerna.data.decode_png(lucerna.data.encode_png(image), "gray"):size(1) == 1)
end

local function csv()
  lucerna.data.write_csv(tensors.w, remover.path, { header = { "a", "b", "c", "d" } })
  local x, names = lucerna.data.read_csv(path, { header = true, columns = { "d", 1 } })
  assert(x[-1][1]:item() == 11 and names[2] == "a")
end

local function scenario()
  safetensors_whole()
  safetensors_parts()
  checkpoint_to_a_writer()
  numpy()
  images()
  csv()
end

scenario() -- Lua's own buffers and submodules must have been there once before memory runs out
return scenario
