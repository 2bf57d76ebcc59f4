/* Adamax, Adam with the infinity norm (Kingma and Ba, arXiv:1412.6980), as torch.optim.Adamax. */
#include "optim/optimizer.h"

/* ORDER ADAMAX: the schema's order. */
enum { LR, BETAS, EPS, WEIGHT_DECAY, FOREACH, MAXIMIZE };

const luc_optim_kind luc__optim_adamax = {
    .name = "Adamax",
    .schema = "Adamax(float lr=2e-3, float[2] betas=[0.9, 0.999], float eps=1e-8, "
              "float weight_decay=0, bool? foreach=None, *, bool maximize=False, "
              "bool differentiable=False, bool capturable=False)",
    .counts = LUC_COUNTS_TENSOR,
    .states = {"exp_avg", "exp_inf"},
    .limits = {LUC_AT_LEAST_0(LR, "learning rate"), LUC_AT_LEAST_0(EPS, "epsilon value"),
               LUC_BETAS_BELOW_1(BETAS), LUC_AT_LEAST_0(WEIGHT_DECAY, "weight_decay value")},
    LUC_TAKES(LUC_RULE_ADAMAX, LR, BETAS, EPS, MAXIMIZE, WEIGHT_DECAY)};
