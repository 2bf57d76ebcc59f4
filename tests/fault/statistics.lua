-- What the out-of-memory sweep runs with statistics, distances, special functions and out=, forward
-- and backward: what out= is to write stays as it was. Returns the scenario as a function.
local lucerna = require "lucerna"
local special = lucerna.special

local x = lucerna.tensor({{1, 2, 4}, {0.5, 3, 0.25}}, {dtype = lucerna.float64})
local values, indices = lucerna.zeros(2), lucerna.zeros({1}, {dtype = lucerna.int64})

local function write()
  values:resize_(2)
  values:zero_()
  local ok, err = pcall(lucerna.sort, x, {out = {values, indices}})
  if ok then return end
  assert(#values == 2 and values:sum():item() == 0, "half written")
  error(err, 0)
end

local function scenario()
  local leaf = x:clone():requires_grad_()
  for _, y in ipairs {lucerna.cov(leaf, {aweights = lucerna.ones(3):double()}),
    lucerna.corrcoef(leaf), lucerna.nanmedian(leaf, 2), lucerna.trapezoid(leaf, leaf:detach()),
    lucerna.cumulative_trapezoid(leaf), lucerna.cdist(leaf, leaf), lucerna.cdist(leaf, x, 3),
    lucerna.cdist(leaf, x, {compute_mode = "use_mm_for_euclid_dist"}), lucerna.kron(leaf, x),
    lucerna.renorm(leaf, 2, 1, 1), lucerna.vander(leaf[1]), (lucerna.frexp(leaf)),
    special.zeta(2, leaf), lucerna.igamma(x, leaf), leaf:mvlgamma(1), special.i1(leaf),
    special.log_ndtr(leaf), lucerna.sinc(leaf), special.entr(leaf),
    lucerna.gradient(leaf, {dim = 2, edge_order = 2})[1],
    lucerna.gradient(leaf, {spacing = {x[{{}, 1}], x[1]}})[2]} do
    y:sum():backward()
  end
  x:unique{dim = 2, return_inverse = true, return_counts = true}
  lucerna.histc(x, 3)
  lucerna.histogram(x, 3, {weight = x, density = true})
  lucerna.histogram(x, lucerna.tensor({0, 2, 4}, {dtype = lucerna.float64}))
  write()
end

return scenario
