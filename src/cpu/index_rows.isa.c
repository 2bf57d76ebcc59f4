/* Rows that are added to rows at positions. They are multiplied first, and that is rounded:
 * products and sums are not to be contracted. */
#include "cpu/cuts.h"
#include "cpu/index_kernels.h"
#include "cpu/simd.h"

#include "cpu/real_f32.inc"
#include "cpu/index_rows.inc"
#include "cpu/real_f64.inc"
#include "cpu/index_rows.inc"

const luc_add_rows_fn LUC_ISA_NAME(luc__add_rows)[2] = {add_rows_f32, add_rows_f64};
