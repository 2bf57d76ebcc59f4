/* The backward engine: runs nodes from the newest down, so every gradient is complete when its node
 * runs; no recursion at any depth. A pass keeps a task for every node and leaf it reaches; a task
 * hides that of an outer pass, so hooks may start passes of their own. */
#include <string.h>

#include "autograd/graph.h"
#include "cpu/copy.h"
#include "cpu/reduce.h"

typedef struct luc_run luc_run;

struct luc_task {
  luc_run *run;
  luc_task *outer;  /* of the same node or leaf, in an outer pass */
  luc_task *next;   /* all tasks of this pass, newest first */
  luc_node *node;   /* owned; or */
  luc_tensor *leaf; /* owned */
  bool needed;
  int input;          /* 1 + the first of the inputs that are results of it; 0: none are */
  int n;              /* gradients */
  luc_tensor *grad[]; /* owned */
};

struct luc_run {
  luc_context *ctx;
  bool create_graph, retain_graph, detect_anomaly;
  bool capture; /* there are inputs: only tasks marked as needed count */
  luc_task *tasks;
  luc_task **heap; /* nodes that have a gradient, highest sequence number first */
  size_t heap_used, heap_size;
  luc_tensor *const *inputs; /* what is asked for */
  luc_tensor **captured;     /* their gradients; NULL: they are accumulated in the inputs */
  int ninputs;
  int *next_input; /* 1 + the next one of the same task; 0: none */
};

/* ---- tasks ---- */

static size_t task_size(int n) {
  return sizeof(luc_task) + (size_t)n * sizeof(luc_tensor *);
}

static luc_task **task_slot(void *to, bool leaf) {
  return leaf ? &((luc_tensor *)to)->meta->task : &((luc_node *)to)->task;
}

static luc_task *task_find(const luc_run *run, void *to, bool leaf) {
  luc_task *task = *task_slot(to, leaf);
  return task && task->run == run ? task : NULL;
}

static luc_task *task_new(luc_run *run, void *to, bool leaf) {
  int n = leaf ? 1 : ((luc_node *)to)->nresults;
  luc_task *task = luc__alloc(run->ctx, task_size(n));
  if (!task) return NULL;
  luc_task **slot = task_slot(to, leaf);
  memset(task, 0, task_size(n));
  task->run = run;
  task->outer = *slot;
  task->next = run->tasks;
  task->n = n;
  if (leaf) task->leaf = luc__retain(to);
  if (!leaf) task->node = to;
  if (!leaf) task->node->refs++;
  run->tasks = *slot = task;
  return task;
}

static void drop_grads(luc_context *ctx, luc_task *task) {
  for (int i = 0; i < task->n; i++) {
    luc_tensor_release(ctx, task->grad[i]);
    task->grad[i] = NULL;
  }
}

static void run_free(luc_run *run) {
  luc_context *ctx = run->ctx;
  while (run->tasks) {
    luc_task *task = run->tasks;
    run->tasks = task->next;
    *task_slot(task->leaf ? (void *)task->leaf : (void *)task->node, task->leaf) = task->outer;
    drop_grads(ctx, task);
    luc_tensor_release(ctx, task->leaf);
    luc__node_release(ctx, task->node);
    luc__free(ctx, task, task_size(task->n));
  }
  luc__free(ctx, run->heap, run->heap_size * sizeof *run->heap);
  luc__free(ctx, run->next_input, (size_t)run->ninputs * sizeof *run->next_input);
}

static luc_status heap_push(luc_run *run, luc_task *task) {
  if (run->heap_used == run->heap_size) {
    size_t size = run->heap_size ? 2 * run->heap_size : 32;
    luc_task **grown =
        luc__realloc(run->ctx, run->heap, run->heap_size * sizeof *grown, size * sizeof *grown);
    if (!grown) return LUC_ERR_MEMORY;
    run->heap = grown;
    run->heap_size = size;
  }
  size_t i = run->heap_used++;
  for (; i && run->heap[(i - 1) / 2]->node->seq < task->node->seq; i = (i - 1) / 2)
    run->heap[i] = run->heap[(i - 1) / 2];
  run->heap[i] = task;
  return LUC_OK;
}

