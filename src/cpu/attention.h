/* Attention without the matrix of scores: blocks of queries meet blocks of keys one after another,
 * with a running maximum and sum (online softmax: Milakov and Gimelshein 2018; Dao et al. 2022).
 * Memory beside the operands grows with the number of threads, not with l * s. */
#ifndef LUC_ATTENTION_H
#define LUC_ATTENTION_H

#include "base/context.h"
#include "tensor/dtype.h"

enum { LUC_ATTENTION_DIMS = 8 };

/* out [batch, l, ev] = softmax(scale * q [batch, l, e] k [batch, s, e]ᵀ + mask) v [batch, s, ev],
 * all contiguous. A query that sees no key gets zeros. The mask is read through its strides, so an
 * expanded one costs nothing. */
typedef struct luc_attention {
  luc_dtype dtype; /* LUC_FLOAT32 or LUC_FLOAT64 */
  int64_t batch, l, s, e, ev;
  double scale;
  bool causal; /* query i sees keys 0..i */
  const void *q, *k, *v;
  const void *mask; /* NULL; or [batch..., l, s]: added, or what is seen where mask_bool */
  bool mask_bool;
  int nbatch; /* dimensions of the batch, for the mask */
  int64_t batch_sizes[LUC_ATTENTION_DIMS], mask_batch[LUC_ATTENTION_DIMS];
  int64_t mask_row, mask_column;
} luc_attention;

/* lse [batch, l]: the logarithm of each query's sum of exponentials, infinite where it sees no key;
 * the gradient begins there. */
luc_status luc__attention(luc_context *ctx, const luc_attention *a, void *out, void *lse);
luc_status luc__attention_backward(luc_context *ctx, const luc_attention *a, const void *dout,
                                   const void *out, const void *lse, void *dq, void *dk, void *dv);

#endif
