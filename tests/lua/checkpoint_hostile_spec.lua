-- Checkpoints that are damaged or made to hurt: whatever the bytes, lucerna.load gives a value or
-- an error of one line, within the memory that the file's size explains.
local lucerna = require "lucerna"
local files = require "files"
local parity = require "parity"

local message = parity.message
local short = os.getenv "LUCERNA_TEST_SHORT"

local function recorded(name)
  return files.bytes_of(parity.path("checkpoint_" .. name .. ".pt"))
end

-- A value, or an error of one line that is not Lua's own.
local function survives(bytes)
  local ok, err = pcall(lucerna.load, function()
    local part = bytes
    bytes = nil
    return part
  end)
  if ok then return end
  assert.equal("string", type(err))
  assert.is_nil(err:find("\n", 1, true), err)
  assert.matches("load: ", err)
end

-- ---- archives made by hand ----

local CRC = {}
for i = 0, 255 do
  local c = i
  for _ = 1, 8 do c = c & 1 == 1 and (c >> 1) ~ 0xedb88320 or c >> 1 end
  CRC[i] = c
end

local function crc32(s)
  local c = 0xffffffff
  for i = 1, #s do c = (c >> 8) ~ CRC[(c ~ s:byte(i)) & 255] end
  return c ~ 0xffffffff
end

