/* Hooks on registration: functions of the whole context that see every parameter, buffer or child
 * before a module takes it, and may put another in its place or refuse. A hook removed while hooks
 * run is skipped at once and freed when they are done. */
#include <string.h>

#include "nn/module.h"

/* The roster holds them by id. */
typedef struct registration_hook {
  luc_slot slot;
  luc_registration_fn fn;
  void *ud;
  luc_hook_free_fn free;
  bool removed;
} registration_hook;

static const luc_slot slots[] = {
    [LUC_MEMBERS_PARAMETERS] = LUC_SLOT_PARAMETER,
    [LUC_MEMBERS_BUFFERS] = LUC_SLOT_BUFFER,
    [LUC_MEMBERS_CHILDREN] = LUC_SLOT_CHILD,
};

luc_status luc_register_registration_hook(luc_context *ctx, luc_member_kind kind,
                                          luc_registration_fn fn, void *ud, luc_hook_free_fn free,
                                          uint64_t *id) {
  LUC_NEED(ctx, fn);
  luc_nn *nn = luc__nn(ctx);
  if (nn == NULL) return LUC_ERR_MEMORY;
  LUC_CHECK(ctx, (unsigned)kind <= LUC_MEMBERS_CHILDREN && kind != LUC_MEMBERS_MODULES,
            LUC_ERR_VALUE, "registration hooks are for parameters, buffers or children");
  registration_hook *hook = luc__alloc(ctx, sizeof *hook);
  if (hook == NULL) return LUC_ERR_MEMORY;
  *hook = (registration_hook){.slot = slots[kind], .fn = fn, .ud = ud, .free = free};
  luc_status status = luc__roster_add(ctx, &nn->registration, ctx->next_id + 1, hook);
  if (status != LUC_OK) {
    luc__free(ctx, hook, sizeof *hook);
    return status;
  }
  ctx->next_id++;
  if (id != NULL) *id = ctx->next_id;
  return LUC_OK;
}

/* Without any hook there is no roster. */
static void take(luc_context *ctx, luc_nn *nn, uint64_t id) {
  registration_hook *hook = luc__roster_take(nn->registration, id);
  if (nn->registration->count == 0) {
    luc__roster_free(ctx, nn->registration);
    nn->registration = NULL;
  }
  if (hook->free != NULL) hook->free(ctx, hook->ud);
  luc__free(ctx, hook, sizeof *hook);
}

/* Frees the hooks that were removed, or all. */
static void sweep(luc_context *ctx, luc_nn *nn, bool all) {
  const registration_hook *hook;
  for (uint64_t id = 0; (hook = luc__roster_next(nn->registration, &id)) != NULL;)
    if (all || hook->removed) take(ctx, nn, id);
}

bool luc_remove_registration_hook(luc_context *ctx, uint64_t id) {
  luc_nn *nn = luc__nn_of(ctx);
  registration_hook *hook = nn != NULL ? luc__roster_find(nn->registration, id) : NULL;
  if (hook == NULL || hook->removed) return false;
  hook->removed = true;
  if (nn->registering == 0) take(ctx, nn, id);
  return true;
}

void luc__registration_close(luc_context *ctx, luc_nn *nn) {
  sweep(ctx, nn, true);
}

void luc__registered_drop(luc_context *ctx, luc_registered *object) {
  luc_tensor_release(ctx, object->tensor);
  luc_module_release(ctx, object->module);
  *object = (luc_registered){0};
}

static luc_status check(luc_context *ctx, luc_slot slot, const char *name,
                        const luc_registered *object) {
  static const char *const kinds[] = {"parameter", "buffer", "module"};
  static const char *const expected[] = {"an nn.Parameter", "a Tensor", "an nn.Module"};
  bool fits = slot == LUC_SLOT_CHILD ? object->module != NULL && object->tensor == NULL
                                     : object->tensor != NULL && object->module == NULL;
  if (fits && slot == LUC_SLOT_PARAMETER) fits = (object->tensor->flags & LUC_TF_PARAMETER) != 0;
  LUC_CHECK(ctx, fits, LUC_ERR_TYPE, "%s registration hook: must return %s or nil for '%s'",
            kinds[slot], expected[slot], name);
  return LUC_OK;
}

