-- safetensors from Lua: round trips, metadata, what is refused. The format's rules and hostile
-- files are tests/c/test_io.c's.
local lucerna = require "lucerna"
local files = require "files"
local parity = require "parity"
local safetensors = require "lucerna.safetensors"

local root = os.getenv "LUCERNA_ROOT" or "."

local temporary, bytes_of = files.temporary, files.bytes_of

-- f's error must match, with the position of this file before it.
local function refused(pattern, f, ...)
  parity.refused("^[^\n]*safetensors_spec.lua:%d+: " .. pattern, f, ...)
end

describe("safetensors", function()
  it("reads back what was saved, in every dtype", function()
    local path, tensors = temporary(), {}
    for _, name in ipairs {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16",
      "int32", "int64", "bool"} do
      tensors[name] = lucerna.arange(6):reshape(2, 3):to(lucerna[name])
    end
    safetensors.save_file(tensors, path)
    local loaded, metadata = safetensors.load_file(path)
    assert.same(parity.sorted_names(tensors), parity.sorted_names(loaded))
    assert.same({}, metadata)
    for name, x in pairs(tensors) do
      assert.equal(x.dtype, loaded[name].dtype)
      assert.same(x:tolist(), loaded[name]:tolist())
    end
  end)

  it("keeps shapes, views and metadata", function()
    local path = temporary()
    local x = lucerna.arange(6):reshape(2, 3)
    safetensors.save_file({t = x:t(), ["0-d"] = lucerna.tensor(2.5), empty = lucerna.ones(0, 3)},
      path, {format = "pt", note = "größe"})
    local loaded, metadata = safetensors.load_file(path)
    assert.same({{0, 3}, {1, 4}, {2, 5}}, loaded.t:tolist())
    assert.equal(2.5, loaded["0-d"]:item())
    assert.same({0, 3}, loaded.empty:size())
    assert.same({format = "pt", note = "größe"}, metadata)
  end)

  it("reads and writes what the reference library does", function()
    local path = temporary()
    local recorded = parity.path "odd.safetensors"
    local loaded, metadata = safetensors.load_file(recorded)
    assert.same({3, 4}, loaded["größe 大"]:tolist())
    assert.equal(2, loaded["line\n tab\t bell\a del\127 /"]:item())
    safetensors.save_file(loaded, path, metadata)
    assert.equal(bytes_of(recorded), bytes_of(path))
  end)

  it("loads ordinary tensors", function()
    local path = temporary()
    safetensors.save_file({w = lucerna.ones(2):requires_grad_()}, path)
    local w = safetensors.load_file(path).w
    assert.is_false(w.requires_grad)
    assert.is_true(w.is_leaf)
    w:add_(1)
    assert.same({2, 2}, w:tolist())
  end)

  it("takes a table in the place of names", function()
    local path = temporary()
    safetensors.save_file({path = lucerna.ones(1)}, path)
    assert.same({"path"}, parity.sorted_names(safetensors.load_file(path)))
  end)

  it("refuses what cannot be saved, at the caller's line", function()
    local path = temporary()
    local x = lucerna.ones(2)
    local function refuses(pattern, ...)
      local given = table.pack(...)
      refused(pattern, function() safetensors.save_file(table.unpack(given, 1, given.n)) end)
    end
    refuses("save_file: tensors must be a table of named tensors %(got number%)$", 5, path)
    refuses("save_file: tensors: 'a' must be a Tensor %(got number 5%)$", {a = 5}, path)
    refuses("save_file: tensors: expected string keys %(got number%)$", {x}, path)
    refuses("save_file: filename must be a path or a writer %(got nil%)$", {a = x})
    refuses("save_file: metadata must be a table of strings %(got number%)$", {a = x}, path, 5)
    refuses("save_file: metadata: expected string values %(got table%)$", {a = x}, path, {a = {}})
    refuses("save_file: tensors: a name contains a NUL$", {["a\0b"] = x}, path)
    refuses("safetensors: tensors 'a' and 'b' share memory; clone%(%) one of them first$",
      {a = x, b = x:view(1, 2)}, path)
    refuses("safetensors: cannot create a file beside '/no/such/x': No such file or directory$",
      {a = x}, "/no/such/x")
    x:release()
    refuses("save_file: tensors: 'a' must be a Tensor", {a = x}, path)
  end)

  it("refuses files that are none, at the caller's line", function()
    refused("safetensors: cannot open '/no/such/file': No such file or directory$",
      function() safetensors.load_file "/no/such/file" end)
    refused("safetensors: '.*/LICENSE': header too large$",
      function() safetensors.load_file(root .. "/LICENSE") end)
    refused("load_file: filename must be a path or a reader %(got nil%)$",
      function() safetensors.load_file() end)
  end)
end)

