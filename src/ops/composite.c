/* Operators made of other operators: each is recorded through those it calls. */
#include <math.h>

#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/pointwise.h"

luc_status luc__run_positive(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  LUC_CHECK(ctx, t->dtype != LUC_BOOL, LUC_ERR_TYPE, "not implemented for bool");
  out[0] = luc_v_tensor(luc__retain(t));
  return LUC_OK;
}

static luc_status scaled(luc_context *ctx, double factor, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  return luc__f_result(&f, luc__fs(&f, LUC_OP_mul, args[0].as.tensor, factor), out);
}

LUC_RUN_BY(deg2rad, scaled, 0.017453292519943295769)
LUC_RUN_BY(rad2deg, scaled, 57.295779513082320877)

/* An operand in double precision. */
static luc_value doubled(luc_formula *f, luc_value v) {
  if (v.kind != LUC_TENSOR) return luc_v_float(luc_as_double(&v));
  bool complex = luc__dtype_is_complex(v.as.tensor->dtype);
  return luc_v_tensor(luc__f_to(f, v.as.tensor, complex ? LUC_COMPLEX128 : LUC_FLOAT64));
}

luc_status luc__run_float_power(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_value base = doubled(&f, args[0]), exponent = doubled(&f, args[1]);
  return luc__f_result(&f, luc__f_call(&f, LUC_OP_pow, LUC_ARGS(base, exponent)), out);
}

luc_status luc__run_ldexp(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *power = luc__f_call(&f, LUC_OP_exp2, LUC_ARGS(args[1]));
  return luc__f_result(&f, luc__f2(&f, LUC_OP_mul, args[0].as.tensor, power), out);
}

/* Is the imaginary part 0? Real numbers have none. */
luc_status luc__run_isreal(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  if (luc__dtype_is_complex(args[0].as.tensor->dtype)) {
    luc_tensor *imag = luc__f1(&f, LUC_OP_imag, args[0].as.tensor);
    return luc__f_result(&f, luc__fs(&f, LUC_OP_eq, imag, 0), out);
  }
  luc_value dtype = luc_v_dtype(LUC_BOOL);
  return luc__f_result(&f, luc__f_call(&f, LUC_OP_ones_like, LUC_ARGS(args[0], dtype)), out);
}

luc_status luc__run_nanmean(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  LUC_TRY(luc__need_float(ctx, "input", args[0].as.tensor));
  luc_tensor *nan = luc__f1(&f, LUC_OP_isnan, args[0].as.tensor);
  luc_tensor *count =
      luc__f_call(&f, LUC_OP_sum,
                  LUC_ARGS(luc_v_tensor(luc__f1(&f, LUC_OP_logical_not, nan)), args[1], args[2]));
  luc_tensor *sum = luc__f_call(&f, LUC_OP_nansum, LUC_ARGS(args[0], args[1], args[2], args[3]));
  return luc__f_result(&f, luc__f2(&f, LUC_OP_div, sum, count), out);
}

/* *t becomes the differences of its neighbours along a dimension that is not empty. */
static luc_status difference(luc_context *ctx, int d, luc_tensor **t) {
  luc_formula f = luc__formula(ctx);
  const int64_t rest = (*t)->sizes[d] - 1;
  luc_tensor *later = luc__f_narrow(&f, *t, d, 1, rest), *next;
  luc_tensor *sooner = luc__f_narrow(&f, *t, d, 0, rest);
  luc_opid op = (*t)->dtype == LUC_BOOL ? LUC_OP_logical_xor : LUC_OP_sub;
  LUC_TRY(luc__f_end(&f, luc__f2(&f, op, later, sooner), &next));
  luc_tensor_release(ctx, *t);
  *t = next;
  return LUC_OK;
}

/* Do no two elements lie beside each other? */
static bool has_gaps(const luc_tensor *t) {
  bool gaps = true;
  for (int d = 0; d < t->ndim; d++) gaps = gaps && (t->sizes[d] == 1 || t->strides[d] > 1);
  return gaps;
}

