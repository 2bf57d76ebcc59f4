/* One pass over the values, in pieces for the pool where they are counted. */
#include "cpu/histogram.h"

#include <string.h>

/* ---- pieces ---- */

enum { PIECE = 1 << 15, MOST = 16, BLOCK = 512, MOST_DIVIDED = 1 << 24 };

typedef void (*tally_fn)(const void *arg, int64_t begin, int64_t end, void *counts);

typedef struct tally {
  tally_fn fn;
  const void *arg;
  int64_t n, bins, pieces;
  int64_t *counts; /* [pieces, bins] */
} tally;

static void tally_pieces(void *arg, int64_t begin, int64_t end) {
  const tally *t = arg;
  for (int64_t i = begin; i < end; i++)
    t->fn(t->arg, i * t->n / t->pieces, (i + 1) * t->n / t->pieces, t->counts + i * t->bins);
}

/* Calls fn over pieces of [0, n), each with counts [bins] of its own, from 0; adds them up. */
static luc_status tally_up(luc_context *ctx, int64_t n, int64_t bins, tally_fn fn, const void *arg,
                           int64_t *counts) {
  tally t = {fn, arg, n, bins, n / PIECE < MOST ? n / PIECE : MOST, NULL};
  memset(counts, 0, (size_t)bins * sizeof *counts);
  if (t.pieces < 2 || bins > PIECE / MOST) { /* then adding them up would cost as much */
    fn(arg, 0, n, counts);
    return LUC_OK;
  }
  size_t bytes = (size_t)(t.pieces * bins) * sizeof *counts;
  t.counts = luc__alloc_zero(ctx, bytes);
  if (!t.counts) return LUC_ERR_MEMORY;
  luc__parallel_for(ctx, t.pieces, 1, tally_pieces, &t);
  for (int64_t i = 0; i < t.pieces * bins; i++) counts[i % bins] += t.counts[i];
  luc__free(ctx, t.counts, bytes);
  return LUC_OK;
}

/* ---- histograms ---- */

static double rounded(const luc_histogram *h, double x) {
  return h->single ? (double)(float)x : x;
}

static double value(const luc_histogram *h, int64_t i) {
  return h->single ? (double)((const float *)h->x)[i] : ((const double *)h->x)[i];
}

/* The last of edges [low, high) that is at most x, or low - 1. */
static int64_t bisect(const double *edges, int64_t low, int64_t high, double x) {
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (edges[middle] <= x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

static int64_t bin_of(const luc_histogram *h, double x) {
  int64_t bins = h->bins, bin;
  if (h->binning == LUC_BINS_ANY) {
    bin = bisect(h->edges, 0, bins + 1, x);
  } else {
    double from = h->edges[0], width = rounded(h, h->edges[bins] - from);
    double scaled = rounded(h, rounded(h, x - from) * (double)bins);
    double place = rounded(h, scaled / width);
    bin = place < (double)bins ? (int64_t)place : bins; /* NaN where the width is 0 or infinite */
    if (h->binning == LUC_BINS_EQUAL) {
      int64_t low = bin > 0 ? bin - 1 : 0, high = bin + 2 < bins + 1 ? bin + 2 : bins + 1;
      bin = bisect(h->edges, low, high, x);
    }
  }
  return bin < bins ? bin : bins - 1;
}

/* Order matters to sums of weights, not to counts. */
static void add_weights(const luc_histogram *h) {
  double first = h->edges[0], last = h->edges[h->bins];
  for (int64_t i = 0; i < h->n; i++) {
    double x = value(h, i);
    if (x >= first && x <= last) h->sums[bin_of(h, x)] += h->weights[i];
  }
}

#define T        float
#define FN(name) name##_f32
#include "cpu/histogram.inc"

#define T        double
#define FN(name) name##_f64
#include "cpu/histogram.inc"

/* Counts [bins + 1], of which the last may take what lies outside. */
static void count_range(const void *arg, int64_t begin, int64_t end, void *out) {
  const luc_histogram *h = arg;
  int64_t *counts = out;
  double first = h->edges[0], last = h->edges[h->bins];
  if (h->binning == LUC_BINS_DIVIDED && h->bins <= MOST_DIVIDED) {
    (h->single ? divide_f32 : divide_f64)(h, begin, end, counts);
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    double x = value(h, i);
    if (x >= first && x <= last) counts[bin_of(h, x)]++;
  }
}

luc_status luc__histogram(luc_context *ctx, const luc_histogram *h) {
  size_t bytes = (size_t)(h->bins + 1) * sizeof(int64_t);
  if (h->weights) {
    add_weights(h);
    return LUC_OK;
  }
  int64_t *counts = luc__alloc(ctx, bytes);
  if (!counts) return LUC_ERR_MEMORY;
  luc_status status = tally_up(ctx, h->n, h->bins + 1, count_range, h, counts);
  for (int64_t i = 0; status == LUC_OK && i < h->bins; i++) h->sums[i] = (double)counts[i];
  luc__free(ctx, counts, bytes);
  return status;
}

/* ---- counts of integers ---- */

typedef struct bincount_job {
  luc_dtype dtype;
  const void *x, *weights;
  bool single;
} bincount_job;

/* Into counts, or into sums of weights in their place. */
#define COUNT(T)                                                                                   \
  _Pragma("GCC unroll 4") for (int64_t i = begin; i < counted; i++) counts[((const T *)x)[i]]++;   \
  for (int64_t i = begin; weights && single && i < end; i++)                                       \
    ((float *)out)[((const T *)x)[i]] += ((const float *)weights)[i];                              \
  for (int64_t i = begin; weights && !single && i < end; i++)                                      \
    ((double *)out)[((const T *)x)[i]] += ((const double *)weights)[i];                            \
  break
static void bincount_range(const void *arg, int64_t begin, int64_t end, void *out) {
  const bincount_job *const j = arg;
  const void *x = j->x, *weights = j->weights;
  const bool single = j->single;
  const int64_t counted = weights ? begin : end;
  int64_t *counts = out;
  switch (j->dtype) {
  case LUC_INT8: COUNT(int8_t);
  case LUC_INT16: COUNT(int16_t);
  case LUC_INT32: COUNT(int32_t);
  case LUC_INT64: COUNT(int64_t);
  default: COUNT(uint8_t);
  }
}

luc_status luc__bincount(luc_context *ctx, luc_dtype dtype, const void *x, int64_t n,
                         const void *weights, bool single, int64_t bins, void *out) {
  bincount_job j = {dtype, x, weights, single};
  if (!weights) return tally_up(ctx, n, bins, bincount_range, &j, out);
  memset(out, 0, (size_t)bins * (single ? sizeof(float) : sizeof(double)));
  bincount_range(&j, 0, n, out);
  return LUC_OK;
}
