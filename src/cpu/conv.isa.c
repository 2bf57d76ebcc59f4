/* The serial pieces of convolutions, for float and double. */
#include "cpu/conv_kernels.h"

#include "cpu/real_f32.inc"
#include "cpu/conv.inc"
#include "cpu/real_f64.inc"
#include "cpu/conv.inc"

/* ORDER DTYPE */
const luc_conv_kernels LUC_ISA_NAME(luc__conv)[2] = {
    {pack_filters_f32, filters_f32, forward_f32, turn_f32, parts_f32, backward_weight_f32,
     columns_f32, add_columns_f32, turn_weights_f32, depthwise_f32, depthwise_weight_f32, sum_f32,
     LUC_VECTOR_BYTES / sizeof(float)},
    {pack_filters_f64, filters_f64, forward_f64, turn_f64, parts_f64, backward_weight_f64,
     columns_f64, add_columns_f64, turn_weights_f64, depthwise_f64, depthwise_weight_f64, sum_f64,
     LUC_VECTOR_BYTES / sizeof(double)},
};
