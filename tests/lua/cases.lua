-- Runs the cases that tests/parity/record.py wrote: values and gradients against PyTorch's, the
-- same again behind strange strides, then first and second derivatives against finite differences.
local lucerna = require "lucerna"
local core = require "lucerna.core"
local parity = require "parity"
local autograd = lucerna.autograd

local M = {}

--- The same values behind other strides.
function M.strided(t)
  if t:dim() < 2 then return t end
  return t:transpose(1, -1):contiguous():transpose(1, -1)
end

local function build(v, make)
  if type(v) ~= "table" then return v end
  if v.none then return lucerna.none end
  if v.type then return lucerna[v.type] end
  if not v.list then return make(v) end
  local list = {}
  for i, item in ipairs(v.list == true and v or v.list) do list[i] = build(item, make) end
  return list
end

--- A recorded call's arguments, of whose tensors `make` makes what is written (parity.tensor).
function M.arguments(case, make)
  local args, n = {}, case.args.n
  make = make or parity.tensor
  for i = 1, n do args[i] = build(case.args[i], make) end
  if case.kw and next(case.kw) then
    n = n + 1
    args[n] = {}
    for k, v in pairs(case.kw) do args[n][k] = build(v, make) end
  end
  return args, n
end

--- The same with leaves, which how.leaves collects; behind strange strides if how.view.
function M.leaves(case, how)
  how.leaves = {}
  return M.arguments(case, function(v)
    local t = parity.tensor(v)
    if how.view then t = M.strided(t) end
    if not v.grad then return t end
    t = t:detach():requires_grad_()
    how.leaves[#how.leaves + 1] = t
    return t
  end)
end

local HOMES = {F = core.functional, linalg = core.linalg, fft = core.fft,
  special = lucerna.special}

-- ".name" is a method, "F.name" of nn.functional, "linalg.name" and "special.name" of those; with
-- its name.
function M.find(case, args)
  local home, name = case.fn:match("^(%w*)%.(.*)$")
  if not home then return lucerna[case.fn] or core[case.fn], case.fn end
  return (HOMES[home] or args[1])[name], name
end

-- The results as a list, a list that comes last among several spread. A name that ends in _ writes
-- a copy.
local function invoke(case, args, n)
  local fn, name = M.find(case, args)
  assert(fn, name .. " is missing")
  if case.seed then lucerna.manual_seed(case.seed) end
  local first = args[1]
  if name:sub(-1) == "_" then first = args[1]:clone() end
  local out = table.pack(fn(first, table.unpack(args, 2, n)))
  if case.list then return out[1] end
  if out.n > 1 and type(out[out.n]) == "table" then
    table.move(out[out.n], 1, #out[out.n], out.n, out)
  end
  return out
end

local function zero(t)
  for _, v in ipairs(t:reshape(-1):tolist()) do
    if v ~= 0 then return false end
  end
  return true
end

-- No gradient and a gradient of zeros are the same.
local function check_gradients(got, want)
  for i, w in ipairs(want) do
    if w.none then
      assert(not got[i] or zero(got[i]), "gradient " .. i .. " is not zero")
    else
      local g = got[i] or lucerna.zeros(w.shape, {dtype = lucerna[w.dtype]})
      parity.close(g, w, nil, "gradient " .. i)
    end
  end
end

local function check_error(case, args, n)
  local ok, message = pcall(invoke, case, args, n)
  assert(not ok, "should fail: " .. case.error)
  assert(type(message) == "string", "the error is no string")
  assert(not message:find("\n"), "not one line: " .. message)
end

function M.run(case, how)
  local args, n = M.leaves(case, how)
  if case.error then return check_error(case, args, n) end
  local out = invoke(case, args, n)
  assert(#case.out == #out, "number of results")
  local recorded = {}
  for i, want in ipairs(case.out) do
    local got = out[i]
    if case.signs then got, want = got:abs(), parity.tensor(want):abs() end
    parity.close(got, want, case.tolerance, "result " .. i)
    if lucerna.is_tensor(out[i]) and out[i].requires_grad then recorded[#recorded + 1] = out[i] end
  end
  if not case.grads then return end
  local gout = {}
  for i, g in ipairs(case.gout) do gout[i] = parity.tensor(g) end
  local options = {grad_outputs = gout, allow_unused = true}
  check_gradients(table.pack(autograd.grad(recorded, how.leaves, options)), case.grads)
end

-- The results that depend on the inputs, unpacked.
local function differentiable(out)
  local list = {}
  for _, t in ipairs(out) do
    if t.requires_grad then list[#list + 1] = t end
  end
  return table.unpack(list)
end

function M.check_derivatives(case)
  local how = {}
  local args, n = M.leaves(case, how)
  for _, want in ipairs(case.out) do
    if type(want) ~= "table" or want.dtype == "float32" or want.dtype == "complex64" then
      return
    end
  end
  for _, leaf in ipairs(how.leaves) do
    local fine = leaf.dtype == lucerna.float64 or leaf.dtype == lucerna.complex128
    if not fine or leaf:numel() == 0 then return end
  end
  local function f() return differentiable(invoke(case, args, n)) end
  parity.gradcheck(f, how.leaves)
  parity.gradgradcheck(f, how.leaves)
end

--- Iterates over the recorded cases of an area: a title, and a function that checks the case.
function M.each(area)
  local list, i = parity.load(area), 0
  return function()
    i = i + 1
    local case = list[i]
    if not case then return end
    return ("%s (%d)"):format(case.name, i), function()
      M.run(case, {})
      if not case.dense then M.run(case, {view = true}) end
      if case.grads and not case.rough then M.check_derivatives(case) end
    end
  end
end

return M
