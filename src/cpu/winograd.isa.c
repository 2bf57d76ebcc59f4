/* The serial pieces of Winograd's convolution. */
#include "cpu/winograd_kernels.h"

#include "cpu/real_f32.inc"
#include "cpu/winograd.inc"

/* Filters of a pack are those of a product, two vectors of them, so that a row is whole lines,
 * eight rows of a tile fit in registers, and a pack's weights at one point in the first-level
 * cache. The baseline's narrow vectors gain nothing from fewer. */
enum { PACK = LUC_VECTOR_BYTES == 32 ? 16 : 32 };

const luc_winograd_kernels LUC_ISA_NAME(luc__winograd) = {PACK,        weights_f32, transform_f32,
                                                          product_f32, add_f32,     finish_f32};
