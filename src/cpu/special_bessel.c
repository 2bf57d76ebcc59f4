/* Bessel and Airy functions in double. I0: the power series, and Hankel's expansion of large
 * arguments (Abramowitz and Stegun 9.6.10, 9.7.1). Ai of positive numbers: the trapezoidal rule on
 * the integral 9.6.24 of K, which converges exponentially (Trefethen and Weideman, 2014). J and Y
 * are the C library's; vmath_double.inc leaves it those of very large arguments. */
#include <math.h>

#include "cpu/special.h"

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

/* e^x K, x > 0: the integral of exp(-x (cosh t - 1)) cosh(order t) over t > 0. */
static double k_scaled(double order, double x) {
  double h = x < 4 ? 0.25 : 0.5 / sqrt(x), sum = 0.5, term = 1;
  for (int k = 1; term > 1e-17 * sum; k++) {
    double t = k * h, s = sinh(0.5 * t);
    term = exp(-2 * x * s * s) * cosh(order * t);
    sum += term;
  }
  return h * sum;
}

/* ---- Airy's Ai ---- */

/* From 0, by Taylor steps of y'' = x y; for x in (-9, 1). */
static double airy_steps(double x) {
  double at = 0, y = 0.35502805388781723926, slope = -0.25881940379280679841;
  for (int step = 0; step < 20 && at != x; step++) {
    double h = fmax(fmin(x - at, 0.5), -0.5), power = h, sum = y + h * slope, rise = slope;
    double c[3] = {0, y, slope}; /* the coefficients before n - 1, n - 1 and n */
    for (int n = 1; n < 30; n++) {
      double next = (at * c[1] + c[0]) / (n * (n + 1));
      rise += (n + 1) * next * power;
      power *= h;
      sum += next * power;
      c[0] = c[1], c[1] = c[2], c[2] = next;
    }
    y = sum, slope = rise, at += h;
  }
  return y;
}

/* Of -z for large z (Abramowitz and Stegun 10.4.60). */
static double airy_waves(double z) {
  double zeta = 2 * z * sqrt(z) / 3, term = 1, sums[2] = {1, 0};
  for (int k = 1; k < 40 && fabs(term) > 1e-17; k++) {
    term *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2 * k - 1) * zeta);
    sums[k % 2] += k / 2 % 2 ? -term : term;
  }
  double angle = zeta + 0.78539816339744830962;
  return (sin(angle) * sums[0] - cos(angle) * sums[1]) / sqrt(3.14159265358979323846 * sqrt(z));
}

double luc__airy_ai(double x) {
  if (isinf(x) || isnan(x)) return NAN;
  if (x <= -9) return airy_waves(-x);
  if (x < 1) return airy_steps(x);
  double zeta = 2 * x * sqrt(x) / 3;
  return exp(-zeta) * sqrt(x / 3) / 3.14159265358979323846 * k_scaled(1.0 / 3, zeta);
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
