/* Scaled dot product attention (Vaswani et al. 2017). The row users call checks, broadcasts and
 * repeats heads; the row below it runs in blocks without a matrix of scores. With dropout, a
 * learned mask, or while a gradient itself is recorded, it is made of operators instead. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/attention.h"
#include "cpu/copy.h"
#include "lucerna/autograd.h"
#include "ops/compute.h"
#include "ops/formula.h"
#include "ops/rows.h"

/* ---- in operators ---- */

typedef struct weights {
  luc_tensor *q, *k, *mask;
  bool causal;
  double scale;
} weights;

static luc_tensor *causal_mask(luc_formula *f, int64_t l, int64_t s) {
  int64_t sizes[2] = {l, s};
  luc_tensor *ones =
      luc__f_call(f, LUC_OP_ones, LUC_ARGS(luc_v_ints(sizes, 2), luc_v_dtype(LUC_BOOL)));
  return luc__f1(f, LUC_OP_tril, ones);
}

/* softmax(scores): how much each query takes of each key. The scores of a query that sees no key
 * are set to 0 before it, for of -inf alone softmax and its gradient are NaN. */
static luc_tensor *attention_weights(luc_formula *f, const weights *w) {
  luc_tensor *scores = luc__f2(f, LUC_OP_matmul, luc__fs(f, LUC_OP_mul, w->q, w->scale),
                               luc__f_transpose(f, w->k, -2, -1));
  luc_tensor *mask = w->mask;
  if (w->causal) mask = causal_mask(f, w->q->sizes[w->q->ndim - 2], w->k->sizes[w->k->ndim - 2]);
  if (f->status != LUC_OK || mask == NULL)
    return luc__f_call(f, LUC_OP_softmax, LUC_ARGS(luc_v_tensor(scores), luc_v_int(-1)));
  if (mask->dtype == LUC_BOOL)
    scores = luc__f_fill(f, scores, luc__f1(f, LUC_OP_logical_not, mask), -(double)INFINITY);
  else
    scores = luc__f2(f, LUC_OP_add, scores, luc__f_to(f, mask, w->q->dtype));
  luc_tensor *hidden = luc__fs(f, LUC_OP_eq, scores, -(double)INFINITY);
  luc_tensor *blind =
      luc__f_call(f, LUC_OP_all, LUC_ARGS(luc_v_tensor(hidden), luc_v_int(-1), luc_v_bool(true)));
  scores = luc__f_fill(f, scores, blind, 0);
  luc_tensor *p = luc__f_call(f, LUC_OP_softmax, LUC_ARGS(luc_v_tensor(scores), luc_v_int(-1)));
  return luc__f_fill(f, p, blind, 0);
}

/* ---- in blocks: query, key, value [batch..., rows, width], mask of the scores' shape ---- */

enum { Q, K, V, MASK };

/* t as the kernel can read it: its own columns adjacent, pairs of bfloat16 on a float's place, else
 * a copy. */
static luc_status adjacent(luc_context *ctx, luc_tensor *t, luc_dtype dtype, luc_tensor **out) {
  const int last = t->ndim - 1;
  bool odd = (uintptr_t)t->data % sizeof(float) != 0; /* of halves */
  for (int d = 0; d < last; d++) odd |= t->strides[d] % 2 != 0;
  if (t->dtype != dtype || (t->strides[last] != 1 && t->sizes[last] > 1))
    return luc__as_dense(ctx, t, dtype, out);
  *out = t;
  if (dtype != LUC_BFLOAT16 || !odd) return LUC_OK;
  LUC_TRY(luc__scratch_like(ctx, t, dtype, out)); /* what is dense may begin there, too */
  return luc__copy(ctx, *out, t);
}

/* A new tensor of like's sizes but for the last, its dimensions in memory as like's are: what was
 * heads beside each other stays so, and joins them again without a copy. */
