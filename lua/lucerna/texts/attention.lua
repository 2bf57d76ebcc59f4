-- Attention and transformers.
return { title = "Attention",
{"nn.MultiheadAttention", [=[
Attention of num_heads heads over projections of query, key and value. query [L, N, E], key [S, N,
kdim], value [S, N, vdim] ([N, L, E] … with batch_first; without N unbatched) -> output [L, N, E],
and the weights [N, L, S] (averaged over the heads, or [N, heads, L, S]) unless need_weights =
false.
key_padding_mask [N, S] and attn_mask [L, S] or [N·heads, L, S]: true means NOT attended, floats
are added. is_causal needs attn_mask. State: in_proj_weight [3E, E] (or q_, k_, v_proj_weight),
in_proj_bias [3E], bias_k, bias_v [1, 1, E], out_proj. Vaswani et al., arXiv:1706.03762.
> local m = nn.MultiheadAttention(8, 2)
> local x = lucerna.randn(5, 3, 8)
> local y, weights = m(x, x, x)    -- [5, 3, 8], [3, 5, 5]]=]},
{"F.multi_head_attention_forward", [=[
> local m, x = nn.MultiheadAttention(8, 2), lucerna.randn(5, 3, 8)
> local y = F.multi_head_attention_forward(x, x, x, 8, 2, m.in_proj_weight, m.in_proj_bias, nil,
>   nil, false, 0, m.out_proj.weight, m.out_proj.bias)    -- [5, 3, 8]]=]},
{"nn.TransformerEncoderLayer nn.TransformerEncoder", [=[
Vaswani et al., arXiv:1706.03762. src [L, N, E] ([N, L, E] with batch_first, [L, E] unbatched) gives
the same shape. Masks as MultiheadAttention's.
> local layer = nn.TransformerEncoderLayer(8, 2, {dim_feedforward = 16, batch_first = true})
> local y = nn.TransformerEncoder(layer, 2)(lucerna.randn(3, 5, 8))    -- [3, 5, 8]]=]},
{"nn.TransformerDecoderLayer nn.TransformerDecoder", [=[
tgt [L, N, E] and memory [S, N, E] give [L, N, E]. Masks as MultiheadAttention's.
> local layer = nn.TransformerDecoderLayer(8, 2, {dim_feedforward = 16})
> local decoder = nn.TransformerDecoder(layer, 2)
> local y = decoder(lucerna.randn(4, 3, 8), lucerna.randn(6, 3, 8))    -- [4, 3, 8]]=]},
{"nn.Transformer", [=[
src [S, N, E], tgt [L, N, E] give [L, N, E]. nn.Transformer.generate_square_subsequent_mask(n) is
the causal mask [n, n]: 0 where attended, -∞ elsewhere. Vaswani et al., arXiv:1706.03762.
> local m = nn.Transformer{d_model = 8, nhead = 2, num_encoder_layers = 1, num_decoder_layers = 1,
>   dim_feedforward = 16}
> local mask = nn.Transformer.generate_square_subsequent_mask(4)
> local y = m(lucerna.randn(6, 3, 8), lucerna.randn(4, 3, 8), {tgt_mask = mask})]=]},
{"F.scaled_dot_product_attention", [=[
softmax(q k^T · scale + mask) v, without the matrix of scores in memory. query [N, …, L, E], key
[N, …, S, E], value [N, …, S, E_v] -> [N, …, L, E_v]. A bool mask: true is attended; a float
mask is added. is_causal keeps key j for query i where j <= i, and excludes a mask. scale is 1/√E
if not given; dropout_p acts whenever it is not 0; enable_gqa repeats the heads of key and value. A
query that may attend to nothing gets zeros.
> local q = lucerna.randn(2, 4, 6, 8)
> local y = F.scaled_dot_product_attention(q, q, q, {is_causal = true})    -- [2, 4, 6, 8]]=]},
{"nn.attention.bias.causal_upper_left nn.attention.bias.causal_lower_right", [=[
> local q, k = lucerna.randn(1, 1, 2, 8), lucerna.randn(1, 1, 5, 8)
> local mask = nn.attention.bias.causal_lower_right(2, 5)
> local y = F.scaled_dot_product_attention(q, k, k, {attn_mask = mask})    -- [1, 1, 2, 8]]=]},
{"nn.attention.flex_attention.flex_attention", [=[
> local flex_attention = nn.attention.flex_attention.flex_attention
> local q = lucerna.randn(1, 2, 6, 8)
> local y = flex_attention(q, q, q, {score_mod = function(score, batch, head, query, key)
>   return score - (query - key):abs() / head    -- the farther, the less; head by head
> end})]=]},
{"nn.attention.flex_attention.create_block_mask nn.attention.flex_attention.create_mask \
nn.attention.flex_attention.and_masks nn.attention.flex_attention.or_masks \
nn.attention.flex_attention.noop_mask", [=[
> local flex, q = nn.attention.flex_attention, lucerna.randn(1, 2, 6, 8)
> local function causal(batch, head, query, key) return query:ge(key) end
> local function near(batch, head, query, key) return (query - key):lt(3) end
> local mask = flex.create_block_mask(flex.and_masks(causal, near), nil, nil, 6, 6)
> local y = flex.flex_attention(q, q, q, {block_mask = mask})]=]},
{"nn.attention.sdpa_kernel", [=[
> local attention, q = nn.attention, lucerna.randn(1, 1, 2, 8)
> local _ <close> = attention.sdpa_kernel(attention.SDPBackend.MATH)
> local y = F.scaled_dot_product_attention(q, q, q)]=]},
}
