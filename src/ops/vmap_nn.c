/* Rules of vmap for products, convolutions, pooling, norms, losses and random numbers. A batch of
 * inputs is folded into the operator's own batch; a batch of weights becomes groups. */
#include "ops/vmap_rules.h"

#include <string.h>

#include "cpu/softmax.h" /* luc_reduction */

/* ---- products ---- */

/* A factor of a matrix product with as many dimensions as `ndim` asks for in front of its matrix;
 * a vector becomes a row (the left one) or a column. */
static luc_tensor *factor(luc_vcall *c, int p, int ndim, bool left) {
  luc_tensor *t = c->args[p].as.tensor;
  if (luc__vm_ndim(c, p) == 1) t = luc__f_unsqueeze(&c->f, t, left ? -2 : -1);
  return c->batched >> p & 1 ? luc__vm_pad(c, t, ndim) : t;
}

/* The product of parameters p and p + 1, with the level's dimension in front. */
static luc_tensor *product(luc_vcall *c, int p) {
  int na = luc__vm_ndim(c, p), nb = luc__vm_ndim(c, p + 1), ndim = na > nb ? na : nb;
  if (ndim < 2) ndim = 2;
  luc_tensor *a = factor(c, p, ndim, true), *b = factor(c, p + 1, ndim, false);
  luc_tensor *ab = luc__f2(&c->f, LUC_OP_matmul, a, b);
  if (na == 1) ab = luc__f_squeeze(&c->f, ab, -2);
  if (nb == 1) ab = luc__f_squeeze(&c->f, ab, -1);
  return ab;
}

/* How many dimensions the factors of an operator must have; 0: any. */
static bool ranks_fit(const luc_vcall *c, int p) {
  int na = luc__vm_ndim(c, p), nb = luc__vm_ndim(c, p + 1);
  if (!na || !nb) return false;
  switch (c->op) {
  case LUC_OP_mm:
  case LUC_OP_addmm: return na == 2 && nb == 2;
  case LUC_OP_bmm:
  case LUC_OP_baddbmm:
    return na == 3 && nb == 3 &&
           c->given[p].as.tensor->sizes[0] == c->given[p + 1].as.tensor->sizes[0];
  case LUC_OP_mv:
  case LUC_OP_addmv: return na == 2 && nb == 1;
  case LUC_OP_vdot: /* the first one's conjugate */
    if (luc__dtype_is_complex(c->given[p].as.tensor->dtype)) return false;
    return na == 1 && nb == 1;
  case LUC_OP_dot: return na == 1 && nb == 1;
  default: return true;
  }
}

luc_status luc__vmap_matmul(luc_context *ctx, luc_vcall *c) {
  (void)ctx;
  if (!ranks_fit(c, 0)) return LUC_VMAP_DECLINE;
  return luc__vm_result(c, 0, product(c, 0));
}

/* beta * input + alpha * (a b) */
luc_status luc__vmap_add_product(luc_context *ctx, luc_vcall *c) {
  luc_value *beta = &c->args[3], *alpha = &c->args[4];
  if (!ranks_fit(c, 1)) return LUC_VMAP_DECLINE;
  luc_tensor *ab = product(c, 1), *input = c->args[0].as.tensor;
  LUC_TRY(c->f.status);
  const bool by_sample = c->batched & 6; /* or one product for all */
  const int ndim = ab->ndim - by_sample;
  if (luc__vm_ndim(c, 0) > ndim) return LUC_VMAP_DECLINE;
  if (!by_sample && luc_as_double(beta) == 0) return LUC_VMAP_DECLINE;
  if (c->batched & 1 && luc__vm_ndim(c, 0) < ndim) input = factor(c, 0, ndim, true);
  if (luc_as_double(alpha) != 1)
    ab = luc__f_call(&c->f, LUC_OP_mul, LUC_ARGS(luc_v_tensor(ab), *alpha));
  if (luc_as_double(beta) == 0) return luc__vm_result(c, 0, ab);
  if (luc_as_double(beta) != 1)
    input = luc__f_call(&c->f, LUC_OP_mul, LUC_ARGS(luc_v_tensor(input), *beta));
  (void)ctx;
  return luc__vm_result(c, 0, luc__f2(&c->f, LUC_OP_add, input, ab));
}

