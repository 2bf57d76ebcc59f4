-- lucerna.summary: what it counts, compared with PyTorch's hooks and profiler; and that it leaves
-- the net, the random generator and the modes as they were, whatever happens in forward.
local lucerna = require "lucerna"
local parity = require "parity"
local nn = lucerna.nn
local F = nn.functional

-- ---- the nets of gen_summary.py ----

local LeNet = nn.class("LeNet")
function LeNet:__init()
  self.features = nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2))
  self.fc1 = nn.Linear(800, 500)
  self.fc2 = nn.Linear(500, 10)
end
function LeNet:forward(x)
  x = self.features(x):flatten(2)
  return self.fc2(F.relu(self.fc1(x)))
end

local Block = nn.class("Block")
function Block:__init(i, o, stride)
  self.conv1 = nn.Conv2d(i, o, 3, {stride = stride, padding = 1, bias = false})
  self.bn1 = nn.BatchNorm2d(o)
  self.conv2 = nn.Conv2d(o, o, 3, {padding = 1, groups = 2, bias = false})
  self.bn2 = nn.BatchNorm2d(o)
  self.down = nn.Sequential(nn.Conv2d(i, o, 1, {stride = stride, bias = false}),
    nn.BatchNorm2d(o))
end
function Block:forward(x)
  local y = F.relu(self.bn1(self.conv1(x)))
  return F.relu(self.bn2(self.conv2(y)) + self.down(x))
end

local function residual()
  local net = nn.Sequential(nn.Conv2d(3, 8, 7, {stride = 2, padding = 3}), Block(8, 8, 1),
    Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))
  net[1]:requires_grad_(false)
  return net
end

local Attention = nn.class("Attention")
function Attention:__init()
  self.norm = nn.LayerNorm(12)
  self.project = nn.Linear(12, 36)
  self.out = nn.Linear(12, 12)
  self.never = nn.Linear(3, 3)
end
function Attention:forward(x, y)
  local q, k, v = table.unpack(self.project(self.norm(x)):split(12, -1))
  local w = lucerna.softmax(q:matmul(k:transpose(2, 3)), -1)
  return self.out(lucerna.bmm(w, v)) + self.out(y)
end

local NETS = {
  lenet = {LeNet, {2, 1, 28, 28}},
  residual = {residual, {2, 3, 32, 32}},
  attention = {Attention, {{2, 7, 12}, {2, 7, 12}}},
}

