/* Bessel and Airy functions in double, of what vectors (vmath_double.inc) leave to these. I0: the
 * power series, and Hankel's expansion of large arguments (Abramowitz and Stegun 9.6.10, 9.7.1). J
 * and Y are the C library's. */
#include <math.h>

#include "cpu/special.h"

static const long double PI = 3.14159265358979323846264338327950288L;

double luc__i0(double x) {
  double a = fabs(x), term = 1, sum = 1;
  if (a < 20) {
    for (int k = 1; term > 1e-17 * sum; k++) {
      term *= 0.25 * a * a / ((double)k * k);
      sum += term;
    }
    return sum;
  }
  for (int k = 1; k < 40 && term > 1e-17; k++) {
    term *= (2 * k - 1.0) * (2 * k - 1.0) / (8 * k * a);
    sum += term;
  }
  return exp(a) * sum / sqrt(6.28318530717958647693 * a);
}

/* Ai of -z for large z (Abramowitz and Stegun 10.4.60); at infinities PyTorch gives NaN. */
double luc__airy_ai(double x) {
  if (!(x < 0) || isinf(x)) return NAN;
  long double z = -(long double)x, zeta = 2 * z * sqrtl(z) / 3, angle = zeta + 0.25L * PI;
  return (double)((sinl(angle) - cosl(angle) * 5 / (72 * zeta)) / sqrtl(PI * sqrtl(z)));
}

/* At infinity and left of Y's pole PyTorch gives NaN. */
double luc__bessel_j0(double x) {
  return isinf(x) ? NAN : j0(x);
}

double luc__bessel_j1(double x) {
  return isinf(x) ? NAN : j1(x);
}

double luc__bessel_y0(double x) {
  return isinf(x) || x < 0 ? NAN : y0(x);
}

double luc__bessel_y1(double x) {
  return isinf(x) || x < 0 ? NAN : y1(x);
}
