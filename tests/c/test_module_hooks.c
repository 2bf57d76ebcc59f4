/* Backward hooks and hooks of every module, from C without Lua. */
#include "lucerna/autograd.h"
#include "modules.h"

static luc_tensor *ones(luc_context *ctx, int64_t n, int64_t m, bool grad) {
  luc_tensor *t = filled(ctx, n, m, 1);
  CHECK_OK(luc_tensor_set_requires_grad(ctx, t, grad));
  return t;
}

static float at(luc_tensor *t, int i) {
  return ((const float *)luc_tensor_data(t))[i];
}

typedef struct record {
  int pre, full, old, freed, returns;
  float grad_input, grad_output;
} record;

static luc_status pre_hook(luc_context *ctx, void *ud, luc_module *m, const luc_grads *grad_input,
                           const luc_grads *grad_output, luc_grads *replacement) {
  (void)m;
  CHECK(grad_input == NULL);
  ((record *)ud)->pre++;
  replacement->n = 1;
  return luc__binary_scalar(ctx, LUC_OP_mul, grad_output->v[0], 3, &replacement->v[0]);
}

static luc_status full_hook(luc_context *ctx, void *ud, luc_module *m, const luc_grads *grad_input,
                            const luc_grads *grad_output, luc_grads *replacement) {
  record *r = ud;
  (void)m;
  r->full++;
  CHECK_EQ(grad_input->n, 1);
  CHECK_EQ(grad_output->n, 1);
  r->grad_output = at(grad_output->v[0], 0);
  if (grad_input->v[0] == NULL || r->returns == 0) return LUC_OK;
  r->grad_input = at(grad_input->v[0], 0);
  replacement->n = r->returns;
  for (int i = 0; i < r->returns; i++) replacement->v[i] = NULL;
  return luc__binary_scalar(ctx, LUC_OP_mul, grad_input->v[0], 2, &replacement->v[0]);
}

static luc_status old_hook(luc_context *ctx, void *ud, luc_module *m, const luc_grads *grad_input,
                           const luc_grads *grad_output, luc_grads *replacement) {
  (void)ctx, (void)m, (void)replacement;
  ((record *)ud)->old++;
  ((record *)ud)->grad_output = at(grad_output->v[0], 0);
  CHECK(grad_input->n >= 1);
  return LUC_OK;
}

static void count_free(luc_context *ctx, void *ud) {
  (void)ctx;
  ((record *)ud)->freed++;
}

static luc_status hook(luc_context *ctx, luc_module *m, luc_hook_kind kind, luc_backward_hook_fn fn,
                       record *r, uint64_t *id) {
  return luc_module_register_backward_hook(ctx, m, kind, fn, r, count_free, 0, id);
}

static luc_status run(luc_context *ctx, luc_module *m, luc_tensor *x) {
  luc_tensor *y = NULL, *g = NULL;
  luc_status status = luc_module_call1(ctx, m, x, &y);
  if (status == LUC_OK) status = luc__unary(ctx, LUC_OP_ones_like, y, &g);
  if (status == LUC_OK) status = luc_tensor_backward(ctx, &y, 1, &g, 0);
  LUC_RELEASE(ctx, g, y);
  return status;
}

