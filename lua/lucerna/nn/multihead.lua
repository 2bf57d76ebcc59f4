-- What MultiheadAttention has in Lua besides its C part: sizes that follow from others, and
-- _reset_parameters.

local core = require("lucerna.core").nn

local Multihead = {}

Multihead.head_dim = core.property(function(self) return self.embed_dim // self.num_heads end)

Multihead._qkv_same_embed_dim = core.property(function(self)
  return self.kdim == self.embed_dim and self.vdim == self.embed_dim
end)

--- _reset_parameters(): in-projections by xavier_uniform_, biases 0, bias_k and bias_v by
-- xavier_normal_.
function Multihead:_reset_parameters()
  local init = require "lucerna.nn.init"
  for _, name in ipairs { "in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight" } do
    if self[name] then init.xavier_uniform_(self[name]) end
  end
  if self.in_proj_bias then
    init.zeros_(self.in_proj_bias)
    init.zeros_(self.out_proj.bias)
  end
  if self.bias_k then init.xavier_normal_(self.bias_k) end
  if self.bias_v then init.xavier_normal_(self.bias_v) end
end

return Multihead
