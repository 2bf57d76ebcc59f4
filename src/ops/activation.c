/* Activations: one kernel and one gradient kernel each (cpu/activation.def). While a gradient is
 * itself recorded, the smooth ones are differentiated through a formula of operators; the piecewise
 * linear ones need none, as their gradient kernel is linear in the gradient. */
#include <math.h>

#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/geometry.h"
#include "ops/pointwise.h"
#include "ops/rows.h"

#include "cpu/activation.h"
#include "cpu/copy.h"
#include "cpu/kernels.h"

/* ---- running ---- */

/* The tensor for a result, which lies in memory as the operands do. */
static luc_status result_like(luc_context *ctx, luc_value *out, luc_dtype dtype, int n,
                              const luc_tensor *const *like, luc_tensor **y) {
  const luc_tensor *x = like[n - 1];
  const bool preset = out->kind == LUC_TENSOR;
  LUC_TRY(luc__out(ctx, out, dtype, x->ndim, x->sizes, y));
  if (!preset && !(luc__is_contiguous(like[0]) && luc__is_contiguous(x)))
    luc__take_order(*y, n, like);
  return LUC_OK;
}

/* What an activation's kernel takes of its arguments. */
typedef luc_ew_params (*params_fn)(const luc_value *args);

static luc_ew_params no_params(const luc_value *args) {
  (void)args;
  return (luc_ew_params){.f = {0}};
}

static luc_status run_as(luc_context *ctx, luc_activation kind, luc_dtype dtype, params_fn params,
                         luc_value *args, luc_value *out) {
  const luc_tensor *x = args[0].as.tensor;
  const luc_ew_params p = params(args);
  luc_tensor *y;
  if (kind == LUC_ACT_logsigmoid) /* PyTorch's logsigmoid gives contiguous rows */
    LUC_TRY(luc__out(ctx, out, dtype, x->ndim, x->sizes, &y));
  else
    LUC_TRY(result_like(ctx, out, dtype, 1, &x, &y));
  luc_dtype compute = luc__dtype_is_float(dtype) ? dtype : LUC_FLOAT64;
  luc__elementwise_run(ctx, &luc__kernels(ctx)->activation->forward[kind], compute, y,
                       &(luc_ew_input){.t = x}, &p);
  return LUC_OK;
}

/* Of complex numbers: silu, tanhshrink, softsign. */
static luc_status run_complex(luc_context *ctx, luc_activation kind, luc_value *args,
                              luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor, *y, *preset = luc_as_tensor(out);
  if (kind == LUC_ACT_silu)
    y = luc__f2(&f, LUC_OP_mul, x, luc__f1(&f, LUC_OP_sigmoid, x));
  else if (kind == LUC_ACT_tanhshrink)
    y = luc__f2(&f, LUC_OP_sub, x, luc__f1(&f, LUC_OP_tanh, x));
  else
    y = luc__f2(&f, LUC_OP_div, x, luc__fs(&f, LUC_OP_add, luc__f1(&f, LUC_OP_abs, x), 1));
  if (!preset) return luc__f_result(&f, y, out);
  if (f.status == LUC_OK) f.status = luc__copy(ctx, preset, y);
  return luc__f_end(&f, NULL, NULL);
}

static luc_status run_kernel(luc_context *ctx, luc_activation kind, params_fn params,
                             luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  if (luc__dtype_is_complex(x->dtype)) return run_complex(ctx, kind, args, out);
  LUC_TRY(luc__need_float(ctx, "input", x));
  return run_as(ctx, kind, x->dtype, params, args, out);
}

/* Activations that only compare and choose work on integers as well, those that bound by small
 * numbers as they lie. */
static luc_status run_limits(luc_context *ctx, luc_activation kind, params_fn params,
                             luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  LUC_TRY(luc__need_numbers(ctx, x));
  const luc_ew_params p = params(args);
  if (kind != LUC_ACT_hardtanh || luc__dtype_is_float(x->dtype) ||
      fmax(fabs(p.f[0]), fabs(p.f[1])) > INT8_MAX)
    return run_as(ctx, kind, x->dtype, params, args, out);
  const luc_value bounded[] = {args[0], luc_v_int((int64_t)p.f[0]), luc_v_int((int64_t)p.f[1])};
  return luc__pointwise_as(ctx, LUC_EW_clamp, (luc_dtype)x->dtype, bounded, NULL, out);
}

