/* Pairs that lie in memory already are read there; others are woven in a copy, where it pays. */
#include "ops/pairs.h"

#include <string.h>

#include "cpu/copy.h"
#include "cpu/cuts.h"
#include "cpu/gemm_kernels.h"
#include "cpu/kernels.h"
#include "ops/compute.h"

/* Are t's pairs along dim there, each in 4 bytes? */
static bool lies_in_pairs(const luc_tensor *t, int dim) {
  if (t->strides[dim] != 1 || t->sizes[dim] % 2 != 0 || t->offset % 2 != 0) return false;
  for (int d = 0; d < t->ndim; d++)
    if (d != dim && t->sizes[d] > 1 && t->strides[d] % 2 != 0) return false;
  return (uintptr_t)t->data % sizeof(float) == 0;
}

/* What is not a copy saves the conversion to float32 too. */
static bool pays(const luc_tensor *t, int dim, double uses) {
  enum { USES_OF_COPY = 2 };
  return uses >= USES_OF_COPY || lies_in_pairs(t, dim);
}

bool luc__pairs_pay(luc_context *ctx, const luc_tensor *a, int dim_a, double uses_a,
                    const luc_tensor *b, int dim_b, double uses_b) {
  enum { FEW_USES = 16, FEW_OF_COPY = 4 }; /* where memory takes the time */
  if (a->dtype != LUC_BFLOAT16 || a->sizes[dim_a] < 2 * luc__gemm_least_pairs(ctx)) return false;
  if (!pays(a, dim_a, uses_a) || !pays(b, dim_b, uses_b)) return false;
  if (luc__gemm_has_fast_pairs(ctx)) return true;
  const bool lie = lies_in_pairs(a, dim_a) && lies_in_pairs(b, dim_b);
  const double most = lie ? FEW_USES : FEW_OF_COPY;
  return (uses_a <= most || uses_b <= most) && luc__gemm_has_pairs(ctx);
}

/* The other dimension of the matrix, or -1. */
static int other(const luc_tensor *t, int dim) {
  return dim < t->ndim - 1 ? t->ndim - 1 : t->ndim - 2;
}

typedef struct weave_job {
  void (*weave)(int64_t k, int64_t n, const uint16_t *from, int64_t row, void *to);
  const luc_tensor *from; /* [batch..., k, n] */
  float *to;
} weave_job;

static void weave_rows(void *arg, int64_t begin, int64_t end) {
  const weave_job *j = arg;
  const luc_tensor *t = j->from;
  const int64_t *sizes = t->sizes + t->ndim - 2, row = t->strides[t->ndim - 2];
  const int64_t pairs = luc__cuts(sizes[0], 2);
  for (int64_t i = begin, next; i < end; i = next) {
    const int64_t k = i % pairs * 2;
    int64_t at = k * row, item = i / pairs;
    next = luc__min64((item + 1) * pairs, end);
    for (int d = t->ndim - 3; d >= 0; item /= t->sizes[d--])
      at += item % t->sizes[d] * t->strides[d];
    j->weave(luc__min64(2 * (next - i), sizes[0] - k), sizes[1], (const uint16_t *)t->data + at,
             row, j->to + i * sizes[1]);
  }
}

/* Rows of k whose elements are adjacent go two by two. */
static luc_status weave(luc_context *ctx, const luc_tensor *t, int dim, luc_tensor **out) {
  enum { ELEMENTS = 1 << 15 };
  luc_tensor rows = *t;
  luc__move_dim(&rows, other(t, dim), t->ndim - 1);
  const int64_t k = rows.sizes[t->ndim - 2], n = rows.sizes[t->ndim - 1];
  rows.sizes[t->ndim - 2] = luc__cuts(k, 2);
  LUC_TRY(luc__tensor_empty(ctx, LUC_FLOAT32, t->ndim, rows.sizes, out));
  rows.sizes[t->ndim - 2] = k;
  weave_job j = {luc__kernels(ctx)->gemm_pairs->weave, &rows, (float *)(*out)->data};
  luc__parallel_for(ctx, (*out)->numel / n, ELEMENTS / n + 1, weave_rows, &j);
  luc__move_dim(*out, t->ndim - 1, other(t, dim));
  return LUC_OK;
}

/* Dimension dim becomes the last in memory, and even. */
static luc_status straighten(luc_context *ctx, const luc_tensor *t, int dim, luc_tensor **out) {
  const int last = t->ndim - 1;
  luc_tensor even = *t, part;
  luc__move_dim(&even, dim, last);
  even.sizes[last] += even.sizes[last] % 2;
  LUC_TRY(luc__tensor_empty(ctx, t->dtype, t->ndim, even.sizes, out));
  luc__move_dim(*out, last, dim);
  part = **out; /* of it, without what is added */
  part.sizes[dim] = t->sizes[dim], part.numel = t->numel;
  luc_status status = luc__copy(ctx, &part, t);
  if (status == LUC_OK && t->sizes[dim] % 2 != 0) {
    part.offset += part.sizes[dim];
    part.data += part.sizes[dim] * (int64_t)luc__dtype_size(t->dtype);
    part.sizes[dim] = 1, part.numel = t->numel / t->sizes[dim];
    status = luc__fill(ctx, &part, (luc_scalar){.kind = LUC_SCALAR_FLOAT});
  }
  if (status != LUC_OK) LUC_RELEASE(ctx, *out);
  return status;
}

/* t, whose pairs lie along dim, seen as such. */
static luc_status see_pairs(luc_context *ctx, luc_tensor *t, int dim, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  for (int d = 0; d < t->ndim; d++) sizes[d] = t->sizes[d], strides[d] = t->strides[d] / 2;
  sizes[dim] /= 2, strides[dim] = 1;
  return luc__tensor_view_as(ctx, t, LUC_FLOAT32, t->ndim, sizes, strides, t->offset / 2, out);
}

luc_status luc__pairs_of(luc_context *ctx, luc_tensor *t, int dim, luc_tensor **out) {
  if (lies_in_pairs(t, dim)) return see_pairs(ctx, t, dim, out);
  if (t->ndim > 1 && t->strides[other(t, dim)] == 1) return weave(ctx, t, dim, out);
  luc_tensor *copy;
  LUC_TRY(straighten(ctx, t, dim, &copy));
  luc_status status = see_pairs(ctx, copy, dim, out);
  luc_tensor_release(ctx, copy);
  return status;
}