static luc_status in_order_of(luc_context *ctx, const luc_tensor *like, int64_t width,
                              luc_dtype dtype, luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS], step = width;
  bool placed[LUC_MAX_DIMS] = {false};
  const int last = like->ndim - 1;
  memcpy(sizes, like->sizes, sizeof sizes);
  sizes[last] = width;
  LUC_TRY(luc__scratch(ctx, dtype, like->ndim, sizes, out));
  for (int n = 0; n < last && (*out)->numel > 0; n++) {
    int inner = -1;
    for (int d = last - 1; d >= 0; d--)
      if (!placed[d] && (inner < 0 || like->strides[d] < like->strides[inner])) inner = d;
    placed[inner] = true;
    (*out)->strides[inner] = step;
    step *= sizes[inner];
  }
  return LUC_OK;
}

static luc_heads heads_of(const luc_tensor *t) {
  const int n = t->ndim - 2;
  luc_heads h = {.data = t->data, .row = t->strides[n]};
  memcpy(h.batch, t->strides, (size_t)n * sizeof *h.batch);
  return h;
}

static luc_attention geometry(const luc_value *operands, luc_tensor *mask, bool causal,
                              double scale) {
  const luc_tensor *q = operands[Q].as.tensor, *k = operands[K].as.tensor,
                   *v = operands[V].as.tensor;
  int n = q->ndim;
  luc_attention a = {.dtype = luc__compute_dtype(q->dtype),
                     .nbatch = n - 2,
                     .batch = luc__product(n - 2, q->sizes),
                     .l = q->sizes[n - 2],
                     .s = k->sizes[n - 2],
                     .e = q->sizes[n - 1],
                     .ev = v->sizes[n - 1],
                     .scale = scale,
                     .causal = causal};
  memcpy(a.sizes, q->sizes, (size_t)(n - 2) * sizeof *a.sizes);
  if (mask == NULL) return a;
  a.mask = heads_of(mask);
  a.mask_bool = mask->dtype == LUC_BOOL;
  a.mask_column = mask->strides[n - 1];
  return a;
}

/* a's operands in the type that products take them in. */
static luc_status take_operands(luc_context *ctx, luc_attention *a, const luc_value *operands,
                                luc_tensor **t) {
  const luc_dtype dtype = operands[Q].as.tensor->dtype;
  a->pairs = dtype == LUC_BFLOAT16 && luc__attention_suits_pairs(ctx, a);
  for (int i = Q; i <= V; i++)
    LUC_TRY(adjacent(ctx, operands[i].as.tensor, a->pairs ? dtype : a->dtype, &t[i]));
  a->q = heads_of(t[Q]), a->k = heads_of(t[K]), a->v = heads_of(t[V]);
  return LUC_OK;
}

/* A matrix of weights for the gradient, unless it would be large. */
static luc_status make_weights(luc_context *ctx, const luc_tensor *q, const luc_attention *a,
                               luc_tensor **out) {
  int64_t sizes[LUC_MAX_DIMS];
  const int64_t row = luc__attention_kept(a);
  memcpy(sizes, q->sizes, sizeof sizes);
  sizes[q->ndim - 1] = row;
  return row ? luc__scratch(ctx, a->dtype, q->ndim, sizes, out) : LUC_OK;
}

/* attention(query, key, value, attn_mask, is_causal, scale, keep): weights may be none */
luc_status luc__run_attention(luc_context *ctx, luc_value *args, luc_value *out) {
  enum { Y = MASK, LSE, COUNT };
  luc_tensor *t[COUNT], *q = args[0].as.tensor, *kept = NULL;
  luc_dtype dtype = q->dtype, compute = luc__compute_dtype(dtype);
  luc_attention a =
      geometry(args, luc_as_tensor(&args[MASK]), args[4].as.i, luc_as_double(&args[5]));
  LUC_TRY(take_operands(ctx, &a, args, t));
  LUC_TRY(in_order_of(ctx, q, a.ev, a.pairs ? dtype : compute, &t[Y]));
  LUC_TRY(luc__scratch(ctx, compute, q->ndim - 1, q->sizes, &t[LSE]));
  if (args[6].as.i) LUC_TRY(make_weights(ctx, q, &a, &kept));
  const luc_heads y = heads_of(t[Y]);
  LUC_TRY(luc__attention(ctx, &a, &y, t[LSE]->data, luc__data(kept)));
  out[1] = luc_v_tensor(luc__retain(t[LSE]));
  if (kept) out[2] = luc_v_tensor(luc__retain(kept));
  return luc__result(ctx, &out[0], dtype, t[Y]);
}

