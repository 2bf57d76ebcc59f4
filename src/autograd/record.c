/* What the door asks of autograd: whether a call is recorded, its node, and the rules of in-place
 * writes. Nothing here runs operators; gradients are the engine's. */
#include <string.h>

#include "autograd/graph.h"

static bool list_requires_grad(const luc_value *v) {
  for (int i = 0; i < v->n; i++)
    if (v->as.tensors[i] && luc__requires_grad(v->as.tensors[i])) return true;
  return false;
}

bool luc__wants_record(luc_context *ctx, luc_opid op, const luc_value *args, int nargs) {
  if (!ctx->grad_mode || ctx->inside_op || ctx->inference_mode) return false;
  if (luc__ops[op].grad == LUC_NO_GRAD) return false;
  uint32_t mask = luc__op_info(ctx, op)->tensor_params;
  if (luc__ops[op].flags & LUC_F_VIEW)
    mask &= 1; /* of further tensors a view reads only the shape (view_as) */
  for (int p = 0; mask && p < nargs; p++, mask >>= 1) {
    if (!(mask & 1)) continue;
    const luc_value *v = &args[p];
    if (v->kind == LUC_TENSOR && luc__requires_grad(v->as.tensor)) return true;
    if (v->kind == LUC_TENSORS && list_requires_grad(v)) return true;
  }
  return false;
}

/* Bytes behind one argument's pointer, which the node must copy. */
static size_t extra_bytes(const luc_value *v) {
  switch (v->kind) {
  case LUC_INTS: return (size_t)v->n * sizeof *v->as.ints;
  case LUC_FLOATS: return (size_t)v->n * sizeof *v->as.floats;
  case LUC_TENSORS: return (size_t)v->n * sizeof *v->as.tensors;
  case LUC_STRING: return (strlen(v->as.string) + 8) & ~(size_t)7;
  default: return 0;
  }
}

/* As in PyTorch, where nobody would notice that such a tensor was written meanwhile. */
static bool has_inference(const luc_value *v) {
  luc_tensor *const *list;
  for (int i = luc_as_tensors(v, &list) - 1; i >= 0; i--)
    if (list[i] && list[i]->flags & LUC_TF_INFERENCE) return true;
  return false;
}

static void save_tensor(luc_node *node, int slot, luc_tensor *t) {
  node->versions[slot] = t->storage->version;
  luc__retain(t);
}

/* Copies argument p into the node; tensors only if the gradient reads them. */
static char *save_arg(luc_node *node, int p, const luc_value *v, bool saved, char *extra) {
  size_t bytes = extra_bytes(v);
  node->args[p] = *v;
  if (v->kind == LUC_TENSOR) {
    if (saved) save_tensor(node, p, v->as.tensor);
    if (!saved) node->args[p] = luc_v_none();
  } else if (v->kind == LUC_TENSORS && !saved) {
    node->args[p] = luc_v_none();
  } else if (bytes) {
    const void *from = v->kind == LUC_STRING ? (const void *)v->as.string : v->as.ints;
    size_t exact = v->kind == LUC_STRING ? strlen(v->as.string) + 1 : bytes;
    memcpy(extra, from, exact);
    node->args[p].as.ints = (const int64_t *)(void *)extra;
    for (int i = 0; v->kind == LUC_TENSORS && i < v->n; i++)
      if (v->as.tensors[i]) save_tensor(node, node->nslots + i, v->as.tensors[i]);
  }
  return extra + bytes;
}

static luc_status make_edges(luc_context *ctx, luc_node *node, const luc_value *args,
                             const luc_op_info *info) {
  for (int p = 0; p < node->nslots; p++)
    if (args[p].kind == LUC_TENSOR && (info->tensor_params >> p & 1))
      LUC_TRY(luc__edge_to(ctx, args[p].as.tensor, &node->edges[p]));
  for (int i = 0; i < node->nlist; i++) {
    luc_tensor *t = args[info->list_param].as.tensors[i];
    if (t) LUC_TRY(luc__edge_to(ctx, t, &node->edges[node->nslots + i]));
  }
  return LUC_OK;
}

/* Is the gradient of one of these parameters wanted? True where there are none. */
static bool wants_any(const luc_node *node, uint32_t readers) {
  for (int q = 0; q < node->nslots; q++)
    if ((readers >> q & 1) && node->edges[q].to) return true;
  return readers == 0;
}

