/* Normalization of contiguous floating point memory. Statistics, weights, biases and the gradients
 * of these have the dtype of the data, of halves float32; statistics are sums about a value near
 * the mean. Weights and biases may be NULL. */
#ifndef LUC_NORM_H
#define LUC_NORM_H

#include "base/context.h"
#include "tensor/dtype.h"

/* Over the last dimension of [rows, n]: y = (x - mean) * rstd * weight[n] + bias[n]; with `rms` the
 * mean is 0. A group norm's rows are groups: weight and bias have an entry for each stretch of
 * `inner` elements, and as many groups as `channels` entries are for make an image. */
typedef struct luc_layer_norm {
  luc_dtype dtype;
  int64_t rows, n;
  int64_t inner, channels; /* group norm; else 0 */
  bool rms;
  double eps;
} luc_layer_norm;

/* mean and rstd ([rows] each) may be NULL when no gradient is wanted. */
luc_status luc__layer_norm(luc_context *ctx, const luc_layer_norm *l, const void *x,
                           const void *weight, const void *bias, void *y, void *mean, void *rstd);
luc_status luc__layer_norm_backward(luc_context *ctx, const luc_layer_norm *l, const void *dy,
                                    const void *x, const void *mean, const void *rstd,
                                    const void *weight, void *dx, void *dweight, void *dbias);

/* Over batch and inner of [batch, channels, inner]. */
typedef struct luc_batch_norm {
  luc_dtype dtype;
  bool training; /* statistics of this batch; else the running ones */
  int64_t batch, channels, inner;
  double eps;
  double momentum; /* running = (1 - momentum) * running + momentum * this batch's */
} luc_batch_norm;

/* Training: writes mean and invstd ([channels], biased variance) and updates running_mean and
 * running_var (unbiased; may be NULL). Otherwise: reads running_mean and running_var, and writes
 * mean and invstd from them unless they are NULL. */
luc_status luc__batch_norm(luc_context *ctx, const luc_batch_norm *b, const void *x,
                           const void *weight, const void *bias, void *running_mean,
                           void *running_var, void *y, void *mean, void *invstd);
/* mean and invstd as the forward wrote them, in both modes. */
luc_status luc__batch_norm_backward(luc_context *ctx, const luc_batch_norm *b, const void *dy,
                                    const void *x, const void *mean, const void *invstd,
                                    const void *weight, void *dx, void *dweight, void *dbias);

#endif
