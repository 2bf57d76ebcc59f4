/* Random tensors whose distribution has tensors as parameters: poisson, binomial, gamma, Dirichlet.
 * Values are drawn in the order of the result, which is contiguous; gamma and Dirichlet values
 * have gradients to the parameters (implicit reparameterization). */
#include "cpu/draw.h"

#include <float.h>
#include <math.h>

#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/geometry.h"
#include "ops/rows.h"

static luc_status need_float(luc_context *ctx, const luc_tensor *t) {
  LUC_CHECK(ctx, luc__dtype_is_float(t->dtype), LUC_ERR_TYPE, "not implemented for dtype %s",
            luc__dtype_name(t->dtype));
  return LUC_OK;
}

/* t's values as contiguous doubles of these sizes. */
static luc_status doubles(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes,
                          luc_tensor **out) {
  luc_tensor *wide;
  LUC_TRY(need_float(ctx, t));
  LUC_TRY(luc__expand(ctx, t, ndim, sizes, &wide));
  luc_status status = luc__contiguous_as(ctx, wide, LUC_FLOAT64, out);
  luc_tensor_release(ctx, wide);
  return status;
}

/* Draws one element, given those of the parameters at its place. single: the result is float32 or
 * shorter. */
typedef double (*element_fn)(luc_generator *gen, const double *x, bool single);

enum { PARAMETERS = 3 };

/* *out: the doubles that `element` gives for n parameters expanded to these sizes. */
static luc_status for_each(luc_context *ctx, luc_generator *gen, const luc_value *params, int n,
                           int ndim, const int64_t *sizes, bool single, element_fn element,
                           luc_tensor **out) {
  luc_tensor *from[PARAMETERS] = {NULL};
  double x[PARAMETERS];
  luc_status status;
  for (int k = 0; k < n; k++) LUC_GO(doubles(ctx, params[k].as.tensor, ndim, sizes, &from[k]));
  LUC_GO(luc__tensor_empty(ctx, LUC_FLOAT64, ndim, sizes, out));
  for (int64_t i = 0; i < (*out)->numel; i++) {
    for (int k = 0; k < n; k++) x[k] = ((const double *)from[k]->data)[i];
    ((double *)(*out)->data)[i] = element(gen, x, single);
  }
done:
  for (int k = 0; k < n; k++) luc_tensor_release(ctx, from[k]);
  return status;
}

/* Draws a result with t's sizes and dtype from n parameters. */
static luc_status run(luc_context *ctx, luc_generator *gen, const luc_value *params, int n,
                      const luc_tensor *t, element_fn element, luc_value *out) {
  luc_tensor *drawn;
  LUC_TRY(
      for_each(ctx, gen, params, n, t->ndim, t->sizes, t->dtype != LUC_FLOAT64, element, &drawn));
  return luc__deliver(ctx, out, t->dtype, &drawn);
}

/* The smallest normal number that a draw may give instead of 0. */
static double least(bool single) {
  return single ? (double)FLT_MIN : DBL_MIN;
}

static luc_status check_rates(luc_context *ctx, const double *rates, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    LUC_CHECK(ctx, rates[i] >= 0, LUC_ERR_VALUE,
              "poisson: invalid Poisson rate, expected rate to be non-negative (got %g)", rates[i]);
  }
  return LUC_OK;
}

static double poisson(luc_generator *gen, const double *x, bool single) {
  (void)single;
  return luc__poisson(gen, x[0]);
}

luc_status luc__run_poisson(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *rate = args[0].as.tensor, *rates;
  LUC_TRY(doubles(ctx, rate, rate->ndim, rate->sizes, &rates));
  luc_status status = check_rates(ctx, (const double *)rates->data, rates->numel);
  luc_tensor_release(ctx, rates);
  LUC_TRY(status);
  return run(ctx, luc_as_generator(ctx, &args[1]), args, 1, rate, poisson, out);
}

static double binomial(luc_generator *gen, const double *x, bool single) {
  return luc__draw_binomial(gen, x[0], x[1], single);
}

