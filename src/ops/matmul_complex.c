/* Products of complex matrices, each as one of real ones. B is read where it lies, as a real matrix
 * of twice as many columns (or rows, if those are adjacent), and A's parts are spread over two rows
 * each, so that they meet it. */
#include "ops/matmul_complex.h"

#include <string.h>

#include "cpu/complex.h"
#include "cpu/copy.h"
#include "ops/compute.h"
#include "ops/formula.h"

/* Every second row of a real tensor from `row` on, of `columns` elements from `column` on, `step`
 * apart. */
static luc_tensor lattice(const luc_tensor *t, int row, int column, int64_t columns, int step) {
  luc_tensor at = *t;
  const int last = t->ndim - 1;
  const int64_t from = row * t->strides[last - 1] + column;
  at.numel = at.sizes[last] > 0 ? t->numel / 2 / at.sizes[last] * columns : 0;
  at.offset += from;
  at.data += from * (int64_t)luc__dtype_size(t->dtype);
  at.sizes[last - 1] /= 2, at.strides[last - 1] *= 2;
  at.sizes[last] = columns, at.strides[last] = step;
  return at;
}

/* [..., m, k] as a real [..., 2m, k] of rows of either part, or with `high` as [..., 2m, 2k], each
 * row as (re, -im) and (im, re). */
static luc_status spread(luc_context *ctx, const luc_tensor *a, bool high, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS];
  const int last = a->ndim - 1, step = high ? 2 : 1;
  const int64_t k = a->sizes[last];
  luc_tensor part;
  memcpy(sizes, a->sizes, (size_t)a->ndim * sizeof sizes[0]);
  sizes[last - 1] *= 2, sizes[last] *= step;
  LUC_TRY(luc__tensor_empty(ctx, luc__dtype_to_real(a->dtype), a->ndim, sizes, out));
  luc_status status = LUC_OK;
  for (int i = 0; i < 2 && status == LUC_OK; i++) {
    luc__part(a, i, &part);
    luc_tensor to = lattice(*out, i, 0, k, step);
    status = luc__copy(ctx, &to, &part);
    if (!high || status != LUC_OK) continue;
    to = lattice(*out, 1 - i, 1, k, step);
    luc_ew_input in = {.t = &part};
    if (i == 1)
      luc__elementwise(ctx, LUC_EW_neg, part.dtype, &to, &in);
    else
      status = luc__copy(ctx, &to, &part);
  }
  if (status != LUC_OK) LUC_RELEASE(ctx, *out);
  return status;
}

/* b [..., k, n] as a real [..., 2k, n] if high, else as [..., k, 2n]. */
static luc_status widen(luc_context *ctx, luc_tensor *b, bool high, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS];
  for (int d = 0; d < b->ndim; d++) sizes[d] = b->sizes[d], strides[d] = 2 * b->strides[d];
  const int dim = b->ndim - (high ? 2 : 1);
  sizes[dim] *= 2, strides[dim] = 1;
  return luc__tensor_view_as(ctx, b, luc__dtype_to_real(b->dtype), b->ndim, sizes, strides,
                             2 * b->offset, out);
}

/* What they give as complex numbers, with the matrices turned if `turned`. */
static luc_status join(luc_context *ctx, const luc_tensor *p, bool high, bool turned,
                       luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS];
  const int last = p->ndim - 1, step = high ? 1 : 2;
  const int64_t m = p->sizes[last - 1] / 2, n = p->sizes[last] / step;
  memcpy(sizes, p->sizes, (size_t)p->ndim * sizeof sizes[0]);
  sizes[last - 1] = turned ? n : m, sizes[last] = turned ? m : n;
  LUC_TRY(luc__tensor_empty(ctx, luc__dtype_to_complex(p->dtype), p->ndim, sizes, out));
  if (!high && !turned) {
    const int64_t rows = n > 0 ? (*out)->numel / n : 0;
    luc__complex_add_turned(ctx, (*out)->dtype, rows, n, p->data, (*out)->data);
    return LUC_OK;
  }
  luc_status status = LUC_OK;
  for (int i = 0; i < 2 && status == LUC_OK; i++) {
    luc_tensor part, first = lattice(p, 0, i, n, step), second = lattice(p, 1, 1 - i, n, step);
    luc__part(*out, i, &part);
    if (turned) luc__move_dim(&part, last, last - 1);
    if (high) {
      first = lattice(p, i, 0, n, step);
      status = luc__copy(ctx, &part, &first);
    } else {
      luc_ew_input in[] = {{.t = &first}, {.t = &second}};
      luc__elementwise(ctx, i == 0 ? LUC_EW_sub : LUC_EW_add, p->dtype, &part, in);
    }
  }
  if (status != LUC_OK) LUC_RELEASE(ctx, *out);
  return status;
}

/* A dimension of one element less. */
static void drop_dim(luc_tensor *t, int dim) {
  luc__move_dim(t, dim, t->ndim - 1);
  t->ndim--;
}

luc_status luc__matmul_complex(luc_context *ctx, luc_tensor *a, luc_tensor *b, luc_tensor **out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *spread_a = NULL, *wide_b = NULL;
  *out = NULL;
  if (a->ndim == 1 && b->ndim == 1)
    return luc__f_end(&f, luc__f_sum_all(&f, luc__f2(&f, LUC_OP_mul, a, b)), out);
  luc_tensor *x = a->ndim == 1 ? luc__f_unsqueeze(&f, a, 0) : a;
  luc_tensor *y = b->ndim == 1 ? luc__f_unsqueeze(&f, b, 1) : b;
  if (f.status != LUC_OK) return luc__f_end(&f, NULL, NULL);
  enum { FEW = 16 };
  const int64_t m = x->sizes[x->ndim - 2], n = y->sizes[y->ndim - 1];
  const bool few = n == 1 || (n < FEW && x->strides[x->ndim - 2] == 1); /* worth C's turn */
  const bool turned = x->ndim == y->ndim && m > 2 * n && (x->ndim == 2 || few);
  if (turned) { /* what is spread is the smaller one */
    luc_tensor *left = luc__f_transpose(&f, y, -2, -1);
    y = luc__f_transpose(&f, x, -2, -1);
    x = left;
  }
  if (f.status != LUC_OK) return luc__f_end(&f, NULL, NULL);
  const int64_t *step = y->strides + y->ndim - 2;
  const bool high = step[0] == 1 && step[1] != 1;
  if (!high && step[1] != 1) y = luc__f1(&f, LUC_OP_contiguous, y);
  if (f.status == LUC_OK) f.status = spread(ctx, x, high, &spread_a);
  luc__f_own(&f, spread_a);
  if (f.status == LUC_OK) f.status = widen(ctx, y, high, &wide_b);
  luc__f_own(&f, wide_b);
  luc_tensor *product = luc__f2(&f, LUC_OP_matmul, spread_a, wide_b);
  if (f.status == LUC_OK) f.status = join(ctx, product, high, turned, out);
  LUC_TRY(luc__f_end(&f, NULL, NULL));
  if (a->ndim == 1) drop_dim(*out, (*out)->ndim - 2);
  if (b->ndim == 1) drop_dim(*out, (*out)->ndim - 1);
  return LUC_OK;
}
