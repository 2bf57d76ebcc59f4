-- Pruning (torch.nn.utils.prune). A pruned tensor is a parameter name_orig, a buffer name_mask of
-- zeros and ones, and an ordinary field name that a forward pre-hook, the pruning method, makes of
-- the two. amount is a count (an integer) or a fraction (a float from 0.0 to 1.0).

local lucerna = require "lucerna"
local core = require("lucerna.core").nn
local arguments = require "lucerna.arguments"
local classes = require "lucerna.classes"
local check = require "lucerna.nn.utils.check"
local computed = require "lucerna.nn.utils.computed"
local convert = require "lucerna.nn.utils.convert_parameters"

local prune = {}

-- ---- checks ----

local function check_amount(who, amount)
  if type(amount) ~= "number" then
    check.fail("%s: Invalid type for amount: %s. Must be int or float.", who, amount)
  end
  local integer = math.type(amount) == "integer"
  if (integer and amount < 0) or (not integer and not (amount >= 0 and amount <= 1)) then
    check.fail("%s: amount=%s should either be a float in the range [0, 1] or a non-negative "
      .. "integer", who, amount)
  end
end

-- Python's round: ties to even.
local function round(x)
  local floor = math.floor(x)
  if x - floor == 0.5 then return floor % 2 == 0 and floor or floor + 1 end
  return math.floor(x + 0.5)
end

-- How many of n units to prune.
local function count(who, amount, n)
  if math.type(amount) == "float" then return round(amount * n) end
  if amount > n then
    check.fail("%s: amount=%d should be smaller than the number of parameters to prune=%d", who,
      amount, n)
  end
  return amount
end

-- The dimension as a number from 1 on.
local function check_dim(who, t, dim)
  if t:dim() <= 1 then
    check.fail("%s: Structured pruning can only be applied to multidimensional tensors. Found "
      .. "tensor of shape %s with %d dims", who, check.size(t), t:dim())
  end
  if math.type(dim) ~= "integer" or dim == 0 or math.abs(dim) > t:dim() then
    check.fail("%s: Invalid index %s for tensor of size %s", who, dim, check.size(t))
  end
  return dim < 0 and t:dim() + dim + 1 or dim
end

local function check_masked(who, t, default_mask)
  check.tensor(who, "t", t)
  check.tensor(who, "default_mask", default_mask)
end

-- ---- classes ----

local apply -- (class, module, name, …): below

--- class(name, Parent): a new class of pruning methods; Parent defaults to BasePruningMethod. It
-- needs PRUNING_TYPE ("unstructured", "structured" or "global"), a method compute_mask(t,
-- default_mask), and may have __init. Class(...) makes a method, Class.apply(module, name, ...)
-- applies one made of the arguments after name.
function prune.class(name, Parent)
  classes.check("prune.class", name, Parent)
  local class = classes.new(name, Parent or prune.BasePruningMethod)
  function class.apply(first, ...)
    if rawequal(first, class) then return apply(class, ...) end
    return apply(class, first, ...)
  end
  return class
end

local Base = prune.class "BasePruningMethod"
prune.BasePruningMethod = Base

function Base:__init() end

-- As hooks elsewhere the tensor's name is `name`; PyTorch's is _tensor_name: both read.
local function is_mine(hook) return classes.is_a(hook, Base) end

local function find(module, name)
  return computed.find(module, function(hook)
    return is_mine(hook) and (name == nil or hook._tensor_name == name)
  end)
end

function Base.__call(self, module) module[self._tensor_name] = self:apply_mask(module) end
function Base:computes() return self._tensor_name end
function Base:recompute(module) self(module) end

--- compute_mask(t, default_mask): the mask of t, on top of an earlier one. Classes provide it.
function Base:compute_mask()
  check.fail("%s: compute_mask is missing", getmetatable(self).__name)
end

--- apply_mask(module): mask * original.
function Base:apply_mask(module)
  local name = self._tensor_name
  if name == nil then check.fail("Module %s has to be pruned", check.text(module)) end
  local original = module[name .. "_orig"]
  return module[name .. "_mask"]:to(original.dtype) * original
