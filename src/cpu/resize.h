/* Resampling along one dimension: every output element is a weighted sum of a few input elements,
 * listed in tables. Images are resized by a pass along each dimension. */
#ifndef LUC_RESIZE_H
#define LUC_RESIZE_H

#include "base/context.h"
#include "tensor/dtype.h"

/* ORDER RESAMPLING. AA (antialias): wide enough for what is left out. */
typedef enum luc_resampling {
  LUC_RESAMPLE_NEAREST,
  LUC_RESAMPLE_NEAREST_EXACT,
  LUC_RESAMPLE_LINEAR,
  LUC_RESAMPLE_CUBIC,
  LUC_RESAMPLE_LINEAR_AA,
  LUC_RESAMPLE_CUBIC_AA
} luc_resampling;

typedef struct luc_taps {
  int64_t in, out, most; /* most: entries of the tables for each output element */
  int64_t *count;        /* [out]: how many of them are used */
  int64_t *at;           /* [out, most]: input positions */
  void *weight;          /* likewise, in the dtype that is resampled */
  void *block;
  size_t bytes;
} luc_taps;

/* The tables of a dimension. scale: how much larger the output is, where the caller says so, else
 * 0; dtype: its arithmetic finds the positions, as in PyTorch. */
luc_status luc__taps_new(luc_context *ctx, luc_resampling kind, luc_dtype dtype, int64_t in,
                         int64_t out, double scale, bool align_corners, luc_taps *taps);
/* The tables of the gradient in their place: which outputs an input has gone to. */
luc_status luc__taps_turn(luc_context *ctx, luc_dtype dtype, luc_taps *taps);
/* Is each output the input in its place? */
bool luc__taps_copy(const luc_taps *taps);
void luc__taps_free(luc_context *ctx, luc_taps *taps);

/* y [outer, out, inner] from x [outer, in, inner]; float32 and float64. rows, of the nearest kinds
 * and where inner is 1: y's lines are those that they pick; NULL: all. */
luc_status luc__resample(luc_context *ctx, luc_dtype dtype, const luc_taps *taps,
                         const luc_taps *rows, int64_t outer, int64_t inner, const void *x,
                         void *y);

#endif
