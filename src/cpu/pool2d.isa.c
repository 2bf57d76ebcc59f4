/* Pooling of one plane, for float and double. */
#include "cpu/pool2d_kernels.h"

#include "cpu/cuts.h"

/* Where a window lies in one dimension: [begin, end), clipped; `full` counts padding too. */
typedef struct window {
  int64_t begin, end, full;
} window;

static window avg_window(const luc_pool2d *p, int d, int64_t o) {
  window w = {.begin = o * p->stride[d] - p->padding[d]};
  w.end = luc__min64(w.begin + p->kernel[d], p->in[d] + p->padding[d]);
  w.full = w.end - w.begin;
  w.begin = luc__max64(w.begin, 0), w.end = luc__min64(w.end, p->in[d]);
  return w;
}

/* What an average divides by; the sum of a window without elements is 0. */
static int64_t avg_divisor(const luc_pool2d *p, window h, window w) {
  if (p->divisor_override) return p->divisor_override;
  if (p->count_include_pad) return h.full * w.full;
  return luc__max64(h.end - h.begin, 1) * luc__max64(w.end - w.begin, 1);
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

/* Do positions fit an int32? */
static bool is_small(const luc_pool2d *p) {
  return p->in[0] * p->in[1] <= INT32_MAX;
}

/* Of a row, the windows whose columns are all inside, as far as vectors can hold positions. */
static window inner_windows(const luc_pool2d *p) {
  const int64_t room = p->in[1] + p->padding[1] - (p->kernel[1] - 1) * p->dilation[1] - 1;
  window w = {0};
  if (room < 0 || !is_small(p)) return w;
  w.begin = luc__cuts(p->padding[1], p->stride[1]);
  w.end = luc__min64(room / p->stride[1] + 1, p->out[1]);
  return w;
}

/* Columns that are joined at once; windows of a row that are worked on at once; and how many are
 * worth it. */
enum { LINE = 2 * LUC_POOL_WIDEST, ROW_BLOCK = 64, FEW = 4 };

/* Strides whose elements are picked from whole vectors, where each lane has a mask; and all those
 * that read whole vectors. */
#if defined(__AVX512F__)
enum { PICKED = 12, WHOLE = PICKED };
#else
enum { PICKED = 0, WHOLE = 4 };
#endif

/* The columns that n windows span. */
static int64_t covered(const luc_pool2d *p, int64_t n) {
  return (n - 1) * p->stride[1] + (p->kernel[1] - 1) * p->dilation[1] + 1;
}

/* How many windows at a time fit into a line. */
static int64_t line_windows(const luc_pool2d *p) {
  return luc__min64((LINE - covered(p, 1)) / p->stride[1] + 1, ROW_BLOCK);
}

#include "cpu/real_f32.inc"
#include "cpu/pool2d.inc"
#include "cpu/real_f64.inc"
#include "cpu/pool2d.inc"

/* ORDER DTYPE */
const luc_pool2d_kernels LUC_ISA_NAME(luc__pool2d)[2] = {
    {max_f32, max_2x2_f32, avg_2x2_f32, max_lines_f32, max_2x2_backward_f32, scatter_f32,
     avg_lines_f32, max_box_f32, max_rows_f32, sum_rows_f32, max_beside_f32, avg_beside_f32,
     share_beside_f32, LUC_VECTOR_BYTES / sizeof(float)},
    {max_f64, max_2x2_f64, avg_2x2_f64, max_lines_f64, max_2x2_backward_f64, scatter_f64,
     avg_lines_f64, max_box_f64, max_rows_f64, sum_rows_f64, max_beside_f64, avg_beside_f64,
     share_beside_f64, LUC_VECTOR_BYTES / sizeof(double)},
};
