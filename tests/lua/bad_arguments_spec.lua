-- Every public function written in Lua, and every class, called with what it cannot use: whatever
-- it says is one line for its caller, not an accident inside the library.

local lucerna = require "lucerna"
local nn = lucerna.nn

local PLACES = {
  nn = nn, utils = nn.utils, rnn = nn.utils.rnn, prune = nn.utils.prune,
  parametrize = nn.utils.parametrize, parametrizations = nn.utils.parametrizations,
  stateless = nn.utils.stateless, init = nn.init, parallel = nn.parallel, grad = nn.grad,
  attention = require "lucerna.nn.attention", optim = lucerna.optim,
  lr_scheduler = lucerna.optim.lr_scheduler, swa_utils = require "lucerna.optim.swa_utils",
  linalg = lucerna.linalg, special = lucerna.special,
  distributions = lucerna.distributions, constraints = lucerna.distributions.constraints,
  transforms = lucerna.distributions.transforms, func = lucerna.func, fft = lucerna.fft,
  profiler = require "lucerna.profiler",
  data = lucerna.data, autograd = lucerna.autograd, safetensors = lucerna.safetensors,
  numpy = lucerna.numpy, checkpoint = lucerna.utils.checkpoint, amp = lucerna.amp,
  lucerna = {
    summary = lucerna.summary, dot = lucerna.dot, save = lucerna.save, load = lucerna.load,
    no_grad = lucerna.no_grad, scope = lucerna.scope,
  },
}

local ARGUMENTS = {
  {}, {3}, {"x"}, {{}}, {function() end}, {lucerna.ones(2, 3)}, {true}, {lucerna.zeros(0)},
  {0 / 0}, {nn.ReLU()}, {lucerna.none}, {{bogus = 1}}, {3, "y", {}}, {nn.ReLU, 3},
  {lucerna.ones(2), lucerna.ones(3), "z"}, {nn.ReLU(), "weight", -1},
}

-- Hooks of every module would stay, and files would be written.
local SKIPPED = { save = true, save_file = true, write_png = true, savez = true,
  save_image = true, write_csv = true, savez_compressed = true }

local function names_in(place)
  local names, meta = {}, getmetatable(place)
  for name in pairs(place) do names[name] = true end
  for _, name in ipairs(type(meta) == "table" and meta.__names and meta.__names() or {}) do
    names[name] = true
  end
  local list = {}
  for name in pairs(names) do
    local public = type(name) == "string" and not name:find("^_")
    if public and not SKIPPED[name] and not name:find("^register_") then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local function is_callable(f)
  local meta = getmetatable(f)
  return type(f) == "function" or (type(meta) == "table" and meta.__call ~= nil)
end

-- What is wrong with an error.
local function flaw(err)
  if type(err) ~= "string" then return "a " .. type(err) .. " was raised" end
  local loading = err:find("loading state_dict", 1, true) -- PyTorch's, of several lines
  if err:find("\n", 1, true) and not loading then return "several lines: " .. err end
  if err:find("attempt to ", 1, true) or err:find("bad argument", 1, true) then return err end
end

-- Modes that were asked for without a function last.
local function reset_modes() lucerna.set_grad_enabled(true) end

