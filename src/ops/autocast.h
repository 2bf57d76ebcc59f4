/* Automatic mixed precision, a stage of the door: while it is on, operators that gain by half
 * precision get their arguments cast down, those that need range get them cast up, and joining
 * ones get one dtype, as PyTorch's autocast does on a CPU. What an operator calls inside itself is
 * no longer cast; in-place and out= calls never are. Casts of weights are kept until the outermost
 * region ends. */
#ifndef LUC_AUTOCAST_H
#define LUC_AUTOCAST_H

#include "ops/op.h"

/* Does autocast change this operator's arguments? Asked only while it is on. */
bool luc__autocast_applies(luc_opid op);
/* The call with cast arguments; `run` makes it. args are complete. */
typedef luc_status (*luc_call_fn)(luc_context *ctx, luc_opid op, luc_value *args, int nargs,
                                  luc_value *out);
luc_status luc__autocast_call(luc_context *ctx, luc_opid op, luc_value *args, luc_call_fn run,
                              luc_value *out);

/* What a region changes and puts back at its end. */
typedef struct luc_autocast {
  uint8_t dtype; /* float16 or bfloat16 */
  bool on;
  bool cache; /* keep the casts of weights */
} luc_autocast;
luc_autocast luc__autocast_get(const luc_context *ctx);
void luc__autocast_set(luc_context *ctx, luc_autocast to);
void luc__autocast_enter(luc_context *ctx, luc_autocast to);
/* Ends a region; the outermost one's end forgets the casts of weights. */
void luc__autocast_leave(luc_context *ctx, luc_autocast back);
void luc__autocast_clear(luc_context *ctx);

#endif
