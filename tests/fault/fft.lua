-- What the out-of-memory sweep runs with signals: every transform forward and backward, frames and
-- back, windows, eigenvalues. Returns the scenario as a function.
local lucerna = require "lucerna"
local fft = lucerna.fft

local function scenario()
  local x = lucerna.tensor({1, 2, 0.5, -1, 3, 0.25}, {dtype = lucerna.float64}):requires_grad_()
  local y = x:reshape(2, 3)
  for _, name in ipairs {"fft", "ifft", "rfft", "ihfft", "irfft", "hfft"} do
    fft[name](x, 5):abs():sum():backward()
    fft[name .. "n"](y, {4, 3}):abs():sum():backward()
  end
  local window = lucerna.kaiser_window(4, {dtype = lucerna.float64})
  local z = x:stft(4, 2, {window = window, return_complex = true})
  z:istft(4, 2, {window = window}):sum():backward()
  fft.fftshift(fft.fftfreq(6))
  local a = lucerna.tensor {{1.0, 2.0, 0.5}, {-1.0, 3.0, 1.0}, {0.0, 1.0, 7.0}}
  local values, vectors = lucerna.linalg.eig(a:requires_grad_())
  values:abs():sum():add(vectors:abs():sum()):backward()
end

return scenario
