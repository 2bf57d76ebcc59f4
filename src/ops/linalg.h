/* What the files of linalg share: checks in PyTorch's words (the door puts the function's name in
 * front), the matrices of a tensor, codes of LAPACK as errors, and short forms for formulas. */
#ifndef LUC_LINALG_H
#define LUC_LINALG_H

#include "cpu/lapack.h"
#include "ops/compute.h"
#include "ops/formula.h"

/* Fails unless t is [..., n, n], of any dtype. */
luc_status luc__need_square(luc_context *ctx, const char *name, const luc_tensor *t);
/* Fails unless t is [..., m, n] of single or double precision. */
luc_status luc__need_matrices(luc_context *ctx, const char *name, const luc_tensor *t);
/* Fails unless t is such a [..., n, n]. */
luc_status luc__need_square_matrices(luc_context *ctx, const char *name, const luc_tensor *t);
/* The matrices that a contiguous t consists of. */
luc_matrices luc__matrices(const luc_tensor *t);
/* A new tensor [batch of t..., tail...], which is held. */
luc_status luc__batch_scratch(luc_context *ctx, const luc_tensor *t, luc_dtype dtype, int ntail,
                              const int64_t *tail, luc_tensor **out);

/* Why LAPACK gave up, as luc__check_info words it. */
typedef enum luc_la_failure {
  LUC_LA_INVERSE,
  LUC_LA_SOLVE,
  LUC_LA_CHOLESKY,
  LUC_LA_LU,
  LUC_LA_EIGEN,
  LUC_LA_SINGULAR
} luc_la_failure;
/* Fails for the first code that is not 0; info is int32 [batch...]. */
luc_status luc__check_info(luc_context *ctx, luc_tensor *info, luc_la_failure what);

static inline luc_tensor *luc__f_mt(luc_formula *f, luc_tensor *t) {
  return luc__f_transpose(f, t, -2, -1);
}
static inline luc_tensor *luc__f_mm(luc_formula *f, luc_tensor *a, luc_tensor *b) {
  return luc__f2(f, LUC_OP_matmul, a, b);
}
/* Transposed and conjugated. */
static inline luc_tensor *luc__f_mh(luc_formula *f, luc_tensor *t) {
  luc_tensor *turned = luc__f_mt(f, t);
  return luc__f_conj(f, turned);
}
/* a^H b and a b^H. */
static inline luc_tensor *luc__f_hm(luc_formula *f, luc_tensor *a, luc_tensor *b) {
  return luc__f_mm(f, luc__f_mh(f, a), b);
}
static inline luc_tensor *luc__f_mmh(luc_formula *f, luc_tensor *a, luc_tensor *b) {
  return luc__f_mm(f, a, luc__f_mh(f, b));
}
/* a + b, where NULL stands for zero. */
luc_tensor *luc__f_plus(luc_formula *f, luc_tensor *a, luc_tensor *b);
/* The triangle of a matrix (tril or triu) from this diagonal on. */
luc_tensor *luc__f_triangle(luc_formula *f, luc_opid op, luc_tensor *t, int64_t diagonal);
/* The identity [n, n] in the dtype of t's parts; or in t's. */
luc_tensor *luc__f_eye(luc_formula *f, const luc_tensor *t, int64_t n);
luc_tensor *luc__f_identity(luc_formula *f, const luc_tensor *t, int64_t n);
/* Which triangle A is, whether its diagonal counts as ones, whether A^H is to be solved by. */
enum { LUC_LOWER = 0, LUC_UPPER = 1, LUC_UNIT = 2, LUC_ADJOINT = 4 };
/* X of A X = B for a triangular A. */
luc_tensor *luc__f_solve_triangle(luc_formula *f, luc_tensor *a, luc_tensor *b, int triangle);
/* X of X A = B. */
luc_tensor *luc__f_solve_right(luc_formula *f, luc_tensor *a, luc_tensor *b, int triangle);
/* Both with the batch dimensions that theirs broadcast to. */
luc_status luc__f_same_batch(luc_formula *f, luc_tensor **a, luc_tensor **b);
/* The last two dimensions' diagonal. */
static inline luc_tensor *luc__f_diagonal(luc_formula *f, luc_tensor *t) {
  return luc__f_call(f, LUC_OP_diagonal,
                     LUC_ARGS(luc_v_tensor(t), luc_v_int(0), luc_v_int(-2), luc_v_int(-1)));
}
/* Fails, as `name`, where the diagonal of V^H gV, complex, has imaginary parts: then the loss
 * depends on factors of size 1 that eigenvectors V, or `singular` ones, are free in. */
void luc__f_check_gauge(luc_formula *f, luc_tensor *diagonal, const char *name, bool singular);
/* t[i, j] / (x[j] - x[i]), with zeros on the diagonal. */
luc_tensor *luc__f_over_gaps(luc_formula *f, luc_tensor *t, luc_tensor *x);

/* Takes two results into out, or releases them. */
luc_status luc__give_two(luc_context *ctx, luc_status status, luc_tensor *a, luc_tensor *b,
                         luc_value *out);

#endif
