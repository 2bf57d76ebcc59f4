/* Connectionist temporal classification (Graves et al. 2006): the probability of all the alignments
 * of a target with a longer sequence, by the forward and backward recursions in the logarithm. */
#ifndef LUC_CTC_H
#define LUC_CTC_H

#include "base/context.h"

typedef struct luc_ctc {
  int64_t steps, batch, classes, blank;
  int64_t longest;              /* target: alpha has 2 * longest + 1 places */
  const double *log_probs;      /* [steps, batch, classes] */
  const int64_t *targets;       /* of sequence b from starts[b] on */
  const int64_t *starts;        /* [batch] */
  const int64_t *input_lengths; /* [batch] */
  const int64_t *target_lengths;
} luc_ctc;

/* loss[b] = -log p(target b); alpha [batch, steps, 2 * longest + 1] is kept for the gradient. */
luc_status luc__ctc(luc_context *ctx, const luc_ctc *c, double *loss, double *alpha);
/* dx [steps, batch, classes], wholly written: PyTorch's gradient, which takes log_probs to be those
 * of a softmax. zero_infinity: none from sequences whose loss is infinite. */
luc_status luc__ctc_backward(luc_context *ctx, const luc_ctc *c, const double *loss,
                             const double *alpha, const double *dloss, bool zero_infinity,
                             double *dx);

#endif
