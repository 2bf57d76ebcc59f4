/* Calling modules: hooks, forward, and the children of chains, in one loop over an explicit stack
 * of frames, so that nesting has no limit. A failed call leaves its path in luc_nn; who raises the
 * error makes a message of it. */
#include <stdio.h>
#include <string.h>

#include "lucerna/autograd.h"
#include "nn/module.h"

enum { INLINE_FRAMES = 8 };

/* Arguments on their way into a module, then its results. */
typedef struct values {
  int n;
  uint32_t owned; /* bit i: v[i] is ours */
  luc_value v[LUC_MAX_PARAMS];
} values;
enum { ALL_OWNED = (1 << LUC_MAX_PARAMS) - 1 };

typedef struct frame {
  luc_module *m;
  uint32_t position;    /* a chain's next child */
  bool hooked;          /* the members below are set */
  luc_hook_lists hooks; /* the lists the call began with */
  luc_hook_at done;     /* up to where forward hooks have been looked for */
  values *saved;        /* the arguments, kept for forward hooks */
  luc_hooked *backward; /* NULL: the module has no backward hooks */
} frame;

typedef struct run {
  luc_context *ctx;
  frame inline_frames[INLINE_FRAMES];
  frame *frames;
  uint32_t depth, capacity;
  values now;
} run;

/* ---- values ---- */

static void drop(luc_context *ctx, values *v) {
  for (int i = 0; i < v->n && v->owned != 0; i++)
    if (v->owned >> i & 1) luc__value_release(ctx, &v->v[i]);
  v->n = 0;
  v->owned = 0;
}

static void take_outputs(run *r, const luc_outputs *out) {
  drop(r->ctx, &r->now);
  r->now.n = out->n;
  r->now.owned = ALL_OWNED;
  memcpy(r->now.v, out->v, (size_t)out->n * sizeof *out->v);
}

void luc_outputs_release(luc_context *ctx, luc_outputs *out) {
  if (out == NULL) return;
  for (int i = 0; i < out->n; i++) luc__value_release(ctx, &out->v[i]);
  out->n = 0;
}

/* ---- frames ---- */

static luc_status push(run *r, luc_module *m) {
  if (r->depth == r->capacity) {
    uint32_t capacity = r->capacity * 2;
    bool first = r->frames == r->inline_frames;
    size_t old = r->capacity * sizeof(frame);
    frame *frames =
        luc__realloc(r->ctx, first ? NULL : r->frames, first ? 0 : old, capacity * sizeof *frames);
    if (frames == NULL) return LUC_ERR_MEMORY;
    if (first) memcpy(frames, r->inline_frames, old);
    r->frames = frames;
    r->capacity = capacity;
  }
  frame *f = &r->frames[r->depth++];
  f->m = luc__module_ref(m);
  f->position = 0;
  f->hooked = false;
  return LUC_OK;
}

static void pop(run *r) {
  frame *f = &r->frames[--r->depth];
  if (f->hooked) {
    if (f->saved != NULL) {
      drop(r->ctx, f->saved);
      luc__free(r->ctx, f->saved, sizeof *f->saved);
    }
    luc__hooked_release(r->ctx, f->backward);
    luc__hook_lists_release(r->ctx, &f->hooks);
  }
  luc__module_unref(r->ctx, f->m);
}

/* ---- hooks ---- */

static luc_status run_pre_hooks(run *r, const frame *f) {
  luc_module_hook *hook;
  for (luc_hook_at at = {0}; (hook = luc__next_hook(&f->hooks, LUC_HOOK_PRE, &at)) != NULL;) {
    if (hook->removed || hook->host) continue;
    luc_outputs replacement = {.n = -1};
    LUC_TRY(hook->fn.pre(r->ctx, hook->ud, f->m, r->now.v, r->now.n, &replacement));
    if (replacement.n < 0) continue;
    LUC_TRY(luc__hook_counted(r->ctx, f->m, &replacement.n, 0));
    take_outputs(r, &replacement);
  }
  return LUC_OK;
}

