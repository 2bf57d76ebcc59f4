/* Indexing along one dimension by a vector of positions: index_select and what writes at such
 * positions; take and put on the flattened tensor; nonzero. */
#include "ops/formula.h"
#include "ops/indexing.h"

#include <string.h>

/* ---- one dimension ---- */

/* Reads index, a vector or one number, as positions along t's dimension dim. target: the tensor
 * that will be written at them, or NULL. */
static luc_status row_positions(luc_context *ctx, const luc_tensor *t, int dim, luc_tensor *index,
                                bool negative, const luc_tensor *target, luc_positions *p,
                                luc_tensor **values) {
  *values = NULL;
  LUC_CHECK(ctx, index->ndim <= 1, LUC_ERR_SHAPE, "index is supposed to be a vector, got %dD",
            index->ndim);
  return luc__positions(ctx, index, t->ndim ? t->sizes[dim] : 1, negative, target, p, values);
}

/* Moves rows between t, at these positions along dim, and dense, which has one for each position.
 * Without dense every element is *value. alpha: as a job has it. */
static luc_status move_rows(luc_context *ctx, luc_index_op op, luc_tensor *t, int dim,
                            const luc_positions *p, luc_tensor *dense, void *value, double alpha,
                            bool fresh) {
  luc_index_job job = {.op = op,
                       .alpha = alpha,
                       .dtype = t->dtype,
                       .indexed = t->data,
                       .dense = dense ? dense->data : value,
                       .positions = *p,
                       .n = p->n,
                       .stride = t->ndim ? t->strides[dim] : 0};
  if (dense && dense->ndim) job.dense_step = dense->strides[dim];
  for (int d = 0; d < t->ndim; d++) {
    if (d == dim) continue;
    luc_index_dims *part = d < dim ? &job.outer : &job.inner;
    part->sizes[part->ndim] = t->sizes[d];
    part->indexed[part->ndim] = t->strides[d];
    part->dense[part->ndim++] = dense ? dense->strides[d] : 0;
  }
  fresh = fresh && (t->numel > 0 || op == LUC_INDEX_PUT); /* of nothing, positions are checked */
  return luc__index_move(ctx, &job, fresh);
}

luc_status luc__run_index_select(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *values, *r = NULL;
  luc_positions p;
  int dim;
  int64_t sizes[LUC_MAX_DIMS];
  LUC_TRY(luc__dim_wrap(ctx, args[1].as.i, t->ndim, &dim));
  LUC_TRY(row_positions(ctx, t, dim, args[2].as.tensor, false, NULL, &p, &values));
  memcpy(sizes, t->sizes, sizeof sizes);
  if (t->ndim) sizes[dim] = p.n;
  luc_status status = LUC_OK;
  if (t->ndim == 0 && p.n != 1)
    LUC_GO(luc__fail(ctx, LUC_ERR_SHAPE, "index to scalar can have only 1 value, got %lld",
                     (long long)p.n));
  if (t->ndim && 2 * p.n >= t->sizes[dim] && luc__is_better_dense(LUC_INDEX_GET, t, dim))
    LUC_GO(luc__as_dense(ctx, t, t->dtype, &t));
  LUC_GO(luc__tensor_empty(ctx, t->dtype, t->ndim, sizes, &r));
  LUC_GO(move_rows(ctx, LUC_INDEX_GET, t, dim, &p, r, NULL, 0, true));
done:
  luc_tensor_release(ctx, values);
  return luc__give(ctx, status, out, r);
}

luc_status luc__grad_index_select(luc_context *ctx, luc_backward *b) {
  luc_value g = luc_v_tensor(b->gout[0]);
  return luc__grad_into_zeros(ctx, b, LUC_OP_index_add, b->args[1], b->args[2], g);
}

/* source must have self's sizes but for dim, where it has as many as there are positions. */
static luc_status check_source(luc_context *ctx, const luc_tensor *self, int dim, int64_t positions,
                               const luc_tensor *source) {
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  bool fits = source->ndim == self->ndim || (source->ndim == 0 && self->ndim <= 1);
  for (int d = 0; fits && d < source->ndim; d++)
    fits = source->sizes[d] == (d == dim ? positions : self->sizes[d]);
  if (fits && source->ndim == 0) fits = positions == 1;
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "source %s does not fit self %s with %lld indices along dim %d",
            luc__tensor_shape_text(b, source), luc__tensor_shape_text(a, self),
            (long long)positions, dim + 1);
  return luc__need_self_dtype(ctx, self, source, "source");
}

