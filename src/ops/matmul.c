/* Matrix products: matmul and its special cases, linear, and products with an added term. All are
 * one plan (batch, m, k, n and strides) handed to the one GEMM; gradients are products again.
 * Invariant: operands are read through their strides, only results are contiguous. */
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/geometry.h"
#include "ops/matmul_complex.h"
#include "ops/pairs.h"
#include "ops/rows.h"

#include <string.h>

#include "cpu/copy.h"
#include "cpu/cuts.h"
#include "cpu/gemm.h"

/* ---- the plan ---- */

/* [batch..., m, k] by [batch..., k, n]. A vector is a matrix of one row (or column) whose
 * dimension is missing from the result. */
typedef struct product {
  luc_gemm gemm; /* all but data and the batch */
  int nbatch;
  int64_t batch[LUC_MAX_DIMS], a_stride[LUC_MAX_DIMS], b_stride[LUC_MAX_DIMS];
  int ndim; /* of the result */
  int64_t sizes[LUC_MAX_DIMS];
} product;

static luc_status plan_batch(luc_context *ctx, const luc_tensor *a, const luc_tensor *b,
                             product *p) {
  int na = a->ndim > 2 ? a->ndim - 2 : 0, nb = b->ndim > 2 ? b->ndim - 2 : 0;
  p->nbatch = na > nb ? na : nb;
  for (int i = 0; i < p->nbatch; i++) {
    int ia = i - (p->nbatch - na), ib = i - (p->nbatch - nb);
    int64_t sa = ia >= 0 ? a->sizes[ia] : 1, sb = ib >= 0 ? b->sizes[ib] : 1;
    if (sa != sb && sa != 1 && sb != 1)
      return luc__fail_shapes(ctx, "input", a, "other", b,
                              "batch sizes %lld and %lld do not broadcast", (long long)sa,
                              (long long)sb);
    p->batch[i] = p->sizes[i] = sa == 1 ? sb : sa;
    p->a_stride[i] = sa == 1 ? 0 : a->strides[ia];
    p->b_stride[i] = sb == 1 ? 0 : b->strides[ib];
  }
  return LUC_OK;
}

/* Merges batch dimensions that step evenly, and if all batches share B makes their rows one matrix:
 * most products become one call. */
static void plan_join(product *p) {
  luc_gemm *g = &p->gemm;
  while (p->nbatch > 0) {
    int i = p->nbatch - 1;
    if (p->b_stride[i] != 0 || (p->a_stride[i] != g->m * g->a_row && p->batch[i] != 1)) break;
    g->m *= p->batch[i];
    p->nbatch--;
  }
  while (p->nbatch > 1) {
    int i = p->nbatch - 2;
    int64_t inner = p->batch[i + 1];
    if (p->a_stride[i] != p->a_stride[i + 1] * inner ||
        p->b_stride[i] != p->b_stride[i + 1] * inner)
      break;
    p->batch[i] *= inner;
    p->a_stride[i] = p->a_stride[i + 1];
    p->b_stride[i] = p->b_stride[i + 1];
    p->nbatch--;
  }
}

static luc_status plan_product(luc_context *ctx, const luc_tensor *a, const luc_tensor *b,
                               product *p) {
  if (a->ndim == 0 || b->ndim == 0)
    return luc__fail_shapes(ctx, "input", a, "other", b, "both need at least 1 dimension");
  luc_gemm *g = &p->gemm;
  int la = a->ndim - 1, lb = b->ndim - 1;
  *g = (luc_gemm){.dtype = a->dtype, .m = 1, .n = 1, .alpha = 1};
  g->k = a->sizes[la];
  g->a_col = a->strides[la];
  if (la > 0) g->m = a->sizes[la - 1], g->a_row = a->strides[la - 1];
  int64_t k = b->sizes[lb > 0 ? lb - 1 : 0];
  g->b_row = b->strides[lb > 0 ? lb - 1 : 0];
  if (lb > 0) g->n = b->sizes[lb], g->b_col = b->strides[lb];
  if (k != g->k)
    return luc__fail_shapes(ctx, "input", a, "other", b,
                            "input has %lld columns, other has %lld rows", (long long)g->k,
                            (long long)k);
  LUC_TRY(plan_batch(ctx, a, b, p));
  p->ndim = p->nbatch;
  if (la > 0) p->sizes[p->ndim++] = g->m;
  if (lb > 0) p->sizes[p->ndim++] = g->n;
  if (luc__product_of(p->ndim, p->sizes) < INT64_MAX) plan_join(p); /* else no memory holds it */
  g->c_row = g->n;
  return LUC_OK;
}

static luc_status gemm_any(luc_context *ctx, const luc_gemm *g) {
  const bool whole = g->dtype == LUC_FLOAT32 || g->dtype == LUC_FLOAT64;
  const bool halves = g->dtype == LUC_BFLOAT16 && g->m > 1 && g->n > 1;
  return whole || halves ? luc__gemm(ctx, g) : luc__gemm_unpacked(ctx, g);
}