/* Passes the frame's arguments, or its results, through the identity function of backward hooks. */
static luc_status wrap(run *r, const frame *f, bool outputs) {
  luc_value before[LUC_MAX_PARAMS];
  uint32_t replaced, ours = r->now.owned;
  int n = r->now.n;
  memcpy(before, r->now.v, (size_t)n * sizeof *before);
  luc_status status = outputs
                          ? luc__hooked_outputs(r->ctx, f->backward, r->now.v, n, ours, &replaced)
                          : luc__hooked_inputs(r->ctx, f->backward, r->now.v, n, &replaced);
  for (int i = 0; i < n; i++)
    if (replaced & ours & 1u << i) luc__value_release(r->ctx, &before[i]);
  r->now.owned |= replaced;
  return status;
}

/* Asks the host to keep its backward hooks of this module, if there are some, for the call. */
static luc_status anchor_hooks(run *r, const frame *f, uint64_t *anchor) {
  const luc_host *host = &luc__nn_of(r->ctx)->host;
  luc_module_hook *hook;
  *anchor = 0;
  for (int kind = LUC_HOOK_FULL_BACKWARD_PRE; kind <= LUC_HOOK_BACKWARD; kind++)
    for (luc_hook_at at = {0}; (hook = luc__next_hook(&f->hooks, kind, &at)) != NULL;)
      if (hook->host && host->anchor != NULL) return host->anchor(r->ctx, host->ud, f->m, anchor);
  return LUC_OK;
}

static luc_status begin_backward(run *r, frame *f) {
  const luc_host *host = &luc__nn_of(r->ctx)->host;
  uint64_t anchor;
  LUC_TRY(anchor_hooks(r, f, &anchor));
  luc_status status = luc__hooked_new(r->ctx, f->m, &f->hooks, anchor, &f->backward);
  if (status == LUC_OK) return wrap(r, f, false);
  if (anchor != 0) host->drop_anchor(r->ctx, host->ud, anchor);
  return status;
}

static luc_status begin_hooks(run *r, frame *f) {
  f->hooks = luc__hook_lists(r->ctx, f->m);
  f->done = (luc_hook_at){0};
  f->saved = NULL;
  f->backward = NULL;
  f->hooked = true;
  uint32_t kinds = luc__hook_kinds(&f->hooks);
  luc_status status = kinds & 1u << LUC_HOOK_PRE ? run_pre_hooks(r, f) : LUC_OK;
  if (status == LUC_OK && kinds & LUC_HOOK_BACKWARD_KINDS && luc_is_grad_enabled(r->ctx))
    status = begin_backward(r, f);
  if (!(kinds & 1u << LUC_HOOK_FORWARD)) return status;
  f->saved = luc__alloc(r->ctx, sizeof *f->saved); /* hooks may run after a failure, too */
  if (f->saved == NULL) return status != LUC_OK ? status : LUC_ERR_MEMORY;
  *f->saved = r->now;
  r->now.owned = 0;
  return status;
}

/* Forward hooks of the frame that have not run; all of them, or (after a failure) those that are
 * always called. */
static luc_status run_forward_hooks(run *r, frame *f, luc_outputs *out, bool failed) {
  luc_module_hook *hook;
  while ((hook = luc__next_hook(&f->hooks, LUC_HOOK_FORWARD, &f->done)) != NULL) {
    if (hook->removed || hook->host) continue;
    if (failed && (hook->flags & LUC_HOOK_ALWAYS_CALL) == 0) continue;
    int before = out->n;
    luc_status status = hook->fn.forward(r->ctx, hook->ud, f->m, f->saved->v, f->saved->n, out);
    luc_status counted = luc__hook_counted(r->ctx, f->m, &out->n, before);
    if (status == LUC_OK) status = counted;
    if (!failed) LUC_TRY(status);
  }
  return LUC_OK;
}

static luc_status end_hooks(run *r, frame *f) {
  if (f->saved != NULL) {
    luc_outputs out = {.n = r->now.n < LUC_MAX_OUTPUTS ? r->now.n : LUC_MAX_OUTPUTS};
    memcpy(out.v, r->now.v, (size_t)out.n * sizeof *out.v);
    for (int i = 0; i < out.n; i++) /* a chain without children passes its own arguments on */
      if (!(r->now.owned >> i & 1) && out.v[i].kind == LUC_TENSOR)
        luc_tensor_retain(out.v[i].as.tensor);
    r->now.n = 0;
    r->now.owned = 0;
    luc_status status = run_forward_hooks(r, f, &out, false);
    take_outputs(r, &out);
    LUC_TRY(status);
  }
  return f->backward != NULL ? wrap(r, f, true) : LUC_OK;
}

