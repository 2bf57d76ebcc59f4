/* The incomplete gamma functions P = igamma(a, x) and Q = igammac(a, x) of a > 10 (others are in
 * vmath_double.inc): a power series below x = a, a continued fraction above, and near x = a, where
 * both are slow when a is large, Temme's uniform expansion (DLMF 8.11, 8.9, 8.12). */
#include <math.h>

#include "cpu/special.h"

static const double PI = 3.14159265358979323846;

enum { MAX_TERMS = 100000 };

/* m - log(1 + m) for m = x / a - 1, without cancellation near 0 (Loader, 2000). */
static double log_rest(double a, double x) {
  double m = (x - a) / a;
  if (fabs(m) > 0.4) return m - log(x / a);
  double r = m / (2 + m), power = r, sum = 0;
  for (int k = 3; fabs(power) > 1e-18 * fabs(sum); k += 2) {
    power *= r * r;
    sum += power / k;
    if (power == 0) break;
  }
  return r * m - 2 * sum;
}

/* log a! less Stirling's formula for it, a >= 10. */
static double stirling_rest(double a) {
  double z = 1 / (a * a);
  double sum = 1.0 / 1188 - z * (691.0 / 360360 - z / 156);
  sum = 1.0 / 1260 - z * (1.0 / 1680 - z * sum);
  return (1.0 / 12 - z * (1.0 / 360 - z * sum)) / a;
}

/* x^a e^-x / Gamma(a + 1), a Poisson probability, a >= 10. */
static double density(double a, double x) {
  double exponent = a * log_rest(a, x) + stirling_rest(a);
  return exp(-exponent) / sqrt(2 * PI * a);
}

static double lower_series(double a, double x) {
  double term = 1, sum = 1;
  for (int k = 1; k < MAX_TERMS && term > 1e-17 * sum; k++) {
    term *= x / (a + k);
    sum += term;
  }
  return sum * density(a, x);
}

/* By Lentz's method. */
static double upper_fraction(double a, double x) {
  double b = x + 1 - a, c = 1e300, d = 1 / b, value = d;
  for (int k = 1; k < MAX_TERMS; k++) {
    double numer = -k * (k - a);
    b += 2;
    d = 1 / (b + numer * d);
    c = b + numer / c;
    value *= c * d;
    if (fabs(c * d - 1) < 1e-16) break;
  }
  return value * a * density(a, x);
}

/* Q (sign 1) or P (sign -1) for large a and x near it. */
static double uniform(double a, double x, double sign) {
  static const double rows[3][11] = {
      {-1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864, 0.0003527336860670194, -0.0001787551440329218,
       3.919263178522438e-05, -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07,
       -1.7665952736826078e-07},
      {-1.0 / 540, -1.0 / 288, 0.0026455026455026454, -0.0009902263374485596,
       0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05,
       7.64916091608111e-06},
      {0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06},
  };
  double away = log_rest(a, x), eta = copysign(sqrt(2 * away), x - a), sum = 0;
  for (int i = 2; i >= 0; i--) {
    double row = 0;
    for (int k = 10; k >= 0; k--) row = row * eta + rows[i][k];
    sum = sum / a + row;
  }
  double rest = exp(-a * away) / sqrt(2 * PI * a) * sum;
  return 0.5 * erfc(sign * eta * sqrt(0.5 * a)) + sign * rest;
}

/* Where neither series nor fraction is asked: NaN inside the domain. */
static double edge(double a, double x) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return NAN;
  return a == 0 || isinf(x) ? 1 : 0;
}

static int is_edge(double a, double x) {
  return !(a > 0 && x > 0) || isinf(a) || isinf(x);
}

static int is_near(double a, double x) {
  return a > 1e4 && fabs(x - a) < 0.1 * a;
}

double luc__igamma(double a, double x) {
  if (is_edge(a, x)) return edge(a, x);
  if (is_near(a, x)) return uniform(a, x, -1);
  return x > a ? 1 - upper_fraction(a, x) : lower_series(a, x);
}

double luc__igammac(double a, double x) {
  if (is_edge(a, x)) return 1 - edge(a, x);
  if (is_near(a, x)) return uniform(a, x, 1);
  return x < a ? 1 - lower_series(a, x) : upper_fraction(a, x);
}