static bool is_real(const luc_tensor *t) {
  return t->dtype == LUC_FLOAT32 || t->dtype == LUC_FLOAT64;
}

/* Are source's rows behind dim without gaps, and target's, each of them one row, and do they come
 * to more than a few elements in each line? */
static bool has_rows(const luc_tensor *target, int dim, const luc_tensor *source) {
  enum { FEW = 32 };
  int64_t row = 1;
  for (int d = target->ndim - 1; d > dim; d--) {
    if (source->sizes[d] > 1 && source->strides[d] != row) return false;
    row *= source->sizes[d];
  }
  if (row == 1 || row * source->sizes[dim] < FEW) return false;
  return luc__is_contiguous(target) && target->strides[dim] == row;
}

/* index_add and index_copy: self, dim, index, source; alpha NULL: 1. Rows of floats are multiplied
 * as they are added. */
static luc_status write_rows(luc_context *ctx, luc_index_op op, luc_value *args,
                             const luc_value *alpha, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *source = args[3].as.tensor, *values = NULL, *apart = NULL;
  luc_tensor *target;
  const luc_tensor *written = out->kind == LUC_TENSOR ? self : NULL;
  luc_positions p;
  int dim;
  luc_status status = LUC_OK;
  LUC_GO(luc__dim_wrap(ctx, args[1].as.i, self->ndim, &dim));
  LUC_GO(row_positions(ctx, self, dim, args[2].as.tensor, false, written, &p, &values));
  LUC_GO(check_source(ctx, self, dim, p.n, source));
  if (luc__is_better_dense(op, source, dim))
    LUC_GO(luc__as_dense(ctx, source, source->dtype, &source));
  LUC_GO(luc__begin_write(ctx, self, out, &target));
  double factor = alpha ? luc_as_double(alpha) : 0;
  if (alpha && (factor == 0 || !is_real(self) || !has_rows(target, dim, source))) {
    LUC_GO(luc__op1(ctx, LUC_OP_mul, &source, LUC_ARGS(luc_v_tensor(source), *alpha)));
    LUC_GO(luc__held(ctx, LUC_OK, &source));
    factor = 0;
  }
  LUC_GO(luc__apart(ctx, source, target, &apart));
  LUC_GO(move_rows(ctx, op, target, dim, &p, apart, NULL, factor, target != self));
done:
  LUC_RELEASE(ctx, values, apart);
  return status;
}

luc_status luc__run_index_copy(luc_context *ctx, luc_value *args, luc_value *out) {
  return write_rows(ctx, LUC_INDEX_PUT, args, NULL, out);
}

luc_status luc__run_index_add(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_tensor *source = args[3].as.tensor;
  luc_value alpha = args[4];
  bool whole = !luc__dtype_is_float(source->dtype) && !luc__dtype_is_complex(source->dtype);
  if (source->dtype == LUC_BOOL) alpha = luc_v_bool(luc_as_double(&alpha) != 0);
  if (whole && alpha.kind == LUC_FLOAT) alpha = luc_v_int((int64_t)alpha.as.f); /* as PyTorch */
  return write_rows(ctx, LUC_INDEX_ADD, args, luc_as_double(&alpha) == 1 ? NULL : &alpha, out);
}

luc_status luc__run_index_fill(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *values = NULL, *target;
  const luc_tensor *written = out->kind == LUC_TENSOR ? self : NULL;
  luc_positions p;
  int dim;
  luc_element value;
  luc_status status = LUC_OK;
  LUC_GO(luc__operand_element(ctx, &args[3], self->dtype, &value));
  LUC_GO(luc__dim_wrap(ctx, args[1].as.i, self->ndim, &dim));
  LUC_GO(row_positions(ctx, self, dim, args[2].as.tensor, true, written, &p, &values));
  LUC_GO(luc__begin_in_order(ctx, self, out, &target));
  LUC_GO(move_rows(ctx, LUC_INDEX_PUT, target, dim, &p, NULL, &value, 0, target != self));
done:
  luc_tensor_release(ctx, values);
  return status;
}

/* The gradient of what was written: that of the result at the positions. */
static luc_status select_gradient(luc_context *ctx, luc_backward *b, luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_index_select, out,
                  LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], b->args[2]));
}

/* The gradient of self: that of the result, with 0 at the positions that were overwritten. */
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
  int64_t sizes[LUC_MAX_DIMS];
  if (luc__needs(b, 0)) LUC_TRY(clear_gradient(ctx, b, &b->gin[0]));
  if (!luc__needs(b, 3)) return LUC_OK;
  if (b->gout[0]->numel > 0 || ctx->batched) return select_gradient(ctx, b, &b->gin[3]);
  const int n = luc__input_sizes(b, 3, sizes); /* rows without elements may go to any position */
  return luc__zeros(ctx, b->gout[0]->dtype, n, sizes, &b->gin[3]);
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

