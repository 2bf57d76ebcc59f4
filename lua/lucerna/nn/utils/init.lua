-- lucerna.nn.utils: what torch.nn.utils has. One file a topic; those with a name of their own in
-- PyTorch (rnn, prune, parametrize, …) are submodules, loaded when they are first asked for.

local later = require "lucerna.later"

local utils = {}

local TOPICS = {
  "clip_grad", "convert_parameters", "fusion", "skip_init", "spectral_norm", "weight_norm",
}
for _, topic in ipairs(TOPICS) do
  for name, value in pairs(require("lucerna.nn.utils." .. topic)) do utils[name] = value end
end

return later(utils, "lucerna.nn.utils.",
  {"parametrizations", "parametrize", "prune", "rnn", "stateless"})
