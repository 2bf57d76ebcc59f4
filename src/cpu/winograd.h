/* Convolutions by Winograd's minimal filtering, of any kernel, stride or dilation (in three
 * dimensions: in the last two): a quarter of the multiplications of 3 × 3, half of those of a row
 * of 3, two thirds of those of 3 × 3 with a stride of 2. */
#ifndef LUC_WINOGRAD_H
#define LUC_WINOGRAD_H

#include "cpu/conv.h"

typedef enum luc_winograd_way {
  LUC_WINOGRAD_FORWARD,
  LUC_WINOGRAD_INPUT, /* gradient */
  LUC_WINOGRAD_WEIGHT /* gradient */
} luc_winograd_way;

/* If it is the faster way for this convolution, or for its gradient: how many taps a part has that
 * is filtered at a time. Else 0. */
int luc__winograd_part(luc_context *ctx, const luc_conv *c, luc_winograd_way way);
/* y = conv(x, weight) + bias; backward: y is the gradient of the input, x that of the output. */
luc_status luc__winograd(luc_context *ctx, const luc_conv *c, int part, bool backward,
                         const void *x, const void *weight, const void *bias, void *y);
luc_status luc__winograd_weight(luc_context *ctx, const luc_conv *c, int part, const void *x,
                                const void *dy, void *dweight);

#endif
