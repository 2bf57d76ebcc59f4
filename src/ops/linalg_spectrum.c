/* Eigenvalues of Hermitian matrices and singular values. Signs of vectors are LAPACK's: only what
 * does not depend on them has a meaningful gradient. */
#include <math.h>
#include <string.h>

#include "ops/geometry.h"
#include "ops/linalg.h"
#include "ops/rows.h"

/* ---- eigh ---- */

/* eigh(A, UPLO) -> eigenvalues, eigenvectors unless `only_values`, which are held */
static luc_status eigh(luc_context *ctx, luc_value *args, bool only_values, luc_tensor **values,
                       luc_tensor **vectors) {
  luc_tensor *a = args[0].as.tensor, *info;
  const char *part = args[1].as.string;
  LUC_TRY(luc__need_square_matrices(ctx, "A", a));
  bool upper = part[0] == 'U' || part[0] == 'u';
  LUC_CHECK(ctx, part[0] && !part[1] && (upper || part[0] == 'L' || part[0] == 'l'), LUC_ERR_VALUE,
            "Expected UPLO argument to be 'L' or 'U', but got '%s'", part);
  LUC_TRY(luc__held(ctx, luc__duplicate(ctx, a, vectors), vectors));
  const luc_dtype real = luc__dtype_to_real(a->dtype);
  LUC_TRY(luc__batch_scratch(ctx, a, real, 1, &a->sizes[a->ndim - 1], values));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 0, NULL, &info));
  LUC_TRY(luc__eigh(ctx, luc__matrices(*vectors), upper, !only_values, (*vectors)->data,
                    (*values)->data, (int32_t *)info->data));
  return luc__check_info(ctx, info, LUC_LA_EIGEN);
}

luc_status luc__run_linalg_eigh(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *values, *vectors;
  LUC_TRY(eigh(ctx, args, false, &values, &vectors));
  return luc__results(out, 2, (luc_tensor *[]){values, vectors});
}

/* x[j] - x[i] with ones on the diagonal, to divide by. */
static luc_tensor *gaps(luc_formula *f, luc_tensor *x) {
  if (f->status != LUC_OK) return NULL;
  luc_tensor *d = luc__f2(f, LUC_OP_sub, luc__f_unsqueeze(f, x, -2), luc__f_unsqueeze(f, x, -1));
  return luc__f2(f, LUC_OP_add, d, luc__f_eye(f, x, x->sizes[x->ndim - 1]));
}

luc_tensor *luc__f_over_gaps(luc_formula *f, luc_tensor *t, luc_tensor *x) {
  luc_tensor *ratio = luc__f2(f, LUC_OP_div, t, gaps(f, x));
  if (f->status != LUC_OK) return NULL;
  luc_tensor *eye = luc__f_eye(f, x, x->sizes[x->ndim - 1]);
  return luc__f2(f, LUC_OP_mul, ratio, luc__fs(f, LUC_OP_rsub, eye, 1));
}

/* V (diag(gL) + X / gaps) V^H, X being V^H gV less what is Hermitian of it: so is the gradient. */
luc_status luc__grad_linalg_eigh(luc_context *ctx, luc_backward *b) {
  luc_tensor *l = b->results[0], *v = b->results[1], *inner = NULL;
  if (!b->gout[0] && !b->gout[1]) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  if (b->gout[0]) inner = luc__f_to(&f, luc__f1(&f, LUC_OP_diag_embed, b->gout[0]), v->dtype);
  if (b->gout[1]) {
    luc_tensor *x = luc__f_hm(&f, v, b->gout[1]);
    luc__f_check_gauge(&f, luc__f_diagonal(&f, x), "linalg_eigh_backward", false);
    x = luc__fs(&f, LUC_OP_mul, luc__f2(&f, LUC_OP_sub, x, luc__f_mh(&f, x)), 0.5);
    inner = luc__f_plus(&f, inner, luc__f_over_gaps(&f, x, l));
  }
  return luc__f_end(&f, luc__f_mmh(&f, luc__f_mm(&f, v, inner), v), &b->gin[0]);
}

