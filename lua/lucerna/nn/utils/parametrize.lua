-- Parametrizations: a tensor of a module computed from other parameters whenever it is read. The
-- module becomes an instance of a subclass, ParametrizedLinear for Linear, with a property for the
-- tensor's name; the originals live in module.parametrizations[name]. Such classes are never
-- changed once they are made: one for each set of names, shared by all modules and their copies.

local lucerna = require "lucerna"
local nn = require "lucerna.nn"
local core = require("lucerna.core").nn
local arguments = require "lucerna.arguments"
local region = require "lucerna.region"
local check = require "lucerna.nn.utils.check"
local register = require("lucerna.nn.utils.computed").register

local parametrize = {}

-- ---- what parametrizations return ----

-- Results as {value, …}: several, or the entries of one table. `single`: it was one tensor.
local function read_inverse(...)
  local first = ...
  if select("#", ...) == 1 and type(first) == "table" and getmetatable(first) == nil then
    return first, false
  end
  return { ... }, select("#", ...) == 1
end

-- Applies right_inverse of the modules from the last to the first. A module without one, or whose
-- right_inverse returns nil (and why), leaves the value as it is; strict: is an error.
local function invert(list, value, strict)
  local values, single = { value }, true
  for k = #list, 1, -1 do
    local module = list[k]
    local why
    if module.right_inverse ~= nil then
      local results = table.pack(module:right_inverse(table.unpack(values)))
      if results[1] ~= nil then
        values, single = read_inverse(table.unpack(results, 1, results.n))
        goto continue
      end
      why = results[2]
    end
    if strict then
      check.fail(why or ("parametrization %s does not implement right_inverse."):format(
        core.class_name(module)))
    end
    ::continue::
  end
  return values, single
end

-- A parametrization keeps dtype and shape unless `unsafe`. before, after: how the two tensors are
-- called in the message.
local function check_same(new, dtype, like, before, after, what)
  if new.dtype ~= dtype then
    check.fail("%s %sdtype: %s %sdtype: %s", what:format("dtype"), before, dtype, after, new.dtype)
  end
  if not check.same_size(new, like) then
    check.fail("%s %sshape: %s %sshape: %s", what:format("shape"), before, check.size(like),
      after, check.size(new))
  end
end

local function check_tensor(value)
  if not lucerna.is_tensor(value) then
    check.fail("A parametrization must return a tensor. Got %s.", check.type_name(value))
  end
end

-- ---- ParametrizationList ----

local ParametrizationList = nn.class("ParametrizationList", nn.ModuleList)
parametrize.ParametrizationList = ParametrizationList

-- One original: it becomes what right_inverse made of it and stays the same parameter.
local function keep_one(self, original, new)
  if new.dtype ~= original.dtype then
    check.fail("When `right_inverse` outputs one tensor, it may not change the dtype. "
      .. "original.dtype: %s right_inverse(original).dtype: %s", original.dtype, new.dtype)
  end
  if not rawequal(new, original) then original.data = new:detach() end
  register(self, "original", original)
end

-- Several, under the names original0, original1, …
local function keep_several(self, original, values)
  for k, value in ipairs(values) do
    if not lucerna.is_tensor(value) then
      check.fail("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
        .. "Got element %d of the sequence with type %s.", k, check.type_name(value))
    end
    if core.is_parameter(original) then
      value = core.Parameter(value, original.requires_grad)
    else
      value = value:detach():requires_grad_(original.requires_grad)
    end
    register(self, "original" .. k - 1, value)
  end
end

local function check_output(self, dtype, like)
  local z = self()
  check_tensor(z)
  check_same(z, dtype, like, "unparametrized ", "parametrized ", "Registering a parametrization "
    .. "may not change the %s of the tensor, unless `unsafe` flag is enabled.")
end

--- ParametrizationList(modules, original, unsafe = false): the parametrizations of one tensor and
-- its original, or originals. register_parametrization makes it.
function ParametrizationList:__init(modules, original, unsafe)
  if #modules == 0 then check.fail("ParametrizationList requires one or more modules.") end
  nn.ModuleList.__init(self, modules)
  self.unsafe = unsafe or false
  local like, dtype = original:detach(), original.dtype
  local values, single = lucerna.no_grad(invert, modules, original)
  if single and not lucerna.is_tensor(values[1]) then
    check.fail("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
      .. "Got %s", check.type_name(values[1]))
  end
  self.is_tensor, self.ntensors = single, #values
  check.transaction(function(undo)
    undo(function() original.data = like end)
    if single then
      keep_one(self, original, values[1])
    else
      keep_several(self, original, values)
    end
    if not self.unsafe then check_output(self, dtype, like) end
  end)
