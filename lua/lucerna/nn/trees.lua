-- What nn.Module does over whole trees. Trees in which no class and no module has methods of its
-- own are the core's; else the walks here call them where PyTorch calls them.

local root = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local check_self = require("lucerna.nn.container").check_self
local modes = require "lucerna.modes"
local scoped = require "lucerna.scoped"
local shape_text = require "lucerna.shape_text"

local core = root.nn
local fail, is_tensor = root._fail, root.is_tensor
local is_module, overrides, overridden = core.is_module, core._overrides, core._overridden
local type = type

local mask = core._override_mask
local CHILDREN = mask("children", "named_children")
local TRAIN, APPLY, CONVERT = mask "train", mask "apply", mask "_apply"
local NAMED_MODULES = mask "named_modules"

local Module = {}

-- ---- walks through methods of Lua ----

-- The modules that a recursion over children() reaches from self, with whether one has the method
-- (a mask) or the children of its own: then the method goes on below it.
local function visit(self, method, post)
  if not overrides(self, CHILDREN) then return core._visit(self, method | CHILDREN, post) end
  local list, i = post and {} or { self }, 0
  for child in self:children() do list[#list + 1] = child end
  if post then list[#list + 1] = self end
  return function()
    i = i + 1
    return list[i], list[i] ~= self
  end
end

-- The second results of an iterator.
local function values(step, state, key)
  return function()
    local value
    key, value = step(state, key)
    return value
  end
end

local function each(list)
  local i = -1
  return function()
    i = i + 2
    return list[i], list[i + 1]
  end
end

-- named_modules as PyTorch's recursion goes, without recursion: names and modules in a list.
local function list_modules(root_module, memo, prefix, remove_duplicate)
  local list, stack = {}, {}
  local function add(path, m)
    list[#list + 1], list[#list + 2] = path, m
  end
  local function enter(path, m)
    if memo[m] then return end
    if remove_duplicate then memo[m] = true end
    add(path, m)
    stack[#stack + 1] = { path = path, children = core._slots(m, 2), next = 1 }
  end
  enter(prefix, root_module)
  while #stack > 0 do
    local top = stack[#stack]
    local name, child = top.children[top.next], top.children[top.next + 1]
    top.next = top.next + 2
    local path = top.path ~= "" and name and top.path .. "." .. name or name
    if name == nil then
      stack[#stack] = nil
    elseif child and overrides(child, NAMED_MODULES) then
      for below, m in child:named_modules(memo, path, remove_duplicate) do add(below, m) end
    elseif child then
      enter(path, child)
    end
  end
  return list
end

local walks = {}

function walks.named_modules(self, prefix, _, remove_duplicate, memo)
  if memo ~= nil and type(memo) ~= "table" then
    fail("named_modules: memo must be a table whose keys are modules (got %s)", type(memo))
  end
  return each(list_modules(self, memo or {}, prefix, remove_duplicate))
end

function walks.modules(self) return values(self:named_modules()) end

function walks.children(self) return values(self:named_children()) end

function walks.named_parameters(self, prefix, recurse, remove_duplicate)
  return self:_named_members(function(m) return pairs(m._parameters) end, prefix, recurse,
    remove_duplicate)
end

function walks.named_buffers(self, prefix, recurse, remove_duplicate)
  return self:_named_members(function(m) return pairs(m._buffers) end, prefix, recurse,
    remove_duplicate)
end

function walks.parameters(self, _, recurse)
  return values(self:named_parameters { recurse = recurse })
end

function walks.buffers(self, _, recurse) return values(self:named_buffers { recurse = recurse }) end

function walks.requires_grad_(self, _, _, _, on)
  for p in self:parameters() do p:requires_grad_(on) end
  return self
end

function walks.zero_grad(self, _, _, _, set_to_none)
  for p in self:parameters() do
    local grad = p.grad
    if not grad or set_to_none then
      p.grad = nil
    elseif grad.requires_grad then
      p.grad = root.zeros_like(grad)
    else
      grad:zero_()
    end
  end
end

--- _named_members(f, prefix="", recurse=true, remove_duplicate=true): iterates over the names and
-- values that f(m) iterates over, for this module and those below it.
function Module:_named_members(...)
  check_self(self, "_named_members")
  local f, prefix, recurse, remove_duplicate = arguments("_named_members",
    { "get_members_fn", "prefix", "recurse", "remove_duplicate", options = 2 }, ...)
  check.callable("_named_members", "get_members_fn", f)
  prefix = prefix or ""
  local list, memo = {}, {}
  local function add(path, m)
    local iterator, state, first = f(m)
    check.callable("_named_members", "what get_members_fn returns", iterator)
    for name, value in iterator, state, first do
      if value ~= nil and not memo[value] then
        if remove_duplicate ~= false then memo[value] = true end
        list[#list + 1] = path ~= "" and path .. "." .. name or name
        list[#list + 1] = value
      end
    end
  end
  if recurse == false then
    add(prefix, self)
  else
    for path, m in
      self:named_modules { prefix = prefix, remove_duplicate = remove_duplicate ~= false }
    do
      add(path, m)
    end
  end
  return each(list)
end

-- ---- modes ----

local MODE = { "mode", options = 1 } -- what train takes

--- train(mode=true): sets the mode of this module and all below it.
function Module:train(...)
  check_self(self, "train")
  local mode = arguments("train", MODE, ...)
  if mode == nil then mode = true end
  if type(mode) ~= "boolean" then
    fail("train: training mode is expected to be boolean (got %s)", type(mode))
  end
  if not overrides(self, CHILDREN) and not overridden(self, TRAIN | CHILDREN) then
    return core._train(self, mode)
  end
  for m, own in visit(self, TRAIN) do
    if own then m:train(mode) else m.training = mode end
  end
  return self
end

--- eval(): train(false).
function Module:eval()
  check_self(self, "eval")
  return self:train(false)
end

--- apply(f): calls f on every module below, children first, then on this one.
function Module:apply(...)
  local f = arguments("apply", { "fn" }, ...)
  check.callable("apply", "fn", f)
  for m, own in visit(self, APPLY, true) do
    if own then m:apply(f) else f(m) end
  end
  return self
end

-- ---- conversion ----

local function check_converted(param, value)
  if not is_tensor(value) then
    fail("_apply: fn must return a Tensor (got %s)", type(value))
  end
  local good = value.dtype.is_floating_point or value.dtype.is_complex
  if param and param.requires_grad and not good then
    fail("data set to a tensor that requires gradients must be floating point or complex dtype")
  end
  return value
end

local function describe(t)
  return ("%s %s"):format(t.dtype, shape_text(t.shape))
end

local function convert_grad(grad, data, f)
  local value = check_converted(nil, f(grad))
  if describe(value) ~= describe(data) then
    fail("_apply: fn must make a gradient like its parameter (got %s, the parameter %s)",
      describe(value), describe(data))
  end
  return value:requires_grad_(grad.requires_grad)
end

-- What f makes of a module's own tensors, added to the changes.
local function convert_own(m, f, changes)
  local parameters, buffers = core._slots(m, 0), core._slots(m, 1)
  for i = 2, #parameters, 2 do
    local p = parameters[i]
    if p and not changes[p] then
      local grad = p.grad
      local change = { param = p, data = check_converted(p, f(p)) }
      if grad then change.grad = convert_grad(grad, change.data, f) end
      changes[p], changes[#changes + 1] = true, change
    end
  end
  for i = 2, #buffers, 2 do
    if buffers[i] then
      local value = check_converted(nil, f(buffers[i]))
      if value ~= buffers[i] then
        changes[#changes + 1] = { module = m, name = buffers[i - 1], buffer = value }
      end
    end
  end
end

local function commit(changes)
  for _, change in ipairs(changes) do
    if change.buffer then
      core._replace_buffer(change.module, change.name, change.buffer)
    elseif change.data ~= change.param then
      change.param.grad = nil
      change.param.data = change.data
      change.param.grad = change.grad
    elseif change.grad then
      change.param.grad = change.grad
    end
  end
end

local function convert(self, f, recurse)
  local changes = {}
  if recurse == false then
    convert_own(self, f, changes)
  else
    for m, own in visit(self, CONVERT, true) do
      if own then m:_apply(f) else convert_own(m, f, changes) end
    end
  end
  commit(changes)
end

--- _apply(f, recurse=true): replaces all tensors by what f makes of them, without recording.
-- Parameters keep their identity, gradients follow, buffers are replaced. Everything is converted
-- before anything changes, but for modules below that have an _apply of their own.
function Module:_apply(...)
  local f, recurse = arguments("_apply", { "fn", "recurse", options = 2 }, ...)
  check.callable("_apply", "fn", f)
  scoped(modes.unrecorded, convert, self, f, recurse)
  return self
end

-- Do conversions of self have to go through _apply?
local function applies(self)
  return overrides(self, CONVERT | CHILDREN) or overridden(self, CONVERT | CHILDREN)
end

local function same(t) return t end

local function cast(self, who, dtype)
  check_self(self, who)
  if dtype == nil then return applies(self) and self:_apply(same) or self end
  if not applies(self) then return core._to_dtype(self, dtype) end
  return self:_apply(function(t)
    local changes = t:is_floating_point() or t:is_complex() and dtype.is_complex
    return changes and t:to(dtype) or t
  end)
end

local function refuse_to(value)
  local given = type(value) == "string" and "'" .. value .. "'" or type(value)
  fail("to: expected a tensor, a dtype such as 'float32' or the device 'cpu', the only one in this "
    .. "build (got %s)", given)
end

local function to_dtype(value)
  local dtype = value
  if type(value) == "string" then dtype = root[value] end
  local good, float = pcall(function() return dtype.is_floating_point end)
  if not good or type(float) ~= "boolean" then refuse_to(value) end
  if not float and not dtype.is_complex then
    fail("nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=%s",
      dtype)
  end
  return dtype
end

local FORMS = {
  tensor = { "tensor", "non_blocking", "copy", "memory_format", options = 2 },
  dtype = { "dtype", "non_blocking", "copy", "memory_format", options = 2 },
  device = { "device", "dtype", "non_blocking", "copy", "memory_format", "tensor", options = 1 },
}

-- The dtype that to's arguments ask for, or nil.
local function parse_to(first, ...)
  local form = "device"
  if is_tensor(first) then
    form = "tensor"
  elseif first ~= nil and type(first) ~= "table" then
    local named = type(first) == "string" and (first:find("^cpu") or not root[first])
    form = named and "device" or "dtype"
  end
  local given = { arguments("to", FORMS[form], first, ...) }
  for i, name in ipairs(FORMS[form]) do given[name] = given[i] end
  if given.memory_format ~= nil then
    fail("to: memory_format is not supported (tensors keep the contiguous one)")
  end
  if not check.is_here(given.device) then refuse_to(given.device) end
  if given.tensor ~= nil then return to_dtype(given.tensor.dtype) end
  return given.dtype ~= nil and to_dtype(given.dtype) or nil
end

--- to(dtype), to(device), to(device, dtype), to(tensor), to{device=, dtype=}: converts floating
-- point parameters and buffers; those of integers stay as they are.
function Module:to(...)
  return cast(self, "to", select("#", ...) > 0 and parse_to(...) or nil)
end

function Module:float() return cast(self, "float", root.float32) end
function Module:double() return cast(self, "double", root.float64) end
function Module:half() return cast(self, "half", root.float16) end
function Module:bfloat16() return cast(self, "bfloat16", root.bfloat16) end

--- type(dtype): converts all parameters and buffers, those of integers too.
function Module:type(...)
  local dst_type = arguments("type", { "dst_type" }, ...)
  if dst_type == nil then fail("type: argument 'dst_type' is missing") end
  if not applies(self) then return core._to_dtype(self, dst_type, true) end
  return self:_apply(function(t) return t:to(dst_type) end)
end

--- cpu(): everything is there already; calls _apply where a module has its own.
function Module:cpu() return cast(self, "cpu") end

for _, kind in ipairs { "cuda", "xpu", "ipu", "mtia" } do
  --- cuda(device), xpu(device), ipu(device), mtia(device): fail where no such device is available.
  Module[kind] = function(self, ...)
    local device = arguments(kind, { "device" }, ...)
    local wanted = type(device) == "number" and kind .. ":" .. device or device or kind
    check.device(kind, "device", wanted)
    return cast(self, kind)
  end
end

--- compile(): nothing to do: modules written in C run without Lua, and results are the same.
function Module:compile() end

--- share_memory(): nothing to do: the threads of a process share all memory.
function Module:share_memory() return cast(self, "share_memory") end

--- to_empty{device=, recurse=true}: gives all parameters and buffers new, uninitialized memory.
function Module:to_empty(...)
  check_self(self, "to_empty")
  local device, recurse = arguments("to_empty", { "device", "recurse", options = 2 }, ...)
  check.device("to_empty", "device", device)
  return self:_apply(function(t) return root.empty_like(t) end, recurse ~= false)
end

-- ---- paths ----

--- set_submodule(target, module, strict=false): puts module in the place of the one at a dotted
-- path, or adds it there (not if strict).
function Module:set_submodule(...)
  local target, module, strict =
    arguments("set_submodule", { "target", "module", "strict", options = 3 }, ...)
  if type(target) ~= "string" or target == "" then
    fail("set_submodule: Cannot set the submodule without a target name!")
  end
  if not is_module(module) then
    fail("set_submodule: `module` is not an nn.Module, found %s", core.kind_name(module))
  end
  local path, name = target:match("^(.*)%.([^.]*)$")
  local parent = self:get_submodule(path or "")
  name = name or target
  local old = parent[name]
  local known = old ~= nil or core._has_slot(parent, name)
  if strict and not known then
    fail("set_submodule: %s has no attribute `%s`", parent:_get_name(), name)
  end
  if known and not is_module(old) then
    fail("set_submodule: `%s` is not an nn.Module", name)
  end
  parent[name] = module
end

-- ---- fields ----

-- Positions and slots are cached in the table behind a module.
local function is_field(self, key, value)
  if type(key) == "userdata" then return false end
  if type(key) == "number" then return not is_module(value) end
  return type(key) ~= "string" or not core._is_slot(self, key)
end

-- Names of ordinary fields: constructor arguments, then what was assigned, sorted.
local function field_names(self)
  local names, config = core._config_names(self), {}
  for _, name in ipairs(names) do config[name] = true end
  local own = {}
  for key, value in next, core._fields(self) do
    if is_field(self, key, value) and not config[key] then own[#own + 1] = key end
  end
  table.sort(own, function(a, b)
    if type(a) ~= type(b) then return type(a) < type(b) end
    if type(a) == "number" then return a < b end
    return root._before(tostring(a), tostring(b))
  end)
  table.move(own, 1, #own, #names + 1, names)
  return names
end

-- Names of fields, parameters, buffers and children, in this order.
local function names_of(self)
  local names = field_names(self)
  for _, flat in ipairs { core._slots(self, 0), core._slots(self, 1), core._slots(self, 2) } do
    for k = 1, #flat, 2 do names[#names + 1] = flat[k] end
  end
  return names
end

--- pairs(m): ordinary fields, parameters, buffers and children that are there.
local function module_pairs(self)
  local names, i = names_of(self), 0
  return function()
    local name, value
    repeat
      i = i + 1
      name = names[i]
      if name ~= nil then value = self[name] end
    until name == nil or value ~= nil
    return name, value
  end
end

--- _replicate_for_data_parallel(): a shallow copy without parameters that shares buffers, children
-- and fields; _is_replica is true in it.
function Module:_replicate_for_data_parallel()
  if core._has_uninitialized(self) then
    fail("Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy "
      .. "forward pass to correctly initialize the modules")
  end
  local replica = core._replicate(self)
  for key, value in next, core._fields(self) do
    if is_field(self, key, value) then core._set_field(replica, key, value) end
  end
  local buffers, children = core._slots(self, 1), core._slots(self, 2)
  for i = 1, #buffers, 2 do
    local persistent = core._is_persistent(self, buffers[i])
    core.register_buffer(replica, buffers[i], buffers[i + 1] or nil, persistent)
  end
  for i = 1, #children, 2 do
    core.add_module(replica, children[i], children[i + 1] or nil)
  end
  replica._is_replica = true
  return replica
end

return { Module = Module, walks = walks, pairs = module_pairs, names = names_of }
