/* Deep copies of trees. Every module and tensor is copied once, so what is shared inside stays
 * shared. Lua's fields and the functions of its hooks are copied by the binding. */
#include "nn/copies.h"

static luc_status copy_slots(luc_context *ctx, luc_copies *c, const luc_module *from,
                             luc_module *to) {
  luc_map_entry *e;
  for (int slot = 0; slot < LUC_SLOTS; slot++) {
    for (uint32_t at = 0; (e = luc__map_next(&from->slots[slot], &at)) != NULL;) {
      void *object = e->value;
      luc_tensor *copied;
      if (object != NULL && slot == LUC_SLOT_CHILD) {
        object = luc__copies_module(c, object);
      } else if (object != NULL) {
        LUC_TRY(luc__copies_tensor(ctx, c, object, &copied));
        object = copied;
      }
      LUC_TRY(luc__slot_set(ctx, to, (luc_slot)slot, e->key, e->length, object));
    }
  }
  for (uint32_t at = 0; (e = luc__map_next(&from->transient, &at)) != NULL;)
    LUC_TRY(luc__slot_set_transient(ctx, to, e->key, e->length));
  for (uint32_t at = 0; (e = luc__map_next(&from->outside, &at)) != NULL;)
    LUC_TRY(luc__slot_outside(ctx, to, e->key, e->length));
  return LUC_OK;
}

/* As Python copies a function, the copy's hook is the same: data with an owner live until both are
 * gone. */
static luc_status copy_hooks(luc_context *ctx, const luc_copies *c, const luc_module *from,
                             luc_module *to) {
  luc_module_hook *original;
  for (uint64_t at = 0; (original = luc__own_hook(from, &at)) != NULL;) {
    if (original->removed || (original->host && !c->host)) continue;
    luc_module_hook hook = *original;
    uint64_t id;
    hook.flags &= (uint8_t)~LUC_HOOK_PREPEND; /* the order is kept already */
    hook.origin = original->origin != NULL ? original->origin : original;
    LUC_TRY(luc__hook_add(ctx, to, &hook, &id));
  }
  to->backward_kind = from->backward_kind;
  return LUC_OK;
}

luc_status luc__module_copy_config(luc_context *ctx, const luc_module *from, luc_module *to) {
  to->training = from->training;
  to->built = from->built;
  if (from->config == NULL) return LUC_OK;
  return luc__config_copy(ctx, from->config,
                          luc__config_class(from->cls->core)->constructor->nparams, &to->config,
                          &to->config_size);
}

static luc_status copy_module(luc_context *ctx, luc_copies *c, const luc_module *from,
                              luc_module *to) {
  LUC_TRY(luc__module_copy_config(ctx, from, to));
  LUC_TRY(copy_slots(ctx, c, from, to));
  return copy_hooks(ctx, c, from, to);
}

/* Makes an empty module for each in the list that has no copy yet, and sets the others to NULL. */
static luc_status make_modules(luc_context *ctx, luc_copies *c, luc_members *list) {
  for (size_t i = 0; i < list->n; i++) {
    luc_module *from = list->items[i].module, *to;
    if (luc__copies_module(c, from) != NULL) {
      list->items[i].module = NULL;
      luc__module_unref(ctx, from);
      continue;
    }
    LUC_TRY(luc__module_create(ctx, from->cls, &to));
    luc_status status = luc__copies_add_module(ctx, c, from, to);
    if (status != LUC_OK) {
      luc__module_unref(ctx, to);
      return status;
    }
  }
  return LUC_OK;
}

luc_status luc__module_clone(luc_context *ctx, luc_copies *c, luc_module *m, luc_module **out) {
  luc_members list = {0};
  *out = NULL;
  luc_status status =
      luc_module_members(ctx, m, LUC_MEMBERS_MODULES, NULL, LUC_MEMBERS_UNNAMED, &list);
  if (status == LUC_OK) status = make_modules(ctx, c, &list);
  for (size_t i = list.n; status == LUC_OK && i > 0; i--) { /* children first: no parents to tell */
    luc_module *from = list.items[i - 1].module;
    if (from != NULL) status = copy_module(ctx, c, from, luc__copies_module(c, from));
  }
  if (status == LUC_OK) *out = luc__module_ref(luc__copies_module(c, m));
  luc_members_free(ctx, &list);
  return status;
}

luc_status luc_module_clone(luc_context *ctx, luc_module *m, luc_module **out) {
  const luc_host *host = &luc__nn_of(ctx)->host;
  luc_copies c = {.host = false};
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, m);
  if (m->peer != NULL && host->clone != NULL) {
    LUC_TRY(host->clone(ctx, host->ud, m, out));
    luc_module_retain(ctx, *out);
    luc__module_unref(ctx, *out);
    return LUC_OK;
  }
  luc_status status = luc__module_clone(ctx, &c, m, out);
  luc__copies_free(ctx, &c);
  if (status == LUC_OK) (*out)->external = 1;
  return status;
}
