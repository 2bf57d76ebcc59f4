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

describe("views and writes in place, drawn at random:", function()
  for i, case in ipairs(parity.load("written_random")) do
    it(("program %d"):format(i), function()
      local x = (lucerna.arange(12.0, {dtype = lucerna.float64}):view(2, 3, 2) / 4 - 1)
        :requires_grad_()
      local w = lucerna.tensor(1.5, {dtype = lucerna.float64}):requires_grad_()
      local program = assert(load("local y, w = ... " .. case.lua, "=program", "t", {}))
      local y, out = program(x * 1, w)
      parity.close(y, case.y, nil, "y")
      assert.near(case.out, out:item(), 1e-9)
      out:backward()
      parity.close(x.grad, case.x, nil, "gradient of x")
      assert.near(case.w, w.grad and w.grad:item() or 0, 1e-9)
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
    parity.refused("add_: unsupported operation: more than one element of the written-to tensor "
      .. "refers to a single memory location", function() x:add_(1) end)
  end)

  it("may set all elements of an expanded tensor alike", function()
    local x = lucerna.zeros(1, 3)
    x:expand(2, 3):fill_(2)
    assert.same({{2, 2, 2}}, x:tolist())
  end)

  it("is refused for out= that is expanded; of another size it leaves its base", function()
    parity.refused("sum: unsupported operation: more than one element of the written-to tensor",
      function()
        lucerna.sum(lucerna.ones(3, 2), 1, {out = lucerna.zeros(1):expand(2)})
      end)
    local base = lucerna.zeros(4)
    local view = base[{{1, 2}}]
    lucerna.sum(lucerna.ones(2, 3), 1, {out = view})
    local w = lucerna.ones(3):requires_grad_()
    view:mul_(w)
    view:sum():backward()
    assert.same({2, 2, 2}, w.grad:tolist())
    assert.same({0, 0, 0, 0}, base:tolist())
    assert.is_false(base.requires_grad)
  end)

  it("is refused where input and output overlap in part", function()
    local x = lucerna.arange(4)
    local message = "some elements of the input tensor and the written%-to tensor refer to a "
    for _, f in ipairs {
      function() x[{{2, 4}}]:add_(x[{{1, 3}}]) end, function() x[{{2, 4}}] = x[{{1, 3}}] end,
      function() x:view(2, 2):mul_(x:view(2, 2):t()) end,
      function() lucerna.add(x[{{1, 3}}], 1, {out = x[{{2, 4}}]}) end,
    } do
      parity.refused(message, f)
    end
    assert.same({0, 1, 2, 3}, x:tolist())
    x:add_(x)
    assert.same({0, 2, 4, 6}, x:tolist())
  end)

  it("repeats its own rows", function()
    local x = lucerna.arange(8):view(4, 2)
    x[{{2, 4}}] = x[3]
    assert.same({{0, 1}, {4, 5}, {4, 5}, {4, 5}}, x:tolist())
    x[{{1, 3}, {}}] = x[{{1, 1}}]
    assert.same({{0, 1}, {0, 1}, {0, 1}, {4, 5}}, x:tolist())
  end)
end)

