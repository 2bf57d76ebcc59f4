/* Views and in-place writes. A view remembers its base; a write through it becomes a node of the
 * base (the gradient with the view's region replaced by what the written operator passes on), and
 * every view whose storage has changed gets its history anew from the base, by geometry. */
#include <stdio.h>
#include <string.h>

#include "autograd/graph.h"

typedef struct geometry {
  uint8_t dtype;
  int ndim;
  int64_t sizes[LUC_MAX_DIMS], strides[LUC_MAX_DIMS], offset;
} geometry;

static geometry geometry_of(const luc_tensor *t) {
  geometry g = {.dtype = t->dtype, .ndim = t->ndim, .offset = t->offset};
  memcpy(g.sizes, t->sizes, sizeof g.sizes);
  memcpy(g.strides, t->strides, sizeof g.strides);
  return g;
}

luc_status luc__record_view(luc_context *ctx, luc_tensor *base, luc_tensor *view, bool several) {
  if (view == base || view->storage != base->storage) return LUC_OK;
  if (!luc__dtype_has_gradient(view->dtype)) return LUC_OK;
  const bool marked = base->meta && base->meta->made > LUC_VIEW_ONE_OF_SEVERAL;
  if (!ctx->grad_mode && !luc__requires_grad(base) && !marked) return LUC_OK;
  luc_meta *meta = luc__meta(ctx, view);
  if (!meta) return LUC_ERR_MEMORY;
  meta->made = several ? LUC_VIEW_ONE_OF_SEVERAL : base->meta ? base->meta->made : 0;
  if (!ctx->grad_mode)
    meta->made = ctx->inference_mode ? LUC_VIEW_IN_INFERENCE : LUC_VIEW_WITHOUT_GRAD;
  if (meta->base || !ctx->grad_mode) return LUC_OK;
  if (base->meta && base->meta->base) base = base->meta->base;
  meta->base = luc__retain(base);
  meta->view_version = view->storage->version;
  return LUC_OK;
}

void luc__tensor_leave_base(luc_context *ctx, luc_tensor *t) {
  if (!t->meta) return;
  luc_tensor_release(ctx, t->meta->base);
  t->meta->base = NULL;
  t->meta->made = LUC_VIEW_WRITABLE;
}

/* ---- the two nodes: what a view is of its base, what a base is after a write to a view ---- */

typedef struct slices {
  luc_node *inner; /* the written operator; NULL for a plain view */
  geometry base, view;
} slices;

static void slices_free(luc_context *ctx, void *ud) {
  slices *s = ud;
  luc__node_release(ctx, s->inner);
  luc__free(ctx, s, sizeof *s);
}

/* Complex numbers seen as pairs of real ones, or the other way round: t has one dimension. */
static luc_status other_kind(luc_context *ctx, luc_tensor *t, luc_tensor **out) {
  luc_tensor *pairs;
  int64_t sizes[2] = {-1, 2};
  if (luc__dtype_is_complex(t->dtype)) return luc__unary(ctx, LUC_OP_view_as_real, t, out);
  LUC_TRY(luc__op1(ctx, LUC_OP_view, &pairs, LUC_ARGS(luc_v_tensor(t), luc_v_ints(sizes, 2))));
  luc_status status = luc__unary(ctx, LUC_OP_view_as_complex, pairs, out);
  luc_tensor_release(ctx, pairs);
  return status;
}

/* A view of t by g's geometry, through operators, so that it is recorded if need be. */
static luc_status strided(luc_context *ctx, luc_tensor *t, const geometry *g, luc_tensor **out) {
  luc_tensor *seen = NULL;
  luc_status status = LUC_OK;
  if (luc__dtype_is_complex(t->dtype) != luc__dtype_is_complex(g->dtype))
    LUC_GO(other_kind(ctx, t, &seen));
  LUC_GO(luc__op1(ctx, LUC_OP_as_strided, out,
                  LUC_ARGS(luc_v_tensor(seen ? seen : t), luc_v_ints(g->sizes, g->ndim),
                           luc_v_ints(g->strides, g->ndim), luc_v_int(g->offset))));
done:
  luc_tensor_release(ctx, seen);
  return status;
}

