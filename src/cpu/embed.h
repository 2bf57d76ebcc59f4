/* Rows looked up by position, and the scatter that is the gradient. Positions count from 0. */
#ifndef LUC_EMBED_H
#define LUC_EMBED_H

#include "base/context.h"
#include "tensor/dtype.h"

/* Where the first entry outside [0, limit) is, or -1. `except` is let through wherever it stands
 * (pass 0 for none): an ignore_index. */
int64_t luc__index_check(const int64_t *indices, int64_t n, int64_t limit, int64_t except);
/* out [n, dim] = table [rows, dim] at indices[n]; any dtype. Rows are `apart` elements from each
 * other. Indices must have been checked. */
luc_status luc__embedding(luc_context *ctx, luc_dtype dtype, int64_t n, int64_t dim,
                          const void *table, int64_t apart, const int64_t *indices, void *out);
/* Lookups [n], and the gradient dy [n, dim] of what they gave. The row `padding` gets none (-1: no
 * row); scale_by_freq divides each row's by its count. */
typedef struct luc_lookups {
  luc_dtype dtype;
  bool scale_by_freq;
  int64_t n, dim, padding;
  const int64_t *indices;
  const void *dy;
} luc_lookups;
/* dtable [rows, dim] (wholly written) = sums of dy's rows, of halves as float32. */
luc_status luc__embedding_backward(luc_context *ctx, const luc_lookups *l, int64_t rows,
                                   void *dtable);
/* The same as the rows that have any: at[n] gets which, ascending, *count how many, and sums
 * [n, dim] their sums. */
luc_status luc__embedding_rows(luc_context *ctx, const luc_lookups *l, int64_t *at, int64_t *count,
                               void *sums);
/* table's rows at at[n] += those of another table of its kind. */
void luc__add_rows(luc_context *ctx, luc_dtype dtype, int64_t dim, void *table, const void *other,
                   const int64_t *at, int64_t n);
/* table's rows at at[n] *= factor. */
void luc__scale_rows(luc_context *ctx, luc_dtype dtype, int64_t dim, void *table, double factor,
                     const int64_t *at, int64_t n);
/* Rows of a table [.., dim], of float or double, of sums also of halves, in bags: entry i is of
 * bag[i], which never falls. */
typedef struct luc_bags {
  luc_dtype dtype;
  int64_t n, dim, count;
  const void *table, *scales; /* of sums: each entry's factor; NULL: 1 */
  const int64_t *rows, *bag;
} luc_bags;
/* out [count, dim] = their sums, in their order; of halves out and scales are floats. */
void luc__bag_sum(luc_context *ctx, const luc_bags *bags, void *out);
/* at [count, dim] = the rows that have the largest values (of equals the first; 0 without rows). */
void luc__bag_argmax(luc_context *ctx, const luc_bags *bags, int64_t *at);

#endif
