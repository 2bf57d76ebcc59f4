/* Inverses, systems of equations, triangles, Cholesky's factor and what is solved by it. */
#include <math.h>

#include "cpu/number.h"
#include "cpu/reduce.h"
#include "ops/compute.h"
#include "ops/geometry.h"
#include "ops/linalg.h"
#include "ops/rows.h"

/* ---- inverses ---- */

/* The matrices that could not be inverted become NaN: nothing of them is an inverse. */
static void spoil(luc_tensor *t, const luc_tensor *info) {
  const luc_matrices s = luc__matrices(t);
  const luc_dtype real = luc__dtype_to_real(s.dtype);
  const int64_t numbers = s.n * s.n * (real == s.dtype ? 1 : 2);
  for (int64_t i = 0; i < s.count; i++)
    for (int64_t j = 0; ((const int32_t *)info->data)[i] && j < numbers; j++)
      luc__number_put(real == LUC_FLOAT32, t->data, i * numbers + j, NAN);
}

static luc_status invert(luc_context *ctx, luc_tensor *a, bool check, luc_value *out) {
  luc_tensor *inverse, *info;
  LUC_TRY(luc__need_square_matrices(ctx, "A", a));
  LUC_TRY(luc__held(ctx, luc__duplicate(ctx, a, &inverse), &inverse));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 0, NULL, &info));
  LUC_TRY(luc__inverse(ctx, luc__matrices(inverse), inverse->data, (int32_t *)info->data));
  if (check) LUC_TRY(luc__check_info(ctx, info, LUC_LA_INVERSE));
  spoil(inverse, info);
  return luc__results(out, 2, (luc_tensor *[]){inverse, info});
}

luc_status luc__run_linalg_inv_ex(luc_context *ctx, luc_value *args, luc_value *out) {
  return invert(ctx, args[0].as.tensor, args[1].as.i != 0, out);
}

luc_status luc__run_linalg_inv(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_value both[2];
  LUC_TRY(invert(ctx, args[0].as.tensor, true, both));
  out[0] = both[0];
  luc__value_release(ctx, &both[1]);
  return LUC_OK;
}

/* d inv(A) = -inv(A) dA inv(A): gA = -X^H g X^H */
luc_status luc__grad_linalg_inv(luc_context *ctx, luc_backward *b) {
  if (!b->gout[0]) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = b->results[0];
  luc_tensor *g = luc__f_mmh(&f, luc__f_hm(&f, x, b->gout[0]), x);
  return luc__f_end(&f, luc__f1(&f, LUC_OP_neg, g), &b->gin[0]);
}

/* ---- systems ---- */

/* solve_system(A [..., n, n], B [..., n, k]) of one batch -> X, info, A's factors */
luc_status luc__run_solve_system(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a, *x, *info, *lu, *pivots;
  LUC_TRY(luc__as_dense(ctx, args[0].as.tensor, args[0].as.tensor->dtype, &a));
  LUC_TRY(luc__held(ctx, luc__duplicate(ctx, args[1].as.tensor, &x), &x));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 0, NULL, &info));
  LUC_TRY(luc__scratch_like(ctx, a, a->dtype, &lu));
  LUC_TRY(luc__batch_scratch(ctx, a, LUC_INT32, 1, &a->sizes[a->ndim - 1], &pivots));
  LUC_TRY(luc__solve(ctx, luc__matrices(a), x->sizes[x->ndim - 1], a->data, x->data, lu->data,
                     (int32_t *)pivots->data, (int32_t *)info->data));
  return luc__results(out, 4, (luc_tensor *[]){x, info, lu, pivots});
}

/* A^-H g, by the factors that are there where the result need not be differentiated. */
static luc_tensor *solve_adjoint(luc_formula *f, const luc_backward *b) {
  luc_tensor *a = b->args[0].as.tensor, *g = b->gout[0], *lu = b->results[2], *x = NULL;
  if (luc__recording(f->ctx) || a->inner || g->inner || lu->inner)
    return luc__f2(f, LUC_OP_solve_system, luc__f_mh(f, a), g);
  f->status = luc__duplicate(f->ctx, g, &x);
  if (!luc__f_own(f, x)) return NULL;
  f->status = luc__solve_adjoint(f->ctx, luc__matrices(lu), x->sizes[x->ndim - 1], lu->data,
                                 (const int32_t *)b->results[3]->data, x->data);
  return x;
}