-- entries: {name, data, packed=, method=, size=, crc=, offset=, flags=}, in order.
local function zip(entries)
  local parts, directory, at = {}, {}, 0
  for _, e in ipairs(entries) do
    local name, data = e[1], e.packed or e[2]
    local fields = string.pack("<I2I2I2I4I4I4I4I2I2", 20, e.flags or 0, e.method or 0, 0,
      e.crc or crc32(e[2]), e.claim or #data, e.size or #e[2], #name, 0)
    if not e.no_data then parts[#parts + 1] = "PK\3\4" .. fields .. name .. data end
    directory[#directory + 1] = "PK\1\2\20\0" .. fields ..
      string.pack("<I2I2I2I4I4", 0, 0, 0, 0, e.offset or at) .. name
    at = at + #(e.no_data and "" or parts[#parts])
  end
  local central = table.concat(directory)
  return table.concat(parts) .. central .. "PK\5\6\0\0\0\0" ..
    string.pack("<I2I2I4I4I2", #entries, #entries, #central, entries.at or at, 0)
end

-- A checkpoint of this pickle and these storages.
local function archive(pickle, ...)
  local entries = {{"a/data.pkl", pickle}}
  for i, data in ipairs {...} do entries[i + 1] = {"a/data/" .. i - 1, data} end
  entries[#entries + 1] = {"a/version", "3\n"}
  return zip(entries)
end

local function text(s) return "X" .. string.pack("<s4", s) end

-- _rebuild_tensor_v2 of a storage of `count` floats; the rest are pickled.
local function tensor(count, offset, size, stride, type)
  return "ctorch._utils\n_rebuild_tensor_v2\n((" .. text "storage" .. "ctorch\n" ..
    (type or "FloatStorage") .. "\n" .. text "0" .. text "cpu" .. count .. "tQ" .. offset .. size ..
    stride .. "\x89ccollections\nOrderedDict\n)RtR"
end

local function int(n) return "\x8a\8" .. string.pack("<i8", n) end
local floats = string.pack("<ffff", 1, 2, 3, 4)

describe("a pickle of a newer PyTorch", function()
  local untyped = "(" .. text "storage" .. "ctorch.storage\nUntypedStorage\n" .. text "0" ..
    text "cuda:0" .. "K\16tQ"
  local hooks = "ccollections\nOrderedDict\n)R"

  it("loads: tensors over untyped storages", function()
    local x = lucerna.load(archive("\x80\2ctorch._utils\n_rebuild_tensor_v3\n(" .. untyped ..
      "K\1K\3\x85K\1\x85\x88" .. hooks .. "ctorch\nfloat32\ntR.", floats))
    assert.same({2, 3, 4}, x:tolist())
    assert.is_true(x.requires_grad)
    assert.matches("beyond its storage", message(lucerna.load,
      archive("\x80\2ctorch._utils\n_rebuild_tensor_v3\n(" .. untyped ..
        "K\1K\3\x85K\1\x85\x88" .. hooks .. "ctorch\nfloat64\ntR.", floats)))
  end)

  it("loads: tensors and parameters with attributes, which are left out", function()
    local typed = untyped:gsub("ctorch.storage\nUntyped", "ctorch\nFloat"):gsub("K\16", "K\4")
    local inner = "(" .. typed .. "K\0K\4\x85K\1\x85\x89" .. hooks .. "t"
    local x = lucerna.load(archive("\x80\2ctorch._tensor\n_rebuild_from_type_v2\n(" ..
      "ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\n" .. inner .. "}" .. text "note" ..
      "K\1stR.", floats))
    assert.same({1, 2, 3, 4}, x:tolist())
    local p = lucerna.load(archive("\x80\2ctorch._utils\n_rebuild_parameter_with_state\n(" ..
      "ctorch._utils\n_rebuild_tensor_v2\n" .. inner .. "R\x88" .. hooks .. "}tR.", floats))
    assert.matches("^Parameter containing", tostring(p))
    assert.is_true(p.requires_grad)
  end)
end)

describe("numbers as keys", function()
  -- A dictionary of n integers, `step` apart.
  local function dictionary(n, step)
    local parts = {"\x80\2}("}
    for k = 1, n do parts[k + 1] = string.pack("<c2i8c1", "\x8a\8", k * step, "N") end
    parts[n + 2] = "u."
    return archive(table.concat(parts), floats)
  end

  it("may be many, as ids are", function()
    assert.same({}, lucerna.load(dictionary(100000, 1)))
    assert.same({}, lucerna.load(dictionary(1000, 131071)))
  end)

  it("cannot be chosen to meet in one place of Lua's table", function()
    local ok, err = pcall(lucerna.load, dictionary(100000, 131071))
    assert.is_false(ok)
    assert.matches("load: dictionaries with more than 32768 numbers far apart as keys$", err)
  end)
end)

describe("a slice of nothing", function()
  it("loads, though it begins behind its storage", function()
    local nothing = tensor("K\4", "K\7", "K\0K\2\x86", "K\2K\1\x86")
    local x = lucerna.load(archive("\x80\2" .. nothing .. ".", floats))
    assert.same({0, 2}, x.shape)
    assert.equal(0, x:sum():item())
  end)
end)

describe("a host's sandbox", function()
  it("loads without io, os, debug, load and package", function()
    local bytes, kept = recorded "training", {}
    for _, name in ipairs {"io", "os", "debug", "load", "package", "require"} do
      kept[name], _G[name] = _G[name], nil
    end
    local ok, o = pcall(lucerna.load, bytes, {only = {"model"}})
    for name, value in pairs(kept) do _G[name] = value end
    assert.is_true(ok, o)
    assert.equal(7, #o.model)
  end)
end)

describe("a damaged checkpoint", function()
  for _, name in ipairs {"training", "deflated", "zip64", "legacy", "big", "evil_legacy"} do
    it("is survived, cut at every byte: " .. name, function()
      local bytes = recorded(name)
      for n = 0, #bytes - 1, short and 7 or 1 do
        local part = bytes:sub(1, n)
        assert.is_false(pcall(lucerna.load, function()
          local given = part
          part = nil
          return given
        end), n)
      end
    end)

    it("is survived, with any byte changed: " .. name, function()
      local bytes = recorded(name)
      local masks = {0xff, 0x01, 0x80, 0x08}
      for n = 1, #bytes, short and 7 or 1 do
        local mask = masks[n % #masks + 1]
        survives(bytes:sub(1, n - 1) .. string.char(bytes:byte(n) ~ mask) .. bytes:sub(n + 1))
      end
    end)
  end

  it("is survived, with any byte of its pickle changed and the checksum right", function()
    local whole = archive("\x80\2}(" .. text "x" .. tensor("K\4", "K\1", "K\2\x85", "K\1\x85") ..
      text "y" .. "](K\1G?\xf0\0\0\0\0\0\0Ne" .. text "z" .. "ccollections\nOrderedDict\n)Rq\7(" ..
      text "k" .. "h\7u}" .. text "_metadata" .. "}sb" .. "u.", floats)
    local pickle = whole:match "a/data.pkl(\x80.-u%.)PK"
    assert.equal(2, lucerna.load(whole).x[1]:item())
    for n = 1, #pickle, short and 5 or 1 do
      for _, mask in ipairs {0xff, 0x01, 0x40, 0x08} do
        survives(archive(pickle:sub(1, n - 1) .. string.char(pickle:byte(n) ~ mask) ..
          pickle:sub(n + 1), floats))
      end
    end
  end)

  it("is survived, made of random opcodes", function()
    local codes = "\x80.(012N\x88\x89JKM\x8a\x8bGUTX\x8c\x8dBC\x8e\x96])}\x8f\x85\x86\x87ltd\x91" ..
      "aseu\x90qr\x94hjc\x93R\x81bQ\0\0\0\1\1\2"
    math.randomseed(7)
    for _ = 1, short and 300 or 5000 do
      local parts = {"\x80\2"}
      for k = 2, math.random(60) do
        local at = math.random(#codes)
        parts[k] = codes:sub(at, at)
      end
      survives(archive(table.concat(parts)))
    end
  end)
end)

describe("a hostile pickle", function()
  local BIG = "\xff\xff\xff\x7f"
  local cases = {
    {"a text longer than the file", "X" .. BIG .. "a.", "ends too early"},
    {"a text of 2^64 bytes", "\x8d" .. ("\xff"):rep(8) .. "a.", "ends too early"},
    {"bytes of 2^63 bytes", "\x8e" .. ("\0"):rep(7) .. "\x80.", "ends too early"},
    {"an integer longer than the file", "\x8b" .. BIG .. "\1.", "ends too early"},
    {"an integer of many bits", "\x8a\9" .. ("\1"):rep(9) .. ".", "9 bytes does not fit into 64"},
    {"a memo far away", "Nr" .. BIG .. ".", "memo's number is wrong"},
    {"a memo that was not set", "h\0.", "memo was never set"},
    {"an empty stack", ".", "stack is empty"},
    {"no stop", "N", "ends too early"},
    {"no mark", "Nt.", "no mark"},
    {"a mark as a value", "(.", "stack is empty"},
    {"a mark under a value", "(a.", "stack is empty"},
    {"a key without its value", "}(Nu.", "key has no value"},
    {"items for a tuple", ")Na.", "no container"},
    {"a class as the result", "ccollections\nOrderedDict\n.", "no value"},
    {"a class as a value", "]ccollections\nOrderedDict\na.", "a class stands where a value"},
    {"a call of a value", "N)R.", "calls what is no function"},
    {"a call of a class", "cbuiltins\nint\n)R.", "calls what is no function"},
    {"os.system", "cos\nsystem\n(" .. text "true" .. "tR.", "needs os.system, which is no data"},
    {"eval", "c__builtin__\neval\n(" .. text "1" .. "tR.", "needs builtins.eval"},
    {"getattr by STACK_GLOBAL", "\x8c\8builtins\x8c\7getattr\x93.", "needs builtins.getattr"},
    {"a name that goes on", "c" .. ("a"):rep(300) .. "\nb\n.", "name is too long"},
    {"a newline in a name", "\x8c\1\n\x8c\1b\x93.", "needs %?.b"},
    {"an unknown opcode", "\x82\1.", "opcode 0x82"},
    {"an opcode of protocol 0", "I1\n.", "opcode 0x49"},
    {"an extension's protocol", "\x80\9N.", "protocol 9"},
    {"attributes of a list", "]}b.", "sets attributes of what has none"},
    {"a complex number", "cbuiltins\ncomplex\n.", "complex numbers are not supported"},
    {"a sparse tensor", "ctorch._utils\n_rebuild_sparse_tensor\n.", "sparse tensors"},
    {"a complex tensor of halves", "ctorch\ncomplex32\n.", "complex32 tensors"},
    {"a table as a key", "}](K\1eNs.", "key is a list"},
    {"None as a key", "}NK\1s.", "key is None"},
    {"nan as a key", "}G\x7f\xf8\0\0\0\0\0\0K\1s.", "key is nan"},
    {"a persistent id that is none", "K\1Q.", "storage's name"},
    {"a whole module of the old format", "(" .. text "module" .. "NNNtQ.", "whole module"},
    {"a storage of 2^62 floats", tensor(int(1 << 62), "K\0", ")", ")") .. ".", "storage's name"},
    {"a storage of too many floats", tensor("K\5", "K\0", ")", ")") .. ".", "missing or too short"},
    {"a storage of too few floats", tensor("K\3", "K\0", ")", ")") .. ".", "missing or too short"},
    {"a view beyond its storage", tensor("K\4", "K\0", "K\5\x85", "K\1\x85") .. ".", "beyond"},
    {"an offset beyond it", tensor("K\4", "K\4", ")", ")") .. ".", "beyond"},
    {"a negative offset", tensor("K\4", int(-1), ")", ")") .. ".", "beyond"},
    {"a negative size", tensor("K\4", "K\0", int(-1) .. "\x85", "K\1\x85") .. ".", "beyond"},
    {"a negative stride", tensor("K\4", "K\3", "K\2\x85", int(-1) .. "\x85") .. ".", "beyond"},
    {"sizes that overflow", tensor("K\4", "K\0", int(1 << 62) .. int(1 << 62) .. "\x86",
      int(1 << 62) .. int(1 << 62) .. "\x86") .. ".", "beyond"},
    {"a size and a stride that overflow", tensor("K\4", "K\0", int(3) .. "\x85",
      int(math.maxinteger) .. "\x85") .. ".", "beyond"},
    {"more elements than can be counted", tensor("K\4", "K\0",
      int(1 << 62) .. int(1 << 62) .. "\x86", "K\0K\0\x86") .. ".", "larger than any memory"},
    {"nine dimensions", tensor("K\4", "K\0", "(" .. ("K\1"):rep(9) .. "t",
      "(" .. ("K\1"):rep(9) .. "t") .. ".", "9 dimensions"},
    {"sizes without strides", tensor("K\4", "K\0", "K\1\x85", ")") .. ".", "wrong arguments"},
    {"a size that is a text", tensor("K\4", "K\0", text "a" .. "\x85", "K\1\x85") .. ".",
      "wrong arguments"},
    {"a path as a storage's name", (tensor("K\4", "K\0", ")", ")") .. "."):gsub(
      "X\1%z%z%z0", "X\17\0\0\0../../etc/passwd0"), "missing or too short"},
    {"one storage of two types", "]" .. tensor("K\4", "K\0", ")", ")") .. "a" ..
      tensor("K\2", "K\0", ")", ")", "DoubleStorage") .. "a.", "described in two ways"},
  }
  for _, case in ipairs(cases) do
    it("is refused: " .. case[1], function()
      assert.matches(case[3], message(lucerna.load, archive(case[2], floats)))
    end)
  end

  it("may nest as deep as its length", function()
    local depth = 200000
    local o, n = lucerna.load(archive(("]"):rep(depth) .. ("a"):rep(depth - 1) .. ".")), 0
    while o do
      o, n = o[1], n + 1
    end
    assert.equal(depth, n)
    assert.equal(1, #lucerna.load(archive(")" .. ("\x85"):rep(depth) .. ".")))
  end)

  it("may hold itself", function()
    local o = lucerna.load(archive "]q\0h\0a.")
    assert.equal(o, o[1])
    local map = lucerna.load(archive("ccollections\nOrderedDict\n)Rq\0" .. text "k" .. "h\0s."))
    assert.equal(map, map.k)
  end)

  it("that doubles itself stays small: what is shared is one table", function()
    local pickle = "]q\0" -- a list of two of the list before, sixty times
    for i = 1, 60 do
      pickle = pickle .. "](h" .. string.char(i - 1) .. "h" .. string.char(i - 1) .. "eq" ..
        string.char(i)
    end
    local o = lucerna.load(archive(pickle .. "."))
    assert.equal(o[1], o[2])
  end)

  it("cannot copy its way to more memory than its size explains", function()
    local dict = {"ccollections\nCounter\nq\0", "}q\1("}
    for i = 0, 2000 do dict[#dict + 1] = "M" .. string.pack("<I2", i) .. "N" end
    dict[#dict + 1] = "u0" .. ("h\0h\1\x85R0"):rep(20000) .. "N."
    assert.matches("more objects than its size allows",
      message(lucerna.load, archive(table.concat(dict))))
  end)
end)

describe("a hostile archive", function()
  local good = {{"a/data.pkl", "\x80\2N."}, {"a/version", "3\n"}}
  local function with(change)
    local entries = {}
    for i, e in ipairs(good) do
      entries[i] = {}
      for key, value in pairs(e) do entries[i][key] = value end
    end
    change(entries)
    return zip(entries)
  end

  it("is read while it is good", function() assert.is_nil(lucerna.load(zip(good))) end)

  local cases = {
    {"no entries", function(e) e[1], e[2] = nil, nil end, "load: "},
    {"no data.pkl", function(e) e[1][1] = "a/data.bin" end, "no data.pkl"},
    {"no version", function(e) e[2] = nil end, "version is missing"},
    {"a version to come", function(e) e[2][2] = "11" end, "version is missing or not known"},
    {"a program", function(e) e[3] = {"a/constants.pkl", ""} end, "TorchScript"},
    {"an unknown byte order", function(e) e[3] = {"a/byteorder", "middle"} end, "byte order"},
    {"an entry twice", function(e) e[3] = {"a/version", "3\n"} end, "appears twice"},
    {"a wrong checksum", function(e) e[1].crc = 5 end, "checksum of 'a/data.pkl' is wrong"},
    {"encryption", function(e) e[1].flags = 1 end, "encrypted"},
    {"another compression", function(e) e[1].method = 12 end, "compression method 12"},
    {"a size beyond the file", function(e) e[1].size, e[1].claim = 1 << 30, 1 << 30 end,
      "larger than the file"},
    {"a stored entry of two sizes", function(e) e[1].size = 3 end, "impossible"},
    {"an offset beyond it", function(e) e[1].offset = 1 << 31 end, "outside"},
    {"an offset elsewhere", function(e) e[1].offset = 5 end, "not where it should be"},
    {"a directory beyond it", function(e) e.at = 1 << 31 end, "directory is outside"},
    {"a name with a NUL", function(e) e[1][1] = "a/\0" end, "impossible"},
    {"too much out of too little", function(e) e[1].method, e[1].size = 8, 1 << 20 end,
      "impossible"},
    {"deflated nonsense", function(e) e[1].method = 8 end, "cannot be unpacked"},
    {"entries that share their bytes", function(e)
      for i = 1, 50 do
        e[i + 2] = {"a/data/" .. i, good[1][2], offset = 0, no_data = true, claim = 4}
      end
    end, "larger than the file"},
  }
  for _, case in ipairs(cases) do
    it("is refused: " .. case[1], function()
      assert.matches(case[3], message(lucerna.load, with(case[2])))
    end)
  end
end)
