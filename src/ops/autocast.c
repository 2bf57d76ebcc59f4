/* Which operators autocast casts, and how: one table. The lists are those of PyTorch 2.9 for the
 * CPU. Casts are recorded operators, so gradients go back through them in the arguments' dtypes. */
#include "ops/autocast.h"

#include "lucerna/autograd.h"

/* WHOLE: made here of operators that are on these lists, but one kernel in PyTorch, which casts
 * nothing: it runs with autocast off. */
typedef enum policy { AS_GIVEN, LOWER, FULL, WIDEST, WHOLE } policy;

static const uint8_t policies[LUC_NUM_OPS] = {
    /* half precision */
    [LUC_OP_conv1d] = LOWER,
    [LUC_OP_conv2d] = LOWER,
    [LUC_OP_conv3d] = LOWER,
    [LUC_OP_conv_relu] = LOWER,
    [LUC_OP_conv_tbc] = LOWER,
    [LUC_OP_conv_transpose1d] = LOWER,
    [LUC_OP_conv_transpose2d] = LOWER,
    [LUC_OP_conv_transpose3d] = LOWER,
    [LUC_OP_matmul] = LOWER,
    [LUC_OP_linalg_matmul] = LOWER,
    [LUC_OP_mm] = LOWER,
    [LUC_OP_bmm] = LOWER,
    [LUC_OP_addmm] = LOWER,
    [LUC_OP_addbmm] = LOWER,
    [LUC_OP_baddbmm] = LOWER,
    [LUC_OP_linear] = LOWER,
    [LUC_OP_linear_relu] = LOWER,
    [LUC_OP_linalg_vecdot] = LOWER,
    [LUC_OP_prelu] = LOWER,
    [LUC_OP_recurrence] = LOWER,
    [LUC_OP_scaled_dot_product_attention] = LOWER,
    /* float32 */
    [LUC_OP_avg_pool3d] = FULL,
    [LUC_OP_adaptive_avg_pool3d] = FULL,
    [LUC_OP_adaptive_max_pool3d] = FULL,
    [LUC_OP_adaptive_max_pool3d_with_indices] = FULL,
    [LUC_OP_max_pool3d] = FULL,
    [LUC_OP_max_pool3d_with_indices] = FULL,
    [LUC_OP_max_unpool1d] = FULL,
    [LUC_OP_max_unpool2d] = FULL,
    [LUC_OP_max_unpool3d] = FULL,
    [LUC_OP_fractional_max_pool2d] = FULL,
    [LUC_OP_fractional_max_pool2d_with_indices] = FULL,
    [LUC_OP_fractional_max_pool3d] = FULL,
    [LUC_OP_fractional_max_pool3d_with_indices] = FULL,
    [LUC_OP_grid_sample] = FULL,
    [LUC_OP_binary_cross_entropy] = FULL,
    [LUC_OP_binary_cross_entropy_with_logits] = FULL,
    [LUC_OP_cosine_embedding_loss] = FULL,
    [LUC_OP_cross_entropy] = FULL,
    [LUC_OP_ctc_loss] = FULL,
    [LUC_OP_hinge_embedding_loss] = FULL,
    [LUC_OP_huber_loss] = FULL,
    [LUC_OP_kl_div] = FULL,
    [LUC_OP_l1_loss] = FULL,
    [LUC_OP_margin_ranking_loss] = FULL,
    [LUC_OP_mse_loss] = FULL,
    [LUC_OP_multi_margin_loss] = FULL,
    [LUC_OP_multilabel_margin_loss] = FULL,
    [LUC_OP_nll_loss] = FULL,
    [LUC_OP_poisson_nll_loss] = FULL,
    [LUC_OP_smooth_l1_loss] = FULL,
    [LUC_OP_soft_margin_loss] = FULL,
    [LUC_OP_triplet_margin_loss] = FULL,
    [LUC_OP_fft_fft] = FULL,
    [LUC_OP_fft_fft2] = FULL,
    [LUC_OP_fft_fftn] = FULL,
    [LUC_OP_fft_ifft] = FULL,
    [LUC_OP_fft_ifft2] = FULL,
    [LUC_OP_fft_ifftn] = FULL,
    [LUC_OP_fft_rfft] = FULL,
    [LUC_OP_fft_rfft2] = FULL,
    [LUC_OP_fft_rfftn] = FULL,
    [LUC_OP_fft_irfft] = FULL,
    [LUC_OP_fft_irfft2] = FULL,
    [LUC_OP_fft_irfftn] = FULL,
    [LUC_OP_fft_hfft] = FULL,
    [LUC_OP_fft_ihfft] = FULL,
    [LUC_OP_stft] = FULL,
    [LUC_OP_polar] = FULL,
    [LUC_OP_view_as_complex] = FULL,
    [LUC_OP_cdist] = FULL,
    [LUC_OP_prod] = FULL,
    [LUC_OP_quantile] = FULL,
    [LUC_OP_nanquantile] = FULL,
    [LUC_OP_trace] = FULL,
    [LUC_OP_cholesky] = FULL,
    [LUC_OP_cholesky_inverse] = FULL,
    [LUC_OP_cholesky_solve] = FULL,
    [LUC_OP_inverse] = FULL,
    [LUC_OP_lu] = FULL,
    [LUC_OP_lu_solve] = FULL,
    [LUC_OP_pinverse] = FULL,
    [LUC_OP_qr] = FULL,
    [LUC_OP_geqrf] = FULL,
    [LUC_OP_orgqr] = FULL,
    [LUC_OP_svd] = FULL,
    [LUC_OP_triangular_solve] = FULL,
    [LUC_OP_linalg_cholesky] = FULL,
    [LUC_OP_linalg_cholesky_ex] = FULL,
    [LUC_OP_linalg_cond] = FULL,
    [LUC_OP_linalg_cond_named] = FULL,
    [LUC_OP_linalg_eig] = FULL,
    [LUC_OP_linalg_eigvals] = FULL,
    [LUC_OP_linalg_eigh] = FULL,
    [LUC_OP_linalg_eigvalsh] = FULL,
    [LUC_OP_linalg_householder_product] = FULL,
    [LUC_OP_linalg_inv] = FULL,
    [LUC_OP_linalg_inv_ex] = FULL,
    [LUC_OP_linalg_lstsq] = FULL,
    [LUC_OP_linalg_matrix_norm] = FULL,
    [LUC_OP_linalg_matrix_norm_order] = FULL,
    [LUC_OP_linalg_matrix_rank] = FULL,
    [LUC_OP_linalg_qr] = FULL,
    [LUC_OP_linalg_solve] = FULL,
    [LUC_OP_linalg_svd] = FULL,
    [LUC_OP_linalg_svdvals] = FULL,
    [LUC_OP_linalg_tensorinv] = FULL,
    [LUC_OP_linalg_tensorsolve] = FULL,
    /* the widest of the arguments */
    [LUC_OP_cat] = WIDEST,
    [LUC_OP_stack] = WIDEST,
    [LUC_OP_index_copy] = WIDEST,
    [LUC_OP_bilinear] = WHOLE,
    [LUC_OP_linalg_lu_solve] = WHOLE,
};

