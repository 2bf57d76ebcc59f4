/* Adamax, Adam with the infinity norm (Kingma and Ba, arXiv:1412.6980), as torch.optim.Adamax. */
#include "optim/optimizer.h"

/* ORDER ADAMAX: the schema's order. */
enum { LR, BETAS, EPS, WEIGHT_DECAY, FOREACH, MAXIMIZE };

static luc_status step(luc_context *ctx, const luc_value *o, const luc_update *u, int64_t n) {
  luc_adam adamax = {.lr = luc_as_double(&o[LR]),
                     .beta1 = o[BETAS].as.floats[0],
                     .beta2 = o[BETAS].as.floats[1],
                     .eps = luc_as_double(&o[EPS]),
                     .weight_decay = luc_as_double(&o[WEIGHT_DECAY]),
                     .maximize = o[MAXIMIZE].as.i};
  return luc__optim_step(ctx, LUC_RULE_ADAMAX, &adamax, u, n);
}

const luc_optim_kind luc__optim_adamax = {
    .name = "Adamax",
    .schema = "Adamax(float lr=2e-3, float[2] betas=[0.9, 0.999], float eps=1e-8, "
              "float weight_decay=0, bool? foreach=None, *, bool maximize=False, "
              "bool differentiable=False, bool capturable=False)",
    .counts = LUC_COUNTS_TENSOR,
    .states = {"exp_avg", "exp_inf"},
    .limits = {LUC_AT_LEAST_0(LR, "learning rate"), LUC_AT_LEAST_0(EPS, "epsilon value"),
               LUC_BETAS_BELOW_1(BETAS), LUC_AT_LEAST_0(WEIGHT_DECAY, "weight_decay value")},
    .step = step};
