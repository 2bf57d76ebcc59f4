/* The serial pieces of Winograd's convolution. */
#include "cpu/winograd_kernels.h"

#include "cpu/real_f32.inc"
#include "cpu/winograd.inc"

const luc_winograd_kernels LUC_ISA_NAME(luc__winograd) = {weights_f32, transform_f32, product_f32,
                                                          add_f32, finish_f32};
