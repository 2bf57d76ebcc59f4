/* Sliding blocks of planes: [planes, H, W] to columns [planes, kH * kW, oH * oW] and back. */
#ifndef LUC_FOLD_H
#define LUC_FOLD_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef struct luc_fold {
  luc_dtype dtype; /* LUC_FLOAT32 or LUC_FLOAT64 */
  int64_t planes;
  int64_t in[2], kernel[2], stride[2], padding[2], dilation[2];
  int64_t out[2]; /* places of the kernel */
} luc_fold;

/* columns = what the kernel sees at each place, zero outside the plane. */
void luc__unfold(luc_context *ctx, const luc_fold *f, const void *image, void *columns);
/* image = the sums of the columns at the places they were taken from. */
void luc__fold(luc_context *ctx, const luc_fold *f, const void *columns, void *image);

#endif
