-- Spectral normalization with a hook: weight = weight_orig / sigma before every forward, where the
-- largest singular value sigma = u·(W v) is estimated by power iterations, in training only.
-- u and v are buffers. (parametrizations.spectral_norm does it with a parametrization.)

local lucerna = require "lucerna"
local core = require("lucerna.core").nn
local arguments = require "lucerna.arguments"
local check = require "lucerna.nn.utils.check"
local computed = require "lucerna.nn.utils.computed"

local root = require "lucerna.core"

local normalize = root.functional.normalize

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
      n)
  end
end

-- v first, then u, in place: both are buffers.
local function iterated(self, matrix, u, v)
  for _ = 1, self.n_power_iterations do
    v:copy_(normalize(matrix:t():mv(u), { dim = 1, eps = self.eps }))
    u:copy_(normalize(matrix:mv(v), { dim = 1, eps = self.eps }))
  end
  return u:clone(), v:clone() -- the graph keeps them; the next forward changes the buffers
end

function SpectralNorm:iterate(...) return lucerna.no_grad(iterated, self, ...) end

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

-- ---- state dicts: since version 1 v is saved and the weight is not ----

local function mark_version(hook)
  return function(_, _, _, local_metadata)
    local versions = local_metadata.spectral_norm or {}
    local_metadata.spectral_norm = versions
    local key = hook.name .. ".version"
    if versions[key] ~= nil then
      check.fail("Unexpected key in metadata['spectral_norm']: %s", key)
    end
    versions[key] = hook._version
  end
end

-- A v with u = normalize(W v) and u·(W v) = sigma.
local function solve_v(w, u, sigma)
  local v = lucerna.linalg.pinv(w):mv(u)
  return v * (sigma / u:dot(w:mv(v)))
end

local function has(state_dict, key, suffixes)
  for _, suffix in ipairs(suffixes) do
    if state_dict[key .. suffix] == nil then return false end
  end
  return true
end

local function upgrade(state_dict, key, dim)
  local original, weight = state_dict[key .. "_orig"], state_dict[key]
  local v = solve_v(SpectralNorm.matrix(original, dim), state_dict[key .. "_u"],
    (original / weight):mean())
  if not lucerna.isfinite(v):all():item() then
    check.fail("spectral_norm: %s_orig of this old checkpoint has not full rank", key)
  end
  state_dict[key], state_dict[key .. "_v"] = nil, v
end

local function load_old(hook)
  return function(state_dict, prefix, local_metadata, strict, missing_keys)
    local key = prefix .. hook.name
    local version = (local_metadata.spectral_norm or {})[hook.name .. ".version"]
    if version ~= nil and version >= 1 then return end
    if version == nil and has(state_dict, key, { "_orig", "_u", "_v" }) and
      state_dict[key] == nil then
      return -- a new one without its metadata
    end
    if has(state_dict, key, { "_orig", "", "_u" }) then
      return lucerna.no_grad(upgrade, state_dict, key, hook.dim)
    end
    for _, suffix in ipairs(strict and { "_orig", "", "_u" } or {}) do
      if state_dict[key .. suffix] == nil then missing_keys[#missing_keys + 1] = key .. suffix end
    end
  end
end

local function register_state_hooks(module, hook)
  return { module:_register_state_dict_hook(mark_version(hook)),
    module:_register_load_state_dict_pre_hook(load_old(hook)) }
end

-- ---- the functions ----

local function check_new(who, module, name)
  check.module(who, "module", module)
  if computed.find(module, is_mine, name) then
    check.fail("%s: Cannot register two spectral_norm hooks on the same parameter %s", who, name)
  end
  if is_empty(module, name) then
    check.fail("%s: `SpectralNorm` cannot be applied as parameter `%s` is None", who, name)
  end
  return computed.parameter(who, module, name, "SpectralNorm")
end

--- spectral_norm(module, name = "weight", n_power_iterations = 1, eps = 1e-12, dim): divides the
-- parameter by its spectral norm before every forward. dim: that of the outputs, by default 1 (2
-- for transposed convolutions). Returns the module.
function spectral_norm.spectral_norm(...)
  local who = "spectral_norm"
  local module, name, iterations, eps, dim = arguments(who,
    { "module", "name", "n_power_iterations", "eps", "dim", options = 2 }, ...)
  name, iterations, eps = name or "weight", iterations or 1, eps or 1e-12
  SpectralNorm.check_iterations(who, iterations)
  local weight = check_new(who, module, name)
  dim = dim or SpectralNorm.default_dim(module)
  local hook = setmetatable({ name = name, dim = dim, n_power_iterations = iterations, eps = eps },
    SpectralNorm)
  local u, v = lucerna.no_grad(function()
    local matrix = SpectralNorm.matrix(weight, dim)
    return SpectralNorm.random(weight, matrix:size(1), eps),
      SpectralNorm.random(weight, matrix:size(2), eps)
  end)
  computed.install(module, name, hook, { { "_orig", weight }, { "_u", u }, { "_v", v } },
    weight:detach(), function() hook.handles = register_state_hooks(module, hook) end)
  return module
end

--- remove_spectral_norm(module, name = "weight"): one parameter again, of the value it has now.
function spectral_norm.remove_spectral_norm(...)
  local module, name, hook =
    computed.arguments("remove_spectral_norm", "spectral_norm", is_mine, ...)
  local weight = lucerna.no_grad(hook.compute, hook, module, false)
  computed.uninstall(module, name, { "_orig", "_u", "_v" }, core.Parameter(weight), hook,
    function(undo)
      undo(function()
        for _, handle in ipairs(hook.handles) do handle:remove() end
        hook.handles = register_state_hooks(module, hook)
      end)
      for _, handle in ipairs(hook.handles) do handle:remove() end
    end)
  return module
end

spectral_norm.SpectralNorm = SpectralNorm

return spectral_norm
