/* Normalizations, for float and double. */
#include "cpu/norm_kernels.h"

#include "cpu/real_f32.inc"
#include "cpu/norm.inc"
#include "cpu/real_f64.inc"
#include "cpu/norm.inc"

/* ORDER DTYPE */
const luc_norm_kernels LUC_ISA_NAME(luc__norm)[2] = {
    {layer_rows_f32, layer_rows_backward_f32, layer_add_sums_f32, batch_f32, batch_backward_f32,
     batch_columns_f32, batch_columns_backward_f32},
    {layer_rows_f64, layer_rows_backward_f64, layer_add_sums_f64, batch_f64, batch_backward_f64,
     batch_columns_f64, batch_columns_backward_f64},
};
