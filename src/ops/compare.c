/* Comparison, logic and bits; the choice between two tensors; maximum and minimum. */
#include "ops/pointwise.h"

#include <string.h>

#include "cpu/copy.h"
#include "cpu/reduce.h"
#include "cpu/same.h"
#include "ops/formula.h"
#include "ops/geometry.h"

static luc_dtype dtype_of(luc_context *ctx, const luc_value *v) {
  return luc__result_dtype(ctx, v, 1);
}

/* ---- comparison and logic ---- */

LUC_RUN(eq, TRUTH)
LUC_RUN(ne, TRUTH)
LUC_RUN(lt, TRUTH)
LUC_RUN(le, TRUTH)
LUC_RUN(gt, TRUTH)
LUC_RUN(ge, TRUTH)
LUC_RUN(logical_and, TRUTH)
LUC_RUN(logical_or, TRUTH)
LUC_RUN(logical_xor, TRUTH)
LUC_RUN(logical_not, TRUTH)

/* For integers the answer, of_integers, is the same for all values: they are finite and never
 * NaN. */
static luc_status run_class(luc_context *ctx, luc_ew op, bool of_integers, luc_value *args,
                            luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *result;
  if (luc__dtype_has_gradient(t->dtype))
    return luc__pointwise(ctx, op, LUC_RULE_TRUTH, args, NULL, out);
  LUC_TRY(luc__out(ctx, out, LUC_BOOL, t->ndim, t->sizes, &result));
  return luc__fill(ctx, result, (luc_scalar){LUC_SCALAR_BOOL, {.i = of_integers}});
}

LUC_RUN_BY(isnan, run_class, LUC_EW_isnan, false)
LUC_RUN_BY(isinf, run_class, LUC_EW_isinf, false)
LUC_RUN_BY(isfinite, run_class, LUC_EW_isfinite, true)
LUC_RUN_BY(isposinf, run_class, LUC_EW_isposinf, false)
LUC_RUN_BY(isneginf, run_class, LUC_EW_isneginf, false)

luc_status luc__run_signbit(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_dtype dtype = (luc_dtype)args[0].as.tensor->dtype;
  if (dtype == LUC_BOOL) return run_class(ctx, LUC_EW_signbit, false, args, out);
  const luc_value both[2] = {args[0], luc_v_int(0)};
  const bool real = luc__dtype_has_gradient(dtype);
  return luc__pointwise(ctx, real ? LUC_EW_signbit : LUC_EW_lt, LUC_RULE_TRUTH, both, NULL, out);
}

/* ---- whole tensors ---- */

static luc_status check_same_dtype(luc_context *ctx, const luc_value *args) {
  const luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  LUC_CHECK(ctx, a->dtype == b->dtype, LUC_ERR_TYPE, "other is %s, expected %s like input",
            luc__dtype_name(b->dtype), luc__dtype_name(a->dtype));
  return LUC_OK;
}

luc_status luc__run_isclose(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_ew_params params = {
      {luc_as_double(&args[2]), luc_as_double(&args[3]), args[4].as.i ? 1.0 : 0.0}, {0}};
  LUC_TRY(check_same_dtype(ctx, args));
  LUC_CHECK(ctx, params.f[0] >= 0 && params.f[1] >= 0, LUC_ERR_VALUE,
            "rtol and atol must not be negative (got %g and %g)", params.f[0], params.f[1]);
  return luc__pointwise(ctx, LUC_EW_isclose, LUC_RULE_TRUTH, args, &params, out);
}

/* Takes a tensor of truth values; out becomes whether all are. */
static luc_status all_of(luc_context *ctx, luc_tensor *truth, luc_value *out) {
  *out = luc_v_bool(!luc__any_zero(ctx, truth));
  luc_tensor_release(ctx, truth);
  return LUC_OK;
}

luc_status luc__run_allclose(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *close;
  LUC_TRY(check_same_dtype(ctx, args));
  LUC_TRY(
      luc__op1(ctx, LUC_OP_isclose, &close, LUC_ARGS(args[0], args[1], args[2], args[3], args[4])));
  return all_of(ctx, close, out);
}

enum { FIRST = 1024 };

/* Do some of the first elements differ? Those of most that do. a and b are of one real dtype. */
static bool begin_apart(luc_context *ctx, const luc_tensor *a, const luc_tensor *b) {
  uint8_t truth[FIRST];
  luc_tensor x = *a, y = *b, out = *a;
  for (int d = 0; d < x.ndim && x.numel > FIRST; d++) {
    const int64_t inner = x.numel / x.sizes[d], kept = inner < FIRST ? FIRST / inner : 1;
    x.sizes[d] = y.sizes[d] = kept;
    x.numel = inner * kept;
  }
  y.numel = out.numel = x.numel;
  out.dtype = LUC_BOOL;
  out.data = (char *)truth;
  memcpy(out.sizes, x.sizes, sizeof out.sizes);
  for (int64_t d = out.ndim - 1, step = 1; d >= 0; step *= out.sizes[d--]) out.strides[d] = step;
  const luc_ew_input in[] = {{.t = &x}, {.t = &y}};
  luc__elementwise(ctx, LUC_EW_eq, (luc_dtype)a->dtype, &out, in);
  return memchr(truth, 0, (size_t)out.numel) != NULL;
}

