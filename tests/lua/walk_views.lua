-- The steps of a walk that view or copy: step(walk, x) does it to x and its twin.
local Walk = require "walk"
local Naive = require "naive"
local lucerna = require "lucerna"
local pick, chance, none = Walk.pick, Walk.chance, Walk.none
local any_dim = Walk.any_dim
local random = math.random

local steps = {}

local function any_order(n)
  local order = {}
  for i = 1, n do table.insert(order, random(i), i) end
  return order
end

function steps.select(walk, x)
  local d, dim = any_dim(x)
  local n = d and x.m.shape[d]
  if not d or n == 0 then return end
  local i = random(n)
  local m = x.m:select(d, i)
  walk:view_of(x, x.t:select(dim, chance(2) and i or i - n - 1), m)
end

function steps.narrow(walk, x)
  local d, dim = any_dim(x)
  if not d then return end
  local n = x.m.shape[d]
  local length = random(0, n)
  if n == 0 then return end
  local first = random(math.min(n - length + 1, n))
  walk:view_of(x, x.t:narrow(dim, first, length), x.m:slice(d, first, first + length - 1, 1))
end

function steps.transpose(walk, x)
  local a, dim_a = any_dim(x)
  local b, dim_b = any_dim(x)
  if a then walk:view_of(x, x.t:transpose(dim_a, dim_b), x.m:transpose(a, b)) end
end

