-- lucerna.special like PyTorch's, and against values known to more digits than PyTorch gives.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"
local special = lucerna.special

describe("special like PyTorch:", function()
  for title, check in cases.each("special") do it(title, check) end
end)

-- {function, arguments…, value}, the values computed with 40 digits.
local KNOWN = {
  {"erfcx", 5.0, 0.11070463773306863}, {"erfcx", 26.0, 0.021683584850562911},
  {"erfcx", -5.0, 144009798674.66104}, {"ndtr", -5.0, 2.8665157187919391e-7},
  {"log_ndtr", -100.0, -5005.5242086942050886}, {"ndtri", 1e-300, -37.047096299361201},
  {"ndtri", 0.19, -0.87789629505122859}, {"i0", 25.0, 5774560606.4663103},
  {"i1", 20.0, 42454973.385127770}, {"modified_bessel_k1", 7.9, 0.00017288430649238984},
  {"scaled_modified_bessel_k0", 5.0, 0.54780756431351899},
  {"airy_ai", 3.0, 0.0065911393574607192}, {"bessel_j0", 10.0, -0.24593576445134834},
  {"bessel_j1", 50.0, -0.097511828125175138}, {"bessel_y1", 10.0, 0.24901542420695388},
  {"zeta", 100.0, 1000.0, 1.0609342003874930e-299},
  {"gammainc", 30.0, 1e-8, 3.7699875923321569e-273},
  {"gammaincc", 11000.0, 11839.047078536121, 2.8970774654136867e-15},
  {"gammaincc", 1e-10, 0.3, 9.0567665169204780e-11},
}

