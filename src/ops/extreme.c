/* The largest and smallest: max, min, amax, argmax and their kin. A NaN anywhere wins. */
#include "cpu/copy.h"
#include "ops/reduction.h"

static luc_status check_not_empty(luc_context *ctx, const luc_tensor *t, const luc_value *dim,
                                  uint32_t mask) {
  LUC_CHECK(ctx, t->numel > 0 || !luc_is_none(dim), LUC_ERR_VALUE,
            "expected reduction dim to be specified for an input without elements (input %s)",
            luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, t));
  for (int d = 0; d < t->ndim; d++)
    LUC_CHECK(ctx, !(mask >> d & 1) || t->sizes[d] > 0, LUC_ERR_VALUE,
              "expected reduction dim %d to have non-zero size (input %s)", d + 1,
              luc__tensor_shape_text((char[LUC_SHAPE_TEXT]){0}, t));
  return LUC_OK;
}

/* ---- values over any dimensions ---- */

static luc_status run_values(luc_context *ctx, luc_rd op, luc_tensor *t, const luc_value *dim,
                             bool keepdim, luc_value *out) {
  luc_dims dims;
  luc_dtype dtype = t->dtype;
  LUC_TRY(luc__dims(ctx, t, dim, keepdim, &dims));
  LUC_TRY(check_not_empty(ctx, t, dim, dims.mask));
  return luc__reduce_to(ctx, op, t, &dims, dtype, dtype, 1, false, out);
}

static luc_status run_over_dims(luc_context *ctx, luc_rd op, luc_value *args, luc_value *out) {
  return run_values(ctx, op, args[0].as.tensor, &args[1], args[2].as.i, out);
}

static luc_status run_over_all(luc_context *ctx, luc_rd op, luc_value *args, luc_value *out) {
  luc_value none = luc_v_none();
  return run_values(ctx, op, args[0].as.tensor, &none, false, out);
}

LUC_RUN_BY(amax, run_over_dims, LUC_RD_max)
LUC_RUN_BY(amin, run_over_dims, LUC_RD_min)
LUC_RUN_BY(max, run_over_all, LUC_RD_max)
LUC_RUN_BY(min, run_over_all, LUC_RD_min)

luc_status luc__run_aminmax(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_reduction_job job = {.op = LUC_RD_minmax, .dtype = t->dtype, .in = t, .divide = 1};
  luc_dims dims;
  LUC_TRY(luc__dims(ctx, t, &args[1], args[2].as.i, &dims));
  if (dims.count != t->numel || t->numel < 2 ||
      (luc__dtype_is_float(t->dtype) && !luc__is_native(t->dtype))) {
    LUC_TRY(run_over_dims(ctx, LUC_RD_min, args, &out[0]));
    return run_over_dims(ctx, LUC_RD_max, args, &out[1]);
  }
  LUC_TRY(luc__out(ctx, &out[0], t->dtype, dims.ndim, dims.sizes, &job.a));
  LUC_TRY(luc__out(ctx, &out[1], t->dtype, dims.ndim, dims.sizes, &job.b));
  job.dims = dims.mask;
  return luc__reduce(ctx, &job);
}

/* The gradient, shared evenly by all elements that equal the result y; if that is NaN, by the
 * NaNs. */
static luc_tensor *tie_gradient(luc_formula *f, luc_backward *b, luc_tensor *g, luc_tensor *y,
                                const luc_value *dim, bool keepdim) {
  luc_tensor *kept_g = luc__f_unreduce(f, b, g, dim, keepdim);
  luc_tensor *kept_y = luc__f_unreduce(f, b, y, dim, keepdim);
  luc_value zero = luc_v_float(0), nan = luc_v_bool(true);
  luc_tensor *equal =
      luc__f_call(f, LUC_OP_isclose, LUC_ARGS(b->args[0], luc_v_tensor(kept_y), zero, zero, nan));
  luc_value list = dim->kind == LUC_INT ? luc_v_ints(&dim->as.i, 1) : *dim;
  luc_tensor *count =
      luc__f_call(f, LUC_OP_sum, LUC_ARGS(luc_v_tensor(equal), list, luc_v_bool(true)));
  if (f->status == LUC_OK && kept_g->ndim == 0) count = luc__f_reshape(f, count, 0, NULL);
  luc_tensor *share = luc__f2(f, LUC_OP_div, kept_g, count);
  return luc__f_where(f, equal, share, NULL);
}

luc_status luc__grad_amax(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = tie_gradient(&f, b, b->gout[0], b->results[0], &b->args[1], b->args[2].as.i != 0);
  return luc__f_end(&f, g, &b->gin[0]);
}

