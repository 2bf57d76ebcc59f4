-- The sizes that a net is made of: whole numbers above 0, or the message says which is not.

local fail = require("lucerna.core")._fail

--- sizes(who, names, ...) checks the values in the order of names.
return function(who, names, ...)
  for k, name in ipairs(names) do
    local value = select(k, ...)
    if math.type(value) ~= "integer" or value < 1 then
      fail("%s: %s must be a positive integer (got %s)", who, name, value)
    end
  end
end
