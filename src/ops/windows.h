/* Pooling of three dimensions, by tables of windows: what pool.c's rows hand over. Arguments are
 * those of the rows they are named after. */
#ifndef LUC_OPS_WINDOWS_H
#define LUC_OPS_WINDOWS_H

#include "ops/op.h"

luc_status luc__run_windows_avg(luc_context *ctx, luc_value *args, luc_value *out);
luc_status luc__run_windows_avg_backward(luc_context *ctx, luc_value *args, luc_value *out);
luc_status luc__run_windows_adaptive_avg(luc_context *ctx, luc_value *args, luc_value *out);
luc_status luc__run_windows_adaptive_avg_backward(luc_context *ctx, luc_value *args,
                                                  luc_value *out);

#endif