end

--- prune(t, default_mask, importance_scores): t with the mask computed for it.
function Base:prune(...)
  local t, mask, scores = arguments("prune", { "t", "default_mask", "importance_scores" }, ...)
  check.tensor("prune", "t", t)
  if scores and not check.same_size(check.tensor("prune", "importance_scores", scores), t) then
    check.fail("prune: importance_scores should have the same shape as tensor t")
  end
  mask = mask and check.tensor("prune", "default_mask", mask) or lucerna.ones_like(t)
  return t * self:compute_mask(scores or t, mask)
end

--- remove(module): a plain parameter again, with what was pruned at 0.
function Base:remove(module)
  local name = self._tensor_name
  if name == nil then
    check.fail("Module %s has to be pruned before pruning can be removed", check.text(module))
  end
  local weight, original = self:apply_mask(module):detach(), module[name .. "_orig"]
  computed.uninstall(module, name, { "_orig", "_mask" }, original, self, function(undo)
    local before = original:detach()
    undo(function() original.data = before end)
    original.data = weight
  end)
end

-- ---- applying ----

-- The new method alone, or in a container with those that were there.
local function combine(class, module, name, ...)
  local old, id = find(module, name)
  local method = class(...)
  method._tensor_name = name
  if old == nil then return method, nil end
  local Container = prune.PruningContainer
  local container = (getmetatable(old) == Container and old or Container(old)):copy()
  container:add_pruning_method(method)
  return container, id
end

-- A pruned tensor is pruned again: its mask and its hook change.
local function prune_again(module, name, method, scores, old)
  local mask = method:compute_mask(scores, module[name .. "_mask"]:detach():clone())
  local original, before = module[name .. "_orig"], module[name .. "_mask"]
  local pruned = mask:to(original.dtype) * original
  check.transaction(function(undo)
    local weight = module[name]
    undo(function()
      module[name .. "_mask"] = before
      core._set_field(module, name, weight)
    end)
    check.take_back_hooks(module, undo)
    module[name .. "_mask"] = mask
    module[name] = pruned
    module:register_forward_pre_hook(method)
    return core._remove_hook(module, old)
  end)
end

local function prune_first(module, name, method, scores, original)
  local mask = method:compute_mask(scores, lucerna.ones_like(original):detach())
  computed.install(module, name, method, { { "_orig", original }, { "_mask", mask } },
    mask:to(original.dtype) * original)
end

-- importance_scores out of a last table of options, and what is left of the arguments.
local function take_scores(...)
  local given = table.pack(...)
  local last = given[given.n]
  local scores
  if type(last) == "table" and getmetatable(last) == nil and last.importance_scores ~= nil then
    local rest = {}
    for key, value in pairs(last) do rest[key] = value end
    scores, rest.importance_scores = rest.importance_scores, nil
    given[given.n] = rest
    if next(rest) == nil then given.n = given.n - 1 end
  end
  return scores, table.unpack(given, 1, given.n)
end

local function apply_scored(class, module, name, scores, ...)
  local who = class.__name
  local tensor = computed.parameter(who, module, name)
  local method, old = combine(class, module, name, ...)
  if scores and not check.same_size(check.tensor(who, "importance_scores", scores), tensor) then
    check.fail("%s: importance_scores should have the same shape as parameter %s of %s", who, name,
      check.text(module))
  end
  scores = (scores or tensor):detach()
  if old then
    prune_again(module, name, method, scores, old)
  else
    if not core.is_parameter(tensor) then
      check.fail("%s: cannot assign 'Tensor' object to parameter '%s_orig' (nn.Parameter or nil "
        .. "required)", who, name)
    end
    prune_first(module, name, method, scores, tensor)
  end
  return method
end

-- class.apply(module, name, …) for all classes.
function apply(class, module, name, ...)
  return apply_scored(class, module, name, take_scores(...))
end

-- ---- the container ----

