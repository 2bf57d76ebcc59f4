/* Searching in what is sorted, by the keys of sort.h. */
#ifndef LUC_SEARCH_H
#define LUC_SEARCH_H

#include "tensor/tensor.h"

/* For each of n values, the place in its sorted row of m bounds before which it would go (right:
 * after equal ones), counted from `first`. One row for all values, or one per `per_row` values. All
 * of one dtype. */
typedef struct luc_search_job {
  luc_dtype dtype;
  const void *bounds, *values;
  int64_t m, n, per_row, first;
  bool right;
  int64_t *out;
} luc_search_job;
luc_status luc__search(luc_context *ctx, const luc_search_job *job);

#endif