TEST("backward hooks see and replace gradients") {
  luc_module *m;
  uint64_t pre, full;
  record r = {.returns = 1};
  CHECK_OK(luc_module_new(ctx, "Tanh", NULL, 0, &m));
  CHECK_OK(hook(ctx, m, LUC_HOOK_FULL_BACKWARD_PRE, pre_hook, &r, &pre));
  CHECK_OK(hook(ctx, m, LUC_HOOK_FULL_BACKWARD, full_hook, &r, &full));
  luc_tensor *x = ones(ctx, 2, 2, true);
  CHECK_OK(run(ctx, m, x));
  float slope = 1 - 0.76159416f * 0.76159416f;
  CHECK_EQ(r.pre, 1);
  CHECK_EQ(r.full, 1);
  CHECK_NEAR(r.grad_output, 3, 0);
  CHECK_NEAR(r.grad_input, 3 * slope, 1e-6);
  CHECK_NEAR(at(luc_tensor_grad(x), 3), 6 * slope, 1e-6);
  r.returns = 2;
  CHECK_EQ(run(ctx, m, x), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "backward: Backward hook returned an invalid number of grad_input, "
                              "got 2, but expected 1");
  CHECK_NEAR(at(luc_tensor_grad(x), 3), 6 * slope, 1e-6);
  CHECK_EQ(hook(ctx, m, LUC_HOOK_BACKWARD, old_hook, &r, &full), LUC_ERR_STATE);
  CHECK_EQ(hook(ctx, m, LUC_HOOK_FORWARD, old_hook, &r, &full), LUC_ERR_VALUE);
  CHECK(luc_module_remove_hook(ctx, m, pre));
  CHECK_EQ(r.freed, 1);
  luc_module_release(ctx, m);
  CHECK_EQ(r.freed, 2);
  luc_tensor_release(ctx, x);
}

TEST("a graph keeps hooks and module until it is gone") {
  luc_module *m;
  uint64_t id;
  record r = {.returns = 1};
  luc_tensor *x = ones(ctx, 1, 1, true), *y, *g = ones(ctx, 1, 1, false);
  CHECK_OK(luc_module_new(ctx, "ReLU", NULL, 0, &m));
  CHECK_OK(hook(ctx, m, LUC_HOOK_FULL_BACKWARD, full_hook, &r, &id));
  CHECK_OK(luc_module_call1(ctx, m, x, &y));
  CHECK(luc_module_remove_hook(ctx, m, id));
  luc_module_release(ctx, m);
  CHECK_EQ(r.freed, 0);
  CHECK_OK(luc_tensor_backward(ctx, &y, 1, &g, 0));
  CHECK_EQ(r.full, 1);
  CHECK_EQ(r.freed, 1); /* the pass has released the graph */
  CHECK_NEAR(at(luc_tensor_grad(x), 0), 2, 0);
  LUC_RELEASE(ctx, y, g, x);
}

TEST("hooks of every module come first, and the old kind sees the last operator") {
  luc_module *net, *m;
  uint64_t id, own;
  record all = {0}, one = {0};
  CHECK_OK(luc_module_new(ctx, "Sequential", NULL, 0, &net));
  CHECK_OK(luc_module_new(ctx, "Sigmoid", NULL, 0, &m));
  CHECK_OK(luc_module_append(ctx, net, m));
  luc_tensor *x = ones(ctx, 1, 1, true);
  CHECK_OK(hook(ctx, NULL, LUC_HOOK_FULL_BACKWARD, full_hook, &all, &id));
  CHECK_OK(hook(ctx, m, LUC_HOOK_BACKWARD, old_hook, &one, &own));
  CHECK_OK(run(ctx, net, x));
  CHECK_EQ(all.full, 2);
  CHECK_EQ(one.old, 1);
  CHECK_NEAR(one.grad_output, 1, 0);
  CHECK(luc_module_remove_hook(ctx, NULL, id));
  CHECK(!luc_module_remove_hook(ctx, NULL, id));
  CHECK_OK(run(ctx, net, x));
  CHECK_EQ(all.full, 2);
  CHECK_EQ(one.old, 2);
  CHECK_EQ(hook(ctx, NULL, LUC_HOOK_BACKWARD, old_hook, &all, &id), LUC_ERR_STATE);
  luc_tensor_release(ctx, x);
  luc_module_release(ctx, m);
  luc_module_release(ctx, net);
}

