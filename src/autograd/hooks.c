/* Hooks on gradients: lists on leaves and nodes, how they grow, shrink and run. */
#include "autograd/graph.h"

static luc_status add_to(luc_context *ctx, luc_roster **hooks, const luc_hook *hook, uint64_t *id) {
  luc_hook *added = luc__alloc(ctx, sizeof *added);
  if (!added) return LUC_ERR_MEMORY;
  *added = *hook;
  added->refs = 1;
  luc_status status = luc__roster_add(ctx, hooks, ctx->next_id + 1, added);
  if (status != LUC_OK) {
    luc__free(ctx, added, sizeof *added);
    return status;
  }
  ctx->next_id++;
  if (id) *id = ctx->next_id;
  return LUC_OK;
}

static luc_status add_hook(luc_context *ctx, luc_tensor *t, luc_hook *hook, uint64_t *id) {
  if (!luc__meta(ctx, t)) return LUC_ERR_MEMORY;
  if (t->meta->base) LUC_TRY(luc__view_refresh(ctx, t));
  luc_node *node = t->meta->node;
  if (node) hook->index = t->meta->index;
  return add_to(ctx, node ? &node->hooks : &t->meta->hooks, hook, id);
}

luc_status luc_tensor_register_hook(luc_context *ctx, luc_tensor *t, luc_grad_hook_fn fn, void *ud,
                                    luc_ud_free_fn free, uint64_t *id) {
  LUC_NEED(ctx, t && fn);
  LUC_CHECK(ctx, luc__requires_grad(t), LUC_ERR_STATE,
            "register_hook: cannot register a hook on a tensor that doesn't require gradient");
  luc_hook hook = {.kind = LUC_HOOK_ON_GRAD, .call.grad = fn, .ud = ud, .free = free};
  return add_hook(ctx, t, &hook, id);
}

luc_status luc_tensor_register_accumulate_hook(luc_context *ctx, luc_tensor *t,
                                               luc_accumulate_hook_fn fn, void *ud,
                                               luc_ud_free_fn free, uint64_t *id) {
  LUC_NEED(ctx, t && fn);
  LUC_CHECK(ctx, t->requires_grad && luc_tensor_is_leaf(t), LUC_ERR_STATE,
            "register_post_accumulate_grad_hook: cannot be registered on non-leaf tensors or ones "
            "that don't require gradient");
  luc_hook hook = {.kind = LUC_HOOK_ON_ACCUMULATED, .call.accumulated = fn, .ud = ud, .free = free};
  return add_hook(ctx, t, &hook, id);
}

luc_status luc_tensor_register_node_hook(luc_context *ctx, luc_tensor *t, luc_node_hook_fn fn,
                                         void *ud, luc_ud_free_fn free) {
  LUC_NEED(ctx, t && fn);
  LUC_CHECK(ctx, luc__requires_grad(t) && !luc_tensor_is_leaf(t), LUC_ERR_STATE,
            "register_node_hook: the tensor has no grad_fn");
  luc_hook hook = {.kind = LUC_HOOK_ON_NODE, .call.node = fn, .ud = ud, .free = free};
  return add_hook(ctx, t, &hook, NULL);
}

luc_status luc__node_hook_add(luc_context *ctx, luc_node *node, bool before, luc_node_hook_fn fn,
                              void *ud, luc_ud_free_fn free, uint64_t *id) {
  int kind = before ? LUC_HOOK_BEFORE_NODE : LUC_HOOK_ON_NODE;
  luc_hook hook = {.kind = kind, .call.node = fn, .ud = ud, .free = free};
  return add_to(ctx, &node->hooks, &hook, id);
}

void *luc__hooks_data(const luc_roster *hooks) {
  const luc_hook *hook;
  for (uint64_t id = 0; (hook = luc__roster_next(hooks, &id));)
    if (hook->kind == LUC_HOOK_NEVER) return hook->ud;
  return NULL;
}

luc_status luc__hooks_keep(luc_context *ctx, luc_roster **hooks, luc_pass_end_fn fn, void *ud,
                           luc_ud_free_fn free) {
  luc_hook hook = {.kind = LUC_HOOK_NEVER, .call.end = fn, .ud = ud, .free = free};
  return add_to(ctx, hooks, &hook, NULL);
}