/* mm_fold(a, b): aᵀ b over all that stands before the last dimension */
luc_status luc__vmap_mm_fold(luc_context *ctx, luc_vcall *c) {
  luc_tensor *t[2];
  (void)ctx;
  for (int p = 0; p < 2; p++) {
    t[p] = c->args[p].as.tensor;
    bool batched = c->batched >> p & 1;
    int64_t last = t[p]->sizes[t[p]->ndim - 1], whole = t[p]->numel;
    if (batched) whole /= c->level->size ? c->level->size : 1;
    int64_t sizes[] = {c->level->size, last ? whole / last : 0, last};
    t[p] = luc__f_reshape(&c->f, t[p], batched ? 3 : 2, batched ? sizes : sizes + 1);
  }
  luc_tensor *at = luc__f_transpose(&c->f, t[0], -2, -1);
  return luc__vm_result(c, 0, luc__f2(&c->f, LUC_OP_matmul, at, t[1]));
}

/* linear(input, weight, bias) */
luc_status luc__vmap_linear(luc_context *ctx, luc_vcall *c) {
  int nx = luc__vm_ndim(c, 0), nw = luc__vm_ndim(c, 1), nb = luc__vm_ndim(c, 2);
  if (!(c->batched & 6)) return nx ? luc__vm_call(ctx, c) : LUC_VMAP_DECLINE;
  if (!nx || nw != 2 || nb > 1) return LUC_VMAP_DECLINE;
  luc_tensor *x = c->args[0].as.tensor, *w = c->args[1].as.tensor;
  luc_tensor *bias = luc_as_tensor(&c->args[2]);
  int64_t rows = c->given[0].as.tensor->numel, in = c->given[0].as.tensor->sizes[nx - 1];
  int64_t flat[] = {c->level->size, in ? rows / in : 0, in}, sizes[LUC_MAX_DIMS];
  if (!in || nx >= LUC_MAX_DIMS) return LUC_VMAP_DECLINE;
  x = luc__f_reshape(&c->f, x, c->batched & 1 ? 3 : 2, c->batched & 1 ? flat : flat + 1);
  luc_tensor *y = luc__f2(&c->f, LUC_OP_matmul, x, luc__f_transpose(&c->f, w, -2, -1));
  if (c->batched >> 2 & 1) bias = luc__f_unsqueeze(&c->f, bias, 1);
  if (bias) y = luc__f2(&c->f, LUC_OP_add, y, bias);
  LUC_TRY(c->f.status);
  if (y->ndim < 3) return LUC_VMAP_DECLINE; /* only the bias is batched, and was too small */
  sizes[0] = c->level->size;
  copy_sizes(sizes + 1, c->given[0].as.tensor->sizes, nx);
  sizes[nx] = y->sizes[2];
  return luc__vm_result(c, 0, luc__f_reshape(&c->f, y, nx + 1, sizes));
}

/* ---- folding ---- */

/* Dimensions `at` and the one behind it become one. */
static luc_tensor *merge(luc_vcall *c, luc_tensor *t, int at) {
  int64_t sizes[LUC_MAX_DIMS];
  if (c->f.status == LUC_OK && t->ndim < at + 2) c->f.status = LUC_VMAP_DECLINE;
  if (c->f.status != LUC_OK) return NULL;
  copy_sizes(sizes, t->sizes, at + 1);
  sizes[at] *= t->sizes[at + 1];
  copy_sizes(sizes + at + 1, t->sizes + at + 2, t->ndim - at - 2);
  return luc__f_reshape(&c->f, t, t->ndim - 1, sizes);
}

/* Dimension `at` becomes the level's and one behind it. */
static luc_tensor *split(luc_vcall *c, luc_tensor *t, int at) {
  int64_t sizes[LUC_MAX_DIMS];
  const int64_t size = c->level->size;
  if (c->f.status == LUC_OK && (!t || !size || t->ndim == LUC_MAX_DIMS))
    c->f.status = LUC_VMAP_DECLINE;
  if (c->f.status != LUC_OK) return NULL;
  copy_sizes(sizes, t->sizes, at);
  sizes[at] = size;
  sizes[at + 1] = t->sizes[at] / size;
  copy_sizes(sizes + at + 2, t->sizes + at + 1, t->ndim - at - 1);
  return luc__f_reshape(&c->f, t, t->ndim + 1, sizes);
}

