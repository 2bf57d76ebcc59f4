/* The graph's insides. A node is one recorded call: edges to what its inputs came from, the
 * arguments its gradient reads, and the shape and dtype of each result. Edges always lead to nodes
 * of a lower sequence number, so running nodes from the highest down is a topological order. */
#ifndef LUC_GRAPH_H
#define LUC_GRAPH_H

#include "base/roster.h"
#include "lucerna/autograd.h"
#include "ops/op.h"

/* When a hook runs. */
enum {
  LUC_HOOK_ON_GRAD,        /* a tensor's gradient is complete; it may be replaced */
  LUC_HOOK_ON_ACCUMULATED, /* a leaf's gradient was added to leaf.grad */
  LUC_HOOK_NEVER,          /* what a host keeps with a node or a leaf; calls no function */
  LUC_HOOK_ON_NODE,        /* a node has run */
  LUC_HOOK_BEFORE_NODE     /* a node is about to run */
};

typedef luc_status (*luc_pass_end_fn)(luc_context *ctx, void *ud);

/* A roster holds them by id. */
typedef struct luc_hook {
  int refs;       /* the roster, and the calls of it that run */
  uint32_t index; /* result of the node it watches */
  int kind;
  union {
    luc_grad_hook_fn grad;
    luc_accumulate_hook_fn accumulated;
    luc_node_hook_fn node;
    luc_pass_end_fn end; /* of a pass (engine.c) */
  } call;
  void *ud;
  luc_ud_free_fn free;
} luc_hook;

typedef struct luc_task luc_task; /* what a running backward pass knows of a node or a leaf */

/* Views that may not be written while recording, and why. */
enum { LUC_VIEW_WRITABLE, LUC_VIEW_ONE_OF_SEVERAL, LUC_VIEW_WITHOUT_GRAD, LUC_VIEW_IN_INFERENCE };

/* Autograd's side of a tensor. */
struct luc_meta {
  luc_tensor *grad;
  luc_node *node; /* what made the tensor; NULL for leaves */
  uint32_t index; /* which result of node */
  uint32_t view_version;
  luc_tensor *base;  /* of a view: the tensor whose storage it sees; node is valid while the storage
                        is at view_version */
  luc_roster *hooks; /* of leaves */
  uint8_t made;      /* of a view: LUC_VIEW_* */
  bool retains_grad; /* it is in its node's list `retained` */
  uint32_t watched;  /* its place among the context's, from 1; or 0 */
  luc_meta *next_retained;
  luc_task *task; /* of leaves */
};

typedef struct luc_edge {
  void *to;       /* luc_node, or the leaf luc_tensor; NULL: no gradient wanted */
  uint32_t index; /* result of that node */
  bool leaf;
} luc_edge;

/* Shape and dtype of a result, which gradients for it must have. */
typedef struct luc_result_info {
  uint8_t dtype, ndim;
  int64_t sizes[LUC_MAX_DIMS];
} luc_result_info;

struct luc_node {
  int32_t refs;
  int32_t nslots, nlist, nresults; /* parameters, tensors in the list parameter, results */
  int16_t op;                      /* luc_opid, or -1: function */
  bool released;
  bool packed; /* some of its saved tensors are replaced by stand-ins (saved.c) */
  bool number; /* its gradient reads a number in a tensor's place */
  uint64_t seq;
  luc_task *task;
  luc_node *waiting; /* the next in the list of nodes that are still to be packed */
  luc_roster *hooks;
  luc_meta *retained;   /* of results whose gradients are kept (retain_grad) */
  luc_edge *edges;      /* nslots + nlist */
  luc_value *args;      /* nslots; saved tensors are owned */
  luc_tensor **results; /* nresults; saved ones are aliases outside the graph */
  uint32_t *versions;   /* nslots + nlist + nresults: storage versions of what was saved */
  luc_result_info *infos;
  luc_function function; /* op == -1 */
  void *ud;
  size_t size; /* of this block, in which all the arrays lie */
};

/* ---- node.c ---- */