luc_status luc__run_linalg_eigvalsh(luc_context *ctx, luc_value *args, luc_value *out) {
  if (!luc__wants_gradient(ctx, args[0].as.tensor)) {
    luc_tensor *values, *scratch;
    LUC_TRY(eigh(ctx, args, true, &values, &scratch));
    return luc__result(ctx, out, values->dtype, values);
  }
  luc_formula f = luc__formula(ctx);
  return luc__f_result(&f, luc__f_call(&f, LUC_OP_linalg_eigh, LUC_ARGS(args[0], args[1])), out);
}

/* ---- svd ---- */

static void identities(luc_tensor *t) {
  const luc_matrices s = luc__matrices(t);
  const int64_t size = (int64_t)luc__dtype_size(s.dtype);
  memset(t->data, 0, (size_t)(t->numel * size));
  for (int64_t i = 0; i < s.count; i++)
    for (int64_t j = 0; j < s.n; j++)
      luc__store_scalar(t->data + ((i * s.n + j) * s.n + j) * size, s.dtype,
                        (luc_scalar){LUC_SCALAR_INT, {.i = 1}});
}

/* Has the matrix so many more rows than columns that reducing it by QR first is faster? */
static bool is_tall(int64_t m, int64_t n) {
  return n > 0 && m >= 2 * n;
}

/* svd(A, full_matrices) -> U, S, Vh, which are held; without `vectors` only S. Of tall A = Q R it
 * is that of R, and U is Q's product with R's: gesdd, for which rows are columns, takes twice as
 * long. */
static luc_status svd(luc_context *ctx, luc_tensor *input, bool full, bool vectors,
                      luc_tensor **out) {
  luc_tensor *a, *q = NULL, *u = NULL, *s, *vh = NULL, *info;
  LUC_TRY(luc__need_matrices(ctx, "A", input));
  luc_dtype dtype = input->dtype;
  int64_t m = input->sizes[input->ndim - 2], n = input->sizes[input->ndim - 1];
  int64_t k = m < n ? m : n;
  LUC_TRY(luc__held(ctx, luc__duplicate(ctx, input, &a), &a));
  if (!full && is_tall(m, n)) {
    q = a, m = n;
    LUC_TRY(luc__batch_scratch(ctx, q, dtype, 2, (int64_t[]){n, n}, &a));
    LUC_TRY(luc__qr(ctx, luc__matrices(q), false, q->data, vectors ? q->data : NULL, a->data));
  }
  LUC_TRY(luc__batch_scratch(ctx, a, luc__dtype_to_real(dtype), 1, &k, &s));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 0, NULL, &info));
  if (vectors) {
    LUC_TRY(luc__batch_scratch(ctx, a, dtype, 2, (int64_t[]){m, full ? m : k}, &u));
    LUC_TRY(luc__batch_scratch(ctx, a, dtype, 2, (int64_t[]){full ? n : k, n}, &vh));
  }
  LUC_TRY(luc__svd(ctx, luc__matrices(a), full, a->data, u ? u->data : NULL, s->data,
                   vh ? vh->data : NULL, (int32_t *)info->data));
  LUC_TRY(luc__check_info(ctx, info, LUC_LA_SINGULAR));
  if (k == 0 && full && vectors) identities(m > 0 ? u : vh);
  if (q && vectors) LUC_TRY(luc__held(ctx, luc__binary(ctx, LUC_OP_matmul, q, u, &u), &u));
  out[0] = u, out[1] = s, out[2] = vh;
  return LUC_OK;
}

luc_status luc__run_linalg_svd(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *parts[3];
  LUC_TRY(svd(ctx, args[0].as.tensor, args[1].as.i != 0, true, parts));
  return luc__results(out, 3, parts);
}

/* X - X^H */
static luc_tensor *skew(luc_formula *f, luc_tensor *x) {
  return luc__f2(f, LUC_OP_sub, x, luc__f_mh(f, x));
}

/* What turns of U and V pass on: [k, k] between U and Vh. Complex ones may turn together, column by
 * column, which must not matter to the loss; where it asks for both, they turn against each other
 * on the diagonal. */