/* [B, N, ...] as [B * N, ...]; without a level's dimension it is expanded first. */
static luc_tensor *fold(luc_vcall *c, int p) {
  if (!luc__vm_batch(c, p) || c->args[p].kind != LUC_TENSOR) return NULL;
  return merge(c, c->args[p].as.tensor, 0);
}

static luc_tensor *unfold(luc_vcall *c, luc_tensor *t) {
  return split(c, t, 0);
}

/* The sizes of a whole input begin with its batch. */
static void fold_sizes(luc_vcall *c) {
  int p = luc__schema_find(&c->info->schema, "input_size");
  if (p < 0 || c->args[p].n < 3 || c->args[p].n > LUC_MAX_DIMS) return;
  int64_t *room = c->rooms[c->nrooms++];
  copy_sizes(room, c->args[p].as.ints, c->args[p].n);
  if (c->args[p].n == luc__vm_ndim(c, 0)) room[0] *= c->level->size;
  c->args[p].as.ints = room;
}

/* [N, ...] each: pooling, resizing, sampling. */
luc_status luc__vmap_fold(luc_context *ctx, luc_vcall *c) {
  luc_value results[LUC_MAX_RESULTS] = {{0}};
  int n = c->info->schema.nresults;
  if (!c->level->size) return LUC_VMAP_DECLINE;
  for (int p = 0; p < c->info->schema.nparams; p++)
    if (c->args[p].kind == LUC_TENSOR) c->args[p].as.tensor = fold(c, p);
  LUC_TRY(c->f.status);
  fold_sizes(c);
  LUC_TRY(luc_call(ctx, c->op, c->args, c->info->schema.nparams, results));
  for (int r = 0; r < n; r++) {
    luc_tensor *t = luc__f_own(&c->f, luc_as_tensor(&results[r]));
    if (t) (void)luc__vm_result(c, r, unfold(c, t));
  }
  return c->f.status;
}

/* unfold and fold of images, of which a sample may have no batch of its own */
luc_status luc__vmap_blocks(luc_context *ctx, luc_vcall *c) {
  int plain = c->op == LUC_OP_im2col ? 3 : 2, ndim = luc__vm_ndim(c, 0);
  if (ndim == plain) return luc__vm_call(ctx, c);
  return ndim == plain + 1 ? luc__vmap_fold(ctx, c) : LUC_VMAP_DECLINE;
}

/* ---- grouping ---- */

/* [B, N, C, ...] as [N, B * C, ...]; without the level's dimension expanded. */
static luc_tensor *to_channels(luc_vcall *c, int p) {
  if (!luc__vm_batch(c, p)) return NULL;
  return merge(c, luc__f_transpose(&c->f, c->args[p].as.tensor, 0, 1), 1);
}

static luc_tensor *from_channels(luc_vcall *c, luc_tensor *t) {
  return luc__f_transpose(&c->f, split(c, t, 1), 0, 1);
}

/* convolution(input, weight, bias, ..., groups, output_size), convolution_input(grad, weight, ...):
 * the same weights for all, or groups. */
luc_status luc__vmap_convolution(luc_context *ctx, luc_vcall *c) {
  int n = c->info->schema.nparams, groups = luc__schema_find(&c->info->schema, "groups");
  bool bias = c->op == LUC_OP_convolution && c->args[2].kind == LUC_TENSOR;
  uint32_t weights = c->op == LUC_OP_convolution ? 6 : 2;
  if (!c->level->size) return LUC_VMAP_DECLINE;
  if (!(c->batched & weights)) {
    c->args[0].as.tensor = fold(c, 0);
    LUC_TRY(c->f.status);
    return luc__vm_result(c, 0, unfold(c, luc__f_call(&c->f, c->op, c->args, n)));
  }
  bool shared = c->op == LUC_OP_convolution && !(c->batched & 1) && c->args[groups].as.i == 1;
  if (!shared) {
    c->args[0].as.tensor = to_channels(c, 0);
    c->args[groups].as.i *= c->level->size;
  }
  c->args[1].as.tensor = fold(c, 1);
  if (bias) c->args[2].as.tensor = fold(c, 2);
  LUC_TRY(c->f.status);
  (void)ctx;
  return luc__vm_result(c, 0, from_channels(c, luc__f_call(&c->f, c->op, c->args, n)));
}