static luc_task *heap_pop(luc_run *run) {
  luc_task **heap = run->heap, *top = heap[0], *last = heap[--run->heap_used];
  size_t n = run->heap_used, i = 0;
  for (size_t child = 1; child < n; child = 2 * i + 1) {
    if (child + 1 < n && heap[child + 1]->node->seq > heap[child]->node->seq) child++;
    if (heap[child]->node->seq <= last->node->seq) break;
    heap[i] = heap[child];
    i = child;
  }
  if (n) heap[i] = last;
  return top;
}

/* ---- gradients on their way ---- */

luc_status luc__sum_to(luc_context *ctx, luc_tensor *t, int ndim, const int64_t *sizes,
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

/* *g becomes what the receiver expects: its shape and dtype. */
static luc_status conform(luc_context *ctx, luc_tensor **g, luc_dtype dtype, int ndim,
                          const int64_t *sizes) {
  luc_tensor *t = *g;
  if (t->dtype == dtype && t->ndim == ndim &&
      !memcmp(t->sizes, sizes, (size_t)ndim * sizeof *sizes))
    return LUC_OK;
  char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, fits(t, ndim, sizes), LUC_ERR_SHAPE,
            "backward: got a gradient of shape %s where %s was expected",
            luc__tensor_shape_text(have, t), luc__shape_text(want, ndim, sizes));
  luc_tensor *summed, *cast;
  LUC_TRY(luc__sum_to(ctx, t, ndim, sizes, &summed));
  luc_tensor_release(ctx, t);
  *g = summed;
  if (summed->dtype == dtype) return LUC_OK;
  LUC_TRY(luc__op1(ctx, LUC_OP_to, &cast, LUC_ARGS(luc_v_tensor(summed), luc_v_dtype(dtype))));
  luc_tensor_release(ctx, summed);
  *g = cast;
  return LUC_OK;
}

/* May `sum` be added to in place: nothing else sees it, and no graph is being made? */
static bool exclusive(const luc_run *run, const luc_tensor *sum) {
  return !run->create_graph && !sum->inner && sum->refs == 1 &&
         atomic_load(&sum->storage->refs) == 1 && luc__is_contiguous(sum);
}

/* *sum += g; takes over g. */
static luc_status accumulate(luc_run *run, luc_tensor **sum, luc_tensor *g) {
  luc_context *ctx = run->ctx;
  if (!*sum) {
    *sum = g;
    return LUC_OK;
  }
  luc_status status;
  if (exclusive(run, *sum) && !g->inner) {
    status = luc_call_inplace(ctx, LUC_OP_add, LUC_ARGS(luc_v_tensor(*sum), luc_v_tensor(g)));
  } else {
    luc_tensor *total = NULL;
    status = luc__binary(ctx, LUC_OP_add, *sum, g, &total);
    if (status == LUC_OK) {
      luc_tensor_release(ctx, *sum);
      *sum = total;
    }
  }
  luc_tensor_release(ctx, g);
  return status;
}

/* *g as it will arrive at the other end of the edge. */
static luc_status conform_to(luc_context *ctx, luc_tensor **g, const luc_edge *edge) {
  if (edge->leaf) {
    luc_tensor *t = edge->to;
    return conform(ctx, g, t->dtype, t->ndim, t->sizes);
  }
  const luc_result_info *info = &((luc_node *)edge->to)->infos[edge->index];
  return conform(ctx, g, info->dtype, info->ndim, info->sizes);
}

/* Sends g along an edge; takes it over. */
static luc_status send(luc_run *run, const luc_edge *edge, luc_tensor *g) {
  luc_context *ctx = run->ctx;
  luc_task *task = task_find(run, edge->to, edge->leaf);
  luc_status status = LUC_OK;
  if (run->capture && !(task && task->needed)) goto done;
  LUC_GO(conform_to(ctx, &g, edge));
  bool fresh = !task;
  if (fresh) task = task_new(run, edge->to, edge->leaf);
  if (!task) LUC_GO(LUC_ERR_MEMORY);
  if (!edge->leaf && !task->leaf) {
    bool queued = false;
    for (int i = 0; i < task->n; i++) queued |= task->grad[i] != NULL;
    if (!queued) LUC_GO(heap_push(run, task));
  }
  luc_tensor *taken = g;
  g = NULL;
  status = accumulate(run, &task->grad[edge->leaf ? 0 : edge->index], taken);
done:
  luc_tensor_release(ctx, g);
  return status;
}

