/* Products of matrices and what is made of them: powers, the exponential, chains in their best
 * order, tensors as matrices. All but products of vectors are composites, so their gradients are
 * those of products. */
#include <math.h>
#include <string.h>

#include "cpu/cross.h"
#include "ops/linalg.h"
#include "ops/pointwise.h"
#include "ops/rows.h"

/* ---- powers and the exponential ---- */

static luc_tensor *identity_like(luc_formula *f, luc_tensor *a) {
  if (f->status != LUC_OK) return NULL;
  luc_tensor *eye = luc__f_eye(f, a, a->sizes[a->ndim - 1]);
  eye = luc__f_to(f, eye, a->dtype);
  return luc__f1(f, LUC_OP_clone, luc__f_expand(f, eye, a->ndim, a->sizes));
}

/* matrix_power(A, n): by squaring; of the inverse for negative n. */
luc_status luc__run_matrix_power(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *a = args[0].as.tensor, *power = NULL;
  int64_t n = args[1].as.i;
  if (n < 0)
    LUC_TRY(luc__need_square_matrices(ctx, "A", a));
  else
    LUC_TRY(luc__need_square(ctx, "A", a));
  LUC_CHECK(ctx, n > -INT32_MAX && n < INT32_MAX, LUC_ERR_VALUE, "n is too large (got %lld)",
            (long long)n);
  if (n == 0) { /* whose gradient is zeros */
    luc_tensor *never =
        luc__f_call(&f, LUC_OP_scalar_tensor, LUC_ARGS(luc_v_bool(false), luc_v_dtype(LUC_BOOL)));
    return luc__f_result(&f, luc__f_where(&f, never, a, identity_like(&f, a)), out);
  }
  if (n < 0) a = luc__f1(&f, LUC_OP_linalg_inv, a);
  for (int64_t left = n < 0 ? -n : n; left > 0; left >>= 1) {
    if (left & 1) power = power ? luc__f_mm(&f, power, a) : a;
    if (left > 1) a = luc__f_mm(&f, a, a);
  }
  if (n == 1) power = luc__f1(&f, LUC_OP_clone, a);
  return luc__f_result(&f, power, out);
}

/* exp's Taylor polynomial of a degree, from sums of the powers of a that are there first: those of
 * rows 0 and 1 multiplied and row 2 added are x, x plus row 3 times x plus row 4 the polynomial; of
 * degree 8 x is it. Bader, Blanes and Casas, "Computing the matrix exponential with an optimized
 * Taylor polynomial approximation", 2019. */
typedef struct taylor {
  int degree;
  double single, wide; /* the norms up to which it is exact to the dtype, as is its derivative */
  double sums[5][5];   /* of 1, a, a^2, and a^4 (degree 8), a^3 (12) or a^3 and a^6 (18) */
} taylor;

#define ROOT 13.304134695650070938 /* of 177 */
static const taylor TAYLOR[] = {
    {8,
     0.445,
     0.0379,
     {{0, 0, 2 / 3., 1},
      {(-271 + 29 * ROOT) / 210, 11 * (-1 + ROOT) / 840, 11 * (-9 + ROOT) / 3360,
       (89 - ROOT) / 2240},
      {1, 1, (857 - 58 * ROOT) / 630}}},
    {12,
     1.19,
     0.242,
     {{-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359},
      {-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359},
      {0.18188869982170434744, 0.05502798439925399070, 0.09351590770535414968,
       0.00610700528898058230},
      {5.31597895759871264183, 1.19926790417132231573, 0.01179296240992997031,
       0.01108844528519167989},
      {9.0198e-16, 0.46932117595418237389, -0.20099424927047284052, -0.04623946134063071740}}},
    {18,
     2.59,
     0.931,
     {{0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04},
      {0, 0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05},
      {-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02,
       2.95552570429315521194e-02, -1.39180257516060693404e-05},
      {-1.09676396052962061844e+01, 1.68015813878906206114e+00, 5.71779846478865511061e-02,
       -6.98210122488052056106e-03, 3.34975017086070470649e-05},
      {0, 3.97849749499645077844e-01, 1.36783778460411720168e+00, 4.98289622525382669416e-01,
       -6.37898194594723280150e-04}}},
};

