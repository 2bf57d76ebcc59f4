/* LU and what it gives: determinants, solutions; and its symmetric sister LDL. Pivots count from 1,
 * as LAPACK's do and PyTorch's. */
#include <string.h>

#include "cpu/reduce.h"
#include "ops/geometry.h"
#include "ops/linalg.h"
#include "ops/rows.h"

/* All are held. */
typedef struct factored {
  luc_tensor *lu, *pivots, *info;
} factored;

static luc_status factor(luc_context *ctx, luc_tensor *a, factored *f) {
  LUC_TRY(luc__need_matrices(ctx, "A", a));
  int64_t m = a->sizes[a->ndim - 2], n = a->sizes[a->ndim - 1], k = m < n ? m : n;
  LUC_TRY(luc__held(ctx, luc__duplicate(ctx, a, &f->lu), &f->lu));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 1, &k, &f->pivots));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 0, NULL, &f->info));
  return luc__lu(ctx, luc__matrices(f->lu), f->lu->data, (int32_t *)f->pivots->data,
                 (int32_t *)f->info->data);
}

/* The factors as results; info where it is wanted. */
static luc_status give(const factored *f, bool with_info, luc_value *out) {
  return luc__results(out, with_info ? 3 : 2, (luc_tensor *[]){f->lu, f->pivots, f->info});
}

static luc_status run_lu(luc_context *ctx, luc_value *args, bool check, bool with_info,
                         luc_value *out) {
  factored f;
  LUC_CHECK(ctx, args[1].as.i, LUC_ERR_SUPPORT,
            "LU without pivoting is not implemented on the CPU");
  LUC_TRY(factor(ctx, args[0].as.tensor, &f));
  if (check) LUC_TRY(luc__check_info(ctx, f.info, LUC_LA_LU));
  return give(&f, with_info, out);
}

luc_status luc__run_linalg_lu_factor_ex(luc_context *ctx, luc_value *args, luc_value *out) {
  return run_lu(ctx, args, args[2].as.i != 0, true, out);
}

luc_status luc__run_linalg_lu_factor(luc_context *ctx, luc_value *args, luc_value *out) {
  return run_lu(ctx, args, true, false, out);
}

/* lu(A, pivot, get_infos): PyTorch's older form, in which a singular matrix is no error. */
luc_status luc__run_lu(luc_context *ctx, luc_value *args, luc_value *out) {
  return run_lu(ctx, args, false, args[2].as.i != 0, out);
}

/* Row i of P^T B is B's row[i], of m, as k pivots tell. */
static luc_status order_of(luc_context *ctx, const int64_t *pivots, int64_t k, int64_t m,
                           int64_t *row) {
  for (int64_t i = 0; i < m; i++) row[i] = i;
  for (int64_t i = 0; i < k; i++) {
    const int64_t with = pivots[i] - 1, kept = row[i];
    LUC_CHECK(ctx, with >= 0 && with < m, LUC_ERR_VALUE, "pivot %lld is out of range [1, %lld]",
              (long long)with + 1, (long long)m);
    row[i] = row[with];
    row[with] = kept;
  }
  return LUC_OK;
}

/* lu_permutation(LU, pivots) -> P of A = P L U */
luc_status luc__run_lu_permutation(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *lu = args[0].as.tensor, *pivots, *p, *order;
  int64_t m = lu->sizes[lu->ndim - 2], k = args[1].as.tensor->sizes[args[1].as.tensor->ndim - 1];
  LUC_TRY(luc__as_dense(ctx, args[1].as.tensor, LUC_INT64, &pivots));
  LUC_TRY(luc__batch_scratch(ctx, lu, lu->dtype, 2, (int64_t[]){m, m}, &p));
  LUC_TRY(luc__scratch(ctx, LUC_INT64, 1, &m, &order));
  int64_t size = (int64_t)luc__dtype_size(p->dtype);
  luc_scalar one = {LUC_SCALAR_INT, {.i = 1}};
  memset(p->data, 0, (size_t)(p->numel * size));
  int64_t *row = (int64_t *)order->data, count = luc__matrices(lu).count;
  for (int64_t b = 0; b < count; b++) {
    LUC_TRY(order_of(ctx, (const int64_t *)pivots->data + b * k, k, m, row));
    for (int64_t i = 0; i < m; i++)
      luc__store_scalar(p->data + ((b * m + row[i]) * m + i) * size, p->dtype, one);
  }
  return luc__result(ctx, out, p->dtype, p);
}

