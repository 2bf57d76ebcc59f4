-- Sequential, ModuleList and ModuleDict: the methods that make modules lists and dictionaries.
-- Positions count from 1; the names of children stay PyTorch's ("0", "1", …). What adds several
-- entries adds all or none.

local root = require "lucerna.core"
local arguments = require "lucerna.arguments"
local check = require "lucerna.check"
local on_error = require "lucerna.on_error"
local ordered = require "lucerna.nn.ordered"

local core = root.nn
local fail, is_module = root._fail, core.is_module
local type = type

local container = {}

-- ---- arguments ----

local describe = core.kind_name

--- Is it an instance of the class of that name?
function container.is_a(value, name)
  return is_module(value) and core.isinstance(value, core.layer(name))
end
local is_a = container.is_a

local function who(self) return core.class_name(self) end

--- Raises unless self is a module: methods can be taken from their class.
function container.check_self(self, method)
  if not is_module(self) then
    fail("%s: self must be a module (got %s)", method, describe(self))
  end
end

-- A value must be a module, or none for an empty slot. What it is called, "entry %s", is said of
-- its place.
local function check_module(self, value, called, place)
  if is_module(value) or value == root.none then return end
  fail("%s: %s: %s is not a Module subclass", who(self), called:format(place), describe(value))
end