bool luc__autocast_applies(luc_opid op) {
  return policies[op] != AS_GIVEN;
}

/* ---- the casts of weights: an open hash table by the weight's address ---- */

typedef struct entry {
  luc_tensor *weight, *cast; /* both held; NULL: free */
  uint32_t version;          /* of the weight's memory when it was cast */
} entry;

typedef struct weights {
  entry *entries;
  size_t room, count; /* room is a power of two, or 0 */
} weights;

static entry *find(const weights *w, const luc_tensor *weight) {
  size_t at = ((size_t)weight >> 6) * 0x9e3779b97f4a7c15u;
  for (at ^= at >> 32;; at++) {
    entry *e = &w->entries[at & (w->room - 1)];
    if (!e->weight || e->weight == weight) return e;
  }
}

static luc_status grow(luc_context *ctx, weights *w) {
  weights wider = {.room = w->room ? 2 * w->room : 64, .count = w->count};
  wider.entries = luc__alloc_zero(ctx, wider.room * sizeof *wider.entries);
  if (!wider.entries) return LUC_ERR_MEMORY;
  for (size_t i = 0; i < w->room; i++)
    if (w->entries[i].weight) *find(&wider, w->entries[i].weight) = w->entries[i];
  luc__free(ctx, w->entries, w->room * sizeof *w->entries);
  *w = wider;
  return LUC_OK;
}

void luc__autocast_clear(luc_context *ctx) {
  weights *w = ctx->autocast_weights;
  if (!w) return;
  ctx->autocast_weights = NULL; /* releasing may run code */
  for (size_t i = 0; i < w->room; i++) {
    LUC_RELEASE(ctx, w->entries[i].weight, w->entries[i].cast);
  }
  luc__free(ctx, w->entries, w->room * sizeof *w->entries);
  luc__free(ctx, w, sizeof *w);
}

/* The table with room for one more. */
static luc_status reserve(luc_context *ctx, weights **out) {
  weights *w = ctx->autocast_weights;
  if (!w) {
    LUC_TRY(luc__context_on_close(ctx, luc__autocast_clear));
    w = luc__alloc_zero(ctx, sizeof *w);
    if (!w) return LUC_ERR_MEMORY;
    ctx->autocast_weights = w;
  }
  *out = w;
  return 2 * (w->count + 1) > w->room ? grow(ctx, w) : LUC_OK;
}

/* ---- casting ---- */

static luc_status convert(luc_context *ctx, luc_tensor *t, luc_dtype dtype, luc_tensor **out) {
  return luc__op1(ctx, LUC_OP_to_copy, out, LUC_ARGS(luc_v_tensor(t), luc_v_dtype(dtype)));
}

/* Is t a weight, whose cast is kept? It is a float32 leaf that requires grad; an optimizer's step
 * raises its memory's version, which ends the cast. */