luc_status luc__run_equal(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *same;
  if (!luc__same_sizes(args[0].as.tensor, args[1].as.tensor)) {
    *out = luc_v_bool(false);
    return LUC_OK;
  }
  const luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  if (a->dtype == b->dtype && luc__is_contiguous(a) && luc__is_contiguous(b)) {
    *out = luc_v_bool(luc__compare(ctx, a, b));
    return LUC_OK;
  }
  if (a->dtype == b->dtype && !luc__dtype_is_complex((luc_dtype)a->dtype)) {
    const bool apart = begin_apart(ctx, a, b);
    *out = luc_v_bool(!apart);
    if (apart || a->numel <= FIRST) return LUC_OK;
  }
  LUC_TRY(luc__op1(ctx, LUC_OP_eq, &same, LUC_ARGS(args[0], args[1])));
  return all_of(ctx, same, out);
}

/* A tensor or a number as contiguous memory. */
static luc_status operand_as(luc_context *ctx, const luc_value *v, luc_dtype dtype,
                             luc_tensor **out) {
  luc_tensor *t = luc_as_tensor(v);
  return t ? luc__as_dense(ctx, t, dtype, out)
           : luc__held(ctx, luc__tensor_scalar(ctx, luc_as_scalar(v), dtype, out), out);
}

/* Is each element equal to any of the others? Asked of what both promote to. */
luc_status luc__run_isin(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x, *y, *found;
  LUC_CHECK(ctx, luc_as_tensor(&args[0]) || luc_as_tensor(&args[1]), LUC_ERR_TYPE,
            "elements or test_elements must be a Tensor");
  luc_dtype dtype = luc__result_dtype(ctx, args, 2);
  if (dtype != LUC_FLOAT64) dtype = luc__dtype_is_float(dtype) ? LUC_FLOAT32 : LUC_INT64;
  LUC_TRY(operand_as(ctx, &args[0], dtype, &x));
  LUC_TRY(operand_as(ctx, &args[1], dtype, &y));
  LUC_TRY(luc__out(ctx, out, LUC_BOOL, x->ndim, x->sizes, &found));
  return luc__membership(ctx, &(luc_membership){.dtype = dtype,
                                                .x = x->data,
                                                .others = y->data,
                                                .n = x->numel,
                                                .m = y->numel,
                                                .invert = args[3].as.i != 0,
                                                .found = (uint8_t *)found->data});
}

/* ---- bits ---- */

static luc_status run_bits(luc_context *ctx, luc_ew op, luc_value *args, luc_value *out) {
  luc_dtype dtype = luc__result_dtype(ctx, args, op == LUC_EW_bitwise_not ? 1 : 2);
  LUC_CHECK(ctx, !luc__dtype_is_float(dtype), LUC_ERR_TYPE,
            "not implemented for %s, expected integers or bool", luc__dtype_name(dtype));
  return luc__pointwise(ctx, op, LUC_RULE_SAME, args, NULL, out);
}

LUC_RUN_BY(bitwise_and, run_bits, LUC_EW_bitwise_and)
LUC_RUN_BY(bitwise_or, run_bits, LUC_EW_bitwise_or)
LUC_RUN_BY(bitwise_xor, run_bits, LUC_EW_bitwise_xor)

luc_status luc__run_bitwise_not(luc_context *ctx, luc_value *args, luc_value *out) {
  if (args[0].as.tensor->dtype == LUC_BOOL)
    return luc__pointwise(ctx, LUC_EW_logical_not, LUC_RULE_TRUTH, args, NULL, out);
  return run_bits(ctx, LUC_EW_bitwise_not, args, out);
}

/* The same for what takes integers alone. */
static luc_status run_integers(luc_context *ctx, luc_ew op, luc_value *args, luc_value *out) {
  LUC_CHECK(ctx, luc__result_dtype(ctx, args, 2) != LUC_BOOL, LUC_ERR_TYPE,
            "not implemented for bool, expected integers");
  return run_bits(ctx, op, args, out);
}

LUC_RUN_BY(bitwise_left_shift, run_integers, LUC_EW_shift_left)
LUC_RUN_BY(bitwise_right_shift, run_integers, LUC_EW_shift_right)
LUC_RUN_BY(gcd, run_integers, LUC_EW_gcd)
LUC_RUN_BY(lcm, run_integers, LUC_EW_lcm)

/* ---- where ---- */