/* Runs the plan on these operands (of the plan's dtype, with the planned strides). */
static luc_status run_product(luc_context *ctx, const product *p, const luc_tensor *a,
                              const luc_tensor *b, luc_tensor *c) {
  if (c->numel == 0) return LUC_OK;
  luc_gemm g = p->gemm;
  int outer = p->nbatch; /* dimensions of the batch that are not the GEMM's, which takes two */
  g.a = a->data, g.b = b->data, g.c = c->data;
  g.batch = 1, g.c_batch = g.m * g.n;
  if (outer > 0) {
    outer--;
    g.batch = p->batch[outer], g.a_batch = p->a_stride[outer], g.b_batch = p->b_stride[outer];
  }
  if (outer > 0) {
    outer--;
    g.inner = g.batch, g.batch *= p->batch[outer];
    g.a_outer = p->a_stride[outer], g.b_outer = p->b_stride[outer];
  }
  if (outer == 0) return gemm_any(ctx, &g);
  int64_t size = (int64_t)luc__dtype_size(g.dtype), at[LUC_MAX_DIMS] = {0};
  const int64_t size_c = (int64_t)luc__dtype_size(c->dtype);
  for (;;) {
    LUC_TRY(gemm_any(ctx, &g));
    g.c = (char *)g.c + g.batch * g.c_batch * size_c;
    int d = outer - 1;
    for (; d >= 0; d--) {
      g.a = (const char *)g.a + p->a_stride[d] * size;
      g.b = (const char *)g.b + p->b_stride[d] * size;
      if (++at[d] < p->batch[d]) break;
      g.a = (const char *)g.a - p->a_stride[d] * at[d] * size;
      g.b = (const char *)g.b - p->b_stride[d] * at[d] * size;
      at[d] = 0;
    }
    if (d < 0) return LUC_OK;
  }
}

/* The dtype to compute in. Small integers are computed in int32: cut to size they wrap the same. */
static luc_status product_dtype(luc_context *ctx, const luc_tensor *a, const luc_tensor *b,
                                luc_dtype *compute) {
  LUC_TRY(luc__match_dtype(ctx, "input", a, "other", b));
  if (a->dtype == LUC_BOOL)
    return luc__fail(ctx, LUC_ERR_TYPE, "input must be a number tensor (got bool)");
  *compute = luc__dtype_is_float(a->dtype) ? luc__compute_dtype(a->dtype)
             : a->dtype == LUC_INT64       ? LUC_INT64
                                           : LUC_INT32;
  return LUC_OK;
}

/* Are these the long rows or columns of a batch, none of them there twice? */
static bool are_vectors(const luc_tensor *t) {
  enum { LONG = 32 };
  const int64_t *sizes = t->sizes + t->ndim - 2;
  if ((sizes[0] != 1 && sizes[1] != 1) || sizes[0] * sizes[1] < LONG) return false;
  for (int d = 0; d < t->ndim; d++)
    if (t->sizes[d] > 1 && t->strides[d] == 0) return false;
  return true;
}

/* Are no elements of a vector or a matrix, or of each vector of a batch, adjacent? */
static bool has_gaps(const luc_tensor *t) {
  if (t->ndim == 0 || t->numel <= 1 || (t->ndim > 2 && !are_vectors(t))) return false;
  for (int d = t->ndim > 2 ? t->ndim - 2 : 0; d < t->ndim; d++)
    if (t->sizes[d] > 1 && t->strides[d] == 1) return false;
  return true;
}

/* t itself if the GEMM reads it well, else a copy: if it has gaps, or if its columns should be
 * `adjacent` and are not. */
static luc_status operand(luc_context *ctx, luc_tensor *t, luc_dtype compute, bool adjacent,
                          luc_tensor **out) {
  const bool apart = t->ndim > 1 && t->numel > 1 && t->strides[t->ndim - 1] != 1;
  if (t->dtype != compute || has_gaps(t) || (apart && adjacent))
    return luc__as_dense(ctx, t, compute, out);
  *out = t;
  return LUC_OK;
}

/* Are they bfloat16 that tiles take as it lies? */
static bool takes_halves(luc_context *ctx, const luc_tensor *a, const luc_tensor *b) {
  product p;
  if (a->dtype != LUC_BFLOAT16 || plan_product(ctx, a, b, &p) != LUC_OK) return false;
  p.gemm.batch = luc__product_of(p.nbatch, p.batch);
  return luc__gemm_takes_halves(ctx, &p.gemm);
}

/* Both as pairs of bfloat16 (ops/pairs.h) in *x and *y, where that pays; else they stay NULL. */
static luc_status pair_up(luc_context *ctx, luc_tensor *a, luc_tensor *b, luc_tensor **x,
                          luc_tensor **y) {
  product p;
  if (a->dtype != LUC_BFLOAT16) return LUC_OK;
  LUC_TRY(plan_product(ctx, a, b, &p));
  const int row = a->ndim - 1, column = b->ndim > 1 ? b->ndim - 2 : 0;
  double work = (double)p.gemm.k; /* of expanded tensors no integer holds it */
  for (int d = 0; d < p.ndim; d++) work *= (double)p.sizes[d];
  if (work == 0 ||
      !luc__pairs_pay(ctx, a, row, work / (double)a->numel, b, column, work / (double)b->numel))
    return LUC_OK;
  LUC_TRY(luc__held(ctx, luc__pairs_of(ctx, a, row, x), x));
  return luc__held(ctx, luc__pairs_of(ctx, b, column, y), y);
}

