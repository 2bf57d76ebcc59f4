/* RAdam, Adam whose variance is rectified (Liu et al., arXiv:1908.03265), as torch.optim.RAdam. */
#include "optim/optimizer.h"

/* ORDER RADAM: the schema's order. */
enum { LR, BETAS, EPS, WEIGHT_DECAY, DECOUPLED, FOREACH, MAXIMIZE };

const luc_optim_kind luc__optim_radam = {
    .name = "RAdam",
    .schema = "RAdam(float lr=1e-3, float[2] betas=[0.9, 0.999], float eps=1e-8, "
              "float weight_decay=0, bool decoupled_weight_decay=False, *, bool? foreach=None, "
              "bool maximize=False, bool capturable=False, bool differentiable=False)",
    .counts = LUC_COUNTS_TENSOR,
    .states = {"exp_avg", "exp_avg_sq"},
    .limits = {LUC_AT_LEAST_0(LR, "learning rate"), LUC_AT_LEAST_0(EPS, "epsilon value"),
               LUC_BETAS_BELOW_1(BETAS), LUC_AT_LEAST_0(WEIGHT_DECAY, "weight_decay value")},
    LUC_TAKES(LUC_RULE_RADAM, LR, BETAS, EPS, MAXIMIZE, WEIGHT_DECAY, DECOUPLED)};
