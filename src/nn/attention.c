/* MultiheadAttention (torch.nn; Vaswani et al. 2017), made of operators: projections, masks, heads,
 * attention, the projection back. Without the weights asked for, attention runs in blocks. Inside,
 * everything is [length, batch, features] (batch first if it comes so), and heads are [batch,
 * heads, length, features], which are views: attention reads and writes them beside each other. */
#include <math.h>

#include "nn/module.h"
#include "nn/reset.h"
#include "ops/formula.h"

/* ORDER MULTIHEAD (constructor, forward: classes.def) */
enum { EMBED, HEADS, DROPOUT, BIAS, BIAS_KV, ZERO_ATTN, KDIM, VDIM, BATCH_FIRST, DEVICE, DTYPE };
enum { QUERY, KEY, VALUE, PADDING, NEED_WEIGHTS, MASK, AVERAGE, CAUSAL };

/* ---- making ---- */

static bool same_widths(const luc_module *m) {
  const luc_value *c = m->config;
  return c[KDIM].as.i == c[EMBED].as.i && c[VDIM].as.i == c[EMBED].as.i;
}

static luc_status check_sizes(luc_context *ctx, const luc_module *m) {
  long long e = m->config[EMBED].as.i, heads = m->config[HEADS].as.i;
  LUC_CHECK(ctx, e > 0 && heads > 0, LUC_ERR_VALUE,
            "%s: embed_dim and num_heads must be greater than 0, got embed_dim=%lld and "
            "num_heads=%lld instead",
            m->cls->name, e, heads);
  LUC_CHECK(ctx, e <= INT32_MAX, LUC_ERR_VALUE, "%s: embed_dim is too large (got %lld)",
            m->cls->name, e);
  LUC_CHECK(ctx, e % heads == 0, LUC_ERR_VALUE,
            "%s: embed_dim must be divisible by num_heads (got %lld and %lld)", m->cls->name, e,
            heads);
  LUC_CHECK(ctx, m->config[KDIM].as.i >= 0 && m->config[VDIM].as.i >= 0, LUC_ERR_VALUE,
            "%s: kdim and vdim must not be negative (got %lld and %lld)", m->cls->name,
            (long long)m->config[KDIM].as.i, (long long)m->config[VDIM].as.i);
  return LUC_OK;
}

/* Registers a new matrix as the parameter of this name; with rows 0 the slot stays empty. */
static luc_status add_matrix(luc_context *ctx, luc_module *m, const char *name, int64_t rows,
                             int64_t columns) {
  int64_t sizes[2] = {rows, columns};
  luc_tensor *t;
  if (rows == 0) return luc_module_register_parameter(ctx, m, name, NULL);
  return luc__new_parameter(ctx, m, name, luc__config_dtype(ctx, m), 2, sizes, &t);
}

static luc_status add_projections(luc_context *ctx, luc_module *m) {
  int64_t e = m->config[EMBED].as.i;
  if (!same_widths(m)) {
    LUC_TRY(add_matrix(ctx, m, "q_proj_weight", e, e));
    LUC_TRY(add_matrix(ctx, m, "k_proj_weight", e, m->config[KDIM].as.i));
    LUC_TRY(add_matrix(ctx, m, "v_proj_weight", e, m->config[VDIM].as.i));
    return add_matrix(ctx, m, "in_proj_weight", 0, 0);
  }
  LUC_TRY(add_matrix(ctx, m, "in_proj_weight", 3 * e, e));
  LUC_TRY(add_matrix(ctx, m, "q_proj_weight", 0, 0));
  LUC_TRY(add_matrix(ctx, m, "k_proj_weight", 0, 0));
  return add_matrix(ctx, m, "v_proj_weight", 0, 0);
}

static luc_status add_out_projection(luc_context *ctx, luc_module *m) {
  const luc_value *c = m->config;
  luc_value args[] = {c[EMBED], c[EMBED], c[BIAS], c[DEVICE], c[DTYPE]};
  luc_module *child;
  LUC_TRY(luc_module_new(ctx, "NonDynamicallyQuantizableLinear", args, 5, &child));
  luc_status status = luc_module_add_module(ctx, m, "out_proj", child);
  luc_module_release(ctx, child);
  return status;
}