/* Small matrices are multiplied as they lie, and vectors that lie along the sum. */
static luc_status complex_product(luc_context *ctx, luc_tensor *a, luc_tensor *b,
                                  luc_tensor **out) {
  /* B stays in the second-level cache; columns that leave lanes idle pay for less. */
  enum { MOST = 1 << 19, COLUMNS = 16, MOST_OF_FEW = 1 << 16 };
  luc_tensor *y = b;
  product p;
  LUC_TRY(plan_product(ctx, a, b, &p));
  const luc_gemm *g = &p.gemm;
  const int64_t side = g->n == 1 ? g->m : g->n;
  const bool vector = g->n == 1 ? g->a_row != 1 : g->m == 1 && g->b_col != 1;
  const bool dots = vector && g->a_col == 1 && g->b_row == 1;
  const double bytes = (double)g->k * (double)side * (double)luc__dtype_size(b->dtype);
  const bool small = side == 1 || bytes <= (g->n < COLUMNS ? MOST_OF_FEW : MOST);
  if (!small || (vector && !dots)) return luc__matmul_complex(ctx, a, b, out);
  if (!dots) LUC_TRY(operand(ctx, b, (luc_dtype)b->dtype, true, &y));
  LUC_TRY(plan_product(ctx, a, y, &p));
  LUC_TRY(luc__tensor_empty(ctx, (luc_dtype)a->dtype, p.ndim, p.sizes, out));
  const luc_status status = run_product(ctx, &p, a, y, *out);
  if (status != LUC_OK) LUC_RELEASE(ctx, *out);
  return status;
}

static luc_status multiply_complex(luc_context *ctx, luc_tensor *a, luc_tensor *b, luc_tensor *add,
                                   double beta, double alpha, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *c = NULL;
  LUC_TRY(complex_product(ctx, a, b, &c));
  luc__f_own(&f, c);
  if (alpha != 1) c = luc__fs(&f, LUC_OP_mul, c, alpha);
  if (add && beta != 0)
    c = luc__f2(&f, LUC_OP_add, c, beta == 1 ? add : luc__fs(&f, LUC_OP_mul, add, beta));
  LUC_TRY(luc__f_end(&f, c, &c));
  return luc__deliver(ctx, out, a->dtype, &c);
}

/* Is this one row, as a linear layer's bias is? */
static bool is_row(const luc_tensor *t, int64_t n) {
  return t->ndim == 1 && t->sizes[0] == n;
}

/* Halves go as they lie from so many adjacent ones on. */
enum { LEAST_HALVES = 64 };

/* Are these integers better multiplied by dots than by tiles, which want B's columns adjacent? */
static bool suits_dots(const luc_tensor *a, const luc_tensor *b) {
  enum { LONG = 32, LONGER = 128, FEW = 16, SOME = 64 };
  if (a->ndim < 2 || b->ndim < 2) return false;
  const int row = a->ndim - 2, column = b->ndim - 1;
  const int64_t m = a->sizes[row], k = a->sizes[row + 1], n = b->sizes[column];
  if (a->strides[row + 1] != 1 || b->strides[column - 1] != 1 || k < LONG) return false;
  if (a->dtype == LUC_INT64) return k >= LONGER && (m <= FEW || n <= 2);
  return luc__min64(m, n) <= (k >= LONGER ? SOME : FEW);
}

/* Is this a product of numbers of one or two bytes that go as they lie: with a vector or, of
 * integers, a few or adjacent columns; or a batch of such, none of whose matrices is shared? */
static bool is_narrow(const luc_tensor *a, const luc_tensor *b) {
  enum { COLUMNS = 64, OF_VECTOR = 32 }; /* the least adjacent ones, the least rows */
  const bool batch =
      a->ndim == 3 && b->ndim == 3 && a->sizes[0] == b->sizes[0] && b->strides[0] != 0;
  if (a->ndim == 0 || b->ndim == 0 || (!batch && (a->ndim > 2 || b->ndim > 2))) return false;
  if (luc__dtype_size(a->dtype) > 2) return false;
  const int64_t m = a->ndim == 1 ? 1 : a->sizes[a->ndim - 2];
  const int64_t n = b->ndim == 1 ? 1 : b->sizes[b->ndim - 1];
  if (!luc__dtype_is_float(a->dtype)) {
    const bool a_lies = a->strides[a->ndim - 1] == 1, b_lies = b->strides[b->ndim - 1] == 1;
    if (n == 1) return a_lies || m >= OF_VECTOR;
    return m == 1 || (b_lies ? n >= COLUMNS : suits_dots(a, b));
  }
  /* what has gaps is copied later, but in a batch */
  if (batch && ((m == 1 && a->strides[2] != 1) || (n == 1 && b->strides[1] != 1))) return false;
  if (m == 1 && n == 1) return true;
  const luc_tensor *matrix = m == 1 ? b : a;
  const int last = matrix->ndim - 1, side = matrix->strides[last] == 1 ? last : last - 1;
  if (batch && matrix->strides[side] != 1) return false;
  return (m == 1 || n == 1) && matrix->sizes[side] >= LEAST_HALVES;
}

