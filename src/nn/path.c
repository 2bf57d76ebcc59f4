/* Finding members by dotted path: get_submodule, get_parameter, get_buffer. */
#include <string.h>

#include "nn/module.h"

static luc_status descend(luc_context *ctx, luc_module *m, const char *path, size_t length,
                          luc_module **out) {
  const char *end = path + length;
  while (path < end) {
    const char *dot = memchr(path, '.', (size_t)(end - path));
    size_t n = dot != NULL ? (size_t)(dot - path) : (size_t)(end - path);
    luc_slot slot = LUC_SLOT_CHILD;
    luc_map_entry *e = luc__slot_find(m, path, n, &slot);
    LUC_CHECK(ctx, e != NULL, LUC_ERR_VALUE, "%s has no attribute `%.*s`", m->cls->name, (int)n,
              path);
    LUC_CHECK(ctx, slot == LUC_SLOT_CHILD && e->value != NULL, LUC_ERR_VALUE,
              "`%.*s` is not an nn.Module", (int)n, path);
    m = e->value;
    path += dot != NULL ? n + 1 : n;
  }
  *out = m;
  return LUC_OK;
}

luc_status luc_module_get_submodule(luc_context *ctx, luc_module *m, const char *path,
                                    luc_module **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, m && path);
  return descend(ctx, m, path, strlen(path), out);
}

static luc_status get_tensor(luc_context *ctx, luc_module *m, const char *path, luc_slot slot,
                             const char *kind, luc_tensor **out) {
  const char *dot = strrchr(path, '.'), *name = dot != NULL ? dot + 1 : path;
  LUC_TRY(descend(ctx, m, path, dot != NULL ? (size_t)(dot - path) : 0, &m));
  luc_slot found;
  luc_map_entry *e = luc__slot_find(m, name, strlen(name), &found);
  LUC_CHECK(ctx, e != NULL, LUC_ERR_VALUE, "%s has no attribute `%s`", m->cls->name, name);
  bool fits = found == slot && (e->value != NULL || slot == LUC_SLOT_BUFFER);
  LUC_CHECK(ctx, fits, LUC_ERR_VALUE, "`%s` is not %s", name, kind);
  *out = e->value;
  return LUC_OK;
}

luc_status luc_module_get_parameter(luc_context *ctx, luc_module *m, const char *path,
                                    luc_tensor **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, m && path);
  return get_tensor(ctx, m, path, LUC_SLOT_PARAMETER, "an nn.Parameter", out);
}

luc_status luc_module_get_buffer(luc_context *ctx, luc_module *m, const char *path,
                                 luc_tensor **out) {
  LUC_PLACE(ctx, out);
  LUC_NEED(ctx, m && path);
  return get_tensor(ctx, m, path, LUC_SLOT_BUFFER, "a buffer", out);
}

luc_status luc_module_set_submodule(luc_context *ctx, luc_module *m, const char *path,
                                    luc_module *child, bool strict) {
  LUC_NEED(ctx, m && path);
  const char *dot = strrchr(path, '.'), *name = dot != NULL ? dot + 1 : path;
  size_t length = strlen(name);
  luc_slot slot;
  LUC_CHECK(ctx, path[0] != '\0', LUC_ERR_VALUE, "Cannot set the submodule without a target name!");
  LUC_TRY(descend(ctx, m, path, dot != NULL ? (size_t)(dot - path) : 0, &m));
  luc_map_entry *e = luc__slot_find(m, name, length, &slot);
  LUC_CHECK(ctx, e != NULL || !strict, LUC_ERR_VALUE, "%s has no attribute `%s`", m->cls->name,
            name);
  LUC_CHECK(ctx, e == NULL || (slot == LUC_SLOT_CHILD && e->value != NULL), LUC_ERR_VALUE,
            "`%s` is not an nn.Module", name);
  return luc_module_add_module(ctx, m, name, child);
}