/* _reset_parameters, after out_proj has drawn its own: xavier_uniform_, zeros, xavier_normal_. */
static luc_status reset(luc_context *ctx, luc_module *m) {
  static const char *const matrices[] = {"in_proj_weight", "q_proj_weight", "k_proj_weight",
                                         "v_proj_weight"};
  static const char *const rows[] = {"bias_k", "bias_v"};
  for (int i = 0; i < 4; i++) {
    luc_tensor *t = luc_module_tensor(m, matrices[i]);
    if (t == NULL) continue;
    double fans = (double)(t->sizes[0] + t->sizes[1]);
    LUC_TRY(luc__reset_uniform(ctx, t, sqrt(3.0) * sqrt(2 / fans)));
  }
  if (m->config[BIAS].as.i) {
    LUC_TRY(luc__reset_fill(ctx, luc_module_tensor(m, "in_proj_bias"), 0));
    LUC_TRY(luc__reset_fill(ctx, luc_module_tensor(luc_module_child(m, "out_proj"), "bias"), 0));
  }
  for (int i = 0; i < 2 && m->config[BIAS_KV].as.i; i++) {
    luc_tensor *t = luc_module_tensor(m, rows[i]);
    LUC_TRY(luc__reset_normal(ctx, t, sqrt(2.0 / (double)(2 * t->numel))));
  }
  return LUC_OK;
}

luc_status luc__multihead_build(luc_context *ctx, luc_module *m) {
  int64_t sizes[3] = {1, 1, m->config[EMBED].as.i};
  luc_dtype dtype = luc__config_dtype(ctx, m);
  luc_value width = luc_v_int(sizes[2]);
  luc_tensor *t;
  for (int i = KDIM; i <= VDIM; i++)
    if (luc_is_none(&m->config[i])) LUC_TRY(luc__module_set_config(ctx, m, i, &width));
  LUC_TRY(check_sizes(ctx, m));
  LUC_TRY(add_projections(ctx, m));
  if (m->config[BIAS].as.i) {
    LUC_TRY(luc__new_parameter(ctx, m, "in_proj_bias", dtype, 1, &(int64_t){3 * sizes[2]}, &t));
  } else {
    LUC_TRY(luc_module_register_parameter(ctx, m, "in_proj_bias", NULL));
  }
  LUC_TRY(add_out_projection(ctx, m));
  if (m->config[BIAS_KV].as.i) {
    LUC_TRY(luc__new_parameter(ctx, m, "bias_k", dtype, 3, sizes, &t));
    LUC_TRY(luc__new_parameter(ctx, m, "bias_v", dtype, 3, sizes, &t));
  }
  return reset(ctx, m);
}

/* ---- a call ---- */

typedef struct call {
  luc_context *ctx;
  luc_module *m;
  const char *who;
  luc_formula f;
  luc_tensor *q, *k, *v;      /* [length, batch, features] or [batch, length, features] */
  int length, batch;          /* the positions of these two dimensions */
  luc_tensor *mask, *padding; /* added to scores, or NULL: broadcast to [n, heads, l, s] */
  bool batched, weights, causal;
  int64_t l, s, n, e, heads; /* s: keys, those that are added too */
} call;

static luc_status check_ranks(const call *c, const luc_value *args) {
  int want = c->batched ? 3 : 2;
  const luc_tensor *padding = luc_as_tensor(&args[PADDING]), *mask = luc_as_tensor(&args[MASK]);
  const char *kind = c->batched ? "batched (3-D)" : "unbatched (2-D)";
  int k = args[KEY].as.tensor->ndim, v = args[VALUE].as.tensor->ndim;
  LUC_CHECK(c->ctx, k == want && v == want, LUC_ERR_SHAPE,
            "%s: For %s `query`, expected `key` and `value` to be %d-D but found %d-D and %d-D "
            "tensors respectively",
            c->who, kind, want, k, v);
  LUC_CHECK(c->ctx, !padding || padding->ndim == want - 1, LUC_ERR_SHAPE,
            "%s: For %s `query`, expected `key_padding_mask` to be `None` or %d-D but found %d-D "
            "tensor instead",
            c->who, kind, want - 1, padding->ndim);
  LUC_CHECK(c->ctx, !mask || mask->ndim == 2 || mask->ndim == 3, LUC_ERR_SHAPE,
            "%s: For %s `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found %d-D "
            "tensor instead",
            c->who, kind, mask->ndim);
  return LUC_OK;
}

