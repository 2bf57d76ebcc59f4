/* Networks' operators from C: what they say about wrong shapes, what is left when memory runs out
 * at any point of a forward and backward pass, and what one small call costs. Values are compared
 * with PyTorch's in tests/lua/nn_ops_spec.lua. */
#include "test.h"

#include "lucerna/autograd.h"
#include "ops/op.h"

static luc_tensor *ramp(luc_context *ctx, int ndim, const int64_t *sizes, bool grad) {
  luc_tensor *t = NULL;
  if (luc_tensor_new(ctx, LUC_FLOAT32, ndim, sizes, &t) != LUC_OK) return NULL;
  float *data = luc_tensor_data(t);
  for (int64_t i = 0; i < t->numel; i++) data[i] = (float)(i % 7) * 0.25f - 0.5f;
  if (!grad || luc_tensor_set_requires_grad(ctx, t, true) == LUC_OK) return t;
  luc_tensor_release(ctx, t);
  return NULL;
}
#define SHAPE(...)                                                                                 \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {                   \
    __VA_ARGS__                                                                                    \
  }

/* Calls an operator that must refuse; the message stays in the context. */
static const char *refusal(luc_context *ctx, luc_opid op, luc_value *args, int nargs) {
  luc_value out[LUC_MAX_RESULTS];
  luc_status status = luc_call(ctx, op, args, nargs, out);
  CHECK(status != LUC_OK);
  if (status == LUC_OK) luc__value_release(ctx, &out[0]);
  return luc_message(ctx);
}

TEST("linear names both shapes") {
  CHECK_OK(luc__ops_init(ctx));
  luc_tensor *x = ramp(ctx, SHAPE(3, 5), false), *w = ramp(ctx, SHAPE(2, 4), false);
  CHECK_STR(refusal(ctx, LUC_OP_linear, LUC_ARGS(luc_v_tensor(x), luc_v_tensor(w))),
            "linear: input has 5 features, weight expects 4 (input [3, 5], weight [2, 4])");
  LUC_RELEASE(ctx, x, w);
}

TEST("conv2d explains channels, groups and kernels that do not fit") {
  CHECK_OK(luc__ops_init(ctx));
  luc_tensor *x = ramp(ctx, SHAPE(1, 3, 4, 4), false), *w = ramp(ctx, SHAPE(2, 4, 3, 3), false);
  luc_tensor *big = ramp(ctx, SHAPE(2, 3, 5, 5), false);
  const int64_t ones[] = {1, 1}, zeros[] = {0, 0};
  luc_value stride = luc_v_ints(ones, 2), padding = luc_v_ints(zeros, 2), none = luc_v_none();
  CHECK_STR(refusal(ctx, LUC_OP_conv2d, LUC_ARGS(luc_v_tensor(x), luc_v_tensor(w))),
            "conv2d: input has 3 channels, weight expects 4 with groups=1 (input [1, 3, 4, 4], "
            "weight [2, 4, 3, 3])");
  CHECK_STR(refusal(ctx, LUC_OP_conv2d, LUC_ARGS(luc_v_tensor(x), luc_v_tensor(big))),
            "conv2d: kernel [5, 5] (dilation included) is larger than the padded input [4, 4]");
  CHECK_STR(refusal(ctx, LUC_OP_conv2d,
                    LUC_ARGS(luc_v_tensor(x), luc_v_tensor(w), none, stride, padding, stride,
                             luc_v_int(0))),
            "conv2d: groups must be at least 1 (got [0])");
  LUC_RELEASE(ctx, x, w, big);
}

TEST("nll_loss counts classes from 1 in its message") {
  CHECK_OK(luc__ops_init(ctx));
  int64_t classes[] = {0, 3};
  luc_tensor *x = ramp(ctx, SHAPE(2, 3), false), *target = NULL;
  CHECK(luc_tensor_from(ctx, LUC_INT64, SHAPE(2), classes, &target) == LUC_OK);
  CHECK_STR(refusal(ctx, LUC_OP_nll_loss, LUC_ARGS(luc_v_tensor(x), luc_v_tensor(target))),
            "nll_loss: Target 4 is out of bounds. (classes [1, 3])");
  LUC_RELEASE(ctx, x, target);
}

/* ---- running out of memory ---- */

