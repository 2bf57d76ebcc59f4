/* Rows in parallel; distance.inc has the kernels. */
#include "cpu/distance.h"

#include "base/pool.h"
#include "cpu/kernels.h"

enum { PIECE_WORK = 1 << 17 };

static int64_t grain_of(int64_t others, int64_t m) {
  return PIECE_WORK / (others * (m + 1) + 1) + 1;
}

void luc__cdist(luc_context *ctx, const luc_cdist *job) {
  luc__parallel_for(ctx, job->batch * job->rows, grain_of(job->others, job->m),
                    luc__kernels(ctx)->distance[job->dtype].distances, (void *)job);
}

void luc__cdist_slope(luc_context *ctx, const luc_cdist_slope *job) {
  luc__parallel_for(ctx, job->batch * job->rows, grain_of(job->others, job->m),
                    luc__kernels(ctx)->distance[job->dtype].slopes, (void *)job);
}
