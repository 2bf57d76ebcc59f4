/* What optim.isa.c offers to optim.c: a stretch of one parameter, by rule. */
#ifndef LUC_OPTIM_KERNELS_H
#define LUC_OPTIM_KERNELS_H

#include "cpu/optim.h"

/* Elements [begin, end) of one parameter. */
typedef void luc_optim_kernel(const void *options, const luc_update *u, int64_t begin, int64_t end);

typedef struct luc_optim_kernels {
  luc_optim_kernel *rule[LUC_RULE_COUNT];
  bool (*is_zero)(const void *grad, int64_t begin, int64_t end);
} luc_optim_kernels;

/* ORDER RULE */
#define LUC_OPTIM_RULES(X)                                                                         \
  X(sgd), X(adam), X(adamax), X(nadam), X(radam), X(rmsprop), X(adagrad), X(adadelta), X(asgd),    \
      X(rprop), X(sparse_adam)

extern const luc_optim_kernels luc__optim_base[2], luc__optim_avx2[2], luc__optim_avx512[2];

#endif
