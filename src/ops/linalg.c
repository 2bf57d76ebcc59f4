/* What the files of linalg share: checks, codes of LAPACK as errors, steps of formulas. */
#include "ops/linalg.h"

#include <stdio.h>
#include <string.h>

luc_status luc__need_square(luc_context *ctx, const char *name, const luc_tensor *t) {
  char shape[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, t->ndim >= 2, LUC_ERR_SHAPE,
            "The input tensor %s must have at least 2 dimensions (got %s)", name,
            luc__tensor_shape_text(shape, t));
  int64_t m = t->sizes[t->ndim - 2], n = t->sizes[t->ndim - 1];
  LUC_CHECK(ctx, m == n, LUC_ERR_SHAPE,
            "%s must be batches of square matrices, but they are %lld by %lld matrices", name,
            (long long)m, (long long)n);
  return LUC_OK;
}

luc_status luc__need_matrices(luc_context *ctx, const char *name, const luc_tensor *t) {
  const luc_dtype dtype = luc__dtype_to_real(t->dtype);
  char shape[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, t->ndim >= 2, LUC_ERR_SHAPE,
            "The input tensor %s must have at least 2 dimensions (got %s)", name,
            luc__tensor_shape_text(shape, t));
  LUC_CHECK(ctx, luc__dtype_is_float(dtype), LUC_ERR_TYPE,
            "Expected a floating point or complex tensor as input. Got %s", luc__dtype_name(dtype));
  LUC_CHECK(ctx, dtype == LUC_FLOAT32 || dtype == LUC_FLOAT64, LUC_ERR_TYPE,
            "Low precision dtypes not supported. Got %s", luc__dtype_name(dtype));
  return LUC_OK;
}

luc_status luc__need_square_matrices(luc_context *ctx, const char *name, const luc_tensor *t) {
  LUC_TRY(luc__need_matrices(ctx, name, t));
  return luc__need_square(ctx, name, t);
}

luc_matrices luc__matrices(const luc_tensor *t) {
  const int batch = t->ndim - 2;
  return (luc_matrices){t->dtype, luc__product(batch, t->sizes), t->sizes[batch],
                        t->sizes[batch + 1]};
}

luc_status luc__batch_scratch(luc_context *ctx, const luc_tensor *t, luc_dtype dtype, int ntail,
                              const int64_t *tail, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS];
  int batch = t->ndim - 2;
  memcpy(sizes, t->sizes, (size_t)batch * sizeof *sizes);
  for (int i = 0; i < ntail; i++) sizes[batch + i] = tail[i];
  return luc__scratch(ctx, dtype, batch + ntail, sizes, out);
}

luc_status luc__check_info(luc_context *ctx, luc_tensor *info, luc_la_failure what) {
  info = luc__all_samples(info);
  const int32_t *codes = (const int32_t *)info->data;
  char element[48] = "";
  int64_t i = 0;
  while (i < info->numel && codes[i] == 0) i++;
  if (i == info->numel) return LUC_OK;
  int code = codes[i];
  if (info->ndim > 0) snprintf(element, sizeof element, "(Batch element %lld): ", (long long)i + 1);
  switch (what) {
  case LUC_LA_INVERSE:
    return luc__fail(ctx, LUC_ERR_VALUE,
                     "%sThe diagonal element %d is zero, the inversion could not be completed "
                     "because the input matrix is singular.",
                     element, code);
  case LUC_LA_SOLVE:
    return luc__fail(ctx, LUC_ERR_VALUE,
                     "%sThe solver failed because the input matrix is singular.", element);
  case LUC_LA_CHOLESKY:
    return luc__fail(ctx, LUC_ERR_VALUE,
                     "%sThe factorization could not be completed because the input is not "
                     "positive-definite (the leading minor of order %d is not positive-definite).",
                     element, code);
  case LUC_LA_LU:
    return luc__fail(ctx, LUC_ERR_VALUE,
                     "%sU[%d,%d] is zero and using it on lu_solve would result in a division by "
                     "zero.",
                     element, code, code);
  default:
    LUC_CHECK(ctx, code != LUC_LAPACK_INFINITE, LUC_ERR_VALUE,
              "%sThe algorithm failed to converge because the input matrix contained non-finite "
              "values.",
              element);
    return luc__fail(ctx, LUC_ERR_VALUE,
                     "%sThe algorithm failed to converge because the input matrix is "
                     "ill-conditioned or has too many repeated %s (error code: %d).",
                     element, what == LUC_LA_EIGEN ? "eigenvalues" : "singular values", code);
  }
}

/* ---- steps of formulas ---- */

luc_tensor *luc__f_plus(luc_formula *f, luc_tensor *a, luc_tensor *b) {
  if (!a || !b) return a ? a : b;
  return luc__f2(f, LUC_OP_add, a, b);
}

luc_tensor *luc__f_triangle(luc_formula *f, luc_opid op, luc_tensor *t, int64_t diagonal) {
  return luc__f_call(f, op, LUC_ARGS(luc_v_tensor(t), luc_v_int(diagonal)));
}

