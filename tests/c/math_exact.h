/* Exact values for test_math.c: in long double, whose 64 bits leave 11 beyond those of double, what
 * the C library lacks. Where more of them cancel, quad has 113. */
#ifndef LUC_MATH_EXACT_H
#define LUC_MATH_EXACT_H

#include <float.h>
#include <math.h>

#if LDBL_MANT_DIG < 113 && defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 quad;
#else
typedef long double quad;
#endif

static const long double PI = 3.14159265358979323846264338327950288L;

static long double sigmoid(long double x) {
  return 1 / (1 + expl(-x));
}
/* Even, in the signs of its zeros too. */
static long double sinc(long double x) {
  x = fabsl(x);
  long double whole = rintl(x), sign = fmodl(whole, 2) == 0 ? 1 : -1;
  return x == 0 ? 1 : sign * sinl(PI * (x - whole)) / (PI * x);
}
static long double entr(long double x) {
  return x < 0 ? -INFINITY : x == 0 ? 0 : -x * logl(x);
}
/* The angle whose sine and tangent are, but for a sign, those of pi x. */
static long double off_whole(long double x) {
  return PI * (x - rintl(x));
}
static long double digamma(long double x) {
  static const long double terms[] = {1 / 12.0L,   691 / 32760.0L, -1 / 132.0L, 1 / 240.0L,
                                      -1 / 252.0L, 1 / 120.0L,     -1 / 12.0L};
  long double y = 0, z, sum = -terms[0];
  if (x == 0) return copysignl(INFINITY, -x);
  if (x == INFINITY || isnan(x)) return x;
  if (x < 0) return x == rintl(x) ? NAN : digamma(1 - x) - PI / tanl(off_whole(x));
  for (; x < 30; x += 1) y -= 1 / x;
  z = 1 / (x * x);
  for (int i = 1; i < 7; i++) sum = sum * z + terms[i];
  return y + logl(x) - 0.5L / x + z * sum;
}
/* By Newton's method. */
static long double erfinv(long double y) {
  long double a = fabsl(y), x = a < 0.99L ? a : 1.8L;
  if (!(a < 1)) return a == 1 ? copysignl(INFINITY, y) : NAN;
  for (int i = 0; i < 60; i++) {
    long double over = a > 0.5L ? (1 - a) - erfcl(x) : erfl(x) - a;
    x -= over * sqrtl(PI) / 2 * expl(x * x);
  }
  return copysignl(x, y);
}

static long double trigamma(long double x) {
  static const long double terms[] = {-691 / 2730.0L, 5 / 66.0L,  -1 / 30.0L,
                                      1 / 42.0L,      -1 / 30.0L, 1 / 6.0L};
  long double y = 0, z, sum = 7 / 6.0L;
  if (x == 0) return INFINITY;
  if (isinf(x) || isnan(x)) return x == INFINITY ? 0 : NAN;
  if (x < 0) return powl(PI / sinl(off_whole(x)), 2) - trigamma(1 - x);
  for (; x < 40; x += 1) y += 1 / (x * x);
  z = 1 / (x * x);
  for (int i = 0; i < 6; i++) sum = sum * z + terms[i];
  return y + 1 / x + z / 2 + z / x * sum;
}
/* The normal distribution: erfc's argument is rounded, which its slope puts back. */
static long double normal(long double x) {
  static const long double root = 0.70710678118654752440084436210484903928L;
  long double t = -x * root, lost = fmal(-x, root, -t), y = erfcl(t);
  if (fabsl(x) > 100) return x > 0 ? 1 : isnan(x) ? x : 0;
  return 0.5L * (y - lost * 2 / sqrtl(PI) * expl(-t * t));
}
/* I of order 0 and 1, times e^-|x|. */
static long double scaled_bessel(int order, long double x) {
  long double term = expl(-fabsl(x)) * (order ? x / 2 : 1), sum = term;
  for (int k = 1; k < 2000 && sum != 0; k++) {
    term *= x * x / 4 / ((long double)k * (k + order));
    sum += term;
  }
  return isinf(x) ? (order ? copysignl(0, x) : 0) : sum;
}
static long double i0e(long double x) {
  return scaled_bessel(0, x);
}
static long double i1e(long double x) {
  return scaled_bessel(1, x);
}
static long double i0(long double x) {
  return isinf(x) ? INFINITY : i0e(x) * expl(fabsl(x));
}
static long double i1(long double x) {
  return isinf(x) ? x : i1e(x) * expl(fabsl(x));
}
/* K, times e^x: the trapezoidal rule on an integral. */
static long double scaled_bessel_k(long double order, long double x) {
  if (!(x > 0)) return x == 0 ? INFINITY : NAN;
  long double h = x < 4 ? 0.2L : 0.4L / sqrtl(x), sum = 0.5L, term = 1;
  for (int k = 1; term > 1e-21L * sum; k++) {
    long double s = sinhl(k * h / 2);
    term = expl(-2 * x * s * s) * coshl(order * k * h);
    sum += term;
  }
  return isinf(x) ? 0 : h * sum;
}
static long double k0e(long double x) {
  return scaled_bessel_k(0, x);
}
static long double k1e(long double x) {
  return scaled_bessel_k(1, x);
}
static long double k0(long double x) {
  return isinf(x) && x > 0 ? 0 : k0e(x) * expl(-x);
}
static long double k1(long double x) {
  return isinf(x) && x > 0 ? 0 : k1e(x) * expl(-x);
}

