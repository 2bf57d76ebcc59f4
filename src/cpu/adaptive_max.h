/* Adaptive max pooling; its gradient is luc__max_pool_backward with the indices given here. */
#ifndef LUC_ADAPTIVE_MAX_H
#define LUC_ADAPTIVE_MAX_H

#include "cpu/pool2d.h"

/* Uses p's dtype, planes, in and out. The first of equals wins, NaN before anything; indices are
 * flat positions in a plane. */
void luc__adaptive_max_pool(luc_context *ctx, const luc_pool2d *p, const void *x, void *y,
                            int64_t *indices);

#endif
