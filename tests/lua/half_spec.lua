-- Half precision through whole layers and optimizers: float16 and bfloat16 give what float32 gives
-- for the same rounded weights and inputs, to the precision of the half, and stay in their dtype.
-- (Operators, one by one, are in the operator sweep.)
local lucerna = require "lucerna"
local parity = require "parity"
local nn, optim = lucerna.nn, lucerna.optim

local HALVES = {float16 = 0.01, bfloat16 = 0.08}

local function make(class)
  lucerna.manual_seed(3)
  return assert(load("return nn." .. class, class, "t", {nn = nn}))()
end

-- The results' tensors, of results that may be tables of them.
local function flat(list, into)
  into = into or {}
  for _, v in ipairs(list) do
    if lucerna.is_tensor(v) then into[#into + 1] = v
    elseif type(v) == "table" then flat(v, into) end
  end
  return into
end

-- Results and gradients of a layer: in half precision, or in float32 of the same rounded numbers.
local function run(class, dtype, half, inputs)
  local layer = make(class):to(half):to(dtype)
  local leaves = {}
  for i, x in ipairs(inputs) do
    leaves[i] = lucerna.is_floating_point(x) and x:to(half):to(dtype):requires_grad_() or x
  end
  lucerna.manual_seed(5)
  local out = flat({layer(table.unpack(leaves))})
  local loss = 0
  for _, y in ipairs(out) do
    if y.requires_grad then
      local w = lucerna.linspace(0.5, 1.5, y:numel()):reshape(y:size())
      loss = loss + (y:float() * w):sum()
    end
  end
  local grads = {}
  if lucerna.is_tensor(loss) then
    loss:backward()
    for _, x in ipairs(leaves) do grads[#grads + 1] = x.grad end
    for _, p in layer:named_parameters() do grads[#grads + 1] = p.grad end
  end
  return out, grads
end

local function close(have, want, room, what)
  parity.close(have:float(), want:float(), {rtol = room, atol = room, scale = true}, what)
end

local function compare(class, inputs)
  for name, room in pairs(HALVES) do
    local half = lucerna[name]
    local want, slopes = run(class, lucerna.float32, half, inputs)
    local have, grads = run(class, half, half, inputs)
    for i, y in ipairs(have) do
      if lucerna.is_floating_point(want[i]) then assert.equal(half, y.dtype, class) end
      close(y:detach(), want[i]:detach(), room, name .. " result " .. i)
    end
    assert.equal(#slopes, #grads)
    for i, g in ipairs(grads) do
      assert.equal(half, g.dtype)
      close(g, slopes[i], 2 * room, name .. " gradient " .. i)
    end
  end
end

-- What draws in another order for another dtype, or is not of this kind.
local function drawn(class) return class:find "Dropout" or class:find "RReLU" end

describe("in half precision,", function()
  for _, case in ipairs(parity.load "edges") do
    if case.shape and not drawn(case.class) then
      it("a layer: " .. case.class, function()
        lucerna.manual_seed(7)
        compare(case.class, {lucerna.randn(2, table.unpack(case.shape))})
      end)
    end
  end

  for _, class in ipairs {"RNN(3, 4, 2)", "LSTM(3, 4, 2)", "GRU(3, 4, 2)", "RNNCell(3, 4)",
    "LSTMCell(3, 4)", "GRUCell(3, 4)"} do
    it("recurrence: " .. class, function()
      lucerna.manual_seed(7)
      compare(class, {class:find "Cell" and lucerna.randn(5, 3) or lucerna.randn(5, 2, 3)})
    end)
  end

  it("embeddings, attention and a Transformer", function()
    local ids = lucerna.tensor {{1, 3, 4}, {2, 2, 5}}
    for _, class in ipairs {"Embedding(6, 4)", "EmbeddingBag(6, 4)",
      "EmbeddingBag(6, 4, {mode = 'max'})", "Embedding(6, 4, {max_norm = 1})"} do
      compare(class, {ids})
    end
    lucerna.manual_seed(7)
    local x = lucerna.randn(5, 2, 8)
    compare("MultiheadAttention(8, 2)", {x, x, x})
    compare("TransformerEncoderLayer(8, 2, 16, {dropout = 0})", {x})
    compare("Transformer(8, 2, 1, 1, 16, {dropout = 0})", {x, lucerna.randn(3, 2, 8)})
    compare("Bilinear(8, 8, 3)", {x, x})
  end)

  it("dropout keeps its dtype and scale", function()
    for name in pairs(HALVES) do
      local x = lucerna.ones(1000, {dtype = lucerna[name]}):requires_grad_()
      local y = nn.Dropout(0.5)(x)
      assert.equal(lucerna[name], y.dtype)
      assert.is_true(math.abs(y:float():mean():item() - 1) < 0.2)
      y:sum():backward()
      parity.close(x.grad, y:detach(), {rtol = 0, atol = 0})
    end
  end)

  it("sums of few and of many rows are those of floats, rounded", function()
    for _, half in ipairs {lucerna.float16, lucerna.bfloat16} do
      for _, size in ipairs {{3, 7, 33}, {3, 8, 33}, {5, 20, 16}, {2, 63, 100}, {2, 65, 131}} do
        local x = lucerna.randn(size):to(half)
        local sums = x:double():sum(2)
        local off = (x:sum(2):double() - sums):abs() - sums:abs() * 2 ^ -8
        assert.is_true(off:max():item() < 1e-4)
      end
    end
  end)

  it("sums, means and norms do not add in half precision", function()
    for name in pairs(HALVES) do
      local x = lucerna.full({5000}, 1.5, {dtype = lucerna[name]})
      assert.is_true(math.abs(x:sum():item() - 7500) <= 32)
      assert.equal(1.5, x:mean():item())
      assert.is_true(math.abs(x:norm():item() - 1.5 * 5000 ^ 0.5) < 0.5)
      assert.equal(0.0, x:var():item())
      assert.is_true(math.abs(x:dot(x):item() - 2.25 * 5000) <= 64)
      local m = x:reshape(1, 5000)
      assert.is_true(math.abs(m:matmul(m:t()):item() - 2.25 * 5000) <= 64)
      local ids = lucerna.ones(5000, {dtype = lucerna.int64})
      local table_ = lucerna.zeros(2, 1, {dtype = lucerna[name]}):requires_grad_()
      nn.functional.embedding(ids, table_):sum():backward()
      assert.is_true(math.abs(table_.grad[1][1]:item() - 5000) <= 32)
    end
  end)

  it("images are padded, resized and sampled", function()
    lucerna.manual_seed(7)
    local x = lucerna.randn(1, 2, 4, 4)
    compare("Upsample{scale_factor = 2, mode = 'bilinear'}", {x})
    compare("Upsample{scale_factor = 2, mode = 'bicubic'}", {x})
    compare("Upsample{scale_factor = 2}", {x})
    for name, room in pairs(HALVES) do
      local half = lucerna[name]
      local grid = (lucerna.rand(1, 3, 3, 2) * 2 - 1):to(half)
      local want = nn.functional.grid_sample(x:to(half):float(), grid:float())
      close(nn.functional.grid_sample(x:to(half), grid), want, room)
    end
  end)
end)

describe("an optimizer in half precision", function()
  for _, name in ipairs {"Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD",
    "LBFGS", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "Muon"} do
    it("steps as in float32: " .. name, function()
      for half, room in pairs {float16 = 0.02, bfloat16 = 0.15} do
        local function train(dtype)
          lucerna.manual_seed(1)
          local start = lucerna.randn(3, 4):to(lucerna[half]):to(dtype)
          local p = nn.Parameter(start)
          local o = optim[name]({p}, {lr = 0.05})
          local target = lucerna.linspace(-1, 1, 12):reshape(3, 4):to(lucerna[half]):to(dtype)
          for _ = 1, 4 do
            o:step(function()
              o:zero_grad()
              local loss = ((p - target):float() ^ 2):mean()
              loss:backward()
              return loss
            end)
          end
          return p, start
        end
        local want, start = train(lucerna.float32)
        local have = train(lucerna[half])
        assert.equal(lucerna[half], have.dtype)
        assert.is_true((have - start:to(lucerna[half])):abs():sum():item() > 0)
        close(have:detach(), want:detach(), room, half)
      end
    end)
  end

  it("keeps its state across saving", function()
    local p = nn.Parameter(lucerna.ones(3, {dtype = lucerna.bfloat16}))
    local o = optim.Adam({p}, {lr = 0.1})
    p.grad = lucerna.ones(3, {dtype = lucerna.bfloat16})
    o:step()
    local other = optim.Adam({nn.Parameter(p:detach():clone())}, {lr = 0.1})
    other:load_state_dict(o:state_dict())
    local moment = other:state_dict().state[0].exp_avg
    assert.equal(o:state_dict().state[0].exp_avg.dtype, moment.dtype)
    parity.close(moment, o:state_dict().state[0].exp_avg, {rtol = 0, atol = 0})
  end)
end)

describe("a module", function()
  it("goes to half precision and back", function()
    local net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    for method, dtype in pairs {half = "float16", bfloat16 = "bfloat16", double = "float64"} do
      assert.equal(net, net[method](net))
      assert.equal(lucerna[dtype], net[1].weight.dtype)
      assert.equal(lucerna[dtype], net[2].running_mean.dtype)
      assert.equal(lucerna.int64, net[2].num_batches_tracked.dtype)
      assert.equal(lucerna[dtype], net(lucerna.randn(4, 3):to(lucerna[dtype])).dtype)
    end
    assert.equal(lucerna.float32, net:float()[1].weight.dtype)
  end)

  it("promotes like PyTorch: numbers never, halves of two kinds to float32", function()
    local h, b = lucerna.ones(2):half(), lucerna.ones(2):bfloat16()
    assert.equal(lucerna.float16, (h * 2.5).dtype)
    assert.equal(lucerna.bfloat16, (3 - b).dtype)
    assert.equal(lucerna.float32, (h + b).dtype)
    assert.equal(lucerna.float16, (h + lucerna.ones(2, {dtype = lucerna.int64})).dtype)
    assert.equal(lucerna.float16, (h + lucerna.tensor(1.0, {dtype = lucerna.float64})).dtype)
    assert.equal(lucerna.float32, (h + lucerna.ones(2)).dtype)
    assert.equal(lucerna.float16, h:exp():sum().dtype)
    assert.equal(lucerna.float32, h:sum(1, {dtype = lucerna.float32}).dtype)
    assert.same({1.0, 1.0}, h:clone():add_(0.0001):tolist())
  end)
end)

-- They are read as they lie: along rows, along columns, with gaps, from an odd place.
describe("a vector by a matrix of halves", function()
  local wide = lucerna.float64

  for name, digits in pairs {float16 = 2 ^ -11, bfloat16 = 2 ^ -8} do
    local half = lucerna[name]
    local WAYS = {
      function(m, k) return lucerna.randn(m, k):to(half) end,
      function(m, k) return lucerna.randn(k, m):to(half):t() end,
      function(m, k) return lucerna.randn(m + 1, k + 3):to(half)[{{2, m + 1}, {2, k + 1}}] end,
      function(m, k) return lucerna.randn(m, k, 2):to(half):select(3, 2) end,
    }
    local function near(expected, got, what)
      assert.equal(half, got.dtype)
      local off = (got:to(wide) - expected):abs() - expected:abs() * digits
      assert.is_true(off:numel() == 0 or off:max():item() < 1e-4, what)
    end

    it("is that of the same numbers in float64, rounded: " .. name, function()
      lucerna.manual_seed(7)
      for _, size in ipairs {{1, 1}, {5, 3}, {16, 16}, {4, 130}, {130, 4}, {67, 1101}, {1101, 67},
        {1, 300}, {300, 1}, {513, 5}, {5, 513}, {0, 3}, {3, 0}} do
        local m, k = table.unpack(size)
        for i, matrix in ipairs(WAYS) do
          local a, b = matrix(m, k), WAYS[i % #WAYS + 1](k, 1)
          local x, c = b:select(2, 1), matrix(m, 1):select(2, 1)
          local A, X, C = a:to(wide), x:to(wide), c:to(wide)
          local what = ("%d x %d, way %d"):format(m, k, i)
          near(A:mv(X), a:mv(x), what)
          near(A:mm(X:unsqueeze(2)), a:mm(b), what)
          near(A:mv(X), x:matmul(a:t()), what)
          near(A:mv(X):unsqueeze(1), b:t():mm(a:t()), what)
          near(2 * A:mv(X) + C / 2, lucerna.addmv(c, a, x, {beta = 0.5, alpha = 2}), what)
          near(A:mv(X) + C, nn.functional.linear(x, a, c), what)
          near(A:mv(X):expand(2, 2, m), nn.functional.linear(x, a):expand(2, 2, m), what)
          if m > 0 then
            near(A[1]:dot(X), a[1]:dot(x), what)
            near(A:mv(X) + C[1], nn.functional.linear(a, x, c[1]), what)
          end
        end
      end
    end)

    it("keeps infinities, NaN and denormals in their places: " .. name, function()
      local a = lucerna.ones(70, 40):to(half)
      a[3][4], a[5][40], a[1] = math.huge, 0 / 0, 0
      a[1][40] = 2 ^ -24
      for _, way in ipairs {a, a:t():contiguous():t()} do
        local y = way:mv(lucerna.ones(40):to(half))
        assert.equal(math.huge, y[3]:item())
        assert.same({1, 1}, {y:isinf():sum():item(), y:isnan():sum():item()})
        assert.is_true(y[5]:isnan():item())
        assert.equal(2 ^ -24, y[1]:item())
        assert.equal(40, y[70]:item())
      end
    end)
  end
end)

-- Some machines multiply bfloat16 by pairs along what is summed: long, short, odd, apart, repeated.
describe("a product of bfloat16", function()
  local F = nn.functional
  local half, wide = lucerna.bfloat16, lucerna.float64

  -- A matrix that lies in one of several ways.
  local WAYS = {
    function(m, k) return lucerna.randn(m, k):to(half) end,
    function(m, k) return lucerna.randn(k, m):to(half):t() end,
    function(m, k) return lucerna.randn(m, k + 3):to(half):narrow(2, 2, k) end,
    function(m, k) return lucerna.randn(k + 1, m + 1):to(half)[{{1, k}, {2, m + 1}}]:t() end,
    function(m, k) return lucerna.randn(m, 2 * k):to(half):view(m, k, 2):select(3, 2) end,
    function(m, k) return lucerna.randn(m, 1):to(half):expand(m, k) end,
  }

  local function near(expected, got, what)
    assert.equal(half, got.dtype)
    local off = (got:to(wide) - expected):abs() - expected:abs() * 2 ^ -8
    assert.is_true(off:max():item() < 1e-4, what)
  end

  it("is that of the same numbers in float64, rounded", function()
    lucerna.manual_seed(7)
    for _, k in ipairs {1, 31, 32, 33, 96, 1101} do
      for i, left in ipairs(WAYS) do
        local right = WAYS[(i + k) % #WAYS + 1]
        local m, n = 3 + 8 * i, 50 - 7 * i
        local a, b, w, c = left(m, k), right(k, n), right(n, k), left(1, n)[1]
        local A, B, W, C = a:to(wide), b:to(wide), w:to(wide), c:to(wide)
        local what = ("%d x %d x %d, way %d"):format(m, k, n, i)
        near(A:mm(B), a:mm(b), what)
        near(A:mv(W[1]), a:mv(w[1]), what)
        near(A[1]:dot(W[1]), a[1]:dot(w[1]), what)
        near(A:mm(W:t()) + C, F.linear(a, w, c), what)
        near(2 * A:mm(B) + C / 2, lucerna.addmm(c, a, b, {beta = 0.5, alpha = 2}), what)
        near(A:mm(B):expand(2, 3, m, n), a:expand(2, 3, m, k):matmul(b), what)
        local batch = lucerna.stack {b, b * 2, b:flip(1)}
        near(A:matmul(batch:to(wide)), a:expand(3, m, k):bmm(batch), what)
      end
    end
  end)

  it("is a convolution of some shapes, and so are its gradients", function()
    lucerna.manual_seed(9)
    local shapes = { -- images, channels, size, filters, kernel, options
      {2, 40, 7, 30, 1}, {2, 33, 6, 35, 1}, {3, 64, 8, 68, 1, {groups = 2}},
      {1, 66, 6, 4, 1, {groups = 2}}, {3, 48, 4, 34, 4}, {1, 3, 20, 64, 7, {stride = 2}},
      {2, 5, 9, 33, 3, {stride = 2, padding = 1}}, {1, 64, 9, 32, 1, {stride = 2}},
      {2, 17, 12, 40, 3, {stride = 2, dilation = 2}}, {2, 64, 12, 64, 4, {stride = 4}},
      {1, 8, 18, 3, 9, {padding = 4}}, {1, 64, 4, 256, 9, {stride = 8, padding = 8}},
    }
    for i, shape in ipairs(shapes) do
      local n, channels, size, filters, k, options = table.unpack(shape, 1, 6)
      local per_group = channels // (options and options.groups or 1)
      local x = lucerna.randn(n, channels, size, size):to(half)
      local w = lucerna.randn(filters, per_group, k, k):div(k * per_group ^ 0.5):to(half)
      local c = lucerna.randn(filters):to(half)
      local X, W, C = x:to(wide):requires_grad_(), w:to(wide):requires_grad_(), c:to(wide)
      x:requires_grad_() w:requires_grad_()
      local y, Y = F.conv2d(x, w, c, options), F.conv2d(X, W, C, options)
      near(Y, y, "convolution " .. i)
      local g = lucerna.randn(y:size()):to(half)
      y:backward(g)
      Y:backward(g:to(wide))
      near(X.grad, x.grad, "input's gradient " .. i)
      near(W.grad, w.grad, "weight's gradient " .. i)
    end
  end)

  it("is a step of a recurrent layer, and so are its gradients", function()
    lucerna.manual_seed(10)
    for i, class in ipairs {"LSTM", "GRU", "RNN"} do
      for _, shape in ipairs {{3, 12, 32}, {2, 9, 33}, {4, 1, 104}, {2, 40, 64}, {1, 17, 130},
        {1, 40, 150}, {1, 40, 151}, {3, 33, 65}} do
        local steps, rows, units = table.unpack(shape)
        local net = nn[class](20, units, {num_layers = 2, bidirectional = i == 2, dtype = half})
        local same = nn[class](20, units, {num_layers = 2, bidirectional = i == 2, dtype = wide})
        same:load_state_dict(net:state_dict())
        local x = lucerna.randn(steps, rows, 20):to(half)
        local y, Y = net(x), same(x:to(wide))
        local g = lucerna.randn(y:size()):to(half)
        y:backward(g)
        Y:backward(g:to(wide))
        local function about(want, got, what)
          local off = (got:to(wide) - want):abs():max():item()
          assert.is_true(off <= 0.02 * want:abs():max():item(), class .. units .. what .. off)
        end
        about(Y, y, " output ")
        for name, p in net:named_parameters() do
          about(same:get_parameter(name).grad, p.grad, name)
        end
      end
    end
  end)

  it("has gradients that are products too", function()
    lucerna.manual_seed(8)
    for _, rows in ipairs {5, 32, 67} do
      local x, w = lucerna.randn(3, rows, 40):to(half), lucerna.randn(33, 40):to(half)
      local g = lucerna.randn(3, rows, 33):to(half)
      local X, W = x:to(wide):requires_grad_(), w:to(wide):requires_grad_()
      x:requires_grad_() w:requires_grad_()
      F.linear(x, w):backward(g)
      F.linear(X, W):backward(g:to(wide))
      near(X.grad, x.grad)
      near(W.grad, w.grad)
    end
  end)

  it("keeps infinities and NaN in their rows, and names what does not fit", function()
    local a, b = lucerna.ones(40, 41):to(half), lucerna.ones(41, 64):to(half)
    a[3][4], a[5][41] = math.huge, 0 / 0
    local c = a:mm(b)
    assert.equal(64, c:isinf():sum():item())
    assert.equal(64, c:isnan():sum():item())
    assert.equal(41, c[1][1]:item())
    assert.has_error(function() a:mm(b:t()) end, "mm: input has 41 columns, other has 64 rows "
      .. "(input [40, 41], other [64, 41])")
    assert.equal(0, lucerna.zeros(2, 0):to(half):mm(lucerna.zeros(0, 3):to(half)):sum():item())
    local none = lucerna.zeros(0, 41):to(half):mm(b)
    assert.same({0, 64}, {none:size(1), none:size(2)})
  end)
end)

describe("the sign of a half", function()
  it("decides as that of its float does, for every number there is", function()
    local bits = lucerna.arange(-32768, 32768):to(lucerna.int16)
    for half in pairs(HALVES) do
      local x = bits:view(lucerna[half])
      for _, name in ipairs {"neg", "abs", "relu"} do
        local y, wanted = x[name](x), x:float()[name](x:float()):to(x.dtype)
        local same = y:view(lucerna.int16):eq(wanted:view(lucerna.int16))
        assert.is_true(same:logical_or(y:isnan():logical_and(x:isnan())):all():item(), name)
      end
    end
  end)
end)

describe("functions of every half", function()
  local F = nn.functional
  local bits = (lucerna.arange(65536) - 32768):to(lucerna.int16)
  local turned = bits:flip(1)
  local FUNCTIONS = {
    sqrt = function(x) return x:sqrt() end,
    rsqrt = function(x) return x:rsqrt() end,
    reciprocal = function(x) return x:reciprocal() end,
    addcmul = function(x, y) return x:addcmul(y, x, { value = 0.3 }) end,
    addcdiv = function(x, y) return x:addcdiv(x, y, { value = -1.7 }) end,
    add = function(x, y) return x:add(y, { alpha = 0.7 }) end,
    lerp = function(x, y) return x:lerp(y, y) end,
    maximum = function(x, y) return x:maximum(y) end,
    minimum = function(x, y) return x:minimum(y) end,
    clamp = function(x, y) return x:clamp(y, x) end,
    ["clamp by numbers"] = function(x) return x:clamp(-3, 0.625) end,
    square = function(x) return x:square() end,
    ceil = function(x) return x:ceil() end,
    floor = function(x) return x:floor() end,
    round = function(x) return x:round() end,
    trunc = function(x) return x:trunc() end,
    frac = function(x) return x:frac() end,
    angle = function(x) return x:angle() end,
    copysign = function(x, y) return x:copysign(y) end,
    leaky_relu = function(x) return F.leaky_relu(x, 0.3) end,
    elu = function(x) return F.elu(x, 1.3) end,
    selu = function(x) return F.selu(x) end,
    hardtanh = function(x) return F.hardtanh(x) end,
    hardsigmoid = function(x) return F.hardsigmoid(x) end,
    hardswish = function(x) return F.hardswish(x) end,
    hardshrink = function(x) return F.hardshrink(x) end,
    softshrink = function(x) return F.softshrink(x) end,
    threshold = function(x) return F.threshold(x, 0.5, 2) end,
    ["less than a number"] = function(x) return 3 - x end,
    ["by a number they have"] = function(x) return x * 0.375 end,
    ["by one they have not"] = function(x) return x / 0.3 end,
    ["one they have not times"] = function(x) return 0.3 * x end,
  }
  for what, f in pairs(FUNCTIONS) do
    it("are those of floats, rounded: " .. what, function()
      for name in pairs(HALVES) do
        local x, y = bits:view(lucerna[name]), turned:view(lucerna[name])
        local have, want = f(x, y), f(x:float(), y:float()):to(lucerna[name])
        assert.is_true(have:isnan():equal(want:isnan()), name)
        assert.is_true(have:nan_to_num(-1):equal(want:nan_to_num(-1)), name)
      end
    end)
  end
end)

describe("the half next to another", function()
  -- Where a half's bits stand among all of them, those of -0 with those of 0.
  local function place(x)
    local bits = x:view(lucerna.int16):long()
    return lucerna.where(bits:lt(0), -32768 - bits, bits)
  end

  it("is one place nearer, or the other where they are equal, for every half", function()
    local x16 = (lucerna.arange(65536) - 32768):to(lucerna.int16)
    for name in pairs(HALVES) do
      local x = x16:view(lucerna[name])
      for _, to in ipairs {math.huge, -math.huge, 0.0, -0.0, 1.5, -3} do
        local y = lucerna.full({65536}, to):to(lucerna[name])
        local have = x:nextafter(y)
        local want = place(x) + (place(y) - place(x)):sign()
        assert.is_true(have:isnan():equal(x:isnan()))
        assert.is_true(place(have):eq(want):logical_or(x:isnan()):all():item(), name .. to)
        local same = x:eq(y)
        assert.same(y[same]:view(lucerna.int16):tolist(), have[same]:view(lucerna.int16):tolist())
        assert.is_true(have:nan_to_num():equal(x:nextafter(y[1]):nan_to_num()))
      end
      assert.is_true(x:nextafter(x * (0 / 0)):isnan():all():item())
      for _, n in ipairs {0, 1, 3, 63, 65, 129} do
        local some, apart = x[{{1001, 1000 + n}}], lucerna.stack({x, x}, 2)[{{1001, 1000 + n}, 1}]
        assert.same(some:nextafter(-some):tolist(), apart:nextafter(-apart):tolist())
      end
    end
  end)
end)

describe("rows of halves", function()
  it("have the extremes and sums of their floats", function()
    lucerna.manual_seed(11)
    for name in pairs(HALVES) do
      for _, n in ipairs {63, 64, 65, 100, 127, 129, 257, 1000, 1023} do
        local x = lucerna.randint(-4, 5, {9, n}):to(lucerna[name])
        x[2][n], x[3][1], x[4][n // 2], x[5] = 0 / 0, 0 / 0, math.huge, -math.huge
        for _, f in ipairs {"amax", "amin", "sum", "mean"} do
          for _, dim in ipairs {2, -1} do
            local have, want = x[f](x, dim), x:float()[f](x:float(), dim):to(x.dtype)
            local same = have:eq(want):logical_or(have:isnan():logical_and(want:isnan()))
            assert.is_true(same:all():item(), name .. f .. n)
          end
        end
        assert.equal(4, x[1]:max():item())
        assert.equal(-math.huge, x[5]:max():item())
        assert.is_true(x:min():isnan():item())
      end
    end
  end)
end)

describe("halves added where positions lead", function()
  it("are sums of floats, rounded after each", function()
    lucerna.manual_seed(12)
    local n, at = 65536, lucerna.randperm(65536)
    local bits = (lucerna.arange(n) - 32768):to(lucerna.int16)
    for name in pairs(HALVES) do
      local x, y = bits:view(lucerna[name]), bits:flip(1):view(lucerna[name])
      local have, want = x:scatter_add(1, at, y), x + lucerna.zeros_like(y):scatter(1, at, y)
      assert.is_true(have:isnan():equal(want:isnan()), name)
      assert.is_true(have:nan_to_num(-1):equal(want:nan_to_num(-1)), name)
      local once, one = lucerna.ones(300):to(lucerna.int64), lucerna.ones(300):to(lucerna[name])
      local most = name == "bfloat16" and 256 or 300
      assert.equal(most, lucerna.zeros(200):to(lucerna[name]):scatter_add(1, once, one)[1]:item())
    end
  end)

  it("are rounded once where many come to few, as by PyTorch 2.15", function()
    local ones = lucerna.ones(300):to(lucerna.int64)
    for name in pairs(HALVES) do
      local one, zeros = lucerna.ones(300):to(lucerna[name]), lucerna.zeros(2):to(lucerna[name])
      local more, two = one + 1 / 128, lucerna.tensor({1, 2}):to(lucerna[name])
      local function first(y)
        assert.equal(lucerna[name], y.dtype)
        assert.equal(two[2]:item(), y[2]:item() + (y[2]:item() == 0 and 2 or 0))
        return y[1]:item()
      end
      assert.equal(300, first(zeros:scatter_add(1, ones, one)))
      assert.equal(300, first(zeros:scatter(1, ones, one, {reduce = "add"})))
      local longer = lucerna.full({1000}, 1):to(lucerna[name])
      assert.equal(300, first(zeros:scatter_add(1, ones, longer)))
      assert.equal(1, first(zeros:scatter_reduce(1, ones, one, "mean", {include_self = false})))
      local product = name == "bfloat16" and 10.3125 or 10.328125
      assert.equal(product, first(two:scatter_reduce(1, ones, more, "prod")))
      assert.equal(product, first(two:scatter(1, ones, more, {reduce = "multiply"})))
      assert.equal(more[1]:item(), first(two:scatter_reduce(1, ones, more, "amax")))
      more[7] = 0 / 0
      assert.is_true(two:scatter_reduce(1, ones, more, "amin")[1]:isnan():item())
      local x, turned = zeros:clone(), lucerna.zeros(3, 2):to(lucerna[name])
      assert.equal(x, x:scatter_add_(1, ones, one))
      assert.equal(300, first(x))
      turned:t()[2]:unsqueeze(1):scatter_add_(2, ones:view(1, 300), one:view(1, 300))
      assert.same({{0, 300}, {0, 0}, {0, 0}}, turned:tolist())
      assert.has_error(function() zeros:scatter_add_(1, ones + 2, one) end)
      assert.same({0, 0}, zeros:tolist())
    end
  end)

  it("leave nothing behind where memory ran out on the way", function()
    local x, ones = lucerna.zeros(1000):half(), lucerna.ones(4000)
    local at, values = ones:long(), ones:half()
    local function mean() return x:scatter_reduce(1, at, values, "mean") end
    assert.near(1, mean()[1]:item(), 1e-3)
    local before, refused = parity.live(), 0
    for room = 0, 80000, 1000 do
      lucerna.trim_memory() -- what is kept would be had again
      lucerna.set_memory_limit(parity.live() + room)
      if not pcall(mean) then refused = refused + 1 end
      lucerna.set_memory_limit(0)
    end
    assert.is_true(refused > 40)
    assert.equal(before, parity.live())
  end)
end)

describe("rows of halves", function()
  local F = nn.functional

  it("have products that overflow to infinity, not NaN", function()
    local x = lucerna.tensor {{1e30}, {1e30}, {1e-30}, {1e-30}}:to(lucerna.bfloat16)
    for _, n in ipairs {20, 40000} do
      local y = x:expand(4, n):contiguous():prod(1)
      assert.same({math.huge, math.huge}, {y:amin():item(), y:amax():item()})
    end
  end)

  -- Each function's result and gradients, of halves and of their floats.
  local function agree(what, half, room, f, ...)
    local results = {}
    for k, dtype in ipairs {lucerna[half], lucerna.float32} do
      local leaves = {}
      for i, x in ipairs {...} do leaves[i] = x:to(half):to(dtype):requires_grad_() end
      local y = f(table.unpack(leaves))
      local pull = lucerna.linspace(-1, 2, y:numel()):reshape(y:size()):to(half)
      y:backward(pull:to(dtype))
      results[k] = {y:detach()}
      for i, x in ipairs(leaves) do results[k][i + 1] = x.grad end
    end
    for i, have in ipairs(results[1]) do
      assert.equal(lucerna[half], have.dtype)
      local want = results[2][i]
      parity.close(have:float(), room and want or want:to(half):float(),
        {rtol = room or 0, atol = room or 0, equal_nan = true}, what .. " " .. half .. " " .. i)
    end
  end

  for half, room in pairs {float16 = 2e-3, bfloat16 = 2e-2} do
    it("have the softmax of their floats, rounded once: " .. half, function()
      lucerna.manual_seed(2)
      for _, n in ipairs {1, 2, 9, 16, 31, 65, 130, 1111} do
        for _, rows in ipairs {1, 5, 40, 300} do
          local x = 3 * lucerna.randn(rows, n)
          for _, dim in ipairs {1, 2} do
            for _, name in ipairs {"softmax", "log_softmax"} do
              local what = ("%s of %d x %d"):format(name, rows, n)
              -- The gradient begins with the result, which is rounded.
              agree(what, half, 4 * room, function(t) return F[name](t, dim) end, x)
              assert.is_true(F[name](x:to(half), dim)
                :equal(F[name](x:to(half):float(), dim):to(half)), what)
              local turned = x:to(half):t()
              assert.is_true(F[name](turned, dim):equal(F[name](turned:contiguous(), dim)), what)
            end
          end
        end
      end
      local odd = lucerna.tensor {{1, 0 / 0, 2}, {math.huge, 1, 2}, {-math.huge, 0, 0}}
      assert.are.same({true, true, false}, F.softmax(odd:to(half), 2):isnan():any(2):tolist())
      assert.are.same({0, 0.5, 0.5}, F.softmax(odd:to(half), 2)[3]:tolist())
      assert.equal(0, F.softmax(lucerna.zeros(0, 5):to(half), 2):numel())
    end)

    it("have the likelihood of their floats: " .. half, function()
      local x, weight = lucerna.randn(6, 37), lucerna.rand(37)
      local target = lucerna.tensor {1, 37, 5, -100, 5, 16}
      for _, reduction in ipairs {"none", "mean", "sum"} do
        agree("nll_loss " .. reduction, half, room, function(t)
          local options = {reduction = reduction, weight = weight:to(half):to(t.dtype)}
          return F.nll_loss(t, target, options)
        end, x)
      end
      local planes = lucerna.randn(2, 3, 5, 5)
      agree("nll_loss of images", half, room, function(t)
        return F.nll_loss(t, lucerna.randint(1, 4, {2, 5, 5}):fill_(2))
      end, planes)
    end)

    it("are normalized as their floats are: " .. half, function()
      for _, n in ipairs {1, 7, 16, 33, 300, 1100} do
        local x, w, b = lucerna.randn(5, n) + 2, lucerna.randn(n), lucerna.randn(n)
        if n > 1 then
          agree("layer_norm of " .. n, half, 4 * room,
            function(t, u, v) return F.layer_norm(t, {n}, u, v) end, x, w, b)
        end
        agree("batch_norm of " .. n, half, 4 * room, function(t, u, v)
          return F.batch_norm(t, nil, nil, u, v, true)
        end, x, w, b)
      end
      for _, size in ipairs {{3, 4, 1, 1}, {2, 6, 5, 7}, {2, 4, 40, 30}} do
        local c = size[2]
        local x, w, b = lucerna.randn(size) - 1, lucerna.randn(c), lucerna.randn(c)
        local mean, var = lucerna.randn(c), lucerna.rand(c) + 0.5
        for _, training in ipairs {true, false} do
          agree("batch_norm of images", half, 4 * room, function(t, u, v)
            local m, s = mean:to(half):to(t.dtype), var:to(half):to(t.dtype)
            return F.batch_norm(t:transpose(3, 4), m, s, u, v, training)
          end, x, w, b)
        end
        if size[3] > 1 then
          agree("group_norm", half, 4 * room, function(t, u, v)
            return F.group_norm(t, 2, u, v)
          end, x, w, b)
        end
      end
      local far = lucerna.full({4, 100}, 3):to(half)
      far[2][7] = math.huge
      far[3][9] = 0 / 0
      local y = F.layer_norm(far, {100})
      assert.are.same({false, true, true, false}, y:isnan():any(2):tolist())
      assert.are.equal(0, y[1]:abs():max():item())
    end)
  end
end)

-- PyTorch 2.15's; the powers alone are beyond float16.
describe("norms whose powers a half does not hold", function()
  it("are those of floats", function()
    local x = lucerna.full({3, 5}, 300.0):to(lucerna.float16)
    assert.same({432.75, 432.75, 432.75, 432.75, 432.75}, x:norm(3, 1):tolist())
    assert.same({465.5, 465.5, 465.5, 465.5, 465.5}, x:norm(2.5, 1):tolist())
    local y = lucerna.linalg.vector_norm(lucerna.full({3, 5}, 8.0):to(lucerna.float16), 6)
    assert.equal(lucerna.float16, y.dtype)
    assert.equal(12.5625, y:item())
  end)
end)

describe("nextafter", function()
  it("steps by the result's dtype, whatever the other is", function()
    local x = lucerna.tensor({1, 0, -2}, {dtype = lucerna.float16})
    local want = {1.0, 2.0 ^ -24, -2 + 2.0 ^ -10}
    assert.same(want, x:nextafter(lucerna.tensor {true, true, false}):tolist())
    assert.same({1 + 2.0 ^ -10, want[2], want[3]}, x:nextafter(lucerna.tensor(5.0)):tolist())
    local two = lucerna.tensor({2, 2, 2}, {dtype = lucerna.bfloat16})
    assert.same({1 + 2.0 ^ -7, 2.0 ^ -133, -2 + 2.0 ^ -7}, x:long():nextafter(two):tolist())
    assert.same(want, x:nextafter_(lucerna.tensor {true, true, false}):tolist())
  end)
end)

describe("short rows of halves", function()
  it("are folded as the floats they become", function()
    for _, name in ipairs {"float16", "bfloat16"} do
      for _, columns in ipairs {63, 64, 100, 127, 128, 129} do
        local x = ((lucerna.arange(40 * columns) * 37 % 101 - 50) / 64):to(lucerna[name])
        x = x:view(40, columns)
        local wide = x:float()
        for _, rows in ipairs {1, 15, 16, 40} do
          local a, b = x:narrow(1, 1, rows), wide:narrow(1, 1, rows)
          assert.is_true(a:norm(2, 2):equal(b:norm(2, 2):to(lucerna[name])), name .. columns)
          assert.is_true(a:norm(1, 2):equal(b:norm(1, 2):to(lucerna[name])), name .. columns)
          assert.is_true(a:nansum(2):equal(b:nansum(2):to(lucerna[name])), name .. columns)
        end
      end
    end
  end)
end)

describe("addr of halves", function()
  it("gives the same whether a gradient is wanted or not", function()
    for _, dtype in ipairs { "float16", "bfloat16" } do
      local x = lucerna.randn(50, 60):to(lucerna[dtype])
      local a, b = lucerna.randn(50):to(lucerna[dtype]), lucerna.randn(60):to(lucerna[dtype])
      local factors = { beta = 0.3, alpha = 1.7 }
      local recorded = lucerna.addr(x:clone():requires_grad_(), a, b, factors)
      assert.is_true(lucerna.addr(x, a, b, factors):equal(recorded:detach()))
    end
  end)
end)
