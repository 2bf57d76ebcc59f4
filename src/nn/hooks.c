/* Hooks around forward. A module's list is immutable and counted: registering and removing make a
 * new one, so a call in progress keeps walking the one it began with. */
#include <string.h>

#include "nn/module.h"

static void hook_release(luc_context *ctx, luc_module_hook *hook) {
  if (--hook->refs > 0) return;
  if (hook->free != NULL) hook->free(ctx, hook->ud);
  luc__free(ctx, hook, sizeof *hook);
}

static size_t list_size(int n) {
  return sizeof(luc_hooks) + (size_t)n * sizeof(luc_module_hook *);
}

void luc__hooks_release(luc_context *ctx, luc_hooks *hooks) {
  if (hooks == NULL || --hooks->refs > 0) return;
  for (int i = 0; i < hooks->n; i++) hook_release(ctx, hooks->items[i]);
  luc__free(ctx, hooks, list_size(hooks->n));
}

/* A list of n hooks taken from `from`, leaving a gap at `gap` or leaving out the one at `skip`. */
static luc_hooks *relist(luc_context *ctx, const luc_hooks *from, int n, int gap, int skip) {
  luc_hooks *list = luc__alloc(ctx, list_size(n));
  if (list == NULL) return NULL;
  list->refs = 1;
  list->n = n;
  int source = 0;
  for (int i = 0; i < n; i++) {
    if (i == gap) continue;
    if (source == skip) source++;
    list->items[i] = from->items[source++];
    list->items[i]->refs++;
  }
  return list;
}

luc_status luc__hook_add(luc_context *ctx, luc_module *m, const luc_module_hook *like,
                         uint64_t *id) {
  int n = m->hooks != NULL ? m->hooks->n : 0;
  int place = (like->flags & LUC_HOOK_PREPEND) != 0 ? 0 : n;
  luc_module_hook *hook = luc__alloc(ctx, sizeof *hook);
  if (hook == NULL) return LUC_ERR_MEMORY;
  luc_hooks *list = relist(ctx, m->hooks, n + 1, place, -1);
  if (list == NULL) {
    luc__free(ctx, hook, sizeof *hook);
    return LUC_ERR_MEMORY;
  }
  *hook = *like;
  hook->refs = 1;
  hook->removed = false;
  hook->id = ++ctx->next_id;
  list->items[place] = hook;
  luc__hooks_release(ctx, m->hooks);
  m->hooks = list;
  *id = hook->id;
  luc__module_impure(ctx, m, hook->host ? 1 : 0);
  return LUC_OK;
}

luc_status luc_module_register_pre_hook(luc_context *ctx, luc_module *m, luc_pre_hook_fn fn,
                                        void *ud, luc_hook_free_fn free, int flags, uint64_t *id) {
  luc_module_hook hook = {.kind = LUC_HOOK_PRE, .flags = (uint8_t)flags, .ud = ud, .free = free};
  hook.fn.pre = fn;
  return luc__hook_add(ctx, m, &hook, id);
}

luc_status luc_module_register_forward_hook(luc_context *ctx, luc_module *m, luc_forward_hook_fn fn,
                                            void *ud, luc_hook_free_fn free, int flags,
                                            uint64_t *id) {
  luc_module_hook hook = {
      .kind = LUC_HOOK_FORWARD, .flags = (uint8_t)flags, .ud = ud, .free = free};
  hook.fn.forward = fn;
  return luc__hook_add(ctx, m, &hook, id);
}

bool luc_module_remove_hook(luc_context *ctx, luc_module *m, uint64_t id) {
  luc_hooks *old = m->hooks;
  int place = 0, n = old != NULL ? old->n : 0;
  while (place < n && old->items[place]->id != id) place++;
  if (place == n || old->items[place]->removed) return false;
  luc_module_hook *hook = old->items[place];
  hook->removed = true;
  bool host = hook->host;
  /* Without memory for a shorter list the hook stays in it, marked. */
  luc_hooks *list = n > 1 ? relist(ctx, old, n - 1, -1, place) : NULL;
  if (list != NULL || n == 1) {
    m->hooks = list;
    luc__hooks_release(ctx, old);
  }
  luc__module_impure(ctx, m, host ? -1 : 0);
  return true;
}

bool luc__hooks_have(const luc_module *m, int kind) {
  if (m->hooks == NULL) return false;
  for (int i = 0; i < m->hooks->n; i++)
    if (m->hooks->items[i]->kind == kind && !m->hooks->items[i]->removed) return true;
  return false;
}
