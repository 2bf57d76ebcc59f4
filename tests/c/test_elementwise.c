/* The drivers of pointwise kernels and reductions against plain loops: every mix of dtypes,
 * strides, broadcasting and sizes around the edges of chunks and pieces. */
#include <stdlib.h>
#include <string.h>

#include "cpu/elementwise.h"
#include "cpu/kernels.h"
#include "cpu/reduce.h"
#include "test.h"

static int64_t offset_of(const luc_tensor *t, int ndim, const int64_t *sizes, int64_t i) {
  int64_t at = 0;
  for (int d = ndim - 1; d >= 0; d--) {
    int own = d - (ndim - t->ndim);
    if (own >= 0 && t->sizes[own] != 1) at += i % sizes[d] * t->strides[own];
    i /= sizes[d];
  }
  return at * (int64_t)luc__dtype_size((luc_dtype)t->dtype);
}

static double value(const luc_tensor *t, const luc_tensor *shape, int64_t i) {
  const char *p = t->data + offset_of(t, shape->ndim, shape->sizes, i);
  return luc__scalar_double(luc__load_scalar(p, (luc_dtype)t->dtype));
}

/* A tensor of small whole numbers; turned: its memory is in the opposite order of its dims. */
static luc_tensor *make(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                        bool turned, int seed) {
  luc_tensor *t = NULL, *view = NULL;
  int64_t back[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  for (int d = 0; d < ndim; d++) back[d] = sizes[turned ? ndim - 1 - d : d];
  CHECK_OK(luc__tensor_empty(ctx, dtype, ndim, back, &t));
  for (int64_t i = 0; i < t->numel; i++) {
    luc_scalar s = {LUC_SCALAR_INT, {.i = (i * 7 + seed) % 11}};
    luc__store_scalar(t->data + i * (int64_t)luc__dtype_size(dtype), dtype, s);
  }
  if (!turned) return t;
  for (int d = 0; d < ndim; d++) strides[d] = t->strides[ndim - 1 - d];
  CHECK_OK(luc__tensor_view(ctx, t, ndim, sizes, strides, 0, &view));
  luc_tensor_release(ctx, t);
  return view;
}

typedef struct operands {
  int ndim;
  int64_t out[3], b[3];
} operands;

static void check_add(luc_context *ctx, const operands *o, int turned, luc_dtype da, luc_dtype db,
                      luc_dtype dout) {
  luc_tensor *a = make(ctx, da, o->ndim, o->out, turned & 1, 1);
  luc_tensor *b = make(ctx, db, o->ndim, o->b, turned & 2, 2);
  luc_tensor *y = make(ctx, dout, o->ndim, o->out, turned & 4, 0);
  luc_ew_input in[2] = {{a, {0, {0}}}, {b, {0, {0}}}};
  luc__elementwise(ctx, LUC_EW_add, luc__dtype_promote(da, db), y, in);
  int wrong = 0;
  for (int64_t i = 0; i < y->numel; i++) {
    double want = value(a, y, i) + value(b, y, i);
    wrong += value(y, y, i) != (dout == LUC_BOOL ? want != 0 : want);
  }
  CHECK_EQ(wrong, 0);
  LUC_RELEASE(ctx, y, b, a);
}

static const operands shapes[] = {
    {1, {1}, {1}},
    {1, {1025}, {1025}},
    {1, {5000}, {1}},
    {2, {3, 5}, {3, 5}},
    {2, {300, 7}, {1, 7}},
    {2, {300, 7}, {300, 1}},
    {2, {5, 300}, {1, 300}},
    {2, {5, 300}, {5, 1}},
    {3, {17, 6, 19}, {1, 6, 1}},
    {3, {4, 33, 65}, {4, 1, 65}},
};

TEST("pointwise results do not depend on shapes, strides or broadcasting") {
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int turned = 0; turned < 8; turned++) {
      check_add(ctx, &shapes[s], turned, LUC_FLOAT32, LUC_FLOAT32, LUC_FLOAT32);
      check_add(ctx, &shapes[s], turned, LUC_FLOAT16, LUC_INT32, LUC_FLOAT64);
      check_add(ctx, &shapes[s], turned, LUC_UINT8, LUC_INT64, LUC_INT16);
    }
}

enum { LONGEST = 70 };

/* n results of a kernel of doubles or floats, from inputs of which those in `once` are one element,
 * laid out n times if they are to be; what lies behind the results stays as it was. */
