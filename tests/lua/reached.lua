-- Calls every function that can be reached from lucerna.core, whose private ones trust nobody, with
-- no arguments, too many, and objects of every kind in every order. Prints the name of each before
-- (so that the last one tells what crashed), and in the end how many there were.
local lucerna = require "lucerna"
local core = require "lucerna.core"
local nn = lucerna.nn

local ROUNDS = tonumber(arg and arg[1]) or 10
local LIMIT = 64 << 20
-- Threads by the million; what leaves hooks on all modules, or a library without its parts.
local SPARED = { ["core.set_num_threads"] = true }
local LAST = { ["core.nn.setup"] = true, ["core.nn._add_hook"] = true,
  ["core.nn._add_registration_hook"] = true }

local state = 1
local function random(n)
  state = (state * 1103515245 + 12345) & 0x7fffffff
  return state // 65536 % n + 1
end

-- ---- what is passed ----

local function header(text) return ("<I8"):pack(#text) .. text end
local FILE = header '{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}' .. ("\0"):rep(16)

local function module_parts()
  local m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
  m:register_forward_hook(function() end)
  return m, m[1], (core.nn._hooked_inputs(m, {}, lucerna.ones(2))), core.nn._snapshot(m)
end

-- One of each kind that a script can hold.
local MAKERS = {
  function() return true, 0, 1, 2, -1, 1.5, 1 << 40, math.mininteger, 0 / 0, math.huge end,
  function() return "", "x", "/nowhere/x", "SGD", "weight", "0", "a\nb", ("x"):rep(1000) end,
  function() return function() end, function() error "refused" end, coroutine.create(print) end,
  function() return {}, { 1, 2 }, { {} }, { "x" }, { x = 1 }, { false }, { lucerna.ones(2) } end,
  function() return setmetatable({}, { __index = error }), io.stdout, io.tmpfile() end,
  function()
    local function always(value) return function() return value end end
    return setmetatable({}, { __index = always(2), __len = always(3), __name = "Odd" }),
      setmetatable({}, { __index = function(t) return t end, __len = always "x" }),
      setmetatable({}, { __index = always(lucerna.ones(1)), __pairs = error })
  end,
  function() return lucerna.ones(2), lucerna.ones(2, 2), lucerna.tensor(1), lucerna.zeros(0, 3) end,
  function() return lucerna.ones(2, { requires_grad = true }) * 2 end,
  function() return nn.Parameter(lucerna.ones(2)) end,
  function() return lucerna.tensor { 1, 2 }, lucerna.tensor { true, false } end,
  function() return core.nn.UninitializedParameter() end,
  function()
    local t = lucerna.ones(2)
    t:release()
    return t
  end,
  module_parts,
  function() return nn.Linear, nn.Module, nn.class("Own")() end,
  function() return lucerna.float32, lucerna.none, lucerna.Generator() end,
  function() return (lucerna.ones(2, { requires_grad = true }) * 2).grad_fn end,
  function() return lucerna.ones(2, { requires_grad = true }):register_hook(function() end) end,
  function() return core._tape(false), (core._vmap_level(2, "error")), core.nn._copies() end,
  function() return core._optimizer_new("SGD"), (core._st_open(nil, FILE)) end,
}

local function objects()
  local list = {}
  for _, make in ipairs(MAKERS) do -- some fail once a function has taken a part away
    local made = table.pack(pcall(make))
    if made[1] then table.move(made, 2, made.n, #list + 1, list) end
  end
  return list
end

-- ---- what is called ----

local function collect(into, seen, name, value)
  if type(value) == "function" and not seen[value] and not SPARED[name] then
    into[#into + 1] = { name = name, f = value, private = not core._schemas(value) }
  elseif type(value) == "table" and not seen[value] then
    seen[value] = true
    for key, inner in next, value do
      collect(into, seen, name .. "." .. tostring(key), inner)
    end
  end
  if type(value) ~= "string" and type(value) ~= "number" then seen[value] = true end
end

local function functions()
  local list, seen, tape = {}, { [print] = true }, core._tape(true)
  collect(list, seen, "core", core)
  collect(list, seen, "tape", { take = tape.take, close = tape.close })
  for k, object in ipairs(objects()) do
    local meta = type(object) == "userdata" and getmetatable(object)
    if object ~= io.stdout and io.type(object) ~= "file" and type(meta) == "table" then
      collect(list, seen, "metatable of object " .. k, meta)
    end
  end
  tape:close()
  table.sort(list, function(a, b)
    if LAST[a.name] ~= LAST[b.name] then return not LAST[a.name] end
    return a.name < b.name
  end)
  return list
end

local function check(name, ok, message)
  if ok or type(message) ~= "string" or not message:find("\n", 1, true) then return end
  assert(name:find("load", 1, true), name .. ": an error of several lines: " .. message)
end

local function call(entry, ...)
  check(entry.name, pcall(entry.f, ...))
  core.set_memory_limit(LIMIT)
end

local function call_with_all(entry)
  local pool = objects()
  call(entry)
  for k = 1, #pool do
    for _ = 1, entry.private and ROUNDS or 1 do
      local args, n = { pool[k] }, random(7)
      for i = 2, n do args[i] = pool[random(#pool + 1)] end -- one past its end is nil
      call(entry, table.unpack(args, 1, n))
    end
  end
end

local list = functions()
for _, entry in ipairs(list) do
  io.stdout:write(entry.name, "\n")
  io.stdout:flush()
  call_with_all(entry)
  lucerna.set_grad_enabled(true)
  collectgarbage() -- levels of vmap that were entered are left
end
print(("%d functions"):format(#list))
