-- nn.functional like PyTorch's: what tests/parity/gen_functional.py recorded.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"
local nn = lucerna.nn
local F = nn.functional

for _, family in ipairs {"activation", "loss", "ctc", "pool", "distance", "resize", "grid"} do
  describe("like PyTorch: " .. family, function()
    for title, check in cases.each("functional_" .. family) do it(title, check) end
  end)
end

-- What is often got wrong, by itself.
local function near(expected, actual)
  parity.close(actual, expected, {atol = 1e-6, rtol = 1e-6})
end

describe("activations:", function()
  it("GELU is the exact form unless the other is asked for", function()
    near(0.8413447, F.gelu(lucerna.tensor(1.0)):item())
    for _, dtype in ipairs {lucerna.float32, lucerna.float64, lucerna.float16} do
      local ends = F.gelu(lucerna.tensor({1 / 0, 3e4, -3e4, 0 / 0}, {dtype = dtype}))
      assert.same({1 / 0, 3e4, 0.0}, ends[{{1, 3}}]:tolist())
      assert.is_true(ends[4]:isnan():item())
    end
    near(0.8411920, F.gelu(lucerna.tensor(1.0), "tanh"):item())
  end)

  it("softplus is the identity above its threshold", function()
    assert.equal(21.0, F.softplus(lucerna.tensor(21.0)):item())
    assert.is_true(F.softplus(lucerna.tensor(19.0, {dtype = lucerna.float64})):item() > 19)
  end)

  it("softplus divides by a beta of 0, or of infinity", function()
    assert.same({1 / 0, 1 / 0}, F.softplus(lucerna.tensor {-1.5, 2}, 0):tolist())
    assert.same({-1.5, 2.0}, F.softplus(lucerna.tensor {-1.5, 2}, 0, -1):tolist())
    local x = lucerna.tensor {-1 / 0, -30, -1, 2}
    assert.same({0, 0, 0, 2}, F.softplus(x, 1 / 0):tolist())
    assert.same({0, 1 / 0, 1 / 0, 1 / 0}, F.softplus(x, 1e-45):tolist()) -- has no inverse
  end)

  it("rrelu has the mean slope outside training", function()
    near(-0.375, F.rrelu(lucerna.tensor(-1.0), 0.25, 0.5):item())
  end)

  it("relu and hardtanh are flat at their kinks", function()
    for _, f in ipairs {F.relu, function(x) return F.hardtanh(x, 0, 1) end} do
      local x = lucerna.zeros(2):requires_grad_()
      f(x):sum():backward()
      assert.same({0.0, 0.0}, x.grad:tolist())
    end
  end)
end)

describe("also often got wrong:", function()
  local function t(...) return lucerna.tensor {...} end

  it("PReLU has a slope for each channel, GLU gates with the second half", function()
    local y = F.prelu(-lucerna.ones(1, 2, 2), t(0.5, 0.25))
    assert.same({{{-0.5, -0.5}, {-0.25, -0.25}}}, y:tolist())
    assert.same({1.0}, F.glu(t(2.0, 0.0)):tolist())
  end)

  it("multi_margin_loss divides by the number of classes", function()
    near(0.5, F.multi_margin_loss(lucerna.zeros(1, 2), t(1)):item())
    near(0.75, F.multi_margin_loss(lucerna.zeros(1, 4), t(1)):item())
  end)

  it("multilabel_margin_loss's lists end at their first -1", function()
    local x = lucerna.tensor {{0.1, 0.2, 0.4, 0.8}}
    near(0.85, F.multilabel_margin_loss(x, lucerna.tensor {{4, 1, -1, 2}}):item())
    assert.equal(0.0, F.multilabel_margin_loss(x, lucerna.tensor {{-1, 1, 2, 3}}):item())
    x:requires_grad_()
    local loss = F.multilabel_margin_loss(x, lucerna.tensor {{4, 1, -1, 2}})
    local slope = lucerna.autograd.grad(loss, x, {create_graph = true})
    assert.is_nil(lucerna.autograd.grad(slope:sum(), x, {allow_unused = true}))
  end)

  it("poisson_nll_loss adds Stirling's term only for targets above 1", function()
    local options = {full = true, reduction = "none"}
    local y = F.poisson_nll_loss(lucerna.zeros(3), t(0.0, 1.0, 2.0), options):tolist()
    assert.same({1.0, 1.0}, {y[1], y[2]})
    near(1 + 2 * math.log(2) - 2 + 0.5 * math.log(4 * math.pi), y[3])
  end)

  it("gaussian_nll_loss keeps the variance above eps, and its gradient", function()
    local var = t(0.0):requires_grad_()
    local loss = F.gaussian_nll_loss(t(0.0), t(0.0), var, {eps = 0.5})
    near(0.5 * math.log(0.5), loss:item())
    loss:backward()
    near(1.0, var.grad:item())
  end)

  it("ctc_loss's mean divides each loss by its target's length", function()
    local lp = lucerna.randn(6, 2, 3):log_softmax(3)
    local ids, il, tl = lucerna.tensor {{2, 3, 2}, {3, 2, 2}}, {6, 6}, {3, 2}
    local each = F.ctc_loss(lp, ids, il, tl, {reduction = "none"}):tolist()
    near((each[1] / 3 + each[2] / 2) / 2, F.ctc_loss(lp, ids, il, tl):item())
  end)

  it("squared and absolute errors broadcast, binary cross entropy does not", function()
    assert.equal(0.25, F.mse_loss(lucerna.full({2, 3}, 0.5), lucerna.zeros(3)):item())
    assert.equal(0.5, F.l1_loss(lucerna.full({2, 3}, 0.5), lucerna.zeros(3)):item())
    assert.is_false((pcall(F.binary_cross_entropy, lucerna.full({2, 3}, 0.5), lucerna.zeros(3))))
  end)
end)

