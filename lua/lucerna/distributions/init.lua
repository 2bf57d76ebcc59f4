-- lucerna.distributions: probability distributions over operators (torch.distributions). Samples,
-- densities and what is known of them, with gradients to the parameters; a file a family.

local base = require "lucerna.distributions.base"
local kl = require "lucerna.distributions.kl"

local distributions = {
  class = base.class,
  Distribution = base.Distribution,
  constraints = require "lucerna.distributions.constraints",
  transforms = require "lucerna.distributions.transforms",
  kl_divergence = kl.kl_divergence,
  register_kl = kl.register_kl,
}

for _, family in ipairs {"normal", "discrete", "gamma", "counts", "composed"} do
  for name, value in pairs(require("lucerna.distributions." .. family)) do
    if name:find("^%u") then distributions[name] = value end
  end
end

return distributions