static luc_tensor *turns(luc_formula *f, luc_tensor *u, luc_tensor *s, luc_tensor *vh,
                         luc_tensor *gu, luc_tensor *gvh) {
  luc_tensor *sum = NULL, *square = luc__f2(f, LUC_OP_mul, s, s), *e = gaps(f, square);
  luc_tensor *x = gu ? skew(f, luc__f_hm(f, u, gu)) : NULL;
  luc_tensor *y = gvh ? skew(f, luc__f_mmh(f, vh, gvh)) : NULL;
  if (gu) sum = luc__f2(f, LUC_OP_mul, luc__f2(f, LUC_OP_div, x, e), luc__f_unsqueeze(f, s, -2));
  if (gvh) {
    luc_tensor *v = luc__f2(f, LUC_OP_div, y, e);
    sum = luc__f_plus(f, sum, luc__f2(f, LUC_OP_mul, v, luc__f_unsqueeze(f, s, -1)));
  }
  if (f->status != LUC_OK || !sum || !luc__dtype_is_complex(u->dtype)) return sum;
  luc_tensor *diagonal = gu ? luc__f_diagonal(f, x) : NULL;
  luc_tensor *both = luc__f_plus(f, diagonal, gvh ? luc__f_diagonal(f, y) : NULL);
  luc__f_check_gauge(f, both, "svd_backward", true);
  if (!gu || !gvh) return sum;
  diagonal = luc__f2(f, LUC_OP_div, diagonal, luc__fs(f, LUC_OP_mul, s, 2));
  return luc__f_plus(f, sum, luc__f1(f, LUC_OP_diag_embed, diagonal));
}

/* What stands beside the first k columns of U or rows of Vh is arbitrary and passes nothing on. */
luc_status luc__grad_linalg_svd(luc_context *ctx, luc_backward *b) {
  luc_tensor *u = b->results[0], *s = b->results[1], *vh = b->results[2];
  luc_tensor *gu = b->gout[0], *gs = b->gout[1], *gvh = b->gout[2];
  if (!gu && !gs && !gvh) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  int64_t m = u->sizes[u->ndim - 2], n = vh->sizes[vh->ndim - 1], k = s->sizes[s->ndim - 1];
  u = luc__f_narrow(&f, u, -1, 0, k);
  vh = luc__f_narrow(&f, vh, -2, 0, k);
  if (gu) gu = luc__f_narrow(&f, gu, -1, 0, k);
  if (gvh) gvh = luc__f_narrow(&f, gvh, -2, 0, k);
  luc_tensor *inner = turns(&f, u, s, vh, gu, gvh);
  if (gs) inner = luc__f_plus(&f, inner, luc__f1(&f, LUC_OP_diag_embed, gs));
  if (f.status == LUC_OK) inner = luc__f_to(&f, inner, b->results[0]->dtype);
  luc_tensor *left = luc__f_mm(&f, u, inner), *right = NULL;
  if (m > k && gu) { /* the part of gU outside the space that U spans */
    luc_tensor *out = luc__f_mm(&f, u, luc__f_hm(&f, u, gu));
    out = luc__f2(&f, LUC_OP_sub, gu, out);
    left = luc__f_plus(&f, left, luc__f2(&f, LUC_OP_div, out, luc__f_unsqueeze(&f, s, -2)));
  }
  if (n > k && gvh) {
    luc_tensor *out = luc__f_mm(&f, luc__f_mmh(&f, gvh, vh), vh);
    out = luc__f2(&f, LUC_OP_sub, gvh, out);
    right = luc__f_mm(&f, u, luc__f2(&f, LUC_OP_div, out, luc__f_unsqueeze(&f, s, -1)));
  }
  return luc__f_end(&f, luc__f_plus(&f, luc__f_mm(&f, left, vh), right), &b->gin[0]);
}