static luc_tensor *sum_powers(luc_formula *f, luc_tensor *const *powers, const double *factors) {
  luc_tensor *sum = NULL;
  for (int i = 0; i < 5; i++) {
    if (factors[i] == 0) continue;
    sum = sum ? luc__f_call(
                    f, LUC_OP_add,
                    LUC_ARGS(luc_v_tensor(sum), luc_v_tensor(powers[i]), luc_v_float(factors[i])))
              : luc__fs(f, LUC_OP_mul, powers[i], factors[i]);
  }
  return sum;
}

static luc_status exponential(luc_context *ctx, luc_tensor *a, const taylor *t, luc_tensor **out) {
  static const double start[5] = {0, (1 + ROOT) / 132, (1 + ROOT) / 528};
  luc_formula f = luc__formula(ctx);
  luc_tensor *p[5] = {luc__f_eye(&f, a, a->sizes[a->ndim - 1]), a, luc__f_mm(&f, a, a)};
  p[3] = luc__f_mm(&f, p[2], t->degree == 8 ? sum_powers(&f, p, start) : a);
  if (t->degree == 18) p[4] = luc__f_mm(&f, p[3], p[3]);
  luc_tensor *first = sum_powers(&f, p, t->sums[0]);
  luc_tensor *second = t->degree == 12 ? first : sum_powers(&f, p, t->sums[1]);
  luc_tensor *x = luc__f_mm(&f, first, second);
  x = luc__f2(&f, LUC_OP_add, x, sum_powers(&f, p, t->sums[2]));
  if (t->degree == 8) return luc__f_end(&f, x, out);
  luc_tensor *y = luc__f2(&f, LUC_OP_add, x, sum_powers(&f, p, t->sums[3]));
  y = luc__f2(&f, LUC_OP_add, luc__f_mm(&f, y, x), sum_powers(&f, p, t->sums[4]));
  return luc__f_end(&f, y, out);
}

/* The greatest 1-norm of a's matrices. */
static luc_status largest_norm(luc_context *ctx, luc_tensor *a, double *norm) {
  bool outer = ctx->grad_mode;
  ctx->grad_mode = false;
  luc_formula f = luc__formula(ctx);
  luc_value none = luc_v_none();
  luc_tensor *sums = luc__f_sum_dim(&f, luc__f1(&f, LUC_OP_abs, a), -2);
  luc_tensor *largest = luc__f_call(&f, LUC_OP_amax, LUC_ARGS(luc_v_tensor(sums), none));
  largest = luc__f_to(&f, largest, LUC_FLOAT64);
  if (f.status == LUC_OK) {
    const luc_tensor *all = luc__all_samples(largest);
    for (int64_t i = 0; i < all->numel; i++) *norm = fmax(*norm, ((const double *)all->data)[i]);
  }
  ctx->grad_mode = outer;
  return luc__f_end(&f, NULL, NULL);
}

/* The polynomial, and how often to halve matrices of this norm before it; they share both. */
static const taylor *choose(luc_dtype dtype, double norm, int *times) {
  const taylor *t = TAYLOR, *last = TAYLOR + 2;
  const bool f32 = luc__dtype_to_real(dtype) == LUC_FLOAT32;
  while (t < last && norm > (f32 ? t->single : t->wide)) t++;
  const double most = f32 ? t->single : t->wide;
  *times = norm > most && isfinite(norm) ? (int)ceil(log2(norm / most)) : 0;
  if (*times > 40) *times = 40;
  return t;
}

