/* What factor.isa.c offers to factor.c: steps on few rows or columns. Matrices lie by rows; strides
 * are in elements. */
#ifndef LUC_FACTOR_KERNELS_H
#define LUC_FACTOR_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum { LUC_PANEL = 16 }; /* columns of a panel, rows of a small triangle */

typedef struct luc_factor_kernels {
  /* a [m, w] with w <= LUC_PANEL becomes L and U; pivots [min(m, w)] and info as luc__lu has them.
   * scratch [m, LUC_PANEL]. */
  void (*lu_panel)(int64_t m, int64_t w, void *a, int64_t a_row, void *scratch, int32_t *pivots,
                   int32_t *info);
  /* b [n, k] becomes X of A X = B, a [n, n] one triangle, n <= LUC_PANEL. */
  void (*triangle)(bool upper, bool unit, int64_t n, const void *a, int64_t a_row, int64_t k,
                   void *b, int64_t b_row);
} luc_factor_kernels;

/* ORDER DTYPE: float32, float64. */
extern const luc_factor_kernels luc__factor_base[2], luc__factor_avx2[2], luc__factor_avx512[2];

#endif
