-- lucerna.distributions.transforms: functions with an inverse and the logarithm of the determinant
-- of their Jacobian. t(x) transforms, t.inv(y) goes back; domain and codomain are constraints.

local lucerna = require "lucerna"
local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"
local base = require "lucerna.distributions.base"
local constraints = require "lucerna.distributions.constraints"
local tools = require "lucerna.distributions.tools"

local fail, sum_rightmost = tools.fail, tools.sum_rightmost
local real, positive = constraints.real, constraints.positive

local transforms = {}

local function shape_of(who, ...) return tools.sizes(who, "shape", ...) end

--- The base: Transform(cache_size = 0). A subclass, `transforms.class(name, Parent)`, has _call(x),
-- _inverse(y), log_abs_det_jacobian(x, y), domain and codomain. With cache_size 1 the last value is
-- kept, so that inv of a result is what it came from.
transforms.Transform = base.root("Transform", {
  forward_shape = shape_of, inverse_shape = shape_of,
  log_abs_det_jacobian = function(who, x, y)
    return tools.tensor(who, "x", x), tools.tensor(who, "y", y)
  end,
  with_cache = function(who, ...) return arguments(who, {"cache_size"}, ...) end,
})
local Transform = transforms.Transform
Transform._cache_size = 0
function Transform.getters:bijective() return false end

--- class(name, Parent): a new class of transforms. Parent defaults to Transform.
function transforms.class(name, parent) return base.subclass(name, parent, Transform) end

function Transform:__init(...) self:_cache(arguments(self.__name, {"cache_size"}, ...)) end

function Transform:_cache(size)
  if size ~= nil and size ~= 0 and size ~= 1 then
    fail("%s: cache_size must be 0 or 1 (got %s)", self.__name, size)
  end
  self._cache_size = size or 0
end

--- t:with_cache(cache_size = 1): the same transform that keeps its last value, or (0) none.
function Transform:with_cache(cache_size)
  if cache_size == nil then cache_size = 1 end
  if cache_size == self._cache_size then return self end
  local copy = setmetatable({}, getmetatable(self))
  for key, value in pairs(self) do copy[key] = value end
  copy._x, copy._y, copy.inv = nil, nil, nil
  copy:_cache(cache_size)
  return copy
end

function Transform.__call(self, x)
  tools.tensor(self.__name, "x", x)
  if self._cache_size == 0 then return self:_call(x) end
  if not rawequal(x, self._x) then self._x, self._y = x, self:_call(x) end
  return self._y
end

function Transform:_inv_call(y)
  if self._cache_size == 0 then return self:_inverse(y) end
  if not rawequal(y, self._y) then self._x, self._y = self:_inverse(y), y end
  return self._x
end

function Transform:_inverse() fail("%s: inv is not implemented", self.__name) end

function Transform:log_abs_det_jacobian()
  fail("log_abs_det_jacobian: %s does not implement it", self.__name)
end

-- Two transforms are equal if they are of one class and have the same parameters.
local function alike(a, b)
  if type(a) ~= "userdata" and type(b) ~= "userdata" then return a == b end
  local x, y = lucerna.is_tensor(a) and a or b, lucerna.is_tensor(a) and b or a
  return x:eq(y):all():item()
end

function Transform.__eq(a, b)
  if getmetatable(a) ~= getmetatable(b) then return false end
  for _, name in ipairs(a._parameters or {}) do
    if not alike(a[name], b[name]) then return false end
  end
  return true
end

function Transform:__tostring() return self.__name .. "()" end

function Transform.getters:sign() fail("sign: %s does not implement it", self.__name) end

function Transform.getters:event_dim()
  if self.domain.event_dim ~= self.codomain.event_dim then
    fail("event_dim: Please use either .domain.event_dim or .codomain.event_dim")
  end
  return self.domain.event_dim
end

function Transform:forward_shape(shape) return shape end
function Transform:inverse_shape(shape) return shape end

-- ---- the inverse ----

local Inverse = transforms.class "_InverseTransform"

function Inverse:__init(transform) self.inv = transform end
function Inverse.__call(self, y)
  return self.inv:_inv_call(tools.tensor(self.inv.__name .. ".inv", "y", y))
