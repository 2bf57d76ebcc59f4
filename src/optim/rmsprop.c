/* RMSprop (Hinton, "Lecture 6.5"; centered: Graves, arXiv:1308.0850), as torch.optim.RMSprop. */
#include "optim/optimizer.h"

/* ORDER RMSPROP: the schema's order. */
enum { LR, ALPHA, EPS, WEIGHT_DECAY, MOMENTUM, CENTERED, CAPTURABLE, FOREACH, MAXIMIZE };

static unsigned needs(const luc_value *o) {
  return 1u | (luc_as_double(&o[MOMENTUM]) > 0 ? 2u : 0) | (o[CENTERED].as.i ? 4u : 0);
}

static luc_status step(luc_context *ctx, const luc_value *o, const luc_update *u, int64_t n) {
  luc_rmsprop rmsprop = {.lr = luc_as_double(&o[LR]),
                         .alpha = luc_as_double(&o[ALPHA]),
                         .eps = luc_as_double(&o[EPS]),
                         .weight_decay = luc_as_double(&o[WEIGHT_DECAY]),
                         .momentum = luc_as_double(&o[MOMENTUM]),
                         .centered = o[CENTERED].as.i,
                         .maximize = o[MAXIMIZE].as.i};
  return luc__optim_step(ctx, LUC_RULE_RMSPROP, &rmsprop, u, n);
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
    .step = step};
