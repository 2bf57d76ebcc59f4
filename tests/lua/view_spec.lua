-- Views, rearranging, joining and splitting, in-place too, against PyTorch's recorded answers.
local cases = require "cases"
local parity = require "parity"

describe("like PyTorch:", function()
  for _, file in ipairs {"view", "views"} do
    for i, case in ipairs(parity.load(file)) do
      it(("%s (%d)"):format(case.name, i), function()
        cases.run(case, {})
        if not case.dense then cases.run(case, {view = true}) end
        if case.grads and not case.rough then cases.check_derivatives(case) end
      end)
    end
  end
end)

describe("repeat", function()
  it("nothing, however often, has a gradient of zeros", function()
    local lucerna = require "lucerna"
    local x = lucerna.ones(1, 2):requires_grad_()
    x["repeat"](x, 0, 1 << 40):sum():backward()
    assert.same({{0, 0}}, x.grad:tolist())
  end)
end)
