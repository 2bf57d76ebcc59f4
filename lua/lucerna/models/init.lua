-- lucerna.models: nets that many programs begin with, by torchvision's and Hugging Face's names, so
-- that their checkpoints load: parameters are called, shaped and initialized as there (one seed
-- gives the same numbers). A file a family, read when one of its names is asked for.

local FAMILIES = {
  resnet = {"ResNet", "BasicBlock", "Bottleneck", "resnet18", "resnet34", "resnet50"},
  vgg = {"VGG", "vgg11", "vgg11_bn"},
  mobilenet = {"MobileNetV2", "mobilenet_v2"},
  gpt2 = {"GPT2", "gpt2"},
}

local family_of = {}
for family, names in pairs(FAMILIES) do
  for _, name in ipairs(names) do family_of[name] = family end
end

local models = {}

local function load_family(family)
  for name, value in pairs(require("lucerna.models." .. family)) do models[name] = value end
end

-- For completion and help: everything, read.
local function names_of()
  for family in pairs(FAMILIES) do load_family(family) end
  local names = {}
  for name in pairs(family_of) do names[#names + 1] = name end
  return names
end

return setmetatable(models, {
  __names = names_of,
  __index = function(_, name)
    local family = family_of[name]
    if not family then return nil end
    load_family(family)
    return rawget(models, name)
  end,
})