/* Tensors for the gradients of q, k and v. Where these are parts of one tensor, as a projection
 * makes them, they lie beside each other as the parts do, and need not be joined again. */
static luc_status make_gradients(luc_context *ctx, const luc_value *args, luc_dtype compute,
                                 bool zeros, luc_tensor **d) {
  const luc_tensor *q = args[Q].as.tensor, *k = args[K].as.tensor, *v = args[V].as.tensor;
  const int n = q->ndim;
  luc_tensor *whole[3], all = *q;
  const bool parts = q->storage == k->storage && q->storage == v->storage &&
                     luc__same_sizes(q, k) && luc__same_sizes(q, v) && n < LUC_MAX_DIMS;
  if (parts) {
    all.ndim = n + 1, all.sizes[0] = 3, all.strides[0] = llabs(k->offset - q->offset);
    memcpy(all.sizes + 1, q->sizes, (size_t)n * sizeof *q->sizes);
    memcpy(all.strides + 1, q->strides, (size_t)n * sizeof *q->strides);
  }
  for (int i = 0; i < (parts ? 1 : 3); i++) {
    const luc_tensor *like = parts ? &all : args[i].as.tensor;
    LUC_TRY(in_order_of(ctx, like, like->sizes[like->ndim - 1], compute, &whole[i]));
    d[i] = whole[i];
    if (zeros) memset(d[i]->data, 0, (size_t)d[i]->numel * luc__dtype_size(compute));
  }
  const int64_t *strides = whole[0]->strides;
  for (int i = 0; i < 3 && parts; i++)
    LUC_TRY(luc__held(
        ctx, luc__tensor_view(ctx, whole[0], n, q->sizes, strides + 1, i * strides[0], &d[i]),
        &d[i]));
  return LUC_OK;
}

/* attention_backward(grad, query, key, value, attn_mask, output, logsumexp, weights, is_causal,
 * scale) */
luc_status luc__run_attention_backward(luc_context *ctx, luc_value *args, luc_value *out) {
  enum { G = MASK, Y, LSE, DQ, DK, DV, COUNT };
  luc_tensor *t[COUNT], *grad = args[0].as.tensor;
  luc_dtype dtype = args[0].as.tensor->dtype, compute = luc__compute_dtype(dtype);
  luc_heads h[COUNT];
  LUC_TRY(adjacent(ctx, grad, compute, &t[G]));
  LUC_TRY(adjacent(ctx, args[5].as.tensor, compute, &t[Y]));
  LUC_TRY(luc__as_dense(ctx, args[6].as.tensor, compute, &t[LSE]));
  luc_tensor *kept = luc_as_tensor(&args[7]);
  if (kept) LUC_TRY(luc__as_dense(ctx, kept, compute, &kept));
  luc_attention a =
      geometry(args + 1, luc_as_tensor(&args[4]), args[8].as.i, luc_as_double(&args[9]));
  LUC_TRY(take_operands(ctx, &a, args + 1, t));
  if (a.pairs) LUC_TRY(adjacent(ctx, grad, dtype, &grad));
  a.g = heads_of(grad);
  LUC_TRY(make_gradients(ctx, args + 1, compute, luc__attention_adds(&a), &t[DQ]));
  for (int i = G; i < COUNT; i++)
    if (i != LSE) h[i] = heads_of(t[i]);
  LUC_TRY(luc__attention_backward(ctx, &a, &h[G], &h[Y], t[LSE]->data, luc__data(kept), &h[DQ],
                                  &h[DK], &h[DV]));
  for (int i = 0; i < 3; i++) LUC_TRY(luc__result(ctx, &out[i], dtype, t[DQ + i]));
  return LUC_OK;
}

