-- Nearly every operator and layer beside PyTorch's: a row is one call, as text that both sides
-- read. Lua runs it as it stands, operators.py after replacing {a = 1} by **dict(a=1); the words
-- that make its arguments are words.lua's and operators.py's. Dimensions are negative, so that they
-- mean the same in both. A call with w(...) among its arguments is differentiated for all of those
-- and the layer's parameters.

local cases = dofile("tests/bench/list.lua")()
local words = dofile("tests/bench/words.lua")

-- ---- a row ----

local function setup(lucerna, text)
  lucerna.manual_seed(0)
  local leaves = {}
  local env = words(lucerna, leaves)
  local head, arguments = text:match("^(.*)(%b())$")
  local call = assert(load("return " .. head, head, "t", env))()
  arguments = assert(load("return table.pack" .. arguments, text, "t",
    setmetatable({ table = table }, { __index = env })))()
  local function forward() return call(table.unpack(arguments, 1, arguments.n)) end
  if #leaves == 0 then return forward end
  if head:find("^nn") or head:find("^eval") then
    for p in call:parameters() do leaves[#leaves + 1] = p end
  end
  local g = lucerna.rand_like(forward():detach())
  return function()
    for _, leaf in ipairs(leaves) do leaf.grad = nil end
    forward():backward(g)
  end
end

local family

local function row(text)
  cases:add(text, {
    unit = "us", family = family, brief = true, train = text:find("%f[%w]w%(") ~= nil,
    -- large results; positive gives its argument back
    scoped = text:gsub("%a%d+", ""):find("%d%d") ~= nil and not text:find("^positive"),
    setup = function(lucerna) return setup(lucerna, text) end,
  })
end

-- A row for each word of `names`, in the place of NAME.
local function each(names, text)
  for name in names:gmatch("%S+") do row((text:gsub("NAME", name))) end
end

-- A row for each line.
local function rows(lines)
  for text in lines:gmatch("%S[^\n]*") do row(text) end
end

-- ---- elementwise, of 1 M elements ----

family = "elementwise"
local SIGNED = "abs neg sign sgn angle square exp exp2 expm1 ceil floor trunc round frac sin cos "
  .. "tan atan sinh cosh tanh asinh erf erfc sigmoid relu nan_to_num sinc i0 deg2rad "
  .. "positive frexp "
local POSITIVE = "reciprocal sqrt rsqrt log log2 log10 log1p asin acos atanh erfinv lgamma digamma "
  .. "logit "
local SPECIAL = "erfcx ndtr log_ndtr i0e i1 i1e"
local TWO = "add sub mul div maximum minimum fmax fmin hypot copysign nextafter atan2 logaddexp "
  .. "logaddexp2 heaviside remainder fmod floor_divide "
each(SIGNED, "NAME(f32(1024, 1024))")
each(POSITIVE, "NAME(p32(1024, 1024))")
each(SPECIAL, "special.NAME(f32(1024, 1024))")
each("ndtri entr", "special.NAME(p32(1024, 1024))")
each("acosh", "NAME(add(p32(1024, 1024), 1))")
each(TWO, "NAME(f32(1024, 1024), f32(1024, 1024))")
each("pow xlogy ldexp float_power special.xlog1py", "NAME(p32(1024, 1024), p32(1024, 1024))")
each("igamma igammac", "NAME(p32(64, 1024), p32(64, 1024))")
each("igamma igammac", "NAME(mul(p32(64, 1024), 9), mul(p32(64, 1024), 9))")
each("igamma igammac", "NAME(p64(64, 1024), p64(64, 1024))")
each("lgamma digamma", "NAME(mul(p32(256, 1024), -9))")
each("lgamma digamma", "NAME(mul(p64(256, 1024), -9))")
local BESSEL = "modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
  .. "scaled_modified_bessel_k1 bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0 "
  .. "airy_ai "
each(BESSEL, "special.NAME(mul(p32(64, 1024), 9))")
each(BESSEL .. "erfcx log_ndtr", "special.NAME(p64(64, 1024))")
each("special.zeta", "NAME(add(p32(64, 1024), 1), p32(64, 1024))")
each("abs neg square exp log1p sqrt floor sin tanh sigmoid erf log tan atan sinh expm1 round sign "
  .. "reciprocal rsqrt log2 exp2 acos", "NAME(p64(1024, 1024))")
each("add sub mul div maximum pow atan2 fmod remainder floor_divide hypot",
  "NAME(p64(1024, 1024), p64(1024, 1024))")
each("abs neg sign square bitwise_not", "NAME(i64(1024, 1024))")
each("add sub mul div maximum floor_divide remainder fmod gcd lcm bitwise_and bitwise_xor "
  .. "bitwise_left_shift", "NAME(i64(1024, 1024), i64(1024, 1024))")
each("add mul maximum floor_divide remainder bitwise_or", "NAME(i32(1024, 1024), i32(1024, 1024))")
each("add mul", "NAME(u8(1024, 1024), u8(1024, 1024))")
each("add mul", "NAME(b16(1024, 1024), b16(1024, 1024))")
each("add mul", "NAME(h16(1024, 1024), h16(1024, 1024))")
each("exp tanh relu", "NAME(b16(1024, 1024))")
each("abs neg exp sigmoid", "NAME(turned(f32(1024, 1024)))")
each("add mul div maximum atan2", "NAME(f32(1024, 1024), turned(f32(1024, 1024)))")
each("add mul sub div maximum pow fmod remainder", "NAME(p32(1024, 1024), p32(1, 1024))")
each("add mul sub div maximum pow fmod remainder", "NAME(p32(1024, 1024), p32(1024, 1))")
each("add sub mul div pow remainder fmod floor_divide", "NAME(p32(1024, 1024), 0.7)")
each("add mul div remainder floor_divide pow", "NAME(i64(1024, 1024), 3)")
each("add mul", "NAME(f32(1024, 1024), i64(1024, 1024))")
rows [[
  rsub(f32(1024, 1024), 1)
  pow(p32(1024, 1024), 2)
  pow(p32(1024, 1024), 3)
  pow(p32(1024, 1024), 0.5)
  pow(p32(1024, 1024), -1)
  pow(2, f32(1024, 1024))
  div(f32(1024, 1024), f32(1024, 1024), {rounding_mode = "trunc"})
  div(f32(1024, 1024), f32(1024, 1024), {rounding_mode = "floor"})
  add(f32(1024, 1024), f32(1024, 1024), {alpha = 2})
  round(f32(1024, 1024), {decimals = 2})
  clamp(f32(1024, 1024), -0.5, 0.5)
  clamp(f32(1024, 1024), f32(1024, 1024), f32(1024, 1024))
  clamp_min(f32(1024, 1024), 0.1)
  clamp(i64(1024, 1024), 3, 10)
  lerp(f32(1024, 1024), f32(1024, 1024), 0.3)
  lerp(f32(1024, 1024), f32(1024, 1024), f32(1024, 1024))
  addcmul(f32(1024, 1024), f32(1024, 1024), f32(1024, 1024), {value = 0.5})
  addcdiv(f32(1024, 1024), f32(1024, 1024), p32(1024, 1024), {value = 0.5})
  mvlgamma(add(p32(64, 1024), 2), 3)
  polygamma(1, p32(64, 1024))
  polygamma(1, mul(p32(64, 1024), -9))
  polygamma(1, mul(p64(64, 1024), -9))
  polygamma(2, mul(p32(64, 1024), 9))
  add_(f32(1024, 1024), f32(1024, 1024))
  mul_(f32(1024, 1024), 1.0)
  addcmul_(f32(1024, 1024), f32(1024, 1024), f32(1024, 1024))
  relu_(f32(1024, 1024))
  clamp_(f32(1024, 1024), -0.5, 0.5)
  add(f32(64, 1, 128), f32(1, 64, 128))
  mul(f32(64, 128, 128), f32(64, 1, 128))
  mul(f32(16, 64, 32, 32), f32(1, 64, 1, 1))
  add(f32(16, 64, 32, 32), f32(16, 64, 1, 1))
  mul(c64(512, 1024), c64(512, 1024))
  abs(c64(512, 1024))
  exp(c64(512, 1024))
  sum(c64(512, 1024))
  prod(c64(512, 1024), -1)
]]

family = "comparison"
each("eq ne lt le gt ge logical_and isclose equal", "NAME(f32(1024, 1024), f32(1024, 1024))")
each("gt eq", "NAME(f32(1024, 1024), 0.5)")
each("eq lt", "NAME(i64(1024, 1024), i64(1024, 1024))")
each("eq lt", "NAME(f64(1024, 1024), f64(1024, 1024))")
each("lt", "NAME(f32(1024, 1024), f32(1024, 1))")
each("logical_and logical_or logical_xor eq bitwise_and", "NAME(b8(1024, 1024), b8(1024, 1024))")
each("logical_not isnan isinf isfinite isposinf signbit isreal", "NAME(f32(1024, 1024))")
rows [[
  logical_not(b8(1024, 1024))
  where(b8(1024, 1024), f32(1024, 1024), f32(1024, 1024))
  where(b8(1024, 1024), f32(1024, 1024), 0.0)
  where(b8(1024, 1), f32(1024, 1024), f32(1, 1024))
  where(b8(1024, 1024), i64(1024, 1024), i64(1024, 1024))
  allclose(f32(1024, 1024), f32(1024, 1024))
  isin(i64(1024, 1024), i64(100))
  isin(i64(256, 1024), i64(10000))
]]

-- ---- reductions and scans ----

family = "reductions"
local ALL = "sum mean std var max min amax amin argmax argmin norm nansum nanmean logsumexp prod"
each("sum mean prod std var max min amax argmax norm nansum count_nonzero all any median aminmax "
  .. "nanmedian", "NAME(f32(1024, 1024))")
each(ALL, "NAME(f32(1024, 1024), {dim = -1})")
each(ALL, "NAME(f32(1024, 1024), {dim = -2})")
each("sum mean amax argmax std", "NAME(f32(64, 128, 128), {dim = -2})")
each("sum mean max std prod", "NAME(turned(f32(1024, 1024)), {dim = -1})")
each("sum mean max std prod norm", "NAME(f64(1024, 1024), {dim = -1})")
each("sum max prod amin argmax", "NAME(i64(1024, 1024), {dim = -1})")
each("sum max prod amin argmax", "NAME(i64(1024, 1024), {dim = -2})")
each("sum all any count_nonzero", "NAME(b8(1024, 1024))")
each("all any sum", "NAME(b8(1024, 1024), {dim = -1})")
each("all any sum", "NAME(b8(1024, 1024), {dim = -2})")
each("sum mean", "NAME(b16(1024, 1024))")
each("sum max mean", "NAME(f32(65536, 16), {dim = -1})")
each("sum max mean", "NAME(f32(16, 65536), {dim = -2})")
each("all any", "NAME(u8(4, 50000), {dim = -2})")
each("prod amax", "NAME(f64(4, 50000), {dim = -2})")
each("nansum sum amax", "NAME(i64(4, 50000), {dim = -2})")
each("nansum prod", "NAME(h16(300, 333), {dim = -2})")
each("sum", "NAME(f32(4, 1048576), {dim = -1})")
each("sum mean", "NAME(f32(16, 64, 32, 32), {dim = list(-1, -2)})")
each("sum mean", "NAME(f32(16, 64, 32, 32), {dim = list(-4, -1, -2)})")
each("std_mean var_mean", "NAME(f32(1024, 1024), {dim = -1})")
each("median mode", "NAME(f32(256, 1024), {dim = -1})")
each("max min", "NAME(f32(1024, 1024), f32(1024, 1024))")
each("sum mean amax prod std logsumexp norm", "NAME(w(1024, 1024), {dim = -1})")
each("sum mean amax std", "NAME(w(1024, 1024), {dim = -2})")
rows [[
  norm(f32(1024, 1024), 1, {dim = -1})
  norm(f32(1024, 1024), 3, {dim = -1})
  linalg.vector_norm(f32(1024, 1024), 1)
  linalg.vector_norm(f32(1024, 1024), 3)
  dist(f32(1024, 1024), f32(1024, 1024))
  kthvalue(f32(256, 1024), 5)
  quantile(f32(256, 1024), 0.3, {dim = -1})
  histc(f32(1024, 1024), 100)
  histogram(f32(1024, 1024), 100)
  bincount(ids(1000, 1048576))
  cov(f32(256, 1024))
  corrcoef(f32(256, 1024))
  trapezoid(f32(1024, 1024))
  cumulative_trapezoid(f32(1024, 1024))
  trace(f32(1024, 1024))
  F.cosine_similarity(f32(1024, 1024), f32(1024, 1024))
  F.pairwise_distance(f32(1024, 1024), f32(1024, 1024))
]]
family = "scans"
each("cumsum cumprod cummax cummin logcumsumexp", "NAME(f32(1024, 1024), -1)")
each("cumsum cumprod cummax cummin logcumsumexp", "NAME(f32(1024, 1024), -2)")
each("cumsum", "NAME(f64(1024, 1024), -1)")
each("cumsum", "NAME(i64(1024, 1024), -2)")
each("cumsum cumprod cummax", "NAME(w(1024, 1024), -1)")
each("cumsum cumprod", "NAME(w(1024, 1024), -2)")
each("softmax log_softmax F.softmin", "NAME(f32(1024, 1024), -1)")
each("softmax log_softmax", "NAME(f32(1024, 1024), -2)")
each("softmax log_softmax", "NAME(f32(64, 128, 128), -2)")
each("softmax log_softmax", "NAME(w(1024, 1024), -1)")
each("softmax log_softmax", "NAME(w(1024, 1024), -2)")
each("softmax", "NAME(f64(1024, 1024), -1)")
rows [[
  diff(f32(1024, 1024))
  diff(f32(1024, 1024), {dim = -2})
  F.normalize(f32(1024, 1024), {dim = -1})
  F.normalize(f32(1024, 1024), {dim = -2})
  F.normalize(w(1024, 1024), {dim = -1})
  F.glu(f32(1024, 2048))
  F.gumbel_softmax(f32(1024, 1024))
]]

-- ---- indexing, joins, order ----

family = "index"
rows [[
  index_select(f32(1024, 1024), -2, ids(1024, 1024))
  index_select(f32(1024, 1024), -1, ids(1024, 1024))
  index_add(f32(1024, 1024), -2, ids(1024, 1024), f32(1024, 1024))
  index_add(f32(1024, 1024), -1, ids(1024, 1024), f32(1024, 1024))
  index_copy(f32(1024, 1024), -2, ids(1024, 1024), f32(1024, 1024))
  index_copy(f32(1024, 1024), -1, ids(1024, 1024), f32(1024, 1024))
  index_fill(f32(1024, 1024), -2, ids(1024, 512), 0.5)
  index_fill(f32(1024, 1024), -1, ids(1024, 512), 0.5)
  take(f32(1024, 1024), ids(1048576, 1024, 1024))
  put_(f32(1024, 1024), ids(1048576, 1024, 1024), f32(1024, 1024))
  index_put(f32(1024, 1024), list(ids(1024, 1024), ids(1024, 1024)), f32(1024))
  index_put(f32(1024, 1024), list(ids(1024, 1024)), f32(1024, 1024), {accumulate = true})
  index_put(f32(1024, 1024), list(b8(1024, 1024)), scalar(0.5))
  nonzero(b8(1024, 1024))
  nonzero(f32(1024, 1024))
  gather(f32(1024, 1024), -1, ids(1024, 1024, 1024))
  gather(f32(1024, 1024), -2, ids(1024, 1024, 1024))
  gather(f32(1024, 1024), -1, ids(1024, 1024, 1))
  gather(w(1024, 1024), -1, ids(1024, 1024, 1024))
  scatter(f32(1024, 1024), -1, ids(1024, 1024, 1024), f32(1024, 1024))
  scatter(f32(1024, 1024), -2, ids(1024, 1024, 1024), f32(1024, 1024))
  scatter(f32(1024, 1024), -1, ids(1024, 1024, 1024), 0.5)
  scatter_add(f32(1024, 1024), -1, ids(1024, 1024, 1024), f32(1024, 1024))
  scatter_add(f32(1024, 1024), -2, ids(1024, 1024, 1024), f32(1024, 1024))
  scatter_reduce(f32(1024, 1024), -1, ids(1024, 1024, 1024), f32(1024, 1024), "amax")
  scatter_reduce(f32(1024, 1024), -2, ids(1024, 1024, 1024), f32(1024, 1024), "mean")
  index_reduce(f32(1024, 1024), -2, ids(1024, 1024), f32(1024, 1024), "amax")
  take_along_dim(f32(1024, 1024), ids(1024, 1024, 1024), -1)
  masked_fill(f32(1024, 1024), b8(1024, 1024), 0.5)
  masked_fill(f32(16, 64, 32, 32), b8(16, 1, 1, 32), 0.5)
  masked_fill(w(1024, 1024), b8(1024, 1024), 0.5)
  masked_select(f32(1024, 1024), b8(1024, 1024))
  masked_scatter(f32(1024, 1024), b8(1024, 1024), f32(1024, 1024))
  select_scatter(f32(1024, 1024), f32(1024), -2, -1)
  slice_scatter(f32(1024, 1024), f32(1024, 1024))
  diagonal_scatter(f32(1024, 1024), f32(1024))
  index_select(i64(1024, 1024), -1, ids(1024, 1024))
  gather(f64(1024, 1024), -1, ids(1024, 1024, 1024))
  gather(u8(1024, 1024), -1, ids(1024, 1024, 1024))
  gather(f32(64, 128, 128), -2, ids(128, 64, 128, 128))
  gather(turned(f32(1024, 1024)), -1, ids(1024, 1024, 1024))
  index_select(f32(64, 128, 128), -2, ids(128, 128))
  index_select(f32(1048576), -1, ids(1048576, 1048576))
  index_select(w(1024, 1024), -2, ids(1024, 1024))
  take(w(1048576), ids(1048576, 1048576))
  index_copy(f32(1048576), -1, ids(1048576, 1048576), f32(1048576))
  index_add(f32(1048576), -1, ids(1048576, 1048576), f32(1048576))
  index_put(f32(1048576), list(ids(1048576, 1048576)), f32(1048576), {accumulate = true})
  scatter_(f32(1024, 1024), -1, ids(1024, 1024, 1024), f32(1024, 1024))
  scatter_add_(f32(1024, 1024), -1, ids(1024, 1024, 1024), f32(1024, 1024))
  scatter_add(f32(1000), -1, ids(1000, 1048576), f32(1048576))
  scatter_add(f64(1024, 1024), -1, ids(1024, 1024, 1024), f64(1024, 1024))
  scatter_add(f32(64, 128, 128), -2, ids(128, 64, 128, 128), f32(64, 128, 128))
  masked_scatter_(f32(1024, 1024), b8(1024, 1024), f32(1024, 1024))
  tril_indices(1024, 1024)
  triu_indices(1024, 1024)
  bincount(i64(1048576), f32(1048576))
  bucketize(i64(1024, 1024), arange(20))
  F.embedding(ids(50000, 8192), w(50000, 256))
]]
family = "joins"
each("cat stack", "NAME(list(f32(512, 1024), f32(512, 1024)), -2)")
each("cat stack", "NAME(list(f32(512, 1024), f32(512, 1024)), -1)")
each("cat stack", "NAME(list(f32(256, 1024), f32(256, 1024), f32(256, 1024), f32(256, 1024)), -1)")
each("hstack vstack dstack column_stack",
  "NAME(list(f32(512, 1024), f32(512, 1024)))")
rows [[
  cat(list(w(512, 1024), w(512, 1024)), -1)
  stack(list(w(512, 1024), w(512, 1024)), -1)
  cat(list(f32(16, 32, 32, 32), f32(16, 32, 32, 32)), -3)
  cat(list(turned(f32(512, 1024)), turned(f32(512, 1024))), -1)
  block_diag(f32(512, 1024), f32(512, 1024))
  cartesian_prod(f32(1024), f32(1024))
  combinations(f32(1024))
  kron(f32(32, 32), f32(32, 32))
  tile(f32(512, 512), list(2, 2))
  repeat_interleave(f32(512, 1024), 2, {dim = -1})
  repeat_interleave(f32(512, 1024), 2, {dim = -2})
  repeat_interleave(f32(512, 1024), 2)
  repeat_interleave(f32(128, 1024), i64(128), {dim = -2})
]]
family = "copies"
each("flip", "NAME(f32(1024, 1024), list(-1))")
each("flip", "NAME(f32(1024, 1024), list(-2))")
each("flip", "NAME(f32(1024, 1024), list(-1, -2))")
each("fliplr flipud rot90 tril triu", "NAME(f32(1024, 1024))")
each("diag_embed diagflat", "NAME(f32(1024))")
each("clone zeros_like ones_like", "NAME(f32(1024, 1024))")
each("clone contiguous", "NAME(turned(f32(1024, 1024)))")
each("clone contiguous", "NAME(turned(f64(1024, 1024)))")
each("contiguous", "NAME(turned(u8(1024, 1024)))")
rows [[
  roll(f32(1024, 1024), 100, -1)
  roll(f32(1024, 1024), 100, -2)
  roll(f32(1024, 1024), 100)
  contiguous(permute(f32(16, 64, 32, 32), list(-4, -2, -1, -3)))
  contiguous(permute(f32(16, 32, 32, 64), list(-4, -1, -3, -2)))
  contiguous(permute(f32(64, 128, 128), list(-2, -3, -1)))
  contiguous(expand(f32(1024, 1), list(1024, 1024)))
  contiguous(expand(f32(1, 1024), list(1024, 1024)))
  contiguous(unfold(f32(1024, 128), -1, 16, 8))
  full_like(f32(1024, 1024), 0.5)
  fill_(f32(1024, 1024), 0.5)
  zero_(f32(1024, 1024))
  copy_(f32(1024, 1024), f32(1024, 1024))
  copy_(f32(1024, 1024), turned(f32(1024, 1024)))
  copy_(f32(1024, 1024), f32(1, 1024))
  fill_diagonal_(f32(1024, 1024), 0.5)
  tril(w(1024, 1024))
  eye(1024)
  arange(1048576)
  linspace(0, 1, 1048576)
  logspace(0, 1, 1048576)
  zeros(1024, 1024)
  full(list(1024, 1024), 0.5)
  hann_window(65536)
  meshgrid(list(f32(1024), f32(1024)), {indexing = "ij"})
  vander(f32(1024), 64)
  F.one_hot(ids(100, 65536), 100)
  fft.fftshift(f32(1024, 1024))
]]
each("float64 int64 int32 float16 bfloat16 uint8 bool", "to(f32(1024, 1024), NAME)")
each("int32 int16 int8", "to(b16(300, 333), NAME)")
each("i32 i64 u8 f64", "to(NAME(300, 333), bfloat16)")
each("float32 float64 int32 bool", "to(i64(1024, 1024), NAME)")
each("float32 int64 int16", "to(u8(1024, 1024), NAME)")
each("float32 int64", "to(b8(1024, 1024), NAME)")
each("f64 b16 h16", "to(NAME(1024, 1024), float32)")

family = "order"
each("sort argsort", "NAME(f32(256, 1024), -1)")
each("sort", "NAME(f32(1024, 256), -2)")
each("msort", "NAME(f32(1024, 256))")
each("sort argsort unique", "NAME(f32(262144))")
each("sort unique", "NAME(i64(262144))")
rows [[
  sort(f64(256, 1024), -1)
  sort(f32(256, 1024), {descending = true, stable = true})
  topk(f32(256, 4096), 10)
  topk(f32(4096, 256), 10, -2)
  topk(f32(1048576), 100)
  unique(i64(1048576), {return_inverse = true, return_counts = true})
  unique_consecutive(i64(1048576))
  searchsorted(arange(1024.0), mul(p32(1024, 1024), 1024))
  bucketize(mul(p32(1024, 1024), 100), arange(100.0))
  nanquantile(f32(256, 1024), 0.3, {dim = -1})
]]

-- ---- losses, activations ----

family = "losses"
local PAIRS = "mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss hinge_embedding_loss "
  .. "kl_div poisson_nll_loss binary_cross_entropy_with_logits multilabel_soft_margin_loss "
each(PAIRS, "F.NAME(f32(1024, 1024), p32(1024, 1024))")
each(PAIRS, "F.NAME(w(1024, 1024), p32(1024, 1024))")
each("mse_loss smooth_l1_loss", "F.NAME(f32(1024, 1024), p32(1024, 1024), {reduction = 'none'})")
each("binary_cross_entropy", "F.NAME(p32(1024, 1024), p32(1024, 1024))")
each("binary_cross_entropy", "F.NAME(w(p32(1024, 1024)), p32(1024, 1024))")
each("nll_loss cross_entropy multi_margin_loss", "F.NAME(f32(1024, 1000), ids(1000, 1024))")
each("nll_loss cross_entropy multi_margin_loss", "F.NAME(w(1024, 1000), ids(1000, 1024))")
each("cross_entropy", "F.NAME(w(16, 21, 64, 64), ids(21, 16, 64, 64))")
each("triplet_margin_loss", "F.NAME(f32(1024, 1024), f32(1024, 1024), f32(1024, 1024))")
each("triplet_margin_loss", "F.NAME(w(1024, 1024), f32(1024, 1024), f32(1024, 1024))")
each("margin_ranking_loss gaussian_nll_loss", "F.NAME(w(1024, 1024), f32(1024, 1024), "
  .. "p32(1024, 1024))")
rows [[
  F.cosine_embedding_loss(w(1024, 1024), f32(1024, 1024), p32(1024))
  F.cross_entropy(w(1024, 1000), ids(1000, 1024), {label_smoothing = 0.1})
  F.cross_entropy(w(1024, 1000), softmax(f32(1024, 1000), -1))
  F.multilabel_margin_loss(w(1024, 100), ids(100, 1024, 100))
  F.ctc_loss(w(log_softmax(f32(100, 16, 50), -1)), add(ids(48, 16, 20), 1), all16(100), all16(20))
]]

family = "activations"
local ACTIVATIONS = "relu leaky_relu elu selu celu gelu silu mish softplus logsigmoid hardtanh "
  .. "relu6 hardsigmoid hardswish softsign tanhshrink hardshrink softshrink "
each(ACTIVATIONS, "F.NAME(f32(1024, 1024))")
each(ACTIVATIONS .. "tanh sigmoid glu", "F.NAME(w(1024, 1024))")
each("relu gelu silu", "F.NAME(f64(1024, 1024))")
each("exp sin abs square erf log1p", "NAME(w(p32(1024, 1024)))")
each("mul div maximum pow", "NAME(w(p32(1024, 1024)), w(p32(1024, 1024)))")
each("add mul", "NAME(w(1024, 1024), w(1024))")
rows [[
  F.gelu(w(1024, 1024), {approximate = "tanh"})
  F.threshold(f32(1024, 1024), 0.1, 20)
  F.prelu(f32(16, 64, 32, 32), f32(64))
  F.prelu(w(16, 64, 32, 32), w(64))
  F.rrelu(f32(1024, 1024), {training = true})
  F.dropout(f32(1024, 1024), 0.5)
  F.dropout(w(1024, 1024), 0.5)
  F.dropout2d(f32(16, 64, 32, 32), 0.5)
  F.alpha_dropout(f32(1024, 1024), {training = true})
]]

-- ---- images ----

family = "images"
each("f32 w", [[F.max_pool2d(NAME(4, 64, 56, 56), 2)]])
for _, x in ipairs { "f32", "w" } do
  each("max_pool2d avg_pool2d", "F.NAME(" .. x .. "(4, 64, 56, 56), 3, 2, 1)")
  each("max_pool2d avg_pool2d", "F.NAME(" .. x .. "(4, 64, 56, 56), 3, 1, 1)")
  each("max_pool2d avg_pool2d", "F.NAME(" .. x .. "(4, 64, 56, 56), 3, 3)")
  each("max_pool2d avg_pool2d", "F.NAME(" .. x .. "(4, 512, 7, 7), 7)")
  each("max_pool2d_with_indices", "F.NAME(" .. x .. "(4, 64, 56, 56), 3, 2, 1)")
  each("adaptive_avg_pool2d", "F.NAME(" .. x .. "(4, 512, 14, 14), 7)")
  each("adaptive_avg_pool2d", "F.NAME(" .. x .. "(4, 512, 7, 7), 1)")
  each("max_pool1d avg_pool1d", "F.NAME(" .. x .. "(4, 64, 4096), 3, 2, 1)")
  each("max_pool1d", "F.NAME(" .. x .. "(32, 1024, 256), 256)")
  each("max_pool3d avg_pool3d", "F.NAME(" .. x .. "(2, 32, 16, 32, 32), 2)")
  each("adaptive_avg_pool2d adaptive_max_pool2d", "F.NAME(" .. x .. "(4, 64, 56, 56), 7)")
  each("adaptive_avg_pool2d adaptive_max_pool2d", "F.NAME(" .. x .. "(4, 64, 56, 56), 1)")
  each("adaptive_avg_pool1d", "F.NAME(" .. x .. "(4, 64, 4096), 10)")
  each("adaptive_avg_pool3d", "F.NAME(" .. x .. "(2, 32, 16, 32, 32), 4)")
  each("lp_pool2d", "F.NAME(" .. x .. "(4, 64, 56, 56), 2, 2)")
  each("fractional_max_pool2d", "F.NAME(" .. x .. "(4, 64, 56, 56), 2, list(28, 28))")
  each("nearest bicubic bilinear area",
    "F.interpolate(" .. x .. "(4, 16, 56, 56), {scale_factor = 2, mode = 'NAME'})")
  each("nearest bicubic bilinear area",
    "F.interpolate(" .. x .. "(4, 64, 56, 56), {size = list(28, 28), mode = 'NAME'})")
  each("constant reflect replicate circular",
    "F.pad(" .. x .. "(4, 64, 56, 56), list(1, 1, 1, 1), {mode = 'NAME'})")
  each("bilinear nearest bicubic", "F.grid_sample(" .. x .. "(4, 16, 56, 56), grid(4, 64, 64), "
    .. "{mode = 'NAME', align_corners = false})")
  rows((([[
    F.interpolate(X(4, 16, 4096), {scale_factor = 2, mode = 'linear'})
    F.interpolate(X(2, 8, 16, 32, 32), {scale_factor = 2, mode = 'trilinear'})
    F.interpolate(X(2, 8, 16, 32, 32), {scale_factor = 2, mode = 'nearest'})
    F.grid_sample(X(4, 16, 56, 56), grid(4, 64, 64), {padding_mode = 'border'})
    F.grid_sample(X(8, 1, 28, 28), grid(8, 28, 28), {align_corners = false})
    F.grid_sample(X(8, 1, 28, 28), grid(8, 28, 28), {mode = 'nearest', align_corners = false})
    F.grid_sample(X(4, 3, 224, 224), grid(4, 224, 224), {align_corners = false})
    F.grid_sample(X(4, 3, 224, 224), w(grid(4, 224, 224)), {align_corners = false})
    F.grid_sample(X(2, 2, 16, 32, 32), w(f32(2, 16, 32, 32, 3)), {align_corners = false})
    F.unfold(X(4, 32, 56, 56), 3, {padding = 1})
    F.fold(X(4, 288, 3136), list(56, 56), 3, {padding = 1})
    F.pixel_shuffle(X(4, 64, 56, 56), 2)
    F.pixel_unshuffle(X(4, 64, 56, 56), 2)
    F.local_response_norm(X(4, 64, 56, 56), 5)
    F.pad(X(1024, 1024), list(3, 3))
    F.pad(X(16, 64, 1024), list(3, 3), {mode = 'reflect'})
    channel_shuffle(X(4, 64, 56, 56), 4)
  ]]):gsub("X%(", x .. "(")))
end
rows [[
  F.affine_grid(f32(16, 2, 3), list(16, 3, 224, 224), {align_corners = false})
  F.affine_grid(f32(4, 3, 4), list(4, 1, 16, 32, 32), {align_corners = false})
  F.grid_sample(f32(4, 16, 56, 56), w(grid(4, 64, 64)), {align_corners = false})
]]

-- ---- layers, there and back ----

family = "layers"
rows [[
  nn.BatchNorm1d(256)(w(1024, 256))
  nn.BatchNorm1d(64)(w(16, 64, 1024))
  nn.BatchNorm2d(64)(f32(4, 64, 56, 56))
  eval(nn.BatchNorm2d(64))(f32(4, 64, 56, 56))
  eval(nn.BatchNorm2d(64))(w(4, 64, 56, 56))
  nn.BatchNorm3d(32)(w(2, 32, 16, 32, 32))
  nn.InstanceNorm1d(64)(w(16, 64, 1024))
  nn.InstanceNorm2d(64)(f32(4, 64, 56, 56))
  nn.InstanceNorm2d(64, {affine = true})(w(4, 64, 56, 56))
  nn.InstanceNorm3d(32)(w(2, 32, 16, 32, 32))
  nn.GroupNorm(8, 64)(w(4, 64, 56, 56))
  nn.LayerNorm(list(64, 56, 56))(w(4, 64, 56, 56))
  nn.LayerNorm(64)(w(16384, 64))
  nn.RMSNorm(1024)(f32(1024, 1024))
  nn.RMSNorm(1024)(w(1024, 1024))
  nn.Linear(256, 256)(w(256, 256))
  nn.Bilinear(64, 64, 32)(w(256, 64), w(256, 64))
  nn.Embedding(1000, 256)(ids(1000, 64, 64))
  nn.EmbeddingBag(10000, 128)(ids(10000, 256, 32))
  nn.EmbeddingBag(10000, 128, {mode = "sum"})(ids(10000, 256, 32))
  nn.EmbeddingBag(10000, 128, {mode = "max"})(ids(10000, 256, 32))
  F.embedding_bag(ids(10000, 256, 32), w(10000, 128))
  F.embedding_bag(ids(10000, 256, 32), w(10000, 128), {mode = "max"})
  F.embedding_bag(ids(10000, 256, 32), w(10000, 128))
  F.embedding(ids(10000, 256, 32), w(10000, 128))
  nn.RNN(64, 128)(w(32, 16, 64))
  nn.LSTM(64, 128, {num_layers = 2, bidirectional = true})(w(32, 16, 64))
  nn.GRU(64, 128)(f32(32, 16, 64))
  nn.RNNCell(64, 128)(w(16, 64))
  nn.LSTMCell(64, 128)(w(16, 64))
  nn.GRUCell(64, 128)(w(16, 64))
  nn.MultiheadAttention(128, 4)(w(64, 8, 128), w(64, 8, 128), w(64, 8, 128))
  nn.TransformerDecoderLayer(128, 4, 512)(w(64, 8, 128), w(64, 8, 128))
  nn.Conv1d(64, 64, 3)(w(4, 64, 1024))
  nn.Conv3d(8, 16, 3)(w(2, 8, 16, 28, 28))
  nn.ConvTranspose1d(64, 32, 4, 2)(w(4, 64, 1024))
  nn.ConvTranspose2d(64, 32, 4, 2)(w(4, 64, 28, 28))
  nn.ConvTranspose3d(16, 8, 4, 2)(w(2, 16, 8, 14, 14))
  nn.Softmax2d()(w(4, 64, 56, 56))
  nn.CosineSimilarity()(w(1024, 1024), w(1024, 1024))
  nn.PairwiseDistance()(w(1024, 1024), w(1024, 1024))
  nn.MaxUnpool2d(2)(f32(4, 64, 28, 28), pooled(4, 64, 56, 56))
]]

-- ---- convolutions ----

family = "convolutions"
-- Layers of known nets: AlexNet, Inception, ResNeXt, MobileNet, ConvNeXt, ViT, R3D, DQN, SRCNN,
-- LeNet, DCGAN, U-Net, HiFi-GAN, WaveNet, Whisper, wav2vec 2.0, speech commands.
rows [[
  nn.Conv2d(3, 64, 11, {stride = 4, padding = 2})(w(4, 3, 224, 224))
  nn.Conv2d(64, 192, 5, {padding = 2})(w(4, 64, 27, 27))
  nn.Conv2d(3, 64, 7, {stride = 2, padding = 3})(f32(1, 3, 224, 224))
  nn.Conv2d(3, 32, 3, {stride = 2})(w(1, 3, 299, 299))
  nn.Conv2d(128, 192, list(1, 7), {padding = list(0, 3)})(w(4, 128, 17, 17))
  nn.Conv2d(256, 256, 3, {stride = 2, padding = 1, groups = 32})(w(4, 256, 28, 28))
  nn.Conv2d(64, 64, 3, {stride = 2, padding = 1, groups = 4})(w(4, 64, 56, 56))
  nn.Conv2d(3, 32, 3, {stride = 2, padding = 1})(f32(4, 3, 224, 224))
  nn.Conv2d(16, 96, 1)(w(4, 16, 112, 112))
  nn.Conv2d(96, 4, 1)(w(4, 96, 1, 1))
  nn.Conv2d(3, 96, 4, {stride = 4})(w(4, 3, 224, 224))
  nn.Conv2d(768, 768, 7, {padding = 3, groups = 768})(w(4, 768, 7, 7))
  nn.Conv2d(3, 768, 16, {stride = 16})(w(1, 3, 224, 224))
  nn.Conv3d(3, 64, list(3, 7, 7), {stride = list(1, 2, 2), padding = 3})(w(1, 3, 8, 56, 56))
  nn.Conv3d(16, 32, 3, {stride = 2, padding = 1})(w(2, 16, 16, 28, 28))
  nn.Conv2d(64, 64, 3, {stride = 3})(w(4, 64, 56, 56))
  nn.Conv2d(4, 32, 8, {stride = 4})(w(32, 4, 84, 84))
  nn.Conv2d(64, 64, 3)(w(32, 64, 9, 9))
  nn.Conv2d(1, 64, 9, {padding = 4})(w(1, 1, 96, 96))
  nn.Conv2d(6, 16, 5)(w(64, 6, 14, 14))
  nn.Conv2d(16, 120, 5)(w(64, 16, 5, 5))
  nn.Conv2d(64, 1, 1)(w(4, 64, 56, 56))
  nn.Conv2d(512, 64, 3, {padding = 12, dilation = 12})(w(1, 512, 28, 28))
  nn.Conv2d(512, 1, 4)(w(16, 512, 4, 4))
  nn.ConvTranspose2d(100, 512, 4)(w(16, 100, 1, 1))
  nn.ConvTranspose2d(128, 64, 2, {stride = 2})(w(1, 128, 64, 64))
  nn.ConvTranspose1d(256, 128, 16, {stride = 8, padding = 4})(w(1, 256, 128))
  nn.Conv1d(64, 128, 2, {dilation = 16})(w(4, 64, 4000))
  nn.Conv1d(80, 384, 3, {padding = 1})(w(1, 80, 3000))
  nn.Conv1d(1, 512, 10, {stride = 5})(w(1, 1, 16000))
  nn.Conv1d(1, 32, 80, {stride = 4, padding = 38})(w(4, 1, 16000))
]]

-- ---- products and linear algebra ----

family = "linalg"
each("f32 f64 b16", "mm(NAME(512, 512), NAME(512, 512))")
each("f32 f64 w", "F.linear(NAME(64, 1000), NAME(10, 1000), NAME(10))")
each("f32 f64 b16 w", "bmm(NAME(64, 64, 64), NAME(64, 64, 64))")
each("f32 w", "matmul(NAME(8, 64, 128), NAME(128, 64))")
rows [[
  mm(f32(512, 512), turned(f32(512, 512)))
  mm(turned(f32(512, 512)), f32(512, 512))
  mm(f32(64, 64), f32(64, 64))
  mm(f32(1024, 16), f32(16, 1024))
  mm(f32(16, 4096), f32(4096, 16))
  mm(f32(44, 734), f32(734, 4))
  mm(f32(19, 1254), turned(f32(19, 1254)))
  mm(turned(f32(23, 1519)), f32(23, 3))
  mm(turned(f32(658, 155)), turned(f32(3, 658)))
  mm(b16(5000, 16), b16(16, 16))
  mm(b16(1024, 8), b16(8, 768))
  mm(i64(128, 128), i64(128, 128))
  mm(w(256, 256), w(256, 256))
  mm(c64(256, 256), c64(256, 256))
  mv(f32(1024, 1024), f32(1024))
  mv(turned(f32(1024, 1024)), f32(1024))
  matmul(f32(1024), f32(1024, 1024))
  mv(c64(512, 512), c64(512))
  dot(f32(1048576), f32(1048576))
  vdot(f32(1048576), f32(1048576))
  bmm(f32(1024, 8, 8), f32(1024, 8, 8))
  bmm(f32(64, 1, 256), f32(64, 256, 64))
  F.linear(b16(64, 784), b16(512, 784))
  matmul(f32(8, 8, 64, 32), turned(f32(8, 8, 64, 32)))
  addmm(f32(512, 512), f32(512, 512), f32(512, 512), {beta = 0.5})
  addmv(f32(1024), f32(1024, 1024), f32(1024))
  baddbmm(f32(64, 64, 64), f32(64, 64, 64), f32(64, 64, 64))
  addbmm(f32(64, 64), f32(64, 64, 64), f32(64, 64, 64))
  addr(f32(1024, 1024), f32(1024), f32(1024))
  outer(f32(1024), f32(1024))
  inner(f32(256, 256), f32(256, 256))
  tensordot(f32(64, 32, 32), f32(32, 32, 64), 2)
  einsum("bij,bjk->bik", f32(64, 64, 64), f32(64, 64, 64))
  einsum("bhqd,bhkd->bhqk", f32(8, 8, 64, 32), f32(8, 8, 64, 32))
  einsum("ij,kj->ik", f32(256, 256), f32(256, 256))
  einsum("bi,bj->bij", f32(256, 64), f32(256, 64))
  einsum("ii->i", f32(1024, 1024))
  einsum("ij->j", f32(1024, 1024))
  einsum("bn,anm,bm->ba", f32(64, 32), f32(32, 32, 32), f32(64, 32))
  cdist(f32(512, 64), f32(512, 64))
  cdist(f32(512, 64), f32(512, 64), 1)
  cdist(f32(512, 64), f32(512, 64), 3)
  cdist(w(512, 64), w(512, 64))
  cdist(w(512, 64), w(512, 64), 1)
  F.pdist(f32(512, 64))
  renorm(f32(1024, 1024), 2, -2, 5)
  cross(f32(262144, 3), f32(262144, 3), -1)
  cross(f32(3, 262144), f32(3, 262144), -2)
  linalg.matrix_norm(f32(1024, 1024))
  linalg.matrix_norm(f32(1024, 1024), 1)
  linalg.vecdot(f32(1024, 1024), f32(1024, 1024))
  linalg.matrix_power(f32(256, 256), 5)
  linalg.matrix_exp(div(f32(128, 128), 100))
  linalg.inv(f32(128, 128))
  linalg.inv(f32(256, 8, 8))
  linalg.solve(f32(128, 128), f32(128, 16))
  linalg.solve(f32(256, 8, 8), f32(256, 8, 4))
  linalg.det(f32(256, 8, 8))
  linalg.slogdet(f32(128, 128))
  linalg.cholesky(definite(256))
  linalg.qr(f32(256, 128))
  geqrf(f32(256, 128))
  linalg.householder_product(div(f32(256, 128), 100), f32(128))
  linalg.lu(f32(128, 128))
  linalg.svd(f32(64, 64))
  linalg.svd(f32(256, 8, 8))
  linalg.eigh(definite(64))
  linalg.eig(f32(64, 64))
  linalg.svdvals(f32(64, 64))
  linalg.eigvalsh(definite(64))
  linalg.eigvals(f32(64, 64))
  linalg.lstsq(f32(256, 64), f32(256, 8))
  linalg.pinv(f32(128, 64))
  linalg.solve_triangular(tril(definite(256)), f32(256, 64), {upper = false})
  linalg.multi_dot(list(f32(128, 64), f32(64, 256), f32(256, 32)))
  linalg.inv(w(128, 128))
  linalg.solve(w(128, 128), w(128, 16))
  fft.fft(c64(64, 1024))
  fft.rfft(f32(64, 1024))
  fft.irfft(c64(64, 513))
  fft.fft2(c64(4, 128, 128))
  fft.fft(c64(1000, 101))
  fft.rfft(w(64, 1024))
]]

-- ---- layouts: turned, with gaps, expanded, of few columns or none ----

family = "layouts"
rows [[
  addcdiv(f32(2350, 4, 7), f32(4, 1), turned(f32(2350, 7, 4)))
  le(transpose(f64(2, 2, 3, 2049), -1, -4), f64(3, 1))
  mul(to(i32(2779, 7, 7), int16), to(i32(2779, 1, 7), int16))
  logical_and(b8(9, 409, 8), transpose(b8(8, 409, 9), -1, -3))
  add(f32(12000, 8), f32(12000, 1))
  contiguous(expand(f32(12000, 1), 12000, 8))
  F.prelu(f32(1083, 259), f32(259))
  F.glu(turned(f32(32, 2050)), -2)
  F.glu(turned(h16(3, 5, 2050)), -2)
  rsub(inside(u8(300, 200)), -3)
  pow(p32(300, 333), -2)
  pow(w(p32(300, 200)), -1)
  F.linear(f64(9, 49), turned(f64(49, 472)))
  F.linear(f32(1, 784), turned(f32(784, 512)))
  F.linear(f32(0, 2049), every(2, f32(1537, 4098)))
  addmm(f32(3), turned(every(2, turned(f32(512, 300)))), f32(300, 3), {beta = 0.5})
  matmul(f32(12, 226, 114), f32(12, 114, 4))
  mm(u8(5, 511), u8(511, 514))
  mm(u8(425, 467), turned(u8(2, 467)))
  mm(i32(8, 1000), turned(i32(1000, 1000)))
  logcumsumexp(f32(3300, 49), -2)
  cumsum(f32(3909, 3, 3), -2)
  max(f32(4199, 14, 1), -1)
  median(every(2, f32(1399, 6, 6)), -2)
  sort(f32(4, 65, 9, 3), -2)
  index_select(transpose(f32(6, 49, 48), -1, -3), -2, ids(49, 82))
  amax(expand(u8(300, 1, 300), 300, 4, 300), -2)
  cat(list(f32(2000, 40), f32(2000, 40)), -1)
  softmax(f32(64, 1693, 2), -2)
  F.layer_norm(b16(4000, 21), list(21))
  F.interpolate(f32(2, 17, 13, 39), {size = list(64, 1)})
  F.adaptive_max_pool2d(f32(2, 17, 17, 38), list(11, 1))
  F.avg_pool2d(f64(2, 17, 51, 7), 4, list(2, 4), list(2, 1))
  F.avg_pool3d(f32(3, 16, 11, 16, 11), list(3, 4, 1), list(1, 4, 2), list(0, 1, 0))
  F.conv_transpose3d(f64(2, 16, 4, 6, 4), f64(16, 1, 3, 4, 3), {stride = list(1, 3, 1)})
]]

-- ---- random numbers ----

family = "random"
each("rand randn", "NAME(1024, 1024)")
each("rand_like randn_like", "NAME(f32(1024, 1024))")
each("uniform_ normal_ log_normal_ cauchy_ exponential_ bernoulli_ random_",
  "NAME(f32(1024, 1024))")
each("normal_ uniform_", "NAME(f64(1024, 1024))")
each("bernoulli poisson", "NAME(p32(1024, 1024))")
rows [[
  geometric_(f32(1024, 1024), 0.3)
  randint(0, 100, list(1024, 1024))
  randint_like(f32(1024, 1024), 100)
  random_(i64(1024, 1024), 10)
  randperm(1048576)
  randperm(1000)
  normal(f32(1024, 1024), p32(1024, 1024))
  multinomial(p32(64, 1000), 16, true)
  multinomial(p32(64, 1000), 16)
  multinomial(p32(1048576), 16, true)
  nn.init.kaiming_uniform_(f32(1024, 1024))
  nn.init.trunc_normal_(f32(1024, 1024))
  nn.init.orthogonal_(f32(128, 128))
]]

-- ---- small tensors: what a call costs ----

family = "small"
each("abs neg exp sqrt sigmoid tanh relu sum mean max argmax std clone sort unique nonzero "
  .. "isnan tril t trace det any zeros_like", "NAME(f32(4, 4))")
each("add sub mul div maximum eq lt mm matmul pow atan2 equal dist",
  "NAME(f32(4, 4), f32(4, 4))")
each("softmax log_softmax sum mean amax cumsum argsort logsumexp unsqueeze", "NAME(f32(4, 4), -1)")
each("relu gelu silu elu leaky_relu hardtanh softplus normalize mish glu", "F.NAME(f32(4, 4))")
each("mse_loss l1_loss smooth_l1_loss kl_div binary_cross_entropy_with_logits cosine_similarity",
  "F.NAME(f32(4, 4), p32(4, 4))")
each("mse_loss", "F.NAME(w(4, 4), p32(4, 4))")
rows [[
  F.cross_entropy(w(4, 4), ids(4, 4))
  F.linear(f32(4, 4), f32(4, 4), f32(4))
  F.linear(w(4, 4), w(4, 4), w(4))
  F.conv1d(f32(1, 4, 8), f32(4, 4, 3))
  F.conv2d(f32(1, 4, 8, 8), f32(4, 4, 3, 3))
  F.max_pool2d(f32(1, 1, 8, 8), 2)
  F.avg_pool2d(f32(1, 1, 8, 8), 2)
  F.adaptive_avg_pool2d(f32(1, 1, 8, 8), 1)
  F.interpolate(f32(1, 1, 8, 8), {scale_factor = 2})
  F.pad(f32(4, 4), list(1, 1))
  F.batch_norm(f32(4, 4), f32(4), p32(4))
  F.layer_norm(f32(4, 4), list(4))
  F.group_norm(f32(4, 4), 2)
  F.dropout(f32(4, 4))
  F.embedding(ids(4, 4), f32(4, 4))
  F.one_hot(ids(4, 4))
  F.scaled_dot_product_attention(f32(1, 4, 4), f32(1, 4, 4), f32(1, 4, 4))
  gather(f32(4, 4), -1, ids(4, 4, 4))
  scatter(f32(4, 4), -1, ids(4, 4, 4), f32(4, 4))
  index_select(f32(4, 4), -1, ids(4, 2))
  masked_fill(f32(4, 4), b8(4, 4), 0)
  masked_select(f32(4, 4), b8(4, 4))
  cat(list(f32(4, 4), f32(4, 4)), -1)
  split(f32(4, 4), 2)
  chunk(f32(4, 4), 2)
  unbind(f32(4, 4))
  topk(f32(4, 4), 2)
  einsum("ij,jk->ik", f32(4, 4), f32(4, 4))
  bmm(f32(2, 4, 4), f32(2, 4, 4))
  roll(f32(4, 4), 1, -1)
  rand(4, 4)
  randn(4, 4)
  randint(0, 10, list(4, 4))
  arange(4)
  linspace(0, 1, 4)
  eye(4)
  to(f32(4, 4), float64)
  add(f32(4, 4), 1)
  clamp(f32(4, 4), 0, 1)
  linalg.inv(f32(4, 4))
  linalg.solve(f32(4, 4), f32(4, 4))
  linalg.norm(f32(4, 4))
  fft.fft(c64(8))
  add(w(4, 4), w(4, 4))
  sum(w(4, 4))
  softmax(w(4, 4), -1)
  nn.Linear(4, 4)(w(4, 4))
  nn.LayerNorm(4)(w(4, 4))
  nn.BatchNorm1d(4)(w(4, 4))
  nn.LSTM(4, 4)(w(2, 1, 4))
  nn.GRUCell(4, 4)(w(1, 4))
  nn.MultiheadAttention(4, 2)(w(2, 1, 4), w(2, 1, 4), w(2, 1, 4))
]]

return cases
