/* Moving elements between tensors of any dtype and strides; what every other kernel leans on. */
#ifndef LUC_COPY_H
#define LUC_COPY_H

#include "tensor/tensor.h"

/* dst's elements = src's, converted and broadcast; any dtypes and strides. Overlap is
 * the caller's business. */
luc_status luc__copy(luc_context *ctx, luc_tensor *dst, const luc_tensor *src);
/* t itself (retained) if it is contiguous and of this dtype, else a converted copy. */
luc_status luc__contiguous_as(luc_context *ctx, luc_tensor *t, luc_dtype dtype, luc_tensor **out);
/* t's elements = s. */
luc_status luc__fill(luc_context *ctx, luc_tensor *t, luc_scalar s);
/* The same with an element of t's dtype, followed by zeros. */
luc_status luc__fill_element(luc_context *ctx, luc_tensor *t, const luc_element *value);

#endif
