-- vmap: a function of one sample made a function of a batch. The function sees its tensors without
-- the mapped dimension, and every operator it calls runs on the whole batch at once (the rules are
-- in src/ops/vmap_rules.c).

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local drop_empty = require("lucerna.options").drop_empty
local levels = require "lucerna.func.levels"
local scoped = require "lucerna.scoped"
local tree = require "lucerna.func.tree"

local none, is_tensor, fail = core.none, core.is_tensor, core._fail
local kind_name = core.nn.kind_name

local function is_dim(value) return math.type(value) == "integer" or value == none end

-- ---- arguments ----

-- A dimension of t counted from the front.
local function check_in_dim(t, dim)
  if not is_tensor(t) then
    fail("vmap: Got in_dim=%d for an input but the input is of type %s. We cannot vmap over "
      .. "non-Tensor arguments, please use lucerna.none as the respective in_dim", dim,
      kind_name(t))
  end
  local n = t:dim()
  if dim == 0 or dim > n or dim < -n then
    fail("vmap: Got in_dim=%d for some input, but that input is a Tensor of dimensionality %d so "
      .. "expected in_dim to satisfy 1 <= in_dim <= %d (dims count from 1)", dim, n, n)
  end
  return dim < 0 and dim + n + 1 or dim
end

-- The size of the mapped dimension, which all must agree on.
local function batch_size(leaves, dims)
  local size, sizes, differ = nil, {}, false
  for k = 1, leaves.n do
    if dims[k] ~= none then
      dims[k] = check_in_dim(leaves[k], dims[k])
      local have = leaves[k]:size(dims[k])
      sizes[#sizes + 1] = tostring(have)
      differ = differ or (size ~= nil and have ~= size)
      size = size or have
    end
  end
  if not size then fail("vmap: Expected at least one Tensor to vmap over") end
  if differ then
    fail("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [%s] "
      .. "for the mapped dimension", table.concat(sizes, ", "))
  end
  return size
end

-- in_dims for every leaf of the arguments; also the leaves and shapes of the arguments.
local function read_inputs(in_dims, args)
  if args.n == 0 then
    fail("vmap: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
      .. "function with no inputs. The latter is unsupported.")
  end
  if tree.is_node(in_dims) and #in_dims ~= args.n then
    fail("vmap: in_dims is not compatible with the structure of inputs: it has %d entries for %d "
      .. "arguments", #in_dims, args.n)
  end
  local leaves, dims, shapes = { n = 0 }, {}, {}
  for a = 1, args.n do
    local own, shape = tree.flatten(args[a])
    local wanted = in_dims
    if tree.is_node(in_dims) then wanted = in_dims[a] end
    local spread = tree.spread(wanted, shape, is_dim)
    if not spread then
      fail("vmap: in_dims is not compatible with the structure of inputs: argument %d", a)
    end
    for k = 1, own.n do leaves[leaves.n + k], dims[leaves.n + k] = own[k], spread[k] end
    leaves.n, shapes[a] = leaves.n + own.n, { shape = shape, n = own.n }
  end
  return leaves, dims, shapes
end

-- The arguments, with these leaves in the place of their own.
local function rebuild(shapes, leaves)
  local args, at = { n = #shapes }, 0
  for a, entry in ipairs(shapes) do
    args[a] = tree.unflatten(entry.shape, table.move(leaves, at + 1, at + entry.n, 1, {}))
    at = at + entry.n
  end
  return args
end

-- ---- results ----

local function take_out(t, dim, number, size)
  if not is_tensor(t) then
    if dim == none then return t end
    fail("vmap: `f` must only return Tensors, got type %s. Did you mean to set out_dims to "
      .. "lucerna.none for output?", kind_name(t))
  end
  local inner, top = core._unbatched(t)
  if top ~= number then
    if dim == none then return t end
    local shape = t.shape
    table.insert(shape, 1, size)
    inner = t:unsqueeze(1):expand(shape)
  elseif dim == none then
    fail("vmap: `f` can not return a batched Tensor when out_dim is lucerna.none")
  end
  return dim == 1 and inner or inner:movedim(1, dim)
end

-- out_dims for the leaves of result r of n.
local function dims_of_result(out_dims, r, n, shape)
  local wanted = out_dims
  local one_each = tree.is_node(out_dims) and (n > 1 or (not shape and #out_dims == 1))
  if one_each then
    if #out_dims ~= n then
      fail("vmap: out_dims is not compatible with the structure of the results: it has %d entries "
        .. "for %d", #out_dims, n)
    end
    wanted = out_dims[r]
  end
  local dims = tree.spread(wanted, shape, is_dim)
  if not dims then
    fail("vmap: out_dims is not compatible with the structure of result %d", r)
  end
  return dims
end

local function read_results(out_dims, results, number, size)
  for r = 1, results.n do
    local leaves, shape = tree.flatten(results[r])
    local dims = dims_of_result(out_dims, r, results.n, shape)
    for k = 1, leaves.n do leaves[k] = take_out(leaves[k], dims[k], number, size) end
    results[r] = tree.unflatten(shape, leaves)
  end
  return results
end

-- ---- calls ----

local function call(options, leaves, dims, shapes, size)
  local level, number = levels.new(size, options.randomness)
  local inner = {}
  for k = 1, leaves.n do
    local t = leaves[k]
    if dims[k] == none then
      inner[k] = t
    else
      inner[k] = core._batched(dims[k] == 1 and t or t:movedim(dims[k], 1), number)
    end
  end
  local args = rebuild(shapes, inner)
  local results = table.pack(scoped(function() return level end, options.f,
    table.unpack(args, 1, args.n)))
  return read_results(options.out_dims, results, number, size)
end

-- The results of the chunks, joined along the dimensions they come out at.
local function join(out_dims, parts)
  local results = parts[1]
  for r = 1, results.n do
    local lists = {}
    for p, part in ipairs(parts) do lists[p] = tree.flatten(part[r]) end
    local _, shape = tree.flatten(results[r])
    local dims, leaves = dims_of_result(out_dims, r, results.n, shape), {}
    for k = 1, lists[1].n do
      local list = {}
      for p = 1, #parts do list[p] = lists[p][k] end
      leaves[k] = dims[k] == none and list[1] or core.cat(list, dims[k])
    end
    results[r] = tree.unflatten(shape, leaves)
  end
  return results
end

local function call_in_chunks(options, leaves, dims, shapes, size)
  local parts = {}
  for first = 1, size, options.chunk_size do
    local n, part = math.min(options.chunk_size, size - first + 1), { n = leaves.n }
    for k = 1, leaves.n do
      part[k] = dims[k] == none and leaves[k] or leaves[k]:narrow(dims[k], first, n)
    end
    parts[#parts + 1] = call(options, part, dims, shapes, n)
  end
  return join(options.out_dims, parts)
end

-- ---- vmap ----

local RANDOMNESS = { error = true, different = true, same = true }

-- none is a value of in_dims and out_dims: keep it from being read as "not given".
local function keep_none(value) return value == none and { none } or value end

local function check_dims(name, dims)
  if is_dim(dims) then return end
  if not tree.is_node(dims) then
    fail("vmap: expected %s to be an integer, lucerna.none or a (potentially nested) table of "
      .. "them matching the structure (got %s)", name, kind_name(dims))
  end
  for _, leaf in ipairs((tree.flatten(dims))) do
    if not is_dim(leaf) then
      fail("vmap: %s must hold integers and lucerna.none (got %s)", name, kind_name(leaf))
    end
  end
end

local function read_options(f, ...)
  local given = drop_empty(table.pack(...))
  for k = 1, math.min(given.n, 2) do given[k] = keep_none(given[k]) end
  local last = given[given.n]
  if tree.is_node(last) and type(next(last)) == "string" then
    local copy = {}
    for key, value in pairs(last) do copy[key] = value end
    copy.out_dims = keep_none(copy.out_dims)
    given[given.n] = copy
  end
  local in_dims, out_dims, randomness, chunk_size = arguments("vmap",
    { "in_dims", "out_dims", "randomness", "chunk_size" }, table.unpack(given, 1, given.n))
  check.callable("vmap", "func", f)
  if tree.is_node(out_dims) and #out_dims == 1 and out_dims[1] == none then out_dims = none end
  local options = { f = f, in_dims = in_dims == nil and 1 or in_dims,
    out_dims = out_dims == nil and 1 or out_dims, randomness = randomness or "error",
    chunk_size = chunk_size }
  check_dims("in_dims", options.in_dims)
  check_dims("out_dims", options.out_dims)
  if not RANDOMNESS[options.randomness] then
    fail("vmap: Only allowed values for randomness are 'error', 'different', or 'same'. Got %s",
      randomness)
  end
  if chunk_size ~= nil and (math.type(chunk_size) ~= "integer" or chunk_size < 1) then
    fail("vmap: chunk_size should be nil or greater than 0. (got %s)", chunk_size)
  end
  return options
end

--- vmap(func, in_dims, out_dims, randomness, {chunk_size=}) -> a function that does for all samples
-- what func does for one. in_dims: the dimension of every argument to map over (1 unless given),
-- lucerna.none for arguments that are the same for all; one for all, or a table of the arguments'
-- structure. out_dims: where it goes in the results. randomness: "error", "different" numbers for
-- every sample, or the "same". chunk_size: so many samples at a time.
return function(f, ...)
  local options = read_options(f, ...)
  return function(...)
    local leaves, dims, shapes = read_inputs(options.in_dims, table.pack(...))
    local size = batch_size(leaves, dims)
    local chunked = options.chunk_size and options.chunk_size < size
    local results = (chunked and call_in_chunks or call)(options, leaves, dims, shapes, size)
    return table.unpack(results, 1, results.n)
  end
end
