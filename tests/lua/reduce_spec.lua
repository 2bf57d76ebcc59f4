-- Reductions, scans, sorting and searching, against PyTorch's recorded answers.
local cases = require "cases"
local parity = require "parity"

describe("like PyTorch:", function()
  for i, case in ipairs(parity.load("reduce")) do
    it(("%s (%d)"):format(case.name, i), function()
      cases.run(case, {})
      if not case.dense then cases.run(case, {view = true}) end
      if case.grads and not case.rough then cases.check_derivatives(case) end
    end)
  end
end)
