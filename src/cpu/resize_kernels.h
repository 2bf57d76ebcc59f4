/* What resize.isa.c offers to resize.c: lines of an outer dimension. */
#ifndef LUC_RESIZE_KERNELS_H
#define LUC_RESIZE_KERNELS_H

#include "cpu/resize.h"

/* A pass: y [outer, out, inner] from x [outer, in, inner]. */
typedef struct luc_resize_job {
  const luc_taps *taps, *rows; /* rows: how the lines of x are picked; NULL: all of them are */
  int64_t inner;
  const void *plan; /* of lines of single elements; NULL: there is none */
  const void *x;
  void *y;
} luc_resize_job;

typedef struct luc_resize_kernels {
  /* How vectors of adjacent outputs are picked from two vectors of the input: writes as much of it
   * as there is room for, in bytes, and returns its size; plan NULL: what that mostly is. */
  size_t (*plan)(const luc_taps *taps, void *plan, size_t room);
  luc_range_fn elements; /* inner 1 */
  luc_range_fn rows;
} luc_resize_kernels;

extern const luc_resize_kernels luc__resize_base[2], luc__resize_avx2[2], luc__resize_avx512[2];

#endif
