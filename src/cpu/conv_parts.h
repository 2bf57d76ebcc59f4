/* Input gradients by parts: inputs that are a stride apart meet the same taps, so they are a
 * convolution of the output's gradient with those taps, last first, by steps of one. */
#ifndef LUC_CONV_PARTS_H
#define LUC_CONV_PARTS_H

#include "cpu/conv.h"

/* How many parts there are, which is one without strides. */
int64_t luc__conv_parts_count(const luc_conv *c);
/* dx of dy, for 8 parts at most. */
luc_status luc__conv_parts(luc_context *ctx, const luc_conv *c, const void *dy, const void *weight,
                           void *dx);

#endif