/* exchange_rows(B [..., m, k], pivots [..., 1], back) of one batch -> P B; back: P^T B */
luc_status luc__run_exchange_rows(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *b = args[0].as.tensor, *pivots = args[1].as.tensor, *to, *order;
  const bool back = args[2].as.i != 0;
  LUC_TRY(luc__as_dense(ctx, pivots, LUC_INT64, &pivots));
  LUC_TRY(luc__as_dense(ctx, b, b->dtype, &b));
  LUC_TRY(luc__scratch_like(ctx, b, b->dtype, &to));
  const luc_matrices s = luc__matrices(b);
  const int64_t k = pivots->sizes[pivots->ndim - 2];
  const size_t bytes = (size_t)s.n * luc__dtype_size(s.dtype);
  LUC_TRY(luc__scratch(ctx, LUC_INT64, 1, &s.m, &order));
  for (int64_t i = 0; i < s.count && bytes > 0; i++) {
    const int64_t *row = (const int64_t *)order->data;
    LUC_TRY(order_of(ctx, (const int64_t *)pivots->data + i * k, k, s.m, (int64_t *)order->data));
    const char *from = b->data + (size_t)(i * s.m) * bytes;
    char *rows = to->data + (size_t)(i * s.m) * bytes;
    for (int64_t r = 0; r < s.m; r++)
      memcpy(rows + (size_t)(back ? r : row[r]) * bytes, from + (size_t)(back ? row[r] : r) * bytes,
             bytes);
  }
  return luc__result(ctx, out, to->dtype, to);
}

static luc_tensor *exchange_rows(luc_formula *f, luc_tensor *b, luc_tensor *pivots, bool back) {
  return luc__f_call(f, LUC_OP_exchange_rows,
                     LUC_ARGS(luc_v_tensor(b), luc_v_tensor(pivots), luc_v_bool(back)));
}

luc_status luc__grad_exchange_rows(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = exchange_rows(&f, b->gout[0], b->args[1].as.tensor, b->args[2].as.i == 0);
  return luc__f_end(&f, g, &b->gin[0]);
}

/* P B; back: P^T B. */
static luc_tensor *permuted(luc_formula *f, luc_tensor *b, luc_tensor *pivots, bool back) {
  pivots = luc__f_unsqueeze(f, pivots, -1);
  if (f->status == LUC_OK) f->status = luc__f_same_batch(f, &pivots, &b);
  return exchange_rows(f, b, pivots, back);
}

/* L [m, k] and U [k, n] of the packed [m, n]. */
static void unpack(luc_formula *f, luc_tensor *lu, luc_tensor **l, luc_tensor **u) {
  int64_t m = lu->sizes[lu->ndim - 2], n = lu->sizes[lu->ndim - 1], k = m < n ? m : n;
  luc_tensor *low = luc__f_triangle(f, LUC_OP_tril, luc__f_narrow(f, lu, -1, 0, k), -1);
  luc_tensor *ones = luc__f_narrow(f, luc__f_eye(f, lu, m), -1, 0, k);
  *l = luc__f2(f, LUC_OP_add, low, ones);
  *u = luc__f_triangle(f, LUC_OP_triu, luc__f_narrow(f, lu, -2, 0, k), 0);
}

