-- The operators of neural networks against PyTorch's recorded answers (tests/parity/gen_nn.py):
-- values, gradients and second derivatives, in float64, in float32 and of strided views; then
-- errors.
local lucerna = require "lucerna"
local parity = require "parity"
local cases = require "cases"
local F = require("lucerna.core").functional
local autograd = lucerna.autograd

local families = {"matmul", "activation", "conv", "pool", "norm", "loss", "softmax", "dropout"}
local tolerance = {float64 = 1e-8, float32 = 2e-4}

-- ---- fixtures to tensors and back ----

local function from_data(spec, dtype)
  return lucerna.tensor(spec.data, {dtype = dtype}):reshape(spec.shape)
end

-- `how`: dtype, view; real tensors, in order of appearance, are added to how.leaves.
local function build(value, how)
  local floating = value.kind == "real" or value.kind == "fixed"
  local t = from_data(value, floating and lucerna[how.dtype] or lucerna.int64)
  if how.view then t = cases.strided(t) end
  if value.kind == "real" then
    t = t:detach():requires_grad_()
    how.leaves[#how.leaves + 1] = t
  end
  return t
end

local function check(what, got, want, tol)
  assert(got, what .. ": missing")
  local expected = from_data(want, lucerna.float64)
  parity.close(got, expected, {rtol = tol, atol = tol, dtype = false}, what)
end

local function all_zero(values)
  for _, v in ipairs(values) do
    if v ~= 0 then return false end
  end
  return true
end

-- No gradient and a gradient of zeros are the same.
local function check_list(what, got, want, tol)
  for i, expected in ipairs(want) do
    if expected.none or (not got[i] and all_zero(expected.data)) then
      assert(not got[i] or all_zero(got[i]:reshape(-1):tolist()), what .. " " .. i .. ": not zero")
    else
      check(what .. " " .. i, got[i], expected, tol)
    end
  end
end

-- ---- running a case ----

local function find(name)
  if name:sub(1, 1) == "." then return F[name:sub(2)] end
  return lucerna[name]
end

local function call(case, how)
  local fn = assert(find(case.fn), case.fn .. " is missing")
  how.leaves = {}
  local args, n = cases.arguments(case, function(v) return build(v, how) end)
  if case.seed then lucerna.manual_seed(case.seed) end
  return args, table.pack(fn(table.unpack(args, 1, n)))
end

local function grads_of(outputs, inputs, gout, create_graph)
  return table.pack(autograd.grad(outputs, inputs, gout,
                                  {create_graph = create_graph, allow_unused = true}))
end

-- Derivatives by the leaves and by the output's gradient of the gradients' weighted sum.
local function check_second(case, how, leaves, gout, grads, tol)
  local sum
  for i, w in ipairs(case.weights) do
    if grads[i] and not w.none and grads[i].requires_grad then
      local term = grads[i]:mul(from_data(w, lucerna[how.dtype])):sum()
      sum = sum and sum:add(term) or term
    end
  end
  assert(sum, "gradients have no history")
  local wrt = {table.unpack(leaves)}
  wrt[#wrt + 1] = gout
  check_list("second derivative", grads_of({sum}, wrt), case.grads2, tol)
end

local function run(case, how)
  local tol = tolerance[how.dtype]
  local args, out = call(case, how)
  for i, want in ipairs(case.out) do check("result " .. i, out[i], want, tol) end
  for i, want in pairs(case.written or {}) do
    check("written argument " .. i, args[i], want, tol)
  end
  if not case.grads then return end
  local gout = from_data(case.gout, lucerna[how.dtype]):requires_grad_()
  check_list("gradient", grads_of({out[1]}, how.leaves, {gout:detach()}), case.grads, tol)
  if not case.grads2 then return end
  out = select(2, call(case, how))
  local grads = grads_of({out[1]}, how.leaves, {gout}, true)
  check_list("recorded gradient", grads, case.grads, tol)
  check_second(case, how, how.leaves, gout, grads, tol)
end

for _, family in ipairs(families) do
  local recorded = parity.load("nn_" .. family)
  describe("PyTorch's answers: " .. family, function()
    for _, case in ipairs(recorded) do
      it(case.name, function() run(case, {dtype = "float64"}) end)
      it(case.name .. " in float32", function() run(case, {dtype = "float32"}) end)
      -- (a mask is drawn in the order of memory, so that a view gets another one)
      if not case.seed then
        it(case.name .. " of views", function() run(case, {dtype = "float64", view = true}) end)
      end
    end
  end)
end

describe("dropout", function()
  it("draws in the order of elements, whatever the strides, as PyTorch does", function()
    lucerna.manual_seed(0)
    local y = F.dropout(lucerna.ones(4, 3):t())
    assert.same({{0, 0, 2, 0}, {0, 0, 2, 2}, {0, 2, 2, 2}}, y:tolist())
    parity.refused("dropout1d: Expected 2D or 3D input, but received a 4D input", F.dropout1d,
      lucerna.ones(1, 2, 3, 4))
  end)

  it("writes its argument when inplace", function()
    local x = lucerna.ones(100)
    local y = F.dropout(x, 0.5, true, true)
    assert.equal(x, y)
    local sum = x:sum():item()
    assert.is_true(sum > 0 and sum < 200 and sum % 2 == 0)
  end)

  it("gives back its argument when not training", function()
    local x = lucerna.ones(3)
    assert.equal(x, F.dropout(x, {training = false}))
  end)
end)

describe("activations in place", function()
  it("write their argument and keep its history right", function()
    local x = lucerna.tensor({-1.0, 2.0}, {requires_grad = true})
    local y = x:mul(1)
    assert.equal(y, F.leaky_relu(y, 0.5, {inplace = true}))
    assert.same({-0.5, 2.0}, y:tolist())
    y:sum():backward()
    assert.same({0.5, 1.0}, x.grad:tolist())
  end)
end)

describe("the name of a gradient", function()
  local function name_of(y) return tostring(y):match("grad_fn=<(%w+)>") end
  it("is PyTorch's", function()
    local x = lucerna.ones(2, 3):requires_grad_()
    local image = lucerna.ones(1, 1, 4, 4):requires_grad_()
    local target = lucerna.tensor({1, 2})
    assert.equal("NllLossBackward0", name_of(F.cross_entropy(x, target)))
    assert.equal("MseLossBackward0", name_of(F.mse_loss(x, x:detach())))
    assert.equal("MaxPool2DWithIndicesBackward0", name_of(F.max_pool2d(image, 2)))
    assert.equal("ConvolutionBackward0", name_of(F.conv2d(image, image:detach())))
    assert.equal("NativeLayerNormBackward0", name_of(F.layer_norm(x, {3})))
  end)
end)

describe("half precision", function()
  for _, dtype in ipairs {"float16", "bfloat16"} do
    it("goes through float32: " .. dtype, function()
      local x = lucerna.tensor({{1.0, -2.0}, {0.5, 4.0}}, {dtype = lucerna[dtype]})
      assert.equal(lucerna[dtype], F.linear(x, x).dtype)
      assert.same({{5.0, -7.5}, {-7.5, 16.25}}, F.linear(x, x):tolist())
      assert.equal(lucerna[dtype], F.softmax(x, 1).dtype)
      assert.same({{1.0, 0.0}, {0.5, 4.0}}, F.hardtanh(x, 0.0, 4.0):tolist())
      local image = x:reshape(1, 1, 2, 2)
      assert.same({{{{4.0}}}}, F.max_pool2d(image, 2):tolist())
      assert.same({{{{21.25}}}}, F.conv2d(image, image):tolist())
    end)
  end
end)

describe("linear", function()
  it("adds a bias of one number to every feature, as PyTorch does", function()
    local x = lucerna.arange(6):double():reshape(2, 1, 3)
    local w = lucerna.arange(12):double():reshape(4, 3):requires_grad_()
    local plain = F.linear(x, w)
    for _, bias in ipairs {lucerna.tensor(2.5):double(), lucerna.tensor({2.5}):double()} do
      local y = F.linear(x, w, bias:requires_grad_())
      assert.same((plain + 2.5):tolist(), y:tolist())
      y:sum():backward()
      assert.same(bias.shape, bias.grad.shape)
      assert.equal(8, bias.grad:item())
      assert.same({2, 1, 0}, F.linear(x, lucerna.zeros(0, 3):double(), bias).shape)
      assert.same((plain[1][1] + 2.5):tolist(), F.linear(x[1][1], w, bias):tolist())
    end
  end)
end)

describe("gradients of distances", function()
  it("with a knee are NaN where they are", function()
    for _, name in ipairs {"huber_loss", "smooth_l1_loss"} do
      for _, again in ipairs {false, true} do
        local x = lucerna.tensor({0 / 0, 0.5, -3, 1 / 0}):requires_grad_()
        local y = F[name](x, lucerna.zeros(4), {reduction = "sum"})
        local slope = autograd.grad(y, x, {create_graph = again}):tolist()
        assert.is_true(slope[1] ~= slope[1], name)
        assert.same({0.5, -1, 1}, {table.unpack(slope, 2)}, name)
      end
    end
  end)

  it("that only count differences are zeros", function()
    local x = lucerna.tensor({{1.0, 2}, {1, 3}}):requires_grad_()
    lucerna.cdist(x, x, 0):sum():backward()
    assert.same({{0, 0}, {0, 0}}, x.grad:tolist())
  end)
end)

describe("activations where there is no number:", function()
  it("elu and its kin are straight at NaN", function()
    for _, f in ipairs {F.elu, F.celu, function(x) return F.selu(x) / 1.0507009873554805 end} do
      for _, create_graph in ipairs {false, true} do
        local x = lucerna.tensor({0 / 0}, {requires_grad = true})
        assert.near(1, autograd.grad(f(x):sum(), x, {create_graph = create_graph}):item(), 1e-6)
      end
    end
  end)

  it("celu keeps the digits of any alpha, of one below zero too", function()
    local x = lucerna.tensor({-34.953340160562554, -1e-310}, {dtype = lucerna.float64})
    local y = F.celu(x, 100):tolist()
    assert.near(-29.498302722790356, y[1], 5e-15)
    assert.equal(-1e-310, y[2])
    assert.same({-1 / 0, -1 / 0, 5}, F.celu(lucerna.tensor({-1e5, -1000, 5}), -2):tolist())
  end)

  it("softsign has no slope at infinity", function()
    for _, create_graph in ipairs {false, true} do
      local x = lucerna.tensor({1 / 0, -1 / 0, 1e30}, {requires_grad = true})
      local slope = autograd.grad(F.softsign(x):sum(), x, {create_graph = create_graph}):tolist()
      assert.is_true(slope[1] ~= slope[1] and slope[2] ~= slope[2])
      assert.equal(0, slope[3])
    end
  end)

  it("softshrink keeps NaN", function()
    for _, dtype in ipairs {lucerna.float32, lucerna.float64, lucerna.bfloat16} do
      local y = F.softshrink(lucerna.tensor({0 / 0, 0.25, -3}, {dtype = dtype})):tolist()
      assert.is_true(y[1] ~= y[1])
      assert.same({0.0, -2.5}, {table.unpack(y, 2)})
    end
  end)
end)

-- Each line is a wrong call and what it must say.
describe("a wrong call says what is wrong:", function()
  local function z(...) return lucerna.zeros(...) end
  local function ids(...) return lucerna.tensor({...}) end
  local image = function() return z(1, 3, 4, 4) end
  local wrong = {
    {"linear: input has 5 features, weight expects 4 (input [3, 5], weight [2, 4])",
     function() F.linear(z(3, 5), z(2, 4)) end},
    {"linear: weight gives 2 features, bias has 3 (weight [2, 4], bias [3])",
     function() F.linear(z(3, 4), z(2, 4), z(3)) end},
    {"linear: input is float32, weight is float64 (they must have one dtype)",
     function() F.linear(z(3, 4), z(2, 4, {dtype = lucerna.float64})) end},
    {"matmul: input has 3 columns, other has 4 rows (input [2, 3], other [4, 2])",
     function() lucerna.matmul(z(2, 3), z(4, 2)) end},
    {"matmul: batch sizes 2 and 3 do not broadcast (input [2, 1, 1], other [3, 1, 1])",
     function() lucerna.matmul(z(2, 1, 1), z(3, 1, 1)) end},
    {"mm: expected 2 and 2 dimensions (input [2], other [2, 2])",
     function() lucerna.mm(z(2), z(2, 2)) end},
    {"bmm: batch sizes differ, 2 and 3 (input [2, 1, 1], other [3, 1, 1])",
     function() lucerna.bmm(z(2, 1, 1), z(3, 1, 1)) end},
    {"addmm: input [3, 3] does not broadcast to the product's shape [2, 2]",
     function() lucerna.addmm(z(3, 3), z(2, 2), z(2, 2)) end},
    {"conv2d: input has 3 channels, weight expects 4 with groups=2 (input [1, 3, 4, 4], "
      .. "weight [2, 2, 1, 1])", function() F.conv2d(image(), z(2, 2, 1, 1), {groups = 2}) end},
    {"conv2d: kernel [5, 5] (dilation included) is larger than the padded input [4, 4]",
     function() F.conv2d(image(), z(2, 3, 5, 5)) end},
    {"conv2d: input must be [N, C, H, W] or [C, H, W] (input [3, 4])",
     function() F.conv2d(z(3, 4), z(2, 3, 1, 1)) end},
    {"conv2d: padding 'same' needs stride 1 (got 2)",
     function() F.conv2d(image(), z(2, 3, 3, 3), {stride = 2, padding = "same"}) end},
    {"conv2d: stride must be at least 1 (got [0, 0])",
     function() F.conv2d(image(), z(2, 3, 3, 3), {stride = 0}) end},
    {"conv2d: bias must have one value for each of 2 output channels "
      .. "(weight [2, 3, 1, 1], bias [3])", function() F.conv2d(image(), z(2, 3, 1, 1), z(3)) end},
    {"max_pool2d: padding must be at most half of kernel_size (got 2 for kernel_size 3)",
     function() F.max_pool2d(image(), 3, {padding = 2}) end},
    {"max_pool2d: kernel [5, 5] does not fit into input [1, 3, 4, 4], the output would have size "
      .. "[0, 0]", function() F.max_pool2d(image(), 5) end},
    {"batch_norm: input has 3 channels, weight has 2 values (input [1, 3, 4, 4], weight [2])",
     function() F.batch_norm(image(), nil, nil, z(2), nil, true) end},
    {"batch_norm: Expected more than 1 value per channel when training, got input size [1, 3]",
     function() F.batch_norm(z(1, 3), nil, nil, {training = true}) end},
    {"batch_norm: running_mean and running_var are needed when training is false",
     function() F.batch_norm(image(), nil, nil) end},
    {"layer_norm: input must end in normalized_shape [5] (input [1, 3, 4, 4])",
     function() F.layer_norm(image(), {5}) end},
    {"group_norm: 3 channels are not divisible by num_groups=2 (input [1, 3, 4, 4])",
     function() F.group_norm(image(), 2) end},
    {"nll_loss: Target 4 is out of bounds. (classes [1, 3])",
     function() F.nll_loss(z(2, 3), ids(1, 4)) end},
    {"cross_entropy: expected input batch_size (2) to match target batch_size (3) "
      .. "(input [2, 3], target [3])", function() F.cross_entropy(z(2, 3), ids(1, 2, 3)) end},
    {"embedding: index 6 is out of range [1, 5] (indices count from 1)",
     function() F.embedding(ids(1, 6), z(5, 2)) end},
    {"binary_cross_entropy: all elements of input should be between 0 and 1 (got 2)",
     function() F.binary_cross_entropy(lucerna.tensor({0.0, 2.0}), z(2)) end},
    {"binary_cross_entropy: target must have input's shape (input [2], target [3])",
     function() F.binary_cross_entropy(z(2), z(3)) end},
    {"softmax: dim 3 is out of range [-2, 2] (dims count from 1)",
     function() F.softmax(z(2, 2), 3) end},
    {"dropout: p must be between 0 and 1 (got 1.5)", function() F.dropout(z(2), 1.5) end},
    {"glu: the split dimension must have an even size, not 3 (input [2, 3])",
     function() F.glu(z(2, 3)) end},
  }
  for _, case in ipairs(wrong) do
    it(case[1], function()
      assert.equal(case[1], parity.plain_message(case[2]))
    end)
  end
end)

describe("matmul", function()
  it("takes batches that do not lie evenly, of any dtype", function()
    for _, dtype in ipairs {lucerna.float64, lucerna.float32, lucerna.int32, lucerna.complex128} do
      local packed = lucerna.arange(5 * 7 * 24):remainder(11):to(dtype):view(5, 7, 2, 4, 3)
      local q, k = packed[{{}, {}, 1}]:transpose(2, 3), packed[{{}, {}, 2}]:transpose(2, 3)
      local shared = k[{{2, 2}}] -- for all of the outer dimension
      for _, b in ipairs {k.mT, shared.mT, k:transpose(1, 2)[{{}, {1, 1}}].mT} do
        local a = b:size(1) == 4 and q:transpose(1, 2) or q
        local want = a:contiguous():matmul(b:expand(a:size(1), a:size(2), 3, 7):contiguous())
        assert.is_true(lucerna.equal(want, a:matmul(b)))
      end
    end
  end)
end)

describe("addmm", function()
  it("adds a row to each of the product's, whatever their shapes", function()
    lucerna.manual_seed(2)
    for _, size in ipairs {{3, 4, 5}, {130, 600, 4}, {40, 700, 1}, {17, 1, 30}, {2, 0, 3}} do
      local m, k, n = table.unpack(size)
      for _, dtype in ipairs {"float64", "float32", "int64", "bfloat16"} do
        local a = lucerna.randn(m, k):mul(4):to(lucerna[dtype])
        local b = lucerna.randn(k, n):mul(4):to(lucerna[dtype])
        local wide = lucerna.randn(2 * n):mul(4):to(lucerna[dtype])
        for _, row in ipairs {wide:narrow(1, 2, n), wide:unfold(1, 1, 2):squeeze(-1),
                              wide:narrow(1, 1, 1)} do
          for _, options in ipairs {{}, {alpha = 2}, {beta = 3}, {beta = 0}} do
            local alpha, beta = options.alpha or 1, options.beta or 1
            local wanted = a:double():mm(b:double()) * alpha + row:double() * beta
            local found = lucerna.addmm(row, a, b, options)
            local near = dtype == "bfloat16" and 1e-2 or dtype == "float32" and 1e-5 or 1e-12
            assert.is_true(lucerna.allclose(found:double(), wanted, near, near * 100))
          end
        end
      end
    end
  end)
end)

describe("pooling", function()
  it("takes small planes beside each other as it takes them one by one", function()
    for _, size in ipairs { { 4, 4 }, { 1, 7 }, { 5, 3 }, { 14, 14 } } do
      local x = lucerna.randint(-5, 6, { 19, size[1], size[2] }, { dtype = lucerna.float32 })
      x[2][1][1], x[3][1][2] = 0 / 0, 1 / 0
      local function compare(pool)
        local all = x:clone():requires_grad_()
        local y, at = pool(all)
        y:sum():backward()
        for i = 1, 19 do
          local one = x:narrow(1, i, 1):clone():requires_grad_()
          local v, place = pool(one)
          v:sum():backward()
          local options = { equal_nan = true }
          assert.is_true(v:allclose(y:narrow(1, i, 1), options))
          assert.is_true(one.grad:allclose(all.grad:narrow(1, i, 1), options))
          assert.is_true(not at or place:equal(at:narrow(1, i, 1)))
        end
      end
      local k, p = { math.min(size[1], 3), 3 }, { math.min(size[1], 3) // 2, 1 }
      compare(function(t) return F.max_pool2d(t, k, 1, p) end)
      compare(function(t) return F.max_pool2d(t, k, 2, p, { return_indices = true }) end)
      compare(function(t) return F.avg_pool2d(t, k, 2, p, { count_include_pad = false }) end)
      compare(function(t) return F.adaptive_avg_pool2d(t, { 1, 3 }) end)
      compare(function(t) return F.adaptive_max_pool2d(t, { 1, 3 }, { return_indices = true }) end)
    end
  end)

  -- The first of equals, the last NaN of list[first .. last].
  local function expected(list, first, last)
    local at = first
    for i = first, last do
      if list[i] > list[at] or list[i] ~= list[i] then at = i end
    end
    return list[at], at
  end

  for _, dtype in ipairs { "float32", "float64" } do
    it("finds the largest of wide windows of a row, and of whole planes, of " .. dtype, function()
      for _, n in ipairs { 15, 16, 17, 31, 33, 100, 511, 513, 1300 } do
        local x = lucerna.randint(-9, 10, { 4, n }):to(lucerna[dtype])
        x[2] = -1 / 0
        x[3][n // 2], x[3][n - 1], x[4][n] = 0 / 0, 0 / 0, 1 / 0
        for windows = 1, 3 do
          local y, at = F.adaptive_max_pool1d(x, windows, { return_indices = true })
          for plane = 1, 4 do
            local list = x[plane]:tolist()
            for w = 1, windows do
              local first, last = (w - 1) * n // windows + 1, -(-w * n // windows)
              local v, place = expected(list, first, last)
              assert.equal(place, at[{ plane, w }]:item())
              assert.equal(tostring(v), tostring(y[{ plane, w }]:item()))
            end
          end
        end
        local whole, at = F.adaptive_max_pool1d(x, 1, { return_indices = true })
        local y, places = F.adaptive_max_pool3d(x:view(4, n, 1, 1), 1, { return_indices = true })
        assert.is_true(at:equal(places:view(4, 1)))
        assert.is_true(whole:allclose(y:view(4, 1), { equal_nan = true }))
        local last = x:t():contiguous():view(1, n, 1, 4):permute(1, 4, 2, 3)
        y, places = F.adaptive_max_pool2d(last, 1, { return_indices = true })
        assert.is_true(at:equal(places:view(4, 1)))
        assert.is_true(whole:allclose(y:view(4, 1), { equal_nan = true }))
      end
    end)
  end

  it("meets one element by a dilated window as large as its plane", function()
    local x = lucerna.tensor {{{1.0, 2}, {3, 4}}}
    assert.same({{{1.0}}}, F.max_pool2d(x, 2, 2, 0, 2, { ceil_mode = true }):tolist())
  end)

  it("with a stride gives what is a stride apart without", function()
    for _, dtype in ipairs { lucerna.float32, lucerna.float64 } do
      local all = lucerna.randn(2, 1, 90):to(dtype)
      for width = 20, 90, 7 do
        for stride = 1, 5 do
          local x, every = all[{{}, {}, {1, width}}]:contiguous(), {{}, {}, {1, -1, stride}}
          for k = 2, 4 do
            local y, at = F.max_pool1d(x, k, 1, 1, {return_indices = true})
            local z, places = F.max_pool1d(x, k, stride, 1, {return_indices = true})
            assert.is_true(z:equal(y[every]))
            assert.is_true(places:equal(at[every]))
            assert.is_true(F.max_pool1d(x, k, stride, 1):equal(z))
            z, places = F.max_pool1d(x, k, stride, {return_indices = true})
            assert.is_true(F.max_pool1d(x, k, stride):equal(z))
            assert.is_true(F.max_pool1d(x, k, stride, {ceil_mode = true})
              [{{}, {}, {1, z:size(3)}}]:equal(z))
            assert.is_true(x:gather(3, places):equal(z))
            assert.is_true(F.avg_pool1d(x, k, stride, 1)
              :allclose(F.avg_pool1d(x, k, 1, 1)[every], {rtol = 1e-5}))
          end
        end
      end
    end
  end)
end)

describe("group_norm", function()
  it("gives channels of one element what it gives those of two equal ones", function()
    for _, dtype in ipairs { lucerna.float32, lucerna.float64 } do
      for _, n in ipairs { 1, 2, 7, 8, 15, 16, 17, 33, 64 } do
        local limits = { equal_nan = true, atol = dtype == lucerna.float32 and 1e-4 or 1e-11 }
        local x, g = lucerna.randn(3, 2 * n):to(dtype), lucerna.randn(3, 2 * n):to(dtype)
        x[3][n] = 0 / 0
        local function both(weight, bias, twice)
          local t = x:clone():requires_grad_()
          weight = weight and weight:clone():requires_grad_()
          bias = bias and bias:clone():requires_grad_()
          local y = F.group_norm(twice and t:unsqueeze(3):expand(3, 2 * n, 2) or t, 2, weight, bias)
          if twice then y = y:mean(3) end
          y:backward(g)
          return { y, t.grad, weight and weight.grad or y, bias and bias.grad or y }
        end
        local weight, bias = lucerna.randn(2 * n):to(dtype), lucerna.randn(2 * n):to(dtype)
        for _, given in ipairs { {}, { weight, bias } } do
          local one, two = both(given[1], given[2], false), both(given[1], given[2], true)
          for i = 1, 4 do assert.is_true(one[i]:allclose(two[i], limits)) end
        end
      end
    end
  end)
end)

describe("softmax", function()
  it("gives many short rows, and few columns, what it gives columns, there and back", function()
    for _, dtype in ipairs { lucerna.float32, lucerna.float64 } do
      for n = 1, 17 do
        local x, g = lucerna.randn(65, n):to(dtype) * 3, lucerna.rand(65, n):to(dtype)
        x[3][1], x[5], x[7][1], x[9][n] = 0 / 0, -1 / 0, -1 / 0, 1 / 0
        local limits = { equal_nan = true, atol = dtype == lucerna.float32 and 1e-6 or 1e-14 }
        local function both(name, copies)
          local t = copies == 0 and x:clone() or x:unsqueeze(3):expand(65, n, copies):clone()
          local y = F[name](t:requires_grad_(), 2)
          local last = copies == 0 and y or y:select(3, copies)
          last:backward(g)
          return last, copies == 0 and t.grad or t.grad:select(3, copies)
        end
        for _, name in ipairs { "softmax", "log_softmax" } do
          local y, dy = both(name, 16)
          for copies = 0, 5, 5 do
            local z, dz = both(name, copies)
            assert.is_true(y:allclose(z, limits))
            assert.is_true(dy:allclose(dz, limits))
          end
        end
      end
    end
  end)
end)
