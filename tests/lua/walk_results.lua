-- The steps of a walk that compute: elementwise with broadcasting and promotion, reductions, sums
-- along, sorting.
local Walk = require "walk"
local Naive = require "naive"
local lucerna = require "lucerna"
local chance, any_dim = Walk.chance, Walk.any_dim

local steps = {}

-- ---- elementwise ----

local BINARY = {
  add = function(a, b) return a + b end,
  mul = function(a, b) return a * b end,
  sub = function(a, b) return a - b end,
  maximum = math.max,
  minimum = math.min,
}
local COMPARISONS = {
  eq = function(a, b) return a == b and 1 or 0 end,
  ne = function(a, b) return a ~= b and 1 or 0 end,
  lt = function(a, b) return a < b and 1 or 0 end,
  le = function(a, b) return a <= b and 1 or 0 end,
  gt = function(a, b) return a > b and 1 or 0 end,
  ge = function(a, b) return a >= b and 1 or 0 end,
}

local function binary(name, f, dtype)
  return function(walk, x)
    local y = walk:operand(x, true)
    local inside = Naive.result_type(x.m, y.m)
    if name == "sub" and (x.m.dtype == "bool" or y.m.dtype == "bool") then return end
    if chance(2) then x, y = y, x end
    walk:result(x.t[name](x.t, y.t), Naive.map2(x.m, y.m, inside, dtype or inside, f))
  end
end

for name, f in pairs(BINARY) do steps[name] = binary(name, f) end
for name, f in pairs(COMPARISONS) do steps[name] = binary(name, f, "bool") end

function steps.operators(walk, x)
  local number = Walk.pick {2, -1, 0.5, true}
  local v = number == true and 1 or number
  local inside = Naive.result_type_number(x.m, number)
  local name = Walk.pick {"add", "mul"}
  local t
  if number == true then t = x.t[name](x.t, true)
  elseif name == "add" then t = chance(2) and x.t + number or number + x.t
  else t = chance(2) and x.t * number or number * x.t end
  local y = Naive.new(inside, {}, {v})
  walk:result(t, Naive.map2(x.m, y, inside, inside, BINARY[name]))
end

function steps.where(walk, x)
  local y, mask = walk:operand(x, true), walk:operand(x, true)
  local inside = Naive.result_type(x.m, y.m)
  local wanted = mask.m:expand(x.m.shape):values()
  local a, b = x.m:values(), y.m:expand(x.m.shape):values()
  for i, w in ipairs(wanted) do a[i] = w ~= 0 and a[i] or b[i] end
  walk:result(lucerna.where(mask.t:ne(0), x.t, y.t), Naive.new(inside, x.m.shape, a))
end

function steps.abs(walk, x)
  if x.m.dtype ~= "bool" then walk:result(x.t:abs(), x.m:map(x.m.dtype, math.abs)) end
end

function steps.logical_not(walk, x)
  walk:result(x.t:logical_not(), x.m:map("bool", function(v) return v == 0 and 1 or 0 end))
end

-- ---- reductions ----

local function sum_of(values)
  local sum = 0
  for _, v in ipairs(values) do sum = sum + v end
  return sum
end

local function sum_dtype(dtype) return Naive.is_float(dtype) and dtype or "int64" end

