/* Choosing elements by a boolean mask. */
#include "cpu/elementwise.h"
#include "ops/formula.h"
#include "ops/indexing.h"

#include <string.h>

static void move_masked(luc_context *ctx, luc_index_op op, luc_tensor *t, const luc_tensor *table,
                        void *dense, int64_t step) {
  luc_index_job job = {.op = op,
                       .dtype = t->dtype,
                       .indexed = t->data,
                       .dense = dense,
                       .positions = luc__table_positions(table),
                       .n = table->numel,
                       .stride = 1,
                       .dense_step = step};
  luc__index_run(ctx, &job);
}

/* The tensor to write: self in the in-place form, else a copy of it, broadcast with the mask. */
static luc_status masked_target(luc_context *ctx, luc_tensor *self, luc_tensor *mask,
                                luc_value *out, luc_tensor **target) {
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  luc_tensor *wide;
  if (out->kind == LUC_TENSOR) return luc__begin_write(ctx, self, out, target);
  LUC_TRY(luc__broadcast(ctx, self, mask, &ndim, sizes));
  LUC_TRY(luc__expand(ctx, self, ndim, sizes, &wide));
  luc_status status = luc__duplicate(ctx, wide, target);
  luc_tensor_release(ctx, wide);
  if (status == LUC_OK) *out = luc_v_tensor(*target);
  return status;
}

/* ---- masked_fill ---- */

/* Elements that lie in runs, if not in order, as the integers of their bits. Are they so, and as
 * small as those? */
static bool fill_runs(luc_context *ctx, luc_tensor *t, const luc_tensor *bits,
                      const luc_element *value) {
  static const luc_dtype by_size[] = {
      [1] = LUC_INT8, [2] = LUC_INT16, [4] = LUC_INT32, [8] = LUC_INT64};
  const size_t size = luc__dtype_size(t->dtype);
  int d = 0;
  while (d < t->ndim && (t->strides[d] != 1 || t->sizes[d] == 1)) d++;
  if (size > 8 || d == t->ndim) return false;
  luc_tensor whole = *t;
  whole.dtype = by_size[size];
  const luc_ew_input in[] = {
      {.t = bits}, {.s = luc__load_scalar((const char *)value, whole.dtype)}, {.t = &whole}};
  luc__elementwise(ctx, LUC_EW_where, whole.dtype, &whole, in);
  return true;
}

luc_status luc__run_masked_fill(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *mask = args[1].as.tensor;
  luc_tensor *bits, *table = NULL, *target;
  luc_element value;
  LUC_TRY(luc__operand_element(ctx, &args[2], self->dtype, &value));
  LUC_TRY(masked_target(ctx, self, mask, out, &target));
  LUC_TRY(luc__held(ctx, luc__mask_values(ctx, mask, target->ndim, target->sizes, &bits), &bits));
  if (luc__is_contiguous(target)) {
    luc__mask_fill(ctx, target->data, (const bool *)bits->data, target->numel, &value,
                   luc__dtype_size(target->dtype));
  } else if (!fill_runs(ctx, target, bits, &value)) {
    LUC_TRY(luc__held(ctx, luc__mask_table(ctx, target, 0, bits, &table), &table));
    move_masked(ctx, LUC_INDEX_PUT, target, table, &value, 0);
  }
  return LUC_OK;
}

/* The elements of gout where the mask is true, as a vector. */
static luc_status chosen(luc_context *ctx, luc_backward *b, luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_masked_select, out, LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1]));
}

/* gout with zeros where the mask is true. */
static luc_status cleared(luc_context *ctx, luc_backward *b, luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_masked_fill, out,
                  LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[1], luc_v_int(0)));
}

luc_status luc__grad_masked_fill(luc_context *ctx, luc_backward *b) {
  if (luc__needs(b, 0)) LUC_TRY(cleared(ctx, b, &b->gin[0]));
  return luc__needs(b, 2) ? chosen(ctx, b, &b->gin[2]) : LUC_OK; /* the engine sums it */
}

/* ---- masked_select ---- */

/* For elements and mask that lie alike: no table of places is needed. */
static luc_status take_masked(luc_context *ctx, const luc_tensor *t, const luc_tensor *bits,
                              luc_tensor **out) {
  luc_mask m;
  LUC_TRY(luc__mask_begin(ctx, (const bool *)bits->data, bits->numel, &m));
  luc_status status = luc__tensor_empty(ctx, (luc_dtype)t->dtype, 1, &m.count, out);
  if (status == LUC_OK)
    luc__mask_take(ctx, &m, t->data, luc__dtype_size((luc_dtype)t->dtype), (*out)->data);
  luc__mask_end(ctx, &m);
  return status;
}

