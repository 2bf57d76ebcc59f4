/* Elements as keys, and looking through keys, one table per instruction set. */
#ifndef LUC_SORT_KERNELS_H
#define LUC_SORT_KERNELS_H

#include "tensor/dtype.h"

enum { LUC_SORT_BLOCK = 16 };

typedef struct luc_sort_kernels {
  /* keys[i] = the key of x[at + i * step], with flip's bits turned */
  void (*keys)(const void *x, luc_dtype dtype, int64_t at, int64_t step, int64_t n, uint64_t flip,
               uint64_t *keys);
  /* Passes over whole blocks from j on with no key below limit. */
  int64_t (*pass)(const uint64_t *keys, int64_t j, int64_t n, uint64_t limit);
} luc_sort_kernels;

extern const luc_sort_kernels luc__sort_base, luc__sort_avx2, luc__sort_avx512;

#endif
