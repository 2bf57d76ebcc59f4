/* Depthwise convolutions, one filter for each channel. There is nothing to multiply together, so
 * lanes are channels: planes are turned into pixels of a vector of channels and back, and rows of
 * any width, stride and dilation fill vectors. */
#ifndef LUC_CONV_DEPTHWISE_H
#define LUC_CONV_DEPTHWISE_H

#include "cpu/conv.h"

/* Is it one, and does it fill vectors? */
bool luc__depthwise_suits(luc_context *ctx, const luc_conv *c);
/* y = conv(x, weight) + bias; backward: y is the gradient of the input, x that of the output. */
luc_status luc__depthwise(luc_context *ctx, const luc_conv *c, bool backward, const void *x,
                          const void *weight, const void *bias, void *y);
luc_status luc__depthwise_weight(luc_context *ctx, const luc_conv *c, const void *x, const void *dy,
                                 void *dweight);

#endif
