/* Functions of one number at a time: exp, sin, round and the rest, and their gradients. */
#include "ops/pointwise.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "cpu/copy.h"
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/geometry.h"

/* ---- running ---- */

static luc_status refuse_bool(luc_context *ctx, const luc_value *v) {
  LUC_CHECK(ctx, v->kind != LUC_TENSOR || v->as.tensor->dtype != LUC_BOOL, LUC_ERR_TYPE,
            "not implemented for bool");
  return LUC_OK;
}

/* Integers are whole already. */
static luc_status copy_whole(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *result;
  const bool preset = out->kind == LUC_TENSOR;
  LUC_TRY(luc__out(ctx, out, t->dtype, t->ndim, t->sizes, &result));
  if (!preset) luc__take_order(result, 1, (const luc_tensor *const[]){t});
  return result == t ? LUC_OK : luc__copy(ctx, result, t);
}

static luc_status run_rounding(luc_context *ctx, luc_ew op, luc_value *args,
                               const luc_ew_params *params, luc_value *out) {
  LUC_TRY(refuse_bool(ctx, &args[0]));
  if (!luc__dtype_is_float(args[0].as.tensor->dtype)) return copy_whole(ctx, args, out);
  return luc__pointwise(ctx, op, LUC_RULE_SAME, args, params, out);
}

/* Defines luc__run_<name>: the kernel of that name, which leaves integers as they are. */
#define RUN_ROUNDING(name)                                                                         \
  luc_status luc__run_##name(luc_context *ctx, luc_value *args, luc_value *out) {                  \
    return run_rounding(ctx, LUC_EW_##name, args, NULL, out);                                      \
  }

LUC_RUN(reciprocal, FLOAT)
LUC_RUN(sqrt, FLOAT)
LUC_RUN(rsqrt, FLOAT)
LUC_RUN(exp, FLOAT)
LUC_RUN(exp2, FLOAT)
LUC_RUN(expm1, FLOAT)
LUC_RUN(log, FLOAT)
LUC_RUN(log2, FLOAT)
LUC_RUN(log10, FLOAT)
LUC_RUN(log1p, FLOAT)
LUC_RUN(sin, FLOAT)
LUC_RUN(cos, FLOAT)
LUC_RUN(tan, FLOAT)
LUC_RUN(asin, FLOAT)
LUC_RUN(acos, FLOAT)
LUC_RUN(atan, FLOAT)
LUC_RUN(sinh, FLOAT)
LUC_RUN(cosh, FLOAT)
LUC_RUN(tanh, FLOAT)
LUC_RUN(asinh, FLOAT)
LUC_RUN(acosh, FLOAT)
LUC_RUN(atanh, FLOAT)
LUC_RUN(erf, FLOAT)
LUC_RUN(erfc, FLOAT)
LUC_RUN(erfinv, FLOAT)
LUC_RUN(lgamma, FLOAT)
LUC_RUN(digamma, FLOAT)
LUC_RUN(sigmoid, FLOAT)
LUC_RUN(angle, FLOAT)
LUC_RUN(sigmoid_backward, FLOAT)
LUC_RUN(tanh_backward, FLOAT)
LUC_RUN(relu_backward, FLOAT)
LUC_RUN(sign, SAME)
RUN_ROUNDING(ceil)
RUN_ROUNDING(floor)
RUN_ROUNDING(trunc)

/* sign, and of complex numbers that of length 1 in the same direction. */
luc_status luc__run_sgn(luc_context *ctx, luc_value *args, luc_value *out) {
  return luc__pointwise(ctx, LUC_EW_sign, LUC_RULE_SAME, args, NULL, out);
}

luc_status luc__run_abs(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(refuse_bool(ctx, &args[0]));
  LUC_CHECK(ctx, out->kind != LUC_TENSOR || !luc__dtype_is_complex(out->as.tensor->dtype),
            LUC_ERR_TYPE, "In-place abs is not supported for complex tensors.");
  return luc__pointwise(ctx, LUC_EW_abs, LUC_RULE_SAME, args, NULL, out);
}

