/* Arithmetic: what + - * / and their relatives mean, and their gradients. */
#include "ops/pointwise.h"

#include "cpu/reduce.h"
#include "ops/formula.h"
#include "ops/geometry.h"

/* ---- add, sub, mul, neg ---- */

static bool is_number(const luc_value *v, double s) {
  return v->kind != LUC_TENSOR && luc_as_double(v) == s;
}

/* Is this operand bool, as a tensor or a number? */
static bool is_bool(const luc_value *v) {
  return v->kind == LUC_TENSOR ? v->as.tensor->dtype == LUC_BOOL : v->kind == LUC_BOOLEAN;
}

static luc_status check_alpha(luc_context *ctx, const luc_value *args) {
  luc_dtype dtype = luc__result_dtype(ctx, args, 2);
  LUC_CHECK(ctx, args[2].kind != LUC_FLOAT || luc__dtype_has_gradient(dtype), LUC_ERR_TYPE,
            "for integral input tensors, argument alpha must not be a floating point number");
  LUC_CHECK(ctx, args[2].kind != LUC_BOOLEAN || dtype == LUC_BOOL, LUC_ERR_TYPE,
            "Boolean alpha only supported for Boolean results.");
  if (luc__dtype_is_int(dtype)) return luc__check_scalar(ctx, luc_as_scalar(&args[2]), dtype);
  return LUC_OK;
}

/* A number as one of the dtype computed in: sums and products of numbers that wrap are the same,
 * what remains of a division is not. */
static luc_value wrapped(luc_value v, luc_dtype dtype) {
  if (v.kind != LUC_INT || luc__dtype_has_gradient(dtype)) return v;
  return luc_v_int(luc__scalar_int(luc__scalar_as(luc_as_scalar(&v), dtype)));
}

/* add, sub or mul, of integers with a number that may not be one of theirs. */
static luc_status in_ring(luc_context *ctx, luc_ew op, luc_value *args, luc_value *out) {
  luc_value both[2] = {args[0], args[1]};
  for (int i = 0; i < 2; i++) {
    const luc_tensor *t = luc_as_tensor(&args[1 - i]);
    if (t && t->dtype != LUC_INT64 && luc__dtype_is_int(t->dtype))
      both[i] = wrapped(args[i], t->dtype);
  }
  return luc__pointwise(ctx, op, LUC_RULE_SAME, both, NULL, out);
}

luc_status luc__run_add(luc_context *ctx, luc_value *args, luc_value *out) {
  if (args[2].kind == LUC_INT && args[2].as.i == 1) return in_ring(ctx, LUC_EW_add, args, out);
  LUC_TRY(check_alpha(ctx, args));
  const luc_ew_params params = luc__ew_param(luc_as_scalar(&args[2]));
  return luc__pointwise(ctx, LUC_EW_add_scaled, LUC_RULE_SAME, args, &params, out);
}

/* g, or g times a number, as the gradient of parameter p. */
static luc_status scaled(luc_context *ctx, luc_backward *b, int p, const luc_value *factor,
                         double sign) {
  luc_tensor *g = b->gout[0];
  if (!luc__needs(b, p)) return LUC_OK;
  if (is_number(factor, sign)) {
    b->gin[p] = luc__retain(g);
    return LUC_OK;
  }
  return luc__binary_scalar(ctx, LUC_OP_mul, g, sign * luc_as_double(factor), &b->gin[p]);
}

static luc_status grad_sum(luc_context *ctx, luc_backward *b, double sign) {
  luc_value one = luc_v_int(1);
  LUC_TRY(scaled(ctx, b, 0, &one, 1));
  return scaled(ctx, b, 1, &b->args[2], sign);
}

LUC_GRAD_BY(add, grad_sum, 1)
LUC_GRAD_BY(sub, grad_sum, -1)

