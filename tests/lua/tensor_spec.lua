-- Tensors as Lua values: making them, their fields, what they print, and what becomes of them.
local lucerna = require "lucerna"
local parity = require "parity"

describe("lucerna.tensor", function()
  it("gives int64 for Lua integers, float32 for floats, bool for booleans", function()
    assert.equal(lucerna.int64, lucerna.tensor({ 1, 2 }).dtype)
    assert.equal(lucerna.float32, lucerna.tensor({ 1, 2.0 }).dtype)
    assert.equal(lucerna.bool, lucerna.tensor({ true, false }).dtype)
    assert.equal(lucerna.int64, lucerna.tensor({ true, 2 }).dtype)
    assert.equal(lucerna.float32, lucerna.tensor({}).dtype)
  end)

  it("takes its shape from the nesting", function()
    assert.same({ 2, 3 }, lucerna.tensor({ { 1, 2, 3 }, { 4, 5, 6 } }).shape)
    assert.same({}, lucerna.tensor(5).shape)
    assert.same({ 2, 0 }, lucerna.tensor({ {}, {} }).shape)
    assert.same({ 1, 1, 1 }, lucerna.tensor({ { { 7 } } }).shape)
  end)

  it("takes dtype and requires_grad by name", function()
    local x = lucerna.tensor({ 1, 2 }, { dtype = lucerna.float64, requires_grad = true })
    assert.equal(lucerna.float64, x.dtype)
    assert.is_true(x.requires_grad)
  end)

  it("copies a tensor and takes 0-d tensors as numbers", function()
    local x = lucerna.tensor { 1.0, 2.0 }
    local y = lucerna.tensor(x)
    y[1] = 5
    assert.same({ 1.0, 2.0 }, x:tolist())
    assert.same({ 1.0, 3.0 }, lucerna.tensor({ x[1], 3 }):tolist())
  end)

  it("takes the widest kind wherever it stands", function()
    local c = lucerna.tensor({ 1, 2 }, { dtype = lucerna.complex64 })
    for _, case in ipairs {
      { lucerna.int64, { true, 2 }, { 1, 2 } },
      { lucerna.float32, { { true, 2 }, { 2.5, false } }, { { 1, 2 }, { 2.5, 0 } } },
      { lucerna.float32, { 1, lucerna.tensor(2.5) }, { 1, 2.5 } },
      { lucerna.float32, { math.maxinteger, 0.5 }, { 2.0 ^ 63, 0.5 } },
      { lucerna.complex64, { true, 3, 2.5, c }, { { 1, 0 }, { 3, 0 }, { 2.5, 0 }, { 1, 2 } } },
      { lucerna.complex64, { c, 3 }, { { 1, 2 }, { 3, 0 } } },
    } do
      local x = lucerna.tensor(case[2])
      assert.same({ case[1], case[3] }, { x.dtype, x:tolist() })
    end
  end)

  it("names the place where rows differ in length", function()
    parity.refused("tensor: expected a table of 2 values at [2] (got 1)",
      lucerna.tensor, { { 1, 2 }, { 3 } })
    parity.refused("expected a table of 2 values at [2] (got number 3)",
      lucerna.tensor, { { 1, 2 }, 3 })
    parity.refused("expected a number or boolean at [1][2] (got string 'a')",
      lucerna.tensor, { { 1, "a" } })
  end)

  it("refuses tables that contain themselves", function()
    local t = {}
    t[1] = t
    parity.refused("nested deeper than 8 levels", lucerna.tensor, t)
  end)
end)

describe("the old constructors", function()
  it("take sizes or values, and name their dtype", function()
    local t = lucerna.LongTensor { { 1, 2 }, { 3, 4 } }
    assert.are.equal(lucerna.int64, t.dtype)
    assert.same({ { 1, 2 }, { 3, 4 } }, t:tolist())
    assert.same({ 2, 3 }, lucerna.DoubleTensor(2, 3).shape)
    assert.same({ 0 }, lucerna.FloatTensor().shape)
    assert.same({ true, false }, lucerna.BoolTensor({ 1, 0 }):tolist())
    assert.are.equal(lucerna.float32, lucerna.Tensor({ 1, 2 }).dtype)
    local x = lucerna.ones(2)
    assert.are.equal(x:data_ptr(), lucerna.Tensor(x):data_ptr())
  end)

  it("name themselves in errors", function()
    parity.refused("LongTensor: expected a Tensor of int64 (got float32)", lucerna.LongTensor,
      lucerna.ones(2))
    parity.refused("Tensor: size must be a table of integers (got string 'a'", lucerna.Tensor, "a")
    parity.refused("FloatTensor: size must be an integer (got nil)", lucerna.FloatTensor, nil)
    parity.refused("FloatTensor: trying to create tensor with negative", lucerna.FloatTensor, -1)
  end)
end)

