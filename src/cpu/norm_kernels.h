/* What norm.isa.c offers to norm.c: rows, columns and channels of normalizations. */
#ifndef LUC_NORM_KERNELS_H
#define LUC_NORM_KERNELS_H

#include "cpu/norm.h"

enum { LUC_NORM_CHANNELS = 16 }; /* whose planes go as they lie where statistics are known */

/* Channels [begin, end). */
typedef void (*luc_channels_fn)(const luc_batch_norm *b, const luc_norm_arrays *a, int64_t begin,
                                int64_t end);

typedef struct luc_norm_kernels {
  void (*layer_rows)(const luc_layer_norm *l, const luc_norm_arrays *a, int64_t begin, int64_t end);
  /* dx of some rows and their sums towards dweight [n] and, behind it, dbias [n]; of groups, those
   * of all images' channels are at `sums` [images, 2, channels]. */
  void (*layer_rows_backward)(const luc_layer_norm *l, const luc_norm_arrays *a, int64_t begin,
                              int64_t end, void *sums);
  /* Adds up so many of these. */
  void (*layer_add_sums)(const luc_layer_norm *l, const luc_norm_arrays *a, int64_t parts,
                         const void *sums);
  luc_channels_fn batch, batch_backward;
  luc_channels_fn batch_columns, batch_columns_backward; /* the same where inner is 1 */
} luc_norm_kernels;

extern const luc_norm_kernels luc__norm_base[4], luc__norm_avx2[4], luc__norm_avx512[4];

#endif
