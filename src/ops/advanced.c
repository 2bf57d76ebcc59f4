/* Indexing with several index tensors and masks at once, as x[ids, mask, ...] means it. Index
 * tensors broadcast together; the dimensions they leave stand where theirs were if those are
 * adjacent, else after the broadcast ones (NumPy's rule). */
#include <string.h>

#include "ops/formula.h"
#include "ops/indexing.h"

/* One index expression, worked out against a tensor. */
typedef struct plan {
  luc_tensor *at[LUC_MAX_DIMS]; /* per dimension of self; NULL: all of it */
  int first, last, count;       /* dimensions that have an index */
  int b_ndim, place;            /* broadcast dimensions, and where they stand in the result */
  int64_t b_sizes[LUC_MAX_DIMS];
  int ndim; /* the result's */
  int64_t sizes[LUC_MAX_DIMS];
  luc_tensor *table;           /* offsets, or the values of the only index */
  luc_positions positions;     /* the positions in that table */
  int64_t stride;              /* their dimension's */
  luc_index_dims outer, inner; /* sizes and indexed strides filled in */
} plan;

static void plan_free(luc_context *ctx, plan *p) {
  for (int d = 0; d < LUC_MAX_DIMS; d++) luc_tensor_release(ctx, p->at[d]);
  luc_tensor_release(ctx, p->table);
}

static bool is_mask(const luc_tensor *t) {
  return t->dtype == LUC_BOOL || t->dtype == LUC_UINT8;
}

static luc_status check_mask(luc_context *ctx, const luc_tensor *self, int dim,
                             const luc_tensor *mask) {
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, mask->ndim > 0, LUC_ERR_SUPPORT, "a mask must have at least one dimension");
  for (int d = 0; d < mask->ndim; d++)
    LUC_CHECK(ctx, mask->sizes[d] == self->sizes[dim + d], LUC_ERR_INDEX,
              "The shape of the mask %s at index %d does not match the shape of the indexed tensor "
              "%s at index %d",
              luc__tensor_shape_text(a, mask), d + 1, luc__tensor_shape_text(b, self), dim + d + 1);
  return LUC_OK;
}

/* A mask of k dimensions is k vectors of positions. */
static luc_status spread_mask(luc_context *ctx, luc_tensor *mask, luc_tensor **at) {
  luc_tensor *bits, *all;
  LUC_TRY(luc__as_dense(ctx, mask, LUC_BOOL, &bits));
  int64_t one = 1;
  LUC_TRY(luc__held(ctx, luc__mask_coordinates(ctx, bits, true, &all), &all));
  for (int d = 0; d < mask->ndim; d++) {
    int64_t count = all->sizes[1];
    LUC_TRY(luc__tensor_view(ctx, all, 1, &count, &one, d * count, &at[d]));
  }
  return LUC_OK;
}

/* Puts every index where its dimension is; masks become vectors unless `keep` (a single mask). */
static luc_status assign(luc_context *ctx, const luc_tensor *self, const luc_value *indices,
                         bool keep, plan *p) {
  int dim = 0;
  for (int i = 0; i < indices->n; i++) {
    luc_tensor *index = indices->as.tensors[i];
    int takes = index && is_mask(index) ? index->ndim : 1;
    LUC_CHECK(ctx, dim + takes <= self->ndim, LUC_ERR_INDEX,
              "too many indices for tensor of dimension %d", self->ndim);
    if (index && is_mask(index)) {
      LUC_TRY(check_mask(ctx, self, dim, index));
      if (keep) {
        LUC_TRY(luc__contiguous_as(ctx, index, LUC_BOOL, &p->at[dim]));
      } else {
        LUC_TRY(spread_mask(ctx, index, &p->at[dim]));
      }
    } else if (index) {
      LUC_CHECK(ctx, luc__dtype_is_int(index->dtype), LUC_ERR_INDEX,
                "tensors used as indices must be integer or bool tensors (got %s)",
                luc__dtype_name(index->dtype));
      p->at[dim] = luc__retain(index);
    }
    if (index) {
      if (!p->count) p->first = dim;
      p->last = dim + takes - 1;
      p->count += takes;
    }
    dim += takes;
  }
  return LUC_OK;
}

static luc_status broadcast_indices(luc_context *ctx, const luc_tensor *self, plan *p) {
  luc_tensor so_far = {.ndim = 0};
  for (int d = 0; d < self->ndim; d++) {
    if (!p->at[d]) continue;
    memcpy(so_far.sizes, p->b_sizes, sizeof so_far.sizes);
    so_far.ndim = (uint8_t)p->b_ndim;
    luc_status status = luc__broadcast(ctx, &so_far, p->at[d], &p->b_ndim, p->b_sizes);
    char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
    LUC_CHECK(ctx, status == LUC_OK, LUC_ERR_INDEX,
              "shape mismatch: indexing tensors could not be broadcast together with shapes %s, "
              "%s",
              luc__tensor_shape_text(a, &so_far), luc__tensor_shape_text(b, p->at[d]));
  }
  return LUC_OK;
}

