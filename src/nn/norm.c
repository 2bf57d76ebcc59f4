/* The normalizing layers of torch.nn: BatchNorm and InstanceNorm, which may keep running
 * statistics, LayerNorm, RMSNorm, GroupNorm. */
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

/* Registers a parameter filled with one value, or an empty slot. */
static luc_status affine_parameter(luc_context *ctx, luc_module *m, const char *name, bool wanted,
                                   int ndim, const int64_t *sizes, double value) {
  if (!wanted) return luc_module_register_parameter(ctx, m, name, NULL);
  return new_filled(ctx, m, true, name, luc__config_dtype(ctx, m), ndim, sizes, value);
}

luc_status luc__batch_norm_build(luc_context *ctx, luc_module *m) {
  int64_t n = m->config[FEATURES].as.i;
  luc_dtype dtype = luc__config_dtype(ctx, m);
  LUC_CHECK(ctx, n >= 0, LUC_ERR_VALUE, "%s: num_features must not be negative (got %lld)",
            m->cls->name, (long long)n);
  bool affine = m->config[AFFINE].as.i, bias = affine && luc_module_config(m, "bias")->as.i;
  LUC_TRY(affine_parameter(ctx, m, "weight", affine, 1, &n, 1));
  LUC_TRY(affine_parameter(ctx, m, "bias", bias, 1, &n, 0));
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

/* _check_input_dim of a class of the host's that has its own. */
static luc_status check_own(luc_context *ctx, luc_module *m, luc_tensor *input, bool *checked) {
  const luc_host *host = &luc__nn_of(ctx)->host;
  *checked = false;
  if (!m->cls->host || host->check == NULL) return LUC_OK;
  return host->check(ctx, host->ud, m, input, checked);
}

/* Is input of one of these ranks? */
static luc_status check_rank(luc_context *ctx, luc_module *m, const luc_value *args, int least,
                             int most) {
  int ndim = args[0].as.tensor->ndim;
  bool checked;
  LUC_TRY(check_own(ctx, m, args[0].as.tensor, &checked));
  if (checked || (ndim >= least && ndim <= most)) return LUC_OK;
  if (least == most)
    return luc__fail(ctx, LUC_ERR_VALUE, "%s: expected %dD input (got %dD input)", m->cls->name,
                     least, ndim);
  return luc__fail(ctx, LUC_ERR_VALUE, "%s: expected %dD or %dD input (got %dD input)",
                   m->cls->name, least, most, ndim);
}

static luc_status batch_norm_of(luc_context *ctx, luc_module *m, int least, int most,
                                luc_value *args, luc_outputs *out) {
  LUC_TRY(check_rank(ctx, m, args, least, most));
  return batch_norm(ctx, m, args, out);
}

LUC_FORWARD_BY(batch_norm1d, batch_norm_of, 2, 3)
LUC_FORWARD_BY(batch_norm2d, batch_norm_of, 4, 4)
LUC_FORWARD_BY(batch_norm3d, batch_norm_of, 5, 5)

/* There are no process groups to synchronize with: BatchNorm of any rank. */
luc_status luc__sync_batch_norm_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                        luc_outputs *out) {
  luc_tensor *input = args[0].as.tensor;
  bool checked;
  LUC_TRY(check_own(ctx, m, input, &checked));
  LUC_CHECK(ctx, checked || input->ndim >= 2, LUC_ERR_VALUE,
            "%s: expected at least 2D input (got %dD input)", m->cls->name, input->ndim);
  LUC_CHECK(ctx, input->ndim < 2 || input->sizes[1] > 0, LUC_ERR_VALUE,
            "%s: number of input channels should be non-zero", m->cls->name);
  return batch_norm(ctx, m, args, out);
}

/* ---- InstanceNorm (constructed as BatchNorm is) ---- */

static luc_status call_instance_norm(luc_context *ctx, luc_module *m, luc_tensor *input,
                                     luc_tensor **out) {
  const luc_value *c = m->config;
  bool own_statistics = m->training || !c[TRACK].as.i;
  double momentum = luc_is_none(&c[MOMENTUM]) ? 0 : luc_as_double(&c[MOMENTUM]);
  return luc__op1(ctx, LUC_OP_instance_norm, out,
                  LUC_ARGS(luc_v_tensor(input), luc_v_tensor(luc_module_tensor(m, "running_mean")),
                           luc_v_tensor(luc_module_tensor(m, "running_var")),
                           luc_v_tensor(luc_module_tensor(m, "weight")),
                           luc_v_tensor(luc_module_tensor(m, "bias")), luc_v_bool(own_statistics),
                           luc_v_float(momentum), c[EPS]));
}

