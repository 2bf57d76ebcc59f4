/* Hooks on gradients: lists on leaves and nodes, how they grow, shrink and run. */
#include "autograd/graph.h"

static luc_status add_to(luc_context *ctx, luc_hook **list, const luc_hook *hook, uint64_t *id) {
  luc_hook *added = luc__alloc(ctx, sizeof *added);
  if (!added) return LUC_ERR_MEMORY;
  *added = *hook;
  added->id = ++ctx->next_id;
  added->next = *list;
  *list = added;
  if (id) *id = added->id;
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

/* Takes the hook at *link off its list. */
static luc_hook *unlink(luc_hook **link) {
  luc_hook *hook = *link;
  *link = hook->next;
  hook->next = NULL;
  return hook;
}

static bool remove_from(luc_context *ctx, luc_hook **link, uint64_t id) {
  while (*link && (*link)->id != id) link = &(*link)->next;
  if (!*link) return false;
  luc__hooks_free(ctx, unlink(link));
  return true;
}

bool luc_tensor_remove_hook(luc_context *ctx, luc_tensor *t, uint64_t id) {
  if (!t || !t->meta) return false;
  if (remove_from(ctx, &t->meta->hooks, id)) return true;
  return t->meta->node && remove_from(ctx, &t->meta->node->hooks, id);
}

bool luc__node_hook_remove(luc_context *ctx, luc_node *node, uint64_t id) {
  return remove_from(ctx, &node->hooks, id);
}

luc_status luc_tensor_retain_grad(luc_context *ctx, luc_tensor *t) {
  LUC_NEED(ctx, t);
  LUC_CHECK(ctx, luc__requires_grad(t), LUC_ERR_STATE,
            "retain_grad: can't retain_grad on a tensor that has requires_grad=false");
  if (luc_tensor_is_leaf(t) || t->meta->retains_grad) return LUC_OK;
  luc_hook hook = {.kind = LUC_HOOK_RETAINS, .ud = t->meta};
  LUC_TRY(add_hook(ctx, t, &hook, NULL));
  t->meta->retains_grad = true;
  return LUC_OK;
}

luc_hook *luc__retain_hook_unlink(luc_meta *meta) {
  luc_hook **link = &meta->node->hooks;
  while (*link && ((*link)->kind != LUC_HOOK_RETAINS || (*link)->ud != meta)) link = &(*link)->next;
  return *link ? unlink(link) : NULL;
}

void luc__hooks_free(luc_context *ctx, luc_hook *hooks) {
  while (hooks) {
    luc_hook *next = hooks->next;
    if (hooks->free) hooks->free(ctx, hooks->ud);
    luc__free(ctx, hooks, sizeof *hooks);
    hooks = next;
  }
}

void luc__node_hooks_drop(luc_context *ctx, luc_node *node) {
  for (luc_hook **link = &node->hooks; *link;) {
    bool drop = (*link)->kind >= LUC_HOOK_ON_NODE;
    if (drop) luc__hooks_free(ctx, unlink(link));
    link = drop ? &node->hooks
                : &(*link)->next; /* from the start: freeing it may have removed others */
  }
}

/* ---- running them ---- */

static luc_status run_hook(luc_context *ctx, const luc_hook *hook, luc_tensor **grad) {
  luc_tensor *replacement = NULL;
  LUC_TRY(hook->call.grad(ctx, hook->ud, *grad, &replacement));
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

/* The first hook of this kind after the one with id `seen`, up to the one with id `last`. Hooks are
 * found anew by their ids, so that one may remove itself or others, or add more, which run from the
 * next pass on. */
static const luc_hook *next_hook(const luc_hook *list, int kind, uint64_t seen, uint64_t last) {
  const luc_hook *next = NULL;
  for (const luc_hook *h = list; h; h = h->next)
    if (h->kind == kind && h->id > seen && h->id <= last && (!next || h->id < next->id)) next = h;
  return next;
}

luc_status luc__grad_hooks_run(luc_context *ctx, luc_hook *const *list, luc_tensor **grads) {
  uint64_t last = ctx->next_id, seen = 0;
  const luc_hook *hook;
  while ((hook = next_hook(*list, LUC_HOOK_ON_GRAD, seen, last))) {
    seen = hook->id;
    if (grads[hook->index]) LUC_TRY(run_hook(ctx, hook, &grads[hook->index]));
  }
  for (const luc_hook *h = *list; h; h = h->next) {
    if (h->kind != LUC_HOOK_RETAINS || !grads[h->index]) continue;
    luc_meta *meta = h->ud;
    luc_tensor *sum; /* its own: it may be written */
    LUC_TRY(meta->grad ? luc__binary(ctx, LUC_OP_add, meta->grad, grads[h->index], &sum)
                       : luc__unary(ctx, LUC_OP_clone, grads[h->index], &sum));
    luc_tensor_release(ctx, meta->grad);
    meta->grad = sum;
  }
  return LUC_OK;
}

luc_status luc__accumulate_hooks_run(luc_context *ctx, luc_tensor *leaf) {
  uint64_t last = ctx->next_id, seen = 0;
  const luc_hook *hook;
  while ((hook = next_hook(leaf->meta->hooks, LUC_HOOK_ON_ACCUMULATED, seen, last))) {
    seen = hook->id;
    LUC_TRY(hook->call.accumulated(ctx, hook->ud, leaf));
  }
  return LUC_OK;
}

luc_status luc__node_hooks_run_before(luc_context *ctx, luc_node *node, luc_tensor **gout) {
  uint64_t last = ctx->next_id, seen = 0;
  const luc_hook *hook;
  while ((hook = next_hook(node->hooks, LUC_HOOK_BEFORE_NODE, seen, last))) {
    seen = hook->id;
    LUC_TRY(hook->call.node(ctx, hook->ud, NULL, 0, gout, node->nresults));
  }
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
  uint64_t last = ctx->next_id, seen = 0;
  int n = node->nslots + node->nlist, k = 0;
  const luc_hook *hook = next_hook(node->hooks, LUC_HOOK_ON_NODE, seen, last);
  if (!hook) return LUC_OK;
  size_t size = (size_t)n * sizeof *gin;
  luc_tensor **tensors =
      luc__alloc(ctx, size); /* gin without the places of arguments that are no tensors */
  luc_status status = LUC_OK;
  if (!tensors) return LUC_ERR_MEMORY;
  for (int i = 0; i < n; i++)
    if (gin[i] && node->edges[i].to) LUC_GO(luc__conform(ctx, &gin[i], &node->edges[i]));
  for (; hook && status == LUC_OK; hook = next_hook(node->hooks, LUC_HOOK_ON_NODE, seen, last)) {
    seen = hook->id;
    k = 0;
    for (int i = 0; i < n; i++)
      if (is_tensor(ctx, node, i)) tensors[k++] = gin[i];
    status = hook->call.node(ctx, hook->ud, gout, node->nresults, tensors, k);
    k = 0;
    for (int i = 0; i < n; i++)
      if (is_tensor(ctx, node, i)) gin[i] = tensors[k++];
  }
done:
  luc__free(ctx, tensors, size);
  return status;
}
