/* What tests of modules make again and again. */
#ifndef LUC_TEST_MODULES_H
#define LUC_TEST_MODULES_H

#include "cpu/copy.h"
#include "nn/module.h"
#include "test.h"

/* A module made of two integers, or, if a is 0, of nothing. */
__attribute__((unused)) static luc_module *make(luc_context *ctx, const char *name, int a, int b) {
  luc_value args[2] = {luc_v_int(a), luc_v_int(b)};
  luc_module *m = NULL;
  CHECK_OK(luc_module_new(ctx, name, args, a ? 2 : 0, &m));
  return m;
}

/* Adds a child and gives the test's reference away. */
__attribute__((unused)) static luc_module *add(luc_context *ctx, luc_module *m, luc_module *child) {
  CHECK_OK(luc_module_append(ctx, m, child));
  luc_module_release(ctx, child);
  return child;
}

/* [n, m], or [n] if m is 0. */
__attribute__((unused)) static luc_tensor *filled(luc_context *ctx, int64_t n, int64_t m,
                                                  double value) {
  int64_t sizes[2] = {n, m};
  luc_tensor *t = NULL;
  CHECK_OK(luc__tensor_empty(ctx, LUC_FLOAT32, m > 0 ? 2 : 1, sizes, &t));
  CHECK_OK(luc__fill(ctx, t, (luc_scalar){LUC_SCALAR_FLOAT, {.f = value}}));
  return t;
}

#endif
