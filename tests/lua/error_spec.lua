-- Errors: one line, the caller's position, the function, the argument, what was expected and given.
local lucerna = require "lucerna"
local parity = require "parity"

local x = lucerna.ones(2, 3)

describe("an error's position", function()
  it("is the line that called", function()
    local message = parity.message(function() return x:sum(5) end)
    local line = debug.getinfo(1, "l").currentline - 1
    assert.matches("^.*error_spec%.lua:" .. line .. ": sum: dim 5", message)
  end)

  it("is the user's line also when our own Lua code is in between", function()
    local message = parity.message(function() lucerna.finfo(lucerna.int64) end)
    local line = debug.getinfo(1, "l").currentline - 1
    assert.matches("^.*error_spec%.lua:" .. line .. ": finfo", message)
  end)

  it("is found for operators and indexing", function()
    parity.refused("^.*error_spec%.lua:%d+: add: ", function() return x + {} end)
    parity.refused("^.*error_spec%.lua:%d+: index 7 ", function() return x[7] end)
  end)

  it("is left out when nothing but C has called", function()
    parity.refused("^sum: dim 5", coroutine.wrap(x.sum), x, 5)
  end)
end)

describe("an error", function()
  it("is one line", function()
    for _, f in ipairs {
      function() return x:view(7) end,
      function() return x + lucerna.ones(4) end,
      function() return lucerna.cat({ x, lucerna.ones(3, 4) }) end,
      function() return lucerna.tensor { { 1 }, { 2, 3 } } end,
      function() return x.sum() end,
    } do
      assert.is_nil(parity.message(f):find("\n", 1, true))
    end
  end)

  it("names the function that was called, not one inside it", function()
    local nan = lucerna.full({ 3, 3 }, 0 / 0)
    parity.refused("pca_lowrank: The algorithm failed to converge", lucerna.pca_lowrank, nan)
    parity.refused("svd_lowrank: The algorithm failed to converge", lucerna.svd_lowrank, nan, 2)
    parity.refused("histogramdd: out of memory", lucerna.histogramdd, x, 2 ^ 50)
    local w = lucerna.ones(3, { requires_grad = true })
    parity.refused("grad: gradient has shape [2], the output has [3]", lucerna.autograd.grad,
      w * 2, w, lucerna.ones(2))
    parity.refused("linalg.svd: The algorithm failed", lucerna.no_grad, lucerna.linalg.svd, nan)
  end)

  it("names each function and method as it was called, other names too", function()
    local places = {[""] = lucerna, ["linalg."] = lucerna.linalg, ["fft."] = lucerna.fft,
      ["special."] = lucerna.special, tensor = lucerna.Tensor}
    local wrong = {}
    for prefix, place in pairs(places) do
      for name, f in pairs(place) do
        local ok, message = type(f) ~= "function" or name:find("^_"), ""
        if not ok then ok, message = pcall(f, io.stdout) end
        local named = not ok and message:match("^([%w_.]+): ")
        if named and named ~= name and named ~= prefix .. name then
          wrong[#wrong + 1] = ("%s%s: %s"):format(prefix, name, message)
        end
      end
    end
    assert.are.equal("", table.concat(wrong, "\n"))
  end)

  it("of the core names aliases and forms in place", function()
    local y = lucerna.ones(5)
    parity.refused("subtract: The size of tensor a (3)", lucerna.subtract, x, y)
    parity.refused("subtract_: The size of tensor a (3)", x.subtract_, x, y)
    parity.refused("add_: The size of tensor a (3)", x.add_, x, y)
    parity.refused("sub: The size of tensor a (3)", function() return x - y end)
    parity.refused("swapaxes: dim 5 is out of range", x.swapaxes, x, 5, 1)
    parity.refused("where: condition must be a Tensor", x.where, x, 3, 3)
    assert.are.equal(lucerna.subtract, x.subtract)
  end)

  it("names the class or function whose parts refuse", function()
    local D, models = lucerna.distributions, lucerna.models
    parity.refused("Beta: The size of tensor a (2)", D.Beta, lucerna.ones(2), lucerna.ones(3))
    parity.refused("OneHotCategorical: probs must be a Tensor", D.OneHotCategorical, 3)
    parity.refused("Adam: Tensor lr must be 1-element", lucerna.optim.Adam, { x },
      { lr = lucerna.ones(2) })
    for _, name in ipairs { "resnet18", "vgg11", "mobilenet_v2" } do
      parity.refused(name .. ": num_classes must be a positive integer (got x)", models[name], "x")
    end
    parity.refused("vit_b_16: num_layers must be", models.vit_b_16, { num_layers = 0 })
    parity.refused("clip_grad_norm: max_norm must be", lucerna.nn.utils.clip_grad_norm, { x })
    parity.refused("decode_png: not a PNG", lucerna.data.decode_png, "x")
  end)

  it("of overloads is of the one that a table is meant for", function()
    parity.refused("split_with_sizes: split_size must be a table of integers (got string 'a' at "
      .. "position 1)", lucerna.split_with_sizes, x, { "a" })
    parity.refused("split: split_size must be an integer (got string 'a')", x.split, x, "a")
  end)

  it("takes no longer to raise by the square of how deep calls are", function()
    local nn = lucerna.nn
    local Deep = nn.class("Deep")
    local function descend(n)
      if n == 0 then return lucerna.ones("a") end
      return (descend(n - 1))
    end
    Deep.forward = function(_, n) return (descend(n)) end
    local net = nn.Sequential(Deep())
    local message = select(2, pcall(net, 500))
    assert.is_truthy(message:find("in 0 (Deep): ones: size must be", 1, true), message)
    local began = os.clock()
    message = select(2, pcall(descend, 100000))
    assert.is_truthy(message:find(": ones: size must be", 1, true), message)
    assert.is_true(os.clock() - began < 3) -- seconds
  end)

  it("shows the shapes that do not fit", function()
    parity.refused("size of tensor a (3) must match the size of tensor b (4) at " ..
      "non-singleton dimension 2", function() return x + lucerna.ones(4) end)
    parity.refused("shape '[7]' is invalid for input of size 6", x.view, x, 7)
  end)

  it("says what is wrong with a value that is no tensor", function()
    parity.refused("sum: missing argument 'input'", x.sum)
    parity.refused("sum: input must be a Tensor (got nil)", x.sum, nil, 1)
    parity.refused("sum: input must be a Tensor (got number 5)", x.sum, 5)
    parity.refused("sum: input must be a Tensor (got FILE*)", x.sum, io.stdout)
    parity.refused("a Tensor's field 'shape' cannot be assigned", function() x.shape = { 6 } end)
  end)

  it("refuses devices that are not there", function()
    assert.are.equal("cpu", lucerna.device("cpu", 0))
    parity.refused("device: device must be 'cpu'", lucerna.device, "cuda", 0)
    parity.refused("cuda", lucerna.zeros, 2, { device = "cuda" })
  end)

  it("leaves the tensor that was to be written as it was", function()
    local y = lucerna.ones(2)
    assert.has_error(function() y:add_(lucerna.ones(3)) end)
    assert.has_error(function() y:copy_(lucerna.ones(3)) end)
    assert.same({ 1.0, 1.0 }, y:tolist())
  end)

  it("survives hostile arguments", function()
    local loop = {}
    loop[1] = loop
    local values = { 0, -1, 2 ^ 62, math.mininteger, math.maxinteger, 0 / 0, math.huge, "", "x",
      true, {}, loop, { {} }, { 1, "a" }, x, lucerna.none, lucerna.float32, print, io.stdout,
      coroutine.create(print), lucerna.zeros(0), lucerna.zeros(2, { dtype = lucerna.bool }) }
    local names = { "view", "sum", "transpose", "permute", "index_select", "expand", "narrow",
      "add", "select", "reshape", "unsqueeze", "squeeze", "flip", "repeat", "split", "to",
      "gather" }
    for _, name in ipairs(names) do
      local f = x[name]
      for _, a in ipairs(values) do
        pcall(f, a)
        pcall(f, x, a)
        for _, b in ipairs(values) do pcall(f, x, a, b) end
      end
    end
    assert.same({ 2, 3 }, x.shape)
  end)

  it("survives its metatables on what is not its own", function()
    local metas, seen = {}, {}
    local function look(t)
      if type(t) ~= "table" or seen[t] then return end
      seen[t] = true
      if rawget(t, "__gc") or rawget(t, "__close") then metas[#metas + 1] = t end
      for _, value in next, t do look(value) end
      look(debug.getmetatable(t))
    end
    local state = debug.getregistry()
    for key, value in next, state do
      if type(key) == "userdata" then look(value) end
    end
    look(debug.getmetatable(x))
    look(debug.getmetatable(lucerna.nn.ReLU()))
    look(debug.getmetatable(lucerna.no_grad(function() return lucerna.enable_grad() end)))
    assert.is_true(#metas > 10)
    for _, meta in ipairs(metas) do
      for _, stranger in ipairs { {}, { 1, 2, 3 }, lucerna.Generator() } do
        debug.setmetatable(stranger, meta)
        for key, event in next, meta do
          if type(event) == "function" and key ~= "__gc" then pcall(event, stranger, "x", 1) end
        end
      end
    end
    collectgarbage()
    collectgarbage()
    assert.is_true(lucerna.is_grad_enabled())
  end)
end)