describe("a tensor", function()
  local x = lucerna.tensor({ { 1, 2, 3 }, { 4, 5, 6.5 } })

  it("has PyTorch's fields", function()
    assert.same({ 2, 3 }, x.shape)
    assert.equal(2, x.ndim)
    assert.equal("cpu", x.device)
    assert.is_false(x.requires_grad)
    assert.is_nil(x.grad)
    assert.is_nil(x.grad_fn)
    assert.is_true(x.is_leaf)
    assert.equal(4, x.itemsize)
    assert.is_true(x.is_cpu)
    for _, name in ipairs { "is_cuda", "is_meta", "is_sparse", "is_quantized" } do
      assert.is_false(x[name])
    end
    assert.equal(24, x.nbytes)
    assert.is_nil(x.no_such_field)
  end)

  it("answers size, stride, dim and numel, with dims counted from 1", function()
    assert.same({ 2, 3 }, x:size())
    assert.equal(3, x:size(2))
    assert.equal(3, x:size(-1))
    assert.same({ 3, 1 }, x:stride())
    assert.equal(2, x:dim())
    assert.equal(6, x:numel())
    assert.equal(2, #x)
  end)

  it("turns into Lua values with item and tolist", function()
    assert.equal(6.5, x[{ 2, 3 }]:item())
    assert.equal("integer", math.type(lucerna.tensor(3):item()))
    assert.is_true(lucerna.tensor(true):item())
    assert.same({ { 1.0, 2.0, 3.0 }, { 4.0, 5.0, 6.5 } }, x:tolist())
    assert.equal(2.5, lucerna.tensor(2.5):tolist())
    assert.same({ { 1.0, 4.0 }, { 2.0, 5.0 }, { 3.0, 6.5 } }, x.T:tolist())
    parity.refused("item: a Tensor with 6 elements", x.item, x)
  end)

  it("makes tables of rows of any length", function()
    for _, n in ipairs { 0, 1, 7, 8, 9, 4096, 4097 } do
      local numbers, pairs_of = {}, {}
      for i = 1, n do numbers[i], pairs_of[i] = i, { i * 1.0, -0.5 } end
      local i64 = lucerna.tensor(numbers, { dtype = lucerna.int64 })
      assert.same(numbers, i64:tolist())
      assert.equal("integer", math.type(i64:tolist()[n] or 0))
      local f64 = i64:to(lucerna.float64)
      assert.same({ numbers, numbers }, lucerna.stack({ f64, f64 }, 2).T:tolist())
      assert.same(pairs_of, lucerna.complex(f64, lucerna.full({ n }, -0.5, {
        dtype = lucerna.float64 })):tolist())
      local list = coroutine.wrap(function() return i64:gt(1):tolist() end)()
      assert.equal(n, #list)
      assert.equal(n > 1, list[n] == true)
    end
  end)

  it("prints as PyTorch does", function()
    assert.equal("tensor([[1.0000, 2.0000, 3.0000],\n        [4.0000, 5.0000, 6.5000]])",
      tostring(x))
    assert.equal("tensor(5)", tostring(lucerna.tensor(5)))
    assert.equal("tensor([1., 2.], requires_grad=True)",
      tostring(lucerna.tensor({ 1.0, 2.0 }, { requires_grad = true })))
  end)

  it("is equal to itself only, whatever Lua value it is behind", function()
    assert.is_true(x == x)
    assert.is_false(x == lucerna.tensor(x))
    local leaf = lucerna.tensor({ 1.0 }, { requires_grad = true });
    (leaf * 2):sum():backward()
    assert.is_true(rawequal(leaf.grad, leaf.grad))
  end)

  it("takes Lua's operators, numbers on either side", function()
    local v = lucerna.tensor { 1.0, 2.0, 4.0 }
    assert.same({ 2.0, 3.0, 5.0 }, (v + 1):tolist())
    assert.same({ 9.0, 8.0, 6.0 }, (10 - v):tolist())
    assert.same({ 1.0, 0.5, 0.25 }, (1 / v):tolist())
    assert.same({ -1.0, -2.0, -4.0 }, (-v):tolist())
    assert.same({ 2.0, 4.0, 8.0 }, (v * lucerna.tensor(2)):tolist())
  end)

  it("cannot be ordered by Lua's operators, and says what to use", function()
    parity.refused("use x:lt(y)", function() return x < x end)
  end)

  it("walks its rows with pairs", function()
    local rows = {}
    for i, row in pairs(x) do rows[i] = row:tolist() end
    assert.same({ { 1.0, 2.0, 3.0 }, { 4.0, 5.0, 6.5 } }, rows)
  end)

  it("hides its metatable", function() assert.equal("Tensor", getmetatable(x)) end)

  it("of every k-th element of another, of any width, has those", function()
    for _, dtype in ipairs { "uint8", "int16", "float32", "float64", "complex128" } do
      local row = lucerna.arange(0, 700):remainder(251):to(lucerna[dtype])
      for step = 2, 6 do
        for _, n in ipairs { 1, 3, 16, 33, 64, 65, 100 } do
          local want = {}
          for i = 1, n do want[i] = ((i - 1) * step + 2) % 251 end
          local got = row[{ { 3, 2 + n * step, step } }]:clone()
          assert.same(want, (got:is_complex() and lucerna.real(got) or got):long():tolist())
        end
      end
    end
  end)

  it("flipped lies in memory as it did", function()
    local turned = lucerna.arange(1, 7):view(2, 3):t()
    assert.same({ 1, 3 }, turned:flip(1):stride())
    assert.same({ { 6, 3 }, { 5, 2 }, { 4, 1 } }, turned:flip(1, 2):tolist())
  end)

  it("is left alone by functions that have nothing to do", function()
    assert.is_true(rawequal(x, x:contiguous()))
    assert.is_true(rawequal(x, x:to(lucerna.float32)))
  end)
end)

describe("release", function()
  it("ends a tensor at once; using it afterwards is an error", function()
    local x = lucerna.ones(3)
    x:release()
    assert.equal("tensor(released)", tostring(x))
    parity.refused("add: input must be a Tensor or a number (got a released tensor)",
      function() return x + 1 end)
    parity.refused("the tensor was released", function() return x.shape end)
    parity.refused("the tensor was released", function() return x[1] end)
    assert.has_error(function() return #x end)
  end)

  it("happens at the end of a block with <close>", function()
    local kept
    do
      local x <close> = lucerna.ones(3)
      kept = x
    end
    assert.equal("tensor(released)", tostring(kept))
  end)

  it("leaves views and graphs that share the memory alone", function()
    local x = lucerna.tensor({ 1.0, 2.0 }, { requires_grad = true })
    local y = x * x
    local loss, view = y:sum(), y[1]
    y:release()
    loss:backward()
    assert.same({ 2.0, 4.0 }, x.grad:tolist())
    assert.equal(1.0, view:item())
  end)
end)

describe("lucerna.scope", function()
  it("releases what was made inside and is not returned", function()
    local inside
    local kept, list, number = lucerna.scope(function(a)
      inside = lucerna.ones(2) + a
      return inside * 2, { inside * 3 }, 7
    end, 1)
    assert.equal("tensor(released)", tostring(inside))
    assert.same({ 4.0, 4.0 }, kept:tolist())
    assert.same({ 6.0, 6.0 }, list[1]:tolist())
    assert.equal(7, number)
  end)

  it("serves again and again, large or after errors", function()
    local outside = lucerna.ones(2)
    local function many() for _ = 1, 1500 do lucerna.ones(1) end return outside end
    for round = 1, 3 do
      assert.are.equal(outside, lucerna.scope(many))
      assert.is_false(pcall(lucerna.scope, error, "no"))
      local inner
      local kept = lucerna.scope(function()
        lucerna.scope(function() inner = lucerna.ones(3) end)
        return lucerna.full(1, round)
      end)
      assert.are.equal("tensor(released)", tostring(inner))
      lucerna.scope(function() end)
      assert.are.same({ round }, kept:tolist())
    end
    assert.are.same({ 1.0, 1.0 }, outside:tolist())
  end)

  it("nests, and what an inner scope returns belongs to the outer one", function()
    local from_inner
    local result = lucerna.scope(function()
      from_inner = lucerna.scope(function() return lucerna.ones(2) end)
      return from_inner + 1
    end)
    assert.equal("tensor(released)", tostring(from_inner))
    assert.same({ 2.0, 2.0 }, result:tolist())
  end)

  it("releases after an error too, which passes through unchanged", function()
    local inside
    local thrown = {}
    local ok, err = pcall(lucerna.scope, function()
      inside = lucerna.ones(2)
      error(thrown)
    end)
    assert.is_false(ok)
    assert.is_true(rawequal(thrown, err))
    assert.equal("tensor(released)", tostring(inside))
  end)

  it("leaves gradients and older tensors alone", function()
    local x = lucerna.tensor({ 1.0 }, { requires_grad = true })
    lucerna.scope(function()
      (x * 3):sum():backward()
      return nil
    end)
    assert.same({ 3.0 }, x.grad:tolist())
  end)
end)

describe("dtypes", function()
  it("are objects that print their name", function()
    assert.equal("float32", tostring(lucerna.float32))
    assert.is_true(lucerna.float == lucerna.float32)
    assert.equal(2, lucerna.bfloat16.itemsize)
    assert.is_true(lucerna.float16.is_floating_point)
    assert.is_false(lucerna.int8.is_floating_point)
  end)

  it("promote as in PyTorch", function()
    assert.equal(lucerna.int16, lucerna.promote_types(lucerna.uint8, lucerna.int8))
    assert.equal(lucerna.float32, lucerna.promote_types(lucerna.float16, lucerna.bfloat16))
    assert.is_false(lucerna.can_cast(lucerna.float32, lucerna.int64))
    assert.equal(lucerna.float32, lucerna.result_type(lucerna.tensor({ 1 }), 1.5))
    assert.equal(lucerna.int64, lucerna.result_type(lucerna.tensor({ 1 }), 1))
  end)

  it("have a default that can be changed to another floating point dtype", function()
    lucerna.set_default_dtype(lucerna.float64)
    local dtype = lucerna.tensor({ 1.5 }).dtype
    lucerna.set_default_dtype(lucerna.float32)
    assert.equal(lucerna.float64, dtype)
    assert.equal(lucerna.float32, lucerna.get_default_dtype())
    parity.refused("only floating point dtypes", lucerna.set_default_dtype, lucerna.int64)
  end)

  it("have their limits in finfo and iinfo", function()
    assert.equal(2.0 ^ -23, lucerna.finfo(lucerna.float32).eps)
    assert.equal(65504.0, lucerna.finfo("float16").max)
    assert.equal(255, lucerna.iinfo(lucerna.uint8).max)
    parity.refused("finfo: needs a floating point dtype (got int8)", lucerna.finfo, lucerna.int8)
  end)
end)

describe("random seeds", function()
  it("give PyTorch's numbers", function()
    lucerna.manual_seed(0)
    parity.close(lucerna.rand(3), lucerna.tensor { 0.4963, 0.7682, 0.0885 }, { atol = 1e-4 })
    parity.close(lucerna.randn(3), lucerna.tensor { 0.3643, 0.1344, 0.1642 }, { atol = 1e-4 })
    assert.same({ 2, 1, 3, 4, 5 }, lucerna.randperm(5):tolist())
  end)

  it("can be kept and put back", function()
    local state = lucerna.get_rng_state()
    local a = lucerna.rand(4):tolist()
    lucerna.set_rng_state(state)
    assert.same(a, lucerna.rand(4):tolist())
    parity.refused("set_rng_state: expected a state", lucerna.set_rng_state, lucerna.ones(3))
  end)

  it("have a state of PyTorch's bytes", function()
    lucerna.manual_seed(7)
    lucerna.randn(3, { dtype = lucerna.float64 }) -- leaves a value for the next call
    local state = lucerna.get_rng_state():long()
    assert.equal(78254219, (state * lucerna.arange(1, 5057) % 65521):sum():item())
    parity.refused("expected a state",
      lucerna.set_rng_state, lucerna.full({ 5056 }, 255):to(lucerna.uint8))
    assert.same(state:tolist(), lucerna.get_rng_state():tolist())
  end)

  it("belong to generators of one's own", function()
    local g = lucerna.Generator():manual_seed(7)
    local h = lucerna.Generator():manual_seed(7)
    assert.same({7, "cpu"}, {g:initial_seed(), g.device})
    assert.same(lucerna.rand(3, { generator = g }):tolist(),
      lucerna.rand(3, { generator = h }):tolist())
  end)
end)

describe("the library", function()
  it("sets no globals", function()
    for name in pairs(_G) do assert.is_nil(name:match("^lucerna")) end
  end)

  it("says its version", function() assert.matches("^lucerna %d+%.%d+%.%d+$", lucerna._VERSION) end)

  it("counts memory", function()
    local before = lucerna.memory().live
    local x = lucerna.empty(1024, 256)
    assert.is_true(lucerna.memory().live >= before + 2 ^ 20)
    x:release()
    assert.is_true(lucerna.memory().live < before + 2 ^ 20)
  end)

  it("has a clock and threads", function()
    assert.is_true(lucerna.clock() <= lucerna.clock())
    local n = lucerna.get_num_threads()
    lucerna.set_num_threads(1)
    assert.equal(1, lucerna.get_num_threads())
    lucerna.set_num_threads(n)
    assert.has_error(function() lucerna.set_num_threads(0) end)
  end)
end)

describe("lucerna.cuda", function()
  it("counts the devices that this build and machine have", function()
    local count = lucerna.cuda.device_count()
    assert.equal("integer", math.type(count))
    assert.equal(count > 0, lucerna.cuda.is_available())
    lucerna.cuda.manual_seed_all(1)
    lucerna.cuda.empty_cache()
    parity.refused("manual_seed: seed must be an integer (got string)",
      lucerna.cuda.manual_seed, "a")
  end)
end)

describe("the device that ported scripts ask for", function()
  it("is the CPU", function()
    local accelerator, mps = lucerna.accelerator, lucerna.backends.mps
    local device = accelerator.is_available() and accelerator.current_accelerator().type
      or lucerna.cuda.is_available() and mps.is_available() and "mps" or "cpu"
    assert.equal(0, accelerator.device_count())
    lucerna.set_default_device(device)
    assert.equal(lucerna.device "cpu", lucerna.get_default_device())
    lucerna.backends.cudnn.benchmark = true
    assert.is_true(lucerna.backends.cudnn.benchmark)
    parity.refused("device: device must be 'cpu'", lucerna.set_default_device, "cuda")
  end)
end)

describe("set_printoptions", function()
  local function text(options, t)
    lucerna.set_printoptions(options)
    local result = tostring(t)
    lucerna.set_printoptions {profile = "default"}
    return result
  end

  it("leaves everything out, or nothing", function()
    local x = lucerna.arange(12)
    assert.equal("tensor([...])", text({edgeitems = 0, threshold = 5}, x))
    assert.equal("tensor([...])", text({edgeitems = 0, threshold = 5}, x:view(3, 4)))
    local _, commas = text({profile = "full"}, lucerna.arange(3000)):gsub(",", "")
    assert.equal(2999, commas)
    assert.equal(2999, select(2, text({threshold = math.huge}, lucerna.arange(3000)):gsub(",", "")))
  end)

  it("refuses what it does not know", function()
    local set = lucerna.set_printoptions
    assert.matches("precision must be from 0 to 40 %(got %-1%)",
      select(2, pcall(set, {precision = -1})))
    assert.matches("profile must be", select(2, pcall(set, {profile = "long"})))
    assert.equal("tensor([0.3333])", tostring(lucerna.tensor {1 / 3}))
  end)
end)

describe("Joining blocks of memory", function()
  local function parts_of(joined, parts, dim)
    local at = 1
    for _, part in ipairs(parts) do
      assert.is_true(lucerna.equal(part, joined:narrow(dim, at, part:size(dim))))
      at = at + part:size(dim)
    end
    assert.equal(joined:size(dim), at - 1)
  end

  it("puts parts of any length one after another, also across the cuts of large results", function()
    local many = {}
    for i, n in ipairs { 700, 1, 0, 999 } do many[i] = lucerna.rand(300, n) end
    parts_of(lucerna.cat(many, 2), many, 2)
    for dim = 1, 3 do
      local parts = { lucerna.rand(3, 4, 5), lucerna.rand(3, 4, 5), lucerna.rand(3, 4, 5) }
      parts_of(lucerna.cat(parts, dim), parts, dim)
    end
  end)

  it("stacks along any dimension", function()
    local a, b = lucerna.rand(200, 700), lucerna.rand(200, 700)
    for dim = 1, 3 do
      local joined = lucerna.stack({ a, b }, dim)
      assert.is_true(lucerna.equal(a, joined:select(dim, 1)))
      assert.is_true(lucerna.equal(b, joined:select(dim, 2)))
    end
  end)

  it("repeats more dimensions than one copy can", function()
    local times, x = { 2, 3, 1, 2, 1, 3, 2, 2 }, lucerna.rand(2, 3, 2, 2)
    local want = x:reshape(1, 1, 1, 1, 2, 3, 2, 2)
    for dim, n in ipairs(times) do
      local copies = {}
      for i = 1, n do copies[i] = want end
      want = lucerna.cat(copies, dim)
    end
    assert.is_true(lucerna.equal(want, x:tile(times)))
    local turned = x:transpose(2, 4):contiguous():transpose(2, 4)
    assert.is_true(lucerna.equal(want, turned:tile(times)))
  end)

  it("repeats what is expanded, empty or of one column as its copy", function()
    local x = lucerna.rand(3, 1, 4)
    for _, t in ipairs { x:expand(3, 5, 4), x[1]:t():expand(2, 4, 70), x[1]:t(), x:select(3, 2),
      lucerna.rand(1):expand(6), lucerna.rand(0, 3):t(), x:expand(2, 2, 2, 2, 3, 5, 4),
      x:expand(2, 1, 2, 1, 1, 3, 3, 4) } do
      for _, times in ipairs { { 2 }, { 2, 3 }, { 3, 1, 2 }, { 2, 1, 2, 1 }, { 2, 2, 1, 2, 2 } } do
        local want, lead = t:contiguous(), math.max(#times - t:dim(), 0)
        for _ = 1, lead do want = want:unsqueeze(1) end
        for i = #times, 1, -1 do
          local dim, copies = want:dim() - #times + i, {}
          for k = 1, times[i] do copies[k] = want end
          want = lucerna.cat(copies, dim)
        end
        assert.is_true(lucerna.equal(want, t:tile(times)))
        assert.is_true(t:tile(times):is_contiguous())
      end
    end
  end)
end)

describe("A sequence", function()
  it("of any length has each of its numbers", function()
    local double = { dtype = lucerna.float64 }
    for _, n in ipairs { 2, 7, 8, 9, 17, 1023, 1025, 2049 } do
      local between, whole = lucerna.linspace(-3, 5, n, double):tolist(), lucerna.arange(n):tolist()
      local stepped = lucerna.arange(0.5, n, 1, double):tolist()
      local tent = lucerna.bartlett_window(n, double):tolist()
      for i = 1, n do
        assert.is_true(math.abs(between[i] - (-3 + 8 * (i - 1) / (n - 1))) < 1e-14)
        assert.is_true(math.abs(tent[i] - (1 - math.abs(2 * (i - 1) / n - 1))) < 1e-14)
        assert.equal(i - 1, whole[i])
        assert.equal(i - 0.5, stepped[i])
      end
      assert.same({ -3.0, 5.0 }, { between[1], between[n] })
    end
  end)
end)

describe("a number that an integer dtype cannot hold", function()
  local uint8 = {dtype = lucerna.uint8}
  local x = lucerna.tensor({0, 44, 255}, uint8)

  it("is refused where it would be written", function()
    local function refused(who, f, ...)
      parity.refused(who .. ": value cannot be converted to type uint8 without overflow", f, ...)
    end
    refused("tensor", lucerna.tensor, 300, uint8)
    refused("tensor", lucerna.tensor, {{1, 2}, {3, 300}}, uint8)
    refused("tensor", lucerna.tensor, {1, 0 / 0}, uint8)
    refused("new_tensor", x.new_tensor, x, {256})
    refused("pad", lucerna.nn.functional.pad, x, {1, 1}, {value = 300})
    refused("add", lucerna.add, x, x, {alpha = 300})
    refused("sub", lucerna.sub, x, x, {alpha = -300})
    refused("where", lucerna.where, x:gt(50), x, 300)
    refused("fill_", x.fill_, x, 300)
    for _, bits in ipairs {8, 16, 32} do
      local dtype, last = {dtype = lucerna["int" .. bits]}, (1 << bits - 1) - 1
      assert.same({-last - 1, last}, lucerna.tensor({-last - 1, last}, dtype):tolist())
      for _, number in ipairs {-last - 2, last + 1} do
        parity.refused("without overflow", lucerna.tensor, {1, number}, dtype)
      end
    end
    assert.same({255, 255}, lucerna.tensor({-1, 255}, uint8):tolist()) -- as in C, and PyTorch
    assert.same({1, -2}, lucerna.tensor({1.9, -2.5}, {dtype = lucerna.int64}):tolist())
  end)

  it("wraps around in arithmetic, as PyTorch has it", function()
    assert.same({44, 88, 43}, (x + 300):tolist())
    assert.same({0, 144, 212}, (x * 300):tolist())
  end)

  it("is compared as it is, where PyTorch wraps it around", function()
    assert.same({false, false, false}, x:eq(300):tolist())
    assert.same({true, true, true}, x:lt(300):tolist())
    assert.same({true, true, true}, x:gt(-1):tolist())
    assert.same({0, 44, 255}, x:clamp(-1, 300):tolist())
  end)
end)

describe("tolist", function()
  -- The same element by element.
  local function nested(x)
    if x:dim() == 0 then return x:item() end
    local list = {}
    for i = 1, x:size(1) do list[i] = nested(x[i]) end
    return list
  end

  it("gives what the elements are, of any size, dtype and strides", function()
    for _, dtype in ipairs { "float32", "float64", "float16", "int64", "uint8", "bool" } do
      for _, sizes in ipairs { {3}, {7}, {8}, {3, 3}, {2, 9}, {2, 2, 2}, {16, 16}, {8, 33}, {300},
        {1, 1}, {600, 1} } do
        local x = lucerna.arange(lucerna.zeros(sizes):numel()):to(lucerna[dtype]):view(sizes)
        assert.are.same(nested(x), x:tolist())
        assert.are.same(nested(x[-1]), x[-1]:tolist())
        local y = x:transpose(1, -1)
        assert.are.same(nested(y), y:tolist())
        local z = x:flatten():unsqueeze(2):expand(-1, 2)
        assert.are.same(nested(z), z:tolist())
      end
    end
    assert.are.same({}, lucerna.zeros(0):tolist())
    assert.are.same({{}, {}}, lucerna.zeros(2, 0):tolist())
    assert.are.same({}, lucerna.zeros(0, 2):tolist())
    assert.are.same({{{1, 2}, {3, 4}}}, lucerna.view_as_complex(
      lucerna.tensor {{1.0, 2.0}, {3.0, 4.0}}):unsqueeze(1):tolist())
  end)
end)

describe("apply_ and map_", function()
  it("write what a function makes of the elements, of any strides", function()
    local x = lucerna.arange(6.0):view(2, 3):t()
    assert.equal(x, x:apply_(function(v) return 2 * v end))
    assert.same({ { 0, 6 }, { 2, 8 }, { 4, 10 } }, x:tolist())
    local row = lucerna.tensor { 100.0, 200.0 }
    x:map_(row, function(a, b) return a + b end) -- which is broadcast
    assert.same({ { 100, 206 }, { 102, 208 }, { 104, 210 } }, x:tolist())
    assert.same({ 200, 400 }, row:map_(row, function(a, b) return a + b end):tolist())
    assert.same({ 3, -1 }, lucerna.tensor({ 2, -2 }):apply_(function(v) return v + 1 end):tolist())
    assert.same({ false, true },
      lucerna.tensor({ true, false }):apply_(function(v) return not v end):tolist())
    assert.same({}, lucerna.zeros(0):apply_(error):tolist())
  end)

  it("change nothing where the function fails, and may be nested", function()
    local x = lucerna.tensor { 1.0, 2.0, 3.0 }
    for _, f in ipairs { function(v) return v < 3 and 0 or error "no" end, tostring } do
      assert.is_false(pcall(x.apply_, x, f))
      assert.same({ 1, 2, 3 }, x:tolist())
    end
    x:apply_(function(v)
      if v == 1 then x:apply_(function(w) return w * 10 end) end
      collectgarbage()
      return v + 1
    end)
    assert.same({ 2, 3, 4 }, x:tolist())
    local one = lucerna.tensor { 1.0 }
    parity.refused("apply_: self must be a Tensor (got a released tensor)", one.apply_, one,
      function(v)
        one:release()
        return v
      end)
  end)
end)
