/* Tensors, views, shapes and dtypes in the core: counts, geometry, messages.
 * Printing is compared with what PyTorch printed (tests/parity/gen_print.py). */
#include "tensor/half.h"
#include "tensor/tensor.h"
#include "tensor/text.h"
#include "test.h"

#include "../parity/print_cases.h"

TEST("a small tensor is one block and leaves nothing behind") {
  int64_t sizes[] = {2, 3};
  luc_tensor *t;
  CHECK_OK(luc_tensor_new(ctx, LUC_FLOAT32, 2, sizes, &t));
  CHECK_EQ(t->storage->kind, LUC_DATA_INLINE);
  CHECK_EQ(luc_tensor_strides(t)[0], 3);
  CHECK_EQ((uintptr_t)t->data % 64, 0);
  luc_tensor_release(ctx, t);
}

TEST("a view outlives its base and keeps the data") {
  int64_t large[] = {4, 100}, small[] = {4};
  for (int i = 0; i < 2; i++) {
    int64_t *sizes = i == 0 ? large : small, strides[] = {i == 0 ? 100 : 1};
    luc_tensor *t, *view;
    CHECK_OK(luc_tensor_new(ctx, LUC_FLOAT32, 2 - i, sizes, &t));
    ((float *)t->data)[3 * strides[0]] = 7;
    CHECK_OK(luc__tensor_view(ctx, t, 1, small, strides, 0, &view));
    luc_tensor_release(ctx, t);
    CHECK(((float *)view->data)[3 * strides[0]] == 7);
    luc_tensor_release(ctx, view);
  }
}

TEST("set_data rebinds a tensor and frees what nobody sees") {
  int64_t five[] = {5}, many[] = {300};
  luc_tensor *a, *b, *view;
  CHECK_OK(luc_tensor_new(ctx, LUC_FLOAT32, 1, five, &a));
  CHECK_OK(luc_tensor_new(ctx, LUC_FLOAT64, 1, many, &b));
  CHECK_OK(luc__tensor_alias(ctx, a, &view));
  CHECK_OK(luc__tensor_set_data(ctx, a, b));
  CHECK_EQ(a->dtype, LUC_FLOAT64);
  CHECK_EQ(a->numel, 300);
  luc_tensor_release(ctx, b);
  ((float *)view->data)[4] = 1;
  ((double *)a->data)[299] = 1;
  CHECK_OK(luc__tensor_set_data(ctx, a, view)); /* back to its own storage */
  CHECK(a->storage == &a->own);
  luc_tensor_release(ctx, view);
  CHECK_OK(luc__tensor_set_data(ctx, a, a));
  luc_tensor_release(ctx, a);
}

static luc_tensor *case_tensor(luc_context *ctx, const print_case *c) {
  luc_tensor *t = NULL;
  CHECK_OK(luc_tensor_new(ctx, c->dtype, c->ndim, c->sizes, &t));
  for (int64_t i = 0; i < t->numel; i++) {
    double value = c->values != NULL ? c->values[i] : c->start + (double)i * c->step;
    luc_scalar s = {LUC_SCALAR_FLOAT, {.f = value}};
    luc__store_scalar(t->data + (size_t)i * luc__dtype_size(c->dtype), c->dtype, s);
  }
  t->requires_grad = c->requires_grad;
  return t;
}

TEST("tensors print as in PyTorch, character for character") {
  for (size_t i = 0; i < sizeof print_cases / sizeof *print_cases; i++) {
    char *text = NULL;
    size_t size = 0;
    luc_tensor *t = case_tensor(ctx, &print_cases[i]);
    CHECK_OK(luc_tensor_text(ctx, t, &text, &size));
    CHECK_STR(text, print_cases[i].text);
    CHECK_EQ(size, strlen(text) + 1);
    luc_text_free(ctx, text, size);
    luc_tensor_release(ctx, t);
  }
}

TEST("a parameter says so, and a suffix too long for the line wraps") {
  luc_tensor *t;
  char *text = NULL, name[80] = "grad_fn=<";
  size_t size = 0;
  CHECK_EQ(luc__tensor_scalar(ctx, (luc_scalar){LUC_SCALAR_INT, {.i = 2}}, LUC_FLOAT32, &t), 0);
  t->flags |= LUC_TF_PARAMETER;
  memset(name + 9, 'x', 60);
  CHECK_OK(luc__tensor_text(ctx, t, "requires_grad=True", &text, &size));
  CHECK_STR(text, "Parameter containing:\ntensor(2., requires_grad=True)");
  luc_text_free(ctx, text, size);
  CHECK_OK(luc__tensor_text(ctx, t, name, &text, &size));
  CHECK(strstr(text, "tensor(2.,\n       grad_fn=<xxx") != NULL);
  luc_text_free(ctx, text, size);
  luc_tensor_release(ctx, t);
}