describe("a summary agrees with PyTorch about", function()
  for _, case in ipairs(parity.load("summary")) do
    it(case.name, function()
      local make, input = table.unpack(NETS[case.name])
      local s = lucerna.summary(make(), input)
      assert.are.equal(#case.rows, #s.layers)
      for i, row in ipairs(case.rows) do
        local l = s.layers[i]
        assert.are.same(row, {l.name, l.class, l.calls, l.parameters, l.trainable,
          l.input_shapes or {}, l.output_shapes or {}})
      end
      assert.are.equal(case.multiply_adds, s.total.multiply_adds)
      assert.are.equal(case.rows[1][4], s.total.parameters)
      assert.are.equal(case.rows[1][5], s.total.trainable)
    end)
  end
end)

local function total(net, input, options) return lucerna.summary(net, input, options).total end

describe("multiply-adds", function()
  -- With weights and inputs of ones and no padding, the sum of the output is their number.
  local function ones(net)
    for name, p in net:named_parameters() do
      p.data:fill_(name:find("bias") and 0 or 1)
    end
    return net
  end
  local function check(net, ...)
    ones(net)
    local inputs = {}
    for i, size in ipairs {...} do inputs[i] = lucerna.ones(size) end
    local expected = lucerna.no_grad(function()
      return net(table.unpack(inputs)):sum():item()
    end)
    assert.are.equal(math.tointeger(expected), total(net, {...}).multiply_adds)
  end

  it("of convolutions of every kind", function()
    check(nn.Conv1d(4, 6, 3, {stride = 2}), {2, 4, 11})
    check(nn.Conv2d(4, 6, {3, 2}, {groups = 2, dilation = {2, 1}}), {1, 4, 9, 8})
    check(nn.Conv2d(3, 2, 3), {3, 5, 5})
    if nn.Conv3d then check(nn.Conv3d(2, 3, 2), {1, 2, 4, 4, 4}) end
    if nn.ConvTranspose2d then
      check(nn.ConvTranspose2d(4, 6, 3, {stride = 2, groups = 2}), {1, 4, 5, 6})
      check(nn.ConvTranspose1d(2, 2, 3), {1, 2, 5})
    end
  end)

  it("of matrix products of every kind", function()
    check(nn.Linear(5, 7), {2, 3, 5})
    check(nn.Linear(5, 7, {bias = false}), {5})
    local Call = nn.class("Call")
    function Call:__init(f) self.f = f end
    function Call:forward(...) return self.f(...) end
    check(Call(lucerna.mm), {2, 3}, {3, 4})
    check(Call(lucerna.bmm), {5, 2, 3}, {5, 3, 4})
    check(Call(lucerna.mv), {2, 3}, {3})
    check(Call(lucerna.matmul), {3}, {3})
    check(Call(lucerna.matmul), {2, 1, 4, 3}, {5, 3, 2})
    check(Call(lucerna.matmul), {4, 3}, {3})
    check(Call(function(a, b) return lucerna.einsum("bij,bkj->bik", {a, b}) end), {2, 3, 4},
      {2, 5, 4})
    check(Call(function(a, b) return a:matmul(b, {out = lucerna.empty(2, 2)}) end), {2, 3}, {3, 2})
    local shapes = {{2, 3, 4}, {2, 5, 4}, {2, 5, 6}}
    assert.are.equal(2 * 3 * 5 * (4 + 6),
      total(Call(F.scaled_dot_product_attention), shapes).multiply_adds)
    assert.are.equal(2 * 3 * 4, total(Call(lucerna.addmm), {{2, 4}, {2, 3}, {3, 4}}).multiply_adds)
  end)

  it("of recurrent layers and attention", function()
    assert.are.equal(7 * 2 * 4 * 5 * (3 + 5), total(nn.LSTM(3, 5), {7, 2, 3}).multiply_adds)
    assert.are.equal(2 * 7 * 2 * 3 * 5 * ((3 + 5) + (10 + 5)),
      total(nn.GRU(3, 5, {num_layers = 2, bidirectional = true}), {7, 2, 3}).multiply_adds)
    local x = {7, 2, 8}
    assert.are.equal(14 * 8 * 8 * 4 + 2 * 7 * 7 * 8 * 2,
      total(nn.MultiheadAttention(8, 2), {x, x, x}).multiply_adds)
  end)

  it("count functional calls in a forward, and every call of a module", function()
    local Net = nn.class("Net")
    function Net:__init()
      self.w = nn.Parameter(lucerna.ones(6, 4, 3, 3))
      self.fc = nn.Linear(4, 4)
    end
    function Net:forward(x)
      for _ = 1, 3 do x = self.fc(x) end
      local image = lucerna.ones(1, 4, 5, 5)
      return F.conv2d(image, self.w):sum() + x:sum()
    end
    local s = lucerna.summary(Net(), {2, 4})
    assert.are.equal(6 * 3 * 3 * 36 + 3 * 2 * 16, s.total.multiply_adds)
    assert.are.equal(3 * 2 * 16, s.layers[2].multiply_adds)
    assert.are.equal(3, s.layers[2].calls)
  end)
end)

describe("parameters and bytes", function()
  it("count what is shared once, and name where it is", function()
    local a = nn.Linear(3, 3)
    local net = nn.Sequential(a, nn.Sequential(a), nn.Linear(3, 3))
    net[3].weight = a.weight
    local s = lucerna.summary(net, {1, 3})
    assert.are.equal(9 + 3 + 3, s.total.parameters)
    assert.are.same({"", "0", "1", "1.0", "2"}, {s.layers[1].name, s.layers[2].name,
      s.layers[3].name, s.layers[4].name, s.layers[5].name})
    assert.are.equal("0", s.layers[4].shared)
    assert.is_nil(s.layers[2].shared)
    assert.are.equal(2, s.layers[2].calls)
    assert.are.equal(12, s.layers[5].parameters)
    assert.are.equal(3 * 9, s.total.multiply_adds)
    assert.are.equal(2 * 9, s.layers[2].multiply_adds)
  end)

  it("know frozen ones, dtypes and buffers", function()
    local net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)):double()
    net[1].bias.requires_grad = false
    local s = total(net, {4, 3})
    assert.are.equal(6 + 2 + 4, s.parameters)
    assert.are.equal(6 + 4, s.trainable)
    assert.are.equal(8 * 12, s.parameter_bytes)
    assert.are.equal(8 * 4 + 8, s.buffer_bytes)
    assert.are.equal(8 * 12, s.input_bytes)
  end)

  it("of activations are those of new results: no views, nothing in place", function()
    local Net = nn.class("Net")
    function Net:forward(x) -- luacheck: ignore 212
      local y = x + 1 -- 4 * 24 bytes
      y:mul_(2)
      return y:view(-1):unsqueeze(1):relu() -- as many
    end
    assert.are.equal(2 * 4 * 24, total(Net(), {2, 3, 4}).activation_bytes)
    assert.are.equal(2 * 8 * 24, total(Net(), {2, 3, 4}, {dtype = lucerna.float64})
      .activation_bytes)
  end)
