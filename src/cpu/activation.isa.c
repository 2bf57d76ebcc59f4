/* Activations and their gradients, compiled once per instruction set: float with the polynomials of
 * elementwise_math.h, double with the C library. */
#include "cpu/activation.h"

#include "cpu/elementwise_math.h"
#include "cpu/isa.h"

#define PARAMS luc_ew_params

#define T       float
#define FN(id)  id##_f32
#define E(name) luc__##name##f
#define M(name) name##f
#include "cpu/activation_real.inc"
#undef T
#undef FN
#undef E
#undef M

static inline double sigmoid(double x) {
  double e = exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

#define T       double
#define FN(id)  id##_f64
#define E(name) name
#define M(name) name
#include "cpu/activation_real.inc"

const luc_activation_kernels LUC_ISA_NAME(luc__activation) = {
    .forward =
        {
#define LUC_ACT(id) {.fn = {id##_loop_f32, id##_loop_f64, NULL}, .inputs = 1},
#include "cpu/activation.def"
#undef LUC_ACT
        },
    .backward =
        {
#define LUC_ACT(id) {.fn = {id##_backward_loop_f32, id##_backward_loop_f64, NULL}, .inputs = 2},
#include "cpu/activation.def"
#undef LUC_ACT
        },
    .prelu = {.fn = {prelu_f32, prelu_f64, NULL}, .inputs = 2},
    .prelu_input = {.fn = {prelu_input_f32, prelu_input_f64, NULL}, .inputs = 3},
    .prelu_weight = {.fn = {prelu_weight_f32, prelu_weight_f64, NULL}, .inputs = 2},
};
