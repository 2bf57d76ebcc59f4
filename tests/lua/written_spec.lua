-- Writes through views reach the base and its history: programs run here and in PyTorch
-- (tests/parity/gen_written.py), each from x [3, 4] and y [4].
local lucerna = require "lucerna"
local parity = require "parity"

local programs = {}

function programs.row_copied(z, y)
  z[2]:copy_(y)
  return z * z
end

function programs.column_filled(z, y)
  z[{{}, 1}]:fill_(y:sum())
  return z * z
end

function programs.transposed_scaled(z, y)
  z:t():mul_(y:unsqueeze(2))
  return z * z
end

function programs.block_put(z, y)
  z[{{}, {2, 3}}]:index_put_({lucerna.tensor {3, 1}, lucerna.tensor {1, 2}}, y[{{1, 2}}])
  return z * z
end

function programs.masked_rows(z, y)
  z[{{2, -1}}]:masked_fill_(lucerna.tensor {true, false, true, false}, y[1])
  return z * z
end

function programs.two_views(z, y)
  local a, b = z[1], z:view(2, 6)
  b[1]:mul_(2)
  a:add_(y)
  return z * a
end

function programs.diagonal_zeroed(z, y)
  z:diagonal():zero_()
  return z * y
end

function programs.rows_added(z, y)
  z:index_add_(1, lucerna.tensor {1, 3, 1}, y:expand(3, 4))
  return z * z
end

function programs.split_written(z, y)
  z[{{}, {1, -1, 2}}]:scatter_(2, lucerna.tensor {{1}, {2}, {1}}, y[{{1, 3}}]:unsqueeze(2))
  return z * z
end

function programs.twice(z, y)
  z[1]:copy_(z[2])
  z[2]:copy_(y)
  return z * z
end

local cases = parity.load("written")
local inputs = table.remove(cases)

describe("writes through views:", function()
  for _, case in ipairs(cases) do
    it(case.name, function()
      local x = parity.tensor(inputs.x):requires_grad_()
      local y = parity.tensor(inputs.y):requires_grad_()
      local out = programs[case.name](x * 1, y)
      parity.close(out, case.out, nil, "result")
      out:sum():backward()
      parity.close(x.grad, case.x, nil, "gradient of x")
      parity.close(y.grad or y:detach() * 0, case.y, nil, "gradient of y")
    end)
  end
end)

describe("a write that fails", function()
  it("changes nothing", function()
    local x = lucerna.arange(4)
    local message = parity.message(function()
      x:index_add_(1, lucerna.tensor {1, 5}, lucerna.tensor {7, 7})
    end)
    assert.matches("index 5 is out of range %[1, 4%] %(indices count from 1%)", message)
    assert.same({0, 1, 2, 3}, x:tolist())
  end)

  it("is refused for expanded tensors", function()
    local x = lucerna.zeros(1, 3):expand(2, 3)
    assert.matches("single memory location", parity.message(function() x:fill_(1) end))
  end)
end)