/* n-th differences along a dimension, of what `prepend` and `append` lengthen. */
luc_status luc__run_diff(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *t = args[0].as.tensor, *now, *list[3];
  int d, parts = 0;
  LUC_CHECK(ctx, t->ndim > 0, LUC_ERR_SHAPE, "input must have at least 1 dimension");
  LUC_CHECK(ctx, args[1].as.i >= 0, LUC_ERR_VALUE, "n must not be negative (got %lld)",
            (long long)args[1].as.i);
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, t->ndim, &d));
  for (int i = 0; i < 3; i++) {
    luc_tensor *part = luc_as_tensor(&args[i == 1 ? 0 : i == 0 ? 3 : 4]);
    if (!part) continue;
    LUC_CHECK(ctx, part->ndim == t->ndim, LUC_ERR_SHAPE,
              "expects prepend or append to be the same dimension as input");
    list[parts++] = part;
  }
  if (parts > 1 && args[1].as.i > 0)
    LUC_TRY(luc__op1(ctx, LUC_OP_cat, &now, LUC_ARGS(luc_v_tensors(list, parts), luc_v_int(d))));
  else if (args[1].as.i > 0 && has_gaps(t)) /* elements are read twice */
    LUC_TRY(luc__unary(ctx, LUC_OP_contiguous, t, &now));
  else
    now = luc__retain(t);
  luc_status status = LUC_OK;
  for (int64_t k = 0; k < args[1].as.i && now->sizes[d] > 0 && status == LUC_OK; k++)
    status = difference(ctx, d, &now);
  if (status == LUC_OK) status = luc__f_result(&f, luc__f_apart(&f, now, t), out);
  luc_tensor_release(ctx, now);
  return status;
}

/* ---- quantiles: between the neighbours of place q (n - 1) in sorted order ---- */

static const char methods[] = "linear|lower|higher|midpoint|nearest";

/* x[..., place] of sorted x, place being [q] and x [lines, n]: both [lines, q]. */
static luc_tensor *at_places(luc_formula *f, luc_tensor *x, luc_tensor *places) {
  luc_value index = luc_v_tensor(luc__f_to(f, places, LUC_INT64));
  return luc__f_call(f, LUC_OP_gather, LUC_ARGS(luc_v_tensor(x), luc_v_int(-1), index));
}

/* lines: x [lines, n] sorted; place [lines, q]. */
static luc_tensor *between(luc_formula *f, luc_tensor *x, luc_tensor *place, int method) {
  if (method == 4) return at_places(f, x, luc__f1(f, LUC_OP_round, place));
  luc_tensor *down = luc__f1(f, LUC_OP_floor, place), *up = luc__f1(f, LUC_OP_ceil, place);
  if (method == 1) return at_places(f, x, down);
  if (method == 2) return at_places(f, x, up);
  luc_tensor *share = luc__f2(f, LUC_OP_sub, place, down);
  luc_value weight = method == 3 ? luc_v_float(0.5) : luc_v_tensor(share);
  luc_tensor *low = at_places(f, x, down), *high = at_places(f, x, up);
  return luc__f_call(f, LUC_OP_lerp, LUC_ARGS(luc_v_tensor(low), luc_v_tensor(high), weight));
}

/* The input with dim last (flattened without one), and the result's shape without it. */
static luc_tensor *lines_of(luc_formula *f, luc_tensor *t, const luc_value *dim, int d, int *ndim,
                            int64_t *sizes, bool keepdim) {
  *ndim = 0;
  for (int i = 0; i < t->ndim; i++) {
    bool gone = luc_is_none(dim) || i == d;
    if (!gone || keepdim) sizes[(*ndim)++] = gone ? 1 : t->sizes[i];
  }
  int64_t all[2] = {luc_is_none(dim) ? 1 : -1, luc_is_none(dim) ? -1 : t->sizes[d]};
  luc_tensor *moved = t;
  if (!luc_is_none(dim) && t->ndim > 1)
    moved =
        luc__f_call(f, LUC_OP_movedim_one, LUC_ARGS(luc_v_tensor(t), luc_v_int(d), luc_v_int(-1)));
  return luc__f_reshape(f, moved, 2, all);
}

