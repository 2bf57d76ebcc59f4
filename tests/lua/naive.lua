-- A tensor as simple as can be, to compare the library's with: a flat table of numbers, sizes,
-- strides and an offset, and loops over them. Positions and dimensions count from 1; booleans are
-- 0 and 1. Every function gives what PyTorch's of that name gives.

local Naive = {}
Naive.__index = Naive

-- ---- numbers ----

local RANK = {bool = 1, uint8 = 2, int32 = 3, int64 = 4, float32 = 5, float64 = 6}
local CATEGORY = {bool = 1, uint8 = 2, int32 = 2, int64 = 2, float32 = 3, float64 = 3}

local function truncate(v)
  if math.type(v) == "integer" then return v end
  return math.tointeger(v >= 0 and math.floor(v) or math.ceil(v))
end

local CASTS = {
  float64 = function(v) return v + 0.0 end,
  float32 = function(v) return (string.unpack("f", string.pack("f", v))) end,
  int64 = truncate,
  int32 = function(v) return (truncate(v) + 0x80000000 & 0xffffffff) - 0x80000000 end,
  uint8 = function(v) return truncate(v) & 255 end,
  bool = function(v) return v ~= 0 and 1 or 0 end,
}

--- The dtype of an operation on two dtypes whose tensors both have dimensions.
function Naive.promote(a, b) return RANK[a] >= RANK[b] and a or b end

