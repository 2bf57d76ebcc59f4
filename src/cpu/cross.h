/* Vector products: of every three elements of a and of b along a dimension. */
#ifndef LUC_CROSS_H
#define LUC_CROSS_H

#include "tensor/tensor.h"

/* out, a and b have one dtype, not bool nor a half; all are 3 long along dim, and a and b broadcast
 * to out's shape. */
void luc__cross(luc_context *ctx, int dim, luc_tensor *out, const luc_tensor *a,
                const luc_tensor *b);

/* n products: at[i] are out's, a's and b's first element, step[i] the bytes from one vector to the
 * next, part[i] those between a vector's elements. */
typedef void (*luc_cross_fn)(char *const *at, int64_t n, const int64_t *step, const int64_t *part);

/* Integers wrap around, so that they are told apart by their size alone. */
enum {
  LUC_CROSS_F32,
  LUC_CROSS_F64,
  LUC_CROSS_C64,
  LUC_CROSS_C128,
  LUC_CROSS_I8,
  LUC_CROSS_I16,
  LUC_CROSS_I32,
  LUC_CROSS_I64,
  LUC_NUM_CROSSES
};
extern const luc_cross_fn luc__cross_base[LUC_NUM_CROSSES], luc__cross_avx2[LUC_NUM_CROSSES],
    luc__cross_avx512[LUC_NUM_CROSSES];

#endif
