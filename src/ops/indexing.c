/* Tables of offsets, and the checks every indexing operator makes. */
#include "ops/indexing.h"

#include <string.h>

luc_status luc__index_values(luc_context *ctx, const char *who, luc_tensor *index,
                             luc_tensor **out) {
  LUC_CHECK(ctx, luc__dtype_is_int((luc_dtype)index->dtype), LUC_ERR_TYPE,
            "%s: index must be an int64 tensor (got %s)", who,
            luc__dtype_name((luc_dtype)index->dtype));
  return luc__contiguous_as(ctx, index, LUC_INT64, out);
}

/* The failure for index v; where negative ones are refused, -1 is out of range too. */
luc_status luc__bad_index(luc_context *ctx, const char *who, int64_t v, int64_t size,
                          bool negative) {
  int64_t unused;
  if (negative || v >= 0 || size == 0 || v < -size)
    return luc__index_wrap(ctx, who, v, size, &unused);
  return luc__fail(ctx, LUC_ERR_INDEX,
                   "%s: index %lld is out of range [1, %lld] (indices count from 1)", who,
                   (long long)v, (long long)size);
}

luc_status luc__table_add(luc_context *ctx, const char *who, luc_tensor *table, luc_tensor *index,
                          int64_t size, int64_t stride, bool negative) {
  const int64_t *values = (const int64_t *)index->data;
  int64_t bad =
      luc__offsets_add((int64_t *)table->data, values, index->numel, size, stride, negative);
  return bad < 0 ? LUC_OK : luc__bad_index(ctx, who, values[bad], size, negative);
}

luc_status luc__mask_values(luc_context *ctx, const char *who, luc_tensor *mask, int ndim,
                            const int64_t *sizes, luc_tensor **out) {
  luc_tensor *wide;
  LUC_CHECK(ctx, mask->dtype == LUC_BOOL || mask->dtype == LUC_UINT8, LUC_ERR_TYPE,
            "%s: expected BoolTensor for mask (got %s)", who,
            luc__dtype_name((luc_dtype)mask->dtype));
  LUC_TRY(luc__expand(ctx, who, mask, ndim, sizes, &wide));
  luc_status status = luc__contiguous_as(ctx, wide, LUC_BOOL, out);
  luc_tensor_release(ctx, wide);
  return status;
}

luc_status luc__mask_table(luc_context *ctx, const luc_tensor *t, int dim, const luc_tensor *mask,
                           luc_tensor **table) {
  const bool *bits = (const bool *)mask->data;
  int64_t n = luc__mask_count(bits, mask->numel);
  LUC_TRY(luc__tensor_empty(ctx, LUC_INT64, 1, &n, table));
  if (n)
    luc__offsets_masked((int64_t *)(*table)->data, bits, mask->ndim, mask->sizes, t->strides + dim);
  return LUC_OK;
}

luc_status luc__begin_write(luc_context *ctx, const char *who, luc_tensor *self, luc_value *out,
                            luc_tensor **target) {
  if (out->kind == LUC_TENSOR)
    return luc__out(ctx, who, out, (luc_dtype)self->dtype, self->ndim, self->sizes, target);
  luc_status status = luc__duplicate(ctx, self, target);
  return luc__set_result(status, out, *target);
}

luc_status luc__apart(luc_context *ctx, luc_tensor *t, const luc_tensor *target, luc_tensor **out) {
  if (luc__may_overlap(t, target)) return luc__duplicate(ctx, t, out);
  *out = luc__retain(t);
  return LUC_OK;
}

luc_status luc__same_dtype(luc_context *ctx, const char *who, const luc_tensor *self,
                           const luc_tensor *source, const char *name) {
  LUC_CHECK(ctx, self->dtype == source->dtype, LUC_ERR_TYPE,
            "%s: expected self.dtype to be equal to %s.dtype (%s and %s)", who, name,
            luc__dtype_name((luc_dtype)self->dtype), luc__dtype_name((luc_dtype)source->dtype));
  return LUC_OK;
}
