/* The backward engine: runs nodes from the newest down, so every gradient is complete when its node
 * runs; no recursion at any depth. A pass keeps a task for every node and leaf it reaches; a task
 * hides that of an outer pass, so hooks may start passes of their own. */
#include <string.h>

#include "autograd/graph.h"
#include "base/array.h"
#include "base/float_mode.h"
#include "cpu/copy.h"
#include "cpu/embed.h"
#include "cpu/reduce.h"

typedef struct luc_run luc_run;

struct luc_task {
  luc_run *run;
  luc_task *outer;  /* of the same node or leaf, in an outer pass */
  luc_task *next;   /* all tasks of this pass, newest first */
  luc_node *node;   /* owned; or */
  luc_tensor *leaf; /* owned */
  bool needed, queued;
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
  luc_run *outer;  /* the pass that a hook of which started this one */
  uint64_t number;
  bool reached;     /* there are tasks for all nodes and leaves that it will come to */
  luc_roster *ends; /* called when it has succeeded, first to last */
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
  luc__hooks_free(ctx, &run->ends);
  luc__free(ctx, run->heap, run->heap_size * sizeof *run->heap);
  luc__free(ctx, run->next_input, (size_t)run->ninputs * sizeof *run->next_input);
}

static luc_status heap_push(luc_run *run, luc_task *task) {
  luc_task **heap =
      luc__with_room(run->ctx, run->heap, run->heap_used, &run->heap_size, sizeof *heap);
  if (!heap) return LUC_ERR_MEMORY;
  run->heap = heap;
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

/* May `sum` be added to in place: nothing else sees it, and no graph is being made? */
static bool exclusive(const luc_run *run, const luc_tensor *sum) {
  return !run->create_graph && !sum->inner && sum->refs == 1 &&
         atomic_load(&sum->storage->refs) == 1 && luc__is_contiguous(sum);
}

bool luc__gout_is_spare(const luc_backward *b) {
  const luc_run *run = b->node->task ? b->node->task->run : NULL;
  return run && !b->node->hooks && !b->node->retained && exclusive(run, b->gout[0]);
}

/* sum += g, in place. Of tables with a few rows each only those are added. */
static luc_status add_to(luc_context *ctx, luc_tensor *sum, luc_tensor *g) {
  const luc_rows *rows = luc__rows_of(g);
  if (!rows || !luc__rows_of(sum) || sum->dtype != g->dtype || !luc__same_sizes(sum, g))
    return luc_call_inplace(ctx, LUC_OP_add, LUC_ARGS(luc_v_tensor(sum), luc_v_tensor(g)));
  LUC_TRY(luc__tensor_join_rows(ctx, sum, rows));
  luc__add_rows(ctx, (luc_dtype)g->dtype, g->sizes[1], sum->data, g->data, rows->at, rows->n);
  return LUC_OK;
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
    status = add_to(ctx, *sum, g);
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

/* Sends g along an edge; takes it over. */
static luc_status send(luc_run *run, const luc_edge *edge, luc_tensor *g) {
  luc_context *ctx = run->ctx;
  luc_task *task = task_find(run, edge->to, edge->leaf);
  luc_status status = LUC_OK;
  if (run->capture && !(task && task->needed)) goto done;
  LUC_GO(luc__conform(ctx, &g, edge));
  if (!task) task = task_new(run, edge->to, edge->leaf);
  if (!task) LUC_GO(LUC_ERR_MEMORY);
  if (!edge->leaf && !task->queued) LUC_GO(heap_push(run, task));
  task->queued = true;
  luc_tensor *taken = g;
  g = NULL;
  status = accumulate(run, &task->grad[edge->leaf ? 0 : edge->index], taken);
done:
  luc_tensor_release(ctx, g);
  return status;
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

/* ---- the pass ---- */

/* Adds the gathered gradient to the leaf's own, unless the leaf wants none any more. A gradient
 * nobody else sees is taken as it is. */
static luc_status accumulate_leaf(luc_run *run, luc_task *task) {
  luc_context *ctx = run->ctx;
  luc_meta *meta = task->leaf->meta;
  luc_tensor *g = task->grad[0];
  if (!task->leaf->requires_grad) return LUC_OK;
  if (run->create_graph || g->meta) LUC_TRY(luc__watch(ctx, task->leaf));
  if (!meta->grad && exclusive(run, g)) {
    meta->grad = g;
    task->grad[0] = NULL;
  } else if (!meta->grad) {
    LUC_TRY(luc__unary(ctx, LUC_OP_clone, g, &meta->grad));
  } else if (!run->create_graph) {
    LUC_TRY(add_to(ctx, meta->grad, g));
  } else {
    luc_tensor *total;
    LUC_TRY(luc__binary(ctx, LUC_OP_add, meta->grad, g, &total));
    luc_tensor_release(ctx, meta->grad);
    meta->grad = total;
  }
  return luc__accumulate_hooks_run(ctx, task->leaf);
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
  bool wanted = !run->capture;
  for (int i = 0; i < n && !wanted; i++) wanted = edge_needed(node, &node->edges[i]);
  /* As in PyTorch, an input that others come from is given before its hooks run. */
  if (run->captured && wanted) capture_grads(run, task);
  if (node->hooks) LUC_GO(luc__grad_hooks_run(ctx, &node->hooks, task->grad));
  if (node->retained) LUC_GO(luc__grads_retain(ctx, node, task->grad));
  if (run->captured && !wanted) capture_grads(run, task);
  if (!wanted) goto done;
  LUC_GO(luc__node_hooks_run_before(ctx, node, task->grad));
  LUC_GO(luc__node_run(ctx, node, task->grad, gin));
  if (run->detect_anomaly) LUC_GO(check_nan(ctx, node, gin, n));
  LUC_GO(luc__node_hooks_run(ctx, node, task->grad, gin));
  drop_grads(ctx, task);
  if (!run->retain_graph && !luc__is_view_node(node)) luc__node_forget(ctx, node);
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
    if (t->leaf && t->grad[0])
      LUC_TRY(luc__grad_hooks_run(run->ctx, &t->leaf->meta->hooks, t->grad));
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

/* ---- what hooks ask ---- */

uint64_t luc__pass_number(const luc_context *ctx, uint64_t *outer) {
  const luc_run *run = ctx->pass;
  *outer = run && run->outer ? run->outer->number : 0;
  return run ? run->number : 0;
}

luc_status luc__pass_count(luc_context *ctx, luc_tensor *const *tensors, int n, int *count) {
  luc_run *run = ctx->pass;
  *count = 0;
  if (!run) return LUC_OK;
  if (!run->reached) LUC_TRY(reach_from(run, NULL, 0));
  run->reached = true;
  for (int i = 0; i < n; i++) {
    luc_edge edge;
    LUC_TRY(luc__edge_to(ctx, tensors[i], &edge));
    const luc_task *task = edge.to ? task_find(run, edge.to, edge.leaf) : NULL;
    *count += task && (task->needed || !run->capture);
    luc__edge_release(ctx, &edge);
  }
  return LUC_OK;
}

luc_status luc__pass_then(luc_context *ctx, luc_pass_end_fn fn, void *ud, luc_ud_free_fn free) {
  LUC_CHECK(ctx, ctx->pass, LUC_ERR_STATE,
            "queue_callback: final callbacks can only be installed during a backward pass");
  return luc__hooks_keep(ctx, &ctx->pass->ends, fn, ud, free);
}

/* Those that others add come last. */
static luc_status run_ends(luc_run *run) {
  const luc_hook *end;
  for (uint64_t id = 0; (end = luc__roster_next(run->ends, &id));)
    LUC_TRY(end->call.end(run->ctx, end->ud));
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
  const luc_float_mode own = luc__float_enter();
  ctx->inside_op = false;
  run->outer = ctx->pass;
  run->number = ++ctx->next_id;
  run->reached = run->capture;
  ctx->pass = run;
  if (run->capture) status = reach_from(run, outputs, n);
  if (run->capture && status == LUC_OK) status = mark_needed(run);
  ctx->grad_mode = run->create_graph;
  if (status == LUC_OK) status = run_all(run, outputs, n, grads);
  if (status == LUC_OK) status = run_ends(run);
  ctx->pass = run->outer;
  ctx->grad_mode = mode;
  ctx->inside_op = inside;
  luc__float_leave(own);
  run_free(run);
  return status;
}

luc_status luc_tensor_backward(luc_context *ctx, luc_tensor *const *outputs, int n,
                               luc_tensor *const *grads, int flags) {
  return luc_tensor_backward_to(ctx, outputs, n, grads, NULL, 0, flags);
}

/* Also gives views whose storage was written their history anew, by asking for their edge. */
static luc_status check_inputs(luc_context *ctx, const char *who, luc_tensor *const *inputs,
                               int n) {
  LUC_TRY(luc__tensors_check(ctx, who, "input", inputs, n));
  for (int i = 0; i < n; i++) {
    luc_edge edge;
    LUC_TRY(luc__edge_to(ctx, inputs[i], &edge));
    bool wanted = edge.to != NULL;
    luc__edge_release(ctx, &edge);
    LUC_CHECK(ctx, wanted, LUC_ERR_STATE, "%s: input %d does not require grad", who, i + 1);
  }
  return LUC_OK;
}

static luc_run make_run(luc_context *ctx, luc_tensor *const *inputs, int ninputs, int flags) {
  return (luc_run){.ctx = ctx,
                   .create_graph = flags & LUC_CREATE_GRAPH,
                   .retain_graph = flags & (LUC_RETAIN_GRAPH | LUC_CREATE_GRAPH),
                   .detect_anomaly = flags & LUC_DETECT_ANOMALY,
                   .inputs = inputs,
                   .ninputs = ninputs};
}

luc_status luc_tensor_backward_to(luc_context *ctx, luc_tensor *const *outputs, int n,
                                  luc_tensor *const *grads, luc_tensor *const *inputs, int ninputs,
                                  int flags) {
  luc_run run = make_run(ctx, inputs, ninputs, flags);
  run.capture = inputs != NULL;
  LUC_TRY(luc__tensors_check(ctx, "backward", "output", outputs, n));
  LUC_TRY(check_inputs(ctx, "backward", inputs, ninputs));
  for (int i = 0; i < ninputs; i++) LUC_TRY(luc_tensor_retain_grad(ctx, inputs[i]));
  return pass(&run, outputs, n, grads);
}

luc_status luc_autograd_grad(luc_context *ctx, luc_tensor *const *outputs, int n,
                             luc_tensor *const *grads, luc_tensor *const *inputs, int ninputs,
                             int flags, luc_tensor **results) {
  luc_run run = make_run(ctx, inputs, ninputs, flags);
  run.capture = true, run.captured = results;
  luc_status status = LUC_OK;
  LUC_NEED(ctx, results || ninputs <= 0);
  for (int i = 0; i < ninputs; i++) results[i] = NULL;
  LUC_TRY(luc__tensors_check(ctx, "grad", "output", outputs, n));
  LUC_TRY(check_inputs(ctx, "grad", inputs, ninputs));
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
  LUC_NEED(ctx, reaches && (except || nexcept <= 0));
  *reaches = false;
  LUC_TRY(luc__tensors_check(ctx, __func__, "output", outputs, n));
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
