/* Positions, tables of offsets, and the checks every indexing operator makes. */
#include "ops/indexing.h"

luc_status luc__positions(luc_context *ctx, luc_tensor *index, int64_t size, bool negative,
                          const luc_tensor *target, luc_positions *p, luc_tensor **values) {
  LUC_CHECK(ctx, luc__dtype_is_int(index->dtype), LUC_ERR_TYPE,
            "index must be an int64 tensor (got %s)", luc__dtype_name(index->dtype));
  LUC_TRY(luc__contiguous_as(ctx, index, LUC_INT64, values));
  if (target && luc__may_overlap(*values, target)) {
    luc_tensor *shared = *values;
    *values = NULL;
    luc_status status = luc__duplicate(ctx, shared, values);
    luc_tensor_release(ctx, shared);
    LUC_TRY(status);
  }
  const int64_t *at = (const int64_t *)(*values)->data;
  *p = (luc_positions){at, index->numel, size, (*values)->from_one, negative};
  return LUC_OK;
}

luc_status luc__positions_check(luc_context *ctx, const luc_positions *p) {
  int64_t bad = p->size < 0 ? -1 : luc__positions_bad(ctx, p), unused;
  if (bad < 0) return LUC_OK;
  int64_t v = p->at[bad];
  bool zero = p->first && v == 0;
  if (v > 0) v -= p->first;
  if (!zero && (p->negative || v >= 0 || p->size == 0 || v < -p->size))
    return luc__index_wrap(ctx, v, p->size, &unused);
  return luc__fail(ctx, LUC_ERR_INDEX,
                   "index %lld is out of range [1, %lld] (indices count from 1)", (long long)v,
                   (long long)p->size);
}

luc_status luc__index_move(luc_context *ctx, const luc_index_job *job, bool fresh) {
  if (!fresh) LUC_TRY(luc__positions_check(ctx, &job->positions));
  return luc__index_run(ctx, job) ? LUC_OK : luc__positions_check(ctx, &job->positions);
}

luc_positions luc__table_positions(const luc_tensor *table) {
  return (luc_positions){(const int64_t *)table->data, table->numel, -1, 0, false};
}

luc_status luc__mask_values(luc_context *ctx, luc_tensor *mask, int ndim, const int64_t *sizes,
                            luc_tensor **out) {
  luc_tensor *wide;
  LUC_CHECK(ctx, mask->dtype == LUC_BOOL || mask->dtype == LUC_UINT8, LUC_ERR_TYPE,
            "expected BoolTensor for mask (got %s)", luc__dtype_name(mask->dtype));
  LUC_TRY(luc__expand(ctx, mask, ndim, sizes, &wide));
  luc_status status = luc__contiguous_as(ctx, wide, LUC_BOOL, out);
  luc_tensor_release(ctx, wide);
  return status;
}

luc_status luc__mask_table(luc_context *ctx, const luc_tensor *t, int dim, const luc_tensor *mask,
                           luc_tensor **table) {
  luc_mask m;
  LUC_TRY(luc__mask_begin(ctx, (const bool *)mask->data, mask->numel, &m));
  luc_status status = luc__tensor_empty(ctx, LUC_INT64, 1, &m.count, table);
  if (status == LUC_OK)
    luc__mask_offsets(ctx, &m, mask->ndim, mask->sizes, t->strides + dim,
                      (int64_t *)(*table)->data);
  luc__mask_end(ctx, &m);
  return status;
}

luc_status luc__mask_coordinates(luc_context *ctx, const luc_tensor *mask, bool by_dim,
                                 luc_tensor **out) {
  luc_mask m;
  LUC_TRY(luc__mask_begin(ctx, (const bool *)mask->data, mask->numel, &m));
  int64_t n = mask->ndim, sizes[2] = {by_dim ? n : m.count, by_dim ? m.count : n};
  luc_status status = luc__tensor_empty(ctx, LUC_INT64, 2, sizes, out);
  if (status == LUC_OK)
    luc__mask_positions(ctx, &m, mask->ndim, mask->sizes, by_dim ? m.count : 1, by_dim ? 1 : n,
                        ctx->first, (int64_t *)(*out)->data);
  luc__mask_end(ctx, &m);
  return status;
}

luc_status luc__begin_write(luc_context *ctx, luc_tensor *self, luc_value *out,
                            luc_tensor **target) {
  if (out->kind == LUC_TENSOR)
    return luc__out(ctx, out, self->dtype, self->ndim, self->sizes, target);
  LUC_TRY(luc__duplicate(ctx, self, target));
  *out = luc_v_tensor(*target);
  return LUC_OK;
}

luc_status luc__begin_in_order(luc_context *ctx, luc_tensor *self, luc_value *out,
                               luc_tensor **target) {
  if (out->kind == LUC_TENSOR) return luc__begin_write(ctx, self, out, target);
  LUC_TRY(luc__tensor_empty_like(ctx, self, self->dtype, target));
  luc__take_order(*target, 1, (const luc_tensor *const[]){self});
  (*target)->from_one = self->from_one;
  return luc__give(ctx, luc__copy(ctx, *target, self), out, *target);
}

bool luc__is_better_dense(luc_index_op op, const luc_tensor *t, int dim) {
  enum { SHORT_ROW = 32, MANY = 256 };
  int last = t->ndim - 1;
  if (t->numel < MANY || t->ndim == 0) return false;
  if (op != LUC_INDEX_GET && luc__product(t->ndim - dim, t->sizes + dim) < SHORT_ROW)
    return !luc__is_contiguous(t); /* then all of them are read in order */
  while (last > dim && t->sizes[last] == 1) last--;
  if (last <= dim || t->strides[last] == 1) return false;
  return op != LUC_INDEX_PUT || t->sizes[last] < SHORT_ROW;
}

luc_status luc__apart(luc_context *ctx, luc_tensor *t, const luc_tensor *target, luc_tensor **out) {
  if (luc__may_overlap(t, target)) return luc__duplicate(ctx, t, out);
  *out = luc__retain(t);
  return LUC_OK;
}

luc_status luc__grad_into_zeros(luc_context *ctx, luc_backward *b, luc_opid op, luc_value x,
                                luc_value y, luc_value z) {
  int64_t sizes[LUC_MAX_DIMS];
  luc_tensor *zeros;
  if (!luc__needs(b, 0)) return LUC_OK;
  int n = luc__input_sizes(b, 0, sizes);
  LUC_TRY(luc__zeros(ctx, b->gout[0]->dtype, n, sizes, &zeros));
  luc_status status = LUC_OK;
  if (b->gout[0]->numel == 0 && !ctx->batched) { /* at positions that nothing was asked of */
    b->gin[0] = luc__retain(zeros);
  } else if (ctx->grad_mode || ctx->batched) {
    status = luc__op1(ctx, op, &b->gin[0], LUC_ARGS(luc_v_tensor(zeros), x, y, z));
  } else { /* nobody records it, and nothing makes zeros one for each sample */
    status = luc_call_inplace(ctx, op, LUC_ARGS(luc_v_tensor(zeros), x, y, z));
    if (status == LUC_OK) b->gin[0] = luc__retain(zeros);
  }
  luc_tensor_release(ctx, zeros);
  return status;
}

luc_status luc__need_self_dtype(luc_context *ctx, const luc_tensor *self, const luc_tensor *source,
                                const char *name) {
  LUC_CHECK(ctx, self->dtype == source->dtype, LUC_ERR_TYPE,
            "expected self.dtype to be equal to %s.dtype (%s and %s)", name,
            luc__dtype_name(self->dtype), luc__dtype_name(source->dtype));
  return LUC_OK;
}
