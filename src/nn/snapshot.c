/* What a tree was before its state was loaded: every map, every tensor's geometry and values.
 * Taking it may fail, putting it back may not, so a snapshot holds references and edges of its own
 * for all that it will put back. */
#include "base/array.h"
#include "cpu/copy.h"
#include "nn/module.h"

typedef struct saved_module {
  luc_module *m;
  luc_map slots[LUC_SLOTS]; /* as in the module, with references and edges */
  luc_map transient;
  luc_value *config;
  size_t config_size;
  bool training;
} saved_module;

typedef struct saved_tensor {
  luc_tensor *t;
  luc_tensor *alias;  /* keeps its geometry and storage */
  luc_tensor *values; /* its values, copied */
  bool requires_grad;
  uint8_t flags;
} saved_tensor;

struct luc_snapshot {
  saved_module *modules;
  saved_tensor *tensors;
  size_t nmodules, ntensors, modules_capacity, tensors_capacity;
};

/* ---- freeing ---- */

static void drop_slots(luc_context *ctx, luc_module *m, luc_map *slots) {
  luc_map_entry *e;
  for (int slot = 0; slot < LUC_SLOTS; slot++) {
    for (uint32_t at = 0; (e = luc__map_next(&slots[slot], &at)) != NULL;) {
      if (e->value == NULL) continue;
      if (slot == LUC_SLOT_CHILD) {
        luc__drop_edge(ctx, m, e->value);
        luc__module_unref(ctx, e->value);
      } else {
        luc_tensor_release(ctx, e->value);
      }
    }
    luc__map_free(ctx, &slots[slot]);
  }
}

void luc__snapshot_free(luc_context *ctx, luc_snapshot *s) {
  if (s == NULL) return;
  for (size_t i = 0; i < s->nmodules; i++) {
    saved_module *saved = &s->modules[i];
    drop_slots(ctx, saved->m, saved->slots);
    luc__map_free(ctx, &saved->transient);
    luc__free(ctx, saved->config, saved->config_size);
  }
  /* Only now: a module must not go while its children still point to it. */
  for (size_t i = 0; i < s->nmodules; i++) luc__module_unref(ctx, s->modules[i].m);
  for (size_t i = 0; i < s->ntensors; i++) {
    LUC_RELEASE(ctx, s->tensors[i].t, s->tensors[i].alias, s->tensors[i].values);
  }
  luc__free(ctx, s->modules, s->modules_capacity * sizeof *s->modules);
  luc__free(ctx, s->tensors, s->tensors_capacity * sizeof *s->tensors);
  luc__free(ctx, s, sizeof *s);
}

/* ---- taking ---- */

static luc_status save_tensor(luc_context *ctx, luc_snapshot *s, luc_tensor *t) {
  saved_tensor *tensors =
      luc__with_room(ctx, s->tensors, s->ntensors, &s->tensors_capacity, sizeof *tensors);
  if (tensors == NULL) return LUC_ERR_MEMORY;
  s->tensors = tensors;
  saved_tensor *saved = &s->tensors[s->ntensors++];
  *saved = (saved_tensor){luc_tensor_retain(t), NULL, NULL, t->requires_grad, t->flags};
  LUC_TRY(luc__tensor_alias(ctx, t, &saved->alias));
  LUC_TRY(luc__tensor_empty_like(ctx, t, t->dtype, &saved->values));
  return luc__copy(ctx, saved->values, t);
}

static luc_status save_slot(luc_context *ctx, luc_snapshot *s, saved_module *saved, luc_slot slot,
                            luc_set *seen) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&saved->m->slots[slot], &at)) != NULL;) {
    bool child = slot == LUC_SLOT_CHILD && e->value != NULL;
    if (child) LUC_TRY(luc__add_edge(ctx, saved->m, e->value));
    luc_status status = luc__map_set(ctx, &saved->slots[slot], e->key, e->length, e->value, NULL);
    if (status != LUC_OK) {
      if (child) luc__drop_edge(ctx, saved->m, e->value);
      return status;
    }
    if (e->value == NULL) continue;
    if (child) {
      luc__module_ref(e->value);
      continue;
    }
    bool added;
    luc_tensor_retain(e->value);
    LUC_TRY(luc__set_add(ctx, seen, e->value, &added));
    if (added) LUC_TRY(save_tensor(ctx, s, e->value));
  }
  return LUC_OK;
}

