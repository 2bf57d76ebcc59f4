/* Declares the functions that the rows of ops.def name. Every file that defines some includes it.
 */
#ifndef LUC_ROWS_H
#define LUC_ROWS_H

#include "ops/op.h"

#define LUC_OP(id, schema, run, grad, saves, flags)                                                \
  luc_status run(luc_context *, luc_value *, luc_value *);                                         \
  luc_status grad(luc_context *, luc_backward *);
#include "ops/ops.def"
#undef LUC_OP

#endif