describe("special functions", function()
  it("logit takes eps for what is below it, also beyond 1/2", function()
    assert.same({{0.75, 0.75}, {0.75, 0.75}},
      (lucerna.tensor {{0.1, 0.5}, {0.9, 0.75}}):logit(0.75):sigmoid():tolist())
  end)

  it("roots of doubles are the nearest ones, alone and among others", function()
    local x = {0.0, -0.0, math.huge, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 4.0,
      1 - 2 ^ -53, 1 + 2 ^ -52, 2 - 2 ^ -52, 4 - 2 ^ -51, 1.7976931348623157e308, 2.0, 0.1, 1e100}
    -- roots close to the middle of two doubles
    for k = 1, 25 do x[#x + 1] = (1 + k * 2 ^ -26) ^ 2 + 2 ^ -51 end
    for i = 1, 3000 do x[#x + 1] = (i * 0.6180339887498949 % 1 + 0.5) * 2.0 ^ (i % 1900 - 950) end
    local t = lucerna.tensor(x, {dtype = lucerna.float64})
    local roots, inverse, alone = t:sqrt():tolist(), t:rsqrt():tolist(), t[5]:sqrt():item()
    for i, v in ipairs(x) do
      assert.equal(math.sqrt(v), roots[i], v)
      assert.equal(1 / math.sqrt(v), inverse[i], v)
    end
    assert.equal(roots[5], alone)
    assert.equal(-math.huge, 1 / roots[2])
    local none = lucerna.tensor({-1, 0 / 0, 1}, {dtype = lucerna.float64}):sqrt()
    assert.same({true, true, false}, none:isnan():tolist())
  end)

  it("igamma of a huge x does not depend on what lies beside it", function()
    local x = lucerna.linspace(1, 8, 8, {dtype = lucerna.float64}):repeat_interleave(2)
    x[{{1, -1, 2}}] = 1e300
    for _, a in ipairs {0.5, 3.0, 9.5} do
      assert.equal(8, lucerna.igamma(lucerna.full_like(x, a), x):eq(1):sum():item())
      assert.equal(8, lucerna.igammac(lucerna.full_like(x, a), x):eq(0):sum():item())
    end
  end)

  it("igamma keeps to its ends for huge and tiny numbers", function()
    local inf, nan = math.huge, 0 / 0
    local function of(...) return lucerna.tensor({...}, {dtype = lucerna.float64}) end
    local a = of(1e300, 1e300, 1e300, 1.7e308, 11, inf, 20, 20, 20, 1e-320, 0, inf, 0, -1, nan)
    local x = of(1e300, 9e299, 1.1e300, 1e-320, inf, 3, 0, 1e-320, 1e300, 1, 2, inf, 0, 2, 2)
    local p = of(0.5, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1, nan, nan, nan, nan)
    parity.close(lucerna.igamma(a, x), p)
    parity.close(lucerna.igammac(a, x), 1 - p)
  end)

  it("logit has no slope outside of 0 and 1", function()
    local x = lucerna.tensor({-0.5, 0, 0.5, 1, 1.5}, {requires_grad = true})
    x:logit():sum():backward()
    local inf, nan = math.huge, 0 / 0
    parity.close(x.grad, lucerna.tensor {nan, inf, 4, inf, nan})
  end)

  local function values(list)
    local args = {}
    for i = 2, #list - 1 do args[i - 1] = lucerna.tensor({list[i]}, {dtype = lucerna.float64}) end
    return table.unpack(args)
  end

  it("are exact to the last digits, where PyTorch is not too", function()
    for _, known in ipairs(KNOWN) do
      local want = known[#known]
      local got = special[known[1]](values(known)):item()
      local off = math.abs(got - want) / math.abs(want)
      local allowed = 2e-15
      assert(off < allowed, ("%s: %.17g instead of %.17g"):format(known[1], got, want))
    end
  end)

  it("igamma and igammac are within 2 ulp where they used to be almost 3", function()
    for _, case in ipairs {
      {"igammac", 0.21128155607635662, 4.243703495760207, 0.00091538471458868402},
      {"igammac", 27.60838474730151, 85.22154224239891, 1.1025185886491358e-13},
      {"igammac", 4.106611284638412, 15.894470095398699, 0.00012006253503909548},
      {"igamma", 102.25730266952905, 95.15014237084222, 0.24615530562839157},
      {"igammac", 0.34204085146577423, 0.30878802277031797, 0.30412351543248128},
      {"igammac", 28.51077839800833, 28.477027777238412, 0.47760643692856597},
      {"igammac", 54.830919699325328, 66.626243382848756, 0.062333593646671334},
      {"igammac", 0.3910001551014293, 0.25274775663095417, 0.385627402357381228},
    } do
      local a = lucerna.tensor({case[2]}, {dtype = lucerna.float64})
      local y, want = lucerna[case[1]](a, lucerna.full_like(a, case[3])):item(), case[4]
      assert(math.abs(y - want) <= 1.5 * 2.0 ^ (math.floor(math.log(want, 2)) - 52), y)
    end
  end)

  local function assert_within(ulps, digits, y, want, name)
    local off = math.abs(y - want)
    local ulp = 2.0 ^ (math.floor(math.log(math.abs(want), 2)) - digits)
    assert(off <= ulps * math.max(ulp, 2.0 ^ -1074), ("%s: %.17g, not %.17g"):format(name, y, want))
  end

  it("sin, cos and tan keep their digits next to multiples of a quarter turn", function()
    for name, known in pairs {
      float64 = {
        {37.699111843077517, -1.4695761589768238e-15, 1, -1.4695761589768238e-15},
        {716041564.81774569, 1.9148215034291333e-13, -1, -1.9148215034291333e-13},
        {244889134.40467778, 1, -5.0754440485325891e-14, -19702709564675.816},
        {798662474.94811797, -1, 2.2994803651181813e-13, -4348808605498.1606},
      },
      float32 = {
        {37.699111938476562, 9.53990451e-08, 1, 9.53990451e-08},
        {17907.078125, -4.61821458e-07, 1, -4.61821458e-07},
        {2238.384765625, 1, 5.77276822e-08, 17322712},
        {4476.76953125, 1.15455364e-07, -1, -1.15455364e-07},
        {-13947.1005859375, 1, 3.25612916e-07, 3071131.25},
      },
    } do
      for _, case in ipairs(known) do
        local x = lucerna.full({17}, case[1], {dtype = lucerna[name]})
        for i, f in ipairs {"sin", "cos", "tan"} do
          local y = lucerna[f](x)
          assert.equal(y[1]:item(), y[17]:item())
          assert_within(2, name == "float64" and 52 or 23, y[1]:item(), case[i + 1], f .. case[1])
        end
      end
    end
  end)

  it("tan meets every sixteenth of a quarter turn", function()
    local x = lucerna.linspace(-3.1, 3.1, 4001, {dtype = lucerna.float64})
    local y = lucerna.tan(x)
    for i = 1, 4001, 7 do
      assert_within(3, 52, y[i]:item(), math.tan(x[i]:item()), "tan")
    end
    local few = lucerna.tensor({-0.0, 0, 1e-320, math.huge, 0 / 0}, {dtype = lucerna.float64}):tan()
    assert.equal(-math.huge, 1 / few[1]:item())
    assert.equal(math.huge, 1 / few[2]:item())
    assert.equal(1e-320, few[3]:item())
    assert.is_true(few[4]:isnan():item() and few[5]:isnan():item())
  end)

  it("ndtr keeps its digits in both tails", function()
    for _, case in ipairs {
      {-38, 2.8854283510039645e-316}, {-20.4, 8.3607786213280947e-93},
      {-5.5, 1.8989562465887718e-08}, {-1.3, 0.09680048458561033}, {-0.69, 0.24509709367430949},
      {-0.2, 0.42074029056089696}, {0.3, 0.61791142218895267}, {0.71, 0.76114793191001329},
      {2.5, 0.99379033467422384}, {8.5, 1}, {100, 1}, {math.huge, 1},
    } do
      local x = lucerna.full({9}, case[1], {dtype = lucerna.float64})
      assert_within(2, 52, special.ndtr(x)[9]:item(), case[2], "ndtr")
    end
    assert.equal(0, special.ndtr(lucerna.tensor({-math.huge, -200})):sum():item())
    assert.is_true(special.ndtr(lucerna.tensor({0 / 0})):isnan():item())
  end)

  it("erfc and ndtr are right where their pieces meet", function()
    local erfc, ndtr = special.erfc, special.ndtr
    for _, case in ipairs {
      {erfc, "float64", 0.49999999999999994, 0.47950012218695351},
      {erfc, "float64", -0.49999999999999994, 1.5204998778130465},
      {ndtr, "float64", -0.70710678118654735, 0.23975006109347679},
      {ndtr, "float64", 0.7071067811865474, 0.76024993890652321},
      {erfc, "float32", 0.4999999701976776, 0.479500148377},
      {erfc, "float32", 0.4999999403953552, 0.479500174566},
      {ndtr, "float32", -0.7071067094802856, 0.239750083372},
      {ndtr, "float32", 0.7071067690849304, 0.760249935147},
      {ndtr, "float32", -0.7005462646484375, 0.241793111555},
    } do
      local y = case[1](lucerna.full({17}, case[3], {dtype = lucerna[case[2]]}))
      assert_within(2, case[2] == "float64" and 52 or 23, y[17]:item(), case[4], case[2])
    end
  end)

  it("log2 and log10 keep their digits below 3/4 without fused products", function()
    for _, case in ipairs {
      {"log2", 0.7396051287651062, -0.435172865794}, {"log2", 0.7426637411117554, -0.429218951201},
      {"log10", 0.7499445676803589, -0.124970836395},
    } do
      local y = lucerna[case[1]](lucerna.full({17}, case[2]))
      assert_within(2, 23, y[17]:item(), case[3], case[1])
    end
  end)

  it("erfcx goes on to the largest numbers", function()
    for _, case in ipairs {
      {1e308, 5.64189583547756e-309}, {1.1e308, 5.12899621407051e-309},
      {1.7976931348623157e308, 3.138408733985445e-309}, {math.huge, 0},
    } do
      local x = lucerna.full({9}, case[1], {dtype = lucerna.float64})
      assert.is_true(math.abs(special.erfcx(x)[9]:item() - case[2]) <= 2.0 ^ -1073)
    end
  end)

  it("log_ndtr goes on where the square overflows, not its half", function()
    local x = lucerna.full({9}, -1.3578938659944229e154, {dtype = lucerna.float64})
    assert_within(2, 52, special.log_ndtr(x)[9]:item(), -9.2193787565263992e307, "log_ndtr")
    assert.equal(-math.huge, special.log_ndtr(x * 2)[9]:item())
  end)

  it("sum zeta's terms left of zero at once", function()
    local function double(...) return lucerna.tensor({...}, {dtype = lucerna.float64}) end
    local left = double(-8 - 1 / 3.375, -64 - 1 / 1.953125 - 1 / 11.390625)
    parity.close(special.zeta(3, double(-1.5, -2.25)), special.zeta(3, double(0.5, 0.75)) + left)
    assert.is_true(special.zeta(2, double(-1e15 - 0.5)):isfinite():all():item())
  end)

  it("of arcs have PyTorch's gradients at poles and far away", function()
    local inf = math.huge
    for name, want in pairs {atan = {2, 1, 0.2, 0, 0}, atanh = {2, inf, -0.25, -0.0, -0.0},
      asinh = {2, 2 ^ 0.5, 2 * 0.1 ^ 0.5, 0, 0}} do
      local leaf = lucerna.tensor({0, 1, -3, 1e200, inf}, {dtype = lucerna.float64})
      local y = lucerna[name](leaf:requires_grad_())
      y:backward(lucerna.full_like(y, 2))
      for i, slope in ipairs(want) do
        local got = leaf.grad[i]:item()
        assert.is_true(got == slope or math.abs(got - slope) < 1e-15, name)
        assert.equal(1 / slope < 0, 1 / got < 0)
      end
    end
  end)

  it("end in infinities and NaN, alone and among others", function()
    local inf, nan = 1 / 0, 0 / 0
    local ends = {
      erfinv = {{0, 0}, {-0.0, -0.0}, {1, inf}, {-1, -inf}, {1.5, nan}, {-2, nan}, {inf, nan},
        {-inf, nan}, {nan, nan}, {0.5, 0.47693627620447}, {0.75, 0.81341985475}},
      ndtri = {{0, -inf}, {-0.0, -inf}, {1, inf}, {-1e-30, nan}, {2, nan}, {inf, nan}, {-inf, nan},
        {nan, nan}, {0.5, 0}, {1e-9, -5.9978070150077}},
      gammaln = {{0, inf}, {-0.0, inf}, {inf, inf}, {-inf, inf}, {nan, nan}, {-1, inf}, {1, 0},
        {2, 0}, {0.5, 0.57236494292470}, {-0.5, 1.2655121234846}},
    }
    for name, rows in pairs(ends) do
      for _, dtype in ipairs {lucerna.float32, lucerna.float64, lucerna.float16} do
        local x = {}
        for i, row in ipairs(rows) do x[i] = row[1] end
        local all = special[name](lucerna.tensor(x):to(dtype)):double():tolist()
        for i, row in ipairs(rows) do
          local alone = special[name](lucerna.tensor({row[1]}):to(dtype)):double():item()
          local want = dtype == lucerna.float16 and math.abs(row[1]) < 1e-7 and all[i] or row[2]
          assert.equal(alone ~= alone, all[i] ~= all[i])
          assert.is_true(alone ~= alone or alone == all[i], name)
          assert.equal(want ~= want, all[i] ~= all[i], name)
          assert.is_true(want ~= want or want == all[i]
            or math.abs(want - all[i]) <= 5e-3 * math.abs(want), name .. row[1])
        end
      end
    end
  end)

  it("take halves, computed in float", function()
    for _, name in ipairs {"erfcx", "ndtr", "i0", "i1e", "entr", "bessel_j0"} do
      for _, dtype in ipairs {lucerna.float16, lucerna.bfloat16} do
        local x = lucerna.tensor({0.5, 1.25, 2}, {dtype = dtype})
        parity.close(special[name](x), special[name](x:float()):to(dtype))
      end
    end
  end)

  it("write to what they are told", function()
    local out = lucerna.empty(0)
    assert.equal(out, special.i1(lucerna.ones(3), {out = out}))
    parity.close(out, special.i1(lucerna.ones(3)))
    local x = lucerna.tensor {0.5, 3}
    assert.equal(x, x:i0_())
    parity.close(x, lucerna.tensor {1.0634833707, 4.8807925859})
  end)

  it("say whose derivative is not known", function()
    local a, x = lucerna.ones(2):requires_grad_(), lucerna.ones(2)
    for name, text in pairs {gammainc = "igamma: input", gammaincc = "igammac: input",
      zeta = "zeta"} do
      local loss = special[name](a * 2, x):sum()
      local message = parity.message(function() loss:backward() end)
      assert.matches("the derivative for '" .. text .. "' is not implemented", message, 1, true)
    end
  end)
end)

describe("polynomials", function()
  it("of degree 0, or of none, do not depend on x", function()
    local x = lucerna.tensor {0 / 0, 2}
    for _, name in ipairs {"chebyshev_polynomial_t", "chebyshev_polynomial_u",
      "chebyshev_polynomial_v", "chebyshev_polynomial_w", "hermite_polynomial_h",
      "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
      "shifted_chebyshev_polynomial_t"} do
      assert.same({0.0, 0.0}, special[name](x, -1):tolist())
      assert.same({1.0, 1.0}, special[name](x, 0):tolist())
      assert.is_true(special[name](x, 1)[1]:isnan():item())
    end
  end)
end)
