/* Orthogonal factors: QR, the Householder reflections it takes, and their products. */
#include <string.h>

#include "ops/linalg.h"
#include "ops/rows.h"

enum { REDUCED, COMPLETE, ONLY_R };

/* Makes the two factors of input [..., m, n]: [..., m, wide] and [..., wide, n]; without Q, an
 * empty tensor stands for it. */
static luc_status new_factors(luc_context *ctx, const luc_tensor *a, int64_t wide, bool with_q,
                              luc_tensor **q, luc_tensor **r) {
  int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1], none = 0;
  luc_dtype dtype = a->dtype;
  LUC_TRY(luc__batch_scratch(ctx, a, dtype, 2, (int64_t[]){wide, n}, r));
  if (!with_q) return luc__scratch(ctx, dtype, 1, &none, q);
  return luc__batch_scratch(ctx, a, dtype, 2, (int64_t[]){m, wide}, q);
}

static luc_status qr(luc_context *ctx, luc_tensor *input, int mode, luc_value *out) {
  luc_tensor *a, *q, *r;
  LUC_TRY(luc__need_matrices(ctx, "A", input));
  LUC_TRY(luc__as_dense(ctx, input, input->dtype, &a));
  luc_matrices s = luc__matrices(a);
  int64_t wide = mode == COMPLETE || s.m < s.n ? s.m : s.n;
  LUC_TRY(new_factors(ctx, a, wide, mode != ONLY_R, &q, &r));
  LUC_TRY(luc__qr(ctx, s, mode == COMPLETE, a->data, mode == ONLY_R ? NULL : q->data, r->data));
  return luc__results(out, 2, (luc_tensor *[]){q, r});
}

/* linalg.qr(A, mode) */
luc_status luc__run_linalg_qr(luc_context *ctx, luc_value *args, luc_value *out) {
  int mode;
  LUC_TRY(luc__choice(ctx, "mode", "reduced|complete|r", args[1].as.string, &mode));
  return qr(ctx, args[0].as.tensor, mode, out);
}

/* qr(input, some) */
luc_status luc__run_qr(luc_context *ctx, luc_value *args, luc_value *out) {
  return qr(ctx, args[0].as.tensor, args[1].as.i ? REDUCED : COMPLETE, out);
}

/* A = Q R with R square: gA = (Q sym(gR R^H - Q^H gQ) + gQ) R^-H, where sym repeats the upper
 * triangle's conjugates below, and its diagonal is real. */
static luc_tensor *square_r(luc_formula *f, luc_tensor *q, luc_tensor *r, luc_tensor *gq,
                            luc_tensor *gr) {
  luc_tensor *m = gr ? luc__f_mmh(f, gr, r) : NULL;
  if (gq) {
    luc_tensor *part = luc__f_hm(f, q, gq);
    m = m ? luc__f2(f, LUC_OP_sub, m, part) : luc__f1(f, LUC_OP_neg, part);
  }
  luc_tensor *above = luc__f_triangle(f, LUC_OP_triu, m, 1);
  luc_tensor *twice = luc__f2(f, LUC_OP_add, luc__f_triangle(f, LUC_OP_triu, m, 0), above);
  luc_tensor *sym = luc__fs(f, LUC_OP_mul, luc__f2(f, LUC_OP_add, twice, luc__f_mh(f, twice)), 0.5);
  luc_tensor *g = luc__f_plus(f, luc__f_mm(f, q, sym), gq);
  return luc__f_solve_right(f, r, g, LUC_UPPER | LUC_ADJOINT);
}

/* A = [A1 A2] with A1 = Q R1 square, A2 = Q R2: through A2, R2 reaches Q as well. */
static luc_tensor *wide_r(luc_formula *f, luc_tensor *q, luc_tensor *r, luc_tensor *gq,
                          luc_tensor *gr) {
  int64_t m = r->sizes[r->ndim - 2], n = r->sizes[r->ndim - 1];
  luc_tensor *r1 = luc__f_narrow(f, r, -1, 0, m), *r2 = luc__f_narrow(f, r, -1, m, n - m);
  if (!gr) gr = luc__f1(f, LUC_OP_zeros_like, r);
  luc_tensor *gr1 = luc__f_narrow(f, gr, -1, 0, m), *gr2 = luc__f_narrow(f, gr, -1, m, n - m);
  luc_tensor *more = luc__f_mmh(f, luc__f_mm(f, q, r2), gr2);
  luc_tensor *square = square_r(f, q, r1, luc__f_plus(f, gq, more), gr1);
  return luc__f_cat(f, square, luc__f_mm(f, q, gr2), -1);
}

