/* Factors of bfloat16 as pairs along the dimension that is summed over, of which some machines
 * multiply two in one instruction (cpu/gemm_pairs.isa.c). */
#ifndef LUC_PAIRS_H
#define LUC_PAIRS_H

#include "tensor/tensor.h"

/* Is the product faster by pairs? Dimension dim_a of a meets dim_b of b; each element of a takes
 * part in uses_a products, each of b in uses_b. */
bool luc__pairs_pay(luc_context *ctx, const luc_tensor *a, int dim_a, double uses_a,
                    const luc_tensor *b, int dim_b, double uses_b);
/* t's pairs along dim, each as a float32: they or what is beside them are adjacent. They share t's
 * memory, or a copy's where they do not lie so: an odd one meets a zero. */
luc_status luc__pairs_of(luc_context *ctx, luc_tensor *t, int dim, luc_tensor **out);

#endif