end
function Inverse.__eq(a, b) return getmetatable(a) == getmetatable(b) and a.inv == b.inv end
function Inverse:__tostring() return ("_InverseTransform(%s)"):format(self.inv) end
function Inverse:_inv_call(y) return self.inv(y) end
function Inverse:with_cache(cache_size) return self.inv:with_cache(cache_size).inv end
function Inverse:log_abs_det_jacobian(x, y) return -self.inv:log_abs_det_jacobian(y, x) end
function Inverse:forward_shape(shape) return self.inv:inverse_shape(shape) end
function Inverse:inverse_shape(shape) return self.inv:forward_shape(shape) end
function Inverse.getters:domain() return self.inv.codomain end
function Inverse.getters:codomain() return self.inv.domain end
function Inverse.getters:bijective() return self.inv.bijective end
function Inverse.getters:sign() return self.inv.sign end

function Transform.getters:inv()
  self.inv = Inverse(self)
  return self.inv
end

-- ---- element by element ----

-- A class of increasing functions of one value.
local function pointwise(name, domain, codomain)
  local class = transforms.class(name)
  class.domain, class.codomain, class.bijective, class.sign = domain, codomain, true, 1
  return class
end

--- ExpTransform(cache_size): the exponential function, y = exp(x).
transforms.ExpTransform = pointwise("ExpTransform", real, positive)
local Exp = transforms.ExpTransform
function Exp:_call(x) return x:exp() end
function Exp:_inverse(y) return y:log() end
function Exp:log_abs_det_jacobian(x) return x end

local function softplus(x) return lucerna.nn.functional.softplus(x) end

local function clipped_sigmoid(x)
  local info = lucerna.finfo(x.dtype)
  return x:sigmoid():clamp(info.tiny, 1 - info.eps)
end

--- SigmoidTransform(cache_size): the logistic function, y = 1 / (1 + exp(-x)).
transforms.SigmoidTransform = pointwise("SigmoidTransform", real, constraints.unit_interval)
local Sigmoid = transforms.SigmoidTransform
function Sigmoid:_call(x) return clipped_sigmoid(x) end

function Sigmoid:_inverse(y)
  local info = lucerna.finfo(y.dtype)
  y = y:clamp(info.tiny, 1 - info.eps)
  return y:log() - (-y):log1p()
end

function Sigmoid:log_abs_det_jacobian(x)
  return -softplus(-x) - softplus(x)
end

--- TanhTransform(cache_size): y = tanh(x). Its inverse loses digits near -1 and 1: cache_size 1.
transforms.TanhTransform = pointwise("TanhTransform", real, constraints.interval(-1.0, 1.0))
local Tanh = transforms.TanhTransform
function Tanh:_call(x) return x:tanh() end
function Tanh:_inverse(y) return y:atanh() end

function Tanh:log_abs_det_jacobian(x)
  return (math.log(2) - x - softplus(x * -2)) * 2
end

--- SoftplusTransform(cache_size): a smooth ReLU, y = log(1 + exp(x)).
transforms.SoftplusTransform = pointwise("SoftplusTransform", real, positive)
local Softplus = transforms.SoftplusTransform
function Softplus:_call(x) return softplus(x) end
function Softplus:_inverse(y) return (-(-y):expm1()):log() + y end
function Softplus:log_abs_det_jacobian(x) return -softplus(-x) end

--- PowerTransform(exponent, cache_size): y = x ^ exponent, of x > 0.
transforms.PowerTransform = pointwise("PowerTransform", positive, positive)
local Power = transforms.PowerTransform
Power.sign, Power._parameters = nil, {"exponent"} -- the sign is the exponent's

function Power:__init(...)
  local exponent, cache_size = arguments("PowerTransform", {"exponent", "cache_size"}, ...)
  self.exponent = tools.broadcast("PowerTransform", {"exponent"}, exponent)
  self:_cache(cache_size)
end

function Power.getters:sign() return self.exponent:sign() end
function Power:_call(x) return x ^ self.exponent end
function Power:_inverse(y) return y ^ (1 / self.exponent) end

