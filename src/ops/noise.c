/* What draws random numbers while a network runs: the dropouts, rrelu and gumbel_softmax. They draw
 * as PyTorch's CPU functions do, so that one seed gives its numbers. */
#include <math.h>
#include <string.h>

#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/rows.h"

#include "cpu/copy.h"
#include "cpu/random.h"

/* ---- dropout ---- */

/* 1 / divisor with probability 1 - p, else zeros, over t's contiguous memory. */
static luc_status draw_mask(luc_context *ctx, double p, double divisor, luc_tensor *t) {
  const luc_value mask = luc_v_tensor(t);
  if (p == 1 || t->numel == 0) return luc__fill(ctx, t, (luc_scalar){LUC_SCALAR_FLOAT, {.f = 0}});
  LUC_TRY(luc_call_inplace(ctx, LUC_OP_bernoulli_, LUC_ARGS(mask, luc_v_float(1 - p))));
  return luc_call_inplace(ctx, LUC_OP_div, LUC_ARGS(mask, luc_v_float(divisor)));
}

/* dropout_mask(input, p, whole, divisor): what to multiply input by; `whole` channels [N, C, ...].
 * Drawn in the order of input's elements, whatever its strides. */
luc_status luc__run_dropout_mask(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *mask;
  int64_t sizes[LUC_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
  memcpy(sizes, input->sizes, sizeof *sizes * (size_t)(args[2].as.i ? 2 : input->ndim));
  luc_dtype dtype = luc__dtype_to_real((luc_dtype)input->dtype);
  LUC_TRY(luc__scratch(ctx, dtype, input->ndim, sizes, &mask));
  LUC_TRY(draw_mask(ctx, args[1].as.f, args[3].as.f, mask));
  out[0] = luc_v_tensor(luc__retain(mask));
  return LUC_OK;
}

/* p, and whether there is nothing to do. Channels are needed only where they are drawn. */
static luc_status check_drop(luc_context *ctx, bool whole, const luc_value *args, double *p,
                             bool *nothing) {
  luc_tensor *input = args[0].as.tensor;
  *p = luc_as_double(&args[1]);
  LUC_CHECK(ctx, *p >= 0 && *p <= 1, LUC_ERR_VALUE, "p must be between 0 and 1 (got %g)", *p);
  *nothing = *p == 0 || !args[2].as.i || input->numel == 0;
  if (!*nothing && whole && *p < 1 && input->ndim < 2)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL,
                            "Feature dropout requires at least 2 dimensions in the input");
  bool complex = luc__dtype_is_complex((luc_dtype)input->dtype);
  return *nothing || complex ? LUC_OK : luc__need_float(ctx, "input", input);
}

static luc_tensor *mask_of(luc_formula *f, luc_value input, double p, bool whole, double divisor) {
  return luc__f_call(f, LUC_OP_dropout_mask,
                     LUC_ARGS(input, luc_v_float(p), luc_v_bool(whole), luc_v_float(divisor)));
}

/* op(a, b), into a if inplace. */
static luc_tensor *apply(luc_formula *f, luc_opid op, luc_tensor *a, luc_tensor *b, bool inplace) {
  if (!inplace) return luc__f2(f, op, a, b);
  if (f->status == LUC_OK)
    f->status = luc_call_inplace(f->ctx, op, LUC_ARGS(luc_v_tensor(a), luc_v_tensor(b)));
  return a;
}

/* (input, p, training, inplace) */
static luc_status drop(luc_context *ctx, bool whole, luc_value *args, luc_value *out) {
  double p;
  bool nothing = false;
  LUC_TRY(check_drop(ctx, whole, args, &p, &nothing));
  if (nothing) {
    out[0] = luc_v_tensor(luc__retain(args[0].as.tensor));
    return LUC_OK;
  }
  luc_formula f = luc__formula(ctx);
  luc_tensor *mask = mask_of(&f, args[0], p, whole, 1 - p);
  return luc__f_result(&f, apply(&f, LUC_OP_mul, args[0].as.tensor, mask, args[3].as.i != 0), out);
}

