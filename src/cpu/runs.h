/* Runs of equal neighbours: their first elements, and which run each element is in. NaN equals
 * nothing, -0 equals 0. */
#ifndef LUC_CPU_RUNS_H
#define LUC_CPU_RUNS_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef struct luc_runs {
  luc_dtype dtype;
  const void *x; /* contiguous, of a dtype that is not complex */
  int64_t n, count;
  int64_t *before; /* how many runs begin before each block; freed by luc__runs_end */
  size_t bytes;
} luc_runs;
luc_status luc__runs_begin(luc_context *ctx, luc_dtype dtype, const void *x, int64_t n,
                           luc_runs *runs);
void luc__runs_end(luc_context *ctx, luc_runs *runs);
/* values [count]; unless NULL: inverse [n], which counts from `first`, and lengths [count]. */
void luc__runs_take(luc_context *ctx, const luc_runs *runs, void *values, int64_t *inverse,
                    int64_t *lengths, int64_t first);

#endif
