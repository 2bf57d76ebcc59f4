/* Indexing along one dimension by a vector of positions: index_select and what writes at such
 * positions; take and put on the flattened tensor; nonzero. */
#include "ops/indexing.h"

#include <string.h>

/* ---- one dimension ---- */

/* Offsets of the positions in index (a vector or single number) along dim of t. */
static luc_status rows_table(luc_context *ctx, const char *who, const luc_tensor *t, int dim,
                             luc_tensor *index, bool negative, luc_tensor **table) {
  luc_tensor *values = NULL;
  luc_status status = LUC_OK;
  *table = NULL;
  LUC_CHECK(ctx, index->ndim <= 1, LUC_ERR_SHAPE, "%s: index is supposed to be a vector, got %dD",
            who, index->ndim);
  LUC_GO(luc__index_values(ctx, who, index, &values));
  LUC_GO(luc__zeros(ctx, LUC_INT64, 1, &values->numel, table));
  LUC_GO(luc__table_add(ctx, who, *table, values, t->ndim ? t->sizes[dim] : 1,
                        t->ndim ? t->strides[dim] : 0, negative));
done:
  luc_tensor_release(ctx, values);
  if (status != LUC_OK) {
    luc_tensor_release(ctx, *table);
    *table = NULL;
  }
  return status;
}

/* Moves between t at the table's places along dim and `dense`, whose dim counts those places.
 * dense NULL: its strides are all 0 and `value` is its memory. */
static void move_rows(luc_context *ctx, luc_index_op op, luc_tensor *t, int dim,
                      const luc_tensor *table, luc_tensor *dense, void *value) {
  luc_index_job job = {.op = op,
                       .dtype = (luc_dtype)t->dtype,
                       .indexed = t->data,
                       .dense = dense ? dense->data : value,
                       .offsets = (const int64_t *)table->data,
                       .n = table->numel};
  if (dense && dense->ndim) job.dense_step = dense->strides[dim];
  for (int d = 0; d < t->ndim; d++) {
    if (d == dim) continue;
    luc_index_dims *part = d < dim ? &job.outer : &job.inner;
    part->sizes[part->ndim] = t->sizes[d];
    part->indexed[part->ndim] = t->strides[d];
    part->dense[part->ndim++] = dense ? dense->strides[d] : 0;
  }
  luc__index_run(ctx, &job);
}

luc_status luc__run_index_select(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *table, *r;
  int dim;
  int64_t sizes[LUC_MAX_DIMS];
  LUC_TRY(luc__dim_wrap(ctx, "index_select", args[1].as.i, t->ndim, &dim));
  LUC_TRY(rows_table(ctx, "index_select", t, dim, args[2].as.tensor, false, &table));
  memcpy(sizes, t->sizes, sizeof sizes);
  if (t->ndim) sizes[dim] = table->numel;
  luc_status status = LUC_OK;
  if (t->ndim == 0 && table->numel != 1)
    status = luc__fail(ctx, LUC_ERR_SHAPE,
                       "index_select: index to scalar can have only 1 value, got %lld",
                       (long long)table->numel);
  if (status == LUC_OK) status = luc__tensor_empty(ctx, (luc_dtype)t->dtype, t->ndim, sizes, &r);
  if (status == LUC_OK) {
    move_rows(ctx, LUC_INDEX_GET, t, dim, table, r, NULL);
    status = luc__give(ctx, "index_select", out, r);
  }
  luc_tensor_release(ctx, table);
  return status;
}

luc_status luc__grad_index_select(luc_context *ctx, luc_backward *b) {
  int64_t sizes[LUC_MAX_DIMS];
  luc_tensor *zeros;
  if (!luc__needs(b, 0)) return LUC_OK;
  int n = luc__input_sizes(b, 0, sizes);
  LUC_TRY(luc__zeros(ctx, (luc_dtype)b->gout[0]->dtype, n, sizes, &zeros));
  luc_status status =
      luc__op1(ctx, LUC_OP_index_add, &b->gin[0],
               LUC_ARGS(luc_v_tensor(zeros), b->args[1], b->args[2], luc_v_tensor(b->gout[0])));
  luc_tensor_release(ctx, zeros);
  return status;
}