/* Activations that PyTorch composes of other operators turn integers into reals. */
static luc_status run_composed(luc_context *ctx, luc_activation kind, luc_value *args,
                               luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  luc_dtype dtype = x->dtype;
  if (luc__dtype_is_complex(dtype)) return run_complex(ctx, kind, args, out);
  LUC_TRY(luc__need_numbers(ctx, x));
  if (!luc__dtype_is_float(dtype)) dtype = ctx->default_dtype;
  return run_as(ctx, kind, dtype, no_params, args, out);
}

/* activation_backward(grad, input, kind, a, b, c) */
luc_status luc__run_activation_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_tensor *g = args[0].as.tensor, *x = args[1].as.tensor, *const like[] = {g, x};
  luc_tensor *y;
  luc_dtype dtype = x->dtype;
  luc_ew_params params = {.f = {args[3].as.f, args[4].as.f, args[5].as.f}};
  LUC_TRY(result_like(ctx, out, dtype, 2, like, &y));
  luc__elementwise_run(ctx, &luc__kernels(ctx)->activation->backward[args[2].as.i], dtype, y,
                       (luc_ew_input[]){{.t = g}, {.t = x}}, &params);
  return LUC_OK;
}

static luc_tensor *backward(luc_formula *f, luc_tensor *g, luc_tensor *x, luc_activation kind,
                            const double *p) {
  return luc__f_call(f, LUC_OP_activation_backward,
                     LUC_ARGS(luc_v_tensor(g), luc_v_tensor(x), luc_v_int(kind), luc_v_float(p[0]),
                              luc_v_float(p[1]), luc_v_float(p[2])));
}

luc_status luc__grad_activation_backward(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  if (!luc__needs(b, 0)) return LUC_OK;
  double p[] = {b->args[3].as.f, b->args[4].as.f, b->args[5].as.f};
  luc_activation kind = (luc_activation)b->args[2].as.i;
  luc_tensor *gg = backward(&f, b->gout[0], b->args[1].as.tensor, kind, p);
  return luc__f_end(&f, gg, &b->gin[0]);
}

/* ---- slopes as formulas ---- */

static luc_tensor *masked(luc_formula *f, luc_tensor *t, luc_opid compare, luc_tensor *x, double at,
                          double value) {
  return luc__f_fill(f, t, luc__fs(f, compare, x, at), value);
}

static luc_tensor *squared(luc_formula *f, luc_tensor *t) {
  return luc__f2(f, LUC_OP_mul, t, t);
}

/* 1 - t */
static luc_tensor *rest(luc_formula *f, luc_tensor *t) {
  return luc__fs(f, LUC_OP_rsub, t, 1);
}

/* The exponential is cut where the linear side rules, lest its infinity become NaN. At 0 the slope
 * is the exponential's and the second derivative 0, as in PyTorch; NaN is on the linear side. */
static luc_tensor *elu_slope(luc_formula *f, luc_tensor *x, const double *p) {
  luc_tensor *low = luc__fs(f, LUC_OP_mul, luc__fs(f, LUC_OP_clamp_max, x, 0), p[2]);
  low = luc__fs(f, LUC_OP_mul, luc__f1(f, LUC_OP_exp, low), p[0] * p[2]);
  low = masked(f, low, LUC_OP_ge, x, 0, p[0] * p[2]);
  return luc__f_fill(f, low, luc__f1(f, LUC_OP_logical_not, luc__fs(f, LUC_OP_le, x, 0)), p[1]);
}

static luc_tensor *gelu_slope(luc_formula *f, luc_tensor *x) {
  luc_tensor *cdf = luc__f1(f, LUC_OP_erf, luc__fs(f, LUC_OP_mul, x, 0.70710678118654752440));
  cdf = luc__fs(f, LUC_OP_mul, luc__fs(f, LUC_OP_add, cdf, 1), 0.5);
  luc_tensor *pdf = luc__f1(f, LUC_OP_exp, luc__fs(f, LUC_OP_mul, squared(f, x), -0.5));
  pdf = luc__fs(f, LUC_OP_mul, pdf, 0.39894228040143267794);
  return luc__f2(f, LUC_OP_add, cdf, luc__f2(f, LUC_OP_mul, x, pdf));
}

