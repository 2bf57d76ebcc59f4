/* Tensors: typed, strided views of shared storages. Dimensions and positions count from 0 here. */
#ifndef LUCERNA_TENSOR_H
#define LUCERNA_TENSOR_H

#include "lucerna/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ORDER DTYPE */
typedef enum luc_dtype {
  LUC_FLOAT32,
  LUC_FLOAT64,
  LUC_FLOAT16,
  LUC_BFLOAT16,
  LUC_INT8,
  LUC_UINT8,
  LUC_INT16,
  LUC_INT32,
  LUC_INT64,
  LUC_BOOL,
  LUC_COMPLEX64,  /* two float32: real part, imaginary part */
  LUC_COMPLEX128, /* two float64 */
  /* what files hold; to be stored, moved and converted, but no operator computes with them: */
  LUC_FLOAT8_E4M3FN,
  LUC_FLOAT8_E5M2,
  LUC_FLOAT8_E4M3FNUZ,
  LUC_FLOAT8_E5M2FNUZ,
  LUC_FLOAT8_E8M0FNU, /* powers of two */
  LUC_UINT16,
  LUC_UINT32,
  LUC_UINT64,
  LUC_NUM_DTYPES
} luc_dtype;

enum { LUC_MAX_DIMS = 8 };

typedef struct luc_tensor luc_tensor;

/* Called once when nothing uses wrapped memory any more. */
typedef void (*luc_release_fn)(void *ud, void *data);

/* A new contiguous tensor with undefined contents. sizes may be NULL when ndim is 0. */
luc_status luc_tensor_new(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                          luc_tensor **out);
/* A copy of `data` (contiguous, of this dtype). */
luc_status luc_tensor_from(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                           const void *data, luc_tensor **out);
/* A tensor over the host's memory, not copied and not counted in the context's limit. strides, in
 * elements and not negative, may be NULL: contiguous. data must be aligned to its elements, and
 * booleans be bytes 0 and 1. release (may be NULL) is called exactly once: after the last view of
 * the memory is gone, or, if this fails, before it returns. */
luc_status luc_tensor_wrap(luc_context *ctx, luc_dtype dtype, int ndim, const int64_t *sizes,
                           const int64_t *strides, void *data, luc_release_fn release, void *ud,
                           luc_tensor **out);
luc_tensor *luc_tensor_retain(luc_tensor *t);
/* Drops a reference; NULL is fine. */
void luc_tensor_release(luc_context *ctx, luc_tensor *t);

/* A tensor whose shape is not known yet: it has a dtype and can be a parameter or buffer, but every
 * operator refuses it until it is materialized. */
luc_status luc_tensor_uninitialized(luc_context *ctx, luc_dtype dtype, luc_tensor **out);
bool luc_tensor_is_uninitialized(const luc_tensor *t);
/* Gives it a shape and undefined contents. */
luc_status luc_tensor_materialize(luc_context *ctx, luc_tensor *t, luc_dtype dtype, int ndim,
                                  const int64_t *sizes);

luc_dtype luc_tensor_dtype(const luc_tensor *t);
int luc_tensor_ndim(const luc_tensor *t);
const int64_t *luc_tensor_sizes(const luc_tensor *t);
const int64_t *luc_tensor_strides(const luc_tensor *t); /* in elements */
int64_t luc_tensor_numel(const luc_tensor *t);
/* The first element; the tensor may be a strided view. */
void *luc_tensor_data(luc_tensor *t);
bool luc_tensor_is_contiguous(const luc_tensor *t);
/* Reads the one element of a one-element tensor, which must not be complex. */
luc_status luc_tensor_item(luc_context *ctx, const luc_tensor *t, double *out);
/* Writes PyTorch's text of the tensor to a new block of *size bytes (NUL included); free it with
 * luc_text_free. */
luc_status luc_tensor_text(luc_context *ctx, luc_tensor *t, char **out, size_t *size);
void luc_text_free(luc_context *ctx, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
