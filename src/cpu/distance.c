/* Rows in parallel; float and double by distance.inc. */
#include "cpu/distance.h"

#include <math.h>

#include "base/pool.h"

enum { PIECE_WORK = 1 << 15 };

#define T       float
#define FN(f)   f##_f32
#define M(name) name##f
#include "cpu/distance.inc"
#undef T
#undef FN
#undef M

#define T       double
#define FN(f)   f##_f64
#define M(name) name
#include "cpu/distance.inc"
#undef T
#undef FN
#undef M

void luc__cdist(luc_context *ctx, const luc_cdist *job) {
  int64_t work = job->others * (job->m + 1) + 1, grain = PIECE_WORK / work + 1;
  luc_range_fn rows = job->dtype == LUC_FLOAT64 ? rows_f64 : rows_f32;
  luc__parallel_for(ctx, job->batch * job->rows, grain, rows, (void *)job);
}
