/* Small nets of C modules and their steps, for tests that run them again and again. */
#ifndef LUC_TEST_NETS_H
#define LUC_TEST_NETS_H

#include "lucerna/autograd.h"
#include "lucerna/optim.h"
#include "nn/module.h"
#include "ops/op.h"
#include "test.h"

enum { MOST = 32 };

typedef struct net {
  luc_context *ctx;
  luc_module *m;
  luc_tensor *x, *target, *params[MOST];
  luc_optimizer *optimizer;
  int nparams;
} net;

static luc_module *add(net *n, const char *name, const luc_value *args, int nargs) {
  luc_module *m = NULL;
  CHECK_OK(luc_module_new(n->ctx, name, args, nargs, &m));
  CHECK_OK(luc_module_append(n->ctx, n->m, m));
  luc_module_release(n->ctx, m);
  return m;
}

static void add_layer(net *n, const char *name, int a, int b, int kernel) {
  luc_value args[] = {luc_v_int(a), luc_v_int(b), luc_v_int(kernel)};
  luc_module *m = add(n, name, args, kernel ? 3 : 2);
  n->params[n->nparams++] = luc_module_tensor(m, "weight");
  n->params[n->nparams++] = luc_module_tensor(m, "bias");
}

static luc_tensor *random_tensor(luc_context *ctx, int ndim, const int64_t *sizes) {
  luc_tensor *t = NULL;
  CHECK_OK(luc__tensor_empty(ctx, LUC_FLOAT32, ndim, sizes, &t));
  float *v = luc_tensor_data(t);
  for (int64_t i = 0; i < t->numel; i++) v[i] = (float)(i * 7 % 13) / 13;
  return t;
}

static void finish(net *n, const char *kind) {
  CHECK_OK(luc_optimizer_new(n->ctx, kind, &n->optimizer));
  CHECK_OK(luc_optimizer_add_group(n->ctx, n->optimizer, n->params, n->nparams, NULL));
  luc_tensor *y = NULL;
  CHECK_OK(luc_module_call1(n->ctx, n->m, n->x, &y));
  n->target = random_tensor(n->ctx, y->ndim, y->sizes);
  luc_tensor_release(n->ctx, y);
}

static void make_mlp(net *n) {
  CHECK_OK(luc_module_new(n->ctx, "Sequential", NULL, 0, &n->m));
  add_layer(n, "Linear", 16, 64, 0);
  add(n, "ReLU", NULL, 0);
  add_layer(n, "Linear", 64, 4, 0);
  n->x = random_tensor(n->ctx, 2, (int64_t[]){1, 16});
  finish(n, "Adam");
}

static void make_convolutions(net *n) {
  CHECK_OK(luc_module_new(n->ctx, "Sequential", NULL, 0, &n->m));
  luc_value two = luc_v_int(2), one = luc_v_int(1);
  add_layer(n, "Conv2d", 3, 32, 5);
  add(n, "ReLU", NULL, 0);
  add(n, "MaxPool2d", &two, 1);
  add_layer(n, "Conv2d", 32, 48, 3);
  luc_value channels = luc_v_int(48);
  luc_module *norm = add(n, "BatchNorm2d", &channels, 1);
  n->params[n->nparams++] = luc_module_tensor(norm, "weight");
  add(n, "Flatten", &one, 1);
  add_layer(n, "Linear", 48 * 12 * 12, 10, 0);
  n->x = random_tensor(n->ctx, 4, (int64_t[]){4, 3, 32, 32});
  finish(n, "SGD");
}

__attribute__((unused)) static void forward(net *n) {
  luc_tensor *y = NULL;
  bool before = luc_set_grad_enabled(n->ctx, false);
  CHECK_OK(luc_module_call1(n->ctx, n->m, n->x, &y));
  luc_set_grad_enabled(n->ctx, before);
  luc_tensor_release(n->ctx, y);
}

static void train(net *n) {
  luc_tensor *y = NULL, *loss = NULL;
  CHECK_OK(luc_optimizer_zero_grad(n->ctx, n->optimizer, true));
  CHECK_OK(luc_module_call1(n->ctx, n->m, n->x, &y));
  CHECK_OK(
      luc__op1(n->ctx, LUC_OP_mse_loss, &loss, LUC_ARGS(luc_v_tensor(y), luc_v_tensor(n->target))));
  luc_tensor_release(n->ctx, y);
  CHECK_OK(luc_tensor_backward(n->ctx, &loss, 1, NULL, 0));
  luc_tensor_release(n->ctx, loss);
  CHECK_OK(luc_optimizer_step(n->ctx, n->optimizer));
}

static void free_net(net *n) {
  luc_optimizer_free(n->ctx, n->optimizer);
  LUC_RELEASE(n->ctx, n->x, n->target);
  luc_module_release(n->ctx, n->m);
}

#endif
