/* Creation of tensors from sizes and numbers. Default dtypes are PyTorch's: float32 (the
 * context's), what the value is for full, int64 for an arange of integers. */
#include <math.h>

#include "cpu/kernels.h"
#include "cpu/sequence.h"
#include "ops/geometry.h"

static const luc_scalar zero = {LUC_SCALAR_INT, {.i = 0}}, one = {LUC_SCALAR_INT, {.i = 1}};

/* A tensor of `size`, in the order of dimensions that `like` has (NULL: contiguous), filled with
 * *value (NULL: not filled); opts as in luc__factory_dtype. */
static luc_status filled_as(luc_context *ctx, const luc_tensor *like, int n, const int64_t *size,
                            const luc_scalar *value, luc_dtype dtype, const luc_value *opts,
                            luc_value *out) {
  luc_tensor *t;
  LUC_TRY(luc__factory_dtype(ctx, opts, dtype, &dtype));
  LUC_TRY(luc__check_sizes(ctx, n, size));
  if (value) LUC_TRY(luc__check_scalar(ctx, *value, dtype));
  LUC_TRY(luc__tensor_empty(ctx, dtype, n, size, &t));
  if (like) luc__take_order(t, 1, &like);
  luc_status status = value ? luc__fill(ctx, t, *value) : LUC_OK;
  if (status == LUC_OK) return luc__factory_give(ctx, opts, out, t);
  luc_tensor_release(ctx, t);
  return status;
}

static luc_status filled(luc_context *ctx, int n, const int64_t *size, const luc_scalar *value,
                         luc_dtype dtype, const luc_value *opts, luc_value *out) {
  return filled_as(ctx, NULL, n, size, value, dtype, opts, out);
}

static luc_status sized(luc_context *ctx, const luc_scalar *value, const luc_value *args,
                        luc_value *out) {
  return filled(ctx, args[0].n, args[0].as.ints, value, ctx->default_dtype, args + 1, out);
}

LUC_RUN_BY(zeros, sized, &zero)
LUC_RUN_BY(ones, sized, &one)
LUC_RUN_BY(empty, sized, NULL)

luc_status luc__run_full(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_scalar value = luc_as_scalar(&args[1]);
  return filled(ctx, args[0].n, args[0].as.ints, &value, luc__scalar_dtype(ctx, value), args + 2,
                out);
}

/* Room for the last element that the strides reach, seen through them. */
luc_status luc__run_empty_strided(luc_context *ctx, luc_value *args, luc_value *out) {
  const int64_t *sizes = args[0].as.ints, *strides = args[1].as.ints;
  int n = args[0].n;
  int64_t extent = 1;
  luc_dtype dtype;
  luc_tensor *flat, *r = NULL;
  LUC_TRY(luc__factory_dtype(ctx, args + 2, ctx->default_dtype, &dtype));
  LUC_TRY(luc__check_sizes(ctx, n, sizes));
  LUC_CHECK(ctx, args[1].n == n, LUC_ERR_SHAPE,
            "dimensionality of sizes (%d) must match dimensionality of strides (%d)", n, args[1].n);
  for (int d = 0; d < n; d++) {
    int64_t reach = 0;
    bool over = strides[d] < 0 || __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) ||
                __builtin_add_overflow(extent, reach, &extent);
    LUC_CHECK(ctx, !over, LUC_ERR_VALUE, "storage size calculation overflowed");
  }
  for (int d = 0; d < n; d++)
    if (sizes[d] == 0) extent = 0;
  LUC_TRY(luc__tensor_empty(ctx, dtype, 1, &extent, &flat));
  luc_status status = luc__tensor_view(ctx, flat, n, sizes, strides, 0, &r);
  luc_tensor_release(ctx, flat);
  return status == LUC_OK ? luc__factory_give(ctx, args + 2, out, r) : status;
}

luc_status luc__run_scalar_tensor(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_scalar value = luc_as_scalar(&args[0]);
  return filled(ctx, 0, NULL, &value, ctx->default_dtype, args + 1, out);
}

/* The options follow `n` arguments. */
static luc_status like(luc_context *ctx, const luc_scalar *value, int n, const luc_value *args,
                       luc_value *out) {
  const luc_tensor *t = args[0].as.tensor;
  return filled_as(ctx, t, t->ndim, t->sizes, value, t->dtype, args + n, out);
}

LUC_RUN_BY(zeros_like, like, &zero, 1)
LUC_RUN_BY(ones_like, like, &one, 1)
LUC_RUN_BY(empty_like, like, NULL, 1)
luc_status luc__run_full_like(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_scalar value = luc_as_scalar(&args[1]);
  return like(ctx, &value, 2, args, out);
}

static luc_status fresh(luc_context *ctx, const luc_scalar *value, int n, const luc_value *args,
                        luc_value *out) {
  return filled(ctx, args[1].n, args[1].as.ints, value, args[0].as.tensor->dtype, args + n, out);
}