luc_status luc__run_relu(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(refuse_bool(ctx, &args[0]));
  return luc__pointwise(ctx, LUC_EW_relu, LUC_RULE_SAME, args, NULL, out);
}

luc_status luc__run_square(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_dtype dtype = args[0].as.tensor->dtype;
  if (dtype == LUC_BOOL) dtype = LUC_INT64;
  return luc__pointwise_as(ctx, LUC_EW_square, dtype, args, NULL, out);
}

luc_status luc__run_frac(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_dtype dtype = args[0].as.tensor->dtype;
  LUC_CHECK(ctx, luc__dtype_is_float(dtype), LUC_ERR_TYPE, "not implemented for %s",
            luc__dtype_name(dtype));
  return luc__pointwise(ctx, LUC_EW_frac, LUC_RULE_SAME, args, NULL, out);
}

luc_status luc__run_round(luc_context *ctx, luc_value *args, luc_value *out) {
  int64_t decimals = args[1].as.i;
  luc_ew_params params = {{pow(10, fabs((double)decimals)), decimals < 0 ? -1 : 1}, {0}};
  luc_ew op = decimals == 0 ? LUC_EW_round : LUC_EW_round_decimals;
  return run_rounding(ctx, op, args, &params, out);
}

/* (n, x) or (x, n): n is argument `at`. */
static luc_status polygamma(luc_context *ctx, int at, const luc_value *args, luc_value *out) {
  const int64_t n = args[at].as.i;
  const long double factorial = n % 2 ? tgammal(n + 1.0L) : -tgammal(n + 1.0L);
  luc_ew_params params = {{(double)n, (double)factorial}, {0}};
  if (isfinite(params.f[1])) params.f[2] = (double)(factorial - params.f[1]);
  LUC_CHECK(ctx, n >= 0, LUC_ERR_VALUE, "polygamma: n must not be negative (got %lld)",
            (long long)n);
  LUC_CHECK(ctx, n < INT32_MAX, LUC_ERR_VALUE, "polygamma: n is too large (got %lld)",
            (long long)n);
  luc_ew op = n == 0 ? LUC_EW_digamma : n == 1 ? LUC_EW_trigamma : LUC_EW_polygamma;
  return luc__pointwise(ctx, op, LUC_RULE_FLOAT, &args[1 - at], &params, out);
}

LUC_RUN_BY(polygamma, polygamma, 0)
LUC_RUN_BY(polygamma_of, polygamma, 1)

/* logit(input, eps): eps may be none, which is one below 0. */
static double logit_eps(const luc_value *args) {
  return luc_is_none(&args[1]) ? -1 : luc_as_double(&args[1]);
}

luc_status luc__run_logit(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_ew_params params = {{logit_eps(args)}, {0}};
  return luc__pointwise(ctx, LUC_EW_logit, LUC_RULE_FLOAT, args, &params, out);
}

/* logit_backward(grad, input, least, most, outside) */
luc_status luc__run_logit_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_ew_params params = {{args[2].as.f, args[3].as.f, args[4].as.f}, {0}};
  return luc__pointwise(ctx, LUC_EW_logit_backward, LUC_RULE_FLOAT, args, &params, out);
}

static double largest(luc_dtype dtype) {
  if (dtype == LUC_FLOAT16) return 65504;
  if (dtype == LUC_BFLOAT16) return 0x1.fep127;
  return luc__dtype_to_real(dtype) == LUC_FLOAT32 ? (double)FLT_MAX : DBL_MAX;
}

luc_status luc__run_nan_to_num(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_dtype dtype = args[0].as.tensor->dtype;
  if (!luc__dtype_has_gradient(dtype)) return copy_whole(ctx, args, out);
  double most = largest(dtype), defaults[3] = {0, most, -most};
  luc_ew_params params = {{0}, {0}};
  for (int i = 0; i < 3; i++)
    params.f[i] = luc_is_none(&args[i + 1]) ? defaults[i] : luc_as_double(&args[i + 1]);
  return luc__pointwise(ctx, LUC_EW_nan_to_num, LUC_RULE_SAME, args, &params, out);
}

