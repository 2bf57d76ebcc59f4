/* 3 × 3 convolutions by Winograd's minimal filtering: a quarter of the multiplications. */
#ifndef LUC_WINOGRAD_H
#define LUC_WINOGRAD_H

#include "cpu/conv.h"

/* Is it the faster way for this convolution, or (backward) for its input gradient? */
bool luc__winograd_suits(const luc_context *ctx, const luc_conv *c, bool backward);
/* y = conv(x, weight) + bias; backward: y is the gradient of the input, x that of the output. */
luc_status luc__winograd(luc_context *ctx, const luc_conv *c, bool backward, const void *x,
                         const void *weight, const void *bias, void *y);

#endif