static luc_status check_factors(luc_context *ctx, const luc_tensor *lu, const luc_tensor *pivots) {
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, lu->ndim >= 2, LUC_ERR_SHAPE,
            "The input tensor LU_data must have at least 2 dimensions (got %s)",
            luc__tensor_shape_text(a, lu));
  int64_t m = lu->sizes[lu->ndim - 2], n = lu->sizes[lu->ndim - 1];
  bool fits = pivots->ndim == lu->ndim - 1 && pivots->sizes[pivots->ndim - 1] == (m < n ? m : n);
  for (int i = 0; fits && i < lu->ndim - 2; i++) fits = pivots->sizes[i] == lu->sizes[i];
  LUC_CHECK(ctx, pivots->dtype == LUC_INT32 || pivots->dtype == LUC_INT64, LUC_ERR_TYPE,
            "pivots must be int32 (got %s)", luc__dtype_name(pivots->dtype));
  LUC_CHECK(ctx, fits, LUC_ERR_SHAPE,
            "pivots must have the batch and the smaller side of the factors (factors %s, pivots "
            "%s)",
            luc__tensor_shape_text(a, lu), luc__tensor_shape_text(b, pivots));
  return LUC_OK;
}

static luc_tensor *permutation(luc_formula *f, luc_tensor *lu, luc_tensor *pivots) {
  return luc__f2(f, LUC_OP_lu_permutation, lu, pivots);
}

/* P, L, U; the empty tensors of what is not wanted. */
static luc_status give_unpacked(luc_context *ctx, luc_tensor *lu, luc_tensor *pivots, bool data,
                                bool rows, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *all[3] = {NULL, NULL, NULL};
  luc_value none = luc_v_ints((int64_t[]){0}, 1);
  luc_tensor *empty = luc__f_call(&f, LUC_OP_new_zeros, LUC_ARGS(luc_v_tensor(lu), none));
  all[0] = all[1] = all[2] = empty;
  if (rows) all[0] = permutation(&f, lu, pivots);
  if (data) unpack(&f, lu, &all[1], &all[2]);
  return luc__f_results(&f, 3, all, out);
}

/* lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots) */
luc_status luc__run_lu_unpack(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(check_factors(ctx, args[0].as.tensor, args[1].as.tensor));
  return give_unpacked(ctx, args[0].as.tensor, args[1].as.tensor, args[2].as.i != 0,
                       args[3].as.i != 0, out);
}

/* linalg.lu(A, pivot) -> P, L, U */
luc_status luc__run_linalg_lu(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *pivots;
  luc_tensor *lu =
      luc__f_call2(&f, LUC_OP_linalg_lu_factor_ex, &pivots, LUC_ARGS(args[0], args[1]));
  if (f.status == LUC_OK) f.status = give_unpacked(ctx, lu, pivots, true, true, out);
  return luc__f_end(&f, NULL, NULL);
}

/* L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H for square factors. */
static luc_tensor *square(luc_formula *f, luc_tensor *l, luc_tensor *u, luc_tensor *gl,
                          luc_tensor *gu) {
  luc_tensor *low = luc__f_triangle(f, LUC_OP_tril, luc__f_hm(f, l, gl), -1);
  luc_tensor *high = luc__f_triangle(f, LUC_OP_triu, luc__f_mmh(f, gu, u), 0);
  luc_tensor *g = luc__f2(f, LUC_OP_add, low, high);
  g = luc__f_solve_triangle(f, l, g, LUC_LOWER | LUC_UNIT | LUC_ADJOINT);
  return luc__f_solve_right(f, u, g, LUC_UPPER | LUC_ADJOINT);
}

/* [A1 A2] = L [U1 U2]: U2 = L^-1 A2 reaches L as well. */
static luc_tensor *wide(luc_formula *f, luc_tensor *l, luc_tensor *u, luc_tensor *gl,
                        luc_tensor *gu, int64_t k, int64_t n) {
  luc_tensor *u1 = luc__f_narrow(f, u, -1, 0, k), *u2 = luc__f_narrow(f, u, -1, k, n - k);
  luc_tensor *g1 = luc__f_narrow(f, gu, -1, 0, k), *g2 = luc__f_narrow(f, gu, -1, k, n - k);
  luc_tensor *ga2 = luc__f_solve_triangle(f, l, g2, LUC_LOWER | LUC_UNIT | LUC_ADJOINT);
  gl = luc__f2(f, LUC_OP_sub, gl, luc__f_mmh(f, ga2, u2));
  return luc__f_cat(f, square(f, l, u1, gl, g1), ga2, -1);
}

