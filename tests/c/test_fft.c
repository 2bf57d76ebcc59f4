/* Fourier transforms by FFTW against sums of products, along any dimensions of small arrays, and
 * what happens when memory runs short before FFTW does. */
#include <pthread.h>

#include "cpu/fft.h"
#include "cpu/library.h"
#include "kernel_test.h"

enum { MOST = 4 };

typedef struct shape {
  int ndim;
  int64_t sizes[MOST];
} shape;

static int64_t count(const shape *s) {
  int64_t n = 1;
  for (int d = 0; d < s->ndim; d++) n *= s->sizes[d];
  return n;
}

static int64_t stride(const shape *s, int dim) {
  int64_t n = 1;
  for (int d = dim + 1; d < s->ndim; d++) n *= s->sizes[d];
  return n;
}

/* values [shape] of complex numbers become their transform along a dimension. */
static void naive(const shape *s, int dim, double sign, double *values) {
  int64_t n = s->sizes[dim], step = stride(s, dim), total = count(s);
  double line[2 * 16];
  for (int64_t i = 0; i < total; i++) {
    if (i / step % n != 0) continue;
    for (int64_t k = 0; k < n; k++) {
      line[2 * k] = line[2 * k + 1] = 0;
      for (int64_t j = 0; j < n; j++) {
        double angle = sign * 2 * 3.14159265358979323846 * (double)(j * k % n) / (double)n;
        const double *v = &values[2 * (i + j * step)];
        line[2 * k] += v[0] * cos(angle) - v[1] * sin(angle);
        line[2 * k + 1] += v[0] * sin(angle) + v[1] * cos(angle);
      }
    }
    for (int64_t k = 0; k < n; k++) {
      values[2 * (i + k * step)] = line[2 * k];
      values[2 * (i + k * step) + 1] = line[2 * k + 1];
    }
  }
}

/* The position in `s` of element i of a shape that is shorter or longer along a dimension. */
static int64_t elsewhere(const shape *from, const shape *s, int64_t i) {
  int64_t at = 0;
  for (int d = 0; d < s->ndim; d++)
    at += i / stride(from, d) % from->sizes[d] % s->sizes[d] * stride(s, d);
  return at;
}

/* 1 to `most` different dimensions of s. */
static int pick(const shape *s, int most, int *dims) {
  int n = 0, wanted = (int)kt_int(1, most < s->ndim ? most : s->ndim);
  while (n < wanted) {
    int d = (int)kt_int(0, s->ndim - 1);
    bool taken = false;
    for (int i = 0; i < n; i++) taken |= dims[i] == d;
    if (!taken) dims[n++] = d;
  }
  return n;
}

static void check(luc_context *ctx, luc_dtype dtype, luc_fft_kind kind) {
  shape whole = {.ndim = (int)kt_int(1, MOST)}, half;
  int dims[MOST];
  for (int d = 0; d < whole.ndim; d++) whole.sizes[d] = kt_int(1, 9);
  int n = pick(&whole, kind == LUC_FFT_BACK ? 1 : MOST, dims), last = dims[n - 1];
  half = whole;
  bool reals = kind == LUC_FFT_REAL || kind == LUC_FFT_WHOLE, back = kind == LUC_FFT_BACK;
  if (kind == LUC_FFT_REAL || back) half.sizes[last] = half.sizes[last] / 2 + 1;
  const shape *from = kind == LUC_FFT_BACK ? &half : &whole;
  const shape *to = kind == LUC_FFT_REAL ? &half : &whole;
  kt_array in = kt_random(dtype, count(from) * (reals ? 1 : 2));
  kt_array out = kt_random(dtype, count(to) * (back ? 1 : 2));
  double *z = calloc((size_t)count(&whole) * 2, sizeof *z);
  for (int64_t i = 0; i < count(&whole); i++) {
    int64_t place = i / stride(&whole, last) % whole.sizes[last];
    bool mirrored = back && place >= half.sizes[last];
    int64_t j = mirrored ? i + (whole.sizes[last] - 2 * place) * stride(&whole, last) : i;
    j = elsewhere(&whole, from, j);
    bool alone = back && (place == 0 || 2 * place == whole.sizes[last]); /* read as real */
    z[2 * i] = reals ? in.v[j] : in.v[2 * j];
    z[2 * i + 1] = reals || alone ? 0 : mirrored ? -in.v[2 * j + 1] : in.v[2 * j + 1];
  }
  double sign = kind == LUC_FFT_FORWARD || reals ? -1 : 1;
  for (int i = 0; i < n; i++) naive(&whole, dims[i], sign, z);
  for (int64_t i = 0; i < count(to); i++) {
    int64_t j = elsewhere(to, &whole, i);
    for (int k = 0; k < (back ? 1 : 2); k++) out.v[back ? i : 2 * i + k] = z[2 * j + k] / 4;
  }
  luc_fft t = {kind, dtype, whole.ndim, whole.sizes, n, dims, 0.25};
  CHECK_OK(luc__fft(ctx, &t, in.p, out.p));
  kt_check("transform", &out, 2e-4);
  for (int64_t i = 0; i < in.n; i++) CHECK(kt_get(&in, i) == in.v[i]); /* is left as it was */
  kt_free(&in), kt_free(&out), free(z);
}

