-- Every public function written in Lua, and every class, called with what it cannot use: whatever
-- it says is one line for its caller, not an accident inside the library.

local lucerna = require "lucerna"
local nn = lucerna.nn

local PLACES = {
  nn = nn, utils = nn.utils, rnn = nn.utils.rnn, prune = nn.utils.prune,
  parametrize = nn.utils.parametrize, parametrizations = nn.utils.parametrizations,
  stateless = nn.utils.stateless, init = nn.init, parallel = nn.parallel, grad = nn.grad,
  attention = require "lucerna.nn.attention", optim = lucerna.optim,
  lr_scheduler = lucerna.optim.lr_scheduler, swa_utils = require "lucerna.optim.swa_utils",
  linalg = lucerna.linalg, special = lucerna.special,
  distributions = lucerna.distributions, func = lucerna.func,
  data = lucerna.data, autograd = lucerna.autograd, safetensors = lucerna.safetensors,
  numpy = lucerna.numpy,
  lucerna = {
    summary = lucerna.summary, dot = lucerna.dot, save = lucerna.save, load = lucerna.load,
    no_grad = lucerna.no_grad, scope = lucerna.scope,
  },
}

local ARGUMENTS = {
  {}, {3}, {"x"}, {{}}, {function() end}, {lucerna.ones(2, 3)}, {true}, {lucerna.zeros(0)},
  {0 / 0}, {nn.ReLU()}, {lucerna.none}, {{bogus = 1}}, {3, "y", {}}, {nn.ReLU, 3},
  {lucerna.ones(2), lucerna.ones(3), "z"}, {nn.ReLU(), "weight", -1},
}

-- Hooks of every module would stay, and files would be written.
local SKIPPED = { save = true, save_file = true, write_png = true, savez = true,
  save_image = true, write_csv = true, savez_compressed = true }

local function names_in(place)
  local names, meta = {}, getmetatable(place)
  for name in pairs(place) do names[name] = true end
  for _, name in ipairs(type(meta) == "table" and meta.__names and meta.__names() or {}) do
    names[name] = true
  end
  local list = {}
  for name in pairs(names) do
    local public = type(name) == "string" and not name:find("^_")
    if public and not SKIPPED[name] and not name:find("^register_") then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local function is_callable(f)
  local meta = getmetatable(f)
  return type(f) == "function" or (type(meta) == "table" and meta.__call ~= nil)
end

-- What is wrong with an error.
local function flaw(err)
  if type(err) ~= "string" then return "a " .. type(err) .. " was raised" end
  if err:find("\n", 1, true) then return "several lines: " .. err end
  if err:find("attempt to ", 1, true) or err:find("bad argument", 1, true) then return err end
end

describe("what cannot be used is refused in one line by", function()
  for title, place in pairs(PLACES) do
    it(title, function()
      local flaws = {}
      for _, name in ipairs(names_in(place)) do
        for k, arguments in ipairs(is_callable(place[name]) and ARGUMENTS or {}) do
          local ok, err = pcall(place[name], table.unpack(arguments))
          local bad = not ok and flaw(err)
          if bad then flaws[#flaws + 1] = ("%s, arguments %d: %s"):format(name, k, bad) end
        end
      end
      assert.are.equal("", table.concat(flaws, "\n"))
    end)
  end
end)
