/* State dicts: the object, and collecting a tree's tensors under their names. Loading is in
 * state_load.c. */
#include <string.h>

#include "nn/module.h"

struct luc_state_dict {
  luc_map entries;  /* luc_tensor *, or NULL: another value, whose type is in … */
  luc_map others;   /* … char * */
  luc_map versions; /* prefix -> version, as a pointer's bits */
};

/* ---- the object ---- */

luc_status luc_state_dict_new(luc_context *ctx, luc_state_dict **out) {
  LUC_NEED(ctx, out);
  *out = luc__alloc_zero(ctx, sizeof **out);
  if (*out == NULL) return LUC_ERR_MEMORY;
  luc__map_init(&(*out)->entries);
  luc__map_init(&(*out)->others);
  luc__map_init(&(*out)->versions);
  return LUC_OK;
}

static void free_type(luc_context *ctx, char *type) {
  if (type != NULL) luc__free(ctx, type, strlen(type) + 1);
}

void luc_state_dict_free(luc_context *ctx, luc_state_dict *sd) {
  if (sd == NULL) return;
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&sd->entries, &at)) != NULL;)
    luc_tensor_release(ctx, e->value);
  for (uint32_t at = 0; (e = luc__map_next(&sd->others, &at)) != NULL;) free_type(ctx, e->value);
  luc__map_free(ctx, &sd->entries);
  luc__map_free(ctx, &sd->others);
  luc__map_free(ctx, &sd->versions);
  luc__free(ctx, sd, sizeof *sd);
}

static void forget_type(luc_context *ctx, luc_state_dict *sd, const char *name, size_t length) {
  void *type;
  if (luc__map_remove(ctx, &sd->others, name, length, &type)) free_type(ctx, type);
}

static luc_status put(luc_context *ctx, luc_state_dict *sd, const char *name, size_t length,
                      luc_tensor *tensor) {
  void *old = NULL;
  LUC_TRY(luc__map_set(ctx, &sd->entries, name, length, tensor, &old));
  if (tensor != NULL) {
    luc_tensor_retain(tensor);
    forget_type(ctx, sd, name, length);
  }
  luc_tensor_release(ctx, old);
  return LUC_OK;
}

luc_status luc_state_dict_set(luc_context *ctx, luc_state_dict *sd, const char *name,
                              luc_tensor *tensor) {
  LUC_NEED(ctx, sd && name && tensor);
  return put(ctx, sd, name, strlen(name), tensor);
}

luc_status luc_state_dict_set_other(luc_context *ctx, luc_state_dict *sd, const char *name,
                                    const char *type) {
  LUC_NEED(ctx, sd && name && type);
  size_t length = strlen(name), size = strlen(type) + 1;
  char *copy = luc__alloc(ctx, size);
  void *old = NULL;
  if (copy == NULL) return LUC_ERR_MEMORY;
  memcpy(copy, type, size);
  luc_status status = luc__map_set(ctx, &sd->others, name, length, copy, &old);
  if (status != LUC_OK) {
    luc__free(ctx, copy, size);
    return status;
  }
  free_type(ctx, old);
  return put(ctx, sd, name, length, NULL);
}

bool luc_state_dict_remove(luc_context *ctx, luc_state_dict *sd, const char *name) {
  if (sd == NULL || name == NULL) return false;
  void *tensor;
  size_t length = strlen(name);
  if (!luc__map_remove(ctx, &sd->entries, name, length, &tensor)) return false;
  luc_tensor_release(ctx, tensor);
  forget_type(ctx, sd, name, length);
  return true;
}

size_t luc_state_dict_count(const luc_state_dict *sd) {
  return sd != NULL ? sd->entries.count : 0;
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
  luc_map_entry *e = sd != NULL ? nth(&sd->entries, i) : NULL;
  if (tensor != NULL) *tensor = e != NULL ? e->value : NULL;
  return e != NULL ? e->key : NULL;
}

luc_map_entry *luc__state_next(const luc_state_dict *sd, uint32_t *at) {
  return luc__map_next(&sd->entries, at);
}

luc_tensor *luc__state_find(const luc_state_dict *sd, const char *name, size_t length,
                            const char **type) {
  luc_map_entry *e = luc__map_find(&sd->entries, name, length);
  *type = NULL;
  if (e == NULL || e->value != NULL) return e != NULL ? e->value : NULL;
  *type = luc__map_find(&sd->others, name, length)->value;
  return NULL;
}

luc_tensor *luc_state_dict_get(const luc_state_dict *sd, const char *name) {
  const char *type;
  if (sd == NULL || name == NULL) return NULL;
  return luc__state_find(sd, name, strlen(name), &type);
}

int luc_state_dict_version(const luc_state_dict *sd, const char *prefix) {
  if (sd == NULL || prefix == NULL) return -1;
  luc_map_entry *e = luc__map_find(&sd->versions, prefix, strlen(prefix));
  return e != NULL ? (int)(intptr_t)e->value : -1;
}

luc_status luc_state_dict_set_version(luc_context *ctx, luc_state_dict *sd, const char *prefix,
                                      int version) {
  LUC_NEED(ctx, sd && prefix);
  return luc__map_set(ctx, &sd->versions, prefix, strlen(prefix), (void *)(intptr_t)version, NULL);
}

size_t luc_state_dict_num_versions(const luc_state_dict *sd) {
  return sd != NULL ? sd->versions.count : 0;
}

