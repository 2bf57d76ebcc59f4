-- Every operator that users can call has a recorded answer of PyTorch, a gradient check if it has a
-- gradient, and a case of an error; what lacks one is named here or in the lists below, which say
-- why. Rows are found by asking the binding which row a call takes, so an overload counts alone.
local lucerna = require "lucerna"
local calls = require "calls"
local cases = require "cases"
local core = require "lucerna.core"
local operators = require "operators"
local parity = require "parity"

-- Without a recorded answer: why.
local UNRECORDED = {
  empty = "its values are arbitrary", empty_like = "its values are arbitrary",
  empty_strided = "its values are arbitrary", new_empty = "its values are arbitrary",
  T = "a field, checked against transpose", mT = "a field, checked against transpose",
}

-- Without a gradient check: why.
local UNCHECKED = {
  to_float = "float64 in, less out: finite differences vanish; the gradient is recorded",
  standard_gamma = "drawn: the gradient is the distribution's, not the draws'; it is recorded",
  sample_dirichlet = "the same",
  to_half = "the same", to_bfloat16 = "the same",
  to_cfloat = "the same", to_cdouble = "widens to complex numbers, as `to` does",
  to_char = "gives integers", to_byte = "gives integers", to_short = "gives integers",
  to_int = "gives integers", to_long = "gives integers", to_bool = "gives booleans",
  bitwise_and = "takes integers", bitwise_or = "takes integers", bitwise_xor = "takes integers",
  bitwise_not = "takes integers", bitwise_left_shift = "takes integers",
  bitwise_right_shift = "takes integers", gcd = "takes integers", lcm = "takes integers",
  isreal = "gives booleans", isin = "gives booleans",
}

-- Without a case of an error: why. (Besides those of one tensor and options, which can only be
-- given arguments of a wrong kind.)
local UNREFUSED = {
  equal = "compares any two tensors",
  atleast_1d_all = "takes any tensors", atleast_2d_all = "takes any tensors",
  atleast_3d_all = "takes any tensors",
}

-- One tensor, and options of which every value is allowed?
local function takes_anything(row)
  local tensors = 0
  for _, p in ipairs(row.positional) do
    if p.type == "Tensor" or p.type == "Operand" then
      tensors = tensors + (p.list and 2 or 1)
    elseif p.type ~= "bool" and p.type ~= "float" and p.type ~= "dtype" and p.type ~= "Scalar" then
      return false
    end
  end
  return tensors == 1
end

local function zeros(v)
  local dtype = v.dtype or (v.kind == "real" or v.kind == "fixed") and "float64" or "int64"
  return lucerna.zeros(v.shape, {dtype = lucerna[dtype]})
end

-- The row a recorded case takes; ".name" is a method, but of nn.functional in the nn files.
local function row_of(case, nn)
  local args, n = cases.arguments(case, zeros)
  local home, name = case.fn:match("^(%w*)%.(.*)$")
  local f = home and ((nn or home == "F") and core.functional or lucerna[home]
    or core.Tensor)[name] or lucerna[case.fn] or core[case.fn]
  return core._row(f, table.unpack(args, 1, n))
end

local recorded, checked, refused = {}, {}, {}

local function count_file(file)
  local nn = file:find("^nn_") ~= nil
  for _, case in ipairs(parity.load(file)) do
    if case.fn then
      local id = assert(row_of(case, nn), case.name)
      if case.error then refused[id] = true else recorded[id] = true end
      if case.grads and not case.rough and not nn then checked[id] = true end
    end
  end
end

local function count_calls()
  for _, call in ipairs(calls.gradients()) do
    checked[call.id or core._row(call[1], table.unpack(call, 2, call.n or #call))] = true
  end
  for _, call in ipairs(calls.refusals()) do
    refused[call.id or core._row(call[2], table.unpack(call, 3, call.n or #call))] = true
  end
end

local function has_gradient(row) return row.gradient == "own" or row.composite end

-- The rows that `wanted` selects and neither list has.
local function missing(wanted, have, excused)
  local names = {}
  for _, row in ipairs(operators.rows()) do
    if wanted(row) and not have[row.id] and not excused[row.id] then names[#names + 1] = row.id end
  end
  return table.concat(names, " ")
end

-- Excuses that no row needs any more.
local function needless(have, excused)
  local names = {}
  for id in pairs(excused) do
    if have[id] then names[#names + 1] = id end
  end
  table.sort(names)
  return table.concat(names, " ")
end

local function every() return true end

describe("every operator", function()
  setup(function()
    for _, file in ipairs(operators.FILES) do count_file(file) end
    count_calls()
  end)

  it("has a recorded answer", function()
    assert.equal("", missing(every, recorded, UNRECORDED))
    assert.equal("", needless(recorded, UNRECORDED))
  end)

  it("with a gradient has it checked", function()
    assert.equal("", missing(has_gradient, checked, UNCHECKED))
    assert.equal("", needless(checked, UNCHECKED))
  end)

  it("says which argument is of a wrong kind", function()
    for _, row in ipairs(operators.rows()) do
      local overloads = type(row.call) == "function" and core._schemas(row.call)
      local first = row.positional[1]
      if overloads and #overloads == 1 and first and first.type ~= "Size" then
        local ok, message = pcall(row.call, print)
        assert.is_false(ok, row.id)
        local want = row.name .. ": " .. first.name .. " must be "
        assert(message:find(want, 1, true), row.id .. ": " .. message)
      end
    end
  end)

  it("has a case of an error", function()
    local function can_fail(row) return not takes_anything(row) end
    assert.equal("", missing(can_fail, refused, UNREFUSED))
    assert.equal("", needless(refused, UNREFUSED))
  end)
end)
