/* Backward hooks. A call of a module that has some passes its arguments and results through an
 * identity function each: the backward of the results' keeps grad_output, that of the arguments'
 * runs the full hooks. Both nodes share one luc_hooked, which keeps the lists the call began with,
 * so hooks that are removed later, or whose module is gone, still fire for it. */
#include "lucerna/autograd.h"
#include "nn/module.h"

struct luc_hooked {
  int refs; /* first, for own_anchor; counts the call, its two nodes, that of old hooks */
  luc_module *m;
  luc_hook_lists lists;
  uint64_t anchor;
  int ninputs, noutputs;
  uint32_t inputs, outputs; /* bit i: argument (result) i is a tensor */
  bool tracks_inputs;       /* the identity of the arguments is part of the graph */
  bool ready;               /* grad_output is known */
  luc_grads grad_output;
};

static void grads_release(luc_context *ctx, luc_grads *g) {
  for (int i = 0; i < g->n; i++) luc_tensor_release(ctx, g->v[i]);
  g->n = 0;
}

static void forget(luc_context *ctx, luc_hooked *h) {
  grads_release(ctx, &h->grad_output);
  h->ready = false;
}

luc_status luc__hooked_new(luc_context *ctx, luc_module *m, const luc_hook_lists *lists,
                           uint64_t anchor, luc_hooked **out) {
  luc_hooked *h = luc__alloc(ctx, sizeof *h);
  if (h == NULL) return LUC_ERR_MEMORY;
  *h = (luc_hooked){.refs = 1, .m = luc__module_ref(m), .lists = *lists, .anchor = anchor};
  for (int i = 0; i < 2; i++)
    if (lists->list[i] != NULL) lists->list[i]->refs++;
  const luc_host *host = &luc__nn_of(ctx)->host;
  if (anchor != 0 && host->own_anchor != NULL) host->own_anchor(ctx, host->ud, anchor, h);
  *out = h;
  return LUC_OK;
}

void luc__hooked_release(luc_context *ctx, luc_hooked *h) {
  const luc_host *host = &luc__nn_of(ctx)->host;
  if (h == NULL || --h->refs > 0) return;
  forget(ctx, h);
  luc__hook_lists_release(ctx, &h->lists);
  if (h->anchor != 0 && host->drop_anchor != NULL) host->drop_anchor(ctx, host->ud, h->anchor);
  luc__module_unref(ctx, h->m);
  luc__free(ctx, h, sizeof *h);
}

static void release_ud(luc_context *ctx, void *ud) {
  luc__hooked_release(ctx, ud);
}

/* ---- running hooks ---- */

/* Calls one hook; *replacement keeps n == -1 unless it gave one, of `expected` items. */
static luc_status call_hook(luc_context *ctx, const luc_hooked *h, const luc_module_hook *hook,
                            const luc_grads *grad_input, const luc_grads *grad_output, int expected,
                            luc_grads *replacement) {
  const luc_host *host = &luc__nn_of(ctx)->host;
  replacement->n = -1;
  if (!hook->host)
    LUC_TRY(hook->fn.backward(ctx, hook->ud, h->m, grad_input, grad_output, replacement));
  else if (host->backward != NULL)
    LUC_TRY(
        host->backward(ctx, host->ud, h->anchor, hook->id, grad_input, grad_output, replacement));
  int n = replacement->n;
  if (n < 0 || n == expected) return LUC_OK;
  if (n <= LUC_HOOK_GRADS) grads_release(ctx, replacement);
  if (hook->kind == LUC_HOOK_FULL_BACKWARD_PRE)
    return luc__fail(ctx, LUC_ERR_VALUE,
                     "backward: Backward pre hook returned an invalid number of grad_output, got "
                     "%d, but expected %d",
                     n, expected);
  return luc__fail(ctx, LUC_ERR_VALUE,
                   "backward: Backward hook returned an invalid number of grad_input, got %d, but "
                   "expected %d",
                   n, expected);
}

/* Each hook of a kind sees what the one before left in *g: grad_input, of pre-hooks grad_output. */
static luc_status run_hooks(luc_context *ctx, const luc_hooked *h, int kind, luc_grads *g,
                            const luc_grads *grad_output) {
  luc_module_hook *hook;
  for (luc_hook_at at = {0}; (hook = luc__next_hook(&h->lists, kind, &at)) != NULL;) {
    luc_grads replacement;
    const luc_grads *grad_input = kind == LUC_HOOK_FULL_BACKWARD_PRE ? NULL : g;
    LUC_TRY(call_hook(ctx, h, hook, grad_input, grad_output, g->n, &replacement));
    if (replacement.n < 0) continue;
    grads_release(ctx, g);
    *g = replacement;
  }
  return LUC_OK;
}

