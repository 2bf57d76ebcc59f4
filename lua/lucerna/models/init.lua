-- lucerna.models: nets that many programs begin with, by torchvision's and Hugging Face's names, so
-- that their checkpoints load: parameters are called, shaped and initialized as there (one seed
-- gives the same numbers). A file a family, gathered here. Functions call their class in
-- parentheses: a tail call would leave nothing of them for errors to name.

local models = {}

for _, family in ipairs {"resnet", "vgg", "mobilenet", "vision_transformer",
  "gpt2"} do
  for name, value in pairs(require("lucerna.models." .. family)) do models[name] = value end
end

return models
