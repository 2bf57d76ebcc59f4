-- What the out-of-memory sweep runs of convolutions: each of the ways that sizes choose between,
-- forwards and backwards. Returns the scenario as a function.
local lucerna = require "lucerna"
local F = lucerna.nn.functional

local function there_and_back(f, x, w, options)
  f(x:requires_grad_(), w:requires_grad_(), nil, options):sum():backward()
end

return function()
  local rand = lucerna.rand
  there_and_back(F.conv2d, rand(1, 2, 6, 6), rand(3, 2, 3, 3), {padding = 1}) -- direct
  there_and_back(F.conv2d, rand(1, 32, 8, 8), rand(32, 32, 3, 3), {padding = 1}) -- filtering
  there_and_back(F.conv2d, rand(1, 3, 9, 9), rand(4, 3, 3, 3), {stride = 2})
  there_and_back(F.conv2d, rand(2, 16, 5, 5), rand(16, 1, 3, 3), {groups = 16})
  there_and_back(F.conv2d, rand(2, 16, 5, 5), rand(24, 16, 1, 1)) -- products
  there_and_back(F.conv2d, rand(1, 3, 8, 8), rand(8, 3, 4, 4), {stride = 4}) -- patches
  there_and_back(F.conv2d, rand(1, 33, 6, 6):bfloat16(), rand(35, 33, 1, 1):bfloat16()) -- pairs
  there_and_back(F.conv2d, rand(1, 32, 6, 6):bfloat16(), rand(40, 32, 3, 3):bfloat16(),
    {stride = 2})
  there_and_back(F.conv2d, rand(3, 8, 4, 4), rand(8, 8, 4, 4)) -- one window
  there_and_back(F.conv2d, rand(1, 64, 12, 12), rand(32, 64, 3, 3), {padding = 8, dilation = 8})
  there_and_back(F.conv_transpose2d, rand(1, 4, 4, 4), rand(4, 3, 4, 4), {stride = 2})
  there_and_back(F.conv3d, rand(1, 2, 4, 4, 4), rand(2, 2, 3, 3, 3), {stride = 2})
end
