/* Pooling, planes in parallel. */
#include "cpu/pool2d.h"

#include <string.h>

#include "cpu/cuts.h"
#include "cpu/kernels.h"
#include "cpu/pool2d_kernels.h"

enum { PIECE_WORK = 1 << 14 }; /* elements met per piece: some microseconds */

typedef struct job {
  const luc_pool2d *p;
  const luc_pool2d_kernels *kernels;
  int64_t in, out, size; /* elements of a plane; bytes of an element */
  bool simple, lines;    /* simple: 2 × 2 windows side by side; lines: see kernels */
  bool seamless;         /* all planes may be one long row */
  const char *x, *dy;
  char *to;
  int64_t *indices;
  const int64_t *places;
  int64_t beside; /* planes of a group of these */
} job;

int64_t luc__pool_out_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                           int64_t dilation, bool ceil_mode) {
  int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0 && !(ceil_mode && room + stride > 0)) return 0;
  int64_t out = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (out - 1) * stride >= in + padding) out--;
  return out;
}

/* Planes by a kernel that takes several. */
static void run_lines(const job *j,
                      void (*lines)(const luc_pool2d *, int64_t, const void *, void *),
                      int64_t begin, int64_t end) {
  luc_pool2d p = *j->p;
  int64_t planes = end - begin;
  if (j->seamless) {
    p.in[1] *= planes, p.out[1] *= planes;
    planes = 1;
  }
  lines(&p, planes, j->x + begin * j->in * j->size, j->to + begin * j->out * j->size);
}

static void max_planes(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  if (j->lines) {
    run_lines(j, j->kernels->max_lines, begin, end);
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    const char *x = j->x + i * j->in * j->size;
    char *y = j->to + i * j->out * j->size;
    if (j->simple)
      j->kernels->max_2x2(j->p, x, y);
    else
      j->kernels->max(j->p, x, y, j->indices ? j->indices + i * j->out : NULL);
  }
}

static void max_planes_backward(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t i = begin; i < end; i++)
    j->kernels->max_2x2_backward(j->p, j->dy + i * j->out * j->size, j->x + i * j->in * j->size,
                                 j->to + i * j->in * j->size);
}

static void scatter_planes(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t first = begin * j->beside, planes = (end - begin) * j->beside;
  char *dx = j->to + first * j->in * j->size;
  memset(dx, 0, (size_t)(planes * j->in * j->size));
  j->kernels->scatter(planes, j->out, j->in, j->beside, j->dy + first * j->out * j->size,
                      j->places + first * j->out, dx);
}

static void avg_planes(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  if (!j->simple) {
    run_lines(j, j->kernels->avg_lines, begin, end);
    return;
  }
  for (int64_t i = begin; i < end; i++)
    j->kernels->avg_2x2(j->p, j->x + i * j->in * j->size, j->to + i * j->out * j->size);
}

bool luc__pool_is_2x2(const luc_pool2d *p) {
  for (int d = 0; d < 2; d++)
    if (p->kernel[d] != 2 || p->stride[d] != 2 || p->padding[d] != 0 || p->dilation[d] != 1 ||
        2 * p->out[d] > p->in[d])
      return false;
  return true;
}

static bool has_lines(const luc_pool2d *p) {
  return (p->kernel[1] - 1) * p->dilation[1] < LUC_POOL_WIDEST;
}

bool luc__pool_is_seamless(const luc_pool2d *p) {
  return p->in[0] == 1 && p->out[0] == 1 && p->padding[1] == 0 &&
         p->in[1] == p->out[1] * p->stride[1] && (p->kernel[1] - 1) * p->dilation[1] < p->stride[1];
}

/* work: elements met in a plane. */
static void run(luc_context *ctx, luc_dtype dtype, int64_t planes, int64_t work, job *j,
                luc_range_fn fn) {
  j->kernels = &luc__kernels(ctx)->pool2d[dtype];
  j->size = (int64_t)luc__dtype_size(dtype);
  luc__parallel_for(ctx, planes, PIECE_WORK / (work + 1) + 1, fn, j);
}

static void run_windows(luc_context *ctx, job *j, luc_range_fn fn) {
  const luc_pool2d *p = j->p;
  j->in = p->in[0] * p->in[1];
  j->out = p->out[0] * p->out[1];
  j->seamless = luc__pool_is_seamless(p);
  const int64_t met = j->out * p->kernel[0] * p->kernel[1];
  run(ctx, p->dtype, p->planes, j->simple ? j->in / 2 : luc__max64(met, j->in), j, fn);
}

void luc__max_pool(luc_context *ctx, const luc_pool2d *p, const void *x, void *y,
                   int64_t *indices) {
  job j = {.p = p, .x = x, .to = y, .indices = indices, .simple = !indices && luc__pool_is_2x2(p)};
  j.lines = !indices && !j.simple && has_lines(p) && p->out[1] > 1;
  run_windows(ctx, &j, max_planes);
}

void luc__max_pool_2x2_backward(luc_context *ctx, const luc_pool2d *p, const void *dy,
                                const void *x, void *dx) {
  job j = {.p = p, .dy = dy, .x = x, .to = dx, .simple = true};
  run_windows(ctx, &j, max_planes_backward);
}

void luc__avg_pool(luc_context *ctx, const luc_pool2d *p, const void *x, void *y) {
  job j = {.p = p, .x = x, .to = y, .simple = luc__pool_is_2x2(p)};
  run_windows(ctx, &j, avg_planes);
}

void luc__pool_scatter(luc_context *ctx, luc_dtype dtype, int64_t planes, int64_t beside, int64_t n,
                       int64_t cells, const void *dy, const int64_t *indices, void *dx) {
  job j = {.in = cells, .out = n, .beside = beside, .dy = dy, .to = dx, .places = indices};
  run(ctx, dtype, planes / beside, beside * luc__max64(n, cells), &j, scatter_planes);
}