luc_status luc__run_masked_select(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *mask = args[1].as.tensor;
  luc_tensor *wide, *bits, *table = NULL, *r = NULL;
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  LUC_TRY(luc__broadcast(ctx, self, mask, &ndim, sizes));
  LUC_TRY(luc__held(ctx, luc__expand(ctx, self, ndim, sizes, &wide), &wide));
  LUC_TRY(luc__held(ctx, luc__mask_values(ctx, mask, ndim, sizes, &bits), &bits));
  if (luc__is_contiguous(wide) && luc__dtype_size(self->dtype) <= 8) {
    LUC_TRY(luc__held(ctx, take_masked(ctx, wide, bits, &r), &r));
  } else {
    LUC_TRY(luc__held(ctx, luc__mask_table(ctx, wide, 0, bits, &table), &table));
    LUC_TRY(luc__scratch(ctx, self->dtype, 1, &table->numel, &r));
    move_masked(ctx, LUC_INDEX_GET, wide, table, r->data, 1);
  }
  return luc__result(ctx, out, r->dtype, r);
}

/* The input broadcast with the mask gets gout where the mask is set. */
luc_status luc__grad_masked_select(luc_context *ctx, luc_backward *b) {
  luc_tensor *mask = luc_as_tensor(&b->args[1]), *zeros;
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  if (!luc__needs(b, 0)) return LUC_OK;
  luc_tensor input = {.ndim = (uint8_t)luc__input_sizes(b, 0, sizes)};
  memcpy(input.sizes, sizes, sizeof sizes);
  LUC_TRY(luc__broadcast(ctx, &input, mask, &ndim, sizes));
  LUC_TRY(luc__zeros(ctx, b->gout[0]->dtype, ndim, sizes, &zeros));
  luc_status status = luc__op1(ctx, LUC_OP_masked_scatter, &b->gin[0],
                               LUC_ARGS(luc_v_tensor(zeros), b->args[1], luc_v_tensor(b->gout[0])));
  luc_tensor_release(ctx, zeros);
  return status;
}

/* ---- masked_scatter ---- */

luc_status luc__run_masked_scatter(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *self = args[0].as.tensor, *mask = args[1].as.tensor, *source = args[2].as.tensor;
  luc_tensor *flat, *bits, *table, *target;
  LUC_TRY(luc__need_self_dtype(ctx, self, source, "source"));
  LUC_TRY(masked_target(ctx, self, mask, out, &target));
  LUC_TRY(luc__held(ctx, luc__mask_values(ctx, mask, target->ndim, target->sizes, &bits), &bits));
  LUC_TRY(luc__held(ctx, luc__mask_table(ctx, target, 0, bits, &table), &table));
  if (source->numel < table->numel)
    LUC_TRY(luc__fail(ctx, LUC_ERR_SHAPE,
                      "number of elements of source (%lld) < number of ones in mask "
                      "(%lld)",
                      (long long)source->numel, (long long)table->numel));
  LUC_TRY(luc__held(ctx,
                    luc__may_overlap(source, target) ? luc__duplicate(ctx, source, &flat)
                                                     : luc__to_contiguous(ctx, source, &flat),
                    &flat));
  move_masked(ctx, LUC_INDEX_PUT, target, table, flat->data, 1);
  return LUC_OK;
}

luc_status luc__grad_masked_scatter(luc_context *ctx, luc_backward *b) {
  if (luc__needs(b, 0)) LUC_TRY(cleared(ctx, b, &b->gin[0]));
  if (!luc__needs(b, 2)) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *part;
  int64_t sizes[LUC_MAX_DIMS], one = 1;
  int n = luc__input_sizes(b, 2, sizes);
  const int64_t numel = luc__product(n, sizes);
  LUC_TRY(chosen(ctx, b, &part));
  luc__f_own(&f, part);
  luc_tensor *flat = luc__f_call(
      &f, LUC_OP_strided_add,
      LUC_ARGS(luc_v_tensor(part), luc_v_ints(&numel, 1), luc_v_ints(&one, 1), luc_v_int(0)));
  return luc__f_end(&f, luc__f_reshape(&f, flat, n, sizes), &b->gin[2]);
}