/* Whole channels of [N, C, ...]; what has not as many dimensions as a batch is one sample. */
static luc_status drop_channels(luc_context *ctx, int batch_dims, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  if (input->ndim == batch_dims) return drop(ctx, true, args, out);
  luc_formula f = luc__formula(ctx);
  luc_value batch = luc_v_tensor(luc__f_unsqueeze(&f, input, 0)), dropped = luc_v_none();
  if (f.status == LUC_OK)
    f.status = drop(ctx, true, (luc_value[]){batch, args[1], args[2], args[3]}, &dropped);
  luc_tensor *y = luc__f_own(&f, luc_as_tensor(&dropped));
  y = args[3].as.i ? input : luc__f_squeeze(&f, y, 0);
  return luc__f_result(&f, y, out);
}

luc_status luc__run_dropout1d(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor;
  if (input->ndim != 2 && input->ndim != 3)
    return luc__fail_shapes(ctx, "input", input, NULL, NULL,
                            "Expected 2D or 3D input, but received a %dD input", input->ndim);
  return drop_channels(ctx, 3, args, out);
}

LUC_RUN_BY(dropout, drop, false)
LUC_RUN_BY(dropout2d, drop, true)
LUC_RUN_BY(dropout3d, drop_channels, 5)

/* ---- alpha dropout: what is dropped becomes SELU's limit, and mean and variance stay ---- */

/* (input, p, training, inplace) */
static luc_status drop_alpha(luc_context *ctx, bool whole, luc_value *args, luc_value *out) {
  const double limit = 1.7580993408473766;
  double p;
  bool nothing = false, inplace = args[3].as.i != 0;
  luc_tensor *input = args[0].as.tensor;
  LUC_TRY(check_drop(ctx, whole, args, &p, &nothing));
  if (nothing) {
    out[0] = luc_v_tensor(luc__retain(input));
    return LUC_OK;
  }
  luc_formula f = luc__formula(ctx);
  luc_tensor *mask = mask_of(&f, args[0], p, whole, 1), *shift = NULL;
  if (p < 1) { /* kept: scale x + shift; dropped: scale (p - 1) limit + … */
    double scale = 1 / sqrt((limit * limit * p + 1) * (1 - p));
    shift = luc__fs(&f, LUC_OP_mul, luc__fs(&f, LUC_OP_sub, mask, 1), limit * scale);
    shift = luc__fs(&f, LUC_OP_add, shift, limit * scale * p);
    mask = luc__fs(&f, LUC_OP_mul, mask, scale);
  }
  luc_tensor *y = apply(&f, LUC_OP_mul, input, mask, inplace);
  if (shift) y = apply(&f, LUC_OP_add, y, shift, inplace);
  return luc__f_result(&f, y, out);
}

LUC_RUN_BY(alpha_dropout, drop_alpha, false)
LUC_RUN_BY(feature_alpha_dropout, drop_alpha, true)

/* ---- rrelu ---- */

enum { SLOPES = 256 };

/* The places of what is not positive, without a branch that could not be foreseen, then as many
 * draws. */
static void draw_slopes(luc_context *ctx, const double *x, double *slopes, int64_t n, double lower,
                        double upper) {
  const luc_draw unit = {.kind = LUC_UNIFORM, .b = 1, .target = LUC_FLOAT64};
  double drawn[SLOPES];
  int64_t places[SLOPES], count = 0;
  for (int64_t i = 0; i < n; i++) {
    slopes[i] = 1;
    places[count] = i;
    count += x[i] <= 0;
  }
  luc__random_fill(ctx, &ctx->rng, &unit, drawn, count);
  for (int64_t k = 0; k < count; k++) slopes[places[k]] = drawn[k] * (upper - lower) + lower;
}

/* rrelu_slopes(input, lower, upper): 1 where input is positive, else a number drawn between the
 * two. */