static luc_status backward_formula(luc_context *ctx, luc_backward *b) {
  luc_formula f = luc__formula(ctx);
  const luc_value *args = b->args;
  luc_tensor *g = b->gout[0];
  weights w = {args[0].as.tensor, args[1].as.tensor, luc_as_tensor(&args[MASK]), args[4].as.i != 0,
               luc_as_double(&args[5])};
  luc_tensor *p = attention_weights(&f, &w);
  luc_tensor *dp = luc__f2(&f, LUC_OP_matmul, g, luc__f_transpose(&f, args[2].as.tensor, -2, -1));
  luc_tensor *sum = luc__f_sum_keepdim(&f, luc__f2(&f, LUC_OP_mul, p, dp), -1);
  luc_tensor *ds = luc__f2(&f, LUC_OP_mul, p, luc__f2(&f, LUC_OP_sub, dp, sum));
  ds = luc__fs(&f, LUC_OP_mul, ds, w.scale);
  if (luc__needs(b, 0)) luc__f_keep(&f, luc__f2(&f, LUC_OP_matmul, ds, w.k), &b->gin[0]);
  if (luc__needs(b, 1))
    luc__f_keep(&f, luc__f2(&f, LUC_OP_matmul, luc__f_transpose(&f, ds, -2, -1), w.q), &b->gin[1]);
  if (luc__needs(b, 2))
    luc__f_keep(&f, luc__f2(&f, LUC_OP_matmul, luc__f_transpose(&f, p, -2, -1), g), &b->gin[2]);
  return luc__f_end(&f, NULL, NULL);
}

luc_status luc__grad_attention(luc_context *ctx, luc_backward *b) {
  if (!b->gout[0]) return LUC_OK; /* the others are results of their own in name only */
  if (luc__recording(ctx)) return backward_formula(ctx, b);
  luc_value grads[LUC_MAX_RESULTS];
  LUC_TRY(luc_call(ctx, LUC_OP_attention_backward,
                   LUC_ARGS(luc_v_tensor(b->gout[0]), b->args[0], b->args[1], b->args[2],
                            b->args[3], luc_v_tensor(b->results[0]), luc_v_tensor(b->results[1]),
                            luc_v_tensor(b->results[2]), b->args[4], b->args[5]),
                   grads));
  for (int i = 0; i < 3; i++) {
    if (luc__needs(b, i))
      b->gin[i] = grads[i].as.tensor;
    else
      luc__value_release(ctx, &grads[i]);
  }
  return LUC_OK;
}

/* ---- scaled_dot_product_attention ---- */

static luc_status check_operands(luc_context *ctx, const luc_value *args) {
  static const char *const names[] = {"query", "key", "value"};
  const luc_tensor *q = args[0].as.tensor, *k = args[1].as.tensor, *v = args[2].as.tensor;
  for (int i = Q; i <= V; i++) {
    const luc_tensor *t = args[i].as.tensor;
    LUC_TRY(luc__need_float(ctx, names[i], t));
    LUC_CHECK(ctx, t->dtype == q->dtype, LUC_ERR_TYPE,
              "Expected query, key, and value to have the same dtype, but got query.dtype: %s "
              "key.dtype: %s and value.dtype: %s instead.",
              luc__dtype_name(q->dtype), luc__dtype_name(k->dtype), luc__dtype_name(v->dtype));
  }
  LUC_CHECK(ctx, q->ndim >= 2 && k->ndim >= 2 && v->ndim >= 2, LUC_ERR_SHAPE,
            "Expected query, key, and value to all be at least 2 dimensional, but got "
            "query.dim(): %d, key.dim(): %d and value.dim(): %d instead.",
            q->ndim, k->ndim, v->ndim);
  if (q->sizes[q->ndim - 1] != k->sizes[k->ndim - 1])
    return luc__fail_shapes(ctx, "query", q, "key", k, "query has %lld features, key has %lld",
                            (long long)q->sizes[q->ndim - 1], (long long)k->sizes[k->ndim - 1]);
  if (k->sizes[k->ndim - 2] != v->sizes[v->ndim - 2])
    return luc__fail_shapes(ctx, "key", k, "value", v, "key has %lld places, value has %lld",
                            (long long)k->sizes[k->ndim - 2], (long long)v->sizes[v->ndim - 2]);
  return LUC_OK;
}

