/* Running sums, products and extremes along a dimension, and their gradients. */
#include "cpu/scan.h"

#include <string.h>

#include "cpu/complex.h"
#include "cpu/reduce.h"
#include "ops/compute.h"
#include "ops/reduction.h"

/* The dtype scans are computed in. */
static luc_dtype native(luc_dtype dtype) {
  if (dtype == LUC_FLOAT64) return dtype;
  return luc__dtype_is_float(dtype) ? LUC_FLOAT32 : LUC_INT64;
}

static luc_status describe(luc_context *ctx, const luc_tensor *t, int64_t dim, luc_scan *s) {
  int d;
  LUC_TRY(luc__dim_wrap(ctx, dim, t->ndim, &d));
  s->outer = luc__product(d, t->sizes);
  s->n = t->ndim > 0 ? t->sizes[d] : 1;
  s->inner = luc__product(t->ndim - d - 1, t->sizes + d + 1);
  return LUC_OK;
}

/* Sums run over either part alike: the memory is one of real numbers with an inner dimension of 2
 * more. Products want the dimension last; sums of logarithms are as real ones are. */
static luc_status scan_complex(luc_context *ctx, luc_scan *s, luc_tensor *t, int64_t dim,
                               luc_dtype result, luc_value *out) {
  luc_formula f = luc__formula(ctx);
  bool moves = s->op == LUC_SCAN_PROD && t->ndim > 1;
  LUC_TRY(describe(ctx, t, dim, s));
  luc_tensor *x = luc__f_to(&f, t, result), *y = NULL;
  if (moves) x = luc__f_transpose(&f, x, dim, -1);
  x = luc__f1(&f, LUC_OP_contiguous, x);
  y = luc__f1(&f, LUC_OP_empty_like, x);
  if (f.status == LUC_OK && s->op == LUC_SCAN_PROD) {
    luc__complex_products(ctx, result, s->outer * s->inner, s->n, true, x->data, y->data);
  } else if (f.status == LUC_OK) {
    const bool whole = s->op == LUC_SCAN_LOGSUMEXP;
    s->dtype = whole ? result : luc__dtype_to_real(result);
    if (!whole) s->inner *= 2;
    luc__scan(ctx, s, x->data, y->data, NULL);
  }
  if (moves) y = luc__f_transpose(&f, y, dim, -1);
  if (moves) y = luc__f1(&f, LUC_OP_contiguous, y);
  LUC_TRY(luc__f_end(&f, y, &y));
  return luc__deliver(ctx, out, result, &y);
}

/* Scans t into out[0], of `result` dtype, and positions into out[1] for extremes. */
static luc_status scan(luc_context *ctx, luc_scan *s, luc_tensor *t, int64_t dim, luc_dtype result,
                       luc_value *out) {
  luc_tensor *at = NULL, *in, *y;
  if (luc__dtype_is_complex(result)) return scan_complex(ctx, s, t, dim, result, out);
  s->dtype = native(result);
  LUC_TRY(describe(ctx, t, dim, s));
  if (s->op == LUC_SCAN_MAX || s->op == LUC_SCAN_MIN) {
    const bool small = s->dtype == LUC_INT64 && result != LUC_INT64 && s->n <= INT32_MAX;
    if (small) s->dtype = LUC_INT32;
    LUC_TRY(luc__out(ctx, &out[1], LUC_INT64, t->ndim, t->sizes, &at));
  }
  LUC_TRY(luc__as_dense(ctx, t, s->dtype, &in));
  LUC_TRY(luc__scratch_like(ctx, t, s->dtype, &y));
  luc__scan(ctx, s, in->data, y->data, at ? (int64_t *)(void *)at->data : NULL);
  return luc__result(ctx, &out[0], result, y);
}

/* (input, dim, dtype) */
static luc_status accumulate(luc_context *ctx, luc_scan_op op, luc_value *args, luc_value *out) {
  luc_scan s = {.op = op};
  luc_tensor *t = args[0].as.tensor;
  return scan(ctx, &s, t, args[1].as.i, luc__sum_dtype(t, &args[2]), out);
}

LUC_RUN_BY(cumsum, accumulate, LUC_SCAN_SUM)
LUC_RUN_BY(cumprod, accumulate, LUC_SCAN_PROD)

