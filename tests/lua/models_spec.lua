-- lucerna.models against nets written in PyTorch after the published definitions: names and shapes
-- of state dicts, counts of parameters, weights, outputs and gradients from one seed; checkpoints.

local lucerna = require "lucerna"
local files = require "files"
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
local function unwritten(make, ...)
  local before, written = core.nn._skip_init(true), {}
  for _, name in ipairs {"normal_", "kaiming_normal_", "xavier_uniform_", "trunc_normal_"} do
    written[name] = nn.init[name]
    nn.init[name] = function(t) return t end
  end
  local ok, net = pcall(make, ...)
  core.nn._skip_init(before)
  for name, f in pairs(written) do nn.init[name] = f end
  return assert(ok and net, net)
end

describe("lucerna.models has the published", function()
  for _, case in ipairs(cases.sizes) do
    it("names, shapes and number of parameters: " .. case.model, function()
      local net = unwritten(models[case.model])
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
  dilated = function(options) return models.ResNet(models.Bottleneck, {1, 1, 2, 2}, options) end,
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
      if case.double then net, x = net:double(), x:double() end
      local y = net(x)
      parity.close(y, case.trained, {rtol = 1e-4, atol = 1e-4, scale = true}, "training")
      local n = y:numel()
      local loss = (y * lucerna.linspace(-1, 1, n):view(y.shape):to(y.dtype)):sum()
      loss:backward()
      for k, p in ipairs(parameters) do grads[k] = p.grad end
      check_sums(case.grads, grads, "gradients")
      net:eval()
      parity.close(net(x), case.output, {rtol = 1e-4, atol = 1e-4, scale = true}, "evaluating")
    end)
  end
end)

describe("lucerna.models answers, large, as PyTorch's do: #slow", function()
  for _, case in ipairs(cases.large) do
    it(case.model, function()
      lucerna.manual_seed(1)
      local net = models[case.model](case.options):eval()
      local y = lucerna.no_grad(net, lucerna.randn(case.shape))
      parity.close(y, case.output, {rtol = 1e-4, atol = 1e-4, scale = true})
    end)
  end
end)

describe("lucerna.models", function()
  it("loads another net's checkpoint", function()
    local a, b = models.mobilenet_v2 {num_classes = 3}, models.mobilenet_v2 {num_classes = 3}
    local path = files.temporary()
    lucerna.safetensors.save_file(a:state_dict(), path)
    b:load_state_dict(lucerna.safetensors.load_file(path))
    a:eval()
    b:eval()
    local x = lucerna.randn(1, 3, 32, 32)
    assert.is_true(lucerna.equal(a(x), b(x)))
  end)

  it("makes residual nets that keep their size by dilation", function()
    local net = unwritten(models.resnet50, {replace_stride_with_dilation = {false, true, true}})
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
      {"VisionTransformer: hidden_dim must be a positive integer %(got nil%)$",
        models.VisionTransformer, {image_size = 8, patch_size = 4, num_layers = 1, num_heads = 2}},
      {"VisionTransformer: expected images of 8x8 %(got %[1, 3, 8, 4%]%)$",
        models.VisionTransformer {
          image_size = 8, patch_size = 4, num_layers = 1, num_heads = 2, hidden_dim = 4,
          mlp_dim = 4,
        }, lucerna.ones(1, 3, 8, 4)},
      {"vit_b_16: expected a table of options %(got number%)$", models.vit_b_16, 224},
      {"MobileNetV2: width_mult must be a number above 0 %(got wide%)$", models.mobilenet_v2,
        {width_mult = "wide"}},
      {"ResNet: num_classes must be a positive integer %(got ten%)$", models.resnet18,
        {num_classes = "ten"}},
      {"ResNet: width_per_group must be a positive integer %(got 0%)$", models.resnet50,
        {width_per_group = 0}},
      {"ResNet: layers must be an array of four numbers of blocks$", models.ResNet,
        models.BasicBlock, {2, 2}},
      {"ResNet: block must be a class %(got number%)$", models.ResNet, 1, {2, 2, 2, 2}},
      {"Input shape indivisible by patch size!$", models.vit_b_16, {image_size = 100}},
    }
    for _, case in ipairs(cases_of_errors) do
      local message = parity.message(table.unpack(case, 2))
      assert.matches("^[^\n]*%.lua:%d+: .*" .. case[1], message)
    end
    assert.is_nil(models.resnet99)
  end)

  it("is explained by help", function()
    local help = require "lucerna.help"
    for name, value in pairs(models) do
      assert.matches("^[^\n]*models%." .. name, help.text(value))
      assert.matches("\n  [^\n]*" .. name .. "[({]", help.text(value))
    end
  end)
end)

