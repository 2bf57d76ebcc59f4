-- VGG nets (Simonyan and Zisserman, 2014; torchvision.models.vgg): 3x3 convolutions and pooling,
-- then three wide linear layers.

local nn = require "lucerna.nn"
local arguments = require "lucerna.arguments"
local sizes = require "lucerna.models.sizes"

local init = nn.init
local vgg = {}

-- Channels of the convolutions; "M" is pooling.
local A = {64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"}

local function make_features(plan, batch_norm)
  local layers, channels = {}, 3
  for _, step in ipairs(plan) do
    if step == "M" then
      layers[#layers + 1] = nn.MaxPool2d(2, {stride = 2})
    else
      layers[#layers + 1] = nn.Conv2d(channels, step, 3, {padding = 1})
      if batch_norm then layers[#layers + 1] = nn.BatchNorm2d(step) end
      layers[#layers + 1] = nn.ReLU {inplace = true}
      channels = step
    end
  end
  return nn.Sequential(table.unpack(layers))
end

local VGG = nn.class("VGG")
vgg.VGG = VGG

local function initialize(net)
  for m in net:modules() do
    if nn.isinstance(m, nn.Conv2d) then
      init.kaiming_normal_(m.weight, {mode = "fan_out", nonlinearity = "relu"})
      init.constant_(m.bias, 0)
    elseif nn.isinstance(m, nn.BatchNorm2d) then
      init.constant_(m.weight, 1)
      init.constant_(m.bias, 0)
    elseif nn.isinstance(m, nn.Linear) then
      init.normal_(m.weight, 0, 0.01)
      init.constant_(m.bias, 0)
    end
  end
end

--- VGG(features, {num_classes=1000, init_weights=true, dropout=0.5}): features makes 512 channels
-- of an image; [N, 3, H, W] -> [N, num_classes].
function VGG:__init(...)
  local features, num_classes, init_weights, dropout =
    arguments("VGG", {"features", "num_classes", "init_weights", "dropout", options = 2}, ...)
  local p = dropout or 0.5
  num_classes = num_classes or 1000
  sizes("VGG", {"num_classes"}, num_classes)
  self.features = features
  self.avgpool = nn.AdaptiveAvgPool2d {7, 7}
  self.classifier = nn.Sequential(
    nn.Linear(512 * 7 * 7, 4096), nn.ReLU {inplace = true}, nn.Dropout(p),
    nn.Linear(4096, 4096), nn.ReLU {inplace = true}, nn.Dropout(p),
    nn.Linear(4096, num_classes))
  if init_weights ~= false then initialize(self) end
end

function VGG:forward(x)
  return self.classifier(self.avgpool(self.features(x)):flatten(2))
end

--- vgg11({options of VGG}): 11 layers, 132,863,336 parameters.
function vgg.vgg11(...) return (VGG(make_features(A, false), ...)) end

--- vgg11_bn({options of VGG}): vgg11 with a BatchNorm2d after each convolution.
function vgg.vgg11_bn(...) return (VGG(make_features(A, true), ...)) end

return vgg
