/* Saved tensors in somebody else's keeping (torch.autograd.graph.saved_tensors_hooks). While hooks
 * are set, nodes wait to be packed: what such a node has saved goes to `pack`, and a stand-in takes
 * its place, a tensor of that shape and dtype whose memory says how to unpack it. Stand-ins never
 * leave their node. Packing calls the user's code, so it waits until no operator is running. */
#include "autograd/graph.h"

typedef struct stand_in {
  _Alignas(16) luc_context *ctx; /* aligned for an element of any dtype */
  luc_unpack_fn unpack;
  luc_ud_free_fn free;
  void *ud;
} stand_in;

static void free_stand_in(void *ud, void *data) {
  stand_in *s = ud;
  (void)data;
  s->free(s->ctx, s->ud);
  luc__free(s->ctx, s, sizeof *s);
}

static const stand_in *stand_in_of(const luc_tensor *t) {
  return t && t->storage->release == free_stand_in ? t->storage->release_ud : NULL;
}

const void *luc__saved_packed(const luc_tensor *t) {
  const stand_in *s = stand_in_of(t);
  return s ? s->ud : NULL;
}

/* ---- packing ---- */

void luc__saved_await(luc_context *ctx, luc_node *node) {
  node->refs++;
  node->waiting = ctx->unpacked_nodes;
  ctx->unpacked_nodes = node;
}

static void release_list(luc_context *ctx, luc_node *list) {
  for (luc_node *next; list; list = next) {
    next = list->waiting;
    luc__node_release(ctx, list);
  }
}

void luc__saved_forget_waiting(luc_context *ctx) {
  luc_node *list = ctx->unpacked_nodes;
  ctx->unpacked_nodes = NULL;
  release_list(ctx, list);
}

/* What the hooks make of t, as a stand-in for it. */
static luc_status pack(luc_context *ctx, luc_tensor *t, luc_tensor **out) {
  const luc_saved_hooks *hooks = ctx->saved_hooks;
  stand_in rec = {ctx, hooks->unpack, hooks->free, NULL}, *s = NULL;
  const int64_t strides[LUC_MAX_DIMS] = {0};
  uint32_t version = t->storage->version;
  bool mode = ctx->grad_mode;
  luc_tensor *seen = NULL;
  luc_status status;
  LUC_GO(luc_tensor_detach(ctx, t, &seen));
  ctx->grad_mode = false;
  status = hooks->pack(ctx, hooks, seen, &rec.ud);
  ctx->grad_mode = mode;
  if (status != LUC_OK) goto done;
  if (t->storage->version != version)
    status = luc__fail(ctx, LUC_ERR_STATE,
                       "saved_tensors_hooks: a saved tensor pack hook is modifying its input in "
                       "place; tensors given to it can not be modified");
  s = status == LUC_OK ? luc__alloc(ctx, sizeof *s) : NULL;
  if (status == LUC_OK && !s) status = LUC_ERR_MEMORY;
  if (s) *s = rec;
  if (status == LUC_OK)
    status = luc__tensor_over(ctx, t->dtype, t->ndim, t->sizes, strides, s, free_stand_in, s, out);
  if (status == LUC_OK) goto done;
  rec.free(ctx, rec.ud);
  luc__free(ctx, s, sizeof *s);
done:
  luc_tensor_release(ctx, seen);
  return status;
}

/* *saved, which the node owns. What was written meanwhile stays, for backward to refuse. */
static luc_status pack_one(luc_context *ctx, luc_node *node, luc_tensor **saved,
                           uint32_t *version) {
  luc_tensor *made, *t = *saved;
  if (!t || stand_in_of(t) || t->storage->version != *version || !ctx->saved_hooks) return LUC_OK;
  luc__retain(t); /* hooks may let go of the graph */
  luc_status status = pack(ctx, t, &made);
  if (status == LUC_OK && *saved == t) {
    luc_tensor_release(ctx, t);
    *saved = made;
    *version = made->storage->version;
    node->packed = true;
  } else if (status == LUC_OK) {
    luc_tensor_release(ctx, made);
  }
  luc_tensor_release(ctx, t);
  return status;
}

static luc_status pack_node(luc_context *ctx, luc_node *node) {
  uint32_t *versions = node->versions;
  for (int p = 0; p < node->nslots; p++) {
    luc_value *v = &node->args[p];
    if (v->kind == LUC_TENSOR) LUC_TRY(pack_one(ctx, node, &v->as.tensor, &versions[p]));
    for (int i = 0; v->kind == LUC_TENSORS && i < v->n; i++)
      LUC_TRY(pack_one(ctx, node, &v->as.tensors[i], &versions[node->nslots + i]));
  }
  for (int r = 0; r < node->nresults; r++)
    LUC_TRY(pack_one(ctx, node, &node->results[r], &versions[node->nslots + node->nlist + r]));
  return LUC_OK;
}

