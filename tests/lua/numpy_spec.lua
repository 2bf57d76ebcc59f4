-- NumPy's files: what NumPy wrote (tests/parity/gen_numpy.py) is read as it was, what is written is
-- NumPy's byte for byte, and what is damaged or no array is refused.
local lucerna = require "lucerna"
local parity = require "parity"
local files = require "files"
local numpy = lucerna.numpy

local function recorded(name) return parity.path("numpy_" .. name) end

local temporary, bytes_of = files.temporary, files.bytes_of

-- A .npy file of a header and data.
local function npy(header, data, version)
  version = version or 1
  local text = string.pack(version == 1 and "<s2" or "<s4", header)
  return "\x93NUMPY" .. string.char(version, 0) .. text .. (data or "")
end

local function load(bytes) return numpy.load {bytes = bytes} end

local refused = parity.refused

describe("a .npz file of NumPy's", function()
  local arrays = numpy.load(recorded "odd.npz")

  it("comes in every dtype and byte order", function()
    local kinds = {f4 = "float32", f8 = "float64", f2 = "float16", i1 = "int8", u1 = "uint8",
      i2 = "int16", i4 = "int32", i8 = "int64", b1 = "bool"}
    for code, name in pairs(kinds) do
      for _, order in ipairs {"little_", "big_"} do
        local x = arrays[order .. code]
        assert.equal(lucerna[name], x.dtype)
        local want = {{0, 1, 2}, {3, 4, 5}}
        if code == "b1" then want = {{false, true, true}, {true, true, true}} end
        assert.same(want, x:tolist())
      end
    end
  end)

  it("comes in every version, order and shape", function()
    assert.same({{0, 1, 2}, {3, 4, 5}}, arrays.version2:tolist())
    assert.same({{0, 1, 2}, {3, 4, 5}}, arrays.version3:tolist())
    assert.is_true(arrays.fortran:equal(lucerna.arange(24):reshape(2, 3, 4):float()))
    assert.same({1, 2, 6}, arrays.fortran:stride())
    assert.same({0, 1, 2}, arrays.fortran_1d:tolist())
    assert.equal(2.5, arrays.scalar:item())
    assert.same({0, 3}, arrays.empty:size())
    assert.same({0, 1, 2, 3, 4}, arrays.one:tolist())
  end)

  it("has names that are keys and never paths", function()
    local loaded = numpy.load(recorded "deflated.npz")
    assert.equal(499500, loaded.w:sum():item())
    assert.equal(4, loaded["größe/x"]:sum():item())
  end)

  it("comes from a reader and a string, under a limit", function()
    local bytes, done = bytes_of(recorded "deflated.npz"), false
    local loaded = numpy.load(function()
      local part = not done and bytes or nil
      done = true
      return part
    end)
    assert.equal(999, loaded.w[-1]:item())
    refused("load: the file needs more memory than max_bytes$", numpy.load,
      {bytes = bytes, max_bytes = 8000})
    assert.is_truthy(numpy.load(nil, 9000, bytes).w)
    refused("load: the file needs more memory than max_bytes$", numpy.load,
      recorded "plain.npy", {max_bytes = 100})
  end)
end)

