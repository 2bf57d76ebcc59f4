-- nn.utils against PyTorch: the recorded pairs of tests/parity/gen_utils.py run in Lua, and those
-- of gen_programs.py, for names that no other file has a case of.

local lucerna = require "lucerna"
local nn = lucerna.nn
local parity = require "parity"
local message = parity.message

local x, keys = parity.quarters, parity.keys

local Symmetric, Scale, Outer = nn.class "Symmetric", nn.class "Scale", nn.class "Outer"
local Double, Flat = nn.class "Double", nn.class "Flat"

function Symmetric:forward(w) return w:triu() + w:triu(1):transpose(1, 2) end
function Symmetric:right_inverse(a) return a:triu() end

function Scale:__init(factor) self.factor = nn.Parameter(lucerna.tensor(factor + 0.0)) end
function Scale:forward(w) return w * self.factor end
function Scale:right_inverse(w) return w / self.factor end

function Outer:forward(a, b) return a:unsqueeze(2) * b:unsqueeze(1) end
function Outer:right_inverse(w) return w:select(2, 1), w[1] end

function Double:forward(w) return w:double() end
function Flat:forward(w) return w:flatten() end

local function originals(m)
  local list = {}
  for name, p in m:named_parameters() do
    if name:find("^parametrizations%.weight%.o") then list[#list + 1] = p end
  end
  return list
end

local NAMES = {
  functional_call = lucerna.func.functional_call,
  parametrize = nn.utils.parametrize, ready = nn.utils.parametrizations,
  register = nn.utils.parametrize.register_parametrization, originals = originals,
  Symmetric = Symmetric, Scale = Scale, Outer = Outer, Double = Double, Flat = Flat,
  lucerna = lucerna, nn = nn, utils = nn.utils, rnn = nn.utils.rnn, prune = nn.utils.prune, x = x,
  keys = keys, F = nn.functional, swa_utils = lucerna.optim.swa_utils,
}

local function same(actual, expected, label)
  if type(expected) == "table" and expected.none then
    assert(actual == nil, label .. " is not nil")
  elseif type(expected) == "table" and expected.list then
    assert.equal(#expected.list, #actual, label .. " has entries")
    for k, item in ipairs(expected.list) do same(actual[k], item, label .. "[" .. k .. "]") end
  elseif type(expected) == "string" then
    assert.equal(expected, actual)
  elseif type(expected) == "number" and math.type(expected) == "integer" then
    assert.equal(expected, actual)
  else
    parity.close(actual, expected, { rtol = 1e-4, atol = 1e-5 }, label)
  end
end

local function run(case)
  local f = assert(load(case.lua, case.name, "t", setmetatable({}, {
    __index = function(_, name) return NAMES[name] or _G[name] end,
  })))
  lucerna.manual_seed(5)
  if case.error then
    local text = message(f)
    assert(text:find(case.error, 1, true), text .. "\ninstead of\n" .. case.error)
  else
    local results = table.pack(f())
    assert.equal(#case.out, results.n, "number of results")
    for k, expected in ipairs(case.out) do same(results[k], expected, "result " .. k) end
  end
end

describe("as PyTorch,", function()
  for _, file in ipairs { "utils", "programs" } do
    for _, case in ipairs(parity.load(file)) do
      it(case.topic .. ": " .. case.name, function() run(case) end)
    end
  end
end)