/* A product of this plan where a factor has no elements: none, or sums of nothing. */
static luc_status multiply_nothing(luc_context *ctx, const product *p, luc_dtype dtype,
                                   luc_value *out) {
  luc_tensor *c;
  LUC_TRY(luc__scratch(ctx, dtype, p->ndim, p->sizes, &c));
  if (c->numel > 0) memset(c->data, 0, (size_t)c->numel * luc__dtype_size(dtype));
  return luc__result(ctx, out, dtype, c);
}

/* out = beta * add + alpha * a b; add NULL for the product alone. */
static luc_status multiply(luc_context *ctx, luc_tensor *a, luc_tensor *b, luc_tensor *add,
                           double beta, double alpha, luc_value *out) {
  luc_dtype compute = LUC_FLOAT32, dtype;
  luc_tensor *x = NULL, *y = NULL, *c;
  product p;
  LUC_TRY(product_dtype(ctx, a, b, &compute));
  if (a->numel == 0 || b->numel == 0) {
    LUC_TRY(plan_product(ctx, a, b, &p));
    if (!add || beta == 0 || luc__product_of(p.ndim, p.sizes) == 0)
      return multiply_nothing(ctx, &p, (luc_dtype)a->dtype, out);
  }
  dtype = compute;
  if (is_narrow(a, b)) {
    dtype = (luc_dtype)a->dtype;
    if (!luc__dtype_is_float(dtype)) compute = LUC_INT16;
  }
  if (luc__dtype_is_complex(a->dtype)) return multiply_complex(ctx, a, b, add, beta, alpha, out);
  if (takes_halves(ctx, a, b))
    compute = dtype = LUC_BFLOAT16;
  else
    LUC_TRY(pair_up(ctx, a, b, &x, &y));
  const bool pairs = x != NULL,
             many = a->ndim > 1 && a->sizes[a->ndim - 2] > 4 && !suits_dots(a, b);
  if (!pairs) {
    LUC_TRY(operand(ctx, a, dtype, false, &x));
    LUC_TRY(operand(ctx, b, dtype, many && !luc__dtype_is_float(dtype), &y));
  }
  LUC_TRY(plan_product(ctx, x, y, &p));
  p.gemm.pairs = pairs;
  p.gemm.alpha = alpha;
  const bool row = add && beta == 1 && p.ndim == 2 && is_row(add, p.gemm.n);
  p.gemm.batch = luc__product_of(p.nbatch, p.batch);
  p.gemm.rounds = (!add || row || beta == 0) && luc__gemm_rounds(ctx, &p.gemm);
  if (p.gemm.rounds) compute = LUC_BFLOAT16;
  LUC_TRY(luc__scratch(ctx, compute, p.ndim, p.sizes, &c));
  if (row) {
    LUC_TRY(luc__as_dense(ctx, add, luc__compute_dtype(a->dtype), &add));
    p.gemm.bias = add->data, p.gemm.bias_kind = LUC_BIAS_COLUMN;
  } else if (add && beta != 0) {
    p.gemm.beta = beta;
    LUC_TRY(luc__copy(ctx, c, add));
  }
  LUC_TRY(run_product(ctx, &p, x, y, c));
  return luc__result(ctx, out, a->dtype, c);
}

/* ---- products ---- */

static luc_status check_ranks(luc_context *ctx, const luc_tensor *a, int ndim_a,
                              const luc_tensor *b, int ndim_b) {
  if (a->ndim == ndim_a && b->ndim == ndim_b) return LUC_OK;
  return luc__fail_shapes(ctx, "input", a, "other", b, "expected %d and %d dimensions", ndim_a,
                          ndim_b);
}

luc_status luc__run_matmul(luc_context *ctx, luc_value *args, luc_value *out) {
  return multiply(ctx, args[0].as.tensor, args[1].as.tensor, NULL, 0, 1, out);
}

static luc_status run_matrix(luc_context *ctx, int ndim, luc_value *args, luc_value *out) {
  LUC_TRY(check_ranks(ctx, args[0].as.tensor, 2, args[1].as.tensor, ndim));
  return luc__run_matmul(ctx, args, out);
}

LUC_RUN_BY(mm, run_matrix, 2)
LUC_RUN_BY(mv, run_matrix, 1)