end

local function originals(self)
  if self.is_tensor then return self.original end
  local list = {}
  for k = 1, self.ntensors do list[k] = self["original" .. k - 1] end
  return table.unpack(list)
end

function ParametrizationList:forward()
  local x = self[1](originals(self))
  for k = 2, #self do x = self[k](x) end
  return x
end

local function check_one(self, value)
  if not lucerna.is_tensor(value) then
    check.fail("`right_inverse` should return a tensor. Got %s", check.type_name(value))
  end
  if value.dtype ~= self.original.dtype then
    check.fail("The tensor returned by `right_inverse` has dtype %s while `original` has dtype %s",
      value.dtype, self.original.dtype)
  end
end

local function check_several(self, values, single)
  if single then
    check.fail("'right_inverse' must return a sequence of tensors. Got %s.",
      check.type_name(values[1]))
  end
  if #values ~= self.ntensors then
    check.fail("'right_inverse' must return a sequence of tensors of length %d. Got a sequence of "
      .. "length %d.", self.ntensors, #values)
  end
  for k, value in ipairs(values) do
    local original = self["original" .. k - 1]
    if not lucerna.is_tensor(value) then
      check.fail("`right_inverse` must return a sequence of tensors. Got element %d of type %s", k,
        check.type_name(value))
    end
    if value.dtype ~= original.dtype then
      check.fail("Tensor %d returned by `right_inverse` has dtype %s while `original%d` has dtype "
        .. "%s", k, value.dtype, k - 1, original.dtype)
    end
  end
end

--- right_inverse(value): what assigning to the tensor does: the originals become what
-- right_inverse of the parametrizations, from the last to the first, makes of the value.
function ParametrizationList:right_inverse(value)
  check.tensor("right_inverse", "value", value)
  local list = {}
  for k = 1, #self do list[k] = self[k] end
  local values, single = lucerna.no_grad(invert, list, value, true)
  if self.is_tensor then
    check_one(self, single and values[1] or values)
    self.original.data = values[1]:detach()
    return
  end
  check_several(self, values, single)
  check.transaction(function(undo)
    for k, tensor in ipairs(values) do
      local original = self["original" .. k - 1]
      local before = original:detach()
      undo(function() original.data = before end)
      original.data = tensor:detach()
    end
  end)
end

-- ---- caching ----

-- The innermost of the caches in force: {values = {[module] = {[name] = tensor}}, closed, outer}.
local cache
local Cache = { __name = "parametrize.cached" }

-- Caches need not end in order: one that ended goes when it is the innermost.
function Cache.__close(self)
  self.closed = true
  while cache and cache.closed do cache = cache.outer end
end

function Cache.__call(self)
  self.outer = cache
  cache = self
end

--- cached(f, ...) runs f; until it ends, parametrized tensors are computed once and kept (not
-- while f has yielded). `local _ <close> = cached()` does it for the rest of a block.
function parametrize.cached(...)
  local values = cache and cache.values or {}
  return region("cached", function()
    return setmetatable({ values = values, closed = false }, Cache)
  end, ...)
end

-- ---- classes ----

local function child(module, name)
  local _, found = core._has_slot(module, name, 2)
  return found
end

-- The ModuleDict of a parametrized module, or nil.
local function dictionary(module)
  local found = core.is_module(module) and child(module, "parametrizations")
  return found and core.isinstance(found, nn.ModuleDict) and found or nil
end

local function compute(module, name)
  local list = child(module.parametrizations, name)
  if not cache then return list() end
  local values = cache.values[module] or {}
  cache.values[module] = values
  if values[name] == nil then values[name] = list() end
  return values[name]
end

local WEAK_KEYS = { __mode = "k" }
local properties = setmetatable({}, { __mode = "v" }) -- by name: what reads and assigns it

local function property(name)
  local found = properties[name]
  if not found then
    found = nn.property(function(module) return compute(module, name) end,
      function(module, value) child(module.parametrizations, name):right_inverse(value) end)
    properties[name] = found
  end
  return found
end

local made = setmetatable({}, WEAK_KEYS)  -- class -> names, joined -> its parametrized class
local bases = setmetatable({}, WEAK_KEYS) -- parametrized class -> the class before

-- The class for instances of Base whose tensors of these names are computed.
local function class_for(Base, names)
  if #names == 0 then return Base end
  table.sort(names)
  local key = table.concat(names, "\0")
  made[Base] = made[Base] or {}
  local class = made[Base][key]
  if not class then
    class = nn.class("Parametrized" .. core.class_name(Base), Base)
    for _, name in ipairs(names) do class[name] = property(name) end
    made[Base][key], bases[class] = class, Base
  end
  return class
end

--- type_before_parametrizations(module): its class, or the one it had before.
function parametrize.type_before_parametrizations(module)
  local class = core.class_of(check.module("type_before_parametrizations", "module", module))
  return bases[class] or class
end

-- Makes the module's class fit the names in its dictionary, without `less`.
local function set_class(module, dict, less)
  local names, children = {}, core._slots(dict, 2)
  for k = 1, #children, 2 do
    if children[k] ~= less then names[#names + 1] = children[k] end
  end
  core._set_class(module, class_for(parametrize.type_before_parametrizations(module), names))
end

-- ---- registering ----

--- is_parametrized(module, tensor_name): is that tensor, or any of the module's own, parametrized?
function parametrize.is_parametrized(...)
  local module, name = arguments("is_parametrized", { "module", "tensor_name" }, ...)
  local dict = dictionary(module)
  if not dict then return false end
  if name == nil then return #dict > 0 end
  return child(dict, name) ~= nil
end

-- A parametrization on top of others keeps dtype and shape, and so does its right_inverse.
local function check_added(module, name, parametrization)
  local y = module[name]
  local x = parametrization(y)
  check_tensor(x)
  local before = ("module.%s."):format(name)
  check_same(x, y.dtype, y, before, ("parametrization(module.%s)."):format(name), "Registering a "
    .. "parametrization may not change the %s of the tensor, unless the `unsafe` flag is enabled.")
  if parametrization.right_inverse == nil then return end
  local z = parametrization:right_inverse(x)
  if z == nil then return end
  if not lucerna.is_tensor(z) then
    check.fail("parametrization.right_inverse must return a tensor. Got: %s", check.type_name(z))
  end
  check_same(z, y.dtype, y, before, "returned ", "The tensor returned by parametrization."
    .. "right_inverse must have the same %s as module." .. name .. ", unless the `unsafe` flag is "
    .. "enabled.")
end

local function add_first(module, name, parametrization, unsafe, prepare)
  local original, before, class = module[name], module[name]:detach(), core.class_of(module)
  local dict = dictionary(module)
  check.transaction(function(undo)
    undo(function() original.data = before end)
    local list = ParametrizationList({ parametrization }, original, unsafe)
    undo(function()
      core._set_class(module, class)
      if not core._is_slot(module, name) then register(module, name, original) end
    end)
    if not dict then
      dict = nn.ModuleDict()
      undo(function()
        if dictionary(module) then core.delattr(module, "parametrizations") end
      end)
      module.parametrizations = dict
    end
    undo(function() if child(dict, name) then core.delattr(dict, name) end end)
    dict[name] = list
    if prepare then
      check.take_back_hooks(module, undo)
      prepare()
    end
    set_class(module, dict)
    return core.delattr(module, name)
  end)
end

local function is_tensor_slot(module, name)
  local value = core._is_slot(module, name) and module[name]
  return lucerna.is_tensor(value)
end

local function add_more(module, name, parametrization, unsafe)
  if not unsafe then check_added(module, name, parametrization) end
  local list = child(module.parametrizations, name)
  local before, n = list.unsafe, #list
  check.transaction(function(undo)
    undo(function()
      if #list > n then core.delattr(list, -1) end
      list.unsafe = before
    end)
    list.unsafe = before or unsafe or false
    list:append(parametrization)
  end)
end

-- Registers a parametrization; prepare() registers hooks of the module for it, if it is the first.
function parametrize._register(module, name, parametrization, unsafe, prepare)
  parametrization:train(module.training)
  if parametrize.is_parametrized(module, name) then
    add_more(module, name, parametrization, unsafe)
  elseif is_tensor_slot(module, name) then
    add_first(module, name, parametrization, unsafe, prepare)
  else
    check.fail("Module '%s' does not have a parameter, a buffer, or a parametrized element with "
      .. "name '%s'", check.text(module), name)
  end
  return module
end

--- register_parametrization(module, tensor_name, parametrization, {unsafe = false}): from now on
-- module[tensor_name] is parametrization(original). A method right_inverse of the parametrization
-- gives the original (or originals, as several results) that make a value; it is called now and
-- when the tensor is assigned. Returns the module.
function parametrize.register_parametrization(...)
  local who = "register_parametrization"
  local module, name, parametrization, unsafe = arguments(who,
    { "module", "tensor_name", "parametrization", "unsafe", options = 4 }, ...)
  check.module(who, "module", module)
  check.string(who, "tensor_name", name)
  check.module(who, "parametrization", parametrization)
  parametrize._register(module, name, parametrization, unsafe)
  return module -- no tail call: messages name the function that was called
end

-- The tensor to be left in place of the parametrized one, and the value it is to have, or nil.
local function leave(module, name, list, leave_parametrized)
  if list.is_tensor then
    local value = leave_parametrized and lucerna.no_grad(function() return module[name] end)
    return list.original, value and value:detach() or nil
  end
  if not leave_parametrized then
    check.fail("Cannot leave unparametrized (`leave_parametrized=false`) a tensor that is "
      .. "parametrized in terms of a sequence of tensors.")
  end
  local value = module[name]
  return value.requires_grad and core.Parameter(value) or value
end

--- remove_parametrizations(module, tensor_name, leave_parametrized = true): an ordinary parameter
-- or buffer again, with the value it has or (false) the original's. Returns the module.
function parametrize.remove_parametrizations(...)
  local who = "remove_parametrizations"
  local module, name, leave_parametrized = arguments(who,
    { "module", "tensor_name", "leave_parametrized", options = 3 }, ...)
  check.module(who, "module", module)
  if not parametrize.is_parametrized(module, check.string(who, "tensor_name", name)) then
    check.fail("Module %s does not have a parametrization on %s", check.text(module), name)
  end
  local dict, class = module.parametrizations, core.class_of(module)
  local list = child(dict, name)
  local tensor, value = leave(module, name, list, leave_parametrized ~= false)
  check.transaction(function(undo)
    undo(function()
      if core._is_slot(module, name) then core.delattr(module, name) end
      core._set_class(module, class)
    end)
    set_class(module, dict, name)
    register(module, name, tensor)
    local before = tensor:detach()
    undo(function() tensor.data = before end)
    if value then tensor.data = value end
    if #dict > 1 then return core.delattr(dict, name) end
    undo(function() if not child(dict, name) then dict[name] = list end end)
    core.delattr(dict, name)
    return core.delattr(module, "parametrizations")
  end)
  return module
end

local function transfer_one(from, to, name)
  if to[name] == nil then to[name] = core.Parameter(from[name]) end
  local list = child(from.parametrizations, name)
  for k = 1, #list do parametrize.register_parametrization(to, name, list[k]) end
  local target = child(to.parametrizations, name)
  if list.is_tensor then
    target.original = list.original
  else
    for k = 0, list.ntensors - 1 do target["original" .. k] = list["original" .. k] end
  end
end

--- transfer_parametrizations_and_params(from_module, to_module, tensor_name): the parametrizations
-- of one tensor, or of all, and their parameters, shared from now on. Returns to_module.
function parametrize.transfer_parametrizations_and_params(...)
  local who = "transfer_parametrizations_and_params"
  local from, to, name = arguments(who, { "from_module", "to_module", "tensor_name" }, ...)
  check.module(who, "from_module", from)
  check.module(who, "to_module", to)
  if not parametrize.is_parametrized(from) then return to end
  if name ~= nil then
    transfer_one(from, to, name)
    return to
  end
  local children = core._slots(from.parametrizations, 2)
  for k = 1, #children, 2 do transfer_one(from, to, children[k]) end
  return to
end

return parametrize
