/* What the operators that stand on a heavy kernel share: the dtype to compute in, the checks every
 * one of them makes, and handing over what was computed. */
#ifndef LUC_COMPUTE_H
#define LUC_COMPUTE_H

#include "lucerna/autograd.h"
#include "ops/op.h"

/* The dtype kernels compute in for tensors of this one: half precision goes through float32,
 * integers through float64, which holds them up to 2^53. */
static inline luc_dtype luc__compute_dtype(luc_dtype dtype) {
  return dtype == LUC_FLOAT64 || !luc__dtype_is_float(dtype) ? LUC_FLOAT64 : LUC_FLOAT32;
}

/* The product of sizes as a caller gave them; INT64_MAX where it would be more. */
static inline int64_t luc__product_of(int n, const int64_t *given) {
  int64_t product = 1;
  for (int i = 0; i < n; i++)
    if (__builtin_mul_overflow(product, given[i], &product)) product = INT64_MAX;
  return product;
}

/* Two arguments must have one dtype; b may be NULL (an optional argument that was not given). */
luc_status luc__match_dtype(luc_context *ctx, const char *name_a, const luc_tensor *a,
                            const char *name_b, const luc_tensor *b);
luc_status luc__need_float(luc_context *ctx, const char *name, const luc_tensor *t);
/* A floating point or integer input: anything but bool. */
luc_status luc__need_numbers(luc_context *ctx, const luc_tensor *input);
/* LUC_ERR_SHAPE: "what (a [2, 3], b [4])"; b may be NULL. */
luc_status luc__fail_shapes(luc_context *ctx, const char *name_a, const luc_tensor *a,
                            const char *name_b, const luc_tensor *b, const char *fmt, ...)
    LUC_PRINTF(6, 7);

/* t as contiguous memory of dtype in *out; t NULL gives NULL. */
luc_status luc__dense(luc_context *ctx, luc_tensor *t, luc_dtype dtype, luc_tensor **out);
static inline void *luc__data(const luc_tensor *t) {
  return t ? t->data : NULL;
}

/* A result that is a list of n tensors, none of them made yet. Like any it is released by who runs
 * the operator, if that fails. */
luc_status luc__list(luc_context *ctx, int n, luc_value *out);

/* Images [N, C, H, W] (or three-dimensional ones) of no more elements than an int32 counts may lie
 * as [N, H, W, C]: then their results do too. */
bool luc__channels_last(const luc_tensor *t, int spatial);
/* The same also of rows [N, C, W], for averages: other results of rows are rows, as in PyTorch. */
bool luc__lies_last(const luc_tensor *t, int spatial);
/* Gives a fresh tensor the strides of such. */
void luc__lay_channels_last(luc_tensor *fresh);
/* Moves a dimension of a fresh tensor's, or a view's, geometry. */
void luc__move_dim(luc_tensor *t, int from, int to);
/* t as contiguous memory of dtype; last: with its channels as the last dimension. */
luc_status luc__dense_images(luc_context *ctx, luc_tensor *t, luc_dtype dtype, bool last,
                             luc_tensor **out);

/* max_pool_windows(input, kernel, stride, padding, dilation, ceil_mode), perhaps without indices,
 * which only planes side by side and tiny ones go without (ops/windows.c). */
luc_status luc__max_pool_by_windows(luc_context *ctx, bool with_indices, luc_value *args,
                                    luc_value *out);

/* Is a gradient being recorded (create_graph)? Then formulas must be made of operators that have
 * gradients; else they may take the fused kernel. */
static inline bool luc__recording(const luc_context *ctx) {
  return ctx->grad_mode;
}

/* May a gradient by t be asked for later? Then what it needs is worth computing. */
static inline bool luc__wants_gradient(const luc_context *ctx, const luc_tensor *t) {
  return t->inner || (ctx->grad_mode && !ctx->inside_op && luc_tensor_requires_grad(t));
}

/* The n integers of an int[n] argument; a single one stands for n equal ones. */
luc_status luc__take_ints(luc_context *ctx, const char *name, const luc_value *v, int n,
                          int64_t *out);
/* The last `spatial` sizes of input p, which need not have been saved, as a list argument; `sizes`
 * has room for LUC_MAX_DIMS. */
luc_value luc__input_spatial(const luc_backward *b, int p, int spatial, int64_t *sizes);
/* The gradient of a row (t, size, …) that is linear in t: op takes the result's gradient, the
 * spatial sizes that t had, and the row's own arguments 2 to n - 1. */
luc_status luc__grad_to_size(luc_context *ctx, luc_backward *b, luc_opid op, int n);
/* Refuses entries below `least`: "stride must be at least 1 (got [0, 1])". */
luc_status luc__check_least(luc_context *ctx, const char *name, int n, const int64_t *values,
                            int64_t least);

/* Is input [N, C, spatial...] (1 to 3 spatial dimensions), or without its batch? Anything else is
 * an error that names both forms. */
luc_status luc__check_batched(luc_context *ctx, const luc_tensor *input, int spatial,
                              bool *batched);

#endif
