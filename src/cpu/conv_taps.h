/* The weight's gradient tap by tap, each a product of the pixels that meet the image: for kernels
 * so wide that much of what they meet is padding. */
#ifndef LUC_CONV_TAPS_H
#define LUC_CONV_TAPS_H

#include "cpu/conv.h"

/* Is it the faster way? */
bool luc__conv_taps_suits(const luc_conv *c);
luc_status luc__conv_taps_weight(luc_context *ctx, const luc_conv *c, const void *x, const void *dy,
                                 void *dweight);

#endif
