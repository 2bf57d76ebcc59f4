/* Hooks around forward, saving and loading. A module's list is counted: while calls in progress
 * walk it, registering and removing make another, so that they keep the one they began with. */
#include "nn/module.h"

void luc__hook_release(luc_context *ctx, luc_module_hook *hook) {
  while (hook != NULL && --hook->refs == 0) {
    luc_module_hook *origin = hook->origin;
    if (origin == NULL && hook->free != NULL) hook->free(ctx, hook->ud);
    luc__free(ctx, hook, sizeof *hook);
    hook = origin;
  }
}

void luc__hooks_release(luc_context *ctx, luc_hooks *hooks) {
  if (hooks == NULL || --hooks->refs > 0) return;
  luc_module_hook *hook;
  for (uint64_t at = 0; (hook = luc__roster_next(hooks->roster, &at)) != NULL;)
    luc__hook_release(ctx, hook);
  luc__roster_free(ctx, hooks->roster);
  luc__free(ctx, hooks, sizeof *hooks);
}

/* Makes *hooks a list that no call in progress walks. */
static luc_status own_list(luc_context *ctx, luc_hooks **hooks) {
  luc_hooks *old = *hooks;
  if (old != NULL && old->refs == 1) return LUC_OK;
  luc_hooks *list = luc__alloc_zero(ctx, sizeof *list);
  if (list == NULL) return LUC_ERR_MEMORY;
  if (old != NULL) {
    *list = *old;
    list->roster = luc__roster_copy(ctx, old->roster);
    if (list->roster == NULL) {
      luc__free(ctx, list, sizeof *list);
      return LUC_ERR_MEMORY;
    }
    luc_module_hook *hook;
    for (uint64_t at = 0; (hook = luc__roster_next(list->roster, &at)) != NULL;) hook->refs++;
    old->refs--;
  }
  list->refs = 1;
  *hooks = list;
  return LUC_OK;
}

/* n of a kind more (or less). */
static void count_kind(luc_hooks *list, int kind, int n) {
  list->counts[kind] += n;
  list->kinds &= ~(1u << kind);
  if (list->counts[kind] > 0) list->kinds |= 1u << kind;
}

/* Its number in the list: those that were put first are below the others, the last one lowest. */
static uint64_t number_of(uint64_t id, bool first) {
  const uint64_t middle = (uint64_t)1 << 63;
  return first ? middle - id : middle + id;
}

/* The number of the one with this id, which need not be there. */
static uint64_t find_number(const luc_hooks *hooks, uint64_t id) {
  bool first = luc__roster_find(hooks->roster, number_of(id, true)) != NULL;
  return number_of(id, first);
}

luc_module_hook *luc__hook_find(const luc_hooks *hooks, uint64_t id) {
  if (hooks == NULL) return NULL;
  luc_module_hook *hook = luc__roster_find(hooks->roster, find_number(hooks, id));
  return hook != NULL && !hook->removed ? hook : NULL;
}

/* ---- every module's hooks ---- */

/* All modules are called in another way, or other hooks are due. Those whose host's hooks come or
 * go turn pure or impure. */
static void every_module_changed(luc_context *ctx, int delta) {
  luc_nn *nn = luc__nn_of(ctx);
  nn->impure += (uint32_t)delta;
  for (luc_module *m = nn->live; m != NULL; m = m->next) luc__module_impure(ctx, m, delta);
}

/* ---- adding, removing ---- */

/* Does a hook make its module one that only the host can call? Backward hooks do not: the core
 * passes calls through their identity functions itself. */
static int impurity(const luc_module_hook *hook) {
  return hook->host && (hook->kind == LUC_HOOK_PRE || hook->kind == LUC_HOOK_FORWARD) ? 1 : 0;
}

/* A module, or all of them, may have PyTorch's full backward hooks or its older ones, not both.
 * Gives the bit of such a kind, 0 of others: as in PyTorch full pre-hooks go with both. */
static uint32_t exclusive_bit(int kind) {
  uint32_t either = 1u << LUC_HOOK_FULL_BACKWARD | 1u << LUC_HOOK_BACKWARD;
  return 1u << kind & either;
}

