/* Adagrad (Duchi, Hazan and Singer, JMLR 12, 2011), as torch.optim.Adagrad: its state is there
 * before the first step. */
#include "optim/optimizer.h"

/* ORDER ADAGRAD: the schema's order. */
enum { LR, LR_DECAY, WEIGHT_DECAY, INITIAL, EPS, FOREACH, MAXIMIZE };

static double initial(const luc_value *o, int which) {
  (void)which;
  return luc_as_double(&o[INITIAL]);
}

static luc_optim_rows rows(const luc_value *o) {
  bool plain = luc_as_double(&o[WEIGHT_DECAY]) == 0 && luc_as_double(&o[EPS]) > 0;
  return plain && isfinite(luc_as_double(&o[LR])) ? LUC_ROWS_SAME : LUC_ROWS_ALL;
}

const luc_optim_kind luc__optim_adagrad = {
    .name = "Adagrad",
    .schema = "Adagrad(float lr=1e-2, float lr_decay=0, float weight_decay=0, "
              "float initial_accumulator_value=0, float eps=1e-10, bool? foreach=None, *, "
              "bool maximize=False, bool differentiable=False, bool? fused=None)",
    .counts = LUC_COUNTS_TENSOR,
    .eager = true,
    .states = {"sum"},
    .limits = {LUC_AT_LEAST_0(LR, "learning rate"), LUC_AT_LEAST_0(LR_DECAY, "lr_decay value"),
               LUC_AT_LEAST_0(WEIGHT_DECAY, "weight_decay value"),
               LUC_AT_LEAST_0(INITIAL, "initial_accumulator_value value"),
               LUC_AT_LEAST_0(EPS, "epsilon value")},
    .initial = initial,
    .rows = rows,
    LUC_TAKES(LUC_RULE_ADAGRAD, LR, LR_DECAY, EPS, WEIGHT_DECAY, MAXIMIZE)};
