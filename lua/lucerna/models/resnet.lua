-- Residual nets (He et al., 2015; torchvision.models.resnet): blocks add what they compute to what
-- they were given. Modules are made in torchvision's order, which is the order of random numbers.

local nn = require "lucerna.nn"
local core = require "lucerna.core"
local arguments = require "lucerna.arguments"
local sizes = require "lucerna.models.sizes"

local init, fail = nn.init, core._fail
local resnet = {}

local function conv3x3(inputs, outputs, stride, groups, dilation)
  return nn.Conv2d(inputs, outputs, 3, {stride = stride, padding = dilation, groups = groups,
    bias = false, dilation = dilation})
end

local function conv1x1(inputs, outputs, stride)
  return nn.Conv2d(inputs, outputs, 1, {stride = stride, bias = false})
end

local BLOCK = {"inplanes", "planes", "stride", "downsample", "groups", "base_width", "dilation",
  "norm_layer"}

-- ---- the block of resnet18 and resnet34 ----

local BasicBlock = nn.class("BasicBlock")
resnet.BasicBlock = BasicBlock
BasicBlock.expansion = 1

--- BasicBlock(inplanes, planes, {stride=1, downsample=, norm_layer=nn.BatchNorm2d}): two 3x3
-- convolutions, [N, inplanes, H, W] -> [N, planes, H / stride, W / stride]. downsample makes the
-- input fit the sum where shapes differ.
function BasicBlock:__init(...)
  local inplanes, planes, stride, downsample, groups, base_width, dilation, norm_layer =
    arguments("BasicBlock", BLOCK, ...)
  if (groups or 1) ~= 1 or (base_width or 64) ~= 64 then
    fail("BasicBlock only supports groups=1 and base_width=64")
  end
  if (dilation or 1) > 1 then fail("Dilation > 1 not supported in BasicBlock") end
  norm_layer = norm_layer or nn.BatchNorm2d
  self.conv1 = conv3x3(inplanes, planes, stride or 1, 1, 1)
  self.bn1 = norm_layer(planes)
  self.relu = nn.ReLU {inplace = true}
  self.conv2 = conv3x3(planes, planes, 1, 1, 1)
  self.bn2 = norm_layer(planes)
  self.downsample = downsample
  self.stride = stride or 1
end

function BasicBlock:forward(x)
  local out = self.relu(self.bn1(self.conv1(x)))
  out = self.bn2(self.conv2(out))
  local downsample = self.downsample
  return self.relu(out + (downsample and downsample(x) or x))
end

-- ---- the block of resnet50 ----

local Bottleneck = nn.class("Bottleneck")
resnet.Bottleneck = Bottleneck
Bottleneck.expansion = 4

--- Bottleneck(inplanes, planes, {stride=1, downsample=, groups=1, base_width=64, dilation=1,
-- norm_layer=nn.BatchNorm2d}): a 3x3 convolution of few channels between two 1x1 convolutions,
-- [N, inplanes, H, W] -> [N, 4 * planes, H / stride, W / stride].
function Bottleneck:__init(...)
  local inplanes, planes, stride, downsample, groups, base_width, dilation, norm_layer =
    arguments("Bottleneck", BLOCK, ...)
  norm_layer, groups, stride = norm_layer or nn.BatchNorm2d, groups or 1, stride or 1
  local width = math.floor(planes * ((base_width or 64) / 64)) * groups
  self.conv1 = conv1x1(inplanes, width, 1)
  self.bn1 = norm_layer(width)
  self.conv2 = conv3x3(width, width, stride, groups, dilation or 1)
  self.bn2 = norm_layer(width)
  self.conv3 = conv1x1(width, planes * self.expansion, 1)
  self.bn3 = norm_layer(planes * self.expansion)
  self.relu = nn.ReLU {inplace = true}
  self.downsample = downsample
  self.stride = stride
end

function Bottleneck:forward(x)
  local out = self.relu(self.bn1(self.conv1(x)))
  out = self.relu(self.bn2(self.conv2(out)))
  out = self.bn3(self.conv3(out))
  local downsample = self.downsample
  return self.relu(out + (downsample and downsample(x) or x))
end

-- ---- the net ----

local ResNet = nn.class("ResNet")
resnet.ResNet = ResNet

local OPTIONS = {"block", "layers", "num_classes", "zero_init_residual", "groups",
  "width_per_group", "replace_stride_with_dilation", "norm_layer", options = 3}
local SIZES = {"num_classes", "groups", "width_per_group"}