static luc_status save_module(luc_context *ctx, luc_snapshot *s, luc_module *m, luc_set *seen) {
  luc_map_entry *e;
  saved_module *saved = &s->modules[s->nmodules++];
  *saved = (saved_module){.m = luc__module_ref(m), .training = m->training};
  for (int slot = 0; slot < LUC_SLOTS; slot++)
    LUC_TRY(save_slot(ctx, s, saved, (luc_slot)slot, seen));
  for (uint32_t at = 0; (e = luc__map_next(&m->transient, &at)) != NULL;)
    LUC_TRY(luc__map_set(ctx, &saved->transient, e->key, e->length, NULL, NULL));
  if (m->config == NULL) return LUC_OK;
  return luc__config_copy(ctx, m->config, luc__config_class(m->cls->core)->constructor->nparams,
                          &saved->config, &saved->config_size);
}

luc_status luc__snapshot_take(luc_context *ctx, luc_module *root, luc_snapshot **out) {
  luc_members list = {0};
  luc_set seen = {0};
  luc_snapshot *s = luc__alloc_zero(ctx, sizeof *s);
  *out = NULL;
  if (s == NULL) return LUC_ERR_MEMORY;
  luc_status status =
      luc_module_members(ctx, root, LUC_MEMBERS_MODULES, NULL, LUC_MEMBERS_UNNAMED, &list);
  if (status != LUC_OK) goto done;
  s->modules = luc__alloc(ctx, list.n * sizeof *s->modules);
  status = s->modules != NULL ? LUC_OK : LUC_ERR_MEMORY;
  s->modules_capacity = s->modules != NULL ? list.n : 0;
  for (size_t i = 0; status == LUC_OK && i < list.n; i++)
    status = save_module(ctx, s, list.items[i].module, &seen);
done:
  luc__set_free(ctx, &seen);
  luc_members_free(ctx, &list);
  if (status == LUC_OK)
    *out = s;
  else
    luc__snapshot_free(ctx, s);
  return status;
}

/* ---- putting back ---- */

/* The binding's object looks up again what it has cached of changed slots. */
static void tell_host(luc_context *ctx, luc_module *m, const luc_map *now, const luc_map *then,
                      luc_slot slot) {
  const luc_host *host = &luc__nn_of(ctx)->host;
  luc_map_entry *e;
  if (m->peer == NULL || host->edge == NULL) return;
  for (uint32_t at = 0; (e = luc__map_next(now, &at)) != NULL;) {
    luc_map_entry *old = luc__map_find(then, e->key, e->length);
    if (old == NULL || old->value != e->value)
      (void)host->edge(ctx, host->ud, m, slot, e->key, e->length, NULL);
  }
}

static void restore_module(luc_context *ctx, saved_module *saved) {
  luc_module *m = saved->m;
  luc_map now[LUC_SLOTS];
  for (int slot = 0; slot < LUC_SLOTS; slot++) {
    if (slot != LUC_SLOT_CHILD)
      tell_host(ctx, m, &m->slots[slot], &saved->slots[slot], (luc_slot)slot);
    now[slot] = m->slots[slot];
    m->slots[slot] = saved->slots[slot];
    luc__map_init(&saved->slots[slot]);
  }
  drop_slots(ctx, m, now);
  luc__map_free(ctx, &m->transient);
  m->transient = saved->transient;
  luc__map_init(&saved->transient);
  m->training = saved->training;
  if (saved->config == NULL) return;
  luc__config_take(ctx, m, saved->config, saved->config_size);
  saved->config = NULL;
  saved->config_size = 0;
}

void luc__snapshot_restore(luc_context *ctx, luc_snapshot *s) {
  for (size_t i = 0; i < s->nmodules; i++) restore_module(ctx, &s->modules[i]);
  for (size_t i = 0; i < s->ntensors; i++) {
    saved_tensor *saved = &s->tensors[i];
    luc_tensor *t = saved->t;
    (void)luc__tensor_set_data(ctx, t, saved->alias); /* cannot fail, and takes no memory, … */
    (void)luc__copy(ctx, t, saved->values);           /* … nor does this, of one dtype */
    t->storage->version++;
    t->requires_grad = saved->requires_grad;
    t->flags = (uint8_t)((saved->flags & ~LUC_TF_HAS_PEER) | (t->flags & LUC_TF_HAS_PEER));
  }
}
