-- ParameterList and ParameterDict: parameters as lists and dictionaries. An entry is a slot of the
-- module's parameters. Tensors become parameters; another object is an ordinary field under the
-- name of an empty slot, which keeps its place among the entries.

local root = require "lucerna.core"
local arguments = require "lucerna.arguments"
local on_error = require "lucerna.on_error"
local container = require "lucerna.nn.container"

local core = root.nn
local fail, is_module, none = root._fail, core.is_module, root.none
local describe, is_a, by_name = core.kind_name, container.is_a, container.by_name
local type = type

local parameters = {}

local function who(self) return core.class_name(self) end

-- {name1, value1, …} of the entries, which may be nil, and twice their number.
local function entries(self)
  local flat, fields = core._slots(self, 0), core._fields(self)
  local n = #flat
  for i = 2, n, 2 do
    if not flat[i] then flat[i] = fields[flat[i - 1]] end
  end
  return flat, n
end

-- An object under the name of an empty slot, which a refused new one does not leave behind.
local function put_object(self, name, value)
  local new = not core._has_entry(self, name)
  core.register_parameter(self, name)
  local _ <close> = on_error(function()
    if new then core.delattr(self, name) end
  end)
  core._set_field(self, name, value)
end

--- Writes an entry: what d[name] = value and l[i] = value come to.
function parameters.put_entry(self, name, value)
  if value == none then value = nil end
  if type(name) ~= "string" then
    fail("Index given to ParameterDict cannot be used as a key as it is not a string (type is "
      .. "'%s')", type(name))
  end
  if root.is_tensor(value) and not core.is_parameter(value) then value = core.Parameter(value) end
  if value == nil then return core.register_parameter(self, name) end
  if core.is_parameter(value) then return self:register_parameter(name, value) end
  if is_module(value) or core._is_slot(self, name) then
    fail("cannot assign '%s' as parameter '%s' (nn.Parameter or nil expected)", describe(value),
      name)
  end
  put_object(self, name, value)
end
local put = parameters.put_entry

local Dict = container.dictionary(0)
parameters.ParameterDict = Dict

--- values(): an iterator of the values.
function Dict:values()
  container.check_self(self, "values")
  local flat, i = entries(self), 0
  return function()
    local value
    repeat
      i = i + 2
      value = flat[i]
    until value ~= nil or flat[i - 1] == nil
    return value
  end
end

function Dict:__pairs()
  local i = 0
  return function(flat)
    i = i + 2
    return flat[i - 1], flat[i]
  end, entries(self)
end

--- items(): an iterator of keys and values.
function Dict:items()
  container.check_self(self, "items")
  local step, flat = Dict.__pairs(self)
  return function() return step(flat) end
end

-- Puts the entries back if the block that holds this is left by an error.
local function all_or_nothing(self)
  local before, n = entries(self)
  return on_error(function()
    for name in Dict.keys(self) do core.delattr(self, name) end
    for i = 1, n, 2 do put(self, before[i], before[i + 1]) end
  end)
end

local OBJECTS = { integer = "int", float = "float", string = "str", boolean = "bool",
  ["nil"] = "NoneType" }

