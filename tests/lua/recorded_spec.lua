-- Operators against PyTorch's recorded answers: creation and conversion, indexing, functions of
-- numbers, reductions, scans and sorting. Areas with more to say have specs of their own.
local cases = require "cases"

for _, area in ipairs {"create", "index_ops", "pointwise", "reduce"} do
  describe("like PyTorch: " .. area, function()
    for title, check in cases.each(area) do it(title, check) end
  end)
end
