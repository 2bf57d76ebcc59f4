/* What a module holds under names: parameters, buffers, children. A name lives in one of the three
 * maps. Edges to children keep the back-links and the purity counters right, and a change happens
 * only after everything that can fail has succeeded. */
#include <stdio.h>
#include <string.h>

#include "lucerna/autograd.h"
#include "nn/module.h"

/* ---- purity ---- */

static void notify(luc_context *ctx, luc_module *m) {
  const luc_host *host = &luc__nn_of(ctx)->host;
  if (m->peer != NULL && host->changed != NULL) host->changed(ctx, host->ud, m);
}

/* m became pure or impure: so may its ancestors. No module flips twice, so one link is enough. */
static void flipped(luc_context *ctx, luc_module *m, bool impure) {
  luc_module *list = m;
  m->link = NULL;
  while ((m = list) != NULL) {
    list = m->link;
    for (uint32_t i = 0; i < m->nparents; i++) {
      luc_module *parent = m->parents[i].parent;
      bool was_pure = luc__is_pure(parent);
      uint32_t count = m->parents[i].count;
      parent->impure_children += impure ? count : 0u - count;
      if (luc__is_pure(parent) == was_pure) continue;
      parent->link = list;
      list = parent;
    }
    notify(ctx, m);
  }
}

void luc__module_impure(luc_context *ctx, luc_module *m, int delta) {
  bool was_pure = luc__is_pure(m);
  m->impure_self += (uint32_t)delta;
  if (luc__is_pure(m) != was_pure)
    flipped(ctx, m, was_pure);
  else
    notify(ctx, m);
}

/* ---- edges ---- */

luc_status luc__add_edge(luc_context *ctx, luc_module *parent, luc_module *child) {
  uint32_t i = 0;
  while (i < child->nparents && child->parents[i].parent != parent) i++;
  if (i == child->nparents) {
    if (i == child->parents_capacity) {
      uint32_t capacity = i == 0 ? 1 : i * 2;
      luc_parent *parents =
          luc__realloc(ctx, child->parents, i * sizeof *parents, capacity * sizeof *parents);
      if (parents == NULL) return LUC_ERR_MEMORY;
      child->parents = parents;
      child->parents_capacity = capacity;
    }
    child->parents[child->nparents++] = (luc_parent){parent, 0};
  }
  child->parents[i].count++;
  if (luc__is_pure(child)) return LUC_OK;
  bool was_pure = luc__is_pure(parent);
  parent->impure_children++;
  if (was_pure) flipped(ctx, parent, true);
  return LUC_OK;
}

void luc__drop_edge(luc_context *ctx, luc_module *parent, luc_module *child) {
  uint32_t i = 0;
  while (child->parents[i].parent != parent) i++;
  if (--child->parents[i].count == 0) child->parents[i] = child->parents[--child->nparents];
  if (luc__is_pure(child) || parent->dead) return;
  parent->impure_children--;
  if (luc__is_pure(parent)) flipped(ctx, parent, false);
}

/* Marks m's ancestors, itself included, in a list that begins with m. */
static void mark_ancestors(luc_module *m) {
  luc_module *last = m;
  m->marked = true;
  m->link = NULL;
  for (; m != NULL; m = m->link) {
    for (uint32_t i = 0; i < m->nparents; i++) {
      luc_module *parent = m->parents[i].parent;
      if (parent->marked) continue;
      parent->marked = true;
      parent->link = NULL;
      last->link = parent;
      last = parent;
    }
  }
}

/* Writes the names from child down to its descendant `to`, whose ancestors are marked. */
static void write_path(const luc_module *child, const luc_module *to, char *buf, size_t size) {
  size_t used = 0;
  buf[0] = '\0';
  while (child != to && used < size) {
    luc_map_entry *e = NULL;
    uint32_t at = 0;
    do e = luc__map_next(&child->slots[LUC_SLOT_CHILD], &at);
    while (e->value == NULL || !((luc_module *)e->value)->marked);
    used += (size_t)snprintf(buf + used, size - used, "%s%s", used > 0 ? "." : "", e->key);
    child = e->value;
  }
}

