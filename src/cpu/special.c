/* Special functions in double. erfinv is a rational start (Giles' and PyTorch's coefficients) with
 * three steps of Newton's method. */
#include "cpu/special.h"

#include <float.h>
#include <math.h>

static const double PI = 3.14159265358979323846, SQRT_HALF = 0.70710678118654752440;
static const long double PI_LONG = 3.14159265358979323846264338327950288L;

static double erfinv_start(double y) {
  if (fabs(y) <= 0.7) {
    double z = y * y;
    double above = ((-0.140543331 * z + 0.914624893) * z - 1.645349621) * z + 0.886226899;
    double below =
        (((0.012229801 * z - 0.329097515) * z + 1.442710462) * z - 2.118377725) * z + 1.0;
    return y * above / below;
  }
  double z = sqrt(-log((1.0 - fabs(y)) / 2.0));
  double above = ((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454;
  double below = (1.637067800 * z + 3.543889200) * z + 1.0;
  return copysign(above, y) / below;
}

double luc__erfinv(double y) {
  if (!(fabs(y) <= 1.0)) return NAN;
  if (fabs(y) == 1.0) return copysign(INFINITY, y);
  double a = fabs(y), x = erfinv_start(a), slope = 2.0 / sqrt(PI);
  for (int i = 0; i < 3; i++) { /* in the tail by erfc, which has more digits there */
    double over = a > 0.5 ? (1 - a) - erfc(x) : erf(x) - a;
    x -= over / (slope * exp(-x * x));
  }
  return copysign(x, y);
}

double luc__lgamma(double x) {
  int sign;
  return x < 0 ? (double)lgammal_r(x, &sign) : lgamma_r(x, &sign);
}

/* digamma(x), x > 0, by steps to where its series holds: they add up to -above / below. */
static long double digamma_right(long double x) {
  static const long double terms[] = {3617 / 8160.0L, -1 / 12.0L,  691 / 32760.0L, -1 / 132.0L,
                                      1 / 240.0L,     -1 / 252.0L, 1 / 120.0L,     -1 / 12.0L};
  long double above = 0, below = 1, z, sum = 0;
  for (; x < 20; x += 1) {
    above = above * x + below;
    below *= x;
  }
  z = 1 / (x * x);
  for (int i = 0; i < 8; i++) sum = sum * z + terms[i];
  return logl(x) - above / below - 0.5L / x + z * sum;
}

/* Near its roots digamma needs twice the digits. */
#if LDBL_MANT_DIG < 113 && defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 quad;
#else
typedef long double quad;
#endif

static quad quad_of(const double parts[3]) {
  return (quad)parts[0] + parts[1] + parts[2];
}

/* By log((1 + s) / (1 - s)). */
static quad quad_log(quad x) {
  static const double ln2[] = {0.69314718055994529, 2.3190468138462996e-17, 5.7077084384162121e-34};
  int e = ilogb((double)x / 0.7);
  quad m = x * ldexp(1, -e), s = (m - 1) / (m + 1), w = s * s, sum = 0;
  for (int k = 49; k > 0; k -= 2) sum = sum * w + (quad)1 / k;
  return 2 * s * sum + e * quad_of(ln2);
}

/* pi / tan(pi x), |x| <= 1/2. */
static quad quad_pi_cot(quad x) {
  static const double pi[] = {3.1415926535897931, 1.2246467991473532e-16, -2.9947698097183397e-33};
  quad r = quad_of(pi) * x, z = r * r, sine = 1, cosine = 1;
  for (int k = 38; k > 0; k -= 2) {
    sine = 1 - z * sine / (k * (k + 1));
    cosine = 1 - z * cosine / (k * (k - 1));
  }
  return cosine / (sine * x);
}

/* As below: far steps to where it is its asymptotic series. */
static double digamma_at_root(double x) {
  static const int over[] = {1, -1, 1, -1, 1, -691, 1, -3617, 43867, -174611, 854513, -236364091};
  static const int under[] = {12, 120, 252, 240, 132, 32760, 12, 8160, 14364, 6600, 3036, 65520};
  quad t = (quad)1 - x, above = 0, below = 1, sum = 0;
  for (; t < 30; t += 1) {
    above = above * t + below;
    below *= t;
  }
  quad z = 1 / (t * t);
  for (int i = 11; i >= 0; i--) sum = (sum + (quad)over[i] / under[i]) * z;
  quad right = quad_log(t) - above / below - 1 / (2 * t) - sum;
  return (double)(right - quad_pi_cot(x - rint(x)));
}

double luc__digamma(double x) {
  if (x == 0) return copysign(INFINITY, -x);
  if (!(x < 0)) return (double)digamma_right(x);
  if (x == trunc(x)) return NAN;
  long double y = digamma_right(1.0L - x) - PI_LONG / tanl(PI_LONG * (x - rint(x)));
  return fabsl(y) < 0.004L ? digamma_at_root(x) : (double)y;
}

/* ---- the normal distribution ---- */

/* exp(x^2) erfc(x), x >= 0: with what squaring rounds off put back, and where erfc vanishes by its
 * asymptotic series (Abramowitz and Stegun 7.1.23). */
static double erfcx(double x) {
  if (x < 25) {
    double square = x * x, lost = fma(x, x, -square);
    return exp(square) * (erfc(x) * (1 + lost));
  }
  double z = 0.5 / (x * x), sum = 1;
  for (int k = 6; k > 0; k--) sum = 1 - (2 * k - 1) * z * sum;
  return sum / (x * sqrt(PI));
}

/* For p in (0, 0.5]: a rational start (Abramowitz and Stegun 26.2.22), then Newton's steps, on
 * logarithms in the tail. */
static double lower_quantile(double p) {
  double log_p = log(p), t = sqrt(-2 * log_p), step = 1;
  double x = (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t)) - t;
  for (int i = 0; i < 8 && fabs(step) > 1e-9; i++) { /* the error after a step is its square */
    if (p > 0.2) {                                   /* ndtr(x) - p, with 0.5 taken from both */
      step = (0.5 * erf(x * SQRT_HALF) + (0.5 - p)) * sqrt(2 * PI) * exp(0.5 * x * x);
    } else {
      double ratio = erfcx(-x * SQRT_HALF), over = ratio * sqrt(0.5 * PI); /* ndtr over its slope */
      step = (log(0.5 * ratio) - 0.5 * x * x - log_p) * over;
    }
    x -= step;
  }
  return x;
}

double luc__ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return NAN;
  if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
  return p > 0.5 ? -lower_quantile(1 - p) : lower_quantile(p);
}
