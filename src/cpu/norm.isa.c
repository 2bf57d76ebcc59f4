/* Normalizations, for float, also of halves in memory, and double. */
#include "cpu/norm_kernels.h"

#include "cpu/real_f32.inc"

#include "cpu/memory_real.inc"
#include "cpu/norm.inc"
#include "cpu/memory_f16.inc"
#include "cpu/norm.inc"
#include "cpu/memory_bf16.inc"
#include "cpu/norm.inc"

#include "cpu/real_end.inc"
#include "cpu/real_f64.inc"

#include "cpu/memory_real.inc"
#include "cpu/norm.inc"

#include "cpu/real_end.inc"

/* ORDER DTYPE */
#define KERNELS(type)                                                                              \
  {                                                                                                \
    layer_rows_##type, layer_rows_backward_##type, layer_add_sums_##type, batch_##type,            \
        batch_backward_##type, batch_columns_##type, batch_columns_backward_##type                 \
  }
const luc_norm_kernels LUC_ISA_NAME(luc__norm)[4] = {KERNELS(f32), KERNELS(f64), KERNELS(f16),
                                                     KERNELS(bf16)};
