-- The steps of a walk that write: they take a tensor that may be written to, do it in place, and
-- compare all of its memory.
local Walk = require "walk"
local Naive = require "naive"
local lucerna = require "lucerna"
local pick, chance, any_dim = Walk.pick, Walk.chance, Walk.any_dim
local random = math.random

local steps = {}

-- Writes f(element, value of y) for each element, computed as dtype.
local function combine(x, y, inside, f)
  local a, b = x.m:values(), y:expand(x.m.shape):values()
  for i, v in ipairs(a) do a[i] = f(Naive.cast(v, inside), Naive.cast(b[i], inside)) end
  x.m:write(a)
end

function steps.fill_(walk)
  local x = walk:writable()
  local number, v = Walk.any_number(x.m.dtype)
  x.t:fill_(number)
  x.m:write(setmetatable({}, {__index = function() return v end}))
  walk:written(x.m)
end

function steps.zero_(walk)
  local x = walk:writable()
  x.t:zero_()
  x.m:write(setmetatable({}, {__index = function() return 0 end}))
  walk:written(x.m)
end

function steps.copy_(walk)
  local x = walk:writable()
  local y = walk:operand(x, chance(3))
  local values = y.m:expand(x.m.shape):values()
  if walk:try(x, y, x.t.copy_, x.t, y.t) then x.m:write(values) end
  walk:written(x.m)
end

local ARITHMETIC = {
  add_ = function(a, b) return a + b end,
  sub_ = function(a, b) return a - b end,
  mul_ = function(a, b) return a * b end,
}

local function arithmetic(name)
  local f = ARITHMETIC[name]
  return function(walk)
    local x = walk:writable()
    local y = walk:operand(x, chance(3))
    local inside = Naive.result_type(x.m, y.m)
    if not Naive.can_cast(inside, x.m.dtype) then return end
    if name == "sub_" and (x.m.dtype == "bool" or y.m.dtype == "bool") then return end
    local options, alpha
    if name ~= "mul_" and inside ~= "bool" and chance(3) then
      alpha = random(3)
      options = {alpha = alpha}
    end
    local twin = y.m:clone()
    if walk:try(x, y, x.t[name], x.t, y.t, options) then
      combine(x, twin, inside, function(a, b) return f(a, alpha and alpha * b or b) end)
    end
    walk:written(x.m)
  end
end

local function with_number(name)
  local f = ARITHMETIC[name]
  return function(walk)
    local x = walk:writable()
    local number, v = Walk.any_number(x.m.dtype)
    if x.m.dtype == "bool" and name == "sub_" then return end
    x.t[name](x.t, number)
    combine(x, Naive.new(x.m.dtype, {}, {v}), x.m.dtype, f)
    walk:written(x.m)
  end
end

for name in pairs(ARITHMETIC) do
  steps[name] = arithmetic(name)
  steps[name .. " number"] = with_number(name)
end

function steps.neg_(walk)
  local x = walk:writable()
  if x.m.dtype == "bool" then return end
  x.t:neg_()
  combine(x, x.m, x.m.dtype, function(a) return -a end)
  walk:written(x.m)
end

function steps.clamp_(walk)
  local x = walk:writable()
  if x.m.dtype == "bool" then return end
  local low, high = random(0, 3), random(2, 6)
  x.t:clamp_(low, high)
  combine(x, x.m, x.m.dtype, function(a) return math.min(math.max(a, low), high) end)
  walk:written(x.m)
end

-- ---- chosen elements ----

local function mask_for(walk, x)
  local y = walk:operand(x)
  return {t = y.t:ne(0), m = y.m:map("bool", function(v) return v ~= 0 and 1 or 0 end)}
end

function steps.masked_fill_(walk)
  local x = walk:writable()
  local mask = mask_for(walk, x)
  local number, v = Walk.any_number(x.m.dtype)
  x.t:masked_fill_(mask.t, number)
  local values, wanted = x.m:values(), mask.m:expand(x.m.shape):values()
  for i, w in ipairs(wanted) do values[i] = w == 1 and v or values[i] end
  x.m:write(values)
  walk:written(x.m)
end

