/* Norms of vectors and matrices, and condition numbers, made of reductions and singular values.
 * vector_norm shares the row functions of norm. */
#include <math.h>
#include <stdlib.h>

#include "ops/linalg.h"
#include "ops/rows.h"

enum { FRO = 100, NUC };

/* What `ord` asks for: FRO, NUC, or 1, -1, 2, -2 and the infinities, which are 3 and -3. */
static luc_status matrix_order(luc_context *ctx, const luc_value *ord, int *out) {
  double p = ord->kind == LUC_STRING ? 0 : luc_as_double(ord);
  if (ord->kind == LUC_STRING) {
    int which;
    LUC_TRY(luc__choice(ctx, "ord", "fro|nuc", ord->as.string, &which));
    *out = which ? NUC : FRO;
    return LUC_OK;
  }
  bool known = fabs(p) == 1 || fabs(p) == 2 || isinf(p);
  LUC_CHECK(ctx, known, LUC_ERR_VALUE, "Order %g not supported", p);
  *out = isinf(p) ? (p > 0 ? 3 : -3) : (int)p;
  return LUC_OK;
}

/* Along the last dimension. The largest of no sizes is 0, as their sum is; there is no smallest. */
static luc_tensor *reduced(luc_formula *f, luc_opid op, luc_tensor *t) {
  if (t && op == LUC_OP_amax && t->sizes[t->ndim - 1] == 0) op = LUC_OP_sum;
  return luc__f_call(f, op, LUC_ARGS(luc_v_tensor(t), luc_v_ints((int64_t[]){-1}, 1)));
}

/* The norm of a's last two dimensions. */
static luc_tensor *of_matrices(luc_formula *f, luc_tensor *a, int order) {
  luc_value both = luc_v_ints((int64_t[]){-2, -1}, 2);
  if (order == FRO)
    return luc__f_call(f, LUC_OP_linalg_vector_norm, LUC_ARGS(luc_v_tensor(a), luc_v_int(2), both));
  if (order == NUC) return luc__f_sum_dim(f, luc__f1(f, LUC_OP_linalg_svdvals, a), -1);
  luc_opid pick = order > 0 ? LUC_OP_amax : LUC_OP_amin;
  if (abs(order) == 2) return reduced(f, pick, luc__f1(f, LUC_OP_linalg_svdvals, a));
  int64_t over = abs(order) == 1 ? -2 : -1; /* 1: columns, infinity: rows */
  return reduced(f, pick, luc__f_sum_dim(f, luc__f1(f, LUC_OP_abs, a), over));
}

static luc_status check_input(luc_context *ctx, const luc_tensor *a, int least,
                              const luc_value *dtype) {
  bool good = luc__dtype_has_gradient(a->dtype) &&
              (luc_is_none(dtype) || luc__dtype_has_gradient((luc_dtype)dtype->as.i));
  LUC_CHECK(ctx, good, LUC_ERR_TYPE, "Expected a floating point or complex tensor as input. Got %s",
            luc__dtype_name(a->dtype));
  char shape[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, a->ndim >= least, LUC_ERR_SHAPE,
            "The input tensor A must have at least %d dimensions (got %s)", least,
            luc__tensor_shape_text(shape, a));
  return LUC_OK;
}

/* matrix norm of a over dims d0, d1 (of rows and columns). */
static luc_status matrix_norm(luc_context *ctx, luc_tensor *a, const luc_value *ord,
                              const int64_t *dim, bool keepdim, const luc_value *dtype,
                              luc_value *out) {
  luc_formula f = luc__formula(ctx);
  int order = 0, d0 = 0, d1 = 0;
  LUC_TRY(check_input(ctx, a, 2, dtype));
  LUC_TRY(matrix_order(ctx, ord, &order));
  LUC_TRY(luc__dim_wrap(ctx, dim[0], a->ndim, &d0));
  LUC_TRY(luc__dim_wrap(ctx, dim[1], a->ndim, &d1));
  LUC_CHECK(ctx, d0 != d1, LUC_ERR_VALUE, "dims must be different (got %d and %d)", d0 + 1, d1 + 1);
  if (!luc_is_none(dtype)) a = luc__f_to(&f, a, (luc_dtype)dtype->as.i);
  luc_value from = luc_v_ints((int64_t[]){d0, d1}, 2), to = luc_v_ints((int64_t[]){-2, -1}, 2);
  a = luc__f_call(&f, LUC_OP_movedim, LUC_ARGS(luc_v_tensor(a), from, to));
  luc_tensor *r = of_matrices(&f, a, order);
  if (keepdim) {
    r = luc__f_unsqueeze(&f, r, d0 < d1 ? d0 : d1);
    r = luc__f_unsqueeze(&f, r, d0 < d1 ? d1 : d0);
  }
  return luc__f_result(&f, r, out);
}

