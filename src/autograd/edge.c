/* Edges, and gradients as the other end of one expects them. */
#include <string.h>

#include "autograd/graph.h"

luc_status luc__edge_to(luc_context *ctx, luc_tensor *t, luc_edge *edge) {
  *edge = (luc_edge){0};
  if (!luc__requires_grad(t)) return LUC_OK;
  luc_meta *meta = luc__meta(ctx, t);
  if (!meta) return LUC_ERR_MEMORY;
  if (meta->base) LUC_TRY(luc__view_refresh(ctx, t));
  if (meta->node) {
    meta->node->refs++;
    *edge = (luc_edge){meta->node, meta->index, false};
  } else {
    *edge = (luc_edge){luc__retain(t), 0, true};
  }
  return LUC_OK;
}

luc_edge luc__edge_copy(const luc_edge *edge) {
  if (edge->leaf)
    luc__retain(edge->to);
  else if (edge->to)
    ((luc_node *)edge->to)->refs++;
  return *edge;
}

void luc__edge_release(luc_context *ctx, luc_edge *edge) {
  if (edge->leaf) {
    luc_tensor_release(ctx, edge->to);
  } else {
    luc__node_release(ctx, edge->to);
  }
  *edge = (luc_edge){0};
}

/* ---- gradients ---- */

/* What stands at the other end: a leaf, or a result of a node. */
typedef struct receiver {
  luc_dtype dtype;
  int ndim;
  const int64_t *sizes;
} receiver;

static receiver receiver_of(const luc_edge *edge) {
  const luc_tensor *leaf = edge->to;
  if (edge->leaf) return (receiver){(luc_dtype)leaf->dtype, leaf->ndim, leaf->sizes};
  const luc_result_info *info = &((const luc_node *)edge->to)->infos[edge->index];
  return (receiver){(luc_dtype)info->dtype, info->ndim, info->sizes};
}

/* t summed over the dimensions in which it was broadcast from these sizes. */
static luc_status sum_to(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes,
                         luc_tensor **out) {
  int64_t dims[LUC_MAX_DIMS];
  int n = 0, lead = t->ndim - ndim;
  for (int d = 0; d < t->ndim; d++)
    if ((d < lead || sizes[d - lead] == 1) && t->sizes[d] != 1) dims[n++] = d;
  luc_tensor *sum = n == 0 ? luc__retain(t) : NULL;
  if (n > 0)
    LUC_TRY(luc__op1(ctx, LUC_OP_sum, &sum,
                     LUC_ARGS(luc_v_tensor(t), luc_v_ints(dims, n), luc_v_bool(true))));
  if (lead == 0) {
    *out = sum;
    return LUC_OK;
  }
  luc_status status =
      luc__op1(ctx, LUC_OP_view, out, LUC_ARGS(luc_v_tensor(sum), luc_v_ints(sizes, ndim)));
  luc_tensor_release(ctx, sum);
  return status;
}

/* Does a gradient of these sizes fit a result of those, perhaps after summing? */
static bool fits(const luc_tensor *g, int ndim, const int64_t *sizes) {
  if (g->ndim < ndim) return false;
  for (int d = 0; d < ndim; d++) {
    int64_t have = g->sizes[g->ndim - ndim + d];
    if (have != sizes[d] && sizes[d] != 1) return false;
  }
  return true;
}

luc_status luc__conform(luc_context *ctx, luc_tensor **g, const luc_edge *edge) {
  receiver to = receiver_of(edge);
  luc_tensor *t = *g;
  if (t->dtype == to.dtype && t->ndim == to.ndim &&
      !memcmp(t->sizes, to.sizes, (size_t)to.ndim * sizeof *to.sizes))
    return LUC_OK;
  char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, fits(t, to.ndim, to.sizes), LUC_ERR_SHAPE,
            "backward: got a gradient of shape %s where %s was expected",
            luc__tensor_shape_text(have, t), luc__shape_text(want, to.ndim, to.sizes));
  luc_tensor *summed, *cast;
  LUC_TRY(sum_to(ctx, t, to.ndim, to.sizes, &summed));
  luc_tensor_release(ctx, t);
  *g = summed;
  if (summed->dtype == to.dtype) return LUC_OK;
  LUC_TRY(luc__op1(ctx, LUC_OP_to, &cast, LUC_ARGS(luc_v_tensor(summed), luc_v_dtype(to.dtype))));
  luc_tensor_release(ctx, summed);
  *g = cast;
  return LUC_OK;
}

/* ---- what formulas ask ---- */

static int input_sizes(const luc_edge *edge, int64_t *sizes) {
  receiver input = receiver_of(edge);
  memcpy(sizes, input.sizes, (size_t)input.ndim * sizeof *sizes);
  return input.ndim;
}

int luc__input_sizes(const luc_backward *b, int p, int64_t *sizes) {
  return input_sizes(&b->node->edges[p], sizes);
}

int luc__item_sizes(const luc_backward *b, int i, int64_t *sizes) {
  return input_sizes(&b->node->edges[b->node->nslots + i], sizes);
}

luc_dtype luc__input_dtype(const luc_backward *b) {
  return receiver_of(&b->node->edges[0]).dtype;
}