TEST("transforms are sums of products") {
  for (int round = 0; round < kt_rounds(400); round++)
    for (int kind = LUC_FFT_FORWARD; kind <= LUC_FFT_WHOLE; kind++)
      check(ctx, round % 2 ? LUC_FLOAT32 : LUC_FLOAT64, (luc_fft_kind)kind);
}

TEST_ALONE("what is done in pieces is what is done at once") {
  for (int kind = LUC_FFT_FORWARD; kind <= LUC_FFT_WHOLE; kind++) {
    luc_context *ctx = test_open(0);
    int64_t sizes[3] = {77, 20, 31};
    int dims[1] = {kind % 2 ? 1 : 2};
    kt_array in = kt_random(LUC_FLOAT64, 2 * 77 * 20 * 31);
    kt_array out = kt_random(LUC_FLOAT64, 2 * 77 * 20 * 31);
    luc_fft t = {(luc_fft_kind)kind, LUC_FLOAT64, 3, sizes, 1, dims, 1};
    CHECK_OK(luc__fft(ctx, &t, in.p, out.p));
    /* the same of each part: too little work to be cut */
    bool half = kind == LUC_FFT_REAL || kind == LUC_FFT_BACK;
    int64_t step = 20 * 31, halved = step / sizes[dims[0]] * (sizes[dims[0]] / 2 + 1);
    int64_t from = kind == LUC_FFT_BACK || kind < LUC_FFT_REAL ? 2 * (half ? halved : step) : step;
    int64_t to = kind == LUC_FFT_BACK ? step : 2 * (half ? halved : step);
    out.n = 77 * to;
    for (int64_t i = 0; i < 77; i++) {
      luc_fft one = {(luc_fft_kind)kind, LUC_FLOAT64, 3, (int64_t[]){1, 20, 31}, 1, dims, 1};
      CHECK_OK(luc__fft(ctx, &one, (double *)in.p + i * from, out.v + i * to));
    }
    kt_check("pieces", &out, 1e-4);
    kt_free(&in), kt_free(&out);
    luc_context_free(ctx);
  }
}

/* Number k of the transform of a line, as a sum of products. */
static void one_frequency(const kt_array *in, int64_t n, int64_t k, luc_fft_kind kind, double *to) {
  const double sign = kind == LUC_FFT_FORWARD || kind == LUC_FFT_REAL ? -1 : 1;
  to[0] = to[1] = 0;
  for (int64_t j = 0; j < n; j++) {
    const bool mirrored = kind == LUC_FFT_BACK && j > n / 2;
    const int64_t from = mirrored ? n - j : j;
    const bool alone = kind == LUC_FFT_BACK && (j == 0 || 2 * j == n);
    const double angle = sign * 2 * 3.14159265358979323846 * (double)(j * k % n) / (double)n;
    const double re = kind == LUC_FFT_REAL ? in->v[j] : in->v[2 * from];
    double im = kind == LUC_FFT_REAL || alone ? 0 : in->v[2 * from + 1];
    if (mirrored) im = -im;
    to[0] += re * cos(angle) - im * sin(angle);
    to[1] += re * sin(angle) + im * cos(angle);
  }
}

