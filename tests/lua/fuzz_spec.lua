-- Every function of the library with arguments of all kinds: each call ends in a result or in an
-- error of one line. Seeded, so that what it finds can be found again.
local lucerna = require "lucerna"
local core = require "lucerna.core"

-- What must not be called at random.
local SPARED = { set_memory_limit = true, set_num_threads = true, set_default_dtype = true,
  set_winograd_enabled = true,
  _set_root = true, _raise = true, set_rng_state = true, release = true }

local state = 12345
local function random(n)
  state = (state * 1103515245 + 12345) & 0x7fffffff
  return state // 65536 % n + 1
end

local function tensors()
  return {
    lucerna.rand(3), lucerna.rand(2, 3), lucerna.rand(1, 2, 4, 4), lucerna.rand(2, 2, 3, 3),
    lucerna.rand(3, 3), lucerna.zeros(0), lucerna.zeros(2, 0), lucerna.tensor(1.5),
    lucerna.tensor { 1, 2, 3 }, lucerna.tensor { 1, 1, 2 }, lucerna.tensor { { 1, 2 }, { 2, 1 } },
    lucerna.tensor { true, false, true }, lucerna.rand(2, 3).T, lucerna.rand(3, 1):expand(3, 3),
    lucerna.rand(2, 3, { dtype = lucerna.float64 }), lucerna.rand(3):to(lucerna.float16),
    lucerna.tensor({ 1, 2, 3 }, { dtype = lucerna.uint8 }), lucerna.rand(2, 3):requires_grad_(),
    lucerna.rand(3):requires_grad_(), lucerna.tensor { 5, -1, 100 }, lucerna.tensor { 0 },
  }
end

local plain = { 0, 1, -1, 2, 3, 5, 0.5, -2.5, 1e10, 2 ^ 53, math.mininteger, math.maxinteger, 0 / 0,
  math.huge, -math.huge, true, false, "mean", "sum", "none", "", "same", lucerna.float32,
  lucerna.int64, lucerna.bool, lucerna.none, print, {}, { 1 }, { 2, 3 }, { 1, 2, 3 }, { -1 },
  { 0, 0 }, { 1.5 }, { "a" }, { 1e9, 1e9 }, { 2, 2, 2, 2 }, { keepdim = true }, { dim = 1 },
  { dtype = lucerna.float64 }, { reduction = "sum" }, { p = 2 }, { 3, dtype = lucerna.int32 } }

local function pick(pool)
  local kind = random(8)
  if kind <= 4 then return pool[random(#pool)] end
  if kind == 5 then return { pool[random(#pool)], pool[random(#pool)] } end
  return plain[random(#plain)]
end

local function functions()
  local list = {}
  for place, t in pairs { lucerna = lucerna, Tensor = core.Tensor, F = core.functional } do
    for name, f in pairs(t) do
      local schemas = type(f) == "function" and core._schemas(f)
      if schemas and not SPARED[name] then
        local params = {}
        for param in table.concat(schemas, " "):gmatch("([%w_]+)%f[=,)]") do
          params[#params + 1] = param
        end
        list[#list + 1] = { name = place .. "." .. name, f = f, params = params }
      end
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local function backward(result) result:sum():backward() end

-- Calls each function `rounds` times, and backward of what is differentiable; returns the number
-- of calls and the first bad message.
local function fuzz(rounds)
  local calls, bad = 0, nil
  for _ = 1, rounds do
    local pool = tensors()
    for _, entry in ipairs(functions()) do
      local args = {}
      local n = random(5) - 1
      for i = 1, n do args[i] = pick(pool) end
      if random(3) > 1 then args[1] = pool[random(#pool)] end
      if random(3) == 1 and #entry.params > 0 then
        local named = {}
        for _ = 1, random(3) do named[entry.params[random(#entry.params)]] = pick(pool) end
        args[#args + 1] = named
      end
      local ok, message = pcall(entry.f, table.unpack(args, 1, math.max(n, #args)))
      if ok and lucerna.is_tensor(message) and message.requires_grad then
        ok, message = pcall(backward, message)
      end
      local fine = ok or type(message) == "string" and not message:find("\n", 1, true)
      if not fine then bad = bad or entry.name .. ": " .. tostring(message) end
      calls = calls + 1
    end
  end
  return calls, bad
end

describe("any arguments", function()
  local limit
  before_each(function()
    limit = lucerna.memory().limit
    collectgarbage()
    lucerna.trim_memory()
    lucerna.set_memory_limit(lucerna.memory().live + 64 * 2 ^ 20)
  end)
  after_each(function() lucerna.set_memory_limit(limit) end)

  it("give a result or an error of one line", function()
    local calls, bad = fuzz(4)
    assert.is_nil(bad)
    assert.is_true(calls > 1000)
  end)

  it("do so for many more calls #slow", function()
    local _, bad = fuzz(os.getenv("LUCERNA_TEST_SHORT") and 10 or 60)
    assert.is_nil(bad)
  end)
end)