static luc_status qr_gradient(luc_context *ctx, luc_backward *b, bool complete) {
  luc_formula f = luc__formula(ctx);
  int64_t sizes[LUC_MAX_DIMS];
  if (!b->gout[0] && !b->gout[1]) return LUC_OK;
  int ndim = luc__input_sizes(b, 0, sizes);
  int64_t m = sizes[ndim - 2], n = sizes[ndim - 1];
  LUC_CHECK(ctx, !complete || m <= n, LUC_ERR_STATE,
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
  luc_tensor *g =
      (m < n ? wide_r : square_r)(&f, b->results[0], b->results[1], b->gout[0], b->gout[1]);
  return luc__f_end(&f, g, &b->gin[0]);
}

luc_status luc__grad_qr(luc_context *ctx, luc_backward *b) {
  return qr_gradient(ctx, b, b->args[1].as.i == 0);
}

luc_status luc__grad_linalg_qr(luc_context *ctx, luc_backward *b) {
  const char *mode = b->args[1].as.string;
  LUC_CHECK(ctx, strcmp(mode, "r") != 0, LUC_ERR_STATE,
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to require gradients.");
  return qr_gradient(ctx, b, strcmp(mode, "complete") == 0);
}

/* ---- Householder reflections ---- */

/* (I - tau v v^T) q, where v is column i of a below its diagonal, and 1 on it. */
static luc_status reflect(luc_context *ctx, luc_tensor *a, luc_tensor *tau, int64_t i,
                          luc_tensor *q, luc_tensor **out) {
  luc_formula f = luc__formula(ctx);
  int64_t m = a->sizes[a->ndim - 2];
  luc_tensor *column = luc__f_triangle(&f, LUC_OP_tril, luc__f_narrow(&f, a, -1, i, 1), -i - 1);
  luc_tensor *ones = luc__f_narrow(&f, luc__f_eye(&f, a, m), -1, i, 1);
  luc_tensor *v = luc__f2(&f, LUC_OP_add, column, ones);
  luc_tensor *scale = luc__f_unsqueeze(&f, luc__f_narrow(&f, tau, -1, i, 1), -1);
  luc_tensor *change = luc__f_mm(&f, luc__f2(&f, LUC_OP_mul, v, scale), luc__f_hm(&f, v, q));
  return luc__f_end(&f, luc__f2(&f, LUC_OP_sub, q, change), out);
}

static luc_status check_reflectors(luc_context *ctx, const luc_tensor *a, const luc_tensor *tau) {
  LUC_TRY(luc__need_matrices(ctx, "input", a));
  int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];
  char ta[LUC_SHAPE_TEXT], tb[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, m >= n, LUC_ERR_SHAPE,
            "input.shape[-2] must be greater than or equal to input.shape[-1] (got %s)",
            luc__tensor_shape_text(ta, a));
  bool fits = tau->ndim == a->ndim - 1 && tau->sizes[tau->ndim - 1] <= n;
  for (int i = 0; fits && i < tau->ndim - 1; i++) fits = tau->sizes[i] == a->sizes[i];
  LUC_CHECK(ctx, fits && tau->dtype == a->dtype, LUC_ERR_SHAPE,
            "tau must have input's dtype and batch, and at most its columns (input %s, tau %s)",
            luc__tensor_shape_text(ta, a), luc__tensor_shape_text(tb, tau));
  return LUC_OK;
}

/* geqrf(input) */
luc_status luc__run_geqrf(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *a, *reflectors, *tau;
  luc_dtype dtype = (luc_dtype)input->dtype;
  LUC_TRY(luc__need_matrices(ctx, "input", input));
  LUC_TRY(luc__as_dense(ctx, input, input->dtype, &a));
  luc_matrices s = luc__matrices(a);
  int64_t k = s.m < s.n ? s.m : s.n;
  LUC_TRY(luc__scratch(ctx, dtype, a->ndim, a->sizes, &reflectors));
  LUC_TRY(luc__batch_scratch(ctx, a, dtype, 1, &k, &tau));
  LUC_TRY(luc__geqrf(ctx, s, a->data, reflectors->data, tau->data));
  return luc__results(out, 2, (luc_tensor *[]){reflectors, tau});
}

/* All reflections at once, which leaves no gradient. */
static luc_status multiply(luc_context *ctx, luc_tensor *input, luc_tensor *factors,
                           luc_value *out) {
  luc_tensor *a, *tau, *q;
  LUC_TRY(luc__as_dense(ctx, input, input->dtype, &a));
  LUC_TRY(luc__as_dense(ctx, factors, factors->dtype, &tau));
  LUC_TRY(luc__scratch(ctx, (luc_dtype)a->dtype, a->ndim, a->sizes, &q));
  LUC_TRY(luc__reflections(ctx, luc__matrices(a), tau->sizes[tau->ndim - 1], a->data, tau->data,
                           q->data));
  return luc__result(ctx, out, q->dtype, q);
}

/* The first n columns of the product of tau's reflections. */
luc_status luc__run_linalg_householder_product(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *tau = args[1].as.tensor, *q = NULL, *next = NULL;
  LUC_TRY(check_reflectors(ctx, a, tau));
  if (tau->numel > 0 && !luc__wants_gradient(ctx, a) && !luc__wants_gradient(ctx, tau))
    return multiply(ctx, a, tau, out);
  luc_formula f = luc__formula(ctx);
  int64_t sizes[LUC_MAX_DIMS], m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];
  memcpy(sizes, a->sizes, sizeof sizes);
  luc_tensor *eye = luc__f_narrow(&f, luc__f_identity(&f, a, m), -1, 0, n);
  eye = luc__f_expand(&f, eye, a->ndim, sizes);
  luc_status status = luc__f_end(&f, luc__f1(&f, LUC_OP_clone, eye), &q);
  for (int64_t i = tau->sizes[tau->ndim - 1]; i-- > 0 && status == LUC_OK;) {
    status = reflect(ctx, a, tau, i, q, &next);
    luc_tensor_release(ctx, q);
    q = next;
    next = NULL;
  }
  return luc__give(ctx, status, out, q);
}
