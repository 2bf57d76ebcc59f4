/* A recurrent layer in operators, step by step, which are recorded one by one. */
#ifndef LUC_RECURRENCE_STEPS_H
#define LUC_RECURRENCE_STEPS_H

#include "ops/op.h"

/* args: those of the row `recurrence`. results: output, h_n and c_n (NULL unless an LSTM's), as new
 * references; on failure none. */
luc_status luc__recurrence_steps(luc_context *ctx, const luc_value *args, luc_tensor **results);

#endif
