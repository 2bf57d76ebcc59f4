-- What load_state_dict does with unusual trees, old checkpoints and other names, beside PyTorch's
-- answers (tests/parity/gen_state.py); what its error adds to PyTorch's lines.

local lucerna = require "lucerna"
local nn = lucerna.nn
local parity = require "parity"
local cases, message_of = parity.load "state", parity.plain_message

local ONE, TWO = lucerna.ones(1), lucerna.ones(2)

local Tied = nn.class("Tied")
function Tied:__init()
  self.first = nn.Linear(2, 2)
  self.again = self.first
  self.second = nn.Linear(2, 2)
  self.second.weight = self.first.weight
end

local Mixed = nn.class("Mixed")
function Mixed:__init()
  self.child = nn.Linear(1, 1)
  self:register_buffer("kept", lucerna.zeros(1))
  self:register_buffer("passing", lucerna.zeros(1), false)
  self:register_buffer("empty", nil)
  self.w = nn.Parameter(lucerna.zeros(2))
  self:register_parameter("none", nil)
  self.gone = nn.Linear(1, 1)
  self.gone = nil
  self.norm = nn.BatchNorm1d(1)
  self.scalar = nn.Parameter(lucerna.tensor(0.0))
end

local Expanded = nn.class("Expanded")
function Expanded:__init() self.w = nn.Parameter(lucerna.zeros(1):expand(3)) end

local function make(source)
  local env = {nn = nn, lucerna = lucerna, Tied = Tied, Mixed = Mixed, Expanded = Expanded,
    ONE = ONE, TWO = TWO}
  return assert(load("return " .. source, source, "t", env))()
end

