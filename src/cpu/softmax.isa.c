/* Softmax and negative log likelihood, for float, also of halves in memory, and double. */
#include "cpu/cuts.h"
#include "cpu/softmax_kernels.h"

#include <math.h>

#include "cpu/real_f32.inc"
#include "cpu/vmath.inc"

#include "cpu/memory_real.inc"
#include "cpu/softmax.inc"
#include "cpu/memory_f16.inc"
#include "cpu/softmax.inc"
#include "cpu/memory_bf16.inc"
#include "cpu/softmax.inc"

#include "cpu/real_end.inc"
#include "cpu/real_f64.inc"
#include "cpu/vmath.inc"

#include "cpu/memory_real.inc"
#include "cpu/softmax.inc"

#include "cpu/real_end.inc"

/* ORDER DTYPE */
#define KERNELS(type)                                                                              \
  {                                                                                                \
    rows_##type, rows_backward_##type, columns_##type, columns_backward_##type, nll_##type,        \
        nll_backward_##type                                                                        \
  }
const luc_softmax_kernels LUC_ISA_NAME(luc__softmax)[4] = {KERNELS(f32), KERNELS(f64), KERNELS(f16),
                                                           KERNELS(bf16)};