/* Will the gradient read parameter p's tensor? */
static bool reads_arg(const luc_node *node, const luc_op_info *info, int p) {
  return (info->save_args >> p & 1) && wants_any(node, info->save_for[p]);
}

/* Will it read result r? */
static bool reads_result(const luc_node *node, const luc_op_info *info, int r) {
  return (info->save_results >> r & 1) && wants_any(node, info->keep_for[r]);
}

/* A node with edges and saved arguments; results are filled in by the caller. */
static luc_status call_node(luc_context *ctx, luc_opid op, const luc_value *args, int nresults,
                            luc_node **out) {
  const luc_op_info *info = luc__op_info(ctx, op);
  int nslots = info->schema.nparams;
  bool has_list = info->list_param >= 0 && args[info->list_param].kind == LUC_TENSORS;
  luc_node_shape shape = {op, nslots, has_list ? args[info->list_param].n : 0, nresults, 0};
  for (int p = 0; p < nslots; p++) shape.extra += extra_bytes(&args[p]);
  char *extra;
  luc_node *node;
  LUC_TRY(luc__node_new(ctx, &shape, &node, &extra));
  luc_status status = make_edges(ctx, node, args, info);
  for (int p = 0; p < nslots && status == LUC_OK; p++)
    if (has_inference(&args[p]) && reads_arg(node, info, p))
      status = luc__fail(ctx, LUC_ERR_STATE, LUC_INFERENCE_SAVED);
  if (status != LUC_OK) {
    luc__node_release(ctx, node);
    return status;
  }
  node->seq = ctx->next_seq++; /* edges to views may have made nodes meanwhile */
  for (int p = 0; p < nslots; p++) {
    const bool reads = reads_arg(node, info, p);
    node->number |= reads && p < 2 && (args[p].kind == LUC_INT || args[p].kind == LUC_FLOAT);
    extra = save_arg(node, p, &args[p], reads, extra);
  }
  *out = node;
  return LUC_OK;
}

/* Result r of the node is t; keeps an alias of it if the gradient reads it, since keeping t itself
 * would make a cycle. */
static luc_status add_result(luc_context *ctx, luc_node *node, int r, luc_tensor *t, bool saved) {
  luc__result_info(&node->infos[r], t);
  if (!saved) return LUC_OK;
  LUC_TRY(luc__tensor_alias(ctx, t, &node->results[r]));
  node->versions[node->nslots + node->nlist + r] = t->storage->version;
  return LUC_OK;
}

static luc_tensor *result_at(const luc_value *out, bool list, int r) {
  if (list) return out->as.tensors[r];
  return out[r].kind == LUC_TENSOR ? out[r].as.tensor : NULL;
}

luc_status luc__record(luc_context *ctx, luc_opid op, const luc_value *args, luc_value *out) {
  const luc_op_info *info = luc__op_info(ctx, op);
  bool list = info->schema.result_list;
  int n = list ? out->n : info->schema.nresults;
  /* An operator that had nothing to do gave its input back: that keeps its own history. */
  if (!list && args[0].kind == LUC_TENSOR && out[0].as.tensor == args[0].as.tensor) return LUC_OK;
  /* Truth values and positions have no gradient. */
  luc_tensor *first = !list && n == 1 ? luc_as_tensor(&out[0]) : NULL;
  if (first && !luc__dtype_has_gradient(first->dtype)) return LUC_OK;
  luc_node *node;
  LUC_TRY(call_node(ctx, op, args, n, &node));
  luc_status status = LUC_OK;
  for (int r = 0; r < n; r++) {
    luc_tensor *t = result_at(out, list, r);
    if (!t) continue;
    LUC_GO(add_result(ctx, node, r, t, !list && reads_result(node, info, r)));
    if (!luc__dtype_has_gradient(t->dtype)) continue;
    if (!luc__meta(ctx, t)) LUC_GO(LUC_ERR_MEMORY);
    luc__set_history(ctx, t, node, (uint32_t)r);
  }
  if (ctx->saved_hooks) luc__saved_await(ctx, node);
done:
  luc__node_release(ctx, node);
  return status;
}

/* ---- in-place writes ---- */