describe("what cannot be used is refused in one line by", function()
  after_each(reset_modes)
  for title, place in pairs(PLACES) do
    it(title, function()
      local flaws = {}
      for _, name in ipairs(names_in(place)) do
        for k, arguments in ipairs(is_callable(place[name]) and ARGUMENTS or {}) do
          local ok, err = pcall(place[name], table.unpack(arguments))
          local bad = not ok and flaw(err)
          if bad then flaws[#flaws + 1] = ("%s, arguments %d: %s"):format(name, k, bad) end
        end
      end
      assert.are.equal("", table.concat(flaws, "\n"))
    end)
  end
end)

-- ---- methods ----

local function trainers()
  local optim = lucerna.optim
  local S, swa, list = optim.lr_scheduler, require "lucerna.optim.swa_utils", {}
  local function optimizer(kind)
    return optim[kind or "SGD"]({lucerna.ones(2):requires_grad_()}, {lr = 0.1})
  end
  for _, kind in ipairs {"SGD", "Adam", "Adafactor", "LBFGS"} do
    list[#list + 1] = optimizer(kind)
  end
  for kind, arguments in pairs {StepLR = {2}, ConstantLR = {}, CosineAnnealingWarmRestarts = {3},
    LambdaLR = {function() return 1 end}, ReduceLROnPlateau = {}, OneCycleLR = {0.1, 10}} do
    list[#list + 1] = S[kind](optimizer(), table.unpack(arguments))
  end
  list[#list + 1] = S.ChainedScheduler {S.StepLR(optimizer(), 2)}
  list[#list + 1] = swa.AveragedModel(nn.Linear(2, 2))
  list[#list + 1] = lucerna.amp.GradScaler()
  return list
end

local function objects()
  local D = lucerna.distributions
  local p = lucerna.tensor {0.5, 0.25}
  local exp, matrix = D.ExpTransform(), lucerna.eye(2)
  return {
    D.Bernoulli(p), D.Beta(p, p), D.Binomial(3, p), D.Categorical(p), D.Cauchy(p, p), D.Chi2(p),
    D.ContinuousBernoulli(p), D.Dirichlet(p), D.Exponential(p), D.FisherSnedecor(p, p),
    D.Gamma(p, p), D.Geometric(p), D.Gumbel(p, p), D.HalfCauchy(p), D.HalfNormal(p),
    D.Independent(D.Normal(p, p), 1), D.Kumaraswamy(p, p), D.Laplace(p, p), D.LKJCholesky(3, 1),
    D.LogNormal(p, p), D.LogisticNormal(p, p),
    D.MixtureSameFamily(D.Categorical(p), D.Normal(p, p)),
    D.LowRankMultivariateNormal(p, lucerna.ones(2, 1), p), D.Multinomial(3, p),
    D.MultivariateNormal(p, matrix), D.NegativeBinomial(3, p), D.Normal(p, p),
    D.OneHotCategorical(p), D.Pareto(p, p), D.Poisson(p), D.RelaxedBernoulli(1.0, p),
    D.RelaxedOneHotCategorical(lucerna.tensor(1.0), p), D.StudentT(p), D.Uniform(0, p),
    D.TransformedDistribution(D.Normal(p, p), {exp}), D.VonMises(p, p), D.Weibull(p, p),
    D.Wishart(3, matrix),
    exp, exp.inv, D.AbsTransform(), D.AffineTransform(0, p), D.CatTransform({exp, exp}, 1),
    D.ComposeTransform {exp, exp}, D.CorrCholeskyTransform(), D.IndependentTransform(exp, 1),
    D.LowerCholeskyTransform(), D.PositiveDefiniteTransform(), D.PowerTransform(p),
    D.ReshapeTransform({2}, {1, 2}), D.SigmoidTransform(), D.SoftmaxTransform(),
    D.SoftplusTransform(), D.StackTransform({exp, exp}, 1), D.StickBreakingTransform(),
    D.TanhTransform(),
    D.constraints.real, D.constraints.simplex, D.constraints.corr_cholesky, D.constraints.square,
    D.constraints.positive_definite, D.constraints.nonnegative_integer, D.constraints.boolean,
    (select(2, require("lucerna.profiler").profile(function() return p + 1 end))),
    lucerna.nn.ReLU():register_forward_hook(print),
    nn.BatchNorm1d(2), nn.AdaptiveLogSoftmaxWithLoss(4, 6, {2}), nn.ModuleList {nn.ReLU()},
    nn.Sequential(nn.ReLU()), nn.ParameterDict {a = nn.Parameter(p)}, nn.ModuleDict {a = nn.ReLU()},
    nn.utils.rnn.pack_sequence {p}, lucerna.data.DistributedSampler(lucerna.ones(3), 2, 0),
    table.unpack(trainers()),
  }
end

-- Those of all these objects; "" calls the object.
local METHODS = {
  "", "sample", "rsample", "expand", "log_prob", "cdf", "icdf", "entropy", "perplexity",
  "enumerate_support", "forward_shape", "inverse_shape", "log_abs_det_jacobian", "inv", "check",
  "events", "key_averages", "table", "chrome_trace",
  "step", "zero_grad", "add_param_group", "state_dict", "load_state_dict", "get_last_lr", "get_lr",
  "register_step_pre_hook", "register_load_state_dict_post_hook", "update_parameters", "scale",
  "unscale_", "update", "remove", "get_scale", "set_growth_factor", "get_growth_interval",
  "with_cache", "reset_running_stats", "reset_parameters", "to", "cpu", "double", "is_pinned",
  "pin_memory", "set_epoch", "positions", "append", "insert", "pop", "get", "setdefault",
  "predict",
}

local function method(object, name)
  if name == "" then return is_callable(object) and function(o, ...) return o(...) end end
  local ok, f = pcall(function() return object[name] end)
  return ok and type(f) == "function" and f
end

describe("methods refuse in one line what they cannot use:", function()
  after_each(reset_modes)
  for _, name in ipairs(METHODS) do
    it(name, function()
      local flaws = {}
      for _, object in ipairs(objects()) do
        local f = method(object, name)
        for k, arguments in ipairs(f and ARGUMENTS or {}) do
          local with = table.pack(pcall(f, object, table.unpack(arguments)))
          local without = name == "" and {true} or table.pack(pcall(f, table.unpack(arguments)))
          for _, result in ipairs {with, without} do
            local bad = not result[1] and flaw(result[2])
            if bad then flaws[#flaws + 1] = ("%s %d: %s"):format(tostring(object), k, bad) end
          end
        end
      end
      assert.are.equal("", table.concat(flaws, "\n"))
    end)
  end
end)