/* Between flat, which is contiguous, at the positions and `dense`, a value for each. */
static luc_status move_flat(luc_context *ctx, luc_index_op op, luc_tensor *flat,
                            const luc_positions *p, luc_tensor *dense, bool fresh) {
  luc_index_job job = {.op = op,
                       .dtype = flat->dtype,
                       .indexed = flat->data,
                       .dense = dense->data,
                       .positions = *p,
                       .n = p->n,
                       .stride = 1,
                       .dense_step = 1};
  return luc__index_move(ctx, &job, fresh);
}

/* Positions in t flattened, of which *values holds the numbers, as offsets in t as it lies. */
static luc_status flat_offsets(luc_context *ctx, const luc_tensor *t, luc_positions *p,
                               luc_tensor **values) {
  luc_tensor *table;
  LUC_TRY(luc__positions_check(ctx, p));
  LUC_TRY(luc__tensor_empty(ctx, LUC_INT64, 1, &p->n, &table));
  int64_t *offsets = (int64_t *)(void *)table->data, sizes[LUC_MAX_DIMS], steps[LUC_MAX_DIMS];
  int last = -1; /* the outermost of what cannot be one dimension, which takes no division */
  for (int d = t->ndim - 1; d >= 0; d--) {
    const bool even = last >= 0 && t->strides[d] == steps[last] * sizes[last];
    if (!even) sizes[++last] = 1, steps[last] = t->strides[d];
    sizes[last] *= t->sizes[d];
  }
  for (int64_t i = 0; i < p->n; i++) {
    int64_t at = p->at[i] < 0 ? p->at[i] + t->numel : p->at[i] - p->first, offset = 0;
    for (int d = 0; d < last; at /= sizes[d++]) offset += at % sizes[d] * steps[d];
    offsets[i] = offset + at * steps[last];
  }
  luc_tensor_release(ctx, *values);
  *values = table;
  *p = luc__table_positions(table);
  return LUC_OK;
}

luc_status luc__run_take(luc_context *ctx, luc_value *args, luc_value *out) {
  enum { MANY = 16 }; /* times as many elements as are taken cost more to lay out */
  luc_tensor *t = args[0].as.tensor, *index = args[1].as.tensor;
  luc_tensor *flat = NULL, *values = NULL, *r = NULL;
  luc_positions p;
  luc_status status = LUC_OK;
  LUC_GO(luc__positions(ctx, index, t->numel, true, NULL, &p, &values));
  if (t->numel / MANY > index->numel && !luc__is_contiguous(t)) {
    LUC_GO(flat_offsets(ctx, t, &p, &values));
    flat = luc__retain(t);
  } else {
    LUC_GO(luc__to_contiguous(ctx, t, &flat));
  }
  LUC_GO(luc__tensor_empty(ctx, t->dtype, index->ndim, index->sizes, &r));
  LUC_GO(move_flat(ctx, LUC_INDEX_GET, flat, &p, r, true));
done:
  LUC_RELEASE(ctx, flat, values);
  return luc__give(ctx, status, out, r);
}

luc_status luc__grad_take(luc_context *ctx, luc_backward *b) {
  luc_value g = luc_v_tensor(b->gout[0]);
  return luc__grad_into_zeros(ctx, b, LUC_OP_put, b->args[1], g, luc_v_bool(true));
}

luc_status luc__run_put(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *index = args[1].as.tensor, *source = args[2].as.tensor;
  luc_tensor *values = NULL, *flat = NULL, *result = NULL, *target;
  const luc_index_op op = args[3].as.i ? LUC_INDEX_ADD : LUC_INDEX_PUT;
  const bool there = out->kind == LUC_TENSOR && luc__is_contiguous(self);
  luc_positions p;
  luc_status status = LUC_OK;
  LUC_GO(luc__need_self_dtype(ctx, self, source, "source"));
  if (source->numel != index->numel)
    LUC_GO(luc__fail(ctx, LUC_ERR_SHAPE,
                     "expected source and index to have the same number of elements, but got "
                     "source.numel() = %lld, index.numel() = %lld",
                     (long long)source->numel, (long long)index->numel));
  LUC_GO(luc__positions(ctx, index, self->numel, true, there ? self : NULL, &p, &values));
  LUC_GO(luc__may_overlap(source, self) ? luc__duplicate(ctx, source, &flat)
                                        : luc__to_contiguous(ctx, source, &flat));
  if (!there) LUC_GO(luc__duplicate(ctx, self, &result));
  if (there) LUC_GO(luc__begin_write(ctx, self, out, &target));
  LUC_GO(move_flat(ctx, op, there ? target : result, &p, flat, !there));
done:
  LUC_RELEASE(ctx, values, flat);
  return there ? status : luc__give(ctx, status, out, result);
}

