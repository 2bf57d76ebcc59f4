/* The elementwise part of recurrent steps, for float and double. */
#include "cpu/recurrence_kernels.h"

#include <math.h>

#include "cpu/halves.h"
#include "cpu/real_f32.inc"
#include "cpu/recurrence.inc"
#include "cpu/real_f64.inc"
#include "cpu/recurrence.inc"

/* ORDER DTYPE */
const luc_recurrence_kernels LUC_ISA_NAME(luc__recurrence)[2] = {
    {rnn_f32, gru_f32, lstm_f32, rnn_backward_f32, gru_backward_f32, lstm_backward_f32, add_f32},
    {rnn_f64, gru_f64, lstm_f64, rnn_backward_f64, gru_backward_f64, lstm_backward_f64, add_f64},
};
