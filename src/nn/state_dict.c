/* State dicts: collecting a tree's tensors under their names, and loading them back. Loading checks
 * everything, converts what needs it, and only then writes: an error leaves the model as it was.
 * Its lines are PyTorch's. */
#include <string.h>

#include "cpu/copy.h"
#include "lucerna/autograd.h"
#include "nn/module.h"

/* A value is a tensor, or the name of what else it is. */
typedef struct entry {
  luc_tensor *tensor;
  char type[32];
} entry;

struct luc_state_dict {
  luc_map entries;  /* entry * */
  luc_map versions; /* prefix -> version, as a pointer's bits */
};

/* ---- the object ---- */

luc_status luc_state_dict_new(luc_context *ctx, luc_state_dict **out) {
  *out = luc__alloc_zero(ctx, sizeof **out);
  if (*out == NULL) return LUC_ERR_MEMORY;
  luc__map_init(&(*out)->entries);
  luc__map_init(&(*out)->versions);
  return LUC_OK;
}

static void free_entry(luc_context *ctx, entry *e) {
  if (e == NULL) return;
  luc_tensor_release(ctx, e->tensor);
  luc__free(ctx, e, sizeof *e);
}

void luc_state_dict_free(luc_context *ctx, luc_state_dict *sd) {
  if (sd == NULL) return;
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&sd->entries, &at)) != NULL;) free_entry(ctx, e->value);
  luc__map_free(ctx, &sd->entries);
  luc__map_free(ctx, &sd->versions);
  luc__free(ctx, sd, sizeof *sd);
}

static luc_status put(luc_context *ctx, luc_state_dict *sd, const char *name, size_t length,
                      luc_tensor *tensor, const char *type) {
  entry *e = luc__alloc_zero(ctx, sizeof *e);
  if (e == NULL) return LUC_ERR_MEMORY;
  void *old;
  luc_status status = luc__map_set(ctx, &sd->entries, name, length, e, &old);
  if (status != LUC_OK) {
    luc__free(ctx, e, sizeof *e);
    return status;
  }
  e->tensor = tensor != NULL ? luc_tensor_retain(tensor) : NULL;
  strncpy(e->type, type, sizeof e->type - 1);
  free_entry(ctx, old);
  return LUC_OK;
}

luc_status luc_state_dict_set(luc_context *ctx, luc_state_dict *sd, const char *name,
                              luc_tensor *tensor) {
  return put(ctx, sd, name, strlen(name), tensor, "");
}

luc_status luc_state_dict_set_other(luc_context *ctx, luc_state_dict *sd, const char *name,
                                    const char *type) {
  return put(ctx, sd, name, strlen(name), NULL, type);
}

size_t luc_state_dict_count(const luc_state_dict *sd) {
  return sd->entries.count;
}

static luc_map_entry *nth(const luc_map *map, size_t i) {
  if (i >= map->count) return NULL;
  if (map->used == map->count) return &map->entries[i];
  uint32_t at = 0;
  luc_map_entry *e = NULL;
  for (size_t k = 0; k <= i; k++) e = luc__map_next(map, &at);
  return e;
}

const char *luc_state_dict_entry(const luc_state_dict *sd, size_t i, luc_tensor **tensor) {
  luc_map_entry *e = nth(&sd->entries, i);
  *tensor = e != NULL ? ((entry *)e->value)->tensor : NULL;
  return e != NULL ? e->key : NULL;
}

luc_tensor *luc_state_dict_get(const luc_state_dict *sd, const char *name) {
  luc_map_entry *e = luc__map_find(&sd->entries, name, strlen(name));
  return e != NULL ? ((entry *)e->value)->tensor : NULL;
}

static int version_of(const luc_state_dict *sd, const char *prefix, size_t length) {
  luc_map_entry *e = luc__map_find(&sd->versions, prefix, length);
  return e != NULL ? (int)(intptr_t)e->value : -1;
}

int luc_state_dict_version(const luc_state_dict *sd, const char *prefix) {
  return version_of(sd, prefix, strlen(prefix));
}