/* exp(a) = exp(a / 2^k)^(2^k) */
luc_status luc__run_matrix_exp(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *e = NULL;
  luc_dtype dtype = a->dtype;
  int times = 0;
  double norm = 0;
  luc_formula f = luc__formula(ctx);
  if (dtype == LUC_FLOAT16 || dtype == LUC_BFLOAT16) a = luc__f_to(&f, a, LUC_FLOAT32);
  if (f.status == LUC_OK) f.status = luc__need_square_matrices(ctx, "input", a);
  if (f.status != LUC_OK) return luc__f_result(&f, NULL, out);
  if (a->numel == 0) return luc__f_result(&f, luc__f1(&f, LUC_OP_clone, args[0].as.tensor), out);
  f.status = largest_norm(ctx, a, &norm);
  const taylor *t = choose(a->dtype, norm, &times);
  /* each squaring doubles what was rounded before it */
  if (times > 0 && a->dtype == LUC_FLOAT32) a = luc__f_to(&f, a, LUC_FLOAT64);
  if (times > 0 && a->dtype == LUC_COMPLEX64) a = luc__f_to(&f, a, LUC_COMPLEX128);
  luc_tensor *small = times > 0 ? luc__fs(&f, LUC_OP_mul, a, ldexp(1, -times)) : a;
  if (f.status == LUC_OK) f.status = exponential(ctx, small, t, &e);
  luc_tensor *r = luc__f_own(&f, e);
  for (int i = 0; i < times; i++) r = luc__f_mm(&f, r, r);
  return luc__f_result(&f, luc__f_to(&f, r, dtype), out);
}

/* ---- chains ---- */

enum { CHAIN = 64 };

/* The product of matrices i to j, split where best[i][j] says. */
static luc_tensor *chain(luc_formula *f, luc_tensor *const *list, const uint8_t (*best)[CHAIN],
                         int i, int j) {
  if (i == j) return list[i];
  int k = best[i][j];
  return luc__f_mm(f, chain(f, list, best, i, k), chain(f, list, best, k + 1, j));
}

/* The order with the fewest multiplications. */
static void plan(luc_tensor *const *list, int n, uint8_t (*best)[CHAIN]) {
  double cost[CHAIN][CHAIN], side[CHAIN + 1];
  for (int i = 0; i < n; i++) side[i] = (double)list[i]->sizes[0], cost[i][i] = 0;
  side[n] = (double)list[n - 1]->sizes[1];
  for (int length = 1; length < n; length++)
    for (int i = 0; i + length < n; i++) {
      int j = i + length;
      cost[i][j] = INFINITY;
      for (int k = i; k < j; k++) {
        double c = cost[i][k] + cost[k + 1][j] + side[i] * side[k + 1] * side[j + 1];
        if (c < cost[i][j]) cost[i][j] = c, best[i][j] = (uint8_t)k;
      }
    }
}

static luc_status check_chain(luc_context *ctx, const luc_value *list, bool vectors) {
  int n = list->n;
  LUC_CHECK(ctx, n >= (vectors ? 2 : 1) && n <= CHAIN / 2, LUC_ERR_VALUE,
            "expected at least %d and at most %d tensors but got %d", vectors ? 2 : 1, CHAIN / 2,
            n);
  for (int i = 0; i < n; i++) {
    const luc_tensor *t = list->as.tensors[i];
    bool end = vectors && (i == 0 || i == n - 1);
    char shape[LUC_SHAPE_TEXT];
    LUC_CHECK(ctx, t->ndim == 2 || (end && t->ndim == 1), LUC_ERR_SHAPE,
              "tensor %d must be 2D%s but got %s", i + 1, end ? " or 1D" : "",
              luc__tensor_shape_text(shape, t));
  }
  return LUC_OK;
}

