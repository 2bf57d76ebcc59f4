-- A shape as messages write it: [2, 3].

return function(shape) return "[" .. table.concat(shape, ", ") .. "]" end
