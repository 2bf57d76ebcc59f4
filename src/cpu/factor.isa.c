/* Steps of factorizations, for float and double. */
#include "cpu/factor_kernels.h"

#include "cpu/real_f32.inc"
#include "cpu/factor.inc"
#include "cpu/real_f64.inc"
#include "cpu/factor.inc"

/* ORDER DTYPE */
const luc_factor_kernels LUC_ISA_NAME(luc__factor)[2] = {
    {lu_panel_f32, triangle_f32},
    {lu_panel_f64, triangle_f64},
};
