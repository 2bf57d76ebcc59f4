/* Hooks around saving and loading. They stand in their order of registration, which is that of
 * their ids, so a run goes on after the last id it saw: hooks that come or go meanwhile do no
 * harm, and those that come wait for the next run. */
#include "nn/module.h"

static void hook_release(luc_context *ctx, luc_state_hook *hook) {
  while (hook != NULL && --hook->refs == 0) {
    luc_state_hook *origin = hook->origin;
    if (origin == NULL && hook->free != NULL) hook->free(ctx, hook->ud);
    luc__free(ctx, hook, sizeof *hook);
    hook = origin;
  }
}

luc_status luc__state_hook_add(luc_context *ctx, luc_module *m, const luc_state_hook *like,
                               uint64_t *id) {
  luc_state_hook *hook = luc__alloc(ctx, sizeof *hook), **last = &m->state_hooks;
  if (hook == NULL) return LUC_ERR_MEMORY;
  *hook = *like;
  hook->next = NULL;
  hook->refs = 1;
  if (hook->origin != NULL) hook->origin->refs++;
  hook->id = ++ctx->next_id;
  if (id != NULL) *id = hook->id;
  while (*last != NULL) last = &(*last)->next;
  *last = hook;
  luc__nn_of(ctx)->state_hooks++;
  return LUC_OK;
}

luc_status luc_module_register_state_hook(luc_context *ctx, luc_module *m, luc_state_event event,
                                          luc_state_hook_fn fn, void *ud, luc_hook_free_fn free,
                                          uint64_t *id) {
  LUC_NEED(ctx, m && fn);
  luc_state_hook hook = {.event = event, .fn = fn, .ud = ud, .free = free};
  LUC_CHECK(ctx, (unsigned)event < LUC_STATE_EVENTS, LUC_ERR_VALUE,
            "register_state_hook: unknown event %d", (int)event);
  return luc__state_hook_add(ctx, m, &hook, id);
}

static void remove_at(luc_context *ctx, luc_state_hook **place) {
  luc_state_hook *hook = *place;
  *place = hook->next;
  luc__nn_of(ctx)->state_hooks--;
  hook_release(ctx, hook);
}

bool luc__state_hook_remove(luc_context *ctx, luc_module *m, uint64_t id) {
  luc_state_hook **place = &m->state_hooks;
  while (*place != NULL && (*place)->id != id) place = &(*place)->next;
  if (*place == NULL) return false;
  remove_at(ctx, place);
  return true;
}

void luc__state_hooks_free(luc_context *ctx, luc_module *m) {
  while (m->state_hooks != NULL) remove_at(ctx, &m->state_hooks);
}

luc_state_hook *luc__state_hook_next(const luc_module *m, luc_state_event event, uint64_t after,
                                     uint64_t last) {
  luc_state_hook *hook = m->state_hooks;
  while (hook != NULL && (hook->id <= after || hook->event != event)) hook = hook->next;
  return hook != NULL && hook->id <= last ? hook : NULL;
}

luc_status luc__state_hook_call(luc_context *ctx, luc_module *m, luc_state_hook *hook,
                                const luc_state_info *info) {
  hook->refs++;
  luc_status status = hook->fn(ctx, hook->ud, m, info);
  hook_release(ctx, hook);
  return status;
}

luc_status luc__state_hooks_run(luc_context *ctx, luc_module *m, const luc_state_info *info) {
  uint64_t last = ctx->next_id, id = 0;
  luc_state_hook *hook;
  while ((hook = luc__state_hook_next(m, info->event, id, last)) != NULL) {
    id = hook->id;
    if (!hook->host) LUC_TRY(luc__state_hook_call(ctx, m, hook, info));
  }
  return LUC_OK;
}

luc_status luc__state_hooked(luc_context *ctx, luc_module *m, uint32_t events, bool host,
                             bool *found) {
  luc_walk w;
  *found = false;
  if (luc__nn_of(ctx)->state_hooks == 0) return LUC_OK;
  luc__walk_begin(&w, ctx, m, NULL, LUC_MEMBERS_UNNAMED);
  while (!*found && (m = luc__walk_next(&w)) != NULL)
    for (const luc_state_hook *hook = m->state_hooks; hook != NULL; hook = hook->next)
      if (hook->host == host && (events & 1u << hook->event) != 0) *found = true;
  return luc__walk_end(&w);
}
