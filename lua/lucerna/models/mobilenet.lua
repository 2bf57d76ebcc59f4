-- MobileNetV2 (Sandler et al., 2018; torchvision.models.mobilenet_v2): cheap convolutions, one
-- channel each, between 1x1 convolutions that widen and narrow.

local nn = require "lucerna.nn"
local fail = require("lucerna.core")._fail
local arguments = require "lucerna.arguments"
local sizes = require "lucerna.models.sizes"

local init, F = nn.init, nn.functional
local mobilenet = {}

-- The multiple of `divisor` next to v, but not below nine tenths of v.
local function make_divisible(v, divisor)
  local rounded = math.max(divisor, math.floor(v + divisor / 2) // divisor * divisor)
  return rounded < 0.9 * v and rounded + divisor or rounded
end

-- Convolution, normalization and ReLU6, in torchvision's class of that name.
local Conv2dNormActivation = nn.class("Conv2dNormActivation", nn.Sequential)

function Conv2dNormActivation:__init(inputs, outputs, kernel, stride, groups, norm_layer)
  nn.Sequential.__init(self,
    nn.Conv2d(inputs, outputs, kernel, {stride = stride, padding = (kernel - 1) // 2,
      groups = groups, bias = false}),
    norm_layer(outputs), nn.ReLU6 {inplace = true})
  self.out_channels = outputs
end

local InvertedResidual = nn.class("InvertedResidual")

function InvertedResidual:__init(inputs, outputs, stride, expand_ratio, norm_layer)
  local hidden = inputs * expand_ratio
  local layers = {}
  if expand_ratio ~= 1 then
    layers[1] = Conv2dNormActivation(inputs, hidden, 1, 1, 1, norm_layer)
  end
  layers[#layers + 1] = Conv2dNormActivation(hidden, hidden, 3, stride, hidden, norm_layer)
  layers[#layers + 1] = nn.Conv2d(hidden, outputs, 1, {bias = false})
  layers[#layers + 1] = norm_layer(outputs)
  self.stride, self.out_channels = stride, outputs
  self.use_res_connect = stride == 1 and inputs == outputs
  self.conv = nn.Sequential(table.unpack(layers))
end

function InvertedResidual:forward(x)
  if self.use_res_connect then return x + self.conv(x) end
  return self.conv(x)
end

-- Expansion, channels, number of blocks, stride of the first.
local SETTING = {
  {1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
  {6, 320, 1, 1},
}

local function make_features(setting, width_mult, round_nearest, last, norm_layer)
  local channels = make_divisible(32 * width_mult, round_nearest)
  local features = {Conv2dNormActivation(3, channels, 3, 2, 1, norm_layer)}
  for _, row in ipairs(setting) do
    local outputs = make_divisible(row[2] * width_mult, round_nearest)
    for i = 1, row[3] do
      features[#features + 1] =
        InvertedResidual(channels, outputs, i == 1 and row[4] or 1, row[1], norm_layer)
      channels = outputs
    end
  end
  features[#features + 1] = Conv2dNormActivation(channels, last, 1, 1, 1, norm_layer)
  return nn.Sequential(table.unpack(features))
end

local function initialize(net)
  for m in net:modules() do
    if nn.isinstance(m, nn.Conv2d) then
      init.kaiming_normal_(m.weight, {mode = "fan_out"})
      if m.bias then init.zeros_(m.bias) end
    elseif nn.isinstance(m, nn.BatchNorm2d) or nn.isinstance(m, nn.GroupNorm) then
      init.ones_(m.weight)
      init.zeros_(m.bias)
    elseif nn.isinstance(m, nn.Linear) then
      init.normal_(m.weight, 0, 0.01)
      init.zeros_(m.bias)
    end
  end
end

local MobileNetV2 = nn.class("MobileNetV2")
mobilenet.MobileNetV2 = MobileNetV2

local OPTIONS = {"num_classes", "width_mult", "inverted_residual_setting", "round_nearest",
  "norm_layer", "dropout", options = 1}

--- MobileNetV2{num_classes=1000, width_mult=1, inverted_residual_setting=, round_nearest=8,
-- norm_layer=nn.BatchNorm2d, dropout=0.2}: [N, 3, H, W] -> [N, num_classes]. width_mult scales the
-- channels, rounded to multiples of round_nearest; the setting is a list of rows {expansion,
-- channels, number of blocks, stride of the first}.
function MobileNetV2:__init(...)
  local num_classes, width_mult, setting, round_nearest, norm_layer, dropout =
    arguments("MobileNetV2", OPTIONS, ...)
  num_classes = num_classes or 1000
  width_mult, round_nearest = width_mult or 1, round_nearest or 8
  sizes("MobileNetV2", {"num_classes", "round_nearest"}, num_classes, round_nearest)
  if math.type(width_mult) == nil or width_mult <= 0 then
    fail("MobileNetV2: width_mult must be a number above 0 (got %s)", width_mult)
  end
  setting = setting or SETTING
  if type(setting) ~= "table" or type(setting[1]) ~= "table" or #setting[1] ~= 4 then
    fail("MobileNetV2: inverted_residual_setting should be non-empty or a 4-element list")
  end
  self.last_channel = make_divisible(1280 * math.max(1, width_mult), round_nearest)
  self.features = make_features(setting, width_mult, round_nearest, self.last_channel,
    norm_layer or nn.BatchNorm2d)
  self.classifier = nn.Sequential(nn.Dropout(dropout or 0.2),
    nn.Linear(self.last_channel, num_classes))
  initialize(self)
end

function MobileNetV2:forward(x)
  x = F.adaptive_avg_pool2d(self.features(x), {1, 1})
  return self.classifier(x:flatten(2))
end

--- mobilenet_v2({options of MobileNetV2}): 3,504,872 parameters.
function mobilenet.mobilenet_v2(...) return (MobileNetV2(...)) end

return mobilenet
