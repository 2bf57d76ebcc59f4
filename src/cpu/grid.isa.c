/* Grid sampling, for float and double. */
#include "cpu/grid_kernels.h"

enum { BLOCK = LUC_GRID_BLOCK, MAX_TAPS = 16, PIXEL = LUC_GRID_PIXEL };

#include "cpu/real_f32.inc"
#include "cpu/grid.inc"
#include "cpu/real_f64.inc"
#include "cpu/grid.inc"

/* ORDER DTYPE */
const luc_grid_kernels LUC_ISA_NAME(luc__grid)[2] = {
    {forward_f32, backward_f32, to_pixels_f32, from_pixels_f32},
    {forward_f64, backward_f64, to_pixels_f64, from_pixels_f64},
};
