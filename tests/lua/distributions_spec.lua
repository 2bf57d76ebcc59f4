-- lucerna.distributions beside PyTorch (tests/parity/gen_distributions.py), by the moments of
-- samples, and its errors.
local lucerna = require "lucerna"
local parity = require "parity"
local D = lucerna.distributions

local SHOWN = {mean = true, variance = true, stddev = true, mode = true}

local T = D.transforms

local function transformed(d, ...) return D.TransformedDistribution(d, {...}) end

-- What is made of others, as the generator makes it.
local MADE = {
  ["Independent of Normal"] = function(p) return D.Independent(D.Normal(p.loc, p.scale), 1) end,
  ["Independent of OneHotCategorical"] = function(p)
    return D.Independent(D.OneHotCategorical {logits = p.logits}, 1)
  end,
  ["TransformedDistribution by AffineTransform, SigmoidTransform"] = function(p)
    return transformed(D.Laplace(p.loc, 0.5), T.AffineTransform(0.5, p.scale),
      T.SigmoidTransform())
  end,
  ["TransformedDistribution by TanhTransform"] = function(p)
    return transformed(D.Normal(p.loc, p.scale), T.TanhTransform())
  end,
  ["TransformedDistribution by SoftplusTransform, PowerTransform, ExpTransform.inv"] = function(p)
    return transformed(D.Normal(p.loc, p.scale), T.SoftplusTransform(), T.PowerTransform(1.5),
      T.ExpTransform().inv)
  end,
  ["TransformedDistribution by StickBreakingTransform"] = function(p)
    return transformed(D.Normal(p.loc, p.scale), T.StickBreakingTransform())
  end,
  ["TransformedDistribution by ReshapeTransform, IndependentTransform"] = function(p)
    return transformed(D.Normal(p.loc, p.scale), T.ReshapeTransform({4}, {2, 2}),
      T.IndependentTransform(T.ExpTransform(), 2), T.AffineTransform(0, -2.0, 1))
  end,
  ["TransformedDistribution by ComposeTransform"] = function(p)
    return transformed(D.Gamma(p.loc:exp(), p.scale), T.ComposeTransform {T.ExpTransform().inv,
      T.StickBreakingTransform(), T.AffineTransform(1.0, p.scale[1])})
  end,
  ["TransformedDistribution by CatTransform"] = function(p)
    return transformed(D.Normal(p.loc, p.scale),
      T.CatTransform({T.TanhTransform(), T.ExpTransform()}, -1, {1, 2}))
  end,
  ["TransformedDistribution by CumulativeDistributionTransform"] = function(p)
    return transformed(D.Normal(p.loc, p.scale),
      T.CumulativeDistributionTransform(D.Laplace(0.5, 2.0)))
  end,
  ["TransformedDistribution by CorrCholeskyTransform"] = function(p)
    return transformed(D.Normal(p.loc, p.scale), T.CorrCholeskyTransform())
  end,
  ["MixtureSameFamily of Normal"] = function(p)
    return D.MixtureSameFamily(D.Categorical(p.probs), D.Normal(p.loc, p.scale))
  end,
  ["MixtureSameFamily of vectors"] = function(p)
    return D.MixtureSameFamily(D.Categorical {logits = p.logits},
      D.Independent(D.Normal(p.loc, p.scale), 1))
  end,
}

local function make(name, p) return (MADE[name] or D[name])(p) end

-- The recorded parameters, as leaves; dtype: of the floating point ones.
local function parameters(recorded, dtype)
  local kw = {}
  for name, value in pairs(recorded) do
    value = parity.tensor(value)
    if lucerna.is_tensor(value) and value.dtype == lucerna.float64 then
      value = value:to(dtype or lucerna.float64):requires_grad_()
    end
    kw[name] = value
  end
  return kw
end

-- PyTorch's trigamma, in the gradients of digamma, has nine digits.
local ROUGH = {rtol = 1e-7, atol = 1e-9}

-- Its Bessel functions in VonMises are fitted polynomials.
local NEAR = {rtol = 1e-5, atol = 1e-5}