/* [A1; A2] = [L1; L2] U: L2 = A2 U^-1 reaches U as well. */
static luc_tensor *tall(luc_formula *f, luc_tensor *l, luc_tensor *u, luc_tensor *gl,
                        luc_tensor *gu, int64_t k, int64_t m) {
  luc_tensor *l1 = luc__f_narrow(f, l, -2, 0, k), *l2 = luc__f_narrow(f, l, -2, k, m - k);
  luc_tensor *g1 = luc__f_narrow(f, gl, -2, 0, k), *g2 = luc__f_narrow(f, gl, -2, k, m - k);
  luc_tensor *ga2 = luc__f_solve_right(f, u, g2, LUC_UPPER | LUC_ADJOINT);
  gu = luc__f2(f, LUC_OP_sub, gu, luc__f_hm(f, l2, ga2));
  return luc__f_cat(f, square(f, l1, u, g1, gu), ga2, -2);
}

luc_status luc__grad_linalg_lu_factor(luc_context *ctx, luc_backward *b) {
  luc_tensor *lu = b->results[0], *g = b->gout[0], *l, *u, *r;
  if (!g) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  int64_t m = lu->sizes[lu->ndim - 2], n = lu->sizes[lu->ndim - 1], k = m < n ? m : n;
  unpack(&f, lu, &l, &u);
  luc_tensor *gl = luc__f_triangle(&f, LUC_OP_tril, luc__f_narrow(&f, g, -1, 0, k), -1);
  luc_tensor *gu = luc__f_triangle(&f, LUC_OP_triu, luc__f_narrow(&f, g, -2, 0, k), 0);
  if (m == n) {
    r = square(&f, l, u, gl, gu);
  } else {
    r = m < n ? wide(&f, l, u, gl, gu, k, n) : tall(&f, l, u, gl, gu, k, m);
  }
  return luc__f_end(&f, permuted(&f, r, b->results[1], false), &b->gin[0]);
}

/* ---- solving by the factors ---- */

/* A X = B, or A^H X = B. */
static luc_tensor *solve_left(luc_formula *f, luc_tensor *lu, luc_tensor *pivots, luc_tensor *b,
                              bool adjoint) {
  if (f->status == LUC_OK) f->status = luc__f_same_batch(f, &lu, &b);
  if (!adjoint) {
    luc_tensor *y = permuted(f, b, pivots, true);
    return luc__f_solve_triangle(f, lu, luc__f_solve_triangle(f, lu, y, LUC_LOWER | LUC_UNIT),
                                 LUC_UPPER);
  }
  luc_tensor *y = luc__f_solve_triangle(f, lu, b, LUC_UPPER | LUC_ADJOINT);
  y = luc__f_solve_triangle(f, lu, y, LUC_LOWER | LUC_UNIT | LUC_ADJOINT);
  return permuted(f, y, pivots, false);
}

static luc_status lu_solve(luc_context *ctx, luc_tensor *lu, luc_tensor *pivots, luc_tensor *b,
                           bool left, bool adjoint, luc_value *out) {
  LUC_TRY(luc__need_square_matrices(ctx, "LU", lu));
  LUC_TRY(check_factors(ctx, lu, pivots));
  LUC_TRY(luc__need_matrices(ctx, "B", b));
  char ta[LUC_SHAPE_TEXT], tb[LUC_SHAPE_TEXT];
  LUC_CHECK(
      ctx, lu->sizes[lu->ndim - 1] == b->sizes[b->ndim - (left ? 2 : 1)] && lu->dtype == b->dtype,
      LUC_ERR_SHAPE,
      "Incompatible shapes or dtypes of A and B for the equation %s (A %s, B "
      "%s)",
      left ? "AX = B" : "XA = B", luc__tensor_shape_text(ta, lu), luc__tensor_shape_text(tb, b));
  luc_formula f = luc__formula(ctx);
  if (left) return luc__f_result(&f, solve_left(&f, lu, pivots, b, adjoint), out);
  luc_tensor *x = solve_left(&f, lu, pivots, luc__f_mh(&f, b), !adjoint);
  return luc__f_result(&f, luc__f_mh(&f, x), out);
}