/* convolution_weight(grad, input, kernel_size, ..., groups) */
luc_status luc__vmap_convolution_weight(luc_context *ctx, luc_vcall *c) {
  int n = c->info->schema.nparams, groups = luc__schema_find(&c->info->schema, "groups");
  if (!c->level->size) return LUC_VMAP_DECLINE;
  c->args[0].as.tensor = to_channels(c, 0);
  c->args[1].as.tensor = to_channels(c, 1);
  c->args[groups].as.i *= c->level->size;
  LUC_TRY(c->f.status);
  (void)ctx;
  return luc__vm_result(c, 0, unfold(c, luc__f_call(&c->f, c->op, c->args, n)));
}

/* native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps) */
luc_status luc__vmap_batch_norm(luc_context *ctx, luc_vcall *c) {
  luc_value results[LUC_MAX_RESULTS] = {{0}};
  for (int p = 3; p <= 4 && c->args[5].as.i; p++)
    LUC_CHECK(ctx, c->args[p].kind == LUC_NONE || (c->batched >> p & 1), LUC_ERR_STATE,
              "batch_norm: vmap: Batch norm got a batched tensor as input while the running_mean "
              "or running_var, which will be updated in place, were not batched. Use eval(), set "
              "track_running_stats to false, or see "
              "lucerna.func.replace_all_batch_norm_modules_");
  if (!c->level->size || luc__vm_ndim(c, 0) < 2) return LUC_VMAP_DECLINE;
  c->args[0].as.tensor = to_channels(c, 0);
  for (int p = 1; p <= 4; p++) {
    bool written = p >= 3 && c->args[5].as.i && c->args[p].kind == LUC_TENSOR;
    if (written && !luc__is_contiguous(c->args[p].as.tensor)) return LUC_VMAP_DECLINE;
    if (c->args[p].kind == LUC_TENSOR) c->args[p].as.tensor = fold(c, p);
  }
  LUC_TRY(c->f.status);
  LUC_TRY(luc_call(ctx, c->op, c->args, c->info->schema.nparams, results));
  luc_tensor *y = luc__f_own(&c->f, results[0].as.tensor);
  luc_tensor *mean = luc__f_own(&c->f, results[1].as.tensor);
  luc_tensor *rstd = luc__f_own(&c->f, results[2].as.tensor);
  LUC_TRY(luc__vm_result(c, 0, from_channels(c, y)));
  LUC_TRY(luc__vm_result(c, 1, unfold(c, mean)));
  return luc__vm_result(c, 2, unfold(c, rstd));
}

/* native_layer_norm(input, normalized_shape, weight, bias, eps, rms): weights of each sample's own
 * are applied afterwards. Means and deviations are in one row. */
luc_status luc__vmap_layer_norm(luc_context *ctx, luc_vcall *c) {
  luc_value results[LUC_MAX_RESULTS] = {{0}}, args[LUC_MAX_PARAMS];
  bool own = c->batched >> 2 & 3;
  if (!c->level->size || !luc__vm_batch(c, 0)) return LUC_VMAP_DECLINE;
  memcpy(args, c->args, sizeof args);
  if (own) args[2] = args[3] = luc_v_none();
  LUC_TRY(luc_call(ctx, c->op, args, 6, results));
  luc_tensor *t[3];
  for (int r = 0; r < 3; r++) t[r] = luc__f_own(&c->f, results[r].as.tensor);
  for (int p = 2; p <= 3 && own; p++) {
    luc_tensor *each = luc_as_tensor(&c->args[p]);
    if (!each) continue;
    if (c->batched >> p & 1) each = luc__vm_pad(c, each, luc__vm_ndim(c, 0));
    t[0] = luc__f2(&c->f, p == 2 ? LUC_OP_mul : LUC_OP_add, t[0], each);
  }
  LUC_TRY(luc__vm_result(c, 0, t[0]));
  LUC_TRY(luc__vm_result(c, 1, unfold(c, t[1])));
  return luc__vm_result(c, 2, unfold(c, t[2]));
}

