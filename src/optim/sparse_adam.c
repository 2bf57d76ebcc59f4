/* Adam for tables of which a step uses a few rows (torch.optim.SparseAdam): neither a parameter nor
 * its moments change in rows, along the first dimension, that have no gradient. */
#include "optim/optimizer.h"

/* ORDER SPARSE_ADAM: the schema's order. */
enum { LR, BETAS, EPS, MAXIMIZE };

static luc_status step(luc_context *ctx, const luc_value *o, const luc_update *u, int64_t n) {
  luc_adam adam = {.lr = luc_as_double(&o[LR]),
                   .beta1 = o[BETAS].as.floats[0],
                   .beta2 = o[BETAS].as.floats[1],
                   .eps = luc_as_double(&o[EPS]),
                   .maximize = o[MAXIMIZE].as.i};
  return luc__optim_step(ctx, LUC_RULE_SPARSE_ADAM, &adam, u, n);
}

static luc_optim_rows rows(const luc_value *o) {
  (void)o;
  return LUC_ROWS_LEFT;
}

const luc_optim_kind luc__optim_sparse_adam = {
    .name = "SparseAdam",
    .schema = "SparseAdam(float lr=1e-3, float[2] betas=[0.9, 0.999], float eps=1e-8, "
              "bool maximize=False)",
    .counts = LUC_COUNTS_INTEGER,
    .states = {"exp_avg", "exp_avg_sq"},
    .limits = {LUC_ABOVE_0(LR, "learning rate"), LUC_ABOVE_0(EPS, "epsilon value"),
               LUC_BETAS_BELOW_1(BETAS)},
    .rows = rows,
    .step = step};
