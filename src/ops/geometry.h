/* What the creating, viewing and indexing families share: inferring sizes, deciding when a reshape
 * can be a view, and the keyword arguments every factory ends with. */
#ifndef LUC_GEOMETRY_H
#define LUC_GEOMETRY_H

#include "cpu/sequence.h"
#include "cpu/copy.h"
#include "ops/rows.h"

/* Fails unless n sizes are few enough and none is negative. */
luc_status luc__check_sizes(luc_context *ctx, int n, const int64_t *sizes);
/* Replaces the one -1 allowed in `given` so that the product is numel. */
luc_status luc__infer_sizes(luc_context *ctx, int n, const int64_t *given, int64_t numel,
                            int64_t *sizes);
/* The strides with which t's elements, in order, look like `sizes` (of the same numel); false if
 * there are none. */
bool luc__view_strides(const luc_tensor *t, int ndim, const int64_t *sizes, int64_t *strides);
/* A view of t with these sizes, or a copy where none exists. */
luc_status luc__reshape(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes,
                        luc_tensor **out);
/* A view of t stretched to sizes (of which -1 keeps a dimension's size). */
luc_status luc__expand(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes,
                       luc_tensor **out);
/* t itself (retained), or a contiguous copy. */
luc_status luc__to_contiguous(luc_context *ctx, luc_tensor *t, luc_tensor **out);
/* A contiguous copy. */
luc_status luc__duplicate(luc_context *ctx, const luc_tensor *t, luc_tensor **out);
luc_status luc__zeros(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                      luc_tensor **out);

/* opts: the values of `dtype? dtype=None, device? device=None, bool requires_grad=False`. */
luc_status luc__factory_dtype(luc_context *ctx, const luc_value *opts, luc_dtype fallback,
                              luc_dtype *dtype);
/* Gives a factory's finished tensor (taken over, also on failure) as its result. */
luc_status luc__factory_give(luc_context *ctx, const luc_value *opts, luc_value *out,
                             luc_tensor *t);
/* Gives n elements of a sequence (cpu/sequence.h) as dtype. */
luc_status luc__factory_sequence(luc_context *ctx, luc_dtype dtype, int64_t n, bool whole,
                                 luc_sequence_fn numbers, const void *arg, const luc_value *opts,
                                 luc_value *out);
/* The same of a tensor that is to be converted to dtype. */
luc_status luc__factory_give_as(luc_context *ctx, luc_tensor *t, luc_dtype dtype,
                                const luc_value *opts, luc_value *out);
/* Is the device None or one that this build has? */
bool luc__is_here(const luc_value *device);
/* Fails if it is not. */
luc_status luc__check_device(luc_context *ctx, const luc_value *device);
/* Fails if the number cannot be a value of this dtype. */
luc_status luc__check_scalar(luc_context *ctx, luc_scalar s, luc_dtype dtype);
/* Marks an Operand used as one value: its number, also from a 0-d tensor, as an element of dtype.
 * Fails where that cannot hold it. */
luc_status luc__operand_element(luc_context *ctx, const luc_value *v, luc_dtype dtype,
                                luc_element *out);

/* A diagonal's offset, cut off where no tensor reaches, so that sums with it cannot overflow. */
static inline int64_t luc__diagonal_shift(int64_t shift) {
  const int64_t far = INT64_MAX / 4;
  return shift > far ? far : shift < -far ? -far : shift;
}
/* The gradient of what only rearranges without sharing: gout goes on as it is. */
luc_status luc__pass_gradient(luc_context *ctx, luc_backward *b);
static inline luc_status luc__pass_to(luc_backward *b, int p) {
  if (b->gout[0] && luc__needs(b, p)) b->gin[p] = luc__retain(b->gout[0]);
  return LUC_OK;
}

#endif
