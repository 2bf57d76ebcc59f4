/* The graph and its engine, from C: gradients, accumulation, in-place writes, views, hooks,
 * functions with their own backward, deep graphs, failing allocations. */
#include "test.h"

#include "autograd/graph.h"

static test_heap heap;
static luc_context *ctx;

static void begin(void) {
  heap = (test_heap){0};
  ctx = test_context(&heap);
  CHECK_OK(luc__ops_init(ctx));
}

static void end(void) {
  luc_context_free(ctx);
  CHECK_EQ(heap.blocks, 0);
}

static luc_tensor *vector(int n, const double *values, bool requires_grad) {
  luc_tensor *t = NULL;
  int64_t size = n;
  CHECK_OK(luc_tensor_from(ctx, LUC_FLOAT64, 1, &size, values, &t));
  CHECK_OK(luc_tensor_set_requires_grad(ctx, t, requires_grad));
  return t;
}

static void drop(luc_tensor *t) {
  luc_tensor_release(ctx, t);
}

static luc_tensor *mul(luc_tensor *a, luc_tensor *b) {
  luc_tensor *r = NULL;
  CHECK_OK(luc__binary(ctx, LUC_OP_mul, a, b, &r));
  return r;
}

static luc_tensor *sum(luc_tensor *a) {
  luc_tensor *r = NULL;
  CHECK_OK(luc__unary(ctx, LUC_OP_sum, a, &r));
  return r;
}

static luc_status backward(luc_tensor *t, int flags) {
  return luc_tensor_backward(ctx, &t, 1, NULL, flags);
}

static double at(luc_tensor *t, int i) {
  return t ? ((double *)luc_tensor_data(t))[i * luc_tensor_strides(t)[0]] : NAN;
}

TEST_ALONE("gradients accumulate in leaves") {
  begin();
  luc_tensor *x = vector(2, (double[]){3, 4}, true), *y = mul(x, x), *s = sum(y);
  CHECK_OK(backward(s, LUC_RETAIN_GRAPH));
  CHECK_NEAR(at(luc_tensor_grad(x), 0), 6, 0);
  CHECK_OK(backward(s, 0));
  CHECK_NEAR(at(luc_tensor_grad(x), 1), 16, 0);
  CHECK_EQ(backward(s, 0), LUC_ERR_STATE);
  CHECK(strstr(luc_message(ctx), "a second time") != NULL);
  drop(s), drop(y), drop(x);
  end();
}

TEST_ALONE("a tensor used twice gets the sum, unaliased") {
  begin();
  luc_tensor *x = vector(2, (double[]){1, 2}, true), *y = vector(2, (double[]){5, 6}, true), *z, *s;
  CHECK_OK(luc__binary(ctx, LUC_OP_add, x, y, &z));
  s = sum(z);
  CHECK_OK(backward(s, LUC_RETAIN_GRAPH));
  CHECK_OK(backward(s, 0));
  CHECK_NEAR(at(luc_tensor_grad(x), 0), 2, 0);
  CHECK_NEAR(at(luc_tensor_grad(y), 0), 2, 0);
  CHECK(luc_tensor_data(luc_tensor_grad(x)) != luc_tensor_data(luc_tensor_grad(y)));
  drop(s), drop(z), drop(y), drop(x);
  end();
}

TEST_ALONE("broadcast inputs get gradients of their own shape") {
  begin();
  luc_tensor *x = vector(3, (double[]){1, 2, 3}, true), *y = vector(1, (double[]){10}, true);
  luc_tensor *z = mul(x, y), *s = sum(z);
  CHECK_OK(backward(s, 0));
  CHECK_EQ(luc_tensor_numel(luc_tensor_grad(y)), 1);
  CHECK_NEAR(at(luc_tensor_grad(y), 0), 6, 0);
  drop(s), drop(z), drop(y), drop(x);
  end();
}

TEST_ALONE("grad gives second derivatives and leaves .grad alone") {
  begin();
  luc_tensor *x = vector(1, (double[]){3}, true), *x2 = mul(x, x), *x3 = mul(x2, x), *g, *g2;
  CHECK_OK(luc_autograd_grad(ctx, &x3, 1, NULL, &x, 1, LUC_CREATE_GRAPH, &g));
  CHECK_NEAR(at(g, 0), 27, 1e-12);
  CHECK_OK(luc_autograd_grad(ctx, &g, 1, NULL, &x, 1, 0, &g2));
  CHECK_NEAR(at(g2, 0), 18, 1e-12);
  CHECK(luc_tensor_grad(x) == NULL);
  drop(g2), drop(g), drop(x3), drop(x2), drop(x);
  end();
}

