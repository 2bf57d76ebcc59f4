-- Random changes of containers, followed by plain Lua tables: after each one positions, names, keys
-- and the order of a walk agree, whatever was refused on the way.

local lucerna = require "lucerna"
local operators = require "operators"
local parity = require "parity"
local nn = lucerna.nn

local MAKERS = {nn.ReLU, nn.Tanh, nn.Identity, nn.Sequential, function() return nn.Linear(1, 1) end}

local function fresh(dice) return dice.one(MAKERS)() end

local function several(dice)
  local list = {}
  for i = 1, dice.next(4) - 1 do list[i] = fresh(dice) end
  return list
end

-- A position that may be out of range: both answers of the list and of the model.
local function position(dice, n)
  local i = dice.next(n + 3) - 1
  if dice.often(40) then i = -i end
  local at = i < 0 and n + 1 + i or i
  return i, at >= 1 and at <= n and at or nil
end

-- ---- lists ----

local lists = {}

function lists.append(dice, l, model)
  local m = fresh(dice)
  l:append(m)
  model[#model + 1] = m
end

function lists.extend(dice, l, model)
  local more = several(dice)
  l:extend(dice.often(50) and more or nn.ModuleList(more))
  table.move(more, 1, #more, #model + 1, model)
end

function lists.refused(dice, l)
  local more = several(dice)
  more[#more + 1] = dice.one {3, "x", l, nn.Sequential(l)}
  assert(not pcall(l.extend, l, more))
  assert(not pcall(l.insert, l, 1, more[#more]))
end

function lists.insert(dice, l, model)
  local m = fresh(dice)
  local at = dice.next(#model + 1)
  l:insert(at, m)
  table.insert(model, at, m)
end

function lists.assign(dice, l, model)
  local m = dice.often(20) and #model > 0 and dice.one(model) or fresh(dice)
  local i, at = position(dice, #model)
  local ok = pcall(function() l[i] = m end)
  assert(ok == (at ~= nil))
  if at then model[at] = m end
end

function lists.pop(dice, l, model)
  local i, at = position(dice, #model)
  local ok, m = pcall(l.pop, l, i)
  assert(ok == (at ~= nil))
  if at then assert(rawequal(m, table.remove(model, at))) end
end

function lists.delete(dice, l, model)
  local first, last = dice.next(#model + 2) - 1, dice.next(#model + 2) - 1
  if first == 0 or last == 0 then return end
  nn.delattr(l, {first, last})
  for i = math.min(last, #model), first, -1 do table.remove(model, i) end
end

function lists.reverse(_, l, model)
  local back = l[{-1, 1, -1}]
  assert(#back == #model)
  for i, m in ipairs(model) do assert(rawequal(back[#model + 1 - i], m)) end
end

function lists.twice(_, l, model)
  local sum = l + l
  assert(#sum == 2 * #model)
  for i, m in ipairs(model) do assert(rawequal(sum[i], m) and rawequal(sum[#model + i], m)) end
end

local function check_list(l, model)
  assert(#l == #model)
  for i, m in ipairs(model) do
    assert(rawequal(l[i], m) and rawequal(l[i - #model - 1], m))
    assert(rawequal(l[tostring(i - 1)], m))
  end
  assert(l[#model + 1] == nil and l[tostring(#model)] == nil)
  local n, seen = 0, {}
  for name, m in l:named_children() do
    repeat
      n = n + 1
    until not seen[model[n]]
    seen[m] = true
    assert(name == tostring(n - 1) and rawequal(m, model[n]))
  end
end

-- ---- dictionaries: the model is {keys = …, values = …} ----

local dicts = {}
local KEYS = {"a", "b", "c", "d", "weight", "0", "a b", "keys", "a.b", ""}
local REFUSED = {keys = true, ["a.b"] = true, [""] = true}

local function put(model, key, value)
  if model.values[key] == nil then model.keys[#model.keys + 1] = key end
  model.values[key] = value
end

local function take(model, key)
  for i, k in ipairs(model.keys) do
    if k == key then table.remove(model.keys, i) end
  end
  model.values[key] = nil
end

function dicts.assign(dice, d, model, value)
  local key = dice.one(KEYS)
  local ok = pcall(function() d[key] = value end)
  assert(ok == not REFUSED[key])
  if ok then put(model, key, value) end
end

function dicts.update(dice, d, model, value)
  local a, b = dice.one(KEYS), dice.one(KEYS)
  local ok = pcall(d.update, d, {{a, value}, {b, value}})
  assert(ok == not (REFUSED[a] or REFUSED[b]))
  if not ok then return end
  put(model, a, value)
  put(model, b, value)
end

function dicts.pop(dice, d, model)
  local key = dice.one(KEYS)
  local ok, value = pcall(d.pop, d, key)
  assert(ok == (model.values[key] ~= nil))
  if ok then
    assert(rawequal(value, model.values[key]))
    take(model, key)
  end
end

function dicts.delete(dice, d, model)
  local key = dice.one(KEYS)
  if model.values[key] == nil then return end
  nn.delattr(d, key)
  take(model, key)
end

function dicts.clear(dice, d, model)
  if not dice.often(10) then return end
  d:clear()
  model.keys, model.values = {}, {}
end

local function check_dict(d, model)
  assert(#d == #model.keys)
  local i = 0
  for key, value in pairs(d) do
    i = i + 1
    assert(key == model.keys[i] and rawequal(value, model.values[key]))
    assert(d:contains(key) and rawequal(d[key], value))
  end
  assert(i == #model.keys)
end

-- ---- running ----

local function run_lists(class, seed, steps)
  local dice, names = operators.dice(seed), parity.sorted_names(lists)
  local l, model = class(), {}
  local root = nn.ModuleDict {l = l}
  for step = 1, steps do
    local name = dice.one(names)
    lists[name](dice, l, model)
    local ok, why = pcall(check_list, l, model)
    assert(ok, name .. ": " .. tostring(why))
    if step % 16 == 0 then
      collectgarbage("step")
      assert(rawequal(root.l, l))
      assert(#root:clone().l == #model)
    end
    while #model > 12 do
      l:pop()
      model[#model] = nil
    end
  end
end

local function run_dicts(class, make, seed, steps)
  local dice, names = operators.dice(seed), parity.sorted_names(dicts)
  local d, model = class(), {keys = {}, values = {}}
  for _ = 1, steps do
    local name = dice.one(names)
    dicts[name](dice, d, model, make(dice))
    local ok, why = pcall(check_dict, d, model)
    assert(ok, name .. ": " .. tostring(why))
  end
end

describe("random changes are followed by", function()
  local function parameter(dice)
    return nn.Parameter(lucerna.ones(dice.next(3)))
  end

  it("Sequential", function() run_lists(nn.Sequential, 1, 1500) end)
  it("ModuleList", function() run_lists(nn.ModuleList, 2, 1500) end)
  it("ModuleDict", function() run_dicts(nn.ModuleDict, fresh, 3, 1500) end)
  it("ParameterDict", function() run_dicts(nn.ParameterDict, parameter, 4, 1500) end)

  it("all of them, through many changes #long", function()
    for seed = 10, 14 do
      run_lists(nn.Sequential, seed, 3000)
      run_lists(nn.ModuleList, seed, 3000)
      run_dicts(nn.ModuleDict, fresh, seed, 3000)
      run_dicts(nn.ParameterDict, parameter, seed, 3000)
    end
  end)
end)