static void hook_release(luc_context *ctx, luc_hook *hook) {
  if (--hook->refs > 0) return;
  if (hook->free) hook->free(ctx, hook->ud);
  luc__free(ctx, hook, sizeof *hook);
}

static bool remove_from(luc_context *ctx, luc_roster *hooks, uint64_t id) {
  luc_hook *hook = luc__roster_take(hooks, id);
  if (hook) hook_release(ctx, hook);
  return hook != NULL;
}

bool luc_tensor_remove_hook(luc_context *ctx, luc_tensor *t, uint64_t id) {
  if (!t || !t->meta) return false;
  if (remove_from(ctx, t->meta->hooks, id)) return true;
  return t->meta->node && remove_from(ctx, t->meta->node->hooks, id);
}

bool luc__node_hook_remove(luc_context *ctx, luc_node *node, uint64_t id) {
  return remove_from(ctx, node->hooks, id);
}

luc_status luc_tensor_retain_grad(luc_context *ctx, luc_tensor *t) {
  LUC_NEED(ctx, t);
  LUC_CHECK(ctx, luc__requires_grad(t), LUC_ERR_STATE,
            "retain_grad: can't retain_grad on a tensor that has requires_grad=false");
  if (luc_tensor_is_leaf(t) || t->meta->retains_grad) return LUC_OK;
  if (t->meta->base) LUC_TRY(luc__view_refresh(ctx, t));
  LUC_TRY(luc__watch(ctx, t));
  luc__retain_in(t->meta);
  return LUC_OK;
}

void luc__retain_in(luc_meta *meta) {
  meta->retains_grad = true;
  meta->next_retained = meta->node->retained;
  meta->node->retained = meta;
}

bool luc__retain_out(luc_meta *meta) {
  if (!meta->retains_grad) return false;
  luc_meta **link = &meta->node->retained;
  while (*link != meta) link = &(*link)->next_retained;
  *link = meta->next_retained;
  meta->retains_grad = false;
  return true;
}

void luc__hooks_free(luc_context *ctx, luc_roster **hooks) {
  luc_roster *gone = *hooks;
  luc_hook *hook;
  *hooks = NULL; /* freeing them may remove others */
  for (uint64_t id = 0; (hook = luc__roster_next(gone, &id));) hook_release(ctx, hook);
  luc__roster_free(ctx, gone);
}

void luc__node_hooks_drop(luc_context *ctx, luc_node *node) {
  const luc_hook *hook;
  for (uint64_t id = 0; (hook = luc__roster_next(node->hooks, &id));)
    if (hook->kind >= LUC_HOOK_ON_NODE) remove_from(ctx, node->hooks, id);
}

/* ---- running them ---- */

/* What a hook needs stays until it has returned, should it remove itself:
 * ended(ctx, hook, begun(hook)->call.…(ctx, hook->ud, …)). */
static luc_hook *begun(luc_hook *hook) {
  hook->refs++;
  return hook;
}

static luc_status ended(luc_context *ctx, luc_hook *hook, luc_status status) {
  hook_release(ctx, hook);
  return status;
}

static luc_status run_hook(luc_context *ctx, luc_hook *hook, luc_tensor **grad) {
  luc_tensor *replacement = NULL;
  LUC_TRY(ended(ctx, hook, begun(hook)->call.grad(ctx, hook->ud, *grad, &replacement)));
  if (!replacement) return LUC_OK;
  luc_status status = LUC_OK;
  char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
  if (!luc__same_sizes(replacement, *grad) || replacement->dtype != (*grad)->dtype)
    status = luc__fail(
        ctx, LUC_ERR_SHAPE, "register_hook: the hook changed the gradient from %s %s to %s %s",
        luc__dtype_name((*grad)->dtype), luc__tensor_shape_text(want, *grad),
        luc__dtype_name(replacement->dtype), luc__tensor_shape_text(have, replacement));
  if (status != LUC_OK) {
    luc_tensor_release(ctx, replacement);
    return status;
  }
  luc_tensor_release(ctx, *grad);
  *grad = replacement;
  return LUC_OK;
}