/* source must have self's sizes but for dim, where it has as many as there are positions. */
static luc_status check_source(luc_context *ctx, const char *who, const luc_tensor *self, int dim,
                               int64_t positions, const luc_tensor *source) {
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  bool fits = source->ndim == self->ndim || (source->ndim == 0 && self->ndim <= 1);
  for (int d = 0; fits && d < source->ndim; d++)
    fits = source->sizes[d] == (d == dim ? positions : self->sizes[d]);
  if (fits && source->ndim == 0) fits = positions == 1;
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "%s: source %s does not fit self %s with %lld indices along dim %d", who,
            luc__tensor_shape_text(b, source), luc__tensor_shape_text(a, self),
            (long long)positions, dim + 1);
  return luc__same_dtype(ctx, who, self, source, "source");
}

/* index_add and index_copy: self, dim, index, source. */
static luc_status write_rows(luc_context *ctx, const char *who, luc_index_op op, luc_value *args,
                             luc_tensor *source, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *table = NULL, *apart = NULL, *target;
  int dim;
  luc_status status = LUC_OK;
  LUC_GO(luc__dim_wrap(ctx, who, args[1].as.i, self->ndim, &dim));
  LUC_GO(rows_table(ctx, who, self, dim, args[2].as.tensor, false, &table));
  LUC_GO(check_source(ctx, who, self, dim, table->numel, source));
  LUC_GO(luc__begin_write(ctx, who, self, out, &target));
  LUC_GO(luc__apart(ctx, source, target, &apart));
  if (target->ndim && target != self) {
    luc_tensor_release(ctx, table); /* the copy's strides are its own */
    LUC_GO(rows_table(ctx, who, target, dim, args[2].as.tensor, false, &table));
  }
  move_rows(ctx, op, target, dim, table, apart, NULL);
done:
  luc_tensor_release(ctx, table);
  luc_tensor_release(ctx, apart);
  return status;
}

luc_status luc__run_index_copy(luc_context *ctx, luc_value *args, luc_value *out) {
  return write_rows(ctx, "index_copy", LUC_INDEX_PUT, args, args[3].as.tensor, out);
}

luc_status luc__run_index_add(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *source = args[3].as.tensor, *scaled;
  luc_scalar alpha = luc_as_scalar(&args[4]);
  if (luc__scalar_double(alpha) == 1)
    return write_rows(ctx, "index_add", LUC_INDEX_ADD, args, source, out);
  LUC_TRY(luc__op1(ctx, LUC_OP_mul, &scaled, LUC_ARGS(args[3], args[4])));
  luc_status status = write_rows(ctx, "index_add", LUC_INDEX_ADD, args, scaled, out);
  luc_tensor_release(ctx, scaled);
  return status;
}

luc_status luc__run_index_fill(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *table = NULL, *target;
  int dim;
  luc_element value;
  luc_status status = LUC_OK;
  LUC_GO(luc__operand_element(ctx, "index_fill", &args[3], (luc_dtype)self->dtype, &value));
  LUC_GO(luc__dim_wrap(ctx, "index_fill", args[1].as.i, self->ndim, &dim));
  LUC_GO(rows_table(ctx, "index_fill", self, dim, args[2].as.tensor, true, &table));
  LUC_GO(luc__begin_write(ctx, "index_fill", self, out, &target));
  if (target != self) {
    luc_tensor_release(ctx, table);
    LUC_GO(rows_table(ctx, "index_fill", target, dim, args[2].as.tensor, true, &table));
  }
  move_rows(ctx, LUC_INDEX_PUT, target, dim, table, NULL, &value);
done:
  luc_tensor_release(ctx, table);
  return status;
}

/* The part of gout that was put in: gout at the positions. */
static luc_status select_gradient(luc_context *ctx, luc_backward *b, luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_index_select, out,
                  LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], b->args[2]));
}

/* The part of gout that is self's: 0 at the positions. */
static luc_status clear_gradient(luc_context *ctx, luc_backward *b, luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_index_fill, out,
                  LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], b->args[2], luc_v_int(0)));
}

luc_status luc__grad_index_add(luc_context *ctx, luc_backward *b) {
  LUC_TRY(luc__pass_to(b, 0));
  if (!luc__needs(b, 3)) return LUC_OK;
  luc_tensor *part;
  LUC_TRY(select_gradient(ctx, b, &part));
  luc_status status =
      luc__op1(ctx, LUC_OP_mul, &b->gin[3], LUC_ARGS(luc_v_tensor(part), b->args[4]));
  luc_tensor_release(ctx, part);
  return status;
}

