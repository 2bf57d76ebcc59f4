-- Products of bfloat16, which machines make in ways of their own (by pairs along the sum, by tiles
-- of them): of every size around a tile's and layout they are those of doubles, as exactly as
-- bfloat16 tells them. LUCERNA_ISA=avx512 is without tiles.
local lucerna = require "lucerna"
local parity = require "parity"
local nn, bfloat16 = lucerna.nn, lucerna.bfloat16
local F = nn.functional

local SIZES = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 130}
local STEP = os.getenv("LUCERNA_TEST_SHORT") and 7 or 1

local function draw(...) return lucerna.randn(...):to(bfloat16) end

-- The same numbers with the last two dimensions the other way round in memory.
local function turned(x) return x:transpose(-2, -1):contiguous():transpose(-2, -1) end

-- The same numbers, none of them adjacent.
local function apart(x) return lucerna.stack({x, x * 0}, -1):select(-1, 1) end

-- The product of a and b and what was added: `scale` bounds the sums of what may be rounded.
local function check(have, a, b, more, relu)
  local x, y = a:double(), b:double()
  local want, scale = x:matmul(y), x:abs():matmul(y:abs())
  if more then want, scale = want + more:double(), scale + more:double():abs() end
  if relu then want = want:relu() end
  assert.equal(bfloat16, have.dtype)
  assert.same(want:size(), have:size())
  if want:numel() == 0 then return end
  local off = (have:double() - want):abs() - scale * 2 ^ -8
  assert.is_true(off:max():item() <= 1e-6)
end

local LAYOUTS = {
  function(a, b) return a, b end,
  function(a, b) return a, turned(b) end,
  function(a, b) return turned(a), b end,
  function(a, b) return turned(a), turned(b) end,
  function(a, b) return apart(a), apart(b) end,
}

