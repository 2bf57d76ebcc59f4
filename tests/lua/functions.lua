-- Functions with a backward written in Lua, which several tests and the out-of-memory sweep call.
local Function = require("lucerna").autograd.Function

local functions = {}

functions.Exp = Function("Exp", {
  forward = function(ctx, x)
    local y = x:exp()
    ctx:save_for_backward(y)
    return y
  end,
  backward = function(ctx, g) return g * ctx.saved_tensors[1] end,
})

-- What it saves has the same dimensions, inside a map over samples too.
functions.Cube = Function("Cube", {
  forward = function(ctx, x)
    local y = x ^ 3
    ctx:save_for_backward(x, y)
    return y
  end,
  backward = function(ctx, g)
    local x, y = table.unpack(ctx.saved_tensors)
    assert(x:dim() == y:dim())
    return g * x ^ 2 * 3
  end,
})

return functions
