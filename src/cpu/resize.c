/* Tables of taps, and the passes that use them, lines in parallel. */
#include "cpu/resize.h"

#include <math.h>
#include <string.h>

#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/resize_kernels.h"

enum { PIECE_WORK = 1 << 14, WORTH = 4 }; /* products per piece; lines that are worth a plan */

/* ---- positions, in float where the tensors are float ---- */

static double rounded(luc_dtype dtype, double x) {
  return dtype == LUC_FLOAT64 ? x : (double)(float)x;
}

/* Input elements for each output element. */
static double step_of(luc_dtype dtype, int64_t in, int64_t out, double scale, bool align) {
  if (align) return out > 1 ? rounded(dtype, (double)(in - 1) / (double)(out - 1)) : 0;
  return rounded(dtype, scale > 0 ? 1 / scale : (double)in / (double)out);
}

static double source_of(luc_dtype dtype, double step, int64_t o, bool align, bool cubic) {
  if (align) return rounded(dtype, step * (double)o);
  double at = rounded(dtype, rounded(dtype, step * ((double)o + 0.5)) - 0.5);
  return at < 0 && !cubic ? 0 : at;
}

/* ---- filters ---- */

/* The cubic convolution filter (Keys 1981) at distance x. */
static double cubic(double x, double a) {
  x = fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double triangle(double x) {
  x = fabs(x);
  return x < 1 ? 1 - x : 0;
}

static void fill_nearest(luc_taps *t, double *weight, luc_dtype dtype, double step, double shift) {
  for (int64_t o = 0; o < t->out; o++) {
    double at = rounded(dtype, ((double)o + shift) * step);
    t->at[o] = luc__clamp64((int64_t)floorf((float)at), 0, t->in - 1);
    weight[o] = 1;
  }
}

static void fill_linear(luc_taps *t, double *weight, luc_dtype dtype, double step, bool align) {
  for (int64_t o = 0; o < t->out; o++) {
    double at = source_of(dtype, step, o, align, false);
    int64_t first = luc__clamp64((int64_t)at, 0, t->in - 1);
    double part = at - (double)first;
    part = part < 1 ? part : 1;
    t->at[2 * o] = first;
    t->at[2 * o + 1] = luc__clamp64(first + 1, 0, t->in - 1);
    weight[2 * o] = 1 - part;
    weight[2 * o + 1] = part;
  }
}

static void fill_cubic(luc_taps *t, double *weight, luc_dtype dtype, double step, bool align) {
  for (int64_t o = 0; o < t->out; o++) {
    double at = source_of(dtype, step, o, align, true), base = floor(at), part = at - base;
    for (int k = 0; k < 4; k++) {
      t->at[4 * o + k] = luc__clamp64((int64_t)base - 1 + k, 0, t->in - 1);
      weight[4 * o + k] = cubic(part + 1 - k, -0.75);
    }
  }
}

/* How far the filter of an antialiased resize reaches. */
static double reach_of(luc_resampling kind, double step) {
  double half = kind == LUC_RESAMPLE_CUBIC_AA ? 2 : 1;
  return step > 1 ? half * step : half;
}

static void fill_wide(luc_taps *t, double *weight, luc_resampling kind, double step) {
  double reach = reach_of(kind, step), squeeze = step > 1 ? 1 / step : 1;
  for (int64_t o = 0; o < t->out; o++) {
    double centre = step * ((double)o + 0.5), sum = 0;
    int64_t first = (int64_t)(centre - reach + 0.5), last = (int64_t)(centre + reach + 0.5);
    if (centre - reach + 0.5 < 0) first = 0;
    if (last > t->in) last = t->in;
    for (int64_t k = 0; k < t->most; k++) {
      double x = ((double)(first + k) - centre + 0.5) * squeeze;
      double w = kind == LUC_RESAMPLE_CUBIC_AA ? cubic(x, -0.5) : triangle(x);
      if (first + k >= last) w = 0;
      t->at[o * t->most + k] = luc__clamp64(first + k, 0, t->in - 1);
      weight[o * t->most + k] = w;
      sum += w;
    }
    for (int64_t k = 0; k < t->most && sum != 0; k++) weight[o * t->most + k] /= sum;
    int64_t used = last - first < t->most ? last - first : t->most;
    t->count[o] = used > 0 ? used : 1;
  }
}

/* ---- tables ---- */

static int64_t entries(luc_resampling kind, double step) {
  switch (kind) {
  case LUC_RESAMPLE_LINEAR: return 2;
  case LUC_RESAMPLE_CUBIC: return 4;
  case LUC_RESAMPLE_LINEAR_AA:
  case LUC_RESAMPLE_CUBIC_AA: return (int64_t)ceil(reach_of(kind, step)) * 2 + 1;
  default: return 1;
  }
}

/* Doubles become floats in their place. */
static void shorten(void *weight, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double wide;
    memcpy(&wide, (char *)weight + i * sizeof wide, sizeof wide);
    float narrow = (float)wide;
    memcpy((char *)weight + i * sizeof narrow, &narrow, sizeof narrow);
  }
}