describe("in-place changes that autograd forbids:", function()
  local refused = parity.refused

  it("of leaves and their views", function()
    local x = lucerna.zeros(2, 3):requires_grad_()
    refused("t_: a leaf Variable that requires grad", function() x:t_() end)
    refused("add_: a view of a leaf Variable", function() x[1]:add_(1) end)
    refused("squeeze_: a view of a leaf Variable", function() x[{{1, 1}}]:squeeze_() end)
    local seen = lucerna.zeros(6):view(2, 3):requires_grad_() -- a view and a leaf itself
    refused("mul_: a view of a leaf Variable", function() seen:t():mul_(2) end)
    refused("fill_: a view of a leaf Variable", function() seen[1] = 2 end)
    assert.same({0, 0, 0}, seen[1]:tolist())
  end)

  it("of one of several views of a call, but for tensor_split's", function()
    local x = lucerna.zeros(2, 3):requires_grad_()
    local y = x * 2
    refused("add_: Output 2 of UnbindBackward0 is a view and is being modified inplace. This view "
      .. "is the output of a function that returns multiple views",
      function() y:unbind()[2]:add_(1) end)
    refused("unsqueeze_: Output 1 of SplitBackward0 is a view",
      function() y:split(1)[1]:unsqueeze_(1) end)
    refused("Output 1 of SelectBackward0 is a view", function() y:chunk(2)[1][1]:mul_(2) end)
    y:tensor_split(2)[1]:mul_(3)
    y:sum():backward()
    assert.same({{6, 6, 6}, {2, 2, 2}}, x.grad:tolist())
    lucerna.zeros(4):chunk(2)[1]:add_(1)
  end)

  it("of the tensor that one of several views sees, once the view is used again", function()
    local y = lucerna.zeros(2, 3):requires_grad_() * 2
    local first, parted = y:unbind()[1], y:tensor_split(2)[1]
    local below = first:view(3, 1)
    y:add_(1)
    local text = " is a view and its base or another view of its base has been modified inplace"
    refused("mul: Output 1 of UnbindBackward0" .. text, function() return first * 2 end)
    refused("Output 1 of UnbindBackward0" .. text, function() return first.grad_fn end)
    refused("Output 1 of ViewBackward0" .. text, function() below:sum():backward() end)
    assert.same({1, 1, 1}, first:tolist())
    assert.same({{2, 2, 2}}, (parted * 2):tolist())
    assert.same({2, 2, 2}, lucerna.no_grad(function() return first * 2 end):tolist())
  end)

  it("of views made under no_grad", function()
    local x = lucerna.zeros(2, 3):requires_grad_()
    local view = lucerna.no_grad(function() return x:view(6) end)
    refused("add_: A view was created in no_grad mode and is being modified inplace with grad mode "
      .. "enabled", function() view:add_(1) end)
    lucerna.no_grad(function() view:add_(1) end)
    assert.equal(6, x:sum():item())
  end)

  it("of what a gradient needs", function()
    local x = lucerna.zeros(2, 3):requires_grad_()
    local y = x:exp()
    y:t_()
    refused("has been modified by an inplace operation: %[float32 tensor %[2, 3%]%], used by "
      .. "ExpBackward0, is at version 1; expected version 0", function() y:sum():backward() end)
  end)
end)

describe("an assignment", function()
  it("writes one value of any dtype through a mask", function()
    local x, mask = lucerna.zeros(3), lucerna.tensor { true, false, true }
    x[mask] = lucerna.tensor(5)
    assert.same({ 5.0, 0.0, 5.0 }, x:tolist())
    local y = lucerna.zeros(2, 3, { dtype = lucerna.float64 })
    local value = lucerna.tensor({ 2.5 }, { requires_grad = true })
    y[{ 1, mask }] = value
    y:sum():backward()
    assert.same({ { 2.5, 0.0, 2.5 }, { 0.0, 0.0, 0.0 } }, y:tolist())
    assert.same({ 2.0 }, value.grad:tolist())
    assert.equal(lucerna.float32, value.grad.dtype)
    local message = parity.message(function() x[mask] = lucerna.tensor { 1, 2 } end)
    assert.matches("got Float for the destination and Long for the source", message)
    message = parity.message(function() x[lucerna.tensor { 1, 2 }] = lucerna.tensor(5) end)
    assert.matches("got Float for the destination and Long for the source", message)
  end)
end)

describe("a view in place", function()
  it("changes the tensor, and its views go on seeing the memory", function()
    local x = lucerna.arange(6.0):view(2, 3)
    local view = x[1]
    assert.equal(x, x:t_())
    assert.same({{0, 3}, {1, 4}, {2, 5}}, x:tolist())
    view:fill_(9)
    assert.same({{9, 3}, {9, 4}, {9, 5}}, x:tolist())
    assert.equal(2, x._version)
  end)

  it("is recorded, also for views of tensors", function()
    local x = lucerna.ones(2, 3):requires_grad_()
    local y = x * 2
    local z = y[{{}, {1, 2}}]
    y:transpose_(1, 2)
    z:t_():mul_(lucerna.arange(4.0):view(2, 2))
    assert.equal("TransposeBackward0", (x * 1):transpose_(1, 2).grad_fn:name())
    y:sum():backward()
    assert.same({{0, 4, 2}, {2, 6, 2}}, x.grad:tolist())
  end)
end)
