-- Ordered maps: what state_dict returns. pairs walks keys in the order they were added, # counts
-- them, m[k] = nil deletes. `_metadata` stands beside the entries, as in PyTorch. The entries are
-- the table's own, so that reading and replacing one is Lua's; a list has the keys in their order.

-- The key of what else a map has, which no name is; the same where this file is loaded again.
local STORE = require "lucerna.core"

local ordered = {}

local rawset = rawset

local KIND <const> = "OrderedMap"
local meta = { __name = KIND, __metatable = KIND }

function meta.__index(self, key)
  if key ~= "_metadata" then return nil end
  local store = self[STORE]
  if type(store.metadata) == "function" then store.metadata = store.metadata() end
  return store.metadata
end

-- The list of keys, where one that was deleted still stands (if it came back, `meta`, which is
-- nobody's key, stands there), and positions in it. When it has doubled a new list takes its place,
-- of what is there; loops go on in theirs.
local function positions(self, store)
  if store.index and #store.keys >= store.most then
    local keys = {}
    for key in pairs(self) do keys[#keys + 1] = key end
    store.keys, store.index = keys, nil
  end
  if not store.index then
    store.index, store.most = {}, 2 * #store.keys + 16
    for i, key in ipairs(store.keys) do store.index[key] = i end
  end
  return store.keys, store.index
end

-- A new entry.
function meta.__newindex(self, key, value)
  local store = self[STORE]
  if key == "_metadata" then
    store.metadata = value
  elseif value ~= nil then
    local keys, index = positions(self, store)
    if index[key] then keys[index[key]] = meta end
    index[key] = #keys + 1
    keys[#keys + 1] = key
    rawset(self, key, value)
  end
end

function meta.__len(self)
  local keys, n = self[STORE].keys, 0
  for i = 1, #keys do
    if self[keys[i]] ~= nil then n = n + 1 end
  end
  return n
end

-- Deleting the entry one stands on is allowed: the position goes on, not the key.
function meta.__pairs(self)
  local at, keys = 0, self[STORE].keys
  return function(map)
    local i = at
    local key, value
    repeat
      i = i + 1
      key = keys[i]
      if key == nil then break end
      value = map[key]
    until value ~= nil
    at = i
    return key, value
  end, self
end

function meta.__tostring(self)
  local parts = {}
  for key, value in pairs(self) do
    parts[#parts + 1] = ("(%q, %s)"):format(key, value)
  end
  return "OrderedMap([" .. table.concat(parts, ", ") .. "])"
end

--- A map with these keys and values (arrays) and metadata.
function ordered.new(keys, values, metadata)
  local map = ordered.adopt({}, {}, metadata)
  for i = 1, keys and #keys or 0 do map[keys[i]] = values[i] end
  return map
end

--- Makes a table of entries a map, whose keys in their order are those of an array that it takes
-- over. metadata may be a function that makes them when they are first asked for.
function ordered.adopt(entries, keys, metadata)
  entries[STORE] = { keys = keys, metadata = metadata }
  return setmetatable(entries, meta)
end

--- Completes a metatable whose __index, __newindex, __len and __pairs are those of such a map.
function ordered.kind(made)
  made.__name, made.__metatable, made.__tostring = KIND, KIND, meta.__tostring
  return made
end

--- A function that makes live maps: each shows what entries(owner, name) gives as {key, value or
-- false, …} when it is asked; read and write(owner, name, key, value) are for single entries.
function ordered.live(entries, read, write)
  local live = ordered.kind {}
  local function entries_of(self)
    local store = self[STORE]
    return entries(store.owner, store.name)
  end

  function live.__index(self, key)
    local store = self[STORE]
    return read(store.owner, store.name, key)
  end

  function live.__newindex(self, key, value)
    local store = self[STORE]
    write(store.owner, store.name, key, value)
  end

  function live.__len(self) return #entries_of(self) // 2 end

  function live.__pairs(self)
    local at = 0
    return function(flat)
      at = at + 2
      return flat[at - 1], flat[at] or nil
    end, entries_of(self)
  end

  return function(owner, name)
    return setmetatable({ [STORE] = { owner = owner, name = name } }, live)
  end
end

function ordered.is(value) return getmetatable(value) == KIND end

return ordered
