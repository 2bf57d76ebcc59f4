/* What grid.isa.c offers to grid.c: blocks of points, through all channels. */
#ifndef LUC_GRID_KERNELS_H
#define LUC_GRID_KERNELS_H

#include "cpu/copy_kernels.h"
#include "cpu/grid.h"

/* Points in a block, and elements in a pixel. */
enum { LUC_GRID_BLOCK = 128, LUC_GRID_PIXEL = 4 };

/* Images are read as they are, or as rows: the channels of a cell side by side, cell by cell, and a
 * cell of zeros after the last, which stands for all that is outside. Behind the last image there
 * is room for as many vectors as a pixel has elements. Rows are whole vectors, or pixels. */
typedef struct luc_grid_job {
  const luc_grid *g;
  const struct luc_grid_kernels *kernels;
  luc_transpose_fn turn;
  int64_t size;  /* bytes of an element */
  int taps;      /* along a dimension */
  int64_t cells; /* of an image */
  int64_t pitch; /* of a row, in elements */
  const void *rows, *dy;
  void *y, *dx, *dx_rows, *dgrid;
} luc_grid_job;

/* n cells of planes that are a `line` of elements apart as pixels, or back. */
typedef void (*luc_grid_pixels_fn)(void *to, const void *from, int64_t line, int64_t channels,
                                   int64_t n);

/* Of a job, by blocks of all images, numbered through. */
typedef struct luc_grid_kernels {
  luc_range_fn forward;
  luc_range_fn backward; /* adds to dx_rows, or dx if there are no rows; writes dgrid. NULL: not */
  luc_grid_pixels_fn to_pixels, from_pixels;
} luc_grid_kernels;

static inline int64_t luc__grid_blocks(const luc_grid *g) {
  return (g->points + LUC_GRID_BLOCK - 1) / LUC_GRID_BLOCK;
}

extern const luc_grid_kernels luc__grid_base[2], luc__grid_avx2[2], luc__grid_avx512[2];

#endif