/* activation_backward(grad, input, ...): of one shape */
luc_status luc__vmap_same_shape(luc_context *ctx, luc_vcall *c) {
  return luc__vm_all_batched(c) ? luc__vm_call(ctx, c) : LUC_VMAP_DECLINE;
}

/* ---- losses ---- */

/* t over all but the level's dimension */
static luc_tensor *reduced(luc_vcall *c, luc_tensor *t, int reduction) {
  int64_t dims[LUC_MAX_DIMS];
  if (c->f.status != LUC_OK || reduction == LUC_REDUCE_NONE || t->ndim == 1) return t;
  for (int d = 1; d < t->ndim; d++) dims[d - 1] = d;
  return reduction == LUC_REDUCE_MEAN ? luc__f_mean(&c->f, t, t->ndim - 1, dims, false)
                                      : luc__f_sum(&c->f, t, t->ndim - 1, dims, false);
}

/* (input, target, reduction, at) */
luc_status luc__vmap_loss(luc_context *ctx, luc_vcall *c) {
  luc_value results[LUC_MAX_RESULTS] = {{0}}, *out = c->out;
  int reduction = (int)c->args[2].as.i;
  if (luc__vm_ndim(c, 0) != luc__vm_ndim(c, 1)) return LUC_VMAP_DECLINE;
  c->args[2] = luc_v_int(LUC_REDUCE_NONE);
  c->out = results;
  luc_status status = luc__vmap_pointwise(ctx, c);
  c->out = out;
  LUC_TRY(status);
  luc_tensor *t = luc__f_own(&c->f, results[0].as.tensor);
  return luc__vm_result(c, 0, reduced(c, t, reduction));
}

/* The weight that each target counts with: 0 if it is ignored. */
static luc_tensor *target_weights(luc_vcall *c, luc_tensor *target, luc_tensor *weight) {
  luc_formula *f = &c->f;
  luc_dtype dtype = c->args[0].as.tensor->dtype;
  luc_tensor *counts = luc__f_call(f, LUC_OP_ne, LUC_ARGS(luc_v_tensor(target), c->args[3]));
  counts = luc__f_to(f, counts, dtype);
  if (!weight || f->status != LUC_OK) return counts;
  luc_tensor *at = luc__f_call(f, LUC_OP_clamp_min, LUC_ARGS(luc_v_tensor(target), luc_v_int(0)));
  at = luc__f_call(f, LUC_OP_take, LUC_ARGS(luc_v_tensor(weight), luc_v_tensor(at)));
  return luc__f2(f, LUC_OP_mul, at, counts);
}

/* nll_loss_forward(input, target, weight, ignore_index, reduction) -> (output, total_weight) */
luc_status luc__vmap_nll_loss(luc_context *ctx, luc_vcall *c) {
  int reduction = (int)c->args[4].as.i, nx = luc__vm_ndim(c, 0), nt = luc__vm_ndim(c, 1);
  bool single = nx == 1 && nt == 0;
  luc_tensor *weight = luc_as_tensor(&c->args[2]), *loss, *total;
  if ((c->batched >> 2 & 1) || !c->level->size || (!single && nx != nt + 1))
    return LUC_VMAP_DECLINE;
  if (!luc__vm_all_batched(c)) return c->f.status;
  luc_tensor *target = c->args[1].as.tensor;
  if (!single) {
    c->args[0].as.tensor = fold(c, 0);
    c->args[1].as.tensor = fold(c, 1);
    LUC_TRY(c->f.status);
  }
  c->args[4] = luc_v_int(LUC_REDUCE_NONE);
  loss = luc__f_call(&c->f, c->op, c->args, 5);
  if (!single) loss = unfold(c, loss);
  total = reduced(c, target_weights(c, target, weight), LUC_REDUCE_SUM);
  loss = reduced(c, loss, reduction == LUC_REDUCE_NONE ? reduction : LUC_REDUCE_SUM);
  if (reduction == LUC_REDUCE_MEAN) loss = luc__f2(&c->f, LUC_OP_div, loss, total);
  (void)ctx;
  LUC_TRY(luc__vm_result(c, 0, loss));
  return luc__vm_result(c, 1, total);
}

