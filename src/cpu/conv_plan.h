/* The plan of a convolution's padded buffer: sizes in three dimensions, phases and where each
 * kernel element finds its pixels (conv_kernels.h has the scheme). */
#ifndef LUC_CONV_PLAN_H
#define LUC_CONV_PLAN_H

#include "cpu/conv_kernels.h"

/* The sizes; the band is the whole output. */
void luc__conv_plan_sizes(luc_conv_plan *p, const luc_conv *c);
/* What the windows of `out` outputs cover in dimension d. */
int64_t luc__conv_covered(const luc_conv_plan *p, int d, int64_t out);
/* The buffer that serves a band. */
luc_status luc__conv_plan_buffer(luc_context *ctx, luc_conv_plan *p, luc_dtype dtype);
void luc__conv_plan_free(luc_context *ctx, luc_conv_plan *p);

#endif