/* linalg.lu_solve(LU, pivots, B, left, adjoint) */
luc_status luc__run_linalg_lu_solve(luc_context *ctx, luc_value *args, luc_value *out) {
  return lu_solve(ctx, args[0].as.tensor, args[1].as.tensor, args[2].as.tensor, args[3].as.i != 0,
                  args[4].as.i != 0, out);
}

/* lu_solve(b, LU_data, LU_pivots) */
luc_status luc__run_lu_solve(luc_context *ctx, luc_value *args, luc_value *out) {
  return lu_solve(ctx, args[1].as.tensor, args[2].as.tensor, args[0].as.tensor, true, false, out);
}

/* ---- determinants ---- */

/* Their determinants, or signs and with `size` logarithms of their sizes. */
static luc_status determinants(luc_context *ctx, luc_tensor *input, luc_tensor **values,
                               luc_tensor **size) {
  luc_tensor *a;
  const luc_dtype dtype = input->dtype;
  LUC_TRY(luc__need_square_matrices(ctx, "A", input));
  LUC_TRY(luc__as_dense(ctx, input, input->dtype, &a));
  LUC_TRY(luc__batch_scratch(ctx, a, dtype, 0, NULL, values));
  if (size) LUC_TRY(luc__batch_scratch(ctx, a, luc__dtype_to_real(dtype), 0, NULL, size));
  return luc__determinant(ctx, luc__matrices(a), a->data, (*values)->data,
                          size ? (*size)->data : NULL);
}

luc_status luc__run_linalg_det(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *r;
  LUC_TRY(determinants(ctx, args[0].as.tensor, &r, NULL));
  return luc__result(ctx, out, r->dtype, r);
}

/* Of every row, the products of all but one. */
static luc_tensor *products_without(luc_formula *f, luc_tensor *w) {
  if (f->status != LUC_OK) return NULL;
  const int64_t n = w->sizes[w->ndim - 1], last[] = {-1};
  const luc_value dim = luc_v_int(-1), dims = luc_v_ints(last, 1);
  luc_tensor *one = luc__f1(f, LUC_OP_ones_like, luc__f_narrow(f, w, -1, 0, 1));
  luc_tensor *before = luc__f_cat(f, one, luc__f_narrow(f, w, -1, 0, n - 1), -1);
  before = luc__f_call(f, LUC_OP_cumprod, LUC_ARGS(luc_v_tensor(before), dim));
  luc_tensor *after = luc__f_cat(f, luc__f_narrow(f, w, -1, 1, n - 1), one, -1);
  after = luc__f_call(f, LUC_OP_flip, LUC_ARGS(luc_v_tensor(after), dims));
  after = luc__f_call(f, LUC_OP_cumprod, LUC_ARGS(luc_v_tensor(after), dim));
  after = luc__f_call(f, LUC_OP_flip, LUC_ARGS(luc_v_tensor(after), dims));
  return luc__f2(f, LUC_OP_mul, before, after);
}

typedef struct singular {
  luc_tensor *u, *s, *vh, *sign; /* sign: the conjugate of det(u) det(vh), [..., 1] */
} singular;

