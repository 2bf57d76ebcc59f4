/* Special functions in double. Sources: Cephes for digamma's series; erfinv is a rational start
 * (Giles' and PyTorch's coefficients) with two steps of Newton's method. */
#include "cpu/special.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

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
  double x = erfinv_start(y), slope = 2.0 / sqrt(PI);
  for (int i = 0; i < 2; i++) x -= (erf(x) - y) / (slope * exp(-x * x));
  return x;
}

double luc__lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

static double digamma_series(double x) {
  static const double a[] = {8.33333333333333333333e-2, -2.10927960927960927961e-2,
                             7.57575757575757575758e-3, -4.16666666666666666667e-3,
                             3.96825396825396825397e-3, -8.33333333333333333333e-3,
                             8.33333333333333333333e-2};
  double z = 1.0 / (x * x), y = 0;
  for (int i = 0; i < 7; i++) y = y * z + a[i];
  return log(x) - 0.5 / x - z * y;
}

double luc__digamma(double x) {
  if (x == 0) return copysign(INFINITY, -x);
  if (x == -INFINITY || (x < 0 && x == trunc(x))) return NAN;
  if (x == INFINITY) return x;
  if (x < 0) {
    double whole, part = modf(x, &whole);
    return luc__digamma(1.0 - x) - PI / tan(PI * part);
  }
  double result = 0;
  for (; x < 10.0; x += 1.0) result -= 1.0 / x;
  return result + digamma_series(x);
}

/* Hurwitz' zeta(s, q) for s > 1: ten terms, then Euler and Maclaurin's correction. */
static double zeta(double s, double q) {
  static const double b[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730};
  if (q <= 0) return q == floor(q) ? INFINITY : NAN;
  double sum = 0;
  for (; q < 12; q += 1) sum += pow(q, -s);
  sum += pow(q, 1 - s) / (s - 1) + 0.5 * pow(q, -s);
  double factor = s, power = pow(q, -s - 1), factorial = 2;
  for (int k = 0; k < 6; k++) {
    sum += b[k] * factor * power / factorial;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2);
    power /= q * q;
    factorial *= (2 * k + 3) * (2 * k + 4);
  }
  return sum;
}

static double trigamma(double x) {
  if (x >= 0.5) return zeta(2, x);
  double s = sin(PI * x);
  return PI * PI / (s * s) - zeta(2, 1.0 - x);
}

double luc__polygamma(int n, double x) {
  if (n == 1) return trigamma(x);
  double factorial = tgamma(n + 1.0);
  return (n % 2 ? factorial : -factorial) * zeta(n + 1.0, x);
}
