/* Converting index tensors at the border. The new tensor is as short-lived as the call, and its
 * block comes from the cache. */
#include "ops/counting.h"

#include <stdatomic.h>
#include <stdio.h>

#include "cpu/copy.h"

typedef struct counting {
  int64_t *out;
  const int64_t *in;
  atomic_bool zero;
} counting;

enum { GRAIN = 1 << 15 };

/* out = in, positive values one less. By signs, which the least instruction set has vectors for: of
 * -v and ~v both are below 0 just when v is above, of v - 1 and ~v when v is 0. */
static void less_one(void *arg, int64_t begin, int64_t end) {
  counting *c = arg;
  uint64_t zeros = 0;
  for (int64_t i = begin; i < end; i++) {
    uint64_t v = (uint64_t)c->in[i], positive = (-v & ~v) >> 63;
    zeros |= (v - 1) & ~v;
    c->out[i] = (int64_t)(v - positive);
  }
  if (zeros >> 63) atomic_store_explicit(&c->zero, true, memory_order_relaxed);
}

static void add_one(void *arg, int64_t begin, int64_t end) {
  const counting *c = arg;
  for (int64_t i = begin; i < end; i++) c->out[i] = c->in[i] + 1;
}

static luc_status fail_zero(luc_context *ctx, int64_t positions) {
  char range[40] = "";
  if (positions >= 0) snprintf(range, sizeof range, " [1, %lld]", (long long)positions);
  return luc__fail(ctx, LUC_ERR_INDEX, "index 0 is out of range%s (indices count from 1)", range);
}

/* *out: `inner` as one sample of `like` sees it; takes inner over. */
static luc_status batched_like(luc_context *ctx, const luc_tensor *like, luc_tensor *inner,
                               luc_tensor **out) {
  luc_status status = luc__tensor_batched(ctx, inner, luc__batch_level(like), out);
  luc_tensor_release(ctx, inner);
  return status;
}

luc_status luc__index_from_one(luc_context *ctx, int64_t positions, luc_tensor *t,
                               luc_tensor **out) {
  luc_dtype dtype = t->dtype;
  if (ctx->batched && t->inner) {
    luc_tensor *inner;
    LUC_TRY(luc__index_from_one(ctx, positions, t->inner, &inner));
    return batched_like(ctx, t, inner, out);
  }
  if (!luc__dtype_is_int(dtype)) {
    *out = luc__retain(t);
    return LUC_OK;
  }
  luc_tensor *whole, *fresh;
  LUC_TRY(luc__contiguous_as(ctx, t, LUC_INT64, &whole));
  luc_status status = luc__tensor_empty_like(ctx, whole, LUC_INT64, &fresh);
  counting c = {.out = NULL};
  if (status == LUC_OK) {
    c.out = (int64_t *)fresh->data;
    c.in = (const int64_t *)whole->data;
    luc__parallel_for(ctx, whole->numel, GRAIN, less_one, &c);
  }
  luc_tensor_release(ctx, whole);
  if (status != LUC_OK) return status;
  if (atomic_load_explicit(&c.zero, memory_order_relaxed)) {
    luc_tensor_release(ctx, fresh);
    return fail_zero(ctx, positions);
  }
  *out = fresh;
  return LUC_OK;
}

luc_status luc__index_as_given(luc_context *ctx, int64_t positions, luc_tensor *t,
                               luc_tensor **out) {
  if (ctx->batched || t->dtype != LUC_INT64) return luc__index_from_one(ctx, positions, t, out);
  LUC_TRY(luc__tensor_alias(ctx, t, out));
  (*out)->from_one = true;
  return LUC_OK;
}

luc_status luc__index_to_one(luc_context *ctx, luc_tensor **t) {
  luc_tensor *from = *t, *to = from;
  if (ctx->batched && from->inner) {
    luc_tensor *counted, *inner = luc__retain(from->inner);
    luc_status status = luc__index_to_one(ctx, &inner);
    if (status != LUC_OK) {
      luc_tensor_release(ctx, inner);
      return status;
    }
    LUC_TRY(batched_like(ctx, from, inner, &counted));
    luc_tensor_release(ctx, from);
    *t = counted;
    return LUC_OK;
  }
  bool alone = from->refs == 1 && from->storage->refs == 1 && luc__is_contiguous(from);
  if (from->dtype != LUC_INT64) return LUC_OK;
  if (!alone) {
    LUC_TRY(luc__contiguous_as(ctx, from, LUC_INT64, &to));
    if (to == from || to->storage == from->storage) { /* contiguous, but shared */
      luc_tensor_release(ctx, to);
      LUC_TRY(luc__tensor_empty_like(ctx, from, LUC_INT64, &to));
    }
  }
  counting c = {.out = (int64_t *)to->data, .in = (const int64_t *)from->data};
  if (!luc__is_contiguous(from)) c.in = c.out; /* the copy made above */
  luc__parallel_for(ctx, to->numel, GRAIN, add_one, &c);
  if (to != from) luc_tensor_release(ctx, from);
  *t = to;
  return LUC_OK;
}