static singular decompose(luc_formula *f, luc_tensor *a) {
  luc_value parts[3] = {{0}};
  luc_value args[] = {luc_v_tensor(a), luc_v_bool(false), luc_v_none()};
  singular d = {NULL, NULL, NULL, NULL};
  if (f->status == LUC_OK) f->status = luc_call(f->ctx, LUC_OP_linalg_svd, args, 3, parts);
  if (f->status != LUC_OK) return d;
  d.u = luc__f_own(f, parts[0].as.tensor), d.s = luc__f_own(f, parts[1].as.tensor);
  d.vh = luc__f_own(f, parts[2].as.tensor);
  luc_tensor *turn = luc__f1(f, LUC_OP_linalg_det, d.u);
  turn = luc__f2(f, LUC_OP_mul, turn, luc__f1(f, LUC_OP_linalg_det, d.vh));
  d.sign = luc__f_unsqueeze(f, luc__f_conj(f, turn), -1);
  return d;
}

/* det_cofactors(A): the conjugates of the cofactors, which are those of det(A) inv(A)^T, also where
 * A is singular. */
luc_status luc__run_det_cofactors(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  const singular d = decompose(&f, args[0].as.tensor);
  luc_tensor *scale = luc__f2(&f, LUC_OP_mul, products_without(&f, d.s), d.sign);
  luc_tensor *left = luc__f2(&f, LUC_OP_mul, d.u, luc__f_unsqueeze(&f, scale, -2));
  return luc__f_result(&f, luc__f_mm(&f, left, d.vh), out);
}

/* Where A is diagonal, its elements s moved by K move det(A) by the products without s_i and s_j
 * times K_ii K_jj - K_ij K_ji; others are turned to be so. Nothing is divided by. */
luc_status luc__grad_det_cofactors(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *a = b->args[0].as.tensor;
  const singular d = decompose(&f, a);
  luc_tensor *k = luc__f_mmh(&f, luc__f_hm(&f, d.u, b->gout[0]), d.vh);
  luc_tensor *eye = luc__f_eye(&f, a, a->sizes[a->ndim - 1]);
  luc_tensor *apart = luc__fs(&f, LUC_OP_rsub, eye, 1);
  luc_tensor *rest = luc__f2(&f, LUC_OP_mul, apart, luc__f_unsqueeze(&f, d.s, -2));
  rest = products_without(&f, luc__f2(&f, LUC_OP_add, rest, eye));
  rest = luc__f2(&f, LUC_OP_mul, rest, apart);
  luc_tensor *own = luc__f_unsqueeze(&f, luc__f_diagonal(&f, k), -2);
  own = luc__f_sum_keepdim(&f, luc__f2(&f, LUC_OP_mul, rest, own), -1);
  luc_tensor *crossed = luc__f2(&f, LUC_OP_mul, rest, luc__f_mt(&f, k));
  k = luc__f2(&f, LUC_OP_sub, luc__f2(&f, LUC_OP_mul, eye, own), crossed);
  k = luc__f2(&f, LUC_OP_mul, luc__f_conj(&f, k), luc__f_unsqueeze(&f, d.sign, -1));
  return luc__f_end(&f, luc__f_mm(&f, luc__f_mm(&f, d.u, k), d.vh), &b->gin[0]);
}

static luc_tensor *twice_unsqueezed(luc_formula *f, luc_tensor *t) {
  return luc__f_unsqueeze(f, luc__f_unsqueeze(f, t, -1), -1);
}

/* A^-T of the matrices a, and the factors it comes of. */
static luc_tensor *turned_inverse(luc_formula *f, luc_tensor *a, luc_tensor **lu) {
  luc_value parts[4];
  luc_tensor *eye = luc__f_identity(f, a, a->sizes[a->ndim - 1]);
  a = luc__f_mt(f, a);
  if (f->status == LUC_OK) f->status = luc__f_same_batch(f, &a, &eye);
  luc_value args[] = {luc_v_tensor(a), luc_v_tensor(eye)};
  if (f->status == LUC_OK) f->status = luc_call(f->ctx, LUC_OP_solve_system, args, 2, parts);
  if (f->status != LUC_OK) return NULL;
  luc__f_own(f, parts[1].as.tensor);
  *lu = luc__f_own(f, parts[2].as.tensor);
  luc__f_own(f, parts[3].as.tensor);
  return luc__f_own(f, parts[0].as.tensor);
}