static luc_status check_mask(luc_context *ctx, const luc_value *args) {
  const luc_tensor *mask = luc_as_tensor(&args[MASK]), *q = args[0].as.tensor;
  if (!mask) return LUC_OK;
  LUC_CHECK(ctx, !args[5].as.i, LUC_ERR_VALUE,
            "Explicit attn_mask should not be set when is_causal=True");
  LUC_CHECK(ctx, mask->dtype == LUC_BOOL || mask->dtype == LUC_FLOAT32 || mask->dtype == q->dtype,
            LUC_ERR_TYPE,
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            "attn_mask.dtype: %s and query.dtype: %s instead.",
            luc__dtype_name(mask->dtype), luc__dtype_name(q->dtype));
  return LUC_OK;
}

/* enable_gqa: heads [..., h, s, e] of key or value in turn for `heads` queries' heads. */
static luc_tensor *repeat_heads(luc_formula *f, luc_tensor *t, int64_t heads) {
  int d = t->ndim - 3;
  if (f->status != LUC_OK || t->sizes[d] == heads || t->sizes[d] == 0) return t;
  return luc__f_call(f, LUC_OP_repeat_interleave,
                     LUC_ARGS(luc_v_tensor(t), luc_v_int(heads / t->sizes[d]), luc_v_int(d)));
}

static luc_status check_heads(luc_context *ctx, const luc_tensor *q, const luc_tensor *t,
                              const char *name) {
  bool good = q->ndim >= 3 && t->ndim >= 3;
  int64_t heads = good ? q->sizes[q->ndim - 3] : 0, own = good ? t->sizes[t->ndim - 3] : 0;
  if (good && (own == heads || (own > 0 && heads % own == 0))) return LUC_OK;
  return luc__fail_shapes(ctx, "query", q, name, t,
                          "enable_gqa needs a number of heads that divides query's");
}

/* Batch dimensions that all three (and the mask) broadcast to. */
static luc_status join_batches(luc_context *ctx, luc_tensor *const *t, int n, int *ndim,
                               int64_t *sizes) {
  *ndim = 0;
  for (int i = 0; i < n; i++)
    if (t[i] && t[i]->ndim - 2 > *ndim) *ndim = t[i]->ndim - 2;
  for (int d = 0; d < *ndim; d++) {
    sizes[d] = 1;
    for (int i = 0; i < n; i++) {
      int at = t[i] ? d - (*ndim - (t[i]->ndim - 2)) : -1;
      if (at < 0 || t[i]->sizes[at] == 1 || t[i]->sizes[at] == sizes[d]) continue;
      if (sizes[d] != 1)
        return luc__fail_shapes(ctx, "query", t[Q],
                                i == V   ? "value"
                                : i == K ? "key"
                                         : "mask",
                                t[i], "batch sizes %lld and %lld do not broadcast",
                                (long long)sizes[d], (long long)t[i]->sizes[at]);
      sizes[d] = t[i]->sizes[at];
    }
  }
  return LUC_OK;
}

