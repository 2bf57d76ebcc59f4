-- Attention: the function beside PyTorch's formula, its blocks and their memory.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"
local F = lucerna.nn.functional

describe("scaled_dot_product_attention answers as PyTorch's:", function()
  for i, case in ipairs(parity.load "functional_attention") do
    it(("%s (%d)"):format(case.name, i), function()
      cases.run(case, {})
      cases.run(case, {view = true})
      if case.grads then cases.check_derivatives(case) end
    end)
  end
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

describe("attention in blocks", function()
  local double = {dtype = lucerna.float64}
  local masks = {
    none = function() end,
    causal = function() return nil, true end,
    bool = function() return lucerna.rand(150, 210):gt(0.3) end,
    ["bool, of every item"] = function() return lucerna.rand(2, 1, 1, 210):gt(0.3) end,
    float = function() return lucerna.randn(3, 150, 1, double) end,
  }
  for name, make in pairs(masks) do
    it("gives what the whole matrix of scores gives: " .. name, function()
      lucerna.manual_seed(3)
      local inputs = {parity.leaf {2, 3, 150, 5}, parity.leaf {2, 3, 210, 5},
        parity.leaf {2, 3, 210, 9}}
      local q, k, v = table.unpack(inputs)
      local mask, causal = make()
      local got = F.scaled_dot_product_attention(q, k, v, mask, 0, causal)
      local want = by_scores(q, k, v, mask, causal)
      parity.close(got, want)
      local options = {grad_outputs = lucerna.randn(got.shape, double)}
      local gradients = {lucerna.autograd.grad(want, inputs, options)}
      for i, g in ipairs {lucerna.autograd.grad(got, inputs, options)} do
        parity.close(g, gradients[i], {atol = 1e-9}, "gradient " .. i)
      end
    end)
  end

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

  it("gives half precision its own dtype back", function()
    local x = lucerna.randn(3, 4)
    local y = F.scaled_dot_product_attention(x:half(), x:half(), x:half(), lucerna.zeros(3, 3))
    assert.are.equal(lucerna.float16, y.dtype)
    parity.close(y:float(), F.scaled_dot_product_attention(x, x, x), {atol = 5e-3, rtol = 5e-3})
  end)
end)

-- {text of the message, function, arguments…}
local function refusals()
  local function z(...) return lucerna.zeros(...) end
  local attend = F.scaled_dot_product_attention
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
    {"p must be between 0 and 1 (got 1.5)", attend, z(2, 2), z(2, 2), z(2, 2), nil, 1.5, n = 7},
  }
end

describe("attention refuses", function()
  for _, refusal in ipairs(refusals()) do
    it(refusal[1], function()
      local ok, message = pcall(table.unpack(refusal, 2, refusal.n or #refusal))
      assert.is_false(ok)
      assert(message:find(refusal[1], 1, true), message)
      assert(not message:find("\n"), message)
    end)
  end
end)