/* The determinant d as the product of a factor's diagonal, which knows it up to a sign. */
static luc_tensor *with_sign(luc_formula *f, luc_tensor *product, luc_tensor *d) {
  if (f->status != LUC_OK) return NULL;
  if (!luc__dtype_is_complex(d->dtype)) return luc__f2(f, LUC_OP_copysign, product, d);
  luc_tensor *same = luc__f2(f, LUC_OP_mul, d, luc__f_conj(f, product));
  return luc__f2(f, LUC_OP_mul, product, luc__f1(f, LUC_OP_sgn, luc__f1(f, LUC_OP_real, same)));
}

/* g conj(det(A)) A^-H: unless the determinant is to be differentiated again, both come of the same
 * factors, so that what rounding made of a pivot near 0 divides out. */
luc_status luc__grad_linalg_det(luc_context *ctx, luc_backward *b) {
  luc_tensor *a = b->args[0].as.tensor, *d = b->results[0], *g = b->gout[0], *lu = NULL, *r;
  if (!g) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *inverse = turned_inverse(&f, a, &lu);
  luc_tensor *diagonal = luc__f_diagonal(&f, lu);
  if (f.status == LUC_OK && luc__any_zero(ctx, diagonal)) {
    r = luc__f1(&f, LUC_OP_det_cofactors, a);
    r = luc__f2(&f, LUC_OP_mul, r, twice_unsqueezed(&f, g));
  } else {
    luc_tensor *size =
        luc__f_call(&f, LUC_OP_prod, LUC_ARGS(luc_v_tensor(diagonal), luc_v_int(-1)));
    if (!luc__recording(ctx)) d = with_sign(&f, size, d);
    luc_tensor *scale = twice_unsqueezed(&f, luc__f2(&f, LUC_OP_mul, g, luc__f_conj(&f, d)));
    r = luc__f2(&f, LUC_OP_mul, luc__f_conj(&f, inverse), scale);
  }
  return luc__f_end(&f, r, &b->gin[0]);
}

/* -> sign, logabsdet */
luc_status luc__run_linalg_slogdet(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *sign, *size;
  LUC_TRY(determinants(ctx, args[0].as.tensor, &sign, &size));
  return luc__results(out, 2, (luc_tensor *[]){sign, size});
}

/* (g - i Im(conj(gsign) sign)) A^-H: a complex sign is e^(i angle), which the matrix moves, too. */
luc_status luc__grad_linalg_slogdet(luc_context *ctx, luc_backward *b) {
  luc_tensor *a = b->args[0].as.tensor, *g = b->gout[1];
  const bool turns = b->gout[0] && luc__dtype_is_complex(a->dtype);
  if (!g && !turns) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  if (turns) { /* Im(gsign conj(sign)) is the negative */
    luc_tensor *turn = luc__f2(&f, LUC_OP_mul, b->gout[0], luc__f_conj(&f, b->results[0]));
    turn = luc__f1(&f, LUC_OP_imag, turn);
    if (!g) g = luc__f1(&f, LUC_OP_zeros_like, turn);
    g = luc__f2(&f, LUC_OP_complex, g, turn);
  }
  luc_tensor *inverse = luc__f_mh(&f, luc__f1(&f, LUC_OP_linalg_inv_ex, a));
  return luc__f_end(&f, luc__f2(&f, LUC_OP_mul, inverse, twice_unsqueezed(&f, g)), &b->gin[0]);
}

/* log(sign) is 0, or NaN for a negative determinant, or -inf for a singular matrix. */
luc_status luc__run_logdet(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *size;
  luc_tensor *sign = luc__f_call2(&f, LUC_OP_linalg_slogdet, &size, LUC_ARGS(args[0]));
  return luc__f_result(&f, luc__f2(&f, LUC_OP_add, luc__f1(&f, LUC_OP_log, sign), size), out);
}

/* ---- LDL ---- */