/* gB = A^-H g, gA = -gB X^H */
luc_status luc__grad_solve_system(luc_context *ctx, luc_backward *b) {
  if (!b->gout[0]) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *gb = solve_adjoint(&f, b);
  if (luc__needs(b, 1)) luc__f_keep(&f, gb, &b->gin[1]);
  if (!luc__needs(b, 0)) return luc__f_end(&f, NULL, NULL);
  luc_tensor *ga = luc__f1(&f, LUC_OP_neg, luc__f_mm(&f, gb, luc__f_mh(&f, b->results[0])));
  return luc__f_end(&f, ga, &b->gin[0]);
}

/* PyTorch's rule: B is one vector a matrix if it has A's batch and one dimension less. */
static bool is_vectors(const luc_tensor *a, const luc_tensor *b) {
  if (b->ndim == 1) return true;
  if (b->ndim != a->ndim - 1) return false;
  for (int i = 0; i < b->ndim; i++)
    if (b->sizes[i] != a->sizes[i]) return false;
  return true;
}

static luc_status check_pair(luc_context *ctx, const luc_tensor *a, const luc_tensor *b, bool left,
                             bool vectors) {
  LUC_TRY(luc__need_square_matrices(ctx, "A", a));
  LUC_CHECK(ctx, a->dtype == b->dtype, LUC_ERR_TYPE,
            "Expected A and B to have the same dtype, but found A of type %s and B of type %s "
            "instead",
            luc__dtype_name(a->dtype), luc__dtype_name(b->dtype));
  if (!vectors) LUC_TRY(luc__need_matrices(ctx, "B", b));
  int64_t n = a->sizes[a->ndim - 1], rows = b->sizes[b->ndim - (vectors || !left ? 1 : 2)];
  char ta[LUC_SHAPE_TEXT], tb[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, rows == n, LUC_ERR_SHAPE,
            "Incompatible shapes of A and B for the equation %s (A %s, B %s)",
            left ? "AX = B" : "XA = B", luc__tensor_shape_text(ta, a),
            luc__tensor_shape_text(tb, b));
  return LUC_OK;
}

/* The codes [batch of X] of as many matrices as A has: the repeated ones are left out. */
static luc_tensor *codes_of(luc_formula *f, luc_tensor *info, const luc_tensor *a) {
  int more = f->status == LUC_OK ? info->ndim - (a->ndim - 2) : 0;
  for (int d = 0; f->status == LUC_OK && d < info->ndim; d++) {
    bool repeated = d < more || a->sizes[d - more] == 1;
    if (repeated && info->sizes[d] > 1) info = luc__f_narrow(f, info, d, 0, 1);
  }
  for (; more > 0 && f->status == LUC_OK && info->sizes[0] == 1; more--)
    info = luc__f_squeeze(f, info, 0);
  return info;
}

/* X of A X = B (of X A = B unless left) and the codes, recorded. */
static luc_status solve(luc_context *ctx, luc_value *args, bool left, bool check, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor, *info = NULL, *x = NULL;
  LUC_TRY(luc__need_square_matrices(ctx, "A", a));
  bool vectors = is_vectors(a, b);
  LUC_CHECK(ctx, left || !vectors, LUC_ERR_VALUE,
            "Vector broadcasting of the left hand side is not supported for left=False. In this "
            "case linalg.solve is equivalent to B / A.squeeze(-1)");
  LUC_TRY(check_pair(ctx, a, b, left, vectors));
  if (vectors) b = luc__f_unsqueeze(&f, b, -1);
  if (!left) a = luc__f_mt(&f, a), b = luc__f_mt(&f, b);
  if (f.status == LUC_OK) f.status = luc__f_same_batch(&f, &a, &b);
  x = luc__f_call2(&f, LUC_OP_solve_system, &info, LUC_ARGS(luc_v_tensor(a), luc_v_tensor(b)));
  if (vectors) x = luc__f_squeeze(&f, x, -1);
  if (!left) x = luc__f_mt(&f, x);
  if (f.status == LUC_OK && check) f.status = luc__check_info(ctx, info, LUC_LA_SOLVE);
  luc_tensor *kept = NULL, *codes = NULL;
  luc__f_keep(&f, codes_of(&f, info, args[0].as.tensor), &codes);
  luc_status status = luc__f_end(&f, x, &kept);
  return luc__give_two(ctx, status, kept, codes, out);
}