static luc_status check_dot(luc_context *ctx, const luc_value *args) {
  const luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  LUC_TRY(check_ranks(ctx, a, 1, b, 1));
  if (a->sizes[0] != b->sizes[0])
    return luc__fail_shapes(ctx, "input", a, "other", b, "both must have one size");
  return LUC_OK;
}

luc_status luc__run_dot(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(check_dot(ctx, args));
  return luc__run_matmul(ctx, args, out);
}

luc_status luc__run_vdot(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor, *c;
  product p;
  if (!luc__dtype_is_complex(a->dtype) || a->numel == 0) return luc__run_dot(ctx, args, out);
  LUC_TRY(check_dot(ctx, args));
  LUC_TRY(luc__match_dtype(ctx, "input", a, "other", b));
  LUC_TRY(luc__as_dense(ctx, a, (luc_dtype)a->dtype, &a));
  LUC_TRY(luc__as_dense(ctx, b, (luc_dtype)b->dtype, &b));
  LUC_TRY(plan_product(ctx, a, b, &p));
  p.gemm.a_col = p.gemm.b_row = 1; /* of one number, too */
  p.gemm.conj = true;
  LUC_TRY(luc__scratch(ctx, (luc_dtype)a->dtype, 0, NULL, &c));
  LUC_TRY(run_product(ctx, &p, a, b, c));
  return luc__result(ctx, out, (luc_dtype)a->dtype, c);
}

static luc_status check_bmm(luc_context *ctx, const luc_tensor *a, const luc_tensor *b) {
  LUC_TRY(check_ranks(ctx, a, 3, b, 3));
  if (a->sizes[0] == b->sizes[0]) return LUC_OK;
  return luc__fail_shapes(ctx, "input", a, "other", b, "batch sizes differ, %lld and %lld",
                          (long long)a->sizes[0], (long long)b->sizes[0]);
}

luc_status luc__run_bmm(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  LUC_TRY(check_bmm(ctx, a, b));
  return multiply(ctx, a, b, NULL, 0, 1, out);
}

/* ---- their gradients: for C = A B, dA = dC Bᵀ and dB = Aᵀ dC ---- */

/* The engine sums what a broadcast batch makes too large. The other factor may not have been saved:
 * only its dimensions are known. */
static luc_tensor *grad_left(luc_formula *f, luc_tensor *g, int ndim_a, luc_tensor *b) {
  if (f->status != LUC_OK) return NULL;
  if (ndim_a == 1 && b->ndim == 1) return luc__f2(f, LUC_OP_mul, g, b);
  if (ndim_a == 1)
    return luc__f_squeeze(f, luc__f2(f, LUC_OP_matmul, b, luc__f_unsqueeze(f, g, -1)), -1);
  if (b->ndim == 1) return luc__f2(f, LUC_OP_mul, luc__f_unsqueeze(f, g, -1), b);
  return luc__f2(f, LUC_OP_matmul, g, luc__f_transpose(f, b, -2, -1));
}

static luc_tensor *grad_right(luc_formula *f, luc_tensor *g, luc_tensor *a, int ndim_b) {
  if (f->status != LUC_OK) return NULL;
  if (a->ndim == 1 && ndim_b == 1) return luc__f2(f, LUC_OP_mul, g, a);
  if (a->ndim == 1)
    return luc__f2(f, LUC_OP_mul, luc__f_unsqueeze(f, a, -1), luc__f_unsqueeze(f, g, -2));
  if (ndim_b == 2) return luc__f2(f, LUC_OP_mm_fold, a, g);
  luc_tensor *at = luc__f_transpose(f, a, -2, -1);
  if (ndim_b > 1) return luc__f2(f, LUC_OP_matmul, at, g);
  return luc__f_squeeze(f, luc__f2(f, LUC_OP_matmul, at, luc__f_unsqueeze(f, g, -1)), -1);
}

/* Fills the gradients of the factors, which are parameters p and p + 1. Of complex ones the other
 * factor's conjugate counts. */
static luc_status grad_factors(luc_context *ctx, luc_backward *b, int p, luc_tensor *g) {
  luc_formula f = luc__formula(ctx);
  int64_t sizes[LUC_MAX_DIMS];
  if (luc__needs(b, p)) {
    int ndim = luc__input_sizes(b, p, sizes);
    luc__f_keep(&f, grad_left(&f, g, ndim, luc__f_conj(&f, b->args[p + 1].as.tensor)), &b->gin[p]);
  }
  if (luc__needs(b, p + 1)) {
    int ndim = luc__input_sizes(b, p + 1, sizes);
    luc__f_keep(&f, grad_right(&f, g, luc__f_conj(&f, b->args[p].as.tensor), ndim), &b->gin[p + 1]);
  }
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__grad_matmul(luc_context *ctx, luc_backward *b) {
  return grad_factors(ctx, b, 0, b->gout[0]);
}

/* conj(a) b */
luc_status luc__grad_vdot(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0];
  if (!luc__dtype_is_complex(g->dtype)) return grad_factors(ctx, b, 0, g);
  if (luc__needs(b, 0)) {
    luc_tensor *turned = luc__f2(&f, LUC_OP_mul, luc__f_conj(&f, g), b->args[1].as.tensor);
    luc__f_keep(&f, turned, &b->gin[0]);
  }
  if (luc__needs(b, 1))
    luc__f_keep(&f, luc__f2(&f, LUC_OP_mul, g, b->args[0].as.tensor), &b->gin[1]);
  return luc__f_end(&f, NULL, NULL);
}

