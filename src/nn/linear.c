/* Linear and Identity. */
#include "nn/module.h"
#include "nn/reset.h"

enum { LINEAR_IN, LINEAR_OUT, LINEAR_BIAS };

luc_status luc__identity_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                 luc_outputs *out) {
  (void)ctx, (void)m;
  *out = (luc_outputs){1, {luc_v_tensor(luc_tensor_retain(args[0].as.tensor))}};
  return LUC_OK;
}

luc_status luc__linear_build(luc_context *ctx, luc_module *m) {
  const luc_value *c = m->config;
  luc_dtype dtype = luc__config_dtype(ctx, m);
  int64_t sizes[2] = {c[LINEAR_OUT].as.i, c[LINEAR_IN].as.i};
  luc_tensor *weight, *bias = NULL;
  LUC_TRY(luc__new_parameter(ctx, m, "weight", dtype, 2, sizes, &weight));
  if (c[LINEAR_BIAS].as.i) {
    LUC_TRY(luc__new_parameter(ctx, m, "bias", dtype, 1, sizes, &bias));
  } else {
    LUC_TRY(luc_module_register_parameter(ctx, m, "bias", NULL));
  }
  return luc__reset_kaiming(ctx, weight, bias);
}

static luc_status forward(luc_context *ctx, luc_module *m, luc_opid op, luc_value *args,
                          luc_outputs *out) {
  luc_tensor *weight;
  LUC_TRY(luc__module_need(ctx, m, "weight", &weight));
  luc_value v[3] = {args[0], luc_v_tensor(weight), luc_v_tensor(luc_module_tensor(m, "bias"))};
  luc_status status = luc_call(ctx, op, v, 3, out->v);
  if (status != LUC_OK) return luc__call_failed(ctx, LUC_OP_linear, status);
  out->n = 1;
  return LUC_OK;
}

LUC_FORWARD_BY(linear, forward, LUC_OP_linear)
LUC_FORWARD_BY(linear_relu, forward, LUC_OP_linear_relu)