luc_status luc__grad_index_copy(luc_context *ctx, luc_backward *b) {
  if (luc__needs(b, 0)) LUC_TRY(clear_gradient(ctx, b, &b->gin[0]));
  return luc__needs(b, 3) ? select_gradient(ctx, b, &b->gin[3]) : LUC_OK;
}

/* The value's gradient is gout at the positions, once each (gout less its cleared form, which is
 * exact); the engine sums it. */
luc_status luc__grad_index_fill(luc_context *ctx, luc_backward *b) {
  luc_tensor *cleared;
  LUC_TRY(clear_gradient(ctx, b, &cleared));
  luc_status status = LUC_OK;
  if (luc__needs(b, 3)) status = luc__binary(ctx, LUC_OP_sub, b->gout[0], cleared, &b->gin[3]);
  if (status == LUC_OK && luc__needs(b, 0)) {
    b->gin[0] = cleared;
  } else {
    luc_tensor_release(ctx, cleared);
  }
  return status;
}

/* ---- the flattened tensor ---- */

static luc_status flat_table(luc_context *ctx, const char *who, luc_tensor *index, int64_t numel,
                             luc_tensor **table) {
  luc_tensor *values = NULL;
  luc_status status = LUC_OK;
  *table = NULL;
  LUC_GO(luc__index_values(ctx, who, index, &values));
  LUC_GO(luc__zeros(ctx, LUC_INT64, 1, &values->numel, table));
  LUC_GO(luc__table_add(ctx, who, *table, values, numel, 1, true));
done:
  luc_tensor_release(ctx, values);
  if (status != LUC_OK) {
    luc_tensor_release(ctx, *table);
    *table = NULL;
  }
  return status;
}

static void move_flat(luc_context *ctx, luc_index_op op, luc_tensor *t, const luc_tensor *table,
                      luc_tensor *dense) {
  luc_index_job job = {.op = op,
                       .dtype = (luc_dtype)t->dtype,
                       .indexed = t->data,
                       .dense = dense->data,
                       .offsets = (const int64_t *)table->data,
                       .n = table->numel,
                       .dense_step = 1};
  luc__index_run(ctx, &job);
}

luc_status luc__run_take(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *index = args[1].as.tensor;
  luc_tensor *flat = NULL, *table = NULL, *r = NULL;
  luc_status status = LUC_OK;
  LUC_GO(flat_table(ctx, "take", index, t->numel, &table));
  LUC_GO(luc__to_contiguous(ctx, t, &flat));
  LUC_GO(luc__tensor_empty(ctx, (luc_dtype)t->dtype, index->ndim, index->sizes, &r));
  move_flat(ctx, LUC_INDEX_GET, flat, table, r);
done:
  luc_tensor_release(ctx, flat);
  luc_tensor_release(ctx, table);
  return status == LUC_OK ? luc__give(ctx, "take", out, r) : status;
}

luc_status luc__grad_take(luc_context *ctx, luc_backward *b) {
  int64_t sizes[LUC_MAX_DIMS];
  luc_tensor *zeros;
  if (!luc__needs(b, 0)) return LUC_OK;
  int n = luc__input_sizes(b, 0, sizes);
  LUC_TRY(luc__zeros(ctx, (luc_dtype)b->gout[0]->dtype, n, sizes, &zeros));
  luc_status status = luc__op1(
      ctx, LUC_OP_put, &b->gin[0],
      LUC_ARGS(luc_v_tensor(zeros), b->args[1], luc_v_tensor(b->gout[0]), luc_v_bool(true)));
  luc_tensor_release(ctx, zeros);
  return status;
}

luc_status luc__run_put(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *index = args[1].as.tensor, *source = args[2].as.tensor;
  luc_tensor *table = NULL, *flat = NULL, *result = NULL;
  luc_status status = LUC_OK;
  LUC_GO(luc__same_dtype(ctx, "put", self, source, "source"));
  if (source->numel != index->numel)
    LUC_GO(luc__fail(ctx, LUC_ERR_SHAPE,
                     "put: expected source and index to have the same number of elements, but got "
                     "source.numel() = %lld, index.numel() = %lld",
                     (long long)source->numel, (long long)index->numel));
  LUC_GO(flat_table(ctx, "put", index, self->numel, &table));
  LUC_GO(luc__to_contiguous(ctx, source, &flat));
  LUC_GO(luc__duplicate(ctx, self, &result));
  move_flat(ctx, args[3].as.i ? LUC_INDEX_ADD : LUC_INDEX_PUT, result, table, flat);
done:
  luc_tensor_release(ctx, table);
  luc_tensor_release(ctx, flat);
  return status == LUC_OK ? luc__give(ctx, "put", out, result) : status;
}