/* ---- running a node ---- */

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

static bool edge_needed(const luc_node *node, const luc_edge *edge) {
  if (!edge->to) return false;
  const luc_run *run = node->task ? node->task->run : NULL;
  if (!run || !run->capture) return true;
  const luc_task *task = task_find(run, edge->to, edge->leaf);
  return task && task->needed;
}

bool luc__needs(const luc_backward *b, int p) {
  return edge_needed(b->node, &b->node->edges[p]);
}

bool luc__needs_item(const luc_backward *b, int i) {
  return edge_needed(b->node, &b->node->edges[b->node->nslots + i]);
}

static int edge_sizes(const luc_edge *edge, int64_t *sizes) {
  int ndim =
      edge->leaf ? ((luc_tensor *)edge->to)->ndim : ((luc_node *)edge->to)->infos[edge->index].ndim;
  const int64_t *from = edge->leaf ? ((luc_tensor *)edge->to)->sizes
                                   : ((luc_node *)edge->to)->infos[edge->index].sizes;
  memcpy(sizes, from, (size_t)ndim * sizeof *sizes);
  return ndim;
}

int luc__input_sizes(const luc_backward *b, int p, int64_t *sizes) {
  return edge_sizes(&b->node->edges[p], sizes);
}

int luc__item_sizes(const luc_backward *b, int i, int64_t *sizes) {
  return edge_sizes(&b->node->edges[b->node->nslots + i], sizes);
}

luc_dtype luc__input_dtype(const luc_backward *b, int p) {
  const luc_edge *edge = &b->node->edges[p];
  return (luc_dtype)(edge->leaf ? ((luc_tensor *)edge->to)->dtype
                                : ((luc_node *)edge->to)->infos[edge->index].dtype);
}

/* ---- hooks ---- */

