/* The padding layers of torch.nn: nn.functional.pad with a mode of their own. padding is kept
 * written out, (left, right, top, bottom, front, back). */
#include "nn/module.h"

/* ORDER PAD: the constructor's parameters. */
enum { PADDING, VALUE };

static luc_status build(luc_context *ctx, luc_module *m, int k) {
  int64_t sides[6];
  luc__config_ints(m, PADDING, 2 * k, sides);
  luc_value list = luc_v_ints(sides, 2 * k);
  return luc__module_set_config(ctx, m, PADDING, &list);
}

LUC_BUILD_BY(pad1d, build, 1)
LUC_BUILD_BY(pad2d, build, 2)
LUC_BUILD_BY(pad3d, build, 3)

static luc_status forward(luc_context *ctx, luc_module *m, const char *mode, luc_value value,
                          luc_value *args, luc_outputs *out) {
  luc_tensor *result;
  LUC_TRY(luc__op1(ctx, LUC_OP_pad, &result,
                   LUC_ARGS(args[0], m->config[PADDING], luc_v_string(mode), value)));
  *out = (luc_outputs){1, {luc_v_tensor(result)}};
  return LUC_OK;
}

LUC_FORWARD_BY(reflection_pad, forward, "reflect", luc_v_none())
LUC_FORWARD_BY(replication_pad, forward, "replicate", luc_v_none())
LUC_FORWARD_BY(zero_pad, forward, "constant", luc_v_int(0))

luc_status luc__constant_pad_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                     luc_outputs *out) {
  return forward(ctx, m, "constant", m->config[VALUE], args, out);
}

static luc_status circular(luc_context *ctx, luc_module *m, int k, luc_value *args,
                           luc_outputs *out) {
  int ndim = args[0].as.tensor->ndim;
  LUC_CHECK(ctx, ndim == k + 1 || ndim == k + 2, LUC_ERR_VALUE,
            "%s: expected %dD or %dD input (got %dD input)", m->cls->name, k + 1, k + 2, ndim);
  return forward(ctx, m, "circular", luc_v_none(), args, out);
}

LUC_FORWARD_BY(circular_pad1d, circular, 1)
LUC_FORWARD_BY(circular_pad2d, circular, 2)
LUC_FORWARD_BY(circular_pad3d, circular, 3)