/* Where no argument requires grad the hooks fire as well, but cannot replace anything. */
static luc_status run_without_inputs(luc_context *ctx, luc_hooked *h) {
  luc_module_hook *hook;
  for (luc_hook_at at = {0};
       (hook = luc__next_hook(&h->lists, LUC_HOOK_FULL_BACKWARD, &at)) != NULL;) {
    luc_grads none = {.n = h->ninputs}, replacement;
    LUC_TRY(call_hook(ctx, h, hook, &none, &h->grad_output, none.n, &replacement));
    bool any = false;
    for (int i = 0; i < replacement.n; i++) any |= replacement.v[i] != NULL;
    if (replacement.n >= 0) grads_release(ctx, &replacement);
    LUC_CHECK(ctx, !any, LUC_ERR_VALUE,
              "backward: Backward hook for Modules where no input requires gradient should always "
              "return None or None for all gradients.");
  }
  return LUC_OK;
}

/* Spreads tensors over the positions in mask. */
static void spread(luc_grads *g, int n, uint32_t mask, luc_tensor *const *tensors) {
  *g = (luc_grads){.n = n};
  for (int i = 0, k = 0; i < n; i++)
    if (mask >> i & 1) {
      luc_tensor *t = tensors[k++];
      g->v[i] = t != NULL ? luc_tensor_retain(t) : NULL;
    }
}

static void gather(const luc_grads *g, uint32_t mask, luc_tensor **tensors, int ntensors) {
  for (int i = 0, k = 0; i < g->n && k < ntensors; i++)
    if (mask >> i & 1) {
      tensors[k++] = g->v[i] != NULL ? luc_tensor_retain(g->v[i]) : NULL;
    }
}

static luc_status outputs_backward(luc_context *ctx, void *ud, luc_tensor *const *gout, int ngout,
                                   luc_tensor **gin, int ngin) {
  luc_hooked *h = ud;
  (void)ngout;
  forget(ctx, h);
  spread(&h->grad_output, h->noutputs, h->outputs, gout);
  LUC_TRY(run_hooks(ctx, h, LUC_HOOK_FULL_BACKWARD_PRE, &h->grad_output, &h->grad_output));
  gather(&h->grad_output, h->outputs, gin, ngin);
  h->ready = true;
  if (h->tracks_inputs) return LUC_OK;
  luc_status status = run_without_inputs(ctx, h);
  forget(ctx, h);
  return status;
}

static luc_status inputs_backward(luc_context *ctx, void *ud, luc_tensor *const *gout, int ngout,
                                  luc_tensor **gin, int ngin) {
  luc_hooked *h = ud;
  luc_grads g;
  (void)ngout;
  if (!h->ready) { /* no gradient came through the results, as can be in a second derivative */
    for (int i = 0; i < ngin; i++) gin[i] = gout[i] != NULL ? luc_tensor_retain(gout[i]) : NULL;
    return LUC_OK;
  }
  spread(&g, h->ninputs, h->inputs, gout);
  luc_status status = run_hooks(ctx, h, LUC_HOOK_FULL_BACKWARD, &g, &h->grad_output);
  if (status == LUC_OK) gather(&g, h->inputs, gin, ngin);
  grads_release(ctx, &g);
  forget(ctx, h);
  return status;
}

/* ---- wrapping ---- */

static luc_status check_count(luc_context *ctx, const luc_hooked *h, int n) {
  return n <= LUC_HOOK_GRADS
             ? LUC_OK
             : luc__fail(ctx, LUC_ERR_VALUE,
                         "%s: backward hooks see up to %d arguments or results (got %d)",
                         h->m->cls->name, LUC_HOOK_GRADS, n);
}

/* A tensor that was just made may take the identity into its own history. */
static bool may_take(const luc_value *v) {
  const luc_tensor *t = v->as.tensor;
  return t->refs == 1 && !luc_tensor_is_leaf(t);
}