luc_status luc_state_dict_set_version(luc_context *ctx, luc_state_dict *sd, const char *prefix,
                                      int version) {
  return luc__map_set(ctx, &sd->versions, prefix, strlen(prefix), (void *)(intptr_t)version, NULL);
}

size_t luc_state_dict_num_versions(const luc_state_dict *sd) {
  return sd->versions.count;
}

const char *luc_state_dict_version_at(const luc_state_dict *sd, size_t i, int *version) {
  luc_map_entry *e = nth(&sd->versions, i);
  *version = e != NULL ? (int)(intptr_t)e->value : -1;
  return e != NULL ? e->key : NULL;
}

/* ---- names in full ---- */

/* path.name in text. */
static luc_status full_name(luc_text *text, const luc_text *path, const char *name, size_t length) {
  text->length = 0;
  if (path->length > 0) {
    luc__text_append(text, path->data, path->length);
    luc__text_append(text, ".", 1);
  }
  luc__text_append(text, name, length);
  return text->status;
}

/* ---- collecting ---- */

static luc_status collect(luc_context *ctx, luc_module *m, const luc_text *path, luc_text *name,
                          bool keep_vars, luc_state_dict *sd) {
  luc_map_entry *e;
  for (int slot = LUC_SLOT_PARAMETER; slot <= LUC_SLOT_BUFFER; slot++) {
    for (uint32_t at = 0; (e = luc__map_next(&m->slots[slot], &at)) != NULL;) {
      if (e->value == NULL) continue;
      if (slot == LUC_SLOT_BUFFER && !luc__slot_is_persistent(m, e->key, e->length)) continue;
      luc_tensor *t = e->value, *detached = NULL;
      LUC_TRY(full_name(name, path, e->key, e->length));
      bool itself = keep_vars || luc_tensor_is_uninitialized(t);
      if (!itself) LUC_TRY(luc__tensor_alias(ctx, t, &detached));
      luc_status status = put(ctx, sd, name->data, name->length, itself ? t : detached, "");
      luc_tensor_release(ctx, detached);
      LUC_TRY(status);
    }
  }
  return luc__map_set(ctx, &sd->versions, path->data, path->length,
                      (void *)(intptr_t)m->cls->version, NULL);
}

luc_status luc_module_state_dict(luc_context *ctx, luc_module *m, const char *prefix,
                                 bool keep_vars, luc_state_dict **out) {
  luc_status status = luc_state_dict_new(ctx, out);
  if (status != LUC_OK) return status;
  luc_text name;
  luc_walk w;
  luc__text_init(&name, ctx);
  luc__walk_begin(&w, ctx, m, prefix, LUC_MEMBERS_DUPLICATES);
  while (status == LUC_OK && (m = luc__walk_next(&w)) != NULL)
    status = collect(ctx, m, &w.path, &name, keep_vars, *out);
  luc_status walked = luc__walk_end(&w);
  luc__text_drop(&name);
  if (status == LUC_OK) status = walked;
  if (status == LUC_OK) return LUC_OK;
  luc_state_dict_free(ctx, *out);
  *out = NULL;
  return status;
}

/* ---- loading ---- */

void luc_names_free(luc_context *ctx, luc_names *names) {
  for (size_t i = 0; i < names->n; i++)
    luc__free(ctx, names->items[i], strlen(names->items[i]) + 1);
  luc__free(ctx, names->items, names->capacity * sizeof *names->items);
  *names = (luc_names){0};
}

static luc_status add_name(luc_context *ctx, luc_names *names, const char *name, size_t length) {
  if (names->n == names->capacity) {
    size_t capacity = names->capacity == 0 ? 8 : names->capacity * 2;
    char **items =
        luc__realloc(ctx, names->items, names->capacity * sizeof *items, capacity * sizeof *items);
    if (items == NULL) return LUC_ERR_MEMORY;
    names->items = items;
    names->capacity = capacity;
  }
  char *copy = luc__alloc(ctx, length + 1);
  if (copy == NULL) return LUC_ERR_MEMORY;
  memcpy(copy, name, length);
  copy[length] = '\0';
  names->items[names->n++] = copy;
  return LUC_OK;
}

