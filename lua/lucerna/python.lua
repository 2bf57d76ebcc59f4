-- How Python prints a value: for the texts of optimizers and distributions.

local none = require("lucerna.core").none

-- The fewest digits that read back; exponents below -4 and from 16 on. Lua's own text of a number
-- of a usual size has no more digits than that, if it reads back.
local function float(value)
  local text, size = tostring(value), math.abs(value)
  local usual = size == 0 or (size > 1e-300 and size < 1e14)
  if usual and tonumber(text) == value then return text end
  if value ~= value then return "nan" end
  if value == math.huge or value == -math.huge then return value > 0 and "inf" or "-inf" end
  local digits = 0
  repeat
    text = ("%." .. digits .. "e"):format(value)
    digits = digits + 1
  until tonumber(text) == value or digits > 17
  local exponent = tonumber(text:match("e(.*)$"))
  if exponent < -4 or exponent >= 16 then return text end
  return ("%." .. math.max(1, digits - 1 - exponent) .. "f"):format(value)
end

--- python(value): lists of numbers as tuples, lists of strings as lists.
local function python(value)
  if value == nil or value == none then return "None" end
  if type(value) == "boolean" then return value and "True" or "False" end
  if math.type(value) == "float" then return float(value) end
  if type(value) ~= "table" then return tostring(value) end
  local items, names = {}, type(value[1]) == "string"
  for k, item in ipairs(value) do items[k] = names and ("'%s'"):format(item) or python(item) end
  return (names and "[%s]" or "(%s)"):format(table.concat(items, ", "))
end

return python