/* The next hook of this kind after *id, up to the one with id `last`. Hooks are found anew by their
 * ids, so that one may remove itself or others, or add more, which run from the next pass on. */
static luc_hook *next_hook(const luc_roster *hooks, int kind, uint64_t *id, uint64_t last) {
  luc_hook *hook;
  while ((hook = luc__roster_next(hooks, id)) && *id <= last)
    if (hook->kind == kind) return hook;
  return NULL;
}

luc_status luc__grad_hooks_run(luc_context *ctx, luc_roster *const *hooks, luc_tensor **grads) {
  uint64_t last = ctx->next_id, id = 0;
  luc_hook *hook;
  while ((hook = next_hook(*hooks, LUC_HOOK_ON_GRAD, &id, last)))
    if (grads[hook->index]) LUC_TRY(run_hook(ctx, hook, &grads[hook->index]));
  return LUC_OK;
}

luc_status luc__grads_retain(luc_context *ctx, const luc_node *node, luc_tensor *const *grads) {
  for (luc_meta *meta = node->retained; meta; meta = meta->next_retained) {
    luc_tensor *grad = grads[meta->index], *sum; /* its own: it may be written */
    if (!grad) continue;
    LUC_TRY(meta->grad ? luc__binary(ctx, LUC_OP_add, meta->grad, grad, &sum)
                       : luc__unary(ctx, LUC_OP_clone, grad, &sum));
    luc_tensor_release(ctx, meta->grad);
    meta->grad = sum;
  }
  return LUC_OK;
}

luc_status luc__accumulate_hooks_run(luc_context *ctx, luc_tensor *leaf) {
  uint64_t last = ctx->next_id, id = 0;
  luc_hook *hook;
  while ((hook = next_hook(leaf->meta->hooks, LUC_HOOK_ON_ACCUMULATED, &id, last)))
    LUC_TRY(ended(ctx, hook, begun(hook)->call.accumulated(ctx, hook->ud, leaf)));
  return LUC_OK;
}

luc_status luc__node_hooks_run_before(luc_context *ctx, luc_node *node, luc_tensor **gout) {
  uint64_t last = ctx->next_id, id = 0;
  luc_hook *hook;
  while ((hook = next_hook(node->hooks, LUC_HOOK_BEFORE_NODE, &id, last)))
    LUC_TRY(ended(ctx, hook, begun(hook)->call.node(ctx, hook->ud, NULL, 0, gout, node->nresults)));
  return LUC_OK;
}

/* Is edge i that of a tensor argument? */
static bool is_tensor(luc_context *ctx, const luc_node *node, int i) {
  if (node->op < 0 || i >= node->nslots) return true;
  const luc_op_info *info = luc__op_info(ctx, node->op);
  return i != info->list_param && (info->tensor_params >> i & 1);
}

luc_status luc__node_hooks_run(luc_context *ctx, luc_node *node, luc_tensor *const *gout,
                               luc_tensor **gin) {
  uint64_t last = ctx->next_id, id = 0;
  int n = node->nslots + node->nlist, k = 0;
  luc_hook *hook = next_hook(node->hooks, LUC_HOOK_ON_NODE, &id, last);
  if (!hook) return LUC_OK;
  size_t size = (size_t)n * sizeof *gin;
  luc_tensor **tensors =
      luc__alloc(ctx, size); /* gin without the places of arguments that are no tensors */
  luc_status status = LUC_OK;
  if (!tensors) return LUC_ERR_MEMORY;
  for (int i = 0; i < n; i++)
    if (gin[i] && node->edges[i].to) LUC_GO(luc__conform(ctx, &gin[i], &node->edges[i]));
  for (; hook && status == LUC_OK; hook = next_hook(node->hooks, LUC_HOOK_ON_NODE, &id, last)) {
    k = 0;
    for (int i = 0; i < n; i++)
      if (is_tensor(ctx, node, i)) tensors[k++] = gin[i];
    status =
        ended(ctx, hook, begun(hook)->call.node(ctx, hook->ud, gout, node->nresults, tensors, k));
    k = 0;
    for (int i = 0; i < n; i++)
      if (is_tensor(ctx, node, i)) gin[i] = tensors[k++];
  }
done:
  luc__free(ctx, tensors, size);
  return status;
}
