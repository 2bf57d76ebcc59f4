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

local meta = { __name = "OrderedMap", __metatable = "OrderedMap" }

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
  elseif store.write then
    local kept, held = store.write(key, value)
    if kept then set(store, key, held) else delete(store, key) end
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

--- Assignments to a map made by a module go to the module: write(key, value) returns whether the
-- module has the key now, and what it holds there.
function ordered.on_write(map, write) map[STORE].write = write end

--- Puts a key with any value, nil included, at the end.
function ordered.put(map, key, value) set(map[STORE], key, value) end

function ordered.is(value) return type(value) == "table" and rawget(value, STORE) ~= nil end

return ordered
