-- Arguments of functions written in Lua, by the rules of the whole API: positional ones in order,
-- then a table of keyword arguments; unknown and repeated names are errors that say so.

local core = require "lucerna.core"
local none = core.none

local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local best = diagonal + (a:byte(i) == b:byte(j) and 0 or 1)
      diagonal, row[j] = row[j], math.min(best, row[j] + 1, row[j - 1] + 1)
    end
  end
  return row[#b]
end

local function closest(name, names)
  local best, least = nil, #name // 2 + 1
  for _, candidate in ipairs(names) do
    local d = distance(name, candidate)
    if d < least then best, least = candidate, d end
  end
  return best
end

local function is_keywords(value)
  return type(value) == "table" and getmetatable(value) == nil and type(next(value)) == "string"
end

-- Returns the n values, with nil in the place of lucerna.none.
local function plain(n, value, ...)
  if value == none then value = nil end
  if n < 2 then return value end
  return value, plain(n - 1, ...)
end

--- arguments(who, names, ...) returns the values in the order of names, as many as were given or
-- more. Errors are raised at the line of the user's code. A last table with string keys holds
-- keyword arguments.
return function(who, names, ...)
  local n = select("#", ...)
  if n == 1 and names[1] and type(...) ~= "table" then return plain(1, ...) end
  local last = n > 0 and select(n, ...)
  local positional = is_keywords(last) and n - 1 or n
  if positional > #names then
    core._fail("%s: expected at most %d arguments (got %d)", who, #names, positional)
  end
  if positional == n then return plain(n, ...) end -- takes no memory
  local values = {...}
  values[n] = nil
  for key, value in pairs(last) do
    local at
    for k, name in ipairs(names) do at = name == key and k or at end
    if not at then
      local near = type(key) == "string" and closest(key, names)
      local hint = near and (" (did you mean '%s'?)"):format(near) or ""
      core._fail("%s: unknown argument '%s'%s", who, key, hint)
    end
    if values[at] ~= nil then core._fail("%s: argument '%s' is given twice", who, key) end
    values[at] = value
  end
  return plain(#names, table.unpack(values, 1, #names))
end