static luc_status multi_dot(luc_context *ctx, const luc_value *list, bool vectors, luc_value *out) {
  luc_tensor *t[CHAIN];
  uint8_t best[CHAIN][CHAIN] = {{0}};
  int n = list->n;
  LUC_TRY(check_chain(ctx, list, vectors));
  luc_formula f = luc__formula(ctx);
  memcpy(t, list->as.tensors, (size_t)n * sizeof *t);
  bool first = t[0]->ndim == 1, last = t[n - 1]->ndim == 1;
  if (first) t[0] = luc__f_unsqueeze(&f, t[0], 0);
  if (last) t[n - 1] = luc__f_unsqueeze(&f, t[n - 1], -1);
  if (f.status == LUC_OK) plan(t, n, best);
  luc_tensor *r = n == 1 ? luc__f1(&f, LUC_OP_clone, t[0]) : chain(&f, t, best, 0, n - 1);
  if (last) r = luc__f_squeeze(&f, r, -1);
  if (first) r = luc__f_squeeze(&f, r, 0);
  return luc__f_result(&f, r, out);
}

luc_status luc__run_linalg_multi_dot(luc_context *ctx, luc_value *args, luc_value *out) {
  return multi_dot(ctx, &args[0], true, out);
}

luc_status luc__run_chain_matmul(luc_context *ctx, luc_value *args, luc_value *out) {
  return multi_dot(ctx, &args[0], false, out);
}

/* ---- sums of products ---- */

/* vecdot(x, y, dim) */
luc_status luc__run_linalg_vecdot(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *first = luc__f_conj(&f, args[0].as.tensor);
  luc_tensor *product = luc__f2(&f, LUC_OP_mul, first, args[1].as.tensor);
  return luc__f_result(&f, luc__f_sum_dim(&f, product, args[2].as.i), out);
}

/* a[i + 1] b[i + 2] - a[i + 2] b[i + 1], halves as floats. */
luc_status luc__run_linalg_cross(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor, *y;
  int64_t sizes[LUC_MAX_DIMS];
  int ndim, dim;
  char ta[LUC_SHAPE_TEXT], tb[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, a->ndim == b->ndim, LUC_ERR_SHAPE,
            "inputs must have the same number of dimensions (input %s, other %s)",
            luc__tensor_shape_text(ta, a), luc__tensor_shape_text(tb, b));
  LUC_TRY(luc__dim_wrap(ctx, args[2].as.i, a->ndim, &dim));
  LUC_CHECK(ctx, a->ndim > 0 && a->sizes[dim] == 3 && b->sizes[dim] == 3, LUC_ERR_SHAPE,
            "inputs dimension %d must have length 3 (input %s, other %s)", dim + 1,
            luc__tensor_shape_text(ta, a), luc__tensor_shape_text(tb, b));
  LUC_TRY(luc__broadcast_operands(ctx, args, 2, &ndim, sizes));
  const luc_dtype dtype = luc__result_dtype(ctx, args, 2);
  LUC_CHECK(ctx, dtype != LUC_BOOL, LUC_ERR_TYPE, "not implemented for bool");
  const luc_dtype compute = luc__dtype_is_float(dtype) ? luc__compute_dtype(dtype) : dtype;
  luc_formula f = luc__formula(ctx);
  a = luc__f_to(&f, a, compute), b = luc__f_to(&f, b, compute);
  luc_status status = f.status;
  if (status == LUC_OK) status = luc__scratch(ctx, compute, ndim, sizes, &y);
  if (status == LUC_OK) luc__cross(ctx, dim, y, a, b);
  luc__f_end(&f, NULL, NULL);
  return status == LUC_OK ? luc__result(ctx, out, dtype, y) : status;
}

/* g . (a x b) is a . (b x g) and b . (g x a). */
luc_status luc__grad_linalg_cross(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  for (int i = 0; i < 2; i++) {
    if (!luc__needs(b, i)) continue;
    luc_value other = luc_v_tensor(luc__f_conj(&f, b->args[1 - i].as.tensor));
    luc_value g = luc_v_tensor(b->gout[0]);
    luc_tensor *slope =
        luc__f_call(&f, LUC_OP_linalg_cross, LUC_ARGS(i ? g : other, i ? other : g, b->args[2]));
    luc__f_keep(&f, slope, &b->gin[i]);
  }
  return luc__f_end(&f, NULL, NULL);
}

