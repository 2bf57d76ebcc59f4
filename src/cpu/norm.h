/* Normalization of contiguous floating point memory. Statistics, weights, biases and the gradients
 * of these have the dtype of the data, of halves float32; statistics are sums about a value near
 * the mean. Weights and biases may be NULL. */
#ifndef LUC_NORM_H
#define LUC_NORM_H

#include "base/context.h"
#include "tensor/dtype.h"

/* One call's arrays; those that do not apply are NULL. */
typedef struct luc_norm_arrays {
  const void *x, *dy, *weight, *bias;
  void *y, *mean, *rstd, *running_mean, *running_var;
  const void *given_mean, *given_rstd; /* backward: as the forward wrote them */
  void *dx, *dweight, *dbias;
  bool stream; /* for kernels: y or dx goes past the cache where it can */
} luc_norm_arrays;

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

/* From x, weight and bias to y, mean and rstd ([rows] each, or NULL: no gradient is wanted). */
void luc__layer_norm(luc_context *ctx, const luc_layer_norm *l, const luc_norm_arrays *a);
/* From dy, x, weight and the given ones to dx, dweight and dbias. */
luc_status luc__layer_norm_backward(luc_context *ctx, const luc_layer_norm *l,
                                    const luc_norm_arrays *a);

/* Over batch and inner of [batch, channels, inner]. */
typedef struct luc_batch_norm {
  luc_dtype dtype;
  bool training; /* statistics of this batch; else the running ones */
  int64_t batch, channels, inner;
  double eps;
  double momentum; /* running = (1 - momentum) * running + momentum * this batch's */
} luc_batch_norm;

/* Training: writes mean and rstd ([channels], biased variance) and updates running_mean and
 * running_var (unbiased; may be NULL). Otherwise: reads running_mean and running_var, and writes
 * mean and rstd from them unless they are NULL. */
void luc__batch_norm(luc_context *ctx, const luc_batch_norm *b, const luc_norm_arrays *a);
/* As luc__layer_norm_backward, in both modes. */
void luc__batch_norm_backward(luc_context *ctx, const luc_batch_norm *b, const luc_norm_arrays *a);

#endif