/* What the strides of dimensions with an index have in common: tables count in it, so that rows are
 * seen to lie between positions. */
static int64_t common_stride(const luc_tensor *self, const plan *p, bool mask) {
  int64_t common = 0;
  for (int d = p->first; d <= p->last; d++) {
    if (self->sizes[d] == 1 || !(mask || p->at[d])) continue;
    for (int64_t s = self->strides[d], rest; s != 0; s = rest) {
      rest = common % s;
      common = s;
    }
  }
  return common ? common : 1;
}

/* The table of offsets, summed over all indices. A single index needs none: its values are used
 * with the dimension's stride. */
static luc_status make_table(luc_context *ctx, const luc_tensor *self, const luc_tensor *written,
                             plan *p) {
  const int64_t n = luc__product(p->b_ndim, p->b_sizes);
  bool single = p->count == 1, first = true;
  if (!single) {
    p->stride = common_stride(self, p, false);
    LUC_TRY(luc__tensor_empty(ctx, LUC_INT64, 1, &n, &p->table));
  }
  for (int d = 0; d < self->ndim; d++) {
    if (!p->at[d]) continue;
    luc_tensor *wide, *values = NULL;
    LUC_TRY(luc__expand(ctx, p->at[d], p->b_ndim, p->b_sizes, &wide));
    luc_status status =
        luc__positions(ctx, wide, self->sizes[d], true, written, &p->positions, &values);
    luc_tensor_release(ctx, wide);
    LUC_TRY(status);
    if (single) {
      p->table = values;
      p->stride = self->strides[d];
      return LUC_OK;
    }
    if (!luc__positions_offsets(ctx, &p->positions, self->strides[d] / p->stride, !first,
                                (int64_t *)p->table->data))
      status = luc__positions_check(ctx, &p->positions);
    luc_tensor_release(ctx, values);
    LUC_TRY(status);
    first = false;
  }
  p->positions = luc__table_positions(p->table);
  return LUC_OK;
}

/* The same of a single mask. */
static luc_status make_mask_table(luc_context *ctx, const luc_tensor *self, plan *p) {
  luc_tensor steps = *self;
  p->stride = common_stride(self, p, true);
  for (int d = p->first; d <= p->last; d++) steps.strides[d] /= p->stride;
  LUC_TRY(luc__mask_table(ctx, &steps, p->first, p->at[p->first], &p->table));
  p->positions = luc__table_positions(p->table);
  p->b_ndim = 1;
  p->b_sizes[0] = p->table->numel;
  return LUC_OK;
}

/* Sizes of the result, and how the dimensions without an index are walked. */
static luc_status make_shape(luc_context *ctx, const luc_tensor *self, plan *p) {
  bool adjacent = p->last - p->first + 1 == p->count;
  LUC_CHECK(ctx, self->ndim - p->count + p->b_ndim <= LUC_MAX_DIMS, LUC_ERR_SHAPE,
            "the result would have more than %d dimensions", LUC_MAX_DIMS);
  p->place = adjacent ? p->first : 0;
  for (int d = 0; d < self->ndim; d++) {
    bool indexed = d >= p->first && d <= p->last && (p->at[d] || adjacent);
    if (indexed) continue;
    luc_index_dims *part = adjacent && d < p->first ? &p->outer : &p->inner;
    part->sizes[part->ndim] = self->sizes[d];
    part->indexed[part->ndim++] = self->strides[d];
  }
  p->ndim = 0;
  for (int d = 0; d < p->outer.ndim; d++) p->sizes[p->ndim++] = p->outer.sizes[d];
  for (int d = 0; d < p->b_ndim; d++) p->sizes[p->ndim++] = p->b_sizes[d];
  for (int d = 0; d < p->inner.ndim; d++) p->sizes[p->ndim++] = p->inner.sizes[d];
  return LUC_OK;
}

/* written: self, or NULL if it is only read. */
static luc_status make_plan(luc_context *ctx, const luc_tensor *self, const luc_tensor *written,
                            const luc_value *indices, plan *p) {
  int given = 0;
  bool mask = false;
  for (int i = 0; i < indices->n; i++) {
    given += indices->as.tensors[i] != NULL;
    mask |= indices->as.tensors[i] && is_mask(indices->as.tensors[i]);
  }
  bool single = given == 1 && mask;
  LUC_CHECK(ctx, given > 0, LUC_ERR_VALUE, "expects at least one index tensor");
  LUC_TRY(assign(ctx, self, indices, single, p));
  if (single) {
    LUC_TRY(make_mask_table(ctx, self, p));
  } else {
    LUC_TRY(broadcast_indices(ctx, self, p));
    LUC_TRY(make_table(ctx, self, written, p));
  }
  return make_shape(ctx, self, p);
}