-- A stage of `count` blocks. `at` has what the last one left: inplanes and dilation.
local function make_layer(at, planes, count, stride, dilate)
  local block, norm_layer = at.block, at.norm_layer
  local outputs, dilation, downsample = planes * block.expansion, at.dilation, nil
  if dilate then at.dilation, stride = at.dilation * stride, 1 end
  if stride ~= 1 or at.inplanes ~= outputs then
    downsample = nn.Sequential(conv1x1(at.inplanes, outputs, stride), norm_layer(outputs))
  end
  local layers = {}
  for i = 1, count do
    layers[i] = block(i == 1 and at.inplanes or outputs, planes, {
      stride = i == 1 and stride or 1, downsample = i == 1 and downsample or nil,
      groups = at.groups, base_width = at.base_width,
      dilation = i == 1 and dilation or at.dilation, norm_layer = norm_layer})
  end
  at.inplanes = outputs
  return nn.Sequential(table.unpack(layers))
end

local function initialize(net, zero_init_residual)
  for m in net:modules() do
    if nn.isinstance(m, nn.Conv2d) then
      init.kaiming_normal_(m.weight, {mode = "fan_out", nonlinearity = "relu"})
    elseif nn.isinstance(m, nn.BatchNorm2d) or nn.isinstance(m, nn.GroupNorm) then
      init.constant_(m.weight, 1)
      init.constant_(m.bias, 0)
    end
  end
  if not zero_init_residual then return end
  for m in net:modules() do
    local last = nn.isinstance(m, Bottleneck) and m.bn3 or nn.isinstance(m, BasicBlock) and m.bn2
    if last and last.weight then init.constant_(last.weight, 0) end
  end
end

--- ResNet(block, layers, {num_classes=1000, zero_init_residual=false, groups=1, width_per_group=64,
-- replace_stride_with_dilation={false, false, false}, norm_layer=nn.BatchNorm2d}): four stages of
-- layers[i] blocks, [N, 3, H, W] -> [N, num_classes]. zero_init_residual: every block begins as the
-- identity. groups and width_per_group make ResNeXt (32, 4) and wide nets (1, 128) of Bottlenecks.
function ResNet:__init(...)
  local block, layers, num_classes, zero_init_residual, groups, width_per_group, replace, norm =
    arguments("ResNet", OPTIONS, ...)
  if replace ~= nil and (type(replace) ~= "table" or #replace ~= 3) then
    fail("replace_stride_with_dilation should be None or a 3-element tuple")
  end
  if not core.nn.is_class(block) then
    fail("ResNet: block must be a class (got %s)", type(block))
  end
  if type(layers) ~= "table" or #layers ~= 4 then
    fail("ResNet: layers must be an array of four numbers of blocks")
  end
  num_classes, groups, width_per_group = num_classes or 1000, groups or 1, width_per_group or 64
  sizes("ResNet", SIZES, num_classes, groups, width_per_group)
  replace = replace or {}
  local at = {block = block, inplanes = 64, dilation = 1, groups = groups,
    base_width = width_per_group, norm_layer = norm or nn.BatchNorm2d}
  self.conv1 = nn.Conv2d(3, 64, 7, {stride = 2, padding = 3, bias = false})
  self.bn1 = at.norm_layer(64)
  self.relu = nn.ReLU {inplace = true}
  self.maxpool = nn.MaxPool2d(3, {stride = 2, padding = 1})
  self.layer1 = make_layer(at, 64, layers[1], 1, false)
  self.layer2 = make_layer(at, 128, layers[2], 2, replace[1])
  self.layer3 = make_layer(at, 256, layers[3], 2, replace[2])
  self.layer4 = make_layer(at, 512, layers[4], 2, replace[3])
  self.avgpool = nn.AdaptiveAvgPool2d {1, 1}
  self.fc = nn.Linear(at.inplanes, num_classes)
  initialize(self, zero_init_residual)
end

function ResNet:forward(x)
  x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
  x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
  return self.fc(self.avgpool(x):flatten(2))
end

--- resnet18({options of ResNet}): 18 layers, 11,689,512 parameters.
function resnet.resnet18(...) return (ResNet(BasicBlock, {2, 2, 2, 2}, ...)) end

--- resnet34({options of ResNet}): 34 layers, 21,797,672 parameters.
function resnet.resnet34(...) return (ResNet(BasicBlock, {3, 4, 6, 3}, ...)) end

--- resnet50({options of ResNet}): 50 layers, 25,557,032 parameters.
function resnet.resnet50(...) return (ResNet(Bottleneck, {3, 4, 6, 3}, ...)) end

return resnet
