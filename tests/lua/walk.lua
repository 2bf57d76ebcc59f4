-- Random walks over tensors: each step views, writes or reduces one of a pool of tensors, and does
-- the same to its twin (naive.lua), then compares. A walk is its seed; a difference is reported
-- with the steps that led to it.
local lucerna = require "lucerna"
local Naive = require "naive"
local none, same_list = lucerna.none, require("parity").same_list

local DTYPES = {"float32", "float64", "int64", "int32", "uint8", "bool"}
local POOL, MOST = 10, 300 -- tensors at a time; elements of a tensor
local LIMIT = 4096 -- values beyond it, and fractions, are replaced: so float32 stays exact

local Walk = {}
Walk.__index = Walk

local random = math.random
local function pick(list) return list[random(#list)] end
local function chance(n) return random(n) == 1 end

-- A dimension of x, and as it is written: perhaps from the end.
local function any_dim(x, more)
  local n = #x.m.shape + (more or 0)
  if n == 0 then return nil end
  local d = random(n)
  return d, chance(2) and d or d - n - 1
end

-- ---- values ----

local function any_value(dtype)
  if dtype == "bool" then return random(0, 1) end
  if dtype == "uint8" then return random(0, 9) end
  return random(-5, 5)
end

-- A number for Lua of a kind that fits the dtype, and for the twin.
local function any_number(dtype)
  local v = any_value(dtype)
  if dtype == "bool" then return v == 1, v end
  if Naive.is_float(dtype) and chance(2) then return v + 0.5, v + 0.5 end
  return v, v
end

local function flatten(value, out)
  if type(value) ~= "table" then
    out[#out + 1] = value == true and 1 or value == false and 0 or value
    return out
  end
  for _, v in ipairs(value) do flatten(v, out) end
  return out
end

local function text(list)
  local words = {}
  for i, v in ipairs(list) do words[i] = type(v) == "table" and text(v) or tostring(v) end
  return "{" .. table.concat(words, ", ") .. "}"
end

local function near_list(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    local close = math.abs(a[i] - b[i]) <= 1e-5 * math.max(1, math.abs(b[i]))
    if not close and (a[i] == a[i] or b[i] == b[i]) then return false end
  end
  return true
end

-- ---- the pool ----

function Walk:say(fmt, ...)
  self.steps[#self.steps + 1] = ("%d: " .. fmt):format(self.step, ...)
end

function Walk:fail(what)
  local last = table.concat(self.steps, "\n  ", math.max(1, #self.steps - 12))
  error(("seed %d, step %d: %s\n  %s"):format(self.seed, self.step, what, last), 0)
end

--- Compares a tensor with its twin.
function Walk:compare(t, m, same)
  if t.dtype ~= lucerna[m.dtype] then
    self:fail(("dtype %s, not %s"):format(t.dtype, m.dtype))
  end
  if not same_list(t.shape, m.shape) then
    self:fail(("shape %s, not %s"):format(text(t.shape), text(m.shape)))
  end
  local got, want = flatten(t:tolist(), {}), m:values()
  if not (same or same_list)(got, want) then
    self:fail(("values %s, not %s"):format(text(got), text(want)))
  end
end

-- What stepping through memory means: only where there is more than one element to step to.
function Walk:compare_strides(t, m)
  if m:numel() == 0 then return end
  local strides = t:stride()
  for d, n in ipairs(m.shape) do
    if n > 1 and strides[d] ~= m.strides[d] then
      self:fail(("strides %s, not %s"):format(text(strides), text(m.strides)))
    end
  end
  if t:storage_offset() ~= m.offset then
    self:fail(("offset %d, not %d"):format(t:storage_offset(), m.offset))
  end
  local whole = m.storage.whole
  if whole and t:data_ptr() ~= whole:data_ptr() + m.offset * t:element_size() then
    self:fail("a copy, not a view")
  end
end

--- A pair of a tensor and its twin of new memory; `whole` sees all of that.
local function pair(t, m)
  m.storage.whole = m.storage.whole or t:as_strided({#m.storage}, {1}, 0)
  m.storage.dtype = m.dtype
  return {t = t, m = m}
end

local function any_shape()
  local shape, n = {}, pick {0, 1, 1, 2, 2, 2, 3, 3, 4}
  local most = n == 1 and 100 or n == 2 and 9 or n == 3 and 4 or 3
  for d = 1, n do shape[d] = chance(20) and 0 or random(most) end
  return shape
end

local function fresh(dtype, shape, value)
  local values = {}
  for i = 1, Naive.product(shape) do values[i] = (value or any_value)(dtype) end
  local m = Naive.new(dtype, shape, values)
  local t = lucerna.tensor(values, {dtype = dtype}):view(shape)
  return pair(t, m)
end

function Walk:keep(x)
  if x.m:numel() > MOST or #x.m.shape > 5 then return end
  if #self.pool < POOL then
    self.pool[#self.pool + 1] = x
  else
    self.pool[random(POOL)] = x
  end
end

-- A result of its own memory: compared, and perhaps kept.
function Walk:result(t, m, same)
  self:compare(t, m, same)
  if same or #m.storage ~= m:numel() then return end
  if t:is_contiguous() and t:storage_offset() == 0 then self:keep(pair(t, m)) end
end

function Walk:view_of(x, t, m)
  self:compare(t, m)
  self:compare_strides(t, m)
  if m.storage == x.m.storage then
    self:keep({t = t, m = m})
  else
    self:result(t, m)
  end
end

-- After a write: all of the memory, and nothing too large to stay exact.
function Walk:written(m)
  local storage = m.storage
  self:compare(storage.whole, Naive.as_strided(m, {#storage}, {1}, 0))
  local wild = false
  for _, v in ipairs(storage) do wild = wild or v > LIMIT or v < -LIMIT or v * 8 % 1 ~= 0 end
  if not wild then return end
  local new = fresh(m.dtype, {#storage})
  storage.whole:copy_(new.t)
  table.move(new.m.storage, 1, #storage, 1, storage)
end

-- Writes that PyTorch leaves undefined are refused or left out.
function Walk:writable()
  local x = pick(self.pool)
  return not x.m:overlaps_itself() and x or fresh(pick(DTYPES), any_shape())
end

--- Calls what may be refused because source and destination share some memory: then nothing has
--- changed. Returns whether it was done.
function Walk:try(x, y, f, ...)
  local ok, err = pcall(f, ...)
  if ok then return true end
  local shared = y and x.m:shares_elements(y.m)
  if not shared or not err:find("single memory location", 1, true) then self:fail(err) end
  self:written(x.m)
  return false
end

--- Another tensor whose shape broadcasts to x's.
function Walk:operand(x, may_alias)
  local y = pick(self.pool)
  local shape = Naive.broadcast(y.m.shape, x.m.shape)
  local fits = shape and same_list(shape, x.m.shape)
  if fits and (may_alias or not x.m:shares_elements(y.m)) then return y end
  shape = {}
  for d, n in ipairs(x.m.shape) do shape[d] = chance(4) and 1 or n end
  for _ = 1, chance(4) and random(0, #shape) or 0 do table.remove(shape, 1) end
  return fresh(chance(3) and pick(DTYPES) or x.m.dtype, shape)
end

-- ---- running ----

--- Walks n steps, each one of `steps` ({name, function}), from a seed; stops early when
-- lucerna.clock() is past the deadline. Returns how many steps there were.
function Walk.run(steps, seed, n, deadline)
  math.randomseed(seed)
  local walk = setmetatable({seed = seed, step = 0, steps = {}, pool = {}}, Walk)
  for _ = 1, POOL do walk:keep(fresh(pick(DTYPES), any_shape())) end
  while walk.step < n do
    walk.step = walk.step + 1
    if chance(5) then walk:keep(fresh(pick(DTYPES), any_shape())) end
    local step = pick(steps)
    local x = pick(walk.pool)
    walk:say("%s %s %s", step[1], x.m.dtype, text(x.m.shape))
    local ok, err = pcall(step[2], walk, x)
    if not ok then
      if type(err) == "string" and err:find("^seed ") then error(err, 0) end
      walk:fail(step[1] .. ": " .. tostring(err))
    end
    if #walk.steps > 100 then table.move(walk.steps, 51, #walk.steps + 50, 1) end
    if deadline and walk.step % 64 == 0 and lucerna.clock() > deadline then break end
  end
  return walk.step
end

Walk.any_number, Walk.any_value, Walk.fresh, Walk.pick = any_number, any_value, fresh, pick
Walk.chance, Walk.text, Walk.pair, Walk.DTYPES = chance, text, pair, DTYPES
Walk.near_list, Walk.same_list, Walk.none = near_list, same_list, none
Walk.any_dim = any_dim

return Walk