/* ---- making tensors ---- */

TEST("bad sizes are refused with their shape") {
  luc_tensor *t = NULL;
  CHECK_EQ(luc_tensor_new(ctx, LUC_FLOAT32, 2, (int64_t[]){2, -1}, &t), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "Trying to create tensor with negative dimension -1: [2, -1]");
  int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
  CHECK_EQ(luc_tensor_new(ctx, LUC_FLOAT32, 2, huge, &t), LUC_ERR_MEMORY);
  CHECK_EQ(luc_tensor_new(ctx, LUC_FLOAT64, 1, (int64_t[]){INT64_MAX}, &t), LUC_ERR_MEMORY);
  CHECK_EQ(luc_tensor_new(ctx, LUC_FLOAT64, 1, (int64_t[]){INT64_C(1) << 50}, &t), LUC_ERR_MEMORY);
  CHECK_EQ(luc_tensor_new(ctx, LUC_FLOAT32, 9, NULL, &t), LUC_ERR_SUPPORT);
  CHECK(t == NULL);
}

TEST("a tensor copies the host's data, and item reads one element") {
  luc_tensor *t;
  double value = 0;
  CHECK_OK(luc_tensor_from(ctx, LUC_INT16, 1, (int64_t[]){1}, (int16_t[]){-7}, &t));
  CHECK_OK(luc_tensor_item(ctx, t, &value));
  CHECK_EQ(value, -7);
  luc_tensor_release(ctx, t);
  CHECK_OK(luc_tensor_new(ctx, LUC_FLOAT32, 1, (int64_t[]){4}, &t));
  CHECK_EQ(luc_tensor_item(ctx, t, &value), LUC_ERR_VALUE);
  CHECK_STR(luc_message(ctx), "item: a Tensor with 4 elements cannot be converted to Scalar");
  luc_tensor_release(ctx, t);
}

static luc_status make_and_print(luc_context *ctx, void *arg) {
  (void)arg;
  luc_status status;
  luc_tensor *t = NULL, *view = NULL, *other = NULL;
  char *text = NULL;
  size_t size = 0;
  LUC_GO(luc_tensor_new(ctx, LUC_FLOAT32, 2, (int64_t[]){40, 40}, &t));
  memset(t->data, 0, t->storage->nbytes);
  LUC_GO(luc__tensor_view(ctx, t, 1, (int64_t[]){40}, (int64_t[]){41}, 0, &view));
  LUC_GO(luc__tensor_scalar(ctx, (luc_scalar){LUC_SCALAR_INT, {.i = 3}}, LUC_INT64, &other));
  LUC_GO(luc__tensor_set_data(ctx, t, other));
  LUC_GO(luc_tensor_text(ctx, view, &text, &size));
done:
  luc_text_free(ctx, text, size);
  LUC_RELEASE(ctx, t, view, other);
  return status;
}

TEST("refused allocations leave no tensor behind") {
  CHECK(test_sweep(make_and_print, NULL, 1) > 5);
}

/* ---- shapes ---- */

static luc_tensor *shaped(luc_context *ctx, int ndim, const int64_t *sizes) {
  luc_tensor *t = NULL;
  CHECK_OK(luc_tensor_new(ctx, LUC_FLOAT32, ndim, sizes, &t));
  return t;
}

TEST("broadcasting aligns from the last dimension and says where it fails") {
  luc_tensor *a = shaped(ctx, 3, (int64_t[]){5, 1, 3}), *b = shaped(ctx, 2, (int64_t[]){4, 1});
  luc_tensor *c = shaped(ctx, 2, (int64_t[]){2, 3}), *empty = shaped(ctx, 1, (int64_t[]){0});
  int ndim;
  int64_t sizes[LUC_MAX_DIMS];
  char text[LUC_SHAPE_TEXT];
  CHECK_OK(luc__broadcast(ctx, a, b, &ndim, sizes));
  CHECK_STR(luc__shape_text(text, ndim, sizes), "[5, 4, 3]");
  CHECK_OK(luc__broadcast(ctx, b, empty, &ndim, sizes));
  CHECK_STR(luc__shape_text(text, ndim, sizes), "[4, 0]");
  CHECK_EQ(luc__broadcast(ctx, c, b, &ndim, sizes), LUC_ERR_SHAPE);
  CHECK_STR(luc_message(ctx), "The size of tensor a (2) must match the size of tensor b (4) "
                              "at non-singleton dimension 1");
  LUC_RELEASE(ctx, a, b, c, empty);
}

