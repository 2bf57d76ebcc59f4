/* Nodes, edges and metas: making them and letting them go. Freeing is iterative: a node that dies
 * while another is being freed waits on the context's list, so graphs may be of any depth. */
#include <string.h>

#include "autograd/graph.h"

static size_t align8(size_t n) {
  return (n + 7) & ~(size_t)7;
}

luc_status luc__node_new(luc_context *ctx, const luc_node_shape *shape, luc_node **out,
                         char **extra) {
  size_t inputs = (size_t)shape->nslots + (size_t)shape->nlist, results = (size_t)shape->nresults;
  size_t at_edges = align8(sizeof(luc_node));
  size_t at_args = at_edges + inputs * sizeof(luc_edge);
  size_t at_results = at_args + (size_t)shape->nslots * sizeof(luc_value);
  size_t at_infos = at_results + results * sizeof(luc_tensor *);
  size_t at_versions = at_infos + results * sizeof(luc_result_info);
  size_t at_extra = align8(at_versions + (inputs + results) * sizeof(uint32_t));
  size_t size = at_extra + shape->extra;
  char *block = luc__alloc(ctx, size);
  *out = NULL;
  if (!block) return LUC_ERR_MEMORY;
  memset(block, 0, at_infos);
  luc_node *node = (luc_node *)block;
  node->refs = 1;
  node->op = (int16_t)shape->op;
  node->nslots = shape->nslots;
  node->nlist = shape->nlist;
  node->nresults = shape->nresults;
  node->seq = ctx->next_seq++;
  node->edges = (luc_edge *)(block + at_edges);
  node->args = (luc_value *)(block + at_args);
  node->results = (luc_tensor **)(block + at_results);
  node->infos = (luc_result_info *)(block + at_infos);
  node->versions = (uint32_t *)(block + at_versions);
  node->size = size;
  if (extra) *extra = block + at_extra;
  *out = node;
  return LUC_OK;
}

/* A node that had nothing saved can run again, as in PyTorch, which saves numbers as tensors. */
void luc__node_forget(luc_context *ctx, luc_node *node) {
  bool saved = node->op < 0 || node->number;
  for (int i = 0; i < node->nslots; i++) {
    luc_value *v = &node->args[i];
    saved |= v->kind == LUC_TENSOR || v->kind == LUC_TENSORS;
    if (v->kind == LUC_TENSOR) {
      luc_tensor_release(ctx, v->as.tensor);
      *v = luc_v_none();
    } else if (v->kind == LUC_TENSORS) {
      for (int k = 0; k < v->n; k++) luc_tensor_release(ctx, v->as.tensors[k]);
      v->n = 0;
    }
  }
  for (int i = 0; i < node->nresults; i++) {
    saved |= node->results[i] != NULL;
    luc_tensor_release(ctx, node->results[i]);
    node->results[i] = NULL;
  }
  node->released |= saved;
  luc_ud_free_fn release = node->function.free;
  node->function.free = NULL;
  if (release) release(ctx, node->ud);
  luc__node_hooks_drop(ctx, node);
}

static void node_free(luc_context *ctx, luc_node *node) {
  if (!node->released) luc__node_forget(ctx, node);
  luc__hooks_free(ctx, &node->hooks);
  for (int i = 0; i < node->nslots + node->nlist; i++) luc__edge_release(ctx, &node->edges[i]);
  luc__free(ctx, node, node->size);
}

/* Dead nodes are chained through `task`, which no dead node has. */
void luc__node_release(luc_context *ctx, luc_node *node) {
  if (!node || --node->refs > 0) return;
  node->task = ctx->dead_nodes;
  ctx->dead_nodes = node;
  if (ctx->freeing_nodes) return;
  ctx->freeing_nodes = true;
  while (ctx->dead_nodes) {
    luc_node *dead = ctx->dead_nodes;
    ctx->dead_nodes = dead->task;
    node_free(ctx, dead);
  }
  ctx->freeing_nodes = false;
}

void luc__result_info(luc_result_info *info, const luc_tensor *t) {
  info->dtype = t->dtype;
  info->ndim = t->ndim;
  memcpy(info->sizes, t->sizes, (size_t)t->ndim * sizeof *t->sizes);
}

const char *luc__node_name(char *buf, const luc_node *node) {
  char *p = buf;
  /* The schema begins with the name users call, which overloads share. */
  const char *name = node->op < 0 ? node->function.name : luc__ops[node->op].schema;
  bool upper = true;
  for (; *name && *name != '(' && p < buf + LUC_NODE_NAME - 12; name++) {
    bool lower_case = *name >= 'a' && *name <= 'z';
    if ((*name == '_' || *name == '.') && node->op >= 0) {
      upper = true;
    } else {
      *p++ = (char)(upper && lower_case ? *name - 'a' + 'A' : *name);
      upper = *name >= '0' && *name <= '9' && node->op >= 0;
    }
  }
  memcpy(p, node->op < 0 ? "" : "Backward0", node->op < 0 ? 1 : 10);
  return buf;
}

luc_meta *luc__meta(luc_context *ctx, luc_tensor *t) {
  if (!t->meta) t->meta = luc__alloc_zero(ctx, sizeof(luc_meta));
  return t->meta;
}

void luc__drop_history(luc_context *ctx, luc_meta *meta) {
  luc_node *old = meta->node;
  luc__retain_out(meta);
  meta->node = NULL;
  meta->index = 0;
  luc__node_release(ctx, old);
}

void luc__set_history(luc_context *ctx, luc_tensor *t, luc_node *node, uint32_t index) {
  luc_meta *meta = t->meta;
  bool retains = luc__retain_out(meta);
  luc_node *old = meta->node;
  node->refs++;
  meta->node = node;
  meta->index = index;
  t->requires_grad = true;
  if (retains) luc__retain_in(meta);
  luc__node_release(ctx, old);
}

/* Dead metas wait as dead nodes do: a gradient may have a gradient, and so on, or a base that has
 * one. They are chained through `task`. */
void luc__meta_free(luc_context *ctx, luc_meta *meta) {
  luc__retain_out(meta);
  luc__unwatch(ctx, meta);
  meta->task = ctx->dead_metas;
  ctx->dead_metas = meta;
  if (ctx->freeing_metas) return;
  ctx->freeing_metas = true;
  while (ctx->dead_metas) {
    luc_meta *dead = ctx->dead_metas;
    ctx->dead_metas = dead->task;
    LUC_RELEASE(ctx, dead->grad, dead->base);
    luc__node_release(ctx, dead->node);
    luc__hooks_free(ctx, &dead->hooks);
    luc__free(ctx, dead, sizeof *dead);
  }
  ctx->freeing_metas = false;
}