/* Do the broadcast dimensions of `dense` lie so evenly that one step leads through all of them? */
static bool one_step(const plan *p, const luc_tensor *dense, int64_t *step) {
  *step = 0;
  int64_t expected = 0;
  bool any = false;
  for (int d = p->place + p->b_ndim - 1; d >= p->place; d--) {
    if (dense->sizes[d] == 1) continue;
    if (!any) *step = expected = dense->strides[d];
    if (dense->strides[d] != expected) return false;
    expected *= dense->sizes[d];
    any = true;
  }
  return true;
}

/* dense has the result's sizes. */
static luc_status move(luc_context *ctx, const plan *p, luc_index_op op, luc_tensor *self,
                       const luc_tensor *dense, int64_t step, bool fresh) {
  luc_index_job job = {.op = op,
                       .dtype = self->dtype,
                       .indexed = self->data,
                       .dense = dense->data,
                       .positions = p->positions,
                       .n = p->positions.n,
                       .stride = p->stride,
                       .dense_step = step,
                       .outer = p->outer,
                       .inner = p->inner};
  for (int d = 0; d < p->outer.ndim; d++) job.outer.dense[d] = dense->strides[d];
  for (int d = 0; d < p->inner.ndim; d++)
    job.inner.dense[d] = dense->strides[p->place + p->b_ndim + d];
  return luc__index_move(ctx, &job, fresh);
}

/* A result of p's sizes, in which dimensions behind those of the positions lie as in self. */
static luc_status in_order(luc_context *ctx, const luc_tensor *self, const plan *p,
                           luc_tensor **out) {
  LUC_TRY(luc__tensor_empty(ctx, self->dtype, p->ndim, p->sizes, out));
  if (p->outer.ndim) return LUC_OK;
  luc_tensor like = **out;
  for (int d = 0; d < p->b_ndim; d++) like.strides[d] = INT64_MAX;
  memcpy(like.strides + p->b_ndim, p->inner.indexed, (size_t)p->inner.ndim * sizeof *like.strides);
  luc__take_order(*out, 1, (const luc_tensor *const[]){&like});
  return LUC_OK;
}

/* Do rows of the first dimension, of which n are asked for, have gaps in any order? */
static bool is_better_dense(const luc_tensor *self, int64_t n) {
  for (int d = 1; d < self->ndim; d++)
    if (self->strides[d] == 1 && self->sizes[d] > 1) return false;
  return self->ndim > 0 && 2 * n >= self->sizes[0] && luc__is_better_dense(LUC_INDEX_GET, self, 0);
}

luc_status luc__run_index(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *r = NULL;
  luc_tensor *only = args[1].n == 1 ? args[1].as.tensors[0] : NULL;
  if (only && is_mask(only) && luc__same_sizes(only, self))
    return luc__run_masked_select(ctx, (luc_value[]){args[0], luc_v_tensor(only)}, out);
  plan p = {.count = 0};
  int64_t step = 0;
  luc_status status = LUC_OK;
  if (only && is_better_dense(self, only->numel))
    LUC_GO(luc__as_dense(ctx, self, self->dtype, &self));
  LUC_GO(make_plan(ctx, self, NULL, &args[1], &p));
  LUC_GO(in_order(ctx, self, &p, &r));
  one_step(&p, r, &step);
  LUC_GO(move(ctx, &p, LUC_INDEX_GET, self, r, step, true));
done:
  plan_free(ctx, &p);
  return luc__give(ctx, status, out, r);
}

luc_status luc__grad_index(luc_context *ctx, luc_backward *b) {
  luc_value g = luc_v_tensor(b->gout[0]);
  return luc__grad_into_zeros(ctx, b, LUC_OP_index_put, b->args[1], g, luc_v_bool(true));
}

/* Broadcasts values to the result's sizes; copies them if they share memory with self, cannot be
 * walked with one step, or are better dense. */