/* U, S and Vh of the thin form, as steps of a formula. */
static luc_tensor *thin(luc_formula *f, luc_tensor *a, luc_tensor **s, luc_tensor **vh) {
  luc_value r[3], args[] = {luc_v_tensor(a), luc_v_bool(false), luc_v_none()};
  *s = *vh = NULL;
  if (f->status == LUC_OK) f->status = luc_call(f->ctx, LUC_OP_linalg_svd, args, 3, r);
  if (f->status != LUC_OK) return NULL;
  *s = luc__f_own(f, r[1].as.tensor);
  *vh = luc__f_own(f, r[2].as.tensor);
  return luc__f_own(f, r[0].as.tensor);
}

static luc_tensor *singular_values(luc_formula *f, luc_tensor *a) {
  luc_tensor *s, *vh, *parts[3] = {NULL};
  if (f->status == LUC_OK && !luc__wants_gradient(f->ctx, a)) {
    f->status = svd(f->ctx, a, false, false, parts);
    return parts[1];
  }
  thin(f, a, &s, &vh);
  return s;
}

luc_status luc__run_linalg_svdvals(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  return luc__f_result(&f, singular_values(&f, args[0].as.tensor), out);
}

/* svd(input, some, compute_uv) -> U, S, V; without compute_uv, U and V are zeros. */
luc_status luc__run_svd(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_value r[3],
      given[] = {args[0], luc_v_bool(args[1].as.i == 0 || args[2].as.i == 0), luc_v_none()};
  LUC_TRY(luc_call(ctx, LUC_OP_linalg_svd, given, 3, r));
  luc_tensor *u = luc__f_own(&f, r[0].as.tensor), *s = luc__f_own(&f, r[1].as.tensor);
  luc_tensor *v = luc__f_mt(&f, luc__f_own(&f, r[2].as.tensor));
  if (!args[2].as.i) {
    u = luc__f1(&f, LUC_OP_zeros_like, u);
    v = luc__f1(&f, LUC_OP_zeros_like, v);
  }
  return luc__f_results(&f, 3, (luc_tensor *[]){u, s, v}, out);
}

/* ---- what counts as zero: rank and pinv ---- */

/* t[..., None], or the number itself. */
static luc_value column(luc_formula *f, const luc_value *v) {
  luc_tensor *t = luc_as_tensor(v);
  return t && t->ndim > 0 ? luc_v_tensor(luc__f_unsqueeze(f, t, -1)) : *v;
}

/* Singular values below this part of the largest are what rounding may have made of zeros. */
static double default_limit(const luc_tensor *a) {
  int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];
  return (luc__dtype_to_real(a->dtype) == LUC_FLOAT32 ? 0x1p-23 : 0x1p-52) *
         (double)(m > n ? m : n);
}

/* |s| > max(atol, rtol * max |s|), as numbers; s [..., k] of matrices [m, n]. atol without rtol
 * makes the latter 0, else it is eps * max(m, n). */
static luc_tensor *counted(luc_formula *f, luc_tensor *s, const luc_tensor *a,
                           const luc_value *atol, const luc_value *rtol) {
  if (f->status != LUC_OK) return NULL;
  luc_value relative = luc_v_float(luc_is_none(atol) ? default_limit(a) : 0);
  if (!luc_is_none(rtol)) relative = column(f, rtol);
  if (s->sizes[s->ndim - 1] == 0) return s;
  luc_value last = luc_v_ints((int64_t[]){-1}, 1), keep = luc_v_bool(true);
  luc_tensor *largest = luc__f_call(f, LUC_OP_amax, LUC_ARGS(luc_v_tensor(s), last, keep));
  luc_tensor *limit = luc__f_call(f, LUC_OP_mul, LUC_ARGS(luc_v_tensor(largest), relative));
  if (!luc_is_none(atol)) {
    luc_value absolute = column(f, atol);
    luc_tensor *zero = luc__fs(f, LUC_OP_mul, largest, 0);
    luc_tensor *least = luc__f_call(f, LUC_OP_add, LUC_ARGS(luc_v_tensor(zero), absolute));
    limit = luc__f2(f, LUC_OP_maximum, limit, least);
  }
  return luc__f_to(f, luc__f2(f, LUC_OP_gt, s, limit), s->dtype);
}

