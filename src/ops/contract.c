/* Contractions composed of matrix products and views: outer, inner, tensordot, bilinear, einsum and
 * products with an added term that need a sum. */
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/pointwise.h"
#include "ops/rows.h"

#include <string.h>

/* ---- added terms ---- */

/* A factor for tensors of this dtype: integers have whole ones. */
static luc_value factor(luc_dtype dtype, const luc_value *v) {
  if (luc__dtype_has_gradient(dtype)) return *v;
  return dtype == LUC_BOOL ? luc_v_bool(luc_as_double(v) != 0)
                           : luc_v_int((int64_t)luc_as_double(v));
}

/* t times a number of this dtype, or itself. */
static luc_tensor *scaled(luc_formula *f, luc_tensor *t, luc_dtype dtype, const luc_value *by) {
  if (luc_as_double(by) == 1) return t;
  return luc__f_call(f, LUC_OP_mul, LUC_ARGS(luc_v_tensor(t), factor(dtype, by)));
}

/* beta * input + alpha * product, with beta 0 ignoring input. args: beta, alpha. */
static luc_tensor *add_scaled(luc_formula *f, luc_tensor *input, luc_tensor *product,
                              const luc_value *args) {
  if (f->status != LUC_OK) return NULL;
  const luc_dtype dtype = product->dtype;
  product = scaled(f, product, dtype, &args[1]);
  if (luc_as_double(&args[0]) == 0) return product;
  return luc__f2(f, LUC_OP_add, product, scaled(f, input, dtype, &args[0]));
}

/* addbmm(input, batch1, batch2, beta, alpha): the batch's products are summed. */
luc_status luc__run_addbmm(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(luc__match_dtype(ctx, "input", args[0].as.tensor, "the first factor", args[1].as.tensor));
  luc_formula f = luc__formula(ctx);
  luc_tensor *product = luc__f2(&f, LUC_OP_bmm, args[1].as.tensor, args[2].as.tensor);
  product = luc__f_sum_dim(&f, product, 0);
  product = luc__f_to(&f, product, args[1].as.tensor->dtype); /* of integers, too */
  return luc__f_result(&f, add_scaled(&f, args[0].as.tensor, product, &args[3]), out);
}

static luc_tensor *outer(luc_formula *f, luc_tensor *a, luc_tensor *b) {
  return luc__f2(f, LUC_OP_mul, luc__f_unsqueeze(f, a, 1), b);
}

static luc_status check_vectors(luc_context *ctx, const luc_tensor *a, const luc_tensor *b) {
  if (a->ndim == 1 && b->ndim == 1) return LUC_OK;
  return luc__fail_shapes(ctx, "the first", a, "the second", b, "both must be vectors");
}

/* addcmul(input, column, row, alpha) of beta * input, in one pass where no gradient is wanted; not
 * of halves, whose beta * input is rounded where one is. */
static luc_tensor *add_outer(luc_formula *f, luc_tensor *input, luc_tensor *column, luc_tensor *row,
                             const luc_value *args) {
  luc_value parts[] = {luc_v_tensor(input), luc_v_tensor(column), luc_v_tensor(row), args[1]};
  const luc_scalar beta = luc_as_scalar(&args[0]);
  if (f->status != LUC_OK) return NULL;
  if (luc__scalar_double(beta) != 1) {
    luc_ew_params params = luc__ew_param(luc_as_scalar(&args[1]));
    params.f[1] = luc__scalar_double(beta), params.i[1] = luc__scalar_int(beta);
    const luc_dtype dtype = (luc_dtype)input->dtype;
    bool in_two = dtype == LUC_FLOAT16 || dtype == LUC_BFLOAT16;
    for (int i = 0; i < 3; i++) in_two |= luc__wants_gradient(f->ctx, parts[i].as.tensor);
    if (!in_two) {
      luc_value made = luc_v_none();
      f->status = luc__pointwise(f->ctx, LUC_EW_addcmul, LUC_RULE_SAME, parts, &params, &made);
      return luc__f_own(f, luc_as_tensor(&made));
    }
    parts[0] = luc_v_tensor(scaled(f, input, dtype, &args[0]));
  }
  return luc__f_call(f, LUC_OP_addcmul, parts, 4);
}

