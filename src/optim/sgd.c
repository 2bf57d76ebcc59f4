/* Stochastic gradient descent with momentum (torch.optim.SGD). */
#include <math.h>

#include "optim/optimizer.h"

/* ORDER SGD: the schema's order. */
enum { LR, MOMENTUM, DAMPENING, WEIGHT_DECAY, NESTEROV, MAXIMIZE };

static luc_status check(luc_context *ctx, const luc_value *o) {
  double momentum = luc_as_double(&o[MOMENTUM]);
  LUC_TRY(luc__optim_range(ctx, "SGD", "learning rate", luc_as_double(&o[LR]), 0, INFINITY));
  LUC_TRY(luc__optim_range(ctx, "SGD", "momentum value", momentum, 0, INFINITY));
  LUC_TRY(luc__optim_range(ctx, "SGD", "weight_decay value", luc_as_double(&o[WEIGHT_DECAY]), 0,
                           INFINITY));
  bool sound = !o[NESTEROV].as.i || (momentum > 0 && luc_as_double(&o[DAMPENING]) == 0);
  LUC_CHECK(ctx, sound, LUC_ERR_VALUE,
            "SGD: Nesterov momentum requires a momentum and zero dampening");
  return LUC_OK;
}

static int needs(const luc_value *o) {
  return luc_as_double(&o[MOMENTUM]) != 0;
}

static luc_status step(luc_context *ctx, const luc_value *o, const luc_update *u, int64_t n) {
  luc_sgd sgd = {.lr = luc_as_double(&o[LR]),
                 .momentum = luc_as_double(&o[MOMENTUM]),
                 .dampening = luc_as_double(&o[DAMPENING]),
                 .weight_decay = luc_as_double(&o[WEIGHT_DECAY]),
                 .nesterov = o[NESTEROV].as.i,
                 .maximize = o[MAXIMIZE].as.i};
  return luc__sgd_step(ctx, &sgd, u, n);
}

const luc_optim_kind luc__optim_sgd = {
    .name = "SGD",
    .schema = "SGD(float lr=1e-3, float momentum=0, float dampening=0, float weight_decay=0, "
              "bool nesterov=False, *, bool maximize=False, bool? foreach=None, "
              "bool differentiable=False, bool? fused=None)",
    .states = {"momentum_buffer"},
    .check = check,
    .needs = needs,
    .step = step};
