/* Rows looked up by position, and the scatter that is the gradient. Positions count from 0. */
#ifndef LUC_EMBED_H
#define LUC_EMBED_H

#include "base/context.h"
#include "tensor/dtype.h"

/* Where the first entry outside [0, limit) is, or -1. `except` is let through wherever it stands
 * (pass 0 for none): an ignore_index. */
int64_t luc__index_check(const int64_t *indices, int64_t n, int64_t limit, int64_t except);
/* out [n, dim] = table [rows, dim] at indices[n]; any dtype. Indices must have been checked. */
luc_status luc__embedding(luc_context *ctx, luc_dtype dtype, int64_t n, int64_t dim,
                          const void *table, const int64_t *indices, void *out);
/* dtable [rows, dim] (wholly written) = sums of dy's rows; float32 and float64. Rows equal to
 * `padding` get none (-1: no padding row). scale_by_freq divides each row by its count. */
luc_status luc__embedding_backward(luc_context *ctx, luc_dtype dtype, int64_t n, int64_t dim,
                                   int64_t rows, int64_t padding, bool scale_by_freq,
                                   const void *dy, const int64_t *indices, void *dtable);
/* out [bags, dim] = sums of table's rows at indices[n], in their order; entry i is of bag[i], which
 * never falls; float32 and float64. */
void luc__bag_sum(luc_context *ctx, luc_dtype dtype, int64_t n, int64_t dim, int64_t bags,
                  const void *table, const int64_t *indices, const int64_t *bag, void *out);
/* at [bags, dim] = which of rows [n, dim] has the largest value of each bag (the first of equals;
 * 0 for bags without rows); bag[i] is row i's. */
void luc__bag_argmax(const double *rows, const int64_t *bag, int64_t n, int64_t dim, int64_t bags,
                     int64_t *at);

#endif