/* ---- forward ---- */

static luc_status check_built(luc_context *ctx, const luc_module *m, const luc_class *cls) {
  return m->config != NULL || cls->constructor->nparams == 0
             ? LUC_OK
             : luc__fail(ctx, LUC_ERR_STATE, "%s: %s.__init was not called", m->cls->name,
                         cls->name);
}

static void drop_lent(luc_context *ctx, luc_map *lent) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(lent, &at)) != NULL;) luc_tensor_release(ctx, e->value);
  luc__map_free(ctx, lent);
}

/* Asks the host for what stands outside m's slots. That may run code which changes m. */
static luc_status borrow(luc_context *ctx, luc_module *m, luc_map *lent) {
  const luc_host *host = &luc__nn_of(ctx)->host;
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&m->outside, &at)) != NULL;) {
    if (luc__slot_find(m, e->key, e->length, NULL) != NULL) continue;
    LUC_TRY(luc__map_set(ctx, lent, e->key, e->length, NULL, NULL));
    e = &lent->entries[lent->used - 1];
    luc_tensor *t = NULL;
    LUC_TRY(host->tensor(ctx, host->ud, m, e->key, e->length, &t));
    e->value = t;
  }
  return LUC_OK;
}

/* Runs forward while the tensors that the host provides can be found in m->lent. */
static luc_status forward_lent(luc_context *ctx, luc_module *m, luc_forward_fn forward,
                               luc_value *args, luc_outputs *out) {
  luc_map lent, *outer = m->lent;
  luc__map_init(&lent);
  luc_status status = borrow(ctx, m, &lent);
  if (status == LUC_OK) {
    m->lent = &lent;
    status = forward(ctx, m, args, out);
    m->lent = outer;
  }
  drop_lent(ctx, &lent);
  return status;
}

/* Runs `forward` of a class of m's with these arguments, which it checks. */
static luc_status forward_by(luc_context *ctx, luc_module *m, const luc_class *cls,
                             luc_forward_fn forward, luc_value *args, int nargs, luc_outputs *out) {
  const luc_schema *schema = cls->forward;
  out->n = 0;
  if (forward == luc__no_forward) return luc__no_forward(ctx, m, args, out);
  LUC_TRY(check_built(ctx, m, cls));
  LUC_CHECK(ctx, nargs <= schema->nparams, LUC_ERR_TYPE, "%s: takes at most %d arguments (got %d)",
            m->cls->name, schema->nparams, nargs);
  for (int i = 0; i < nargs; i++) {
    if (args[i].kind == LUC_TENSOR && args[i].as.tensor && schema->params[i].type == LUC_T_TENSOR)
      continue;
    LUC_TRY(luc__config_check(ctx, m->cls->name, &schema->params[i], &args[i]));
  }
  if (nargs < schema->nparams) LUC_TRY(luc__schema_defaults(ctx, schema, args, nargs));
  if (m->outside.count > 0 && luc__nn_of(ctx)->host.tensor != NULL && m->peer != NULL)
    return forward_lent(ctx, m, forward, args, out);
  return forward(ctx, m, args, out);
}

luc_status luc__class_forward(luc_context *ctx, luc_module *m, const luc_class *cls,
                              luc_value *args, int nargs, luc_outputs *out) {
  return forward_by(ctx, m, cls, cls->def->forward, args, nargs, out);
}

static luc_status call_host(run *r, luc_module *m, luc_outputs *out) {
  const luc_host *host = &luc__nn_of(r->ctx)->host;
  LUC_CHECK(r->ctx, host->call != NULL, LUC_ERR_STATE, "%s: its host is gone", m->cls->name);
  return host->call(r->ctx, host->ud, m, r->now.v, r->now.n, out);
}

/* A chain's child from *position on, which moves behind it; NULL: there is none. */
static luc_module *next_child(const luc_module *chain, uint32_t *position) {
  luc_map_entry *e;
  do e = luc__map_next(&chain->slots[LUC_SLOT_CHILD], position);
  while (e != NULL && e->value == NULL);
  return e != NULL ? e->value : NULL;
}

