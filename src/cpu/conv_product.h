/* Convolutions as one matrix product: what every output meets is gathered, once for all filters.
 * For small planes, whose rows would waste most of a vector, of as many images as it takes; and for
 * kernels that do not overlap. */
#ifndef LUC_CONV_PRODUCT_H
#define LUC_CONV_PRODUCT_H

#include "cpu/conv.h"

typedef enum luc_conv_way {
  LUC_CONV_FORWARD,
  LUC_CONV_INPUT, /* gradient */
  LUC_CONV_WEIGHT /* gradient */
} luc_conv_way;

/* Is it the faster way? */
bool luc__conv_product_suits(const luc_conv *c, luc_conv_way way);
luc_status luc__conv_product(luc_context *ctx, const luc_conv *c, const void *x, const void *weight,
                             const void *bias, void *y);
luc_status luc__conv_product_input(luc_context *ctx, const luc_conv *c, const void *dy,
                                   const void *weight, void *dx);
luc_status luc__conv_product_weight(luc_context *ctx, const luc_conv *c, const void *x,
                                    const void *dy, void *dweight);

#endif