/* ---- mm_fold: [..., k] and [..., n] to aᵀ b [k, n], summed over all that stands before ---- */

/* t, which is dense, as a matrix of these columns. */
static luc_tensor as_matrix(const luc_tensor *t, int64_t rows, int64_t columns) {
  luc_tensor matrix = *t;
  matrix.ndim = 2;
  matrix.sizes[0] = rows, matrix.sizes[1] = matrix.strides[0] = columns;
  matrix.strides[1] = 1;
  return matrix;
}

/* Are x matrices of long columns, adjacent ones, which a few features meet without a copy? */
static bool lies_turned(const luc_tensor *x, int64_t features) {
  enum { LONG = 32, FEW = 8 };
  if (x->ndim < 3 || features > FEW || luc__dtype_size(x->dtype) < 4) return false;
  const int row = x->ndim - 2;
  return x->sizes[row] >= LONG && x->strides[row] == 1 && x->strides[row + 1] > 1;
}

luc_status luc__run_mm_fold(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor, *x, *y;
  const int64_t k = a->sizes[a->ndim - 1], n = b->sizes[b->ndim - 1];
  const int64_t rows = k > 0 ? a->numel / k : n > 0 ? b->numel / n : 0;
  if (a->numel == 0 || b->numel == 0) {
    product p = {.ndim = 2, .sizes = {k, n}};
    return multiply_nothing(ctx, &p, (luc_dtype)a->dtype, out);
  }
  if (a->ndim == 2) {
    luc_tensor turned = *a;
    luc__move_dim(&turned, 0, 1);
    return multiply(ctx, &turned, b, NULL, 0, 1, out);
  }
  if (a->ndim == 3 && (lies_turned(a, n) || lies_turned(b, k))) {
    luc_formula f = luc__formula(ctx);
    luc_tensor *items = luc__f2(&f, LUC_OP_matmul, luc__f_transpose(&f, a, 1, 2), b);
    return luc__f_result(&f, luc__f_sum_dim(&f, items, 0), out);
  }
  LUC_TRY(luc__as_dense(ctx, a, a->dtype, &x));
  LUC_TRY(luc__as_dense(ctx, b, b->dtype, &y));
  luc_tensor left = as_matrix(x, rows, k), right = as_matrix(y, rows, n);
  luc__move_dim(&left, 0, 1);
  return multiply(ctx, &left, &right, NULL, 0, 1, out);
}

luc_status luc__grad_mm_fold(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0];
  int64_t sizes[LUC_MAX_DIMS];
  if (luc__needs(b, 0)) {
    int ndim = luc__input_sizes(b, 0, sizes);
    luc_tensor *turned = luc__f_conj(&f, b->args[1].as.tensor);
    luc__f_keep(&f, grad_left(&f, turned, ndim, g), &b->gin[0]);
  }
  if (luc__needs(b, 1))
    luc__f_keep(&f, luc__f2(&f, LUC_OP_matmul, luc__f_conj(&f, b->args[0].as.tensor), g),
                &b->gin[1]);
  return luc__f_end(&f, NULL, NULL);
}

/* ---- linear: x [..., in] weightᵀ [in, out] + bias [out] ---- */

static luc_status check_linear(luc_context *ctx, const luc_tensor *x, const luc_tensor *w,
                               const luc_tensor *bias) {
  LUC_TRY(luc__match_dtype(ctx, "input", x, "weight", w));
  LUC_TRY(luc__match_dtype(ctx, "input", x, "bias", bias));
  LUC_TRY(luc__need_numbers(ctx, x));
  if (x->ndim == 0 || w->ndim == 0 || w->ndim > 2)
    return luc__fail_shapes(ctx, "input", x, "weight", w,
                            "input needs a dimension, weight is [out, in] or [in]");
  if (x->sizes[x->ndim - 1] != w->sizes[w->ndim - 1])
    return luc__fail_shapes(ctx, "input", x, "weight", w,
                            "input has %lld features, weight expects %lld",
                            (long long)x->sizes[x->ndim - 1], (long long)w->sizes[w->ndim - 1]);
  int64_t features = w->ndim == 2 ? w->sizes[0] : 1;
  if (bias && bias->ndim > x->ndim + w->ndim - 2)
    return luc__fail_shapes(ctx, "input", x, "bias", bias,
                            "the output has no dimensions, bias must have none either");
  if (bias && ((bias->numel != features && bias->numel != 1) || bias->ndim > 1))
    return luc__fail_shapes(ctx, "weight", w, "bias", bias,
                            "weight gives %lld features, bias has %lld", (long long)features,
                            (long long)bias->numel);
  return LUC_OK;
}

