/* The steps of attention between its matrix products, for float and double. */
#include "cpu/attention_kernels.h"

#include <math.h>

#include "cpu/real_f32.inc"
#include "cpu/attention.inc"
#include "cpu/real_f64.inc"
#include "cpu/attention.inc"

/* ORDER DTYPE */
const luc_attention_kernels LUC_ISA_NAME(luc__attention)[2] = {
    {hide_f32, mask_f32, online_f32, finish_f32, keep_f32, dots_f32, backward_f32},
    {hide_f64, mask_f64, online_f64, finish_f64, keep_f64, dots_f64, backward_f64},
};
