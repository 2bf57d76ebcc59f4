/* Functions of two and three numbers: powers, clamping, interpolation and their kin, and their
 * gradients. */
#include "ops/pointwise.h"

#include <math.h>

#include "cpu/cuts.h"
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/geometry.h"

static luc_tensor *tensor_at(const luc_backward *b, int p) {
  return luc_as_tensor(&b->args[p]);
}

/* op(a, b) of boxed operands. */
static luc_tensor *of(luc_formula *f, luc_opid op, luc_value a, luc_value b) {
  return luc__f_call(f, op, LUC_ARGS(a, b));
}

static luc_status floats_only(luc_context *ctx, const luc_value *args, int n) {
  luc_dtype dtype = luc__result_dtype(ctx, args, n);
  LUC_CHECK(ctx, luc__dtype_has_gradient(dtype), LUC_ERR_TYPE, "not implemented for %s",
            luc__dtype_name(dtype));
  return LUC_OK;
}

/* ---- powers ---- */

/* The exponents that have a kernel of their own. */
static bool simple_power(const luc_value *exponent, luc_dtype dtype, luc_ew *op) {
  if (exponent->kind == LUC_TENSOR) return false;
  double s = luc_as_double(exponent);
  if (s == 2) return *op = LUC_EW_square, true;
  if (s == 0.5) return *op = LUC_EW_sqrt, true;
  if (s == -0.5) return *op = LUC_EW_rsqrt, true;
  if (s == -1) return *op = LUC_EW_reciprocal, true;
  if (s == -2 && !luc__dtype_is_complex(dtype)) return *op = LUC_EW_inverse_square, true;
  return false;
}

/* Those that complex numbers have by products: 3 and -2; and 0 and 1, which are 1 and the base. */
static luc_status complex_power(luc_context *ctx, luc_value *args, luc_dtype dtype,
                                luc_value *out) {
  luc_formula f = luc__formula(ctx);
  const double exponent = luc_as_double(&args[1]);
  luc_tensor *x = args[0].as.tensor;
  luc_opid first = exponent == 0 ? LUC_OP_ones_like : LUC_OP_square;
  luc_tensor *y = luc__f1(&f, exponent == 1 ? LUC_OP_clone : first, x);
  if (exponent == 3) y = luc__f2(&f, LUC_OP_mul, y, x);
  if (exponent == -2) y = luc__f1(&f, LUC_OP_reciprocal, y);
  LUC_TRY(luc__f_end(&f, y, &y));
  return luc__deliver(ctx, out, dtype, &y);
}

luc_status luc__run_pow(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_dtype dtype = luc__result_dtype(ctx, args, 2);
  bool is_float = luc__dtype_has_gradient(dtype);
  LUC_CHECK(ctx, dtype != LUC_BOOL, LUC_ERR_TYPE, "not implemented for bool");
  LUC_CHECK(ctx, is_float || args[1].kind != LUC_INT || args[1].as.i >= 0, LUC_ERR_VALUE,
            "Integers to negative integer powers are not allowed.");
  luc_ew op;
  if (is_float && args[0].kind == LUC_TENSOR && simple_power(&args[1], dtype, &op))
    return luc__pointwise_as(ctx, op, dtype, args, NULL, out);
  if (luc__dtype_is_complex(dtype) && args[0].kind == LUC_TENSOR && args[1].kind != LUC_TENSOR) {
    double s = luc_as_double(&args[1]);
    if (s == 3 || s == -2 || s == 0 || s == 1) return complex_power(ctx, args, dtype, out);
  }
  return luc__pointwise_as(ctx, LUC_EW_pow, dtype, args, NULL, out);
}

/* g times the conjugate of s * x^(s - 1), and zero where s is. */
static luc_tensor *power_by_base(luc_formula *f, luc_backward *b) {
  luc_value x = b->args[0], s = b->args[1], g = luc_v_tensor(b->gout[0]), one = luc_v_int(1);
  if (s.kind != LUC_TENSOR) {
    double exponent = luc_as_double(&s);
    if (exponent == 0) return of(f, LUC_OP_mul, g, luc_v_int(0));
    luc_tensor *rest = of(f, LUC_OP_pow, x, luc_v_float(exponent - 1));
    rest = luc__f_conj(f, rest);
    return luc__f2(f, LUC_OP_mul, b->gout[0], luc__fs(f, LUC_OP_mul, rest, exponent));
  }
  bool boolean = s.as.tensor->dtype == LUC_BOOL; /* cannot be subtracted from */
  if (boolean) s = luc_v_tensor(luc__f_to(f, s.as.tensor, LUC_INT64));
  if (!s.as.tensor) return NULL;
  luc_tensor *flat = of(f, LUC_OP_eq, s, luc_v_int(0)); /* where x^(s - 1) may be infinite */
  s = luc_v_tensor(luc__f_call(f, LUC_OP_masked_fill, LUC_ARGS(s, luc_v_tensor(flat), one)));
  luc_tensor *less = of(f, LUC_OP_sub, s, one), *rest = NULL;
  if (less) rest = of(f, LUC_OP_pow, x, luc_v_tensor(less));
  luc_tensor *slope = luc__f2(f, LUC_OP_mul, s.as.tensor, rest);
  luc_tensor *whole = luc__f2(f, LUC_OP_mul, b->gout[0], luc__f_conj(f, slope));
  return luc__f_where(f, flat, NULL, whole);
}

