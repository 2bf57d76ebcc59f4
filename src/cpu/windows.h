/* Pooling by tables of windows: where each begins and ends along each dimension. Slower than
 * pool2d.h's kernels but of one to three dimensions and of any windows: sliding, adaptive,
 * fractional. Planes are contiguous, or lie side by side; dimensions that a pooling lacks have size
 * 1. */
#ifndef LUC_WINDOWS_H
#define LUC_WINDOWS_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef struct luc_windows {
  luc_dtype dtype; /* LUC_FLOAT32 or LUC_FLOAT64 */
  int64_t planes;
  int64_t in[3], out[3];
  int64_t step[3];     /* from one element of a window to the next: dilation */
  int64_t *begin[3];   /* [out] (of each plane, if own): the first element inside the input */
  int64_t *end[3];     /* likewise: past the last one */
  int64_t *counted[3]; /* what an average divides by is their product */
  int64_t divisor;     /* average pooling: this instead, unless 0 */
  bool own;            /* each plane has its own tables */
  int64_t side;        /* not own: unless 0, so many planes lie side by side: [positions, side] */
  int64_t *table;
  size_t bytes;
} luc_windows;

/* Windows of a stride over an input that is padded; counted includes the padding if include_pad.
 * out, in, planes and dtype are set. Each of these makes the tables, which luc__windows_free frees.
 */
luc_status luc__windows_sliding(luc_context *ctx, luc_windows *w, const int64_t *kernel,
                                const int64_t *stride, const int64_t *padding,
                                const int64_t *dilation, bool include_pad);
/* From floor(o * in / out) up to ceil((o + 1) * in / out). */
luc_status luc__windows_adaptive(luc_context *ctx, luc_windows *w);
/* Pseudo-random ones (Graham 2014), from a sample in [0, 1) for each plane and dimension. */
luc_status luc__windows_fractional(luc_context *ctx, luc_windows *w, const int64_t *kernel,
                                   const double *samples);
void luc__windows_free(luc_context *ctx, luc_windows *w);

/* Planes that windows go through: a plane's columns, elements and results, and a window's elements.
 */
typedef struct luc_planes {
  luc_dtype dtype;
  int64_t planes, columns, in, out, window;
} luc_planes;

/* Are they worked on side by side? Of more than a few elements only if their columns are at most
 * `narrow`, and 32. */
bool luc__windows_turn(luc_context *ctx, const luc_planes *p, int64_t narrow);
/* Largest of each window: the first of equals, NaN before anything; with its flat position in the
 * plane, from 0; indices may be NULL where planes lie side by side or turn so. */
luc_status luc__windows_max(luc_context *ctx, const luc_windows *w, const void *x, void *y,
                            int64_t *indices);
luc_status luc__windows_avg(luc_context *ctx, const luc_windows *w, const void *x, void *y);
luc_status luc__windows_avg_backward(luc_context *ctx, const luc_windows *w, const void *dy,
                                     void *dx);

#endif
