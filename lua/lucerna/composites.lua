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

-- ---- other names ----

--- vmap(func, in_dims, out_dims, randomness, {chunk_size=}): func.vmap, under its other name.
function composites.vmap(...) return require("lucerna.func").vmap(...) end

return composites
