/* Random values whose distribution needs rejection, one at a time, draw for draw as PyTorch's CPU
 * generator gives them; and how a value moves with its distribution's parameters. */
#ifndef LUC_CPU_DRAW_H
#define LUC_CPU_DRAW_H

#include <stdbool.h>

#include "base/random.h"

/* single: parameters and results are float32, which PyTorch rounds on the way. */
double luc__draw_gamma(luc_generator *gen, double alpha, bool single);
double luc__draw_binomial(luc_generator *gen, double count, double prob, bool single);

/* Pathwise derivatives, -(d cdf / d alpha) / pdf: of a standard gamma value x by its shape, and of
 * a Beta(alpha, total - alpha) value x by alpha, the latter over 1 - x. Sources: Jankowiak and
 * Obermeyer 2018, with the approximations of ATen/native/Distributions.h. */
double luc__gamma_slope(double alpha, double x);
double luc__dirichlet_slope(double x, double alpha, double total);

#endif
