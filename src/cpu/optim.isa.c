/* Optimizer updates, for float and double. */
#include "cpu/optim_kernels.h"

#include <math.h>

#include "cpu/real_f32.inc"
#include "cpu/optim.inc"
#include "cpu/optim_scaled.inc"
#include "cpu/real_f64.inc"
#include "cpu/optim.inc"
#include "cpu/optim_scaled.inc"

#define F32(name) name##_f32
#define F64(name) name##_f64

/* ORDER DTYPE */
const luc_optim_kernels LUC_ISA_NAME(luc__optim)[2] = {{{LUC_OPTIM_RULES(F32)}, is_zero_f32},
                                                       {{LUC_OPTIM_RULES(F64)}, is_zero_f64}};
