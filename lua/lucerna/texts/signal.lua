-- Sampled signals: Fourier transforms and windows.
return { title = "Fourier transforms and windows",
{"fft.fft", [=[
The discrete Fourier transform along dim: y_k = sum over j from 0 of x_j exp(-2πi jk / n). The
input, real or complex, is cut off or filled with zeros to n elements. norm: "backward" leaves the
sum as it is, "ortho" divides it by √n, "forward" by n. Computed by FFTW, which must be installed.
> local y = lucerna.fft.fft(lucerna.tensor {1.0, 0.0, 0.0})    -- 1 1 1, complex]=]},
{"fft.ifft", [=[
The inverse of fft: exp(+2πi jk / n), divided by n with the default norm "backward".
> local x = lucerna.fft.ifft(lucerna.fft.fft(lucerna.ones(4)))]=]},
{"fft.fft2 fft.ifft2", "fft and ifft along two dims, the last ones by default; s: the lengths."},
{"fft.fftn fft.ifftn", [=[
fft and ifft along several dims: those of dim, else as many of the last ones as s has lengths, else
all. In s, -1 leaves a dim as it is.
> local y = lucerna.fft.fftn(lucerna.ones(2, 3, 4), {dim = {1, 3}})]=]},
{"fft.rfft", [=[
fft of real input: only the n / 2 + 1 frequencies that are not negative. The others are their
complex conjugates.
> local y = lucerna.fft.rfft(lucerna.ones(8))    -- [5]]=]},
{"fft.irfft", [=[
The inverse of rfft: n real numbers, by default the even 2 (m - 1) of m frequencies; odd lengths
must be given.
> local x = lucerna.fft.irfft(lucerna.fft.rfft(lucerna.ones(5)), 5)]=]},
{"fft.rfft2 fft.rfftn", "rfft along several dims; only the last of them is halved."},
{"fft.irfft2 fft.irfftn", "The inverse of rfft2 and rfftn; the last of s is the real length."},
{"fft.hfft", [=[
fft of a signal that is real in frequencies: given are the n / 2 + 1 elements at times not negative,
the result is real.
> local y = lucerna.fft.hfft(lucerna.ones(3), 5)]=]},
{"fft.ihfft", "The inverse of hfft: of real input the elements at times not negative."},
{"fft.hfft2 fft.hfftn", "hfft along the last dim, fft along the others."},
{"fft.ihfft2 fft.ihfftn", "ihfft along the last dim, ifft along the others."},
{"fft.fftshift", [=[
Moves frequency 0 from the beginning to the middle, along dim or every dim.
> local f = lucerna.fft.fftshift(lucerna.fft.fftfreq(4))    -- -0.5 -0.25 0 0.25]=]},
{"fft.ifftshift", "Undoes fftshift."},
{"fft.fftfreq", [=[
The frequencies of fft's n results, in cycles per unit of which a sample takes d: 0 and the positive
ones, then the negative ones.
> local f = lucerna.fft.fftfreq(5)    -- 0 0.2 0.4 -0.4 -0.2]=]},
{"fft.rfftfreq", "The frequencies of rfft's n / 2 + 1 results: none is negative."},
{"stft", [=[
Transforms of the overlapping frames of a signal [T] or [B, T]: [B, frequencies, frames]. A frame
has n_fft samples, every hop_length (n_fft / 4) one begins; each is multiplied by the window, whose
win_length values stand in the middle. center: frame k is around sample k hop_length, and pad_mode
says what lies before and behind the signal. normalized: divided by √n_fft. onesided, the default
of real input: only frequencies that are not negative. return_complex must be given for real input;
false gives [.., 2].
> local window = lucerna.hann_window(16)
> local y = lucerna.randn(100):stft(16, {window = window, return_complex = true})    -- [9, 26]]=]},
{"istft", [=[
The signal whose stft, with the same arguments, is closest: frames are transformed back, multiplied
by the window, added where they overlap and divided by the sum of the squared windows, which must
not be 0 anywhere. length: of the signal, if it is known.
> local window = lucerna.hann_window(16)
> local y = lucerna.randn(100):stft(16, {window = window, return_complex = true})
> local x = lucerna.istft(y, 16, {window = window, length = 100})]=]},
{"hann_window", [=[
0.5 - 0.5 cos(2πk / N): a window of window_length values to multiply a piece of a signal with.
periodic: N = window_length, for transforms; otherwise N = window_length - 1, symmetric.
> local w = lucerna.hann_window(4)    -- 0 0.5 1 0.5]=]},
{"hamming_window", "alpha - beta cos(2πk / N)."},
{"blackman_window", "0.42 - 0.5 cos(2πk / N) + 0.08 cos(4πk / N)."},
{"bartlett_window", "1 - |2k / N - 1|: a triangle."},
{"kaiser_window", [=[
I0(beta √(1 - (2k / N - 1)²)) / I0(beta); a larger beta has weaker side lobes
and a wider main one.]=]},
}
