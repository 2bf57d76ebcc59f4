/* Module objects: making them, counting references, destroying trees. A module is freed when its
 * last reference goes; the children it frees with it wait in a list, so that depth costs nothing.
 */
#include "nn/module.h"

#include <stdio.h>
#include <string.h>

/* ---- making ---- */

static void link_live(luc_nn *nn, luc_module *m) {
  m->next = nn->live;
  m->previous = NULL;
  if (nn->live != NULL) nn->live->previous = m;
  nn->live = m;
}

static void unlink_live(luc_nn *nn, luc_module *m) {
  if (m->next != NULL) m->next->previous = m->previous;
  if (m->previous != NULL)
    m->previous->next = m->next;
  else
    nn->live = m->next;
}

luc_status luc__module_create(luc_context *ctx, const luc_class *cls, luc_module **out) {
  luc_module *m = luc__alloc_zero(ctx, sizeof *m);
  if (m == NULL) return LUC_ERR_MEMORY;
  m->refs = 1;
  m->cls = cls;
  m->training = true;
  m->impure_self = cls->host + luc__nn_of(ctx)->impure;
  for (int i = 0; i < LUC_SLOTS; i++) luc__map_init(&m->slots[i]);
  luc__map_init(&m->transient);
  luc__map_init(&m->outside);
  luc__class_retain(cls);
  link_live(luc__nn_of(ctx), m);
  *out = m;
  return LUC_OK;
}

luc_status luc__module_set_class(luc_context *ctx, luc_module *m, const luc_class *cls) {
  LUC_CHECK(ctx, cls->core == m->cls->core, LUC_ERR_TYPE,
            "%s: cannot become a %s: they are built on different classes", m->cls->name, cls->name);
  const luc_class *old = m->cls;
  luc__class_retain(cls);
  m->cls = cls;
  luc__module_impure(ctx, m, (int)cls->host - (int)old->host);
  luc__class_release(ctx, old);
  return LUC_OK;
}

/* Forgets the tensors among the arguments: build has made parameters and buffers of them. */
static void forget_tensors(luc_module *m, int n) {
  for (int i = 0; i < n; i++) {
    bool borrowed = m->config[i].kind == LUC_TENSOR || m->config[i].kind == LUC_TENSORS ||
                    m->config[i].kind == LUC_GENERATOR;
    if (borrowed) m->config[i] = luc_v_none();
  }
}

/* A list whose default is written as one number stays that number, as PyTorch keeps it. */
static void narrow_defaults(const luc_schema *schema, luc_value *args) {
  for (int i = 0; i < schema->nparams; i++) {
    const luc_value *def = &schema->params[i].def;
    if (def->kind != LUC_INTS || args[i].kind != LUC_INTS || args[i].as.ints != def->as.ints)
      continue;
    bool equal = def->n > 0;
    for (int k = 1; k < def->n; k++) equal = equal && def->as.ints[k] == def->as.ints[0];
    if (equal && schema->params[i].list > 0) args[i] = luc_v_int(def->as.ints[0]);
  }
}

/* A failure inside build names the class that could not be made. */
static luc_status named_failure(luc_context *ctx, const luc_class *cls, luc_status status) {
  char text[512];
  if (status == LUC_OK || status == LUC_ERR_CALLBACK) return status;
  snprintf(text, sizeof text, "%s", luc_message(ctx));
  if (!strncmp(text, cls->name, strlen(cls->name))) return status;
  return luc__fail(ctx, status, "%s: %s", cls->name, text);
}

luc_status luc__module_build(luc_context *ctx, luc_module *m, const luc_class *cls,
                             const luc_value *args, int nargs) {
  const luc_schema *schema = cls->constructor;
  luc_value all[LUC_MAX_PARAMS];
  LUC_CHECK(ctx, nargs >= 0 && nargs <= schema->nparams, LUC_ERR_TYPE,
            "%s: takes at most %d arguments (got %d)", cls->name, schema->nparams, nargs);
  for (int i = 0; i < nargs; i++) {
    LUC_TRY(luc__config_check(ctx, cls->name, &schema->params[i], &args[i]));
    all[i] = args[i];
  }
  LUC_TRY(luc__schema_defaults(ctx, schema, all, nargs));
  narrow_defaults(schema, all);
  int n = schema->nparams;
  if (cls->def->flags & LUC_CF_LAZY) {
    memmove(all + 1, all, (size_t)n++ * sizeof *all);
    all[0] = luc_v_int(0);
  }
  LUC_TRY(luc__config_set(ctx, m, all, n));
  luc_nn *nn = luc__nn_of(ctx);
  nn->building++;
  luc_status status = named_failure(ctx, cls, cls->def->build(ctx, m));
  nn->building--;
  m->fresh = nn->registration != NULL;
  forget_tensors(m, n);
  m->built = status == LUC_OK;
  return status;
}

