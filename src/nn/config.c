/* Constructor arguments as a module keeps them: one block holds the values and the strings and
 * lists they point to. Tensors are not kept: build functions make buffers of them. */
#include <string.h>

#include "nn/module.h"
#include "ops/geometry.h"
#include "ops/op.h"

/* Bytes that a value's string or list needs. */
static size_t payload(const luc_value *v) {
  if (v->kind == LUC_STRING) return strlen(v->as.string) + 1;
  if (v->kind == LUC_INTS) return (size_t)v->n * sizeof(int64_t);
  if (v->kind == LUC_FLOATS) return (size_t)v->n * sizeof(double);
  return 0;
}

static size_t aligned(size_t size) {
  return (size + 7) & ~(size_t)7;
}

luc_status luc__config_copy(luc_context *ctx, const luc_value *args, int n, luc_value **out,
                            size_t *size) {
  size_t head = (size_t)n * sizeof *args, total = head;
  for (int i = 0; i < n; i++) total += aligned(payload(&args[i]));
  *out = luc__alloc(ctx, total);
  if (*out == NULL) return LUC_ERR_MEMORY;
  *size = total;
  char *room = (char *)*out + head;
  for (int i = 0; i < n; i++) {
    luc_value *v = &(*out)[i];
    *v = args[i];
    size_t bytes = payload(v);
    if (bytes == 0) continue;
    memcpy(room, v->as.string, bytes); /* all three pointers share their place */
    v->as.string = room;
    room += aligned(bytes);
  }
  return LUC_OK;
}

void luc__config_changed(luc_context *ctx, luc_module *m) {
  const luc_host *host = &luc__nn_of(ctx)->host;
  if (m->peer != NULL && host->configured != NULL) host->configured(host->ud, m);
}

void luc__config_take(luc_context *ctx, luc_module *m, luc_value *config, size_t size) {
  luc__free(ctx, m->config, m->config_size);
  m->config = config;
  m->config_size = size;
  luc__config_changed(ctx, m);
}

luc_status luc__config_set(luc_context *ctx, luc_module *m, const luc_value *args, int n) {
  luc_value *config;
  size_t size;
  LUC_TRY(luc__config_copy(ctx, args, n, &config, &size));
  luc__config_take(ctx, m, config, size);
  return LUC_OK;
}

luc_status luc__module_set_config(luc_context *ctx, luc_module *m, int i, const luc_value *value) {
  int n = luc__config_class(m->cls->core)->constructor->nparams;
  luc_value args[LUC_MAX_PARAMS];
  memcpy(args, m->config, (size_t)n * sizeof *args);
  args[i] = *value;
  return luc__config_set(ctx, m, args, n);
}

void luc__config_ints(const luc_module *m, int i, int k, int64_t *out) {
  const luc_value *v = &m->config[i];
  for (int j = 0; j < k; j++) out[j] = v->kind == LUC_INTS && v->n == k ? v->as.ints[j] : v->as.i;
}

luc_dtype luc__config_dtype(const luc_context *ctx, const luc_module *m) {
  int p = luc__config_class(m->cls->core)->dtype_param;
  bool given = p >= 0 && m->config[p].kind == LUC_DTYPE;
  return (luc_dtype)(given ? m->config[p].as.i : ctx->default_dtype);
}

const luc_value *luc_module_config(const luc_module *m, const char *name) {
  if (m == NULL || name == NULL || m->config == NULL) return NULL;
  int p = luc__schema_find(luc__config_class(m->cls->core)->constructor, name);
  return p < 0 ? NULL : &m->config[p];
}

/* ---- checking what C hosts pass ---- */

static bool is_number(const luc_value *v) {
  return v->kind == LUC_INT || v->kind == LUC_FLOAT || v->kind == LUC_BOOLEAN;
}

static bool is_list(const luc_param *param, const luc_value *v) {
  switch (param->type) {
  case LUC_T_TENSOR:
  case LUC_T_INDEX_TENSOR: return v->kind == LUC_TENSORS;
  case LUC_T_FLOAT:
  case LUC_T_SCALAR: return v->kind == LUC_FLOATS;
  default: return v->kind == LUC_INTS;
  }
}

bool luc__value_whole(const luc_value *v) {
  bool list = v->kind == LUC_TENSORS || v->kind == LUC_INTS || v->kind == LUC_FLOATS;
  if (v->kind == LUC_DTYPE) return v->as.i >= 0 && v->as.i < LUC_NUM_DTYPES;
  if (v->kind < LUC_TENSOR || (list && v->n == 0)) return true;
  if (v->as.tensor == NULL || v->kind > LUC_GENERATOR || (list && v->n < 0)) return false;
  for (int i = 0; v->kind == LUC_TENSORS && i < v->n; i++)
    if (v->as.tensors[i] == NULL) return false;
  return true;
}

static bool is_single(const luc_param *param, const luc_value *v) {
  switch (param->type) {
  case LUC_T_TENSOR:
  case LUC_T_INDEX_TENSOR: return v->kind == LUC_TENSOR;
  case LUC_T_OPERAND: return v->kind == LUC_TENSOR || is_number(v);
  case LUC_T_SCALAR: return is_number(v);
  case LUC_T_FLOAT: return v->kind == LUC_FLOAT || v->kind == LUC_INT;
  case LUC_T_BOOL: return v->kind == LUC_BOOLEAN;
  case LUC_T_STR:
  case LUC_T_DEVICE: return v->kind == LUC_STRING;
  case LUC_T_PADDING: return v->kind == LUC_STRING || v->kind == LUC_INT;
  case LUC_T_DTYPE: return v->kind == LUC_DTYPE;
  case LUC_T_GENERATOR: return v->kind == LUC_GENERATOR;
  default: return v->kind == LUC_INT;
  }
}

luc_status luc__config_check(luc_context *ctx, const char *who, const luc_param *param,
                             const luc_value *v) {
  bool fits = v->kind == LUC_NONE ? param->optional : is_single(param, v);
  if (!fits && (param->list != 0 || param->type == LUC_T_SIZE || param->type == LUC_T_DIMS))
    fits = is_list(param, v) && (param->list <= 0 || v->n == param->list);
  char type[LUC_TYPE_TEXT];
  LUC_CHECK(ctx, fits && luc__value_whole(v), LUC_ERR_TYPE, "%s: %s must be %s", who, param->name,
            luc__param_type_text(type, param));
  luc_status status = LUC_OK;
  int choice;
  if (param->type == LUC_T_DEVICE)
    status = luc__check_device(ctx, v);
  else if (param->type == LUC_T_STR && param->choices != NULL && v->kind == LUC_STRING)
    status = luc__choice(ctx, param->name, param->choices, v->as.string, &choice);
  return status == LUC_OK ? LUC_OK : luc__failed_as(ctx, status, who);
}