TEST_ALONE("grad refuses unused inputs unless told otherwise, and takes non-leaves") {
  begin();
  luc_tensor *x = vector(1, (double[]){2}, true), *y = mul(x, x), *z = mul(y, y);
  luc_tensor *other = vector(1, (double[]){1}, true), *g[2];
  luc_tensor *inputs[2] = {y, other};
  CHECK_EQ(luc_autograd_grad(ctx, &z, 1, NULL, inputs, 2, LUC_RETAIN_GRAPH, g), LUC_ERR_STATE);
  CHECK_OK(luc_autograd_grad(ctx, &z, 1, NULL, inputs, 2, LUC_ALLOW_UNUSED, g));
  CHECK_NEAR(at(g[0], 0), 8, 0);
  CHECK(g[1] == NULL);
  drop(g[0]), drop(other), drop(z), drop(y), drop(x);
  end();
}

TEST_ALONE("in-place changes of what a gradient reads are caught") {
  begin();
  luc_tensor *x = vector(1, (double[]){2}, true), *y = mul(x, x), *z = mul(y, y), *s = sum(z);
  CHECK_OK(luc_call_inplace(ctx, LUC_OP_mul, LUC_ARGS(luc_v_tensor(y), luc_v_float(2))));
  CHECK_EQ(backward(s, 0), LUC_ERR_STATE);
  CHECK(strstr(luc_message(ctx), "modified by an inplace operation") != NULL);
  CHECK_EQ(luc_call_inplace(ctx, LUC_OP_mul, LUC_ARGS(luc_v_tensor(x), luc_v_float(2))),
           LUC_ERR_STATE);
  drop(s), drop(z), drop(y), drop(x);
  end();
}

TEST_ALONE("in-place operators are recorded, reading their input as it was") {
  begin();
  luc_tensor *x = vector(1, (double[]){3}, true), *w = vector(1, (double[]){5}, true), *y, *s;
  CHECK_OK(luc__unary(ctx, LUC_OP_clone, x, &y));
  CHECK_OK(luc_call_inplace(ctx, LUC_OP_mul, LUC_ARGS(luc_v_tensor(y), luc_v_tensor(w))));
  CHECK_OK(luc_call_inplace(ctx, LUC_OP_exp, LUC_ARGS(luc_v_tensor(y))));
  s = sum(y);
  CHECK_OK(backward(s, 0));
  CHECK_NEAR(at(luc_tensor_grad(w), 0), 3 * exp(15), 1e-3);
  CHECK_NEAR(at(luc_tensor_grad(x), 0), 5 * exp(15), 1e-3);
  drop(s), drop(y), drop(w), drop(x);
  end();
}

static luc_tensor *part(luc_tensor *t, int64_t size, int64_t offset) {
  luc_tensor *v = NULL;
  int64_t stride = 1;
  CHECK_OK(luc__op1(
      ctx, LUC_OP_as_strided, &v,
      LUC_ARGS(luc_v_tensor(t), luc_v_ints(&size, 1), luc_v_ints(&stride, 1), luc_v_int(offset))));
  return v;
}

TEST_ALONE("writes through views reach the base's history, twice differentiable") {
  begin();
  luc_tensor *x = vector(3, (double[]){1, 2, 3}, true), *w = vector(1, (double[]){7}, true);
  luc_tensor *y, *v, *yy, *g[2], *gg, *s, *s2;
  luc_tensor *inputs[2] = {x, w};
  CHECK_OK(luc__unary(ctx, LUC_OP_clone, x, &y));
  v = part(y, 1, 1);
  CHECK_OK(luc_call_inplace(ctx, LUC_OP_mul, LUC_ARGS(luc_v_tensor(v), luc_v_tensor(w))));
  CHECK_NEAR(at(y, 1), 14, 0);
  yy = mul(y, y);
  s = sum(yy);
  CHECK_OK(luc_autograd_grad(ctx, &s, 1, NULL, inputs, 2, LUC_CREATE_GRAPH, g));
  CHECK_NEAR(at(g[0], 0), 2, 0);
  CHECK_NEAR(at(g[0], 1), 2 * 14 * 7, 0);
  CHECK_NEAR(at(g[1], 0), 2 * 14 * 2, 0);
  s2 = sum(g[0]); /* 2 x0 + 2 x1 w^2 + 2 x2 */
  CHECK_OK(luc_autograd_grad(ctx, &s2, 1, NULL, &w, 1, 0, &gg));
  CHECK_NEAR(at(gg, 0), 4 * 2 * 7, 1e-9);
  drop(gg), drop(s2), drop(g[0]), drop(g[1]), drop(s), drop(yy), drop(v), drop(y), drop(w), drop(x);
  end();
}

