/* Matrix products against naive loops in double: every layout, odd sizes, every instruction set. */
#include "cpu/gemm.h"
#include "cpu/index_kernels.h"
#include "kernel_test.h"
#include "tensor/half.h"

/* Half of one factor's numbers become 0, and some of the other's an infinity, which 0 makes NaN. */
static void strew(kt_array *zeros, kt_array *infinities) {
  for (int64_t i = 0; i < zeros->n; i++)
    if (kt_int(0, 1)) kt_put(zeros, i, zeros->v[i] = 0);
  for (int t = kt_int(0, 1) ? 0 : 3; t > 0 && infinities->n > 0; t--) {
    const int64_t i = kt_int(0, infinities->n - 1);
    kt_put(infinities, i, infinities->v[i] = INFINITY);
  }
}

/* One product of m × k × n, batched, with random layouts, scales and epilogue. */
static void check_gemm(luc_context *ctx, luc_dtype dtype, int64_t m, int64_t n, int64_t k,
                       int64_t batch) {
  bool ta = kt_int(0, 1), tb = kt_int(0, 1), shared = kt_int(0, 3) == 0, wide = kt_int(0, 7) == 0;
  int64_t la = (ta ? m : k) + kt_int(0, 2), lb = (tb ? k : n) + kt_int(0, 2);
  int64_t step = wide ? 2 : 1; /* neither stride is 1 */
  luc_gemm g = {.dtype = dtype, .m = m, .n = n, .k = k, .batch = batch};
  g.a_row = ta ? step : la * step, g.a_col = ta ? la * step : step;
  g.b_row = tb ? step : lb * step, g.b_col = tb ? lb * step : step;
  g.c_row = n + kt_int(0, 2);
  int64_t size_a = (ta ? k : m) * la * step, size_b = (tb ? n : k) * lb * step,
          size_c = m * g.c_row;
  g.a_batch = size_a, g.b_batch = shared ? 0 : size_b, g.c_batch = size_c;
  g.alpha = kt_int(0, 3) ? 1 : 0.5, g.beta = kt_int(0, 1) ? 0 : kt_int(0, 1) ? 1 : -0.75;
  g.bias_kind = (luc_bias)kt_int(0, 2), g.relu = kt_int(0, 2) == 0;
  kt_array a = kt_random(dtype, size_a * batch),
           b = kt_random(dtype, shared ? size_b : size_b * batch);
  kt_array c = kt_random(dtype, size_c * batch), bias = kt_random(dtype, m + n);
  if (kt_int(0, 3) == 0) strew(kt_int(0, 1) ? &a : &b, kt_int(0, 1) ? &b : &a);
  g.a = a.p, g.b = b.p, g.c = c.p, g.bias = g.bias_kind ? bias.p : NULL;
  if (g.beta == 0)
    for (int64_t i = 0; i < c.n; i++)
      if (i % g.c_row < n) kt_put(&c, i, NAN);
  for (int64_t t = 0; t < batch; t++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t p = 0; p < k; p++)
          sum += a.v[t * g.a_batch + i * g.a_row + p * g.a_col] *
                 b.v[t * g.b_batch + p * g.b_row + j * g.b_col];
        double *to = &c.v[t * g.c_batch + i * g.c_row + j];
        *to = g.alpha * sum + (g.beta != 0 ? g.beta * *to : 0);
        if (g.bias_kind) *to += bias.v[g.bias_kind == LUC_BIAS_ROW ? i : j];
        if (g.relu && *to < 0) *to = 0;
      }
  CHECK_OK(luc__gemm(ctx, &g));
  char what[120];
  snprintf(what, sizeof what, "gemm %dx%dx%d batch %d ta %d tb %d wide %d bias %d", (int)m, (int)n,
           (int)k, (int)batch, ta, tb, wide, g.bias_kind);
  kt_check(what, &c, 2e-6 * sqrt((double)k + 1) + 1e-6);
  kt_free(&a), kt_free(&b), kt_free(&c), kt_free(&bias);
}

static void small_products(luc_context *ctx, luc_dtype dtype) {
  for (int i = 0; i < kt_rounds(400); i++)
    check_gemm(ctx, dtype, kt_int(0, 40), kt_int(0, 70), kt_int(0, 40), kt_int(1, 3));
  for (int64_t m = 1; m <= 9; m++)
    for (int64_t n = 1; n <= 18; n++) check_gemm(ctx, dtype, m, n, kt_int(1, 40), 1);
}

