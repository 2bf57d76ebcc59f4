/* The default initializations of layers (reset_parameters), unrecorded, in PyTorch's arithmetic so
 * that one seed gives its numbers. */
#ifndef LUC_RESET_H
#define LUC_RESET_H

#include "nn/module.h"

luc_status luc__reset_fill(luc_context *ctx, luc_tensor *t, double value);
/* N(0, std²). */
luc_status luc__reset_normal(luc_context *ctx, luc_tensor *t, double std);
/* U(-bound, bound). */
luc_status luc__reset_uniform(luc_context *ctx, luc_tensor *t, double bound);
/* kaiming_uniform_ with a = sqrt(5): what Linear and convolutions begin with. weight's fan_in is
 * everything but its first dimension; bias (may be NULL) gets U(±1/sqrt(fan_in)). */
luc_status luc__reset_kaiming(luc_context *ctx, luc_tensor *weight, luc_tensor *bias);
/* U(±1/sqrt(hidden_size)) for all parameters of a recurrent layer or cell, in their order, also for
 * those that a subclass, a parametrization or weight_norm added. */
luc_status luc__rnn_reset(luc_context *ctx, luc_module *m);
/* A new module of m's class written in C (of a lazy one: its real class), made with m's constructor
 * arguments, but this first one (NULL: m's) and this dtype. It has one tree reference. */
luc_status luc__module_like(luc_context *ctx, const luc_module *m, const luc_value *first,
                            luc_dtype dtype, luc_module **out);

#endif
