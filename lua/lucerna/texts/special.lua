-- Special functions: lucerna.special, and those that the library itself has.
return { title = "Special functions",
{"erf erfc erfinv special.erf special.erfc special.erfinv", [=[
The error function, 1 - erf, and erf's inverse.]=]},
{"special.erfcx", [=[
exp(x²) erfc(x), which does not vanish where erfc does.
> local y = lucerna.special.erfcx(lucerna.tensor {30.0})    -- 0.0188]=]},
{"special.ndtr special.log_ndtr special.ndtri", [=[
The normal distribution: the probability below x, its logarithm (exact far to the left), and the x
below which the probability is p.]=]},
{"special.entr", "-x log x; 0 at 0, -inf below."},
{"logit special.logit", "log(x / (1 - x)); eps first clamps x to [eps, 1 - eps]."},
{"xlogy special.xlogy", "input log other; 0 where input is 0."},
{"special.xlog1py", "input log(1 + other); 0 where input is 0."},
{"sinc special.sinc", "sin(πx) / (πx), 1 at 0."},
{"lgamma special.gammaln digamma special.digamma special.psi", "log |Γ(x)| and its derivative."},
{"polygamma special.polygamma", "The n-th derivative of digamma: polygamma(n, x), x:polygamma(n)."},
{"mvlgamma special.multigammaln", "The multivariate log Γ of dimension p."},
{"igamma igammac special.gammainc special.gammaincc", [=[
The regularized incomplete gamma functions, lower and upper, of (a, x); gradients to x alone.
> local y = lucerna.igamma(lucerna.tensor {2.0}, lucerna.tensor {1.0})    -- 0.2642]=]},
{"special.zeta", "Hurwitz' zeta of (s, q): the sum of (q + n)^-s over n = 0, 1, …"},
{"i0 special.i0 special.i0e special.i1 special.i1e special.modified_bessel_i0 "
  .. "special.modified_bessel_i1", [=[
The modified Bessel functions of the first kind, orders 0 and 1; e: times e^-|x|.]=]},
{"special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1", [=[
Bessel functions of the first and second kind; without gradients, as in PyTorch.]=]},
{"special.modified_bessel_k0 special.modified_bessel_k1", [=[
The modified Bessel functions of the second kind; without gradients.]=]},
{"special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1", [=[
modified_bessel_k0 and modified_bessel_k1, times e^x; without gradients.]=]},
{"special.airy_ai", "Airy's function Ai; without gradients."},
{"special.spherical_bessel_j0", "sin(x) / x, 1 at 0; without gradients."},
{"special.expit", "1 / (1 + e^-x): sigmoid."},
{"special.exp2 special.expm1 special.log1p special.round", "As without `special.`."},
{"special.softmax special.log_softmax special.logsumexp", "As without `special.`, along dim."},
{"special.chebyshev_polynomial_t special.chebyshev_polynomial_u "
  .. "special.chebyshev_polynomial_v special.chebyshev_polynomial_w", [=[
Chebyshev's polynomials of four kinds of degree n; without gradients, as all polynomials here.
> local y = lucerna.special.chebyshev_polynomial_t(lucerna.tensor {0.5}, 2)    -- -0.5]=]},
{"special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u "
  .. "special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w", [=[
Chebyshev's polynomials of 2x - 1, for x in [0, 1].]=]},
{"special.hermite_polynomial_h special.hermite_polynomial_he", [=[
Hermite's polynomials of physicists and of probability theory.]=]},
{"special.laguerre_polynomial_l special.legendre_polynomial_p", [=[
Laguerre's and Legendre's polynomials of degree n.]=]},
}