static void large_products(luc_context *ctx, luc_dtype dtype) {
  static const int64_t sizes[][3] = {{1, 300, 1100}, {3, 520, 600},   {16, 17, 1025},
                                     {17, 193, 513}, {65, 200, 1200}, {130, 50, 512},
                                     {300, 410, 90}, {40, 16, 2000},  {520, 260, 250},
                                     {1, 70, 5003},  {1, 1, 140001},  {1100, 1, 300}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int t = 0; t < 4; t++) check_gemm(ctx, dtype, sizes[i][0], sizes[i][1], sizes[i][2], 1);
  check_gemm(ctx, dtype, 64, 64, 64, 9);
  for (int t = 0; t < 12; t++) { /* where a turned second factor is wide, both are exchanged */
    check_gemm(ctx, dtype, 16, 300, 260, 1);
    check_gemm(ctx, dtype, 60, 130, 560, 1);
    check_gemm(ctx, dtype, kt_int(15, 70), 1024, kt_int(14, 40), 1); /* rows of whole pages */
  }
  for (int64_t n = 4; n <= 64; n *= 2) /* columns by rows */
    for (int t = 0; t < 24; t++) check_gemm(ctx, dtype, 9, n + kt_int(0, 1), 1, kt_int(1, 3));
  for (int t = 0; t < 8; t++) check_gemm(ctx, dtype, 700, 300, 1, 1);
  for (int t = 0; t < kt_rounds(80); t++) /* whose zeros are passed over, if there are any */
    check_gemm(ctx, dtype, kt_int(33, 150), kt_int(33, 200), kt_int(33, 100), 1);
}

TEST("small matrix products agree with naive loops") {
  kt_everywhere(small_products);
}
TEST("large matrix products agree with naive loops") {
  kt_everywhere(large_products);
}

/* y [rows, out] = x [rows, in] times weight [out, in], turned. */
static luc_status linear(luc_context *ctx, luc_dtype dtype, int64_t rows, int64_t in, int64_t out,
                         const void *x, const void *weight, void *y) {
  const luc_gemm g = {.dtype = dtype,
                      .m = rows,
                      .n = out,
                      .k = in,
                      .a = x,
                      .b = weight,
                      .c = y,
                      .a_row = in,
                      .a_col = 1,
                      .b_row = 1,
                      .b_col = in,
                      .c_row = out,
                      .batch = 1,
                      .alpha = 1};
  return luc__gemm(ctx, &g);
}

static void infinite_weights(luc_context *ctx, luc_dtype dtype) {
  kt_array x = kt_random(dtype, 3 * 5), w = kt_random(dtype, 4 * 5), y = kt_random(dtype, 3 * 4);
  kt_put(&w, 7, INFINITY); /* row 1: nothing of it may leak into rows 0 and 2 */
  CHECK_OK(linear(ctx, dtype, 3, 5, 4, x.p, w.p, y.p));
  for (int i = 0; i < 12; i++)
    CHECK(i % 4 == 1 ? !isfinite(kt_get(&y, i)) : isfinite(kt_get(&y, i)));
  kt_free(&x), kt_free(&w), kt_free(&y);
}

TEST("an infinity stays in its row") {
  kt_everywhere(infinite_weights);
}

TEST("integer products wrap and batch") {
  int64_t a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 1, 0, INT64_MAX}, c[8];
  luc_gemm g = {.dtype = LUC_INT64,
                .m = 2,
                .n = 2,
                .k = 3,
                .a = a,
                .b = b,
                .c = c,
                .a_row = 3,
                .a_col = 1,
                .b_row = 2,
                .b_col = 1,
                .c_row = 2,
                .batch = 2,
                .c_batch = 4};
  CHECK_OK(luc__gemm_unpacked(ctx, &g));
  CHECK_EQ(c[0], 5);
  CHECK_EQ(c[1], (int64_t)(2 + 3 * (uint64_t)INT64_MAX));
  CHECK_EQ(c[4 + 2], 4 + 10);
}

static uint64_t product_bits(int threads) {
  luc_context *ctx = test_open(threads);
  kt_seed = 12345;
  kt_array a = kt_random(LUC_FLOAT32, 300 * 700), b = kt_random(LUC_FLOAT32, 500 * 700);
  float *c = malloc(300 * 500 * sizeof(float));
  CHECK_OK(linear(ctx, LUC_FLOAT32, 300, 700, 500, a.p, b.p, c));
  uint64_t hash = 0;
  for (int i = 0; i < 300 * 500; i++) {
    uint32_t bits;
    memcpy(&bits, &c[i], sizeof bits);
    hash = hash * 1099511628211u + bits;
  }
  free(c), kt_free(&a), kt_free(&b);
  luc_context_free(ctx);
  return hash;
}

/* A bfloat16 near 1 and its number. */
static uint16_t some_half(double *number) {
  const uint32_t bits = (uint32_t)kt_int(0x3f00, 0x3fff) << 16 | (uint32_t)kt_int(0, 1) << 31;
  float f;
  memcpy(&f, &bits, sizeof f);
  *number = f;
  return (uint16_t)(bits >> 16);
}

/* The product g, which is made, as bfloat16: its numbers rounded. */
static void check_rounded(luc_context *ctx, const luc_gemm *made) {
  luc_gemm g = *made;
  const float *c = made->c;
  uint16_t *halves = malloc(sizeof *halves * (size_t)(g.m * g.c_row));
  g.c = halves, g.rounds = true;
  CHECK_OK(luc__gemm(ctx, &g));
  for (int64_t i = 0; i < g.m; i++)
    for (int64_t j = 0; j < g.n; j++)
      CHECK_EQ(halves[i * g.c_row + j], luc__float_to_bfloat16(c[i * g.c_row + j]));
  free(halves);
}