static long double j0_of(long double x) {
  return isinf(x) ? NAN : j0l(x);
}
static long double j1_of(long double x) {
  return isinf(x) ? NAN : j1l(x);
}
static long double y0_of(long double x) {
  return isinf(x) || x < 0 ? NAN : y0l(x);
}
static long double y1_of(long double x) {
  return isinf(x) || x < 0 ? NAN : y1l(x);
}
static long double spherical_j0(long double x) {
  return isinf(x) ? 0 : x == 0 ? 1 : sinl(x) / x;
}

/* ---- the error function's kin ---- */

/* e^(x^2) erfc(x); from 8 on its asymptotic series. */
static long double erfcx(long double x) {
  long double z = 0.5L / (x * x), sum = 1;
  if (x < 8) return expl(x * x) * erfcl(x);
  for (int k = 60; k > 0; k--) sum = 1 - (2 * k - 1) * z * (2 * k * z < 1 ? sum : 1);
  return sum / (x * sqrtl(PI));
}
static long double log_ndtr(long double x) {
  if (x < -8) return logl(0.5L * erfcx(-x / sqrtl(2))) - x * x / 2;
  return x < 0 ? logl(normal(x)) : log1pl(-normal(-x));
}

/* In the tails by Newton's method on logarithms. */
static long double normal_inverse(long double p) {
  long double tail = p < 0.5L ? p : 1 - p, x = -2;
  if (!(tail > 0)) return tail == 0 ? (p == 0 ? -INFINITY : INFINITY) : NAN;
  if (tail > 0.02L) return sqrtl(2) * erfinv(2 * p - 1);
  for (int i = 0; i < 40; i++) {
    long double log = log_ndtr(x);
    x -= (log - logl(tail)) * expl(log + x * x / 2) * sqrtl(2 * PI);
  }
  return p < 0.5L ? x : -x;
}

/* ---- activations ---- */

