-- lucerna.models against nets written in PyTorch after the published definitions: names and shapes
-- of state dicts, counts of parameters, weights, outputs and gradients from one seed; checkpoints.

local lucerna = require "lucerna"
local models = require "lucerna.models"
local parity = require "parity"
local nn, core = lucerna.nn, require "lucerna.core"
local cases = parity.load "models"

local function state_text(net)
  local lines = {}
  for name, t in pairs(net:state_dict()) do
    lines[#lines + 1] = ("%s [%s]\n"):format(name, table.concat(t:size(), ", "))
  end
  return table.concat(lines), #lines
end

-- What tests/parity/gen_models.py computes too.
local function checksum(text)
  local h = 0
  for i = 1, #text do h = (h * 31 + text:byte(i)) & 0xFFFFFFFF end
  return h
end

-- A net whose weights are never written, so that their memory is never touched.
local function unwritten(make)
  local before = core.nn._skip_init(true)
  local ok, net = pcall(make)
  core.nn._skip_init(before)
  return assert(ok and net, net)
end

describe("lucerna.models has the published", function()
  local without_init = {vgg11 = {init_weights = false}, vgg11_bn = {init_weights = false}}
  for _, case in ipairs(cases.sizes) do
    it("names, shapes and number of parameters: " .. case.model, function()
      local net = unwritten(function() return models[case.model](without_init[case.model]) end)
      local count = 0
      for p in net:parameters() do count = count + p:numel() end
      assert.equal(case.parameters, count)
      local text, names = state_text(net)
      assert.equal(case.names, names)
      assert.equal(case.checksum, checksum(text))
    end)
  end
end)

-- How the names of recorded runs are made here.
local make = {
  ResNet = function(options) return models.ResNet(models.BasicBlock, {1, 1, 1, 1}, options) end,
  ResNeXt = function(options) return models.ResNet(models.Bottleneck, {1, 1, 1, 1}, options) end,
}

local function input_of(case)
  local vocab = case.options.vocab_size
  if vocab then return lucerna.randint(vocab, case.shape) + 1 end -- ids count from 1 here
  return lucerna.randn(case.shape)
end

local function check_sums(want, tensors, label)
  local sum, absolute = 0, 0
  for _, t in ipairs(tensors) do
    t = t:detach():double()
    sum, absolute = sum + t:sum():item(), absolute + t:abs():sum():item()
  end
  local atol = 2e-5 * want[2]
  assert.is_near(want[1], sum, atol, label)
  assert.is_near(want[2], absolute, atol, label)
end

describe("lucerna.models answers as PyTorch's do:", function()
  for i, case in ipairs(cases.runs) do
    it(("%d %s"):format(i, case.model), function()
      lucerna.manual_seed(case.seed)
      local net = (make[case.model] or models[case.model])(case.options)
      local text = state_text(net)
      if case.keys then assert.equal(case.keys, text) end
      assert.equal(case.checksum, checksum(text))
      local parameters, grads = {}, {}
      for p in net:parameters() do parameters[#parameters + 1] = p end
      check_sums(case.weights, parameters, "weights")
      for _, p in ipairs(case.stir and parameters or {}) do
        p.data:add_(lucerna.randn_like(p) * 0.1)
      end
      local x = input_of(case)
      local y = net(x)
      parity.close(y, case.trained, {rtol = 1e-4, atol = 1e-4, scale = true}, "training")
      local n = y:numel()
      local loss = (y * lucerna.linspace(-1, 1, n):view(y.shape)):sum()
      loss:backward()
      for k, p in ipairs(parameters) do grads[k] = p.grad end
      check_sums(case.grads, grads, "gradients")
      net:eval()
      parity.close(net(x), case.output, {rtol = 1e-4, atol = 1e-4, scale = true}, "evaluating")
    end)
  end
end)

describe("lucerna.models", function()
  it("loads another net's checkpoint", function()
    local a, b = models.mobilenet_v2 {num_classes = 3}, models.mobilenet_v2 {num_classes = 3}
    local path = os.tmpname()
    finally(function() os.remove(path) end)
    lucerna.safetensors.save_file(a:state_dict(), path)
    b:load_state_dict(lucerna.safetensors.load_file(path))
    a:eval()
    b:eval()
    local x = lucerna.randn(1, 3, 32, 32)
    assert.is_true(lucerna.equal(a(x), b(x)))
  end)

  it("makes residual nets that keep their size by dilation", function()
    local before = core.nn._skip_init(true)
    local net = models.resnet50 {replace_stride_with_dilation = {false, true, true}}
    core.nn._skip_init(before)
    local last = net.layer4[3].conv2
    assert.same({4, 4}, last.dilation)
    assert.same({1, 1}, net.layer4[1].conv2.stride)
    net = models.ResNet(models.Bottleneck, {1, 1, 1, 1},
      {norm_layer = function(c) return nn.GroupNorm(4, c) end, num_classes = 2})
    assert.equal("GroupNorm", net.layer1[1].bn1:_get_name())
  end)

  it("says what it does not take", function()
    local cases_of_errors = {
      {"ResNet: unknown argument 'num_clases' %(did you mean 'num_classes'%?%)$",
        models.resnet18, {num_clases = 3}},
      {"BasicBlock only supports groups=1 and base_width=64$", models.resnet18, {groups = 2}},
      {"Dilation > 1 not supported in BasicBlock$", models.resnet18,
        {replace_stride_with_dilation = {true, true, true}}},
      {"replace_stride_with_dilation should be None or a 3%-element tuple$", models.resnet50,
        {replace_stride_with_dilation = {true}}},
      {"inverted_residual_setting should be non%-empty or a 4%-element list$",
        models.mobilenet_v2, {inverted_residual_setting = {}}},
    }
    for _, case in ipairs(cases_of_errors) do
      local message = parity.message(case[2], case[3])
      assert.matches("^[^\n]*%.lua:%d+: " .. case[1], message)
    end
    assert.is_nil(models.resnet99)
  end)
end)
