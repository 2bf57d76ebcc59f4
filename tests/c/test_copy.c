/* Copies between every pair of dtypes, through views, transposes and broadcasts. */
#include <math.h>
#include <string.h>

#include "cpu/copy.h"
#include "cpu/kernels.h"
#include "tensor/half.h"
#include "test.h"

static luc_tensor *empty(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes) {
  luc_tensor *t = NULL;
  CHECK_OK(luc__tensor_empty(ctx, dtype, ndim, sizes, &t));
  return t;
}

static char *element(const luc_tensor *t, int64_t i) {
  int64_t at = 0;
  for (int d = t->ndim - 1; d >= 0; d--) {
    at += i % t->sizes[d] * t->strides[d];
    i /= t->sizes[d];
  }
  return t->data + at * (int64_t)luc__dtype_size((luc_dtype)t->dtype);
}

static double value(const luc_tensor *t, int64_t i) {
  return luc__scalar_double(luc__load_scalar(element(t, i), (luc_dtype)t->dtype));
}

static void number(luc_tensor *t) {
  for (int64_t i = 0; i < t->numel; i++) {
    luc_scalar s = {LUC_SCALAR_INT, {.i = i % 113}};
    luc__store_scalar(element(t, i), (luc_dtype)t->dtype, s);
  }
}

static luc_tensor *turned(luc_context *ctx, luc_tensor *t) {
  luc_tensor *v = NULL;
  int n = t->ndim;
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  for (int d = 0; d < n; d++) {
    sizes[d] = t->sizes[n - 1 - d];
    strides[d] = t->strides[n - 1 - d];
  }
  CHECK_OK(luc__tensor_view(ctx, t, n, sizes, strides, t->offset, &v));
  return v;
}

static void check_copied(const luc_tensor *dst, const luc_tensor *src) {
  int wrong = 0;
  for (int64_t i = 0; i < dst->numel; i++) {
    double want = value(src, i);
    wrong += value(dst, i) != (dst->dtype == LUC_BOOL ? want != 0 : want);
  }
  CHECK_EQ(wrong, 0);
}

/* Dtypes of 8 bits do not have all the values that are copied here. */
static bool rounds(luc_dtype dtype) {
  return dtype >= LUC_FLOAT8_E4M3FN && dtype <= LUC_FLOAT8_E8M0FNU;
}

static void check_all_dtypes(luc_context *ctx) {
  int64_t sizes[] = {17, 3, 29}, back[] = {29, 3, 17};
  for (int from = 0; from < LUC_NUM_DTYPES; from++)
    for (int to = 0; to < LUC_NUM_DTYPES; to++) {
      if (rounds((luc_dtype)from) || rounds((luc_dtype)to)) continue;
      luc_tensor *src = empty(ctx, (luc_dtype)from, 3, sizes);
      luc_tensor *dst = empty(ctx, (luc_dtype)to, 3, sizes);
      luc_tensor *other = empty(ctx, (luc_dtype)to, 3, back), *view = turned(ctx, src);
      number(src);
      CHECK_OK(luc__copy(ctx, dst, src));
      check_copied(dst, src);
      CHECK_OK(luc__copy(ctx, other, view));
      check_copied(other, view);
      LUC_RELEASE(ctx, view, other, dst, src);
    }
}

TEST("every dtype copies to every other, straight and turned, on every instruction set") {
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++)
    if (luc__kernels_use(ctx, (luc_isa)isa)) check_all_dtypes(ctx);
}

TEST("large copies are cut into pieces without losing any") {
  int64_t sizes[] = {301, 467}, back[] = {467, 301};
  luc_tensor *src = empty(ctx, LUC_FLOAT32, 2, sizes), *view = turned(ctx, src);
  luc_tensor *dst = empty(ctx, LUC_FLOAT32, 2, back), *wide = empty(ctx, LUC_FLOAT64, 2, back);
  number(src);
  CHECK_OK(luc__copy(ctx, dst, view));
  check_copied(dst, view);
  CHECK_OK(luc__copy(ctx, wide, view));
  check_copied(wide, view);
  CHECK_OK(luc__copy(ctx, view, wide));
  check_copied(view, dst);
  LUC_RELEASE(ctx, wide, dst, view, src);
}

