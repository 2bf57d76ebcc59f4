-- A host whose locale writes numbers with a comma and sorts capitals among the others: operators,
-- texts, messages, files and what goes by the order of names are the same.

local files = require "files"

local lua = os.getenv "LUCERNA_LUA" or "lua5.4"

-- The command that runs a program in such a locale: one of the system's, or one made for it; nil if
-- there is none and none can be made.
local function command(path)
  local old, found = os.setlocale()
  for _, name in ipairs {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"} do
    found = found or os.setlocale(name)
  end
  os.setlocale(old)
  if found then return ("%s %s %s"):format(lua, path, found) end
  local folder = files.folder()
  local make = ("localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 > %s/log 2>&1"):format(folder, folder)
  return os.execute(make) and ("LOCPATH=%s %s %s de_DE.UTF-8"):format(folder, lua, path)
end

describe("in a locale with a decimal comma", function()
  local function passes(program)
    local path = files.with(("package.path, package.cpath = %q, %q\n"):format(package.path,
      package.cpath) .. [[
      assert(os.setlocale(...) and ("%.1f"):format(0.5) == "0,5")
      local lucerna = require "lucerna"
      local nn, data = lucerna.nn, lucerna.data
      local function equal(a, b) if a ~= b then error(("%s, not %s"):format(a, b), 2) end end
      local function written(save, ...)
        local pieces = {}
        save(..., function(piece) pieces[#pieces + 1] = piece end)
        return table.concat(pieces)
      end
    ]] .. program .. "\nprint 'done'\n")
    local run = command(path)
    if not run then return pending "no locale has a comma" end
    local pipe = assert(io.popen(run .. " 2>&1"))
    local text = pipe:read "a"
    pipe:close()
    assert.equal("done\n", text)
  end

  it("numbers have a point in texts, messages and files", function()
    passes [[
      equal(tostring(lucerna.tensor{0.5, 3}), "tensor([0.5000, 3.0000])")
      equal(tostring(lucerna.tensor{1e-20, 3.5}), "tensor([1.0000e-20, 3.5000e+00])")
      equal(tostring(lucerna.complex(lucerna.tensor(0.5), lucerna.tensor(-1.5))),
        "tensor(0.5000-1.5000j)")
      equal(tostring(nn.LeakyReLU()), "LeakyReLU(negative_slope=0.01)")
      equal(tostring(nn.LeakyReLU(1 / 3)), "LeakyReLU(negative_slope=0.3333333333333333)")
      equal(tostring(nn.LayerNorm(3)), "LayerNorm((3,), eps=1e-05, elementwise_affine=True)")
      equal(tostring(nn.CrossMapLRN2d(2)), "CrossMapLRN2d(2, alpha=0.0001, beta=0.75, k=1)")
      equal(nn.LeakyReLU()(lucerna.tensor(-1.0)):item(), (lucerna.tensor(-1.0) * 0.01):item())
      local ok, message = pcall(nn.functional.dropout, lucerna.ones(2), 1.5)
      assert(not ok and message:find("got 1.5", 1, true), message)
      local adam = lucerna.optim.Adam({lucerna.ones(1, {requires_grad = true})})
      equal(adam.param_groups[1].betas[2], 0.999)

      local function read(text) return data.read_csv{bytes = text, dtype = lucerna.float64} end
      local x = read "1234567890.123456789,0.5,1e-30"
      equal(x[{1, 1}]:item(), 1234567890.123456789)
      equal(x[{1, 2}]:item(), 0.5)
      equal(x[{1, 3}]:item(), 1e-30)
      equal(written(data.write_csv, lucerna.tensor {{0.5, 1e-30}}), "0.5,1e-30\n")
      local state = lucerna.load(written(lucerna.save, {model = nn.Linear(2, 2):state_dict(),
        optim = adam:state_dict(), rate = 0.1}))
      equal(state.rate, 0.1)
      equal(state.optim.param_groups[1].lr, 1e-3)
      local profile = lucerna.profiler.profile(function() return lucerna.ones(2) + 1 end)
      assert(profile:chrome_trace():find '"ts":0%.000,"dur":%d+%.%d%d%d,')
    ]]
  end)

  it("names are sorted by their bytes", function()
    passes [[
      local map = {B = nn.Identity(), a = nn.Identity(), _ = nn.Identity(), ["a-"] = nn.Identity()}
      local names = {}
      for name in pairs(nn.ModuleDict(map)) do names[#names + 1] = name end
      equal(table.concat(names, " "), "B _ a a-")
      local tensors = {B = lucerna.ones(1), a = lucerna.ones(1)}
      local bytes = lucerna.safetensors.save(tensors)
      equal(table.concat(lucerna.safetensors.safe_open{bytes = bytes}:keys(), " "), "B a")
      local net, fields = nn.Identity(), {}
      net.a, net.B = 1, 2
      for name in pairs(net) do fields[#fields + 1] = name end
      equal(table.concat(fields, " "):match "B.*a", "B a")
      local _, message = pcall(lucerna.func.functional_call, nn.Identity(), tensors, {1}, nil,
        {strict = true})
      assert(message:find("'B', 'a'", 1, true), message)
      local seen = {}
      require("lucerna.trace").each_tensor(tensors, function(t) seen[#seen + 1] = t end)
      assert(rawequal(seen[1], tensors.B))
      equal(table.concat(require("lucerna.repl").candidates("t.", {t = {a = 1, B = 2}}), " "),
        "B a")
    ]]
  end)
end)
