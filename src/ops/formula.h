/* Formulas made of operators, for gradients and composites: every step returns a borrowed tensor
 * that the formula owns, a failed step makes the rest do nothing, and the end frees everything.
 *   luc_formula f = luc__formula(ctx);
 *   luc_tensor *e = luc__f2(&f, LUC_OP_mul, g, luc__f1(&f, LUC_OP_exp, x));
 *   return luc__f_end(&f, e, &b->gin[0]); */
#ifndef LUC_FORMULA_H
#define LUC_FORMULA_H

#include "ops/op.h"

enum { LUC_FORMULA_STEPS = 64 };

typedef struct luc_formula {
  luc_context *ctx;
  luc_status status;
  int count;
  luc_tensor *steps[LUC_FORMULA_STEPS];
} luc_formula;

#define luc__formula(context)                                                                      \
  { .ctx = (context), .status = LUC_OK, .count = 0 }

/* Makes a new reference the formula's; returns it. NULL is fine. */
luc_tensor *luc__f_own(luc_formula *f, luc_tensor *t);
/* Calls an operator; further results are kept too and stored in rest (rest may be NULL). */
luc_tensor *luc__f_call(luc_formula *f, luc_opid op, luc_value *args, int nargs);
luc_tensor *luc__f_call2(luc_formula *f, luc_opid op, luc_tensor **second, luc_value *args,
                         int nargs);
luc_tensor *luc__f1(luc_formula *f, luc_opid op, luc_tensor *a);
luc_tensor *luc__f2(luc_formula *f, luc_opid op, luc_tensor *a, luc_tensor *b);
luc_tensor *luc__fs(luc_formula *f, luc_opid op, luc_tensor *a, double s);

/* The commonest with other arguments. Dims may be negative. */
luc_tensor *luc__f_reshape(luc_formula *f, luc_tensor *t, int ndim, const int64_t *sizes);
luc_tensor *luc__f_expand(luc_formula *f, luc_tensor *t, int ndim, const int64_t *sizes);
luc_tensor *luc__f_permute(luc_formula *f, luc_tensor *t, int ndim, const int64_t *dims);
luc_tensor *luc__f_transpose(luc_formula *f, luc_tensor *t, int64_t dim0, int64_t dim1);
luc_tensor *luc__f_unsqueeze(luc_formula *f, luc_tensor *t, int64_t dim);
luc_tensor *luc__f_squeeze(luc_formula *f, luc_tensor *t, int64_t dim);
luc_tensor *luc__f_narrow(luc_formula *f, luc_tensor *t, int64_t dim, int64_t start, int64_t n);
luc_tensor *luc__f_cat(luc_formula *f, luc_tensor *a, luc_tensor *b, int64_t dim);
/* Over everything, to a 0-d tensor; over one dimension, which goes, or stays with size 1. */
luc_tensor *luc__f_sum_all(luc_formula *f, luc_tensor *t);
luc_tensor *luc__f_sum_dim(luc_formula *f, luc_tensor *t, int64_t dim);
luc_tensor *luc__f_sum_keepdim(luc_formula *f, luc_tensor *t, int64_t dim);
luc_tensor *luc__f_mean_all(luc_formula *f, luc_tensor *t);
/* Over several; ndims 0: over everything. */
luc_tensor *luc__f_sum(luc_formula *f, luc_tensor *t, int ndims, const int64_t *dims, bool keepdim);
luc_tensor *luc__f_mean(luc_formula *f, luc_tensor *t, int ndims, const int64_t *dims,
                        bool keepdim);
/* t, but `value` where the mask is set. */
luc_tensor *luc__f_fill(luc_formula *f, luc_tensor *t, luc_tensor *mask, double value);
/* where(condition, a, b); NULL stands for zero. */
luc_tensor *luc__f_where(luc_formula *f, luc_tensor *condition, luc_tensor *a, luc_tensor *b);
/* t itself where it is real, or NULL. */
luc_tensor *luc__f_conj(luc_formula *f, luc_tensor *t);
/* The complex result of a linear row, called with args (nargs of them) on either part of the first.
 */
luc_status luc__by_parts(luc_context *ctx, luc_opid op, const luc_value *args, int nargs,
                         luc_value *out);
luc_tensor *luc__f_to(luc_formula *f, luc_tensor *t, luc_dtype dtype);
/* t, or a copy of it where it shares memory with `x`. */
luc_tensor *luc__f_apart(luc_formula *f, luc_tensor *t, const luc_tensor *x);

/* A new reference to `t` in *out, unless the formula has failed. */
void luc__f_keep(luc_formula *f, luc_tensor *t, luc_tensor **out);
/* Keeps `result` (unless NULL) in *out and frees the rest; the formula's status. */
luc_status luc__f_end(luc_formula *f, luc_tensor *result, luc_tensor **out);
/* The same into the result slot of a composite. */
luc_status luc__f_result(luc_formula *f, luc_tensor *result, luc_value *out);
/* The same of several: all of them, or none. */
luc_status luc__f_results(luc_formula *f, int n, luc_tensor *const *results, luc_value *out);

#endif