/* frexp: two kernels, of which the exponent's writes int32. */
luc_status luc__run_frexp(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor, *exponent;
  luc_dtype dtype = x->dtype;
  LUC_CHECK(ctx, luc__dtype_is_float(dtype), LUC_ERR_TYPE,
            "only supports floating-point dtypes (got %s)", luc__dtype_name(dtype));
  LUC_TRY(luc__pointwise(ctx, LUC_EW_frexp_mantissa, LUC_RULE_SAME, args, NULL, out));
  LUC_TRY(luc__out(ctx, &out[1], LUC_INT32, x->ndim, x->sizes, &exponent));
  luc_ew_input in = {.t = x};
  luc__elementwise(ctx, LUC_EW_frexp_exponent, dtype, exponent, &in);
  return LUC_OK;
}

/* ---- gradients ---- */

/* Steps of two operands: the gradient is zero wherever there is one. */
luc_status luc__grad_flat(luc_context *ctx, luc_backward *b) {
  luc_tensor *g = b->gout[0];
  for (int p = 0; p < 2; p++)
    if (luc__needs(b, p)) LUC_TRY(luc__zeros(ctx, g->dtype, g->ndim, g->sizes, &b->gin[p]));
  return LUC_OK;
}

luc_status luc__f_slope(luc_formula *f, luc_backward *b, luc_tensor *slope) {
  luc_tensor *product = luc__f2(f, LUC_OP_mul, b->gout[0], luc__f_conj(f, slope));
  return luc__f_end(f, product, &b->gin[0]);
}

static luc_tensor *input(const luc_backward *b) {
  return b->args[0].as.tensor;
}

luc_status luc__grad_slope(luc_context *ctx, luc_backward *b, luc_opid op) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, luc__f1(&f, op, input(b)));
}

luc_status luc__grad_frac(luc_context *ctx, luc_backward *b) {
  (void)ctx;
  b->gin[0] = luc__retain(b->gout[0]);
  return LUC_OK;
}

luc_status luc__grad_abs(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *direction = luc__f1(&f, LUC_OP_sgn, input(b));
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, b->gout[0], direction), &b->gin[0]);
}

/* What of g is across the direction, by the length; zero at 0. */
luc_status luc__grad_sgn(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *z = input(b), *g = b->gout[0], *y = b->results[0];
  if (!luc__dtype_is_complex(z->dtype)) return luc__grad_forget(ctx, b);
  luc_tensor *length = luc__f1(&f, LUC_OP_abs, z);
  luc_tensor *along = luc__f2(&f, LUC_OP_mul, luc__f1(&f, LUC_OP_conj, g), y);
  luc_tensor *removed = luc__f2(&f, LUC_OP_mul, luc__f1(&f, LUC_OP_real, along), y);
  luc_tensor *zero = luc__fs(&f, LUC_OP_eq, length, 0);
  length = luc__f_fill(&f, length, zero, 1);
  luc_tensor *slope = luc__f2(&f, LUC_OP_div, luc__f2(&f, LUC_OP_sub, g, removed), length);
  return luc__f_end(&f, luc__f_where(&f, zero, NULL, slope), &b->gin[0]);
}

/* g i z / |z|^2; real numbers only jump. */
luc_status luc__grad_angle(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *z = input(b);
  if (!luc__dtype_is_complex(z->dtype)) return luc__grad_forget(ctx, b);
  luc_tensor *re = luc__f1(&f, LUC_OP_real, z), *im = luc__f1(&f, LUC_OP_imag, z);
  luc_tensor *turned = luc__f2(&f, LUC_OP_complex, luc__f1(&f, LUC_OP_neg, im), re);
  luc_tensor *square = luc__f1(&f, LUC_OP_square, luc__f1(&f, LUC_OP_abs, z));
  luc_tensor *zero = luc__fs(&f, LUC_OP_eq, square, 0);
  luc_tensor *slope = luc__f2(&f, LUC_OP_div, turned, luc__f_fill(&f, square, zero, 1));
  luc_tensor *whole = luc__f2(&f, LUC_OP_mul, b->gout[0], slope);
  return luc__f_end(&f, luc__f_where(&f, zero, NULL, whole), &b->gin[0]);
}