luc_status luc__saved_pack_waiting(luc_context *ctx) {
  luc_node *list = NULL, *next;
  luc_status status = LUC_OK;
  for (luc_node *node = ctx->unpacked_nodes; node; node = next) { /* the oldest first */
    next = node->waiting;
    node->waiting = list;
    list = node;
  }
  ctx->unpacked_nodes = NULL;
  for (; list && status == LUC_OK; list = next) {
    next = list->waiting;
    status = pack_node(ctx, list);
    luc__node_release(ctx, list);
  }
  release_list(ctx, list);
  return status;
}

/* ---- unpacking ---- */

static luc_status pass_on(luc_context *ctx, void *ud, luc_tensor *const *gout, int ngout,
                          luc_tensor **gin, int ngin) {
  (void)ctx, (void)ud, (void)ngout, (void)ngin;
  gin[0] = gout[0] ? luc__retain(gout[0]) : NULL;
  return LUC_OK;
}

luc_status luc__saved_join(luc_context *ctx, luc_tensor *t, const luc_edge *edge) {
  const luc_function fn = {.name = "UnpackBackward", .backward = pass_on};
  luc_node *node;
  if (!ctx->grad_mode || !edge->to) return LUC_OK;
  if (!luc__meta(ctx, t)) return LUC_ERR_MEMORY;
  LUC_TRY(luc__function_node(ctx, &fn, NULL, 1, 1, &node));
  luc__result_info(&node->infos[0], t);
  node->edges[0] = luc__edge_copy(edge);
  luc__set_history(ctx, t, node, 0);
  luc__node_release(ctx, node);
  return LUC_OK;
}

/* What t stands for, or t, as a new reference; edge: where its gradients go, or NULL. */
static luc_status unpack(luc_context *ctx, luc_tensor *t, const luc_edge *edge, luc_tensor **out) {
  const stand_in *s = stand_in_of(t);
  bool mode = ctx->grad_mode;
  char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
  luc_tensor *found = NULL;
  *out = NULL;
  if (!s) {
    *out = t ? luc__retain(t) : NULL;
    return LUC_OK;
  }
  ctx->grad_mode = false;
  luc__retain(t); /* hooks may let go of the graph */
  luc_status status = s->unpack(ctx, s->ud, &found);
  ctx->grad_mode = mode;
  if (status == LUC_OK && (found->dtype != t->dtype || !luc__same_sizes(found, t)))
    status = luc__fail(ctx, LUC_ERR_SHAPE,
                       "saved_tensors_hooks: unpack_hook must give back %s %s (got %s %s)",
                       luc__dtype_name(t->dtype), luc__tensor_shape_text(want, t),
                       luc__dtype_name(found->dtype), luc__tensor_shape_text(have, found));
  if (status == LUC_OK) status = luc_tensor_detach(ctx, found, out);
  if (status == LUC_OK && edge) status = luc__saved_join(ctx, *out, edge);
  LUC_RELEASE(ctx, found, t);
  return status;
}

luc_status luc__saved_open(luc_context *ctx, luc_node *node, luc_saved *s) {
  int inputs = node->nslots + node->nlist;
  luc_status status = LUC_OK;
  s->n = inputs + node->nresults;
  s->tensors = luc__alloc_zero(ctx, (size_t)s->n * sizeof *s->tensors);
  if (!s->tensors) return LUC_ERR_MEMORY;
  s->results = s->tensors + inputs;
  for (int p = 0; p < node->nslots; p++) {
    const luc_value *v = &node->args[p];
    s->args[p] = *v;
    if (v->kind == LUC_TENSOR) {
      LUC_GO(unpack(ctx, v->as.tensor, &node->edges[p], &s->tensors[p]));
      s->args[p] = luc_v_tensor(s->tensors[p]);
    } else if (v->kind == LUC_TENSORS) {
      s->args[p] = luc_v_tensors(s->tensors + node->nslots, v->n);
      for (int i = node->nslots; i < inputs && i < node->nslots + v->n; i++)
        LUC_GO(unpack(ctx, v->as.tensors[i - node->nslots], &node->edges[i], &s->tensors[i]));
    }
  }
  for (int r = 0; r < node->nresults; r++)
    LUC_GO(unpack(ctx, node->results[r], NULL, &s->results[r]));
  if (node->released)
    status = luc__fail(ctx, LUC_ERR_STATE,
                       "backward: an unpack hook has run backward through the same graph");
done:
  if (status != LUC_OK) luc__saved_close(ctx, s);
  return status;
}

void luc__saved_close(luc_context *ctx, luc_saved *s) {
  for (int i = 0; i < s->n && s->tensors; i++) luc_tensor_release(ctx, s->tensors[i]);
  luc__free(ctx, s->tensors, (size_t)s->n * sizeof *s->tensors);
  s->tensors = NULL;
}
