-- Random arguments for any row of the operator table, plausible ones by the types of its parameters
-- and, now and then, wrong or absurd ones. The same for the same dice.
local lucerna = require "lucerna"
local core = require "lucerna.core"
local operators = require "operators"

local M = {}

local DTYPES = {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32",
  "int64", "bool", "complex64", "complex128"}
local SHAPES = {{}, {0}, {1}, {3}, {3}, {2, 3}, {3, 2}, {3, 3}, {2, 0}, {2, 3, 4}, {1, 2, 4, 4},
  {2, 1, 3, 0}, {1, 1, 3, 3, 2}, {2, 2, 4}}
local INTEGERS = {0, 1, 2, 3, 1, 2, 3, -1, -2, 4, 7}
local ABSURD = {0, -1, -1000, 2 ^ 31, 2 ^ 40, 2 ^ 62, math.maxinteger, math.mininteger, 0 / 0,
  math.huge, -math.huge, 2.5, -0.0, 1e300, "", "x", "sum\n\0", true, false, print, {}, {{}},
  {n = 3}, {1, "a"}, {1, {2}}, io.stdout, lucerna.none, lucerna.float32, lucerna.int64}
local FLOATS = {0.0, 0.5, 1.0, -1.5, 2.0, 3, 1e-30, 1e30, 0 / 0, math.huge}

local make = {} -- by type of parameter

local values
function values(dice, shape, dtype)
  if lucerna[dtype].is_complex then
    return lucerna.complex(values(dice, shape, "float32"), values(dice, shape, "float32"))
      :to(lucerna[dtype])
  end
  if dtype == "bool" then return lucerna.randint(2, shape, {dtype = lucerna.bool}) end
  if dice.often(50) then return lucerna.randint(5, shape, {dtype = lucerna[dtype]}) end
  return lucerna.rand(shape):mul(4):sub(dtype == "uint8" and 0 or 2):to(lucerna[dtype])
end

local function strange_strides(dice, t)
  local way = dice.next(4)
  if way == 1 and t:dim() >= 2 then return t:transpose(1, -1) end
  if way == 2 and t:dim() >= 1 then return lucerna.cat({t, t}, 1)[{{1, -1, 2}}] end
  if way == 3 and t:dim() >= 1 then return t:narrow(1, 1, math.min(1, t:size(1))):expand_as(t) end
  return t
end

-- Often the shape of the call's other tensors, or one that broadcasts to it.
local function shape_for(dice)
  if dice.often(20) then return dice.one(SHAPES) end
  local shape = {table.unpack(dice.shape)}
  if #shape > 0 and dice.often(25) then shape[dice.next(#shape)] = 1 end
  if dice.often(15) then table.remove(shape, 1) end
  return shape
end

function make.Tensor(dice)
  local dtype = dice.often(75) and dice.dtype or dice.one(DTYPES)
  local t = values(dice, shape_for(dice), dtype)
  if dice.often(30) then t = strange_strides(dice, t) end
  if (lucerna.is_floating_point(t) or t:is_complex()) and dice.often(40) then
    t = t:detach():requires_grad_()
    if dice.often(50) then t = t * 1 end
  end
  return t
end

function make.IndexTensor(dice)
  if dice.absurd and dice.often(10) then return make.Tensor(dice) end
  local t = lucerna.randint(1, 4, dice.one(SHAPES))
  if dice.absurd and dice.often(10) then t = t * dice.one {-1, 0, 100, math.mininteger} end
  return dice.often(80) and t or t:to(lucerna[dice.one(DTYPES)])
end

function make.int(dice)
  if dice.absurd and dice.often(15) then return dice.often(30) and 1000 or dice.one(ABSURD) end
  return dice.one(INTEGERS)
end

function make.float(dice) return dice.one(FLOATS) end
function make.Scalar(dice) return dice.often(50) and dice.one(FLOATS) or dice.one(INTEGERS) end
function make.Operand(dice) return dice.often(70) and make.Tensor(dice) or make.Scalar(dice) end
function make.bool(dice) return dice.often(50) end
function make.dtype(dice) return lucerna[dice.one(DTYPES)] end
function make.device() return "cpu" end
function make.Generator() return lucerna.default_generator end
function make.Dim(dice) return dice.one {1, 1, 2, 2, 3, -1, -1, -2, 0, 5} end
make.Index, make.Padding = make.Dim, make.int

local function list_of(dice, f, n)
  local list = {}
  for i = 1, n do list[i] = f(dice) end
  return list
end

function make.Size(dice) return list_of(dice, make.int, dice.next(5) - 1) end
function make.Dims(dice) return list_of(dice, make.Dim, dice.next(4) - 1) end

function make.DimPair(dice)
  local n = dice.next(3) - 1
  return {list_of(dice, make.Dim, n), list_of(dice, make.Dim, n)}
end

function make.str(dice, p)
  if p.choices and dice.often(80) then return dice.one(p.choices) end
  return dice.one {"ij,jk->ik", "...i->i", "ii", "i,i->", "", "mean", "->", "a"}
end

local function argument(dice, p)
  if dice.absurd and dice.often(8) then return dice.one(ABSURD) end
  if p.optional and dice.often(30) then return nil end
  local f = assert(make[p.type], p.type)
  if not p.list or (p.list ~= "" and dice.often(50)) then return f(dice, p) end
  return list_of(dice, f, p.list ~= "" and tonumber(p.list) or dice.next(4) - 1)
end

--- Arguments for a row and their number: its first few positional ones, and some by name.
function M.arguments(dice, row)
  local args, n = {}, 0
  local given = #row.positional
  dice.shape = dice.one(SHAPES)
  dice.dtype = dice.often(60) and DTYPES[dice.next(2)] or dice.one(DTYPES)
  if dice.often(50) then
    while given > 0 and row.positional[given].default and dice.often(70) do given = given - 1 end
  end
  if dice.absurd and dice.often(3) then given = dice.next(8) - 1 end
  for i = 1, given do
    n = n + 1
    local p = row.positional[i]
    if p then args[n] = argument(dice, p) else args[n] = dice.one(ABSURD) end
  end
  local kw
  for _, p in ipairs(row.named) do
    if dice.often(25) then
      kw = kw or {}
      kw[p.name] = argument(dice, p)
    end
  end
  if dice.absurd and dice.often(3) then
    kw = {[dice.one {"dim", "out", "inplace", "x"}] = dice.one(ABSURD)}
  end
  if dice.absurd and row.out and dice.often(5) then kw = {out = make.Tensor(dice)} end
  if kw then
    n = n + 1
    args[n] = kw
  end
  return args, n
end

--- All functions of a row: of the library, of tensors, of nn.functional, with and without _.
function M.functions(row)
  local list = {}
  for _, name in ipairs {row.name, row.name .. "_"} do
    for _, f in pairs {operators.find(name), core.Tensor[name], core.functional[name]} do
      if core._schemas(f) then list[#list + 1] = f end
    end
  end
  return list
end

return M
