/* RMSprop (Hinton, "Lecture 6.5"; centered: Graves, arXiv:1308.0850), as torch.optim.RMSprop. */
#include "optim/optimizer.h"

/* ORDER RMSPROP: the schema's order. */
enum { LR, ALPHA, EPS, WEIGHT_DECAY, MOMENTUM, CENTERED, CAPTURABLE, FOREACH, MAXIMIZE };

static unsigned needs(const luc_value *o) {
  return 1u | (luc_as_double(&o[MOMENTUM]) > 0 ? 2u : 0) | (o[CENTERED].as.i ? 4u : 0);
}

const luc_optim_kind luc__optim_rmsprop = {
    .name = "RMSprop",
    .schema = "RMSprop(float lr=1e-2, float alpha=0.99, float eps=1e-8, float weight_decay=0, "
              "float momentum=0, bool centered=False, bool capturable=False, bool? foreach=None, "
              "bool maximize=False, bool differentiable=False)",
    .counts = LUC_COUNTS_TENSOR,
    .states = {"square_avg", "momentum_buffer", "grad_avg"},
    .limits = {LUC_AT_LEAST_0(LR, "learning rate"), LUC_AT_LEAST_0(EPS, "epsilon value"),
               LUC_AT_LEAST_0(MOMENTUM, "momentum value"),
               LUC_AT_LEAST_0(WEIGHT_DECAY, "weight_decay value"),
               LUC_AT_LEAST_0(ALPHA, "alpha value")},
    .needs = needs,
    LUC_TAKES(LUC_RULE_RMSPROP, LR, ALPHA, EPS, WEIGHT_DECAY, MOMENTUM, CENTERED, MAXIMIZE)};