/* Does nobody see what m makes of this before a ReLU behind it? m's hooks aside. */
static bool ends_in_relu(const luc_context *ctx, const luc_module *m, const luc_value *input) {
  const luc_tensor *x = luc_as_tensor(input);
  return m->cls->core->with_relu != NULL && ctx->batched == 0 && x != NULL &&
         luc__dtype_is_float(x->dtype);
}

/* Does a ReLU follow the module on top that is part of it? Then the chain goes on behind it, at
 * *position. */
static bool relu_follows(const run *r, uint32_t *position) {
  const frame *top = &r->frames[r->depth - 1];
  if (r->depth == 1 || top->hooked || r->now.n != 1 || !ends_in_relu(r->ctx, top->m, &r->now.v[0]))
    return false;
  *position = top[-1].position;
  const luc_module *next = next_child(top[-1].m, position);
  return next != NULL && next->cls->core->op == LUC_OP_relu && next->config != NULL &&
         luc__is_pure(next) && !luc__has_hooks(luc__nn_of(r->ctx), next);
}

/* Runs the module on top, with a ReLU behind it where its product can end in that. */
static luc_status run_forward(run *r) {
  frame *f = &r->frames[r->depth - 1];
  const luc_class *core = f->m->cls->core;
  uint32_t behind = 0;
  const bool relu = relu_follows(r, &behind);
  const luc_forward_fn forward = relu ? core->with_relu : core->def->forward;
  luc_outputs out;
  LUC_TRY(forward_by(r->ctx, f->m, core, forward, r->now.v, r->now.n, &out));
  take_outputs(r, &out);
  if (relu) f[-1].position = behind;
  return LUC_OK;
}

/* Runs the module on top, or pushes the next child of a chain. *done: its results are there. */
static luc_status advance(run *r, bool *done) {
  frame *f = &r->frames[r->depth - 1];
  *done = (f->m->cls->core->def->flags & LUC_CF_CHAIN) == 0;
  if (*done) return run_forward(r);
  luc_module *next = next_child(f->m, &f->position);
  *done = next == NULL;
  return *done ? LUC_OK : push(r, next);
}

/* Enters the module on top of the stack. One that needs its host is done at once. */
static luc_status enter(run *r, bool *done) {
  frame *f = &r->frames[r->depth - 1];
  *done = false;
  if (!luc__is_pure(f->m)) {
    luc_outputs out = {0};
    LUC_TRY(call_host(r, f->m, &out));
    take_outputs(r, &out);
    *done = true;
    return LUC_OK;
  }
  return luc__has_hooks(luc__nn_of(r->ctx), f->m) ? begin_hooks(r, f) : LUC_OK;
}

static luc_status drive(run *r) {
  bool done;
  LUC_TRY(enter(r, &done));
  for (;;) {
    uint32_t depth = r->depth;
    if (!done) LUC_TRY(advance(r, &done));
    if (r->depth > depth) {
      LUC_TRY(enter(r, &done));
      continue;
    }
    frame *top = &r->frames[r->depth - 1];
    if (top->hooked) LUC_TRY(end_hooks(r, top));
    pop(r);
    if (r->depth == 0) return LUC_OK;
    done = false;
  }
}

/* ---- failures ---- */

static void note_path(run *r) {
  luc_nn *nn = luc__nn_of(r->ctx);
  size_t used = 0;
  nn->failed = true;
  nn->failed_path[0] = '\0';
  for (uint32_t i = 1; i < r->depth && used < LUC_PATH_MAX; i++) {
    const char *name = luc__child_name(r->frames[i - 1].m, r->frames[i].m);
    used += (size_t)snprintf(nn->failed_path + used, LUC_PATH_MAX - used, "%s%s",
                             used > 0 ? "." : "", name != NULL ? name : "?");
  }
  snprintf(nn->failed_class, sizeof nn->failed_class, "%s", r->frames[r->depth - 1].m->cls->name);
}

static void unwind(run *r) {
  char message[LUC_MESSAGE_MAX];
  memcpy(message, r->ctx->message, sizeof message);
  luc_status status = r->ctx->status;
  for (; r->depth > 0; pop(r)) {
    frame *f = &r->frames[r->depth - 1];
    luc_outputs out = {0};
    if (!f->hooked || f->saved == NULL) continue;
    run_forward_hooks(r, f, &out, true);
    luc_outputs_release(r->ctx, &out);
  }
  r->ctx->status = status;
  memcpy(r->ctx->message, message, sizeof message);
}

