/* Optimizer steps over all parameters in one call, in PyTorch's order of operations. */
#ifndef LUC_OPTIM_H
#define LUC_OPTIM_H

#include "base/context.h"
#include "tensor/dtype.h"

/* One parameter, contiguous, its gradient and state of the same dtype and size. */
typedef struct luc_update {
  luc_dtype dtype; /* LUC_FLOAT32 or LUC_FLOAT64 */
  int64_t n;
  void *param;
  const void *grad;
  /* sgd: momentum buffer. adam: exp_avg, exp_avg_sq, max_exp_avg_sq (with amsgrad). */
  void *state[3];
  int64_t step; /* this parameter's steps, this one included: 1 on the first. sgd's first step
                   copies the gradient into the buffer, whatever it holds. */
} luc_update;

typedef struct luc_sgd {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
} luc_sgd;

typedef struct luc_adam {
  double lr, beta1, beta2, eps, weight_decay;
  bool amsgrad, maximize;
  bool decoupled; /* AdamW: weights decay beside the gradient */
} luc_adam;

luc_status luc__sgd_step(luc_context *ctx, const luc_sgd *o, const luc_update *u, int64_t count);
luc_status luc__adam_step(luc_context *ctx, const luc_adam *o, const luc_update *u, int64_t count);

#endif
