/* One pass over the values. */
#include "cpu/histogram.h"

static double rounded(const luc_histogram *h, double x) {
  return h->single ? (double)(float)x : x;
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

void luc__histogram(const luc_histogram *h) {
  double first = h->edges[0], last = h->edges[h->bins];
  for (int64_t i = 0; i < h->n; i++)
    if (h->x[i] >= first && h->x[i] <= last)
      h->sums[bin_of(h, h->x[i])] += h->weights ? h->weights[i] : 1;
}