luc_status luc__run_reverse_cumsum(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_scan s = {.op = LUC_SCAN_SUM, .reverse = true};
  luc_tensor *t = args[0].as.tensor;
  return scan(ctx, &s, t, args[1].as.i, t->dtype, out);
}

LUC_GRAD_BY(cumsum, luc__grad_call, LUC_OP_reverse_cumsum, 2)

LUC_GRAD_BY(reverse_cumsum, luc__grad_call, LUC_OP_cumsum, 2)

/* The gradient by operators, which have gradients themselves: with 1 in the place of x_k, the
 * product up to j >= k is what g_j is times. n products of each row of n. */
static luc_tensor *cumprod_slope(luc_formula *f, luc_tensor *g, luc_tensor *x, int64_t dim) {
  if (!x || x->ndim == 0) return g;
  int64_t sizes[LUC_MAX_DIMS + 1], n = x->sizes[dim < 0 ? dim + x->ndim : dim];
  luc_tensor *row = luc__f_unsqueeze(f, luc__f_transpose(f, x, dim, -1), -2);
  if (!row) return NULL;
  memcpy(sizes, row->sizes, (size_t)row->ndim * sizeof *sizes);
  sizes[row->ndim - 2] = n;
  luc_tensor *others = luc__f_expand(f, row, row->ndim, sizes);
  luc_tensor *own =
      luc__f_call(f, LUC_OP_eye, LUC_ARGS(luc_v_int(n), LUC_VALUE_NONE, luc_v_dtype(LUC_BOOL)));
  others = luc__f_fill(f, others, own, 1);
  others = luc__f_call(f, LUC_OP_cumprod, LUC_ARGS(luc_v_tensor(others), luc_v_int(-1)));
  others = luc__f_conj(f, luc__f_call(f, LUC_OP_triu, LUC_ARGS(luc_v_tensor(others))));
  g = luc__f_unsqueeze(f, luc__f_transpose(f, g, dim, -1), -1);
  luc_tensor *dx = luc__f_squeeze(f, luc__f2(f, LUC_OP_matmul, others, g), -1);
  return luc__f_transpose(f, dx, dim, -1);
}

/* Where x has no zeros: the running sum of g * y from the end, divided by x. */
luc_status luc__grad_cumprod(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_tensor *g = b->gout[0], *y = b->results[0];
  luc_tensor *x = luc__f_to(&f, b->args[0].as.tensor, y->dtype);
  if (x && luc__any_zero(ctx, x)) {
    luc_value dx = luc_v_tensor(x), dim = b->args[1];
    if (ctx->grad_mode || luc__dtype_is_complex(x->dtype))
      x = cumprod_slope(&f, g, x, dim.as.i);
    else
      x = luc__f_call(&f, LUC_OP_cumprod_backward, LUC_ARGS(luc_v_tensor(g), dx, dim));
    return luc__f_end(&f, x, &b->gin[0]);
  }
  y = luc__f_conj(&f, y);
  x = luc__f_conj(&f, x);
  luc_tensor *gy = luc__f2(&f, LUC_OP_mul, g, y);
  luc_tensor *sums = luc__f_call(&f, LUC_OP_reverse_cumsum, LUC_ARGS(luc_v_tensor(gy), b->args[1]));
  return luc__f_end(&f, luc__f2(&f, LUC_OP_div, sums, x), &b->gin[0]);
}

luc_status luc__run_cumprod_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_scan s = {.op = LUC_SCAN_PROD};
  luc_tensor *t = args[1].as.tensor, *g, *x, *dx;
  s.dtype = native(t->dtype);
  LUC_TRY(describe(ctx, t, args[2].as.i, &s));
  LUC_TRY(luc__as_dense(ctx, args[0].as.tensor, s.dtype, &g));
  LUC_TRY(luc__as_dense(ctx, t, s.dtype, &x));
  LUC_TRY(luc__scratch_like(ctx, t, s.dtype, &dx));
  luc__cumprod_backward(ctx, &s, g->data, x->data, dx->data);
  return luc__result(ctx, &out[0], t->dtype, dx);
}

