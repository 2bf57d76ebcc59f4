-- Spectral normalization with a hook: weight = weight_orig / sigma before every forward, where the
-- largest singular value sigma = u·(W v) is estimated by power iterations, in training only.
-- u and v are buffers. (parametrizations.spectral_norm does it with a parametrization.)

local lucerna = require "lucerna"
local core = require("lucerna.core").nn
local arguments = require "lucerna.arguments"
local check = require "lucerna.nn.utils.check"
local computed = require "lucerna.nn.utils.computed"

local normalize = require("lucerna.core").functional.normalize

local spectral_norm = {}

local SpectralNorm = computed.class "SpectralNorm"
SpectralNorm._version = 1

local function is_mine(hook) return getmetatable(hook) == SpectralNorm end

--- weight as a matrix whose rows are positions along dim: [size(dim), rest].
function SpectralNorm.matrix(weight, dim)
  if dim ~= 1 then weight = weight:movedim(dim, 1) end
  return weight:reshape(weight:size(1), -1)
end

--- A random unit vector of n elements, like the weight.
function SpectralNorm.random(weight, n, eps)
  return normalize(weight:new_empty(n):normal_(0, 1), { dim = 1, eps = eps })
end

--- The dimension of outputs: 1, but 2 for transposed convolutions.
function SpectralNorm.default_dim(module)
  for d = 1, 3 do
    local class = core.layer(("ConvTranspose%dd"):format(d))
    if class and core.isinstance(module, class) then return 2 end
  end
  return 1
end

function SpectralNorm.check_iterations(who, n)
  if math.type(n) ~= "integer" or n <= 0 then
    check.fail("%s: Expected n_power_iterations to be positive, but got n_power_iterations=%s", who,
      tostring(n))
  end
end

-- v first, then u, in place: both are buffers.
function SpectralNorm:iterate(matrix, u, v)
  local _ <close> = lucerna.no_grad()
  for _ = 1, self.n_power_iterations do
    v:copy_(normalize(matrix:t():mv(u), { dim = 1, eps = self.eps }))
    u:copy_(normalize(matrix:mv(v), { dim = 1, eps = self.eps }))
  end
  return u:clone(), v:clone() -- the graph keeps them; the next forward changes the buffers
end

function SpectralNorm:compute(module, iterate)
  local name = self.name
  local weight, u, v = module[name .. "_orig"], module[name .. "_u"], module[name .. "_v"]
  local matrix = SpectralNorm.matrix(weight, self.dim)
  if iterate then u, v = self:iterate(matrix, u, v) end
  return weight / u:dot(matrix:mv(v))
end

-- A parameter's slot that is empty.
local function is_empty(module, name)
  local slots = core._slots(module, 0)
  for k = 1, #slots, 2 do
    if slots[k] == name then return not slots[k + 1] end
  end
  return false
end

local function check_new(who, module, name)
  check.module(who, "module", module)
  if computed.find(module, is_mine, name) then
    check.fail("%s: Cannot register two spectral_norm hooks on the same parameter %s", who, name)
  end
  if is_empty(module, name) then
    check.fail("%s: `SpectralNorm` cannot be applied as parameter `%s` is None", who, name)
  end
  return computed.parameter(who, module, name)
end

--- spectral_norm(module, name = "weight", n_power_iterations = 1, eps = 1e-12, dim): divides the
-- parameter by its spectral norm before every forward. dim: that of the outputs, by default 1 (2
-- for transposed convolutions). Returns the module.
function spectral_norm.spectral_norm(...)
  local who = "spectral_norm"
  local module, name, iterations, eps, dim = arguments(who,
    { "module", "name", "n_power_iterations", "eps", "dim" }, ...)
  name, iterations, eps = name or "weight", iterations or 1, eps or 1e-12
  SpectralNorm.check_iterations(who, iterations)
  local weight = check_new(who, module, name)
  dim = dim or SpectralNorm.default_dim(module)
  local hook = setmetatable({ name = name, dim = dim, n_power_iterations = iterations, eps = eps },
    SpectralNorm)
  local u, v
  do
    local _ <close> = lucerna.no_grad()
    local matrix = SpectralNorm.matrix(weight, dim)
    u = SpectralNorm.random(weight, matrix:size(1), eps)
    v = SpectralNorm.random(weight, matrix:size(2), eps)
  end
  core.delattr(module, name)
  module:register_parameter(name .. "_orig", weight)
  module[name] = weight:detach()
  module:register_buffer(name .. "_u", u)
  module:register_buffer(name .. "_v", v)
  module:register_forward_pre_hook(hook)
  return module
end

--- remove_spectral_norm(module, name = "weight"): one parameter again, of the value it has now.
function spectral_norm.remove_spectral_norm(...)
  local who = "remove_spectral_norm"
  local module, name = arguments(who, { "module", "name" }, ...)
  name = name or "weight"
  local hook = computed.take(check.module(who, "module", module), is_mine, name)
  if not hook then
    check.fail("%s: spectral_norm of '%s' not found in %s", who, name, check.text(module))
  end
  local weight = lucerna.no_grad(hook.compute, hook, module, false)
  for _, suffix in ipairs { "", "_u", "_v", "_orig" } do core.delattr(module, name .. suffix) end
  module:register_parameter(name, core.Parameter(weight))
  return module
end

spectral_norm.SpectralNorm = SpectralNorm

return spectral_norm
