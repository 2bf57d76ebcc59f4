/* Results: how run functions hand them over; and out=, tensors that a call writes instead of making
 * new ones. An operator marked LUC_F_OUT writes its one result where it belongs (luc__out); for all
 * others the results are made as ever, and then copied. Nothing is written before everything that
 * can fail has succeeded. */
#include <string.h>

#include "cpu/copy.h"
#include "ops/op.h"
#include "ops/vmap.h"

static luc_status check_dtype(luc_context *ctx, luc_dtype dtype, const luc_tensor *into) {
  LUC_CHECK(ctx, luc__dtype_can_cast(dtype, into->dtype), LUC_ERR_TYPE,
            "result type %s can't be cast to the desired output type %s", luc__dtype_title(dtype),
            luc__dtype_title(into->dtype));
  return LUC_OK;
}

static luc_status resize_out(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes) {
  luc_tensor *fresh;
  LUC_TRY(luc__tensor_empty(ctx, t->dtype, ndim, sizes, &fresh));
  luc_status status = luc__tensor_set_data(ctx, t, fresh);
  luc_tensor_release(ctx, fresh);
  return status;
}

luc_status luc__out(luc_context *ctx, luc_value *out, luc_dtype dtype, int ndim,
                    const int64_t *sizes, luc_tensor **result) {
  if (out->kind != LUC_TENSOR) {
    LUC_TRY(luc__tensor_empty(ctx, dtype, ndim, sizes, result));
    *out = luc_v_tensor(*result);
    return LUC_OK;
  }
  luc_tensor *t = out->as.tensor;
  LUC_TRY(check_dtype(ctx, dtype, t));
  *result = t;
  bool same = t->ndim == ndim && (!ndim || !memcmp(t->sizes, sizes, (size_t)ndim * sizeof *sizes));
  LUC_CHECK(ctx, !same || !out->n || !luc__overlaps_itself(t), LUC_ERR_STATE, LUC_OVERLAP_ITSELF);
  if (same) return LUC_OK;
  if (out->n == 1) return resize_out(ctx, t, ndim, sizes);
  char have[LUC_SHAPE_TEXT], need[LUC_SHAPE_TEXT];
  return luc__fail(ctx, LUC_ERR_SHAPE, "output with shape %s doesn't match the broadcast shape %s",
                   luc__tensor_shape_text(have, t), luc__shape_text(need, ndim, sizes));
}

luc_status luc__deliver(luc_context *ctx, luc_value *out, luc_dtype dtype, luc_tensor **computed) {
  luc_tensor *made = *computed;
  *computed = NULL;
  luc_status status = luc__result(ctx, out, dtype, made);
  luc_tensor_release(ctx, made);
  return status;
}

luc_status luc__give(luc_context *ctx, luc_status status, luc_value *out, luc_tensor *r) {
  if (status == LUC_OK) return luc__deliver(ctx, out, r->dtype, &r);
  luc_tensor_release(ctx, r);
  return status;
}

bool luc__takes_out(const luc_context *ctx, luc_opid op) {
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  uint16_t flags = luc__ops[op].flags;
  if (flags & LUC_F_OUT) return true;
  if (!(flags & LUC_F_FUNCTION) || flags & (LUC_F_VIEW | LUC_F_MUTATES)) return false;
  for (int i = 0; i < schema->nresults; i++)
    if (schema->result_type[i] > LUC_T_INDEX_TENSOR) return false;
  return schema->nresults > 0 && !schema->result_list;
}

/* Factories, what writes out= itself and norms and means made of that make what they are to fill if
 * not told a dtype. */
static void fit_dtype(luc_context *ctx, luc_opid op, luc_value *args, const luc_tensor *into) {
  const luc_op_info *info = luc__op_info(ctx, op);
  int p = luc__schema_find(&info->schema, "dtype");
  bool fits = !info->tensor_params || (luc__ops[op].flags & LUC_F_OUT);
  if (op == LUC_OP_norm || op == LUC_OP_nanmean)
    fits = luc__dtype_is_float(args[0].as.tensor->dtype) && luc__dtype_is_float(into->dtype);
  if (p >= 0 && fits && luc_is_none(&args[p])) args[p] = luc_v_dtype(into->dtype);
}

/* linalg's norms fill nothing of another dtype than their result's. */
static luc_status check_norm(luc_context *ctx, luc_opid op, const luc_value *args,
                             const luc_tensor *into) {
  bool norm = op >= LUC_OP_linalg_vector_norm && op <= LUC_OP_linalg_norm_named;
  if (!norm || !into) return LUC_OK;
  luc_dtype dtype = (luc_dtype)args[0].as.tensor->dtype;
  if (!luc__dtype_has_gradient(dtype)) return LUC_OK;
  if (!luc_is_none(&args[4])) dtype = (luc_dtype)args[4].as.i;
  dtype = luc__dtype_to_real(dtype);
  LUC_CHECK(ctx, into->dtype == dtype, LUC_ERR_TYPE, "%s: expected out tensor dtype %s but got: %s",
            luc__op_info(ctx, op)->schema.name, luc__dtype_title(dtype),
            luc__dtype_title(into->dtype));
  return LUC_OK;
}