describe("models.GPT2", function()
  local function small(options)
    lucerna.manual_seed(5)
    options = options or {}
    local all = {vocab_size = 7, n_positions = 5, n_embd = 8, n_layer = 2, n_head = 2}
    for key, value in pairs(options) do all[key] = value end
    return models.GPT2(all)
  end

  it("takes state dicts of older files and of the model with a head", function()
    local a, b = small(), small()
    local state = {["lm_head.weight"] = lucerna.zeros(7, 8)}
    for name, t in pairs(a:state_dict()) do state["transformer." .. name] = t end
    for i = 0, 1 do
      state[("transformer.h.%d.attn.bias"):format(i)] = lucerna.ones(1, 1, 5, 5)
      state[("transformer.h.%d.attn.masked_bias"):format(i)] = lucerna.tensor(-1e4)
    end
    b:load_state_dict(state)
    local ids = lucerna.tensor {{1, 7, 3}}
    a:eval()
    b:eval()
    assert.is_true(lucerna.equal(a(ids), b(ids)))
    assert.is_not_nil(state["lm_head.weight"]) -- what was given stays as it was

    local outer = nn.Sequential(small())
    local below = {}
    for name, t in pairs(state) do below["0." .. name] = t end
    outer:load_state_dict(below)
    outer:eval()
    assert.is_true(lucerna.equal(a(ids), outer(ids)))
    below["0.h.0.attn.biases"] = lucerna.ones(1)
    assert.matches('Unexpected key%(s%) in state_dict: "0.h.0.attn.biases"',
      parity.message(outer.load_state_dict, outer, below))
  end)

  it("looks at earlier tokens only, alone and in batches", function()
    local net = small():eval()
    local a, b = net(lucerna.tensor {1, 2, 3, 4}), net(lucerna.tensor {{1, 2, 3, 5}})
    assert.same({4, 7}, a:size())
    assert.same({1, 4, 7}, b:size())
    parity.close(a[{{1, 3}}], b[1][{{1, 3}}])
    assert.is_true((a[4] - b[1][4]):abs():max():item() > 1e-6)
  end)

  it("goes on where it was, with a cache", function()
    local net = small():eval()
    local ids = lucerna.tensor {{1, 2, 3, 4, 5}, {7, 6, 5, 5, 1}}
    local want, cache = net(ids), {}
    for _, part in ipairs {{1, 1}, {2, 4}, {5, 5}} do
      parity.close(net(ids[{{}, part}], cache), want[{{}, part}])
    end
    assert.matches("GPT2: input has 6 tokens, n_positions is 5$",
      parity.message(net, ids[{{}, {1, 1}}], cache))
  end)

  it("generates the likeliest tokens at temperature 0, from the last n_positions", function()
    local net = small():eval()
    local ids = lucerna.tensor {{1, 2}, {3, 4}}
    local out = net:generate(ids, {max_new_tokens = 6, temperature = 0})
    assert.same({2, 8}, out:size())
    assert.is_true(lucerna.equal(ids, out[{{}, {1, 2}}]))
    for t = 3, 8 do
      local before = out[{{}, {math.max(1, t - 5), t - 1}}]
      local want = net(before):select(2, -1):argmax(-1)
      assert.is_true(lucerna.equal(want, out[{{}, t}]))
    end
    assert.is_true(lucerna.equal(out, net:generate(ids, {max_new_tokens = 6, top_k = 1})))
  end)

  it("draws the same tokens for one seed, of the top_k likeliest", function()
    local net = small():eval()
    local function draw(options)
      lucerna.manual_seed(3)
      options.max_new_tokens = 20
      return net:generate(lucerna.tensor {1}, options)
    end
    local hot = draw {temperature = 5}
    assert.same({21}, hot:size())
    assert.is_true(lucerna.equal(hot, draw {temperature = 5}))
    assert.is_true(hot:min():item() >= 1 and hot:max():item() <= 7)
    local out = draw {temperature = 5, top_k = 2}
    for t = 2, 21 do
      local logits = net(out[{{math.max(1, t - 5), t - 1}}])[-1]
      assert.is_true(logits[out[t]:item()]:item() >= logits:topk(2)[2]:item())
    end
  end)

  it("says what it does not take", function()
    local net = small()
    local ids = lucerna.tensor {1}
    local cases_of_errors = {
      {"GPT2: n_embd must be divisible by n_head %(got 9 and 2%)$", small, {n_embd = 9}},
      {"GPT2: n_layer must be a positive integer %(got 0%)$", small, {n_layer = 0}},
      {"GPT2: vocab_size must be a positive integer %(got 2.5%)$", small, {vocab_size = 2.5}},
      {"GPT2: n_embd must be a positive integer %(got wide%)$", small, {n_embd = "wide"}},
      {"GPT2: input has 6 tokens, n_positions is 5$", net, lucerna.ones(1, 6):long()},
      {"generate: ids must be a tensor of at least one token$", net.generate, net, {1, 2}},
      {"generate: temperature must not be negative %(got %-1%)$", net.generate, net, ids,
        {temperature = -1}},
      {"generate: top_k must be a positive integer %(got 0%)$", net.generate, net, ids,
        {top_k = 0}},
      {"index 8 is out of range %[1, 7%]", net, lucerna.tensor {8}},
    }
    for _, case in ipairs(cases_of_errors) do
      local message = parity.message(table.unpack(case, 2))
      assert.matches(case[1], message)
      assert.not_matches("\n", message)
    end
  end)
end)