-- Writes value (a twin, or a number for all) to a tensor of positions; dtype's sum if `add`.
local function put(x, positions, value, add)
  local list = positions:values()
  local values = type(value) == "table" and value:expand(positions.shape):values()
  for i, p in ipairs(list) do
    local v = Naive.cast(values and values[i] or value, x.m.dtype)
    x.m.storage[p] = Naive.cast(add and x.m.storage[p] + v or v, x.m.dtype)
  end
end

-- Different positions, or the order of writing would count.
local function all_different(list)
  local seen = {}
  for _, v in ipairs(list) do
    if seen[v] then return false end
    seen[v] = true
  end
  return true
end

-- x[{…}] = number or tensor
function steps.assign(walk)
  local x = walk:writable()
  local written, entries, fits = Walk.any_index(x, chance(2))
  if not fits then return end
  local m, positions = x.m:index(entries)
  local number, v = Walk.any_number(x.m.dtype)
  local shape = (m or positions).shape
  if #shape > 7 then return end -- the value may get a dimension more
  if m then positions = Naive.new("int64", shape, m:positions()) end
  if not all_different(positions:values()) then return end
  if chance(2) then
    x.t[written] = number
    put(x, positions, v)
  else
    local from = {}
    for d, n in ipairs(shape) do from[d] = chance(4) and 1 or n end
    local y = Walk.fresh(chance(3) and pick(Walk.DTYPES) or x.m.dtype, from)
    if not m and y.m.dtype ~= x.m.dtype then return end
    x.t[written] = y.t
    put(x, positions, y.m)
  end
  walk:written(x.m)
end

-- x[{…}] = another part of the same memory, as if that were copied first
function steps.assign_own(walk)
  local x, y = walk:writable(), pick(walk.pool)
  if y.m.storage ~= x.m.storage then y = x end
  local n = x.m.shape[1]
  local part = n and n > 1 and y.m.shape[1] == n and {random(n), random(n)}
  if not part then return end
  local to, from = x.m:select(1, part[1]), y.m:select(1, part[2])
  if not Walk.same_list(to.shape, from.shape) then return end
  local values = from:values()
  local here, there = {t = x.t[part[1]], m = to}, {t = y.t[part[2]], m = from}
  local function assign() x.t[part[1]] = there.t end
  if walk:try(here, there, assign) then to:write(values) end
  walk:written(x.m)
end

