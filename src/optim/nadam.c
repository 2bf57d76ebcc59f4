/* NAdam, Adam with Nesterov's momentum (Dozat, "Incorporating Nesterov Momentum into Adam", ICLR
 * 2016), as torch.optim.NAdam since 2.0; before, the momentum was counted twice. */
#include "optim/optimizer.h"

/* ORDER NADAM: the schema's order. */
enum { LR, BETAS, EPS, WEIGHT_DECAY, MOMENTUM_DECAY, DECOUPLED, FOREACH, MAXIMIZE };

/* mu_product. */
static void advance(const luc_value *o, int64_t step, double *scalar) {
  double mu = luc__nadam_mu(o[BETAS].as.floats[0], luc_as_double(&o[MOMENTUM_DECAY]), step);
  scalar[0] = step == 0 ? 1 : scalar[0] * mu;
}

const luc_optim_kind luc__optim_nadam = {
    .name = "NAdam",
    .schema = "NAdam(float lr=2e-3, float[2] betas=[0.9, 0.999], float eps=1e-8, "
              "float weight_decay=0, float momentum_decay=4e-3, "
              "bool decoupled_weight_decay=False, *, bool? foreach=None, bool maximize=False, "
              "bool capturable=False, bool differentiable=False)",
    .counts = LUC_COUNTS_TENSOR,
    .states = {"exp_avg", "exp_avg_sq"},
    .scalars = {"mu_product"},
    .limits = {LUC_AT_LEAST_0(LR, "learning rate"), LUC_AT_LEAST_0(EPS, "epsilon value"),
               LUC_BETAS_BELOW_1(BETAS), LUC_AT_LEAST_0(WEIGHT_DECAY, "weight_decay value"),
               LUC_AT_LEAST_0(MOMENTUM_DECAY, "momentum_decay value")},
    .advance = advance,
    LUC_TAKES(LUC_RULE_NADAM, LR, BETAS, EPS, MAXIMIZE, WEIGHT_DECAY, DECOUPLED, MOMENTUM_DECAY)};
