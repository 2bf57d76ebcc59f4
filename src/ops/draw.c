/* Random tensors whose distribution has tensors as parameters: poisson, binomial, gamma, Dirichlet.
 * Values are drawn in the order of the result, which is contiguous; gamma and Dirichlet values
 * have gradients to the parameters (implicit reparameterization). */
#include "cpu/draw.h"

#include <float.h>
#include <math.h>

#include "ops/geometry.h"
#include "ops/formula.h"
#include "ops/rows.h"

static luc_generator *generator_of(luc_context *ctx, const luc_value *v) {
  return v->kind == LUC_GENERATOR ? v->as.generator : &ctx->rng;
}

static luc_status need_float(luc_context *ctx, const char *who, const luc_tensor *t) {
  LUC_CHECK(ctx, luc__dtype_is_float((luc_dtype)t->dtype), LUC_ERR_TYPE,
            "%s: not implemented for dtype %s", who, luc__dtype_name((luc_dtype)t->dtype));
  return LUC_OK;
}

/* t's values as contiguous doubles of these sizes. */
static luc_status doubles(luc_context *ctx, const char *who, luc_tensor *t, int ndim,
                          const int64_t *sizes, luc_tensor **out) {
  luc_tensor *wide;
  LUC_TRY(need_float(ctx, who, t));
  LUC_TRY(luc__expand(ctx, who, t, ndim, sizes, &wide));
  luc_status status = luc__contiguous_as(ctx, wide, LUC_FLOAT64, out);
  luc_tensor_release(ctx, wide);
  return status;
}

