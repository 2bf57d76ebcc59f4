/* Copies: clone, conversion between dtypes, and the plain in-place writes copy_, fill_ and zero_.
 * Conversions that change nothing give the tensor itself, as in PyTorch. */
#include <string.h>

#include "ops/geometry.h"

/* A copy that lies in memory as t does. */
static luc_status copied(luc_context *ctx, const luc_tensor *t, luc_dtype dtype, luc_value *out) {
  luc_tensor *r;
  LUC_TRY(luc__tensor_empty_like(ctx, t, dtype, &r));
  luc__take_order(r, 1, &t);
  luc_status status = luc__copy(ctx, r, t);
  return luc__give(ctx, status, out, r);
}

luc_status luc__run_clone(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  LUC_TRY(copied(ctx, t, t->dtype, out));
  out->as.tensor->from_one = t->from_one;
  return LUC_OK;
}

luc_status luc__run_contiguous(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *r = NULL;
  luc_status status = luc__to_contiguous(ctx, args[0].as.tensor, &r);
  return luc__give(ctx, status, out, r);
}

/* The recorded part of every conversion: always a new tensor. */
luc_status luc__run_to_copy(luc_context *ctx, luc_value *args, luc_value *out) {
  return copied(ctx, args[0].as.tensor, (luc_dtype)args[1].as.i, out);
}

static luc_status convert(luc_context *ctx, luc_tensor *t, luc_dtype dtype, bool copy,
                          luc_value *out) {
  if (t->dtype == dtype && !copy) {
    *out = luc_v_tensor(luc__retain(t));
    return LUC_OK;
  }
  return luc_call(ctx, LUC_OP_to_copy, LUC_ARGS(luc_v_tensor(t), luc_v_dtype(dtype)), out);
}

luc_status luc__run_to(luc_context *ctx, luc_value *args, luc_value *out) {
  return convert(ctx, args[0].as.tensor, (luc_dtype)args[1].as.i, args[3].as.i, out);
}

luc_status luc__run_to_device(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  LUC_CHECK(
      ctx, luc__is_here(&args[1]), LUC_ERR_SUPPORT,
      "expected a tensor, a dtype such as 'float32' or the device 'cpu', the only one in this "
      "build (got '%.40s')",
      args[1].as.string);
  luc_dtype dtype = (luc_dtype)(luc_is_none(&args[2]) ? t->dtype : args[2].as.i);
  return convert(ctx, t, dtype, args[4].as.i, out);
}

luc_status luc__run_to_other(luc_context *ctx, luc_value *args, luc_value *out) {
  return convert(ctx, args[0].as.tensor, args[1].as.tensor->dtype, args[3].as.i, out);
}

luc_status luc__run_type_as(luc_context *ctx, luc_value *args, luc_value *out) {
  return convert(ctx, args[0].as.tensor, args[1].as.tensor->dtype, false, out);
}

/* float(), double(), …: the dtype is the row's default. */
luc_status luc__run_to_named(luc_context *ctx, luc_value *args, luc_value *out) {
  return convert(ctx, args[0].as.tensor, (luc_dtype)args[1].as.i, false, out);
}

/* For all that have nothing to do here. */
luc_status luc__run_itself(luc_context *ctx, luc_value *args, luc_value *out) {
  (void)ctx;
  *out = luc_v_tensor(luc__retain(args[0].as.tensor));
  return LUC_OK;
}

bool luc__gives_back(const luc_context *ctx, luc_opid op, const luc_value *args) {
  if (ctx->observer || ctx->batched || ctx->uninitialized || ctx->complex) return false;
  const luc_tensor *t = args[0].as.tensor;
  switch (op) {
  case LUC_OP_contiguous: return luc__is_contiguous(t);
  case LUC_OP_positive: return t->dtype != LUC_BOOL;
  case LUC_OP_conj: /* of real numbers: others have not been made */
  case LUC_OP_resolve_conj:
  case LUC_OP_cpu: return true;
  case LUC_OP_to_other: return t->dtype == args[1].as.tensor->dtype && !args[3].as.i;
  case LUC_OP_type_as: return t->dtype == args[1].as.tensor->dtype;
  case LUC_OP_to: return t->dtype == args[1].as.i && !args[3].as.i;
  case LUC_OP_to_device:
    return !strcmp(args[1].as.string, "cpu") && !args[4].as.i &&
           (luc_is_none(&args[2]) || t->dtype == args[2].as.i);
  default: return t->dtype == args[1].as.i; /* float(), double(), … */
  }
}