luc_status luc__run_sub(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_CHECK(ctx, !is_bool(&args[0]) || !is_bool(&args[1]), LUC_ERR_TYPE,
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use "
            "bitwise_xor() or logical_xor() instead.");
  LUC_CHECK(ctx, !is_bool(&args[0]) && !is_bool(&args[1]), LUC_ERR_TYPE,
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a mask, use bitwise_not() or logical_not() instead.");
  if (args[2].kind == LUC_INT && args[2].as.i == 1) return in_ring(ctx, LUC_EW_sub, args, out);
  LUC_TRY(check_alpha(ctx, args));
  luc_scalar alpha = luc_as_scalar(&args[2]);
  if (alpha.kind == LUC_SCALAR_FLOAT)
    alpha.as.f = -alpha.as.f;
  else
    alpha.as.i = (int64_t)(0 - (uint64_t)alpha.as.i);
  const luc_ew_params params = luc__ew_param(alpha);
  return luc__pointwise(ctx, LUC_EW_add_scaled, LUC_RULE_SAME, args, &params, out);
}

luc_status luc__run_rsub(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_value swapped[3] = {args[1], args[0], args[2]};
  if (args[2].kind == LUC_INT && args[2].as.i == 1) return luc__run_sub(ctx, swapped, out);
  luc_tensor *scaled_self;
  LUC_TRY(luc__op1(ctx, LUC_OP_mul, &scaled_self, LUC_ARGS(args[0], args[2])));
  swapped[1] = luc_v_tensor(scaled_self);
  swapped[2] = luc_v_int(1);
  luc_status status = luc__run_sub(ctx, swapped, out);
  luc_tensor_release(ctx, scaled_self);
  return status;
}

luc_status luc__grad_rsub(luc_context *ctx, luc_backward *b) {
  luc_value one = luc_v_int(1);
  LUC_TRY(scaled(ctx, b, 0, &b->args[2], -1));
  return scaled(ctx, b, 1, &one, 1);
}

/* Halves take a number beside them as it is: they times it, or divided by it. */
static luc_status by_number(luc_context *ctx, luc_ew op, const luc_value *half, luc_scalar number,
                            luc_value *out) {
  const luc_ew_params params = luc__ew_param(number);
  return luc__pointwise(ctx, op, LUC_RULE_SAME, half, &params, out);
}

static bool takes_number(const luc_value *v, const luc_value *number) {
  const luc_tensor *t = luc_as_tensor(v);
  return t && (t->dtype == LUC_FLOAT16 || t->dtype == LUC_BFLOAT16) &&
         (number->kind == LUC_FLOAT || number->kind == LUC_INT);
}

luc_status luc__run_mul(luc_context *ctx, luc_value *args, luc_value *out) {
  const int of = args[0].kind == LUC_TENSOR ? 0 : 1;
  if (!takes_number(&args[of], &args[1 - of])) return in_ring(ctx, LUC_EW_mul, args, out);
  return by_number(ctx, LUC_EW_scaled, &args[of], luc_as_scalar(&args[1 - of]), out);
}

luc_status luc__run_true_divide(luc_context *ctx, luc_value *args, luc_value *out) {
  if (!takes_number(&args[0], &args[1]))
    return luc__pointwise(ctx, LUC_EW_div, LUC_RULE_FLOAT, args, NULL, out);
  return by_number(ctx, LUC_EW_divided, args, luc_as_scalar(&args[1]), out);
}

/* op(a, the conjugate of b); a number is its own. */
static luc_status with_conjugate(luc_context *ctx, luc_opid op, luc_tensor *a, const luc_value *b,
                                 luc_tensor **out) {
  luc_tensor *t = luc_as_tensor(b);
  if (!t || !luc__dtype_is_complex(t->dtype))
    return luc__op1(ctx, op, out, LUC_ARGS(luc_v_tensor(a), *b));
  luc_formula f = luc__formula(ctx);
  return luc__f_end(&f, luc__f2(&f, op, a, luc__f_conj(&f, t)), out);
}

luc_status luc__grad_mul(luc_context *ctx, luc_backward *b) {
  for (int p = 0; p < 2; p++)
    if (luc__needs(b, p))
      LUC_TRY(with_conjugate(ctx, LUC_OP_mul, b->gout[0], &b->args[1 - p], &b->gin[p]));
  return LUC_OK;
}

luc_status luc__run_neg(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_CHECK(ctx, !is_bool(&args[0]), LUC_ERR_TYPE,
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
            "to invert a mask, use bitwise_not() or logical_not() instead.");
  return luc__pointwise(ctx, LUC_EW_neg, LUC_RULE_SAME, args, NULL, out);
}

LUC_GRAD_BY(neg, luc__grad_call, LUC_OP_neg, 1)

/* ---- division ---- */

enum { MODE_TRUE, MODE_TRUNC, MODE_FLOOR };

static luc_status rounding_mode(luc_context *ctx, const luc_value *v, int *mode) {
  *mode = MODE_TRUE;
  if (luc_is_none(v)) return LUC_OK;
  LUC_TRY(luc__choice(ctx, "rounding_mode", "trunc|floor", v->as.string, mode));
  *mode += MODE_TRUNC;
  return LUC_OK;
}

/* Integer divisions refuse zeros before anything is written, unless there is nothing to divide. */
static luc_status check_divisor(luc_context *ctx, const luc_value *args) {
  if (luc__dtype_has_gradient(luc__result_dtype(ctx, args, 2))) return LUC_OK;
  const luc_tensor *t = luc_as_tensor(&args[1]), *divided = luc_as_tensor(&args[0]);
  if (divided && divided->numel == 0) return LUC_OK;
  bool zero = t ? luc__any_zero(ctx, t) : args[1].as.i == 0;
  LUC_CHECK(ctx, !zero, LUC_ERR_VALUE, "div: ZeroDivisionError: an integer was divided by zero");
  return LUC_OK;
}

static luc_status divide(luc_context *ctx, luc_ew op, luc_value *args, luc_value *out) {
  luc_dtype dtype = luc__result_dtype(ctx, args, 2);
  LUC_CHECK(ctx, dtype != LUC_BOOL, LUC_ERR_TYPE, "not implemented for bool");
  luc_value both[2] = {wrapped(args[0], dtype), wrapped(args[1], dtype)};
  LUC_TRY(check_divisor(ctx, both));
  return luc__pointwise(ctx, op, LUC_RULE_SAME, both, NULL, out);
}

luc_status luc__run_div(luc_context *ctx, luc_value *args, luc_value *out) {
  int mode;
  LUC_TRY(rounding_mode(ctx, &args[2], &mode));
  if (mode == MODE_TRUE) return luc__run_true_divide(ctx, args, out);
  return divide(ctx, mode == MODE_FLOOR ? LUC_EW_div_floor : LUC_EW_div_trunc, args, out);
}

/* d(a/b) = g/b and -g*(a/b)/b; rounded division is flat. */
luc_status luc__grad_div(luc_context *ctx, luc_backward *b) {
  const luc_tensor *g = b->gout[0];
  for (int p = 0; p < 2 && !luc_is_none(&b->args[2]); p++) /* rounded: steps */
    if (luc__needs(b, p)) LUC_TRY(luc__zeros(ctx, g->dtype, g->ndim, g->sizes, &b->gin[p]));
  if (!luc_is_none(&b->args[2])) return LUC_OK;
  if (luc__needs(b, 0))
    LUC_TRY(with_conjugate(ctx, LUC_OP_div, b->gout[0], &b->args[1], &b->gin[0]));
  if (!luc__needs(b, 1)) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *quotient = luc__f_call(&f, LUC_OP_div, LUC_ARGS(b->args[0], b->args[1]));
  luc_tensor *ratio = luc__f2(&f, LUC_OP_div, quotient, b->args[1].as.tensor);
  luc_tensor *both = luc__f2(&f, LUC_OP_mul, b->gout[0], luc__f_conj(&f, ratio));
  return luc__f_end(&f, luc__f1(&f, LUC_OP_neg, both), &b->gin[1]);
}

luc_status luc__grad_true_divide(luc_context *ctx, luc_backward *b) {
  luc_value args[3] = {b->args[0], b->args[1], luc_v_none()};
  luc_backward as_div = *b;
  as_div.args = args;
  return luc__grad_div(ctx, &as_div);
}

LUC_RUN_BY(floor_divide, divide, LUC_EW_div_floor)
LUC_RUN_BY(remainder, divide, LUC_EW_remainder)
LUC_RUN_BY(fmod, divide, LUC_EW_fmod)

/* The gradient of a - b * q, where q is a step function: g for a, -g * q for b. */
static luc_status grad_rest(luc_context *ctx, luc_backward *b, const char *mode) {
  luc_formula f = luc__formula(ctx);
  if (luc__needs(b, 0)) b->gin[0] = luc__retain(b->gout[0]);
  if (!luc__needs(b, 1)) return LUC_OK;
  luc_tensor *quotient =
      luc__f_call(&f, LUC_OP_div, LUC_ARGS(b->args[0], b->args[1], luc_v_string(mode)));
  luc_tensor *both = luc__f2(&f, LUC_OP_mul, b->gout[0], quotient);
  return luc__f_end(&f, luc__f1(&f, LUC_OP_neg, both), &b->gin[1]);
}

LUC_GRAD_BY(remainder, grad_rest, "floor")
LUC_GRAD_BY(fmod, grad_rest, "trunc")