TEST_ALONE("a view of a tensor that comes to require grad follows it") {
  begin();
  luc_tensor *base = vector(2, (double[]){1, 2}, false), *w = vector(1, (double[]){3}, true);
  luc_tensor *v = part(base, 1, 0), *other = part(base, 1, 0), *s;
  CHECK_OK(luc_call_inplace(ctx, LUC_OP_copy_, LUC_ARGS(luc_v_tensor(v), luc_v_tensor(w))));
  CHECK(luc_tensor_requires_grad(base) && luc_tensor_requires_grad(other));
  s = mul(other, other);
  CHECK_OK(backward(s, 0));
  CHECK_NEAR(at(luc_tensor_grad(w), 0), 6, 0);
  drop(s), drop(other), drop(v), drop(w), drop(base);
  end();
}

static luc_status double_it(luc_context *c, void *ud, luc_tensor *grad, luc_tensor **replacement) {
  ++*(int *)ud;
  return luc__binary_scalar(c, LUC_OP_mul, grad, 2, replacement);
}

static luc_status refuse(luc_context *c, void *ud, luc_tensor *grad, luc_tensor **replacement) {
  (void)grad;
  (void)replacement;
  return luc__fail(c, LUC_ERR_CALLBACK, "%s", (const char *)ud);
}

TEST_ALONE("hooks see and replace gradients; retain_grad keeps them") {
  begin();
  int calls = 0;
  uint64_t id, leaf_id;
  luc_tensor *x = vector(1, (double[]){2}, true), *y = mul(x, x), *s = sum(y);
  CHECK_OK(luc_tensor_register_hook(ctx, y, double_it, &calls, NULL, &id));
  CHECK_OK(luc_tensor_register_hook(ctx, x, double_it, &calls, NULL, &leaf_id));
  CHECK_OK(luc_tensor_retain_grad(ctx, y));
  CHECK_OK(backward(s, LUC_RETAIN_GRAPH));
  CHECK_EQ(calls, 2);
  CHECK_NEAR(at(luc_tensor_grad(x), 0), 16, 0);
  CHECK_NEAR(at(luc_tensor_grad(y), 0), 2, 0);
  CHECK(luc_tensor_remove_hook(ctx, y, id));
  CHECK(!luc_tensor_remove_hook(ctx, y, id));
  CHECK_OK(backward(s, LUC_RETAIN_GRAPH));
  CHECK_NEAR(at(luc_tensor_grad(x), 0), 24, 0);
  CHECK_OK(luc_tensor_register_hook(ctx, y, refuse, (void *)(uintptr_t) "no", NULL, &id));
  CHECK_EQ(backward(s, 0), LUC_ERR_CALLBACK);
  CHECK_STR(luc_message(ctx), "no");
  CHECK_NEAR(at(luc_tensor_grad(x), 0), 24, 0);
  drop(s), drop(y), drop(x);
  end();
}

/* ---- hooks that come and go while hooks run ---- */

enum { CROWD = 40 };

typedef struct crowd {
  luc_tensor *t;
  uint64_t ids[CROWD];
  int calls, freed, added;
} crowd;

static void count_freed(luc_context *c, void *ud) {
  (void)c;
  ((crowd *)ud)->freed++;
}

static luc_status join(luc_context *c, crowd *all, luc_grad_hook_fn fn) {
  LUC_TRY(luc_tensor_register_hook(c, all->t, fn, all, count_freed, &all->ids[all->added]));
  all->added++;
  return LUC_OK;
}

