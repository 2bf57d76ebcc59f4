/* NAdam, Adam with Nesterov's momentum (Dozat, "Incorporating Nesterov Momentum into Adam", ICLR
 * 2016), as torch.optim.NAdam since 2.0; before, the momentum was counted twice. */
#include "optim/optimizer.h"

/* ORDER NADAM: the schema's order. */
enum { LR, BETAS, EPS, WEIGHT_DECAY, MOMENTUM_DECAY, DECOUPLED, FOREACH, MAXIMIZE };

static luc_adam read_options(const luc_value *o) {
  return (luc_adam){.lr = luc_as_double(&o[LR]),
                    .beta1 = o[BETAS].as.floats[0],
                    .beta2 = o[BETAS].as.floats[1],
                    .eps = luc_as_double(&o[EPS]),
                    .weight_decay = luc_as_double(&o[WEIGHT_DECAY]),
                    .momentum_decay = luc_as_double(&o[MOMENTUM_DECAY]),
                    .maximize = o[MAXIMIZE].as.i,
                    .decoupled = o[DECOUPLED].as.i};
}

/* mu_product. */
static void advance(const luc_value *o, int64_t step, double *scalar) {
  luc_adam nadam = read_options(o);
  scalar[0] = step == 0 ? 1 : scalar[0] * luc__nadam_mu(&nadam, step);
}

static luc_status step(luc_context *ctx, const luc_value *o, const luc_update *u, int64_t n) {
  luc_adam nadam = read_options(o);
  return luc__optim_step(ctx, LUC_RULE_NADAM, &nadam, u, n);
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
    .step = step};
