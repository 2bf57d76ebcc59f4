-- Tensors in bulk: from the bytes of a string and back, and handed to other libraries by DLPack.
-- (Userdata as memory takes a C host: tests/c/test_lua_tensor.c.)

local lucerna = require "lucerna"
local parity = require "parity"

local message, live = parity.plain_message, parity.live

-- An array of another library.
local function array(dlpack) return setmetatable({}, {__index = {__dlpack__ = dlpack}}) end

describe("frombuffer and tostring('raw')", function()
  for i, case in ipairs(parity.load("buffer")) do
    it(("give PyTorch's answer: %s %s %d"):format(case.fn, case.dtype, i), function()
      if case.fn == "tostring" then
        local x = lucerna.tensor(case.values, {dtype = case.dtype})
        assert.equal(case.bytes, x:tostring("raw"))
        assert.same(case.values, lucerna.frombuffer(case.bytes, {dtype = case.dtype}):tolist())
        return
      end
      local options = {dtype = case.dtype, count = case.count, offset = case.offset}
      if case.error then
        assert.equal("frombuffer: " .. case.error, message(lucerna.frombuffer, case.bytes, options))
      else
        local out = lucerna.frombuffer(case.bytes, options)
        assert.equal(lucerna[case.dtype], out.dtype)
        for k, want in ipairs(case.out) do
          local got = out[k]:item()
          assert(got == want or (got ~= got and want ~= want), k)
        end
      end
    end)
  end

  it("exchange bytes with string.pack", function()
    local bytes = string.pack("<fffff", 1, 2, 3, 4, 5)
    local x = lucerna.frombuffer(bytes, {dtype = lucerna.float32})
    assert.same({1, 2, 3, 4, 5}, x:tolist())
    local y = lucerna.tensor({7, -8}, {dtype = "int32"})
    assert.equal(string.pack("<ii", 7, -8), y:tostring("raw"))
  end)

  it("copy: a string never changes", function()
    local bytes = string.pack("<i8", 1)
    local x = lucerna.frombuffer(bytes, {dtype = lucerna.int64})
    x:fill_(5)
    assert.equal(1, (string.unpack("<i8", bytes)))
    assert.equal(1, lucerna.frombuffer(bytes, {dtype = lucerna.int64}):item())
  end)

  it("take any nonzero byte for true", function()
    local x = lucerna.frombuffer("\0\7\255\1", {dtype = lucerna.bool})
    assert.same({false, true, true, true}, x:tolist())
    assert.equal(3, x:sum():item())
    assert.equal("\0\1\1\1", x:tostring("raw"))
  end)

  it("require a gradient on demand", function()
    local x = lucerna.frombuffer(string.pack("<d", 3), {dtype = "float64", requires_grad = true})
    x:pow(2):sum():backward()
    assert.equal(6, x.grad:item())
    assert.matches("floating point", message(lucerna.frombuffer, "abcd",
      {dtype = "int32", requires_grad = true}))
  end)

  it("give the bytes of a view in its order", function()
    local x = lucerna.arange(6, {dtype = lucerna.uint8}):view(2, 3)
    assert.equal("\0\3\1\4\2\5", x:t():tostring("raw"))
    assert.equal("\1\4", x[{{}, 2}]:tostring("raw"))
    assert.equal("\5", x[{2, 3}]:tostring("raw"))
    assert.equal("", lucerna.zeros(0, 3):tostring("raw"))
    assert.equal(tostring(x), x:tostring())
  end)

  it("carry a megabyte whole", function()
    local x = lucerna.rand(512, 513)
    local back = lucerna.frombuffer(x:tostring("raw"), {dtype = lucerna.float32}):view(512, 513)
    assert(back:equal(x))
  end)

  it("refuse what is no memory", function()
    for _, object in ipairs {io.stdout, lucerna.ones(2), lucerna.float32, lucerna.none,
      lucerna.default_generator, lucerna.nn.ReLU(), 5, {}, print, true} do
      assert.matches("^frombuffer: buffer must be a string, or userdata that is plain memory",
        message(lucerna.frombuffer, object, {dtype = lucerna.uint8}))
    end
    assert.equal("frombuffer: missing argument 'dtype'", message(lucerna.frombuffer, "abc"))
    assert.equal("frombuffer: only a light userdata takes a length",
      message(lucerna.frombuffer, "abc", {dtype = "int8", length = 2}))
    assert.equal("tostring: format must be 'raw' or nil (got 'hex')",
      message(function() lucerna.ones(1):tostring("hex") end))
  end)
end)

