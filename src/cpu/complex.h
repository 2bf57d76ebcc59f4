/* Complex tensors: their parts as real tensors, copies between complex and real dtypes, and their
 * pointwise kernels. */
#ifndef LUC_COMPLEX_H
#define LUC_COMPLEX_H

#include "cpu/elementwise.h"

/* The real (0) or imaginary (1) part of a complex tensor as a real one over the same memory. It is
 * not counted: it serves kernels while t lives. */
void luc__part(const luc_tensor *t, int part, luc_tensor *out);

/* Writes real and imaginary parts of any real dtype, or without `im` zeros, side by side, if all
 * lie without gaps and are of dst's sizes. */
bool luc__join_parts(luc_context *ctx, luc_tensor *dst, const luc_tensor *re, const luc_tensor *im);

/* luc__copy where one dtype is complex and the other is not the same: real numbers have an
 * imaginary part of 0, which a real destination drops; bool asks whether either part is not 0. */
luc_status luc__copy_parts(luc_context *ctx, luc_tensor *dst, const luc_tensor *src);

/* The dtype in which a pointwise kernel of elementwise.def gives its results from numbers of this
 * complex dtype; false if it has no meaning for them. */
bool luc__complex_gives(luc_ew op, luc_dtype dtype, luc_dtype *result);
/* Runs it: out has that dtype, inputs any. */
luc_status luc__complex_run(luc_context *ctx, luc_ew op, luc_dtype dtype, luc_tensor *out,
                            const luc_ew_input *in, const luc_ew_params *params);

/* x + i y of each two rows of n numbers of a complex dtype. */
void luc__complex_add_turned(luc_context *ctx, luc_dtype dtype, int64_t rows, int64_t n,
                             const void *pairs, void *z);
/* Is any element of a complex tensor zero? */
bool luc__complex_any_zero(const luc_tensor *t);
/* Products of `rows` rows of n contiguous numbers of a complex dtype: one a row, or with `running`
 * those of each beginning of it. y may be x. */
void luc__complex_products(luc_context *ctx, luc_dtype dtype, int64_t rows, int64_t n, bool running,
                           const void *x, void *y);
/* Products along the middle of [outer, n, inner], none of which is 0. */
void luc__complex_column_products(luc_context *ctx, luc_dtype dtype, int64_t outer, int64_t n,
                                  int64_t inner, const void *x, void *y);

#endif
