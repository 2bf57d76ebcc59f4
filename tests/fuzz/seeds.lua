-- Writes the files that fuzzing begins with, a few for each reader: seeds.lua FOLDER makes
-- FOLDER/NAME.seeds. What PyTorch, NumPy and safetensors wrote is in tests/parity/data.

local lucerna = require "lucerna"
local folder = assert(arg[1])

local function write(name, bytes)
  local file = assert(io.open(folder .. "/" .. name, "wb"))
  file:write(bytes)
  file:close()
end

local function copy(reader, pattern)
  for path in io.popen("ls tests/parity/data/" .. pattern):lines() do
    local file = assert(io.open(path, "rb"))
    write(("%s.seeds/%s"):format(reader, path:match("[^/]+$")), file:read("a"))
    file:close()
  end
end

local READERS = { "checkpoint", "safetensors", "npy", "npz", "png", "csv", "idx" }
for _, name in ipairs(READERS) do
  assert(os.execute(("mkdir -p %s/%s.seeds"):format(folder, name)))
end

copy("checkpoint", "checkpoint_*.pt")
copy("safetensors", "*.safetensors")
copy("npy", "*.npy")
copy("npz", "*.npz")

local x = lucerna.arange(1, 13, { dtype = lucerna.float32 }):reshape(3, 4)
lucerna.save({ a = x, b = { 1, "two", true } }, folder .. "/checkpoint.seeds/ours.pt")
lucerna.safetensors.save_file({ a = x, b = x:long() }, folder .. "/safetensors.seeds/ours",
  { format = "pt" })
write("safetensors.seeds/index", [[{"metadata":{"total_size":48},]]
  .. [["weight_map":{"a":"model-00001-of-00002.safetensors","b":"two.safetensors"}}]])
for _, dtype in ipairs { "float64", "int16", "bool", "complex64" } do
  lucerna.numpy.save(folder .. "/npy.seeds/" .. dtype, x:to(lucerna[dtype]))
end
for channels = 1, 4 do
  local image = (lucerna.rand(channels, 5, 7) * 255):to(lucerna.uint8)
  lucerna.data.write_png(image, folder .. "/png.seeds/" .. channels)
end
write("csv.seeds/numbers", "\0a,b\n1,2.5\n-3e4,nan\n")
write("csv.seeds/header", "\3name,\"other, one\"\n1,\n,0x1p-3\n")
write("csv.seeds/whole", "\xf0" .. "1;2\r\n3;\"4\"\r\n")
write("idx.seeds/bytes", "\0\0\8\2\0\0\0\2\0\0\0\3abcdef")
write("idx.seeds/floats", "\0\0\13\1\0\0\0\1\63\128\0\0")
os.execute(("gzip -c %s/idx.seeds/bytes >%s/idx.seeds/gzipped"):format(folder, folder))
