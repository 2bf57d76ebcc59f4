/* Lazy layers without Lua: the first call gives them shapes and their real class. */
#include "lucerna/autograd.h"
#include "modules.h"

static luc_module *lazy_net(luc_context *ctx) {
  luc_module *net = NULL, *layers[2] = {NULL, NULL};
  luc_value out[] = {luc_v_int(4)};
  CHECK_OK(luc_module_new(ctx, "Sequential", NULL, 0, &net));
  CHECK_OK(luc_module_new(ctx, "LazyLinear", out, 1, &layers[0]));
  CHECK_OK(luc_module_new(ctx, "LazyBatchNorm1d", NULL, 0, &layers[1]));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(luc_module_append(ctx, net, layers[i]));
    luc_module_release(ctx, layers[i]);
  }
  return net;
}

TEST("a lazy layer takes its shapes and its class from the first input") {
  luc_module *net = lazy_net(ctx), *linear = luc_module_child_at(net, 0);
  luc_tensor *weight = luc_module_tensor(linear, "weight"), *y = NULL;
  luc_tensor *x = filled(ctx, 3, 5, 1);
  CHECK(luc_tensor_is_uninitialized(weight) && luc_module_has_uninitialized(linear));
  CHECK(!luc_module_has_uninitialized(net));
  CHECK_EQ(luc_module_config(linear, "in_features")->as.i, 0);
  CHECK_EQ(luc_module_config(linear, "out_features")->as.i, 4);
  CHECK_OK(luc_module_call1(ctx, net, x, &y));
  CHECK_STR(luc_module_class_name(linear), "Linear");
  CHECK_STR(luc_module_class_name(luc_module_child_at(net, 1)), "BatchNorm1d");
  CHECK_EQ(luc_module_config(linear, "in_features")->as.i, 5);
  CHECK(luc_module_tensor(linear, "weight") == weight && !luc_tensor_is_uninitialized(weight));
  CHECK_EQ(luc_tensor_sizes(weight)[1], 5);
  CHECK(luc_tensor_requires_grad(weight) && luc_tensor_requires_grad(y));
  LUC_RELEASE(ctx, x, y);
  luc_module_release(ctx, net);
}

TEST("a lazy layer stays one when its first input does not fit") {
  luc_value args[] = {luc_v_int(4), luc_v_int(3)};
  luc_module *conv = NULL;
  luc_tensor *x = filled(ctx, 3, 3, 1), *y = NULL;
  CHECK_OK(luc_module_new(ctx, "LazyConv2d", args, 2, &conv));
  CHECK_EQ(luc_module_call1(ctx, conv, x, &y), LUC_ERR_SHAPE);
  CHECK_STR(luc_module_class_name(conv), "LazyConv2d");
  CHECK(luc_module_has_uninitialized(conv));
  luc_tensor_release(ctx, x);
  luc_module_release(ctx, conv);
}

TEST_ALONE("out of memory at any point leaves a lazy layer as it was, or complete") {
  for (long k = 1;; k++) {
    test_heap heap = {0};
    luc_context *ctx = test_context(&heap);
    luc_module *net = lazy_net(ctx), *linear = luc_module_child_at(net, 0);
    luc_tensor *x = filled(ctx, 3, 5, 1), *y = NULL;
    heap.fail_at = heap.count + k;
    luc_status status = luc_module_call1(ctx, net, x, &y);
    bool refused = heap.count >= heap.fail_at;
    heap.fail_at = 0;
    CHECK(refused || status == LUC_OK);
    bool lazy = !strcmp(luc_module_class_name(linear), "LazyLinear");
    CHECK_EQ(lazy, luc_tensor_is_uninitialized(luc_module_tensor(linear, "weight")));
    CHECK_EQ(lazy, luc_tensor_is_uninitialized(luc_module_tensor(linear, "bias")));
    LUC_RELEASE(ctx, y, x);
    luc_module_release(ctx, net);
    luc_context_free(ctx);
    CHECK_EQ(heap.blocks, 0);
    if (!refused) break;
  }
}

TEST("a state with shapes gives them to a lazy layer") {
  luc_value args[] = {luc_v_int(5), luc_v_int(4)};
  luc_module *from = NULL, *into = NULL;
  luc_state_dict *sd = NULL;
  CHECK_OK(luc_module_new(ctx, "Linear", args, 2, &from));
  CHECK_OK(luc_module_new(ctx, "LazyLinear", args + 1, 1, &into));
  CHECK_OK(luc_module_state_dict(ctx, from, NULL, false, &sd));
  CHECK_OK(luc_module_load_state_dict(ctx, into, sd, LUC_LOAD_STRICT, NULL, NULL));
  luc_tensor *weight = luc_module_tensor(into, "weight");
  CHECK(!luc_tensor_is_uninitialized(weight) && luc_tensor_sizes(weight)[1] == 5);
  CHECK(luc_tensor_data(weight) != luc_tensor_data(luc_module_tensor(from, "weight")));
  luc_state_dict_free(ctx, sd);
  luc_module_release(ctx, from);
  luc_module_release(ctx, into);
}

TEST("an uninitialized tensor is refused by operators and materialized once") {
  luc_tensor *t = NULL, *y = NULL;
  CHECK_OK(luc__ops_init(ctx));
  CHECK_OK(luc_tensor_uninitialized(ctx, LUC_FLOAT32, &t));
  CHECK_EQ(luc__unary(ctx, LUC_OP_neg, t, &y), LUC_ERR_VALUE);
  CHECK_OK(luc_tensor_materialize(ctx, t, LUC_FLOAT64, 2, (int64_t[]){2, 3}));
  CHECK_EQ(luc_tensor_numel(t), 6);
  CHECK_EQ(luc_tensor_materialize(ctx, t, LUC_FLOAT64, 0, NULL), LUC_ERR_STATE);
  CHECK_OK(luc__unary(ctx, LUC_OP_neg, t, &y));
  LUC_RELEASE(ctx, y, t);
}