static luc_tensor *gelu_tanh_slope(luc_formula *f, luc_tensor *x) {
  const double k = 0.79788456080286535588, c = 0.044715;
  luc_tensor *square = squared(f, x);
  luc_tensor *inner = luc__fs(f, LUC_OP_add, luc__fs(f, LUC_OP_mul, square, k * c), k);
  luc_tensor *t = luc__f1(f, LUC_OP_tanh, luc__f2(f, LUC_OP_mul, x, inner));
  luc_tensor *d_inner = luc__fs(f, LUC_OP_add, luc__fs(f, LUC_OP_mul, square, 3 * k * c), k);
  luc_tensor *right =
      luc__f2(f, LUC_OP_mul, x, luc__f2(f, LUC_OP_mul, d_inner, rest(f, squared(f, t))));
  luc_tensor *both = luc__fs(f, LUC_OP_add, luc__f2(f, LUC_OP_add, t, right), 1);
  return luc__fs(f, LUC_OP_mul, both, 0.5);
}

static luc_tensor *mish_slope(luc_formula *f, luc_tensor *x) {
  luc_tensor *s = luc__f1(f, LUC_OP_sigmoid, x);
  luc_tensor *t = luc__f1(f, LUC_OP_tanh, luc__f1(f, LUC_OP_softplus, x));
  luc_tensor *right = luc__f2(f, LUC_OP_mul, luc__f2(f, LUC_OP_mul, x, s), rest(f, squared(f, t)));
  return luc__f2(f, LUC_OP_add, t, right);
}

static luc_tensor *silu_slope(luc_formula *f, luc_tensor *x) {
  luc_tensor *s = luc__f1(f, LUC_OP_sigmoid, x);
  luc_tensor *right = luc__fs(f, LUC_OP_add, luc__f2(f, LUC_OP_mul, x, rest(f, s)), 1);
  return luc__f2(f, LUC_OP_mul, s, right);
}

/* At the threshold the slope is the sigmoid's and the second derivative 0. */
static luc_tensor *softplus_slope(luc_formula *f, luc_tensor *x, const double *p) {
  luc_tensor *z = luc__fs(f, LUC_OP_mul, x, p[0]);
  luc_tensor *slope = luc__f1(f, LUC_OP_sigmoid, z);
  slope = masked(f, slope, LUC_OP_ge, z, p[1], 1 / (1 + exp(-p[1])));
  return masked(f, slope, LUC_OP_gt, z, p[1], 1);
}

/* At -3 the slope is the parabola's and the second derivative 0. */
static luc_tensor *hardswish_slope(luc_formula *f, luc_tensor *x) {
  luc_tensor *slope = luc__fs(f, LUC_OP_add, luc__fs(f, LUC_OP_div, x, 3), 0.5);
  slope = masked(f, slope, LUC_OP_le, x, -3, -0.5);
  slope = masked(f, slope, LUC_OP_lt, x, -3, 0);
  return masked(f, slope, LUC_OP_ge, x, 3, 1);
}

/* NULL (with a good status) for the piecewise linear ones. */
static luc_tensor *slope_formula(luc_formula *f, luc_activation kind, luc_tensor *x,
                                 const double *p) {
  switch (kind) {
  case LUC_ACT_elu: return elu_slope(f, x, p);
  case LUC_ACT_gelu: return gelu_slope(f, x);
  case LUC_ACT_gelu_tanh: return gelu_tanh_slope(f, x);
  case LUC_ACT_silu: return silu_slope(f, x);
  case LUC_ACT_mish: return mish_slope(f, x);
  case LUC_ACT_softplus: return softplus_slope(f, x, p);
  case LUC_ACT_logsigmoid: return luc__f1(f, LUC_OP_sigmoid, luc__f1(f, LUC_OP_neg, x));
  case LUC_ACT_hardswish: return hardswish_slope(f, x);
  case LUC_ACT_softsign:
    x = luc__fs(f, LUC_OP_add, luc__f1(f, LUC_OP_abs, x), 1);
    x = luc__f2(f, LUC_OP_add, x, luc__f2(f, LUC_OP_sub, x, x)); /* NaN at infinity */
    return luc__f1(f, LUC_OP_reciprocal, squared(f, x));
  case LUC_ACT_tanhshrink: return squared(f, luc__f1(f, LUC_OP_tanh, x));
  default: return NULL;
  }
}

