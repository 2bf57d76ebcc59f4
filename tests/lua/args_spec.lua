-- Calling operators from Lua: positional and keyword arguments, sizes, lists, counting from 1, and
-- what comes back. One parser, driven by the operators' schemas, serves them all.
local lucerna = require "lucerna"
local parity = require "parity"

local x = lucerna.tensor({ { 1, 2, 3 }, { 4, 5, 6.5 } })

describe("arguments", function()
  it("are positional, or named in a trailing table", function()
    local expected = x:sum(2, true):tolist()
    assert.same(expected, x:sum(2, { keepdim = true }):tolist())
    assert.same(expected, x:sum({ dim = 2, keepdim = true }):tolist())
    assert.same(expected, lucerna.sum(x, { dim = 2, keepdim = true }):tolist())
    assert.same(expected, lucerna.sum({ input = x, dim = 2, keepdim = true }):tolist())
    local double = lucerna.float64 -- the third of softmax
    assert.equal(double, lucerna.softmax(x, 1, double).dtype)
    assert.equal(double, x:log_softmax(-1, double).dtype)
  end)

  it("go by name to steps, updates and densities as well", function()
    local optim, D = lucerna.optim, lucerna.distributions
    local p = lucerna.nn.Parameter(lucerna.ones(1))
    local function loss() return 3 end
    for _, name in ipairs { "SGD", "Adafactor", "LBFGS" } do
      p.grad = lucerna.zeros(1)
      assert.equal(3, optim[name]({ p }):step({ closure = loss }))
    end
    local o = optim.SGD({ p }, 1.0)
    optim.lr_scheduler.StepLR(o, 1):step({ epoch = 2 })
    assert.near(0.01, o.param_groups[1].lr, 1e-9)
    optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 4):step({ epoch = 0 })
    local plateau = optim.lr_scheduler.ReduceLROnPlateau(o)
    plateau:step({ metrics = 5.0 })
    assert.equal(5.0, plateau.best)
    local scaler = lucerna.amp.GradScaler("cpu")
    scaler:scale(p)
    scaler:update({ new_scale = 8.0 })
    assert.equal(8.0, scaler:get_scale())
    assert.equal(32, lucerna.finfo({ dtype = lucerna.float32 }).bits)
    assert.equal(127, lucerna.iinfo({ dtype = lucerna.int8 }).max)
    local normal = D.Normal(0.0, 1.0)
    assert.equal(0.5, normal:cdf({ value = lucerna.tensor(0.0) }):item())
    assert.equal(0.0, D.kl_divergence({ p = normal, q = normal }):item())
    parity.refused("step: unknown argument 'closer' (did you mean 'closure'?)", o.step, o,
      { closer = loss })
  end)

  it("may be positional and named in one table", function()
    assert.same({ { 0, 0 } }, lucerna.zeros({ 1, 2, dtype = lucerna.int64 }):tolist())
    assert.same(x:sum(2, true):tolist(), x:sum({ 2, keepdim = true }):tolist())
  end)

  it("may be an empty table where options could be", function()
    assert.same(x:sum():item(), x:sum({}):item())
    assert.same({}, lucerna.zeros({}).shape)
  end)

  it("may be options that are all nil, after sizes and for a list of fixed length too", function()
    local none = { dtype = nil }
    assert.same({ 2, 3 }, lucerna.zeros(2, 3, none).shape)
    assert.same({ 3, 1 }, x:new_ones(3, 1, none).shape)
    assert.same({ 1 }, lucerna.rand(1, none).shape)
    assert.same({ x:numel() }, x:view(-1, none).shape)
    assert.same({}, lucerna.randint(1, 5, none).shape) -- low and high; none is the size
    assert.equal("Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))",
      tostring(lucerna.nn.Conv2d(1, 2, 3, none)))
    assert.same({ 1, 2, 2 }, lucerna.nn.functional.avg_pool2d(lucerna.ones(1, 4, 4), 2, none).shape)
    local relu = lucerna.nn.functional.relu
    assert.same({ 0.0, 2.0 }, relu(lucerna.tensor { -1.0, 2.0 }, true, none):tolist())
    parity.refused("Conv2d: missing argument 'kernel_size'", lucerna.nn.Conv2d, 1, 2, none)
    parity.refused("rand: size must be a table of integers (got table at position 2)",
      lucerna.rand, 1, none, none)
  end)

  it("may be an empty table for what is written in Lua, too", function()
    local nn, linear = lucerna.nn, lucerna.nn.Linear(2, 2)
    assert.equal(linear, linear:eval():train({}))
    assert.is_true(linear.training)
    assert.equal(linear, linear:to({}):to(lucerna.float32, {}))
    assert.equal(2048, nn.TransformerEncoderLayer(4, 2, {}).linear1.out_features)
    assert.equal(2048, nn.TransformerDecoderLayer(4, 2, {}).linear1.out_features)
    local layer = nn.TransformerEncoderLayer(2, 1, { dim_feedforward = 2 })
    assert.same({ 1, 1, 2 }, layer(lucerna.ones(1, 1, 2), {}).shape)
    assert.is_nil(nn.TransformerEncoder(layer, 1, {}).norm)
    assert.same({ 2, 2 }, nn.Transformer.generate_square_subsequent_mask(2, {}).shape)
    assert.equal(3, nn.AdaptiveLogSoftmaxWithLoss(4, 4, { 2 }, {}).head_size)
    assert.equal(0.75, nn.CrossMapLRN2d(2, {}).beta)
    assert.equal("auto", nn.LinearCrossEntropyOptions({}).acc_policy)
    assert.equal(1.0, nn.TripletMarginWithDistanceLoss({}).margin)
    assert.same({ 2, 2 }, nn.init.xavier_uniform_(lucerna.empty(2, 2), {}).shape)
    assert.equal(0.0, nn.utils.clip_grad_norm_({}, 1.0, {}):item())
    assert.same({ 2, 1 }, nn.utils.weight_norm(nn.Linear(2, 2), {}).weight_g.shape)
    for _, name in ipairs { "weight_norm", "spectral_norm", "orthogonal" } do
      local made = nn.utils.parametrizations[name](nn.Linear(2, 2), {})
      assert.is_true(nn.utils.parametrize.is_parametrized(made, "weight"))
    end
    local sgd = lucerna.optim.SGD(linear:parameters(), { lr = 1 })
    assert.equal(0.1, lucerna.optim.lr_scheduler.StepLR(sgd, 2, {}).gamma)
    assert.equal(5, lucerna.optim.lr_scheduler.LinearLR(sgd, {}).total_iters)
    assert.equal(10, lucerna.optim.lr_scheduler.ReduceLROnPlateau(sgd, {}).patience)
    assert.same({}, lucerna.optim.lr_scheduler.MultiStepLR(sgd, {}).milestones)
    parity.refused("cutoffs should be a sequence", nn.AdaptiveLogSoftmaxWithLoss, 4, 4, {})
  end)

  it("may be an empty table for the rest of it as well", function()
    local nn, ones = lucerna.nn, lucerna.ones
    local utils, rnn, schedulers = nn.utils, nn.utils.rnn, lucerna.optim.lr_scheduler
    local long, short = ones(3, 2), ones(2, 2)
    assert.same({ 3, 2, 2 }, rnn.pad_sequence({ long, short }, {}).shape)
    local packed = rnn.pack_sequence({ long, short }, {})
    assert.same({ 3, 2, 2 }, rnn.pad_packed_sequence(packed, {}).shape)
    assert.same({ 5, 2 }, rnn.pack_padded_sequence(ones(3, 2, 2), { 3, 2 }, {}).data.shape)
    assert.same({ 2, 2 }, rnn.unpad_sequence(ones(3, 2, 2), lucerna.tensor { 3, 2 }, {})[2].shape)
    local sgd = lucerna.optim.SGD({ long }, { lr = 0.5 })
    assert.is_nil(sgd:step({}))
    assert.equal(1, schedulers.CyclicLR(sgd, 0.5, 1, {}).max_lrs[1])
    local plateau = schedulers.ReduceLROnPlateau(sgd)
    plateau:step(3.0, {})
    assert.equal(1, plateau.last_epoch)
    local steps = schedulers.StepLR(sgd, 2)
    steps:step({})
    assert.equal(1, steps.last_epoch)
    assert.equal(32, lucerna.finfo({}).bits)
    assert.same({ 1 }, schedulers.LambdaLR(sgd, function() return 2 end, {}):get_last_lr())
    assert.equal(10, lucerna.optim.swa_utils.SWALR(sgd, 1, {}).anneal_epochs)
    parity.refused("You must define either total_steps", schedulers.OneCycleLR, sgd, 1, {})
    assert.equal(3, #lucerna.data.RandomSampler(long, {}))
    assert.equal(2, #lucerna.data.random_split(long, { 1, 2 }, {}))
    assert.equal(65536, lucerna.amp.GradScaler({}):get_scale())
    assert.equal(2, utils.get_total_norm({ short }, {}):item())
    local pruned = utils.prune.l1_unstructured(nn.Linear(2, 2), "weight", 1, {})
    assert.equal(3, pruned.weight_mask:sum():item())
    assert.same({ 2 }, lucerna.distributions.Categorical(ones(2), {}).probs.shape)
    local net = nn.Sequential()
    net:set_submodule("0", nn.ReLU(), {})
    assert.equal(1, #net)
    assert.equal(2, #utils.remove_weight_norm(utils.weight_norm(nn.Linear(2, 2)), {}).weight)
  end)

  it("may be named in calls of modules, of those written in Lua too", function()
    local nn, ones = lucerna.nn, lucerna.ones
    local input, targets = ones(2, 4), lucerna.tensor { 1, 3 }
    assert.same({ 2, 1 }, nn.Linear(4, 1) { input = input }.shape)
    assert.same({ 1, 2, 1, 1 }, nn.CrossMapLRN2d(2) { input = ones(1, 2, 1, 1) }.shape)
    assert.equal(0.5, nn.TripletMarginWithDistanceLoss { margin = 0.5 } {
      anchor = input, negative = input, positive = input }:item())
    local fused = nn.LinearCrossEntropyLoss(4, 3)
    local clusters = nn.AdaptiveLogSoftmaxWithLoss(4, 4, { 2 })
    assert.equal(fused(input, targets):item(), fused { target = targets, input = input }:item())
    local _, loss = clusters(input, targets)
    local _, named = clusters { input_ = input, target_ = targets }
    assert.equal(loss:item(), named:item())
    assert.same(clusters:predict(input):tolist(), clusters:predict({ input = input }):tolist())
    parity.refused("AdaptiveLogSoftmaxWithLoss: target must be a Tensor (got nil)", clusters, input)
    parity.refused("AdaptiveLogSoftmaxWithLoss: takes at most 2 arguments (got 3)", clusters, input,
      targets, 1)
    parity.refused("CrossMapLRN2d: unknown argument 'x'", nn.CrossMapLRN2d(2), { x = input })
  end)

  it("choose among the forms of a function by their names", function()
    assert.same({ 1, 2 }, lucerna.arange(1, { ["end"] = 3 }):tolist())
    parity.refused("arange: argument 'end' is given twice", lucerna.arange, 1, 3, { ["end"] = 3 })
  end)

  it("may be tensors of no dimensions where numbers are expected", function()
    local t = lucerna.tensor
    assert.same({ 0, 1, 2 }, lucerna.arange(t(3)):tolist())
    assert.same({ 2.5, 2.5 }, lucerna.full({ 2 }, t(2.5)):tolist())
    assert.same({ 0.0, 0.5, 1.0 }, lucerna.linspace(t(0), t(1.0), t(3)):tolist())
    assert.same({ 4, 5 }, x[2]:narrow(1, t(1), t(2)):tolist())
    assert.same({ 7.0 }, lucerna.ones(1):add(3, { alpha = t(2) }):tolist())
    parity.refused("narrow: start must be an index (got Tensor [])", x.narrow, x, 1, t(1.0), 1)
    parity.refused("linspace: start must be a number or boolean (got Tensor [1])",
      lucerna.linspace, t { 1 }, 2, 3)
    parity.refused("linspace: end must be a number or boolean (got Tensor [])",
      lucerna.linspace, 1, t(2.0, { requires_grad = true }), 3)
    parity.refused("linspace: end must be a number or boolean (got Tensor [])",
      lucerna.linspace, 1, t(2.0):to(lucerna.complex64), 3)
  end)

  it("may be such tensors in lists of integers, too", function()
    local t = lucerna.tensor
    local n = t(2)
    assert.same({ 2, 3 }, lucerna.zeros(n, 3).shape)
    assert.same({ 3, 2 }, lucerna.zeros(3, n).shape)
    assert.same({ 2 }, lucerna.rand(n).shape)
    assert.same({ 2, 4 }, lucerna.full({ n, t(4, { dtype = lucerna.int8 }) }, 1).shape)
    assert.same({ 2 }, lucerna.randint(0, n, { n }).shape)
    assert.same({ 2, 6 }, lucerna.arange(12):view(n, -1).shape)
    assert.same({ 2, 6 }, lucerna.arange(12):reshape({ n, 6 }).shape)
    assert.same({ 2, 2, 3 }, x:expand(n, 2, 3).shape)
    assert.same({ 6, 15.5 }, x:sum(n):tolist())
    assert.same({ 1, 1, 2 }, lucerna.nn.functional.avg_pool1d(lucerna.ones(1, 1, 4), n).shape)
    assert.same({ 0, 0, 1 }, lucerna.nn.functional.pad(t { 1 }, { n, 0 }):tolist())
    parity.refused("zeros: size must be a table of integers (got Tensor [] at position 2)",
      lucerna.zeros, 3, t(2.0))
    parity.refused("zeros: size must be a table of integers (got Tensor [1] at position 1)",
      lucerna.zeros, { t { 2 }, 3 })
  end)

  it("may have NumPy's names", function()
    assert.same(x:sum(1, true):tolist(), x:sum { axis = 1, keepdims = true }:tolist())
    assert.same(lucerna.cat({ x, x }, 1).shape, lucerna.cat({ x, x }, { axis = 1 }).shape)
    parity.refused("sum: argument '%a+' is given twice", x.sum, x, { axis = 1, dim = 1 })
    parity.refused("unknown argument 'axis'", lucerna.nn.Softmax, { axis = 1 })
  end)

  it("name what the overload that knows the others lacks", function()
    local y = lucerna.ones(2, 2)
    parity.refused("max: unknown argument 'keepdm' (did you mean 'keepdim'?)", y.max, y,
      { dim = 1, keepdm = true })
    parity.refused("arange: unknown argument 'stp' (did you mean 'step'?)", lucerna.arange,
      { start = 1, ["end"] = 3, stp = 1 })
    parity.refused("to: unknown argument 'non_block' (did you mean 'non_blocking'?)", y.to, y,
      { device = "cpu", non_block = true })
    parity.refused("max: keepdim must be a boolean (got number 7)", y.max, y,
      { dim = 1, keepdim = 7 })
  end)

  it("are refused when the name is unknown, with the closest one", function()
    parity.refused("full: unknown argument 'value' (did you mean 'fill_value'?)", lucerna.full,
      { size = { 2 }, value = 1 })
    parity.refused("sum: unknown argument 'keepdi' (did you mean 'keepdim'?)",
      x.sum, x, 1, { keepdi = true })
    parity.refused("sum: unknown argument 'zzzzzzzz'$", x.sum, x, 1, { zzzzzzzz = true })
  end)

  it("are refused when given twice, missing or too many", function()
    parity.refused("sum: argument 'dim' is given twice", x.sum, x, 1, { dim = 1 })
    parity.refused("transpose: missing argument 'dim1'", x.transpose, x, 1)
    parity.refused("unsqueeze: takes at most 2 arguments (got 3)", x.unsqueeze, x, 1, 2)
  end)

  it("are refused when of the wrong kind, naming what was given", function()
    parity.refused("add: other must be a Tensor or a number (got string 'one')",
      lucerna.add, x, "one")
    parity.refused("add: other must be a Tensor or a number (got nil)", lucerna.add, x, nil)
    parity.refused("transpose: dim0 must be a dimension (got Tensor [2, 3])", x.transpose, x, x, 1)
    parity.refused("sum: keepdim must be a boolean (got number 1)", x.sum, x, 1, 1)
    parity.refused("transpose: dim0 must be a dimension %(got number 1.5%)", x.transpose, x, 1.5, 1)
    parity.refused("cat: tensors must be a table of Tensors (got number 2 at position 2)",
      lucerna.cat, { x, 2 })
  end)

  it("take floats without a fraction for integers, and nil for defaults", function()
    assert.same(x:sum(1):tolist(), x:sum(1.0):tolist())
    assert.same(x:sum(1):tolist(), x:sum(1, nil):tolist())
    assert.same(x:sum():item(), x:sum(lucerna.none):item())
  end)

  it("take dtypes as objects or names", function()
    assert.equal(lucerna.float64, lucerna.zeros(2, { dtype = "float64" }).dtype)
    assert.has_error(function() lucerna.zeros(2, { dtype = "float31" }) end)
  end)
end)

describe("sizes and lists", function()
  it("go as varargs or as one table", function()
    assert.same({ 3, 2 }, x:view(3, 2).shape)
    assert.same({ 3, 2 }, x:view({ 3, -1 }).shape)
    assert.same({ 2, 3 }, lucerna.zeros(2, 3).shape)
    assert.same({ 2, 3 }, lucerna.zeros({ 2, 3 }).shape)
    assert.same({ 3, 2 }, x:permute(2, 1).shape)
    assert.same({ 3, 2 }, x:permute({ 2, 1 }).shape)
  end)

  it("are arrays, which a table with holes, names or a length of its own is not", function()
    local proxy = setmetatable({}, {
      __index = function() return 2 end,
      __len = function() return 3 end,
    })
    local object = setmetatable({2, 3}, {__index = {}})
    assert.same({2, 3}, lucerna.ones(object):size())
    assert.same({2, 3}, lucerna.tensor(object):tolist())
    for _, list in ipairs {proxy, {[2] = 3}, setmetatable({}, {__len = print})} do
      parity.refused("ones: size must be a table of integers (got table)", lucerna.ones, list)
      parity.refused("sum: dim must be a table of dimensions or nil (got table)", x.sum, x, list)
      parity.refused("cat: tensors must be a table of Tensors (got table)", lucerna.cat, list)
      parity.refused("tensor: expected an array of values (got a table that is none)",
        lucerna.tensor, {list})
    end
  end)

  it("of tensors are tables", function()
    assert.same({ 4, 3 }, lucerna.cat({ x, x }).shape)
    assert.same({ 2, 6 }, lucerna.cat({ x, x }, 2).shape)
    assert.same({ 2, 6 }, lucerna.cat({ x, x }, { dim = -1 }).shape)
  end)

  it("can be long", function()
    local many = {}
    for i = 1, 300 do many[i] = x end
    assert.same({ 600, 3 }, lucerna.cat(many).shape)
  end)

  it("parts whose sizes add up to more than a number holds are refused", function()
    local many, huge = {}, lucerna.zeros(1):expand(1 << 57)
    for i = 1, 128 do many[i] = huge end
    parity.refused(": cat: .* larger than any memory$", lucerna.cat, many)
    parity.refused(": block_diag: .* any memory$", lucerna.block_diag, many)
    many[129] = lucerna.ones(3)
    parity.refused(": hstack: .* larger than any memory$", lucerna.hstack, many)
  end)
end)

describe("dimensions and indices", function()
  it("count from 1 or from the end", function()
    assert.same({ 5.0, 7.0, 9.5 }, x:sum(1):tolist())
    assert.same({ 6.0, 15.5 }, x:sum(-1):tolist())
    assert.same({ 6.0, 15.5 }, x:sum({ 2 }):tolist())
  end)

  it("refuse 0 and what is out of range, in the user's counting", function()
    parity.refused("sum: dim 0 is out of range [-2, 2] (dims count from 1)", x.sum, x, 0)
    parity.refused("sum: dim 3 is out of range [-2, 2]", x.sum, x, 3)
    parity.refused("select: index 0 is out of range [1, 2]", x.select, x, 1, 0)
  end)

  it("inside index tensors count from 1 too, going in and coming out", function()
    local ids = lucerna.tensor { 2, 1 }
    assert.same({ { 4.0, 5.0, 6.5 }, { 1.0, 2.0, 3.0 } }, x:index_select(1, ids):tolist())
    assert.same({ 2, 1 }, ids:tolist())
    local values, positions = lucerna.tensor({ { 1.0, 5.0 }, { 7.0, 2.0 } }):max(2)
    assert.same({ 5.0, 7.0 }, values:tolist())
    assert.same({ 2, 1 }, positions:tolist())
    assert.equal(6, x:argmax():item())
    parity.refused("index_select: index 0 is out of range",
      x.index_select, x, 1, lucerna.tensor { 0 })
  end)

  it("do not disturb what autograd has saved", function()
    local w = lucerna.tensor({ { 1.0, 5.0 }, { 7.0, 2.0 } }, { requires_grad = true })
    local values, positions = w:max(2)
    assert.same({ 2, 1 }, positions:tolist())
    values:sum():backward()
    assert.same({ { 0.0, 1.0 }, { 1.0, 0.0 } }, w.grad:tolist())
  end)
end)

describe("results", function()
  it("of a fixed number come back one by one, lists as a table", function()
    assert.equal(2, select("#", x:max(1)))
    local parts = x:split(1)
    assert.equal(2, #parts)
    assert.same({ { 4.0, 5.0, 6.5 } }, parts[2]:tolist())
    assert.equal(3, #x:unbind(2))
  end)

  it("that are no tensors are Lua values", function()
    assert.is_true(lucerna.equal(x, x))
    assert.equal("boolean", type(lucerna.allclose(x, x)))
  end)

  it("are the argument itself where there is nothing to do", function()
    local y, f = lucerna.ones(2), lucerna.float32
    local w = lucerna.ones(2, { requires_grad = true })
    for _, same in ipairs { y:contiguous(), y:positive(), y:conj(), y:resolve_conj(), y:cpu(),
      y:float(), y:to(f), y:to(f, true), y:to("cpu"), y:to("cpu", f, true), y:to(x, true),
      y:to("cpu", { non_blocking = true }), y:type_as(x), y:type(f, true), y:to { dtype = f },
      y:flatten(), y:flatten(1, -1) } do
      assert.is_true(rawequal(y, same))
    end
    assert.is_true(rawequal(w, w:contiguous()))
    parity.refused("out of range", y.flatten, y, 2, 2)
    local turned = lucerna.ones(2, 3):t()
    for _, other in ipairs { y:double(), y:to(f, false, true), y:to("cpu", f, false, true),
      y:to("float64"), y:to(turned, true, true), y:to(f, { copy = true }),
      turned:contiguous() } do
      assert.is_false(rawequal(y, other) or rawequal(turned, other))
    end
    assert.same({ 2, 1 }, turned:contiguous():stride())
    parity.refused("positive: not implemented for bool", lucerna.positive, lucerna.tensor { true })
    local z = lucerna.complex(lucerna.ones(1), lucerna.ones(1))
    assert.is_false(rawequal(z, z:conj()))
    assert.is_true(rawequal(y, y:contiguous()))
  end)

  it("go into out=", function()
    local r = lucerna.empty(0)
    local s = lucerna.add(x, 1, { out = r })
    assert.is_true(rawequal(r, s))
    assert.same({ 2, 3 }, r.shape)
    parity.refused("unknown argument 'out'", x.view, x, 6, { out = r })
  end)

  it("go into out= as a list or by name where there are several", function()
    local values, indices = lucerna.empty(0), lucerna.empty({ 0 }, { dtype = lucerna.int64 })
    local y = lucerna.tensor { 3.0, 1.0, 2.0 }
    for _, out in ipairs { { values, indices }, { indices = indices, values = values } } do
      local a, b = lucerna.sort(y, { out = out })
      assert.is_true(rawequal(a, values) and rawequal(b, indices))
      assert.same({ 2, 3, 1 }, indices:tolist())
      indices:zero_()
    end
    lucerna.max(x, 1, { out = { values, indices } })
    assert.same({ 4.0, 5.0, 6.5 }, values:tolist())
    assert.same({ 2, 2, 2 }, indices:tolist())
  end)

  it("take positions as int64, or as int32 where that is asked for", function()
    local short = lucerna.zeros({ 2 }, { dtype = lucerna.int32 })
    local function found(options)
      options.out = short
      return lucerna.searchsorted(lucerna.arange(3.0), lucerna.tensor { 0.5, 2.5 }, options)
    end
    assert.same({ 2, 4 }, found { out_int32 = true }:tolist())
    parity.refused("searchsorted: expected out tensor dtype Long but got: Int", found, {})
    parity.refused("argmax: expected out tensor dtype Long but got: Int",
      lucerna.argmax, x, 1, { out = short })
    assert.same({ 2, 4 }, short:tolist())
  end)

  it("are not half written where out= does not fit", function()
    local values, whole = lucerna.zeros(1), lucerna.zeros({ 1 }, { dtype = lucerna.int64 })
    local function refused(text, out)
      parity.refused(text, lucerna.sort, x, { out = out })
      assert.same({ 0.0 }, values:tolist())
    end
    refused("sort: result type Float can't be cast to the desired output type Long",
      { whole, whole })
    refused("sort: expected out tensor dtype Long but got: Float", { values, lucerna.zeros(1) })
    refused("sort: out has no tensor for indices", { values })
    parity.refused("frexp: out has no tensor for mantissa", lucerna.frexp, x, { out = {} })
    refused("sort: out must be a table of 2 tensors (got a userdata)", values)
    refused("sort: out[values] must be a Tensor (got number 3)", { 3, whole })
    local leaf = lucerna.ones(3, { requires_grad = true })
    parity.refused("out= does not support automatic differentiation",
      lucerna.sort, leaf, { out = { values, whole } })
    for _, compare in ipairs { "eq", "ne", "lt", "le", "gt", "ge", "logical_and" } do
      for _, dtype in ipairs { "bool", "float32", "int64" } do
        local truth = lucerna.empty(3, { dtype = dtype })
        lucerna[compare](leaf, leaf, { out = truth }) -- what is no function of leaf
        assert.same(lucerna[compare](leaf, leaf):tolist(), truth:bool():tolist())
      end
    end
  end)
end)

describe("in-place forms", function()
  it("write their tensor and return it", function()
    local y = lucerna.ones(2)
    local z = y
    assert.is_true(rawequal(y, y:add_(2):mul_(3)))
    assert.same({ 9.0, 9.0 }, z:tolist())
    assert.is_true(rawequal(y, y:fill_(4)))
    parity.refused("result type Float can't be cast to the desired output type Long",
      function() lucerna.tensor({ 1 }):add_(1.5) end)
  end)
end)

describe("overloads", function()
  it("are chosen by number and kind of arguments", function()
    local y = lucerna.tensor { 3.0, 1.0 }
    assert.equal(3.0, y:max():item())
    assert.equal(3.0, (y:max(1)):item())
    assert.same({ 3.0, 2.0 }, y:max(lucerna.tensor({ 2.0, 2.0 })):tolist())
    assert.same({ 0, 1, 2 }, lucerna.arange(3):tolist())
    assert.same({ 1, 2 }, lucerna.arange(1, 3):tolist())
    assert.same({ 1, 3 }, lucerna.arange(1, 5, 2):tolist())
    assert.same({ 1, 3 }, lucerna.arange({ start = 1, ["end"] = 5, step = 2 }):tolist())
  end)
end)

describe("arguments of functions written in Lua", function()
  local arguments, none = require "lucerna.arguments", lucerna.none
  local NAMES = { "size", "stride", "pad" }

  local function values(...)
    local v = table.pack(arguments("f", NAMES, ...))
    return { v[1] or "-", v[2] or "-", v[3] or "-" }
  end

  it("are given back in the order of their names", function()
    assert.same({ "-", "-", "-" }, values())
    assert.same({ 1, "-", "-" }, values(1))
    assert.same({ 1, 2, 3 }, values(1, 2, 3))
    assert.same({ 1, "-", 3 }, values { pad = 3, size = 1 })
    assert.same({ 1, "-", 3 }, values(1, { pad = 3 }))
    assert.same({ "-", 2, 3 }, values(nil, 2, { pad = 3 }))
    assert.same({ "-", 2, "-" }, values(none, 2, { pad = none }))
    assert.equal(false, (select(2, arguments("f", NAMES, 1, { stride = false }))))
  end)

  it("may be arrays, empty tables and objects", function()
    local array, empty, object = { 1, pad = 2 }, {}, setmetatable({ pad = 3 }, {})
    for _, value in ipairs { array, empty, object } do
      assert.equal(value, (arguments("f", NAMES, value)))
      assert.equal(value, (select(2, arguments("f", NAMES, 1, value))))
    end
    assert.is_nil((arguments("f", {})))
  end)

  it("are refused with the function's name and the closest one", function()
    parity.refused(": f: takes at most 3 arguments %(got 4%)$", values, 1, 2, 3, 4)
    parity.refused(": f: takes at most 0 arguments %(got 1%)$", arguments, "f", {}, 1)
    parity.refused(": f: unknown argument 'strid' %(did you mean 'stride'%?%)$", values,
      { strid = 1 })
    parity.refused(": f: unknown argument 'colour'$", values, 1, { colour = 1 })
    local mixed = { pad = 1, [true] = 2 } -- begins with either key
    if next(mixed) == "pad" then
      parity.refused(": f: unknown argument 'true'$", values, mixed)
    end
    parity.refused(": f: argument 'size' is given twice$", values, 1, { size = 2 })
    parity.refused(": f: argument 'size' is given twice$", values, none, { size = 2 })
  end)
end)
