/* Tensors, views, shapes and dtypes in the core: counts, geometry, messages.
 * Printing is compared with what PyTorch printed (tests/parity/gen_print.py). */
#include "tensor/tensor.h"
#include "tensor/text.h"
#include "test.h"

#include "../parity/print_cases.h"

static luc_context *open_context(void) {
  luc_context *ctx = NULL;
  CHECK_EQ(luc_context_new(NULL, &ctx), LUC_OK);
  return ctx;
}

TEST("a small tensor is one block and leaves nothing behind") {
  luc_context *ctx = open_context();
  size_t before = luc_memory_stats(ctx).live;
  int64_t sizes[] = {2, 3};
  luc_tensor *t;
  CHECK_EQ(luc_tensor_new(ctx, LUC_FLOAT32, 2, sizes, &t), LUC_OK);
  CHECK_EQ(t->storage->kind, LUC_DATA_INLINE);
  CHECK_EQ(luc_tensor_strides(t)[0], 3);
  CHECK_EQ((uintptr_t)t->data % 64, 0);
  luc_tensor_release(ctx, t);
  CHECK_EQ(luc_memory_stats(ctx).live, before);
  luc_context_free(ctx);
}

TEST("a view outlives its base and keeps the data") {
  luc_context *ctx = open_context();
  size_t before = luc_memory_stats(ctx).live;
  int64_t large[] = {4, 100}, small[] = {4};
  for (int i = 0; i < 2; i++) {
    int64_t *sizes = i == 0 ? large : small, strides[] = {i == 0 ? 100 : 1};
    luc_tensor *t, *view;
    CHECK_EQ(luc_tensor_new(ctx, LUC_FLOAT32, 2 - i, sizes, &t), LUC_OK);
    ((float *)t->data)[3 * strides[0]] = 7;
    CHECK_EQ(luc__tensor_view(ctx, t, 1, small, strides, 0, &view), LUC_OK);
    luc_tensor_release(ctx, t);
    CHECK(((float *)view->data)[3 * strides[0]] == 7);
    luc_tensor_release(ctx, view);
  }
  CHECK_EQ(luc_memory_stats(ctx).live, before);
  luc_context_free(ctx);
}

TEST("set_data rebinds a tensor and frees what nobody sees") {
  luc_context *ctx = open_context();
  size_t before = luc_memory_stats(ctx).live;
  int64_t five[] = {5}, many[] = {300};
  luc_tensor *a, *b, *view;
  CHECK_EQ(luc_tensor_new(ctx, LUC_FLOAT32, 1, five, &a), LUC_OK);
  CHECK_EQ(luc_tensor_new(ctx, LUC_FLOAT64, 1, many, &b), LUC_OK);
  CHECK_EQ(luc__tensor_alias(ctx, a, &view), LUC_OK);
  CHECK_EQ(luc__tensor_set_data(ctx, a, b), LUC_OK);
  CHECK_EQ(a->dtype, LUC_FLOAT64);
  CHECK_EQ(a->numel, 300);
  luc_tensor_release(ctx, b);
  ((float *)view->data)[4] = 1;
  ((double *)a->data)[299] = 1;
  CHECK_EQ(luc__tensor_set_data(ctx, a, view), LUC_OK); /* back to its own storage */
  CHECK(a->storage == &a->own);
  luc_tensor_release(ctx, view);
  CHECK_EQ(luc__tensor_set_data(ctx, a, a), LUC_OK);
  luc_tensor_release(ctx, a);
  CHECK_EQ(luc_memory_stats(ctx).live, before);
  luc_context_free(ctx);
}

static luc_tensor *case_tensor(luc_context *ctx, const print_case *c) {
  luc_tensor *t = NULL;
  CHECK_EQ(luc_tensor_new(ctx, c->dtype, c->ndim, c->sizes, &t), LUC_OK);
  for (int64_t i = 0; i < t->numel; i++) {
    double value = c->values != NULL ? c->values[i] : c->start + (double)i * c->step;
    luc_scalar s = {LUC_SCALAR_FLOAT, {.f = value}};
    luc__store_scalar(t->data + (size_t)i * luc__dtype_size(c->dtype), c->dtype, s);
  }
  t->requires_grad = c->requires_grad;
  return t;
}

TEST("tensors print as in PyTorch, character for character") {
  luc_context *ctx = open_context();
  size_t before = luc_memory_stats(ctx).live;
  for (size_t i = 0; i < sizeof print_cases / sizeof *print_cases; i++) {
    char *text = NULL;
    size_t size = 0;
    luc_tensor *t = case_tensor(ctx, &print_cases[i]);
    CHECK_EQ(luc_tensor_text(ctx, t, &text, &size), LUC_OK);
    CHECK_STR(text, print_cases[i].text);
    CHECK_EQ(size, strlen(text) + 1);
    luc_text_free(ctx, text, size);
    luc_tensor_release(ctx, t);
  }
  CHECK_EQ(luc_memory_stats(ctx).live, before);
  luc_context_free(ctx);
}
