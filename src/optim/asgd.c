/* Averaged stochastic gradient descent (Polyak and Juditsky, SIAM J. Control Optim. 30, 1992), as
 * torch.optim.ASGD. The average is the state `ax`; from step t0 on it is a running mean. */
#include "optim/optimizer.h"

/* ORDER ASGD: the schema's order. */
enum { LR, LAMBD, ALPHA, T0, WEIGHT_DECAY, FOREACH, MAXIMIZE };
/* ORDER ASGD SCALARS */
enum { ETA, MU };

static void advance(const luc_value *o, int64_t step, double *scalar) {
  double lr = luc_as_double(&o[LR]), done = (double)step - luc_as_double(&o[T0]);
  double slowed = pow(1 + luc_as_double(&o[LAMBD]) * lr * (double)step, luc_as_double(&o[ALPHA]));
  scalar[ETA] = lr / slowed;
  scalar[MU] = step > 0 && done > 1 ? 1 / done : 1;
}

const luc_optim_kind luc__optim_asgd = {
    .name = "ASGD",
    .schema = "ASGD(float lr=1e-2, float lambd=1e-4, float alpha=0.75, float t0=1e6, "
              "float weight_decay=0, bool? foreach=None, bool maximize=False, "
              "bool differentiable=False, bool capturable=False)",
    .counts = LUC_COUNTS_TENSOR,
    .states = {"ax"},
    .scalars = {"eta", "mu"},
    .limits = {LUC_AT_LEAST_0(LR, "learning rate"), LUC_AT_LEAST_0(LAMBD, "lambd value"),
               LUC_AT_LEAST_0(ALPHA, "alpha value"),
               LUC_AT_LEAST_0(WEIGHT_DECAY, "weight_decay value")},
    .advance = advance,
    LUC_TAKES(LUC_RULE_ASGD, LAMBD, WEIGHT_DECAY, MAXIMIZE)};