/* embedding(weight, indices, padding_idx, scale_grad_by_freq): one table for all, unless samples
 * count for themselves how often they use a row */
luc_status luc__vmap_embedding(luc_context *ctx, luc_vcall *c) {
  return c->batched & 1 || c->args[3].as.i ? LUC_VMAP_DECLINE : luc__vm_call(ctx, c);
}

/* attention of [..., rows, width]: dimensions in front are its own */
luc_status luc__vmap_attention(luc_context *ctx, luc_vcall *c) {
  int first = c->op == LUC_OP_attention ? 0 : 1;
  if (c->args[first + 3].kind != LUC_NONE) return LUC_VMAP_DECLINE;
  for (int p = 0; p < first + 3; p++)
    if (luc__vm_ndim(c, p) != luc__vm_ndim(c, 0)) return LUC_VMAP_DECLINE;
  return luc__vm_all_batched(c) ? luc__vm_call(ctx, c) : LUC_VMAP_DECLINE;
}

/* ---- recurrent layers ---- */

/* [B, T * N, width], the rows of all steps in turn, as [T, B * N, width] in two dimensions; or
 * back. */
static luc_tensor *steps_first(luc_vcall *c, luc_tensor *t, int64_t steps, bool back) {
  if (c->f.status != LUC_OK || !t) return NULL;
  const int64_t width = t->sizes[t->ndim - 1], size = c->level->size;
  const int64_t rows = back ? t->sizes[0] / size : t->sizes[1];
  const int64_t from[] = {back ? steps : size, back ? size : steps, rows / steps, width};
  t = luc__f_transpose(&c->f, luc__f_reshape(&c->f, t, 4, from), 0, 1);
  if (back) return luc__f_reshape(&c->f, t, 3, (int64_t[]){size, rows, width});
  return luc__f_reshape(&c->f, t, 2, (int64_t[]){rows * size, width});
}

/* The samples' rows beside each other in each step. */
static luc_status run_together(luc_context *ctx, luc_vcall *c, int64_t steps, int64_t *sizes) {
  luc_value results[LUC_MAX_RESULTS] = {{0}};
  for (int64_t i = 0; i < steps; i++) sizes[i] = c->args[7].as.ints[i] * c->level->size;
  c->args[7].as.ints = sizes;
  if (!luc__vm_batch(c, 0)) return c->f.status;
  c->args[0].as.tensor = steps_first(c, c->args[0].as.tensor, steps, false);
  for (int p = 1; p <= 2; p++)
    if (c->args[p].kind == LUC_TENSOR) c->args[p].as.tensor = fold(c, p);
  LUC_TRY(c->f.status);
  LUC_TRY(luc_call(ctx, c->op, c->args, c->info->schema.nparams, results));
  for (int r = 0; r < c->info->schema.nresults; r++) {
    luc_tensor *t = luc__f_own(&c->f, luc_as_tensor(&results[r]));
    const bool state = r == 1 || r == 2;
    if (t) (void)luc__vm_result(c, r, state ? unfold(c, t) : steps_first(c, t, steps, true));
  }
  return c->f.status;
}

/* recurrence(gates, h, c, w_hh, b_hh, w_hr, cell, batch_sizes, reverse, keep) -> (output, h_n, c_n,
 * work, cells): the same weights for all, sequences of one length */
luc_status luc__vmap_recurrence(luc_context *ctx, luc_vcall *c) {
  const int64_t steps = c->args[7].n;
  const int64_t *each = c->args[7].as.ints;
  if (c->batched >> 3 || !c->level->size || luc__vm_ndim(c, 0) != 2 || luc__vm_ndim(c, 1) != 2)
    return LUC_VMAP_DECLINE;
  if (steps == 0 || each[0] == 0 || each[steps - 1] != each[0]) return LUC_VMAP_DECLINE;
  const size_t bytes = (size_t)steps * sizeof *each;
  int64_t *sizes = luc__alloc(ctx, bytes);
  if (!sizes) return LUC_ERR_MEMORY;
  luc_status status = run_together(ctx, c, steps, sizes);
  c->args[7].as.ints = each;
  luc__free(ctx, sizes, bytes);
  return status;
}