luc_status luc__run_rrelu_slopes(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *x, *y;
  double lower = args[1].as.f, upper = args[2].as.f;
  LUC_TRY(luc__as_dense(ctx, input, LUC_FLOAT64, &x));
  LUC_TRY(luc__scratch_like(ctx, x, LUC_FLOAT64, &y));
  const double *from = (const double *)x->data;
  double *to = (double *)y->data;
  for (int64_t i = 0; i < x->numel; i += SLOPES) {
    int64_t left = x->numel - i;
    draw_slopes(ctx, from + i, to + i, left < SLOPES ? left : SLOPES, lower, upper);
  }
  return luc__result(ctx, out, input->dtype, y);
}

/* rrelu(input, lower, upper, training, inplace): outside training the slope is their mean. */
luc_status luc__run_rrelu(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *y = x;
  double lower = luc_as_double(&args[1]), upper = luc_as_double(&args[2]);
  bool inplace = args[4].as.i != 0;
  LUC_TRY(luc__need_float(ctx, "input", x));
  LUC_CHECK(ctx, lower <= upper, LUC_ERR_VALUE,
            "Lower bound should be less than or equal to the upper bound (got %g and %g)", lower,
            upper);
  luc_formula f = luc__formula(ctx);
  luc_value mean = luc_v_float((lower + upper) / 2);
  if (args[3].as.i)
    y = apply(&f, LUC_OP_mul, x,
              luc__f_call(&f, LUC_OP_rrelu_slopes,
                          LUC_ARGS(args[0], luc_v_float(lower), luc_v_float(upper))),
              inplace);
  else if (inplace)
    f.status = luc_call_inplace(ctx, LUC_OP_leaky_relu, LUC_ARGS(args[0], mean));
  else
    y = luc__f_call(&f, LUC_OP_leaky_relu, LUC_ARGS(args[0], mean));
  return luc__f_result(&f, y, out);
}

/* ---- gumbel_softmax ---- */

/* 1 at the largest along dim, with the gradient of `soft`. */
static luc_tensor *straight_through(luc_formula *f, luc_tensor *soft, luc_value dim) {
  luc_tensor *at =
      luc__f_call(f, LUC_OP_argmax, LUC_ARGS(luc_v_tensor(soft), dim, luc_v_bool(true)));
  luc_tensor *hard = luc__f1(f, LUC_OP_zeros_like, soft);
  hard = luc__f_call(f, LUC_OP_scatter_value,
                     LUC_ARGS(luc_v_tensor(hard), dim, luc_v_tensor(at), luc_v_int(1)));
  hard = luc__f2(f, LUC_OP_sub, hard, luc__f1(f, LUC_OP_detach, soft));
  return luc__f2(f, LUC_OP_add, hard, soft);
}

/* gumbel_softmax(logits, tau, hard, eps, dim): eps is not used, as in PyTorch. */
luc_status luc__run_gumbel_softmax(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *logits = args[0].as.tensor;
  int dim;
  LUC_TRY(luc__need_float(ctx, "logits", logits));
  LUC_TRY(luc__dim_wrap(ctx, args[4].as.i, logits->ndim, &dim));
  luc_formula f = luc__formula(ctx);
  luc_tensor *noise = luc__f1(&f, LUC_OP_empty_like, luc__f1(&f, LUC_OP_contiguous, logits));
  if (f.status == LUC_OK)
    f.status = luc_call_inplace(ctx, LUC_OP_exponential_, LUC_ARGS(luc_v_tensor(noise)));
  luc_tensor *y = luc__f2(&f, LUC_OP_sub, logits, luc__f1(&f, LUC_OP_log, noise));
  y = luc__fs(&f, LUC_OP_div, y, luc_as_double(&args[1]));
  y = luc__f_call(&f, LUC_OP_softmax, LUC_ARGS(luc_v_tensor(y), args[4]));
  if (args[2].as.i) y = straight_through(&f, y, args[4]);
  return luc__f_result(&f, y, out);
}
