-- Calls every operator's every name with arguments that are plausible, wrong or absurd, from a
-- fixed seed. Whatever is passed, a call returns or raises one line of text; it does not crash (the
-- sanitized build looks on), hang, or keep memory; and where it returns what can be differentiated,
-- differentiating does not crash either.
local lucerna = require "lucerna"
local core = require "lucerna.core"
local operators = require "operators"

local LIMIT = 96 << 20 -- bytes the core may hold meanwhile, so that absurd sizes fail at once
local PATIENCE = 5     -- seconds one call may take
local MANY = 1 << 20   -- elements; more (of an expanded tensor) are not summed up

local DTYPES = {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32",
  "int64", "bool"}
local SHAPES = {{}, {0}, {1}, {3}, {3}, {2, 3}, {3, 2}, {3, 3}, {2, 0}, {2, 3, 4}, {1, 2, 4, 4},
  {2, 1, 3, 0}, {1, 1, 3, 3, 2}, {2, 2, 4}}
local INTEGERS = {0, 1, 2, 3, 1, 2, 3, -1, -2, 4, 7, 1000}
local ABSURD = {0, -1, -1000, 2 ^ 31, 2 ^ 40, 2 ^ 62, math.maxinteger, math.mininteger, 0 / 0,
  math.huge, -math.huge, 2.5, -0.0, 1e300, "", "x", "sum\n\0", true, false, print, {}, {{}},
  {n = 3}, {1, "a"}, {1, {2}}, io.stdout, lucerna.none, lucerna.float32, lucerna.int64}
local FLOATS = {0.0, 0.5, 1.0, -1.5, 2.0, 3, 1e-30, 1e30, 0 / 0, math.huge}

local make = {} -- by type of parameter

local function values(dice, shape, dtype)
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

function make.Tensor(dice)
  local dtype = dice.often(60) and DTYPES[dice.next(2)] or dice.one(DTYPES)
  local t = values(dice, dice.one(SHAPES), dtype)
  if dice.often(30) then t = strange_strides(dice, t) end
  if lucerna.is_floating_point(t) and dice.often(40) then
    t = t:detach():requires_grad_()
    if dice.often(50) then t = t * 1 end
  end
  return t
end

function make.IndexTensor(dice)
  if dice.often(10) then return make.Tensor(dice) end
  local t = lucerna.randint(1, 4, dice.one(SHAPES))
  if dice.often(10) then t = t * dice.one {-1, 0, 100, math.mininteger} end
  return dice.often(80) and t or t:to(lucerna[dice.one(DTYPES)])
end

function make.int(dice) return dice.often(90) and dice.one(INTEGERS) or dice.one(ABSURD) end
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

function make.str(dice, p)
  if p.choices and dice.often(80) then return dice.one(p.choices) end
  return dice.one {"ij,jk->ik", "...i->i", "ii", "i,i->", "", "mean", "->", "a"}
end

local function argument(dice, p)
  if dice.often(8) then return dice.one(ABSURD) end
  if p.optional and dice.often(30) then return nil end
  local f = assert(make[p.type], p.type)
  if not p.list or (p.list ~= "" and dice.often(50)) then return f(dice, p) end
  return list_of(dice, f, p.list ~= "" and tonumber(p.list) or dice.next(4) - 1)
end

-- Arguments for a row: its first few positional ones, and some by name.
local function arguments(dice, row)
  local args, n = {}, 0
  local given = #row.positional
  if dice.often(50) then
    while given > 0 and row.positional[given].default and dice.often(70) do given = given - 1 end
  end
  if dice.often(3) then given = dice.next(8) - 1 end
  for i = 1, given do
    n = n + 1
    args[n] = row.positional[i] and argument(dice, row.positional[i]) or dice.one(ABSURD)
  end
  local kw
  for _, p in ipairs(row.named) do
    if dice.often(25) then
      kw = kw or {}
      kw[p.name] = argument(dice, p)
    end
  end
  if dice.often(3) then kw = {[dice.one {"dim", "out", "inplace", "x"}] = dice.one(ABSURD)} end
  if row.out and dice.often(5) then kw = {out = make.Tensor(dice)} end
  if kw then
    n = n + 1
    args[n] = kw
  end
  return args, n