--- The dtype of an operation on two tensors: one without dimensions counts only by its category.
function Naive.result_type(x, y)
  if (#x.shape == 0) == (#y.shape == 0) then return Naive.promote(x.dtype, y.dtype) end
  local many, one = x.dtype, y.dtype
  if #x.shape == 0 then many, one = one, many end
  if CATEGORY[one] > CATEGORY[many] then return one end
  return many
end

--- The dtype of an operation on a tensor and a Lua number.
function Naive.result_type_number(x, v)
  local category = type(v) == "boolean" and 1 or math.type(v) == "integer" and 2 or 3
  if category <= CATEGORY[x.dtype] then return x.dtype end
  return category == 2 and "int64" or "float32"
end

--- May a result of dtype `from` be written to a tensor of dtype `to`?
function Naive.can_cast(from, to) return CATEGORY[from] <= CATEGORY[to] end

function Naive.cast(v, dtype) return CASTS[dtype](v) end
function Naive.is_float(dtype) return CATEGORY[dtype] == 3 end

-- ---- shapes ----

local function product(list, from, to)
  local n = 1
  for i = from or 1, to or #list do n = n * list[i] end
  return n
end
Naive.product = product

local function row_major(shape)
  local strides, step = {}, 1
  for d = #shape, 1, -1 do
    strides[d] = step
    step = step * math.max(shape[d], 1)
  end
  return strides
end

local function copied(list) return table.move(list, 1, #list, 1, {}) end

--- A new tensor; values in row-major order.
function Naive.new(dtype, shape, values)
  local cast, storage = CASTS[dtype], {}
  for i = 1, product(shape) do storage[i] = cast(values[i]) end
  return setmetatable({dtype = dtype, shape = copied(shape), strides = row_major(shape), offset = 0,
    storage = storage}, Naive)
end

--- A view of the same storage; offset counts from 0, as in PyTorch.
function Naive:as_strided(shape, strides, offset)
  return setmetatable({dtype = self.dtype, shape = shape, strides = strides,
    offset = offset or self.offset, storage = self.storage}, Naive)
end

function Naive:numel() return product(self.shape) end

--- Where its elements are in the storage, in row-major order.
function Naive:positions()
  local out = {self.offset + 1}
  if self:numel() == 0 then return {} end
  for d = 1, #self.shape do
    local longer = {}
    for _, p in ipairs(out) do
      for i = 0, self.shape[d] - 1 do longer[#longer + 1] = p + i * self.strides[d] end
    end
    out = longer
  end
  return out
end

function Naive:values()
  local out = self:positions()
  for i, p in ipairs(out) do out[i] = self.storage[p] end
  return out
end

--- Writes values, in row-major order.
function Naive:write(values)
  local cast = CASTS[self.dtype]
  for i, p in ipairs(self:positions()) do self.storage[p] = cast(values[i]) end
end

--- Are two of its elements one place in memory?
function Naive:overlaps_itself()
  local seen = {}
  for _, p in ipairs(self:positions()) do
    if seen[p] then return true end
    seen[p] = true
  end
  return false
end

function Naive:shares_elements(other)
  if self.storage ~= other.storage then return false end
  local seen = {}
  for _, p in ipairs(self:positions()) do seen[p] = true end
  for _, p in ipairs(other:positions()) do
    if seen[p] then return true end
  end
  return false
end

function Naive:clone() return Naive.new(self.dtype, self.shape, self:values()) end

-- ---- views ----

local function without(list, d)
  local out = copied(list)
  table.remove(out, d)
  return out
end

local function with(list, d, v)
  local out = copied(list)
  out[d] = v
  return out
end

local function inserted(list, d, v)
  local out = copied(list)
  table.insert(out, d, v)
  return out
end

function Naive:select(d, i)
  return self:as_strided(without(self.shape, d), without(self.strides, d),
    self.offset + (i - 1) * self.strides[d])
end

--- Positions first to last, every step-th.
function Naive:slice(d, first, last, step)
  local n = math.max(0, (last - first) // step + 1)
  return self:as_strided(with(self.shape, d, n), with(self.strides, d, self.strides[d] * step),
    self.offset + (first - 1) * self.strides[d])
end

function Naive:permute(order)
  local shape, strides = {}, {}
  for i, d in ipairs(order) do shape[i], strides[i] = self.shape[d], self.strides[d] end
  return self:as_strided(shape, strides)
end

function Naive:transpose(a, b)
  local order = {}
  for d = 1, #self.shape do order[d] = d == a and b or d == b and a or d end
  return self:permute(order)
end

function Naive:unsqueeze(d)
  local step = d > #self.shape and 1 or self.shape[d] * self.strides[d]
  return self:as_strided(inserted(self.shape, d, 1), inserted(self.strides, d, step))
end

function Naive:squeeze(d)
  local shape, strides = {}, {}
  for i, n in ipairs(self.shape) do
    if n ~= 1 or (d and i ~= d) then
      shape[#shape + 1], strides[#strides + 1] = n, self.strides[i]
    end
  end
  return self:as_strided(shape, strides)
end

function Naive:expand(shape)
  local strides, new = {}, #shape - #self.shape
  for i, n in ipairs(shape) do
    local d = i - new
    strides[i] = (d < 1 or (self.shape[d] == 1 and n ~= 1)) and 0 or self.strides[d]
  end
  return self:as_strided(copied(shape), strides)
end

function Naive:unfold(d, size, step)
  if #self.shape == 0 then return self:as_strided({size}, {1}) end
  local shape = with(self.shape, d, (self.shape[d] - size) // step + 1)
  local strides = with(self.strides, d, self.strides[d] * step)
  shape[#shape + 1], strides[#strides + 1] = size, self.strides[d]
  return self:as_strided(shape, strides)
end

function Naive:diagonal(offset, a, b)
  local n
  if offset >= 0 then
    n = math.min(self.shape[a], self.shape[b] - offset)
  else
    n = math.min(self.shape[a] + offset, self.shape[b])
  end
  n = math.max(n, 0)
  local at = self.offset
  if n > 0 then
    at = at + (offset >= 0 and offset * self.strides[b] or -offset * self.strides[a])
  end
  local shape, strides = without(self.shape, math.max(a, b)), without(self.strides, math.max(a, b))
  table.remove(shape, math.min(a, b))
  table.remove(strides, math.min(a, b))
  shape[#shape + 1], strides[#strides + 1] = n, self.strides[a] + self.strides[b]
  return self:as_strided(shape, strides, at)
end

--- The strides that make the same elements in the same order look like `shape`; nil if there are
-- none. The new dimensions must fill, from the last, the runs that memory has.
local function view_strides(x, shape)
  if x:numel() == 0 then return row_major(shape) end
  local strides, v = {}, #shape
  local run, base = 1, x.strides[#x.shape] or 1
  for d = #x.shape, 1, -1 do
    run = run * x.shape[d]
    local ends = d == 1 or (x.shape[d - 1] ~= 1 and x.strides[d - 1] ~= run * base)
    if ends then
      local filled = 1
      while v >= 1 and (filled < run or shape[v] == 1) do
        strides[v] = filled * base
        filled = filled * shape[v]
        v = v - 1
      end
      if filled ~= run then return nil end
      if d > 1 then run, base = 1, x.strides[d - 1] end
    end
  end
  if #x.shape == 0 then strides = row_major(shape) elseif v ~= 0 then return nil end
  return strides
end

function Naive:view(shape)
  local strides = view_strides(self, shape)
  return strides and self:as_strided(copied(shape), strides)
end

function Naive:reshape(shape)
  return self:view(shape) or Naive.new(self.dtype, shape, self:values())
end

-- ---- copies ----

--- A tensor of a shape whose values f(at) gives, `at` a list of positions.
function Naive.build(dtype, shape, f)
  local values, at = {}, {}
  local function fill(d)
    if d > #shape then
      values[#values + 1] = f(at)
      return
    end
    for i = 1, shape[d] do
      at[d] = i
      fill(d + 1)
    end
  end
  fill(1)
  return Naive.new(dtype, shape, values)
end

--- The element at a list of positions.
function Naive:at(at)
  local p = self.offset + 1
  for d, i in ipairs(at) do p = p + (i - 1) * self.strides[d] end
  return self.storage[p]
end

function Naive:flip(dims)
  local turned = {}
  for _, d in ipairs(dims) do turned[d] = true end
  return Naive.build(self.dtype, self.shape, function(at)
    local from = {}
    for d, i in ipairs(at) do from[d] = turned[d] and self.shape[d] + 1 - i or i end
    return self:at(from)
  end)
end

function Naive:roll(shift, d)
  return Naive.build(self.dtype, self.shape, function(at)
    return self:at(with(at, d, (at[d] - 1 - shift) % self.shape[d] + 1))
  end)
end

function Naive:index_select(d, ids)
  return Naive.build(self.dtype, with(self.shape, d, #ids), function(at)
    return self:at(with(at, d, ids[at[d]]))
  end)
end

function Naive:gather(d, index)
  return Naive.build(self.dtype, index.shape, function(at)
    return self:at(with(at, d, index:at(at)))
  end)
end

--- Tensors one after the other along d.
function Naive.cat(list, d, dtype)
  local n = 0
  for _, x in ipairs(list) do n = n + x.shape[d] end
  return Naive.build(dtype, with(list[1].shape, d, n), function(at)
    local i, k = at[d], 1
    while i > list[k].shape[d] do i, k = i - list[k].shape[d], k + 1 end
    return list[k]:at(with(at, d, i))
  end)
end

-- ---- elementwise ----

--- Sizes of a broadcast result, or nil.
function Naive.broadcast(a, b)
  local shape, n = {}, math.max(#a, #b)
  for i = 1, n do
    local x, y = a[#a - n + i] or 1, b[#b - n + i] or 1
    if x ~= y and x ~= 1 and y ~= 1 then return nil end
    shape[i] = x == 1 and y or x
  end
  return shape
end

--- f of the elements of x and y (cast to `inside`), a tensor of dtype.
function Naive.map2(x, y, inside, dtype, f)
  local shape = Naive.broadcast(x.shape, y.shape)
  local a, b, out = x:expand(shape):values(), y:expand(shape):values(), {}
  local cast = CASTS[inside]
  for i = 1, #a do out[i] = f(cast(a[i]), cast(b[i])) end
  return Naive.new(dtype, shape, out)
end

function Naive:map(dtype, f)
  local values = self:values()
  for i, v in ipairs(values) do values[i] = f(v) end
  return Naive.new(dtype, self.shape, values)
end

-- ---- reductions ----

--- f of each list of values along the dimensions (a set).
function Naive:reduce(dims, keepdim, dtype, f)
  local kept, shape = {}, {}
  for d, n in ipairs(self.shape) do
    kept[d] = dims[d] and 1 or n
    if keepdim or not dims[d] then shape[#shape + 1] = kept[d] end
  end
  local out = Naive.build(dtype, kept, function(at)
    local part = self
    for d = #at, 1, -1 do
      if not dims[d] then part = part:select(d, at[d]) end
    end
    return f(part:values())
  end)
  return out:view(shape)
end

function Naive:cumulate(d, dtype, f)
  return Naive.build(dtype, self.shape, function(at)
    return f(self:slice(d, 1, at[d], 1):line(d, at))
  end)
end

--- The values along d through a position.
function Naive:line(d, at)
  local out = {}
  for i = 1, self.shape[d] do out[i] = self:at(with(at, d, i)) end
  return out
end

-- ---- indices ----

--- What x[entries] means: its shape and the positions of its elements in the storage. Entries are
-- {"select", i}, {"slice", first, last, step}, {"all"}, {"new"}, {"ids", naive}, {"mask", naive};
-- tensors are last to be applied: neighbours stay in place, others come first.
function Naive:index(entries)
  local x, d, places, lists = self, 1, {}, {}
  for _, e in ipairs(entries) do
    local kind = e[1]
    if kind == "select" then
      x, d = x:select(d, e[2]), d - 1
    elseif kind == "slice" then
      x = x:slice(d, e[2], e[3], e[4])
    elseif kind == "new" then
      x = x:unsqueeze(d)
    elseif kind == "ids" then
      places[#places + 1], lists[#lists + 1] = d, e[2]
    elseif kind == "mask" then
      for k, list in ipairs(e[2]:nonzero()) do
        places[#places + 1], lists[#lists + 1] = d + k - 1, list
      end
      d = d + #e[2].shape - 1
    end
    d = d + 1
  end
  if #places == 0 then return x end
  return nil, x:advanced(places, lists)
end

--- For each dimension the list of positions of what is not 0.
function Naive:nonzero()
  local lists = {}
  for d = 1, #self.shape do lists[d] = {} end
  Naive.build(self.dtype, self.shape, function(at)
    for d, i in ipairs(self:at(at) ~= 0 and at or {}) do table.insert(lists[d], i) end
    return 0
  end)
  for d, list in ipairs(lists) do lists[d] = Naive.new("int64", {#list}, list) end
  return lists
end

--- A tensor of positions in the storage.
function Naive:advanced(places, lists)
  local shape = {}
  for _, ids in ipairs(lists) do shape = Naive.broadcast(shape, ids.shape) end
  for k, ids in ipairs(lists) do lists[k] = ids:expand(shape) end
  local indexed, rest = {}, {}
  for k, d in ipairs(places) do indexed[d] = lists[k] end
  for d = 1, #self.shape do
    if not indexed[d] then rest[#rest + 1] = d end
  end
  local together = places[#places] - places[1] == #places - 1
  local before = together and places[1] - 1 or 0
  local out = {}
  for i = 1, before do out[i] = self.shape[rest[i]] end
  table.move(shape, 1, #shape, #out + 1, out)
  for i = before + 1, #rest do out[#out + 1] = self.shape[rest[i]] end
  return Naive.build("int64", out, function(at)
    local inner = table.move(at, before + 1, before + #shape, 1, {})
    local p = self.offset + 1
    for d, ids in pairs(indexed) do p = p + (ids:at(inner) - 1) * self.strides[d] end
    for k, d in ipairs(rest) do
      local i = at[k <= before and k or k + #shape]
      p = p + (i - 1) * self.strides[d]
    end
    return p
  end)
end

return Naive