luc_status luc__grad_aminmax(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *total = NULL;
  for (int r = 0; r < 2; r++) {
    if (!b->gout[r]) continue;
    luc_tensor *g =
        tie_gradient(&f, b, b->gout[r], b->results[r], &b->args[1], b->args[2].as.i != 0);
    total = total ? luc__f2(&f, LUC_OP_add, total, g) : g;
  }
  return luc__f_end(&f, total, &b->gin[0]);
}

/* Serves max, min, median and nanmedian. */
luc_status luc__grad_max(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_value none = luc_v_none();
  luc_tensor *g = tie_gradient(&f, b, b->gout[0], b->results[0], &none, false);
  return luc__f_end(&f, g, &b->gin[0]);
}

/* ---- values and positions along one dimension ---- */

/* t, of which the masked dimensions have size 1, without those that `to` lacks. */
static luc_status copy_reduced(luc_context *ctx, luc_tensor *t, const luc_dims *dims,
                               luc_tensor *to) {
  const bool keeps = dims->ndim == t->ndim;
  int64_t strides[LUC_MAX_DIMS];
  luc_tensor *view;
  for (int d = 0, n = 0; d < t->ndim; d++)
    if (keeps || !(dims->mask >> d & 1)) strides[n++] = t->strides[d];
  LUC_TRY(luc__tensor_view(ctx, t, dims->ndim, dims->sizes, strides, t->offset, &view));
  luc_status status = luc__copy(ctx, to, view);
  luc_tensor_release(ctx, view);
  return status;
}

/* Either of positions and values may be NULL: not wanted. */
static luc_status locate(luc_context *ctx, luc_rd op, luc_tensor *t, const luc_value *dim,
                         bool keepdim, luc_value *values, luc_value *positions) {
  luc_dims dims;
  luc_tensor *a = NULL, *at;
  LUC_TRY(luc__dims(ctx, t, dim, keepdim, &dims));
  LUC_TRY(check_not_empty(ctx, t, dim, dims.mask));
  if (values) LUC_TRY(luc__out(ctx, values, t->dtype, dims.ndim, dims.sizes, &a));
  LUC_TRY(luc__out(ctx, positions, LUC_INT64, dims.ndim, dims.sizes, &at));
  if (dims.count == 1) {
    if (values) LUC_TRY(copy_reduced(ctx, t, &dims, a));
    return luc__fill(ctx, at, (luc_scalar){LUC_SCALAR_INT, {.i = ctx->first}});
  }
  luc_reduction_job job = {.op = op,
                           .dtype = t->dtype,
                           .in = t,
                           .dims = dims.mask,
                           .a = a,
                           .b = at,
                           .first = ctx->first,
                           .divide = 1};
  return luc__reduce(ctx, &job);
}

static luc_status run_along(luc_context *ctx, luc_rd op, luc_value *args, luc_value *out) {
  return locate(ctx, op, args[0].as.tensor, &args[1], args[2].as.i, &out[0], &out[1]);
}

LUC_RUN_BY(max_dim, run_along, LUC_RD_argmax)
LUC_RUN_BY(min_dim, run_along, LUC_RD_argmin)
LUC_GRAD_BY(max_dim, luc__grad_picked, 1, 2)

/* Without a dimension, the position in the flattened tensor. */
static luc_status run_position(luc_context *ctx, luc_rd op, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor, *flat, *line = NULL, *at;
  luc_value first = luc_v_int(0);
  LUC_CHECK(ctx, t->dtype != LUC_BOOL, LUC_ERR_TYPE, "not implemented for bool");
  if (!luc_is_none(&args[1])) return locate(ctx, op, t, &args[1], args[2].as.i, NULL, out);
  LUC_TRY(check_not_empty(ctx, t, &args[1], 0));
  LUC_TRY(luc__contiguous_as(ctx, t, t->dtype, &flat));
  int64_t one = 1, ones[LUC_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
  luc_status status = luc__tensor_view(ctx, flat, 1, &t->numel, &one, flat->offset, &line);
  int ndim = args[2].as.i ? t->ndim : 0;
  if (status == LUC_OK) status = luc__out(ctx, out, LUC_INT64, ndim, ones, &at);
  if (status == LUC_OK) {
    luc_value found = luc_v_none();
    status = locate(ctx, op, line, &first, false, NULL, &found);
    if (status == LUC_OK) status = luc__copy(ctx, at, found.as.tensor);
    luc__value_release(ctx, &found);
  }
  LUC_RELEASE(ctx, line, flat);
  return status;
}

LUC_RUN_BY(argmax, run_position, LUC_RD_argmax)
LUC_RUN_BY(argmin, run_position, LUC_RD_argmin)
