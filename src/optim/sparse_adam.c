/* Adam for tables of which a step uses a few rows (torch.optim.SparseAdam): neither a parameter nor
 * its moments change in rows, along the first dimension, that have no gradient. */
#include "optim/optimizer.h"

/* ORDER SPARSE_ADAM: the schema's order. */
enum { LR, BETAS, EPS, MAXIMIZE };

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
    LUC_TAKES(LUC_RULE_SPARSE_ADAM, LR, BETAS, EPS, MAXIMIZE)};