/* constant_pad_nd(input, pad, value) */
luc_status luc__vmap_pad(luc_context *ctx, luc_vcall *c) {
  return c->args[1].n > 2 * luc__vm_ndim(c, 0) ? LUC_VMAP_DECLINE : luc__vm_call(ctx, c);
}

/* searchsorted(sorted, input, …, sorter), bucketize(input, boundaries) in one list for all */
luc_status luc__vmap_search(luc_context *ctx, luc_vcall *c) {
  enum { SORTER = 5 };
  int list = c->op == LUC_OP_searchsorted ? 0 : 1;
  bool one = luc__vm_ndim(c, list) == 1 && !(c->batched & (1u << list | 1u << SORTER));
  return one ? luc__vm_call(ctx, c) : LUC_VMAP_DECLINE;
}

/* ---- several index tensors: index(self, indices) ---- */

/* Do the index tensors stand side by side, beginning with the first dimension? */
static bool leading(const luc_vcall *c) {
  int n = c->nlist;
  while (n > 0 && !c->list[n - 1]) n--;
  for (int i = 0; i < n; i++)
    if (!c->list[i] || c->list[i]->dtype == LUC_BOOL) return false;
  return n > 0;
}

luc_status luc__vmap_index(luc_context *ctx, luc_vcall *c) {
  luc_tensor *all[LUC_MAX_DIMS];
  int first = 0, last = c->nlist - 1, most = 0, n = c->nlist;
  if (n >= LUC_MAX_DIMS) return LUC_VMAP_DECLINE;
  while (first < n && !c->list[first]) first++;
  while (last > first && !c->list[last]) last--;
  if (n) memcpy(all + 1, c->list, (size_t)n * sizeof *all);
  if (!(c->batched >> 1 & 1)) { /* the same indices for all: one more slice in front */
    for (int i = first; i <= last; i++)
      if (!c->list[i]) return LUC_VMAP_DECLINE;
    all[0] = NULL;
    return luc_call(ctx, c->op, LUC_ARGS(c->args[0], luc_v_tensors(all, n + 1)), c->out);
  }
  if (!leading(c)) return LUC_VMAP_DECLINE;
  for (int i = 0; i <= last; i++)
    if (c->given[1].as.tensors[i]->ndim > most) most = c->given[1].as.tensors[i]->ndim;
  if (most + 1 > LUC_MAX_DIMS) return LUC_VMAP_DECLINE;
  int64_t sizes[LUC_MAX_DIMS + 1] = {c->level->size};
  for (int i = -1; i <= last; i++) { /* [B, 1..., own...] */
    luc_tensor *t = i < 0 ? NULL : c->list[i];
    if (i >= 0 && t == c->given[1].as.tensors[i]) continue;
    int own = i < 0 ? 0 : t->ndim - 1;
    if (i < 0) t = luc__f_call(&c->f, LUC_OP_arange, LUC_ARGS(luc_v_int(c->level->size)));
    LUC_TRY(c->f.status);
    for (int d = 0; d < most - own; d++) sizes[1 + d] = 1;
    copy_sizes(sizes + 1 + most - own, t->sizes + 1, own);
    all[i + 1] = luc__f_reshape(&c->f, t, most + 1, sizes);
  }
  LUC_TRY(c->f.status);
  int skip = c->batched & 1 ? 0 : 1; /* one tensor for all needs no position of its own */
  return luc_call(ctx, c->op, LUC_ARGS(c->args[0], luc_v_tensors(all + skip, n + 1 - skip)),
                  c->out);
}

/* ---- random numbers ---- */

static luc_status fail_random(luc_context *ctx, const luc_vcall *c) {
  return luc__fail(ctx, LUC_ERR_STATE,
                   "%s: vmap: called random operation while in randomness error mode. Please "
                   "either use the 'same' or 'different' randomness flags on vmap or perform the "
                   "randomness operation out of vmap",
                   c->info->schema.name);
}

