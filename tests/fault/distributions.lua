-- What the out-of-memory sweep runs with distributions: samples whose draws have tensors as
-- parameters, and their gradients. Returns the scenario as a function.
local lucerna = require "lucerna"
local D = lucerna.distributions

local function scenario()
  local a = lucerna.tensor({0.5, 2, 12}, {requires_grad = true})
  for _, d in ipairs {D.Gamma(a, 1), D.Dirichlet(a), D.StudentT(a), D.LogNormal(0, a)} do
    local value = d:rsample(2)
    d:log_prob(value:detach()):sum():backward({retain_graph = true})
    value:sum():backward()
  end
  local p = lucerna.tensor {0.25, 0.5, 0.75}
  for _, d in ipairs {D.Poisson(a:detach()), D.Binomial(40, p), D.Categorical(p)} do
    d:log_prob(d:sample(2))
  end
  assert(not pcall(D.Normal, a, -a))
  D.kl_divergence(D.Gamma(a, 1), D.Gamma(1, a)):sum():backward()
end

return scenario