describe("an open file", function()
  local function saved()
    local path = temporary()
    safetensors.save_file({
      a = lucerna.arange(24):reshape(2, 3, 4):float(), b = lucerna.arange(5),
      big = lucerna.arange(40000):reshape(200, 200), flags = lucerna.tensor {true, false},
      one = lucerna.tensor(7), none = lucerna.ones(0, 3),
    }, path, {format = "pt"})
    return path
  end

  for _, mmap in ipairs {false, true} do
    it("gives names, metadata and single tensors" .. (mmap and ", mapped" or ""), function()
      local f <close> = safetensors.safe_open(saved(), {framework = "lua", mmap = mmap})
      assert.same({"a", "b", "big", "flags", "none", "one"}, f:keys())
      assert.equal(6, #f:offset_keys())
      assert.same({format = "pt"}, f:metadata())
      assert.same({0, 1, 2, 3, 4}, f:get_tensor("b"):tolist())
      assert.equal(7, f:get_tensor("one"):item())
      assert.same({true, false}, f:get_tensor("flags"):tolist())
      assert.equal(39999, f:get_tensor("big")[-1][-1]:item())
      assert.matches("^safe_open%(6 tensors%)$", tostring(f))
    end)

    it("gives parts of tensors as indexing does" .. (mmap and ", mapped" or ""), function()
      local path = saved()
      local f <close> = safetensors.safe_open(path, "pt", "cpu", mmap)
      local whole = safetensors.load_file(path)
      local keys = {1, -1, {{1, 2}}, {{}, 2}, {{}, {1, 3, 2}, {2, 4}}, {2, 1, 4},
        {-1, {}, {1, 4, 3}}, {{}}, {{1, 1}, {2, 3}}}
      for _, key in ipairs(keys) do
        local part = f:get_slice("a")[key]
        assert.same(whole.a[key]:tolist(), part:tolist())
        assert.same(whole.a[key]:size(), part:size())
      end
      local big = f:get_slice "big"
      for _, key in ipairs {{{}, 7}, {{}, {1, 200, 9}}, {{3, 150, 7}, {100, 180}}, {{10, 20}}} do
        assert.is_true(whole.big[key]:equal(big[key]))
      end
      assert.same({200, 200}, big:get_shape())
      assert.equal(lucerna.int64, big:get_dtype())
      assert.equal(200, #big)
      assert.same({0, 3}, f:get_slice("none")[{{}, {}}]:size())
    end)
  end

  it("says what is wrong", function()
    local f = safetensors.safe_open(saved())
    refused("safe_open: the file has no tensor 'x'$", function() f:get_tensor "x" end)
    refused(".*index 3 is out of range %[1, 2%]", function() return f:get_slice("a")[3] end)
    refused("get_slice: index must be positions and ranges %(got Tensor",
      function() return f:get_slice("a")[lucerna.tensor {true, false}] end)
    refused("get_slice: index must be positions and ranges",
      function() return f:get_slice("a")[{{}, lucerna.tensor {1}}] end)
    refused("safe_open: device must be 'cpu' in this build %(got 'cuda'%)$",
      function() safetensors.safe_open(saved(), {device = "cuda"}) end)
    f:close()
    f:close()
    refused("safetensors: the file is closed$", function() f:get_tensor "a" end)
    refused("safetensors: the file is closed$", function() return f:get_slice("a")[1] end)
  end)
end)

describe("a file that is shortened while it is open", function()
  it("is an error where its bytes are missing", function()
    local path = temporary()
    safetensors.save_file({a = lucerna.ones(10), z = lucerna.ones(3000000)}, path)
    local f = safetensors.safe_open(path, {mmap = false})
    files.write(path, "")
    for _, name in ipairs {"a", "z"} do
      refused("safetensors: the file ends too early$", function() f:get_tensor(name) end)
      refused("safetensors: the file ends too early$", function() return f:get_slice(name)[1] end)
    end
  end)
end)

describe("a mapped file", function()
  it("is copied where it is written to, and stays while its tensors do", function()
    local path = temporary()
    safetensors.save_file({w = lucerna.arange(100000), small = lucerna.ones(2)}, path)
    local before = bytes_of(path)
    local w = safetensors.load_file(path).w
    collectgarbage()
    w:add_(1)
    os.remove(path)
    assert.equal(100000, w[-1]:item())
    assert.equal(50000 * 100001, w:sum():item())
    w:release()
    assert.equal(#before, 100000 * 8 + 8 + tonumber((string.unpack("<I8", before))) + 8)
  end)

  it("need not have aligned data", function()
    local header =
      '{"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},' ..
      '"x":{"dtype":"F32","shape":[40000],"data_offsets":[3,160003]}}'
    local path = files.with(string.pack("<s8", header) .. "abc" ..
      string.rep(string.pack("<f", 2), 40000))
    assert.equal(80000, safetensors.load_file(path, {mmap = true}).x:sum():item())
  end)
end)

describe("safetensors without files", function()
  it("goes to a string and comes from one", function()
    local path, tensors = temporary(), {w = lucerna.arange(3), v = lucerna.ones(2, 2)}
    safetensors.save_file(tensors, path, {k = "v"})
    local bytes = safetensors.save(tensors, {k = "v"})
    assert.equal(bytes_of(path), bytes)
    local loaded, metadata = safetensors.load(bytes)
    assert.same({0, 1, 2}, loaded.w:tolist())
    assert.same({k = "v"}, metadata)
    local f = safetensors.safe_open {bytes = bytes}
    collectgarbage()
    assert.same({1, 1}, f:get_slice("v")[{{}, 2}]:tolist())
  end)

  it("goes to a writer and comes from a reader", function()
    local pieces = {}
    local x = lucerna.arange(400000)
    safetensors.save_file({x = x}, function(piece)
      pieces[#pieces + 1] = piece
      if x then x:release() end -- as any host's function might
      x = nil
      collectgarbage()
    end)
    assert.is_true(#pieces >= 3)
    local k = 0
    local loaded = safetensors.load_file(function()
      k = k + 1
      return pieces[k]
    end)
    assert.equal(399999, loaded.x[-1]:item())
    local file = {parts = {}}
    function file:write(piece) self.parts[#self.parts + 1] = piece return self end
    safetensors.save_file({b = lucerna.ones(1)}, file)
    assert.same({1}, safetensors.load(table.concat(file.parts)).b:tolist())
  end)

  it("passes a writer's failure on", function()
    local w = {w = lucerna.ones(1)}
    refused("out of ink$", function()
      safetensors.save_file(w, function() error("safetensors_spec.lua:1: out of ink", 0) end)
    end)
    refused("save_file: the writer failed: disk full$",
      function() safetensors.save_file(w, function() return nil, "disk full" end) end)
    local given = {}
    local _, err = pcall(safetensors.save_file, w, function() error(given) end)
    assert.equal(given, err)
    refused("load: data must be a string", function() safetensors.load() end)
    refused("load_file: the reader gave a number", function()
      safetensors.load_file(function() return 5 end)
    end)
  end)
end)

describe("a model's file", function()
  local nn = lucerna.nn
  local function tied()
    local m = nn.Module()
    m.a, m.b = nn.Linear(3, 3), nn.Linear(3, 3)
    m.b.weight = m.a.weight
    return m
  end

  it("holds tied weights once", function()
    local path, m, other = temporary(), tied(), tied()
    safetensors.save_model(m, path)
    local tensors, metadata = safetensors.load_file(path)
    assert.same({"a.bias", "a.weight", "b.bias"}, parity.sorted_names(tensors))
    assert.same({["b.weight"] = "a.weight"}, metadata)
    local missing, unexpected = safetensors.load_model(other, path)
    assert.same({{}, {}}, {missing, unexpected})
    assert.is_true(other.b.weight:equal(m.a.weight))
    assert.is_true(other.b.bias:equal(m.b.bias))
  end)

  it("is refused if it does not fit, and nothing has changed", function()
    local path, m = temporary(), tied()
    safetensors.save_model(m, path)
    local l = nn.Linear(3, 3)
    local before = l.weight:clone()
    assert.is_false(pcall(safetensors.load_model, l, path))
    assert.is_true(before:equal(l.weight))
    local missing, unexpected = safetensors.load_model(l, path, {strict = false})
    assert.equal(2, #missing)
    assert.equal(3, #unexpected)
    for _, name in ipairs {"load_model", "save_model"} do
      refused(name .. ": model must be an nn.Module", function() safetensors[name]({}, path) end)
    end
  end)
end)

describe("a model in several files", function()
  local folder
  before_each(function() folder = files.folder() end)

  local function write(name, text) return files.write(folder .. "/" .. name, text) end

  local tensors = {a = lucerna.arange(10), b = lucerna.arange(3), ['c"\n'] = lucerna.ones(9)}

  it("is saved and loaded by its index", function()
    local path = safetensors.save_sharded(tensors, folder, {max_shard_size = 100})
    assert.equal(folder .. "/model.safetensors.index.json", path)
    local loaded = safetensors.load_file(path)
    assert.same(parity.sorted_names(tensors), parity.sorted_names(loaded))
    for name, x in pairs(tensors) do assert.is_true(x:equal(loaded[name])) end
    assert.matches('"total_size": 140', bytes_of(path))
    local second = safetensors.load_file(folder .. "/model-00002-of-00002.safetensors")
    assert.same({"b", 'c"\n'}, parity.sorted_names(second))
    assert.same({0, 1, 2}, safetensors.load_file(path, {mmap = true}).b:tolist())
    assert.equal(path, safetensors.save_sharded(tensors, folder, "0.1kB"))
    for _, size in ipairs {"5 GB", "x", 0, -1, "GB", "1TB", true, {}} do
      refused("save_sharded: max_shard_size must be a number of bytes or a text as '5GB'",
        function() safetensors.save_sharded(tensors, folder, {max_shard_size = size}) end)
    end
    path = safetensors.save_sharded(tensors, folder, {max_shard_size = "1MiB"})
    assert.equal(folder .. "/model.safetensors", path)
    assert.same(parity.sorted_names(tensors), parity.sorted_names(safetensors.load_file(path)))
  end)

  it("names only files beside it", function()
    for _, name in ipairs {"../x.safetensors", "/etc/passwd", "a/b", "", ".hidden", "..", "a\\\\b",
      "c:x", "a\\u0001"} do
      local path = write("m.index.json", ('{"weight_map":{"w":"%s"}}'):format(name))
      refused("safetensors index: '.*': '.*' is no plain name of a file %(of tensor 'w'%)$",
        function() safetensors.load_file(path) end)
    end
  end)

  it("is refused if it is damaged", function()
    safetensors.save_file({w = lucerna.ones(1)}, folder .. "/x")
    local nested = ("["):rep(63) .. ("]"):rep(63)
    local good = '{"metadata": {"a": [1, -2.5e3, null, true, {"b": "c", "d": {}}, []], "n": '
      .. nested .. '} , "weight_map": {"w": "x"} }\n'
    for text, message in pairs {
      [good:gsub("%[%[", "[[[", 1)] = "expected less nesting",
      ['{}'] = "expected a string", ['{"a": 1}'] = "expected a weight_map",
      ['{"weight_map": {"w": "x", "w": "x"}}'] = "tensor 'w' appears twice",
      ['{"weight_map": {}, "weight_map": {}}'] = "weight_map only once",
      ['{"weight_map": {"v": "x"}}'] = "says that 'x' holds 'v', which it does not",
      ['{"weight_map": {"w": "y"}}'] = "cannot open '.*/y'",
      ['{"weight_map": {"w": 3}}'] = "expected a string", ['[]'] = "expected '{'",
      [good .. "x"] = "expected the end", [""] = "expected '{'",
      ['{"a": [1, 2'] = "expected ','", ['{"a": nil, "weight_map": {}}'] = "expected a value",
    } do
      local ok, err = pcall(safetensors.load_file, write("m.index.json", text))
      assert.is_false(ok, text)
      assert.matches(message, err)
      assert.is_nil(err:find("\n", 1, true))
    end
    assert.same({1}, safetensors.load_file(write("m.index.json", good)).w:tolist())
    for n = 0, #good - 2 do
      assert.is_false(pcall(safetensors.load_file, write("m.index.json", good:sub(1, n))), n)
    end
  end)
end)
