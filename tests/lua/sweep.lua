-- Calls made again with other tensors: every dtype, nothing along a dimension, 0-d, and memory in
-- other orders. What PyTorch answers to the first three stands in tests/parity/data/sweep.lua (a
-- line of text each: dtype, shape and a sum of each result); the last must change nothing.
local lucerna = require "lucerna"
local cases = require "cases"
local core = require "lucerna.core"
local parity = require "parity"

local M = {}

-- ---- arguments ----

local function first_tensor(v)
  if type(v) ~= "table" then return nil end
  if v.data then return v end
  local list = v.list or v
  for i = 1, list.n or #list do
    local found = first_tensor(list[i])
    if found then return found end
  end
end

-- Nothing along the first (1) or last (-1) dimension of tensors as long there as the first one.
local function nothing(case, dim)
  local shape = first_tensor(case.args).shape
  local size = shape[dim == 1 and 1 or #shape]
  return function(t)
    if t:dim() > 0 and t:size(dim) == size then return t:narrow(dim, 1, 0):clone() end
    return t
  end
end

local function change_of(case, variant)
  variant = variant:match("^autocast (%w+)$") or variant
  if variant == "nothing first" then return nothing(case, 1) end
  if variant == "nothing last" then return nothing(case, -1) end
  if variant == "single" then return function(t) return t:flatten()[1]:clone() end end
  return function(t, spec)
    if spec.index or spec.dtype ~= case.of then return t end
    if variant ~= "complex64" or t:is_complex() then return t:to(lucerna[variant]) end
    t = t:float()
    return lucerna.complex(t, t:flatten():flip(1):view_as(t) / 2)
  end
end

-- ---- answers ----

-- The sum of a result's values, each times 1 to 7 by its position; what is not finite counts half;
-- and the same of what they amount to.
local function sum(t)
  local total, size = 0, 0
  local values = t:detach()
  if t:is_complex() then values = lucerna.view_as_real(values) end
  if lucerna.is_floating_point(values) then values = values:to(lucerna.float64) end
  for i, v in ipairs(values:reshape(-1):tolist()) do
    v = v == true and 1 or v == false and 0 or v
    if v ~= v or v == math.huge or v == -math.huge then v = 0.5 end
    local weight = (i - 1) % 7 + 1
    total, size = total + weight * v, size + weight * math.abs(v)
  end
  return total, size
end

local ROOM = {float64 = 1e-6, float32 = 2e-5, float16 = 4e-3, bfloat16 = 3e-2, complex64 = 4e-5}

-- What differs between a result and the text of PyTorch's.
local function difference(t, want, signs)
  local dtype, shape, value = want:match("^(%S+) (%S+) (%S+)$")
  if lucerna.is_tensor(t) and not dtype then
    return tostring(t.dtype) ~= want and tostring(t.dtype) or nil
  end
  if want == "-" then return nil end
  if not dtype then return tostring(t) ~= want and tostring(t) or nil end
  if not lucerna.is_tensor(t) then return type(t) end
  if signs then t = t:abs() end
  local have = t:dim() == 0 and "-" or table.concat(t.shape, "x")
  if tostring(t.dtype) ~= dtype then return tostring(t.dtype) end
  if have ~= shape then return "shape " .. have end
  local total, size = sum(t)
  local room = (ROOM[dtype] or 1e-6) * (size + 0.1)
  if math.abs(total - tonumber(value)) > room then return "values " .. total end
end

--- The operator's row that a call takes.
function M.row(case)
  local args, n = cases.arguments(case)
  return core._row((cases.find(case, args)), table.unpack(args, 1, n))
end

--- What a call gives when every recorded tensor has gone through change(tensor, recorded).
local function call(case, change)
  local args, n = cases.arguments(case, function(v) return change(parity.tensor(v), v) end)
  local f, name = cases.find(case, args)
  assert(f, name .. " is missing")
  local out = table.pack(f(table.unpack(args, 1, n)))
  if type(out[1]) == "table" and not lucerna.is_tensor(out[1]) then
    out = out[1]
    out.n = #out
  end
  return out
end

M.call = call

local function under_autocast(...)
  local _ <close> = lucerna.autocast("cpu")
  return call(...)
end

M.VARIANTS = {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32",
  "int64", "bool", "complex64", "nothing first", "nothing last", "single", "autocast float32",
  "autocast bfloat16"}

--- nil if the call answers this variant as PyTorch does (want), else how not.
function M.fails(case, variant, want)
  local f = variant:find("^autocast") and under_autocast or call
  local ok, out = pcall(f, case, change_of(case, variant))
  if not ok then
    if type(out) ~= "string" or out:find("\n", 1, true) then return "the error is no line" end
    if variant == "complex64" then return nil end -- what takes no complex numbers says so
    return want ~= "raises" and "raises " .. out:gsub("^.-:%d+: ", "") or nil
  end
  if want == "raises" then return "does not raise" end
  local i = 0
  if want == "" then return out.n > 0 and out.n .. " results" or nil end
  for text in (want .. "; "):gmatch("(.-); ") do
    i = i + 1
    local what = difference(out[i], text, case.signs)
    if what then return ("result %d: %s instead of %s"):format(i, what, text) end
  end
  if i ~= out.n then return out.n .. " results" end
end

-- ---- gradients ----

-- Tensors of floating point become leaves, which are collected.
local function leaf_of(change, leaves)
  return function(t, spec)
    t = change(t, spec)
    if not lucerna.is_floating_point(t) then return t end
    leaves[#leaves + 1] = t:detach():requires_grad_()
    return leaves[#leaves]
  end
end

-- A number for every element, the same for every dtype and layout.
local function weights(t)
  local w = lucerna.arange(t:numel()):remainder(5):sub(1.75):mul(0.25)
  return w:reshape(t:size()):to(t.dtype)
end

-- The results, and the gradients of a weighted sum of them by every leaf.
local function differentiated(case, change)
  local leaves, grads, outs, gout = {}, {}, {}, {}
  local out = call(case, leaf_of(change, leaves))
  for i = 1, out.n do
    local t = out[i]
    if lucerna.is_tensor(t) and t.requires_grad then
      outs[#outs + 1], gout[#gout + 1] = t, weights(t)
    end
  end
  if #outs > 0 then
    local options = {grad_outputs = gout, allow_unused = true}
    grads = table.pack(lucerna.autograd.grad(outs, leaves, options))
  end
  return out, grads, #leaves
end

local function without_gradient(message)
  return message:find("is not implemented", 1, true) or message:find("not differentiable", 1, true)
    or message:find("which is not computed", 1, true)
end

--- Fails if gradients without elements, or of 0-d tensors, are not of their tensors' shapes, but
-- for kinds of tensors where we answer otherwise.
function M.check_edge_gradients(case, otherwise)
  for _, variant in ipairs {"nothing first", "nothing last", "single"} do
    if case[variant] and case[variant] ~= "raises" and not otherwise(case, variant) then
      local shapes = {}
      local change = change_of(case, variant)
      local ok, why, grads, n = pcall(differentiated, case, function(t, spec)
        t = change(t, spec)
        if lucerna.is_floating_point(t) then shapes[#shapes + 1] = table.concat(t.shape, "x") end
        return t
      end)
      if not ok and not without_gradient(why) then error(why, 0) end
      for i = 1, ok and n or 0 do
        local have = grads[i] and table.concat(grads[i].shape, "x") or shapes[i]
        if have ~= shapes[i] then error(variant .. ": shape of gradient " .. i, 0) end
      end
    end
  end
end

local function same(have, want, room, what)
  local why = parity.difference(have, want, room)
  if why then error(what .. ": " .. why, 0) end
end

local function all_same(case, have, want, room)
  for i = 1, want.n do
    local a, b = have[i], want[i]
    if case.signs then a, b = a:abs(), b:abs() end
    same(a, b, room, "result " .. i)
  end
end

local function same_gradients(have, want, n, room)
  for i = 1, n do
    local a, b = have[i], want[i]
    if a == nil and b == nil then goto continue end
    a, b = a or b:mul(0), b or a:mul(0)
    room.dtype = false
    same(a, b, room, "gradient " .. i)
    ::continue::
  end
end

-- Is there a gradient that float16 can't hold, or nearly so?
local function overflow(grads, n)
  for i = 1, n do
    if grads[i] and grads[i]:numel() > 0 and grads[i]:abs():max():item() > 3e4 then return true end
  end
end

local HALF_ROOM = {float16 = 0.01, bfloat16 = 0.06}

--- Fails if gradients in half precision are not those of float32 at the same values.
function M.half_gradients(case, dtype)
  local half, single = lucerna[dtype], lucerna.float32
  local function change(t, spec)
    if spec.index or spec.dtype ~= case.of then return t end
    return t:to(half)
  end
  local ok, why, want, n = pcall(differentiated, case, function(t, spec)
    local rounded = change(t, spec)
    return rounded.dtype == half and rounded:to(single) or rounded
  end)
  if not ok and without_gradient(why) then return end
  assert(ok, why)
  if dtype == "float16" and overflow(want, n) then return end
  local _, have = differentiated(case, change)
  local room = HALF_ROOM[dtype]
  same_gradients(have, want, n, {rtol = room, atol = room, scale = true})
end

-- ---- memory in other orders ----

local function junk(t, shape) return lucerna.full(shape, 1, {dtype = t.dtype}) end

local function reversed(t)
  local dims = {}
  for i = 1, t:dim() do dims[i] = t:dim() + 1 - i end
  return t:dim() < 2 and t or t:permute(dims):contiguous():permute(dims)
end

-- Every other element of a larger tensor, and that tensor.
local function every_other(t)
  local both = lucerna.stack({t, junk(t, t:size())}, -1)
  return both:select(-1, 1), both
end

local function behind(t)
  local flat = lucerna.cat({junk(t, {3}), t:flatten()})
  return flat:narrow(1, 4, t:numel()):view(t:size())
end

-- One value along the first dimension longer than 1, standing there once in memory.
local function expanded(t)
  for d = 1, t:dim() do
    if t:size(d) > 1 then return t:narrow(d, 1, 1):expand(t:size()) end
  end
  return t
end

M.LAYOUTS = {reversed = reversed, ["every other"] = every_other, behind = behind}

local TIGHT = {rtol = 1e-5, atol = 1e-6, scale = true}

local function compare(case, layout, plain)
  local ok, want, grads, n = pcall(differentiated, case, plain)
  if not ok then
    assert(not pcall(differentiated, case, layout), "fails only for contiguous memory")
    return
  end
  local have, others = differentiated(case, layout)
  all_same(case, have, want, TIGHT)
  same_gradients(others, grads, n, {rtol = 1e-5, atol = 1e-5, scale = true})
end

--- Fails if results or gradients depend on how tensors lie in memory.
function M.check_layouts(case)
  local function plain(t) return t end
  for name, layout in pairs(M.LAYOUTS) do
    local ok, what = pcall(compare, case, function(t) return (layout(t)) end, plain)
    if not ok then error(name .. ": " .. tostring(what), 0) end
  end
  local ok, what = pcall(compare, case, expanded, function(t) return expanded(t):contiguous() end)
  if not ok then error("expanded: " .. tostring(what), 0) end
end

--- The in-place form on memory with holes gives the same and leaves the holes; false if none.
function M.check_in_place(case)
  local args, n = cases.arguments(case)
  local f, name = cases.find(case, args)
  local in_place = lucerna[name .. "_"]
  local first = args[1]
  if not in_place or case.fn:find("^F%.") or not lucerna.is_tensor(first) then return false end
  local ok, want = pcall(f, table.unpack(args, 1, n))
  if not ok or not lucerna.is_tensor(want) or want.dtype ~= first.dtype
    or table.concat(want:size(), " ") ~= table.concat(first:size(), " ") then return false end
  local holes, all = every_other(first)
  in_place(holes, table.unpack(args, 2, n))
  same(holes, want, {rtol = 0, atol = 0}, "in place")
  same(all:select(-1, 2), junk(first, first:size()), {rtol = 0, atol = 0}, "memory between")
  return true
end

return M
