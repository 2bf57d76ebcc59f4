-- Attention: the function beside PyTorch's formula, its blocks and their memory.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"
local nn = lucerna.nn
local F = nn.functional

describe("scaled_dot_product_attention answers as PyTorch's:", function()
  for title, check in cases.each("functional_attention") do it(title, check) end
end)

-- The same by the matrix of scores.
local function by_scores(q, k, v, mask, causal)
  local scores = q:matmul(k:transpose(-2, -1)) * q:size(-1) ^ -0.5
  if causal then mask = lucerna.ones(q:size(-2), k:size(-2), {dtype = lucerna.bool}):tril() end
  if mask and mask.dtype == lucerna.bool then
    scores = scores:masked_fill(mask:logical_not(), -math.huge)
  elseif mask then
    scores = scores + mask
  end
  return lucerna.softmax(scores, -1):matmul(v)
end

local double = {dtype = lucerna.float64}

local function same_with_gradients(got, want, inputs)
  parity.close(got, want)
  local options = {grad_outputs = lucerna.randn(got.shape, double)}
  local gradients = {lucerna.autograd.grad(want, inputs, options)}
  for i, g in ipairs {lucerna.autograd.grad(got, inputs, options)} do
    parity.close(g, gradients[i], {atol = 1e-9}, "gradient " .. i)
  end
end