static luc_status check_kinds(const call *c, const luc_value *args) {
  static const struct {
    int at;
    const char *name;
  } masks[] = {{PADDING, "key_padding_mask"}, {MASK, "attn_mask"}};
  for (int i = 0; i < 2; i++) {
    const luc_tensor *t = luc_as_tensor(&args[masks[i].at]);
    LUC_CHECK(c->ctx, !t || t->dtype == LUC_BOOL || luc__dtype_is_float(t->dtype), LUC_ERR_TYPE,
              "%s: only bool and floating types of %s are supported (got %s)", c->who,
              masks[i].name, luc__dtype_name(t->dtype));
  }
  LUC_CHECK(c->ctx, !args[CAUSAL].as.i || !luc_is_none(&args[MASK]), LUC_ERR_VALUE,
            "%s: Need attn_mask if specifying the is_causal hint. You may use the Transformer "
            "module method `generate_square_subsequent_mask` to create this mask.",
            c->who);
  return LUC_OK;
}

static luc_status check_widths(const call *c) {
  const luc_tensor *k = c->k, *v = c->v;
  const int l = c->length, n = c->batch;
  char a[LUC_SHAPE_TEXT], b[LUC_SHAPE_TEXT];
  luc__shape_text(a, 3, (int64_t[]){k->sizes[l], k->sizes[n], k->sizes[2]});
  luc__shape_text(b, 3, (int64_t[]){v->sizes[l], v->sizes[n], v->sizes[2]});
  LUC_CHECK(c->ctx, c->q->sizes[2] == c->e, LUC_ERR_SHAPE,
            "%s: was expecting embedding dimension of %lld, but got %lld", c->who, (long long)c->e,
            (long long)c->q->sizes[2]);
  if (same_widths(c->m))
    LUC_CHECK(c->ctx, luc__same_sizes(k, v), LUC_ERR_SHAPE,
              "%s: key shape %s does not match value shape %s", c->who, a, b);
  else
    LUC_CHECK(c->ctx, k->sizes[0] == v->sizes[0] && k->sizes[1] == v->sizes[1], LUC_ERR_SHAPE,
              "%s: key's sequence and batch dims do not match value's (key %s, value %s)", c->who,
              a, b);
  LUC_CHECK(c->ctx, k->sizes[n] == c->n, LUC_ERR_SHAPE,
            "%s: key has a batch of %lld, query one of %lld", c->who, (long long)k->sizes[n],
            (long long)c->n);
  return LUC_OK;
}

static luc_status check_masks(const call *c, const luc_value *args) {
  const luc_tensor *mask = luc_as_tensor(&args[MASK]), *padding = luc_as_tensor(&args[PADDING]);
  char shape[LUC_SHAPE_TEXT];
  if (mask) {
    bool three = mask->ndim == 3;
    const int64_t *rows = mask->sizes + three;
    bool good = rows[0] == c->l && rows[1] == c->s && (!three || mask->sizes[0] == c->n * c->heads);
    luc__tensor_shape_text(shape, mask);
    LUC_CHECK(c->ctx, good || three, LUC_ERR_SHAPE,
              "%s: The shape of the 2D attn_mask is %s, but should be [%lld, %lld].", c->who, shape,
              (long long)c->l, (long long)c->s);
    LUC_CHECK(c->ctx, good, LUC_ERR_SHAPE,
              "%s: The shape of the 3D attn_mask is %s, but should be [%lld, %lld, %lld].", c->who,
              shape, (long long)(c->n * c->heads), (long long)c->l, (long long)c->s);
  }
  if (!padding) return LUC_OK;
  int64_t n = padding->ndim == 2 ? padding->sizes[0] : 1, s = padding->sizes[padding->ndim - 1];
  LUC_CHECK(c->ctx, n == c->n, LUC_ERR_SHAPE,
            "%s: Expected key_padded_mask.shape[1] to be %lld, but got %lld", c->who,
            (long long)c->n, (long long)n);
  LUC_CHECK(c->ctx, s == c->s, LUC_ERR_SHAPE,
            "%s: Expected key_padded_mask.shape[2] to be %lld, but got %lld", c->who,
            (long long)c->s, (long long)s);
  return LUC_OK;
}