static luc_status taps_alloc(luc_context *ctx, luc_taps *taps) {
  size_t n = luc__mul_size((size_t)taps->out, (size_t)taps->most);
  size_t entry = (size_t)taps->most * (sizeof(int64_t) + sizeof(double));
  taps->bytes = luc__mul_size((size_t)taps->out, entry + sizeof(int64_t));
  taps->block = luc__alloc(ctx, taps->bytes);
  if (!taps->block) return LUC_ERR_MEMORY;
  taps->count = taps->block;
  taps->at = taps->count + taps->out;
  taps->weight = taps->at + n;
  return LUC_OK;
}

luc_status luc__taps_new(luc_context *ctx, luc_resampling kind, luc_dtype dtype, int64_t in,
                         int64_t out, double scale, bool align_corners, luc_taps *taps) {
  double step = step_of(dtype, in, out, scale, align_corners);
  /* As in PyTorch: whatever the scale, a dimension that stays as long is copied, but by these. */
  const bool moves = kind == LUC_RESAMPLE_NEAREST_EXACT || kind == LUC_RESAMPLE_CUBIC;
  if (in == out && !moves) kind = LUC_RESAMPLE_NEAREST, step = 1;
  *taps = (luc_taps){.in = in, .out = out, .most = entries(kind, step)};
  LUC_TRY(taps_alloc(ctx, taps));
  double *weight = taps->weight;
  for (int64_t o = 0; o < out; o++) taps->count[o] = taps->most;
  switch (kind) {
  case LUC_RESAMPLE_NEAREST: fill_nearest(taps, weight, dtype, step, 0); break;
  case LUC_RESAMPLE_NEAREST_EXACT: fill_nearest(taps, weight, dtype, step, 0.5); break;
  case LUC_RESAMPLE_LINEAR: fill_linear(taps, weight, dtype, step, align_corners); break;
  case LUC_RESAMPLE_CUBIC: fill_cubic(taps, weight, dtype, step, align_corners); break;
  default: fill_wide(taps, weight, kind, step);
  }
  if (dtype != LUC_FLOAT64) shorten(weight, (size_t)(out * taps->most));
  return LUC_OK;
}

luc_status luc__taps_turn(luc_context *ctx, luc_dtype dtype, luc_taps *taps) {
  const luc_taps t = *taps;
  const size_t size = luc__dtype_size(dtype), bytes = (size_t)t.in * sizeof(int64_t);
  luc_taps back = {.in = t.out, .out = t.in, .most = 1};
  int64_t *uses = luc__alloc_zero(ctx, bytes);
  if (!uses) return LUC_ERR_MEMORY;
  for (int64_t o = 0; o < t.out; o++)
    for (int64_t k = 0; k < t.count[o]; k++) {
      int64_t n = ++uses[t.at[o * t.most + k]];
      if (n > back.most) back.most = n;
    }
  luc__free(ctx, uses, bytes);
  LUC_TRY(taps_alloc(ctx, &back));
  memset(back.block, 0, back.bytes);
  for (int64_t o = 0; o < t.out; o++)
    for (int64_t k = 0; k < t.count[o]; k++) {
      const int64_t from = o * t.most + k, i = t.at[from];
      const int64_t to = i * back.most + back.count[i]++;
      back.at[to] = o;
      memcpy((char *)back.weight + (size_t)to * size, (const char *)t.weight + (size_t)from * size,
             size);
    }
  luc__taps_free(ctx, taps);
  *taps = back;
  return LUC_OK;
}

bool luc__taps_copy(const luc_taps *taps) {
  bool same = taps->in == taps->out && taps->most == 1;
  for (int64_t o = 0; o < taps->out && same; o++) same = taps->count[o] == 1 && taps->at[o] == o;
  return same;
}

void luc__taps_free(luc_context *ctx, luc_taps *taps) {
  luc__free(ctx, taps->block, taps->bytes);
  taps->block = NULL;
}

/* ---- passes ---- */

luc_status luc__resample(luc_context *ctx, luc_dtype dtype, const luc_taps *taps,
                         const luc_taps *rows, int64_t outer, int64_t inner, const void *x,
                         void *y) {
  const luc_resize_kernels *kernels = &luc__kernels(ctx)->resize[dtype];
  luc_resize_job j = {.taps = taps, .rows = rows, .inner = inner, .x = x, .y = y};
  size_t bytes = 0, needed = inner == 1 && outer >= WORTH ? kernels->plan(taps, NULL, 0) : 0;
  void *plan = NULL;
  while (needed > bytes) {
    luc__free(ctx, plan, bytes);
    bytes = needed;
    if (!(plan = luc__alloc(ctx, bytes))) return LUC_ERR_MEMORY;
    needed = kernels->plan(taps, plan, bytes);
  }
  j.plan = plan;
  const int64_t work = taps->out * taps->most * inner + 1;
  luc__parallel_for(ctx, outer, PIECE_WORK / work + 1,
                    inner == 1 ? kernels->elements : kernels->rows, &j);
  luc__free(ctx, plan, bytes);
  return LUC_OK;
}
