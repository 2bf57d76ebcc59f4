/* Default initializations, through the random operators. Tensors without a shape are left alone;
 * while the context skips initialization all are, and no random number is drawn. */
#include "nn/reset.h"

#include <math.h>

#include "nn/module.h"

static luc_status unrecorded(luc_context *ctx, luc_opid op, luc_value *args, int nargs) {
  if (luc_tensor_is_uninitialized(args[0].as.tensor)) return LUC_OK; /* its time will come */
  if (luc__nn_of(ctx)->skip_init) return LUC_OK;
  bool mode = ctx->grad_mode;
  ctx->grad_mode = false;
  luc_status status = luc_call_inplace(ctx, op, args, nargs);
  ctx->grad_mode = mode;
  return status;
}

luc_status luc__reset_fill(luc_context *ctx, luc_tensor *t, double value) {
  return unrecorded(ctx, LUC_OP_fill_, LUC_ARGS(luc_v_tensor(t), luc_v_float(value)));
}

luc_status luc__reset_normal(luc_context *ctx, luc_tensor *t, double mean, double std) {
  return unrecorded(ctx, LUC_OP_normal_,
                    LUC_ARGS(luc_v_tensor(t), luc_v_float(mean), luc_v_float(std)));
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
  if (!bias || fan_in == 0) return LUC_OK;
  return luc__reset_uniform(ctx, bias, 1 / sqrt(fan_in));
}