/* Of softsign, x / d with d = 1 + |x|: (g - sgn(x) re(conj(g) x) / d) / d. */
static luc_status grad_complex(luc_context *ctx, luc_backward *b, luc_activation kind) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0], *x = b->args[0].as.tensor;
  if (kind != LUC_ACT_softsign) {
    luc_tensor *slope = luc__f_conj(&f, slope_formula(&f, kind, x, NULL));
    return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, g, slope), &b->gin[0]);
  }
  luc_tensor *d = luc__fs(&f, LUC_OP_add, luc__f1(&f, LUC_OP_abs, x), 1);
  luc_tensor *along = luc__f2(&f, LUC_OP_mul, luc__f_conj(&f, g), x);
  along = luc__f2(&f, LUC_OP_div, luc__f1(&f, LUC_OP_real, along), d);
  along = luc__f2(&f, LUC_OP_mul, luc__f1(&f, LUC_OP_sgn, x), along);
  luc_tensor *dx = luc__f2(&f, LUC_OP_div, luc__f2(&f, LUC_OP_sub, g, along), d);
  return luc__f_end(&f, dx, &b->gin[0]);
}

static luc_status gradient(luc_context *ctx, luc_backward *b, luc_activation kind,
                           params_fn params) {
  luc_formula f = luc__formula(ctx);
  const luc_ew_params p = params(b->args);
  luc_tensor *g = b->gout[0], *x = b->args[0].as.tensor, *slope = NULL, *dx;
  if (luc__dtype_is_complex(x->dtype)) return grad_complex(ctx, b, kind);
  if (luc__recording(ctx)) slope = slope_formula(&f, kind, x, p.f);
  dx = slope ? luc__f2(&f, LUC_OP_mul, g, slope) : backward(&f, g, x, kind, p.f);
  return luc__f_end(&f, dx, &b->gin[0]);
}

/* ---- the rows ---- */

static luc_ew_params one_param(const luc_value *args) {
  return (luc_ew_params){.f = {luc_as_double(&args[1])}};
}

/* lambd is one of the dtype's numbers. */
static luc_ew_params shrink_params(const luc_value *args) {
  const luc_dtype dtype = (luc_dtype)args[0].as.tensor->dtype;
  const luc_scalar lambd = {LUC_SCALAR_FLOAT, {.f = luc_as_double(&args[1])}};
  return (luc_ew_params){.f = {luc__scalar_double(luc__scalar_as(lambd, dtype))}};
}

static luc_ew_params two_params(const luc_value *args) {
  return (luc_ew_params){.f = {luc_as_double(&args[1]), luc_as_double(&args[2])}};
}

static luc_ew_params elu_params(const luc_value *args) {
  return (luc_ew_params){.f = {luc_as_double(&args[1]), 1, 1}};
}

static luc_ew_params selu_params(const luc_value *args) {
  const double alpha = 1.6732632423543772848170429916717;
  const double scale = 1.0507009873554804934193349852946;
  (void)args;
  return (luc_ew_params){.f = {alpha * scale, scale, 1}};
}

static luc_ew_params celu_params(const luc_value *args) {
  double alpha = luc_as_double(&args[1]);
  const double slope = 1 / alpha, left = fma(-slope, alpha, 1); /* what the division rounded */
  return (luc_ew_params){.f = {alpha, 1, slope, isfinite(left) ? left * slope : 0}};
}

static luc_ew_params relu6_params(const luc_value *args) {
  (void)args;
  return (luc_ew_params){.f = {0, 6}};
}

