/* Factorizations of dense matrices by LAPACK, from OpenBLAS, which is loaded when first needed so
 * that starting costs nothing. Where it is missing the functions say so. */
#ifndef LUC_LAPACK_H
#define LUC_LAPACK_H

#include "base/context.h"
#include "tensor/dtype.h"

/* A [m, n] = Q [m, k] R [k, n], k = min(m, n), all row-major and contiguous; float32 and float64.
 * The diagonal of R has LAPACK's signs. r may be NULL. */
luc_status luc__qr(luc_context *ctx, luc_dtype dtype, int64_t m, int64_t n, const void *a, void *q,
                   void *r);

#endif