/* One network of everything that has a kernel: conv, norm, pool, linear, dropout, loss. */
static luc_status network(luc_context *ctx, void *arg) {
  enum { X, CONV, CONV_B, SCALE, MEAN, VAR, FC, FC_B, TARGET, INPUTS, STEPS = 10 };
  luc_tensor *t[INPUTS] = {0}, *y[STEPS] = {0};
  luc_status status = LUC_ERR_MEMORY;
  int64_t classes[] = {0, 1}, two[] = {2, 2}, flat[] = {2, 8};
  (void)arg;
  if (!(t[X] = ramp(ctx, SHAPE(2, 2, 5, 5), true))) goto done;
  if (!(t[CONV] = ramp(ctx, SHAPE(2, 2, 2, 2), true))) goto done;
  if (!(t[CONV_B] = ramp(ctx, SHAPE(2), true))) goto done;
  if (!(t[SCALE] = ramp(ctx, SHAPE(2), true))) goto done;
  if (!(t[MEAN] = ramp(ctx, SHAPE(2), false))) goto done;
  if (!(t[VAR] = ramp(ctx, SHAPE(2), false))) goto done;
  if (!(t[FC] = ramp(ctx, SHAPE(3, 8), true))) goto done;
  if (!(t[FC_B] = ramp(ctx, SHAPE(3), true))) goto done;
  LUC_GO(luc_tensor_from(ctx, LUC_INT64, SHAPE(2), classes, &t[TARGET]));
  LUC_GO(luc__op1(ctx, LUC_OP_conv2d, &y[0],
                  LUC_ARGS(luc_v_tensor(t[X]), luc_v_tensor(t[CONV]), luc_v_tensor(t[CONV_B]))));
  LUC_GO(luc__op1(ctx, LUC_OP_batch_norm, &y[1],
                  LUC_ARGS(luc_v_tensor(y[0]), luc_v_tensor(t[MEAN]), luc_v_tensor(t[VAR]),
                           luc_v_tensor(t[SCALE]), luc_v_none(), luc_v_bool(true))));
  LUC_GO(luc__unary(ctx, LUC_OP_gelu, y[1], &y[2]));
  LUC_GO(luc__op1(ctx, LUC_OP_max_pool2d, &y[3], LUC_ARGS(luc_v_tensor(y[2]), luc_v_ints(two, 2))));
  LUC_GO(luc__op1(ctx, LUC_OP_reshape, &y[4], LUC_ARGS(luc_v_tensor(y[3]), luc_v_ints(flat, 2))));
  LUC_GO(luc__op1(ctx, LUC_OP_dropout, &y[5], LUC_ARGS(luc_v_tensor(y[4]), luc_v_float(0.25))));
  LUC_GO(luc__op1(ctx, LUC_OP_linear, &y[6],
                  LUC_ARGS(luc_v_tensor(y[5]), luc_v_tensor(t[FC]), luc_v_tensor(t[FC_B]))));
  LUC_GO(luc__binary(ctx, LUC_OP_cross_entropy, y[6], t[TARGET], &y[7]));
  LUC_GO(luc_tensor_backward(ctx, &y[7], 1, NULL, 0));
done:
  for (int i = 0; i < STEPS; i++) luc_tensor_release(ctx, y[i]);
  for (int i = 0; i < INPUTS; i++) luc_tensor_release(ctx, t[i]);
  return status;
}

TEST("a network survives every refused allocation, forward and backward") {
  CHECK(test_sweep_after(luc__ops_init, network, NULL, test_is_short() ? 3 : 1) > 0);
}

/* The second derivative takes other paths: formulas instead of fused kernels. */
static luc_status second_order(luc_context *ctx, void *arg) {
  luc_tensor *x = NULL, *w = NULL, *y = NULL, *norm = NULL, *sum = NULL, *g = NULL, *gsum = NULL;
  luc_status status = LUC_ERR_MEMORY;
  int64_t shape[] = {3};
  (void)arg;
  if (!(x = ramp(ctx, SHAPE(2, 3), true)) || !(w = ramp(ctx, SHAPE(3, 3), true))) goto done;
  LUC_GO(luc__binary(ctx, LUC_OP_linear, x, w, &y));
  LUC_GO(luc__op1(ctx, LUC_OP_layer_norm, &norm, LUC_ARGS(luc_v_tensor(y), luc_v_ints(shape, 1))));
  luc_tensor_release(ctx, y);
  y = NULL;
  LUC_GO(luc__unary(ctx, LUC_OP_gelu, norm, &y));
  LUC_GO(luc__unary(ctx, LUC_OP_sum, y, &sum));
  LUC_GO(luc_autograd_grad(ctx, &sum, 1, NULL, &x, 1, LUC_CREATE_GRAPH, &g));
  LUC_GO(luc__unary(ctx, LUC_OP_sum, g, &gsum));
  LUC_GO(luc_tensor_backward(ctx, &gsum, 1, NULL, 0));
done:
  LUC_RELEASE(ctx, x, w, y, norm, sum, g, gsum);
  return status;
}

TEST("second derivatives survive every refused allocation") {
  CHECK(test_sweep_after(luc__ops_init, second_order, NULL, test_is_short() ? 3 : 1) > 0);
}

/* ---- cost: run with LUCERNA_TEST_TIMES set to see it ---- */

TEST("a small linear layer is a short call") {
  CHECK_OK(luc__ops_init(ctx));
  luc_tensor *x = ramp(ctx, SHAPE(1, 4), false), *w = ramp(ctx, SHAPE(4, 4), false);
  luc_tensor *b = ramp(ctx, SHAPE(4), false), *y;
  int n = getenv("LUCERNA_TEST_TIMES") ? 1000000 : 10;
  double start = luc_clock();
  for (int i = 0; i < n; i++) {
    luc_value args[LUC_MAX_PARAMS] = {luc_v_tensor(x), luc_v_tensor(w), luc_v_tensor(b)};
    CHECK(luc__op1(ctx, LUC_OP_linear, &y, args, 3) == LUC_OK);
    luc_tensor_release(ctx, y);
  }
  if (n > 10) printf("linear [1, 4] x [4, 4]: %.0f ns\n", (luc_clock() - start) / n * 1e9);
  LUC_RELEASE(ctx, x, w, b);
}
