-- How Python prints a value: for the texts of optimizers and distributions.

local core = require "lucerna.core"
local none, float_text = core.none, core._float_text
local type, math_type = type, math.type
local WORDS = {[none] = "None", [true] = "True", [false] = "False"}

--- python(value): lists of numbers as tuples, lists of strings as lists.
local function python(value)
  if value == nil then value = none end
  if WORDS[value] then return WORDS[value] end
  if math_type(value) == "float" then return float_text(value) end
  if type(value) ~= "table" then return tostring(value) end
  local items, names = {}, type(value[1]) == "string"
  for k, item in ipairs(value) do items[k] = names and ("'%s'"):format(item) or python(item) end
  local form = names and "[%s]" or #items == 1 and "(%s,)" or "(%s)"
  return form:format(table.concat(items, ", "))
end

return python
