/* Resilient backpropagation (Riedmiller and Braun, ICNN 1993), as torch.optim.Rprop: every element
 * has a step size of its own and only the signs of gradients count. */
#include "optim/optimizer.h"

/* ORDER RPROP: the schema's order. */
enum { LR, ETAS, STEP_SIZES, CAPTURABLE, FOREACH, MAXIMIZE };

static luc_status check(luc_context *ctx, const luc_value *o) {
  const double *etas = o[ETAS].as.floats;
  LUC_CHECK(ctx, etas[0] > 0 && etas[0] < 1 && etas[1] > 1, LUC_ERR_VALUE,
            "Rprop: Invalid eta values: %g, %g", etas[0], etas[1]);
  return LUC_OK;
}

static double initial(const luc_value *o, int which) {
  return which == 1 ? luc_as_double(&o[LR]) : 0;
}

const luc_optim_kind luc__optim_rprop = {
    .name = "Rprop",
    .schema = "Rprop(float lr=1e-2, float[2] etas=[0.5, 1.2], float[2] step_sizes=[1e-6, 50], *, "
              "bool capturable=False, bool? foreach=None, bool maximize=False, "
              "bool differentiable=False)",
    .counts = LUC_COUNTS_TENSOR,
    .states = {"prev", "step_size"},
    .limits = {LUC_AT_LEAST_0(LR, "learning rate")},
    .check = check,
    .initial = initial,
    LUC_TAKES(LUC_RULE_RPROP, ETAS, STEP_SIZES, MAXIMIZE)};
