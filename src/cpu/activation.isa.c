/* Activations and their gradients, compiled once per instruction set. */
#include "cpu/activation.h"

#include <math.h>

#include "cpu/elementwise_loops.h"
#include "tensor/half.h"

#define VLOOP_HALF VLOOP /* one that often takes little longer than memory does */

#include "cpu/real_f32.inc"
#include "cpu/memory_real.inc"
#include "cpu/activation_real.inc"
#include "cpu/memory_end.inc"
#include "cpu/real_f64.inc"
#include "cpu/memory_real.inc"
#include "cpu/activation_real.inc"
#include "cpu/memory_end.inc"

/* Those of halves that take little longer than memory does. */
#define HALVES_VLOOP(name)
#if defined(__F16C__)
#define HALF_VLOOP(id)
#define HALF_VPAIRS(id)                                                                            \
  VPAIRS(id, 1, id##_f32(VA, p)) VPAIRS(id##_backward, 2, id##_backward_f32(VA, VB, p))
#define HALF_VLOOP_HALF    HALF_VPAIRS
#define LUC_ACT(id, LOOPS) HALF_##LOOPS(id)

#include "cpu/memory_f16.inc"

#include "cpu/half.inc"
#include "cpu/activation_half.inc"
#include "cpu/half_end.inc"

#include "cpu/memory_end.inc"
#include "cpu/memory_bf16.inc"

#include "cpu/half.inc"
#include "cpu/activation_half.inc"
#include "cpu/half_end.inc"

#include "cpu/memory_end.inc"

#undef LUC_ACT
#define HALVES(name) [LUC_EW_F16] = name##_loop_f16, [LUC_EW_BF16] = name##_loop_bf16
#else
#define HALVES(name)
#endif
#define HALVES_VPAIRS(name)     HALVES(name)
#define HALVES_VLOOP_HALF(name) HALVES(name)

const luc_activation_kernels LUC_ISA_NAME(luc__activation) = {
    .forward =
        {
#define LUC_ACT(id, LOOPS) {.fn = {id##_loop_f32, id##_loop_f64, HALVES_##LOOPS(id)}, .inputs = 1},
#include "cpu/activation.def"
#undef LUC_ACT
        },
    .backward =
        {
#define LUC_ACT(id, LOOPS)                                                                         \
  {.fn = {id##_backward_loop_f32, id##_backward_loop_f64, HALVES_##LOOPS(id##_backward)},          \
   .inputs = 2},
#include "cpu/activation.def"
#undef LUC_ACT
        },
    .prelu = {.fn = {prelu_loop_f32, prelu_loop_f64, HALVES(prelu)}, .inputs = 2, .rows = true},
    .prelu_input = {.fn = {prelu_input_loop_f32, prelu_input_loop_f64, HALVES(prelu_input)},
                    .inputs = 3},
    .prelu_weight = {.fn = {prelu_weight_loop_f32, prelu_weight_loop_f64}, .inputs = 2},
    .glu = {.fn = {glu_loop_f32, glu_loop_f64}, .inputs = 2},
    .glu_gate = {.fn = {glu_gate_loop_f32, glu_gate_loop_f64}, .inputs = 3},
};