luc_status luc__run_addr(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(check_vectors(ctx, args[1].as.tensor, args[2].as.tensor));
  luc_dtype dtype = (luc_dtype)args[0].as.tensor->dtype;
  for (int i = 1; i < 3; i++) dtype = luc__dtype_promote(dtype, args[i].as.tensor->dtype);
  bool whole = args[3].kind != LUC_FLOAT && args[4].kind != LUC_FLOAT;
  LUC_CHECK(ctx, whole || luc__dtype_has_gradient(dtype), LUC_ERR_TYPE,
            "for integral input tensors, beta and alpha must not be floating point numbers");
  luc_formula f = luc__formula(ctx);
  luc_tensor *input = luc__f_to(&f, args[0].as.tensor, dtype);
  luc_tensor *a = luc__f_to(&f, args[1].as.tensor, dtype);
  luc_tensor *b = luc__f_to(&f, args[2].as.tensor, dtype);
  if (f.status != LUC_OK) return luc__f_result(&f, NULL, out);
  bool fits = input->ndim == 2 && input->sizes[0] == a->numel && input->sizes[1] == b->numel;
  if (luc_as_double(&args[3]) == 0 || !fits || dtype == LUC_BOOL)
    return luc__f_result(&f, add_scaled(&f, input, outer(&f, a, b), &args[3]), out);
  return luc__f_result(&f, add_outer(&f, input, luc__f_unsqueeze(&f, a, 1), b, &args[3]), out);
}

/* ---- outer, inner ---- */

luc_status luc__run_outer(luc_context *ctx, luc_value *args, luc_value *out) {
  LUC_TRY(check_vectors(ctx, args[0].as.tensor, args[1].as.tensor));
  luc_formula f = luc__formula(ctx);
  return luc__f_result(&f, outer(&f, args[0].as.tensor, args[1].as.tensor), out);
}

/* Sums of products over the last dimensions of both. */
luc_status luc__run_inner(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  if (a->ndim == 0 || b->ndim == 0)
    return luc_call(ctx, LUC_OP_mul, LUC_ARGS(args[0], args[1]), out);
  if (a->sizes[a->ndim - 1] != b->sizes[b->ndim - 1])
    return luc__fail_shapes(ctx, "input", a, "other", b, "the last dimensions must have one size");
  luc_formula f = luc__formula(ctx);
  int64_t sizes[2 * LUC_MAX_DIMS], rows = luc__product(b->ndim - 1, b->sizes);
  int ndim = a->ndim + b->ndim - 2;
  if (ndim > LUC_MAX_DIMS)
    return luc__fail_shapes(ctx, "input", a, "other", b, "too many dimensions");
  memcpy(sizes, a->sizes, sizeof a->sizes);
  memcpy(sizes + a->ndim - 1, b->sizes, sizeof b->sizes);
  luc_tensor *matrix = luc__f_reshape(&f, b, 2, (int64_t[]){rows, b->sizes[b->ndim - 1]});
  luc_tensor *y = luc__f2(&f, LUC_OP_matmul, a, luc__f_transpose(&f, matrix, 0, 1));
  return luc__f_result(&f, luc__f_reshape(&f, y, ndim, sizes), out);
}

/* ---- tensordot ---- */