luc_status luc__run_binomial(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *count = args[0].as.tensor, *prob = args[1].as.tensor, *drawn;
  luc_dtype dtype = luc__dtype_promote(count->dtype, prob->dtype);
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  LUC_TRY(luc__broadcast(ctx, count, prob, &ndim, sizes));
  LUC_TRY(for_each(ctx, luc_as_generator(ctx, &args[2]), args, 2, ndim, sizes, dtype != LUC_FLOAT64,
                   binomial, &drawn));
  return luc__deliver(ctx, out, dtype, &drawn);
}

/* ---- gamma ---- */

static double standard_gamma(luc_generator *gen, const double *x, bool single) {
  return fmax(least(single), luc__draw_gamma(gen, x[0], single));
}

luc_status luc__run_standard_gamma(luc_context *ctx, luc_value *args, luc_value *out) {
  return run(ctx, luc_as_generator(ctx, &args[1]), args, 1, args[0].as.tensor, standard_gamma, out);
}

static double gamma_slope(luc_generator *gen, const double *x, bool single) {
  (void)gen, (void)single;
  return luc__gamma_slope(x[0], x[1]);
}

/* standard_gamma_grad(alpha, drawn): how the drawn values move with alpha. */
luc_status luc__run_standard_gamma_grad(luc_context *ctx, luc_value *args, luc_value *out) {
  return run(ctx, NULL, args, 2, args[1].as.tensor, gamma_slope, out);
}

luc_status luc__grad_standard_gamma(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *slope = luc__f2(&f, LUC_OP_standard_gamma_grad, b->args[0].as.tensor, b->results[0]);
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, b->gout[0], slope), &b->gin[0]);
}

/* ---- Dirichlet ---- */

/* Gamma values over their sum, in place; rows of n. */
static void on_simplex(double *x, int64_t rows, int64_t n, bool single) {
  double most = single ? (double)nextafterf(1, 0) : nextafter(1, 0);
  for (int64_t r = 0; r < rows; r++, x += n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    for (int64_t i = 0; i < n; i++) {
      double part = single ? (double)(float)(x[i] / sum) : x[i] / sum;
      x[i] = fmin(most, fmax(least(single), part));
    }
  }
}

static double dirichlet_part(luc_generator *gen, const double *x, bool single) {
  (void)single;
  return fmax(DBL_MIN, luc__draw_gamma(gen, x[0], false));
}

luc_status luc__run_sample_dirichlet(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *alpha = args[0].as.tensor, *drawn;
  const bool single = alpha->dtype != LUC_FLOAT64;
  LUC_CHECK(ctx, alpha->ndim > 0, LUC_ERR_SHAPE, "input must have at least one dimension");
  LUC_TRY(for_each(ctx, luc_as_generator(ctx, &args[1]), args, 1, alpha->ndim, alpha->sizes, single,
                   dirichlet_part, &drawn));
  int64_t n = alpha->sizes[alpha->ndim - 1];
  if (n > 0) on_simplex((double *)drawn->data, drawn->numel / n, n, single);
  return luc__deliver(ctx, out, alpha->dtype, &drawn);
}

static double dirichlet_slope(luc_generator *gen, const double *x, bool single) {
  (void)gen, (void)single;
  return luc__dirichlet_slope(x[0], x[1], x[2]);
}

/* dirichlet_grad(x, alpha, total): how x moves with its own alpha, over 1 - x. */
luc_status luc__run_dirichlet_grad(luc_context *ctx, luc_value *args, luc_value *out) {
  return run(ctx, NULL, args, 3, args[0].as.tensor, dirichlet_slope, out);
}

/* What x_i gains the others lose, in proportion. */
luc_status luc__grad_sample_dirichlet(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *alpha = b->args[0].as.tensor, *x = b->results[0], *g = b->gout[0];
  luc_tensor *total = luc__f_sum_keepdim(&f, alpha, -1);
  luc_tensor *slope =
      luc__f_call(&f, LUC_OP_dirichlet_grad,
                  LUC_ARGS(luc_v_tensor(x), luc_v_tensor(alpha), luc_v_tensor(total)));
  luc_tensor *shared = luc__f_sum_keepdim(&f, luc__f2(&f, LUC_OP_mul, x, g), -1);
  luc_tensor *apart = luc__f2(&f, LUC_OP_sub, g, shared);
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, slope, apart), &b->gin[0]);
}