static luc_tensor *absolute_eigenvalues(luc_formula *f, luc_tensor *a) {
  return luc__f1(f, LUC_OP_abs, luc__f1(f, LUC_OP_linalg_eigvalsh, a));
}

/* matrix_rank(A, tol, hermitian, atol, rtol) */
luc_status luc__run_linalg_matrix_rank(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *a = args[0].as.tensor;
  bool hermitian = args[2].as.i != 0;
  LUC_TRY(luc__need_matrices(ctx, "A", a));
  if (hermitian) LUC_TRY(luc__need_square(ctx, "A", a));
  luc_value *atol = luc_is_none(&args[1]) ? &args[3] : &args[1];
  luc_tensor *s = hermitian ? absolute_eigenvalues(&f, a) : singular_values(&f, a);
  luc_tensor *rank = luc__f_sum_dim(&f, counted(&f, s, a, atol, &args[4]), -1);
  return luc__f_result(&f, luc__f_to(&f, rank, LUC_INT64), out);
}

/* R^-1 Q^H of all matrices, m >= n, or NULL where one's rank is not certain to be full: their
 * largest singular values are less than 1 / rtol times the least. */
static luc_tensor *inverse_by_qr(luc_formula *f, luc_tensor *a, double rtol) {
  luc_tensor *info, *b;
  int64_t sizes[LUC_MAX_DIMS];
  if (f->status != LUC_OK) return NULL;
  const luc_matrices s = luc__matrices(a);
  const int ndim = a->ndim;
  memcpy(sizes, a->sizes, (size_t)ndim * sizeof *sizes);
  sizes[ndim - 1] = s.m;
  a = luc__f1(f, LUC_OP_contiguous, a);
  b = luc__f1(f, LUC_OP_clone, luc__f_expand(f, luc__f_identity(f, a, s.m), ndim, sizes));
  b = luc__f1(f, LUC_OP_contiguous, b);
  if (f->status == LUC_OK) f->status = luc__batch_scratch(f->ctx, a, LUC_INT32, 0, NULL, &info);
  if (f->status != LUC_OK) return NULL;
  f->status = luc__least_squares(f->ctx, s, s.m, 1 / fmax(rtol, default_limit(a)), a->data, b->data,
                                 (int32_t *)info->data);
  for (int64_t i = 0; f->status == LUC_OK && i < s.count; i++)
    if (((const int32_t *)info->data)[i]) return NULL;
  return luc__f1(f, LUC_OP_clone, luc__f_narrow(f, b, -2, 0, s.n));
}

/* The pseudoinverse where no singular value is left out for sure, else NULL. */
static luc_tensor *full_rank_inverse(luc_formula *f, luc_tensor *a, const luc_value *atol,
                                     const luc_value *rtol) {
  const bool number = rtol->kind == LUC_INT || rtol->kind == LUC_FLOAT;
  if (!luc_is_none(atol) || !(number || luc_is_none(rtol)) || a->numel == 0) return NULL;
  const double limit = number ? luc_as_double(rtol) : 0;
  if (a->sizes[a->ndim - 2] >= a->sizes[a->ndim - 1]) return inverse_by_qr(f, a, limit);
  luc_tensor *turned = inverse_by_qr(f, luc__f_mt(f, a), limit);
  return turned ? luc__f_mt(f, turned) : NULL;
}

/* R's pseudoinverse times Q^H, where R's singular values count as those of a = Q R. */
static luc_tensor *tall_inverse(luc_formula *f, luc_tensor *a, const luc_value *atol,
                                const luc_value *rtol) {
  luc_value limit = *rtol;
  luc_tensor *r, *q = luc__f_call2(f, LUC_OP_linalg_qr, &r, LUC_ARGS(luc_v_tensor(a)));
  if (luc_is_none(atol) && luc_is_none(rtol)) limit = luc_v_float(default_limit(a));
  luc_tensor *p =
      luc__f_call(f, LUC_OP_linalg_pinv,
                  LUC_ARGS(luc_v_tensor(r), luc_v_none(), luc_v_bool(false), *atol, limit));
  return luc__f_mmh(f, p, q);
}

