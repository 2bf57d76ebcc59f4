/* The tensor's side of autograd: modes, requires_grad, gradients and hooks. */
#include "autograd/graph.h"

#include <stdio.h>

#include "tensor/text.h"

bool luc_set_grad_enabled(luc_context *ctx, bool on) {
  bool before = ctx->grad_mode;
  ctx->grad_mode = on;
  return before;
}

bool luc_is_grad_enabled(const luc_context *ctx) {
  return ctx->grad_mode;
}

/* What is recorded of a batched tensor is what it hides. */
static const luc_tensor *recorded(const luc_tensor *t) {
  while (t && t->inner) t = t->inner;
  return t;
}

bool luc_tensor_requires_grad(const luc_tensor *t) {
  t = recorded(t);
  return t && luc__requires_grad(t);
}

bool luc_tensor_is_leaf(const luc_tensor *t) {
  t = recorded(t);
  return t && (!luc__requires_grad(t) || !t->meta || !(t->meta->node || luc__inherits(t)));
}

luc_status luc_tensor_set_requires_grad(luc_context *ctx, luc_tensor *t, bool on) {
  LUC_NEED(ctx, t);
  LUC_TRY(luc__refuse_batched(ctx, "requires_grad_()", t));
  if (!luc_tensor_is_leaf(t)) {
    LUC_CHECK(ctx, on, LUC_ERR_STATE,
              "requires_grad: you can only change requires_grad flags of leaf variables; use "
              "detach() to get a tensor outside the graph");
    return LUC_OK;
  }
  LUC_CHECK(ctx, !on || luc__dtype_has_gradient(t->dtype), LUC_ERR_TYPE,
            "requires_grad: only Tensors of floating point and complex dtype can require gradients "
            "(got %s)",
            luc__dtype_name(t->dtype));
  LUC_CHECK(ctx, !on || !(t->flags & LUC_TF_INFERENCE) || ctx->inference_mode, LUC_ERR_STATE,
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (on && !luc__meta(ctx, t)) return LUC_ERR_MEMORY;
  t->requires_grad = on;
  return LUC_OK;
}

luc_tensor *luc_tensor_grad(const luc_tensor *t) {
  return t && t->meta ? t->meta->grad : NULL;
}

luc_status luc_tensor_set_grad(luc_context *ctx, luc_tensor *t, luc_tensor *grad) {
  LUC_NEED(ctx, t);
  LUC_TRY(luc__refuse_batched(ctx, "grad", grad ? grad : t));
  char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
  if (grad) {
    LUC_CHECK(ctx, grad != t, LUC_ERR_VALUE, "grad: a tensor can't be its own gradient");
    LUC_CHECK(ctx, luc__same_sizes(grad, t), LUC_ERR_SHAPE,
              "grad: assigned grad has shape %s, the tensor %s", luc__tensor_shape_text(have, grad),
              luc__tensor_shape_text(want, t));
    LUC_CHECK(ctx, grad->dtype == t->dtype, LUC_ERR_TYPE,
              "grad: assigned grad has dtype %s, the tensor %s", luc__dtype_name(grad->dtype),
              luc__dtype_name(t->dtype));
    if (!luc__meta(ctx, t)) return LUC_ERR_MEMORY;
    if (grad->meta) LUC_TRY(luc__watch(ctx, t));
    luc__retain(grad);
  }
  if (!t->meta) return LUC_OK;
  luc_tensor_release(ctx, t->meta->grad);
  t->meta->grad = grad;
  return LUC_OK;
}

const char *luc_tensor_grad_fn(const luc_tensor *t, char buf[LUC_GRAD_FN_NAME]) {
  t = recorded(t);
  if (!t || !buf || !t->meta || !t->meta->node) return NULL;
  return luc__node_name(buf, t->meta->node);
}

uint32_t luc_tensor_output_nr(const luc_tensor *t) {
  return t && t->meta && t->meta->node ? t->meta->index : 0;
}

bool luc_tensor_retains_grad(const luc_tensor *t) {
  return t && t->meta && t->meta->retains_grad;
}

luc_status luc_tensor_detach_(luc_context *ctx, luc_tensor *t) {
  LUC_NEED(ctx, t);
  luc_meta *meta = t->meta;
  LUC_CHECK(ctx, !meta || !meta->base, LUC_ERR_STATE,
            "detach_: Can't detach views in-place. Use detach() instead.");
  t->requires_grad = false;
  if (!meta || !meta->node) return LUC_OK;
  luc__drop_history(ctx, meta);
  return LUC_OK;
}

/* "BatchedTensor(value=\n    tensor(...)\n)" */
static luc_status batched_text(luc_context *ctx, luc_tensor *t, char **out, size_t *size) {
  char *inner;
  size_t n;
  luc_text text;
  LUC_TRY(luc_tensor_text(ctx, t->inner, &inner, &n));
  luc__text_init(&text, ctx);
  luc__text_puts(&text, "BatchedTensor(value=\n    ");
  luc__text_indented(&text, inner, 4);
  luc__text_puts(&text, "\n)");
  luc_text_free(ctx, inner, n);
  return luc__text_finish(&text, out, size);
}

luc_status luc_tensor_text(luc_context *ctx, luc_tensor *t, char **out, size_t *size) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, t && size);
  if (t->inner) return batched_text(ctx, t, out, size);
  char name[LUC_GRAD_FN_NAME], suffix[LUC_GRAD_FN_NAME + 16];
  if (luc_tensor_is_uninitialized(t)) return luc__uninitialized_text(ctx, t, out, size);
  if (!luc__requires_grad(t)) return luc__tensor_text(ctx, t, NULL, out, size);
  if (!luc_tensor_grad_fn(t, name))
    return luc__tensor_text(ctx, t, "requires_grad=True", out, size);
  snprintf(suffix, sizeof suffix, "grad_fn=<%s>", name);
  return luc__tensor_text(ctx, t, suffix, out, size);
}

luc_status luc_tensor_detach(luc_context *ctx, luc_tensor *t, luc_tensor **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, t);
  return luc__tensor_alias(ctx, t, out);
}
