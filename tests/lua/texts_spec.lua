-- The reference is whole: every public name has a text, every layer and function an example, and
-- the examples run.

local lucerna = require "lucerna"
local files = require "files"
local help = require "lucerna.help"
local texts = require "lucerna.texts"
local root = os.getenv("LUCERNA_ROOT") or "."
local reference = dofile(root .. "/src/tools/reference.lua")
local stubs = dofile(root .. "/src/tools/stubs.lua")

-- Every public name with what is known of it.
local all = {}
help.each(function(name, _, parts) all[#all + 1] = { name = name, parts = parts } end)

-- Does a comment say more than how the function is called?
local function says_something(comment)
  local words = comment and comment:gsub("^%s*[%w_.:]+%b()", "") or ""
  return words:find("%w+%s+%w+") ~= nil
end

local PLACES = { "^nn%.", "^F%.", "^optim%.[%w_]+$", "^optim%.lr_scheduler%.",
  "^optim%.swa_utils%." }

local function wants_example(name)
  for _, place in ipairs(PLACES) do
    if name:find(place) then return not name:find("^nn%.Module%.") and not name:find(":") end
  end
  return false
end

describe("a public name", function()
  it("has a text", function()
    local lacking = {}
    for _, known in ipairs(all) do
      local told = known.parts.entry or says_something(known.parts.comment)
      if not told then lacking[#lacking + 1] = known.name end
    end
    assert(#lacking == 0, "no text: " .. table.concat(lacking, " ")
      .. "\nAdd {\"name\", [=[text]=]} to a family in lua/lucerna/texts (written in C) or"
      .. " a comment above the definition (written in Lua); what is private begins with _.")
  end)

  it("of every submodule is known to help", function()
    local prefixes = { ["nn.functional."] = true, ["optim.optimizer."] = true }
    for _, known in ipairs(all) do
      for at in known.name:gmatch("()[.:]") do prefixes[known.name:sub(1, at - 1) .. "."] = true end
    end
    for _, above in ipairs { "", "nn.", "nn.utils.", "nn.attention.", "optim.", "autograd." } do
      local t = lucerna
      for key in above:gmatch("[%w_]+") do t = t[key] end
      for name in pairs(require("lucerna.repl").keys(t)) do
        local submodule = type(t[name]) == "table" and name:find("^%l")
        assert(not submodule or prefixes[above .. name .. "."], above .. name .. " is not among "
          .. "the PLACES of lua/lucerna/help.lua: add it, so that its names are documented")
      end
    end
  end)

  it("of nn or optim has an example", function()
    local lacking = {}
    for _, known in ipairs(all) do
      local example = known.parts.entry and texts.example(known.parts.entry)
      if wants_example(known.name) and not example then lacking[#lacking + 1] = known.name end
    end
    assert(#lacking == 0, "no example: " .. table.concat(lacking, " ") .. "\nAdd lines that begin"
      .. " with \"> \" to its entry in lua/lucerna/texts.")
  end)
end)

describe("the example of", function()
  for _, family in ipairs(texts.families) do
    for _, entry in ipairs(family) do
      local code = texts.example(entry[2])
      if code then
        it(entry[1]:match("%S+") .. " runs", function()
          local names = { lucerna = lucerna, nn = lucerna.nn, F = lucerna.nn.functional,
            optim = lucerna.optim }
          local environment = setmetatable(names, { __index = _G })
          assert(load(code, "=example", "t", environment))()
        end)
      end
    end
  end
end)

describe("an entry", function()
  it("names what exists, and once", function()
    local there, seen = {}, {}
    for _, known in ipairs(all) do there[known.name] = true end
    for _, family in ipairs(texts.families) do
      for _, entry in ipairs(family) do
        for name in entry[1]:gmatch("%S+") do
          assert(not seen[name], name .. " has two entries")
          seen[name] = true
          local plain = not name:find(".", 1, true)
          assert(there[name] or plain and (there["lucerna." .. name] or there["tensor:" .. name]
            or there["tensor:" .. name .. "_"]), name .. " does not exist: " .. family.name)
        end
      end
    end
  end)
end)

describe("the reference", function()
  it("has every name on one page #slow", function()
    local count = {}
    for _, page in ipairs(reference.pages()) do
      for _, section in ipairs(page.sections) do
        for _, name in ipairs(section.names) do count[name] = (count[name] or 0) + 1 end
      end
    end
    for _, known in ipairs(all) do assert.equal(1, count[known.name], known.name) end
  end)

  it("is written, with an index #slow", function()
    local folder = files.folder()
    reference.write(folder)
    local conv = files.bytes_of(folder .. "/conv.md")
    local index = files.bytes_of(folder .. "/index.md")
    assert.matches("Conv2d%(int in_channels", conv)
    assert.matches("\n```lua\nlocal y = nn.Conv2d", conv)
    assert.matches("generated/torch.nn.Conv2d.html", conv)
    assert.matches("nn.Linear", index)
  end)

  it("comes with types for editors that are Lua and have every name #slow", function()
    local path = files.temporary()
    stubs.write(path)
    assert(loadfile(path))
    local types = files.bytes_of(path)
    local defined = { ["repeat"] = true } -- a word of Lua
    for name in types:gmatch("\nfunction [%w_.]*[.:]([%w_]+)%(") do defined[name] = true end
    local tensor = types:match("\n%-%-%-@class lucerna.Tensor\n(.-)\n\n")
    for field in tensor:gmatch("@field ([%w_]+) ") do defined[field] = true end
    for _, known in ipairs(all) do assert(defined[known.name:match("[%w_]+$")], known.name) end
    for name, value in pairs(lucerna) do
      local constant = type(value) ~= "function" and type(value) ~= "table"
      assert(not constant or types:find("\nlucerna." .. name .. " = nil\n", 1, true), name)
    end
    assert.matches("---@type lucerna.dtype\nlucerna.long = nil\n", types, 1, true)
    assert.matches("---@class lucerna.nn.GRU: lucerna.nn.RNNBase\n", types, 1, true)
    assert.matches("function lucerna.optim.Adam(params, lr, betas, eps, ", types, 1, true)
    assert.matches("function lucerna.optim.Muon(params, options)", types, 1, true)
    assert.matches("function lucerna.nn.init.constant_(tensor, val, options)", types, 1, true)
  end)

  it("comes with types that let every form of a call pass #slow", function()
    local path = files.temporary()
    stubs.write(path)
    local types = files.bytes_of(path)
    local function typed(name, ...)
      local at = assert(types:find("\nfunction " .. name .. "(", 1, true))
      local head = types:sub(at - 1000, at):match("^.*\n\n(.*)$")
      for _, line in ipairs {...} do assert.matches("---@param " .. line, head, 1, true) end
    end
    typed("lucerna.nn.Linear", "bias? boolean|{in_features?: integer,", "options? {in_features?:")
    typed("Tensor:sum", "dim? integer|integer[]|{dim?:", "keepdim? boolean|table\n")
    typed("lucerna.zeros", "size integer|integer[]\n", "... integer|{size?:")
    typed("Tensor:view", "shape integer|integer[]\n", "... integer|{shape?:")
    typed("lucerna.block_diag", "tensors lucerna.Tensor[]|lucerna.Tensor\n", "... lucerna.Tensor|{")
    assert.matches("function lucerna.einsum(equation, ...)", types, 1, true)
    typed("lucerna.data.DataLoader", "dataset any\n", "options? {dataset?: any, batch_size?:")
    typed("Optimizer:step", "closure? any")
    typed("lucerna.nn.isinstance", "m any\n", "Class any\n")
    assert.matches("function lucerna.set_autocast_enabled(...)", types, 1, true)
    assert.matches("function lucerna.nn.Sequential(m1, m2, ...)", types, 1, true)
    typed("ModuleList:append", "module any\n")
    typed("LRScheduler:step", "epoch")
    typed("Module:named_parameters", "prefix? string|", "remove_duplicate? boolean|table")
    for _, name in ipairs {"Tensor:size", "Tensor:tolist", "Module:parameters", "Module:modules"} do
      assert.matches("\n---@return any\nfunction " .. name .. "(", types, 1, true)
    end
  end)

  it("counts dimensions from 1 in signatures", function()
    assert.matches("dim=1%)", help.text(lucerna.cat))
    assert.matches("dims=%[1, 2%]", help.text(lucerna.rot90))
    assert.matches("Index blank=1", help.text(lucerna.nn.CTCLoss))
  end)
end)
