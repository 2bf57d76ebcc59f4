/* Linear and Identity. */
#include <math.h>

#include "nn/module.h"

enum { LINEAR_IN, LINEAR_OUT, LINEAR_BIAS };

luc_status luc__identity_forward(luc_context *ctx, luc_module *m, luc_value *args,
                                 luc_outputs *out) {
  (void)ctx, (void)m;
  *out = (luc_outputs){1, {luc_v_tensor(luc_tensor_retain(args[0].as.tensor))}};
  return LUC_OK;
}

/* Uniform in [-bound, bound), in PyTorch's order of draws. */
static luc_status fill(luc_context *ctx, luc_tensor *t, double bound) {
  if (t->dtype == LUC_FLOAT32)
    luc__fill_uniform_float(&ctx->rng, luc_tensor_data(t), t->numel, -bound, bound);
  else if (t->dtype == LUC_FLOAT64)
    luc__fill_uniform_double(&ctx->rng, luc_tensor_data(t), t->numel, -bound, bound);
  return LUC_OK;
}

luc_status luc__linear_build(luc_context *ctx, luc_module *m) {
  const luc_value *c = m->config;
  luc_dtype dtype = luc__config_dtype(ctx, m);
  int64_t sizes[2] = {c[LINEAR_OUT].as.i, c[LINEAR_IN].as.i};
  double bound = sizes[1] > 0 ? 1 / sqrt((double)sizes[1]) : 0;
  luc_tensor *weight, *bias;
  LUC_TRY(luc__new_parameter(ctx, m, "weight", dtype, 2, sizes, &weight));
  LUC_TRY(fill(ctx, weight, bound));
  if (!c[LINEAR_BIAS].as.i) return luc_module_register_parameter(ctx, m, "bias", NULL);
  LUC_TRY(luc__new_parameter(ctx, m, "bias", dtype, 1, sizes, &bias));
  return fill(ctx, bias, bound);
}

luc_status luc__linear_forward(luc_context *ctx, luc_module *m, luc_value *args, luc_outputs *out) {
  luc_tensor *weight;
  LUC_TRY(luc__module_need(ctx, m, "weight", &weight));
  luc_value v[3] = {args[0], luc_v_tensor(weight), luc_v_tensor(luc_module_tensor(m, "bias"))};
  LUC_TRY(luc_call(ctx, LUC_OP_linear, v, 3, out->v));
  out->n = 1;
  return LUC_OK;
}
