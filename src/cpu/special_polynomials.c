/* Orthogonal polynomials in double, by recurrence in the degree (Abramowitz and Stegun 22.7);
 * Chebyshev's of high degrees inside (-1, 1) by cosines (22.3.15 and 16). */
#include <math.h>

#include "cpu/special.h"

enum { MOST_STEPS = 100000 }; /* beyond is NaN: no call takes for ever */

typedef enum family { CHEBYSHEV, HERMITE_H, HERMITE_HE, LAGUERRE, LEGENDRE } family;

/* The polynomial of degree k + 1 from those of k and k - 1. */
static double next(family f, double x, double k, double at, double before) {
  switch (f) {
  case CHEBYSHEV: return 2 * x * at - before;
  case HERMITE_H: return 2 * (x * at - k * before);
  case HERMITE_HE: return x * at - k * before;
  case LAGUERRE: return ((2 * k + 1 - x) * at - k * before) / (k + 1);
  default: return ((2 * k + 1) * x * at - k * before) / (k + 1);
  }
}

/* Degree n (rounded to 0; negative ones are 0) where degree 1 is `first`. */
static double climb(family f, double x, double n, double first) {
  if (isnan(n)) return NAN;
  n = trunc(n);
  if (n < 0) return 0;
  double before = 1, at = first;
  if (n < 1) return before;
  if (isnan(x) || n > MOST_STEPS) return NAN;
  for (int k = 1; k < (int)n; k++) {
    double after = next(f, x, k, at, before);
    before = at;
    at = after;
  }
  return at;
}

/* Degrees whose cosine form is worth it, where it does not divide by zero. */
static int by_angle(double x, double n) {
  return n > 8 && fabs(x) < 1;
}

double luc__chebyshev_polynomial_t(double x, double n) {
  return by_angle(x, n) ? cos(trunc(n) * acos(x)) : climb(CHEBYSHEV, x, n, x);
}

double luc__chebyshev_polynomial_u(double x, double n) {
  double angle = acos(x);
  return by_angle(x, n) ? sin((trunc(n) + 1) * angle) / sin(angle) : climb(CHEBYSHEV, x, n, 2 * x);
}

double luc__chebyshev_polynomial_v(double x, double n) {
  double half = 0.5 * acos(x);
  if (by_angle(x, n)) return cos((2 * trunc(n) + 1) * half) / cos(half);
  return climb(CHEBYSHEV, x, n, 2 * x - 1);
}

double luc__chebyshev_polynomial_w(double x, double n) {
  double half = 0.5 * acos(x);
  if (by_angle(x, n)) return sin((2 * trunc(n) + 1) * half) / sin(half);
  return climb(CHEBYSHEV, x, n, 2 * x + 1);
}

double luc__shifted_chebyshev_polynomial_t(double x, double n) {
  return luc__chebyshev_polynomial_t(2 * x - 1, n);
}

double luc__shifted_chebyshev_polynomial_u(double x, double n) {
  return luc__chebyshev_polynomial_u(2 * x - 1, n);
}

double luc__shifted_chebyshev_polynomial_v(double x, double n) {
  return luc__chebyshev_polynomial_v(2 * x - 1, n);
}

double luc__shifted_chebyshev_polynomial_w(double x, double n) {
  return luc__chebyshev_polynomial_w(2 * x - 1, n);
}

double luc__hermite_polynomial_h(double x, double n) {
  return climb(HERMITE_H, x, n, 2 * x);
}

double luc__hermite_polynomial_he(double x, double n) {
  return climb(HERMITE_HE, x, n, x);
}

double luc__laguerre_polynomial_l(double x, double n) {
  return climb(LAGUERRE, x, n, 1 - x);
}

double luc__legendre_polynomial_p(double x, double n) {
  return climb(LEGENDRE, x, n, x);
}
