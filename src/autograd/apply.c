/* Runs one node: an operator's gradient over what was saved, or a function's own backward. */
#include <string.h>

#include "autograd/graph.h"
#include "cpu/copy.h"

static luc_status check_version(luc_context *ctx, const luc_node *node, const luc_tensor *t,
                                uint32_t saved) {
  if (!t || t->storage->version == saved) return LUC_OK;
  char shape[LUC_SHAPE_TEXT], name[LUC_NODE_NAME];
  return luc__fail(ctx, LUC_ERR_STATE,
                   "backward: one of the variables needed for gradient computation has been "
                   "modified by an inplace operation: [%s tensor %s], used by %s, is at version "
                   "%u; expected version %u instead",
                   luc__dtype_name(t->dtype), luc__tensor_shape_text(shape, t),
                   luc__node_name(name, node), (unsigned)t->storage->version, (unsigned)saved);
}

static luc_status check_versions(luc_context *ctx, const luc_node *node) {
  const uint32_t *versions = node->versions;
  for (int p = 0; p < node->nslots; p++) {
    const luc_value *v = &node->args[p];
    if (v->kind == LUC_TENSOR) LUC_TRY(check_version(ctx, node, v->as.tensor, versions[p]));
    if (v->kind != LUC_TENSORS) continue;
    for (int i = 0; i < v->n; i++)
      LUC_TRY(check_version(ctx, node, v->as.tensors[i], versions[node->nslots + i]));
  }
  for (int r = 0; r < node->nresults; r++)
    LUC_TRY(check_version(ctx, node, node->results[r], versions[node->nslots + node->nlist + r]));
  return LUC_OK;
}

/* With create_graph a saved result must be seen as what it is: the result of this node. */
static luc_status attach_results(luc_context *ctx, luc_node *node, luc_tensor *const *saved,
                                 luc_tensor **results) {
  memset(results, 0, (size_t)node->nresults * sizeof *results);
  for (int r = 0; r < node->nresults; r++) {
    if (!saved[r]) continue;
    LUC_TRY(luc__tensor_alias(ctx, saved[r], &results[r]));
    if (!luc__dtype_has_gradient(results[r]->dtype)) continue;
    if (!luc__meta(ctx, results[r])) return LUC_ERR_MEMORY;
    luc__set_history(ctx, results[r], node, (uint32_t)r);
  }
  return LUC_OK;
}

static luc_status run_op(luc_context *ctx, luc_node *node, luc_tensor *const *gout,
                         luc_tensor **gin) {
  luc_tensor *attached[LUC_MAX_RESULTS] = {0};
  luc_status status = LUC_OK;
  bool attach = ctx->grad_mode && node->nresults <= LUC_MAX_RESULTS;
  bool packed = node->packed, autocast = ctx->autocast;
  const int held = ctx->num_held;
  luc_saved saved;
  saved.tensors = NULL;
  LUC_TRY(check_versions(ctx, node));
  if (packed) LUC_TRY(luc__saved_open(ctx, node, &saved));
  luc_tensor *const *results = packed ? saved.results : node->results;
  ctx->autocast = false; /* gradients follow the dtypes of the forward pass */
  if (attach) LUC_GO(attach_results(ctx, node, results, attached));
  luc_backward b = {node,
                    packed ? saved.args : node->args,
                    attach ? attached : results,
                    gout,
                    gin,
                    gin + node->nslots};
  status = luc__ops[node->op].grad(ctx, &b);
done:
  ctx->autocast = autocast;
  luc__let_go(ctx, held);
  if (packed) luc__saved_close(ctx, &saved);
  for (int r = 0; r < LUC_MAX_RESULTS; r++) luc_tensor_release(ctx, attached[r]);
  return status;
}

/* Calls a function's backward with zeros for the gradients that did not come. */
static luc_status run_materialized(luc_context *ctx, luc_node *node, luc_tensor *const *gout,
                                   luc_tensor **gin) {
  size_t size = (size_t)node->nresults * sizeof *gout;
  luc_tensor **full = luc__alloc_zero(ctx, size);
  luc_scalar nought = {LUC_SCALAR_INT, {.i = 0}};
  luc_status status = LUC_OK;
  if (!full) return LUC_ERR_MEMORY;
  for (int r = 0; r < node->nresults; r++) {
    const luc_result_info *info = &node->infos[r];
    if (gout[r]) {
      full[r] = luc__retain(gout[r]);
    } else {
      LUC_GO(luc__tensor_empty(ctx, info->dtype, info->ndim, info->sizes, &full[r]));
      LUC_GO(luc__fill(ctx, full[r], nought));
    }
  }
  status = node->function.backward(ctx, node->ud, full, node->nresults, gin, node->nslots);
done:
  for (int r = 0; r < node->nresults; r++) luc_tensor_release(ctx, full[r]);
  luc__free(ctx, full, size);
  return status;
}

static bool all_there(const luc_node *node, luc_tensor *const *gout) {
  for (int r = 0; r < node->nresults; r++)
    if (!gout[r]) return false;
  return true;
}

luc_status luc__node_run(luc_context *ctx, luc_node *node, luc_tensor *const *gout,
                         luc_tensor **gin) {
  LUC_CHECK(ctx, !node->released, LUC_ERR_STATE,
            "backward: trying to backward through the graph a second time (or directly access "
            "saved tensors after they have already been freed); specify retain_graph=true the "
            "first time");
  if (node->op >= 0) return run_op(ctx, node, gout, gin);
  if (node->function.materialize_grads && !all_there(node, gout))
    return run_materialized(ctx, node, gout, gin);
  return node->function.backward(ctx, node->ud, gout, node->nresults, gin, node->nslots);
}

luc_status luc__grad_missing(luc_context *ctx, luc_backward *b) {
  return luc__fail(ctx, LUC_ERR_SUPPORT, "backward: the gradient of %s is not implemented",
                   luc__ops[b->node->op].name);
}