/* One tensor to be written: into `target`, or (assign) in place of it. */
typedef struct copy {
  luc_tensor *target, *value; /* value: owned, of the target's dtype */
  luc_module *owner;
  luc_slot slot;
  uint32_t entry;
  bool lazy; /* target has no shape yet: it takes value's memory */
} copy;

typedef struct loader {
  luc_context *ctx;
  const luc_state_dict *sd;
  bool assign;
  luc_names missing, unexpected;
  luc_text errors; /* the collected lines */
  luc_text name;
  copy *copies;
  size_t ncopies, capacity;
} loader;

static void put_size(luc_text *text, const luc_tensor *t) {
  luc__text_puts(text, "torch.Size([");
  for (int i = 0; i < t->ndim; i++)
    luc__text_printf(text, "%s%lld", i > 0 ? ", " : "", (long long)t->sizes[i]);
  luc__text_puts(text, "])");
}

static luc_status add_copy(loader *l, copy c) {
  if (l->ncopies == l->capacity) {
    size_t capacity = l->capacity == 0 ? 16 : l->capacity * 2;
    copy *copies =
        luc__realloc(l->ctx, l->copies, l->capacity * sizeof *copies, capacity * sizeof *copies);
    if (copies == NULL) return LUC_ERR_MEMORY;
    l->copies = copies;
    l->capacity = capacity;
  }
  l->copies[l->ncopies++] = c;
  return LUC_OK;
}

static luc_status size_error(loader *l, const luc_tensor *value, const luc_tensor *target) {
  luc__text_printf(&l->errors, "\n\tsize mismatch for %s: copying a param with shape ",
                   l->name.data);
  put_size(&l->errors, value);
  luc__text_puts(&l->errors, " from checkpoint, the shape in current model is ");
  put_size(&l->errors, target);
  luc__text_puts(&l->errors, ".");
  return l->errors.status;
}

static luc_status type_error(loader *l, const entry *e) {
  luc__text_printf(&l->errors,
                   "\n\tWhile copying the parameter named \"%s\", expected torch.Tensor or "
                   "Tensor-like object from checkpoint but received %s",
                   l->name.data, e->type);
  return l->errors.status;
}

/* A target without a shape takes the value's, in memory of its own. A value without a shape says
 * nothing to such a target, and cannot go into another one. */
static luc_status prepare_lazy(loader *l, luc_tensor *value, copy c) {
  if (!luc_tensor_is_uninitialized(c.target)) {
    luc__text_printf(&l->errors,
                     "\n\tWhile copying the parameter named \"%s\": Can't access the shape of an "
                     "uninitialized parameter or buffer. This error usually happens in "
                     "`load_state_dict` when trying to load an uninitialized parameter into an "
                     "initialized module. Call `forward` to initialize the parameters before "
                     "accessing their attributes.",
                     l->name.data);
    return l->errors.status;
  }
  if (luc_tensor_is_uninitialized(value)) return LUC_OK;
  c.lazy = true;
  bool floats = luc__dtype_is_float(luc_tensor_dtype(value));
  luc_dtype dtype = luc_tensor_dtype(l->assign && floats ? value : c.target);
  luc_status status = luc__tensor_empty_like(l->ctx, value, dtype, &c.value);
  if (status == LUC_OK) status = luc__copy(l->ctx, c.value, value);
  if (status == LUC_OK) status = add_copy(l, c);
  if (status != LUC_OK) luc_tensor_release(l->ctx, c.value);
  return status;
}

/* A 0-d target takes the first element of a 1-d value, as old checkpoints have it. */
static luc_status prepare(loader *l, luc_tensor *value, copy c) {
  luc_context *ctx = l->ctx;
  if (luc_tensor_is_uninitialized(value) || luc_tensor_is_uninitialized(c.target))
    return prepare_lazy(l, value, c);
  luc_tensor *source = luc_tensor_retain(value);
  luc_status status = LUC_OK;
  if (c.target->ndim == 0 && value->ndim == 1 && value->sizes[0] >= 1) {
    luc_tensor_release(ctx, source);
    LUC_TRY(luc__tensor_view(ctx, value, 0, value->sizes, value->strides, value->offset, &source));
  }
  if (!luc__same_sizes(source, c.target)) {
    status = size_error(l, source, c.target);
  } else {
    if (l->assign)
      status = luc__tensor_alias(ctx, source, &c.value);
    else
      status = luc__contiguous_as(ctx, source, (luc_dtype)c.target->dtype, &c.value);
    if (status == LUC_OK) status = add_copy(l, c);
    if (status != LUC_OK) luc_tensor_release(ctx, c.value);
  }
  luc_tensor_release(ctx, source);
  return status;
}

