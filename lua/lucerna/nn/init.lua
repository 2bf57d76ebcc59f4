-- lucerna.nn.init, the initializers (torch.nn.init): each fills a tensor in place, unrecorded, and
-- returns it. Random ones take {generator = …} and draw PyTorch's numbers for the same seed.
-- (lucerna.nn itself is ../nn.lua: this file's name belongs to nn.init.)

local lucerna = require "lucerna"
local fail = require("lucerna.core")._fail
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local shape_text = require "lucerna.shape_text"

local init = {}

local numbers = {a = true, b = true, mean = true, std = true, gain = true}

-- Defines init[name](tensor, …): names are its parameters after the tensor; fill works unrecorded.
local function define(name, names, fill)
  local all = {"tensor", table.unpack(names)}
  all.options = 2
  local checked = {} -- the places of numbers
  for k, parameter in ipairs(names) do
    if numbers[parameter] then checked[#checked + 1] = k end
  end
  local function run(t, ...)
    check.tensor(name, "tensor", t)
    for i = 1, #checked do
      local k = checked[i]
      check.option(name, names[k], (select(k, ...)), "number")
    end
    lucerna.no_grad(fill, t, ...)
    return t
  end
  init[name] = function(...) return run(arguments(name, all, ...)) end
end

-- ---- gains and fans ----

local unit_gain = {linear = true, conv1d = true, conv2d = true, conv3d = true, sigmoid = true,
  conv_transpose1d = true, conv_transpose2d = true, conv_transpose3d = true}

local function gain_of(nonlinearity, param)
  if unit_gain[nonlinearity] then return 1 end
  if nonlinearity == "tanh" then return 5 / 3 end
  if nonlinearity == "relu" then return math.sqrt(2) end
  if nonlinearity == "selu" then return 3 / 4 end
  if nonlinearity == "leaky_relu" then
    if param == nil then param = 0.01 end
    if type(param) ~= "number" then
      fail("calculate_gain: negative_slope %s not a valid number", param)
    end
    return math.sqrt(2 / (1 + param ^ 2))
  end
  fail("calculate_gain: Unsupported nonlinearity %s", nonlinearity)
end

local GAIN = {"nonlinearity", "param"} -- what calculate_gain takes

--- The recommended gain for a nonlinearity: linear, convolutions and sigmoid 1, tanh 5/3, relu √2,
-- leaky_relu √(2 / (1 + param²)) with slope 0.01 by default, selu 3/4.
function init.calculate_gain(...)
  return gain_of(arguments("calculate_gain", GAIN, ...))
end

local function fans(who, t)
  if t:dim() < 2 then
    fail("%s: fan in and fan out can not be computed for tensor with fewer than 2 dimensions "
      .. "(got %s)", who, shape_text(t.shape))
  end
  local receptive = 1
  for d = 3, t:dim() do receptive = receptive * t:size(d) end
  return t:size(2) * receptive, t:size(1) * receptive
end

local function fan_by_mode(who, t, mode)
  mode = mode or "fan_in"
  local lower = type(mode) == "string" and mode:lower()
  if lower ~= "fan_in" and lower ~= "fan_out" then
    fail("%s: Mode %s not supported, please use one of fan_in, fan_out", who, mode)
  end
  local fan_in, fan_out = fans(who, t)
  return lower == "fan_in" and fan_in or fan_out
end

-- ---- constants ----

--- constant_(tensor, val): val everywhere. All initializers write the tensor, unrecorded, and
-- return it.
define("constant_", {"val"}, function(t, val)
  if val == nil then fail("constant_: missing argument 'val'") end
  t:fill_(val)
end)

--- ones_(tensor): 1 everywhere.
define("ones_", {}, function(t) t:fill_(1) end)

--- zeros_(tensor): 0 everywhere.
define("zeros_", {}, function(t) t:zero_() end)

--- eye_(tensor): the identity in a matrix [n, m].
define("eye_", {}, function(t)
  if t:dim() ~= 2 then
    fail("eye_: Only tensors with 2 dimensions are supported (got %s)", shape_text(t.shape))
  end
  t:copy_(lucerna.eye(t:size(1), t:size(2)))
end)

--- dirac_(tensor, groups = 1): a convolution's weight of 3 to 5 dimensions that passes its input
-- channels through.
define("dirac_", {"groups"}, function(t, groups)
  groups = groups or 1
  local dims = t:dim()
  if dims < 3 or dims > 5 then
    fail("dirac_: Only tensors with 3, 4, or 5 dimensions are supported (got %s)",
      shape_text(t.shape))
  end
  if math.type(groups) ~= "integer" or groups < 1 or t:size(1) % groups ~= 0 then
    fail("dirac_: dim 1 must be divisible by groups (got %s, groups %s)", shape_text(t.shape),
      groups)
  end
  t:zero_()
  local out = t:size(1) // groups
  for g = 0, groups - 1 do
    for d = 1, math.min(out, t:size(2)) do
      local place = {g * out + d, d}
      for k = 3, dims do place[k] = t:size(k) // 2 + 1 end
      t[place] = 1
    end
  end
end)

-- ---- random values ----

--- uniform_(tensor, a = 0, b = 1, {generator =}): U(a, b).
define("uniform_", {"a", "b", "generator"}, function(t, a, b, generator)
  t:uniform_(a or 0, b or 1, {generator = generator})
end)

--- normal_(tensor, mean = 0, std = 1, {generator =}): N(mean, std²).
define("normal_", {"mean", "std", "generator"}, function(t, mean, std, generator)
  t:normal_(mean or 0, std or 1, {generator = generator})
end)

-- The distribution function of the standard normal.
local function normal_cdf(x)
  return (1 + lucerna.erf(lucerna.tensor(x / math.sqrt(2), {dtype = lucerna.float64})):item()) / 2
end

--- trunc_normal_(tensor, mean = 0, std = 1, a = -2, b = 2, {generator =}): N(mean, std²) between a
-- and b, which are values, not numbers of std.
define("trunc_normal_", {"mean", "std", "a", "b", "generator"}, function(t, mean, std, a, b,
    generator)
  mean, std, a, b = mean or 0, std or 1, a or -2, b or 2
  local low, high = normal_cdf((a - mean) / std), normal_cdf((b - mean) / std)
  t:uniform_(2 * low - 1, 2 * high - 1, {generator = generator})
  t:erfinv_():mul_(std * math.sqrt(2)):add_(mean):clamp_(a, b)
end)

local function xavier_std(who, t, gain)
  local fan_in, fan_out = fans(who, t)
  return (gain or 1) * math.sqrt(2 / (fan_in + fan_out))
end

--- xavier_uniform_(tensor, gain = 1, {generator =}): U(±gain·√(6 / (fan_in + fan_out))) of a weight
-- [out, in, *]: fan_in = in·Π*, fan_out = out·Π*. Glorot and Bengio (2010).
define("xavier_uniform_", {"gain", "generator"}, function(t, gain, generator)
  local bound = math.sqrt(3) * xavier_std("xavier_uniform_", t, gain)
  t:uniform_(-bound, bound, {generator = generator})
end)

--- xavier_normal_(tensor, gain = 1, {generator =}): N(0, gain²·2 / (fan_in + fan_out)). Glorot and
-- Bengio (2010).
define("xavier_normal_", {"gain", "generator"}, function(t, gain, generator)
  t:normal_(0, xavier_std("xavier_normal_", t, gain), {generator = generator})
end)

local kaiming = {"a", "mode", "nonlinearity", "generator"}

local function kaiming_std(who, t, a, mode, nonlinearity)
  local fan = fan_by_mode(who, t, mode)
  return gain_of(nonlinearity or "leaky_relu", a or 0) / math.sqrt(fan)
end

--- kaiming_uniform_(tensor, a = 0, mode = "fan_in", nonlinearity = "leaky_relu", {generator =}):
-- U(±gain·√(3 / fan)), fan as mode ("fan_in", "fan_out") says, gain as calculate_gain; a is the
-- slope of leaky_relu. He et al., arXiv:1502.01852.
define("kaiming_uniform_", kaiming, function(t, a, mode, nonlinearity, generator)
  if t:numel() == 0 then return end
  local bound = math.sqrt(3) * kaiming_std("kaiming_uniform_", t, a, mode, nonlinearity)
  t:uniform_(-bound, bound, {generator = generator})
end)

--- kaiming_normal_(tensor, a = 0, mode = "fan_in", nonlinearity = "leaky_relu", {generator =}):
-- N(0, gain² / fan). He et al., arXiv:1502.01852.
define("kaiming_normal_", kaiming, function(t, a, mode, nonlinearity, generator)
  if t:numel() == 0 then return end
  local std = kaiming_std("kaiming_normal_", t, a, mode, nonlinearity)
  t:normal_(0, std, {generator = generator})
end)

--- orthogonal_(tensor, gain = 1, {generator =}): rows (or columns) are orthonormal, times gain,
-- when the dimensions after the first are flattened. Saxe et al., arXiv:1312.6120.
define("orthogonal_", {"gain", "generator"}, function(t, gain, generator)
  if t:dim() < 2 then
    fail("orthogonal_: Only tensors with 2 or more dimensions are supported (got %s)",
      shape_text(t.shape))
  end
  if t:numel() == 0 then return end
  local rows = t:size(1)
  local columns = t:numel() // rows
  local flat = t:new_empty(rows, columns):normal_(0, 1, {generator = generator})
  if rows < columns then flat = flat:t() end
  local q, r = lucerna.qr(flat)
  q:mul_(r:diagonal():sign())
  if rows < columns then q = q:t() end
  t:view_as(q):copy_(q)
  t:mul_(gain or 1)
end)

--- sparse_(tensor, sparsity, std = 0.01, {generator =}): a matrix [n, m] of N(0, std²) with the
-- share sparsity (from 0 to 1) of zeros in every column. Martens (2010).
define("sparse_", {"sparsity", "std", "generator"}, function(t, sparsity, std, generator)
  if t:dim() ~= 2 then
    fail("sparse_: Only tensors with 2 dimensions are supported (got %s)", shape_text(t.shape))
  end
  if type(sparsity) ~= "number" then fail("sparse_: missing argument 'sparsity'") end
  if not (sparsity >= 0 and sparsity <= 1) then
    fail("sparse_: sparsity must be from 0 to 1 (got %s)", sparsity)
  end
  local rows, columns = t:size(1), t:size(2)
  local zeros = math.ceil(sparsity * rows)
  t:normal_(0, std or 0.01, {generator = generator})
  for column = 1, columns do
    local order = lucerna.randperm(rows)
    if zeros > 0 then t[{order:narrow(1, 1, zeros), column}] = 0 end
  end
end)

-- PyTorch's older names: uniform for uniform_.
local function without_underscore(_, name) return rawget(init, tostring(name) .. "_") end

return setmetatable(init, {__index = without_underscore})