static void check_length(luc_context *ctx, luc_dtype dtype, luc_fft_kind kind, int64_t n) {
  const int parts = kind == LUC_FFT_BACK ? 1 : 2;
  const int64_t step = kind == LUC_FFT_REAL ? n / 2 + 1 : n;
  kt_array in = kt_random(dtype, 3 * 2 * n), out = kt_random(dtype, 3 * 2 * n);
  int dim = 1;
  const luc_fft t = {kind, dtype, 2, (int64_t[]){3, n}, 1, &dim, 0.5};
  CHECK_OK(luc__fft(ctx, &t, in.p, out.p));
  for (int i = 0; i < 20; i++) {
    const int64_t k = i == 0 ? step - 1 : kt_int(0, step - 1);
    double wanted[2];
    one_frequency(&in, n, k, kind, wanted); /* of the first of three lines */
    for (int part = 0; part < parts; part++) {
      const double off = fabs(kt_get(&out, parts * k + part) - wanted[part] / 2);
      CHECK(off < sqrt((double)n) * (dtype == LUC_FLOAT32 ? 2e-6 : 4e-14));
    }
  }
  kt_free(&in), kt_free(&out);
}

TEST("lengths of large factors, of odd and even real numbers, and long lines") {
  static const int64_t lengths[] = {29, 58, 101, 202, 1000, 1009, 2018, 1 << 15, 3 << 15};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (int kind = LUC_FFT_FORWARD; kind <= LUC_FFT_BACK; kind++)
      for (int d = 0; d < 2; d++)
        check_length(ctx, d ? LUC_FLOAT64 : LUC_FLOAT32, (luc_fft_kind)kind, lengths[i]);
}

TEST("without elements there is nothing to do, without dimensions a copy") {
  double in[4] = {1, 2, 3, 4}, out[4] = {0};
  int dim = 1;
  luc_fft t = {LUC_FFT_FORWARD, LUC_FLOAT64, 2, (int64_t[]){0, 3}, 1, &dim, 1};
  CHECK_OK(luc__fft(ctx, &t, NULL, NULL));
  t = (luc_fft){LUC_FFT_FORWARD, LUC_FLOAT64, 1, (int64_t[]){2}, 0, NULL, 1};
  CHECK_OK(luc__fft(ctx, &t, in, out));
  CHECK(memcmp(in, out, sizeof in) == 0);
}

TEST_ALONE("memory that FFTW may need is asked for before FFTW is") {
  luc_config cfg = {.memory_limit = 1 << 20};
  luc_context *ctx = NULL;
  CHECK_OK(luc_context_new(&cfg, &ctx));
  double in[4] = {1, 2, 3, 4}, out[4] = {7};
  int dim = 0;
  luc_fft t = {LUC_FFT_FORWARD, LUC_FLOAT64, 1, (int64_t[]){2}, 1, &dim, 1};
  CHECK_EQ(luc__fft(ctx, &t, in, out), LUC_ERR_MEMORY);
  CHECK(out[0] == 7);
  luc_context_free(ctx);
}

/* In a context of its own: the transform of an impulse is ones, of lengths up to 400. */
static void *impulses(void *good) {
  luc_context *ctx = NULL;
  int dim = 0;
  *(bool *)good = luc_context_new(NULL, &ctx) == LUC_OK;
  for (int64_t n = 2; n < 400 && *(bool *)good; n++) {
    double in[2 * 400] = {1}, out[2 * 400];
    luc_fft t = {LUC_FFT_FORWARD, LUC_FLOAT64, 1, &n, 1, &dim, 1};
    bool fine = luc__fft(ctx, &t, in, out) == LUC_OK;
    for (int64_t i = 0; i < n; i++) fine &= fabs(out[2 * i] - 1) < 1e-12;
    *(bool *)good &= fine;
  }
  if (ctx) luc_context_free(ctx);
  return NULL;
}

TEST("contexts in threads of their own can plan at once") {
  pthread_t threads[4];
  bool good[4], made[4];
  for (int i = 0; i < 4; i++) made[i] = !pthread_create(&threads[i], NULL, impulses, &good[i]);
  for (int i = 0; i < 4; i++) CHECK(made[i] && !pthread_join(threads[i], NULL) && good[i]);
}

TEST("a library that is missing is named with its package") {
  void *library = NULL;
  CHECK_EQ(luc__library_open(ctx, "Nothing", "libnothing.so.7", "libnothing7", &library),
           LUC_ERR_SUPPORT);
  CHECK_STR(luc_message(ctx),
            "Nothing (libnothing.so.7) is not installed; Debian's package is libnothing7");
}