static luc_status write_strided(luc_context *ctx, luc_tensor *t, const geometry *g,
                                luc_tensor *value) {
  luc_tensor *region;
  LUC_TRY(strided(ctx, t, g, &region));
  luc_status status =
      luc_call_inplace(ctx, LUC_OP_copy_, LUC_ARGS(luc_v_tensor(region), luc_v_tensor(value)));
  luc_tensor_release(ctx, region);
  return status;
}

/* How many elements a geometry needs of its storage: an even number, since pairs of them may be
 * seen as complex numbers. */
static int64_t extent_of(const geometry *g) {
  int64_t extent = g->offset + 1;
  for (int d = 0; d < g->ndim; d++) extent += (g->sizes[d] - 1) * g->strides[d];
  for (int d = 0; d < g->ndim; d++)
    if (!g->sizes[d]) extent = g->offset;
  return extent + (extent & 1);
}

/* Zeros for the base's storage; the base itself may have gaps. If the gradient to be put in is
 * batched they are, too. */
static luc_status flat_zeros(luc_context *ctx, const geometry *base, luc_tensor *grad,
                             luc_tensor **out) {
  int64_t extent = extent_of(base);
  return luc__op1(ctx, LUC_OP_new_zeros, out,
                  LUC_ARGS(luc_v_tensor(grad), luc_v_ints(&extent, 1), luc_v_dtype(base->dtype)));
}

/* gin[0] = zeros like the base, plus gout at the view's elements, which may repeat and may lie
 * outside of the base. */
static luc_status view_backward(luc_context *ctx, void *ud, luc_tensor *const *gout, int ngout,
                                luc_tensor **gin, int ngin) {
  const geometry *base = &((slices *)ud)->base, *view = &((slices *)ud)->view;
  int64_t extent = extent_of(base), reach = extent_of(view);
  luc_tensor *flat;
  (void)ngout;
  (void)ngin;
  if (!gout[0]) return LUC_OK;
  if (luc__dtype_is_complex(base->dtype) && !luc__dtype_is_complex(view->dtype)) extent *= 2;
  if (luc__dtype_is_complex(view->dtype) && !luc__dtype_is_complex(base->dtype)) extent /= 2;
  if (extent < reach) extent = reach;
  LUC_TRY(luc__op1(ctx, LUC_OP_strided_add, &flat,
                   LUC_ARGS(luc_v_tensor(gout[0]), luc_v_ints(&extent, 1),
                            luc_v_ints(view->strides, view->ndim), luc_v_int(view->offset))));
  luc_status status = strided(ctx, flat, base, &gin[0]);
  luc_tensor_release(ctx, flat);
  return status;
}

/* The inner operator's gradients, run on the view's part of the base's gradient; what it passes to
 * its own self replaces that part. */
static luc_status slices_backward(luc_context *ctx, void *ud, luc_tensor *const *gout, int ngout,
                                  luc_tensor **gin, int ngin) {
  slices *s = ud;
  luc_tensor *flat = NULL, *region = NULL, *part = NULL, *zero = NULL;
  luc_status status = LUC_OK;
  (void)ngout;
  (void)ngin;
  if (!gout[0]) return LUC_OK;
  LUC_GO(flat_zeros(ctx, &s->base, gout[0], &flat));
  LUC_GO(write_strided(ctx, flat, &s->base, gout[0]));
  LUC_GO(strided(ctx, flat, &s->view, &region));
  LUC_GO(luc__unary(ctx, LUC_OP_clone, region, &part));
  LUC_GO(luc__node_run(ctx, s->inner, &part, gin));
  if (!gin[0]) {
    luc_scalar nought = {LUC_SCALAR_INT, {.i = 0}};
    LUC_GO(luc__tensor_scalar(ctx, nought, s->view.dtype, &zero));
  }
  LUC_GO(write_strided(ctx, flat, &s->view, zero ? zero : gin[0]));
  luc_tensor_release(ctx, gin[0]);
  gin[0] = NULL;
  LUC_GO(strided(ctx, flat, &s->base, &gin[0]));
done:
  LUC_RELEASE(ctx, flat, region, part, zero);
  return status;
}

