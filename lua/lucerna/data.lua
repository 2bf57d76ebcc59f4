-- Data sets and the loader that makes batches of them (torch.utils.data, torchvision's MNIST).
-- A data set is anything with a length (#ds) and ds:get(i) giving the fields of item i, counted
-- from 1, or a plain array of items; ds:get_batch(ids) is an optional quicker way to several. One
-- that is read in its own order has ds:iter() instead.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local files = require "lucerna.files"
local is_callable = require "lucerna.callable"
local plain = require "lucerna.plain"
local samplers = require "lucerna.samplers"

local data = {}
for name, f in pairs(samplers) do
  if not name:find "^_" then data[name] = f end
end

local fail = core._raise

local check_self = plain.self_check "dataset"

local function is_integer(n, least) return math.type(n) == "integer" and n >= least end

-- ---- Dataset ----

local Dataset = {}
Dataset.__index = Dataset

--- Makes a class of data sets: `local Squares = data.Dataset("Squares")`. It needs methods `get(i)`
-- (returns the fields of item i) and `__len`; `__init(...)` is called by `Squares(...)`. ds[i] is
-- the same as ds:get(i), packed in a table when there are several fields; a + b is
-- ConcatDataset{a, b}.
function data.Dataset(name)
  local class = plain.class("Dataset", name, Dataset)
  class.__index = function(self, key)
    if math.type(key) ~= "integer" then return class[key] end
    local fields = table.pack(self:get(key))
    if fields.n == 1 then return fields[1] end
    return fields
  end
  class.__add = function(a, b) return data.ConcatDataset {a, b} end
  return class
end

function Dataset:__init() end -- luacheck: no self

function Dataset:get()
  check_self(self, "Dataset", "get", "__name")
  fail("%s:get is not defined", self.__name)
end

function Dataset:length()
  check_self(self, "Dataset", "length", "__name")
  fail("%s:__len is not defined", self.__name)
end

-- Position i of a data set of n items; negative ones count from the end.
local function position(name, i, n)
  if math.type(i) ~= "integer" then fail("%s: expected a position (got %s)", name, i) end
  local from_start = i < 0 and n + 1 + i or i
  if from_start < 1 or from_start > n then
    fail("%s: index %d is out of range [1, %d] (indices count from 1)", name, i, n)
  end
  return from_start
end

-- ---- TensorDataset ----

--- Items are the rows of one or more tensors of equal first size.
data.TensorDataset = data.Dataset("TensorDataset")
local TensorDataset = data.TensorDataset

function TensorDataset:__init(...)
  self.tensors = table.pack(...)
  if self.tensors.n == 0 then fail("TensorDataset: expected at least one tensor") end
  for k = 1, self.tensors.n do
    local t = self.tensors[k]
    if not lucerna.is_tensor(t) then
      fail("TensorDataset: argument %d is not a tensor (got %s)", k, type(t))
    end
    if t:dim() == 0 then fail("TensorDataset: tensor %d has no dimensions", k) end
    if t:size(1) ~= self.tensors[1]:size(1) then
      fail("TensorDataset: size mismatch between tensors: %d rows in tensor 1, %d in tensor %d",
        self.tensors[1]:size(1), t:size(1), k)
    end
  end
end

function TensorDataset:length()
  check_self(self, "TensorDataset", "length", "tensors")
  return self.tensors[1]:size(1)
end

function TensorDataset:get(i)
  check_self(self, "TensorDataset", "get", "tensors")
  i = position("TensorDataset", i, self:length())
  local fields = {}
  for k = 1, self.tensors.n do fields[k] = self.tensors[k][i] end
  return table.unpack(fields, 1, self.tensors.n)
end

function TensorDataset:get_batch(ids)
  check_self(self, "TensorDataset", "get_batch", "tensors")
  local fields = {}
  for k = 1, self.tensors.n do fields[k] = self.tensors[k]:index_select(1, ids) end
  return table.unpack(fields, 1, self.tensors.n)
end

-- ---- Subset ----

-- The fields of an item; data sets may be plain arrays of items, or of arrays of fields.
local function item_of(dataset, i)
  if dataset.get then return dataset:get(i) end
  local item = dataset[i]
  if type(item) == "table" and not getmetatable(item) and #item > 0 then
    return table.unpack(item)
  end
  return item
end

-- Anything with positions and a length may be one: an object with a class, or an array table.
local function check_dataset(who, dataset)
  if type(dataset) ~= "table" then
    fail("%s: dataset: expected a data set (got %s)", who, core.nn.kind_name(dataset))
  end
end

--- The items of another data set at the given positions.
data.Subset = data.Dataset("Subset")
local Subset = data.Subset

function Subset:__init(dataset, indices)
  check_dataset("Subset", dataset)
  self.dataset = dataset
  self.indices = lucerna.is_tensor(indices) and indices:tolist() or indices
  if type(self.indices) ~= "table" then
    fail("Subset: indices: expected positions (got %s)", core.nn.kind_name(indices))
  end
  if dataset.get_batch then self.get_batch = self.get_whole_batch end
end

function Subset:length()
  check_self(self, "Subset", "length", "indices")
  return #self.indices
end

function Subset:get_whole_batch(ids)
  check_self(self, "Subset", "get_batch", "indices")
  if not lucerna.is_tensor(ids) then
    fail("Subset.get_batch: ids must be a tensor of positions (got %s)", core.nn.kind_name(ids))
  end
  local chosen = {}
  for k, i in ipairs(ids:tolist()) do
    chosen[k] = self.indices[position("Subset", i, #self.indices)]
  end
  return self.dataset:get_batch(lucerna.tensor(chosen, {dtype = lucerna.int64}))
end

function Subset:get(i)
  check_self(self, "Subset", "get", "indices")
  return item_of(self.dataset, self.indices[position("Subset", i, #self.indices)])
end

-- ---- several data sets ----

-- The arguments are data sets, at least one, which have positions (or none has).
local function check_datasets(who, datasets, iterable)
  if type(datasets) ~= "table" or #datasets == 0 then
    fail("%s: datasets: expected a table of at least one data set", who)
  end
  for k, set in ipairs(datasets) do
    check_dataset(who, set)
    if (set.iter ~= nil) ~= iterable then
      fail("%s: data set %d is %s IterableDataset", who, k, iterable and "no" or "an")
    end
  end
end

--- The items of several data sets, one after the other: ConcatDataset{a, b}.
data.ConcatDataset = data.Dataset("ConcatDataset")
local ConcatDataset = data.ConcatDataset

function ConcatDataset:__init(datasets)
  check_datasets("ConcatDataset", datasets, false)
  self.datasets, self.cumulative_sizes = datasets, {}
  local sum = 0
  for k, set in ipairs(datasets) do
    sum = sum + #set
    self.cumulative_sizes[k] = sum
  end
end

function ConcatDataset:length()
  check_self(self, "ConcatDataset", "length", "datasets")
  return self.cumulative_sizes[#self.datasets]
end

function ConcatDataset:get(i)
  check_self(self, "ConcatDataset", "get", "datasets")
  i = position("ConcatDataset", i, self:length())
  local k = 1
  while i > self.cumulative_sizes[k] do k = k + 1 end
  return item_of(self.datasets[k], i - (self.cumulative_sizes[k - 1] or 0))
end

--- The items of several data sets of one length side by side: of StackDataset(a, b) the fields of
-- an item are a's and b's, of StackDataset{x = a, y = b} it is a table with these names.
data.StackDataset = data.Dataset("StackDataset")
local StackDataset = data.StackDataset

function StackDataset:__init(...)
  local first = ...
  local named = type(first) == "table" and getmetatable(first) == nil
    and type(next(first)) == "string"
  self.datasets, self.named = named and first or {...}, named
  local _, one = next(self.datasets)
  if one == nil then fail("StackDataset: expected at least one data set") end
  for name, set in pairs(self.datasets) do
    check_dataset("StackDataset", set)
    if #set ~= #one then
      fail("StackDataset: size mismatch between data sets: %d items, and %d in %s", #one, #set,
        name)
    end
  end
end

function StackDataset:length()
  check_self(self, "StackDataset", "length", "datasets")
  local _, one = next(self.datasets)
  return #one
end

function StackDataset:get(i)
  check_self(self, "StackDataset", "get", "datasets")
  i = position("StackDataset", i, self:length())
  local item = {}
  for name, set in pairs(self.datasets) do
    local fields = table.pack(item_of(set, i))
    if fields.n == 1 then fields = fields[1] end
    item[name] = fields
  end
  if self.named then return item end
  return table.unpack(item, 1, #self.datasets)
end

-- ---- IterableDataset ----

local IterableDataset = {}

function IterableDataset:__init() end -- luacheck: no self

function IterableDataset:iter()
  check_self(self, "IterableDataset", "iter", "__name")
  fail("%s:iter is not defined", self.__name)
end

function IterableDataset:length()
  check_self(self, "IterableDataset", "length", "__name")
  fail("%s:__len is not defined", self.__name)
end

--- Makes a class of data sets that are read in their own order, a stream or lines of a file:
-- `local Lines = data.IterableDataset("Lines")`. It needs a method `iter()`, which returns what the
-- generic `for` takes, giving the fields of one item after another; `__len` if it has a length.
-- a + b is ChainDataset{a, b}.
function data.IterableDataset(name)
  local class = plain.class("IterableDataset", name, IterableDataset)
  class.__add = function(a, b) return data.ChainDataset {a, b} end
  return class
end

--- The items of several IterableDatasets, one after the other: ChainDataset{a, b}.
data.ChainDataset = data.IterableDataset("ChainDataset")
local ChainDataset = data.ChainDataset

function ChainDataset:__init(datasets)
  check_datasets("ChainDataset", datasets, true)
  self.datasets = datasets
end

function ChainDataset:length()
  check_self(self, "ChainDataset", "length", "datasets")
  local sum = 0
  for _, set in ipairs(self.datasets) do sum = sum + #set end
  return sum
end

function ChainDataset:iter()
  check_self(self, "ChainDataset", "iter", "datasets")
  return coroutine.wrap(function()
    for _, set in ipairs(self.datasets) do
      local f, state, control, _ <close> = set:iter()
      local fields = table.pack(f(state, control))
      while fields[1] ~= nil do
        coroutine.yield(table.unpack(fields, 1, fields.n))
        fields = table.pack(f(state, fields[1]))
      end
    end
  end)
end

-- ---- random_split ----

-- Fractions of n, rounded down, what is left dealt from the first on.
local function counts_of(lengths, n)
  local sum, counts, used = 0, {}, 0
  for _, l in ipairs(lengths) do sum = sum + l end
  if math.type(sum) == "integer" then return lengths, sum end
  if math.abs(sum - 1) > 1e-6 then fail("random_split: fractions must sum to 1 (got %g)", sum) end
  for k, l in ipairs(lengths) do
    counts[k] = math.floor(n * l)
    used = used + counts[k]
  end
  for k = 1, n - used do
    local at = (k - 1) % #counts + 1
    counts[at] = counts[at] + 1
  end
  return counts, n
end

--- Splits a data set at random into subsets of the given lengths (or fractions of its length).
function data.random_split(...)
  local dataset, lengths, generator =
    arguments("random_split", {"dataset", "lengths", "generator"}, ...)
  check_dataset("random_split", dataset)
  if type(lengths) ~= "table" then
    fail("random_split: lengths: expected a table of numbers (got %s)", type(lengths))
  end
  for k, length in ipairs(lengths) do
    if type(length) ~= "number" then
      fail("random_split: lengths: entry %d is a %s", k, type(length))
    elseif length < 0 or length ~= length then
      fail("random_split: lengths: entry %d must not be negative (got %s)", k, length)
    end
  end
  local n = #dataset
  local counts, sum = counts_of(lengths, n)
  if sum ~= n then fail("random_split: lengths sum to %d, the data set has %d items", sum, n) end
  local order = lucerna.randperm(n, {generator = generator}):tolist()
  local subsets, at = {}, 0
  for k, count in ipairs(counts) do
    subsets[k] = Subset(dataset, table.move(order, at + 1, at + count, 1, {}))
    at = at + count
  end
  return subsets
end

-- ---- images, tables of numbers ----

for _, part in ipairs {"lucerna.images", "lucerna.csv"} do
  for name, f in pairs(require(part)) do data[name] = f end
end

-- ---- IDX files and MNIST ----

--- Reads an IDX file, plain or gzipped, as the tensor it declares. Values are as in the file. path:
-- a path or a reader; read_idx{bytes = text} reads a string.
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
      fail("%s: root: expected a folder's name (got %s)", name, type(root))
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

--- Handwritten digits (LeCun, Cortes, Burges): `data.MNIST{root = folder, train = true}`. Reads
-- train-images-idx3-ubyte and the like, plain or .gz. `transform` (optional) gets and returns
-- batches of images [B, 1, 28, 28] in [0, 1].
data.MNIST = mnist_like("MNIST", digits)

--- Zalando's clothing images in MNIST's format.
data.FashionMNIST = mnist_like("FashionMNIST", {"T-shirt/top", "Trouser", "Pullover", "Dress",
  "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"})

--- Cursive Japanese characters in MNIST's format.
data.KMNIST = mnist_like("KMNIST",
  {"o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"})

-- ---- collating ----

local collate

local function collate_tables(items)
  local batch = {}
  for key in pairs(items[1]) do
    local column = {}
    for k, item in ipairs(items) do
      if item[key] == nil then
        fail("default_collate: item %d lacks field '%s'", k, key)
      end
      column[k] = item[key]
    end
    batch[key] = collate(column)
  end
  return batch
end

function collate(items)
  local first = items[1]
  if lucerna.is_tensor(first) then return lucerna.stack(items) end
  local kind = math.type(first) or type(first)
  if kind == "float" then return lucerna.tensor(items, {dtype = lucerna.float64}) end
  if kind == "integer" or kind == "boolean" then return lucerna.tensor(items) end
  if kind == "string" then return items end
  if kind == "table" then return collate_tables(items) end
  fail("default_collate: items are tensors, numbers, strings or tables (got %s)", kind)
end

--- A batch from an array of items: tensors are stacked, integers become int64, floats float64,
-- strings stay a table, tables are collated field by field.
function data.default_collate(items)
  if type(items) ~= "table" then
    fail("default_collate: items: expected an array (got %s)", core.nn.kind_name(items))
  end
  return collate(items)
end

-- ---- DataLoader ----

local DataLoader = {}
DataLoader.__index = DataLoader

-- PyTorch's, in its order.
local names = {"dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers",
  "collate_fn", "pin_memory", "drop_last", "timeout", "worker_init_fn", "multiprocessing_context",
  "generator", "prefetch_factor", "persistent_workers", "pin_memory_device", "in_order"}

-- Is a lone table argument {dataset, batch_size = …} rather than an array of items?
local function holds_options(t)
  if type(t) ~= "table" or getmetatable(t) then return false end
  for key in pairs(t) do
    if type(key) == "string" then return true end
  end
  return #t == 1 and type(t[1]) == "table" and getmetatable(t[1]) ~= nil
end

-- The settings of DataLoader(dataset, …, {…}) or DataLoader{dataset, …}, by name.
local function loader_options(...)
  local given = table.pack(...)
  local last, n, options = given[given.n], given.n, {}
  if n == 1 and holds_options(last) then
    for key, value in pairs(last) do
      if key ~= 1 then options[key] = value end
    end
    return loader_options(last[1], options)
  end
  if n > 1 and type(last) == "table" and getmetatable(last) == nil then options = last end
  if options == last and next(last) == nil then n = n - 1 end
  local values = table.pack(arguments("DataLoader", names, table.unpack(given, 1, n)))
  if values[1] == nil then fail("DataLoader: missing argument 'dataset'") end
  local settings = {
    one_by_one = given[2] == core.none or options.batch_size == core.none}
  for k, name in ipairs(names) do settings[name] = values[k] end
  return settings
end

local function is_items(value) return type(value) == "table" or lucerna.is_tensor(value) end

local function is_order(value) return is_items(value) or is_callable(value) end

local WANTED = {dataset = {is_items, "a data set"}, collate_fn = {is_callable, "a function"},
  sampler = {is_order, "positions or a function"},
  batch_sampler = {is_order, "arrays of positions or a function"}}

local function check_loader(s)
  for name, wanted in pairs(WANTED) do
    if s[name] and not wanted[1](s[name]) then
      fail("DataLoader: %s: expected %s (got %s)", name, wanted[2], core.nn.kind_name(s[name]))
    end
  end
  for _, name in ipairs(type(s.dataset) == "table" and s.dataset.iter and {"shuffle", "sampler",
    "batch_sampler"} or {}) do
    if s[name] then
      fail("DataLoader: %s: an IterableDataset has its own order", name)
    end
  end
  local sized = s.batch_size or s.one_by_one
  if s.batch_sampler and (sized or s.shuffle or s.sampler or s.drop_last) then
    fail("DataLoader: batch_sampler excludes batch_size, shuffle, sampler, and drop_last")
  end
  if s.one_by_one and s.drop_last then
    fail("DataLoader: without batches (batch_size is none) there is no drop_last")
  end
  if s.sampler and s.shuffle then fail("DataLoader: sampler excludes shuffle") end
  if s.batch_size ~= nil and not is_integer(s.batch_size, 1) then
    fail("DataLoader: batch_size must be a positive integer (got %s)", s.batch_size)
  end
  if s.num_workers ~= nil and not is_integer(s.num_workers, 0) then
    fail("DataLoader: num_workers must be a non-negative integer (got %s)", s.num_workers)
  end
end

--- Batches of a data set: `for x, y in DataLoader{dataset, batch_size = 64, shuffle = true} do`.
-- Options: batch_size (1), shuffle (false), drop_last (false), sampler or batch_sampler (a sampler,
-- an array of positions, of arrays of positions, or a function that returns one for each epoch),
-- collate_fn, generator; those about workers and pinned memory are accepted: batches are made where
-- they are asked for. In PyTorch's order they may be positional. #loader is how many batches. With
-- one seed the order is PyTorch's. batch_size = lucerna.none: items as they are, one by one; a
-- sampler may then give arrays of positions, which go to the data set's get_batch.
function data.DataLoader(...)
  local settings = loader_options(...)
  check_loader(settings)
  if not settings.one_by_one then settings.batch_size = settings.batch_size or 1 end
  settings.passes = setmetatable({}, {__mode = "k"}) -- first field of a batch -> its pass
  return setmetatable(settings, DataLoader)
end

local function draw_seed(generator)
  return lucerna.empty({}, {dtype = lucerna.int64}):random_({generator = generator or nil}):item()
end

local function as_positions(ids)
  return lucerna.is_tensor(ids) and ids or lucerna.tensor(ids, {dtype = lucerna.int64})
end

-- The order of one epoch as a tensor of positions, or an array. PyTorch draws a seed for workers
-- first, then one for the permutation, from the default generator.
local function epoch_order(self)
  local n = #self.dataset
  local generator = self.generator
  draw_seed(generator)
  if self.sampler then return samplers._positions(self.sampler) end
  if not self.shuffle then return lucerna.arange(1, n + 1) end
  if not generator then
    local seed = draw_seed()
    generator = lucerna.Generator()
    generator:manual_seed(seed)
  end
  return lucerna.randperm(n, {generator = generator})
end

-- The batch of items, packed fields each.
local function batch_of(self, items)
  local fields = 0
  for _, item in ipairs(items) do fields = math.max(fields, item.n) end
  if self.collate_fn then
    for k, item in ipairs(items) do items[k] = item.n == 1 and item[1] or item end
    return self.collate_fn(items)
  end
  local columns = {}
  for f = 1, fields do
    local column = {}
    for k, item in ipairs(items) do column[k] = item[f] end
    columns[f] = collate(column)
  end
  return table.unpack(columns, 1, fields)
end

local function fetch(self, ids)
  local dataset, items = self.dataset, {}
  if dataset.get_batch and not self.collate_fn then return dataset:get_batch(ids) end
  for k, i in ipairs(ids:tolist()) do items[k] = table.pack(item_of(dataset, i)) end
  return batch_of(self, items)
end

-- The next item of a data set that has its own order, packed; nil at the end.
local function read_item(pass)
  local item = table.pack(pass.f(pass.state, pass.control))
  pass.control = item[1]
  return item[1] ~= nil and item or nil
end

-- The next items of a data set that has its own order, or nil at the end.
local function read_items(self, pass)
  local items = {}
  while #items < self.batch_size and not pass.ended do
    local item = read_item(pass)
    items[#items + 1] = item
    pass.ended = not item
  end
  if #items == 0 or (self.drop_last and #items < self.batch_size) then return nil end
  return items
end

local function begin(self)
  if self.dataset.iter then
    local pass = {}
    draw_seed(self.generator)
    pass.f, pass.state, pass.control = self.dataset:iter()
    return pass
  elseif self.batch_sampler then
    draw_seed(self.generator)
    return {batches = samplers._positions(self.batch_sampler), at = 0}
  end
  local order = epoch_order(self)
  if not self.one_by_one then return {order = as_positions(order), at = 0} end
  return {order = lucerna.is_tensor(order) and order:tolist() or order, at = 0}
end

-- PyTorch's sampler draws one more permutation as it finds its end, which a generator of the
-- user's own notices in the next epoch.
local function finish(self, pass)
  if pass.finished or not self.shuffle or not self.generator then return end
  pass.finished = true
  lucerna.randperm(#pass.order, {generator = self.generator})
end

-- The positions of the next batch, or nil at the end.
local function advance(self, pass)
  if pass.batches then
    pass.at = pass.at + 1
    local ids = pass.batches[pass.at]
    if ids == nil then return nil end
    ids = as_positions(ids)
    if ids:dim() ~= 1 then
      fail("DataLoader: batch_sampler: batch %d is no array of positions", pass.at)
    end
    return ids
  end
  local n, size = pass.order:size(1), self.batch_size
  local left = n - pass.at
  if left < size then finish(self, pass) end
  if left <= 0 or (self.drop_last and left < size) then return nil end
  local count = math.min(size, left)
  local ids = pass.order:narrow(1, pass.at + 1, count)
  pass.at = pass.at + count
  return ids
end

-- The next item by itself, packed; nil at the end.
local function next_item(self, pass)
  pass.at = pass.at + 1
  local i = pass.order[pass.at]
  if i == nil then return finish(self, pass) end
  if type(i) == "number" then return table.pack(item_of(self.dataset, i)) end
  if self.dataset.get_batch then return table.pack(self.dataset:get_batch(as_positions(i))) end
  fail("DataLoader: the sampler gives several positions, for which the data set has no get_batch")
end

-- What the loop gets next, packed; nil at the end.
local function following(self, pass)
  if self.one_by_one then
    local item
    if pass.f then item = read_item(pass) else item = next_item(self, pass) end
    if not item or not self.collate_fn then return item end
    return table.pack(self.collate_fn(item.n == 1 and item[1] or item))
  elseif pass.f then
    local items = read_items(self, pass)
    return items and table.pack(batch_of(self, items))
  end
  local ids = advance(self, pass)
  return ids and table.pack(fetch(self, ids))
end

-- The generic for: the loader is the iterator function, the batch's first field its control value.
-- Each running loop has a pass of its own, so loops over one loader may nest.
function DataLoader:__call(_, previous)
  local pass = previous == nil and begin(self) or self.passes[previous]
  if not pass then fail("DataLoader: use it as `for x, y in loader do`") end
  if previous ~= nil then self.passes[previous] = nil end
  local batch = following(self, pass)
  if not batch then return nil end
  if batch[1] ~= nil then self.passes[batch[1]] = pass end
  return table.unpack(batch, 1, batch.n)
end

function DataLoader:__len()
  if self.batch_sampler then
    if type(self.batch_sampler) ~= "function" then return #self.batch_sampler end
    fail("DataLoader: a batch_sampler function has no length")
  end
  local sampler = type(self.sampler) ~= "function" and self.sampler
  local n, size = #(sampler or self.dataset), self.batch_size or 1
  return self.drop_last and n // size or (n + size - 1) // size
end

return data