TEST("a row is broadcast over rows and a number fills a view") {
  int64_t sizes[] = {4, 5}, row[] = {5}, part[] = {4, 2}, steps[] = {5, 2};
  luc_tensor *dst = empty(ctx, LUC_FLOAT32, 2, sizes), *src = empty(ctx, LUC_INT32, 1, row), *view;
  number(src);
  CHECK_OK(luc__copy(ctx, dst, src));
  for (int i = 0; i < 20; i++) CHECK(value(dst, i) == i % 5);
  CHECK_OK(luc__tensor_view(ctx, dst, 2, part, steps, 0, &view));
  CHECK_OK(luc__fill(ctx, view, (luc_scalar){LUC_SCALAR_FLOAT, {.f = 9.5}}));
  for (int i = 0; i < 20; i++) CHECK(value(dst, i) == (i % 5 == 0 || i % 5 == 2 ? 9.5 : i % 5));
  LUC_RELEASE(ctx, view, src, dst);
}

TEST("contiguous_as returns the tensor itself when nothing is to do") {
  int64_t sizes[] = {3, 4};
  luc_tensor *t = empty(ctx, LUC_FLOAT32, 2, sizes), *same, *view = turned(ctx, t), *made;
  number(t);
  CHECK_OK(luc__contiguous_as(ctx, t, LUC_FLOAT32, &same));
  CHECK(same == t);
  CHECK_OK(luc__contiguous_as(ctx, view, LUC_FLOAT16, &made));
  CHECK(luc__is_contiguous(made) && made->dtype == LUC_FLOAT16);
  check_copied(made, view);
  LUC_RELEASE(ctx, made, view, same, t);
}

TEST("halves round to nearest even and keep infinities, denormals and NaN") {
  int64_t n[] = {65536};
  luc_tensor *half = empty(ctx, LUC_FLOAT16, 1, n), *wide = empty(ctx, LUC_FLOAT32, 1, n);
  luc_tensor *back = empty(ctx, LUC_FLOAT16, 1, n);
  for (int dtype = LUC_FLOAT16; dtype <= LUC_BFLOAT16; dtype++) {
    half->dtype = back->dtype = (uint8_t)dtype;
    for (int i = 0; i < 65536; i++) ((uint16_t *)half->data)[i] = (uint16_t)i;
    CHECK_OK(luc__copy(ctx, wide, half));
    CHECK_OK(luc__copy(ctx, back, wide));
    int wrong = 0;
    for (int i = 0; i < 65536; i++) {
      float w = ((float *)wide->data)[i];
      double want = luc__scalar_double(luc__load_scalar(half->data + 2 * i, (luc_dtype)dtype));
      if (isnan(w))
        wrong += !isnan(want);
      else
        wrong += w != want || ((uint16_t *)back->data)[i] != i;
    }
    CHECK_EQ(wrong, 0);
  }
  LUC_RELEASE(ctx, back, wide, half);
}

/* An element of n bits as a signed or unsigned number. */
static int64_t bits_of(int64_t v, luc_dtype dtype) {
  int shift = 64 - 8 * (int)luc__dtype_size(dtype);
  bool negative = dtype == LUC_INT8 || dtype == LUC_INT16 || dtype == LUC_INT32;
  uint64_t high = (uint64_t)v << shift;
  return negative ? (int64_t)high >> shift : (int64_t)(high >> shift);
}