/* Views that PyTorch does not let be written while recording. */
static luc_status check_view(luc_context *ctx, const luc_tensor *self, const char *name,
                             const char *mark, bool records) {
  int made = self->meta ? self->meta->made : LUC_VIEW_WRITABLE;
  bool inferred = made == LUC_VIEW_IN_INFERENCE;
  LUC_CHECK(ctx, made != LUC_VIEW_WITHOUT_GRAD && !inferred, LUC_ERR_STATE,
            "%s%s: A view was created in %s mode and is being modified inplace %s. Given that this "
            "use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
            "moving both the view and the inplace either both inside the %s block (if you don't "
            "want the inplace to be tracked) or both outside (if you want the inplace to be "
            "tracked).",
            name, mark, inferred ? "inference" : "no_grad",
            inferred ? "in normal mode" : "with grad mode enabled",
            inferred ? "inference_mode" : "no_grad");
  if (made != LUC_VIEW_ONE_OF_SEVERAL || !records) return LUC_OK;
  return luc__refuse_several(ctx, self, "is being modified inplace", name, mark);
}

luc_status luc__inplace_check(luc_context *ctx, luc_opid op, luc_tensor *self, bool records) {
  const char *name = luc__op_info(ctx, op)->schema.name;
  const char *mark = name[0] && name[strlen(name) - 1] == '_' ? "" : "_"; /* add is called add_ */
  LUC_CHECK(ctx, !luc__is_frozen(ctx, self), LUC_ERR_STATE, "%s%s: " LUC_INFERENCE_WRITTEN, name,
            mark);
  if (!ctx->grad_mode || ctx->inside_op) return LUC_OK;
  bool leaf = !self->meta || !self->meta->node;
  luc_tensor *base = self->meta ? self->meta->base : NULL;
  LUC_CHECK(ctx, !((self->flags | (base ? base->flags : 0)) & LUC_TF_ALIAS), LUC_ERR_STATE,
            "%s%s: output of BackwardHookFunctionBackward is a view and is being modified inplace. "
            "This view was created inside a custom Function (or because an input was returned "
            "as-is) and the autograd logic to handle view+inplace would override the custom "
            "backward associated with the custom Function, leading to incorrect gradients. This "
            "behavior is forbidden. You can fix this by cloning the output of the custom Function.",
            name, mark);
  LUC_TRY(check_view(ctx, self, name, mark, records));
  bool inherits = base && base->requires_grad; /* the view's node may just not be made yet */
  LUC_CHECK(ctx, !(self->requires_grad && leaf && !inherits), LUC_ERR_STATE,
            "%s%s: a leaf Variable that requires grad is being used in an in-place operation.",
            name, mark);
  bool base_leaf = base && !(base->meta && base->meta->node); /* self may see one of its views */
  LUC_CHECK(ctx, !(base_leaf && (base->requires_grad || self->requires_grad)), LUC_ERR_STATE,
            "%s%s: a view of a leaf Variable that requires grad is being used in an in-place "
            "operation.",
            name, mark);
  return LUC_OK;
}

/* Replaces *saved by a copy if it sees the memory of self. */
static luc_status copy_shared(luc_context *ctx, const luc_tensor *self, luc_tensor **saved,
                              uint32_t *version) {
  luc_tensor *copy;
  if (!*saved || (*saved)->storage != self->storage) return LUC_OK;
  LUC_TRY(luc__unary(ctx, LUC_OP_clone, *saved, &copy));
  luc_tensor_release(ctx, *saved);
  *saved = copy;
  *version = copy->storage->version;
  return LUC_OK;
}

/* The gradient reads self as it was, wherever it and its views stand among the arguments: the node
 * keeps copies (self itself would also make a cycle). */
static luc_status copy_saved_self(luc_context *ctx, luc_node *node, const luc_tensor *self) {
  for (int p = 0; p < node->nslots; p++) {
    luc_value *v = &node->args[p];
    if (v->kind == LUC_TENSOR) LUC_TRY(copy_shared(ctx, self, &v->as.tensor, &node->versions[p]));
    for (int i = 0; v->kind == LUC_TENSORS && i < v->n; i++)
      LUC_TRY(copy_shared(ctx, self, &v->as.tensors[i], &node->versions[node->nslots + i]));
  }
  return LUC_OK;
}

