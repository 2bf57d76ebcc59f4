/* Adam (Kingma and Ba, arXiv:1412.6980) and AdamW (Loshchilov and Hutter, arXiv:1711.05101), as
 * torch.optim has them. */
#include "optim/optimizer.h"

/* ORDER ADAM: the schemas' order. */
enum { LR, BETAS, EPS, WEIGHT_DECAY, AMSGRAD, MAXIMIZE, DECOUPLED };

static unsigned needs(const luc_value *o) {
  return o[AMSGRAD].as.i ? 7 : 3;
}

static luc_status step(luc_context *ctx, const luc_value *o, const luc_update *u, int64_t n) {
  luc_adam adam = {.lr = luc_as_double(&o[LR]),
                   .beta1 = o[BETAS].as.floats[0],
                   .beta2 = o[BETAS].as.floats[1],
                   .eps = luc_as_double(&o[EPS]),
                   .weight_decay = luc_as_double(&o[WEIGHT_DECAY]),
                   .amsgrad = o[AMSGRAD].as.i,
                   .maximize = o[MAXIMIZE].as.i,
                   .decoupled = o[DECOUPLED].as.i};
  return luc__optim_step(ctx, LUC_RULE_ADAM, &adam, u, n);
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
    .needs = needs, .step = step                                                                   \
  }

const luc_optim_kind luc__optim_adam = KIND("Adam", "0", "False");
const luc_optim_kind luc__optim_adamw = KIND("AdamW", "1e-2", "True");
