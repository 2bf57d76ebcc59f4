/* Shared arithmetic on sizes and strides, and on factories' keyword arguments. */
#include "ops/geometry.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "lucerna/autograd.h"

luc_status luc__check_sizes(luc_context *ctx, int n, const int64_t *sizes) {
  LUC_CHECK(ctx, n <= LUC_MAX_DIMS, LUC_ERR_SHAPE, "tensors have at most %d dimensions, got %d",
            LUC_MAX_DIMS, n);
  char text[LUC_SHAPE_TEXT];
  for (int d = 0; d < n; d++)
    LUC_CHECK(ctx, sizes[d] >= 0, LUC_ERR_SHAPE,
              "trying to create tensor with negative dimension %lld: %s", (long long)sizes[d],
              luc__shape_text(text, n, sizes));
  return LUC_OK;
}

luc_status luc__infer_sizes(luc_context *ctx, int n, const int64_t *given, int64_t numel,
                            int64_t *sizes) {
  LUC_CHECK(ctx, n <= LUC_MAX_DIMS, LUC_ERR_SHAPE, "tensors have at most %d dimensions, got %d",
            LUC_MAX_DIMS, n);
  int64_t known = 1;
  int open = -1;
  for (int d = 0; d < n; d++) {
    sizes[d] = given[d];
    if (given[d] == -1) {
      LUC_CHECK(ctx, open < 0, LUC_ERR_SHAPE, "only one dimension can be inferred");
      open = d;
      continue;
    }
    LUC_CHECK(ctx, given[d] >= 0, LUC_ERR_SHAPE, "invalid shape dimension %lld",
              (long long)given[d]);
    if (__builtin_mul_overflow(known, given[d], &known)) known = INT64_MAX;
  }
  char text[LUC_SHAPE_TEXT];
  bool fits = open < 0 ? known == numel : known > 0 ? numel % known == 0 : numel == 0;
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE, "shape '%s' is invalid for input of size %lld",
            luc__shape_text(text, n, given), (long long)numel);
  if (open < 0) return LUC_OK;
  LUC_CHECK(ctx, known != 0, LUC_ERR_SHAPE,
            "cannot reshape tensor of 0 elements into shape %s because the unspecified "
            "dimension size -1 can be any value and is ambiguous",
            luc__shape_text(text, n, given));
  sizes[open] = numel / known;
  return LUC_OK;
}

/* Walks the runs of t's dimensions that lie evenly in memory, from the last; each must be filled
 * exactly by some of the new dimensions. */
bool luc__view_strides(const luc_tensor *t, int ndim, const int64_t *sizes, int64_t *strides) {
  if (t->numel == 0 || t->ndim == 0) {
    luc__contiguous_strides(ndim, sizes, strides);
    return true;
  }
  int v = ndim - 1;
  int64_t base = t->strides[t->ndim - 1], run = 1, filled = 1;
  for (int d = t->ndim - 1; d >= 0; d--) {
    run *= t->sizes[d];
    bool ends = d == 0 || (t->sizes[d - 1] != 1 && t->strides[d - 1] != run * base);
    if (!ends) continue;
    while (v >= 0 && (filled < run || sizes[v] == 1)) {
      strides[v] = filled * base;
      filled *= sizes[v--];
    }
    if (filled != run) return false;
    if (d > 0) {
      base = t->strides[d - 1];
      run = filled = 1;
    }
  }
  return v < 0;
}

luc_status luc__reshape(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes,
                        luc_tensor **out) {
  int64_t strides[LUC_MAX_DIMS];
  if (luc__view_strides(t, ndim, sizes, strides))
    return luc__tensor_view(ctx, t, ndim, sizes, strides, t->offset, out);
  luc_tensor *flat;
  LUC_TRY(luc__duplicate(ctx, t, &flat));
  luc__contiguous_strides(ndim, sizes, strides);
  luc_status status = luc__tensor_view(ctx, flat, ndim, sizes, strides, 0, out);
  luc_tensor_release(ctx, flat);
  return status;
}