/* The same for complex powers; an exponent counts as not negative if it is real and at least 0. */
static luc_tensor *complex_by_exponent(luc_formula *f, luc_backward *b) {
  luc_value x = b->args[0], s = b->args[1];
  luc_tensor *y = b->results[0], *base = luc_as_tensor(&x), *exponent = s.as.tensor;
  luc_dtype dtype = y->dtype;
  /* A number may be too large for complex64, but its logarithm is not. */
  base = base ? luc__f_to(f, base, dtype)
              : luc__f_call(f, LUC_OP_scalar_tensor, LUC_ARGS(x, luc_v_dtype(LUC_COMPLEX128)));
  luc_tensor *log = luc__f_to(f, luc__f1(f, LUC_OP_log, base), dtype);
  luc_tensor *slope = luc__f2(f, LUC_OP_mul, y, log);
  exponent = luc__f_to(f, exponent, dtype);
  luc_tensor *flat = luc__fs(f, LUC_OP_eq, luc__f1(f, LUC_OP_imag, exponent), 0);
  luc_tensor *up = luc__fs(f, LUC_OP_ge, luc__f1(f, LUC_OP_real, exponent), 0);
  luc_tensor *good = luc__f2(f, LUC_OP_logical_and, flat, up);
  luc_tensor *zero = luc__f2(f, LUC_OP_logical_and, luc__fs(f, LUC_OP_eq, base, 0), good);
  return luc__f2(f, LUC_OP_mul, b->gout[0], luc__f_conj(f, luc__f_where(f, zero, NULL, slope)));
}

/* g times y * log(x), which is zero where x is and the exponent is not negative. */
static luc_tensor *power_by_exponent(luc_formula *f, luc_backward *b) {
  luc_value x = b->args[0], s = b->args[1];
  if (luc__dtype_is_complex(b->results[0]->dtype)) return complex_by_exponent(f, b);
  luc_tensor *y = b->results[0], *flat = of(f, LUC_OP_ge, s, luc_v_int(0)), *slope;
  if (x.kind == LUC_TENSOR) {
    slope = luc__f2(f, LUC_OP_mul, y, luc__f1(f, LUC_OP_log, x.as.tensor));
    flat = luc__f2(f, LUC_OP_logical_and, of(f, LUC_OP_eq, x, luc_v_int(0)), flat);
  } else {
    double base = luc_as_double(&x);
    slope = luc__fs(f, LUC_OP_mul, y, log(base));
    if (base != 0) return luc__f2(f, LUC_OP_mul, b->gout[0], slope);
  }
  return luc__f2(f, LUC_OP_mul, b->gout[0], luc__f_where(f, flat, NULL, slope));
}

luc_status luc__grad_pow(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  if (luc__needs(b, 0)) luc__f_keep(&f, power_by_base(&f, b), &b->gin[0]);
  if (luc__needs(b, 1)) luc__f_keep(&f, power_by_exponent(&f, b), &b->gin[1]);
  return luc__f_end(&f, NULL, NULL);
}

/* ---- clamp ---- */

/* Refuses a bound outside the dtype's range on the side where no integer could satisfy it. */
static luc_status check_bound(luc_context *ctx, const luc_value *v, bool upper, luc_dtype dtype) {
  if (!v || luc_is_none(v) || luc_as_tensor(v) || !luc__dtype_is_int(dtype)) return LUC_OK;
  double bound = luc_as_double(v);
  LUC_CHECK(ctx, !upper || bound >= 0 || dtype != LUC_UINT8, LUC_ERR_VALUE,
            "max value %g is outside the range of uint8", bound);
  if (upper ? bound >= 0 : bound <= 0) return LUC_OK;
  return luc__check_scalar(ctx, luc_as_scalar(v), dtype);
}

/* An integer past the range, where check_bound allows it, bounds nothing, and the end of the range
 * does not either. */