/* V diag(1 / S) U^H over the singular values that count. */
static luc_status pseudo_inverse(luc_context *ctx, luc_tensor *a, bool hermitian,
                                 const luc_value *atol, const luc_value *rtol, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *u, *s, *size, *vh;
  LUC_TRY(luc__need_matrices(ctx, "A", a));
  if (hermitian) LUC_TRY(luc__need_square(ctx, "A", a));
  const int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];
  if (is_tall(m, n)) return luc__f_result(&f, tall_inverse(&f, a, atol, rtol), out);
  if (is_tall(n, m))
    return luc__f_result(&f, luc__f_mt(&f, tall_inverse(&f, luc__f_mt(&f, a), atol, rtol)), out);
  luc_tensor *whole = hermitian ? NULL : full_rank_inverse(&f, a, atol, rtol);
  if (whole || f.status != LUC_OK) return luc__f_result(&f, whole, out);
  if (hermitian) {
    s = luc__f_call2(&f, LUC_OP_linalg_eigh, &u, LUC_ARGS(luc_v_tensor(a)));
    size = luc__f1(&f, LUC_OP_abs, s);
    vh = luc__f_mh(&f, u);
  } else {
    u = thin(&f, a, &s, &vh);
    size = s;
  }
  luc_tensor *real = counted(&f, size, a, atol, rtol);
  /* 1 / 0 is never asked for */
  luc_tensor *safe =
      luc__f2(&f, LUC_OP_add, luc__f2(&f, LUC_OP_mul, s, real), luc__fs(&f, LUC_OP_rsub, real, 1));
  luc_tensor *inverse = luc__f2(&f, LUC_OP_div, real, safe);
  luc_tensor *scaled =
      luc__f2(&f, LUC_OP_mul, luc__f_mh(&f, vh), luc__f_unsqueeze(&f, inverse, -2));
  return luc__f_result(&f, luc__f_mmh(&f, scaled, u), out);
}

/* linalg.pinv(A, rcond, hermitian, atol, rtol) */
luc_status luc__run_linalg_pinv(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_value *rtol = luc_is_none(&args[1]) ? &args[4] : &args[1];
  return pseudo_inverse(ctx, args[0].as.tensor, args[2].as.i != 0, &args[3], rtol, out);
}

/* pinverse(input, rcond) */
luc_status luc__run_pinverse(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_value none = luc_v_none();
  return pseudo_inverse(ctx, args[0].as.tensor, false, &none, &args[1], out);
}

/* The gradient of pinv(a) = p: dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P, turned
 * round. */
static luc_tensor *pinv_gradient(luc_formula *f, luc_tensor *a, luc_tensor *p, luc_tensor *g) {
  luc_tensor *ph = luc__f_mh(f, p), *gh = luc__f_mh(f, g);
  luc_tensor *straight = luc__f_mm(f, luc__f_mm(f, ph, g), ph);
  luc_tensor *first = luc__f_mm(f, gh, luc__f_mm(f, p, ph)); /* (I - A P) g^H P P^H */
  first = luc__f2(f, LUC_OP_sub, first, luc__f_mm(f, a, luc__f_mm(f, p, first)));
  luc_tensor *second = luc__f_mm(f, luc__f_mm(f, ph, p), gh); /* P^H P g^H (I - P A) */
  second = luc__f2(f, LUC_OP_sub, second, luc__f_mm(f, luc__f_mm(f, second, p), a));
  return luc__f2(f, LUC_OP_sub, luc__f2(f, LUC_OP_add, first, second), straight);
}

luc_status luc__grad_linalg_pinv(luc_context *ctx, luc_backward *b) {
  if (!b->gout[0]) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = pinv_gradient(&f, b->args[0].as.tensor, b->results[0], b->gout[0]);
  return luc__f_end(&f, g, &b->gin[0]);
}

/* ---- least squares ---- */

