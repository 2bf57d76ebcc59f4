/* Equality of whole tensors: are two the same, and which elements of one stand in another? NaN
 * equals nothing, zeros are equal. */
#ifndef LUC_CPU_SAME_H
#define LUC_CPU_SAME_H

#include "tensor/tensor.h"

/* Are these contiguous tensors of one dtype and size the same, up to the first difference? */
bool luc__compare(luc_context *ctx, const luc_tensor *a, const luc_tensor *b);

/* found[i] = is x[i] one of the m others, or is it not (invert)? n and m elements of dtype: int64,
 * float32 or float64. */
typedef struct luc_membership {
  luc_dtype dtype;
  const void *x, *others;
  int64_t n, m;
  bool invert;
  uint8_t *found;
} luc_membership;
luc_status luc__membership(luc_context *ctx, const luc_membership *job);

#endif
