/* Factorizations of dense matrices by LAPACK, from OpenBLAS, which is loaded when first needed so
 * that starting costs nothing. Where it is missing the functions say so. Matrices are row-major and
 * contiguous, real or complex, of single precision or double; `count` of them stand behind each
 * other; eigenvalues, singular values and logarithms are real. An `info` gets LAPACK's code for
 * each matrix: 0, or k > 0 where the k-th step (from 1) met what the routine cannot do, or
 * LUC_LAPACK_INFINITE for what is not worth a try. */
#ifndef LUC_LAPACK_H
#define LUC_LAPACK_H

#include "base/context.h"
#include "tensor/dtype.h"

/* The code of a matrix with NaN or infinities in it. */
enum { LUC_LAPACK_INFINITE = -1 };

/* `count` matrices [m, n]. */
typedef struct luc_matrices {
  luc_dtype dtype;
  int64_t count, m, n;
} luc_matrices;

/* A [m, n] = Q [m, columns] R [rows, n] with columns = rows = min(m, n), or both m when complete.
 * The diagonal of R has LAPACK's signs. q and r may be NULL. */
luc_status luc__qr(luc_context *ctx, luc_matrices s, bool complete, const void *a, void *q,
                   void *r);
/* The reflections that make R of A [m, n], below R's diagonal in `reflectors` [m, n], and their
 * factors tau [min(m, n)]. */
luc_status luc__geqrf(luc_context *ctx, luc_matrices s, const void *a, void *reflectors, void *tau);
/* q [m, n]: the first columns of the product of k reflections, 0 < k <= n <= m. */
luc_status luc__reflections(luc_context *ctx, luc_matrices s, int64_t k, const void *reflectors,
                            const void *tau, void *q);
/* a becomes L (without its diagonal of ones) and U; pivots [min(m, n)]: the row, from 1, that each
 * row was exchanged with. */
luc_status luc__lu(luc_context *ctx, luc_matrices s, void *a, int32_t *pivots, int32_t *info);
/* Of each matrix [n, n] the determinant; or its sign, where `logarithms` gets that of its size. */
luc_status luc__determinant(luc_context *ctx, luc_matrices s, const void *a, void *values,
                            void *logarithms);
/* a [n, n] becomes its inverse. */
luc_status luc__inverse(luc_context *ctx, luc_matrices s, void *a, int32_t *info);
/* b [n, k] becomes the solution of A X = B, and lu [n, n] with pivots [n] what this one takes: */
luc_status luc__solve(luc_context *ctx, luc_matrices s, int64_t k, const void *a, void *b, void *lu,
                      int32_t *pivots, int32_t *info);
/* b [n, k] becomes the solution of A^H X = B. */
luc_status luc__solve_adjoint(luc_context *ctx, luc_matrices s, int64_t k, const void *lu,
                              const int32_t *pivots, void *b);
/* Of A X = B with a triangle of A, of which a is the transpose where it lies `turned`; the other is
 * not read, nor is the diagonal when it is `unit`. */
luc_status luc__solve_triangle(luc_context *ctx, luc_matrices s, int64_t k, bool upper, bool unit,
                               bool turned, const void *a, void *b);
/* The lower triangle of a becomes L of A = L L^H, the upper one zeros. */
luc_status luc__cholesky(luc_context *ctx, luc_matrices s, void *a, int32_t *info);
/* a Hermitian, of which one triangle is read; it becomes the eigenvectors as columns, if those are
 * wanted. values [n], ascending. */
luc_status luc__eigh(luc_context *ctx, luc_matrices s, bool upper, bool vectors, void *a,
                     void *values, int32_t *info);
/* Of any square matrices: values [n] and vectors [n, n] as columns of length 1,
 * both complex; vectors may be NULL. */
luc_status luc__eig(luc_context *ctx, luc_matrices s, const void *a, void *values, void *vectors,
                    int32_t *info);
/* A = U diag(S) Vh; u [m, k], vh [k, n], k = min(m, n), or u [m, m] and vh [n, n] when full. u and
 * vh NULL: only the values. a is destroyed. */
luc_status luc__svd(luc_context *ctx, luc_matrices s, bool full, void *a, void *u, void *values,
                    void *vh, int32_t *info);
/* The X [n, k] of least norm that is closest to solving A X = B: b [max(m, n), k] holds B and then
 * X. Singular values below rcond times the largest count as zero; values [min(m, n)], rank [1]. a
 * is destroyed. */
luc_status luc__lstsq(luc_context *ctx, luc_matrices s, int64_t k, double rcond, void *a, void *b,
                      void *values, int64_t *rank, int32_t *info);
/* The same, b's rows after B's zeros, where A's largest singular value is certain to be less than
 * `limit` times its least; else info is 1, and b what it was. */
luc_status luc__least_squares(luc_context *ctx, luc_matrices s, int64_t k, double limit,
                              const void *a, void *b, int32_t *info);
/* The lower triangle of a symmetric a becomes that of L D L^T, of a complex Hermitian one that of
 * L D L^H, in LAPACK's form. */
luc_status luc__ldl(luc_context *ctx, luc_matrices s, bool hermitian, void *a, int32_t *pivots,
                    int32_t *info);
/* b [n, k] becomes the solution by that factorization. */
luc_status luc__ldl_solve(luc_context *ctx, luc_matrices s, bool hermitian, int64_t k,
                          const void *a, const int32_t *pivots, void *b);

#endif
