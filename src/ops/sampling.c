/* Sequences that go with sampled signals: windows, and the frequencies of transforms. All are
 * computed in double and converted last. */
#include <math.h>

#include "cpu/special.h"
#include "ops/geometry.h"

/* What a dtype of such numbers can be. */
static luc_status sampled(luc_context *ctx, const char *what, const luc_value *opts,
                          luc_dtype *dtype) {
  LUC_TRY(luc__factory_dtype(ctx, "window", opts, (luc_dtype)ctx->default_dtype, dtype));
  LUC_CHECK(ctx, luc__dtype_is_float(*dtype), LUC_ERR_TYPE, "%s, got: %s", what,
            luc__dtype_name(*dtype));
  return LUC_OK;
}

/* ---- windows ---- */

/* Of x in [0, 1], with parameters of its own. */
typedef double (*window_fn)(double x, const double *p);

static double cosines(double x, const double *p) {
  double angle = 6.28318530717958647693 * x;
  return p[0] - p[1] * cos(angle) + (p[2] == 0 ? 0 : p[2] * cos(2 * angle));
}

static double tent(double x, const double *p) {
  (void)p;
  return 1 - fabs(2 * x - 1);
}

static double kaiser(double x, const double *p) {
  double y = 2 * x - 1;
  return luc__i0(p[0] * sqrt(1 - y * y)) / luc__i0(p[0]);
}

/* args: window_length, periodic, …; opts: the factory's. A periodic window is the next longer one
 * without its last value. */
static luc_status window(luc_context *ctx, const luc_value *args, const luc_value *opts,
                         window_fn value, const double *p, luc_value *out) {
  int64_t n = args[0].as.i;
  luc_dtype dtype;
  luc_tensor *t;
  LUC_TRY(sampled(ctx, "expects floating point dtypes", opts, &dtype));
  LUC_CHECK(ctx, n >= 0, LUC_ERR_VALUE,
            "requires non-negative window_length, got window_length=%lld", (long long)n);
  LUC_TRY(luc__tensor_empty(ctx, LUC_FLOAT64, 1, &n, &t));
  double last = (double)(args[1].as.i ? n : n - 1);
  for (int64_t i = 0; i < n; i++) ((double *)t->data)[i] = n == 1 ? 1 : value((double)i / last, p);
  return luc__factory_give_as(ctx, t, dtype, opts, out);
}

luc_status luc__run_hann_window(luc_context *ctx, luc_value *args, luc_value *out) {
  return window(ctx, args, args + 2, cosines, (double[]){0.5, 0.5, 0}, out);
}

luc_status luc__run_hamming_window(luc_context *ctx, luc_value *args, luc_value *out) {
  double p[3] = {luc_as_double(&args[2]), luc_as_double(&args[3]), 0};
  return window(ctx, args, args + 4, cosines, p, out);
}

luc_status luc__run_blackman_window(luc_context *ctx, luc_value *args, luc_value *out) {
  return window(ctx, args, args + 2, cosines, (double[]){0.42, 0.5, 0.08}, out);
}

luc_status luc__run_bartlett_window(luc_context *ctx, luc_value *args, luc_value *out) {
  return window(ctx, args, args + 2, tent, NULL, out);
}

luc_status luc__run_kaiser_window(luc_context *ctx, luc_value *args, luc_value *out) {
  double beta = luc_as_double(&args[2]);
  return window(ctx, args, args + 3, kaiser, &beta, out);
}

/* ---- frequencies ---- */

/* 0, 1, …, then the negative ones, of `count`, in cycles per unit of which a sample takes d. */
static luc_status frequencies(luc_context *ctx, const luc_value *args, int64_t count,
                              int64_t positive, luc_value *out) {
  int64_t n = args[0].as.i;
  luc_dtype dtype;
  luc_tensor *t;
  LUC_TRY(sampled(ctx, "requires a floating point or complex dtype", args + 2, &dtype));
  LUC_TRY(luc__check_sizes(ctx, "frequencies", 1, &n));
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