/* q, a number or a tensor (of samples, where it is mapped over), must be in [0, 1]. */
static luc_status check_fractions(luc_context *ctx, const luc_value *q) {
  luc_tensor *t = luc_as_tensor(q), *v = NULL;
  double at = t ? 0 : luc_as_double(q), bad = at >= 0 && at <= 1 ? 0 : at;
  LUC_CHECK(ctx, !t || t->ndim <= 1, LUC_ERR_SHAPE, "q must be a number or a vector (got %s)",
            luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, t));
  LUC_TRY(luc__dense(ctx, t && !t->inner ? t : NULL, LUC_FLOAT64, &v));
  for (int64_t i = 0; v && i < v->numel; i++) {
    at = ((const double *)luc__data(v))[i];
    if (!(at >= 0 && at <= 1)) bad = at;
  }
  luc_tensor_release(ctx, v);
  LUC_CHECK(ctx, bad == 0, LUC_ERR_VALUE, "q must be in the range [0, 1] (got %g)", bad);
  return LUC_OK;
}

/* What part of each line is below: q as a vector. */
static luc_tensor *fractions(luc_formula *f, luc_value *args) {
  luc_tensor *q = luc_as_tensor(&args[1]);
  if (q) return luc__f_reshape(f, q, 1, (int64_t[]){-1});
  luc_value one = luc_v_ints((int64_t[]){1}, 1), part = luc_v_float(luc_as_double(&args[1]));
  return luc__f_call(f, LUC_OP_new_full, LUC_ARGS(args[0], one, part));
}

/* ignore_nan: places count only what is a number; else a NaN makes its line NaN. */
static luc_status quantile(luc_context *ctx, bool ignore_nan, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *t = args[0].as.tensor, *q = luc_as_tensor(&args[1]);
  int method, ndim, d = 0;
  int64_t sizes[LUC_MAX_DIMS + 1];
  LUC_TRY(luc__choice(ctx, "interpolation", methods, args[4].as.string, &method));
  LUC_CHECK(ctx, luc__dtype_is_float(t->dtype) && t->numel > 0, LUC_ERR_TYPE,
            "input must be floating point and not empty (got %s)", luc__dtype_name(t->dtype));
  LUC_TRY(check_fractions(ctx, &args[1]));
  if (!luc_is_none(&args[2])) LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, t->ndim, &d));
  luc_value dim = t->ndim ? args[2] : luc_v_none();
  luc_tensor *lines = lines_of(&f, t, &dim, d, &ndim, sizes, args[3].as.i != 0);
  luc_tensor *fraction = fractions(&f, args);
  luc_tensor *nan = luc__f1(&f, LUC_OP_isnan, lines);
  luc_tensor *place;
  if (ignore_nan) {
    luc_tensor *real = luc__f_sum_keepdim(&f, luc__f1(&f, LUC_OP_logical_not, nan), -1);
    luc_tensor *last = luc__fs(&f, LUC_OP_clamp_min, luc__fs(&f, LUC_OP_sub, real, 1), 0);
    place = luc__f2(&f, LUC_OP_mul, last, fraction);
  } else { /* a line with NaN is asked for its last one */
    luc_value last = luc_v_int(lines ? lines->sizes[1] - 1 : 0), one = luc_v_int(-1);
    luc_tensor *any =
        luc__f_call(&f, LUC_OP_any, LUC_ARGS(luc_v_tensor(nan), one, luc_v_bool(true)));
    place = luc__f_call(&f, LUC_OP_mul, LUC_ARGS(luc_v_tensor(fraction), last));
    place = luc__f_call(&f, LUC_OP_where, LUC_ARGS(luc_v_tensor(any), last, luc_v_tensor(place)));
  }
  luc_tensor *y = between(&f, luc__f1(&f, LUC_OP_sort, lines), place, method);
  y = luc__f_transpose(&f, y, 0, 1); /* [q, lines] */
  bool list = q && q->ndim > 0;
  if (list) {
    for (int i = ndim; i > 0; i--) sizes[i] = sizes[i - 1];
    sizes[0] = q->numel;
  }
  return luc__f_result(&f, luc__f_reshape(&f, y, ndim + list, sizes), out);
}

LUC_RUN_BY(quantile, quantile, false)
LUC_RUN_BY(nanquantile, quantile, true)