static luc_status ldl(luc_context *ctx, luc_tensor *a, bool hermitian, bool check, factored *f) {
  LUC_TRY(luc__need_square_matrices(ctx, "A", a));
  LUC_TRY(luc__held(ctx, luc__op1(ctx, LUC_OP_tril, &f->lu, LUC_ARGS(luc_v_tensor(a))), &f->lu));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 1, &a->sizes[a->ndim - 1], &f->pivots));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 0, NULL, &f->info));
  hermitian &= luc__dtype_is_complex(a->dtype);
  LUC_TRY(luc__ldl(ctx, luc__matrices(f->lu), hermitian, f->lu->data, (int32_t *)f->pivots->data,
                   (int32_t *)f->info->data));
  return check ? luc__check_info(ctx, f->info, LUC_LA_SOLVE) : LUC_OK;
}

luc_status luc__run_linalg_ldl_factor(luc_context *ctx, luc_value *args, luc_value *out) {
  factored f;
  LUC_TRY(ldl(ctx, args[0].as.tensor, args[1].as.i != 0, true, &f));
  return give(&f, false, out);
}

luc_status luc__run_linalg_ldl_factor_ex(luc_context *ctx, luc_value *args, luc_value *out) {
  factored f;
  LUC_TRY(ldl(ctx, args[0].as.tensor, args[1].as.i != 0, args[2].as.i != 0, &f));
  return give(&f, true, out);
}

/* LAPACK trusts pivots: rows from 1 to n, or negative ones in pairs, for blocks of two. */
static luc_status check_pivots(luc_context *ctx, const luc_tensor *pivots, int64_t n) {
  const int32_t *p = (const int32_t *)pivots->data;
  for (int64_t i = 0; i < pivots->numel; i++) {
    int64_t row = p[i] < 0 ? -(int64_t)p[i] : p[i];
    bool good = row >= 1 && row <= n;
    if (good && p[i] < 0) {
      good = i % n + 1 < n && p[i + 1] == p[i];
      i++;
    }
    LUC_CHECK(ctx, good, LUC_ERR_VALUE, "pivots are not those of a factorization (got %lld)",
              (long long)row);
  }
  return LUC_OK;
}

/* X of one batch of factors and right sides. */
static luc_status ldl_solve(luc_context *ctx, luc_tensor *ld, luc_tensor *pivots, bool hermitian,
                            luc_tensor *b, luc_tensor **x) {
  luc_tensor *a, *p;
  LUC_TRY(luc__as_dense(ctx, ld, ld->dtype, &a));
  LUC_TRY(luc__as_dense(ctx, pivots, LUC_INT32, &p));
  LUC_TRY(check_pivots(ctx, p, ld->sizes[ld->ndim - 1]));
  LUC_TRY(luc__duplicate(ctx, b, x));
  hermitian &= luc__dtype_is_complex(ld->dtype);
  return luc__ldl_solve(ctx, luc__matrices(a), hermitian, b->sizes[b->ndim - 1], a->data,
                        (const int32_t *)p->data, (*x)->data);
}

/* linalg.ldl_solve(LD, pivots, B, hermitian) */
luc_status luc__run_linalg_ldl_solve(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *ld = args[0].as.tensor, *p = args[1].as.tensor, *b = args[2].as.tensor, *x = NULL;
  LUC_TRY(luc__need_square_matrices(ctx, "LD", ld));
  LUC_TRY(check_factors(ctx, ld, p));
  LUC_TRY(luc__need_matrices(ctx, "B", b));
  LUC_CHECK(ctx, b->sizes[b->ndim - 2] == ld->sizes[ld->ndim - 1] && b->dtype == ld->dtype,
            LUC_ERR_SHAPE, "Incompatible shapes or dtypes of A and B for the equation AX = B");
  luc_formula f = luc__formula(ctx);
  f.status = luc__f_same_batch(&f, &ld, &b);
  if (f.status == LUC_OK) p = luc__f_expand(&f, p, ld->ndim - 1, ld->sizes);
  if (f.status == LUC_OK) f.status = ldl_solve(ctx, ld, p, args[3].as.i != 0, b, &x);
  return luc__f_result(&f, luc__f_own(&f, x), out);
}
