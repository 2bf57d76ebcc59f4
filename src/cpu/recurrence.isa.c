/* The elementwise part of recurrent steps: float with the polynomials of elementwise_math.h, double
 * with the C library. */
#include "cpu/recurrence_kernels.h"

#include "cpu/elementwise_math.h"
#include "cpu/isa.h"

#define T       float
#define FN(id)  id##_f32
#define E(name) luc__##name##f
#include "cpu/recurrence.inc"
#undef T
#undef FN
#undef E

static inline double sigmoid(double x) {
  double e = exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

#define T       double
#define FN(id)  id##_f64
#define E(name) name
#include "cpu/recurrence.inc"

/* ORDER DTYPE */
const luc_recurrence_kernels LUC_ISA_NAME(luc__recurrence)[2] = {
    {rnn_f32, gru_f32, lstm_f32, rnn_backward_f32, gru_backward_f32, lstm_backward_f32, add_f32},
    {rnn_f64, gru_f64, lstm_f64, rnn_backward_f64, gru_backward_f64, lstm_backward_f64, add_f64},
};
