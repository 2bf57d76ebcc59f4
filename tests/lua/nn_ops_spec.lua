-- The operators of neural networks against PyTorch's recorded answers (tests/parity/gen_nn.py):
-- values, gradients and second derivatives, in float64, in float32 and of strided views; then errors.
local lucerna = require "lucerna"
local F = require("lucerna.core").functional
local autograd = lucerna.autograd

local families = {"matmul", "activation", "conv"}
local tolerance = {float64 = 1e-8, float32 = 2e-4}

-- ---- fixtures to tensors and back ----

local function from_data(spec, dtype)
  return lucerna.tensor(spec.data, {dtype = dtype}):reshape(spec.shape)
end

-- The same values behind other strides.
local function strided(t)
  if t:dim() < 2 then return t end
  return t:transpose(1, -1):contiguous():transpose(1, -1)
end

-- `how`: dtype, view; real tensors, in order of appearance, are added to how.leaves.
local function build(value, how)
  if type(value) ~= "table" then return value end
  if value.none then return lucerna.none end
  if value.list then
    local list = {}
    for i, v in ipairs(value) do list[i] = build(v, how) end
    return list
  end
  local floating = value.kind == "real" or value.kind == "fixed"
  local t = from_data(value, floating and lucerna[how.dtype] or lucerna.int64)
  if how.view then t = strided(t) end
  if value.kind == "real" then
    t = t:detach():requires_grad_()
    how.leaves[#how.leaves + 1] = t
  end
  return t
end

local function shape_text(shape)
  return "[" .. table.concat(shape, ", ") .. "]"
end

local function close(a, b, tol)
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  return a == b or math.abs(a - b) <= tol * (1 + math.abs(b))
end

local function check(what, got, want, tol)
  assert(got, what .. ": missing")
  assert.equal(shape_text(want.shape), shape_text(got:size()), what .. ": shape")
  local values = got:detach():reshape(-1):tolist()
  for i, expected in ipairs(want.data) do
    if not close(values[i], expected, tol) then
      error(("%s: value %d is %s, expected %s"):format(what, i, values[i], expected), 0)
    end
  end
end

local function all_zero(values)
  for _, v in ipairs(values) do
    if v ~= 0 then return false end
  end
  return true
end

-- No gradient and a gradient of zeros are the same.
local function check_list(what, got, want, tol)
  for i, expected in ipairs(want) do
    if expected.none or (not got[i] and all_zero(expected.data)) then
      assert(not got[i] or all_zero(got[i]:reshape(-1):tolist()), what .. " " .. i .. ": not zero")
    else
      check(what .. " " .. i, got[i], expected, tol)
    end
  end
end

-- ---- running a case ----

local function find(name)
  if name:sub(1, 1) == "." then return F[name:sub(2)] end
  return lucerna[name]
end

local function call(case, how)
  local fn = assert(find(case.fn), case.fn .. " is missing")
  how.leaves = {}
  local args, n, kw = {}, case.args.n, {}
  for i = 1, n do args[i] = build(case.args[i], how) end
  for k, v in pairs(case.kw) do kw[k] = build(v, how) end
  if next(kw) then
    n = n + 1
    args[n] = kw
  end
  if case.seed then lucerna.manual_seed(case.seed) end
  return args, table.pack(fn(table.unpack(args, 1, n)))
end

local function grads_of(outputs, inputs, gout, create_graph)
  return table.pack(autograd.grad(outputs, inputs, gout,
                                  {create_graph = create_graph, allow_unused = true}))
end

-- Derivatives by the leaves and by the output's gradient of the gradients' weighted sum.
local function check_second(case, how, leaves, gout, grads, tol)
  local sum
  for i, w in ipairs(case.weights) do
    if grads[i] and not w.none and grads[i].requires_grad then
      local term = grads[i]:mul(from_data(w, lucerna[how.dtype])):sum()
      sum = sum and sum:add(term) or term
    end
  end
  assert(sum, "gradients have no history")
  local wrt = {table.unpack(leaves)}
  wrt[#wrt + 1] = gout
  check_list("second derivative", grads_of({sum}, wrt), case.grads2, tol)
end

local function run(case, how)
  local tol = tolerance[how.dtype]
  local args, out = call(case, how)
  for i, want in ipairs(case.out) do check("result " .. i, out[i], want, tol) end
  for i, want in pairs(case.written or {}) do check("written argument " .. i, args[i], want, tol) end
  if not case.grads then return end
  local gout = from_data(case.gout, lucerna[how.dtype]):requires_grad_()
  check_list("gradient", grads_of({out[1]}, how.leaves, {gout:detach()}), case.grads, tol)
  if not case.grads2 then return end
  args, out = call(case, how)
  local grads = grads_of({out[1]}, how.leaves, {gout}, true)
  check_list("recorded gradient", grads, case.grads, tol)
  check_second(case, how, how.leaves, gout, grads, tol)
end

for _, family in ipairs(families) do
  local cases = dofile("tests/parity/data/nn_" .. family .. ".lua")
  describe("PyTorch's answers: " .. family, function()
    for _, case in ipairs(cases) do
      it(case.name, function() run(case, {dtype = "float64"}) end)
      it(case.name .. " in float32", function() run(case, {dtype = "float32"}) end)
      it(case.name .. " of views", function() run(case, {dtype = "float64", view = true}) end)
    end
  end)
end