function steps.index_put_(walk)
  local x = walk:writable()
  if #x.m.shape == 0 then return end
  local lists, twins, shape = {}, {}, pick {{2}, {3}, {2, 2}, {}}
  for d = 1, random(#x.m.shape) do
    local n = x.m.shape[d]
    if n == 0 then return end
    local ids = Walk.fresh("int64", shape, function() return random(n) end)
    lists[d], twins[d] = ids.t, {"ids", ids.m}
  end
  local _, positions = x.m:index(twins)
  local add = chance(2) and x.m.dtype ~= "bool"
  if not add and not all_different(positions:values()) then return end
  local from = {}
  for d, n in ipairs(positions.shape) do from[d] = chance(4) and 1 or n end
  local y = Walk.fresh(x.m.dtype, from)
  x.t:index_put_(lists, y.t, {accumulate = add})
  put(x, positions, y.m, add)
  walk:written(x.m)
end

-- Each of index_add_, index_copy_ and index_fill_ along d.
local function along(x, d, ids, f)
  for k, i in ipairs(ids) do f(x.m:select(d, i), k) end
end

local function any_ids(n, count)
  return Walk.fresh("int64", {count}, function() return random(n) end)
end

function steps.index_add_(walk)
  local x = walk:writable()
  local d, dim = any_dim(x)
  if not d or x.m.shape[d] == 0 or x.m.dtype == "bool" then return end
  local ids = any_ids(x.m.shape[d], random(0, 3))
  local shape = table.move(x.m.shape, 1, #x.m.shape, 1, {})
  shape[d] = #ids.m.storage
  local y = Walk.fresh(x.m.dtype, shape)
  x.t:index_add_(dim, ids.t, y.t)
  along(x, d, ids.m:values(), function(row, k)
    combine({m = row}, y.m:select(d, k), x.m.dtype, ARITHMETIC.add_)
  end)
  walk:written(x.m)
end

function steps.index_copy_(walk)
  local x = walk:writable()
  local d, dim = any_dim(x)
  if not d or x.m.shape[d] == 0 then return end
  local ids = any_ids(x.m.shape[d], random(0, 3))
  if not all_different(ids.m:values()) then return end
  local shape = table.move(x.m.shape, 1, #x.m.shape, 1, {})
  shape[d] = #ids.m.storage
  local y = Walk.fresh(x.m.dtype, shape)
  x.t:index_copy_(dim, ids.t, y.t)
  along(x, d, ids.m:values(), function(row, k) row:write(y.m:select(d, k):values()) end)
  walk:written(x.m)
end

function steps.index_fill_(walk)
  local x = walk:writable()
  local d, dim = any_dim(x)
  if not d or x.m.shape[d] == 0 then return end
  local ids = any_ids(x.m.shape[d], random(0, 3))
  local number, v = Walk.any_number(x.m.dtype)
  x.t:index_fill_(dim, ids.t, number)
  along(x, d, ids.m:values(), function(row)
    row:write(setmetatable({}, {__index = function() return v end}))
  end)
  walk:written(x.m)
end

-- scatter_ and scatter_add_: a source no smaller than the index, positions along d.
local function scatter(name)
  return function(walk)
    local x = walk:writable()
    local d, dim = any_dim(x)
    if not d or x.m.shape[d] == 0 or x.m.dtype == "bool" then return end
    local shape, from = {}, {}
    for i, n in ipairs(x.m.shape) do
      shape[i] = random(0, i == d and 3 or n)
      from[i] = shape[i] + random(0, 1)
    end
    local index = Walk.fresh("int64", shape, function() return random(x.m.shape[d]) end)
    local y = Walk.fresh(x.m.dtype, from)
    local places, values = {}, {}
    Naive.build("int64", shape, function(at)
      local to = table.move(at, 1, #shape, 1, {})
      to[d] = index.m:at(at)
      local p = x.m.offset + 1
      for k, i in ipairs(to) do p = p + (i - 1) * x.m.strides[k] end
      places[#places + 1], values[#values + 1] = p, y.m:at(at)
      return 0
    end)
    if name == "scatter_" and not all_different(places) then return end
    x.t[name](x.t, dim, index.t, y.t)
    local n = #places
    put(x, Naive.new("int64", {n}, places), Naive.new(x.m.dtype, {n}, values),
      name == "scatter_add_")
    walk:written(x.m)
  end
end
steps.scatter_, steps.scatter_add_ = scatter "scatter_", scatter "scatter_add_"

function steps.assign_mask(walk)
  local x = walk:writable()
  if #x.m.shape == 0 then return end
  local mask = Walk.fresh("bool", table.move(x.m.shape, 1, random(#x.m.shape), 1, {}))
  local _, positions = x.m:index {{"mask", mask.m}}
  local number, v = Walk.any_number(x.m.dtype)
  if chance(2) then
    x.t[mask.t] = number
    put(x, positions, v)
  else
    local y = Walk.fresh(x.m.dtype, positions.shape)
    x.t[mask.t] = y.t
    put(x, positions, y.m)
  end
  walk:written(x.m)
end

function steps.masked_scatter_(walk)
  local x = walk:writable()
  local mask = mask_for(walk, x)
  local values, wanted = x.m:values(), mask.m:expand(x.m.shape):values()
  local y, k = Walk.fresh(x.m.dtype, {#values + 1}), 0
  x.t:masked_scatter_(mask.t, y.t)
  for i, w in ipairs(wanted) do
    if w == 1 then
      k = k + 1
      values[i] = y.m.storage[k]
    end
  end
  x.m:write(values)
  walk:written(x.m)
end

function steps.set_item(walk)
  local x = walk:writable()
  local n = x.m.shape[1]
  if not n or n == 0 then return end
  local i = random(n)
  local number, v = Walk.any_number(x.m.dtype)
  x.t[i] = number
  x.m:select(1, i):write(setmetatable({}, {__index = function() return v end}))
  walk:written(x.m)
end

function steps.out(walk, x)
  local y = walk:operand(x)
  local inside = Naive.result_type(x.m, y.m)
  local out = Walk.fresh(inside, x.m.shape)
  lucerna.mul(x.t, y.t, {out = out.t})
  out.m:write(Naive.map2(x.m, y.m, inside, inside, ARITHMETIC.mul_):values())
  walk:written(out.m)
end

return steps
