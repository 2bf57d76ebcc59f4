/* Attention without the matrix of scores: blocks of queries meet blocks of keys one after another,
 * with a running maximum and sum (online softmax: Milakov and Gimelshein 2018; Dao et al. 2022).
 * Memory beside the operands grows with the number of threads, not with l * s; but weights of a few
 * keys may be kept for the gradient, which else makes them again. */
#ifndef LUC_ATTENTION_H
#define LUC_ATTENTION_H

#include "base/context.h"
#include "tensor/dtype.h"

enum { LUC_ATTENTION_DIMS = 8 };

/* [batch..., rows, width] whose columns are adjacent: heads may lie beside each other. Strides are
 * in elements. */
typedef struct luc_heads {
  void *data; /* only read, of operands */
  int64_t row, batch[LUC_ATTENTION_DIMS];
} luc_heads;

/* out [batch..., l, ev] = softmax(scale * q [batch..., l, e] k [batch..., s, e]ᵀ + mask) v
 * [batch..., s, ev], of bfloat16 where these are. A query that sees no key gets zeros. The mask is
 * read through its strides, so an expanded one costs nothing. */
typedef struct luc_attention {
  luc_dtype dtype;                          /* LUC_FLOAT32 or LUC_FLOAT64 */
  int nbatch;                               /* dimensions of the batch */
  int64_t batch, sizes[LUC_ATTENTION_DIMS]; /* of all, of each of them */
  int64_t l, s, e, ev;
  double scale;
  bool causal; /* query i sees keys 0..i */
  bool pairs;  /* q, k, v and g are of bfloat16, what tiles take (luc__attention_suits_pairs); their
                  strides are even, and so is where k and v begin */
  luc_heads q, k, v;
  luc_heads g;    /* pairs, on the way back: the result's gradient once more */
  luc_heads mask; /* data NULL; or [batch..., l, s]: added, or what is seen where mask_bool */
  int64_t mask_column;
  bool mask_bool;
} luc_attention;

/* Are products of bfloat16 as they lie better than of floats? */
bool luc__attention_suits_pairs(luc_context *ctx, const luc_attention *a);

/* Elements of a row of weights that forward can keep; 0: keys, or weights, are too many. */
int64_t luc__attention_kept(const luc_attention *a);

/* lse [batch, l]: the logarithm of each query's sum of exponentials, infinite where it sees no key;
 * the gradient begins there. weights [batch, l, kept]: NULL, or the softmax as far as is seen. */
luc_status luc__attention(luc_context *ctx, const luc_attention *a, const luc_heads *out, void *lse,
                          void *weights);
/* weights: what forward kept, or NULL. dq, dk and dv begin as zeros where they are added to. */
luc_status luc__attention_backward(luc_context *ctx, const luc_attention *a, const luc_heads *dout,
                                   const luc_heads *out, const void *lse, const void *weights,
                                   const luc_heads *dq, const luc_heads *dk, const luc_heads *dv);
/* Are there gradients that no product writes? */
bool luc__attention_adds(const luc_attention *a);

#endif