luc_status luc__grad_reciprocal(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, luc__f1(&f, LUC_OP_neg, luc__f1(&f, LUC_OP_square, b->results[0])));
}

luc_status luc__grad_square(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, luc__fs(&f, LUC_OP_mul, input(b), 2));
}

luc_status luc__grad_sqrt(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *twice = luc__f_conj(&f, luc__fs(&f, LUC_OP_mul, b->results[0], 2));
  return luc__f_end(&f, luc__f2(&f, LUC_OP_div, b->gout[0], twice), &b->gin[0]);
}

luc_status luc__grad_rsqrt(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *cube = luc__fs(&f, LUC_OP_pow, b->results[0], 3);
  return luc__f_slope(&f, b, luc__fs(&f, LUC_OP_mul, cube, -0.5));
}

luc_status luc__grad_exp(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, b->results[0]);
}

luc_status luc__grad_exp2(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, luc__fs(&f, LUC_OP_mul, b->results[0], 0.69314718055994530942));
}

luc_status luc__grad_expm1(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, luc__fs(&f, LUC_OP_add, b->results[0], 1));
}

/* gout / (conj(input) `op` x) */
static luc_status grad_log(luc_context *ctx, luc_backward *b, luc_opid op, double x) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *below = luc__fs(&f, op, luc__f_conj(&f, input(b)), x);
  return luc__f_end(&f, luc__f2(&f, LUC_OP_div, b->gout[0], below), &b->gin[0]);
}

LUC_GRAD_BY(log2, grad_log, LUC_OP_mul, 0.69314718055994530942)
LUC_GRAD_BY(log10, grad_log, LUC_OP_mul, 2.30258509299404568402)
LUC_GRAD_BY(log1p, grad_log, LUC_OP_add, 1)

luc_status luc__grad_log(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *below = luc__f_conj(&f, input(b));
  return luc__f_end(&f, luc__f2(&f, LUC_OP_div, b->gout[0], below), &b->gin[0]);
}

LUC_GRAD_BY(sin, luc__grad_slope, LUC_OP_cos)
LUC_GRAD_BY(sinh, luc__grad_slope, LUC_OP_cosh)
LUC_GRAD_BY(cosh, luc__grad_slope, LUC_OP_sinh)
LUC_GRAD_BY(lgamma, luc__grad_slope, LUC_OP_digamma)

luc_status luc__grad_cos(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, luc__f1(&f, LUC_OP_neg, luc__f1(&f, LUC_OP_sin, input(b))));
}

luc_status luc__grad_tan(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, luc__fs(&f, LUC_OP_add, luc__f1(&f, LUC_OP_square, b->results[0]), 1));
}

/* sum: a + x^2 by LUC_OP_add, a - x^2 by LUC_OP_rsub */
static luc_tensor *quadratic(luc_formula *f, luc_tensor *x, luc_opid sum, double a) {
  return luc__fs(f, sum, luc__f1(f, LUC_OP_square, x), a);
}

/* 1 / sqrt(1 + x^2), or of a difference */
static luc_status grad_by_root(luc_context *ctx, luc_backward *b, luc_opid sum) {
  luc_formula f = luc__formula(ctx);
  return luc__f_slope(&f, b, luc__f1(&f, LUC_OP_rsqrt, quadratic(&f, input(b), sum, 1)));
}

LUC_GRAD_BY(asin, grad_by_root, LUC_OP_rsub)
LUC_GRAD_BY(asinh, grad_by_root, LUC_OP_add)

/* 1 / (1 + x^2), or of a difference */
static luc_status grad_by_quotient(luc_context *ctx, luc_backward *b, luc_opid sum) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *below = luc__f_conj(&f, quadratic(&f, input(b), sum, 1));
  return luc__f_end(&f, luc__f2(&f, LUC_OP_div, b->gout[0], below), &b->gin[0]);
}

LUC_GRAD_BY(atan, grad_by_quotient, LUC_OP_add)
LUC_GRAD_BY(atanh, grad_by_quotient, LUC_OP_rsub)