static luc_status check_backward_kind(luc_context *ctx, uint32_t had, int kind, bool global) {
  LUC_CHECK(ctx, !exclusive_bit(kind) || !(had & ~exclusive_bit(kind)), LUC_ERR_STATE,
            "register_%s%s: Cannot use both regular backward hooks and full backward hooks %s. "
            "Please use only one of them.",
            global ? "module_" : "",
            kind == LUC_HOOK_BACKWARD ? "backward_hook" : "full_backward_hook",
            global ? "as a global Module hook" : "on a single Module");
  return LUC_OK;
}

luc_status luc__hook_add(luc_context *ctx, luc_module *m, const luc_module_hook *like,
                         uint64_t *id) {
  luc_nn *nn = luc__nn(ctx);
  if (nn == NULL) return LUC_ERR_MEMORY;
  luc_hooks **hooks = m != NULL ? &m->hooks : &nn->hooks;
  uint32_t *backward_kind = m != NULL ? &m->backward_kind : &nn->backward_kind;
  LUC_TRY(check_backward_kind(ctx, *backward_kind, like->kind, m == NULL));
  LUC_TRY(own_list(ctx, hooks));
  luc_module_hook *hook = luc__alloc(ctx, sizeof *hook);
  if (hook == NULL) return LUC_ERR_MEMORY;
  uint64_t number = number_of(ctx->next_id + 1, (like->flags & LUC_HOOK_PREPEND) != 0);
  luc_status status = luc__roster_add(ctx, &(*hooks)->roster, number, hook);
  if (status != LUC_OK) {
    luc__free(ctx, hook, sizeof *hook);
    return status;
  }
  *backward_kind |= exclusive_bit(like->kind);
  if (like->kind >= LUC_HOOK_STATE) nn->state_hooks = true;
  *hook = *like;
  hook->refs = 1;
  hook->removed = false;
  if (hook->origin != NULL) hook->origin->refs++;
  hook->id = ++ctx->next_id;
  count_kind(*hooks, hook->kind, 1);
  if (id != NULL) *id = hook->id;
  if (m != NULL)
    luc__module_impure(ctx, m, impurity(hook));
  else
    every_module_changed(ctx, impurity(hook));
  return LUC_OK;
}

/* Of a host in C; the binding's hooks have no function of their own. */
static luc_status add_function(luc_context *ctx, luc_module *m, const luc_module_hook *hook,
                               uint64_t *id) {
  LUC_CHECK(ctx, hook->fn.pre != NULL, LUC_ERR_VALUE, "a hook needs a function");
  return luc__hook_add(ctx, m, hook, id);
}

luc_status luc_module_register_pre_hook(luc_context *ctx, luc_module *m, luc_pre_hook_fn fn,
                                        void *ud, luc_hook_free_fn free, int flags, uint64_t *id) {
  luc_module_hook hook = {.kind = LUC_HOOK_PRE, .flags = (uint8_t)flags, .ud = ud, .free = free};
  hook.fn.pre = fn;
  return add_function(ctx, m, &hook, id);
}

luc_status luc_module_register_forward_hook(luc_context *ctx, luc_module *m, luc_forward_hook_fn fn,
                                            void *ud, luc_hook_free_fn free, int flags,
                                            uint64_t *id) {
  luc_module_hook hook = {
      .kind = LUC_HOOK_FORWARD, .flags = (uint8_t)flags, .ud = ud, .free = free};
  hook.fn.forward = fn;
  return add_function(ctx, m, &hook, id);
}

luc_status luc_module_register_backward_hook(luc_context *ctx, luc_module *m, luc_hook_kind kind,
                                             luc_backward_hook_fn fn, void *ud,
                                             luc_hook_free_fn free, int flags, uint64_t *id) {
  luc_module_hook hook = {.kind = (uint8_t)kind, .flags = (uint8_t)flags, .ud = ud, .free = free};
  LUC_CHECK(ctx, kind < LUC_HOOK_KINDS && (1u << kind & LUC_HOOK_BACKWARD_KINDS), LUC_ERR_VALUE,
            "register_backward_hook: kind must be a backward one (got %d)", (int)kind);
  hook.fn.backward = fn;
  return add_function(ctx, m, &hook, id);
}