/* t with the dims of `over` last (or first), as a matrix; the other dims' sizes are appended. */
static luc_tensor *as_matrix(luc_formula *f, luc_tensor *t, int n, const int *over, bool last,
                             int *ndim, int64_t *sizes) {
  int64_t order[LUC_MAX_DIMS], rest = 1, joined = 1;
  int kept = 0, taken = last ? t->ndim - n : 0;
  bool used[LUC_MAX_DIMS] = {false};
  for (int i = 0; i < n; i++) {
    used[over[i]] = true;
    order[taken + i] = over[i];
    joined *= t->sizes[over[i]];
  }
  for (int d = 0; d < t->ndim; d++) {
    if (used[d]) continue;
    order[(last ? 0 : n) + kept++] = d;
    rest *= t->sizes[d];
    sizes[(*ndim)++] = t->sizes[d];
  }
  luc_tensor *moved = luc__f_permute(f, t, t->ndim, order);
  return luc__f_reshape(f, moved, 2, last ? (int64_t[]){rest, joined} : (int64_t[]){joined, rest});
}

/* t summed over those of its dims `over` that meet a dimension of size 1, spread over them. */
static luc_tensor *summed(luc_formula *f, luc_tensor *t, int n, const int *over,
                          const luc_tensor *met, const int *dims) {
  int64_t sums[LUC_MAX_DIMS];
  int count = 0;
  for (int i = 0; i < n; i++)
    if (met->sizes[dims[i]] == 1 && t->sizes[over[i]] != 1) sums[count++] = over[i];
  return count ? luc__f_to(f, luc__f_sum(f, t, count, sums, true), t->dtype) : t;
}

static luc_status contract(luc_context *ctx, luc_tensor *a, luc_tensor *b, int n, const int *da,
                           const int *db, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  int64_t sizes[2 * LUC_MAX_DIMS];
  int ndim = 0;
  for (int i = 0; i < n; i++)
    if (a->sizes[da[i]] != b->sizes[db[i]] && a->sizes[da[i]] != 1 && b->sizes[db[i]] != 1)
      return luc__fail_shapes(ctx, "a", a, "b", b,
                              "contracted dims %d and %d have sizes %lld and %lld", da[i] + 1,
                              db[i] + 1, (long long)a->sizes[da[i]], (long long)b->sizes[db[i]]);
  if (a->ndim + b->ndim - 2 * n > LUC_MAX_DIMS)
    return luc__fail_shapes(ctx, "a", a, "b", b, "too many dimensions");
  luc_tensor *left = summed(&f, a, n, da, b, db), *right = summed(&f, b, n, db, a, da);
  if (f.status != LUC_OK) return luc__f_end(&f, NULL, NULL);
  left = as_matrix(&f, left, n, da, true, &ndim, sizes);
  right = as_matrix(&f, right, n, db, false, &ndim, sizes);
  luc_tensor *y = luc__f2(&f, LUC_OP_mm, left, right);
  return luc__f_result(&f, luc__f_reshape(&f, y, ndim, sizes), out);
}

/* tensordot(a, b, dims): a's last dims with b's first. */
luc_status luc__run_tensordot(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  int64_t n = args[2].as.i;
  int da[LUC_MAX_DIMS], db[LUC_MAX_DIMS];
  if (n < 0 || n > a->ndim || n > b->ndim)
    return luc__fail_shapes(ctx, "a", a, "b", b, "dims must be at most %d (got %lld)",
                            a->ndim < b->ndim ? a->ndim : b->ndim, (long long)n);
  for (int i = 0; i < n; i++) da[i] = a->ndim - (int)n + i, db[i] = i;
  return contract(ctx, a, b, (int)n, da, db, out);
}

/* Distinct dims of t. */
static luc_status take_dims(luc_context *ctx, const luc_value *v, const luc_tensor *t, int *dims) {
  for (int i = 0; i < v->n; i++) {
    LUC_TRY(luc__dim_wrap(ctx, v->as.ints[i], t->ndim, &dims[i]));
    for (int j = 0; j < i; j++)
      LUC_CHECK(ctx, dims[j] != dims[i], LUC_ERR_VALUE, "tensordot: dim %d is contracted twice",
                dims[i] + 1);
  }
  return LUC_OK;
}

