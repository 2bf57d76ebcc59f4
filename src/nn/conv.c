/* Conv1d to Conv3d and ConvTranspose1d to 3d (torch.nn). The constructor's lists are kept written
 * out, one number a dimension, as PyTorch keeps and prints them. */
#include <string.h>

#include "nn/module.h"
#include "nn/reset.h"

/* ORDER CONV: the constructor's parameters, and where a transposed one has others. */
enum { IN, OUT, KERNEL, STRIDE, PADDING, DILATION, GROUPS, BIAS, PADDING_MODE };
enum { T_OUTPUT_PADDING = DILATION, T_DILATION = PADDING_MODE, T_PADDING_MODE };
enum { MAX_SPATIAL = 3 };

static luc_status check(luc_context *ctx, const luc_module *m) {
  const char *name = m->cls->name;
  const luc_value *c = m->config;
  int64_t groups = c[GROUPS].as.i;
  LUC_CHECK(ctx, groups > 0, LUC_ERR_VALUE, "%s: groups must be a positive integer (got %lld)",
            name, (long long)groups);
  LUC_CHECK(ctx, c[IN].as.i >= 0 && c[OUT].as.i >= 0, LUC_ERR_VALUE,
            "%s: in_channels and out_channels must not be negative (got %lld, %lld)", name,
            (long long)c[IN].as.i, (long long)c[OUT].as.i);
  LUC_CHECK(ctx, c[IN].as.i % groups == 0, LUC_ERR_VALUE,
            "%s: in_channels must be divisible by groups (got %lld, %lld)", name,
            (long long)c[IN].as.i, (long long)groups);
  LUC_CHECK(ctx, c[OUT].as.i % groups == 0, LUC_ERR_VALUE,
            "%s: out_channels must be divisible by groups (got %lld, %lld)", name,
            (long long)c[OUT].as.i, (long long)groups);
  return LUC_OK;
}

static luc_status check_padding(luc_context *ctx, const luc_module *m, int k) {
  const char *name = m->cls->name, *padding = m->config[PADDING].as.string;
  if (m->config[PADDING].kind != LUC_STRING) return LUC_OK;
  bool same = !strcmp(padding, "same");
  LUC_CHECK(ctx, same || !strcmp(padding, "valid"), LUC_ERR_VALUE,
            "%s: Invalid padding string '%.40s', should be one of same, valid", name, padding);
  int64_t stride[MAX_SPATIAL];
  luc__config_ints(m, STRIDE, k, stride);
  for (int d = 0; d < k; d++)
    LUC_CHECK(ctx, !same || stride[d] == 1, LUC_ERR_VALUE,
              "%s: padding='same' is not supported for strided convolutions", name);
  return LUC_OK;
}

/* Writes a list option out to k numbers, each at least `least`. */
static luc_status write_out(luc_context *ctx, luc_module *m, int option, int k, int64_t least) {
  int64_t v[MAX_SPATIAL];
  if (m->config[option].kind == LUC_STRING) return LUC_OK;
  luc__config_ints(m, option, k, v);
  for (int d = 0; d < k; d++)
    LUC_CHECK(ctx, v[d] >= least, LUC_ERR_VALUE, "%s: %s must be at least %lld (got %lld)",
              m->cls->name, luc__config_class(m->cls->core)->constructor->params[option].name,
              (long long)least, (long long)v[d]);
  luc_value list = luc_v_ints(v, k);
  return luc__module_set_config(ctx, m, option, &list);
}

/* weight [sizes[0], sizes[1], kernel...] and bias [out_channels]. */
static luc_status make_parameters(luc_context *ctx, luc_module *m, int k, int64_t *sizes) {
  luc_dtype dtype = luc__config_dtype(ctx, m);
  luc_tensor *weight, *bias = NULL;
  luc__config_ints(m, KERNEL, k, sizes + 2);
  LUC_TRY(luc__new_parameter(ctx, m, "weight", dtype, 2 + k, sizes, &weight));
  if (m->config[BIAS].as.i) {
    LUC_TRY(luc__new_parameter(ctx, m, "bias", dtype, 1, &m->config[OUT].as.i, &bias));
  } else {
    LUC_TRY(luc_module_register_parameter(ctx, m, "bias", NULL));
  }
  return luc__reset_kaiming(ctx, weight, bias);
}

