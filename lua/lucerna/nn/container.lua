-- Sequential, ModuleList and ModuleDict: the methods that make modules lists and dictionaries.
-- Positions count from 1; the names of children stay PyTorch's ("0", "1", …).

local root = require "lucerna.core"
local ordered = require "lucerna.nn.ordered"

local core = root.nn
local raise, is_module = root._raise, core.is_module
local type = type

local function describe(value)
  if is_module(value) then return core.class_name(value) end
  return type(value)
end

local function who(self) return core.class_name(self) end

local function check_module(self, value, place)
  if is_module(value) then return end
  raise(("%s: %s is not a module (got %s)"):format(who(self), place, describe(value)))
end

-- The children as arrays of names and modules (false for empty slots).
local function read(self)
  local flat, names, modules = core._children(self), {}, {}
  for i = 1, #flat, 2 do
    names[#names + 1], modules[#modules + 1] = flat[i], flat[i + 1]
  end
  return names, modules
end

local function is_plain(value) return type(value) == "table" and getmetatable(value) == nil end

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- Names and modules of {{"a", m}, …}, of {a = m, …} (sorted), of an ordered map or a ModuleDict.
local function read_pairs(self, map)
  local names, modules = {}, {}
  if not is_plain(map) then
    for name, module in pairs(map) do
      names[#names + 1], modules[#modules + 1] = name, module
    end
  elseif #map > 0 then
    for i, pair in ipairs(map) do
      if type(pair) ~= "table" or #pair ~= 2 or type(pair[1]) ~= "string" then
        raise(("%s: entry %d is not a pair {name, module}"):format(who(self), i))
      end
      names[i], modules[i] = pair[1], pair[2]
    end
  else
    for i, name in ipairs(sorted_names(map)) do names[i], modules[i] = name, map[name] end
  end
  return names, modules
end

-- The modules of an array, a container or an iterator.
local function collect(self, source, method)
  local list = {}
  if type(source) == "function" then
    for module in source do list[#list + 1] = module end
  elseif is_plain(source) then
    for i, module in ipairs(source) do list[i] = module end
  elseif is_module(source) and core.isinstance(source, core.layer("ModuleList"))
    or is_module(source) and core.isinstance(source, core.layer("Sequential")) then
    for _, module in ipairs(source) do list[#list + 1] = module end
  else
    raise(("%s.%s: modules must be a list of modules (got %s)"):format(who(self), method,
      describe(source)))
  end
  for i, module in ipairs(list) do check_module(self, module, "entry " .. i) end
  return list
end

-- ---- lists ----

local List = {}

--- append(module): adds it at the end; returns self.
function List:append(module)
  check_module(self, module, "module")
  self:add_module(tostring(#self), module)
  return self
end

--- extend(modules): appends all of an array, container or iterator; returns self.
function List:extend(modules)
  for _, module in ipairs(collect(self, modules, "extend")) do self:append(module) end
  return self
end

-- Position from 1 among n places.
local function place(self, index, n)
  if math.type(index) ~= "integer" then
    raise(("%s: index must be an integer (got %s)"):format(who(self), describe(index)))
  end
  local at = index < 0 and n + 1 + index or index
  if at < 1 or at > n then
    raise(("%s: index %d is out of range [1, %d] (indices count from 1)"):format(who(self),
      index, n))
  end
  return at
end

--- insert(index, module): before the module at index; n + 1 appends.
function List:insert(index, module)
  check_module(self, module, "module")
  local _, modules = read(self)
  local n = #modules
  local at = place(self, index, index < 0 and n or n + 1)
  table.insert(modules, at, module)
  core._set_children(self, modules)
  return self
end

--- pop(index): removes and returns the module there (the last one without an index).
function List:pop(index)
  local _, modules = read(self)
  local at = place(self, index or -1, #modules)
  local module = table.remove(modules, at)
  core._set_children(self, modules)
  return module or nil
end

-- A new container of the same class with the modules (and names) given.
local function like(self, modules, names)
  local result = core.new(core.class_of(self))
  core._set_children(result, modules, names)
  return result
end

-- list[{first, last[, step]}]: a new container, both ends included.
local function slice(self, range)
  local names, modules = read(self)
  local n = #modules
  local first, last, step = range[1] or 1, range[2] or -1, range[3] or 1
  if first < 0 then first = n + 1 + first end
  if last < 0 then last = n + 1 + last end
  local picked, kept = {}, {}
  for i = math.max(first, 1), math.min(last, n), step do
    picked[#picked + 1], kept[#kept + 1] = modules[i], names[i]
  end
  local keep = core.isinstance(self, core.layer("Sequential"))
  return like(self, picked, keep and kept or nil)
end

function List:__add(other)
  local _, left = read(self)
  for _, module in ipairs(collect(self, other, "+")) do left[#left + 1] = module end
  return like(self, left)
end

function List:__pairs()
  local i = 0
  return function()
    i = i + 1
    local module = self[i]
    if module ~= nil then return i, module end
  end
end

-- ---- Sequential ----

local Sequential = {}

function Sequential:__init(...)
  local n, first = select("#", ...), (...)
  local map = n == 1 and (is_plain(first) or ordered.is(first))
  if map and is_module(first[1]) then return self:extend(first) end
  if map then
    local names, modules = read_pairs(self, first)
    for i, module in ipairs(modules) do check_module(self, module, "entry " .. i) end
    for i, name in ipairs(names) do self:add_module(name, modules[i]) end
    return
  end
  for i = 1, n do
    local module = select(i, ...)
    check_module(self, module, "argument " .. i)
    self:add_module(tostring(i - 1), module)
  end
end

local function chain(self, i, n, ...)
  if i > n then return ... end
  local module = self[i]
  if module == nil then return chain(self, i + 1, n, ...) end
  if i == n then return module(...) end
  return chain(self, i + 1, n, module(...))
end

--- Passes its arguments through the modules in turn.
function Sequential:forward(...) return chain(self, 1, #self, ...) end

function Sequential:__mul(times)
  if math.type(times) ~= "integer" then
    raise(("Sequential: can only be multiplied by an integer (got %s)"):format(describe(times)))
  end
  if times <= 0 then raise("Sequential: non-positive multiplication factor " .. times) end
  local _, modules = read(self)
  local repeated = {}
  for _ = 1, times do
    for _, module in ipairs(modules) do repeated[#repeated + 1] = module end
  end
  return like(self, repeated)
end

-- ---- ModuleList ----

local ModuleList = {}

function ModuleList:__init(modules)
  if modules ~= nil then self:extend(modules) end
end

-- ---- ModuleDict ----

local ModuleDict = {}

function ModuleDict:__init(modules)
  if modules ~= nil then self:update(modules) end
end

--- update(map): adds pairs in order, those of a plain table sorted by name.
function ModuleDict:update(map)
  if type(map) ~= "table" and not is_module(map) then
    raise(("%s.update: modules must be a table (got %s)"):format(who(self), describe(map)))
  end
  local names, modules = read_pairs(self, map)
  for i, module in ipairs(modules) do
    check_module(self, module, ("entry '%s'"):format(names[i]))
  end
  for i, name in ipairs(names) do self:add_module(name, modules[i]) end
end

function ModuleDict:keys()
  local names, i = read(self), 0
  return function()
    i = i + 1
    return names[i]
  end
end

function ModuleDict:values()
  local i = 0
  local _, modules = read(self)
  return function()
    i = i + 1
    return modules[i]
  end
end

function ModuleDict:items()
  local i = 0
  local names, modules = read(self)
  return function()
    i = i + 1
    return names[i], modules[i]
  end
end

ModuleDict.__pairs = function(self) return self:items() end

--- contains(key): Python's `in`.
function ModuleDict:contains(key)
  for name in self:keys() do
    if name == key then return true end
  end
  return false
end

--- pop(key): removes and returns that module.
function ModuleDict:pop(key)
  if not self:contains(key) then
    raise(("%s: there is no key '%s'"):format(who(self), tostring(key)))
  end
  local module = self[key]
  core.delattr(self, key)
  return module
end

function ModuleDict:clear() core._set_children(self, {}) end

for name, method in pairs(List) do
  Sequential[name], ModuleList[name] = method, method
end

return {
  Sequential = Sequential,
  ModuleList = ModuleList,
  ModuleDict = ModuleDict,
  slice = slice,
  drivers = { [chain] = true },
}
