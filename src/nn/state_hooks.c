/* Running the hooks around saving and loading. They stand in the module's list in their order of
 * registration, which is that of their ids, so a run goes on after the last id it saw: hooks that
 * come or go meanwhile do no harm, and those that come wait for the next run. */
#include "nn/module.h"

luc_status luc__state_hook_call(luc_context *ctx, luc_module *m, luc_module_hook *hook,
                                const luc_state_info *info) {
  hook->refs++;
  luc_status status = hook->fn.state(ctx, hook->ud, m, info);
  luc__hook_release(ctx, hook);
  return status;
}

luc_status luc__state_hooks_run(luc_context *ctx, luc_module *m, const luc_state_info *info) {
  uint64_t last = ctx->next_id, id = 0;
  luc_module_hook *hook;
  while ((hook = luc__state_hook_next(m, info->event, id, last)) != NULL) {
    id = hook->id;
    if (!hook->host) LUC_TRY(luc__state_hook_call(ctx, m, hook, info));
  }
  return LUC_OK;
}

luc_status luc__state_hooked(luc_context *ctx, luc_module *m, uint32_t events, bool host,
                             bool *found) {
  const luc_module_hook *hook;
  luc_walk w;
  *found = false;
  if (!luc__nn_of(ctx)->state_hooks) return LUC_OK;
  luc__walk_begin(&w, ctx, m, NULL, LUC_MEMBERS_UNNAMED);
  while (!*found && (m = luc__walk_next(&w)) != NULL)
    for (uint64_t at = 0; !*found && (hook = luc__own_hook(m, &at)) != NULL;) {
      bool due = (events << LUC_HOOK_STATE & 1u << hook->kind) != 0;
      if (due && hook->host == host && !hook->removed) *found = true;
    }
  return luc__walk_end(&w);
}