luc_status luc__check_acyclic(luc_context *ctx, luc_module *parent, luc_module *child,
                              const char *name) {
  char path[256];
  LUC_CHECK(ctx, child != parent, LUC_ERR_VALUE,
            "%s: cannot become its own child '%s' (a module tree has no cycles)", child->cls->name,
            name);
  if (child->slots[LUC_SLOT_CHILD].count == 0) return LUC_OK;
  mark_ancestors(parent);
  bool cycle = child->marked;
  if (cycle) write_path(child, parent, path, sizeof path);
  for (luc_module *m = parent; m != NULL; m = m->link) m->marked = false;
  LUC_CHECK(ctx, !cycle, LUC_ERR_VALUE,
            "%s: cannot become child '%s' of its own descendant %s (%s) (a module tree has no "
            "cycles)",
            child->cls->name, name, path, parent->cls->name);
  return LUC_OK;
}

/* ---- finding ---- */

luc_map_entry *luc__slot_find(const luc_module *m, const char *name, size_t length,
                              luc_slot *slot) {
  for (int s = 0; s < LUC_SLOTS; s++) {
    luc_map_entry *e = luc__map_find(&m->slots[s], name, length);
    if (e == NULL) continue;
    if (slot != NULL) *slot = (luc_slot)s;
    return e;
  }
  return NULL;
}

luc_tensor *luc__slot_tensor(const luc_module *m, const char *name, size_t length) {
  luc_slot slot;
  luc_map_entry *e = luc__slot_find(m, name, length, &slot);
  if (e == NULL && m->lent != NULL) {
    e = luc__map_find(m->lent, name, length);
    slot = LUC_SLOT_PARAMETER;
  }
  return e == NULL || slot == LUC_SLOT_CHILD ? NULL : e->value;
}

luc_tensor *luc_module_tensor(const luc_module *m, const char *name) {
  return m != NULL && name != NULL ? luc__slot_tensor(m, name, strlen(name)) : NULL;
}

luc_module *luc_module_child(const luc_module *m, const char *name) {
  if (m == NULL || name == NULL) return NULL;
  luc_map_entry *e = luc__map_find(&m->slots[LUC_SLOT_CHILD], name, strlen(name));
  return e == NULL ? NULL : e->value;
}

int luc_module_num_children(const luc_module *m) {
  return m != NULL ? (int)m->slots[LUC_SLOT_CHILD].count : 0;
}

luc_module *luc_module_child_at(const luc_module *m, int position) {
  luc_map_entry *e =
      m == NULL || position < 0 ? NULL : luc__map_at(&m->slots[LUC_SLOT_CHILD], (uint32_t)position);
  return e == NULL ? NULL : e->value;
}

const char *luc__child_name(const luc_module *parent, const luc_module *child) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&parent->slots[LUC_SLOT_CHILD], &at)) != NULL;)
    if (e->value == child) return e->key;
  return NULL;
}

luc_status luc__module_need(luc_context *ctx, const luc_module *m, const char *name,
                            luc_tensor **out) {
  *out = luc__slot_tensor(m, name, strlen(name));
  LUC_CHECK(ctx, *out != NULL, LUC_ERR_STATE, "%s: '%s' is missing", m->cls->name, name);
  return LUC_OK;
}

/* ---- changing ---- */

luc_status luc__ask_host(luc_context *ctx, luc_module *m, luc_slot slot, const char *name,
                         size_t length, void *object) {
  luc_nn *nn = luc__nn_of(ctx);
  bool child_peer =
      slot == LUC_SLOT_CHILD && object != NULL && ((luc_module *)object)->peer != NULL;
  if (nn->host_acts == m || nn->host.edge == NULL || (m->peer == NULL && !child_peer))
    return LUC_OK;
  return nn->host.edge(ctx, nn->host.ud, m, slot, name, length, object);
}

static void drop_object(luc_context *ctx, luc_module *m, luc_slot slot, void *object) {
  if (object == NULL) return;
  if (slot != LUC_SLOT_CHILD) {
    luc_tensor_release(ctx, object);
    return;
  }
  luc__drop_edge(ctx, m, object);
  luc__module_unref(ctx, object);
}

static void remove_from(luc_context *ctx, luc_module *m, luc_slot slot, const char *name,
                        size_t length) {
  void *old = NULL;
  if (!luc__map_remove(ctx, &m->slots[slot], name, length, &old)) return;
  if (slot == LUC_SLOT_BUFFER) luc__map_remove(ctx, &m->transient, name, length, NULL);
  drop_object(ctx, m, slot, old);
}

static const char *const kinds[LUC_SLOTS] = {"parameter", "buffer", "module"}; /* for messages */

