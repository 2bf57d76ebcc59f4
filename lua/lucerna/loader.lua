-- DataLoader, which makes batches of a data set's items (torch.utils.data), and how items become a
-- batch. lucerna.data has these too.

local lucerna = require "lucerna"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local is_callable = require "lucerna.callable"
local item_of = require("lucerna.datasets")._item_of
local samplers = require "lucerna.samplers"
local draw_seed = samplers._draw_seed

local loader = {}

local fail = core._fail

local function is_integer(n, least) return math.type(n) == "integer" and n >= least end

-- ---- collating ----

local collate

-- The number of items, which must all be tables, of no more fields than the first.
local function count_tables(items)
  local n, size, type = 0, #items[1], type
  for k, item in ipairs(items) do
    if type(item) ~= "table" then
      fail("default_collate: item %d must be a table as the first (got %s)", k,
        core.nn.kind_name(item))
    elseif size > 0 and #item > size then
      fail("default_collate: each element in list of batch should be of equal size (item %d has %d "
        .. "fields, the first has %d)", k, #item, size)
    end
    n = k
  end
  return n
end

local function collate_tables(items)
  local batch = {}
  if next(items[1]) == nil then return batch end
  local n = count_tables(items)
  for key in pairs(items[1]) do
    local column = {}
    for k = 1, n do
      local value = items[k][key]
      if value == nil then fail("default_collate: item %d lacks field '%s'", k, key) end
      column[k] = value
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
function loader.default_collate(items)
  if type(items) ~= "table" then
    fail("default_collate: items must be an array (got %s)", core.nn.kind_name(items))
  end
  return collate(items)
end

-- ---- DataLoader ----

local DataLoader = {__name = "DataLoader"}

local SETTINGS = {} -- the key under which a loader has what it was made with

-- PyTorch's options, in its order.
local names = {"dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers",
  "collate_fn", "pin_memory", "drop_last", "timeout", "worker_init_fn", "multiprocessing_context",
  "generator", "prefetch_factor", "persistent_workers", "pin_memory_device", "in_order"}

-- Is a lone table argument {dataset, batch_size = …} rather than an array of items?
local function holds_options(t)
  if type(t) ~= "table" or getmetatable(t) then return false end
  for key in pairs(t) do
    if type(key) == "string" then return true end
  end
  return next(t) == nil or #t == 1 and type(t[1]) == "table" and getmetatable(t[1]) ~= nil
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
  worker_init_fn = {is_callable, "a function"},
  sampler = {is_order, "positions or a function"},
  batch_sampler = {is_order, "arrays of positions or a function"}}
for _, name in ipairs {"shuffle", "pin_memory", "drop_last", "persistent_workers", "in_order"} do
  WANTED[name] = {function(value) return type(value) == "boolean" end, "a boolean"}
end

local function check_loader(s)
  for name, wanted in pairs(WANTED) do
    if s[name] ~= nil and not wanted[1](s[name]) then
      fail("DataLoader: %s must be %s (got %s)", name, wanted[2], core.nn.kind_name(s[name]))
    end
  end
  local iterable = is_callable(s.dataset.iter)
  for _, name in ipairs {"shuffle", "sampler", "batch_sampler"} do
    if iterable and s[name] then
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
  if s.timeout ~= nil and not (type(s.timeout) == "number" and s.timeout >= 0) then
    fail("DataLoader: timeout must be a non-negative number (got %s)", s.timeout)
  end
  if s.prefetch_factor ~= nil and not is_integer(s.prefetch_factor, 0) then
    fail("DataLoader: prefetch_factor must be a non-negative integer (got %s)", s.prefetch_factor)
  end
  for _, name in ipairs {"prefetch_factor", "persistent_workers"} do
    if s[name] and (s.num_workers or 0) == 0 then
      fail("DataLoader: %s needs num_workers > 0", name)
    end
  end
end

--- DataLoader(dataset, {batch_size=1, shuffle=false, sampler=, batch_sampler=, num_workers=0,
-- collate_fn=, drop_last=false, generator=}), or all in one table, the data set first: batches, for
-- `for x, y in loader do`. sampler, batch_sampler: a sampler, an array of positions (of arrays of
-- positions), or a function that returns one for each epoch. collate_fn: makes a batch of an array
-- of items. What is about workers and pinned memory is accepted: batches are made where they are
-- asked for. In PyTorch's order options may be positional. #loader is how many batches. With one
-- seed the order is PyTorch's. batch_size = lucerna.none: items as they are, one by one; a sampler
-- may then give arrays of positions, which go to the data set's get_batch.
function loader.DataLoader(...)
  local settings = loader_options(...)
  check_loader(settings)
  if not settings.one_by_one then settings.batch_size = settings.batch_size or 1 end
  for _, name in ipairs {"drop_last", "pin_memory", "persistent_workers"} do
    settings[name] = settings[name] or false
  end
  settings.num_workers, settings.timeout = settings.num_workers or 0, settings.timeout or 0
  settings.passes = setmetatable({}, {__mode = "k"}) -- first field of a batch -> its pass
  return setmetatable({[SETTINGS] = settings}, DataLoader)