end

-- All functions of a row: of the library, of tensors, of nn.functional, with and without _.
local function functions(row)
  local list = {}
  for _, name in ipairs {row.name, row.name .. "_"} do
    for _, f in pairs {lucerna[name], core.Tensor[name], core.functional[name]} do
      if core._schemas(f) then list[#list + 1] = f end
    end
  end
  return list
end

local function text_of(row, args, n)
  local words = {}
  for i = 1, n do
    local a = args[i]
    words[i] = lucerna.is_tensor(a)
        and tostring(a.dtype) .. "[" .. table.concat(a.shape, ",") .. "]"
      or type(a) == "table" and "{" .. #a .. "}" or tostring(a)
  end
  return row.id .. "(" .. table.concat(words, "; ") .. ")"
end

-- Differentiates what can be; the error, if any.
local function differentiate(results)
  for i = 1, results.n do
    local t = results[i]
    if lucerna.is_tensor(t) and t.requires_grad and t:numel() < MANY then
      local ok, message = pcall(function() t:sum():backward() end)
      if not ok then return message end
    end
  end
end

-- What a gradient may say: that it is not there, or that a call in place has written what it needs.
local function unexpected(message)
  if not message or message:find("is not implemented", 1, true) then return nil end
  if message:find("modified by an inplace operation", 1, true) then return nil end
  if message:find("a second time", 1, true) then return nil end
  return "no gradient: " .. message
end

local function complaint(row, message)
  if type(message) ~= "string" then return "an error that is no string" end
  if message:find("[\n\r%z]") then return "an error of several lines: " .. message end
  local own = message:gsub("^[^:]*:%d+: ", "")
  if own:find(row.name, 1, true) ~= 1 then return "an error without its function: " .. message end
end

local function one_call(dice, row, f)
  local args, n = arguments(dice, row)
  local begin = lucerna.clock()
  local results = table.pack(pcall(f, table.unpack(args, 1, n)))
  local trouble
  if results[1] then
    trouble = unexpected(differentiate(results))
  else
    trouble = complaint(row, results[2])
  end
  if lucerna.clock() - begin > PATIENCE then trouble = "too slow" end
  return trouble and text_of(row, args, n) .. ": " .. trouble
end

-- `rounds` calls of each function of each row; what went wrong, as a list.
local function fuzz(seed, rounds)
  local troubles, calls = {}, 0
  local dice = operators.dice(seed)
  lucerna.manual_seed(seed)
  for _, row in ipairs(operators.rows()) do
    for _, f in ipairs(functions(row)) do
      for _ = 1, rounds do
        calls = calls + 1
        troubles[#troubles + 1] = one_call(dice, row, f)
      end
    end
  end
  return troubles, calls
end

local function live()
  collectgarbage()
  collectgarbage()
  return lucerna.memory().live
end

describe("calls with random arguments", function()
  local dtype = lucerna.get_default_dtype()

  before_each(function() lucerna.set_memory_limit(LIMIT) end)

  after_each(function()
    lucerna.set_memory_limit(0)
    lucerna.set_default_dtype(dtype)
  end)

  local function check(seed, rounds)
    local before = live()
    local troubles, calls = fuzz(seed, rounds)
    assert.is_true(calls > 1000)
    assert(#troubles == 0, #troubles .. " troubles:\n" .. table.concat(troubles, "\n", 1,
      math.min(#troubles, 400)))
    assert.is_true(live() <= before + 65536)
  end

  it("return or say in one line what is wrong", function() check(1, 40) end)
  it("do so many times over #slow", function() check(2, 1000) end)
end)