typedef struct luc_node_shape {
  int op, nslots, nlist, nresults;
  size_t extra; /* bytes for copied lists and texts */
} luc_node_shape;
/* A node with empty edges and arguments; *extra points to shape->extra free bytes. */
luc_status luc__node_new(luc_context *ctx, const luc_node_shape *shape, luc_node **out,
                         char **extra);
void luc__node_release(luc_context *ctx, luc_node *node);
/* Drops saved tensors and the function's data; the node can't run again. */
void luc__node_forget(luc_context *ctx, luc_node *node);
void luc__result_info(luc_result_info *info, const luc_tensor *t);
/* Writes a node's name, such as "MulBackward0", and returns buf. */
enum { LUC_NODE_NAME = LUC_GRAD_FN_NAME };
const char *luc__node_name(char *buf, const luc_node *node);
/* t's meta, made if need be; NULL when out of memory. */
luc_meta *luc__meta(luc_context *ctx, luc_tensor *t);
/* Also true for a view whose base came to require grad after it was made. */
static inline bool luc__requires_grad(const luc_tensor *t) {
  return t->requires_grad || (t->meta && t->meta->base && t->meta->base->requires_grad);
}

/* Does the view t get its history from its base? Not if it became a leaf before that had one. */
static inline bool luc__inherits(const luc_tensor *t) {
  return t->meta && t->meta->base && t->meta->base->requires_grad &&
         (t->meta->node || !t->requires_grad || t->meta->view_version != t->storage->version);
}

/* ---- cycles.c ---- */

/* To be called before t, which others may lead to, comes to lead to something newer. */
luc_status luc__watch(luc_context *ctx, luc_tensor *t);
void luc__unwatch(luc_context *ctx, luc_meta *meta);
/* Ends the cycles that nothing else refers to, where that is due or must be now; what it frees may
 * call hosts' functions. */
void luc__collect_cycles(luc_context *ctx, bool now);

/* ---- edge.c ---- */

/* The edge a use of t makes: to its node, to t itself if it is a leaf, or empty. Owns a reference.
 */
luc_status luc__edge_to(luc_context *ctx, luc_tensor *t, luc_edge *edge);
/* The same edge, with a reference of its own. */
luc_edge luc__edge_copy(const luc_edge *edge);
void luc__edge_release(luc_context *ctx, luc_edge *edge);
/* *g becomes what the other end of the edge expects: its shape and dtype. */
luc_status luc__conform(luc_context *ctx, luc_tensor **g, const luc_edge *edge);

/* ---- hooks.c ---- */

void luc__hooks_free(luc_context *ctx, luc_roster **hooks);
/* Puts meta among those for which its node keeps gradients, or takes it out: was it there? */
void luc__retain_in(luc_meta *meta);
bool luc__retain_out(luc_meta *meta);
/* Frees the hooks that run with the node: it never will again. */
void luc__node_hooks_drop(luc_context *ctx, luc_node *node);
/* Runs the hooks on gradients, each of which may replace one. */
luc_status luc__grad_hooks_run(luc_context *ctx, luc_roster *const *hooks, luc_tensor **grads);
/* Keeps those that retain_grad asked for. */
luc_status luc__grads_retain(luc_context *ctx, const luc_node *node, luc_tensor *const *grads);
luc_status luc__accumulate_hooks_run(luc_context *ctx, luc_tensor *leaf);
/* Adds a hook that runs after the node and may replace the gradients of its inputs; or before it,
 * then those of its results. */
luc_status luc__node_hook_add(luc_context *ctx, luc_node *node, bool before, luc_node_hook_fn fn,
                              void *ud, luc_ud_free_fn free, uint64_t *id);
bool luc__node_hook_remove(luc_context *ctx, luc_node *node, uint64_t id);
/* What a host keeps with a node, or with a leaf, under *hooks: NULL when nothing yet. */
void *luc__hooks_data(const luc_roster *hooks);
/* Adds that, or what is to be called at the end of a pass. */
luc_status luc__hooks_keep(luc_context *ctx, luc_roster **hooks, luc_pass_end_fn fn, void *ud,
                           luc_ud_free_fn free);
