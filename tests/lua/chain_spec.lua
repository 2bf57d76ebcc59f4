-- Random chains of views and writes through them, against a model in plain Lua: a view is a list of
-- places in one array. After each write the base and every view made so far are compared, so a
-- write that lands beside its place is seen wherever it lands.
local lucerna = require "lucerna"
local operators = require "operators"
local parity = require "parity"

local VIEWS = 12 -- the most kept at a time

-- ---- the model: {shape, places}, places row-major ----

local function numel(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

local function strides_of(shape)
  local strides, step = {}, 1
  for d = #shape, 1, -1 do
    strides[d] = step
    step = step * shape[d]
  end
  return strides
end

-- A model of `shape` whose element at `at` (a list of positions from 0) is the one at from(at).
local function mapped(model, shape, from)
  local own, places, at = strides_of(model.shape), {}, {}
  for d = 1, #shape do at[d] = 0 end
  for k = 1, numel(shape) do
    local place = 0
    for d, i in ipairs(from(at)) do place = place + i * own[d] end
    places[k] = model.places[place + 1]
    for d = #shape, 1, -1 do
      at[d] = at[d] + 1
      if at[d] < shape[d] then break end
      at[d] = 0
    end
  end
  return {shape = shape, places = places}
end

local function with(list, d, value)
  local copy = table.move(list, 1, #list, 1, {})
  copy[d] = value
  return copy
end

local function without(list, d)
  local copy = table.move(list, 1, #list, 1, {})
  table.remove(copy, d)
  return copy
end

local function inserted(list, d, value)
  local copy = table.move(list, 1, #list, 1, {})
  table.insert(copy, d, value)
  return copy
end

-- ---- steps: each returns a new tensor and its model, or nil where it does not apply ----

local steps = {}

function steps.transpose(dice, t, m)
  if #m.shape < 2 then return end
  local a, b = dice.next(#m.shape), dice.next(#m.shape)
  local function swap(list) return with(with(list, a, list[b]), b, list[a]) end
  return t:transpose(a, b), mapped(m, swap(m.shape), swap)
end

function steps.select(dice, t, m)
  if #m.shape == 0 then return end
  local d = dice.next(#m.shape)
  if m.shape[d] == 0 then return end
  local i = dice.next(m.shape[d])
  local shape = without(m.shape, d)
  local index = dice.often(50) and i or i - m.shape[d] - 1
  return t:select(d, index), mapped(m, shape, function(at) return inserted(at, d, i - 1) end)
end

function steps.narrow(dice, t, m)
  if #m.shape == 0 then return end
  local d = dice.next(#m.shape)
  if m.shape[d] == 0 then return end
  local start = dice.next(m.shape[d])
  local length = dice.next(m.shape[d] - start + 1)
  local function shifted(at) return with(at, d, at[d] + start - 1) end
  return t:narrow(d, start, length), mapped(m, with(m.shape, d, length), shifted)
end

-- x[{{}, {first, last, step}}]
function steps.range(dice, t, m)
  if #m.shape == 0 then return end
  local d = dice.next(#m.shape)
  local size = m.shape[d]
  if size == 0 then return end
  local first, step, key = dice.next(size), dice.next(3), {}
  for i = 1, d - 1 do key[i] = {} end
  key[d] = {first, -1, step}
  local function spread(at) return with(at, d, first - 1 + at[d] * step) end
  return t[key], mapped(m, with(m.shape, d, (size - first) // step + 1), spread)
end

function steps.unsqueeze(dice, t, m)
  if #m.shape > 4 then return end
  local d = dice.next(#m.shape + 1)
  return t:unsqueeze(d), mapped(m, inserted(m.shape, d, 1), function(at) return without(at, d) end)
end

function steps.diagonal(dice, t, m)
  if #m.shape < 2 then return end
  local a, n = m.shape[1], m.shape[2]
  local offset = dice.next(a + n + 1) - a - 1
  local down, right = math.max(-offset, 0), math.max(offset, 0)
  local length = math.max(0, math.min(a - down, n - right))
  local shape = without(without(m.shape, 1), 1)
  shape[#shape + 1] = length
  return t:diagonal(offset), mapped(m, shape, function(at)
    local i = at[#at]
    local rest = {i + down, i + right}
    return table.move(at, 1, #at - 1, 3, rest)
  end)
end

-- Rows of two: the last dimension folded, where strides allow a view.
function steps.fold(_, t, m)
  local last = m.shape[#m.shape]
  if #m.shape == 0 or last % 2 == 1 then return end
  local shape = with(m.shape, #m.shape, last // 2)
  shape[#shape + 1] = 2
  return t:view(shape), {shape = shape, places = m.places}
end

-- ---- writes: t is changed by the library, the array of numbers by hand ----

local writes = {}

function writes.fill(dice, t, m, memory)
  local value = dice.next(100)
  t:fill_(value)
  for _, p in ipairs(m.places) do memory[p] = value end
end

function writes.add(dice, t, m, memory)
  local value = dice.next(10)
  t:add_(value)
  for _, p in ipairs(m.places) do memory[p] = memory[p] + value end
end

-- The values of another view, which may lie in the same memory: read all before writing any.
function writes.copy(dice, t, m, memory, views)
  local other = dice.one(views)
  if table.concat(other.model.shape, ",") ~= table.concat(m.shape, ",") then return end
  local values = {}
  for k, p in ipairs(other.model.places) do values[k] = memory[p] end
  t:copy_(other.t:clone())
  for k, p in ipairs(m.places) do memory[p] = values[k] end
end

function writes.multiply(dice, t, m, memory)
  local by = lucerna.tensor {1, -1}
  if #m.shape == 0 or m.shape[#m.shape] ~= 2 then return end
  t:mul_(by)
  for k, p in ipairs(m.places) do memory[p] = memory[p] * (k % 2 == 1 and 1 or -1) end
  return dice
end

function writes.one(dice, t, m, memory)
  if #m.places == 0 or #m.shape == 0 then return end
  local strides, key = strides_of(m.shape), {}
  local k = dice.next(#m.places) - 1
  for d, step in ipairs(strides) do key[d] = k // step % m.shape[d] + 1 end
  t[key] = -7
  memory[m.places[k + 1]] = -7
end

function writes.masked(dice, t, m, memory)
  local limit = dice.next(60)
  t:masked_fill_(t:gt(limit), limit)
  for _, p in ipairs(m.places) do memory[p] = math.min(memory[p], limit) end
end

function writes.rows(_, t, m, memory)
  if #m.shape == 0 or m.shape[1] == 0 then return end
  t:index_fill_(1, lucerna.tensor {1, -1}, 3)
  local row = #m.places // m.shape[1]
  for k = 1, row do
    memory[m.places[k]] = 3
    memory[m.places[#m.places - row + k]] = 3
  end
end

-- ---- the chain ----

local function agrees(t, m, memory)
  if table.concat(t.shape, ",") ~= table.concat(m.shape, ",") then return false end
  local values = t:reshape(-1):tolist()
  for k, p in ipairs(m.places) do
    if values[k] ~= memory[p] then return false end
  end
  return #values == #m.places
end

local function start(dtype)
  local memory, places = {}, {}
  for i = 1, 48 do memory[i], places[i] = i, i end
  local t = lucerna.tensor(memory, {dtype = lucerna[dtype]}):view(4, 6, 2)
  return memory, {{t = t, model = {shape = {4, 6, 2}, places = places}, made = "base"}}
end

local function make_view(dice, views, names)
  local from = dice.one(views)
  local name = dice.one(names)
  local ok, t, model = pcall(steps[name], dice, from.t, from.model)
  if not ok then -- only a fold may be refused, for strides that no view has
    assert(name == "fold" and t:find("view", 1, true), t)
    return
  end
  if not t then return end
  if #views >= VIEWS then table.remove(views, 2) end
  views[#views + 1] = {t = t, model = model, made = from.made .. "." .. name}
end

local function write(dice, views, memory, names)
  local to = dice.one(views)
  local name = dice.one(names)
  writes[name](dice, to.t, to.model, memory, views)
  for _, view in ipairs(views) do
    if not agrees(view.t, view.model, memory) then
      error(("%s of %s: %s differs"):format(name, to.made, view.made), 0)
    end
  end
end

local function chain(seed, dtype, length)
  local dice = operators.dice(seed)
  local step_names, write_names = parity.sorted_names(steps), parity.sorted_names(writes)
  local memory, views = start(dtype)
  for _ = 1, length do
    if dice.often(60) then
      make_view(dice, views, step_names)
    else
      write(dice, views, memory, write_names)
    end
    for p, value in ipairs(memory) do -- small enough for every dtype here
      if value > 1000 or value < -1000 then memory, views = start(dtype) break end
      assert(p <= 48)
    end
  end
end

describe("chains of views and writes follow a model", function()
  for i, dtype in ipairs {"float32", "float64", "int64", "int16", "float16"} do
    it("in " .. dtype, function() chain(i, dtype, 300) end)
  end

  it("over many steps #long", function()
    for seed = 10, 40 do chain(seed, seed % 2 == 0 and "float32" or "int32", 2000) end
  end)
end)
