/* Copies of modules from C: hooks with data of their own, buffers that share a storage, and what
 * is refused. */
#include "cpu/copy.h"
#include "lucerna/autograd.h"
#include "nn/module.h"
#include "test.h"

typedef struct record {
  int calls, freed;
} record;

static luc_status count_call(luc_context *ctx, void *ud, luc_module *m, const luc_value *args,
                             int nargs, luc_outputs *outputs) {
  (void)ctx, (void)m, (void)args, (void)nargs, (void)outputs;
  ((record *)ud)->calls++;
  return LUC_OK;
}

static void count_free(luc_context *ctx, void *ud) {
  (void)ctx;
  ((record *)ud)->freed++;
}

static luc_status ones(luc_context *ctx, luc_tensor **out) {
  LUC_TRY(luc__tensor_empty(ctx, LUC_FLOAT32, 1, (const int64_t[]){4}, out));
  return luc__fill(ctx, *out, (luc_scalar){LUC_SCALAR_INT, {.i = 1}});
}

static luc_status call(luc_context *ctx, luc_module *m, luc_tensor *x) {
  luc_tensor *y;
  LUC_TRY(luc_module_call1(ctx, m, x, &y));
  luc_tensor_release(ctx, y);
  return LUC_OK;
}

TEST("a hook of a copied module is the same, and its data live until both are gone") {
  luc_module *m, *copy, *third;
  luc_tensor *x;
  uint64_t id;
  record r = {0};
  CHECK_OK(luc_module_new(ctx, "Tanh", NULL, 0, &m));
  CHECK_OK(ones(ctx, &x));
  CHECK_OK(luc_module_register_forward_hook(ctx, m, count_call, &r, count_free, 0, &id));
  CHECK_OK(luc_module_clone(ctx, m, &copy));
  CHECK_OK(luc_module_clone(ctx, copy, &third));
  CHECK_OK(call(ctx, copy, x));
  CHECK_EQ(r.calls, 1);
  CHECK(!luc_module_remove_hook(ctx, copy, id));
  CHECK(luc_module_remove_hook(ctx, m, id));
  CHECK_OK(call(ctx, m, x));
  CHECK_OK(call(ctx, third, x));
  CHECK_EQ(r.calls, 2);
  luc_module_release(ctx, m);
  luc_module_release(ctx, copy);
  CHECK_EQ(r.freed, 0);
  luc_module_release(ctx, third);
  CHECK_EQ(r.freed, 1);
  luc_tensor_release(ctx, x);
}

TEST("buffers that share a storage share one in the copy") {
  luc_module *m, *copy;
  luc_tensor *x, *part;
  CHECK_OK(luc_module_new(ctx, "Module", NULL, 0, &m));
  CHECK_OK(ones(ctx, &x));
  CHECK_OK(luc__tensor_view(ctx, x, 1, (const int64_t[]){2}, (const int64_t[]){1}, 2, &part));
  CHECK_OK(luc_module_register_buffer(ctx, m, "x", x, true));
  CHECK_OK(luc_module_register_buffer(ctx, m, "part", part, true));
  CHECK_OK(luc_module_clone(ctx, m, &copy));
  luc_tensor *x2 = luc_module_tensor(copy, "x"), *part2 = luc_module_tensor(copy, "part");
  CHECK(x2 != x && part2 != part);
  CHECK_EQ((int)(part2->data - x2->data), 8);
  CHECK(x2->data != x->data);
  CHECK_NEAR(((const float *)luc_tensor_data(part2))[1], 1, 0);
  LUC_RELEASE(ctx, x, part);
  luc_module_release(ctx, m);
  luc_module_release(ctx, copy);
}

TEST("a buffer that was computed is refused") {
  luc_module *m, *copy;
  luc_tensor *x, *y;
  CHECK_OK(luc_module_new(ctx, "Module", NULL, 0, &m));
  CHECK_OK(ones(ctx, &x));
  CHECK_OK(luc_tensor_set_requires_grad(ctx, x, true));
  CHECK_OK(luc__unary(ctx, LUC_OP_tanh, x, &y));
  CHECK_OK(luc_module_register_buffer(ctx, m, "y", y, true));
  CHECK_EQ(luc_module_clone(ctx, m, &copy), LUC_ERR_STATE);
  CHECK(copy == NULL);
  CHECK_STR(luc_message(ctx), "clone: Only Tensors created explicitly by the user (graph leaves) "
                              "support the deepcopy protocol at the moment");
  LUC_RELEASE(ctx, x, y);
  luc_module_release(ctx, m);
}

static luc_status scenario(luc_context *ctx, void *arg) {
  luc_module *m = NULL, *copy = NULL;
  uint64_t id;
  record r = {0};
  luc_tensor *x = NULL, *grad = NULL;
  luc_status status = LUC_OK;
  (void)arg;
  LUC_GO(luc_module_new(ctx, "BatchNorm1d", (luc_value[]){luc_v_int(4)}, 1, &m));
  LUC_GO(ones(ctx, &x));
  LUC_GO(ones(ctx, &grad));
  LUC_GO(luc_tensor_set_requires_grad(ctx, x, true));
  LUC_GO(luc_tensor_set_grad(ctx, x, grad));
  LUC_GO(luc_module_register_buffer(ctx, m, "x", x, false));
  LUC_GO(luc_module_register_forward_hook(ctx, m, count_call, &r, NULL, 0, &id));
  LUC_GO(luc_module_clone(ctx, m, &copy));
  CHECK(luc_tensor_grad(luc_module_tensor(copy, "x")) != NULL);
done:
  LUC_RELEASE(ctx, x, grad);
  luc_module_release(ctx, copy);
  luc_module_release(ctx, m);
  return status;
}

TEST("refused allocations leave nothing behind, when copying") {
  test_sweep_after(luc__ops_init, scenario, NULL, 1);
}
