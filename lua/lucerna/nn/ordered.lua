-- Ordered maps: what state_dict returns. pairs walks keys in the order they were added, # counts
-- them, m[k] = nil deletes. `_metadata` stands beside the entries, as in PyTorch.

-- The one key a map really has, also where this file is loaded again.
local STORE <const> = "\0store"

local ordered = {}

local function set(store, key, value)
  local at = store.index[key]
  if at then
    store.values[at] = value
  else
    at = store.used + 1
    store.used, store.count = at, store.count + 1
    store.keys[at], store.values[at], store.index[key] = key, value, at
  end
end

local function delete(store, key)
  local at = store.index[key]
  if not at then return end
  store.keys[at], store.values[at], store.index[key] = nil, nil, nil
  store.count = store.count - 1
end

local KIND <const> = "OrderedMap"
local meta = { __name = KIND, __metatable = KIND }

function meta.__index(self, key)
  local store = self[STORE]
  local at = store.index[key]
  if at then return store.values[at] end
  if key ~= "_metadata" then return nil end
  if type(store.metadata) == "function" then store.metadata = store.metadata() end
  return store.metadata
end

function meta.__newindex(self, key, value)
  local store = self[STORE]
  if key == "_metadata" and not store.index[key] then
    store.metadata = value
  elseif value == nil then
    delete(store, key)
  else
    set(store, key, value)
  end
end

function meta.__len(self) return self[STORE].count end

-- Deleting the entry one stands on is allowed: the position goes on, not the key.
function meta.__pairs(self)
  local at = 0 -- all that the iterator closes over: each variable would take an allocation
  return function(store)
    local keys = store.keys
    local key
    repeat
      at = at + 1
      key = keys[at]
    until key ~= nil or at > store.used
    return key, store.values[at]
  end, self[STORE]
end

function meta.__tostring(self)
  local parts = {}
  for key, value in pairs(self) do
    parts[#parts + 1] = ("(%q, %s)"):format(key, value)
  end
  return "OrderedMap([" .. table.concat(parts, ", ") .. "])"
end

--- A map with these keys and values (arrays; keys may have nil values: empty slots).
function ordered.new(keys, values, metadata)
  local store = { keys = {}, values = {}, index = {}, used = 0, count = 0, metadata = metadata }
  for i = 1, keys and #keys or 0 do set(store, keys[i], values[i]) end
  return setmetatable({ [STORE] = store }, meta)
end

--- A map that takes over these arrays and the index of positions by key. metadata may be a function
-- that makes them when they are first asked for.
function ordered.adopt(keys, values, index, metadata)
  local store = {
    keys = keys, values = values, index = index, used = #keys, count = #keys, metadata = metadata,
  }
  return setmetatable({ [STORE] = store }, meta)
end

--- Puts a key with any value, nil included, at the end.
function ordered.put(map, key, value) set(map[STORE], key, value) end

--- A function that makes live maps: each shows what entries(owner, name) gives as {key, value or
-- false, …} when it is asked; read and write(owner, name, key, value) are for single entries.
function ordered.live(entries, read, write)
  local live = { __name = KIND, __metatable = KIND, __tostring = meta.__tostring }
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
