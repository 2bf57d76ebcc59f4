/* What indexing does with positions before anything moves, one table per instruction set. */
#ifndef LUC_INDEX_KERNELS_H
#define LUC_INDEX_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct luc_index_kernels {
  /* Are all of [first, first + size)? */
  bool (*in_range)(const int64_t *at, int64_t n, int64_t first, int64_t size);
  /* out[i] = base + at[i] * stride + i * step */
  void (*offsets)(int64_t *out, const int64_t *at, int64_t n, int64_t base, int64_t stride,
                  int64_t step);
  void (*fill[5])(char *data, const bool *mask, int64_t n, const void *value); /* as moves are */
} luc_index_kernels;

extern const luc_index_kernels luc__index_base, luc__index_avx2, luc__index_avx512;

#endif