static luc_status build(luc_context *ctx, luc_module *m, int k) {
  LUC_TRY(check(ctx, m));
  LUC_TRY(check_padding(ctx, m, k));
  LUC_TRY(write_out(ctx, m, KERNEL, k, 1));
  LUC_TRY(write_out(ctx, m, STRIDE, k, 1));
  LUC_TRY(write_out(ctx, m, PADDING, k, 0));
  LUC_TRY(write_out(ctx, m, DILATION, k, 1));
  const luc_value *c = m->config;
  int64_t sizes[2 + MAX_SPATIAL] = {c[OUT].as.i, c[IN].as.i / c[GROUPS].as.i};
  return make_parameters(ctx, m, k, sizes);
}

LUC_BUILD_BY(conv1d, build, 1)
LUC_BUILD_BY(conv2d, build, 2)
LUC_BUILD_BY(conv3d, build, 3)

/* The input with its borders filled as padding_mode says. 'same' puts an odd cell at the end. */
static luc_status pad_input(luc_context *ctx, const luc_module *m, int k, luc_tensor *input,
                            luc_tensor **out) {
  int64_t before[MAX_SPATIAL], after[MAX_SPATIAL], sides[2 * MAX_SPATIAL];
  int64_t kernel[MAX_SPATIAL], dilation[MAX_SPATIAL];
  const luc_value *padding = &m->config[PADDING];
  luc__config_ints(m, KERNEL, k, kernel);
  luc__config_ints(m, DILATION, k, dilation);
  for (int d = 0; d < k; d++) {
    int64_t total = dilation[d] * (kernel[d] - 1);
    bool same = padding->kind == LUC_STRING && !strcmp(padding->as.string, "same");
    before[d] = padding->kind == LUC_INTS ? padding->as.ints[d] : same ? total / 2 : 0;
    after[d] = same ? total - before[d] : before[d];
    sides[2 * (k - 1 - d)] = before[d];
    sides[2 * (k - 1 - d) + 1] = after[d];
  }
  return luc__op1(ctx, LUC_OP_pad, out,
                  LUC_ARGS(luc_v_tensor(input), luc_v_ints(sides, 2 * k), m->config[PADDING_MODE]));
}

static luc_status forward(luc_context *ctx, luc_module *m, luc_opid op, int k, bool relu,
                          luc_value *args, luc_outputs *out) {
  const luc_value *c = m->config;
  static const int64_t nought[MAX_SPATIAL] = {0};
  luc_tensor *weight, *padded = NULL, *result = NULL, *input = args[0].as.tensor;
  luc_value padding = c[PADDING];
  LUC_TRY(luc__module_need(ctx, m, "weight", &weight));
  if (strcmp(c[PADDING_MODE].as.string, "zeros") != 0) {
    LUC_TRY(pad_input(ctx, m, k, input, &padded));
    input = padded;
    padding = luc_v_ints(nought, k);
  }
  luc_value v[LUC_MAX_PARAMS] = {luc_v_tensor(input),
                                 luc_v_tensor(weight),
                                 luc_v_tensor(luc_module_tensor(m, "bias")),
                                 c[STRIDE],
                                 padding,
                                 c[DILATION],
                                 c[GROUPS],
                                 luc_v_int(k)};
  luc_status status = luc__op1(ctx, relu ? LUC_OP_conv_relu : op, &result, v, relu ? 8 : 7);
  if (status != LUC_OK) luc__call_failed(ctx, op, status);
  luc_tensor_release(ctx, padded);
  if (status == LUC_OK) *out = (luc_outputs){1, {luc_v_tensor(result)}};
  return status;
}

LUC_FORWARD_BY(conv1d, forward, LUC_OP_conv1d, 1, false)
LUC_FORWARD_BY(conv2d, forward, LUC_OP_conv2d, 2, false)
LUC_FORWARD_BY(conv3d, forward, LUC_OP_conv3d, 3, false)
LUC_FORWARD_BY(conv1d_relu, forward, LUC_OP_conv1d, 1, true)
LUC_FORWARD_BY(conv2d_relu, forward, LUC_OP_conv2d, 2, true)
LUC_FORWARD_BY(conv3d_relu, forward, LUC_OP_conv3d, 3, true)

/* ---- transposed ---- */

