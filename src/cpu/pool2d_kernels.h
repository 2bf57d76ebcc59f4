/* What pool2d.isa.c offers to pool2d.c: one plane at a time. */
#ifndef LUC_POOL2D_KERNELS_H
#define LUC_POOL2D_KERNELS_H

#include "cpu/pool2d.h"

enum { LUC_POOL_WIDEST = 512 };

typedef struct luc_pool2d_kernels {
  void (*max)(const luc_pool2d *p, const void *x, void *y, int64_t *indices);
  /* The same for 2 × 2 windows side by side, without indices. */
  void (*max_2x2)(const luc_pool2d *p, const void *x, void *y);
  /* The same for strides of 1 and 2 along rows, windows of at most LUC_POOL_WIDEST there. */
  void (*max_lines)(const luc_pool2d *p, const void *x, void *y);
  /* dx is zero to begin with, except for max_2x2_backward, which writes all of it. */
  void (*max_backward)(const luc_pool2d *p, const void *dy, const void *x, const int64_t *indices,
                       void *dx);
  void (*max_2x2_backward)(const luc_pool2d *p, const void *dy, const void *x, void *dx);
  void (*avg)(const luc_pool2d *p, bool adaptive, const void *x, void *y);
  /* The same for what max_lines takes, not adaptive. */
  void (*avg_lines)(const luc_pool2d *p, const void *x, void *y);
  void (*avg_backward)(const luc_pool2d *p, bool adaptive, const void *dy, void *dx);
  /* Row r of windows.h's: most = the larger of it and most, in rows which it came from (int32, or
   * int64 for doubles). Row 0 comes first. Whole vectors are written. */
  void (*max_row)(const void *row, int64_t n, int64_t r, void *most, void *rows);
} luc_pool2d_kernels;

extern const luc_pool2d_kernels luc__pool2d_base[2], luc__pool2d_avx2[2], luc__pool2d_avx512[2];

#endif