-- The lines after PyTorch's.
local function hints_of(m, state, options)
  local hints = {}
  for line in message_of(m.load_state_dict, m, state, options):gmatch("\n\t([^\n]*)") do
    local known = line:find("^Missing key") or line:find("^Unexpected key") or
      line:find("^size mismatch") or line:find("^While copying")
    if not known then hints[#hints + 1] = line end
  end
  return hints
end

-- The same through the walk in Lua, which a hook asks for.
local function hooked(m)
  m:register_load_state_dict_pre_hook(function() end)
  return m
end

describe("state_dict of unusual trees", function()
  for _, case in ipairs(cases.keys) do
    it("has PyTorch's keys and versions for " .. case.lua, function()
      for _, prepare in ipairs {function(m) return m end, function(m)
        m:register_state_dict_pre_hook(function() end)
        return m
      end} do
        local sd, keys, versions = prepare(make(case.lua)):state_dict(), {}, {}
        for key in pairs(sd) do keys[#keys + 1] = key end
        for path, saved in pairs(sd._metadata) do
          versions[#versions + 1] = {path, saved.version}
        end
        assert.are.same(case.keys, keys)
        assert.are.same(case.versions, versions)
      end
    end)
  end

  it("has one tensor's memory under every name", function()
    local m = Tied()
    local sd = m:state_dict()
    m.first.weight.data:fill_(3)
    for _, key in ipairs {"first.weight", "again.weight", "second.weight"} do
      assert.are.same({{3, 3}, {3, 3}}, sd[key]:tolist())
    end
  end)
end)

describe("load_state_dict of unusual trees", function()
  for _, case in ipairs(cases.loads) do
    it("says what PyTorch says for " .. case.lua .. " and " .. case.state, function()
      for _, prepare in ipairs {function(m) return m end, hooked} do
        local m = prepare(make(case.lua))
        local message = message_of(m.load_state_dict, m, make(case.state))
        assert.are.equal(case.message, message:sub(1, #case.message))
        assert.matches("^\n?", message:sub(#case.message + 1))
      end
    end)
  end

  it("gives a number the only element of an old checkpoint's list", function()
    for _, prepare in ipairs {function(m) return m end, hooked} do
      local m = prepare(Mixed())
      m:load_state_dict({scalar = lucerna.tensor {7.0, 8.0}}, {strict = false})
      assert.are.equal(7.0, m.scalar:item())
      assert.are.same({}, m.scalar:size())
    end
  end)

  it("leaves an instance norm's dropped statistics out when versions say so", function()
    local m = nn.InstanceNorm1d(2)
    local sd = m:state_dict()
    sd.running_mean = TWO
    assert.matches('Unexpected key%(s%) in state_dict: "running_mean". $',
      message_of(m.load_state_dict, m, sd))
  end)

  it("does not touch the state it is given", function()
    for _, prepare in ipairs {function(m) return m end, hooked} do
      local m = prepare(nn.Sequential(nn.BatchNorm1d(1)))
      local state = {["0.weight"] = ONE, ["0.x"] = ONE}
      m:load_state_dict(state, {strict = false, assign = true})
      assert.are.same({["0.weight"] = ONE, ["0.x"] = ONE}, state)
      local sd = m:state_dict()
      sd["0.num_batches_tracked"], sd._metadata = nil, {["0"] = {version = 1}}
      m:load_state_dict(sd, {assign = true})
      assert.is_nil(sd["0.num_batches_tracked"])
      assert.are.same({["0"] = {version = 1}}, sd._metadata)
    end
  end)

  it("converts to the model's dtype and layout", function()
    local m = nn.Linear(2, 3)
    m.weight.data = lucerna.zeros(2, 3):t()
    m:load_state_dict {weight = lucerna.arange(6):view(3, 2), bias = lucerna.ones(3):half()}
    assert.are.same({{0, 1}, {2, 3}, {4, 5}}, m.weight:tolist())
    assert.are.same({1, 3}, m.weight:stride())
    assert.are.equal(lucerna.float32, m.bias.dtype)
  end)
end)

describe("load_state_dict with assign", function()
  local function both(f)
    f(function(m) return m end)
    f(hooked)
  end

  it("puts the values in the place of what is there", function()
    both(function(prepare)
      local m = prepare(nn.Sequential(nn.BatchNorm1d(1)))
      local weight = nn.Parameter(lucerna.ones(1))
      local mean = lucerna.full({1}, 5.0, {dtype = lucerna.float64})
      m:load_state_dict({["0.weight"] = weight, ["0.bias"] = ONE, ["0.running_mean"] = mean},
        {strict = false, assign = true})
      assert.is_true(rawequal(weight, m[1].weight))
      assert.is_true(rawequal(mean, m[1].running_mean))
      assert.is_false(rawequal(ONE, m[1].bias))
      ONE:fill_(2)
      assert.are.equal(2.0, m[1].bias:item())
      ONE:fill_(1)
      assert.are.equal("weight bias", table.concat((function()
        local names = {}
        for name in m[1]:named_parameters() do names[#names + 1] = name end
        return names
      end)(), " "))
    end)
  end)

  it("keeps what requires a gradient in the model", function()
    both(function(prepare)
      local m = prepare(nn.Linear(1, 1))
      m.bias.requires_grad = false
      local bias = nn.Parameter(lucerna.ones(1))
      m:load_state_dict({weight = lucerna.ones(1, 1, {dtype = lucerna.float64}), bias = bias},
        {assign = true})
      assert.is_true(m.weight.requires_grad)
      assert.is_false(m.bias.requires_grad)
      assert.is_true(rawequal(bias, m.bias))
      assert.are.equal(lucerna.float64, m.weight.dtype)
    end)
  end)

  it("says what cannot require a gradient, and changes nothing", function()
    both(function(prepare)
      local m = prepare(nn.Linear(1, 1))
      local weight, bias = m.weight, m.bias
      assert.are.equal("Error(s) in loading state_dict for Linear:\n\tWhile copying the parameter "
        .. "named \"weight\", whose dimensions in the model are torch.Size([1, 1]) and whose "
        .. "dimensions in the checkpoint are torch.Size([1, 1]), an exception occurred : ('Only "
        .. "Tensors of floating point and complex dtype can require gradients',).",
        message_of(m.load_state_dict, m, {weight = lucerna.tensor {{1}}, bias = ONE},
          {assign = true}))
      assert.is_true(rawequal(weight, m.weight) and rawequal(bias, m.bias))
    end)
  end)

  it("lets registration hooks see, replace or refuse values", function()
    local m, seen, fail = nn.Sequential(nn.BatchNorm1d(1)), {}, false
    local sd = nn.Sequential(nn.BatchNorm1d(1)):state_dict()
    local other = nn.Parameter(lucerna.full({1}, 3.0))
    local handle = nn.register_module_parameter_registration_hook(function(self, name, value)
      assert.is_true(rawequal(self, m[1]))
      seen[#seen + 1] = name
      if name == "bias" and fail then
        nn.delattr(self, "weight")
        error("no", 0)
      end
      if name == "weight" then return other end
      assert.is_true(value.requires_grad)
    end)
    m:load_state_dict(sd)
    assert.are.same({}, seen)
    m:load_state_dict(sd, {assign = true})
    assert.are.same({"weight", "bias"}, seen)
    assert.is_true(rawequal(other, m[1].weight))
    fail = true
    local bias = m[1].bias
    assert.are.equal("no", message_of(m.load_state_dict, m, sd, {assign = true}))
    handle:remove()
    assert.is_true(rawequal(other, m[1].weight) and rawequal(bias, m[1].bias))
    assert.are.equal(5, #m:state_dict())
  end)

  it("works where a module stands under two names", function()
    both(function(prepare)
      local m = prepare(Tied())
      local sd = Tied():state_dict()
      m:load_state_dict(sd, {assign = true})
      assert.is_true(lucerna.equal(sd["again.weight"], m.first.weight))
      m.first(lucerna.ones(2)):sum():backward()
      assert.is_not_nil(m.first.weight.grad)
    end)
  end)
end)

describe("load_state_dict under other names", function()
  it("takes off a prefix, from versions too", function()
    local m = nn.Sequential(nn.BatchNorm1d(1))
    local sd = m:state_dict {prefix = "module."}
    sd["module.0.num_batches_tracked"] = nil
    assert.matches('Missing key%(s%) in state_dict: "0.num_batches_tracked"',
      message_of(m.load_state_dict, m, sd, {prefix = "module."}))
    sd._metadata["module.0"].version = 1
    m:load_state_dict(sd, {prefix = "module."})
    m:load_state_dict(m:state_dict(), {prefix = "module."})
  end)

  it("renames names and paths, the longest first", function()
    local m = nn.Sequential {{"head", nn.Linear(1, 1)}, {"out", nn.Linear(1, 1)}}
    local function value(n) return lucerna.full({1, 1}, n + 0.0) end
    m:load_state_dict({["net.fc.weight"] = value(1), ["net.fc.b"] = ONE,
      ["net.out.weight"] = value(2), ["net.out.bias"] = ONE, ["net.old"] = ONE},
      {rename = {["net.fc"] = "head", ["net.fc.b"] = "head.bias", net = "", ["net.old"] = false}})
    assert.are.equal(1.0, m.head.weight:item())
    assert.are.equal(2.0, m.out.weight:item())
  end)

  it("renames with a function, after the prefix", function()
    local m = nn.Linear(1, 1)
    local seen = {}
    local state = {["m.w"] = lucerna.ones(1, 1), bias = ONE, x = ONE}
    local missing, unexpected = m:load_state_dict(state, {
      prefix = "m.",
      rename = function(key)
        seen[#seen + 1] = key
        if key == "w" then return "weight" end
        if key == "x" then return false end
      end,
    })
    assert.are.same({"bias", "w", "x"}, seen)
    assert.are.same({{}, {}}, {missing, unexpected})
  end)

  it("refuses what makes no sense", function()
    local m = nn.Linear(1, 1)
    local function refusal(options)
      return message_of(m.load_state_dict, m, {a = ONE, b = ONE}, options)
    end
    assert.matches("rename: 'a' and 'b' both become 'c'", refusal {rename = {a = "c", b = "c"}})
    assert.matches("rename: 'a' must become a string or false %(got a number%)",
      refusal {rename = {a = 3}})
    assert.matches("rename must be a table or a function %(got a string%)", refusal {rename = "x"})
    assert.matches("prefix must be a string %(got boolean%)", refusal {prefix = true})
    assert.matches("unknown argument 'renam' %(did you mean 'rename'%?%)", refusal {renam = {}})
    assert.matches("keys are strings %(got a number%)",
      message_of(m.load_state_dict, m, {ONE}))
  end)
end)

describe("the error of load_state_dict also says", function()
  it("where in a checkpoint the state may be", function()
    local m = nn.Linear(1, 1)
    assert.are.same({'The state may be what stands under "model": load that.'},
      hints_of(m, {model = m:state_dict(), epoch = 3}))
    assert.are.same({'The state may be what stands under "state_dict": load that.'},
      hints_of(m, {state_dict = m:state_dict(), optimizer = {}}))
  end)

  it("what prefix to take off, or to add", function()
    local m = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    assert.are.same({'The keys begin with "module.", which the model\'s do not: load them with '
      .. '{prefix = "module."}.'}, hints_of(m, m:state_dict {prefix = "module."}))
    local wrapped = nn.Sequential {{"module", m}}
    assert.are.same({'The model\'s keys begin with "module.", which those of state_dict do not: '
      .. 'load them with {rename = function(key) return "module." .. key end}.'},
      hints_of(wrapped, m:state_dict()))
    wrapped:load_state_dict(m:state_dict(),
      {rename = function(key) return "module." .. key end})
  end)

  it("which paths have other names", function()
    local m = nn.Sequential {{"body", nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))},
      {"head", nn.Linear(1, 1)}}
    local sd = m:state_dict()
    local old = {}
    for key, t in pairs(sd) do old[key:gsub("^body", "features"):gsub("^head", "fc")] = t end
    assert.are.same({'Paths may have other names: load with '
      .. '{rename = {["features"] = "body", ["fc"] = "head"}}.'}, hints_of(hooked(m), old))
    m:load_state_dict(old, {rename = {features = "body", fc = "head"}})
    -- Where it could be one or the other nothing is said.
    assert.are.same({}, hints_of(m.body, {["deconv.weight"] = lucerna.ones(1, 1)}))
    assert.are.same({}, hints_of(m.body, {["deconv.weight"] = lucerna.ones(1, 1)},
      {strict = true}))
  end)

  it("which names may have been meant", function()
    local m = nn.Linear(1, 1)
    assert.are.same({'Nearest keys (state_dict = model): "wieght" = "weight".'},
      hints_of(m, {wieght = lucerna.ones(1, 1), bias = ONE}))
    assert.are.same({}, hints_of(m, {completely_different = ONE}))
  end)

  it("which shapes were swapped or transposed", function()
    local m = nn.Linear(2, 3)
    assert.are.same({'"weight" may be transposed: its shape is the model\'s reversed.'},
      hints_of(m, {weight = lucerna.ones(2, 3), bias = lucerna.ones(3)}))
    m = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4))
    local sd = m:state_dict()
    sd["0.weight"], sd["1.weight"] = sd["1.weight"], sd["0.weight"]
    for _, prepare in ipairs {function(x) return x end, hooked} do
      assert.are.same({'The shapes of "0.weight" and "1.weight" are each other\'s: they may have '
        .. 'been swapped.'}, hints_of(prepare(m), sd))
    end
  end)

  it("nothing when it is hopeless, at any size", function()
    local m, state = nn.Sequential(), {}
    for i = 1, 200 do
      m:append(nn.Linear(1, 1))
      state[("x"):rep(300) .. i] = ONE
    end
    assert.are.same({}, hints_of(m, state))
  end)
end)

describe("the core and Lua", function()
  local kinds = {
    function() return nn.Linear(2, 2) end,
    function() return nn.BatchNorm1d(2) end,
    function() return nn.InstanceNorm1d(2) end,
    function() return nn.ReLU() end,
    Mixed, Tied,
  }

  local function random_tree(random, depth)
    if depth == 0 or random(3) == 1 then return kinds[random(#kinds)]() end
    local m = nn.Sequential()
    for _ = 1, random(3) do m:append(random_tree(random, depth - 1)) end
    if random(4) == 1 then m:append(m[1]) end
    return m
  end

  local function change(random, sd)
    local keys = {}
    for key in pairs(sd) do keys[#keys + 1] = key end
    local values = {ONE, TWO, lucerna.ones(2, 2), lucerna.tensor(3), "text", 5, lucerna.none}
    for _ = 1, random(6) - 1 do
      local key = #keys > 0 and keys[random(#keys)] or "x"
      local way = random(6)
      if way == 1 then sd[key] = nil
      elseif way == 2 then sd[key] = values[random(#values)]
      elseif way == 3 then sd[key .. ".x"] = ONE
      elseif way == 4 then sd[key:gsub("%w+$", "_extra_state")] = ONE
      elseif way == 5 then sd[key:gsub("^%d", "9")] = ONE
      else sd[key:gsub("weight", "running_mean")] = TWO end
    end
    if random(2) == 1 then sd._metadata = nil end
  end

  local function values_of(m)
    local values = {}
    for name, t in pairs(m:state_dict()) do values[name] = t:tolist() end
    return values
  end

  it("load alike, and whole or not at all", function()
    local random, failures = math.random, 0
    local trees = os.getenv "LUCERNA_TEST_SHORT" and 60 or 400
    math.randomseed(7)
    for _ = 1, trees do
      local m = random_tree(random, 3)
      local slow, sd = hooked(m:clone()), m:clone():state_dict()
      for _, t in pairs(sd) do t:fill_(random(9)) end
      change(random, sd)
      local before, options = values_of(m), {strict = random(2) == 1, assign = random(3) == 1}
      local results = {}
      for i, each in ipairs {m, slow} do
        results[i] = table.pack(pcall(each.load_state_dict, each, sd, options))
      end
      local fast = results[1]
      assert.are.same(fast, results[2])
      assert.are.same(values_of(m), values_of(slow))
      if not fast[1] then
        failures = failures + 1
        assert.are.same(before, values_of(m))
      end
    end
    assert.is_true(failures > trees / 4 and failures < trees * 7 / 8)
  end)
end)