local Container = prune.class "PruningContainer"
prune.PruningContainer = Container

local inherited = Container.__index
function Container.__index(self, key)
  if math.type(key) == "integer" then return rawget(self, "_pruning_methods")[key] end
  return inherited[key]
end

function Container.__len(self) return #self._pruning_methods end

--- PruningContainer(method, …): pruning methods of one tensor, applied one after the other.
function Container:__init(...)
  self._pruning_methods = {}
  local first = ...
  local one = select("#", ...) == 1 and type(first) == "table"
  if one then self._tensor_name = first._tensor_name end
  for k = 1, select("#", ...) do self:add_pruning_method((select(k, ...))) end
end

function Container:copy()
  local copy = Container()
  copy._tensor_name = self._tensor_name
  for _, method in ipairs(self._pruning_methods) do copy:add_pruning_method(method) end
  return copy
end

--- add_pruning_method(method): method acts on what the earlier ones left.
function Container:add_pruning_method(method)
  if not is_mine(method) then
    check.fail("add_pruning_method: %s is not a BasePruningMethod subclass",
      check.type_name(method))
  end
  if self._tensor_name ~= method._tensor_name then
    check.fail("Can only add pruning methods acting on the parameter named '%s' to "
      .. "PruningContainer. Found '%s'", self._tensor_name, method._tensor_name)
  end
  table.insert(self._pruning_methods, method)
end

-- The method sees what is not pruned yet: elements, channels, or all.
local combined = {}

function combined.unstructured(method, t, mask)
  local left = mask:eq(1)
  local partial = method:compute_mask(t[left], mask[left])
  return mask:to(t.dtype):masked_scatter(left, partial:to(t.dtype))
end

function combined.structured(method, t, mask)
  if method.dim == nil then
    check.fail('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
      .. "defined.")
  end
  local dim = method.dim
  if dim < 0 then dim = t:dim() + dim + 1 end
  if dim < 1 then
    check.fail("Index is out of bounds for tensor with dimensions %d", t:dim())
  end
  local keep = mask:sum(check.other_dims(t, dim)):ne(0):nonzero():reshape(-1)
  local partial = method:compute_mask(t:index_select(dim, keep), mask:index_select(dim, keep))
  return mask:to(t.dtype):index_copy(dim, keep, partial:to(t.dtype))
end

combined["global"] = function(method, t, mask)
  return method:compute_mask(t, mask):to(t.dtype)
end

