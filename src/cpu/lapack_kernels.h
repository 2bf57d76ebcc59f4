/* What lapack.isa.c offers to lapack.c: Householder reflections of columns. */
#ifndef LUC_LAPACK_KERNELS_H
#define LUC_LAPACK_KERNELS_H

#include "cpu/lapack.h"

/* A matrix by columns: column j is m adjacent elements at a + j * m. */
typedef struct luc_lapack_kernels {
  /* Makes the reflector of column j: R's diagonal entry in its place, the vector below it (its
   * first entry, 1, is not stored), and its factor. */
  void (*reflector)(int64_t m, int64_t j, void *a, void *tau);
  /* Applies reflector j of `a` to columns [begin, end) of `to`. */
  void (*apply)(int64_t m, int64_t j, const void *a, const void *tau, void *to, int64_t begin,
                int64_t end);
} luc_lapack_kernels;

extern const luc_lapack_kernels luc__lapack_base[2], luc__lapack_avx2[2], luc__lapack_avx512[2];

#endif