LUC_RUN_BY(leaky_relu, run_kernel, LUC_ACT_leaky_relu, one_param)
LUC_GRAD_BY(leaky_relu, gradient, LUC_ACT_leaky_relu, one_param)
LUC_RUN_BY(elu, run_kernel, LUC_ACT_elu, elu_params)
LUC_GRAD_BY(elu, gradient, LUC_ACT_elu, elu_params)
LUC_RUN_BY(selu, run_kernel, LUC_ACT_elu, selu_params)
LUC_GRAD_BY(selu, gradient, LUC_ACT_elu, selu_params)
LUC_GRAD_BY(celu, gradient, LUC_ACT_elu, celu_params)
LUC_RUN_BY(silu, run_kernel, LUC_ACT_silu, no_params)
LUC_GRAD_BY(silu, gradient, LUC_ACT_silu, no_params)
LUC_RUN_BY(mish, run_kernel, LUC_ACT_mish, no_params)
LUC_GRAD_BY(mish, gradient, LUC_ACT_mish, no_params)
LUC_RUN_BY(softplus, run_kernel, LUC_ACT_softplus, two_params)
LUC_GRAD_BY(softplus, gradient, LUC_ACT_softplus, two_params)
LUC_RUN_BY(logsigmoid, run_kernel, LUC_ACT_logsigmoid, no_params)
LUC_GRAD_BY(logsigmoid, gradient, LUC_ACT_logsigmoid, no_params)
LUC_GRAD_BY(hardtanh, gradient, LUC_ACT_hardtanh, two_params)
LUC_RUN_BY(relu6, run_limits, LUC_ACT_hardtanh, relu6_params)
LUC_GRAD_BY(relu6, gradient, LUC_ACT_hardtanh, relu6_params)
LUC_RUN_BY(hardsigmoid, run_kernel, LUC_ACT_hardsigmoid, no_params)
LUC_GRAD_BY(hardsigmoid, gradient, LUC_ACT_hardsigmoid, no_params)
LUC_RUN_BY(hardswish, run_kernel, LUC_ACT_hardswish, no_params)
LUC_GRAD_BY(hardswish, gradient, LUC_ACT_hardswish, no_params)
LUC_RUN_BY(softsign, run_composed, LUC_ACT_softsign)
LUC_GRAD_BY(softsign, gradient, LUC_ACT_softsign, no_params)
LUC_RUN_BY(tanhshrink, run_composed, LUC_ACT_tanhshrink)
LUC_GRAD_BY(tanhshrink, gradient, LUC_ACT_tanhshrink, no_params)
LUC_RUN_BY(hardshrink, run_kernel, LUC_ACT_hardshrink, shrink_params)
LUC_GRAD_BY(hardshrink, gradient, LUC_ACT_hardshrink, shrink_params)
LUC_GRAD_BY(softshrink, gradient, LUC_ACT_softshrink, shrink_params)
/* Of integers, PyTorch makes both numbers integers of their dtype. */
luc_status luc__run_threshold(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_dtype dtype = (luc_dtype)args[0].as.tensor->dtype;
  luc_ew_params params = {.i = {0}};
  if (!luc__dtype_is_int(dtype)) return run_limits(ctx, LUC_ACT_threshold, two_params, args, out);
  for (int i = 0; i < 2; i++) {
    const luc_scalar s = luc_as_scalar(&args[1 + i]);
    if (luc__check_scalar(ctx, s, dtype) != LUC_OK)
      return luc__fail(ctx, LUC_ERR_VALUE, "%s cannot be converted to type %s without overflow",
                       i == 0 ? "threshold" : "value", luc__dtype_name(dtype));
    params.i[i] = luc__scalar_int(s);
  }
  return luc__pointwise_as(ctx, LUC_EW_threshold, dtype, args, &params, out);
}
LUC_GRAD_BY(threshold, gradient, LUC_ACT_threshold, two_params)

luc_status luc__run_celu(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_CHECK(ctx, luc_as_double(&args[1]) != 0, LUC_ERR_VALUE, "alpha must not be 0");
  return run_kernel(ctx, LUC_ACT_elu, celu_params, args, out);
}

luc_status luc__run_softshrink(luc_context *ctx, luc_value *args, luc_value *out) {
  double lambd = luc_as_double(&args[1]);
  LUC_CHECK(ctx, lambd >= 0, LUC_ERR_VALUE, "lambd must not be negative (got %g)", lambd);
  return run_kernel(ctx, LUC_ACT_softshrink, shrink_params, args, out);
}

luc_status luc__run_hardtanh(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_ew_params p = two_params(args);
  LUC_CHECK(ctx, p.f[0] <= p.f[1], LUC_ERR_VALUE,
            "min_val must not be above max_val (got %g and %g)", p.f[0], p.f[1]);
  LUC_CHECK(ctx, p.f[0] > -1 || args[0].as.tensor->dtype != LUC_UINT8, LUC_ERR_VALUE,
            "cannot do hardtanh on an unsigned type with negative limits");
  return run_limits(ctx, LUC_ACT_hardtanh, two_params, args, out);
}

