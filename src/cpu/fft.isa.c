/* What surrounds Fourier transforms, for float and double. */
#include "cpu/fft_kernels.h"

#include "cpu/real_f32.inc"
#include "cpu/fft.inc"
#include "cpu/real_f64.inc"
#include "cpu/fft.inc"

/* ORDER DTYPE */
const luc_fft_kernels LUC_ISA_NAME(luc__fft)[2] = {
    {unfold_f32, fold_f32, widen_f32, narrow_f32, mirror_f32, turn_f32, multiply_f32, scale_f32},
    {unfold_f64, fold_f64, widen_f64, narrow_f64, mirror_f64, turn_f64, multiply_f64, scale_f64},
};
