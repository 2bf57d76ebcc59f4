-- Layers as PyTorch has them after the same seed: text, state, outputs and gradients.

local lucerna = require "lucerna"
local nn = lucerna.nn
local parity = require "parity"
local cases = parity.load "layers"
for _, file in ipairs {"layers_simple", "layers_conv"} do
  for _, case in ipairs(parity.load(file)) do cases[#cases + 1] = case end
end

local agree = parity.agree

local function inputs_of(case)
  local inputs = {}
  for k, fixture in ipairs(case.inputs) do
    inputs[k] = parity.tensor(fixture)
    if fixture.dtype ~= "int64" then inputs[k]:requires_grad_(true) end
  end
  return inputs
end

describe("a layer", function()
  for _, case in ipairs(cases) do
    describe(case.lua, function()
      it("prints as PyTorch's", function()
        assert.are.equal(case.text, tostring(parity.layer(case)))
      end)

      it("begins with PyTorch's state", function()
        local keys, state = {}, parity.layer(case):state_dict()
        for name in pairs(state) do keys[#keys + 1] = name end
        local expected = {}
        for k, entry in ipairs(case.state) do
          expected[k] = entry[1]
          agree(entry[2], state[entry[1]], entry[1])
        end
        assert.are.same(expected, keys)
      end)

      it("gives PyTorch's output and gradients", function()
        local layer, inputs = parity.layer(case), inputs_of(case)
        local output, indices = layer(table.unpack(inputs))
        agree(case.output, output, "output")
        agree(case.indices, indices, "indices")
        for name, value in pairs(case.after) do
          agree(value, layer:state_dict()[name], name)
        end
        if next(case.grads) == nil then return end
        parity.agree_gradients(case.grads, layer, inputs, output, 1e-5)
      end)
    end)
  end
end)

describe("a constructor refuses", function()
  local refusals = {
    {"groups that do not divide the channels", function() nn.Conv2d(3, 4, 3, {groups = 2}) end,
      "in_channels must be divisible by groups"},
    {"groups of 0", function() nn.Conv2d(2, 4, 3, {groups = 0}) end, "groups must be a positive"},
    {"an unknown padding", function() nn.Conv1d(2, 4, 3, {padding = "some"}) end,
      "Invalid padding string"},
    {"'same' with a stride", function() nn.Conv1d(2, 4, 3, {padding = "same", stride = 2}) end,
      "not supported for strided"},
    {"a wrong padding mode", function() nn.Conv1d(2, 4, 3, {padding_mode = "mirror"}) end,
      "padding_mode"},
    {"probabilities above 1", function() nn.Dropout(1.5) end, "between 0 and 1"},
    {"no features", function() nn.Bilinear(0, 2, 2) end, "in1_features must be > 0"},
    {"a padding_idx out of range", function() nn.Embedding(3, 2, {padding_idx = 4}) end,
      "padding_idx"},
    {"dimension 0", function() nn.Softmax(0) end, "Softmax: dim: dim 0 is out of range"},
    {"an unknown argument", function() nn.Linear(1, 2, {bais = true}) end, "bias"},
    {"a missing argument", function() nn.Linear(1) end, "out_features"},
    {"a wrong type", function() nn.Linear("a", 2) end, "in_features"},
  }
  for _, refusal in ipairs(refusals) do
    it(refusal[1], function() parity.refused(refusal[3], refusal[2]) end)
  end
end)

describe("a norm layer", function()
  it("uses running statistics in eval", function()
    local bn = nn.BatchNorm1d(2)
    bn(lucerna.tensor {{1.0, 2.0}, {3.0, 6.0}})
    local near = parity.difference(bn.running_mean, lucerna.tensor {0.2, 0.4})
      or parity.difference(bn.running_var, lucerna.tensor {1.1, 1.7})
    assert.is_nil(near)
    bn:eval()
    local before = bn.running_mean:clone()
    bn(lucerna.ones(3, 2))
    assert.is_true(lucerna.equal(before, bn.running_mean))
    assert.are.equal(1, bn.num_batches_tracked:item())
  end)

  it("refuses inputs of another rank, and single values in training", function()
    parity.refused("expected 4D input %(got 2D input%)",
      function() nn.BatchNorm2d(3)(lucerna.ones(2, 3)) end)
    parity.refused("more than 1 value per channel",
      function() nn.BatchNorm1d(3)(lucerna.ones(1, 3)) end)
  end)
end)

describe("a linear layer of no features", function()
  it("is its bias, which begins as zeros", function()
    for _ = 1, 20 do
      local y = nn.Linear(0, 2)(lucerna.zeros(3, 0))
      assert.are.same({{0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}}, y:tolist())
    end
  end)
end)

describe("dropout", function()
  it("is the identity in eval and exact zeros for p = 1", function()
    local x = lucerna.ones(3, 3)
    assert.is_true(lucerna.equal(x, nn.Dropout(0.9):eval()(x)))
    assert.are.equal(0.0, nn.Dropout(1)(x):sum():item())
  end)
end)

describe("a field that no argument says", function()
  it("is there as in PyTorch", function()
    assert.is_false(nn.Conv2d(1, 1, 1).transposed)
    assert.is_false(nn.LazyConv1d(1, 1).transposed)
    assert.is_true(nn.ConvTranspose3d(1, 1, 1).transposed)
    local modes = {nn.RNN(2, 3), nn.RNN(2, 3, {nonlinearity = "relu"}), nn.LSTM(2, 3), nn.GRU(2, 3)}
    for i, mode in ipairs {"RNN_TANH", "RNN_RELU", "LSTM", "GRU"} do
      assert.equal(mode, modes[i].mode)
      assert.equal(0, modes[i].proj_size)
    end
    modes[1].mode = "my own"
    assert.equal("my own", modes[1].mode)
    assert.equal(0.0, nn.ReLU6().min_val)
    assert.equal(6.0, nn.ReLU6().max_val)
    assert.equal(0.0, nn.ZeroPad2d(1).value)
    assert.is_true(nn.UpsamplingBilinear2d({size = 3}).align_corners)
  end)

  it("has lucerna.none where a size stays", function()
    assert.are.same({3, lucerna.none}, nn.AdaptiveAvgPool2d({3, lucerna.none}).output_size)
    assert.are.same({lucerna.none, 2}, nn.AdaptiveMaxPool2d({lucerna.none, 2}).output_size)
  end)
end)

describe("the reduction of a loss", function()
  it("is what size_average and reduce come to", function()
    assert.equal("sum", nn.MSELoss({size_average = false}).reduction)
    assert.equal("none", nn.L1Loss(false, false).reduction)
    assert.equal("mean", nn.NLLLoss({reduce = true, reduction = "sum"}).reduction)
    assert.equal("none", nn.KLDivLoss({reduce = false}).reduction)
    assert.equal("sum", nn.CrossEntropyLoss({reduction = "sum"}).reduction)
    local loss = nn.MSELoss({size_average = false})
    assert.equal(3.0, loss(lucerna.ones(3), lucerna.zeros(3)):item())
    loss.reduction = "mean"
    assert.equal(1.0, loss(lucerna.ones(3), lucerna.zeros(3)):item())
  end)
end)

describe("factory_kwargs", function()
  it("gives what functions that make tensors take", function()
    assert.same({}, nn.factory_kwargs())
    assert.same({dtype = lucerna.float64}, nn.factory_kwargs({dtype = lucerna.float64}))
    assert.same({dtype = lucerna.float64, device = "cpu"},
      nn.factory_kwargs({factory_kwargs = {dtype = lucerna.float64}, device = "cpu"}))
    local given = {dtype = lucerna.float64}
    parity.refused("dtype specified twice, in %*%*kwargs and in factory_kwargs", nn.factory_kwargs,
      {factory_kwargs = given, dtype = lucerna.float32})
    assert.same({dtype = lucerna.float64}, given)
    parity.refused("factory_kwargs: unexpected kwargs 'bias'", nn.factory_kwargs, {bias = true})
    parity.refused("factory_kwargs: kwargs must be a table (got number)", nn.factory_kwargs, 3)
  end)
end)