LUC_RUN_BY(new_zeros, fresh, &zero, 2)
LUC_RUN_BY(new_ones, fresh, &one, 2)
LUC_RUN_BY(new_empty, fresh, NULL, 2)
luc_status luc__run_new_full(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_scalar value = luc_as_scalar(&args[2]);
  return fresh(ctx, &value, 3, args, out);
}

luc_status luc__run_eye(luc_context *ctx, luc_value *args, luc_value *out) {
  int64_t n = args[0].as.i, m = luc_is_none(&args[1]) ? n : args[1].as.i;
  LUC_CHECK(ctx, n >= 0, LUC_ERR_VALUE, "n must be greater or equal to 0, got %lld", (long long)n);
  LUC_CHECK(ctx, m >= 0, LUC_ERR_VALUE, "m must be greater or equal to 0, got %lld", (long long)m);
  int64_t sizes[2] = {n, m}, count = n < m ? n : m;
  LUC_TRY(filled(ctx, 2, sizes, &zero, ctx->default_dtype, args + 2, out));
  luc_tensor *t = out->as.tensor;
  size_t step = luc__dtype_size(t->dtype) * (size_t)(m + 1);
  for (int64_t i = 0; i < count; i++) luc__store_scalar(t->data + (size_t)i * step, t->dtype, one);
  return LUC_OK;
}

/* ---- sequences ---- */

/* How many steps from start to end, or the failure to be. Integers are steps of whole numbers, and
 * counted exactly when the result is int64, as in PyTorch. */
static luc_status arange_count(luc_context *ctx, luc_scalar start, luc_scalar end, luc_scalar step,
                               luc_dtype dtype, int64_t *count) {
  double from = luc__scalar_double(start), to = luc__scalar_double(end);
  double by = luc__scalar_double(step), n = ceil((to - from) / by);
  bool finite = isfinite(from) && isfinite(to) && isfinite(by);
  if (finite && !luc__dtype_is_float(dtype)) {
    int64_t s = luc__scalar_int(step), a = luc__scalar_int(start), b = luc__scalar_int(end);
    int64_t span, padded; /* where they overflow, n stays as computed from doubles */
    bool exact = s && dtype == LUC_INT64 && !__builtin_sub_overflow(b, a, &span) &&
                 !__builtin_add_overflow(span, s - (s > 0 ? 1 : -1), &padded);
    if (exact) n = (double)(padded / s);
    from = (double)a, to = (double)b, by = (double)s;
  }
  LUC_CHECK(ctx, by != 0, LUC_ERR_VALUE, "arange: step must be nonzero");
  LUC_CHECK(ctx, finite, LUC_ERR_VALUE, "arange: unsupported range: %g -> %g", from, to);
  LUC_CHECK(ctx, by > 0 ? to >= from : to <= from, LUC_ERR_VALUE,
            "arange: upper bound and lower bound inconsistent with step sign (%g to %g by %g)",
            from, to, by);
  LUC_CHECK(ctx, n < 9e18, LUC_ERR_VALUE,
            "arange: invalid size, possible overflow? (%g to %g by %g)", from, to, by);
  *count = (int64_t)n;
  return LUC_OK;
}

static luc_status arange(luc_context *ctx, luc_scalar start, luc_scalar end, luc_scalar step,
                         const luc_value *opts, luc_value *out) {
  bool floats = start.kind == LUC_SCALAR_FLOAT || end.kind == LUC_SCALAR_FLOAT ||
                step.kind == LUC_SCALAR_FLOAT;
  luc_dtype dtype, fallback = floats ? ctx->default_dtype : LUC_INT64;
  LUC_TRY(luc__factory_dtype(ctx, opts, fallback, &dtype));
  LUC_CHECK(ctx, dtype != LUC_BOOL, LUC_ERR_TYPE, "arange: not implemented for dtype bool");
  bool whole = !luc__dtype_is_float(dtype);
  int64_t n = 0;
  LUC_TRY(arange_count(ctx, start, end, step, dtype, &n));
  int64_t line[2] = {luc__scalar_int(start), luc__scalar_int(step)};
  double real_line[2] = {luc__scalar_double(start), luc__scalar_double(step)};
  if (whole) return luc__factory_sequence(ctx, dtype, n, true, luc__sequence_int, line, opts, out);
  return luc__factory_sequence(ctx, dtype, n, false, luc__sequence_double, real_line, opts, out);
}

/* Unlike arange it reaches its end, and is of the default dtype; one of integers is made of the
 * whole parts of the numbers. */
