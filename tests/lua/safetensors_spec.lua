-- safetensors from Lua: round trips, metadata, what is refused. The format's rules and hostile
-- files are tests/c/test_io.c's.
local lucerna = require "lucerna"
local safetensors = require "lucerna.safetensors"

local root = os.getenv "LUCERNA_ROOT" or "."

local function temporary()
  local path = os.tmpname()
  finally(function() os.remove(path) end)
  return path
end

local function bytes_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function keys_of(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

-- f's error must match, with the position of this file before it.
local function refused(pattern, f, ...)
  local good, message = pcall(f, ...)
  assert.is_false(good)
  assert.matches("^[^\n]*safetensors_spec.lua:%d+: " .. pattern, message)
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
    assert.same(keys_of(tensors), keys_of(loaded))
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
    local recorded = root .. "/tests/parity/data/odd.safetensors"
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
    assert.same({"path"}, keys_of(safetensors.load_file(path)))
  end)

  it("refuses what cannot be saved, at the caller's line", function()
    local path = temporary()
    local x = lucerna.ones(2)
    local function refuses(pattern, ...)
      local given = table.pack(...)
      refused(pattern, function() safetensors.save_file(table.unpack(given, 1, given.n)) end)
    end
    refuses("save_file: tensors: expected a table of named tensors %(got number%)$", 5, path)
    refuses("save_file: tensors: 'a': expected a Tensor %(got number 5%)$", {a = 5}, path)
    refuses("save_file: tensors: expected string keys %(got number%)$", {x}, path)
    refuses("save_file: path: expected a string %(got nil%)$", {a = x})
    refuses("save_file: metadata: expected a table of strings %(got number%)$", {a = x}, path, 5)
    refuses("save_file: metadata: expected string", {a = x}, path, {a = {}})
    refuses("save_file: tensors: a name contains a NUL$", {["a\0b"] = x}, path)
    refuses("safetensors: tensors 'a' and 'b' share memory; clone%(%) one of them first$",
      {a = x, b = x:view(1, 2)}, path)
    refuses("safetensors: cannot create a file beside '/no/such/x': No such file or directory$",
      {a = x}, "/no/such/x")
    x:release()
    refuses("save_file: tensors: 'a': expected a Tensor", {a = x}, path)
  end)

  it("refuses files that are none, at the caller's line", function()
    refused("safetensors: cannot open '/no/such/file': No such file or directory$",
      function() safetensors.load_file "/no/such/file" end)
    refused("safetensors: '.*/LICENSE': header too large$",
      function() safetensors.load_file(root .. "/LICENSE") end)
    refused("load_file: path: expected a string %(got nil%)$",
      function() safetensors.load_file() end)
  end)
end)
