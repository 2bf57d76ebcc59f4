/* Declares the functions that the rows of ops.def name. Every file that defines some includes it.
 */
#ifndef LUC_ROWS_H
#define LUC_ROWS_H

#include "ops/op.h"

#define LUC_OP(id, schema, run, grad, saves, ...)                                                  \
  luc_status run(luc_context *, luc_value *, luc_value *);                                         \
  luc_status grad(luc_context *, luc_backward *);
#include "ops/ops.def"
#undef LUC_OP

/* Defines luc__run_<name> (luc__grad_<name>): `function`, which serves several rows, for one. */
#define LUC_RUN_BY(name, function, ...)                                                            \
  luc_status luc__run_##name(luc_context *ctx, luc_value *args, luc_value *out) {                  \
    return function(ctx, __VA_ARGS__, args, out);                                                  \
  }
#define LUC_GRAD_BY(name, function, ...)                                                           \
  luc_status luc__grad_##name(luc_context *ctx, luc_backward *b) {                                 \
    return function(ctx, b, __VA_ARGS__);                                                          \
  }

#endif