luc_status luc__run_range(luc_context *ctx, luc_value *args, luc_value *out) {
  double line[3];
  luc_dtype dtype;
  LUC_TRY(luc__factory_dtype(ctx, args + 3, ctx->default_dtype, &dtype));
  for (int i = 0; i < 3; i++) {
    line[i] = luc__scalar_double(luc_as_scalar(&args[i]));
    if (!luc__dtype_is_float(dtype)) line[i] = trunc(line[i]);
  }
  double from = line[0], to = line[1], by = line[2], n = floor((to - from) / by) + 1;
  LUC_CHECK(ctx, by != 0, LUC_ERR_VALUE, "step must be nonzero");
  LUC_CHECK(ctx, isfinite(from) && isfinite(to) && isfinite(by), LUC_ERR_VALUE,
            "unsupported range: %g -> %g", from, to);
  LUC_CHECK(ctx, by > 0 ? to >= from : to <= from, LUC_ERR_VALUE,
            "upper bound and lower bound inconsistent with step sign (%g to %g by %g)", from, to,
            by);
  LUC_CHECK(ctx, n < 9e18, LUC_ERR_VALUE, "invalid size, possible overflow? (%g to %g)", from, to);
  return luc__factory_sequence(ctx, dtype, (int64_t)n, false, luc__sequence_double,
                               (double[]){from, by}, args + 3, out);
}

luc_status luc__run_arange(luc_context *ctx, luc_value *args, luc_value *out) {
  return arange(ctx, zero, luc_as_scalar(&args[0]), one, args + 1, out);
}
luc_status luc__run_arange_start(luc_context *ctx, luc_value *args, luc_value *out) {
  return arange(ctx, luc_as_scalar(&args[0]), luc_as_scalar(&args[1]), luc_as_scalar(&args[2]),
                args + 3, out);
}

/* An end of a sequence as a number of the result's dtype. */
static double end_value(const luc_value *v, luc_dtype dtype) {
  double element[1];
  if (luc__dtype_is_float(dtype)) return luc_as_double(v);
  luc__store_scalar(element, dtype, luc_as_scalar(v));
  return luc__scalar_double(luc__load_scalar(element, dtype));
}

static luc_status between(luc_context *ctx, const luc_value *args, const double *base,
                          const luc_value *opts, luc_value *out) {
  int64_t n = args[2].as.i;
  luc_dtype dtype;
  LUC_CHECK(ctx, n >= 0, LUC_ERR_VALUE, "number of steps must be non-negative, got %lld",
            (long long)n);
  LUC_TRY(luc__factory_dtype(ctx, opts, ctx->default_dtype, &dtype));
  LUC_CHECK(ctx, dtype != LUC_BOOL, LUC_ERR_TYPE, "not implemented for dtype bool");
  luc_between s = {n, end_value(&args[0], dtype), end_value(&args[1], dtype), 0, NULL};
  if (base)
    s.base = *base, s.power = luc__kernels(ctx)->elementwise[LUC_EW_pow].fn[LUC_COMPUTE_F64];
  return luc__factory_sequence(ctx, dtype, n, false, luc__sequence_between, &s, opts, out);
}

luc_status luc__run_linspace(luc_context *ctx, luc_value *args, luc_value *out) {
  return between(ctx, args, NULL, args + 3, out);
}
luc_status luc__run_logspace(luc_context *ctx, luc_value *args, luc_value *out) {
  double base = luc_as_double(&args[3]);
  return between(ctx, args, &base, args + 4, out);
}

static luc_status triangle(luc_context *ctx, bool lower, const luc_value *args, luc_value *out) {
  int64_t r = args[0].as.i, c = args[1].as.i, diagonal = args[2].as.i;
  luc_dtype dtype;
  luc_tensor *t;
  LUC_CHECK(ctx, r >= 0 && c >= 0, LUC_ERR_VALUE,
            "row and col must be non-negative, got (%lld, %lld)", (long long)r, (long long)c);
  LUC_TRY(luc__factory_dtype(ctx, args + 3, LUC_INT64, &dtype));
  LUC_CHECK(ctx, dtype == LUC_INT64 || dtype == LUC_INT32, LUC_ERR_TYPE,
            "dtype must be int32 or int64, got %s", luc__dtype_name(dtype));
  LUC_CHECK(ctx, r == 0 || c <= INT64_MAX / 4 / r, LUC_ERR_SHAPE,
            "a matrix of %lld rows and %lld columns has too many elements", (long long)r,
            (long long)c);
  int64_t n = luc__sequence_triangle(ctx, NULL, 0, r, c, diagonal, lower);
  int64_t sizes[2] = {2, n};
  LUC_TRY(luc__tensor_empty(ctx, LUC_INT64, 2, sizes, &t));
  luc__sequence_triangle(ctx, (int64_t *)t->data, n, r, c, diagonal, lower);
  return luc__factory_give_as(ctx, t, dtype, args + 3, out);
}

LUC_RUN_BY(tril_indices, triangle, true)
LUC_RUN_BY(triu_indices, triangle, false)
