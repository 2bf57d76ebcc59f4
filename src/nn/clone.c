/* Deep copies of trees. Every module and tensor is copied once, so what is shared inside stays
 * shared. Lua's fields and hooks are copied by the binding. */
#include <string.h>

#include "cpu/copy.h"
#include "lucerna/autograd.h"
#include "nn/module.h"

typedef struct pair {
  luc_tensor *from, *to; /* to: owned */
} pair;

typedef struct cloner {
  luc_context *ctx;
  luc_members modules; /* the old ones; ->link is the copy, while this runs */
  size_t made;         /* copies that exist, each with one reference of ours */
  luc_set seen;
  pair *tensors;
  size_t ntensors, capacity;
} cloner;

static luc_status copy_tensor(cloner *c, luc_tensor *t, luc_tensor **out) {
  LUC_TRY(luc__tensor_empty_like(c->ctx, t, (luc_dtype)t->dtype, out));
  luc_status status = luc__copy(c->ctx, *out, t);
  if (status == LUC_OK && t->requires_grad)
    status = luc_tensor_set_requires_grad(c->ctx, *out, true);
  if (status == LUC_OK)
    (*out)->flags |=
        t->flags & (LUC_TF_PARAMETER | LUC_TF_BUFFER | LUC_TF_NONPERSISTENT | LUC_TF_UNINITIALIZED);
  else
    luc_tensor_release(c->ctx, *out);
  return status;
}

/* The copy of t, borrowed. */
static luc_status find_tensor(cloner *c, luc_tensor *t, luc_tensor **out) {
  bool added;
  LUC_TRY(luc__set_add(c->ctx, &c->seen, t, &added));
  for (size_t i = 0; !added && i < c->ntensors; i++) {
    if (c->tensors[i].from != t) continue;
    *out = c->tensors[i].to;
    return LUC_OK;
  }
  if (c->ntensors == c->capacity) {
    size_t capacity = c->capacity == 0 ? 16 : c->capacity * 2;
    pair *tensors =
        luc__realloc(c->ctx, c->tensors, c->capacity * sizeof *tensors, capacity * sizeof *tensors);
    if (tensors == NULL) return LUC_ERR_MEMORY;
    c->tensors = tensors;
    c->capacity = capacity;
  }
  LUC_TRY(copy_tensor(c, t, out));
  c->tensors[c->ntensors++] = (pair){t, *out};
  return LUC_OK;
}

static luc_status copy_slots(cloner *c, const luc_module *from, luc_module *to) {
  luc_map_entry *e;
  for (int slot = 0; slot < LUC_SLOTS; slot++) {
    for (uint32_t at = 0; (e = luc__map_next(&from->slots[slot], &at)) != NULL;) {
      void *object = e->value;
      luc_tensor *copied;
      if (object != NULL && slot == LUC_SLOT_CHILD) {
        object = ((luc_module *)object)->link;
      } else if (object != NULL) {
        LUC_TRY(find_tensor(c, object, &copied));
        object = copied;
      }
      LUC_TRY(luc__slot_set(c->ctx, to, (luc_slot)slot, e->key, e->length, object));
    }
  }
  for (uint32_t at = 0; (e = luc__map_next(&from->transient, &at)) != NULL;)
    LUC_TRY(luc__slot_set_persistent(c->ctx, to, e->key, e->length, false));
  for (uint32_t at = 0; (e = luc__map_next(&from->outside, &at)) != NULL;)
    LUC_TRY(luc__slot_outside(c->ctx, to, e->key, e->length));
  return LUC_OK;
}

/* C's hooks, unless their data has an owner: that could not be shared. */
static luc_status copy_hooks(cloner *c, const luc_module *from, luc_module *to) {
  for (int i = 0; from->hooks != NULL && i < from->hooks->n; i++) {
    luc_module_hook hook = *from->hooks->items[i];
    uint64_t id;
    if (hook.host || hook.removed || hook.free != NULL) continue;
    hook.flags &= (uint8_t)~LUC_HOOK_PREPEND; /* they come in order */
    LUC_TRY(luc__hook_add(c->ctx, to, &hook, &id));
  }
  for (const luc_state_hook *hook = from->state_hooks; hook != NULL; hook = hook->next) {
    uint64_t id;
    if (!hook->host && hook->free == NULL) LUC_TRY(luc__state_hook_add(c->ctx, to, hook, &id));
  }
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

static luc_status copy_module(cloner *c, const luc_module *from, luc_module *to) {
  LUC_TRY(luc__module_copy_config(c->ctx, from, to));
  LUC_TRY(copy_slots(c, from, to));
  return copy_hooks(c, from, to);
}

static luc_status copy_all(cloner *c, luc_module *root) {
  LUC_TRY(luc_module_members(c->ctx, root, LUC_MEMBERS_MODULES, NULL, LUC_MEMBERS_UNNAMED,
                             &c->modules));
  for (; c->made < c->modules.n; c->made++) {
    luc_module *from = c->modules.items[c->made].module;
    LUC_TRY(luc__module_create(c->ctx, from->cls, &from->link));
  }
  for (size_t i = c->modules.n; i > 0; i--) { /* children first: no parent above to look at */
    luc_module *from = c->modules.items[i - 1].module;
    LUC_TRY(copy_module(c, from, from->link));
  }
  return LUC_OK;
}

luc_status luc__module_clone(luc_context *ctx, luc_module *m, luc_module **out) {
  cloner c = {.ctx = ctx};
  luc_status status = copy_all(&c, m);
  *out = status == LUC_OK ? luc__module_ref(m->link) : NULL;
  for (size_t i = 0; i < c.made; i++) luc__module_unref(ctx, c.modules.items[i].module->link);
  for (size_t i = 0; i < c.ntensors; i++) luc_tensor_release(ctx, c.tensors[i].to);
  luc__free(ctx, c.tensors, c.capacity * sizeof *c.tensors);
  luc__set_free(ctx, &c.seen);
  luc_members_free(ctx, &c.modules);
  return status;
}

luc_status luc_module_clone(luc_context *ctx, luc_module *m, luc_module **out) {
  LUC_TRY(luc__module_clone(ctx, m, out));
  (*out)->external = 1;
  return LUC_OK;
}
