-- Data sets and their loader: IDX files, MNIST, batches in PyTorch's order for one seed (recorded
-- by tests/parity/gen_data.py), and what is refused.
local lucerna = require "lucerna"
local files = require "files"
local data = require "lucerna.data"
local parity = require "parity"

local root = os.getenv "LUCERNA_ROOT" or "."
local recorded = parity.load "data"

-- A file with these bytes, removed after the test.
local file_of = files.with

-- What a loop over the loader gives, each batch as a table.
local function batches_of(loader)
  local batches = {}
  for x in loader do batches[#batches + 1] = lucerna.is_tensor(x) and x:tolist() or x end
  return batches
end

-- f's error must match, with the position of this file before it.
local function refused(pattern, f, ...)
  parity.refused("^[^\n]*data_spec.lua:%d+: " .. pattern, f, ...)
end

local function numbers(n)
  local list = {}
  for i = 1, n do list[i] = i end
  return list
end

describe("write_png", function()
  -- The type and size of each chunk of a PNG, and the header's numbers.
  local function chunks_of(path)
    local text = files.bytes_of(path)
    assert.equal("\x89PNG\r\n\x1a\n", text:sub(1, 8))
    local at, types = 9, {}
    while at <= #text do
      local length, type = (">I4c4"):unpack(text, at)
      types[#types + 1], at = type, at + 12 + length
    end
    return table.concat(types, " "), {(">I4I4BB"):unpack(text, 17)}
  end

  it("writes images of bytes and of floats from 0 to 1", function()
    local path = files.temporary()
    data.write_png(lucerna.rand(3, 4, 6), path)
    local types, header = chunks_of(path)
    assert.equal("IHDR IDAT IEND", types)
    assert.same({6, 4, 8, 2}, {table.unpack(header, 1, 4)})
    data.write_png {input = lucerna.zeros(5, 2):to(lucerna.uint8), filename = path}
    types, header = chunks_of(path)
    assert.equal("IHDR IDAT IEND", types)
    assert.same({2, 5, 8, 0}, {table.unpack(header, 1, 4)})
    local function bytes_of(image)
      data.write_png(image, path)
      return files.bytes_of(path)
    end
    local floats = lucerna.tensor {{-1, 0.2, 2, 0 / 0, 0.5}}
    local bytes = lucerna.tensor({{0, 51, 255, 0, 128}}, {dtype = lucerna.uint8})
    assert.equal(bytes_of(bytes), bytes_of(floats))
    assert.equal(bytes_of(bytes), bytes_of(bytes:t():contiguous():t()))
  end)

  it("says what it does not take, and leaves the old file", function()
    local path = files.temporary()
    data.write_png(lucerna.ones(2, 2), path)
    for want, arguments in pairs {
      ["write_png: input must be a Tensor (got table)"] = {{}, path},
      ["write_png: filename must be a path or a writer (got nil)"] = {lucerna.ones(1, 1)},
      ["write_png: input must be uint8 (got int64)"] = {lucerna.ones(1, 1):long(), path},
      ["input must be an image [1 to 4, height, width] (got [7, 1, 1])"] =
        {lucerna.ones(7, 1, 1), path},
      ["(got [1, 2, 0])"] = {lucerna.ones(2, 0), path},
      ["write_png: cannot create a file beside '/no/such/x.png': "] =
        {lucerna.ones(1, 1), "/no/such/x.png"},
    } do
      parity.refused(want, data.write_png, table.unpack(arguments, 1, 2))
    end
    assert.equal("IHDR IDAT IEND", (chunks_of(path)))
  end)
end)

describe("read_idx", function()
  it("reads a file as the tensor it declares", function()
    local x = data.read_idx(file_of "\0\0\x0b\2\0\0\0\2\0\0\0\3\0\1\0\2\0\3\0\4\0\5\xff\xff")
    assert.equal(lucerna.int16, x.dtype)
    assert.same({{1, 2, 3}, {4, 5, -1}}, x:tolist())
  end)

  it("reads a string and what a reader gives", function()
    local bytes = "\0\0\x08\1\0\0\0\3abc"
    assert.same({97, 98, 99}, data.read_idx {bytes = bytes}:tolist())
    local at = 0
    assert.same({97, 98, 99}, data.read_idx(function()
      at = at + 1
      return at <= #bytes and bytes:sub(at, at) or nil
    end):tolist())
    refused("read_idx: path must be a path or a reader %(got nil%)$",
      function() data.read_idx() end)
  end)

  it("says what is wrong with a file in one line, at the caller's", function()
    local path = file_of "\0\0\x08\1\0\0\0\5abc"
    refused("idx: the file declares more data than it can hold$",
      function() data.read_idx(path) end)
    refused("idx: cannot open '/no/such/file': No such file or directory$",
      function() data.read_idx "/no/such/file" end)
  end)
end)

describe("MNIST", function()
  local folder = root .. "/examples/data/mnist"

  it("counts its targets from 1 and names them", function()
    local set = data.MNIST {root = folder, train = false}
    assert.equal(10000, #set)
    assert.same({10000, 28, 28}, set.data:size())
    assert.equal(lucerna.uint8, set.data.dtype)
    assert.same({8, 3, 2, 1, 5}, set.targets[{{1, 5}}]:tolist()) -- the digits 7 2 1 0 4
    assert.equal(1, set.targets:min():item())
    assert.equal(10, set.targets:max():item())
    assert.equal("7 - seven", set.classes[set.targets[1]:item()])
  end)

  it("gives images in [0, 1] with their targets, one by one and in batches", function()
    local set = data.MNIST {root = folder, train = false}
    local x, y = set:get(1)
    assert.same({1, 28, 28}, x:size())
    assert.equal(1.0, x:max():item())
    assert.equal(0.0, x:min():item())
    assert.equal(8, y)
    assert.same(x:tolist(), set[1][1]:tolist())
    local images, targets = data.DataLoader(set, {batch_size = 3})()
    assert.same({3, 1, 28, 28}, images:size())
    assert.same({8, 3, 2}, targets:tolist())
    assert.equal(lucerna.int64, targets.dtype)
  end)

  it("transforms whole batches", function()
    local set = data.MNIST {root = folder, train = false, transform = function(x) return x + 1 end}
    assert.equal(2.0, set:get(1):max():item())
  end)

  it("says which file is missing, at the caller's line", function()
    refused("MNIST: no train%-images%-idx3%-ubyte or train%-images%-idx3%-ubyte.gz in '/tmp'$",
      function() data.MNIST {root = "/tmp", train = true} end)
    refused("MNIST: root must be a folder's name %(got nil%)$", function() data.MNIST {} end)
  end)
end)

describe("TensorDataset", function()
  it("gives the rows of its tensors", function()
    local set = data.TensorDataset(lucerna.tensor {{1, 2}, {3, 4}}, lucerna.tensor {5, 6})
    assert.equal(2, #set)
    local x, y = set:get(2)
    assert.same({3, 4}, x:tolist())
    assert.equal(6, y:item())
    assert.equal(5, set[1][2]:item())
    assert.equal(6, set[-1][2]:item())
  end)

  it("takes a whole float for a position, as tensors do, and no other", function()
    local set = data.TensorDataset(lucerna.tensor {5, 6})
    assert.equal(6, set[4 / 2]:item())
    refused("TensorDataset: expected a position %(got 1.5%)$", function() return set[3 / 2] end)
  end)

  it("is walked by pairs, which ends where ipairs would fail", function()
    local sum = 0
    for i, fields in pairs(data.TensorDataset(lucerna.arange(3), lucerna.arange(3))) do
      sum = sum + i * fields[2]:item()
    end
    assert.are.equal(2 * 1 + 3 * 2, sum)
  end)

  it("refuses what does not fit", function()
    refused("TensorDataset: size mismatch between tensors: 2 rows in tensor 1, 3 in tensor 2$",
      function() data.TensorDataset(lucerna.ones(2), lucerna.ones(3)) end)
    parity.refused("at least one tensor", data.TensorDataset)
    parity.refused("argument 1 is not a tensor", data.TensorDataset, 5)
    local set = data.TensorDataset(lucerna.ones(2))
    refused("TensorDataset: index 3 is out of range %[1, 2%] %(indices count from 1%)$",
      function() set:get(3) end)
    refused("TensorDataset: index 0 is out of range", function() return set[0] end)
  end)
end)

describe("a data set of one's own", function()
  local Squares = data.Dataset "Squares"
  function Squares:__init(n) self.n = n end
  function Squares:__len() return self.n end
  function Squares:get(i) return i, i * i end -- luacheck: no self

  it("needs get and a length", function()
    local set = Squares(5)
    assert.equal(5, #set)
    assert.equal(9, set[3][2])
    local seen = {}
    for i, square in data.DataLoader {set, batch_size = 2} do
      seen[#seen + 1] = {i:tolist(), square:tolist()}
    end
    assert.same({{{1, 2}, {1, 4}}, {{3, 4}, {9, 16}}, {{5}, {25}}}, seen)
    refused("Empty:__len is not defined", function() return #data.Dataset "Empty"() end)
  end)

  it("may be any array", function()
    assert.same({{1.5, 2.5}, {3.5}}, batches_of(data.DataLoader({1.5, 2.5, 3.5}, {batch_size = 2})))
    local loader = data.DataLoader({{1, "a"}, {2, "b"}}, {batch_size = 2})
    local x, name = loader()
    assert.same({1, 2}, x:tolist())
    assert.same({"a", "b"}, name)
  end)

  it("is collated as one likes", function()
    local loader = data.DataLoader {Squares(3), batch_size = 2, collate_fn = function(items)
      return lucerna.tensor {items[1][2], #items}
    end}
    assert.same({{1, 2}, {9, 1}}, batches_of(loader))
  end)
end)

describe("default_collate", function()
  it("stacks, counts and groups", function()
    local ones = lucerna.ones(2)
    assert.same({2, 2}, data.default_collate {ones, ones}:size())
    assert.equal(lucerna.int64, data.default_collate {1, 2}.dtype)
    assert.equal(lucerna.float64, data.default_collate {1.5, 2.5}.dtype)
    assert.equal(lucerna.bool, data.default_collate {true, false}.dtype)
    assert.same({1, 2.5}, data.default_collate {1, 2.5}:tolist())
    assert.same({"a", "b"}, data.default_collate {"a", "b"})
    local batch = data.default_collate {{x = 1, y = "a"}, {x = 2, y = "b"}}
    assert.same({1, 2}, batch.x:tolist())
    assert.same({"a", "b"}, batch.y)
  end)

  it("refuses what cannot be batched", function()
    parity.refused("%(got function%)$", data.default_collate, {print})
    refused("default_collate: item 2 lacks field 'x'$",
      function() data.default_collate {{x = 1}, {}} end)
    local unequal = "each element in list of batch should be of equal size "
    refused("default_collate: " .. unequal .. "%(item 2 has 2 fields, the first has 1%)$",
      function() data.default_collate {{1}, {3, 4}} end)
    refused("DataLoader: " .. unequal .. "%(item 2 has 1 fields, the first has 2%)$",
      function() data.DataLoader({{1, 2}, {3}}, {batch_size = 2})() end)
    refused("DataLoader: " .. unequal .. "%(item 2 has 2 fields, the first has 1%)$",
      function() data.DataLoader({{1}, {3, 4}}, {batch_size = 2})() end)
  end)
end)

describe("DataLoader", function()
  local cases = {
    shuffled = {10, {batch_size = 4, shuffle = true}},
    dropped = {10, {batch_size = 4, shuffle = true, drop_last = true}},
    exact = {8, {batch_size = 4, shuffle = true}},
    plain = {5, {batch_size = 2}},
    own = {10, {batch_size = 4, shuffle = true}},
    own_dropped = {10, {batch_size = 4, shuffle = true, drop_last = true}},
    own_exact = {8, {batch_size = 4, shuffle = true}},
    single = {5, {batch_size = lucerna.none, shuffle = true}},
    own_single = {5, {batch_size = lucerna.none, shuffle = true}},
  }

  for name, case in pairs(cases) do
    it("gives PyTorch's batches for one seed: " .. name, function()
      lucerna.manual_seed(7)
      local options = {}
      for key, value in pairs(case[2]) do options[key] = value end
      if name:find "own" then options.generator = lucerna.Generator():manual_seed(11) end
      local loader = data.DataLoader(numbers(case[1]), options)
      assert.same(recorded[name].epochs, {batches_of(loader), batches_of(loader)})
      assert.equal(recorded[name].after[1], lucerna.randint(1000, {1}):item())
      assert.equal(#recorded[name].epochs[1], #loader)
    end)
  end

  it("takes its options in PyTorch's order too", function()
    local loader = data.DataLoader(numbers(5), 2, false, {drop_last = true})
    assert.same({{1, 2}, {3, 4}}, batches_of(loader))
    assert.same({1, 2}, batches_of(data.DataLoader(numbers(2), lucerna.none)))
    refused("DataLoader: argument 'dataset' is given twice$", function()
      data.DataLoader {numbers(2), dataset = numbers(2)}
    end)
  end)

  it("runs in nested loops", function()
    local loader = data.DataLoader {numbers(4), batch_size = 2}
    local seen = {}
    for x in loader do
      for y in loader do seen[#seen + 1] = {x[1]:item(), y[1]:item()} end
    end
    assert.same({{1, 1}, {1, 3}, {3, 1}, {3, 3}}, seen)
  end)

  it("begins anew after a loop that was left early", function()
    local loader = data.DataLoader {numbers(4), batch_size = 2}
    assert.same({1, 2}, loader():tolist())
    assert.same({{1, 2}, {3, 4}}, batches_of(loader))
  end)

  it("takes samplers", function()
    assert.same({{3}, {1}}, batches_of(data.DataLoader {numbers(3), sampler = {3, 1}}))
    local calls = 0
    local loader = data.DataLoader {numbers(3), batch_size = 2, sampler = function()
      calls = calls + 1
      return {calls, 3, 2}
    end}
    assert.same({{1, 3}, {2}}, batches_of(loader))
    assert.same({{2, 3}, {2}}, batches_of(loader))
    loader = data.DataLoader {numbers(3), batch_sampler = {{1, 2, 3}, {2}}}
    assert.same({{1, 2, 3}, {2}}, batches_of(loader))
    assert.equal(2, #loader)
  end)

  it("gives items as they are where batch_size is none", function()
    local none, seen = lucerna.none, {}
    local words = {{"a", 1}, {"b", 2}, {"c", 3}}
    for word, k in data.DataLoader {words, batch_size = none, sampler = {3, 1}} do
      seen[#seen + 1] = word .. k
    end
    assert.same({"c3", "a1"}, seen)
    local loader = data.DataLoader {numbers(3), batch_size = none, collate_fn = function(x)
      assert.equal("number", type(x))
      return lucerna.tensor(x * 10)
    end}
    assert.same({10, 20, 30}, batches_of(loader))
    assert.equal(3, #loader)
    assert.is_nil(loader.batch_size)
    local rows = data.TensorDataset(lucerna.arange(1, 4))
    loader = data.DataLoader {rows, batch_size = none,
      sampler = data.BatchSampler(data.SequentialSampler(rows), 2, false)}
    assert.same({{1, 2}, {3}}, batches_of(loader))
    assert.same({1, 2, 3}, batches_of(data.DataLoader {rows, batch_size = none}))
    local Lines = data.IterableDataset "Lines"
    function Lines.iter() return ("x y"):gmatch "%a" end
    seen = {}
    for line in data.DataLoader {Lines(), batch_size = none} do seen[#seen + 1] = line end
    assert.same({"x", "y"}, seen)
    refused("DataLoader: the sampler gives several positions", function()
      data.DataLoader {words, batch_size = none, sampler = {{1, 2}}}()
    end)
  end)

  it("takes items of an __index that answers every key", function()
    local twos = setmetatable({}, {__len = function() return 3 end, __index = function(_, i)
      return {i, i}
    end})
    local seen = {}
    for a, b in data.DataLoader {twos, batch_size = 2} do seen[#seen + 1] = (a + b):tolist() end
    assert.same({{2, 4}, {6}}, seen)
    assert.same({3, 3, n = 2}, data.Subset(twos, {3, 1})[1])
    assert.same({2, 2, n = 2}, data.ConcatDataset {twos, twos}[5])
    assert.same({{2, 2, n = 2}, {2, 2, n = 2}, n = 2}, data.StackDataset(twos, twos)[2])
  end)

  it("gives nothing of an empty set", function()
    assert.same({}, batches_of(data.DataLoader(data.TensorDataset(lucerna.ones(0, 2)))))
    assert.equal(0, #data.DataLoader(data.TensorDataset(lucerna.ones(0, 2))))
  end)

  it("refuses what makes no sense, at the caller's line", function()
    local function refuses(pattern, ...)
      local given = {...}
      refused("DataLoader: " .. pattern, function() data.DataLoader(table.unpack(given)) end)
    end
    refuses("unknown argument 'bathc_size' %(did you mean 'batch_size'%?%)$",
      numbers(3), {bathc_size = 2})
    refuses("batch_size must be a positive integer %(got 0%)$", numbers(3), {batch_size = 0})
    refuses("batch_size must be a positive integer %(got 1.5%)$", numbers(3), {batch_size = 1.5})
    refuses("sampler excludes shuffle$", numbers(3), {shuffle = true, sampler = {1}})
    refuses("dataset must be a data set %(got number%)$", 3)
    refuses("collate_fn must be a function %(got number%)$", numbers(3), {collate_fn = 3})
    refuses("sampler must be positions or a function %(got number%)$", numbers(3), {sampler = 3})
    refused("DataLoader: batch_sampler: batch 1 is no array of positions$",
      function() data.DataLoader(numbers(3), {batch_sampler = {3}})() end)
    refused("DataLoader: sampler is no array of positions$",
      function() data.DataLoader(numbers(3), {sampler = {{}}})() end)
    refused("a sampler must return positions %(got nil%)$",
      function() data.DataLoader(numbers(3), {batch_sampler = function() end})() end)
    refuses("dataset must be a data set %(got boolean%)$", false)
    refused("ConcatDataset: dataset must be a data set %(got nil%)$",
      function() data.ConcatDataset(lucerna.nn.Linear(1, 1):state_dict()) end)
    refused("default_collate: item 2 must be a table as the first %(got number%)$",
      function() data.default_collate {{1}, 3} end)
    refused("BatchSampler: a sampler that is a function has no length$", function()
      return #data.BatchSampler(print, 2, false)
    end)
    refuses("batch_sampler excludes", numbers(3), {batch_size = 2, batch_sampler = {{1}}})
    refuses("batch_sampler excludes", numbers(3),
      {batch_size = lucerna.none, batch_sampler = {{1}}})
    refuses("without batches %(batch_size is none%) there is no drop_last", numbers(3),
      {batch_size = lucerna.none, drop_last = true})
    refuses("num_workers must be", numbers(3), {num_workers = -1})
    refuses("timeout must be a non%-negative number %(got %-1%)", numbers(3), {timeout = -1})
    refuses("prefetch_factor needs num_workers > 0", numbers(3), {prefetch_factor = 2})
    refuses("persistent_workers needs num_workers > 0", numbers(3), {persistent_workers = true})
    refuses("missing argument 'dataset'$")
    refuses("missing argument 'dataset'$", {})
    refuses("missing argument 'dataset'$", {batch_size = 2})
    for name in ("shuffle pin_memory drop_last persistent_workers in_order"):gmatch "%S+" do
      refuses(name .. " must be a boolean %(got number%)$", numbers(3), {[name] = 1})
    end
    refuses("worker_init_fn must be a function %(got string%)$", numbers(3),
      {worker_init_fn = "x"})
    refuses("prefetch_factor must be a non%-negative integer %(got %-1%)$", numbers(3),
      {num_workers = 2, prefetch_factor = -1})
    parity.refused("has no length",
      function() return #data.DataLoader {numbers(1), batch_sampler = print} end)
    parity.refused("use it as `for", function() data.DataLoader {numbers(1)} (nil, 5) end)
  end)

  it("knows what it was made with, which stays", function()
    local ten = numbers(10)
    local loader = data.DataLoader {ten, batch_size = 4}
    assert.same({ten, 4, false, 0, false, 0, false}, {loader.dataset, loader.batch_size,
      loader.drop_last, loader.num_workers, loader.pin_memory, loader.timeout,
      loader.persistent_workers})
    assert.is_nil(loader.nothing)
    local fixed = "dataset batch_size shuffle sampler batch_sampler drop_last persistent_workers"
    for name in fixed:gmatch "%S+" do
      refused("DataLoader: " .. name .. " attribute should not be set after DataLoader is "
        .. "initialized$", function() loader[name] = 3 end)
    end
    loader.collate_fn = function(items) return #items end
    assert.equal(4, loader())
  end)

  it("is not walked by pairs or ipairs, which would find its settings and nothing", function()
    for _, walk in ipairs {pairs, ipairs} do
      refused("DataLoader: use it as `for x, y in loader do`$", function()
        for _ in walk(data.DataLoader(numbers(3))) do error "walked" end
      end)
    end
  end)

  it("refuses a data set whose get returns nothing, which would end the loop", function()
    local Forgetful = data.Dataset("Forgetful")
    function Forgetful.length() return 3 end
    function Forgetful.get(_, i) if i ~= 2 then return i end end
    for _, options in ipairs {{batch_size = 3}, {}, {batch_size = lucerna.none}} do
      refused("DataLoader: item 2 of the data set is nil %(get returns an item's fields%)$",
        function()
          for _ in data.DataLoader(Forgetful(), options) do end -- luacheck: ignore
        end)
    end
    local kept = data.DataLoader(Forgetful(), {batch_size = 3, collate_fn = function(items)
      return #items
    end})
    for n in kept do assert.equal(3, n) end
  end)
end)

describe("samplers", function()
  local ten, weights = numbers(10), {0.1, 0.9, 0.4, 2.0, 0.0, 1.0}
  local function own() return lucerna.Generator():manual_seed(11) end
  local samplers = {
    sequential = function() return data.SequentialSampler(ten) end,
    random = function() return data.RandomSampler(ten) end,
    random_own = function() return data.RandomSampler(ten, {generator = own()}) end,
    replaced = function() return data.RandomSampler(ten, true) end,
    replaced_own = function()
      return data.RandomSampler(ten, {replacement = true, num_samples = 70, generator = own()})
    end,
    several = function() return data.RandomSampler(ten, {num_samples = 23}) end,
    fewer = function() return data.RandomSampler(ten, {num_samples = 4, generator = own()}) end,
    subset = function() return data.SubsetRandomSampler {8, 2, 5, 3} end,
    subset_own = function() return data.SubsetRandomSampler({8, 2, 5, 3}, own()) end,
    weighted = function() return data.WeightedRandomSampler(weights, 8) end,
    second = function() return data.DistributedSampler(ten, 3, 1, {seed = 2}) end,
    second_dropped = function()
      return data.DistributedSampler(ten, 3, 1, {shuffle = false, drop_last = true})
    end,
    weighted_own = function()
      return data.WeightedRandomSampler(lucerna.tensor(weights), 4, false, own())
    end,
  }

  for name, make in pairs(samplers) do
    it("give PyTorch's positions for one seed: " .. name, function()
      local loops = {
        function(s) return s():tolist() end,
        function(s) return batches_of(data.DataLoader {ten, batch_size = 4, sampler = s}) end,
        function(s)
          return batches_of(data.DataLoader {ten, batch_sampler = data.BatchSampler(s, 3, true)})
        end,
      }
      for k, loop in ipairs(loops) do
        lucerna.manual_seed(7)
        local sampler = make()
        local got = {loop(sampler), loop(sampler), lucerna.randint(1000, {1}):item()}
        assert.same(recorded.samplers[name][k], got)
        if k == 1 then assert.equal(#got[1], #sampler) end
      end
    end)
  end

  it("have a length, as their batches and loaders do", function()
    assert.equal(10, #data.RandomSampler(ten))
    assert.equal(3, #data.BatchSampler({1, 2, 3, 4, 5}, 2, false))
    assert.equal(2, #data.BatchSampler({1, 2, 3, 4, 5}, 2, true))
    assert.same({{1, 2}, {3, 4}, {5}}, data.BatchSampler({1, 2, 3, 4, 5}, 2, false)())
    local sampler = data.SubsetRandomSampler {1, 2, 3}
    assert.equal(2, #data.DataLoader {ten, batch_size = 2, sampler = sampler})
    local batches = data.BatchSampler(sampler, 2, false)
    assert.equal(2, #data.DataLoader {ten, batch_sampler = batches})
    assert.equal(0, #data.RandomSampler({})())
  end)

  it("may be one's own", function()
    local Odd = data.Sampler "Odd"
    function Odd:__init(n) self.n = n end
    function Odd:__len() return (self.n + 1) // 2 end
    function Odd:positions()
      local list = {}
      for i = 1, self.n, 2 do list[#list + 1] = i end
      return list
    end
    local loader = data.DataLoader {ten, batch_size = 2, sampler = Odd(6)}
    assert.equal(2, #loader)
    assert.same({{1, 3}, {5}}, batches_of(loader))
    refused("Empty:positions is not defined$", function() data.Sampler "Empty"()() end)
    refused("Empty:__len is not defined$", function() return #data.Sampler "Empty"() end)
    refused("Sampler: expected a name %(got nil%)$", function() data.Sampler() end)
  end)

  it("are no iterators, and say so in a loop", function()
    for _, sampler in ipairs {data.RandomSampler(ten), data.BatchSampler({1, 2}, 2, false)} do
      refused(sampler.__name .. ": a sampler gives all positions at once, in an array or a tensor: "
        .. "loop over ipairs%(sampler%(%)%) or ipairs%(sampler%(%):tolist%(%)%)$", function()
        for i in sampler do error(i) end
      end)
    end
    local sum = 0
    for _, i in ipairs(data.RandomSampler(ten)():tolist()) do sum = sum + i end
    assert.equal(55, sum)
  end)

  it("of several processes take turns, as PyTorch's", function()
    local function all(n, replicas, options, epoch)
      local got = {}
      for rank = 0, replicas - 1 do
        local sampler = data.DistributedSampler(numbers(n), replicas, rank, options)
        sampler:set_epoch(epoch)
        got[rank + 1] = sampler():tolist()
        assert.equal(#got[rank + 1], #sampler)
      end
      return got
    end
    assert.same({{1, 5}, {2, 1}, {3, 2}, {4, 3}}, all(5, 4, {shuffle = false}, 3))
    assert.same({{1}, {1}, {1}, {1}}, all(1, 4, {seed = 1}, 0))
    assert.same({{2, 3, 4}, {1, 7, 2}, {5, 6, 1}}, all(7, 3, {seed = 2}, 3))
    assert.same({{3, 1}, {5, 7}, {4, 2}}, all(7, 3, {seed = 2, drop_last = true}, 0))
    assert.same({{}, {}}, all(1, 2, {drop_last = true}, 0))
    local sampler = data.DistributedSampler(ten, 2, 1, {shuffle = false})
    assert.same({{2, 4}, {6, 8}, {10}}, batches_of(data.DataLoader {ten, batch_size = 2,
      sampler = sampler}))
    refused("DistributedSampler: Invalid rank 2, rank should be in the interval %[0, 1%]$",
      function() data.DistributedSampler(ten, 2, 2) end)
    refused("DistributedSampler: num_replicas should be a positive integer value, but got "
      .. "num_replicas=nil$", function() data.DistributedSampler(ten) end)
    refused("DistributedSampler: seed must be an integer %(got string%)$",
      function() data.DistributedSampler(ten, 2, 0, {seed = "x"}) end)
    refused("set_epoch: epoch must be an integer %(got nil%)$",
      function() sampler:set_epoch() end)
  end)

  it("say what they do not take", function()
    refused("RandomSampler: num_samples should be a positive integer value, but got num_samples=0$",
      function() data.RandomSampler(ten, {num_samples = 0}) end)
    refused("RandomSampler: replacement should be a boolean value, but got replacement=1$",
      function() data.RandomSampler(ten, 1) end)
    refused("RandomSampler: data_source must be something with a length %(got nil%)$",
      function() data.RandomSampler() end)
    refused("WeightedRandomSampler: num_samples should be a positive integer value, but got " ..
      "num_samples=nil$", function() data.WeightedRandomSampler({1}) end)
    refused("WeightedRandomSampler: weights should be a 1d sequence but given weights have " ..
      "shape %[1, 2%]$", function() data.WeightedRandomSampler({{1, 2}}, 1) end)
    refused("BatchSampler: batch_size should be a positive integer value, but got batch_size=0$",
      function() data.BatchSampler({1}, 0, false) end)
    refused("BatchSampler: sampler must be something with a length %(got Tensor%)$",
      function() data.BatchSampler(lucerna.tensor(3), 2, false) end)
    refused("a sampler must return positions %(got Tensor%)$",
      function() data.BatchSampler(function() return lucerna.tensor(3) end, 2, false)() end)
    refused("BatchSampler: drop_last should be a boolean value, but got drop_last=nil$",
      function() data.BatchSampler({1}, 1) end)
    refused("SequentialSampler: unknown argument 'n'", function()
      data.SequentialSampler(ten, {n = 1})
    end)
  end)
end)

describe("several data sets", function()
  local a = data.TensorDataset(lucerna.tensor {1, 2}, lucerna.tensor {5, 6})
  local b = data.TensorDataset(lucerna.tensor {3}, lucerna.tensor {7})

  it("one after the other are a ConcatDataset", function()
    local both = data.ConcatDataset {a, b, {{9, 9}}}
    assert.equal(4, #both)
    assert.same({2, 3, 4}, both.cumulative_sizes)
    assert.equal(7, both[3][2]:item())
    assert.equal(9, both[-1][1])
    assert.same({{1, 2}, {3}}, batches_of(data.DataLoader {a + b, batch_size = 2}))
    refused("ConcatDataset: index 5 is out of range %[1, 4%]", function() return both[5] end)
    refused("ConcatDataset: datasets must be a table of at least one data set$",
      function() data.ConcatDataset {} end)
  end)

  it("side by side are a StackDataset", function()
    local set = data.StackDataset(a, {"x", "y"})
    local fields, letter = set:get(2)
    assert.same({2, 6, "y"}, {fields[1]:item(), fields[2]:item(), letter})
    set = data.StackDataset {image = {10, 20}, label = {1, 2}}
    assert.same({image = 20, label = 2}, set[2])
    assert.same({10, 20}, data.DataLoader {set, batch_size = 2}().image:tolist())
    refused("StackDataset: size mismatch between data sets: ", function()
      data.StackDataset(a, b)
    end)
    refused("StackDataset: expected at least one data set$", function() data.StackDataset() end)
  end)

  it("may be tensors, row by row", function()
    local x, y = lucerna.arange(4), lucerna.arange(8):view(4, 2)
    local set = data.StackDataset {x = x, y = y}
    assert.same({1, {2, 3}}, {set[2].x:item(), set[2].y:tolist()})
    local subset = data.Subset(y, {4, 1})
    assert.same({{6, 7}, {0, 1}}, data.DataLoader {subset, batch_size = 2}():tolist())
    assert.same({2, 3, 0}, data.DataLoader {
      data.ConcatDataset {data.Subset(x, {3, 4}), x}, batch_size = 3}():tolist())
    local parts = data.random_split(x, {1, 3})
    local second = parts[2]
    assert.equal(6, (parts[1][1] + second[1] + second[2] + second[3]):item())
    refused("Subset: dataset must be a data set %(got Tensor%)$",
      function() data.Subset(lucerna.tensor(1), {1}) end)
  end)

  it("go by name", function()
    assert.equal(2, #data.Subset {dataset = {5, 6, 7}, indices = {1, 3}})
    assert.equal(5, data.ConcatDataset {datasets = {{5}, {6}}}[1])
    refused("Subset: unknown argument 'indexes' %(did you mean 'indices'%?%)$",
      function() data.Subset {dataset = {5}, indexes = {1}} end)
  end)
end)

describe("a data set with its own order", function()
  local Count = data.IterableDataset "Count"
  function Count:__init(first, last) self.first, self.last = first, last end
  function Count:__len() return self.last - self.first + 1 end
  function Count:iter()
    return function(last, i) if i < last then return i + 1, (i + 1) * (i + 1) end end,
      self.last, self.first - 1
  end

  it("is read in batches", function()
    local seen = {}
    for x, square in data.DataLoader {Count(1, 5), batch_size = 2} do
      seen[#seen + 1] = {x:tolist(), square:tolist()}
    end
    assert.same({{{1, 2}, {1, 4}}, {{3, 4}, {9, 16}}, {{5}, {25}}}, seen)
    local loader = data.DataLoader {Count(1, 5), batch_size = 2, drop_last = true}
    assert.same({{1, 2}, {3, 4}}, batches_of(loader))
    assert.same({{1, 2}, {3, 4}}, batches_of(loader))
    assert.equal(2, #loader)
    assert.same({}, batches_of(data.DataLoader {Count(1, 0)}))
  end)

  it("follows another in a ChainDataset", function()
    local both = Count(1, 2) + Count(7, 8)
    assert.equal(4, #both)
    assert.same({{1, 2, 7}, {8}}, batches_of(data.DataLoader {both, batch_size = 3}))
    refused("ChainDataset: data set 2 is no IterableDataset$",
      function() data.ChainDataset {Count(1, 2), {1}} end)
    refused("ConcatDataset: data set 1 is an IterableDataset$",
      function() data.ConcatDataset {Count(1, 2)} end)
  end)

  it("says what it lacks, and takes no order", function()
    refused("DataLoader: shuffle: an IterableDataset has its own order$",
      function() data.DataLoader {Count(1, 2), shuffle = true} end)
    refused("DataLoader: sampler: an IterableDataset has its own order$",
      function() data.DataLoader {Count(1, 2), sampler = {1}} end)
    local Empty = data.IterableDataset "Empty"
    refused("Empty:iter is not defined$", function() data.DataLoader {Empty()}() end)
    refused("Empty:__len is not defined$", function() return #data.DataLoader {Empty()} end)
  end)
end)

describe("methods of data sets", function()
  it("say so when they are called with a dot", function()
    local set = data.TensorDataset(lucerna.ones(2))
    local objects = {
      Dataset = {data.Dataset "Empty"(), "get", "length"},
      TensorDataset = {set, "get", "length", "get_batch"},
      Subset = {data.Subset(set, {1}), "get", "length", "get_batch"},
    }
    for class, object in pairs(objects) do
      for k = 2, #object do
        local method = object[k]
        local text = ("%s%%.%s: must be called with a colon, dataset:%s%%(%%.%%.%%.%%)$"):format(
          class, method, method)
        refused(text, function() object[1][method](1) end)
        refused(text, function() object[1][method]() end)
      end
    end
  end)
end)

describe("Subset and random_split", function()
  it("split as PyTorch does for one seed", function()
    for _, case in ipairs {{10, {6, 4}, "split"}, {11, {0.5, 0.3, 0.2}, "fractions"}} do
      lucerna.manual_seed(7)
      local parts = {}
      for k, part in ipairs(data.random_split(numbers(case[1]), case[2])) do
        parts[k] = {}
        for i = 1, #part do parts[k][i] = part:get(i) end
      end
      assert.same(recorded[case[3]], parts)
    end
  end)

  it("give the chosen items, in batches too", function()
    local set = data.TensorDataset(lucerna.arange(10, 20))
    local subset = data.Subset(set, {3, 1})
    assert.equal(2, #subset)
    assert.equal(12, subset:get(1):item())
    assert.same({{12, 10}}, batches_of(data.DataLoader {subset, batch_size = 2}))
    assert.same({{12}, {10}}, batches_of(data.DataLoader {data.Subset({10, 11, 12}, {3, 1})}))
    refused("Subset: index 3 is out of range %[1, 2%]",
      function() subset:get_batch(lucerna.tensor {1, 3}) end)
    refused("Subset.get_batch: ids must be a tensor of positions %(got number%)$",
      function() subset:get_batch(1) end)
  end)

  it("refuse lengths that do not add up", function()
    parity.refused("random_split: lengths sum to 2, the data set has 3 items$", data.random_split,
      numbers(3), {1, 1})
    parity.refused("must sum to 1", data.random_split, numbers(3), {0.5, 0.1})
    parity.refused("random_split: lengths: entry 2 must not be negative %(got %-1%)$",
      data.random_split, numbers(3), {4, -1})
    parity.refused("random_split: lengths: entry 1 must not be negative %(got %-?nan%)$",
      data.random_split, numbers(3), {0 / 0, 1})
    parity.refused("random_split: unknown argument 'generater' %(did you mean 'generator'%?%)$",
      data.random_split, numbers(3), {3}, {generater = 1})
  end)
end)

describe("samplers' methods", function()
  it("say that they want a colon", function()
    for _, name in ipairs {"SequentialSampler", "RandomSampler", "SubsetRandomSampler",
      "WeightedRandomSampler", "BatchSampler", "Sampler"} do
      local class = name == "Sampler" and data.Sampler "Mine" or data[name]
      for _, method in ipairs {"length", "positions"} do
        for _, self in ipairs {false, 3, {}} do
          parity.refused(name .. "." .. method .. ": must be called with a colon", class[method],
            self or nil)
        end
      end
    end
  end)
end)