luc_status luc__run_logcumsumexp(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_scan s = {.op = LUC_SCAN_LOGSUMEXP};
  luc_tensor *t = args[0].as.tensor;
  LUC_CHECK(ctx, luc__dtype_has_gradient(t->dtype), LUC_ERR_TYPE,
            "only supports floating point dtypes, got %s", luc__dtype_name(t->dtype));
  return scan(ctx, &s, t, args[1].as.i, t->dtype, out);
}

/* What comes to v where g comes to its shares. */
static luc_tensor *turned_shares(luc_formula *f, luc_tensor *g, luc_value x, luc_value sums,
                                 luc_value dim, bool back) {
  luc_value v = luc_v_tensor(luc__f_conj(f, g));
  return luc__f_conj(
      f, luc__f_call(f, LUC_OP_logcumsumexp_shares, LUC_ARGS(v, x, sums, dim, luc_v_bool(back))));
}

/* x_k has the share exp(x_k - y_i) of every y_i from k on. */
luc_status luc__grad_logcumsumexp(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_value y = luc_v_tensor(b->results[0]);
  return luc__f_end(&f, turned_shares(&f, b->gout[0], b->args[0], y, b->args[1], true), &b->gin[0]);
}

/* logcumsumexp_shares(v, input, sums, dim, back): see luc__logcumsumexp_shares */
luc_status luc__run_logcumsumexp_shares(luc_context *ctx, luc_value *args, luc_value *out) {
  luc_scan s = {.op = LUC_SCAN_LOGSUMEXP, .reverse = args[4].as.i != 0};
  luc_tensor *t = args[1].as.tensor, *in[3], *y;
  s.dtype = luc__dtype_is_complex(t->dtype) ? (luc_dtype)t->dtype : native(t->dtype);
  LUC_TRY(describe(ctx, t, args[3].as.i, &s));
  for (int i = 0; i < 3; i++) LUC_TRY(luc__as_dense(ctx, args[i].as.tensor, s.dtype, &in[i]));
  LUC_TRY(luc__scratch_like(ctx, t, s.dtype, &y));
  luc__logcumsumexp_shares(ctx, &s, in[0]->data, in[1]->data, in[2]->data, y->data);
  return luc__result(ctx, out, t->dtype, y);
}

/* The sum of g y is one of v by the shares that go the other way; exp(x_k - sums_i) grows with x
 * and shrinks with sums. */
luc_status luc__grad_logcumsumexp_shares(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  const bool back = b->args[4].as.i != 0;
  luc_tensor *v = b->args[0].as.tensor, *g = b->gout[0], *y = b->results[0];
  luc_tensor *dv = turned_shares(&f, g, b->args[1], b->args[2], b->args[3], !back);
  v = luc__f_conj(&f, v);
  y = luc__f_conj(&f, y);
  if (luc__needs(b, 0)) luc__f_keep(&f, dv, &b->gin[0]);
  if (luc__needs(b, 1))
    luc__f_keep(&f, luc__f2(&f, LUC_OP_mul, back ? g : v, back ? y : dv), &b->gin[1]);
  luc_tensor *less = luc__f2(&f, LUC_OP_mul, back ? v : g, back ? dv : y);
  if (luc__needs(b, 2)) luc__f_keep(&f, luc__f1(&f, LUC_OP_neg, less), &b->gin[2]);
  return luc__f_end(&f, NULL, NULL);
}

static luc_status extreme(luc_context *ctx, luc_scan_op op, luc_value *args, luc_value *out) {
  luc_scan s = {.op = op, .first = ctx->first};
  luc_tensor *t = args[0].as.tensor;
  return scan(ctx, &s, t, args[1].as.i, t->dtype, out);
}

LUC_RUN_BY(cummax, extreme, LUC_SCAN_MAX)
LUC_RUN_BY(cummin, extreme, LUC_SCAN_MIN)

/* Every output's gradient goes to the element it came from. */
luc_status luc__grad_cummax(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  luc_value g = luc_v_tensor(b->gout[0]);
  luc_tensor *zeros = luc__f1(&f, LUC_OP_zeros_like, b->gout[0]);
  return luc__f_end(
      &f,
      luc__f_call(&f, LUC_OP_scatter_add,
                  LUC_ARGS(luc_v_tensor(zeros), b->args[1], luc_v_tensor(b->results[1]), g)),
      &b->gin[0]);
}