describe("data_ptr", function()
  it("is the address of the first element", function()
    local x = lucerna.zeros(4, 4)
    assert.equal(16 + 8, x[{2, {3, 4}}]:data_ptr() - x:data_ptr())
    assert.equal(x:data_ptr(), x:view(16):data_ptr())
  end)
end)

describe("DLPack", function()
  it("shares memory with what was exported", function()
    local x = lucerna.arange(6.0):view(2, 3):t()
    local y = lucerna.from_dlpack(lucerna.to_dlpack(x))
    assert.same(x:stride(), y:stride())
    assert.equal(x:data_ptr(), y:data_ptr())
    x = nil -- luacheck: ignore
    collectgarbage()
    y:add_(1)
    assert.same({{1, 4}, {2, 5}, {3, 6}}, y:tolist())
  end)

  it("asks an object for its __dlpack__", function()
    local x = lucerna.ones(3)
    local asked
    local y = lucerna.from_dlpack(array(function(_, options)
      asked = options.max_version
      return x:__dlpack__(options)
    end))
    assert.same({1, 1}, asked)
    assert.equal(x:data_ptr(), y:data_ptr())
    assert.equal(x:data_ptr(), lucerna.from_dlpack(x):data_ptr())
    assert.are_not.equal(x:data_ptr(), lucerna.from_dlpack(x, {copy = true}):data_ptr())
    assert.same({1, 0}, {x:__dlpack_device__()})
  end)

  it("gives versioned capsules to who knows them", function()
    local x = lucerna.ones(3)
    assert.matches("^dltensor:", tostring(x:__dlpack__()))
    assert.matches("^dltensor_versioned:", tostring(x:__dlpack__{max_version = {1, 0}}))
    assert.matches("^dltensor:", tostring(x:__dlpack__{max_version = {0, 8}}))
    local copy = lucerna.from_dlpack(x:__dlpack__{copy = true})
    copy:zero_()
    assert.same({1, 1, 1}, x:tolist())
  end)

  it("frees what nobody took", function()
    lucerna.to_dlpack(lucerna.ones(1000))
    local before = live()
    for _ = 1, 10 do lucerna.to_dlpack(lucerna.ones(1000)) end
    for _ = 1, 10 do lucerna.from_dlpack(lucerna.to_dlpack(lucerna.ones(1000))) end
    assert.equal(before, live())
  end)

  it("takes a capsule once, and nothing else", function()
    local capsule = lucerna.to_dlpack(lucerna.ones(2))
    lucerna.from_dlpack(capsule)
    assert.equal("from_dlpack: the capsule was taken already (a capsule can be taken once)",
      message(lucerna.from_dlpack, capsule))
    for _, object in ipairs {5, "x", {}, io.stdout, print, lucerna.float32} do
      assert.matches("^from_dlpack: expected a capsule or what has a method __dlpack__",
        message(lucerna.from_dlpack, object))
    end
    assert.equal("from_dlpack: __dlpack__ must give a capsule (got number 4)",
      message(lucerna.from_dlpack, array(function() return 4 end)))
    assert.equal("to_dlpack: can't export tensors that require gradient, use tensor:detach()",
      message(lucerna.to_dlpack, lucerna.ones(2):requires_grad_()))
  end)
end)