TEST("dimensions and positions wrap from the end; their messages count from 1") {
  int dim;
  int64_t index;
  CHECK_OK(luc__dim_wrap(ctx, -1, 2, &dim));
  CHECK_EQ(dim, 1);
  CHECK_OK(luc__dim_wrap(ctx, 0, 0, &dim));
  CHECK_EQ(luc__dim_wrap(ctx, 2, 2, &dim), LUC_ERR_INDEX);
  CHECK_STR(luc_message(ctx), "dim 3 is out of range [-2, 2] (dims count from 1)");
  CHECK_EQ(luc__dim_wrap(ctx, -3, 2, &dim), LUC_ERR_INDEX);
  CHECK_STR(luc_message(ctx), "dim -3 is out of range [-2, 2] (dims count from 1)");
  CHECK_OK(luc__index_wrap(ctx, -3, 3, &index));
  CHECK_EQ(index, 0);
  CHECK_EQ(luc__index_wrap(ctx, 4, 3, &index), LUC_ERR_INDEX);
  CHECK_STR(luc_message(ctx), "index 5 is out of range [1, 3] (indices count from 1)");
  CHECK_EQ(luc__index_wrap(ctx, INT64_MIN, 3, &index), LUC_ERR_INDEX);
}

TEST("contiguity ignores dimensions of size 1; overlap looks at bytes") {
  luc_tensor *t = shaped(ctx, 2, (int64_t[]){4, 6}), *row, *column, *expanded, *reversed;
  luc__tensor_view(ctx, t, 2, (int64_t[]){1, 6}, (int64_t[]){99, 1}, 6, &row);
  luc__tensor_view(ctx, t, 1, (int64_t[]){4}, (int64_t[]){6}, 2, &column);
  luc__tensor_view(ctx, t, 2, (int64_t[]){3, 6}, (int64_t[]){0, 1}, 0, &expanded);
  luc__tensor_view(ctx, t, 1, (int64_t[]){6}, (int64_t[]){-1}, 5, &reversed);
  CHECK(luc_tensor_is_contiguous(t) && luc__is_contiguous(row) && !luc__is_contiguous(column));
  CHECK(luc__may_overlap(row, column) && !luc__may_overlap(row, expanded));
  CHECK(luc__may_overlap(reversed, expanded) && !luc__may_overlap(reversed, row));
  CHECK(luc__overlaps_itself(expanded) && !luc__overlaps_itself(column));
  CHECK(luc__same_sizes(t, t) && !luc__same_sizes(t, row));
  luc_tensor *all[] = {t, row, column, expanded, reversed};
  for (int i = 0; i < 5; i++) luc_tensor_release(ctx, all[i]);
}

/* ---- dtypes ---- */

TEST("halves round to nearest even and survive the way back") {
  for (uint32_t h = 0; h < 65536; h++) {
    float f = luc__half_to_float((uint16_t)h), b = luc__bfloat16_to_float((uint16_t)h);
    if (f == f) CHECK_EQ(luc__float_to_half(f), h);
    if (b == b) CHECK_EQ(luc__float_to_bfloat16(b), h);
  }
  CHECK_EQ(luc__float_to_half(65519.996f), 0x7bff);
  CHECK_EQ(luc__float_to_half(65520), 0x7c00);
  CHECK_EQ(luc__float_to_half(1 + 0x1p-11f), 0x3c00);
  CHECK_EQ(luc__float_to_half(1 + 3 * 0x1p-11f), 0x3c02);
  CHECK_EQ(luc__float_to_half(0x1p-25f), 0);
  CHECK_EQ(luc__float_to_half(-0x1.8p-25f), 0x8001);
  CHECK_EQ(luc__float_to_bfloat16(1 + 0x1p-8f), 0x3f80);
  CHECK(isnan(luc__half_to_float(luc__float_to_half(NAN))));
  CHECK(isnan(luc__bfloat16_to_float(luc__float_to_bfloat16(NAN))));
}