luc_status luc_module_register_state_hook(luc_context *ctx, luc_module *m, luc_state_event event,
                                          luc_state_hook_fn fn, void *ud, luc_hook_free_fn free,
                                          uint64_t *id) {
  luc_module_hook hook = {.kind = (uint8_t)(LUC_HOOK_STATE + event), .ud = ud, .free = free};
  LUC_NEED(ctx, m && fn);
  LUC_CHECK(ctx, (unsigned)event < LUC_STATE_EVENTS, LUC_ERR_VALUE,
            "register_state_hook: unknown event %d", (int)event);
  hook.fn.state = fn;
  return add_function(ctx, m, &hook, id);
}

bool luc_module_remove_hook(luc_context *ctx, luc_module *m, uint64_t id) {
  if (m == NULL && luc__nn_of(ctx) == NULL) return false;
  luc_hooks **hooks = m != NULL ? &m->hooks : &luc__nn_of(ctx)->hooks;
  luc_module_hook *hook = luc__hook_find(*hooks, id);
  if (hook == NULL) return false;
  hook->removed = true;
  int delta = -impurity(hook);
  /* Without memory for a list without it, it stays in the one that calls walk, marked. */
  bool taken = own_list(ctx, hooks) == LUC_OK;
  if (taken) {
    luc__roster_take((*hooks)->roster, find_number(*hooks, id));
    count_kind(*hooks, hook->kind, -1);
    luc__hook_release(ctx, hook);
  }
  if (m != NULL)
    luc__module_impure(ctx, m, delta);
  else
    every_module_changed(ctx, delta);
  return true;
}

/* ---- a call's hooks ---- */

luc_status luc__hook_counted(luc_context *ctx, const luc_module *m, int *n, int before) {
  int given = *n;
  if (given >= 0 && given <= LUC_MAX_OUTPUTS) return LUC_OK;
  *n = before;
  return luc__fail(ctx, LUC_ERR_VALUE, "%s: a hook may give at most %d values (got %d)",
                   m->cls->name, LUC_MAX_OUTPUTS, given);
}

luc_hook_lists luc__hook_lists(luc_context *ctx, const luc_module *m) {
  luc_hook_lists lists = {{luc__nn_of(ctx)->hooks, m->hooks}};
  for (int i = 0; i < 2; i++)
    if (lists.list[i] != NULL) lists.list[i]->refs++;
  return lists;
}

void luc__hook_lists_release(luc_context *ctx, luc_hook_lists *lists) {
  for (int i = 0; i < 2; i++) {
    luc__hooks_release(ctx, lists->list[i]);
    lists->list[i] = NULL;
  }
}

uint32_t luc__hook_kinds(const luc_hook_lists *lists) {
  return (lists->list[0] != NULL ? lists->list[0]->kinds : 0) |
         (lists->list[1] != NULL ? lists->list[1]->kinds : 0);
}

luc_module_hook *luc__next_hook(const luc_hook_lists *lists, int kind, luc_hook_at *at) {
  for (; at->list < 2; at->list++, at->number = 0) {
    const luc_hooks *hooks = lists->list[at->list];
    if (hooks == NULL || !(hooks->kinds >> kind & 1)) continue;
    luc_module_hook *hook;
    while ((hook = luc__roster_next(hooks->roster, &at->number)) != NULL)
      if (hook->kind == kind) return hook;
  }
  return NULL;
}

bool luc__has_one_forward_hook(const luc_nn *nn, const luc_module *m) {
  const luc_hook_lists lists = {{nn->hooks, m->hooks}};
  if ((luc__hook_kinds(&lists) & LUC_HOOK_CALL_KINDS) != 1u << LUC_HOOK_FORWARD) return false;
  luc_hook_at at = {0};
  const luc_module_hook *hook = luc__next_hook(&lists, LUC_HOOK_FORWARD, &at);
  return hook != NULL && !(hook->flags & LUC_HOOK_ALWAYS_CALL) &&
         luc__next_hook(&lists, LUC_HOOK_FORWARD, &at) == NULL;
}

luc_module_hook *luc__own_hook(const luc_module *m, uint64_t *at) {
  return m->hooks != NULL ? luc__roster_next(m->hooks->roster, at) : NULL;
}

luc_module_hook *luc__state_hook_next(const luc_module *m, luc_state_event event, uint64_t after,
                                      uint64_t last) {
  luc_module_hook *hook;
  for (uint64_t at = number_of(after, false); (hook = luc__own_hook(m, &at)) != NULL;)
    if (hook->kind == LUC_HOOK_STATE + event && !hook->removed)
      return hook->id <= last ? hook : NULL;
  return NULL;
}