/* By QR where the rank is certain to be full, which tells nothing about singular values. */
static luc_status solve_full_rank(luc_context *ctx, luc_matrices s, int64_t k, double rcond,
                                  const luc_tensor *a, luc_tensor *b, luc_tensor *rank,
                                  luc_tensor *info, bool *solved) {
  int32_t *codes = (int32_t *)info->data;
  luc_tensor *copy = NULL;
  luc_status status;
  *solved = false;
  LUC_GO(luc__duplicate(ctx, b, &copy));
  LUC_GO(luc__least_squares(ctx, s, k, 1 / rcond, a->data, copy->data, codes));
  *solved = true;
  for (int64_t i = 0; i < s.count; i++) *solved &= codes[i] == 0;
  if (*solved) memcpy(b->data, copy->data, (size_t)b->numel * luc__dtype_size(s.dtype));
  for (int64_t i = 0; i < s.count; i++) ((int64_t *)rank->data)[i] = s.m < s.n ? s.m : s.n;
done:
  luc_tensor_release(ctx, copy);
  return status;
}

/* least_squares(A, B, rcond, values) of one batch -> X, rank, singular_values if `values` */
luc_status luc__run_least_squares(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a, *b, *x, *rank, *values, *info, *right = args[1].as.tensor;
  LUC_TRY(luc__held(ctx, luc__duplicate(ctx, args[0].as.tensor, &a), &a));
  luc_matrices s = luc__matrices(a);
  int64_t k = right->sizes[right->ndim - 1], least = s.m < s.n ? s.m : s.n;
  if (s.m < s.n) { /* room for X below B */
    luc_value pad = luc_v_ints((int64_t[]){0, 0, 0, s.n - s.m}, 4);
    luc_value wide = luc_v_tensor(right);
    LUC_TRY(
        luc__held(ctx, luc__op1(ctx, LUC_OP_constant_pad_nd, &right, LUC_ARGS(wide, pad)), &right));
  }
  LUC_TRY(luc__held(ctx, luc__duplicate(ctx, right, &b), &b));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT64, 0, NULL, &rank));
  LUC_TRY(luc__batch_scratch(ctx, a, luc__dtype_to_real(s.dtype), 1, &least, &values));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 0, NULL, &info));
  bool solved = false;
  if (!args[3].as.i && least > 0 && k > 0)
    LUC_TRY(solve_full_rank(ctx, s, k, luc_as_double(&args[2]), a, b, rank, info, &solved));
  if (!solved)
    LUC_TRY(luc__lstsq(ctx, s, k, luc_as_double(&args[2]), a->data, b->data, values->data,
                       (int64_t *)rank->data, (int32_t *)info->data));
  LUC_TRY(luc__check_info(ctx, info, LUC_LA_SINGULAR));
  LUC_TRY(luc__results(out + 1, 2, (luc_tensor *[]){rank, values}));
  luc_formula f = luc__formula(ctx);
  x = luc__f1(&f, LUC_OP_clone, luc__f_narrow(&f, b, -2, 0, s.n));
  if (least == 0) x = luc__f1(&f, LUC_OP_zeros_like, x);
  return luc__f_result(&f, x, out);
}

/* X = pinv(A) B */
luc_status luc__grad_least_squares(luc_context *ctx, luc_backward *b) {
  luc_tensor *a = b->args[0].as.tensor, *right = b->args[1].as.tensor, *g = b->gout[0];
  if (!g) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *p = luc__f1(&f, LUC_OP_linalg_pinv, a);
  if (luc__needs(b, 1)) luc__f_keep(&f, luc__f_hm(&f, p, g), &b->gin[1]);
  if (!luc__needs(b, 0)) return luc__f_end(&f, NULL, NULL);
  luc_tensor *ga = pinv_gradient(&f, a, p, luc__f_mmh(&f, g, right));
  return luc__f_end(&f, ga, &b->gin[0]);
}