static long double gelu(long double x) {
  return x * normal(x);
}
static long double silu(long double x) {
  return x / (1 + expl(-x));
}
static long double gelu_tanh(long double x) {
  static const double c[] = {1.5957691216057308, -9.9693088091109202e-17}; /* sqrt(8 / pi) */
  quad z = (copysignl(fminl(fabsl(x), 1000), x));
  z *= ((quad)c[0] + c[1]) * (1 + z * z * 44715 / 1000000);
  long double high = (long double)z, low = (long double)(z - high);
  return x / (1 + expl(-high) * (1 - low));
}
static long double mish(long double x) {
  return x * tanhl(log1pl(expl(x)));
}
/* Near 0 a series of (x cosh(x) - sinh(x)) / cosh(x). */
static long double tanhshrink(long double x) {
  long double term = x * x * x / 6, sum = 0;
  if (fabsl(x) > 1) return x - tanhl(x);
  for (int k = 1; k < 20; k++) {
    sum += 2 * k * term;
    term *= x * x / ((2 * k + 2) * (2 * k + 3));
  }
  return sum / coshl(x);
}
static long double elu(long double x) {
  return x > 0 ? x : expm1l(x);
}
static long double selu(long double x) {
  return (x > 0 ? x : expm1l(x) * 1.6732632423543772848170429916717) *
         1.0507009873554804934193349852946;
}
static long double celu(long double x) {
  return x > 0 ? x : expm1l(x * 3) / 3;
}
static long double celu_hundred(long double x) {
  return x > 0 ? x : expm1l(x / 100) * 100;
}
static long double celu_minus_two(long double x) {
  return x > 0 ? x : expm1l(x / -2) * -2;
}
static long double softsign(long double x) {
  return isinf(x) ? x - x : x / (1 + fabsl(x));
}
static long double softplus(long double x) {
  return x > 20 ? x : log1pl(expl(x));
}
static long double logsigmoid(long double x) {
  return fminl(x, 0) - log1pl(expl(-fabsl(x)));
}
static long double logit(long double x) {
  if (!(x >= 0 && x <= 1)) return NAN;
  return fabsl(x - 0.5L) < 0.2L ? log1pl((2 * x - 1) / (1 - x)) : logl(x / (1 - x));
}
static long double rsqrt(long double x) {
  return x < 0 ? NAN : 1 / sqrtl(x);
}
static long double xlogy(long double x, long double y) {
  return isnan(y) ? NAN : x == 0 ? 0 : x * logl(y);
}
static long double xlog1py(long double x, long double y) {
  return isnan(y) ? NAN : x == 0 ? 0 : x * log1pl(y);
}

static long double softplus_with(long double beta, long double x) {
  return x * beta > 20 ? x : log1pl(expl(x * beta)) / beta;
}
static long double softplus_half(long double x) {
  return softplus_with(0.5L, x);
}
static long double softplus_three(long double x) {
  return softplus_with(3, x);
}
static long double softplus_ten(long double x) {
  return softplus_with(10, x);
}
static long double softplus_tenth(long double x) {
  return softplus_with(0.1, x);
}
static long double softplus_thousand(long double x) {
  return softplus_with(1000, x);
}
static long double softplus_thousandth(long double x) {
  return softplus_with(0.001, x);
}
static long double logaddexp(long double x, long double y) {
  long double most = fmaxl(x, y);
  if (isnan(x) || isnan(y)) return x + y;
  return isinf(most) ? most : most + log1pl(expl(-fabsl(x - y)));
}
static long double logaddexp2(long double x, long double y) {
  long double most = fmaxl(x, y);
  if (isnan(x) || isnan(y)) return x + y;
  return isinf(most) ? most : most + log1pl(exp2l(-fabsl(x - y))) / logl(2);
}

/* ---- incomplete gamma functions ---- */