static luc_status gelu_kind(luc_context *ctx, const luc_value *approximate, luc_activation *kind) {
  int form;
  LUC_TRY(luc__choice(ctx, "approximate", "none|tanh", approximate->as.string, &form));
  *kind = form ? LUC_ACT_gelu_tanh : LUC_ACT_gelu;
  return LUC_OK;
}

luc_status luc__run_gelu(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_activation kind;
  LUC_TRY(gelu_kind(ctx, &args[1], &kind));
  return run_kernel(ctx, kind, no_params, args, out);
}
luc_status luc__grad_gelu(luc_context *ctx, luc_backward *b) {
  luc_activation kind;
  LUC_TRY(gelu_kind(ctx, &b->args[1], &kind));
  return gradient(ctx, b, kind, no_params);
}

/* ---- prelu ---- */

/* prelu(input, weight): one slope for all, or one for each channel (dimension 1). */
luc_status luc__run_prelu(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *w = args[1].as.tensor;
  LUC_TRY(luc__need_float(ctx, "input", x));
  LUC_TRY(luc__match_dtype(ctx, "input", x, "weight", w));
  int64_t channels = x->ndim > 1 ? x->sizes[1] : 1;
  if (w->ndim > 1 || (w->numel != 1 && w->numel != channels))
    return luc__fail_shapes(ctx, "input", x, "weight", w,
                            "weight must be a vector of 1 value or one for each of %lld channels",
                            (long long)channels);
  luc_formula f = luc__formula(ctx);
  int64_t sizes[LUC_MAX_DIMS] = {1, w->numel, 1, 1, 1, 1, 1, 1};
  w = luc__f_reshape(&f, w, x->ndim, sizes);
  return luc__f_result(&f, luc__f2(&f, LUC_OP_prelu_kernel, x, w), out);
}

/* prelu_kernel(input, weight): weight broadcasts to input. */
luc_status luc__run_prelu_kernel(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_tensor *x = args[0].as.tensor;
  luc_tensor *y;
  luc_dtype dtype = x->dtype;
  LUC_TRY(result_like(ctx, out, dtype, 1, &x, &y));
  luc__elementwise_run(ctx, &luc__kernels(ctx)->activation->prelu, dtype, y,
                       (luc_ew_input[]){{.t = x}, {.t = args[1].as.tensor}}, NULL);
  return LUC_OK;
}

/* prelu_backward(grad, input, weight) -> (input, weight): the latter still has input's shape. */
luc_status luc__run_prelu_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_tensor *x = args[1].as.tensor;
  luc_tensor *dx, *dw;
  luc_dtype dtype = x->dtype;
  const luc_activation_kernels *k = luc__kernels(ctx)->activation;
  luc_ew_input in[] = {{.t = args[0].as.tensor}, {.t = x}, {.t = args[2].as.tensor}};
  LUC_TRY(result_like(ctx, &out[0], dtype, 1, &x, &dx));
  LUC_TRY(result_like(ctx, &out[1], dtype, 1, &x, &dw));
  luc__elementwise_run(ctx, &k->prelu_input, dtype, dx, in, NULL);
  luc__elementwise_run(ctx, &k->prelu_weight, dtype, dw, in, NULL);
  return LUC_OK;
}

luc_status luc__grad_prelu_kernel(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0], *x = b->args[0].as.tensor, *w = b->args[1].as.tensor, *dx, *dw;
  if (luc__recording(ctx)) {
    luc_tensor *positive = luc__fs(&f, LUC_OP_gt, x, 0);
    dx = luc__f_where(&f, positive, g, luc__f2(&f, LUC_OP_mul, g, w));
    dw = luc__f2(&f, LUC_OP_mul, g, luc__fs(&f, LUC_OP_clamp_max, x, 0));
  } else {
    dx = luc__f_call2(&f, LUC_OP_prelu_backward, &dw,
                      LUC_ARGS(luc_v_tensor(g), luc_v_tensor(x), luc_v_tensor(w)));
  }
  if (luc__needs(b, 0)) luc__f_keep(&f, dx, &b->gin[0]);
  if (luc__needs(b, 1)) luc__f_keep(&f, dw, &b->gin[1]);
  return luc__f_end(&f, NULL, NULL);
}

