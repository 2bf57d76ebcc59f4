/* Counting values into bins; weights are added up in double. */
#ifndef LUC_HISTOGRAM_H
#define LUC_HISTOGRAM_H

#include "tensor/tensor.h"

/* How a value's bin is found between ascending edges: by division alone (histc), by division and a
 * look at the neighbours, or by bisection where bins differ in width. */
typedef enum luc_binning { LUC_BINS_DIVIDED, LUC_BINS_EQUAL, LUC_BINS_ANY } luc_binning;

typedef struct luc_histogram {
  luc_binning binning;
  bool single; /* x is of float, and so are the quotients, as PyTorch's */
  int64_t bins;
  const double *edges; /* [bins + 1] */
  int64_t n;
  const void *x;         /* [n] of float if `single`, else of double */
  const double *weights; /* [n], or NULL for ones */
  double *sums;          /* [bins], zero before */
} luc_histogram;

/* Adds weights up; values outside the edges and NaN are left out. The last bin has both its
 * ends. */
luc_status luc__histogram(luc_context *ctx, const luc_histogram *h);

/* Counts (or adds up weights, of float if `single`, else of double, in their own type) the values
 * 0 … bins - 1 among n integers or bools. */
luc_status luc__bincount(luc_context *ctx, luc_dtype dtype, const void *x, int64_t n,
                         const void *weights, bool single, int64_t bins, void *out);

#endif
