/* Products of a factor with many zeros. */
#ifndef LUC_GEMM_SPARSE_H
#define LUC_GEMM_SPARSE_H

#include "cpu/gemm.h"

/* Fewer multiplications are soon done. */
enum {
#ifdef LUCERNA_TEST_BUILD
  LUC_SPARSE_WORK = 1 << 12
#else
  LUC_SPARSE_WORK = 1 << 23
#endif
};
/* Is A of such a product, by a look here and there, so full of zeros that it pays to pass them
 * over? */
bool luc__gemm_is_sparse(const luc_gemm *g);
/* C, as luc__gemm makes it, but for the batch, which is 1. False, and C is as it was, where B has
 * infinities or NaN, or memory is refused: other ways take less. */
bool luc__gemm_sparse(luc_context *ctx, const luc_gemm *g);

#endif