luc_status luc__record_prepare(luc_context *ctx, luc_opid op, const luc_value *args,
                               luc_tensor *self, luc_node **out) {
  const luc_op_info *info = luc__op_info(ctx, op);
  *out = NULL;
  if (!luc__dtype_has_gradient(self->dtype)) return LUC_OK;
  LUC_TRY(luc__watch(ctx, self));
  luc_node *node;
  LUC_TRY(call_node(ctx, op, args, 1, &node));
  bool saves_result = !(luc__ops[op].flags & LUC_F_MUTATES) && reads_result(node, info, 0);
  luc_status status = copy_saved_self(ctx, node, self);
  if (status == LUC_OK) status = add_result(ctx, node, 0, self, saves_result);
  if (status == LUC_OK && self->meta->base) {
    status = luc__copy_slices(ctx, node, self, out);
  } else if (status == LUC_OK) {
    *out = node;
    return LUC_OK;
  }
  if (status != LUC_OK) luc__node_release(ctx, node);
  return status;
}

void luc__record_inplace(luc_context *ctx, bool done, luc_node *node, luc_tensor *self) {
  if (done && !(self->flags & LUC_TF_UNTRACKED)) self->storage->version++;
  if (!node) return;
  if (done) {
    luc_tensor *base = self->meta->base;
    luc_node *wrote = base ? luc__slices_inner(node) : node;
    if (wrote->results[0])
      wrote->versions[wrote->nslots + wrote->nlist] = wrote->results[0]->storage->version;
    luc__set_history(ctx, base ? base : self, node, 0);
    if (ctx->saved_hooks) luc__saved_await(ctx, wrote);
  }
  luc__node_release(ctx, node);
}

/* ---- functions with their own backward ---- */

luc_status luc__function_node(luc_context *ctx, const luc_function *fn, void *ud, int ninputs,
                              int nresults, luc_node **out) {
  size_t length = strlen(fn->name) + 1;
  luc_node_shape shape = {-1, ninputs, 0, nresults, length};
  char *extra;
  LUC_TRY(luc__node_new(ctx, &shape, out, &extra));
  memcpy(extra, fn->name, length);
  (*out)->function = *fn;
  (*out)->function.name = extra;
  (*out)->ud = ud;
  return LUC_OK;
}

static bool any_requires_grad(luc_tensor *const *inputs, int n) {
  for (int i = 0; i < n; i++)
    if (inputs[i] && luc__requires_grad(inputs[i])) return true;
  return false;
}

luc_status luc_function_record(luc_context *ctx, const luc_function *fn, void *ud,
                               luc_tensor *const *inputs, int ninputs, luc_tensor *const *outputs,
                               int noutputs, uint32_t non_differentiable, bool *recorded) {
  LUC_NEED(ctx, recorded);
  *recorded = false;
  LUC_NEED(ctx, fn && fn->name && fn->backward && (inputs || ninputs <= 0));
  LUC_TRY(luc__tensors_check(ctx, fn->name, "output", outputs, noutputs));
  if (!ctx->grad_mode || ctx->inside_op || ctx->inference_mode) return LUC_OK;
  if (!any_requires_grad(inputs, ninputs)) return LUC_OK;
  luc_node *node;
  luc_status status;
  LUC_TRY(luc__function_node(ctx, fn, ud, ninputs, noutputs, &node));
  for (int i = 0; i < ninputs; i++)
    if (inputs[i]) LUC_GO(luc__edge_to(ctx, inputs[i], &node->edges[i]));
  node->seq = ctx->next_seq++;
  status = LUC_OK;
  for (int r = 0; r < noutputs; r++)
    LUC_GO(luc__watch(ctx, outputs[r])); /* it may be an input that was written */
  for (int r = 0; r < noutputs; r++) {
    luc__result_info(&node->infos[r], outputs[r]);
    bool differentiable =
        luc__dtype_has_gradient(outputs[r]->dtype) && !(r < 32 && (non_differentiable >> r & 1));
    if (differentiable) luc__set_history(ctx, outputs[r], node, (uint32_t)r);
  }
  *recorded = true;
done:
  if (status != LUC_OK) node->function.free = NULL;
  luc__node_release(ctx, node);
  return status;
}