function Power:log_abs_det_jacobian(x, y) return (self.exponent * y / x):abs():log() end
function Power:forward_shape(shape) return tools.broadcast_shape(shape, self.exponent) end
Power.inverse_shape = Power.forward_shape

--- AbsTransform(cache_size): y = |x|, which has no inverse; inv gives y.
transforms.AbsTransform = transforms.class "AbsTransform"
local Abs = transforms.AbsTransform
Abs.domain, Abs.codomain = real, positive
function Abs:_call(x) return x:abs() end
function Abs:_inverse(y) return y end

--- AffineTransform(loc, scale, event_dim = 0, cache_size): y = loc + scale * x. event_dim: how many
-- last dimensions are one value.
transforms.AffineTransform = transforms.class "AffineTransform"
local Affine = transforms.AffineTransform
Affine.bijective, Affine._parameters = true, {"loc", "scale"}

function Affine:__init(...)
  local loc, scale, event_dim, cache_size =
    arguments("AffineTransform", {"loc", "scale", "event_dim", "cache_size"}, ...)
  tools.broadcast("AffineTransform", {"loc", "scale"}, loc, scale) -- checks them
  self.loc, self.scale, self.event_dim = loc, scale, event_dim or 0
  self:_cache(cache_size)
end

function Affine.getters:domain()
  return self.event_dim == 0 and real or constraints.independent(real, self.event_dim)
end

Affine.getters.codomain = Affine.getters.domain

function Affine.getters:sign()
  local scale = self.scale
  if lucerna.is_tensor(scale) then return scale:sign() end
  return scale > 0 and 1 or scale < 0 and -1 or 0
end

function Affine:_call(x) return self.loc + self.scale * x end
function Affine:_inverse(y) return (y - self.loc) / self.scale end

function Affine:log_abs_det_jacobian(x)
  local slope = self.scale
  if lucerna.is_tensor(slope) then
    slope = slope:abs():log():expand(tools.broadcast_shape(x.shape, slope))
  else
    slope = lucerna.full_like(x:detach(), math.log(math.abs(slope)))
  end
  return sum_rightmost(slope, self.event_dim)
end

function Affine:forward_shape(shape) return tools.broadcast_shape(shape, self.loc, self.scale) end
Affine.inverse_shape = Affine.forward_shape

-- ---- of vectors ----

--- SoftmaxTransform(cache_size): y = exp(x), normalized along the last dimension. Not bijective.
transforms.SoftmaxTransform = transforms.class "SoftmaxTransform"
local Softmax = transforms.SoftmaxTransform
Softmax.domain, Softmax.codomain = constraints.real_vector, constraints.simplex
function Softmax:_call(x) return x:softmax(-1) end
function Softmax:_inverse(y) return y:log() end

--- StickBreakingTransform(cache_size): n numbers to n + 1 probabilities, each a part of what the
-- ones before it left.
transforms.StickBreakingTransform = transforms.class "StickBreakingTransform"
local Stick = transforms.StickBreakingTransform
Stick.domain, Stick.codomain = constraints.real_vector, constraints.simplex
Stick.bijective = true

-- log(n), …, log(1): what makes zeros the middle of the simplex.
local function offsets(x, n)
  return lucerna.arange(n, 0, -1, tools.like(x)):log()
end

local function padded(x, sizes)
  return lucerna.nn.functional.pad(x, sizes, {value = 1})
end

function Stick:_call(x)
  local z = clipped_sigmoid(x - offsets(x, x:size(-1)))
  return padded(z, {0, 1}) * padded((1 - z):cumprod(-1), {1, 0})
end

function Stick:_inverse(y)
  local n = y:size(-1) - 1
  local kept = y:narrow(-1, 1, n)
  local left = (1 - kept:cumsum(-1)):clamp(lucerna.finfo(y.dtype).tiny)
  return kept:log() - left:log() + offsets(y, n)
end

function Stick:log_abs_det_jacobian(x, y)
  local n = x:size(-1)
  x = x - offsets(x, n)
  return (-x + lucerna.nn.functional.logsigmoid(x) + y:narrow(-1, 1, n):log()):sum(-1)
end