luc_status luc__run_linalg_solve(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_value both[2];
  LUC_TRY(solve(ctx, args, args[2].as.i != 0, true, both));
  out[0] = both[0];
  luc__value_release(ctx, &both[1]);
  return LUC_OK;
}

luc_status luc__run_linalg_solve_ex(luc_context *ctx, luc_value *args, luc_value *out) {
  return solve(ctx, args, args[2].as.i != 0, args[3].as.i != 0, out);
}

/* ---- triangles ---- */

/* Are its matrices those of a contiguous tensor transposed? */
static bool lies_turned(const luc_tensor *t) {
  luc_tensor turned = *t;
  luc__move_dim(&turned, t->ndim - 1, t->ndim - 2);
  return luc__is_contiguous(&turned);
}

/* solve_triangle(A, B, upper, unit) of one batch */
luc_status luc__run_solve_triangle(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *x;
  const bool turned = lies_turned(a);
  if (!turned) LUC_TRY(luc__as_dense(ctx, a, a->dtype, &a));
  LUC_TRY(luc__held(ctx, luc__duplicate(ctx, args[1].as.tensor, &x), &x));
  LUC_TRY(luc__solve_triangle(ctx, luc__matrices(a), x->sizes[x->ndim - 1], args[2].as.i != 0,
                              args[3].as.i != 0, turned, a->data, x->data));
  return luc__result(ctx, out, x->dtype, x);
}

/* The triangle of an operator's arguments. */
static int triangle_of(bool upper, bool unit) {
  return (upper ? LUC_UPPER : LUC_LOWER) | (unit ? LUC_UNIT : 0);
}

luc_status luc__grad_solve_triangle(luc_context *ctx, luc_backward *b) {
  bool upper = b->args[2].as.i != 0, unit = b->args[3].as.i != 0;
  if (!b->gout[0]) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *gb = luc__f_solve_triangle(&f, b->args[0].as.tensor, b->gout[0],
                                         triangle_of(upper, unit) | LUC_ADJOINT);
  if (luc__needs(b, 1)) luc__f_keep(&f, gb, &b->gin[1]);
  if (!luc__needs(b, 0)) return luc__f_end(&f, NULL, NULL);
  luc_tensor *ga = luc__f1(&f, LUC_OP_neg, luc__f_mmh(&f, gb, b->results[0]));
  int64_t diagonal = unit ? (upper ? 1 : -1) : 0;
  ga = luc__f_triangle(&f, upper ? LUC_OP_triu : LUC_OP_tril, ga, diagonal);
  return luc__f_end(&f, ga, &b->gin[0]);
}

/* (A, B, upper, left, unitriangular) */
luc_status luc__run_linalg_solve_triangular(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  bool left = args[3].as.i != 0;
  int triangle = triangle_of(args[2].as.i != 0, args[4].as.i != 0);
  LUC_TRY(check_pair(ctx, a, b, left, false));
  luc_formula f = luc__formula(ctx);
  luc_tensor *x =
      left ? luc__f_solve_triangle(&f, a, b, triangle) : luc__f_solve_right(&f, a, b, triangle);
  return luc__f_result(&f, x, out);
}

