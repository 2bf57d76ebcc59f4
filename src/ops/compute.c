/* Checks and result handling shared by the operators that stand on a heavy kernel. */
#include "ops/compute.h"

#include <stdarg.h>
#include <stdio.h>

#include "cpu/copy.h"

luc_status luc__match_dtype(luc_context *ctx, const char *name_a, const luc_tensor *a,
                            const char *name_b, const luc_tensor *b) {
  if (!b || a->dtype == b->dtype) return LUC_OK;
  return luc__fail(ctx, LUC_ERR_TYPE, "%s is %s, %s is %s (they must have one dtype)", name_a,
                   luc__dtype_name(a->dtype), name_b, luc__dtype_name(b->dtype));
}

luc_status luc__need_float(luc_context *ctx, const char *name, const luc_tensor *t) {
  if (luc__dtype_is_float(t->dtype)) return LUC_OK;
  return luc__fail(ctx, LUC_ERR_TYPE, "%s must be a floating point tensor (got %s)", name,
                   luc__dtype_name(t->dtype));
}

luc_status luc__need_numbers(luc_context *ctx, const luc_tensor *input) {
  if (input->dtype != LUC_BOOL) return LUC_OK;
  return luc__fail(ctx, LUC_ERR_TYPE, "input must be a tensor of numbers (got bool)");
}

luc_status luc__fail_shapes(luc_context *ctx, const char *name_a, const luc_tensor *a,
                            const char *name_b, const luc_tensor *b, const char *fmt, ...) {
  char what[256], shape_a[LUC_SHAPE_TEXT], shape_b[LUC_SHAPE_TEXT];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  luc__tensor_shape_text(shape_a, a);
  if (!b) return luc__fail(ctx, LUC_ERR_SHAPE, "%s (%s %s)", what, name_a, shape_a);
  return luc__fail(ctx, LUC_ERR_SHAPE, "%s (%s %s, %s %s)", what, name_a, shape_a, name_b,
                   luc__tensor_shape_text(shape_b, b));
}

luc_status luc__list(luc_context *ctx, int n, luc_value *out) {
  luc_tensor **list = luc__alloc_zero(ctx, (size_t)n * sizeof *list);
  if (!list) return LUC_ERR_MEMORY;
  *out = luc_v_tensors(list, n);
  return LUC_OK;
}

luc_status luc__dense(luc_context *ctx, luc_tensor *t, luc_dtype dtype, luc_tensor **out) {
  *out = NULL;
  return t ? luc__contiguous_as(ctx, t, dtype, out) : LUC_OK;
}

bool luc__lies_last(const luc_tensor *t, int spatial) {
  int64_t step = 1;
  if (t->ndim != spatial + 2 || t->numel > INT32_MAX) return false;
  if (luc__is_contiguous(t)) return false;
  for (int k = 0; k < t->ndim; k++) {
    const int d = k == 0 ? 1 : k <= spatial ? t->ndim - k : 0; /* from the innermost on */
    if (t->sizes[d] > 1 && t->strides[d] != step) return false;
    step *= t->sizes[d];
  }
  return true;
}

bool luc__channels_last(const luc_tensor *t, int spatial) {
  return spatial > 1 && luc__lies_last(t, spatial);
}

void luc__move_dim(luc_tensor *t, int from, int to) {
  const int64_t size = t->sizes[from], stride = t->strides[from];
  for (int step = from < to ? 1 : -1; from != to; from += step) {
    t->sizes[from] = t->sizes[from + step];
    t->strides[from] = t->strides[from + step];
  }
  t->sizes[to] = size, t->strides[to] = stride;
}

void luc__lay_channels_last(luc_tensor *fresh) {
  luc__move_dim(fresh, 1, fresh->ndim - 1);
  luc__contiguous_strides(fresh->ndim, fresh->sizes, fresh->strides);
  luc__move_dim(fresh, fresh->ndim - 1, 1);
}

luc_status luc__dense_images(luc_context *ctx, luc_tensor *t, luc_dtype dtype, bool last,
                             luc_tensor **out) {
  luc_tensor *lies;
  if (!last) return luc__dense(ctx, t, dtype, out);
  LUC_TRY(luc__tensor_view(ctx, t, t->ndim, t->sizes, t->strides, t->offset, &lies));
  luc__move_dim(lies, 1, t->ndim - 1);
  luc_status status = luc__dense(ctx, lies, dtype, out);
  luc_tensor_release(ctx, lies);
  return status;
}

luc_status luc__take_ints(luc_context *ctx, const char *name, const luc_value *v, int n,
                          int64_t *out) {
  bool list = v->kind == LUC_INTS;
  if ((list && v->n != n && v->n != 1) || (!list && v->kind != LUC_INT))
    return luc__fail(ctx, LUC_ERR_VALUE, "%s must be an integer or %d of them", name, n);
  for (int i = 0; i < n; i++) out[i] = list ? v->as.ints[v->n == 1 ? 0 : i] : v->as.i;
  return LUC_OK;
}

luc_value luc__input_spatial(const luc_backward *b, int p, int spatial, int64_t *sizes) {
  const int ndim = luc__input_sizes(b, p, sizes);
  return luc_v_ints(sizes + ndim - spatial, spatial);
}

luc_status luc__grad_to_size(luc_context *ctx, luc_backward *b, luc_opid op, int n) {
  int64_t sizes[LUC_MAX_DIMS];
  luc_value args[LUC_MAX_PARAMS] = {luc_v_tensor(b->gout[0]),
                                    luc__input_spatial(b, 0, b->args[1].n, sizes)};
  for (int i = 2; i < n; i++) args[i] = b->args[i];
  return luc__op1(ctx, op, &b->gin[0], args, n);
}

luc_status luc__check_least(luc_context *ctx, const char *name, int n, const int64_t *values,
                            int64_t least) {
  char text[LUC_SHAPE_TEXT];
  for (int i = 0; i < n; i++) {
    LUC_CHECK(ctx, values[i] >= least, LUC_ERR_VALUE, "%s must be at least %lld (got %s)", name,
              (long long)least, luc__shape_text(text, n, values));
    LUC_CHECK(ctx, values[i] <= INT32_MAX, LUC_ERR_VALUE, "%s is too large (got %s)", name,
              luc__shape_text(text, n, values));
  }
  return LUC_OK;
}

luc_status luc__check_batched(luc_context *ctx, const luc_tensor *input, int spatial,
                              bool *batched) {
  static const char *const forms[] = {"", "L", "H, W", "D, H, W"};
  *batched = input->ndim == spatial + 2;
  if (*batched || input->ndim == spatial + 1) return LUC_OK;
  return luc__fail_shapes(ctx, "input", input, NULL, NULL, "input must be [N, C, %s] or [C, %s]",
                          forms[spatial], forms[spatial]);
}
