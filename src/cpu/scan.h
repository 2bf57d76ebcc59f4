/* Running sums, products and extremes along one dimension of contiguous [outer, n, inner] memory of
 * a compute type (float32, float64, int64), or, for extremes of n up to INT32_MAX, of int32. */
#ifndef LUC_SCAN_H
#define LUC_SCAN_H

#include "base/context.h"
#include "tensor/dtype.h"

/* ORDER SCAN */
typedef enum luc_scan_op {
  LUC_SCAN_SUM,
  LUC_SCAN_PROD,
  LUC_SCAN_MAX, /* with the last position of the extreme in `at`; NaN stays */
  LUC_SCAN_MIN,
  LUC_NUM_SCANS,
  LUC_SCAN_LOGSUMEXP = LUC_NUM_SCANS /* floating point or complex only */
} luc_scan_op;

typedef struct luc_scan {
  luc_scan_op op;
  luc_dtype dtype;
  bool reverse; /* sums: from the end to the beginning */
  int64_t outer, n, inner;
  int64_t first; /* what positions count from */
} luc_scan;

/* at (int64) is for MAX and MIN. */
void luc__scan(luc_context *ctx, const luc_scan *s, const void *x, void *y, int64_t *at);
/* The gradient of the running product y of x, exact where x has zeros: dx_k is the sum over i >= k
 * of dy_i times the product of x_0 … x_i without x_k. Quadratic in n. */
void luc__cumprod_backward(luc_context *ctx, const luc_scan *s, const void *dy, const void *x,
                           void *dx);
/* Of x and its running logarithms `sums`, y_i is the sum over k <= i of v_k exp(x_k - sums_i), how
 * the latter move with x; or, with s->reverse, y_k that over i >= k of v_i exp(x_k - sums_i), the
 * gradient. No exponential of real numbers is above 1. */
void luc__logcumsumexp_shares(luc_context *ctx, const luc_scan *s, const void *v, const void *x,
                              const void *sums, void *y);

#endif
