/* The thread pool: parallel loops over index ranges, cut by the problem's size and never by the
 * number of threads, so that results do not depend on it. */
#ifndef LUC_POOL_H
#define LUC_POOL_H

#include "lucerna/base.h"

typedef struct luc_pool luc_pool;

luc_status luc__pool_new(luc_context *ctx, const luc_config *cfg, luc_pool **out);
void luc__pool_free(luc_context *ctx, luc_pool *pool);

/* Calls fn over [0, n) in pieces of `grain` indices (the last may be shorter), on the caller and
 * the pool's workers; runs in the caller alone when there is one piece or one thread, or when
 * already inside a parallel loop. Never fails. */
void luc__parallel_for(luc_context *ctx, int64_t n, int64_t grain, luc_range_fn fn, void *arg);

/* Is a parallel loop running? Then its body may not allocate. */
bool luc__pool_busy(const luc_pool *pool);

#endif