describe("a .npy file", function()
  it("is what NumPy writes", function()
    local path = temporary()
    local x = lucerna.arange(6):reshape(2, 3):float()
    numpy.save(path, x)
    assert.equal(bytes_of(recorded "plain.npy"), bytes_of(path))
    numpy.save(path, x:t():contiguous():t():requires_grad_())
    assert.equal(bytes_of(recorded "plain.npy"), bytes_of(path))
    assert.is_true(x:equal(numpy.load(path)))
  end)

  it("takes every dtype but bfloat16, any shape, and a writer", function()
    for _, name in ipairs {"float32", "float64", "float16", "int8", "uint8", "int16", "int32",
      "int64", "bool"} do
      for _, shape in ipairs {{}, {0}, {1}, {2, 0}, {2, 3, 1, 2}} do
        local pieces = {}
        local x = lucerna.randn(shape):mul(3):to(lucerna[name])
        numpy.save(function(piece) pieces[#pieces + 1] = piece end, x)
        local y = load(table.concat(pieces))
        assert.equal(x.dtype, y.dtype)
        assert.same(x:size(), y:size())
        assert.is_true(x:equal(y))
      end
    end
    refused("save: NumPy has no bfloat16; convert the tensor to float32$", numpy.save, temporary(),
      lucerna.ones(2):to(lucerna.bfloat16))
    refused("save: arr must be a Tensor %(got number%)$", numpy.save, temporary(), 3)
    refused("save: cannot create a file beside '/no/such/x'", numpy.save, "/no/such/x",
      lucerna.ones(1))
  end)

  it("has a header with nothing but what it needs", function()
    local good = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }  \n"
    assert.same({1, 2}, load(npy(good, "\1\0\2\0")):tolist())
    local data = "\1\0\2\0"
    for _, header in ipairs {
      '{"shape":(2),"descr":"<i2","fortran_order":False}', "{'descr': '<i2', 'shape': (2,)}",
      good:gsub("False", "0"), good:gsub("False", "false"), good:gsub("%(2,%)", "[2]"),
      good:gsub("%(2,%)", "(2,,)"), good:gsub("%(2,%)", "(,2)"), good:gsub("%(2,%)", "(-2,)"),
      good:gsub("%(2,%)", "(99999999999999999999,)"), good:gsub("%(2,%)", "(2, 1 1)"),
      good:gsub("'shape'", "'descr'"), good:gsub("'shape'", "'shapes'"), good .. "x",
      good:gsub("'<i2'", "'<\\\\x692'"), good:gsub("'<i2'", '"<i2'), good:gsub("}", ""),
      good:gsub("'<i2'", "__import__('os')"), "", "{}", good:gsub("False, ", "False "),
      good:gsub("'<i2'", "'" .. ("x"):rep(40) .. "'"), good .. "\0",
    } do
      refused("load: bad header: ", load, npy(header, data))
    end
    for n = 0, #good - 4 do assert.is_false(pcall(load, npy(good:sub(1, n), data)), n) end
  end)

  it("declares what it holds", function()
    local header = "{'descr': '<i2', 'fortran_order': False, 'shape': (%s), }"
    refused("load: the file declares more data than it holds$", load,
      npy(header:format "3,", "\1\0\2\0"))
    refused("load: the file has more data than it declares$", load,
      npy(header:format "1,", "\1\0\2\0"))
    refused("load: the file declares more data than it holds$", load,
      npy(header:format "4611686018427387904, 4611686018427387904", "\1\0\2\0"))
    refused("is larger than any memory$", load, npy(header:format "0, 4611686018427387904"))
    refused("load: the array has more than 8 dimensions$", load,
      npy(header:format(("1,"):rep(9)), "\1\0"))
    refused("load: the file ends too early$", load, "\x93NUMPY\1\0")
    refused("load: the file ends too early$", load, "\x93NUMPY\1\0\xff\xff{")
    refused("load: its header is too long$", load, npy((" "):rep(70000), "", 2))
    refused("load: version 4 of the format is not known$", load, npy("{}", "", 4))
    refused("load: not a NumPy file$", load, "")
    refused("load: not a NumPy file$", load, "hello, world")
    refused("load: the file is a pickle, which is never executed$", load, "\x80\4\x95......")
  end)

  it("of complex numbers is read in either byte order", function()
    for order, format in pairs {["<"] = "<ffff", [">"] = ">ffff"} do
      local header = "{'descr': '%sc8', 'fortran_order': False, 'shape': (2,), }"
      local z = load(npy(header:format(order), string.pack(format, 1, 2, 3, -4)))
      assert.equal(lucerna.complex64, z.dtype)
      assert.same({{1, 2}, {3, -4}}, z:tolist())
    end
  end)

  it("of another dtype is refused by its name", function()
    local names = {["|O"] = "Python objects %(a pickle, which is never executed%)",
      ["<c32"] = "complex numbers of that size", ["<U1"] = "strings", ["|S1"] = "byte strings",
      ["<u16"] = "unsigned integers of that size", ["<M8[D]"] = "dates",
      ["<f16"] = "floats of that size", ["|V3"] = "raw or structured elements"}
    for descr, name in pairs(names) do
      refused("load: dtype '.*' is not supported: " .. name .. "$", load,
        npy(("{'descr': '%s', 'fortran_order': False, 'shape': (1,), }"):format(descr), "x"))
    end
    refused("load: structured arrays are not supported$", load,
      npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", "...."))
    refused("load: dtype '<q3' is not known$", load,
      npy("{'descr': '<q3', 'fortran_order': False, 'shape': (1,), }", "..."))
  end)

  it("is survived, cut at and changed in every byte", function()
    for _, name in ipairs {"plain.npy", "deflated.npz"} do
      local bytes = bytes_of(recorded(name))
      for n = 0, #bytes - 1, name == "plain.npy" and 1 or 7 do
        assert.is_false(pcall(load, bytes:sub(1, n)))
        local changed = string.char(bytes:byte(n + 1) ~ (1 << n % 8))
        local ok, err = pcall(load, bytes:sub(1, n) .. changed .. bytes:sub(n + 2))
        assert.is_true(ok or (type(err) == "string" and not err:find("\n", 1, true)))
      end
    end
  end)
end)

describe("savez", function()
  it("writes what load reads, stored and deflated", function()
    for _, save in ipairs {numpy.savez, numpy.savez_compressed} do
      local path = temporary()
      local tensors = {a = lucerna.arange(1000), ["b/../c"] = lucerna.ones(2, 2):t(),
        none = lucerna.zeros(0)}
      save(path, tensors)
      local loaded = numpy.load(path)
      for name, x in pairs(tensors) do assert.is_true(x:equal(loaded[name])) end
      save(path, lucerna.ones(2), lucerna.zeros(1))
      loaded = numpy.load(path)
      assert.same({1, 1}, loaded.arr_0:tolist())
      assert.same({0}, loaded.arr_1:tolist())
      save(path, lucerna.nn.Linear(2, 1):state_dict())
      assert.same({1, 2}, numpy.load(path).weight:size())
      save(path)
      assert.same({}, numpy.load(path))
    end
    assert.is_true(#bytes_of(recorded "deflated.npz") < 3000)
  end)

  it("refuses what is no array", function()
    local path = temporary()
    refused("savez: a must be a Tensor %(got number%)$", numpy.savez, path, {a = 3})
    refused("savez: arr_1 must be a Tensor", numpy.savez, path, lucerna.ones(1), "x")
    refused("savez: a name must be a string", numpy.savez, path, {lucerna.ones(1)})
    refused("savez: NumPy has no bfloat16", numpy.savez, path,
      {a = lucerna.ones(1):to(lucerna.bfloat16)})
    lucerna.save({a = 1}, path)
    refused("load: the archive holds what is no array$", numpy.load, path)
  end)
end)
