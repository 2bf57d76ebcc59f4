/* Optimizer steps over all parameters in one call, in PyTorch's order of operations. */
#ifndef LUC_OPTIM_H
#define LUC_OPTIM_H

#include "base/context.h"
#include "tensor/dtype.h"

enum { LUC_MAX_STATES = 3, LUC_MAX_SCALARS = 2 };

/* One parameter, contiguous, its gradient and state of the same dtype and size. */
typedef struct luc_update {
  luc_dtype dtype; /* LUC_FLOAT32, LUC_FLOAT64, LUC_FLOAT16 or LUC_BFLOAT16 */
  int64_t n;
  void *param;
  const void *grad;
  void *state[LUC_MAX_STATES];    /* what the rules below say */
  double scalar[LUC_MAX_SCALARS]; /* as they were before this step */
  int64_t width; /* 0, or that of rows: those whose gradient is 0 stay as they are, */
  const int64_t *rows;
  int64_t nrows; /* as do, if rows is not NULL, all that are not among these, ascending */
  int64_t step;  /* this parameter's steps, this one included: 1 on the first. sgd's first step
                   copies the gradient into the buffer, whatever it holds. */
  double correction1, correction2; /* 1 - beta^step, of Adam's kin: luc__optim_step sets them */
} luc_update;

/* How parameters are updated, each with its struct of options, which is
 * made of doubles. ORDER RULE (optim_kernels.h) */
typedef enum luc_optim_rule {
  LUC_RULE_SGD,
  LUC_RULE_ADAM,
  LUC_RULE_ADAMAX,
  LUC_RULE_NADAM,
  LUC_RULE_RADAM,
  LUC_RULE_RMSPROP,
  LUC_RULE_ADAGRAD,
  LUC_RULE_ADADELTA,
  LUC_RULE_ASGD,
  LUC_RULE_RPROP,
  LUC_RULE_SPARSE_ADAM,
  LUC_RULE_COUNT
} luc_optim_rule;

/* State: momentum buffer (with momentum). */
typedef struct luc_sgd {
  double lr, momentum, dampening, weight_decay, nesterov, maximize;
} luc_sgd;

/* Adam, Adamax, NAdam, RAdam and SparseAdam. State: exp_avg, then exp_avg_sq (adamax: exp_inf),
 * then max_exp_avg_sq (adam with amsgrad). NAdam's scalar is mu_product. */
typedef struct luc_adam {
  double lr, beta1, beta2, eps, maximize, weight_decay;
  double decoupled; /* AdamW: weights decay beside the gradient */
  union {
    double amsgrad;        /* adam's */
    double momentum_decay; /* nadam's */
  };
} luc_adam;

/* NAdam's momentum at a step. */
double luc__nadam_mu(double beta1, double momentum_decay, int64_t step);
/* How far RAdam trusts the variance at a step; 0: not yet. */
double luc__radam_rectification(double beta2, int64_t step);

/* State: square_avg, momentum_buffer (with momentum), grad_avg (centered). */
typedef struct luc_rmsprop {
  double lr, alpha, eps, weight_decay, momentum, centered, maximize;
} luc_rmsprop;

/* State: sum. */
typedef struct luc_adagrad {
  double lr, lr_decay, eps, weight_decay, maximize;
} luc_adagrad;

/* State: square_avg, acc_delta. */
typedef struct luc_adadelta {
  double lr, rho, eps, weight_decay, maximize;
} luc_adadelta;

/* State: ax. Scalars: eta, mu. */
typedef struct luc_asgd {
  double lambd, weight_decay, maximize;
} luc_asgd;

/* State: prev, step_size. */
typedef struct luc_rprop {
  double eta_minus, eta_plus, step_min, step_max, maximize;
} luc_rprop;

/* Updates all parameters; options is the rule's struct. */
void luc__optim_step(luc_context *ctx, luc_optim_rule rule, const void *options, luc_update *u,
                     int64_t count);

#endif
