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

/* Those of float16 that take little longer than memory does. */
#define F16_VLOOP(id)
#if defined(__F16C__)
#include "cpu/memory_f16.inc"

#include "cpu/half.inc"
#define HALF_VLOOP(id)
#define HALF_VPAIRS(id)     VPAIRS(id, 1, id##_f32(VA, p))
#define HALF_VLOOP_HALF(id) HALF_VPAIRS(id)
#define LUC_ACT(id, LOOPS)  HALF_##LOOPS(id)
#include "cpu/activation.def"
#undef LUC_ACT
#include "cpu/half_end.inc"

#include "cpu/memory_end.inc"
#define F16_VPAIRS(id) [LUC_EW_F16] = id##_loop_f16
#else
#define F16_VPAIRS(id)
#endif
#define F16_VLOOP_HALF F16_VPAIRS

const luc_activation_kernels LUC_ISA_NAME(luc__activation) = {
    .forward =
        {
#define LUC_ACT(id, LOOPS) {.fn = {id##_loop_f32, id##_loop_f64, F16_##LOOPS(id)}, .inputs = 1},
#include "cpu/activation.def"
#undef LUC_ACT
        },
    .backward =
        {
#define LUC_ACT(id, LOOPS) {.fn = {id##_backward_loop_f32, id##_backward_loop_f64}, .inputs = 2},
#include "cpu/activation.def"
#undef LUC_ACT
        },
    .prelu = {.fn = {prelu_loop_f32, prelu_loop_f64}, .inputs = 2},
    .prelu_input = {.fn = {prelu_input_loop_f32, prelu_input_loop_f64}, .inputs = 3},
    .prelu_weight = {.fn = {prelu_weight_loop_f32, prelu_weight_loop_f64}, .inputs = 2},
    .glu = {.fn = {glu_loop_f32, glu_loop_f64}, .inputs = 2},
    .glu_gate = {.fn = {glu_gate_loop_f32, glu_gate_loop_f64}, .inputs = 3},
};
