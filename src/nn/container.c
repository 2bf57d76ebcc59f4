/* Containers as lists: children and parameters at positions, counted from 0 here. Changes of places
 * put a new map in the old one's place, so that they happen whole or not at all; the binding is
 * asked first, and told again how things were if something is refused later. */
#include <stdio.h>
#include <string.h>

#include "lucerna/autograd.h"
#include "nn/module.h"

/* ---- replacing all children ---- */

static luc_status fill_children(luc_context *ctx, luc_module *m, luc_module *const *children,
                                const char *const *names, int n, luc_map *map) {
  for (int i = 0; i < n; i++) {
    char number[16];
    snprintf(number, sizeof number, "%d", i);
    const char *name = names != NULL ? names[i] : number;
    luc_module *child = children[i];
    if (child != NULL) {
      LUC_TRY(luc__check_acyclic(ctx, m, child, name));
      LUC_TRY(luc__ask_host(ctx, m, LUC_SLOT_CHILD, name, strlen(name), child));
      LUC_TRY(luc__add_edge(ctx, m, child));
    }
    luc_status status = luc__map_set(ctx, map, name, strlen(name), child, NULL);
    if (status != LUC_OK && child != NULL) luc__drop_edge(ctx, m, child);
    LUC_TRY(status);
    if (child != NULL) luc__module_ref(child);
  }
  return LUC_OK;
}

/* Tells the binding to forget the names that the new map does not have. */
static luc_status forget_names(luc_context *ctx, luc_module *m, const luc_map *fresh) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&m->slots[LUC_SLOT_CHILD], &at)) != NULL;)
    if (luc__map_find(fresh, e->key, e->length) == NULL)
      LUC_TRY(luc__ask_host(ctx, m, LUC_SLOT_CHILD, e->key, e->length, NULL));
  return LUC_OK;
}

/* After a failure: tells the binding, as far as it listens, that it has its old children again. */
static void restore_host(luc_context *ctx, luc_module *m, const luc_map *fresh) {
  luc_map_entry *e;
  const luc_map *old = &m->slots[LUC_SLOT_CHILD];
  for (uint32_t at = 0; (e = luc__map_next(fresh, &at)) != NULL;)
    if (luc__map_find(old, e->key, e->length) == NULL)
      luc__ask_host(ctx, m, LUC_SLOT_CHILD, e->key, e->length, NULL);
  for (uint32_t at = 0; (e = luc__map_next(old, &at)) != NULL;)
    luc__ask_host(ctx, m, LUC_SLOT_CHILD, e->key, e->length, e->value);
}

luc_status luc__set_children(luc_context *ctx, luc_module *m, luc_module *const *children,
                             const char *const *names, int n) {
  luc_map fresh;
  luc__map_init(&fresh);
  luc_status status = fill_children(ctx, m, children, names, n, &fresh);
  if (status == LUC_OK) status = forget_names(ctx, m, &fresh);
  if (status == LUC_OK) {
    luc_map old = m->slots[LUC_SLOT_CHILD];
    m->slots[LUC_SLOT_CHILD] = fresh;
    fresh = old;
  } else {
    char message[LUC_MESSAGE_MAX];
    memcpy(message, ctx->message, sizeof message);
    restore_host(ctx, m, &fresh);
    memcpy(ctx->message, message, sizeof message);
    ctx->status = status;
  }
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&fresh, &at)) != NULL;) {
    if (e->value == NULL) continue;
    luc__drop_edge(ctx, m, e->value);
    luc__module_unref(ctx, e->value);
  }
  luc__map_free(ctx, &fresh);
  return status;
}

/* ---- lists of modules ---- */

luc_status luc_module_append(luc_context *ctx, luc_module *m, luc_module *child) {
  char name[16];
  LUC_NEED(ctx, m);
  snprintf(name, sizeof name, "%d", luc_module_num_children(m));
  return luc_module_add_module(ctx, m, name, child);
}

enum { NUMBER = 16 };
typedef struct list {
  luc_module **children;
  const char **names;
  char (*numbers)[NUMBER];
  void *block;
  size_t size;
  int n;
} list;

