/* The weight's gradient of a convolution of bfloat16 by AMX's tiles. */
#ifndef LUC_CONV_TILES_H
#define LUC_CONV_TILES_H

#include "cpu/conv.h"

/* Is it the faster way? */
bool luc__conv_tiles_suit(luc_context *ctx, const luc_conv *c);
/* dweight, of floats, from x and dy of bfloat16. An infinity or NaN of x reaches taps that never
 * met it. */
luc_status luc__conv_tiles_weight(luc_context *ctx, const luc_conv *c, const void *x,
                                  const void *dy, void *dweight);

#endif