describe("a layer behind a relu", function()
  -- whole numbers, whose sums are exact; half of x's, and most of the gradient's, are 0
  local function whole(dtype, ...) return lucerna.randint(-4, 5, {...}):to(dtype) end

  for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
    it("passes over its zeros, there and back, in " .. tostring(dtype), function()
      lucerna.manual_seed(7)
      for _, size in ipairs {{256, 256, 128}, {200, 600, 333}, {130, 1030, 129}} do
        local rows, from, to = table.unpack(size)
        local x, w, b = whole(dtype, rows, from), whole(dtype, to, from), whole(dtype, to)
        local g = F.relu(whole(dtype, rows, to) - 2)
        local h = F.relu(x):requires_grad_()
        w:requires_grad_()
        F.linear(h, w, b):backward(g)
        local function product(p, q) return p:to(lucerna.int64):mm(q:to(lucerna.int64)) end
        local y = product(h:detach(), w:detach():t()) + b:to(lucerna.int64)
        assert.is_true(F.linear(h, w, b):detach():to(lucerna.int64):equal(y))
        assert.is_true(F.relu(F.linear(h, w, b)):detach():to(lucerna.int64):equal(y:clamp(0)))
        assert.is_true(h.grad:to(lucerna.int64):equal(product(g, w:detach())))
        assert.is_true(w.grad:to(lucerna.int64):equal(product(g:t(), h:detach())))
        local c = whole(dtype, rows, to)
        local added = lucerna.addmm(c, h:detach(), w:detach():t(), {beta = 2, alpha = -1})
        assert.is_true(added:to(lucerna.int64):equal(c:to(lucerna.int64) * 2 - y
          + b:to(lucerna.int64)))
      end
    end)
  end

  it("but not where they meet an infinity or NaN", function()
    local x = F.relu(whole(lucerna.float32, 300, 200))
    for _, value in ipairs {1 / 0, -1 / 0, 0 / 0} do
      local w = lucerna.ones(160, 200)
      w[7][150] = value
      local y = F.linear(x, w)
      local apart = lucerna.cat({y:narrow(2, 1, 6), y:narrow(2, 8, 153)}, 2)
      assert.is_true(apart:equal(x:sum(2, true):expand(300, 159)))
      local met = (x * w[7]):sum(2)
      assert.is_true(y:select(2, 7):isnan():equal(met:isnan()))
      assert.is_true(y:select(2, 7):nan_to_num():equal(met:nan_to_num()))
    end
  end)
end)

describe("dropout:", function()
  it("the functions of channels and alpha differ in what training is by default", function()
    local x = lucerna.ones(50, 4)
    assert.equal(x, F.alpha_dropout(x))
    assert.equal(x, F.feature_alpha_dropout(x))
    assert.is_false(lucerna.equal(x, F.dropout(x)))
  end)

  it("in place it writes its argument, with the same numbers", function()
    local shapes = {dropout = {3, 4}, dropout1d = {3, 4}, dropout2d = {2, 3, 2, 2},
      dropout3d = {3, 2, 1, 2}, alpha_dropout = {3, 4}, feature_alpha_dropout = {2, 3, 4}}
    for name, shape in pairs(shapes) do
      local x = lucerna.randn(shape)
      lucerna.manual_seed(1)
      local want = F[name](x, 0.5, true)
      lucerna.manual_seed(1)
      local y = x:clone()
      assert.equal(y, F[name](y, 0.5, true, true), name)
      assert.is_true(lucerna.equal(want, y), name)
    end
  end)

  it("drops whole channels of each sample", function()
    local y = nn.Dropout2d(0.5)(lucerna.ones(8, 6, 3, 3)):reshape(48, 9)
    for _, channel in ipairs(y:tolist()) do
      for _, v in ipairs(channel) do assert.equal(channel[1], v) end
    end
  end)

  it("feature alpha dropout of a vector needs channels only where it draws", function()
    local x = lucerna.ones(3)
    assert.same({1, 1, 1}, F.feature_alpha_dropout(x, 0, true):tolist())
    assert.same({0, 0, 0}, F.feature_alpha_dropout(x, 1, true):tolist())
    assert.same({0}, F.feature_alpha_dropout(lucerna.ones(0), 0.5, true).shape)
    parity.refused("feature_alpha_dropout: Feature dropout requires at least 2 dimensions",
      F.feature_alpha_dropout, x, 0.5, true)
  end)

  it("alpha dropout keeps mean and variance", function()
    lucerna.manual_seed(1)
    local y = nn.AlphaDropout(0.3)(lucerna.randn(20000))
    assert.is_true(math.abs(y:mean():item()) < 0.05)
    assert.is_true(math.abs(y:std():item() - 1) < 0.05)
  end)
end)