-- The gradients of the sum of out are what was recorded; none is zero.
local function check_gradients(out, leaves, want, message, tolerance)
  local names, list = {}, {}
  for name in pairs(want) do
    names[#names + 1], list[#list + 1] = name, leaves[name]
  end
  if #names == 0 then return end
  local got = table.pack(lucerna.autograd.grad(out:sum(), list, {allow_unused = true}))
  for i, name in ipairs(names) do
    local gradient = got[i] or lucerna.zeros_like(list[i])
    parity.close(gradient, want[name], tolerance, message .. ": gradient of " .. name)
  end
end

local function ask(d, what, case, leaves)
  if SHOWN[what] then return d[what] end
  if what == "entropy" then return d:entropy() end
  local value = parity.tensor(what == "icdf" and case.u or case.value)
  if (case.grads[what] or {}).value then
    value:requires_grad_()
    leaves.value = value
  end
  return d[what](d, value)
end

local function check_samples(case)
  for key, dtype in pairs {sample = lucerna.float64, sample32 = lucerna.float32} do
    if case[key] then
      lucerna.manual_seed(5)
      local drawn = make(case.class, parameters(case.kw, dtype)):sample {3}
      parity.close(drawn, case[key], nil, key)
      assert.is_false(drawn.requires_grad)
    end
  end
  if case.rsample then
    local leaves = parameters(case.kw)
    lucerna.manual_seed(6)
    local drawn = make(case.class, leaves):rsample(2)
    parity.close(drawn, case.rsample, nil, "rsample")
    local weights = lucerna.arange(1, drawn:numel() + 1, {dtype = drawn.dtype}):view(drawn.shape)
    check_gradients(drawn * weights, leaves, case.weighted, "rsample")
  end
end

local function check(case)
  for what, want in pairs(case.out) do
    local leaves = parameters(case.kw)
    local out = ask(make(case.class, leaves), what, case, leaves)
    parity.close(out, want, case.near and NEAR, what)
    local tolerance = case.near and NEAR or what == "entropy" and ROUGH or nil
    if case.grads[what] then check_gradients(out, leaves, case.grads[what], what, tolerance) end
  end
  check_samples(case)
end

-- Expanded, it has values of the larger shape and the same densities.
local function check_expanded(case)
  local d = make(case.class, parameters(case.kw))
  local value = parity.tensor(case.value)
  local shape = table.move(d.batch_shape, 1, #d.batch_shape, 2, {2})
  local e = d:expand(shape)
  assert.same(shape, e.batch_shape)
  assert.same(d.event_shape, e.event_shape)
  assert.same(table.move(e.event_shape, 1, #e.event_shape, #shape + 1, {table.unpack(shape)}),
    e:sample().shape)
  if case.out.log_prob then
    parity.close(e:log_prob(value):detach(), d:log_prob(value):detach():expand(shape), nil,
      "log_prob of the expanded")
  end
end

local function check_divergence(case)
  local p, q = parameters(case.kw_p), parameters(case.kw_q)
  local out = D.kl_divergence(make(case.p, p), make(case.q, q))
  parity.close(out, case.kl, nil, "divergence")
  if out.requires_grad then
    check_gradients(out, p, case.grads_p, "p", ROUGH)
    out = D.kl_divergence(make(case.p, p), make(case.q, q))
    check_gradients(out, q, case.grads_q, "q", ROUGH)
  end
end

describe("distributions beside PyTorch:", function()
  for _, case in ipairs(parity.load("distributions")) do
    it(case.name, function()
      if case.kl then check_divergence(case) else check(case) end
    end)
    if not case.kl then
      it(case.name .. ", expanded", function() check_expanded(case) end)
    end
  end
end)

describe("distributions", function()
  local x = lucerna.tensor {0.5, 1.0}

  local refused = parity.refused

  it("refuse parameters outside their constraints, in PyTorch's words", function()
    refused("Expected parameter scale (Tensor of shape (2,)) of distribution "
      .. "Normal(loc: torch.Size([2]), scale: torch.Size([2])) to satisfy the constraint "
      .. "GreaterThan(lower_bound=0.0), but found invalid values: tensor([-0.5000, -1.0000])",
      D.Normal, x, -x)
    refused("Either `probs` or `logits` must be specified, but not both.", D.Bernoulli)
    refused("Either `probs` or `logits` must be specified, but not both.", D.Categorical, x, x)
    refused("`probs` parameter must be at least one-dimensional.", D.Categorical,
      lucerna.tensor(1.0))
    refused("`concentration` parameter must be at least one-dimensional.", D.Dirichlet,
      lucerna.tensor(1.0))
    refused("Expected parameter concentration (Tensor of shape (2,)) of distribution "
      .. "Dirichlet(concentration: torch.Size([2])) to satisfy the constraint "
      .. "IndependentConstraint(GreaterThan(lower_bound=0.0), 1), but found invalid values: "
      .. "tensor([-0.5000, -1.0000])", D.Dirichlet, -x)
    refused("Expected parameter rate (Tensor of shape ()) of distribution Poisson(rate: -1.0) to "
      .. "satisfy the constraint GreaterThanEq(lower_bound=0.0)", D.Poisson, -1)
    refused("Inhomogeneous total count not supported by `entropy`.",
      function() D.Binomial(lucerna.tensor {1, 2}, x):entropy() end)
    refused("Uniform is not defined when low>= high", D.Uniform, x, x)
    refused("Normal: scale must be a Tensor or a number (got nil)", D.Normal, x)
    refused("Normal: unknown argument 'scales' (did you mean 'scale'?)", D.Normal, x,
      {scales = 1})
  end)

  it("take no infinity for a count", function()
    local values = lucerna.tensor {-1, 0, 0.5, 2, 1 / 0, 0 / 0}
    local c = D.constraints
    assert.same({false, true, false, true, false, false},
      c.nonnegative_integer:check(values):tolist())
    assert.same({false, false, false, true, false, false},
      c.positive_integer:check(values):tolist())
    refused("log_prob: Expected value argument", function()
      D.Poisson(1.0):log_prob(lucerna.tensor(1 / 0))
    end)
  end)

  it("refuse values outside their support or of other shapes", function()
    local d = D.Categorical {probs = lucerna.ones(2, 3)}
    refused("to be within the support (IntegerInterval(lower_bound=1, upper_bound=3)) of the "
      .. "distribution Categorical(probs: torch.Size([2, 3])), but found invalid values: "
      .. "tensor([0, 3])", d.log_prob, d, lucerna.tensor {0, 3})
    refused("Value is not broadcastable with batch_shape+event_shape: torch.Size([3]) vs "
      .. "torch.Size([2]).", d.log_prob, d, lucerna.tensor {1, 2, 3})
    local o = D.OneHotCategorical(lucerna.ones(3))
    refused("The right-most size of value must match event_shape: torch.Size([2]) vs "
      .. "torch.Size([3]).", o.log_prob, o, x)
    refused("The value argument to log_prob must be a Tensor", d.log_prob, d, 1)
  end)

  it("refuse what they cannot be made of", function()
    local d = D.Normal(x, x)
    refused("Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
      .. "2 vs 1", D.Independent, d, 2)
    refused("base_distribution must be a Distribution (got number)", D.Independent, 3, 1)
    refused("transforms must be a Transform or list, but was 3", D.TransformedDistribution, d, 3)
    refused("transforms must be a Transform or a list of Transforms", D.TransformedDistribution,
      d, {3})
    refused("base_distribution needs to have shape with size at least 1, but got torch.Size([]).",
      D.TransformedDistribution, D.Normal(0, 1), T.SoftmaxTransform())
    refused("The Mixture distribution needs to be an instance of distributions.Categorical",
      D.MixtureSameFamily, d, d)
    refused("`mixture_distribution component` (3) does not equal "
      .. "`component_distribution.batch_shape[-1]` (2)", D.MixtureSameFamily,
      D.Categorical(lucerna.ones(3)), d)
    refused("Multinomial: inhomogeneous total_count is not supported", D.Multinomial, 1.5, x)
    refused("biject_to: Cannot transform Boolean constraints", D.biject_to,
      D.constraints.boolean)
    refused("transform_to: constraint must be a Constraint (got number)", D.transform_to, 1)
    refused("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.",
      D.MultivariateNormal, x)
    refused("scale_tril matrix must be at least two-dimensional, with optional leading batch "
      .. "dimensions", D.MultivariateNormal, x, {scale_tril = x})
    refused("to satisfy the constraint PositiveDefinite()", D.MultivariateNormal, x,
      -lucerna.eye(2))
    refused("to satisfy the constraint LowerCholesky()", D.MultivariateNormal, x,
      {scale_tril = lucerna.ones(2, 2)})
    refused("Wishart: Exactly one of covariance_matrix", D.Wishart, 3)
    refused("Wishart: Value of df=1.0 expected to be greater than ndim - 1 = 1.", D.Wishart, 1.0,
      lucerna.eye(2))
    refused("Wishart: df must be a Tensor or a number (got table)", D.Wishart, {}, lucerna.eye(2))
    refused("LKJCholesky: Expected dim to be an integer greater than or equal to 2. Found dim=1.",
      D.LKJCholesky, 1)
    refused("cov_factor must be a batch of matrices with shape 2 x m", D.LowRankMultivariateNormal,
      x, lucerna.ones(3, 1), x)
    refused("cov_diag must be a batch of vectors with shape 2", D.LowRankMultivariateNormal,
      x, lucerna.ones(2, 1), lucerna.ones(3))
    refused("to satisfy the constraint Interval(lower_bound=0.0, upper_bound=1.0)",
      D.ContinuousBernoulli, x * 2)
    refused("ContinuousBernoulli: lims must be two numbers", D.ContinuousBernoulli, x, nil, {3})
    refused("to satisfy the constraint GreaterThan(lower_bound=0.0)", D.VonMises, x, -x)
    refused("to satisfy the constraint GreaterThan(lower_bound=0.0)", D.GeneralizedPareto, x, -x, x)
    refused("AffineTransform: scale must be a Tensor or a number (got nil)", T.AffineTransform, 1)
    refused("have different numbers of elements", T.ReshapeTransform, {2}, {3})
    refused("cache_size must be 0 or 1", T.ExpTransform, 2)
    refused("CatTransform: lengths must have 1 entries (got 2)", T.CatTransform,
      {T.ExpTransform()}, 1, {1, 2})
    refused("StackTransform: tseq[2] must be a Transform (got number)", T.StackTransform,
      {T.ExpTransform(), 3})
    refused("StackTransform: x must have 1 places along dim 1 (got torch.Size([2]))",
      T.StackTransform {T.ExpTransform()}, x)
    refused("distribution must be a Distribution (got number)", T.CumulativeDistributionTransform,
      3)
    refused("Input is not a flattened lower-diagonal number (got 2)", T.CorrCholeskyTransform(), x)
    refused("to be within the support (GreaterThan(lower_bound=0.0)) of the distribution "
      .. "LogNormal(loc: 0.0, scale: 1.0)", function() D.LogNormal(0, 1):log_prob(-x) end)
  end)

  it("check nothing where validate_args is false", function()
    local d = D.Normal(x, -x, {validate_args = false})
    assert.same({2}, d:log_prob(x).shape)
    assert.is_true(D.Normal(x, x, false):log_prob(x * lucerna.nan):isnan():all():item())
    D.Distribution.set_default_validate_args(false)
    finally(function() D.Distribution.set_default_validate_args(true) end)
    assert.is_true(D.Normal(x, -x).scale:equal(-x))
  end)

  it("name what a distribution does not have", function()
    local d = D.Bernoulli(x)
    refused("Bernoulli does not implement rsample", d.rsample, d)
    refused("Bernoulli does not implement cdf", d.cdf, d, x)
    refused("Normal does not implement enumerate_support",
      function() D.Normal(x, x):enumerate_support() end)
    assert.is_nil(d.nothing)
  end)

  it("print as PyTorch's", function()
    assert.equal("Normal(loc: 0.5, scale: 0.10000000149011612)", tostring(D.Normal(0.5, 0.1)))
    local large = lucerna.tensor(1.3347785718331628e16, {dtype = lucerna.float64})
    assert.equal("Exponential(rate: 1.3347785718331628e+16)", tostring(D.Exponential(large)))
    assert.equal("Uniform(low: torch.Size([2]), high: torch.Size([2]))",
      tostring(D.Uniform(x, 2)))
    assert.equal("Interval(lower_bound=0.0, upper_bound=1.0)",
      tostring(D.constraints.unit_interval))
    assert.equal("IndependentConstraint(Real(), 1)", tostring(D.constraints.real_vector))
  end)

  it("have batch and event shapes, and expand", function()
    local d = D.Normal(lucerna.zeros(3, 1), x)
    assert.same({3, 2}, d.batch_shape)
    assert.same({}, d.event_shape)
    local e = d:expand(4, 3, 2)
    assert.same({4, 3, 2}, e.batch_shape)
    assert.same({5, 4, 3, 2}, e:sample(5).shape)
    assert.same({3, 2}, d.batch_shape)
    local c = D.OneHotCategorical(lucerna.ones(2, 3)):expand {4, 2}
    assert.same({4, 2}, c.batch_shape)
    assert.same({3}, c.event_shape)
    assert.same({4, 2}, c:log_prob(c:sample()).shape)
  end)

  it("expand what has been computed", function()
    local d = D.LowRankMultivariateNormal(lucerna.zeros(2), lucerna.ones(2, 1), lucerna.ones(2))
    local variance = d.variance
    for _, name in ipairs {"covariance_matrix", "precision_matrix", "scale_tril"} do
      assert.same({2, 2}, d[name].shape)
      assert.same({3, 2, 2}, d:expand(3)[name].shape)
    end
    assert.same({{2, 2}, {2, 2}, {2, 2}}, d:expand(3).variance:tolist())
    assert.same({2}, variance.shape)
  end)

  it("of the gamma family know their distribution function", function()
    local values = lucerna.tensor({0, 0.5, 9}, {dtype = lucerna.float64})
    local function near(expected, d)
      for k, p in ipairs(d:cdf(values):tolist()) do assert.is_near(expected[k], p, 1e-12) end
    end
    near({0, 0.026499021160743912, 0.9389005190396673}, D.Gamma(2, 0.5))
    near({0, 0.22119921692859512, 0.9888910034617577}, D.Chi2(2))
    local inverse = D.InverseGamma(lucerna.tensor {2.0}, lucerna.tensor {0.5})
    assert.is_near(0.7357588823428847, inverse:cdf(lucerna.tensor {0.5}):item(), 1e-6)
  end)

  it("enumerate their support", function()
    assert.same({{1, 1}, {2, 2}, {3, 3}},
      D.Categorical(lucerna.ones(2, 3)):enumerate_support():tolist())
    assert.same({{1}, {2}, {3}},
      D.Categorical(lucerna.ones(2, 3)):enumerate_support(false):tolist())
    assert.same({0, 1}, D.Bernoulli(0.5):enumerate_support():tolist())
    assert.same({0, 1, 2, 3}, D.Binomial(3, 0.5):enumerate_support():tolist())
    assert.same({2, 2, 2}, D.OneHotCategorical(lucerna.ones(2, 2)):enumerate_support().shape)
  end)

  it("have the gradient of what was first computed inside no_grad", function()
    local logits = lucerna.zeros(2, {requires_grad = true})
    local d = D.Bernoulli {logits = logits}
    d:sample()
    assert.is_true(d.probs.requires_grad)
  end)

  it("can be classes written in Lua", function()
    local Half = D.class("Half", D.Normal)
    function Half.getters:mean() return self.loc / 2 end
    local d = Half(x, 1)
    assert.equal(0.25, d.mean[1]:item())
    assert.equal(1.0, d.stddev[1]:item())
    assert.equal("Half(loc: torch.Size([2]), scale: torch.Size([2]))", tostring(d))
  end)
end)

describe("transforms", function()
  local x = lucerna.tensor {0.5, -1.0, 2.0}

  local MANY = {T.ExpTransform(), T.SigmoidTransform(), T.TanhTransform(), T.SoftplusTransform(),
    T.AffineTransform(1, -2), T.StickBreakingTransform(), T.ReshapeTransform({3}, {3, 1}),
    T.ComposeTransform {T.ExpTransform(), T.PowerTransform(0.5)},
    T.IndependentTransform(T.ExpTransform(), 1), T.CorrCholeskyTransform(),
    T.CatTransform({T.ExpTransform(), T.TanhTransform()}, 1, {2, 1}),
    T.StackTransform {T.ExpTransform(), T.TanhTransform(), T.identity_transform},
    T.CumulativeDistributionTransform(D.Normal(0, 1))}

  it("have inverses", function()
    for _, t in ipairs(MANY) do
      parity.close(t.inv(t(x)), x, {rtol = 1e-4, atol = 1e-5}, tostring(t))
      assert.equal(t, t.inv.inv)
      assert.is_true(t.bijective)
      assert.is_true(t.codomain:check(t(x)):all():item())
    end
    assert.is_false(T.SoftmaxTransform().bijective)
    local y = T.LowerCholeskyTransform()(lucerna.randn(2, 3, 3))
    assert.is_true(D.constraints.lower_cholesky:check(y):all():item())
    local matrices = lucerna.randn({2, 3, 3}, {dtype = lucerna.float64})
    local definite = T.PositiveDefiniteTransform()
    parity.close(definite.inv(definite(matrices)), matrices:tril())
  end)

  it("know the logarithm of their slope", function()
    for _, t in ipairs {MANY[1], MANY[2], MANY[3], MANY[4], MANY[5], MANY[8]} do
      local leaf = x:to(lucerna.float64):abs():requires_grad_()
      local y = t(leaf)
      local slope = lucerna.autograd.grad(y:sum(), leaf, {retain_graph = true})
      parity.close(t:log_abs_det_jacobian(leaf, y):detach(), slope:abs():log(), {rtol = 1e-9},
        tostring(t))
    end
  end)

  it("are equal where they do the same", function()
    assert.equal(T.AffineTransform(1, 2), T.AffineTransform(1, lucerna.tensor(2)))
    assert.not_equal(T.AffineTransform(1, 2), T.AffineTransform(1, 3))
    assert.not_equal(T.ExpTransform(), T.TanhTransform())
    assert.equal(T.ComposeTransform {T.ExpTransform()}, T.ComposeTransform {T.ExpTransform()})
  end)

  it("keep the last value where cache_size is 1", function()
    local t = T.TanhTransform(1)
    local y = t(x * 100)
    assert.equal(-100.0, t.inv(y)[2]:item())
    assert.equal(-math.huge, T.TanhTransform().inv(y)[2]:item())
    assert.equal(t, t:with_cache())
    local without = t:with_cache(0)
    assert.equal(-math.huge, without.inv(y)[2]:item())
    local inverse = T.AffineTransform(1, 100).inv:with_cache()
    assert.equal(1, inverse.inv._cache_size)
    assert.same({100, 1}, {inverse.inv.scale, inverse.inv.loc})
    assert.is_true(rawequal(x, inverse.inv.inv(inverse.inv(x))))
    local both = T.ComposeTransform({T.TanhTransform(), T.AffineTransform(0, 2)}, 1)
    assert.equal(-100.0, both.inv(both(x * 100))[2]:item())
    assert.equal(-100.0, both:with_cache(0):with_cache().inv(both(x * 100))[2]:item())
    parity.refused("TanhTransform: cache_size must be 0 or 1 (got 2)", t.with_cache, t, 2)
    assert.equal(0, t:with_cache{cache_size = 0}._cache_size)
    parity.refused("with_cache: must be called with a colon", t.with_cache)
  end)

  it("can be classes written in Lua", function()
    local Twice = T.class("Twice")
    Twice.domain, Twice.codomain = D.constraints.real, D.constraints.real
    function Twice:_call(v) return v * 2 end
    function Twice:_inverse(v) return v / 2 end
    function Twice:log_abs_det_jacobian(v) return lucerna.full_like(v, math.log(2)) end
    local d = D.TransformedDistribution(D.Normal(0, 1), Twice())
    assert.near(D.Normal(0, 2):log_prob(x):sum():item(), d:log_prob(x):sum():item(), 1e-5)
  end)
end)

describe("biject_to and transform_to", function()
  local x = lucerna.tensor {{0.5, -1.0, 2.0}, {0.0, 0.25, -3.0}}
  local c = D.constraints

  it("reach the constraint from any numbers", function()
    for _, constraint in ipairs {c.real, c.real_vector, c.positive, c.nonnegative,
      c.unit_interval, c.simplex, c.interval(-1, 3), c.less_than(2), c.greater_than(x),
      c.half_open_interval(0, 5), c.independent(c.positive, 1), c.corr_cholesky,
      c.cat({c.positive, c.real}, -1, {1, 2}), c.stack({c.positive, c.unit_interval}, 1)} do
      for _, registry in ipairs {D.biject_to, D.transform_to} do
        local y = registry(constraint)(x)
        assert.is_true(constraint:check(y):all():item(), tostring(constraint))
        if registry(constraint).bijective then
          parity.close(registry(constraint).inv(y), x, {rtol = 1e-4, atol = 1e-5},
            tostring(constraint))
        end
      end
    end
  end)

  it("take what is registered", function()
    local kept = D.biject_to._factories.Boolean
    finally(function() D.biject_to._factories.Boolean = kept end)
    D.biject_to:register(c.boolean, function() return T.SigmoidTransform() end)
    assert.equal(T.SigmoidTransform(), D.biject_to(c.boolean))
  end)
end)

describe("kl_divergence", function()
  it("follows from the normalizer of an exponential family", function()
    local Rate = D.class("Rate", D.ExponentialFamily)
    Rate.arg_constraints = {"rate", rate = D.constraints.positive}
    function Rate:__init(rate)
      self.rate = rate
      D.Distribution.__init(self, rate.shape)
    end
    function Rate.getters:_natural_params() return {-self.rate} end
    function Rate:_log_normalizer(x) return -(-x):log() end
    local p, q = lucerna.tensor {0.5, 2.0}, lucerna.tensor {1.5, 1.0}
    parity.close(Rate(p):entropy(), D.Exponential(p):entropy())
    parity.close(D.kl_divergence(Rate(p), Rate(q)),
      D.kl_divergence(D.Exponential(p), D.Exponential(q)))
  end)

  it("takes the formula of the nearest classes", function()
    local Half = D.class("Half", D.Normal)
    local p, q = Half(0, 1), D.Normal(1, 1)
    assert.near(0.5, D.kl_divergence(p, q):item(), 1e-6)
    D.register_kl(Half, D.Normal, function() return "own" end)
    assert.equal("own", D.kl_divergence(p, q))
    assert.near(0.5, D.kl_divergence(q, p):item(), 1e-6)
    D.register_kl(Half, Half)(function() return "both" end)
    assert.equal("both", D.kl_divergence(p, p))
  end)

  it("refuses pairs without a formula and what is no distribution", function()
    local function message(...) return parity.message(D.kl_divergence, ...) end
    assert.matches("No KL%(p || q%) is implemented for p type Normal and q type Poisson",
      message(D.Normal(0, 1), D.Poisson(1)))
    assert.matches("q must be a Distribution %(got number%)", message(D.Normal(0, 1), 2))
    assert.matches("p must be a Distribution %(got nil%)", message())
    parity.refused("Expected type_p to be a Distribution subclass but got 1",
      D.register_kl, 1, D.Normal)
  end)
end)

describe("samples have the mean and variance of", function()
  local SAMPLED = {
    Normal = {1.5, 2.0}, Laplace = {-1.0, 0.5}, Uniform = {-1.0, 3.0}, Exponential = {2.0},
    Bernoulli = {0.3}, Gamma = {2.5, 2.0}, StudentT = {9.0}, Beta = {2.0, 0.5}, Chi2 = {3.0},
    Gumbel = {1.0, 2.0}, Weibull = {1.0, 2.0}, LogNormal = {0.0, 0.25}, HalfNormal = {2.0},
    NegativeBinomial = {5.0, 0.25}, Poisson = {14.0}, Binomial = {40, 0.3}, Geometric = {0.25},
  }
  for name, args in pairs(SAMPLED) do
    it(name, function()
      lucerna.manual_seed(1)
      local d = D[name](table.unpack(args))
      local n = 40000
      local drawn = d:sample(n)
      local deviation = d.stddev:item()
      assert.near(d.mean:item(), drawn:mean():item(), 5 * deviation / math.sqrt(n))
      assert.near(1, drawn:std():item() / deviation, 0.06)
    end)
  end
end)

describe("samples", function()
  local n = 20000

  it("of categories come as often as their probabilities say", function()
    lucerna.manual_seed(2)
    local probs = lucerna.tensor {{0.2, 0.3, 0.5}, {0.6, 0.1, 0.3}}
    local often = D.OneHotCategorical(probs):sample(n):mean(1)
    parity.close(often, probs, {atol = 0.02}, "one-hot")
    local ids = D.Categorical(probs):sample(n)
    for k = 1, 3 do
      local part = ids:eq(k):to(lucerna.float32):mean(1)
      parity.close(part, probs:select(2, k), {atol = 0.02}, "category " .. k)
    end
    local mixed = D.MixtureSameFamily(D.Categorical(probs),
      D.Normal(lucerna.tensor {-5.0, 0.0, 5.0}, 1)):sample(n)
    parity.close(mixed:mean(1), lucerna.tensor {1.5, -1.5}, {atol = 0.15}, "mixture")
  end)

  it("of angles stay on the circle, near loc", function()
    lucerna.manual_seed(5)
    local d = D.VonMises(lucerna.tensor {3.0, 0.5}, lucerna.tensor {4.0, 1e-7})
    local x = d:sample(n)
    assert.is_true(x:ge(-math.pi):logical_and(x:lt(math.pi)):all():item())
    parity.close(1 - (x - d.loc):cos():mean(1), d.variance, {atol = 0.02}, "variance")
    local broken = D.VonMises(0.0, lucerna.tensor {0.0, 0 / 0, math.huge}, false):sample()
    assert.is_true(broken:isnan():all():item())
  end)

  it("of matrices have their means", function()
    lucerna.manual_seed(6)
    local covariance = lucerna.tensor {{2.0, -0.5}, {-0.5, 0.75}}
    local d = D.Wishart(lucerna.tensor {3.5, 6.0}, covariance)
    local x = d:sample(n)
    parity.close(x:mean(1) / d.mean, lucerna.ones(2, 2, 2), {atol = 0.05}, "mean")
    parity.close(x:var(1) / d.variance, lucerna.ones(2, 2, 2), {atol = 0.1}, "variance")
    local low = D.LowRankMultivariateNormal(lucerna.tensor {1.0, 2.0},
      lucerna.tensor {{1.0}, {-0.5}}, lucerna.tensor {0.5, 0.25})
    parity.close(low:sample(n):t():cov(), low.covariance_matrix, {atol = 0.05}, "low rank")
    local factors = D.LKJCholesky(3, 2.0):sample(n)
    assert.is_true(D.constraints.corr_cholesky:check(factors):all():item())
  end)

  it("of tails have their quantiles", function()
    lucerna.manual_seed(7)
    for _, c in ipairs {-0.5, 0.0, 0.3, 2.0} do
      local d = D.GeneralizedPareto(1.0, 2.0, c)
      local x, q = d:sample(n), lucerna.tensor {0.1, 0.5, 0.9}
      parity.close(d:cdf(x:quantile(q)), q, {atol = 0.02}, "concentration " .. c)
    end
  end)

  it("of vectors have their covariance", function()
    lucerna.manual_seed(3)
    local covariance = lucerna.tensor {{2.0, -0.5}, {-0.5, 0.75}}
    local x = D.MultivariateNormal(lucerna.tensor {1.0, 2.0}, covariance):sample(n)
    local from = x - x:mean(1)
    parity.close(x:mean(1), lucerna.tensor {1.0, 2.0}, {atol = 0.05}, "mean")
    parity.close(from:t():matmul(from) / n, covariance, {atol = 0.08}, "covariance")
    local d = D.Dirichlet(lucerna.tensor {0.5, 2.0, 4.0})
    parity.close(d:sample(n):mean(1), d.mean, {atol = 0.01}, "Dirichlet")
  end)

  it("have on average the gradient of their mean", function()
    for name, args in pairs {Gamma = {2.5, 2.0}, Beta = {2.0, 0.5}, Exponential = {2.0},
      LogNormal = {0.0, 0.5}, Gumbel = {1.0, 2.0}, Weibull = {1.0, 2.0}} do
      lucerna.manual_seed(4)
      local leaves = {}
      for i, v in ipairs(args) do
        leaves[i] = lucerna.tensor(v, {dtype = lucerna.float64, requires_grad = true})
      end
      local d = D[name](table.unpack(leaves))
      local want = table.pack(lucerna.autograd.grad(d.mean, leaves, {retain_graph = true}))
      local got = table.pack(lucerna.autograd.grad(d:rsample(n):mean(), leaves))
      for i = 1, #leaves do
        assert.near(want[i]:item(), got[i]:item(), 0.05, name .. " " .. i)
      end
    end
  end)

  it("of one seed are the same again", function()
    lucerna.manual_seed(5)
    local first = D.Gamma(2.0, 1.0):sample(5):tolist()
    lucerna.manual_seed(5)
    assert.same(first, D.Gamma(2.0, 1.0):sample {5}:tolist())
  end)

  it("come in shapes of sizes, tables and names", function()
    local d = D.Normal(lucerna.zeros(2), 1)
    for _, drawn in ipairs {d:sample(3, 4), d:sample {3, 4}, d:sample {sample_shape = {3, 4}}} do
      assert.same({3, 4, 2}, drawn.shape)
    end
    assert.same({2}, d:sample().shape)
    assert.same({0, 2}, d:sample(0).shape)
    parity.refused("sample_shape must be sizes (got -1)", d.sample, d, -1)
    parity.refused("unknown argument 'shape'", d.sample, d, {shape = {1}})
  end)
end)
