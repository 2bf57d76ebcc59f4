/* Scans. Lines that lie side by side go together, row after row of them; those that lie one behind
 * the other go one by one. What has no kernel goes element by element. */
#include "cpu/scan.h"

#include <complex.h>
#include <math.h>

#include "base/pool.h"
#include "cpu/complex_kernels.h"
#include "cpu/cuts.h"
#include "cpu/elementwise.h"
#include "cpu/kernels.h"
#include "cpu/scan_kernels.h"

/* SOME: lines whose logarithms a vector adds up in less time than the C library's functions */
enum { GRAIN = 1 << 15, LOG_GRAIN = 1 << 12, LOG_LINES = 32, SOME = 3 };

static double log_add(double a, double b) {
  double large = a > b ? a : b, apart = a > b ? b - a : a - b;
  if (a != a || b != b) return a + b;
  return isinf(large) ? large : large + log1p(exp(apart));
}

/* What exp(a) is of exp(b), with the C library's function only where they differ. */
static double share_of(double a, double b) {
  return a == b ? 1 : exp(a - b);
}

/* As these, of complex numbers. Where sums cancel, an exponential may be above 1. */
static luc_wide load_wide(const char *p, luc_dtype dtype) {
  double parts[2];
  luc__load_complex(p, dtype, parts);
  return luc__wide(parts[0], parts[1]);
}

static void store_wide(char *p, luc_dtype dtype, luc_wide z) {
  luc__store_complex(p, dtype, (double[]){creal(z), cimag(z)});
}

static luc_wide wide_share_of(luc_wide a, luc_wide b) {
  return a == b ? 1 : cexp(a - b);
}

static void logsumexp_wide(const luc_scan *s, const char *x, char *y, int64_t step) {
  luc_wide total = luc__wide(-(double)INFINITY, 0);
  for (int64_t i = 0; i < s->n; i++, x += step, y += step)
    store_wide(y, s->dtype, total = luc__log_add(load_wide(x, s->dtype), total));
}

static void shares_wide(const luc_scan *s, const char *v, const char *x, const char *sums, char *y,
                        int64_t step) {
  luc_wide total = 0, before = 0;
  for (int64_t i = 0; i < s->n; i++, v += step, x += step, sums += step, y += step) {
    const luc_wide here = load_wide(sums, s->dtype), own = load_wide(x, s->dtype);
    const luc_wide share = wide_share_of(own, here), added = load_wide(v, s->dtype);
    if (i > 0) total *= s->reverse ? wide_share_of(here, before) : wide_share_of(before, here);
    total += s->reverse ? added : added * share;
    store_wide(y, s->dtype, s->reverse ? total * share : total);
    before = here;
  }
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
  const char *x, *v, *sums; /* v and sums: see scan.h's gradients */
  char *y;
  int64_t *at;
  const luc_scan_kernel *kernel;
  int64_t size, blocks; /* bytes of an element; of columns, side by side */
  luc_load_fn load;     /* these are for sums of powers */
  luc_store_fn store;
  luc_ew_fn log_add;
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
    int64_t step, first = line_start(s, i, &step), bytes = first * job->size;
    const void *x = job->x + bytes;
    void *y = job->y + bytes;
    int64_t *at = job->at ? job->at + first : NULL;
    if (s->dtype == LUC_FLOAT32) scan_f32(s->op, x, y, at, s, step);
    if (s->dtype == LUC_FLOAT64) scan_f64(s->op, x, y, at, s, step);
    if (s->dtype == LUC_INT64) scan_i64(s->op, x, y, at, s, step);
    if (luc__dtype_is_complex(s->dtype)) logsumexp_wide(s, x, y, step * job->size);
  }
}

static void product_lines_backward(void *arg, int64_t begin, int64_t end) {
  const scan_job *job = arg;
  const luc_scan *s = job->s;
  for (int64_t i = begin; i < end; i++) {
    int64_t step, bytes = line_start(s, i, &step) * job->size;
    const void *x = job->x + bytes, *dy = job->v + bytes;
    void *dx = job->y + bytes;
    if (s->dtype == LUC_FLOAT32)
      product_backward_f32(dy, x, dx, s->n, step);
    else
      product_backward_f64(dy, x, dx, s->n, step);
  }
}

static void share_lines(void *arg, int64_t begin, int64_t end) {
  const scan_job *job = arg;
  const luc_scan *s = job->s;
  for (int64_t i = begin; i < end; i++) {
    int64_t step, bytes = line_start(s, i, &step) * job->size;
    const void *v = job->v + bytes, *x = job->x + bytes, *sums = job->sums + bytes;
    void *y = job->y + bytes;
    if (luc__dtype_is_complex(s->dtype))
      shares_wide(s, v, x, sums, y, step * job->size);
    else if (s->dtype == LUC_FLOAT32)
      shares_f32(v, x, sums, y, s->n, step, s->reverse);
    else
      shares_f64(v, x, sums, y, s->n, step, s->reverse);
  }
}

static void share_out(luc_context *ctx, scan_job *job, luc_range_fn fn) {
  const luc_scan *s = job->s;
  int64_t lines = s->outer * s->inner, grain = s->n > 0 && s->n < GRAIN ? GRAIN / s->n : 1;
  job->size = (int64_t)luc__dtype_size(s->dtype);
  if (s->n > 0 && lines > 0) luc__parallel_for(ctx, lines, grain, fn, job);
}

/* ---- lines by kernels ---- */

