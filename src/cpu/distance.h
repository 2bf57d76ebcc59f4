/* Distances of rows of matrices, and the slopes of those that are no matrix products. */
#ifndef LUC_CPU_DISTANCE_H
#define LUC_CPU_DISTANCE_H

#include "tensor/tensor.h"

/* Of every row of x1 to every row of another matrix, in batches; or of every row to those after
 * it. */
typedef struct luc_cdist {
  luc_dtype dtype; /* float32 or float64, of all data */
  double p;        /* >= 0; infinity is the greatest difference */
  int64_t batch, rows, others, m, pitch;
  const void *x1, *x2; /* [batch, rows, m]; the others turned, [batch, m, pitch] */
  void *out;           /* [batch, rows, others]; with `after`, [batch, rows (rows - 1) / 2] */
  bool after;          /* the others are the same rows: only those after each */
} luc_cdist;

void luc__cdist(luc_context *ctx, const luc_cdist *job);

/* out [batch, rows, m] = the sum over the others of sign(x1 - x2) g, for p = 1, or of those where
 * |x1 - x2| is the distance, for p = infinity. */
typedef struct luc_cdist_slope {
  luc_dtype dtype;
  bool largest; /* p is infinity */
  int64_t batch, rows, others, m;
  const void *x1, *x2;      /* [batch, rows, m], [batch, others, m] */
  const void *g, *y;        /* gradients and distances: one for a row and another, these steps on */
  int64_t by_row, by_other; /* in elements; a batch has rows * others */
  void *out;
} luc_cdist_slope;

void luc__cdist_slope(luc_context *ctx, const luc_cdist_slope *job);

/* Rows begin to end of all the batch's, as loops over ranges: arg is one of the above. */
typedef struct luc_distance_kernels {
  luc_range_fn distances, slopes;
} luc_distance_kernels;

/* ORDER DTYPE: float32, float64. */
extern const luc_distance_kernels luc__distance_base[2], luc__distance_avx2[2],
    luc__distance_avx512[2];

#endif
