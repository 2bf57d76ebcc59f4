/* Factorizations of matrices, by LAPACK. */
#include <string.h>

#include "cpu/copy.h"
#include "cpu/lapack.h"
#include "ops/rows.h"

/* Makes the two factors of input [..., m, n]: [..., m, k] and [..., k, n], k = min(m, n). */
static luc_status new_factors(luc_context *ctx, const luc_tensor *input, luc_tensor **q,
                              luc_tensor **r) {
  int64_t sizes[LUC_MAX_DIMS];
  int nd = input->ndim;
  memcpy(sizes, input->sizes, sizeof sizes);
  int64_t m = sizes[nd - 2], n = sizes[nd - 1], k = m < n ? m : n;
  sizes[nd - 1] = k;
  LUC_TRY(luc__tensor_empty(ctx, (luc_dtype)input->dtype, nd, sizes, q));
  sizes[nd - 2] = k;
  sizes[nd - 1] = n;
  return luc__tensor_empty(ctx, (luc_dtype)input->dtype, nd, sizes, r);
}

luc_status luc__run_qr(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *a = NULL, *q = NULL, *r = NULL;
  luc_dtype dtype = (luc_dtype)input->dtype;
  char shape[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, input->ndim >= 2, LUC_ERR_SHAPE,
            "qr: input must have at least 2 dimensions (got %s)",
            luc__tensor_shape_text(shape, input));
  LUC_CHECK(ctx, dtype == LUC_FLOAT32 || dtype == LUC_FLOAT64, LUC_ERR_TYPE,
            "qr: input must be float32 or float64 (got %s)", luc__dtype_name(dtype));
  luc_status status;
  LUC_GO(luc__contiguous_as(ctx, input, dtype, &a));
  LUC_GO(new_factors(ctx, a, &q, &r));
  int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1], k = m < n ? m : n;
  int64_t count = m && n ? a->numel / (m * n) : 0;
  size_t item = luc__dtype_size(dtype);
  for (int64_t i = 0; i < count; i++)
    LUC_GO(luc__qr(ctx, dtype, m, n, a->data + (size_t)(i * m * n) * item,
                   q->data + (size_t)(i * m * k) * item, r->data + (size_t)(i * k * n) * item));
  out[0] = luc_v_tensor(q);
  out[1] = luc_v_tensor(r);
  q = r = NULL;
done:
  luc_tensor_release(ctx, a);
  luc_tensor_release(ctx, q);
  luc_tensor_release(ctx, r);
  return status;
}
