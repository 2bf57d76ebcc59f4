/* Gamma values by Marsaglia and Tsang 2000, binomial ones by counting waiting times or by
 * transformed rejection (Hoermann 1993). What PyTorch computes in float is rounded to it here, so
 * that the same draws are accepted. */
#include "cpu/draw.h"

#include <math.h>

static double rounded(double x, bool single) {
  return single ? (double)(float)x : x;
}

double luc__draw_gamma(luc_generator *gen, double alpha, bool single) {
  double scale = 1;
  if (alpha == 0) return 0;
  if (alpha < 1) { /* of a larger shape more are accepted */
    scale = pow(1 - luc__uniform_double(gen), rounded(1 / alpha, single));
    alpha = rounded(alpha + 1, single);
  }
  const double d = rounded(alpha - (double)(1.0F / 3.0F), single), c = 1 / sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = luc__normal_double(gen);
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - luc__uniform_double(gen), xx = x * x;
    bool inside = u < 1 - (double)0.0331F * xx * xx;
    if (inside || log(u) < 0.5 * xx + d * (1 - v + log(v))) return rounded(scale * d * v, single);
  }
}

/* log k! less Stirling's approximation of it. */
static double stirling_tail(double k) {
  static const double small[] = {
      0.0810614667953272,  0.0413406959554092,  0.0276779256849983, 0.02079067210376509,
      0.0166446911898211,  0.0138761288230707,  0.0118967099458917, 0.0104112652619720,
      0.00925546218271273, 0.00833056343336287,
  };
  if (k <= 9) return small[(int)k];
  double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* The sum of waiting times for a success passes count: for few successes. */
static double binomial_waiting(luc_generator *gen, double count, double prob, bool single) {
  double log_miss = rounded(log1p(-prob), single), waited = 0, successes = 0;
  for (;;) {
    waited += ceil(log(luc__uniform_double(gen)) / log_miss);
    if (waited > count) return successes;
    successes++;
  }
}

static double binomial_rejection(luc_generator *gen, double count, double prob, bool single) {
  const double mean = rounded(count * prob, single), miss = rounded(1 - prob, single);
  const double std = rounded(sqrt(rounded(mean * miss, single)), single);
  const double b = 1.15 + 2.53 * std, a = -0.0873 + 0.0248 * b + 0.01 * prob;
  const double r = rounded(prob / miss, single), alpha = (2.83 + 5.1 / b) * std;
  const double m = floor(rounded((count + 1) * prob, single)), v_r = 0.92 - 4.2 / b;
  for (;;) {
    double u = luc__uniform_double(gen) - 0.5, v = luc__uniform_double(gen);
    double us = 0.5 - fabs(u);
    double k = rounded(floor((2 * a / us + b) * u + mean + 0.5), single);
    if (k < 0 || k > count) continue;
    if (us >= 0.07 && v <= v_r) return k;
    double bound = (m + 0.5) * log((m + 1) / (r * (count - m + 1))) +
                   (count + 1) * log((count - m + 1) / (count - k + 1)) +
                   (k + 0.5) * log(r * (count - k + 1) / (k + 1)) + stirling_tail(m) +
                   stirling_tail(count - m) - stirling_tail(k) - stirling_tail(count - k);
    if (log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

double luc__draw_binomial(luc_generator *gen, double count, double prob, bool single) {
  if (isnan(prob) || isnan(count)) return NAN;
  if (count <= 0 || prob <= 0) return 0;
  if (prob >= 1) return count;
  bool turned = prob > 0.5;
  double p = turned ? rounded(1 - prob, single) : prob;
  bool many = rounded(count * p, single) >= 10;
  double drawn =
      many ? binomial_rejection(gen, count, p, single) : binomial_waiting(gen, count, p, single);
  return turned ? count - drawn : drawn;
}
