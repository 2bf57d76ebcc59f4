/* Adaptive max pooling: windows from floor(o * in / out) up to ceil((o + 1) * in / out), planes in
 * parallel. Plain loops: windows are of uneven sizes, and few networks use it. */
#include "cpu/adaptive_max.h"

enum { PIECE_WORK = 1 << 14 }; /* elements met per piece */

typedef struct job {
  const luc_pool2d *p;
  const void *x;
  void *y;
  int64_t *indices;
} job;

typedef struct span {
  int64_t begin, end;
} span;

static span window(const luc_pool2d *p, int d, int64_t o) {
  return (span){o * p->in[d] / p->out[d], ((o + 1) * p->in[d] + p->out[d] - 1) / p->out[d]};
}

#define T      float
#define FN(id) id##_f32
#include "cpu/adaptive_max.inc"
#undef T
#undef FN

#define T      double
#define FN(id) id##_f64
#include "cpu/adaptive_max.inc"

void luc__adaptive_max_pool(luc_context *ctx, const luc_pool2d *p, const void *x, void *y,
                            int64_t *indices) {
  job j = {p, x, y, indices};
  int64_t work = p->in[0] * p->in[1] + 1;
  luc__parallel_for(ctx, p->planes, PIECE_WORK / work + 1,
                    p->dtype == LUC_FLOAT64 ? planes_f64 : planes_f32, &j);
}
