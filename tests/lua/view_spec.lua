-- Views, rearranging, joining and splitting, in-place too, against PyTorch's recorded answers.
local cases = require "cases"

describe("like PyTorch:", function()
  for _, file in ipairs {"view", "views"} do
    for title, check in cases.each(file) do it(title, check) end
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