luc_status luc__node_hooks_run_before(luc_context *ctx, luc_node *node, luc_tensor **gout);
/* Runs the hooks of a node that has run. gin: the gradients of its inputs. */
luc_status luc__node_hooks_run(luc_context *ctx, luc_node *node, luc_tensor *const *gout,
                               luc_tensor **gin);

/* ---- record.c ---- */

luc_status luc__function_node(luc_context *ctx, const luc_function *fn, void *ud, int ninputs,
                              int nresults, luc_node **out);

/* Makes `node` (one more reference) the history of t, which has a meta; cannot fail. */
void luc__set_history(luc_context *ctx, luc_tensor *t, luc_node *node, uint32_t index);

/* Makes meta's tensor a leaf. It has a node. */
void luc__drop_history(luc_context *ctx, luc_meta *meta);

/* ---- saved.c ---- */

typedef luc_status (*luc_unpack_fn)(luc_context *ctx, void *packed, luc_tensor **t);

/* ctx->saved_hooks: while set, what is saved for backward is packed. */
typedef struct luc_saved_hooks luc_saved_hooks;
struct luc_saved_hooks {
  luc_saved_hooks *outer;
  /* Sets *packed, which unpack and free get later. t has no part in the graph. */
  luc_status (*pack)(luc_context *ctx, const luc_saved_hooks *self, luc_tensor *t, void **packed);
  luc_unpack_fn unpack; /* gives a new reference to a tensor like the packed one */
  luc_ud_free_fn free;
};

/* Puts the node on the list of those to be packed. */
void luc__saved_await(luc_context *ctx, luc_node *node);
/* Packs the nodes of that list. It calls the user's code, so no operator may be running. After a
 * failure the rest stays unpacked. */
luc_status luc__saved_pack_waiting(luc_context *ctx);
void luc__saved_forget_waiting(luc_context *ctx);
/* What pack gave for the tensor that this one stands in for; NULL if it is no stand-in. */
const void *luc__saved_packed(const luc_tensor *t);

/* A node's saved tensors, unpacked. */
typedef struct luc_saved {
  luc_value args[LUC_MAX_PARAMS];
  luc_tensor **tensors, **results; /* all owned; the results are the last of `tensors` */
  int n;
} luc_saved;
luc_status luc__saved_open(luc_context *ctx, luc_node *node, luc_saved *s);
void luc__saved_close(luc_context *ctx, luc_saved *s);
/* While operators are recorded, gradients of t, which has no history, go where the edge leads. */
luc_status luc__saved_join(luc_context *ctx, luc_tensor *t, const luc_edge *edge);

/* ---- view.c ---- */

/* Brings the node of a view up to date after its storage changed. */
luc_status luc__view_refresh(luc_context *ctx, luc_tensor *view);
/* Fails for a view that is one of several results: `what` was done. name and its mark may be "". */
luc_status luc__refuse_several(luc_context *ctx, const luc_tensor *view, const char *what,
                               const char *name, const char *mark);
/* Wraps the node of an in-place write to a view into a node of its base. Takes over `inner`. */
luc_status luc__copy_slices(luc_context *ctx, luc_node *inner, luc_tensor *view, luc_node **out);
/* Was the node made by luc__view_refresh? It has nothing saved. */
bool luc__is_view_node(const luc_node *node);
/* The inner node of a node that luc__copy_slices made, or NULL. */
luc_node *luc__slices_inner(const luc_node *node);

/* ---- engine.c: for hooks, of the pass they run in ---- */

/* Its number, 0 when none runs, and that of the pass it runs in. */
uint64_t luc__pass_number(const luc_context *ctx, uint64_t *outer);
/* How many of the tensors' gradients it computes or has computed. */
luc_status luc__pass_count(luc_context *ctx, luc_tensor *const *tensors, int n, int *count);
/* Has fn called when it has succeeded; free in any case. Takes over ud unless it fails. */
luc_status luc__pass_then(luc_context *ctx, luc_pass_end_fn fn, void *ud, luc_ud_free_fn free);

/* ---- apply.c ---- */

/* Runs one node's gradient: gin has nslots + nlist places for new references. */
luc_status luc__node_run(luc_context *ctx, luc_node *node, luc_tensor *const *gout,
                         luc_tensor **gin);

#endif
