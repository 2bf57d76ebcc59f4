/* cdist: distances of every row of one matrix to every row of another, in batches. */
#ifndef LUC_CPU_DISTANCE_H
#define LUC_CPU_DISTANCE_H

#include "tensor/tensor.h"

typedef struct luc_cdist {
  luc_dtype dtype; /* float32 or float64, of all data */
  double p;        /* >= 0; infinity is the greatest difference */
  int64_t batch, rows, others, m;
  const void *x1, *x2; /* [batch, rows, m], [batch, others, m] */
  void *out;           /* [batch, rows, others] */
} luc_cdist;

void luc__cdist(luc_context *ctx, const luc_cdist *job);

#endif