function steps.permute(walk, x)
  local order = any_order(#x.m.shape)
  walk:view_of(x, x.t:permute(order), x.m:permute(order))
end

function steps.movedim(walk, x)
  local from, to = any_dim(x), any_dim(x)
  if not from then return end
  local order = {}
  for d = 1, #x.m.shape do order[d] = d end
  table.insert(order, to, table.remove(order, from))
  walk:view_of(x, x.t:movedim(from, to), x.m:permute(order))
end

function steps.expand(walk, x)
  local shape = {}
  for d, n in ipairs(x.m.shape) do shape[d] = n == 1 and random(0, 3) or n end
  for _ = 1, chance(3) and 1 or 0 do table.insert(shape, 1, random(3)) end
  local asked = table.move(shape, 1, #shape, 1, {})
  for d, n in ipairs(shape) do
    local old = x.m.shape[d - #shape + #x.m.shape]
    if old == n and chance(3) then asked[d] = -1 end
  end
  walk:view_of(x, x.t:expand(asked), x.m:expand(shape))
end

function steps.unfold(walk, x)
  local d, dim = any_dim(x)
  if not d then return end
  local size, step = random(0, x.m.shape[d]), random(3)
  walk:view_of(x, x.t:unfold(dim, size, step), x.m:unfold(d, size, step))
end

function steps.diagonal(walk, x)
  local a, dim_a = any_dim(x)
  local b, dim_b = any_dim(x)
  if not a or a == b then return end
  local offset = random(-2, 2)
  walk:view_of(x, x.t:diagonal(offset, dim_a, dim_b), x.m:diagonal(offset, a, b))
end

function steps.squeeze(walk, x)
  local d, dim = any_dim(x)
  if not d or chance(3) then
    walk:view_of(x, x.t:squeeze(), x.m:squeeze())
  else
    walk:view_of(x, x.t:squeeze(dim), x.m:squeeze(d))
  end
end

function steps.unsqueeze(walk, x)
  local d, dim = any_dim(x, 1)
  walk:view_of(x, x.t:unsqueeze(dim), x.m:unsqueeze(d))
end

-- A factorization of n into up to four sizes, ones among them.
local function any_sizes(n)
  local shape = {}
  if n == 0 then return {random(0, 2), 0, random(3)} end
  while n > 1 do
    local divisors = {}
    for k = 2, n do
      if n % k == 0 then divisors[#divisors + 1] = k end
    end
    local k = #shape >= 3 and n or pick(divisors)
    shape[#shape + 1] = k
    n = n // k
  end
  if #shape < 4 and chance(3) then table.insert(shape, random(#shape + 1), 1) end
  return shape
end

-- What is written as -1 where that is no riddle.
local function asked_sizes(x, shape)
  local asked = table.move(shape, 1, #shape, 1, {})
  if #shape > 0 and x.m:numel() > 0 and chance(3) then asked[random(#shape)] = -1 end
  return asked
end

function steps.view(walk, x)
  local shape = any_sizes(x.m:numel())
  local asked = asked_sizes(x, shape)
  local ok, t = pcall(x.t.view, x.t, asked)
  local m = x.m:view(shape)
  if ok and m then
    walk:view_of(x, t, m)
  elseif ok or m then
    walk:fail(("view(%s) of %s with strides %s: %s"):format(Walk.text(shape), Walk.text(x.m.shape),
      Walk.text(x.m.strides), ok and "possible" or t))
  end
end

function steps.reshape(walk, x)
  local shape = any_sizes(x.m:numel())
  local t, m = x.t:reshape(asked_sizes(x, shape)), x.m:reshape(shape)
  walk:view_of(x, t, m)
end

function steps.flatten(walk, x)
  local d = any_dim(x)
  if not d then return end
  local last = random(d, #x.m.shape)
  local shape = table.move(x.m.shape, 1, d - 1, 1, {})
  shape[d] = Naive.product(x.m.shape, d, last)
  table.move(x.m.shape, last + 1, #x.m.shape, d + 1, shape)
  walk:view_of(x, x.t:flatten(d, last), x.m:reshape(shape))
end

function steps.as_strided(walk, x)
  local size = #x.m.storage
  if size == 0 then return end
  local offset, shape, strides = random(0, size - 1), {}, {}
  local room = size - 1 - offset
  for d = 1, random(0, 3) do
    strides[d] = random(0, 4)
    shape[d] = random(0, 3)
    if shape[d] > 1 and strides[d] > 0 then
      shape[d] = math.min(shape[d], room // strides[d] + 1)
      room = room - math.max(shape[d] - 1, 0) * strides[d]
    end
  end
  walk:view_of(x, x.t:as_strided(shape, strides, offset), x.m:as_strided(shape, strides, offset))
end

function steps.split(walk, x)
  local d, dim = any_dim(x)
  if not d or x.m.shape[d] == 0 then return end
  local n, size = x.m.shape[d], random(x.m.shape[d])
  local parts = x.t:split(size, dim)
  local i = random(#parts)
  local first = (i - 1) * size + 1
  if #parts ~= (n + size - 1) // size then walk:fail(#parts .. " parts") end
  walk:view_of(x, parts[i], x.m:slice(d, first, math.min(first + size - 1, n), 1))
end

function steps.unbind(walk, x)
  local d, dim = any_dim(x)
  if not d or x.m.shape[d] == 0 then return end
  local parts = x.t:unbind(dim)
  local i = random(#parts)
  walk:view_of(x, parts[i], x.m:select(d, i))
end

-- ---- indexing ----

local function mask_like(shape)
  return Walk.fresh("bool", shape)
end

local function index_tensor(n, shape)
  local x = Walk.fresh("int64", shape, function() return random(n) end)
  if chance(3) then return {t = x.t - (n + 1), m = x.m} end
  return x
end

-- One entry for the dimensions of x from d on: as Lua writes it, as the twin takes it, and how many
-- dimensions it uses.
local function any_entry(x, d, tensors)
  local n = x.m.shape[d]
  local kind = random(tensors and 9 or 6)
  if kind == 1 and n > 0 then
    local i = random(n)
    return chance(2) and i or i - n - 1, {"select", i}, 1
  elseif kind <= 3 and n > 0 then
    local a, b, step = random(n), random(n), random(3)
    if a > b and chance(2) then a, b = b, a end
    local first, last = chance(2) and a or a - n - 1, chance(2) and b or b - n - 1
    if b == n and chance(3) then last = n + random(3) end
    if step == 1 then return {first, last}, {"slice", a, b, 1}, 1 end
    return {first, last, step}, {"slice", a, b, step}, 1
  elseif kind == 4 and #x.m.shape < 4 then
    return none, {"new"}, 0
  elseif (kind == 7 or kind == 8) and n > 0 then
    local ids = index_tensor(n, pick {{}, {1}, {2}, {3}, {0}, {2, 2}})
    if #ids.m.shape == 0 then return ids.t, {"select", ids.m.storage[1]}, 1 end -- as an integer
    return ids.t, {"ids", ids.m}, 1
  elseif kind == 9 then
    local dims = chance(3) and d < #x.m.shape and 2 or 1
    local mask = mask_like(table.move(x.m.shape, d, d + dims - 1, 1, {}))
    return mask.t, {"mask", mask.m}, dims
  end
  return {}, {"all"}, 1
end

-- Shapes of index tensors must fit each other: a mask counts as its number of trues.
local function fit(entries)
  local shape = {}
  for _, e in ipairs(entries) do
    local list = e[1] == "ids" and e[2].shape
    if e[1] == "mask" then
      local count = 0
      for _, v in ipairs(e[2]:values()) do count = count + v end
      list = {count}
    end
    if list then shape = shape and Naive.broadcast(shape, list) end
  end
  return shape ~= nil
end

--- An index of x: as Lua writes it, and the twin's entries.
function Walk.any_index(x, tensors)
  local written, entries, d, n = {}, {}, 1, #x.m.shape
  while d <= n do
    local as_written, entry, uses = any_entry(x, d, tensors)
    written[#written + 1], entries[#entries + 1] = as_written, entry
    d = d + uses
    if n + #written > 7 then break end -- an entry adds one dimension at most, of 8
    if d <= n and chance(5) then -- the rest is everything
      if chance(2) then return written, entries, fit(entries) end
      written[#written + 1] = "..."
      return written, entries, fit(entries)
    end
  end
  return written, entries, fit(entries)
end

function steps.index(walk, x)
  local written, entries, fits = Walk.any_index(x, chance(2))
  if not fits then return end
  local m, positions = x.m:index(entries)
  if m then
    walk:view_of(x, x.t[written], m)
  else
    walk:result(x.t[written], positions:map(x.m.dtype, function(p) return x.m.storage[p] end))
  end
end

function steps.index_number(walk, x)
  local n = x.m.shape[1]
  if not n or n == 0 then return end
  local i = random(n)
  walk:view_of(x, x.t[chance(2) and i or i - n - 1], x.m:select(1, i))
end

function steps.index_mask(walk, x)
  if #x.m.shape == 0 then return end
  local mask = mask_like(table.move(x.m.shape, 1, random(#x.m.shape), 1, {}))
  local _, positions = x.m:index {{"mask", mask.m}}
  walk:result(x.t[mask.t], positions:map(x.m.dtype, function(p) return x.m.storage[p] end))
end

-- ---- copies ----

function steps.flip(walk, x)
  local order = any_order(#x.m.shape)
  local dims = table.move(order, 1, random(0, #order), 1, {})
  walk:result(x.t:flip(dims), x.m:flip(dims))
end

function steps.roll(walk, x)
  local d, dim = any_dim(x)
  if not d or x.m.shape[d] == 0 then return end
  local shift = random(-5, 5)
  walk:result(x.t:roll(shift, dim), x.m:roll(shift, d))
end

function steps.clone(walk, x) walk:result(x.t:clone():contiguous(), x.m:clone()) end

function steps.to(walk, x)
  local dtype = pick(Walk.DTYPES)
  local m = x.m:map(dtype, function(v) return v end)
  if dtype ~= x.m.dtype then walk:result(x.t:to(lucerna[dtype]):contiguous(), m) end
end

function steps.index_select(walk, x)
  local d, dim = any_dim(x)
  if not d or x.m.shape[d] == 0 then return end
  local ids = index_tensor(x.m.shape[d], {random(0, 4)})
  if ids.m:numel() > 0 and ids.t:min():item() < 1 then return end -- from the end: not here
  walk:result(x.t:index_select(dim, ids.t), x.m:index_select(d, ids.m:values()))
end

function steps.gather(walk, x)
  local d, dim = any_dim(x)
  if not d or x.m.shape[d] == 0 then return end
  local shape = {}
  for i, n in ipairs(x.m.shape) do shape[i] = i == d and random(0, 4) or random(0, n) end
  local index = Walk.fresh("int64", shape, function() return random(x.m.shape[d]) end)
  walk:result(x.t:gather(dim, index.t), x.m:gather(d, index.m))
end

function steps.masked_select(walk, x)
  local mask = walk:operand(x)
  mask = {t = mask.t:ne(0), m = mask.m:map("bool", function(v) return v ~= 0 and 1 or 0 end)}
  local wanted, values, out = mask.m:expand(x.m.shape):values(), x.m:values(), {}
  for i, v in ipairs(values) do
    if wanted[i] == 1 then out[#out + 1] = v end
  end
  walk:result(x.t:masked_select(mask.t), Naive.new(x.m.dtype, {#out}, out))
end

function steps.cat(walk, x)
  local d, dim = any_dim(x)
  if not d then return end
  local list, twins, dtype = {x.t}, {x.m}, x.m.dtype
  for i = 2, random(3) do
    local shape = table.move(x.m.shape, 1, #x.m.shape, 1, {})
    shape[d] = random(0, 2)
    local y = Walk.fresh(chance(3) and pick(Walk.DTYPES) or x.m.dtype, shape)
    list[i], twins[i], dtype = y.t, y.m, Naive.promote(dtype, y.m.dtype)
  end
  walk:result(lucerna.cat(list, dim), Naive.cat(twins, d, dtype))
end

return steps
