-- Random numbers: PyTorch's for the same seed, exactly where it is uniform,
-- to 1e-6 where it is not.
local lucerna = require "lucerna"
local cases = require "cases"
local parity = require "parity"

local function near(got, want)
  for i, v in ipairs(want) do assert.is_near(v, got[i], 2e-6 * (1 + math.abs(v))) end
end

describe("PyTorch's numbers:", function()
  for i, case in ipairs(parity.load("random")) do
    if case.fn then
      it(("%s (%d)"):format(case.name, i), function() cases.run(case, {}) end)
    elseif case.view then
      it("in the order of memory: " .. case.view, function()
        local x = lucerna.zeros(4, 3, 6)
        lucerna.manual_seed(case.seed)
        local y = x:permute(3, 1, 2)[{{2, -1, 2}}]
        assert.equal(y, y[case.view](y))
        near(y:reshape(-1):tolist(), case.data)
      end)
    else
      it("a long " .. case.long .. " of " .. case.dtype, function()
        lucerna.manual_seed(case.seed)
        local x = lucerna[case.long](5003, {dtype = lucerna[case.dtype]})
        assert.is_near(case.sum, x:double():sum():item(), 1e-2)
        near(lucerna.cat({x[{{1, 20}}], x[{{-20, -1}}]}):tolist(), case.data)
      end)
    end
  end
end)

describe("uniform numbers", function()
  it("are exactly PyTorch's", function()
    lucerna.manual_seed(42)
    local x = lucerna.rand(4)
    assert.same({14802022, 15351219, 6423388, 16094478}, x:mul(2 ^ 24):to(lucerna.int64):tolist())
  end)
end)

describe("random fills", function()
  it("leave a graph whose gradient is zero", function()
    local x = lucerna.ones(3, {requires_grad = true})
    local y = x:mul(2)
    y:uniform_()
    y:sum():backward()
    assert.same({0.0, 0.0, 0.0}, x.grad:tolist())
  end)

  it("refuse a leaf that requires grad", function()
    local message = parity.message(function() lucerna.ones(3, {requires_grad = true}):normal_() end)
    assert.matches("leaf", message)
  end)
end)