luc_status luc__grad_acos(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *slope = luc__f1(&f, LUC_OP_rsqrt, quadratic(&f, input(b), LUC_OP_rsub, 1));
  return luc__f_slope(&f, b, luc__f1(&f, LUC_OP_neg, slope));
}

/* 1 / sqrt(x^2 - 1); in the complex plane, whose left half has another root, from its factors. */
luc_status luc__grad_acosh(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  if (luc__dtype_is_complex(input(b)->dtype)) {
    luc_tensor *left = luc__f1(&f, LUC_OP_rsqrt, luc__fs(&f, LUC_OP_sub, input(b), 1));
    luc_tensor *right = luc__f1(&f, LUC_OP_rsqrt, luc__fs(&f, LUC_OP_add, input(b), 1));
    return luc__f_slope(&f, b, luc__f2(&f, LUC_OP_mul, left, right));
  }
  return luc__f_slope(&f, b, luc__f1(&f, LUC_OP_rsqrt, quadratic(&f, input(b), LUC_OP_add, -1)));
}

/* exp(sign * x^2) * s */
static luc_status grad_bell(luc_context *ctx, luc_backward *b, luc_tensor *x, double sign,
                            double s) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *power = luc__fs(&f, LUC_OP_mul, luc__f1(&f, LUC_OP_square, x), sign);
  return luc__f_slope(&f, b, luc__fs(&f, LUC_OP_mul, luc__f1(&f, LUC_OP_exp, power), s));
}

LUC_GRAD_BY(erf, grad_bell, input(b), -1, 1.12837916709551257390)
LUC_GRAD_BY(erfc, grad_bell, input(b), -1, -1.12837916709551257390)
LUC_GRAD_BY(erfinv, grad_bell, b->results[0], 1, 0.88622692545275801365)

/* g times the next derivative of log gamma at x. */
static luc_status grad_polygamma(luc_context *ctx, luc_backward *b, int p, int64_t n) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *next = luc__f_call(&f, LUC_OP_polygamma, LUC_ARGS(luc_v_int(n), b->args[p]));
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, b->gout[0], next), &b->gin[p]);
}

LUC_GRAD_BY(digamma, grad_polygamma, 0, 1)
LUC_GRAD_BY(polygamma, grad_polygamma, 1, b->args[0].as.i + 1)
LUC_GRAD_BY(polygamma_of, grad_polygamma, 0, b->args[1].as.i + 1)

/* With the slope y - y^2 (sigmoid) or 1 - y^2 (tanh) of complex y. */
static luc_status grad_by_result(luc_context *ctx, luc_backward *b, bool sigmoid) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *y = b->results[0], *square = luc__f1(&f, LUC_OP_square, y);
  luc_tensor *slope =
      sigmoid ? luc__f2(&f, LUC_OP_sub, y, square) : luc__fs(&f, LUC_OP_rsub, square, 1);
  return luc__f_slope(&f, b, slope);
}

/* op(gout, result), in gout's place if that is spare. */
static luc_status by_result(luc_context *ctx, luc_backward *b, luc_opid op) {
  luc_tensor *g = b->gout[0], *y = b->results[0];
  if (!luc__gout_is_spare(b)) return luc__binary(ctx, op, g, y, &b->gin[0]);
  LUC_TRY(luc_call_inplace(ctx, op, LUC_ARGS(luc_v_tensor(g), luc_v_tensor(y))));
  b->gin[0] = luc__retain(g);
  return LUC_OK;
}

luc_status luc__grad_sigmoid(luc_context *ctx, luc_backward *b) {
  if (luc__dtype_is_complex(b->results[0]->dtype)) return grad_by_result(ctx, b, true);
  return by_result(ctx, b, LUC_OP_sigmoid_backward);
}

luc_status luc__grad_tanh(luc_context *ctx, luc_backward *b) {
  if (luc__dtype_is_complex(b->results[0]->dtype)) return grad_by_result(ctx, b, false);
  return by_result(ctx, b, LUC_OP_tanh_backward);
}

luc_status luc__grad_relu(luc_context *ctx, luc_backward *b) {
  return by_result(ctx, b, LUC_OP_relu_backward);
}

