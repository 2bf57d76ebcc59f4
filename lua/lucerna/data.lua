-- lucerna.data: data sets, samplers, loaders and files (torch.utils.data, torchvision's MNIST). Its
-- parts stand in files of their own; here are IDX files and the data sets in MNIST's format.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local files = require "lucerna.files"
local position = require("lucerna.datasets")._position
local plain = require "lucerna.plain"

local data = {}
for _, part in ipairs {"datasets", "samplers", "loader", "images", "csv"} do
  for name, f in pairs(require("lucerna." .. part)) do
    if not name:find "^_" then data[name] = f end
  end
end

local fail = core._fail

local check_self = plain.self_check "dataset"

-- ---- IDX files and MNIST ----

--- read_idx(path): an IDX file, plain or gzipped, as the tensor it declares. Values are as in the
-- file. path: a path or a reader; read_idx{bytes = text} reads a string.
function data.read_idx(...)
  local path, bytes = arguments("read_idx", {"path", "bytes"}, ...)
  return core._idx_read(files.source("read_idx", "path", path, bytes))
end

local function read_part(name, root, part)
  for _, suffix in ipairs {"", ".gz"} do
    local path = root .. "/" .. part .. suffix
    if core._exists(path) then return data.read_idx(path) end
  end
  fail("%s: no %s or %s.gz in '%s'", name, part, part, root)
end

local digits = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
for k, word in ipairs(digits) do digits[k] = ("%d - %s"):format(k - 1, word) end

-- The class of one data set in MNIST's files. `data` is [N, 28, 28] uint8; `targets` [N] int64 from
-- 1, named by `classes`; items are a float image [1, 28, 28] in [0, 1] and its target.
local function mnist_like(name, classes)
  local class = data.Dataset(name)

  function class:__init(options)
    if options ~= nil and (type(options) ~= "table" or getmetatable(options) ~= nil) then
      fail("%s: expected {root = …, train = …, transform = …} (got %s)", name,
        core.nn.kind_name(options))
    end
    local root, train, transform =
      arguments(name, {"root", "train", "transform"}, next(options or {}) and options)
    if type(root) ~= "string" then
      fail("%s: root must be a folder's name (got %s)", name, type(root))
    end
    if train == nil then train = true end
    local prefix = train and "train" or "t10k"
    local images = read_part(name, root, prefix .. "-images-idx3-ubyte")
    local labels = read_part(name, root, prefix .. "-labels-idx1-ubyte")
    if images:dim() ~= 3 or labels:dim() ~= 1 or images:size(1) ~= labels:size(1) then
      fail("%s: the files in '%s' do not belong together", name, root)
    end
    self.train = train
    self.data = images
    self.targets = labels:to(lucerna.int64) + 1 -- the files count classes from 0
    self.classes = classes
    self.transform = transform
  end

  function class:length()
    check_self(self, name, "length", "data")
    return self.data:size(1)
  end

  function class:get(i)
    check_self(self, name, "get", "data")
    local x, y = self:get_batch(lucerna.tensor {position(name, i, self:length())})
    return x[1], y:item()
  end

  -- transform is applied to the whole batch [B, 1, 28, 28].
  function class:get_batch(ids)
    check_self(self, name, "get_batch", "data")
    local x = self.data:index_select(1, ids):to(lucerna.float32):div_(255):unsqueeze(2)
    if self.transform then x = self.transform(x) end
    return x, self.targets:index_select(1, ids)
  end

  return class
end

--- Handwritten digits (LeCun, Cortes, Burges): MNIST{root=, train=true, transform=} reads
-- train-images-idx3-ubyte and the like (t10k-… for tests), plain or .gz, from the folder root. An
-- item is an image [1, 28, 28] in [0, 1] and its class from 1, which is the digit plus 1. transform
-- gets and returns batches of images [B, 1, 28, 28].
data.MNIST = mnist_like("MNIST", digits)

--- Zalando's clothing images, as MNIST: FashionMNIST{root=, train=true, transform=}. `classes`
-- names the classes 1 to 10.
data.FashionMNIST = mnist_like("FashionMNIST", {"T-shirt/top", "Trouser", "Pullover", "Dress",
  "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"})

--- Cursive Japanese characters, as MNIST: KMNIST{root=, train=true, transform=}.
data.KMNIST = mnist_like("KMNIST",
  {"o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"})

return data