/* cross(input, other, dim): by default the first dimension of size 3. */
luc_status luc__run_cross(luc_context *ctx, luc_value *args, luc_value *out) {
  const luc_tensor *a = args[0].as.tensor;
  int64_t dim = 0;
  if (luc_is_none(&args[2])) {
    while (dim < a->ndim && a->sizes[dim] != 3) dim++;
    LUC_CHECK(ctx, dim < a->ndim, LUC_ERR_SHAPE, "no dimension of size 3 in input");
    args[2] = luc_v_int(dim);
  }
  return luc_call(ctx, LUC_OP_linalg_cross, args, 3, out);
}

luc_status luc__run_trace(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  LUC_CHECK(ctx, args[0].as.tensor->ndim == 2, LUC_ERR_SHAPE,
            "expected a matrix, but got tensor with dim %d", args[0].as.tensor->ndim);
  luc_tensor *d = luc__f1(&f, LUC_OP_diagonal, args[0].as.tensor);
  return luc__f_result(&f, luc__f_sum_all(&f, d), out);
}

/* vander(x, N): powers 0 to N - 1 of each element in a row. */
luc_status luc__run_linalg_vander(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *x = args[0].as.tensor;
  LUC_CHECK(ctx, x->ndim < LUC_MAX_DIMS && x->dtype != LUC_BOOL, LUC_ERR_SHAPE,
            "x must be numbers of less than %d dimensions", LUC_MAX_DIMS);
  int64_t n = !luc_is_none(&args[1]) ? args[1].as.i : x->ndim ? x->sizes[x->ndim - 1] : 1;
  LUC_CHECK(ctx, n > 1, LUC_ERR_VALUE, "N must be greater than 1 (got %lld)", (long long)n);
  if (x->ndim == 0) x = luc__f_unsqueeze(&f, x, 0);
  if (x == NULL) return luc__f_result(&f, NULL, out);
  int64_t sizes[LUC_MAX_DIMS + 1];
  memcpy(sizes, x->sizes, (size_t)x->ndim * sizeof *sizes);
  sizes[x->ndim] = n - 1;
  luc_tensor *base = luc__f_unsqueeze(&f, x, -1);
  luc_tensor *one = luc__f1(&f, LUC_OP_ones_like, base);
  luc_tensor *powers = luc__f_expand(&f, base, x->ndim + 1, sizes);
  powers = luc__f_call(&f, LUC_OP_cumprod, LUC_ARGS(luc_v_tensor(powers), luc_v_int(-1)));
  return luc__f_result(&f, luc__f_cat(&f, one, powers, -1), out);
}

/* vander(x, N): powers N - 1 to 0, or 0 to N - 1. They are multiplied row after row, as neighbours
 * in a row are independent of each other, and then turned. */
luc_status luc__run_vander(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x = args[0].as.tensor;
  LUC_CHECK(ctx, x->ndim == 1, LUC_ERR_SHAPE, "x must be a one-dimensional tensor");
  int64_t n = luc_is_none(&args[1]) ? x->numel : args[1].as.i, first = 0;
  LUC_CHECK(ctx, n >= 0, LUC_ERR_VALUE, "N must be non-negative (got %lld)", (long long)n);
  luc_formula f = luc__formula(ctx);
  if (!luc__dtype_has_gradient(x->dtype)) x = luc__f_to(&f, x, LUC_INT64);
  luc_tensor *base = luc__f_unsqueeze(&f, x, 0);
  int64_t sizes[2] = {n > 0 ? n - 1 : 0, args[0].as.tensor->numel};
  luc_tensor *r = luc__f_expand(&f, base, 2, sizes);
  if (n > 0) {
    r = luc__f_cat(&f, luc__f1(&f, LUC_OP_ones_like, base), r, 0);
    r = luc__f_call(&f, LUC_OP_cumprod, LUC_ARGS(luc_v_tensor(r), luc_v_int(0)));
  }
  if (!args[2].as.i)
    r = luc__f_call(&f, LUC_OP_flip, LUC_ARGS(luc_v_tensor(r), luc_v_ints(&first, 1)));
  r = luc__f_transpose(&f, r, 0, 1);
  return luc__f_result(&f, luc__f1(&f, LUC_OP_contiguous, r), out);
}

