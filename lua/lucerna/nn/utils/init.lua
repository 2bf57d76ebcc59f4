-- lucerna.nn.utils: what torch.nn.utils has. One file a topic; those with a name of their own in
-- PyTorch (rnn, prune, parametrize, …) are submodules, loaded when they are first asked for.

local utils = {}

local TOPICS = {
  "clip_grad", "convert_parameters", "fusion", "skip_init", "spectral_norm", "weight_norm",
}
for _, topic in ipairs(TOPICS) do
  for name, value in pairs(require("lucerna.nn.utils." .. topic)) do utils[name] = value end
end

local SUBMODULES = {
  parametrizations = true, parametrize = true, prune = true, rnn = true, stateless = true,
}

local function lazy_names()
  local names = {}
  for name in pairs(SUBMODULES) do names[#names + 1] = name end
  return names
end

return setmetatable(utils, {
  __names = lazy_names,
  __index = function(_, name)
    if not SUBMODULES[name] then return nil end
    utils[name] = require("lucerna.nn.utils." .. name)
    return utils[name]
  end,
})
