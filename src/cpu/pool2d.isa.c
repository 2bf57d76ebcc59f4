/* Pooling of one plane, for float and double. */
#include "cpu/pool2d_kernels.h"

/* Where a window lies in one dimension: [begin, end), clipped; `full` counts padding too. */
typedef struct window {
  int64_t begin, end, full;
} window;

static window avg_window(const luc_pool2d *p, bool adaptive, int d, int64_t o) {
  window w;
  if (adaptive) {
    w.begin = o * p->in[d] / p->out[d];
    w.end = ((o + 1) * p->in[d] + p->out[d] - 1) / p->out[d];
    w.full = w.end - w.begin;
    return w;
  }
  w.begin = o * p->stride[d] - p->padding[d];
  w.end = w.begin + p->kernel[d];
  if (w.end > p->in[d] + p->padding[d]) w.end = p->in[d] + p->padding[d];
  w.full = w.end - w.begin;
  if (w.begin < 0) w.begin = 0;
  if (w.end > p->in[d]) w.end = p->in[d];
  return w;
}

/* What an average divides by. */
static int64_t avg_divisor(const luc_pool2d *p, bool adaptive, window h, window w) {
  if (!adaptive && p->divisor_override) return p->divisor_override;
  if (!adaptive && p->count_include_pad) return h.full * w.full;
  return (h.end - h.begin) * (w.end - w.begin);
}

/* The first place of a window inside the plane. */
static int64_t max_begin(const luc_pool2d *p, int d, int64_t o) {
  int64_t begin = o * p->stride[d] - p->padding[d];
  int64_t dilation = p->dilation[d];
  return begin < 0 ? begin + (dilation - 1 - begin) / dilation * dilation : begin;
}

static int64_t max_end(const luc_pool2d *p, int d, int64_t o) {
  int64_t end = o * p->stride[d] - p->padding[d] + (p->kernel[d] - 1) * p->dilation[d] + 1;
  return end < p->in[d] ? end : p->in[d];
}

#include "cpu/real_f32.inc"
#include "cpu/pool2d.inc"
#include "cpu/real_f64.inc"
#include "cpu/pool2d.inc"

/* ORDER DTYPE */
const luc_pool2d_kernels LUC_ISA_NAME(luc__pool2d)[2] = {
    {max_f32, max_2x2_f32, max_lines_f32, max_backward_f32, max_2x2_backward_f32, avg_f32,
     avg_lines_f32, avg_backward_f32, max_row_f32},
    {max_f64, max_2x2_f64, max_lines_f64, max_backward_f64, max_2x2_backward_f64, avg_f64,
     avg_lines_f64, avg_backward_f64, max_row_f64},
};