static void run_kernel(const luc_ew_kernel *kernel, luc_compute type, int64_t n, unsigned once,
                       bool laid_out, void *y) {
  const int64_t size = type == LUC_COMPUTE_F64 ? 8 : 4;
  const luc_ew_params params = {.f = {1.5, 1, 0.5, 2}};
  char x[LUC_EW_MAX_INPUTS][LONGEST * 8];
  const void *in[LUC_EW_MAX_INPUTS];
  for (int i = 0; i < LUC_EW_MAX_INPUTS; i++) {
    in[i] = x[i];
    for (int64_t k = 0; k < n; k++) {
      const double value = 0.25 + (double)((once >> i & 1 ? 0 : k) * 7 % 11 + i) / 16;
      const float single = (float)value;
      memcpy(x[i] + k * size, size == 8 ? (const void *)&value : &single, (size_t)size);
    }
  }
  memset(y, 0x5a, (LONGEST + 1) * 8);
  kernel->fn[type](y, in, n, &params, laid_out ? 0 : once);
  for (int64_t k = n * (kernel->truth ? 1 : size); k < (LONGEST + 1) * 8; k++)
    CHECK_EQ(((const unsigned char *)y)[k], 0x5a);
}

TEST("kernels take one element for all of a run, of any length") {
  char once_y[(LONGEST + 1) * 8], y[(LONGEST + 1) * 8];
  for (int id = 0; id < LUC_NUM_EWS; id++) {
    const luc_ew_kernel *kernel = &luc__kernels(ctx)->elementwise[id];
    for (int type = LUC_COMPUTE_F32; type <= LUC_COMPUTE_F64; type++) {
      if (!kernel->fn[type]) continue;
      if (id == LUC_EW_pow) continue; /* of one small power, products */
      for (int64_t n = 1; n <= LONGEST; n += n < 35 ? 1 : 7)
        for (unsigned once = 0; once + 1 < 1u << kernel->inputs; once++) {
          run_kernel(kernel, (luc_compute)type, n, once, false, once_y);
          run_kernel(kernel, (luc_compute)type, n, once, true, y);
          CHECK(memcmp(y, once_y, sizeof y) == 0);
        }
    }
  }
}

TEST("every pair of dtypes adds, into every dtype") {
  for (int a = 0; a < LUC_BOOL; a++)
    for (int b = 0; b < LUC_BOOL; b++) {
      check_add(ctx, &shapes[4], 0, (luc_dtype)a, (luc_dtype)b, (luc_dtype)b);
      check_add(ctx, &shapes[4], 3, (luc_dtype)a, (luc_dtype)b, LUC_BOOL);
    }
}

TEST("int32 sums, differences and products wrap around") {
  const luc_ew ops[] = {LUC_EW_add, LUC_EW_sub, LUC_EW_mul};
  for (int i = 0; i < 6; i++) {
    int64_t size = i < 3 ? 19 : 200003;
    luc_tensor *a = make(ctx, LUC_INT32, 1, &size, false, 1);
    luc_tensor *b = make(ctx, LUC_INT32, 1, &size, false, 2);
    uint32_t *x = (void *)a->data, *y = (void *)b->data, *want = malloc((size_t)size * 4);
    for (int64_t k = 0; k < size; k++) {
      x[k] = 0x7fffff00u + (uint32_t)k * 2654435761u, y[k] = 0x80000010u ^ ((uint32_t)k * 40503u);
      want[k] = i % 3 == 0 ? x[k] + y[k] : i % 3 == 1 ? x[k] - y[k] : x[k] * y[k];
    }
    luc_ew_input in[2] = {{a, {0, {0}}}, {b, {0, {0}}}};
    luc__elementwise(ctx, ops[i % 3], LUC_INT32, a, in); /* in place */
    CHECK(memcmp(x, want, (size_t)size * 4) == 0);
    free(want);
    LUC_RELEASE(ctx, a, b);
  }
}

TEST("large work shared between threads gives the same bits") {
  operands large = {2, {700, 301}, {1, 301}};
  double sums[2];
  for (int k = 0; k < 2; k++) {
    CHECK_OK(luc_set_num_threads(ctx, 1 + 3 * k));
    check_add(ctx, &large, 0, LUC_FLOAT32, LUC_FLOAT32, LUC_FLOAT32);
    check_add(ctx, &large, 1, LUC_FLOAT32, LUC_FLOAT32, LUC_FLOAT32);
    luc_tensor *t = make(ctx, LUC_FLOAT64, 2, large.out, false, 3), *y = NULL;
    for (int64_t i = 0; i < t->numel; i++) ((double *)(void *)t->data)[i] = sin((double)i);
    CHECK_OK(luc__tensor_empty(ctx, LUC_FLOAT64, 0, NULL, &y));
    luc_reduction_job job = {
        .op = LUC_RD_sum, .dtype = LUC_FLOAT64, .in = t, .dims = 3, .a = y, .divide = 1};
    CHECK_OK(luc__reduce(ctx, &job));
    sums[k] = *(double *)(void *)y->data;
    LUC_RELEASE(ctx, y, t);
  }
  CHECK(sums[0] == sums[1]);
}

