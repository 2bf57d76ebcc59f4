/* The plan of a convolution's padded buffer: sizes in three dimensions, phases and where each
 * kernel element finds its pixels (conv_kernels.h has the scheme). */
#ifndef LUC_CONV_PLAN_H
#define LUC_CONV_PLAN_H

#include "cpu/conv_kernels.h"

/* Only the sizes. */
void luc__conv_plan_sizes(luc_conv_plan *p, const luc_conv *c);
/* What the windows of `out` outputs cover in dimension d. */
int64_t luc__conv_covered(const luc_conv_plan *p, int d, int64_t out);
/* All but how it is cut. The buffer serves band[0] rows and band[1] columns of the output, NULL:
 * all. p begins with zeros. */
luc_status luc__conv_plan_init(luc_context *ctx, luc_conv_plan *p, const luc_conv *c,
                               const int64_t *band);
void luc__conv_plan_free(luc_context *ctx, luc_conv_plan *p);

#endif