/* ---- its steps ---- */

/* Gives a sequence without a batch a batch of 1. */
static luc_tensor *sequence(call *c, luc_tensor *t) {
  return c->batched ? t : luc__f_unsqueeze(&c->f, t, 1);
}

static luc_tensor *f_linear(call *c, luc_tensor *x, luc_tensor *weight, luc_tensor *bias) {
  return luc__f_call(&c->f, LUC_OP_linear,
                     LUC_ARGS(luc_v_tensor(x), luc_v_tensor(weight), luc_v_tensor(bias)));
}

/* Splits t, which holds the parts of query, key and value one after another along dim. A NULL t
 * gives NULLs. */
static void split(call *c, luc_tensor *t, int64_t dim, luc_tensor **parts) {
  const int64_t sizes[3] = {c->e, c->e, c->e};
  luc_value list;
  if (t == NULL || c->f.status != LUC_OK) return;
  c->f.status = luc_call(c->ctx, LUC_OP_split_sizes,
                         LUC_ARGS(luc_v_tensor(t), luc_v_ints(sizes, 3), luc_v_int(dim)), &list);
  if (c->f.status != LUC_OK) return;
  for (int i = 0; i < 3; i++) parts[i] = luc__f_own(&c->f, luc__retain(list.as.tensors[i]));
  luc__value_release(c->ctx, &list);
}

/* Projects query, key and value, in one product if all three are the same sequence. */
static luc_status project(call *c, bool one) {
  luc_context *ctx = c->ctx;
  luc_tensor *bias = luc__slot_tensor(c->m, "in_proj_bias", 12), **to[] = {&c->q, &c->k, &c->v};
  luc_tensor *whole = NULL, *weight[3] = {0}, *biases[3] = {0}, *parts[3];
  if (same_widths(c->m)) {
    LUC_TRY(luc__module_need(ctx, c->m, "in_proj_weight", &whole));
  } else {
    LUC_TRY(luc__module_need(ctx, c->m, "q_proj_weight", &weight[0]));
    LUC_TRY(luc__module_need(ctx, c->m, "k_proj_weight", &weight[1]));
    LUC_TRY(luc__module_need(ctx, c->m, "v_proj_weight", &weight[2]));
  }
  if (one && whole) {
    split(c, f_linear(c, c->q, whole, bias), -1, parts);
    for (int i = 0; i < 3 && c->f.status == LUC_OK; i++) *to[i] = parts[i];
    return c->f.status;
  }
  split(c, whole, 0, weight);
  split(c, bias, 0, biases);
  for (int i = 0; i < 3; i++) *to[i] = f_linear(c, *to[i], weight[i], biases[i]);
  return c->f.status;
}

/* Turns a boolean mask into one to add: -inf where it is true. */
static luc_tensor *to_float(call *c, luc_tensor *mask) {
  if (mask == NULL || mask->dtype != LUC_BOOL) return mask;
  luc_value like = luc_v_tensor(mask), dtype = luc_v_dtype(c->q->dtype);
  luc_tensor *zeros = luc__f_call(&c->f, LUC_OP_zeros_like, LUC_ARGS(like, dtype));
  return luc__f_call(&c->f, LUC_OP_masked_fill,
                     LUC_ARGS(luc_v_tensor(zeros), like, luc_v_float(-(double)INFINITY)));
}

static void take_masks(call *c, const luc_value *args) {
  luc_tensor *mask = c->causal ? NULL : luc_as_tensor(&args[MASK]);
  luc_tensor *padding = luc_as_tensor(&args[PADDING]);
  c->mask = to_float(c, mask);
  c->padding = to_float(c, padding);
  if (mask && mask->ndim == 3)
    c->mask = luc__f_reshape(&c->f, c->mask, 4, (int64_t[]){c->n, c->heads, c->l, c->s});
  if (padding) c->padding = luc__f_reshape(&c->f, c->padding, 4, (int64_t[]){c->n, 1, 1, c->s});
}

