/* What reducing operators share: which dimensions go, the result's shape, and gradients brought
 * back to the input's shape. */
#ifndef LUC_REDUCTION_H
#define LUC_REDUCTION_H

#include "cpu/reduce.h"
#include "ops/formula.h"
#include "ops/rows.h"

typedef struct luc_dims {
  uint32_t mask;               /* bit d: dimension d is reduced */
  int ndim;                    /* of the result */
  int64_t sizes[LUC_MAX_DIMS]; /* likewise */
  int64_t count;               /* elements reduced into one */
} luc_dims;

/* From a Dim, a list of Dim or None (all); an empty list is all, too. */
luc_status luc__dims(luc_context *ctx, const luc_tensor *t, const luc_value *dim, bool keepdim,
                     luc_dims *out);
/* The shape that t has with the masked dimensions reduced. */
void luc__dims_shape(const luc_tensor *t, uint32_t mask, bool keepdim, luc_dims *out);

/* Integers and bool add up in int64 unless a dtype is asked for. */
static inline luc_dtype luc__sum_dtype(const luc_tensor *t, const luc_value *dtype) {
  if (dtype->kind == LUC_DTYPE) return (luc_dtype)dtype->as.i;
  return luc__dtype_has_gradient(t->dtype) ? t->dtype : LUC_INT64;
}

/* Reduces t, computed in dtype and stored as `result` dtype, into out[0]. */
luc_status luc__reduce_to(luc_context *ctx, luc_rd op, luc_tensor *t, const luc_dims *dims,
                          luc_dtype dtype, luc_dtype result, double divide, bool root,
                          luc_value *out);

/* g, shaped like the result of reducing parameter 0 over `dim`, expanded to the input's shape. */
luc_status luc__unreduce_full(luc_context *ctx, const luc_backward *b, luc_tensor *g,
                              const luc_value *dim, bool keepdim, luc_tensor **out);
/* The same with the reduced dimensions at size 1: it broadcasts against it. */
luc_tensor *luc__f_unreduce(luc_formula *f, luc_backward *b, luc_tensor *g, const luc_value *dim,
                            bool keepdim);
/* The gradient of a row that picks elements of its input along a dimension: that of result 0 at
 * result 1, their positions, zero elsewhere. The dimension's parameter, and keepdim's (without it
 * both results lack the dimension; -1: they never do). */
luc_status luc__grad_picked(luc_context *ctx, luc_backward *b, int dim_param, int keepdim_param);
/* How many elements of parameter 0 were reduced into one. */
int64_t luc__reduced_count(const luc_backward *b, const luc_value *dim);

#endif