/* Calls one hook; what it returns takes the object's place, which *owned then holds. */
static luc_status call(luc_context *ctx, const registration_hook *hook, luc_module *m,
                       const char *name, void **object, luc_registered *owned) {
  luc_registered given = {0}, replacement = {0};
  if (hook->slot == LUC_SLOT_CHILD)
    given.module = *object;
  else
    given.tensor = *object;
  luc_status status = hook->fn(ctx, hook->ud, m, name, &given, &replacement);
  bool replaced = replacement.tensor != NULL || replacement.module != NULL;
  if (status == LUC_OK && replaced) status = check(ctx, hook->slot, name, &replacement);
  if (status != LUC_OK || !replaced) {
    luc__registered_drop(ctx, &replacement);
    return status;
  }
  luc__registered_drop(ctx, owned);
  *owned = replacement;
  *object = hook->slot == LUC_SLOT_CHILD ? (void *)replacement.module : (void *)replacement.tensor;
  return LUC_OK;
}

luc_status luc__registration_run(luc_context *ctx, luc_module *m, luc_slot slot, const char *name,
                                 void **object, luc_registered *owned) {
  luc_nn *nn = luc__nn_of(ctx);
  luc_status status = LUC_OK;
  *owned = (luc_registered){0};
  if (nn->registration == NULL || nn->building > 0) return LUC_OK;
  if (slot == LUC_SLOT_PARAMETER && *object == NULL) return LUC_OK;
  uint64_t newest = ctx->next_id; /* hooks added meanwhile wait for the next registration */
  const registration_hook *hook;
  nn->registering++;
  for (uint64_t id = 0; status == LUC_OK && id < newest;) {
    hook = luc__roster_next(nn->registration, &id);
    if (hook == NULL || id > newest) break;
    if (hook->slot == slot && !hook->removed) status = call(ctx, hook, m, name, object, owned);
  }
  if (--nn->registering == 0) sweep(ctx, nn, false);
  if (status != LUC_OK) luc__registered_drop(ctx, owned);
  return status;
}

/* ---- what constructors registered ---- */

/* The hooks may change the module: this entry's name and object stay for as long as they run. */
static luc_status show_entry(luc_context *ctx, luc_module *m, luc_slot slot,
                             const luc_map_entry *e) {
  size_t length = e->length;
  char *name = luc__alloc(ctx, length + 1);
  void *object = e->value;
  if (name == NULL) return LUC_ERR_MEMORY;
  memcpy(name, e->key, length + 1);
  if (slot == LUC_SLOT_CHILD)
    luc__module_ref(object);
  else
    luc_tensor_retain(object);
  bool persistent = luc__slot_is_persistent(m, name, length);
  luc_status status = luc__slot_take(ctx, m, slot, name, object, persistent);
  if (slot == LUC_SLOT_CHILD)
    luc__module_unref(ctx, object);
  else
    luc_tensor_release(ctx, object);
  luc__free(ctx, name, length + 1);
  return status;
}

static luc_status show_slots(luc_context *ctx, luc_module *m) {
  luc_map_entry *e;
  m->fresh = false;
  for (int slot = 0; slot < LUC_SLOTS; slot++) {
    uint32_t at = 0,
             end = m->slots[slot].used; /* what hooks add meanwhile goes through them by itself */
    while (at < end && (e = luc__map_next(&m->slots[slot], &at)) != NULL)
      if (e->value != NULL || slot == LUC_SLOT_BUFFER)
        LUC_TRY(show_entry(ctx, m, (luc_slot)slot, e));
  }
  return LUC_OK;
}

luc_status luc__registration_built(luc_context *ctx, luc_module *m) {
  luc_nn *nn = luc__nn_of(ctx);
  luc_members list;
  if (nn->registration == NULL || nn->building > 0) return LUC_OK;
  LUC_TRY(luc__module_visit(ctx, m, LUC_WALK_POST, NULL, 0, &list));
  luc_status status = LUC_OK;
  for (size_t i = 0; i < list.n && status == LUC_OK; i++)
    if (list.items[i].module->fresh) status = show_slots(ctx, list.items[i].module);
  luc_members_free(ctx, &list);
  return status;
}
