-- Data sets (torch.utils.data): anything with a length (#ds) and ds:get(i) giving the fields of
-- item i, counted from 1, or a plain array of items; ds:get_batch(ids) is an optional quicker way
-- to several. One that is read in its own order has ds:iter() instead. lucerna.data has these too.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local is_callable = require "lucerna.callable"
local plain = require "lucerna.plain"

local type, math_type = type, math.type

local data = {}

local fail = core._fail

local check_self = plain.self_check "dataset"

-- ---- Dataset ----

local Dataset = plain.base("dataset", "Dataset", {get = "get", length = "__len"})

local function next_item(self, i)
  if i < #self then return i + 1, self[i + 1] end
end

-- One field as it is, several (or none) in a table.
local function packed(...)
  if select("#", ...) == 1 then return (...) end
  return table.pack(...)
end

--- Makes a class of data sets: `local Squares = data.Dataset("Squares")`. It needs methods `get(i)`
-- (returns the fields of item i) and `__len`; `__init(...)` is called by `Squares(...)`. ds[i] is
-- the same as ds:get(i), packed in a table when there are several fields; pairs(ds) walks through
-- these; a + b is ConcatDataset{a, b}.
function data.Dataset(name)
  local class = plain.class("Dataset", name, Dataset)
  class.__index = function(self, key)
    local member = class[key]
    if member ~= nil or type(key) ~= "number" then return member end
    return packed(self:get(math.tointeger(key) or key))
  end
  class.__pairs = function(self) return next_item, self, 0 end
  class.__add = function(a, b) return data.ConcatDataset {a, b} end
  return class
end

-- Position i of a data set of n items; negative ones count from the end.
function data._position(name, i, n)
  if math_type(i) ~= "integer" then fail("%s: expected a position (got %s)", name, i) end
  local from_start = i < 0 and n + 1 + i or i
  if from_start < 1 or from_start > n then
    fail("%s: index %d is out of range [1, %d] (indices count from 1)", name, i, n)
  end
  return from_start
end
local position = data._position

-- ---- TensorDataset ----

--- TensorDataset(x, y, …): item i is row i of each of the tensors, which have one first size.
data.TensorDataset = data.Dataset("TensorDataset")
local TensorDataset = data.TensorDataset

function TensorDataset:__init(...)
  local tensors = table.pack(...)
  self.tensors = tensors
  if tensors.n == 0 then fail("TensorDataset: expected at least one tensor") end
  local first
  for k = 1, tensors.n do
    local t = tensors[k]
    if not lucerna.is_tensor(t) then
      fail("TensorDataset: argument %d is not a tensor (got %s)", k, type(t))
    end
    if t:dim() == 0 then fail("TensorDataset: tensor %d has no dimensions", k) end
    local n = t:size(1)
    first = first or n
    if n ~= first then
      fail("TensorDataset: size mismatch between tensors: %d rows in tensor 1, %d in tensor %d",
        first, n, k)
    end
  end
end

function TensorDataset:length()
  check_self(self, "TensorDataset", "length", "tensors")
  return self.tensors[1]:size(1)
end

-- Row i of the tensors from k on.
local function rows(tensors, i, k)
  if k == tensors.n then return tensors[k][i] end
  return tensors[k][i], rows(tensors, i, k + 1)
end

function TensorDataset:get(i)
  check_self(self, "TensorDataset", "get", "tensors")
  local tensors = self.tensors
  return rows(tensors, position("TensorDataset", i, tensors[1]:size(1)), 1)
end

function TensorDataset:get_batch(ids)
  check_self(self, "TensorDataset", "get_batch", "tensors")
  local fields = {}
  for k = 1, self.tensors.n do fields[k] = self.tensors[k]:index_select(1, ids) end
  return table.unpack(fields, 1, self.tensors.n)
end

-- ---- Subset ----

-- The fields of an item; data sets may be plain arrays of items, or of arrays of fields. An __index
-- may make items of any key, a method's name too.
function data._item_of(dataset, i)
  local get = dataset.get
  if get and (type(get) == "function" or is_callable(get)) then return get(dataset, i) end
  local item = dataset[i]
  if type(item) == "table" and not getmetatable(item) and #item > 0 then
    return table.unpack(item)
  end
  return item
end
local item_of = data._item_of

-- Anything with positions and a length may be one: an object of a class, an array table, a tensor.
local function check_dataset(who, dataset)
  if type(dataset) ~= "table" and not (lucerna.is_tensor(dataset) and dataset:dim() > 0) then
    fail("%s: dataset must be a data set (got %s)", who, core.nn.kind_name(dataset))
  end
end

--- Subset(dataset, indices): the items of another data set at positions, an array or a tensor.
data.Subset = data.Dataset("Subset")
local Subset = data.Subset
local SUBSET = {"dataset", "indices"} -- what it takes

function Subset:__init(...)
  local dataset, indices = arguments("Subset", SUBSET, ...)
  check_dataset("Subset", dataset)
  self.dataset = dataset
  self.indices = lucerna.is_tensor(indices) and indices:tolist() or indices
  if type(self.indices) ~= "table" then
    fail("Subset: indices must be positions (got %s)", core.nn.kind_name(indices))
  end
  if is_callable(dataset.get_batch) then self.get_batch = self.get_whole_batch end
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

-- There must be at least one data set, and all are IterableDatasets or none is.
local function check_datasets(who, datasets, iterable)
  if type(datasets) ~= "table" or #datasets == 0 then
    fail("%s: datasets must be a table of at least one data set", who)
  end
  for k = 1, #datasets do
    local set = datasets[k]
    check_dataset(who, set)
    if is_callable(set.iter) ~= iterable then
      fail("%s: data set %d is %s IterableDataset", who, k, iterable and "no" or "an")
    end
  end
end

local DATASETS = {"datasets"} -- what they take

--- The items of several data sets, one after the other: ConcatDataset{a, b}.
data.ConcatDataset = data.Dataset("ConcatDataset")
local ConcatDataset = data.ConcatDataset

function ConcatDataset:__init(...)
  local datasets = arguments("ConcatDataset", DATASETS, ...)
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
  local sums, k, last = self.cumulative_sizes, 1, #self.datasets
  i = position("ConcatDataset", i, sums[last])
  while k < last do -- by halves: the first that ends at i or later
    local middle = (k + last) // 2
    if sums[middle] < i then k = middle + 1 else last = middle end
  end
  return item_of(self.datasets[k], i - (sums[k - 1] or 0))
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
    item[name] = packed(item_of(set, i))
  end
  if self.named then return item end
  return table.unpack(item, 1, #self.datasets)
end

-- ---- IterableDataset ----

local IterableDataset =
  plain.base("dataset", "IterableDataset", {iter = "iter", length = "__len"})

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

function ChainDataset:__init(...)
  self.datasets = arguments("ChainDataset", DATASETS, ...)
  check_datasets("ChainDataset", self.datasets, true)
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

-- Turns fractions into counts of n items: rounded down, and what is left over goes to the first
-- ones, one each.
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

local SPLIT = {"dataset", "lengths", "generator", options = 3} -- what it takes

--- random_split(dataset, lengths, {generator=}): a data set at random into a table of Subsets of
-- the given lengths (or fractions of its length).
function data.random_split(...)
  local dataset, lengths, generator = arguments("random_split", SPLIT, ...)
  check_dataset("random_split", dataset)
  if type(lengths) ~= "table" then
    fail("random_split: lengths must be a table of numbers (got %s)", type(lengths))
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
  local order = lucerna.randperm(n, {generator = generator})
  local subsets, at = {}, 1
  for k, count in ipairs(counts) do
    subsets[k] = Subset(dataset, order:narrow(1, at, count))
    at = at + count
  end
  return subsets
end

return data
