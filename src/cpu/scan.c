/* Scans, line by line; lines are shared out between threads. */
#include "cpu/scan.h"

#include <math.h>

#include "base/pool.h"

enum { GRAIN = 1 << 15 };

static double log_add(double a, double b) {
  double large = a > b ? a : b, apart = a > b ? b - a : a - b;
  if (a != a || b != b) return a + b;
  return isinf(large) ? large : large + log1p(exp(apart));
}

#define S           double
#define PLUS(a, b)  ((a) + (b))
#define TIMES(a, b) ((a) * (b))

#define T        float
#define FN(name) name##_f32
#include "cpu/scan.inc"

#define T        double
#define FN(name) name##_f64
#include "cpu/scan.inc"

/* Integers wrap around. */
#undef S
#undef PLUS
#undef TIMES
#define S           int64_t
#define PLUS(a, b)  (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define TIMES(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))

#define T        int64_t
#define FN(name) name##_i64
#include "cpu/scan.inc"

/* ---- lines ---- */

typedef struct scan_job {
  const luc_scan *s;
  const char *x, *dy;
  char *y;
  int64_t *at;
} scan_job;

/* The first element of line i, and the step along it. */
static int64_t line_start(const luc_scan *s, int64_t i, int64_t *step) {
  int64_t first = i / s->inner * s->n * s->inner + i % s->inner;
  *step = s->reverse ? -s->inner : s->inner;
  return s->reverse ? first + (s->n - 1) * s->inner : first;
}

static void scan_lines(void *arg, int64_t begin, int64_t end) {
  const scan_job *job = arg;
  const luc_scan *s = job->s;
  for (int64_t i = begin; i < end; i++) {
    int64_t step, first = line_start(s, i, &step),
                  bytes = first * (s->dtype == LUC_FLOAT32 ? 4 : 8);
    const void *x = job->x + bytes;
    void *y = job->y + bytes;
    int64_t *at = job->at ? job->at + first : NULL;
    if (s->dtype == LUC_FLOAT32) scan_f32(s->op, x, y, at, s->n, step);
    if (s->dtype == LUC_FLOAT64) scan_f64(s->op, x, y, at, s->n, step);
    if (s->dtype == LUC_INT64) scan_i64(s->op, x, y, at, s->n, step);
  }
}

static void backward_lines(void *arg, int64_t begin, int64_t end) {
  const scan_job *job = arg;
  const luc_scan *s = job->s;
  for (int64_t i = begin; i < end; i++) {
    int64_t step, first = line_start(s, i, &step),
                  bytes = first * (s->dtype == LUC_FLOAT32 ? 4 : 8);
    const void *x = job->x + bytes, *dy = job->dy + bytes;
    if (s->dtype == LUC_FLOAT32)
      product_backward_f32(dy, x, (void *)(job->y + bytes), s->n, step);
    else
      product_backward_f64(dy, x, (void *)(job->y + bytes), s->n, step);
  }
}

static void share_out(luc_context *ctx, scan_job *job, luc_range_fn fn) {
  const luc_scan *s = job->s;
  int64_t lines = s->outer * s->inner, grain = s->n > 0 && s->n < GRAIN ? GRAIN / s->n : 1;
  if (s->n > 0 && lines > 0) luc__parallel_for(ctx, lines, grain, fn, job);
}

void luc__scan(luc_context *ctx, const luc_scan *s, const void *x, void *y, int64_t *at) {
  scan_job job = {s, x, NULL, y, at};
  share_out(ctx, &job, scan_lines);
}

void luc__cumprod_backward(luc_context *ctx, const luc_scan *s, const void *dy, const void *x,
                           void *dx) {
  scan_job job = {s, x, dy, dx, NULL};
  share_out(ctx, &job, backward_lines);
}