static luc_status slices_node(luc_context *ctx, const char *name, luc_tensor *view, luc_node *inner,
                              int ninputs, luc_node **out) {
  slices *s = luc__alloc(ctx, sizeof *s);
  if (!s) return LUC_ERR_MEMORY;
  *s = (slices){NULL, geometry_of(view->meta->base), geometry_of(view)};
  luc_function fn = {
      .name = name, .backward = inner ? slices_backward : view_backward, .free = slices_free};
  luc_status status = luc__function_node(ctx, &fn, s, ninputs, 1, out);
  if (status != LUC_OK) luc__free(ctx, s, sizeof *s);
  return status;
}

luc_status luc__refuse_several(luc_context *ctx, const luc_tensor *view, const char *what,
                               const char *name, const char *mark) {
  char fn[LUC_GRAD_FN_NAME];
  if (!luc_tensor_grad_fn(view, fn)) snprintf(fn, sizeof fn, "a function");
  return luc__fail(ctx, LUC_ERR_STATE,
                   "%s%s%sOutput %u of %s is a view and %s. This view is the output of a function "
                   "that returns multiple views. Such functions do not allow the output views to "
                   "be modified inplace. You should replace the inplace operation by an "
                   "out-of-place one.",
                   name, mark, name[0] ? ": " : "", luc_tensor_output_nr(view) + 1, fn, what);
}

luc_status luc__view_refresh(luc_context *ctx, luc_tensor *view) {
  luc_meta *meta = view->meta;
  luc_tensor *base = meta->base;
  if (!luc__inherits(view)) return LUC_OK;
  if (meta->view_version == view->storage->version && meta->node) return LUC_OK;
  if (meta->made == LUC_VIEW_ONE_OF_SEVERAL)
    return luc__refuse_several(
        ctx, view, "its base or another view of its base has been modified inplace", "", "");
  luc_node *node;
  LUC_TRY(luc__watch(ctx, view));
  LUC_TRY(slices_node(ctx, "AsStridedBackward0", view, NULL, 1, &node));
  luc_status status = luc__edge_to(ctx, base, &node->edges[0]);
  if (status == LUC_OK) {
    luc__result_info(&node->infos[0], view);
    luc__set_history(ctx, view, node, 0);
    meta->view_version = view->storage->version;
  }
  luc__node_release(ctx, node);
  return status;
}

void luc__become_view(luc_context *ctx, luc_tensor *self, luc_tensor *view) {
  luc_meta *made = view->meta;
  luc__tensor_set_geometry(self, view);
  if (!(self->flags & LUC_TF_UNTRACKED)) self->storage->version++;
  if (made && made->node) luc__set_history(ctx, self, made->node, made->index);
  if (self->meta) self->meta->view_version = self->storage->version;
}

bool luc__is_view_node(const luc_node *node) {
  return node->function.backward == view_backward;
}

luc_node *luc__slices_inner(const luc_node *node) {
  return node->function.free == slices_free ? ((slices *)node->ud)->inner : NULL;
}

luc_status luc__copy_slices(luc_context *ctx, luc_node *inner, luc_tensor *view, luc_node **out) {
  luc_tensor *base = view->meta->base;
  luc_node *node;
  int n = inner->nslots + inner->nlist;
  LUC_TRY(luc__watch(ctx, base));
  LUC_TRY(slices_node(ctx, "CopySlices", view, inner, n, &node));
  luc_status status = luc__edge_to(ctx, base, &node->edges[0]);
  if (status != LUC_OK) {
    luc__node_release(ctx, node);
    return status;
  }
  /* The inner node keeps its edge 0 only to know the shape there; the others are run through here.
   */
  for (int i = 1; i < n; i++) node->edges[i] = luc__edge_copy(&inner->edges[i]);
  ((slices *)node->ud)->inner = inner;
  luc__result_info(&node->infos[0], base);
  *out = node;
  return LUC_OK;
}
