-- Layers at edge shapes, as PyTorch answers: batches of nothing, inputs without a batch, and views
-- whose memory is not in order, which are to give what their copies give.

local lucerna = require "lucerna"
local parity = require "parity"
local nn = lucerna.nn

local function make(case)
  lucerna.manual_seed(3)
  return assert(load("return nn." .. case.class, case.class, "t", {nn = nn}))()
end

-- Does it draw random numbers?
local function drawn(case) return case.class:find "Dropout" or case.class:find "RReLU" end

-- A view of this shape whose last dimension is not the innermost, or that skips memory.
local function turned(shape)
  local base = {table.unpack(shape)}
  base[1], base[#base] = base[#base], base[1]
  return lucerna.randn(base):transpose(1, -1)
end

local function with_gradient(case, x)
  local layer = make(case)
  lucerna.manual_seed(5)
  local leaf = x:detach():requires_grad_()
  local y = layer(leaf)
  local weights = lucerna.linspace(0.5, 1.5, y:numel()):reshape(y:size())
  ;(y * weights):sum():backward()
  local grads = {leaf.grad}
  for p in layer:parameters() do grads[#grads + 1] = p.grad end
  return y:detach(), grads
end

local function same(expected, actual, label)
  parity.close(actual, expected, {atol = 1e-5, rtol = 1e-5}, label)
end

describe("a layer at edge shapes:", function()
  for _, case in ipairs(parity.load "edges") do
    if case.shape then
      it("nothing in a batch, " .. case.class, function()
        local layer = make(case)
        local x = lucerna.zeros(0, table.unpack(case.shape)):requires_grad_()
        local y = layer(x)
        assert.are.same(case.zero, y:size())
        if not y.requires_grad then return end
        y:sum():backward()
        assert.are.same(x:size(), x.grad:size())
        for name, p in layer:named_parameters() do
          assert.are.same({name, 0.0}, {name, p.grad and p.grad:abs():sum():item() or 0.0})
        end
      end)
    end

    if case.unbatched then
      it("no batch, " .. case.class, function()
        local layer, x = make(case):eval(), lucerna.randn(case.shape)
        same(layer(x:unsqueeze(1))[1]:detach(), layer(x):detach())
      end)
    end

    if case.shape then
      it("memory in another order, " .. case.class, function()
        local shape = {2, table.unpack(case.shape)}
        for _, x in ipairs {turned(shape), lucerna.randn(1, table.unpack(case.shape)):expand(shape),
          lucerna.randn(shape):flip(1):narrow(1, 1, 2), lucerna.randn(4, table.unpack(case.shape))[
          {{1, 4, 2}}]} do
          local expected, grads = with_gradient(case, x:contiguous())
          local actual, others = with_gradient(case, x)
          same(expected, actual, "result")
          for k, g in ipairs(grads) do same(g, others[k], "gradient " .. k) end
        end
      end)
    end

    if case.shape and not drawn(case) then
      it("first and second derivatives, " .. case.class, function()
        local layer = make(case):double()
        local leaves = {parity.leaf {2, table.unpack(case.shape)}}
        for p in layer:parameters() do leaves[#leaves + 1] = p end
        parity.gradcheck(function(x) return layer(x) end, leaves)
        parity.gradgradcheck(function(x) return layer(x) end, leaves)
      end)
    end

    if case.loss then
      it("nothing to lose, " .. case.loss, function()
        for _, reduction in ipairs {"mean", "sum"} do
          local value = nn[case.loss] {reduction = reduction}(lucerna.zeros(0, 3),
            lucerna.zeros(0, 3)):item()
          local expected = case[reduction]
          assert.is_true(value == expected or value ~= value and expected ~= expected)
        end
      end)
    end
  end
end)

it("softplus is a line from its threshold on for the second derivative, as in PyTorch", function()
  local x = lucerna.tensor({0.5, 0.0}, {dtype = "float64", requires_grad = true})
  local slope = lucerna.autograd.grad(nn.functional.softplus(x, 2, 1):sum(), {x},
    {create_graph = true})
  assert.is_near(0.7310585786300049, slope[1]:item(), 1e-15)
  assert.same({0, 0.5}, lucerna.autograd.grad(slope:sum(), {x}):tolist())
end)

describe("a batch of nothing", function()
  for _, name in ipairs {"RNN", "LSTM", "GRU"} do
    it("goes through " .. name, function()
      local layer = nn[name](2, 3, {num_layers = 2, bidirectional = true})
      local x = lucerna.zeros(4, 0, 2):requires_grad_()
      local y, state = layer(x)
      assert.are.same({4, 0, 6}, y:size())
      assert.are.same({4, 0, 3}, (name == "LSTM" and state[1] or state):size())
      y:sum():backward()
      assert.are.equal(0.0, layer.weight_hh_l1.grad:abs():sum():item())
      assert.are.same({0, 3}, (nn[name .. "Cell"](2, 3)(lucerna.zeros(0, 2))):size())
    end)
  end

  it("goes through embeddings and what takes positions", function()
    local none = lucerna.zeros(0, 3, {dtype = lucerna.int64})
    local layer = nn.Embedding(4, 2)
    local y = layer(none)
    assert.are.same({0, 3, 2}, y:size())
    y:sum():backward()
    assert.are.equal(0.0, layer.weight.grad:abs():sum():item())
    assert.are.same({0, 2}, nn.EmbeddingBag(4, 2)(none):size())
    local out = nn.AdaptiveLogSoftmaxWithLoss(8, 6, {2, 4})(lucerna.zeros(0, 8),
      lucerna.zeros(0, {dtype = lucerna.int64}))
    assert.are.same({0}, out:size())
  end)
end)

describe("parameters of any shape", function()
  for _, name in ipairs {"Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD",
    "LBFGS", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam"} do
    it("learn by " .. name, function()
      local list = {}
      for k, shape in ipairs {{}, {0}, {3, 0}, {1}, {2, 1, 2}} do
        list[k] = nn.Parameter(lucerna.full(shape, 2.0))
      end
      list[#list + 1] = nn.Parameter(lucerna.full({2}, 2.0)) -- never has a gradient
      local function loss(parameters)
        local sum = 0
        for k = 1, 5 do sum = sum + (parameters[k] ^ 2):sum() end
        return sum
      end
      local function steps(o, parameters, n)
        for _ = 1, n do
          o:step(function()
            o:zero_grad()
            local value = loss(parameters)
            value:backward()
            return value
          end)
        end
      end
      local o = lucerna.optim[name](list, {lr = 0.01})
      steps(o, list, 2)
      assert.is_true(loss(list):item() < 24)
      assert.are.same({2.0, 2.0}, list[6]:tolist())
      local copies = {}
      for k, p in ipairs(list) do copies[k] = nn.Parameter(p:detach():clone()) end
      local other = lucerna.optim[name](copies, {lr = 0.01})
      other:load_state_dict(o:state_dict())
      steps(o, list, 2)
      steps(other, copies, 2)
      for k, p in ipairs(list) do same(p:detach(), copies[k]:detach(), "parameter " .. k) end
    end)
  end
end)

describe("padding nothing", function()
  for _, mode in ipairs {"circular", "replicate", "reflect"} do
    it("gives nothing or says what is wrong: " .. mode, function()
      for _, shape in ipairs {{0, 1, 3}, {1, 0, 3}, {1, 1, 0}, {1, 2, 0, 3}, {0, 2, 3, 0}} do
        for _, by in ipairs {{0, 0}, {0, 0, 0, 0}, {1, 1}, {-1, 0}, {0, 0, 1, 0}} do
          local x = lucerna.rand(shape):requires_grad_()
          local ok, y = pcall(nn.functional.pad, x, by, {mode = mode})
          if ok then
            y:sum():backward()
            assert.are.equal(0, y:numel())
          else
            assert.matches("pad: ", y)
          end
        end
      end
    end)
  end
end)

describe("sizes whose product does not fit", function()
  local F = nn.functional

  before_each(function() lucerna.set_memory_limit(64 << 20) end)
  after_each(function() lucerna.set_memory_limit(0) end)

  it("are refused", function()
    local side, third = (1 << 31) - 1, 0x5555555555555556 -- 3 * third is 2, but for 2^64
    local image = lucerna.ones(1, 1, 2, 2)
    parity.refused("fold: Given output_size=", F.fold, lucerna.zeros(1, 4, 0), {3, 3}, 2,
      {padding = side})
    parity.refused("adaptive_avg_pool3d: ", F.adaptive_avg_pool3d, lucerna.ones(1, 1, 2, 2, 2),
      {side, side, side})
    parity.refused("adaptive_avg_pool2d: ", F.adaptive_avg_pool2d, image,
      {11, 0x2E8BA2E8BA2E8BA3}) -- 1, but for 2^64
    parity.refused("lp_pool3d: ", F.lp_pool3d, lucerna.ones(1, 1, 2, 2, 2), 2, side)
    parity.refused("interpolate: ", F.interpolate, lucerna.ones(1, 1, 2, 2, 2), {size = side})
    for _, name in ipairs {"GRU", "GRUCell"} do
      parity.refused(name .. ": a tensor of shape %[9223372036854775807, 3%] is larger than any "
        .. "memory", nn[name], 3, third)
    end
  end)

  it("of layers are refused before the first is made", function()
    lucerna.nn.LSTM(3, 4, 2)
    local before = lucerna.memory().peak
    parity.refused("LSTM: out of memory: ", nn.LSTM, 3, 4, 1 << 20)
    parity.refused("LSTM: out of memory: ", nn.LSTM, 3, 4, 1 << 62)
    assert.is_true(lucerna.memory().peak < before + (1 << 20))
  end)
end)

describe("interpolate of a dimension that stays as long", function()
  local F = nn.functional

  it("copies it, whatever the scale", function()
    local x = (lucerna.arange(10.0) ^ 2):reshape(1, 1, 1, 10):requires_grad_()
    for _, options in ipairs {{mode = "nearest"}, {mode = "bilinear"},
      {mode = "bilinear", antialias = true}, {mode = "bicubic", antialias = true}} do
      options.scale_factor = {1, 1.09}
      local y = F.interpolate(x, options)
      assert.same(x:tolist(), y:tolist())
      x.grad = nil
      y:sum():backward()
      assert.is_true(x.grad:eq(1):all():item())
    end
    assert.not_same(x:tolist(),
      F.interpolate(x, {mode = "bicubic", scale_factor = {1, 1.09}}):tolist())
  end)

  it("takes nothing of its neighbours, which may be infinite", function()
    local x = lucerna.tensor {{{{1.0, 2}, {-math.huge, 0 / 0}, {3, 5}}}}
    local y = F.interpolate(x, {size = {3, 3}, mode = "bilinear"})
    assert.same({1, 1.5, 2}, y[{1, 1, 1}]:tolist())
    assert.same({3, 4, 5}, y[{1, 1, 3}]:tolist())
    assert.is_true(y[{1, 1, 2}]:isnan():all():item())
    y = F.interpolate(x, {size = {3, 1}, mode = "bilinear", antialias = true})
    assert.same({1.5, 4}, y[{{}, {}, {1, 3, 2}}]:flatten():tolist())
  end)
end)
