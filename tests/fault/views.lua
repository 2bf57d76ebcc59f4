-- What the out-of-memory sweep runs of views: in place, their errors, scattering, elements through
-- Lua functions, the objects of the graph. Returns the scenario as a function.
local lucerna = require "lucerna"

local function scenario()
  local w = lucerna.rand(2, 3):requires_grad_()
  local y = w * 2
  local part = y[{{}, {1, 2}}]
  y:transpose_(1, 2):unsqueeze_(1):squeeze_(1)
  part:t_():mul_(3)
  y:tensor_split(2)[1]:add_(1)
  local sinc = (w * 1):sinc_():addr_(lucerna.ones(2), lucerna.ones(3))
  assert(not pcall(function() y:unbind()[1]:add_(1) end))
  local index = lucerna.tensor {{1, 2, 1}, {2, 2, 1}}
  local sums = w:scatter_reduce(1, index, y:t() + 1, "prod", {include_self = false})
    + w:index_reduce(1, lucerna.tensor {2, 1}, sinc, "amax")
  sums:sum():backward()
  local names = {}
  for _, edge in ipairs(sums.grad_fn.next_functions) do names[#names + 1] = edge[1]:name() end
  assert(#names == 2)
  local x = lucerna.arange(6.0)
  assert(#lucerna.combinations(x, 2) == 15 and #lucerna.where(x) == 1)
  x:resize_(8):fill_(1):apply_(function(v) return v + 1 end):map_(x, math.max)
  x:set_(lucerna.zeros(2, 2))
  x:slice_scatter(lucerna.ones(1, 2), 1, 2)
  lucerna.range(1, 3):detach_():index_put_({lucerna.tensor {1, 1}}, lucerna.ones(2),
    {accumulate = true})
  local at = lucerna.tensor {2, 1}
  at:index_fill_(1, at, 1) -- its positions are copied before they are written
  lucerna.tensordot(x, x, {{1}, {2}})
  local row = lucerna.tensor {1.5, 2.5} -- converted once, or as often as it comes
  assert(lucerna.zeros(200, 2):half():copy_(row)[200][2]:item() == 2.5)
  local turned = lucerna.zeros(3, 40):t():index_put({at}, lucerna.ones(3, 2):t(), true)
  assert(turned:sum():item() == 6)
  local columns = lucerna.ones(4, 1100, 2):softmax(2)
  assert(math.abs(columns[4][1100][2]:item() * 1100 - 1) < 1e-5)
  assert(lucerna.zeros(3, 5):logcumsumexp(1)[1][5]:item() == 0)
  lucerna.empty_strided({2, 2}, {1, 3})
end

return scenario
