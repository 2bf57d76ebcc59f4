-- Statistics, distances and products of pairs, against PyTorch's recorded answers and themselves.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"

describe("like PyTorch:", function()
  for title, check in cases.each("reductions") do it(title, check) end
end)

describe("a running product", function()
  it("in another dtype has its gradient in that dtype", function()
    local x = lucerna.tensor({1.0, 2, 3}):to(lucerna.complex64):requires_grad_()
    x:cumprod(1, {dtype = lucerna.float32}):sum():backward()
    assert.same({9.0, 4.0, 2.0}, lucerna.real(x.grad):tolist())
  end)
end)

describe("statistics", function()
  it("leave NaN out of histograms, as newer PyTorch does", function()
    local x = lucerna.tensor {1, 0 / 0, 2, 3}
    assert.same({0.0, 1.0, 2.0}, lucerna.histc(x, 3, 0, 3):tolist())
    assert.same({1.0, 2.0}, (lucerna.histogram(x, lucerna.tensor {0.0, 2, 3})):tolist())
  end)

  it("take halves", function()
    for _, dtype in ipairs {lucerna.float16, lucerna.bfloat16} do
      local x = lucerna.tensor({{1, 2, 4}, {0, 3, 1}}, {dtype = dtype})
      local wide = x:float()
      for name, more in pairs {cov = {}, trapezoid = {}, nanmedian = {}, histc = {4},
        renorm = {2, 1, 1.5}} do
        local got = lucerna[name](x, table.unpack(more))
        assert.equal(dtype, got.dtype)
        parity.close(got, lucerna[name](wide, table.unpack(more)):to(dtype))
      end
      parity.close(lucerna.cdist(x, x), lucerna.cdist(wide, wide):to(dtype))
    end
  end)

  it("histograms of weights sum to them", function()
    lucerna.manual_seed(3)
    local x, w = lucerna.randn(1000), lucerna.rand(1000)
    local hist, edges = lucerna.histogram(x, 10, {weight = w})
    assert.is_true(math.abs(hist:sum():item() - w:sum():item()) < 1e-2)
    assert.equal(x:min():item(), edges[1]:item())
    assert.equal(x:max():item(), edges[-1]:item())
    local density = lucerna.histogram(x, 10, {weight = w, density = true})
    assert.is_true(math.abs((density * edges:diff()):sum():item() - 1) < 1e-5)
  end)
end)