static luc_status run_hook(luc_context *ctx, const luc_hook *hook, luc_tensor **grad) {
  luc_tensor *replacement = NULL;
  LUC_TRY(hook->fn(ctx, hook->ud, *grad, &replacement));
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

/* Hooks see the whole list by id, so that one may remove itself or others, or add more (which run
 * from the next pass on). */
static luc_status run_hooks(luc_context *ctx, luc_hook *const *list, luc_tensor **grads) {
  uint64_t limit = ctx->next_id, seen = 0;
  for (;;) {
    const luc_hook *next = NULL;
    for (const luc_hook *h = *list; h; h = h->next)
      if (h->fn && h->id >= seen && h->id < limit && (!next || h->id < next->id)) next = h;
    if (!next) break;
    seen = next->id + 1;
    if (grads[next->index]) LUC_TRY(run_hook(ctx, next, &grads[next->index]));
  }
  for (const luc_hook *h = *list; h; h = h->next) {
    if (h->fn || h->after || h->node || !grads[h->index]) continue;
    luc_meta *meta = h->ud;
    luc_tensor_release(ctx, meta->grad);
    meta->grad = luc__retain(grads[h->index]);
  }
  return LUC_OK;
}

/* The tensor arguments of a node as node hooks see them: their places among its edges. */
static int tensor_places(luc_context *ctx, const luc_node *node, int *places, int most) {
  const luc_op_info *info = node->op >= 0 ? luc__op_info(ctx, node->op) : NULL;
  int n = 0;
  for (int i = 0; i < node->nslots + node->nlist && n < most; i++) {
    bool list = info && i == info->list_param;
    if (!list && (!info || i >= node->nslots || (info->tensor_params >> i & 1))) places[n++] = i;
  }
  return n;
}

/* Hooks of the node, in the order in which they were added. */
static luc_status run_node_hooks(luc_context *ctx, luc_node *node, luc_tensor *const *gout,
                                 luc_tensor **gin) {
  enum { MOST = 64 };
  int places[MOST], n = -1;
  uint64_t seen = 0;
  for (;;) {
    const luc_hook *next = NULL;
    for (const luc_hook *h = node->hooks; h; h = h->next)
      if (h->node && h->id >= seen && (!next || h->id < next->id)) next = h;
    if (!next) return LUC_OK;
    seen = next->id + 1;
    if (n < 0) {
      n = tensor_places(ctx, node, places, MOST);
      for (int i = 0; i < n; i++) {
        int at = places[i];
        if (gin[at] && node->edges[at].to) LUC_TRY(conform_to(ctx, &gin[at], &node->edges[at]));
      }
    }
    luc_tensor *few[MOST];
    for (int i = 0; i < n; i++) few[i] = gin[places[i]];
    luc_status status = next->node(ctx, next->ud, gout, node->nresults, few, n);
    for (int i = 0; i < n; i++) gin[places[i]] = few[i];
    LUC_TRY(status);
  }
}

static luc_status run_accumulate_hooks(luc_context *ctx, luc_tensor *leaf) {
  uint64_t limit = ctx->next_id, seen = 0;
  for (;;) {
    const luc_hook *next = NULL;
    for (const luc_hook *h = leaf->meta->hooks; h; h = h->next)
      if (h->after && h->id >= seen && h->id < limit && (!next || h->id < next->id)) next = h;
    if (!next) return LUC_OK;
    seen = next->id + 1;
    LUC_TRY(next->after(ctx, next->ud, leaf));
  }
}

/* ---- the pass ---- */

/* Adds the gathered gradient to the leaf's own. A gradient nobody else sees is taken as it is. */
static luc_status accumulate_leaf(luc_run *run, luc_task *task) {
  luc_context *ctx = run->ctx;
  luc_meta *meta = task->leaf->meta;
  luc_tensor *g = task->grad[0];
  if (!meta->grad && exclusive(run, g)) {
    meta->grad = g;
    task->grad[0] = NULL;
  } else if (!meta->grad) {
    LUC_TRY(luc__unary(ctx, LUC_OP_clone, g, &meta->grad));
  } else if (!run->create_graph) {
    LUC_TRY(luc_call_inplace(ctx, LUC_OP_add, LUC_ARGS(luc_v_tensor(meta->grad), luc_v_tensor(g))));
  } else {
    luc_tensor *total;
    LUC_TRY(luc__binary(ctx, LUC_OP_add, meta->grad, g, &total));
    luc_tensor_release(ctx, meta->grad);
    meta->grad = total;
  }
  return run_accumulate_hooks(ctx, task->leaf);
}

static void capture_grads(luc_run *run, const luc_task *task) {
  for (int i = task->input; i; i = run->next_input[i - 1]) {
    luc_tensor *g = task->grad[task->leaf ? 0 : run->inputs[i - 1]->meta->index];
    if (g && !run->captured[i - 1]) run->captured[i - 1] = luc__retain(g);
  }
}

static luc_status check_nan(luc_context *ctx, const luc_node *node, luc_tensor *const *gin, int n) {
  for (int i = 0; i < n; i++) {
    luc_tensor *same;
    if (!gin[i] || gin[i]->inner) continue;
    LUC_TRY(luc__binary(ctx, LUC_OP_eq, gin[i], gin[i], &same));
    bool nan = luc__any_zero(ctx, same);
    luc_tensor_release(ctx, same);
    LUC_CHECK(ctx, !nan, LUC_ERR_VALUE,
              "backward: function '%s' returned nan values in its output %d",
              luc__node_name((char[LUC_NODE_NAME]){0}, node), i + 1);
  }
  return LUC_OK;
}

static luc_status run_task(luc_run *run, luc_task *task) {
  luc_context *ctx = run->ctx;
  luc_node *node = task->node;
  int n = node->nslots + node->nlist;
  luc_tensor *few[LUC_MAX_PARAMS] = {0}, **gin = few;
  luc_status status = LUC_OK;
  if (n > LUC_MAX_PARAMS) gin = luc__alloc_zero(ctx, (size_t)n * sizeof *gin);
  if (!gin) return LUC_ERR_MEMORY;
  if (node->hooks) LUC_GO(run_hooks(ctx, &node->hooks, task->grad));
  if (run->captured) capture_grads(run, task);
  bool wanted = !run->capture;
  for (int i = 0; i < n && !wanted; i++) wanted = edge_needed(node, &node->edges[i]);
  if (!wanted) goto done;
  LUC_GO(luc__node_run(ctx, node, task->grad, gin));
  if (run->detect_anomaly) LUC_GO(check_nan(ctx, node, gin, n));
  if (node->hooks) LUC_GO(run_node_hooks(ctx, node, task->grad, gin));
  drop_grads(ctx, task);
  if (!run->retain_graph) luc__node_forget(ctx, node);
  for (int i = 0; i < n; i++) {
    luc_tensor *g = gin[i];
    gin[i] = NULL;
    if (!g || !node->edges[i].to) {
      luc_tensor_release(ctx, g);
    } else {
      LUC_GO(send(run, &node->edges[i], g));
    }
  }
done:
  for (int i = 0; i < n; i++) luc_tensor_release(ctx, gin[i]);
  if (gin != few) luc__free(ctx, gin, (size_t)n * sizeof *gin);
  drop_grads(ctx, task);
  return status;
}

/* Leaves come last: their gradients are complete, and a failing node leaves them untouched. */
static luc_status finish_leaves(luc_run *run) {
  for (luc_task *t = run->tasks; t; t = t->next)
    if (t->leaf && t->grad[0]) LUC_TRY(run_hooks(run->ctx, &t->leaf->meta->hooks, t->grad));
  for (luc_task *t = run->tasks; t; t = t->next) {
    if (!t->leaf || !t->grad[0]) continue;
    if (run->captured) {
      capture_grads(run, t);
    } else {
      LUC_TRY(accumulate_leaf(run, t));
    }
  }
  return LUC_OK;
}

/* ---- what is needed (autograd.grad) ---- */

/* Makes a task for an edge, unless it is empty or there is one. */
static luc_status reach_edge(luc_run *run, const luc_edge *e) {
  bool known = !e->to || task_find(run, e->to, e->leaf);
  return known || task_new(run, e->to, e->leaf) ? LUC_OK : LUC_ERR_MEMORY;
}

/* Makes tasks for all that the outputs come from; the list of the pass doubles as the work list:
 * new tasks go in front, and each is expanded once, from the last expanded one backwards. */
static luc_status reach_from(luc_run *run, luc_tensor *const *outputs, int n) {
  luc_task *stop = NULL;
  for (int i = 0; i < n; i++) {
    luc_edge edge;
    LUC_TRY(luc__edge_to(run->ctx, outputs[i], &edge));
    luc_status status = reach_edge(run, &edge);
    luc__edge_release(run->ctx, &edge);
    LUC_TRY(status);
  }
  while (run->tasks != stop) {
    luc_task *first = run->tasks, *until = stop;
    stop = first;
    for (luc_task *t = first; t != until; t = t->next) {
      if (t->leaf) continue;
      for (int i = 0; i < t->node->nslots + t->node->nlist; i++)
        LUC_TRY(reach_edge(run, &t->node->edges[i]));
    }
  }
  return LUC_OK;
}

static luc_status mark_inputs(luc_run *run) {
  run->next_input = luc__alloc_zero(run->ctx, (size_t)run->ninputs * sizeof *run->next_input);
  if (!run->next_input) return LUC_ERR_MEMORY;
  for (int i = run->ninputs; i > 0; i--) {
    luc_tensor *t = run->inputs[i - 1];
    if (!t->meta) continue;
    luc_node *node = t->meta->node;
    luc_task *task = node ? task_find(run, node, false) : task_find(run, t, true);
    if (!task) continue;
    task->needed = true;
    run->next_input[i - 1] = task->input;
    task->input = i;
  }
  return LUC_OK;
}

/* Marks tasks on a path to an input, oldest nodes first. */
static luc_status mark_needed(luc_run *run) {
  size_t count = 0;
  LUC_TRY(mark_inputs(run));
  for (luc_task *t = run->tasks; t; t = t->next) {
    if (t->leaf) continue;
    LUC_TRY(heap_push(run, t));
    count++;
  }
  luc_task **order = luc__alloc(run->ctx, luc__mul_size(count, sizeof *order));
  if (!order) return LUC_ERR_MEMORY;
  for (size_t i = count; i > 0; i--) order[i - 1] = heap_pop(run);
  for (size_t k = 0; k < count; k++) {
    luc_node *node = order[k]->node;
    for (int i = 0; i < node->nslots + node->nlist; i++)
      order[k]->needed |= edge_needed(node, &node->edges[i]);
  }
  luc__free(run->ctx, order, luc__mul_size(count, sizeof *order));
  return LUC_OK;
}

/* ---- entry ---- */

static luc_status root_grad(luc_context *ctx, luc_tensor *t, luc_tensor *given, luc_tensor **out) {
  char have[LUC_SHAPE_TEXT], want[LUC_SHAPE_TEXT];
  luc_scalar one = {LUC_SCALAR_FLOAT, {.f = 1}};
  if (given) {
    LUC_CHECK(ctx, luc__same_sizes(given, t), LUC_ERR_SHAPE,
              "backward: gradient has shape %s, the output has %s",
              luc__tensor_shape_text(have, given), luc__tensor_shape_text(want, t));
    bool alike = luc__dtype_is_complex(t->dtype) == luc__dtype_is_complex(given->dtype);
    LUC_CHECK(ctx, alike, LUC_ERR_TYPE,
              "backward: gradient is %s, the output %s: both must be complex, or neither",
              luc__dtype_name(given->dtype), luc__dtype_name(t->dtype));
    *out = luc__retain(given);
    return LUC_OK;
  }
  LUC_CHECK(ctx, t->numel == 1, LUC_ERR_SHAPE,
            "backward: grad can be implicitly created only for scalar outputs (this one has shape "
            "%s)",
            luc__tensor_shape_text(have, t));
  LUC_CHECK(ctx, !luc__dtype_is_complex(t->dtype), LUC_ERR_TYPE,
            "backward: grad can be implicitly created only for real scalar outputs but got %s",
            luc__dtype_name(t->dtype));
  LUC_TRY(luc__tensor_empty_like(ctx, t, t->dtype, out));
  luc_status status = luc__fill(ctx, *out, one);
  if (status != LUC_OK) luc_tensor_release(ctx, *out);
  return status;
}

static luc_status root_edge(luc_context *ctx, luc_tensor *t, int i, luc_edge *edge) {
  LUC_TRY(luc__edge_to(ctx, t, edge));
  LUC_CHECK(ctx, edge->to, LUC_ERR_STATE,
            "backward: element %d of tensors does not require grad and does not have a grad_fn",
            i + 1);
  return LUC_OK;
}

static luc_status run_all(luc_run *run, luc_tensor *const *outputs, int n,
                          luc_tensor *const *grads) {
  luc_context *ctx = run->ctx;
  for (int i = 0; i < n; i++) {
    luc_edge edge;
    luc_tensor *g;
    LUC_TRY(root_edge(ctx, outputs[i], i, &edge));
    luc_status status = root_grad(ctx, outputs[i], grads ? grads[i] : NULL, &g);
    if (status == LUC_OK) status = send(run, &edge, g);
    luc__edge_release(ctx, &edge);
    LUC_TRY(status);
  }
  while (run->heap_used) LUC_TRY(run_task(run, heap_pop(run)));
  return finish_leaves(run);
}

static luc_status pass(luc_run *run, luc_tensor *const *outputs, int n, luc_tensor *const *grads) {
  luc_context *ctx = run->ctx;
  bool mode = ctx->grad_mode, inside = ctx->inside_op;
  luc_status status = LUC_OK;
  ctx->inside_op = false;
  if (run->capture) status = reach_from(run, outputs, n);
  if (run->capture && status == LUC_OK) status = mark_needed(run);
  ctx->grad_mode = run->create_graph;
  if (status == LUC_OK) status = run_all(run, outputs, n, grads);
  ctx->grad_mode = mode;
  ctx->inside_op = inside;
  run_free(run);
  return status;
}

luc_status luc_tensor_backward(luc_context *ctx, luc_tensor *const *outputs, int n,
                               luc_tensor *const *grads, int flags) {
  return luc_tensor_backward_to(ctx, outputs, n, grads, NULL, 0, flags);
}

/* Brings views up to date. */
static luc_status check_inputs(luc_context *ctx, const char *who, luc_tensor *const *inputs, int n,
                               bool leaves) {
  for (int i = 0; i < n; i++) {
    luc_edge edge;
    LUC_TRY(luc__edge_to(ctx, inputs[i], &edge));
    bool wanted = edge.to != NULL, leaf = edge.leaf;
    luc__edge_release(ctx, &edge);
    LUC_CHECK(ctx, wanted, LUC_ERR_STATE, "%s: input %d does not require grad", who, i + 1);
    LUC_CHECK(ctx, leaf || !leaves, LUC_ERR_STATE,
              "%s: input %d is not a leaf: autograd.grad gives its gradient", who, i + 1);
  }
  return LUC_OK;
}

luc_status luc_tensor_backward_to(luc_context *ctx, luc_tensor *const *outputs, int n,
                                  luc_tensor *const *grads, luc_tensor *const *inputs, int ninputs,
                                  int flags) {
  luc_run run = {.ctx = ctx,
                 .create_graph = flags & LUC_CREATE_GRAPH,
                 .retain_graph = flags & (LUC_RETAIN_GRAPH | LUC_CREATE_GRAPH),
                 .detect_anomaly = flags & LUC_DETECT_ANOMALY,
                 .capture = inputs != NULL,
                 .inputs = inputs,
                 .ninputs = ninputs};
  LUC_TRY(check_inputs(ctx, "backward", inputs, ninputs, true));
  return pass(&run, outputs, n, grads);
}

luc_status luc_autograd_grad(luc_context *ctx, luc_tensor *const *outputs, int n,
                             luc_tensor *const *grads, luc_tensor *const *inputs, int ninputs,
                             int flags, luc_tensor **results) {
  luc_run run = {.ctx = ctx,
                 .create_graph = flags & LUC_CREATE_GRAPH,
                 .retain_graph = flags & (LUC_RETAIN_GRAPH | LUC_CREATE_GRAPH),
                 .detect_anomaly = flags & LUC_DETECT_ANOMALY,
                 .capture = true,
                 .inputs = inputs,
                 .captured = results,
                 .ninputs = ninputs};
  luc_status status = LUC_OK;
  memset(results, 0, (size_t)ninputs * sizeof *results);
  LUC_TRY(check_inputs(ctx, "grad", inputs, ninputs, false));
  LUC_GO(pass(&run, outputs, n, grads));
  for (int i = 0; i < ninputs && !(flags & LUC_ALLOW_UNUSED); i++)
    if (!results[i])
      LUC_GO(luc__fail(ctx, LUC_ERR_STATE,
                       "grad: input %d appears to not have been used in the graph; set "
                       "allow_unused=true if this is the desired behavior",
                       i + 1));
done:
  for (int i = 0; i < ninputs && status != LUC_OK; i++) {
    luc_tensor_release(ctx, results[i]);
    results[i] = NULL;
  }
  return status;
}

luc_status luc_autograd_reaches(luc_context *ctx, luc_tensor *const *outputs, int n,
                                luc_tensor *const *except, int nexcept, bool *reaches) {
  luc_run run = {.ctx = ctx};
  luc_status status = LUC_OK;
  *reaches = false;
  LUC_GO(reach_from(&run, outputs, n));
  for (const luc_task *t = run.tasks; t; t = t->next) {
    bool excepted = !t->leaf;
    for (int i = 0; i < nexcept; i++) excepted |= except[i] == t->leaf;
    *reaches |= !excepted;
  }
done:
  run_free(&run);
  return status;
}
