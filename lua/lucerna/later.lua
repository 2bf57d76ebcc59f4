-- Parts of the library that are loaded when they are first asked for.

-- later(into, path, names, other): into[name] is the module path .. name, for each of the names; of
-- other keys what other(key) gives, if there is that. Completion knows the names.
return function(into, path, names, other)
  local known = {}
  for _, name in ipairs(names) do known[name] = true end
  return setmetatable(into, {
    __names = function() return names end,
    __index = function(_, key)
      if not known[key] then return other and other(key) end
      into[key] = require(path .. key)
      return into[key]
    end,
  })
end
