-- lucerna.nn.attention.bias: causal masks for queries and keys of different lengths.

local lucerna = require "lucerna"
local core = require "lucerna.core"

local bias = {}

--- Which corners a causal mask joins.
bias.CausalVariant = { UPPER_LEFT = 1, LOWER_RIGHT = 2 }

local function triangle(who, shift, rows, columns, ...)
  if math.type(rows) ~= "integer" or math.type(columns) ~= "integer" or select("#", ...) > 0 then
    core._fail("%s: only supports 2D tensors (two integers)", who)
  end
  return lucerna.ones(rows, columns, { dtype = lucerna.bool }):tril(shift and columns - rows or 0)
end

--- causal_upper_left(queries, keys): a mask for scaled_dot_product_attention in which query i sees
-- keys 1 to i.
function bias.causal_upper_left(...) return triangle("causal_upper_left", false, ...) end

--- causal_lower_right(queries, keys): a mask in which the last query sees all keys, the one before
-- it all but the last, and so on.
function bias.causal_lower_right(...) return triangle("causal_lower_right", true, ...) end

return bias