TEST("dtypes promote, cast and are found by their names") {
  luc_dtype found = LUC_NUM_DTYPES;
  CHECK_EQ(luc__dtype_promote(LUC_UINT8, LUC_INT8), LUC_INT16);
  CHECK_EQ(luc__dtype_promote(LUC_FLOAT16, LUC_BFLOAT16), LUC_FLOAT32);
  CHECK_EQ(luc__dtype_promote(LUC_INT64, LUC_FLOAT16), LUC_FLOAT16);
  for (int a = 0; a < LUC_NUM_DTYPES; a++) {
    for (int b = 0; b <= LUC_COMPLEX128 && a <= LUC_COMPLEX128; b++) /* the others only store */
      CHECK_EQ(luc__dtype_promote((luc_dtype)a, (luc_dtype)b),
               luc__dtype_promote((luc_dtype)b, (luc_dtype)a));
    CHECK(luc__dtype_find(luc__dtype_name((luc_dtype)a), &found) && found == (luc_dtype)a);
  }
  CHECK(luc__dtype_find("long", &found) && found == LUC_INT64);
  CHECK(luc__dtype_find("cfloat", &found) && found == LUC_COMPLEX64);
  CHECK(!luc__dtype_find("complex32", &found));
  CHECK(luc__dtype_can_cast(LUC_INT64, LUC_UINT8) && luc__dtype_can_cast(LUC_BOOL, LUC_INT8));
  CHECK(!luc__dtype_can_cast(LUC_FLOAT32, LUC_INT64) && !luc__dtype_can_cast(LUC_INT8, LUC_BOOL));
}

TEST("every dtype stores and loads single values") {
  _Alignas(16) char bytes[16];
  for (int d = 0; d < LUC_NUM_DTYPES; d++) {
    luc__store_scalar(bytes, (luc_dtype)d, (luc_scalar){LUC_SCALAR_INT, {.i = 1}});
    CHECK_EQ(luc__scalar_int(luc__load_scalar(bytes, (luc_dtype)d)), 1);
  }
  luc__store_scalar(bytes, LUC_INT64, (luc_scalar){LUC_SCALAR_INT, {.i = INT64_MAX}});
  CHECK_EQ(luc__load_scalar(bytes, LUC_INT64).as.i, INT64_MAX);
  luc__store_scalar(bytes, LUC_INT64, (luc_scalar){LUC_SCALAR_FLOAT, {.f = NAN}});
  CHECK_EQ(luc__load_scalar(bytes, LUC_INT64).as.i, INT64_MIN);
  luc__store_scalar(bytes, LUC_UINT8, (luc_scalar){LUC_SCALAR_FLOAT, {.f = -1.7}});
  CHECK_EQ(luc__load_scalar(bytes, LUC_UINT8).as.i, 255);
  luc__store_scalar(bytes, LUC_BOOL, (luc_scalar){LUC_SCALAR_FLOAT, {.f = 0.5}});
  CHECK_EQ(luc__load_scalar(bytes, LUC_BOOL).as.i, 1);
}

TEST("a text grows, indents and stays empty after a failure") {
  luc_text text;
  char *out;
  size_t size;
  luc__text_init(&text, ctx);
  luc__text_printf(&text, "(%s): ", "fc");
  luc__text_indented(&text, "A(\n  x\n)", 2);
  CHECK_OK(luc__text_finish(&text, &out, &size));
  CHECK_STR(out, "(fc): A(\n    x\n  )");
  luc_text_free(ctx, out, size);
  luc__text_init(&text, ctx);
  luc_memory_set_limit(ctx, 1);
  luc_memory_trim(ctx);
  luc__text_fill(&text, 'x', 100000);
  luc__text_puts(&text, "never");
  CHECK_EQ(luc__text_finish(&text, &out, &size), LUC_ERR_MEMORY);
  CHECK(out == NULL);
}

TEST("a host's wrong dtypes, sizes and memory are errors") {
  int64_t two = 2, none = 0;
  luc_tensor *t;
  CHECK_EQ(luc_tensor_new(ctx, LUC_NUM_DTYPES, 1, &two, &t), LUC_ERR_TYPE);
  CHECK_EQ(luc_tensor_new(ctx, (luc_dtype)-1, 1, &two, &t), LUC_ERR_TYPE);
  CHECK_STR(luc_message(ctx), "dtype must be a luc_dtype (got -1)");
  CHECK_EQ(luc_tensor_new(ctx, LUC_FLOAT32, 2, NULL, &t), LUC_ERR_VALUE);
  CHECK_EQ(luc_tensor_from(ctx, LUC_FLOAT32, 1, &two, NULL, &t), LUC_ERR_VALUE);
  CHECK(t == NULL);
  CHECK(luc_tensor_retain(NULL) == NULL);
  CHECK_OK(luc_tensor_from(ctx, LUC_FLOAT32, 1, &none, NULL, &t));
  luc_tensor_release(ctx, t);
}
