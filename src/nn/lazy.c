/* Lazy layers: built like their real class but for the shapes, which the first input tells. Then a
 * complete module of the real class is made beside, its tensors' memory goes to the placeholders,
 * which keep their identity, and the module takes on the real class. */
#include <string.h>

#include "nn/module.h"
#include "nn/reset.h"

/* Where a class finds its first argument: in an input of `least` to `most` dimensions at `dim`
 * (negative: from the end); once that is loaded, in parameter `weight` at weight_dim, times groups
 * where there are any. */
typedef struct lazy_rule {
  const char *name;
  int least, most, dim, weight_dim;
} lazy_rule;

static const lazy_rule rules[] = {
    {"LazyLinear", 1, LUC_MAX_DIMS, -1, 1},
    {"LazyConv1d", 2, 3, -2, 1},
    {"LazyConv2d", 3, 4, -3, 1},
    {"LazyConv3d", 4, 5, -4, 1},
    {"LazyConvTranspose1d", 2, 3, -2, 0},
    {"LazyConvTranspose2d", 3, 4, -3, 0},
    {"LazyConvTranspose3d", 4, 5, -4, 0},
    {"LazyBatchNorm1d", 2, 3, 1, 0},
    {"LazyBatchNorm2d", 4, 4, 1, 0},
    {"LazyBatchNorm3d", 5, 5, 1, 0},
    {"LazyInstanceNorm1d", 2, 3, -2, 0},
    {"LazyInstanceNorm2d", 3, 4, -3, 0},
    {"LazyInstanceNorm3d", 4, 5, -4, 0},
};

static const lazy_rule *find_rule(const luc_module *m) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (!strcmp(rules[i].name, m->cls->core->name)) return &rules[i];
  return NULL;
}

/* Finds the next uninitialized tensor that is m's own. *slot and *at, 0 to begin with, say where it
 * goes on. */
static luc_map_entry *next_uninitialized(const luc_module *m, int *slot, uint32_t *at) {
  for (; *slot <= LUC_SLOT_BUFFER; ++*slot, *at = 0) {
    luc_map_entry *e;
    while ((e = luc__map_next(&m->slots[*slot], at)) != NULL)
      if (e->value != NULL && luc_tensor_is_uninitialized(e->value)) return e;
  }
  return NULL;
}

bool luc_module_has_uninitialized(const luc_module *m) {
  int slot = LUC_SLOT_PARAMETER;
  uint32_t at = 0;
  return m != NULL && next_uninitialized(m, &slot, &at) != NULL;
}

luc_status luc__module_become(luc_context *ctx, luc_module *m, const luc_class *cls) {
  const luc_class *old = m->cls;
  LUC_CHECK(ctx, luc__config_class(old->core) == luc__config_class(cls->core), LUC_ERR_TYPE,
            "%s: cannot become a %s, which is not made of a %s", old->name, cls->name,
            luc__config_class(old->core)->name);
  luc__class_retain(cls);
  m->cls = cls;
  luc__module_impure(ctx, m, (int)cls->host - (int)old->host);
  luc__class_release(ctx, old);
  return LUC_OK;
}

/* ---- the size ---- */

static luc_status check_rank(luc_context *ctx, const luc_module *m, const lazy_rule *rule,
                             const luc_tensor *input) {
  int n = input->ndim;
  char shape[LUC_SHAPE_TEXT];
  if (n >= rule->least && n <= rule->most) return LUC_OK;
  luc__tensor_shape_text(shape, input);
  const char *name = m->cls->name;
  if (rule->least == rule->most)
    return luc__fail(ctx, LUC_ERR_VALUE, "%s: expected %dD input (got %dD input)", name,
                     rule->least, n);
  if (rule->dim == 1)
    return luc__fail(ctx, LUC_ERR_VALUE, "%s: expected %dD or %dD input (got %dD input)", name,
                     rule->least, rule->most, n);
  if (rule->dim == -1)
    return luc__fail(ctx, LUC_ERR_SHAPE, "%s: input must have at least 1 dimension (got %s)", name,
                     shape);
  return luc__fail(ctx, LUC_ERR_SHAPE,
                   "%s: Expected %dD (unbatched) or %dD (batched) input to %s, but got input of "
                   "size: %s",
                   name, rule->least, rule->most, name, shape);
}

/* The size that a loaded weight shows, or -1 if none was loaded. */
static int64_t size_of_weight(const luc_module *m, const lazy_rule *rule) {
  const luc_tensor *weight = luc_module_tensor(m, "weight");
  if (weight == NULL || luc_tensor_is_uninitialized(weight) || weight->ndim <= rule->weight_dim)
    return -1;
  const luc_value *groups = rule->weight_dim == 1 ? luc_module_config(m, "groups") : NULL;
  return weight->sizes[rule->weight_dim] * (groups != NULL ? groups->as.i : 1);
}

static luc_status find_size(luc_context *ctx, const luc_module *m, const luc_tensor *input,
                            int64_t *size) {
  const lazy_rule *rule = find_rule(m);
  LUC_CHECK(ctx, rule != NULL, LUC_ERR_STATE, "%s: is not lazy", m->cls->name);
  LUC_CHECK(ctx, m->config != NULL, LUC_ERR_STATE, "%s: %s.__init was not called", m->cls->name,
            m->cls->core->name);
  *size = size_of_weight(m, rule);
  if (*size >= 0) return LUC_OK;
  LUC_TRY(check_rank(ctx, m, rule, input));
  *size = input->sizes[rule->dim < 0 ? input->ndim + rule->dim : rule->dim];
  return LUC_OK;
}

/* ---- the tensors ---- */

luc_status luc__lazy_initialize(luc_context *ctx, luc_module *m, const luc_tensor *input) {
  int64_t size = 0;
  LUC_TRY(find_size(ctx, m, input, &size));
  int slot = LUC_SLOT_PARAMETER;
  uint32_t at = 0;
  luc_map_entry *e = next_uninitialized(m, &slot, &at);
  if (e != NULL) {
    luc_module *real;
    luc_value first = luc_v_int(size);
    LUC_TRY(luc__module_like(ctx, m, &first, luc_tensor_dtype(e->value), &real));
    for (; e != NULL; e = next_uninitialized(m, &slot, &at)) {
      luc_map_entry *from = luc__map_find(&real->slots[slot], e->key, e->length);
      if (from != NULL && from->value != NULL) luc__tensor_initialize(ctx, e->value, from->value);
    }
    luc__module_unref(ctx, real);
  }
  m->config[0] = luc_v_int(size);
  luc__config_changed(ctx, m);
  return LUC_OK;
}

luc_status luc__lazy_forward(luc_context *ctx, luc_module *m, luc_value *args, luc_outputs *out) {
  const luc_class *real = luc__config_class(m->cls->core);
  LUC_TRY(luc__lazy_initialize(ctx, m, args[0].as.tensor));
  LUC_CHECK(ctx, !luc_module_has_uninitialized(m), LUC_ERR_STATE,
            "%s: module %s has not been fully initialized", m->cls->name, m->cls->name);
  LUC_TRY(luc__module_become(ctx, m, real));
  return real->def->forward(ctx, m, args, out);
}