/* Passes the tensors of v through an identity; *mask says where they are. */
static luc_status wrap(luc_context *ctx, luc_hooked *h, const luc_function *fn, luc_value *v, int n,
                       uint32_t ours, uint32_t *mask, uint32_t *replaced) {
  luc_tensor *in[LUC_HOOK_GRADS], *out[LUC_HOOK_GRADS];
  uint32_t wants = 0, plain = 0;
  int k = 0;
  bool recorded = false;
  luc_status status = LUC_OK;
  *mask = *replaced = 0;
  LUC_TRY(check_count(ctx, h, n));
  for (int i = 0; i < n; i++) {
    if (v[i].kind != LUC_TENSOR) continue;
    *mask |= 1u << i;
    if (luc_tensor_requires_grad(v[i].as.tensor))
      wants |= 1u << i;
    else
      plain |= 1u << k;
    out[k] = NULL;
    in[k++] = v[i].as.tensor;
  }
  if (wants == 0 || !luc_is_grad_enabled(ctx)) return LUC_OK;
  for (int i = 0, j = 0; i < n; i++) {
    if (!(*mask >> i & 1)) continue;
    bool take = (ours & wants) >> i & 1 && may_take(&v[i]);
    if (take)
      out[j] = luc_tensor_retain(in[j]);
    else
      LUC_GO(luc__tensor_alias(ctx, in[j], &out[j]));
    j++;
  }
  h->refs++;
  status = luc_function_record(ctx, fn, h, in, k, out, k, plain, &recorded);
  if (!recorded) h->refs--;
  for (int i = 0, j = 0; i < n && recorded; i++) {
    if (!(*mask >> i & 1)) continue;
    v[i].as.tensor = out[j++];
    if (wants >> i & 1) v[i].as.tensor->flags |= LUC_TF_ALIAS;
    *replaced |= 1u << i;
  }
done:
  for (int j = 0; j < k && !recorded; j++) luc_tensor_release(ctx, out[j]);
  return status;
}

luc_status luc__hooked_inputs(luc_context *ctx, luc_hooked *h, luc_value *v, int n,
                              uint32_t *replaced) {
  static const luc_function fn = {"BackwardHookFunctionBackward", inputs_backward, release_ud,
                                  true};
  h->ninputs = n;
  *replaced = 0;
  if (!(luc__hook_kinds(&h->lists) & LUC_HOOK_FULL_KINDS)) return LUC_OK;
  LUC_TRY(wrap(ctx, h, &fn, v, n, 0, &h->inputs, replaced));
  h->tracks_inputs = *replaced != 0;
  return LUC_OK;
}

/* ---- hooks of the old kind ---- */

static luc_status old_hooks(luc_context *ctx, void *ud, luc_tensor *const *grad_outputs,
                            int noutputs, luc_tensor **grad_inputs, int ninputs) {
  luc_hooked *h = ud;
  uint32_t all = (1u << LUC_HOOK_GRADS) - 1;
  luc_grads g, grad_output;
  LUC_TRY(check_count(ctx, h, ninputs > noutputs ? ninputs : noutputs));
  spread(&g, ninputs, all, grad_inputs);
  spread(&grad_output, noutputs, all, grad_outputs);
  luc_status status = run_hooks(ctx, h, LUC_HOOK_BACKWARD, &g, &grad_output);
  grads_release(ctx, &grad_output);
  if (status != LUC_OK) {
    grads_release(ctx, &g);
    return status;
  }
  for (int i = 0; i < ninputs; i++) {
    luc_tensor_release(ctx, grad_inputs[i]);
    grad_inputs[i] = g.v[i]; /* moved */
  }
  return LUC_OK;
}

static luc_status attach_old(luc_context *ctx, luc_hooked *h, const luc_value *v, int n) {
  for (int i = 0; i < n; i++) {
    if (v[i].kind != LUC_TENSOR) continue;
    luc_tensor *t = v[i].as.tensor;
    if (!luc_tensor_requires_grad(t) || luc_tensor_is_leaf(t)) return LUC_OK;
    h->refs++;
    luc_status status = luc_tensor_register_node_hook(ctx, t, old_hooks, h, release_ud);
    if (status != LUC_OK) h->refs--;
    return status;
  }
  return LUC_OK;
}

luc_status luc__hooked_outputs(luc_context *ctx, luc_hooked *h, luc_value *v, int n, uint32_t ours,
                               uint32_t *replaced) {
  static const luc_function fn = {"BackwardHookFunctionBackward", outputs_backward, release_ud,
                                  false};
  uint32_t kinds = luc__hook_kinds(&h->lists);
  *replaced = 0;
  h->noutputs = n;
  if (kinds & LUC_HOOK_FULL_KINDS) LUC_TRY(wrap(ctx, h, &fn, v, n, ours, &h->outputs, replaced));
  return kinds & 1u << LUC_HOOK_BACKWARD ? attach_old(ctx, h, v, n) : LUC_OK;
}