function Container:compute_mask(t, default_mask)
  local method = self._pruning_methods[#self._pruning_methods]
  local combine_masks = combined[method.PRUNING_TYPE]
  if not combine_masks then
    check.fail("Unrecognized PRUNING_TYPE %s", method.PRUNING_TYPE)
  end
  return combine_masks(method, t, default_mask)
end

-- ---- the methods ----

-- names: the arguments of its constructor, which become fields; amount is checked, dim is -1 if it
-- is not given.
local function define(name, pruning_type, names)
  local class = prune.class(name)
  class.PRUNING_TYPE = pruning_type
  prune[name] = class
  if not names then return class end
  function class:__init(...)
    local values = table.pack(arguments(name, names, ...))
    for k, field in ipairs(names) do
      self[field] = values[k]
      if field == "dim" and values[k] == nil then self.dim = -1 end
      if field == "n" and values[k] == nil then check.fail("%s: missing argument 'n'", name) end
    end
    check_amount(name, self.amount)
  end
  return class
end

local Identity = define("Identity", "unstructured")
function Identity:compute_mask(_, default_mask) return default_mask end

-- Zeros at the k positions of the flattened mask that topk finds.
local function drop(mask, scores, k, largest)
  mask = mask:clone():contiguous()
  if k == 0 then return mask end
  local _, positions = scores:reshape(-1):topk(k, { largest = largest })
  mask:view(-1):index_fill_(1, positions, 0)
  return mask
end

--- RandomUnstructured(amount): elements drawn at random.
prune.RandomUnstructured = define("RandomUnstructured", "unstructured", { "amount" })

function prune.RandomUnstructured:compute_mask(t, default_mask)
  check_masked("RandomUnstructured", t, default_mask)
  local k = count("RandomUnstructured", self.amount, t:numel())
  return drop(default_mask, k > 0 and lucerna.rand_like(t), k, true)
end

--- L1Unstructured(amount): the elements of least absolute value.
prune.L1Unstructured = define("L1Unstructured", "unstructured", { "amount" })

function prune.L1Unstructured:compute_mask(t, default_mask)
  check_masked("L1Unstructured", t, default_mask)
  local k = count("L1Unstructured", self.amount, t:numel())
  return drop(default_mask, t:abs(), k, false)
end

-- A class that prunes whole channels along dim: stay(self, t, dim, k) are those that k fewer leave.
local function structured(name, names, stay)
  local class = define(name, "structured", names)
  function class:compute_mask(t, default_mask)
    check_masked(name, t, default_mask)
    local dim = check_dim(name, t, self.dim)
    local k = count(name, self.amount, t:size(dim))
    if k == 0 then return default_mask end
    local mask = lucerna.zeros_like(t):index_fill(dim, stay(self, t, dim, k), 1)
    return mask * default_mask:to(mask.dtype)
  end
  return class
end

--- RandomStructured(amount, dim = -1): whole channels along dim, drawn at random.
prune.RandomStructured = structured("RandomStructured", { "amount", "dim" }, function(_, t, dim, k)
  local chances = lucerna.rand(t:size(dim))
  local threshold = chances:kthvalue(k)
  return chances:gt(threshold):nonzero():reshape(-1)
end)

--- LnStructured(amount, n, dim = -1): the whole channels along dim of least n-norm.
prune.LnStructured = structured("LnStructured", { "amount", "n", "dim" }, function(self, t, dim, k)
  local _, kept = t:norm(self.n, check.other_dims(t, dim)):topk(t:size(dim) - k)
  return kept
end)

local CustomFromMask = define("CustomFromMask", "global")

--- CustomFromMask(mask): what the mask has at 0.
function CustomFromMask:__init(...)
  self.mask = check.tensor("CustomFromMask", "mask", (arguments("CustomFromMask", { "mask" }, ...)))
end

function CustomFromMask:compute_mask(_, default_mask)
  if not check.same_size(default_mask, self.mask) then
    check.fail("CustomFromMask: mask has shape %s, the tensor %s", check.size(self.mask),
      check.size(default_mask))
  end
  return default_mask * self.mask:to(default_mask.dtype)
end

-- ---- functions ----

-- A function that applies the class to arguments of these names.
local function applies(name, class, names)
  local all = { "module", "name", table.unpack(names) }
  all.options = 4
  return function(...)
    local values = table.pack(arguments(name, all, ...))
    local options = {}
    for k, key in ipairs(names) do options[key] = values[k + 2] end
    if next(options) == nil then
      class.apply(values[1], values[2])
    else
      class.apply(values[1], values[2], options)
    end
    return values[1]
  end
end

--- identity(module, name): the state of a pruned tensor with nothing pruned. Returns the module.
prune.identity = applies("identity", Identity, {})

--- random_unstructured(module, name, amount): prunes elements drawn at random.
prune.random_unstructured = applies("random_unstructured", prune.RandomUnstructured, { "amount" })

--- l1_unstructured(module, name, amount, importance_scores): prunes the elements of least absolute
-- value, of the tensor or of the scores.
prune.l1_unstructured = applies("l1_unstructured", prune.L1Unstructured,
  { "amount", "importance_scores" })

--- random_structured(module, name, amount, dim): prunes channels along dim drawn at random.
prune.random_structured = applies("random_structured", prune.RandomStructured, { "amount", "dim" })

--- ln_structured(module, name, amount, n, dim, importance_scores): prunes the channels along dim
-- of least n-norm.
prune.ln_structured = applies("ln_structured", prune.LnStructured,
  { "amount", "n", "dim", "importance_scores" })

--- custom_from_mask(module, name, mask): prunes what the mask has at 0.
prune.custom_from_mask = applies("custom_from_mask", CustomFromMask, { "mask" })

-- {{module, name}, …} from an array or an iterator of such pairs.
local function read_pairs(who, parameters)
  local list = {}
  local function add(pair)
    if type(pair) ~= "table" then
      check.fail("%s: parameters: entry %d must be {module, name} (got %s)", who, #list + 1,
        core.kind_name(pair))
    end
    computed.parameter(who, pair[1], pair[2])
    list[#list + 1] = pair
  end
  if type(parameters) == "function" then
    for pair in parameters do add(pair) end
  elseif type(parameters) == "table" and not core.is_module(parameters) then
    for _, pair in ipairs(parameters) do add(pair) end
  else
    check.fail("%s(): parameters is not an Iterable", who)
  end
  return list
end

local function global_mask(who, list, class, scores, options)
  local values, masks = {}, {}
  for k, pair in ipairs(list) do
    local module, name = pair[1], pair[2]
    values[k] = (scores[module] and scores[module][name] or module[name]):detach()
    masks[k] = module[name .. "_mask"] or lucerna.ones_like(values[k])
  end
  local method = next(options) and class(options) or class()
  method._tensor_name = "temp"
  if method.PRUNING_TYPE ~= "unstructured" then
    check.fail('%s: Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found '
      .. "method %s of type %s", who, class.__name, method.PRUNING_TYPE)
  end
  return prune.PruningContainer(method):compute_mask(convert.parameters_to_vector(values),
    convert.parameters_to_vector(masks))
end

--- global_unstructured(parameters, pruning_method, importance_scores, {amount = n}): prunes tensors
-- as if they were one. parameters: {{module, name}, ...}; pruning_method: a class;
-- importance_scores: {[module] = {[name] = tensor}}; what else the last table has goes to the
-- class. Both may come by name in it.
function prune.global_unstructured(parameters, class, ...)
  local who, scores, options = "global_unstructured", nil, {}
  if type(class) == "table" and class.pruning_method then
    for key, item in pairs(class) do options[key] = item end
    options.pruning_method = nil
    return prune.global_unstructured(parameters, class.pruning_method, options)
  end
  if type(class) ~= "table" or class.compute_mask == nil then
    check.fail("%s: pruning_method must be a pruning method (got %s)", who, type(class))
  end
  for k = 1, select("#", ...) do
    local value = select(k, ...)
    if value ~= nil and type(value) ~= "table" then
      check.fail("%s(): importance_scores must be of type dict", who)
    end
    if k == 1 and type(next(value or {})) ~= "string" then
      scores = value
    else
      for key, item in pairs(value or {}) do options[key] = item end
    end
  end
  scores, options.importance_scores = scores or options.importance_scores or {}, nil
  if type(scores) ~= "table" then
    check.fail("%s(): importance_scores must be of type dict", who)
  end
  local list = read_pairs(who, parameters)
  local mask, at = global_mask(who, list, class, scores, options), 1
  for _, pair in ipairs(list) do
    local t = pair[1][pair[2]]
    prune.custom_from_mask(pair[1], pair[2], mask:narrow(1, at, t:numel()):view_as(t))
    at = at + t:numel()
  end
end

--- remove(module, name): makes pruning permanent: a plain parameter with zeros.
function prune.remove(...)
  local module, name = arguments("remove", { "module", "name" }, ...)
  local hook, id = find(check.module("remove", "module", module), name)
  if not hook then
    check.fail("Parameter '%s' of module %s has to be pruned before pruning can be removed", name,
      check.text(module))
  end
  hook:remove(module)
  core._remove_hook(module, id) -- where a class has a remove of its own
  return module
end

--- is_pruned(module): is any tensor of the module or below it pruned?
function prune.is_pruned(module)
  for m in check.module("is_pruned", "module", module):modules() do
    if find(m) then return true end
  end
  return false
end

return prune
