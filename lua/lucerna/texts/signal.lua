-- Sampled signals: Fourier transforms and windows.
return { title = "Fourier transforms and windows",
{"fft.fftfreq", [=[
The frequencies of fft's n results, in cycles per unit of which a sample takes d: 0 and the positive
ones, then the negative ones.
> local f = lucerna.fft.fftfreq(5)    -- 0 0.2 0.4 -0.4 -0.2]=]},
{"fft.rfftfreq", "The frequencies of rfft's n / 2 + 1 results: none is negative."},
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