/* A batch norm saved before version 2 has no num_batches_tracked: the live one stays. */
static bool upgraded(const loader *l, const luc_module *m, const luc_text *path, const char *key) {
  return m->cls->version >= 2 &&
         version_of(l->sd, path->data ? path->data : "", path->length) < 2 &&
         strcmp(key, "num_batches_tracked") == 0;
}

static luc_status load_slot(loader *l, luc_module *m, luc_slot slot, const luc_text *path) {
  luc_map *map = &m->slots[slot];
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(map, &at)) != NULL;) {
    if (e->value == NULL) continue;
    if (slot == LUC_SLOT_BUFFER && !luc__slot_is_persistent(m, e->key, e->length)) continue;
    LUC_TRY(full_name(&l->name, path, e->key, e->length));
    luc_map_entry *found = luc__map_find(&l->sd->entries, l->name.data, l->name.length);
    if (found == NULL) {
      if (upgraded(l, m, path, e->key)) continue;
      LUC_TRY(add_name(l->ctx, &l->missing, l->name.data, l->name.length));
      continue;
    }
    const entry *value = found->value;
    copy c = {.target = e->value, .owner = m, .slot = slot, .entry = (uint32_t)(e - map->entries)};
    if (value->tensor == NULL)
      LUC_TRY(type_error(l, value));
    else
      LUC_TRY(prepare(l, value->tensor, c));
  }
  return LUC_OK;
}

/* The part of a key that the tree does not account for, or NULL. PyTorch looks at one component at
 * a time: what is below it must be a child (an empty slot swallows all), else an own entry. */
static const char *unknown_part(const luc_module *m, const char *key) {
  for (;;) {
    size_t n = strcspn(key, ".");
    luc_slot slot = LUC_SLOT_CHILD;
    luc_map_entry *e = luc__slot_find(m, key, n, &slot);
    bool leaf = key[n] == '\0';
    if (e == NULL || leaf != (slot != LUC_SLOT_CHILD)) return key;
    if (e->value == NULL) return leaf ? key : NULL;
    if (leaf) return slot == LUC_SLOT_BUFFER && !luc__slot_is_persistent(m, key, n) ? key : NULL;
    m = e->value;
    key += n + 1;
  }
}

/* Adds the unexpected keys that belong to the module at this path. */
static luc_status find_unexpected(loader *l, luc_module *root, const luc_text *path, bool *found) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&l->sd->entries, &at)) != NULL;) {
    const char *part = unknown_part(root, e->key);
    if (part == NULL) continue;
    *found = true;
    if (path == NULL) return LUC_OK;
    size_t length = part > e->key ? (size_t)(part - e->key) - 1 : 0;
    if (length == path->length && (length == 0 || memcmp(e->key, path->data, length) == 0))
      LUC_TRY(add_name(l->ctx, &l->unexpected, e->key, e->length));
  }
  return LUC_OK;
}

static void put_names(luc_text *text, const char *what, const luc_names *names) {
  if (names->n == 0) return;
  luc__text_printf(text, "\n\t%s key(s) in state_dict: ", what);
  for (size_t i = 0; i < names->n; i++)
    luc__text_printf(text, "%s\"%s\"", i > 0 ? ", " : "", names->items[i]);
  luc__text_puts(text, ". ");
}