/* Sums, largest values and their positions over `dims` against plain loops. */
static void check_reduction(luc_context *ctx, luc_rd op, luc_dtype dtype, const int64_t *sizes,
                            uint32_t dims, bool turned) {
  luc_tensor *t = make(ctx, dtype, 3, sizes, turned, 5), *y = NULL, *at = NULL;
  int64_t kept[3], n = 0;
  for (int d = 0; d < 3; d++) kept[d] = dims >> d & 1 ? 1 : sizes[d];
  CHECK_OK(luc__tensor_empty(ctx, LUC_FLOAT64, 3, kept, &y));
  CHECK_OK(luc__tensor_empty(ctx, LUC_INT64, 3, kept, &at));
  luc_reduction_job job = {.op = op, .dtype = dtype, .in = t, .dims = dims, .a = y, .divide = 1};
  if (op == LUC_RD_argmax) job.b = at;
  CHECK_OK(luc__reduce(ctx, &job));
  double *want = calloc((size_t)y->numel, sizeof *want);
  int64_t *place = calloc((size_t)y->numel, sizeof *place), *seen = calloc((size_t)y->numel, 8);
  for (n = 0; n < t->numel; n++) {
    int64_t i = offset_of(y, 3, sizes, n) / 8;
    double v = value(t, t, n);
    bool better = seen[i] == 0 || v > want[i];
    if (op == LUC_RD_sum) want[i] += v;
    if (op != LUC_RD_sum && better) want[i] = v, place[i] = seen[i];
    seen[i]++;
  }
  int wrong = 0;
  for (int64_t i = 0; i < y->numel; i++) {
    wrong += ((double *)(void *)y->data)[i] != want[i];
    if (op == LUC_RD_argmax) wrong += ((int64_t *)(void *)at->data)[i] != place[i];
  }
  CHECK_EQ(wrong, 0);
  free(seen);
  free(place);
  free(want);
  LUC_RELEASE(ctx, at, y, t);
}

TEST("reductions over any dimensions agree with plain loops") {
  static const int64_t all_sizes[][3] = {{3, 4, 5},   {1, 1, 2000}, {2000, 1, 3},
                                         {5, 300, 2}, {40, 50, 60}, {2, 3, 70000}};
  for (size_t s = 0; s < sizeof all_sizes / sizeof *all_sizes; s++)
    for (uint32_t dims = 1; dims < 8; dims++)
      for (int turned = 0; turned < 2; turned++) {
        bool one_dim = (dims & (dims - 1)) == 0;
        check_reduction(ctx, LUC_RD_sum, LUC_FLOAT32, all_sizes[s], dims, turned);
        check_reduction(ctx, LUC_RD_max, LUC_FLOAT16, all_sizes[s], dims, turned);
        check_reduction(ctx, LUC_RD_max, LUC_UINT8, all_sizes[s], dims, turned);
        if (one_dim) check_reduction(ctx, LUC_RD_argmax, LUC_FLOAT32, all_sizes[s], dims, turned);
        if (one_dim) check_reduction(ctx, LUC_RD_argmax, LUC_INT32, all_sizes[s], dims, turned);
      }
}

TEST("variances of large offset values are exact enough") {
  int64_t sizes[] = {300000};
  luc_tensor *t = make(ctx, LUC_FLOAT32, 1, sizes, false, 0), *y = NULL;
  for (int64_t i = 0; i < t->numel; i++) ((float *)(void *)t->data)[i] = 4096.0f + (float)(i % 2);
  CHECK_OK(luc__tensor_empty(ctx, LUC_FLOAT64, 0, NULL, &y));
  luc_reduction_job job = {
      .op = LUC_RD_var, .dtype = LUC_FLOAT32, .in = t, .dims = 1, .b = y, .divide = 300000};
  CHECK_OK(luc__reduce(ctx, &job));
  CHECK_NEAR(*(double *)(void *)y->data, 0.25, 1e-9);
  LUC_RELEASE(ctx, y, t);
}