static void check_integers(luc_context *ctx, luc_dtype from, luc_dtype to, int64_t n) {
  luc_tensor *src = empty(ctx, from, 1, &n), *dst = empty(ctx, to, 1, &n);
  uint64_t random = 88172645463325252u;
  int wrong = 0;
  for (int64_t i = 0; i < n * (int64_t)luc__dtype_size(from); i++)
    src->data[i] = (char)((random = random * 6364136223846793005u + 1) >> 56);
  CHECK_OK(luc__copy(ctx, dst, src));
  for (int64_t i = 0; i < n; i++) {
    int64_t a = 0, b = 0;
    memcpy(&a, element(src, i), luc__dtype_size(from));
    memcpy(&b, element(dst, i), luc__dtype_size(to));
    wrong += bits_of(bits_of(a, from), to) != bits_of(b, to);
  }
  CHECK_EQ(wrong, 0);
  LUC_RELEASE(ctx, dst, src);
}

TEST("integers keep their value, or its low bits, in every other integer dtype") {
  static const luc_dtype dtypes[] = {LUC_INT8,  LUC_UINT8,  LUC_INT16, LUC_UINT16,
                                     LUC_INT32, LUC_UINT32, LUC_INT64, LUC_UINT64};
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (int from = 0; from < 8; from++)
      for (int to = 0; to < 8; to++)
        for (int64_t n = 1; n < 200; n = n * 2 + n % 3)
          check_integers(ctx, dtypes[from], dtypes[to], n);
  }
}

/* What conversions to 32 and 64 bits make of numbers they cannot hold. */
static int64_t whole(double v, luc_dtype dtype) {
  bool narrow =
      dtype == LUC_INT8 || dtype == LUC_INT16 || dtype == LUC_INT32 || dtype == LUC_UINT16;
  if (narrow) return bits_of(v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : INT32_MIN, dtype);
  return bits_of(v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN, dtype);
}

TEST("real numbers too large for an integer become what they do in PyTorch") {
  static const double values[] = {
      3e9,     -3e9,     5e9,    1e20,    -1e20,         NAN,    INFINITY, -1.5,      300.7, -0.9,
      70000.9, -70000.9, 0x1p31, -0x1p31, 0x1p32 + 1024, 0x1p63, -0x1p63,  -INFINITY, 127.5};
  static const luc_dtype dtypes[] = {LUC_INT8,  LUC_UINT8,  LUC_INT16, LUC_UINT16,
                                     LUC_INT32, LUC_UINT32, LUC_INT64};
  const int64_t n = 19 * 40, large = n / 2; /* from where on: within a block */
  for (int k = 0; k < 3 * 2 * 7; k++) {
    luc_dtype from = k / 3 % 2 == 0 ? LUC_FLOAT32 : LUC_FLOAT64, to = dtypes[k / 6];
    if (!luc__kernels_use(ctx, (luc_isa)(k % 3))) continue;
    luc_tensor *src = empty(ctx, from, 1, &n), *dst = empty(ctx, to, 1, &n);
    int wrong = 0;
    for (int64_t i = 0; i < n; i++)
      luc__store_scalar(
          element(src, i), from,
          (luc_scalar){LUC_SCALAR_FLOAT, {.f = i < large ? (double)i - 140.25 : values[i % 19]}});
    CHECK_OK(luc__copy(ctx, dst, src));
    for (int64_t i = 0; i < n; i++) {
      int64_t got = 0;
      memcpy(&got, element(dst, i), luc__dtype_size(to));
      wrong += bits_of(got, to) != whole(value(src, i), to);
    }
    CHECK_EQ(wrong, 0);
    LUC_RELEASE(ctx, dst, src);
  }
}

TEST("runs of any length become halves as single numbers do") {
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (int64_t n = 0; n < 80; n++) {
      luc_tensor *src = empty(ctx, LUC_FLOAT32, 1, &n), *dst = empty(ctx, LUC_FLOAT16, 1, &n);
      int wrong = 0;
      for (int64_t i = 0; i < n; i++)
        ((float *)src->data)[i] =
            (float)ldexp(1 + (double)(i * 37 % 64) / 2048, (int)(i * 5 % 48) - 28);
      CHECK_OK(luc__copy(ctx, dst, src));
      for (int64_t i = 0; i < n; i++)
        wrong += ((uint16_t *)dst->data)[i] != luc__float_to_half(((float *)src->data)[i]);
      CHECK_EQ(wrong, 0);
      LUC_RELEASE(ctx, dst, src);
    }
  }
}