luc_status luc__grad_put(luc_context *ctx, luc_backward *b) {
  bool accumulate = b->args[3].as.i;
  luc_tensor *part;
  if (luc__needs(b, 0) && accumulate) LUC_TRY(luc__pass_to(b, 0));
  if (!luc__needs(b, 2) && (accumulate || !luc__needs(b, 0))) return LUC_OK;
  LUC_TRY(luc__op1(ctx, LUC_OP_take, &part, LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1])));
  luc_status status = LUC_OK;
  luc_tensor *zeros = NULL;
  if (luc__needs(b, 0) && !accumulate) {
    LUC_GO(luc__zeros(ctx, (luc_dtype)part->dtype, part->ndim, part->sizes, &zeros));
    LUC_GO(luc__op1(ctx, LUC_OP_put, &b->gin[0],
                    LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], luc_v_tensor(zeros))));
  }
  if (luc__needs(b, 2)) {
    int64_t sizes[LUC_MAX_DIMS];
    int n = luc__input_sizes(b, 2, sizes);
    LUC_GO(luc__op1(ctx, LUC_OP_reshape, &b->gin[2],
                    LUC_ARGS(luc_v_tensor(part), luc_v_ints(sizes, n))));
  }
done:
  luc_tensor_release(ctx, part);
  luc_tensor_release(ctx, zeros);
  return status;
}

/* ---- nonzero ---- */

/* One vector of positions for each dimension; a tensor without dimensions counts as [1]. */
static luc_status columns(luc_context *ctx, luc_tensor *t, luc_value *out) {
  int n = t->ndim ? t->ndim : 1;
  int64_t one = 1, stride = 1, sizes[2] = {n, 0};
  luc_tensor *mask = NULL, *rows = NULL, **list = luc__alloc_zero(ctx, (size_t)n * sizeof *list);
  if (!list) return LUC_ERR_MEMORY;
  luc_status status = LUC_OK;
  *out = luc_v_tensors(list, n);
  LUC_GO(luc__contiguous_as(ctx, t, LUC_BOOL, &mask));
  const bool *bits = (const bool *)mask->data;
  sizes[1] = luc__mask_count(bits, mask->numel);
  LUC_GO(luc__tensor_empty(ctx, LUC_INT64, 2, sizes, &rows));
  luc__mask_positions((int64_t *)rows->data, bits, n, t->ndim ? t->sizes : &one, sizes[1], 1);
  for (int d = 0; d < n; d++)
    LUC_GO(luc__tensor_view(ctx, rows, 1, sizes + 1, &stride, d * sizes[1], &list[d]));
done:
  luc_tensor_release(ctx, mask);
  luc_tensor_release(ctx, rows);
  if (status != LUC_OK) luc__value_release(ctx, out);
  return status;
}

/* as_tuple false: as without it. */
luc_status luc__run_nonzero_tuple(luc_context *ctx, luc_value *args, luc_value *out) {
  return args[1].as.i ? columns(ctx, args[0].as.tensor, out) : luc__run_nonzero(ctx, args, out);
}
luc_status luc__run_where_nonzero(luc_context *ctx, luc_value *args, luc_value *out) {
  return columns(ctx, args[0].as.tensor, out);
}

luc_status luc__run_nonzero(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *mask, *r = NULL;
  LUC_TRY(luc__contiguous_as(ctx, t, LUC_BOOL, &mask));
  const bool *bits = (const bool *)mask->data;
  int64_t sizes[2] = {luc__mask_count(bits, mask->numel), t->ndim};
  luc_status status = luc__tensor_empty(ctx, LUC_INT64, 2, sizes, &r);
  if (status == LUC_OK)
    luc__mask_positions((int64_t *)r->data, bits, t->ndim, t->sizes, 1, t->ndim);
  luc_tensor_release(ctx, mask);
  return luc__set_result(status, out, r);
}
