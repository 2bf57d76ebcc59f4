-- `local _ <close> = on_error(f)`: f(error) runs if the block is left by an error, to undo what the
-- block has done.

local ON_ERROR = {__close = function(self, problem)
  if problem ~= nil then self[1](problem) end
end}

return function(f) return setmetatable({f}, ON_ERROR) end