describe("attention in blocks", function()
  local masks = {
    none = function() end,
    causal = function() return nil, true end,
    bool = function(keys) return lucerna.rand(150, keys):gt(0.3) end,
    ["bool, of every item"] = function(keys) return lucerna.rand(2, 1, 1, keys):gt(0.3) end,
    float = function() return lucerna.randn(3, 150, 1, double) end,
  }
  local kinds = {[70] = "its weights kept", [210] = "its weights made again"}
  for name, make in pairs(masks) do
    for keys, kind in pairs(kinds) do
      it("gives what the whole matrix of scores gives: " .. name .. ", " .. kind, function()
        lucerna.manual_seed(3)
        local inputs = {parity.leaf {2, 3, 150, 5}, parity.leaf {2, 3, keys, 5},
          parity.leaf {2, 3, keys, 9}}
        local q, k, v = table.unpack(inputs)
        local mask, causal = make(keys)
        local got = F.scaled_dot_product_attention(q, k, v, mask, 0, causal)
        same_with_gradients(got, by_scores(q, k, v, mask, causal), inputs)
      end)
    end
  end

  for _, causal in ipairs { false, true } do
    it("adds up the gradients of one head's blocks of keys, causal or not", function()
      local inputs = {parity.leaf {300, 17}, parity.leaf {400, 17}, parity.leaf {400, 9}}
      local q, k, v = table.unpack(inputs)
      local got = F.scaled_dot_product_attention(q, k, v, nil, 0, causal)
      same_with_gradients(got, by_scores(q, k, v, nil, causal), inputs)
    end)
  end

  it("reads and writes heads that lie beside each other, and keys that are shared", function()
    local inputs = {parity.leaf {2, 70, 3, 5}, parity.leaf {200, 1, 5}, parity.leaf {9, 2, 3, 200}}
    local q, k = inputs[1]:transpose(2, 3), inputs[2]:transpose(1, 2):expand(2, 3, 200, 5)
    local v = inputs[3]:permute(2, 3, 4, 1)
    local got = F.scaled_dot_product_attention(q, k, v)
    assert.is_true(got:transpose(2, 3):is_contiguous())
    same_with_gradients(got, by_scores(q, k, v), inputs)
  end)

  it("needs no matrix of scores", function()
    local length, width = 4096, 64
    local inputs = {}
    for i = 1, 3 do inputs[i] = lucerna.randn(length, width):requires_grad_() end
    collectgarbage()
    lucerna.set_memory_limit(lucerna.memory().live + length * length * 4 // 2)
    local ok, message = pcall(function()
      local y = F.scaled_dot_product_attention(inputs[1], inputs[2], inputs[3], nil, 0, true)
      y:sum():backward()
    end)
    lucerna.set_memory_limit(0)
    assert(ok, message)
  end)

  it("keeps a NaN and an infinity", function()
    local q, k = lucerna.ones(2, 2), lucerna.ones(3, 2)
    q[2] = 0 / 0
    local y = F.scaled_dot_product_attention(q, k, k)
    assert.are.same({1, 1}, y[1]:tolist())
    assert.is_true(y[2]:isnan():all():item())
    k[1] = math.huge
    assert.is_true(F.scaled_dot_product_attention(q, k, k):isnan():all():item())
  end)

  for keys, kind in pairs(kinds) do
    it("learns nothing from a query that sees no key: " .. kind, function()
      local inputs = {parity.leaf {2, 5}, parity.leaf {keys, 5}, parity.leaf {keys, 3}}
      local q, k, v = table.unpack(inputs)
      local mask = lucerna.tensor({{false}, {true}}):expand(2, keys)
      local got = F.scaled_dot_product_attention(q, k, v, mask)
      local seen = by_scores(q:narrow(1, 2, 1), k, v)
      same_with_gradients(got, lucerna.cat {lucerna.zeros(1, 3, double), seen}, inputs)
    end)
  end

  it("joins gradients of parts of one tensor, of which a hook may keep its own", function()
    local function gradient(x, attend, hook)
      local heads = {}
      for i, part in ipairs(x:split(8, -1)) do
        if i == 2 and hook then part:register_hook(hook) end
        heads[i] = part:reshape(2, 5, 2, 4):transpose(2, 3)
      end
      attend(table.unpack(heads)):square():sum():backward()
      return x.grad
    end
    for _, causal in ipairs {false, true} do
      local function attend(q, k, v)
        return F.scaled_dot_product_attention(q, k, v, nil, 0, causal)
      end
      local kept
      local x = parity.leaf {2, 5, 24}
      local want = gradient(x:detach():requires_grad_(), function(q, k, v)
        return by_scores(q, k, v, nil, causal)
      end)
      parity.close(gradient(x, attend, function(g) kept = g end), want)
      parity.close(kept, want:narrow(3, 9, 8))
      parity.close(gradient(x, attend), want * 2)
      parity.close(kept, want:narrow(3, 9, 8))
      x.grad = nil
      parity.close(gradient(x, attend), want)
    end
  end)

  it("takes many gradients of one forward, whose weights are kept once", function()
    local q, many = parity.leaf {8, 64, 4}, lucerna.randn(40, 8, 64, 4, double)
    local y = F.scaled_dot_product_attention(q, q, q)
    local all = lucerna.autograd.grad(y, q, {grad_outputs = many, is_grads_batched = true,
      retain_graph = true})
    parity.close(all[17], lucerna.autograd.grad(y, q, {grad_outputs = many[17]}))
  end)

  it("has nothing to do for values of no features, however many there are", function()
    local q, k = lucerna.zeros(2, 0):requires_grad_(), lucerna.zeros(1 << 40, 0)
    local y = F.scaled_dot_product_attention(q, k, k)
    assert.are.same({2, 0}, y.shape)
    y:sum():backward()
    assert.are.same({{1.5}}, F.scaled_dot_product_attention(lucerna.zeros(1, 0),
      lucerna.zeros(2, 0), lucerna.tensor {{1.0}, {2.0}}):tolist())
  end)

  it("gives half precision its own dtype back", function()
    local x = lucerna.randn(3, 4)
    local y = F.scaled_dot_product_attention(x:half(), x:half(), x:half(), lucerna.zeros(3, 3))
    assert.are.equal(lucerna.float16, y.dtype)
    parity.close(y:float(), F.scaled_dot_product_attention(x, x, x), {atol = 5e-3, rtol = 5e-3})
  end)
end)

-- ---- modules ----

local function run(source, names)
  return assert(load("return " .. source, source, "t", names))()
end

local function make(case, seed)
  lucerna.manual_seed(seed)
  return run(case.make, {nn = nn, lucerna = lucerna, F = F})
end

local recorded = parity.load "attention"

describe("a module answers as PyTorch's:", function()
  for i, case in ipairs(recorded) do
    if case.make then it(("%d %s %s"):format(i, case.make, case.call), function()
      local m = make(case, i - 1)
      if case.text then assert.are.equal(case.text, tostring(m)) end
      local k = 0
      for name, t in pairs(m:state_dict()) do
        k = k + 1
        assert.are.same({case.state[k][1], case.state[k][2]}, {name, t.shape})
        parity.close_sums(t, case.state[k][3], 5e-5, name)
      end
      assert.are.equal(#case.state, k)
      local a = {}
      for j, input in ipairs(case.inputs) do
        a[j] = parity.tensor(input):requires_grad_(input.grad or false)
      end
      lucerna.manual_seed(99)
      local outputs = {run(case.call, {m = m, a = a, F = F})}
      assert.are.equal(#case.outputs, #outputs)
      for j, want in ipairs(case.outputs) do
        parity.close(outputs[j], want, {atol = 5e-6, rtol = 5e-5}, "output " .. j)
      end
      parity.total(outputs):backward()
      for j, want in pairs(case.input_grads) do
        parity.close(a[j].grad, want, {atol = 2e-5, rtol = 1e-4}, "gradient of input " .. j)
      end
      for name, p in m:named_parameters() do
        local want = case.grads[name]
        if want then
          parity.close_sums(p.grad, want, 5e-5, "gradient of " .. name)
        else
          assert.is_nil(p.grad)
        end
      end
    end) end
  end
end)

describe("MultiheadAttention", function()
  it("has first and second derivatives, with weights and without", function()
    for _, options in ipairs {{}, {add_bias_kv = true, add_zero_attn = true, kdim = 3}} do
      lucerna.manual_seed(2)
      local m = nn.MultiheadAttention(4, 2, options):double()
      local inputs = {parity.leaf(2, 1, 4), parity.leaf(3, 1, options.kdim or 4),
        parity.leaf(3, 1, 4)}
      local mask = lucerna.tensor {{false, true, false}, {false, false, false}}
      for _, need in ipairs {true, false} do
        local function f()
          return m(inputs[1], inputs[2], inputs[3], {attn_mask = mask, need_weights = need})
        end
        local leaves = {table.unpack(inputs)}
        for p in m:parameters() do leaves[#leaves + 1] = p end
        parity.gradcheck(f, leaves)
        parity.gradgradcheck(f, leaves)
      end
    end
  end)

  it("gives zeros, not NaN, to a query that sees nothing when no weights are asked for", function()
    local m = nn.MultiheadAttention(4, 2, {bias = false})
    local x = lucerna.randn(2, 4)
    local blind = lucerna.tensor {{true, true}, {false, false}}
    local y = m(x, x, x, {attn_mask = blind, need_weights = false})
    assert.are.same({0, 0, 0, 0}, y[1]:tolist())
    assert.is_true(m(x, x, x, {attn_mask = blind})[1]:isnan():all():item())
  end)

  it("keeps its sizes as fields, and its copies and states are whole", function()
    local m = nn.MultiheadAttention(4, 2, {kdim = 3})
    assert.are.same({4, 2, 3, 4, 2, false, 0.0, false, false}, {m.embed_dim, m.num_heads, m.kdim,
      m.vdim, m.head_dim, m._qkv_same_embed_dim, m.dropout, m.batch_first, m.add_zero_attn})
    assert.is_nil(m.bias_k)
    local q, k, v = lucerna.randn(2, 4), lucerna.randn(3, 3), lucerna.randn(3, 4)
    local fresh = nn.MultiheadAttention(4, 2, {kdim = 3})
    fresh:load_state_dict(m:state_dict())
    for _, other in ipairs {m:clone(), fresh} do
      parity.close(other(q, k, v), (m(q, k, v)))
    end
    m.dropout = 1.0
    assert.are.equal(0, m(q, k, v, {need_weights = true})[1]:sub(m.out_proj.bias):sum():item())
  end)

  it("asks nothing of the hooks of out_proj", function()
    local m, called = nn.MultiheadAttention(2, 1), false
    m.out_proj:register_forward_hook(function() called = true end)
    m(lucerna.ones(1, 2), lucerna.ones(1, 2), lucerna.ones(1, 2))
    assert.is_false(called)
  end)
end)

describe("the Transformer's classes", function()
  it("have first and second derivatives", function()
    lucerna.manual_seed(4)
    local options = {dim_feedforward = 3, dropout = 0, activation = lucerna.tanh}
    local encoder = nn.TransformerEncoderLayer(2, 1, options):double()
    options.norm_first = true
    local decoder = nn.TransformerDecoderLayer(2, 1, options):double()
    local src, tgt = parity.leaf(2, 1, 2), parity.leaf(2, 1, 2)
    local mask = lucerna.ones(2, 2):triu(1):bool()
    local function f() return decoder(tgt, encoder(src, mask), {tgt_mask = mask}) end
    parity.gradcheck(f, {src, tgt, encoder.self_attn.in_proj_weight, decoder.linear1.weight})
    parity.gradgradcheck(f, {src, tgt})
  end)

  it("stack copies that begin alike and live apart", function()
    local layer = nn.TransformerEncoderLayer(4, 2, 8)
    local stack = nn.TransformerEncoder(layer, 3)
    parity.refused("TransformerEncoder: num_layers must be an integer (got string)",
      nn.TransformerEncoder, layer, "three")
    assert.are.equal(3, #stack.layers)
    local first, last = stack.layers[1].linear1, stack.layers[3].linear1
    assert.is_true(lucerna.equal(first.weight, layer.linear1.weight))
    assert.is_true(lucerna.equal(first.weight, last.weight))
    lucerna.no_grad(function() first.weight:zero_() end)
    assert.is_false(lucerna.equal(first.weight, last.weight))
  end)

  it("begin anew in nn.Transformer: matrices by xavier_uniform_", function()
    local m = nn.Transformer(4, 2, 2, 1, 8)
    local layers = m.encoder.layers
    assert.is_false(lucerna.equal(layers[1].linear1.weight, layers[2].linear1.weight))
    local bound = math.sqrt(6 / (4 + 8))
    assert.is_true(layers[1].linear1.weight:abs():max():item() <= bound)
  end)

  it("give zeros for the padding where PyTorch leaves it out", function()
    local case = recorded[#recorded].skips
    lucerna.manual_seed(#recorded - 1)
    local layer = nn.TransformerEncoderLayer(4, 2, 5, {batch_first = true})
    local m = nn.TransformerEncoder(layer, 2):eval()
    local input, padding = parity.tensor(case.input), parity.tensor(case.padding)
    local function answer(options)
      return m(input, nil, padding, options)
    end
    lucerna.no_grad(function() parity.close(answer(), case.output, {atol = 5e-6, rtol = 5e-5}) end)
    assert.is_true(answer()[2][3]:ne(0):all():item())
    m.enable_nested_tensor = false
    lucerna.no_grad(function() assert.is_true(answer()[2][3]:ne(0):all():item()) end)
  end)

  it("know a causal mask, and take the word of is_causal", function()
    lucerna.manual_seed(5)
    local layer = nn.TransformerEncoderLayer(4, 2, 8, 0)
    local m = nn.TransformerEncoder(layer, 1)
    local x, said = lucerna.randn(3, 4), {}
    m.layers[1].self_attn:register_forward_pre_hook(function(_, args) said[#said + 1] = args[8] end)
    local mask = nn.Transformer.generate_square_subsequent_mask(3)
    local want = m(x, mask)
    m(x, mask, nil, false)
    m(x, mask:clone():fill_(0))
    assert.are.same({true, false, false}, said)
    parity.close(m(x, mask, nil, true), want)
  end)

  it("make square masks", function()
    local mask = nn.Transformer.generate_square_subsequent_mask(2, {dtype = lucerna.float64})
    assert.are.equal(lucerna.float64, mask.dtype)
    assert.are.same({{0, -math.huge}, {0, 0}}, mask:tolist())
    local m = nn.Transformer(2, 1, 1, 1, 2)
    assert.are.same(mask:tolist(), m:generate_square_subsequent_mask(2):tolist())
  end)

  it("can be called with modules, functions and classes of one's own inside", function()
    local Half = nn.class("Half")
    function Half.forward(_, x) return x * 0.5 end
    local layer = nn.TransformerEncoderLayer(4, 2, 8, {activation = Half()})
    assert.are.equal("Half", layer.activation:_get_name())
    local calls = 0
    layer.linear1:register_forward_hook(function() calls = calls + 1 end)
    nn.TransformerEncoder(layer, 2)(lucerna.ones(2, 4)):sum():backward()
    assert.are.equal(2, calls)
    local x = lucerna.ones(2, 1, 4)
    local m = nn.Transformer(4, 2, 1, 1, 8, {custom_encoder = Half()}):eval()
    assert.are.same({2, 1, 4}, m(x, x).shape)
  end)

  it("learn as PyTorch's does: ten steps, with dropout", function()
    local losses
    for _, case in ipairs(recorded) do losses = losses or case.losses end
    lucerna.manual_seed(7)
    local embed, net, out = nn.Embedding(9, 8), nn.Transformer(8, 2, 2, 2, 16), nn.Linear(8, 9)
    local parameters = {}
    for _, m in ipairs {embed, net, out} do
      for p in m:parameters() do parameters[#parameters + 1] = p end
    end
    local adam = lucerna.optim.Adam(parameters, {lr = 0.003})
    local mask = nn.Transformer.generate_square_subsequent_mask(6)
    for step, want in ipairs(losses) do
      local src = lucerna.randint(1, 9, {6, 5}) + 1
      local tgt = lucerna.cat({lucerna.ones(1, 5, {dtype = lucerna.int64}), src:flip(1)})
      local y = out(net(embed(src), embed(tgt[{{1, -2}}]), {tgt_mask = mask}))
      local loss = F.cross_entropy(y:flatten(1, 2), tgt[{{2, -1}}]:flatten())
      adam:zero_grad()
      loss:backward()
      adam:step()
      assert.is_true(math.abs(loss:item() - want) < 1e-4, ("step %d: %.7g, want %.7g"):format(step,
        loss:item(), want))
    end
  end)

  it("let subclasses replace their parts", function()
    local Quiet = nn.class("Quiet", nn.TransformerEncoderLayer)
    function Quiet:__init() nn.TransformerEncoderLayer.__init(self, 4, 2, 8, 0) end
    function Quiet._sa_block(_, x) return x * 0 end
    local layer, x = Quiet(), lucerna.randn(3, 4)
    local y = layer.norm1(x)
    parity.close(layer(x), layer.norm2(y + layer:_ff_block(y)))
    assert.are.equal(2, #nn.TransformerEncoder(layer, 2).layers)
  end)

  it("load what others have saved", function()
    local a, b = nn.Transformer(4, 2, 1, 1, 8):eval(), nn.Transformer(4, 2, 1, 1, 8):eval()
    b:load_state_dict(a:state_dict())
    local src, tgt = lucerna.randn(3, 2, 4), lucerna.randn(2, 2, 4)
    parity.close(b(src, tgt), a(src, tgt))
    parity.close(a:clone()(src, tgt), a(src, tgt))
  end)
end)

describe("nn.attention", function()
  local attention = nn.attention
  local flex = attention.flex_attention

  it("makes causal masks of either corner", function()
    local bias = attention.bias
    assert.are.same({{true, false, false}, {true, true, false}},
      bias.causal_upper_left(2, 3):tolist())
    assert.are.same({{true, true, false}, {true, true, true}},
      bias.causal_lower_right(2, 3):tolist())
    local q, k = lucerna.randn(2, 4), lucerna.randn(3, 4)
    parity.close(F.scaled_dot_product_attention(q, k, k, bias.causal_upper_left(2, 3)),
      F.scaled_dot_product_attention(q, k, k, {is_causal = true}))
  end)

  it("takes functions of scores and positions", function()
    local q, k = parity.leaf {2, 2, 3, 4}, parity.leaf {2, 2, 5, 4}
    local function causal(_, _, query, key) return query:ge(key) end
    local function near(_, _, query, key) return (query - key):abs():le(1) end
    local mask = flex.create_block_mask(flex.and_masks(causal, near), nil, nil, 3, 5)
    assert.are.same({1, 1, 3, 5}, mask.shape)
    local dense = lucerna.ones(3, 5):tril():triu(-1):bool()
    assert.are.same(dense:tolist(), mask.mask[1][1]:tolist())
    parity.close(flex.flex_attention(q, k, k, {block_mask = mask}),
      F.scaled_dot_product_attention(q, k, k, dense))
    local function alibi(score, _, head, query, key) return score + (key - query) * (0.5 ^ head) end
    local slopes = lucerna.tensor({0.5, 0.25}, {dtype = lucerna.float64}):view(2, 1, 1)
    local offsets = lucerna.arange(1, 6):view(1, 5) - lucerna.arange(1, 4):view(3, 1)
    local y, lse = flex.flex_attention(q, k, k, {score_mod = alibi, return_lse = true})
    parity.close(y, F.scaled_dot_product_attention(q, k, k, (offsets * slopes):double()))
    assert.are.same({2, 2, 3}, lse.shape)
    parity.gradcheck(function() return (flex.flex_attention(q, k, k, {score_mod = alibi})) end,
      {q, k})
    local either = flex.create_mask(flex.or_masks(causal, near), 1, 1, 2, 3)
    assert.are.same({{true, true, false}, {true, true, true}}, either[1][1]:tolist())
  end)

  it("shares heads, and accepts any choice of kernels", function()
    local q, k = lucerna.randn(1, 4, 2, 3), lucerna.randn(1, 2, 2, 3)
    local _ <close> = attention.sdpa_kernel {attention.SDPBackend.MATH,
      attention.SDPBackend.FLASH_ATTENTION}
    local y = flex.flex_attention(q, k, k, {enable_gqa = true, return_lse = true})
    parity.close(y, flex.flex_attention(q, k, k, {enable_gqa = true}), {atol = 1e-6})
  end)
end)

-- {text of the message, function, arguments…}
local function refusals()
  local function z(...) return lucerna.zeros(...) end
  local attend, m = F.scaled_dot_product_attention, nn.MultiheadAttention(4, 2)
  return {
    {"scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
      attend, z(2, 2), z(2, 2), z(2, 2), z(2, 2), 0, true},
    {"Expected query, key, and value to have the same dtype, but got query.dtype: float32 "
      .. "key.dtype: float64 and value.dtype: float32 instead.",
      attend, z(2, 2), z(2, 2):double(), z(2, 2)},
    {"Expected query, key, and value to all be at least 2 dimensional, but got query.dim(): 1, "
      .. "key.dim(): 2 and value.dim(): 2 instead.", attend, z(2), z(2, 2), z(2, 2)},
    {"Expected attn_mask dtype to be bool or float or to match query dtype, but got "
      .. "attn_mask.dtype: int64 and query.dtype: float32 instead.",
      attend, z(2, 2), z(2, 2), z(2, 2), z(2, 2):long()},
    {"query has 2 features, key has 3 (query [2, 2], key [2, 3])", attend, z(2, 2), z(2, 3),
      z(2, 3)},
    {"key has 2 places, value has 3 (key [2, 2], value [3, 2])", attend, z(2, 2), z(2, 2), z(3, 2)},
    {"attn_mask must broadcast to scores [..., 2, 3]", attend, z(2, 2), z(3, 2), z(3, 2), z(2, 2)},
    {"batch sizes 3 and 2 do not broadcast (query [3, 2, 2], key [2, 2, 2])",
      attend, z(3, 2, 2), z(2, 2, 2), z(2, 2, 2)},
    {"enable_gqa needs a number of heads that divides query's (query [3, 2, 2], key [2, 2, 2])",
      attend, z(3, 2, 2), z(2, 2, 2), z(2, 2, 2), {enable_gqa = true}},
    {"embed_dim and num_heads must be greater than 0, got embed_dim=0 and num_heads=2 instead",
      nn.MultiheadAttention, 0, 2},
    {"embed_dim must be divisible by num_heads", nn.MultiheadAttention, 5, 2},
    {"embed_dim is too large", nn.MultiheadAttention, math.maxinteger, 1},
    {"kdim and vdim must not be negative", nn.MultiheadAttention, 4, 1, {vdim = -1}},
    {"query should be unbatched 2D or batched 3D tensor but received 1-D query tensor", m, z(4),
      z(4), z(4)},
    {"For batched (3-D) `query`, expected `key` and `value` to be 3-D but found 2-D and 3-D "
      .. "tensors respectively", m, z(2, 1, 4), z(2, 4), z(2, 1, 4)},
    {"For unbatched (2-D) `query`, expected `key_padding_mask` to be `None` or 1-D but found 2-D",
      m, z(2, 4), z(2, 4), z(2, 4), z(1, 2)},
    {"expected `attn_mask` to be `None`, 2-D or 3-D but found 1-D", m, z(2, 4), z(2, 4), z(2, 4),
      {attn_mask = z(2)}},
    {"only bool and floating types of key_padding_mask are supported", m, z(2, 4), z(2, 4),
      z(2, 4), z(2):long()},
    {"only bool and floating types of attn_mask are supported", m, z(2, 4), z(2, 4), z(2, 4),
      {attn_mask = z(2, 2):long()}},
    {"Need attn_mask if specifying the is_causal hint.", m, z(2, 4), z(2, 4), z(2, 4),
      {is_causal = true}},
    {"was expecting embedding dimension of 4, but got 3", m, z(2, 3), z(2, 4), z(2, 4)},
    {"key shape [2, 1, 4] does not match value shape [3, 1, 4]", m, z(2, 4), z(2, 4), z(3, 4)},
    {"The shape of the 2D attn_mask is [2, 3], but should be [2, 2].", m, z(2, 4), z(2, 4),
      z(2, 4), {attn_mask = z(2, 3)}},
    {"The shape of the 3D attn_mask is [1, 2, 2], but should be [2, 2, 2].", m, z(2, 4), z(2, 4),
      z(2, 4), {attn_mask = z(1, 2, 2)}},
    {"Expected key_padded_mask.shape[2] to be 2, but got 3", m, z(2, 4), z(2, 4), z(2, 4), z(3)},
    {"Expected key_padded_mask.shape[1] to be 1, but got 2", m, z(2, 1, 4), z(2, 1, 4),
      z(2, 1, 4), z(2, 2)},
    {"multi_head_attention_forward: in_proj_weight must be a Tensor (got nil)",
      F.multi_head_attention_forward, z(2, 4), z(2, 4), z(2, 4), 4, 2, {out_proj_weight = z(4, 4)}},
    {"was expecting embedding dimension of 4, but got 3", F.multi_head_attention_forward, z(2, 3),
      z(2, 4), z(2, 4), 4, 2, z(12, 4), z(12), nil, nil, false, 0.0, z(4, 4), z(4), n = 15},
    {"sdpa_kernel: Backend must be an instance of SDPBackend", nn.attention.sdpa_kernel, 7},
    {"causal_lower_right: only supports 2D tensors", nn.attention.bias.causal_lower_right, 2},
    {"flex_attention: Expected query, key and value to be 4D tensors (key is 2D)",
      nn.attention.flex_attention.flex_attention, z(1, 1, 2, 2), z(2, 2), z(1, 1, 2, 2)},
    {"and_masks: All inputs should be callable mask_mods (got number)",
      nn.attention.flex_attention.and_masks, 1},
    {"create_mask: mod_fn must give a tensor of booleans",
      nn.attention.flex_attention.create_mask, function() return 1 end, 1, 1, 2, 2},
    {"activation should be relu/gelu, not tanh", nn.TransformerEncoderLayer, 4, 2,
      {activation = "tanh"}},
    {"unknown argument 'dropuot' (did you mean 'dropout'?)", nn.TransformerDecoderLayer, 4, 2,
      {dropuot = 0}},
    {"embed_dim must be divisible by num_heads", nn.TransformerEncoderLayer, 5, 2},
    {"TransformerEncoderLayer: d_model must be an integer (got nil)", nn.TransformerEncoderLayer},
    {"TransformerDecoderLayer: nhead must be an integer (got string)", nn.TransformerDecoderLayer,
      4, "2"},
    {"activation must be a function (got number)", nn.TransformerEncoderLayer, 4, 2,
      {activation = 3}},
    {"TransformerDecoder: tgt_mask must be a Tensor (got number)",
      nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 1), z(1, 1, 4), z(1, 1, 4), 3},
    {"norm_first must be a boolean (got number)", nn.TransformerEncoderLayer, 4, 2,
      {norm_first = 1}},
    {"TransformerEncoder: norm must be a function (got number)", nn.TransformerEncoder,
      nn.TransformerEncoderLayer(4, 2, 8), 1, 3},
    {"TransformerEncoder: num_layers must be an integer (got number)", nn.TransformerEncoder,
      nn.TransformerEncoderLayer(4, 2, 8), 1.5},
    {"Transformer: custom_decoder must be a function (got string)", nn.Transformer, 4, 2, 1, 1, 8,
      {custom_decoder = "mine"}},
    {"TransformerEncoder: encoder_layer must be an nn.Module (got number)", nn.TransformerEncoder,
      4, 2},
    {"TransformerEncoderLayer: src must be a Tensor (got nil)",
      nn.TransformerEncoderLayer(4, 2, 8)},
    {"only bool and floating types of src_key_padding_mask are supported (got int64)",
      nn.TransformerEncoderLayer(4, 2, 8), z(2, 4), nil, z(2):long(), n = 5},
    {"in layers.0.self_attn (MultiheadAttention): ",
      nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1), z(2, 3)},
    {"TransformerDecoderLayer: memory must be a Tensor (got nil)",
      nn.TransformerDecoderLayer(4, 2, 8), z(2, 4)},
    {"the batch number of src and tgt must be equal", nn.Transformer(4, 2, 1, 1, 8), z(2, 1, 4),
      z(2, 2, 4)},
    {"the feature number of src and tgt must be equal to d_model", nn.Transformer(4, 2, 1, 1, 8),
      z(2, 4), z(2, 3)},
    {"generate_square_subsequent_mask: sz must be an integer of at least 0 (got -1)",
      nn.Transformer.generate_square_subsequent_mask, -1},
    {"p must be between 0 and 1 (got 1.5)", attend, z(2, 2), z(2, 2), z(2, 2), nil, 1.5, n = 7},
  }
end

describe("attention refuses", function()
  for title, check in parity.refusals(refusals()) do it(title, check) end
end)
