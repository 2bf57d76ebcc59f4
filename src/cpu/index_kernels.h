/* Loops over positions, masks and rows that are looked up, one table per instruction set. */
#ifndef LUC_INDEX_KERNELS_H
#define LUC_INDEX_KERNELS_H

#include "cpu/index.h"

/* Row offsets[i] of to gets alpha times `count` elements of row i of from, a step apart: of floats
 * and doubles. */
typedef void (*luc_add_rows_fn)(void *to, const int64_t *offsets, int64_t n, const void *from,
                                int64_t step, int64_t count, double alpha);
extern const luc_add_rows_fn luc__add_rows_base[2], luc__add_rows_avx2[2], luc__add_rows_avx512[2];

typedef struct luc_index_kernels {
  /* Are all of [first, first + size)? */
  bool (*in_range)(const int64_t *at, int64_t n, int64_t first, int64_t size);
  /* out[i] = base + at[i] * stride + places[i], which may be NULL */
  void (*offsets)(int64_t *out, const int64_t *at, int64_t n, int64_t base, int64_t stride,
                  const int64_t *places);
  /* at[i] that is not of [from, to) becomes spare */
  void (*within)(int64_t *at, int64_t n, int64_t from, int64_t to, int64_t spare);
  /* Of n elements those whose bit is set, in order, but no more than `room`; returns how many. Of
   * elements of 1, 2, 4 and 8 bytes, or of numbers from `first` on. */
  int64_t (*choose[4])(void *out, const void *in, const bool *mask, int64_t n, int64_t room);
  int64_t (*choose_places)(int64_t *out, int64_t first, int64_t step, const bool *mask, int64_t n,
                           int64_t room);
  void (*fill[5])(char *data, const bool *mask, int64_t n, const void *value); /* as moves are */
  const luc_add_rows_fn *add_rows;                                             /* [2] */
  luc_index_table_fn add_f16, add_bf16; /* sums in the machine's own way, or NULL */
  /* out [dim] = the sum of table's rows at n places, each times its scale (NULL: 1); of halves out
   * and scales are floats */
  void (*bag_sum[4])(void *out, const void *table, const int64_t *rows, const void *scales,
                     int64_t n, int64_t dim);
  /* at [dim] = the rows that have the largest values, of at least one */
  void (*bag_argmax[2])(int64_t *at, const void *table, const int64_t *rows, int64_t n,
                        int64_t dim);
} luc_index_kernels;

extern const luc_index_kernels luc__index_base, luc__index_avx2, luc__index_avx512;

#endif