/* The result of a draw: doubles as the dtype. */
static luc_status give(luc_context *ctx, luc_tensor *drawn, luc_dtype dtype, luc_value *out) {
  luc_tensor *r = NULL;
  luc_status status = luc__contiguous_as(ctx, drawn, dtype, &r);
  return luc__set_result(status, out, r);
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

luc_status luc__run_poisson(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *rate = args[0].as.tensor, *from = NULL, *to = NULL;
  luc_generator *gen = generator_of(ctx, &args[1]);
  luc_status status = LUC_OK;
  LUC_GO(doubles(ctx, "poisson", rate, rate->ndim, rate->sizes, &from));
  LUC_GO(luc__tensor_empty_like(ctx, from, LUC_FLOAT64, &to));
  const double *rates = (const double *)from->data;
  LUC_GO(check_rates(ctx, rates, from->numel));
  for (int64_t i = 0; i < to->numel; i++) ((double *)to->data)[i] = luc__poisson(gen, rates[i]);
  status = give(ctx, to, (luc_dtype)rate->dtype, out);
done:
  luc_tensor_release(ctx, from);
  luc_tensor_release(ctx, to);
  return status;
}

luc_status luc__run_binomial(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *count = args[0].as.tensor, *prob = args[1].as.tensor, *n = NULL, *p = NULL;
  luc_tensor *to = NULL;
  luc_dtype dtype = luc__dtype_promote((luc_dtype)count->dtype, (luc_dtype)prob->dtype);
  luc_generator *gen = generator_of(ctx, &args[2]);
  luc_status status = LUC_OK;
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  LUC_GO(luc__broadcast(ctx, "binomial", count, prob, &ndim, sizes));
  LUC_GO(doubles(ctx, "binomial", count, ndim, sizes, &n));
  LUC_GO(doubles(ctx, "binomial", prob, ndim, sizes, &p));
  LUC_GO(luc__tensor_empty_like(ctx, n, LUC_FLOAT64, &to));
  for (int64_t i = 0; i < to->numel; i++) {
    ((double *)to->data)[i] = luc__draw_binomial(gen, ((double *)n->data)[i],
                                                 ((double *)p->data)[i], dtype != LUC_FLOAT64);
  }
  status = give(ctx, to, dtype, out);
done:
  luc_tensor_release(ctx, n);
  luc_tensor_release(ctx, p);
  luc_tensor_release(ctx, to);
  return status;
}

/* ---- gamma ---- */

luc_status luc__run_standard_gamma(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *alpha = args[0].as.tensor, *from = NULL, *to = NULL;
  luc_generator *gen = generator_of(ctx, &args[1]);
  bool single = alpha->dtype != LUC_FLOAT64;
  luc_status status = LUC_OK;
  LUC_GO(doubles(ctx, "_standard_gamma", alpha, alpha->ndim, alpha->sizes, &from));
  LUC_GO(luc__tensor_empty_like(ctx, from, LUC_FLOAT64, &to));
  for (int64_t i = 0; i < to->numel; i++) {
    double drawn = luc__draw_gamma(gen, ((double *)from->data)[i], single);
    ((double *)to->data)[i] = fmax(least(single), drawn);
  }
  status = give(ctx, to, (luc_dtype)alpha->dtype, out);
done:
  luc_tensor_release(ctx, from);
  luc_tensor_release(ctx, to);
  return status;
}

/* standard_gamma_grad(alpha, drawn): how the drawn values move with alpha. */
luc_status luc__run_standard_gamma_grad(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *alpha = args[0].as.tensor, *drawn = args[1].as.tensor, *a = NULL, *x = NULL;
  luc_tensor *to = NULL;
  luc_status status = LUC_OK;
  LUC_GO(doubles(ctx, "_standard_gamma_grad", alpha, drawn->ndim, drawn->sizes, &a));
  LUC_GO(doubles(ctx, "_standard_gamma_grad", drawn, drawn->ndim, drawn->sizes, &x));
  LUC_GO(luc__tensor_empty_like(ctx, x, LUC_FLOAT64, &to));
  for (int64_t i = 0; i < to->numel; i++) {
    ((double *)to->data)[i] = luc__gamma_slope(((double *)a->data)[i], ((double *)x->data)[i]);
  }
  status = give(ctx, to, (luc_dtype)drawn->dtype, out);
done:
  luc_tensor_release(ctx, a);
  luc_tensor_release(ctx, x);
  luc_tensor_release(ctx, to);
  return status;
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

luc_status luc__run_sample_dirichlet(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *alpha = args[0].as.tensor, *from = NULL, *to = NULL;
  luc_generator *gen = generator_of(ctx, &args[1]);
  luc_status status = LUC_OK;
  LUC_CHECK(ctx, alpha->ndim > 0, LUC_ERR_SHAPE,
            "_sample_dirichlet: input must have at least one dimension");
  LUC_GO(doubles(ctx, "_sample_dirichlet", alpha, alpha->ndim, alpha->sizes, &from));
  LUC_GO(luc__tensor_empty_like(ctx, from, LUC_FLOAT64, &to));
  double *x = (double *)to->data;
  for (int64_t i = 0; i < to->numel; i++) {
    x[i] = fmax(DBL_MIN, luc__draw_gamma(gen, ((double *)from->data)[i], false));
  }
  int64_t n = alpha->sizes[alpha->ndim - 1];
  if (n > 0) on_simplex(x, to->numel / n, n, alpha->dtype != LUC_FLOAT64);
  status = give(ctx, to, (luc_dtype)alpha->dtype, out);
done:
  luc_tensor_release(ctx, from);
  luc_tensor_release(ctx, to);
  return status;
}

/* dirichlet_grad(x, alpha, total): how x moves with its own alpha, over 1 - x. */
luc_status luc__run_dirichlet_grad(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *parts[3] = {NULL, NULL, NULL}, *to = NULL;
  luc_status status = LUC_OK;
  for (int k = 0; k < 3; k++) {
    LUC_GO(doubles(ctx, "_dirichlet_grad", args[k].as.tensor, x->ndim, x->sizes, &parts[k]));
  }
  LUC_GO(luc__tensor_empty_like(ctx, x, LUC_FLOAT64, &to));
  const double *at = (double *)parts[0]->data, *alpha = (double *)parts[1]->data;
  const double *total = (double *)parts[2]->data;
  for (int64_t i = 0; i < to->numel; i++) {
    ((double *)to->data)[i] = luc__dirichlet_slope(at[i], alpha[i], total[i]);
  }
  status = give(ctx, to, (luc_dtype)x->dtype, out);
done:
  for (int k = 0; k < 3; k++) luc_tensor_release(ctx, parts[k]);
  luc_tensor_release(ctx, to);
  return status;
}

/* What x_i gains the others lose, in proportion. */
luc_status luc__grad_sample_dirichlet(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *alpha = b->args[0].as.tensor, *x = b->results[0], *g = b->gout[0];
  luc_tensor *total = luc__f_sum(&f, alpha, 1, (int64_t[]){-1}, true);
  luc_tensor *slope =
      luc__f_call(&f, LUC_OP_dirichlet_grad,
                  LUC_ARGS(luc_v_tensor(x), luc_v_tensor(alpha), luc_v_tensor(total)));
  luc_tensor *shared = luc__f_sum(&f, luc__f2(&f, LUC_OP_mul, x, g), 1, (int64_t[]){-1}, true);
  luc_tensor *apart = luc__f2(&f, LUC_OP_sub, g, shared);
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, slope, apart), &b->gin[0]);
}
