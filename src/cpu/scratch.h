/* Parallel loops whose pieces need scratch memory: few slots of it, taken and given back by
 * whichever thread runs a piece, so that memory is bounded and stays warm with many pieces. */
#ifndef LUC_SCRATCH_H
#define LUC_SCRATCH_H

#include "base/context.h"

/* Like luc_range_fn; scratch: 64 zeros, then undefined, or NULL if its size is 0. */
typedef void (*luc_scratch_fn)(void *arg, void *scratch, int64_t begin, int64_t end);

/* luc__parallel_for with `size` bytes of scratch for every range. */
luc_status luc__parallel_scratch(luc_context *ctx, int64_t n, int64_t grain, size_t size,
                                 luc_scratch_fn fn, void *arg);

#endif
