/* The serial pieces of matrix products, for float, double and int64. */
#include <stddef.h>

#include "cpu/gemm_kernels.h"

#include "cpu/real_f32.inc"
#include "cpu/gemm.inc"
#include "cpu/real_f64.inc"
#include "cpu/gemm.inc"
#include "cpu/gemm_int64.inc"

/* ORDER DTYPE */
const luc_gemm_kernels LUC_ISA_NAME(luc__gemm)[2] = {
    {block_f32, scattered_f32, dots_f32, outer_f32, serial_f32, transpose_f32},
    {block_f64, scattered_f64, dots_f64, outer_f64, serial_f64, transpose_f64},
};

const luc_gemm_int64_fn LUC_ISA_NAME(luc__gemm_int64) = int64_product;
