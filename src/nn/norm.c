/* BatchNorm1d, BatchNorm2d and LayerNorm (torch.nn). */
#include "nn/module.h"
#include "nn/reset.h"

/* ---- BatchNorm ---- */

/* ORDER BATCHNORM: the constructor's parameters. */
enum { FEATURES, EPS, MOMENTUM, AFFINE, TRACK };

static luc_status new_filled(luc_context *ctx, luc_module *m, bool parameter, const char *name,
                             luc_dtype dtype, int ndim, const int64_t *sizes, double value) {
  luc_tensor *t;
  if (parameter) {
    LUC_TRY(luc__new_parameter(ctx, m, name, dtype, ndim, sizes, &t));
  } else {
    LUC_TRY(luc__new_buffer(ctx, m, name, dtype, ndim, sizes, &t));
  }
  return luc__reset_fill(ctx, t, value);
}

luc_status luc__batch_norm_build(luc_context *ctx, luc_module *m) {
  int64_t n = m->config[FEATURES].as.i;
  luc_dtype dtype = luc__config_dtype(ctx, m);
  LUC_CHECK(ctx, n >= 0, LUC_ERR_VALUE, "%s: num_features must not be negative (got %lld)",
            m->cls->name, (long long)n);
  if (m->config[AFFINE].as.i) {
    LUC_TRY(new_filled(ctx, m, true, "weight", dtype, 1, &n, 1));
    LUC_TRY(new_filled(ctx, m, true, "bias", dtype, 1, &n, 0));
  } else {
    LUC_TRY(luc_module_register_parameter(ctx, m, "weight", NULL));
    LUC_TRY(luc_module_register_parameter(ctx, m, "bias", NULL));
  }
  if (m->config[TRACK].as.i) {
    LUC_TRY(new_filled(ctx, m, false, "running_mean", dtype, 1, &n, 0));
    LUC_TRY(new_filled(ctx, m, false, "running_var", dtype, 1, &n, 1));
    return new_filled(ctx, m, false, "num_batches_tracked", LUC_INT64, 0, NULL, 0);
  }
  LUC_TRY(luc_module_register_buffer(ctx, m, "running_mean", NULL, true));
  LUC_TRY(luc_module_register_buffer(ctx, m, "running_var", NULL, true));
  return luc_module_register_buffer(ctx, m, "num_batches_tracked", NULL, true);
}

/* Counts a training batch; without a momentum the average is cumulative. */
static luc_status count_batch(luc_context *ctx, const luc_module *m, double *momentum) {
  luc_tensor *counter = luc_module_tensor(m, "num_batches_tracked");
  double batches;
  if (!counter) return LUC_OK;
  LUC_TRY(luc_call_inplace(ctx, LUC_OP_add, LUC_ARGS(luc_v_tensor(counter), luc_v_int(1))));
  if (!luc_is_none(&m->config[MOMENTUM])) return LUC_OK;
  LUC_TRY(luc_tensor_item(ctx, counter, &batches));
  *momentum = 1 / batches;
  return LUC_OK;
}

static luc_status batch_norm(luc_context *ctx, luc_module *m, luc_value *args, luc_outputs *out) {
  const luc_value *c = m->config;
  luc_tensor *mean = luc_module_tensor(m, "running_mean"), *result;
  luc_tensor *var = luc_module_tensor(m, "running_var");
  bool tracks = c[TRACK].as.i, own_statistics = m->training || (!mean && !var);
  double momentum = luc_is_none(&c[MOMENTUM]) ? 0 : luc_as_double(&c[MOMENTUM]);
  if (m->training && tracks) LUC_TRY(count_batch(ctx, m, &momentum));
  if (m->training && !tracks) mean = var = NULL;
  LUC_TRY(luc__op1(ctx, LUC_OP_batch_norm, &result,
                   LUC_ARGS(args[0], luc_v_tensor(mean), luc_v_tensor(var),
                            luc_v_tensor(luc_module_tensor(m, "weight")),
                            luc_v_tensor(luc_module_tensor(m, "bias")), luc_v_bool(own_statistics),
                            luc_v_float(momentum), c[EPS])));
  *out = (luc_outputs){1, {luc_v_tensor(result)}};
  return LUC_OK;
}

luc_status luc__batch_norm1d_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                     luc_outputs *out) {
  int ndim = args[0].as.tensor->ndim;
  LUC_CHECK(ctx, ndim == 2 || ndim == 3, LUC_ERR_VALUE,
            "%s: expected 2D or 3D input (got %dD input)", m->cls->name, ndim);
  return batch_norm(ctx, m, args, out);
}

luc_status luc__batch_norm2d_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                     luc_outputs *out) {
  int ndim = args[0].as.tensor->ndim;
  LUC_CHECK(ctx, ndim == 4, LUC_ERR_VALUE, "%s: expected 4D input (got %dD input)", m->cls->name,
            ndim);
  return batch_norm(ctx, m, args, out);
}

/* ---- LayerNorm ---- */

/* ORDER LAYERNORM */
enum { SHAPE, LN_EPS, LN_AFFINE, LN_BIAS };

luc_status luc__layer_norm_build(luc_context *ctx, luc_module *m) {
  luc_dtype dtype = luc__config_dtype(ctx, m);
  if (m->config[SHAPE].kind == LUC_INT) {
    luc_value list = luc_v_ints(&(int64_t){m->config[SHAPE].as.i}, 1);
    LUC_TRY(luc__module_set_config(ctx, m, SHAPE, &list));
  }
  int n = m->config[SHAPE].n;
  int64_t sizes[LUC_MAX_DIMS];
  LUC_CHECK(ctx, n >= 1 && n <= LUC_MAX_DIMS, LUC_ERR_VALUE,
            "%s: normalized_shape must have 1 to %d sizes (got %d)", m->cls->name, LUC_MAX_DIMS, n);
  luc__config_ints(m, SHAPE, n, sizes);
  bool affine = m->config[LN_AFFINE].as.i, bias = affine && m->config[LN_BIAS].as.i;
  if (affine) LUC_TRY(new_filled(ctx, m, true, "weight", dtype, n, sizes, 1));
  if (!affine) LUC_TRY(luc_module_register_parameter(ctx, m, "weight", NULL));
  if (bias) return new_filled(ctx, m, true, "bias", dtype, n, sizes, 0);
  return luc_module_register_parameter(ctx, m, "bias", NULL);
}
