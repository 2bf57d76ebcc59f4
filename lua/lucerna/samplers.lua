-- Samplers: the orders in which a loader takes the items of a data set (torch.utils.data.sampler).
-- One is called for the positions of an epoch, from 1, and has a length; an array of positions, or
-- a function that returns one, may stand for it. With one seed the positions are PyTorch's.
-- lucerna.data has these too.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check_integer = require("lucerna.check").integer
local is_callable = require "lucerna.callable"
local plain = require "lucerna.plain"
local shape_text = require "lucerna.shape_text"

local samplers = {}

local fail = core._fail

local check_self = plain.self_check "sampler"

-- ---- Sampler ----

local Sampler = plain.base("sampler", "Sampler", {positions = "positions", length = "__len"})

--- Makes a class of samplers: `local Odd = data.Sampler("Odd")`. It needs a method `positions()`
-- (the positions of one epoch: an array or an int64 tensor, drawn anew each time) and `__len`;
-- `__init(...)` is called by `Odd(...)`. A sampler is called for its positions: `odd()`.
function samplers.Sampler(name)
  local class = plain.class("Sampler", name, Sampler)
  -- The generic for calls it with a state and a control value, which cannot tell one loop from
  -- another: positions may come twice, and loops nest. It would never end.
  class.__call = function(self, ...)
    if select("#", ...) > 0 then
      fail("%s: a sampler gives all positions at once, in an array or a tensor: loop over "
        .. "ipairs(sampler()) or ipairs(sampler():tolist())", name)
    end
    return self:positions()
  end
  return class
end

-- Has this items? (A tensor without dimensions has none.)
local function has_items(value)
  return type(value) == "table" or lucerna.is_tensor(value) and value:dim() > 0
end

--- The positions of an epoch of a sampler, an array or a function.
function samplers._positions(sampler)
  if not is_callable(sampler) or lucerna.is_tensor(sampler) then return sampler end
  local positions = sampler()
  if not has_items(positions) then
    fail("a sampler must return positions (got %s)", core.nn.kind_name(positions))
  end
  return positions
end

--- A seed, drawn from the generator or the default one.
function samplers._draw_seed(generator)
  return lucerna.empty({}, {dtype = lucerna.int64}):random_({generator = generator or nil}):item()
end

--- The generator given, or one that the default one seeds.
function samplers._generator(given)
  return given or lucerna.Generator():manual_seed(samplers._draw_seed())
end

local function as_tensor(positions)
  if lucerna.is_tensor(positions) then return positions end
  return lucerna.tensor(positions, {dtype = lucerna.int64})
end

local function check_count(who, name, value)
  if math.type(value) ~= "integer" or value < 1 then
    fail("%s: %s should be a positive integer value, but got %s=%s", who, name, name, value)
  end
end

local function check_boolean(who, name, value)
  if type(value) ~= "boolean" then
    fail("%s: %s should be a boolean value, but got %s=%s", who, name, name, value)
  end
end

local function check_items(who, name, value)
  if not has_items(value) then
    fail("%s: %s must be something with a length (got %s)", who, name, core.nn.kind_name(value))
  end
end

-- ---- one position after another ----

--- SequentialSampler(data_source): the positions of a data set from the first to the last.
samplers.SequentialSampler = samplers.Sampler "SequentialSampler"
local SequentialSampler = samplers.SequentialSampler

function SequentialSampler:__init(...)
  self.data_source = arguments("SequentialSampler", {"data_source"}, ...)
  check_items("SequentialSampler", "data_source", self.data_source)
end

function SequentialSampler:length()
  check_self(self, "SequentialSampler", "length", "data_source")
  return #self.data_source
end