luc_status luc__slot_set(luc_context *ctx, luc_module *m, luc_slot slot, const char *name,
                         size_t length, void *object) {
  bool child = slot == LUC_SLOT_CHILD && object != NULL;
  LUC_CHECK(ctx, memchr(name, '\0', length) == NULL, LUC_ERR_VALUE,
            "%s name can't contain a zero byte", kinds[slot]);
  if (child) LUC_TRY(luc__check_acyclic(ctx, m, object, name));
  LUC_TRY(luc__ask_host(ctx, m, slot, name, length, object));
  if (child) LUC_TRY(luc__add_edge(ctx, m, object));
  void *old = NULL;
  luc_status status = luc__map_set(ctx, &m->slots[slot], name, length, object, &old);
  if (status != LUC_OK) {
    if (child) luc__drop_edge(ctx, m, object);
    return status;
  }
  if (child) luc__module_ref(object);
  if (!child && object != NULL) luc_tensor_retain(object);
  for (int s = 0; s < LUC_SLOTS; s++)
    if (s != (int)slot) remove_from(ctx, m, (luc_slot)s, name, length);
  if (m->outside.count > 0) luc__map_remove(ctx, &m->outside, name, length, NULL);
  drop_object(ctx, m, slot, old);
  return LUC_OK;
}

bool luc__slot_delete(luc_context *ctx, luc_module *m, const char *name, size_t length) {
  luc_slot slot;
  if (luc__slot_find(m, name, length, &slot) == NULL) return false;
  remove_from(ctx, m, slot, name, length);
  return true;
}

luc_status luc__slot_outside(luc_context *ctx, luc_module *m, const char *name, size_t length) {
  return luc__map_set(ctx, &m->outside, name, length, NULL, NULL);
}

luc_status luc_module_delete(luc_context *ctx, luc_module *m, const char *name) {
  LUC_NEED(ctx, m && name);
  luc_slot slot;
  size_t length = strlen(name);
  LUC_CHECK(ctx, luc__slot_find(m, name, length, &slot) != NULL, LUC_ERR_VALUE,
            "'%s' object has no attribute '%s'", m->cls->name, name);
  LUC_TRY(luc__ask_host(ctx, m, slot, name, length, NULL));
  luc__slot_delete(ctx, m, name, length);
  return LUC_OK;
}

luc_status luc__slot_set_transient(luc_context *ctx, luc_module *m, const char *name,
                                   size_t length) {
  return luc__map_set(ctx, &m->transient, name, length, NULL, NULL);
}

bool luc__slot_is_persistent(const luc_module *m, const char *name, size_t length) {
  return luc__map_find(&m->transient, name, length) == NULL;
}

/* ---- registering, under PyTorch's rules ---- */

static luc_status check_free(luc_context *ctx, const luc_module *m, luc_slot slot, const char *name,
                             size_t length) {
  luc_slot found = slot;
  bool taken = luc__slot_find(m, name, length, &found) != NULL && found != slot;
  LUC_CHECK(ctx, !taken, LUC_ERR_VALUE, "attribute '%s' already exists", name);
  return LUC_OK;
}

luc_status luc__slot_check_name(luc_context *ctx, const luc_module *m, luc_slot slot,
                                const char *name, size_t length) {
  bool child = slot == LUC_SLOT_CHILD;
  if (child) LUC_TRY(check_free(ctx, m, slot, name, length));
  LUC_CHECK(ctx, memchr(name, '.', length) == NULL, LUC_ERR_VALUE,
            "%s name can't contain \".\"%s%s", kinds[slot], child ? ", got: " : "",
            child ? name : "");
  LUC_CHECK(ctx, length > 0, LUC_ERR_VALUE, "%s name can't be empty string \"\"", kinds[slot]);
  return child ? LUC_OK : check_free(ctx, m, slot, name, length);
}

luc_status luc__slot_check_parameter(luc_context *ctx, const char *name, const luc_tensor *param) {
  LUC_CHECK(ctx, param == NULL || (param->flags & LUC_TF_PARAMETER) != 0, LUC_ERR_TYPE,
            "cannot assign 'Tensor' object to parameter '%s' (nn.Parameter or nil required)", name);
  LUC_CHECK(ctx, param == NULL || luc_tensor_is_leaf(param), LUC_ERR_VALUE,
            "Cannot assign non-leaf Tensor to parameter '%s'. Model parameters must be created "
            "explicitly. To express '%s' as a function of another Tensor, compute the value in "
            "the forward() method.",
            name, name);
  return LUC_OK;
}