/* rand(size) and its kin */
luc_status luc__vmap_random_size(luc_context *ctx, luc_vcall *c) {
  int p = luc__schema_find(&c->info->schema, "size");
  if (c->level->randomness == LUC_RANDOM_ERROR) return fail_random(ctx, c);
  if (c->level->randomness == LUC_RANDOM_SAME) {
    c->plain = true;
    return luc__vm_call(ctx, c);
  }
  if (p < 0 || c->args[p].n >= LUC_MAX_DIMS) return LUC_VMAP_DECLINE; /* randperm */
  int64_t *room = c->rooms[c->nrooms++];
  room[0] = c->level->size;
  copy_sizes(room + 1, c->args[p].as.ints, c->args[p].n);
  c->args[p] = luc_v_ints(room, c->args[p].n + 1);
  return luc__vm_call(ctx, c);
}

/* The first sample of every argument. */
static void take_first(luc_vcall *c) {
  for (int p = 0; p < c->info->schema.nparams; p++)
    if (c->args[p].kind == LUC_TENSOR && (c->batched >> p & 1))
      c->args[p].as.tensor =
          luc__f_call(&c->f, LUC_OP_select, LUC_ARGS(c->args[p], luc_v_int(0), luc_v_int(0)));
}

/* rand_like and others to which the input gives only a shape */
luc_status luc__vmap_random_like(luc_context *ctx, luc_vcall *c) {
  if (c->level->randomness == LUC_RANDOM_ERROR) return fail_random(ctx, c);
  if (c->level->randomness == LUC_RANDOM_DIFFERENT)
    return luc__vm_all_batched(c) ? luc__vmap_pointwise(ctx, c) : LUC_VMAP_DECLINE;
  c->plain = true;
  take_first(c);
  return luc__vm_call(ctx, c);
}

static luc_status fail_same(luc_context *ctx, const luc_vcall *c) {
  return luc__fail(ctx, LUC_ERR_STATE,
                   "%s: Vmap does not currently support same randomness with a batched tensor "
                   "input",
                   c->info->schema.name);
}

/* bernoulli and others that draw by the input's values: sample by sample */
luc_status luc__vmap_random_of(luc_context *ctx, luc_vcall *c) {
  if (c->level->randomness == LUC_RANDOM_ERROR) return fail_random(ctx, c);
  if (c->level->randomness == LUC_RANDOM_DIFFERENT) return LUC_VMAP_DECLINE;
  if (c->batched) return fail_same(ctx, c);
  c->plain = true;
  return luc__vm_call(ctx, c);
}

/* uniform_ and others that fill */
luc_status luc__vmap_random_fill(luc_context *ctx, luc_vcall *c) {
  bool batched = c->batched & 1;
  if (c->level->randomness == LUC_RANDOM_ERROR) return fail_random(ctx, c);
  if (c->level->randomness == LUC_RANDOM_DIFFERENT) {
    LUC_CHECK(ctx, batched, LUC_ERR_STATE,
              "%s: vmap: Cannot ask for different inplace randomness on an unbatched tensor. This "
              "will appear like same randomness. If this is necessary for your usage, please file "
              "an issue with functorch",
              c->info->schema.name);
    return c->batched == 1 ? luc__vm_call(ctx, c) : LUC_VMAP_DECLINE;
  }
  if (!batched) return c->batched ? fail_same(ctx, c) : luc__vm_call(ctx, c);
  if (c->batched != 1) return fail_same(ctx, c);
  luc_tensor *self = c->args[0].as.tensor;
  take_first(c);
  luc_tensor *drawn = luc__f1(&c->f, LUC_OP_empty_like, c->args[0].as.tensor);
  LUC_TRY(c->f.status);
  c->args[0].as.tensor = drawn;
  LUC_TRY(luc_call_inplace(ctx, c->op, c->args, c->info->schema.nparams));
  c->args[0].as.tensor = self;
  return luc_call_inplace(ctx, LUC_OP_copy_, LUC_ARGS(luc_v_tensor(self), luc_v_tensor(drawn)));
}
