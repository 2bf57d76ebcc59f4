/* The door's observer: what it is told, and that a call fails when it does. */
#include "ops/op.h"

#include "test.h"

typedef struct watch {
  luc_observer observer;
  int n, fail_at;
  luc_opid ops[16];
  int depths[16];
  bool inplace[16];
} watch;

static luc_status called(luc_context *ctx, luc_observer *self, luc_opid op, bool inplace,
                         const luc_value *args, const luc_value *out) {
  watch *w = (watch *)self;
  if (++w->n == w->fail_at) return luc__fail(ctx, LUC_ERR_STATE, "observer: no more");
  CHECK(w->n <= 16 && args[0].kind != LUC_NONE && out[0].kind == LUC_TENSOR);
  w->ops[w->n - 1] = op;
  w->depths[w->n - 1] = self->depth;
  w->inplace[w->n - 1] = inplace;
  return LUC_OK;
}

static luc_tensor *ones(luc_context *ctx, int64_t n) {
  luc_tensor *t = NULL;
  float v[4] = {1, 1, 1, 1};
  CHECK_OK(luc_tensor_from(ctx, LUC_FLOAT32, 1, &n, v, &t));
  return t;
}

TEST("an observer is told of every call, of what composites call before them") {
  watch w = {.observer = {called, 0, 0}};
  CHECK_OK(luc__ops_init(ctx));
  luc_tensor *a = ones(ctx, 4), *b = ones(ctx, 4), *c = NULL, *d = NULL;
  ctx->observer = &w.observer;
  CHECK_OK(luc__binary(ctx, LUC_OP_add, a, b, &c));
  luc_value args[LUC_MAX_PARAMS] = {luc_v_tensor(a), luc_v_tensor(b)};
  CHECK_OK(luc_call_inplace(ctx, LUC_OP_mul, args, 2));
  CHECK_OK(luc__binary(ctx, LUC_OP_outer, a, b, &d));
  ctx->observer = NULL;
  CHECK(w.n > 3);
  CHECK_EQ(w.ops[0], LUC_OP_add);
  CHECK_EQ(w.depths[0], 0);
  CHECK(!w.inplace[0]);
  CHECK_EQ(w.ops[1], LUC_OP_mul);
  CHECK(w.inplace[1]);
  CHECK_EQ(w.ops[w.n - 1], LUC_OP_outer);
  CHECK_EQ(w.depths[w.n - 1], 0);
  for (int i = 2; i < w.n - 1; i++) CHECK_EQ(w.depths[i], 1);
  CHECK_EQ(w.observer.depth, 0);
  int n = w.n;
  luc_tensor_release(ctx, c);
  CHECK_OK(luc__binary(ctx, LUC_OP_add, a, b, &c));
  CHECK_EQ(w.n, n);
  LUC_RELEASE(ctx, c, d, a, b);
}

TEST("a call fails with its observer and leaves nothing, also inside a composite") {
  watch w = {.observer = {called, 0, 0}};
  CHECK_OK(luc__ops_init(ctx));
  luc_tensor *a = ones(ctx, 4), *c = NULL;
  ctx->observer = &w.observer;
  w.fail_at = 1;
  CHECK_EQ(luc__binary(ctx, LUC_OP_add, a, a, &c), LUC_ERR_STATE);
  CHECK(c == NULL);
  CHECK_STR(luc_message(ctx), "observer: no more");
  w = (watch){.observer = {called, 0, 0}, .fail_at = 1};
  CHECK_EQ(luc__binary(ctx, LUC_OP_outer, a, a, &c), LUC_ERR_STATE);
  CHECK_EQ(w.observer.depth, 0);
  ctx->observer = NULL;
  luc_tensor_release(ctx, a);
}
