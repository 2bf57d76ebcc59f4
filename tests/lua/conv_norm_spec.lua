-- Convolutions, norms, paddings and shuffles: functions as tests/parity/gen_functional_conv.py
-- recorded them, what their layers refuse, and what they keep. Layers' answers: layers_spec.lua.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"
local nn = lucerna.nn
local F = nn.functional

describe("like PyTorch:", function()
  for title, check in cases.each("functional_conv") do it(title, check) end
end)

local function z(...) return lucerna.zeros(...) end

-- {text of the message, function, arguments…}
local refusals = {
  {"Conv3d: in_channels must be divisible by groups", nn.Conv3d, 3, 4, 1, {groups = 2}},
  {"Conv3d: out_channels must be divisible by groups", nn.Conv3d, 4, 3, 1, {groups = 2}},
  {"Conv3d: padding='same' is not supported for strided", nn.Conv3d, 1, 1, 2,
    {padding = "same", stride = {1, 2, 1}}},
  {"Conv3d: Invalid padding string 'full', should be one of same, valid", nn.Conv3d, 1, 1, 2,
    {padding = "full"}},
  {"Conv3d: kernel_size must be at least 1", nn.Conv3d, 1, 1, 0},
  {"conv3d: input must be [N, C, D, H, W] or [C, D, H, W]", nn.Conv3d(1, 1, 1), z(1, 1)},
  {"ConvTranspose2d: Only \"zeros\" padding mode is supported for ConvTranspose2d",
    nn.ConvTranspose2d, 1, 1, 2, {padding_mode = "reflect"}},
  {"ConvTranspose1d: groups must be a positive integer", nn.ConvTranspose1d, 1, 1, 2,
    {groups = 0}},
  {"ConvTranspose1d: padding must be", nn.ConvTranspose1d, 1, 1, 2, {padding = "same"}},
  {"conv_transpose1d: output_padding must be smaller than stride",
    nn.ConvTranspose1d(1, 1, 2, {output_padding = 1}), z(1, 1, 3)},
  {"ConvTranspose2d: requested an output size of [9, 7], but valid sizes range from [5, 5] to "
    .. "[6, 6] (for an input of [3, 3])", nn.ConvTranspose2d(1, 1, 3, 2, 1), z(1, 1, 3, 3), {9, 7}},
  {"ConvTranspose2d: for 4D input, output_size must have 2 or 4 elements (got 1)",
    nn.ConvTranspose2d(1, 1, 3, 2, 1), z(1, 1, 3, 3), {9}},
  {"ConvTranspose2d: for 3D input, output_size must have 2 or 3 elements (got 4)",
    nn.ConvTranspose2d(1, 1, 3, 2, 1), z(1, 3, 3), {1, 1, 5, 5}},
  {"unfold: Given input with spatial size (2, 2), kernel_size=(3, 3), dilation=(1, 1), "
    .. "padding=(0, 0), stride=(1, 1), calculated shape of the array of sliding blocks as (0, 0)",
    nn.Unfold(3), z(1, 1, 2, 2)},
  {"unfold: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
    .. "dimensions for input, but got: [2, 1, 3, 0]", F.unfold, z(2, 1, 3, 0), 2, {padding = 2}},
  {"unfold: the columns are larger than any memory", F.unfold, z(1, 1, 2, 2), 2,
    {padding = 2 ^ 31 // 1 - 2 | 0}},
  {"fold: Expected size of input's dimension 2 to be divisible by the product of kernel_size, but "
    .. "got input:size(2)=3 and kernel_size=(2, 2).", nn.Fold(3, 2), z(1, 3, 4)},
  {"expected size of input's dimension 3 to match the calculated number of sliding blocks 2 * 2 "
    .. "= 4, but got input:size(3)=3.", nn.Fold(3, 2), z(1, 4, 3)},
  {"BatchNorm1d: expected 2D or 3D input (got 4D input)", nn.BatchNorm1d(2), z(1, 2, 1, 1)},
  {"BatchNorm2d: expected 4D input (got 3D input)", nn.BatchNorm2d(2), z(2, 2, 2)},
  {"BatchNorm3d: expected 5D input (got 4D input)", nn.BatchNorm3d(2), z(1, 2, 1, 1)},
  {"SyncBatchNorm: expected at least 2D input (got 1D input)", nn.SyncBatchNorm(2), z(2)},
  {"Expected more than 1 value per channel when training", nn.BatchNorm3d(2), z(1, 2, 1, 1, 1)},
  {"input has 3 channels, running_mean has 2 values", nn.BatchNorm1d(2), z(2, 3)},
  {"InstanceNorm1d: expected 2D or 3D input (got 4D input)", nn.InstanceNorm1d(2), z(1, 2, 1, 1)},
  {"InstanceNorm2d: expected 3D or 4D input (got 2D input)", nn.InstanceNorm2d(2), z(2, 2)},
  {"InstanceNorm3d: expected 4D or 5D input (got 2D input)", nn.InstanceNorm3d(2), z(2, 2)},
  {"InstanceNorm2d: expected input's size at dim=2 to match num_features (2), but got: 3.",
    nn.InstanceNorm2d(2, {affine = true}), z(1, 3, 2, 2)},
  {"Expected more than 1 spatial element when training", nn.InstanceNorm2d(2), z(3, 2, 1, 1)},
  {"GroupNorm: num_channels must be divisible by num_groups", nn.GroupNorm, 2, 3},
  {"GroupNorm: num_groups must be positive", nn.GroupNorm, 0, 3},
  {"LayerNorm: normalized_shape must have 1 to", nn.LayerNorm, {}},
  {"RMSNorm: normalized_shape must have 1 to", nn.RMSNorm, {}},
  {"rms_norm: input must end in normalized_shape [3]", nn.RMSNorm(3), z(2, 4)},
  {"Expected 3D or higher dimensionality input (got 2 dimensions)", nn.LocalResponseNorm(2),
    z(2, 2)},
  {"local_response_norm: size must be at least 1", nn.LocalResponseNorm(0), z(2, 2, 2)},
  {"ReflectionPad1d: padding must have 2 entries (got 3)", nn.ReflectionPad1d, {1, 1, 1}},
  {"Padding size should be less than the corresponding input dimension, but got: padding (3, 3) "
    .. "at dimension 3 of input [1, 1, 3]", nn.ReflectionPad1d(3), z(1, 1, 3)},
  {"pad: only the last 1, 2 or 3 dims", nn.ReplicationPad2d(1), z(2, 2)},
  {"CircularPad1d: expected 2D or 3D input (got 4D input)", nn.CircularPad1d(1), z(1, 1, 2, 2)},
  {"CircularPad3d: expected 4D or 5D input (got 3D input)", nn.CircularPad3d(1), z(1, 2, 2)},
  {"ConstantPad2d: missing argument 'value'", nn.ConstantPad2d, 1},
  {"pixel_shuffle: expects its input's 'channel' dimension to be divisible by the square of "
    .. "upscale_factor, but input:size(-3)=3 is not divisible by 4", nn.PixelShuffle(2),
    z(3, 1, 1)},
  {"pixel_unshuffle: expects height to be divisible by downscale_factor, but input:size(-2)=3 is "
    .. "not divisible by 2", nn.PixelUnshuffle(2), z(1, 3, 2)},
  {"ChannelShuffle: groups must be a positive integer (got 0)", nn.ChannelShuffle, 0},
  {"Number of channels must be divisible by groups. Got 3 channels and 2 groups.",
    nn.ChannelShuffle(2), z(1, 3, 2)},
  {"channel_shuffle: expects input with > 2 dims, but got input with sizes [1, 4]",
    F.channel_shuffle, z(1, 4), 2},
  {"unflattened_size must be", nn.Unflatten, 1, {1.5}},
}

describe("refused:", function()
  for title, check in parity.refusals(refusals) do it(title, check) end
end)

local function near(expected, actual)
  parity.close(actual, expected, {atol = 1e-6, rtol = 1e-6})
end

describe("a transposed convolution", function()
  it("takes the size its output should have", function()
    local up = nn.ConvTranspose2d(2, 3, 3, {stride = 2, padding = 1})
    local x = lucerna.randn(1, 2, 3, 3)
    assert.same({1, 3, 5, 5}, up(x):size())
    assert.same({1, 3, 6, 5}, up(x, {6, 5}):size())
    assert.same({1, 3, 6, 6}, up(x, {1, 3, 6, 6}):size())
    assert.same({3, 6, 5}, up(x[1], {output_size = {3, 6, 5}}):size())
    near(F.conv_transpose2d(x, up.weight, up.bias, 2, 1, {1, 0}), up(x, {6, 5}))
  end)

  it("undoes a convolution's change of shape", function()
    for k, size in ipairs {{7}, {7, 6}, {5, 6, 7}} do
      local x = lucerna.randn(1, 2, table.unpack(size))
      local down = nn["Conv" .. k .. "d"](2, 4, 3, {stride = 2, padding = 1})
      local up = nn["ConvTranspose" .. k .. "d"](4, 2, 3, {stride = 2, padding = 1})
      assert.same(x:size(), up(down(x), x:size()):size())
    end
  end)
end)

-- { channels, filters, size, groups }: by transforms, by dots with the padded rows (few channels),
-- by a product, with lanes for channels.
local WAYS = { { 20, 17, 12, 1 }, { 2, 3, 12, 1 }, { 4, 70, 6, 1 }, { 20, 20, 6, 20 } }

describe("a convolution", function()
  it("keeps an infinite input from weights that never met it", function()
    for i, way in ipairs(WAYS) do
      local channels, filters, size, groups = table.unpack(way)
      local x = lucerna.rand(2, channels, size, size)
      x[{ 1, 1, 1, size }] = math.huge -- the upper right corner
      local w = lucerna.rand(filters, channels // groups, 3, 3, { requires_grad = true })
      local y = F.conv2d(x, w, nil, { padding = 1, groups = groups })
      y:backward(lucerna.rand(y:size()) + 0.1)
      -- It is below the kernel's last row and right of its first column.
      local met = lucerna.tensor {
        { false, true, true }, { false, true, true }, { false, false, false },
      }
      local lost = lucerna.isfinite(w.grad):logical_not()
      assert.is_true(lost[{ 1, 1 }]:equal(met), "way " .. i)
      if channels > 1 and groups == 1 then assert.is_false(lost:narrow(2, 2, 1):any():item()) end
    end
  end)
end)

describe("a circular padding", function()
  it("takes and leaves dimensions of size 0, which it does not pad", function()
    local x = lucerna.ones(1, 2, 3, {requires_grad = true})
    local y = nn.CircularPad1d({-3, 0})(x)
    assert.same({1, 2, 0}, y.shape)
    y:sum():backward()
    assert.same({{{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}}}, x.grad:tolist())
    assert.same({2, 5, 0}, nn.CircularPad2d({0, 0, 1, 1})(lucerna.ones(2, 3, 0)).shape)
    parity.refused("padding (1, 1) at dimension 3 of input [1, 2, 0]", nn.CircularPad1d(1),
      lucerna.ones(1, 2, 0))
  end)
end)

describe("fold", function()
  it("undoes unfold but for the overlaps", function()
    local x = lucerna.randn(2, 3, 4, 5)
    local twice = F.fold(F.unfold(lucerna.ones(2, 3, 4, 5), 2), {4, 5}, 2)
    near(x * twice, F.fold(F.unfold(x, 2), {4, 5}, 2))
  end)

  it("makes convolution a product", function()
    local x, w = lucerna.randn(1, 3, 10, 12), lucerna.randn(2, 3, 4, 5)
    local y = F.unfold(x, {4, 5}):transpose(2, 3):matmul(w:view(2, -1):t()):transpose(2, 3)
    local difference = parity.difference(F.fold(y, {7, 8}, 1), F.conv2d(x, w), {atol = 1e-4})
    assert(difference == nil, difference)
  end)
end)

describe("reset_parameters", function()
  it("gives a layer of C the values that a new one begins with", function()
    for _, make in ipairs {
      function() return nn.Linear(3, 2) end, function() return nn.Conv2d(2, 4, 3) end,
      function() return nn.Embedding(5, 3, {padding_idx = 2}) end,
      function() return nn.BatchNorm1d(3):double() end,
      function() return nn.ConvTranspose1d(2, 3, 2, {bias = false}) end,
    } do
      lucerna.manual_seed(4)
      local expected, layer = make():state_dict(), make()
      local tensors = layer:state_dict({keep_vars = true})
      lucerna.no_grad(function()
        for _, t in pairs(tensors) do t:fill_(3) end
      end)
      lucerna.manual_seed(4)
      assert.is_nil(layer:reset_parameters())
      for name, value in pairs(expected) do
        assert.is_true(lucerna.equal(value, layer:state_dict()[name]), name)
        assert.equal(tensors[name], layer:state_dict({keep_vars = true})[name])
      end
    end
  end)

  it("is there for layers with parameters alone, and for their subclasses", function()
    assert.is_nil(nn.ReLU().reset_parameters)
    assert.is_nil(nn.Sequential().reset_parameters)
    assert.is_nil(nn.MultiheadAttention(2, 1).reset_parameters)
    for _, parent in ipairs {nn.ReLU, nn.MultiheadAttention, nn.Sequential, nn.Module} do
      local Own = nn.class("Own", parent)
      function Own.reset_parameters() error "not called" end
      assert.is_true(nn.isinstance(parent == nn.MultiheadAttention and Own(2, 1) or Own(), Own))
    end
    local Mine = nn.class("Mine", nn.Linear)
    local mine = Mine(2, 1)
    lucerna.no_grad(function() mine.weight:fill_(9) end)
    mine:reset_parameters()
    assert.is_true(mine.weight:max():item() < 1)
    mine.weight = nn.Parameter(lucerna.ones(3, 3))
    parity.refused("weight of Mine has not the shape it was made with", mine.reset_parameters, mine)
    local lazy = nn.LazyLinear(2)
    lazy:reset_parameters()
    assert.is_true(lazy:has_uninitialized_params())
  end)

  it("of a subclass gives the first values, and nothing is drawn before", function()
    for _, case in ipairs {{nn.Linear, 2, 3}, {nn.Conv1d, 2, 3, 2}, {nn.Bilinear, 2, 3, 2},
      {nn.GRU, 2, 3}, {nn.LSTMCell, 2, 3}, {nn.Embedding, 2, 3}} do
      local Mine = nn.class("Mine", case[1])
      function Mine:reset_parameters()
        for p in self:parameters() do nn.init.normal_(p, 1, 2) end
      end
      lucerna.manual_seed(4)
      local layer = Mine(table.unpack(case, 2))
      lucerna.manual_seed(4)
      for name, p in layer:named_parameters() do
        assert.is_true(lucerna.equal(p, lucerna.empty_like(p):normal_(1, 2)), name)
      end
    end
  end)

  it("is called _reset_parameters by MultiheadAttention", function()
    local Mine = nn.class("Mine", nn.MultiheadAttention)
    function Mine:_reset_parameters() nn.init.normal_(self.in_proj_weight) end
    lucerna.manual_seed(4)
    local mine = Mine(4, 2)
    lucerna.manual_seed(4)
    assert.is_true(lucerna.equal(nn.Linear(4, 4).weight, mine.out_proj.weight))
    assert.is_true(lucerna.equal(lucerna.randn(12, 4), mine.in_proj_weight))
    function Mine:_reset_parameters() nn.MultiheadAttention._reset_parameters(self) end
    lucerna.manual_seed(4)
    mine = Mine(4, 2, {add_bias_kv = true})
    lucerna.manual_seed(4)
    local plain = nn.MultiheadAttention(4, 2, {add_bias_kv = true})
    for name, p in plain:named_parameters() do
      assert.is_true(lucerna.equal(p, mine:get_parameter(name)), name)
    end
  end)

  it("of a subclass leaves buffers and what is given as they are", function()
    local Norm = nn.class("Norm", nn.BatchNorm1d)
    function Norm:__init(n) nn.BatchNorm1d.__init(self, n) end
    function Norm:reset_parameters() lucerna.no_grad(function() self.weight:fill_(5) end) end
    local norm = Norm(2)
    assert.same({{0, 0}, {1, 1}, 0, {5, 5}}, {norm.running_mean:tolist(),
      norm.running_var:tolist(), norm.num_batches_tracked:item(), norm.weight:tolist()})
    local called = 0
    local Table, Later = nn.class("Table", nn.Embedding), nn.class("Later", nn.LazyLinear)
    function Table:reset_parameters() called = called + 1 end
    local given = Table(2, 1, {_weight = lucerna.tensor {{7.}, {8.}}})
    assert.same({{7, 8}, 0}, {given.weight:flatten():tolist(), called})
    function Later:reset_parameters() lucerna.no_grad(function() self.weight:fill_(6) end) end
    local later = Later(1)
    later(lucerna.ones(1, 2))
    assert.same({{6, 6}}, later.weight:tolist())
    assert.has_error(function()
      function Later:reset_parameters() error("no", 0) end
      Later(1)(lucerna.ones(1, 2))
    end)
    local plain = nn.LazyLinear(1)
    plain(lucerna.ones(1, 2))
    assert.is_true(plain.weight:abs():max():item() <= 0.7072)
  end)

  it("is there for AdaptiveLogSoftmaxWithLoss", function()
    local function make()
      return nn.AdaptiveLogSoftmaxWithLoss(8, 10, {2, 5}, {head_bias = true})
    end
    lucerna.manual_seed(4)
    local expected, layer = make():state_dict(), make()
    lucerna.manual_seed(4)
    layer:reset_parameters()
    for name, value in pairs(layer:state_dict()) do
      assert.is_true(lucerna.equal(value, expected[name]), name)
    end
  end)
end)

describe("_check_input_dim", function()
  it("of a subclass decides which inputs a norm takes", function()
    local Any = nn.class("Any", nn.BatchNorm1d)
    function Any:_check_input_dim(input) self.seen = input:dim() end
    local any, plain, x = Any(2), nn.BatchNorm2d(2), lucerna.randn(3, 2, 4, 5)
    local y = plain(x)
    assert.is_true(lucerna.equal(y, any(x)))
    assert.equal(4, any.seen)
    assert.is_true(lucerna.equal(y, nn.Sequential(Any(2), nn.Identity())(x)))
    assert.is_true(lucerna.equal(plain.running_var, any.running_var))
    local Strict = nn.class("Strict", nn.InstanceNorm2d)
    function Strict:_check_input_dim(input)
      nn.InstanceNorm2d._check_input_dim(self, input)
      if input:dim() == 3 then error("a batch, please", 0) end
    end
    local strict = Strict(2)
    assert.is_true(lucerna.equal(nn.InstanceNorm2d(2)(x), strict(x)))
    parity.refused("a batch, please", strict, x[1])
    parity.refused("Strict: expected 3D or 4D input (got 2D input)", strict, x[{1, 1}])
  end)

  it("is there for every norm", function()
    local x = lucerna.ones(1)
    for name, dims in pairs {BatchNorm1d = "2D or 3D", BatchNorm2d = "4D", BatchNorm3d = "5D",
      InstanceNorm1d = "2D or 3D", InstanceNorm2d = "3D or 4D", InstanceNorm3d = "4D or 5D"} do
      local message = ("%s: expected %s input (got 1D input)"):format(name, dims)
      parity.refused(message, nn[name](1), x)
      parity.refused(message, nn[name]._check_input_dim, nn[name](1), x)
      assert.is_nil(nn[name](1):_check_input_dim(lucerna.ones(1, 1, 1, 1, 1)[{
        table.unpack({1, 1, 1}, 1, 5 - tonumber(dims:match("%d")))}]))
    end
  end)
end)

describe("reset_running_stats", function()
  it("begins the statistics anew, and them alone", function()
    for _, layer in ipairs {nn.BatchNorm1d(2), nn.SyncBatchNorm(2), nn.LazyBatchNorm1d(),
      nn.InstanceNorm1d(2, {affine = true, track_running_stats = true})} do
      layer(lucerna.randn(3, 2, 4))
      lucerna.no_grad(function() layer.weight:fill_(5) end)
      local mean = layer.running_mean
      assert.is_nil(layer:reset_running_stats())
      assert.equal(mean, layer.running_mean)
      assert.are.same({0.0, 0.0}, mean:tolist())
      assert.are.same({1.0, 1.0}, layer.running_var:tolist())
      assert.equal(0, layer.num_batches_tracked:item())
      assert.are.same({5.0, 5.0}, layer.weight:tolist())
    end
    assert.is_nil(nn.BatchNorm1d(2, {track_running_stats = false}):reset_running_stats())
    assert.is_nil(nn.LayerNorm(2).reset_running_stats)
    parity.refused("reset_running_stats: self must be an nn.Module (got nil)",
      nn.BatchNorm1d(2).reset_running_stats)
  end)
end)

describe("nn.grad", function()
  it("has the gradients of convolutions by themselves, differentiable", function()
    for k, size in ipairs {{5}, {5, 4}, {4, 3, 3}} do
      local f, kernel = F["conv" .. k .. "d"], {2, 1, 2}
      local x = lucerna.randn(2, 4, table.unpack(size)):requires_grad_()
      local w = lucerna.randn(6, 2, table.unpack(kernel, 1, k)):requires_grad_()
      local options = {stride = 2, padding = 1, groups = 2}
      local y = f(x, w, options)
      local g = lucerna.randn(y:size())
      local of_input, of_weight = lucerna.autograd.grad(y, {x, w}, g)
      local by_input = nn.grad["conv" .. k .. "d_input"](x:size(), w, g, options)
      near(of_input, by_input)
      near(of_weight, nn.grad["conv" .. k .. "d_weight"](x, w:size(), g, 2, 1, 1, 2))
      assert.is_true(by_input.requires_grad)
      by_input:sum():backward()
      assert.same(w:size(), w.grad:size())
      lucerna.no_grad(function()
        near(of_input, nn.grad["conv" .. k .. "d_input"](x:size(), w, g, options))
      end)
    end
  end)
end)

describe("a norm layer", function()
  it("has the statistics of all of a row, whatever it begins with", function()
    local x = lucerna.randn(4, 4096) + 1e4
    x:narrow(2, 1, 64):zero_()
    local y = F.layer_norm(x, { 4096 })
    assert.is_true((y:double() - F.layer_norm(x:double(), { 4096 })):abs():max():item() < 1e-5)
    local channels = x:reshape(1, 4, 4096)
    local w = F.batch_norm(channels, nil, nil, { training = true })
    assert.is_true((w:reshape(4, 4096) - y):abs():max():item() < 1e-5)
    local same = F.layer_norm(lucerna.full({ 2, 512 }, 7.3), { 512 })
    assert.is_true(same:abs():max():item() < 1e-3)
  end)

  -- A row's mean and deviation by operators, in double.
  local function by_operators(x, w, b, rms)
    if not rms then x = x - x:mean(-1, { keepdim = true }) end
    return x / (x * x):mean(-1, { keepdim = true }):add(1e-5):sqrt() * w + (b or 0)
  end

  it("gives a row the same among others as alone, short or long", function()
    for _, n in ipairs { 1, 3, 15, 16, 17, 64, 127, 128, 129, 256, 257, 300 } do
      for _, rows in ipairs { 1, 2, 7, 16, 19, 37 } do
        local x, g = lucerna.randn(rows, n) * 3 + 5, lucerna.randn(rows, n)
        local w, b = lucerna.randn(n), lucerna.randn(n)
        if rows > 2 then x[{ 2, 1 }] = 0 / 0 end
        local function run(of, dy)
          local input = of:clone():requires_grad_()
          local y = F.layer_norm(input, { n }, w, b)
          return y:detach(), (lucerna.autograd.grad(y, { input }, dy))
        end
        local y, dx = run(x, g)
        for i = 1, rows, 6 do
          local one, slope = run(x[i]:unsqueeze(1), g[i]:unsqueeze(1))
          assert.is_true(lucerna.equal(y[i], one[1]) and lucerna.equal(dx[i], slope[1]))
        end
        if rows > 2 then
          assert.equal(n, y[2]:isnan():sum():item())
          y[2], dx[2], x[2], g[2] = 0, 0, 0, 0
        end
        for _, rms in ipairs { false, true } do
          local input = x:double():requires_grad_()
          local weight, bias = w:double():requires_grad_(), not rms and b:double() or nil
          local wanted = by_operators(input, weight, bias, rms)
          local grads = { lucerna.autograd.grad(wanted, { input, weight }, g:double()) }
          local single, scale = x:clone():requires_grad_(), w:clone():requires_grad_()
          local got = rms and F.rms_norm(single, { n }, scale, 1e-5)
            or F.layer_norm(single, { n }, scale, b)
          local slopes = { lucerna.autograd.grad(got, { single, scale }, g) }
          assert.is_true(lucerna.allclose(got:double(), wanted, 1e-4, 1e-4))
          local hidden = n == 1 and 1 or 2 -- of one element alone the slope is rounding's
          for i = hidden, 2 do
            assert.is_true(lucerna.allclose(slopes[i]:double(), grads[i], 1e-4, 1e-3))
          end
        end
      end
    end
  end)

  it("keeps the mean of all batches without a momentum", function()
    local bn = nn.BatchNorm3d(1, {momentum = lucerna.none})
    for _, value in ipairs {1.0, 2.0, 6.0} do bn(lucerna.full({2, 1, 1, 1, 1}, value)) end
    near(lucerna.tensor {3.0}, bn.running_mean)
    assert.equal(3, bn.num_batches_tracked:item())
  end)

  it("uses the batch's statistics without running ones, also in eval", function()
    local bn = nn.BatchNorm1d(2, {track_running_stats = false, affine = false}):eval()
    near(lucerna.tensor {{-1.0, -1.0}, {1.0, 1.0}}, bn(lucerna.tensor {{0.0, 100.0}, {8.0, 300.0}}))
    assert.equal(0, #bn:state_dict())
  end)

  it("does not count instances, and without a momentum keeps what it had", function()
    local norm = nn.InstanceNorm1d(2, {track_running_stats = true, momentum = lucerna.none})
    norm(lucerna.randn(3, 2, 4))
    assert.same({0.0, 0.0}, norm.running_mean:tolist())
    assert.equal(0, norm.num_batches_tracked:item())
  end)

  it("keeps the mean over instances, of one channel too", function()
    local layer = nn.InstanceNorm1d(1, {momentum = 0.3, track_running_stats = true})
    layer(lucerna.tensor {{{1.0, 2.0}}, {{3.0, 5.0}}, {{8.0, 13.0}}})
    assert.is_nil(parity.difference(layer.running_mean, lucerna.tensor {1.6}))
    assert.is_nil(parity.difference(layer.running_var, lucerna.tensor {2.2}))
  end)

  it("averages no instances to NaN, in training, and changes nothing without it", function()
    local layer = nn.InstanceNorm1d(2, {track_running_stats = true})
    layer:eval()(lucerna.zeros(0, 2, 3)) -- PyTorch 1.13 writes NaN here, too; 2.15 does not
    assert.same({{0.0, 0.0}, {1.0, 1.0}}, {layer.running_mean:tolist(), layer.running_var:tolist()})
    layer:train()(lucerna.zeros(2, 2, 0))
    assert.same({{0.0, 0.0}, {1.0, 1.0}}, {layer.running_mean:tolist(), layer.running_var:tolist()})
    assert.same({0, 2, 3}, layer(lucerna.zeros(0, 2, 3)):size())
    assert.is_true(layer.running_mean:isnan():all():item())
    assert.is_true(layer.running_var:isnan():all():item())
  end)

  it("with statistics of another dtype computes in its input's, as PyTorch 2.15 does", function()
    local layer = nn.InstanceNorm1d(2, {track_running_stats = true, momentum = 1})
    local x = lucerna.tensor({{{1, 3}, {2, 6}}}, {dtype = lucerna.float64})
    assert.equal(lucerna.float64, layer(x).dtype)
    assert.same({{2.0, 4.0}, {2.0, 8.0}}, {layer.running_mean:tolist(), layer.running_var:tolist()})
    assert.equal(lucerna.float32, layer.running_mean.dtype)
    parity.refused("mixed dtype (CPU): all inputs must share same datatype.",
      nn.InstanceNorm1d(2, {affine = true}), x)
  end)

  it("takes instances of other channels when it has no parameters", function()
    assert.same({2, 5, 3}, nn.InstanceNorm1d(3)(lucerna.randn(2, 5, 3)):size())
  end)

  -- Of such planes the next channel is summed while one is written.
  it("BatchNorm gives of channels of large planes what each has alone", function()
    for _, dtype in ipairs { "float32", "float64", "bfloat16" } do
      for _, far in ipairs { 0, 1000 } do
        local x = (lucerna.randn(2, 7, 61, 67) + far):to(lucerna[dtype])
        local bn, alone = nn.BatchNorm2d(7):to(lucerna[dtype]), nn.BatchNorm2d(1):to(lucerna[dtype])
        local y = bn(x)
        for c = 1, 7 do
          alone:reset_running_stats()
          assert.is_true(y:narrow(2, c, 1):equal(alone(x:narrow(2, c, 1):contiguous())))
          assert.is_true(bn.running_mean[c]:equal(alone.running_mean[1]))
          assert.is_true(bn.running_var[c]:equal(alone.running_var[1]))
        end
      end
    end
  end)

  it("BatchNorm takes planes in groups, whose means may lie far apart", function()
    for _, size in ipairs { 1, 7, 30, 45, 50 } do
      local x = lucerna.randn(5, 3, size, size)
        + lucerna.tensor({ 1000, -7, 0, 1000, 3 }):view(5, 1, 1, 1)
      local bn = nn.BatchNorm2d(3, { momentum = 1 })
      local y, wide = bn(x), x:double()
      local mean = wide:mean({ 1, 3, 4 }, { keepdim = true })
      local off = wide - mean
      local var = (off * off):mean({ 1, 3, 4 }, { keepdim = true })
      local expected = off / (var + 1e-5):sqrt()
      assert.is_true(lucerna.allclose(y:double(), expected, { rtol = 1e-5, atol = 1e-5 }))
      local n = 5 * size * size
      assert.is_true(lucerna.allclose(bn.running_mean:double(), mean:flatten(), { rtol = 1e-6 }))
      assert.is_true(lucerna.allclose(bn.running_var:double(), var:flatten() * n / (n - 1),
        { rtol = 1e-6 }))
    end
  end)

  it("BatchNorm that is told its statistics has a line for each of many channels", function()
    for _, channels in ipairs {1, 3, 16, 37, 100} do
      for _, inner in ipairs {2, 16, 49} do
        local x, var = lucerna.randn(3, channels, inner), lucerna.rand(channels) + 0.5
        local mean, w, b = lucerna.randn(channels), lucerna.randn(channels), lucerna.randn(channels)
        x[2][channels][2] = 0 / 0
        local function of(t) return t:unsqueeze(2) end
        local want = (x - of(mean)) / (of(var) + 1e-5):sqrt() * of(w) + of(b)
        local have = F.batch_norm(x, mean, var, w, b)
        parity.close(have, want, {atol = 1e-5, rtol = 1e-5, equal_nan = true})
        assert.are.equal(1, have:isnan():sum():item())
        local plain = F.batch_norm(x:transpose(2, 3):contiguous():transpose(2, 3), mean, var)
        parity.close(plain, (x - of(mean)) / (of(var) + 1e-5):sqrt(),
          {atol = 1e-5, rtol = 1e-5, equal_nan = true})
      end
    end
  end)

  it("SyncBatchNorm is BatchNorm of any rank, there being one process", function()
    local one, other = nn.SyncBatchNorm(3), nn.BatchNorm2d(3)
    local x = lucerna.randn(2, 3, 2, 2)
    near(other(x), one(x))
    near(other.running_var, one.running_var)
    assert.same({4, 3}, one(lucerna.randn(4, 3)):size())
  end)

  it("is converted to SyncBatchNorm with its tensors", function()
    local convert = nn.SyncBatchNorm.convert_sync_batchnorm
    local net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3, {eps = 0.5})),
      nn.BatchNorm1d(3, {affine = false, momentum = lucerna.none}):eval())
    local linear, weight, mean = net[1], net[2][1].weight, net[3].running_mean
    local text = tostring(net):gsub("BatchNorm1d", "SyncBatchNorm")
    assert.equal(net, convert(net))
    assert.equal(text, tostring(net))
    assert.equal(linear, net[1])
    assert.equal(weight, net[2][1].weight)
    assert.equal(mean, net[3].running_mean)
    assert.is_false(net[3].training)
    assert.is_nil(net[3].weight)
    local alone = nn.BatchNorm2d(2)
    assert.is_true(nn.isinstance(convert(alone), nn.SyncBatchNorm))
    assert.is_true(nn.isinstance(nn.SyncBatchNorm:convert_sync_batchnorm(alone), nn.SyncBatchNorm))
    assert.is_false(pcall(convert, 3))
    assert.is_false(pcall(convert, alone, "group"))
  end)
end)

describe("CrossMapLRN2d", function()
  it("has the gradient of what it computes", function()
    local layer = nn.CrossMapLRN2d(3, 0.5, 0.75, 2)
    local x = lucerna.randn(1, 6, 2, 1, {dtype = lucerna.float64}):requires_grad_()
    assert.is_true(lucerna.autograd.gradcheck(function(t) return layer(t) end, {x}))
  end)

  it("takes planes, and a size above 0", function()
    parity.refused("CrossMapLRN2d: expected 4D input (got 3D input)", nn.CrossMapLRN2d(3),
      lucerna.ones(2, 3, 4))
    parity.refused("size must be at least 1 (got 0)", nn.CrossMapLRN2d, 0)
    parity.refused("size must be a number", nn.CrossMapLRN2d)
  end)
end)

describe("a normalizing layer without a bias", function()
  it("has a weight alone, and adds nothing", function()
    for _, name in ipairs{"BatchNorm2d", "InstanceNorm2d", "SyncBatchNorm"} do
      local m = nn[name](3, {affine = true, bias = false})
      assert.is_nil(m.bias)
      assert.same({"weight"}, {(m:named_parameters()())})
      local x = lucerna.randn(2, 3, 4, 4)
      local full = nn[name](3, {affine = true})
      full:load_state_dict(m:state_dict(), {strict = false})
      parity.close(m(x), full(x):detach())
      assert.equal(tostring(full), tostring(m)) -- as PyTorch 2.9 prints it
      assert.is_nil(nn[name](3, {affine = false, bias = true}).bias)
    end
    local lazy = nn.LazyBatchNorm1d{bias = false}
    lazy(lucerna.randn(4, 5))
    assert.same({5}, lazy.weight.shape)
    assert.is_nil(lazy.bias)
    local plain = nn.Sequential(nn.BatchNorm1d(2, {bias = false}))
    local net = nn.SyncBatchNorm.convert_sync_batchnorm(plain)
    assert.is_nil(net[1].bias)
    assert.same({1, 1}, net[1].weight:tolist())
    local conv, norm = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3, {bias = false})
    local x = lucerna.randn(1, 3, 2, 2)
    conv:eval()
    norm:eval()
    parity.close(nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)):detach(), {atol = 1e-5})
    parity.refused("unknown argument 'biass' (did you mean 'bias'?)", nn.BatchNorm1d, 3,
      {biass = false})
  end)
end)
