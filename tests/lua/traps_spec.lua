-- The semantics that are most often got wrong, one test each, with values of PyTorch: what a reader
-- would look for first. The rest of each function is tested with its family.

local lucerna = require "lucerna"
local parity = require "parity"
local nn, optim, F = lucerna.nn, lucerna.optim, lucerna.nn.functional
local T = lucerna.tensor

local function near(expected, actual, tolerance)
  if type(expected) == "table" and not lucerna.is_tensor(expected) then expected = T(expected) end
  if type(expected) == "number" and lucerna.is_tensor(actual) then actual = actual:item() end
  local options = {rtol = tolerance or 1e-6, atol = tolerance or 1e-6, dtype = false}
  parity.close(actual, expected, options)
end

-- A tensor whose numbers are all this one.
local function fill(parameter, value)
  lucerna.no_grad(function() parameter:copy_(T(value):expand(parameter:size())) end)
end

-- The parameter after some steps with these gradients, from 1.
local function stepped(make, grads)
  local p = nn.Parameter(lucerna.ones(1, {dtype = lucerna.float64}))
  local o, path = make({p}), {}
  for k, g in ipairs(grads) do
    p.grad = T({g}, {dtype = lucerna.float64})
    o:step()
    path[k] = p:item()
  end
  return path
end

