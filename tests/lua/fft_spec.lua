-- lucerna.fft, stft, istft and windows like PyTorch's: what tests/parity/gen_fft.py recorded.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"
local fft, message = lucerna.fft, parity.message

local function check(want, ...) assert.equal(want, parity.plain_message(...)) end

describe("fft like PyTorch:", function()
  for title, test in cases.each("fft") do it(title, test) end
end)

describe("fft", function()
  local double = {dtype = lucerna.float64}

  setup(function() lucerna.manual_seed(6) end)

  it("is a module that can be required, and its names are functions of the table", function()
    assert.equal(fft, require "lucerna.fft")
    assert.is_function(fft.fft)
    assert.is_nil(lucerna["fft.fft"])
  end)

  it("gives back what it transformed, of any length", function()
    for _, n in ipairs {2, 15, 33, 97, 128, 289, 360, 1021, 4095, 4096, 10007} do
      local x = lucerna.randn({n, 3}, double)
      parity.close(fft.irfft(fft.rfft(x, {dim = 1}), n, 1), x)
      parity.close(fft.hfft(fft.ihfft(x, {dim = 1}), n, 1), x)
      parity.close(fft.ifft(fft.fft(x, {dim = 1, norm = "ortho"}), {dim = 1, norm = "ortho"}), x:to(
        lucerna.complex128))
      local y = fft.fft(x:float(), {dim = 1})
      parity.close(y:abs():double(), fft.fft(x, {dim = 1}):abs(), {rtol = 1e-4, atol = 1e-3})
    end
  end)

  it("of odd real lines is half of the complex one", function()
    for _, n in ipairs {13, 15, 51, 53, 1021} do
      local x, z = lucerna.randn({3, n}, double), lucerna.randn({3, n // 2 + 1}, double)
      local y = fft.rfft(x)
      parity.close(y, fft.fft(x):narrow(2, 1, n // 2 + 1))
      assert.is_true(y:select(2, 1).imag:eq(0):all():item())
      local spectrum = lucerna.complex(z, z * 2)
      local line = fft.irfft(spectrum, n)
      spectrum[{{}, 1}] = spectrum[{{}, 1}].real:to(lucerna.complex128)
      assert.is_true(line:eq(fft.irfft(spectrum, n)):all():item())
      parity.close(fft.rfft(line), spectrum)
    end
  end)

  it("along several dims is one after the other", function()
    local x = lucerna.randn({3, 4, 5, 2}, double)
    local y = x
    for d = 1, 3 do y = fft.fft(y, {dim = d}) end
    parity.close(fft.fftn(x, {dim = {1, 2, 3}}), y)
    parity.close(fft.fftn(x, {dim = {3, 1, 2}}), y)
    parity.close(fft.rfftn(x, {dim = {1, 2, 3}}), y:narrow(3, 1, 3))
    parity.close(fft.fftn(x:to(lucerna.complex128), {dim = {}}), x:to(lucerna.complex128))
  end)

  it("reads memory in any order, and every dtype", function()
    local base = lucerna.randint(-4, 5, {6, 8}, double)
    local layouts = {
      base, base.mT, base[{{1, 6, 2}, {}}], base[{{2, 6}, {3, 8}}], base[{{}, {1, 8, 3}}],
      base:select(1, 2):expand(4, 8), base:flip(2), base:reshape(2, 3, 8):permute(3, 1, 2),
    }
    for _, name in ipairs {"fft", "ifft", "rfft", "ihfft", "irfft", "hfft"} do
      for _, suffix in ipairs {"", "2", "n"} do
        local f = fft[name .. suffix]
        for _, x in ipairs(layouts) do
          parity.close(f(x), f(x:clone():contiguous()))
          if name ~= "rfft" and name ~= "ihfft" then
            local z = lucerna.complex(x, x * 2)
            parity.close(f(z:transpose(1, 2)), f(z:transpose(1, 2):contiguous()))
          end
        end
        local want = f(base:float())
        for _, dtype in ipairs {"int8", "int16", "int32", "int64", "float32"} do
          parity.close(f(base:to(lucerna[dtype])), want)
        end
        for _, dtype in ipairs {"uint8", "bool"} do
          local x = base:abs():to(lucerna[dtype])
          parity.close(f(x), f(x:float()))
        end
      end
    end
  end)

  it("writes out=, resized, and refuses what it cannot hold", function()
    local x, out = lucerna.randn(6), lucerna.zeros({0}, {dtype = lucerna.complex64})
    assert.equal(out, fft.rfft(x, {out = out}))
    parity.close(out, fft.rfft(x))
    local reals = lucerna.zeros(1)
    parity.close(fft.irfft(out, {out = reals}), x)
    assert.same({6}, reals.shape)
    assert.matches("can't be cast to the desired output type Float", message(fft.fft, x,
      {out = reals}))
  end)

  it("takes no memory for lines that are none, however long, also on the way back", function()
    local z = lucerna.zeros({0, 3}, {dtype = lucerna.complex64})
    for name, want in pairs {hfft = 2^40, irfft = 2^40, rfft = 2^39 + 1, ihfft = 2^39 + 1} do
      local x = want == 2^40 and z:clone() or lucerna.zeros(0, 3)
      local y = fft[name](x:requires_grad_(), math.tointeger(2^40))
      assert.same({0, math.tointeger(want)}, y.shape)
      lucerna.real(y):sum():backward()
      assert.same({0, 3}, x.grad.shape)
    end
  end)

  it("leaves its input as it is", function()
    local z = lucerna.randn({4, 6}, {dtype = lucerna.complex128})
    local before = z:clone()
    for _, name in ipairs {"fft", "irfft", "hfftn", "irfftn", "ifft2"} do fft[name](z) end
    parity.close(z, before, {rtol = 0, atol = 0})
  end)

  it("names the function and the argument", function()
    local x = lucerna.ones(2, 3)
    check("fft.fft: dim 3 is out of range [-2, 2] (dims count from 1)", fft.fft, x, nil, 3)
    check("fft.rfft: expects a real input tensor, but got ComplexFloat", fft.rfft, fft.fft(x))
    check("fft.rfft2: expects a real-valued input tensor, but got ComplexFloat", fft.rfft2,
      fft.fft(x))
    check('fft.ifftn: Invalid normalization mode: "all"', fft.ifftn, x, {norm = "all"})
    check("fft.irfft: Invalid number of data points (0) specified", fft.irfft, lucerna.ones(1))
    check("fft.fftn: FFT dims must be unique", fft.fftn, x, {dim = {1, -2}})
    check("fft.fft: Dimension specified as -1 but tensor has no dimensions", fft.fft,
      lucerna.tensor(1.0))
    check("fft.fft: Unsupported dtype Half", fft.fft, x:half())
    check("hann_window: requires non-negative window_length, got window_length=-2",
      lucerna.hann_window, -2)
    check("fft.fftfreq: requires a floating point or complex dtype, got: int64", fft.fftfreq, 3,
      {dtype = lucerna.int64})
  end)
end)

describe("istft", function()
  it("gives the signal back that stft took apart", function()
    lucerna.manual_seed(7)
    local x, window = lucerna.randn({2, 50}, {dtype = lucerna.float64}), lucerna.hann_window(12, {
      dtype = lucerna.float64})
    for _, options in ipairs {{}, {normalized = true}, {onesided = false}, {hop_length = 5}} do
      options.window = window
      local back = {length = 50}
      for k, v in pairs(options) do back[k] = v end
      options.return_complex = true
      parity.close(x:stft(12, options):istft(12, back), x)
    end
  end)

  it("and stft refuse in PyTorch's words", function()
    local x = lucerna.ones(8)
    local z = x:stft(4, {return_complex = true})
    check("stft: requires the return_complex parameter be given for real inputs", lucerna.stft, x,
      4)
    check("stft: expected 0 < n_fft < 8, but got n_fft=9", lucerna.stft, x, 9, {center = false,
      return_complex = true})
    assert.matches("larger than any memory", message(lucerna.stft, x, math.maxinteger,
      {return_complex = true}))
    check("istft: window overlap add min: 0 is less than 1e-11", lucerna.istft, z, 4,
      {window = lucerna.zeros(4)})
  end)
end)