end)

describe("the input", function()
  local Two = nn.class("Two")
  function Two:__init() self.e = nn.Embedding(10, 4) end
  function Two:forward(ids, x, scale)
    return self.e(ids) * (scale or 1), x
  end

  it("may be sizes, tensors and other values, each with its dtype", function()
    local s = lucerna.summary(Two(), {{5}, {2, 3}}, {dtype = {lucerna.int64, lucerna.float32}})
    assert.are.same({{5}, {2, 3}}, s.layers[1].input_shapes)
    assert.are.same({{5, 4}, {2, 3}}, s.layers[1].output_shapes)
    assert.are.same({{5}}, s.layers[2].input_shapes)
    s = lucerna.summary(Two(), {lucerna.tensor {1, 10}, {2, 3}, 0.5})
    assert.are.same({{2, 4}, {2, 3}}, s.layers[1].output_shapes)
    s = lucerna.summary(nn.Linear(3, 2), lucerna.ones(7, 3))
    assert.are.same({{7, 2}}, s.layers[1].output_shapes)
    assert.are.equal(30, total(nn.Embedding(10, 3), {5}, {dtype = "int64"}).parameters)
  end)

  it("may be left out: nothing runs", function()
    local ran = false
    local net = Two()
    net.forward = function() ran = true end
    local s = lucerna.summary(net)
    assert.is_false(ran)
    assert.are.equal(40, s.total.parameters)
    assert.is_nil(s.total.input_bytes)
    assert.is_nil(s.layers[1].output_shapes)
    assert.matches("Embedding", tostring(s))
    assert.are.equal(40, lucerna.summary({net = net, depth = 0}).total.parameters)
  end)

  it("and the options are checked", function()
    local net = nn.Linear(2, 2)
    local function message(...) return parity.message(lucerna.summary, ...) end
    assert.matches("summary: net must be a module %(got number%)", message(3))
    assert.matches("summary: input_size must be a size, a tensor or a list", message(net, 3))
    assert.matches("summary: mode must be 'eval' or 'train' %(got test%)",
      message(net, {1, 2}, {mode = "test"}))
    assert.matches("summary: depth must be", message(net, {1, 2}, {depth = "all"}))
    assert.matches("summary: unknown argument 'deph' %(did you mean 'depth'%?%)",
      message(net, {1, 2}, {deph = 1}))
    assert.matches("in Linear: linear: input has 3 features", message(net, {1, 3}))
  end)
end)

