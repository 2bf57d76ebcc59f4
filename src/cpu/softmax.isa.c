/* Softmax and negative log likelihood, for float and double. */
#include "cpu/softmax_kernels.h"

#include <math.h>

#include "cpu/real_f32.inc"
#include "cpu/softmax.inc"
#include "cpu/real_f64.inc"
#include "cpu/softmax.inc"

/* ORDER DTYPE */
const luc_softmax_kernels LUC_ISA_NAME(luc__softmax)[2] = {
    {rows_f32, rows_backward_f32, columns_f32, columns_backward_f32, nll_f32, nll_backward_f32},
    {rows_f64, rows_backward_f64, columns_f64, columns_backward_f64, nll_f64, nll_backward_f64},
};
