-- lucerna.fft, stft, istft and windows like PyTorch's: what tests/parity/gen_fft.py recorded.
local cases = require "cases"
local parity = require "parity"

describe("fft like PyTorch:", function()
  for i, case in ipairs(parity.load("fft")) do
    it(("%s (%d)"):format(case.name, i), function()
      cases.run(case, {})
      cases.run(case, {view = true})
      if case.grads and not case.rough then cases.check_derivatives(case) end
    end)
  end
end)