luc_status luc__module_relu(luc_context *ctx, luc_module *m, luc_tensor *input, luc_tensor **out) {
  luc_value args[LUC_MAX_PARAMS] = {luc_v_tensor(input)};
  luc_outputs result;
  *out = NULL;
  if (!ends_in_relu(ctx, m, args) || !luc__is_pure(m) || m->outside.count > 0 ||
      luc__has_hooks(luc__nn_of(ctx), m))
    return LUC_OK;
  LUC_TRY(forward_by(ctx, m, m->cls->core, m->cls->core->with_relu, args, 1, &result));
  *out = result.v[0].as.tensor;
  return LUC_OK;
}

luc_status luc__module_run(luc_context *ctx, luc_module *m, const luc_value *args, int nargs,
                           luc_outputs *out) {
  run r;
  r.ctx = ctx;
  r.frames = r.inline_frames;
  r.depth = 0;
  r.capacity = INLINE_FRAMES;
  out->n = 0;
  luc__nn_of(ctx)->failed = false;
  LUC_CHECK(ctx, nargs <= LUC_MAX_PARAMS, LUC_ERR_TYPE, "%s: too many arguments (%d)", m->cls->name,
            nargs);
  r.now.n = nargs;
  r.now.owned = 0;
  if (nargs > 0) memcpy(r.now.v, args, (size_t)nargs * sizeof *args);
  luc_status status = push(&r, m);
  if (status == LUC_OK) status = drive(&r);
  if (status != LUC_OK) {
    if (status != LUC_ERR_CALLBACK && r.depth > 0) note_path(&r);
    unwind(&r);
    drop(ctx, &r.now);
  } else {
    out->n = r.now.n < LUC_MAX_OUTPUTS ? r.now.n : LUC_MAX_OUTPUTS;
    memcpy(out->v, r.now.v, (size_t)out->n * sizeof *out->v);
    for (int i = 0; i < out->n; i++)
      if (!(r.now.owned >> i & 1) && out->v[i].kind == LUC_TENSOR)
        luc_tensor_retain(out->v[i].as.tensor);
  }
  if (r.frames != r.inline_frames) luc__free(ctx, r.frames, r.capacity * sizeof *r.frames);
  return status;
}

luc_status luc_module_call(luc_context *ctx, luc_module *m, const luc_value *args, int nargs,
                           luc_outputs *out) {
  LUC_NEED(ctx, out);
  out->n = 0;
  LUC_NEED(ctx, m && (args || nargs == 0));
  LUC_CHECK(ctx, nargs >= 0, LUC_ERR_VALUE, "%s: nargs must be at least 0 (got %d)", m->cls->name,
            nargs);
  for (int i = 0; i < nargs; i++) {
    if (args[i].kind == LUC_TENSOR && args[i].as.tensor) continue;
    LUC_CHECK(ctx, luc__value_whole(&args[i]), LUC_ERR_TYPE,
              "%s: argument %d must be a value (got NULL)", m->cls->name, i + 1);
  }
  luc_status status = luc__module_run(ctx, m, args, nargs, out);
  luc_nn *nn = luc__nn_of(ctx);
  if (status == LUC_OK || !nn->failed) return status;
  nn->failed = false;
  char message[LUC_MESSAGE_MAX];
  snprintf(message, sizeof message, "%s", luc_message(ctx));
  if (nn->failed_path[0] == '\0')
    return luc__fail(ctx, status, "in %s: %s", nn->failed_class, message);
  return luc__fail(ctx, status, "in %s (%s): %s", nn->failed_path, nn->failed_class, message);
}

luc_status luc_module_call1(luc_context *ctx, luc_module *m, luc_tensor *x, luc_tensor **y) {
  luc_value arg = luc_v_tensor(x);
  luc_outputs out;
  LUC_PLACE(ctx, y);
  LUC_TRY(luc_module_call(ctx, m, &arg, 1, &out));
  if (out.n >= 1 && out.v[0].kind == LUC_TENSOR) {
    *y = luc_tensor_retain(out.v[0].as.tensor);
    luc_outputs_release(ctx, &out);
    return LUC_OK;
  }
  luc_outputs_release(ctx, &out);
  return luc__fail(ctx, LUC_ERR_TYPE, "%s: its output is no tensor", m->cls->name);
}