/* By log((1 + s) / (1 - s)). */
static quad quad_log(quad x) {
  int e = (int)ilogbl((long double)x / 0.7L);
  quad m = x * ldexpl(1, -e), s = (m - 1) / (m + 1), w = s * s, sum = 0;
  for (int k = 55; k > 0; k -= 2) sum = sum * w + (quad)1 / k;
  return 2 * s * sum + e * ((quad)0.69314718055994529 + 2.3190468138462996e-17);
}
static long double quad_exp(quad x) {
  long double high = (long double)x, low = (long double)(x - high);
  return expl(high) * (1 + low);
}
/* x^a e^-x / Gamma(a + 1), by Stirling's formula far from 0. */
static long double poisson(quad a, quad x) {
  static const int over[] = {1, -1, 1, -1, 1, -691, 1};
  static const int under[] = {12, 360, 1260, 1680, 1188, 360360, 156};
  quad t = a + 1, steps = 1, sum = 0;
  for (; t < 60; t += 1) steps *= t;
  for (int i = 6; i >= 0; i--) sum = sum / (t * t) + (quad)over[i] / under[i];
  sum = (t - (quad)0.5) * quad_log(t) - t + (quad)0.91893853320467278 + sum / t;
  sum += -3.8782941580672414e-17 - quad_log(steps); /* log(Gamma(a + 1)) */
  return quad_exp(a * quad_log(x) - x - sum);
}
/* P by its series, Q by Legendre's fraction where that converges fast, one minus the other. */
static long double gamma_share(long double a, long double x, int upper) {
  quad sum = 1, term = 1, z = 0;
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return NAN;
  if (a == 0 || x == 0 || isinf(a) || isinf(x)) return (a == 0 || isinf(x)) != upper;
  if (x > a + sqrtl(a) + 1) {
    for (int k = 400; k > 0; k--) z = k * (k - (quad)a) / (x + 2 * k + 1 - (quad)a - z);
    long double q = (long double)(poisson(a, x) * a / (x + 1 - (quad)a - z));
    return upper ? q : 1 - q;
  }
  for (int k = 1; term > 1e-36L * sum; k++) sum += term *= x / ((quad)a + k);
  quad p = sum * poisson(a, x);
  return (long double)(upper ? 1 - p : p);
}
/* ---- Airy's Ai ---- */

/* By powers of x. */
static long double airy_near(quad x) {
  quad cube = x * x * x, f = (quad)0.35502805388781722 + 2.0523363243621199e-17;
  quad g = ((quad)-0.25881940379280682 + 2.5222431116108321e-17) * x, sum = f + g;
  for (int k = 2; k < 300; k += 3) {
    f *= cube / (k * (k + 1));
    g *= cube / ((k + 1) * (k + 2));
    sum += f + g;
  }
  return (long double)sum;
}
/* Of -z by Hankel's expansion, zeta being 2/3 z^(3/2) (Abramowitz and Stegun 10.4.60). */
static long double airy_wave(long double z, quad zeta) {
  const quad turn = 2 * ((quad)3.1415926535897931 + 1.2246467991473532e-16);
  quad angle = zeta + turn / 8;
  long double r = (long double)(angle - turn * (long long)(angle / turn)), term = 1;
  long double sums[2] = {1, 0};
  for (int k = 1; k < 40; k++) {
    term *= (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0L * k * (2 * k - 1) * zeta);
    sums[k % 2] += k / 2 % 2 ? -term : term;
  }
  return (sinl(r) * sums[0] - cosl(r) * sums[1]) / sqrtl(PI * sqrtl(z));
}
static long double airy(long double x) {
  if (isinf(x) || isnan(x)) return NAN;
  if (x > -12 && x < 6) return airy_near(x);
  long double z = fabsl(x), s = sqrtl(z);
  quad zeta = 2 * (quad)z * (s + ((quad)z - (quad)s * s) / (2 * s)) / 3;
  if (x < 0) return airy_wave(z, zeta);
  long double high = (long double)zeta, low = (long double)(zeta - high);
  return expl(-high) * (1 - low) * sqrtl(x / 3) / PI * scaled_bessel_k(1 / 3.0L, high);
}

/* ---- Hurwitz' zeta ---- */

/* q > 0 */
static long double zeta_right(long double s, long double q) {
  static const long double terms[] = {1 / 12.0L, -1 / 720.0L, 1 / 30240.0L, -1 / 1209600.0L,
                                      1 / 47900160.0L};
  long double sum = 0, power, rise = s;
  for (; q < 400; q += 1) sum += powl(q, -s);
  power = powl(q, -s);
  sum += power * (q / (s - 1) + 0.5L);
  for (int k = 0; k < 5; k++) {
    sum += terms[k] * rise * power / q;
    rise *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
  }
  return sum;
}
/* For q < 0 s is whole, and the terms are added up one by one; `size` is the sum of their sizes. */
static long double zeta(long double s, long double q, long double *size) {
  long double left = 0, sign = fmodl(s, 2) == 1 ? -1 : 1;
  for (; q < 0; q += 1) left += powl(-q, -s);
  long double right = zeta_right(s, q);
  *size = left + right;
  return sign * left + right;
}

#endif
