/* Adadelta (Zeiler, arXiv:1212.5701), as torch.optim.Adadelta. */
#include <float.h>

#include "optim/optimizer.h"

/* ORDER ADADELTA: the schema's order. */
enum { LR, RHO, EPS, WEIGHT_DECAY, FOREACH, CAPTURABLE, MAXIMIZE };

const luc_optim_kind luc__optim_adadelta = {
    .name = "Adadelta",
    .schema = "Adadelta(float lr=1.0, float rho=0.9, float eps=1e-6, float weight_decay=0, "
              "bool? foreach=None, *, bool capturable=False, bool maximize=False, "
              "bool differentiable=False)",
    .counts = LUC_COUNTS_TENSOR,
    .states = {"square_avg", "acc_delta"},
    .limits = {LUC_AT_LEAST_0(LR, "learning rate"),
               {"rho value", RHO, 0, 0, 1 + DBL_EPSILON}, /* 1 is allowed */
               LUC_AT_LEAST_0(EPS, "epsilon value"),
               LUC_AT_LEAST_0(WEIGHT_DECAY, "weight_decay value")},
    LUC_TAKES(LUC_RULE_ADADELTA, LR, RHO, EPS, WEIGHT_DECAY, MAXIMIZE)};
