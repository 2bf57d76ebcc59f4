/* Stochastic gradient descent with momentum (torch.optim.SGD). */
#include "optim/optimizer.h"

/* ORDER SGD: the schema's order. */
enum { LR, MOMENTUM, DAMPENING, WEIGHT_DECAY, NESTEROV, MAXIMIZE };

static luc_status check(luc_context *ctx, const luc_value *o) {
  bool sound =
      !o[NESTEROV].as.i || (luc_as_double(&o[MOMENTUM]) > 0 && luc_as_double(&o[DAMPENING]) == 0);
  LUC_CHECK(ctx, sound, LUC_ERR_VALUE,
            "SGD: Nesterov momentum requires a momentum and zero dampening");
  return LUC_OK;
}

static unsigned needs(const luc_value *o) {
  return luc_as_double(&o[MOMENTUM]) != 0;
}

static luc_optim_rows rows(const luc_value *o) {
  bool plain = luc_as_double(&o[MOMENTUM]) == 0 && luc_as_double(&o[WEIGHT_DECAY]) == 0;
  return plain && isfinite(luc_as_double(&o[LR])) ? LUC_ROWS_SAME : LUC_ROWS_ALL;
}

const luc_optim_kind luc__optim_sgd = {
    .name = "SGD",
    .schema = "SGD(float lr=1e-3, float momentum=0, float dampening=0, float weight_decay=0, "
              "bool nesterov=False, *, bool maximize=False, bool? foreach=None, "
              "bool differentiable=False, bool? fused=None)",
    .states = {"momentum_buffer"},
    .limits = {LUC_AT_LEAST_0(LR, "learning rate"), LUC_AT_LEAST_0(MOMENTUM, "momentum value"),
               LUC_AT_LEAST_0(WEIGHT_DECAY, "weight_decay value")},
    .check = check,
    .needs = needs,
    .rows = rows,
    LUC_TAKES(LUC_RULE_SGD, LR, MOMENTUM, DAMPENING, WEIGHT_DECAY, NESTEROV, MAXIMIZE)};
