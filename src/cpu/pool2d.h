/* Pooling by sliding windows over the last two dimensions of contiguous [planes, H, W] memory;
 * one-dimensional pooling is H = 1 with kernel 1, stride 1, padding 0, dilation 1 in that
 * dimension. Other windows are those of windows.h. */
#ifndef LUC_POOL2D_H
#define LUC_POOL2D_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef struct luc_pool2d {
  luc_dtype dtype; /* LUC_FLOAT32 or LUC_FLOAT64 */
  int64_t planes;  /* N * C */
  int64_t in[2], out[2];
  int64_t kernel[2], stride[2], padding[2];
  int64_t dilation[2];      /* max pooling only; average pooling takes 1 */
  bool count_include_pad;   /* average pooling */
  int64_t divisor_override; /* average pooling; 0: none */
} luc_pool2d;

/* Output size of one dimension, PyTorch's rule: with ceil_mode the last window must begin inside
 * the input or its padding before. */
int64_t luc__pool_out_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                           int64_t dilation, bool ceil_mode);
/* The most columns that windows of an average may span. */
enum { LUC_POOL_WIDEST = 512 };

/* Largest of each window: the first of equals, and NaN before anything. indices (may be NULL) gets
 * its flat position h * W + w in the plane, from 0. */
void luc__max_pool(luc_context *ctx, const luc_pool2d *p, const void *x, void *y, int64_t *indices);
/* Are these windows of 2 × 2 side by side? */
bool luc__pool_is_2x2(const luc_pool2d *p);
/* Are planes single rows that windows fill? Then no window of the one long row that they are
 * together reaches from a plane into the next. */
bool luc__pool_is_seamless(const luc_pool2d *p);
/* dx from dy, for windows of 2 × 2: to look for their maxima again takes less than to have kept
 * where they are. */
void luc__max_pool_2x2_backward(luc_context *ctx, const luc_pool2d *p, const void *dy,
                                const void *x, void *dx);
void luc__avg_pool(luc_context *ctx, const luc_pool2d *p, const void *x, void *y);
/* dx [planes, cells] = zeros, to which dy [planes, n] is added at the positions `indices`. All lie
 * in groups of planes beside each other, element by element: of 1, or of an image's channels. */
void luc__pool_scatter(luc_context *ctx, luc_dtype dtype, int64_t planes, int64_t beside, int64_t n,
                       int64_t cells, const void *dy, const int64_t *indices, void *dx);

#endif