/* ---- the Kronecker product ---- */

/* Rows shorter than this are lined up to whole rows of the result before they are multiplied. */
enum { SHORT_ROW = 256, BLOCK_ROW = 16 }; /* or, from the latter on, factors of products */

/* Sizes of t, with leading ones to n dimensions, each after (or before) a one; if the last is to
 * be repeated (`times` > 0), it is laid out so together with the one beside it. */
static luc_tensor *spread(luc_formula *f, luc_tensor *t, int n, bool after, int64_t times) {
  int64_t sizes[LUC_MAX_DIMS] = {0};
  for (int d = 0; d < n; d++) {
    int own = d - (n - t->ndim);
    sizes[2 * d + after] = own < 0 ? 1 : t->sizes[own];
    sizes[2 * d + !after] = 1;
  }
  t = luc__f_reshape(f, t, 2 * n, sizes);
  if (times == 0) return t;
  sizes[2 * n - 1 - after] = times;
  t = luc__f_expand(f, t, 2 * n, sizes);
  sizes[2 * n - 2] *= sizes[2 * n - 1];
  return luc__f_reshape(f, t, 2 * n - 1, sizes);
}

/* Every row of a beside every row of b, as columns and rows whose products are the result. */
static luc_tensor *products_of_rows(luc_formula *f, luc_tensor *a, luc_tensor *b, int n) {
  int64_t sizes[LUC_MAX_DIMS], la = a->sizes[a->ndim - 1], lb = b->sizes[b->ndim - 1], rows = 1;
  luc_tensor *x = spread(f, a, n, false, 0), *y = spread(f, b, n, true, 0);
  for (int d = 0; f->status == LUC_OK && d < 2 * n - 2; d++) {
    sizes[d] = x->sizes[d] * y->sizes[d];
    rows *= sizes[d];
  }
  sizes[2 * n - 2] = la, sizes[2 * n - 1] = 1;
  x = luc__f_reshape(f, luc__f_expand(f, x, 2 * n, sizes), 3, (int64_t[]){rows, la, 1});
  sizes[2 * n - 2] = 1, sizes[2 * n - 1] = lb;
  y = luc__f_reshape(f, luc__f_expand(f, y, 2 * n, sizes), 3, (int64_t[]){rows, 1, lb});
  return luc__f2(f, LUC_OP_bmm, x, y);
}

luc_status luc__run_kron(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  int n = a->ndim > b->ndim ? a->ndim : b->ndim;
  int64_t sizes[LUC_MAX_DIMS] = {0}, times[2] = {0, 0};
  LUC_CHECK(ctx, 2 * n <= LUC_MAX_DIMS, LUC_ERR_SHAPE, "at most %d dimensions (got %d)",
            LUC_MAX_DIMS / 2, n);
  luc_formula f = luc__formula(ctx);
  for (int d = 0; d < n; d++)
    sizes[d] = (d < n - a->ndim ? 1 : a->sizes[d - (n - a->ndim)]) *
               (d < n - b->ndim ? 1 : b->sizes[d - (n - b->ndim)]);
  if (a->ndim > 1 && b->ndim > 1) {
    int64_t la = a->sizes[a->ndim - 1], lb = b->sizes[b->ndim - 1];
    bool real = (a->dtype == LUC_FLOAT32 || a->dtype == LUC_FLOAT64) && !ctx->autocast; /* of bmm */
    if (real && a->dtype == b->dtype && lb >= BLOCK_ROW && lb < SHORT_ROW)
      return luc__f_result(&f, luc__f_reshape(&f, products_of_rows(&f, a, b, n), n, sizes), out);
    if (lb > 0 && lb < SHORT_ROW && la > 1 && a->numel >= 4 * la && b->numel >= 4 * lb)
      times[0] = lb, times[1] = la;
  }
  luc_tensor *x = spread(&f, a, n, false, times[0]), *y = spread(&f, b, n, true, times[1]);
  luc_tensor *r = luc__f2(&f, LUC_OP_mul, x, y);
  return luc__f_result(&f, luc__f_reshape(&f, r, n, sizes), out);
}

