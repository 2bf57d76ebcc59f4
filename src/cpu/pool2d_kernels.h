/* What pool2d.isa.c offers to pool2d.c: one plane at a time, or some. */
#ifndef LUC_POOL2D_KERNELS_H
#define LUC_POOL2D_KERNELS_H

#include "cpu/pool2d.h"

/* A window, maybe of planes that lie side by side: how many layers, rows and columns it has, and
 * how many positions of a plane these are apart. */
typedef struct luc_pool_box {
  int64_t first, layers, rows, columns;
  int64_t layer_step, row_step, column_step;
} luc_pool_box;

typedef struct luc_pool2d_kernels {
  /* indices may be NULL. */
  void (*max)(const luc_pool2d *p, const void *x, void *y, int64_t *indices);
  /* Without indices, of 2 × 2 windows side by side. */
  void (*max_2x2)(const luc_pool2d *p, const void *x, void *y);
  void (*avg_2x2)(const luc_pool2d *p, const void *x, void *y);
  /* Without indices, of windows that span at most LUC_POOL_WIDEST columns. */
  void (*max_lines)(const luc_pool2d *p, int64_t planes, const void *x, void *y);
  /* Writes all of dx. */
  void (*max_2x2_backward)(const luc_pool2d *p, const void *dy, const void *x, void *dx);
  /* dx[places[i]] += dy[i], of planes of n such sums and of `cells` of dx each; groups of some lie
   * beside each other, element by element. */
  void (*scatter)(int64_t planes, int64_t n, int64_t cells, int64_t beside, const void *dy,
                  const int64_t *places, void *dx);
  /* Of windows that max_lines takes. */
  void (*avg_lines)(const luc_pool2d *p, int64_t planes, const void *x, void *y);
  /* Where the largest of a window of neighbouring columns is, which has some; it goes to *most. */
  int64_t (*max_box)(const luc_pool_box *b, const void *x, void *most);
  /* The largest of each column of a window, and which of its rows it came from (int32, or int64
   * for doubles). Whole vectors are written. */
  void (*max_rows)(const luc_pool_box *b, const void *x, void *most, void *rows);
  /* The sum of each column, by whole vectors. */
  void (*sum_rows)(const luc_pool_box *b, const void *x, void *sums);
  /* One window of `side` planes, a position of all of which is adjacent; places may be NULL. */
  void (*max_beside)(const luc_pool_box *b, const void *x, int64_t side, void *y, int64_t *places);
  void (*avg_beside)(const luc_pool_box *b, const void *x, int64_t side, double divisor, void *y);
  /* Adds to dx. */
  void (*share_beside)(const luc_pool_box *b, const void *dy, int64_t side, double divisor,
                       void *dx);
  int lanes; /* of a vector */
} luc_pool2d_kernels;

extern const luc_pool2d_kernels luc__pool2d_base[2], luc__pool2d_avx2[2], luc__pool2d_avx512[2];

#endif
