/* Convolutions that are matrix products on the tensors themselves: those whose kernel has one
 * element and moves by one, pixels being columns, and those of one window, images being rows. */
#ifndef LUC_CONV_1X1_H
#define LUC_CONV_1X1_H

#include "cpu/conv.h"

/* Of either kind. */
bool luc__is_1x1(const luc_conv *c);
luc_status luc__conv_1x1(luc_context *ctx, const luc_conv *c, const void *x, const void *weight,
                         const void *bias, void *y);
luc_status luc__conv_1x1_input(luc_context *ctx, const luc_conv *c, const void *dy,
                               const void *weight, void *dx);
luc_status luc__conv_1x1_weight(luc_context *ctx, const luc_conv *c, const void *x, const void *dy,
                                void *dweight);

#endif