/* The same of pairs, by layouts whose A and B have adjacent rows or columns. */
static void check_pairs(luc_context *ctx, int64_t m, int64_t n, int64_t k) {
  const bool ta = kt_int(0, 1), tb = kt_int(0, 1);
  luc_gemm g = {.dtype = LUC_FLOAT32, .m = m, .n = n, .k = k, .batch = 1, .pairs = true};
  g.a_row = ta ? 1 : k + kt_int(0, 2), g.a_col = ta ? m + kt_int(0, 2) : 1;
  g.b_row = tb ? 1 : n + kt_int(0, 2), g.b_col = tb ? k + kt_int(0, 2) : 1;
  g.c_row = n + kt_int(0, 2);
  g.alpha = kt_int(0, 3) ? 1 : 0.5, g.beta = kt_int(0, 1) ? 0 : kt_int(0, 1) ? 1 : -0.75;
  g.bias_kind = (luc_bias)kt_int(0, 2), g.relu = kt_int(0, 2) == 0;
  const int64_t size_a = ta ? k * g.a_col : m * g.a_row, size_b = tb ? n * g.b_col : k * g.b_row;
  kt_array a = kt_random(LUC_FLOAT32, size_a), b = kt_random(LUC_FLOAT32, size_b);
  kt_array c = kt_random(LUC_FLOAT32, m * g.c_row), bias = kt_random(LUC_FLOAT32, m + n);
  double *x = malloc(sizeof(double) * 2 * (size_t)size_a);
  double *y = malloc(sizeof(double) * 2 * (size_t)size_b);
  for (int64_t i = 0; i < 2 * size_a; i++) ((uint16_t *)a.p)[i] = some_half(&x[i]);
  for (int64_t i = 0; i < 2 * size_b; i++) ((uint16_t *)b.p)[i] = some_half(&y[i]);
  g.a = a.p, g.b = b.p, g.c = c.p, g.bias = g.bias_kind ? bias.p : NULL;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0, *to = &c.v[i * g.c_row + j];
      for (int64_t p = 0; p < 2 * k; p++)
        sum += x[2 * (i * g.a_row + p / 2 * g.a_col) + p % 2] *
               y[2 * (p / 2 * g.b_row + j * g.b_col) + p % 2];
      *to = g.alpha * sum + g.beta * *to;
      if (g.bias_kind) *to += bias.v[g.bias_kind == LUC_BIAS_ROW ? i : j];
      if (g.relu && *to < 0) *to = 0;
    }
  CHECK_OK(luc__gemm(ctx, &g));
  if (luc__gemm_rounds(ctx, &g)) check_rounded(ctx, &g);
  char what[120];
  snprintf(what, sizeof what, "pairs %dx%dx%d ta %d tb %d", (int)m, (int)n, (int)k, ta, tb);
  kt_check(what, &c, 2e-5 * (double)k);
  kt_free(&a), kt_free(&b), kt_free(&c), kt_free(&bias);
  free(x), free(y);
}

static void products_of_pairs(luc_context *ctx, luc_dtype dtype) {
  if (dtype != LUC_FLOAT32 || !luc__gemm_has_pairs(ctx)) return;
  for (int i = 0; i < kt_rounds(400); i++)
    check_pairs(ctx, kt_int(1, 70), kt_int(1, 70), kt_int(LUC_LEAST_PAIRS, 70));
  for (int i = 0; i < kt_rounds(20); i++)
    check_pairs(ctx, kt_int(1, 250), kt_int(1, 450), kt_int(LUC_LEAST_PAIRS, 600));
}

TEST("products of pairs of bfloat16 are those of doubles") {
  kt_everywhere(products_of_pairs);
}

TEST("a product is the same for any number of threads") {
  uint64_t one = product_bits(1);
  CHECK_EQ(product_bits(2), one);
  CHECK_EQ(product_bits(5), one);
}

TEST("elements are chosen in their room, though more are set than there were") {
  enum { MANY = 64, ROOM = 5 };
  uint64_t in[MANY] = {0};
  bool all[MANY];
  memset(all, 1, sizeof all);
  for (int isa = 0; isa < LUC_NUM_ISAS; isa++) {
    if (!luc__kernels_use(ctx, (luc_isa)isa)) continue;
    const luc_index_kernels *index = luc__kernels(ctx)->index;
    for (int way = 0; way < 5; way++) {
      _Alignas(8) unsigned char out[ROOM * sizeof(uint64_t) + MANY];
      const size_t width = way < 4 ? (size_t)1 << way : sizeof(int64_t);
      memset(out, 77, sizeof out);
      CHECK_EQ(way < 4 ? index->choose[way](out, in, all, MANY, ROOM)
                       : index->choose_places((int64_t *)(void *)out, 0, 1, all, MANY, ROOM),
               ROOM);
      CHECK_EQ(out[ROOM * width - 1], 0);
      CHECK_EQ(out[ROOM * width], 77);
    }
  }
}