describe("losses:", function()
  local x = lucerna.tensor {{1.0, 2, 3}, {1, 0, -1}, {0, 0, 5}}
  local ids, weight = lucerna.tensor {3, 1, 2}, lucerna.tensor {1, 2, 0.5}

  it("cross entropy's mean divides by the weights of what counts", function()
    near(1.9428660, F.cross_entropy(x, ids):item())
    near(3.0394802, F.cross_entropy(x, ids, weight):item())
    near(0.4076059, F.cross_entropy(x, ids, {ignore_index = 2}):item())
    near(1.9539771, F.cross_entropy(x, ids, {label_smoothing = 0.1}):item())
    near(2.9726758, F.cross_entropy(x, ids, weight, {label_smoothing = 0.1}):item())
    near(0.5858063, F.cross_entropy(x, ids, weight,
      {label_smoothing = 0.1, ignore_index = 2}):item())
  end)

  it("cross entropy of probabilities divides by their number, weights or not", function()
    local p = lucerna.tensor {{0.2, 0.3, 0.5}, {0.1, 0.8, 0.1}, {0.0, 1, 0}}
    near(2.5095327, F.cross_entropy(x, p):item())
    near(4.6226897, F.cross_entropy(x, p, weight):item())
    near(4.2514873, F.cross_entropy(x, p, weight, {label_smoothing = 0.2}):item())
  end)

  it("of nothing, the mean is NaN and the sum 0", function()
    local none = lucerna.tensor {2, 2, 2}
    local mean = F.cross_entropy(x, none, {ignore_index = 2}):item()
    assert.is_true(mean ~= mean)
    assert.equal(0.0, F.cross_entropy(x, none, {ignore_index = 2, reduction = "sum"}):item())
    local empty = F.nll_loss(lucerna.zeros(0, 3), lucerna.zeros(0, {dtype = lucerna.int64})):item()
    assert.is_true(empty ~= empty)
  end)

  it("binary cross entropy cuts logarithms at -100", function()
    assert.equal(100.0, F.binary_cross_entropy(lucerna.tensor {0.0}, lucerna.tensor {1.0}):item())
    local far = lucerna.tensor {-1000.0, 1000.0}
    assert.same({0.0, 0.0}, F.binary_cross_entropy_with_logits(far, lucerna.tensor {0.0, 1.0},
      {reduction = "none"}):tolist())
    near(3 * math.log(2), F.binary_cross_entropy_with_logits(lucerna.zeros(1), lucerna.ones(1),
      {pos_weight = lucerna.tensor {3.0}}):item())
  end)

  it("KL divergence: batchmean divides by the batch, a target of 0 adds nothing", function()
    local q, p = lucerna.tensor {{0.25, 0.75}, {0.5, 0.5}}:log(), lucerna.tensor {{0.0, 1}, {1, 0}}
    local sum = F.kl_div(q, p, {reduction = "sum"}):item()
    near(-math.log(0.75) - math.log(0.5), sum)
    near(sum / 2, F.kl_div(q, p, {reduction = "batchmean"}):item())
    near(sum / 4, F.kl_div(q, p):item())
  end)

  it("smooth L1 is Huber's by its knee", function()
    local d, zero = lucerna.tensor {0.25, 3.0}, lucerna.zeros(2)
    near(lucerna.tensor {0.0625, 2.75}, F.smooth_l1_loss(d, zero, {reduction = "none", beta = 0.5}))
    near(lucerna.tensor {0.03125, 1.375}, F.huber_loss(d, zero, "none", 0.5))
  end)

  it("those of the input's dtype have it whatever else is given", function()
    local half = lucerna.ones(1, 2, {dtype = lucerna.float16})
    local signs = lucerna.ones(1, 2)
    assert.equal(lucerna.float16, F.soft_margin_loss(half, signs).dtype)
    assert.equal(lucerna.float16, F.rms_norm(half, {2}, signs[1]).dtype)
    assert.equal(lucerna.float16, F.multilabel_soft_margin_loss(half, signs:long()).dtype)
  end)

  it("Huber's has the input's dtype, the others the common one", function()
    local single = lucerna.tensor({0.5, 3.0}, {requires_grad = true})
    local double = lucerna.zeros(2, {dtype = lucerna.float64})
    for _, reduction in ipairs {"none", "mean", "sum"} do
      assert.equal(lucerna.float32, F.huber_loss(single, double, {reduction = reduction}).dtype)
      assert.equal(lucerna.float64, F.huber_loss(double, single, {reduction = reduction}).dtype)
      assert.equal(lucerna.float64, F.smooth_l1_loss(single, double, {reduction = reduction}).dtype)
    end
    F.huber_loss(single, double):backward()
    near(lucerna.tensor {0.25, 0.5}, single.grad)
  end)

  it("CTC adds up the alignments of targets of any length", function()
    for _, length in ipairs {0, 1, 3, 4, 8, 17} do
      local lp = lucerna.randn(2 * length + 2, 1, 4, {dtype = lucerna.float64}):log_softmax(3)
      local target = lucerna.randint(2, 5, {1, length})
      local p, labels, row = lp:exp():tolist(), target:tolist()[1] or {}, {}
      local function label(i) return i % 2 == 0 and labels[i // 2] or 1 end -- places from 1
      for t = 1, #p do
        local next = {}
        for i = 1, 2 * length + 1 do
          local far = i > 2 and label(i) ~= label(i - 2) and row[i - 2] or 0
          local sum = t == 1 and (i < 3 and 1 or 0) or row[i] + (row[i - 1] or 0) + far
          next[i] = sum * p[t][1][label(i)]
        end
        row = next
      end
      near(-math.log(row[#row] + (row[#row - 1] or 0)),
        F.ctc_loss(lp, target, {#p}, {length}, {reduction = "sum"}):item())
      if length < 9 then
        parity.gradcheck(function(a)
          return F.ctc_loss(a:log_softmax(3), target, {#p}, {length}, {reduction = "sum"})
        end, {parity.leaf({#p, 1, 4})})
      end
    end
  end)

  it("CTC: an impossible alignment is infinite, unless zero is asked for", function()
    local lp = lucerna.zeros(2, 1, 3):log_softmax(3):requires_grad_()
    local target = lucerna.tensor {{2, 2}}
    assert.equal(math.huge, F.ctc_loss(lp, target, {2}, {2}):item())
    local loss = F.ctc_loss(lp, target, {2}, {2}, {zero_infinity = true})
    assert.equal(0.0, loss:item())
    loss:backward()
    assert.equal(0.0, lp.grad:abs():sum():item())
  end)

  it("gaussian_nll_loss takes a number as variance", function()
    local a, b = lucerna.tensor {1.0, 2.0}, lucerna.tensor {0.0, 0.0}
    near(F.gaussian_nll_loss(a, b, lucerna.full({2}, 2.0)), F.gaussian_nll_loss(a, b, 2.0))
  end)
end)

describe("AdaptiveLogSoftmaxWithLoss", function()
  lucerna.manual_seed(42)
  local m = nn.AdaptiveLogSoftmaxWithLoss(6, 8, {2, 4}, {div_value = 2.0})
  local x = lucerna.linspace(-2, 2, 30):view(5, 6) * lucerna.tensor {1, -1, 1, 2, -1, 0.5}

  it("gives all log-probabilities, and the best class of each line", function()
    near(lucerna.tensor {-21.2788, -18.5907, -17.7790, -19.1445, -22.4374} / 1000,
      m:log_prob(x):sum(2) / 1000)
    near(lucerna.ones(5), m:log_prob(x):exp():sum(2))
    assert.same({2, 2, 1, 1, 1}, m:predict(x * 10):tolist())
    assert.same(m:log_prob(x):argmax(2):tolist(), m:predict(x):tolist())
  end)
end)

describe("LinearCrossEntropyLoss", function()
  it("is a linear layer and cross entropy", function()
    local m = nn.LinearCrossEntropyLoss(4, 3, {bias = true, label_smoothing = 0.1,
      weight = lucerna.tensor {1.0, 2.0, 0.5}, ignore_index = 2,
      options = nn.LinearCrossEntropyOptions{batch_chunk_size = 2}})
    assert.same({"weight", "linear.weight", "linear.bias"}, parity.keys(m))
    local x, ids = lucerna.randn(5, 4), lucerna.tensor {1, 2, 3, 3, 1}
    near(F.cross_entropy(m.linear(x), ids, m.weight, {ignore_index = 2, label_smoothing = 0.1}),
      m(x, ids))
  end)

  it("has a class at every place of out_features", function()
    local m = nn.LinearCrossEntropyLoss(4, 3, {out_features = {2, 5}, reduction = "none"})
    assert.same({30, 4}, m.linear.weight.shape)
    local ids = lucerna.ones(6, 2, 5, {dtype = lucerna.int64})
    assert.same({6, 2, 5}, m(lucerna.randn(6, 4), ids).shape)
    local x, w, b = lucerna.randn(6, 4), lucerna.randn(3, 2, 5, 4), lucerna.randn(3, 2, 5)
    local logits = F.linear(x, w:flatten(1, 3), b:flatten()):unflatten(-1, {3, 2, 5})
    near(F.cross_entropy(logits, ids), F.linear_cross_entropy(x, w, ids, {linear_bias = b}))
  end)
end)

describe("layouts:", function()
  it("pads and crops short rows as long ones, whatever way they lie", function()
    local x = lucerna.arange(6 * 5 * 50):reshape(6, 5, 50):to(lucerna.float32)
    local function padded(t) return F.pad(t, { -1, 2, 1, -1, -2, 1 }, { value = 7 }) end
    local long = padded(x)
    assert.same({ 5, 5, 51 }, long:size())
    for _, short in ipairs { x:narrow(3, 1, 6), x:narrow(3, 1, 6):contiguous() } do
      local y = padded(short)
      assert.same({ 5, 5, 7 }, y:size())
      assert.is_true(y:narrow(3, 1, 5):equal(long:narrow(3, 1, 5)))
      assert.equal(7.0, y:narrow(3, 6, 2):min():item())
      assert.equal(7.0, y:narrow(3, 6, 2):max():item())
    end
    assert.equal(7.0, F.pad(x:narrow(3, 1, 6), { -6, 2 }, { value = 7 }):min():item())
  end)

  it("rows of a border are those they stand for, in any mode and of any size", function()
    local function source(mode, i, n, before, after) -- from 0; nil: the value
      if mode == "circular" then -- what is left of a crop goes round
        local first = math.max(-before, 0)
        return first + (i - first) % (n - first + math.min(after, 0))
      end
      if i >= 0 and i < n then return i end
      if mode == "reflect" then return i < 0 and -i or 2 * (n - 1) - i end
      if mode == "replicate" then return i < 0 and 0 or n - 1 end
    end
    for _, dtype in ipairs {"uint8", "bfloat16", "float32", "float64", "complex128"} do
      for _, size in ipairs {{3, 4, 300}, {2, 41, 35}, {2, 3, 2100}, {2, 3, 11}, {5, 3, 11}} do
        local x = lucerna.randint(1, 100, size):to(lucerna[dtype])
        for _, pad in ipairs {{1, 1, 1, 1}, {9, 0, 2, 1}, {0, 10, 0, 2}, {-2, 3, 1, -1},
                              {3, 2, 2, 2}, {7, 5, 0, 1}} do
          for _, mode in ipairs {"constant", "reflect", "replicate", "circular"} do
            local y, want = F.pad(x, pad, mode, mode == "constant" and 7 or nil), x
            for d = 2, 3 do
              local before, after, n = pad[7 - 2 * d], pad[8 - 2 * d], x:size(d)
              local places, outside = {}, {}
              for i = 1, y:size(d) do
                local place = source(mode, i - 1 - before, n, before, after)
                places[i] = (place or 0) + 1
                if not place then table.insert(outside, i) end
              end
              want = want:index_select(d, lucerna.tensor(places, {dtype = lucerna.int64}))
              if #outside > 0 then
                want = want:index_fill(d, lucerna.tensor(outside, {dtype = lucerna.int64}), 7)
              end
            end
            assert.is_true(y:equal(want), dtype .. " " .. mode)
          end
        end
      end
    end
  end)

  it("images with channels last in memory, and tiny ones, pool and resize as others", function()
    local calls = {
      function(t) return F.max_pool2d(t, 3, 2, 1) end,
      function(t) return F.max_pool2d(t, {2, 3}, 2, 1, 1, true, true) end,
      function(t) return F.avg_pool2d(t, 3, 2, 1, true, false) end,
      function(t) return F.adaptive_avg_pool2d(t, {3, 2}) end,
      function(t) return F.adaptive_max_pool2d(t, {2, 3}, true) end,
      function(t) return F.interpolate(t, {scale_factor = 2}) end,
      function(t) return F.interpolate(t, {size = {3, 9}, mode = "bilinear"}) end,
    }
    for _, size in ipairs {{2, 5, 9, 7}, {2, 20, 4, 5}, {1, 3, 33, 20}} do
      local x = lucerna.randn(size)
      x[{1, 2, 3, 4}] = 0 / 0
      local last = x:permute(1, 3, 4, 2):contiguous():permute(1, 4, 2, 3)
      for _, f in ipairs(calls) do
        local all, same = {f(x)}, {f(last)}
        for i, y in ipairs(same) do
          if i == 1 then assert.equal(1, y:stride(2)) end
          assert.is_true(y:allclose(all[i], 1e-5, 1e-6, true))
          local plane = select(i, f(x:narrow(1, 1, 1):narrow(2, 2, 1))) -- one goes by itself
          assert.is_true(plane:allclose(y:narrow(1, 1, 1):narrow(2, 2, 1), 1e-5, 1e-6, true))
        end
      end
    end
  end)

  it("activations far from 0, of numbers below the normal range too, are what they are", function()
    local function is(want, got)
      assert(want == got or math.abs(got / want - 1) < 1e-4, ("%g, not %g"):format(got, want))
    end
    local function tanh(v) return 1 - 2 / (math.exp(2 * v) + 1) end
    for dtype, far in pairs { float32 = 90, float64 = 720 } do
      local x = lucerna.tensor({ -far, -2, far, -math.huge, math.huge }, { dtype = lucerna[dtype] })
      local two, tiny = 1 / (1 + math.exp(2)), math.exp(-far)
      for i, want in ipairs { tiny, two, 1, 0, 1 } do is(want, x:sigmoid()[i]:item()) end
      for i, want in ipairs { -far * tiny, -2 * two, far } do is(want, F.silu(x)[i]:item()) end
      for i, want in ipairs { -far * tiny, -2 * tanh(math.log(1 + math.exp(-2))), far } do
        is(want, F.mish(x)[i]:item())
      end
      local rows = lucerna.tensor({ { 0, -far, -2 } }, { dtype = lucerna[dtype] })
      local sum = math.log(1 + math.exp(-2))
      for _, log in ipairs { rows:t():log_softmax(1):t(), rows:log_softmax(2) } do
        for i, want in ipairs { -sum, -far - sum, -2 - sum } do is(want, log[1][i]:item()) end
      end
    end
  end)

  it("activations lie in memory as their input, but for logsigmoid", function()
    local x = lucerna.randn(3, 4):t()
    assert.same({ 1, 4 }, F.leaky_relu(x):stride())
    assert.same({ 1, 4 }, F.gelu(x):stride())
    assert.same({ 3, 1 }, F.logsigmoid(x):stride())
    assert.is_true(F.mish(x):equal(F.mish(x:contiguous())))
  end)
end)

describe("pooling:", function()
  local line = lucerna.tensor {{{1.0, 2, 3, 4, 5, 6}}}

  it("with ceil_mode, a window that begins past the input and its padding is dropped", function()
    assert.same({1, 1, 3}, F.max_pool1d(lucerna.zeros(1, 1, 5), 2, {ceil_mode = true}).shape)
    assert.same({1, 1, 2}, F.max_pool1d(lucerna.zeros(1, 1, 4), 1, 3, {ceil_mode = true}).shape)
    assert.same({{{0.5, 2.5, 4.5, 3.0}}},
      F.avg_pool1d(line, 2, 2, 1, {ceil_mode = true}):tolist())
  end)

  it("averages count explicit padding, or real cells, or what they are told", function()
    local x = lucerna.ones(1, 1, 2, 2, 2)
    assert.equal(0.125, F.avg_pool3d(x, 2, 2, 1):min():item())
    assert.equal(1.0, F.avg_pool3d(x, 2, 2, 1, {count_include_pad = false}):min():item())
    assert.equal(4.0, F.avg_pool3d(x, 2, {divisor_override = 2}):item())
  end)

  it("maxima: padding is -inf, NaN wins, the first of equals counts", function()
    assert.equal(-1.0, F.max_pool3d(-lucerna.ones(1, 2, 2, 2), 2, 1, 1):max():item())
    local nan = lucerna.ones(1, 2, 2, 2)
    nan[{1, 1, 2, 1}] = 0 / 0
    local most = F.max_pool3d(nan, 2):item()
    assert.is_true(most ~= most)
    local _, at = F.max_pool3d(lucerna.ones(1, 2, 2, 2), 2, {return_indices = true})
    assert.equal(1, at:item())
  end)

  it("positions count from 1 in their plane and lead back", function()
    local x = lucerna.randn(2, 3, 4, 4)
    local y, at = nn.MaxPool2d(2, {return_indices = true})(x)
    assert.is_true(at:min():item() >= 1 and at:max():item() <= 16)
    local back = nn.MaxUnpool2d(2)(y, at)
    assert.is_true(lucerna.equal(back, lucerna.where(back:ne(0), x, 0)))
    near(y:sum(), back:sum())
  end)

  it("adaptive windows overlap where sizes do not divide", function()
    assert.same({{{2.0, 3.0, 5.0, 6.0}}}, F.adaptive_max_pool1d(line, 4):tolist())
    assert.same({{{1.5, 2.5, 4.5, 5.5}}}, F.adaptive_avg_pool1d(line, 4):tolist())
  end)

  it("adaptive windows may be none, and lead nothing back", function()
    for _, size in ipairs {{0, 3}, {3, 0}} do
      local x = lucerna.randn(20, 3, 9, 9, {requires_grad = true})
      F.adaptive_avg_pool2d(x, size):sum():backward()
      assert.equal(0, x.grad:abs():max():item())
    end
  end)

  it("averages of rows lie as those do, the largest are rows, as PyTorch's", function()
    for _, channels in ipairs {2, 10, 16} do
      local x = lucerna.randn(2, 8, channels):transpose(2, 3)
      local dense = x:contiguous()
      assert.same({4 * channels, 1, channels}, F.avg_pool1d(x, 2):stride())
      assert.same({3 * channels, 1, channels}, F.adaptive_avg_pool1d(x, 3):stride())
      assert.same({4 * channels, 4, 1}, F.max_pool1d(x, 2):stride())
      near(F.avg_pool1d(dense, 2), F.avg_pool1d(x, 2))
      near(F.adaptive_avg_pool1d(dense, 3), F.adaptive_avg_pool1d(x, 3))
    end
  end)

  it("fractional pooling draws its windows, or takes the samples given", function()
    local m = nn.FractionalMaxPool2d(2, {output_size = 3})
    assert.equal(0, #m:state_dict())
    local samples = lucerna.full({1, 1, 2}, 0.5)
    local fixed = nn.FractionalMaxPool2d(2, {output_size = 3, _random_samples = samples})
    local x = lucerna.randn(1, 1, 7, 7)
    assert.is_true(lucerna.equal(fixed(x), fixed(x)))
    assert.is_true(lucerna.equal(samples, fixed:state_dict()._random_samples))
  end)
end)

describe("embeddings:", function()
  it("the row of padding_idx begins at zero and gets no gradient, but can be edited", function()
    local m = nn.Embedding(4, 2, {padding_idx = 2})
    assert.same({0.0, 0.0}, m.weight[2]:tolist())
    m(lucerna.tensor {1, 2, 2}):sum():backward()
    assert.same({{1.0, 1.0}, {0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}}, m.weight.grad:tolist())
    lucerna.no_grad(function() m.weight[2] = 3.0 end)
    assert.same({{3.0, 3.0}}, m(lucerna.tensor {2}):tolist())
  end)

  it("max_norm scales the rows that are looked up, in place", function()
    local m = nn.Embedding(3, 2, {max_norm = 1.0, _weight = lucerna.tensor {{3.0, 4.0}, {0.3, 0.4},
      {6.0, 8.0}}})
    m(lucerna.tensor {1, 2})
    near(lucerna.tensor {{0.6, 0.8}, {0.3, 0.4}, {6.0, 8.0}}, m.weight:detach())
  end)

  it("from_pretrained keeps the table as it is, frozen unless told otherwise", function()
    local table_ = lucerna.ones(3, 2)
    local m = nn.Embedding.from_pretrained(table_, {padding_idx = 1})
    assert.same({1.0, 1.0}, m.weight[1]:tolist())
    assert.is_false(m.weight.requires_grad)
    assert.equal("Embedding(3, 2, padding_idx=1)", tostring(m))
    local bag = nn.EmbeddingBag.from_pretrained(table_, false, {mode = "sum"})
    assert.is_true(bag.weight.requires_grad)
    assert.same({{2.0, 2.0}}, bag(lucerna.tensor {{1, 3}}):tolist())
  end)

  it("from_pretrained, as a method of a class, makes one of that class", function()
    local m = nn.class("Words", nn.Embedding):from_pretrained(lucerna.ones(3, 2), {padding_idx = 1})
    assert.equal("Words(3, 2, padding_idx=1)", tostring(m))
    assert.is_false(m.weight.requires_grad)
    assert.equal("EmbeddingBag(3, 2, mode='sum')",
      tostring(nn.EmbeddingBag:from_pretrained(lucerna.ones(3, 2), {mode = "sum"})))
  end)

  it("include_last_offset says where the last bag ends", function()
    local w, ids = lucerna.arange(10.0):reshape(10, 1), lucerna.tensor {2, 3, 4, 5, 6, 7}
    local options = {offsets = lucerna.tensor {1, 3, 5}, include_last_offset = true}
    for mode, want in pairs {sum = {3.0, 7.0}, mean = {1.5, 3.5}, max = {2.0, 4.0}} do
      options.mode = mode
      assert.same(want, F.embedding_bag(ids, w, options):reshape(-1):tolist())
    end
    options.mode, options.per_sample_weights = "sum", lucerna.ones(6)
    assert.same({{3.0}, {7.0}}, F.embedding_bag(ids, w, options):tolist())
  end)

  it("scale_grad_by_freq divides by how often a row was looked up", function()
    for _, mode in ipairs {"sum", "mean"} do
      local w = lucerna.ones(3, 1):requires_grad_()
      local y = F.embedding_bag(lucerna.tensor {{1, 1}, {1, 2}}, w,
        {mode = mode, scale_grad_by_freq = true})
      y:sum():backward()
      near(lucerna.tensor {{1.0}, {1.0}, {0.0}} / (mode == "mean" and 2 or 1), w.grad)
    end
  end)
end)

describe("distances:", function()
  it("norms are kept from being below eps, which pairwise_distance adds to differences", function()
    local zero, one = lucerna.zeros(1, 2), lucerna.ones(1, 2)
    assert.same({0.0}, F.cosine_similarity(zero, one):tolist())
    local x = lucerna.tensor({{0.1, 0.2}}):requires_grad_()
    F.cosine_similarity(x, lucerna.tensor {{3.0, 4.0}}, 2, 0.5):sum():backward()
    near(lucerna.tensor {{1.2 - 0.176, 1.6 - 0.352}}, x.grad) -- as if the norm were eps
    assert.same({{0.0, 0.0}}, F.normalize(zero):tolist())
    near(lucerna.tensor {math.sqrt(2) * 0.5}, F.pairwise_distance(zero, zero, 2.0, 0.5))
  end)

  it("cosine_similarity's later gradients below eps are PyTorch 1.13's", function()
    local double = {dtype = lucerna.float64, requires_grad = true}
    local a, b = lucerna.tensor({3e-4, -4e-4}, double), lucerna.tensor({0.1, 0.2}, double)
    local g = lucerna.autograd.grad(F.cosine_similarity(a, b, 1, 0.01), a, {create_graph = true})
    local ga, gb = lucerna.autograd.grad(g:sum(), {a, b}, {create_graph = true})
    near(lucerna.tensor({-133.962833, 849.437503}, double), ga)
    near(lucerna.tensor({179.064324, -89.532162}, double), gb)
    local third = lucerna.autograd.grad(ga:sum(), a)
    near(lucerna.tensor({-3582671.828679, -4461940.826663}, double), third)
  end)

  it("cosine_similarity is of the promoted dtype", function()
    local x, whole = lucerna.tensor {{3.0, 4.0}}, lucerna.tensor {{1, 0}}
    near(0.6, F.cosine_similarity(x, whole):item())
    assert.equal(lucerna.float64, F.cosine_similarity(whole, x:double()).dtype)
    parity.refused("cosine_similarity: the common dtype must be a floating point one (got int64)",
      F.cosine_similarity, whole, whole)
  end)
end)

describe("resizing:", function()
  local line = lucerna.tensor {{{1.0, 2, 3, 4}}}
  local function resized(mode, options)
    options.mode = mode
    return F.interpolate(line, options):reshape(-1):tolist()
  end

  it("corners are not aligned unless that is asked for", function()
    assert.same({1.0, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4.0}, resized("linear", {size = 8}))
    near(lucerna.linspace(1, 4, 8),
      lucerna.tensor(resized("linear", {size = 8, align_corners = true})))
  end)

  it("nearest counts from the left edge, nearest-exact from centres", function()
    assert.same({1.0, 2.0, 3.0}, resized("nearest", {size = 3}))
    assert.same({1.0, 3.0, 4.0}, resized("nearest-exact", {size = 3}))
  end)

  it("a scale is used as given, unless it is to be computed again", function()
    local given = resized("linear", {scale_factor = 1.3})
    local again = resized("linear", {scale_factor = 1.3, recompute_scale_factor = true})
    assert.equal(#given, #again)
    assert.is_false(given[2] == again[2])
    assert.same(resized("linear", {size = 5}), again)
  end)

  -- The last dimension goes by shuffles of vectors, others by rows.
  it("columns are resized like rows, and gradients likewise", function()
    for _, sizes in ipairs {{1, 5}, {7, 14}, {16, 33}, {31, 62}, {33, 16}, {40, 9}, {70, 71},
      {100, 31}, {200, 7}, {131, 50}} do
      for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
        local x = lucerna.randn(2, 3, 5, sizes[1], {dtype = dtype})
        local g = lucerna.randn(2, 3, 6, sizes[2], {dtype = dtype})
        for _, mode in ipairs {"nearest", "bilinear", "bicubic"} do
          local a, b = x:clone():requires_grad_(), x:transpose(-1, -2):contiguous():requires_grad_()
          local y = F.interpolate(a, {6, sizes[2]}, {mode = mode})
          local z = F.interpolate(b, {sizes[2], 6}, {mode = mode})
          y:backward(g)
          z:backward(g:transpose(-1, -2))
          parity.close(y:detach(), z:detach():transpose(-1, -2), {atol = 1e-5, rtol = 1e-5})
          parity.close(a.grad, b.grad:transpose(-1, -2), {atol = 1e-5, rtol = 1e-5})
        end
      end
    end
  end)

  -- Of 16 columns of an output, up to 320 apart, those of as many as two vectors reach at once.
  it("the nearest are picked from where they lie, however far apart", function()
    local function picks(n, m)
      local at = {}
      for o = 1, m do at[o] = (o - 1) * n // m + 1 end
      return lucerna.tensor(at)
    end
    for _, c in ipairs {{20, 4, 20, 19}, {7, 7, 71, 30}, {9, 12, 131, 16}, {6, 5, 641, 33}} do
      for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
        local x = lucerna.randn(2, 3, 4, c[1], c[3], {dtype = dtype})
        x[{1, 1, {}, {}, 1}] = 0 / 0
        local rows, columns = picks(c[1], c[2]), picks(c[3], c[4])
        local expected = x:index_select(-2, rows):index_select(-1, columns)
        local got = F.interpolate(x:flatten(2, 3), {c[2], c[4]}):unflatten(2, {3, 4})
        assert.is_true(lucerna.allclose(got, expected, {rtol = 0, atol = 0, equal_nan = true}))
        expected = expected:index_select(3, lucerna.tensor {1, 3})
        got = F.interpolate(x, {2, c[2], c[4]})
        assert.is_true(lucerna.allclose(got, expected, {rtol = 0, atol = 0, equal_nan = true}))
      end
    end
  end)

  it("infinity stays where it is", function()
    local x = lucerna.zeros(8, 1, 40)
    x[{{}, {}, {1, 1}}] = math.huge
    local y = F.interpolate(x, {80}, {mode = "linear"})
    assert.is_true(y[{{}, {}, {4, 80}}]:eq(0):all():item())
    local g = lucerna.zeros(8, 1, 80)
    g[{{}, {}, {1, 1}}] = math.huge
    x = lucerna.zeros(8, 1, 40):requires_grad_()
    F.interpolate(x, {80}, {mode = "linear"}):backward(g)
    assert.is_true(x.grad[{{}, {}, {3, 40}}]:eq(0):all():item())
  end)

  it("a constant stays one, whatever the mode", function()
    local x = lucerna.full({1, 1, 5, 7}, 3.0)
    for _, mode in ipairs {"nearest", "nearest-exact", "bilinear", "bicubic", "area"} do
      near(lucerna.full({1, 1, 3, 11}, 3.0), F.interpolate(x, {3, 11}, {mode = mode}))
    end
    for _, mode in ipairs {"bilinear", "bicubic"} do
      near(lucerna.full({1, 1, 2, 3}, 3.0), F.interpolate(x, {2, 3}, {mode = mode,
        antialias = true}))
    end
  end)
end)

describe("spatial transformers:", function()
  it("the identity gives the image back", function()
    local theta = lucerna.tensor {{{1.0, 0, 0}, {0, 1, 0}}}
    local x = lucerna.randn(1, 2, 3, 4)
    for _, align in ipairs {true, false} do
      local grid = F.affine_grid(theta, {1, 2, 3, 4}, align)
      for _, mode in ipairs {"bilinear", "nearest", "bicubic"} do
        near(x, F.grid_sample(x, grid, mode, "border", align))
      end
    end
  end)

  it("places outside are zeros, the border or reflected; NaN is outside", function()
    local x = lucerna.tensor {{{{1.0, 2, 3}}}}
    local grid = lucerna.tensor {{{{5 / 3, 0.0}}}}
    assert.same({{{{0.0}}}}, F.grid_sample(x, grid):tolist())
    near(3.0, F.grid_sample(x, grid, {padding_mode = "border"}):item())
    near(2.5, F.grid_sample(x, grid, {padding_mode = "reflection"}):item())
    assert.equal(0.0, F.grid_sample(x, grid * (0 / 0)):item())
  end)

  -- Many channels go side by side, up to four as pixels, one goes by itself: they are alike. An
  -- image is turned in pieces, the points go in blocks; both have a rest here.
  it("channels are sampled alike, and so are their gradients", function()
    local function sampled(x, grid, g, options)
      x, grid = x:clone():requires_grad_(), grid:clone():requires_grad_()
      local y = F.grid_sample(x, grid, options)
      y:backward(g)
      return y:detach(), x.grad, grid.grad
    end
    for _, channels in ipairs {1, 2, 3, 4, 5, 16, 35} do
      for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
        local x = lucerna.randn(2, channels, 34, 31, {dtype = dtype})
        local grid = lucerna.rand(2, 13, 11, 2, {dtype = dtype}) * 3 - 1.5
        local g = lucerna.randn(2, channels, 13, 11, {dtype = dtype})
        for _, mode in ipairs {"bilinear", "nearest", "bicubic"} do
          local options = {mode = mode, padding_mode = "reflection", align_corners = false}
          local y, dx, dgrid = sampled(x, grid, g, options)
          local sum = lucerna.zeros_like(dgrid)
          for c = 1, channels do
            local one, done, dplaces = sampled(x[{{}, {c, c}}], grid, g[{{}, {c, c}}], options)
            parity.close(y[{{}, {c, c}}], one, {atol = 1e-5, rtol = 1e-5})
            parity.close(dx[{{}, {c, c}}], done, {atol = 1e-5, rtol = 1e-5})
            sum = sum + dplaces
          end
          parity.close(dgrid, sum, {atol = 1e-3, rtol = 1e-4})
        end
      end
    end
  end)

  it("what lies beside a NaN is not one, and nothing outside is read", function()
    local grid = lucerna.zeros(1, 6, 6, 2)
    for _, channels in ipairs {1, 3, 20} do
      local x = lucerna.full({1, channels, 3, 3}, 0 / 0)
      x[{1, {}, 2, 2}] = 1
      assert.is_true(F.grid_sample(x, grid, {mode = "nearest"}):eq(1):all():item())
      for _, place in ipairs {9, 1e30, 1 / 0, 0 / 0} do
        assert.is_true(F.grid_sample(x, grid + place):eq(0):all():item())
        assert.is_true(F.grid_sample(x, grid - place):eq(0):all():item())
      end
    end
  end)

  it("halves are rounded to even places", function()
    local x = lucerna.arange(0, 5):reshape(1, 1, 1, 5):double()
    local places = lucerna.tensor {0.5, 1.5, 2.5, 3.5, 0.49, 0.51}
    for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
      local grid = lucerna.stack({places:double() / 2 - 1, lucerna.zeros(6):double()}, 2)
      local y = F.grid_sample(x:to(dtype), grid:reshape(1, 1, 6, 2):to(dtype), "nearest", "zeros",
        true)
      assert.same({0.0, 2.0, 2.0, 4.0, 0.0, 1.0}, y:flatten():tolist())
    end
  end)
end)