local function longer(shape, by, name)
  if #shape < 1 then fail("%s: Too few dimensions on input", name) end
  return tools.join(tools.first(shape, -1), {shape[#shape] + by})
end

function Stick:forward_shape(shape) return longer(shape, 1, self.__name) end
function Stick:inverse_shape(shape) return longer(shape, -1, self.__name) end

--- LowerCholeskyTransform(cache_size): square matrices to lower triangular ones whose diagonal is
-- exp of theirs.
transforms.LowerCholeskyTransform = transforms.class "LowerCholeskyTransform"
local Cholesky = transforms.LowerCholeskyTransform
Cholesky.domain = constraints.independent(real, 2)
Cholesky.codomain = constraints.lower_cholesky

local function with_diagonal(x, f)
  return x:tril(-1) + f(x:diagonal(0, -2, -1)):diag_embed()
end

function Cholesky:_call(x) return with_diagonal(x, lucerna.exp) end
function Cholesky:_inverse(y) return with_diagonal(y, lucerna.log) end

--- PositiveDefiniteTransform(cache_size): square matrices to L Lᵀ, where L is what
-- LowerCholeskyTransform makes of them.
transforms.PositiveDefiniteTransform = transforms.class "PositiveDefiniteTransform"
local Definite = transforms.PositiveDefiniteTransform
Definite.domain = constraints.independent(constraints.real, 2)
Definite.codomain = constraints.positive_definite
local factor = transforms.LowerCholeskyTransform()

function Definite:_call(x)
  local lower = factor(x)
  return lower:matmul(lower.mT)
end

function Definite:_inverse(y) return factor.inv(lucerna.linalg.cholesky(y)) end

--- CorrCholeskyTransform(cache_size): d (d - 1) / 2 numbers to the lower triangular factor of a
-- correlation matrix [d, d], whose rows have length 1; tanh of each number is its part of what the
-- ones before it in the row left.
transforms.CorrCholeskyTransform = transforms.class "CorrCholeskyTransform"
local Corr = transforms.CorrCholeskyTransform
Corr.domain, Corr.codomain = constraints.real_vector, constraints.corr_cholesky
Corr.bijective = true

-- The places of a [d, d] matrix's triangle below `diagonal`, counted along its rows.
local function places(d, diagonal)
  local rows, columns = table.unpack(lucerna.tril_indices(d, d, diagonal):unbind())
  return (rows - 1) * d + columns
end

local function below(y, diagonal)
  local d = y:size(-1)
  return y:flatten(-2):index_select(-1, places(d, diagonal))
end

-- Moves the entries of a row up by one and puts a one in front.
local function shifted(x)
  return lucerna.nn.functional.pad(x:narrow(-1, 1, x:size(-1) - 1), {1, 0}, {value = 1})
end

function Corr:_call(x)
  local shape = self:forward_shape(x.shape)
  local d, eps = shape[#shape], lucerna.finfo(x.dtype).eps
  local r = x:tanh():clamp(eps - 1, 1 - eps)
  local flat = x:new_zeros(tools.join(tools.first(shape, -2), {d * d}))
  local matrix = flat:index_copy(-1, places(d, -1), r):reshape(shape)
  local left = (1 - matrix ^ 2):sqrt():cumprod(-1)
  return (matrix + lucerna.eye(d, {dtype = x.dtype})) * shifted(left)
end

local function left_of_rows(y) return 1 - (y * y):cumsum(-1) end

function Corr:_inverse(y)
  return (below(y, -1) / below(shifted(left_of_rows(y)), -1):sqrt()):atanh()
end

function Corr:log_abs_det_jacobian(x, y)
  local sticks = below(left_of_rows(y), -2):log():sum(-1) * 0.5
  return sticks - (x + softplus(x * -2) - math.log(2)):sum(-1) * 2
end

function Corr:forward_shape(shape)
  if #shape < 1 then fail("CorrCholeskyTransform: Too few dimensions on input") end
  local n = shape[#shape]
  local d = math.floor((0.25 + 2 * n) ^ 0.5 + 1)
  if d * (d - 1) // 2 ~= n then
    fail("CorrCholeskyTransform: Input is not a flattened lower-diagonal number (got %d)", n)
  end
  return tools.join(tools.first(shape, -1), {d, d})
end

function Corr:inverse_shape(shape)
  local d = shape[#shape]
  if #shape < 2 then fail("CorrCholeskyTransform: Too few dimensions on input") end
  if shape[#shape - 1] ~= d then fail("CorrCholeskyTransform: Input is not square") end
  return tools.join(tools.first(shape, -2), {d * (d - 1) // 2})
end

--- ReshapeTransform(in_shape, out_shape, cache_size): the last dimensions in another shape.
transforms.ReshapeTransform = transforms.class "ReshapeTransform"
local Reshape = transforms.ReshapeTransform
Reshape.bijective = true

function Reshape:__init(...)
  local in_shape, out_shape, cache_size =
    arguments("ReshapeTransform", {"in_shape", "out_shape", "cache_size"}, ...)
  if type(in_shape) ~= "table" or type(out_shape) ~= "table" then
    fail("ReshapeTransform: in_shape and out_shape must be tables of sizes")
  end
  in_shape = tools.sizes("ReshapeTransform", "in_shape", in_shape)
  out_shape = tools.sizes("ReshapeTransform", "out_shape", out_shape)
  if tools.count(in_shape) ~= tools.count(out_shape) then
    fail("ReshapeTransform: in_shape, out_shape have different numbers of elements")
  end
  self.in_shape, self.out_shape = in_shape, out_shape
  self:_cache(cache_size)
end

function Reshape.getters:domain() return constraints.independent(real, #self.in_shape) end
function Reshape.getters:codomain() return constraints.independent(real, #self.out_shape) end

local function replaced(shape, from, to)
  if #shape < #from then fail("ReshapeTransform: Too few dimensions on input") end
  if not tools.same(tools.last(shape, #from), from) then
    fail("ReshapeTransform: Shape mismatch: expected %s but got %s",
      tools.size_text(tools.last(shape, #from)), tools.size_text(from))
  end
  return tools.join(tools.first(shape, #shape - #from), to)
end

function Reshape:forward_shape(shape) return replaced(shape, self.in_shape, self.out_shape) end
function Reshape:inverse_shape(shape) return replaced(shape, self.out_shape, self.in_shape) end
function Reshape:_call(x) return x:reshape(self:forward_shape(x.shape)) end
function Reshape:_inverse(y) return y:reshape(self:inverse_shape(y.shape)) end

function Reshape:log_abs_det_jacobian(x)
  return x:new_zeros(tools.first(x.shape, x:dim() - #self.in_shape))
end

-- ---- made of others ----

--- IndependentTransform(base_transform, reinterpreted_batch_ndims, cache_size):
-- base_transform, to which the last dimensions are one value.
transforms.IndependentTransform = transforms.class "IndependentTransform"
local Independent = transforms.IndependentTransform
Independent._parameters = {"base_transform", "reinterpreted_batch_ndims"}

function Independent:__init(...)
  local base_transform, n, cache_size = arguments("IndependentTransform",
    {"base_transform", "reinterpreted_batch_ndims", "cache_size"}, ...)
  if not classes.is_a(base_transform, Transform) then
    fail("IndependentTransform: base_transform must be a Transform (got %s)",
      type(base_transform))
  end
  tools.whole("IndependentTransform", "reinterpreted_batch_ndims", n)
  self.base_transform, self.reinterpreted_batch_ndims = base_transform, n
  self:_cache(cache_size)
end

local function enlarged(name)
  return function(self)
    return constraints.independent(self.base_transform[name], self.reinterpreted_batch_ndims)
  end
end

Independent.getters.domain, Independent.getters.codomain = enlarged "domain", enlarged "codomain"
function Independent.getters:bijective() return self.base_transform.bijective end
function Independent.getters:sign() return self.base_transform.sign end

function Independent:_call(x) return self.base_transform(x) end
function Independent:_inverse(y) return self.base_transform.inv(y) end

function Independent:log_abs_det_jacobian(x, y)
  return sum_rightmost(self.base_transform:log_abs_det_jacobian(x, y),
    self.reinterpreted_batch_ndims)
end

function Independent:forward_shape(shape) return self.base_transform:forward_shape(shape) end
function Independent:inverse_shape(shape) return self.base_transform:inverse_shape(shape) end

function Independent:__tostring()
  return ("IndependentTransform(%s, %d)"):format(self.base_transform,
    self.reinterpreted_batch_ndims)
end

--- Refuses an entry of a list that is no transform; returns the list.
function transforms._check_list(who, name, list)
  for i, part in ipairs(list) do
    if not classes.is_a(part, Transform) then
      fail("%s: %s[%d] must be a Transform (got %s)", who, name, i, type(part))
    end
  end
  return list
end

--- ComposeTransform(parts, cache_size): one transform after another.
transforms.ComposeTransform = transforms.class "ComposeTransform"
local Compose = transforms.ComposeTransform

function Compose:__init(...)
  local parts, cache_size = arguments("ComposeTransform", {"parts", "cache_size"}, ...)
  if type(parts) ~= "table" then
    fail("ComposeTransform: parts must be a list of Transforms (got %s)", type(parts))
  end
  self.parts = transforms._check_list("ComposeTransform", "parts", parts)
  self:_cache(cache_size)
  if self._cache_size == 0 then return end
  self.parts = {}
  for i, part in ipairs(parts) do self.parts[i] = part:with_cache(cache_size) end
end

function Compose:with_cache(cache_size)
  if cache_size == nil then cache_size = 1 end
  return cache_size == self._cache_size and self or Compose(self.parts, cache_size)
end

-- The constraint at one end, of as many dimensions as any part asks for.
local function at_end(parts, ends, near, far)
  local edge = parts[ends[1]]
  if not edge then return real end
  local constraint = edge[near]
  local dims = parts[ends[2]][far].event_dim
  for i = ends[2], ends[1], ends[1] < ends[2] and -1 or 1 do
    local part = parts[i]
    dims = math.max(dims + part[near].event_dim - part[far].event_dim, part[near].event_dim)
  end
  if dims == constraint.event_dim then return constraint end
  return constraints.independent(constraint, dims - constraint.event_dim)
end

function Compose.getters:domain()
  return at_end(self.parts, {1, #self.parts}, "domain", "codomain")
end

function Compose.getters:codomain()
  return at_end(self.parts, {#self.parts, 1}, "codomain", "domain")
end

function Compose.getters:bijective()
  for _, part in ipairs(self.parts) do
    if not part.bijective then return false end
  end
  return true
end

function Compose.getters:sign()
  local sign = 1
  for _, part in ipairs(self.parts) do sign = sign * part.sign end
  return sign
end

function Compose.getters:inv()
  local parts = {}
  for i, part in ipairs(self.parts) do parts[#self.parts + 1 - i] = part.inv end
  self.inv = Compose(parts)
  self.inv.inv = self
  return self.inv
end

function Compose.__eq(a, b)
  if getmetatable(a) ~= getmetatable(b) or #a.parts ~= #b.parts then return false end
  for i, part in ipairs(a.parts) do
    if part ~= b.parts[i] then return false end
  end
  return true
end

function Compose:_call(x)
  for _, part in ipairs(self.parts) do x = part(x) end
  return x
end

function Compose:log_abs_det_jacobian(x, y)
  if #self.parts == 0 then return lucerna.zeros_like(x) end
  local result
  local dims = self.domain.event_dim
  for i, part in ipairs(self.parts) do
    local after = i < #self.parts and part(x) or y
    local term = sum_rightmost(part:log_abs_det_jacobian(x, after), dims - part.domain.event_dim)
    result = result and result + term or term
    dims = dims + part.codomain.event_dim - part.domain.event_dim
    x = after
  end
  return result
end

function Compose:forward_shape(shape)
  for _, part in ipairs(self.parts) do shape = part:forward_shape(shape) end
  return shape
end

function Compose:inverse_shape(shape)
  for i = #self.parts, 1, -1 do shape = self.parts[i]:inverse_shape(shape) end
  return shape
end

function Compose:__tostring()
  local texts = {}
  for i, part in ipairs(self.parts) do texts[i] = tostring(part) end
  return "ComposeTransform(\n    " .. table.concat(texts, ",\n    ") .. "\n)"
end

transforms.identity_transform = Compose {}

return transforms
