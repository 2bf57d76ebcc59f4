/* Activations as kernels for the elementwise driver: one reads the input, one the output's gradient
 * and the input. PReLU's slopes are a tensor, so that it has rows of its own. */
#ifndef LUC_ACTIVATION_H
#define LUC_ACTIVATION_H

#include "cpu/elementwise.h"

typedef enum luc_activation {
#define LUC_ACT(id, LOOPS) LUC_ACT_##id,
#include "cpu/activation.def"
#undef LUC_ACT
  LUC_NUM_ACTIVATIONS
} luc_activation;

typedef struct luc_activation_kernels {
  luc_ew_kernel forward[LUC_NUM_ACTIVATIONS];  /* x */
  luc_ew_kernel backward[LUC_NUM_ACTIVATIONS]; /* gradient, x */
  luc_ew_kernel prelu;                         /* x, slope */
  luc_ew_kernel prelu_input;                   /* gradient, x, slope: the input's gradient */
  luc_ew_kernel prelu_weight;                  /* gradient, x: the slope's */
  luc_ew_kernel glu;                           /* x, gate */
  luc_ew_kernel glu_gate;                      /* gradient, x, the gate's sigmoid: the gate's */
} luc_activation_kernels;

extern const luc_activation_kernels luc__activation_base, luc__activation_avx2,
    luc__activation_avx512;

#endif