-- No dimension, one, or several: the arguments, and the set of what is reduced.
local function any_dims(x, several)
  local dims, n = {}, #x.m.shape
  local all = {}
  for d = 1, n do all[d] = true end
  if n == 0 or chance(4) then return {}, all, false end
  local keepdim = chance(2)
  if several and chance(2) then
    local list = {}
    for d = 1, n do
      if chance(2) then list[#list + 1] = chance(2) and d or d - n - 1 end
      dims[d] = list[#list] and (list[#list] - d) % (n + 1) == 0 or nil
    end
    if #list == 0 then return {}, all, false end
    return {list, {keepdim = keepdim}}, dims, keepdim
  end
  local d, dim = any_dim(x)
  return {dim, {keepdim = keepdim}}, {[d] = true}, keepdim
end

-- Is there something in each part to be reduced?
local function nonempty(x, dims)
  for d in pairs(dims) do
    if x.m.shape[d] == 0 then return false end
  end
  return true
end

local function call(x, name, args) return x.t[name](x.t, table.unpack(args)) end

function steps.sum(walk, x)
  local args, dims, keepdim = any_dims(x, true)
  walk:result(call(x, "sum", args), x.m:reduce(dims, keepdim, sum_dtype(x.m.dtype), sum_of))
end

function steps.mean(walk, x)
  if not Naive.is_float(x.m.dtype) then return end
  local args, dims, keepdim = any_dims(x, true)
  local function mean(values) return #values > 0 and sum_of(values) / #values or 0 / 0 end
  walk:result(call(x, "mean", args), x.m:reduce(dims, keepdim, x.m.dtype, mean), Walk.near_list)
end

function steps.count_nonzero(walk, x)
  local d = any_dim(x)
  local dims, all = {[d or 0] = true}, {}
  for k = 1, #x.m.shape do all[k] = true end
  local function count(values)
    local n = 0
    for _, v in ipairs(values) do n = n + (v ~= 0 and 1 or 0) end
    return n
  end
  if not d or chance(2) then
    walk:result(x.t:count_nonzero(), x.m:reduce(all, false, "int64", count))
  else
    walk:result(x.t:count_nonzero(d), x.m:reduce(dims, false, "int64", count))
  end
end

local function extreme(values, better)
  local best = 1
  for i = 2, #values do
    if better(values[i], values[best]) then best = i end
  end
  return values[best], best
end

local function greater(a, b) return a > b end
local function less(a, b) return a < b end

for name, better in pairs {max = greater, min = less} do
  local function value(values) return (extreme(values, better)) end
  local function place(values) return (select(2, extreme(values, better))) end
  steps[name] = function(walk, x)
    local args, dims, keepdim = any_dims(x)
    if not nonempty(x, dims) then return end
    local t, indices = call(x, name, args)
    walk:result(t, x.m:reduce(dims, keepdim, x.m.dtype, value))
    if #args > 0 then walk:result(indices, x.m:reduce(dims, keepdim, "int64", place)) end
  end
  steps["a" .. name] = function(walk, x)
    local args, dims, keepdim = any_dims(x, true)
    if not nonempty(x, dims) then return end
    walk:result(call(x, "a" .. name, args), x.m:reduce(dims, keepdim, x.m.dtype, value))
  end
  steps["arg" .. name] = function(walk, x)
    local args, dims, keepdim = any_dims(x)
    if not nonempty(x, dims) or x.m.dtype == "bool" then return end
    walk:result(call(x, "arg" .. name, args), x.m:reduce(dims, keepdim, "int64", place))
  end
end

for name, start in pairs {any = 0, all = 1} do
  steps[name] = function(walk, x)
    local args, dims, keepdim = any_dims(x)
    local dtype = x.m.dtype == "uint8" and "uint8" or "bool"
    walk:result(call(x, name, args), x.m:reduce(dims, keepdim, dtype, function(values)
      for _, v in ipairs(values) do
        if (v ~= 0) ~= (start == 1) then return 1 - start end
      end
      return start
    end))
  end
end

function steps.cumsum(walk, x)
  local d, dim = any_dim(x)
  if not d then return end
  local m = x.m:cumulate(d, sum_dtype(x.m.dtype), sum_of)
  walk:result(x.t:cumsum(dim), m)
end

function steps.sort(walk, x)
  local d, dim = any_dim(x)
  if not d then return end
  local descending = chance(2)
  local t, indices = x.t:sort(dim, {descending = descending, stable = true})
  local function order(at)
    local line, places = x.m:line(d, at), {}
    for i = 1, #line do places[i] = i end
    table.sort(places, function(a, b)
      if line[a] ~= line[b] then return (line[a] > line[b]) == descending end
      return a < b
    end)
    return places[at[d]], line
  end
  walk:result(indices, Naive.build("int64", x.m.shape, function(at) return (order(at)) end))
  walk:result(t, Naive.build(x.m.dtype, x.m.shape, function(at)
    local i, line = order(at)
    return line[i]
  end))
end

function steps.nonzero(walk, x)
  local lists, rows = x.m:nonzero(), {}
  local n, dims = #lists > 0 and #lists[1].storage or 0, #lists
  for i = 1, n do
    for d = 1, dims do rows[#rows + 1] = lists[d].storage[i] end
  end
  if dims > 0 then walk:result(x.t:nonzero(), Naive.new("int64", {n, dims}, rows)) end
end

function steps.equal(walk, x)
  local y = {t = x.t:clone(), m = x.m:clone()}
  if not x.t:equal(y.t) then walk:fail("a clone is not equal") end
end

function steps.item(walk, x)
  if x.m:numel() ~= 1 then return end
  local got, want = x.t:item(), x.m:values()[1]
  got = got == true and 1 or got == false and 0 or got
  if got ~= want or (x.m.dtype == "bool") ~= (type(x.t:item()) == "boolean") then
    walk:fail(("item %s, not %s"):format(got, want))
  end
end

return steps