/* An empty tensor in the dtype of a's parts. */
static luc_tensor *nothing(luc_formula *f, luc_tensor *a) {
  luc_value none = luc_v_ints((int64_t[]){0}, 1);
  luc_tensor *empty = luc__f_call(f, LUC_OP_new_zeros, LUC_ARGS(luc_v_tensor(a), none));
  return f->status == LUC_OK ? luc__f_to(f, empty, luc__dtype_to_real(a->dtype)) : NULL;
}

/* Sums of squares left over, where there are more equations than unknowns and all are needed. */
static luc_tensor *residuals(luc_formula *f, luc_tensor *a, luc_tensor *x, luc_tensor *b,
                             luc_tensor *rank) {
  int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1];
  bool whole = f->status == LUC_OK && m > n;
  if (whole) rank = luc__all_samples(rank);
  for (int64_t i = 0; whole && i < rank->numel; i++) whole = ((const int64_t *)rank->data)[i] == n;
  if (!whole) return nothing(f, a);
  luc_tensor *left = luc__f2(f, LUC_OP_sub, luc__f_mm(f, a, x), b);
  left = luc__f2(f, LUC_OP_mul, left, luc__f_conj(f, left));
  if (luc__dtype_is_complex(a->dtype)) left = luc__f1(f, LUC_OP_real, left);
  return luc__f_sum_dim(f, left, -2);
}

static luc_status check_lstsq(luc_context *ctx, const luc_tensor *a, const luc_tensor *b,
                              bool vectors, const luc_value *driver, int *which) {
  LUC_TRY(luc__need_matrices(ctx, "input", a));
  char ta[LUC_SHAPE_TEXT], tb[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, b->dtype == a->dtype, LUC_ERR_TYPE,
            "Expected input and other to have the same dtype, but got input's dtype %s and other's "
            "dtype %s",
            luc__dtype_name(a->dtype), luc__dtype_name(b->dtype));
  bool fits = vectors || (b->ndim >= 2 && b->sizes[b->ndim - 2] == a->sizes[a->ndim - 2]);
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "input.size(-2) should match other.size(-2) (input %s, other %s)",
            luc__tensor_shape_text(ta, a), luc__tensor_shape_text(tb, b));
  return luc__choice(ctx, "driver", "gelsy|gels|gelsd|gelss",
                     luc_is_none(driver) ? "gelsy" : driver->as.string, which);
}

/* lstsq(A, B, rcond, driver) -> solution, residuals, rank, singular_values. A driver tells
 * which of them PyTorch's gives. */
luc_status luc__run_linalg_lstsq(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  luc_formula f = luc__formula(ctx);
  int driver;
  bool vectors = b->ndim == a->ndim - 1;
  for (int i = 0; vectors && i < b->ndim; i++) vectors = b->sizes[i] == a->sizes[i];
  LUC_TRY(check_lstsq(ctx, a, b, vectors, &args[3], &driver));
  const double rcond = luc_is_none(&args[2]) ? default_limit(a) : luc_as_double(&args[2]);
  if (vectors) b = luc__f_unsqueeze(&f, b, -1);
  if (f.status == LUC_OK) f.status = luc__f_same_batch(&f, &a, &b);
  luc_value r[3] = {{0}}, given[] = {luc_v_tensor(a), luc_v_tensor(b), luc_v_float(rcond),
                                     luc_v_bool(driver > 1)};
  if (f.status == LUC_OK) f.status = luc_call(ctx, LUC_OP_least_squares, given, 4, r);
  luc_tensor *x = luc__f_own(&f, luc_as_tensor(&r[0])),
             *rank = luc__f_own(&f, luc_as_tensor(&r[1]));
  luc_tensor *values = luc__f_own(&f, luc_as_tensor(&r[2])), *rest = NULL;
  luc_tensor *empty = nothing(&f, args[0].as.tensor);
  rest = driver == 0 ? empty : residuals(&f, a, x, b, rank);
  if (vectors) x = luc__f_squeeze(&f, x, -1);
  if (driver == 1) rank = luc__f_to(&f, empty, LUC_INT64);
  return luc__f_results(&f, 4, (luc_tensor *[]){x, rest, rank, driver < 2 ? empty : values}, out);
}