static luc_value within_range(const luc_value *v, luc_dtype dtype) {
  const int bits = (int)luc__dtype_size(dtype) * 8 - luc__dtype_is_signed(dtype);
  const int64_t most = (int64_t)(UINT64_MAX >> (64 - bits));
  if (v->kind != LUC_INT || !luc__dtype_is_int(dtype)) return *v;
  return luc_v_int(luc__clamp64(v->as.i, luc__dtype_is_signed(dtype) ? -most - 1 : 0, most));
}

/* A number, and not NaN? */
static bool is_bound(const luc_value *v) {
  return !luc_as_tensor(v) && !isnan(luc_as_double(v));
}

/* The bounds' parameters: -1 for none. */
static luc_status clamp(luc_context *ctx, int low, int high, const luc_value *args,
                        luc_value *out) {
  const luc_value *lower = low < 0 ? NULL : &args[low], *upper = high < 0 ? NULL : &args[high];
  luc_value operands[3] = {args[0], luc_v_none(), luc_v_none()};
  int n = 1;
  if (lower && !luc_is_none(lower)) operands[n++] = *lower;
  bool only_upper = n == 1;
  if (upper && !luc_is_none(upper)) operands[n++] = *upper;
  LUC_CHECK(ctx, n > 1, LUC_ERR_VALUE, "at least one of min and max must be given");
  luc_dtype dtype = luc__result_dtype(ctx, operands, n);
  LUC_CHECK(ctx, dtype != LUC_BOOL || (n == 2 && luc_as_tensor(&operands[1])), LUC_ERR_TYPE,
            "not implemented for bool");
  LUC_TRY(check_bound(ctx, lower, false, dtype));
  LUC_TRY(check_bound(ctx, upper, true, dtype));
  for (int i = 1; i < n; i++) operands[i] = within_range(&operands[i], dtype);
  luc_ew op = n == 3 ? LUC_EW_clamp : only_upper ? LUC_EW_minimum : LUC_EW_maximum;
  if (n == 3 && luc__dtype_is_float(dtype) && is_bound(lower) && is_bound(upper))
    op = LUC_EW_within;
  return luc__pointwise(ctx, op, LUC_RULE_SAME, operands, NULL, out);
}

LUC_RUN_BY(clamp, clamp, 1, 2)
LUC_RUN_BY(clamp_min, clamp, 1, -1)
LUC_RUN_BY(clamp_max, clamp, -1, 1)

/* What reaches a bound passes wholly; a NaN does not pass. The upper bound wins where bounds cross,
 * and then takes all of the gradient. */
static luc_tensor *passed(luc_formula *f, luc_backward *b, const luc_value *lower,
                          const luc_value *upper) {
  luc_tensor *g = b->gout[0];
  if (lower) g = luc__f_where(f, of(f, LUC_OP_ge, b->args[0], *lower), g, NULL);
  if (upper) g = luc__f_where(f, of(f, LUC_OP_le, b->args[0], *upper), g, NULL);
  return g;
}

static luc_status grad_clamp(luc_context *ctx, luc_backward *b, int lower, int upper) {
  luc_formula f = luc__formula(ctx);
  luc_value x = b->args[0];
  const luc_value *low = lower < 0 || luc_is_none(&b->args[lower]) ? NULL : &b->args[lower];
  const luc_value *high = upper < 0 || luc_is_none(&b->args[upper]) ? NULL : &b->args[upper];
  if (luc__needs(b, 0)) luc__f_keep(&f, passed(&f, b, low, high), &b->gin[0]);
  luc_tensor *crossed = NULL, *g = b->gout[0];
  if (low && high) crossed = of(&f, LUC_OP_gt, *low, *high);
  if (low && luc__needs(b, lower)) {
    luc_tensor *part = luc__f_where(&f, of(&f, LUC_OP_lt, x, *low), g, NULL);
    luc__f_keep(&f, crossed ? luc__f_where(&f, crossed, NULL, part) : part, &b->gin[lower]);
  }
  if (high && luc__needs(b, upper)) {
    luc_tensor *above = of(&f, LUC_OP_gt, x, *high);
    if (crossed) above = luc__f2(&f, LUC_OP_logical_or, above, crossed);
    luc__f_keep(&f, luc__f_where(&f, above, g, NULL), &b->gin[upper]);
  }
  return luc__f_end(&f, NULL, NULL);
}

LUC_GRAD_BY(clamp, grad_clamp, 1, 2)
LUC_GRAD_BY(clamp_min, grad_clamp, 1, -1)
LUC_GRAD_BY(clamp_max, grad_clamp, -1, 1)