TEST("rows of any length are repeated, and filled, exactly") {
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    for (int dtype = 0; dtype < LUC_NUM_DTYPES; dtype++)
      for (int64_t n = 1; n < 300; n = n * 2 + n % 3) {
        int64_t sizes[] = {3, n}, step[] = {n + 1, 1}, one = 1, wide = 3 * n + 3;
        if (rounds((luc_dtype)dtype)) continue;
        luc_tensor *row = empty(ctx, (luc_dtype)dtype, 1, &n), *all, *dst;
        luc_tensor *first = empty(ctx, (luc_dtype)dtype, 1, &one);
        all = empty(ctx, (luc_dtype)dtype, 1, &wide);
        CHECK_OK(luc__tensor_view(ctx, all, 2, sizes, step, 0, &dst));
        number(row);
        number(all);
        luc__store_scalar(first->data, (luc_dtype)dtype, (luc_scalar){LUC_SCALAR_INT, {.i = 1}});
        CHECK_OK(luc__copy(ctx, dst, row));
        int wrong = 0;
        for (int64_t i = 0; i < 3 * n; i++) wrong += value(dst, i) != value(row, i % n);
        CHECK_OK(luc__copy(ctx, dst, first));
        for (int64_t i = 0; i < 3 * n; i++) wrong += value(dst, i) != 1;
        for (int64_t r = 0; r < 3; r++) { /* what is between the rows stays */
          luc_scalar s = {LUC_SCALAR_INT, {.i = (r * (n + 1) + n) % 113}}, kept = {0};
          luc_element want = {{0, 0}};
          luc__store_scalar(&want, (luc_dtype)dtype, s);
          kept = luc__load_scalar(element(all, r * (n + 1) + n), (luc_dtype)dtype);
          wrong += luc__scalar_double(kept) !=
                   luc__scalar_double(luc__load_scalar((char *)&want, (luc_dtype)dtype));
        }
        CHECK_EQ(wrong, 0);
        LUC_RELEASE(ctx, dst, all, first, row);
      }
  }
}

/* n elements of `size` bytes in steps of so many, by the kernel and one by one, to memory whose
 * gaps must stay as they are. */
static int moved_wrongly(luc_move_fn move, int64_t size, int64_t to, int64_t from, int64_t n) {
  enum { ROOM = 16 * 5 * 72, MIDDLE = ROOM / 2 };
  static _Alignas(64) char in[ROOM], out[ROOM], want[ROOM];
  for (int i = 0; i < ROOM; i++) in[i] = (char)(i * 37 % 251), out[i] = want[i] = (char)(i % 127);
  const int64_t at = to < 0 ? MIDDLE : 0, start = from < 0 ? MIDDLE : 0;
  for (int64_t i = 0; i < n; i++)
    memcpy(want + at + i * to * size, in + start + i * from * size, (size_t)size);
  move(out + at, to * size, in + start, from * size, n);
  return memcmp(want, out, ROOM) != 0;
}

TEST("elements move between any distances, and what lies between them stays") {
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    const luc_copy_kernels *copy = luc__kernels(ctx)->copy;
    int wrong = 0;
    for (int log = 0; log < 5; log++)
      for (int64_t to = -3; to <= 5; to++)
        for (int64_t from = -3; from <= 5; from++)
          for (int64_t n = 0; n <= 35 && to != 0; n++)
            wrong += moved_wrongly(copy->move[log], 1 << log, to, from, n);
    CHECK_EQ(wrong, 0);
  }
}