local function agree(expected, actual)
  assert.are.equal(#expected, #actual)
  for k, v in ipairs(expected) do near(v, actual[k], 1e-8) end
end

describe("trap:", function()
  it("1 cross entropy's mean divides by the weights of what counts", function()
    local x, t = T {{1.0, 2, 3}, {1, 0, -1}, {0, 0, 5}}, T {3, 1, 2}
    local w = T {1, 2, 0.5}
    near(1.9428660, F.cross_entropy(x, t))
    near(3.0394802, F.cross_entropy(x, t, w))
    near(0.4076059, F.cross_entropy(x, t, {ignore_index = 2}))
    near(1.9539771, F.cross_entropy(x, t, {label_smoothing = 0.1}))
    near(2.9726758, F.cross_entropy(x, t, w, {label_smoothing = 0.1}))
    near(0.5858063, F.cross_entropy(x, t, w, {label_smoothing = 0.1, ignore_index = 2}))
    local none = T {2, 2, 2}
    assert.are_not.equal(F.cross_entropy(x, none, {ignore_index = 2}):item(),
      F.cross_entropy(x, none, {ignore_index = 2}):item())
    assert.are.equal(0.0, F.cross_entropy(x, none, {ignore_index = 2, reduction = "sum"}):item())
    local p = T {{0.0, 0, 1}, {1, 0, 0}, {0, 1, 0}}
    near(F.cross_entropy(x, t, w, {reduction = "sum"}):item() / 3, F.cross_entropy(x, p, w))
  end)

  it("2 BatchNorm stores the unbiased variance, and counts before its mean of all", function()
    local x = T {{1.0, 2}, {3, 6}}
    local bn = nn.BatchNorm1d(2)
    near({{-0.9999950, -0.9999988}, {0.9999950, 0.9999988}}, bn(x):detach())
    near({0.2, 0.4}, bn.running_mean)
    near({1.1, 1.7}, bn.running_var)
    local mean = nn.BatchNorm1d(2, {momentum = lucerna.none})
    mean(x)
    near({2, 4}, mean.running_mean)
    mean(x + 2)
    near({3, 5}, mean.running_mean)
    assert.are.equal(2, mean.num_batches_tracked:item())
  end)

  it("3 AdamW shrinks the parameter, Adam adds decay to the gradient", function()
    local options = {lr = 0.1, weight_decay = 0.5}
    agree({0.85, 0.7075}, stepped(function(p) return optim.AdamW(p, options) end, {2.0, 2.0}))
    local path = stepped(function(p) return optim.Adam(p, options) end, {2.0, 2.0})
    near(1 - 0.1 * 2.5 / (2.5 + 1e-8), path[1], 1e-12)
    near(1 - 0.1 * 2 / (2 + 1), -- eps is added to the corrected root
      stepped(function(p) return optim.Adam(p, {lr = 0.1, eps = 1}) end, {2.0})[1], 1e-12)
  end)

  it("4 SGD's buffer begins as the gradient, and knows no rate", function()
    local function sgd(options)
      return function(p) options.lr = 0.1 return optim.SGD(p, options) end
    end
    agree({0.8, 0.57}, stepped(sgd {momentum = 0.9, dampening = 0.75}, {2.0, 2.0}))
    agree({0.62, 0.116}, stepped(sgd {momentum = 0.9, nesterov = true}, {2.0, 1.8}))
    agree({0.75, 0.75 - 0.1 * (0.9 * 2.5 + 2 + 0.5 * 0.75)},
      stepped(sgd {momentum = 0.9, weight_decay = 0.5}, {2.0, 2.0}))
  end)

  it("5 LSTM's gates are i, f, g, o; both biases count; proj_size is h's alone", function()
    local cell = nn.LSTMCell(1, 1)
    fill(cell.weight_ih, {{0.0}})
    fill(cell.weight_hh, {{0.0}})
    fill(cell.bias_ih, {0.5, -0.5, 1.0, 2.0})
    fill(cell.bias_hh, {0.5, -0.5, 1.0, 2.0})
    local function sigmoid(v) return 1 / (1 + math.exp(-v)) end
    local function tanh(v) return 2 * sigmoid(2 * v) - 1 end
    local h, c = cell(lucerna.zeros(1, 1), {lucerna.zeros(1, 1), lucerna.ones(1, 1)})
    local expected = sigmoid(-1) + sigmoid(1) * tanh(2)
    near(expected, c)
    near(sigmoid(4) * tanh(expected), h)
    local _, state = nn.LSTM(2, 4, {proj_size = 3})(lucerna.zeros(5, 2, 2))
    assert.are.same({{1, 2, 3}, {1, 2, 4}}, {state[1]:size(), state[2]:size()})
  end)

  it("6 GRU's gates are r, z, n, and r applies after the product and its bias", function()
    local cell = nn.GRUCell(1, 1)
    fill(cell.weight_ih, {{0.0}})
    fill(cell.weight_hh, {{0.0}})
    fill(cell.bias_ih, {0.0, 1.0, 0.25})
    fill(cell.bias_hh, {-1.0, 1.0, 2.0})
    local r, z = 1 / (1 + math.exp(1)), 1 / (1 + math.exp(-2))
    local n = 2 / (1 + math.exp(-2 * (0.25 + r * 2))) - 1
    near((1 - z) * n + z * 0.5, cell(lucerna.zeros(1, 1), T {{0.5}}))
  end)

  it("7 recurrent stacks: order of states, dropout between layers only", function()
    lucerna.manual_seed(0)
    local rnn = nn.RNN(2, 3, {num_layers = 2, bidirectional = true, batch_first = true})
    local x = lucerna.randn(4, 5, 2)
    local out, h = rnn(x)
    assert.are.same({4, 5, 6}, out:size())
    assert.are.same({4, 4, 3}, h:size())
    near(out[{{}, -1, {1, 3}}]:detach(), h[3]:detach())
    near(out[{{}, 1, {4, 6}}]:detach(), h[4]:detach())
    local one = nn.GRU(2, 3, {dropout = 1.0})
    near(one(x):detach(), one:eval()(x):detach())
    local two = nn.GRU(2, 3, {num_layers = 2, dropout = 1.0, bias = false})
    assert.are.equal(0.0, two(x):abs():sum():item()) -- the second layer sees zeros
  end)

  it("8 convolution does not flip; a transposed one has (in, out / groups, k)", function()
    near({{12.0, 23.0}}, F.conv1d(T {{1.0, 2, 3}}, T {{{10.0, 1}}}))
    local layer = nn.ConvTranspose2d(4, 6, {3, 5}, {groups = 2})
    assert.are.same({4, 3, 3, 5}, layer.weight:size())
    local bound = 1 / math.sqrt(3 * 15)
    assert.is_true(layer.weight:abs():max():item() <= bound)
    assert.is_true(layer.weight:abs():max():item() > 0.9 * bound)
    local positional = nn.ConvTranspose1d(1, 1, 2, 1, 0, 0, 1, false, 3)
    assert.are.equal("ConvTranspose1d(1, 1, kernel_size=(2,), stride=(1,), dilation=(3,), "
      .. "bias=False)", tostring(positional))
  end)

  it("9 'same' pads the odd cell on the right", function()
    local x, k = T {{1.0, 2, 3}}, T {{{1.0, 10}}}
    near({{21.0, 32, 3}}, F.conv1d(x, k, {padding = "same"}))
    assert.has_error(function() F.conv1d(x, k, {padding = "same", stride = 2}) end)
    local ring = nn.Conv1d(1, 1, 3, {padding = 1, padding_mode = "circular", bias = false})
    fill(ring.weight, {{{1.0, 10, 100}}})
    near({{213.0, 321, 132}}, ring(x):detach())
  end)

  it("10 with ceil_mode a window that begins past the input is dropped", function()
    local x = lucerna.arange(1.0, 6):view(1, 1, 5)
    near({{{2.0, 4, 5}}}, F.max_pool1d(x, 2, 2, {ceil_mode = true}))
    local short = lucerna.arange(1.0, 5):view(1, 1, 4)
    near({{{1.0, 4}}}, F.max_pool1d(short, 1, 3, {ceil_mode = true}))
    near({{{1.0, 3, 4}}}, F.max_pool1d(short, 2, 2, 1, {ceil_mode = true}))
  end)

  it("11 averages divide by padded windows, real cells or what they are told", function()
    local x = lucerna.arange(1.0, 7):view(1, 1, 6)
    near({{{0.5, 2.5, 4.5, 3}}}, F.avg_pool1d(x, 2, 2, 1, {ceil_mode = true}))
    near({{{1.0, 2.5, 4.5, 6}}},
      F.avg_pool1d(x, 2, 2, 1, {ceil_mode = true, count_include_pad = false}))
    near({{{10.0 / 3}}}, F.avg_pool2d(T {{{1.0, 2}, {3, 4}}}, 2, {divisor_override = 3}))
  end)

  it("12 maxima pad with -inf, keep NaN, take the first; adaptive windows overlap", function()
    near({{{-1.0, -2}}}, F.max_pool1d(T {{{-1.0, -2, -3}}}, 2, 2, 1))
    local _, at = F.max_pool2d(T {{{1.0, 5}, {5, 5}}}, 2, {return_indices = true})
    assert.are.equal(2, at:item())
    local nan = F.max_pool1d(T {{{1.0, 0 / 0, 3}}}, 3):item()
    assert.are_not.equal(nan, nan)
    near({{{1.5, 3.0, 4.5}}}, F.adaptive_avg_pool1d(T {{{1.0, 2, 3, 4, 5}}}, 3))
    assert.has_error(function() F.max_pool1d(lucerna.ones(1, 1, 4), 2, 1, 2) end)
  end)

  it("13 GELU is exact by default; softplus becomes linear", function()
    near(0.8413447, F.gelu(T(1.0)))
    near(0.8411920, F.gelu(T(1.0), {approximate = "tanh"}))
    assert.are.equal(20.5, F.softplus(T(20.5)):item())
    assert.are.equal(3.0, F.softplus(T(3.0), {beta = 2, threshold = 5}):item())
  end)

  it("14 resizing: half pixels, floors, the scale as given", function()
    local x = T {{{1.0, 2, 3, 4}}}
    local function resized(options) return F.interpolate(x, options):reshape(-1) end
    near({1.5, 3.5}, resized {size = 2, mode = "linear"})
    near({1.0, 4.0}, resized {size = 2, mode = "linear", align_corners = true})
    near({1.0, 2, 3}, resized {size = 3, mode = "nearest"})
    near({1.0, 3, 4}, resized {size = 3, mode = "nearest-exact"})
    near({1.0, 1.6538462, 2.4230769, 3.1923077, 3.9615385},
      resized {scale_factor = 1.3, mode = "linear"})
    near({1.0, 1.7, 2.5, 3.3, 4.0},
      resized {scale_factor = 1.3, mode = "linear", recompute_scale_factor = true})
    local image = T {{{{1.0, 2, 4, 8}}}}
    near({1.2037, 4.0}, F.interpolate(image:expand(1, 1, 4, 4), {scale_factor = 0.6,
      mode = "bicubic"})[1][1][1], 1e-4)
    local grid = F.affine_grid(T {{{1.0, 0, 0}, {0, 1, 0}}}, {1, 1, 1, 2})
    near({{{{-0.5, 0}, {0.5, 0}}}}, grid)
  end)

  it("15 masks: the module's true is blocked, the function's true attends", function()
    local q = lucerna.ones(1, 1, 2)
    local k, v = lucerna.ones(1, 2, 2), T {{{1.0, 1}, {3, 3}}}
    near({{{1.0, 1}}}, F.scaled_dot_product_attention(q, k, v, T {{true, false}}))
    near({{{2.0, 2}}}, F.scaled_dot_product_attention(q, k, v, T {{0.0, 0}}))
    local causal = F.scaled_dot_product_attention(k, k, v, {is_causal = true})
    near({{{1.0, 1}, {2, 2}}}, causal)
    near({{{1.0, 1}}}, F.scaled_dot_product_attention(q, k, v, {is_causal = true}))
    local mha = nn.MultiheadAttention(2, 1, {batch_first = true})
    local _, w = mha(q, k, v, {attn_mask = T {{true, false}}})
    near({{{0.0, 1}}}, w:detach())
    _, w = mha(q, k, v, {key_padding_mask = T {{false, true}}})
    near({{{1.0, 0}}}, w:detach())
    _, w = mha(q, k, v, {attn_mask = T {{true, true}}})
    assert.are_not.equal(w:sum():item(), w:sum():item()) -- NaN
    assert.has_error(function() mha(q, k, v, {is_causal = true}) end)
    local two = nn.MultiheadAttention(2, 2, {batch_first = true})
    local mask = T {{{true, false}}, {{false, true}}}
    _, w = two(q, k, v, {attn_mask = mask, average_attn_weights = false})
    near({{{{0.0, 1}}, {{1, 0}}}}, w:detach())
  end)

  it("16 attention's rows are q, k, v; heads are next to each other", function()
    local mha = nn.MultiheadAttention(4, 2, {bias = false})
    assert.are.same({12, 4}, mha.in_proj_weight:size())
    local bound = math.sqrt(6 / (12 + 4))
    assert.is_true(mha.in_proj_weight:abs():max():item() <= bound)
    assert.is_true(mha.in_proj_weight:abs():max():item() > 0.8 * bound)
    local eye = lucerna.eye(4)
    fill(mha.out_proj.weight, eye:tolist())
    fill(mha.in_proj_weight, lucerna.cat {eye, eye, eye}:tolist())
    local x = T {{{1.0, 0, 0, 2}}, {{0, 1, 0, 0}}} -- [L, N, E]
    local y, w = mha(x, x, x, {average_attn_weights = false})
    local s = 1 / math.sqrt(2)
    local a, b = math.exp(s) / (math.exp(s) + 1), math.exp(4 * s) / (math.exp(4 * s) + 1)
    near({a, 1 - a}, w[1][1][1]:detach())
    near({b, 1 - b}, w[1][2][1]:detach())
    near({a, 1 - a, 0, 2 * b}, y[1][1]:detach())
    local _, mean = mha(x, x, x)
    near((a + b) / 2, mean[1][1][1]:item())
  end)

  it("17 padding_idx begins as zeros without gradient; max_norm writes the table", function()
    local layer = nn.Embedding(3, 2, {padding_idx = 1})
    assert.are.same({0.0, 0.0}, layer.weight[1]:tolist())
    lucerna.no_grad(function() layer.weight[1] = 7 end)
    local y = layer(T {1, 2})
    assert.are.same({7.0, 7.0}, y[1]:tolist())
    y:sum():backward()
    assert.are.same({{0.0, 0.0}, {1.0, 1.0}, {0.0, 0.0}}, layer.weight.grad:tolist())
    local kept = nn.Embedding.from_pretrained(lucerna.ones(2, 2), {padding_idx = 1})
    assert.are.same({1.0, 1.0}, kept.weight[1]:tolist())
    local short = nn.Embedding(2, 2, {max_norm = 1})
    fill(short.weight, {3.0, 4.0})
    short(T {2})
    near({{3.0, 4.0}, {0.6, 0.8}}, short.weight:detach())
  end)

  it("18 dropout scales what it keeps; whole channels; defaults of training", function()
    local ones = lucerna.ones(4, 5, 6)
    for _, v in ipairs(F.dropout(ones, 0.75):flatten():tolist()) do
      assert.is_true(v == 0 or v == 4)
    end
    assert.are.equal(0.0, F.dropout(ones, 1):sum():item())
    local channels = nn.Dropout2d(0.5)(lucerna.ones(4, 5, 2, 3)):flatten(3)
    for _, rows in ipairs(channels:tolist()) do
      for _, c in ipairs(rows) do assert.are.same({c[1], c[1], c[1], c[1], c[1], c[1]}, c) end
    end
    assert.is_true(lucerna.equal(ones, F.alpha_dropout(ones, 0.5)))
    assert.is_true(lucerna.equal(ones, F.feature_alpha_dropout(ones, 0.5)))
    assert.is_false(lucerna.equal(ones, F.dropout(ones)))
    assert.is_true(lucerna.equal(ones, nn.Dropout(0.5):eval()(ones)))
  end)

  it("19 kaiming counts what enters; a is a slope; trunc_normal_'s limits are values", function()
    local layer = nn.Conv2d(4, 64, 3)
    for _, p in ipairs {layer.weight, layer.bias} do
      local most = p:abs():max():item()
      assert.is_true(most <= 1 / 6 and most > 0.9 / 6)
    end
    local w = nn.init.kaiming_uniform_(lucerna.empty(50, 100), {a = 1})
    local bound = math.sqrt(3 / 100)
    assert.is_true(w:max():item() <= bound and w:max():item() > 0.95 * bound)
    w = nn.init.trunc_normal_(lucerna.empty(1000), 0, 10, -2, 2)
    assert.is_true(w:min():item() >= -2 and w:max():item() <= 2 and w:max():item() > 1.5)
  end)

  it("20 clipping takes one norm of all; zero_grad drops gradients", function()
    local a, b = nn.Parameter(lucerna.zeros(1)), nn.Parameter(lucerna.zeros(1))
    a.grad, b.grad = T {3.0}, T {4.0}
    near(5.0, nn.utils.clip_grad_norm_({a, b}, 1))
    near({0.5999999}, a.grad, 1e-8)
    near({0.7999998}, b.grad, 4e-8)
    optim.SGD({a, b}, {lr = 1}):zero_grad()
    assert.is_nil(a.grad)
  end)

  it("21 KL divergence takes logarithms; BCE cuts them; with logits it is stable", function()
    local p, q = T {{0.5, 0.5}, {1.0, 0.0}}, T {{0.25, 0.75}, {0.5, 0.5}}
    local total = 0.5 * math.log(2) + 0.5 * math.log(0.5 / 0.75) + math.log(2)
    near(total / 4, F.kl_div(q:log(), p))
    near(total / 2, F.kl_div(q:log(), p, {reduction = "batchmean"}))
    assert.are.equal(100.0, F.binary_cross_entropy(T {0.0}, T {1.0}):item())
    local logits = F.binary_cross_entropy_with_logits
    assert.are.equal(1000.0, logits(T {-1000.0}, T {1.0}):item())
    near(3 * math.log(2), logits(T {0.0}, T {1.0}, {pos_weight = T {3.0}}))
    near(math.log(2), logits(T {0.0}, T {0.0}, {pos_weight = T {3.0}}))
  end)

  it("22 smooth L1 is Huber by its knee; squares broadcast, BCE does not", function()
    local d, zero = T {0.25, 3.0}, lucerna.zeros(2)
    near({0.0625, 2.75}, F.smooth_l1_loss(d, zero, {beta = 0.5, reduction = "none"}))
    near({0.03125, 1.375}, F.huber_loss(d, zero, {delta = 0.5, reduction = "none"}))
    near(1.0, F.mse_loss(lucerna.ones(2, 3), lucerna.zeros(3)))
    assert.has_error(function() F.binary_cross_entropy(lucerna.ones(2, 3), lucerna.ones(3)) end)
  end)

  it("23 norms: biased variance, the last dimensions, defaults of eps and affine", function()
    near({{-1.0690433, -0.2672608, 1.3363042}}, F.layer_norm(T {{1.0, 2, 4}}, {3}), 1e-5)
    assert.are.equal(1, #nn.RMSNorm(3):state_dict())
    near({{1.0, 1.0}}, F.rms_norm(T {{1e-3, 1e-3}}, {2}) / (1 / math.sqrt(1 + 2 ^ -23 / 1e-6)))
    local narrow = F.rms_norm(T({{1e-2, 1e-2}}, {dtype = lucerna.float16}), {2})
    near({{1.0, 1.0}}, narrow / (1 / math.sqrt(1 + 2 ^ -23 / 1e-4)), 2e-3) -- float32's eps
    local instance = nn.InstanceNorm2d(3)
    assert.are.equal(0, #instance:state_dict())
    near({{0.5, 0}}, F.normalize(T {{0.5, 0}}, {eps = 1}))
    near(0.5, F.cosine_similarity(T {{0.5, 0}}, T {{1.0, 0}}, {eps = 1, dim = 2}):item())
    near(math.sqrt(2) * 0.5, F.pairwise_distance(T {{1.0, 1}}, T {{1.0, 1}}, 2, 0.5):item())
  end)

  it("24 state dicts alias, keep their order, and load into what is there", function()
    local bn = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1))
    local keys, state = {}, bn:state_dict()
    for key in pairs(state) do keys[#keys + 1] = key end
    assert.are.same({"0.weight", "0.bias", "0.running_mean", "0.running_var",
      "0.num_batches_tracked", "1.weight", "1.bias"}, keys)
    state["0.running_mean"]:fill_(5)
    assert.are.same({5.0, 5.0}, bn[1].running_mean:tolist())
    local tied = nn.ModuleList {bn[2], bn[2]}
    assert.are.equal(4, #tied:state_dict())
    local target = nn.Linear(2, 1):double()
    local weight = target.weight
    target:load_state_dict(bn[2]:state_dict())
    assert.are.equal(weight, target.weight)
    assert.are.equal(lucerna.float64, weight.dtype)
    target:load_state_dict(bn[2]:state_dict(), {assign = true})
    assert.are.equal(lucerna.float32, target.weight.dtype)
    assert.error_matches(function()
      target:load_state_dict({weight = lucerna.ones(3, 3)}, {strict = false})
    end, "size mismatch for weight")
    local old = nn.BatchNorm1d(2)
    local without = old:state_dict()
    without.num_batches_tracked = nil
    without._metadata = nil
    assert.are.same({}, (old:load_state_dict(without)))
  end)

  it("25 numerics: unbiased, lower median, half to even, floors, sums of integers", function()
    near(math.sqrt(0.5), T({1.0, 2.0}):std())
    assert.are.equal(2.0, T({4.0, 1, 3, 2}):median():item())
    assert.are.same({0.0, 2, 2, -2}, T({0.5, 1.5, 2.5, -1.5}):round():tolist())
    assert.are.equal(-2, (T {-3} // 2):item())
    assert.are.equal(1, (T {-3} % 2):item())
    assert.are.equal(lucerna.int64, T({true, true}):sum().dtype)
    local function gradient(f, ...)
      local x = T({...}):requires_grad_()
      f(x):sum():backward()
      return x.grad:tolist()
    end
    assert.are.same({1.0, 1}, gradient(function(x) return x:clamp(0, 1) end, 0.0, 1))
    assert.are.same({0.0}, gradient(F.relu, 0.0))
    assert.are.same({0.0, 0}, gradient(F.hardtanh, -1.0, 1))
    assert.are.same({0.5, 0.5}, gradient(function(x) return x:max() end, 2.0, 2))
    assert.are.same({1.0, 0}, gradient(function(x) return (x:max(1)) end, 2.0, 2))
    local x = T({1.0}):requires_grad_()
    for _ = 1, 2 do (x * 3):sum():backward() end
    assert.are.same({6.0}, x.grad:tolist())
    local y = x:exp()
    y:add_(1)
    assert.has_error(function() y:sum():backward() end)
    assert.are.same({2, 5}, F.pad(lucerna.ones(2, 2), {1, 2}):size())
  end)
end)

describe("trap, shorter:", function()
  it("only ModuleList folds its text; inserting returns nothing there, self in Sequential",
    function()
      local list, chain = nn.ModuleList {nn.ReLU(), nn.ReLU()}, nn.Sequential(nn.ReLU(), nn.ReLU())
      assert.are.equal("ModuleList(\n  (0-1): 2 x ReLU()\n)", tostring(list))
      assert.are.equal("Sequential(\n  (0): ReLU()\n  (1): ReLU()\n)", tostring(chain))
      assert.is_nil(list:insert(1, nn.Tanh()))
      assert.are.equal(chain, chain:insert(1, nn.Tanh()))
    end)

  it("schedulers step once when made; cosine annealing goes on from a changed rate", function()
    local schedulers = optim.lr_scheduler
    local function sgd() return optim.SGD({nn.Parameter(lucerna.ones(1))}, {lr = 1.0}) end
    local o = sgd()
    local s = schedulers.LambdaLR(o, function(epoch) return 0.5 ^ (epoch + 1) end)
    assert.are.equal(0.5, o.param_groups[1].lr)
    assert.are.equal(0, s.last_epoch)
    o = sgd()
    s = schedulers.CosineAnnealingLR(o, 4)
    o.param_groups[1].lr = 0.5
    o:step()
    s:step()
    near((1 + math.cos(math.pi / 4)) / 2 * 0.5, o.param_groups[1].lr, 1e-12)
    o = sgd()
    s = schedulers.SequentialLR(o, {schedulers.ConstantLR(o, 0.1, 2),
      schedulers.ExponentialLR(o, 0.5)}, {1})
    near(0.1, o.param_groups[1].lr, 1e-12)
    o:step()
    s:step()
    near(1.0, o.param_groups[1].lr, 1e-12) -- the second begins from initial_lr
  end)

  it("eps is outside RMSprop's and Adagrad's root, inside Adadelta's", function()
    local function first(class, options)
      return stepped(function(p) return optim[class](p, options) end, {2.0})[1]
    end
    near(1 - 0.1 * 2 / (math.sqrt(0.01 * 4) + 0.5), first("RMSprop", {lr = 0.1, eps = 0.5}), 1e-9)
    near(1 - 0.1 * 2 / (2 + 0.5), first("Adagrad", {lr = 0.1, eps = 0.5}), 1e-9)
    near(1 - math.sqrt(0.5) / math.sqrt(0.1 * 4 + 0.5) * 2,
      first("Adadelta", {lr = 1, eps = 0.5}), 1e-9)
  end)

  it("Rprop takes no step after a sign flip, and a usual one after that", function()
    local path = stepped(function(p) return optim.Rprop(p, {lr = 0.1}) end, {1.0, -1.0, -1.0})
    agree({0.9, 0.9, 0.95}, path)
  end)

  it("Rprop takes no step where the gradient is NaN, which has no sign", function()
    local path = stepped(function(p) return optim.Rprop(p, {lr = 0.1}) end, {1.0, 0 / 0, 1.0, 1.0})
    agree({0.9, 0.9, 0.8, 0.68}, path)
  end)

  it("Muon's momentum is a mean, SGD's a sum", function()
    local p = nn.Parameter(lucerna.ones(2, 2))
    local o = optim.Muon({p}, {lr = 0.1, momentum = 0.75, weight_decay = 0})
    p.grad = lucerna.full({2, 2}, 4.0)
    o:step()
    near({{1.0, 1}, {1, 1}}, o.state[p].momentum_buffer)
  end)

  it("PReLU's channels are dimension 2; PixelShuffle reads c * r * r + i * r + j", function()
    local slopes = F.prelu(-lucerna.ones(2, 3, 1), T {1.0, 2, 3})
    near({{{-1.0}, {-2}, {-3}}, {{-1}, {-2}, {-3}}}, slopes)
    local x = lucerna.arange(1.0, 9):view(8, 1, 1)
    near({{{1.0, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, F.pixel_shuffle(x, 2))
  end)

  it("an encoder's layers begin alike, those of nn.Transformer do not", function()
    local encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)
    assert.is_true(lucerna.equal(encoder.layers[1].linear1.weight,
      encoder.layers[2].linear1.weight))
    local both = nn.Transformer(4, 2, 2, 1, 8)
    assert.is_false(lucerna.equal(both.encoder.layers[1].linear1.weight,
      both.encoder.layers[2].linear1.weight))
    local bound = math.sqrt(6 / (12 + 4))
    assert.is_true(both.encoder.layers[1].self_attn.in_proj_weight:abs():max():item() <= bound)
  end)

  it("spectral_norm iterates in training alone", function()
    local layer = nn.utils.spectral_norm(nn.Linear(3, 4))
    local x = lucerna.ones(1, 3)
    local before = layer.weight_u:clone()
    layer:eval()(x)
    assert.is_true(lucerna.equal(before, layer.weight_u))
    layer:train()(x)
    assert.is_false(lucerna.equal(before, layer.weight_u))
    assert.is_truthy(layer:state_dict().weight_orig)
    local new = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4))
    assert.is_truthy(new:state_dict()["parametrizations.weight.original"])
  end)

  it("inside full backward hooks, inputs and outputs are views; global hooks come first", function()
    local layer, order = nn.ReLU(true), {}
    local hook = layer:register_full_backward_hook(function() end)
    assert.has_error(function() layer(lucerna.ones(2):requires_grad_() * 1) end)
    hook:remove()
    layer:register_forward_hook(function() order[#order + 1] = "own" end, {prepend = true})
    local handle = nn.register_module_forward_hook(function() order[#order + 1] = "global" end)
    layer(lucerna.ones(2))
    handle:remove()
    assert.are.same({"global", "own"}, order)
  end)
end)
