/* Softmax over the middle dimension of contiguous floating point memory [outer, n, inner], and the
 * negative log likelihood that usually follows. y may be x, dx may be dy, but of halves y not x. */
#ifndef LUC_SOFTMAX_H
#define LUC_SOFTMAX_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef struct luc_softmax {
  luc_dtype dtype;
  bool log; /* log_softmax */
  int64_t outer, n, inner;
} luc_softmax;

luc_status luc__softmax(luc_context *ctx, const luc_softmax *s, const void *x, void *y);
/* dx from dy and the result y. */
luc_status luc__softmax_backward(luc_context *ctx, const luc_softmax *s, const void *dy,
                                 const void *y, void *dx);

typedef enum luc_reduction { LUC_REDUCE_NONE, LUC_REDUCE_MEAN, LUC_REDUCE_SUM } luc_reduction;

/* Input [batch, classes, inner] of log-probabilities, targets [batch, inner] from 0. Targets must
 * be in range or ignore_index: see luc__index_check. Weights and losses of halves are float32. */
typedef struct luc_nll {
  luc_dtype dtype;
  luc_reduction reduction;
  int64_t batch, classes, inner;
  const int64_t *target;
  const void *weight;   /* [classes] or NULL */
  int64_t ignore_index; /* compared with targets as they are; PyTorch's default is -100 */
} luc_nll;

/* out: [batch, inner] without reduction, else one element. total_weight (one element) is what the
 * mean divides by. A mean over nothing is NaN. */
luc_status luc__nll_loss(luc_context *ctx, const luc_nll *l, const void *x, void *out,
                         void *total_weight);
/* dx (wholly written) from dy, shaped like out. */
luc_status luc__nll_loss_backward(luc_context *ctx, const luc_nll *l, const void *dy,
                                  const void *total_weight, void *dx);

#endif