/* One more key and value for every query (t NULL: zeros), which no mask hides. */
static luc_tensor *add_key(call *c, luc_tensor *keys, luc_tensor *t) {
  if (c->f.status != LUC_OK) return NULL;
  int64_t sizes[3] = {c->n, c->n, c->e};
  sizes[c->length] = 1;
  luc_value like = luc_v_tensor(keys), shape = luc_v_ints(sizes, 3);
  luc_tensor *row = t ? luc__f_expand(&c->f, t, 3, sizes)
                      : luc__f_call(&c->f, LUC_OP_new_zeros, LUC_ARGS(like, shape));
  if (row == NULL) return NULL;
  luc_tensor *both[2] = {keys, row};
  return luc__f_call(&c->f, LUC_OP_cat, LUC_ARGS(luc_v_tensors(both, 2), luc_v_int(c->length)));
}

static luc_tensor *add_column(call *c, luc_tensor *mask) {
  static const int64_t one[2] = {0, 1};
  if (mask == NULL) return NULL;
  return luc__f_call(&c->f, LUC_OP_pad, LUC_ARGS(luc_v_tensor(mask), luc_v_ints(one, 2)));
}

static void add_keys(call *c, luc_tensor *k, luc_tensor *v) {
  c->k = add_key(c, c->k, k);
  c->v = add_key(c, c->v, v);
  c->mask = add_column(c, c->mask);
  c->padding = add_column(c, c->padding);
  c->s++;
}

/* [n, heads, length, features of a head] */
static luc_tensor *to_heads(call *c, luc_tensor *t, int64_t length) {
  int64_t sizes[4] = {c->n, c->n, c->heads, c->e / c->heads};
  sizes[c->length] = length;
  return luc__f_permute(&c->f, luc__f_reshape(&c->f, t, 4, sizes), 4,
                        (int64_t[]){c->batch, 2, c->length, 3});
}

/* softmax(q kᵀ / sqrt(features) + mask) v and, if they are asked for, its weights. */
static luc_tensor *attend(call *c, luc_tensor **weights) {
  luc_formula *f = &c->f;
  luc_tensor *q = to_heads(c, c->q, c->l), *k = to_heads(c, c->k, c->s),
             *v = to_heads(c, c->v, c->s);
  luc_tensor *mask = c->mask && c->padding ? luc__f2(f, LUC_OP_add, c->mask, c->padding)
                     : c->mask             ? c->mask
                                           : c->padding;
  double p = c->m->training ? luc_as_double(&c->m->config[DROPOUT]) : 0;
  luc_value drop = luc_v_float(p);
  if (!c->weights)
    return luc__f_call(f, LUC_OP_scaled_dot_product_attention,
                       LUC_ARGS(luc_v_tensor(q), luc_v_tensor(k), luc_v_tensor(v),
                                luc_v_tensor(mask), drop, luc_v_bool(c->causal)));
  q = luc__fs(f, LUC_OP_mul, q, sqrt((double)c->heads / (double)c->e));
  luc_tensor *scores = luc__f2(f, LUC_OP_matmul, q, luc__f_transpose(f, k, -2, -1));
  if (mask) scores = luc__f2(f, LUC_OP_add, scores, mask);
  luc_tensor *w = luc__f_call(f, LUC_OP_softmax, LUC_ARGS(luc_v_tensor(scores), luc_v_int(-1)));
  if (p > 0) w = luc__f_call(f, LUC_OP_dropout, LUC_ARGS(luc_v_tensor(w), drop));
  *weights = w;
  return luc__f2(f, LUC_OP_matmul, w, v);
}