static luc_status scenario(luc_context *ctx, void *arg) {
  luc_module *m = NULL;
  uint64_t id;
  static record r; /* the hook of every module goes with the context */
  luc_tensor *x = NULL;
  int64_t sizes[1] = {4};
  luc_status status = LUC_OK;
  (void)arg;
  r = (record){.returns = 1};
  LUC_GO(luc_module_new(ctx, "Tanh", NULL, 0, &m));
  LUC_GO(luc__tensor_empty(ctx, LUC_FLOAT32, 1, sizes, &x));
  LUC_GO(luc__fill(ctx, x, (luc_scalar){LUC_SCALAR_INT, {.i = 1}}));
  LUC_GO(luc_tensor_set_requires_grad(ctx, x, true));
  LUC_GO(hook(ctx, m, LUC_HOOK_FULL_BACKWARD, full_hook, &r, &id));
  LUC_GO(hook(ctx, NULL, LUC_HOOK_FULL_BACKWARD_PRE, pre_hook, &r, &id));
  LUC_GO(run(ctx, m, x));
done:
  luc_tensor_release(ctx, x);
  luc_module_release(ctx, m);
  return status;
}

TEST("refused allocations leave nothing behind, with backward hooks") {
  test_sweep_after(luc__ops_init, scenario, NULL, 1);
}

/* ---- hooks that come and go while hooks run ---- */

enum { CROWD = 40 };

typedef struct crowd {
  uint64_t ids[CROWD];
  int calls, freed, added;
} crowd;

static luc_status count_call(luc_context *ctx, void *ud, luc_module *m, const luc_value *args,
                             int nargs, luc_outputs *out) {
  (void)ctx, (void)m, (void)args, (void)nargs, (void)out;
  ((crowd *)ud)->calls++;
  return LUC_OK;
}

static void count_freed(luc_context *ctx, void *ud) {
  (void)ctx;
  ((crowd *)ud)->freed++;
}

static luc_status join(luc_context *ctx, luc_module *m, crowd *c, luc_forward_hook_fn fn) {
  int flags = c->added % 2 ? LUC_HOOK_PREPEND : 0;
  uint64_t *id = &c->ids[c->added];
  LUC_TRY(luc_module_register_forward_hook(ctx, m, fn, c, count_freed, flags, id));
  c->added++;
  return LUC_OK;
}

/* Every other hook leaves, this one too, and as many as there is room for join. */
static luc_status churn(luc_context *ctx, void *ud, luc_module *m, const luc_value *args, int nargs,
                        luc_outputs *out) {
  crowd *c = ud;
  (void)args, (void)nargs, (void)out;
  c->calls++;
  for (int i = 0; i < CROWD / 2; i += 2) CHECK(luc_module_remove_hook(ctx, m, c->ids[i]));
  while (c->added < CROWD) LUC_TRY(join(ctx, m, c, count_call));
  return LUC_OK;
}

static luc_status crowd_scenario(luc_context *ctx, void *arg) {
  crowd c = {0};
  luc_module *m = NULL;
  luc_tensor *x = NULL, *y = NULL;
  luc_status status = LUC_OK;
  bool refused = arg != NULL;
  LUC_GO(luc_module_new(ctx, "Tanh", NULL, 0, &m));
  LUC_GO(luc__tensor_empty(ctx, LUC_FLOAT32, 1, (const int64_t[]){2}, &x));
  LUC_GO(luc__fill(ctx, x, (luc_scalar){LUC_SCALAR_INT, {.i = 1}}));
  LUC_GO(join(ctx, m, &c, churn));
  while (c.added < CROWD / 2) LUC_GO(join(ctx, m, &c, count_call));
  LUC_GO(luc_module_call1(ctx, m, x, &y));
  CHECK_EQ(c.calls, 1 + CROWD / 4); /* those put first ran before it did */
  CHECK(c.freed == CROWD / 4 || (refused && c.freed < CROWD / 4)); /* others stay, marked */
  LUC_RELEASE(ctx, y);
  c.calls = 0;
  y = NULL;
  LUC_GO(luc_module_call1(ctx, m, x, &y));
  CHECK_EQ(c.calls, CROWD * 3 / 4);
done:
  LUC_RELEASE(ctx, x, y);
  luc_module_release(ctx, m);
  CHECK_EQ(c.freed, c.added);
  return status;
}

TEST("hooks may come and go while hooks run, also when memory is refused") {
  bool refused = true;
  CHECK_OK(crowd_scenario(ctx, NULL));
  test_sweep_after(luc__ops_init, crowd_scenario, &refused, 1);
}