/* triangular_solve(b, A, upper, transpose, unitriangular) -> X and a copy of A */
luc_status luc__run_triangular_solve(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *b = args[0].as.tensor, *a = args[1].as.tensor, *x = NULL, *copy = NULL;
  LUC_TRY(check_pair(ctx, a, b, true, false));
  luc_formula f = luc__formula(ctx);
  luc__f_keep(&f, luc__f1(&f, LUC_OP_clone, a), &copy);
  const bool transposed = args[3].as.i != 0, upper = (args[2].as.i != 0) != transposed;
  if (transposed) a = luc__f_mt(&f, a);
  luc_tensor *y = luc__f_solve_triangle(&f, a, b, triangle_of(upper, args[4].as.i != 0));
  luc_status status = luc__f_end(&f, y, &x);
  return luc__give_two(ctx, status, x, copy, out);
}

/* ---- Cholesky ---- */

static luc_status cholesky(luc_context *ctx, luc_tensor *input, bool upper, bool check,
                           luc_value *out) {
  luc_tensor *from = input, *l, *info;
  LUC_TRY(luc__need_square_matrices(ctx, "A", input));
  luc_value both[] = {luc_v_tensor(input), luc_v_int(-2), luc_v_int(-1)};
  if (upper) LUC_TRY(luc__held(ctx, luc__op1(ctx, LUC_OP_transpose, &from, both, 3), &from));
  LUC_TRY(luc__held(ctx, luc__duplicate(ctx, from, &l), &l));
  LUC_TRY(luc__batch_scratch(ctx, input, LUC_INT32, 0, NULL, &info));
  LUC_TRY(luc__cholesky(ctx, luc__matrices(l), l->data, (int32_t *)info->data));
  if (check) LUC_TRY(luc__check_info(ctx, info, LUC_LA_CHOLESKY));
  both[0] = luc_v_tensor(l);
  if (upper) LUC_TRY(luc__held(ctx, luc__op1(ctx, LUC_OP_transpose, &l, both, 3), &l));
  return luc__results(out, 2, (luc_tensor *[]){l, info});
}

luc_status luc__run_linalg_cholesky_ex(luc_context *ctx, luc_value *args, luc_value *out) {
  return cholesky(ctx, args[0].as.tensor, args[1].as.i != 0, args[2].as.i != 0, out);
}

luc_status luc__run_linalg_cholesky(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_value both[2];
  LUC_TRY(cholesky(ctx, args[0].as.tensor, args[1].as.i != 0, true, both));
  out[0] = both[0];
  luc__value_release(ctx, &both[1]);
  return LUC_OK;
}

/* S = half the lower triangle of L^H gL and its conjugate above; gA = L^-H S L^-1 */
luc_status luc__grad_linalg_cholesky(luc_context *ctx, luc_backward *b) {
  bool upper = b->args[1].as.i != 0;
  if (!b->gout[0]) return LUC_OK;
  luc_formula f = luc__formula(ctx);
  luc_tensor *l = b->results[0], *g = b->gout[0];
  if (upper) l = luc__f_mh(&f, l), g = luc__f_mh(&f, g);
  luc_tensor *x = luc__f_hm(&f, l, g);
  luc_tensor *low = luc__f_triangle(&f, LUC_OP_tril, x, 0);
  luc_tensor *high = luc__f_mh(&f, luc__f_triangle(&f, LUC_OP_tril, x, -1));
  luc_tensor *s = luc__fs(&f, LUC_OP_mul, luc__f2(&f, LUC_OP_add, low, high), 0.5);
  s = luc__f_solve_triangle(&f, l, s, LUC_LOWER | LUC_ADJOINT);
  s = luc__f_solve_right(&f, l, s, LUC_LOWER);
  return luc__f_end(&f, s, &b->gin[0]);
}

/* X of A X = B by A's factor. */
static luc_tensor *by_factor(luc_formula *f, luc_tensor *l, luc_tensor *b, bool upper) {
  int first = upper ? LUC_UPPER | LUC_ADJOINT : LUC_LOWER;
  luc_tensor *y = luc__f_solve_triangle(f, l, b, first);
  return luc__f_solve_triangle(f, l, y, first ^ LUC_ADJOINT);
}

