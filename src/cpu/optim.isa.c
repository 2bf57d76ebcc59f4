/* Optimizer updates, for float and double. */
#include "cpu/optim_kernels.h"

#include <math.h>

#include "cpu/real_f32.inc"
#include "cpu/optim.inc"
#include "cpu/real_f64.inc"
#include "cpu/optim.inc"

/* ORDER DTYPE */
const luc_optim_kernels LUC_ISA_NAME(luc__optim)[2] = {
    {sgd_f32, adam_f32},
    {sgd_f64, adam_f64},
};