static luc_status count_call(luc_context *c, void *ud, luc_tensor *grad, luc_tensor **replacement) {
  (void)c, (void)grad, (void)replacement;
  ((crowd *)ud)->calls++;
  return LUC_OK;
}

/* Every other hook leaves, this one too, and as many as there is room for join. */
static luc_status churn(luc_context *c, void *ud, luc_tensor *grad, luc_tensor **replacement) {
  crowd *all = ud;
  (void)grad, (void)replacement;
  all->calls++;
  for (int i = 0; i < CROWD / 2; i += 2) CHECK(luc_tensor_remove_hook(c, all->t, all->ids[i]));
  CHECK_EQ(all->freed, CROWD / 4 - 1); /* this one is when it has returned */
  while (all->added < CROWD) LUC_TRY(join(c, all, count_call));
  return LUC_OK;
}

/* The hooks are those of the leaf, or of a result whose gradient is kept. */
static luc_status crowd_scenario(luc_context *c, void *arg) {
  crowd all = {0};
  bool of_leaf = *(const bool *)arg;
  luc_tensor *x = NULL, *y = NULL;
  luc_status status = LUC_OK;
  LUC_GO(luc_tensor_from(c, LUC_FLOAT64, 0, NULL, (double[]){2}, &x));
  LUC_GO(luc_tensor_set_requires_grad(c, x, true));
  LUC_GO(luc__binary(c, LUC_OP_mul, x, x, &y));
  all.t = of_leaf ? x : y;
  LUC_GO(luc_tensor_retain_grad(c, all.t));
  LUC_GO(join(c, &all, churn));
  while (all.added < CROWD / 2) LUC_GO(join(c, &all, count_call));
  LUC_GO(luc_tensor_backward(c, &y, 1, NULL, LUC_RETAIN_GRAPH));
  CHECK_EQ(all.calls, 1 + CROWD / 4);
  CHECK_EQ(all.freed, CROWD / 4);
  LUC_GO(luc_tensor_backward(c, &y, 1, NULL, LUC_RETAIN_GRAPH));
  CHECK_EQ(all.calls, 1 + CROWD);
  CHECK_EQ(*(const double *)luc_tensor_data(luc_tensor_grad(all.t)), of_leaf ? 8 : 2);
done:
  LUC_RELEASE(c, x, y);
  CHECK_EQ(all.freed, all.added);
  return status;
}

TEST_ALONE("hooks may come and go while hooks run, also when memory is refused") {
  for (int i = 0; i < 2; i++)
    CHECK(test_sweep_after(luc__ops_init, crowd_scenario, &(bool){i != 0}, 1) > CROWD);
}

static luc_status triple_backward(luc_context *c, void *ud, luc_tensor *const *gout, int ngout,
                                  luc_tensor **gin, int ngin) {
  (void)ud, (void)ngout, (void)ngin;
  return luc__binary_scalar(c, LUC_OP_mul, gout[0], 3, &gin[0]);
}

static void count_free(luc_context *c, void *ud) {
  (void)c;
  ++*(int *)ud;
}

TEST_ALONE("functions bring their own backward and are freed after it") {
  begin();
  int freed = 0;
  bool recorded;
  luc_tensor *x = vector(1, (double[]){5}, true), *y = vector(1, (double[]){15}, false);
  luc_function triple = {.name = "Triple", .backward = triple_backward, .free = count_free};
  CHECK_OK(luc_function_record(ctx, &triple, &freed, &x, 1, &y, 1, 0, &recorded));
  char name[LUC_GRAD_FN_NAME];
  CHECK(recorded);
  CHECK_STR(luc_tensor_grad_fn(y, name), "Triple");
  CHECK_OK(backward(y, 0));
  CHECK_EQ(freed, 1);
  CHECK_NEAR(at(luc_tensor_grad(x), 0), 3, 0);
  drop(y), drop(x);
  end();
}

TEST_ALONE("graphs of any depth run and are freed without recursion") {
  begin();
  enum { DEPTH = 100000 };
  luc_tensor *x = vector(1, (double[]){1}, true), *y = luc_tensor_retain(x), *next;
  for (int i = 0; i < DEPTH; i++) {
    CHECK_OK(luc__binary_scalar(ctx, LUC_OP_add, y, 1, &next));
    drop(y);
    y = next;
  }
  CHECK_OK(backward(y, LUC_RETAIN_GRAPH));
  CHECK_NEAR(at(luc_tensor_grad(x), 0), 1, 0);
  drop(y), drop(x);
  end();
}