/* The operands with one batch; the mask as wide as the scores. */
static luc_status spread(luc_formula *f, luc_tensor **t) {
  int nbatch;
  int64_t sizes[LUC_MAX_DIMS], l = t[Q]->sizes[t[Q]->ndim - 2], s = t[K]->sizes[t[K]->ndim - 2];
  LUC_TRY(join_batches(f->ctx, t, t[MASK] ? 4 : 3, &nbatch, sizes));
  if (t[MASK]) {
    const luc_tensor *m = t[MASK];
    int64_t rows = m->ndim > 1 ? m->sizes[m->ndim - 2] : 1, columns = m->sizes[m->ndim - 1];
    if ((rows != l && rows != 1) || (columns != s && columns != 1))
      return luc__fail_shapes(f->ctx, "attn_mask", m, "query", t[Q],
                              "attn_mask must broadcast to scores [..., %lld, %lld]", (long long)l,
                              (long long)s);
  }
  for (int i = Q; i <= MASK; i++) {
    if (!t[i]) continue;
    sizes[nbatch] = i == MASK ? l : t[i]->sizes[t[i]->ndim - 2];
    sizes[nbatch + 1] = i == MASK ? s : t[i]->sizes[t[i]->ndim - 1];
    bool same = t[i]->ndim == nbatch + 2 &&
                !memcmp(sizes, t[i]->sizes, (size_t)(nbatch + 2) * sizeof *sizes);
    if (!same) t[i] = luc__f_expand(f, t[i], nbatch + 2, sizes);
    if (f->status != LUC_OK) return f->status;
  }
  return LUC_OK;
}

/* (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa) */
luc_status luc__run_scaled_dot_product_attention(luc_context *ctx, luc_value *args,
                                                 luc_value *out) {
  luc_tensor *t[] = {args[0].as.tensor, args[1].as.tensor, args[2].as.tensor,
                     luc_as_tensor(&args[MASK])};
  double p = luc_as_double(&args[4]);
  LUC_TRY(check_operands(ctx, args));
  LUC_TRY(check_mask(ctx, args));
  int64_t e = t[Q]->sizes[t[Q]->ndim - 1];
  luc_value scale = luc_is_none(&args[6]) ? luc_v_float(e > 0 ? 1 / sqrt((double)e) : 1) : args[6];
  luc_formula f = luc__formula(ctx);
  if (args[7].as.i) {
    LUC_TRY(check_heads(ctx, t[Q], t[K], "key"));
    LUC_TRY(check_heads(ctx, t[Q], t[V], "value"));
    int64_t heads = t[Q]->sizes[t[Q]->ndim - 3];
    t[K] = repeat_heads(&f, t[K], heads);
    t[V] = repeat_heads(&f, t[V], heads);
  }
  bool learned = t[MASK] && t[MASK]->dtype != LUC_BOOL && luc_tensor_requires_grad(t[MASK]);
  if (t[MASK] && t[MASK]->dtype != LUC_BOOL)
    t[MASK] = luc__f_to(&f, t[MASK], luc__compute_dtype(t[Q]->dtype));
  if (t[MASK] && t[MASK]->ndim == 0 && f.status == LUC_OK)
    t[MASK] = luc__f_unsqueeze(&f, t[MASK], 0);
  if (f.status == LUC_OK) f.status = spread(&f, t);
  luc_tensor *y;
  if (p > 0 || (learned && luc__recording(ctx))) {
    weights w = {t[Q], t[K], t[MASK], args[5].as.i != 0, luc_as_double(&scale)};
    luc_tensor *taken = attention_weights(&f, &w);
    luc_value keep = luc_v_float(p);
    if (p > 0) taken = luc__f_call(&f, LUC_OP_dropout, LUC_ARGS(luc_v_tensor(taken), keep));
    y = luc__f2(&f, LUC_OP_matmul, taken, t[V]);
  } else {
    bool keep = false;
    for (int i = Q; i <= V && f.status == LUC_OK; i++) keep |= luc__wants_gradient(ctx, t[i]);
    y = luc__f_call(&f, LUC_OP_attention,
                    LUC_ARGS(luc_v_tensor(t[Q]), luc_v_tensor(t[K]), luc_v_tensor(t[V]),
                             luc_v_tensor(t[MASK]), args[5], scale, luc_v_bool(keep)));
  }
  return luc__f_result(&f, y, out);
}