luc_status luc__slot_set_buffer(luc_context *ctx, luc_module *m, const char *name, size_t length,
                                luc_tensor *buffer, bool persistent) {
  bool was = luc__slot_is_persistent(m, name, length);
  if (!persistent) LUC_TRY(luc__slot_set_transient(ctx, m, name, length));
  luc_status status = luc__slot_set(ctx, m, LUC_SLOT_BUFFER, name, length, buffer);
  bool forget = status == LUC_OK ? persistent : !persistent && was;
  if (forget) luc__map_remove(ctx, &m->transient, name, length, NULL);
  return status;
}

luc_status luc__slot_take(luc_context *ctx, luc_module *m, luc_slot slot, const char *name,
                          void *object, bool persistent) {
  luc_registered owned;
  size_t length = strlen(name);
  LUC_TRY(luc__registration_run(ctx, m, slot, name, &object, &owned));
  luc_status status = slot == LUC_SLOT_BUFFER
                          ? luc__slot_set_buffer(ctx, m, name, length, object, persistent)
                          : luc__slot_set(ctx, m, slot, name, length, object);
  luc__registered_drop(ctx, &owned);
  return status;
}

luc_status luc_module_register_parameter(luc_context *ctx, luc_module *m, const char *name,
                                         luc_tensor *param) {
  LUC_NEED(ctx, m && name);
  LUC_TRY(luc__slot_check_name(ctx, m, LUC_SLOT_PARAMETER, name, strlen(name)));
  LUC_TRY(luc__slot_check_parameter(ctx, name, param));
  return luc__slot_take(ctx, m, LUC_SLOT_PARAMETER, name, param, true);
}

luc_status luc_module_register_buffer(luc_context *ctx, luc_module *m, const char *name,
                                      luc_tensor *buffer, bool persistent) {
  LUC_NEED(ctx, m && name);
  LUC_TRY(luc__slot_check_name(ctx, m, LUC_SLOT_BUFFER, name, strlen(name)));
  return luc__slot_take(ctx, m, LUC_SLOT_BUFFER, name, buffer, persistent);
}

luc_status luc_module_add_module(luc_context *ctx, luc_module *m, const char *name,
                                 luc_module *child) {
  LUC_NEED(ctx, m && name);
  LUC_TRY(luc__slot_check_name(ctx, m, LUC_SLOT_CHILD, name, strlen(name)));
  return luc__slot_take(ctx, m, LUC_SLOT_CHILD, name, child, true);
}

/* ---- for build functions ---- */

/* In a lazy layer the shape is not known yet, but for that of numbers. */
static luc_status new_tensor(luc_context *ctx, const luc_module *m, luc_dtype dtype, int ndim,
                             const int64_t *sizes, luc_tensor **out) {
  if (m->cls->core->def->flags & LUC_CF_LAZY && ndim > 0)
    return luc_tensor_uninitialized(ctx, dtype, out);
  return luc__tensor_empty(ctx, dtype, ndim, sizes, out);
}

luc_status luc__new_parameter(luc_context *ctx, luc_module *m, const char *name, luc_dtype dtype,
                              int ndim, const int64_t *sizes, luc_tensor **borrowed) {
  luc_tensor *t;
  for (int i = 0; i < ndim; i++)
    LUC_CHECK(ctx, sizes[i] >= 0, LUC_ERR_VALUE,
              "%s: %s: trying to create tensor with negative dimension %lld", m->cls->name, name,
              (long long)sizes[i]);
  LUC_TRY(new_tensor(ctx, m, dtype, ndim, sizes, &t));
  t->flags |= LUC_TF_PARAMETER;
  luc_status status = luc_tensor_set_requires_grad(ctx, t, true);
  if (status == LUC_OK) status = luc_module_register_parameter(ctx, m, name, t);
  luc_tensor_release(ctx, t);
  *borrowed = t;
  return status;
}

luc_status luc__new_buffer(luc_context *ctx, luc_module *m, const char *name, luc_dtype dtype,
                           int ndim, const int64_t *sizes, luc_tensor **borrowed) {
  luc_tensor *t;
  LUC_TRY(new_tensor(ctx, m, dtype, ndim, sizes, &t));
  luc_status status = luc_module_register_buffer(ctx, m, name, t, true);
  luc_tensor_release(ctx, t);
  *borrowed = t;
  return status;
}