/* ---- in-place ---- */

luc_status luc__run_copy_(luc_context *ctx, luc_value *args, luc_value *out) {
  (void)out;
  luc_tensor *self = args[0].as.tensor, *src = args[1].as.tensor, *wide, *apart = NULL;
  if (self == src) return LUC_OK;
  LUC_TRY(luc__held(ctx, luc__expand(ctx, src, self->ndim, self->sizes, &wide), &wide));
  if (luc__may_overlap(self, src))
    LUC_TRY(luc__held(ctx, luc__duplicate(ctx, wide, &apart), &apart));
  return luc__copy(ctx, self, apart ? apart : wide);
}

/* What self was before does not matter, or not for the slope: zeros. */
luc_status luc__grad_forget(luc_context *ctx, luc_backward *b) {
  luc_tensor *g = b->gout[0];
  if (!luc__needs(b, 0)) return LUC_OK;
  return luc__zeros(ctx, g->dtype, g->ndim, g->sizes, &b->gin[0]);
}

/* copy_(self, src), fill_(self, value): the engine sums and casts for the second. */
luc_status luc__grad_copy_(luc_context *ctx, luc_backward *b) {
  LUC_TRY(luc__grad_forget(ctx, b));
  return luc__pass_to(b, 1);
}

luc_status luc__run_fill_(luc_context *ctx, luc_value *args, luc_value *out) {
  (void)out;
  luc_tensor *self = args[0].as.tensor;
  luc_element value;
  LUC_TRY(luc__operand_element(ctx, &args[1], self->dtype, &value));
  return luc__fill_element(ctx, self, &value);
}

luc_status luc__run_zero_(luc_context *ctx, luc_value *args, luc_value *out) {
  (void)out;
  return luc__fill(ctx, args[0].as.tensor, (luc_scalar){LUC_SCALAR_INT, {.i = 0}});
}

luc_status luc__run_fill_diagonal_(luc_context *ctx, luc_value *args, luc_value *out) {
  (void)out;
  luc_tensor *self = args[0].as.tensor, *line;
  luc_scalar value = luc_as_scalar(&args[1]);
  int64_t step = 0, n = INT64_MAX;
  LUC_CHECK(ctx, self->ndim >= 2, LUC_ERR_SHAPE, "dimensions must larger than 1");
  for (int d = 0; d < self->ndim; d++) {
    LUC_CHECK(ctx, self->ndim == 2 || self->sizes[d] == self->sizes[0], LUC_ERR_SHAPE,
              "all dimensions of input must be of equal length");
    step += self->strides[d];
    if (self->sizes[d] < n) n = self->sizes[d];
  }
  LUC_TRY(luc__check_scalar(ctx, value, self->dtype));
  int64_t rows = self->sizes[0], columns = self->sizes[1];
  bool wraps = args[2].as.i && self->ndim == 2 && rows > columns + 1;
  LUC_TRY(luc__tensor_view(ctx, self, 1, &n, &step, self->offset, &line));
  luc_status status = luc__fill(ctx, line, value);
  luc_tensor_release(ctx, line);
  for (int64_t r = columns + 1; wraps && status == LUC_OK && r < rows; r += columns + 1) {
    n = rows - r < columns ? rows - r : columns;
    status = luc__tensor_view(ctx, self, 1, &n, &step, self->offset + r * self->strides[0], &line);
    if (status != LUC_OK) break;
    status = luc__fill(ctx, line, value);
    luc_tensor_release(ctx, line);
  }
  return status;
}

luc_status luc__grad_fill_diagonal_(luc_context *ctx, luc_backward *b) {
  luc_tensor *g;
  LUC_TRY(luc__held(ctx, luc__unary(ctx, LUC_OP_clone, b->gout[0], &g), &g));
  luc_value args[3] = {luc_v_tensor(g), luc_v_int(0), b->args[2]};
  LUC_TRY(luc_call_inplace(ctx, LUC_OP_fill_diagonal_, args, 3));
  b->gin[0] = luc__retain(g);
  return LUC_OK;
}
