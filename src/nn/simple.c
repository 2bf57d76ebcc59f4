/* Build functions of layers that are one operator, where the constructor has something to check, to
 * fill in or to keep. */
#include <math.h>

#include "nn/module.h"
#include "nn/reset.h"
#include "ops/loss.h"

/* Tensors given to the constructor (weight, pos_weight) become buffers of their names. */
static luc_status register_tensors(luc_context *ctx, luc_module *m) {
  const luc_schema *s = m->cls->core->constructor;
  for (int p = 0; p < s->nparams; p++)
    if (s->params[p].type == LUC_T_TENSOR)
      LUC_TRY(luc_module_register_buffer(ctx, m, s->params[p].name, luc_as_tensor(&m->config[p]),
                                         true));
  return LUC_OK;
}

/* Pooling: a stride that was not given is the kernel's size. ORDER POOL */
luc_status luc__pool_build(luc_context *ctx, luc_module *m) {
  enum { KERNEL, STRIDE };
  if (!luc_is_none(&m->config[STRIDE])) return LUC_OK;
  luc_value kernel = m->config[KERNEL];
  return luc__module_set_config(ctx, m, STRIDE, &kernel);
}

luc_status luc__channel_shuffle_build(luc_context *ctx, luc_module *m) {
  LUC_CHECK(ctx, m->config[0].as.i > 0, LUC_ERR_VALUE,
            "%s: groups must be a positive integer (got %lld)", m->cls->name,
            (long long)m->config[0].as.i);
  return LUC_OK;
}

/* Those that keep (and print) lists: kernel_size, stride and padding, one number each for all
 * dimensions. */
luc_status luc__pool_tuples_build(luc_context *ctx, luc_module *m) {
  int64_t entries[3];
  LUC_TRY(luc__pool_build(ctx, m));
  for (int p = 0; p < 3; p++) {
    int n = m->cls->core->constructor->params[p].list;
    luc__config_ints(m, p, n, entries);
    luc_value list = luc_v_ints(entries, n);
    LUC_TRY(luc__module_set_config(ctx, m, p, &list));
  }
  return LUC_OK;
}

/* ORDER FRACTIONAL */
luc_status luc__fractional_build(luc_context *ctx, luc_module *m) {
  enum { KERNEL, SIZE, RATIO };
  const luc_value *ratio = &m->config[RATIO];
  bool size = !luc_is_none(&m->config[SIZE]), ratios = !luc_is_none(ratio);
  LUC_CHECK(ctx, size || ratios, LUC_ERR_VALUE,
            "%s: requires specifying either an output size, or a pooling ratio", m->cls->name);
  LUC_CHECK(ctx, !size || !ratios, LUC_ERR_VALUE,
            "%s: only one of output_size and output_ratio may be specified", m->cls->name);
  int n = ratios ? (ratio->kind == LUC_FLOATS ? ratio->n : 1) : 0;
  for (int i = 0; i < n; i++) {
    double r = ratio->kind == LUC_FLOATS ? ratio->as.floats[i] : luc_as_double(ratio);
    LUC_CHECK(ctx, r > 0 && r < 1, LUC_ERR_VALUE,
              "%s: output_ratio must be between 0 and 1 (got %g)", m->cls->name, r);
  }
  return register_tensors(ctx, m); /* the samples become a buffer */
}

luc_status luc__lp_build(luc_context *ctx, luc_module *m) {
  LUC_CHECK(ctx, luc_as_double(&m->config[0]) != 0, LUC_ERR_VALUE,
            "%s: norm_type must be a non-zero value, but got 0", m->cls->name);
  return LUC_OK;
}

luc_status luc__dropout_build(luc_context *ctx, luc_module *m) {
  double p = luc_as_double(&m->config[0]);
  LUC_CHECK(ctx, p >= 0 && p <= 1, LUC_ERR_VALUE,
            "%s: dropout probability has to be between 0 and 1, but got %g", m->cls->name, p);
  return LUC_OK;
}

/* Upsample: a list of one size or scale is a number for all dimensions; scales are floats. */
luc_status luc__upsample_build(luc_context *ctx, luc_module *m) {
  enum { SIZE, SCALE };
  const luc_value *size = &m->config[SIZE];
  if (size->kind == LUC_INTS && size->n == 1) {
    luc_value one = luc_v_int(size->as.ints[0]);
    LUC_TRY(luc__module_set_config(ctx, m, SIZE, &one));
  }
  const luc_value *scale = &m->config[SCALE];
  if (luc_is_none(scale) || (scale->kind == LUC_FLOATS && scale->n != 1)) return LUC_OK;
  luc_value one =
      luc_v_float(scale->kind == LUC_FLOATS ? scale->as.floats[0] : luc_as_double(scale));
  return luc__module_set_config(ctx, m, SCALE, &one);
}

/* Hardtanh's deprecated names of its bounds come first where they are given. ORDER HARDTANH */
luc_status luc__hardtanh_build(luc_context *ctx, luc_module *m) {
  enum { MIN, MAX, INPLACE, MIN_VALUE, MAX_VALUE };
  for (int i = 0; i < 2; i++) {
    luc_value old = m->config[MIN_VALUE + i];
    if (!luc_is_none(&old)) LUC_TRY(luc__module_set_config(ctx, m, MIN + i, &old));
  }
  double low = luc_as_double(&m->config[MIN]), high = luc_as_double(&m->config[MAX]);
  LUC_CHECK(ctx, high > low, LUC_ERR_VALUE,
            "Hardtanh: max_val must be above min_val (got %g and %g)", low, high);
  return LUC_OK;
}