end

-- what: who gave them.
local function as_positions(ids, what)
  ids = lucerna.is_tensor(ids) and ids or lucerna.tensor(ids, {dtype = lucerna.int64})
  if ids:dim() ~= 1 then fail("DataLoader: %s is no array of positions", what) end
  return ids
end

-- The order of one epoch as a tensor of positions, or an array. PyTorch draws a seed for workers
-- first, then one for the permutation, from the default generator.
local function epoch_order(self)
  local n = #self.dataset
  draw_seed(self.generator)
  if self.sampler then return samplers._positions(self.sampler) end
  if not self.shuffle then return lucerna.arange(1, n + 1) end
  return lucerna.randperm(n, {generator = samplers._generator(self.generator)})
end

-- Makes a batch of items, each a packed table of its fields.
local function batch_of(self, items)
  local fields = items[1].n
  if self.collate_fn then
    for k, item in ipairs(items) do items[k] = item.n == 1 and item[1] or item end
    return self.collate_fn(items)
  end
  for k, item in ipairs(items) do
    if item.n ~= fields then
      fail("DataLoader: each element in list of batch should be of equal size (item %d has %d "
        .. "fields, the first has %d)", k, item.n, fields)
    end
  end
  local columns = {}
  for f = 1, fields do
    local column = {}
    for k, item in ipairs(items) do column[k] = item[f] end
    columns[f] = collate(column)
  end
  return table.unpack(columns, 1, fields)
end

-- Item i of the data set, packed. Nothing would end the loop, or leave a hole in a batch.
local function item_at(self, i)
  local item = table.pack(item_of(self.dataset, i))
  if item[1] == nil and not self.collate_fn then
    fail("DataLoader: item %d of the data set is nil (get returns an item's fields)", i)
  end
  return item
end

local function fetch(self, ids)
  local dataset, items = self.dataset, {}
  if not self.collate_fn and is_callable(dataset.get_batch) then return dataset:get_batch(ids) end
  for k, i in ipairs(ids:tolist()) do items[k] = item_at(self, i) end
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
  if is_callable(self.dataset.iter) then
    local pass = {}
    draw_seed(self.generator)
    pass.f, pass.state, pass.control = self.dataset:iter()
    return pass
  elseif self.batch_sampler then
    draw_seed(self.generator)
    return {batches = samplers._positions(self.batch_sampler), at = 0}
  end
  local order = epoch_order(self)
  if not self.one_by_one then return {order = as_positions(order, "sampler"), at = 0} end
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
    return as_positions(ids, "batch_sampler: batch " .. pass.at)
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
  if type(i) == "number" then return item_at(self, i) end
  if is_callable(self.dataset.get_batch) then
    return table.pack(self.dataset:get_batch(as_positions(i, "sampler: entry " .. pass.at)))
  end
  fail("DataLoader: the sampler gives several positions, for which the data set has no get_batch")
end

-- What the loop gets next, as a packed table; nil at the end.
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

local function refuse() fail("DataLoader: use it as `for x, y in loader do`") end

-- pairs and ipairs would find settings and nothing.
DataLoader.__pairs = refuse
function DataLoader:__index(key)
  if math.type(key) == "integer" then refuse() end
  return self[SETTINGS][key]
end

local FIXED = {dataset = true, batch_size = true, shuffle = true, sampler = true,
  batch_sampler = true, drop_last = true, persistent_workers = true}

function DataLoader:__newindex(key, value)
  if FIXED[key] then
    fail("DataLoader: %s attribute should not be set after DataLoader is initialized", key)
  end
  self[SETTINGS][key] = value
end

-- The generic for: the loader is the iterator function, the batch's first field its control value.
-- Each running loop has a pass of its own, so loops over one loader may nest.
function DataLoader:__call(_, previous)
  local s = self[SETTINGS]
  local pass = previous == nil and begin(s) or s.passes[previous]
  if not pass then refuse() end
  if previous ~= nil then s.passes[previous] = nil end
  local batch = following(s, pass)
  if not batch then return nil end
  if batch[1] ~= nil then s.passes[batch[1]] = pass end
  return table.unpack(batch, 1, batch.n)
end

function DataLoader:__len()
  local s = self[SETTINGS]
  if s.batch_sampler then
    if type(s.batch_sampler) ~= "function" then return #s.batch_sampler end
    fail("DataLoader: a batch_sampler function has no length")
  end
  local sampler = type(s.sampler) ~= "function" and s.sampler
  local n, size = #(sampler or s.dataset), s.batch_size or 1
  return s.drop_last and n // size or (n + size - 1) // size
end

return loader