-- Python's name for the type of an object.
local function python_type(value)
  if type(value) == "table" and getmetatable(value) == nil then
    return (#value > 0 or next(value) == nil) and "list" or "dict"
  end
  return OBJECTS[math.type(value) or type(value)] or type(value)
end

-- The core writes NoneType where it has no parameter.
local function extra_repr(self)
  local flat, fields, i = core._slots(self, 0), core._fields(self), -1
  return (core.extra_repr(self):gsub("Object of type: NoneType", function()
    repeat i = i + 2 until not flat[i + 1]
    return "Object of type: " .. python_type(fields[flat[i]])
  end))
end

-- ---- ParameterList ----

local List = { extra_repr = extra_repr }
parameters.ParameterList = List

--- ParameterList(values): an array, ParameterList or iterator. l[i] is a value (from the end if
-- negative), l[{first, last}] a list that shares them; tensors become parameters.
function List:__init(...)
  local values = arguments(who(self), { "values" }, ...)
  if values ~= nil then self:extend(values) end
end

--- append(value): adds it at the end; a tensor becomes a parameter. Returns self.
function List:append(value)
  container.check_self(self, "append")
  put(self, tostring(#self), value)
  return self
end

local function collect(self, values)
  if container.is_plain(values) and (#values > 0 or next(values) == nil) then
    container.check_list(self, values)
    return values, #values
  end
  local list, n = {}, 0
  if is_a(values, "ParameterList") then
    for i = 1, #values do list[i] = values[i] end
    return list, #values
  elseif type(values) ~= "function" then
    fail("%s.extend should be called with an iterable, but got %s", who(self), describe(values))
  end
  for value in values do
    n = n + 1
    list[n] = value
  end
  return list, n
end

--- extend(values): appends all of an array, ParameterList or iterator; returns self.
function List:extend(values)
  container.check_self(self, "extend")
  local list, n = collect(self, values)
  local _ <close> = all_or_nothing(self)
  for i = 1, n do self:append(list[i]) end
  return self
end

function List:__pairs()
  local i, n = 0, #self
  return function()
    i = i + 1
    if i <= n then return i, self[i] end
  end
end

--- list[{first, last[, step]}]: a new list that shares the parameters.
local function slice(self, range)
  local result = core.class_of(self)()
  for _, i in ipairs(container.places(self, range, #self)) do result:append(self[i]) end
  return result
end

--- What container[{…}] gives, of modules or of parameters.
function parameters.slice(self, range)
  return (is_a(self, "ParameterList") and slice or container.slice)(self, range)
end

-- ---- ParameterDict ----

Dict.extra_repr = extra_repr

local function new() return core.layer("ParameterDict")() end

--- ParameterDict(values): pairs {{"a", t}, …}, a table with names (taken in sorted order), a
-- dictionary or an iterator of pairs. d.a or d["a"] is a value; whatever is assigned is an entry,
-- tensors as parameters. nil empties an entry, d:pop("a") removes it.
function Dict:__init(...)
  local values = container.one(self, ...)
  if values ~= nil then self:update(values) end
end

--- update(map): adds pairs in order, those of a plain table sorted by key.
function Dict:update(map)
  local names, values, n = container.read_pairs(self, map, "update")
  local _ <close> = all_or_nothing(self)
  for i = 1, n do put(self, names[i], values[i]) end
end

--- copy(): a new dictionary with the same parameters.
function Dict:copy()
  local result = new()
  result:update(self)
  return result
end

--- get(key, default): the value, or default if there is no such key.
function Dict:get(...)
  local key, default = by_name("get", { "key", "default" }, ...)
  if core._has_entry(self, key) then return self[key] end
  return default
end

--- setdefault(key, default): the value; a new key gets default first.
function Dict:setdefault(...)
  local key, default = by_name("setdefault", { "key", "default" }, ...)
  if not core._has_entry(self, key) then put(self, key, default) end
  return self[key]
end

--- fromkeys(keys, default): a new dictionary with these keys (a list or an iterator).
function Dict:fromkeys(keys, default)
  local result = new()
  if container.is_plain(keys) then
    for _, key in ipairs(keys) do put(result, key, default) end
  elseif type(keys) == "function" then
    for key in keys do put(result, key, default) end
  else
    fail("%s.fromkeys: keys must be a list or an iterator (got %s)", who(self), describe(keys))
  end
  return result
end

--- popitem(): removes the entry added last; returns its key and value.
function Dict:popitem()
  local last = core._last_entry(self)
  if not last then fail("%s.popitem: the dictionary is empty", who(self)) end
  return last, self:pop(last)
end

--- reversed(): an iterator of the keys, last first.
function Dict:reversed()
  local flat, i = entries(self)
  return function()
    i = i - 2
    return flat[i + 1]
  end
end

--- a | b: a new dictionary with the entries of both; b's win.
function Dict:__bor(other, second)
  local result = new()
  result:update(second and other or self)
  result:update(second and self or other)
  return result
end

return parameters
