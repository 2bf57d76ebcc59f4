-- Hooks around state_dict and load_state_dict, and classes that override what these are made of.
-- What PyTorch does was checked against torch 2.9's nn/modules/module.py.

local lucerna = require "lucerna"
local parity = require "parity"
local nn = lucerna.nn

local message_of = parity.plain_message

local function keys_of(map) return parity.list(pairs(map)) end

local function values_of(m)
  local values = {}
  for name, p in m:named_parameters() do values[name] = p:tolist() end
  for name, b in m:named_buffers() do values[name] = b:tolist() end
  return values
end

local function net() return nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 1)) end

describe("hooks around state_dict", function()
  it("run before a module's own values and after all below it", function()
    local m, log = net(), {}
    local function count(sd) return type(sd) == "table" and #sd or sd end
    for name, child in m:named_modules() do
      child:register_state_dict_pre_hook(function(self, prefix, keep_vars)
        assert.is_true(rawequal(self, child))
        log[#log + 1] = ("pre %s %s %s"):format(name, prefix, keep_vars)
      end)
      child:register_state_dict_post_hook(function(self, sd, prefix, local_metadata)
        assert.is_true(rawequal(self, child))
        log[#log + 1] = ("post %s %d %d"):format(prefix, count(sd), local_metadata.version)
      end)
    end
    m:state_dict()
    assert.are.same({"pre   false", "pre 0 0. false", "post 0. 2 1", "pre 1 1. false",
      "post 1. 7 2", "pre 2 2. false", "post 2. 9 1", "post  9 1"}, log)
  end)

  it("edit the state and add to its metadata", function()
    local m = net()
    m[2]:register_state_dict_post_hook(function(_, sd, prefix, local_metadata)
      sd[prefix .. "running_mean"] = nil
      sd[prefix .. "more"] = lucerna.ones(1)
      local_metadata.spectral_norm = {version = 1}
    end)
    local sd = m:state_dict()
    assert.are.same({"0.weight", "0.bias", "1.weight", "1.bias", "1.running_var",
      "1.num_batches_tracked", "1.more", "2.weight", "2.bias"}, keys_of(sd))
    assert.are.same({version = 2, spectral_norm = {version = 1}}, sd._metadata["1"])
  end)

  it("of the private kind replace the state that the caller gets", function()
    local m = net()
    m[1]:_register_state_dict_hook(function() return {} end)
    assert.are.equal(9, #m:state_dict())
    m:_register_state_dict_hook(function(_, sd, prefix)
      return {count = #sd, prefix = prefix}
    end)
    assert.are.same({count = 9, prefix = ""}, m:state_dict())
    assert.are.same({count = 9, prefix = "a."}, m:state_dict {prefix = "a."})
  end)

  it("of the public kind return nothing, and are not also of the private one", function()
    local m = net()
    local function hook() return 1 end
    m:register_state_dict_post_hook(hook)
    assert.are.equal("state_dict post-hook must return None", message_of(m.state_dict, m))
    assert.matches("Cannot register the same function as the state dict post hook that was "
      .. "previously registered via register_state_dict_post_hook",
      message_of(m._register_state_dict_hook, m, hook), 1, true)
    assert.matches("hook must be a function", message_of(m.register_state_dict_pre_hook, m, 3))
  end)

  it("are removed by their handles, also at the end of a block", function()
    local m, calls = net(), 0
    local function hook() calls = calls + 1 end
    local handle = m[1]:register_state_dict_pre_hook(hook)
    m:state_dict()
    handle:remove()
    handle:remove()
    m:state_dict()
    do
      local _ <close> = m:register_state_dict_post_hook(hook)
      m:state_dict()
    end
    m:state_dict()
    assert.are.equal(2, calls)
  end)

  it("may remove and add hooks while they run", function()
    local m, log, second = net(), {}, nil
    m:register_state_dict_pre_hook(function()
      log[#log + 1] = "first"
      second:remove()
      m:register_state_dict_pre_hook(function() log[#log + 1] = "added" end)
    end)
    second = m:register_state_dict_pre_hook(function() log[#log + 1] = "second" end)
    m:state_dict()
    assert.are.same({"first"}, log)
    m:state_dict()
    assert.are.same({"first", "first", "added"}, log)
  end)

  it("pass their errors on and leave the next call alone", function()
    local m = net()
    local handle = m[3]:register_state_dict_pre_hook(function() error({code = 3}) end)
    local ok, err = pcall(m.state_dict, m)
    assert.is_false(ok)
    assert.are.same({code = 3}, err)
    handle:remove()
    assert.are.equal(9, #m:state_dict())
  end)

  it("leave messages without a path when a method ends in loading", function()
    local m = nn.Linear(1, 1)
    local function load(state) return m:load_state_dict(state) end
    assert.matches("^Error%(s%)", message_of(load, {}))
    m:register_load_state_dict_pre_hook(function() end)
    assert.matches("^Error%(s%)", message_of(load, {}))
  end)

  it("do not make calls of the module slower: it stays C's", function()
    local m = nn.Sequential(nn.Linear(1, 1))
    m:register_state_dict_pre_hook(function() end)
    assert.is_true(require("lucerna.core").nn.is_pure(m))
  end)

  it("may yield", function()
    local m = net()
    m[1]:register_state_dict_pre_hook(coroutine.yield)
    m[1]:register_load_state_dict_pre_hook(coroutine.yield)
    local co = coroutine.wrap(function()
      m:load_state_dict(m:state_dict())
      return "done"
    end)
    assert.is_true(rawequal(m[1], co()))
    assert.is_true(rawequal(m[1], co()))
    assert.are.equal("done", co())
  end)
end)

describe("hooks around load_state_dict", function()
  it("get PyTorch's arguments", function()
    local m, sd, seen = net(), net():state_dict(), nil
    m[2]:register_load_state_dict_pre_hook(function(...) seen = table.pack(...) end)
    m:load_state_dict(sd)
    assert.are.equal(8, seen.n)
    assert.is_true(rawequal(m[2], seen[1]))
    assert.are.same({"1.weight", "1.bias", "1.running_mean", "1.running_var",
      "1.num_batches_tracked"}, keys_of(seen[2]))
    assert.are.same({"1.", {version = 2}, true, {}, {}, {}}, {table.unpack(seen, 3, 8)})
    local n
    m[2]:_register_load_state_dict_pre_hook(function(...) n = select("#", ...) end)
    m:load_state_dict(sd, {assign = true})
    assert.are.equal(7, n)
    assert.are.same({version = 2, assign_to_params_buffers = true}, seen[4])
    assert.are.same({version = 2}, sd._metadata["1"])
    m[2]:_register_load_state_dict_pre_hook(function(...) n = select("#", ...) end, true)
    m:load_state_dict(sd)
    assert.are.equal(8, n)
  end)

  it("edit the state, of which only they see a copy", function()
    local m = net()
    local sd = net():state_dict()
    m[1]:register_load_state_dict_pre_hook(function(_, state, prefix)
      state[prefix .. "weight"] = state[prefix .. "w"]
      state[prefix .. "w"] = nil
    end)
    sd["0.w"], sd["0.weight"] = lucerna.full({2, 2}, 3.0), nil
    m:load_state_dict(sd)
    assert.are.same({{3, 3}, {3, 3}}, m[1].weight:tolist())
    assert.is_not_nil(sd["0.w"])
    assert.is_nil(sd["0.weight"])
    m:load_state_dict({["0.w"] = lucerna.ones(2, 2), ["0.bias"] = lucerna.ones(2)},
      {strict = false})
    assert.are.same({{1, 1}, {1, 1}}, m[1].weight:tolist())
  end)

  it("edit the lists: what they add is an error, what they clear is none", function()
    local m = nn.Linear(1, 1)
    m:register_load_state_dict_pre_hook(function(_, _, _, _, _, missing, unexpected, errors)
      missing[1], unexpected[1], errors[1] = "m", "u", "e"
    end)
    assert.are.equal('Error(s) in loading state_dict for Linear:\n'
      .. '\tMissing key(s) in state_dict: "m". \n\tUnexpected key(s) in state_dict: "u". \n\te',
      message_of(m.load_state_dict, m, m:state_dict()))
    m = nn.Sequential(nn.Linear(1, 1))
    m[1]:register_load_state_dict_post_hook(function(self, keys)
      assert.is_true(rawequal(m[1], self))
      assert.are.same({missing_keys = {"0.weight", "0.bias"}, unexpected_keys = {"x"}}, keys)
      keys.missing_keys[2], keys.unexpected_keys[1] = nil, nil
      keys.missing_keys[1] = nil
    end)
    local missing, unexpected = m:load_state_dict {x = lucerna.ones(1)}
    assert.are.same({{}, {}}, {missing, unexpected})
  end)

  it("run after a module's subtree, with its values in place", function()
    local m, log = net(), {}
    local state = net():state_dict()
    for name, child in m:named_modules() do
      child:register_load_state_dict_post_hook(function() log[#log + 1] = name end)
    end
    m[1]:register_load_state_dict_post_hook(function(self)
      assert.are.same(state["0.weight"]:tolist(), self.weight:tolist())
    end)
    m:load_state_dict(state)
    assert.are.same({"0", "1", "2", ""}, log)
    m = net()
    m:register_load_state_dict_post_hook(function() return {} end)
    local before = values_of(m)
    assert.matches("not expected to return new values",
      message_of(m.load_state_dict, m, net():state_dict()))
    assert.are.same(before, values_of(m))
  end)

  it("come with clones", function()
    local m, calls = nn.Linear(1, 1), 0
    m:register_load_state_dict_post_hook(function() calls = calls + 1 end)
    local copy = m:clone()
    copy:load_state_dict(m:state_dict())
    assert.are.equal(1, calls)
  end)
end)

describe("classes that override", function()
  local Scaled = nn.class("Scaled", nn.Linear) -- keeps its weight halved in files
  Scaled._version = 2
  function Scaled:_save_to_state_dict(destination, prefix, keep_vars)
    nn.Linear._save_to_state_dict(self, destination, prefix, keep_vars)
    destination[prefix .. "weight"] = destination[prefix .. "weight"] / 2
  end
  function Scaled:_load_from_state_dict(state, prefix, local_metadata, ...)
    if (local_metadata.version or 1) >= 2 then
      state[prefix .. "weight"] = state[prefix .. "weight"] * 2
    end
    nn.Linear._load_from_state_dict(self, state, prefix, local_metadata, ...)
  end

  it("_save_to_state_dict and _load_from_state_dict are called, and reach their parents", function()
    local m = nn.Sequential(Scaled(2, 2), nn.Linear(2, 2))
    local sd = m:state_dict()
    assert.are.equal(2, sd._metadata["0"].version)
    assert.is_true(lucerna.equal(sd["0.weight"] * 2, m[1].weight))
    local other = nn.Sequential(Scaled(2, 2), nn.Linear(2, 2))
    other:load_state_dict(sd)
    assert.are.same(values_of(m), values_of(other))
    sd._metadata["0"] = nil
    other:load_state_dict(sd)
    assert.is_true(lucerna.equal(sd["0.weight"], other[1].weight))
  end)

  it("_load_from_state_dict says which of the arguments its parent lacks", function()
    local load = nn.Linear(1, 1)._load_from_state_dict
    parity.refused("_load_from_state_dict: prefix must be a string (got nil)", load,
      nn.Linear(1, 1), {})
    parity.refused("_load_from_state_dict: local_metadata must be a table (got nil)", load,
      nn.Linear(1, 1), {}, "0.")
    parity.refused("_load_from_state_dict: error_msgs must be a table (got nil)", load,
      nn.Linear(1, 1), {}, "0.", {}, true, {}, {})
  end)

  it("state_dict of a child is called with the arguments", function()
    local Odd = nn.class("Odd")
    function Odd:state_dict(options)
      options.destination[options.prefix .. "odd"] = lucerna.tensor(options.keep_vars and 1 or 0)
    end
    local m = nn.Sequential(Odd(), nn.Linear(1, 1))
    local sd = m:state_dict {keep_vars = true, prefix = "p."}
    assert.are.same({"p.0.odd", "p.1.weight", "p.1.bias"}, keys_of(sd))
    assert.are.equal(1, sd["p.0.odd"]:item())
  end)

  it("get_extra_state and set_extra_state add a value of any kind", function()
    local Counter = nn.class("Counter")
    function Counter:__init(n)
      self.n = n
      self.fc = nn.Linear(1, 1)
      self:register_buffer("b", lucerna.zeros(1))
    end
    function Counter:get_extra_state() return {n = self.n} end
    function Counter:set_extra_state(state) self.n = state.n end
    local m = nn.Sequential(Counter(3))
    local sd = m:state_dict()
    assert.are.same({"0.b", "0._extra_state", "0.fc.weight", "0.fc.bias"}, keys_of(sd))
    assert.are.same({n = 3}, sd["0._extra_state"])
    local other = nn.Sequential(Counter(5))
    other:load_state_dict(sd)
    assert.are.equal(3, other[1].n)
    sd["0._extra_state"] = nil
    assert.matches('Missing key%(s%) in state_dict: "0._extra_state". $',
      message_of(other.load_state_dict, other, sd))
    assert.are.same({"0._extra_state"}, (other:load_state_dict(sd, {strict = false})))
    local l = nn.Sequential(nn.Linear(1, 1))
    sd = l:state_dict()
    sd["0._extra_state"] = 3
    assert.matches('Unexpected key%(s%) in state_dict: "0._extra_state". $',
      message_of(l.load_state_dict, l, sd))
    assert.matches("should never be called", message_of(l.get_extra_state, l))
    assert.matches("should never be called", message_of(l.set_extra_state, l, 1))
  end)

  it("an extra state may be nil", function()
    local Empty = nn.class("Empty")
    local got = "nothing"
    function Empty:get_extra_state() return nil end -- luacheck: ignore self
    function Empty:set_extra_state(state) got = state end -- luacheck: ignore self
    local sd = Empty():state_dict()
    assert.are.equal(1, #sd)
    Empty():load_state_dict(sd)
    assert.is_nil(got)
  end)

  it("a batch norm's version see it take part in loading", function()
    local Norm = nn.class("Norm", nn.BatchNorm1d)
    function Norm:_load_from_state_dict(...) nn.BatchNorm1d._load_from_state_dict(self, ...) end
    local m = Norm(2)
    local sd = m:state_dict()
    sd.num_batches_tracked, sd._metadata = nil, nil
    m:load_state_dict(sd)
    sd._metadata = {[""] = {version = 2}}
    assert.matches('Missing key%(s%) in state_dict: "num_batches_tracked"',
      message_of(m.load_state_dict, m, sd))
  end)
end)

describe("a load that fails over hooks and overrides", function()
  -- Everything an override can touch is changed, then something fails.
  local Careless = nn.class("Careless")
  function Careless:__init()
    self.w = nn.Parameter(lucerna.zeros(2, 2))
    self.p = nn.Parameter(lucerna.zeros(1))
    self:register_buffer("b", lucerna.zeros(2))
    self.child = nn.Linear(1, 1)
    self.note = "old"
    self.drop = nn.Dropout(0.5)
  end
  function Careless:_load_from_state_dict()
    self.w.data:fill_(9)
    self.p = nn.Parameter(lucerna.ones(7))
    self.b = nil
    self:register_buffer("fresh", lucerna.ones(1), false)
    self.child = nn.Identity()
    nn.delattr(self, "drop")
    self.extra_child = nn.Linear(3, 3)
    self.note, self.more = "new", 3
    self.training = false
    self.forward = function(_, x) return x end
    self.w.data = lucerna.ones(3)
    error("too bad", 0)
  end

  local function check_untouched(m, before, children)
    assert.are.same(before, values_of(m))
    for name, child in pairs(children) do assert.is_true(rawequal(child, m[name])) end
    assert.are.same({"w", "p"}, keys_of(m._parameters))
    assert.are.same({"b"}, keys_of(m._buffers))
    assert.are.same({"child", "drop"}, keys_of(m._modules))
    assert.are.equal("old", m.note)
    assert.is_nil(m.more)
    assert.is_nil(m.extra_child)
    assert.is_true(m.training)
    assert.is_nil(rawget({}, m.forward))
    assert.are.same({"w", "p", "b", "child.weight", "child.bias"}, keys_of(m:state_dict()))
  end

  it("leaves the module as it was, whatever was done to it", function()
    local m = Careless()
    local w, before = m.w, values_of(m)
    local children = {child = m.child, drop = m.drop, w = m.w, p = m.p, b = m.b}
    assert.are.equal("too bad", message_of(m.load_state_dict, m, {}))
    check_untouched(m, before, children)
    assert.is_true(rawequal(w, m.w))
    assert.are.same({2, 2}, w:size())
    assert.matches("missing the required \"forward\"", message_of(m, 1))
  end)

  it("leaves modules loaded before and after it, too", function()
    local m = nn.Sequential(nn.Linear(2, 2), Careless(), nn.BatchNorm1d(2))
    m[3]:register_load_state_dict_pre_hook(function() m[1].weight.data:fill_(4) end)
    local before = values_of(m)
    local sd = m:clone():state_dict()
    for _, t in pairs(sd) do t:fill_(1) end
    assert.are.equal("too bad", message_of(m.load_state_dict, m, sd))
    assert.are.same(before, values_of(m))
  end)

  it("also when it is the names or sizes that are wrong in the end", function()
    local m = net()
    m[1]:register_load_state_dict_pre_hook(function() end)
    local before, weight = values_of(m), m[3].weight
    local sd = net():state_dict()
    sd["2.bias"] = lucerna.ones(3)
    for _, assign in ipairs {false, true} do
      assert.matches("size mismatch for 2.bias", message_of(m.load_state_dict, m, sd,
        {assign = assign}))
      assert.are.same(before, values_of(m))
      assert.is_true(rawequal(weight, m[3].weight))
    end
  end)

  it("also in a hook that runs last, and with shared modules and tensors", function()
    local shared = nn.Linear(2, 2)
    local m = nn.Sequential(shared, nn.Sequential(shared), nn.Linear(2, 2))
    m[3].weight = shared.weight
    m:register_load_state_dict_post_hook(function() error("late", 0) end)
    local before, sd = values_of(m), m:clone():state_dict()
    for _, t in pairs(sd) do t:fill_(1) end
    for _, assign in ipairs {false, true} do
      assert.are.equal("late", message_of(m.load_state_dict, m, sd, {assign = assign}))
      assert.are.same(before, values_of(m))
      assert.is_true(rawequal(m[1].weight, m[3].weight))
      assert.is_true(rawequal(m[1], m[2][1]))
    end
  end)

  it("keeps the hooks that came and went meanwhile", function()
    local m, calls = nn.Linear(1, 1), 0
    local handle
    handle = m:register_load_state_dict_pre_hook(function()
      handle:remove()
      m:register_forward_hook(function() calls = calls + 1 end)
      error("no", 0)
    end)
    assert.are.equal("no", message_of(m.load_state_dict, m, {}))
    m(lucerna.ones(1))
    assert.are.equal(1, calls)
    m:load_state_dict(m:state_dict())
  end)
end)

describe("one module's own methods", function()
  it("take part for as long as they are assigned", function()
    local m, prefixes = nn.Sequential(nn.Linear(1, 1)), {}
    m[1]._save_to_state_dict = function(self, destination, prefix, keep_vars)
      nn.Linear._save_to_state_dict(self, destination, prefix, keep_vars)
      destination[prefix .. "z"] = lucerna.ones(1)
    end
    m[1]._load_from_state_dict = function(self, state, prefix, ...)
      prefixes[#prefixes + 1] = prefix
      state[prefix .. "z"] = nil
      nn.Linear._load_from_state_dict(self, state, prefix, ...)
    end
    local sd = m:state_dict()
    assert.are.same({"0.weight", "0.bias", "0.z"}, keys_of(sd))
    m:load_state_dict(sd)
    m[1]._save_to_state_dict, m[1]._load_from_state_dict = nil, nil
    m:load_state_dict(m:state_dict())
    assert.are.same({"0."}, prefixes)
  end)

  it("are no extra state: only a class's count for that", function()
    local m = nn.Linear(1, 1)
    m.get_extra_state = function() return 3 end
    assert.are.same({"weight", "bias"}, keys_of(m:state_dict()))
  end)
end)

describe("hostile hooks", function()
  it("may edit the state while it is loaded, in any way", function()
    local m = net()
    local values = net():state_dict()
    for child in m:modules() do
      child:register_load_state_dict_pre_hook(function(_, state, prefix)
        for key in pairs(state) do state[key] = nil end
        state[3], state[""], state[prefix], state["a.b.c"] = 1, 2, 3, 4
        state[prefix .. "weight"] = "text"
        state._metadata = 7
      end)
    end
    local before = values_of(m)
    assert.matches("expected torch.Tensor", message_of(m.load_state_dict, m, values))
    assert.are.same(before, values_of(m))
    assert.are.equal(9, #values)
  end)

  it("may put anything into the lists", function()
    local m = nn.Linear(1, 1)
    m:register_load_state_dict_pre_hook(function(_, _, _, _, _, missing, unexpected, errors)
      missing[1], unexpected[1], errors[1] = 3, true, setmetatable({}, {__tostring = error})
    end)
    assert.is_false(pcall(m.load_state_dict, m, m:state_dict()))
    m = nn.Linear(1, 1)
    m:register_load_state_dict_pre_hook(function(_, _, _, _, _, missing) missing[1] = 3 end)
    assert.matches('Missing key%(s%) in state_dict: "3"',
      message_of(m.load_state_dict, m, m:state_dict()))
  end)

  it("may load and save again inside", function()
    local m, depth = nn.Sequential(nn.Linear(1, 1)), 0
    local sd = m:state_dict()
    m[1]:register_load_state_dict_pre_hook(function()
      depth = depth + 1
      if depth < 5 then m:load_state_dict(sd) end
    end)
    m:register_state_dict_pre_hook(function() depth = depth + #m[1]:state_dict() end)
    m:load_state_dict(m:state_dict())
    assert.are.equal(5, depth)
  end)

  it("may be left suspended: closing the coroutine undoes the load", function()
    local m = net()
    local before, sd = values_of(m), net():state_dict()
    m[3]:register_load_state_dict_pre_hook(function() coroutine.yield() end)
    local co = coroutine.create(function() m:load_state_dict(sd) end)
    coroutine.resume(co)
    assert.are.same(sd["0.bias"]:tolist(), m[1].bias:tolist())
    coroutine.close(co)
    assert.are.same(before, values_of(m))
  end)

  it("may drop the module that is saved or loaded", function()
    local m = net()
    local sd = m:state_dict()
    m:register_load_state_dict_pre_hook(function(self)
      for i = #self, 1, -1 do nn.delattr(self, tostring(i - 1)) end
      collectgarbage()
    end)
    assert.matches("Unexpected key%(s%)", message_of(m.load_state_dict, m, sd))
    assert.are.equal(9, #m:state_dict())
    assert.are.equal(3, #m)
    m:register_state_dict_pre_hook(function(self) nn.delattr(self, "0") end)
    assert.are.equal(7, #m:state_dict())
  end)

  it("reach any depth", function()
    local called = {}
    local m = nn.Linear(1, 1)
    m:register_state_dict_pre_hook(function() table.insert(called, "saving") end)
    m:register_load_state_dict_pre_hook(function() table.insert(called, "loading") end)
    for _ = 1, 1000 do m = nn.Sequential(m) end
    m:load_state_dict(m:state_dict())
    assert.are.same({"saving", "loading"}, called)
  end)
end)

describe("state hooks and the collector", function()
  it("are collected with their module when they hold it", function()
    local function cycle()
      local m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
      local other = m:clone()
      m[1]:register_state_dict_pre_hook(function() return m end)
      m[2]:register_state_dict_post_hook(function() assert(m) end)
      m:register_load_state_dict_pre_hook(function() collectgarbage("step") return m end)
      m:register_load_state_dict_post_hook(function() assert(m) end)
      m:load_state_dict(other:state_dict())
      pcall(m.load_state_dict, m, {x = lucerna.ones(1)})
      other:load_state_dict(m:state_dict())
    end
    for _ = 1, 5 do cycle() end
    local before = parity.live()
    for _ = 1, 50 do cycle() end
    assert.are.equal(before, parity.live())
  end)

  it("may collect everything at any time", function()
    local m = net()
    for _, name in ipairs {"register_state_dict_pre_hook", "register_state_dict_post_hook",
      "register_load_state_dict_pre_hook", "register_load_state_dict_post_hook"} do
      for child in m:modules() do child[name](child, function() collectgarbage() end) end
    end
    local other = net()
    m:load_state_dict(other:state_dict())
    assert.are.same(values_of(other), values_of(m))
    other:load_state_dict(m:state_dict())
  end)
end)
