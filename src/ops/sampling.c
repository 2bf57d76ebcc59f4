/* Sequences that go with sampled signals: windows, and the frequencies of transforms. All are
 * computed in double and converted last. */
#include <math.h>

#include "cpu/kernels.h"
#include "cpu/special.h"
#include "ops/geometry.h"

/* What a dtype of such numbers can be. */
static luc_status sampled(luc_context *ctx, const char *what, const luc_value *opts,
                          luc_dtype *dtype) {
  LUC_TRY(luc__factory_dtype(ctx, opts, ctx->default_dtype, dtype));
  LUC_CHECK(ctx, luc__dtype_is_float(*dtype), LUC_ERR_TYPE, "%s, got: %s", what,
            luc__dtype_name(*dtype));
  return LUC_OK;
}

/* ---- windows ---- */

typedef struct window {
  double last; /* the place of x = 1 */
  double p[3]; /* parameters of its own */
  luc_ew_fn cos;
} window;

/* to += factor cos(2 pi times i / last), i from first on. */
static void add_cosines(const window *w, double factor, double times, int64_t first, int64_t n,
                        double *to) {
  static const luc_ew_params none;
  enum { CHUNK = 256 };
  double angles[CHUNK];
  const void *in[LUC_EW_MAX_INPUTS] = {angles};
  for (int64_t at = 0; at < n; at += CHUNK) {
    int64_t part = n - at < CHUNK ? n - at : CHUNK;
    luc__sequence_double(angles, first + at, part,
                         (double[]){0, times * 6.28318530717958647693 / w->last});
    w->cos(angles, in, part, &none, 0);
    for (int64_t i = 0; i < part; i++) to[at + i] += factor * angles[i];
  }
}

static void cosines(void *out, int64_t first, int64_t n, const void *arg) {
  const window *w = arg;
  for (int64_t i = 0; i < n; i++) ((double *)out)[i] = w->p[0];
  add_cosines(w, -w->p[1], 1, first, n, out);
  if (w->p[2] != 0) add_cosines(w, w->p[2], 2, first, n, out);
}

static void tent(void *out, int64_t first, int64_t n, const void *arg) {
  const window *w = arg;
  luc__sequence_double(out, first, n, (double[]){-1, 2 / w->last});
  for (int64_t i = 0; i < n; i++) ((double *)out)[i] = 1 - fabs(((double *)out)[i]);
}

static void kaiser(void *out, int64_t first, int64_t n, const void *arg) {
  const window *w = arg;
  double below = luc__i0(w->p[0]);
  for (int64_t i = 0; i < n; i++) {
    double y = 2 * ((double)(first + i) / w->last) - 1;
    ((double *)out)[i] = luc__i0(w->p[0] * sqrt(1 - y * y)) / below;
  }
}

static void one(void *out, int64_t first, int64_t n, const void *arg) {
  (void)first, (void)arg;
  for (int64_t i = 0; i < n; i++) ((double *)out)[i] = 1;
}

/* args: window_length, periodic, …; opts: the factory's. A periodic window is the next longer one
 * without its last value. */
static luc_status make_window(luc_context *ctx, const luc_value *args, const luc_value *opts,
                              luc_sequence_fn values, const double *p, luc_value *out) {
  int64_t n = args[0].as.i;
  luc_dtype dtype;
  LUC_TRY(sampled(ctx, "expects floating point dtypes", opts, &dtype));
  LUC_CHECK(ctx, n >= 0, LUC_ERR_VALUE,
            "requires non-negative window_length, got window_length=%lld", (long long)n);
  window w = {.last = (double)(args[1].as.i ? n : n - 1), .p = {p[0], p[1], p[2]}};
  w.cos = luc__kernels(ctx)->elementwise[LUC_EW_cos].fn[LUC_COMPUTE_F64];
  return luc__factory_sequence(ctx, dtype, n, false, n == 1 ? one : values, &w, opts, out);
}

static luc_status fixed_window(luc_context *ctx, luc_sequence_fn values, const double *p,
                               luc_value *args, luc_value *out) {
  return make_window(ctx, args, args + 2, values, p, out);
}

LUC_RUN_BY(hann_window, fixed_window, cosines, (const double[]){0.5, 0.5, 0})
LUC_RUN_BY(blackman_window, fixed_window, cosines, (const double[]){0.42, 0.5, 0.08})
LUC_RUN_BY(bartlett_window, fixed_window, tent, (const double[]){0, 0, 0})

luc_status luc__run_hamming_window(luc_context *ctx, luc_value *args, luc_value *out) {
  double p[3] = {luc_as_double(&args[2]), luc_as_double(&args[3]), 0};
  return make_window(ctx, args, args + 4, cosines, p, out);
}

luc_status luc__run_kaiser_window(luc_context *ctx, luc_value *args, luc_value *out) {
  double p[3] = {luc_as_double(&args[2]), 0, 0};
  return make_window(ctx, args, args + 3, kaiser, p, out);
}

/* ---- frequencies ---- */

/* 0, 1, …, then the negative ones, of `count`, in cycles per unit of which a sample takes d. */
static luc_status frequencies(luc_context *ctx, const luc_value *args, int64_t count,
                              int64_t positive, luc_value *out) {
  int64_t n = args[0].as.i;
  luc_dtype dtype;
  luc_tensor *t;
  LUC_TRY(sampled(ctx, "requires a floating point or complex dtype", args + 2, &dtype));
  LUC_TRY(luc__check_sizes(ctx, 1, &n));
  LUC_TRY(luc__tensor_empty(ctx, LUC_FLOAT64, 1, &count, &t));
  double factor = 1 / ((double)n * luc_as_double(&args[1]));
  for (int64_t i = 0; i < count; i++)
    ((double *)t->data)[i] = (double)(i < positive ? i : i - n) * factor;
  return luc__factory_give_as(ctx, t, dtype, args + 2, out);
}

luc_status luc__run_fft_fftfreq(luc_context *ctx, luc_value *args, luc_value *out) {
  int64_t n = args[0].as.i;
  return frequencies(ctx, args, n, n - n / 2, out);
}

luc_status luc__run_fft_rfftfreq(luc_context *ctx, luc_value *args, luc_value *out) {
  int64_t count = args[0].as.i / 2 + 1;
  return frequencies(ctx, args, count, count, out);
}
