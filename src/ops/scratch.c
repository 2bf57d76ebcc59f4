/* The list of what operators hold: the door and the engine release what was added while they ran
 * one. It grows with the depth of operators in operators, and is kept until the context closes. */
#include "ops/op.h"

#include "cpu/copy.h"

static void held_free(luc_context *ctx) {
  LUC_ASSERT(ctx->num_held == 0);
  luc__free(ctx, ctx->held, (size_t)ctx->held_room * sizeof *ctx->held);
  ctx->held = NULL;
}

static luc_status grow(luc_context *ctx) {
  const int room = ctx->held_room ? 2 * ctx->held_room : 64;
  LUC_TRY(luc__context_on_close(ctx, held_free));
  luc_tensor **list = luc__realloc(ctx, ctx->held, (size_t)ctx->held_room * sizeof *list,
                                   (size_t)room * sizeof *list);
  if (!list) return LUC_ERR_MEMORY;
  ctx->held = list;
  ctx->held_room = room;
  return LUC_OK;
}

luc_status luc__held(luc_context *ctx, luc_status made, luc_tensor **t) {
  if (made != LUC_OK || !*t) return made;
  luc_status status = ctx->num_held < ctx->held_room ? LUC_OK : grow(ctx);
  if (status == LUC_OK)
    ctx->held[ctx->num_held++] = *t;
  else
    luc_tensor_release(ctx, *t);
  return status;
}

luc_status luc__scratch(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                        luc_tensor **out) {
  return luc__held(ctx, luc__tensor_empty(ctx, dtype, ndim, sizes, out), out);
}

luc_status luc__scratch_like(luc_context *ctx, const luc_tensor *t, luc_dtype dtype,
                             luc_tensor **out) {
  return luc__scratch(ctx, dtype, t->ndim, t->sizes, out);
}

luc_status luc__as_dense(luc_context *ctx, luc_tensor *t, luc_dtype dtype, luc_tensor **out) {
  *out = t;
  if (!t || (t->dtype == dtype && !t->inner && luc__is_contiguous(t))) return LUC_OK;
  if (ctx->batched) LUC_TRY(luc__refuse_batched(ctx, "a kernel", t));
  LUC_TRY(luc__scratch_like(ctx, t, dtype, out));
  (*out)->from_one = t->from_one;
  return luc__copy(ctx, *out, t);
}

luc_status luc__result(luc_context *ctx, luc_value *out, luc_dtype dtype, luc_tensor *computed) {
  luc_tensor *result;
  const bool fresh = out->kind == LUC_NONE;
  if (fresh && computed->dtype == dtype) {
    *out = luc_v_tensor(luc__retain(computed));
    return LUC_OK;
  }
  LUC_TRY(luc__out(ctx, out, dtype, computed->ndim, computed->sizes, &result));
  if (fresh) luc__take_order(result, 1, (const luc_tensor *const *)&computed);
  return luc__copy(ctx, result, computed);
}

luc_status luc__results(luc_value *out, int n, luc_tensor *const *computed) {
  for (int i = 0; i < n; i++) out[i] = luc_v_tensor(luc__retain(computed[i]));
  return LUC_OK;
}

void luc__release_held(luc_context *ctx, int mark) {
  while (ctx->num_held > mark) luc_tensor_release(ctx, ctx->held[--ctx->num_held]);
}
