/* Default initializations, through the random operators. Tensors without a shape are left alone;
 * while the context skips initialization all are, and no random number is drawn. */
#include "nn/reset.h"

#include <math.h>
#include <string.h>

#include "nn/module.h"

static luc_status unrecorded(luc_context *ctx, luc_opid op, luc_value *args, int nargs) {
  if (luc_tensor_is_uninitialized(args[0].as.tensor))
    return LUC_OK; /* it is initialized once it has a shape */
  const luc_nn *nn = luc__nn_of(ctx);
  bool parameter = args[0].as.tensor->flags & LUC_TF_PARAMETER;
  if (nn->skip_init || (nn->skip_parameters && parameter)) return LUC_OK;
  bool mode = ctx->grad_mode;
  ctx->grad_mode = false;
  luc_status status = luc_call_inplace(ctx, op, args, nargs);
  ctx->grad_mode = mode;
  return status;
}

luc_status luc__reset_fill(luc_context *ctx, luc_tensor *t, double value) {
  return unrecorded(ctx, LUC_OP_fill_, LUC_ARGS(luc_v_tensor(t), luc_v_float(value)));
}

luc_status luc__reset_normal(luc_context *ctx, luc_tensor *t, double std) {
  return unrecorded(ctx, LUC_OP_normal_,
                    LUC_ARGS(luc_v_tensor(t), luc_v_float(0), luc_v_float(std)));
}

luc_status luc__reset_uniform(luc_context *ctx, luc_tensor *t, double bound) {
  return unrecorded(ctx, LUC_OP_uniform_,
                    LUC_ARGS(luc_v_tensor(t), luc_v_float(-bound), luc_v_float(bound)));
}

luc_status luc__reset_kaiming(luc_context *ctx, luc_tensor *weight, luc_tensor *bias) {
  double a = sqrt(5), fan_in = 1;
  for (int d = 1; d < weight->ndim; d++) fan_in *= (double)weight->sizes[d];
  double std = sqrt(2.0 / (1 + a * a)) / sqrt(fan_in);
  if (weight->numel > 0) LUC_TRY(luc__reset_uniform(ctx, weight, sqrt(3.0) * std));
  if (!bias) return LUC_OK;
  return luc__reset_uniform(ctx, bias, fan_in > 0 ? 1 / sqrt(fan_in) : 0);
}

/* ---- whole modules ---- */

luc_status luc__module_like(luc_context *ctx, const luc_module *m, const luc_value *first,
                            luc_dtype dtype, luc_module **out) {
  const luc_class *cls = luc__config_class(m->cls->core);
  luc_value args[LUC_MAX_PARAMS];
  int n = cls->constructor->nparams;
  if (n > 0) memcpy(args, m->config, (size_t)n * sizeof *args);
  if (first) args[0] = *first;
  if (cls->dtype_param >= 0) args[cls->dtype_param] = luc_v_dtype(dtype);
  LUC_TRY(luc__module_create(ctx, cls, out));
  luc_status status = luc__module_build(ctx, *out, cls, args, n);
  if (status != LUC_OK) luc__module_unref(ctx, *out);
  return status;
}

/* The first parameter or buffer of floats, or NULL. */
static const luc_tensor *first_tensor(const luc_module *m) {
  luc_map_entry *e;
  for (int slot = LUC_SLOT_PARAMETER; slot <= LUC_SLOT_BUFFER; slot++)
    for (uint32_t at = 0; (e = luc__map_next(&m->slots[slot], &at)) != NULL;)
      if (e->value != NULL && luc__dtype_is_float(luc_tensor_dtype(e->value))) return e->value;
  return NULL;
}

/* Copies the tensors that both modules have; with `check` it only compares sizes, which is done
 * first so that no copy is left half done. */
static luc_status copy_values(luc_context *ctx, luc_module *to, const luc_module *from,
                              bool check) {
  luc_map_entry *e;
  for (int slot = LUC_SLOT_PARAMETER; slot <= LUC_SLOT_BUFFER; slot++)
    for (uint32_t at = 0; (e = luc__map_next(&to->slots[slot], &at)) != NULL;) {
      luc_map_entry *other = luc__map_find(&from->slots[slot], e->key, e->length);
      if (e->value == NULL || other == NULL || other->value == NULL) continue;
      LUC_CHECK(ctx, !check || luc__same_sizes(e->value, other->value), LUC_ERR_SHAPE,
                "reset_parameters: %s of %s has not the shape it was made with", e->key,
                to->cls->name);
      if (!check)
        LUC_TRY(unrecorded(ctx, LUC_OP_copy_,
                           LUC_ARGS(luc_v_tensor(e->value), luc_v_tensor(other->value))));
    }
  return LUC_OK;
}

luc_status luc_module_reset_parameters(luc_context *ctx, luc_module *m) {
  LUC_NEED(ctx, m);
  const luc_tensor *t = first_tensor(m);
  luc_module *fresh;
  if (t == NULL || m->config == NULL || luc_module_has_uninitialized(m)) return LUC_OK;
  const luc_class_def *def = luc__config_class(m->cls->core)->def;
  if (def->build == luc__rnn_build || def->build == luc__rnn_cell_build)
    return luc__rnn_reset(ctx, m);
  LUC_TRY(luc__module_like(ctx, m, NULL, luc_tensor_dtype(t), &fresh));
  luc_status status = copy_values(ctx, m, fresh, true);
  if (status == LUC_OK) status = copy_values(ctx, m, fresh, false);
  luc__module_unref(ctx, fresh);
  return status;
}
