/* Convolutions as one matrix product: what every output meets is gathered, once for all filters, or
 * the product is added to the input's gradient. For few outputs of many weights, for kernels that
 * do not overlap, and gradients of inputs of few channels. */
#ifndef LUC_CONV_PRODUCT_H
#define LUC_CONV_PRODUCT_H

#include "cpu/conv.h"

/* Is it the faster way forward, or for the weight's gradient? */
bool luc__conv_product_suits(const luc_conv *c, bool forward);
/* What the input's gradient costs, or the way forward, in multiplications. */
double luc__conv_product_cost(const luc_conv *c, bool forward);
luc_status luc__conv_product(luc_context *ctx, const luc_conv *c, const void *x, const void *weight,
                             const void *bias, void *y);
luc_status luc__conv_product_input(luc_context *ctx, const luc_conv *c, const void *dy,
                                   const void *weight, void *dx);
luc_status luc__conv_product_weight(luc_context *ctx, const luc_conv *c, const void *x,
                                    const void *dy, void *dweight);

#endif
