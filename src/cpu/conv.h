/* Convolution and its two gradients on raw contiguous [N, C, depth, rows, columns] memory. */
#ifndef LUC_CONV_H
#define LUC_CONV_H

#include "base/context.h"
#include "tensor/dtype.h"

enum { LUC_MAX_SPATIAL = 3 };

/* Input [batch, in_channels, in...], weight [out_channels, in_channels / groups, kernel...], output
 * [batch, out_channels, out...], always of three dimensions: those that lack come first, with size,
 * stride and dilation 1. Only the padding before the first element is named: what comes after the
 * last follows from `out`, so that 'same' padding may be uneven. */
typedef struct luc_conv {
  luc_dtype dtype; /* LUC_FLOAT32 or LUC_FLOAT64 */
  bool relu;       /* forward: fused behind the bias */
  bool pairs; /* what is summed over, channels of x and weight, of dy and weight, or pixels of x
                      and dy, counts pairs of bfloat16 (cpu/gemm.h) */
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[LUC_MAX_SPATIAL], kernel[LUC_MAX_SPATIAL], out[LUC_MAX_SPATIAL];
  int64_t stride[LUC_MAX_SPATIAL], padding[LUC_MAX_SPATIAL], dilation[LUC_MAX_SPATIAL];
} luc_conv;

/* Output size of one dimension; below 1 when the kernel does not fit. */
int64_t luc__conv_out_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad_before,
                           int64_t pad_after, int64_t dilation);
/* Elements of sizes in three dimensions: pixels of an image and channel, taps of a kernel. */
static inline int64_t luc__volume(const int64_t *sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}
/* Are a convolution of bfloat16, its input's and its weight's gradient better computed by pairs? */
bool luc__conv_pairs_suit(luc_context *ctx, const luc_conv *c);
bool luc__conv_pairs_suit_input(luc_context *ctx, const luc_conv *c);
bool luc__conv_pairs_suit_weight(luc_context *ctx, const luc_conv *c);
/* y = conv(x, weight) + bias; bias may be NULL. */
luc_status luc__conv_forward(luc_context *ctx, const luc_conv *c, const void *x, const void *weight,
                             const void *bias, void *y);
/* The same by the padded copy alone; no size is 0. */
luc_status luc__conv_correlate(luc_context *ctx, const luc_conv *c, const void *x,
                               const void *weight, const void *bias, void *y);
/* dx from dy. Also a transposed convolution's forward, with the roles of in and out exchanged. */
luc_status luc__conv_backward_input(luc_context *ctx, const luc_conv *c, const void *dy,
                                    const void *weight, void *dx);
/* dweight from x and dy. */
luc_status luc__conv_backward_weight(luc_context *ctx, const luc_conv *c, const void *x,
                                     const void *dy, void *dweight);
/* Does no such infinity or NaN show in it as zeros beside an image give to other taps? */
bool luc__conv_is_finite(luc_context *ctx, const luc_conv *c, const void *dweight);

#endif