/* ---- tensors as matrices ---- */

/* tensorinv(A, ind): the first ind dims are rows, the others columns. */
luc_status luc__run_linalg_tensorinv(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *a = args[0].as.tensor;
  int64_t sizes[LUC_MAX_DIMS], ind = args[1].as.i;
  char shape[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, ind > 0, LUC_ERR_VALUE,
            "Expected a strictly positive integer for 'ind' (got %lld)", (long long)ind);
  int first = ind < a->ndim ? (int)ind : a->ndim, last = a->ndim - first;
  int64_t rows = luc__product(first, a->sizes), columns = luc__product(last, a->sizes + first);
  LUC_CHECK(ctx, rows == columns, LUC_ERR_SHAPE,
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            "prod(self.shape[:ind]), but got %lld != %lld (%s)",
            (long long)columns, (long long)rows, luc__tensor_shape_text(shape, a));
  memcpy(sizes, a->sizes + first, (size_t)last * sizeof *sizes);
  memcpy(sizes + last, a->sizes, (size_t)first * sizeof *sizes);
  luc_tensor *matrix = luc__f_reshape(&f, a, 2, (int64_t[]){rows, columns});
  luc_tensor *inverse = luc__f1(&f, LUC_OP_linalg_inv, matrix);
  return luc__f_result(&f, luc__f_reshape(&f, inverse, a->ndim, sizes), out);
}

/* tensorsolve(A, B, dims): X with tensordot(A, X, X.ndim) = B; dims of A are moved last. */
luc_status luc__run_linalg_tensorsolve(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  int64_t to[LUC_MAX_DIMS], n = luc_is_none(&args[2]) ? 0 : args[2].n;
  for (int64_t i = 0; i < n && i < LUC_MAX_DIMS; i++) to[i] = a->ndim - n + i;
  if (n > 0) {
    luc_value last = luc_v_ints(to, (int)n);
    a = luc__f_call(&f, LUC_OP_movedim, LUC_ARGS(args[0], args[2], last));
  }
  if (f.status != LUC_OK) return luc__f_end(&f, NULL, NULL);
  int rest = a->ndim > b->ndim ? a->ndim - b->ndim : 0;
  int64_t unknowns = luc__product(rest, a->sizes + a->ndim - rest);
  char ta[LUC_SHAPE_TEXT], tb[LUC_SHAPE_TEXT];
  if (unknowns != b->numel || a->numel != b->numel * b->numel)
    f.status =
        luc__fail(ctx, LUC_ERR_SHAPE,
                  "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) "
                  "== prod(self.shape[:other.ndim]) (self %s, other %s)",
                  luc__tensor_shape_text(ta, args[0].as.tensor), luc__tensor_shape_text(tb, b));
  luc_tensor *matrix = luc__f_reshape(&f, a, 2, (int64_t[]){b->numel, unknowns});
  luc_tensor *right = luc__f_reshape(&f, b, 1, (int64_t[]){b->numel});
  luc_tensor *x = luc__f2(&f, LUC_OP_linalg_solve, matrix, right);
  return luc__f_result(&f, luc__f_reshape(&f, x, rest, a->sizes + a->ndim - rest), out);
}