/* linear without a kernel of its own: of complex numbers, integers, and matrices as they lie. */
static luc_status linear_of_matmul(luc_context *ctx, luc_tensor *x, luc_tensor *w, luc_tensor *bias,
                                   bool relu, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *y = luc__f2(&f, LUC_OP_matmul, x, w->ndim == 2 ? luc__f_transpose(&f, w, 0, 1) : w);
  if (bias) y = luc__f2(&f, LUC_OP_add, y, bias);
  if (relu) y = luc__f1(&f, LUC_OP_relu, y);
  LUC_TRY(luc__f_end(&f, y, &y));
  return luc__deliver(ctx, out, x->dtype, &y);
}

/* takes_halves of these rows and a weight. */
static bool linear_takes_halves(luc_context *ctx, const luc_tensor *x, const luc_tensor *w) {
  const int64_t k = x->sizes[x->ndim - 1];
  luc_gemm g = {.dtype = LUC_BFLOAT16, .n = w->sizes[0], .k = k, .batch = 1};
  if (x->dtype != LUC_BFLOAT16 || w->ndim != 2 || k == 0) return false;
  g.m = x->numel / k, g.b_row = w->strides[1], g.b_col = w->strides[0];
  g.a_col = x->ndim == 2 ? x->strides[1] : 1, g.a_row = x->ndim == 2 ? x->strides[0] : k;
  return luc__gemm_takes_halves(ctx, &g);
}

static luc_status linear(luc_context *ctx, bool relu, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *weight = args[1].as.tensor;
  luc_tensor *bias = luc_as_tensor(&args[2]), *x, *w, *b, *y;
  LUC_TRY(check_linear(ctx, input, weight, bias));
  const bool few = weight->ndim == 2 && lies_turned(input, weight->sizes[0]);
  if (few || !luc__dtype_is_float(input->dtype))
    return linear_of_matmul(ctx, input, weight, bias, relu, out);
  luc_dtype compute = luc__compute_dtype(input->dtype);
  int64_t sizes[LUC_MAX_DIMS];
  int64_t features = weight->ndim == 2 ? weight->sizes[0] : 1;
  int ndim = input->ndim - 1;
  memcpy(sizes, input->sizes, (size_t)ndim * sizeof sizes[0]);
  if (weight->ndim == 2) sizes[ndim++] = features;
  const bool lies = input->ndim == 2; /* inputs of other ranks become a matrix of rows by a copy */
  const bool halves = linear_takes_halves(ctx, input, weight);
  const luc_dtype made = halves ? LUC_BFLOAT16 : compute;
  const int64_t numel = luc__product_of(ndim, sizes);
  if (numel == 0) {
    LUC_TRY(luc__scratch(ctx, made, ndim, sizes, &y));
    return luc__result(ctx, out, input->dtype, y);
  }
  if (bias && bias->numel != features)
    LUC_TRY(luc__held(ctx, luc__expand(ctx, bias, 1, &features, &bias), &bias));
  LUC_TRY(luc__as_dense(ctx, bias, compute, &b));
  const int last = input->ndim - 1, last_w = weight->ndim - 1;
  luc_gemm g = {.dtype = made, .batch = 1, .n = features, .c_row = features, .alpha = 1};
  g.relu = relu;
  g.m = numel / features;
  g.pairs = !halves && luc__is_contiguous(input) &&
            luc__pairs_pay(ctx, input, last, (double)features, weight, last_w, (double)g.m);
  if (g.pairs) {
    LUC_TRY(luc__held(ctx, luc__pairs_of(ctx, input, last, &x), &x));
    LUC_TRY(luc__held(ctx, luc__pairs_of(ctx, weight, last_w, &w), &w));
  } else {
    if ((g.m == 1 || features == 1) && input->sizes[last] >= LEAST_HALVES)
      g.dtype = (luc_dtype)input->dtype;
    LUC_TRY(lies ? operand(ctx, input, g.dtype, false, &x)
                 : luc__as_dense(ctx, input, g.dtype, &x));
    LUC_TRY(operand(ctx, weight, g.dtype, false, &w));
  }
  g.k = g.a_row = x->sizes[last], g.a_col = 1;
  if (lies) g.a_row = x->strides[0], g.a_col = x->strides[1];
  g.b_row = w->strides[last_w], g.b_col = w->strides[0];
  g.rounds = luc__gemm_rounds(ctx, &g);
  LUC_TRY(luc__scratch(ctx, g.rounds ? LUC_BFLOAT16 : made, ndim, sizes, &y));
  g.a = x->data, g.b = w->data, g.c = y->data;
  g.bias = luc__data(b), g.bias_kind = b ? LUC_BIAS_COLUMN : LUC_BIAS_NONE;
  LUC_TRY(gemm_any(ctx, &g));
  return luc__result(ctx, out, input->dtype, y);
}

LUC_RUN_BY(linear, linear, false)
LUC_RUN_BY(linear_relu, linear, true)

