-- Calls every operator's every name with arguments that are plausible, wrong or absurd, from a
-- fixed seed, and more from a fresh one. Whatever is passed, a call returns or raises one line of
-- text; it does not crash (the sanitized build looks on), hang, or keep memory; and where it
-- returns what can be differentiated, differentiating does not crash either.
local lucerna = require "lucerna"
local arguments = require "arguments"
local operators = require "operators"
local parity = require "parity"

local LIMIT = 96 << 20 -- bytes the core may hold meanwhile, so that absurd sizes fail at once
local PATIENCE = 5     -- seconds of work one call may take, however busy the machine is
local MANY = 1 << 20   -- elements; more (of an expanded tensor) are not summed up

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
      local real = t:is_complex() and t:abs() or t
      local ok, message = pcall(function() real:sum():backward() end)
      if not ok then return message end
    end
  end
end

-- What a gradient may say: that it is not there, or that a call in place has written what it needs.
local function unexpected(message)
  if not message or message:find("is not implemented", 1, true) then return nil end
  if message:find("modified by an inplace operation", 1, true) then return nil end
  if message:find("a second time", 1, true) then return nil end
  if message:find("is not differentiable when", 1, true) then return nil end
  return "no gradient: " .. message
end

local function complaint(row, message)
  if type(message) ~= "string" then return "an error that is no string" end
  if message:find("[\n\r%z]") then return "an error of several lines: " .. message end
  local own = message:gsub("^[^:]*:%d+: ", "")
  if own:find(row.name, 1, true) ~= 1 then return "an error without its function: " .. message end
end

local function one_call(dice, row, f)
  local args, n = arguments.arguments(dice, row)
  local begin = os.clock()
  local results = table.pack(pcall(f, table.unpack(args, 1, n)))
  local trouble
  if results[1] then
    trouble = unexpected(differentiate(results))
  else
    trouble = complaint(row, results[2])
  end
  if os.clock() - begin > PATIENCE then trouble = "too slow" end
  return trouble and text_of(row, args, n) .. ": " .. trouble
end

-- `rounds` calls of each function of each row; what went wrong, as a list.
local function fuzz(seed, rounds)
  local troubles, calls = {}, 0
  local dice = operators.dice(seed)
  dice.absurd = true
  lucerna.manual_seed(seed)
  for _, row in ipairs(operators.rows()) do
    for _, f in ipairs(arguments.functions(row)) do
      for _ = 1, rounds do
        calls = calls + 1
        troubles[#troubles + 1] = one_call(dice, row, f)
      end
    end
  end
  return troubles, calls
end

describe("calls with random arguments", function()
  local dtype = lucerna.get_default_dtype()

  before_each(function() lucerna.set_memory_limit(LIMIT) end)

  after_each(function()
    lucerna.set_memory_limit(0)
    lucerna.set_default_dtype(dtype)
  end)

  local function check(seed, rounds)
    local before = parity.live()
    local troubles, calls = fuzz(seed, rounds)
    assert.is_true(calls > 1000)
    assert(#troubles == 0, ("%d troubles from seed %d:\n%s"):format(#troubles, seed,
      table.concat(troubles, "\n", 1, math.min(#troubles, 400))))
    assert.is_true(parity.live() <= before + 65536)
  end

  it("return or say in one line what is wrong", function() check(1, 40) end)
  it("do so many times over, from another seed #long", function() -- a fresh one in test-all
    check(tonumber(os.getenv "LUCERNA_SEED") or 2, 200)
  end)
end)
