-- Functions of tensors that are better said in Lua than as operators: forms of calls that no schema
-- has, results that are no fixed tuple. They are made of operators, and recorded through those.

local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local shape_text = require "lucerna.shape_text"

local none, is_tensor = core.none, core.is_tensor

local composites = {}

local fail = core._fail

local function kind_name(value) return core.nn.kind_name(value) end

-- A number that is whole, as an integer.
local function whole(value) return type(value) == "number" and math.tointeger(value) or nil end

-- ---- einsum ----

local LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

-- The labels of argument `at` as part of an equation.
local function subscripts(labels, at)
  if type(labels) ~= "table" or getmetatable(labels) ~= nil then
    fail("einsum: argument %d must be a table of labels (got %s)", at, kind_name(labels))
  end
  local letters = {}
  for k, label in ipairs(labels) do
    local number = whole(label)
    if label ~= "..." and not (number and number >= 1 and number <= #LETTERS) then
      fail("einsum: label %s is out of range [1, %d] (labels count from 1)", label, #LETTERS)
    end
    letters[k] = number and LETTERS:sub(number, number) or label
  end
  return table.concat(letters)
end

--- einsum(equation, ...): sums of products by a formula of subscripts; operands: a list, or
-- one after the other. Or einsum(a, {1, 2}, b, {2, 3}, {1, 3}): each operand with its labels, 1 to
-- 52 or "...", then perhaps those of the result.
function composites.einsum(...)
  if not is_tensor((...)) then return core.einsum(...) end
  local given, operands, terms = table.pack(...), {}, {}
  for k = 1, given.n - 1, 2 do
    check.tensor("einsum", "argument " .. k, given[k])
    operands[#operands + 1], terms[#terms + 1] = given[k], subscripts(given[k + 1], k + 1)
  end
  if #operands == 0 then fail("einsum: expected the labels of argument 1") end
  local result = given.n % 2 == 1 and "->" .. subscripts(given[given.n], given.n) or ""
  return core.einsum(table.concat(terms, ",") .. result, operands)
end
core._instead[composites.einsum] = core.einsum

-- ---- singular values of what has few ----

local function check_count(who, name, value, most)
  local number = whole(value)
  if not number or number < 0 or number > most then
    fail("%s: %s must be an integer of at least 0%s (got %s)", who, name,
      most < math.maxinteger and " and at most min(m, n) = " .. most or "", value)
  end
  return number
end

-- Does t take this shape by broadcasting?
local function broadcasts(t, shape)
  local own = t.shape
  for k = 1, #own do
    local size = shape[#shape - #own + k]
    if not size or (own[k] ~= 1 and own[k] ~= size) then return false end
  end
  return true
end

-- q orthonormal columns that nearly span those of a: subspace iteration from random vectors.
local function range_of(a, q, niter)
  local function orthonormal(x) return (core.linalg.qr(x)) end
  local start = core.randn(a:size(-1), q, { dtype = a.dtype })
  local basis, turned = orthonormal(a:matmul(start)), a.mH
  for _ = 1, niter do basis = orthonormal(a:matmul(orthonormal(turned:matmul(basis)))) end
  return basis
end

local function check_matrix(who, a)
  check.tensor(who, "A", a)
  if a:dim() < 2 or not (a.dtype.is_floating_point or a.dtype.is_complex) then
    fail("%s: A must be floating point matrices [*, m, n] (got %s %s)", who, a.dtype,
      shape_text(a.shape))
  end
  return math.min(a:size(-2), a:size(-1))
end

-- Takes the range of Aᴴ instead of A's where PyTorch does, so that random numbers are drawn alike.
local function low_rank(who, a, q, niter)
  q = check_count(who, "q", q, check_matrix(who, a))
  niter = check_count(who, "niter", niter, math.maxinteger)
  if a:size(-2) < a:size(-1) or a:size(-1) > q then
    local basis = range_of(a.mH, q, niter)
    local u, s, vh = core.linalg.svd(a:matmul(basis), false)
    return u, s, basis:matmul(vh.mH)
  end
  local basis = range_of(a, q, niter)
  local u, s, vh = core.linalg.svd(basis.mH:matmul(a), false)
  return basis:matmul(u), s, vh.mH
end

--- svd_lowrank(A, q = 6, niter = 2, M): the q largest singular values of A - M and their vectors,
-- A - M ≈ U diag(S) Vᴴ, by random projection; exact where the rank is at most q. niter: how often
-- the subspace is improved. (Halko, Martinsson and Tropp 2011, Finding structure with randomness.)
function composites.svd_lowrank(...)
  local who = "svd_lowrank"
  local a, q, niter, mean = arguments(who, { "A", "q", "niter", "M" }, ...)
  check_matrix(who, a)
  if mean ~= nil then
    check.tensor(who, "M", mean)
    if not broadcasts(mean, a.shape) then
      fail("%s: M must broadcast to the shape of A (A %s, M %s)", who, shape_text(a.shape),
        shape_text(mean.shape))
    end
    a = a - mean
  end
  local u, s, v = low_rank(who, a, q or 6, niter or 2) -- no tail call: errors in it name this one
  return u, s, v
end

--- pca_lowrank(A, q, center = true, niter = 2): principal components of m samples (rows) of n
-- features: svd_lowrank of A without its mean (unless center is false). The columns of V are the
-- principal directions, S² / (m - 1) their variances. q: how many, by default min(6, m, n).
function composites.pca_lowrank(...)
  local who = "pca_lowrank"
  local a, q, center, niter = arguments(who, { "A", "q", "center", "niter" }, ...)
  local most = check_matrix(who, a)
  check.option(who, "center", center, "boolean")
  if center ~= false then a = a - a:mean(-2, true) end
  local u, s, v = low_rank(who, a, q or math.min(6, most), niter or 2)
  return u, s, v
end

-- ---- histograms of several dimensions ----

local HISTOGRAM = { "input", "bins", "range", "weight", "density" }

-- The ends of the bins of column d: those of range, else its least and greatest value.
local function ends_of(column, range, d)
  local low, high = 0, 1
  if range then
    low, high = range[2 * d - 1], range[2 * d]
  elseif column:numel() > 0 then
    low, high = column:min():item(), column:max():item()
  end
  if low - low ~= 0 or high - high ~= 0 then
    fail("histogramdd: dimension %d's range is not finite", d)
  elseif low > high then
    fail("histogramdd: min should not exceed max, but got min %g max %g for dimension %d", low,
      high, d)
  end
  if low == high then return low - 0.5, high + 0.5 end
  return low, high
end

-- The edges of the bins of column d.
local function edges_of(column, bins, range, d)
  local given = type(bins) == "table" and bins[d] or bins
  if is_tensor(given) then
    if given:dim() ~= 1 or given:numel() < 2 or given.dtype ~= column.dtype then
      fail("histogramdd: bins of dimension %d must be 2 or more edges of input's dtype (got %s %s)",
        d, given.dtype, shape_text(given.shape))
    end
    return given:detach():clone()
  end
  local n = whole(given)
  if not n or n < 1 then
    fail("histogramdd: bins must be > 0, but got %s for dimension %d", given, d)
  end
  local low, high = ends_of(column, range, d)
  return core.linspace(low, high, n + 1, { dtype = column.dtype })
end

local function check_list(name, list, n)
  if type(list) ~= "table" or getmetatable(list) ~= nil or #list ~= n then
    local given = type(list) == "table" and not getmetatable(list) and #list .. " entries"
      or kind_name(list)
    fail("histogramdd: %s must have %d entries (got %s)", name, n, given)
  end
end

local function check_histogram(x, bins, range, weight, density)
  check.tensor("histogramdd", "input", x)
  local wide = x.dtype == core.float32 or x.dtype == core.float64
  if x:dim() < 2 or x:size(-1) == 0 or not wide then
    fail("histogramdd: input must be float32 or float64 points [*, N] (got %s %s)", x.dtype,
      shape_text(x.shape))
  end
  if not whole(bins) then check_list("bins", bins, x:size(-1)) end
  if range ~= nil then
    check_list("range", range, 2 * x:size(-1))
    for k, v in ipairs(range) do
      if type(v) ~= "number" then fail("histogramdd: range: entry %d is a %s", k, type(v)) end
    end
  end
  check.option("histogramdd", "density", density, "boolean")
  if weight == nil then return end
  check.tensor("histogramdd", "weight", weight)
  local shape = x.shape
  shape[#shape] = nil
  if weight.dtype ~= x.dtype or shape_text(shape) ~= shape_text(weight.shape) then
    fail("histogramdd: weight must be %s of shape %s, one for each point (got %s %s)", x.dtype,
      shape_text(shape), weight.dtype, shape_text(weight.shape))
  end
end

-- The number of each point's bin, counted from 0, and whether it has one.
local function bins_of(points, edges)
  local flat = core.zeros(points:size(1), { dtype = core.int64 })
  local inside = core.ones(points:size(1), { dtype = core.bool })
  for d, e in ipairs(edges) do
    local column, n = points:select(2, d):contiguous(), #e - 1
    local at = core.searchsorted(e, column, { right = true }) - 2 -- it counts from 1
    flat = flat * n + at:clamp(0, n - 1) -- the last bin has its upper edge
    inside = inside:logical_and(column:ge(e[1])):logical_and(column:le(e[-1]))
  end
  return flat, inside
end

local function density_of(hist, edges)
  hist = hist / hist:sum()
  for d, e in ipairs(edges) do
    local shape = {}
    for k = 1, #edges do shape[k] = k == d and -1 or 1 end
    hist = hist / e:diff():to(hist.dtype):view(shape)
  end
  return hist
end

--- histogramdd(input, bins, {range, weight, density = false}): how many of the points [*, N] fall
-- into each bin of a grid, and a table of the edges of each dimension. bins: a number of equal bins
-- (a table: one for each dimension) between the least and the greatest value or those of range,
-- {low, high, low, high, ...}; or a table of tensors of edges. weight: what a point counts;
-- density: so that the integral is 1.
function composites.histogramdd(...)
  local x, bins, range, weight, density = arguments("histogramdd", HISTOGRAM, ...)
  check_histogram(x, bins, range, weight, density)
  local points = x:detach():reshape(-1, x:size(-1))
  local edges, shape, count = {}, {}, 1
  for d = 1, points:size(2) do
    edges[d] = edges_of(points:select(2, d), bins, range, d)
    shape[d] = #edges[d] - 1
    count = count * shape[d]
  end
  local flat, inside = bins_of(points, edges)
  local weights = weight and weight:detach():reshape(-1):double()[inside] or none
  local hist = core.bincount(flat[inside], weights, count):double():view(shape)
  if density then hist = density_of(hist, edges) end
  return hist:to(x.dtype), edges
end

-- ---- segments ----

local SEGMENTS = { "data", "reduce", "lengths", "indices", "offsets", "axis", "unsafe", "initial" }
local KINDS = { sum = "sum", mean = "mean", prod = "prod", max = "amax", amax = "amax",
  min = "amin", amin = "amin" }
local EMPTY = { sum = 0, mean = 0, prod = 1, amax = -math.huge, amin = math.huge }

local function check_counts(name, counts)
  if check.tensor("segment_reduce", name, counts).dtype ~= core.int64
    and counts.dtype ~= core.int32 then
    fail("segment_reduce: %s must be int32 or int64 (got %s)", name, counts.dtype)
  end
  return counts:long()
end

-- The segments' lengths, how many values come before the first, and those that must be used.
local function spans_of(lengths, offsets, unsafe)
  if lengths ~= nil then
    lengths = check_counts("lengths", lengths)
    return lengths, 0, not unsafe
  elseif offsets ~= nil then
    offsets = check_counts("offsets", offsets)
    return offsets:diff(), offsets:narrow(-1, 1, 1), false
  end
  fail("segment_reduce: either lengths or offsets must be given")
end

local function check_spans(data, axis, lengths, first, whole_axis)
  local fits = axis == lengths:dim() and axis <= data:dim()
  for d = 1, fits and axis - 1 or 0 do fits = fits and lengths:size(d) == data:size(d) end
  if not fits then
    fail("segment_reduce: axis must be the last dimension of lengths, which has data's sizes "
      .. "before it (axis %d, data %s, lengths %s)", axis, shape_text(data.shape),
      shape_text(lengths.shape))
  end
  if lengths:lt(0):any():item() then fail("segment_reduce: lengths contains negative value") end
  local ends, size = first + lengths:sum(axis, true), data:size(axis)
  if ends:gt(size):any():item() or whole_axis and ends:ne(size):any():item() then
    fail("segment_reduce: expected lengths to add up to the size of data along axis, %d", size)
  end
end

-- data [B, N, ...] by lengths [B, S]: what each of the segments [B * S, ...] comes to.
local function segments_of(data, lengths, first, kind)
  local ids = core.arange(1, lengths:numel() + 1):repeat_interleave(lengths:flatten())
  local place = core.arange(1, data:size(2) + 1):expand(lengths:size(1), -1)
  local used = place:gt(first):logical_and(place:le(first + lengths:sum(2, true)))
  local rows = data:flatten(1, 2)[used:flatten()]
  local shape = rows.shape
  shape[1] = lengths:numel()
  local start = core.full(shape, EMPTY[kind], { dtype = data.dtype })
  if kind == "sum" or kind == "mean" then return start:index_add(1, ids, rows) end
  return start:index_reduce(1, ids, rows, kind)
end

-- One more value of each segment; means are divided.
local function with_initial(result, kind, initial, lengths)
  if kind == "prod" then return initial and result * initial or result end
  if kind == "sum" then return initial and result + initial or result end
  if kind == "mean" then
    local mean = (result + (initial or 0)) / lengths
    return initial and mean:where(lengths:ne(0), initial) or mean
  end
  if not initial then return result end
  local beyond = kind == "amax" and result:lt(initial) or result:gt(initial)
  return result:where(beyond:logical_not(), initial)
end

--- segment_reduce(data, reduce, {lengths, offsets, axis = 1, unsafe = false, initial}): the sum,
-- mean, prod, max or min of pieces of data along axis, one after the other: lengths says how long
-- they are, for each place of the dimensions before axis, or offsets how many values come before
-- each and before the end. initial is one more value of each. unsafe: some may be left over.
function composites.segment_reduce(...)
  local who = "segment_reduce"
  local data, reduce, lengths, indices, offsets, axis, unsafe, initial =
    arguments(who, SEGMENTS, ...)
  local kind = KINDS[reduce]
  if not check.tensor(who, "data", data).dtype.is_floating_point then
    fail("%s: data must be floating point (got %s)", who, data.dtype)
  end
  if not kind then fail("%s: reduce must be sum, mean, prod, max or min (got %s)", who, reduce) end
  if indices ~= nil then fail("%s: indices based reduction is not supported yet", who) end
  check.option(who, "initial", initial, "number")
  axis = axis == nil and 1 or check.integer(who, "axis", axis)
  axis = axis < 0 and axis + data:dim() + 1 or axis
  local spans, first, whole_axis = spans_of(lengths, offsets, unsafe)
  check_spans(data, axis, spans, first, whole_axis)
  local shape, outer = spans.shape, spans:reshape(-1, spans:size(axis))
  if is_tensor(first) then first = first:reshape(-1, 1) end
  local rows = axis == 1 and data:unsqueeze(1) or data:flatten(1, axis - 1)
  local result = segments_of(rows, outer, first, kind)
  for d = axis + 1, data:dim() do shape[d] = data:size(d) end
  local counts = spans
  for _ = axis + 1, data:dim() do counts = counts:unsqueeze(-1) end
  return with_initial(result:view(shape), kind, initial, counts)
end

-- ---- other names ----

--- vmap(func, in_dims, out_dims, randomness, {chunk_size=}): func.vmap, under its other name.
function composites.vmap(...) return require("lucerna.func").vmap(...) end

return composites
