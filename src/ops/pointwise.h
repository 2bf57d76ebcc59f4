/* What all pointwise operators share: promotion of tensors and numbers, broadcasting, the output's
 * checks, and the kernel. */
#ifndef LUC_POINTWISE_H
#define LUC_POINTWISE_H

#include "cpu/elementwise.h"
#include "ops/formula.h"
#include "ops/rows.h"

typedef enum luc_rule {
  LUC_RULE_SAME,  /* computed and returned in the promoted dtype */
  LUC_RULE_FLOAT, /* integers and bool become the default floating dtype first */
  LUC_RULE_TRUTH  /* computed in the promoted dtype, returned as bool */
} luc_rule;

/* PyTorch's result_type of n operands, each a tensor or a number. */
luc_dtype luc__result_dtype(const luc_context *ctx, const luc_value *operands, int n);
/* The same of n tensors, at least one. */
luc_dtype luc__list_dtype(luc_tensor *const *list, int n);
/* The shape the operands (tensors among them) broadcast to. */
luc_status luc__broadcast_operands(luc_context *ctx, const luc_value *operands, int n, int *ndim,
                                   int64_t *sizes);
/* Runs kernel `op` on as many operands as it has inputs, into out (see luc__out). */
luc_status luc__pointwise(luc_context *ctx, luc_ew op, luc_rule rule, const luc_value *operands,
                          const luc_ew_params *params, luc_value *out);
/* Defines luc__run_<name>: the kernel of that name, under LUC_RULE_<rule>. */
#define LUC_RUN(name, rule)                                                                        \
  luc_status luc__run_##name(luc_context *ctx, luc_value *args, luc_value *out) {                  \
    return luc__pointwise(ctx, LUC_EW_##name, LUC_RULE_##rule, args, NULL, out);                   \
  }
/* luc__pointwise where the dtype computed in (and returned, but for truth) is known. */
luc_status luc__pointwise_as(luc_context *ctx, luc_ew op, luc_dtype dtype,
                             const luc_value *operands, const luc_ew_params *params,
                             luc_value *out);
/* Ends the gradient of a function of one number with this derivative: the result's gradient times
 * its conjugate, as in PyTorch. */
luc_status luc__f_slope(luc_formula *f, luc_backward *b, luc_tensor *slope);
/* The gradient of a function of one number whose derivative is the operator op. */
luc_status luc__grad_slope(luc_context *ctx, luc_backward *b, luc_opid op);
/* A kernel's parameters where it takes one, in both readings. */
luc_ew_params luc__ew_param(luc_scalar s);

#endif