static luc_status pair_of(luc_context *ctx, const luc_value *dim, int64_t *pair) {
  LUC_CHECK(ctx, dim->n == 2, LUC_ERR_VALUE, "dim must be a 2-tuple (got %d dims)", dim->n);
  pair[0] = dim->as.ints[0];
  pair[1] = dim->as.ints[1];
  return LUC_OK;
}

/* matrix_norm(A, ord, dim, keepdim, dtype) */
luc_status luc__run_linalg_matrix_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  int64_t pair[2];
  LUC_TRY(pair_of(ctx, &args[2], pair));
  return matrix_norm(ctx, args[0].as.tensor, &args[1], pair, args[3].as.i != 0, &args[4], out);
}

/* norm(A, ord, dim, keepdim, dtype): of a matrix if ord is given and dim names two dims, or A has
 * two; else of vectors. */
luc_status luc__run_linalg_norm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor;
  int64_t pair[2] = {-2, -1};
  bool given = !luc_is_none(&args[1]), all = luc_is_none(&args[2]);
  LUC_TRY(check_input(ctx, a, 0, &args[4]));
  LUC_CHECK(ctx, !given || !all || a->ndim == 1 || a->ndim == 2, LUC_ERR_SHAPE,
            "If dim is not specified but ord is, the input must be 1D or 2D. Got %dD.", a->ndim);
  LUC_CHECK(ctx, !given || all || args[2].n == 1 || args[2].n == 2, LUC_ERR_VALUE,
            "If dim is specified, it must be of length 1 or 2. Got %d", args[2].n);
  if (given && (all ? a->ndim == 2 : args[2].n == 2)) {
    if (!all) LUC_TRY(pair_of(ctx, &args[2], pair));
    return matrix_norm(ctx, a, &args[1], pair, args[3].as.i != 0, &args[4], out);
  }
  LUC_CHECK(ctx, !given || args[1].kind != LUC_STRING, LUC_ERR_VALUE,
            "Order '%s' is one of matrices: it needs two dimensions", args[1].as.string);
  luc_formula f = luc__formula(ctx);
  luc_value ord = given ? args[1] : luc_v_int(2);
  luc_tensor *r =
      luc__f_call(&f, LUC_OP_linalg_vector_norm, LUC_ARGS(args[0], ord, args[2], args[3], args[4]));
  return luc__f_result(&f, r, out);
}

/* The largest singular value by the smallest, or the norms of A and its inverse: infinite where
 * there is none, or a product is NaN. */
static luc_status condition(luc_context *ctx, luc_tensor *a, const luc_value *p, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_value two = luc_v_int(2);
  int order = 0;
  LUC_TRY(matrix_order(ctx, luc_is_none(p) ? &two : p, &order));
  LUC_TRY(luc__need_matrices(ctx, "A", a));
  if (abs(order) != 2) LUC_TRY(luc__need_square(ctx, "A", a));
  if (a->numel == 0) { /* PyTorch's answer */
    luc_value batch = luc_v_ints(a->sizes, a->ndim - 2);
    luc_tensor *zeros = luc__f_call(&f, LUC_OP_new_zeros, LUC_ARGS(luc_v_tensor(a), batch));
    return luc__f_result(&f, luc__f_to(&f, zeros, luc__dtype_to_real(a->dtype)), out);
  }
  if (abs(order) == 2) {
    luc_tensor *s = luc__f1(&f, LUC_OP_linalg_svdvals, a);
    luc_tensor *high = reduced(&f, LUC_OP_amax, s), *low = reduced(&f, LUC_OP_amin, s);
    luc_tensor *r = luc__f2(&f, LUC_OP_div, order > 0 ? high : low, order > 0 ? low : high);
    return luc__f_result(&f, r, out);
  }
  luc_tensor *info;
  luc_tensor *inverse = luc__f_call2(&f, LUC_OP_linalg_inv_ex, &info, LUC_ARGS(luc_v_tensor(a)));
  luc_tensor *singular = luc__fs(&f, LUC_OP_ne, info, 0);
  luc_tensor *each = luc__f_unsqueeze(&f, luc__f_unsqueeze(&f, singular, -1), -1);
  inverse = luc__f_where(&f, each, NULL, inverse); /* svdvals refuses infinities */
  luc_tensor *r =
      luc__f2(&f, LUC_OP_mul, of_matrices(&f, a, order), of_matrices(&f, inverse, order));
  singular = luc__f2(&f, LUC_OP_logical_or, singular, luc__f1(&f, LUC_OP_isnan, r));
  r = luc__f_fill(&f, r, singular, INFINITY);
  return luc__f_result(&f, r, out);
}

luc_status luc__run_linalg_cond(luc_context *ctx, luc_value *args, luc_value *out) {
  return condition(ctx, args[0].as.tensor, &args[1], out);
}
