/* What matmul.c, whose plans are of real numbers, asks for complex ones. */
#ifndef LUC_MATMUL_COMPLEX_H
#define LUC_MATMUL_COMPLEX_H

#include "tensor/tensor.h"

/* a b of one complex dtype, as matmul multiplies them; their sizes have been checked. */
luc_status luc__matmul_complex(luc_context *ctx, luc_tensor *a, luc_tensor *b, luc_tensor **out);

#endif
