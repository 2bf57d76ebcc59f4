/* Factorizations of dense matrices and what is solved by them, on our own products. Matrices are
 * row-major, contiguous, float32 or float64; `count` of them stand behind each other. An `info`
 * gets a code for each matrix: 0, or k > 0 where the k-th step (from 1) met a zero to divide by. */
#ifndef LUC_FACTOR_H
#define LUC_FACTOR_H

#include "base/context.h"
#include "tensor/dtype.h"

/* `count` matrices [m, n]. */
typedef struct luc_matrices {
  luc_dtype dtype;
  int64_t count, m, n;
} luc_matrices;

/* a becomes L (without its diagonal of ones) and U; pivots [min(m, n)]: the row, from 1, that each
 * row was exchanged with. */
luc_status luc__lu(luc_context *ctx, luc_matrices s, void *a, int32_t *pivots, int32_t *info);
/* to [n, n] becomes the inverse of a, where there is one. */
luc_status luc__inverse(luc_context *ctx, luc_matrices s, const void *a, void *to, int32_t *info);
/* b [n, k] becomes the solution of A X = B, where there is one. */
luc_status luc__solve(luc_context *ctx, luc_matrices s, int64_t k, const void *a, void *b,
                      int32_t *info);
/* The same with a triangle of a; the other is not read, nor is the diagonal when it is `unit`. */
luc_status luc__solve_triangle(luc_context *ctx, luc_matrices s, int64_t k, bool upper, bool unit,
                               const void *a, void *b);

#endif