luc_status luc__run_where(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_dtype condition = dtype_of(ctx, &args[0]);
  LUC_CHECK(ctx, condition == LUC_BOOL || condition == LUC_UINT8, LUC_ERR_TYPE,
            "expected condition to be a bool tensor, got %s", luc__dtype_name(condition));
  luc_dtype dtype = luc__result_dtype(ctx, args + 1, 2);
  for (int i = 1; i < 3 && luc__dtype_is_int(dtype); i++)
    if (!luc_as_tensor(&args[i])) LUC_TRY(luc__check_scalar(ctx, luc_as_scalar(&args[i]), dtype));
  return luc__pointwise_as(ctx, LUC_EW_where, dtype, args, NULL, out);
}

/* x:where(condition, other) takes its arguments in another order. */
luc_status luc__run_where_self(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_value swapped[LUC_MAX_PARAMS] = {args[1], args[0], args[2]};
  return luc_call(ctx, LUC_OP_where, swapped, 3, out);
}

luc_status luc__grad_where(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *condition = b->args[0].as.tensor, *g = b->gout[0];
  if (luc__needs(b, 1)) luc__f_keep(&f, luc__f_where(&f, condition, g, NULL), &b->gin[1]);
  if (luc__needs(b, 2)) luc__f_keep(&f, luc__f_where(&f, condition, NULL, g), &b->gin[2]);
  return luc__f_end(&f, NULL, NULL);
}

/* ---- maximum, minimum ---- */

LUC_RUN(maximum, SAME)
LUC_RUN(minimum, SAME)

/* Without NaN it is maximum or minimum. */
static luc_status run_fextreme(luc_context *ctx, luc_ew op, luc_ew of_integers, luc_value *args,
                               luc_value *out) {
  const bool real = luc__dtype_has_gradient(luc__result_dtype(ctx, args, 2));
  return luc__pointwise(ctx, real ? op : of_integers, LUC_RULE_SAME, args, NULL, out);
}

LUC_RUN_BY(fmax, run_fextreme, LUC_EW_fmax, LUC_EW_maximum)
LUC_RUN_BY(fmin, run_fextreme, LUC_EW_fmin, LUC_EW_minimum)

/* max(a, b) is maximum(a, b), recorded as that. */
static luc_status run_other(luc_context *ctx, luc_opid op, luc_value *args, luc_value *out) {
  luc_value both[LUC_MAX_PARAMS] = {args[0], args[1]};
  return luc_call(ctx, op, both, 2, out);
}

LUC_RUN_BY(max_other, run_other, LUC_OP_maximum)
LUC_RUN_BY(min_other, run_other, LUC_OP_minimum)

/* All of g to the larger (smaller) side; equal values share it, beside a NaN both have it. */
static luc_status grad_extreme(luc_context *ctx, luc_backward *b, luc_opid loses) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0], *x = b->args[0].as.tensor, *y = b->args[1].as.tensor;
  luc_tensor *tie = luc__f2(&f, LUC_OP_eq, x, y), *half = luc__fs(&f, LUC_OP_mul, g, 0.5);
  for (int p = 0; p < 2; p++) {
    if (!luc__needs(b, p)) continue;
    luc_tensor *lost = p == 0 ? luc__f2(&f, loses, x, y) : luc__f2(&f, loses, y, x);
    luc_tensor *all = luc__f_where(&f, lost, NULL, g);
    luc__f_keep(&f, luc__f_where(&f, tie, half, all), &b->gin[p]);
  }
  return luc__f_end(&f, NULL, NULL);
}

LUC_GRAD_BY(maximum, grad_extreme, LUC_OP_lt)
LUC_GRAD_BY(minimum, grad_extreme, LUC_OP_gt)

/* A NaN loses, equal values share it, and of two NaN the first has it. */
static luc_status grad_fextreme(luc_context *ctx, luc_backward *b, luc_opid wins) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0], *x = b->args[0].as.tensor, *y = b->args[1].as.tensor;
  luc_tensor *tie = luc__f2(&f, LUC_OP_eq, x, y), *half = luc__fs(&f, LUC_OP_mul, g, 0.5);
  luc_tensor *first =
      luc__f2(&f, LUC_OP_logical_or, luc__f2(&f, wins, x, y), luc__f1(&f, LUC_OP_isnan, y));
  for (int p = 0; p < 2; p++) {
    if (!luc__needs(b, p)) continue;
    luc_tensor *all = p == 0 ? luc__f_where(&f, first, g, NULL) : luc__f_where(&f, first, NULL, g);
    luc__f_keep(&f, luc__f_where(&f, tie, half, all), &b->gin[p]);
  }
  return luc__f_end(&f, NULL, NULL);
}

LUC_GRAD_BY(fmax, grad_fextreme, LUC_OP_gt)
LUC_GRAD_BY(fmin, grad_fextreme, LUC_OP_lt)
