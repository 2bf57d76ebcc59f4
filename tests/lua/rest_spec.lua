-- Operators whose recorded answers stand in no other file, what is checked by hand (calls.lua), and
-- the in-place and out= forms of every recorded call.
local lucerna = require "lucerna"
local calls = require "calls"
local cases = require "cases"
local core = require "lucerna.core"
local operators = require "operators"
local parity = require "parity"

describe("like PyTorch:", function()
  for title, check in cases.each("rest") do it(title, check) end
end)

local function leaves(args)
  local list = {}
  for _, a in pairs(args) do
    if lucerna.is_tensor(a) and a.requires_grad then
      list[#list + 1] = a
    elseif type(a) == "table" then
      for _, item in ipairs(leaves(a)) do list[#list + 1] = item end
    end
  end
  return list
end

-- The results that depend on the arguments.
local function differentiable(...)
  local list = {}
  for _, t in ipairs {...} do
    if lucerna.is_tensor(t) and t.requires_grad then list[#list + 1] = t end
  end
  return table.unpack(list)
end

describe("finite differences agree:", function()
  for i, call in ipairs(calls.gradients()) do
    local f, n = call[1], call.n or #call
    local id = call.id or core._row(f, table.unpack(call, 2, n))
    it(("%s (%d)"):format(id, i), function()
      local function value() return differentiable(f(table.unpack(call, 2, n))) end
      local wrt = leaves({table.unpack(call, 2, n)})
      parity.gradcheck(value, wrt)
      if not call.once then parity.gradgradcheck(value, wrt) end
    end)
  end
end)

describe("refused:", function()
  for i, call in ipairs(calls.refusals()) do
    local n = call.n or #call
    local id = core._row(call[2], table.unpack(call, 3, n))
    it(("%s (%d): %s"):format(id, i, call[1]), function()
      parity.refused(call[1], call[2], table.unpack(call, 3, n))
    end)
  end
end)

describe("what has no recorded answer:", function()
  it("angles of the origin have no slope", function()
    local y, x = lucerna.zeros(2):requires_grad_(), lucerna.tensor({0.0, 2}):requires_grad_()
    y:atan2(x):sum():backward()
    assert.same({{0, 0.5}, {0, 0}}, {y.grad:tolist(), x.grad:tolist()})
  end)

  it("angles of zeros, infinities and NaN are the C library's, in any company", function()
    local some = lucerna.tensor {0, -0.0, 1, -1, 1 / 0, -1 / 0, 0 / 0, 1e-30, 3}
    local n = some:numel()
    for _, dtype in ipairs {lucerna.float32, lucerna.float64} do
      local z = some:to(dtype)
      local angles = z:unsqueeze(2):expand(n, n):atan2(z:unsqueeze(1):expand(n, n)):double()
      for i = 1, n do
        for j = 1, n do
          local have, want = angles[i][j]:item(), math.atan(z[i]:item(), z[j]:item())
          assert.equal(want ~= want, have ~= have)
          assert.is_true(want ~= want or math.abs(have - want) <= 1e-6 * math.abs(want))
          assert.is_true(want ~= 0 or 1 / want == 1 / have)
        end
      end
    end
  end)

  it("empty tensors have the shape and dtype asked for", function()
    local int8 = lucerna.int8
    local x = lucerna.empty(2, 3, {dtype = int8})
    for _, t in ipairs {x, lucerna.empty_like(x), x:new_empty(2, 3)} do
      assert.same({2, 3}, t.shape)
      assert.equal(int8, t.dtype)
    end
  end)

  it("T and mT are transposed views", function()
    local x = lucerna.rand(2, 3, 4)
    assert.same(x:permute(3, 2, 1):tolist(), x.T:tolist())
    assert.same(x:transpose(2, 3):tolist(), x.mT:tolist())
    x.mT:zero_()
    assert.equal(0.0, x:sum():item())
  end)
end)

-- The same call in place gives the same; false where there is no such form.
local function same_in_place(case, name, args, n, out, view)
  local in_place, x = lucerna[name .. "_"], args[1]
  if not in_place or not lucerna.is_tensor(x) or case.kw and case.kw.dtype then return false end
  local shape, own = table.concat(out[1].shape, " "), table.concat(x.shape, " ")
  if out[1].dtype ~= x.dtype or shape ~= own and not view then return false end
  local got = x:detach():clone()
  assert.equal(got, in_place(got, table.unpack(args, 2, n)))
  parity.close(got, out[1], {rtol = 0, atol = 0}, case.name .. " in place")
  return true
end

-- The same with out=, a tensor or a list of them.
local function same_in_out(case, f, args, n, out, several)
  local got = {}
  for i, t in ipairs(out) do got[i] = lucerna.zeros(1, {dtype = t.dtype}) end
  if not case.kw then n = n + 1 end
  args[n] = args[n] or {}
  args[n].out = several and got or got[1]
  if case.seed then lucerna.manual_seed(case.seed) end
  local returned = table.pack(f(table.unpack(args, 1, n)))
  for i, t in ipairs(got) do
    assert.equal(t, returned[i])
    parity.close(t, out[i], {rtol = 0, atol = 0}, case.name .. " in out=")
  end
  return true
end

local function other_form(case, mode, row)
  local args, n = cases.leaves(case, {})
  local f, name = cases.find(case, args)
  if not f or name:sub(-1) == "_" then return false end
  local _ <close> = lucerna.no_grad()
  if case.seed then lucerna.manual_seed(case.seed) end
  local out = table.pack(f(table.unpack(args, 1, n)))
  for i = 1, out.n do
    if not lucerna.is_tensor(out[i]) then return false end
  end
  if mode == "_" then return not case.seed and same_in_place(case, name, args, n, out, row.view) end
  return same_in_out(case, f, args, n, out, row.schema:find("-> (", 1, true))
end

describe("written elsewhere,", function()
  local has = {_ = {}, out = {}}
  for _, row in ipairs(core._operators()) do
    if row.inplace then has._[row.id] = row end
    if row.out and not row.nn and not row.id:find("^empty") then has.out[row.id] = row end
  end

  for mode, place in pairs {_ = "in place", out = "in out="} do
    it("recorded calls give the same " .. place, function()
      local seen = {}
      for _, file in ipairs(operators.FILES) do
        for _, case in ipairs(parity.load(file)) do
          local args, n, f = {}, 0
          if case.fn and not file:find("^nn_") then
            args, n = cases.leaves(case, {})
            f = cases.find(case, args)
          end
          local id = f and core._row(f, table.unpack(args, 1, n))
          local row = has[mode][id]
          if not case.error and row and other_form(case, mode, row) then
            seen[id] = true
          end
        end
      end
      local missing = {}
      for id in pairs(has[mode]) do
        if not seen[id] then missing[#missing + 1] = id end
      end
      table.sort(missing)
      assert.equal("", table.concat(missing, " "))
    end)
  end
end)
