-- What the out-of-memory sweep runs with recurrent layers: packed and projected, by the kernel and,
-- where the gradient is recorded, in operators. Returns the scenario as a function.
local lucerna = require "lucerna"
local nn = lucerna.nn
local rnn = require "lucerna.nn.utils.rnn"

return function()
  for _, class in ipairs { "RNN", "GRU", "LSTM" } do
    local proj = class == "LSTM" and 2 or nil
    local m = nn[class](2, 3, { bidirectional = true, proj_size = proj })
    local x = rnn.pack_sequence { lucerna.rand(3, 2), lucerna.rand(1, 2) }
    x.data:requires_grad_()
    local y, state = m(x)
    if class == "LSTM" then state = state[1] + state[2]:sum() end
    local sum = y.data:pow(2):sum() + state:sum()
    local g = lucerna.autograd.grad(sum, x.data, nil, { create_graph = true })
    sum = sum + g:sum()
    sum:backward()
    lucerna.no_grad(m, lucerna.rand(40, 8, 2))
    m = nn[class](2, 32):bfloat16() -- by pairs
    m(lucerna.rand(2, 2, 2):bfloat16()):sum():backward()
  end
end