/* ---- lerp, addcmul, addcdiv ---- */

luc_status luc__run_lerp(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  LUC_TRY(floats_only(ctx, args, 1));
  LUC_CHECK(ctx, a->dtype == b->dtype, LUC_ERR_TYPE, "end is %s, expected %s like input",
            luc__dtype_name(b->dtype), luc__dtype_name(a->dtype));
  return luc__pointwise_as(ctx, LUC_EW_lerp, a->dtype, args, NULL, out);
}

luc_status luc__grad_lerp(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_value g = luc_v_tensor(b->gout[0]), weight = b->args[2];
  if (weight.kind == LUC_TENSOR) {
    bool boolean = weight.as.tensor->dtype == LUC_BOOL; /* cannot be subtracted */
    weight = luc_v_tensor(boolean ? luc__f_to(&f, weight.as.tensor, LUC_INT64)
                                  : luc__f_conj(&f, weight.as.tensor));
  }
  if (luc__needs(b, 0)) {
    luc_value rest = weight.kind == LUC_TENSOR
                         ? luc_v_tensor(of(&f, LUC_OP_sub, luc_v_int(1), weight))
                         : luc_v_float(1 - luc_as_double(&weight));
    luc__f_keep(&f, of(&f, LUC_OP_mul, g, rest), &b->gin[0]);
  }
  if (luc__needs(b, 1)) luc__f_keep(&f, of(&f, LUC_OP_mul, g, weight), &b->gin[1]);
  if (luc__needs(b, 2)) {
    luc_tensor *apart = of(&f, LUC_OP_sub, b->args[1], b->args[0]);
    luc__f_keep(&f, luc__f2(&f, LUC_OP_mul, b->gout[0], luc__f_conj(&f, apart)), &b->gin[2]);
  }
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__run_addcmul(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_ew_params params = luc__ew_param(luc_as_scalar(&args[3]));
  params.f[1] = params.i[1] = 1;
  return luc__pointwise(ctx, LUC_EW_addcmul, LUC_RULE_SAME, args, &params, out);
}

luc_status luc__grad_addcmul(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *scaled = luc__fs(&f, LUC_OP_mul, b->gout[0], luc_as_double(&b->args[3]));
  if (luc__needs(b, 0)) luc__f_keep(&f, b->gout[0], &b->gin[0]);
  for (int p = 1; p < 3; p++)
    if (luc__needs(b, p))
      luc__f_keep(&f, luc__f2(&f, LUC_OP_mul, scaled, luc__f_conj(&f, tensor_at(b, 3 - p))),
                  &b->gin[p]);
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__run_addcdiv(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_CHECK(ctx, luc__dtype_has_gradient(luc__result_dtype(ctx, args + 1, 2)), LUC_ERR_TYPE,
            "Integer division with addcdiv is not supported; convert to float first");
  const luc_ew_params params = luc__ew_param(luc_as_scalar(&args[3]));
  return luc__pointwise(ctx, LUC_EW_addcdiv, LUC_RULE_SAME, args, &params, out);
}

luc_status luc__grad_addcdiv(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *over = tensor_at(b, 1), *under = tensor_at(b, 2);
  if (luc__needs(b, 0)) luc__f_keep(&f, b->gout[0], &b->gin[0]);
  luc_tensor *scaled = luc__fs(&f, LUC_OP_mul, b->gout[0], luc_as_double(&b->args[3]));
  luc_tensor *share = luc__f2(&f, LUC_OP_div, scaled, luc__f_conj(&f, under));
  if (luc__needs(b, 1)) luc__f_keep(&f, share, &b->gin[1]);
  if (luc__needs(b, 2)) {
    luc_tensor *ratio = luc__f2(&f, LUC_OP_div, over, under);
    luc_tensor *product = luc__f2(&f, LUC_OP_mul, share, luc__f_conj(&f, ratio));
    luc__f_keep(&f, luc__f1(&f, LUC_OP_neg, product), &b->gin[2]);
  }
  return luc__f_end(&f, NULL, NULL);
}

/* ---- two numbers, mostly real ---- */

static luc_status of_floats(luc_context *ctx, luc_ew op, luc_value *args, luc_value *out) {
  LUC_TRY(floats_only(ctx, args, 2));
  return luc__pointwise(ctx, op, LUC_RULE_SAME, args, NULL, out);
}

LUC_RUN_BY(hypot, of_floats, LUC_EW_hypot)
LUC_RUN_BY(logaddexp, of_floats, LUC_EW_logaddexp)
LUC_RUN_BY(logaddexp2, of_floats, LUC_EW_logaddexp2)

luc_status luc__grad_hypot(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  for (int p = 0; p < 2; p++) {
    if (!luc__needs(b, p)) continue;
    luc_tensor *share = luc__f2(&f, LUC_OP_div, tensor_at(b, p), b->results[0]);
    luc__f_keep(&f, luc__f2(&f, LUC_OP_mul, b->gout[0], share), &b->gin[p]);
  }
  return luc__f_end(&f, NULL, NULL);
}

LUC_RUN(copysign, FLOAT)

/* The sign that was put on; flat at zero and in the second operand. */
luc_status luc__grad_copysign(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  const luc_tensor *g = b->gout[0];
  if (luc__needs(b, 1)) LUC_TRY(luc__zeros(ctx, g->dtype, g->ndim, g->sizes, &b->gin[1]));
  if (!luc__needs(b, 0)) return LUC_OK;
  luc_tensor *x = tensor_at(b, 0), *ratio = luc__f2(&f, LUC_OP_div, b->results[0], x);
  ratio = luc__f_where(&f, luc__fs(&f, LUC_OP_eq, x, 0), NULL, ratio);
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, b->gout[0], ratio), &b->gin[0]);
}

