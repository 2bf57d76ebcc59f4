/* Tables of windows, and pooling by them, planes in parallel. Plain loops: few networks spend their
 * time here. */
#include "cpu/windows.h"

#include <math.h>
#include <string.h>

enum { PIECE_WORK = 1 << 14 }; /* elements met per piece */

/* ---- tables ---- */

static luc_status new_tables(luc_context *ctx, luc_windows *w) {
  int64_t n = w->out[0] + w->out[1] + w->out[2], copies = w->own ? w->planes : 1;
  w->bytes = luc__mul_size(luc__mul_size((size_t)(3 * n), (size_t)copies), sizeof *w->table);
  w->table = luc__alloc(ctx, w->bytes + !w->bytes);
  if (!w->table) return LUC_ERR_MEMORY;
  int64_t *at = w->table;
  for (int d = 0; d < 3; d++) {
    int64_t **parts[] = {&w->begin[d], &w->end[d], &w->counted[d]};
    for (int i = 0; i < 3; i++, at += w->out[d] * copies) *parts[i] = at;
  }
  return LUC_OK;
}

void luc__windows_free(luc_context *ctx, luc_windows *w) {
  if (w->table) luc__free(ctx, w->table, w->bytes + !w->bytes);
  w->table = NULL;
}

luc_status luc__windows_sliding(luc_context *ctx, luc_windows *w, const int64_t *kernel,
                                const int64_t *stride, const int64_t *padding,
                                const int64_t *dilation, bool include_pad) {
  LUC_TRY(new_tables(ctx, w));
  for (int d = 0; d < 3; d++) {
    w->step[d] = dilation[d];
    for (int64_t o = 0; o < w->out[d]; o++) {
      int64_t begin = o * stride[d] - padding[d], end = begin + (kernel[d] - 1) * dilation[d] + 1;
      int64_t padded = w->in[d] + padding[d], whole = (end < padded ? end : padded) - begin;
      while (begin < 0) begin += dilation[d];
      if (end > w->in[d]) end = w->in[d];
      w->begin[d][o] = begin < w->in[d] ? begin : w->in[d] - 1; /* all in padding: empty */
      w->end[d][o] = begin < end ? end : w->begin[d][o];
      w->counted[d][o] = include_pad ? whole : w->end[d][o] - w->begin[d][o];
    }
  }
  return LUC_OK;
}

luc_status luc__windows_adaptive(luc_context *ctx, luc_windows *w) {
  LUC_TRY(new_tables(ctx, w));
  for (int d = 0; d < 3; d++) {
    w->step[d] = 1;
    for (int64_t o = 0; o < w->out[d]; o++) {
      w->begin[d][o] = o * w->in[d] / w->out[d];
      w->end[d][o] = ((o + 1) * w->in[d] + w->out[d] - 1) / w->out[d];
      w->counted[d][o] = w->end[d][o] - w->begin[d][o];
    }
  }
  return LUC_OK;
}

/* Where window o begins, in the arithmetic of the dtype as in PyTorch. A sample can be anything:
 * windows stay inside. */
static int64_t fractional_begin(luc_dtype dtype, double sample, int64_t o, int64_t room,
                                int64_t out) {
  if (o == out - 1) return room;
  if (!(sample >= 0)) sample = 0;
  if (sample > 1) sample = 1;
  if (dtype == LUC_FLOAT64) {
    double by = (double)room / (double)(out - 1);
    return (int64_t)(((double)o + sample) * by) - (int64_t)(sample * by);
  }
  float by = (float)room / (float)(out - 1), u = (float)sample;
  return (int64_t)(((float)o + u) * by) - (int64_t)(u * by);
}

luc_status luc__windows_fractional(luc_context *ctx, luc_windows *w, const int64_t *kernel,
                                   const double *samples) {
  w->own = true;
  LUC_TRY(new_tables(ctx, w));
  for (int d = 0; d < 3; d++) {
    w->step[d] = 1;
    for (int64_t plane = 0, to = 0; plane < w->planes; plane++)
      for (int64_t o = 0; o < w->out[d]; o++, to++) {
        w->begin[d][to] =
            fractional_begin(w->dtype, samples[plane * 3 + d], o, w->in[d] - kernel[d], w->out[d]);
        w->end[d][to] = w->begin[d][to] + kernel[d];
      }
  }
  return LUC_OK;
}

/* ---- pooling ---- */

typedef struct job {
  const luc_windows *w;
  int64_t in, out; /* elements of a plane */
  const void *x;
  void *to;
  int64_t *indices;
} job;

/* The window of an output element, whose position in its plane is `at`. */
typedef struct box {
  int64_t plane, at[3], begin[3], end[3], divisor;
} box;

static void read_box(const luc_windows *w, box *b) {
  b->divisor = 1;
  for (int d = 0; d < 3; d++) {
    int64_t i = b->at[d] + (w->own ? b->plane * w->out[d] : 0);
    b->begin[d] = w->begin[d][i];
    b->end[d] = w->end[d][i];
    if (!w->own) b->divisor *= w->counted[d][i];
  }
  if (w->divisor) b->divisor = w->divisor;
  if (b->divisor == 0) b->divisor = 1; /* an empty window's sum is 0 */
}

static box first_box(const job *j, int64_t plane) {
  box b = {.plane = plane};
  if (j->out > 0) read_box(j->w, &b);
  return b;
}

static void next_box(const luc_windows *w, box *b) {
  int d = 2;
  while (d >= 0 && ++b->at[d] == w->out[d]) b->at[d--] = 0;
  if (d >= 0) read_box(w, b);
}

#define T      float
#define FN(id) id##_f32
#include "cpu/windows.inc"
#undef T
#undef FN

#define T      double
#define FN(id) id##_f64
#include "cpu/windows.inc"
#undef T
#undef FN

static void run(luc_context *ctx, job *j, luc_range_fn f32, luc_range_fn f64) {
  const luc_windows *w = j->w;
  j->in = w->in[0] * w->in[1] * w->in[2];
  j->out = w->out[0] * w->out[1] * w->out[2];
  int64_t work = (j->in > j->out ? j->in : j->out) + 1;
  luc__parallel_for(ctx, w->planes, PIECE_WORK / work + 1, w->dtype == LUC_FLOAT64 ? f64 : f32, j);
}

void luc__windows_max(luc_context *ctx, const luc_windows *w, const void *x, void *y,
                      int64_t *indices) {
  job j = {.w = w, .x = x, .to = y, .indices = indices};
  run(ctx, &j, max_f32, max_f64);
}

void luc__windows_avg(luc_context *ctx, const luc_windows *w, const void *x, void *y) {
  job j = {.w = w, .x = x, .to = y};
  run(ctx, &j, avg_f32, avg_f64);
}

void luc__windows_avg_backward(luc_context *ctx, const luc_windows *w, const void *dy, void *dx) {
  job j = {.w = w, .x = dy, .to = dx};
  run(ctx, &j, avg_backward_f32, avg_backward_f64);
}