/* PReLU: a slope for all channels, or one for each. ORDER PRELU */
luc_status luc__prelu_build(luc_context *ctx, luc_module *m) {
  enum { COUNT, INIT };
  luc_tensor *weight;
  LUC_TRY(luc__new_parameter(ctx, m, "weight", luc__config_dtype(ctx, m), 1, &m->config[COUNT].as.i,
                             &weight));
  return luc__reset_fill(ctx, weight, luc_as_double(&m->config[INIT]));
}

/* Softmax2d: over the channels of [N, C, H, W] or [C, H, W]. */
luc_status luc__softmax2d_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                  luc_outputs *out) {
  luc_tensor *input = args[0].as.tensor, *result;
  (void)m;
  char shape[LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, input->ndim == 3 || input->ndim == 4, LUC_ERR_SHAPE,
            "Softmax2d: expected input to be 3D or 4D, but got a %dD tensor (input %s)",
            input->ndim, luc__tensor_shape_text(shape, input));
  LUC_TRY(luc__op1(ctx, LUC_OP_softmax, &result, LUC_ARGS(args[0], luc_v_int(-3))));
  *out = (luc_outputs){1, {luc_v_tensor(result)}};
  return LUC_OK;
}

/* Losses: their weights become buffers. PyTorch's deprecated size_average and reduce, where they
 * are given, become what reduction is. */
luc_status luc__loss_build(luc_context *ctx, luc_module *m) {
  static const char *const names[] = {
      [LUC_REDUCE_NONE] = "none", [LUC_REDUCE_MEAN] = "mean", [LUC_REDUCE_SUM] = "sum"};
  const luc_schema *s = m->cls->core->constructor;
  const int average = luc__schema_find(s, "size_average"), reduce = luc__schema_find(s, "reduce");
  const int legacy = luc__loss_legacy(&m->config[average], &m->config[reduce]);
  if (legacy >= 0) {
    const luc_value none = luc_v_none();
    const luc_value reduction = {.kind = LUC_STRING, .as.string = names[legacy]};
    LUC_TRY(luc__module_set_config(ctx, m, luc__schema_find(s, "reduction"), &reduction));
    LUC_TRY(luc__module_set_config(ctx, m, average, &none));
    LUC_TRY(luc__module_set_config(ctx, m, reduce, &none));
  }
  return register_tensors(ctx, m);
}

/* ORDER MULTIMARGIN */
luc_status luc__multi_margin_build(luc_context *ctx, luc_module *m) {
  enum { P, MARGIN, WEIGHT };
  const luc_tensor *weight = luc_as_tensor(&m->config[WEIGHT]);
  LUC_CHECK(ctx, m->config[P].as.i == 1 || m->config[P].as.i == 2, LUC_ERR_VALUE,
            "MultiMarginLoss: only p == 1 and p == 2 supported (got %lld)",
            (long long)m->config[P].as.i);
  LUC_CHECK(ctx, weight == NULL || weight->ndim == 1, LUC_ERR_SHAPE,
            "MultiMarginLoss: expected weight to be None or 1D tensor, got %dD instead",
            weight->ndim);
  return luc__loss_build(ctx, m);
}

/* ORDER TRIPLET */
luc_status luc__triplet_build(luc_context *ctx, luc_module *m) {
  double margin = luc_as_double(&m->config[0]);
  LUC_CHECK(ctx, margin > 0, LUC_ERR_VALUE,
            "TripletMarginLoss: expected margin to be greater than 0, got %g instead", margin);
  return luc__loss_build(ctx, m);
}

/* Bilinear: weight [out, in1, in2]. ORDER BILINEAR */
luc_status luc__bilinear_build(luc_context *ctx, luc_module *m) {
  enum { IN1, IN2, OUT, BIAS };
  int64_t sizes[3] = {m->config[OUT].as.i, m->config[IN1].as.i, m->config[IN2].as.i};
  luc_dtype dtype = luc__config_dtype(ctx, m);
  luc_tensor *weight, *bias;
  LUC_CHECK(ctx, sizes[1] > 0, LUC_ERR_VALUE, "Bilinear: in1_features must be > 0, but got %lld",
            (long long)sizes[1]);
  double bound = 1 / sqrt((double)sizes[1]);
  LUC_TRY(luc__new_parameter(ctx, m, "weight", dtype, 3, sizes, &weight));
  LUC_TRY(luc__reset_uniform(ctx, weight, bound));
  if (!m->config[BIAS].as.i) return luc_module_register_parameter(ctx, m, "bias", NULL);
  LUC_TRY(luc__new_parameter(ctx, m, "bias", dtype, 1, sizes, &bias));
  return luc__reset_uniform(ctx, bias, bound);
}

luc_status luc__bilinear_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                 luc_outputs *out) {
  luc_tensor *weight, *result;
  LUC_TRY(luc__module_need(ctx, m, "weight", &weight));
  LUC_TRY(luc__op1(ctx, LUC_OP_bilinear, &result,
                   LUC_ARGS(args[0], args[1], luc_v_tensor(weight),
                            luc_v_tensor(luc_module_tensor(m, "bias")))));
  *out = (luc_outputs){1, {luc_v_tensor(result)}};
  return LUC_OK;
}
