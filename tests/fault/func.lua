-- What the out-of-memory sweep runs with transformations: rules, calls sample by sample, gradients
-- inside maps and maps of gradients. Returns the scenario as a function.
local lucerna = require "lucerna"
local Cube = require("functions").Cube
local func, nn = lucerna.func, lucerna.nn

local function scenario()
  local x = lucerna.tensor {{0.5, 1, 2}, {3, 4, 0.25}}
  local w = lucerna.tensor {{1.0, 2, 3}, {3, 2, 1}}
  local none = lucerna.none
  func.vmap(function(a)
    local b = a:clone()
    b:add_(1)
    b[1] = 0
    return b:sum(), b:reshape(3, 1), b:softmax(1), b:cumsum(1)
  end)(x)
  func.vmap(function(a) return a:take(lucerna.tensor {1, 3}), a:split(1) end)(x)
  func.vmap(function(a) return a:sort(1) end)(x)
  local two = lucerna.tensor {2}
  func.vmap(function(a) return nn.functional.cross_entropy(a:reshape(1, 3), two) end)(x)
  func.vmap(function(a) return a + lucerna.rand(3) end, {randomness = "different"})(x)
  local conv = lucerna.ones(2, 1, 2, 2)
  func.vmap(func.grad(function(k, a)
    return nn.functional.conv2d(a:reshape(1, 1, 1, 3), k, {padding = 1}):sum()
  end), {none, 1})(conv, x)
  func.vmap(func.vmap(function(a, b) return a:dot(b) end, {1, none}), {none, 1})(w, x)
  func.hessian(function(a) return (a * a * a):sum() end)(x[1])
  func.jacfwd(function(a) return w:matmul(a) end)(x[1])
  func.vmap(func.grad(function(a) return Cube.apply(a):sum() end))(x)
  assert(not pcall(func.vmap(function(a) return a:item() end), x))
  assert(#require("lucerna.core")._vmap_levels() == 0)
end

return scenario
