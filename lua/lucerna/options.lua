-- Options of functions that pass their other arguments on to somebody else's: the table that ends
-- the arguments holds them, if it holds nothing else. known: a table with their names as keys.

local options = {}

--- Does a value hold options, at least one, and nothing else?
function options.are(value, known)
  if type(value) ~= "table" or getmetatable(value) or next(value) == nil then return false end
  for key in pairs(value) do
    if not known[key] then return false end
  end
  return true
end

--- Takes the options off the end of packed arguments; an empty table if there are none.
function options.take(given, known)
  local last = given[given.n]
  if not options.are(last, known) then return {} end
  given[given.n], given.n = nil, given.n - 1
  return last
end

--- Takes an empty table, no options at all, off the end of packed arguments; returns these.
function options.drop_empty(given)
  local last = given[given.n]
  if type(last) == "table" and getmetatable(last) == nil and next(last) == nil then
    given[given.n], given.n = nil, given.n - 1
  end
  return given
end

return options