luc_status luc__grad_put(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  bool accumulate = b->args[3].as.i, clears = luc__needs(b, 0) && !accumulate;
  if (luc__needs(b, 0) && accumulate) LUC_TRY(luc__pass_to(b, 0));
  if (!luc__needs(b, 2) && !clears) return LUC_OK;
  luc_value g = luc_v_tensor(b->gout[0]);
  luc_tensor *part = luc__f_call(&f, LUC_OP_take, LUC_ARGS(g, b->args[1]));
  if (clears) {
    luc_value zeros = luc_v_tensor(luc__f1(&f, LUC_OP_zeros_like, part));
    luc__f_keep(&f, luc__f_call(&f, LUC_OP_put, LUC_ARGS(g, b->args[1], zeros)), &b->gin[0]);
  }
  if (luc__needs(b, 2)) {
    int64_t sizes[LUC_MAX_DIMS];
    int n = luc__input_sizes(b, 2, sizes);
    luc__f_keep(&f, luc__f_reshape(&f, part, n, sizes), &b->gin[2]);
  }
  return luc__f_end(&f, NULL, NULL);
}

/* ---- nonzero ---- */

/* t as contiguous bools, with at least one dimension if so wanted. */
static luc_status bools(luc_context *ctx, luc_tensor *t, bool vector, luc_tensor **out) {
  int64_t one = 1;
  luc_tensor *bits;
  if (t->ndim || !vector) return luc__contiguous_as(ctx, t, LUC_BOOL, out);
  LUC_TRY(luc__contiguous_as(ctx, t, LUC_BOOL, &bits));
  luc_status status = luc__tensor_view(ctx, bits, 1, &one, &one, bits->offset, out);
  luc_tensor_release(ctx, bits);
  return status;
}

/* One vector of positions for each dimension; a tensor without dimensions counts as [1]. */
static luc_status columns(luc_context *ctx, luc_tensor *t, luc_value *out) {
  int n = t->ndim ? t->ndim : 1;
  int64_t stride = 1;
  luc_tensor *mask = NULL, *all = NULL;
  luc_status status;
  LUC_TRY(luc__list(ctx, n, out));
  LUC_GO(bools(ctx, t, true, &mask));
  LUC_GO(luc__mask_coordinates(ctx, mask, true, &all));
  for (int d = 0; d < n; d++)
    LUC_GO(luc__tensor_view(ctx, all, 1, &all->sizes[1], &stride, d * all->sizes[1],
                            &out->as.tensors[d]));
done:
  LUC_RELEASE(ctx, mask, all);
  return status;
}

/* The places along each dimension of positions in the flattened tensor. */
luc_status luc__run_unravel_index(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *rest = NULL, *next;
  luc_status status = LUC_OK;
  int n = args[1].n;
  LUC_CHECK(ctx, luc__dtype_is_int(t->dtype), LUC_ERR_TYPE,
            "expected indices to be an integer tensor but got %s", luc__dtype_name(t->dtype));
  LUC_TRY(luc__check_sizes(ctx, n, args[1].as.ints));
  LUC_TRY(luc__list(ctx, n, out));
  rest = luc__retain(t);
  for (int d = n - 1; d >= 0; d--) {
    int64_t size = args[1].as.ints[d];
    luc_value by = luc_v_int(size == 0 && t->numel == 0 ? 1 : size);
    LUC_GO(luc__op1(ctx, LUC_OP_remainder, &out->as.tensors[d], LUC_ARGS(luc_v_tensor(rest), by)));
    LUC_GO(luc__op1(ctx, LUC_OP_floor_divide, &next, LUC_ARGS(luc_v_tensor(rest), by)));
    luc_tensor_release(ctx, rest);
    rest = next;
  }
done:
  luc_tensor_release(ctx, rest);
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
  luc_tensor *mask, *r = NULL;
  LUC_TRY(bools(ctx, args[0].as.tensor, false, &mask));
  luc_status status = luc__mask_coordinates(ctx, mask, false, &r);
  luc_tensor_release(ctx, mask);
  return luc__give(ctx, status, out, r);
}