/* tensordot(a, b, dims): the dims of a, then as many of b. */
luc_status luc__run_tensordot_pair(luc_context *ctx, luc_value *args, luc_value *out) {
  const int64_t *dims = args[2].as.ints;
  int n = args[2].n / 2;
  luc_value lists[] = {args[0], args[1], luc_v_ints(dims, n), luc_v_ints(dims + n, n)};
  return luc__run_tensordot_lists(ctx, lists, out);
}

luc_status luc__run_tensordot_lists(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *a = args[0].as.tensor, *b = args[1].as.tensor;
  int da[LUC_MAX_DIMS], db[LUC_MAX_DIMS];
  if (args[2].n != args[3].n || args[2].n > a->ndim || args[2].n > b->ndim)
    return luc__fail_shapes(ctx, "a", a, "b", b, "both lists of dims must have one length");
  LUC_TRY(take_dims(ctx, &args[2], a, da));
  LUC_TRY(take_dims(ctx, &args[3], b, db));
  return contract(ctx, a, b, args[2].n, da, db, out);
}

/* ---- bilinear: y[n, o] = x1[n] W[o] x2[n] + bias[o] ---- */

static luc_status check_bilinear(luc_context *ctx, const luc_tensor *x1, const luc_tensor *x2,
                                 const luc_tensor *w, const luc_tensor *bias) {
  if (w->ndim != 3 || x1->ndim == 0)
    return luc__fail_shapes(ctx, "input1", x1, "weight", w, "weight must be [out, in1, in2]");
  bool same = x1->ndim == x2->ndim;
  for (int i = 0; same && i < x1->ndim - 1; i++) same = x1->sizes[i] == x2->sizes[i];
  if (!same)
    return luc__fail_shapes(ctx, "input1", x1, "input2", x2,
                            "both inputs must agree in all but the last dimension");
  const luc_tensor *x[] = {x1, x2};
  for (int i = 0; i < 2; i++)
    if (x[i]->sizes[x[i]->ndim - 1] != w->sizes[i + 1])
      return luc__fail_shapes(ctx, i ? "input2" : "input1", x[i], "weight", w,
                              "input%d has %lld features, weight expects %lld", i + 1,
                              (long long)x[i]->sizes[x[i]->ndim - 1], (long long)w->sizes[i + 1]);
  if (bias && (bias->ndim != 1 || bias->sizes[0] != w->sizes[0]))
    return luc__fail_shapes(ctx, "weight", w, "bias", bias,
                            "weight gives %lld features, bias has %lld", (long long)w->sizes[0],
                            (long long)bias->numel);
  return LUC_OK;
}

luc_status luc__run_bilinear(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_tensor *x1 = args[0].as.tensor, *x2 = args[1].as.tensor, *w = args[2].as.tensor;
  luc_tensor *bias = luc_as_tensor(&args[3]);
  LUC_TRY(check_bilinear(ctx, x1, x2, w, bias));
  luc_formula f = luc__formula(ctx);
  int64_t o = w->sizes[0], in1 = w->sizes[1], in2 = w->sizes[2], sizes[LUC_MAX_DIMS];
  const int64_t rows = luc__product(x1->ndim - 1, x1->sizes);
  memcpy(sizes, x1->sizes, sizeof sizes);
  sizes[x1->ndim - 1] = o;
  luc_tensor *by_input = luc__f_permute(&f, w, 3, (int64_t[]){1, 0, 2});
  by_input = luc__f_reshape(&f, by_input, 2, (int64_t[]){in1, o * in2});
  luc_tensor *left = luc__f_reshape(&f, x1, 2, (int64_t[]){rows, in1});
  left = luc__f2(&f, LUC_OP_mm, left, by_input);
  left = luc__f_reshape(&f, left, 3, (int64_t[]){rows, o, in2});
  luc_tensor *right = luc__f_reshape(&f, x2, 3, (int64_t[]){rows, in2, 1});
  luc_tensor *y = luc__f2(&f, LUC_OP_bmm, left, right);
  y = luc__f_reshape(&f, y, x1->ndim, sizes);
  if (bias) y = luc__f2(&f, LUC_OP_add, y, bias);
  return luc__f_result(&f, y, out);
}