/* Blocks of adjacent columns. */
static void scan_columns(void *arg, int64_t begin, int64_t end) {
  const scan_job *job = arg;
  const luc_scan *s = job->s;
  const int64_t step = s->reverse ? -s->inner : s->inner;
  const int64_t last = s->reverse ? (s->n - 1) * s->inner : 0;
  int64_t group = begin / job->blocks, column = begin % job->blocks * LUC_SCAN_LINES;
  luc_scan_state state;
  for (int64_t i = begin; i < end; i++) {
    const int64_t first = group * s->n * s->inner + last + column;
    luc_scan_strip strip = {luc__min64(s->inner - column, LUC_SCAN_LINES), s->n, step, s->first};
    job->kernel->lines(&strip, job->x + first * job->size, job->y + first * job->size,
                       job->at ? job->at + first : NULL, &state);
    column += LUC_SCAN_LINES;
    if (column < s->inner) continue;
    group++;
    column = 0;
  }
}

/* Lines whose beginnings are a step apart: columns, or lines one behind the other. */
static int64_t log_side(const luc_scan *s) {
  return s->inner > 1 ? s->inner : s->outer;
}

/* Blocks of lines, the next element of all in double at once. */
static void log_lines(void *arg, int64_t begin, int64_t end) {
  static const luc_ew_params none;
  const scan_job *job = arg;
  const luc_scan *s = job->s;
  const int64_t side = log_side(s), apart = (s->inner > 1 ? 1 : s->n) * job->size;
  double total[LOG_LINES], here[LOG_LINES];
  for (int64_t i = begin; i < end; i++) {
    int64_t line = i % job->blocks * LOG_LINES, lines = luc__min64(side - line, LOG_LINES), step;
    int64_t at = line_start(s, i / job->blocks * side + line, &step) * job->size;
    for (int64_t k = 0; k < lines; k++) total[k] = -(double)INFINITY;
    for (int64_t r = 0; r < s->n; r++, at += step * job->size) {
      job->load(here, job->x + at, apart, lines);
      job->log_add(total, (const void *[LUC_EW_MAX_INPUTS]){total, here}, lines, &none, 0);
      job->store(job->y + at, apart, total, lines);
    }
  }
}

static void run_log(luc_context *ctx, scan_job *job) {
  const luc_scan *s = job->s;
  const luc_kernels *k = luc__kernels(ctx);
  job->load = k->copy->load[LUC_COMPUTE_F64][s->dtype];
  job->store = k->copy->store[LUC_COMPUTE_F64][s->dtype];
  job->log_add = k->elementwise[LUC_EW_logaddexp].fn[LUC_COMPUTE_F64];
  job->size = (int64_t)luc__dtype_size(s->dtype);
  job->blocks = luc__cuts(log_side(s), LOG_LINES);
  const int64_t pieces = s->outer * s->inner / log_side(s) * job->blocks;
  luc__parallel_for(ctx, pieces, LOG_GRAIN / (s->n * LOG_LINES) + 1, log_lines, job);
}

static void scan_rows(void *arg, int64_t begin, int64_t end) {
  const scan_job *job = arg;
  const luc_scan *s = job->s;
  const int64_t first = begin * s->n, bytes = first * job->size;
  job->kernel->line(job->x + bytes, job->y + bytes, job->at ? job->at + first : NULL, s->n,
                    end - begin, s->reverse, s->first);
}

/* Beside each other, places are integers of the elements' size. */
static bool has_kernel(const luc_scan *s) {
  if (s->op == LUC_SCAN_LOGSUMEXP) return false;
  return s->inner == 1 || s->op == LUC_SCAN_SUM || s->op == LUC_SCAN_PROD || s->n <= INT32_MAX;
}

void luc__scan(luc_context *ctx, const luc_scan *s, const void *x, void *y, int64_t *at) {
  const luc_scan flat = {s->op, s->dtype, false, 1, 1, s->outer * s->inner, s->first};
  if (s->n == 1) s = &flat;
  scan_job job = {.s = s, .x = x, .y = y, .at = at};
  if (s->n <= 0 || s->outer * s->inner <= 0) return;
  if (s->op == LUC_SCAN_LOGSUMEXP && !luc__dtype_is_complex(s->dtype) && log_side(s) >= SOME) {
    run_log(ctx, &job);
    return;
  }
  if (!has_kernel(s)) {
    share_out(ctx, &job, scan_lines);
    return;
  }
  const int type = s->dtype == LUC_INT32 ? LUC_SCAN_I32 : (int)luc__compute(s->dtype);
  job.kernel = &luc__kernels(ctx)->scan[s->op][type];
  job.size = (int64_t)luc__dtype_size(s->dtype);
  if (s->inner == 1) {
    share_out(ctx, &job, scan_rows);
  } else {
    job.blocks = luc__cuts(s->inner, LUC_SCAN_LINES);
    int64_t side = luc__min64(s->inner, LUC_SCAN_LINES);
    luc__parallel_for(ctx, s->outer * job.blocks, GRAIN / (s->n * side) + 1, scan_columns, &job);
  }
}

void luc__cumprod_backward(luc_context *ctx, const luc_scan *s, const void *dy, const void *x,
                           void *dx) {
  scan_job job = {.s = s, .x = x, .v = dy, .y = dx};
  share_out(ctx, &job, product_lines_backward);
}

void luc__logcumsumexp_shares(luc_context *ctx, const luc_scan *s, const void *v, const void *x,
                              const void *sums, void *y) {
  scan_job job = {.s = s, .x = x, .v = v, .sums = sums, .y = y};
  share_out(ctx, &job, share_lines);
}