static luc_tensor *eye(luc_formula *f, luc_dtype dtype, int64_t n) {
  return luc__f_call(f, LUC_OP_eye,
                     LUC_ARGS(luc_v_int(n), luc_v_int(n), luc_v_dtype(dtype), luc_v_none()));
}

luc_tensor *luc__f_eye(luc_formula *f, const luc_tensor *t, int64_t n) {
  return f->status == LUC_OK ? eye(f, luc__dtype_to_real(t->dtype), n) : NULL;
}

luc_tensor *luc__f_identity(luc_formula *f, const luc_tensor *t, int64_t n) {
  return f->status == LUC_OK ? eye(f, t->dtype, n) : NULL;
}

luc_tensor *luc__f_solve_triangle(luc_formula *f, luc_tensor *a, luc_tensor *b, int triangle) {
  bool upper = triangle & LUC_UPPER, unit = triangle & LUC_UNIT, adjoint = triangle & LUC_ADJOINT;
  luc_tensor *t = adjoint ? luc__f_mt(f, a) : a;
  if (adjoint) b = luc__f_conj(f, b); /* A^T conj(X) = conj(B) */
  if (f->status == LUC_OK) f->status = luc__f_same_batch(f, &t, &b);
  luc_tensor *x = luc__f_call(
      f, LUC_OP_solve_triangle,
      LUC_ARGS(luc_v_tensor(t), luc_v_tensor(b), luc_v_bool(upper != adjoint), luc_v_bool(unit)));
  return adjoint ? luc__f_conj(f, x) : x;
}

luc_tensor *luc__f_solve_right(luc_formula *f, luc_tensor *a, luc_tensor *b, int triangle) {
  luc_tensor *turned = luc__f_mh(f, b);
  return luc__f_mh(f, luc__f_solve_triangle(f, a, turned, triangle ^ LUC_ADJOINT));
}

void luc__f_check_gauge(luc_formula *f, luc_tensor *diagonal, const char *name, bool singular) {
  if (f->status != LUC_OK || !luc__dtype_is_complex(diagonal->dtype)) return;
  luc_tensor *worst = luc__f1(f, LUC_OP_abs, luc__f1(f, LUC_OP_imag, diagonal));
  if (f->status != LUC_OK || worst->numel == 0) return;
  worst = luc__f1(f, LUC_OP_amax, luc__all_samples(worst));
  if (f->status != LUC_OK) return;
  double value = luc__scalar_double(luc__load_scalar(worst->data, worst->dtype));
  if (!(value <= 1e-2)) /* also where it is no number */
    f->status = luc__fail(f->ctx, LUC_ERR_VALUE,
                          "%s: The %s in the complex case are specified up to multiplication by "
                          "e^{i phi}. The specified loss function depends on this %s",
                          name, singular ? "singular vectors" : "eigenvectors",
                          singular ? "phase term, making it ill-defined."
                                   : "quantity, so it is ill-defined.");
}

static luc_tensor *with_batch(luc_formula *f, luc_tensor *t, int nbatch, const int64_t *batch) {
  int64_t sizes[LUC_MAX_DIMS];
  bool same = t->ndim == nbatch + 2;
  for (int i = 0; same && i < nbatch; i++) same = t->sizes[i] == batch[i];
  if (same) return t;
  memcpy(sizes, batch, (size_t)nbatch * sizeof *sizes);
  memcpy(sizes + nbatch, t->sizes + t->ndim - 2, 2 * sizeof *sizes);
  return luc__f_expand(f, t, nbatch + 2, sizes);
}

luc_status luc__f_same_batch(luc_formula *f, luc_tensor **a, luc_tensor **b) {
  int64_t batch[LUC_MAX_DIMS];
  int na = (*a)->ndim - 2, nb = (*b)->ndim - 2, n = na > nb ? na : nb;
  for (int i = 0; i < n; i++) {
    int ia = i - (n - na), ib = i - (n - nb);
    int64_t sa = ia >= 0 ? (*a)->sizes[ia] : 1, sb = ib >= 0 ? (*b)->sizes[ib] : 1;
    if (sa != sb && sa != 1 && sb != 1) {
      char ta[LUC_SHAPE_TEXT], tb[LUC_SHAPE_TEXT];
      return luc__fail(f->ctx, LUC_ERR_SHAPE, "the batches of A %s and B %s do not broadcast",
                       luc__tensor_shape_text(ta, *a), luc__tensor_shape_text(tb, *b));
    }
    batch[i] = sa == 1 ? sb : sa;
  }
  luc_tensor *x = with_batch(f, *a, n, batch), *y = with_batch(f, *b, n, batch);
  *a = x;
  *b = y;
  return f->status;
}

luc_status luc__give_two(luc_context *ctx, luc_status status, luc_tensor *a, luc_tensor *b,
                         luc_value *out) {
  if (status == LUC_OK) {
    out[0] = luc_v_tensor(a);
    out[1] = luc_v_tensor(b);
  } else {
    LUC_RELEASE(ctx, a, b);
  }
  return status;
}