function SequentialSampler:positions()
  check_self(self, "SequentialSampler", "positions", "data_source")
  return lucerna.arange(1, #self.data_source + 1)
end

--- The positions of a data set at random: RandomSampler(data_source, {replacement=, num_samples=,
-- generator=}). Without replacement each comes once before any comes again; num_samples: how many,
-- else as many as there are items.
samplers.RandomSampler = samplers.Sampler "RandomSampler"
local RandomSampler = samplers.RandomSampler

function RandomSampler:__init(...)
  self.data_source, self.replacement, self.num_samples, self.generator = arguments("RandomSampler",
    {"data_source", "replacement", "num_samples", "generator", options = 2}, ...)
  check_items("RandomSampler", "data_source", self.data_source)
  if self.replacement == nil then self.replacement = false end
  check_boolean("RandomSampler", "replacement", self.replacement)
  if self.num_samples == nil then return end
  check_count("RandomSampler", "num_samples", self.num_samples)
end

function RandomSampler:length()
  check_self(self, "RandomSampler", "length", "data_source")
  return self.num_samples or #self.data_source
end

function RandomSampler:positions()
  check_self(self, "RandomSampler", "positions", "data_source")
  local n, count = #self.data_source, #self
  local generator = samplers._generator(self.generator)
  if self.replacement then return lucerna.randint(1, n + 1, {count}, {generator = generator}) end
  local orders = {}
  for k = 1, (n > 0 and count // n or 0) + 1 do -- PyTorch draws the last one for its beginning
    orders[k] = lucerna.randperm(n, {generator = generator})
  end
  return lucerna.cat(orders):narrow(1, 1, n > 0 and count or 0)
end

--- SubsetRandomSampler(indices, {generator=}): these positions, in an order drawn anew for each
-- epoch.
samplers.SubsetRandomSampler = samplers.Sampler "SubsetRandomSampler"
local SubsetRandomSampler = samplers.SubsetRandomSampler

function SubsetRandomSampler:__init(...)
  self.indices, self.generator =
    arguments("SubsetRandomSampler", {"indices", "generator", options = 2}, ...)
  check_items("SubsetRandomSampler", "indices", self.indices)
end

function SubsetRandomSampler:length()
  check_self(self, "SubsetRandomSampler", "length", "indices")
  return #self.indices
end

function SubsetRandomSampler:positions()
  check_self(self, "SubsetRandomSampler", "positions", "indices")
  local order = lucerna.randperm(#self.indices, {generator = self.generator})
  return as_tensor(self.indices):index_select(1, order)
end

--- num_samples positions, each drawn with the probability that its weight is of all:
-- WeightedRandomSampler(weights, num_samples, {replacement=, generator=}); without replacement none
-- twice. Weights of 1 / (the class's size) balance classes.
samplers.WeightedRandomSampler = samplers.Sampler "WeightedRandomSampler"
local WeightedRandomSampler = samplers.WeightedRandomSampler

function WeightedRandomSampler:__init(...)
  local who = "WeightedRandomSampler"
  local weights
  weights, self.num_samples, self.replacement, self.generator =
    arguments(who, {"weights", "num_samples", "replacement", "generator", options = 3}, ...)
  check_count(who, "num_samples", self.num_samples)
  if self.replacement == nil then self.replacement = true end
  check_boolean(who, "replacement", self.replacement)
  check_items(who, "weights", weights)
  self.weights = lucerna.as_tensor(weights, {dtype = lucerna.float64})
  if self.weights:dim() ~= 1 then
    fail("%s: weights should be a 1d sequence but given weights have shape %s", who,
      shape_text(self.weights.shape))
  end
end

function WeightedRandomSampler:length()
  check_self(self, "WeightedRandomSampler", "length", "weights")
  return self.num_samples
end

function WeightedRandomSampler:positions()
  check_self(self, "WeightedRandomSampler", "positions", "weights")
  return lucerna.multinomial(self.weights, self.num_samples, self.replacement,
    {generator = self.generator})
end

--- What one of several processes takes of a data set: DistributedSampler(dataset, num_replicas,
-- rank, {shuffle = true, seed = 0, drop_last = false}), rank from 0. All take as many: the first
-- positions come again, or with drop_last the last ones stay away. sampler:set_epoch(n) before each
-- epoch gives another order, the same in all processes.
samplers.DistributedSampler = samplers.Sampler "DistributedSampler"
local DistributedSampler = samplers.DistributedSampler

function DistributedSampler:__init(...)
  local who = "DistributedSampler"
  self.dataset, self.num_replicas, self.rank, self.shuffle, self.seed, self.drop_last =
    arguments(who, {"dataset", "num_replicas", "rank", "shuffle", "seed", "drop_last",
      options = 2}, ...)
  check_items(who, "dataset", self.dataset)
  check_count(who, "num_replicas", self.num_replicas)
  if math.type(self.rank) ~= "integer" or self.rank < 0 or self.rank >= self.num_replicas then
    fail("%s: Invalid rank %s, rank should be in the interval [0, %d]", who, self.rank,
      self.num_replicas - 1)
  end
  self.shuffle, self.drop_last = self.shuffle == nil or self.shuffle, self.drop_last or false
  check_boolean(who, "shuffle", self.shuffle)
  check_boolean(who, "drop_last", self.drop_last)
  self.seed, self.epoch = check_integer(who, "seed", self.seed or 0), 0
end

function DistributedSampler:length()
  check_self(self, "DistributedSampler", "length", "dataset")
  local n, of = #self.dataset, self.num_replicas
  return self.drop_last and n // of or (n + of - 1) // of
end

--- Goes to an epoch, which is added to the seed.
function DistributedSampler:set_epoch(epoch)
  check_self(self, "DistributedSampler", "set_epoch", "dataset")
  self.epoch = check_integer("set_epoch", "epoch", epoch)
end

function DistributedSampler:positions()
  check_self(self, "DistributedSampler", "positions", "dataset")
  local n, count, of = #self.dataset, #self, self.num_replicas
  local order = lucerna.arange(1, n + 1)
  if self.shuffle then
    local generator = lucerna.Generator():manual_seed(self.seed + self.epoch)
    order = lucerna.randperm(n, {generator = generator})
  end
  local mine = lucerna.arange(self.rank, self.rank + count * of, of)
  return order:index_select(1, mine % math.max(n, 1) + 1)
end

-- ---- several positions at once ----

--- The positions of another sampler in tables of batch_size: BatchSampler(sampler, batch_size,
-- drop_last); with drop_last the last ones stay away if they are fewer. A loader's batch_sampler.
samplers.BatchSampler = samplers.Sampler "BatchSampler"
local BatchSampler = samplers.BatchSampler

function BatchSampler:__init(...)
  self.sampler, self.batch_size, self.drop_last =
    arguments("BatchSampler", {"sampler", "batch_size", "drop_last"}, ...)
  if not is_callable(self.sampler) then check_items("BatchSampler", "sampler", self.sampler) end
  check_count("BatchSampler", "batch_size", self.batch_size)
  check_boolean("BatchSampler", "drop_last", self.drop_last)
end

function BatchSampler:length()
  check_self(self, "BatchSampler", "length", "sampler")
  if type(self.sampler) == "function" then
    fail("BatchSampler: a sampler that is a function has no length")
  end
  local n, size = #self.sampler, self.batch_size
  return self.drop_last and n // size or (n + size - 1) // size
end

function BatchSampler:positions()
  check_self(self, "BatchSampler", "positions", "sampler")
  local all = as_tensor(samplers._positions(self.sampler)):tolist()
  local batches, size = {}, self.batch_size
  for at = 1, #all, size do
    local batch = table.move(all, at, math.min(at + size - 1, #all), 1, {})
    if #batch == size or not self.drop_last then batches[#batches + 1] = batch end
  end
  return batches
end

return samplers