describe("the text", function()
  it("is a table", function()
    local a = nn.Linear(3, 3)
    local text = tostring(lucerna.summary(nn.Sequential(a, nn.ReLU(), nn.Sequential(a)), {1, 3}))
    assert.are.equal([[
Layer               Input   Output  Parameters  Multiply-adds
-------------------------------------------------------------
Sequential          [1, 3]  [1, 3]          12             18
  0 (Linear) x2     [1, 3]  [1, 3]          12             18
  1 (ReLU)          [1, 3]  [1, 3]           0              0
  2 (Sequential)    [1, 3]  [1, 3]          12              9
    0 (Linear) = 0  -       -                -              -
-------------------------------------------------------------
Parameters: 12 (trainable 12, frozen 0)
Multiply-adds: 18
Bytes: inputs 12 bytes, parameters 48 bytes, buffers 0 bytes, activations 36 bytes]], text)
  end)

  it("goes as deep as asked, the counts do not change", function()
    local s = lucerna.summary(LeNet(), {1, 1, 28, 28}, {depth = 1})
    assert.are.equal(4, #s.layers)
    assert.are.equal(431080, s.total.parameters)
    assert.is_nil(tostring(s):find("Conv2d", 1, true))
    assert.matches("Parameters: 431,080 %(trainable", tostring(s))
    assert.are.equal(1, #lucerna.summary(LeNet(), {1, 1, 28, 28}, {depth = 0}).layers)
  end)
end)

describe("the net is left as it was:", function()
  local Odd = nn.class("Odd")
  function Odd:__init()
    self.body = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    self:register_buffer("count", lucerna.zeros(1))
    self:register_buffer("other", lucerna.zeros(1), false)
  end
  function Odd:forward(x, fail)
    self.count:add_(1)
    self.other = lucerna.ones(5)
    lucerna.rand(3)
    local y = self.body(x)
    if fail then error(fail, 0) end
    return y
  end

  local function state(net)
    local modes, buffers = {}, {}
    for m in net:modules() do modes[#modes + 1] = m.training end
    for name, b in net:named_buffers() do
      buffers[#buffers + 1] = {name, b:tolist(), b:data_ptr(), b._version}
    end
    local keys = {}
    for key in pairs(net:state_dict()) do keys[#keys + 1] = key end
    return {modes, buffers, keys, lucerna.get_rng_state():tolist(), lucerna.is_grad_enabled(),
      lucerna.is_inference_mode_enabled()}
  end

  local function check(mode, fail)
    local net = Odd()
    net.body[3]:eval()
    local hooks = 0
    net.body:register_forward_hook(function() hooks = hooks + 1 end)
    local before, count = state(net), net.count
    local ok, result = pcall(lucerna.summary, net, {{4, 3}, fail}, {mode = mode})
    assert.are.same(before, state(net))
    assert.are.equal(count, net.count)
    assert.are.equal(1, hooks)
    for _, p in net:named_parameters() do assert.is_nil(p.grad) end
    return ok, result
  end

  it("modes, buffers, the generator, gradients", function()
    assert.is_true(check("eval"))
    assert.is_true(check("train"))
  end)

  it("also when forward fails, with its own error and path", function()
    local ok, message = check("train", "broken")
    assert.is_false(ok)
    assert.are.equal("broken", message)
    local net = nn.Sequential(nn.Linear(3, 3), nn.Linear(4, 4))
    net:train()
    message = parity.message(lucerna.summary, net, {1, 3})
    assert.matches("in 1 (Linear): linear: input has 3 features", message, 1, true)
    assert.is_true(net[1].training)
    local calls = 0
    net[2] = nn.Identity()
    net:register_forward_hook(function() calls = calls + 1 end)
    net(lucerna.ones(1, 3))
    assert.are.equal(1, calls)
  end)

  it("hooks: a net written in C is one again", function()
    local net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    local meta = debug.getmetatable(net)
    lucerna.summary(net, {1, 3})
    assert.are.equal(meta.__call, debug.getmetatable(net).__call)
  end)

  it("and runs in the mode asked for, without recording", function()
    local seen = {}
    local Look = nn.class("Look")
    function Look:forward(x)
      local y = self.training and "train" or "eval"
      seen[#seen + 1] = y .. " " .. tostring(lucerna.is_grad_enabled())
      return x
    end
    local net = nn.Sequential(Look())
    lucerna.summary(net, {1})
    lucerna.summary(net, {1}, {mode = "train"})
    assert.are.same({"eval false", "train false"}, seen)
  end)

  it("in a coroutine, through a failing child that forward catches, and nested", function()
    local Tries = nn.class("Tries")
    function Tries:__init() self.bad, self.good = nn.Linear(9, 9), nn.Linear(3, 3) end
    function Tries:forward(x)
      pcall(self.bad, x)
      return self.good(x)
    end
    local s = coroutine.wrap(function() return lucerna.summary(Tries(), {1, 3}) end)()
    local of = {}
    for _, l in ipairs(s.layers) do of[l.name] = l end
    assert.are.equal(9, of.good.multiply_adds)
    assert.are.equal(0, of.bad.multiply_adds)
    assert.are.equal(9, s.total.multiply_adds)
    local Nested = nn.class("Nested")
    function Nested:forward(x) -- luacheck: ignore 212
      return x * total(nn.Linear(3, 3), {1, 3}).multiply_adds
    end
    assert.are.equal(0, total(Nested(), {1, 3}).multiply_adds)
  end)

  it("of a deep net with shared parameters, in a text as long as it has modules", function()
    local shared = nn.Parameter(lucerna.rand(3))
    local net = nn.Linear(2, 2)
    net.shared = shared
    for _ = 1, 3000 do net = nn.Sequential(net) end
    net[1].shared = shared
    local s = lucerna.summary(net)
    assert.is_true(#tostring(s) < 3000 * 120)
    assert.are.equal(9, s.layers[1].parameters)
    assert.are.equal(9, s.layers[3001].parameters)
    assert.are.equal(3000, s.layers[3001].depth)
  end)
end)
