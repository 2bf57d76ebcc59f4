/* What softmax.isa.c offers to softmax.c. Rows and columns are those of [outer, n, inner]: rows
 * where inner is 1, else columns [n] at distance inner, many side by side. */
#ifndef LUC_SOFTMAX_KERNELS_H
#define LUC_SOFTMAX_KERNELS_H

#include "cpu/softmax.h"

enum { LUC_SOFTMAX_COLUMNS = 256 }; /* side by side, at most */

typedef struct luc_softmax_kernels {
  /* `stream`: y goes past the cache; with it, and always for halves, softmax takes a `room` for n
   * elements, of halves as floats. */
  void (*rows)(bool log, int64_t count, int64_t n, const void *x, void *y, void *room, bool stream);
  /* `stream`: dx goes past the cache where it can. */
  void (*rows_backward)(bool log, int64_t count, int64_t n, const void *dy, const void *y, void *dx,
                        bool stream);
  /* `count` adjacent columns. */
  void (*columns)(bool log, int64_t n, int64_t inner, int64_t count, const void *x, void *y);
  void (*columns_backward)(bool log, int64_t n, int64_t inner, int64_t count, const void *dy,
                           const void *y, void *dx);
  void (*nll)(const luc_nll *l, const void *x, void *out, void *total_weight);
  /* Of samples [begin, end). */
  void (*nll_backward)(const luc_nll *l, const void *dy, const void *total_weight, void *dx,
                       int64_t begin, int64_t end);
} luc_softmax_kernels;

extern const luc_softmax_kernels luc__softmax_base[4], luc__softmax_avx2[4], luc__softmax_avx512[4];

#endif
