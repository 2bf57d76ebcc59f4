/* How gamma and Dirichlet values move with their parameters when the random draws behind them stay:
 * series for small values, saddle points for large parameters, fitted fractions between. */
#include <math.h>

#include "cpu/draw.h"
#include "cpu/special.h"

static double or_zero(double x) {
  return isnan(x) ? 0 : x;
}

/* ---- gamma ---- */

static double gamma_small(double alpha, double x) {
  double numer = 1, series1 = 1 / alpha, series2 = 1 / (alpha * alpha);
  for (int i = 1; i <= 5; i++) {
    double denom = alpha + i;
    numer *= -x / i;
    series1 += numer / denom;
    series2 += numer / (denom * denom);
  }
  double power = pow(x, alpha), pdf = pow(x, alpha - 1) * exp(-x);
  double cdf_slope = (log(x) - luc__digamma(alpha)) * power * series1 - power * series2;
  return or_zero(-cdf_slope / pdf);
}

static double gamma_large(double alpha, double x) {
  if (0.9 * alpha <= x && x <= 1.1 * alpha) {
    double numer1 = 1 + 24 * alpha * (1 + 12 * alpha);
    double numer2 = 1440 * alpha * alpha + 6 * x * (53 - 120 * x) - 65 * x * x / alpha +
                    alpha * (107 + 3600 * x);
    return numer1 * numer2 / (1244160 * alpha * alpha * alpha * alpha);
  }
  double denom = sqrt(8 * alpha), away = alpha - x, log_ratio = log(x / alpha);
  double tail = pow(x - alpha - alpha * log_ratio, -1.5);
  double both = denom / away + (x < alpha ? -tail : tail);
  double term = log_ratio * both - sqrt(2 / alpha) * (alpha + x) / (away * away);
  double stirling = 1 + 1 / (12 * alpha) * (1 + 1 / (24 * alpha));
  return -stirling * x * term / denom;
}

static double gamma_between(double alpha, double x) {
  static const double coefs[3][8] = {
      {0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089,
       0.0014179084},
      {0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915,
       -0.00058392623},
      {0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326,
       0.00085092367, -1.5247877e-07},
  };
  double u = log(x / alpha), v = log(alpha), at[8];
  for (int i = 0; i < 8; i++) at[i] = coefs[0][i] + u * (coefs[1][i] + u * coefs[2][i]);
  double p = at[0] + v * (at[1] + v * (at[2] + v * at[3]));
  double q = at[4] + v * (at[5] + v * (at[6] + v * at[7]));
  return exp(p / q);
}

double luc__gamma_slope(double alpha, double x) {
  if (x < 0.8) return gamma_small(alpha, x);
  return alpha > 8 ? gamma_large(alpha, x) : gamma_between(alpha, x);
}

/* ---- Beta ---- */

static double beta_near_0(double x, double alpha, double beta) {
  double factor = luc__digamma(alpha) - luc__digamma(alpha + beta) - log(x);
  double numer = 1, series = 1 / alpha * (factor + 1 / alpha);
  for (int i = 1; i <= 10; i++) {
    double denom = alpha + i;
    numer *= (i - beta) * x / i;
    series += numer / denom * (factor + 1 / denom);
  }
  return or_zero(x * pow(1 - x, -beta) * series);
}

/* By beta, of an x near 0. */
static double beta_of_other(double x, double alpha, double beta) {
  double factor = luc__digamma(alpha + beta) - luc__digamma(beta);
  double numer = 1, betas = 1, dbetas = 0, series = factor / alpha;
  for (int i = 1; i <= 8; i++) {
    numer *= -x / i;
    dbetas = dbetas * (beta - i) + betas;
    betas *= beta - i;
    series += numer / (alpha + i) * (dbetas + factor * betas);
  }
  return or_zero(-pow(1 - x, 1 - beta) * series);
}

static double beta_at_mean(double x, double alpha, double beta) {
  double total = alpha + beta, b2 = beta * beta;
  double poly =
      47 * x * b2 * b2 + alpha * ((43 + 20 * (16 + 27 * beta) * x) * b2 * beta +
                                  alpha * (3 * (59 + 180 * beta - 90 * x) * b2 +
                                           alpha * ((453 + 1620 * beta * (1 - x) - 455 * x) * beta +
                                                    alpha * (8 * (1 - x) * (135 * beta - 11)))));
  double numer = (1 + 12 * alpha) * (1 + 12 * beta) / (total * total);
  return numer / (1 - x) * poly / (12960 * alpha * alpha * alpha * b2 * (1 + 12 * total));
}

/* Gamma(a) over Stirling's first term, to second order. */
static double stirling(double a) {
  return 1 + 1 / (12 * a) + 1 / (288 * a * a);
}

static double beta_large(double x, double alpha, double beta) {
  double total = alpha + beta, mean = alpha / total;
  double std = sqrt(alpha * beta / (total + 1)) / total;
  if (mean - 0.1 * std <= x && x <= mean + 0.1 * std) return beta_at_mean(x, alpha, beta);
  double prefactor = -x / sqrt(2 * alpha * beta / total);
  double correction = stirling(alpha) * stirling(beta) / stirling(total);
  double away = alpha * (x - 1) + beta * x;
  double term1 = (2 * alpha * alpha * (x - 1) + alpha * beta * (x - 1) - x * beta * beta) /
                 (sqrt(2 * alpha / beta) * pow(total, 1.5) * away * away);
  double term2 = 0.5 * log(alpha / (total * x)), term3 = sqrt(8 * alpha * beta / total) / away;
  double term4 = pow(beta * log(beta / (total * (1 - x))) + alpha * log(alpha / (total * x)), -1.5);
  return correction * prefactor * (term1 + term2 * (term3 + (x < mean ? term4 : -term4)));
}

/* [p or q][power of log x][power of log alpha / x][power of log total less that] */
static const double beta_coefs[2][3][3][4] = {
    {{{1.003668233, -0.01061107488, -0.0657888334, 0.01201642863},
      {0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033},
      {-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013}},
     {{0.221950385, -0.3187676331, 0.01799915743, 0.01074823814},
      {-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057},
      {0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05}},
     {{-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565},
      {0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181},
      {0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05}}},
    {{{1, -0.02924021934, -0.04438342661, 0.007285809825},
      {0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521},
      {-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149}},
     {{0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273},
      {0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956},
      {-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05}},
     {{0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05},
      {0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05},
      {-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06}}},
};

static double beta_between(double x, double alpha, double total) {
  double u = log(x), a = log(alpha) - u, b = log(total) - a, sums[2] = {0, 0};
  double powers_u[3] = {1, u, u * u}, powers_a[3] = {1, a, a * a};
  for (int k = 0; k < 18; k++) {
    int which = k / 9, i = k / 3 % 3, j = k % 3;
    const double *c = beta_coefs[which][i][j];
    sums[which] += powers_u[i] * powers_a[j] * (c[0] + b * (c[1] + b * (c[2] + b * c[3])));
  }
  double start = x * (luc__digamma(total) - luc__digamma(alpha)) / (total - alpha);
  return sums[0] / sums[1] * start;
}

double luc__dirichlet_slope(double x, double alpha, double total) {
  double beta = total - alpha, boundary = total * x * (1 - x);
  if (x <= 0.5 && boundary < 2.5) return beta_near_0(x, alpha, beta);
  if (x >= 0.5 && boundary < 0.75) return -beta_of_other(1 - x, beta, alpha);
  if (alpha > 6 && beta > 6) return beta_large(x, alpha, beta);
  return beta_between(x, alpha, total);
}