describe("products of bfloat16", function()
  before_each(function() lucerna.manual_seed(11) end)

  it("are those of doubles, of every size and layout", function()
    local i = 0
    for _, m in ipairs(SIZES) do
      for _, k in ipairs(SIZES) do
        for _, n in ipairs(SIZES) do
          i = i + 1
          if i % STEP == 0 then
            local a, b = LAYOUTS[i % #LAYOUTS + 1](draw(m, k), draw(k, n))
            check(lucerna.mm(a, b), a, b)
          end
        end
      end
    end
  end)

  it("are so of long sums and many columns", function()
    for i, s in ipairs {{64, 1030, 70}, {130, 2049, 33}, {33, 520, 450}, {1100, 64, 40},
      {20, 300, 1000}, {200, 600, 200}} do
      for l = 1, #LAYOUTS do
        if (i + l) % STEP == 0 or STEP == 1 then
          local a, b = LAYOUTS[l](draw(s[1], s[2]), draw(s[2], s[3]))
          check(a:matmul(b), a, b)
        end
      end
    end
  end)

  it("are so in batches", function()
    for _, s in ipairs {{3, 64, 64, 64}, {5, 17, 40, 33}, {2, 130, 100, 65}, {70, 16, 64, 16}} do
      local a, b = draw(s[1], s[2], s[3]), draw(s[1], s[3], s[4])
      for _, layout in ipairs(LAYOUTS) do
        local x, y = layout(a, b)
        check(lucerna.bmm(x, y), x, y)
      end
      check(a:matmul(b[1]), a, b[1])
      check(a[1]:matmul(b), a[1], b)
    end
  end)

  it("are read where they lie: rows of odd length, repeated ones, dimensions of a batch", function()
    for _, s in ipairs {{64, 64, 64}, {40, 99, 33}} do
      local a, b = draw(s[1], s[2] + 5):narrow(2, 3, s[2]), draw(s[2], s[3] + 1):narrow(2, 2, s[3])
      local at, bt = draw(s[2] + 1, s[1] + 1)[{{2, s[2] + 1}, {2, s[1] + 1}}]:t(), turned(b)
      for _, x in ipairs {a, at, draw(s[1], 1):expand(s[1], s[2])} do
        check(x:mm(b), x, b)
        check(x:mm(bt), x, b)
      end
      local many, others = draw(2, 1, 3, s[1], s[2]), draw(5, 1, s[2], s[3])
      check(many:matmul(others), many, others)
      local add, x = draw(4, s[1], s[3]), draw(4, s[1], s[2])
      check(lucerna.baddbmm(add, x, b:expand(4, s[2], s[3]), {beta = 2, alpha = 0.5}),
        x * 0.5, b, add * 2)
    end
  end)

  it("keep what is added where nothing else is, denormals too", function()
    local bias = lucerna.full({64}, 2 ^ -130):to(bfloat16)
    local y = F.linear(lucerna.zeros(32, 64):to(bfloat16), draw(64, 64), bias)
    assert.is_true(y:equal(bias:expand(32, 64)))
  end)

  it("take a bias, a factor and relu", function()
    for _, s in ipairs {{64, 64, 64}, {33, 100, 50}, {5, 130, 64}, {300, 64, 17},
      {100, 600, 200}} do
      local x, w, c = draw(s[1], s[2]), draw(s[3], s[2]), draw(s[3])
      check(F.linear(x, w), x, w:t())
      check(F.linear(x, w, c), x, w:t(), c)
      check(F.linear(turned(x), w, c), x, w:t(), c)
      check(F.linear(x, turned(w), c), x, w:t(), c)
      check(F.linear(x, apart(w)), x, w:t())
      check(lucerna.addmm(c, x, w:t()), x, w:t(), c)
      check(lucerna.addmm(apart(c), x, w:t(), {alpha = 2}), x * 2, w:t(), c)
      local net = nn.Sequential(nn.Linear(s[2], s[3]), nn.ReLU()):to(bfloat16):eval()
      lucerna.no_grad(function()
        check(net(x), x, net[1].weight:detach():t(), net[1].bias:detach(), true)
      end)
      local add = draw(s[1], s[3])
      check(lucerna.addmm(add, x, w:t(), {beta = 0.5, alpha = 2}), x * 2, w:t(), add * 0.5)
    end
  end)

  it("have gradients that are such products", function()
    for _, s in ipairs {{64, 64, 64}, {40, 100, 72}, {130, 33, 65}} do
      local x, w = draw(s[1], s[2]):requires_grad_(), draw(s[3], s[2]):requires_grad_()
      local g = draw(s[1], s[3])
      F.linear(x, w):backward(g)
      check(x.grad, g, w:detach())
      check(w.grad, g:t(), x:detach())
    end
  end)

  it("keep NaN and infinity to their rows and columns", function()
    for _, s in ipairs {{64, 64, 64}, {33, 50, 40}, {20, 33, 130}} do
      for l = 1, #LAYOUTS do
        local a, b = draw(s[1], s[2]), draw(s[2], s[3])
        a[3][s[2]] = 0 / 0
        a[5][2] = math.huge
        b[1][s[3]] = 0 / 0
        local x, y = LAYOUTS[l](a, b)
        local c = lucerna.mm(x, y):double()
        local nans = c:isnan()
        assert.is_true(nans[3]:all():item())
        assert.is_true(nans:select(2, s[3]):all():item())
        assert.equal(s[3] + s[1] - 1, nans:sum():item())
        assert.is_true(c[5]:narrow(1, 1, s[3] - 1):isinf():all():item())
        assert.equal(s[3] - 1, c:isinf():sum():item())
      end
    end
  end)

  it("may be empty", function()
    assert.same({0, 64}, lucerna.mm(draw(0, 64), draw(64, 64)):size())
    assert.same({64, 0}, lucerna.mm(draw(64, 64), draw(64, 0)):size())
    assert.equal(0, lucerna.mm(draw(64, 0), draw(0, 64)):abs():sum():item())
    assert.same({0, 64, 64}, lucerna.bmm(draw(0, 64, 64), draw(0, 64, 64)):size())
  end)

  it("may be of more elements than an integer counts, which no memory holds", function()
    local many, item = 1 << 45, draw(1, 1, 64, 64)
    local tall = draw(1, 64):expand(many, 64)
    parity.refused("mm: .*memory", lucerna.mm, tall, tall:t())
    parity.refused("linear: .*memory", F.linear, tall, tall)
    parity.refused("matmul: .*memory", lucerna.matmul,
      item:expand(many, 1, 64, 64), item:expand(1, many, 64, 64))
  end)

  it("are the same of any number of threads", function()
    local a, b, n = draw(600, 520), draw(520, 700), lucerna.get_num_threads()
    local function results() return {lucerna.mm(a, b), F.linear(a, turned(b):t()), a:t():mm(a)} end
    lucerna.set_num_threads(1)
    local one = results()
    lucerna.set_num_threads(3)
    for i, y in ipairs(results()) do assert.is_true(one[i]:equal(y)) end
    lucerna.set_num_threads(n)
  end)
end)

describe("convolutions of bfloat16", function()
  it("are those of doubles, there and back", function()
    lucerna.manual_seed(12)
    for _, s in ipairs {
      {{2, 64, 9, 11}, {32, 64, 1, 1}}, {{2, 40, 12, 12}, {33, 40, 3, 3}, 1, 1},
      {{1, 64, 14, 14}, {64, 64, 3, 3}, 2, 1}, {{2, 66, 8, 8}, {48, 33, 3, 3}, 1, 1, 1, 2},
      {{3, 32, 7, 7}, {256, 32, 3, 3}, 1, 0}, {{1, 35, 20, 20}, {20, 35, 5, 5}, 1, 2, 2},
      {{4, 33, 17, 19}, {20, 33, 3, 3}, 2, 1}, {{1, 17, 41, 43}, {70, 17, 3, 3}, 1, 1},
      {{5, 36, 34, 34}, {40, 18, 3, 2}, 1, 1, 1, 2}, {{5, 16, 32, 33}, {90, 16, 5, 4}, {2, 1}, 2},
      {{7, 64, 30, 24}, {70, 32, 3, 3}, {1, 3}, 1, 1, 2},
      {{2, 70, 13, 40}, {33, 70, 1, 3}, 1, {0, 1}},
      {{3, 32, 20, 20}, {33, 32, 3, 3}, 1, 2, 2}, {{3, 32, 30, 30}, {33, 32, 3, 3}, 2, 3, 3},
    } do
      local x, w = draw(s[1]), draw(s[2])
      local function run(dtype)
        local input, weight = x:to(dtype):requires_grad_(), w:to(dtype):requires_grad_()
        local bias = lucerna.linspace(-1, 1, s[2][1]):to(bfloat16):to(dtype)
        local y = F.conv2d(input, weight, bias, s[3] or 1, s[4] or 0, s[5] or 1, s[6] or 1)
        local g = lucerna.linspace(-1, 2, y:numel()):to(bfloat16):to(dtype)
        y:backward(g:reshape(y:size()))
        return {y:detach(), input.grad, weight.grad}
      end
      local want = run(lucerna.float64)
      for i, have in ipairs(run(bfloat16)) do
        assert.equal(bfloat16, have.dtype)
        parity.close(have:double(), want[i], {rtol = 0.01, atol = 0.01, scale = true})
      end
    end
  end)

  local function weight_gradient(x, w, g, padding)
    w = w:requires_grad_()
    local conv = x:dim() == 5 and F.conv3d or x:dim() == 4 and F.conv2d or F.conv1d
    conv(x, w, {padding = padding}):backward(g)
    return w.grad
  end

  it("have gradients in one and three dimensions, of any number of threads", function()
    lucerna.manual_seed(19)
    local n = lucerna.get_num_threads()
    for _, s in ipairs {
      {{3, 40, 200}, {24, 40, 7}, {3, 24, 200}, 3},
      {{2, 20, 5, 9, 10}, {18, 20, 3, 3, 3}, {2, 18, 5, 9, 10}, 1},
      {{6, 70, 40, 40}, {100, 70, 3, 3}, {6, 100, 40, 40}, 1},
    } do
      local x, w, g = draw(s[1]), draw(s[2]), draw(s[3])
      local want = weight_gradient(x:double(), w:double(), g:double(), s[4])
      lucerna.set_num_threads(1)
      local one = weight_gradient(x, w:clone(), g, s[4])
      parity.close(one:double(), want, {rtol = 0.01, atol = 0.01, scale = true})
      lucerna.set_num_threads(3)
      assert.is_true(one:equal(weight_gradient(x, w:clone(), g, s[4])))
      lucerna.set_num_threads(n)
    end
  end)

  it("have gradients in which infinity and NaN stay with the taps that met them", function()
    lucerna.manual_seed(20)
    for _, bad in ipairs {math.huge, 0 / 0} do
      local x, w, g = draw(1, 20, 18, 18), draw(17, 20, 3, 3), draw(1, 17, 18, 18)
      x[1][3][1][1] = bad
      local want = weight_gradient(x:double(), w:double(), g:double(), 1)
      local have = weight_gradient(x, w, g, 1):double()
      assert.is_true(have:isfinite():equal(want:isfinite()))
      assert.equal(17 * 4, want:isfinite():logical_not():sum():item())
    end
  end)
end)

describe("recurrent layers of bfloat16", function()
  -- States are rounded in each step, so a few units of bfloat16 come together over some of them.
  local CASES = { -- class, input, hidden, steps, rows
    {nn.LSTM, 40, 128, 5, 33}, {nn.LSTM, 32, 100, 4, 17}, {nn.LSTM, 33, 66, 6, 130},
    {nn.LSTM, 16, 34, 9, 5}, {nn.GRU, 40, 128, 5, 16}, {nn.GRU, 32, 100, 6, 40},
    {nn.RNN, 40, 260, 4, 20}, {nn.RNN, 32, 50, 5, 150},
  }

  local function run(net, x, g)
    local input = x:detach():requires_grad_()
    local y, state = net(input)
    y:backward(g)
    local found = {y:detach(), (type(state) == "table" and state[2] or state):detach(), input.grad}
    for _, p in net:named_parameters() do
      found[#found + 1] = p.grad
      p.grad = nil
    end
    return found
  end

  it("are those of doubles, there and back", function()
    lucerna.manual_seed(13)
    for _, c in ipairs(CASES) do
      local net = c[1](c[2], c[3]):to(bfloat16)
      local x, g = draw(c[4], c[5], c[2]), draw(c[4], c[5], c[3])
      local have = run(net, x, g)
      local want = run(net:double(), x:double(), g:double())
      for i, w in ipairs(want) do
        assert.equal(bfloat16, have[i].dtype)
        parity.close(have[i]:double(), w, {rtol = 0.02, atol = 0.02, scale = true})
      end
    end
  end)

  it("are the same of any number of threads", function()
    lucerna.manual_seed(14)
    local n = lucerna.get_num_threads()
    for _, c in ipairs(CASES) do
      local net, one = c[1](c[2], c[3]):to(bfloat16), nil
      local x, g = draw(c[4], c[5], c[2]), draw(c[4], c[5], c[3])
      for threads = 1, 3 do
        lucerna.set_num_threads(threads)
        local have = run(net, x, g)
        one = one or have
        for i, t in ipairs(have) do assert.is_true(one[i]:equal(t)) end
      end
    end
    lucerna.set_num_threads(n)
  end)

  it("take sequences of different lengths", function()
    lucerna.manual_seed(15)
    local lengths = {9, 9, 7, 6, 6, 5, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1}
    local net = nn.LSTM(40, 128, {bidirectional = true}):to(bfloat16)
    local x = draw(9, #lengths, 40)
    local packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
    local y = nn.utils.rnn.pad_packed_sequence(net(packed))
    net:double()
    packed = nn.utils.rnn.pack_padded_sequence(x:double(), lengths)
    local want = nn.utils.rnn.pad_packed_sequence(net(packed))
    parity.close(y:double(), want, {rtol = 0.02, atol = 0.02, scale = true})
  end)
end)

describe("attention of bfloat16", function()
  -- Batch, heads, queries, keys, features of keys and of values; options.
  local CASES = {
    {2, 3, 64, 64, 64, 64}, {1, 2, 70, 200, 32, 40}, {2, 1, 130, 395, 64, 32},
    {1, 2, 17, 133, 34, 50}, {3, 1, 300, 20, 96, 18}, {1, 2, 9, 450, 40, 66},
    {2, 2, 200, 200, 64, 64, true}, {1, 1, 330, 420, 48, 32, true}, {1, 2, 33, 71, 32, 32, true},
    {2, 1, 128, 700, 128, 128}, {1, 2, 40, 50, 33, 64}, {2, 2, 100, 60, 32, 34, nil, true},
    {9, 1, 530, 70, 32, 34},
  }

  local function run(c, q, k, v, g)
    local x = {q, k, v}
    for i = 1, 3 do x[i] = x[i]:detach():requires_grad_() end
    local options = {is_causal = c[7]}
    if c[8] then options.attn_mask = lucerna.ones(c[3], c[4], {dtype = lucerna.bool}):tril(3) end
    local y = F.scaled_dot_product_attention(x[1], x[2], x[3], options)
    y:backward(g)
    return {y:detach(), x[1].grad, x[2].grad, x[3].grad}
  end

  local function operands(c)
    return draw(c[1], c[2], c[3], c[5]), draw(c[1], c[2], c[4], c[5]), draw(c[1], c[2], c[4], c[6]),
      draw(c[1], c[2], c[3], c[6])
  end

  local function check_case(c, q, k, v, g)
    local want = run(c, q:double(), k:double(), v:double(), g:double())
    for i, t in ipairs(run(c, q, k, v, g)) do
      assert.equal(bfloat16, t.dtype)
      parity.close(t:double(), want[i], {rtol = 0.02, atol = 0.01, scale = true})
    end
  end

  it("is that of doubles, there and back", function()
    lucerna.manual_seed(16)
    for _, c in ipairs(CASES) do check_case(c, operands(c)) end
  end)

  it("takes heads beside each other, and what is not adjacent or begins anywhere", function()
    lucerna.manual_seed(17)
    local c = {2, 3, 65, 65, 64, 64}
    local all = draw(2, 65, 3, 3 * 64)
    local function head(i) return all:narrow(-1, 1 + 64 * (i - 1), 64):transpose(2, 3) end
    check_case(c, head(1), head(2), head(3), draw(2, 3, 65, 64))
    local q, k, v, g = operands(c)
    check_case(c, apart(q), turned(k), apart(v), turned(g))
    local wide = draw(2, 3, 65, 67)
    check_case(c, wide:narrow(-1, 2, 64), wide:narrow(-1, 3, 64), wide:narrow(-1, 4, 64), g)
    local flat = draw(q:numel() + 1):narrow(1, 2, q:numel()):view(q:size())
    check_case(c, flat, k, flat, flat)
  end)

  it("has no part of keys and values that no query sees, whatever they are", function()
    lucerna.manual_seed(21)
    local c = {1, 1, 100, 200, 64, 64, true}
    local q, k, v, g = operands(c)
    local want = run(c, q, k, v, g)
    k[1][1]:narrow(1, 101, 100):fill_(0 / 0)
    v[1][1]:narrow(1, 101, 100):fill_(math.huge)
    for i, t in ipairs(run(c, q, k, v, g)) do assert.is_true(want[i]:equal(t)) end
  end)

  it("is the same of any number of threads", function()
    lucerna.manual_seed(18)
    local n = lucerna.get_num_threads()
    for _, c in ipairs(CASES) do
      local q, k, v, g = operands(c)
      lucerna.set_num_threads(1)
      local one = run(c, q, k, v, g)
      lucerna.set_num_threads(3)
      for i, t in ipairs(run(c, q, k, v, g)) do assert.is_true(one[i]:equal(t)) end
    end
    lucerna.set_num_threads(n)
  end)
end)