luc_status luc__expand(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes,
                       luc_tensor **out) {
  int64_t to[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  char target[LUC_SHAPE_TEXT], have[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, ndim <= LUC_MAX_DIMS, LUC_ERR_SHAPE, "tensors have at most %d dimensions, got %d",
            LUC_MAX_DIMS, ndim);
  LUC_CHECK(ctx, ndim >= t->ndim, LUC_ERR_SHAPE,
            "the number of sizes provided (%d) must be greater or equal to the number of "
            "dimensions in the tensor (%d)",
            ndim, t->ndim);
  for (int d = 0; d < ndim; d++) {
    int from = d - (ndim - t->ndim);
    to[d] = sizes[d];
    LUC_CHECK(ctx, sizes[d] >= 0 || (sizes[d] == -1 && from >= 0), LUC_ERR_SHAPE,
              "the expanded size of the tensor (%lld) isn't allowed in a leading, non-existing "
              "dimension %d",
              (long long)sizes[d], d + 1);
    if (from >= 0 && sizes[d] == -1) to[d] = t->sizes[from];
    bool keeps = from >= 0 && to[d] == t->sizes[from];
    strides[d] = keeps ? t->strides[from] : 0;
    LUC_CHECK(ctx, keeps || from < 0 || t->sizes[from] == 1, LUC_ERR_SHAPE,
              "the expanded size of the tensor (%lld) must match the existing size (%lld) at "
              "non-singleton dimension %d. Target sizes: %s. Tensor sizes: %s",
              (long long)to[d], (long long)t->sizes[from], d + 1,
              luc__shape_text(target, ndim, sizes), luc__tensor_shape_text(have, t));
  }
  return luc__tensor_view(ctx, t, ndim, to, strides, t->offset, out);
}

luc_status luc__duplicate(luc_context *ctx, const luc_tensor *t, luc_tensor **out) {
  luc_tensor *copy;
  LUC_TRY(luc__tensor_empty_like(ctx, t, t->dtype, &copy));
  copy->from_one = t->from_one;
  luc_status status = luc__copy(ctx, copy, t);
  if (status == LUC_OK) {
    *out = copy;
  } else {
    luc_tensor_release(ctx, copy);
  }
  return status;
}

luc_status luc__to_contiguous(luc_context *ctx, luc_tensor *t, luc_tensor **out) {
  if (ctx->batched) LUC_TRY(luc__refuse_batched(ctx, "a kernel", t));
  if (!luc__is_contiguous(t)) return luc__duplicate(ctx, t, out);
  *out = luc__retain(t);
  return LUC_OK;
}

luc_status luc__zeros(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                      luc_tensor **out) {
  luc_tensor *t;
  LUC_TRY(luc__tensor_empty(ctx, dtype, ndim, sizes, &t));
  luc_status status = luc__fill(ctx, t, (luc_scalar){LUC_SCALAR_INT, {.i = 0}});
  if (status == LUC_OK) {
    *out = t;
  } else {
    luc_tensor_release(ctx, t);
  }
  return status;
}

/* ---- factories ---- */

bool luc__is_here(const luc_value *device) {
  return device->kind != LUC_STRING || !strcmp(device->as.string, "cpu") ||
         !strcmp(device->as.string, "cpu:0");
}

luc_status luc__check_device(luc_context *ctx, const luc_value *device) {
  LUC_CHECK(ctx, luc__is_here(device), LUC_ERR_SUPPORT,
            "device must be 'cpu' in this build (got '%.40s')", device->as.string);
  return LUC_OK;
}

luc_status luc__factory_dtype(luc_context *ctx, const luc_value *opts, luc_dtype fallback,
                              luc_dtype *dtype) {
  *dtype = opts[0].kind == LUC_DTYPE ? (luc_dtype)opts[0].as.i : fallback;
  LUC_TRY(luc__check_device(ctx, &opts[1]));
  bool wants = opts[2].kind == LUC_BOOLEAN && opts[2].as.i;
  LUC_CHECK(ctx, !wants || luc__dtype_has_gradient(*dtype), LUC_ERR_TYPE,
            "only Tensors of floating point and complex dtype can require gradients "
            "(dtype is %s)",
            luc__dtype_name(*dtype));
  return LUC_OK;
}

luc_status luc__factory_give(luc_context *ctx, const luc_value *opts, luc_value *out,
                             luc_tensor *t) {
  luc_status status = LUC_OK;
  if (opts[2].kind == LUC_BOOLEAN && opts[2].as.i)
    status = luc_tensor_set_requires_grad(ctx, t, true);
  return luc__give(ctx, status, out, t);
}

luc_status luc__factory_give_as(luc_context *ctx, luc_tensor *t, luc_dtype dtype,
                                const luc_value *opts, luc_value *out) {
  luc_tensor *r = NULL;
  luc_status status = luc__contiguous_as(ctx, t, dtype, &r);
  luc_tensor_release(ctx, t);
  return status == LUC_OK ? luc__factory_give(ctx, opts, out, r) : status;
}

luc_status luc__factory_sequence(luc_context *ctx, luc_dtype dtype, int64_t n, bool whole,
                                 luc_sequence_fn numbers, const void *arg, const luc_value *opts,
                                 luc_value *out) {
  luc_tensor *t;
  LUC_TRY(luc__tensor_empty(ctx, luc__dtype_to_real(dtype), 1, &n, &t));
  luc__sequence(ctx, t, whole, numbers, arg);
  return luc__factory_give_as(ctx, t, dtype, opts, out);
}

static double dtype_max(luc_dtype dtype) {
  switch (dtype) {
  case LUC_FLOAT32: return FLT_MAX;
  case LUC_FLOAT16: return 65504.0;
  case LUC_BFLOAT16: return 3.3895313892515355e38;
  case LUC_INT8: return INT8_MAX;
  case LUC_UINT8: return UINT8_MAX;
  case LUC_INT16: return INT16_MAX;
  case LUC_INT32: return INT32_MAX;
  case LUC_INT64: return 9223372036854774784.0; /* the largest double that fits */
  default: return DBL_MAX;
  }
}

luc_status luc__check_scalar(luc_context *ctx, luc_scalar s, luc_dtype dtype) {
  if (dtype == LUC_BOOL || (s.kind != LUC_SCALAR_FLOAT && dtype == LUC_INT64)) return LUC_OK;
  dtype = luc__dtype_to_real(dtype);
  double v = luc__scalar_double(s), max = dtype_max(dtype);
  bool fits = v <= max && v >= (luc__dtype_is_float(dtype) ? -max : -max - 1);
  if (luc__dtype_is_float(dtype)) fits = fits || !isfinite(v);
  if (dtype == LUC_UINT8) fits = v <= max && v >= (s.kind != LUC_SCALAR_FLOAT ? -max : 0);
  LUC_CHECK(ctx, fits, LUC_ERR_VALUE, "value cannot be converted to type %s without overflow",
            luc__dtype_name(dtype));
  return LUC_OK;
}

luc_status luc__operand_element(luc_context *ctx, const luc_value *v, luc_dtype dtype,
                                luc_element *out) {
  char shape[LUC_SHAPE_TEXT];
  luc_scalar s = luc_as_scalar(v);
  luc_tensor *t = luc_as_tensor(v);
  *out = (luc_element){{0, 0}};
  if (t) {
    LUC_CHECK(ctx, t->ndim == 0, LUC_ERR_SHAPE,
              "value must be a number or a 0-dimensional tensor (got shape %s)",
              luc__tensor_shape_text(shape, t));
    if (luc__dtype_is_complex(t->dtype)) {
      double parts[2];
      luc__load_complex(t->data, t->dtype, parts);
      LUC_CHECK(ctx, luc__dtype_is_complex(dtype) || parts[1] == 0, LUC_ERR_VALUE,
                "value cannot be converted to type %s without overflow", luc__dtype_name(dtype));
      if (luc__dtype_is_complex(dtype)) {
        luc__store_complex(out, dtype, parts);
        return LUC_OK;
      }
    }
    s = luc__load_scalar(t->data, t->dtype);
  }
  LUC_TRY(luc__check_scalar(ctx, s, dtype));
  luc__store_scalar(out, dtype, s);
  return LUC_OK;
}

luc_status luc__pass_gradient(luc_context *ctx, luc_backward *b) {
  (void)ctx;
  return luc__pass_to(b, 0);
}