/* cholesky_solve(B, L, upper) */
luc_status luc__run_cholesky_solve(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *b = args[0].as.tensor, *l = args[1].as.tensor;
  LUC_TRY(check_pair(ctx, l, b, true, false));
  luc_formula f = luc__formula(ctx);
  return luc__f_result(&f, by_factor(&f, l, b, args[2].as.i != 0), out);
}

/* The inverse of L L^H of large matrices by halves, whose products take a third of the time in
 * which an identity is solved for: [P11 + X^H P22 X, -(P22 X)^H; -P22 X, P22], where X is
 * L21 L11^-1, P11 and P22 are the inverses of L11's and L22's products. */
static luc_tensor *by_halves(luc_formula *f, luc_tensor *l, int64_t n) {
  const int64_t k = n / 2;
  luc_tensor *left = luc__f_narrow(f, l, -1, 0, k), *l11 = luc__f_narrow(f, left, -2, 0, k);
  luc_tensor *l21 = luc__f_narrow(f, left, -2, k, n - k);
  luc_tensor *l22 = luc__f_narrow(f, luc__f_narrow(f, l, -1, k, n - k), -2, k, n - k);
  luc_tensor *p11 = luc__f1(f, LUC_OP_cholesky_inverse, l11);
  luc_tensor *p22 = luc__f1(f, LUC_OP_cholesky_inverse, l22);
  luc_tensor *x = luc__f_solve_right(f, l11, l21, LUC_LOWER);
  luc_tensor *px = luc__f_mm(f, p22, x), *minus = luc__f1(f, LUC_OP_neg, px);
  p11 = luc__f2(f, LUC_OP_add, p11, luc__f_hm(f, x, px));
  luc_tensor *above = luc__f_cat(f, p11, luc__f_mh(f, minus), -1);
  return luc__f_cat(f, above, luc__f_cat(f, minus, p22, -1), -2);
}

/* Fails where a diagonal has a zero. */
static luc_status check_diagonals(luc_context *ctx, luc_tensor *l) {
  const int64_t last = -1;
  luc_formula f = luc__formula(ctx);
  luc_value args[] = {luc_v_tensor(l), luc_v_int(0), luc_v_int(-2), luc_v_int(-1)};
  luc_tensor *diagonal = luc__f_call(&f, LUC_OP_diagonal, args, 4);
  if (diagonal && luc__any_zero(ctx, luc__all_samples(diagonal))) {
    luc_tensor *zero = luc__f_to(&f, luc__fs(&f, LUC_OP_eq, diagonal, 0), LUC_INT32);
    luc_tensor *at = luc__f_call(&f, LUC_OP_argmax, LUC_ARGS(luc_v_tensor(zero), luc_v_int(-1)));
    luc_tensor *any =
        luc__f_call(&f, LUC_OP_amax, LUC_ARGS(luc_v_tensor(zero), luc_v_ints(&last, 1)));
    luc_tensor *info = luc__f2(&f, LUC_OP_mul, luc__fs(&f, LUC_OP_add, at, 1), any);
    info = luc__f_to(&f, info, LUC_INT32);
    if (f.status == LUC_OK) f.status = luc__check_info(ctx, info, LUC_LA_INVERSE);
  }
  return luc__f_end(&f, NULL, NULL);
}

/* cholesky_inverse(L, upper) */
luc_status luc__run_cholesky_inverse(luc_context *ctx, luc_value *args, luc_value *out) {
  enum { LARGE = 64 };
  luc_tensor *l = args[0].as.tensor;
  LUC_TRY(luc__need_square_matrices(ctx, "A", l));
  LUC_TRY(check_diagonals(ctx, l));
  const int64_t n = l->sizes[l->ndim - 1];
  luc_formula f = luc__formula(ctx);
  if (args[1].as.i != 0) l = luc__f_mh(&f, l);
  return luc__f_result(
      &f, n < LARGE ? by_factor(&f, l, luc__f_identity(&f, l, n), false) : by_halves(&f, l, n),
      out);
}
