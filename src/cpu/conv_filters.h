/* Convolutions with filters in the lanes of vectors, and inputs' gradients with channels there: for
 * outputs whose rows leave lanes empty. Images are read as they lie, padding is not multiplied. */
#ifndef LUC_CONV_FILTERS_H
#define LUC_CONV_FILTERS_H

#include "cpu/conv.h"

/* Products that packing or turning a weight takes as long as, measured where all are beyond the
 * second-level cache. */
enum { LUC_CONV_PACK_WORK = 20 };

/* What it costs, in multiplications; infinite if the geometry has too many kinds of outputs. */
double luc__conv_filters_cost(const luc_conv *c, bool backward);
/* y = conv(x, weight) + bias; backward: y is the gradient of the input, x that of the output. */
luc_status luc__conv_filters(luc_context *ctx, const luc_conv *c, bool backward, const void *x,
                             const void *weight, const void *bias, void *y);

#endif
