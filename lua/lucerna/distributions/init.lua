-- lucerna.distributions: probability distributions over operators (torch.distributions). Samples,
-- densities and what is known of them, with gradients to the parameters; a file a family.

local base = require "lucerna.distributions.base"
local kl = require "lucerna.distributions.kl_extreme"
local registry = require "lucerna.distributions.registry"

local distributions = {
  class = base.class,
  Distribution = base.Distribution,
  ExponentialFamily = base.ExponentialFamily,
  constraints = require "lucerna.distributions.constraints",
  transforms = require "lucerna.distributions.transforms_parts",
  kl_divergence = kl.kl_divergence,
  register_kl = kl.register_kl,
  biject_to = registry.biject_to,
  transform_to = registry.transform_to,
}

local FAMILIES = {"normal", "discrete", "gamma", "counts", "composed", "extreme", "relaxed",
  "mixture", "multivariate_normal", "low_rank", "matrices", "continuous_bernoulli", "circular"}

for _, family in ipairs(FAMILIES) do
  for name, value in pairs(require("lucerna.distributions." .. family)) do
    if name:find("^%u") then distributions[name] = value end
  end
end

-- PyTorch has the transforms here, too.
for name, value in pairs(distributions.transforms) do
  if name:find("Transform$") or name == "identity_transform" then distributions[name] = value end
end

return distributions