/* out_proj's forward, but none of its hooks: PyTorch reads its parameters. */
static luc_tensor *project_back(call *c, luc_tensor *t) {
  luc_module *child = luc_module_child(c->m, "out_proj");
  const luc_class *linear;
  luc_outputs out = {0};
  if (c->f.status == LUC_OK) c->f.status = luc__class_find(c->ctx, "Linear", &linear);
  if (c->f.status == LUC_OK && (child == NULL || !luc__class_is(child->cls, linear)))
    c->f.status = luc__fail(c->ctx, LUC_ERR_TYPE, "%s: out_proj must be a Linear", c->who);
  if (c->f.status != LUC_OK) return NULL;
  luc_value args[LUC_MAX_PARAMS] = {luc_v_tensor(t)};
  c->f.status = luc__class_forward(c->ctx, child, child->cls->core, args, 1, &out);
  return c->f.status == LUC_OK ? luc__f_own(&c->f, out.v[0].as.tensor) : NULL;
}

static luc_status begin(call *c, luc_value *args) {
  luc_tensor *query = args[QUERY].as.tensor;
  LUC_CHECK(c->ctx, query->ndim == 2 || query->ndim == 3, LUC_ERR_SHAPE,
            "%s: query should be unbatched 2D or batched 3D tensor but received %d-D query tensor",
            c->who, query->ndim);
  c->batched = query->ndim == 3;
  LUC_TRY(check_kinds(c, args));
  LUC_TRY(check_ranks(c, args));
  bool one = query == args[KEY].as.tensor && query == args[VALUE].as.tensor;
  c->q = sequence(c, query);
  c->k = one ? c->q : sequence(c, args[KEY].as.tensor);
  c->v = one ? c->q : sequence(c, args[VALUE].as.tensor);
  if (c->f.status != LUC_OK) return c->f.status;
  c->length = c->batched && c->m->config[BATCH_FIRST].as.i;
  c->batch = 1 - c->length;
  c->l = c->q->sizes[c->length];
  c->n = c->q->sizes[c->batch];
  c->s = c->k->sizes[c->length];
  LUC_TRY(check_widths(c));
  LUC_TRY(check_masks(c, args));
  return project(c, one);
}

/* The result, and with weights asked for: [n, heads, l, s] or their mean over the heads. */
static void finish(call *c, luc_tensor *y, luc_tensor *weights, bool average, luc_outputs *out) {
  luc_formula *f = &c->f;
  luc_tensor *kept[2] = {0};
  int64_t dims[4] = {2, 2, 1, 3}, sizes[3] = {c->l, c->l, c->e};
  dims[c->batch] = 0;
  sizes[c->batch] = c->n;
  y = luc__f_permute(f, y, 4, dims);
  y = project_back(c, luc__f_reshape(f, y, 3, sizes));
  if (!c->batched) y = luc__f_squeeze(f, y, 1);
  if (weights && average) weights = luc__f_mean(f, weights, 1, (int64_t[]){1}, false);
  if (weights && !c->batched) weights = luc__f_squeeze(f, weights, 0);
  if (f->status != LUC_OK) return;
  luc__f_keep(f, y, &kept[0]);
  luc__f_keep(f, weights, &kept[1]);
  out->n = kept[1] ? 2 : 1;
  for (int i = 0; i < out->n; i++) out->v[i] = luc_v_tensor(kept[i]);
}

luc_status luc__multihead_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                  luc_outputs *out) {
  call c = {.ctx = ctx,
            .m = m,
            .who = m->cls->name,
            .f = luc__formula(ctx),
            .weights = args[NEED_WEIGHTS].as.i != 0,
            .e = m->config[EMBED].as.i,
            .heads = m->config[HEADS].as.i};
  luc_tensor *weights = NULL;
  c.causal = args[CAUSAL].as.i && luc_is_none(&args[PADDING]) && !c.weights;
  luc_status status = begin(&c, args);
  if (c.f.status == LUC_OK) c.f.status = status;
  if (c.f.status == LUC_OK) take_masks(&c, args);
  luc_tensor *bias_k = luc__slot_tensor(m, "bias_k", 6), *bias_v = luc__slot_tensor(m, "bias_v", 6);
  if (bias_k && bias_v) add_keys(&c, bias_k, bias_v);
  if (m->config[ZERO_ATTN].as.i) add_keys(&c, NULL, NULL);
  luc_tensor *y = attend(&c, &weights);
  finish(&c, y, weights, args[AVERAGE].as.i != 0, out);
  return luc__f_end(&c.f, NULL, NULL);
}