static bool is_weight(const luc_context *ctx, luc_tensor *t) {
  return ctx->autocast_cache && ctx->grad_mode && t->requires_grad && !t->inner &&
         t->dtype == LUC_FLOAT32 && luc_tensor_is_leaf(t);
}

static luc_status cast_weight(luc_context *ctx, luc_tensor *t, luc_dtype dtype, luc_tensor **out) {
  weights *w;
  LUC_TRY(reserve(ctx, &w));
  entry *e = find(w, t);
  if (!e->weight || e->cast->dtype != dtype || e->version != t->storage->version) {
    luc_tensor *fresh, *old = e->cast;
    LUC_TRY(convert(ctx, t, dtype, &fresh));
    if (!e->weight) {
      e->weight = luc__retain(t);
      w->count++;
    }
    e->cast = fresh;
    e->version = t->storage->version;
    luc_tensor_release(ctx, old);
    *out = luc__retain(fresh);
    return LUC_OK;
  }
  *out = luc__retain(e->cast);
  return LUC_OK;
}

/* A new reference to t in the dtype that is wanted; float64 and what is no real number stays. */
static luc_status cast(luc_context *ctx, luc_tensor *t, luc_dtype dtype, luc_tensor **out) {
  bool real = t->dtype == LUC_FLOAT32 || t->dtype == LUC_FLOAT16 || t->dtype == LUC_BFLOAT16;
  if (!real || t->dtype == dtype) {
    *out = luc__retain(t);
    return LUC_OK;
  }
  if (dtype != LUC_FLOAT32 && is_weight(ctx, t)) return cast_weight(ctx, t, dtype, out);
  return convert(ctx, t, dtype, out);
}

static luc_dtype target(const luc_context *ctx, luc_opid op, const luc_value *args, int n) {
  luc_tensor *const *list;
  if (policies[op] == FULL) return LUC_FLOAT32;
  if (policies[op] == WIDEST)
    for (int p = 0; p < n; p++)
      for (int i = luc_as_tensors(&args[p], &list) - 1; i >= 0; i--)
        if (list[i] && list[i]->dtype == LUC_FLOAT32) return LUC_FLOAT32;
  return ctx->autocast_dtype;
}

static luc_status cast_value(luc_context *ctx, const luc_value *v, luc_dtype dtype,
                             luc_value *out) {
  luc_tensor *const *list;
  int n = luc_as_tensors(v, &list);
  *out = *v;
  if (v->kind == LUC_TENSOR) {
    *out = luc_v_none();
    luc_tensor *t;
    LUC_TRY(cast(ctx, v->as.tensor, dtype, &t));
    *out = luc_v_tensor(t);
  } else if (v->kind == LUC_TENSORS) {
    *out = luc_v_none();
    luc_tensor **fresh = luc__alloc_zero(ctx, (size_t)n * sizeof *fresh);
    if (!fresh && n > 0) return LUC_ERR_MEMORY;
    *out = luc_v_tensors(fresh, n);
    for (int i = 0; i < n; i++)
      if (list[i]) LUC_TRY(cast(ctx, list[i], dtype, &fresh[i]));
  }
  return LUC_OK;
}

static luc_status call_cast(luc_context *ctx, luc_opid op, const luc_value *args, luc_call_fn run,
                            luc_value *out) {
  int n = luc__op_info(ctx, op)->schema.nparams, done = 0;
  luc_value with[LUC_MAX_PARAMS];
  luc_dtype dtype = target(ctx, op, args, n);
  luc_status status = LUC_OK;
  while (done < n && status == LUC_OK) {
    status = cast_value(ctx, &args[done], dtype, &with[done]);
    done++;
  }
  if (status == LUC_OK) status = run(ctx, op, with, n, out);
  for (int p = 0; p < done; p++)
    if (with[p].kind == LUC_TENSOR || with[p].kind == LUC_TENSORS)
      luc__value_release(ctx, &with[p]);
  return status;
}

luc_status luc__autocast_call(luc_context *ctx, luc_opid op, luc_value *args, luc_call_fn run,
                              luc_value *out) {
  ctx->autocast = false;
  luc_status status = policies[op] == WHOLE
                          ? run(ctx, op, args, luc__op_info(ctx, op)->schema.nparams, out)
                          : call_cast(ctx, op, args, run, out);
  ctx->autocast = true;
  return status;
}

/* ---- regions ---- */

luc_autocast luc__autocast_get(const luc_context *ctx) {
  return (luc_autocast){ctx->autocast_dtype, ctx->autocast, ctx->autocast_cache};
}

void luc__autocast_set(luc_context *ctx, luc_autocast to) {
  ctx->autocast_dtype = to.dtype;
  ctx->autocast = to.on;
  ctx->autocast_cache = to.cache;
}

void luc__autocast_enter(luc_context *ctx, luc_autocast to) {
  ctx->autocast_depth++;
  luc__autocast_set(ctx, to);
}

void luc__autocast_leave(luc_context *ctx, luc_autocast back) {
  luc__autocast_set(ctx, back);
  if (ctx->autocast_depth > 0 && --ctx->autocast_depth == 0) luc__autocast_clear(ctx);
}
