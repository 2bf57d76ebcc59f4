-- lucerna.save and lucerna.load: what PyTorch wrote (tests/parity/gen_pickle.py) comes in as it
-- was, what is saved comes back, and only what can be saved is. Hostile files are
-- checkpoint_hostile_spec.lua's.
local lucerna = require "lucerna"
local files = require "files"
local parity = require "parity"

local nn, optim, message = lucerna.nn, lucerna.optim, parity.message

local function recorded(name) return parity.path("checkpoint_" .. name .. ".pt") end

local temporary, bytes_of = files.temporary, files.bytes_of

-- Saves and loads again.
local function again(object)
  local path = temporary()
  lucerna.save(object, path)
  return lucerna.load(path)
end

local function is_tensor(want, x, dtype)
  assert.equal(dtype or "float32", tostring(x.dtype))
  assert.same(want, x:tolist())
end

local function check_tensors(o)
  is_tensor({{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}, o.base)
  is_tensor({{0, 4, 8}, {1, 5, 9}, {2, 6, 10}, {3, 7, 11}}, o.transposed)
  assert.same({1, 4}, o.transposed:stride())
  is_tensor({4, 5, 6, 7}, o.row)
  is_tensor({{0, 2}, {4, 6}, {8, 10}}, o.strided)
  is_tensor({{7, 7, 7}, {8, 8, 8}}, o.expanded)
  assert.same({1, 0}, o.expanded:stride())
  is_tensor(2.5, o.scalar)
  assert.same({0, 3}, o.empty:size())
  for name, x in pairs(o.dtypes) do
    local bool, float = name == "bool", lucerna[name].is_floating_point
    is_tensor(bool and {true, false, true} or float and {1.0, 0.0, 2.0} or {1, 0, 2}, x, name)
  end
  assert.is_truthy(o.dtypes.bfloat16 and o.dtypes.int8 and o.dtypes.float16)
  is_tensor({{0, 1}, {4, 5}}, o.parameter)
  for name, grad in pairs {parameter = true, frozen = false, grad = true, base = false} do
    assert.equal(grad, o[name].requires_grad, name)
    assert.is_true(o[name].is_leaf, name)
    local parameter = name == "parameter" or name == "frozen"
    assert.equal(parameter, tostring(o[name]):find("^Parameter containing") ~= nil, name)
  end
  o.base:fill_(1) -- its views share its memory
  for _, name in ipairs {"transposed", "row", "strided", "parameter"} do
    assert.equal(o[name]:numel(), o[name]:sum():item(), name)
  end
end

local function check_values(o)
  assert.is_nil(o.none)
  assert.is_true(o["true"])
  assert.is_false(o["false"])
  assert.equal(0.1, o.float)
  assert.equal(math.huge, o.inf)
  assert.same({0, 255, 256, 65535, 65536, -1, -129, 1 << 31, -(1 << 31), 1 << 62, math.mininteger},
    o.integers)
  assert.equal("integer", math.type(o.integers[1]))
  assert.same({{}, {1}, {1, 2}, {1, 2, 3}, {1, 2, 3, 4}}, o.tuples)
  assert.equal("größe 大", o.text)
  assert.equal(("x"):rep(300), o.long)
  assert.equal("\0\xff\x80a", o.bytes)
  assert.equal("ab", o.array)
  assert.same({2, 3}, o.size)
  assert.equal(lucerna.float16, o.dtype)
  assert.equal("cuda:1", o.device)
  assert.same({7}, o.set)
  assert.same({8}, o.frozenset)
  assert.same({[30] = 2}, o.counter)
  assert.same({a = {1}}, o.default)
  local keys = {}
  for key in pairs(o.ordered) do keys[#keys + 1] = key end
  assert.same({"z", "a", "m"}, keys)
  assert.same({1, "two"}, o.shared[1])
  assert.equal(o.shared[1], o.shared[2])
  assert.same({[0] = "zero", [1] = "one", [-3] = "minus", [2.5] = "half"}, o.numbers)
end

describe("a file of torch.save", function()
  for _, name in ipairs {"protocol2", "protocol4", "protocol5", "legacy", "deflated", "zip64"} do
    it("loads: " .. name, function()
      local o = lucerna.load(recorded(name))
      check_tensors(o)
      check_values(o)
    end)

    it("is the same once saved and loaded: " .. name, function()
      local o = again(lucerna.load(recorded(name)))
      check_tensors(o)
      check_values(o)
    end)
  end

  it("of the other byte order loads", function()
    is_tensor({1.5}, lucerna.load(recorded "big").x)
  end)

  it("loads from its bytes, a function and an open file", function()
    for _, name in ipairs {"protocol2", "legacy"} do
      local bytes, at = bytes_of(recorded(name)), 1
      check_tensors(lucerna.load(bytes))
      check_tensors(lucerna.load(function()
        at = at + 100
        return bytes:sub(at - 100, at - 1)
      end))
      local file <close> = assert(io.open(recorded(name), "rb"))
      check_tensors(lucerna.load(file))
    end
  end)

  it("goes into a model and an optimizer, which go on as PyTorch's", function()
    local saved = lucerna.load(recorded "training")
    assert.equal(2, saved.epoch)
    local model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    model:load_state_dict(saved.model)
    assert.equal(2, saved.model._metadata["1"].version)
    local adam = optim.Adam(model:parameters(), {lr = 0.5})
    adam:load_state_dict(saved.optimizer)
    assert.equal(0.01, adam.param_groups[1].lr)
    assert.equal(2, adam:state_dict().state[0].step:item())
    assert.is_true(lucerna.equal(saved.optimizer.state[3].exp_avg_sq,
      adam:state_dict().state[3].exp_avg_sq))
    optim.SGD(model:parameters(), {lr = 1}):load_state_dict(saved.sgd)
  end)

  it("gives only what is asked for", function()
    local o = lucerna.load(recorded "training", {only = {"model", "epoch"}})
    assert.equal(7, #o.model)
    assert.equal(2, o.epoch)
    assert.is_nil(o.optimizer)
    assert.matches("load: only: the file has no 'modell'",
      message(lucerna.load, recorded "training", {only = {"modell"}}))
    local path = temporary()
    lucerna.save({1, 2}, path)
    assert.matches("only: the file holds a list", message(lucerna.load, path, {only = {"a"}}))
  end)

  it("reads no data that is not asked for", function()
    local bytes = bytes_of(recorded "training")
    local at = assert(bytes:find("training/data/13", 1, true)) -- of the optimizer
    local broken = bytes:sub(1, at + 100) .. "\xff\xff\xff\xff" .. bytes:sub(at + 105)
    lucerna.load(broken, {only = {"model"}})
  end)

  it("keeps within max_bytes", function()
    local path = temporary()
    lucerna.save({a = lucerna.zeros(1000), b = lucerna.zeros(1000)}, path)
    lucerna.load(path, {max_bytes = 30000})
    assert.matches("max_bytes = 5000", message(lucerna.load, path, {max_bytes = 5000}))
    lucerna.load(path, {max_bytes = 12000, only = {"a"}})
    assert.matches("more than max_bytes",
      message(lucerna.load, io.open(path, "rb"), {max_bytes = 5000}))
    for _, wrong in ipairs {0, -1, 1.5, "2"} do
      assert.matches("max_bytes must be", message(lucerna.load, path, {max_bytes = wrong}))
    end
  end)

  it("takes weights_only, which changes nothing", function()
    check_tensors(lucerna.load(recorded "protocol2", {weights_only = false}))
    assert.matches("load: weights_only must be a boolean %(got number%)",
      message(lucerna.load, recorded "protocol2", {weights_only = 1}))
  end)

  it("takes mmap with a path, which changes nothing", function()
    check_tensors(lucerna.load(recorded "protocol2", {mmap = true}))
    assert.matches("load: mmap must be a boolean %(got number%)",
      message(lucerna.load, recorded "protocol2", {mmap = 1}))
    assert.matches("load: f must be a path to use the mmap argument",
      message(lucerna.load, {bytes = "PK", mmap = true}))
  end)

  it("takes PyTorch's map_location, of which there is the CPU", function()
    local function stay(storage) return storage end
    for _, location in ipairs {"cpu", {["cuda:0"] = "cpu"}, stay} do
      check_tensors(lucerna.load(recorded "protocol2", {map_location = location}))
    end
    assert.matches("map_location must be 'cpu' in this build %(got 'cuda:0'%)",
      message(lucerna.load, recorded "protocol2", {map_location = "cuda:0"}))
  end)
end)

describe("save", function()
  it("keeps tables as they are", function()
    local o = again {
      list = {1, 2.5, "three", true, {4}}, deep = {a = {b = {c = {}}}}, [0] = "zero", [7] = 1,
      text = "a\0b", raw = "\xff\0\xfe", minus = -0.0, nan = 0 / 0, none = lucerna.none,
    }
    assert.same({1, 2.5, "three", true, {4}}, o.list)
    assert.same({a = {b = {c = {}}}}, o.deep)
    assert.equal("zero", o[0])
    assert.equal(1, o[7])
    assert.equal("a\0b", o.text)
    assert.equal("\xff\0\xfe", o.raw)
    assert.equal(-math.huge, 1 / o.minus)
    assert.is_true(o.nan ~= o.nan)
    assert.is_nil(o.none)
  end)

  it("takes any value by itself", function()
    for _, value in ipairs {5, 0.5, "text", true, {1, 2}, {a = 1}} do
      assert.same(value, again(value))
    end
    assert.is_nil(again(lucerna.none))
    is_tensor({1, 2}, again(lucerna.tensor {1.0, 2.0}))
    assert.equal(lucerna.int8, again(lucerna.int8))
  end)

  it("keeps what is shared, and cycles", function()
    local x, inner = lucerna.zeros(3), {1}
    local object = {x = x, same = x, view = x:narrow(1, 2, 2), a = inner, b = inner}
    object.self = object
    local o = again(object)
    assert.equal(o, o.self)
    assert.equal(o.a, o.b)
    assert.equal(o.x, o.same)
    o.x:fill_(2)
    is_tensor({2, 2}, o.view)
  end)

  it("keeps tables that are nested deeply", function()
    local object = {}
    for _ = 1, 20000 do object = {object} end
    local o, depth = again(object), 0
    while o[1] do
      o, depth = o[1], depth + 1
    end
    assert.equal(20000, depth)
  end)

  it("keeps state dicts with their order and metadata", function()
    local net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    local state = net:state_dict()
    local o = again(state)
    local names = {}
    for name in pairs(state) do names[#names + 1] = name end
    for name, x in pairs(o) do
      assert.equal(table.remove(names, 1), name)
      assert.is_true(lucerna.equal(state[name], x))
    end
    assert.equal(0, #names)
    assert.equal(2, o._metadata["1"].version)
    nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)):load_state_dict(o)
  end)

  it("keeps an optimizer's state a dict, whatever its ids are", function()
    local p, q = nn.Parameter(lucerna.ones(2)), nn.Parameter(lucerna.ones(2))
    local adam = optim.Adam({p, q})
    local path = temporary()
    lucerna.save(adam:state_dict(), path) -- no state yet
    assert.matches("X\5%z%z%zstate}", bytes_of(path))
    q.grad = lucerna.ones(2)
    adam:step()
    lucerna.save(adam:state_dict(), path) -- of the parameter with id 1 alone
    assert.matches("X\5%z%z%zstate}", bytes_of(path))
    local other = optim.Adam({nn.Parameter(lucerna.ones(2)), nn.Parameter(lucerna.ones(2))})
    other:load_state_dict(lucerna.load(path))
    assert.equal(1, other:state_dict().state[1].step:item())
  end)

  it("writes the same bytes for the same object", function()
    local a, b, object = temporary(), temporary(), {z = 1, a = {1, 2}, m = lucerna.ones(3), [3] = 4}
    lucerna.save(object, a)
    lucerna.save(object, b)
    local folder = a:match("[^/]+$"):gsub("%p", "%%%0")
    assert.equal((bytes_of(a):gsub(folder, b:match "[^/]+$")), bytes_of(b))
  end)

  it("refuses what is no data, and leaves the old file", function()
    local path = temporary()
    lucerna.save({1}, path)
    local before = bytes_of(path)
    local net = nn.Linear(1, 1)
    for pattern, value in pairs {
      ["cannot save a whole module %(Linear%): save its state_dict%(%)"] = {m = net},
      ["cannot save a SGD, an object; save its state_dict%(%) %(at %[1%]%)"] =
        {optim.SGD(net:parameters())},
      ["cannot save a function %(at f%)"] = {f = print},
      ["cannot save a function %(at a%.b%[2%]%.f%)"] = {a = {b = {1, {f = print}}}},
      ["cannot save a function$"] = print,
      ["cannot save a thread"] = {coroutine.create(print)},
      ["a table's key is a boolean"] = {[true] = 1},
      ["a table's key is a table"] = {[{}] = 1},
    } do
      assert.matches(pattern, message(lucerna.save, value, path))
      assert.equal(before, bytes_of(path))
    end
    assert.matches("save: path must be a path or a writer %(got nil%)", message(lucerna.save, {}))
    assert.matches("save: path: it contains a NUL", message(lucerna.save, {}, "a\0b"))
    assert.matches("save: cannot .*nowhere", message(lucerna.save, {}, "/nowhere/x.pt"))
    assert.matches("uninitialized",
      message(lucerna.save, {nn.LazyLinear(1).weight}, path))
  end)
end)

describe("load", function()
  it("has no other arguments", function()
    assert.matches("save: unknown argument 'pickle_protocol'",
      message(lucerna.save, {1}, files.temporary(), {pickle_protocol = 4}))
    assert.matches("save: takes at most 2 arguments %(got 3%)",
      message(lucerna.save, {1}, files.temporary(), 4))
  end)

  it("says what is wrong with a path", function()
    assert.matches("load: cannot open '/nowhere/x': No such file",
      message(lucerna.load, "/nowhere/x"))
    assert.matches("load: '/tmp' is not a file", message(lucerna.load, "/tmp"))
    assert.matches("load: path must be a path or a reader", message(lucerna.load))
    assert.matches("load: path: it contains a NUL", message(lucerna.load, "a\0b"))
    assert.matches("unknown argument 'onyl'", message(lucerna.load, "x", {onyl = {}}))
    assert.matches("load: the reader gave a number, not a string",
      message(lucerna.load, function() return 5 end))
    assert.matches("my reader", message(lucerna.load, function() error "my reader" end))
  end)

  it("leaves no file open when it fails, without waiting for the collector", function()
    local stat = io.open "/proc/self/stat"
    if not stat then return pending "files are counted in Linux's /proc" end
    local process = stat:read "n"
    stat:close()
    local path = files.with "no checkpoint"
    collectgarbage "stop"
    for _ = 1, 3 do assert.matches("not a file that torch.save", message(lucerna.load, path)) end
    lucerna.save({1, [7] = 2}, path)
    for _ = 1, 3 do message(lucerna.load, path, {only = {"x"}}) end
    local pipe = io.popen(("ls -l /proc/%d/fd | grep -c %s"):format(process, path))
    local count = pipe:read "n"
    pipe:close()
    collectgarbage "restart"
    assert.equal(0, count)
  end)

  it("advises about whole modules", function()
    assert.matches("whole module %(torch.nn.modules.linear.Linear%).*save model.state_dict%(%)",
      message(lucerna.load, recorded "module"))
  end)

  it("executes nothing", function()
    for _, name in ipairs {"evil", "evil_legacy"} do
      assert.matches("checkpoint_" .. name .. ".pt': the file needs posix.system, which is no data",
        message(lucerna.load, recorded(name)))
    end
    assert.is_nil(io.open "/tmp/lucerna-was-executed")
    assert.matches("a plain pickle", message(lucerna.load, recorded "pickle"))
  end)
end)
