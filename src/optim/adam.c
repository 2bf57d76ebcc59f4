/* Adam (Kingma and Ba, arXiv:1412.6980) and AdamW (Loshchilov and Hutter, arXiv:1711.05101), as
 * torch.optim has them. */
#include "optim/optimizer.h"

/* ORDER ADAM: the schemas' order. */
enum { LR, BETAS, EPS, WEIGHT_DECAY, AMSGRAD, MAXIMIZE, DECOUPLED };

static unsigned needs(const luc_value *o) {
  return o[AMSGRAD].as.i ? 7 : 3;
}

/* The two differ in what weight decay is. */
#define KIND(title, decay, decoupled)                                                              \
  {                                                                                                \
    .name = title,                                                                                 \
    .schema = title "(float lr=1e-3, float[2] betas=[0.9, 0.999], float eps=1e-8, "                \
                    "float weight_decay=" decay ", bool amsgrad=False, *, bool maximize=False, "   \
                    "bool decoupled_weight_decay=" decoupled ", bool? foreach=None, "              \
                    "bool capturable=False, bool differentiable=False, bool? fused=None)",         \
    .counts = LUC_COUNTS_TENSOR, .states = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},            \
    .limits = {LUC_AT_LEAST_0(LR, "learning rate"), LUC_AT_LEAST_0(EPS, "epsilon value"),          \
               LUC_BETAS_BELOW_1(BETAS), LUC_AT_LEAST_0(WEIGHT_DECAY, "weight_decay value")},      \
    .needs = needs,                                                                                \
    LUC_TAKES(LUC_RULE_ADAM, LR, BETAS, EPS, MAXIMIZE, WEIGHT_DECAY, DECOUPLED, AMSGRAD)           \
  }

const luc_optim_kind luc__optim_adam = KIND("Adam", "0", "False");
const luc_optim_kind luc__optim_adamw = KIND("AdamW", "1e-2", "True");