static luc_status fail(loader *l, const luc_module *m, bool strict) {
  luc_text text;
  luc__text_init(&text, l->ctx);
  luc__text_printf(&text, "Error(s) in loading state_dict for %s:", m->cls->name);
  if (strict) {
    put_names(&text, "Missing", &l->missing);
    put_names(&text, "Unexpected", &l->unexpected);
  }
  if (l->errors.length > 0) luc__text_append(&text, l->errors.data, l->errors.length);
  luc_status status = text.status;
  if (status == LUC_OK) status = luc__fail_long(l->ctx, LUC_ERR_VALUE, text.data);
  luc__text_drop(&text);
  return status;
}

/* Everything that may fail when tensors are put in the place of others. */
static luc_status prepare_assign(loader *l) {
  const luc_host *host = &luc__nn_of(l->ctx)->host;
  for (size_t i = 0; l->assign && i < l->ncopies; i++) {
    copy *c = &l->copies[i];
    if (c->lazy) continue;
    c->value->flags = (uint8_t)(c->value->flags | (c->target->flags & LUC_TF_PARAMETER));
    if (c->target->requires_grad) LUC_TRY(luc_tensor_set_requires_grad(l->ctx, c->value, true));
    luc_map_entry *e = &c->owner->slots[c->slot].entries[c->entry];
    if (c->owner->peer != NULL && host->edge != NULL)
      LUC_TRY(host->edge(l->ctx, host->ud, c->owner, c->slot, e->key, e->length, c->value));
  }
  return LUC_OK;
}

static luc_status commit(loader *l) {
  LUC_TRY(prepare_assign(l));
  for (size_t i = 0; i < l->ncopies; i++) {
    copy *c = &l->copies[i];
    if (c->lazy) {
      luc__tensor_initialize(l->ctx, c->target, c->value);
    } else if (l->assign) {
      luc_map_entry *e = &c->owner->slots[c->slot].entries[c->entry];
      e->value = luc_tensor_retain(c->value);
      luc_tensor_release(l->ctx, c->target);
    } else if (c->target->data !=
               c->value->data) { /* same dtype, contiguous source: this only moves bytes */
      LUC_TRY(luc__copy(l->ctx, c->target, c->value));
      c->target->storage->version++;
    }
  }
  return LUC_OK;
}

static luc_status check(loader *l, luc_module *root) {
  luc_walk w;
  luc_module *m;
  bool any = false;
  luc_status status = find_unexpected(l, root, NULL, &any);
  luc__walk_begin(&w, l->ctx, root, NULL, LUC_MEMBERS_DUPLICATES);
  while (status == LUC_OK && (m = luc__walk_next(&w)) != NULL) {
    status = load_slot(l, m, LUC_SLOT_PARAMETER, &w.path);
    if (status == LUC_OK) status = load_slot(l, m, LUC_SLOT_BUFFER, &w.path);
    if (status == LUC_OK && any) status = find_unexpected(l, root, &w.path, &any);
  }
  luc_status walked = luc__walk_end(&w);
  return status == LUC_OK ? walked : status;
}

static void hand_over(luc_context *ctx, luc_names *from, luc_names *to) {
  if (to == NULL) {
    luc_names_free(ctx, from);
    return;
  }
  *to = *from;
  *from = (luc_names){0};
}

luc_status luc_module_load_state_dict(luc_context *ctx, luc_module *m, const luc_state_dict *sd,
                                      int flags, luc_names *missing, luc_names *unexpected) {
  loader l = {.ctx = ctx, .sd = sd, .assign = (flags & LUC_LOAD_ASSIGN) != 0};
  bool strict = (flags & LUC_LOAD_STRICT) != 0;
  luc__text_init(&l.errors, ctx);
  luc__text_init(&l.name, ctx);
  luc_status status = check(&l, m);
  if (status == LUC_OK) {
    bool bad = l.errors.length > 0 || (strict && (l.missing.n > 0 || l.unexpected.n > 0));
    status = bad ? fail(&l, m, strict) : commit(&l);
  }
  for (size_t i = 0; i < l.ncopies; i++) luc_tensor_release(ctx, l.copies[i].value);
  luc__free(ctx, l.copies, l.capacity * sizeof *l.copies);
  luc__text_drop(&l.errors);
  luc__text_drop(&l.name);
  hand_over(ctx, &l.missing, missing);
  hand_over(ctx, &l.unexpected, unexpected);
  return status;
}
