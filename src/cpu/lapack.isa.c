/* Householder reflections, for float and double. */
#include "cpu/lapack_kernels.h"

#include "cpu/real_f32.inc"
#include "cpu/lapack.inc"
#include "cpu/real_f64.inc"
#include "cpu/lapack.inc"

/* ORDER DTYPE */
const luc_lapack_kernels LUC_ISA_NAME(luc__lapack)[2] = {
    {reflector_f32, apply_f32},
    {reflector_f64, apply_f64},
};
