/* Reverse-mode automatic differentiation: gradients, modes, hooks, functions with their own
 * backward. Sources: torch.autograd. */
#ifndef LUCERNA_AUTOGRAD_H
#define LUCERNA_AUTOGRAD_H

#include "lucerna/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct luc_node luc_node;

enum {
  LUC_RETAIN_GRAPH = 1,
  LUC_CREATE_GRAPH = 2, /* implies retaining */
  LUC_ALLOW_UNUSED = 4,
  LUC_DETECT_ANOMALY = 8 /* a NaN in a gradient is an error that names the function */
};

/* Recording on or off; returns the previous mode. */
bool luc_set_grad_enabled(luc_context *ctx, bool on);
bool luc_is_grad_enabled(const luc_context *ctx);

bool luc_tensor_requires_grad(const luc_tensor *t);
/* For leaves; only floating point tensors can require gradients. */
luc_status luc_tensor_set_requires_grad(luc_context *ctx, luc_tensor *t, bool on);
bool luc_tensor_is_leaf(const luc_tensor *t);
/* The accumulated gradient, borrowed, or NULL. */
luc_tensor *luc_tensor_grad(const luc_tensor *t);
/* Replaces it; grad NULL drops it. Shapes, dtypes must match. */
luc_status luc_tensor_set_grad(luc_context *ctx, luc_tensor *t, luc_tensor *grad);
/* The name of the node that made t ("MulBackward0") in buf, or NULL for leaves. */
enum { LUC_GRAD_FN_NAME = 64 };
const char *luc_tensor_grad_fn(const luc_tensor *t, char buf[LUC_GRAD_FN_NAME]);
/* Which of that node's results it is, from 0. */
uint32_t luc_tensor_output_nr(const luc_tensor *t);
/* Makes t, which is no view, a leaf that does not require grad. */
luc_status luc_tensor_detach_(luc_context *ctx, luc_tensor *t);
/* A view outside the graph. */
luc_status luc_tensor_detach(luc_context *ctx, luc_tensor *t, luc_tensor **out);
/* Keeps the gradient of a non-leaf. */
luc_status luc_tensor_retain_grad(luc_context *ctx, luc_tensor *t);
bool luc_tensor_retains_grad(const luc_tensor *t);

/* Adds d(sum of outputs·grads)/d(leaf) to every leaf's gradient. grads (or an entry) may be NULL
 * for one-element outputs. flags: LUC_RETAIN_GRAPH | LUC_CREATE_GRAPH. */
luc_status luc_tensor_backward(luc_context *ctx, luc_tensor *const *outputs, int n,
                               luc_tensor *const *grads, int flags);
/* Adds to the gradients of `inputs` only, which results retain from then on. */
luc_status luc_tensor_backward_to(luc_context *ctx, luc_tensor *const *outputs, int n,
                                  luc_tensor *const *grads, luc_tensor *const *inputs, int ninputs,
                                  int flags);
/* The gradients with respect to inputs, as new references in results (NULL where unused, which is
 * an error without LUC_ALLOW_UNUSED). Nothing is accumulated. */
luc_status luc_autograd_grad(luc_context *ctx, luc_tensor *const *outputs, int n,
                             luc_tensor *const *grads, luc_tensor *const *inputs, int ninputs,
                             int flags, luc_tensor **results);

/* Do the outputs come from a leaf that is none of `except`? */
luc_status luc_autograd_reaches(luc_context *ctx, luc_tensor *const *outputs, int n,
                                luc_tensor *const *except, int nexcept, bool *reaches);

/* A hook sees a gradient and may put a replacement (a new reference) in *replacement. */
typedef luc_status (*luc_grad_hook_fn)(luc_context *ctx, void *ud, luc_tensor *grad,
                                       luc_tensor **replacement);
typedef void (*luc_ud_free_fn)(luc_context *ctx, void *ud);
/* Runs when t's gradient is known. free (may be NULL) is called when the hook is gone; of one that
 * removes itself, when it has returned. *id (may be NULL) removes it. On failure nothing is kept
 * and free is not called. */
luc_status luc_tensor_register_hook(luc_context *ctx, luc_tensor *t, luc_grad_hook_fn fn, void *ud,
                                    luc_ud_free_fn free, uint64_t *id);
/* False if it is gone already. */
bool luc_tensor_remove_hook(luc_context *ctx, luc_tensor *t, uint64_t id);
/* For leaves: runs after a backward pass has added to t's gradient. */
typedef luc_status (*luc_accumulate_hook_fn)(luc_context *ctx, void *ud, luc_tensor *t);
luc_status luc_tensor_register_accumulate_hook(luc_context *ctx, luc_tensor *t,
                                               luc_accumulate_hook_fn fn, void *ud,
                                               luc_ud_free_fn free, uint64_t *id);

/* Sees one run of the operator that made t: the gradients of its results and those it passes on to
 * its tensor arguments (NULL where there is none), which it may replace in place (release the old
 * reference, put a new one). torch: t.grad_fn.register_hook. */
typedef luc_status (*luc_node_hook_fn)(luc_context *ctx, void *ud, luc_tensor *const *grad_outputs,
                                       int noutputs, luc_tensor **grad_inputs, int ninputs);
/* An error for leaves. The hook goes with the graph. */
luc_status luc_tensor_register_node_hook(luc_context *ctx, luc_tensor *t, luc_node_hook_fn fn,
                                         void *ud, luc_ud_free_fn free);

/* A differentiable function with its own backward: gin[i] gets a new reference to the gradient of
 * input i, or stays NULL for zero. gout entries are NULL where an output got no gradient, or zeros
 * if materialize_grads. */
typedef struct luc_function {
  const char *name; /* what grad_fn says, "ExpBackward"; copied */
  luc_status (*backward)(luc_context *ctx, void *ud, luc_tensor *const *gout, int ngout,
                         luc_tensor **gin, int ngin);
  luc_ud_free_fn free; /* may be NULL */
  bool materialize_grads;
} luc_function;
/* Makes outputs (new tensors that share no history, computed under no_grad) results of the function
 * of inputs, if recording and any input requires grad. *recorded says whether; when false or on
 * failure, ud stays the caller's. non_differentiable: bit i for output i. */
luc_status luc_function_record(luc_context *ctx, const luc_function *fn, void *ud,
                               luc_tensor *const *inputs, int ninputs, luc_tensor *const *outputs,
                               int noutputs, uint32_t non_differentiable, bool *recorded);

#ifdef __cplusplus
}
#endif
#endif