static luc_status build_transposed(luc_context *ctx, luc_module *m, int k) {
  const luc_value *c = m->config;
  LUC_CHECK(ctx, !strcmp(c[T_PADDING_MODE].as.string, "zeros"), LUC_ERR_VALUE,
            "%s: Only \"zeros\" padding mode is supported for %s", m->cls->name, m->cls->name);
  LUC_TRY(check(ctx, m));
  LUC_TRY(write_out(ctx, m, KERNEL, k, 1));
  LUC_TRY(write_out(ctx, m, STRIDE, k, 1));
  LUC_TRY(write_out(ctx, m, PADDING, k, 0));
  LUC_TRY(write_out(ctx, m, T_OUTPUT_PADDING, k, 0));
  LUC_TRY(write_out(ctx, m, T_DILATION, k, 1));
  c = m->config;
  int64_t sizes[2 + MAX_SPATIAL] = {c[IN].as.i, c[OUT].as.i / c[GROUPS].as.i};
  return make_parameters(ctx, m, k, sizes);
}

LUC_BUILD_BY(conv_transpose1d, build_transposed, 1)
LUC_BUILD_BY(conv_transpose2d, build_transposed, 2)
LUC_BUILD_BY(conv_transpose3d, build_transposed, 3)

/* The output_padding that gives an output of this size, which may name its batch and channels. */
static luc_status padding_for(luc_context *ctx, const luc_module *m, int k, const luc_tensor *input,
                              const luc_value *size, int64_t *extra) {
  const luc_value *c = m->config;
  int lead = input->ndim == k + 2 ? 2 : 1;
  LUC_CHECK(ctx, size->n == k || size->n == k + lead, LUC_ERR_VALUE,
            "%s: for %dD input, output_size must have %d or %d elements (got %d)", m->cls->name,
            input->ndim, k, k + lead, size->n);
  const int64_t *wanted = size->as.ints + (size->n - k);
  int64_t least[MAX_SPATIAL], most[MAX_SPATIAL];
  bool fits = true;
  for (int d = 0; d < k; d++) {
    int64_t stride = c[STRIDE].as.ints[d], in = input->sizes[lead + d];
    least[d] = (in - 1) * stride - 2 * c[PADDING].as.ints[d] +
               c[T_DILATION].as.ints[d] * (c[KERNEL].as.ints[d] - 1) + 1;
    most[d] = least[d] + stride - 1;
    extra[d] = wanted[d] - least[d];
    fits = fits && wanted[d] >= least[d] && wanted[d] <= most[d];
  }
  char text[4][LUC_SHAPE_TEXT];
  LUC_CHECK(ctx, fits, LUC_ERR_VALUE,
            "%s: requested an output size of %s, but valid sizes range from %s to %s (for an input "
            "of %s)",
            m->cls->name, luc__shape_text(text[0], k, wanted), luc__shape_text(text[1], k, least),
            luc__shape_text(text[2], k, most), luc__shape_text(text[3], k, input->sizes + lead));
  return LUC_OK;
}

/* forward(input, output_size) */
static luc_status forward_transposed(luc_context *ctx, luc_module *m, luc_opid op, int k,
                                     luc_value *args, luc_outputs *out) {
  const luc_value *c = m->config;
  luc_tensor *weight, *result, *input = args[0].as.tensor;
  luc_value output_padding = c[T_OUTPUT_PADDING];
  int64_t extra[MAX_SPATIAL];
  LUC_TRY(luc__module_need(ctx, m, "weight", &weight));
  if (!luc_is_none(&args[1]) && (input->ndim == k + 1 || input->ndim == k + 2)) {
    LUC_TRY(padding_for(ctx, m, k, input, &args[1], extra));
    output_padding = luc_v_ints(extra, k);
  }
  LUC_TRY(
      luc__op1(ctx, op, &result,
               LUC_ARGS(args[0], luc_v_tensor(weight), luc_v_tensor(luc_module_tensor(m, "bias")),
                        c[STRIDE], c[PADDING], output_padding, c[GROUPS], c[T_DILATION])));
  *out = (luc_outputs){1, {luc_v_tensor(result)}};
  return LUC_OK;
}

LUC_FORWARD_BY(conv_transpose1d, forward_transposed, LUC_OP_conv_transpose1d, 1)
LUC_FORWARD_BY(conv_transpose2d, forward_transposed, LUC_OP_conv_transpose2d, 2)
LUC_FORWARD_BY(conv_transpose3d, forward_transposed, LUC_OP_conv_transpose3d, 3)