/* An input without a batch gets a batch of 1 for the call. */
static luc_status instance_norm(luc_context *ctx, luc_module *m, int k, luc_value *args,
                                luc_outputs *out) {
  luc_tensor *input = args[0].as.tensor, *batch = NULL, *y = NULL, *result;
  LUC_TRY(check_rank(ctx, m, args, k + 1, k + 2));
  bool batched = input->ndim != k + 1;
  LUC_CHECK(ctx, input->ndim > batched, LUC_ERR_VALUE,
            "%s: input has no channels (it has %d dimensions)", m->cls->name, input->ndim);
  int64_t features = m->config[FEATURES].as.i, channels = input->sizes[batched];
  LUC_CHECK(ctx, channels == features || !m->config[AFFINE].as.i, LUC_ERR_VALUE,
            "%s: expected input's size at dim=%d to match num_features (%lld), but got: %lld.",
            m->cls->name, 1 + batched, (long long)features, (long long)channels);
  luc_status status = LUC_OK;
  if (!batched) LUC_GO(luc__op1(ctx, LUC_OP_unsqueeze, &batch, LUC_ARGS(args[0], luc_v_int(0))));
  LUC_GO(call_instance_norm(ctx, m, batched ? input : batch, &y));
  if (batched) {
    result = luc__retain(y);
  } else {
    LUC_GO(luc__op1(ctx, LUC_OP_select, &result,
                    LUC_ARGS(luc_v_tensor(y), luc_v_int(0), luc_v_int(0))));
  }
  *out = (luc_outputs){1, {luc_v_tensor(result)}};
done:
  LUC_RELEASE(ctx, batch, y);
  return status;
}

LUC_FORWARD_BY(instance_norm1d, instance_norm, 1)
LUC_FORWARD_BY(instance_norm2d, instance_norm, 2)
LUC_FORWARD_BY(instance_norm3d, instance_norm, 3)

/* ---- LayerNorm, RMSNorm ---- */

/* ORDER LAYERNORM */
enum { SHAPE, LN_EPS, LN_AFFINE, LN_BIAS };

/* normalized_shape is kept as a list. Gives its length and its sizes. */
static luc_status take_shape(luc_context *ctx, luc_module *m, int *n, int64_t *sizes) {
  if (m->config[SHAPE].kind == LUC_INT) {
    luc_value list = luc_v_ints(&(int64_t){m->config[SHAPE].as.i}, 1);
    LUC_TRY(luc__module_set_config(ctx, m, SHAPE, &list));
  }
  *n = m->config[SHAPE].n;
  LUC_CHECK(ctx, *n >= 1 && *n <= LUC_MAX_DIMS, LUC_ERR_VALUE,
            "%s: normalized_shape must have 1 to %d sizes (got %d)", m->cls->name, LUC_MAX_DIMS,
            *n);
  luc__config_ints(m, SHAPE, *n, sizes);
  return LUC_OK;
}

luc_status luc__layer_norm_build(luc_context *ctx, luc_module *m) {
  int n;
  int64_t sizes[LUC_MAX_DIMS];
  LUC_TRY(take_shape(ctx, m, &n, sizes));
  bool affine = m->config[LN_AFFINE].as.i, bias = affine && m->config[LN_BIAS].as.i;
  LUC_TRY(affine_parameter(ctx, m, "weight", affine, n, sizes, 1));
  return affine_parameter(ctx, m, "bias", bias, n, sizes, 0);
}

luc_status luc__rms_norm_build(luc_context *ctx, luc_module *m) {
  int n;
  int64_t sizes[LUC_MAX_DIMS];
  LUC_TRY(take_shape(ctx, m, &n, sizes));
  return affine_parameter(ctx, m, "weight", m->config[LN_AFFINE].as.i, n, sizes, 1);
}

/* ---- GroupNorm. ORDER GROUPNORM ---- */

luc_status luc__group_norm_build(luc_context *ctx, luc_module *m) {
  enum { NUM_GROUPS, NUM_CHANNELS, GN_EPS, GN_AFFINE, GN_DEVICE, GN_DTYPE, GN_BIAS };
  int64_t groups = m->config[NUM_GROUPS].as.i, channels = m->config[NUM_CHANNELS].as.i;
  LUC_CHECK(ctx, groups > 0 && channels >= 0, LUC_ERR_VALUE,
            "%s: num_groups must be positive and num_channels not negative (got %lld, %lld)",
            m->cls->name, (long long)groups, (long long)channels);
  LUC_CHECK(ctx, channels % groups == 0, LUC_ERR_VALUE,
            "%s: num_channels must be divisible by num_groups (got %lld, %lld)", m->cls->name,
            (long long)channels, (long long)groups);
  bool affine = m->config[GN_AFFINE].as.i;
  LUC_TRY(affine_parameter(ctx, m, "weight", affine, 1, &channels, 1));
  return affine_parameter(ctx, m, "bias", affine && m->config[GN_BIAS].as.i, 1, &channels, 0);
}