static luc_status spread_values(luc_context *ctx, const plan *p, luc_index_op op, luc_tensor *self,
                                luc_tensor *values, luc_tensor **out, int64_t *step) {
  luc_tensor *wide;
  int lead = values->ndim - p->ndim;
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  bool fits = true;
  for (int d = 0; d < lead; d++) fits = fits && values->sizes[d] == 1;
  for (int d = lead > 0 ? lead : 0; d < values->ndim; d++)
    fits = fits && (values->sizes[d] == 1 || values->sizes[d] == p->sizes[d - lead]);
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "index_put: shape mismatch: value tensor of shape %s cannot be broadcast to indexing "
            "result of shape %s",
            luc__tensor_shape_text(a, values), luc__shape_text(b, p->ndim, p->sizes));
  luc_tensor *trimmed = luc__retain(values);
  luc_status status = LUC_OK;
  if (lead > 0) {
    luc_tensor_release(ctx, trimmed);
    LUC_TRY(luc__tensor_view(ctx, values, p->ndim, values->sizes + lead, values->strides + lead,
                             values->offset, &trimmed));
  }
  status = luc__expand(ctx, trimmed, p->ndim, p->sizes, &wide);
  luc_tensor_release(ctx, trimmed);
  if (status != LUC_OK) return status;
  const int last = p->b_ndim ? p->place + p->b_ndim - 1 : p->place; /* of the positions' */
  const bool apart =
      self->ndim > 0 && self->strides[self->ndim - 1] == 1 && luc__is_better_dense(op, wide, last);
  if (!apart && one_step(p, wide, step) && !luc__may_overlap(wide, self)) {
    *out = wide;
    return LUC_OK;
  }
  status = luc__duplicate(ctx, wide, out);
  luc_tensor_release(ctx, wide);
  if (status == LUC_OK) one_step(p, *out, step);
  return status;
}

/* Is it a filling of what one mask marks? As in PyTorch the value may be of any dtype then. */
static bool fills(const luc_value *index, const luc_tensor *self, const luc_tensor *value) {
  int masks = 0;
  for (int i = 0; i < index->n; i++) {
    const luc_tensor *t = index->as.tensors[i];
    if (t && t->dtype != LUC_BOOL) return false;
    masks += t != NULL;
  }
  return masks == 1 && value->numel == 1 &&
         (luc__dtype_is_complex(self->dtype) || !luc__dtype_is_complex(value->dtype));
}

luc_status luc__run_index_put(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *values = args[2].as.tensor, *target, *wide = NULL;
  const luc_index_op op = args[3].as.i ? LUC_INDEX_ADD : LUC_INDEX_PUT;
  plan p = {.count = 0};
  int64_t step = 0;
  luc_status status = LUC_OK;
  LUC_CHECK(ctx, self->dtype == values->dtype || (!args[3].as.i && fills(&args[1], self, values)),
            LUC_ERR_TYPE,
            "requires the source and destination dtypes match, got %s for the destination "
            "and %s for the source",
            luc__dtype_title(self->dtype), luc__dtype_title(values->dtype));
  if (self->dtype == values->dtype)
    luc__retain(values);
  else
    LUC_TRY(luc__contiguous_as(ctx, values, self->dtype, &values));
  bool in_place = out->kind == LUC_TENSOR;
  target = self;
  if (!in_place) { /* as rows of many values lie; else they meet memory in self's order */
    const bool rows = values->ndim > 0 && values->strides[values->ndim - 1] == 1;
    const bool dense = rows && 2 * values->numel >= self->numel;
    LUC_GO((dense ? luc__begin_write : luc__begin_in_order)(ctx, self, out, &target));
  }
  LUC_GO(make_plan(ctx, target, in_place ? self : NULL, &args[1], &p));
  LUC_GO(spread_values(ctx, &p, op, target, values, &wide, &step));
  LUC_GO(move(ctx, &p, op, target, wide, step, !in_place));
done:
  plan_free(ctx, &p);
  LUC_RELEASE(ctx, wide, values);
  return status;
}

/* The gradient of values: that of the result at the indexed places. values may have had more
 * leading dimensions, of size 1. */
static luc_status values_gradient(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  int64_t sizes[LUC_MAX_DIMS];
  luc_tensor *part = luc__f_call(&f, LUC_OP_index, LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1]));
  int n = luc__input_sizes(b, 2, sizes), lead = f.status == LUC_OK ? n - part->ndim : 0;
  for (int d = 0; d < n && lead > 0; d++) sizes[d] = d < lead ? 1 : part->sizes[d - lead];
  if (lead > 0) part = luc__f_reshape(&f, part, n, sizes);
  return luc__f_end(&f, part, &b->gin[2]);
}

luc_status luc__grad_index_put(luc_context *ctx, luc_backward *b) {
  if (luc__needs(b, 0) && b->args[3].as.i) {
    LUC_TRY(luc__pass_to(b, 0));
  } else if (luc__needs(b, 0)) {
    luc_tensor *zero;
    luc_scalar s = {LUC_SCALAR_INT, {.i = 0}};
    LUC_TRY(luc__held(ctx, luc__tensor_scalar(ctx, s, b->gout[0]->dtype, &zero), &zero));
    LUC_TRY(luc__op1(ctx, LUC_OP_index_put, &b->gin[0],
                     LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], luc_v_tensor(zero))));
  }
  return luc__needs(b, 2) ? values_gradient(ctx, b) : LUC_OK;
}
