-- What the out-of-memory sweep runs with attention: in blocks and by scores, with every mask, its
-- gradients, its module and a small Transformer. Returns the scenario as a function.
local lucerna = require "lucerna"
local nn, F = lucerna.nn, lucerna.nn.functional

local function attend()
  local q, k = lucerna.rand(4, 5, 2):requires_grad_(), lucerna.rand(2, 6, 2):requires_grad_()
  local mask = lucerna.rand(5, 6):gt(0.5)
  for _, p in ipairs { 0, 0.5 } do
    local y = F.scaled_dot_product_attention(q, k, k, mask, p, { enable_gqa = true })
    local g = lucerna.autograd.grad(y:sum(), q, { create_graph = true })
    g:sum():backward()
  end
  F.scaled_dot_product_attention(q, k, k, { is_causal = true, enable_gqa = true }):sum():backward()
end

local function multihead()
  local m = nn.MultiheadAttention(4, 2, 0.1, { add_bias_kv = true, add_zero_attn = true, kdim = 3 })
  local q, k, v = lucerna.rand(2, 1, 4), lucerna.rand(3, 1, 3), lucerna.rand(3, 1, 4)
  local padding, mask = lucerna.zeros(1, 3):bool(), lucerna.zeros(2, 3)
  local y, weights = m(q, k, v, padding, { attn_mask = mask })
  local loss = y:sum() + weights:sum()
  loss:backward()
  m:clone()(q, k, v, { need_weights = false }):sum():backward()
end

return function()
  attend()
  multihead()
  local net = nn.Transformer(2, 1, 2, 1, 3)
  local x = lucerna.rand(2, 1, 2)
  net(x, x, { tgt_mask = net:generate_square_subsequent_mask(2) }):sum():backward()
  local other = net:clone()
  other:load_state_dict(net:state_dict())
  assert(tostring(other) == tostring(net))
end
