/* Sums and what is made of them: what the reductions mean, and their gradients. */
#include "ops/reduction.h"

/* ---- sum, mean ---- */

/* Integers and bool add up in int64 unless a dtype is asked for. */
static luc_dtype sum_dtype(const luc_tensor *t, const luc_value *dtype) {
  if (dtype->kind == LUC_DTYPE) return (luc_dtype)dtype->as.i;
  return luc__dtype_is_float((luc_dtype)t->dtype) ? (luc_dtype)t->dtype : LUC_INT64;
}

luc_status luc__run_sum(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_dtype dtype = sum_dtype(t, &args[3]);
  luc_dims dims;
  LUC_TRY(luc__dims(ctx, "sum", t, &args[1], args[2].as.i, &dims));
  return luc__reduce_to(ctx, "sum", LUC_RD_sum, t, &dims, dtype, dtype, 1, false, out);
}

luc_status luc__grad_sum(luc_context *ctx, luc_backward *b) {
  return luc__unreduce_full(ctx, b, 0, b->gout[0], &b->args[1], b->args[2].as.i, &b->gin[0]);
}

luc_status luc__run_mean(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *t = args[0].as.tensor;
  luc_dtype dtype = args[3].kind == LUC_DTYPE ? (luc_dtype)args[3].as.i : (luc_dtype)t->dtype;
  LUC_CHECK(ctx, luc__dtype_is_float(dtype), LUC_ERR_TYPE,
            "mean: input dtype should be floating point, got %s (pass dtype= to convert)",
            luc__dtype_name(dtype));
  luc_dims dims;
  LUC_TRY(luc__dims(ctx, "mean", t, &args[1], args[2].as.i, &dims));
  return luc__reduce_to(ctx, "mean", LUC_RD_sum, t, &dims, dtype, dtype, (double)dims.count, false,
                        out);
}

luc_status luc__grad_mean(luc_context *ctx, luc_backward *b) {
  luc_tensor *share;
  double count = (double)luc__reduced_count(b, 0, &b->args[1]);
  LUC_TRY(luc__binary_scalar(ctx, LUC_OP_div, b->gout[0], count, &share));
  luc_status status =
      luc__unreduce_full(ctx, b, 0, share, &b->args[1], b->args[2].as.i, &b->gin[0]);
  luc_tensor_release(ctx, share);
  return status;
}