/* Positions are whole numbers: int64, or int32 where the call asks for that. */
static luc_status check_positions(luc_context *ctx, luc_opid op, const luc_value *args,
                                  luc_tensor *const *into) {
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  int p = luc__schema_find(schema, "out_int32");
  luc_dtype dtype = p >= 0 && args[p].as.i ? LUC_INT32 : LUC_INT64;
  for (int i = 0; i < schema->nresults; i++) {
    if (!into[i] || schema->result_type[i] != LUC_T_INDEX_TENSOR) continue;
    LUC_CHECK(ctx, into[i]->dtype == dtype, LUC_ERR_TYPE,
              "%s: expected out tensor dtype %s but got: %s", schema->name, luc__dtype_title(dtype),
              luc__dtype_title(into[i]->dtype));
  }
  return LUC_OK;
}

luc_status luc__out_check(luc_context *ctx, luc_opid op, luc_value *args, luc_tensor *const *into) {
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  if (ctx->batched) LUC_TRY(luc__vmap_refuse_out(ctx, op, args, into));
  bool truth = op >= LUC_OP_eq && op <= LUC_OP_logical_not; /* only in-place they have a gradient */
  bool tracked = !truth && luc__wants_record(ctx, op, args, schema->nparams);
  for (int i = 0; i < schema->nresults; i++) {
    if (!into[i]) continue;
    tracked |= into[i]->requires_grad && ctx->grad_mode && !ctx->inside_op;
    LUC_CHECK(ctx, !luc__is_frozen(ctx, into[i]), LUC_ERR_STATE, "%s: " LUC_INFERENCE_WRITTEN,
              schema->name);
  }
  LUC_CHECK(ctx, !tracked, LUC_ERR_STATE,
            "%s: out= does not support automatic differentiation, but one of the arguments "
            "requires grad",
            schema->name);
  LUC_TRY(check_norm(ctx, op, args, into[0]));
  LUC_TRY(check_positions(ctx, op, args, into));
  fit_dtype(ctx, op, args, into[0]);
  return LUC_OK;
}

/* What result i is copied from: of the dtype wanted, and nobody else's where it is to be `into`'s
 * data itself. */
static luc_status prepare(luc_context *ctx, luc_tensor *result, const luc_tensor *into,
                          luc_tensor **ready) {
  bool alone = result->refs == 1 && result->storage->refs == 1;
  bool same_sizes = luc__same_sizes(result, into);
  LUC_CHECK(ctx, !same_sizes || !luc__overlaps_itself(into), LUC_ERR_STATE, LUC_OVERLAP_ITSELF);
  if (result->dtype == into->dtype && (alone || same_sizes)) {
    *ready = luc__retain(result);
    return LUC_OK;
  }
  LUC_TRY(luc__tensor_empty(ctx, into->dtype, result->ndim, result->sizes, ready));
  return luc__copy(ctx, *ready, result);
}

luc_status luc__out_write(luc_context *ctx, luc_opid op, const luc_value *results,
                          luc_tensor *const *into) {
  const luc_schema *schema = &luc__op_info(ctx, op)->schema;
  luc_tensor *ready[LUC_MAX_RESULTS] = {NULL};
  luc_status status = LUC_OK;
  for (int i = 0; i < schema->nresults && status == LUC_OK; i++) {
    if (results[i].kind != LUC_TENSOR) continue;
    luc_tensor *result = results[i].as.tensor;
    if (into[i] == NULL) {
      status = luc__fail(ctx, LUC_ERR_TYPE, "out has no tensor for %s", schema->result_name[i]);
      goto done;
    }
    LUC_GO(check_dtype(ctx, result->dtype, into[i]));
    LUC_GO(prepare(ctx, result, into[i], &ready[i]));
  }
  for (int i = 0; i < schema->nresults; i++) {
    if (ready[i] == NULL) continue;
    if (luc__same_sizes(ready[i], into[i])) {
      status = luc__copy(ctx, into[i], ready[i]);
    } else {
      status = luc__tensor_set_data(ctx, into[i], ready[i]);
    }
    luc__record_inplace(ctx, true, NULL, into[i]);
  }
done:
  for (int i = 0; i < schema->nresults; i++) luc_tensor_release(ctx, ready[i]);
  return status;
}

luc_status luc__call_copied(luc_context *ctx, luc_opid op, luc_value *args, int nargs,
                            luc_tensor *const *into) {
  luc_value out[LUC_MAX_RESULTS];
  LUC_TRY(luc__out_check(ctx, op, args, into));
  LUC_TRY(luc_call(ctx, op, args, nargs, out));
  luc_status status = luc__out_write(ctx, op, out, into);
  for (int i = 0; i < luc__op_info(ctx, op)->schema.nresults; i++) luc__value_release(ctx, &out[i]);
  return status == LUC_OK ? LUC_OK : luc__call_failed(ctx, op, status);
}