luc_status luc__grad_linear(luc_context *ctx, luc_backward *b) {
  luc_tensor *x = luc_as_tensor(&b->args[0]), *w = luc_as_tensor(&b->args[1]), *g = b->gout[0];
  int64_t sizes[LUC_MAX_DIMS];
  if (luc__needs(b, 2)) b->gin[2] = luc__retain(g);
  int ndim = luc__needs(b, 1) ? luc__input_sizes(b, 1, sizes) : luc__needs(b, 0) ? w->ndim : 0;
  if (ndim == 1) return grad_factors(ctx, b, 0, g); /* y = x w */
  luc_formula f = luc__formula(ctx);
  if (luc__needs(b, 0))
    luc__f_keep(&f, luc__f2(&f, LUC_OP_matmul, g, luc__f_conj(&f, w)), &b->gin[0]);
  if (luc__needs(b, 1))
    luc__f_keep(&f, luc__f2(&f, LUC_OP_mm_fold, g, luc__f_conj(&f, x)), &b->gin[1]);
  return luc__f_end(&f, NULL, NULL);
}

LUC_GRAD_BY(linear_relu, luc__grad_behind_relu, luc__grad_linear)

/* ---- products with an added term: beta * input + alpha * (a b) ---- */

/* Integers are added by operators, whose arithmetic wraps as PyTorch's does. */
static luc_status add_integers(luc_context *ctx, luc_value *args, double beta, double alpha,
                               luc_value *out) {
  luc_formula f = luc__formula(ctx);
  luc_value made = luc_v_none();
  luc_tensor *sum = NULL;
  LUC_TRY(multiply(ctx, args[1].as.tensor, args[2].as.tensor, NULL, 0, 1, &made));
  luc__f_own(&f, made.as.tensor);
  luc_tensor *x = luc__f_call(&f, LUC_OP_mul, LUC_ARGS(args[0], luc_v_int((int64_t)beta)));
  luc_tensor *y = luc__f_call(&f, LUC_OP_mul, LUC_ARGS(made, luc_v_int((int64_t)alpha)));
  LUC_TRY(luc__f_end(&f, luc__f2(&f, LUC_OP_add, x, y), &sum));
  return luc__deliver(ctx, out, args[1].as.tensor->dtype, &sum);
}

/* input must broadcast to the product's shape, not the other way round. */
static luc_status check_added(luc_context *ctx, const luc_tensor *input, const luc_tensor *a,
                              const luc_tensor *b) {
  product p;
  LUC_TRY(luc__match_dtype(ctx, "input", input, "the first factor", a));
  LUC_TRY(plan_product(ctx, a, b, &p));
  bool fits = input->ndim <= p.ndim;
  for (int i = 0; fits && i < input->ndim; i++) {
    int64_t want = p.sizes[p.ndim - input->ndim + i];
    fits = input->sizes[i] == want || input->sizes[i] == 1;
  }
  if (fits) return LUC_OK;
  char shape[LUC_SHAPE_TEXT], product_shape[LUC_SHAPE_TEXT];
  return luc__fail(ctx, LUC_ERR_SHAPE, "input %s does not broadcast to the product's shape %s",
                   luc__tensor_shape_text(shape, input),
                   luc__shape_text(product_shape, p.ndim, p.sizes));
}

static luc_status add_product(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *input = args[0].as.tensor, *a = args[1].as.tensor, *b = args[2].as.tensor;
  double beta = luc_as_double(&args[3]), alpha = luc_as_double(&args[4]);
  LUC_TRY(check_added(ctx, input, a, b));
  if (!luc__dtype_has_gradient(a->dtype)) return add_integers(ctx, args, beta, alpha, out);
  return multiply(ctx, a, b, input, beta, alpha, out);
}

/* A matrix and another, or a vector. */
static luc_status add_of_rank(luc_context *ctx, int rank, luc_value *args, luc_value *out) {
  LUC_TRY(check_ranks(ctx, args[1].as.tensor, 2, args[2].as.tensor, rank));
  return add_product(ctx, args, out);
}

LUC_RUN_BY(addmm, add_of_rank, 2)
LUC_RUN_BY(addmv, add_of_rank, 1)

luc_status luc__run_baddbmm(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(check_bmm(ctx, args[1].as.tensor, args[2].as.tensor));
  return add_product(ctx, args, out);
}

luc_status luc__grad_add_product(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  double beta = luc_as_double(&b->args[3]), alpha = luc_as_double(&b->args[4]);
  luc_tensor *g = b->gout[0];
  if (luc__needs(b, 0))
    luc__f_keep(&f, beta == 1 ? g : luc__fs(&f, LUC_OP_mul, g, beta), &b->gin[0]);
  if (luc__needs(b, 1) || luc__needs(b, 2)) {
    luc_tensor *ag = alpha == 1 ? g : luc__fs(&f, LUC_OP_mul, g, alpha);
    if (f.status == LUC_OK) f.status = grad_factors(ctx, b, 1, ag);
  }
  return luc__f_end(&f, NULL, NULL);
}