luc_status luc_module_new(luc_context *ctx, const char *class_name, const luc_value *args,
                          int nargs, luc_module **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, class_name && (args || nargs <= 0));
  const luc_class *cls;
  luc_module *m;
  LUC_TRY(luc__class_find(ctx, class_name, &cls));
  LUC_TRY(luc__module_create(ctx, cls, &m));
  m->external = 1;
  luc_nn *nn = luc__nn_of(ctx);
  const bool skips = nn->skip_parameters; /* of the module that this is built for, if any */
  nn->skip_parameters = false;
  luc_status status = luc__module_build(ctx, m, cls, args, nargs);
  nn->skip_parameters = skips;
  if (status == LUC_OK) status = luc__registration_built(ctx, m);
  if (status == LUC_OK)
    *out = m;
  else
    luc_module_release(ctx, m);
  return status;
}

/* ---- references ---- */

static void free_contents(luc_context *ctx, luc_module *m) {
  for (int slot = LUC_SLOT_PARAMETER; slot <= LUC_SLOT_BUFFER; slot++) {
    luc_map_entry *e;
    for (uint32_t at = 0; (e = luc__map_next(&m->slots[slot], &at)) != NULL;)
      luc_tensor_release(ctx, e->value);
  }
  for (int slot = 0; slot < LUC_SLOTS; slot++) luc__map_free(ctx, &m->slots[slot]);
  luc__map_free(ctx, &m->transient);
  luc__map_free(ctx, &m->outside);
  luc__hooks_release(ctx, m->hooks);
  luc__free(ctx, m->config, m->config_size);
  luc__free(ctx, m->parents, m->parents_capacity * sizeof *m->parents);
  luc__class_release(ctx, m->cls);
  luc__free(ctx, m, sizeof *m);
}

static void destroy(luc_context *ctx, luc_module *m) {
  luc_map_entry *e;
  for (uint32_t at = 0; (e = luc__map_next(&m->slots[LUC_SLOT_CHILD], &at)) != NULL;) {
    luc_module *child = e->value;
    if (child == NULL) continue;
    luc__drop_edge(ctx, m, child);
    luc__module_unref(ctx, child);
  }
  free_contents(ctx, m);
}

void luc__module_unref(luc_context *ctx, luc_module *m) {
  if (m == NULL || --m->refs > 0 || m->dead) return;
  luc_nn *nn = luc__nn_of(ctx);
  m->dead = true;
  unlink_live(nn, m);
  m->next = nn->dying;
  nn->dying = m;
  if (nn->destroying) return;
  nn->destroying = true;
  while ((m = nn->dying) != NULL) {
    nn->dying = m->next;
    destroy(ctx, m);
  }
  nn->destroying = false;
}

luc_module *luc_module_retain(luc_context *ctx, luc_module *m) {
  if (m == NULL) return NULL;
  const luc_host *host = &luc__nn_of(ctx)->host;
  m->refs++;
  if (m->external++ == 0 && m->peer != NULL && host->pin != NULL) host->pin(ctx, host->ud, m, true);
  return m;
}

void luc_module_release(luc_context *ctx, luc_module *m) {
  if (m == NULL) return;
  const luc_host *host = &luc__nn_of(ctx)->host;
  if (--m->external == 0 && m->peer != NULL && host->pin != NULL)
    host->pin(ctx, host->ud, m, false);
  luc__module_unref(ctx, m);
}

void luc__modules_close(luc_context *ctx) {
  luc_nn *nn = luc__nn_of(ctx);
  nn->host = (luc_host){0};
  luc__registration_close(ctx, nn);
  luc__hooks_release(ctx, nn->hooks);
  nn->hooks = NULL;
  while (nn->live != NULL) {
    luc_module *m = nn->live;
    nn->live = m->next;
    free_contents(ctx, m);
  }
}

/* ---- small questions ---- */

const char *luc_module_class_name(const luc_module *m) {
  return m != NULL ? m->cls->name : NULL;
}

bool luc_module_is(const luc_module *m, const char *class_name) {
  if (m == NULL || class_name == NULL) return false;
  for (const luc_class *c = m->cls; c != NULL; c = c->parent)
    if (strcmp(c->name, class_name) == 0) return true;
  return false;
}

bool luc_module_is_training(const luc_module *m) {
  return m != NULL && m->training;
}