luc_status luc__grad_behind_relu(luc_context *ctx, luc_backward *b, luc_grad_fn grad) {
  luc_tensor *g = NULL;
  luc_backward relu = *b, before = *b;
  relu.gin = &g, before.gout = &g;
  LUC_TRY(luc__grad_relu(ctx, &relu));
  luc_status status = grad(ctx, &before);
  luc_tensor_release(ctx, g);
  return status;
}

/* Of op: g times what has the slope a - 2y by y, a being `at_zero`; gg is its gradient. */
static luc_status grad_slope(luc_context *ctx, luc_backward *b, luc_opid op, double at_zero) {
  luc_tensor *gg = b->gout[0], *g = b->args[0].as.tensor, *y = b->args[1].as.tensor;
  if (luc__needs(b, 0)) LUC_TRY(luc__binary(ctx, op, gg, y, &b->gin[0]));
  if (!luc__needs(b, 1)) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *slope = luc__fs(&f, LUC_OP_mul, y, -2), *both = luc__f2(&f, LUC_OP_mul, gg, g);
  if (at_zero != 0) slope = luc__fs(&f, LUC_OP_add, slope, at_zero);
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, both, slope), &b->gin[1]);
}

LUC_GRAD_BY(sigmoid_backward, grad_slope, LUC_OP_sigmoid_backward, 1) /* g (y - y^2) */
LUC_GRAD_BY(tanh_backward, grad_slope, LUC_OP_tanh_backward, 0)       /* g (1 - y^2) */

luc_status luc__grad_relu_backward(luc_context *ctx, luc_backward *b) {
  if (!luc__needs(b, 0)) return LUC_OK;
  return luc__binary(ctx, LUC_OP_relu_backward, b->gout[0], b->args[1].as.tensor, &b->gin[0]);
}

static double rounded(double v, luc_dtype dtype) {
  return luc__scalar_double(luc__scalar_as((luc_scalar){LUC_SCALAR_FLOAT, {.f = v}}, dtype));
}

/* 1 / (x (1 - x)); with eps, flat outside [eps, 1 - eps]. One below 0 is none. */
luc_status luc__grad_logit(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0], *x = input(b);
  const luc_dtype dtype = (luc_dtype)x->dtype;
  const double eps = logit_eps(b->args), outside = eps < 0 ? NAN : 0;
  const double least = rounded(fmax(eps, 0), dtype), most = rounded(1 - least, dtype);
  if (!luc__recording(ctx)) {
    x = luc__f_call(&f, LUC_OP_logit_backward,
                    LUC_ARGS(luc_v_tensor(g), luc_v_tensor(x), luc_v_float(least),
                             luc_v_float(most), luc_v_float(outside)));
    return luc__f_end(&f, x, &b->gin[0]);
  }
  luc_tensor *others = luc__f2(&f, LUC_OP_logical_or, luc__fs(&f, LUC_OP_lt, x, least),
                               luc__fs(&f, LUC_OP_gt, x, most));
  luc_tensor *spread =
      luc__f2(&f, LUC_OP_mul, luc__fs(&f, LUC_OP_add, x, 0), luc__fs(&f, LUC_OP_rsub, x, 1));
  spread = luc__f_fill(&f, spread, others, eps < 0 ? NAN : 1);
  luc_tensor *slope = luc__f2(&f, LUC_OP_div, g, spread);
  if (eps >= 0) slope = luc__f_where(&f, others, NULL, slope);
  return luc__f_end(&f, slope, &b->gin[0]);
}

luc_status luc__grad_frexp(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  if (!b->gout[0]) return LUC_OK;
  luc_tensor *scale = luc__f1(&f, LUC_OP_exp2, b->results[1]);
  return luc__f_end(&f, luc__f2(&f, LUC_OP_div, b->gout[0], scale), &b->gin[0]);
}

luc_status luc__grad_nan_to_num(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *finite = luc__f1(&f, LUC_OP_isfinite, input(b));
  return luc__f_end(&f, luc__f_where(&f, finite, b->gout[0], NULL), &b->gin[0]);
}