/* Room for n children with their names. */
static luc_status list_new(luc_context *ctx, int n, list *l) {
  size_t pointers = (size_t)n * (sizeof *l->children + sizeof *l->names);
  l->size = pointers + (size_t)n * NUMBER + 1;
  l->block = luc__alloc(ctx, l->size);
  if (l->block == NULL) return LUC_ERR_MEMORY;
  l->children = l->block;
  l->names = (const char **)(l->children + n);
  l->numbers = (char(*)[NUMBER])((char *)l->block + pointers);
  l->n = 0;
  return LUC_OK;
}

/* A name that is NULL or a number becomes the number of the child's place. */
static void list_add(list *l, luc_module *child, const char *name) {
  bool number = name == NULL || name[strspn(name, "0123456789")] == '\0';
  snprintf(l->numbers[l->n], NUMBER, "%d", l->n);
  l->names[l->n] = number ? l->numbers[l->n] : name;
  l->children[l->n++] = child;
}

luc_status luc_module_insert(luc_context *ctx, luc_module *m, int position, luc_module *child) {
  int n = luc_module_num_children(m);
  LUC_NEED(ctx, m);
  LUC_CHECK(ctx, position >= 0 && position <= n, LUC_ERR_INDEX,
            "%s: index %d is out of range [0, %d]", m->cls->name, position, n);
  list l;
  LUC_TRY(list_new(ctx, n + 1, &l));
  uint32_t at = 0;
  for (int i = 0; i < n; i++) {
    const luc_map_entry *e = luc__map_next(&m->slots[LUC_SLOT_CHILD], &at);
    if (i == position) list_add(&l, child, NULL);
    list_add(&l, e->value, e->key);
  }
  if (position == n) list_add(&l, child, NULL);
  luc_status status = luc__set_children(ctx, m, l.children, l.names, l.n);
  luc__free(ctx, l.block, l.size);
  return status;
}

luc_status luc_module_pop(luc_context *ctx, luc_module *m, int position, luc_module **out) {
  int n = luc_module_num_children(m);
  if (out != NULL) *out = NULL;
  LUC_NEED(ctx, m);
  LUC_CHECK(ctx, position >= 0 && position < n, LUC_ERR_INDEX,
            "%s: index %d is out of range [0, %d]", m->cls->name, position, n - 1);
  list l;
  LUC_TRY(list_new(ctx, n, &l));
  uint32_t at = 0;
  luc_module *popped = NULL;
  for (int i = 0; i < n; i++) {
    const luc_map_entry *e = luc__map_next(&m->slots[LUC_SLOT_CHILD], &at);
    if (i == position)
      popped = e->value;
    else
      list_add(&l, e->value, NULL);
  }
  if (popped != NULL) luc_module_retain(ctx, popped);
  luc_status status = luc__set_children(ctx, m, l.children, l.names, l.n);
  luc__free(ctx, l.block, l.size);
  if (status == LUC_OK && out != NULL)
    *out = popped;
  else
    luc_module_release(ctx, popped);
  return status;
}

/* ---- parameters ---- */

luc_status luc_parameter_new(luc_context *ctx, luc_tensor *t, bool requires_grad,
                             luc_tensor **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, t);
  LUC_TRY(luc__tensor_alias(ctx, t, out));
  luc_status status = requires_grad ? luc_tensor_set_requires_grad(ctx, *out, true) : LUC_OK;
  if (status == LUC_OK) {
    (*out)->flags |= LUC_TF_PARAMETER;
    return LUC_OK;
  }
  luc_tensor_release(ctx, *out);
  *out = NULL;
  return status;
}

luc_status luc_module_append_parameter(luc_context *ctx, luc_module *m, luc_tensor *t) {
  char name[NUMBER];
  LUC_NEED(ctx, m && t);
  snprintf(name, sizeof name, "%u", m->slots[LUC_SLOT_PARAMETER].count);
  if ((t->flags & LUC_TF_PARAMETER) != 0) return luc_module_register_parameter(ctx, m, name, t);
  luc_tensor *p;
  LUC_TRY(luc_parameter_new(ctx, t, true, &p));
  luc_status status = luc_module_register_parameter(ctx, m, name, p);
  luc_tensor_release(ctx, p);
  return status;
}