/* Both in the result's dtype, whose numbers are the steps. */
luc_status luc__run_nextafter(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(floats_only(ctx, args, 2));
  luc_formula f = luc__formula(ctx);
  const luc_dtype dtype = luc__result_dtype(ctx, args, 2);
  luc_value both[2];
  for (int i = 0; i < 2; i++) both[i] = luc_v_tensor(luc__f_to(&f, args[i].as.tensor, dtype));
  if (f.status == LUC_OK)
    f.status = luc__pointwise(ctx, LUC_EW_nextafter, LUC_RULE_SAME, both, NULL, out);
  return luc__f_end(&f, NULL, NULL);
}

LUC_RUN(atan2, FLOAT)

/* g / (y^2 + x^2), times x and times -y; at the origin 0, as in newer PyTorch. */
luc_status luc__grad_atan2(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *y = tensor_at(b, 0), *x = tensor_at(b, 1);
  luc_tensor *square =
      luc__f2(&f, LUC_OP_add, luc__f1(&f, LUC_OP_square, x), luc__f1(&f, LUC_OP_square, y));
  luc_tensor *share = luc__f1(&f, LUC_OP_reciprocal, square);
  share = luc__f_where(&f, luc__fs(&f, LUC_OP_eq, square, 0), NULL, share);
  share = luc__f2(&f, LUC_OP_mul, b->gout[0], share);
  if (luc__needs(b, 0)) luc__f_keep(&f, luc__f2(&f, LUC_OP_mul, share, x), &b->gin[0]);
  if (luc__needs(b, 1)) {
    luc_tensor *product = luc__f2(&f, LUC_OP_mul, share, y);
    luc__f_keep(&f, luc__f1(&f, LUC_OP_neg, product), &b->gin[1]);
  }
  return luc__f_end(&f, NULL, NULL);
}

/* The slope by x is its share of the sum, 1 / (1 + base^(other - x)). */
static luc_status grad_logaddexp(luc_context *ctx, luc_backward *b, double log_base) {
  luc_formula f = luc__formula(ctx);
  for (int p = 0; p < 2; p++) {
    if (!luc__needs(b, p)) continue;
    luc_tensor *x = tensor_at(b, p), *other = tensor_at(b, 1 - p);
    if (other->dtype == LUC_BOOL) other = luc__f_to(&f, other, (luc_dtype)x->dtype);
    luc_tensor *apart = luc__f2(&f, LUC_OP_sub, x, other);
    if (log_base != 1) apart = luc__fs(&f, LUC_OP_mul, apart, log_base);
    luc_tensor *share = luc__f1(&f, LUC_OP_sigmoid, apart);
    share = luc__f_conj(&f, share);
    luc__f_keep(&f, luc__f2(&f, LUC_OP_mul, b->gout[0], share), &b->gin[p]);
  }
  return luc__f_end(&f, NULL, NULL);
}

LUC_GRAD_BY(logaddexp, grad_logaddexp, 1)
LUC_GRAD_BY(logaddexp2, grad_logaddexp, 0.69314718055994530942)

luc_status luc__run_heaviside(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_tensor *x = args[0].as.tensor, *values = args[1].as.tensor;
  LUC_CHECK(ctx, x->dtype == values->dtype, LUC_ERR_TYPE, "values is %s, expected %s like input",
            luc__dtype_name(values->dtype), luc__dtype_name(x->dtype));
  return luc__pointwise(ctx, LUC_EW_heaviside, LUC_RULE_SAME, args, NULL, out);
}