typedef struct node_hook_count {
  luc_tensor *t;
  int calls, inputs;
} node_hook_count;

/* Adds itself again and halves the last gradient. */
static luc_status halve_last(luc_context *c, void *ud, luc_tensor *const *grad_outputs,
                             int noutputs, luc_tensor **grad_inputs, int ninputs) {
  node_hook_count *count = ud;
  luc_tensor *half = NULL;
  (void)grad_outputs, (void)noutputs;
  count->calls++;
  count->inputs = ninputs;
  LUC_TRY(luc__binary_scalar(c, LUC_OP_mul, grad_inputs[ninputs - 1], 0.5, &half));
  luc_tensor_release(c, grad_inputs[ninputs - 1]);
  grad_inputs[ninputs - 1] = half;
  return luc_tensor_register_node_hook(c, count->t, halve_last, ud, NULL);
}

TEST_ALONE("a hook on a node sees all its tensors; one added meanwhile waits for the next run") {
  enum { N = 70 };
  begin();
  luc_tensor *x = vector(1, (double[]){3}, true), *list[N], *joined = NULL;
  for (int i = 0; i < N; i++) list[i] = x;
  CHECK_OK(luc__op1(ctx, LUC_OP_cat, &joined, LUC_ARGS(luc_v_tensors(list, N))));
  luc_tensor *s = sum(joined);
  node_hook_count count = {.t = joined};
  CHECK_OK(luc_tensor_register_node_hook(ctx, joined, halve_last, &count, NULL));
  CHECK_OK(backward(s, LUC_RETAIN_GRAPH));
  CHECK_EQ(count.calls, 1);
  CHECK_EQ(count.inputs, N);
  CHECK_NEAR(at(luc_tensor_grad(x), 0), N - 0.5, 0);
  CHECK_OK(backward(s, 0));
  CHECK_EQ(count.calls, 3);
  CHECK_NEAR(at(luc_tensor_grad(x), 0), 2 * N - 1.25, 0);
  drop(s), drop(joined), drop(x);
  end();
}

TEST_ALONE("nothing is recorded under no_grad, and integers never require grad") {
  begin();
  luc_tensor *x = vector(1, (double[]){1}, true), *n = NULL;
  CHECK(luc_set_grad_enabled(ctx, false));
  luc_tensor *y = mul(x, x);
  CHECK(!luc_tensor_requires_grad(y) && luc_tensor_is_leaf(y));
  luc_set_grad_enabled(ctx, true);
  CHECK_OK(luc_tensor_new(ctx, LUC_INT64, 0, NULL, &n));
  CHECK_EQ(luc_tensor_set_requires_grad(ctx, n, true), LUC_ERR_TYPE);
  CHECK_EQ(backward(y, 0), LUC_ERR_STATE);
  drop(n), drop(y), drop(x);
  end();
}

/* One pass with a view write and a second derivative, for refused allocations. */
static luc_status scenario(luc_context *c, void *arg) {
  luc_tensor *x = NULL, *y = NULL, *z = NULL, *s = NULL, *g = NULL;
  int64_t size = 2;
  luc_status status;
  (void)arg;
  LUC_GO(luc_tensor_from(c, LUC_FLOAT64, 1, &size, (double[]){1, 2}, &x));
  LUC_GO(luc_tensor_set_requires_grad(c, x, true));
  LUC_GO(luc__unary(c, LUC_OP_exp, x, &y));
  LUC_GO(luc__binary(c, LUC_OP_mul, y, x, &z));
  LUC_GO(luc__unary(c, LUC_OP_sum, z, &s));
  LUC_GO(luc_autograd_grad(c, &s, 1, NULL, &x, 1, LUC_CREATE_GRAPH, &g));
  LUC_GO(luc_tensor_backward(c, &s, 1, NULL, 0));
done:
  LUC_RELEASE(c, x, y, z, s, g);
  return status;
}

TEST_ALONE("every refused allocation is a status and leaves nothing behind") {
  CHECK(test_sweep_after(luc__ops_init, scenario, NULL, 1) > 20);
}
