-- Deep copies of modules, as Python's deepcopy makes them. The core copies trees, parameters and
-- buffers; here are the fields and hooks of Lua's. Every table, tensor and module is copied once,
-- so that what is shared, or goes round in circles, does so in the copy; functions are shared.

local root = require "lucerna.core"
local check_self = require("lucerna.nn.container").check_self
local ordered = require "lucerna.nn.ordered"

local core = root.nn

local copy -- of any value

local function copy_map(map, memo)
  local result = ordered.new()
  memo.values[map] = result
  for key, value in pairs(map) do result[copy(key, memo)] = copy(value, memo) end
  if map._metadata ~= nil then result._metadata = copy(map._metadata, memo) end
  return result
end

-- Tables whose metatable is hidden belong to somebody else, as classes do.
local function copy_table(value, memo)
  if ordered.is(value) then return copy_map(value, memo) end
  local meta = getmetatable(value)
  if meta ~= nil and type(meta) ~= "table" then return value end
  if meta and meta.__clone then return meta.__clone(value, memo, copy) end
  local result = {}
  memo.values[value] = result
  for key, item in next, value do rawset(result, copy(key, memo), copy(item, memo)) end
  return setmetatable(result, meta)
end

local function list_of(...)
  local list = {}
  for item in ... do list[#list + 1] = item end
  return list
end

-- All hooks of Lua's: {function, id, ...}; false for a function that is still to come.
local function hooks_of(module)
  local result, list = {}, core._hooks(module)
  for i = 4, #list, 4 do
    result[#result + 1], result[#result + 2] = list[i - 2], list[i]
  end
  return result
end

-- Hooks that compute a field before every forward have methods computes() and recompute(module).
local function computed(hooks)
  local found = {}
  for i = 1, #hooks, 2 do
    local hook = hooks[i]
    if type(hook) == "table" and hook.recompute then found[#found + 1] = hook end
  end
  return found
end

-- Names of the fields that hooks compute anew: those of the graph. A leaf is copied, since it need
-- not be what the hook would compute now, as long as no forward has run.
local function recomputed(from, hooks)
  local names, fields = {}, core._fields(from)
  for _, hook in ipairs(computed(hooks)) do
    local value = fields[hook:computes()]
    names[hook:computes()] = root.is_tensor(value) and not value.is_leaf
  end
  return names
end

local function copy_fields(from, to, hooks, memo)
  local skip = recomputed(from, hooks)
  for key, value in next, core._fields(from) do
    local named = type(key) == "string"
    local hidden = type(key) == "userdata" or (type(key) == "number" and core.is_module(value))
    if not hidden and not skip[key] and not (named and core._is_slot(from, key)) then
      local copied = copy(value, memo)
      if named then core._set_field(to, key, copied) else to[copy(key, memo)] = copied end
    end
  end
end

-- The core has copied the hooks' places, in order: here are their functions.
local function pair_ids(from, to, memo)
  local old, new = hooks_of(from), hooks_of(to)
  local ids = {}
  memo.ids[from] = ids
  for i = 2, #old, 2 do ids[old[i]] = new[i] end
  return old, new
end

local function copy_hooks(to, old, new, memo)
  for i = 1, #old, 2 do core._set_hook(to, new[i + 1], copy(old[i], memo)) end
  for _, hook in ipairs(computed(hooks_of(to))) do
    if to[hook:computes()] == nil then hook:recompute(to) end
  end
end

local function copy_module(module, memo)
  local result = core._clone(memo.copies, module)
  local from, to, new = list_of(core.modules(module)), list_of(core.modules(result)), {}
  for i, old in ipairs(from) do
    if memo.values[old] == nil then
      memo.values[old] = to[i]
      new[#new + 1] = { old, to[i], pair_ids(old, to[i], memo) }
    end
  end
  for _, pair in ipairs(new) do copy_fields(pair[1], pair[2], pair[3], memo) end
  for _, pair in ipairs(new) do copy_hooks(pair[2], pair[3], pair[4], memo) end
  return result
end

function copy(value, memo)
  local kind = type(value)
  if kind ~= "table" and kind ~= "userdata" then return value end
  local known = memo.values[value]
  if known ~= nil then return known end
  if kind == "table" then
    known = copy_table(value, memo)
  elseif root.is_tensor(value) then
    known = core._copy(memo.copies, value)
  elseif core.is_module(value) then
    known = copy_module(value, memo)
  else
    known = value
  end
  memo.values[value] = known
  return known
end

--- clone(): a deep copy: parameters (without gradients), buffers, children, fields, hooks. Tensors
-- in fields must be leaves.
return function(module)
  check_self(module, "clone")
  local result = copy(module, { values = {}, ids = {}, copies = core._copies() })
  return result
end