/* ---- glu: first half * sigmoid(second half) ---- */

/* A view of half 0 or 1 of t along a dimension. */
static luc_status half_of(luc_context *ctx, luc_tensor *t, int dim, int which, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS];
  for (int d = 0; d < t->ndim; d++) sizes[d] = d == dim ? t->sizes[d] / 2 : t->sizes[d];
  int64_t offset = t->offset + which * sizes[dim] * t->strides[dim];
  return luc__held(ctx, luc__tensor_view(ctx, t, t->ndim, sizes, t->strides, offset, out), out);
}

luc_status luc__run_glu(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *a, *gate, *y;
  int dim;
  LUC_TRY(luc__need_float(ctx, "input", x));
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, x->ndim, &dim));
  LUC_CHECK(ctx, x->ndim > 0, LUC_ERR_SHAPE, "input needs at least 1 dimension");
  if (x->sizes[dim] % 2 != 0)
    return luc__fail_shapes(ctx, "input", x, NULL, NULL,
                            "the split dimension must have an even size, not %lld",
                            (long long)x->sizes[dim]);
  LUC_TRY(half_of(ctx, x, dim, 0, &a));
  LUC_TRY(half_of(ctx, x, dim, 1, &gate));
  LUC_TRY(result_like(ctx, out, x->dtype, 1, (const luc_tensor *const[]){a}, &y));
  luc__elementwise_run(ctx, &luc__kernels(ctx)->activation->glu, x->dtype, y,
                       (luc_ew_input[]){{.t = a}, {.t = gate}}, NULL);
  return LUC_OK;
}

/* glu_backward(grad, input, dim): each half of the result from all of grad, and the gates' sigmoid,
 * which lies where the second half will. */
luc_status luc__run_glu_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[1].as.tensor, *halves[4], *dx, *s;
  const luc_dtype dtype = x->dtype, compute = luc__compute_dtype(dtype);
  int dim = (int)args[2].as.i;
  LUC_TRY(luc__out(ctx, out, dtype, x->ndim, x->sizes, &dx));
  for (int i = 0; i < 4; i++) LUC_TRY(half_of(ctx, i < 2 ? x : dx, dim, i % 2, &halves[i]));
  s = halves[3];
  if ((luc_dtype)s->dtype != compute) LUC_TRY(luc__scratch_like(ctx, s, compute, &s));
  luc_ew_input g = {.t = args[0].as.tensor}, a = {.t = halves[0]}, gate = {.t = halves[1]};
  luc__elementwise(ctx, LUC_EW_sigmoid, compute, s, &gate);
  luc__elementwise(ctx, LUC_EW_mul, compute, halves[2], (luc_ew_input[]){g, {.t = s}});
  luc__elementwise_run(ctx, &luc__kernels(ctx)->activation->glu_gate, compute, halves[3],
                       (luc_ew_input[]){g, a, {.t = s}}, NULL);
  return LUC_OK;
}

luc_status luc__grad_glu(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0], *x = b->args[0].as.tensor, *dx;
  int dim;
  LUC_TRY(luc__dim_wrap(ctx, b->args[1].as.i, x->ndim, &dim));
  if (luc__recording(ctx)) {
    int64_t half = x->sizes[dim] / 2;
    luc_tensor *a = luc__f_narrow(&f, x, dim, 0, half);
    luc_tensor *s = luc__f1(&f, LUC_OP_sigmoid, luc__f_narrow(&f, x, dim, half, half));
    luc_tensor *da = luc__f2(&f, LUC_OP_mul, g, s);
    luc_tensor *slope = luc__f2(&f, LUC_OP_mul, a, rest(&f, s));
    dx = luc__f_cat(&f, da, luc__f2(&f, LUC_OP_mul, da, slope), dim);
  } else {
    dx = luc__f_call(&f, LUC_OP_glu_backward,
                     LUC_ARGS(luc_v_tensor(g), luc_v_tensor(x), luc_v_int(dim)));
  }
  return luc__f_end(&f, dx, &b->gin[0]);
}