const char *luc_state_dict_version_at(const luc_state_dict *sd, size_t i, int *version) {
  luc_map_entry *e = sd != NULL ? nth(&sd->versions, i) : NULL;
  if (version != NULL) *version = e != NULL ? (int)(intptr_t)e->value : -1;
  return e != NULL ? e->key : NULL;
}

luc_status luc__state_copy(luc_context *ctx, const luc_state_dict *sd, luc_state_dict **out) {
  luc_map_entry *e;
  luc_status status = luc_state_dict_new(ctx, out);
  if (status != LUC_OK) return status;
  for (uint32_t at = 0; (e = luc__map_next(&sd->entries, &at)) != NULL;) {
    const char *type;
    luc_tensor *t = luc__state_find(sd, e->key, e->length, &type);
    LUC_GO(t != NULL ? put(ctx, *out, e->key, e->length, t)
                     : luc_state_dict_set_other(ctx, *out, e->key, type));
  }
  for (uint32_t at = 0; (e = luc__map_next(&sd->versions, &at)) != NULL;)
    LUC_GO(luc__map_set(ctx, &(*out)->versions, e->key, e->length, e->value, NULL));
done:
  if (status == LUC_OK) return LUC_OK;
  luc_state_dict_free(ctx, *out);
  *out = NULL;
  return status;
}

/* ---- collecting ---- */

typedef struct saver {
  luc_context *ctx;
  luc_state_dict *sd;
  bool keep_vars;
  luc_text prefix; /* of the module at hand: "net.features." */
  luc_text name;
  size_t root_length;
} saver;

static luc_status collect(saver *s, luc_module *m, luc_slot slot) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&m->slots[slot], &at)) != NULL;) {
    if (e->value == NULL) continue;
    if (slot == LUC_SLOT_BUFFER && !luc__slot_is_persistent(m, e->key, e->length)) continue;
    luc_tensor *t = e->value, *detached = NULL;
    s->name.length = 0;
    luc__text_append(&s->name, s->prefix.data, s->prefix.length);
    luc__text_append(&s->name, e->key, e->length);
    LUC_TRY(s->name.status);
    bool itself = s->keep_vars || luc_tensor_is_uninitialized(t);
    if (!itself) LUC_TRY(luc__tensor_alias(s->ctx, t, &detached));
    luc_status status = put(s->ctx, s->sd, s->name.data, s->name.length, itself ? t : detached);
    luc_tensor_release(s->ctx, detached);
    LUC_TRY(status);
  }
  return LUC_OK;
}

static luc_status run_hooks(saver *s, luc_module *m, luc_state_event event) {
  if (m->hooks == NULL) return LUC_OK;
  luc_state_info info = {.event = event, .prefix = s->prefix.data, .keep_vars = s->keep_vars};
  if (event == LUC_STATE_SAVE_AFTER) info.state = s->sd;
  return luc__state_hooks_run(s->ctx, m, &info);
}

/* The root's prefix, then the path below it and a dot. */
static luc_status set_prefix(saver *s, const luc_text *path) {
  s->prefix.length = s->root_length;
  luc__text_append(&s->prefix, path->data, path->length);
  luc__text_append(&s->prefix, ".", path->length > 0 ? 1 : 0);
  return s->prefix.status;
}

static luc_status visit(saver *s, luc_module *m, const luc_walk *w) {
  LUC_TRY(set_prefix(s, &w->path));
  if (w->leaving) return run_hooks(s, m, LUC_STATE_SAVE_AFTER);
  size_t length = s->prefix.length > 0 ? s->prefix.length - 1 : 0;
  LUC_TRY(luc__map_set(s->ctx, &s->sd->versions, s->prefix.data, length,
                       (void *)(intptr_t)m->cls->version, NULL));
  LUC_TRY(run_hooks(s, m, LUC_STATE_SAVE_BEFORE));
  LUC_TRY(collect(s, m, LUC_SLOT_PARAMETER));
  return collect(s, m, LUC_SLOT_BUFFER);
}

luc_status luc__state_dict(luc_context *ctx, luc_module *m, const char *prefix, bool keep_vars,
                           luc_state_dict *sd) {
  saver s = {.ctx = ctx, .sd = sd, .keep_vars = keep_vars};
  luc_status status = LUC_OK;
  luc_walk w;
  luc__text_init(&s.name, ctx);
  luc__text_init(&s.prefix, ctx);
  luc__text_puts(&s.prefix, prefix != NULL ? prefix : "");
  s.root_length = s.prefix.length;
  luc__walk_begin(&w, ctx, m, NULL, LUC_MEMBERS_DUPLICATES | LUC_WALK_LEAVE);
  while (status == LUC_OK && (m = luc__walk_next(&w)) != NULL) status = visit(&s, m, &w);
  luc_status walked = luc__walk_end(&w);
  luc__text_drop(&s.prefix);
  luc__text_drop(&s.name);
  return status == LUC_OK ? walked : status;
}

luc_status luc_module_state_dict(luc_context *ctx, luc_module *m, const char *prefix,
                                 bool keep_vars, luc_state_dict **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, m);
  const luc_host *host = &luc__nn_of(ctx)->host;
  bool handled = false;
  luc_status status = luc_state_dict_new(ctx, out);
  if (status != LUC_OK) return status;
  if (host->save_state != NULL)
    status = host->save_state(ctx, host->ud, m, prefix, keep_vars, *out, &handled);
  if (status == LUC_OK && !handled) status = luc__state_dict(ctx, m, prefix, keep_vars, *out);
  if (status == LUC_OK) return LUC_OK;
  luc_state_dict_free(ctx, *out);
  *out = NULL;
  return status;
}