local function is_plain(value) return type(value) == "table" and getmetatable(value) == nil end
container.is_plain = is_plain

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do
    if type(name) ~= "string" then return nil, name end
    names[#names + 1] = name
  end
  table.sort(names, root._before)
  return names
end

--- The argument of a constructor that takes one, which may be a table with names.
function container.one(self, ...)
  if select("#", ...) > 1 then
    fail("%s: takes at most 1 arguments (got %d)", who(self), select("#", ...))
  end
  return (...)
end

-- Arguments of a method: a plain table in the place of the first may hold all of them by name.
local function by_name(method, names, first, ...)
  if is_plain(first) then return arguments(method, names, first, ...) end
  return first, ...
end
container.by_name = by_name

local function check_list(self, list)
  local key = check.stray(list)
  if key then fail("%s: a key '%s' among entries without one", who(self), key) end
end
container.check_list = check_list

-- {{"a", m}, …}: lists are checked as PyTorch does.
local function read_list(self, list)
  local keys, values = {}, {}
  check_list(self, list)
  for i, pair in ipairs(list) do
    if not is_plain(pair) then
      fail("%s update sequence element #%d should be Iterable; is %s", who(self), i,
        describe(pair))
    elseif #pair ~= 2 then
      fail("%s update sequence element #%d has length %d; 2 is required", who(self), i, #pair)
    end
    keys[i], values[i] = pair[1], pair[2]
  end
  return keys, values, #list
end

local function is_dictionary(value)
  return ordered.is(value) or is_a(value, "ModuleDict") or is_a(value, "ParameterDict")
end

--- Keys and values of {{"a", m}, …}, of {a = m, …} (sorted), of an ordered map, a dictionary of
-- modules or parameters, or an iterator of pairs. Returns two arrays and their length.
function container.read_pairs(self, map, method)
  local keys, values, n = {}, {}, 0
  local function add(key, value)
    n = n + 1
    keys[n], values[n] = key, value
  end
  if type(map) == "function" then
    for key, value in map do add(key, value) end
  elseif is_dictionary(map) then
    for key, value in pairs(map) do add(key, value) end
  elseif not is_plain(map) then
    fail("%s.%s should be called with an iterable of key/value pairs, but got %s", who(self),
      method, describe(map))
  elseif #map > 0 then
    return read_list(self, map)
  else
    local names, other = sorted_names(map)
    if not names then add(other, map[other]) end
    for _, name in ipairs(names or {}) do add(name, map[name]) end
  end
  return keys, values, n
end

-- The modules of an array, a container or an iterator.
local function collect(self, source, method)
  local list = {}
  local function add(module)
    check_module(self, module, "entry %s", #list + 1)
    list[#list + 1] = module
  end
  if type(source) == "function" then
    for module in source do add(module) end
  elseif is_plain(source) and (#source > 0 or next(source) == nil) then
    check_list(self, source)
    for i = 1, #source do add(source[i]) end
  elseif is_a(source, "ModuleList") or is_a(source, "Sequential") then
    for _, module in pairs(source) do add(module) end
  else
    fail("%s.%s should be called with an iterable, but got %s", who(self), method,
      describe(source))
  end
  return list
end

-- ---- reading and replacing all children ----

-- Arrays of names and modules (false for empty slots).
local function read(self)
  local flat, names, modules = core._slots(self, 2), {}, {}
  for i = 1, #flat, 2 do
    names[#names + 1], modules[#modules + 1] = flat[i], flat[i + 1]
  end
  return names, modules
end

-- Puts the children back if the block that holds this is left by an error.
local function all_or_nothing(self)
  local names, modules = read(self)
  return on_error(function() core._set_children(self, modules, names) end)
end

-- ---- lists ----

local List = {}

--- append(module): adds it at the end; returns self.
function List:append(module)
  container.check_self(self, "append")
  module = by_name("append", { "module" }, module)
  check_module(self, module, "module")
  self:add_module(tostring(#self), module)
  return self
end

--- extend(modules): appends all of an array, container or iterator; returns self.
function List:extend(modules)
  container.check_self(self, "extend")
  local list = collect(self, modules, "extend")
  local _ <close> = all_or_nothing(self)
  for _, module in ipairs(list) do self:append(module) end
  return self
end

-- 2.0 is 2, as among the keys of a table.
local function whole(value) return math.type(value) and math.tointeger(value) end

-- Position from 1 among n places.
local function place(self, index, n)
  if not whole(index) then
    fail("%s: index must be an integer (got %s)", who(self), describe(index))
  end
  index = whole(index)
  local at = index < 0 and n + 1 + index or index
  if at < 1 or at > n then
    fail("%s: index %d is out of range [1, %d] (indices count from 1)", who(self), index, n)
  end
  return at
end

-- Names after a change of places: those that are numbers follow their places, others stay.
local function renumbered(names)
  for i, name in ipairs(names) do
    if name:find("^%d+$") then names[i] = tostring(i - 1) end
  end
  return names
end

-- insert(index, module): before the module at index; n + 1 appends.
local function insert(self, ...)
  container.check_self(self, "insert")
  local index, module = arguments("insert", { "index", "module" }, ...)
  if not is_module(module) then
    fail("%s.insert: module should be of type: nn.Module (got %s)", who(self), describe(module))
  end
  local n = #self
  local at = place(self, index, whole(index) and index < 0 and n or n + 1)
  if at == n + 1 and not core._has_entry(self, tostring(n)) then
    return self:add_module(tostring(n), module)
  end
  local names, modules = read(self)
  table.insert(modules, at, module)
  table.insert(names, at, tostring(at - 1))
  core._set_children(self, modules, renumbered(names))
end

-- First, last and step of {first, last, step} among n places, as loops take them.
local function bounds(self, range, n)
  for i = 1, 3 do
    if range[i] ~= nil and not whole(range[i]) then
      fail("%s: a range is {first, last, step} of integers (got %s)", who(self),
        describe(range[i]))
    end
  end
  local step = range[3] or 1
  if step == 0 then fail("%s: slice step cannot be zero", who(self)) end
  if range[1] == 0 or range[2] == 0 then
    fail("%s: index 0 is out of range [1, %d] (indices count from 1)", who(self), n)
  end
  local first, last = range[1] or (step > 0 and 1 or -1), range[2] or (step > 0 and -1 or 1)
  if first < 0 then first = n + 1 + first end
  if last < 0 then last = n + 1 + last end
  if step > 0 then return math.max(first, 1), math.min(last, n), step end
  return math.min(first, n), math.max(last, 1), step
end

--- The places {first, last[, step]} of n, both ends included.
function container.places(self, range, n)
  local list = {}
  local first, last, step = bounds(self, range, n)
  for i = first, last, step do list[#list + 1] = i end
  return list
end

-- A new container of a class with the modules (and names) given.
local function like(class, modules, names)
  local result = core.new(class)
  core._set_children(result, modules, names)
  return result
end

--- list[{first, last[, step]}]: a new container of the same class; Sequential keeps the names.
local function slice(self, range)
  local names, modules = read(self)
  local picked, kept = {}, {}
  for _, i in ipairs(container.places(self, range, #modules)) do
    picked[#picked + 1], kept[#kept + 1] = modules[i], names[i]
  end
  return like(core.class_of(self), picked, is_a(self, "Sequential") and kept or nil)
end

--- nn.delattr(list, index or range): what is left is numbered anew.
function container.delete(self, index)
  local n = #self
  if (index == -1 or index == n) and n > 0 and core._numbered(self) then
    return core.delattr(self, tostring(n - 1))
  end
  local _, modules = read(self)
  local places = is_plain(index) and container.places(self, index, #modules)
    or { place(self, index, #modules) }
  local gone = {}
  for _, i in ipairs(places) do gone[i] = true end
  local left = {}
  for i, module in ipairs(modules) do
    if not gone[i] then left[#left + 1] = module end
  end
  core._set_children(self, left)
end

--- pop(index or range): removes and returns the module there (the last one without an index), or a
-- container of those in the range.
function List:pop(index)
  container.check_self(self, "pop")
  index = by_name("pop", { "key" }, index)
  if index == nil then index = -1 end
  if not is_plain(index) then place(self, index, #self) end
  local found = self[index]
  container.delete(self, index)
  return found
end

-- Positions and modules; empty slots are passed over.
List.__pairs = core._pairs

-- ---- Sequential ----

local Sequential = {}
container.Sequential = Sequential

--- Sequential(m1, m2, …), or of one list {m1, m2}, of pairs {{"name", m}, …} or of a table with
-- names, taken in sorted order. s[i] is a module (from the end if negative), s[{first, last}] a
-- Sequential that shares them; s[i] = m replaces, s[i] = nil empties a place, s:pop(i) removes it.
function Sequential:__init(...)
  local n, first = select("#", ...), (...)
  local map = n == 1 and (is_plain(first) or ordered.is(first))
  if map and is_module(first[1]) then return self:extend(first) end
  if map then
    local names, modules = container.read_pairs(self, first, "__init")
    for i, module in ipairs(modules) do check_module(self, module, "entry %s", i) end
    for i, name in ipairs(names) do self:add_module(name, modules[i]) end
    return
  end
  local modules = { ... } -- select would walk over all of them each time
  for i = 1, n do
    check_module(self, modules[i], "argument %s", i)
    self:add_module(tostring(i - 1), modules[i])
  end
end

--- insert(index, module): before the module at index (n + 1 appends); returns self.
function Sequential:insert(...)
  insert(self, ...)
  return self
end

local function chain(self, i, n, ...)
  if i > n then return ... end
  local module = self[i]
  if module == nil then return chain(self, i + 1, n, ...) end
  if i == n then return module(...) end
  return chain(self, i + 1, n, module(...))
end
container.drivers = { [chain] = true }

--- Passes its arguments through the modules in turn.
function Sequential:forward(...)
  container.check_self(self, "Sequential.forward")
  return chain(self, 1, #self, ...)
end

function Sequential:__add(other, second)
  if not is_a(other, "Sequential") then
    fail("add operator supports only objects of Sequential class, but %s is given.",
      describe(other))
  end
  if second then self, other = other, self end
  local _, modules = read(self)
  local _, more = read(other)
  return like(core.layer("Sequential"), table.move(more, 1, #more, #modules + 1, modules))
end

local MOST = 10000000 -- modules of a product, so that a slip does not fill the memory

--- sequential * n: its modules n times over, shared.
function Sequential:__mul(times)
  if math.type(times) ~= "integer" then
    fail("unsupported operand type(s) for *: %s and %s", who(self), describe(times))
  end
  if times <= 0 then
    fail("Non-positive multiplication factor %d for %s", times, who(self))
  end
  local _, modules = read(self)
  if times > MOST // math.max(#modules, 1) then
    fail("%s: %d times %d modules are too many", who(self), times, #modules)
  end
  local repeated = {}
  for _ = 1, times do table.move(modules, 1, #modules, #repeated + 1, repeated) end
  return like(core.layer("Sequential"), repeated)
end

-- ---- ModuleList ----

local ModuleList = {}
container.ModuleList = ModuleList

--- ModuleList(modules): an array, container or iterator; read and changed like a Sequential. It
-- has no forward.
function ModuleList:__init(...)
  local modules = arguments(who(self), { "modules" }, ...)
  if modules ~= nil then self:extend(modules) end
end

--- insert(index, module): before the module at index (n + 1 appends).
function ModuleList:insert(...) insert(self, ...) end

--- list + modules: a new ModuleList; an array, container or iterator on the right.
function ModuleList:__add(other)
  local _, modules = read(self)
  local more = collect(self, other, "__add")
  return like(core.layer("ModuleList"), table.move(more, 1, #more, #modules + 1, modules))
end

for name, method in pairs(List) do
  Sequential[name], ModuleList[name] = method, method
end

-- ---- dictionaries ----

--- Methods of a dictionary of slots of a kind. Iterators go through the entries there are when
-- made.
function container.dictionary(kind)
  local Dict = {}

  --- keys(): an iterator of the keys in the order they were added.
  Dict.keys = core._keys(kind)

  --- contains(key): Python's `in`.
  Dict.contains = core._has_entry

  --- pop(key): removes the entry and returns its value.
  function Dict:pop(key)
    container.check_self(self, "pop")
    key = by_name("pop", { "key" }, key)
    if not core._has_entry(self, key) then
      fail("%s: there is no key '%s'", who(self), key)
    end
    local value = self[key]
    core.delattr(self, key)
    return value
  end

  --- clear(): removes all entries.
  function Dict:clear()
    container.check_self(self, "clear")
    for key in self:keys() do core.delattr(self, key) end
  end

  return Dict
end

-- ---- ModuleDict ----

local ModuleDict = container.dictionary(2)
container.ModuleDict = ModuleDict
ModuleDict.__pairs = core._pairs

--- values(): an iterator of the modules.
ModuleDict.values = core._values

--- items(): an iterator of keys and values.
ModuleDict.items = core._items

--- ModuleDict(modules): pairs {{"a", m}, …}, a table with names (taken in sorted order), a
-- dictionary or an iterator of pairs. d.a or d["a"] is a module; d.a = m adds or replaces one.
function ModuleDict:__init(...)
  local modules = container.one(self, ...)
  if modules ~= nil then self:update(modules) end
end

--- update(map): adds pairs in order, those of a plain table sorted by name.
function ModuleDict:update(map)
  container.check_self(self, "update")
  local names, modules, n = container.read_pairs(self, map, "update")
  for i = 1, n do check_module(self, modules[i], "entry '%s'", names[i]) end
  local several = n > 1 or self.add_module ~= core.add_module -- a subclass's may do more
  local _ <close> = several and all_or_nothing(self)
  for i = 1, n do self:add_module(names[i], modules[i]) end
end

-- ---- Container ----

local Container = {}
container.Container = Container

--- Container{name = module}: deprecated in PyTorch; a module with these children.
function Container:__init(...)
  local modules = container.one(self, ...)
  if modules ~= nil then ModuleDict.update(self, modules) end
end

container.slice = slice

return container
